// SPDX-License-Identifier: MIT
// From what a candidate computes to the tile program of its nest: operands first, each value once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/candidate.hpp>
#include <sinter/plan/goal_buffers.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_parts.hpp>
#include <sinter/plan/packed_matrices.hpp>

namespace sinter::inline SINTER_ABI::planning {

class body_lowering {
 public:
  body_lowering(const value_graph& g, goal_buffers& buffers, packed_matrices& packed, nest& n,
                const candidate& c)
      : g_(g), buffers_(buffers), packed_(packed), n_(n), c_(c) {}

  /// The number of the step that has the value. Recursion is as deep as a nest's body (at most
  /// body_limit).
  int step_of(int value) {
    for (const auto& [v, number] : steps_)
      if (v == value) return number;
    const int chosen = c_.inside.form_of(value);
    const int made = chosen >= 0 ? compute(value, g_[value].forms[static_cast<std::size_t>(chosen)])
                                 : read(value);
    steps_.push_back({value, made});
    return made;
  }

  /// What ends the nest: the reduction of a value, and what stands beside it.
  void add_reduction(const form& f, int value) {
    const bool is_pair = c_.kind == nest_kind::column && c_.pair.any();
    const std::int64_t mask = g_.payload(f).attributes[0];
    step reduce{step_kind::reduce, level::row, g_[c_.root].type,
                is_pair ? first_of_pair(c_.pair.kind) : f.code};
    reduce.operands.push_back(step_of(value));
    reduce.attribute = mask;
    if (c_.kind == nest_kind::column) {
      n_.column_first = n_.column_last = std::countr_zero(static_cast<std::uint64_t>(mask));
      while (ir::has_axis(mask, n_.column_last)) ++n_.column_last;
    } else {
      for (const bool inner : {false, true})
        for (int a = 0; a < static_cast<int>(n_.space.size()); ++a)
          if (ir::has_axis(mask, a) == inner) n_.axis_order.push_back(a);
      n_.inner_axes = std::popcount(static_cast<std::uint64_t>(mask));
    }
    steps_.emplace_back(is_pair ? c_.pair.first : c_.root, add_step(n_, reduce));
    if (!is_pair) return;
    step second{c_.pair.kind, level::row, g_[c_.root].type};
    second.operands = reduce.operands;
    second.attribute = c_.pair.guarded ? 1 : 0;
    steps_.emplace_back(c_.root, add_step(n_, second));
  }

  void add_store(int value) {
    const auto sum = std::ranges::find(c_.sums, value, &summed_value::sum);
    const bool summed = sum != c_.sums.end();
    const int from = step_of(summed ? sum->of : value);
    n_.stores.push_back({from, buffers_.of(value), summed});
  }

  /// A value of a product's operand that is computed as it is packed; `step_at` has the steps of
  /// those before it.
  int prologue_step(const prologue_part& part, const prologue_value& made,
                    std::span<const int> step_at) {
    if (made.form >= 0) {
      const form& f = g_[made.value].forms[static_cast<std::size_t>(made.form)];
      step map = map_of(made.value, f);
      for (int operand : made.operands)
        map.operands.push_back(step_at[static_cast<std::size_t>(operand)]);
      return add_step(n_, map);
    }
    const int number = read(made.value);
    const step& load = n_.body[static_cast<std::size_t>(number)];
    if (load.kind != step_kind::load) return number;
    access& seen = n_.accesses[static_cast<std::size_t>(load.access)];
    seen.shape = part.space;
    seen.steps.insert(seen.steps.begin(), made.steps.begin(), made.steps.end());
    return number;
  }

 private:
  const step& at(int number) const { return n_.body[static_cast<std::size_t>(number)]; }

  // An element-wise op without its operands.
  step map_of(int value, const form& f) const {
    step made{step_kind::map, level::full, g_[value].type, f.code};
    if (f.fused >= 0)
      made.fused = &g_.instruction(f);
    else if (f.code == ir::op::custom_map)
      made.custom = &g_.custom(f);
    return made;
  }

  int spread(int row) {
    step made{step_kind::spread, level::full, at(row).type};
    made.operands.push_back(row);
    return add_step(n_, made);
  }

