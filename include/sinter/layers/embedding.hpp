// SPDX-License-Identifier: MIT
// embedding: a table of vectors, one per id.
#pragma once

#include <cstdint>

#include <sinter/expr/expr.hpp>
#include <sinter/layers/initialiser.hpp>

namespace sinter::inline SINTER_ABI::layers {

/// Integer ids [...] to [..., width]. An id outside of the table is an index_error of the call.
template <class Kind>
struct embedding {
  parameter<Kind, 2> weight;  // [rows, width]

  /// Normal with a deviation of 0.02.
  static embedding make(std::int64_t rows, std::int64_t width, initialiser& init) {
    embedding out{parameter<Kind, 2>(rows, width)};
    init.normal(out.weight, 0, 0.02);
    return out;
  }

  constexpr auto operator()(const auto& ids) const { return sinter::embedding(weight, ids); }

  /// x [..., width] to scores [..., rows], for a language model that uses one table at both ends.
  constexpr auto scores(const auto& x) const { return matmul(x, transpose(weight)); }
};

}  // namespace sinter::inline SINTER_ABI::layers
