// SPDX-License-Identifier: MIT
// Movement: what only rearranges, repeats or cuts. Two of a kind become one, what moves nothing
// disappears, broadcasts go outward. All of it is exact.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <sinter/rules/movement_parts.hpp>
#include <sinter/rules/movement_sides.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace movement {

template <op Code>
void append_unary_rules_of(rule_table& out) {
  using enum phase;
  using enum rounding;
  const std::string name(ir::name(Code));
  const auto applied = [&](std::string_view operand) {
    return "(" + name + " " + std::string(operand) + ")";
  };
  // In one pass over what is put together, or where each part is put.
  const std::string whole = "(" + name + " (concat[?p] ?a ?b",
                    parts = "(concat[?p] " + applied("?a") + " " + applied("?b");
  out.push_back({"concat-of-unary", improve, exact, parts + ")", concat_of_unary<Code, 2>});
  out.push_back({"concat-of-unary", improve, exact, parts + " " + applied("?c") + ")",
                 concat_of_unary<Code, 3>});
  out.push_back({"unary-of-concat", improve, exact, whole + "))", unary_of_concat<Code, 2>});
  out.push_back({"unary-of-concat", improve, exact, whole + " ?c))", unary_of_concat<Code, 3>});
  // What constant folding does not evaluate has no fill value (rules/fold.hpp).
  if constexpr (Code == op::neg || Code == op::abs || Code == op::relu || Code == op::sqrt ||
                Code == op::floor || Code == op::ceil || Code == op::round || Code == op::sign)
    out.push_back(
        {"unary-of-pad", improve, exact, "(" + name + " (pad[?q] ?x))", unary_of_pad<Code>});
}

template <std::size_t... Codes>
void append_unary_rules(rule_table& out, std::index_sequence<Codes...>) {
  const auto append_if_unary = [&out]<std::size_t Code>() {
    constexpr op code = static_cast<op>(Code);
    if constexpr (ir::is_elementwise(code) && ir::info(code).arity == 1 &&
                  !ir::is_conversion(code) && code != op::stop_gradient)
      append_unary_rules_of<code>(out);
  };
  (append_if_unary.template operator()<Codes>(), ...);
}

}  // namespace movement

