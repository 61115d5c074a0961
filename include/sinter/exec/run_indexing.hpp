// SPDX-License-Identifier: MIT
// gather and scatter_add. Every index is checked before anything is written; updates are added in
// their order, whoever adds them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/copy.hpp>
#include <sinter/exec/copy_rows.hpp>
#include <sinter/exec/indexed_view.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/exec/strided_runs.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

// The indices of a gather or scatter_add, read in row-major order.
class index_list {
 public:
  void bind(const binding& at, const planning::access& access) {
    view_ = at.view(access);
    type_ = at.type(access.buffer);
    is_argument_ = at.plan().buffers[static_cast<std::size_t>(view_.buffer)].place ==
                   planning::place::argument;
    count_ = element_count(view_.shape);
    merge_axes(view_.shape, view_.strides);
  }

  std::int64_t count() const { return count_; }
  bool is_argument() const { return is_argument_; }

  std::int64_t operator()(const run_memory& memory, std::int64_t position) const {
    std::int64_t at = view_.offset;
    if (view_.shape.size() == 1)
      at += position * view_.strides[0];
    else
      at += offset_of(view_.shape, view_.strides, position);
    const std::byte* element =
        memory.bases[view_.buffer] + at * static_cast<std::int64_t>(size_of(type_));
    switch (type_) {
      case dtype::i8: return read<std::int8_t>(element);
      case dtype::u8: return read<std::uint8_t>(element);
      case dtype::i16: return read<std::int16_t>(element);
      case dtype::u16: return read<std::uint16_t>(element);
      case dtype::i32: return read<std::int32_t>(element);
      case dtype::u32: return read<std::uint32_t>(element);
      default: return read<std::int64_t>(element);  // a u64 beyond i64 is negative: out of range
    }
  }

  /// f(index) for those at positions [first, last), in their order. i64 and i32 in a row are read
  /// without asking each time what they are: an element is gathered in 0.7 instead of 2.6 ns.
  template <class F>
  void for_each(const run_memory& memory, std::int64_t first, std::int64_t last, F f) const {
    const std::byte* const start =
        memory.bases[view_.buffer] + view_.offset * static_cast<std::int64_t>(size_of(type_));
    const auto in_a_row = [&]<class T>(std::type_identity<T>) {
      const std::int64_t step = view_.strides[0] * static_cast<std::int64_t>(sizeof(T));
      for (std::int64_t i = first; i < last; ++i) f(read<T>(start + i * step));
    };
    if (view_.shape.size() == 1 && type_ == dtype::i64)
      in_a_row(std::type_identity<std::int64_t>{});
    else if (view_.shape.size() == 1 && type_ == dtype::i32)
      in_a_row(std::type_identity<std::int32_t>{});
    else
      for (std::int64_t i = first; i < last; ++i) f((*this)(memory, i));
  }

  lowered_indices lowered(std::int64_t extent) const {
    return {view_, type_, extent, is_argument_};
  }

  /// Throws index_error unless all are in [0, extent).
  void check(const run_memory& memory, const char* op, std::int64_t extent) const {
    bool all_inside = true;
    for_each(memory, 0, count_, [&all_inside, extent](std::int64_t index) {
      all_inside &= static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(extent);
    });
    if (all_inside) return;
    for (std::int64_t i = 0; i < count_; ++i)
      if (const std::int64_t value = (*this)(memory, i); value < 0 || value >= extent)
        raise(index_error(std::string(op) + ": index " + std::to_string(value) +
                          " is outside of extent " + std::to_string(extent)));
  }

 private:
  template <class T>
  static std::int64_t read(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<std::int64_t>(value);
  }

  strided_view view_;
  dtype type_{};
  std::int64_t count_ = 0;
  bool is_argument_ = false;
};

class gather_nest {
 public:
  explicit gather_nest(const planning::nest& nest) : nest_(&nest) {}

