// SPDX-License-Identifier: MIT
// Runs column nests: a map over [batch][reduced][columns] that ends in a reduction over the middle.
// Blocks of 32 rows are combined into accumulators of all columns: walking down single columns
// would touch a new line per element (1.5 to 1.6 times slower). Long reductions are cut into groups
// of rows whose accumulators combine in order. A pair (column_pair.hpp) has two accumulators per
// column; the shifts of moments are found on some rows before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <sinter/exec/bind_tile.hpp>
#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/run_tile.hpp>
#include <sinter/exec/sole_columns.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

class column_nest {
 public:
  column_nest(const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        reduction_(find_reduction(nest)),
        map_(kernels, nest,
             analyze_tile(nullptr, nest, geometry::columns, stores_at(nest, planning::level::full),
                          -1, reduction_)),
        rest_(kernels, nest,
              analyze_tile(nullptr, nest, geometry::block, stores_at(nest, planning::level::row),
                           reduction_, -1)),
        second_(planning::second_of_pair(nest)),
        pair_(pair_kernels_of(kernels)) {}

  memory_need bind(const binding& at) {
    const shape_vector space = at.evaluate(nest_->space);
    batch_ = reduced_ = columns_ = 1;
    shape_vector kept = space;
    for (int axis = 0; axis < static_cast<int>(space.size()); ++axis) {
      if (axis < nest_->column_first)
        batch_ *= space[axis];
      else if (axis >= nest_->column_last)
        columns_ *= space[axis];
      else
        reduced_ *= space[axis], kept[axis] = 1;
    }
    walk_request request;
    request.space = space;
    request.outer_count = static_cast<std::size_t>(nest_->column_last);
    map_.bind(at, request);
    request.space = kept;
    request.block_columns = columns_;
    rest_.bind(at, request);
    divide();
    sole_.bind(map_.program(), rest_.program(), pair_ == nullptr ? reduced_ : 0);
    return need();
  }

  void run(const run_memory& memory) const {
    if (batch_ == 0 || columns_ == 0) return;
    if (sole_.is_bound())
      run_alone(memory);
    else if (row_groups_ == 1)
      run_batches(memory);
    else
      run_groups(memory);
  }

  lowered_columns lowered() const {
    return {
        .map = map_.program(),
        .rest = rest_.program(),
        .batch = batch_,
        .reduced = reduced_,
        .columns = columns_,
        .rows_per_group = row_groups_ == 1 ? std::max<std::int64_t>(1, reduced_) : rows_per_group_,
        .columns_per_task = columns_per_task_,
        .batches_per_task = batches_per_task_,
        .pair = pair_ != nullptr,
        .guarded = is_guarded()};
  }

 private:
  static int find_reduction(const planning::nest& nest) {
    int found = -1, count = 0;
    for (std::size_t i = 0; i < nest.body.size(); ++i)
      if (nest.body[i].kind == planning::step_kind::reduce) found = static_cast<int>(i), ++count;
    detail::require_step(count == 1, nest, "a column nest has one reduction");
    return found;
  }
  const pair_kernels* pair_kernels_of(const kernel_table& kernels) const {
    if (second_ == nullptr) return nullptr;
    const bool sums = planning::first_of_pair(second_->kind) == ir::op::reduce_sum;
    const pair_kernels& own = kernels.pair_of(sums ? monoid::sum : monoid::max, second_->type);
    detail::require_step(own.add != nullptr, *nest_, "no kernel for this pair");
    return &own;
  }
  bool is_guarded() const { return second_ != nullptr && second_->attribute != 0; }
  static std::vector<int> stores_at(const planning::nest& nest, planning::level level) {
    std::vector<int> out;
    for (std::size_t i = 0; i < nest.stores.size(); ++i)
      if (nest.body[static_cast<std::size_t>(nest.stores[i].step)].level == level)
        out.push_back(static_cast<int>(i));
    return out;
  }

  const reduction_kernels& kernels() const { return *map_.program().reductions.front().kernels; }
  std::size_t result_size() const {
    return size_of(nest_->body[static_cast<std::size_t>(reduction_)].type);
  }
  std::size_t accumulator_bytes() const {
    return round_to_lines(static_cast<std::size_t>(columns_) * kernels().accumulator_bytes);
  }
  std::size_t result_bytes() const {
    return round_to_lines(static_cast<std::size_t>(columns_) * result_size());
  }

  // Into tasks, by shape: whole batches, or parts of the columns, or groups of rows.
  void divide() {
    const planning::column_division d = planning::divide_columns(batch_, reduced_, columns_);
    row_groups_ = d.groups;
    rows_per_group_ = d.group_rows;
    columns_per_task_ = d.columns;
    batches_per_task_ = d.batches;
  }

  memory_need need() const {
    memory_need out;
    out.per_thread = round_to_lines(map_.program().scratch_bytes) +
                     round_to_lines(rest_.program().scratch_bytes) + accumulator_bytes() +
                     result_bytes();
    const auto batches = static_cast<std::size_t>(batch_);
    if (row_groups_ > 1)
      out.shared = batches * static_cast<std::size_t>(row_groups_) * accumulator_bytes();
    if (pair_ != nullptr) {
      out.per_thread += second_bytes() + 2 * result_bytes();
      if (row_groups_ > 1)
        out.shared +=
            batches * (static_cast<std::size_t>(row_groups_) * second_bytes() + result_bytes());
    }
    return out;
  }
  std::size_t second_bytes() const {
    return round_to_lines(static_cast<std::size_t>(columns_) * sizeof(double));
  }

  // A thread's memory, cut up.
  std::byte* rest_scratch(std::byte* scratch) const {
    return scratch + round_to_lines(map_.program().scratch_bytes);
  }
  std::byte* own_accumulators(std::byte* scratch) const {
    return rest_scratch(scratch) + round_to_lines(rest_.program().scratch_bytes);
  }
  std::byte* own_results(std::byte* scratch) const {
    return own_accumulators(scratch) + accumulator_bytes();
  }

  // And where there is a pair: shifts, second accumulators, and what they come to.
  pair_memory own_pair(std::byte* scratch) const {
    if (pair_ == nullptr) return {};
    std::byte* const shifts = own_results(scratch) + result_bytes();
    return {pair_, shifts, reinterpret_cast<double*>(shifts + 2 * result_bytes())};
  }
  std::byte* own_second(std::byte* scratch) const {
    return own_results(scratch) + 2 * result_bytes();
  }

  // The same that all tasks see, behind the sums of all groups.
  pair_memory shared_pair(const run_memory& memory, std::int64_t b, std::int64_t group) const {
    if (pair_ == nullptr) return {};
    const auto groups = static_cast<std::size_t>(batch_ * row_groups_);
    std::byte* const second = memory.shared + groups * accumulator_bytes();
    return {pair_, second + groups * second_bytes() + static_cast<std::size_t>(b) * result_bytes(),
            reinterpret_cast<double*>(second + static_cast<std::size_t>(b * row_groups_ + group) *
                                                   second_bytes())};
  }

  bool has_shifts() const { return pair_ != nullptr && pair_->shift != nullptr; }

  // Shifts of these columns of a batch: the means of some rows, as distances from 0. Leaves sums
  // and second accumulators behind.
  void find_shifts(tile_runner& map, const pair_memory& pair, std::byte* sums, std::int64_t b,
                   std::int64_t column, std::int64_t column_end) const {
    const auto size = static_cast<std::int64_t>(result_size());
    std::byte* const shifts = pair.shifts + column * size;
    std::memset(shifts, 0, static_cast<std::size_t>((column_end - column) * size));
    begin_pair(pair, sums, column, column_end);
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < reduced_; row += planning::moment_sample_step) {
      const std::int64_t end = std::min(reduced_, row + planning::moment_sample_rows);
      map.run_all(b * reduced_ + row, b * reduced_ + end, column, column_end);
      count += end - row;
    }
    pair_->shift(column_end - column, count, reinterpret_cast<const double*>(sums) + column,
                 shifts);
  }

