// SPDX-License-Identifier: MIT
// Streamed nests: attention in many spellings against the reference interpreter, with its scores
// nowhere in memory; what rows that are masked throughout give; the same bits on any number of
// threads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <omp.h>

#include "support/close.hpp"
#include "support/run_graph.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/exec/executor.hpp>
#include <sinter/plan/instructions.hpp>
#include <sinter/plan/planner.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/rules/saturate.hpp>

namespace streamed_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using ir::op;
using ir::value;
using sn::dtype;
using sn::shape_vector;
using sn::planning::nest_kind;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

enum class mask_kind { none, causal, causal_swapped, chosen, added };
enum class scale_place { none, queries, scores, divided, behind_mask };
enum class spelling { composite, by_hand, unshifted, divided_behind };

struct attention {
  shape_vector batch;
  std::int64_t rows, columns, depth, width;
  dtype type = dtype::f32;
  mask_kind mask = mask_kind::none;
  scale_place scale = scale_place::scores;
  spelling softmax = spelling::composite;
};

ir::symbolic_shape symbolic(const shape_vector& batch, std::int64_t rows, std::int64_t columns) {
  ir::symbolic_shape out;
  for (std::int64_t e : batch) out.push_back(ir::dim(e));
  out.push_back(ir::dim(rows));
  out.push_back(ir::dim(columns));
  return out;
}

value masked(value scores, const attention& a) {
  ir::graph& g = *scores.owner;
  const int last = scores.rank() - 1;
  const value low = ir::constant_like(scores, -infinity);
  const value row = ir::iota(g, dtype::i64, scores.shape(), last - 1),
              column = ir::iota(g, dtype::i64, scores.shape(), last);
  const ir::symbolic_shape one = symbolic({}, a.rows, a.columns);
  switch (a.mask) {
    case mask_kind::none: return scores;
    case mask_kind::causal:
      return ir::where(ir::elementwise(op::less_equal, {column, row}), scores, low);
    case mask_kind::causal_swapped:
      return ir::where(ir::elementwise(op::less, {row, column}), low, scores);
    case mask_kind::chosen:
      return ir::where(ir::with_leading_ones(ir::argument(g, dtype::boolean, 3, one), last + 1),
                       scores, low);
    case mask_kind::added:
      return scores + ir::with_leading_ones(ir::argument(g, a.type, 3, one), last + 1);
  }
  return scores;
}

value weighted(value scores, value values, spelling how) {
  ir::graph& g = *scores.owner;
  const std::int64_t last = std::int64_t{1} << (scores.rank() - 1);
  if (how == spelling::composite)
    return ir::matmul(value{&g, ir::append(g, op::softmax, {scores.id}, {last})}, values);
  const value shifted =
      how == spelling::unshifted ? scores : scores - ir::reduce(op::reduce_max, scores, last);
  const value e = ir::unary(op::exp, shifted);
  if (how == spelling::divided_behind) return ir::matmul(e, values) / ir::sum(e, last);
  return ir::matmul(e / ir::sum(e, last), values);
}

ir::graph graph_of(const attention& a) {
  ir::graph g;
  g.symbol_values = {0};
  value q = ir::argument(g, a.type, 0, symbolic(a.batch, a.rows, a.depth));
  const value k = ir::argument(g, a.type, 1, symbolic(a.batch, a.columns, a.depth));
  const value v = ir::argument(g, a.type, 2, symbolic(a.batch, a.columns, a.width));
  const double factor = 1 / std::sqrt(static_cast<double>(a.depth + 1));
  if (a.scale == scale_place::queries) q = q * factor;
  value s = ir::matmul(q, k, false, true);
  if (a.scale == scale_place::scores) s = s * factor;
  if (a.scale == scale_place::divided) s = s / std::sqrt(static_cast<double>(a.depth + 1));
  s = masked(s, a);
  if (a.scale == scale_place::behind_mask) s = s * factor;
  g.outputs.push_back({weighted(s, v, a.softmax).id, -1});
  return g;
}

sn::planning::plan plan_of(const ir::graph& bound) {
  sn::rules::tensor_egraph graph;
  const auto outputs = sn::rules::load(graph, bound);
  sn::rules::saturate(graph);
  sn::planning::add_instructions(graph, sn::detail::all_code().instructions);
  const std::vector<int> assigned(bound.outputs.size(), -1);
  int arguments = 0;
  for (int id = 0; id < bound.size(); ++id)
    if (bound[id].code == op::argument)
      arguments = std::max(arguments, static_cast<int>(bound.attributes(id)[1]) + 1);
  static const sn::program_code code = sn::detail::all_code();  // plans refer to its instructions
  return sn::planning::make_plan(graph, bound.symbol_values, outputs, assigned, arguments,
                                 code.instructions)
      .plan;
}

