// SPDX-License-Identifier: MIT
// Checks a lowered plan: buffers and the order in which they are written and read, every tile
// program in its surroundings, and for other nests that operands fit, stay in their buffers and
// that results are covered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/strided_runs.hpp>
#include <sinter/exec/verify_tile.hpp>
#include <sinter/exec/verify_winograd.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// The buffers whose memory a program writes, and those that it reads.
struct touched_buffers {
  std::vector<int> read, written;

  void add(const tile_program& p) {
    std::vector<bool> output(p.streams.size(), false), input(p.streams.size(), false);
    const auto mark = [&](std::vector<bool>& which, int stream) {
      if (stream >= 0 && static_cast<std::size_t>(stream) < which.size())
        which[static_cast<std::size_t>(stream)] = true;
    };
    for (const command& c : p.commands) {
      if (c.kind == command_kind::store) mark(output, c.stream);
      if (c.kind == command_kind::load) mark(input, c.stream);
      if (c.target.where == location::memory::stream) mark(output, c.target.index);
      for (const location& l : p.operands_of(c))
        if (l.where == location::memory::stream) mark(input, l.index);
    }
    for (const column_sum& s : p.sums) written.push_back(s.buffer);
    for (std::size_t i = 0; i < p.streams.size(); ++i) {
      if (p.streams[i].buffer < 0) continue;
      if (output[i])
        written.push_back(p.streams[i].buffer);
      else if (input[i])
        read.push_back(p.streams[i].buffer);
    }
  }
};

class plan_verifier {
 public:
  plan_verifier(const lowered_plan& p, const kernel_table* kernels)
      : p_(p), kernels_(kernels), buffers_(p.buffers) {}

  void verify() {
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) check_buffer(i);
    for (std::size_t i = 0; i < p_.nests.size(); ++i) {
      who_ =
          "nest " + std::to_string(i) + " (" + std::string(nest_names[p_.nests[i].index()]) + ")";
      buffers_.resize(p_.buffers.size());
      touched_ = {};
      std::visit([&](const auto& n) { check(n); }, p_.nests[i]);
      check_order();
    }
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  [[noreturn]] void fail(const std::string& what) const { raise(graph_error(who_ + ": " + what)); }
  void require(bool holds, const char* what) const {
    if (!holds) fail(what);
  }

  // ---- buffers

  void check_buffer(std::size_t i) {
    who_ = "buffer " + std::to_string(i);
    const lowered_buffer& b = p_.buffers[i];
    require(b.strides.size() == b.shape.size(), "strides: not one per axis");
    const std::int64_t count = element_count(b.shape);
    if (b.place == planning::place::argument) return;
    require(b.strides == row_major_strides(b.shape), "strides: not row-major");
    if (b.place != planning::place::arena) return;
    require(b.offset % 64 == 0, "offset: not a whole line");
    require(static_cast<std::size_t>(count) * size_of(b.type) <= b.bytes,
            "bytes: fewer than its elements have");
    require(b.offset + b.bytes <= p_.arena_bytes, "offset: leaves the arena");
  }

  const lowered_buffer& buffer(int b, const char* what) const {
    if (b < 0 || index(b) >= buffers_.size())
      fail(std::string(what) + ": there is no buffer " + std::to_string(b));
    return buffers_[index(b)];
  }

  // Is it the memory that another name stands for?
  bool is_same_memory(int a, int b) const {
    const lowered_buffer& x = p_.buffers[index(a)];
    const lowered_buffer& y = p_.buffers[index(b)];
    if (a == b) return true;
    if (x.place != y.place) return false;
    return x.place == planning::place::arena ? x.offset == y.offset : x.number == y.number;
  }