  // `sums`: the accumulators of all columns.
  void begin_pair(const pair_memory& pair, std::byte* sums, std::int64_t column,
                  std::int64_t column_end) const {
    kernels().identity(column_end - column,
                       sums + static_cast<std::size_t>(column) * kernels().accumulator_bytes);
    if (pair_ != nullptr) std::fill(pair.second + column, pair.second + column_end, 0.0);
  }

  // f(thread, [first, end) of the batches, [column, column_end) of their columns) of all tasks.
  template <class F>
  void for_each_task(F f) const {
    const std::int64_t column_tasks = planning::pieces_of(columns_, columns_per_task_);
    const std::int64_t batch_tasks = planning::pieces_of(batch_, batches_per_task_);
    parallel_for(batch_tasks * column_tasks, nest_->predicted_nanoseconds,
                 [&](std::int64_t task, int thread) {
                   const std::int64_t column = task % column_tasks * columns_per_task_;
                   const std::int64_t first = task / column_tasks * batches_per_task_;
                   f(thread, first, std::min(batch_, first + batches_per_task_), column,
                     std::min(columns_, column + columns_per_task_));
                 });
  }

  void run_alone(const run_memory& memory) const {
    for_each_task([&](int thread, std::int64_t first, std::int64_t end, std::int64_t column,
                      std::int64_t column_end) {
      for (std::int64_t b = first; b < end; ++b) {
        if (std::byte* const target = sole_.target(memory.bases, b, column)) {
          sole_.reduce(memory.bases, b, column, column_end, target);
          continue;
        }
        std::byte* const scratch = memory.scratch(thread);
        for_each_part(column, column_end, [&](std::int64_t at, std::int64_t stop) {
          sole_.reduce(memory.bases, b, at, stop, own_results(scratch));
          run_rest(memory, scratch, b, at, stop);
        });
      }
    });
  }

