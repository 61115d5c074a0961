// SPDX-License-Identifier: MIT
// Checks nests of custom ops of a lowered plan: operands as arrays, copied where they lie apart,
// and an op that takes them.
#pragma once

#include <cstddef>
#include <string>

#include <sinter/exec/lowered.hpp>
#include <sinter/exec/nest_checks.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// A view as an array under its own axes, or with the first `leading` (from 0 on) as one.
inline void check_array(nest_checks& checks, const lowered_array& a, int leading,
                        const std::string& what) {
  const auto need = [&](bool holds, const char* reason) {
    if (!holds) checks.fail(what + ": " + reason);
  };
  const strided_view& v = a.view;
  need(v.shape.size() == v.strides.size(), "strides: not one per axis");
  checks.check_reach(
      v.buffer, a.type,
      reach_of(v.offset, {v.shape.begin(), v.shape.size()}, {v.strides.begin(), v.strides.size()}),
      what.c_str());
  shape_vector expected = v.shape;
  if (leading >= 0) {
    need(v.shape.size() >= static_cast<std::size_t>(leading), "shape: too few axes");
    const auto* const split = v.shape.begin() + leading;
    expected = {element_count(shape_vector(v.shape.begin(), split))};
    for (const auto* each = split; each != v.shape.end(); ++each) expected.push_back(*each);
  }
  need(a.shape == expected, "shape: not that of the view");
  const bool apart = v.strides != row_major_strides(v.shape) && element_count(v.shape) != 0;
  need(a.copied == apart, "copied: not as its elements lie");
  need(a.copied ? a.copy_offset % 64 == 0 : a.copy_offset == 0,
       "copy: its offset is not a whole line");
}

inline void check(nest_checks& checks, const lowered_custom& n) {
  checks.require(n.op != nullptr && !n.op->elementwise, "op: none that works on arrays");
  checks.require(n.operands.size() == static_cast<std::size_t>(n.op->arity),
                 "operands: more or fewer than it takes");
  checks.require(n.attributes.size() == n.op->attributes.size(),
                 "attributes: more or fewer than it takes");
  const int core = n.op->core_axes;
  checks.require(core < 0 ? n.rows_per_task == 0 : n.rows_per_task >= 1,
                 "tasks: rows that the op does not have, or none");
  checks.require(
      n.kernel == (n.op->kernel == nullptr ? nullptr : n.op->kernel(n.operands.front().type)),
      "kernel: not that of the op and the dtype");
  checks.require(reference_function(*n.op, n.operands.front().type) != nullptr, "kernel: none");
  // What the op leaves alone in operand 0; of others, and of the result, the rest may be of
  // another rank.
  const int leading = core < 0 ? -1 : static_cast<int>(n.operands.front().view.shape.size()) - core;
  checks.require(core < 0 || leading >= 0, "operand 0: shape: too few axes");
  check_array(checks, n.result, leading, "result");
  checks.require(!n.result.copied, "result: not contiguous");
  checks.require(element_count(n.result.shape) ==
                     element_count(checks.buffer(n.result.view.buffer, "result").shape),
                 "result: does not cover its buffer");
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    const lowered_array& own = n.operands[i];
    const std::string what = "operand " + std::to_string(i);
    check_array(checks, own, leading, what);
    checks.touched().read.push_back(own.view.buffer);
    if (core >= 0 && own.shape[0] != n.result.shape[0])
      checks.fail(what + ": other rows than the result");
    for (std::size_t k = 0; own.copied && k < i; ++k) {
      const auto end = [](const lowered_array& a) {
        return a.copy_offset + static_cast<std::size_t>(element_count(a.shape)) * size_of(a.type);
      };
      const lowered_array& other = n.operands[k];
      if (other.copied && own.copy_offset < end(other) && other.copy_offset < end(own))
        checks.fail(what + ": copied over operand " + std::to_string(k));
    }
  }
  checks.touched().written.push_back(n.result.view.buffer);
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