int count(const sn::planning::plan& p, nest_kind kind) {
  return static_cast<int>(
      std::ranges::count(p.nests, kind, [](const sn::planning::nest& n) { return n.kind; }));
}

std::string text_of(const sn::planning::plan& p) {
  std::string out;
  for (std::size_t i = 0; i < p.nests.size(); ++i)
    out += sn::planning::plan_printer(p).nest_text(i);
  return out;
}

using test_support::raw_tensor;

std::vector<raw_tensor> run(const sn::planning::plan& p, const ir::graph& g,
                            std::span<const ir::reference_tensor> arguments) {
  static const sn::program_code code = sn::detail::all_code();
  sn::exec::executor e(p, code.kernels);
  std::vector<raw_tensor> in, out;
  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<sn::exec::argument_layout> layouts;
  for (const ir::reference_tensor& x : arguments) in.push_back(raw_tensor::from(x));
  for (const raw_tensor& x : in) {
    from.push_back(x.bytes.data());
    layouts.push_back({sn::row_major_strides(x.shape)});
  }
  for (const ir::output& o : g.outputs) {
    shape_vector shape;
    for (ir::dim d : g[o.node].shape) shape.push_back(g.dims.evaluate(d, g.symbol_values));
    out.push_back(
        {shape, std::vector<std::byte>(static_cast<std::size_t>(sn::element_count(shape)) *
                                       sn::size_of(g[o.node].type))});
  }
  for (raw_tensor& x : out) to.push_back(x.bytes.data());
  e.bind(g.symbol_values, layouts);
  e.run(from, to);
  return out;
}

ir::reference_tensor random_tensor(dtype type, const shape_vector& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  ir::reference_tensor out = ir::filled(type, shape, 0);
  for (double& x : out.data) x = static_cast<double>(static_cast<float>(uniform(random)));
  return out;
}

shape_vector with(shape_vector batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// Masks leave the first column visible, so that no row is empty.
std::vector<ir::reference_tensor> arguments_of(const attention& a) {
  std::vector<ir::reference_tensor> out{
      random_tensor(a.type, with(a.batch, a.rows, a.depth), 1),
      random_tensor(a.type, with(a.batch, a.columns, a.depth), 2),
      random_tensor(a.type, with(a.batch, a.columns, a.width), 3)};
  if (a.mask != mask_kind::chosen && a.mask != mask_kind::added) return out;
  const bool added = a.mask == mask_kind::added;
  out.push_back(random_tensor(added ? a.type : dtype::boolean, {a.rows, a.columns}, 4));
  for (std::size_t i = 0; i < out[3].data.size(); ++i) {
    double& x = out[3].data[i];
    const bool visible = x > -1 || i % static_cast<std::size_t>(a.columns) == 0;
    x = added ? (visible ? x : -infinity) : (visible ? 1 : 0);
  }
  return out;
}

void check_close(const raw_tensor& got, const ir::reference_tensor& expected) {
  const ir::reference_tensor values = got.to(expected.type);
  REQUIRE(values.shape == expected.shape);
  const double tolerance = expected.type == dtype::f32 ? 2e-5 : 1e-12;
  for (std::size_t i = 0; i < values.data.size(); ++i)
    if (!test_support::close(values.data[i], expected.data[i], tolerance, tolerance))
      FAIL("element " << i << ": " << values.data[i] << " instead of " << expected.data[i]);
}

void check(const attention& a, bool expect_streamed = true) {
  CAPTURE(sn::to_string(with(with(a.batch, a.rows, a.columns), a.depth, a.width)));
  CAPTURE(static_cast<int>(a.mask));
  CAPTURE(static_cast<int>(a.scale));
  CAPTURE(static_cast<int>(a.softmax));
  const ir::graph g = graph_of(a);
  const auto arguments = arguments_of(a);
  const sn::planning::plan p = plan_of(g);
  if (expect_streamed) {
    CAPTURE(text_of(p));
    CHECK(count(p, nest_kind::streamed) == 1);
  }
  check_close(run(p, g, arguments)[0], ir::interpret(g, arguments)[0]);
}

}  // namespace

