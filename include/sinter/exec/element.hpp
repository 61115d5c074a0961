// SPDX-License-Identifier: MIT
// Single elements of any dtype, read, computed with and written one at a time by the definitions of
// graph/scalar_semantics.hpp: what the interpreter of the lowest level calculates in, independent
// of every kernel.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/graph/custom.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/graph/scalar_semantics.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// A float is in `real`; a bool or integer in `whole`, a u64 by its bits. So all 64 bits count,
/// which the doubles of the graph's interpreter do not hold.
struct element {
  double real = 0;
  std::int64_t whole = 0;
};

inline element read_element(dtype type, const void* at) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> element {
    T x;
    std::memcpy(&x, at, sizeof x);
    if constexpr (std::is_integral_v<T>)
      return {0, static_cast<std::int64_t>(x)};
    else
      return {static_cast<double>(x), 0};
  });
}

/// Rounds, or keeps the low bits; a bool is whether x is other than 0.
inline void write_element(dtype type, const element& x, void* at) {
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    T stored{};
    if constexpr (std::is_same_v<T, bool>)
      stored = x.whole != 0;
    else if constexpr (std::is_integral_v<T>)
      stored = static_cast<T>(x.whole);
    else
      stored = static_cast<T>(x.real);
    std::memcpy(at, &stored, sizeof stored);
  });
}

/// What is left of x when it is stored.
inline element stored(dtype type, const element& x) {
  std::array<std::byte, 8> bytes{};
  write_element(type, x, bytes.data());
  return read_element(type, bytes.data());
}

/// Is a less than b?
inline bool is_less(dtype type, const element& a, const element& b) {
  if (is_floating(type)) return a.real < b.real;
  if (type == dtype::u64)
    return static_cast<std::uint64_t>(a.whole) < static_cast<std::uint64_t>(b.whole);
  return a.whole < b.whole;
}
inline bool is_equal(dtype type, const element& a, const element& b) {
  return is_floating(type) ? a.real == b.real : a.whole == b.whole;
}

/// One element of the element-wise op `code` on operands of dtype `type` (of `where`: the dtype of
/// its last two), as ir::evaluate_scalar, rounded as it is stored. Neither cast nor bitcast.
inline element evaluate(ir::op code, dtype type, const element& a, const element& b = {},
                        const element& c = {}) {
  using ir::op;
  const auto truth = [](bool x) { return element{0, x ? 1 : 0}; };
  switch (code) {
    case op::stop_gradient: return a;
    case op::logical_not: return truth(a.whole == 0);
    case op::less: return truth(is_less(type, a, b));
    case op::less_equal: return truth(is_less(type, a, b) || is_equal(type, a, b));
    case op::equal: return truth(is_equal(type, a, b));
    case op::not_equal: return truth(!is_equal(type, a, b));
    case op::where: return a.whole != 0 ? b : c;
    default: break;
  }
  if (type == dtype::f32 && code == op::multiply_add)  // rounded once
    return {static_cast<double>(std::fma(static_cast<float>(a.real), static_cast<float>(b.real),
                                         static_cast<float>(c.real))),
            0};
  if (is_floating(type))
    return stored(type, {ir::evaluate_scalar(code, type, a.real, b.real, c.real), 0});
  const std::uint64_t bits =
      type == dtype::u64 && ir::detail::differs_for_u64(code)
          ? ir::detail::unsigned_scalar(code, static_cast<std::uint64_t>(a.whole),
                                        static_cast<std::uint64_t>(b.whole))
          : ir::detail::integer_scalar(code, type, a.whole, b.whole, c.whole);
  return stored(type, {0, static_cast<std::int64_t>(bits)});
}

/// a·b + c; `fused`: the product is not rounded before it is added.
inline element multiply_add(dtype type, bool fused, const element& a, const element& b,
                            const element& c) {
  if (fused) return evaluate(ir::op::multiply_add, type, a, b, c);
  return evaluate(ir::op::add, type, c, evaluate(ir::op::mul, type, a, b));
}