  int compute(int value, const form& f) {
    if (value == c_.second) return deviations(value);
    const bool plain = f.fused < 0;
    if (plain && f.code == ir::op::matmul) return product(value, f);
    if (plain && (f.code == ir::op::iota || f.code == ir::op::random_uniform))
      return generated(value, f);
    inline_vector<int, ir::region::max_leaves> operands;
    bool any_full = false, any_row = false;
    for (int operand : f.operands) {
      operands.push_back(step_of(operand));
      if (is_uniform(at(operands.back()))) continue;
      (at(operands.back()).level == level::full ? any_full : any_row) = true;
    }
    if (plain && f.code == ir::op::broadcast_to)
      return any_full || !any_row ? operands[0] : spread(operands[0]);
    if (plain && ir::info(f.code).kind == ir::kind::reduction) {
      step reduce{step_kind::reduce, level::row, g_[value].type, f.code};
      reduce.attribute = g_.payload(f).attributes[0];
      reduce.operands = operands;
      return add_step(n_, reduce);
    }
    step made = map_of(value, f);
    if (any_row && !any_full) made.level = level::row;
    for (int& o : operands)
      if (!is_uniform(at(o)) && at(o).level != made.level) o = spread(o);
    made.operands = operands;
    return add_step(n_, made);
  }

  // The second value of a pair, beside the sum that gives the mean.
  int deviations(int value) {
    step_of(c_.pair.first);
    step made{step_kind::deviations, level::row, g_[value].type};
    made.operands.push_back(step_of(c_.pair.x));
    return add_step(n_, made);
  }

  int product(int value, const form& f) {
    step made{step_kind::product, level::full, g_[value].type, f.code};
    if (value == c_.inside.second_product) {
      made.attribute = g_.payload(f).attributes[1];
      const int packed = c_.packed[1];
      made.access = add_access(n_, packed >= 0 ? packed_.access_to(packed, made.attribute != 0)
                                               : buffers_.access_to(f.operands[1]));
    }
    return add_step(n_, made);
  }

  // Made from where its elements are, of nothing that is stored but a key.
  int generated(int value, const form& f) {
    step made{f.code == ir::op::iota ? step_kind::iota : step_kind::random, level::full,
              g_[value].type, f.code};
    made.attribute = g_.payload(f).attributes[1];
    for (int key : f.operands) made.operands.push_back(step_of(key));
    return add_step(n_, made);
  }

  int read(int value) {
    const goal_buffers::located_view view = buffers_.locate(value);
    const value_class& base = g_[buffers_.value_of(view.goal)];
    // One value for the whole nest: a scalar, or what is a scalar after reshapes, slices, ...
    if (base.is_constant || base.scalar() || g_[value].scalar())
      return read_uniform(value, base, view);
    step load{step_kind::load, level::full, g_[value].type};
    access a{buffers_.of_goal(view.goal), g_[value].shape, view.steps};
    if (n_.inner_axes != 0 && is_row_of(a.shape, n_.space, n_.inner_axes) && !(a.shape == n_.space))
      load.level = level::row;
    const bool repeated = is_repeated_along_rows(a);
    if (repeated) {
      load_once_per_row(a);
      load.level = level::row;
    }
    load.access = add_access(n_, std::move(a));
    const int loaded = add_step(n_, load);
    return repeated ? spread(loaded) : loaded;
  }

  int read_uniform(int value, const value_class& base, const goal_buffers::located_view& view) {
    step made{step_kind::scalar, level::full, g_[value].type};
    if (base.is_constant) {
      made.kind = step_kind::constant;
      made.constant = is_wide_integer(base.type) ? static_cast<std::int64_t>(base.constant)
                                                 : ir::bits_of(base.constant);
      return add_step(n_, made);
    }
    if (const form* f = base.find(ir::op::extent)) {
      made.kind = step_kind::extent;
      made.extent = g_.payload(*f).dims[0];
      return add_step(n_, made);
    }
    const int buffer = buffers_.of_goal(view.goal);
    made.access = add_access(n_, base.scalar() ? access{buffer, base.shape, {}}
                                               : access{buffer, g_[value].shape, view.steps});
    return add_step(n_, made);
  }

  // One value per row that is broadcast along it?
  bool is_repeated_along_rows(const access& a) const {
    return n_.inner_axes != 0 && !a.steps.empty() && a.steps[0].code == ir::op::broadcast_to &&
           a.shape == n_.space && repeated_axes(a.steps[0].operand, a.shape) >= n_.inner_axes;
  }

  void load_once_per_row(access& a) const {
    view_step& broadcast = a.steps[0];
    for (std::size_t i = a.shape.size() - static_cast<std::size_t>(n_.inner_axes);
         i < a.shape.size(); ++i)
      a.shape[i] = broadcast.result[i] = broadcast.dims[i] = ir::dim(1);
    if (broadcast.operand == a.shape) a.steps.erase(a.steps.begin());
  }

  const value_graph& g_;
  goal_buffers& buffers_;
  packed_matrices& packed_;
  nest& n_;
  const candidate& c_;
  std::vector<std::pair<int, int>> steps_;  // (value, step)
};

}  // namespace sinter::inline SINTER_ABI::planning
