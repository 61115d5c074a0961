// SPDX-License-Identifier: MIT
// Functions that were written out become the op that computes them at once. Other spellings arrive
// here through the algebra: constants have moved outward, divisions by constants are products,
// powers are products. silu(g) * u (SwiGLU) needs no op of its own: a nest fuses the product once
// silu is found.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <sinter/rules/matmul_sums.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace recognition {

// A constant that was written in float or with a few digits less is meant all the same: 0.044715 is
// itself a fit.
inline bool is_near(const tensor_egraph& graph, class_id id, double value) {
  const facts& known = graph.data(id);
  const double tolerance = node_of(graph, id).type == dtype::f32 ? 1e-6 : 1e-14;
  return known.is_constant && std::abs(known.constant - value) <= tolerance * std::abs(value);
}

inline bool is_inverse_root_two(const tensor_egraph& graph, const tensor_match& m) {
  return is_near(graph, m["?c"], 0.70710678118654752440);
}
inline bool has_tanh_constants(const tensor_egraph& graph, const tensor_match& m) {
  return is_near(graph, m["?c"], 0.79788456080286535588) && is_near(graph, m["?k"], 0.044715);
}

inline bool is_finite_shift(const tensor_egraph& graph, const tensor_match& m) {
  const facts& known = graph.data(m["?c"]);
  return known.is_constant && std::isfinite(known.constant) && x_fills_root(graph, m);
}

// (reduce_sum[?p] (where (equal ?i ?l) (log_softmax[?a] ?x) 0)) where ?i counts the classes along
// the last axis and ?l repeats a label per row: minus the cross-entropy.
inline std::optional<class_id> cross_entropy_of(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], labels = side["?l"];
  const int last = x.rank() - 1;
  const std::int64_t axes = std::int64_t{1} << last;
  if (side.attribute("?p") != axes || side.attribute("?a") != axes || labels.rank() != x.rank() ||
      !is_one(labels.extent(last)) || !is_integral(labels.type()) ||
      is_narrow_integer(labels.type()))
    return std::nullopt;
  symbolic_shape rows = x.shape();
  rows.pop_back();
  for (int i = 0; i < last; ++i)
    if (!(labels.extent(i) == rows[i])) return std::nullopt;
  const ir::value flat = ir::reshape(labels, rows);
  const ir::value loss{x.owner, ir::append(*x.owner, op::cross_entropy, {x.id, flat.id})};
  return side.finish(-ir::reshape(loss, side.root().shape()));
}
inline bool counts_last_axis(const tensor_egraph& graph, const tensor_match& m) {
  const int rank = static_cast<int>(shape_of(graph, m["?x"]).size());
  return rank >= 1 && matmul::counted_axis(graph, m["?i"]) == rank - 1;
}

// softmax(x - max x) would be taken for a softmax of its own; it is the expansion of softmax(x).
inline bool is_not_shifted(const tensor_egraph& graph, const tensor_match& m) {
  for (const eqsat::enode_view& node : graph.nodes(m["?x"])) {
    if (node.op != static_cast<std::uint16_t>(op::sub)) continue;
    for (const eqsat::enode_view& row : graph.nodes(node.children[1])) {
      if (row.op == static_cast<std::uint16_t>(op::reduce_max)) return false;
      if (row.op != static_cast<std::uint16_t>(op::broadcast_to)) continue;
      for (const eqsat::enode_view& inner : graph.nodes(row.children[0]))
        if (inner.op == static_cast<std::uint16_t>(op::reduce_max)) return false;
    }
  }
  return true;
}

// Is the class 1 over the number of elements that a reduction of x over these axes combines?
inline bool is_inverse_count(const tensor_egraph& graph, class_id id, class_id x,
                             std::int64_t axes) {
  double count = 1;
  const symbolic_shape& shape = shape_of(graph, x);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (ir::has_axis(axes, static_cast<int>(i)))
      count *= shape[i].is_constant() ? static_cast<double>(shape[i].constant()) : 0;
  return count > 0 && is_near(graph, id, 1 / count);
}
// Is the class the mean of x over these axes?
inline bool is_mean(const tensor_egraph& graph, class_id id, class_id x, std::int64_t axes) {
  for (const eqsat::enode_view& node : graph.nodes(id)) {
    if (node.op != static_cast<std::uint16_t>(op::mul)) continue;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (!is_inverse_count(graph, node.children[1 - side], x, axes)) continue;
      for (const eqsat::enode_view& sum : graph.nodes(node.children[side]))
        if (sum.op == static_cast<std::uint16_t>(op::reduce_sum) &&
            graph.find(sum.children[0]) == graph.find(x) &&
            graph.language().payload(sum.payload).attributes[0] == axes)
          return true;
    }
  }
  return false;
}

