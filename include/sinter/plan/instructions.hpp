// SPDX-License-Identifier: MIT
// Instruction selection: finds the regions that compiled kernels compute in a saturated e-graph,
// whatever rewriting made of the expression, and adds each as one more way to compute its class.
// The planner then weighs it like any other form.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <sinter/graph/region.hpp>
#include <sinter/plan/cut.hpp>
#include <sinter/rules/language.hpp>

namespace sinter::inline SINTER_ABI::planning {

// E-nodes tried per instruction and root. A region as it was traced takes one per node if the first
// ones fit; classes of a saturated e-graph hold a handful of e-nodes, most of them with another op.
inline constexpr int attempts_per_root = 64;

struct instruction_match {
  class_id root = eqsat::no_id;
  std::uint32_t instruction = 0;
  std::vector<class_id> leaves;
  std::vector<eqsat::node_id> nodes{};  // by node of the region
};

namespace detail {

// What matching asks about classes again and again.
class class_index {
 public:
  explicit class_index(const tensor_egraph& graph) : graph_(graph), entries_(graph.class_id_end()) {
    for (class_id id : graph.classes()) {
      const int term = graph.data(id).term;
      if (term < 0) continue;
      const ir::node& n = graph.language().terms()[term];
      entries_[id] = {&n.shape, n.type, graph.data(id).is_constant, stored_elsewhere(id)};
    }
    mark_reduced(ir::op::reduce_sum, &entry::summed);
    mark_reduced(ir::op::reduce_max, &entry::maximized);
  }

  struct entry {
    const ir::symbolic_shape* shape = nullptr;  // nullptr: no value
    dtype type{};
    bool is_constant = false;
    bool is_operand = false;  // known without element-wise work
    bool summed = false, maximized = false;

    // Is it reduced as a kernel of the instruction does on the way?
    bool is_reduced_by(const ir::instruction& i) const {
      const auto has = [&](ir::op reduction) {
        return i.reduced_by(reduction) != nullptr || i.columns_reduced_by(reduction) != nullptr;
      };
      return (summed && has(ir::op::reduce_sum)) || (maximized && has(ir::op::reduce_max));
    }
  };

  const entry& operator[](class_id id) const { return entries_[id]; }

  // One value per row: a broadcast along the last axes, whatever else it repeats.
  bool is_row_value(class_id id) const {
    for (const eqsat::enode_view& n : graph_.nodes(id)) {
      if (n.op != static_cast<std::uint16_t>(ir::op::broadcast_to)) continue;
      const entry& operand = entries_[n.children[0]];
      if (operand.shape != nullptr && repeated_axes(*operand.shape, *entries_[id].shape) > 0)
        return true;
    }
    return false;
  }

 private:
  bool stored_elsewhere(class_id id) const {
    for (const eqsat::enode_view& n : graph_.nodes(id)) {
      if (n.op >= ir::op_count) continue;
      const ir::op code = static_cast<ir::op>(n.op);
      if (!ir::is_elementwise(code) && code != ir::op::broadcast_to) return true;
    }
    return false;
  }

  void mark_reduced(ir::op reduction, bool entry::*mark) {
    for (eqsat::node_id id : graph_.nodes_by_operator(static_cast<std::uint16_t>(reduction)))
      if (!graph_.record(id).dead())
        entries_[graph_.find(graph_.node(id).children[0])].*mark = true;
  }

  const tensor_egraph& graph_;
  std::vector<entry> entries_;
};

// Matches one region at one root after another: depth first from the root, users before operands,
// over the e-nodes of the classes, both orders of commutative ops.
class region_matcher {
 public:
  region_matcher(const tensor_egraph& graph, const class_index& classes, const ir::region& region)
      : graph_(graph), classes_(classes), region_(region) {}

  // The operands of the best match: as few as possible that would have to be computed element by
  // element first. Among equals the first found, so the result is the same on every run. nullptr:
  // no match.
  const std::vector<class_id>* match(class_id root) {
    root_ = root;
    budget_ = attempts_per_root;
    best_.clear();
    bound_.fill(eqsat::no_id);
    bound_[static_cast<std::size_t>(region_.leaf_count + region_.node_count - 1)] = root;
    search(region_.node_count - 1);
    return best_.empty() ? nullptr : &best_;
  }
  // Of the last match: the e-nodes inside of it.
  const std::vector<eqsat::node_id>& nodes() const { return best_nodes_; }

 private:
  void search(int node) {
    if (node < 0) return keep_if_better();
    const class_id at = bound_[static_cast<std::size_t>(region_.leaf_count + node)];
    if (at == eqsat::no_id) return;  // the result does not depend on this node: not a region
    const ir::op_info& facts = ir::info(region_.code(node));
    const int a = region_.operand(node, 0), b = region_.operand(node, 1);
    for (const eqsat::enode_view& n : graph_.nodes(at)) {
      if (n.op != static_cast<std::uint16_t>(facts.code)) continue;
      if (budget_-- <= 0) return;
      taken_[static_cast<std::size_t>(node)] = n.id;
      const bool symmetric = !facts.commutative || a == b || n.children[0] == n.children[1];
      try_operands(node, n.children, facts.arity, false);
      if (!symmetric) try_operands(node, n.children, facts.arity, true);
      if (budget_ <= 0) return;
    }
  }

