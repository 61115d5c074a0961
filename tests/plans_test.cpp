// SPDX-License-Identifier: MIT
// Plans that are saved and loaded: the same nests, tile programs and bits without a saturation, and
// files that are refused.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/named_nests.hpp"
#include "support/schedule_graph.hpp"
#include "support/temporary_file.hpp"
#include <sinter/function/plan_file.hpp>
#include <sinter/function/read_plan_file.hpp>
#include <sinter/plan/allocation.hpp>
#include <sinter/plan/parse_schedule.hpp>
#include <sinter/plan/print_schedule.hpp>
#include <sinter/plans.hpp>
#include <sinter/sinter.hpp>

namespace plans_test {

namespace sn = sinter;
using matrix = sn::tensor<float, 2>;

namespace {

matrix noise(std::int64_t rows, std::int64_t columns, unsigned seed = 1) {
  matrix out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    out.data()[i] = static_cast<float>(seed >> 8) / 8388608.0f - 1;
  }
  return out;
}

bool same_bits(const matrix& a, const matrix& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

auto softmax() {
  return sn::fuse([](auto x) { return sn::softmax(x * 2.0f, -1); });
}
auto network() {
  return sn::fuse(
      [](auto x, auto w, auto b, auto v) { return sn::matmul(sn::gelu(sn::matmul(x, w) + b), v); });
}
auto step() {
  return sn::fuse([](auto x, auto label, auto w, auto rate) {
    auto loss = sn::cross_entropy(sn::matmul(x, w), label);
    auto [dw] = sn::gradients(loss, w);
    return sn::outputs(loss, sn::assign(w, w - rate * dw));
  });
}

std::string error_of(const auto& body) {
  try {
    body();
  } catch (const sn::io_error& e) {
    return e.what();
  }
  return "";
}

// With the check sum of what it now says.
std::string signed_again(std::string text) {
  text.resize(text.rfind("check "));
  return text + sn::planning::detail::check_line(text);
}
std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return signed_again(text.replace(at, what.size(), by));
}

}  // namespace

TEST_CASE("plans with every kind of nest come back as they were") {
  const sn::program_code code = sn::detail::all_code();
  for (const test_support::named_graph& each : test_support::named_graphs()) {
    CAPTURE(each.name);
    const sn::ir::graph graph = test_support::graph_of(each);
    const auto arguments = test_support::arguments_of(graph);
    const auto given = [&](sn::program& p) {
      return test_support::arguments_for(p, arguments, each.frozen);
    };
    sn::program planned(graph, code), loaded(graph, code);
    const auto of_planned = given(planned);
    const auto call = planned.prepare(of_planned.memory, of_planned.symbols);
    const std::string text = sn::detail::plan_file_writer().write({{}, {planned.saved_plans()}});
    const sn::detail::plan_file file = sn::detail::plan_file_reader(text).read();
    CHECK(sn::detail::plan_file_writer().write(file) == text);

    CHECK(loaded.load_plans(file) == 1);
    const auto of_loaded = given(loaded);
    const auto again = loaded.prepare(of_loaded.memory, of_loaded.symbols);
    CHECK(loaded.statistics().saturations == 0);
    CHECK(loaded.statistics().extractions == 0);
    CHECK(loaded.statistics().loaded == 1);
    CHECK(loaded.schedule(again, of_loaded.memory, of_loaded.symbols) ==
          planned.schedule(call, of_planned.memory, of_planned.symbols));
    CHECK(loaded.tile_programs(again, of_loaded.memory, of_loaded.symbols) ==
          planned.tile_programs(call, of_planned.memory, of_planned.symbols));
    CHECK(sn::detail::plan_file_writer().write({{}, {loaded.saved_plans()}}) == text);
  }
}

TEST_CASE("a function loads what another one saved") {
  const test_support::temporary_file file;
  const matrix x = noise(33, 64), w = noise(64, 96), b = noise(1, 96), v = noise(96, 10);
  auto first = network();
  const matrix expected = first(x, w, b, v);
  first.save_plans(file.path);

  auto second = network();
  second.load_plans(file.path);
  const matrix got = second(x, w, b, v);
  CHECK(same_bits(got, expected));
  CHECK(second.statistics().saturations == 0);
  CHECK(second.statistics().loaded == 1);
  CHECK(second.statistics().hits == 1);

  // 40 rows are of the same bucket, 200 are not, and 1 is another class.
  CHECK(same_bits(second(noise(40, 64), w, b, v), first(noise(40, 64), w, b, v)));
  CHECK(second.statistics().saturations == 0);
  CHECK(same_bits(second(noise(200, 64), w, b, v), first(noise(200, 64), w, b, v)));
  CHECK(second.statistics().saturations == 1);
  CHECK(same_bits(second(noise(1, 64), w, b, v), first(noise(1, 64), w, b, v)));
  CHECK(second.statistics().saturations == 2);

  // Reports saturate for themselves, and say the same.
  const auto reasons = [](const std::string& text) {
    std::string out;
    for (std::size_t at = text.find("found by"); at != std::string::npos;
         at = text.find("found by", at + 1))
      out += text.substr(at, text.find('\n', at) - at);
    return out;
  };
  CHECK(reasons(second.explain(x, w, b, v)) == reasons(first.explain(x, w, b, v)));
  CHECK(reasons(first.explain(x, w, b, v)) != "");
  CHECK(second.egglog(x, w, b, v) == first.egglog(x, w, b, v));

  // What was loaded is saved again.
  second.save_plans(file.path);
  auto third = network();
  third.load_plans(file.path, x, w, b, v);
  CHECK(third.statistics().loaded == 3);
  third(noise(200, 64), w, b, v);
  CHECK(third.statistics().saturations == 0);
}

TEST_CASE("frozen arguments, assignments and other dtypes") {
  const test_support::temporary_file file;
  const matrix x = noise(8, 32), w = noise(32, 128);
  sn::tensor<std::int32_t, 1> label(8);
  label.fill(3);
  auto a = step(), b = step();
  matrix wa = w, wb = w;
  const sn::tensor<float, 0> loss = a(x, label, wa, 0.1f);
  a.save_plans(file.path);
  b.load_plans(file.path);
  CHECK(sn::tensor<float, 0>(b(x, label, wb, 0.1f))() == loss());
  CHECK(same_bits(wa, wb));
  CHECK(!same_bits(wa, w));
  CHECK(b.statistics().saturations == 0);

  auto c = network(), d = network();
  const matrix bias = noise(1, 96), v = noise(96, 10), u = noise(32, 96);
  const matrix expected = c(x, sn::frozen(u), bias, sn::frozen(v));
  c(x, u, bias, v);
  const sn::tensor<double, 2> xd(4, 6), ud(6, 5), bd(1, 5), vd(5, 7);
  c(xd, ud, bd, vd);
  c.save_plans(file.path);
  d.load_plans(file.path);
  CHECK(same_bits(d(x, sn::frozen(u), bias, sn::frozen(v)), expected));
  CHECK(same_bits(d(x, u, bias, v), expected));
  d(xd, ud, bd, vd);
  CHECK(d.statistics().saturations == 0);
  CHECK(d.statistics().loaded == 3);
}

TEST_CASE("files of others are refused") {
  const test_support::temporary_file file;
  const matrix x = noise(5, 9);
  auto f = softmax();
  f(x);
  f.save_plans(file.path);
  const std::string good = file.read();
  const auto error = [&](const std::string& text) {
    file.write(text);
    auto g = softmax();
    const std::string out = error_of([&] { g.load_plans(file.path, x); });
    CHECK((out == "" || g.statistics().loaded == 0));
    g(x);
    return out;
  };
  const auto mentions = [](const std::string& text, const std::string& what) {
    CAPTURE(text);
    CHECK(text.find(what) != std::string::npos);
  };
  CHECK(error(good) == "");
  mentions(error(""), "check sum is missing");
  mentions(error(good.substr(0, good.size() / 2)), "check sum is missing");
  mentions(error(good + "\n"), "check sum is that of another text");
  mentions(error(replaced(good, "version 0.", "version 1.")), "version '1.");
  mentions(error(replaced(good, "processor ", "processor 6502 ")), "processor '6502 ");
  mentions(error(replaced(good, "\nbuild ", "\nbuild sse1 ")), "instruction set 'sse1 ");
  mentions(error(replaced(good, "\nrules ", "\nrules 1")), "rules '1");
  mentions(error(replaced(good, "reassociation", "no reassociation")), "options 'no reass");
  mentions(error(replaced(good, "format 1", "format 2")), "format 1");
  // Of another function, and of this one with another graph.
  mentions(error(replaced(good, "= softmax", "= log_softmax")), "has no plan of this function");
  std::string bound = good;
  bound.replace(bound.rfind("= softmax"), 9, "= log_softmax");
  mentions(error(signed_again(bound)), "the graph is another one");
  mentions(error_of([&] { f.load_plans("/nowhere/plans"); }), "cannot read /nowhere/plans");
  mentions(error_of([&] { f.save_plans("/proc/nowhere/plans"); }), "cannot write");

  // Another function: nothing is loaded, which is an error where one asks for it.
  file.write(good);
  auto h = sn::fuse([](auto y) { return sn::softmax(y * 3.0f, -1); });
  h.load_plans(file.path);
  mentions(error_of([&] { h.load_plans(file.path, x); }), "has no plan of this function");
  h(x);
  CHECK(h.statistics().saturations == 1);
  auto exact = sn::fuse([](auto y) { return sn::softmax(y * 2.0f, -1); }, {.reassociate = false});
  mentions(error_of([&] { exact.load_plans(file.path); }), "options");
}

