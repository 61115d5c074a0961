// SPDX-License-Identifier: MIT
// Custom ops: a user's struct becomes an op of the graph, known to every stage by one value of
// functions and facts. docs/custom-ops.md says what the struct has.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sinter/exec/custom_kernel.hpp>
#include <sinter/expr/expression.hpp>
#include <sinter/function/custom_rules.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

using ir::custom_input;
using ir::custom_op;
using ir::custom_output;
using ir::custom_rule;

/// What a custom op's function on elements chooses with: `select(x > 0, x, 0)`, for one number as
/// for a register of them (whose own `select` is found by its type).
template <std::floating_point T>
constexpr T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}

namespace detail {

template <class Op, class Operands>
inline constexpr bool takes_elements = false;
template <class Op, std::size_t... I>
  requires requires { Op::element((static_cast<void>(I), 1.0)...); }
inline constexpr bool takes_elements<Op, std::index_sequence<I...>> = true;

template <class Op>
concept ElementOp =
    takes_elements<Op, std::make_index_sequence<static_cast<std::size_t>(Op::arity)>>;

template <class Op, class T>
concept HasKernel =
    requires(std::span<const custom_input> in, const custom_output& out,
             std::span<const double> attributes) { Op::template kernel<T>(in, out, attributes); };
template <class Op>
concept HasInterpret =
    requires(std::span<const custom_input> in, const custom_output& out,
             std::span<const double> attributes) { Op::interpret(in, out, attributes); };

template <class Op>
constexpr std::size_t attribute_count() {
  if constexpr (requires { Op::attributes; })
    return Op::attributes.size();
  else
    return 0;
}

template <class Op>
constexpr ir::accepts accepted_by() {
  if constexpr (requires { Op::accepts; })
    return Op::accepts;
  else
    return ir::accepts::floating;
}

// "softsign: odd"
template <class Op, std::size_t Rule>
inline constexpr auto full_rule_name = [] {
  constexpr std::string_view op = Op::name, rule = Op::rules[Rule].name;
  std::array<char, op.size() + 2 + rule.size()> out{};
  std::size_t at = 0;
  for (char c : op) out[at++] = c;
  out[at++] = ':';
  out[at++] = ' ';
  for (char c : rule) out[at++] = c;
  return out;
}();

template <class Op>
inline constexpr auto full_rules = [] {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<custom_rule, sizeof...(I)>{
        custom_rule{std::string_view(full_rule_name<Op, I>.data(), full_rule_name<Op, I>.size()),
                    Op::rules[I].left, Op::rules[I].right, Op::rules[I].exact}...};
  }(std::make_index_sequence<std::size(Op::rules)>{});
}();

// The functions of a struct, as the library calls them.
template <class Op>
struct custom_functions {
  static constexpr auto arity = static_cast<std::size_t>(Op::arity);

  static constexpr void gradient(ir::graph& g, int node, int adjoint, span<int> out) {
    const auto found = Op::gradient(custom_gradient(g, node, adjoint));
    if constexpr (std::same_as<std::remove_cvref_t<decltype(found)>, handle>) {
      static_assert(arity == 1, "sinter: the gradient of a custom op is a handle per operand");
      out[0] = found.node.id;
    } else {
      static_assert(std::same_as<std::remove_cvref_t<decltype(found)>, std::array<handle, arity>>,
                    "sinter: the gradient of a custom op is a handle per operand");
      for (std::size_t i = 0; i < arity; ++i) out[i] = found[i].node.id;
    }
  }

  static constexpr int tangent(ir::graph& g, int node, span<const int> tangents) {
    return Op::tangent(custom_tangent(g, node, tangents)).node.id;
  }

