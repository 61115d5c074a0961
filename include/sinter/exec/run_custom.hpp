// SPDX-License-Identifier: MIT
// A custom op that is a nest of its own: its kernel gets contiguous arrays, divided over the axes
// that it leaves alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/copy.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/strided_runs.hpp>
#include <sinter/graph/interpret_custom.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::exec {

class custom_nest {
 public:
  explicit custom_nest(const planning::nest& nest) : nest_(&nest) {}

  memory_need bind(const binding& at) {
    memory_need need;
    operands_.clear();
    for (const planning::access& a : nest_->accesses) {
      operand o{at.view(a), at.type(a.buffer), {}, 0, false};
      o.shape = o.view.shape;
      o.copied = o.view.strides != row_major_strides(o.shape) && element_count(o.shape) != 0;
      if (o.copied) {
        o.scratch = need.shared;
        need.shared +=
            round_to_lines(static_cast<std::size_t>(element_count(o.shape)) * size_of(o.type));
      }
      operands_.push_back(o);
    }
    const int buffer = nest_->stores[0].buffer;
    target_ = at[buffer];
    result_ = {target_, at.type(buffer), target_.shape, 0, false};
    const ir::custom_op& custom = *nest_->custom;
    kernel_ = custom.kernel == nullptr ? nullptr : custom.kernel(operands_[0].type);
    rows_ = 1;
    rows_per_task_ = 0;
    if (custom.core_axes < 0) return need;
    const auto core = static_cast<std::size_t>(custom.core_axes);
    const std::size_t leading = operands_[0].shape.size() - core;
    for (std::size_t axis = 0; axis < leading; ++axis) rows_ *= operands_[0].shape[axis];
    for (operand& o : operands_) merge_leading(o.shape, leading);
    merge_leading(result_.shape, leading);
    std::int64_t widest = row_elements(result_);
    for (const operand& o : operands_) widest = std::max(widest, row_elements(o));
    rows_per_task_ = planning::custom_rows(widest);
    return need;
  }

  void run(const run_memory& memory) const {
    inline_vector<const std::byte*, ir::max_custom_operands> from;
    for (const operand& o : operands_) from.push_back(contiguous(o, memory));
    std::byte* const to = memory.bases[target_.buffer] +
                          target_.offset * static_cast<std::int64_t>(size_of(result_.type));
    if (rows_per_task_ == 0) return run_part(from, to, 0, -1);
    if (rows_ == 0) return;
    parallel_for(planning::pieces_of(rows_, rows_per_task_), nest_->predicted_nanoseconds,
                 [&](std::int64_t task, int) {
                   const std::int64_t first = task * rows_per_task_;
                   run_part(from, to, first, std::min(rows_per_task_, rows_ - first));
                 });
  }

  lowered_custom lowered() const {
    const auto array = [](const operand& o) {
      return lowered_array{o.view, o.type, o.shape, o.copied, o.scratch};
    };
    lowered_custom out{nest_->custom,  kernel_, nest_->custom_attributes,
                       rows_per_task_, {},      array(result_)};
    for (const operand& o : operands_) out.operands.push_back(array(o));
    return out;
  }

 private:
  struct operand {
    strided_view view;
    dtype type{};
    shape_vector shape;       // leading axes merged into one where the op leaves them alone
    std::size_t scratch = 0;  // where its copy is
    bool copied = false;
  };

  static void merge_leading(shape_vector& shape, std::size_t leading) {
    std::int64_t rows = 1;
    for (std::size_t axis = 0; axis < leading; ++axis) rows *= shape[axis];
    shape_vector merged{rows};
    for (std::size_t axis = leading; axis < shape.size(); ++axis) merged.push_back(shape[axis]);
    shape = merged;
  }

  static std::int64_t row_elements(const operand& o) {
    std::int64_t total = 1;
    for (std::size_t axis = 1; axis < o.shape.size(); ++axis) total *= o.shape[axis];
    return total;
  }

  // Views that a caller passes may be strided.
  const std::byte* contiguous(const operand& o, const run_memory& memory) const {
    const auto size = static_cast<std::int64_t>(size_of(o.type));
    const std::byte* const source = memory.bases[o.view.buffer] + o.view.offset * size;
    if (!o.copied) return source;
    std::byte* const copy = memory.shared + o.scratch;
    for_each_run(
        o.view.shape, o.view.strides, 0, element_count(o.view.shape),
        [&](std::int64_t offset, std::int64_t stride, std::int64_t count, std::int64_t done) {
          strided_load(count, source + offset * size, stride, size_of(o.type), copy + done * size);
        });
    return copy;
  }

  // Rows [first, first + count) of all arrays; whole arrays if count is below 0.
  template <class Pointers>
  void run_part(const Pointers& from, std::byte* to, std::int64_t first, std::int64_t count) const {
    inline_vector<shape_vector, ir::max_custom_operands + 1> shapes;
    for (const operand& o : operands_) shapes.push_back(o.shape);
    shapes.push_back(result_.shape);
    const auto start_of = [&](const operand& o) {
      return count < 0 ? 0 : first * row_elements(o) * static_cast<std::int64_t>(size_of(o.type));
    };
    inline_vector<ir::custom_input, ir::max_custom_operands> in;
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      if (count >= 0) shapes[k][0] = count;
      if (k < operands_.size())
        in.push_back({from[k] + start_of(operands_[k]),
                      operands_[k].type,
                      {shapes[k].begin(), shapes[k].size()}});
    }
    const ir::custom_output out{
        to + start_of(result_), result_.type, {shapes.back().begin(), shapes.back().size()}};
    if (kernel_ != nullptr)
      kernel_({in.begin(), in.size()}, out, nest_->custom_attributes);
    else
      interpret({in.begin(), in.size()}, out);
  }

  // In double, by what the op says it is. By pointers: a std::span of every dtype takes GCC 12 a
  // third of a second.
  void interpret(std::span<const ir::custom_input> in, const ir::custom_output& out) const {
    std::vector<ir::reference_tensor> operands;
    for (const ir::custom_input& x : in) {
      operands.push_back(ir::filled(x.type, {x.shape.begin(), x.shape.end()}, 0));
      dispatch(x.type, [&]<class T>(std::type_identity<T>) {
        const T* const from = static_cast<const T*>(x.data);
        for (std::size_t i = 0; i < operands.back().data.size(); ++i)
          operands.back().data[i] = static_cast<double>(from[i]);
      });
    }
    std::vector<const ir::reference_tensor*> pointers;
    for (const ir::reference_tensor& x : operands) pointers.push_back(&x);
    ir::reference_tensor result = ir::filled(out.type, {out.shape.begin(), out.shape.end()}, 0);
    ir::interpret_custom(*nest_->custom, pointers, result, nest_->custom_attributes);
    dispatch(out.type, [&]<class T>(std::type_identity<T>) {
      T* const to = static_cast<T*>(out.data);
      for (std::size_t i = 0; i < result.data.size(); ++i) to[i] = static_cast<T>(result.data[i]);
    });
  }

  const planning::nest* nest_;
  std::vector<operand> operands_;
  operand result_;
  strided_view target_;
  ir::custom_function kernel_ = nullptr;       // null: interpreted
  std::int64_t rows_ = 1, rows_per_task_ = 0;  // 0: the op gets whole arrays
};

}  // namespace sinter::inline SINTER_ABI::exec