TEST_CASE("attention of many shapes is one streamed nest and agrees with the interpreter") {
  check({{}, 40, 50, 8, 24});
  check({{3}, 33, 65, 7, 5});
  check({{2, 3}, 130, 70, 16, 16});
  check({{2}, 5, 1300, 8, 8});     // more columns than a block
  check({{}, 300, 1025, 16, 40});  // and more rows
  check({{2}, 65, 515, 12, 9, dtype::f64});
  check({{2}, 1, 600, 16, 16});   // one query
  check({{2}, 3, 1025, 70, 16});  // few, whose keys are read where they are
  check({{2}, 7, 530, 128, 200, dtype::f64});
  check({{1, 4}, 9, 33, 1, 3});
  check({{2}, 30, 40, 8, 1});
}

TEST_CASE("extents of 0 and 1") {
  for (std::int64_t e : {0, 1}) {
    check({{2}, e, 9, 4, 5}, false);
    check({{2}, 7, e, 4, 5}, false);
    check({{2}, 7, 9, e, 5}, false);
    check({{2}, 7, 9, 4, e}, false);
    check({{e, 2}, 7, 9, 4, 5}, false);
    check({{}, e, e, e, e}, false);
  }
}

TEST_CASE("mask and scale in any order, softmax as an op and written out") {
  for (mask_kind m : {mask_kind::none, mask_kind::causal, mask_kind::causal_swapped,
                      mask_kind::chosen, mask_kind::added})
    for (scale_place s : {scale_place::none, scale_place::queries, scale_place::scores,
                          scale_place::divided, scale_place::behind_mask})
      check({{2}, 33, 47, 8, 8, dtype::f32, m, s});
  for (spelling w : {spelling::by_hand, spelling::unshifted, spelling::divided_behind})
    for (mask_kind m : {mask_kind::none, mask_kind::causal, mask_kind::added})
      check({{2}, 33, 47, 8, 8, dtype::f32, m, scale_place::scores, w});
}

TEST_CASE("masks over several blocks of columns") {
  for (mask_kind m : {mask_kind::causal, mask_kind::chosen, mask_kind::added})
    for (dtype t : {dtype::f32, dtype::f64})
      check({{2}, 70, 1100, 8, 8, t, m, scale_place::scores});
  check({{}, 700, 700, 4, 8, dtype::f32, mask_kind::causal, scale_place::divided});
}

TEST_CASE("rows without a visible column, infinities and NaN give what softmax gives") {
  const attention a{{}, 12, 1100, 4, 8, dtype::f32, mask_kind::added, scale_place::none};
  const ir::graph g = graph_of(a);
  auto arguments = arguments_of(a);
  const auto score = [&](std::size_t row, std::size_t column) -> double& {
    return arguments[3].data[row * 1100 + column];
  };
  for (std::size_t c = 0; c < 1100; ++c) {
    score(0, c) = -infinity;                    // nothing is visible
    score(1, c) = c < 1000 ? -infinity : 0.5;   // the first blocks are empty
    score(2, c) = c < 100 ? 0.5 : -infinity;    // the last ones are
    score(3, c) = c == 1099 ? 0.5 : -infinity;  // one column
    score(4, c) = static_cast<double>(c) * 10;  // every block raises the largest by far
    score(5, c) = -static_cast<double>(c) * 10;
  }
  score(6, 1050) = infinity;
  score(7, 3) = infinity;
  score(8, 700) = std::numeric_limits<double>::quiet_NaN();
  arguments[2].data[5] = infinity;  // of a value: row 0, column 5
  const sn::planning::plan p = plan_of(g);
  REQUIRE(count(p, nest_kind::streamed) == 1);
  const auto got = run(p, g, arguments)[0].to(dtype::f32);
  const auto expected = ir::interpret(g, arguments)[0];
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    CAPTURE(i);
    CHECK(test_support::close(got.data[i], expected.data[i], 2e-5, 2e-5));
  }
}

