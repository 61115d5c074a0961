// SPDX-License-Identifier: MIT
// Functions that write graphs: `value` is a node of a graph, and each function appends the node for
// one op, after bringing its operands to one dtype (scalars only) and one shape (NumPy
// broadcasting, written out as broadcast_to). The front end, the gradients, the expansions of
// composites and the rules all write graphs with these. What does not fit together is a fault of
// the graph: recorded in constant evaluation, where the result is a stand-in, and thrown at run
// time as shape_error, dtype_error or axis_error that names op and shapes (fault.hpp). That is what
// "throws" means below; a function whose comment names no error cannot fault.
#pragma once

#include <algorithm>
#include <concepts>
#include <initializer_list>

#include <sinter/graph/infer.hpp>
#include <sinter/graph/wrap.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/promotion.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// A node of a graph: cheap to copy, valid as long as the graph is where it is.
struct value {
  graph* owner = nullptr;
  int id = -1;

  constexpr const node& get() const { return (*owner)[id]; }
  constexpr dtype type() const { return get().type; }
  // By value: appending nodes moves them.
  constexpr symbolic_shape shape() const { return get().shape; }
  constexpr int rank() const { return static_cast<int>(get().shape.size()); }
  constexpr dim extent(int axis) const { return get().shape[axis]; }
};

/// What an integer of at most 32 bits, or a bool, keeps of a number that is written for it: the low
/// bits of its whole part, as a cast of a C++ integer does. Other dtypes: x itself.
constexpr double kept_of(dtype type, double x) {
  if (is_floating(type) || is_wide_integer(type)) return x;
  if (type == dtype::boolean) return x != 0 ? 1 : 0;
  const std::int64_t whole = x > -0x1p63 && x < 0x1p63 ? static_cast<std::int64_t>(x) : 0;
  return wrap(type, static_cast<std::uint64_t>(whole));
}

/// A scalar constant. An integer takes x truncated toward zero: an i64 or u64 must have x in its
/// range, of the others it is the low bits (256 for u8 is 0).
constexpr value constant(graph& g, dtype type, double x) {
  const std::int64_t bits = !is_wide_integer(type) ? bits_of(kept_of(type, x))
                            : x < 0x1p63           ? static_cast<std::int64_t>(x)
                                         : static_cast<std::int64_t>(static_cast<std::uint64_t>(x));
  return {&g, append(g, op::constant, {}, {static_cast<std::int64_t>(type), bits})};
}
/// The scalar c in the dtype of x.
constexpr value constant_like(value x, double c) { return constant(*x.owner, x.type(), c); }

/// An extent as a scalar of the given dtype: a constant if it is known.
constexpr value extent_scalar(graph& g, dtype type, dim d) {
  if (d.is_constant()) return constant(g, type, static_cast<double>(d.constant()));
  return {&g, append(g, op::extent, std::initializer_list<int>{}, {static_cast<std::int64_t>(type)},
                     span<const dim>(&d, 1))};
}

/// Argument `number` of the function that the graph is. `weak`: a C++ scalar, which takes the dtype
/// of what it meets. Numbers are unique in a graph (`verify` checks that).
constexpr value argument(graph& g, dtype type, int number, const symbolic_shape& shape,
                         bool weak = false) {
  return {&g, append(g, op::argument, {}, {static_cast<std::int64_t>(type), number, weak ? 1 : 0},
                     shape)};
}

/// Positions along `axis` of `shape`, which must have that axis; any dtype but bool.
constexpr value iota(graph& g, dtype type, const symbolic_shape& shape, int axis) {
  return {&g, append(g, op::iota, {}, {static_cast<std::int64_t>(type), axis}, shape)};
}

// ---- movement

/// The elements of x in another shape; x itself if it has that shape. Throws shape_error if their
/// number would change.
constexpr value reshape(value x, const symbolic_shape& shape) {
  if (x.shape() == shape) return x;
  return {x.owner, append(*x.owner, op::reshape, {x.id}, {}, shape)};
}

/// Axis i of the result is axis axes[i] of x; x itself for the identity. Throws axis_error unless
/// the axes are a permutation.
constexpr value permute(value x, span<const std::int64_t> axes) {
  bool identity = static_cast<int>(axes.size()) == x.rank();
  for (std::size_t i = 0; i < axes.size(); ++i)
    identity = identity && axes[i] == static_cast<std::int64_t>(i);
  if (identity) return x;
  const int in[] = {x.id};
  return {x.owner, append(*x.owner, op::permute, in, axes)};
}

