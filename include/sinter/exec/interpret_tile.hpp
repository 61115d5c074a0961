// SPDX-License-Identifier: MIT
// Interprets a bound tile program: the same memory, tiles, phases and order of accumulators as the
// runner's, but every element by itself in plain scalar code, and every place found anew from
// strides. Written for reading and for checking; a hundred times slower than running.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <sinter/exec/element.hpp>
#include <sinter/exec/element_order.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/graph/random.hpp>

namespace sinter::inline SINTER_ABI::exec {

class tile_interpreter {
 public:
  /// `bases`: the first byte of every buffer. The program passed verify_tile. Scratch memory begins
  /// as all ones, so that what reads it unwritten shows.
  tile_interpreter(const tile_program& p, std::byte* const* bases)
      : p_(p), bases_(bases), scratch_(p.scratch_bytes, std::byte{0xff}) {
    for (const bound_reduction& r : p.reductions)
      accumulators_.emplace_back(static_cast<std::size_t>(p.row_capacity), begin_of(r));
  }

  void set_external(const external_block& block, std::size_t number = 0) {
    external_[number] = block;
  }
  /// One per column of the walk, for reductions over the outer axes.
  void set_column_accumulators(std::vector<accumulated>& all) { columns_ = &all; }
  /// Of each of the program's sums, one accumulator per column: blocks of rows go there.
  void set_sums(std::vector<std::vector<accumulated>>& all) {
    sums_ = &all;
    blocks_.assign(p_.sums.size(), std::vector<element>(index_of(p_.axes.columns)));
    block_rows_ = 0;
  }
  /// No row comes any more.
  void end_sums() {
    for (std::size_t i = 0; i < p_.sums.size(); ++i)
      for (std::size_t column = 0; column < (*sums_)[i].size(); ++column) end_block(i, column);
  }
  /// Shifts of all columns, and the accumulators of second values.
  void set_pair(const std::vector<element>& shifts, std::vector<accumulated>& second) {
    shifts_ = &shifts;
    second_ = &second;
  }
  /// What a sum of exponentials is multiplied by when the largest element, which was `before`, is
  /// `after`: nothing was summed before the first one.
  static double rescaling(dtype type, double before, double after) {
    if (before == after || before == -std::numeric_limits<double>::infinity()) return 1;
    const element change =
        evaluate(ir::op::sub, type, {exponentials_from(before), 0}, {exponentials_from(after), 0});
    return evaluate(ir::op::exp, type, change).real;
  }
  static accumulated begin_of(const bound_reduction& r) {
    return {identity_of(r.monoid, r.type), 0, 0};
  }

  /// Once, before all else.
  void begin() {
    take_rows(0, p_.tile_rows, 0);
    column_ = 0;
    width_ = p_.chunk;
    run(p_.prologue);
  }

  /// All lists for these rows and columns, tile by tile.
  void run_all(std::int64_t row_begin, std::int64_t row_end, std::int64_t column_begin,
               std::int64_t column_end) {
    const std::int64_t last = p_.axes.outer.empty() ? 1 : p_.axes.outer.back();
    for (std::int64_t row = row_begin; row < row_end; row += height_) {
      std::int64_t height = std::min(p_.tile_rows, row_end - row);
      if (p_.aligned_rows) height = std::min(height, last - row % last);
      take_rows(row, height, 0);
      run(p_.row_lists[0]);
      for (std::size_t phase = 0; phase < p_.phase_lists.size(); ++phase) {
        reset(phase);
        run_columns(phase, column_begin, column_end);
        finish(phase);
        run(p_.row_lists[phase + 1]);
      }
      block_rows_ = (block_rows_ + height_) % column_block_rows;
    }
  }

  /// A split program, whole: every phase goes through all rows, each in parts whose accumulators
  /// combine in their order.
  void run_split(std::int64_t columns_per_part) {
    const auto all_rows = [&] { take_rows(0, p_.axes.rows, 0); };
    for (std::size_t phase = 0; phase < p_.phase_lists.size(); ++phase) {
      all_rows();
      run(p_.row_lists[phase]);
      reset(phase);
      std::vector<std::vector<accumulated>> total = accumulators_;
      for (std::int64_t row = 0; row < p_.axes.rows; ++row)
        for (std::int64_t column = 0; column < p_.axes.columns; column += columns_per_part) {
          take_rows(row, 1, row);
          reset(phase);
          run_columns(phase, column, std::min(p_.axes.columns, column + columns_per_part));
          const auto at = static_cast<std::size_t>(row);
          for (std::size_t k = 0; k < total.size(); ++k)
            if (is_of(phase, p_.reductions[k]))
              combine(p_.reductions[k].monoid, p_.reductions[k].type, total[k][at],
                      accumulators_[k][at]);
        }
      accumulators_ = total;
      all_rows();
      finish(phase);
    }
    run(p_.row_lists.back());
  }

