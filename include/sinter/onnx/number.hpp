// SPDX-License-Identifier: MIT
// What is known of elements while a model is loaded. Models compute the shapes that they reshape to
// (Shape, Gather, Mul, Concat); such elements are followed as integers and as symbolic extents.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <sinter/graph/build.hpp>
#include <sinter/tensor/any_tensor.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail {

/// An integer, an extent that depends on symbols, or a float (as the double that holds it).
using number = std::variant<std::int64_t, ir::dim, double>;

/// A dim as a number: an integer if it is one, also below zero.
inline number number_of(const ir::dim_table& dims, ir::dim d) {
  if (d.is_constant()) return d.constant();
  if (dims.kind(d) == ir::dim_kind::sum) {
    const std::span<const std::int64_t> o = dims.operands(d);
    if (o.size() == 2 && ir::dim::from_code(o[1]) == ir::dim(1)) return o[0];
  }
  return d;
}

inline bool is_integer(const number& x) { return std::holds_alternative<std::int64_t>(x); }
inline bool is_extent(const number& x) { return std::holds_alternative<ir::dim>(x); }
inline bool is_real(const number& x) { return std::holds_alternative<double>(x); }

inline ir::dim negative_dim(ir::dim_table& dims, std::int64_t x) {
  // The lowest number has no counterpart; no extent is near it.
  const std::int64_t magnitude = x < -ir::extent_range::highest ? ir::extent_range::highest : -x;
  return x >= 0 ? ir::dim(x) : dims.sub(ir::dim(0), ir::dim(magnitude));
}
/// An integer or an extent as a dim; below zero it is none that a shape may have.
inline ir::dim dim_of(ir::dim_table& dims, const number& x) {
  return is_extent(x) ? std::get<ir::dim>(x) : negative_dim(dims, std::get<std::int64_t>(x));
}

