// SPDX-License-Identifier: MIT
// Checks nests of products of a lowered plan: that operands fit, stay in their buffers, and that
// results go somewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sinter/exec/lowered.hpp>
#include <sinter/exec/nest_checks.hpp>
#include <sinter/exec/verify_winograd.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// Axes of a gathered matrix, of `count` rows or columns in all.
inline void add_axes(nest_checks& checks, const lowered_axes& axes, std::int64_t count,
                     std::vector<std::int64_t>& extents, std::vector<std::int64_t>& strides,
                     const char* what) {
  if (axes.extents.empty() || axes.extents.size() != axes.strides.size())
    checks.fail(std::string(what) + ": not one stride per axis that is gathered");
  std::int64_t all = 1;
  for (std::int64_t extent : axes.extents) {
    if (extent < 0) checks.fail(std::string(what) + ": an extent below zero");
    all = ir::detail::saturating_mul(all, extent);
  }
  if (all != count) checks.fail(std::string(what) + ": gathered from other rows or columns");
  extents.insert(extents.end(), axes.extents.begin(), axes.extents.end());
  strides.insert(strides.end(), axes.strides.begin(), axes.strides.end());
}

// An operand of a product, which may be gathered while it is packed.
inline void check_any_matrix(nest_checks& checks, const lowered_matrix& m,
                             const shape_vector& batch, std::int64_t rows, std::int64_t columns,
                             dtype type, const char* what) {
  if (m.packed) {
    if (m.gathered) checks.fail(std::string(what) + ": packed and gathered");
    checks.check_piece(m.buffer, 0, planning::packed_width(columns) * rows, type, what);
    checks.touched().read.push_back(m.buffer);
    return;
  }
  if (m.batch_strides.size() != batch.size())
    checks.fail(std::string(what) + ": not one stride per batch axis");
  if (!m.gathered && rows > 1 && columns > 1 && m.row_stride != 1 && m.column_stride != 1)
    checks.fail(std::string(what) + ": no unit stride");
  std::vector<std::int64_t> extents(batch.begin(), batch.end()),
      strides(m.batch_strides.begin(), m.batch_strides.end());
  if (m.gathered) {
    if (type != dtype::f32 && type != dtype::f64)
      checks.fail(std::string(what) + ": gathered elements that are no floats");
    add_axes(checks, m.rows, rows, extents, strides, what);
    add_axes(checks, m.columns, columns, extents, strides, what);
  } else {
    extents.insert(extents.end(), {rows, columns});
    strides.insert(strides.end(), {m.row_stride, m.column_stride});
  }
  checks.check_reach(m.buffer, type, reach_of(m.offset, extents, strides), what);
  checks.touched().read.push_back(m.buffer);
}

// rows x columns per batch.
inline void check_matrix(nest_checks& checks, const lowered_matrix& m, const shape_vector& batch,
                         std::int64_t rows, std::int64_t columns, dtype type, const char* what) {
  if (m.gathered) checks.fail(std::string(what) + ": gathered where nothing packs it");
  check_any_matrix(checks, m, batch, rows, columns, type, what);
}

inline void check(nest_checks& checks, const lowered_products& n) {
  checks.require(n.m >= 0 && n.k >= 0 && n.rows >= 1,
                 "extents: below zero, or blocks without rows");
  checks.require(!n.parts.empty(), "parts: none");
  if (const std::string fault = winograd_fault(n); !fault.empty())
    checks.fail("winograd: " + fault);
  checks.check_copies(n.copies);
  check_any_matrix(checks, n.left, n.batch, n.m, n.k, n.type, "left");
  checks.require(!n.left.packed, "left: packed");
  const std::int64_t rows = element_count(n.batch) * n.m;
  for (std::size_t i = 0; i < n.parts.size(); ++i) {
    const lowered_part& part = n.parts[i];
    checks.require(part.n >= 0 && part.columns >= 1, "part: blocks without columns");
    checks.require(!part.right.empty() && part.right.size() <= most_products, "part: right sides");
    for (const lowered_matrix& m : part.right)
      check_any_matrix(checks, m, n.batch, n.k, part.n, n.type, "right");
    if (part.destination >= 0) {
      checks.check_piece(part.destination, part.destination_offset, rows * part.n, n.type,
                         "destination");
      checks.touched().written.push_back(part.destination);
    }
    checks.require(part.destination >= 0 || part.runs_rest || rows == 0 || part.n == 0,
                   "part: its result goes nowhere");
    checks.require(part.runs_rest == part.rest.does_anything(), "runs rest: not as there is one");
    if (!part.runs_rest) continue;
    checks.require(part.rest.axes.rows == rows && part.rest.axes.columns == part.n,
                   "rest: over other rows and columns");
    tile_surroundings around = checks.surroundings();
    around.externals.assign(part.right.size(), n.type);
    around.externals_packed = part.columns >= part.n;
    around.written_by_nest = part.destination;
    checks.check_program(part.rest, around, "part " + std::to_string(i) + ", rest");
    checks.check_parts(part.rest, part.columns >= part.n);
  }
}