 private:
  static std::size_t index_of(std::int64_t i) { return static_cast<std::size_t>(i); }
  static bool is_of(std::size_t phase, const bound_reduction& r) {
    return static_cast<std::size_t>(r.phase) == phase && r.result.valid();
  }

  void take_rows(std::int64_t row, std::int64_t height, std::int64_t origin) {
    row_ = row;
    height_ = height;
    origin_ = origin;
  }
  void reset(std::size_t phase) {
    for (std::size_t k = 0; k < p_.reductions.size(); ++k)
      if (is_of(phase, p_.reductions[k]))
        for (std::int64_t r = 0; r < height_; ++r)
          accumulators_[k][static_cast<std::size_t>(origin_ + r)] = begin_of(p_.reductions[k]);
  }
  void finish(std::size_t phase) {
    for (std::size_t k = 0; k < p_.reductions.size(); ++k) {
      const bound_reduction& own = p_.reductions[k];
      if (!is_of(phase, own)) continue;
      for (std::int64_t r = 0; r < height_; ++r) {
        const accumulated& a = accumulators_[k][static_cast<std::size_t>(origin_ + r)];
        const element result = own.monoid == monoid::argmax       ? element{0, a.index}
                               : own.monoid == monoid::deviations ? element{a.moments.deviations, 0}
                                                                  : a.value;
        write_element(result_type(own), result, address(own.result, r, 0));
        if (own.sum.valid())
          write_element(own.type, {a.moments.whole_sum(), 0}, address(own.sum, r, 0));
      }
    }
  }
  void run_columns(std::size_t phase, std::int64_t begin, std::int64_t end) {
    for (column_ = begin; column_ < end; column_ += width_) {
      width_ = std::min(p_.chunk, end - column_);
      run(p_.phase_lists[phase]);
    }
  }

  // ---- places

  // The element of a stream at a row and column of the walk, whose extents may be 0.
  std::int64_t offset(const stream& s, std::int64_t row, std::int64_t column) const {
    std::int64_t at = s.offset;
    for (std::size_t axis = p_.axes.outer.size(); row != 0 && axis-- > 0;
         row /= p_.axes.outer[axis])
      at += row % p_.axes.outer[axis] * s.outer[axis];
    for (std::size_t axis = p_.axes.inner.size(); column != 0 && axis-- > 0;
         column /= p_.axes.inner[axis])
      at += column % p_.axes.inner[axis] * s.inner[axis];
    return at;
  }
  std::byte* stream_at(int number, std::int64_t row, std::int64_t column) const {
    const stream& s = p_.streams[static_cast<std::size_t>(number)];
    return bases_[s.buffer] + offset(s, row, column) * static_cast<std::int64_t>(s.element_size);
  }

  // Of row r of the tile and column c of the walk.
  std::byte* address(const location& l, std::int64_t r, std::int64_t c) {
    const auto size = static_cast<std::int64_t>(l.element_size);
    const auto number = static_cast<std::size_t>(l.index);
    switch (l.where) {
      case location::memory::slot:
        return scratch_.data() + p_.slots_offset + number * p_.slot_bytes +
               (r * width_ + c - column_) * size;
      case location::memory::kept:
        return scratch_.data() + p_.kept_offsets[number] + (r * p_.axes.columns + c) * size;
      case location::memory::row_slot:
        return scratch_.data() + p_.rows_offset + number * p_.row_slot_bytes + (origin_ + r) * size;
      case location::memory::single_slot: return scratch_.data() + p_.singles_offset + number * 8;
      case location::memory::constant:
        std::memcpy(constant_.data(), &p_.constants[number].word, constant_.size());
        return constant_.data();
      case location::memory::stream:
        switch (l.extent) {
          case value_class::single: return stream_at(l.index, 0, 0);
          case value_class::row: return stream_at(l.index, row_ + r, 0);
          case value_class::full: return stream_at(l.index, row_ + r, c);
        }
        return nullptr;
      case location::memory::external: {
        const external_block& block = external_[number];
        return block.at + ((row_ + r - block.row) * block.pitch + c - block.column) * size;
      }
      case location::memory::none: break;
    }
    return nullptr;
  }

