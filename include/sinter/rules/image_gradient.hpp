// SPDX-License-Identifier: MIT
// The gradient of a convolution's image as the chain rule writes it: a product for every window,
// and a sum of what windows share (sum_windows). What the rules for convolutions read of it, and
// the parts that their right-hand sides are made of.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules::convolution {

// What the front end writes of the windows of images (expr/convolution.hpp): axes
// [n, channels, rows of a window, rows, columns of a window, columns], the channels being two axes
// where there are groups, and then both of the window before both of the image. `plane`: the first
// axis behind the channels.
inline std::vector<std::int64_t> windows_first(std::int64_t plane) {
  std::vector<std::int64_t> out;
  for (std::int64_t axis = 0; axis < plane; ++axis) out.push_back(axis);
  for (std::int64_t axis : {0, 2, 1, 3}) out.push_back(plane + axis);
  return out;
}

// One direction of the image: size of a window, steps to the next one and between its elements, of
// how many places in all there are `count` windows, and the places that are wanted.
struct direction {
  dim size, count, extent, start, stop;
  std::int64_t stride, dilation;

  dim reach(ir::dim_table& dims) const { return dims.mul(dims.sub(size, dim(1)), dim(dilation)); }
};

// Zeros around two axes of a value.
struct plane_padding {
  std::array<dim, 2> vertical, horizontal;
};

struct image_gradient {
  ir::value weights;   // [1, groups, outputs, inputs * window]
  ir::value gradient;  // [n, groups, outputs, places]; both without groups where there is one
  dim inputs;          // of a group
  direction vertical, horizontal;

  bool grouped() const { return gradient.rank() == 4; }
  int plane() const { return grouped() ? 3 : 2; }
  dim outputs() const { return gradient.extent(gradient.rank() - 2); }
  symbolic_shape in_groups(symbolic_shape shape, std::size_t at) const {
    if (grouped()) shape.insert(shape.begin() + at, gradient.extent(1));
    return shape;
  }

  // [groups, inputs, outputs, rows, columns] of windows that are flipped.
  ir::value filters() const {
    const ir::value flipped = ir::flip(
        ir::reshape(weights, in_groups({outputs(), inputs, vertical.size, horizontal.size}, 0)),
        grouped() ? 0b11000 : 0b1100);
    return grouped() ? ir::permute(flipped, std::array<std::int64_t, 5>{0, 2, 1, 3, 4})
                     : ir::permute(flipped, std::array<std::int64_t, 4>{1, 0, 2, 3});
  }
  // [n, groups, outputs, rows, columns].
  ir::value image() const {
    return ir::reshape(
        gradient, in_groups({gradient.extent(0), outputs(), vertical.count, horizontal.count}, 1));
  }
  ir::value padded(ir::value image, const plane_padding& by) const {
    symbolic_shape before{dim(0), dim(0), by.vertical[0], by.horizontal[0]},
        behind{dim(0), dim(0), by.vertical[1], by.horizontal[1]};
    if (grouped())
      for (symbolic_shape* side : {&before, &behind}) side->insert(side->begin(), dim(0));
    return ir::pad(image, before, behind);
  }
  // [n, groups, inputs, rows, columns]: such filters over all their windows of such an image, with
  // elements so far from each other.
  ir::value convolved(ir::value image, ir::value filters, std::int64_t down,
                      std::int64_t right) const {
    ir::dim_table& dims = image.owner->dims;
    const int rows_at = plane(), columns_at = plane() + 1;
    const dim n = image.extent(0), height = filters.extent(rows_at),
              width = filters.extent(columns_at),
              depth = dims.mul(outputs(), dims.mul(height, width));
    const ir::value rows = ir::windows(image, rows_at, height, 1, down);
    const ir::value both =
        ir::permute(ir::windows(rows, rows_at + 2, width, 1, right), windows_first(plane()));
    const dim down_count = both.extent(rows_at + 2), right_count = both.extent(rows_at + 3);
    const ir::value product =
        ir::matmul(ir::reshape(filters, in_groups({inputs, depth}, 0)),
                   ir::reshape(both, in_groups({n, depth, dims.mul(down_count, right_count)}, 1)));
    return ir::reshape(product, in_groups({n, inputs, down_count, right_count}, 1));
  }
};

// ([slice[?s]] [(reshape[?q]] (sum_windows[?v] (sum_windows[?h] (permute[?p] (reshape[?r]
// (matmul[?t] ?w ?g))))))); cut out is the image, of which channels are one axis.
template <bool Sliced, bool Joined = false>
std::optional<image_gradient> matched(right_side& side) {
  const ir::value weights = side["?w"], gradient = side["?g"], root = side.root();
  const auto vertical_numbers = side.attributes("?v"), horizontal_numbers = side.attributes("?h");
  const auto taken_dims = side.payload_dims("?r");
  const int rank = gradient.rank();
  if (rank < 3 || rank > 4 || weights.rank() != rank || !(weights.extent(0) == dim(1)) ||
      side.attributes("?t") != std::vector<std::int64_t>{1, 0})
    return std::nullopt;
  const bool grouped = rank == 4;
  if (Sliced && grouped != Joined) return std::nullopt;
  const std::int64_t plane = grouped ? 3 : 2;
  if (taken_dims.size() != static_cast<std::size_t>(plane) + 4 ||
      !std::ranges::equal(side.attributes("?p"), windows_first(plane)))
    return std::nullopt;
  const symbolic_shape taken(taken_dims.begin(), taken_dims.end());
  if (grouped && !(weights.extent(1) == gradient.extent(1) && taken[1] == gradient.extent(1)))
    return std::nullopt;
  if (vertical_numbers[0] != plane || horizontal_numbers[0] != plane + 2) return std::nullopt;
  const dim inputs = taken[static_cast<std::size_t>(plane) - 1];
  const auto of_taken = [&](std::int64_t axis) {
    return taken[static_cast<std::size_t>(plane + axis)];
  };
  const auto along = [&](std::int64_t axis, dim extent, const std::vector<std::int64_t>& numbers) {
    return direction{of_taken(axis), of_taken(axis + 2), extent,    dim(0),
                     extent,         numbers[1],         numbers[2]};
  };
  direction vertical = along(0, side.payload_dims("?v")[0], vertical_numbers),
            horizontal = along(1, side.payload_dims("?h")[0], horizontal_numbers);
  if constexpr (Sliced) {
    const auto cut = side.payload_dims("?s");
    if (cut.size() != 8) return std::nullopt;
    for (std::int64_t step : side.attributes("?s"))
      if (step != 1) return std::nullopt;
    dim channels = inputs;
    if constexpr (Joined) {
      const auto joined = side.payload_dims("?q");
      if (joined.size() != 4 || !(joined[2] == vertical.stop) || !(joined[3] == horizontal.stop))
        return std::nullopt;
      channels = joined[1];
    }
    if (!(cut[0] == dim(0)) || !(cut[2] == dim(0)) || !(root.extent(0) == taken[0]) ||
        !(root.extent(1) == channels))
      return std::nullopt;
    vertical.start = cut[4];
    vertical.stop = cut[5];
    horizontal.start = cut[6];
    horizontal.stop = cut[7];
  }
  return image_gradient{weights, gradient, inputs, vertical, horizontal};
}

}  // namespace sinter::inline SINTER_ABI::rules::convolution
