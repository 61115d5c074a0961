// SPDX-License-Identifier: MIT
// The cases of rule_cases.hpp, continued: windows of images that are put back.
#pragma once

#include <initializer_list>

#include "rule_cases.hpp"

namespace sinter::test {

// A convolution's weights, the gradient of its result, and what is kept of the gradient of its
// padded image.
struct image_sizes {
  dim images, groups, outputs, inputs;                   // channels per group
  std::int64_t window[2], dilation[2], size[2], cut[2];  // of the gradient; cut off on each side
  std::int64_t stride[2] = {1, 1};
};

// Of an image whose first axis of the plane is `plane`; windows and places change places.
inline value exchanged(value windows, int plane) {
  return plane == 2 ? write::permuted(windows, {0, 1, 2, 4, 3, 5})
                    : write::permuted(windows, {0, 1, 2, 3, 5, 4, 6});
}
inline value image_windows(value image, int plane, const image_sizes& s) {
  const value rows = ir::windows(image, plane, dim(s.window[0]), 1, s.dilation[0]);
  return exchanged(ir::windows(rows, plane + 2, dim(s.window[1]), 1, s.dilation[1]), plane);
}

// Of the image's gradient: a product per window, put back, and a convolution. Channels are two axes
// where there are groups.
inline sides image_gradient(case_graph& c, const image_sizes& s) {
  using namespace write;
  ir::dim_table& dims = c.g.dims;
  const bool grouped = !(s.groups == dim(1));
  const int plane = grouped ? 3 : 2;
  const std::int64_t area = s.window[0] * s.window[1];
  const auto in_groups = [&](ir::symbolic_shape shape, std::size_t at) {
    if (grouped) shape.insert(shape.begin() + at, s.groups);
    return shape;
  };
  const dim places(s.size[0] * s.size[1]), channels = dims.mul(s.groups, s.inputs);
  const value w = c.arg(in_groups({dim(1), s.outputs, dims.mul(s.inputs, dim(area))}, 1));
  const value d = c.arg(in_groups({s.images, s.outputs, places}, 1));
  std::int64_t extent[2], reach[2];
  for (int i : {0, 1}) {
    reach[i] = (s.window[i] - 1) * s.dilation[i];
    extent[i] = (s.size[i] - 1) * s.stride[i] + 1 + reach[i];
  }

  const value columns =
      reshape(matmul(w, d, true), in_groups({s.images, s.inputs, dim(s.window[0]), dim(s.window[1]),
                                             dim(s.size[0]), dim(s.size[1])},
                                            1));
  const value back = ir::sum_windows(ir::sum_windows(exchanged(columns, plane), plane + 2,
                                                     dim(extent[1]), s.stride[1], s.dilation[1]),
                                     plane, dim(extent[0]), s.stride[0], s.dilation[0]);
  const dim stop[] = {dim(extent[0] - s.cut[0]), dim(extent[1] - s.cut[1])};
  const value left =
      slice(reshape(back, {s.images, channels, dim(extent[0]), dim(extent[1])}),
            {dim(0), dim(0), dim(s.cut[0]), dim(s.cut[1])}, {s.images, channels, stop[0], stop[1]});

  value image = reshape(d, in_groups({s.images, s.outputs, dim(s.size[0]), dim(s.size[1])}, 1));
  ir::symbolic_shape before{dim(0), dim(0), dim(reach[0] - s.cut[0]), dim(reach[1] - s.cut[1])},
      behind = before;
  for (int i : {0, 1}) {
    behind[static_cast<std::size_t>(2 + i)] = dim(reach[i] - s.cut[i] + 1 - s.stride[i]);
    if (s.stride[i] != 1) image = ir::spread(image, plane + i, s.stride[i]);
  }
  for (ir::symbolic_shape* side : {&before, &behind})
    if (grouped) side->insert(side->begin(), dim(0));
  const value taken = image_windows(ir::pad(image, before, behind), plane, s);
  const value filters =
      ir::flip(reshape(w, in_groups({s.outputs, s.inputs, dim(s.window[0]), dim(s.window[1])}, 0)),
               grouped ? 24 : 12);
  const value turned =
      grouped ? permuted(filters, {0, 2, 1, 3, 4}) : permuted(filters, {1, 0, 2, 3});
  const dim depth = dims.mul(s.outputs, dim(area)), height = taken.extent(plane + 2),
            width = taken.extent(plane + 3);
  const value product =
      matmul(reshape(turned, in_groups({s.inputs, depth}, 0)),
             reshape(taken, in_groups({s.images, depth, dims.mul(height, width)}, 1)));
  return {left, reshape(reshape(product, in_groups({s.images, s.inputs, height, width}, 1)),
                        {s.images, channels, height, width})};
}

// Rows of windows, from these places on, added up.
inline value rows_put_back(value padded, int axis, dim places,
                           std::initializer_list<std::int64_t> starts) {
  value sum;
  std::int64_t j = 0;
  for (std::int64_t from : starts) {
    ir::symbolic_shape start = ir::symbolic_shape::filled(padded.shape().size(), dim(0)),
                       stop = padded.shape(), shape = stop;
    start[axis] = dim(j);
    stop[axis] = dim(++j);
    start[axis + 1] = dim(from);
    stop[axis + 1] = padded.owner->dims.add(places, dim(from));
    shape.erase(shape.begin() + axis + 1);
    shape[axis] = places;
    const value row = write::reshape(write::slice(padded, start, stop), shape);
    sum = j == 1 ? row : sum + row;
  }
  return sum;
}

inline std::vector<rule_case> image_cases() {
  using g = case_graph;
  return {
      {"expand-sum-windows",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 3, 4, c.n});
         return write::with_expansion(ir::sum_windows(x, 1, 10, 2, 1));
       }},
      {"expand-sum-windows",
       [](g& c, value, value) {
         const value x = c.arg({2, 4, c.n});
         return write::with_expansion(ir::sum_windows(x, 0, 6, 1, 2));
       }},
      {"sum-few-windows",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 3, c.n, 4});
         const dim places = c.g.dims.add(c.n, dim(4)), reach(4);
         const value padded =
             ir::pad(x, {dim(0), dim(0), reach, dim(0)}, {dim(0), dim(0), reach, dim(0)});
         return sides{ir::sum_windows(x, 1, places, 1, 2),
                      rows_put_back(padded, 1, places, {4, 2, 0})};
       }},
      {"sum-few-windows",
       [](g& c, value, value) {
         const value x = c.arg({2, 3});
         const value spread = write::reshape(
             ir::pad(write::reshape(x, {6, 1}), {dim(0), dim(0)}, {dim(0), dim(1)}), {2, 6});
         const value padded = ir::pad(spread, {dim(0), dim(3)}, {dim(0), dim(2)});
         return sides{ir::sum_windows(x, 0, 8, 2, 3), rows_put_back(padded, 0, 8, {3, 0})};
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return image_gradient(c, {c.a, 1, c.n, c.m, {3, 3}, {1, 1}, {4, 5}, {1, 1}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return image_gradient(c, {c.a, 1, c.n, c.m, {2, 3}, {1, 2}, {3, 4}, {0, 0}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return image_gradient(c, {1, 1, c.n, c.m, {3, 2}, {2, 1}, {3, 2}, {3, 1}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return image_gradient(c, {1, 1, c.n, c.m, {2, 2}, {1, 3}, {3, 2}, {0, 0}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return image_gradient(c, {c.a, 2, c.n, c.m, {3, 2}, {1, 1}, {4, 3}, {1, 0}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return image_gradient(c, {c.a, 3, c.n, 1, {3, 3}, {1, 1}, {4, 3}, {0, 0}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return image_gradient(c, {c.a, 1, c.n, c.m, {3, 3}, {1, 1}, {3, 2}, {1, 0}, {2, 3}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return image_gradient(c, {c.a, 2, c.n, 1, {3, 2}, {1, 2}, {2, 4}, {0, 1}, {2, 1}});
       }},
  };
}

}  // namespace sinter::test