/// Exchanges the last two axes. Throws shape_error below rank 2.
constexpr value transpose(value x) {
  inline_vector<std::int64_t, max_rank> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  if (x.rank() < 2) {
    x.owner->fail({fault_kind::wrong_rank, op::permute, x.rank(), 2}, span<const int>(&x.id, 1));
    return x;
  }
  axes[x.rank() - 1] = x.rank() - 2;
  axes[x.rank() - 2] = x.rank() - 1;
  return permute(x, axes);
}

/// x with axes of extent 1 in front, so that it has at least the given rank.
constexpr value with_leading_ones(value x, int rank) {
  if (x.rank() >= rank) return x;
  symbolic_shape shape = symbolic_shape::filled(static_cast<std::size_t>(rank - x.rank()), dim(1));
  for (dim d : x.shape()) shape.push_back(d);
  graph& g = *x.owner;
  if (g.failed()) return x;
  const int in[] = {x.id};  // nothing to check: the number of elements is the same
  return {&g, g.intern(op::reshape, x.type(), shape, in, {}, shape)};
}

/// x repeated to `shape` by the rules of broadcasting; x itself if it has that shape. Throws
/// shape_error if an extent that is not 1 would change, or if x has more axes.
constexpr value broadcast_to(value x, const symbolic_shape& shape) {
  x = with_leading_ones(x, static_cast<int>(shape.size()));
  if (x.shape() == shape) return x;
  graph& g = *x.owner;
  bool same = !g.symbol_values.empty() && x.shape().size() == shape.size();
  for (std::size_t i = 0; same && i < shape.size(); ++i) {
    const dim from = x.shape()[i], to = shape[i];
    // What is 1 in the whole class is repeated, also where the other happens to be 1.
    same = from == to || (!(from == dim(1)) && g.same_at_hand(from, to) && g.agree(from, to));
  }
  if (same) return x;
  return {&g, append(g, op::broadcast_to, {x.id}, {}, shape)};
}

/// The reduction `code` over a bit mask of x's axes, which stay with extent 1 or disappear. Over no
/// axes: x itself (argmax: zeros). Throws dtype_error if the op does not take x's dtype.
constexpr value reduce(op code, value x, std::int64_t axes, bool keep_axes = true) {
  // Over no axes every element is the largest of one: position 0.
  value out = axes != 0            ? value{x.owner, append(*x.owner, code, {x.id}, {axes})}
              : code == op::argmax ? broadcast_to(constant(*x.owner, dtype::i64, 0), x.shape())
                                   : x;
  if (keep_axes) return out;
  symbolic_shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (!has_axis(axes, i)) shape.push_back(x.extent(i));
  return reshape(out, shape);
}

/// The gradient's counterpart of broadcasting: sums over the axes that `shape` would be broadcast
/// along. Where that is not known before binding, a node that binding resolves. Throws shape_error
/// if `shape` has more axes than x, and dtype_error for bools.
constexpr value sum_to(value x, const symbolic_shape& shape) {
  if (x.shape() == shape) return x;
  const int extra = x.rank() - static_cast<int>(shape.size());
  std::int64_t axes = (std::int64_t{1} << (extra > 0 ? extra : 0)) - 1;
  for (int i = extra > 0 ? extra : 0; i < x.rank(); ++i) {
    const dim target = shape[i - extra], source = x.extent(i);
    if (target == source) continue;
    graph& g = *x.owner;
    if (!g.symbol_values.empty() && !(target == dim(1)) && g.same_at_hand(target, source)) {
      g.agree(target, source);
      continue;
    }
    const truth one = g.is_one(target);
    if (one == truth::unknown) return {&g, append(g, op::sum_to, {x.id}, {}, shape)};
    if (one == truth::yes && !(source == dim(1))) axes |= std::int64_t{1} << i;
  }
  return reshape(reduce(op::reduce_sum, x, axes), shape);
}

/// x in reverse order along a bit mask of its axes.
constexpr value flip(value x, std::int64_t axes) {
  return axes == 0 ? x : value{x.owner, append(*x.owner, op::flip, {x.id}, {axes})};
}

