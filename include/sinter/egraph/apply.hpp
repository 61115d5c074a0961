// SPDX-License-Identifier: MIT
//
// Applying matches: builds the right side of a rule bottom-up and unites it with the class that the
// left side matched, one term for a block of matches at a time, so that the block's places in the
// hash-cons are fetched side by side: on an e-graph of a million nodes most lookups miss the cache.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/rule.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// How many matches are applied side by side at most. 16 to 64 are equally fast.
inline constexpr std::size_t match_block = 32;
static_assert(match_block <= 32, "change_counter has a bit for each");

/// Counts the matches that changed an e-graph, block by block: a match is applied in several steps,
/// any of which may.
class change_counter {
 public:
  void start_block() {
    before_ = total();
    changed_ = 0;
  }
  /// Runs a step of match m of the block.
  template <class Graph, class Step>
  void note(const Graph& graph, std::size_t m, Step&& step) {
    const std::uint64_t revision = graph.revision();
    step();
    if (graph.revision() != revision) changed_ |= std::uint32_t{1} << m;
  }
  std::size_t total() const { return before_ + static_cast<std::size_t>(std::popcount(changed_)); }

 private:
  std::uint32_t changed_ = 0;  // a bit for each match of the block
  std::size_t before_ = 0;     // of the blocks before
};

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

  /// Applies at most `match_block` matches that lie one after the other. Throws `node_limit_error`
  /// where the e-graph is full; what was added until then stays.
  void apply(span<const std::uint32_t> matches) {
    matches_ = matches;
    count_ = matches.size() / layout_.size();
    changes_.start_block();
    if (rule_.compute != nullptr) {
      for (std::size_t m = 0; m < count_; ++m) changes_.note(graph_, m, [&] { compute(m); });
      return;
    }
    for (std::size_t pattern = 0; pattern < layout_.roots; ++pattern) build(pattern);
  }

  /// How many matches changed the e-graph so far.
  std::size_t applications() const { return changes_.total(); }

 private:
  // One value of each match of the block.
  struct column {
    const std::uint32_t* first;
    std::size_t stride;

    std::uint32_t operator[](std::size_t m) const { return first[m * stride]; }
  };
  using class_row = std::array<class_id, max_terms>;

  column matched(std::size_t value) const { return {matches_.data() + value, layout_.size()}; }
  column classes_of(std::size_t term) const {
    const pattern_term& t = rule_.right.terms[term];
    if (t.kind == term_kind::variable) return matched(layout_.roots + t.index);
    return {made_[term].data(), 1};
  }

  // An operator of the right side over the block: its children are columns.
  struct operation {
    std::uint16_t op;
    std::size_t arity;
    column payload;
    std::array<column, max_terms> children;

    span<const class_id> child_classes(std::size_t m, class_row& row) const {
      for (std::size_t i = 0; i < arity; ++i) row[i] = children[i][m];
      return {row.data(), arity};
    }
  };

  operation operation_of(std::size_t term) const {
    static constexpr std::uint32_t zero = 0;
    const pattern_term& t = rule_.right.terms[term];
    operation out;
    out.op = t.op;
    out.arity = t.arity;
    out.payload = t.payload == payload_kind::variable
                      ? matched(layout_.roots + layout_.classes + t.payload_index)
                      : column{&zero, 0};
    std::size_t child = term + 1;
    for (std::size_t i = 0; i < t.arity; ++i, child += rule_.right.terms[child].size)
      out.children[i] = classes_of(child);
    return out;
  }

  // Prefix order read backwards is an evaluation order.
  void build(std::size_t pattern) {
    const std::size_t first = rule_.right.starts[pattern];
    const column roots = matched(pattern);
    for (std::size_t i = first + rule_.right.terms[first].size; i-- > first;) {
      const pattern_term& term = rule_.right.terms[i];
      if (term.kind == term_kind::literal) {
        const double value = rule_.right.literals[term.index];
        for (std::size_t m = 0; m < count_; ++m)
          changes_.note(graph_, m, [&] { made_[i][m] = literal(value, roots[m]); });
      } else if (term.kind == term_kind::apply) {
        const operation made = operation_of(i);
        prefetch(made);
        class_row row;
        for (std::size_t m = 0; m < count_; ++m) {
          const auto children = made.child_classes(m, row);
          changes_.note(graph_, m, [&] {
            if (i == first) {
              graph_.add_to_class_of_rule(roots[m], made.op, made.payload[m], children, why_);
            } else {
              made_[i][m] = graph_.add_of_rule(made.op, made.payload[m], children, why_);
            }
          });
        }
      }
    }
    if (rule_.right.terms[first].kind == term_kind::apply) return;
    const column same = classes_of(first);
    for (std::size_t m = 0; m < count_; ++m)
      changes_.note(graph_, m, [&] { graph_.unite(roots[m], same[m], why_); });
  }

  // A small e-graph is in the cache.
  void prefetch(const operation& made) const {
    if (graph_.node_count() < 10'000) return;
    std::array<std::uint32_t, match_block> hashes;
    class_row row;
    for (std::size_t m = 0; m < count_; ++m)
      hashes[m] = graph_.prefetch_entry(made.op, made.payload[m], made.child_classes(m, row));
    for (std::size_t m = 0; m < count_; ++m) graph_.prefetch_node(hashes[m]);
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

  void compute(std::size_t m) {
    const auto values = matches_.subspan(m * layout_.size(), layout_.size());
    std::array<class_id, max_patterns> roots;
    std::array<class_id, max_variables> classes;
    for (std::size_t i = 0; i < layout_.roots; ++i) roots[i] = graph_.find(values[i]);
    for (std::size_t i = 0; i < layout_.classes; ++i)
      classes[i] = graph_.find(values[layout_.roots + i]);
    const match found(rule_.variables, {roots.data(), layout_.roots},
                      {classes.data(), layout_.classes},
                      values.subspan(layout_.roots + layout_.classes));
    if (const auto result = rule_.compute(graph_, found)) graph_.unite(roots[0], *result, why_);
  }

  egraph<Language>& graph_;
  const rule<Language>& rule_;
  match_layout layout_;
  reason why_;
  span<const std::uint32_t> matches_;                              // the block
  std::size_t count_ = 0;                                          // of its matches
  std::array<std::array<class_id, match_block>, max_terms> made_;  // by term of the right side
  change_counter changes_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
