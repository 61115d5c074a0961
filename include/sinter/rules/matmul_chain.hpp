// SPDX-License-Identifier: MIT
// Association of a chain of matmuls. Rotating pairs until nothing changes would write all
// parenthesisations (Catalan numbers); instead the interval dynamic programme (Godbole 1973) finds
// the one with the fewest multiplications for the extents at hand, and that one is added. It is
// equal for all extents; the extents at hand only choose which to write.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include <sinter/rules/matmul_sides.hpp>

namespace sinter::inline SINTER_ABI::rules::chain {

inline constexpr std::size_t factor_limit = 16;

struct factor {
  class_id id{};
  bool transposed = false;
};

// Writes the factors of a class that contains a matmul, from left to right. A class that is on the
// path already is a factor as it is (classes may contain themselves).
inline void flatten(const tensor_egraph& graph, factor f, std::vector<class_id>& path,
                    std::vector<factor>& out) {
  const class_id id = graph.find(f.id);
  const bool seen = std::find(path.begin(), path.end(), id) != path.end();
  if (!seen && out.size() + path.size() < factor_limit) {
    for (const eqsat::enode_view& node : graph.nodes(id)) {
      if (node.op != static_cast<std::uint16_t>(op::matmul)) continue;
      const auto& attributes = graph.language().payload(node.payload).attributes;
      factor left{node.children[0], attributes[0] != 0},
          right{node.children[1], attributes[1] != 0};
      if (f.transposed) {
        std::swap(left, right);
        left.transposed = !left.transposed;
        right.transposed = !right.transposed;
      }
      path.push_back(id);
      flatten(graph, left, path, out);
      flatten(graph, right, path, out);
      path.pop_back();
      return;
    }
  }
  out.push_back({id, f.transposed});
}

// Multiplications of the product of factors i..j, and where the best one splits them.
struct best_split {
  double cost = 0;
  std::size_t at = 0;
};

class programme {
 public:
  explicit programme(std::vector<double> extents)
      : extents_(std::move(extents)), n_(extents_.size() - 1), table_(n_ * n_) {
    for (std::size_t length = 2; length <= n_; ++length)
      for (std::size_t i = 0; i + length <= n_; ++i) {
        const std::size_t j = i + length - 1;
        best_split best{std::numeric_limits<double>::infinity(), i};
        for (std::size_t k = i; k < j; ++k) {
          const double cost =
              at(i, k).cost + at(k + 1, j).cost + extents_[i] * extents_[k + 1] * extents_[j + 1];
          if (cost < best.cost) best = {cost, k};
        }
        table_[i * n_ + j] = best;
      }
  }
  const best_split& at(std::size_t i, std::size_t j) const { return table_[i * n_ + j]; }

 private:
  std::vector<double> extents_;
  std::size_t n_;
  std::vector<best_split> table_;
};

// Every product is untransposed; only factors may be read transposed.
struct written {
  ir::value v;
  bool transposed = false;
};
inline written write(right_side& side, const std::vector<factor>& factors, const programme& best,
                     std::size_t i, std::size_t j) {
  if (i == j) return {side.term(factors[i].id), factors[i].transposed};
  const std::size_t k = best.at(i, j).at;
  const written left = write(side, factors, best, i, k),
                right = write(side, factors, best, k + 1, j);
  return {matmul::product(left.v, right.v, {left.transposed, right.transposed}), false};
}

// (matmul[?f] ?a ?b) where one of the operands is a product
inline std::optional<class_id> reassociate(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  std::vector<class_id> path;
  std::vector<factor> factors;
  flatten(graph, {graph.find(m.root()), false}, path, factors);
  if (factors.size() < 3) return std::nullopt;

  // Extents d0 x d1, d1 x d2, ... of the factors, evaluated; neighbours agree in expression, not
  // only at hand.
  std::vector<double> extents;
  const ir::graph& terms = side.terms();
  const auto evaluate = [&](dim d) {
    return static_cast<double>(terms.dims.evaluate(d, terms.symbol_values));
  };
  dim inner;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const symbolic_shape shape = side.term(factors[i].id).shape();
    const dim last = shape[shape.size() - 1], before = shape[shape.size() - 2];
    const dim rows = factors[i].transposed ? last : before,
              columns = factors[i].transposed ? before : last;
    if (terms.symbol_values.empty() && !(rows.is_constant() && columns.is_constant()))
      return std::nullopt;
    if (i == 0)
      extents.push_back(evaluate(rows));
    else if (!(rows == inner))
      return std::nullopt;
    inner = columns;
    extents.push_back(evaluate(columns));
  }
  const programme best(std::move(extents));
  return side.finish(write(side, factors, best, 0, factors.size() - 1).v);
}

}  // namespace sinter::inline SINTER_ABI::rules::chain
