// SPDX-License-Identifier: MIT
// Which buffer holds what a selection stores, and how a nest reads it from there.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <sinter/plan/candidate.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/select.hpp>
#include <sinter/support/add_once.hpp>

namespace sinter::inline SINTER_ABI::planning {

// Goals are values as nests of an epoch read them (value * epochs + epoch). Buffers are made as
// goals are first asked for, in the plan.
class goal_buffers {
 public:
  goal_buffers(const value_graph& g, const candidate_enumeration& nests, const selection& chosen,
               plan& out)
      : g_(g), nests_(nests), chosen_(chosen), out_(out), buffer_of_(chosen.nest_of.size(), -1) {}

  /// The nest that is lowered from here on, of this epoch, was made for the value `root`.
  void enter(int epoch, int root) {
    epoch_ = epoch;
    root_ = root;
  }

  int add(place where, int number, int value) {
    out_.buffers.push_back({where, number, g_[value].type, g_[value].shape, 0, 0});
    return static_cast<int>(out_.buffers.size()) - 1;
  }

  /// The goal that holds a value as nests of this epoch read it. Arguments are the same in all.
  int goal_of(int value, int epoch) const {
    if (g_[value].is_source()) return value * chosen_.epochs;
    return chosen_.stored_as(value * chosen_.epochs + epoch);
  }
  int value_of(int goal) const { return goal / chosen_.epochs; }

  /// Does this candidate, run in the nest's epoch, store the value?
  bool is_stored_by(int number, int value) const {
    return chosen_.nest_of[static_cast<std::size_t>(value * chosen_.epochs + epoch_)] == number;
  }

  /// Lets the nest that stores the value write the output itself. False where it is an argument,
  /// another output already, or kept from call to call.
  bool place_in_output(int value, int number) {
    if (g_[value].is_source() || g_[value].fixed) return false;
    const int stored = goal_of(value, chosen_.epochs - 1);
    for (int goal = stored; goal >= 0; goal = aliased(goal))
      if (g_[value_of(goal)].is_source() || buffer_of_[static_cast<std::size_t>(goal)] >= 0)
        return false;
    for (int goal = stored; goal >= 0; goal = aliased(goal))
      buffer_of_[static_cast<std::size_t>(goal)] = add(place::output, number, value_of(goal));
    return true;
  }

  /// The buffer of a value as the nest reads or stores it.
  int of(int value) { return of_goal(goal_of(value, epoch_)); }

  int of_goal(int goal) {
    int& id = buffer_of_[static_cast<std::size_t>(goal)];
    if (id >= 0) return id;
    const int value = value_of(goal);
    if (const form* f = g_[value].find(ir::op::argument))
      return id = add(place::argument, static_cast<int>(g_.payload(*f).attributes[1]), value);
    return id = add(place::arena, 0, value);
  }

  /// Where a value is read: as `resolve` has it, and as was chosen where there was a choice.
  struct located_view {
    int goal = -1;
    std::vector<view_step> steps;
  };
  located_view locate(int value) {
    resolved_view view = resolve(g_, value, value == root_);
    located_view out{goal_of(view.base, epoch_), std::move(view.steps)};
    while (g_[value_of(out.goal)].is_choice()) {
      const value_class& choice = g_[value_of(out.goal)];
      const int epoch = out.goal % chosen_.epochs;
      const form& way = choice.forms[static_cast<std::size_t>(nest_of(out.goal)->form)];
      const resolved_view below = resolve_way(g_, choice, way);
      out.goal = goal_of(below.base, epoch);
      out.steps.insert(out.steps.end(), below.steps.begin(), below.steps.end());
      chosen_nodes_.insert(chosen_nodes_.end(), below.nodes.begin(), below.nodes.end());
    }
    return out;
  }

  /// The value where it is stored itself.
  access direct_access(int value) { return {of(value), g_[value].shape, {}}; }

  /// The value through the movements by which it is read.
  access access_to(int value) {
    if (g_[resolve(g_, value, value == root_).base].is_immediate()) return direct_access(value);
    located_view view = locate(value);
    return {of_goal(view.goal), g_[value].shape, std::move(view.steps)};
  }

  /// A product's operand whose axes are joined from several of a view.
  access gathered_access(int value) {
    const form* const joins = joined_view(g_, value);
    access a = access_to(joins->operands[0]);
    a.shape = g_[value].shape;
    a.steps.insert(a.steps.begin(), view_step_of(g_, g_[value], *joins));
    return a;
  }

  /// Adds the e-nodes of views that were chosen since the last call to those of their reader.
  void take_chosen_nodes(nest& reader) {
    for (eqsat::node_id node : chosen_nodes_) add_once(reader.enodes, node);
    chosen_nodes_.clear();
  }

 private:
  const candidate* nest_of(int goal) const {
    const int n = chosen_.nest_of[static_cast<std::size_t>(goal)];
    return n < 0 ? nullptr : &nests_.all()[static_cast<std::size_t>(n)];
  }

  // What an alias names, or -1.
  int aliased(int goal) const {
    const candidate* c = nest_of(goal);
    if (c == nullptr || c->kind != nest_kind::alias) return -1;
    return goal_of(c->reads[0], goal % chosen_.epochs);
  }

  const value_graph& g_;
  const candidate_enumeration& nests_;
  const selection& chosen_;
  plan& out_;
  int epoch_ = 0;
  int root_ = -1;
  std::vector<int> buffer_of_;                // by goal
  std::vector<eqsat::node_id> chosen_nodes_;  // of the nest that is lowered
};

}  // namespace sinter::inline SINTER_ABI::planning
