// SPDX-License-Identifier: MIT
// SINTER_TRACE: the timeline of a process, as a JSON file of trace events. The process is this test
// again, with one case of it.
// run: serial
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/temporary_file.hpp"
#include <sinter/sinter.hpp>
#include <sinter/support/timeline_file.hpp>

namespace timeline_test {

namespace sn = sinter;
namespace timeline = sinter::timeline;
using nlohmann::json;
using test_support::temporary_file;

namespace {

constexpr int calls = 3;

}  // namespace

TEST_CASE(
    "child: nests for several threads, frozen weights, a graph made at run time, expressions" *
    doctest::skip()) {
  sn::tensor<float, 2> x({256, 1024}), w({1024, 256});
  x.fill(1);
  w.fill(0.5f);
  auto f = sn::fuse([](auto a, auto b) { return sn::exp(sn::matmul(sn::tanh(a), b)); });
  for (int i = 0; i < calls; ++i) f(x, sn::frozen(w));
  auto failing = sn::fuse([](auto a, auto at) { return sn::gather(a, at, 0); });
  CHECK_THROWS_AS(failing(x, sn::tensor<std::int64_t, 1>{256}), sn::index_error);
  sn::graph_builder g;
  const auto a = g.argument("a", sn::dtype::f32, {sn::sym("n"), 1024});
  const auto h = g.compile({sn::softmax(a)});
  h({x});
  const sn::tensor<float, 2> y = x * 2.0f - x;
  CHECK(y(0, 0) == 1);
}

namespace {

struct run_result {
  std::string stdout_and_stderr;
  int status = 0;
};

run_result run_child(const std::string& environment) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "unset SINTER_DEBUG SINTER_TRACE; " + environment + " OMP_NUM_THREADS=2 '" + self +
      "' --no-skip --source-file='" __FILE__ "' --test-case='child*' 2>&1 >/dev/null; echo $?";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  run_result out;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;)
    out.stdout_and_stderr.append(part, n);
  REQUIRE(pclose(pipe) == 0);
  REQUIRE(out.stdout_and_stderr.size() >= 2);
  out.status = out.stdout_and_stderr[out.stdout_and_stderr.size() - 2] - '0';
  out.stdout_and_stderr.resize(out.stdout_and_stderr.size() - 2);
  return out;
}

// An event with those that contain it, from the outermost on; in nanoseconds.
struct told {
  std::int64_t begin = 0, end = 0, thread = 0;
  std::string name, category;
  json arguments;
  std::vector<std::string> around;
};

std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

// Fails where two events of one thread overlap and neither contains the other.
std::vector<told> read_events(const json& file) {
  std::vector<told> out;
  std::map<std::int64_t, std::vector<told>> open;  // by thread
  for (const json& e : file.at("traceEvents")) {
    if (e.at("ph") == "M") continue;
    REQUIRE(e.at("ph") == "X");
    told now{nanoseconds(e.at("ts")), 0, e.at("tid"), e.at("name"), e.at("cat"), e.at("args"), {}};
    now.end = now.begin + nanoseconds(e.at("dur"));
    CHECK(now.end >= now.begin);
    std::vector<told>& stack = open[now.thread];
    while (!stack.empty() && stack.back().end <= now.begin && stack.back().begin < now.begin)
      stack.pop_back();
    if (!stack.empty()) {
      CHECK(stack.back().begin <= now.begin);
      CHECK(stack.back().end >= now.end);
    }
    for (const told& each : stack) now.around.push_back(each.name);
    stack.push_back(now);
    out.push_back(now);
  }
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const told* find(const std::vector<told>& events, const std::string& name, int function) {
  const std::string of = "function " + std::to_string(function) + ": ";
  for (const told& e : events)
    if (e.name == name && !e.around.empty() && e.around[0].starts_with(of)) return &e;
  return nullptr;
}

}  // namespace

