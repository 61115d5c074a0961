// SPDX-License-Identifier: MIT
//
// Every error sinter throws. One type per kind of mistake, so that a caller can catch what it can
// repair; all derive from `sinter::error`. The message names the operation, the shapes or values
// involved and what was expected. Nothing is written to any operand before one of these is thrown.
// Where exceptions are switched off (-fno-exceptions) an error ends the program instead: a handler
// that the program may set sees the message first.
#pragma once

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

#ifdef __cpp_exceptions
inline constexpr bool has_exceptions = true;
#else
inline constexpr bool has_exceptions = false;
#endif

/// What is called with the message of an error where exceptions are switched off. It should not
/// return: if it does, the program is aborted.
using error_handler = void (*)(const char* message);

namespace detail {

inline void print_error(const char* message) { std::fprintf(stderr, "sinter: %s\n", message); }

inline error_handler& current_error_handler() {
  static error_handler handler = print_error;
  return handler;
}

}  // namespace detail

/// Sets the handler of errors for programs without exceptions and returns the one before; the
/// first prints the message to the standard error stream. With exceptions none is called. To be
/// called before other threads use sinter.
inline error_handler set_error_handler(error_handler handler) {
  return std::exchange(detail::current_error_handler(), handler);
}

/// The one place where sinter throws: `e`, or without exceptions hands its message to the handler
/// and aborts.
template <std::derived_from<std::exception> Error>
[[noreturn]] void raise(Error e) {
#ifdef __cpp_exceptions
  throw e;
#else
  detail::current_error_handler()(e.what());
  std::abort();
#endif
}

/// Returns body(), or on_error(e) where that throws an Error. Without exceptions what fails in body
/// ends the program.
template <class Error, class Body, class OnError>
decltype(auto) attempt(Body&& body, [[maybe_unused]] OnError&& on_error) {
#ifdef __cpp_exceptions
  try {
    return body();
  } catch (const Error& e) {
    return on_error(e);
  }
#else
  return body();
#endif
}

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