  memory_need bind(const binding& at) {
    const auto axis = static_cast<std::size_t>(nest_->axis);
    const strided_view x = at.view(nest_->accesses[0]);
    type_ = at.type(nest_->accesses[0].buffer);
    size_ = size_of(type_);
    x_.bind(x, axis, 1);
    extent_ = x.shape[axis];
    axis_stride_ = x.strides[axis];
    indices_.bind(at, nest_->accesses[1]);
    target_ = at[nest_->stores[0].buffer];
    return {};
  }

  /// Checks indices that are an argument: before any nest of the plan has run.
  void check_arguments(const run_memory& memory) const {
    if (indices_.is_argument()) indices_.check(memory, "gather", extent_);
  }

  void run(const run_memory& memory) const {
    if (!indices_.is_argument()) indices_.check(memory, "gather", extent_);
    const std::int64_t rows = x_.before_count * indices_.count(), width = x_.behind_count;
    if (rows == 0 || width == 0) return;
    const std::int64_t rows_per_task = planning::gathered_rows(width);
    parallel_for(planning::pieces_of(rows, rows_per_task), nest_->predicted_nanoseconds,
                 [&](std::int64_t task, int) {
                   for_each_row_of_tasks(
                       task * rows_per_task, std::min(rows, (task + 1) * rows_per_task),
                       indices_.count(),
                       [&](std::int64_t before, std::int64_t first, std::int64_t last) {
                         gather_rows(memory, before, first, last);
                       });
                 });
  }

  lowered_gather lowered() const {
    return {.type = type_,
            .source = x_.view.buffer,
            .offset = x_.view.offset,
            .axis_stride = axis_stride_,
            .before = x_.before,
            .before_strides = x_.before_strides,
            .behind = x_.behind,
            .behind_strides = x_.behind_strides,
            .indices = indices_.lowered(extent_),
            .target = target_.buffer,
            .target_offset = target_.offset};
  }

 private:
  // Rows [first, last) of those that are wanted for one place of the axes before.
  void gather_rows(const run_memory& memory, std::int64_t before, std::int64_t first,
                   std::int64_t last) const {
    const auto size = static_cast<std::int64_t>(size_);
    const std::int64_t row_bytes = x_.behind_count * size;
    const std::byte* const source =
        memory.bases[x_.view.buffer] +
        (x_.view.offset + offset_of(x_.before, x_.before_strides, before)) * size;
    std::byte* target = memory.bases[target_.buffer] + target_.offset * size +
                        (before * indices_.count() + first) * row_bytes;
    const std::int64_t step = axis_stride_ * size;
    if (x_.behind_count == 1) {
      detail::for_size(size_, [&]<std::size_t Size>(detail::size_constant<Size>) {
        indices_.for_each(memory, first, last, [source, step, &target](std::int64_t index) {
          std::memcpy(target, source + index * step, Size);
          target += Size;
        });
      });
    } else if (x_.behind.size() == 1 && x_.behind_strides[0] == 1) {
      indices_.for_each(memory, first, last, [&](std::int64_t index) {
        copy_rows(1, row_bytes, source + index * step, 0, target, 0);
        target += row_bytes;
      });
    } else {
      indices_.for_each(memory, first, last, [&](std::int64_t index) {
        for_each_run(
            x_.behind, x_.behind_strides, 0, x_.behind_count,
            [&](std::int64_t offset, std::int64_t stride, std::int64_t count, std::int64_t done) {
              strided_load(count, source + index * step + offset * size, stride, size_,
                           target + done * size);
            });
        target += row_bytes;
      });
    }
  }

  const planning::nest* nest_;
  indexed_view x_;
  index_list indices_;
  strided_view target_;
  dtype type_{};
  std::size_t size_ = 0;
  std::int64_t extent_ = 0, axis_stride_ = 0;
};

class scatter_nest {
 public:
  scatter_nest(const planning::plan& plan, const planning::nest& nest)
      : nest_(&nest), type_(plan.buffers[static_cast<std::size_t>(nest.stores.at(0).buffer)].type) {
    if (type_ == dtype::boolean || is_narrow_float(type_))
      raise(dtype_error("executor: scatter_add on " + std::string(name(type_))));
  }