namespace arithmetic {

enum class operation {
  add,
  sub,
  mul,
  div,
  mod,
  min,
  max,
  equal,
  less,
  less_equal,
  both,
  either,
  one_of
};

inline std::optional<number> of_integers(operation code, std::int64_t a, std::int64_t b) {
  // Wrapping, as integers of a graph do.
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  switch (code) {
    case operation::add: return static_cast<std::int64_t>(x + y);
    case operation::sub: return static_cast<std::int64_t>(x - y);
    case operation::mul: return static_cast<std::int64_t>(x * y);
    case operation::div:
      if (b == 0 || (a == lowest && b == -1)) return std::nullopt;
      return a / b;
    case operation::mod: {  // the sign of the divisor
      if (b == 0 || (a == lowest && b == -1)) return std::nullopt;
      const std::int64_t r = a % b;
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case operation::min: return a < b ? a : b;
    case operation::max: return a < b ? b : a;
    case operation::equal: return static_cast<std::int64_t>(a == b);
    case operation::less: return static_cast<std::int64_t>(a < b);
    case operation::less_equal: return static_cast<std::int64_t>(a <= b);
    case operation::both: return a & b;
    case operation::either: return a | b;
    case operation::one_of: return a ^ b;
  }
  return std::nullopt;
}

inline std::optional<number> of_reals(operation code, double a, double b) {
  switch (code) {
    case operation::add: return a + b;
    case operation::sub: return a - b;
    case operation::mul: return a * b;
    case operation::div: return a / b;
    case operation::mod:
    case operation::both:
    case operation::either:
    case operation::one_of: return std::nullopt;
    case operation::min: return std::isnan(a) || a < b ? a : b;
    case operation::max: return std::isnan(a) || b < a ? a : b;
    case operation::equal: return static_cast<std::int64_t>(a == b);
    case operation::less: return static_cast<std::int64_t>(a < b);
    case operation::less_equal: return static_cast<std::int64_t>(a <= b);
  }
  return std::nullopt;
}

inline std::optional<number> decided(ir::truth t) {
  if (t == ir::truth::unknown) return std::nullopt;
  return static_cast<std::int64_t>(t == ir::truth::yes);
}

inline std::optional<number> of_extents(ir::dim_table& dims, operation code, const number& first,
                                        const number& second) {
  const ir::dim a = dim_of(dims, first), b = dim_of(dims, second);
  const auto at_least_one = [&](ir::dim d) { return dims.at_most(ir::dim(1), d); };
  switch (code) {
    case operation::add: return number_of(dims, dims.add(a, b));
    case operation::sub: return number_of(dims, dims.sub(a, b));
    case operation::mul: {
      // A dim that is a factor is not negative.
      const auto scaled = [&](ir::dim d, const number& by) -> std::optional<number> {
        if (is_extent(by)) return number_of(dims, dims.mul(d, std::get<ir::dim>(by)));
        const std::int64_t n = std::get<std::int64_t>(by);
        if (n == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
        const ir::dim product = dims.mul(d, ir::dim(n < 0 ? -n : n));
        return number_of(dims, n < 0 ? dims.sub(ir::dim(0), product) : product);
      };
      return is_extent(first) ? scaled(a, second) : scaled(b, first);
    }
    case operation::div:
    case operation::mod:
      if (dims.at_most(ir::dim(0), a) != ir::truth::yes ||
          (is_integer(second) && at_least_one(b) != ir::truth::yes))
        return std::nullopt;
      return number_of(dims, code == operation::div ? dims.floor_div(a, b) : dims.mod(a, b));
    case operation::min:
    case operation::max:
      if (const ir::truth t = dims.at_most(a, b); t != ir::truth::unknown)
        return (t == ir::truth::yes) == (code == operation::min) ? first : second;
      return std::nullopt;
    case operation::equal: return decided(dims.equal(a, b));
    case operation::less: {
      const ir::truth t = dims.at_most(b, a);
      return t == ir::truth::unknown
                 ? std::nullopt
                 : decided(t == ir::truth::yes ? ir::truth::no : ir::truth::yes);
    }
    case operation::less_equal: return decided(dims.at_most(a, b));
    case operation::both:
    case operation::either:
    case operation::one_of: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace arithmetic

/// a (code) b, if that can be said before the symbols are known. Comparisons give 0 or 1; the last
/// three are the bit ops.
inline std::optional<number> combine(ir::dim_table& dims, arithmetic::operation code,
                                     const number& a, const number& b) {
  if (is_real(a) != is_real(b)) return std::nullopt;
  if (is_real(a)) return arithmetic::of_reals(code, std::get<double>(a), std::get<double>(b));
  if (is_integer(a) && is_integer(b))
    return arithmetic::of_integers(code, std::get<std::int64_t>(a), std::get<std::int64_t>(b));
  return arithmetic::of_extents(dims, code, a, b);
}

/// A tensor of known elements, row by row.
struct known_tensor {
  dtype type = dtype::i64;
  shape_vector shape;
  std::vector<number> elements;

  std::size_t size() const { return elements.size(); }
};

/// More elements are data rather than shapes, and are left to the graph.
inline constexpr std::int64_t known_limit = 1024;

/// An element as a tensor of this type holds it: integers wrap, floats are rounded. Nothing where a
/// model may not care about the difference, but it matters (an extent as a float, or in 16 bits).
inline std::optional<number> stored_as(dtype type, const number& x) {
  if (is_extent(x))
    return type == dtype::i64 || type == dtype::i32 ? std::optional(x) : std::nullopt;
  if (is_floating(type)) {
    const double value =
        is_real(x) ? std::get<double>(x) : static_cast<double>(std::get<std::int64_t>(x));
    switch (type) {
      case dtype::f64: return value;
      case dtype::f32: return static_cast<double>(static_cast<float>(value));
      case dtype::f16: return static_cast<double>(static_cast<float>(float16(value)));
      default: return static_cast<double>(static_cast<float>(bfloat16(value)));
    }
  }
  if (type == dtype::boolean)
    return static_cast<std::int64_t>(is_real(x) ? std::get<double>(x) != 0
                                                : std::get<std::int64_t>(x) != 0);
  if (type == dtype::u64) return std::nullopt;  // half of its numbers are no int64
  if (is_real(x)) {
    const double value = std::trunc(std::get<double>(x));
    const bool fits = dispatch(type, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_integral_v<T>)
        return value >= static_cast<double>(std::numeric_limits<T>::min()) && value < 0x1p62 &&
               value <= static_cast<double>(std::numeric_limits<T>::max());
      else
        return false;
    });
    if (!fits) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> std::optional<number> {
    if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(static_cast<T>(std::get<std::int64_t>(x)));
    else
      return std::nullopt;
  });
}

/// The elements of a tensor as numbers, if they are few and are not u64.
inline std::optional<known_tensor> known_elements(const any_tensor& x) {
  if (x.size() > known_limit || x.type() == dtype::u64) return std::nullopt;
  known_tensor out{x.type(), x.shape(), {}};
  dispatch(x.type(), [&]<class T>(std::type_identity<T>) {
    const T* const first = static_cast<const T*>(x.data());
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if constexpr (NarrowFloat<T>)
        out.elements.push_back(static_cast<double>(static_cast<float>(first[i])));
      else if constexpr (std::is_floating_point_v<T>)
        out.elements.push_back(static_cast<double>(first[i]));
      else
        out.elements.push_back(static_cast<std::int64_t>(first[i]));
    }
  });
  return out;
}

/// The same as a tensor; nothing if an element is an extent.
inline std::optional<any_tensor> as_tensor(const known_tensor& x) {
  for (const number& each : x.elements)
    if (is_extent(each)) return std::nullopt;
  any_tensor out(x.type, x.shape);
  dispatch(x.type, [&]<class T>(std::type_identity<T>) {
    T* const first = static_cast<T*>(out.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if constexpr (FloatingElement<T>)
        first[i] = static_cast<T>(std::get<double>(x.elements[i]));
      else
        first[i] = static_cast<T>(std::get<std::int64_t>(x.elements[i]));
    }
  });
  return out;
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail
