// SPDX-License-Identifier: MIT
// expression: a function and what it is applied to, evaluated when it is assigned to a tensor. And
// `apply`, through which every function of the front end goes: inside a fused lambda it writes a
// node, outside it builds an expression.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sinter/expr/handle.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

// A function of the front end is a small struct:
//   static constexpr ir::op code           the op that faults name
//   handle operator()(handle...) const     writes its nodes; works in constant evaluation, harmless
//                                          after a fault
//   void attributes(sink) const            optional: calls sink(std::int64_t) for each of its
//                                          run-time values
//   static constexpr unsigned own_dtype    optional: bit i set: operand i need not have the dtype
//   of
//                                          the others (the condition of where, indices, keys), so
//                                          literals neither take nor give theirs
//   static constexpr unsigned dtypes       optional: bit d set: it computes in dtype d, whatever
//   its
//                                          operands and its result have

namespace detail {

template <class Function>
concept HasAttributes = requires(const Function& f) { f.attributes([](std::int64_t) {}); };

template <class Function>
constexpr bool has_own_dtype(std::size_t operand) {
  if constexpr (requires { Function::own_dtype; })
    return (Function::own_dtype >> operand & 1u) != 0;
  else
    return false;
}

// The dtypes that a function names, as bits.
template <class Function>
constexpr unsigned named_dtypes() {
  if constexpr (requires { Function::dtypes; })
    return Function::dtypes;
  else
    return 0;
}

template <class Captured>
constexpr unsigned captured_dtypes() {
  if constexpr (is_expression<Captured>)
    return Captured::dtypes;
  else
    return 0;
}

template <class Captured>
constexpr bool captured_has_attributes() {
  if constexpr (is_expression<Captured>)
    return Captured::has_attributes;
  else
    return false;
}

}  // namespace detail

/// `Function` applied to what was captured: shared_tensor (an lvalue tensor's elements, shared and
/// read when the expression is evaluated; or those of a temporary), view, C++ scalars (as
/// stored_scalar), and other expressions. Nothing dangles but a view's memory, which borrows
/// explicitly. Scalars are leaves like tensors: another value never means another plan. A copy is
/// cheap and shares the tensors.
///
/// Leaves are numbered depth first, left to right.
template <class Function, class... Captured>
class expression {
 public:
  /// True if a function in the tree holds run-time values (axes, eps): the type alone is then no
  /// complete plan key.
  static constexpr bool has_attributes =
      detail::HasAttributes<Function> ||
      (false || ... || detail::captured_has_attributes<Captured>());

  /// Bits of the dtypes that functions in the tree compute in, whatever their operands have.
  static constexpr unsigned dtypes =
      (detail::named_dtypes<Function>() | ... | detail::captured_dtypes<Captured>());

  constexpr explicit expression(const Function& function, Captured... captured)
      : function_(function), captured_(std::move(captured)...) {}

  /// The expression as nodes: `visit(leaf)` returns the handle that stands for a leaf, and is
  /// called in their order.
  template <class Visitor>
  constexpr handle trace(Visitor&& visit) const {
    return trace_with(visit, std::index_sequence_for<Captured...>{});
  }

  /// Calls `f(leaf)` for every leaf in order.
  template <class F>
  constexpr void for_each_leaf(F&& f) const {
    std::apply([&](const auto&... each) { (visit_leaves(each, f), ...); }, captured_);
  }

  /// Appends the attribute values of all functions in the tree, in a fixed order, to `key` (a
  /// vector of std::int64_t).
  template <class Key>
  constexpr void append_key(Key& key) const {
    if constexpr (detail::HasAttributes<Function>)
      function_.attributes([&](std::int64_t value) { key.push_back(value); });
    const auto append = [&](const auto& each) {
      if constexpr (detail::is_expression<std::remove_cvref_t<decltype(each)>>)
        each.append_key(key);
    };
    std::apply([&](const auto&... each) { (append(each), ...); }, captured_);
  }

  /// Evaluates into `out`, which takes the shape of the result. What `tensor<T, R> y = expression`
  /// calls. Throws shape_error, dtype_error, axis_error or index_error before anything is written.
  /// Needs function/evaluate.hpp.
  template <class T, extents_spec E>
  void evaluate_to(tensor<T, E>& out) const {
    evaluate(*this, out);
  }

 private:
  template <class Visitor, std::size_t... I>
  constexpr handle trace_with(Visitor& visit, std::index_sequence<I...>) const {
    // Braces: elements of an initializer list are evaluated left to right, arguments of a call in
    // any order.
    const std::array<handle, sizeof...(I)> operands{trace_one(std::get<I>(captured_), visit)...};
    return function_(operands[I]...);
  }

  template <class X, class Visitor>
  static constexpr handle trace_one(const X& x, Visitor& visit) {
    if constexpr (detail::is_expression<X>)
      return x.trace(visit);
    else
      return visit(x);
  }

  template <class X, class F>
  static constexpr void visit_leaves(const X& x, F& f) {
    if constexpr (detail::is_expression<X>)
      x.for_each_leaf(f);
    else
      f(x);
  }

  [[no_unique_address]] Function function_;
  std::tuple<Captured...> captured_;
};