// ?d over the root of its mean square plus a constant: a layer norm of x if ?d is x minus its mean,
// an RMS norm of ?d otherwise.
template <op Code>
inline std::optional<class_id> norm_of(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value d = side["?d"];
  const std::int64_t axes = side.attribute("?p");
  const double eps = graph.data(m["?e"]).constant;
  const std::int64_t attributes[] = {axes, ir::bits_of(eps)};
  if (!(eps >= 0) || !is_inverse_count(graph, m["?c"], m["?d"], axes)) return std::nullopt;
  std::optional<class_id> centred;
  for (const eqsat::enode_view& node : graph.nodes(m["?d"])) {
    if (node.op != static_cast<std::uint16_t>(op::sub)) continue;
    for (const eqsat::enode_view& mean : graph.nodes(node.children[1]))
      if (mean.op == static_cast<std::uint16_t>(op::broadcast_to) &&
          is_mean(graph, mean.children[0], node.children[0], axes))
        centred = node.children[0];
  }
  if (centred.has_value() != (Code == op::layer_norm)) return std::nullopt;
  const int x[] = {centred ? side.term(*centred).id : d.id};
  return side.finish({d.owner, ir::append(*d.owner, Code, x, attributes)});
}
inline bool is_constant_eps(const tensor_egraph& graph, const tensor_match& m) {
  return graph.data(m["?e"]).is_constant;
}

// `form` with the mean square of ?d plus a constant as ?v.
template <op Code>
tensor_rule norm_rule(std::string form) {
  form.replace(form.find("?v"), 2, "(add (mul (reduce_sum[?p] (mul ?d ?d)) ?c) ?e)");
  return tensor_rule(Code == op::layer_norm ? "find-layer-norm" : "find-rms-norm", phase::recognise,
                     rounding::reassociates, std::move(form), norm_of<Code>, is_constant_eps)
      .searched_fully();
}

}  // namespace recognition

