// SPDX-License-Identifier: MIT
//
// The element types of tensors as values, and the way from such a value to a C++ type (`dispatch`)
// and back (`dtype_of`). A boolean takes one byte that is 0 or 1, as NumPy stores it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sinter/support/error.hpp>

namespace sinter {

enum class dtype : std::uint8_t { boolean, u8, i32, i64, f32, f64 };

inline constexpr int dtype_count = 6;

namespace detail {

template <class T>
consteval dtype find_dtype() {
  if constexpr (std::same_as<T, bool>)
    return dtype::boolean;
  else if constexpr (std::same_as<T, std::uint8_t>)
    return dtype::u8;
  else if constexpr (std::same_as<T, std::int32_t>)
    return dtype::i32;
  else if constexpr (std::same_as<T, std::int64_t>)
    return dtype::i64;
  else if constexpr (std::same_as<T, float>)
    return dtype::f32;
  else
    return dtype::f64;
}

template <dtype D>
consteval auto find_cpp_type() {
  if constexpr (D == dtype::boolean)
    return std::type_identity<bool>{};
  else if constexpr (D == dtype::u8)
    return std::type_identity<std::uint8_t>{};
  else if constexpr (D == dtype::i32)
    return std::type_identity<std::int32_t>{};
  else if constexpr (D == dtype::i64)
    return std::type_identity<std::int64_t>{};
  else if constexpr (D == dtype::f32)
    return std::type_identity<float>{};
  else
    return std::type_identity<double>{};
}

}  // namespace detail

static_assert(sizeof(bool) == 1, "sinter stores a boolean as one byte");

/// The C++ types that may be elements of a tensor.
template <class T>
concept Element =
    std::same_as<T, bool> || std::same_as<T, std::uint8_t> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::int64_t> || std::same_as<T, float> || std::same_as<T, double>;

/// The dtype of a C++ element type; const does not matter.
template <class T>
  requires Element<std::remove_const_t<T>>
inline constexpr dtype dtype_of = detail::find_dtype<std::remove_const_t<T>>();

/// The C++ element type of a dtype known at compile time.
template <dtype D>
using cpp_type = typename decltype(detail::find_cpp_type<D>())::type;

/// The name used in messages, graph text and reports.
constexpr std::string_view name(dtype d) {
  switch (d) {
    case dtype::boolean: return "bool";
    case dtype::u8: return "u8";
    case dtype::i32: return "i32";
    case dtype::i64: return "i64";
    case dtype::f32: return "f32";
    case dtype::f64: return "f64";
  }
  return "invalid";
}

/// Bytes of one element.
constexpr std::size_t size_of(dtype d) {
  switch (d) {
    case dtype::boolean: return 1;
    case dtype::u8: return 1;
    case dtype::i32: return 4;
    case dtype::i64: return 8;
    case dtype::f32: return 4;
    case dtype::f64: return 8;
  }
  return 0;
}

constexpr bool is_floating(dtype d) { return d == dtype::f32 || d == dtype::f64; }

/// True for u8, i32 and i64: a boolean is no number.
constexpr bool is_integral(dtype d) { return d == dtype::u8 || d == dtype::i32 || d == dtype::i64; }

/// Calls `f(std::type_identity<T>{})` with the C++ type of `d` and returns what it returns.
/// Throws dtype_error when `d` is none of the enumerators.
template <class Function>
constexpr decltype(auto) dispatch(dtype d, Function&& f) {
  switch (d) {
    case dtype::boolean: return std::forward<Function>(f)(std::type_identity<bool>{});
    case dtype::u8: return std::forward<Function>(f)(std::type_identity<std::uint8_t>{});
    case dtype::i32: return std::forward<Function>(f)(std::type_identity<std::int32_t>{});
    case dtype::i64: return std::forward<Function>(f)(std::type_identity<std::int64_t>{});
    case dtype::f32: return std::forward<Function>(f)(std::type_identity<float>{});
    case dtype::f64: return std::forward<Function>(f)(std::type_identity<double>{});
  }
  throw dtype_error("dispatch: the value is no dtype");
}

}  // namespace sinter