TEST_CASE("the file has planning, calls, and every nest on every thread") {
  const temporary_file file;
  const run_result done = run_child("SINTER_TRACE='" + file.path + "' SINTER_DEBUG=time");
  REQUIRE(done.status == 0);
  // What SINTER_DEBUG asks for is there, too.
  CHECK(contains(done.stdout_and_stderr, "time per nest: 5 calls"));
  CHECK(!contains(done.stdout_and_stderr, "SINTER_TRACE"));
  const json all = json::parse(file.read());
  const std::vector<told> events = read_events(all);

  const auto count = [&](const std::string& category, const std::string& name) {
    return std::ranges::count_if(
        events, [&](const told& e) { return e.category == category && e.name == name; });
  };
  CHECK(count("planning", "trace") == 3);  // not what a graph_builder made
  for (int function : {1, 2, 3, 4}) {
    for (const char* phase : {"bind", "saturate", "superinstructions", "cuts", "extraction",
                              "lowering", "memory", "normalise", "recognise", "expand", "improve"})
      CHECK_MESSAGE(find(events, phase, function) != nullptr, phase);
    const told* const improve = find(events, "improve", function);
    REQUIRE(improve != nullptr);
    CHECK(improve->around.back() == "saturate");
    CHECK(improve->arguments.at("e-nodes") > 0);
    CHECK(find(events, "lowering", function)->arguments.at("nests") > 0);
  }
  CHECK(count("call", "function 1") == calls);
  CHECK(count("call", "function 1: prepare") == 1);
  for (const char* other : {"function 2", "function 3", "function 4"})
    CHECK(count("call", other) == 1);

  std::set<std::int64_t> threads;
  std::map<std::pair<int, int>, int> nests, shares;  // by function and nest
  for (const told& e : events) {
    if (e.category == "nest") {
      const std::string function = "function " + e.arguments.at("function").dump();
      CHECK(e.around.back().starts_with(function));
      CHECK(e.name.starts_with("nest " + e.arguments.at("nest").dump() + ": "));
      CHECK(e.arguments.at("predicted_us").get<double>() >= 0);
      CHECK(e.arguments.at("bytes_read").is_number_integer());
      CHECK(e.arguments.at("bytes_written") > 0);
      if (e.around.back() == function)
        ++nests[{e.arguments.at("function"), e.arguments.at("nest")}];
    }
    if (e.category == "tasks") {
      threads.insert(e.thread);
      ++shares[{e.arguments.at("function"), e.arguments.at("nest")}];
      // On the thread that calls inside of its nest, on others alone.
      if (!e.around.empty()) CHECK(e.around.back().starts_with(e.name.substr(0, 7)));
    }
  }
  CHECK(nests[{1, 0}] == calls);
  CHECK(nests[{3, 0}] == 1);
#ifdef _OPENMP
  // tanh and the product are worth two threads in every call.
  CHECK(threads.size() == 2);
  CHECK(shares[{1, 0}] >= 2 * calls);
#endif
  std::set<std::string> names;
  for (const json& e : all.at("traceEvents"))
    if (e.at("name") == "thread_name") names.insert(e.at("args").at("name").get<std::string>());
  CHECK(names.contains("main"));
#ifdef _OPENMP
  CHECK(names.contains("OpenMP 1"));
#endif
}

TEST_CASE("a file that cannot be written is one line, and the program goes on") {
  const run_result done = run_child("SINTER_TRACE=/nonexistent/trace.json");
  CHECK(done.status == 0);
  CHECK(done.stdout_and_stderr ==
        "sinter: SINTER_TRACE: cannot write '/nonexistent/trace.json': No such file or "
        "directory\n");
  const run_result full = run_child("SINTER_TRACE=/dev/full");
  CHECK(full.status == 0);
  CHECK(full.stdout_and_stderr ==
        "sinter: SINTER_TRACE: cannot write '/dev/full': No space left on device\n");
  CHECK(run_child("SINTER_TRACE=").stdout_and_stderr.empty());
}

TEST_CASE("events are written outermost first, and names as JSON strings") {
  const timeline::label outer{"a \"b\"\\\n\x01<script>", "nest", "\"x\":1"},
      inner{"é", "tasks", ""};
  timeline::thread_events one(7, "main"), other(8, "OpenMP \"1\"");
  one.add({&inner, 1'000, 1'000});
  one.add({&inner, 2'001, 3'000});
  one.add({&outer, 1'000, 3'000});
  const std::vector<const timeline::thread_events*> threads{&one, &other};
  const temporary_file path;
  std::FILE* const file = std::fopen(path.path.c_str(), "w+");
  REQUIRE(file != nullptr);
  CHECK(timeline::write_events(file, 5, threads));
  const json first = json::parse(path.read());
  // Units for another instruction set write into the same file.
  CHECK(timeline::write_events(file, 5, threads));
  std::fclose(file);
  const json both = json::parse(path.read());
  CHECK(first.at("traceEvents").size() == 6);
  CHECK(both.at("traceEvents").size() == 12);
  const std::vector<told> events = read_events(first);
  REQUIRE(events.size() == 3);
  CHECK(events[0].name == outer.name);
  CHECK(events[0].arguments.at("x") == 1);
  CHECK(events[1].around == std::vector<std::string>{outer.name});
  CHECK(events[2].name == "é");
  CHECK(events[2].begin == 2'001);
  CHECK(events[2].end == 3'000);
}

TEST_CASE("a thread keeps as many events as it may, and counts the rest") {
  const auto events = std::make_unique<timeline::thread_events>(1, "main");
  const timeline::label what{"a", "nest", ""};
  CHECK(events->events().empty());
  constexpr std::int64_t most = 1 << 20;
  for (std::int64_t i = 0; i < most + 3; ++i) events->add({&what, i, i});
  const std::vector<timeline::event> kept = events->events();
  REQUIRE(kept.size() == most);
  CHECK(events->dropped() == 3);
  CHECK(kept[0].begin == 0);
  CHECK(kept.back().begin == most - 1);
}

}  // namespace timeline_test
