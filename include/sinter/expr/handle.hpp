// SPDX-License-Identifier: MIT
// handle: a node of a graph that is being traced; what the arguments of a fused lambda are. Its
// dtype and extents are values, so a lambda is compiled once per argument types and nobody does
// arithmetic on types. Also here: which C++ types may be operands, and how a C++ scalar (a literal)
// becomes a constant of the graph.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <sinter/graph/build.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>

namespace sinter::inline SINTER_ABI {

/// A node of a graph. Copying copies the reference, not the graph, which must outlive the handle.
struct handle {
  ir::value node;

  constexpr handle() = default;
  constexpr explicit handle(ir::value v) : node(v) {}

  constexpr ir::graph& graph() const { return *node.owner; }
  constexpr dtype type() const { return node.type(); }
  constexpr int rank() const { return node.rank(); }
  /// A scalar without a dtype of its own: a C++ number, an extent, or what was computed from such.
  /// It takes the dtype of what it meets.
  constexpr bool weak() const { return node.get().weak; }
};

template <class Function, class... Captured>
class expression;

namespace detail {

template <class X>
inline constexpr bool is_expression = false;
template <class Function, class... Captured>
inline constexpr bool is_expression<expression<Function, Captured...>> = true;

template <class X>
inline constexpr bool is_array = false;
template <class T, extents_spec E>
inline constexpr bool is_array<tensor<T, E>> = true;
template <class T, extents_spec E>
inline constexpr bool is_array<view<T, E>> = true;
template <class T, extents_spec E>
inline constexpr bool is_array<shared_tensor<T, E>> = true;

}  // namespace detail

/// A C++ number, or a float16 or bfloat16. Functions take it by value: a captureless lambda may
/// then use a constexpr variable from outside.
template <class X>
concept Scalar = std::is_arithmetic_v<X> || NarrowFloat<X>;

template <class X>
concept Handle = std::same_as<std::remove_cvref_t<X>, handle>;

/// What the functions of sinter apply to: handles, tensors, views, and expressions of them.
template <class X>
concept Operand = Handle<X> || detail::is_array<std::remove_cvref_t<X>> ||
                  detail::is_expression<std::remove_cvref_t<X>>;

/// A handle or an expression: something whose `==` may mean an element-wise comparison.
template <class X>
concept Unevaluated = Handle<X> || detail::is_expression<std::remove_cvref_t<X>>;

/// The element type in which a C++ scalar is stored: itself, or for the types that are no elements
/// `double` or `std::int64_t`.
template <Scalar S>
using stored_scalar =
    std::conditional_t<Element<S>, S,
                       std::conditional_t<std::is_floating_point_v<S>, double, std::int64_t>>;

namespace detail {

// What the literals of one call take their dtype from.
struct meeting {
  bool known = false;  // false: no operand but literals
  bool weak = true;
  dtype type = dtype::boolean;

  constexpr void add(dtype t, bool is_weak) {
    // The first operand with a dtype of its own decides; among weak ones the widest (dtypes are in
    // that order).
    if (known && (!weak || (is_weak && t <= type))) return;
    known = true;
    weak = is_weak;
    type = t;
  }
};

// A constant of the graph. Not ir::constant: a double does not hold every i64, and keys of random
// numbers are such.
template <Scalar S>
constexpr handle constant_of(ir::graph& g, dtype type, S x) {
  if (!is_wide_integer(type)) return handle(ir::constant(g, type, static_cast<double>(x)));
  return handle({&g, ir::append(g, ir::op::constant, {},
                                {static_cast<std::int64_t>(type), static_cast<std::int64_t>(x)})});
}

template <Scalar S>
constexpr bool fits(dtype type, S x) {
  if (!is_integral(type)) return true;
  const double value = static_cast<double>(x);
  return dispatch(type, [&]<class T>(std::type_identity<T>) {
    return value >= static_cast<double>(std::numeric_limits<T>::min()) &&
           value <= static_cast<double>(std::numeric_limits<T>::max());
  });
}

// A literal as an operand of `code` beside the operands that made `m`. Integers become floats where
// they meet floats; a floating literal beside integers, or a bool beside numbers, is a fault: the
// author must say what is meant.
template <Scalar S>
constexpr handle literal(ir::graph& g, const meeting& m, ir::op code, S x,
                         span<const int> operands) {
  constexpr dtype own = dtype_of<stored_scalar<S>>;
  if (!m.known || m.type == own) return constant_of(g, m.known ? m.type : own, x);
  const bool accepted = own != dtype::boolean && m.type != dtype::boolean &&
                        (is_floating(m.type) || is_integral(own));
  if (accepted && fits(m.type, x)) return constant_of(g, m.type, x);
  // An extent times 0.5 is a float that has no dtype yet.
  const bool both_weak_numbers = m.weak && own != dtype::boolean && m.type != dtype::boolean;
  if (!both_weak_numbers && !g.implicit_casts)
    g.fail({ir::fault_kind::mixed_dtypes, code, static_cast<std::int64_t>(own),
            static_cast<std::int64_t>(m.type)},
           operands);
  return constant_of(g, own, x);
}

// Handles of one op are of one graph. The compiler traces one at a time, so only graphs that are
// built at run time can be mixed up.
constexpr void require_graph(const ir::graph& g, handle x) {
  if (!std::is_constant_evaluated() && x.node.owner != &g)
    raise(graph_error("operands of different graphs, or a handle of none"));
}

// A scalar in the dtype that a function promises: a constant stays one.
constexpr ir::value in_dtype(ir::value x, dtype type) {
  const bool number =
      x.get().code == ir::op::constant && x.type() != dtype::boolean && type != dtype::boolean;
  const bool exact = is_floating(type) || is_integral(x.type());
  return number && exact ? ir::weak_cast(x, type) : ir::cast(x, type);
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
