// SPDX-License-Identifier: MIT
// What a matrix product is to the executor: operands, and a pointer to the kernel that was compiled
// for their dtype (gemm.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <sinter/plan/division.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

struct matrix_axis {
  std::int64_t extent = 1;
  std::int64_t stride = 0;  // in elements, of either sign
};

/// Rows and columns of a matrix that are several axes each, row-major, as those of the windows of
/// an image are: element (r, c) lies at the sum of what its positions along all axes make. Elements
/// may overlap. Empty: a matrix with one stride.
struct gathered_axes {
  std::span<const matrix_axis> rows, columns;
  std::int64_t first_row = 0, first_column = 0;  // where the operand begins
  // From the pointer to the first and the last element that may be read.
  std::int64_t low = 0, high = 0;

  bool any() const { return !rows.empty(); }
};

/// Where a position lies, counted row-major through the axes.
inline std::int64_t place_of(std::span<const matrix_axis> axes, std::int64_t position) {
  std::int64_t place = 0;
  for (std::size_t i = axes.size(); i-- > 0; position /= axes[i].extent)
    place += position % axes[i].extent * axes[i].stride;
  return place;
}

/// How many positions along these axes lie one behind the other, `spacing` elements apart.
inline std::int64_t even_run(std::span<const matrix_axis> axes, std::int64_t spacing = 1) {
  std::int64_t run = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].extent == 1) continue;
    if (axes[i].stride != run * spacing) break;
    run *= axes[i].extent;
  }
  return run;
}

/// Runs of positions that lie one behind the other, `spacing` elements apart, with `step` elements
/// from run to run.
struct position_runs {
  std::int64_t count = 1, length = 1, step = 0, spacing = 1;
};

/// The positions along these axes; nothing if the runs do not lie evenly.
inline std::optional<position_runs> runs_of(std::span<const matrix_axis> axes,
                                            std::int64_t spacing = 1) {
  position_runs out{1, even_run(axes, spacing), 0, spacing};
  std::int64_t inside = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (inside < out.length || axes[i].extent == 1) {
      inside *= axes[i].extent;
      continue;
    }
    if (out.count > 1) return std::nullopt;
    out.count = axes[i].extent;
    out.step = axes[i].stride;
  }
  return out;
}

/// As kernels read them: neighbours may be every other element, as windows with a stride of 2 are.
inline std::optional<position_runs> spaced_runs_of(std::span<const matrix_axis> axes) {
  for (std::size_t i = axes.size(); i-- > 0;)
    if (axes[i].extent != 1) return runs_of(axes, axes[i].stride == 2 ? 2 : 1);
  return runs_of(axes);
}

/// One product C = op(A) op(B), or C += op(A) op(B) with `accumulate`: C is m x n, op(A) m x k,
/// op(B) k x n, all row-major with strides between rows in elements; op(A) is the transpose of a
/// stored k x m matrix if transpose_a is set, and so for B. C overlaps neither operand. `workspace`
/// has gemm_workspace_bytes(type, m, n, k), 64-byte aligned.
///
/// A matrix B that is used again may be packed once: with `pack_into` (gemm_packed_elements(n, k)
/// elements, 64-byte aligned) the call only writes op(B) there as the kernel reads it, and products
/// with the same B and k may then name it as `packed_b`, also of some of its columns. Results are
/// the same. Very small products and those with a vector still read `b`, unless it is null. So may
/// a matrix A be packed for products with the same m and k: `pack_a_into`
/// (gemm_packed_elements(m, k) elements) and `packed_a`, where gemm_packs.
///
/// `reading`, of all of the product, not of this part of it alone, says how floats are read; each
/// is another way of rounding. Where it is not `packed`, A is not gathered, and B is not transposed
/// but for `dots`, where A is not, and `some_rows`, which read `packed_b`, too. B may be gathered
/// with spaced_runs_of its columns for `in_place`, of its rows for `dots`.
///
/// `count` products of this shape are computed one after the other: their operands and results
/// begin so many elements behind those of the one before.
///
/// `rows_behind` rows of A lie behind those, and are multiplied next: they may be fetched
/// meanwhile.
///
/// A and B, floats that are packed in the call, may be gathered, too: `a` and `b` then point to
/// element (0, 0) of the axes, their leading dimensions are of no account, and `tables` has
/// gemm_table_bytes.
struct matrix_product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
  bool transpose_a = false;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  bool transpose_b = false;
  void* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;
  void* workspace = nullptr;
  const void* packed_b = nullptr;
  void* pack_into = nullptr;
  std::int64_t packed_columns = 0;  // that packed_b has; 0: n
  std::int64_t packed_first = 0;    // which of them is B's first, a multiple of gemm_column_unit
  const void* packed_a = nullptr;
  void* pack_a_into = nullptr;
  gathered_axes gathered_a = {}, gathered_b = {};  // as op(A) and op(B) have rows and columns
  void* tables = nullptr;
  planning::product_reading reading = planning::product_reading::packed;
  std::int64_t count = 1, a_step = 0, b_step = 0, c_step = 0;
  std::int64_t rows_behind = 0;
};

using gemm_function = void (*)(const matrix_product&);

/// The matrix products a program has, by dtype; nullptr for the others.
using product_table = std::array<gemm_function, static_cast<std::size_t>(dtype_count)>;

}  // namespace sinter::inline SINTER_ABI::exec
