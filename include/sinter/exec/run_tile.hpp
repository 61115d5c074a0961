// SPDX-License-Identifier: MIT
// Runs a bound tile program: one object per task, on one thread. It executes the commands on one
// tile after the other. Nothing here allocates.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sinter/exec/block_sums.hpp>
#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/copy.hpp>
#include <sinter/exec/copy_rows.hpp>
#include <sinter/exec/positions.hpp>
#include <sinter/exec/random.hpp>
#include <sinter/exec/row_walk.hpp>
#include <sinter/exec/strided_runs.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/exec/transpose.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

class tile_runner {
 public:
  /// `bases`: the first byte of every buffer. `scratch`: program.scratch_bytes that this thread may
  /// write.
  tile_runner(const tile_program& program, std::byte* const* bases, std::byte* scratch)
      : p_(program),
        bases_(bases),
        scratch_(scratch),
        row_values_(scratch + program.rows_offset),
        accumulators_(scratch + program.accumulators_offset),
        sums_(program, scratch),
        rows_(program, reinterpret_cast<std::int64_t*>(scratch)) {}

  void set_external(const external_block& block, std::size_t number = 0) {
    external_[number] = block;
  }
  /// Accumulators of all columns, for reductions over the outer axes.
  void set_column_accumulators(std::byte* at) { column_accumulators_ = at; }
  /// What rows are summed up in, of a program that has sums.
  block_sums& sums() { return sums_; }
  /// What the second values of pairs need.
  void set_pair(const pair_memory& memory) { pair_ = memory; }
  /// Row values that several tasks share, and the accumulators of this task.
  void share(std::byte* row_values, std::byte* accumulators) {
    row_values_ = row_values;
    accumulators_ = accumulators;
  }
  std::byte* row_values() const { return row_values_; }
  std::byte* accumulators() const { return accumulators_; }

  /// Once per task, before all else: values that are the same for every tile.
  void begin() {
    // Kernels compute padding too, and what somebody left there might be denormal, which is slow.
    if (!p_.split) std::memset(row_values_, 0, p_.accumulators_offset - p_.rows_offset);
    if (p_.prologue.first == p_.prologue.last) return;
    rows_.take_first(p_.split ? p_.tile_rows : p_.row_capacity);
    column_ = 0;
    width_ = p_.chunk;
    run(p_.prologue);
  }

  /// All lists for rows [row_begin, row_end) and columns [column_begin, column_end), tile by tile.
  void run_all(std::int64_t row_begin, std::int64_t row_end, std::int64_t column_begin,
               std::int64_t column_end) {
    if (row_begin >= row_end) return;  // an extent may be 0
    seek(row_begin);
    are_whole_ = p_.whole_rows() && !p_.split && column_begin == 0 && column_end > 0 &&
                 column_end == p_.axes.columns;
    const std::int64_t last = p_.axes.outer.empty() ? 1 : p_.axes.outer.back();
    for (std::int64_t row = row_begin; row < row_end; row += height()) {
      std::int64_t rows = std::min(p_.tile_rows, row_end - row);
      if (p_.aligned_rows) rows = std::min(rows, last - row % last);
      take_rows(row, rows);
      run_row_list(0);
      for (int phase = 0; phase < static_cast<int>(p_.phase_lists.size()); ++phase) {
        if (!are_whole_) reset(phase, accumulators_);
        run_phase(phase, column_begin, column_end);
        if (!are_whole_) finish(phase, accumulators_);
        run_row_list(phase + 1);
      }
      sums_.end_tile(height());
    }
  }

  /// Goes to a row of the walk.
  void seek(std::int64_t row) { rows_.seek(row); }

  /// Makes the next `rows` rows the tile. The first is row `row` of the walk; `origin` is where
  /// its row values and accumulators are.
  void take_rows(std::int64_t row, std::int64_t rows, std::int64_t origin = 0) {
    rows_.take(rows);
    row_ = row;
    origin_ = origin;
  }

  void run_row_list(int list) { run(p_.row_lists[static_cast<std::size_t>(list)]); }

  /// The columns of one phase, chunk by chunk.
  void run_phase(int phase, std::int64_t column_begin, std::int64_t column_end) {
    const command_range list = p_.phase_lists[static_cast<std::size_t>(phase)];
    if (list.first == list.last) return;
    for (column_ = column_begin; column_ < column_end; column_ += width_) {
      width_ = std::min(p_.chunk, column_end - column_);
      run(list);
    }
  }

