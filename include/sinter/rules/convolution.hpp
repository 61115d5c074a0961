// SPDX-License-Identifier: MIT
// Gradients of convolutions. By the chain rule, that of the image is a product for every window,
// and a sum of what windows share: as much memory as the windows take, several times. It is also
// one convolution, or, where there is a stride, several, whose windows are read where they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sinter/rules/image_gradient.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace convolution {

// ---- the convolution of the padded gradient, with zeros between its elements where there is a
// stride, with the weights flipped, and inputs and outputs exchanged (Dumoulin and Visin, "A guide
// to convolution arithmetic for deep learning", 2016)

// Zeros in front of the gradient and behind it, so that there are as many windows as places; each
// element of the gradient has stride - 1 of them behind it already. None of them is below zero for
// any extent: windows leave up to stride - 1 places behind the last one, of which the last element
// lies in place (count - 1) stride + reach.
inline std::optional<std::array<dim, 2>> padding(ir::dim_table& dims, const direction& d) {
  const auto is_padding = [](dim each) { return each.is_constant() && each.constant() >= 0; };
  const dim reach = d.reach(dims), front = dims.sub(reach, d.start),
            behind_last = dims.sub(dims.add(dims.sub(d.stop, d.extent), reach), dim(d.stride - 1));
  if (!is_padding(front) || !is_padding(behind_last)) return std::nullopt;
  return {{front, dims.sub(d.stop, dims.mul(d.count, dim(d.stride)))}};
}

inline std::optional<ir::value> transposed(ir::dim_table& dims, const image_gradient& of) {
  const auto rows = padding(dims, of.vertical), columns = padding(dims, of.horizontal);
  if (!rows || !columns) return std::nullopt;
  ir::value image = of.image();
  if (of.vertical.stride != 1) image = ir::spread(image, of.plane(), of.vertical.stride);
  if (of.horizontal.stride != 1) image = ir::spread(image, of.plane() + 1, of.horizontal.stride);
  return of.convolved(of.padded(image, {*rows, *columns}), of.filters(), of.vertical.dilation,
                      of.horizontal.dilation);
}

// ---- convolutions of the gradient itself, interleaved: places of the image that are a stride
// apart meet the same elements of the filters, every stride-th (Shi et al., "Is the deconvolution
// layer the same as a convolutional layer?", 2016). No zeros are multiplied: with strides of 2, a
// quarter of the products are left.

// Such places: they meet `count` elements of a flipped filter, `first` and every stride-th behind
// it, and their first window of the padded gradient starts at `start`.
struct phase_of_places {
  std::int64_t first, count, start;
};

// One direction's phases, in the order of the places that are wanted, and how many places each of
// them has: a few too many where the stride does not divide what is wanted.
struct phases {
  std::vector<phase_of_places> each;
  std::int64_t stride;
  dim places;
  std::array<dim, 2> padding;
};

// Each phase is a nest or more, and classes to saturate.
inline constexpr std::int64_t most_phases = 4;

inline std::optional<phases> phases_of(ir::dim_table& dims, const direction& d) {
  if (!d.size.is_constant() || !d.start.is_constant() || d.dilation != 1) return std::nullopt;
  const std::int64_t size = d.size.constant(), start = d.start.constant();
  const dim behind = dims.sub(d.extent, d.stop);
  // Windows leave up to stride - 1 places behind the last one.
  const std::int64_t wanted = size + d.stride - 1 - start -
                              (behind.is_constant() ? behind.constant() : std::int64_t{0}),
                     more = (wanted + d.stride - 1) / d.stride - 1;
  if (wanted < 1) return std::nullopt;
  phases out{{}, d.stride, dims.add(d.count, dim(more)), {}};
  std::int64_t front = 0, back = 0;
  for (std::int64_t place = start; place < start + d.stride; ++place) {
    const std::int64_t last = size - 1 - place % d.stride,
                       count = last < 0 ? 0 : last / d.stride + 1,
                       first_met = place / d.stride - (count - 1);
    out.each.push_back({last < 0 ? 0 : last % d.stride, count, first_met});
    if (count == 0) continue;
    front = std::max(front, -first_met);
    back = std::max(back, more + place / d.stride);
  }
  for (phase_of_places& each : out.each) each.start += front;
  out.padding = {dim(front), dim(back)};
  return out;
}

// Of x, what a phase takes in two directions: bounds and steps of two axes.
struct plane_part {
  std::array<dim, 2> start, stop;
  std::array<std::int64_t, 2> step{1, 1};
};
inline ir::value part_of(ir::value x, int plane, const plane_part& part) {
  symbolic_shape start = symbolic_shape::filled(x.shape().size(), dim(0)), stop = x.shape();
  auto step = axis_list::filled(x.shape().size(), 1);
  for (int i : {0, 1}) {
    start[plane + i] = part.start[static_cast<std::size_t>(i)];
    stop[plane + i] = part.stop[static_cast<std::size_t>(i)];
    step[plane + i] = part.step[static_cast<std::size_t>(i)];
  }
  return ir::slice(x, start, stop, step);
}

