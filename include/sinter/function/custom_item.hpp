// SPDX-License-Identifier: MIT
// Items of custom ops that are nests of their own: tasks of rows for the user's kernel, and the
// operands that are copied for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sinter/exec/run_memory.hpp>
#include <sinter/function/item_draft.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI::detail {

class custom_item : private item_draft {
 public:
  using item_draft::item_draft;

  planning::schedule_item run() {
    const planning::nest& n = nest_;
    planning::iteration it{planning::work_kind::custom, 0, {}, {}};
    add_axes(it, n.space, "i");
    const std::size_t rank = it.axes.size(), leading = planning::custom_leading_axes(n);
    for (std::size_t i = leading; i < rank; ++i) it.axes[i].role = role::whole;
    const extents space = at_.evaluate(n.space);
    std::int64_t core = row_elements(space, leading), widest = core;
    for (const planning::access& a : n.accesses)
      widest = std::max(widest, row_elements(at_.evaluate(a.shape), leading));
    const std::int64_t rows = planning::custom_rows(widest);
    it.loops = {make_loop(range(0, leading), rows, rows),
                make_loop(range(leading, rank), core, core)};
    give_to_threads(it, n.predicted_nanoseconds);
    item_.iterations.push_back(std::move(it));
    for (const planning::access& a : n.accesses) add_copy(a);
    return take();
  }

 private:
  static std::int64_t row_elements(const extents& shape, std::size_t leading) {
    std::int64_t out = 1;
    for (std::size_t axis = leading; axis < shape.size(); ++axis) out *= shape[axis];
    return out;
  }

  // Kernels read row-major memory: other views are copied first.
  void add_copy(const planning::access& a) {
    const exec::strided_view view = at_.view(a);
    const std::int64_t elements = element_count(view.shape);
    if (elements == 0 || view.strides == row_major_strides(view.shape)) return;
    exec::memory_need need;
    need.shared =
        round_to_lines(static_cast<std::size_t>(elements) * size_of(buffer_at(a.buffer).type));
    note_copy(a, 0, need);
  }
};

}  // namespace sinter::inline SINTER_ABI::detail
