// SPDX-License-Identifier: MIT
// An operand of a matrix product, bound: a matrix per batch with unit stride in one direction, or
// one whose rows and columns are several axes of a view, which is gathered as it is packed. Others
// are copied before the product runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/tile_nest.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/joined_axes.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/inline_vector.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The matrix product of a dtype. Throws dtype_error if there is none.
inline gemm_function product_kernel(const kernel_table& kernels, dtype type) {
  if (const gemm_function found = kernels.product(type)) return found;
  raise(dtype_error("executor: no matrix product for " + std::string(name(type))));
}

/// The step that is the product of a nest, the first of two. Throws graph_error, with this reason,
/// if there is none.
inline int find_product(const planning::nest& nest, const char* reason) {
  for (std::size_t i = 0; i < nest.body.size(); ++i)
    if (nest.body[i].kind == planning::step_kind::product && nest.body[i].access < 0)
      return static_cast<int>(i);
  detail::require_step(false, nest, reason);
  return -1;
}

class product_operand {
 public:
  /// `access`: of the nest, which must outlive this; seen as [batch..., rows, columns], or
  /// transposed in the last two axes. `scratch_buffer`: the entry of run_memory::bases that is set
  /// to the copy, if one is needed.
  product_operand(const kernel_table& kernels, const planning::nest& nest, std::size_t access,
                  bool transpose, dtype type, int scratch_buffer)
      : nest_(&nest),
        access_(access),
        transpose_(transpose),
        type_(type),
        scratch_buffer_(scratch_buffer),
        gathered_(planning::gathered(nest.accesses[access])) {
    if (gathered_) return;
    copy_ = copy_nest(nest.accesses[access], type, -1, nest.predicted_nanoseconds);
    packer_ = std::make_unique<tile_nest>(nullptr, kernels, copy_);
  }

  product_operand(const product_operand&) = delete;  // the packer refers to the copy
  product_operand& operator=(const product_operand&) = delete;

  /// Adds what a copy needs to `need`. Throws graph_error if the operand's rank is not batch_axes
  /// + 2.
  void bind(const binding& at, std::size_t batch_axes, memory_need& need) {
    detail::require_step(nest_->accesses[access_].shape.size() == batch_axes + 2, *nest_,
                         "an operand of the product has another rank");
    if (gathered_)
      bind_gathered(at, batch_axes);
    else
      bind_matrix(at, need);
    const std::size_t rank = view_.shape.size();
    const std::size_t row = rank - (transpose_ ? 1 : 2), column = rank - (transpose_ ? 2 : 1);
    rows_ = view_.shape[row];
    columns_ = view_.shape[column];
    row_stride_ = view_.strides[row];
    column_stride_ = view_.strides[column];
    for (std::size_t axis = 0; axis < batch_axes; ++axis)
      if (view_.shape[axis] == 1) view_.strides[axis] = 0;
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  /// Is it the same matrix along this batch axis?
  bool is_shared(std::size_t axis) const { return view_.strides[axis] == 0; }
  /// Elements from one matrix to the next along this batch axis.
  std::int64_t batch_step(std::size_t axis) const { return view_.strides[axis]; }
  /// Does a product that reads it need tables (gemm_table_bytes)?
  bool is_gathered() const { return gathered_.has_value(); }

  /// Of a gathered right side.
  planning::gathered_runs runs() const {
    const auto columns = spaced_runs_of({column_axes_.begin(), column_axes_.end()}),
               rows = spaced_runs_of({row_axes_.begin(), row_axes_.end()});
    return {columns ? columns->length : 0, rows ? rows->length : 0,
            columns && columns->spacing == 2};
  }

  /// Lets the batches along a batch axis be more rows of this matrix, if they lie so: `rows` is how
  /// many it has by now. Returns false, and changes nothing, if they do not.
  bool fold(std::size_t axis, std::int64_t rows) {
    const std::int64_t stride = view_.strides[axis];
    if (gathered_) {
      if (view_.shape[axis] != 1) row_axes_.insert(row_axes_.begin(), {view_.shape[axis], stride});
      return true;
    }
    if (rows != 1) return stride == row_stride_ * rows;
    // The stride between rows was of no account so far.
    if (transposed() && stride != 1) return false;
    row_stride_ = stride;
    return true;
  }

  /// Makes the copy, if there is one to make. All threads take part.
  void pack(const run_memory& memory) const {
    if (!packed_) return;
    memory.bases[scratch_buffer_] = memory.shared + pack_offset_;
    packer_->run(memory);
  }

  /// As products see it that have `batch_axes` batch axes.
  lowered_matrix lowered(std::size_t batch_axes) const {
    lowered_matrix out;
    out.buffer = view_.buffer;
    out.gathered = is_gathered();
    out.offset = view_.offset;
    out.row_stride = row_stride_;
    out.column_stride = column_stride_;
    out.rows = lowered(row_axes_);
    out.columns = lowered(column_axes_);
    out.batch_strides = shape_vector(view_.strides.begin(), view_.strides.begin() + batch_axes);
    return out;
  }
  /// The copy, if there is one to make.
  void add_copies(std::vector<lowered_copy>& copies) const {
    if (packed_)
      copies.push_back({scratch_buffer_, type_, view_.shape, pack_offset_, packer_->lowered()});
  }

  /// Makes rows from `row` on of the matrix of a batch, which counts row-major through
  /// `batch_shape`, the left side of a product.
  void set_left(matrix_product& product, const run_memory& memory, const shape_vector& batch_shape,
                std::int64_t batch, std::int64_t row) const {
    product.a = at(memory, batch_shape, batch, row, 0);
    product.lda = leading();
    product.transpose_a = transposed();
    product.gathered_a = axes(row, 0);
  }
  /// And columns from `column` on the right side.
  void set_right(matrix_product& product, const run_memory& memory, const shape_vector& batch_shape,
                 std::int64_t batch, std::int64_t column) const {
    product.b = at(memory, batch_shape, batch, 0, column);
    product.ldb = leading();
    product.transpose_b = transposed();
    product.gathered_b = axes(0, column);
  }

  /// As matrix_product has them.
  bool transposed() const { return columns_ > 1 && column_stride_ != 1; }
  std::int64_t leading() const { return transposed() ? column_stride_ : row_stride_; }

  /// Element (row, column) of the matrix of a batch; of a gathered one, the first element.
  const std::byte* at(const run_memory& memory, const shape_vector& batch_shape, std::int64_t batch,
                      std::int64_t row, std::int64_t column) const {
    std::int64_t place = view_.offset;
    if (!gathered_) place += row * row_stride_ + column * column_stride_;
    for (std::size_t axis = batch_shape.size(); axis-- > 0;) {
      place += batch % batch_shape[axis] * view_.strides[axis];
      batch /= batch_shape[axis];
    }
    // Where there are no elements there may be no memory.
    const std::byte* const base = memory.bases[view_.buffer];
    return base == nullptr ? nullptr : base + place * static_cast<std::int64_t>(size_of(type_));
  }

 private:
  // The axes of one view are dealt out to batches, rows and columns.
  using axis_vector = inline_vector<matrix_axis, max_rank>;

  void bind_matrix(const binding& at, memory_need& need) {
    view_ = at.view(nest_->accesses[access_]);
    const std::size_t rank = view_.shape.size();
    const auto unit = [&](std::size_t axis) {
      return view_.shape[axis] <= 1 || view_.strides[axis] == 1;
    };
    packed_ = !unit(rank - 1) && !unit(rank - 2);
    if (!packed_) return;
    pack_offset_ = need.shared;
    need.shared +=
        round_to_lines(static_cast<std::size_t>(element_count(view_.shape)) * size_of(type_));
    view_ = {scratch_buffer_, 0, view_.shape, row_major_strides(view_.shape)};
    need.per_thread = std::max(need.per_thread, packer_->bind(at, &view_).per_thread);
  }

  // Deals the axes of the view out: to the batch axes one each, the rest to rows and columns.
  void bind_gathered(const binding& at, std::size_t batch_axes) {
    const strided_view below = at.view(*gathered_);
    view_ = {below.buffer, below.offset, at.evaluate(nest_->accesses[access_].shape), {}};
    const shape_vector& shape = view_.shape;
    view_.strides = shape_vector::filled(shape.size(), 0);
    const auto all = planning::joined_axes(shape, below.shape, batch_axes);
    detail::require_step(!all.empty(), *nest_, "an operand of the product joins other axes");
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      axis_vector joined;
      for (std::size_t each : all[axis]) joined.push_back({below.shape[each], below.strides[each]});
      if (axis < batch_axes) {
        if (!joined.empty()) view_.strides[axis] = joined[0].stride;
        continue;
      }
      if (joined.empty()) joined.push_back({shape[axis], 0});
      ((axis == batch_axes) != transpose_ ? row_axes_ : column_axes_) = joined;
    }
  }

