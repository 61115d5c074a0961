// SPDX-License-Identifier: MIT
// Sums over the rows that a tile program walks, one per column: column_block_rows rows are added in
// the dtype of the elements, in memory that stays in L1, and such a block to the accumulators,
// which are wider. Blocks are counted from the first row, whatever tiles it comes in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

class block_sums {
 public:
  /// `scratch`: program.scratch_bytes of this thread's.
  block_sums(const tile_program& p, std::byte* scratch) : p_(p), blocks_(scratch + p.sums_offset) {}

  /// Sums go to these accumulators from here on; no row has been seen.
  void begin(std::byte* accumulators) {
    accumulators_ = accumulators;
    rows_ = 0;
    // Whole lines: kernels compute what stands behind the last column, too, and what somebody left
    // there might be denormal, which is slow.
    std::memset(blocks_, 0, bytes_of_sums(p_));
  }

  /// Rows of the tile at hand, `apart` elements from one to the next, `columns` of each from
  /// `column` on, to what reduction r of the program sums up.
  void add(const bound_reduction& r, std::int64_t column, std::int64_t columns, std::int64_t rows,
           const std::byte* x, std::int64_t apart) const {
    for (std::int64_t before = rows_; rows > 0;) {
      const std::int64_t here = std::min(rows, column_block_rows - before);
      r.kernels->block(here, columns, x, apart, block(r, column));
      before += here;
      rows -= here;
      x += here * apart * static_cast<std::int64_t>(size_of(r.type));
      if (before < column_block_rows) continue;
      accumulate(r, column, columns);
      before = 0;
    }
  }
  /// So many rows have been added to all sums.
  void end_tile(std::int64_t rows) { rows_ = (rows_ + rows) % column_block_rows; }

  /// No row comes any more.
  void end() const {
    for (const column_sum& s : p_.sums) accumulate(reduction_of(p_, s), 0, p_.axes.columns);
  }

 private:
  std::byte* block(const bound_reduction& r, std::int64_t column) const {
    return blocks_ + r.offset + static_cast<std::size_t>(column) * size_of(r.type);
  }
  // What the block has for these columns goes to the accumulators.
  void accumulate(const bound_reduction& r, std::int64_t column, std::int64_t columns) const {
    r.kernels->column(1, columns, block(r, column), 0, {},
                      accumulators_ + place_of_column(r, column));
    std::memset(block(r, column), 0, static_cast<std::size_t>(columns) * size_of(r.type));
  }

  const tile_program& p_;
  std::byte* blocks_;
  std::byte* accumulators_ = nullptr;
  std::int64_t rows_ = 0;  // of the block, before the tile at hand
};

}  // namespace sinter::inline SINTER_ABI::exec