  // Calls f(row of the tile, column of the walk) for every value of this extent.
  template <class F>
  void for_each(value_class extent, F f) {
    const std::int64_t rows = extent == value_class::single ? 1 : height_;
    const std::int64_t columns = extent == value_class::full ? width_ : 1;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        f(r, extent == value_class::full ? column_ + c : 0);
  }

  // ---- commands

  void run(command_range list) {
    for (int i = list.first; i < list.last; ++i) execute(p_.commands[static_cast<std::size_t>(i)]);
  }

  element operand(const command& c, int k, std::int64_t row, std::int64_t column) {
    const location& l = p_.operands_of(c)[static_cast<std::size_t>(k)];
    return read_element(operand_type(p_, c, k), address(l, row, column));
  }

  element position(const command& c, std::int64_t row, std::int64_t column) const {
    return {0, offset(p_.streams[static_cast<std::size_t>(c.stream)], row_ + row, column)};
  }

  void execute(const command& c) {
    switch (c.kind) {
      case command_kind::load:
        return for_each(c.target.extent, [&](std::int64_t row, std::int64_t column) {
          std::memcpy(address(c.target, row, column), stream_at(c.stream, row_ + row, column),
                      size_of(c.type));
        });
      case command_kind::expand:
        return for_each(c.target.extent, [&](std::int64_t row, std::int64_t column) {
          write_element(c.type, operand(c, 0, row, column), address(c.target, row, column));
        });
      case command_kind::iota:
        return for_each(c.target.extent, [&](std::int64_t row, std::int64_t column) {
          write_element(c.type, cast_element(dtype::i64, c.type, position(c, row, column)),
                        address(c.target, row, column));
        });
      case command_kind::random:
        return for_each(c.target.extent, [&](std::int64_t row, std::int64_t column) {
          const std::int64_t key = operand(c, 0, row, column).whole;
          const double x =
              ir::uniform(key, c.attribute, position(c, row, column).whole, c.type == dtype::f64);
          write_element(c.type, {x, 0}, address(c.target, row, column));
        });
      case command_kind::map:
        return for_each(c.target.extent, [&](std::int64_t row, std::int64_t column) {
          write_element(c.type, mapped(c, row, column), address(c.target, row, column));
        });
      case command_kind::map_reduce:
        for (std::int64_t row = 0; row < height_; ++row)
          reduce_row(c, row, [&](std::int64_t column) {
            const element x = mapped(c, row, column);
            if (c.target.valid()) write_element(c.type, x, address(c.target, row, column));
            return x;
          });
        return;
      case command_kind::reduce:
        for (std::int64_t row = 0; row < height_; ++row)
          reduce_row(c, row, [&](std::int64_t column) { return operand(c, 0, row, column); });
        return;
      case command_kind::reduce_columns:
        if (!p_.sums.empty()) return add_to_block(c);
        return reduce_columns(
            c, are_even(p_.operands_of(c).front()),
            [&](std::int64_t row, std::int64_t column) { return operand(c, 0, row, column); });
      case command_kind::reduce_pair:
        return p_.reductions[static_cast<std::size_t>(c.reduction)].monoid == monoid::sum
                   ? add_moments(c)
                   : add_exponentials(c);
      case command_kind::map_reduce_columns:
        return reduce_columns(
            c, true, [&](std::int64_t row, std::int64_t column) { return mapped(c, row, column); });
      case command_kind::store: {
        const value_class extent = p_.operands_of(c).front().extent;
        return for_each(extent, [&](std::int64_t row, std::int64_t column) {
          write_element(c.type, operand(c, 0, row, column),
                        stream_at(c.stream, row_ + row, column));
        });
      }
    }
  }

