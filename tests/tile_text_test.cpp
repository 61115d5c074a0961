// SPDX-License-Identifier: MIT
// The text form of the lowest level: what is printed is read back, kernels included; text that is
// none is refused with its place.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/lowered_cases.hpp"
#include "support/lowered_graph.hpp"
#include "support/random_graph.hpp"
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/verify_lowered.hpp>

namespace tile_text_test {

namespace {

using namespace sinter::exec;
using sinter::dtype;

const sinter::program_code& code() {
  static const sinter::program_code all = sinter::detail::all_code();
  return all;
}
known_kernels kernels() { return {&code().kernels, code().instructions}; }

void check_round_trip(const lowered_plan& plan, const known_kernels& known) {
  const std::string text = to_text(plan);
  CAPTURE(text);
  const lowered_plan back = parse_lowered(text, known);
  CHECK(back == plan);
  CHECK(to_text(back) == text);
  verify_lowered(back, known.table);
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_tile(text, kernels()));
  } catch (const sinter::graph_error& e) {
    return e.what();
  }
  return "";
}

// Written by hand: (x + 0.5) per row of 3, and the sum of each row.
const std::string by_hand = R"(rows 2 of [2], columns 3 of [3]
tile 2 x 3, capacity 2
stream 0: buffer 0 f32 + 0, outer [3], inner [1], step 1, linear, dense
stream 1: buffer 1 f32 + 0, outer [1], inner [0], step 0, linear
constant 0: f32 0.5
accumulator 0: sum of f32 in phase 0, lanes LANES, at 0, result row0
scratch 1024: rows at 64 of 512, accumulators at 576 of 64, singles at 640, slots at 640 of 128
phases 1
rows before 0: 0
phase 0: 2
  map f32 slot0 = add f32 (stream0, slot1)  # in place of nothing
  reduce accumulator 0 with slot0
rows before 1: 1
  store f32 stream 1 with row0
prologue: 1
  expand f32 slot1 = constant0
)";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}
std::string sound() {
  const int lanes = code().kernels.reduction(monoid::sum, dtype::f32).lanes;
  return replaced(by_hand, "LANES", std::to_string(lanes));
}

}  // namespace

TEST_CASE("lowered plans are read back") {
  for (const test_support::lowered_case& c : test_support::lowered_cases()) {
    CAPTURE(c.name);
    std::vector<bool> frozen(c.arguments.size(), c.frozen);
    frozen.front() = false;
    sinter::program p(c.graph, code());
    for (const lowered_plan& plan : test_support::lower(p, c.arguments, frozen).plans)
      check_round_trip(plan, test_support::kernels_of(p));
  }
}

TEST_CASE("lowered plans of random graphs are read back") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    const sinter::test::random_graph sample =
        sinter::test::make_random_graph(seed, {.steps = static_cast<int>(5 + seed % 25)});
    sinter::program p(sample.graph, code());
    for (const lowered_plan& plan : test_support::lower(p, sample.arguments).plans)
      check_round_trip(plan, test_support::kernels_of(p));
  }
}

TEST_CASE("a program written by hand is read, verified and computed") {
  const tile_program p = parse_tile(sound(), kernels());
  CHECK(parse_tile(to_text(p), kernels()) == p);
  lowered_plan plan;
  plan.buffers = {{sinter::planning::place::argument, 0, dtype::f32, {2, 3}, {3, 1}},
                  {sinter::planning::place::output, 0, dtype::f32, {2}, {1}}};
  plan.nests.emplace_back(lowered_tiles{p, 2, 3});
  verify_lowered(plan, kernels().table);
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  std::vector<float> y(2);
  interpret_lowered(plan, std::vector<const void*>{x.data()}, std::vector<void*>{y.data()});
  CHECK(y == std::vector<float>{7.5f, 16.5f});
}

