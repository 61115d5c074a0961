// SPDX-License-Identifier: MIT
// What can be said of a tile program before extents are known: which steps matter, in which phase
// they can run, which of them only rename another value. A phase is one walk over the columns of a
// row; a reduction ends it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <sinter/exec/bind_walk.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Whether two buffers may be the same memory: an output and an argument, two names of an output,
/// or two buffers of the arena that the memory plan laid over each other because one is dead when
/// the other is written.
inline bool may_overlap(const planning::plan& plan, int written, int read) {
  if (written < 0 || read < 0) return false;
  if (written == read) return true;
  const planning::buffer& w = plan.buffers[static_cast<std::size_t>(written)];
  const planning::buffer& r = plan.buffers[static_cast<std::size_t>(read)];
  if (w.place == planning::place::arena && r.place == planning::place::arena)
    return w.offset < r.offset + r.bytes && r.offset < w.offset + w.bytes;
  if (w.place == planning::place::output && r.place == planning::place::output)
    return w.number == r.number;
  if (w.place != planning::place::output || r.place != planning::place::argument ||
      plan.may_alias.empty())
    return false;
  int outputs = 0;
  for (const planning::buffer& b : plan.buffers)
    if (b.place == planning::place::output) outputs = std::max(outputs, b.number + 1);
  const std::size_t arguments = plan.may_alias.size() / static_cast<std::size_t>(outputs);
  return plan.may_alias[static_cast<std::size_t>(w.number) * arguments +
                        static_cast<std::size_t>(r.number)];
}

struct tile_analysis {
  geometry kind{};
  bool has_row_level = false;    // row-level values have extent 1 on the inner axes
  int external = -1;             // the step whose value the nest hands in
  int column_reduction = -1;     // geometry::columns: the step that ends the program
  bool has_pair = false;         // and sums up squared distances, too
  int mapped_into_columns = -1;  // the map before it, where one kernel does both
  std::vector<int> stores;       // numbers of the nest's stores that this program makes
  std::vector<bool> row_store;   // of those: one value per row is stored
  std::vector<bool> alive;
  std::vector<int> ready;   // phase, or the list of row commands before it
  std::vector<int> origin;  // of steps that only rename another value; of others, the step itself
  int phases = 1;
  int maps = 0;  // element-wise instructions per element

  bool is_row_level(const planning::step& s) const {
    return has_row_level && s.level == planning::level::row;
  }
  // Does it take the elements of a row to one value? (Deviations of columns come from outside.)
  bool reduces(const planning::step& s) const {
    return s.kind == planning::step_kind::reduce ||
           (has_row_level && s.kind == planning::step_kind::deviations);
  }

  // Does a step behind `step` read `load`?
  bool is_used_behind(const planning::nest& nest, int load, int step) const {
    for (std::size_t i = static_cast<std::size_t>(step) + 1; i < nest.body.size(); ++i)
      if (alive[i])
        for (int o : nest.body[i].operands)
          if (origin[static_cast<std::size_t>(o)] == load) return true;
    for (int s : stores) {
      const int stored = nest.stores[static_cast<std::size_t>(s)].step;
      if (stored != step && origin[static_cast<std::size_t>(stored)] == load) return true;
    }
    return false;
  }
};

