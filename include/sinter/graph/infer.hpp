// SPDX-License-Identifier: MIT
// The dtype and shape rule of every op, and `append`, which checks a node by them and adds it to a
// graph. Every node of every graph comes through here: traced, differentiated, bound, and invented
// by a rule.
#pragma once

#include <initializer_list>

#include <sinter/graph/graph.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

struct inferred {
  dtype type{};
  symbolic_shape shape;
  fault problem;
};

constexpr bool has_axis(std::int64_t mask, int axis) { return (mask >> axis & 1) != 0; }

constexpr bool accepts_dtype(accepts what, dtype t) {
  switch (what) {
    case accepts::any: return true;
    case accepts::numeric: return t != dtype::boolean;
    case accepts::floating: return is_floating(t);
    case accepts::integral: return is_integral(t);
    case accepts::integral_or_bool: return is_integral(t) || t == dtype::boolean;
    case accepts::boolean: return t == dtype::boolean;
  }
  return false;
}

namespace detail {

constexpr dim product(dim_table& dims, const symbolic_shape& shape) {
  dim total(1);
  for (dim d : shape) total = dims.mul(total, d);
  return total;
}

constexpr std::int64_t extent_for_message(const graph& g, dim d) {
  if (d.is_constant()) return d.constant();
  return g.symbol_values.empty() ? -1 : g.dims.evaluate(d, g.symbol_values);
}

constexpr fault disagree(const graph& g, op code, dim a, dim b) {
  return {fault_kind::extents_disagree, code, extent_for_message(g, a), extent_for_message(g, b)};
}

constexpr inferred infer_elementwise(graph& g, op code, span<const int> in,
                                     span<const std::int64_t> attributes) {
  const op_info& facts = info(code);
  inferred out;
  const bool selects = code == op::where;
  const dtype first = g[in[selects ? 1 : 0]].type;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const node& operand = g[in[i]];
    const dtype expected = selects && i == 0 ? dtype::boolean : first;
    if (operand.type != expected)
      out.problem = {fault_kind::mixed_dtypes, code, static_cast<std::int64_t>(operand.type),
                     static_cast<std::int64_t>(expected)};
    if (operand.shape.empty() || operand.shape == out.shape)
      continue;  // a scalar meets every shape
    if (out.shape.empty()) {
      out.shape = operand.shape;
      continue;
    }
    if (operand.shape.size() != out.shape.size()) {
      out.problem = {fault_kind::wrong_rank, code, static_cast<std::int64_t>(operand.shape.size()),
                     static_cast<std::int64_t>(out.shape.size())};
      return out;
    }
    for (std::size_t axis = 0; axis < out.shape.size(); ++axis) {
      if (!g.agree(out.shape[axis], operand.shape[axis]))
        out.problem = disagree(g, code, out.shape[axis], operand.shape[axis]);
      if (operand.shape[axis].is_constant()) out.shape[axis] = operand.shape[axis];
    }
  }
  if (!accepts_dtype(facts.accepts, first))
    out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(first), 0};
  if (code == op::bitcast) {
    const dtype to = static_cast<dtype>(attributes[0]);
    if (first == dtype::boolean || size_of(first) != size_of(to))
      out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(first), 0};
    if (to == dtype::boolean)
      out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(to), 0};
  }
  out.type = facts.yields == yields::boolean     ? dtype::boolean
             : facts.yields == yields::attribute ? static_cast<dtype>(attributes[0])
                                                 : first;
  return out;
}

// Dims that do not decrease, which binding has checked, as guards where neither their form nor the
// ranges of symbols decide that for all extents.
constexpr void require_order(graph& g, std::initializer_list<dim> ascending) {
  for (const dim* d = ascending.begin(); d + 1 != ascending.end(); ++d)
    if (g.dims.at_most(d[0], d[1]) == truth::unknown) g.assume(guard::fact::at_most, d[0], d[1]);
}

