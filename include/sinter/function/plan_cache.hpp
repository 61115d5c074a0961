// SPDX-License-Identifier: MIT
// plan_cache: programs that functions share whose graphs are equal, bounded in number. What tells
// programs apart is compared in full: graph, outputs, dtypes, symbols and their ranges, options.
#pragma once

#include <cstddef>
#include <memory>

#include <sinter/function/cache_statistics.hpp>
#include <sinter/function/program.hpp>
#include <sinter/graph/graph.hpp>

namespace sinter::inline SINTER_ABI {

/// Lets functions made at run time from equal graphs share plans, arenas and prepared values:
///
///     plan_cache plans;
///     const graph_function f = first.compile({y}, {}, &plans);
///     const graph_function g = second.compile({z}, {}, &plans);  // equal graph: the same plans
///
/// Graphs are equal if they have the same nodes in the same order, with all attributes, dtypes,
/// shapes, symbols and names, and the same outputs; then options count too. Bound tensors do not:
/// what follows from them is kept per function's tensors. A literal in an expression is part of the
/// graph (rules depend on its value): what varies is an argument (`graph_builder::number`). May be
/// used from several threads; functions keep their plans if the cache is gone or drops them.
class plan_cache {
 public:
  /// Keeps at most so many programs, at least one; the one that was asked for least recently goes.
  explicit plan_cache(std::size_t programs = 64);
  plan_cache(const plan_cache&) = delete;
  plan_cache& operator=(const plan_cache&) = delete;
  ~plan_cache();

  /// Forgets all programs; counts stay.
  void clear();
  cache_statistics statistics() const;

  /// The program of this graph, whose gradients are expanded and which has been verified.
  std::shared_ptr<program> find_or_make(const ir::graph& g, program_code (*code)(const ir::graph&),
                                        const program_options& options);

 private:
  struct list;

  std::size_t limit_;
  std::unique_ptr<list> programs_;
};

}  // namespace sinter::inline SINTER_ABI

#ifndef SINTER_SEPARATE
#include <sinter/function/plan_cache_source.hpp>
#endif
