// SPDX-License-Identifier: MIT
// Checks what stands around the commands of a bound tile program: loops that are what their axes
// say, streams inside of their buffers, scratch memory that is large enough and holds nothing
// twice, lists that follow one another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/exec/bind_walk.hpp>
#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/graph/extent_range.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// What a nest provides for a program.
struct tile_surroundings {
  std::span<const lowered_buffer> buffers;
  const kernel_table* kernels = nullptr;  // null: that kernels fit their names is not checked
  std::vector<dtype> externals{};         // of the blocks that are handed in
  bool externals_hold_values = true;      // before the program writes them
  bool externals_packed = false;          // rows lie one behind the other
  bool writes_external = false;           // the result goes over external value 0
  bool accumulates_columns = false;
  bool sums_rows = false;    // into the buffers that the program's sums name
  bool writes_all = true;    // a store covers its buffer
  int written_by_nest = -1;  // a buffer, whose stream no command need use
};

namespace detail {

// The first and last element that a view touches, and whether it touches none twice.
struct reach {
  std::int64_t first = 0, last = 0;
  bool any = true, injective = true;
};

inline reach reach_of(std::int64_t offset, std::span<const std::int64_t> extents,
                      std::span<const std::int64_t> strides) {
  reach out{offset, offset};
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, extent
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 0) out.any = false;
    const std::int64_t end = ir::detail::saturating_mul(extents[axis] - 1, strides[axis]);
    std::int64_t& side = end < 0 ? out.first : out.last;
    side = ir::detail::saturating_add(side, end);
    if (extents[axis] > 1)
      steps.emplace_back(strides[axis] < 0 ? -strides[axis] : strides[axis], extents[axis]);
  }
  std::ranges::sort(steps);
  std::int64_t width = 1;
  for (const auto& step : steps) {
    out.injective = out.injective && step.first >= width;
    width =
        ir::detail::saturating_add(width, ir::detail::saturating_mul(step.second - 1, step.first));
  }
  return out;
}

inline bool stays_inside(const reach& r, const lowered_buffer& b) {
  const reach all =
      reach_of(0, {b.shape.begin(), b.shape.size()}, {b.strides.begin(), b.strides.size()});
  return !r.any || (all.any && r.first >= all.first && r.last <= all.last);
}

// What a stream touches over the whole walk.
inline reach stream_reach(const tile_program& p, const stream& s) {
  std::vector<std::int64_t> extents(p.axes.outer.begin(), p.axes.outer.end()),
      strides(s.outer.begin(), s.outer.end());
  extents.insert(extents.end(), p.axes.inner.begin(), p.axes.inner.end());
  strides.insert(strides.end(), s.inner.begin(), s.inner.end());
  return reach_of(s.offset, extents, strides);
}

// How many places of each kind scratch memory has.
struct scratch_room {
  std::size_t rows = 0, singles = 0, slots = 0;
};

class frame_verifier {
 public:
  frame_verifier(const tile_program& p, const tile_surroundings& around, std::string_view who)
      : p_(p), around_(around), who_(who) {}

  scratch_room verify() {
    check_walk();
    for (std::size_t i = 0; i < p_.streams.size(); ++i) check_stream(i);
    for (std::size_t i = 0; i < p_.constants.size(); ++i) check_constant(i);
    check_layout();
    check_lists();
    for (std::size_t i = 0; i < p_.reductions.size(); ++i) check_reduction(i);
    check_sums();
    return room_;
  }

 private:
  using memory = location::memory;

  // Programs may be read from text: no number overflows, no list grows without end.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 48;
  static constexpr std::size_t most_scratch = std::size_t{1} << 30;

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  [[noreturn]] void fail(const std::string& what) const {
    raise(graph_error(std::string(who_) + (at_.empty() ? "" : ", " + at_) + ": " + what));
  }
  void require(bool holds, const char* what) const {
    if (!holds) fail(what);
  }

  void check_walk() {
    const walk& w = p_.axes;
    for (const auto& extents : {w.outer, w.inner})
      for (std::int64_t e : extents) require(e >= 0, "axes: a negative extent");
    require(element_count(w.outer) == w.rows, "rows: not the product of the outer axes");
    require(element_count(w.inner) == w.columns, "columns: not the product of the inner axes");
    require(
        w.rows <= most_elements && ir::detail::saturating_mul(w.rows, w.columns) <= most_elements,
        "rows and columns: more elements than there can be");
    require(p_.tile_rows >= 1 && p_.chunk >= 1, "tile: without rows or columns");
    require(p_.chunk <= std::max<std::int64_t>(1, w.columns), "tile: more columns than there are");
    require(p_.tile_rows <= std::max<std::int64_t>(1, w.rows), "tile: more rows than there are");
    const bool takes_more =
        !p_.split && p_.is_one_kernel() && p_.sums.empty() && p_.row_capacity <= w.rows;
    require(p_.row_capacity == (p_.split ? std::max<std::int64_t>(1, w.rows) : p_.tile_rows) ||
                (takes_more && p_.row_capacity > p_.tile_rows),
            "capacity: not the rows that row slots have to hold");
    require(!p_.split || (p_.tile_rows == 1 && !p_.aligned_rows),
            "split: tiles of more than one row");
    require(!p_.aligned_rows || (!w.outer.empty() && p_.tile_rows <= w.outer.back()),
            "aligned: tiles longer than the last outer axis");
  }

