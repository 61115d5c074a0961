// SPDX-License-Identifier: MIT
// What makes two graphs the same program for a plan_cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sinter/function/plan_cache.hpp>
#include <sinter/function/program_list.hpp>
#include <sinter/graph/freeze.hpp>
#include <sinter/support/flat_vector.hpp>
#include <sinter/support/separate.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// All that a program is made of. Argument names count, because messages name arguments.
struct program_key {
  flat_vector<std::int64_t> words;
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
    words.append(g.symbol_values.data(), g.symbol_values.size());
  }

  friend bool operator==(const program_key&, const program_key&) = default;
};

}  // namespace detail

struct plan_cache::list : detail::program_list<detail::program_key> {};

SINTER_INLINE plan_cache::plan_cache(std::size_t programs)
    : limit_(programs), programs_(std::make_unique<list>()) {}

SINTER_INLINE plan_cache::~plan_cache() = default;

SINTER_INLINE void plan_cache::clear() { programs_->clear(); }

SINTER_INLINE cache_statistics plan_cache::statistics() const { return programs_->statistics(); }

SINTER_INLINE std::shared_ptr<program> plan_cache::find_or_make(
    const ir::graph& g, program_code (*code)(const ir::graph&), const program_options& options) {
  return programs_->find_or_make(detail::program_key(g, options), limit_,
                                 [&] { return std::make_shared<program>(g, code(g), options); });
}

}  // namespace sinter::inline SINTER_ABI