  /// The same of equally long parts of one row, of which each has accumulators of its own, `apart`
  /// bytes behind those of the one before. One kernel does all parts in one call: between two
  /// calls the memory's streams end and begin anew (sums of x y of 2^20 elements in L3 of a Zen 5:
  /// 0.95 to 0.98 of the time that 32 calls took).
  void run_parts(int phase, std::int64_t column, std::int64_t columns, std::int64_t parts,
                 std::byte* accumulators, std::int64_t apart) {
    for (std::int64_t part = 0; part < parts; ++part) reset(phase, accumulators + part * apart);
    accumulators_ = accumulators;
    const command_range list = p_.phase_lists[static_cast<std::size_t>(phase)];
    const auto is_one_map_reduce = [&] {
      return list.size() == 1 && command_at(list.first).kind == command_kind::map_reduce;
    };
    if (columns <= p_.chunk && is_one_map_reduce()) {
      column_ = column;
      width_ = columns;
      return map_reduce_parts(command_at(list.first), parts, apart);
    }
    for (const std::int64_t end = column + parts * columns; column < end; column += columns) {
      run_phase(phase, column, column + columns);
      accumulators_ += apart;
    }
  }

  /// Accumulators of the tile's rows become the identity; `at` holds those of all reductions.
  void reset(int phase, std::byte* at) {
    for (const bound_reduction& r : p_.reductions)
      if (r.phase == phase && r.result.valid())
        r.kernels->identity(height(), accumulator(r, at, 0));
  }
  void finish(int phase, const std::byte* at) {
    for (const bound_reduction& r : p_.reductions) {
      if (r.phase != phase || !r.result.valid() || r.in_place) continue;
      const std::byte* const first = accumulator(r, const_cast<std::byte*>(at), 0);
      r.kernels->finish(height(), first, address(r.result, 0));
      if (r.sum.valid()) r.kernels->finish_sum(height(), first, address(r.sum, 0));
    }
  }
  /// Combines the tile's accumulators in `other`, which saw what comes behind, into `at`.
  void combine(int phase, std::byte* other, std::byte* at) {
    for (const bound_reduction& r : p_.reductions)
      if (r.phase == phase && r.result.valid())
        r.kernels->combine(height(), accumulator(r, other, 0), accumulator(r, at, 0));
  }

 private:
  friend class row_runner;

  std::int64_t height() const { return rows_.count(); }

  std::byte* accumulator(const bound_reduction& r, std::byte* at, std::int64_t row) const {
    if (r.in_place) return address(r.result, row);
    return at + r.offset + static_cast<std::size_t>(origin_ + row) * r.kernels->accumulator_bytes;
  }

  std::byte* stream_at(int stream, std::int64_t elements) const {
    const exec::stream& s = p_.streams[static_cast<std::size_t>(stream)];
    return bases_[s.buffer] + elements * static_cast<std::int64_t>(s.element_size);
  }

  // The first element of a row of the tile.
  std::byte* address(const location& l, std::int64_t row) const {
    const auto size = static_cast<std::int64_t>(l.element_size);
    const auto number = static_cast<std::size_t>(l.index);
    switch (l.where) {
      case location::memory::slot:
        return scratch_ + p_.slots_offset + number * p_.slot_bytes + row * width_ * size;
      case location::memory::kept:
        return scratch_ + p_.kept_offsets[number] + (row * p_.axes.columns + column_) * size;
      case location::memory::row_slot:
        return row_values_ + number * p_.row_slot_bytes + (origin_ + row) * size;
      case location::memory::single_slot: return scratch_ + p_.singles_offset + number * 8;
      case location::memory::constant:
        return reinterpret_cast<std::byte*>(const_cast<std::int64_t*>(&p_.constants[number].word));
      case location::memory::stream: {
        const exec::stream& s = p_.streams[number];
        if (l.extent == value_class::single) return stream_at(l.index, s.offset);
        return stream_at(l.index, rows_.offset(number, row) +
                                      (l.extent == value_class::full ? column_ * s.step : 0));
      }
      case location::memory::external: {
        const external_block& block = external_[number];
        return block.at + ((row_ + row - block.row) * block.pitch + column_ - block.column) * size;
      }
      case location::memory::none: break;
    }
    return nullptr;
  }

  // Elements between the rows of a tile; 0 where that is not one number.
  std::int64_t pitch(const location& l) const {
    if (height() == 1) return width_;
    if (l.where != location::memory::stream)
      return (address(l, 1) - address(l, 0)) / static_cast<std::int64_t>(l.element_size);
    return rows_.stride(static_cast<std::size_t>(l.index));
  }