  void check_stream(std::size_t i) {
    const stream& s = p_.streams[i];
    at_ = "stream " + std::to_string(i);
    require(s.outer.size() == p_.axes.outer.size() && s.inner.size() == p_.axes.inner.size(),
            "strides: not one per axis");
    require(s.element_size == size_of(s.type), "type: of another size than the elements");
    const reach all = stream_reach(p_, s);
    if (s.buffer >= 0) {
      require(index(s.buffer) < around_.buffers.size(), "buffer: there is none of this number");
      const lowered_buffer& b = around_.buffers[index(s.buffer)];
      require(b.type == s.type, "type: not that of the buffer");
      require(stays_inside(all, b), "offset and strides: leave the buffer");
    } else {
      require(!all.any || (all.first >= 0 && all.last < most_elements),
              "offset and strides: positions that there are not");
    }
    stream again = s;
    classify(p_.axes, again);
    require(again.step == s.step, "step: not that of the inner axes");
    require(again.linear == s.linear, "linear: not as the inner strides are");
    require(again.dense == s.dense, "dense: not as the strides are");
    require(again.invariant == s.invariant, "invariant: not as the outer strides are");
    for (std::size_t axis = 0; axis < s.outer.size(); ++axis)
      require(p_.row_steps.size() == p_.streams.size() * s.outer.size() &&
                  p_.row_steps[axis * p_.streams.size() + i] == s.outer[axis],
              "row steps: not the outer strides");
    at_.clear();
  }

  void check_constant(std::size_t i) const {
    const bound_constant& c = p_.constants[i];
    const std::size_t bits = 8 * size_of(c.type);
    const auto word = static_cast<std::uint64_t>(c.word);
    const std::uint64_t rest = bits >= 64 ? 0 : word >> bits;
    if (rest != 0 || (c.type == dtype::boolean && word > 1))
      fail("constant " + std::to_string(i) + ": no " + std::string(name(c.type)));
  }

  void check_layout() {
    at_ = "scratch";
    const auto rows = static_cast<std::size_t>(p_.row_capacity);
    require(p_.streams.size() * (rows + 1) * sizeof(std::int64_t) <= p_.rows_offset,
            "rows: over the offsets of streams");
    require(p_.rows_offset <= p_.accumulators_offset && p_.accumulators_offset <= p_.singles_offset,
            "accumulators: over the rows or the singles");
    require(p_.accumulators_bytes <= p_.singles_offset - p_.accumulators_offset,
            "accumulators: over the singles");
    require(p_.singles_offset <= p_.slots_offset, "slots: over the singles");
    std::size_t end = p_.slots_offset;
    for (std::size_t offset : p_.kept_offsets) {
      require(offset >= end, "kept: over what lies before");
      end = offset;
    }
    require(p_.scratch_bytes <= most_scratch, "its size: more than a thread has");
    require(p_.scratch_bytes >= end, "its size: less than its parts");
    for (std::size_t offset : {p_.rows_offset, p_.accumulators_offset, p_.singles_offset,
                               p_.slots_offset, p_.slot_bytes})
      require(offset % 64 == 0, "offsets: not whole lines");
    constexpr auto padding = static_cast<std::size_t>(row_padding);
    require(p_.row_slot_bytes >= (rows + padding - 1) / padding * padding * 8,
            "rows: too short for a value per row");
    room_.rows = (p_.accumulators_offset - p_.rows_offset) / p_.row_slot_bytes;
    room_.singles = (p_.slots_offset - p_.singles_offset) / 8;
    require(p_.slot_bytes > 0, "slots: without bytes");
    const std::size_t kept = p_.kept_offsets.empty() ? p_.scratch_bytes : p_.kept_offsets[0],
                      slots_end = p_.sums.empty() ? kept : p_.sums_offset;
    require(p_.slots_offset <= slots_end && slots_end <= kept, "sums: over the slots");
    room_.slots = (slots_end - p_.slots_offset) / p_.slot_bytes;
    require(p_.split || p_.row_capacity == p_.tile_rows ||
                (room_.slots == 0 && p_.kept_offsets.empty()),
            "slots: too short for the rows of a kernel");
    at_.clear();
  }

