// SPDX-License-Identifier: MIT
// Operators of ONNX that slide windows over tensors [n, channels, ...], and that resize them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <sinter/onnx/reduction.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail::image {

// Windows over the axes behind the first two, and what is added around those axes.
struct window_layout {
  std::vector<ir::dim> size;
  std::vector<std::int64_t> stride, dilation, before, after;
  std::vector<std::int64_t> overhang;  // of the last window, with ceil_mode
};

inline std::vector<std::int64_t> per_axis(operation& o, std::string_view name, std::size_t count,
                                          std::int64_t otherwise, std::int64_t least) {
  std::vector<std::int64_t> out = o.integers(name, std::vector<std::int64_t>(count, otherwise));
  if (out.size() != count)
    o.fail("attribute " + in_quotes(name) + " has not " + std::to_string(count) + " numbers");
  for (const std::int64_t x : out)
    if (x < least || x > (std::int64_t{1} << 31))
      o.fail("attribute " + in_quotes(name) + " has the element " + std::to_string(x));
  return out;
}

inline window_layout layout_of(operation& o, ir::value x, std::vector<ir::dim> size) {
  if (x.rank() < 3)
    throw shape_error("rank " + std::to_string(x.rank()) + " where at least 3 is expected");
  const std::size_t count = static_cast<std::size_t>(x.rank() - 2);
  if (size.size() != count)
    throw shape_error("windows of " + std::to_string(size.size()) + " axes over " +
                      std::to_string(count));
  window_layout w{std::move(size),
                  per_axis(o, "strides", count, 1, 1),
                  per_axis(o, "dilations", count, 1, 1),
                  {},
                  {},
                  std::vector<std::int64_t>(count, 0)};
  const std::string automatic = o.text("auto_pad", "NOTSET");
  const bool ceil = o.integer("ceil_mode", 0) != 0;
  const std::vector<std::int64_t> pads = per_axis(o, "pads", 2 * count, 0, 0);
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(count));
  w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(count), pads.end());
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID" && !automatic.empty())
    o.fail("auto_pad " + in_quotes(automatic) + " is not supported");
  for (const ir::dim d : w.size)
    if (d.is_constant() && d.constant() > (std::int64_t{1} << 31))
      o.fail("a window of " + std::to_string(d.constant()) + " elements");
  for (std::size_t i = 0; i < count; ++i) {
    const ir::dim extent = x.extent(static_cast<int>(i) + 2);
    if (automatic == "VALID") w.before[i] = w.after[i] = 0;
    if (!same && !ceil) continue;
    const bool known = extent.is_constant() && w.size[i].is_constant();
    if (!known && !(same && w.stride[i] == 1 && w.size[i].is_constant()))
      o.fail("padding that depends on an unknown extent");
    const std::int64_t span = (w.size[i].constant() - 1) * w.dilation[i] + 1;
    if (same) {
      const std::int64_t n = known ? extent.constant() : 1;
      const std::int64_t places = (n + w.stride[i] - 1) / w.stride[i];
      const std::int64_t total = std::max<std::int64_t>(0, (places - 1) * w.stride[i] + span - n);
      w.before[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after[i] = total - w.before[i];
    } else {
      const std::int64_t padded = extent.constant() + w.before[i] + w.after[i];
      std::int64_t places = padded < span ? 1 : (padded - span + w.stride[i] - 1) / w.stride[i] + 1;
      // No window begins in the padding behind.
      if ((places - 1) * w.stride[i] >= extent.constant() + w.before[i]) --places;
      w.overhang[i] = std::max<std::int64_t>(0, (places - 1) * w.stride[i] + span - padded);
    }
  }
  return w;
}