TEST_CASE("constants keep their bits") {
  tile_program p = parse_tile(sound(), kernels());
  const auto word = [](auto x) {
    std::int64_t out = 0;
    std::memcpy(&out, &x, sizeof x);
    return out;
  };
  p.constants = {{word(std::numeric_limits<float>::quiet_NaN()), dtype::f32},
                 {word(std::uint32_t{0xffc12345}), dtype::f32},
                 {word(-0.0), dtype::f64},
                 {word(std::numeric_limits<double>::denorm_min()), dtype::f64},
                 {word(-std::numeric_limits<float>::infinity()), dtype::f32},
                 {word(std::numeric_limits<std::int64_t>::min()), dtype::i64},
                 {word(std::numeric_limits<std::uint64_t>::max()), dtype::u64},
                 {word(std::int8_t{-3}), dtype::i8},
                 {word(true), dtype::boolean},
                 {word(sinter::float16(0.1f)), dtype::f16},
                 {word(sinter::bfloat16(3.0f)), dtype::bf16}};
  CHECK(parse_tile(to_text(p), kernels()) == p);
}

TEST_CASE("text that is no program is refused with line and column") {
  struct wrong {
    std::string what, by, message;
  };
  for (const wrong& w : std::vector<wrong>{
           {"rows 2", "lines 2", "line 1, column 1: expected 'rows'"},
           {"tile 2 x 3", "tile 2 3", "line 2, column 8: expected 'x'"},
           {"buffer 0 f32", "buffer 0 f33", "line 3, column 20: there is no dtype 'f33'"},
           {"stream 1:", "stream 2:", "line 4, column 8: expected stream 1"},
           {"outer [3]", "outer [3, 3]", "another number of outer strides"},
           {"outer [3]", "outer [1,1,1,1,1,1,1,1,1]", "line 3"},
           {"sum of", "sam of", "line 6, column 16: 'sam' means nothing here"},
           {"sum of f32", "sum of bool", "there is no kernel of this accumulator"},
           {"lanes ", "lanes 7", "lanes side by side"},
           {"phase 0: 2", "phase 1: 2", "expected number 0"},
           {"phase 0: 2", "phase 0: 3", "'rows' means nothing here"},
           {"phases 1", "phases 99999999", "too many phases"},
           {"add f32", "sub bool", "there is no kernel of sub on bool"},
           {"add f32", "plus f32", "line 11, column 19: there is no op 'plus'"},
           {"(stream0, slot1)", "(stream0)", "expected ','"},
           {"slot1)", "slat1)", "there is no place 'slat1'"},
           {"slot1)", "slot)", "expected the number of a slot"},
           {"slot1)", "slot1.half)", "expected single, row or full"},
           {"slot1)", "slot99999999999)", "expected the number of a slot"},
           {"accumulator 0 with", "accumulator 5 with", "there is no accumulator 5"},
           {"store f32 stream 1", "store f32 stream 9", "there is no stream 9"},
           {"expand f32 slot1 = constant0", "expand f32 slot1 = constant0 more", "end of the line"},
           {"add f32 (stream0, slot1)", "fused f32 (x0 stream0, s1 slot1) %2 = pow(%0, %1)",
            "there is no kernel of this region"},
           {"add f32 (stream0, slot1)", "fused f32 (x0 stream0) %1 = neg(%1)",
            "expected one of the values before %1"},
           {"add f32 (stream0, slot1)", "fused f32 (x0 stream0) %1 = reduce_sum(%0)",
            "is not element-wise"},
           {"constant 0: f32 0.5", "constant 0: u8 256", "line 5"}}) {
    CAPTURE(w.by);
    const std::string message = error_of(replaced(sound(), w.what, w.by));
    CAPTURE(message);
    CHECK(message.find("parse_tile: line ") == 0);
    CHECK(message.find(w.message) != std::string::npos);
  }
  CHECK(error_of(sound() + "more") != "");
  // Cut off anywhere, it is no program.
  const std::string whole = sound();
  for (std::size_t length = 0; length + 12 < whole.size(); length += 7)
    CHECK(error_of(whole.substr(0, length)) != "");
}