  // What rows sum up to: blocks in scratch memory, and where the results go.
  void check_sums() {
    std::size_t next = 0;
    for (std::size_t i = 0; i < p_.sums.size(); ++i) {
      const column_sum& s = p_.sums[i];
      at_ = "sum " + std::to_string(i);
      require(around_.sums_rows && !p_.split, "its rows: they are not summed up");
      require(s.reduction >= 0 && index(s.reduction) < p_.reductions.size(),
              "accumulator: there is none of this number");
      const bound_reduction& r = p_.reductions[index(s.reduction)];
      require(r.kernels != nullptr && r.kernels->block != nullptr && r.monoid == monoid::sum &&
                  !r.result.valid(),
              "accumulator: no sum of floats, or one of rows");
      require(r.offset == next, "offset: not behind the one before");
      next += bytes_of_columns(p_, r);
      require(next <= most_scratch, "offset: more than a thread has");
      require(s.buffer >= 0 && index(s.buffer) < around_.buffers.size(),
              "buffer: there is none of this number");
      const lowered_buffer& b = around_.buffers[index(s.buffer)];
      require(b.type == r.type, "type: not that of the buffer");
      require(b.strides == row_major_strides(b.shape) && s.offset >= 0 &&
                  s.offset + p_.axes.columns <= element_count(b.shape),
              "buffer: no element per column");
    }
    const std::size_t end = p_.kept_offsets.empty() ? p_.scratch_bytes : p_.kept_offsets[0];
    if (!p_.sums.empty())
      require(p_.sums_offset % 64 == 0 && next <= end - p_.sums_offset,
              "its block: over what lies behind");
    at_.clear();
  }

  // Rows before a phase, the phase, ..., rows behind the last phase, the prologue.
  void check_lists() {
    require(p_.row_lists.size() == p_.phase_lists.size() + 1 && !p_.phase_lists.empty(),
            "phases: not one more list of rows than there are");
    int next = 0;
    const auto follows = [&](command_range r) {
      require(r.first == next && r.last >= r.first, "lists: they do not follow one another");
      next = r.last;
    };
    for (std::size_t i = 0; i < p_.phase_lists.size(); ++i) {
      follows(p_.row_lists[i]);
      follows(p_.phase_lists[i]);
    }
    follows(p_.row_lists.back());
    follows(p_.prologue);
    require(next == static_cast<int>(p_.commands.size()), "lists: they leave out commands");
  }

  void check_reduction(std::size_t i) {
    const bound_reduction& r = p_.reductions[i];
    at_ = "accumulator " + std::to_string(i);
    require(r.kernels != nullptr && r.kernels->row != nullptr, "kernels: none");
    if (around_.kernels != nullptr)
      require(r.kernels == &around_.kernels->reduction(r.monoid, r.type),
              "kernels: not those of its monoid and dtype");
    require(r.phase >= 0 && index(r.phase) < p_.phase_lists.size(), "phase: there is none");
    if (!r.result.valid()) {
      const auto sums = std::ranges::count(p_.sums, static_cast<int>(i), &column_sum::reduction);
      require((around_.accumulates_columns ? 1 : 0) + sums == 1, "result: nowhere, or twice");
      require(!r.in_place, "in place: without a result");
      at_.clear();
      return;
    }
    require(!around_.accumulates_columns, "result: the nest has the accumulators");
    require(r.result.where == memory::row_slot && r.result.extent == value_class::row,
            "result: not one value per row");
    require(index(r.result.index) < room_.rows, "result: there is no such row");
    require(r.result.element_size == size_of(result_type(r)), "result: of another size");
    if (r.in_place) {
      require(!p_.split && r.kernels->accumulator_bytes == size_of(result_type(r)),
              "in place: accumulators are no results");
    } else {
      const std::size_t end =
          r.offset + static_cast<std::size_t>(p_.row_capacity) * r.kernels->accumulator_bytes;
      require(end <= p_.accumulators_bytes, "offset: leaves the accumulators");
      require(r.offset % 64 == 0, "offset: no whole line");
      for (std::size_t k = 0; k < i; ++k) {
        const bound_reduction& other = p_.reductions[k];
        if (other.in_place || !other.result.valid()) continue;
        const std::size_t other_end = other.offset + static_cast<std::size_t>(p_.row_capacity) *
                                                         other.kernels->accumulator_bytes;
        require(end <= other.offset || other_end <= r.offset, "offset: over another accumulator");
      }
    }
    if (r.monoid == monoid::deviations)
      require(
          !r.sum.valid() || (r.sum.where == memory::row_slot && r.sum.extent == value_class::row &&
                             index(r.sum.index) < room_.rows &&
                             r.sum.element_size == size_of(r.type) && r.sum != r.result),
          "sum: not one value per row");
    else
      require(!r.sum.valid(), "sum: beside something else than deviations");
    for (std::size_t k = 0; k < i; ++k) {
      const bound_reduction& other = p_.reductions[k];
      require(other.result != r.result && other.sum != r.result &&
                  (!r.sum.valid() || (other.result != r.sum && other.sum != r.sum)),
              "result: that of another accumulator");
    }
    at_.clear();
  }

  const tile_program& p_;
  const tile_surroundings& around_;
  std::string_view who_;
  std::string at_;  // what is looked at, for messages
  scratch_room room_;
};

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI::exec
