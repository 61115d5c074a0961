// SPDX-License-Identifier: MIT
// The dtype that two dtypes meet in, as NumPy's promotion has it: the narrowest one that holds
// every value of both, where f64 counts as holding all integers. bfloat16, which NumPy does not
// know, follows the same rule.
#pragma once

#include <algorithm>

#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// The narrowest float that holds the values of an integer dtype beside those of the float `least`.
constexpr dtype float_beside(dtype least, dtype integer) {
  const std::size_t bytes = size_of(integer);
  if (bytes == 1) return least;
  if (bytes == 2) return least == dtype::f64 ? dtype::f64 : dtype::f32;
  return dtype::f64;
}

constexpr dtype promote_ordered(dtype a, dtype b) {
  if (a == b || a == dtype::boolean) return b;
  if (is_floating(a)) return is_narrow_float(a) && is_narrow_float(b) ? dtype::f32 : b;
  if (is_floating(b)) return float_beside(b, a);
  if (is_signed_integer(a) == is_signed_integer(b)) return b;
  const dtype with_sign = is_signed_integer(a) ? a : b, without = is_signed_integer(a) ? b : a;
  if (size_of(with_sign) > size_of(without)) return with_sign;
  return without == dtype::u8    ? dtype::i16
         : without == dtype::u16 ? dtype::i32
         : without == dtype::u32 ? dtype::i64
                                 : dtype::f64;
}

}  // namespace detail

/// The dtype that arithmetic on `a` and `b` has where casts are implicit (`promoted`); symmetric,
/// and the dtype itself for equal ones.
///
///          bool i8   u8   i16  u16  i32  u32  i64  u64  f16  bf16 f32  f64
///     bool bool i8   u8   i16  u16  i32  u32  i64  u64  f16  bf16 f32  f64
///     i8        i8   i16  i16  i32  i32  i64  i64  f64  f16  bf16 f32  f64
///     u8             u8   i16  u16  i32  u32  i64  u64  f16  bf16 f32  f64
///     i16                 i16  i32  i32  i64  i64  f64  f32  f32  f32  f64
///     u16                      u16  i32  u32  i64  u64  f32  f32  f32  f64
///     i32                           i32  i64  i64  f64  f64  f64  f64  f64
///     u32                                u32  i64  u64  f64  f64  f64  f64
///     i64                                     i64  f64  f64  f64  f64  f64
///     u64                                          u64  f64  f64  f64  f64
///     f16                                               f16  f32  f32  f64
///     bf16                                                   bf16 f32  f64
///     f32                                                         f32  f64
constexpr dtype promote(dtype a, dtype b) {
  return detail::promote_ordered(std::min(a, b), std::max(a, b));
}

/// Does every value of `from` keep its value in `to`?
constexpr bool embeds(dtype from, dtype to) {
  if (from == to || from == dtype::boolean) return true;
  if (to == dtype::boolean) return false;
  // 64-bit integers promote to f64 although that does not hold them all.
  if (is_wide_integer(from) && is_floating(to)) return false;
  return promote(from, to) == to;
}

}  // namespace sinter::inline SINTER_ABI
