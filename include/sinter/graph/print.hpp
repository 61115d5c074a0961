// SPDX-License-Identifier: MIT
// Graphs as text, one line per node: `%5 = reduce_sum(%3) {axes: [1]} : f32[s0, 1]`. For reports,
// messages, tests and files: parse.hpp reads it back.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <sinter/graph/infer.hpp>
#include <sinter/graph/scalar_semantics.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// The shortest text that reads back as the same number of that dtype: 0.1 for an f32 constant, not
/// 0.10000000149.
inline std::string number_text(dtype type, double x) {
  if (type == dtype::boolean) return x != 0 ? "true" : "false";
  std::array<char, 64> text{};
  const std::to_chars_result end =
      type == dtype::f32
          ? std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(x))
          : std::to_chars(text.data(), text.data() + text.size(), x);
  return std::string(text.data(), end.ptr);
}

/// "f32[s0, 10]"
inline std::string type_text(const graph& g, int id) {
  return std::string(sinter::name(g[id].type)) + g.dims.to_string(g[id].shape);
}

namespace detail {

inline std::string mask_text(std::int64_t mask) {
  std::string out;
  for (int axis = 0; axis < 63; ++axis)
    if (has_axis(mask, axis)) out += (out.empty() ? "" : ", ") + std::to_string(axis);
  return "[" + out + "]";
}

inline std::string list_text(span<const std::int64_t> numbers) {
  std::string out;
  for (std::int64_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "[" + out + "]";
}

// The dims 0, 2, 4... (first = 0) or 1, 3, 5... of pad and slice.
inline std::string every_other_dim(const graph& g, span<const dim> dims, std::size_t first) {
  std::string out;
  for (std::size_t i = first; i < dims.size(); i += 2)
    out += (out.empty() ? "" : ", ") + g.dims.to_string(dims[i]);
  return "[" + out + "]";
}

inline std::string constant_text(const graph& g, int id) {
  const dtype type = g[id].type;
  if (type == dtype::i64) return std::to_string(g.attributes(id)[1]);
  if (type == dtype::u64) return std::to_string(static_cast<std::uint64_t>(g.attributes(id)[1]));
  // What the dtype holds of it, as number_text says it of an f32.
  const double x = constant_value(g, id);
  return number_text(type, is_integral(type) ? cast_scalar(dtype::f64, type, x) : x);
}

inline std::string flag_text(std::string_view name, bool set) {
  return set ? std::string(name) : "";
}

}  // namespace detail

/// The attributes of a node by name, without braces: "axes: [1], eps: 1e-05"; empty if it has none.
/// What the type of the node says already (dtype, shape) is left out.
inline std::string attribute_text(const graph& g, int id) {
  const span<const std::int64_t> a = g.attributes(id);
  const span<const dim> dims = g.node_dims(id);
  switch (g[id].code) {
    case op::argument: {
      const auto number = static_cast<std::size_t>(a[1]);
      const bool named = number < g.argument_names.size() && !g.argument_names[number].empty();
      return "number: " + std::to_string(a[1]) +
             (named ? ", name: " + g.argument_names[number] : "") + (a[2] != 0 ? ", weak" : "");
    }
    case op::constant: return "value: " + detail::constant_text(g, id);
    case op::extent: return "of: " + g.dims.to_string(dims[0]);
    case op::iota: return "axis: " + std::to_string(a[1]);
    case op::random_uniform: return "stream: " + std::to_string(a[1]);
    case op::reduce_sum:
    case op::reduce_max:
    case op::reduce_min:
    case op::reduce_prod:
    case op::argmax:
    case op::softmax:
    case op::log_softmax:
    case op::first_max:
    case op::flip: return "axes: " + detail::mask_text(a[0]);
    case op::layer_norm:
    case op::rms_norm:
      return "axes: " + detail::mask_text(a[0]) +
             ", eps: " + number_text(dtype::f64, double_of(a[1]));
    case op::rope:
      return "theta: " + number_text(dtype::f64, double_of(a[0])) +
             (a[1] != 0 ? ", neighbours" : ", halves") + (a[2] != 0 ? ", inverse" : "") +
             ", axis: " + std::to_string(a[3]);
    case op::permute: return "axes: " + detail::list_text(a);
    case op::pad:
      return "before: " + detail::every_other_dim(g, dims, 0) +
             ", after: " + detail::every_other_dim(g, dims, 1) +
             ", fill: " + number_text(g[id].type, double_of(a[0]));
    case op::slice:
      return "start: " + detail::every_other_dim(g, dims, 0) +
             ", stop: " + detail::every_other_dim(g, dims, 1) + ", step: " + detail::list_text(a);
    case op::windows:
    case op::sum_windows:
      return "axis: " + std::to_string(a[0]) +
             (g[id].code == op::windows ? ", size: " : ", extent: ") + g.dims.to_string(dims[0]) +
             ", stride: " + std::to_string(a[1]) + ", dilation: " + std::to_string(a[2]);
    case op::custom: {
      std::string out;
      const span<const std::string_view> names = g.custom(a).attributes;
      for (std::size_t i = 0; i < names.size(); ++i)
        out += (i == 0 ? "" : ", ") + std::string(names[i]) + ": " +
               number_text(dtype::f64, double_of(a[i + 1]));
      return out;
    }
    case op::recompute: return "number: " + std::to_string(a[0]);
    case op::concat:
    case op::gather:
    case op::scatter_add: return "axis: " + std::to_string(a[0]);
    case op::cumsum:
      return "axis: " + std::to_string(a[0]) + detail::flag_text(", exclusive", a[1] != 0) +
             detail::flag_text(", reverse", a[2] != 0);
    case op::matmul:
      return detail::flag_text("transpose_a", a[0] != 0) + (a[0] != 0 && a[1] != 0 ? ", " : "") +
             detail::flag_text("transpose_b", a[1] != 0);
    default: return "";
  }
}

/// One line without its end: "%5 = mul(%3, %4) : f32[s0, 10]".
inline std::string node_text(const graph& g, int id) {
  std::string out = "%" + std::to_string(id) + " = " + std::string(op_name(g, id));
  std::string operands;
  for (int i : g.inputs(id)) operands += (operands.empty() ? "%" : ", %") + std::to_string(i);
  if (!operands.empty()) out += "(" + operands + ")";
  if (const std::string attributes = attribute_text(g, id); !attributes.empty())
    out += " {" + attributes + "}";
  return out + " : " + type_text(g, id);
}

/// What is known of the symbols, all nodes in order, then the extents that the graph is bound to,
/// its guards and its outputs. parse_graph reads it, parse_bound_graph that of a bound graph; a
/// constant comes back as what its dtype holds of it.
inline std::string to_text(const graph& g) {
  std::string out;
  for (std::size_t i = 0; i < g.dims.described().size(); ++i)
    if (const symbol_facts& facts = g.dims.described()[i]; !(facts == symbol_facts{}))
      out += "symbol " + std::to_string(i) + ": " +
             g.dims.symbol_name(static_cast<std::int64_t>(i)) + " in " + to_string(facts.range) +
             "\n";
  for (int id = 0; id < g.size(); ++id) out += node_text(g, id) + "\n";
  // Only symbols that the graph mentions: binding keeps a place for all of them.
  for (std::size_t i = 0; i < g.dims.size() && !g.symbol_values.empty(); ++i)
    if (const dim d = dim::expression(i); g.dims.kind(d) == dim_kind::symbol)
      if (const auto number = static_cast<std::size_t>(g.dims.operands(d)[0]);
          number < g.symbol_values.size())
        out += "bound: " + g.dims.to_string(d) + " = " + std::to_string(g.symbol_values[number]) +
               "\n";
  for (const guard& each : g.guards)
    out += "guard: " + g.dims.to_string(each.a) +
           (each.holds == guard::fact::equal    ? " == "
            : each.holds == guard::fact::differ ? " != "
                                                : " <= ") +
           g.dims.to_string(each.b) + "\n";
  for (const output& o : g.outputs)
    out += "output: %" + std::to_string(o.node) +
           (o.assigned_argument >= 0 ? " -> argument " + std::to_string(o.assigned_argument) : "") +
           "\n";
  return out;
}

}  // namespace sinter::inline SINTER_ABI::ir