  // The operands of a command at a row, and what takes them to the next.
  struct row_operands {
    std::array<const void*, ir::region::max_leaves> pointers;
    std::array<std::int64_t, ir::region::max_leaves> steps;
  };
  row_operands operands_at(const command& c, const location* operands, std::int64_t row,
                           std::int64_t rows) const {
    row_operands out;
    for (std::size_t k = 0; k < static_cast<std::size_t>(c.operand_count); ++k) {
      out.pointers[k] = address(operands[k], row);
      out.steps[k] = bytes_between_rows(operands[k], row, rows);
    }
    return out;
  }
  // From each of so many rows that are equally far apart to the next.
  std::int64_t bytes_between_rows(const location& l, std::int64_t row, std::int64_t rows) const {
    return rows > 1 ? address(l, row + 1) - address(l, row) : 0;
  }

  // Rows that are equally far apart where l says: f(first row, how many).
  template <class F>
  void for_each_run_of(const location& l, F f) const {
    if (l.where == location::memory::stream) return rows_.for_each_run(f);
    f(std::int64_t{0}, height());
  }

  const command& command_at(int i) const { return p_.commands[static_cast<std::size_t>(i)]; }
  void run(command_range list) {
    for (int i = list.first; i < list.last; ++i) execute(command_at(i));
  }

  void execute(const command& c) {
    const location* operands = p_.operands.data() + c.first_operand;
    switch (c.kind) {
      case command_kind::load: load(c); return;
      case command_kind::expand: expand(c, operands[0]); return;
      case command_kind::iota: write_iota(c); return;
      case command_kind::random: write_random(c, operands[0]); return;
      case command_kind::map: map(c, operands); return;
      case command_kind::map_reduce: map_reduce(c, operands); return;
      case command_kind::reduce: reduce(c, operands[0]); return;
      case command_kind::reduce_columns: reduce_columns(c, operands[0]); return;
      case command_kind::map_reduce_columns: map_reduce_columns(c, operands); return;
      case command_kind::reduce_pair: reduce_pair(c, operands[0]); return;
      case command_kind::store: store(c, operands[0]); return;
    }
  }

  void map(const command& c, const location* operands) {
    const std::int64_t rows = c.target.extent == value_class::single ? 1 : height();
    const std::int64_t columns = c.target.extent == value_class::full ? width_ : 1;
    if (c.by_run) return map_runs(c, operands);
    if (c.padded) return map_at_once(c, operands, planning::whole_units(rows, row_padding));
    if (!c.by_row || rows == 1) return map_at_once(c, operands, rows * columns);
    rows_.for_each_run([&](std::int64_t first, std::int64_t run) {
      row_operands at = operands_at(c, operands, first, run);
      std::byte* to = address(c.target, first);
      const std::int64_t to_step = bytes_between_rows(c.target, first, run);
      if (takes_modes(c))
        return run_map_rows(c, {columns, c.mode, run, at.steps.data(), to_step}, at.pointers.data(),
                            to);
      for (; run > 0; --run, to += to_step) {
        run_map(c, columns, at.pointers.data(), to);
        for (std::size_t k = 0; k < static_cast<std::size_t>(c.operand_count); ++k)
          at.pointers[k] = static_cast<const std::byte*>(at.pointers[k]) + at.steps[k];
      }
    });
  }
  void map_at_once(const command& c, const location* operands, std::int64_t count) {
    run_map(c, count, operands_at(c, operands, 0, 1).pointers.data(), address(c.target, 0));
  }

  // Run by run: where the chunk cuts one, its part is a call of its own.
  void map_runs(const command& c, const location* operands) {
    const std::int64_t run = p_.axes.inner.back(), end = column_ + width_;
    for (std::int64_t row = 0; row < height(); ++row)
      for (std::int64_t column = column_; column < end;) {
        const std::int64_t at = column % run, whole = at == 0 ? (end - column) / run : 0;
        const std::int64_t count = whole > 0 ? run : std::min(run - at, end - column);
        const std::int64_t runs = std::max<std::int64_t>(whole, 1);
        std::array<const void*, ir::region::max_leaves> pointers;
        std::array<std::int64_t, ir::region::max_leaves> steps;
        for (std::size_t k = 0; k < static_cast<std::size_t>(c.operand_count); ++k) {
          const location& l = operands[k];
          const std::int64_t size = l.element_size;
          if (is_one_per_run(p_, l)) {
            const auto number = static_cast<std::size_t>(l.index);
            const std::int64_t apart = p_.streams[number].inner[0];
            pointers[k] = stream_at(l.index, rows_.offset(number, row) + column / run * apart);
            steps[k] = apart * size;
          } else {
            const bool is_full = l.extent == value_class::full;
            pointers[k] = address(l, row) + (is_full ? (column - column_) * size : 0);
            steps[k] = is_full ? count * size : 0;
          }
        }
        const std::int64_t size = c.target.element_size;
        run_map_rows(c, {count, c.mode, runs, steps.data(), count * size}, pointers.data(),
                     address(c.target, row) + (column - column_) * size);
        column += runs * count;
      }
  }

