// SPDX-License-Identifier: MIT
//
// The element types of tensors as values, and the way from such a value to a C++ type (`dispatch`)
// and back (`dtype_of`). A boolean takes one byte that is 0 or 1, as NumPy stores it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sinter/support/error.hpp>
#include <sinter/tensor/narrow_float.hpp>

namespace sinter::inline SINTER_ABI {

/// Narrow before wide, integers before floats: among C++ scalars the last decides.
enum class dtype : std::uint8_t {
  boolean,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64
};

inline constexpr int dtype_count = 13;

namespace detail {

// In the order of the enumerators.
using element_types =
    std::tuple<bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
               std::uint32_t, std::int64_t, std::uint64_t, float16, bfloat16, float, double>;

static_assert(std::tuple_size_v<element_types> == dtype_count);

inline constexpr std::array<std::string_view, dtype_count> dtype_names{
    "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"};

inline constexpr std::array<std::size_t, dtype_count> dtype_sizes{1, 1, 1, 2, 2, 4, 4,
                                                                  8, 8, 2, 2, 4, 8};

// The place of T among the element types, or their number.
template <class T>
consteval std::size_t place_of_element() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    std::size_t place = sizeof...(I);
    ((std::same_as<T, std::tuple_element_t<I, element_types>> ? void(place = I) : void()), ...);
    return place;
  }(std::make_index_sequence<dtype_count>{});
}

}  // namespace detail

static_assert(sizeof(bool) == 1, "sinter stores a boolean as one byte");

/// The C++ types that may be elements of a tensor: bool, the integers of <cstdint> from 8 to 64
/// bits, float16, bfloat16, float, double.
template <class T>
concept Element = detail::place_of_element<T>() < static_cast<std::size_t>(dtype_count);

/// float16, bfloat16, float, double.
template <class T>
concept FloatingElement = (std::floating_point<T> && Element<T>) || NarrowFloat<T>;

/// The dtype of a C++ element type; const does not matter.
template <class T>
  requires Element<std::remove_const_t<T>>
inline constexpr dtype dtype_of =
    static_cast<dtype>(detail::place_of_element<std::remove_const_t<T>>());

/// The C++ element type of a dtype known at compile time.
template <dtype D>
using cpp_type = std::tuple_element_t<static_cast<std::size_t>(D), detail::element_types>;

/// The name used in messages, graph text and reports.
constexpr std::string_view name(dtype d) {
  const auto place = static_cast<std::size_t>(d);
  return place < detail::dtype_names.size() ? detail::dtype_names[place] : "invalid";
}

/// Bytes of one element.
constexpr std::size_t size_of(dtype d) {
  const auto place = static_cast<std::size_t>(d);
  return place < detail::dtype_sizes.size() ? detail::dtype_sizes[place] : 0;
}

constexpr bool is_floating(dtype d) { return d >= dtype::f16 && d <= dtype::f64; }

/// True for f16 and bf16, which are stored as such and computed as f32.
constexpr bool is_narrow_float(dtype d) { return d == dtype::f16 || d == dtype::bf16; }

/// True for i8 to u64: a boolean is no number.
constexpr bool is_integral(dtype d) { return d >= dtype::i8 && d <= dtype::u64; }

constexpr bool is_signed_integer(dtype d) {
  return d == dtype::i8 || d == dtype::i16 || d == dtype::i32 || d == dtype::i64;
}
constexpr bool is_unsigned_integer(dtype d) { return is_integral(d) && !is_signed_integer(d); }

/// True for integers of 8 and 16 bits: too short to count the classes of labels, or positions.
constexpr bool is_narrow_integer(dtype d) { return d >= dtype::i8 && d <= dtype::u16; }

/// True for i64 and u64, whose values a double does not always hold.
constexpr bool is_wide_integer(dtype d) { return d == dtype::i64 || d == dtype::u64; }

/// The unsigned integer of 1, 2, 4 or 8 bytes.
constexpr dtype unsigned_of_size(std::int64_t bytes) {
  return bytes == 1 ? dtype::u8 : bytes == 2 ? dtype::u16 : bytes == 4 ? dtype::u32 : dtype::u64;
}

/// A set of dtypes, as bits.
constexpr unsigned dtype_bits(std::same_as<dtype> auto... d) {
  return (0u | ... | (1u << static_cast<unsigned>(d)));
}

/// Calls `f(std::type_identity<T>{})` with the C++ type of `d` and returns what it returns.
/// Throws dtype_error when `d` is none of the enumerators.
template <class Function>
constexpr decltype(auto) dispatch(dtype d, Function&& f) {
  switch (d) {
    case dtype::boolean: return std::forward<Function>(f)(std::type_identity<bool>{});
    case dtype::i8: return std::forward<Function>(f)(std::type_identity<std::int8_t>{});
    case dtype::u8: return std::forward<Function>(f)(std::type_identity<std::uint8_t>{});
    case dtype::i16: return std::forward<Function>(f)(std::type_identity<std::int16_t>{});
    case dtype::u16: return std::forward<Function>(f)(std::type_identity<std::uint16_t>{});
    case dtype::i32: return std::forward<Function>(f)(std::type_identity<std::int32_t>{});
    case dtype::u32: return std::forward<Function>(f)(std::type_identity<std::uint32_t>{});
    case dtype::i64: return std::forward<Function>(f)(std::type_identity<std::int64_t>{});
    case dtype::u64: return std::forward<Function>(f)(std::type_identity<std::uint64_t>{});
    case dtype::f16: return std::forward<Function>(f)(std::type_identity<float16>{});
    case dtype::bf16: return std::forward<Function>(f)(std::type_identity<bfloat16>{});
    case dtype::f32: return std::forward<Function>(f)(std::type_identity<float>{});
    case dtype::f64: return std::forward<Function>(f)(std::type_identity<double>{});
  }
  raise(dtype_error("dispatch: the value is no dtype"));
}

}  // namespace sinter::inline SINTER_ABI