  memory_need bind(const binding& at) {
    const auto axis = static_cast<std::size_t>(nest_->axis);
    indices_.bind(at, nest_->accesses[1]);
    updates_view_ = at.view(nest_->accesses[0]);
    const std::size_t width = nest_->accesses[1].shape.size();
    updates_.bind(updates_view_, axis, width);
    indexed_ = shape_vector(updates_view_.shape.begin() + axis,
                            updates_view_.shape.begin() + axis + width);
    indexed_strides_ = shape_vector(updates_view_.strides.begin() + axis,
                                    updates_view_.strides.begin() + axis + width);
    merge_axes(indexed_, indexed_strides_);
    target_ = at[nest_->stores[0].buffer];
    extent_ = target_.shape[axis];
    columns_per_task_ = planning::columns_of_rows(updates_.before_count, updates_.behind_count);
    return {};
  }

  void check_arguments(const run_memory& memory) const {
    if (indices_.is_argument()) indices_.check(memory, "scatter_add", extent_);
  }

  void run(const run_memory& memory) const {
    if (!indices_.is_argument()) indices_.check(memory, "scatter_add", extent_);
    const std::int64_t width = updates_.behind_count;
    if (updates_.before_count == 0 || width == 0 || extent_ == 0) return;
    dispatch_words(type_, [&]<class T>(std::type_identity<T>) {
      if constexpr (!NarrowFloat<T>)
        parallel_columns(updates_.before_count, width, columns_per_task_,
                         nest_->predicted_nanoseconds,
                         [&](std::int64_t before, std::int64_t column, std::int64_t end, int) {
                           add_columns<T>(memory, before, column, end - column);
                         });
    });
  }

  lowered_scatter lowered() const {
    return {.type = type_,
            .source = updates_view_.buffer,
            .offset = updates_view_.offset,
            .before = updates_.before,
            .before_strides = updates_.before_strides,
            .indexed = indexed_,
            .indexed_strides = indexed_strides_,
            .behind = updates_.behind,
            .behind_strides = updates_.behind_strides,
            .indices = indices_.lowered(extent_),
            .columns_per_task = columns_per_task_,
            .target = target_.buffer,
            .target_offset = target_.offset};
  }

 private:
  template <class T>
  void add_columns(const run_memory& memory, std::int64_t before, std::int64_t column,
                   std::int64_t columns) const {
    const std::int64_t width = updates_.behind_count;
    T* out = reinterpret_cast<T*>(memory.bases[target_.buffer]) + target_.offset +
             before * extent_ * width + column;
    const T* in = reinterpret_cast<const T*>(memory.bases[updates_view_.buffer]) +
                  updates_view_.offset +
                  offset_of(updates_.before, updates_.before_strides, before);
    if (columns == width)
      std::fill_n(out, extent_ * width, T(0));
    else
      for (std::int64_t i = 0; i < extent_; ++i) std::fill_n(out + i * width, columns, T(0));
    std::int64_t j = 0;
    indices_.for_each(memory, 0, indices_.count(), [&](std::int64_t index) {
      T* row = out + index * width;
      const T* update = in + offset_of(indexed_, indexed_strides_, j++);
      for_each_run(updates_.behind, updates_.behind_strides, column, columns,
                   [&](std::int64_t offset, std::int64_t stride, std::int64_t count,
                       std::int64_t done) { add_run(count, update + offset, stride, row + done); });
    });
  }

  template <class T>
  static void add_run(std::int64_t count, const T* from, std::int64_t stride, T* to) {
    if (stride == 1)
      for (std::int64_t i = 0; i < count; ++i) to[i] = sum_of(to[i], from[i]);
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = sum_of(to[i], from[i * stride]);
  }

  const planning::nest* nest_;
  dtype type_;
  indexed_view updates_;
  strided_view updates_view_, target_;
  shape_vector indexed_, indexed_strides_;
  index_list indices_;
  std::int64_t extent_ = 0, columns_per_task_ = 1;
};

}  // namespace sinter::inline SINTER_ABI::exec
