// SPDX-License-Identifier: MIT
// What a fused function says beside values: gradients of a loss, assignments to its arguments,
// several results; each also for structs of parameters.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <sinter/expr/expression.hpp>
#include <sinter/expr/structure.hpp>

namespace sinter {

/// An argument and the value that is stored in it when the function has run. See `assign`.
struct assignment {
  handle target;
  handle value;
};

namespace detail {

constexpr handle gradient(handle loss, handle by) {
  ir::graph& g = loss.graph();
  require_graph(g, by);
  const std::array ids{loss.node.id, by.node.id};
  const auto fault_of = [&]() -> ir::fault {
    for (handle x : {loss, by})
      if (!is_floating(x.type()))
        return {ir::fault_kind::wrong_dtype, ir::op::gradient, static_cast<std::int64_t>(x.type()),
                0};
    for (int axis = 0; axis < loss.rank(); ++axis)
      if (loss.node.extent(axis) != ir::dim(1))
        return {ir::fault_kind::wrong_rank, ir::op::gradient, loss.rank(), 0};
    return {};
  };
  if (const ir::fault f = fault_of(); f.kind != ir::fault_kind::none) {
    g.fail(f, ids);
    return by;
  }
  return handle({&g, ir::append(g, ir::op::gradient, ids)});
}

}  // namespace detail

/// The derivatives of `loss`, a floating scalar, by each of the handles: values of the same dtypes
/// and shapes, to be used like any other, in further gradients too. Only inside fused functions:
/// `auto [dw, db] = gradients(loss, w, b);`. Where the loss does not depend on a handle, its
/// derivative is zeros. A fault (dtype_error, shape_error) if the loss is no floating scalar or a
/// handle is not floating.
template <std::same_as<handle>... By>
  requires(sizeof...(By) > 0)
constexpr std::array<handle, sizeof...(By)> gradients(handle loss, By... by) {
  return {detail::gradient(loss, by)...};
}

/// The same for a list of parameters.
template <std::size_t N>
constexpr std::array<handle, N> gradients(handle loss, const std::array<handle, N>& by) {
  std::array<handle, N> out{};
  for (std::size_t i = 0; i < N; ++i) out[i] = detail::gradient(loss, by[i]);
  return out;
}

/// The same for a struct of parameters: a struct of derivatives. Statistics are differentiated by
/// like other parameters.
template <HandleStructure S>
constexpr S gradients(handle loss, const S& by) {
  return structure_of<S>(gradients(loss, parameters_of(by)));
}

/// The same for parameters collected in a loop.
constexpr std::vector<handle> gradients(handle loss, std::span<const handle> by) {
  std::vector<handle> out;
  for (handle each : by) out.push_back(detail::gradient(loss, each));
  return out;
}

namespace detail {

constexpr handle assigned_value(handle target, handle value) {
  ir::graph& g = target.graph();
  require_graph(g, value);
  const std::array ids{target.node.id, value.node.id};
  if (value.weak()) value = handle(ir::weak_cast(value.node, target.type()));
  const ir::node& to = target.node.get();
  const ir::node& from = value.node.get();
  if (to.code != ir::op::argument || to.weak)
    g.fail({ir::fault_kind::not_an_argument, ir::op::argument}, ids);
  else if (to.type != from.type)
    g.fail({ir::fault_kind::mixed_dtypes, ir::op::argument, static_cast<std::int64_t>(from.type),
            static_cast<std::int64_t>(to.type)},
           ids);
  else if (from.shape.size() > to.shape.size())
    g.fail({ir::fault_kind::wrong_rank, ir::op::argument, value.rank(), target.rank()}, ids);
  // Also where both shapes may be equal, but are not known to be: binding then checks that they
  // fit.
  return g.failed() ? value : handle(ir::broadcast_to(value.node, target.node.shape()));
}

}  // namespace detail

/// Says that `value` is stored in the argument `target` after the call; every read in the function
/// sees the old elements. The value has target's dtype and a shape that broadcasts to it. Return it
/// through `outputs`. A fault (graph_error, dtype_error, shape_error) unless the target is a tensor
/// argument, and if an argument is assigned twice.
constexpr assignment assign(handle target, handle value) {
  return {target, detail::assigned_value(target, value)};
}
template <Scalar Value>
constexpr assignment assign(handle target, Value value) {
  detail::meeting m;
  m.add(target.type(), false);
  const int id = target.node.id;
  return assign(target, detail::literal(target.graph(), m, ir::op::argument, value,
                                        std::span<const int>(&id, 1)));
}

/// Any number of assignments, to be returned through `outputs`.
using assignments = std::vector<assignment>;

/// Assigns every parameter of a struct.
template <HandleStructure S>
constexpr assignments assign(const S& target, const S& value) {
  const auto to = parameters_of(target), from = parameters_of(value);
  assignments out;
  for (std::size_t i = 0; i < to.size(); ++i) out.push_back(assign(to[i], from[i]));
  return out;
}

namespace detail {

struct result {
  handle value;
  handle target;
  bool is_assignment = false;
};

}  // namespace detail

/// What a fused function returns; see `outputs`. `Value...`: a handle, or a struct of handles, for
/// each result that is no assignment.
template <class... Value>
struct output_list {
  static constexpr std::size_t value_count = (std::size_t{0} + ... + parameter_count<Value>);
  std::vector<detail::result> results;
};

namespace detail {

constexpr output_list<handle> results_of(handle value) { return {{result{value, {}, false}}}; }
constexpr output_list<> results_of(const assignment& a) {
  return {{result{a.value, a.target, true}}};
}
constexpr output_list<> results_of(const assignments& list) {
  output_list<> out;
  for (const assignment& a : list) out.results.push_back({a.value, a.target, true});
  return out;
}
template <class... Value>
constexpr output_list<Value...> results_of(const output_list<Value...>& list) {
  return list;
}

template <HandleStructure S>
constexpr output_list<S> results_of(const S& s) {
  output_list<S> out;
  for (handle x : parameters_of(s)) out.results.push_back({x, {}, false});
  return out;
}

// Lists are their elements one by one.
template <class... X>
constexpr auto results_of_all(const X&... x);
template <class... X>
constexpr auto results_of(const std::tuple<X...>& list) {
  return std::apply([](const auto&... each) { return results_of_all(each...); }, list);
}
template <class X, std::size_t N>
  requires(std::is_same_v<X, handle> || std::is_same_v<X, assignment>)
constexpr auto results_of(const std::array<X, N>& list) {
  return std::apply([](const auto&... each) { return results_of_all(each...); }, list);
}

template <class... V, class... W>
constexpr output_list<V..., W...> joined(output_list<V...> a, const output_list<W...>& b) {
  for (const result& each : b.results) a.results.push_back(each);
  return {std::move(a.results)};
}

constexpr output_list<> joined_all() { return {}; }
template <class First, class... Rest>
constexpr auto joined_all(const First& first, const Rest&... rest) {
  return joined(first, joined_all(rest...));
}

template <class... X>
constexpr auto results_of_all(const X&... x) {
  return joined_all(results_of(x)...);
}

}  // namespace detail

/// The results of a fused function in order: handles, structs of handles, assignments, and lists of
/// either. The call returns the values that are not assigned, in this order.
template <class... X>
constexpr auto outputs(const X&... x) {
  return detail::results_of_all(x...);
}

namespace detail {

// The results of a function that returns `Result`, as an output_list.
template <class Result>
constexpr auto output_list_of() {
  if constexpr (is_expression<Result>)
    return output_list<handle>{};
  else
    return decltype(results_of(std::declval<const Result&>())){};
}

}  // namespace detail

namespace detail {

constexpr void add_output(ir::graph& g, const result& r) {
  ir::output out{r.value.node.id, -1};
  if (r.is_assignment && !g.failed())
    out.assigned_argument = static_cast<int>(g.attributes(r.target.node.id)[1]);
  for (const ir::output& earlier : g.outputs)
    if (out.assigned_argument >= 0 && earlier.assigned_argument == out.assigned_argument)
      g.fail({ir::fault_kind::assigned_twice, ir::op::argument, out.assigned_argument},
             std::span<const int>(&r.target.node.id, 1));
  g.outputs.push_back(out);
}

}  // namespace detail

/// Makes what a traced function returned the outputs of its graph: a handle, an assignment,
/// `outputs(...)`, or a std::array, std::tuple or struct of handles. Faults: graph_error if an
/// argument is assigned twice.
template <class Result>
constexpr void set_outputs(ir::graph& g, const Result& returned) {
  if constexpr (detail::is_expression<Result>) {
    // A function of no handle, such as one that returns iota<float>(10).
    set_outputs(g, detail::join(g, returned));
  } else {
    static_assert(
        requires { detail::results_of(returned); },
        "sinter: a fused function returns a handle, assign(...), outputs(...), or an array, "
        "tuple or struct of handles");
    const auto list = detail::results_of(returned);
    for (const detail::result& r : list.results) detail::add_output(g, r);
  }
}

}  // namespace sinter
