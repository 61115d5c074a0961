// SPDX-License-Identifier: MIT
// Gradients of convolutions. By the chain rule, that of the image is a product for every window,
// and a sum of what windows share (sum_windows): as much memory as the windows take, several times.
// It is also the convolution of the padded gradient, with zeros between its elements where there is
// a stride, with the weights flipped, and inputs and outputs exchanged (Dumoulin and Visin, "A
// guide to convolution arithmetic for deep learning", 2016), whose windows are read where they are.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace convolution {

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
  // Zeros in front of the gradient and behind it, so that there are as many windows as places; each
  // element of the gradient has stride - 1 of them behind it already.
  std::array<dim, 2> padding(ir::dim_table& dims) const {
    return {dims.sub(reach(dims), start), dims.sub(stop, dims.mul(count, dim(stride)))};
  }
  // None of them below zero for any extent: windows leave up to stride - 1 places behind the last
  // one, of which the last element lies in place (count - 1) stride + reach.
  bool has_padding(ir::dim_table& dims) const {
    const dim behind_last =
        dims.sub(dims.add(dims.sub(stop, extent), reach(dims)), dim(stride - 1));
    return is_padding(padding(dims)[0]) && is_padding(behind_last);
  }
  // The gradient with zeros between its elements.
  ir::value stretched(ir::value gradient, int axis) const {
    return stride == 1 ? gradient : ir::spread(gradient, axis, stride);
  }

 private:
  static bool is_padding(dim d) { return d.is_constant() && d.constant() >= 0; }
};

// weights [1, groups, outputs, inputs * window] and gradient [n, groups, outputs, places], without
// the axis of groups where there is one. `inputs`: of a group.
inline ir::value transposed(ir::graph& g, ir::value weights, ir::value gradient, dim inputs,
                            const direction& vertical, const direction& horizontal) {
  ir::dim_table& dims = g.dims;
  const auto [top, bottom] = vertical.padding(dims);
  const auto [left, right] = horizontal.padding(dims);
  const bool grouped = gradient.rank() == 4;
  const int plane = grouped ? 3 : 2;
  const dim n = gradient.extent(0), groups = grouped ? gradient.extent(1) : dim(1),
            outputs = gradient.extent(gradient.rank() - 2),
            window = dims.mul(vertical.size, horizontal.size);
  const auto in_groups = [&](symbolic_shape shape, std::size_t at) {
    if (grouped) shape.insert(shape.begin() + at, groups);
    return shape;
  };

  const ir::value filters = ir::flip(
      ir::reshape(weights, in_groups({outputs, inputs, vertical.size, horizontal.size}, 0)),
      grouped ? 0b11000 : 0b1100);
  const ir::value exchanged = grouped
                                  ? ir::permute(filters, std::array<std::int64_t, 5>{0, 2, 1, 3, 4})
                                  : ir::permute(filters, std::array<std::int64_t, 4>{1, 0, 2, 3});
  const ir::value image = horizontal.stretched(
      vertical.stretched(
          ir::reshape(gradient, in_groups({n, outputs, vertical.count, horizontal.count}, 1)),
          plane),
      plane + 1);
  symbolic_shape before{dim(0), dim(0), top, left}, behind{dim(0), dim(0), bottom, right};
  if (grouped)
    for (symbolic_shape* side : {&before, &behind}) side->insert(side->begin(), dim(0));
  const ir::value padded = ir::pad(image, before, behind);
  const ir::value rows = ir::windows(padded, plane, vertical.size, 1, vertical.dilation);
  const ir::value both = ir::permute(
      ir::windows(rows, plane + 2, horizontal.size, 1, horizontal.dilation), windows_first(plane));
  const dim height = both.extent(plane + 2), width = both.extent(plane + 3),
            depth = dims.mul(outputs, window);
  const ir::value product =
      ir::matmul(ir::reshape(exchanged, in_groups({inputs, depth}, 0)),
                 ir::reshape(both, in_groups({n, depth, dims.mul(height, width)}, 1)));
  return ir::reshape(product, in_groups({n, inputs, height, width}, 1));
}

// ([slice[?s]] [(reshape[?q]] (sum_windows[?v] (sum_windows[?h] (permute[?p] (reshape[?r]
// (matmul[?t] ?w ?g))))))); cut out is the image, of which channels are one axis.
template <bool Sliced, bool Joined = false>
std::optional<class_id> transposed_convolution(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
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
  if (!vertical.has_padding(side.dims()) || !horizontal.has_padding(side.dims()))
    return std::nullopt;
  ir::value image = transposed(side.terms(), weights, gradient, inputs, vertical, horizontal);
  if (Joined) image = ir::reshape(image, root.shape());
  return side.finish(image);
}

}  // namespace convolution

inline rule_table convolution_rules() {
  rule_table out;
  for (const std::string weights : {"?w", "(broadcast_to[?b] ?w)"}) {
    const std::string whole =
        "(sum_windows[?v] (sum_windows[?h] (permute[?p] (reshape[?r] (matmul[?t] " + weights +
        " ?g)))))";
    out.push_back({"transposed-convolution", phase::improve, rounding::reassociates, whole,
                   convolution::transposed_convolution<false>});
    out.push_back({"transposed-convolution", phase::improve, rounding::reassociates,
                   "(slice[?s] " + whole + ")", convolution::transposed_convolution<true>});
    out.push_back({"transposed-convolution", phase::improve, rounding::reassociates,
                   "(slice[?s] (reshape[?q] " + whole + "))",
                   convolution::transposed_convolution<true, true>});
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