// Makes an extent of a bound graph part of the class: a number, by guards that give a value to each
// symbol in it. (That the expression has its value would be less, but leave it an expression.)
constexpr void make_known(graph& g, dim d) {
  if (d.is_constant()) return;
  const dim_kind kind = g.dims.kind(d);
  if (kind == dim_kind::symbol) {
    g.assume(guard::fact::equal, d, dim(g.dims.evaluate(d, g.symbol_values)));
    return;
  }
  const auto operands = g.dims.operands(d);
  for (std::size_t i = 0; i < operands.size(); ++i)
    // The coefficients of a sum are plain integers; everything else is a dim.
    if (kind != dim_kind::sum || i % 2 != 0) make_known(g, dim::from_code(operands[i]));
}

// Axes of one apart, have the shapes the same extents, by a guard where they are written
// differently? The product of the extents alone would not tell: 3 n where n is known to be 4.
constexpr bool agree_by_axis(const graph& g, const symbolic_shape& a, const symbolic_shape& b) {
  std::size_t i = 0, j = 0;
  for (;; ++i, ++j) {
    while (i < a.size() && a[i] == dim(1)) ++i;
    while (j < b.size() && b[j] == dim(1)) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (!(a[i] == b[j]) && !g.is_assumed(guard::fact::equal, a[i], b[j])) return false;
  }
}

// Have the shapes as many elements? Of extents that both have the others are compared alone, which
// says more: that [n, c, h] is [n, 64, h] that c is 64. Where there are no elements it need not be.
constexpr bool agree_in_size(graph& g, const symbolic_shape& a, const symbolic_shape& b) {
  symbolic_shape left, right = b;
  for (dim d : a) {
    const dim* same = right.begin();
    while (same != right.end() && !(*same == d)) ++same;
    if (same == right.end())
      left.push_back(d);
    else
      right.erase(same);
  }
  const dim before = product(g.dims, left), after = product(g.dims, right);
  const bool may_be = g.dims.equal(before, after) != truth::no &&
                      (g.symbol_values.empty() || g.same_at_hand(before, after));
  return may_be ? g.agree(before, after) : g.agree(product(g.dims, a), product(g.dims, b));
}

