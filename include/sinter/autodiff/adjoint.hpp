// SPDX-License-Identifier: MIT
// What a reverse sweep remembers: for every node whether it lies between a requested variable and
// the loss, and the node that holds its adjoint (the derivative of the loss with respect to it) as
// far as it is summed up. Gradient rules see one node at a time through `pullback`.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/graph/build.hpp>
#include <sinter/support/flat_vector.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// Adjoints of the nodes up to a loss. One vector holds both facts, since a sweep in constant
/// evaluation pays for every statement: Clang stops after 1,048,576 of them.
class adjoint_table {
 public:
  adjoint_table() = delete;
  constexpr adjoint_table(graph& g, int loss)
      : graph_(&g), state_(static_cast<std::size_t>(loss) + 1, inactive) {}

  constexpr void activate(int node) { state_[static_cast<std::size_t>(node)] = no_adjoint; }
  constexpr bool active(int node) const {
    return state_[static_cast<std::size_t>(node)] != inactive;
  }

  /// Makes room for nodes that were added after the loss.
  constexpr void cover(int nodes) {
    while (state_.size() < static_cast<std::size_t>(nodes)) state_.push_back(inactive);
  }

  /// The node with the adjoint of `node`, or a negative number if nothing has reached it.
  constexpr int adjoint(int node) const { return state_[static_cast<std::size_t>(node)]; }

  /// Adds `contribution` to the adjoint of `node`. It may have the shape that `node` was broadcast
  /// to (a scalar operand of an element-wise op included); what is summed over then is what
  /// broadcasting repeated.
  constexpr void add(int node, value contribution) {
    const symbolic_shape shape = (*graph_)[node].shape;  // a copy: appending moves the nodes
    contribution = sum_to(contribution, shape);
    int& sum = state_[static_cast<std::size_t>(node)];
    sum = sum < 0 ? contribution.id : append(*graph_, op::add, {sum, contribution.id});
  }

 private:
  static constexpr int inactive = -2;
  static constexpr int no_adjoint = -1;

  graph* graph_;
  flat_vector<int> state_;
};

/// One node during the sweep: its rule reads operands, result and adjoint, and adds to the adjoints
/// of those operands that lead to a variable. All of `adjoint`, `result` and a tensor operand of an
/// element-wise op have one shape.
///
/// Without a table it is the rule of one operand alone, whose contribution is kept in `collected`:
/// where the matrix of derivatives is symmetric, forward mode runs the same rule with the operand's
/// tangent in the place of the adjoint.
struct pullback {
  adjoint_table* table;
  value result;
  value adjoint;
  int only = -1;
  value* collected = nullptr;

  constexpr graph& owner() const { return *result.owner; }
  constexpr value operand(int i) const { return {result.owner, result.owner->input(result.id, i)}; }
  constexpr int operand_count() const { return result.get().input_count; }
  constexpr std::int64_t attribute(int i) const {
    return owner().attributes(result.id)[static_cast<std::size_t>(i)];
  }
  constexpr bool wants(int i) const {
    return table == nullptr ? i == only : table->active(owner().input(result.id, i));
  }
  constexpr void add(int i, value contribution) const {
    if (table == nullptr)
      *collected = contribution;
    else
      table->add(owner().input(result.id, i), contribution);
  }
};

}  // namespace sinter::inline SINTER_ABI::ir
