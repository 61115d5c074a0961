// SPDX-License-Identifier: MIT
// From symbolic to concrete: with the extents of the symbols and the strides of the arguments at
// hand, every access of a plan becomes a `strided_view`: a buffer, the place of element 0 in it,
// and one stride per axis of the seen shape.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// How an argument lies in memory: elements (not bytes) between neighbours, per axis. May be 0 or
/// negative.
struct argument_layout {
  shape_vector strides;
  friend bool operator==(const argument_layout&, const argument_layout&) = default;
};

/// Element i of `shape` lies `offset` + sum(i[axis] * strides[axis]) elements behind the start of
/// `buffer`.
struct strided_view {
  int buffer = -1;
  std::int64_t offset = 0;
  shape_vector shape, strides;
  friend bool operator==(const strided_view&, const strided_view&) = default;
};

/// True when the elements lie one behind the other in row-major order (also when there are none).
inline bool is_contiguous(const shape_vector& shape, const shape_vector& strides) {
  std::int64_t expected = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

/// The same elements under another shape without moving them: possible when only axes of extent 1
/// come and go, or when the elements are contiguous. Returns false (and leaves the view alone)
/// otherwise.
inline bool try_reshape(strided_view& view, const shape_vector& shape) {
  shape_vector strides = shape_vector::filled(shape.size(), 0);
  std::size_t from = 0;
  bool only_units = true;
  for (std::size_t to = 0; to < shape.size() && only_units; ++to) {
    if (shape[to] == 1) continue;
    while (from < view.shape.size() && view.shape[from] == 1) ++from;
    only_units = from < view.shape.size() && view.shape[from] == shape[to];
    if (only_units) strides[to] = view.strides[from++];
  }
  while (from < view.shape.size() && view.shape[from] == 1) ++from;
  if (!only_units || from != view.shape.size()) {
    if (!is_contiguous(view.shape, view.strides)) return false;
    strides = row_major_strides(shape);
  }
  view.shape = shape;
  view.strides = strides;
  return true;
}

/// The extents at hand, and what they make of each buffer of a plan.
class binding {
 public:
  explicit binding(const planning::plan& plan) : plan_(&plan), buffers_(plan.buffers.size()) {}

  /// Makes all buffers concrete. An argument without a layout is contiguous. Throws shape_error
  /// when a layout has another rank than its argument.
  void set(std::span<const std::int64_t> symbol_values,
           std::span<const argument_layout> arguments) {
    symbols_ = symbol_values;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const planning::buffer& b = plan_->buffers[i];
      strided_view& view = buffers_[i];
      view = {static_cast<int>(i), 0, evaluate(b.shape), {}};
      view.strides = row_major_strides(view.shape);
      const auto number = static_cast<std::size_t>(b.number);
      if (b.place != planning::place::argument || number >= arguments.size()) continue;
      if (arguments[number].strides.size() != view.shape.size())
        raise(shape_error("executor: argument " + std::to_string(number) + " has " +
                          std::to_string(arguments[number].strides.size()) +
                          " strides, its shape is " + to_string(view.shape)));
      view.strides = arguments[number].strides;
    }
  }

  std::int64_t evaluate(ir::dim d) const { return plan_->dims.evaluate(d, symbols_); }

  shape_vector evaluate(const ir::symbolic_shape& shape) const {
    shape_vector out;
    for (ir::dim d : shape) out.push_back(evaluate(d));
    return out;
  }

  const planning::plan& plan() const { return *plan_; }
  dtype type(int buffer) const { return plan_->buffers[static_cast<std::size_t>(buffer)].type; }
  std::size_t element_size(int buffer) const { return size_of(type(buffer)); }

  /// Where the elements of a buffer are: itself, or what an alias nest made it stand for.
  const strided_view& operator[](int buffer) const {
    return buffers_[static_cast<std::size_t>(buffer)];
  }
  void forward(int buffer, const strided_view& target) {
    buffers_[static_cast<std::size_t>(buffer)] = target;
  }

  /// Goes up from the buffer to the nest: every step turns the strides of its operand into those of
  /// its result.
  strided_view view(const planning::access& access) const {
    strided_view at = (*this)[access.buffer];
    for (std::size_t i = access.steps.size(); i-- > 0;) apply(access.steps[i], at);
    const shape_vector seen = evaluate(access.shape);
    if (at.shape != seen && !try_reshape(at, seen))
      raise(graph_error("executor: an access sees " + to_string(seen) + " where its buffer gives " +
                        to_string(at.shape)));
    return at;
  }

 private:
  void apply(const planning::view_step& step, strided_view& at) const {
    const shape_vector result = evaluate(step.result);
    if (const shape_vector operand = evaluate(step.operand); operand != at.shape)
      require(try_reshape(at, operand), step, at);
    const std::size_t rank = result.size();
    switch (step.code) {
      case ir::op::permute: {
        require(at.shape.size() == rank && step.attributes.size() == rank, step, at);
        const shape_vector strides = at.strides;
        for (std::size_t axis = 0; axis < rank; ++axis)
          at.strides[axis] = strides[step.attributes[axis]];
        break;
      }
      case ir::op::broadcast_to: {
        require(at.shape.size() <= rank, step, at);
        const std::size_t missing = rank - at.shape.size();
        shape_vector strides = shape_vector::filled(rank, 0);
        for (std::size_t axis = missing; axis < rank; ++axis)
          if (at.shape[axis - missing] != 1) strides[axis] = at.strides[axis - missing];
        at.strides = strides;
        break;
      }
      case ir::op::slice:
        require(at.shape.size() == rank && step.attributes.size() == rank &&
                    step.dims.size() == 2 * rank,
                step, at);
        for (std::size_t axis = 0; axis < rank; ++axis) {
          at.offset += evaluate(step.dims[2 * axis]) * at.strides[axis];
          at.strides[axis] *= step.attributes[axis];
        }
        break;
      case ir::op::flip:
        require(at.shape.size() == rank, step, at);
        for (std::size_t axis = 0; axis < rank; ++axis) {
          if ((step.attributes[0] >> axis & 1) == 0 || at.shape[axis] == 0) continue;
          at.offset += (at.shape[axis] - 1) * at.strides[axis];
          at.strides[axis] = -at.strides[axis];
        }
        break;
      case ir::op::windows: {
        require(at.shape.size() + 1 == rank && step.attributes.size() == 3, step, at);
        const auto axis = static_cast<std::size_t>(step.attributes[0]);
        const std::int64_t apart = at.strides[axis];
        at.strides[axis] = apart * step.attributes[2];
        at.strides.insert(at.strides.begin() + axis + 1, apart * step.attributes[1]);
        break;
      }
      case ir::op::recompute: break;
      case ir::op::reshape: require(try_reshape(at, result), step, at); break;
      default: require(false, step, at);
    }
    at.shape = result;
  }

  void require(bool holds, const planning::view_step& step, const strided_view& at) const {
    if (!holds)
      raise(graph_error("executor: " + std::string(ir::name(step.code)) + " to " +
                        to_string(evaluate(step.result)) + " is no view of " +
                        to_string(at.shape)));
  }

  const planning::plan* plan_;
  std::span<const std::int64_t> symbols_;
  std::vector<strided_view> buffers_;
};

}  // namespace sinter::inline SINTER_ABI::exec
