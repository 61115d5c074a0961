// SPDX-License-Identifier: MIT
// Checks a lowered plan: buffers and the order in which they are written and read, every tile
// program in its surroundings, and for other nests that operands fit, stay in their buffers and
// that results are covered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/nest_checks.hpp>
#include <sinter/exec/verify_custom.hpp>
#include <sinter/exec/verify_movement.hpp>
#include <sinter/exec/verify_products.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

inline void check(nest_checks& checks, const lowered_tiles& n) {
  tile_surroundings around = checks.surroundings();
  around.sums_rows = true;
  checks.check_tiles(n, around, "");
}

inline void check(nest_checks& checks, const lowered_columns& n) {
  checks.require(n.batch >= 0 && n.reduced >= 0 && n.columns >= 0, "extents: below zero");
  checks.require(n.rows_per_group >= 1 && n.columns_per_task >= 1 && n.batches_per_task >= 1,
                 "tasks: without rows or columns");
  checks.require(n.map.axes.rows == n.batch * n.reduced && n.map.axes.columns == n.columns,
                 "map: over other rows and columns");
  checks.require(n.rest.axes.rows == n.batch && n.rest.axes.columns == n.columns,
                 "rest: over other rows and columns");
  checks.require(n.rows_per_group >= n.reduced || n.columns_per_task >= n.columns,
                 "tasks: groups of rows and parts of columns");
  tile_surroundings around = checks.surroundings();
  around.accumulates_columns = true;
  checks.check_program(n.map, around, "map");
  checks.require(n.map.reductions.size() == 1 && n.map.phase_lists.size() == 1,
                 "map: not one accumulator in one phase");
  const auto is_pair = [](const command& c) { return c.kind == command_kind::reduce_pair; };
  checks.require(std::ranges::any_of(n.map.commands, is_pair) == n.pair,
                 "map: a pair without its nest, or a nest of pairs without");
  checks.require(!n.guarded || (n.pair && n.map.reductions.front().monoid == monoid::max),
                 "guarded: there are no exponentials");
  around = checks.surroundings();
  const dtype result = result_type(n.map.reductions.front());
  around.externals.assign(n.pair ? 2 : 1, result);
  checks.check_program(n.rest, around, "rest");
  checks.check_parts(n.rest, false);
}

class plan_verifier {
 public:
  plan_verifier(const lowered_plan& p, const kernel_table* kernels) : p_(p), checks_(p, kernels) {}

  void verify() {
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) check_buffer(i);
    for (std::size_t i = 0; i < p_.nests.size(); ++i) {
      checks_.enter("nest " + std::to_string(i) + " (" +
                    std::string(nest_names[p_.nests[i].index()]) + ")");
      std::visit([&](const auto& n) { check(checks_, n); }, p_.nests[i]);
      check_order();
    }
  }

 private:
  void check_buffer(std::size_t i) {
    checks_.enter("buffer " + std::to_string(i));
    const lowered_buffer& b = p_.buffers[i];
    checks_.require(b.strides.size() == b.shape.size(), "strides: not one per axis");
    const std::int64_t count = element_count(b.shape);
    if (b.place == planning::place::argument) return;
    checks_.require(b.strides == row_major_strides(b.shape), "strides: not row-major");
    if (b.place != planning::place::arena) return;
    checks_.require(b.offset % 64 == 0, "offset: not a whole line");
    checks_.require(static_cast<std::size_t>(count) * size_of(b.type) <= b.bytes,
                    "bytes: fewer than its elements have");
    checks_.require(b.offset + b.bytes <= p_.arena_bytes, "offset: leaves the arena");
  }

  // Is it the memory that another name stands for?
  bool is_same_memory(int a, int b) const {
    const lowered_buffer& x = p_.buffers[nest_checks::index(a)];
    const lowered_buffer& y = p_.buffers[nest_checks::index(b)];
    if (a == b) return true;
    if (x.place != y.place) return false;
    return x.place == planning::place::arena ? x.offset == y.offset : x.number == y.number;
  }

  // What is read was written before, unless it comes from outside.
  void check_order() {
    for (int b : checks_.touched().read) {
      if (nest_checks::index(b) >= p_.buffers.size()) continue;  // a copy
      const planning::place place = p_.buffers[nest_checks::index(b)].place;
      if (place == planning::place::argument || place == planning::place::prepared ||
          element_count(p_.buffers[nest_checks::index(b)].shape) == 0)
        continue;
      if (std::ranges::none_of(written_, [&](int w) { return is_same_memory(w, b); }))
        checks_.fail("reads buffer " + std::to_string(b) + ", which nothing has written");
    }
    for (int b : checks_.touched().written) {
      if (nest_checks::index(b) >= p_.buffers.size()) continue;
      checks_.require(p_.buffers[nest_checks::index(b)].place != planning::place::argument,
                      "writes an argument");
      written_.push_back(b);
    }
  }

  const lowered_plan& p_;
  nest_checks checks_;
  std::vector<int> written_;
};

}  // namespace detail

/// Throws graph_error that names nest, command and field if the plan does not hold what its
/// runners take for granted. Without `kernels` it is not checked that kernels are those of what
/// they stand beside. O(size of the plan), and of small results that are assembled.
inline void verify_lowered(const lowered_plan& p, const kernel_table* kernels = nullptr) {
  detail::plan_verifier(p, kernels).verify();
}

}  // namespace sinter::inline SINTER_ABI::exec
