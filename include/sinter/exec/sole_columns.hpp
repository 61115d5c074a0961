// SPDX-License-Identifier: MIT
// Column nests that reduce what is stored as it is, down few rows or in few columns: in registers,
// without accumulators and tiles. Results that are only stored are written where they belong.
// (Sums of 3 rows of 100,000 f32 68 and 20 us, of 10 of 10,000 11 and 5, a batch of 10 rows of 10
// columns 125 ns and 30: Zen 3.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/reduction.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

class sole_columns {
 public:
  /// Binds to the programs of a nest, which must outlive this: what is reduced, `rows` at a time,
  /// and what becomes of the results. False where the first one does anything else. Allocates
  /// nothing.
  bool bind(const tile_program& map, const tile_program& rest, std::int64_t rows) {
    kernels_ = nullptr;
    if (map.commands.size() != 1 || map.commands[0].kind != command_kind::reduce_columns)
      return false;
    const command& reduce = map.commands[0];
    const location& x = map.operands_of(reduce)[0];
    if (x.where != location::memory::stream) return false;
    from_ = &map.streams[static_cast<std::size_t>(x.index)];
    const reduction_kernels& kernels =
        *map.reductions[static_cast<std::size_t>(reduce.reduction)].kernels;
    const shape_vector& outer = from_->outer;
    const bool fits = outer.size() < 2 || (outer.size() == 2 && map.axes.outer[1] == rows);
    rows_ = rows;
    row_step_ = outer.empty() ? 0 : outer.back();
    // Batches and rows may have become one axis.
    batch_step_ = outer.size() == 2 ? outer[0] : rows * row_step_;
    if (!fits || !from_->has_unit_step() || kernels.whole_columns == nullptr ||
        !has_few(map.axes.columns, kernels.lanes))
      return false;
    to_ = target_of(rest);
    kernels_ = &kernels;
    return true;
  }
  bool is_bound() const { return kernels_ != nullptr; }

  /// Where the results of a batch from this column on are stored, or nullptr if something else is
  /// computed of them.
  std::byte* target(std::byte* const* bases, std::int64_t batch, std::int64_t column) const {
    if (to_ == nullptr) return nullptr;
    return element(*to_, bases, batch * (to_->outer.empty() ? 0 : to_->outer[0]) + column);
  }

  /// The results of columns [column, column_end) of a batch, of buffers that begin at `bases`.
  /// Precondition: is_bound().
  void reduce(std::byte* const* bases, std::int64_t batch, std::int64_t column,
              std::int64_t column_end, std::byte* results) const {
    kernels_->whole_columns(rows_, column_end - column,
                            element(*from_, bases, batch * batch_step_ + column), row_step_,
                            results);
  }

 private:
  static std::byte* element(const stream& s, std::byte* const* bases, std::int64_t at) {
    return bases[s.buffer] + (s.offset + at) * static_cast<std::int64_t>(s.element_size);
  }

  // All rows are read side by side, for which L1 has to hold a line of each: of those that are not
  // a multiple of 1 KiB apart it holds twice as many. (Of 1000 f32 16 take 0.6 of the time that
  // they take with accumulators, 24 0.65, 32 as long; of 1024 32 4.2.)
  bool has_few(std::int64_t columns, std::int64_t lanes) const {
    const std::int64_t bytes = row_step_ * static_cast<std::int64_t>(from_->element_size);
    std::int64_t most = planning::rows_in_registers;
    if (bytes % 1024 != 0) most *= 2;
    if (columns <= narrow_registers * lanes) most = column_block_rows;
    return rows_ >= 1 && rows_ <= most;
  }

  static const stream* target_of(const tile_program& rest) {
    if (rest.commands.size() != 1 || rest.commands[0].kind != command_kind::store) return nullptr;
    const command& store = rest.commands[0];
    const stream& to = rest.streams[static_cast<std::size_t>(store.stream)];
    const bool is_result = rest.operands_of(store)[0].where == location::memory::external;
    return is_result && to.has_unit_step() && to.outer.size() < 2 ? &to : nullptr;
  }

  const stream *from_ = nullptr, *to_ = nullptr;
  const reduction_kernels* kernels_ = nullptr;
  std::int64_t rows_ = 0, row_step_ = 0, batch_step_ = 0;  // in elements
};

}  // namespace sinter::inline SINTER_ABI::exec
