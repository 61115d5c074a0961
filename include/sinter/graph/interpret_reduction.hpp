// SPDX-License-Identifier: MIT
// The reference interpreter's reductions and composites, each by its direct formula: composites do
// not go through their expansions, so that the two can be checked against each other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <sinter/graph/infer.hpp>
#include <sinter/graph/reference_tensor.hpp>
#include <sinter/graph/scalar_semantics.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir::detail {

// The elements that share one result of a reduction: their positions in the operand, in row-major
// order.
using group = std::vector<std::size_t>;

struct grouping {
  shape_vector shape;         // of the result: the reduced extents are 1
  std::vector<group> groups;  // one per element of the result; empty ones if a reduced extent is 0
};

inline grouping group_by_axes(const shape_vector& shape, std::int64_t axes) {
  grouping out{shape, {}};
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (has_axis(axes, static_cast<int>(axis))) out.shape[axis] = 1;
  out.groups.resize(static_cast<std::size_t>(element_count(out.shape)));
  shape_vector strides = row_major_strides(out.shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (has_axis(axes, static_cast<int>(axis))) strides[axis] = 0;
  std::size_t position = 0;
  for_each_index(shape, [&](const shape_vector& index) {
    out.groups[offset_of(index, strides)].push_back(position++);
  });
  return out;
}

// The largest element; -infinity (the lowest integer) if there is none.
inline double largest_of(const reference_tensor& x, const group& members) {
  double out = lowest_of(x.type);
  for (std::size_t i : members) out = maximum(out, x.data[i]);
  return out;
}

// The position inside the group of the first largest element, a NaN being the largest; 0 for an
// empty group.
inline double first_largest(const reference_tensor& x, const group& members) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < members.size(); ++i) {
    const double champion = x.data[members[best]], challenger = x.data[members[i]];
    if (challenger > champion || (challenger != challenger && champion == champion)) best = i;
  }
  return static_cast<double>(best);
}

inline double reduce_group(op code, const reference_tensor& x, const group& members) {
  if (code == op::reduce_max) return largest_of(x, members);
  if (code == op::argmax) return first_largest(x, members);
  double out = code == op::reduce_sum ? 0.0 : code == op::reduce_prod ? 1.0 : highest_of(x.type);
  for (std::size_t i : members) {
    if (code == op::reduce_sum) out = evaluate_scalar(op::add, x.type, out, x.data[i]);
    if (code == op::reduce_prod) out = evaluate_scalar(op::mul, x.type, out, x.data[i]);
    if (code == op::reduce_min) out = minimum(out, x.data[i]);
  }
  return out;
}

inline reference_tensor interpret_reduction(op code, const reference_tensor& x, std::int64_t axes) {
  const grouping rows = group_by_axes(x.shape, axes);
  reference_tensor out{code == op::argmax ? dtype::i64 : x.type, rows.shape, {}};
  for (const group& row : rows.groups) out.data.push_back(reduce_group(code, x, row));
  return out;
}

// Along each line: what its elements so far add up to.
inline reference_tensor interpret_cumsum(const reference_tensor& x, int axis, bool exclusive,
                                         bool reverse) {
  reference_tensor out = x;
  for (group& line : group_by_axes(x.shape, std::int64_t{1} << axis).groups) {
    if (reverse) std::ranges::reverse(line);
    double sum = 0;
    for (std::size_t i : line) {
      const double before = sum;
      sum = evaluate_scalar(op::add, x.type, sum, x.data[i]);
      out.data[i] = exclusive ? before : sum;
    }
  }
  return out;
}

// ---- composites

inline double log_sum_exp(const reference_tensor& x, const group& row) {
  const double largest = largest_of(x, row);
  double total = 0;
  for (std::size_t i : row) total += std::exp(x.data[i] - largest);
  return largest + std::log(total);
}

inline void softmax_row(const reference_tensor& x, const group& row, reference_tensor& out) {
  const double largest = largest_of(x, row);
  double total = 0;
  for (std::size_t i : row) total += std::exp(x.data[i] - largest);
  for (std::size_t i : row) out.data[i] = std::exp(x.data[i] - largest) / total;
}

