// SPDX-License-Identifier: MIT
// Makes the programs of a fused function, and finds them without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include <sinter/function/fused_programs.hpp>
#include <sinter/function/program.hpp>
#include <sinter/graph/freeze.hpp>
#include <sinter/support/separate.hpp>

namespace sinter::inline SINTER_ABI::detail {

struct fused_programs::state {
  struct entry {
    const program_recipe* recipe;
    std::shared_ptr<program> made;
    std::unique_ptr<entry> older;
  };

  program* find(const program_recipe& recipe) const {
    const entry* e = known.load(std::memory_order_acquire);
    while (e != nullptr && e->recipe != &recipe) e = e->older.get();
    return e == nullptr ? nullptr : e->made.get();
  }

  template <class F>
  void for_each(F f) const {
    for (const entry* e = known; e != nullptr; e = e->older.get()) f(*e->made);
  }

  program_options options;
  std::mutex mutex;  // of who adds an entry
  std::unique_ptr<entry> newest;
  // The same, for calls, which take no lock: an entry stays as it was when it became known.
  std::atomic<const entry*> known{nullptr};
  // What load_plans read, for programs that are made later.
  std::shared_ptr<const plan_file> plans;
  std::size_t (*take_plans)(program&, const plan_file&) = nullptr;
};

SINTER_INLINE fused_programs::fused_programs(program_options options)
    : state_(std::make_unique<state>()) {
  state_->options = std::move(options);
}

SINTER_INLINE fused_programs::fused_programs(fused_programs&& other) noexcept = default;

SINTER_INLINE fused_programs& fused_programs::operator=(fused_programs&& other) noexcept = default;

SINTER_INLINE fused_programs::~fused_programs() = default;

SINTER_INLINE program& fused_programs::of(const program_recipe& recipe) const {
  if (program* known = state_->find(recipe)) return *known;
  const std::scoped_lock lock(state_->mutex);
  if (program* known = state_->find(recipe)) return *known;  // meanwhile
  const tracing step;
  std::shared_ptr<program> made = make_program(
      recipe.trace != nullptr ? recipe.trace() : ir::thaw(recipe.words, recipe.customs),
      recipe.regions, recipe.library, state_->options);
  if (state_->plans != nullptr) state_->take_plans(*made, *state_->plans);
  state_->newest = std::unique_ptr<state::entry>(
      new state::entry{&recipe, std::move(made), std::move(state_->newest)});
  state_->known.store(state_->newest.get(), std::memory_order_release);
  return *state_->newest->made;
}

SINTER_INLINE program_statistics fused_programs::statistics() const {
  program_statistics total;
  state_->for_each([&](const program& each) { total += each.statistics(); });
  return total;
}

}  // namespace sinter::inline SINTER_ABI::detail
