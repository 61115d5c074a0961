// SPDX-License-Identifier: MIT
// Right-hand sides of the matmul rules. A matmul reads [batch..., m, k] and [batch..., k, n], or
// the last two axes of an operand exchanged; its payload ?f is {transpose a, transpose b}.
#pragma once

#include <optional>
#include <string_view>

#include <sinter/rules/reduction_sides.hpp>
#include <sinter/rules/right_side.hpp>

namespace sinter::inline SINTER_ABI::rules::matmul {

struct flags {
  bool a = false, b = false;
};
inline flags flags_of(right_side& side, std::string_view payload = "?f") {
  const auto attributes = side.attributes(payload);
  return {attributes[0] != 0, attributes[1] != 0};
}

// Node for node: the operands already have equal batch axes.
inline ir::value product(ir::value a, ir::value b, flags f) {
  return {a.owner, ir::append(*a.owner, op::matmul, {a.id, b.id}, {f.a ? 1 : 0, f.b ? 1 : 0})};
}

inline bool swaps_last_two(std::span<const std::int64_t> axes) {
  const std::size_t rank = axes.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t source = i + 2 < rank ? i : 2 * rank - 3 - i;
    if (axes[i] != static_cast<std::int64_t>(source)) return false;
  }
  return rank >= 2;
}

// m, n, k as extents
struct sizes {
  dim m, n, k;
};
inline sizes sizes_of(ir::value a, ir::value b, flags f) {
  const int r = a.rank();
  return {a.extent(f.a ? r - 1 : r - 2), b.extent(f.b ? r - 2 : r - 1),
          a.extent(f.a ? r - 2 : r - 1)};
}

// ---- transposes

// (matmul[?f] (permute[?p] ?a) ?b)
inline std::optional<class_id> absorb_left(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  if (!swaps_last_two(side.attributes("?p"))) return std::nullopt;
  const flags f = flags_of(side);
  return side.finish(product(side["?a"], side["?b"], {!f.a, f.b}));
}
inline std::optional<class_id> absorb_right(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  if (!swaps_last_two(side.attributes("?p"))) return std::nullopt;
  const flags f = flags_of(side);
  return side.finish(product(side["?a"], side["?b"], {f.a, !f.b}));
}

// (permute[?p] (matmul[?f] ?a ?b)): (A B)^T = B^T A^T
inline std::optional<class_id> transpose_product(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  if (!swaps_last_two(side.attributes("?p"))) return std::nullopt;
  const flags f = flags_of(side);
  return side.finish(product(side["?b"], side["?a"], {!f.b, !f.a}));
}

// ---- factors: (matmul[?f] (mul ?a ?s) ?b), ?s a scalar. An empty product is 0 whatever the factor
// is.

template <op Code, bool Left>
std::optional<class_id> scalar_factor(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"], s = side["?s"];
  const ir::value scaled = Left ? a : b;
  if (s.rank() != 0 || scaled.rank() == 0 || !is_floating(a.type())) return std::nullopt;
  const flags f = flags_of(side);
  const facts known = side.data("?s");
  const bool safe =
      reduction::is_finite_constant(known) && (Code == op::mul || known.constant != 0);
  if (!safe && !side.is_never_zero(sizes_of(a, b, f).k)) return std::nullopt;
  return side.finish(ir::elementwise(Code, {product(a, b, f), s}));
}

// ---- batches

// (matmul[?f] ?a (broadcast_to[?p] ?b)) with one right-hand side for all batches: the rows of all
// batches are the rows of one matrix. This is a dense layer on a tensor of rank three or more.
inline std::optional<class_id> collapse_batch(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"];
  const flags f = flags_of(side);
  const int rank = a.rank();
  if (rank < 3 || b.rank() != rank || f.a) return std::nullopt;
  const symbolic_shape given = b.shape(), rows = a.shape();
  for (int i = 0; i + 2 < rank; ++i)
    if (!is_one(given[i])) return std::nullopt;
  // Along k and n nothing may be repeated: the reshape below keeps them.
  const auto repeated = side.payload_dims("?p");
  for (int i = rank - 2; i < rank; ++i)
    if (!(given[i] == repeated[static_cast<std::size_t>(i)])) return std::nullopt;
  const dim all_rows =
      product_of(side.terms(), std::span<const dim>(rows.begin(), rows.size() - 1));
  const ir::value flat = ir::reshape(a, {all_rows, rows[rank - 1]});
  const ir::value weight = ir::reshape(b, {given[rank - 2], given[rank - 1]});
  return side.finish_reshaped(product(flat, weight, f));
}

// (reduce_sum[?p] (matmul[?f] ?a ?b)) over all batch axes with rows of a and b contracted: the
// batches are more rows. The gradient of the weights of a dense layer on a tensor of rank three.
inline std::optional<class_id> sum_over_batch(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"];
  const flags f = flags_of(side);
  const int rank = a.rank();
  if (rank < 3 || !f.a || f.b) return std::nullopt;
  const std::int64_t mask = side.attribute("?p");
  for (int i = 0; i < rank; ++i) {
    const bool reduced = ir::has_axis(mask, i);
    if (i + 2 < rank ? !reduced && !is_one(a.extent(i)) : reduced) return std::nullopt;
  }
  const auto flat = [&](ir::value x) {
    const symbolic_shape shape = x.shape();
    return ir::reshape(
        x, {product_of(side.terms(), std::span<const dim>(shape.begin(), shape.size() - 1)),
            shape[rank - 1]});
  };
  return side.finish_reshaped(product(flat(a), flat(b), f));
}

// (matmul[?f] ?a ?b): batch axes of extent 1 are dropped.
inline std::optional<class_id> squeeze_batch(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"];
  const auto squeezed = [&](ir::value x) {
    symbolic_shape out;
    const symbolic_shape shape = x.shape();
    for (int i = 0; i < x.rank(); ++i)
      if (i + 2 >= x.rank() || !(is_one(a.extent(i)) && is_one(b.extent(i))))
        out.push_back(shape[i]);
    return ir::reshape(x, out);
  };
  const ir::value flat_a = squeezed(a), flat_b = squeezed(b);
  if (flat_a.rank() == a.rank()) return std::nullopt;
  return side.finish_reshaped(product(flat_a, flat_b, flags_of(side)));
}

// ---- degenerate products

// k = 1: every element is one product.
inline std::optional<class_id> outer_product(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"];
  const flags f = flags_of(side);
  if (!is_one(sizes_of(a, b, f).k)) return std::nullopt;
  const symbolic_shape target = side.root().shape();
  symbolic_shape column = target, row = target;
  column[target.size() - 1] = dim(1);
  row[target.size() - 2] = dim(1);
  const ir::value left = ir::broadcast_to(ir::reshape(a, column), target);
  const ir::value right = ir::broadcast_to(ir::reshape(b, row), target);
  return side.finish(ir::elementwise(op::mul, {left, right}));
}

// n = 1 and rows of a: a product with a vector is a sum per row, which fuses with what comes before
// and behind.
inline std::optional<class_id> matrix_vector(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"];
  const flags f = flags_of(side);
  if (f.a || !is_one(sizes_of(a, b, f).n)) return std::nullopt;
  symbolic_shape row = a.shape();
  row[a.rank() - 2] = dim(1);
  const ir::value factor = ir::broadcast_to(ir::reshape(b, row), a.shape());
  const std::int64_t last = std::int64_t{1} << (a.rank() - 1);
  return side.finish(ir::reduce(op::reduce_sum, ir::elementwise(op::mul, {a, factor}), last));
}

}  // namespace sinter::inline SINTER_ABI::rules::matmul