  element mapped(const command& c, std::int64_t row, std::int64_t column) {
    std::array<element, ir::region::max_leaves> in;
    for (int k = 0; k < c.operand_count; ++k)
      in[static_cast<std::size_t>(k)] = operand(c, k, row, column);
    if (c.fused != nullptr) return evaluate_region(c.fused->structure, in.data());
    if (c.custom != nullptr) return evaluate_custom(*c.custom, c.type, in.data());
    if (c.code == ir::op::cast) return cast_element(c.operand_type, c.type, in[0]);
    if (c.code == ir::op::bitcast) return bitcast_element(c.operand_type, c.type, in[0]);
    return evaluate(c.code, c.operand_type, in[0], in[1], in[2]);
  }

  // The columns of the tile into the accumulator of a row; x(column) is an element.
  template <class X>
  void reduce_row(const command& c, std::int64_t row, X x) {
    const auto number = static_cast<std::size_t>(c.reduction);
    const bound_reduction& r = p_.reductions[number];
    accumulated& total = accumulators_[number][static_cast<std::size_t>(origin_ + row)];
    std::vector<element> all;
    for (std::int64_t column = column_; column < column_ + width_; ++column)
      all.push_back(x(column));
    if (r.monoid == monoid::argmax) {
      for (const element& each : all) combine(r.monoid, r.type, total, {each, 0, 1});
      return;
    }
    if (r.monoid == monoid::deviations) return add_moments_of(r, all, total);
    const element part = row_order(r.monoid, r.type, r.kernels->lanes, all).reduce();
    combine(r.monoid, r.type, total, {part, 0, 1});
  }

  // Block by block, as row_moments.hpp has it.
  static void add_moments_of(const bound_reduction& r, std::span<const element> row,
                             accumulated& total) {
    const auto lanes = static_cast<std::size_t>(r.kernels->lanes);
    const std::size_t most = row_order::block_groups * lanes, sample = moments_sample * lanes;
    for (; !row.empty(); row = row.subspan(std::min(row.size(), most))) {
      const moments_state of = block_moments(r, row.first(std::min(row.size(), most)), sample);
      merge_moments(of, total.moments);
    }
  }
  static moments_state block_moments(const bound_reduction& r, std::span<const element> x,
                                     std::size_t sample) {
    const auto of = [&](ir::op code, const element& a, const element& b) {
      return evaluate(code, r.type, a, b);
    };
    const auto order = [&](std::span<const element> all) {
      return row_order(monoid::sum, r.type, r.kernels->lanes, all);
    };
    const auto number = [](std::size_t n) { return element{static_cast<double>(n), 0}; };
    const std::span<const element> first = x.first(std::min(x.size(), sample));
    element shift = of(ir::op::div, order(first).reduce(), number(first.size()));
    if (!(std::abs(shift.real) <= largest_shift(r.type, moments_block))) shift = {};
    std::vector<element> distances;
    for (const element& each : x) distances.push_back(of(ir::op::sub, each, shift));
    const bool fused = r.kernels->fuses_squares;
    const element sum = order(distances).reduce(), squares = order(distances).reduce_squares(fused);
    const element share = of(ir::op::div, {-1, 0}, number(x.size()));
    const element deviations =
        multiply_add(r.type, fused, of(ir::op::mul, sum, share), sum, squares);
    return {static_cast<double>(x.size()), shift.real, sum.real,
            checked_deviations(deviations.real, sum.real, squares.real)};
  }

  // The rows of the tile, one after the other, to what the block has summed up.
  void add_to_block(const command& c) {
    const auto found = std::ranges::find(p_.sums, c.reduction, &column_sum::reduction);
    const auto sum = static_cast<std::size_t>(found - p_.sums.begin());
    const bound_reduction& r = p_.reductions[index_of(c.reduction)];
    for_each(value_class::full, [&](std::int64_t row, std::int64_t column) {
      element& block = blocks_[sum][index_of(column)];
      block = combine(r.monoid, r.type, block, operand(c, 0, row, column));
      if ((block_rows_ + row + 1) % column_block_rows == 0) end_block(sum, index_of(column));
    });
  }
  void end_block(std::size_t sum, std::size_t column) {
    const bound_reduction& r = reduction_of(p_, p_.sums[sum]);
    element& block = blocks_[sum][column];
    combine(r.monoid, r.type, (*sums_)[sum][column], {block, 0, 1});
    block = {};
  }

