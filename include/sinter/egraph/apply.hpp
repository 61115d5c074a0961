// SPDX-License-Identifier: MIT
//
// Applying a match: builds the right side of a rule bottom-up and unites it with the class that the
// left side matched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/rule.hpp>

namespace sinter::eqsat {

/// A match as the runner stores it: roots, then class variables, then payload variables.
struct match_layout {
  std::size_t roots = 0;
  std::size_t classes = 0;
  std::size_t payloads = 0;

  template <class Language>
  static match_layout of(const rule<Language>& r) {
    return {r.left.roots(), r.variables.classes.size(), r.variables.payloads.size()};
  }
  std::size_t size() const { return roots + classes + payloads; }
};

template <class Language>
class rule_applier {
 public:
  rule_applier(egraph<Language>& graph, const rule<Language>& r, reason why)
      : graph_(graph), rule_(r), layout_(match_layout::of(r)), why_(why) {}

  /// Throws `node_limit_error` where the e-graph is full; what was added until then stays.
  void apply(std::span<const std::uint32_t> values) {
    const auto roots = values.first(layout_.roots);
    const auto classes = values.subspan(layout_.roots, layout_.classes);
    const auto payloads = values.subspan(layout_.roots + layout_.classes);
    if (rule_.compute != nullptr) {
      compute(roots, classes, payloads);
      return;
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {
      const std::size_t first = rule_.right.starts[i];
      const std::size_t end = first + rule_.right.terms[first].size;
      build(first, end, roots[i], classes, payloads);
    }
  }

 private:
  // Prefix order read backwards is an evaluation order. The stack grows downwards, so that the
  // children of an operator lie on it from left to right.
  void build(std::size_t first, std::size_t end, class_id root, std::span<const class_id> classes,
             std::span<const std::uint32_t> payloads) {
    std::array<class_id, max_terms> stack;
    std::size_t top = stack.size();
    for (std::size_t i = end; i-- > first;) {
      const pattern_term& term = rule_.right.terms[i];
      switch (term.kind) {
        case term_kind::variable: stack[--top] = classes[term.index]; break;
        case term_kind::literal:
          stack[--top] = literal(rule_.right.literals[term.index], root);
          break;
        case term_kind::any: return;  // the parser accepts none on a right side
        case term_kind::apply: {
          const std::uint32_t payload =
              term.payload == payload_kind::variable ? payloads[term.payload_index] : 0;
          const std::span<const class_id> children(stack.data() + top, term.arity);
          if (i == first) {
            graph_.add_to_class_of_rule(root, term.op, payload, children, why_);
            return;
          }
          const class_id made = graph_.add_of_rule(term.op, payload, children, why_);
          top += term.arity;
          stack[--top] = made;
          break;
        }
      }
    }
    graph_.unite(root, stack[top], why_);
  }

  class_id literal(double value, class_id root) {
    if constexpr (HasAddLiteral<Language>) {
      return graph_.language().add_literal(graph_, value, graph_.find(root));
    } else {
      static_assert(!HasParseLiteral<Language>,
                    "a language with parse_literal needs add_literal(graph, value, root)");
      return root;
    }
  }

  void compute(std::span<const class_id> roots, std::span<const class_id> classes,
               std::span<const std::uint32_t> payloads) {
    std::array<class_id, max_patterns> current_roots;
    std::array<class_id, max_variables> current_classes;
    for (std::size_t i = 0; i < roots.size(); ++i) current_roots[i] = graph_.find(roots[i]);
    for (std::size_t i = 0; i < classes.size(); ++i) current_classes[i] = graph_.find(classes[i]);
    const match found(rule_.variables, {current_roots.data(), roots.size()},
                      {current_classes.data(), classes.size()}, payloads);
    if (const auto result = rule_.compute(graph_, found))
      graph_.unite(current_roots[0], *result, why_);
  }

  egraph<Language>& graph_;
  const rule<Language>& rule_;
  match_layout layout_;
  reason why_;
};

}  // namespace sinter::eqsat
