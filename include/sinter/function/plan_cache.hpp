// SPDX-License-Identifier: MIT
// plan_cache: programs that functions share whose graphs are equal, bounded in number. What tells
// programs apart is compared in full: graph, outputs, dtypes, symbols and their ranges, options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sinter/function/program.hpp>
#include <sinter/graph/freeze.hpp>
#include <sinter/support/recently_used.hpp>

namespace sinter::inline SINTER_ABI {

/// Counts of a cache of programs.
struct cache_statistics {
  /// Look-ups that found a program, those that had to make one, and programs that were dropped.
  std::size_t hits = 0, misses = 0, evictions = 0;
  /// Programs that are kept, and what happened in them: their plans, arenas and calls.
  std::size_t programs = 0;
  program_statistics inside{};

  cache_statistics& operator+=(const cache_statistics& other) {
    hits += other.hits;
    misses += other.misses;
    evictions += other.evictions;
    programs += other.programs;
    inside += other.inside;
    return *this;
  }
};

namespace detail {

// A bounded list of programs by key. May be used from several threads.
template <class Key>
class program_list {
 public:
  // The program of this key; `make` makes it, under the lock: who asks for it meanwhile waits.
  template <class Make>
  std::shared_ptr<program> find_or_make(Key key, std::size_t limit, Make make) {
    const std::scoped_lock lock(mutex_);
    if (const std::shared_ptr<program>* known = programs_.find(key)) {
      ++counts_.hits;
      return *known;
    }
    std::shared_ptr<program> made = make();
    ++counts_.misses;
    counts_.evictions += programs_.add(std::move(key), made, limit);
    return made;
  }

  void clear() {
    const std::scoped_lock lock(mutex_);
    programs_.clear();
  }

  cache_statistics statistics() const {
    const std::scoped_lock lock(mutex_);
    cache_statistics out = counts_;
    out.programs = programs_.size();
    programs_.for_each([&](const auto& each) { out.inside += each->statistics(); });
    return out;
  }

 private:
  mutable std::mutex mutex_;
  recently_used<Key, std::shared_ptr<program>> programs_;
  cache_statistics counts_;
};

// All that a program is made of. Argument names count, because messages name arguments.
struct program_key {
  std::vector<std::int64_t> words;
  std::vector<ir::symbol_facts> symbols;
  std::vector<std::string> argument_names;
  program_options options;

  program_key(const ir::graph& g, const program_options& o)
      : words(ir::freeze(g)),
        symbols(g.dims.described()),
        argument_names(g.argument_names),
        options(o) {
    for (const ir::guard& each : g.guards) {
      words.push_back(static_cast<std::int64_t>(each.holds));
      ir::detail::freeze_dim(words, g.dims, each.a);
      ir::detail::freeze_dim(words, g.dims, each.b);
    }
    words.insert(words.end(), g.symbol_values.begin(), g.symbol_values.end());
  }

  friend bool operator==(const program_key&, const program_key&) = default;
};

}  // namespace detail

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
  explicit plan_cache(std::size_t programs = 64) : limit_(programs) {}

  /// Forgets all programs; counts stay.
  void clear() { programs_.clear(); }
  cache_statistics statistics() const { return programs_.statistics(); }

  /// The program of this graph, whose gradients are expanded and which has been verified.
  std::shared_ptr<program> find_or_make(const ir::graph& g, program_code (*code)(const ir::graph&),
                                        const program_options& options) {
    return programs_.find_or_make(detail::program_key(g, options), limit_,
                                  [&] { return std::make_shared<program>(g, code(g), options); });
  }

 private:
  std::size_t limit_;
  detail::program_list<detail::program_key> programs_;
};

}  // namespace sinter::inline SINTER_ABI