constexpr inferred infer_movement(graph& g, op code, span<const int> in,
                                  span<const std::int64_t> attributes, span<const dim> dims) {
  const node& x = g[in[0]];
  inferred out{x.type, x.shape, {}};
  const int rank = static_cast<int>(x.shape.size());
  switch (code) {
    case op::reshape: {
      out.shape = to_shape(dims);
      if (!agree_by_axis(g, x.shape, out.shape) && !agree_in_size(g, x.shape, out.shape))
        out.problem = {fault_kind::size_changes, code,
                       extent_for_message(g, product(g.dims, x.shape)),
                       extent_for_message(g, product(g.dims, out.shape))};
      return out;
    }
    case op::permute: {
      std::int64_t seen = 0;
      for (std::size_t i = 0; i < attributes.size(); ++i) {
        if (attributes[i] < 0 || attributes[i] >= rank) break;
        seen |= std::int64_t{1} << attributes[i];
        if (i < out.shape.size()) out.shape[i] = x.shape[attributes[i]];
      }
      if (static_cast<int>(attributes.size()) != rank || seen != (std::int64_t{1} << rank) - 1)
        out.problem = {fault_kind::not_a_permutation, code, rank, 0};
      return out;
    }
    case op::broadcast_to:
      out.shape = to_shape(dims);
      if (out.shape.size() != x.shape.size()) {
        out.problem = {fault_kind::wrong_rank, code, rank, static_cast<std::int64_t>(dims.size())};
        return out;
      }
      for (std::size_t i = 0; i < dims.size(); ++i)
        if (!g.meets(x.shape[i], dims[i])) out.problem = disagree(g, code, x.shape[i], dims[i]);
      return out;
    case op::sum_to:
      out.shape = to_shape(dims);
      if (dims.size() > x.shape.size())
        out.problem = {fault_kind::wrong_rank, code, rank, static_cast<std::int64_t>(dims.size())};
      return out;
    case op::pad:
      for (std::size_t i = 0; i < out.shape.size(); ++i)
        out.shape[i] = g.dims.add(g.dims.add(dims[2 * i], x.shape[i]), dims[2 * i + 1]);
      return out;
    case op::slice:
      for (std::size_t i = 0; i < out.shape.size(); ++i) {
        const dim start = dims[2 * i], stop = dims[2 * i + 1];
        const std::int64_t step = attributes[i];
        // -1 where an extent is not known yet; bounds counted from the end of a short axis evaluate
        // below zero.
        const std::int64_t extent = extent_for_message(g, x.shape[i]);
        const std::int64_t first = extent_for_message(g, start), end = extent_for_message(g, stop);
        const bool bound = !g.symbol_values.empty();
        if ((bound || (extent >= 0 && stop.is_constant())) && end > extent)
          out.problem = {fault_kind::bad_slice, code, extent, end};
        if ((bound || (start.is_constant() && stop.is_constant())) && first > end)
          out.problem = {fault_kind::bad_slice, code, extent, first};
        if (bound && first < 0) out.problem = {fault_kind::bad_slice, code, extent, first};
        if (!bound && !g.dims.described().empty() && g.dims.at_most(stop, x.shape[i]) == truth::no)
          out.problem = {fault_kind::bad_slice, code, extent, end};
        if (bound) require_order(g, {dim(0), start, stop, x.shape[i]});
        const dim length = g.dims.sub(stop, start);
        out.shape[i] =
            step == 1 ? length : g.dims.floor_div(g.dims.add(length, dim(step - 1)), dim(step));
      }
      return out;
    case op::windows: {
      const std::int64_t axis = attributes[0];
      if (axis < 0 || axis >= rank) {
        out.problem = {fault_kind::axis_out_of_range, code, axis, rank};
        return out;
      }
      if (rank == max_rank) {
        out.problem = {fault_kind::rank_too_high, code, rank + 1, max_rank};
        return out;
      }
      const dim size = dims[0], extent = x.shape[axis];
      // What a window spans: its last element is that many places from its first, and one.
      const dim reach =
          g.dims.add(g.dims.mul(g.dims.sub(size, dim(1)), dim(attributes[2])), dim(1));
      const std::int64_t known_size = extent_for_message(g, size),
                         known_extent = extent_for_message(g, extent);
      const std::int64_t known_span = (known_size - 1) * attributes[2] + 1;
      if (known_size == 0 || (known_size > 0 && known_extent >= 0 && known_span > known_extent)) {
        out.problem = {fault_kind::bad_window, code, known_extent,
                       known_size == 0 ? 0 : known_span};
        return out;
      }
      if (!g.symbol_values.empty()) {
        // Part of the class, since it hardly varies: rules then know how few elements there are.
        make_known(g, size);
        require_order(g, {dim(1), size});
        require_order(g, {reach, extent});
      }
      const dim count =
          g.dims.add(g.dims.floor_div(g.dims.sub(extent, reach), dim(attributes[1])), dim(1));
      out.shape[axis] = size;
      out.shape.insert(out.shape.begin() + axis + 1, count);
      return out;
    }
    case op::concat: {
      const std::int64_t axis = attributes[0];
      if (axis < 0 || axis >= rank) {
        out.problem = {fault_kind::axis_out_of_range, code, axis, rank};
        return out;
      }
      for (std::size_t i = 1; i < in.size(); ++i) {
        const node& other = g[in[i]];
        if (other.type != x.type)
          out.problem = {fault_kind::mixed_dtypes, code, static_cast<std::int64_t>(other.type),
                         static_cast<std::int64_t>(x.type)};
        if (other.shape.size() != x.shape.size()) {
          out.problem = {fault_kind::wrong_rank, code,
                         static_cast<std::int64_t>(other.shape.size()), rank};
          return out;
        }
        for (int a = 0; a < rank; ++a)
          if (a != axis && !g.agree(x.shape[a], other.shape[a]))
            out.problem = disagree(g, code, x.shape[a], other.shape[a]);
        out.shape[axis] = g.dims.add(out.shape[axis], other.shape[axis]);
      }
      return out;
    }
    default: return out;  // flip, recompute
  }
}