  void try_operands(int node, std::span<const class_id> children, int arity, bool exchanged) {
    std::array<int, 3> fresh{};
    int fresh_count = 0;
    bool fits = true;
    for (int k = 0; fits && k < arity; ++k) {
      const int operand = region_.operand(node, k);
      const class_id child = children[static_cast<std::size_t>(exchanged ? 1 - k : k)];
      class_id& bound = bound_[static_cast<std::size_t>(operand)];
      if (bound != eqsat::no_id) {
        fits = bound == child;
        continue;
      }
      fits = may_bind(operand, child);
      if (!fits) break;
      bound = child;
      fresh[static_cast<std::size_t>(fresh_count++)] = operand;
    }
    if (fits) search(node - 1);
    while (fresh_count > 0)
      bound_[static_cast<std::size_t>(fresh[static_cast<std::size_t>(--fresh_count)])] =
          eqsat::no_id;
  }

  // Nothing inside of a region may be its root: that would compute a value from itself.
  bool may_bind(int operand, class_id id) const {
    if (id == root_) return false;
    const class_index::entry& known = classes_[id];
    if (known.shape == nullptr) return false;
    const ir::symbolic_shape& full = *classes_[root_].shape;
    if (operand >= region_.leaf_count) {
      const auto code = static_cast<std::uint16_t>(region_.code(operand - region_.leaf_count));
      return (graph_.operator_mask(id) >> (code % 64) & 1) != 0 && *known.shape == full;
    }
    if (known.type != region_.type) return false;
    if (!region_.is_scalar(operand)) return *known.shape == full;
    return known.shape->empty() || known.is_constant ||
           (*known.shape == full && classes_.is_row_value(id));
  }

  void keep_if_better() {
    int open = 0;
    for (int leaf = 0; leaf < region_.leaf_count; ++leaf) {
      const class_id id = bound_[static_cast<std::size_t>(leaf)];
      if (id == eqsat::no_id) return;
      if (!region_.is_scalar(leaf) && !classes_[id].is_operand) ++open;
    }
    if (!best_.empty() && open >= best_open_) return;
    best_open_ = open;
    best_.assign(bound_.begin(), bound_.begin() + region_.leaf_count);
    best_nodes_.assign(taken_.begin(), taken_.begin() + region_.node_count);
    if (open == 0) budget_ = 0;  // nothing is better
  }

  const tensor_egraph& graph_;
  const class_index& classes_;
  const ir::region& region_;
  class_id root_ = eqsat::no_id;
  int budget_ = 0;
  std::array<class_id, ir::region::max_leaves + ir::region::max_nodes> bound_{};
  std::array<eqsat::node_id, ir::region::max_nodes> taken_{};  // by node of the region
  std::vector<class_id> best_;
  std::vector<eqsat::node_id> best_nodes_;
  int best_open_ = 0;
};

}  // namespace detail

/// One match per instruction and class at most. A scalar leaf is bound to a rank-0 class, to a
/// constant, or to a class that is a broadcast along the last axes of the root's shape (one value
/// per row: the kernel must then be run row by row); another leaf to any class of the root's shape.
/// A region of one op is nothing but that op unless its kernel reduces the result: it matches where
/// that is wanted alone. The e-graph must be clean.
inline std::vector<instruction_match> match_instructions(
    const tensor_egraph& graph, std::span<const ir::instruction> instructions) {
  std::vector<instruction_match> found;
  const detail::class_index classes(graph);
  std::vector<std::uint32_t> tried(graph.class_id_end(),
                                   0);  // 1 + the instruction that a class was last tried for
  for (std::size_t k = 0; k < instructions.size(); ++k) {
    const ir::region& r = instructions[k].structure;
    if (r.node_count == 0) continue;
    const int last = r.node_count - 1;
    const dtype type = ir::is_truth(r, r.leaf_count + last) ? dtype::boolean : r.type;
    const auto number = static_cast<std::uint32_t>(k);
    const bool alone = r.node_count == 1;
    detail::region_matcher matcher(graph, classes, r);
    for (eqsat::node_id id : graph.nodes_by_operator(static_cast<std::uint16_t>(r.code(last)))) {
      if (graph.record(id).dead()) continue;
      const class_id root = graph.class_of(id);
      const auto& known = classes[root];
      // A constant needs no kernel, and scalars are computed once.
      if (tried[root] == number + 1 || known.shape == nullptr || known.type != type ||
          known.shape->empty() || known.is_constant ||
          (alone && !known.is_reduced_by(instructions[k])))
        continue;
      tried[root] = number + 1;
      if (const std::vector<class_id>* leaves = matcher.match(root))
        found.push_back({root, number, *leaves, matcher.nodes()});
    }
  }
  return found;
}

/// Adds an e-node (rules::fused_operator, payload: index of the instruction, children: its operands
/// in the order of the region's leaves) to the class of every match. Returns how many were added;
/// leaves the e-graph clean and without a node limit.
inline int add_matches(tensor_egraph& graph, std::span<const instruction_match> found) {
  // Saturation may have stopped at its limit. What is added here is bounded (one per class and
  // instruction).
  graph.set_node_limit(std::numeric_limits<std::size_t>::max());
  int added = 0;
  for (const instruction_match& m : found)
    if (graph.add_to_class(m.root, rules::fused_operator, m.instruction, m.leaves)) ++added;
  graph.rebuild();
  return added;
}

/// The same for all that `match_instructions` finds.
inline int add_instructions(tensor_egraph& graph, std::span<const ir::instruction> instructions) {
  if (!graph.clean()) graph.rebuild();
  return add_matches(graph, match_instructions(graph, instructions));
}

}  // namespace sinter::inline SINTER_ABI::planning