/// x with `before` and `after` elements of value `fill` around each axis: as many dims as x has
/// axes.
constexpr value pad(value x, const symbolic_shape& before, const symbolic_shape& after,
                    double fill = 0) {
  inline_vector<dim, 2 * max_rank> dims;
  bool nothing = true;
  for (std::size_t i = 0; i < before.size(); ++i) {
    dims.push_back(before[i]);
    dims.push_back(after[i]);
    nothing = nothing && before[i] == dim(0) && after[i] == dim(0);
  }
  if (nothing) return x;
  return {x.owner, append(*x.owner, op::pad, {x.id}, {bits_of(kept_of(x.type(), fill))}, dims)};
}

/// Every step-th element of [start, stop) along each axis; steps are at least 1. Throws shape_error
/// for bounds that are known to leave the axis or to be in the wrong order; binding checks others.
constexpr value slice(value x, const symbolic_shape& start, const symbolic_shape& stop,
                      const inline_vector<std::int64_t, max_rank>& step) {
  inline_vector<dim, 2 * max_rank> dims;
  bool everything = true;
  for (std::size_t i = 0; i < start.size(); ++i) {
    dims.push_back(start[i]);
    dims.push_back(stop[i]);
    everything = everything && start[i] == dim(0) && stop[i] == x.shape()[i] && step[i] == 1;
  }
  if (everything) return x;
  const int in[] = {x.id};
  return {x.owner, append(*x.owner, op::slice, in, step, dims)};
}

/// Element j of an axis, which keeps the extent 1. Throws as slice.
constexpr value element_along(value x, int axis, std::int64_t j) {
  symbolic_shape start = symbolic_shape::filled(x.shape().size(), dim(0)), stop = x.shape();
  start[axis] = dim(j);
  stop[axis] = dim(j + 1);
  return slice(x, start, stop, inline_vector<std::int64_t, max_rank>::filled(start.size(), 1));
}

/// Sliding windows along one axis, which becomes two, [size, count]: element (j, i) is element
/// i stride + j dilation of x's axis, and count is as large as the axis allows. `size` is at least
/// 1, as are stride and dilation. Copies nothing where it is read by a nest. Throws axis_error if
/// the axis is outside of the rank, shape_error unless one window fits, or if there were more than
/// 8 axes.
constexpr value windows(value x, int axis, dim size, std::int64_t stride = 1,
                        std::int64_t dilation = 1) {
  if (axis >= 0 && axis < x.rank() && x.rank() < max_rank && x.owner->is_one(size) == truth::yes) {
    auto step = inline_vector<std::int64_t, max_rank>::filled(x.shape().size(), 1);
    step[axis] = stride;
    const symbolic_shape origin = symbolic_shape::filled(x.shape().size(), dim(0));
    const value kept = slice(x, origin, x.shape(), step);
    symbolic_shape shape = kept.shape();
    shape.insert(shape.begin() + axis, dim(1));
    return reshape(kept, shape);
  }
  const int in[] = {x.id};
  const std::int64_t attributes[] = {axis, stride, dilation};
  return {x.owner, append(*x.owner, op::windows, in, attributes, span<const dim>(&size, 1))};
}

/// x as a matrix [elements up to and with the axis, elements behind it].
constexpr value split_behind(value x, int axis) {
  dim_table& dims = x.owner->dims;
  dim rows(1), columns(1);
  for (int i = 0; i <= axis; ++i) rows = dims.mul(rows, x.extent(i));
  for (int i = axis + 1; i < x.rank(); ++i) columns = dims.mul(columns, x.extent(i));
  return reshape(x, {rows, columns});
}

/// Puts step - 1 zeros behind every element along `axis`. Of a matrix that is padding of the rows,
/// which needs no extra axis and leaves movement only.
constexpr value spread(value x, int axis, std::int64_t step) {
  dim_table& dims = x.owner->dims;
  symbolic_shape shape = x.shape();
  const value matrix = split_behind(x, axis);
  const value padded =
      pad(matrix, {dim(0), dim(0)}, {dim(0), dims.mul(matrix.extent(1), dim(step - 1))});
  shape[axis] = dims.mul(shape[axis], dim(step));
  return reshape(padded, shape);
}

