// SPDX-License-Identifier: MIT
// Operators of ONNX that combine elements along axes: reductions, softmax, normalisations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sinter/onnx/movement.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail::reduction {

// What is reduced: axes as an attribute, or as an input in later versions; none means all, unless
// they say that none is none.
struct reduced_axes {
  std::int64_t mask = 0;
  bool keep = true;
};
inline reduced_axes axes_of(operation& o) {
  const int rank = o.rank(0);
  const std::vector<std::int64_t> axes = movement::axes_of(o, 1);
  const bool none = o.integer("noop_with_empty_axes", 0) != 0 && axes.empty();
  const bool keep = o.integer("keepdims", 1) != 0;
  const std::int64_t all = (std::int64_t{1} << rank) - 1;
  return {none ? 0 : axes.empty() ? all : o.mask(axes, rank), keep};
}

enum class form { sum, mean, prod, l1, l2, log_sum, log_sum_exp, sum_square };

template <form Form>
void reduce(operation& o) {
  const auto [mask, keep] = axes_of(o);
  const ir::value x = o.in(0);
  const auto sum = [mask = mask, keep = keep](ir::value y) { return ir::sum(y, mask, keep); };
  switch (Form) {
    case form::sum: return o.give(sum(x));
    case form::mean: return o.give(ir::mean(x, mask, keep));
    case form::prod: return o.give(ir::reduce(ir::op::reduce_prod, x, mask, keep));
    case form::l1:
      return o.give(sum(is_unsigned_integer(x.type()) ? x : ir::unary(ir::op::abs, x)));
    case form::l2: return o.give(ir::unary(ir::op::sqrt, sum(x * x)));
    case form::log_sum: return o.give(ir::unary(ir::op::log, sum(x)));
    case form::log_sum_exp: return o.give(sinter::detail::log_sum_exp(x, mask, keep));
    case form::sum_square: return o.give(sum(x * x));
  }
}

template <ir::op Code>
void extreme(operation& o) {
  const auto [mask, keep] = axes_of(o);
  const ir::value x = o.in(0);
  if (x.type() != dtype::boolean) return o.give(ir::reduce(Code, x, mask, keep));
  o.give(ir::cast(ir::reduce(Code, ir::cast(x, dtype::u8), mask, keep), dtype::boolean));
}

// ReduceSum and the like of known numbers: the number of elements of a shape.
template <form Form, arithmetic::operation Known>
void known_reduce(operation& o) {
  const known_tensor* const k = o.known(0);
  const int rank = o.rank(0);
  if (k == nullptr || rank != 1 || k->size() == 0 || is_real(k->elements[0]))
    return reduce<Form>(o);
  const auto [mask, keep] = axes_of(o);
  if (mask != 1) return reduce<Form>(o);
  std::optional<number> total = k->elements[0];
  for (std::size_t i = 1; i < k->size() && total; ++i)
    total = combine(o.dims(), Known, *total, k->elements[i]);
  if (total) total = stored_as(k->type, *total);
  if (!total) return reduce<Form>(o);
  o.give(known_tensor{k->type, keep ? shape_vector{1} : shape_vector{}, {*total}});
}

// The first or the last place of the largest or smallest element.
template <bool Largest>
void arg_extreme(operation& o) {
  const ir::value x = o.in(0);
  const int axis = o.axis(o.integer("axis", 0), x.rank());
  const bool keep = o.integer("keepdims", 1) != 0, last = o.integer("select_last_index", 0) != 0;
  const std::int64_t mask = std::int64_t{1} << axis;
  const ir::value ordered = Largest ? x : sinter::detail::reversed(x);
  const ir::value place =
      ir::reduce(ir::op::argmax, last ? ir::flip(ordered, mask) : ordered, mask, keep);
  if (!last) return o.give(place);
  const ir::value end = ir::extent_scalar(o.graph(), dtype::i64, x.extent(axis)) - 1.0;
  o.give(end - place);
}

// Before opset 13 the axes from `axis` on are one.
inline std::int64_t softmax_axes(operation& o, int rank) {
  const bool together = o.version() < 13;
  const std::int64_t given = o.integer("axis", together ? 1 : -1);
  if (together && given == rank) return 0;
  const int from = o.axis(given, rank);
  if (!together) return std::int64_t{1} << from;
  return ((std::int64_t{1} << rank) - 1) & ~((std::int64_t{1} << from) - 1);
}
template <ir::op Code>
void softmax(operation& o) {
  const ir::value x = o.in(0);
  o.give({x.owner, ir::append(o.graph(), Code, {x.id}, {softmax_axes(o, x.rank())})});
}
inline void hardmax(operation& o) {
  const ir::value x = o.in(0);
  const std::int64_t axes = softmax_axes(o, x.rank());
  // The first of the largest, in row-major order of all axes.
  ir::dim total(1);
  for (int i = 0; i < x.rank(); ++i)
    if (ir::has_axis(axes, i)) total = o.dims().mul(total, x.extent(i));
  const bool single = (axes & (axes - 1)) == 0;
  if (!single) o.fail("a hardmax over several axes (before opset 13) is not supported");
  int axis = 0;
  while (!ir::has_axis(axes, axis)) ++axis;
  const ir::value place = ir::reduce(ir::op::argmax, x, axes);
  ir::symbolic_shape counter = ir::symbolic_shape::filled(x.shape().size(), ir::dim(1));
  counter[axis] = x.extent(axis);
  const ir::value hit =
      ir::elementwise(ir::op::equal, {ir::iota(o.graph(), dtype::i64, counter, axis), place});
  o.give(ir::cast(hit, x.type()));
}

