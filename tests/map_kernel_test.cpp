// SPDX-License-Identifier: MIT
// Fused kernels and micro-ops: both against the scalar semantics of the graph, and bit for bit
// against each other.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/same_bits.hpp"
#include <sinter/exec/library.hpp>
#include <sinter/exec/make_kernels.hpp>
#include <sinter/graph/scalar_semantics.hpp>

namespace map_kernel_test {

namespace sn = sinter;
namespace exec = sinter::exec;
namespace ir = sinter::ir;
using ir::op;
using test_support::same_bits;

namespace {

const exec::kernel_table kernels =
    exec::make_kernel_table<float, double, std::uint8_t, std::int32_t, std::int64_t>();

// std::vector<bool> has no bytes to point to.
template <class T>
struct array_of {
  std::vector<T> values;
};
template <>
struct array_of<bool> {
  std::vector<std::uint8_t> values;
};

template <class T>
std::vector<double> interesting_values() {
  if constexpr (std::is_same_v<T, bool>)
    return {0, 1};
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return {0, 1, 2, 3, 7, 8, 100, 200, 255};
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return {0, 1, -1, 2, -3, 7, -7, 31, 32, 40000, -70000, 2147483647.0, -2147483648.0};
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return {0, 1, -1, 2, -3, 7, -7, 63, 64, 40000, -70000, 2147483648.0, -9223372036854775808.0};
  else
    return {0.0,
            -0.0,
            0.5,
            -0.5,
            1,
            -1,
            1.5,
            2.5,
            -2.5,
            3,
            -7,
            1e-3,
            20,
            -20,
            88,
            1e6,
            std::numeric_limits<double>::infinity(),
            -std::numeric_limits<double>::infinity(),
            std::numeric_limits<double>::quiet_NaN()};
}

// Equal, or close to what the double semantics give rounded to T: within a few ULP of the largest
// intermediate value.
template <class T>
bool agrees(double got, double want, double scale) {
  if (std::isnan(want)) return std::isnan(got);
  if constexpr (exec::Floating<T>) {
    const double rounded = static_cast<double>(static_cast<T>(want));
    if (got == rounded) return true;
    return std::abs(got - want) <= 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                                       std::max(std::abs(want), scale);
  } else {
    return got == want;
  }
}

// One op of dtype T on every combination of interesting values.
template <class T>
void check_micro_op(op code) {
  const ir::map_function run = kernels.micro_op(code, sn::dtype_of<T>);
  REQUIRE((run != nullptr) == exec::has_micro_op(code, sn::dtype_of<T>));
  // What a bitcast means depends on two dtypes: tests/conversion_test.
  if (run == nullptr || code == op::where || ir::is_conversion(code)) return;
  const int arity = ir::info(code).arity;
  const std::vector<double> v = interesting_values<T>();
  array_of<T> a, b, c;
  for (const double x : v)
    for (const double y : v)
      for (const double z : {v.front(), v[1], v.back()}) {
        a.values.push_back(static_cast<T>(x));
        b.values.push_back(static_cast<T>(y));
        c.values.push_back(static_cast<T>(z));
      }
  const std::size_t n = a.values.size();
  const void* operands[] = {a.values.data(), b.values.data(), c.values.data()};
  const bool yields_bool = ir::info(code).yields == ir::yields::boolean;
  array_of<T> result;
  result.values.resize(n);
  std::vector<std::uint8_t> truth(n);
  run(static_cast<std::int64_t>(n), operands,
      yields_bool ? static_cast<void*>(truth.data()) : result.values.data());
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(a.values[i]);
    const auto y = static_cast<double>(b.values[i]);
    const auto z = static_cast<double>(c.values[i]);
    const double want =
        ir::evaluate_scalar(code, sn::dtype_of<T>, x, arity > 1 ? y : 0, arity > 2 ? z : 0);
    const double got = yields_bool ? truth[i] : static_cast<double>(result.values[i]);
    // Where sums cancel the error is relative to what was summed: x for gelu, the result otherwise.
    const double scale =
        code == op::gelu || code == op::gelu_tanh ? std::min(std::abs(x), 1e30) : 0;
    const bool flushed =
        std::abs(want) < static_cast<double>(std::numeric_limits<T>::min()) && got == 0;
    if (agrees<T>(got, want, scale) || flushed) continue;
    if (++wrong == 1)
      MESSAGE(ir::name(code), " of ", x, ", ", y, ", ", z, " is ", got, ", not ", want);
  }
  CHECK(wrong == 0);
}

template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, 2);
  std::vector<T> x(n);
  for (T& value : x) value = static_cast<T>(normal(generator));
  return x;
}

