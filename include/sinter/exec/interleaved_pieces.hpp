// SPDX-License-Identifier: MIT
// What an assemble nest writes where its pieces are columns of few: stacks along a new last axis,
// and elements with zeros between them. Piece by piece every other element is a store of its own,
// and memory passes once for each; row by row they are shuffles (two pieces of 400,000 f32: 220 and
// 50 us, a zero behind each of 800,000 elements: 340 and 60).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/copy.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

class interleaved_pieces {
 public:
  struct piece {
    strided_view source;
    std::int64_t column;
  };

  /// Has an output of this shape so few columns?
  static bool has_columns(const shape_vector& shape) {
    return !shape.empty() && shape.back() >= 2 && shape.back() <= most_columns;
  }

  /// Are these, of an output that has columns, all such pieces? Its other elements take the bytes
  /// of `fill`. Otherwise the nest must write them in another way.
  bool bind(const strided_view& target, std::size_t element_size, const std::vector<piece>& pieces,
            const std::array<std::byte, 8>& fill) {
    columns_ = target.shape.back();
    rows_ = element_count(target.shape) / columns_;
    for (const piece& each : pieces)
      if (each.source.shape.back() != 1 || element_count(each.source.shape) != rows_ ||
          !is_contiguous(each.source.shape, each.source.strides))
        return false;
    target_ = target;
    size_ = element_size;
    sources_.fill({});
    for (const piece& each : pieces)
      sources_[static_cast<std::size_t>(each.column)] = {each.source.buffer, each.source.offset};
    fill_ = fill;
    return true;
  }

  void run(const run_memory& memory, double nanoseconds) const {
    const std::int64_t rows_per_task = planning::elements_per_task / columns_;
    parallel_for(planning::pieces_of(rows_, rows_per_task), nanoseconds,
                 [&](std::int64_t task, int) {
                   const std::int64_t first = task * rows_per_task;
                   run(memory, first, std::min(rows_, first + rows_per_task));
                 });
  }

 private:
  static constexpr std::int64_t most_columns = 4, block_rows = 256;

  struct place {
    int buffer = -1;  // none: filled
    std::int64_t offset = 0;
  };

  void run(const run_memory& memory, std::int64_t first, std::int64_t last) const {
    if (columns_ == 2)
      write<2>(memory, first, last);
    else if (columns_ == 3)
      write<3>(memory, first, last);
    else
      write<4>(memory, first, last);
  }

  // In blocks, so that what is filled comes from one, too.
  template <std::size_t Columns>
  void write(const run_memory& memory, std::int64_t first, std::int64_t last) const {
    const auto size = static_cast<std::int64_t>(size_);
    std::byte* const to = memory.bases[target_.buffer] + target_.offset * size;
    std::array<std::byte, block_rows * 8> filled;
    exec::fill(block_rows, fill_.data(), size_, filled.data());
    for (std::int64_t row = first; row < last; row += block_rows) {
      std::array<const std::byte*, Columns> from;
      for (std::size_t k = 0; k < Columns; ++k)
        from[k] = sources_[k].buffer < 0
                      ? filled.data()
                      : memory.bases[sources_[k].buffer] + (sources_[k].offset + row) * size;
      interleave<Columns>(std::min(block_rows, last - row), from, size_,
                          to + row * columns_ * size);
    }
  }

  strided_view target_;
  std::array<place, most_columns> sources_{};
  std::int64_t rows_ = 0, columns_ = 0;
  std::size_t size_ = 0;
  std::array<std::byte, 8> fill_{};
};

}  // namespace sinter::inline SINTER_ABI::exec
