// SPDX-License-Identifier: MIT
// Running sums.
#pragma once

#include <cstdint>
#include <optional>

#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace scan {

inline ir::value cumsum_as(const right_side& side, ir::value x, bool turned = false) {
  return ir::cumsum(x, static_cast<int>(side.attribute("?p")), side.attribute("?p", 1) != 0,
                    (side.attribute("?p", 2) != 0) != turned);
}

// (cumsum[?p] ?x) along an axis of extent 1: x, or nothing at all. (The sum of -0 alone is 0.)
inline std::optional<class_id> cumsum_unit(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  if (!is_one(x.extent(static_cast<int>(side.attribute("?p"))))) return std::nullopt;
  if (side.attribute("?p", 1) == 0) return side.finish(x);
  return side.finish(ir::broadcast_to(ir::constant_like(x, 0), x.shape()));
}

// (cumsum[?p] (flip[?q] ?x)): the flip of what is summed from the other end on. A flip on either
// side is the other direction.
inline std::optional<class_id> cumsum_flip(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const std::int64_t flipped = side.attribute("?q");
  const bool turned = ir::has_axis(flipped, static_cast<int>(side.attribute("?p")));
  return side.finish(ir::flip(cumsum_as(side, side["?x"], turned), flipped));
}

// (add (cumsum[?p] ?x) (cumsum[?p] ?y)): once, of both together.
template <op Code>
std::optional<class_id> cumsums_together(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], y = side["?y"];
  if (!(x.shape() == y.shape())) return std::nullopt;
  return side.finish(cumsum_as(side, ir::elementwise(Code, {x, y})));
}

}  // namespace scan

inline rule_table scan_rules() {
  using enum phase;
  using enum rounding;
  using namespace scan;
  return {
      {"cumsum-unit", normalise, reassociates, "(cumsum[?p] ?x)", cumsum_unit},
      {"cumsum-flip", improve, exact, "(cumsum[?p] (flip[?q] ?x))", cumsum_flip},
      {"cumsums-together", improve, reassociates, "(add (cumsum[?p] ?x) (cumsum[?p] ?y))",
       cumsums_together<op::add>},
      {"cumsums-together", improve, reassociates, "(sub (cumsum[?p] ?x) (cumsum[?p] ?y))",
       cumsums_together<op::sub>},
  };
}

}  // namespace sinter::inline SINTER_ABI::rules
