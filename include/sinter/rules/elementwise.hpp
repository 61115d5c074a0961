// SPDX-License-Identifier: MIT
// Movement and element-wise ops change places: see elementwise_sides.hpp for the directions. One
// rule by name, one pattern per op of the table and order of operands.
#pragma once

#include <string>
#include <utility>

#include <sinter/rules/elementwise_sides.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace elementwise {

// "(op a b)", with the payload of a conversion or custom op bound as ?own
inline std::string applied(op code, std::initializer_list<std::string_view> operands) {
  std::string out = "(" + std::string(ir::name(code)) + (has_payload(code) ? "[?own]" : "");
  for (std::string_view operand : operands) out += " " + std::string(operand);
  return out + ")";
}

template <op Code, int Arity>
void append_rules_of(rule_table& out) {
  using enum phase;
  using enum rounding;
  const std::string plain = Arity == 1   ? applied(Code, {"?x"})
                            : Arity == 2 ? applied(Code, {"?x", "?y"})
                                         : applied(Code, {"?x", "?y", "?z"});
  out.push_back({"sink-permute", improve, exact, "(permute[?p] " + plain + ")",
                 sink<op::permute, Code, Arity>});
  out.push_back(
      {"sink-slice", improve, exact, "(slice[?p] " + plain + ")", sink<op::slice, Code, Arity>});
  out.push_back(
      {"sink-flip", improve, exact, "(flip[?p] " + plain + ")", sink<op::flip, Code, Arity>});

  constexpr std::string_view repeated_x = "(broadcast_to[?p] ?x)",
                             repeated_y = "(broadcast_to[?q] ?y)";
  constexpr std::string_view reshaped_x = "(reshape[?p] ?x)", reshaped_y = "(reshape[?q] ?y)";
  if constexpr (Arity == 1) {
    out.push_back({"hoist-broadcast", improve, exact, applied(Code, {repeated_x}),
                   hoist_broadcast<Code, Arity>});
    out.push_back({"hoist-reshape", improve, exact, applied(Code, {reshaped_x}),
                   hoist_reshape<Code, Arity, 0, false>});
  } else if constexpr (Arity == 2) {
    constexpr std::string_view spread = "(broadcast_to[?p] (reshape[?q] ?s))";
    out.push_back({"hoist-broadcast", improve, exact, applied(Code, {repeated_x, repeated_y}),
                   hoist_broadcast<Code, Arity>});
    out.push_back({"hoist-broadcast", improve, exact, applied(Code, {repeated_x, "?y"}),
                   hoist_broadcast<Code, Arity>});
    out.push_back({"hoist-reshape", improve, exact, applied(Code, {reshaped_x, reshaped_y}),
                   hoist_reshape<Code, Arity, 0, true>});
    out.push_back({"hoist-reshape", improve, exact, applied(Code, {reshaped_x, "?y"}),
                   hoist_reshape<Code, Arity, 0, false>});
    out.push_back({"scalar-operand", normalise, exact, applied(Code, {"?x", spread}),
                   scalar_operand<Code, 1>});
    if constexpr (!ir::info(Code).commutative) {
      out.push_back({"hoist-broadcast", improve, exact, applied(Code, {"?x", repeated_y}),
                     hoist_broadcast<Code, Arity>});
      out.push_back({"hoist-reshape", improve, exact, applied(Code, {"?x", reshaped_y}),
                     hoist_reshape<Code, Arity, 1, false>});
      out.push_back({"scalar-operand", normalise, exact, applied(Code, {spread, "?x"}),
                     scalar_operand<Code, 0>});
    }
  }
}

template <std::size_t... Codes>
void append_all(rule_table& out, std::index_sequence<Codes...>) {
  const auto append_if_elementwise = [&out]<std::size_t Code>() {
    constexpr op code = static_cast<op>(Code);
    if constexpr (code == op::custom_map) {
      append_rules_of<code, 1>(out);
      append_rules_of<code, 2>(out);
      append_rules_of<code, 3>(out);
    } else if constexpr (ir::is_elementwise(code) && code != op::stop_gradient) {
      append_rules_of<code, ir::info(code).arity>(out);
    }
  };
  (append_if_elementwise.template operator()<Codes>(), ...);
}

}  // namespace elementwise

inline rule_table elementwise_rules() {
  rule_table out;
  out.reserve(400);
  elementwise::append_all(out, std::make_index_sequence<static_cast<std::size_t>(ir::op_count)>{});
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