/// The reverse of `windows` with these numbers along an axis of this extent: axes `axis` and
/// axis + 1 of x, [size, count], become one, and elements of windows that share a place are added
/// up; places in no window are 0. Numbers. Throws axis_error if there are no such axes, shape_error
/// if count is not the number of windows of that extent, dtype_error for bools.
constexpr value sum_windows(value x, int axis, dim extent, std::int64_t stride = 1,
                            std::int64_t dilation = 1) {
  const int in[] = {x.id};
  const std::int64_t attributes[] = {axis, stride, dilation};
  return {x.owner, append(*x.owner, op::sum_windows, in, attributes, span<const dim>(&extent, 1))};
}

/// x in another dtype; x itself if it has that.
constexpr value cast(value x, dtype type) {
  return x.type() == type ? x
                          : value{x.owner, append(*x.owner, op::cast, {x.id},
                                                  {static_cast<std::int64_t>(type)})};
}

// x in the dtype that the operands promote to, where casts are implicit.
constexpr value in_meeting_dtype(value x, span<const value> operands) {
  if (!x.owner->implicit_casts) return x;
  dtype type = operands[0].type();
  for (const value& v : operands) type = promote(type, v.type());
  return cast(x, type);
}

/// One or more parts one after another along `axis`. Throws axis_error if the axis is outside of
/// their rank, dtype_error unless they have one dtype, shape_error unless they have one rank and
/// their other extents agree.
constexpr value concat(span<const value> parts, int axis) {
  if (parts.size() == 1) return parts[0];
  std::vector<int> in;
  for (value p : parts) in.push_back(in_meeting_dtype(p, parts).id);
  const std::int64_t attributes[] = {axis};
  return {parts[0].owner, append(*parts[0].owner, op::concat, in, attributes)};
}

// ---- element-wise

/// A weak scalar in the dtype of what it meets. A float does not silently become an integer, nor a
/// number a bool: those stay what they are, and the shape rule of the op reports the mixed dtypes.
constexpr value weak_cast(value x, dtype type) {
  const dtype own = x.type();
  if (own == type || own == dtype::boolean || type == dtype::boolean ||
      (is_floating(own) && !is_floating(type)))
    return x;
  if (x.get().code == op::constant) return constant(*x.owner, type, constant_value(*x.owner, x.id));
  return cast(x, type);
}

/// What two extents broadcast to; a `broadcast` dim where that is not known before binding.
constexpr dim broadcast_extent(graph& g, dim a, dim b) {
  if (a == b || b == dim(1)) return a;
  if (a == dim(1)) return b;
  // Extents that agree, or do not, are left to the shape rule of the op, which reports them with
  // both shapes.
  const dim either = b.is_constant() ? b : a;
  if (!g.symbol_values.empty() && g.same_at_hand(a, b)) return either;
  const truth one_a = g.is_one(a), one_b = g.is_one(b);
  if (one_a == truth::yes) return b;
  if (one_b == truth::yes) return a;
  return one_a == truth::no && one_b == truth::no ? either : g.dims.broadcast(a, b);
}

/// What two shapes, aligned at the last axis, broadcast to; extents that disagree are left to the
/// shape rule of the op.
constexpr symbolic_shape broadcast_shape(graph& g, const symbolic_shape& a,
                                         const symbolic_shape& b) {
  const symbolic_shape& longer = a.size() >= b.size() ? a : b;
  const symbolic_shape& shorter = a.size() >= b.size() ? b : a;
  symbolic_shape out = longer;
  const std::size_t extra = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i)
    out[extra + i] = broadcast_extent(g, longer[extra + i], shorter[i]);
  return out;
}

/// True if `from`, of no higher rank, can be broadcast to `to` as far as is known.
constexpr bool can_broadcast(graph& g, const symbolic_shape& from, const symbolic_shape& to) {
  const std::size_t extra = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!g.meets(from[i], to[extra + i])) return false;
  return true;
}

/// Reports the first pair of extents that keeps operands from having one shape: throws shape_error.
constexpr value fail_to_broadcast(graph& g, op code, span<const value> operands,
                                  const symbolic_shape& shape) {
  inline_vector<int, 3> ids;
  fault problem;
  for (const value& v : operands) {
    ids.push_back(v.id);
    const symbolic_shape from = v.shape();
    const std::size_t extra = shape.size() - from.size();
    for (std::size_t i = from.size(); i-- > 0 && problem.kind == fault_kind::none;)
      if (!g.meets(from[i], shape[extra + i]))
        problem = detail::disagree(g, code, from[i], shape[extra + i]);
  }
  g.fail(problem, ids);
  return operands[0];
}

