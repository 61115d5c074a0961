// SPDX-License-Identifier: MIT
// SINTER_DEBUG: what a process tells on stderr. The process is this test again, with one case of
// it.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>
#include <sinter/support/debug.hpp>

namespace debug_test {

namespace sn = sinter;
namespace debug = sinter::debug;

TEST_CASE("child: a function that is fused, one made at run time, and an expression" *
          doctest::skip()) {
  sn::tensor<float, 2> x({80, 4}), w({4, 144});  // so large that w is packed
  x.fill(1);
  w.fill(0.5f);
  auto f = sn::fuse([](auto a, auto b) { return sn::relu(sn::matmul(a, b) + 1.0f); });
  for (int i = 0; i < 3; ++i) CHECK(f(x, sn::frozen(w))(0, 0) == 3);
  sn::graph_builder g;
  const auto a = g.argument("a", sn::dtype::f32, {sn::sym("n"), 4});
  const auto h = g.compile({sn::softmax(a)});
  for (int i = 0; i < 2; ++i) CHECK(sn::tensor<float, 2>(h({x})[0])(0, 0) == 0.25f);
  const sn::tensor<float, 2> y = x * 2.0f - x * 2.0f;
  CHECK(y(0, 0) == 0);
}

namespace {

// What the child writes to stderr with these words in SINTER_DEBUG; nullptr: without the variable.
std::string told(const char* words) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      (words == nullptr ? std::string("unset SINTER_DEBUG; ")
                        : "export SINTER_DEBUG='" + std::string(words) + "'; ") +
      "'" + self +
      "' --no-skip --source-file='" __FILE__ "' --test-case='child*' 2>&1 >/dev/null; echo exit $?";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) out.append(part, n);
  REQUIRE(pclose(pipe) == 0);
  const std::string end = "exit 0\n";
  REQUIRE(out.size() >= end.size());
  REQUIRE(out.substr(out.size() - end.size()) == end);
  return out.substr(0, out.size() - end.size());
}

int count(const std::string& text, const std::string& expression) {
  const std::regex pattern(expression);
  return static_cast<int>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), {}));
}

}  // namespace

TEST_CASE("words are separated by commas; those that name no topic are listed") {
  CHECK(debug::parse_topics("").topics == 0);
  CHECK(debug::parse_topics(",, ,").topics == 0);
  CHECK(debug::parse_topics(",, ,").unknown.empty());
  CHECK(debug::parse_topics("trace").topics == 1);
  CHECK(debug::parse_topics(" time ,trace").topics == 0b1000001);
  CHECK(debug::parse_topics("all").topics == 0b1111111);
  const debug::topic_list some = debug::parse_topics("plan,Trace,2,nests");
  CHECK(some.topics == 0b10010);
  CHECK(some.unknown == "'Trace', '2'");
}

TEST_CASE("nothing is told by default, and one line of an unknown word") {
  CHECK(told(nullptr).empty());
  CHECK(told("").empty());
  const std::string warning = told("plans,1");
  CHECK(count(warning, "\n") == 1);
  CHECK(warning ==
        "sinter: SINTER_DEBUG: unknown 'plans', '1'; expected trace, plan, rules, egraph, nests, "
        "memory, time, all\n");
}

TEST_CASE("each word tells its topic, for all kinds of functions") {
  const std::string traced = told("trace");
  CHECK(count(traced, "sinter: function [123]: traced, \\d+ nodes\n") == 3);
  CHECK(traced.find("matmul") != std::string::npos);
  CHECK(traced.find("name: a") != std::string::npos);
  CHECK(traced.find("softmax") != std::string::npos);

  const std::string plans = told("plan");
  CHECK(count(plans, "class 1 of shapes, \\d+ nodes, saturated in [0-9.]+ ms\n") == 3);
  CHECK(count(plans, "plan 1[^\n]*: \\d+ nests?, \\d+ considered, in [0-9.]+ ms") == 3);
  CHECK(count(plans, "\n") == 6);

  CHECK(count(told("rules"), "  rule [a-z-]+: applied \\d+ times") >= 3);
  CHECK(count(told("egraph"), "  (normalise|recognise|expand|improve): \\d+ e-nodes in") == 12);
  const std::string nests = told("nests");
  CHECK(count(nests, "  nest 0: matmul over") == 1);
  CHECK(count(nests, "run once for frozen arguments\n  nest 0: pack") == 1);
  const std::string memory = told("memory");
  CHECK(count(memory, "memory: arena \\d+ B, lower bound \\d+ B\n") == 3);
  CHECK(count(memory, "prepared 1 value from frozen arguments: \\d+ B\n") == 1);
}

TEST_CASE("time: at exit, a line per nest, most expensive first, with counts of calls") {
  const std::string text = told("time");
  CHECK(count(text, "sinter: time per nest: 6 calls, [0-9.]+ ms\n") == 1);
  CHECK(count(text, " 3 +[0-9.]+ +[0-9.]+  function 1, plan 1, nest 0: matmul over") == 1);
  CHECK(count(text, " 2 +[0-9.]+ +[0-9.]+  function 2, plan 1, nest 0: tiles over") == 1);
  CHECK(count(text, " 1 +[0-9.]+ +[0-9.]+  function 3, plan 1, nest 0: tiles over") == 1);
  CHECK(count(text, "around its nests\n") == 3);
  double last = 1e9, sum = 0;
  const std::regex line("\n +([0-9.]+) +([0-9.]+) +\\d+ ");
  for (std::sregex_iterator i(text.begin(), text.end(), line), end; i != end; ++i) {
    const double spent = std::stod((*i)[1]);
    CHECK(spent <= last);
    last = spent;
    sum += std::stod((*i)[2]);
  }
  CHECK(sum == doctest::Approx(100).epsilon(0.01));
}

}  // namespace debug_test
