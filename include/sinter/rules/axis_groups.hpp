// SPDX-License-Identifier: MIT
// How the axes of a reshape correspond: [B*m, n] -> [B, m, n] keeps n and splits the first axis.
// Movement and reduction rules use it to carry an op from one side of a reshape to the other.
#pragma once

#include <optional>
#include <vector>

#include <sinter/rules/right_side.hpp>

namespace sinter::inline SINTER_ABI::rules {

/// Axes [from_first, from_end) of the operand and [to_first, to_end) of the result hold the same
/// elements in the same order: their products are equal in every shape of the class. Axes of extent
/// 1 form groups of their own: paired, or alone where a side has more of them than the other.
struct axis_group {
  int from_first = 0, from_end = 0, to_first = 0, to_end = 0;
  bool units = false;

  int from_count() const { return from_end - from_first; }
  int to_count() const { return to_end - to_first; }
};

/// The finest groups of a reshape, in order; nothing where the correspondence is not proved.
inline std::optional<std::vector<axis_group>> groups_of_reshape(ir::graph& g,
                                                                const symbolic_shape& from,
                                                                const symbolic_shape& to) {
  std::vector<axis_group> out;
  const int from_rank = static_cast<int>(from.size()), to_rank = static_cast<int>(to.size());
  // Only for the decision which side a group takes its next axis from; equality is decided by the
  // expressions.
  const auto at_hand = [&](dim d) {
    return d.is_constant() || g.symbol_values.empty() ? 0 : g.dims.evaluate(d, g.symbol_values);
  };
  const auto smaller = [&](dim a, dim b) {
    return (a.is_constant() ? a.constant() : at_hand(a)) <
           (b.is_constant() ? b.constant() : at_hand(b));
  };
  int i = 0, j = 0;
  while (i < from_rank || j < to_rank) {
    axis_group group{i, i, j, j, true};
    if (i < from_rank && is_one(from[i])) ++group.from_end;
    if (j < to_rank && is_one(to[j])) ++group.to_end;
    if (group.from_count() + group.to_count() == 0) {
      if (i == from_rank || j == to_rank) return std::nullopt;
      group.units = false;
      dim left = from[group.from_end++], right = to[group.to_end++];
      while (!(left == right)) {
        const bool more_left = group.from_end < from_rank, more_right = group.to_end < to_rank;
        if (!more_left && !more_right) return std::nullopt;
        if (more_left && (!more_right || smaller(left, right)))
          left = g.dims.mul(left, from[group.from_end++]);
        else
          right = g.dims.mul(right, to[group.to_end++]);
      }
    }
    i = group.from_end;
    j = group.to_end;
    out.push_back(group);
  }
  return out;
}

/// The axes of the operand that hold what `mask` names in the result, or nothing where `mask` cuts
/// through a group.
inline std::optional<std::int64_t> mask_before_reshape(const std::vector<axis_group>& groups,
                                                       std::int64_t mask) {
  std::int64_t out = 0;
  for (const axis_group& group : groups) {
    if (group.units) continue;  // reducing an axis of extent 1 does nothing
    int named = 0;
    for (int axis = group.to_first; axis < group.to_end; ++axis)
      named += ir::has_axis(mask, axis) ? 1 : 0;
    if (named != 0 && named != group.to_count()) return std::nullopt;
    for (int axis = group.from_first; named != 0 && axis < group.from_end; ++axis)
      out |= std::int64_t{1} << axis;
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