inline rule_table movement_rules() {
  using enum phase;
  using enum rounding;
  using namespace movement;
  rule_table out{
      {"permute-permute", normalise, exact, "(permute[?p] (permute[?q] ?x))", permute_permute},
      {"reshape-reshape", normalise, exact, "(reshape[?p] (reshape[?q] ?x))", reshape_reshape},
      {"broadcast-broadcast", normalise, exact, "(broadcast_to[?p] (broadcast_to[?q] ?x))",
       broadcast_broadcast},
      {"slice-slice", normalise, exact, "(slice[?p] (slice[?q] ?x))", slice_slice},
      {"flip-flip", normalise, exact, "(flip[?p] (flip[?q] ?x))", flip_flip},
      {"flip-permute", normalise, exact, "(flip[?p] (permute[?q] ?x))", flip_permute},
      {"pad-pad", normalise, exact, "(pad[?p] (pad[?q] ?x))", pad_pad},
      {"slice-pad", normalise, exact, "(slice[?p] (pad[?q] ?x))", slice_pad},

      {"identity-permute", normalise, exact, "(permute[?p] ?x)", "?x", is_identity_permute},
      {"identity-reshape", normalise, exact, "(reshape[?p] ?x)", "?x", keeps_shape},
      {"identity-broadcast", normalise, exact, "(broadcast_to[?p] ?x)", "?x", keeps_shape},
      {"identity-slice", normalise, exact, "(slice[?p] ?x)", "?x",
       keeps_shape},  // no room to leave an element out
      {"permute-units", normalise, exact, "(permute[?p] ?x)", permute_of_units},

      {"permute-broadcast", improve, exact, "(permute[?p] (broadcast_to[?q] ?x))",
       permute_broadcast},
      {"slice-broadcast", improve, exact, "(slice[?p] (broadcast_to[?q] ?x))", slice_broadcast},
      {"flip-broadcast", improve, exact, "(flip[?p] (broadcast_to[?q] ?x))", flip_broadcast},
      {"reshape-broadcast", improve, exact, "(reshape[?p] (broadcast_to[?q] ?x))",
       reshape_broadcast},
      {"broadcast-reshape", improve, exact, "(broadcast_to[?p] (reshape[?q] ?x))",
       broadcast_reshape},

      {"slice-concat", normalise, exact, "(slice[?p] (concat[?q] ?a ?b))", slice_concat<2>},
      {"slice-concat", normalise, exact, "(slice[?p] (concat[?q] ?a ?b ?c))", slice_concat<3>},
      {"slice-concat", normalise, exact, "(slice[?p] (concat[?q] ?a ?b ?c ?d))", slice_concat<4>},
      {"concat-slices", normalise, exact, "(concat[?p] (slice[?a] ?x) (slice[?b] ?x))",
       concat_slices<2>},
      {"concat-slices", normalise, exact,
       "(concat[?p] (slice[?a] ?x) (slice[?b] ?x) (slice[?c] ?x))", concat_slices<3>},
      {"concat-slices", normalise, exact,
       "(concat[?p] (slice[?a] ?x) (slice[?b] ?x) (slice[?c] ?x) (slice[?d] ?x))",
       concat_slices<4>},

      {"concat-concat", normalise, exact, "(concat[?p] (concat[?p] ?a ?b) ?c)", concat_concat<3>},
      {"concat-concat", normalise, exact, "(concat[?p] ?a (concat[?p] ?b ?c))", concat_concat<3>},
      {"concat-concat", normalise, exact, "(concat[?p] (concat[?p] ?a ?b) (concat[?p] ?c ?d))",
       concat_concat<4>},
      {"concat-concat", normalise, exact, "(concat[?p] (concat[?p] ?a ?b ?c) ?d)",
       concat_concat<4>},
      {"concat-concat", normalise, exact, "(concat[?p] ?a (concat[?p] ?b ?c ?d))",
       concat_concat<4>},
      {"concat-constant", normalise, exact, "(concat[?p] ?x ?c)", concat_constant<true>},
      {"concat-constant", normalise, exact, "(concat[?p] ?c ?x)", concat_constant<false>},
      {"permute-concat", improve, exact, "(permute[?p] (concat[?q] ?a ?b))", permute_concat<2>},
      {"permute-concat", improve, exact, "(permute[?p] (concat[?q] ?a ?b ?c))", permute_concat<3>},
      {"flip-concat", improve, exact, "(flip[?p] (concat[?q] ?a ?b))", flip_concat<2>},
      {"flip-concat", improve, exact, "(flip[?p] (concat[?q] ?a ?b ?c))", flip_concat<3>},

      {"identity-pad", normalise, exact, "(pad[?p] ?x)", "?x", pads_nothing},
      {"identity-concat", normalise, exact, "(concat[?p] ?x)", "?x"},
      {"flip-units", normalise, exact, "(flip[?p] ?x)", flip_units},
      {"permute-pad", improve, exact, "(permute[?p] (pad[?q] ?x))", permute_pad},
      {"flip-pad", improve, exact, "(flip[?p] (pad[?q] ?x))", flip_pad},
      {"slice-permute", improve, exact, "(slice[?p] (permute[?q] ?x))", slice_permute},
      {"slice-flip", improve, exact, "(slice[?p] (flip[?q] ?x))", slice_flip},
      {"slice-reshape", improve, exact, "(slice[?p] (reshape[?q] ?x))", slice_reshape},
  };
  append_unary_rules(out, std::make_index_sequence<static_cast<std::size_t>(ir::op_count)>{});
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
