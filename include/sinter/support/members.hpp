// SPDX-License-Identifier: MIT
// The members of an aggregate, without a macro or a registration: how many there are, and
// references to them. Found with brace initialisation and structured bindings, which is what C++20
// has instead of reflection.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// The most members that a struct may have; more go into structs of their own, or a std::array.
inline constexpr std::size_t max_members = 32;

namespace detail {

// Converts to whatever a member is. (A nested aggregate is initialised by it as a whole.)
struct any_member {
  template <class T>
  operator T() const;
};

template <std::size_t>
using any_member_at = any_member;

template <class S, std::size_t... I>
constexpr bool has_members(std::index_sequence<I...>) {
  return requires { S{any_member_at<I>{}...}; };
}

// Braces with fewer initialisers than members are fine too, so the count is the last that is.
template <class S, std::size_t N = 0>
constexpr std::size_t count_members() {
  if constexpr (has_members<S>(std::make_index_sequence<N + 1>{}))
    return count_members<S, N + 1>();
  else
    return N;
}

}  // namespace detail

/// A class whose members can be enumerated: public, without a base and without constructors.
template <class S>
concept Aggregate = std::is_class_v<S> && std::is_aggregate_v<S>;

/// How many members `S` has.
template <Aggregate S>
inline constexpr std::size_t member_count = detail::count_members<S>();

/// A std::tuple of references to the members of `s`, whose type has `Count` of them: that of
/// another struct made from the same template may be given where it is cheaper to count.
template <class S, std::size_t Count = member_count<std::remove_const_t<S>>>
constexpr auto members(S& s) {
  static_assert(
      Count <= max_members,
      "sinter: a struct of parameters has too many members; put some of them into a struct");
  if constexpr (Count == 0) {
    return std::tuple<>{};
  } else if constexpr (Count == 1) {
    auto& [m1] = s;
    return std::tie(m1);
  } else if constexpr (Count == 2) {
    auto& [m1, m2] = s;
    return std::tie(m1, m2);
  } else if constexpr (Count == 3) {
    auto& [m1, m2, m3] = s;
    return std::tie(m1, m2, m3);
  } else if constexpr (Count == 4) {
    auto& [m1, m2, m3, m4] = s;
    return std::tie(m1, m2, m3, m4);
  } else if constexpr (Count == 5) {
    auto& [m1, m2, m3, m4, m5] = s;
    return std::tie(m1, m2, m3, m4, m5);
  } else if constexpr (Count == 6) {
    auto& [m1, m2, m3, m4, m5, m6] = s;
    return std::tie(m1, m2, m3, m4, m5, m6);
  } else if constexpr (Count == 7) {
    auto& [m1, m2, m3, m4, m5, m6, m7] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7);
  } else if constexpr (Count == 8) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8);
  } else if constexpr (Count == 9) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9);
  } else if constexpr (Count == 10) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
  } else if constexpr (Count == 11) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
  } else if constexpr (Count == 12) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
  } else if constexpr (Count == 13) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
  } else if constexpr (Count == 14) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
  } else if constexpr (Count == 15) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
  } else if constexpr (Count == 16) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
  } else if constexpr (Count == 17) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
  } else if constexpr (Count == 18) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
                    m18);
  } else if constexpr (Count == 19) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] =
        s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19);
  } else if constexpr (Count == 20) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20);
  } else if constexpr (Count == 21) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21);
  } else if constexpr (Count == 22) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22);
  } else if constexpr (Count == 23) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23);
  } else if constexpr (Count == 24) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24);
  } else if constexpr (Count == 25) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24, m25] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24, m25);
  } else if constexpr (Count == 26) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24, m25, m26] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24, m25, m26);
  } else if constexpr (Count == 27) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24, m25, m26, m27] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24, m25, m26, m27);
  } else if constexpr (Count == 28) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24, m25, m26, m27, m28] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24, m25, m26, m27, m28);
  } else if constexpr (Count == 29) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24, m25, m26, m27, m28, m29] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29);
  } else if constexpr (Count == 30) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30);
  } else if constexpr (Count == 31) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31);
  } else if constexpr (Count == 32) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
           m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32] = s;
    return std::tie(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
                    m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32);
  }
}

}  // namespace sinter::inline SINTER_ABI