namespace {

// How a causal mask may be written; each hides the columns behind row + offset.
enum class causal_spelling { plain, swapped, strict, negated, vectors, and_mask };

value visible(ir::graph& g, std::int64_t rows, std::int64_t columns, std::int64_t offset,
              causal_spelling how, dtype type) {
  const ir::symbolic_shape shape = symbolic({}, rows, columns);
  value row = ir::iota(g, type, shape, 0), column = ir::iota(g, type, shape, 1);
  if (how == causal_spelling::vectors) {
    row = ir::broadcast_to(ir::reshape(ir::iota(g, type, {rows}, 0), {rows, 1}), shape);
    column = ir::broadcast_to(ir::reshape(ir::iota(g, type, {columns}, 0), {1, columns}), shape);
  }
  row = row + static_cast<double>(offset);
  switch (how) {
    case causal_spelling::swapped:
    case causal_spelling::negated: {
      const value behind = ir::elementwise(op::less, {row, column});
      return how == causal_spelling::swapped ? behind : ir::unary(op::logical_not, behind);
    }
    case causal_spelling::strict: return ir::elementwise(op::less, {column, row + 1.0});
    case causal_spelling::and_mask:
      return ir::elementwise(op::bit_and, {ir::elementwise(op::less_equal, {column, row}),
                                           ir::argument(g, dtype::boolean, 3, shape)});
    default: return ir::elementwise(op::less_equal, {column, row});
  }
}

ir::graph causal_graph(std::int64_t rows, std::int64_t columns, std::int64_t offset,
                       causal_spelling how, dtype type, dtype index, double low) {
  ir::graph g;
  g.symbol_values = {0};
  const value q = ir::argument(g, type, 0, {2, rows, 8}),
              k = ir::argument(g, type, 1, {2, columns, 8}),
              v = ir::argument(g, type, 2, {2, columns, 8});
  const value s = ir::matmul(q, k, false, true), hidden = ir::constant_like(s, low);
  const value seen = ir::with_leading_ones(visible(g, rows, columns, offset, how, index), 3);
  const value scores =
      how == causal_spelling::swapped ? ir::where(seen, hidden, s) : ir::where(seen, s, hidden);
  g.outputs.push_back({weighted(scores, v, spelling::composite).id, -1});
  return g;
}

std::vector<ir::reference_tensor> causal_arguments(std::int64_t rows, std::int64_t columns,
                                                   dtype type) {
  std::vector<ir::reference_tensor> out{
      random_tensor(type, {2, rows, 8}, 1), random_tensor(type, {2, columns, 8}, 2),
      random_tensor(type, {2, columns, 8}, 3), random_tensor(dtype::boolean, {rows, columns}, 4)};
  for (double& x : out[3].data) x = x > -1.5 ? 1 : 0;
  return out;
}

}  // namespace

TEST_CASE("blocks that a causal mask hides are left out, however it is written") {
  using enum causal_spelling;
  for (causal_spelling how : {plain, swapped, strict, negated, vectors, and_mask})
    for (std::int64_t offset : {0, 130}) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(offset);
      const dtype index = offset == 0 ? dtype::i64 : dtype::f32;
      const ir::graph g = causal_graph(140, 600, offset, how, dtype::f32, index, -infinity);
      auto arguments = causal_arguments(140, 600, dtype::f32);
      if (how != and_mask) arguments.pop_back();
      const sn::planning::plan p = plan_of(g);
      CAPTURE(text_of(p));
      REQUIRE(count(p, nest_kind::streamed) == 1);
      const auto& nest =
          *std::ranges::find(p.nests, nest_kind::streamed, [](const auto& n) { return n.kind; });
      CHECK(nest.hidden.any);
      CHECK(p.dims.evaluate(nest.hidden.offset, g.symbol_values) == offset);
      check_close(run(p, g, arguments)[0], ir::interpret(g, arguments)[0]);
    }
}

TEST_CASE("what a causal mask hides still counts where it is not outweighed or not finite") {
  // Rows that see nothing: uniform weights for a finite fill, NaN for -infinity.
  for (double low : {-infinity, -1e30, -3.0, 0.0})
    for (dtype type : {dtype::f32, dtype::f64}) {
      if (type == dtype::f64 && low > -1) continue;  // f32 does for these
      CAPTURE(low);
      const ir::graph g =
          causal_graph(140, 600, -20, causal_spelling::plain, type, dtype::i64, low);
      auto arguments = causal_arguments(140, 600, type);
      arguments.pop_back();
      const sn::planning::plan p = plan_of(g);
      REQUIRE(count(p, nest_kind::streamed) == 1);
      check_close(run(p, g, arguments)[0], ir::interpret(g, arguments)[0]);
      arguments[2].data[550 * 8 + 3] = infinity;  // hidden from all: its weight is 0 or NaN
      check_close(run(p, g, arguments)[0], ir::interpret(g, arguments)[0]);
    }
}

