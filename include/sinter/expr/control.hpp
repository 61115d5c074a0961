// SPDX-License-Identifier: MIT
// What a fused function says beside values: derivatives of its values, what is computed again for
// them, assignments to its arguments, several results; also for structs of parameters.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include <sinter/expr/expression.hpp>
#include <sinter/expr/structure.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

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
constexpr std::vector<handle> gradients(handle loss, span<const handle> by) {
  std::vector<handle> out;
  for (handle each : by) out.push_back(detail::gradient(loss, each));
  return out;
}

namespace detail {

// A direction beside the value it belongs to: a number takes its dtype, and it may be broadcast.
constexpr ir::value direction_of(handle subject, handle direction) {
  ir::graph& g = subject.graph();
  require_graph(g, direction);
  ir::value d = direction.node;
  if (direction.weak()) d = ir::weak_cast(d, subject.type());
  if (d.rank() > subject.rank() || g.failed()) return d;  // reported by the shape rule
  const ir::symbolic_shape shape = subject.node.shape();
  return ir::can_broadcast(g, d.shape(), shape) ? ir::broadcast_to(d, shape) : d;
}

constexpr handle vjp(handle y, ir::value cotangent, handle by) {
  ir::graph& g = y.graph();
  require_graph(g, by);
  return handle({&g, ir::append(g, ir::op::vjp, {y.node.id, by.node.id, cotangent.id})});
}

constexpr handle jvp(handle y, span<const handle> by, span<const handle> tangents) {
  ir::graph& g = y.graph();
  std::vector<int> in{y.node.id};
  for (std::size_t i = 0; i < by.size(); ++i) {
    require_graph(g, by[i]);
    in.push_back(by[i].node.id);
    in.push_back(direction_of(by[i], tangents[i]).id);
  }
  return handle({&g, ir::append(g, ir::op::jvp, in)});
}

}  // namespace detail

/// The vector-Jacobian products of reverse mode: the derivatives of sum(y * cotangent) by each of
/// the handles, where the cotangent counts as a constant. y is any floating value, the cotangent
/// has its dtype and a shape that broadcasts to y's; the results have the dtypes and shapes of the
/// handles, which may be intermediate values (the derivative is then what y's dependence on that
/// value contributes). One sweep for all; derivatives of the results, by the cotangent too, are
/// exact. A fault (dtype_error, shape_error) if something is not floating or does not fit.
template <std::same_as<handle>... By>
  requires(sizeof...(By) > 0)
constexpr std::array<handle, sizeof...(By)> vjp(handle y, handle cotangent, By... by) {
  const ir::value d = detail::direction_of(y, cotangent);
  return {detail::vjp(y, d, by)...};
}

/// The same for a list of values.
template <std::size_t N>
constexpr std::array<handle, N> vjp(handle y, handle cotangent, const std::array<handle, N>& by) {
  const ir::value d = detail::direction_of(y, cotangent);
  std::array<handle, N> out{};
  for (std::size_t i = 0; i < N; ++i) out[i] = detail::vjp(y, d, by[i]);
  return out;
}

/// The Jacobian-vector product of forward mode: how y changes if x moves along `tangent`, which has
/// x's dtype and a shape that broadcasts to x's. The result has the dtype and shape of y. As many
/// pairs (x, tangent) as wanted, whose contributions add up: `jvp(y, x, dx, w, dw)`. One pass,
/// whatever y's extents; the product of a Hessian and a vector is `jvp(gradients(loss, x)[0], x,
/// v)`. Faults as vjp.
template <std::same_as<handle>... Rest>
  requires(sizeof...(Rest) % 2 == 0)
constexpr handle jvp(handle y, handle x, handle tangent, Rest... rest) {
  const std::array<handle, 2 + sizeof...(Rest)> pairs{x, tangent, rest...};
  std::array<handle, 1 + sizeof...(Rest) / 2> by{}, tangents{};
  for (std::size_t i = 0; i < by.size(); ++i) {
    by[i] = pairs[2 * i];
    tangents[i] = pairs[2 * i + 1];
  }
  return detail::jvp(y, by, tangents);
}

/// The same for lists.
template <std::size_t N>
  requires(N > 0)
constexpr handle jvp(handle y, const std::array<handle, N>& by,
                     const std::array<handle, N>& tangents) {
  return detail::jvp(y, by, tangents);
}

/// f(x...), one value, of which gradients keep nothing in between: a sweep of reverse mode computes
/// again, from x..., what it needs (Chen et al. 2016, "Training deep nets with sublinear memory
/// cost"): less memory for more work, said by hand where `program_options::memory_budget` decides
/// by itself. Values and gradients are those of f(x...), to the bit if no rule may re-associate.
/// What f takes from outside of its arguments, and what does not depend on them, is kept.
/// Checkpoints may be nested.
template <class F, std::same_as<handle>... X>
  requires(sizeof...(X) > 0)
constexpr handle checkpoint(const F& f, X... x) {
  static_assert(std::same_as<decltype(f(x...)), handle>,
                "sinter: the function of a checkpoint returns one value");
  const handle y = f(x...);
  (detail::require_graph(y.graph(), x), ...);
  return handle(
      {y.node.owner, ir::append(y.graph(), ir::op::checkpoint, {y.node.id, x.node.id...})});
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
  return assign(
      target, detail::literal(target.graph(), m, ir::op::argument, value, span<const int>(&id, 1)));
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
             span<const int>(&r.target.node.id, 1));
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

}  // namespace sinter::inline SINTER_ABI