/// True if operands need neither a cast nor broadcasting: most do not, and asking costs less of the
/// constexpr step limit.
constexpr bool fit_as_they_are(op code, std::initializer_list<value> operands) {
  const node* tensor = nullptr;
  const node& first = operands.begin()[code == op::where ? 1 : 0].get();
  for (const value& v : operands) {
    const node& n = v.get();
    if (n.type != first.type && (code != op::where || &v != operands.begin())) return false;
    if (n.shape.count == 0) continue;
    if (tensor != nullptr && !(n.shape == tensor->shape)) return false;
    tensor = &n;
  }
  return true;
}

/// Appends an element-wise op: weak scalars take the dtype of the others, shapes broadcast; scalars
/// stay scalars. Throws shape_error if the shapes do not broadcast, dtype_error if the dtypes
/// differ or the op does not take them.
constexpr value elementwise(op code, std::initializer_list<value> operands) {
  graph& g = *operands.begin()->owner;
  if (fit_as_they_are(code, operands)) {
    int ids[3]{};
    std::size_t count = 0;
    for (const value& v : operands) ids[count++] = v.id;
    return {&g, append(g, code, span<const int>(ids, count))};
  }

  inline_vector<value, 3> in(operands.begin(), operands.end());
  const std::size_t first = code == op::where ? 1 : 0;
  // The first operand that is not weak decides the dtype; among weak ones the widest (dtypes are in
  // that order).
  dtype type = in[first].type();
  bool weak = in[first].get().weak;
  for (std::size_t i = first + 1; i < in.size(); ++i) {
    const node& n = in[i].get();
    if (weak && (!n.weak || n.type > type)) type = n.type;
    weak = weak && n.weak;
  }
  // The bounds are for GCC 12, which at -O3 takes a fourth operand for possible.
  const std::size_t last = std::min<std::size_t>(in.size(), 3);
  for (std::size_t i = first; i < last; ++i)
    if (in[i].get().weak && !is_conversion(code)) in[i] = weak_cast(in[i], type);
  if (g.implicit_casts) {
    for (std::size_t i = first; i < last; ++i) type = promote(type, in[i].type());
    for (std::size_t i = first; i < last; ++i) in[i] = cast(in[i], type);
  }

  symbolic_shape shape = in[0].shape();
  bool fits = true;
  for (const value& v : in)
    if (!(v.get().shape == shape)) shape = broadcast_shape(g, shape, v.shape());
  for (const value& v : in)
    if (!(v.get().shape == shape)) fits = fits && can_broadcast(g, v.shape(), shape);
  if (!fits) return fail_to_broadcast(g, code, {in.begin(), in.size()}, shape);
  inline_vector<int, 3> ids;
  for (value& v : in) {
    if (v.rank() != 0) v = broadcast_to(v, shape);
    ids.push_back(v.id);
  }
  return {&g, append(g, code, ids)};
}

/// Appends an element-wise op of one operand. Throws dtype_error if the op does not take x's dtype.
constexpr value unary(op code, value x) { return {x.owner, append(*x.owner, code, {x.id})}; }

/// Arithmetic as `elementwise`; a double becomes a constant in the dtype of the other operand.
constexpr value operator+(value a, value b) { return elementwise(op::add, {a, b}); }
constexpr value operator-(value a, value b) { return elementwise(op::sub, {a, b}); }
constexpr value operator*(value a, value b) { return elementwise(op::mul, {a, b}); }
constexpr value operator/(value a, value b) { return elementwise(op::div, {a, b}); }
constexpr value operator-(value a) { return unary(op::neg, a); }
constexpr value operator+(value a, double b) { return a + constant_like(a, b); }
constexpr value operator+(double a, value b) { return constant_like(b, a) + b; }
constexpr value operator-(value a, double b) { return a - constant_like(a, b); }
constexpr value operator-(double a, value b) { return constant_like(b, a) - b; }
constexpr value operator*(value a, double b) { return a * constant_like(a, b); }
constexpr value operator*(double a, value b) { return constant_like(b, a) * b; }
constexpr value operator/(value a, double b) { return a / constant_like(a, b); }
constexpr value operator/(double a, value b) { return constant_like(b, a) / b; }

/// a where the condition, a bool, is true, b elsewhere. Throws as `elementwise`.
constexpr value where(value condition, value a, value b) {
  return elementwise(op::where, {condition, a, b});
}

// ---- reductions and contractions

