// SPDX-License-Identifier: MIT
// Interprets lowered plans, nest by nest, in plain scalar code on one thread: the third interpreter
// beside those of graphs and schedules. It shares nothing with the runners but the values they
// bound.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/element.hpp>
#include <sinter/exec/interpret_custom.hpp>
#include <sinter/exec/interpret_products.hpp>
#include <sinter/exec/interpret_tile.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

class plan_interpreter {
 public:
  explicit plan_interpreter(const lowered_plan& p)
      : p_(p), arena_(p.arena_bytes, std::byte{0xff}), bases_(p.buffers.size()) {}

  void run(std::span<const void* const> arguments, std::span<void* const> outputs,
           std::span<std::byte* const> prepared) {
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) {
      const lowered_buffer& b = p_.buffers[i];
      const auto number = static_cast<std::size_t>(b.number);
      switch (b.place) {
        case planning::place::argument:
          bases_[i] = static_cast<std::byte*>(const_cast<void*>(arguments[number]));
          break;
        case planning::place::output: bases_[i] = static_cast<std::byte*>(outputs[number]); break;
        case planning::place::prepared: bases_[i] = prepared[number]; break;
        case planning::place::arena: bases_[i] = arena_.data() + b.offset; break;
      }
    }
    for (const lowered_nest& n : p_.nests) {
      if (const auto* gather = std::get_if<lowered_gather>(&n); gather != nullptr)
        check(gather->indices, "gather", true);
      if (const auto* scatter = std::get_if<lowered_scatter>(&n); scatter != nullptr)
        check(scatter->indices, "scatter_add", true);
    }
    for (const lowered_nest& n : p_.nests) std::visit([&](const auto& own) { run(own); }, n);
  }

 private:
  void run(const lowered_tiles& n) const {
    const walk& axes = n.program.axes;
    if (!n.program.sums.empty()) return run_sums(n);
    tile_interpreter program(n.program, bases_.data());
    // A reduction over no elements gives identities; without reductions there is nothing to do.
    if (axes.rows == 0 || (axes.columns == 0 && n.program.reductions.empty())) return;
    program.begin();
    if (n.program.split) return program.run_split(n.columns_per_task);
    for (std::int64_t row = 0; row < axes.rows; row += n.rows_per_task)
      for (std::int64_t column = 0; column == 0 || column < axes.columns;
           column += n.columns_per_task)
        program.run_all(row, std::min(axes.rows, row + n.rows_per_task), column,
                        std::min(axes.columns, column + n.columns_per_task));
  }

  // Groups of rows with accumulators of their own, which combine in order.
  void run_sums(const lowered_tiles& n) const {
    const tile_program& p = n.program;
    const auto columns = static_cast<std::size_t>(p.axes.columns);
    const std::vector<std::vector<accumulated>> none(p.sums.size(),
                                                     std::vector<accumulated>(columns));
    std::vector<std::vector<accumulated>> total = none;
    for (std::int64_t row = 0; row < p.axes.rows; row += n.rows_per_task) {
      std::vector<std::vector<accumulated>> group = none;
      tile_interpreter program(p, bases_.data());
      program.set_sums(group);
      program.begin();
      program.run_all(row, std::min(p.axes.rows, row + n.rows_per_task), 0, p.axes.columns);
      program.end_sums();
      for (std::size_t i = 0; i < group.size(); ++i)
        for (std::size_t j = 0; j < columns; ++j)
          combine(monoid::sum, reduction_of(p, p.sums[i]).type, total[i][j], group[i][j]);
    }
    for (std::size_t i = 0; i < total.size(); ++i) {
      const column_sum& s = p.sums[i];
      const dtype type = reduction_of(p, s).type;
      const auto size = static_cast<std::int64_t>(size_of(type));
      for (std::size_t j = 0; j < columns; ++j)
        write_element(type, total[i][j].value,
                      bases_[static_cast<std::size_t>(s.buffer)] +
                          (s.offset + static_cast<std::int64_t>(j)) * size);
    }
  }

  // Both accumulators of rows [begin, end) of a batch; moments are distances from the shifts.
  struct pair_of_rows {
    std::vector<accumulated> first, second;
  };
  pair_of_rows pair(const lowered_columns& n, const std::vector<element>& shifts,
                    std::int64_t begin, std::int64_t end) const {
    const auto columns = static_cast<std::size_t>(n.columns);
    const bound_reduction& r = n.map.reductions.front();
    pair_of_rows out{std::vector<accumulated>(columns, tile_interpreter::begin_of(r)),
                     std::vector<accumulated>(columns)};
    tile_interpreter map(n.map, bases_.data());
    map.set_column_accumulators(out.first);
    map.set_pair(shifts, out.second);
    map.begin();
    map.run_all(begin, end, 0, n.columns);
    return out;
  }
  // All groups into the first one.
  static pair_of_rows combined(const std::vector<pair_of_rows>& groups, const bound_reduction& r) {
    pair_of_rows total = groups.front();
    for (std::size_t j = 0; j < total.first.size(); ++j) {
      for (std::size_t g = 1; g < groups.size(); ++g) {
        combine(r.monoid, r.type, total.first[j], groups[g].first[j]);
        if (r.monoid == monoid::sum)
          combine(monoid::sum, r.type, total.second[j], groups[g].second[j]);
      }
      if (r.monoid == monoid::sum) continue;
      double sum = 0;
      for (const pair_of_rows& group : groups)
        sum += group.second[j].value.real * tile_interpreter::rescaling(r.type,
                                                                        group.first[j].value.real,
                                                                        total.first[j].value.real);
      total.second[j].value.real = sum;
    }
    return total;
  }

  // The means of some rows of a batch.
  std::vector<element> find_shifts(const lowered_columns& n, std::int64_t b) const {
    const bound_reduction& r = n.map.reductions.front();
    std::vector<element> shifts(static_cast<std::size_t>(n.columns));
    // From 0 first, the sum of distances being that of the elements.
    std::vector<pair_of_rows> samples;
    std::int64_t count = 0;
    for (std::int64_t row = 0; row == 0 || row < n.reduced; row += planning::moment_sample_step) {
      const std::int64_t end = std::min(n.reduced, row + planning::moment_sample_rows);
      samples.push_back(pair(n, shifts, b * n.reduced + row, b * n.reduced + end));
      count += end - row;
    }
    const pair_of_rows sample = combined(samples, r);
    for (std::size_t j = 0; j < shifts.size(); ++j)
      shifts[j] = stored(r.type, {shift_of(count, sample.first[j].value.real, r.type), 0});
    return shifts;
  }

  // The results of a column.
  static std::array<double, 2> finished(const lowered_columns& n, double shift, double first,
                                        double second) {
    if (n.map.reductions.front().monoid == monoid::max)
      return {first, exponentials_result(n.reduced, n.guarded, first, second)};
    const moments_result of = moments_of(n.reduced, shift, first, second);
    return {of.sum, of.deviations};
  }

  void run_pair(const lowered_columns& n, std::int64_t b) const {
    const bound_reduction& r = n.map.reductions.front();
    const dtype type = r.type;
    const auto columns = static_cast<std::size_t>(n.columns);
    const std::vector<element> shifts =
        r.monoid == monoid::sum ? find_shifts(n, b) : std::vector<element>(columns);
    std::vector<pair_of_rows> groups;
    for (std::int64_t row = 0; row == 0 || row < n.reduced; row += n.rows_per_group)
      groups.push_back(pair(n, shifts, b * n.reduced + row,
                            b * n.reduced + std::min(n.reduced, row + n.rows_per_group)));
    const pair_of_rows total = combined(groups, r);
    std::vector<std::byte> first(columns * size_of(type)), second(first.size());
    for (std::size_t j = 0; j < columns; ++j) {
      const auto [one, other] =
          finished(n, shifts[j].real, total.first[j].value.real, total.second[j].value.real);
      write_element(type, {one, 0}, first.data() + j * size_of(type));
      write_element(type, {other, 0}, second.data() + j * size_of(type));
    }
    tile_interpreter rest(n.rest, bases_.data());
    rest.set_external({first.data(), n.columns, b, 0});
    rest.set_external({second.data(), n.columns, b, 0}, 1);
    rest.begin();
    rest.run_all(b, b + 1, 0, n.columns);
  }

  void run(const lowered_columns& n) const {
    if (n.pair) {
      for (std::int64_t b = 0; b < n.batch && n.columns > 0; ++b) run_pair(n, b);
      return;
    }
    const bound_reduction& r = n.map.reductions.front();
    const dtype type = result_type(r);
    const auto columns = static_cast<std::size_t>(n.columns);
    std::vector<std::byte> results(columns * size_of(type));
    for (std::int64_t b = 0; b < n.batch && n.columns > 0; ++b) {
      std::vector<accumulated> total;
      for (std::int64_t row = 0; row == 0 || row < n.reduced; row += n.rows_per_group) {
        std::vector<accumulated> group(columns, tile_interpreter::begin_of(r));
        tile_interpreter map(n.map, bases_.data());
        map.set_column_accumulators(group);
        map.begin();
        map.run_all(b * n.reduced + row,
                    b * n.reduced + std::min(n.reduced, row + n.rows_per_group), 0, n.columns);
        if (row == 0)
          total = group;
        else
          for (std::size_t j = 0; j < columns; ++j) combine(r.monoid, r.type, total[j], group[j]);
      }
      for (std::size_t j = 0; j < columns; ++j)
        write_element(type,
                      r.monoid == monoid::argmax ? element{0, total[j].index} : total[j].value,
                      results.data() + j * size_of(type));
      tile_interpreter rest(n.rest, bases_.data());
      rest.set_external({results.data(), n.columns, b, 0});
      rest.begin();
      rest.run_all(b, b + 1, 0, n.columns);
    }
  }

  // Copies of operands, in memory of the nest's own.
  void make(const std::vector<lowered_copy>& copies) {
    bases_.resize(p_.buffers.size());
    copies_.clear();
    for (const lowered_copy& c : copies) {
      if (bases_.size() <= static_cast<std::size_t>(c.buffer))
        bases_.resize(static_cast<std::size_t>(c.buffer) + 1);
      copies_.emplace_back(static_cast<std::size_t>(element_count(c.shape)) * size_of(c.type));
      bases_[static_cast<std::size_t>(c.buffer)] = copies_.back().data();
      run(c.tiles);
    }
  }

  void run(const lowered_products& n) {
    make(n.copies);
    interpret_products(n, bases_.data());
  }
  void run(const lowered_streamed& n) {
    make(n.copies);
    streamed_interpreter(n, bases_.data()).run();
  }
  void run(const lowered_pack& n) {
    make(n.copies);
    const shape_vector batch = shape_vector::filled(n.matrix.batch_strides.size(), 1);
    const matrix_view from = matrix_of(n.matrix, bases_.data(), batch, 0, n.n, n.type);
    for (std::int64_t i = 0; i < n.k; ++i)
      for (std::int64_t j = 0; j < n.n; ++j)
        write_element(n.type, from(i, j),
                      at(n.target, i * planning::packed_width(n.n) + j, n.type));
  }

  std::byte* at(int buffer, std::int64_t elements, dtype type) const {
    return bases_[static_cast<std::size_t>(buffer)] +
           elements * static_cast<std::int64_t>(size_of(type));
  }

  void run(const lowered_assembly& n) const {
    for (std::int64_t i = 0; n.fills && i < n.count; ++i)
      std::memcpy(at(n.target, n.offset + i, n.type), &n.value.word, size_of(n.type));
    for (const lowered_tiles& piece : n.pieces) run(piece);
  }
  void run(const lowered_alias& n) const {
    for (const lowered_tiles& copy : n.copy) run(copy);
  }

  std::int64_t index(const lowered_indices& n, std::int64_t position) const {
    return read_element(
               n.type,
               at(n.view.buffer,
                  n.view.offset + element_offset(n.view.shape, n.view.strides, position), n.type))
        .whole;
  }
  void check(const lowered_indices& n, const char* op, bool first) const {
    if (n.checked_first != first) return;
    for (std::int64_t i = 0; i < element_count(n.view.shape); ++i)
      if (const std::int64_t value = index(n, i); value < 0 || value >= n.extent)
        raise(index_error(std::string(op) + ": index " + std::to_string(value) +
                          " is outside of extent " + std::to_string(n.extent)));
  }

  void run(const lowered_gather& n) const {
    check(n.indices, "gather", false);
    const std::int64_t count = element_count(n.indices.view.shape), width = element_count(n.behind);
    for (std::int64_t b = 0; b < element_count(n.before); ++b)
      for (std::int64_t i = 0; i < count && width > 0; ++i) {
        const std::int64_t from = n.offset + element_offset(n.before, n.before_strides, b) +
                                  index(n.indices, i) * n.axis_stride;
        for (std::int64_t j = 0; j < width; ++j)
          std::memcpy(at(n.target, n.target_offset + (b * count + i) * width + j, n.type),
                      at(n.source, from + element_offset(n.behind, n.behind_strides, j), n.type),
                      size_of(n.type));
      }
  }

  void run(const lowered_scatter& n) const {
    check(n.indices, "scatter_add", false);
    const std::int64_t count = element_count(n.indexed), width = element_count(n.behind);
    for (std::int64_t b = 0; b < element_count(n.before); ++b) {
      const std::int64_t first = n.target_offset + b * n.indices.extent * width;
      for (std::int64_t i = 0; i < n.indices.extent * width; ++i)
        write_element(n.type, {}, at(n.target, first + i, n.type));
      for (std::int64_t i = 0; i < count && width > 0; ++i) {
        const std::int64_t from = n.offset + element_offset(n.before, n.before_strides, b) +
                                  element_offset(n.indexed, n.indexed_strides, i);
        for (std::int64_t j = 0; j < width; ++j) {
          std::byte* const to = at(n.target, first + index(n.indices, i) * width + j, n.type);
          const std::byte* const update =
              at(n.source, from + element_offset(n.behind, n.behind_strides, j), n.type);
          write_element(
              n.type,
              evaluate(ir::op::add, n.type, read_element(n.type, to), read_element(n.type, update)),
              to);
        }
      }
    }
  }

  void run(const lowered_scan& n) const {
    const std::int64_t width = element_count(n.behind), summed = n.count - (n.exclusive ? 1 : 0);
    for (std::int64_t b = 0; b < element_count(n.before) && n.count > 0; ++b)
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int64_t from = n.offset + element_offset(n.before, n.before_strides, b) +
                                  element_offset(n.behind, n.behind_strides, j);
        // Element k of those that are summed, and the place of its sum; -1: of what is before it.
        const auto source = [&](std::int64_t k) {
          return at(n.source, from + (n.reverse ? n.count - 1 - k : k) * n.axis_stride, n.type);
        };
        const auto target = [&](std::int64_t k) {
          const std::int64_t i = k + n.count - summed;
          return at(n.target,
                    n.target_offset + (b * n.count + (n.reverse ? n.count - 1 - i : i)) * width + j,
                    n.type);
        };
        if (n.exclusive) write_element(n.type, {}, target(-1));
        scan_line(n, summed, source, target);
      }
  }

  template <class Source, class Target>
  static void scan_line(const lowered_scan& n, std::int64_t count, Source source, Target target) {
    const auto add = [&](element a, element b) { return evaluate(ir::op::add, n.type, a, b); };
    element before{};
    for (std::int64_t first = 0; first < count; first += n.block) {
      const std::int64_t last = std::min(count, first + n.block);
      element own{};
      for (std::int64_t k = first; k < last;) {
        std::vector<element> sums(
            static_cast<std::size_t>(k + n.lanes <= last ? n.lanes : std::int64_t{1}));
        for (std::size_t i = 0; i < sums.size(); ++i)
          sums[i] = read_element(n.type, source(k + static_cast<std::int64_t>(i)));
        for (std::size_t moved = 1; moved < sums.size(); moved *= 2)
          for (std::size_t i = sums.size(); i-- > 0;)
            sums[i] = add(sums[i], i < moved ? element{} : sums[i - moved]);
        for (const element& sum : sums)
          write_element(n.type, add(before, add(own, sum)), target(k++));
        own = add(own, sums.back());
      }
      before = add(before, own);
    }
  }

  void run(const lowered_custom& n) const { interpret_custom(n, bases_.data()); }

  const lowered_plan& p_;
  std::vector<std::byte> arena_;
  std::vector<std::byte*> bases_;
  std::vector<std::vector<std::byte>> copies_;
};

}  // namespace detail

/// Runs a plan that passed verify_lowered on memory of its shapes and strides: pointers to element
/// 0, by number, as executor::run takes them. The bits of an executor where ops are exact
/// (arithmetic, comparisons, sums: element by element in the same order), elsewhere within their
/// rounding. Values that are kept between calls come from interpreting the plan that prepares them:
/// packed ones are in an order of their own here.
inline void interpret_lowered(const lowered_plan& p, std::span<const void* const> arguments,
                              std::span<void* const> outputs,
                              std::span<std::byte* const> prepared = {}) {
  detail::plan_interpreter(p).run(arguments, outputs, prepared);
}

}  // namespace sinter::inline SINTER_ABI::exec