  static double element(const double* operands) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return static_cast<double>(Op::element(operands[I]...));
    }(std::make_index_sequence<arity>{});
  }

  static ir::map_function map(dtype type) {
    return type == dtype::f64 ? &exec::custom_map_kernel<Op, double>
                              : &exec::custom_map_kernel<Op, float>;
  }

  template <class... T>
  static ir::custom_function kernel_among(dtype type) {
    ir::custom_function found = nullptr;
    const auto look = [&]<class Each>(std::type_identity<Each>) {
      if constexpr (ir::accepts_dtype(accepted_by<Op>(), dtype_of<Each>))
        if (type == dtype_of<Each>) found = &Op::template kernel<Each>;
    };
    (look(std::type_identity<T>{}), ...);
    return found;
  }
  // Not for 16-bit floats, in which nothing is computed.
  static ir::custom_function kernel(dtype type) {
    return kernel_among<float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                        std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, bool>(type);
  }

  static constexpr ir::inferred infer(ir::graph& g, span<const int> in,
                                      span<const std::int64_t> attributes) {
    const ir::node first = g[in[0]];
    ir::inferred out{first.type, first.shape, {}};
    if (!ir::accepts_dtype(accepted_by<Op>(), first.type))
      out.problem = {ir::fault_kind::wrong_dtype, ir::op::custom,
                     static_cast<std::int64_t>(first.type), 0};
    if constexpr (requires(std::span<const dtype> types) { Op::type(types); }) {
      std::array<dtype, arity> types{};
      for (std::size_t i = 0; i < arity; ++i) types[i] = g[in[i]].type;
      out.type = Op::type(std::span<const dtype>(types));
      // 16-bit floats are what operands of them give, by way of f32.
      if (is_narrow_float(out.type) && !is_narrow_float(first.type))
        out.problem = {ir::fault_kind::wrong_dtype, ir::op::custom,
                       static_cast<std::int64_t>(out.type), 0};
    }
    custom_shapes shapes(g, in, attributes, out.problem);
    if constexpr (requires { Op::shape(shapes); }) out.shape = Op::shape(shapes);
    if constexpr (requires { Op::core_axes; }) {
      // The leading axes of all arrays are the same.
      if (!shapes.check_least_rank(0, Op::core_axes)) return out;
      const int leading = shapes.rank(0) - Op::core_axes;
      for (int i = 0; i < Op::arity; ++i) {
        if (!shapes.check_least_rank(i, leading)) return out;
        for (int axis = 0; axis < leading; ++axis)
          shapes.check_agree(shapes.extent(0, axis), shapes.extent(i, axis));
      }
    }
    return out;
  }
};

template <class Op>
constexpr custom_op make_custom_op() {
  static_assert(
      requires {
        { Op::name } -> std::convertible_to<std::string_view>;
        { Op::arity } -> std::convertible_to<int>;
      }, "sinter: a custom op has a static constexpr name and arity");
  static_assert(Op::arity >= 1 && Op::arity <= ir::max_custom_operands,
                "sinter: a custom op has one to eight operands");
  static_assert(detail::attribute_count<Op>() < 2 * max_rank,
                "sinter: a custom op has at most 15 attributes");
  static_assert(
      [] {
        for (const ir::op_info& row : ir::op_table)
          if (row.name == std::string_view(Op::name)) return false;
        return true;
      }(),
      "sinter: a custom op needs a name that no op of the library has");
  using functions = custom_functions<Op>;
  custom_op out;
  out.name = Op::name;
  out.arity = Op::arity;
  if constexpr (requires { Op::work; }) out.work = Op::work;
  if constexpr (attribute_count<Op>() != 0) out.attributes = Op::attributes;
  if constexpr (requires { Op::rules; }) out.rules = full_rules<Op>;
  if constexpr (requires { Op::core_axes; }) out.core_axes = Op::core_axes;
  if constexpr (requires(const custom_gradient& g) { Op::gradient(g); })
    out.has_gradient = true, out.gradient = &functions::gradient;
  if constexpr (requires(const custom_tangent& t) { Op::tangent(t); })
    out.has_tangent = true, out.tangent = &functions::tangent;
  if constexpr (ElementOp<Op>) {
    static_assert(attribute_count<Op>() == 0,
                  "sinter: numbers of an element-wise custom op are operands, not attributes");
    out.elementwise = true;
    out.element = &functions::element;
    out.map = &functions::map;
  } else {
    static_assert(HasKernel<Op, double> || HasInterpret<Op>,
                  "sinter: a custom op has element(x...), kernel<T>(in, out, attributes) or "
                  "interpret(in, out, attributes)");
    out.infer = &functions::infer;
    if constexpr (HasKernel<Op, double>) out.kernel = &functions::kernel;
    if constexpr (HasInterpret<Op>) out.reference = &Op::interpret;
  }
  return out;
}

}  // namespace detail

