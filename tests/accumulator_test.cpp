// SPDX-License-Identifier: MIT
// Regions that run step by step on an accumulator: the same bits as their ops one after the other,
// for every op, pair of ops and kind of operand, for trees and values that are read again.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/accumulator_machine.hpp>
#include <sinter/graph/accumulator_program.hpp>
#include <sinter/sinter.hpp>

namespace accumulator_test {

using namespace sinter;
using ir::op;
using ir::region;

namespace {

constexpr std::array ops{op::neg,     op::abs,     op::relu,        op::sqrt, op::rsqrt,
                         op::recip,   op::add,     op::sub,         op::mul,  op::div,
                         op::maximum, op::minimum, op::multiply_add};

// More than two blocks of 16 registers of 16 lanes, and a rest.
constexpr std::size_t most = 600;

// NaN, infinities, zeros of both signs, numbers below the normal ones, and ordinary ones, in
// another order for every operand.
template <class T>
std::vector<T> numbers(std::size_t operand) {
  using limits = std::numeric_limits<T>;
  const T special[] = {limits::quiet_NaN(),  limits::infinity(), -limits::infinity(), T(0), -T(0),
                       limits::denorm_min(), limits::max(),      limits::lowest(),    T(1)};
  std::vector<T> out(most);
  for (std::size_t i = 0; i < most; ++i)
    out[i] = i % 3 == 0 ? special[(i / 3 * (operand + 1) + operand) % std::size(special)]
                        : static_cast<T>(std::sin(static_cast<double>(i * (operand + 3))) * 5);
  return out;
}

template <class T>
bool is_same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Op after op, each with the kernel that a graph of this op alone has.
template <class T>
std::vector<T> by_single_ops(const region& r, const std::vector<std::vector<T>>& leaves) {
  static const exec::kernel_table kernels = detail::all_code().kernels;
  std::vector<std::vector<T>> values = leaves;
  for (int leaf = 0; leaf < r.leaf_count; ++leaf) {
    std::vector<T>& own = values[static_cast<std::size_t>(leaf)];
    if (r.is_scalar(leaf)) own.assign(most, own[0]);
  }
  for (int i = 0; i < r.node_count; ++i) {
    const void* in[3]{};
    for (int k = 0; k < ir::info(r.code(i)).arity; ++k)
      in[k] = values[static_cast<std::size_t>(r.operand(i, k))].data();
    std::vector<T> out(most);
    kernels.micro_op(r.code(i), r.type)(most, in, out.data());
    values.push_back(std::move(out));
  }
  return values.back();
}

template <class T>
bool runs_as_single_ops(const region& r, std::initializer_list<std::size_t> sizes = {most, 1}) {
  const auto program = ir::accumulator_program_of(r);
  if (!program) return false;
  std::vector<std::vector<T>> leaves;
  std::vector<const void*> operands;
  for (std::size_t k = 0; k < r.leaf_count; ++k) leaves.push_back(numbers<T>(k));
  for (const std::vector<T>& each : leaves) operands.push_back(each.data());
  const std::vector<T> expected = by_single_ops<T>(r, leaves);
  const auto all = static_cast<std::uint16_t>((1 << operands.size()) - 1);
  for (const std::size_t n : sizes) {
    for (const bool from_memory : {false, true})
      for (const std::size_t shift : std::initializer_list<std::size_t>{0, 5}) {
        const ir::run_mode mode =
            from_memory ? ir::run_mode{0, all, 64, true} : ir::run_mode{0, 0, 0, false};
        // In one row, and as several that follow each other.
        for (const std::size_t rows : std::initializer_list<std::size_t>{1, 3}) {
          if (n % rows != 0) continue;
          const auto bytes = static_cast<std::int64_t>(n / rows * sizeof(T));
          std::vector<std::int64_t> steps;
          for (int k = 0; k < r.leaf_count; ++k) steps.push_back(r.is_scalar(k) ? 0 : bytes);
          alignas(64) std::array<T, most + 6> out;
          out.fill(T(77));
          exec::accumulator_kernel<T>(*program,
                                      {static_cast<std::int64_t>(n / rows), mode,
                                       static_cast<std::int64_t>(rows), steps.data(), bytes},
                                      operands.data(), out.data() + shift);
          for (std::size_t i = 0; i < out.size(); ++i) {
            const bool is_result = i >= shift && i < shift + n;
            if (!is_same(out[i], is_result ? expected[i - shift] : T(77))) return false;
          }
        }
      }
  }
  return true;
}

region empty(dtype type) {
  region out;
  out.type = type;
  return out;
}

int arity(op code) { return ir::info(code).arity; }

// outer(inner(x, y, z), u, v), the inner one at each of the outer's operands in turn.
std::vector<region> pairs(dtype type, op inner, op outer) {
  std::vector<region> out;
  const int leaves = arity(inner) + arity(outer) - 1;
  for (std::uint32_t scalars = 0; scalars + 1 < (1u << leaves); ++scalars)
    for (int place = 0; place < arity(outer); ++place) {
      region r = empty(type);
      for (int k = 0; k < leaves; ++k) r.add_leaf((scalars >> k & 1) != 0);
      const int below = r.add_node(inner, 0, 1, 2);
      std::array<int, 3> in{};
      for (int k = 0, next = arity(inner); k < arity(outer); ++k)
        in[static_cast<std::size_t>(k)] = k == place ? below : next++;
      r.add_node(outer, in[0], in[1], in[2]);
      out.push_back(r);
    }
  return out;
}

template <class T>
void check_pairs() {
  for (const op inner : ops)
    for (const op outer : ops)
      for (const region& r : pairs(dtype_of<T>, inner, outer)) {
        CAPTURE(std::string(ir::name(inner)));
        CAPTURE(std::string(ir::name(outer)));
        CAPTURE(r.scalar_leaves);
        REQUIRE(runs_as_single_ops<T>(r));
      }
}

// A region whose nodes read what stands before them, the last one most often.
region random_region(dtype type, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  region r = empty(type);
  r.add_leaf(false);
  for (int k = below(5); k > 0; --k) r.add_leaf(below(3) == 0);
  for (int i = below(region::max_nodes) + 1; i > 0; --i) {
    const int known = r.leaf_count + r.node_count;
    const auto operand = [&] {
      return below(3) == 0 ? below(known) : known - 1 - below(std::min(known, 3));
    };
    const int a = operand(), b = operand();
    r.add_node(ops[static_cast<std::size_t>(below(static_cast<int>(ops.size())))], a, b, operand());
  }
  return r;
}

}  // namespace

TEST_CASE("every pair of ops, with elements and scalars: the same bits as op after op") {
  check_pairs<float>();
  check_pairs<double>();
}

TEST_CASE("two subtrees meet in an op, products among them") {
  constexpr std::array two{op::add, op::sub, op::mul, op::div, op::maximum, op::minimum};
  for (const op left : two)
    for (const op right : two)
      for (const op root : two)
        for (std::uint32_t scalars = 0; scalars < 15; ++scalars) {
          region r = empty(dtype::f32);
          for (int k = 0; k < 4; ++k) r.add_leaf((scalars >> k & 1) != 0);
          const int a = r.add_node(left, 0, 1), b = r.add_node(right, 2, 3);
          r.add_node(root, a, b);
          CAPTURE(std::string(ir::name(left)) + " " + std::string(ir::name(right)) + " " +
                  std::string(ir::name(root)));
          REQUIRE(runs_as_single_ops<float>(r));
        }
}

TEST_CASE("random regions, whose values are read again, of all sizes") {
  std::mt19937 random(5);
  int ran = 0;
  for (int i = 0; i < 600; ++i) {
    const region r = random_region(i % 2 == 0 ? dtype::f32 : dtype::f64, random);
    if (!ir::accumulator_program_of(r)) continue;
    ++ran;
    CAPTURE(i);
    if (r.type == dtype::f32)
      REQUIRE(runs_as_single_ops<float>(r, {0, 1, 7, 16, 255, 256, 257, most}));
    else
      REQUIRE(runs_as_single_ops<double>(r, {0, 1, 7, 8, 127, 128, 129, most}));
  }
  CHECK(ran > 400);
}

TEST_CASE("the result may be an operand") {
  region r = empty(dtype::f32);
  const int x = r.add_leaf(false), y = r.add_leaf(false);
  r.add_node(op::sub, r.add_node(op::mul, x, y), x);
  const auto program = ir::accumulator_program_of(r);
  REQUIRE(program);
  for (const int place : {0, 1}) {
    std::vector<std::vector<float>> leaves{numbers<float>(0), numbers<float>(1)};
    const std::vector<float> expected = by_single_ops<float>(r, leaves);
    const void* operands[] = {leaves[0].data(), leaves[1].data()};
    float* const out = leaves[static_cast<std::size_t>(place)].data();
    exec::accumulator_kernel<float>(*program, {.count = most, .mode = {0, 3, 64, true}}, operands,
                                    out);
    for (std::size_t i = 0; i < most; ++i) REQUIRE(is_same(out[i], expected[i]));
  }
}

TEST_CASE("two ops and products share a step, and a chain reads each operand once") {
  // max((x y + x) s - y, x t) y + x
  region r = empty(dtype::f32);
  const int x = r.add_leaf(false), y = r.add_leaf(false), s = r.add_leaf(true),
            t = r.add_leaf(true);
  const int sum = r.add_node(op::add, r.add_node(op::mul, x, y), x);
  const int left = r.add_node(op::sub, r.add_node(op::mul, sum, s), y);
  const int larger = r.add_node(op::maximum, left, r.add_node(op::mul, x, t));
  r.add_node(op::add, r.add_node(op::mul, larger, y), x);
  const auto program = ir::accumulator_program_of(r);
  REQUIRE(program);
  CHECK(program->steps.size() == 6);
  CHECK(program->accesses() == 8);
  CHECK(runs_as_single_ops<float>(r));
}

TEST_CASE("no steps for other ops, and for regions that keep too much") {
  region transcendental = empty(dtype::f32);
  transcendental.add_node(op::exp, transcendental.add_leaf(false));
  CHECK_FALSE(ir::accumulator_program_of(transcendental));
  CHECK_FALSE(ir::accumulator_program_of(empty(dtype::f32)));

  region wide = empty(dtype::f32);
  std::vector<int> kept{wide.add_leaf(false)};
  for (int i = 0; i < 10; ++i) kept.push_back(wide.add_node(op::sqrt, kept.back()));
  int sum = wide.add_node(op::add, kept[0], kept[1]);
  for (std::size_t i = 2; i < kept.size(); ++i) sum = wide.add_node(op::add, sum, kept[i]);
  CHECK_FALSE(ir::accumulator_program_of(wide));
}

TEST_CASE("a graph made at run time runs a chain in one command, with the bits of its ops") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("m"), sym("n")});
  const auto y = g.argument("y", dtype::f32, {sym("m"), sym("n")});
  const auto bias = g.argument("bias", dtype::f32, {sym("n")});
  const auto row = g.argument("row", dtype::f32, {sym("m"), 1});
  const handle z = maximum((x * y + x) * 0.5f - y, x * 0.25f) * row + bias;
  const auto f = g.compile({z}, {.reassociate = false});
  const auto single = g.compile({z}, {.reassociate = false, .superinstructions = false});
  for (const std::int64_t columns : {1, 5, 256, 333, 1024, 3000}) {
    tensor<float, 2> a(7, columns), b(7, columns), r(7, 1);
    tensor<float, 1> c(columns);
    float next = 0;
    const auto fill = [&](auto& t) {
      for (float& each : t) each = std::sin(next += 1);
    };
    fill(a), fill(b), fill(c), fill(r);
    const std::initializer_list<graph_argument> arguments{a, b, c, r};
    CHECK(tensor<float, 2>(f(arguments)[0]) == tensor<float, 2>(single(arguments)[0]));
    if (columns > 1) CHECK(f.tile_programs(arguments).find("maximum(") != std::string::npos);
    CHECK(single.tile_programs(arguments).find("fused") == std::string::npos);
  }
}

}  // namespace accumulator_test