  void run_batches(const run_memory& memory) const {
    for_each_task([&](int thread, std::int64_t first, std::int64_t end, std::int64_t column,
                      std::int64_t column_end) {
      std::byte* scratch = memory.scratch(thread);
      tile_runner map(map_.program(), memory.bases, scratch);
      map.begin();
      std::byte* accumulators = own_accumulators(scratch);
      map.set_column_accumulators(accumulators);
      const pair_memory pair = own_pair(scratch);
      map.set_pair(pair);
      for (std::int64_t b = first; b < end; ++b)
        for_each_part(column, column_end, [&](std::int64_t at, std::int64_t stop) {
          std::byte* here =
              accumulators + static_cast<std::size_t>(at) * kernels().accumulator_bytes;
          if (has_shifts()) find_shifts(map, pair, accumulators, b, at, stop);
          begin_pair(pair, accumulators, at, stop);
          map.run_all(b * reduced_, (b + 1) * reduced_, at, stop);
          finish(scratch, pair, at, stop, here);
          run_rest(memory, scratch, b, at, stop);
        });
    });
  }

  // f(from, to) of parts of some columns. Those of a few rows are so short that accumulators, and
  // what is computed of the results, stay in L1.
  template <class F>
  void for_each_part(std::int64_t column, std::int64_t column_end, F f) const {
    constexpr std::int64_t part = 2048;
    const std::int64_t most = reduced_ <= column_block_rows ? part : column_end - column;
    for (; column < column_end; column += most) f(column, std::min(column_end, column + most));
  }

  void run_groups(const run_memory& memory) const {
    if (pair_ == nullptr && threads_for(batch_ * row_groups_, nest_->predicted_nanoseconds) == 1)
      return run_groups_in_turn(memory);
    find_shared_shifts(memory);
    parallel_for(batch_ * row_groups_, nest_->predicted_nanoseconds,
                 [&](std::int64_t task, int thread) {
                   const std::int64_t b = task / row_groups_, group = task % row_groups_;
                   tile_runner map(map_.program(), memory.bases, memory.scratch(thread));
                   map.begin();
                   run_group(map, b, group, group_accumulators(memory, b, group),
                             shared_pair(memory, b, group));
                 });
    // Of elements that other threads have summed up: with 16 of them, combining [1024,1024] alone
    // takes longer than the sums.
    const double rows = static_cast<double>(planning::combining_rows * row_groups_);
    parallel_columns(batch_, columns_, planning::combined_columns,
                     nest_->predicted_nanoseconds * rows / static_cast<double>(reduced_),
                     [&](std::int64_t b, std::int64_t column, std::int64_t end, int thread) {
                       combine_groups(memory, memory.scratch(thread), b, column, end);
                     });
  }