// Runs a region node by node with micro-ops.
template <class T>
std::vector<T> chain_of_micro_ops(const ir::region& r, std::size_t n, const void* const* operands) {
  std::vector<std::vector<T>> numbers;
  std::vector<std::vector<std::uint8_t>> truths;
  for (int k = 0; k < r.leaf_count; ++k) {
    const T* leaf = static_cast<const T*>(operands[k]);
    numbers.emplace_back(n);
    truths.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) numbers.back()[i] = r.is_scalar(k) ? *leaf : leaf[i];
  }
  for (int node = 0; node < r.node_count; ++node) {
    const op code = r.code(node);
    const void* inputs[3];
    for (int i = 0; i < 3; ++i) {
      const auto operand = static_cast<std::size_t>(r.operand(node, i));
      if (operand >= numbers.size()) continue;
      inputs[i] = ir::is_truth(r, static_cast<int>(operand))
                      ? static_cast<void*>(truths[operand].data())
                      : numbers[operand].data();
    }
    const bool on_bools = code != op::where && ir::is_truth(r, r.operand(node, 0));
    numbers.emplace_back(n);
    truths.emplace_back(n);
    const bool truth = ir::is_truth(r, r.leaf_count + node);
    kernels.micro_op(code, on_bools ? sn::dtype::boolean : sn::dtype_of<T>)(
        static_cast<std::int64_t>(n), inputs,
        truth ? static_cast<void*>(truths.back().data()) : numbers.back().data());
  }
  return numbers.back();
}

// x y + z, exp, a comparison that selects, a product feeding a difference: what compilers like to
// contract.
constexpr ir::region contractible(sn::dtype type) {
  ir::region r;
  r.type = type;
  const int x = r.add_leaf(false), y = r.add_leaf(false), s = r.add_leaf(true);
  const int product = r.add_node(op::mul, x, y);
  const int sum = r.add_node(op::add, product, s);
  const int scaled = r.add_node(op::mul, sum, s);
  const int difference = r.add_node(op::sub, scaled, product);
  const int activated = r.add_node(op::silu, difference);
  const int curve = r.add_node(op::gelu, r.add_node(op::add, activated, r.add_node(op::mul, x, x)));
  const int less = r.add_node(op::less, x, y);
  const int large = r.add_node(op::less, s, curve);
  const int both = r.add_node(op::bit_and, less, r.add_node(op::logical_not, large));
  r.add_node(op::where, both, curve,
             r.add_node(op::add, r.add_node(op::tanh, sum), r.add_node(op::sin, scaled)));
  return r;
}

// Kernels divide late (late_division.hpp): x is read before and behind the division, y only behind.
constexpr ir::region gated(sn::dtype type, op gate) {
  ir::region r;
  r.type = type;
  const int x = r.add_leaf(false), y = r.add_leaf(false), s = r.add_leaf(true);
  const int opened = r.add_node(gate, r.add_node(op::mul, s, x));
  r.add_node(op::add, r.add_node(op::mul, opened, y), x);
  return r;
}

// Nothing follows the division.
constexpr ir::region squashed(sn::dtype type) {
  ir::region r;
  r.type = type;
  const int x = r.add_leaf(false), y = r.add_leaf(false), s = r.add_leaf(true);
  r.add_node(op::sigmoid, r.add_node(op::add, r.add_node(op::mul, x, y), s));
  return r;
}

// f.template operator()<region>() for regions of two vectors and a scalar.
template <class T, class F>
void for_each_kind(F f) {
  constexpr sn::dtype type = sn::dtype_of<T>;
  f.template operator()<contractible(type)>();
  f.template operator()<gated(type, op::silu)>();
  f.template operator()<gated(type, op::sigmoid)>();
  f.template operator()<gated(type, op::gelu_tanh)>();
  f.template operator()<squashed(type)>();
}

constexpr ir::region comparison(sn::dtype type) {
  ir::region r;
  r.type = type;
  const int x = r.add_leaf(false), s = r.add_leaf(true);
  r.add_node(op::less, r.add_node(op::abs, x), s);
  return r;
}

}  // namespace