inline ir::value padded(ir::value x, const window_layout& w, double fill, bool overhang = true) {
  ir::symbolic_shape before = ir::symbolic_shape::filled(x.shape().size(), ir::dim(0)),
                     after = before;
  for (std::size_t i = 0; i < w.size.size(); ++i) {
    before[i + 2] = ir::dim(w.before[i]);
    after[i + 2] = ir::dim(w.after[i] + (overhang ? w.overhang[i] : 0));
  }
  return ir::pad(x, before, after, fill);
}
inline ir::value hung_over(ir::value x, const window_layout& w) {
  ir::symbolic_shape before = ir::symbolic_shape::filled(x.shape().size(), ir::dim(0)),
                     after = before;
  for (std::size_t i = 0; i < w.size.size(); ++i) after[i + 2] = ir::dim(w.overhang[i]);
  return ir::pad(x, before, after, 0);
}

// One axis after the other, the last one first: each reduces what the one before left.
inline ir::value over_windows(ir::value x, const window_layout& w, ir::op code) {
  for (std::size_t i = w.size.size(); i-- > 0;) {
    const int axis = static_cast<int>(i) + 2;
    const ir::value taken = ir::windows(x, axis, w.size[i], w.stride[i], w.dilation[i]);
    x = ir::reduce(code, taken, std::int64_t{1} << axis, false);
  }
  return x;
}

inline std::vector<ir::dim> kernel_shape(operation& o) {
  std::vector<ir::dim> out;
  for (const std::int64_t n : o.integers("kernel_shape")) {
    if (n < 1) o.fail("a window of " + std::to_string(n) + " elements");
    out.push_back(ir::dim(n));
  }
  return out;
}

inline double lowest_of(dtype type) {
  if (is_floating(type)) return -std::numeric_limits<double>::infinity();
  return dispatch(type, []<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) return static_cast<double>(std::numeric_limits<T>::min());
    return 0.0;
  });
}

inline void max_pool(operation& o) {
  o.ignore("storage_order");  // of the places, which are not supported
  const ir::value x = o.in(0);
  const window_layout w = layout_of(o, x, kernel_shape(o));
  o.give(over_windows(padded(x, w, lowest_of(x.type())), w, ir::op::reduce_max));
}
inline void average_pool(operation& o) {
  const bool counts_padding = o.integer("count_include_pad", 0) != 0;
  const ir::value x = o.in(0);
  const window_layout w = layout_of(o, x, kernel_shape(o));
  const ir::value total = over_windows(padded(x, w, 0), w, ir::op::reduce_sum);
  const auto any = [](const std::vector<std::int64_t>& v) {
    return std::ranges::any_of(v, [](std::int64_t n) { return n != 0; });
  };
  if (!any(w.overhang) && (counts_padding || (!any(w.before) && !any(w.after)))) {
    double count = 1;
    for (const ir::dim d : w.size) count *= static_cast<double>(d.constant());
    return o.give(total * (1 / count));
  }
  // How many elements each window has: the same windows over ones.
  ir::symbolic_shape image = x.shape();
  image[0] = image[1] = ir::dim(1);
  const ir::value ones = ir::broadcast_to(ir::constant_like(x, 1), image);
  const ir::value counted = hung_over(padded(ones, w, counts_padding ? 1 : 0, false), w);
  o.give(total / over_windows(counted, w, ir::op::reduce_sum));
}
inline void lp_pool(operation& o) {
  const ir::value x = o.in(0);
  const std::int64_t p = o.integer("p", 2);
  if (p < 1) o.fail("p " + std::to_string(p) + " is not supported");
  const window_layout w = layout_of(o, x, kernel_shape(o));
  const auto power = [](ir::value v, double e) {
    return ir::elementwise(ir::op::pow, {v, ir::constant_like(v, e)});
  };
  const double exponent = static_cast<double>(p);
  const ir::value powers = p == 2 ? x * x : power(ir::unary(ir::op::abs, x), exponent);
  const ir::value total = over_windows(padded(powers, w, 0), w, ir::op::reduce_sum);
  o.give(p == 2 ? ir::unary(ir::op::sqrt, total) : power(total, 1 / exponent));
}
template <bool Mean>
void global_pool(operation& o) {
  const ir::value x = o.in(0);
  const std::int64_t axes = ir::all_axes(x) & ~std::int64_t{3};
  o.give(Mean ? ir::mean(x, axes) : ir::reduce(ir::op::reduce_max, x, axes));
}