constexpr inferred infer_matmul(graph& g, span<const int> in, span<const std::int64_t> attributes) {
  const node a = g[in[0]], b = g[in[1]];
  inferred out{a.type, a.shape, {}};
  if (a.type != b.type)
    out.problem = {fault_kind::mixed_dtypes, op::matmul, static_cast<std::int64_t>(a.type),
                   static_cast<std::int64_t>(b.type)};
  if (!accepts_dtype(accepts::numeric, a.type))
    out.problem = {fault_kind::wrong_dtype, op::matmul, static_cast<std::int64_t>(a.type), 0};
  const std::size_t rank = a.shape.size();
  if (rank < 2 || b.shape.size() != rank) {
    out.problem = {fault_kind::wrong_rank, op::matmul, static_cast<std::int64_t>(b.shape.size()),
                   static_cast<std::int64_t>(rank < 2 ? 2 : rank)};
    return out;
  }
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (!g.agree(a.shape[i], b.shape[i]))
      out.problem = disagree(g, op::matmul, a.shape[i], b.shape[i]);
  const bool ta = attributes[0] != 0, tb = attributes[1] != 0;
  const dim inner_a = a.shape[ta ? rank - 2 : rank - 1],
            inner_b = b.shape[tb ? rank - 1 : rank - 2];
  if (!g.agree(inner_a, inner_b)) out.problem = disagree(g, op::matmul, inner_a, inner_b);
  out.shape[rank - 2] = a.shape[ta ? rank - 1 : rank - 2];
  out.shape[rank - 1] = b.shape[tb ? rank - 2 : rank - 1];
  return out;
}

constexpr inferred infer_indexing(graph& g, op code, span<const int> in,
                                  span<const std::int64_t> attributes, span<const dim> dims) {
  const node x = g[in[0]], indices = g[in[1]];
  inferred out{x.type, {}, {}};
  if (!is_integral(indices.type))
    out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(indices.type), 0};
  if (code == op::scatter_add) {
    out.shape = to_shape(dims);
    const std::int64_t at = attributes[0],
                       rank = static_cast<std::int64_t>(dims.size() + indices.shape.size()) - 1;
    if (at < 0 || at >= static_cast<std::int64_t>(dims.size())) {
      out.problem = {fault_kind::axis_out_of_range, code, at,
                     static_cast<std::int64_t>(dims.size())};
      return out;
    }
    if (static_cast<std::int64_t>(x.shape.size()) != rank) {
      out.problem = {fault_kind::wrong_rank, code, static_cast<std::int64_t>(x.shape.size()), rank};
      return out;
    }
    // The updates have the axes of the indices where the result has the axis.
    const std::int64_t width = static_cast<std::int64_t>(indices.shape.size());
    for (std::int64_t i = 0; i < rank; ++i) {
      const dim expected = i < at           ? out.shape[i]
                           : i < at + width ? indices.shape[i - at]
                                            : out.shape[i - width + 1];
      if (!g.agree(expected, x.shape[i])) out.problem = disagree(g, code, expected, x.shape[i]);
    }
    return out;
  }
  const std::size_t axis = static_cast<std::size_t>(attributes[0]);
  if (axis >= x.shape.size()) {
    out.problem = {fault_kind::axis_out_of_range, code, attributes[0],
                   static_cast<std::int64_t>(x.shape.size())};
    return out;
  }
  if (x.shape.size() + indices.shape.size() > max_rank + 1) {
    out.problem = {fault_kind::rank_too_high, code,
                   static_cast<std::int64_t>(x.shape.size() + indices.shape.size()) - 1, max_rank};
    return out;
  }
  for (std::size_t i = 0; i < axis; ++i) out.shape.push_back(x.shape[i]);
  for (dim d : indices.shape) out.shape.push_back(d);
  for (std::size_t i = axis + 1; i < x.shape.size(); ++i) out.shape.push_back(x.shape[i]);
  return out;
}