/// The op that the struct `Op` says. Its address is its identity, the same in all of a program.
template <class Op>
inline constexpr custom_op custom_op_of = detail::make_custom_op<Op>();

/// A list of them, for ir::parse_graph.
template <class... Op>
inline constexpr std::array<const custom_op*, sizeof...(Op)> custom_ops{&custom_op_of<Op>...};

namespace detail {

// Broadcast like the operands of any element-wise op.
constexpr handle write_custom_map(const custom_op& custom, span<const handle> operands) {
  ir::graph& g = operands[0].graph();
  inline_vector<int, ir::max_custom_operands> ids;
  meeting common;
  for (handle x : operands) common.add(x.type(), x.weak());
  ir::symbolic_shape shape;
  for (handle x : operands) {
    const ir::value v = x.weak() ? ir::weak_cast(x.node, common.type) : x.node;
    shape = ir::broadcast_shape(g, shape, v.shape());
    ids.push_back(v.id);
  }
  for (int& id : ids) {
    const ir::value v{&g, id};
    const ir::symbolic_shape own = v.shape();
    if (v.rank() == 0 || g.failed()) continue;
    if (!ir::can_broadcast(g, own, shape)) {
      ir::fault problem;
      const std::size_t extra = shape.size() - own.size();
      for (std::size_t i = own.size(); i-- > 0 && problem.kind == ir::fault_kind::none;)
        if (!g.meets(own[i], shape[extra + i]))
          problem = ir::detail::disagree(g, ir::op::custom_map, own[i], shape[extra + i]);
      problem.custom = custom.name;
      g.fail(problem, ids);
      return operands[0];
    }
    id = ir::broadcast_to(v, shape).id;
  }
  const std::int64_t attributes[] = {g.custom_number(&custom)};
  return handle({&g, ir::append(g, ir::op::custom_map, ids, attributes)});
}

template <class Op>
struct custom_map_function {
  static constexpr ir::op code = ir::op::custom_map;
  constexpr handle operator()(std::same_as<handle> auto... x) const {
    const std::array<handle, sizeof...(x)> operands{x...};
    return write_custom_map(custom_op_of<Op>, operands);
  }
};

template <class Op>
struct custom_function {
  static constexpr ir::op code = ir::op::custom;
  // Operands need not have one dtype.
  static constexpr unsigned own_dtype = ~1u;
  std::array<double, attribute_count<Op>()> values{};

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    for (double each : values) sink(ir::bits_of(each));
  }
  constexpr handle operator()(handle first, std::same_as<handle> auto... others) const {
    ir::graph& g = first.graph();
    std::array<std::int64_t, 1 + attribute_count<Op>()> words{};
    words[0] = g.custom_number(&custom_op_of<Op>);
    for (std::size_t i = 0; i < values.size(); ++i) words[i + 1] = ir::bits_of(values[i]);
    const std::array<int, 1 + sizeof...(others)> in{first.node.id, others.node.id...};
    return handle({&g, ir::append(g, ir::op::custom, in, words)});
  }
};

}  // namespace detail

/// Applies the custom op that the struct `Op` says to as many operands as it has, handles, tensors,
/// views, expressions or C++ numbers; behind them come its attributes, numbers. In fused functions,
/// expressions and graph builders, like any function of the library. See docs/custom-ops.md.
template <class Op, class... X>
constexpr auto custom(X&&... x) {
  constexpr auto arity = static_cast<std::size_t>(Op::arity);
  static_assert(sizeof...(X) == arity + detail::attribute_count<Op>(),
                "sinter: a custom op is called with its operands, then its attributes");
  const auto all = std::forward_as_tuple(std::forward<X>(x)...);
  const auto with_operands = [&](const auto& function) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return sinter::apply(function, std::get<I>(all)...);
    }(std::make_index_sequence<arity>{});
  };
  if constexpr (custom_op_of<Op>.elementwise) {
    return with_operands(detail::custom_map_function<Op>{});
  } else {
    detail::custom_function<Op> function;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((function.values[I] = static_cast<double>(std::get<arity + I>(all))), ...);
    }(std::make_index_sequence<detail::attribute_count<Op>()>{});
    return with_operands(function);
  }
}

}  // namespace sinter::inline SINTER_ABI