/// The sum over a bit mask of axes, in x's dtype. Throws dtype_error for bools.
constexpr value sum(value x, std::int64_t axes, bool keep_axes = true) {
  return reduce(op::reduce_sum, x, axes, keep_axes);
}

/// The bit mask of all axes of x.
constexpr std::int64_t all_axes(value x) { return (std::int64_t{1} << x.rank()) - 1; }

/// The number of elements that a reduction over `axes` combines, as a scalar of x's dtype.
constexpr value reduced_count(value x, std::int64_t axes) {
  dim total(1);
  for (int i = 0; i < x.rank(); ++i)
    if (has_axis(axes, i)) total = x.owner->dims.mul(total, x.extent(i));
  return extent_scalar(*x.owner, x.type(), total);
}

/// The sum divided by the number of elements, in x's dtype. Throws dtype_error for bools.
constexpr value mean(value x, std::int64_t axes, bool keep_axes = true) {
  if (is_narrow_float(x.type()))  // neither the sum nor the number need be an f16
    return cast(mean(cast(x, dtype::f32), axes, keep_axes), x.type());
  return sum(x, axes, keep_axes) / reduced_count(x, axes);
}

/// The mean of squared distances from the mean: the population variance. Throws dtype_error for
/// bools.
constexpr value variance(value x, std::int64_t axes, bool keep_axes = true) {
  if (is_narrow_float(x.type()))
    return cast(variance(cast(x, dtype::f32), axes, keep_axes), x.type());
  const value centred = x - mean(x, axes);
  return mean(centred * centred, axes, keep_axes);
}

/// a[..., m, k] times b[..., k, n], each with its last two axes exchanged where that is asked for;
/// leading extents broadcast. Throws shape_error below rank 2, or if inner or leading extents do
/// not fit; dtype_error unless both are numbers of one dtype.
constexpr value matmul(value a, value b, bool transpose_a = false, bool transpose_b = false) {
  graph& g = *a.owner;
  if (g.implicit_casts) {
    const value both[] = {a, b};
    a = in_meeting_dtype(a, both);
    b = in_meeting_dtype(b, both);
  }
  if (a.rank() >= 2 && b.rank() >= 2 && a.rank() + b.rank() > 4) {
    symbolic_shape batch_a = a.shape(), batch_b = b.shape();
    batch_a.resize(batch_a.size() - 2);
    batch_b.resize(batch_b.size() - 2);
    symbolic_shape batch = broadcast_shape(g, batch_a, batch_b);
    if (can_broadcast(g, batch_a, batch) && can_broadcast(g, batch_b, batch)) {
      const auto whole = [&](value x) {
        symbolic_shape shape = batch;
        shape.push_back(x.extent(x.rank() - 2));
        shape.push_back(x.extent(x.rank() - 1));
        return broadcast_to(x, shape);
      };
      a = whole(a);
      b = whole(b);
    }
  }
  return {&g, append(g, op::matmul, {a.id, b.id}, {transpose_a ? 1 : 0, transpose_b ? 1 : 0})};
}

/// x at `indices` along `axis`, which is replaced by the axes of the indices. Throws axis_error if
/// the axis is outside of x's rank, dtype_error unless the indices are integers, shape_error if the
/// result had too many axes.
constexpr value gather(value x, value indices, int axis) {
  return {x.owner, append(*x.owner, op::gather, {x.id, indices.id}, {axis})};
}
/// The transpose of gather: zeros of `shape` to which each update is added at its index along
/// `axis`. Throws dtype_error unless the indices are integers, axis_error if the axis is outside of
/// the shape, shape_error unless the updates have the shape with the indices' axes at the axis.
constexpr value scatter_add(value updates, value indices, int axis, const symbolic_shape& shape) {
  return {updates.owner,
          append(*updates.owner, op::scatter_add, {updates.id, indices.id}, {axis}, shape)};
}

/// The sum of each element and those before it along `axis`; `exclusive`: without the element
/// itself, `reverse`: those behind it. Throws axis_error if the axis is outside of x's rank,
/// dtype_error for bool.
constexpr value cumsum(value x, int axis, bool exclusive = false, bool reverse = false) {
  return {x.owner,
          append(*x.owner, op::cumsum, {x.id}, {axis, exclusive ? 1 : 0, reverse ? 1 : 0})};
}

}  // namespace sinter::inline SINTER_ABI::ir
