// SPDX-License-Identifier: MIT
// What can be wrong with the operands of an op. While a function is traced by the compiler, the
// graph records the first fault and one static_assert reports it; at run time the fault is thrown
// at once, as an error that names op and shapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sinter/graph/op.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::ir {

enum class fault_kind : std::uint8_t {
  none,
  extents_disagree,   // lhs and rhs: the two extents
  wrong_rank,         // lhs: the rank given, rhs: the rank expected
  mixed_dtypes,       // lhs, rhs: the dtypes
  wrong_dtype,        // lhs: the dtype
  axis_out_of_range,  // lhs: the axis, rhs: the rank
  not_a_permutation,  // lhs: the rank
  size_changes,       // lhs, rhs: number of elements before and after
  bad_slice,          // lhs: the extent, rhs: the bound that is outside of it
  not_an_argument,  // assign or gradients of something that cannot be assigned or differentiated by
  assigned_twice,   // lhs: the argument's number
  rank_too_high,    // lhs: the rank, rhs: the limit
  repeated_axis,    // lhs: the axis, rhs: the rank
  odd_extent,       // lhs: the extent
  bad_window,       // lhs: the extent, rhs: what a window spans, 0 if it is empty
  too_much_padding,  // lhs: the padding, rhs: the window
  not_divisible,     // lhs: the extent, rhs: the number of groups
  bad_option,        // lhs: the value, rhs: the least that is allowed
  not_whole,         // lhs: the extent, rhs: what it should be a multiple of
  no_gradient,       // a custom op has no gradient
  no_tangent,        // or no tangent
  not_an_extent,     // a number of a shape that is neither an integer nor computed from extents
};

struct fault {
  fault_kind kind = fault_kind::none;
  op code{};
  std::int64_t lhs = 0;
  std::int64_t rhs = 0;
  std::string_view custom{};  // the name of a custom op
};

inline std::string expectation(const fault& f) {
  const std::string l = std::to_string(f.lhs), r = std::to_string(f.rhs);
  switch (f.kind) {
    case fault_kind::none: return "";
    case fault_kind::extents_disagree:
      // Below 0: a symbol's, and they disagree for each of its values.
      return f.lhs < 0 || f.rhs < 0 ? "extents cannot agree"
                                    : "extents " + l + " and " + r + " disagree";
    case fault_kind::wrong_rank: return "rank " + l + " where rank " + r + " is expected";
    case fault_kind::mixed_dtypes:
      return "dtypes " + std::string(sinter::name(static_cast<dtype>(f.lhs))) + " and " +
             std::string(sinter::name(static_cast<dtype>(f.rhs))) + " differ; cast one of them";
    case fault_kind::wrong_dtype:
      return "not defined for dtype " + std::string(sinter::name(static_cast<dtype>(f.lhs)));
    case fault_kind::axis_out_of_range: return "axis " + l + " is out of range for rank " + r;
    case fault_kind::not_a_permutation:
      return "the axes are not a permutation of 0.." + std::to_string(f.lhs - 1);
    case fault_kind::size_changes: return l + " elements cannot become " + r;
    case fault_kind::bad_slice:
      return "bound " + r + " is outside of " + (f.lhs < 0 ? "the extent" : "extent " + l);
    case fault_kind::not_an_argument:
      return "the operand must be a tensor argument of the function";
    case fault_kind::assigned_twice: return "argument " + l + " is assigned twice";
    case fault_kind::repeated_axis: return "axis " + l + " of rank " + r + " is named twice";
    case fault_kind::bad_window:
      return f.rhs == 0 ? "a window is empty"
                        : "a window that spans " + r + " does not fit into extent " + l;
    case fault_kind::too_much_padding:
      return "padding of " + l + " is more than half of a window of " + r;
    case fault_kind::not_divisible:
      return "extent " + l + " cannot be divided into " + r + " groups";
    case fault_kind::bad_option:
      return "a stride, dilation, padding or number is " + l + "; expected at least " + r;
    case fault_kind::odd_extent: return "extent " + l + " is odd";
    case fault_kind::not_whole: return "extent " + l + " is no multiple of " + r;
    case fault_kind::no_gradient:
      return "the op has no gradient; stop_gradient(...) around it says that none is meant";
    case fault_kind::no_tangent: return "the op has no tangent, which forward mode needs";
    case fault_kind::not_an_extent:
      return "an extent must be an integer, or computed from extent(x, axis)";
    case fault_kind::rank_too_high: return "rank " + l + " exceeds the limit of " + r;
  }
  return "";
}

// Throws the error type that belongs to the fault; `operands` is the text of the operand shapes,
// `ranges` that of the symbols in them.
[[noreturn]] inline void throw_fault(const fault& f, const std::string& operands,
                                     const std::string& ranges = {}) {
  const std::string message = std::string(f.custom.empty() ? name(f.code) : f.custom) + "(" +
                              operands + "): " + expectation(f) +
                              (ranges.empty() ? "" : " (" + ranges + ")");
  switch (f.kind) {
    case fault_kind::mixed_dtypes:
    case fault_kind::wrong_dtype: raise(dtype_error(message));
    case fault_kind::axis_out_of_range:
    case fault_kind::not_a_permutation:
    case fault_kind::repeated_axis: raise(axis_error(message));
    case fault_kind::not_an_argument:
    case fault_kind::no_gradient:
    case fault_kind::no_tangent:
    case fault_kind::assigned_twice: raise(graph_error(message));
    default: raise(shape_error(message));
  }
}

}  // namespace sinter::inline SINTER_ABI::ir