TEST_CASE("a mask that is no causal one hides no blocks") {
  for (int variant : {0, 1, 2}) {
    ir::graph g;
    g.symbol_values = {0};
    const value q = ir::argument(g, dtype::f32, 0, {2, 150, 8}),
                k = ir::argument(g, dtype::f32, 1, {2, 700, 8}),
                v = ir::argument(g, dtype::f32, 2, {2, 700, 8});
    const value s = ir::matmul(q, k, false, true);
    const dtype index = variant == 2 ? dtype::u8 : dtype::i64;  // u8 counts modulo 256
    const value row = ir::iota(g, index, s.shape(), 1), column = ir::iota(g, index, s.shape(), 2);
    const value seen = variant == 0   ? ir::elementwise(op::less_equal, {row, column})
                       : variant == 1 ? ir::elementwise(op::less_equal, {column, row * 3.0})
                                      : ir::elementwise(op::less_equal, {column, row});
    g.outputs.push_back(
        {weighted(ir::where(seen, s, ir::constant_like(s, -infinity)), v, spelling::composite).id,
         -1});
    const std::vector<ir::reference_tensor> arguments{random_tensor(dtype::f32, {2, 150, 8}, 1),
                                                      random_tensor(dtype::f32, {2, 700, 8}, 2),
                                                      random_tensor(dtype::f32, {2, 700, 8}, 3)};
    const sn::planning::plan p = plan_of(g);
    CAPTURE(variant);
    CAPTURE(text_of(p));
    REQUIRE(count(p, nest_kind::streamed) == 1);
    for (const sn::planning::nest& n : p.nests) CHECK_FALSE(n.hidden.any);
    check_close(run(p, g, arguments)[0], ir::interpret(g, arguments)[0]);
  }
}

TEST_CASE("heads that are permuted views, and grouped heads that share keys and values") {
  // q [b, t, h*d] -> [b, h, t, d] by reshape and permute; k and v [b, n, g*d] -> [b, g, 1, n, d],
  // broadcast over the heads of a group.
  const std::int64_t b = 2, t = 37, n = 53, groups = 2, each = 3, d = 8;
  ir::graph g;
  g.symbol_values = {0};
  const auto heads = [&](int number, std::int64_t length, std::int64_t count) {
    const value x = ir::argument(g, dtype::f32, number, {b, length, count * d});
    const std::int64_t axes[] = {0, 2, 1, 3};
    return ir::permute(ir::reshape(x, {b, length, count, d}), axes);
  };
  const value q = ir::reshape(heads(0, t, groups * each), {b, groups, each, t, d});
  const auto shared = [&](int number) {
    return ir::broadcast_to(ir::reshape(heads(number, n, groups), {b, groups, 1, n, d}),
                            {b, groups, each, n, d});
  };
  const value scores = ir::matmul(q, shared(1), false, true) * 0.3;
  const value out = weighted(scores, shared(2), spelling::composite);
  g.outputs.push_back({out.id, -1});
  const std::vector<ir::reference_tensor> arguments{
      random_tensor(dtype::f32, {b, t, groups * each * d}, 1),
      random_tensor(dtype::f32, {b, n, groups * d}, 2),
      random_tensor(dtype::f32, {b, n, groups * d}, 3)};
  const sn::planning::plan p = plan_of(g);
  CAPTURE(text_of(p));
  CHECK(count(p, nest_kind::streamed) == 1);
  check_close(run(p, g, arguments)[0], ir::interpret(g, arguments)[0]);
}

TEST_CASE("one key head for all queries: the heads are more rows of one product") {
  const std::int64_t heads = 6, n = 90, d = 8;
  for (std::int64_t t : {1, 5}) {
    ir::graph g;
    g.symbol_values = {0};
    const value q = ir::argument(g, dtype::f32, 0, {heads, t, d});
    const auto shared = [&](int number) {
      return ir::broadcast_to(ir::argument(g, dtype::f32, number, {1, n, d}), {heads, n, d});
    };
    const value scores = ir::matmul(q, shared(1), false, true);
    g.outputs.push_back({weighted(scores, shared(2), spelling::composite).id, -1});
    const std::vector<ir::reference_tensor> arguments{random_tensor(dtype::f32, {heads, t, d}, 1),
                                                      random_tensor(dtype::f32, {1, n, d}, 2),
                                                      random_tensor(dtype::f32, {1, n, d}, 3)};
    check_close(run(plan_of(g), g, arguments)[0], ir::interpret(g, arguments)[0]);
  }
}