  void map_reduce(const command& c, const location* operands) {
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    rows_.for_each_run([&](std::int64_t first, std::int64_t run) {
      const row_operands at = operands_at(c, operands, first, run);
      c.reducing({.count = width_,
                  .mode = c.mode,
                  .rows = run,
                  .steps = at.steps.data(),
                  .result_step = bytes_between_rows(c.target, first, run)},
                 at.pointers.data(), address(c.target, first), results_at(r, first, run));
    });
  }

  void reduce(const command& c, const location& from) {
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    for_each_run_of(from, [&](std::int64_t first, std::int64_t run) {
      const std::byte* x = address(from, first);
      const std::int64_t step = bytes_between_rows(from, first, run);
      const ir::row_results to = results_at(r, first, run);
      if (to.whole == nullptr) {
        for (std::int64_t row = 0; row < run; ++row)
          r.kernels->row(width_, x + row * step,
                         static_cast<std::byte*>(to.accumulator) + row * to.step);
      } else if (r.sum.valid()) {
        r.kernels->whole_rows_pair(
            run, width_, x, step,
            {to.whole, to.step, address(r.sum, first), bytes_between_rows(r.sum, first, run)});
      } else {
        r.kernels->whole_rows(run, width_, x, step, to.whole, to.step);
      }
    });
  }

  // Where so many rows of the tile are reduced to.
  ir::row_results results_at(const bound_reduction& r, std::int64_t row, std::int64_t rows) const {
    if (are_whole_)
      return {.whole = address(r.result, row), .step = bytes_between_rows(r.result, row, rows)};
    std::byte* const first = accumulator(r, accumulators_, row);
    return {.accumulator = first,
            .step = rows > 1 ? accumulator(r, accumulators_, row + 1) - first : 0};
  }

  // Several parts fit into a chunk each only where no command has slots (widen_chunk in
  // emit_tile.hpp): what this one reads and writes, but for single values, is memory in which the
  // next part follows.
  void map_reduce_parts(const command& c, std::int64_t parts, std::int64_t apart) {
    const location* const operands = p_.operands.data() + c.first_operand;
    row_operands at = operands_at(c, operands, 0, 1);
    const auto step = [&](const location& l) {
      return l.extent == value_class::full ? width_ * static_cast<std::int64_t>(l.element_size) : 0;
    };
    for (std::size_t k = 0; k < static_cast<std::size_t>(c.operand_count); ++k)
      at.steps[k] = step(operands[k]);
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    c.reducing({.count = width_,
                .mode = c.mode,
                .rows = parts,
                .steps = at.steps.data(),
                .result_step = step(c.target)},
               at.pointers.data(), address(c.target, 0),
               {.accumulator = accumulator(r, accumulators_, 0), .step = apart});
  }

  void expand(const command& c, const location& from) {
    const std::size_t size = c.target.element_size;
    if (c.target.where == location::memory::external) {
      for (std::int64_t row = 0; row < height(); ++row)
        strided_load(width_, address(from, row), from.extent == value_class::full ? 1 : 0, size,
                     address(c.target, row));
      return;
    }
    if (c.target.extent == value_class::row) {
      // The padding, too: row_runner may have rows of several tiles in a slot.
      const std::int64_t rows = p_.split ? height() : planning::whole_units(height(), row_padding);
      return fill(rows, address(from, 0), size, address(c.target, 0));
    }
    if (from.extent == value_class::single)
      return fill(height() * width_, address(from, 0), size, address(c.target, 0));
    if (from.extent == value_class::row && c.target.where == location::memory::slot)
      return for_each_run_of(from, [&](std::int64_t first, std::int64_t run) {
        spread(run, width_, address(from, first), bytes_between_rows(from, first, run), size,
               address(c.target, first));
      });
    for (std::int64_t row = 0; row < height(); ++row)
      fill(width_, address(from, row), size, address(c.target, row));
  }

