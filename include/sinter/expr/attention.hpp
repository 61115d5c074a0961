// SPDX-License-Identifier: MIT
// Attention in all its forms, written as two products and a softmax: the optimizer makes one nest
// of them whose scores never reach memory.
#pragma once

#include <limits>
#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

struct attention_options {
  bool causal = false;      // a query sees the keys up to its own place
  std::int64_t window = 0;  // and fewer than this many places away, if above 0
  double scale = 0;         // of the scores; 0: 1 / sqrt(depth)
  std::int64_t group = 1;   // heads of the queries that share one head of keys and values
};

namespace detail {

struct attention_function {
  // Faults are reported in the name of the products.
  static constexpr ir::op code = ir::op::matmul;
  static constexpr unsigned own_dtype = 0b1000;  // the start
  attention_options options;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(options.causal ? 1 : 0);
    sink(options.window);
    sink(ir::bits_of(options.scale));
    sink(options.group);
  }

  constexpr handle operator()(handle q, handle k, handle v) const {
    if (!fits(q, k, v)) return q;
    return handle(attended(q.node, k.node, v.node, at_the_end(q.node, k.node)));
  }
  constexpr handle operator()(handle q, handle k, handle v, handle start) const {
    if (start.rank() != 0) fail(start, code, ir::fault_kind::wrong_rank, start.rank(), 0);
    if (!is_integral(start.type()))
      fail(start, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(start.type()));
    if (!fits(q, k, v)) return q;
    return handle(attended(q.node, k.node, v.node, ir::cast(start.node, dtype::i64)));
  }
  constexpr handle masked(handle q, handle k, handle v, handle seen) const {
    if (seen.type() != dtype::boolean)
      fail(seen, ir::op::where, ir::fault_kind::wrong_dtype,
           static_cast<std::int64_t>(seen.type()));
    if (!fits(q, k, v)) return q;
    return handle(
        attended(q.node, k.node, v.node, at_the_end(q.node, k.node), grouped_mask(seen.node)));
  }

 private:
  constexpr bool fits(handle q, handle k, handle v) const {
    const int least = options.group > 1 ? 3 : 2;
    for (handle each : {q, k, v}) {
      if (each.rank() < least) fail(each, code, ir::fault_kind::wrong_rank, each.rank(), least);
      if (!is_floating(each.type()))
        fail(each, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(each.type()));
      if (options.group > 1 && each.rank() == max_rank)
        fail(each, code, ir::fault_kind::rank_too_high, max_rank + 1, max_rank);
    }
    if (options.group < 1) fail(q, code, ir::fault_kind::bad_option, options.group, 1);
    if (options.window < 0) fail(q, code, ir::fault_kind::bad_option, options.window, 0);
    if (q.graph().failed()) return false;
    const ir::dim heads = options.group > 1 ? q.node.extent(q.rank() - 3) : ir::dim(0);
    if (heads.is_constant() && heads.constant() % options.group != 0)
      fail(q, code, ir::fault_kind::not_divisible, heads.constant(), options.group);
    return !q.graph().failed();
  }

  // Where the queries stand if they are the last places of the keys; nothing for 0.
  static constexpr ir::value at_the_end(ir::value q, ir::value k) {
    ir::graph& g = *q.owner;
    const ir::dim rows = q.extent(q.rank() - 2), columns = k.extent(k.rank() - 2);
    if (rows == columns) return {};
    return ir::extent_scalar(g, dtype::i64, columns) - ir::extent_scalar(g, dtype::i64, rows);
  }

  constexpr ir::value attended(ir::value q, ir::value k, ir::value v, ir::value start,
                               ir::value mask = {}) const {
    ir::graph& g = *q.owner;
    const ir::symbolic_shape heads = q.shape();
    if (options.group > 1) {
      // [..., heads of the keys, group, places, depth], with a group of 1 for keys and values.
      ir::symbolic_shape grouped = heads;
      const auto at = grouped.size() - 3;
      grouped[at] = g.dims.floor_div(heads[at], ir::dim(options.group));
      grouped.insert(grouped.begin() + at + 1, ir::dim(options.group));
      q = ir::reshape(q, grouped);
      k = alone(k);
      v = alone(v);
    }
    ir::value scores = ir::matmul(q, k, false, true);
    if (g.failed()) return q;
    const ir::value depth = ir::extent_scalar(g, q.type(), heads.back());
    scores = scores * (options.scale != 0 ? ir::constant_like(scores, options.scale)
                                          : ir::unary(ir::op::rsqrt, depth));
    if (options.causal || options.window > 0) scores = hidden(scores, start);
    if (mask.owner != nullptr) scores = only(mask, scores);
    const ir::value weights{
        &g, ir::append(g, ir::op::softmax, {scores.id}, {std::int64_t{1} << (scores.rank() - 1)})};
    const ir::value out = ir::matmul(weights, v);
    if (g.failed() || options.group == 1) return out;
    ir::symbolic_shape shape = out.shape();
    const auto at = shape.size() - 3;
    shape.erase(shape.begin() + at);
    shape[at - 1] = heads[heads.size() - 3];
    return ir::reshape(out, shape);
  }