inline ir::value normalised(operation& o, ir::op code, ir::value x, std::int64_t axes, double eps) {
  return {x.owner, ir::append(o.graph(), code, {x.id}, {axes, ir::bits_of(eps)})};
}

// A vector over the channels of x [n, channels, ...], ready to meet it.
inline ir::value for_channels(ir::value x, ir::value parameter) {
  if (parameter.rank() == 0) return parameter;
  ir::symbolic_shape shape =
      ir::symbolic_shape::filled(static_cast<std::size_t>(x.rank() - 1), ir::dim(1));
  if (parameter.rank() != 1 || shape.empty())
    throw shape_error("a parameter that is no vector over the channels");
  shape[0] = parameter.extent(0);
  return ir::reshape(parameter, shape);
}

inline std::int64_t axes_from(operation& o, int rank, std::int64_t otherwise) {
  const int from = o.axis(o.integer("axis", otherwise), rank);
  return ((std::int64_t{1} << rank) - 1) & ~((std::int64_t{1} << from) - 1);
}

inline void layer_norm(operation& o) {
  o.ignore("stash_type");  // of the mean and the deviation; both are computed in f32 at least
  const ir::value x = o.in(0);
  const std::int64_t axes = axes_from(o, x.rank(), -1);
  const double eps = o.real("epsilon", 1e-5);
  ir::value out = normalised(o, ir::op::layer_norm, x, axes, eps) * o.operand(1, x.rank());
  if (o.has(2)) out = out + o.operand(2, x.rank());
  o.give(out);
  const ir::value wide = is_narrow_float(x.type()) ? ir::cast(x, dtype::f32) : x;
  if (o.wants(1)) o.give(1, ir::mean(wide, axes));
  if (o.wants(2)) o.give(2, ir::unary(ir::op::rsqrt, ir::variance(wide, axes) + eps));
}
inline void rms_norm(operation& o) {
  o.ignore("stash_type");
  const ir::value x = o.in(0);
  const std::int64_t axes = axes_from(o, x.rank(), -1);
  const ir::value normal = normalised(o, ir::op::rms_norm, x, axes, o.real("epsilon", 1e-5));
  o.give(normal * o.operand(1, x.rank()));
}

inline void instance_norm(operation& o) {
  o.ignore("consumed_inputs");
  const ir::value x = o.in(0);
  if (x.rank() < 3)
    throw shape_error("rank " + std::to_string(x.rank()) + " where at least 3 is expected");
  const ir::value normal = normalised(o, ir::op::layer_norm, x, ir::all_axes(x) & ~std::int64_t{3},
                                      o.real("epsilon", 1e-5));
  o.give(normal * for_channels(x, o.in(1)) + for_channels(x, o.in(2)));
}
inline void group_norm(operation& o) {
  o.ignore("stash_type");
  const ir::value x = o.in(0);
  const std::int64_t groups = o.integer("num_groups", 0);
  const double eps = o.real("epsilon", 1e-5);
  const ir::value normal = sinter::group_norm(handle(x), groups, eps).node;
  const auto parameter = [&](int i) {
    ir::value p = o.in(i);
    // Before opset 21 there is one for each group.
    if (o.version() < 21) {
      const ir::dim each = o.dims().floor_div(x.extent(1), ir::dim(groups));
      p = ir::broadcast_to(ir::reshape(p, {ir::dim(groups), ir::dim(1)}), {ir::dim(groups), each});
      p = ir::reshape(p, {x.extent(1)});
    }
    return for_channels(x, p);
  };
  o.give(normal * parameter(1) + parameter(2));
}
inline void batch_norm(operation& o) {
  for (const std::string_view name : {"momentum", "consumed_inputs", "is_test"}) o.ignore(name);
  if (o.integer("training_mode", 0) != 0) o.fail("training_mode is for training");
  if (o.integer("spatial", 1) == 0) o.fail("spatial = 0 is not supported");
  const ir::value x = o.in(0);
  const double eps = o.real("epsilon", 1e-5);
  const auto per_channel = [&](int i) { return for_channels(x, o.in(i)); };
  const ir::value scale = ir::unary(ir::op::rsqrt, per_channel(4) + eps);
  o.give((x - per_channel(3)) * scale * per_channel(1) + per_channel(2));
}
inline void mean_variance_norm(operation& o) {
  const ir::value x = o.in(0);
  const std::int64_t axes = o.mask(o.integers("axes", {0, 2, 3}), x.rank());
  const ir::value centred = x - ir::mean(x, axes);
  o.give(centred / (ir::unary(ir::op::sqrt, ir::mean(centred * centred, axes)) + 1e-9));
}
inline void lp_norm(operation& o) {
  const ir::value x = o.in(0);
  const std::int64_t axes = std::int64_t{1} << o.axis(o.integer("axis", -1), x.rank());
  const std::int64_t p = o.integer("p", 2);
  if (p != 1 && p != 2) o.fail("p " + std::to_string(p) + " is not supported");
  const ir::value size = p == 1 ? ir::sum(ir::unary(ir::op::abs, x), axes)
                                : ir::unary(ir::op::sqrt, ir::sum(x * x, axes));
  const ir::value zero = ir::constant_like(size, 0);
  // A vector of zeros stays one.
  const ir::value divisor =
      ir::where(ir::elementwise(ir::op::equal, {size, zero}), ir::constant_like(size, 1), size);
  o.give(x / divisor);
}

inline void cumsum(operation& o) {
  const bool exclusive = o.integer("exclusive", 0) != 0, reverse = o.integer("reverse", 0) != 0;
  const ir::value x = o.in(0);
  const int axis = o.axis(o.known_integer(1), x.rank());
  o.give(sinter::cumsum(handle(x), axis, {exclusive, reverse}).node);
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail::reduction
