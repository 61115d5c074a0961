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
  /// Of a program that outlives this.
  void bind(const tile_program& p) {
    p_ = &p;
    group_bytes_ = bytes_of_sums(p);
  }
  bool any() const { return !p_->sums.empty(); }

  /// Bytes of the accumulators of so many groups.
  std::size_t bytes(std::int64_t groups) const {
    return static_cast<std::size_t>(groups) * group_bytes_;
  }
  /// Those of a group, at its beginning; `all`: of the first one.
  std::byte* group(std::byte* all, std::int64_t number) const { return all + bytes(number); }
  void begin(std::byte* group) const {
    for (const column_sum& s : p_->sums) {
      const bound_reduction& r = reduction_of(*p_, s);
      r.kernels->identity(p_->axes.columns, group + r.offset);
    }
  }

  /// Adds a group to the one before it, or to what was before it.
  void combine(const std::byte* group, std::byte* total, std::int64_t column,
               std::int64_t column_end) const {
    for (const column_sum& s : p_->sums) {
      const bound_reduction& r = reduction_of(*p_, s);
      const std::size_t place = place_of_column(r, column);
      r.kernels->combine(column_end - column, group + place, total + place);
    }
  }

  /// The sums of these columns, from the accumulators of all rows, into their buffers.
  void finish(const std::byte* total, std::int64_t column, std::int64_t column_end,
              std::byte* const* bases) const {
    for (const column_sum& s : p_->sums) {
      const bound_reduction& r = reduction_of(*p_, s);
      std::byte* const to =
          bases[s.buffer] + (s.offset + column) * static_cast<std::int64_t>(size_of(r.type));
      r.kernels->finish(column_end - column, total + place_of_column(r, column), to);
    }
  }

 private:
  const tile_program* p_ = nullptr;
  std::size_t group_bytes_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