  // The columns of the tile as runs: f(offset, stride, count, columns before the run).
  template <class F>
  void for_each_run(const exec::stream& s, F f) const {
    if (s.linear) return f(column_ * s.step, s.step, width_, std::int64_t{0});
    exec::for_each_run(p_.axes.inner, s.inner, column_, width_, f);
  }

  // Columns that lie apart, rows that are neighbours: moved in square tiles.
  bool is_transposed(const exec::stream& s, std::size_t number) const {
    return p_.aligned_rows && height() > 1 && width_ > 1 && s.linear && s.step != 1 &&
           rows_.stride(number) == 1;
  }

  void load(const command& c) {
    const auto number = static_cast<std::size_t>(c.stream);
    const exec::stream& s = p_.streams[number];
    const auto size = static_cast<std::int64_t>(s.element_size);
    if (c.target.extent == value_class::row)
      return rows_.for_each_even_run(
          number, [&](std::int64_t row, std::int64_t rows, std::int64_t step) {
            strided_load(rows, stream_at(c.stream, rows_.offset(number, row)), step, s.element_size,
                         address(c.target, row));
          });
    const std::int64_t to_pitch = pitch(c.target);
    if (is_transposed(s, number) && to_pitch != 0)
      return transpose_copy(width_, height(),
                            stream_at(c.stream, rows_.offset(number, 0) + column_ * s.step), s.step,
                            s.element_size, address(c.target, 0), to_pitch);
    if (s.linear && to_pitch != 0)
      return rows_.for_each_even_run(number, [&](std::int64_t row, std::int64_t rows,
                                                 std::int64_t step) {
        const std::byte* from = stream_at(c.stream, rows_.offset(number, row) + column_ * s.step);
        std::byte* to = address(c.target, row);
        if (s.step == 1)
          return copy_rows(rows, width_ * size, from, step * size, to, to_pitch * size);
        for (; rows > 0; --rows, from += step * size, to += to_pitch * size)
          strided_load(width_, from, s.step, s.element_size, to);
      });
    for (std::int64_t row = 0; row < height(); ++row) {
      std::byte* to = address(c.target, row);
      for_each_run(
          s, [&](std::int64_t at, std::int64_t stride, std::int64_t count, std::int64_t done) {
            strided_load(count, stream_at(c.stream, rows_.offset(number, row) + at), stride,
                         s.element_size, to + done * size);
          });
    }
  }

  void store(const command& c, const location& from) {
    const auto number = static_cast<std::size_t>(c.stream);
    const exec::stream& s = p_.streams[number];
    const auto size = static_cast<std::int64_t>(s.element_size);
    if (from.extent == value_class::row) {
      if (from.where == location::memory::row_slot)
        return rows_.for_each_even_run(
            number, [&](std::int64_t row, std::int64_t rows, std::int64_t step) {
              strided_store(rows, address(from, row), s.element_size,
                            stream_at(c.stream, rows_.offset(number, row)), step);
            });
      for (std::int64_t row = 0; row < height(); ++row)
        std::memcpy(stream_at(c.stream, rows_.offset(number, row)), address(from, row),
                    s.element_size);
      return;
    }
    const std::int64_t from_pitch = pitch(from);
    if (is_transposed(s, number) && from_pitch != 0)
      return transpose_copy(height(), width_, address(from, 0), from_pitch, s.element_size,
                            stream_at(c.stream, rows_.offset(number, 0) + column_ * s.step),
                            s.step);
    if (s.linear && s.step == 1 && from_pitch != 0 && width_ * size < longest_row_together)
      return rows_.for_each_even_run(
          number, [&](std::int64_t row, std::int64_t rows, std::int64_t step) {
            copy_rows(rows, width_ * size, address(from, row), from_pitch * size,
                      stream_at(c.stream, rows_.offset(number, row) + column_), step * size);
          });
    for (std::int64_t row = 0; row < height(); ++row) {
      const std::byte* source = address(from, row);
      for_each_run(
          s, [&](std::int64_t at, std::int64_t stride, std::int64_t count, std::int64_t done) {
            strided_store(count, source + done * size, s.element_size,
                          stream_at(c.stream, rows_.offset(number, row) + at), stride);
          });
    }
  }

