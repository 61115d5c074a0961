// SPDX-License-Identifier: MIT
// Where an element is that a nest reads: from an index of the shape that the nest sees down to one
// of the buffer, view by view. The executor composes strides instead (exec/bound_access.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::planning {

/// The extents of a symbolic shape. Throws shape_error where one is negative.
inline shape_vector evaluate_shape(const ir::dim_table& dims, std::span<const ir::dim> shape,
                                   std::span<const std::int64_t> symbols) {
  shape_vector out;
  for (ir::dim d : shape) {
    out.push_back(dims.evaluate(d, symbols));
    if (out.back() < 0) raise(shape_error("extent " + dims.to_string(d) + " is negative"));
  }
  return out;
}

class access_index {
 public:
  access_index(const plan& p, const access& a, std::span<const std::int64_t> symbols)
      : seen_(evaluate_shape(p.dims, a.shape, symbols)),
        buffer_(
            evaluate_shape(p.dims, p.buffers[static_cast<std::size_t>(a.buffer)].shape, symbols)) {
    for (const view_step& s : a.steps) {
      std::vector<std::int64_t> dims;
      for (ir::dim d : s.dims) dims.push_back(p.dims.evaluate(d, symbols));
      steps_.push_back({&s, dims, evaluate_shape(p.dims, s.result, symbols),
                        evaluate_shape(p.dims, s.operand, symbols)});
    }
  }

  const shape_vector& seen() const { return seen_; }

  /// The index in the buffer of the element that the nest sees at `index`.
  shape_vector operator()(shape_vector index) const {
    const shape_vector* shape = &seen_;
    for (const bound_step& s : steps_) {
      index = operand_index(s, reshaped(index, *shape, s.result));
      shape = &s.operand;
    }
    return reshaped(index, *shape, buffer_);
  }

  /// The reason why an index of a view may not be one of what it views; empty if there is none.
  std::string fault() const {
    const shape_vector* shape = &seen_;
    for (const bound_step& s : steps_) {
      if (element_count(*shape) != element_count(s.result)) return "a view of another size";
      if (std::string out = step_fault(s); !out.empty()) return out;
      shape = &s.operand;
    }
    if (element_count(*shape) != element_count(buffer_)) return "a buffer of another size";
    return "";
  }

  /// Elements of the buffer that are read: no more than any of the views has.
  std::int64_t distinct() const {
    std::int64_t out = std::min(element_count(seen_), element_count(buffer_));
    for (const bound_step& s : steps_) out = std::min(out, element_count(s.operand));
    return out;
  }

 private:
  struct bound_step {
    const view_step* step;
    std::vector<std::int64_t> dims;
    shape_vector result, operand;
  };

