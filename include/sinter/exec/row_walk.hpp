// SPDX-License-Identifier: MIT
// Goes over the rows of a tile program, tile by tile, and knows where those of the tile at hand are
// in every stream. Rows follow each other along the last outer axis; where it ends, the others
// carry, as the digits of a number do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

class row_walk {
 public:
  /// `offsets`: room for those of all streams in row_capacity + 1 rows.
  row_walk(const tile_program& program, std::int64_t* offsets) : p_(program), offsets_(offsets) {}

  /// Goes to a row of the walk: the next tile begins there.
  void seek(std::int64_t row) {
    next_index_.resize(p_.axes.outer.size());
    for (std::size_t axis = p_.axes.outer.size(); axis-- > 0;) {
      next_index_[axis] = row % p_.axes.outer[axis];
      row /= p_.axes.outer[axis];
    }
    std::int64_t* const next = of_run(p_.row_capacity);
    for (std::size_t s = 0; s < p_.streams.size(); ++s) {
      std::int64_t at = p_.streams[s].offset;
      for (std::size_t axis = 0; axis < next_index_.size(); ++axis)
        at += next_index_[axis] * p_.streams[s].outer[axis];
      next[s] = at;
    }
  }

  /// The next `count` rows of the walk are the tile's.
  void take(std::int64_t count) {
    count_ = count;
    longest_run_ = p_.axes.outer.empty() ? 1 : p_.axes.outer.back();
    first_run_ = std::min(count, rows_left());
    for (std::int64_t row = 0, run = 0; row < count; ++run) row += take_run(run, count - row);
  }
  /// So many times the place where all streams begin.
  void take_first(std::int64_t count) {
    count_ = count;
    first_run_ = longest_run_ = 1;
    for (std::int64_t run = 0; run < count; ++run)
      for (std::size_t s = 0; s < p_.streams.size(); ++s) of_run(run)[s] = p_.streams[s].offset;
  }

  std::int64_t count() const { return count_; }
  /// Are the rows equally far apart in every stream?
  bool are_even() const { return first_run_ == count_; }
  /// Of a stream, in elements.
  std::int64_t offset(std::size_t stream, std::int64_t row) const {
    if (row < first_run_) return offsets_[stream] + row * step(stream);
    const std::int64_t behind = row - first_run_;
    return of_run(1 + behind / longest_run_)[stream] + behind % longest_run_ * step(stream);
  }
  /// Elements between two rows that follow each other along the last outer axis.
  std::int64_t step(std::size_t stream) const {
    const std::size_t axes = p_.axes.outer.size();
    return axes == 0 ? 0 : p_.row_steps[(axes - 1) * p_.streams.size() + stream];
  }
  /// Elements between any two of the tile's rows that follow each other; 0 where that is not one
  /// number.
  std::int64_t stride(std::size_t stream) const {
    if (count_ == 1) return 0;
    if (are_even()) return step(stream);
    const std::int64_t out = offset(stream, 1) - offset(stream, 0);
    for (std::int64_t row = 2; row < count_; ++row)
      if (offset(stream, row) - offset(stream, row - 1) != out) return 0;
    return out;
  }

  /// Rows that are equally far apart in every stream: f(first row, how many).
  template <class F>
  void for_each_run(F f) const {
    for (std::int64_t row = 0, run = first_run_; row < count_;
         row += run, run = std::min(longest_run_, count_ - row))
      f(row, run);
  }
  /// Rows that are equally far apart in this stream: f(first row, how many, elements from one to
  /// the next).
  template <class F>
  void for_each_even_run(std::size_t stream, F f) const {
    const std::int64_t apart = step(stream);
    std::int64_t first = 0;
    for_each_run([&](std::int64_t row, std::int64_t) {
      if (row == 0 || offset(stream, row) - offset(stream, row - 1) == apart) return;
      f(first, row - first, apart);
      first = row;
    });
    if (first < count_) f(first, count_ - first, apart);
  }

 private:
  // Offsets of all streams in the first row of a run; behind the last run, in the next row. (Those
  // of every row, two numbers for each of three elements, took longer to write than to transpose
  // them: [3,100000] 377 µs instead of 73.)
  std::int64_t* of_run(std::int64_t run) const {
    return offsets_ + run * static_cast<std::int64_t>(p_.streams.size());
  }
  // From the next row on, along the last outer axis.
  std::int64_t rows_left() const {
    return p_.axes.outer.empty() ? 1 : p_.axes.outer.back() - next_index_.back();
  }

  // At most `count` rows, as far as the last outer axis goes. Returns how many.
  std::int64_t take_run(std::int64_t run, std::int64_t count) {
    const std::size_t axes = p_.axes.outer.size();
    count = std::min(count, rows_left());
    std::int64_t *const first = of_run(run), *const next = of_run(p_.row_capacity);
    for (std::size_t s = 0; s < p_.streams.size(); ++s) {
      first[s] = next[s];
      next[s] += count * step(s);
    }
    if (axes == 0) return count;  // a single row
    next_index_[axes - 1] += count;
    for (std::size_t axis = axes - 1; axis > 0 && next_index_[axis] == p_.axes.outer[axis]; --axis)
      carry(axis, next);
    return count;
  }

  // An axis begins again and the one before it goes a step further.
  void carry(std::size_t axis, std::int64_t* next) {
    const std::size_t streams = p_.streams.size();
    const std::int64_t* const own = p_.row_steps.data() + axis * streams;
    const std::int64_t* const before = own - streams;
    for (std::size_t s = 0; s < streams; ++s) next[s] += before[s] - own[s] * p_.axes.outer[axis];
    next_index_[axis] = 0;
    ++next_index_[axis - 1];
  }

  const tile_program& p_;
  std::int64_t* offsets_;
  shape_vector next_index_;
  std::int64_t count_ = 0;
  // Rows until the last outer axis ends, or the tile; and how many may follow each other then.
  std::int64_t first_run_ = 0, longest_run_ = 1;
};

}  // namespace sinter::inline SINTER_ABI::exec