inline ir::value of_phase(const image_gradient& of, ir::value filters, ir::value padded,
                          const std::array<const phases*, 2>& all,
                          const std::array<const phase_of_places*, 2>& at) {
  ir::dim_table& dims = padded.owner->dims;
  plane_part taken, met;
  for (std::size_t i : {0U, 1U}) {
    const auto [first, count, start] = *at[i];
    taken.start[i] = dim(first);
    taken.stop[i] = dim(first + (count - 1) * all[i]->stride + 1);
    taken.step[i] = all[i]->stride;
    met.start[i] = dim(start);
    met.stop[i] = dims.add(all[i]->places, dim(start + count - 1));
  }
  return of.convolved(part_of(padded, of.plane(), met), part_of(filters, of.plane(), taken), 1, 1);
}

// As many values of one shape, the first elements along an axis of all of them in front of their
// second ones. Missing ones are zeros: they must stand in front of the others or behind them.
inline std::optional<ir::value> interleaved(const std::vector<std::optional<ir::value>>& parts,
                                            int axis) {
  if (parts.size() == 1) return parts[0];
  std::vector<ir::value> there;
  std::int64_t before = 0, behind = 0;
  for (const auto& part : parts) {
    if (part && behind != 0) return std::nullopt;
    if (part)
      there.push_back(*part);
    else
      ++(there.empty() ? before : behind);
  }
  if (there.empty()) return std::nullopt;
  ir::dim_table& dims = there[0].owner->dims;
  symbolic_shape shape = there[0].shape();
  for (ir::value& part : there) part = ir::split_behind(part, axis);
  const dim columns = there[0].extent(1);
  const ir::value matrix = ir::pad(ir::concat(there, 1), {dim(0), dims.mul(dim(before), columns)},
                                   {dim(0), dims.mul(dim(behind), columns)});
  shape[axis] = dims.mul(shape[axis], dim(static_cast<std::int64_t>(parts.size())));
  return ir::reshape(matrix, shape);
}

inline std::optional<ir::value> in_phases(ir::dim_table& dims, const image_gradient& of) {
  const std::int64_t count = of.vertical.stride * of.horizontal.stride;
  if (count == 1 || count > most_phases) return std::nullopt;
  const auto down = phases_of(dims, of.vertical), right = phases_of(dims, of.horizontal);
  if (!down || !right) return std::nullopt;
  const ir::value filters = of.filters(),
                  padded = of.padded(of.image(), {down->padding, right->padding});
  std::vector<std::optional<ir::value>> rows;
  for (const phase_of_places& row : down->each) {
    std::vector<std::optional<ir::value>> columns;
    for (const phase_of_places& column : right->each) {
      columns.emplace_back();
      if (row.count > 0 && column.count > 0)
        columns.back() = of_phase(of, filters, padded, {&*down, &*right}, {&row, &column});
    }
    rows.push_back(interleaved(columns, of.plane() + 1));
  }
  const auto image = interleaved(rows, of.plane());
  if (!image) return std::nullopt;
  return part_of(*image, of.plane(),
                 {{dim(0), dim(0)},
                  {dims.sub(of.vertical.stop, of.vertical.start),
                   dims.sub(of.horizontal.stop, of.horizontal.start)}});
}

// One of these for what was matched.
template <auto Written, bool Sliced = false, bool Joined = false>
std::optional<class_id> of_image(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const auto of = matched<Sliced, Joined>(side);
  if (!of) return std::nullopt;
  const std::optional<ir::value> image = Written(side.dims(), *of);
  if (!image) return std::nullopt;
  return side.finish(Joined ? ir::reshape(*image, side.root().shape()) : *image);
}

template <auto Written>
void append_rules_as(const char* name, rule_table& out) {
  for (const std::string weights : {"?w", "(broadcast_to[?b] ?w)"}) {
    const std::string whole =
        "(sum_windows[?v] (sum_windows[?h] (permute[?p] (reshape[?r] (matmul[?t] " + weights +
        " ?g)))))";
    const auto append = [&](const std::string& left, computed right) {
      out.push_back({name, phase::improve, rounding::reassociates, left, right});
    };
    append(whole, of_image<Written>);
    append("(slice[?s] " + whole + ")", of_image<Written, true>);
    append("(slice[?s] (reshape[?q] " + whole + "))", of_image<Written, true, true>);
  }
}

}  // namespace convolution

inline rule_table convolution_rules() {
  rule_table out;
  convolution::append_rules_as<convolution::transposed>("transposed-convolution", out);
  convolution::append_rules_as<convolution::in_phases>("convolution-in-phases", out);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
