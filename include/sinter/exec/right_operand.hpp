// SPDX-License-Identifier: MIT
// The right side of a product of a matmul nest: matrices as they are in memory, or one that a pack
// nest has brought into the kernel's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <sinter/exec/gemm.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_operand.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

class right_operand {
 public:
  // Operand `access` of the nest; `copy` as scratch_buffer of product_operand.
  right_operand(const kernel_table& kernels, const planning::nest& nest, std::size_t access,
                bool transpose, dtype type, int copy)
      : nest_(&nest), packed_(nest.packed_b), type_(type), buffer_(nest.accesses[access].buffer) {
    if (!packed_) stored_.emplace(kernels, nest, access, transpose, type, copy);
  }

  bool is_packed() const { return packed_; }
  bool is_gathered() const { return !packed_ && stored_->is_gathered(); }
  /// Says what the left side is, of how many rows in all: a block is added up like the rest.
  void set_left(const product_operand& left, std::int64_t m) {
    using enum planning::product_reading;
    reading_ = packed;
    if (!is_floating(type_) || left.is_gathered()) return;
    const std::int64_t depth = left.columns();
    if (packed_) {
      if (planning::are_some_rows(m, columns_, depth, left.transposed(), most_passing_rows))
        reading_ = some_rows;
      return;
    }
    reading_ =
        stored_->is_gathered()
            ? planning::reading_of_gathered(m, columns_, depth, left.transposed(), stored_->runs())
            : planning::reading_of(m, columns_, depth, left.transposed(), stored_->transposed(),
                                   most_passing_rows);
  }
  /// See matrix_product.
  planning::product_reading reading() const { return reading_; }
  /// Of windows that are read where they are: how many columns lie one behind the other; 0 of
  /// others.
  std::int64_t window_run() const {
    return is_gathered() && reading_ == planning::product_reading::in_place
               ? stored_->runs().columns
               : 0;
  }
  /// Do blocks of these extents read packed operands?
  bool reads_packed(std::int64_t m, std::int64_t n, std::int64_t k) const {
    using enum planning::product_reading;
    if (reading_ == some_rows) return packed_ || stored_->transposed();
    return reading_ == packed && (packed_ || is_gathered() || gemm_packs(type_, m, n, k));
  }

  // Of k rows and n columns.
  void bind(const binding& at, std::size_t batch_axes, std::int64_t k, std::int64_t n,
            memory_need& need) {
    columns_ = n;
    if (packed_) {
      detail::require_step(element_count(at[buffer_].shape) == gemm_packed_elements(n, k), *nest_,
                           "the packed operand of the product does not fit");
      return;
    }
    stored_->bind(at, batch_axes, need);
    detail::require_step(stored_->columns() == n && stored_->rows() == k, *nest_,
                         "the operands of the product do not fit");
  }
  bool is_shared(std::size_t axis) const { return packed_ || stored_->is_shared(axis); }
  std::int64_t batch_step(std::size_t axis) const {
    return packed_ ? 0 : stored_->batch_step(axis);
  }
  void pack(const run_memory& memory) const {
    if (!packed_) stored_->pack(memory);
  }

  lowered_matrix lowered(std::size_t batch_axes) const {
    if (!packed_) return stored_->lowered(batch_axes);
    lowered_matrix out;
    out.buffer = buffer_;
    out.packed = true;
    return out;
  }
  void add_copies(std::vector<lowered_copy>& copies) const {
    if (!packed_) stored_->add_copies(copies);
  }

  // Makes the columns from `column` on the product's right side.
  void set(matrix_product& product, const run_memory& memory, const shape_vector& batch_shape,
           std::int64_t batch, std::int64_t column) const {
    product.reading = reading_;
    if (packed_) {
      product.packed_b = memory.bases[buffer_];
      product.packed_columns = columns_;
      product.packed_first = column;
    } else {
      stored_->set_right(product, memory, batch_shape, batch, column);
    }
  }

 private:
  const planning::nest* nest_;
  bool packed_;
  planning::product_reading reading_ = planning::product_reading::packed;
  dtype type_;
  int buffer_;
  std::int64_t columns_ = 0;
  std::optional<product_operand> stored_;
};

}  // namespace sinter::inline SINTER_ABI::exec