// In a bound graph the depth becomes part of the class: it hardly varies, and halves and pairs of a
// known number are known numbers too.
constexpr inferred infer_rope(graph& g, span<const int> in, span<const std::int64_t> attributes) {
  const node x = g[in[0]], positions = g[in[1]];
  inferred out{x.type, x.shape, {}};
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const bool neighbours = attributes[1] != 0;
  const std::int64_t axis = attributes[3];
  const auto fault_of = [&](fault_kind kind, std::int64_t lhs, std::int64_t rhs = 0) {
    out.problem = {kind, op::rope, lhs, rhs};
    return out;
  };
  if (!is_floating(x.type))
    return fault_of(fault_kind::wrong_dtype, static_cast<std::int64_t>(x.type));
  if (!is_integral(positions.type))
    return fault_of(fault_kind::wrong_dtype, static_cast<std::int64_t>(positions.type));
  if (rank < 2) return fault_of(fault_kind::wrong_rank, rank, 2);
  if (neighbours && rank == max_rank)
    return fault_of(fault_kind::rank_too_high, rank, max_rank - 1);
  if (axis < 0 || axis >= rank - 1) return fault_of(fault_kind::axis_out_of_range, axis, rank - 1);
  if (positions.shape.size() != 1)
    return fault_of(fault_kind::wrong_rank, static_cast<std::int64_t>(positions.shape.size()), 1);
  if (!g.agree(x.shape[axis], positions.shape[0])) {
    out.problem = disagree(g, op::rope, x.shape[axis], positions.shape[0]);
    return out;
  }
  const dim depth = x.shape.back();
  if (!depth.is_constant() && g.symbol_values.empty()) return out;
  const dim known(depth.is_constant() ? depth.constant() : g.dims.evaluate(depth, g.symbol_values));
  if (known.constant() % 2 != 0) return fault_of(fault_kind::odd_extent, known.constant());
  make_known(g, depth);
  return out;
}

// What a derivative by x is contracted with must look like it; the result looks like x (jvp: y).
constexpr inferred infer_control(graph& g, op code, span<const int> in) {
  const node& of = g[in[code == op::gradient || code == op::vjp ? 1 : 0]];
  inferred out{of.type, of.shape, {}};
  const auto require_alike = [&](int direction, int subject) {
    const node a = g[direction], b = g[subject];
    if (!is_floating(b.type))
      out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(b.type), 0};
    else if (a.type != b.type)
      out.problem = {fault_kind::mixed_dtypes, code, static_cast<std::int64_t>(a.type),
                     static_cast<std::int64_t>(b.type)};
    else if (a.shape.size() != b.shape.size())
      out.problem = {fault_kind::wrong_rank, code, static_cast<std::int64_t>(a.shape.size()),
                     static_cast<std::int64_t>(b.shape.size())};
    else
      for (std::size_t i = 0; i < a.shape.size(); ++i)
        if (!g.agree(a.shape[i], b.shape[i]))
          out.problem = disagree(g, code, a.shape[i], b.shape[i]);
  };
  if (code == op::vjp) require_alike(in[2], in[0]);
  if (code == op::vjp || code == op::jvp)
    for (int by : {in[0], in[1]})
      if (!is_floating(g[by].type))
        out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(g[by].type), 0};
  if (code == op::jvp)
    for (std::size_t i = 1; i + 1 < in.size(); i += 2) require_alike(in[i + 1], in[i]);
  return out;
}

constexpr inferred infer_composite(graph& g, op code, span<const int> in,
                                   span<const std::int64_t> attributes) {
  const node x = g[in[0]];
  inferred out{x.type, x.shape, {}};
  if (!accepts_dtype(code == op::first_max ? accepts::numeric : accepts::floating, x.type))
    out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(x.type), 0};
  if (code == op::first_max)
    for (std::size_t axis = 0; axis < out.shape.size(); ++axis)
      if (has_axis(attributes[0], static_cast<int>(axis))) out.shape[axis] = dim(1);
  if (code != op::cross_entropy) return out;
  const node labels = g[in[1]];
  if (!is_integral(labels.type))
    out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(labels.type), 0};
  if (x.shape.empty() || labels.shape.size() + 1 != x.shape.size()) {
    out.problem = {fault_kind::wrong_rank, code, static_cast<std::int64_t>(labels.shape.size()),
                   static_cast<std::int64_t>(x.shape.size()) - 1};
    return out;
  }
  for (std::size_t i = 0; i < labels.shape.size(); ++i)
    if (!g.agree(x.shape[i], labels.shape[i]))
      out.problem = disagree(g, code, x.shape[i], labels.shape[i]);
  out.shape.pop_back();
  return out;
}

