// SPDX-License-Identifier: MIT
// Kernels of single ops: what runs a graph for which the compiler has no fused kernel. All operands
// are vectors, so there is one kernel per op and dtype. Cheap ops of two floats have modes and take
// one value for a vector; for the others the caller spreads it into a small buffer.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <sinter/exec/each_element.hpp>
#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/map_kernel.hpp>
#include <sinter/exec/narrow_cast.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/exec/whole_cast.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Whether there is a micro-op for `code` on operands of dtype `type` (for `where`: the dtype of
/// its branches). cast is not among them; it has a table of its own.
constexpr bool has_micro_op(ir::op code, dtype type) {
  if (!ir::is_elementwise(code) || code == ir::op::cast || code == ir::op::custom_map) return false;
  if (is_narrow_float(type)) return !ir::computes(code);
  if (code == ir::op::bitcast) return type != dtype::boolean;
  switch (ir::info(code).accepts) {
    case ir::accepts::any: return true;
    case ir::accepts::numeric: return type != dtype::boolean;
    case ir::accepts::floating: return is_floating(type);
    case ir::accepts::integral: return is_integral(type);
    case ir::accepts::integral_or_bool: return is_integral(type) || type == dtype::boolean;
    case ir::accepts::boolean: return type == dtype::boolean;
  }
  return false;
}

/// The region of a single op whose operands are all vectors.
constexpr ir::region one_op_region(ir::op code, dtype type) {
  ir::region r;
  r.type = type;
  const int arity = ir::info(code).arity;
  for (int i = 0; i < arity; ++i) r.add_leaf(false);
  r.add_node(code, 0, arity > 1 ? 1 : 0, arity > 2 ? 2 : 0);
  return r;
}

namespace detail {

// What keeps every bit: a bitcast, and rounding or abs of what is whole or not negative.
template <std::size_t Size>
void copy_kernel(std::int64_t n, const void* const* operands, void* result) {
  if (n > 0) std::memmove(result, operands[0], static_cast<std::size_t>(n) * Size);
}

template <class T>
constexpr bool copies(ir::op code) {
  using ir::op;
  if (code == op::bitcast || code == op::stop_gradient) return true;
  const bool rounds = code == op::floor || code == op::ceil || code == op::round;
  const bool of_sign = code == op::abs || code == op::relu;
  return (Integer<T> && rounds) || (Integer<T> && std::is_unsigned_v<T> && of_sign);
}

// Ops on integers that only look at bits, so that signed and unsigned ones share a kernel: 8
// integer dtypes cost about what 5 would.
constexpr bool ignores_sign(ir::op code) {
  using ir::op;
  return code == op::neg || code == op::add || code == op::sub || code == op::mul ||
         code == op::bit_and || code == op::bit_or || code == op::bit_xor ||
         code == op::shift_left || code == op::equal || code == op::not_equal ||
         code == op::multiply_add || code == op::where;
}

// Integers and bools, in registers where the instruction set has the operation.
template <ir::op Op, class T>
void integer_kernel(std::int64_t n, const void* const* operands, void* result) {
  constexpr int arity = ir::info(Op).arity;
  using out_type = std::conditional_t<ir::info(Op).yields == ir::yields::boolean, bool, T>;
  const auto* a = static_cast<const T*>(operands[0]);
  auto* out = static_cast<out_type*>(result);
  if constexpr (arity == 1) {
    for_each_element(n, [=](std::int64_t i) { out[i] = apply<Op>(a[i]); });
  } else {
    const auto* b = static_cast<const T*>(operands[1]);
    if constexpr (arity == 2) {
      for_each_element(n, [=](std::int64_t i) { out[i] = apply<Op>(a[i], b[i]); });
    } else {
      const auto* c = static_cast<const T*>(operands[2]);
      for_each_element(n, [=](std::int64_t i) { out[i] = apply<Op>(a[i], b[i], c[i]); });
    }
  }
}

// where reads its condition from bytes, which a region of floats cannot hold.
template <class T>
void where_kernel(std::int64_t n, const void* const* operands, void* result) {
  const auto* condition = static_cast<const unsigned char*>(operands[0]);
  const auto* yes = static_cast<const T*>(operands[1]);
  const auto* no = static_cast<const T*>(operands[2]);
  auto* out = static_cast<T*>(result);
  using word = unsigned_word<sizeof(T)>;
  // By bits, and conditions read as bytes: GCC 12 leaves a loop with `?:` or with bool scalar, 0.39
  // ns per f32 element against 0.09.
  for_each_element(n, [=](std::int64_t i) {
    const auto mask = static_cast<word>(word{0} - static_cast<word>(condition[i]));
    const auto if_true = static_cast<word>(std::bit_cast<word>(yes[i]) & mask);
    const auto if_false = static_cast<word>(std::bit_cast<word>(no[i]) & static_cast<word>(~mask));
    out[i] = std::bit_cast<T>(static_cast<word>(if_true | if_false));
  });
}

// Of bools read as bytes, for the same reason: 0.02 instead of 0.6 ns each.
inline void not_kernel(std::int64_t n, const void* const* operands, void* result) {
  const auto* x = static_cast<const unsigned char*>(operands[0]);
  auto* out = static_cast<unsigned char*>(result);
  for_each_element(n, [=](std::int64_t i) { out[i] = static_cast<unsigned char>(x[i] ^ 1); });
}

// Of integers, the result's sign does not matter, and the operand's only if bits are added.
template <class To, class From>
void cast_kernel(std::int64_t n, const void* const* operands, void* result) {
  const auto* x = static_cast<const From*>(operands[0]);
  auto* out = static_cast<To*>(result);
  for_each_element(n, [=](std::int64_t i) { out[i] = convert<To>(x[i]); });
}

// Kernels of floats: operands of one value stay in a register (a softmax of [4096,1024], whose last
// op multiplies by a value per row: 1.01 ms, 1.21 where that is spread), and large results go past
// the caches (|x| of 16 M elements on a Zen 3: 5.3 instead of 11.6 ms).
template <class T, ir::op Op>
constexpr bool has_modes() {
  return has_micro_op(Op, dtype_of<T>) && Floating<T> && !copies<T>(Op) && Op != ir::op::where;
}

template <class T, ir::op Op>
consteval ir::map_function micro_op_of() {
  if constexpr (!has_micro_op(Op, dtype_of<T>))
    return nullptr;
  else if constexpr (copies<T>(Op))
    return &copy_kernel<sizeof(T)>;
  else if constexpr (Op == ir::op::where)
    return &where_kernel<std::conditional_t<Floating<T>, T, unsigned_word<sizeof(T)>>>;
  else if constexpr (Op == ir::op::logical_not)
    return &not_kernel;
  else if constexpr (has_modes<T, Op>())
    return &map_kernel<one_op_region(Op, dtype_of<T>)>;
  else if constexpr (Integer<T> && ignores_sign(Op))
    return &integer_kernel<Op, unsigned_word<sizeof(T)>>;
  else
    return &integer_kernel<Op, T>;
}

template <class T, ir::op Op>
consteval ir::map_rows_function micro_op_rows_of() {
  if constexpr (has_modes<T, Op>())
    return &map_rows_kernel<one_op_region(Op, dtype_of<T>)>;
  else
    return nullptr;
}

}  // namespace detail