  // What is read was written before, unless it comes from outside.
  void check_order() {
    for (int b : touched_.read) {
      if (index(b) >= p_.buffers.size()) continue;  // a copy
      const planning::place place = p_.buffers[index(b)].place;
      if (place == planning::place::argument || place == planning::place::prepared ||
          element_count(p_.buffers[index(b)].shape) == 0)
        continue;
      if (std::ranges::none_of(written_, [&](int w) { return is_same_memory(w, b); }))
        fail("reads buffer " + std::to_string(b) + ", which nothing has written");
    }
    for (int b : touched_.written) {
      if (index(b) >= p_.buffers.size()) continue;
      require(p_.buffers[index(b)].place != planning::place::argument, "writes an argument");
      written_.push_back(b);
    }
  }

  // Memory in one piece.
  void check_piece(int b, std::int64_t offset, std::int64_t count, dtype type, const char* what) {
    const lowered_buffer& own = buffer(b, what);
    if (own.type != type) fail(std::string(what) + ": a buffer of another dtype");
    if (count > 0 && (offset < 0 || offset + count > element_count(own.shape) ||
                      own.strides != row_major_strides(own.shape)))
      fail(std::string(what) + ": leaves its buffer");
  }
  void check_reach(int b, dtype type, const reach& r, const char* what) {
    const lowered_buffer& own = buffer(b, what);
    if (own.type != type) fail(std::string(what) + ": a buffer of another dtype");
    if (!stays_inside(r, own)) fail(std::string(what) + ": leaves its buffer");
  }

  // ---- programs

  tile_surroundings surroundings() const {
    tile_surroundings out;
    out.buffers = buffers_;
    out.kernels = kernels_;
    return out;
  }
  void check_program(const tile_program& p, const tile_surroundings& around,
                     const std::string& part) {
    verify_tile(p, around, who_ + (part.empty() ? "" : ", " + part));
    touched_.add(p);
  }
  // Over blocks of columns a program cannot see rows as a whole.
  void check_parts(const tile_program& p, bool whole) const {
    require(whole || (p.phase_lists.size() == 1 && p.reductions.empty()),
            "columns: divided although rows are reduced");
  }

  void check_tiles(const lowered_tiles& n, const tile_surroundings& around,
                   const std::string& part) {
    const tile_program& p = n.program;
    check_program(p, around, part);
    const std::int64_t columns = std::max<std::int64_t>(1, p.axes.columns);
    require(n.rows_per_task >= 1 && n.columns_per_task >= 1, "tasks: without rows or columns");
    require(n.rows_per_task % p.tile_rows == 0 || n.rows_per_task >= p.axes.rows,
            "tasks: rows that are no whole tiles");
    require(n.columns_per_task % p.chunk == 0 || n.columns_per_task >= columns,
            "tasks: columns that are no whole tiles");
    require(!p.split || n.rows_per_task == 1, "tasks: several rows of a program that is split");
    if (!p.split) check_parts(p, n.columns_per_task >= columns);
  }
  void check(const lowered_tiles& n) {
    tile_surroundings around = surroundings();
    around.sums_rows = true;
    check_tiles(n, around, "");
  }

  void check(const lowered_columns& n) {
    require(n.batch >= 0 && n.reduced >= 0 && n.columns >= 0, "extents: below zero");
    require(n.rows_per_group >= 1 && n.columns_per_task >= 1 && n.batches_per_task >= 1,
            "tasks: without rows or columns");
    require(n.map.axes.rows == n.batch * n.reduced && n.map.axes.columns == n.columns,
            "map: over other rows and columns");
    require(n.rest.axes.rows == n.batch && n.rest.axes.columns == n.columns,
            "rest: over other rows and columns");
    require(n.rows_per_group >= n.reduced || n.columns_per_task >= n.columns,
            "tasks: groups of rows and parts of columns");
    tile_surroundings around = surroundings();
    around.accumulates_columns = true;
    check_program(n.map, around, "map");
    require(n.map.reductions.size() == 1 && n.map.phase_lists.size() == 1,
            "map: not one accumulator in one phase");
    const auto is_pair = [](const command& c) { return c.kind == command_kind::reduce_pair; };
    require(std::ranges::any_of(n.map.commands, is_pair) == n.pair,
            "map: a pair without its nest, or a nest of pairs without");
    require(!n.guarded || (n.pair && n.map.reductions.front().monoid == monoid::max),
            "guarded: there are no exponentials");
    around = surroundings();
    const dtype result = result_type(n.map.reductions.front());
    around.externals.assign(n.pair ? 2 : 1, result);
    check_program(n.rest, around, "rest");
    check_parts(n.rest, false);
  }