// Weights [groups, outputs, inputs * window] times windows [n, groups, inputs * window, places].
inline ir::value convolved(operation& o, ir::value x, ir::value weights, const window_layout& w,
                           std::int64_t groups) {
  ir::dim_table& dims = o.dims();
  const int axes = x.rank() - 2;
  if (axes > 3) o.fail("a convolution along more than three axes");
  ir::value taken = padded(x, w, 0);
  for (int i = 0; i < axes; ++i)
    taken =
        ir::windows(taken, 2 + 2 * i, w.size[static_cast<std::size_t>(i)],
                    w.stride[static_cast<std::size_t>(i)], w.dilation[static_cast<std::size_t>(i)]);
  std::vector<std::int64_t> order{0, 1};
  for (int part : {0, 1})
    for (int i = 0; i < axes; ++i) order.push_back(2 + 2 * i + part);
  taken = ir::permute(taken, order);
  ir::dim window(1), places(1);
  ir::symbolic_shape out{x.extent(0), weights.extent(0)};
  for (int i = 0; i < axes; ++i) {
    window = dims.mul(window, taken.extent(2 + i));
    places = dims.mul(places, taken.extent(2 + axes + i));
    out.push_back(taken.extent(2 + axes + i));
  }
  const ir::dim count(groups);
  ir::symbolic_shape columns{x.extent(0), count,
                             dims.mul(dims.floor_div(x.extent(1), count), window), places};
  ir::symbolic_shape filters{count, dims.floor_div(weights.extent(0), count),
                             dims.mul(weights.extent(1), window)};
  if (groups == 1) {
    columns.erase(columns.begin() + 1);
    filters.erase(filters.begin());
  }
  return ir::reshape(ir::matmul(ir::reshape(weights, filters), ir::reshape(taken, columns)), out);
}

inline void conv(operation& o) {
  const ir::value x = o.in(0), weights = o.in(1);
  if (weights.rank() != x.rank())
    throw shape_error("weights of rank " + std::to_string(weights.rank()) + " for rank " +
                      std::to_string(x.rank()));
  std::vector<ir::dim> size;
  for (int i = 2; i < weights.rank(); ++i) size.push_back(weights.extent(i));
  if (o.has_attribute("kernel_shape") && kernel_shape(o) != size)
    throw shape_error("kernel_shape is not that of the weights");
  const std::int64_t groups = o.integer("group", 1);
  if (groups < 1) o.fail("group " + std::to_string(groups));
  const window_layout w = layout_of(o, x, size);
  const bool even = w.before == w.after;
  if (x.rank() == 4) {
    // The function of the front end, so that what is done for it is done here.
    const convolution_options options{.stride = {w.stride[0], w.stride[1]},
                                      .padding = even ? plane(w.before[0], w.before[1]) : plane(0),
                                      .dilation = {w.dilation[0], w.dilation[1]},
                                      .groups = groups};
    const handle image(even ? x : padded(x, w, 0)), filters(weights);
    return o.give(o.has(2) ? conv2d(image, filters, handle(o.in(2)), options).node
                           : conv2d(image, filters, options).node);
  }
  for (const ir::dim channels : {x.extent(1), weights.extent(0)})
    if (channels.is_constant() && channels.constant() % groups != 0)
      throw shape_error("groups do not divide " + std::to_string(channels.constant()) +
                        " channels");
  const ir::value out = convolved(o, x, weights, w, groups);
  o.give(o.has(2) ? out + reduction::for_channels(x, o.in(2)) : out);
}

// x / (bias + alpha / size * sum of squares over neighbouring channels)^beta.
inline void local_response_norm(operation& o) {
  const ir::value x = o.in(0);
  const std::int64_t size = o.integer("size", 0);
  if (size < 1 || size > (std::int64_t{1} << 31)) o.fail("size " + std::to_string(size));
  const double alpha = o.real("alpha", 1e-4), beta = o.real("beta", 0.75), bias = o.real("bias", 1);
  ir::symbolic_shape before = ir::symbolic_shape::filled(x.shape().size(), ir::dim(0)),
                     after = before;
  before[1] = ir::dim((size - 1) / 2);
  after[1] = ir::dim(size - 1 - (size - 1) / 2);
  const ir::value neighbours = ir::windows(ir::pad(x * x, before, after), 1, ir::dim(size));
  const ir::value total = ir::sum(neighbours, 2, false);
  const ir::value scale = total * (alpha / static_cast<double>(size)) + bias;
  o.give(x / ir::elementwise(ir::op::pow, {scale, ir::constant_like(scale, beta)}));
}

