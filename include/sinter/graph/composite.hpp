// SPDX-License-Identifier: MIT
// What composites mean: each one written out in primitives. The rules use these expansions to let a
// composite and the same thing written by hand meet in one e-class, the executor falls back on
// them, and tests compare them with the interpreter's direct formulas.
#pragma once

#include <cstdint>
#include <vector>

#include <sinter/graph/build.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

constexpr value expand_softmax(value x, std::int64_t axes) {
  // The largest element is subtracted first: exp then stays in (0, 1] whatever the logits are.
  const value e = unary(op::exp, x - reduce(op::reduce_max, x, axes));
  return e / sum(e, axes);
}

constexpr value expand_log_softmax(value x, std::int64_t axes) {
  const value shifted = x - reduce(op::reduce_max, x, axes);
  return shifted - unary(op::log, sum(unary(op::exp, shifted), axes));
}

constexpr value expand_layer_norm(value x, std::int64_t axes, double eps) {
  return (x - mean(x, axes)) * unary(op::rsqrt, variance(x, axes) + eps);
}

constexpr value expand_rms_norm(value x, std::int64_t axes, double eps) {
  return x * unary(op::rsqrt, mean(x * x, axes) + eps);
}

// log-sum-exp of a row minus the label's logit. The logit is picked by comparing a counter with the
// label instead of a gather, so that one pass over the row computes all of it. A label outside of
// the classes picks nothing: its loss is the row's log-sum-exp.
constexpr value expand_cross_entropy(value x, value labels) {
  graph& g = *x.owner;
  const int last = x.rank() - 1;
  const std::int64_t axes = std::int64_t{1} << last;

  // u8 would count the classes modulo 256.
  const value wide = is_narrow_integer(labels.type()) ? cast(labels, dtype::i32) : labels;
  symbolic_shape column = wide.shape();
  column.push_back(dim(1));
  const value is_label =
      elementwise(op::equal, {iota(g, wide.type(), x.shape(), last), reshape(wide, column)});
  const value logit = sum(where(is_label, x, constant_like(x, 0)), axes);

  const value largest = reduce(op::reduce_max, x, axes);
  const value log_sum = unary(op::log, sum(unary(op::exp, x - largest), axes));
  symbolic_shape rows = x.shape();
  rows.pop_back();
  return reshape((log_sum + largest) - logit, rows);
}

// Pairs (a, b) of an axis of even extent become (a cos - b sin, a sin + b cos), the angle of pair i
// at position p being p theta^(-2 i / depth) (Su et al. 2021, "RoFormer"). Pairs are the neighbours
// 2 i and 2 i + 1, or i of the first half and i of the second.
constexpr value expand_rope(value x, value positions, span<const std::int64_t> attributes) {
  graph& g = *x.owner;
  const int last = x.rank() - 1, axis = static_cast<int>(attributes[3]);
  const double theta = double_of(attributes[0]);
  const bool neighbours = attributes[1] != 0, inverse = attributes[2] != 0;
  const symbolic_shape shape = x.shape();
  const dim depth = shape.back(), half = g.dims.floor_div(depth, dim(2)),
            whole = g.dims.add(half, half);
  if (depth == dim(0)) return x;

  // [places, 1, ..., pairs], in the order of x's axes from `axis` on.
  const value exponent = iota(g, x.type(), {half}, 0) * (-2.0 / extent_scalar(g, x.type(), depth));
  const value rate = elementwise(op::pow, {constant_like(x, theta), exponent});
  symbolic_shape column = symbolic_shape::filled(static_cast<std::size_t>(last - axis + 1), dim(1));
  column[0] = shape[axis];
  const value angle = reshape(cast(positions, x.type()), column) * rate;
  const value c = unary(op::cos, angle);
  const value s = inverse ? -unary(op::sin, angle) : unary(op::sin, angle);

  const auto part = [&](dim start, dim stop, std::int64_t step) {
    symbolic_shape from = symbolic_shape::filled(shape.size(), dim(0)), to = shape;
    inline_vector<std::int64_t, max_rank> steps;
    steps.resize(shape.size(), 1);
    from[last] = start;
    to[last] = stop;
    steps[last] = step;
    return slice(x, from, to, steps);
  };
  // Without the last element the extent is `half` also where the depth is a symbol.
  const dim end = depth.is_constant() ? depth : g.dims.sub(whole, dim(1));
  const value a = neighbours ? part(dim(0), end, 2) : part(dim(0), half, 1);
  const value b = neighbours ? part(dim(1), whole, 2) : part(half, whole, 1);
  value turned[] = {a * c - b * s, a * s + b * c};
  if (neighbours) {
    symbolic_shape pairs = a.shape();
    pairs.push_back(dim(1));
    for (value& v : turned) v = reshape(v, pairs);
  }
  return reshape(concat(turned, neighbours ? last + 1 : last), shape);
}

