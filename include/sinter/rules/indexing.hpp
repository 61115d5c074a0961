// SPDX-License-Identifier: MIT
// Gather and scatter_add. An index out of range is an error, so no rule adds or drops an index that
// is not known to be in range: a product with a one-hot matrix is a gather only then, and only of
// finite rows, so it is not rewritten at all.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace indexing {

// (gather[?p] (gather[?p] ?x ?i) ?j) with a list ?i: of the indices that are wanted.
inline std::optional<class_id> gather_gather(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value i = side["?i"];
  if (i.rank() != 1) return std::nullopt;
  return side.finish(
      ir::gather(side["?x"], ir::gather(i, side["?j"], 0), static_cast<int>(side.attribute("?p"))));
}

// (gather[?p] ?x (iota[?i])): every element in its place, if the list counts to the end.
inline std::optional<class_id> gather_all(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], counter = side["?i"];
  const int axis = static_cast<int>(side.attribute("?p"));
  if (counter.rank() != 1) return std::nullopt;
  // u8 counts modulo 256.
  if (is_narrow_integer(counter.type())) return std::nullopt;
  const dim count = counter.extent(0);
  symbolic_shape start = symbolic_shape::filled(static_cast<std::size_t>(x.rank()), dim(0)),
                 stop = x.shape();
  if (!(count == stop[axis]) && !(count.is_constant() && stop[axis].is_constant() &&
                                  count.constant() <= stop[axis].constant()))
    return std::nullopt;
  stop[axis] = count;
  return side.finish(
      ir::slice(x, start, stop, axis_list::filled(static_cast<std::size_t>(x.rank()), 1)));
}
inline bool index_counts(const tensor_egraph& graph, const tensor_match& m) {
  for (const eqsat::enode_view& node : graph.nodes(m["?i"]))
    if (node.op == static_cast<std::uint16_t>(op::iota)) return true;
  return false;
}

// (gather[?p] (op ?x) ?i), (gather[?p] (op ?x ?y) ?i) with a scalar ?y: on what was gathered, if
// that is not more than the table.
template <op Code, bool Exchanged = false>
std::optional<class_id> gather_elementwise(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  const int axis = static_cast<int>(side.attribute("?p"));
  const ir::graph& g = side.terms();
  if (x.rank() == 0 || elements_at_hand(g, side.root().shape()) > elements_at_hand(g, x.shape()))
    return std::nullopt;
  if constexpr (ir::info(Code).arity == 1) {
    return side.finish(ir::unary(Code, ir::gather(x, side["?i"], axis)));
  } else {
    const ir::value y = side["?y"];
    if (y.rank() != 0) return std::nullopt;
    const ir::value part = ir::gather(x, side["?i"], axis);
    return side.finish(Exchanged ? ir::elementwise(Code, {y, part})
                                 : ir::elementwise(Code, {part, y}));
  }
}

// (add (scatter_add[?p] ?u ?i) (scatter_add[?p] ?v ?i)): both updates at once.
template <op Code>
std::optional<class_id> scatter_together(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value u = side["?u"], v = side["?v"];
  if (!is_floating(u.type()) || !(u.shape() == v.shape())) return std::nullopt;
  return side.finish(ir::scatter_add(ir::elementwise(Code, {u, v}), side["?i"],
                                     static_cast<int>(side.attribute("?p")), side.root().shape()));
}

// (scatter_add[?p] (mul ?u ?s) ?i) with a scalar: on the updates or on the table, whichever is
// smaller for the extents at hand. A factor that is not finite would turn zeros into NaN.
inline std::optional<class_id> scatter_scaled(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value u = side["?u"], s = side["?s"];
  const facts known = side.data("?s");
  const ir::graph& g = side.terms();
  if (s.rank() != 0 || u.rank() == 0 || !is_floating(u.type()) || !known.is_constant ||
      !std::isfinite(known.constant) ||
      elements_at_hand(g, u.shape()) < elements_at_hand(g, side.root().shape()))
    return std::nullopt;
  return side.finish(
      ir::scatter_add(u, side["?i"], static_cast<int>(side.attribute("?p")), side.root().shape()) *
      s);
}
inline std::optional<class_id> scatter_into(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value u = side["?u"], s = side["?s"];
  const facts known = side.data("?s");
  const ir::graph& g = side.terms();
  if (s.rank() != 0 || u.rank() == 0 || !is_floating(u.type()) || !known.is_constant ||
      !std::isfinite(known.constant) ||
      elements_at_hand(g, u.shape()) >= elements_at_hand(g, side.root().shape()))
    return std::nullopt;
  return side.finish(ir::scatter_add(u * s, side["?i"], static_cast<int>(side.attribute("?p")),
                                     side.root().shape()));
}

template <op Code>
void append_rules_of(rule_table& out) {
  using enum phase;
  using enum rounding;
  const std::string name(ir::name(Code));
  if constexpr (ir::info(Code).arity == 1) {
    out.push_back({"gather-elementwise", improve, exact, "(gather[?p] (" + name + " ?x) ?i)",
                   gather_elementwise<Code>});
  } else {
    out.push_back({"gather-elementwise", improve, exact, "(gather[?p] (" + name + " ?x ?y) ?i)",
                   gather_elementwise<Code>});
    if constexpr (!ir::info(Code).commutative)
      out.push_back({"gather-elementwise", improve, exact, "(gather[?p] (" + name + " ?y ?x) ?i)",
                     gather_elementwise<Code, true>});
  }
}

template <std::size_t... Codes>
void append_all(rule_table& out, std::index_sequence<Codes...>) {
  const auto append_if = [&out]<std::size_t Code>() {
    constexpr op code = static_cast<op>(Code);
    if constexpr (ir::is_elementwise(code) && ir::info(code).arity <= 2 && code != op::custom_map &&
                  !ir::is_conversion(code) && code != op::stop_gradient)
      append_rules_of<code>(out);
  };
  (append_if.template operator()<Codes>(), ...);
}

}  // namespace indexing

inline rule_table indexing_rules() {
  using enum phase;
  using enum rounding;
  using namespace indexing;
  rule_table out{
      {"gather-gather", improve, exact, "(gather[?p] (gather[?p] ?x ?i) ?j)", gather_gather},
      tensor_rule("gather-all", normalise, exact, "(gather[?p] ?x ?i)", gather_all, index_counts)
          .searched_fully(),
      {"scatter-together", improve, reassociates,
       "(add (scatter_add[?p] ?u ?i) (scatter_add[?p] ?v ?i))", scatter_together<op::add>},
      {"scatter-together", improve, reassociates,
       "(sub (scatter_add[?p] ?u ?i) (scatter_add[?p] ?v ?i))", scatter_together<op::sub>},
      {"scatter-scaled", improve, reassociates, "(scatter_add[?p] (mul ?u ?s) ?i)", scatter_scaled},
      {"scatter-scaled", improve, reassociates, "(mul (scatter_add[?p] ?u ?i) ?s)", scatter_into},
      {"scatter-neg", improve, reassociates, "(scatter_add[?p] (neg ?u) ?i)",
       "(neg (scatter_add[?p] ?u ?i))"},
  };
  append_all(out, std::make_index_sequence<static_cast<std::size_t>(ir::op_count)>{});
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
