// SPDX-License-Identifier: MIT
// A user's op as the library sees it: a value of functions and facts, made from the user's struct
// by function/custom.hpp. Graphs keep a list of those they use; a node says which by number, so
// that equality and hashing are those of any other op, and everything behind tracing is free of
// templates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <sinter/graph/region.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::ir {

class graph;
struct inferred;

/// Operands of one op at most.
inline constexpr int max_custom_operands = 8;

/// A contiguous row-major array that a custom op reads (`custom_input`) or writes
/// (`custom_output`).
template <class Void>
struct custom_array {
  Void* data = nullptr;
  dtype type{};
  std::span<const std::int64_t> shape;

  std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
  std::int64_t extent(std::int64_t axis) const { return shape[static_cast<std::size_t>(axis)]; }
  std::int64_t size() const {
    std::int64_t total = 1;
    for (std::int64_t d : shape) total *= d;
    return total;
  }
  /// The elements. Throws dtype_error if they are not of type T.
  template <Element T>
  auto as() const {
    using element = std::conditional_t<std::is_const_v<Void>, const T, T>;
    if (type != dtype_of<T>)
      raise(dtype_error("custom op: elements are " + std::string(name(type)) + ", not " +
                        std::string(name(dtype_of<T>))));
    return std::span<element>(static_cast<element*>(data), static_cast<std::size_t>(size()));
  }
};
using custom_input = custom_array<const void>;
using custom_output = custom_array<void>;

/// What runs an opaque op: operands, result, attributes.
using custom_function = void (*)(std::span<const custom_input>, const custom_output&,
                                 std::span<const double>);

/// A rewrite rule of a custom op, as the op has it, but with the op's name before its own.
struct custom_rule {
  std::string_view name, left, right;
  bool exact = true;
};

struct custom_op {
  std::string_view name;
  int arity = 0;
  bool elementwise = false;
  span<const std::string_view> attributes;
  span<const custom_rule> rules;
  double work = 1;  // per element, relative to one addition
  // Opaque: the last axes that it works on; those before are independent of each other, and the
  // kernel gets any part of them as one axis. Below 0: it gets whole arrays.
  int core_axes = -1;

  // Of gradients and tangents: nodes, -1 where there is none. Whether the op has such a rule is
  // said beside it: with -fsanitize=undefined GCC takes no comparison of a function with null for a
  // constant, and the type of what is differentiated would be known at run time only.
  bool has_gradient = false, has_tangent = false;
  void (*gradient)(graph&, int node, int adjoint, span<int> of_operands) = nullptr;
  int (*tangent)(graph&, int node, span<const int> tangents) = nullptr;

  // Element-wise: one element; the kernel for a dtype (f32, f64).
  double (*element)(const double*) = nullptr;
  map_function (*map)(dtype) = nullptr;

  // Opaque: dtype and shape of the result; what the reference interpreter runs (floats as f64,
  // other operands in their dtype; null: the kernel); the kernel for operand 0 of a dtype (null,
  // also for single dtypes: there is none, and the interpreter's function runs).
  inferred (*infer)(graph&, span<const int> in, span<const std::int64_t> attributes) = nullptr;
  custom_function reference = nullptr;
  custom_function (*kernel)(dtype) = nullptr;
};

}  // namespace sinter::inline SINTER_ABI::ir
