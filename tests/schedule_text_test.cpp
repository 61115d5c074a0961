// SPDX-License-Identifier: MIT
// Schedules as text: what is written is read back, errors have line and column, and no text does
// anything but that.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "support/named_nests.hpp"
#include "support/schedule_graph.hpp"
#include <sinter/plan/parse_schedule.hpp>
#include <sinter/sinter.hpp>

namespace schedule_text_test {

namespace sn = sinter;
using sinter::planning::schedule;

namespace {

std::string text_of(const test_support::named_graph& each) {
  static const sinter::program_code code = sinter::detail::all_code();
  const sinter::ir::graph graph = test_support::graph_of(each);
  sinter::program p(graph, code);
  std::string out;
  for (const auto& s :
       test_support::schedules_of(p, test_support::arguments_of(graph), each.frozen))
    out += sinter::planning::to_text(s);
  return out;
}

std::string fault(const std::string& text) {
  try {
    sinter::planning::parse_schedules(text, test_support::named_custom_ops);
  } catch (const sinter::error& e) {
    return e.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("text of every kind of nest is read back and written again") {
  for (const test_support::named_graph& each : test_support::named_graphs()) {
    CAPTURE(each.name);
    const std::string text = text_of(each);
    const auto all = sinter::planning::parse_schedules(text, test_support::named_custom_ops);
    std::string again;
    for (const auto& s : all) again += sinter::planning::to_text(s);
    CHECK(again == text);
    for (const auto& s : all) CHECK(s.once == (&s != &all.back()));
  }
}

TEST_CASE("schedules are equal only if all of them is") {
  const auto& all = test_support::named_graphs();
  const auto a =
      sinter::planning::parse_schedules(text_of(all[2]), test_support::named_custom_ops).back();
  CHECK(a == a);
  auto b = a;
  b.items[0].reductions[0].block += 1;
  CHECK(!(a == b));
  b = a;
  b.plan.nests[0].body.back().operands[0] = 0;
  CHECK(!(a == b));
  CHECK(
      !(a ==
        sinter::planning::parse_schedules(text_of(all[1]), test_support::named_custom_ops).back()));
}

TEST_CASE("numbers are compared and written bit by bit") {
  const auto s =
      sinter::planning::parse_schedules(text_of({"", R"(%0 = argument {number: 0} : f32[4, 3]
%1 = pad(%0) {before: [1, 0], after: [0, 2], fill: nan} : f32[5, 5]
output: %1
)"}))
          .back();
  const auto fill = [](schedule& of) -> double& {
    for (auto& n : of.plan.nests)
      if (n.kind == sinter::planning::nest_kind::assemble) return n.fill;
    throw sn::graph_error("no fill");
  };
  auto t = s;
  REQUIRE(std::isnan(fill(t)));
  CHECK(s == s);
  const double others[] = {-fill(t), std::bit_cast<double>(0x7ff8000000000123), 0.0, -0.0, 0.1};
  for (double each : others) {
    fill(t) = each;
    CHECK(t == t);
    CHECK(!(t == s));
    const auto again = sinter::planning::parse_schedule(sinter::planning::to_text(t));
    CHECK(again == t);
  }
  auto zero = s;
  fill(zero) = 0;
  fill(t) = -0.0;
  CHECK(!(zero == t));
}

TEST_CASE("custom ops are found by name among those that are given") {
  const auto& all = test_support::named_graphs();
  for (const std::string name :
       {"a custom op among others", "rows of a custom op", "custom ops on arrays"}) {
    CAPTURE(name);
    const std::string text =
        text_of(*std::ranges::find(all, name, &test_support::named_graph::name));
    CHECK(fault(text) == "");
    try {
      sinter::planning::parse_schedules(text);
      FAIL("no ops were given");
    } catch (const sn::graph_error& e) {
      CHECK(std::string(e.what()).find("custom ops must be given to the parser") !=
            std::string::npos);
    }
  }
  const std::string rows =
      text_of(*std::ranges::find(all, "rows of a custom op", &test_support::named_graph::name));
  CHECK(rows.find("custom over [40, 15, 100] of scaled_sums {scale: 0.5}") != std::string::npos);
  CHECK(fault(replaced(rows, "of scaled_sums", "of squash")).find("no such op on arrays") !=
        std::string::npos);
  CHECK(fault(replaced(rows, "{scale: 0.5}", "{size: 0.5}")).find("expected 'scale'") !=
        std::string::npos);
  CHECK(fault(replaced(rows, " {scale: 0.5}", "")).find("expected '{'") != std::string::npos);
  CHECK(fault(replaced(rows, "map tanh", "map scaled_sums")).find("there is no op") !=
        std::string::npos);
  CHECK(fault(replaced(rows, "map tanh", "map custom_map")).find("there is no op") !=
        std::string::npos);
}

TEST_CASE("a custom op copies a strided operand first") {
  auto f = sn::fuse([](auto x) { return sn::custom<test_support::scaled_sums>(x, 2); });
  sn::tensor<float, 2> x(6, 40);
  for (int i = 0; i < 240; ++i) x.data()[i] = static_cast<float>(i % 7);
  const sn::view<const float, 2> turned(x.data(), {40, 6}, {1, 40});
  const auto s =
      sinter::planning::parse_schedule(f.schedule(turned), test_support::named_custom_ops);
  REQUIRE(s.items.size() == 1);
  REQUIRE(s.items[0].hints.size() == 1);
  CHECK(s.items[0].hints[0].kind == sinter::planning::hint_kind::copy);
  CHECK(s.items[0].hints[0].bytes == 960);
  sinter::ir::reference_tensor in = sinter::ir::filled(sn::dtype::f32, {40, 6}, 0);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 6; ++j) in.data[static_cast<std::size_t>(6 * i + j)] = turned(i, j);
  const auto results = sinter::planning::interpret_schedule(s, std::vector{in});
  const sn::tensor<float, 2> y = f(turned);
  CHECK(std::equal(y.data(), y.data() + 240, results.outputs[0].data.begin()));
  CHECK(sinter::planning::parse_schedule(f.schedule(x), test_support::named_custom_ops)
            .items[0]
            .hints.empty());
}

TEST_CASE("a fused function gives its schedule, with symbols, and for strided views") {
  auto f = sn::fuse([](auto x, auto b) { return sn::softmax(x + b, 1) * 2.0f; });
  sn::tensor<float, 2> x(6, 40);
  sn::tensor<float, 1> b(40);
  std::fill_n(x.data(), 240, 1.0f);
  std::fill_n(b.data(), 40, 2.0f);
  const std::string text = f.schedule(x, b);
  const auto s = sinter::planning::parse_schedule(text);
  CHECK(s.symbols.size() >= 2);
  CHECK(sinter::planning::to_text(s) == text);
  const auto results = sinter::planning::interpret_schedule(
      s, std::vector{sinter::ir::filled(sn::dtype::f32, {6, 40}, 1),
                     sinter::ir::filled(sn::dtype::f32, {40}, 2)});
  REQUIRE(results.outputs.size() == 1);
  for (double each : results.outputs[0].data) CHECK(each == doctest::Approx(2.0 / 40));
  CHECK(f.explain(x, b).find("critical path [0") != std::string::npos);
}

TEST_CASE("errors name line and column") {
  const std::string text = text_of(test_support::named_graphs()[2]);
  CHECK(fault("") == "");
  CHECK_THROWS_AS(sinter::planning::parse_schedule(""), sinter::graph_error);
  CHECK(fault("nonsense").find("parse_schedule: line 1, column 1: expected 'schedule'") == 0);
  CHECK(fault(replaced(text, "buffer 0", "buffer 1")).find("line 2, column 9") !=
        std::string::npos);
  CHECK(fault(replaced(text, "parallel", "diagonal")).find("there is no role 'diagonal'") !=
        std::string::npos);
  CHECK(fault(replaced(text, ": tile over", ": tile under")).find("expected 'over'") !=
        std::string::npos);
  CHECK(fault(replaced(text, "reduce_max", "reduce_most")).find("there is no op") !=
        std::string::npos);
  CHECK(fault(replaced(text, "f32[", "f31[")).find("there is no dtype 'f31'") != std::string::npos);
  // What the verifier finds has the line of the schedule, and item and field.
  const std::string twice = replaced(text, "loop [0]", "loop [1]");
  CHECK(fault(twice).find("line 1, column 1: verify_schedule: item 0") != std::string::npos);
  CHECK(fault(replaced(text, "200", "281474976710656")) != "");
  CHECK(fault(replaced(text, "200", "99999999999999999999")) != "");
  CHECK(fault(text.substr(0, text.size() - 4)) != "");
  CHECK(fault("# a comment\n\n" + text) == "");
}

TEST_CASE("text that was damaged anywhere is an error or a sound schedule") {
  std::mt19937 engine(1);
  const std::string letters = "0123456789[]%:,-. \nabcdefilnoprstu|{}";
  int errors = 0, rounds = 0;
  for (const test_support::named_graph& each : test_support::named_graphs()) {
    const std::string text = text_of(each);
    for (int i = 0; i < 40; ++i) {
      std::string damaged = text;
      for (std::size_t k = 0; k <= engine() % 3; ++k) {
        const std::size_t at = engine() % damaged.size();
        const char letter = letters[engine() % letters.size()];
        if (engine() % 3 == 0)
          damaged.erase(at, 1 + engine() % 12);
        else if (engine() % 2 == 0)
          damaged[at] = letter;
        else
          damaged.insert(at, 1, letter);
      }
      ++rounds;
      errors += fault(damaged).empty() ? 0 : 1;
    }
  }
  CHECK(errors > rounds / 2);
}

}  // namespace schedule_text_test