/// The micro-ops for operands of type T, indexed by op; nullptr where has_micro_op is false.
template <Element T>
constexpr micro_op_table micro_ops() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return micro_op_table{detail::micro_op_of<T, static_cast<ir::op>(I)>()...};
  }(std::make_index_sequence<static_cast<std::size_t>(ir::op_count)>{});
}

/// Those of them that have modes, in all modes; nullptr for the others.
template <Element T>
constexpr micro_op_rows_table micro_op_rows() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return micro_op_rows_table{detail::micro_op_rows_of<T, static_cast<ir::op>(I)>()...};
  }(std::make_index_sequence<static_cast<std::size_t>(ir::op_count)>{});
}

/// The kernel that converts From to To, one operand; nullptr for the pairs that graphs write as two
/// casts (ir::append): a 16-bit float to anything but f32, and to one from anything but f32 and
/// f64.
template <Element To, Element From>
constexpr ir::map_function cast_op() {
  using detail::cast_kernel;
  using detail::unsigned_word;
  constexpr bool integers = Integer<To> && (Integer<From> || std::is_same_v<From, bool>);
  if constexpr (std::is_same_v<To, From>)
    return &detail::copy_kernel<sizeof(To)>;
  else if constexpr (NarrowFloat<From> && std::is_same_v<To, float>)
    return &detail::widen_kernel<From>;
  else if constexpr (NarrowFloat<To> && Floating<From>)
    return &detail::narrow_kernel<To, From>;
  else if constexpr (NarrowFloat<From> || NarrowFloat<To>)
    return nullptr;
  else if constexpr (integers && sizeof(To) == sizeof(From))
    return &detail::copy_kernel<sizeof(To)>;
  else if constexpr (integers && (sizeof(To) < sizeof(From) || std::is_unsigned_v<From>))
    return &cast_kernel<unsigned_word<sizeof(To)>, unsigned_word<sizeof(From)>>;
  else if constexpr (integers)
    return &cast_kernel<unsigned_word<sizeof(To)>, From>;
  else if constexpr (std::is_same_v<To, bool> && Integer<From>)
    return &cast_kernel<bool, unsigned_word<sizeof(From)>>;
  else if constexpr (std::is_same_v<From, bool>)
    return &cast_kernel<To, std::uint8_t>;
  else if constexpr (Floating<From> && detail::gains_from_whole_cast<To>)
    return &detail::whole_cast_kernel<To, From>;
  else
    return &cast_kernel<To, From>;
}

}  // namespace sinter::inline SINTER_ABI::exec