constexpr inferred infer_sum_windows(graph& g, span<const int> in,
                                     span<const std::int64_t> attributes, span<const dim> dims) {
  constexpr op code = op::sum_windows;
  const node& x = g[in[0]];
  inferred out{x.type, x.shape, {}};
  const int rank = static_cast<int>(x.shape.size());
  const std::int64_t axis = attributes[0];
  if (axis < 0 || axis + 1 >= rank) {
    out.problem = {fault_kind::axis_out_of_range, code, axis, rank};
    return out;
  }
  if (!accepts_dtype(info(code).accepts, x.type))
    out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(x.type), 0};
  // As many windows as `windows` takes from that extent.
  const dim size = x.shape[axis], windows = x.shape[axis + 1];
  const dim reach = g.dims.add(g.dims.mul(g.dims.sub(size, dim(1)), dim(attributes[2])), dim(1));
  const dim count =
      g.dims.add(g.dims.floor_div(g.dims.sub(dims[0], reach), dim(attributes[1])), dim(1));
  if (!g.agree(windows, count)) out.problem = disagree(g, code, windows, count);
  out.shape[axis] = dims[0];
  out.shape.erase(out.shape.begin() + axis + 1);
  return out;
}

}  // namespace detail

// The rule of each op alone; what everybody calls is `infer`.
constexpr inferred infer_by_rule(graph& g, op code, span<const int> in,
                                 span<const std::int64_t> attributes, span<const dim> dims) {
  if (code == op::matmul) return detail::infer_matmul(g, in, attributes);
  switch (info(code).kind) {
    case kind::leaf:
      if (code == op::constant || code == op::extent)
        return {static_cast<dtype>(attributes[0]), {}, {}};
      return {static_cast<dtype>(attributes[0]), to_shape(dims), {}};
    case kind::elementwise: return detail::infer_elementwise(g, code, in, attributes);
    case kind::reduction: {
      const node& x = g[in[0]];
      inferred out{code == op::argmax ? dtype::i64 : x.type, x.shape, {}};
      for (std::size_t axis = 0; axis < out.shape.size(); ++axis)
        if (has_axis(attributes[0], static_cast<int>(axis))) out.shape[axis] = dim(1);
      if (!accepts_dtype(info(code).accepts, x.type))
        out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(x.type), 0};
      return out;
    }
    case kind::movement: return detail::infer_movement(g, code, in, attributes, dims);
    case kind::contraction: break;
    case kind::indexing: return detail::infer_indexing(g, code, in, attributes, dims);
    case kind::scan: {
      const node& x = g[in[0]];
      inferred out{x.type, x.shape, {}};
      const auto rank = static_cast<std::int64_t>(x.shape.size());
      if (!accepts_dtype(info(code).accepts, x.type))
        out.problem = {fault_kind::wrong_dtype, code, static_cast<std::int64_t>(x.type), 0};
      else if (attributes[0] < 0 || attributes[0] >= rank)
        out.problem = {fault_kind::axis_out_of_range, code, attributes[0], rank};
      return out;
    }
    case kind::composite:
      if (code == op::rope) return detail::infer_rope(g, in, attributes);
      if (code == op::sum_windows) return detail::infer_sum_windows(g, in, attributes, dims);
      return detail::infer_composite(g, code, in, attributes);
    case kind::opaque: return g.custom(attributes).infer(g, in, attributes.subspan(1));
    case kind::control: return detail::infer_control(g, code, in);
  }
  return {};
}