inline rule_table recognition_rules() {
  using enum phase;
  using enum rounding;
  using namespace recognition;
  return {
      // The kernel of relu may keep or drop the sign of a zero.
      {"find-relu", improve, reassociates, "(maximum ?x 0)", "(relu ?x)", x_fills_root},
      {"find-sigmoid", improve, reassociates, "(recip (add (exp (neg ?x)) 1))", "(sigmoid ?x)"},
      {"find-sigmoid", improve, reassociates, "(div (exp ?x) (add (exp ?x) 1))",
       "(sigmoid ?x)"},  // overflows for large x
      {"find-sigmoid", improve, reassociates, "(mul (add (tanh (mul ?x 0.5)) 1) 0.5)",
       "(sigmoid ?x)", x_fills_root},
      {"find-silu", improve, reassociates, "(mul ?x (sigmoid ?x))", "(silu ?x)"},
      {"find-silu", improve, reassociates, "(div ?x (add (exp (neg ?x)) 1))", "(silu ?x)"},
      {"find-softplus", improve, reassociates, "(log (add (exp ?x) 1))", "(softplus ?x)"},
      {"find-gelu", improve, reassociates, "(mul (mul ?x (add (erf (mul ?x ?c)) 1)) 0.5)",
       "(gelu ?x)", is_inverse_root_two},
      {"find-gelu-tanh", improve, reassociates,
       "(mul (mul ?x (add (tanh (mul (add ?x (mul (mul (mul ?x ?x) ?x) ?k)) ?c)) 1)) 0.5)",
       "(gelu_tanh ?x)", has_tanh_constants},
      {"find-gelu-tanh", improve, reassociates,
       "(mul (mul ?x (add (tanh (mul (mul ?x (add (mul (mul ?x ?x) ?k) 1)) ?c)) 1)) 0.5)",
       "(gelu_tanh ?x)", has_tanh_constants},

      {"find-softplus", improve, reassociates, "(add (relu ?x) (log (add (exp (neg (abs ?x))) 1)))",
       "(softplus ?x)"},
      {"find-tanh", improve, reassociates, "(add (mul (sigmoid (mul ?x 2)) 2) -1)", "(tanh ?x)",
       x_fills_root},
      {"find-tanh", improve, reassociates,
       "(div (sub (exp ?x) (exp (neg ?x))) (add (exp ?x) (exp (neg ?x))))", "(tanh ?x)"},
      {"find-tanh", improve, reassociates,
       "(div (add (exp (mul ?x 2)) -1) (add (exp (mul ?x 2)) 1))", "(tanh ?x)", x_fills_root},
      {"log-of-sigmoid", improve, reassociates, "(log (sigmoid ?x))", "(neg (softplus (neg ?x)))"},

      // A shift of all elements of a row by a number, or by its own maximum, changes nothing; by
      // something else it would where that is infinite.
      {"softmax-shift", recognise, reassociates, "(softmax[?a] (add ?x ?c))", "(softmax[?a] ?x)",
       is_finite_shift},
      {"softmax-shift", recognise, reassociates, "(log_softmax[?a] (add ?x ?c))",
       "(log_softmax[?a] ?x)", is_finite_shift},
      {"softmax-shift", recognise, reassociates, "(softmax[?a] (sub ?x ?c))", "(softmax[?a] ?x)",
       is_finite_shift},
      {"softmax-shift", recognise, reassociates, "(log_softmax[?a] (sub ?x ?c))",
       "(log_softmax[?a] ?x)", is_finite_shift},
      {"softmax-of-shifted", recognise, reassociates,
       "(softmax[?a] (sub ?x (broadcast_to[?s] (reduce_max[?a] ?x))))", "(softmax[?a] ?x)"},
      {"softmax-of-shifted", recognise, reassociates,
       "(log_softmax[?a] (sub ?x (broadcast_to[?s] (reduce_max[?a] ?x))))", "(log_softmax[?a] ?x)"},
      {"softmax-of-log-softmax", recognise, reassociates, "(softmax[?a] (log_softmax[?a] ?x))",
       "(softmax[?a] ?x)"},
      {"softmax-of-log-softmax", recognise, reassociates, "(log_softmax[?a] (log_softmax[?a] ?x))",
       "(log_softmax[?a] ?x)"},
      tensor_rule(
          "find-cross-entropy", recognise, reassociates,
          "(reduce_sum[?p] (where (equal ?i (broadcast_to[?b] ?l)) (log_softmax[?a] ?x) 0))",
          cross_entropy_of, counts_last_axis)
          .searched_fully(),

      // Under the names of their composites norms are what a layer would have written.
      norm_rule<op::layer_norm>("(div ?d (broadcast_to[?s] (sqrt ?v)))"),
      norm_rule<op::layer_norm>("(mul ?d (broadcast_to[?s] (recip (sqrt ?v))))"),
      norm_rule<op::layer_norm>("(mul ?d (broadcast_to[?s] (rsqrt ?v)))"),
      norm_rule<op::rms_norm>("(div ?d (broadcast_to[?s] (sqrt ?v)))"),
      norm_rule<op::rms_norm>("(mul ?d (broadcast_to[?s] (recip (sqrt ?v))))"),
      norm_rule<op::rms_norm>("(mul ?d (broadcast_to[?s] (rsqrt ?v)))"),

      // Without the subtraction of the largest element these overflow where the composites do not.
      {"find-softmax", recognise, reassociates,
       "(div (exp ?x) (broadcast_to[?s] (reduce_sum[?a] (exp ?x))))", "(softmax[?a] ?x)",
       is_not_shifted},
      {"find-log-softmax", recognise, reassociates,
       "(sub ?x (broadcast_to[?s] (log (reduce_sum[?a] (exp ?x)))))", "(log_softmax[?a] ?x)",
       is_not_shifted},
      {"log-of-softmax", recognise, reassociates, "(log (softmax[?a] ?x))", "(log_softmax[?a] ?x)"},
      {"exp-of-log-softmax", recognise, reassociates, "(exp (log_softmax[?a] ?x))",
       "(softmax[?a] ?x)"},
  };
}

}  // namespace sinter::inline SINTER_ABI::rules
