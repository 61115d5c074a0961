// SPDX-License-Identifier: MIT
// The cases of rule_cases.hpp, continued: windows of images that are put back.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

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

// Of the image's gradient: a product per window, put back; channels are two axes where there are
// groups. And what the rules make of it: parts that have them, too.
struct image_parts {
  const image_sizes& s;
  bool grouped = !(s.groups == dim(1));
  int plane = grouped ? 3 : 2;
  dim channels;
  value w{}, d{}, left{};

  image_parts(case_graph& c, const image_sizes& sizes) : s(sizes) {
    ir::dim_table& dims = c.g.dims;
    channels = dims.mul(s.groups, s.inputs);
    w = c.arg(
        in_groups({dim(1), s.outputs, dims.mul(s.inputs, dim(s.window[0] * s.window[1]))}, 1));
    d = c.arg(in_groups({s.images, s.outputs, dim(s.size[0] * s.size[1])}, 1));
    const value columns = write::reshape(
        write::matmul(w, d, true), in_groups({s.images, s.inputs, dim(s.window[0]),
                                              dim(s.window[1]), dim(s.size[0]), dim(s.size[1])},
                                             1));
    const value back = ir::sum_windows(ir::sum_windows(exchanged(columns, plane), plane + 2,
                                                       dim(extent(1)), s.stride[1], s.dilation[1]),
                                       plane, dim(extent(0)), s.stride[0], s.dilation[0]);
    left = write::slice(write::reshape(back, {s.images, channels, dim(extent(0)), dim(extent(1))}),
                        {dim(0), dim(0), dim(s.cut[0]), dim(s.cut[1])},
                        {s.images, channels, dim(extent(0) - s.cut[0]), dim(extent(1) - s.cut[1])});
  }

  std::int64_t reach(int i) const { return (s.window[i] - 1) * s.dilation[i]; }
  std::int64_t extent(int i) const { return (s.size[i] - 1) * s.stride[i] + 1 + reach(i); }
  ir::symbolic_shape in_groups(ir::symbolic_shape shape, std::size_t at) const {
    if (grouped) shape.insert(shape.begin() + at, s.groups);
    return shape;
  }
  value image() const {
    return write::reshape(d, in_groups({s.images, s.outputs, dim(s.size[0]), dim(s.size[1])}, 1));
  }
  value padded(value x, std::array<std::int64_t, 2> front, std::array<std::int64_t, 2> back) const {
    ir::symbolic_shape before = ir::symbolic_shape::filled(x.shape().size(), dim(0)),
                       behind = before;
    for (std::size_t i : {0U, 1U}) {
      before[static_cast<std::size_t>(plane) + i] = dim(front[i]);
      behind[static_cast<std::size_t>(plane) + i] = dim(back[i]);
    }
    return ir::pad(x, before, behind);
  }
  value filters() const {
    const value flipped = ir::flip(
        write::reshape(w, in_groups({s.outputs, s.inputs, dim(s.window[0]), dim(s.window[1])}, 0)),
        grouped ? 24 : 12);
    return grouped ? write::permuted(flipped, {0, 2, 1, 3, 4})
                   : write::permuted(flipped, {1, 0, 2, 3});
  }
  value convolved(value x, value kernel, const image_sizes& windows) const {
    ir::dim_table& dims = x.owner->dims;
    const value taken = image_windows(x, plane, windows);
    const dim depth = dims.mul(s.outputs, dim(windows.window[0] * windows.window[1])),
              height = taken.extent(plane + 2), width = taken.extent(plane + 3);
    const value product = write::matmul(
        write::reshape(kernel, in_groups({s.inputs, depth}, 0)),
        write::reshape(taken, in_groups({s.images, depth, dims.mul(height, width)}, 1)));
    return write::reshape(product, in_groups({s.images, s.inputs, height, width}, 1));
  }
  // Without the axis of groups.
  value joined(value x) const {
    return write::reshape(x, {s.images, channels, x.extent(plane), x.extent(plane + 1)});
  }
  // Along two axes of the plane.
  value part(value x, std::array<std::int64_t, 2> start, std::array<std::int64_t, 2> stop,
             std::array<std::int64_t, 2> step = {1, 1}) const {
    ir::symbolic_shape from = ir::symbolic_shape::filled(x.shape().size(), dim(0)), to = x.shape();
    auto steps = inline_vector<std::int64_t, max_rank>::filled(x.shape().size(), 1);
    for (std::size_t i : {0U, 1U}) {
      from[static_cast<std::size_t>(plane) + i] = dim(start[i]);
      to[static_cast<std::size_t>(plane) + i] = dim(stop[i]);
      steps[static_cast<std::size_t>(plane) + i] = step[i];
    }
    return ir::slice(x, from, to, steps);
  }
};

// A convolution of the gradient, with zeros between its elements where there is a stride.
inline sides transposed_gradient(case_graph& c, const image_sizes& s) {
  const image_parts of(c, s);
  value image = of.image();
  std::array<std::int64_t, 2> front{}, back{};
  for (int i : {0, 1}) {
    front[static_cast<std::size_t>(i)] = of.reach(i) - s.cut[i];
    back[static_cast<std::size_t>(i)] = of.reach(i) - s.cut[i] + 1 - s.stride[i];
    if (s.stride[i] != 1) image = ir::spread(image, of.plane + i, s.stride[i]);
  }
  return {of.left, of.joined(of.convolved(of.padded(image, front, back), of.filters(), s))};
}