  static shape_vector reshaped(const shape_vector& index, const shape_vector& from,
                               const shape_vector& to) {
    if (from == to) return index;
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < from.size(); ++axis)
      position = position * from[axis] + index[axis];
    shape_vector out = shape_vector::filled(to.size(), 0);
    for (std::size_t axis = to.size(); axis-- > 0;) {
      out[axis] = position % to[axis];
      position /= to[axis];
    }
    return out;
  }

  static shape_vector operand_index(const bound_step& s, const shape_vector& at) {
    const auto& attributes = s.step->attributes;
    shape_vector out = shape_vector::filled(s.operand.size(), 0);
    switch (s.step->code) {
      case ir::op::permute:
        for (std::size_t axis = 0; axis < at.size(); ++axis) out[attributes[axis]] = at[axis];
        break;
      case ir::op::broadcast_to:
        for (std::size_t axis = 0; axis < out.size(); ++axis)
          out[axis] = s.operand[axis] == 1 ? 0 : at[axis + at.size() - out.size()];
        break;
      case ir::op::slice:
        for (std::size_t axis = 0; axis < at.size(); ++axis)
          out[axis] = s.dims[2 * axis] + at[axis] * attributes[axis];
        break;
      case ir::op::flip:
        for (std::size_t axis = 0; axis < at.size(); ++axis)
          out[axis] = (attributes[0] >> axis & 1) != 0 ? s.operand[axis] - 1 - at[axis] : at[axis];
        break;
      case ir::op::windows: {
        const auto axis = static_cast<std::size_t>(attributes[0]);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = at[i <= axis ? i : i + 1];
        out[axis] = at[axis] * attributes[2] + at[axis + 1] * attributes[1];
        break;
      }
      default: return reshaped(at, s.result, s.operand);
    }
    return out;
  }

  // first + count * step, of numbers that may come from text.
  static std::int64_t reach(std::int64_t first, std::int64_t count, std::int64_t step) {
    return ir::detail::saturating_add(first, ir::detail::saturating_mul(count, step));
  }

  // Of ops whose extents are those of the result.
  static bool stated(const bound_step& s) { return std::ranges::equal(s.dims, s.result); }

  static std::string step_fault(const bound_step& s) {
    const auto& attributes = s.step->attributes;
    const std::size_t rank = s.result.size(), below = s.operand.size();
    const bool empty = element_count(s.result) == 0;
    switch (s.step->code) {
      case ir::op::permute: {
        if (attributes.size() != rank || below != rank) return "permute of another rank";
        std::vector<bool> taken(rank, false);
        for (std::size_t axis = 0; axis < rank; ++axis) {
          const std::int64_t from = attributes[axis];
          if (from < 0 || static_cast<std::size_t>(from) >= rank ||
              taken[static_cast<std::size_t>(from)])
            return "permute that is no permutation";
          taken[static_cast<std::size_t>(from)] = true;
          if (s.operand[from] != s.result[axis]) return "permute to other extents";
        }
        return "";
      }
      case ir::op::broadcast_to:
        if (below > rank) return "broadcast_to fewer axes";
        for (std::size_t axis = 0; axis < below; ++axis)
          if (s.operand[axis] != 1 && s.operand[axis] != s.result[axis + rank - below])
            return "broadcast_to of an extent that is not 1";
        return stated(s) ? "" : "broadcast_to of other extents than the result's";
      case ir::op::slice:
        if (below != rank || attributes.size() != rank || s.dims.size() != 2 * rank)
          return "slice of another rank";
        for (std::size_t axis = 0; axis < rank; ++axis)
          if (!empty &&
              (s.dims[2 * axis] < 0 || attributes[axis] < 1 ||
               reach(s.dims[2 * axis], s.result[axis] - 1, attributes[axis]) >= s.operand[axis]))
            return "slice out of bounds";
        return "";
      case ir::op::recompute: return s.result == s.operand ? "" : "recompute to another shape";
      case ir::op::flip:
        return attributes.size() == 1 && s.result == s.operand ? "" : "flip to another shape";
      case ir::op::windows: {
        if (below + 1 != rank || attributes.size() != 3 || attributes[0] < 0 ||
            static_cast<std::size_t>(attributes[0]) >= below)
          return "windows of another rank";
        const auto axis = static_cast<std::size_t>(attributes[0]);
        for (std::size_t i = 0; i < below; ++i)
          if (i != axis && s.operand[i] != s.result[i <= axis ? i : i + 1])
            return "windows of other extents";
        if (attributes[1] < 1 || attributes[2] < 1 ||
            (!empty && reach(reach(0, s.result[axis] - 1, attributes[2]), s.result[axis + 1] - 1,
                             attributes[1]) >= s.operand[axis]))
          return "windows out of bounds";
        return "";
      }
      case ir::op::reshape:
        if (element_count(s.result) != element_count(s.operand)) return "reshape to another size";
        return stated(s) ? "" : "reshape to other extents than the result's";
      default: return "an op that is no view";
    }
  }

  shape_vector seen_, buffer_;
  std::vector<bound_step> steps_;
};

}  // namespace sinter::inline SINTER_ABI::planning