  // On one thread a group is combined as soon as it is summed up, while it is in L1, and the next
  // one has the same accumulators: the same order. (Zen 5, columns of [1024,1024] in L3: 0.93
  // to 1.0 of the time; 16 accumulators of doubles each are 128 KB beside 4 MB.)
  void run_groups_in_turn(const run_memory& memory) const {
    std::byte* const scratch = memory.scratch(0);
    tile_runner map(map_.program(), memory.bases, scratch);
    map.begin();
    for (std::int64_t b = 0; b < batch_; ++b) {
      std::byte* const total = group_accumulators(memory, b, 0);
      for (std::int64_t group = 0; group < row_groups_; ++group) {
        std::byte* const own = group == 0 ? total : own_accumulators(scratch);
        run_group(map, b, group, own, {});
        if (group > 0) kernels().combine(columns_, own, total);
      }
      finish(scratch, {}, 0, columns_, total);
      run_rest(memory, scratch, b, 0, columns_);
    }
  }

  // One group into accumulators of its own.
  void run_group(tile_runner& map, std::int64_t b, std::int64_t group, std::byte* accumulators,
                 const pair_memory& pair) const {
    const std::int64_t first = group * rows_per_group_;
    map.set_column_accumulators(accumulators);
    map.set_pair(pair);
    begin_pair(pair, accumulators, 0, columns_);
    map.run_all(b * reduced_ + first, b * reduced_ + std::min(reduced_, first + rows_per_group_), 0,
                columns_);
  }

  // The sums of all groups become those of a batch, and these the results.
  void combine_groups(const run_memory& memory, std::byte* scratch, std::int64_t b,
                      std::int64_t column, std::int64_t column_end) const {
    const std::size_t before = static_cast<std::size_t>(column) * kernels().accumulator_bytes;
    const std::int64_t columns = column_end - column;
    std::byte* const total = group_accumulators(memory, b, 0) + before;
    const pair_memory pair = shared_pair(memory, b, 0);
    if (pair_ != nullptr)
      pair_->combine(columns, {row_groups_, accumulator_bytes(), second_bytes() / sizeof(double)},
                     total, pair.second + column);
    else
      for (std::int64_t g = 1; g < row_groups_; ++g)
        kernels().combine(columns, group_accumulators(memory, b, g) + before, total);
    finish(scratch, pair, column, column_end, total);
    run_rest(memory, scratch, b, column, column_end);
  }

  // All accumulators of a group of rows of a batch.
  std::byte* group_accumulators(const run_memory& memory, std::int64_t b,
                                std::int64_t group) const {
    return memory.shared + static_cast<std::size_t>(b * row_groups_ + group) * accumulator_bytes();
  }

  void find_shared_shifts(const run_memory& memory) const {
    if (!has_shifts()) return;
    tile_runner map(map_.program(), memory.bases, memory.scratch(0));
    map.begin();
    for (std::int64_t b = 0; b < batch_; ++b) {
      std::byte* const sums = group_accumulators(memory, b, 0);
      const pair_memory pair = shared_pair(memory, b, 0);
      map.set_column_accumulators(sums);
      map.set_pair(pair);
      find_shifts(map, pair, sums, b, 0, columns_);
    }
  }

  // The results of these columns, from accumulators that begin with the first of them.
  void finish(std::byte* scratch, const pair_memory& pair, std::int64_t column,
              std::int64_t column_end, const std::byte* accumulators) const {
    std::byte* const results = own_results(scratch);
    if (pair_ == nullptr) return kernels().finish(column_end - column, accumulators, results);
    pair_->finish(column_end - column, reduced_, is_guarded(),
                  pair.shifts + static_cast<std::size_t>(column) * result_size(), accumulators,
                  pair.second + column, results, own_second(scratch));
  }

  // What follows the reduction, for one batch.
  void run_rest(const run_memory& memory, std::byte* scratch, std::int64_t b, std::int64_t column,
                std::int64_t column_end) const {
    tile_runner rest(rest_.program(), memory.bases, rest_scratch(scratch));
    rest.begin();
    rest.set_external({own_results(scratch), column_end - column, b, column});
    if (pair_ != nullptr)
      rest.set_external({own_second(scratch), column_end - column, b, column}, 1);
    rest.run_all(b, b + 1, column, column_end);
  }

  const planning::nest* nest_;
  int reduction_;
  bound_tile map_, rest_;
  const planning::step* second_;  // nullptr: one accumulator per column
  const pair_kernels* pair_;      // and so here
  sole_columns sole_;
  std::int64_t batch_ = 1, reduced_ = 1, columns_ = 1;
  std::int64_t row_groups_ = 1, rows_per_group_ = 1, columns_per_task_ = 1, batches_per_task_ = 1;
};

}  // namespace sinter::inline SINTER_ABI::exec
