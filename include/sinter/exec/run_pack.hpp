// SPDX-License-Identifier: MIT
// Packs the right side of products into the order in which their kernel reads it, for products that
// run many times with the same one.
#pragma once

#include <cstddef>

#include <sinter/exec/gemm.hpp>
#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_operand.hpp>
#include <sinter/exec/run_memory.hpp>

namespace sinter::inline SINTER_ABI::exec {

class pack_nest {
 public:
  pack_nest(const planning::plan& plan, const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        target_(nest.stores.at(0).buffer),
        type_(plan.buffers[static_cast<std::size_t>(target_)].type),
        multiply_(product_kernel(kernels, type_)),
        matrix_(kernels, nest, 0, nest.transpose_b, type_, static_cast<int>(plan.buffers.size())) {}

  memory_need bind(const binding& at) {
    const shape_vector space = at.evaluate(nest_->space);
    memory_need out;
    const std::size_t rank = nest_->accesses[0].shape.size();
    detail::require_step(space.size() == 2 && rank >= 2, *nest_, "what is packed is a matrix");
    matrix_.bind(at, rank - 2, out);
    k_ = space[0];
    n_ = space[1];
    batch_shape_ = shape_vector::filled(rank - 2, 1);
    detail::require_step(matrix_.rows() == k_ && matrix_.columns() == n_ &&
                             element_count(at[target_].shape) == gemm_packed_elements(n_, k_),
                         *nest_, "the packed matrix does not fit");
    return out;
  }

  // On one thread: it happens once.
  void run(const run_memory& memory) const {
    if (k_ == 0 || n_ == 0) return;
    matrix_.pack(memory);
    multiply_({.m = 1,
               .n = n_,
               .k = k_,
               .b = matrix_.at(memory, batch_shape_, 0, 0, 0),
               .ldb = matrix_.leading(),
               .transpose_b = matrix_.transposed(),
               .pack_into = memory.bases[target_]});
  }

  lowered_pack lowered() const {
    lowered_pack out;
    out.type = type_;
    out.target = target_;
    out.k = k_;
    out.n = n_;
    matrix_.add_copies(out.copies);
    out.matrix = matrix_.lowered(batch_shape_.size());
    return out;
  }

 private:
  const planning::nest* nest_;
  int target_;
  dtype type_;
  gemm_function multiply_;
  product_operand matrix_;
  shape_vector batch_shape_;
  std::int64_t k_ = 0, n_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