  // With a new axis of extent 1 behind the heads.
  static constexpr ir::value alone(ir::value x) {
    ir::symbolic_shape shape = x.shape();
    shape.insert(shape.begin() + (shape.size() - 2), ir::dim(1));
    return ir::reshape(x, shape);
  }

  constexpr ir::value hidden(ir::value scores, ir::value start) const {
    ir::graph& g = *scores.owner;
    const int last = scores.rank() - 1;
    const ir::symbolic_shape matrix{scores.extent(last - 1), scores.extent(last)};
    ir::value row = ir::iota(g, dtype::i64, matrix, 0);
    if (start.owner != nullptr) row = row + start;
    const ir::value column = ir::iota(g, dtype::i64, matrix, 1);
    const auto less = [](ir::value a, ir::value b) {
      return ir::elementwise(ir::op::less, {a, b});
    };
    const auto both = [](ir::value a, ir::value b) {
      return ir::elementwise(ir::op::bit_and, {a, b});
    };
    ir::value seen;
    if (options.causal) seen = ir::elementwise(ir::op::less_equal, {column, row});
    if (options.window > 0) {
      const double width = static_cast<double>(options.window);
      const ir::value behind = less(row, column + width);
      seen = both(options.causal ? seen : less(column, row + width), behind);
    }
    return only(seen, scores);
  }

  static constexpr ir::value only(ir::value seen, ir::value scores) {
    return ir::where(seen, scores,
                     ir::constant_like(scores, -std::numeric_limits<double>::infinity()));
  }

  // A mask of [..., heads, m, n] as one of grouped scores.
  constexpr ir::value grouped_mask(ir::value mask) const {
    if (options.group == 1 || mask.rank() < 3) return mask;
    ir::symbolic_shape shape = mask.shape();
    const auto at = shape.size() - 3;
    if (shape[at] == ir::dim(1)) return alone(mask);
    shape[at] = mask.owner->dims.floor_div(shape[at], ir::dim(options.group));
    shape.insert(shape.begin() + at + 1, ir::dim(options.group));
    return ir::reshape(mask, shape);
  }
};

struct masked_attention_function {
  static constexpr ir::op code = ir::op::matmul;
  static constexpr unsigned own_dtype = 0b1000;  // the mask
  attention_options options;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    attention_function{options}.attributes(sink);
  }
  constexpr handle operator()(handle q, handle k, handle v, handle seen) const {
    return attention_function{options}.masked(q, k, v, seen);
  }
};

constexpr ir::value heads_swapped(ir::value x) {
  inline_vector<std::int64_t, max_rank> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  std::swap(axes[x.rank() - 3], axes[x.rank() - 2]);
  return ir::permute(x, axes);
}

// [..., places, heads * depth] as [..., heads, places, depth].
constexpr handle in_heads(handle x, std::int64_t count) {
  constexpr ir::op code = ir::op::matmul;
  if (x.rank() < 2) fail(x, code, ir::fault_kind::wrong_rank, x.rank(), 2);
  if (x.rank() == max_rank) fail(x, code, ir::fault_kind::rank_too_high, max_rank + 1, max_rank);
  if (count < 1) fail(x, code, ir::fault_kind::bad_option, count, 1);
  if (x.graph().failed()) return x;
  ir::symbolic_shape shape = x.node.shape();
  const ir::dim width = shape.back();
  if (width.is_constant() && width.constant() % count != 0)
    fail(x, code, ir::fault_kind::not_divisible, width.constant(), count);
  if (x.graph().failed()) return x;
  shape.back() = ir::dim(count);
  shape.push_back(x.graph().dims.floor_div(width, ir::dim(count)));
  return handle(heads_swapped(ir::reshape(x.node, shape)));
}