TEST_CASE("every micro-op computes what the scalar semantics say") {
  for (int i = 0; i < ir::op_count; ++i) {
    const op code = static_cast<op>(i);
    CAPTURE(ir::name(code));
    check_micro_op<bool>(code);
    check_micro_op<std::uint8_t>(code);
    check_micro_op<std::int32_t>(code);
    if (code != op::mul && code != op::multiply_add && code != op::add &&
        code != op::sub)  // exact only below 2^53
      check_micro_op<std::int64_t>(code);
    check_micro_op<float>(code);
    check_micro_op<double>(code);
  }
}

TEST_CASE("64-bit integers wrap") {
  using exec::apply;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK(apply<op::add>(most, std::int64_t{1}) == least);
  CHECK(apply<op::sub>(least, std::int64_t{1}) == most);
  CHECK(apply<op::mul>(most, std::int64_t{2}) == -2);
  CHECK(apply<op::neg>(least) == least);
  CHECK(apply<op::abs>(least) == least);
  CHECK(apply<op::div>(least, std::int64_t{-1}) == least);
  CHECK(apply<op::mod>(least, std::int64_t{-1}) == 0);
  CHECK(apply<op::multiply_add>(most, std::int64_t{2}, std::int64_t{5}) == 3);
}

TEST_CASE_TEMPLATE("where reads bytes", T, bool, std::uint8_t, std::int32_t, std::int64_t, float,
                   double) {
  for (const std::size_t n : {0u, 1u, 7u, 100u}) {
    array_of<bool> condition;
    array_of<T> yes, no, result;
    for (std::size_t i = 0; i < n; ++i) {
      condition.values.push_back(i % 3 == 0);
      yes.values.push_back(static_cast<T>(1));
      no.values.push_back(static_cast<T>(0));
    }
    result.values.resize(n);
    const void* operands[] = {condition.values.data(), yes.values.data(), no.values.data()};
    kernels.micro_op(op::where, sn::dtype_of<T>)(static_cast<std::int64_t>(n), operands,
                                                 result.values.data());
    for (std::size_t i = 0; i < n; ++i) CHECK(result.values[i] == static_cast<T>(i % 3 == 0));
  }
}

TEST_CASE("casts truncate and saturate") {
  const double x[] = {0.9,
                      -0.9,
                      3.7,
                      -3.7,
                      300,
                      3e9,
                      -3e9,
                      1e19,
                      -1e19,
                      std::numeric_limits<double>::quiet_NaN(),
                      std::numeric_limits<double>::infinity()};
  constexpr std::int64_t n = sizeof(x) / sizeof(double);
  const void* operand[] = {x};
  const auto check = [&]<class To>(To) {
    To result[n];
    kernels.cast_op(sn::dtype::f64, sn::dtype_of<To>)(n, operand, result);
    for (std::int64_t i = 0; i < n; ++i)
      CHECK(static_cast<double>(result[i]) ==
            ir::cast_scalar(sn::dtype::f64, sn::dtype_of<To>, x[i]));
  };
  check(bool{});
  check(std::uint8_t{});
  check(std::int32_t{});
  check(std::int64_t{});

  const std::int32_t whole[] = {0, 1, -1, 256, 300, 2147483647};
  const void* wholes[] = {whole};
  std::uint8_t bytes[6];
  kernels.cast_op(sn::dtype::i32, sn::dtype::u8)(6, wholes, bytes);
  for (int i = 0; i < 6; ++i) CHECK(bytes[i] == static_cast<std::uint8_t>(whole[i]));
  float floats[6];
  kernels.cast_op(sn::dtype::i32, sn::dtype::f32)(6, wholes, floats);
  for (int i = 0; i < 6; ++i) CHECK(floats[i] == static_cast<float>(whole[i]));
}