TEST_CASE("no memory of the size of the scores") {
  for (std::int64_t t : {4096, 16384}) {
    const ir::graph g =
        graph_of({{4}, t, t, 64, 64, dtype::f32, mask_kind::causal, scale_place::scores});
    const sn::planning::plan p = plan_of(g);
    CAPTURE(text_of(p));
    CHECK(count(p, nest_kind::streamed) == 1);
    // At most the scaled queries are stored.
    const auto argument_bytes = static_cast<std::size_t>(4 * t * 64) * sizeof(float);
    CHECK(p.arena_bytes <= argument_bytes);
    static const sn::program_code code = sn::detail::all_code();
    sn::exec::executor e(p, code.kernels);
    e.bind(g.symbol_values, {});
    // Scratch for every thread: a block of scores, and at most 1 MiB of packed keys and values.
    const std::size_t scratch = 4'000'000 * static_cast<std::size_t>(omp_get_max_threads());
    CHECK(e.bytes() < argument_bytes + scratch);
  }
}

TEST_CASE("scores or weights that are wanted themselves are stored, and then used") {
  for (bool weights : {false, true}) {
    ir::graph g;
    g.symbol_values = {0};
    const value q = ir::argument(g, dtype::f32, 0, {2, 128, 64}),
                k = ir::argument(g, dtype::f32, 1, {2, 128, 64}),
                v = ir::argument(g, dtype::f32, 2, {2, 128, 64});
    const value s = ir::matmul(q, k, false, true) * 0.125;
    const value w{&g, ir::append(g, op::softmax, {s.id}, {4})};
    g.outputs.push_back({ir::matmul(w, v).id, -1});
    g.outputs.push_back({weights ? w.id : s.id, -1});
    const sn::planning::plan p = plan_of(g);
    CAPTURE(text_of(p));
    // With the weights in memory anyway, computing them a second time does not pay.
    if (weights) CHECK(count(p, nest_kind::streamed) == 0);
    const std::vector<ir::reference_tensor> arguments{random_tensor(dtype::f32, {2, 128, 64}, 1),
                                                      random_tensor(dtype::f32, {2, 128, 64}, 2),
                                                      random_tensor(dtype::f32, {2, 128, 64}, 3)};
    const auto got = run(p, g, arguments);
    const auto expected = ir::interpret(g, arguments);
    check_close(got[0], expected[0]);
    check_close(got[1], expected[1]);
  }
}

TEST_CASE("gradients go through the stored softmax") {
  attention a{{2}, 20, 30, 8, 6, dtype::f64, mask_kind::causal, scale_place::scores};
  ir::graph g = graph_of(a);
  const value out{&g, g.outputs[0].node};
  const value loss = ir::sum(out * out, ir::all_axes(out), false);
  g.outputs.push_back({loss.id, -1});
  const std::size_t arguments = 3;
  for (int id = 0, found = 0; found < static_cast<int>(arguments); ++id)
    if (g[id].code == op::argument) {
      g.outputs.push_back({ir::append(g, op::gradient, {loss.id, id}), -1});
      ++found;
    }
  g = ir::expand_gradients(g);
  const auto inputs = arguments_of(a);
  const auto got = run(plan_of(g), g, inputs);
  const auto expected = ir::interpret(g, inputs);
  REQUIRE(got.size() == 5);
  for (std::size_t k = 0; k < got.size(); ++k) check_close(got[k], expected[k]);
}

TEST_CASE("without reassociation no nest is streamed") {
  const ir::graph g = graph_of(
      {{2}, 64, 64, 8, 8, dtype::f32, mask_kind::none, scale_place::none, spelling::by_hand});
  sn::rules::tensor_egraph graph;
  const auto outputs = sn::rules::load(graph, g);
  const std::vector<int> assigned{-1};
  for (bool reassociate : {false, true}) {
    const auto p = sn::planning::make_plan(graph, g.symbol_values, outputs, assigned, 3, {},
                                           {.reassociate = reassociate});
    CHECK(count(p.plan, nest_kind::streamed) == (reassociate ? 1 : 0));
  }
}

TEST_CASE("the same bits on one thread and on several") {
  const attention a{{3}, 300, 1100, 16, 16, dtype::f32, mask_kind::causal, scale_place::scores};
  const ir::graph g = graph_of(a);
  const auto arguments = arguments_of(a);
  const sn::planning::plan p = plan_of(g);
  REQUIRE(count(p, nest_kind::streamed) == 1);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = run(p, g, arguments);
  for (int threads : {2, 3}) {
    omp_set_num_threads(threads);
    CHECK(run(p, g, arguments)[0].bytes == one[0].bytes);
  }
  omp_set_num_threads(before);
}

}  // namespace streamed_test