// A convolution of the gradient for each place between neighbouring windows, by strides of 1 and 2
// and without dilation.
inline sides gradient_in_phases(case_graph& c, const image_sizes& s) {
  const image_parts of(c, s);
  struct phase {
    std::int64_t first, count, start;
  };
  std::array<std::vector<phase>, 2> phases;
  std::array<std::int64_t, 2> front{}, back{}, places{}, wanted{};
  for (std::size_t i : {0U, 1U}) {
    wanted[i] = of.extent(static_cast<int>(i)) - 2 * s.cut[i];
    places[i] = (s.window[i] + s.stride[i] - 1 - 2 * s.cut[i] + s.stride[i] - 1) / s.stride[i] +
                s.size[i] - 1;
    for (std::int64_t at = s.cut[i]; at < s.cut[i] + s.stride[i]; ++at) {
      const std::int64_t offset = at % s.stride[i];  // elements offset, offset + stride...
      std::int64_t count = 0;
      for (std::int64_t e = offset; e < s.window[i]; e += s.stride[i]) ++count;
      const std::int64_t last = offset + (count - 1) * s.stride[i], met = at / s.stride[i];
      phases[i].push_back({s.window[i] - 1 - last, count, met - count + 1});
      front[i] = std::max(front[i], count - 1 - met);
      back[i] = std::max(back[i], met + places[i] - s.size[i]);
    }
  }
  const value padded = of.padded(of.image(), front, back), filters = of.filters();
  const auto interleaved = [&](const std::vector<value>& parts, int axis) {
    if (parts.size() == 1) return parts[0];
    ir::dim_table& dims = c.g.dims;
    ir::symbolic_shape shape = parts[0].shape();
    dim rows(1), columns(1);
    for (int i = 0; i < parts[0].rank(); ++i)
      (i <= axis ? rows : columns) = dims.mul(i <= axis ? rows : columns, shape[i]);
    shape[axis] = dims.mul(shape[axis], dim(2));
    return write::reshape(write::concat({write::reshape(parts[0], {rows, columns}),
                                         write::reshape(parts[1], {rows, columns})},
                                        1),
                          shape);
  };
  std::vector<value> rows;
  for (const phase& row : phases[0]) {
    std::vector<value> columns;
    for (const phase& column : phases[1]) {
      const std::array<const phase*, 2> at{&row, &column};
      std::array<std::int64_t, 2> taken{}, taken_end{}, met{}, met_end{};
      for (std::size_t i : {0U, 1U}) {
        taken[i] = at[i]->first;
        taken_end[i] = at[i]->first + (at[i]->count - 1) * s.stride[i] + 1;
        met[i] = front[i] + at[i]->start;
        met_end[i] = met[i] + places[i] + at[i]->count - 1;
      }
      columns.push_back(of.convolved(
          of.part(padded, met, met_end),
          of.part(filters, taken, taken_end, {s.stride[0], s.stride[1]}),
          {s.images, s.groups, s.outputs, s.inputs, {row.count, column.count}, {1, 1}, {}, {}}));
    }
    rows.push_back(interleaved(columns, of.plane + 1));
  }
  return {of.left, of.joined(of.part(interleaved(rows, of.plane), {0, 0}, wanted))};
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
         return transposed_gradient(c, {c.a, 1, c.n, c.m, {3, 3}, {1, 1}, {4, 5}, {1, 1}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return transposed_gradient(c, {c.a, 1, c.n, c.m, {2, 3}, {1, 2}, {3, 4}, {0, 0}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return transposed_gradient(c, {1, 1, c.n, c.m, {3, 2}, {2, 1}, {3, 2}, {3, 1}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return transposed_gradient(c, {1, 1, c.n, c.m, {2, 2}, {1, 3}, {3, 2}, {0, 0}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return transposed_gradient(c, {c.a, 2, c.n, c.m, {3, 2}, {1, 1}, {4, 3}, {1, 0}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return transposed_gradient(c, {c.a, 3, c.n, 1, {3, 3}, {1, 1}, {4, 3}, {0, 0}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return transposed_gradient(c, {c.a, 1, c.n, c.m, {3, 3}, {1, 1}, {3, 2}, {1, 0}, {2, 3}});
       }},
      {"transposed-convolution",
       [](g& c, value, value) {
         return transposed_gradient(c, {c.a, 2, c.n, 1, {3, 2}, {1, 2}, {2, 4}, {0, 1}, {2, 1}});
       }},
      {"convolution-in-phases",
       [](g& c, value, value) {
         return gradient_in_phases(c, {c.a, 1, c.n, c.m, {3, 3}, {1, 1}, {3, 2}, {1, 1}, {2, 2}});
       }},
      {"convolution-in-phases",
       [](g& c, value, value) {
         return gradient_in_phases(c, {1, 1, c.n, c.m, {2, 5}, {1, 1}, {2, 3}, {0, 2}, {1, 2}});
       }},
      {"convolution-in-phases",
       [](g& c, value, value) {
         return gradient_in_phases(c, {c.a, 2, c.n, 1, {4, 2}, {1, 1}, {3, 2}, {1, 0}, {2, 1}});
       }},
  };
}

}  // namespace sinter::test