TEST_CASE_TEMPLATE("floats of all sizes become 64-bit integers as single ones do", T, float,
                   double) {
  std::vector<T> x;
  for (int exponent = -3; exponent < 70; ++exponent)
    for (const double mantissa : {1.0, 1.4999999, 1.75})
      for (const double sign : {1.0, -1.0})
        x.push_back(static_cast<T>(sign * std::ldexp(mantissa, exponent)));
  for (const T special : {T(0), T(-0.0), std::numeric_limits<T>::infinity(),
                          -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
    x.insert(x.begin() + 50, special);
  const exec::kernel_table all = exec::make_kernel_table<T, std::int64_t, std::uint64_t>();
  const void* operands[] = {x.data()};
  const auto check = [&]<class To>(To) {
    std::vector<To> result(x.size());
    all.cast_op(sn::dtype_of<T>, sn::dtype_of<To>)(static_cast<std::int64_t>(x.size()), operands,
                                                   result.data());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(result[i] == exec::convert<To>(x[i]));
  };
  check(std::int64_t{});
  check(std::uint64_t{});
}

TEST_CASE_TEMPLATE("a fused region and a chain of micro-ops give the same bits", T, float, double) {
  for_each_kind<T>([]<ir::region R>() {
    const T scalar = T(0.37);
    for (const std::size_t n : {0u, 1u, 7u, 31u, 32u, 64u, 65u, 127u, 128u, 192u, 1000u, 4099u}) {
      const std::vector<T> x = random_values<T>(n, 1), y = random_values<T>(n, 2);
      const void* operands[] = {x.data(), y.data(), &scalar};
      std::vector<T> fused(n);
      exec::map_kernel<R>(static_cast<std::int64_t>(n), operands, fused.data());
      CHECK(same_bits(fused, chain_of_micro_ops<T>(R, n, operands)));
    }
  });
}

TEST_CASE("a division is late where all behind it is short and registers are left") {
  using exec::detail::divides_late;
  constexpr bool room = exec::register_count >= 32;
  constexpr sn::dtype type = sn::dtype::f32;
  CHECK(divides_late<gated(type, op::silu)> == room);
  CHECK(divides_late<squashed(type)> == room);
  CHECK(!divides_late<gated(type, op::exp)>);
  CHECK(!divides_late<contractible(type)>);
}

TEST_CASE_TEMPLATE("the library computes what its regions say", T, float, double) {
  const T s = T(1.3), t = T(-0.7);
  for (const ir::instruction& instruction : exec::library_instructions<T>()) {
    const std::size_t n = 333;
    const std::vector<T> x = random_values<T>(n, 3), y = random_values<T>(n, 4),
                         z = random_values<T>(n, 5), w = random_values<T>(n, 6);
    const T* vectors[] = {x.data(), y.data(), z.data(), w.data()};
    const T* scalars[] = {&s, &t};
    const void* operands[4 + 2];
    int next_vector = 0, next_scalar = 0;
    for (int k = 0; k < instruction.structure.leaf_count; ++k)
      operands[k] =
          instruction.structure.is_scalar(k) ? scalars[next_scalar++] : vectors[next_vector++];
    std::vector<T> result(n);
    instruction.run(static_cast<std::int64_t>(n), operands, result.data());
    CHECK(same_bits(result, chain_of_micro_ops<T>(instruction.structure, n, operands)));
  }
}

TEST_CASE(
    "the bits of an element do not depend on its position, and nothing beyond the end is written") {
  const float scalar = 0.37f;
  const std::vector<float> x = random_values<float>(300, 1), y = random_values<float>(300, 2);
  for_each_kind<float>([&]<ir::region R>() {
    std::vector<float> whole(300);
    const void* operands[] = {x.data(), y.data(), &scalar};
    exec::map_kernel<R>(300, operands, whole.data());
    for (std::size_t begin = 0; begin < 70; begin += 3)
      for (std::size_t n : {1u, 5u, 33u, 64u, 100u, 191u}) {
        std::vector<float> part(n + 8, -123.0f);
        const void* shifted[] = {x.data() + begin, y.data() + begin, &scalar};
        exec::map_kernel<R>(static_cast<std::int64_t>(n), shifted, part.data());
        REQUIRE(std::memcmp(part.data(), whole.data() + begin, n * sizeof(float)) == 0);
        for (std::size_t i = n; i < part.size(); ++i) REQUIRE(part[i] == -123.0f);
      }
  });
}

TEST_CASE("the result may be one of the operands") {
  for_each_kind<float>([]<ir::region R>() {
    for (const std::size_t n : {3u, 64u, 100u, 129u, 1000u}) {
      const std::vector<float> x = random_values<float>(n, 8), y = random_values<float>(n, 9);
      const float scalar = 2;
      std::vector<float> apart(n), first = x, second = y;
      const void* operands[] = {x.data(), y.data(), &scalar};
      exec::map_kernel<R>(static_cast<std::int64_t>(n), operands, apart.data());
      const void* over_first[] = {first.data(), y.data(), &scalar};
      exec::map_kernel<R>(static_cast<std::int64_t>(n), over_first, first.data());
      const void* over_second[] = {x.data(), second.data(), &scalar};
      exec::map_kernel<R>(static_cast<std::int64_t>(n), over_second, second.data());
      CHECK(same_bits(apart, first));
      CHECK(same_bits(apart, second));
    }
  });
}

TEST_CASE_TEMPLATE(
    "several rows, operands of one value, and results past the caches: the same bits", T, float,
    double) {
  for_each_kind<T>([]<ir::region R>() {
    constexpr std::size_t rows = 3;
    const T scalars[] = {T(0.37), T(1.2), T(-0.4)}, ones[] = {T(-0.81), T(0.5), T(2)};
    for (const std::size_t n : {1u, 7u, 16u, 24u, 63u, 64u, 65u, 130u, 1000u}) {
      const std::size_t pitch = n + 5;
      const std::vector<T> x = random_values<T>(rows * pitch, 1),
                           y = random_values<T>(rows * pitch, 2);
      for (unsigned single = 0; single < 4; ++single)
        for (const auto& [streaming, fetches] :
             {std::pair(false, false), std::pair(false, true), std::pair(true, single % 2 == 0)})
          for (const std::size_t shift : {0u, 1u, 5u}) {
            const bool one_x = (single & 1) != 0, one_y = (single & 2) != 0;
            // In the middle of a buffer, once aligned, and with less or more before the first
            // register.
            std::vector<T> got(rows * pitch + 64, T(-123));
            T* const to = got.data() + shift +
                          (64 - reinterpret_cast<std::uintptr_t>(got.data()) % 64) % 64 / sizeof(T);
            const auto bytes = static_cast<std::int64_t>(pitch * sizeof(T)),
                       size = static_cast<std::int64_t>(sizeof(T));
            const std::int64_t steps[] = {one_x ? size : bytes, one_y ? size : bytes, size};
            const void* operands[] = {one_x ? ones : &x[shift], one_y ? ones : &y[shift], scalars};
            exec::map_rows_kernel<R>({static_cast<std::int64_t>(n),
                                      {.single = static_cast<std::uint16_t>(single),
                                       .fetched = static_cast<std::uint16_t>(
                                           fetches ? 1 << ir::run_mode::result | 3 : 0),
                                       .distance = static_cast<std::uint16_t>(fetches ? 48 : 0),
                                       .streaming = streaming},
                                      static_cast<std::int64_t>(rows),
                                      steps,
                                      bytes},
                                     operands, to);
            for (std::size_t row = 0; row < rows; ++row) {
              const std::vector<T> spread(n, ones[row]);
              const void* whole[] = {one_x ? spread.data() : &x[row * pitch + shift],
                                     one_y ? spread.data() : &y[row * pitch + shift],
                                     &scalars[row]};
              std::vector<T> expected(n);
              exec::map_kernel<R>(static_cast<std::int64_t>(n), whole, expected.data());
              REQUIRE(std::memcmp(expected.data(), to + row * pitch, n * sizeof(T)) == 0);
            }
            CHECK(static_cast<std::size_t>(std::count(got.begin(), got.end(), T(-123))) ==
                  got.size() - rows * n);
          }
    }
  });
}

TEST_CASE_TEMPLATE("micro-ops of floats in all modes: the same bits", T, float, double) {
  constexpr std::size_t longest = 130, first = 5;
  const std::vector<T> x = random_values<T>(longest, 3), y = random_values<T>(longest, 4),
                       z = random_values<T>(longest, 5);
  const std::vector<T> all_x(longest, x[0]), all_y(longest, y[0]), all_z(longest, z[0]);
  int checked = 0;
  const auto check = [&](op code, auto nothing) {
    using out_type = decltype(nothing);
    const ir::map_rows_function run = kernels.map_rows_op(code, sn::dtype_of<T>);
    REQUIRE((run != nullptr));
    ++checked;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64},
                                std::size_t{65}, longest})
      for (unsigned single = 0; single < 8; ++single) {
        const void* operands[] = {x.data(), y.data(), z.data()};
        const void* whole[] = {(single & 1) != 0 ? all_x.data() : x.data(),
                               (single & 2) != 0 ? all_y.data() : y.data(),
                               (single & 4) != 0 ? all_z.data() : z.data()};
        if (single >> ir::info(code).arity != 0 || (single == 1 && ir::info(code).arity == 1))
          continue;
        const auto count = static_cast<std::int64_t>(n);
        const auto all = std::make_unique<out_type[]>(longest);
        kernels.micro_op(code, sn::dtype_of<T>)(count, whole, all.get());
        for (const bool streaming : {false, true}) {
          const auto got = std::make_unique<out_type[]>(longest + 2 * first);
          std::fill_n(got.get(), longest + 2 * first, nothing);
          run({.count = count, .mode = {static_cast<std::uint16_t>(single), 0, 0, streaming}},
              operands, got.get() + first);
          CHECK(std::memcmp(got.get() + first, all.get(), n * sizeof(out_type)) == 0);
          CHECK(std::count(got.get(), got.get() + first, nothing) == std::ptrdiff_t{first});
          CHECK(std::count(got.get() + first + n, got.get() + longest + 2 * first, nothing) ==
                static_cast<std::ptrdiff_t>(longest + first - n));
        }
      }
  };
  for (int i = 0; i < ir::op_count; ++i) {
    const op code = static_cast<op>(i);
    if (!exec::has_micro_op(code, sn::dtype_of<T>) || code == op::where || code == op::bitcast ||
        code == op::stop_gradient)
      continue;
    if (ir::info(code).yields == ir::yields::boolean)
      check(code, true);
    else
      check(code, T(-123));
  }
  CHECK(checked > 30);
  CHECK((kernels.map_rows_op(op::where, sn::dtype_of<T>) == nullptr));
  CHECK((kernels.map_rows_op(op::add, sn::dtype::i32) == nullptr));
}

