// SPDX-License-Identifier: MIT
// An operand of a streamed nest that is computed on the way: the tile programs of its parts, each
// of which fills its columns of a block of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <sinter/exec/bind_tile.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/run_tile.hpp>

namespace sinter::inline SINTER_ABI::exec {

class operand_prologue {
 public:
  operand_prologue(const kernel_table& kernels, const planning::nest& nest, std::size_t operand)
      : nest_(&nest), operand_(operand) {
    for (const planning::operand_part& part : nest.prologues[operand]) {
      planning::nest program;
      program.space = part.space;
      program.accesses = nest.accesses;
      program.body = part.body;
      program.stores = {{static_cast<int>(part.body.size()) - 1, -1}};
      program.label = "prologue";
      programs_.push_back(std::move(program));
      parts_.emplace_back(kernels, programs_.back(),
                          analyze_tile(nullptr, programs_.back(), geometry::block, {0}, -1, -1));
      offsets_.push_back(0);
    }
  }
  operand_prologue(const operand_prologue&) = delete;  // the parts refer to the programs
  operand_prologue& operator=(const operand_prologue&) = delete;

  /// Is there anything to compute? Otherwise the operand is in memory.
  bool any() const { return !parts_.empty(); }

  void bind(const binding& at) {
    shape_ = at.evaluate(nest_->accesses[operand_].shape);
    scratch_bytes_ = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      walk_request request;
      request.space = at.evaluate(programs_[p].space);
      request.outer_count = request.space.size() - 1;
      request.block_columns = request.space.back();
      request.external_packed = parts_.size() == 1;
      request.result_is_external = true;
      // Rows of the block lie apart, so the last op is a call per row whatever it reads: a copy of
      // each operand before it would be a call more.
      request.in_place = parts_[p].facts().maps <= 2;
      parts_[p].bind(at, request);
      offsets_[p] = at.evaluate(nest_->prologues[operand_][p].offset);
      scratch_bytes_ = std::max(scratch_bytes_, parts_[p].program().scratch_bytes);
    }
    find_shared(at);
  }

  const shape_vector& shape() const { return shape_; }
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// Is the operand the same along this batch axis?
  bool is_shared(std::size_t axis) const { return shared_[axis] != 0; }

  /// Rows [first, first + rows) of the operand, all batches one behind the other, into `to`, whose
  /// rows have as many elements as the operand's.
  void fill(const run_memory& memory, std::byte* scratch, std::int64_t first, std::int64_t rows,
            std::byte* to) const {
    const std::int64_t pitch = shape_.back();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const tile_program& program = parts_[p].program();
      if (program.axes.columns == 0) continue;
      const auto size = static_cast<std::int64_t>(size_of(programs_[p].body.back().type));
      tile_runner runner(program, memory.bases, scratch);
      runner.begin();
      runner.set_external({to + offsets_[p] * size, pitch, first, 0});
      runner.run_all(first, first + rows, 0, program.axes.columns);
    }
  }

  std::vector<lowered_prologue> lowered() const {
    std::vector<lowered_prologue> out;
    for (std::size_t p = 0; p < parts_.size(); ++p)
      out.push_back({offsets_[p], parts_[p].program()});
    return out;
  }

 private:
  // What no load of any part moves along.
  void find_shared(const binding& at) {
    shared_ = shape_vector::filled(shape_.size(), 1);
    for (const planning::nest& program : programs_)
      for (const planning::step& s : program.body) {
        if (s.kind != planning::step_kind::load) continue;
        const strided_view view = at.view(program.accesses[static_cast<std::size_t>(s.access)]);
        for (std::size_t axis = 0; axis < shape_.size(); ++axis)
          if (view.shape[axis] != 1 && view.strides[axis] != 0) shared_[axis] = 0;
      }
  }

  const planning::nest* nest_;
  std::size_t operand_;
  std::deque<planning::nest> programs_;  // a deque: the parts keep references
  std::deque<bound_tile> parts_;
  std::deque<std::int64_t> offsets_;  // in elements, by part
  shape_vector shape_, shared_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
