// SPDX-License-Identifier: MIT
// Modes of fused kernels that are known when memory is: operands that are broadcast along rows are
// not spread, results that no cache holds go past the caches; and how much a call takes. Text,
// verifier, interpreter and executor agree on them.
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/lowered_cases.hpp"
#include "support/lowered_graph.hpp"
#include <sinter/exec/fetched_tiles.hpp>
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/map_reduce.hpp>
#include <sinter/exec/placed_tile.hpp>
#include <sinter/exec/sole_map.hpp>
#include <sinter/exec/verify_lowered.hpp>

namespace run_modes_test {

namespace {

namespace exec = sinter::exec;
namespace ir = sinter::ir;
using exec::command;
using sinter::dtype;
using test_support::noise;

// (a + b) c, which is what most functions below compute.
constexpr ir::region sum_times() {
  ir::region r;
  r.type = dtype::f32;
  for (int k = 0; k < 3; ++k) r.add_leaf(false);
  r.add_node(ir::op::mul, r.add_node(ir::op::add, 0, 1), 2);
  return r;
}

sinter::program_code code() {
  sinter::program_code out = sinter::detail::all_code();
  constexpr ir::region r = sum_times();
  ir::instruction own{r, &exec::map_kernel<r>};
  own.run_rows = &exec::map_rows_kernel<r>;
  out.instructions.push_back(own);
  return out;
}

// The commands of a plan point to regions that its program owns.
struct bound_plan {
  std::unique_ptr<sinter::program> owner;
  exec::lowered_plan plan;
};

// What is bound where the caches hold so many bytes; text and verifier agree on it, and the
// interpreter, whose exponentials have other bits, where it is to.
bound_plan checked(const test_support::lowered_case& c, double last_level_bytes,
                   const sinter::program_code& all = code(), bool interpreted_too = true) {
  const exec::loop_threads alone(1);  // what is fetched goes by the threads that share it
  sinter::planning::machine machine;
  machine.last_level_bytes = last_level_bytes;
  auto p =
      std::make_unique<sinter::program>(c.graph, all, sinter::program_options{.machine = machine});
  test_support::lowered_graph low = test_support::lower(*p, c.arguments);
  CAPTURE(low.text);
  REQUIRE(low.plans.size() == 1);
  const exec::known_kernels known = test_support::kernels_of(*p);
  exec::verify_lowered(low.plans[0], known.table);
  const std::string text = to_text(low.plans[0]);
  const exec::lowered_plan back = exec::parse_lowered(text, known);
  CHECK(back == low.plans[0]);
  if (!interpreted_too) return {std::move(p), low.plans[0]};
  const auto interpreted = test_support::interpret(low, {&back, 1});
  for (std::size_t k = 0; k < interpreted.size(); ++k)
    CHECK(interpreted[k].bytes == low.out[k].bytes);
  return {std::move(p), low.plans[0]};
}

std::vector<command> commands_of(const bound_plan& bound) {
  std::vector<command> out;
  for (const exec::lowered_nest& n : bound.plan.nests)
    if (const auto* tiles = std::get_if<exec::lowered_tiles>(&n))
      out.insert(out.end(), tiles->program.commands.begin(), tiles->program.commands.end());
  return out;
}

constexpr double no_limit = 1e18;

// The columns of a tile of the one nest that a function is.
template <class F, class... Operand>
std::int64_t chunk(F f, Operand... operand) {
  const bound_plan bound = checked(test_support::make_case("", f, operand...), no_limit);
  REQUIRE(bound.plan.nests.size() == 1);
  return std::get<exec::lowered_tiles>(bound.plan.nests[0]).program.chunk;
}

}  // namespace

TEST_CASE("operands that are broadcast along rows are not spread") {
  const auto f = [](auto x, auto row, auto column) { return (x + row) * column; };
  struct sample {
    sinter::shape_vector x, row, column;
    unsigned single;
  };
  for (const sample& s :
       {sample{{37, 300}, {300}, {37, 1}, 4}, sample{{5, 64}, {64}, {5, 1}, 4},
        sample{{3, 5, 70}, {5, 70}, {3, 1, 1}, 4}, sample{{4, 300}, {300}, {4, 300}, 0}}) {
    CAPTURE(sinter::to_string(s.x));
    const auto commands = commands_of(checked(
        test_support::make_case("", f, noise(s.x), noise(s.row, 2), noise(s.column, 3)), no_limit));
    REQUIRE(commands.size() == 1);
    CHECK(commands[0].kind == exec::command_kind::map);
    CHECK(commands[0].mode.single == s.single);
    CHECK(!commands[0].mode.streaming);
  }
}

TEST_CASE("short rows share a call, and what is broadcast is spread for that") {
  const auto commands =
      commands_of(checked(test_support::make_case(
                              "", [](auto x, auto row, auto column) { return (x + row) * column; },
                              noise({37, 7}), noise({7}, 2), noise({37, 1}, 3)),
                          no_limit));
  for (const command& c : commands) CHECK(c.mode.is_plain());
}

TEST_CASE("a single op reads a value per row, or one for all, as it is") {
  const auto check = [](auto f) {
    struct sample {
      sinter::shape_vector x, y;
    };
    for (const dtype type : {dtype::f32, dtype::f64})
      for (const sample& s : {sample{{37, 300}, {37, 1}}, sample{{5, 64}, {5, 1}},
                              sample{{3, 5, 71}, {3, 1, 1}}, sample{{37, 7}, {1, 1}}}) {
        CAPTURE(sinter::to_string(s.x));
        const auto commands = commands_of(checked(
            test_support::make_case("", f, noise(type, s.x, 1), noise(type, s.y, 2)), no_limit));
        REQUIRE(commands.size() == 1);
        CHECK(commands[0].fused == nullptr);
        CHECK(std::popcount(commands[0].mode.single) == 1);
      }
  };
  check([](auto x, auto y) { return x + y; });
  check([](auto x, auto y) { return y - x; });
  check([](auto x, auto y) { return x * y; });
  check([](auto x, auto y) { return y / x; });
  check([](auto x, auto y) { return sinter::maximum(x, y); });
  check([](auto x, auto y) { return sinter::minimum(y, x); });
}

TEST_CASE("a single op reads what was reduced of its rows as it is") {
  const auto commands = commands_of(checked(
      test_support::make_case(
          "", [](auto x) { return x / sinter::sum(x, -1, sinter::keep_dims); }, noise({40, 300})),
      no_limit));
  REQUIRE(!commands.empty());
  for (const command& c : commands) CHECK(c.kind != exec::command_kind::expand);
  CHECK(commands.back().fused == nullptr);
  CHECK(commands.back().mode.single == 2);
}

TEST_CASE("results that do not fit into the caches beside what is read go past them") {
  const auto f = [](auto x, auto y, auto z) { return (x + y) * z; };
  const auto streams = [&](const sinter::shape_vector& shape, double bytes) {
    const auto commands = commands_of(checked(
        test_support::make_case("", f, noise(shape), noise(shape, 2), noise(shape, 3)), bytes));
    REQUIRE(commands.size() == 1);
    return commands[0].mode.streaming;
  };
  CHECK(streams({10'000}, 159'999));  // with what is read
  CHECK(!streams({10'000}, 160'000));
  CHECK(streams({3}, 4));
  CHECK(streams({70, 301}, 4096));  // rows that are not aligned alike
  CHECK(!streams({70, 301}, no_limit));

  // Rows that share lines, unless they are short; a row broadcast, so that rows are not one.
  const auto streams_rows = [&](std::int64_t n) {
    const auto commands = commands_of(checked(
        test_support::make_case("", f, noise({70, n}), noise({n}, 2), noise({70, n}, 3)), 4096));
    REQUIRE(!commands.empty());
    return std::ranges::any_of(commands, [](const command& c) { return c.mode.streaming; });
  };
  CHECK(streams_rows(exec::shortest_streamed_row() / 4 + 1));
  CHECK(!streams_rows(exec::shortest_streamed_row() / 4 - 1));
  CHECK(streams_rows(80));

  const auto sum = commands_of(
      checked(test_support::make_case(
                  "", [](auto x, auto y) { return x + y; }, noise({70, 301}), noise({70, 1}, 2)),
              4096));
  REQUIRE(sum.size() == 1);
  CHECK(sum[0].fused == nullptr);
  CHECK(sum[0].mode == ir::run_mode{2, 0, 0, true});
}

TEST_CASE("steps of a region fetch ahead what does not stay in L2, and write past the caches") {
  const auto fetches = [](auto f, const sinter::shape_vector& shape, double bytes = no_limit) {
    const auto c = test_support::make_case("", f, noise(shape), noise(shape, 2));
    const bound_plan bound = checked(c, bytes, sinter::detail::code_of(c.graph));
    const auto commands = commands_of(bound);
    REQUIRE(commands.size() == 1);
    CHECK(commands[0].mode.streaming == (bytes != no_limit));
    return std::pair(exec::runs_steps(commands[0]), commands[0].mode.fetches());
  };
  const auto chain = [](auto x, auto y) {
    return sinter::maximum((x * y + x) * 0.5f - y, x * 0.25f) * y + x;
  };
  CHECK(fetches(chain, {1000}) == std::pair(true, false));
  const auto gain = [](std::int64_t n) { return exec::steps_gain_from_fetching(3 * 4 * n); };
  CHECK(gain(2'200'000));
  CHECK(fetches(chain, {100'000}) == std::pair(true, gain(100'000)));  // three times 400 kB
  CHECK(fetches(chain, {100'003}, 4096) == std::pair(true, gain(100'003)));
  CHECK(fetches(chain, {2'200'003}, 4096) == std::pair(true, true));
  CHECK(fetches([](auto x, auto y) { return x + y; }, {100'000}) ==
        std::pair(false, exec::streams_gain_from_fetching()));
}

TEST_CASE("an exponential asks for the next row while it computes this one") {
  const auto fetched = [](auto f, const sinter::shape_vector& shape) {
    std::vector<command> out;
    const sinter::shape_vector row{shape[1]};
    for (const command& c : commands_of(checked(
             test_support::make_case("", f, noise(shape), noise(row, 2)), no_limit, code(), false)))
      if (c.mode.fetches()) out.push_back(c);
    return out;
  };
  const auto softmax = [](auto x, auto scale) { return sinter::softmax(x) * scale; };
  const auto of_rows = fetched(softmax, {40, 1000});
  REQUIRE(of_rows.size() == 1);
  CHECK(of_rows[0].kind == exec::command_kind::map_reduce);
  CHECK(of_rows[0].mode == ir::run_mode{0, 1, 63, false});
  CHECK(fetched(softmax, {8, 500}).empty());   // in L1
  CHECK(fetched(softmax, {400, 50}).empty());  // many rows to a tile
  CHECK(fetched(softmax, {1, 9000}).empty());  // there is no next one

  // What waits for memory fetches its results as well, or nothing.
  const auto norm =
      fetched([](auto x, auto scale) { return sinter::rms_norm(x, scale); }, {300, 1000});
  REQUIRE(norm.size() ==
          (exec::light_kernels_gain_from_fetching(2 * 300 * 1000 * 4, 4000) ? 1 : 0));
  for (const command& c : norm)
    CHECK(c.mode == ir::run_mode{0, 1 | 1 << ir::run_mode::result, 63, false});
}

TEST_CASE("how rows are walked that are reduced column by column goes by where they come from") {
  const auto check = [](auto f, std::int64_t rows, exec::command_kind kind, ir::column_walk want) {
    CAPTURE(rows);
    const auto c = test_support::make_case("", f, noise({rows, 1001}), noise({1001}, 2));
    const bound_plan bound = checked(c, no_limit, code(), false);
    REQUIRE(bound.plan.nests.size() == 1);
    const auto& map = std::get<exec::lowered_columns>(bound.plan.nests[0]).map;
    REQUIRE(map.commands.size() == 1);
    CHECK(map.commands[0].kind == kind);
    const ir::column_walk walk = exec::walk_of_columns(map.commands[0]);
    CHECK(walk.ahead == want.ahead);
    CHECK(walk.in_turn == want.in_turn);
  };
  const auto bytes_of = [](std::int64_t rows) { return rows * 1001 * 4; };
  const auto squares = [](auto x, auto m) {
    const auto d = x - m;
    return sinter::sum(d * d, 0);
  };
  for (const std::int64_t rows : {100, 500, 2500, 6500})
    check(squares, rows, exec::command_kind::map_reduce_columns,
          exec::walk_of_mapped_rows(bytes_of(rows), 1, 1, true));

  exec::bound_reduction r;
  r.type = sinter::dtype::f32;
  exec::reduction_kernels kernels{};
  kernels.lanes = exec::lanes<float>;
  r.kernels = &kernels;
  const auto sum = [](auto x, auto) { return sinter::sum(x, 0); };
  const auto max = [](auto x, auto) { return sinter::max(x, 0); };
  for (const std::int64_t rows : {100, 500, 6500}) {
    r.monoid = exec::monoid::sum;
    check(sum, rows, exec::command_kind::reduce_columns, exec::walk_of_rows(bytes_of(rows), r));
    r.monoid = exec::monoid::max;
    check(max, rows, exec::command_kind::reduce_columns, exec::walk_of_rows(bytes_of(rows), r));
  }
}

TEST_CASE("rows go in turn where that is faster from memory, and the kernel is alone") {
  exec::bound_reduction r;
  exec::reduction_kernels kernels{};
  r.kernels = &kernels;
  const bool in_turn = exec::this_family() == exec::processor_family::amd_19h;
  CHECK(exec::walk_of_rows(64 << 20, r).in_turn == in_turn);
  CHECK_FALSE(exec::walk_of_rows(4 << 20, r).in_turn);
  CHECK(exec::walk_of_rows(512 << 10, r).ahead == 0);
  CHECK(exec::walk_of_mapped_rows(512 << 10, 1, 20, true).ahead == 0);
  CHECK_FALSE(exec::walk_of_mapped_rows(512 << 10, 1, 1, true).in_turn);
  CHECK(exec::walk_of_mapped_rows(64 << 20, 2, 1, true).in_turn ==
        (in_turn || exec::this_family() == exec::processor_family::intel));
  CHECK_FALSE(exec::walk_of_mapped_rows(64 << 20, 2, 1, false).in_turn);
}

TEST_CASE("threads fetch ahead what their own caches do not hold") {
  const auto fetches = [](int threads) {
    const auto c = test_support::make_case(
        "", [](auto x, auto y) { return x + y; }, noise({1000, 1000}), noise({1000, 1000}, 2));
    sinter::program p(c.graph, code());
    const exec::loop_threads most(threads);
    const test_support::lowered_graph low = test_support::lower(p, c.arguments);
    const auto& tiles = std::get<exec::lowered_tiles>(low.plans.at(0).nests.at(0));
    return tiles.program.commands.at(0).mode.fetches();
  };
  CHECK(fetches(1) == exec::streams_gain_from_fetching());  // 12 MB
  CHECK(!fetches(16));
}

TEST_CASE("pieces of what does not fit go past the caches by whole lines, two at least") {
  const auto streams = [](std::int64_t columns, double bytes) {
    const auto c = test_support::make_case(
        "", [](auto x, auto y) { return sinter::concat(1, x + y, x * y); }, noise({90, columns}),
        noise({90, columns}, 2));
    const bound_plan bound = checked(c, bytes);
    REQUIRE(bound.plan.nests.size() == 1);
    const auto& assembly = std::get<exec::lowered_assembly>(bound.plan.nests[0]);
    REQUIRE(assembly.pieces.size() == 2);
    const auto goes_past = [](const exec::lowered_tiles& piece) {
      return std::ranges::all_of(piece.program.commands,
                                 [](const command& each) { return each.mode.streaming; });
    };
    CHECK(goes_past(assembly.pieces[0]) == goes_past(assembly.pieces[1]));
    return goes_past(assembly.pieces[0]);
  };
  CHECK(streams(64, 4096));
  CHECK(streams(32, 4096));
  CHECK(!streams(16, 4096));   // a line
  CHECK(!streams(72, 4096));   // parts of lines
  CHECK(streams(1000, 4096));  // of few among many
  CHECK(!streams(64, no_limit));
}

TEST_CASE("what is read again does not go past the caches") {
  const auto stored = [](auto x, auto y, auto z) {
    auto s = (x + y) * z;
    return sinter::outputs(s, sinter::sum(s, -1));
  };
  const auto commands =
      commands_of(checked(test_support::make_case("", stored, noise({40, 300}), noise({40, 300}, 2),
                                                  noise({40, 300}, 3)),
                          64));
  for (const command& c : commands) CHECK(!c.mode.streaming);
}

TEST_CASE("a phase that is one kernel takes the columns of a task at once") {
  const auto map = [](auto x, auto y, auto z) { return (x + y) * z; };
  const auto sum = [](auto x) { return sinter::sum(x, -1); };
  CHECK(chunk(map, noise({10'000}), noise({10'000}, 2), noise({10'000}, 3)) == 10'000);
  CHECK(chunk(map, noise({40'000}), noise({40'000}, 2), noise({40'000}, 3)) == 32'768);
  CHECK(chunk(sum, noise({100'001})) == 32'768);    // a part of a row per task
  CHECK(chunk(sum, noise({9, 40'000})) == 32'768);  // whole rows

  // What goes from one kernel to the next stays in L1.
  const auto both = [](auto x, auto y, auto z) { return sinter::sum((x + y) * z, -1); };
  CHECK(chunk(both, noise({40'000}), noise({40'000}, 2), noise({40'000}, 3)) == 4096);
  const auto transposed = [](auto x, auto y) { return sinter::transpose(x) + y; };
  CHECK(chunk(transposed, noise({300, 200}), noise({200, 300}, 2)) <= 64);
}

TEST_CASE("rows of a transposed operand stay where they were moved, if L2 holds them") {
  const auto f = [](auto x) {
    auto rows = sinter::transpose(x);
    return rows - sinter::max(rows, -1, sinter::keep_dims);
  };
  CHECK(chunk(f, noise({200, 40})) == 200);
  CHECK(chunk(f, noise({1024, 40})) == 1024);
  CHECK(chunk(f, noise({1500, 40})) == 128);
}

TEST_CASE("a program that is one map over memory runs as that, without tiles") {
  const auto is_sole = [](const test_support::lowered_case& c) {
    const bound_plan bound = checked(c, no_limit);
    REQUIRE(bound.plan.nests.size() == 1);
    exec::sole_map sole;
    return sole.bind(std::get<exec::lowered_tiles>(bound.plan.nests[0]).program);
  };
  const auto f = [](auto x, auto row, auto column) { return (x + row) * column; };
  const auto of = [&](const sinter::shape_vector& x, const sinter::shape_vector& row,
                      const sinter::shape_vector& column) {
    return is_sole(test_support::make_case("", f, noise(x), noise(row, 2), noise(column, 3)));
  };
  CHECK(of({16}, {16}, {1}));
  CHECK(of({100'003}, {100'003}, {100'003}));  // parts of one row for several tasks
  CHECK(of({37, 300}, {300}, {37, 1}));
  CHECK(of({3, 5, 70}, {5, 70}, {3, 1, 1}));   // two outer axes
  CHECK(of({70, 30'000}, {30'000}, {70, 1}));  // parts of several rows
  CHECK(!of({37, 7}, {7}, {37, 1}));           // short rows are spread
  CHECK(!is_sole(test_support::make_case(
      "", [](auto x, auto y) { return sinter::transpose(x) + y; }, noise({30, 20}),
      noise({20, 30}, 2))));
  CHECK(!is_sole(test_support::make_case(
      "", [](auto x) { return sinter::sum(x + x, -1); }, noise({30, 200}))));
}

TEST_CASE("a program that is one tile runs with places found when it is bound") {
  const auto are_placed = [](auto f, const auto&... x) {
    const bound_plan bound = checked(test_support::make_case("", f, x...), no_limit);
    const auto is_placed = [](const exec::tile_program& p) {
      exec::placed_tile placed;
      placed.reserve(p);
      return placed.bind(p);
    };
    return std::ranges::all_of(bound.plan.nests, [&](const exec::lowered_nest& nest) {
      if (const auto* products = std::get_if<exec::lowered_products>(&nest))
        return is_placed(products->parts.at(0).rest);
      const auto* tiles = std::get_if<exec::lowered_tiles>(&nest);
      return tiles == nullptr || is_placed(tiles->program);
    });
  };
  const auto deviation = [](auto x) {
    const auto d = x - sinter::max(x, -1, sinter::keep_dims);
    return d / (sinter::sum(d * d, -1, sinter::keep_dims) + 1.0f);
  };
  const auto rows = [](auto x) {  // several values per row, one of them an index
    return sinter::outputs(sinter::max(x, -1), sinter::argmax(x, -1), sinter::sum(x * x, -1));
  };
  const auto counted = [](auto x) { return x * sinter::iota_like(x, -1) + x; };
  const auto scaled = [](auto x, auto y) {  // a value per row, of every third element
    return sinter::sum(x, -1, sinter::keep_dims) * sinter::slice(y, -1, 1, 2);
  };
  // Of powers of two, so that no order of additions rounds.
  const auto layer = [](auto x, auto w, auto b) {
    const auto power = [](auto y) { return sinter::where(y > 0.0f, 0.5f, -2.0f); };
    return sinter::relu(sinter::matmul(power(x), power(w)) + b) * 2.0f;
  };
  for (const dtype type : {dtype::f32, dtype::f64})
    for (const sinter::shape_vector& shape :
         {sinter::shape_vector{16, 10}, sinter::shape_vector{1, 64}, sinter::shape_vector{7, 1},
          sinter::shape_vector{10}, sinter::shape_vector{3, 67}}) {
      CAPTURE(sinter::to_string(shape));
      CHECK(are_placed(deviation, noise(type, shape, 1)));
      CHECK(are_placed(rows, noise(type, shape, 1)));
      CHECK(are_placed(counted, noise(type, shape, 1)));
    }
  CHECK(are_placed(scaled, noise({16, 10}), noise({16, 3}, 2)));
  CHECK(are_placed(scaled, noise({1, 10}), noise({1, 3}, 2)));
  CHECK(are_placed(layer, noise({16, 20}), noise({20, 64}, 2), noise({64}, 3)));
  CHECK(are_placed(layer, noise({5, 20}), noise({20, 17}, 2), noise({17}, 3)));
  CHECK(!are_placed(deviation, noise({64, 2000})));
  CHECK(!are_placed(layer, noise({300, 20}), noise({20, 64}, 2), noise({64}, 3)));
  CHECK(!are_placed([](auto x) { return sinter::transpose(x) * sinter::transpose(x) + 1.0f; },
                    noise({24, 24})));
}

TEST_CASE("squared deviations of rows and their sum come from one sweep") {
  const auto sums_beside = [](auto f, const auto&... x) {
    const bound_plan bound = checked(test_support::make_case("", f, x...), no_limit);
    std::ptrdiff_t out = 0;
    for (const exec::lowered_nest& n : bound.plan.nests)
      if (const auto* tiles = std::get_if<exec::lowered_tiles>(&n))
        out += std::ranges::count_if(tiles->program.reductions, [](const auto& r) {
          return r.monoid == exec::monoid::deviations && r.sum.valid();
        });
    return out;
  };
  const auto normalised = [](auto x) {
    const auto d = x - sinter::mean(x, -1, sinter::keep_dims);
    return d / (sinter::mean(d * d, -1, sinter::keep_dims) + 1.0f);
  };
  const auto moments = [](auto x) {
    return sinter::outputs(sinter::mean(x, -1), sinter::var(x, -1));
  };
  const auto residual = [](auto x, auto y) {
    const auto z = x * y + x;
    const auto d = z - sinter::mean(z, -1, sinter::keep_dims);
    return sinter::outputs(z, d * sinter::mean(d * d, -1, sinter::keep_dims));
  };
  // Rows by themselves, short ones, single elements, ragged ones, several blocks, and few long ones
  // that tasks share.
  for (const dtype type : {dtype::f32, dtype::f64})
    for (const sinter::shape_vector& shape :
         {sinter::shape_vector{40, 768}, sinter::shape_vector{16, 10}, sinter::shape_vector{7, 2},
          sinter::shape_vector{90, 67}, sinter::shape_vector{5, 1025},
          sinter::shape_vector{9, 5000}, sinter::shape_vector{2, 70001}}) {
      CAPTURE(sinter::to_string(shape));
      CHECK(sums_beside(normalised, noise(type, shape, 1)) == 1);
      CHECK(sums_beside(moments, noise(type, shape, 1)) == 1);
      CHECK(sums_beside(residual, noise(type, shape, 1), noise(type, shape, 2)) == 1);
    }
}

TEST_CASE("what follows the phases of long rows is done for many at once") {
  const auto check = [](auto f) {
    for (const dtype type : {dtype::f32, dtype::f64})
      for (const sinter::shape_vector& shape :
           {sinter::shape_vector{64, 520}, sinter::shape_vector{150, 520},
            sinter::shape_vector{3, 70, 520}})
        checked(test_support::make_case("", f, noise(type, shape, 1)), no_limit);
  };
  check([](auto x) {
    auto top = sinter::max(x, -1, sinter::keep_dims);
    return sinter::sum((x - top) * (x - top), -1, sinter::keep_dims) * top + top;
  });
  check([](auto x) {
    auto squares = sinter::sum(x * x, -1);
    return sinter::outputs(sinter::sqrt(squares + 2.0f), squares, sinter::max(x, -1));
  });
  check([](auto x) {  // the mean is a scalar of what is computed from the row again
    auto mean = sinter::mean(x, -1, sinter::keep_dims);
    return sinter::sqrt(sinter::mean((x - mean) * (x - mean), -1, sinter::keep_dims)) + mean;
  });
}

TEST_CASE("modes that do not fit their command are refused") {
  const sinter::exec::kernel_table kernels = code().kernels;
  const auto f = [](auto x, auto row, auto column) { return (x + row) * column; };
  bound_plan sound = checked(
      test_support::make_case("", f, noise({37, 300}), noise({300}, 2), noise({37, 1}, 3)), 64);
  const auto message = [&](auto corrupt) {
    exec::lowered_plan broken = sound.plan;
    auto& p = std::get<exec::lowered_tiles>(broken.nests[0]).program;
    corrupt(p, p.commands[0]);
    try {
      exec::verify_lowered(broken, &kernels);
    } catch (const sinter::error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message([](auto&, command&) {}) == "");
  CHECK(message([](auto&, command& c) { c.mode.single = 0; }).find("mode: not as") !=
        std::string::npos);
  CHECK(message([](auto&, command& c) { c.mode.single = 5; }).find("mode: not as") !=
        std::string::npos);
  CHECK(message([](auto& p, command&) { p.streaming = false; }).find("without a fence") !=
        std::string::npos);

  sound =
      checked(test_support::make_case(
                  "", [](auto x, auto y) { return x * y; }, noise({37, 300}), noise({37, 1}, 2)),
              64);
  CHECK(message([](auto&, command&) {}) == "");
  CHECK(message([](auto&, command& c) { c.mode.single = 0; }).find("mode: not as") !=
        std::string::npos);
  CHECK(message([](auto& p, command&) { p.streaming = false; }).find("without a fence") !=
        std::string::npos);
  for (const ir::map_rows_function other :
       {ir::map_rows_function{}, kernels.map_rows_op(ir::op::mul, dtype::f64)})
    CHECK(message([&](auto&, command& c) { c.run_rows = other; }).find("kernel: not that of") !=
          std::string::npos);
}

}  // namespace run_modes_test
