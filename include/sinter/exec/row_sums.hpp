// SPDX-License-Identifier: MIT
// What a nest over rows sums up on the way: accumulators of all columns for every group of rows,
// which combine in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

class row_sums {
 public:
  /// Of a program that outlives this. `groups`: of rows.
  void bind(const tile_program& p, std::int64_t groups) {
    p_ = &p;
    groups_ = p.sums.empty() ? 0 : groups;
    group_bytes_ = 0;
    for (const column_sum& s : p.sums) group_bytes_ += bytes_of_columns(p, reduction(s));
  }
  bool any() const { return p_ != nullptr && !p_->sums.empty(); }

  /// Bytes of the accumulators of all groups.
  std::size_t bytes() const { return static_cast<std::size_t>(groups_) * group_bytes_; }

  /// Those of a group, at its beginning; `all`: of the first one.
  std::byte* group(std::byte* all, std::int64_t number) const {
    return all + static_cast<std::size_t>(number) * group_bytes_;
  }
  void begin(std::byte* group) const {
    for (const column_sum& s : p_->sums)
      reduction(s).kernels->identity(p_->axes.columns, group + reduction(s).offset);
  }

  /// Adds a group to the one before it, or to what was before it.
  void combine(const std::byte* group, std::byte* total, std::int64_t column,
               std::int64_t column_end) const {
    for (const column_sum& s : p_->sums)
      reduction(s).kernels->combine(column_end - column, group + place(s, column),
                                    total + place(s, column));
  }

  /// The sums of these columns, from the accumulators of all rows, into their buffers.
  void finish(const std::byte* total, std::int64_t column, std::int64_t column_end,
              std::byte* const* bases) const {
    for (const column_sum& s : p_->sums)
      reduction(s).kernels->finish(
          column_end - column, total + place(s, column),
          bases[s.buffer] +
              (s.offset + column) * static_cast<std::int64_t>(size_of(reduction(s).type)));
  }

 private:
  const bound_reduction& reduction(const column_sum& s) const {
    return p_->reductions[static_cast<std::size_t>(s.reduction)];
  }
  std::size_t place(const column_sum& s, std::int64_t column) const {
    const bound_reduction& r = reduction(s);
    return r.offset + static_cast<std::size_t>(column) * r.kernels->accumulator_bytes;
  }

  const tile_program* p_ = nullptr;
  std::int64_t groups_ = 0;
  std::size_t group_bytes_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
