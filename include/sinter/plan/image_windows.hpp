// SPDX-License-Identifier: MIT
// Which operands of a product are one matrix for all batches, and which the windows of images with
// 3x3 neighbours at every place: what a convolution by tiles (winograd.hpp) can be made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sinter/graph/dim.hpp>
#include <sinter/graph/infer.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::planning {

/// Going along an axis of a view goes along `axis` of what is stored, so many elements at a time;
/// along none (-1) if the element stays the same.
struct axis_direction {
  int axis = -1;
  std::int64_t step = 0;
  friend bool operator==(const axis_direction&, const axis_direction&) = default;
};

namespace detail {

using directions = std::vector<axis_direction>;

// The same for a shape with other axes of extent 1.
inline std::optional<directions> with_other_ones(const directions& at, const ir::symbolic_shape& of,
                                                 const ir::symbolic_shape& wanted) {
  directions out(wanted.size());
  std::size_t from = 0;
  for (std::size_t axis = 0; axis < wanted.size(); ++axis) {
    if (wanted[axis] == ir::dim(1)) continue;
    while (from < of.size() && of[from] == ir::dim(1)) ++from;
    if (from == of.size() || !(of[from] == wanted[axis])) return std::nullopt;
    out[axis] = at[from++];
  }
  while (from < of.size() && of[from] == ir::dim(1)) ++from;
  if (from != of.size()) return std::nullopt;
  return out;
}

// From an operand, with its directions `at`, to the result. The attributes may come from text.
inline std::optional<directions> directions_behind(const view_step& s, const directions& at) {
  directions out(s.result.size());
  const auto inside = [](std::int64_t axis, std::size_t rank) {
    return axis >= 0 && static_cast<std::size_t>(axis) < rank;
  };
  switch (s.code) {
    case ir::op::permute:
      if (s.attributes.size() != out.size()) return std::nullopt;
      for (std::size_t axis = 0; axis < out.size(); ++axis) {
        if (!inside(s.attributes[axis], at.size())) return std::nullopt;
        out[axis] = at[static_cast<std::size_t>(s.attributes[axis])];
      }
      return out;
    case ir::op::broadcast_to:
      if (at.size() > out.size()) return std::nullopt;
      for (std::size_t axis = 0, behind = out.size() - at.size(); axis < at.size(); ++axis)
        if (s.operand[axis] == s.result[axis + behind]) out[axis + behind] = at[axis];
      return out;
    case ir::op::slice:
    case ir::op::flip:
      if (at.size() != out.size() ||
          s.attributes.size() != (s.code == ir::op::flip ? 1 : at.size()))
        return std::nullopt;
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        const std::int64_t step = s.code == ir::op::slice ? s.attributes[axis]
                                  : ir::has_axis(s.attributes[0], static_cast<int>(axis)) ? -1
                                                                                          : 1;
        out[axis] = {at[axis].axis, ir::detail::saturating_mul(at[axis].step, step)};
      }
      return out;
    case ir::op::windows: {
      if (s.attributes.size() != 3 || at.size() + 1 != out.size() ||
          !inside(s.attributes[0], at.size()))
        return std::nullopt;
      const auto cut = static_cast<std::size_t>(s.attributes[0]);
      for (std::size_t axis = 0; axis < out.size(); ++axis)
        out[axis] = at[axis <= cut ? axis : axis - 1];
      out[cut].step = ir::detail::saturating_mul(out[cut].step, s.attributes[2]);
      out[cut + 1].step = ir::detail::saturating_mul(out[cut + 1].step, s.attributes[1]);
      return out;
    }
    case ir::op::recompute: return at;
    case ir::op::reshape: return with_other_ones(at, s.operand, s.result);
    default: return std::nullopt;
  }
}

}  // namespace detail

/// The direction of each axis of `shape`, seen through views of which the first is the outermost;
/// nothing where an axis goes along several.
inline std::optional<std::vector<axis_direction>> directions_of(const ir::symbolic_shape& shape,
                                                                std::span<const view_step> steps) {
  const ir::symbolic_shape* seen = steps.empty() ? &shape : &steps.back().operand;
  std::optional<detail::directions> out(std::in_place, seen->size());
  for (std::size_t axis = 0; axis < seen->size(); ++axis)
    (*out)[axis] = {static_cast<int>(axis), 1};
  for (std::size_t i = steps.size(); i-- > 0;) {
    out = detail::with_other_ones(*out, *seen, steps[i].operand);
    if (out) out = detail::directions_behind(steps[i], *out);
    if (!out) return out;
    seen = &steps[i].result;
  }
  return detail::with_other_ones(*out, *seen, shape);
}

/// Is the view the same along its first `axes`?
inline bool repeats(const ir::symbolic_shape& shape, std::span<const view_step> steps,
                    std::size_t axes) {
  const auto all = directions_of(shape, steps);
  if (!all || axes > shape.size()) return false;
  for (std::size_t axis = 0; axis < axes; ++axis)
    if (!(shape[axis] == ir::dim(1)) && (*all)[axis].axis >= 0) return false;
  return true;
}

/// The axes of windows of an image: [channels, 3, 3, height, width].
inline constexpr std::size_t image_window_axes = 5;

/// Is the view [batch..., channels, 3, 3, height, width] windows of 3x3 at every place of images?
/// Among the axes of batches may be more of extent 1, of which a product of one image has none.
inline bool has_image_windows(const ir::symbolic_shape& shape, std::span<const view_step> steps,
                              std::size_t batch_axes) {
  if (shape.size() < batch_axes + image_window_axes) return false;
  const std::size_t first = shape.size() - image_window_axes;
  const auto units =
      std::count(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first), ir::dim(1));
  if (first - batch_axes > static_cast<std::size_t>(units)) return false;
  const auto all = directions_of(shape, steps);
  if (!all) return false;
  const auto same = [&](std::size_t window, std::size_t place) {
    const axis_direction d = (*all)[first + window];
    return shape[first + window] == ir::dim(3) && d.axis >= 0 &&
           (d == (*all)[first + place] || shape[first + place] == ir::dim(1));
  };
  return same(1, 3) && same(2, 4);
}

}  // namespace sinter::inline SINTER_ABI::planning
