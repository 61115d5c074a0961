// SPDX-License-Identifier: MIT
// Queries or keys of a streamed nest: a matrix per batch that is in memory, or one that threads
// compute on the way, a block of rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <sinter/exec/operand_prologue.hpp>
#include <sinter/exec/product_operand.hpp>

namespace sinter::inline SINTER_ABI::exec {

class streamed_operand {
 public:
  /// Operand 0 or 1 of the nest's product; otherwise as product_operand.
  streamed_operand(const kernel_table& kernels, const planning::nest& nest, std::size_t operand,
                   bool transpose, dtype type, int scratch_buffer)
      : nest_(&nest), transpose_(transpose), prologue_(kernels, nest, operand) {
    if (!is_computed()) stored_.emplace(kernels, nest, operand, transpose, type, scratch_buffer);
  }

  bool is_computed() const { return prologue_.any(); }

  void bind(const binding& at, std::size_t batch_axes, memory_need& need) {
    if (stored_) return stored_->bind(at, batch_axes, need);
    prologue_.bind(at);
    const shape_vector& shape = prologue_.shape();
    detail::require_step(shape.size() == batch_axes + 2, *nest_,
                         "an operand of the product has another rank");
    rows_ = shape[batch_axes];
    columns_ = shape[batch_axes + 1];
    folded_ = 1;
  }

  std::int64_t rows() const { return stored_ ? stored_->rows() : transpose_ ? columns_ : rows_; }
  std::int64_t columns() const {
    return stored_ ? stored_->columns() : transpose_ ? rows_ : columns_;
  }
  bool is_shared(std::size_t axis) const {
    return stored_ ? stored_->is_shared(axis) : prologue_.is_shared(axis);
  }
  bool transposed() const { return stored_ ? stored_->transposed() : transpose_; }
  std::int64_t leading() const { return stored_ ? stored_->leading() : columns_; }

  /// Batches that are computed lie one behind the other wherever that is asked for.
  bool fold(std::size_t axis, std::int64_t rows) { return !stored_ || stored_->fold(axis, rows); }
  /// Tells the right side that `count` batches of it, which are the same, are one.
  void set_folded(std::int64_t count) { folded_ = count; }

  void pack(const run_memory& memory) const {
    if (stored_) stored_->pack(memory);
  }

  const std::byte* at(const run_memory& memory, const shape_vector& batch_shape, std::int64_t batch,
                      std::int64_t row, std::int64_t column) const {
    return stored_->at(memory, batch_shape, batch, row, column);
  }

  lowered_operand lowered(std::size_t batch_axes) const {
    lowered_operand out;
    if (stored_) {
      out.stored = stored_->lowered(batch_axes);
      return out;
    }
    out.parts = prologue_.lowered();
    out.transposed = transpose_;
    out.rows = rows_;
    out.columns = columns_;
    out.folded = folded_;
    for (std::size_t axis = 0; axis < batch_axes; ++axis)
      out.shared.push_back(is_shared(axis) ? 1 : 0);
    return out;
  }
  void add_copies(std::vector<lowered_copy>& copies) const {
    if (stored_) stored_->add_copies(copies);
  }

  // ---- computed operands, of which `row` counts what products see as rows of a block

  std::size_t scratch_bytes() const { return prologue_.scratch_bytes(); }
  std::int64_t block_rows() const { return rows_; }
  std::int64_t block_columns() const { return columns_; }

  /// The first of the batches that are the same as this one.
  std::int64_t distinct_batch(const shape_vector& batch_shape, std::int64_t batch) const {
    std::int64_t first = 0, stride = 1;
    for (std::size_t axis = batch_shape.size(); axis-- > 0;) {
      if (!prologue_.is_shared(axis)) first += batch % batch_shape[axis] * stride;
      batch /= batch_shape[axis];
      stride *= batch_shape[axis];
    }
    return first;
  }
  /// Rows [row, row + rows) of a batch, each of block_columns() elements, into `to`.
  void fill(const run_memory& memory, std::byte* scratch, std::int64_t batch, std::int64_t row,
            std::int64_t rows, std::byte* to) const {
    prologue_.fill(memory, scratch, batch * folded_ * rows_ + row, rows, to);
  }

 private:
  const planning::nest* nest_;
  bool transpose_;
  operand_prologue prologue_;
  std::optional<product_operand> stored_;
  std::int64_t rows_ = 0, columns_ = 0;  // of the matrix as it is computed
  std::int64_t folded_ = 1;
};

}  // namespace sinter::inline SINTER_ABI::exec
