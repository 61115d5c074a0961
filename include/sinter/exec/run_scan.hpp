// SPDX-License-Identifier: MIT
// Running sums along an axis. Lines are independent of each other: threads take some, or some
// columns of all rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/indexed_view.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/exec/scan.hpp>
#include <sinter/exec/strided_runs.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::exec {

class scan_nest {
 public:
  explicit scan_nest(const planning::nest& nest) : nest_(&nest) {}

  memory_need bind(const binding& at) {
    const auto axis = static_cast<std::size_t>(nest_->axis);
    const strided_view x = at.view(nest_->accesses[0]);
    type_ = at.type(nest_->stores[0].buffer);
    x_.bind(x, axis, 1);
    count_ = x.shape[axis];
    axis_stride_ = x.strides[axis];
    target_ = at[nest_->stores[0].buffer];
    columns_per_task_ = planning::columns_of_rows(x_.before_count, x_.behind_count);
    return {};
  }

  void run(const run_memory& memory) const {
    const std::int64_t width = x_.behind_count;
    if (x_.before_count == 0 || count_ == 0 || width == 0) return;
    dispatch_words(type_, [&]<class T>(std::type_identity<T>) {
      if constexpr (NarrowFloat<T>)
        return;
      else if (width == 1)
        parallel_ranges(x_.before_count, nest_->predicted_nanoseconds,
                        [&](std::int64_t first, std::int64_t last, int) {
                          if (nest_->reverse)
                            scan_lines<T, true>(memory, first, last);
                          else
                            scan_lines<T, false>(memory, first, last);
                        });
      else
        parallel_columns(x_.before_count, width, columns_per_task_, nest_->predicted_nanoseconds,
                         [&](std::int64_t before, std::int64_t column, std::int64_t end, int) {
                           scan_columns<T>(memory, before, column, end - column);
                         });
    });
  }

  lowered_scan lowered() const {
    return {.type = type_,
            .source = x_.view.buffer,
            .offset = x_.view.offset,
            .count = count_,
            .axis_stride = axis_stride_,
            .before = x_.before,
            .before_strides = x_.before_strides,
            .behind = x_.behind,
            .behind_strides = x_.behind_strides,
            .exclusive = nest_->exclusive,
            .reverse = nest_->reverse,
            .block = scanned_block,
            .lanes = x_.behind_count == 1 ? scanned_lanes(type_) : 1,
            .columns_per_task = columns_per_task_,
            .target = target_.buffer,
            .target_offset = target_.offset};
  }

 private:
  template <class T>
  const T* source(const run_memory& memory) const {
    return reinterpret_cast<const T*>(memory.bases[x_.view.buffer]) + x_.view.offset;
  }
  template <class T>
  T* target(const run_memory& memory) const {
    return reinterpret_cast<T*>(memory.bases[target_.buffer]) + target_.offset;
  }

  // What is summed along the axis, and where the sums go. Without the element itself a sum is that
  // of the place before: all but the last element are summed, one place on.
  template <class T>
  struct walk {
    const T* from;
    T* to;
    std::int64_t count;
  };
  template <class T>
  walk<T> begin(const T* from, T* to, std::int64_t columns) const {
    if (!nest_->exclusive) return {from, to, count_};
    const std::int64_t width = x_.behind_count;
    std::fill_n(nest_->reverse ? to + (count_ - 1) * width : to, columns, T(0));
    if (nest_->reverse) return {from + axis_stride_, to, count_ - 1};
    return {from, to + width, count_ - 1};
  }

  template <class T, bool Reverse>
  void scan_lines(const run_memory& memory, std::int64_t first, std::int64_t last) const {
    const T* const from = source<T>(memory);
    T* to = target<T>(memory) + first * count_;
    const bool are_plain = axis_stride_ == 1 && !nest_->exclusive;
    for_each_run(x_.before, x_.before_strides, first, last - first,
                 [&](std::int64_t offset, std::int64_t step, std::int64_t length, std::int64_t) {
                   if (are_plain && scan_short_lines<T, Reverse>(length, count_, from + offset,
                                                                 step, to, count_)) {
                     to += length * count_;
                     return;
                   }
                   for (std::int64_t i = 0; i < length; ++i, to += count_) {
                     const walk<T> line = begin<T>(from + offset + i * step, to, 1);
                     scan_line<T, Reverse>(line.count, line.from, axis_stride_, line.to);
                   }
                 });
  }

  template <class T>
  void scan_columns(const run_memory& memory, std::int64_t before, std::int64_t column,
                    std::int64_t columns) const {
    const std::int64_t width = x_.behind_count;
    const T* const from = source<T>(memory) + offset_of(x_.before, x_.before_strides, before);
    T* const to = target<T>(memory) + before * count_ * width + column;
    for_each_run(
        x_.behind, x_.behind_strides, column, columns,
        [&](std::int64_t offset, std::int64_t step, std::int64_t length, std::int64_t done) {
          const walk<T> rows = begin<T>(from + offset, to + done, length);
          const std::int64_t first = nest_->reverse ? rows.count - 1 : 0,
                             sign = nest_->reverse ? -1 : 1;
          exec::scan_columns<T>(rows.count, length, rows.from + first * axis_stride_,
                                sign * axis_stride_, step, rows.to + first * width, sign * width);
        });
  }

  const planning::nest* nest_;
  indexed_view x_;
  strided_view target_;
  dtype type_{};
  std::int64_t count_ = 0, axis_stride_ = 0, columns_per_task_ = 1;
};

}  // namespace sinter::inline SINTER_ABI::exec
