// SPDX-License-Identifier: MIT
// Operators of ONNX that contract axes: matrix products, Einsum, attention.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sinter/onnx/movement.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail::contraction {

inline void matmul(operation& o) { o.give(sinter::matmul(handle(o.in(0)), handle(o.in(1))).node); }

inline void gemm(operation& o) {
  const bool left = o.integer("transA", 0) != 0, right = o.integer("transB", 0) != 0;
  const double alpha = o.real("alpha", 1), beta = o.real("beta", 1);
  o.ignore("broadcast");  // before opset 7: C always broadcasts
  ir::value out = ir::matmul(o.in(0), o.in(1), left, right);
  const auto scaled = [](ir::value x, double by) { return by == 1 ? x : x * by; };
  out = scaled(out, alpha);
  if (o.has(2) && beta != 0) out = out + scaled(o.operand(2, 2), beta);
  o.give(out);
}

// ---- Einsum: operands joined one after the other by a matrix product over what they share.

struct labelled {
  ir::value x;
  std::string labels;  // one letter for each axis
};

inline labelled without(labelled a, char label) {
  const auto axis = static_cast<int>(a.labels.find(label));
  a.x = ir::sum(a.x, std::int64_t{1} << axis, false);
  a.labels.erase(static_cast<std::size_t>(axis), 1);
  return a;
}
inline ir::value ordered(const labelled& a, const std::string& labels) {
  std::vector<std::int64_t> order;
  for (const char c : labels) order.push_back(static_cast<std::int64_t>(a.labels.find(c)));
  return ir::permute(a.x, order);
}

inline labelled joined(operation& o, const labelled& a, const labelled& b,
                       const std::string& later) {
  std::string both, only_a, only_b, contracted;
  for (const char c : a.labels) {
    const bool shared = b.labels.find(c) != std::string::npos;
    if (!shared)
      only_a += c;
    else if (later.find(c) != std::string::npos)
      both += c;
    else
      contracted += c;
  }
  for (const char c : b.labels)
    if (a.labels.find(c) == std::string::npos) only_b += c;
  const auto extents = [&](const labelled& v, const std::string& labels) {
    ir::symbolic_shape out;
    for (const char c : labels) out.push_back(v.x.extent(static_cast<int>(v.labels.find(c))));
    return out;
  };
  const auto total = [&](const ir::symbolic_shape& shape) {
    ir::dim t(1);
    for (const ir::dim d : shape) t = o.dims().mul(t, d);
    return t;
  };
  const ir::symbolic_shape batch = extents(a, both), rows = extents(a, only_a),
                           columns = extents(b, only_b);
  const auto matrix = [&](const ir::value x, ir::dim first, ir::dim second) {
    ir::symbolic_shape shape = batch;
    movement::require_rank(o, shape.size() + 2);
    shape.push_back(first);
    shape.push_back(second);
    return ir::reshape(x, shape);
  };
  const ir::dim depth = total(extents(a, contracted));
  const ir::value product =
      ir::matmul(matrix(ordered(a, both + only_a + contracted), total(rows), depth),
                 matrix(ordered(b, both + contracted + only_b), depth, total(columns)));
  ir::symbolic_shape out = batch;
  movement::require_rank(o, both.size() + only_a.size() + only_b.size());
  for (const ir::dim d : rows) out.push_back(d);
  for (const ir::dim d : columns) out.push_back(d);
  return {ir::reshape(product, out), both + only_a + only_b};
}

// A label that stands twice in an operand: its diagonal.
inline labelled diagonal(operation& o, labelled a) {
  for (std::size_t i = 0; i < a.labels.size(); ++i) {
    const std::size_t j = a.labels.find(a.labels[i], i + 1);
    if (j == std::string::npos) continue;
    const ir::value row = ir::iota(o.graph(), dtype::i64, a.x.shape(), static_cast<int>(i)),
                    column = ir::iota(o.graph(), dtype::i64, a.x.shape(), static_cast<int>(j));
    if (o.dims().equal(a.x.extent(static_cast<int>(i)), a.x.extent(static_cast<int>(j))) ==
        ir::truth::no)
      throw shape_error("a label of two extents");
    const ir::value kept =
        ir::where(ir::elementwise(ir::op::equal, {row, column}), a.x, ir::constant_like(a.x, 0));
    a.x = ir::sum(kept, std::int64_t{1} << j, false);
    a.labels.erase(j, 1);
    return diagonal(o, std::move(a));
  }
  return a;
}

inline void einsum(operation& o) {
  std::string equation;
  for (const char c : o.text("equation", ""))
    if (c != ' ') equation += c;
  const std::size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (const char c : left) c == ',' ? void(terms.emplace_back()) : void(terms.back() += c);
  if (terms.size() != static_cast<std::size_t>(o.count()))
    o.fail("equation " + in_quotes(equation) + " has " + std::to_string(terms.size()) + " terms");
  // The axes of an ellipsis get letters of their own, counted from the last.
  const std::string spare = "\x01\x02\x03\x04\x05\x06\x07\x08";
  std::string ellipsis;
  const auto expanded = [&](std::string term, int rank, bool is_operand) {
    const std::size_t dots = term.find("...");
    if (dots == std::string::npos) return term;
    const int hidden =
        is_operand ? rank - static_cast<int>(term.size() - 3) : static_cast<int>(ellipsis.size());
    if (hidden < 0) throw shape_error("rank " + std::to_string(rank) + " for " + in_quotes(term));
    const std::string letters = spare.substr(spare.size() - static_cast<std::size_t>(hidden));
    if (letters.size() > ellipsis.size()) ellipsis = letters;
    return term.substr(0, dots) + letters + term.substr(dots + 3);
  };
  std::vector<labelled> operands;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const int rank = o.rank(static_cast<int>(i));
    const std::string labels = expanded(terms[i], rank, true);
    if (labels.size() != static_cast<std::size_t>(rank))
      throw shape_error("rank " + std::to_string(rank) + " for " + in_quotes(terms[i]));
    operands.push_back(diagonal(o, {o.in(static_cast<int>(i)), labels}));
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = expanded(equation.substr(arrow + 2), 0, false);
  } else {  // letters that stand once, in their order
    std::string all;
    for (const labelled& each : operands) all += each.labels;
    for (const char c : all)
      if (std::ranges::count(all, c) == 1 && ellipsis.find(c) == std::string::npos) result += c;
    std::ranges::sort(result);
    result = ellipsis + result;
  }
  labelled total = operands[0];
  for (std::size_t i = 1; i <= operands.size(); ++i) {
    std::string later = result;
    for (std::size_t j = i; j < operands.size(); ++j) later += operands[j].labels;
    // What nobody needs any more is summed before the product.
    for (const char c : std::string(total.labels))
      if (later.find(c) == std::string::npos) total = without(total, c);
    if (i == operands.size()) break;
    later = result;
    for (std::size_t j = i + 1; j < operands.size(); ++j) later += operands[j].labels;
    labelled next = operands[i];
    for (const char c : std::string(next.labels))
      if (later.find(c) == std::string::npos && total.labels.find(c) == std::string::npos)
        next = without(next, c);
    total = joined(o, total, next, later);
  }
  for (const char c : result)
    if (total.labels.find(c) == std::string::npos || std::ranges::count(result, c) > 1)
      o.fail("equation " + in_quotes(equation) + " is not supported");
  o.give(ordered(total, result));
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail::contraction
