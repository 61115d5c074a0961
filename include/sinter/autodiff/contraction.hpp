// SPDX-License-Identifier: MIT
// Gradient rules of matmul and of indexing.
#pragma once

#include <sinter/autodiff/adjoint.hpp>

namespace sinter::inline SINTER_ABI::ir::backward {

// With C = A' B', where a dash is a transposition or nothing, dA' = D B'^T and dB' = A'^T D. If A
// was read transposed, so is the equation for it: dA = B' D^T. Every case is one matmul whose
// attributes say what is read transposed, so that no permute appears; batches already have equal
// leading extents.
constexpr void matmul(const pullback& p) {
  const value a = p.operand(0), b = p.operand(1), d = p.adjoint;
  const bool ta = p.attribute(0) != 0, tb = p.attribute(1) != 0;
  if (p.wants(0)) p.add(0, ta ? ir::matmul(b, d, tb, true) : ir::matmul(d, b, false, !tb));
  if (p.wants(1)) p.add(1, tb ? ir::matmul(d, a, true, ta) : ir::matmul(a, d, !ta, false));
}

// An element that is gathered n times gets n contributions; scatter_add reads them back in the same
// order.
constexpr void gather(const pullback& p) {
  p.add(0, ir::scatter_add(p.adjoint, p.operand(1), static_cast<int>(p.attribute(0)),
                           p.operand(0).shape()));
}
constexpr void scatter_add(const pullback& p) {
  p.add(0, ir::gather(p.adjoint, p.operand(1), static_cast<int>(p.attribute(0))));
}

}  // namespace sinter::inline SINTER_ABI::ir::backward
