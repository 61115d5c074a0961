// SPDX-License-Identifier: MIT
// What a thread keeps packed of a streamed nest from one block of rows to the next.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/exec/gemm.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

struct streamed_packing {
  bool once = false;  // all blocks of columns are packed once per thread and batch
  planning::product_reading reads_values = planning::product_reading::packed;
  std::int64_t keys = 0, values = 0;  // elements of a packed block of columns
  std::int64_t bytes = 0;             // of all blocks

  bool packs_values() const { return reads_values == planning::product_reading::packed; }
};

/// Of `rows` x `columns` scores, made of rows of `depth` elements, that weigh rows of `width`
/// values. `hides`: with a causal mask, whose blocks end where they are hidden.
inline streamed_packing pack_streamed(dtype type, std::int64_t rows, std::int64_t columns,
                                      std::int64_t depth, std::int64_t width,
                                      bool transposes_values, bool hides) {
  const planning::streamed_division block = planning::divide_scores(rows, columns);
  streamed_packing out;
  out.reads_values = planning::reading_of(rows, width, columns, false, transposes_values);
  out.keys = gemm_packed_elements(block.columns, depth);
  out.values = out.packs_values() ? gemm_packed_elements(width, block.columns) : 0;
  out.bytes = planning::pieces_of(columns, block.columns) * (out.keys + out.values) *
              static_cast<std::int64_t>(size_of(type));
  out.once = !hides && planning::pieces_of(std::max<std::int64_t>(1, rows), block.rows) > 1 &&
             out.bytes <= static_cast<std::int64_t>(planning::packed_scores_limit);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::exec