  // ---- products

  void check_copies(const std::vector<lowered_copy>& copies) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const lowered_copy& c = copies[i];
      const std::string part = "copy " + std::to_string(i);
      if (c.buffer < 0 || index(c.buffer) < p_.buffers.size() ||
          index(c.buffer) >= p_.buffers.size() + 256)
        fail(part + ": its buffer is not the nest's own");
      if (buffers_.size() <= index(c.buffer)) buffers_.resize(index(c.buffer) + 1);
      lowered_buffer& own = buffers_[index(c.buffer)];
      own = {planning::place::arena,
             0,
             c.type,
             c.shape,
             row_major_strides(c.shape),
             c.offset,
             static_cast<std::size_t>(element_count(c.shape)) * size_of(c.type)};
      if (c.offset % 64 != 0) fail(part + ": offset is not a whole line");
      for (std::size_t k = 0; k < i; ++k) {
        const lowered_buffer& other = buffers_[index(copies[k].buffer)];
        if (copies[k].buffer == c.buffer ||
            (own.offset < other.offset + other.bytes && other.offset < own.offset + own.bytes))
          fail(part + ": over copy " + std::to_string(k));
      }
      check_tiles(c.tiles, surroundings(), part);
    }
  }

  // rows x columns per batch.
  void check_matrix(const lowered_matrix& m, const shape_vector& batch, std::int64_t rows,
                    std::int64_t columns, dtype type, const char* what) {
    if (m.gathered) fail(std::string(what) + ": gathered where nothing packs it");
    check_any_matrix(m, batch, rows, columns, type, what);
  }
  // An operand of a product, which may be gathered while it is packed.
  void check_any_matrix(const lowered_matrix& m, const shape_vector& batch, std::int64_t rows,
                        std::int64_t columns, dtype type, const char* what) {
    if (m.packed) {
      if (m.gathered) fail(std::string(what) + ": packed and gathered");
      constexpr std::int64_t unit = planning::packed_column_unit;
      check_piece(m.buffer, 0, (columns + unit - 1) / unit * unit * rows, type, what);
      touched_.read.push_back(m.buffer);
      return;
    }
    if (m.batch_strides.size() != batch.size())
      fail(std::string(what) + ": not one stride per batch axis");
    if (!m.gathered && rows > 1 && columns > 1 && m.row_stride != 1 && m.column_stride != 1)
      fail(std::string(what) + ": no unit stride");
    std::vector<std::int64_t> extents(batch.begin(), batch.end()),
        strides(m.batch_strides.begin(), m.batch_strides.end());
    if (m.gathered) {
      if (type != dtype::f32 && type != dtype::f64)
        fail(std::string(what) + ": gathered elements that are no floats");
      add_axes(m.rows, rows, extents, strides, what);
      add_axes(m.columns, columns, extents, strides, what);
    } else {
      extents.insert(extents.end(), {rows, columns});
      strides.insert(strides.end(), {m.row_stride, m.column_stride});
    }
    check_reach(m.buffer, type, reach_of(m.offset, extents, strides), what);
    touched_.read.push_back(m.buffer);
  }

  // Axes of a gathered matrix, of `count` rows or columns in all.
  void add_axes(const lowered_axes& axes, std::int64_t count, std::vector<std::int64_t>& extents,
                std::vector<std::int64_t>& strides, const char* what) const {
    if (axes.extents.empty() || axes.extents.size() != axes.strides.size())
      fail(std::string(what) + ": not one stride per axis that is gathered");
    std::int64_t all = 1;
    for (std::int64_t extent : axes.extents) {
      if (extent < 0) fail(std::string(what) + ": an extent below zero");
      all = ir::detail::saturating_mul(all, extent);
    }
    if (all != count) fail(std::string(what) + ": gathered from other rows or columns");
    extents.insert(extents.end(), axes.extents.begin(), axes.extents.end());
    strides.insert(strides.end(), axes.strides.begin(), axes.strides.end());
  }

  void check(const lowered_products& n) {
    require(n.m >= 0 && n.k >= 0 && n.rows >= 1, "extents: below zero, or blocks without rows");
    require(!n.parts.empty(), "parts: none");
    if (const std::string fault = winograd_fault(n); !fault.empty()) fail("winograd: " + fault);
    check_copies(n.copies);
    check_any_matrix(n.left, n.batch, n.m, n.k, n.type, "left");
    require(!n.left.packed, "left: packed");
    const std::int64_t rows = element_count(n.batch) * n.m;
    for (std::size_t i = 0; i < n.parts.size(); ++i) {
      const lowered_part& part = n.parts[i];
      require(part.n >= 0 && part.columns >= 1, "part: blocks without columns");
      require(!part.right.empty() && part.right.size() <= most_products, "part: right sides");
      for (const lowered_matrix& m : part.right)
        check_any_matrix(m, n.batch, n.k, part.n, n.type, "right");
      if (part.destination >= 0) {
        check_piece(part.destination, part.destination_offset, rows * part.n, n.type,
                    "destination");
        touched_.written.push_back(part.destination);
      }
      require(part.destination >= 0 || part.runs_rest || rows == 0 || part.n == 0,
              "part: its result goes nowhere");
      require(part.runs_rest == part.rest.does_anything(), "runs rest: not as there is one");
      if (!part.runs_rest) continue;
      require(part.rest.axes.rows == rows && part.rest.axes.columns == part.n,
              "rest: over other rows and columns");
      tile_surroundings around = surroundings();
      around.externals.assign(part.right.size(), n.type);
      around.externals_packed = part.columns >= part.n;
      around.written_by_nest = part.destination;
      check_program(part.rest, around, "part " + std::to_string(i) + ", rest");
      check_parts(part.rest, part.columns >= part.n);
    }
  }

  void check_operand(const lowered_operand& n, const lowered_streamed& nest, bool is_left) {
    const char* const what = is_left ? "left" : "right";
    const std::int64_t rows = is_left ? nest.rows : nest.depth,
                       columns = is_left ? nest.depth : nest.columns;
    if (!n.is_computed()) return check_matrix(n.stored, nest.batch, rows, columns, nest.type, what);
    if (n.transposed == is_left || n.columns != nest.depth || n.folded < 1 ||
        n.shared.size() != nest.batch.size() || (!is_left && n.rows != nest.columns))
      fail(std::string(what) + ": what is computed does not fit");
    const std::int64_t all = element_count(nest.batch) * (is_left ? nest.rows : n.folded * n.rows);
    std::int64_t next = 0;
    for (std::size_t i = 0; i < n.parts.size(); ++i) {
      const lowered_prologue& part = n.parts[i];
      if (part.program.axes.rows != all || part.column != next)
        fail(std::string(what) + ": parts do not cover its rows and columns");
      next += part.program.axes.columns;
      tile_surroundings around = surroundings();
      around.externals = {nest.type};
      around.externals_hold_values = false;
      around.externals_packed = n.parts.size() == 1;
      around.writes_external = true;
      check_program(part.program, around, std::string(what) + ", part " + std::to_string(i));
    }
    if (next != n.columns) fail(std::string(what) + ": parts do not cover its columns");
  }

  void check(const lowered_streamed& n) {
    require(n.rows >= 0 && n.columns >= 0 && n.depth >= 0 && n.width >= 0, "extents: below zero");
    require(n.block_rows >= 1 && n.block_columns >= 1, "blocks: without rows or columns");
    require(n.scale > 0, "scale: not above zero");
    check_copies(n.copies);
    check_operand(n.left, n, true);
    check_operand(n.right, n, false);
    check_matrix(n.values, n.batch, n.columns, n.width, n.type, "values");
    const std::int64_t rows = element_count(n.batch) * n.rows;
    require(n.runs_rest == n.rest.does_anything(), "runs rest: not as there is one");
    if (n.runs_rest) check_rest(n, rows);
    check_piece(n.target, n.target_offset, rows * n.width, n.type, "target");
    touched_.written.push_back(n.target);
  }

  void check_rest(const lowered_streamed& n, std::int64_t rows) {
    require(n.rest.axes.rows == rows && n.rest.axes.columns == n.columns,
            "rest: over other rows and columns");
    tile_surroundings around = surroundings();
    around.externals = {n.type};
    around.externals_packed = true;
    around.writes_external = true;
    check_program(n.rest, around, "rest");
    check_parts(n.rest, false);
  }

  // ---- movement

  // Every element of the target once: by its pieces, or before them by the fill.
  void check(const lowered_assembly& n) {
    check_piece(n.target, n.offset, n.count, n.type, "target");
    require(n.count == element_count(buffer(n.target, "target").shape),
            "elements: not those of the target");
    require(!n.fills || n.value.type == n.type, "value: of another dtype");
    tile_surroundings around = surroundings();
    around.writes_all = false;
    std::int64_t covered = 0;
    for (std::size_t i = 0; i < n.pieces.size(); ++i) {
      const tile_program& p = n.pieces[i].program;
      check_tiles(n.pieces[i], around, "piece " + std::to_string(i));
      covered += p.axes.rows * p.axes.columns;
    }
    for (int b : touched_.written) require(b == n.target, "piece: goes elsewhere");
    require(n.fills ? covered < n.count : covered == n.count, "pieces: do not cover the target");
    check_overlaps(n);
    touched_.written.push_back(n.target);
  }

  // Element by element up to so many; beyond that the counts have to do.
  static constexpr std::int64_t most_elements = 1 << 16;
  void check_overlaps(const lowered_assembly& n) const {
    if (n.count > most_elements) return;
    std::vector<bool> taken(static_cast<std::size_t>(n.count), false);
    for (const lowered_tiles& piece : n.pieces) {
      const tile_program& p = piece.program;
      if (p.axes.rows * p.axes.columns == 0) continue;
      for (const command& c : p.commands) {
        const int s = c.kind == command_kind::store                ? c.stream
                      : c.target.where == location::memory::stream ? c.target.index
                                                                   : -1;
        if (s < 0) continue;
        const stream& out = p.streams[index(s)];
        for (std::int64_t row = 0; row < p.axes.rows; ++row)
          for (std::int64_t column = 0; column < p.axes.columns; ++column) {
            const auto at = static_cast<std::size_t>(out.offset - n.offset +
                                                     offset_of(p.axes.outer, out.outer, row) +
                                                     offset_of(p.axes.inner, out.inner, column));
            require(!taken[at], "pieces: one over the other");
            taken[at] = true;
          }
      }
    }
  }

  void check(const lowered_alias& n) {
    const lowered_buffer& target = buffer(n.target, "target");
    check_reach(n.source.buffer, target.type,
                reach_of(n.source.offset, {n.source.shape.begin(), n.source.shape.size()},
                         {n.source.strides.begin(), n.source.strides.size()}),
                "source");
    require(element_count(n.source.shape) == element_count(target.shape),
            "source: another number of elements");
    require(n.copy.size() <= 1, "copy: more than one");
    for (const lowered_tiles& copy : n.copy) check_tiles(copy, surroundings(), "copy");
    for (int b : touched_.written) require(b == n.target, "copy: goes elsewhere");
    touched_.read.push_back(n.source.buffer);
  }

  void check(const lowered_pack& n) {
    require(n.k >= 0 && n.n >= 0, "extents: below zero");
    check_copies(n.copies);
    check_matrix(n.matrix, shape_vector::filled(n.matrix.batch_strides.size(), 1), n.k, n.n, n.type,
                 "matrix");
    constexpr std::int64_t unit = planning::packed_column_unit;
    check_piece(n.target, 0, (n.n + unit - 1) / unit * unit * n.k, n.type, "target");
    touched_.written.push_back(n.target);
  }

  std::int64_t check_indices(const lowered_indices& n) {
    require(is_integral(n.type), "indices: no integers");
    check_reach(n.view.buffer, n.type,
                reach_of(n.view.offset, {n.view.shape.begin(), n.view.shape.size()},
                         {n.view.strides.begin(), n.view.strides.size()}),
                "indices");
    const bool is_argument = buffer(n.view.buffer, "indices").place == planning::place::argument;
    require(n.checked_first == is_argument, "indices: not checked when they are known");
    touched_.read.push_back(n.view.buffer);
    return element_count(n.view.shape);
  }

  struct axis_list {
    std::vector<std::int64_t> extents, strides;
    axis_list& add(const shape_vector& e, const shape_vector& s) {
      extents.insert(extents.end(), e.begin(), e.end());
      strides.insert(strides.end(), s.begin(), s.end());
      return *this;
    }
  };

  // A nest along one axis: the other axes of its operand, what stands for that one, and a result of
  // so many elements, which are all of its buffer.
  template <class Nest>
  void check_lines(const Nest& n, const shape_vector& along, const shape_vector& along_strides,
                   std::int64_t results) {
    require(n.before.size() == n.before_strides.size() && along.size() == along_strides.size() &&
                n.behind.size() == n.behind_strides.size(),
            "source: not one stride per axis");
    axis_list axes;
    axes.add(n.before, n.before_strides).add(along, along_strides).add(n.behind, n.behind_strides);
    check_reach(n.source, n.type, reach_of(n.offset, axes.extents, axes.strides), "source");
    const std::int64_t all = element_count(n.before) * results * element_count(n.behind);
    check_piece(n.target, n.target_offset, all, n.type, "target");
    require(all == element_count(buffer(n.target, "target").shape),
            "target: not as many elements as are computed");
    touched_.read.push_back(n.source);
    touched_.written.push_back(n.target);
  }

  void check(const lowered_gather& n) {
    require(n.indices.extent >= 0, "source: below zero");
    check_lines(n, {n.indices.extent}, {n.axis_stride}, check_indices(n.indices));
  }

  void check(const lowered_scatter& n) {
    require(n.indices.extent >= 0, "source: below zero");
    require(n.columns_per_task >= 1 || element_count(n.behind) == 0, "tasks: without columns");
    require(element_count(n.indexed) == check_indices(n.indices),
            "source: not one update per index");
    check_lines(n, n.indexed, n.indexed_strides, n.indices.extent);
  }

  void check(const lowered_scan& n) {
    require(n.type != dtype::boolean && !is_narrow_float(n.type), "type: is not added up");
    require(n.count >= 0, "source: below zero");
    require(n.block >= 1 && n.lanes >= 1 && n.lanes <= n.block, "blocks: without elements");
    require(n.columns_per_task >= 1 || element_count(n.behind) == 0, "tasks: without columns");
    check_lines(n, {n.count}, {n.axis_stride}, n.count);
  }

  // ---- custom ops

  // A view as an array under its own axes, or with the first `leading` (from 0 on) as one.
  void check_array(const lowered_array& a, int leading, const std::string& what) {
    const auto need = [&](bool holds, const char* reason) {
      if (!holds) fail(what + ": " + reason);
    };
    const strided_view& v = a.view;
    need(v.shape.size() == v.strides.size(), "strides: not one per axis");
    check_reach(v.buffer, a.type,
                reach_of(v.offset, {v.shape.begin(), v.shape.size()},
                         {v.strides.begin(), v.strides.size()}),
                what.c_str());
    shape_vector expected = v.shape;
    if (leading >= 0) {
      need(v.shape.size() >= static_cast<std::size_t>(leading), "shape: too few axes");
      const auto* const split = v.shape.begin() + leading;
      expected = {element_count(shape_vector(v.shape.begin(), split))};
      for (const auto* each = split; each != v.shape.end(); ++each) expected.push_back(*each);
    }
    need(a.shape == expected, "shape: not that of the view");
    const bool apart = v.strides != row_major_strides(v.shape) && element_count(v.shape) != 0;
    need(a.copied == apart, "copied: not as its elements lie");
    need(a.copied ? a.copy_offset % 64 == 0 : a.copy_offset == 0,
         "copy: its offset is not a whole line");
  }

  void check(const lowered_custom& n) {
    require(n.op != nullptr && !n.op->elementwise, "op: none that works on arrays");
    require(n.operands.size() == static_cast<std::size_t>(n.op->arity),
            "operands: more or fewer than it takes");
    require(n.attributes.size() == n.op->attributes.size(),
            "attributes: more or fewer than it takes");
    const int core = n.op->core_axes;
    require(core < 0 ? n.rows_per_task == 0 : n.rows_per_task >= 1,
            "tasks: rows that the op does not have, or none");
    require(n.kernel == (n.op->kernel == nullptr ? nullptr : n.op->kernel(n.operands.front().type)),
            "kernel: not that of the op and the dtype");
    require(reference_function(*n.op, n.operands.front().type) != nullptr, "kernel: none");
    // What the op leaves alone in operand 0; of others, and of the result, the rest may be of
    // another rank.
    const int leading =
        core < 0 ? -1 : static_cast<int>(n.operands.front().view.shape.size()) - core;
    require(core < 0 || leading >= 0, "operand 0: shape: too few axes");
    check_array(n.result, leading, "result");
    require(!n.result.copied, "result: not contiguous");
    require(element_count(n.result.shape) ==
                element_count(buffer(n.result.view.buffer, "result").shape),
            "result: does not cover its buffer");
    for (std::size_t i = 0; i < n.operands.size(); ++i) {
      const lowered_array& own = n.operands[i];
      const std::string what = "operand " + std::to_string(i);
      check_array(own, leading, what);
      touched_.read.push_back(own.view.buffer);
      if (core >= 0 && own.shape[0] != n.result.shape[0])
        fail(what + ": other rows than the result");
      for (std::size_t k = 0; own.copied && k < i; ++k) {
        const auto end = [](const lowered_array& a) {
          return a.copy_offset + static_cast<std::size_t>(element_count(a.shape)) * size_of(a.type);
        };
        const lowered_array& other = n.operands[k];
        if (other.copied && own.copy_offset < end(other) && other.copy_offset < end(own))
          fail(what + ": copied over operand " + std::to_string(k));
      }
    }
    touched_.written.push_back(n.result.view.buffer);
  }

  const lowered_plan& p_;
  const kernel_table* kernels_;
  std::vector<lowered_buffer> buffers_;  // the plan's, and behind them those of a nest's copies
  std::vector<int> written_;
  touched_buffers touched_;
  std::string who_;
};

}  // namespace detail

/// Throws graph_error that names nest, command and field if the plan does not hold what its
/// runners take for granted. Without `kernels` it is not checked that kernels are those of what
/// they stand beside. O(size of the plan), and of small results that are assembled.
inline void verify_lowered(const lowered_plan& p, const kernel_table* kernels = nullptr) {
  detail::plan_verifier(p, kernels).verify();
}

}  // namespace sinter::inline SINTER_ABI::exec