/// As ir::cast_scalar, but exact for 64 bits.
inline element cast_element(dtype from, dtype to, const element& x) {
  if (is_floating(from)) {
    if (to == dtype::boolean) return {0, x.real != 0 ? 1 : 0};
    if (is_floating(to)) return stored(to, x);
    if (to == dtype::i64) return {0, ir::truncate_to_i64(x.real)};
    if (to == dtype::u64)
      return {0, x.real >= 0x1p64 ? -1
                 : !(x.real > 0)  ? 0
                                  : static_cast<std::int64_t>(static_cast<std::uint64_t>(x.real))};
    return {0, static_cast<std::int64_t>(ir::cast_scalar(from, to, x.real))};
  }
  if (!is_floating(to)) return stored(to, x);
  return dispatch(to, [&]<class T>(std::type_identity<T>) -> element {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return {static_cast<double>(from == dtype::u64
                                      ? static_cast<T>(static_cast<std::uint64_t>(x.whole))
                                      : static_cast<T>(x.whole)),
              0};
  });
}

inline element bitcast_element(dtype from, dtype to, const element& x) {
  std::array<std::byte, 8> bytes{};
  write_element(from, x, bytes.data());
  return read_element(to, bytes.data());
}

/// The result of a region for one value per leaf, node by node.
inline element evaluate_region(const ir::region& r, const element* leaves) {
  std::array<element, ir::region::max_leaves + ir::region::max_nodes> value;
  for (int k = 0; k < r.leaf_count; ++k) value[static_cast<std::size_t>(k)] = leaves[k];
  for (int i = 0; i < r.node_count; ++i) {
    const auto in = [&](int which) { return value[static_cast<std::size_t>(r.operand(i, which))]; };
    const bool of_truths = r.code(i) != ir::op::where && ir::is_truth(r, r.operand(i, 0));
    const int arity = ir::info(r.code(i)).arity;
    value[static_cast<std::size_t>(r.leaf_count + i)] =
        r.code(i) == ir::op::cast
            ? cast_element(dtype::boolean, r.type, in(0))
            : evaluate(r.code(i), of_truths ? dtype::boolean : r.type, in(0),
                       arity > 1 ? in(1) : element{}, arity > 2 ? in(2) : element{});
  }
  return value[static_cast<std::size_t>(r.leaf_count + r.node_count - 1)];
}

/// The result of a user's element-wise op, computed in double and rounded as it is stored.
inline element evaluate_custom(const ir::custom_op& custom, dtype type, const element* operands) {
  std::array<double, ir::max_custom_operands> in{};
  for (int k = 0; k < custom.arity; ++k)
    in[static_cast<std::size_t>(k)] = operands[static_cast<std::size_t>(k)].real;
  return stored(type, {custom.element(in.data()), 0});
}

/// What a reduction has seen; index and count are argmax's.
struct accumulated {
  element value;
  std::int64_t index = 0, count = 0;
  moments_state moments{};  // of deviations, all there is
};

inline element combine(monoid m, dtype type, const element& a, const element& b) {
  switch (m) {
    case monoid::sum: return evaluate(ir::op::add, type, a, b);
    case monoid::prod: return evaluate(ir::op::mul, type, a, b);
    case monoid::max: return evaluate(ir::op::maximum, type, a, b);
    case monoid::min: return evaluate(ir::op::minimum, type, a, b);
    case monoid::argmax:
    case monoid::deviations: break;
  }
  return a;
}

inline element identity_of(monoid m, dtype type) {
  if (m == monoid::prod) return {1, 1};
  if (m == monoid::sum || m == monoid::argmax || m == monoid::deviations) return {};
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> element {
    using limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>)
      return {0, static_cast<std::int64_t>(m == monoid::max ? limits::lowest() : limits::max())};
    else
      return {m == monoid::max ? -std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::infinity(),
              0};
  });
}

/// Adds what saw later elements to what saw those before.
inline void combine(monoid m, dtype type, accumulated& total, const accumulated& behind) {
  if (m == monoid::deviations) return merge_moments(behind.moments, total.moments);
  if (m != monoid::argmax) {
    total.value = combine(m, accumulator_dtype(m, type), total.value, behind.value);
    return;
  }
  if (behind.count == 0) return;
  const auto is_nan = [&](const element& x) { return is_floating(type) && x.real != x.real; };
  if (total.count == 0 || is_less(type, total.value, behind.value) ||
      (is_nan(behind.value) && !is_nan(total.value))) {
    total.value = behind.value;
    total.index = total.count + behind.index;
  }
  total.count += behind.count;
}

}  // namespace sinter::inline SINTER_ABI::exec