  // Rows in blocks, each combined before it meets the accumulator; one by one where they do not lie
  // equally far apart. x(row, column) is an element.
  template <class X>
  void reduce_columns(const command& c, bool even, X x) {
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    const std::int64_t block = r.monoid != monoid::argmax && even ? column_block_rows : 1;
    for (std::int64_t column = column_; column < column_ + width_; ++column)
      for (std::int64_t row = 0; row < height_; row += block) {
        accumulated part{x(row, column), 0, 1};
        for (std::int64_t i = row + 1; i < std::min(height_, row + block); ++i)
          part.value = combine(r.monoid, r.type, part.value, x(i, column));
        combine(r.monoid, r.type, (*columns_)[static_cast<std::size_t>(column)], part);
      }
  }

  // Distances from the shift of a column and their squares, in blocks of rows as above.
  void add_moments(const command& c) {
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    const std::int64_t block = are_even(p_.operands_of(c).front()) ? column_block_rows : 1;
    const auto of = [&](ir::op code, const element& a, const element& b) {
      return evaluate(code, r.type, a, b);
    };
    for (std::int64_t column = column_; column < column_ + width_; ++column)
      for (std::int64_t row = 0; row < height_; row += block) {
        const auto at = static_cast<std::size_t>(column);
        accumulated sum, square;
        for (std::int64_t i = row; i < std::min(height_, row + block); ++i) {
          const element distance = of(ir::op::sub, operand(c, 0, i, column), (*shifts_)[at]);
          sum.value = of(ir::op::add, sum.value, distance);
          square.value = of(ir::op::add, square.value, of(ir::op::mul, distance, distance));
        }
        combine(monoid::sum, r.type, (*columns_)[at], sum);
        combine(monoid::sum, r.type, (*second_)[at], square);
      }
  }

  // Exponentials of distances from the largest element so far, in spans of rows and four at a time.
  void add_exponentials(const command& c) {
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    const bool even = are_even(p_.operands_of(c).front());
    const std::int64_t span = even ? exponentials_span_rows : 1;
    const auto of = [&](ir::op code, const element& a, const element& b = {}) {
      return evaluate(code, r.type, a, b);
    };
    for (std::int64_t column = column_; column < column_ + width_; ++column)
      for (std::int64_t row = 0; row < height_; row += span) {
        const auto at = static_cast<std::size_t>(column);
        const std::int64_t end = std::min(height_, row + span);
        element& largest = (*columns_)[at].value;
        const double before = largest.real;
        for (std::int64_t i = row; i < end; ++i)
          largest = of(ir::op::maximum, largest, operand(c, 0, i, column));
        const element from{exponentials_from(largest.real), 0};
        const auto e = [&](std::int64_t i) {
          return of(ir::op::exp, of(ir::op::sub, operand(c, 0, i, column), from));
        };
        const auto add = [&](const element& a, const element& b) { return of(ir::op::add, a, b); };
        element part;
        std::int64_t i = row;
        for (; i + 4 <= end; i += 4)
          part = add(part, add(add(e(i), e(i + 1)), add(e(i + 2), e(i + 3))));
        for (; i < end; ++i) part = add(part, e(i));
        element& sum = (*second_)[at].value;
        sum.real = sum.real * rescaling(dtype::f64, before, largest.real) + part.real;
      }
  }

  // Do the rows of the tile lie equally far apart, and not on one another?
  bool are_even(const location& l) const {
    if (l.where != location::memory::stream || height_ == 1) return true;
    const stream& s = p_.streams[static_cast<std::size_t>(l.index)];
    const std::int64_t apart = offset(s, row_ + 1, 0) - offset(s, row_, 0);
    for (std::int64_t r = 2; r < height_; ++r)
      if (offset(s, row_ + r, 0) - offset(s, row_ + r - 1, 0) != apart) return false;
    return apart != 0;
  }

  const tile_program& p_;
  std::byte* const* bases_;
  std::vector<std::byte> scratch_;
  std::vector<std::vector<accumulated>> accumulators_;  // by reduction and row
  std::vector<accumulated>* columns_ = nullptr;
  std::vector<std::vector<accumulated>>* sums_ = nullptr;
  std::vector<std::vector<element>> blocks_;  // by sum and column
  std::int64_t block_rows_ = 0;               // before the tile at hand
  const std::vector<element>* shifts_ = nullptr;
  std::vector<accumulated>* second_ = nullptr;
  std::array<external_block, most_products> external_{};
  std::array<std::byte, 8> constant_{};
  std::int64_t row_ = 0, height_ = 0, origin_ = 0, column_ = 0, width_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
