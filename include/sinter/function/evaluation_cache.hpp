// SPDX-License-Identifier: MIT
// The plans of expressions that are evaluated directly: a bounded list per expression type, in a
// static of the function that evaluates it, and what can be asked of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <sinter/function/cache_statistics.hpp>
#include <sinter/function/program.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

struct expression_programs;

// The list of one expression type, known to the registry, which lives longer.
class registered_programs {
 public:
  registered_programs();
  registered_programs(const registered_programs&) = delete;
  registered_programs& operator=(const registered_programs&) = delete;
  ~registered_programs();

  // The program of this key, or the one that `make` makes, while others wait.
  template <class Make>
  std::shared_ptr<program> find_or_make(std::vector<std::int64_t> key, const Make& make) {
    return find_or_make(std::move(key), &make, [](const void* function) {
      return (*static_cast<const Make*>(function))();
    });
  }

 private:
  using maker = std::shared_ptr<program> (*)(const void* function);

  std::shared_ptr<program> find_or_make(std::vector<std::int64_t> key, const void* function,
                                        maker make);

  std::unique_ptr<expression_programs> programs_;
};

}  // namespace detail

/// What `tensor y = relu(x + b);` keeps, in all of the process. All functions may be called from
/// several threads, also while expressions are evaluated.
struct evaluation_cache {
  /// Forgets all plans and their memory; what is being evaluated ends first with what it has.
  /// Counts stay.
  static void clear();

  /// Keeps at most so many programs per expression type from now on; 32 at first, at least one. An
  /// expression type has a program for each set of attribute values it occurs with: the bounds of
  /// a slice, an eps.
  static void limit(std::size_t programs);

  /// Counts over all expression types.
  static cache_statistics statistics();
};

}  // namespace sinter::inline SINTER_ABI

#ifndef SINTER_SEPARATE
#include <sinter/function/evaluation_cache_source.hpp>
#endif