inline void log_softmax_row(const reference_tensor& x, const group& row, reference_tensor& out) {
  const double total = log_sum_exp(x, row);
  for (std::size_t i : row) out.data[i] = x.data[i] - total;
}

// (x - mean) / sqrt(variance + eps), the variance being the mean of squared distances from the
// mean.
inline void layer_norm_row(const reference_tensor& x, const group& row, double eps,
                           reference_tensor& out) {
  const double count = static_cast<double>(row.size());
  double total = 0, squares = 0;
  for (std::size_t i : row) total += x.data[i];
  const double mean = total / count;
  for (std::size_t i : row) squares += (x.data[i] - mean) * (x.data[i] - mean);
  for (std::size_t i : row) out.data[i] = (x.data[i] - mean) / std::sqrt(squares / count + eps);
}

// x / sqrt(mean of squares + eps)
inline void rms_norm_row(const reference_tensor& x, const group& row, double eps,
                         reference_tensor& out) {
  double squares = 0;
  for (std::size_t i : row) squares += x.data[i] * x.data[i];
  for (std::size_t i : row)
    out.data[i] = x.data[i] / std::sqrt(squares / static_cast<double>(row.size()) + eps);
}

// softmax, log_softmax, layer_norm and rms_norm: the shape of the operand, one row at a time.
inline reference_tensor interpret_normalisation(op code, const reference_tensor& x,
                                                std::int64_t axes, double eps) {
  reference_tensor out = x;
  for (const group& row : group_by_axes(x.shape, axes).groups) {
    if (code == op::softmax) softmax_row(x, row, out);
    if (code == op::log_softmax) log_softmax_row(x, row, out);
    if (code == op::layer_norm) layer_norm_row(x, row, eps, out);
    if (code == op::rms_norm) rms_norm_row(x, row, eps, out);
  }
  return out;
}

// log-sum-exp of the logits minus the label's logit, per row. A label outside of the classes has no
// logit, which is how the expansion (graph/composite.hpp) defines it.
inline reference_tensor interpret_cross_entropy(const reference_tensor& logits,
                                                const reference_tensor& labels) {
  const grouping rows = group_by_axes(logits.shape, std::int64_t{1} << (logits.shape.size() - 1));
  reference_tensor out{logits.type, labels.shape, {}};
  for (std::size_t r = 0; r < rows.groups.size(); ++r) {
    const group& row = rows.groups[r];
    const std::int64_t label = truncate_to_i64(labels.data[r]);
    const bool valid = label >= 0 && label < static_cast<std::int64_t>(row.size());
    const double logit = valid ? logits.data[row[static_cast<std::size_t>(label)]] : 0.0;
    out.data.push_back(log_sum_exp(logits, row) - logit);
  }
  return out;
}

// Every pair turned by its own angle; attributes as in graph.hpp.
inline reference_tensor interpret_rope(const reference_tensor& x, const reference_tensor& positions,
                                       span<const std::int64_t> attributes) {
  const double theta = double_of(attributes[0]), sign = attributes[2] != 0 ? -1 : 1;
  const bool neighbours = attributes[1] != 0;
  const std::size_t axis = static_cast<std::size_t>(attributes[3]), last = x.shape.size() - 1;
  const std::int64_t depth = x.shape[last];
  const shape_vector strides = row_major_strides(x.shape);
  reference_tensor out = x;
  for_each_index(x.shape, [&](const shape_vector& index) {
    const std::int64_t j = index[last];
    const std::int64_t pair = neighbours ? j / 2 : j % (depth / 2);
    const bool second = neighbours ? j % 2 == 1 : j >= depth / 2;
    const std::int64_t distance = neighbours ? 1 : depth / 2;
    const double angle =
        sign * positions.data[static_cast<std::size_t>(index[axis])] *
        std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(depth));
    const std::size_t at = offset_of(index, strides);
    const double partner = x.data[second ? at - static_cast<std::size_t>(distance)
                                         : at + static_cast<std::size_t>(distance)];
    out.data[at] = x.data[at] * std::cos(angle) + (second ? 1 : -1) * partner * std::sin(angle);
  });
  return out;
}

}  // namespace sinter::inline SINTER_ABI::ir::detail