// Window element (j, i) belongs at i stride + j dilation: rows j of one length, each padded by
// `dilation` more than it should have, shift by that much per row when they are cut anew, and the
// sum of the rows is the result. No extent has to be known, and the size of the graph does not
// depend on that of the windows.
constexpr value expand_sum_windows(value x, int axis, std::int64_t stride, std::int64_t dilation,
                                   dim extent) {
  dim_table& dims = x.owner->dims;
  const dim size = x.extent(axis);
  symbolic_shape result = x.shape();
  result.erase(result.begin() + axis + 1);
  result[axis] = extent;
  const value rows = stride == 1 ? x : spread(x, axis + 1, stride);
  const dim shift = dims.mul(size, dim(dilation)), length = dims.add(rows.extent(axis + 1), shift),
            kept = dims.sub(length, dim(dilation));
  const symbolic_shape none = symbolic_shape::filled(rows.shape().size(), dim(0));
  symbolic_shape behind = none;
  behind[axis + 1] = shift;
  const value padded = pad(rows, none, behind);

  const auto whole = symbolic_shape::filled(result.size(), dim(0));
  const auto ones = inline_vector<std::int64_t, max_rank>::filled(whole.size(), 1);
  symbolic_shape line = result;
  line[axis] = dims.mul(size, length);
  symbolic_shape shifted = line;
  shifted[axis] = dims.mul(size, kept);
  const value cut = slice(reshape(padded, line), whole, shifted, ones);
  symbolic_shape anew = padded.shape();
  anew[axis + 1] = kept;
  const value total = sum(reshape(cut, anew), std::int64_t{1} << axis, false);
  // A spread row ends with stride - 1 zeros; what lies behind the extent's end is some of them.
  return slice(total, whole, result, ones);
}

}  // namespace detail

/// Writes the composite `code` in primitives behind the last node of `g` and returns the node with
/// its value. `inputs`, `attributes` and `dims` are those of the composite's node (graph.hpp) and
/// may point into `g`. Throws what `append` throws; `code` must be a composite, otherwise the
/// result has the id -1 and nothing is written.
constexpr value expand(graph& g, op code, span<const int> inputs,
                       span<const std::int64_t> attributes, span<const dim> dims = {}) {
  if (info(code).kind != kind::composite) return {&g, -1};
  // Copies: appending moves what the spans point to.
  const value x{&g, inputs[0]};
  const value second{&g, inputs.size() > 1 ? inputs[1] : -1};
  const std::int64_t axes = attributes.empty() ? 0 : attributes[0];
  const double eps = attributes.size() > 1 ? double_of(attributes[1]) : 0;
  switch (code) {
    case op::softmax: return detail::expand_softmax(x, axes);
    case op::log_softmax: return detail::expand_log_softmax(x, axes);
    case op::layer_norm: return detail::expand_layer_norm(x, axes, eps);
    case op::rms_norm: return detail::expand_rms_norm(x, axes, eps);
    case op::first_max: return reduce(op::reduce_max, x, axes);
    case op::cross_entropy: return detail::expand_cross_entropy(x, second);
    case op::rope: {
      const std::vector<std::int64_t> own(attributes.begin(), attributes.end());
      return detail::expand_rope(x, second, own);
    }
    case op::sum_windows:
      return detail::expand_sum_windows(x, static_cast<int>(attributes[0]), attributes[1],
                                        attributes[2], dims[0]);
    default: return {&g, -1};
  }
}

/// The same for the element-wise ops that are defined by simpler ones; the id is -1 for an op that
/// is not. The expansions agree with the op to rounding, and where the op is defined by a limit
/// (silu at -infinity) both give NaN.
constexpr value expand_elementwise(graph& g, op code, span<const int> inputs) {
  if (inputs.size() != 1) return {&g, -1};
  const value x{&g, inputs[0]};
  switch (code) {
    case op::relu: return elementwise(op::maximum, {x, constant_like(x, 0)});
    case op::recip: return 1.0 / x;
    case op::rsqrt: return 1.0 / unary(op::sqrt, x);
    case op::sigmoid: return 1.0 / (unary(op::exp, -x) + 1.0);
    case op::silu: return x * unary(op::sigmoid, x);
    case op::gelu: {
      constexpr double inverse_root_two = 0.70710678118654752440;
      return (x * 0.5) * (unary(op::erf, x * inverse_root_two) + 1.0);
    }
    case op::gelu_tanh: {
      constexpr double root_two_over_pi = 0.79788456080286535588;
      const value inner = (x + (x * x * x) * 0.044715) * root_two_over_pi;
      return (x * 0.5) * (unary(op::tanh, inner) + 1.0);
    }
    case op::softplus: {
      const value positive = elementwise(op::maximum, {x, constant_like(x, 0)});
      return positive + unary(op::log, unary(op::exp, -unary(op::abs, x)) + 1.0);
    }
    default: return {&g, -1};
  }
}

}  // namespace sinter::inline SINTER_ABI::ir