namespace detail {

inline bool renames(const planning::nest& nest, const planning::step& s) {
  if (s.kind == planning::step_kind::spread) return true;
  if (s.kind != planning::step_kind::map || s.fused != nullptr) return false;
  return s.code == ir::op::stop_gradient ||
         (s.code == ir::op::cast &&
          nest.body[static_cast<std::size_t>(s.operands[0])].type == s.type);
}

// A plain pointer: binding asks this often and must not allocate.
inline void require_step(bool holds, const planning::nest& nest, const char* what) {
  if (!holds)
    raise(graph_error("executor: " + (nest.label.empty() ? std::string("a nest") : nest.label) +
                      ": " + what));
}

// Steps that the given stores and reductions need.
inline void find_alive(const planning::nest& nest, tile_analysis& out) {
  out.alive.assign(nest.body.size(), false);
  for (int s : out.stores)
    out.alive[static_cast<std::size_t>(nest.stores[static_cast<std::size_t>(s)].step)] = true;
  if (out.column_reduction >= 0) out.alive[static_cast<std::size_t>(out.column_reduction)] = true;
  for (std::size_t i = nest.body.size(); i-- > 0;) {
    if (!out.alive[i] || static_cast<int>(i) == out.external ||
        (planning::is_second_of_pair(nest.body[i]) && !out.has_row_level))
      continue;
    for (int o : nest.body[i].operands) {
      require_step(o >= 0 && o < static_cast<int>(i), nest, "a step uses a later one");
      out.alive[static_cast<std::size_t>(o)] = true;
    }
  }
}

// The map whose values nothing but the reduction of columns reads, if there is a kernel for both.
inline int find_mapped_into_columns(const planning::nest& nest, const tile_analysis& facts) {
  if (facts.column_reduction < 0 || facts.has_pair || !facts.stores.empty()) return -1;
  const planning::step& reduction = nest.body[static_cast<std::size_t>(facts.column_reduction)];
  const int mapped = facts.origin[static_cast<std::size_t>(reduction.operands[0])];
  const planning::step& s = nest.body[static_cast<std::size_t>(mapped)];
  if (s.kind != planning::step_kind::map || s.fused == nullptr ||
      s.fused->columns_reduced_by(reduction.code) == nullptr)
    return -1;
  for (std::size_t i = 0; i < nest.body.size(); ++i)
    if (facts.alive[i] && static_cast<int>(i) != facts.column_reduction &&
        !renames(nest, nest.body[i]))
      for (int o : nest.body[i].operands)
        if (facts.origin[static_cast<std::size_t>(o)] == mapped) return -1;
  return mapped;
}

// A row-level value, or a value without axes that is stored as one value per row.
inline bool stores_rows(const planning::plan* plan, const planning::nest& nest,
                        const tile_analysis& facts, const planning::store& s) {
  if (!facts.has_row_level || s.summed) return false;
  if (nest.body[static_cast<std::size_t>(s.step)].level == planning::level::row) return true;
  if (plan == nullptr || s.buffer < 0) return false;
  ir::symbolic_shape kept = nest.space;
  for (std::size_t i = kept.size() - static_cast<std::size_t>(nest.inner_axes); i < kept.size();
       ++i)
    kept[nest.axis_order.empty() ? static_cast<int>(i) : nest.axis_order[i]] = ir::dim(1);
  const ir::symbolic_shape& stored = plan->buffers[static_cast<std::size_t>(s.buffer)].shape;
  return stored == kept && !(stored == nest.space);
}

}  // namespace detail

/// The numbers of all stores of a nest.
inline std::vector<int> all_stores(const planning::nest& nest) {
  std::vector<int> out(nest.stores.size());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// The facts of the part of a nest's body that makes `stores` (and `column_reduction`, if it is not
/// -1). The value of step `external` comes from outside. Without a plan, stores are as their steps'
/// levels say. Throws graph_error for a body that does not fit its nest.
inline tile_analysis analyze_tile(const planning::plan* plan, const planning::nest& nest,
                                  geometry kind, std::vector<int> stores, int external,
                                  int column_reduction) {
  tile_analysis out;
  out.kind = kind;
  out.external = external;
  out.column_reduction = column_reduction;
  out.has_pair = column_reduction >= 0 && planning::second_of_pair(nest) != nullptr;
  out.stores = std::move(stores);
  out.has_row_level = nest.inner_axes > 0 && nest.kind != planning::nest_kind::column;
  detail::require_step(static_cast<std::size_t>(nest.inner_axes) <= nest.space.size(), nest,
                       "more inner axes than axes");
  detail::find_alive(nest, out);
  out.ready.assign(nest.body.size(), 0);
  out.origin.resize(nest.body.size());
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    const planning::step& s = nest.body[i];
    out.origin[i] = static_cast<int>(i);
    if (static_cast<int>(i) == external) continue;
    for (int o : s.operands)
      out.ready[i] = std::max(out.ready[i], out.ready[static_cast<std::size_t>(o)]);
    if (!out.alive[i]) continue;
    if (detail::renames(nest, s))
      out.origin[i] = out.origin[static_cast<std::size_t>(s.operands[0])];
    else if (s.kind == planning::step_kind::map && !out.is_row_level(s))
      ++out.maps;
    if (!out.reduces(s)) continue;
    out.phases = std::max(out.phases, out.ready[i] + 1);
    const bool ends_columns = static_cast<int>(i) == column_reduction;
    detail::require_step(ends_columns || out.has_row_level, nest,
                         "a reduction without axes to reduce");
    if (!ends_columns) ++out.ready[i];
  }
  out.mapped_into_columns = detail::find_mapped_into_columns(nest, out);
  if (out.mapped_into_columns >= 0) --out.maps;  // its values are in no tile
  for (int i : out.stores) {
    const planning::store& s = nest.stores[static_cast<std::size_t>(i)];
    out.row_store.push_back(detail::stores_rows(plan, nest, out, s));
    if (!out.row_store.back())
      out.phases = std::max(out.phases, out.ready[static_cast<std::size_t>(s.step)] + 1);
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::exec