// ---- resizing

struct resizing {
  std::string mode, coordinates, nearest;
  bool exclude_outside = false;
};

// Where along an axis of `from` elements place i of `to` lies.
inline double source_place(operation& o, const resizing& r, std::int64_t i, std::int64_t from,
                           std::int64_t to, double scale) {
  const double at = static_cast<double>(i), last = static_cast<double>(from - 1);
  if (r.coordinates == "asymmetric") return at / scale;
  if (r.coordinates == "half_pixel") return (at + 0.5) / scale - 0.5;
  if (r.coordinates == "half_pixel_symmetric") {
    const double exact = static_cast<double>(from) * scale;
    const double shift = static_cast<double>(from) / 2 * (1 - static_cast<double>(to) / exact);
    return shift + (at + 0.5) / scale - 0.5;
  }
  if (r.coordinates == "pytorch_half_pixel") return to > 1 ? (at + 0.5) / scale - 0.5 : 0;
  if (r.coordinates == "align_corners") {
    const double exact = static_cast<double>(from) * scale;  // which need not be whole
    return exact > 1 ? at * last / (exact - 1) : 0;
  }
  o.fail("coordinate_transformation_mode " + in_quotes(r.coordinates) + " is not supported");
}
inline double nearest_place(operation& o, const resizing& r, double x) {
  if (r.nearest == "round_prefer_floor") return std::ceil(x - 0.5);
  if (r.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  if (r.nearest == "floor") return std::floor(x);
  if (r.nearest == "ceil") return std::ceil(x);
  o.fail("nearest_mode " + in_quotes(r.nearest) + " is not supported");
}

inline ir::value resized_axis(operation& o, const resizing& r, ir::value x, int axis,
                              std::int64_t to, double scale) {
  const std::int64_t from = x.extent(axis).constant();
  known_tensor below{dtype::i64, {to}, {}}, above = below;
  any_tensor weight(dtype::f32, {to});
  for (std::int64_t i = 0; i < to; ++i) {
    double place = source_place(o, r, i, from, to, scale);
    if (r.mode == "nearest") place = nearest_place(o, r, place);
    const double low = std::floor(place);
    const auto inside = [&](double at) {
      return static_cast<std::int64_t>(std::clamp(at, 0.0, static_cast<double>(from - 1)));
    };
    below.elements.emplace_back(inside(low));
    above.elements.emplace_back(inside(low + 1));
    static_cast<float*>(weight.data())[i] = static_cast<float>(place - low);
  }
  const auto at = [&](known_tensor places) {
    value v;
    v.name = "places";
    v.type = dtype::i64;
    v.known = std::move(places);
    return ir::gather(x, o.to().node_of(v), axis);
  };
  if (r.mode == "nearest") return at(std::move(below));
  value w;
  w.name = "weights";
  w.tensor = weight;
  ir::symbolic_shape along = ir::symbolic_shape::filled(x.shape().size(), ir::dim(1));
  along[axis] = ir::dim(to);
  const ir::value share = ir::cast(ir::reshape(o.to().node_of(w), along), x.type());
  const ir::value first = at(std::move(below));
  return first + (at(std::move(above)) - first) * share;
}

// Every element `count` times along an axis.
inline ir::value repeated(ir::value x, int axis, std::int64_t count) {
  ir::symbolic_shape apart = x.shape(), out = x.shape();
  apart.insert(apart.begin() + axis + 1, ir::dim(1));
  const ir::value alone = ir::reshape(x, apart);
  apart[axis + 1] = ir::dim(count);
  out[axis] = x.owner->dims.mul(out[axis], ir::dim(count));
  return ir::reshape(ir::broadcast_to(alone, apart), out);
}

inline void resize_by(operation& o, const resizing& r, const std::vector<double>& scales,
                      const std::vector<std::int64_t>& sizes, const std::vector<int>& axes) {
  if (r.mode != "nearest" && r.mode != "linear")
    o.fail("mode " + in_quotes(r.mode) + " is not supported");
  ir::value x = o.in(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = axes[i];
    const ir::dim extent = x.extent(axis);
    const double scale =
        !scales.empty() ? scales[i]
        : !extent.is_constant() || extent.constant() == 0
            ? 0
            : static_cast<double>(sizes[i]) / static_cast<double>(extent.constant());
    if (!(scale > 0 && scale < 0x1p20)) o.fail("a scale that is not above 0, or unknown");
    const bool whole = scale == std::floor(scale);
    // In these cases the nearest of place i is i / scale, rounded down, whatever the extent.
    const bool half = (r.coordinates == "half_pixel" || r.coordinates == "pytorch_half_pixel") &&
                      r.nearest.starts_with("round_prefer");
    const bool plain = r.coordinates == "asymmetric" && r.nearest == "floor";
    if (scale == 1 && (sizes.empty() || extent == ir::dim(sizes[i]))) continue;
    if (r.mode == "nearest" && whole && (half || plain) && x.rank() < max_rank) {
      x = repeated(x, axis, static_cast<std::int64_t>(scale));
      continue;
    }
    if (!extent.is_constant())
      o.fail("a scale of " + std::to_string(scale) + " along an axis of unknown extent");
    const std::int64_t to =
        sizes.empty()
            ? static_cast<std::int64_t>(std::floor(static_cast<double>(extent.constant()) * scale))
            : sizes[i];
    if (to < 0 || to > (std::int64_t{1} << 24)) o.fail("an extent of " + std::to_string(to));
    x = resized_axis(o, r, x, axis, to, scale);
  }
  o.give(x);
}

inline void resize(operation& o) {
  o.ignore("cubic_coeff_a");
  o.ignore("extrapolation_value");
  resizing r{
      o.text("mode", "nearest"),
      o.text("coordinate_transformation_mode", o.version() < 11 ? "asymmetric" : "half_pixel"),
      o.text("nearest_mode", o.version() < 11 ? "floor" : "round_prefer_floor")};
  if (o.integer("exclude_outside", 0) != 0) o.fail("exclude_outside is not supported");
  if (o.integer("antialias", 0) != 0) o.fail("antialias is not supported");
  const std::string policy = o.text("keep_aspect_ratio_policy", "stretch");
  std::vector<int> axes;
  if (o.has_attribute("axes"))
    for (const std::int64_t a : o.integers("axes")) axes.push_back(o.axis(a, o.rank(0)));
  else
    for (int i = 0; i < o.rank(0); ++i) axes.push_back(i);
  const int scales_at = o.version() < 11 ? 1 : 2;
  std::vector<double> scales;
  std::vector<std::int64_t> sizes;
  if (o.has(scales_at))
    for (const number& x : o.numbers(scales_at).elements)
      scales.push_back(is_real(x) ? std::get<double>(x) : 0);
  if (scales.empty() && o.has(3)) sizes = o.known_integers(3);
  if (scales.size() != axes.size() && sizes.size() != axes.size())
    o.fail("neither scales nor sizes for every axis");
  if (!sizes.empty() && policy != "stretch")
    o.fail("keep_aspect_ratio_policy " + in_quotes(policy) + " is not supported");
  resize_by(o, r, scales, sizes, axes);
}
inline void upsample(operation& o) {
  resizing r{o.text("mode", "nearest"), "asymmetric", "floor"};
  std::vector<double> scales;
  if (o.has(1))
    for (const number& x : o.numbers(1).elements)
      scales.push_back(is_real(x) ? std::get<double>(x) : 0);
  else
    scales = o.reals("scales");
  std::vector<int> axes;
  for (int i = 0; i < o.rank(0); ++i) axes.push_back(i);
  if (scales.size() != axes.size()) o.fail("scales are not one for each axis");
  resize_by(o, r, scales, {}, axes);
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail::image