inline void check_operand(nest_checks& checks, const lowered_operand& n,
                          const lowered_streamed& nest, bool is_left) {
  const char* const what = is_left ? "left" : "right";
  const std::int64_t rows = is_left ? nest.rows : nest.depth,
                     columns = is_left ? nest.depth : nest.columns;
  if (!n.is_computed())
    return check_matrix(checks, n.stored, nest.batch, rows, columns, nest.type, what);
  if (n.transposed == is_left || n.columns != nest.depth || n.folded < 1 ||
      n.shared.size() != nest.batch.size() || (!is_left && n.rows != nest.columns))
    checks.fail(std::string(what) + ": what is computed does not fit");
  const std::int64_t all = element_count(nest.batch) * (is_left ? nest.rows : n.folded * n.rows);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < n.parts.size(); ++i) {
    const lowered_prologue& part = n.parts[i];
    if (part.program.axes.rows != all || part.column != next)
      checks.fail(std::string(what) + ": parts do not cover its rows and columns");
    next += part.program.axes.columns;
    tile_surroundings around = checks.surroundings();
    around.externals = {nest.type};
    around.externals_hold_values = false;
    around.externals_packed = n.parts.size() == 1;
    around.writes_external = true;
    checks.check_program(part.program, around, std::string(what) + ", part " + std::to_string(i));
  }
  if (next != n.columns) checks.fail(std::string(what) + ": parts do not cover its columns");
}

inline void check_rest(nest_checks& checks, const lowered_streamed& n, std::int64_t rows) {
  checks.require(n.rest.axes.rows == rows && n.rest.axes.columns == n.columns,
                 "rest: over other rows and columns");
  tile_surroundings around = checks.surroundings();
  around.externals = {n.type};
  around.externals_packed = true;
  around.writes_external = true;
  checks.check_program(n.rest, around, "rest");
  checks.check_parts(n.rest, false);
}

inline void check(nest_checks& checks, const lowered_streamed& n) {
  checks.require(n.rows >= 0 && n.columns >= 0 && n.depth >= 0 && n.width >= 0,
                 "extents: below zero");
  checks.require(n.block_rows >= 1 && n.block_columns >= 1, "blocks: without rows or columns");
  checks.require(n.scale > 0, "scale: not above zero");
  checks.check_copies(n.copies);
  check_operand(checks, n.left, n, true);
  check_operand(checks, n.right, n, false);
  check_matrix(checks, n.values, n.batch, n.columns, n.width, n.type, "values");
  const std::int64_t rows = element_count(n.batch) * n.rows;
  checks.require(n.runs_rest == n.rest.does_anything(), "runs rest: not as there is one");
  if (n.runs_rest) check_rest(checks, n, rows);
  checks.check_piece(n.target, n.target_offset, rows * n.width, n.type, "target");
  checks.touched().written.push_back(n.target);
}

inline void check(nest_checks& checks, const lowered_pack& n) {
  checks.require(n.k >= 0 && n.n >= 0, "extents: below zero");
  checks.check_copies(n.copies);
  check_matrix(checks, n.matrix, shape_vector::filled(n.matrix.batch_strides.size(), 1), n.k, n.n,
               n.type, "matrix");
  checks.check_piece(n.target, 0, planning::packed_width(n.n) * n.k, n.type, "target");
  checks.touched().written.push_back(n.target);
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