// And back again.
constexpr handle side_by_side(handle x) {
  if (x.graph().failed()) return x;
  const ir::value together = heads_swapped(x.node);
  ir::symbolic_shape shape = together.shape();
  shape[shape.size() - 2] = x.graph().dims.mul(shape[shape.size() - 2], shape.back());
  shape.pop_back();
  return handle(ir::reshape(together, shape));
}

struct multi_head_attention_function {
  static constexpr ir::op code = ir::op::matmul;
  std::int64_t heads = 1;
  attention_options options;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(heads);
    attention_function{options}.attributes(sink);
  }
  constexpr handle operator()(handle q, handle k, handle v) const {
    if (heads < 1) fail(q, code, ir::fault_kind::bad_option, heads, 1);
    if (options.group < 1) fail(q, code, ir::fault_kind::bad_option, options.group, 1);
    if (q.graph().failed()) return q;
    if (heads % options.group != 0)
      fail(q, code, ir::fault_kind::not_divisible, heads, options.group);
    const handle apart = in_heads(q, heads), keys = in_heads(k, heads / options.group),
                 values = in_heads(v, heads / options.group);
    if (q.graph().failed()) return q;
    const handle out = attention_function{options}(apart, keys, values);
    if (q.graph().failed()) return q;
    return side_by_side(out);
  }
};

}  // namespace detail

/// softmax(scale q kᵀ) v (Vaswani et al. 2017): queries [..., m, depth], keys [..., n, depth],
/// values [..., n, width] make [..., m, width]; m and n may differ (cross attention) and leading
/// extents broadcast. With `causal`, query i stands at place n - m + i, at the end of the keys:
/// what the next tokens of a cached sequence need. `window` hides keys at a distance of that many
/// places or more, on both sides unless causal. With `group` > 1 the third axis from the end holds
/// heads, and heads group * h to group * (h + 1) - 1 of the queries use head h of keys and values
/// (Ainslie et al. 2023, GQA). A query that sees no key gives NaN. Floats of one dtype
/// (dtype_error); shape_error, in the name of matmul or reshape, for extents that do not fit, ranks
/// below 2 (3 in groups), and options below their least value.
template <Operand Q, Operand K, Operand V>
constexpr auto attention(Q&& q, K&& k, V&& v, const attention_options& options = {}) {
  return sinter::apply(detail::attention_function{options}, std::forward<Q>(q), std::forward<K>(k),
                       std::forward<V>(v));
}

/// The same where query i stands at place `start` + i, an integer scalar (dtype_error,
/// shape_error): for a cache of which only a first part is filled. Keys behind the queries are
/// hidden by `causal`.
template <Operand Q, Operand K, Operand V, Operand Start>
constexpr auto attention(Q&& q, K&& k, V&& v, Start&& start,
                         const attention_options& options = {.causal = true}) {
  return sinter::apply(detail::attention_function{options}, std::forward<Q>(q), std::forward<K>(k),
                       std::forward<V>(v), std::forward<Start>(start));
}

/// Attention where query i sees key j only if `seen`, bools that broadcast against the scores
/// [..., m, n], says so: [batch, 1, 1, n] hides the ends of shorter sequences of a batch. What the
/// options hide stays hidden. With groups, `seen` has the heads of the queries as its third axis
/// from the end, or a constant 1 there. Throws as attention, dtype_error if `seen` is no bool,
/// shape_error if it does not broadcast.
template <Operand Q, Operand K, Operand V, Operand Seen>
constexpr auto masked_attention(Q&& q, K&& k, V&& v, Seen&& seen,
                                const attention_options& options = {}) {
  return sinter::apply(detail::masked_attention_function{options}, std::forward<Q>(q),
                       std::forward<K>(k), std::forward<V>(v), std::forward<Seen>(seen));
}

/// Attention in `heads` heads that stand side by side along the last axis: queries [..., m, heads *
/// depth], keys and values [..., n, heads / group * depth] make [..., m, heads * width]. Throws as
/// attention, and shape_error if the heads do not divide the last axes.
template <Operand Q, Operand K, Operand V>
constexpr auto multi_head_attention(Q&& q, K&& k, V&& v, std::int64_t heads,
                                    const attention_options& options = {}) {
  return sinter::apply(detail::multi_head_attention_function{heads, options}, std::forward<Q>(q),
                       std::forward<K>(k), std::forward<V>(v));
}

}  // namespace sinter::inline SINTER_ABI
