// SPDX-License-Identifier: MIT
//
// Every error sinter throws. One type per kind of mistake, so that a caller can catch what it can
// repair; all derive from `sinter::error`. The message names the operation, the shapes or values
// involved and what was expected. Nothing is written to any operand before one of these is thrown.
#pragma once

#include <stdexcept>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// Base of all errors thrown by sinter.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Extents that do not fit together, or a shape that cannot exist (negative, or too large to
/// count).
struct shape_error : error {
  using error::error;
};

/// An element type that an operation, a file or a conversion does not accept.
struct dtype_error : error {
  using error::error;
};

/// An axis outside of the tensor's rank, a repeated axis, or a list of axes that is no permutation.
struct axis_error : error {
  using error::error;
};

/// An element index outside of the extent it indexes (gather, scatter_add).
struct index_error : error {
  using error::error;
};

/// A file that cannot be opened, read, written or understood.
struct io_error : error {
  using error::error;
};

/// An output whose memory overlaps an input it may not overlap.
struct alias_error : error {
  using error::error;
};

/// A graph that breaks a rule of the intermediate representation.
struct graph_error : error {
  using error::error;
};

}  // namespace sinter::inline SINTER_ABI