  static lowered_axes lowered(const axis_vector& axes) {
    lowered_axes out;
    for (const matrix_axis& each : axes) {
      out.extents.push_back(each.extent);
      out.strides.push_back(each.stride);
    }
    return out;
  }

  gathered_axes axes(std::int64_t row, std::int64_t column) const {
    gathered_axes out;
    if (!gathered_) return out;
    out.rows = {row_axes_.begin(), row_axes_.end()};
    out.columns = {column_axes_.begin(), column_axes_.end()};
    out.first_row = row;
    out.first_column = column;
    for (const auto& side : {out.rows, out.columns})
      for (const matrix_axis& each : side)
        (each.stride < 0 ? out.low : out.high) += (each.extent - 1) * each.stride;
    return out;
  }

  const planning::nest* nest_;
  std::size_t access_;
  bool transpose_;
  dtype type_;
  int scratch_buffer_;
  std::optional<planning::access> gathered_;  // the view whose axes are joined
  planning::nest copy_;
  std::unique_ptr<tile_nest> packer_;
  strided_view view_;
  std::int64_t rows_ = 0, columns_ = 0, row_stride_ = 0, column_stride_ = 0;
  axis_vector row_axes_, column_axes_;
  bool packed_ = false;
  std::size_t pack_offset_ = 0;
};

/// Batches of products of `a` whose right sides are the same matrices along the last batch axes
/// (is_shared(axis)) are more rows of a: takes such axes off `batch_shape` and multiplies `rows`.
template <class Left, class IsShared>
void fold_batches_if(shape_vector& batch_shape, std::int64_t& rows, Left& a, IsShared is_shared) {
  while (!batch_shape.empty()) {
    const std::size_t axis = batch_shape.size() - 1;
    const std::int64_t extent = batch_shape[axis];
    if (extent != 1 && (!is_shared(axis) || !a.fold(axis, rows))) return;
    rows *= extent;
    batch_shape.resize(axis);
  }
}

/// The same for the right sides `right`.
template <class Left, class... Right>
void fold_batches(shape_vector& batch_shape, std::int64_t& rows, Left& a, const Right&... right) {
  fold_batches_if(batch_shape, rows, a,
                  [&](std::size_t axis) { return (right.is_shared(axis) && ...); });
}

}  // namespace sinter::inline SINTER_ABI::exec