TEST_CASE_TEMPLATE("a region may yield bools", T, float, double) {
  constexpr ir::region r = comparison(sn::dtype_of<T>);
  for (const std::size_t n : {1u, 15u, 64u, 77u, 200u}) {
    const std::vector<T> x = random_values<T>(n, 11);
    const T limit = 1;
    const void* operands[] = {x.data(), &limit};
    std::vector<std::uint8_t> result(n + 4, 9);
    exec::map_kernel<r>(static_cast<std::int64_t>(n), operands, result.data());
    for (std::size_t i = 0; i < n; ++i) CHECK(result[i] == (std::abs(x[i]) < limit ? 1 : 0));
    for (std::size_t i = n; i < result.size(); ++i) CHECK(result[i] == 9);
  }
}

TEST_CASE_TEMPLATE("of equal operands the larger and the smaller is the first; NaN is both", T,
                   float, double) {
  const T infinity = std::numeric_limits<T>::infinity();
  const T values[] = {T(-0.0),  T(0),      T(1),
                      infinity, -infinity, std::numeric_limits<T>::quiet_NaN()};
  const auto of = [](op code, T a, T b) {
    return static_cast<T>(
        ir::evaluate_scalar(code, sn::dtype_of<T>, static_cast<double>(a), static_cast<double>(b)));
  };
  const auto is_same = [](T a, T b) {
    return std::isnan(a) ? std::isnan(b) : same_bits(std::vector{a}, std::vector{b});
  };
  std::vector<T> a, b;
  for (const T x : values)
    for (const T y : values) a.push_back(x), b.push_back(y);
  const auto n = static_cast<std::int64_t>(a.size());
  std::vector<T> got(a.size());
  for (const op code : {op::maximum, op::minimum}) {
    const void* operands[] = {a.data(), b.data()};
    kernels.micro_op(code, sn::dtype_of<T>)(n, operands, got.data());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(is_same(of(code, a[i], b[i]), got[i]));
  }
  // And between bounds that are scalars: x + b is x.
  constexpr ir::region bounded = exec::library_regions(sn::dtype_of<T>)[19];
  static_assert(bounded.leaf_count == 4 && bounded.scalar_leaves == 0b1100);
  const std::vector<T> zeros(a.size(), T(-0.0));
  for (const T low : values)
    for (const T high : values) {
      const void* operands[] = {a.data(), zeros.data(), &low, &high};
      exec::map_kernel<bounded>(n, operands, got.data());
      for (std::size_t i = 0; i < a.size(); ++i)
        CHECK(is_same(of(op::minimum, of(op::maximum, a[i], low), high), got[i]));
    }
}

TEST_CASE("multiply_add rounds once and mul followed by add rounds twice") {
  const float a = 1 + 0x1p-12f, c = -1;
  CHECK(exec::apply<op::multiply_add>(a, a, c) == std::fma(a, a, c));
  CHECK(exec::apply<op::multiply_add>(a, a, c) != 0x1p-11f);
  CHECK(exec::apply<op::add>(exec::apply<op::mul>(a, a), c) == 0x1p-11f);
}

}  // namespace map_kernel_test
