// SPDX-License-Identifier: MIT
// A tile program and what is needed to bind it again: the nest's body, its analysis, and the memory
// of the last binding.
#pragma once

#include <memory>
#include <utility>

#include <sinter/exec/emit_tile.hpp>
#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/schedule_tile.hpp>
#include <sinter/exec/tile_analysis.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::exec {

class bound_tile {
 public:
  /// Keeps references to the nest and the kernels.
  bound_tile(const kernel_table& kernels, const planning::nest& nest, tile_analysis analysis)
      : schedule_(std::make_unique<tile_schedule>(nest, std::move(analysis))),
        emitter_(std::make_unique<tile_emitter>(*schedule_, kernels)) {
    emitter_->reserve();
  }

  /// Binds to extents and strides; allocates nothing. Throws graph_error for a body that does not
  /// fit its nest and dtype_error where a kernel is missing.
  void bind(const binding& at, const walk_request& request) {
    schedule_->bind(at, request);
    emitter_->emit();
  }

  const tile_program& program() const { return schedule_->program; }
  const tile_analysis& facts() const { return schedule_->facts(); }

 private:
  std::unique_ptr<tile_schedule> schedule_;  // on the heap: the emitter keeps a reference to it
  std::unique_ptr<tile_emitter> emitter_;
};

}  // namespace sinter::inline SINTER_ABI::exec