/// A list of types, for the leaves of an expression.
template <class... T>
struct type_list {
  static constexpr std::size_t size = sizeof...(T);
};

namespace detail {

template <class... A, class... B>
constexpr type_list<A..., B...> operator+(type_list<A...>, type_list<B...>) {
  return {};
}

template <class X>
struct leaves {
  using types = type_list<X>;
  static constexpr handle trace(span<const handle> in, std::size_t& next) { return in[next++]; }
};

template <class Function, class... Captured>
struct leaves<expression<Function, Captured...>> {
  using types = decltype((type_list<>{} + ... + typename leaves<Captured>::types{}));
  static constexpr handle trace(span<const handle> in, std::size_t& next) {
    const std::array<handle, sizeof...(Captured)> operands{leaves<Captured>::trace(in, next)...};
    return std::apply(Function{}, operands);
  }
};

}  // namespace detail

/// The types of an expression's leaves in their order, such as
/// `type_list<shared_tensor<float, 2>, float>`.
template <class Expression>
using leaf_types = typename detail::leaves<Expression>::types;

/// The nodes of an expression of this type, from its leaves' handles. Needs no object, so the
/// compiler can trace it.
template <class Expression>
  requires(!Expression::has_attributes)
constexpr handle trace_type(span<const handle> leaf_handles) {
  std::size_t next = 0;
  return detail::leaves<Expression>::trace(leaf_handles, next);
}

namespace detail {

// ---- inside a fused lambda

// An expression that was built inside a lambda from numbers alone, as full<float>(0, 3) is, joins
// the graph of the handle it meets.
template <class X>
constexpr handle join(ir::graph& g, const X& x) {
  return x.trace([&]<class Leaf>(const Leaf& leaf) {
    static_assert(Scalar<Leaf>,
                  "sinter: a tensor from outside of a fused function must be one of its arguments");
    if constexpr (Scalar<Leaf>)
      return constant_of(g, dtype_of<Leaf>, leaf);
    else
      return handle{};
  });
}

template <class X>
constexpr void find_graph(ir::graph*& g, const X& x) {
  if constexpr (Handle<X>) {
    if (g == nullptr) g = x.node.owner;
  }
}

template <class X>
constexpr handle known_operand(ir::graph& g, const X& x) {
  if constexpr (Handle<X>) {
    require_graph(g, x);
    return x;
  } else if constexpr (is_expression<X>)
    return join(g, x);
  else {
    static_assert(Scalar<X>,
                  "sinter: a tensor from outside of a fused function must be one of its arguments");
    return handle{};
  }
}

template <class Function, class... X>
constexpr handle write(const Function& function, const X&... operands) {
  ir::graph* g = nullptr;
  (find_graph(g, operands), ...);
  std::array<handle, sizeof...(X)> in{known_operand(*g, operands)...};

  // Handles first: literals take the dtype of what they meet, be it left or right of them.
  meeting common;
  inline_vector<int, sizeof...(X)> ids;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].node.id < 0) continue;
    ids.push_back(in[i].node.id);
    if (!has_own_dtype<Function>(i)) common.add(in[i].type(), in[i].weak());
  }
  if (!common.known) {
    std::size_t i = 0;
    const auto add_literal = [&]<class S>(const S&) {
      if constexpr (Scalar<S>)
        if (!has_own_dtype<Function>(i)) common.add(dtype_of<stored_scalar<S>>, true);
      ++i;
    };
    (add_literal(operands), ...);
  }
  std::size_t i = 0;
  const auto write_literal = [&]<class S>(const S& x) {
    if constexpr (Scalar<S>)
      in[i] = literal(*g, has_own_dtype<Function>(i) ? meeting{} : common, Function::code, x, ids);
    ++i;
  };
  (write_literal(operands), ...);
  return std::apply(function, in);
}

// ---- outside

template <class X>
struct captured {
  using type = X;
};
template <class T, extents_spec E>
struct captured<tensor<T, E>> {
  using type = shared_tensor<T, E>;
};
template <Scalar S>
struct captured<S> {
  using type = stored_scalar<S>;
};

// A temporary tensor is held as an lvalue is, by its storage: one type, so one plan.
template <class X>
constexpr typename captured<std::remove_cvref_t<X>>::type hold(X&& x) {
  using plain = std::remove_cvref_t<X>;
  if constexpr (Scalar<plain>)
    return static_cast<stored_scalar<plain>>(x);
  else if constexpr (requires { x.share(); })
    return x.share();
  else
    return std::forward<X>(x);
}

}  // namespace detail

/// `function` applied to operands and C++ scalars. If one of them is a handle, the nodes are
/// written into its graph at once and the result is a handle; otherwise the result is an expression
/// that owns what it is built from.
template <class Function, class... X>
  requires((Operand<X> || Scalar<std::remove_cvref_t<X>>) && ...)
constexpr auto apply(const Function& function, X&&... operands) {
  if constexpr ((Handle<X> || ...))
    return detail::write(function, operands...);
  else
    return expression<Function, typename detail::captured<std::remove_cvref_t<X>>::type...>(
        function, detail::hold(std::forward<X>(operands))...);
}

}  // namespace sinter::inline SINTER_ABI
