// SPDX-License-Identifier: MIT
// Runs matmul nests: blocks of the product, divided by shape, and on each block, while it is in the
// cache, the rest of the tile program (bias, activation, residual). The block lies in the output
// itself where that is safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <sinter/exec/bind_tile.hpp>
#include <sinter/exec/gemm.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_operand.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/run_tile.hpp>

namespace sinter::exec {

class matmul_nest {
 public:
  matmul_nest(const planning::plan& plan, const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        product_(find_product(nest)),
        multiply_(kernels.product(nest.body[static_cast<std::size_t>(product_)].type)),
        rest_(kernels, nest,
              analyze_tile(&plan, nest, geometry::block, all_stores(nest), product_, -1)),
        type_(nest.body[static_cast<std::size_t>(product_)].type),
        a_(kernels, nest, 0, nest.transpose_a, type_, static_cast<int>(plan.buffers.size())),
        b_(kernels, nest, 1, nest.transpose_b, type_, static_cast<int>(plan.buffers.size()) + 1) {
    if (multiply_ == nullptr)
      throw dtype_error("executor: no matrix product for " + std::string(name(type_)));
  }

  memory_need bind(const binding& at) {
    const shape_vector space = at.evaluate(nest_->space);
    detail::require_step(space.size() >= 2, *nest_, "a matrix product has two axes");
    const std::size_t rank = space.size();
    batch_shape_ = shape_vector(space.begin(), space.end() - 2);
    m_ = space[rank - 2];
    n_ = space[rank - 1];
    memory_need out;
    a_.bind(at, batch_shape_.size(), out);
    k_ = a_.columns();
    if (nest_->packed_b) {
      packed_b_ = at[nest_->accesses[1].buffer];
      detail::require_step(
          a_.rows() == m_ && element_count(packed_b_.shape) == gemm_packed_elements(n_, k_), *nest_,
          "the packed operand of the product does not fit");
      fold_batches(batch_shape_, m_, a_);
    } else {
      b_.bind(at, batch_shape_.size(), out);
      detail::require_step(a_.rows() == m_ && b_.columns() == n_ && b_.rows() == k_, *nest_,
                           "the operands of the product do not fit");
      fold_batches(batch_shape_, m_, a_, b_);
    }
    batch_ = 1;
    for (std::int64_t e : batch_shape_) batch_ *= e;

    grid_ = gemm_block_grid(m_, n_, k_);
    detail::require_step(nest_->inner_axes <= 1, *nest_, "the rows of a product are its last axis");
    if (nest_->inner_axes > 0) {  // reductions over rows need whole ones
      grid_.columns = std::max<std::int64_t>(1, n_);
      grid_.column_count = 1;
    }
    bind_rest(at, space);
    product_offset_ = round_to_lines(rest_.program().scratch_bytes);
    workspace_offset_ = product_offset_;
    if (destination_ < 0)
      workspace_offset_ +=
          round_to_lines(static_cast<std::size_t>(grid_.rows * grid_.columns) * size_of(type_));
    out.per_thread =
        std::max(out.per_thread,
                 workspace_offset_ + gemm_workspace_bytes(type_, grid_.rows, grid_.columns, k_));
    return out;
  }

  void run(const run_memory& memory) const {
    if (batch_ == 0 || m_ == 0 || n_ == 0) return;
    // A copy's workspace lies behind the packed operands, which are in use.
    a_.pack(memory);
    if (!nest_->packed_b) b_.pack(memory);
    const std::int64_t blocks = grid_.row_count * grid_.column_count;
    parallel_for(batch_ * blocks, nest_->predicted_nanoseconds, [&](std::int64_t task, int thread) {
      const std::int64_t block = task % blocks;
      run_block(memory, memory.scratch(thread), task / blocks,
                block / grid_.column_count * grid_.rows,
                block % grid_.column_count * grid_.columns);
    });
  }

 private:
  static int find_product(const planning::nest& nest) {
    for (std::size_t i = 0; i < nest.body.size(); ++i)
      if (nest.body[i].kind == planning::step_kind::product) return static_cast<int>(i);
    detail::require_step(false, nest, "a matmul nest without a product");
    return -1;
  }
  static std::vector<int> all_stores(const planning::nest& nest) {
    std::vector<int> out(nest.stores.size());
    std::iota(out.begin(), out.end(), 0);
    return out;
  }

  // Where blocks of the product are computed: in the memory of a store of the product itself; else
  // in the memory of the store that is the last to need it; else (destination -1) in scratch.
  int find_destination(const binding& at, const shape_vector& space) const {
    if (nest_->product_in_scratch) return -1;
    const tile_analysis& facts = rest_.facts();
    const auto safe = [&](std::size_t number) {
      const planning::store& s = nest_->stores[number];
      if (element_count(at[s.buffer].shape) != element_count(space)) return false;
      if (nest_->body[static_cast<std::size_t>(s.step)].type != type_) return false;
      for (std::size_t i = 0; i < nest_->body.size(); ++i)
        if (facts.alive[i] && nest_->body[i].kind == planning::step_kind::load &&
            may_overlap(
                at.plan(), at[s.buffer].buffer,
                at[nest_->accesses[static_cast<std::size_t>(nest_->body[i].access)].buffer].buffer))
          return false;
      return true;
    };
    for (std::size_t i = 0; i < nest_->stores.size(); ++i)
      if (facts.origin[static_cast<std::size_t>(nest_->stores[i].step)] == product_ && safe(i))
        return static_cast<int>(i);
    for (std::size_t i = 0; i < nest_->stores.size(); ++i)
      if (facts.phases == 1 && !facts.is_used_behind(*nest_, product_, nest_->stores[i].step) &&
          safe(i))
        return static_cast<int>(i);
    return -1;
  }

  void bind_rest(const binding& at, const shape_vector& space) {
    destination_ = find_destination(at, space);
    walk_request request;
    request.space = space;
    request.outer_count = space.size() - 1;
    request.block_columns = grid_.columns;
    request.external_packed = grid_.column_count == 1;
    if (destination_ >= 0) {
      const planning::store& s = nest_->stores[static_cast<std::size_t>(destination_)];
      destination_view_ = at[s.buffer];
      if (rest_.facts().origin[static_cast<std::size_t>(s.step)] == product_)
        request.stored_external = destination_;
    }
    rest_.bind(at, request);
    const tile_program& p = rest_.program();
    has_rest_ =
        std::ranges::any_of(p.phase_lists, [](command_range r) { return r.first != r.last; }) ||
        std::ranges::any_of(p.row_lists, [](command_range r) { return r.first != r.last; });
  }

  void run_block(const run_memory& memory, std::byte* scratch, std::int64_t batch, std::int64_t row,
                 std::int64_t column) const {
    const std::int64_t rows = std::min(grid_.rows, m_ - row),
                       columns = std::min(grid_.columns, n_ - column);
    const std::int64_t first_row = batch * m_ + row;
    std::byte* c = scratch + product_offset_;
    std::int64_t pitch = columns;
    if (destination_ >= 0) {
      c = memory.bases[destination_view_.buffer] +
          (destination_view_.offset + first_row * n_ + column) *
              static_cast<std::int64_t>(size_of(type_));
      pitch = n_;
    }
    matrix_product product{.m = rows,
                           .n = columns,
                           .k = k_,
                           .a = a_.at(memory, batch_shape_, batch, row, 0),
                           .lda = a_.leading(),
                           .transpose_a = a_.transposed(),
                           .b = nullptr,
                           .ldb = 0,
                           .transpose_b = false,
                           .c = c,
                           .ldc = pitch,
                           .accumulate = false,
                           .workspace = scratch + workspace_offset_};
    if (nest_->packed_b) {
      product.packed_b = memory.bases[packed_b_.buffer];
      product.packed_columns = n_;
      product.packed_first = column;
    } else {
      product.b = b_.at(memory, batch_shape_, batch, 0, column);
      product.ldb = b_.leading();
      product.transpose_b = b_.transposed();
    }
    multiply_(product);
    if (!has_rest_) return;
    tile_runner rest(rest_.program(), memory.bases, scratch);
    rest.begin();
    rest.set_external({c, pitch, first_row, column});
    rest.run_all(first_row, first_row + rows, column, column + columns);
  }

  const planning::nest* nest_;
  int product_;
  gemm_function multiply_;
  bound_tile rest_;
  dtype type_;
  product_operand a_, b_;
  strided_view packed_b_;  // in place of b_
  shape_vector batch_shape_;
  std::int64_t batch_ = 1, m_ = 0, n_ = 0, k_ = 0;
  gemm_blocks grid_{};
  int destination_ = -1;  // number of a store
  strided_view destination_view_;
  bool has_rest_ = false;
  std::size_t product_offset_ = 0, workspace_offset_ = 0;
};

}  // namespace sinter::exec
