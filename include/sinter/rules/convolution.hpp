// SPDX-License-Identifier: MIT
// Gradients of convolutions. By the chain rule, that of the image is a product for every window,
// and a sum of what windows share (sum_windows): as much memory as the windows take, several times.
// Where the stride is 1 it is the convolution of the padded gradient with the weights flipped, and
// inputs and outputs exchanged (Dumoulin and Visin, "A guide to convolution arithmetic for deep
// learning", 2016), whose windows are read where they are.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace convolution {

// What the front end writes of the windows of images (expr/convolution.hpp): axes
// [n, channels, rows of a window, rows, columns of a window, columns], and then both of the window
// before both of the image.
inline constexpr std::array<std::int64_t, 6> windows_first{0, 1, 2, 4, 3, 5};

// One direction of the image: size of a window, steps between its elements, and the places of the
// gradient's image that are wanted, of which the product had `count`.
struct direction {
  dim size, count, start, stop;
  std::int64_t dilation;

  // Zeros in front of the gradient and behind it, so that there are as many windows as places.
  std::array<dim, 2> padding(ir::dim_table& dims) const {
    const dim reach = dims.mul(dims.sub(size, dim(1)), dim(dilation));
    return {dims.sub(reach, start), dims.sub(stop, count)};
  }
};

inline bool is_padding(dim d) { return d.is_constant() && d.constant() >= 0; }

// weights [1, groups, outputs, inputs * window] and gradient [n, groups, outputs, places], without
// the axis of groups where there is one. `taken`: the shape of the windows, both of the window
// first.
inline ir::value transposed(ir::graph& g, ir::value weights, ir::value gradient,
                            const symbolic_shape& taken, const direction& vertical,
                            const direction& horizontal) {
  ir::dim_table& dims = g.dims;
  const auto [top, bottom] = vertical.padding(dims);
  const auto [left, right] = horizontal.padding(dims);
  const bool grouped = gradient.rank() == 4;
  const dim groups = grouped ? gradient.extent(1) : dim(1),
            outputs = gradient.extent(gradient.rank() - 2),
            inputs = dims.floor_div(taken[1], groups),
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
  const ir::value image = ir::reshape(
      gradient, {taken[0], dims.mul(groups, outputs), vertical.count, horizontal.count});
  const ir::value padded =
      ir::pad(image, {dim(0), dim(0), top, left}, {dim(0), dim(0), bottom, right});
  const ir::value rows = ir::windows(padded, 2, vertical.size, 1, vertical.dilation);
  const ir::value both =
      ir::permute(ir::windows(rows, 4, horizontal.size, 1, horizontal.dilation), windows_first);
  const dim height = both.extent(4), width = both.extent(5), depth = dims.mul(outputs, window);
  const ir::value product =
      ir::matmul(ir::reshape(exchanged, in_groups({inputs, depth}, 0)),
                 ir::reshape(both, in_groups({taken[0], depth, dims.mul(height, width)}, 1)));
  return ir::reshape(product, {taken[0], taken[1], height, width});
}

// ([slice[?s]] (sum_windows[?v] (sum_windows[?h] (permute[?p] (reshape[?r] (matmul[?t] ?w ?g))))))
template <bool Sliced>
std::optional<class_id> transposed_convolution(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value weights = side["?w"], gradient = side["?g"], root = side.root();
  const auto vertical_numbers = side.attributes("?v"), horizontal_numbers = side.attributes("?h");
  const auto taken_dims = side.payload_dims("?r");
  const auto order = side.attributes("?p");
  const int rank = gradient.rank();
  if (taken_dims.size() != 6 || rank < 3 || rank > 4 || weights.rank() != rank ||
      !(weights.extent(0) == dim(1)) || side.attributes("?t") != std::vector<std::int64_t>{1, 0} ||
      !std::ranges::equal(order, windows_first))
    return std::nullopt;
  if (rank == 4 && !(weights.extent(1) == gradient.extent(1))) return std::nullopt;
  if (vertical_numbers[0] != 2 || vertical_numbers[1] != 1 || horizontal_numbers[0] != 4 ||
      horizontal_numbers[1] != 1)
    return std::nullopt;
  const symbolic_shape taken(taken_dims.begin(), taken_dims.end());
  direction vertical{taken[2], taken[4], dim(0), side.payload_dims("?v")[0], vertical_numbers[2]};
  direction horizontal{taken[3], taken[5], dim(0), side.payload_dims("?h")[0],
                       horizontal_numbers[2]};
  if constexpr (Sliced) {
    const auto cut = side.payload_dims("?s");
    for (std::int64_t step : side.attributes("?s"))
      if (step != 1) return std::nullopt;
    for (std::size_t axis = 0; axis < 2; ++axis)
      if (!(cut[2 * axis] == dim(0)) || !(root.extent(static_cast<int>(axis)) == taken[axis]))
        return std::nullopt;
    vertical.start = cut[4];
    vertical.stop = cut[5];
    horizontal.start = cut[6];
    horizontal.stop = cut[7];
  }
  for (const direction& each : {vertical, horizontal})
    for (dim zeros : each.padding(side.dims()))
      if (!is_padding(zeros)) return std::nullopt;
  return side.finish(transposed(side.terms(), weights, gradient, taken, vertical, horizontal));
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
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
