// SPDX-License-Identifier: MIT
//
// Where a semi-naive search has to start: the nodes touched in the last epoch, and their ancestors
// up to the depth of the deepest pattern, listed by operator and, within an operator, by distance
// from what was touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/support/large_vector.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

class candidate_index {
 public:
  /// `inner` is the union of the programs' `inner_operators`: a node with another operator is never
  /// below a root.
  template <class Language>
  void build(const egraph<Language>& graph, span<const node_id> touched, std::size_t depth,
             std::uint64_t inner) {
    operators_ = Language::operators.size();
    lists_.resize(operators_);
    for (auto& list : lists_) list.clear();
    ends_.clear();
    seen_nodes_.resize(graph.node_id_end(), 0);
    seen_classes_.resize(graph.class_id_end(), 0);
    const std::uint32_t mark = graph.epoch();

    frontier_.clear();
    for (const node_id id : touched) add(graph, id, mark);
    end_level();
    for (std::size_t level = 1; level <= depth; ++level) {
      below_.swap(frontier_);
      frontier_.clear();
      for (const node_id id : below_) {
        if ((inner >> (graph.record(id).op % 64) & 1) == 0) continue;
        const class_id home = graph.class_of(id);
        if (seen_classes_[home] == mark) continue;
        seen_classes_[home] = mark;
        graph.for_each_parent(home, [&](const enode_view& parent) { add(graph, parent.id, mark); });
      }
      end_level();
    }
  }

  /// Nodes of operator `op` at most `depth` levels above a touched node.
  span<const node_id> roots(std::uint16_t op, std::size_t depth) const {
    return span<const node_id>(lists_[op]).first(ends_[depth * operators_ + op]);
  }

 private:
  template <class Language>
  void add(const egraph<Language>& graph, node_id id, std::uint32_t mark) {
    if (seen_nodes_[id] == mark || graph.record(id).dead()) return;
    seen_nodes_[id] = mark;
    lists_[graph.record(id).op].push_back(id);
    frontier_.push_back(id);
  }
  void end_level() {
    for (const auto& list : lists_) ends_.push_back(list.size());
  }

  std::size_t operators_ = 0;
  std::vector<large_vector<node_id>> lists_;  // by operator
  std::vector<std::size_t> ends_;             // by level and operator
  large_vector<std::uint32_t> seen_nodes_;
  large_vector<std::uint32_t> seen_classes_;
  large_vector<node_id> frontier_;
  large_vector<node_id> below_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