// The dtype and shape of `code` applied to these operands, or the fault. In a bound graph an extent
// that is one is the number 1, also where it is computed ((s0 + 1) / 2 of two rows), under a guard;
// but for those that are left open.
constexpr inferred infer(graph& g, op code, span<const int> in, span<const std::int64_t> attributes,
                         span<const dim> dims) {
  inferred out = infer_by_rule(g, code, in, attributes, dims);
  if (out.problem.kind != fault_kind::none && is_custom(code))
    out.problem.custom = g.custom(attributes).name;
  if (g.symbol_values.empty()) return out;
  for (dim& d : out.shape) {
    if (d.is_constant() || g.dims.is_open(d) || g.dims.evaluate(d, g.symbol_values) != 1) continue;
    g.assume_one(d);
    d = dim(1);
  }
  return out;
}

constexpr int append(graph& g, op code, span<const int> in,
                     span<const std::int64_t> attributes = {}, span<const dim> dims = {});

namespace detail {

constexpr int append_cast(graph& g, int x, dtype to) {
  const std::int64_t attributes[] = {static_cast<std::int64_t>(to)};
  const int in[] = {x};
  return append(g, op::cast, in, attributes);
}

// An f16 or bf16 as f32: a constant stays one.
constexpr int widened(graph& g, int id) {
  const dtype type = g[id].type;
  if (!is_narrow_float(type)) return id;
  if (g[id].code != op::constant) return append_cast(g, id, dtype::f32);
  const double written = constant_value(g, id);
  const float held = type == dtype::f16 ? static_cast<float>(float16(written))
                                        : static_cast<float>(bfloat16(written));
  const std::int64_t attributes[] = {static_cast<std::int64_t>(dtype::f32),
                                     bits_of(static_cast<double>(held))};
  return append(g, op::constant, {}, attributes);
}

// A node that has to do with f16 or bf16 and was found right. They have no arithmetic, and casts
// only to f32, from f32 and from f64 (which must be rounded once); everything else goes through
// f32, which holds all their values.
constexpr int append_narrow(graph& g, op code, span<const int> in,
                            span<const std::int64_t> attributes, span<const dim> dims,
                            const inferred& result) {
  const dtype from = g[in[0]].type;
  if (code == op::cast && from != result.type) {
    const bool direct = is_narrow_float(from) ? result.type == dtype::f32
                                              : from == dtype::f32 || from == dtype::f64;
    if (!direct) return append_cast(g, append_cast(g, in[0], dtype::f32), result.type);
  }
  if (!computes(code)) return g.intern(code, result.type, result.shape, in, attributes, dims);
  inline_vector<int, max_custom_operands> wide;
  for (int id : in) wide.push_back(widened(g, id));
  const int out = append(g, code, wide, attributes, dims);
  return is_narrow_float(result.type) ? append_cast(g, out, result.type) : out;
}

}  // namespace detail

// Checks the node and adds it, between casts to f32 and back if it computes with 16-bit floats.
// After a fault (while tracing) the result is a harmless stand-in: the first operand.
constexpr int append(graph& g, op code, span<const int> in, span<const std::int64_t> attributes,
                     span<const dim> dims) {
  if (g.failed()) return in.empty() ? 0 : in[0];
  const inferred result = infer(g, code, in, attributes, dims);
  if (result.problem.kind != fault_kind::none) {
    g.fail(result.problem, in);
    return in.empty() ? 0 : in[0];
  }
  if (!in.empty() && (is_narrow_float(result.type) || is_narrow_float(g[in.back()].type)))
    return detail::append_narrow(g, code, in, attributes, dims, result);
  return g.intern(code, result.type, result.shape, in, attributes, dims);
}

constexpr int append(graph& g, op code, std::initializer_list<int> in,
                     std::initializer_list<std::int64_t> attributes = {},
                     span<const dim> dims = {}) {
  return append(g, code, span<const int>(in.begin(), in.size()),
                span<const std::int64_t>(attributes.begin(), attributes.size()), dims);
}

}  // namespace sinter::inline SINTER_ABI::ir