TEST_CASE("custom ops are read by name, from a list of those that may occur") {
  const std::string text =
      replaced(sound(), "add f32 (stream0, slot1)", "custom leak f32 (stream0, slot1)");
  const auto with = [](std::span<const sinter::custom_op* const> customs) {
    return known_kernels{&code().kernels, code().instructions, customs};
  };
  const auto all = with(sinter::custom_ops<test_support::leak, test_support::bend,
                                           test_support::running_sum, test_support::sorted>);
  const tile_program p = parse_tile(text, all);
  CHECK(p.commands.front().custom == &sinter::custom_op_of<test_support::leak>);
  CHECK(parse_tile(to_text(p), all) == p);
  CHECK(to_text(p).find("= custom leak f32 (stream0, slot1)") != std::string::npos);
  CHECK_FALSE(p == parse_tile(sound(), all));
  const auto error = [](auto read) -> std::string {
    try {
      read();
    } catch (const sinter::graph_error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(error([&] { parse_tile(text, kernels()); }) ==
        "parse_tile: line 11, column 26: there is no custom op 'leak' (custom ops must be given to "
        "the parser)");
  const auto message = [&](const std::string& what, const std::string& by) {
    return error([&] { parse_tile(replaced(text, what, by), all); });
  };
  CHECK(message("leak", "running_sum").find("running_sum is not element-wise") != text.npos);
  CHECK(message("leak", "bend").find("expected ')'") != text.npos);
  CHECK(message("map f32 slot0 = custom leak f32", "map i32 slot0 = custom leak i32")
            .find("there is no kernel of leak on i32") != text.npos);

  const std::string nest = R"(arena 0
buffer 0: argument 0, f32 [2, 3, 4] strides [12, 4, 1]
buffer 1: output 0, f32 [2, 3, 4] strides [12, 4, 1]
nest 0: custom
  running_sum, tasks of rows 4
  from_end = 1
  operand 0: f32 [6, 4] of buffer 0 + 0 [2, 3, 4] strides [12, 4, 1]
  result f32 [6, 4] of buffer 1 + 0 [2, 3, 4] strides [12, 4, 1]
)";
  const lowered_plan plan = parse_lowered(nest, all);
  verify_lowered(plan, &code().kernels);
  CHECK(to_text(plan) == nest);
  std::vector<float> x(24, 1), y(24);
  interpret_lowered(plan, std::vector<const void*>{x.data()}, std::vector<void*>{y.data()});
  CHECK(std::vector<float>(y.begin(), y.begin() + 5) == std::vector<float>{4, 3, 2, 1, 4});
  const auto nest_message = [&](const std::string& what, const std::string& by) {
    return error([&] { parse_lowered(replaced(nest, what, by), all); });
  };
  CHECK(nest_message("running_sum,", "walking_sum,").find("line 5, column 3: there is no custom") !=
        text.npos);
  CHECK(nest_message("from_end", "to_end").find("line 6, column 3: expected 'from_end'") !=
        text.npos);
  CHECK(nest_message("  from_end = 1\n", "").find("expected 'from_end'") != text.npos);
  CHECK(nest_message("operand 0: f32", "operand 0: bool")
            .find("there is no kernel of running_sum on bool") != text.npos);
  CHECK(error([&] {
          parse_lowered(replaced(replaced(nest, "running_sum", "sorted"), "  from_end = 1\n", ""),
                        all);
        }).find("there is no kernel of sorted") != text.npos);
}

TEST_CASE("functions show their tile programs") {
  auto f = sinter::fuse([](auto x, auto w) { return sinter::relu(sinter::matmul(x, w)); });
  const sinter::tensor<float, 2> x({8, 16}), w({16, 12});
  const std::string text = f.tile_programs(x, w);
  CHECK(text.find("nest 0: products") != std::string::npos);
  CHECK(text.find("= relu f32 (") != std::string::npos);
  CHECK(f.statistics().calls == 0);
  const std::string kept = f.tile_programs(x, sinter::frozen(w));
  CHECK(kept.find("tile") != std::string::npos);
}

}  // namespace tile_text_test
