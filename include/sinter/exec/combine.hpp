// SPDX-License-Identifier: MIT
// The operation of a monoid, on registers and on single values.
#pragma once

#include <limits>

#include <sinter/exec/elementwise.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/graph/op.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

template <monoid M, class T>
constexpr T identity_of() {
  using limits = std::numeric_limits<T>;
  if constexpr (M == monoid::sum)
    return T(0);
  else if constexpr (M == monoid::prod)
    return T(1);
  else if constexpr (M == monoid::max)
    return limits::has_infinity ? -limits::infinity() : limits::lowest();
  else
    return limits::has_infinity ? limits::infinity() : limits::max();
}

// Two registers, two integers. Of equal numbers, -0 and 0, the larger and the smaller is the
// second, which takes one instruction where there is no NaN.
template <monoid M, class V>
[[gnu::always_inline]] inline V combine(V a, V b) {
  if constexpr (M == monoid::sum)
    return apply<ir::op::add>(a, b);
  else if constexpr (M == monoid::prod)
    return apply<ir::op::mul>(a, b);
  else if constexpr (M == monoid::max)
    return apply<ir::op::maximum>(b, a);
  else
    return apply<ir::op::minimum>(b, a);
}

// Must somebody look for NaN, which an instruction for the larger of two loses?
template <monoid M>
inline constexpr bool loses_nan = M == monoid::max || M == monoid::min;

// Two registers without NaN: the same result, and one instruction.
template <monoid M, Floating T>
[[gnu::always_inline]] inline simd<T> combine_numbers(simd<T> a, simd<T> b) {
  if constexpr (M == monoid::max)
    return max_or_second<T>(a, b);
  else if constexpr (M == monoid::min)
    return min_or_second<T>(a, b);
  else
    return combine<M>(a, b);
}

// Two single values: of floats the same results as a lane of `combine` without a detour through
// registers.
template <monoid M, class T>
T combine_single(T a, T b) {
  if constexpr (!Floating<T>)
    return combine<M>(a, b);
  else if constexpr (M == monoid::sum)
    return a + b;
  else if constexpr (M == monoid::prod)
    return a * b;
  else if constexpr (M == monoid::max)
    return a > b || a != a ? a : b;
  else
    return a < b || a != a ? a : b;
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