TEST_CASE("no more memory is reserved than the extents of a bucket need") {
  auto f = network();
  const matrix x = noise(33, 64), w = noise(64, 96), b = noise(1, 96), v = noise(96, 10);
  f(x, w, b, v);
  const test_support::temporary_file file;
  f.save_plans(file.path);
  sn::detail::plan_file plans = sn::detail::plan_file_reader(file.read()).read();
  std::string& text = plans.programs[0].classes[0].plans[0].schedules;
  sn::planning::schedule s = sn::planning::parse_schedule(text);
  const auto arena =
      std::ranges::find(s.plan.buffers, sn::planning::place::arena, &sn::planning::buffer::place);
  REQUIRE(arena != s.plan.buffers.end());
  arena->bytes <<= 30;
  const auto use = sn::planning::find_memory_use(s.plan, s.allocations);
  s.plan.arena_bytes = use.peak;
  s.plan.lower_bound_bytes = use.lower_bound;
  text = sn::planning::to_text(s);
  file.write(sn::detail::plan_file_writer().write(plans));
  auto g = network();
  CHECK(error_of([&] { g.load_plans(file.path, x, w, b, v); }).find("larger than the extents") !=
        std::string::npos);
}

TEST_CASE("graphs made at run time") {
  const test_support::temporary_file file;
  sn::graph_builder g;
  const sn::sym n("n", 1, 4096);
  const auto x = g.argument("x", sn::dtype::f32, {n, 12});
  const auto f = g.compile({sn::relu(x + 1.0f)}), h = g.compile({sn::relu(x + 1.0f)}),
             other = g.compile({sn::relu(x + 2.0f)});
  const matrix data = noise(7, 12);
  const matrix expected = f({data})[0];
  f.save_plans(file.path);
  h.load_plans(file.path);
  CHECK(same_bits(h({data})[0], expected));
  CHECK(h.statistics().saturations == 0);
  CHECK(error_of([&] { other.load_plans(file.path); }).find("no plan of this graph") !=
        std::string::npos);
}

// Run by the next one in a process of its own.
TEST_CASE("in another run" * doctest::skip(std::getenv("SINTER_TEST_PLANS") == nullptr)) {
  auto f = network();
  f.load_plans(std::getenv("SINTER_TEST_PLANS"));
  const matrix y = f(noise(33, 64), noise(64, 96), noise(1, 96), noise(96, 10));
  CHECK(f.statistics().saturations == 0);
  CHECK(f.statistics().loaded == 1);
  std::string bits(static_cast<std::size_t>(y.size()) * sizeof(float), ' ');
  std::memcpy(bits.data(), y.data(), bits.size());
  CHECK(test_support::temporary_file::contents(std::getenv("SINTER_TEST_BITS")) == bits);
}

TEST_CASE("another run of the program loads what this one saved") {
  const test_support::temporary_file plans, bits;
  auto f = network();
  const matrix y = f(noise(33, 64), noise(64, 96), noise(1, 96), noise(96, 10));
  f.save_plans(plans.path);
  std::string bytes(static_cast<std::size_t>(y.size()) * sizeof(float), ' ');
  std::memcpy(bytes.data(), y.data(), bytes.size());
  bits.write(bytes);
  const std::string self = "/proc/" + std::to_string(getpid()) + "/exe";
  const auto run = [&] {
    return std::system(("SINTER_TEST_PLANS=" + plans.path + " SINTER_TEST_BITS=" + bits.path + " " +
                        self + " -tc='in another run' > /dev/null")
                           .c_str());
  };
  CHECK(run() == 0);
  bits.write("other bits");
  CHECK(run() != 0);
}

}  // namespace plans_test