  // Calls f(target, first position, stride, count) for runs of positions.
  template <class F>
  void for_each_position(const command& c, F f) {
    const auto number = static_cast<std::size_t>(c.stream);
    const std::int64_t rows = c.target.extent == value_class::single ? 1 : height();
    const auto size = static_cast<std::int64_t>(c.target.element_size);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::byte* to = address(c.target, row);
      if (c.target.extent != value_class::full)
        f(to, rows_.offset(number, row), std::int64_t{0}, std::int64_t{1});
      else
        for_each_run(p_.streams[number], [&](std::int64_t at, std::int64_t stride,
                                             std::int64_t count, std::int64_t done) {
          f(to + done * size, rows_.offset(number, row) + at, stride, count);
        });
    }
  }

  void write_iota(const command& c) {
    for_each_position(
        c, [&](std::byte* to, std::int64_t first, std::int64_t stride, std::int64_t count) {
          write_positions(c.type, first, stride, count, to);
        });
  }

  void write_random(const command& c, const location& key) {
    std::int64_t seed = 0;
    std::memcpy(&seed, address(key, 0), sizeof seed);
    for_each_position(
        c, [&](std::byte* to, std::int64_t first, std::int64_t stride, std::int64_t count) {
          write_uniform(c.type, seed, c.attribute, first, stride, count, to);
        });
  }

  void reduce_columns(const command& c, const location& from) {
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    const reduction_kernels& kernels = *r.kernels;
    const auto add = [&](std::int64_t rows, const std::byte* x, std::int64_t apart) {
      if (!p_.sums.empty()) return sums_.add(r, column_, width_, rows, x, apart);
      std::byte* const to =
          column_accumulators_ + static_cast<std::size_t>(column_) * kernels.accumulator_bytes;
      kernels.column(rows, width_, x, apart, walk_of_columns(c), to);
    };
    if (const std::int64_t rows_apart = pitch(from); rows_apart != 0)
      return add(height(), address(from, 0), rows_apart);
    for (std::int64_t row = 0; row < height(); ++row) add(1, address(from, row), 0);
  }

  void reduce_pair(const command& c, const location& from) {
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    const auto column = static_cast<std::size_t>(column_);
    const std::byte* const shifts = pair_.shifts + column * size_of(r.type);
    std::byte* const first = column_accumulators_ + column * r.kernels->accumulator_bytes;
    double* const second = pair_.second + column;
    if (const std::int64_t rows_apart = pitch(from); rows_apart != 0)
      return pair_.kernels->add(height(), width_, address(from, 0), rows_apart, walk_of_columns(c),
                                shifts, first, second);
    for (std::int64_t row = 0; row < height(); ++row)
      pair_.kernels->add(1, width_, address(from, row), 0, {}, shifts, first, second);
  }

  void map_reduce_columns(const command& c, const location* operands) {
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    const ir::map_reduce_columns_function both = columns_kernel(c, r.monoid);
    std::byte* const to =
        column_accumulators_ + static_cast<std::size_t>(column_) * r.kernels->accumulator_bytes;
    std::array<const void*, ir::region::max_leaves * column_block_rows> pointers;
    const auto count = static_cast<std::size_t>(c.operand_count);
    const row_operands at = operands_at(c, operands, 0, height());
    // Operand by operand: of a row's few pointers compilers make a call of memcpy, which reads what
    // was only just written (sum(x y) over 20,000 rows of 16: 197 us so, 81 by operands).
    for (std::int64_t first = 0; first < height(); first += column_block_rows) {
      const std::int64_t rows = std::min(column_block_rows, height() - first);
      for (std::size_t k = 0; k < count; ++k)
        for (std::int64_t row = 0; row < rows; ++row)
          pointers[static_cast<std::size_t>(row) * count + k] =
              rows_.are_even()
                  ? static_cast<const std::byte*>(at.pointers[k]) + (first + row) * at.steps[k]
                  : address(operands[k], first + row);
      both(rows, width_, walk_of_columns(c), pointers.data(), to);
    }
  }

  const tile_program& p_;
  std::byte* const* bases_;
  std::byte *scratch_, *row_values_, *accumulators_;
  std::byte* column_accumulators_ = nullptr;
  block_sums sums_;
  pair_memory pair_;
  row_walk rows_;
  std::array<external_block, most_products> external_;
  bool are_whole_ = false;  // the rows at hand: what they are reduced to is a result
  std::int64_t row_ = 0, origin_ = 0, column_ = 0, width_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
