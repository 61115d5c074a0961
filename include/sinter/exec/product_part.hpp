// SPDX-License-Identifier: MIT
// A product of a matmul nest with its epilogue, or two products of one shape that one epilogue
// reads: blocks of the result, and on each block, while it is in the cache, the rest of the tile
// program (bias, activation, residual). The block lies in the output itself where that is safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <sinter/exec/bind_tile.hpp>
#include <sinter/exec/gemm.hpp>
#include <sinter/exec/placed_tile.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_operand.hpp>
#include <sinter/exec/right_operand.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/run_tile.hpp>
#include <sinter/exec/sole_map.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// A block of rows of the left side of products, the same of `count` batches from `batch` on along
/// the last axis (all rows, if there are several), and where its thread works.
struct left_block {
  const product_operand& a;
  const shape_vector& batch_shape;
  std::int64_t batch, count, row, rows, behind;  // behind: rows that are multiplied next
  const void* packed;                            // as matrix_product::packed_a
  std::byte* scratch;
  void* tables;

  /// A product of these rows as they are in memory; everything else of it is left open.
  matrix_product product(const run_memory& memory) const {
    matrix_product out{.m = rows, .k = a.columns(), .tables = tables};
    a.set_left(out, memory, batch_shape, batch, row);
    out.count = count;
    out.rows_behind = behind;
    if (count > 1) out.a_step = a.batch_step(batch_shape.size() - 1);
    return out;
  }
};

/// Is the left side of packed products packed, too, for so many columns?
inline bool packs_left(const product_operand& left, std::int64_t columns) {
  return left.is_gathered() || gemm_packs_left(left.transposed(), columns);
}

class product_part {
 public:
  /// `nest`: a matmul nest, which must outlive this. `first_copy`: the entries of run_memory::bases
  /// from here on are set to copies of right sides, as many as there are right sides.
  product_part(const planning::plan& plan, const kernel_table& kernels, const planning::nest& nest,
               int first_copy)
      : nest_(&nest),
        product_(product_step(nest)),
        type_(type_of(nest)),
        multiply_(product_kernel(kernels, type_)),
        rest_(kernels, nest,
              analyze_tile(&plan, nest, geometry::block, all_stores(nest), product_, -1)) {
    right_.emplace_back(kernels, nest, 1, nest.transpose_b, type_, first_copy);
    for (const planning::step& s : nest.body)
      if (s.kind == planning::step_kind::product && s.access >= 0)
        right_.emplace_back(kernels, nest, static_cast<std::size_t>(s.access), s.attribute != 0,
                            type_, first_copy + static_cast<int>(right_.size()));
    detail::require_step(right_.size() <= most_products, nest, "more than two products");
    placed_rest_.reserve(rest_.program());
  }

  /// The dtype of the nest's product, and so of its operands.
  static dtype type_of(const planning::nest& nest) {
    return nest.body[static_cast<std::size_t>(product_step(nest))].type;
  }

  const planning::nest& nest() const { return *nest_; }
  gemm_function multiply() const { return multiply_; }
  int right_sides() const { return static_cast<int>(right_.size()); }
  std::int64_t columns() const { return n_; }
  std::int64_t column_blocks() const { return grid_.column_count; }
  /// Blocks of columns that run_block may take at once: few rows read the right sides once, row by
  /// row.
  std::int64_t most_beside() const {
    using enum planning::product_reading;
    const bool few =
        m_ <= planning::most_few_rows && std::ranges::all_of(right_, [](const right_operand& b) {
          return b.reading() == few_rows || b.reading() == dots;
        });
    return few ? grid_.column_count : 1;
  }
  /// Columns of a block, but for the last one.
  std::int64_t block_columns() const { return std::max<std::int64_t>(1, grid_.columns); }
  /// Rows of a block if the product were alone.
  std::int64_t block_rows() const { return grid_.rows; }
  /// Bytes of scratch memory for a block.
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  /// The right sides, of k rows; `space` has all axes of the product, the last one its columns.
  void bind_right(const binding& at, const shape_vector& space, std::int64_t k, memory_need& need) {
    n_ = space.back();
    for (right_operand& b : right_) b.bind(at, space.size() - 2, k, n_, need);
  }
  /// Are the right sides the same matrices along this batch axis?
  bool is_shared(std::size_t axis) const {
    return std::ranges::all_of(right_, [&](const right_operand& b) { return b.is_shared(axis); });
  }
  /// Divides the product of `left` into blocks, m being its rows after batches were folded.
  void divide(const product_operand& left, std::int64_t m) {
    m_ = m;
    k_ = left.columns();
    for (right_operand& b : right_) b.set_left(left, m);
    grid_ = gemm_block_grid(m, n_, k_, right_.front().window_run());
    detail::require_step(nest_->inner_axes <= 1, *nest_, "the rows of a product are its last axis");
    if (nest_->inner_axes > 0) {  // reductions over rows need whole ones
      grid_.columns = std::max<std::int64_t>(1, n_);
      grid_.column_count = 1;
    }
  }
  /// Into blocks of all rows and so many columns.
  void divide_columns(std::int64_t m, std::int64_t k, std::int64_t columns) {
    m_ = m;
    k_ = k;
    grid_ = {std::max<std::int64_t>(1, m), columns, 1,
             std::max<std::int64_t>(1, planning::pieces_of(n_, columns)), gemm_column_unit};
    detail::require_step(nest_->inner_axes == 0, *nest_, "rows of a product that is cut are whole");
  }
  /// Blocks of at most this many rows.
  void bind_rest(const binding& at, const shape_vector& space, std::int64_t rows) {
    bind_rest(at, space, rows, 1);
    workspace_offset_ = scratch_bytes_;
    scratch_bytes_ += gemm_workspace_bytes(type_, rows, most_columns(), k_);
  }
  /// The same without what the product needs, for so many blocks at a time.
  void bind_rest(const binding& at, const shape_vector& space, std::int64_t rows,
                 std::int64_t blocks_at_a_time) {
    destination_ = find_destination(at, space);
    walk_request request;
    request.space = space;
    request.outer_count = space.size() - 1;
    request.block_columns = grid_.columns;
    request.external_packed = grid_.column_count == 1;
    if (destination_ >= 0) {
      const planning::store& s = nest_->stores[static_cast<std::size_t>(destination_)];
      destination_view_ = at[s.buffer];
      if (rest_.facts().origin[static_cast<std::size_t>(s.step)] == product_)
        request.stored_external = destination_;
    }
    rest_.bind(at, request);
    const tile_program& p = rest_.program();
    has_rest_ = p.does_anything();
    if (!sole_rest_.bind(p)) placed_rest_.bind(p);

    blocks_offset_ = round_to_lines(p.scratch_bytes);
    block_bytes_ = round_to_lines(static_cast<std::size_t>(rows * most_columns()) * size_of(type_));
    const std::size_t blocks = right_.size() - (destination_ >= 0 ? 1 : 0);
    scratch_bytes_ =
        blocks_offset_ + blocks * static_cast<std::size_t>(blocks_at_a_time) * block_bytes_;
  }

  /// Makes copies of right sides, where they are needed. All threads take part.
  void pack(const run_memory& memory) const {
    for (const right_operand& b : right_) b.pack(memory);
  }

  bool is_gathered() const { return right_.front().is_gathered(); }
  /// Does a block of this many rows read packed operands?
  bool reads_packed(std::int64_t rows) const {
    return std::ranges::any_of(right_, [&](const right_operand& b) {
      return b.reads_packed(rows, std::min(grid_.columns, n_), k_);
    });
  }

  /// The rows of `left` in block `column_block` of the columns and those beside it, `beside` in
  /// all, or as many as there are.
  void run_block(const run_memory& memory, const left_block& left, std::int64_t column_block,
                 std::int64_t beside) const {
    const std::int64_t column = first_column(column_block);
    const std::int64_t columns =
        first_column(std::min(column_block + beside, grid_.column_count)) - column;
    const std::int64_t first_row = left.batch * m_ + left.row;
    std::array<external_block, most_products> products;
    for (std::size_t k = 0; k < right_.size(); ++k) {
      const std::size_t block = destination_ >= 0 ? k - 1 : k;
      products[k] = k == 0 ? first_block(memory, left.scratch, first_row, column, 0)
                           : block_in_scratch(left.scratch, first_row, column, block);
      if (k > 0 || destination_ < 0) products[k].pitch = columns;
      matrix_product product = left.product(memory);
      product.n = columns;
      product.c = products[k].at;
      product.ldc = products[k].pitch;
      product.workspace = left.scratch + workspace_offset_;
      product.packed_a = left.packed;
      right_[k].set(product, memory, left.batch_shape, left.batch, column);
      if (left.count > 1) {
        product.b_step = right_[k].batch_step(left.batch_shape.size() - 1);
        product.c_step = left.rows * product.ldc;
      }
      multiply_(product);
    }
    const std::span<external_block> results(products.data(), right_.size());
    for (std::int64_t done = 0; done < columns; done += grid_.columns) {
      run_rest(memory, left.scratch, results, left.count * left.rows,
               std::min(grid_.columns, columns - done));
      for (external_block& product : results) {
        product.column += grid_.columns;
        product.at += grid_.columns * static_cast<std::int64_t>(size_of(type_));
      }
    }
  }

  /// Where the block of the first product belongs that begins at this row and column: in its
  /// destination, or number `block` of those in scratch memory.
  external_block first_block(const run_memory& memory, std::byte* scratch, std::int64_t row,
                             std::int64_t column, std::size_t block) const {
    if (destination_ >= 0) return {destination(memory, row, column), n_, row, column};
    return block_in_scratch(scratch, row, column, block);
  }

  /// What follows the products, on blocks of all of them.
  void run_rest(const run_memory& memory, std::byte* scratch,
                std::span<const external_block> products, std::int64_t rows,
                std::int64_t columns) const {
    if (!has_rest_) return;
    const auto [at, pitch, row, column] = products[0];
    if (sole_rest_.is_bound())
      return sole_rest_.run(memory.bases, products, row, row + rows, column, column + columns);
    const walk& axes = rest_.program().axes;
    if (placed_rest_.is_bound() && rows == axes.rows && columns == axes.columns)
      return placed_rest_.run(memory.bases, scratch, products);
    tile_runner rest(rest_.program(), memory.bases, scratch);
    rest.begin();
    for (std::size_t k = 0; k < products.size(); ++k) rest.set_external(products[k], k);
    rest.run_all(row, row + rows, column, column + columns);
  }

  lowered_part lowered(std::size_t batch_axes) const {
    lowered_part out;
    out.n = n_;
    out.columns = grid_.columns;
    for (const right_operand& b : right_) out.right.push_back(b.lowered(batch_axes));
    if (destination_ >= 0) {
      out.destination = destination_view_.buffer;
      out.destination_offset = destination_view_.offset;
    }
    out.runs_rest = has_rest_;
    if (has_rest_) out.rest = rest_.program();
    return out;
  }
  void add_copies(std::vector<lowered_copy>& copies) const {
    for (const right_operand& b : right_) b.add_copies(copies);
  }

 private:
  // Of a block: at most grid_.columns before that of the next one.
  std::int64_t first_column(std::int64_t block) const {
    return planning::piece_begin(n_, grid_.column_unit, grid_.column_count, block);
  }
  // That run_block multiplies at once.
  std::int64_t most_columns() const { return std::min(n_, most_beside() * grid_.columns); }

  static int product_step(const planning::nest& nest) {
    return find_product(nest, "a matmul nest without a product");
  }

  // Where blocks of the (first) product are computed: in the memory of a store of the product
  // itself; else in the memory of the store that is the last to need it; else (destination -1) in
  // scratch.
  int find_destination(const binding& at, const shape_vector& space) const {
    if (nest_->product_in_scratch) return -1;
    const tile_analysis& facts = rest_.facts();
    const auto safe = [&](std::size_t number) {
      const planning::store& s = nest_->stores[number];
      if (element_count(at[s.buffer].shape) != element_count(space)) return false;
      if (nest_->body[static_cast<std::size_t>(s.step)].type != type_) return false;
      for (std::size_t i = 0; i < nest_->body.size(); ++i)
        if (facts.alive[i] && nest_->body[i].kind == planning::step_kind::load &&
            may_overlap(
                at.plan(), at[s.buffer].buffer,
                at[nest_->accesses[static_cast<std::size_t>(nest_->body[i].access)].buffer].buffer))
          return false;
      return true;
    };
    for (std::size_t i = 0; i < nest_->stores.size(); ++i)
      if (facts.origin[static_cast<std::size_t>(nest_->stores[i].step)] == product_ && safe(i))
        return static_cast<int>(i);
    for (std::size_t i = 0; i < nest_->stores.size(); ++i)
      if (facts.phases == 1 && !facts.is_used_behind(*nest_, product_, nest_->stores[i].step) &&
          safe(i))
        return static_cast<int>(i);
    return -1;
  }

  external_block block_in_scratch(std::byte* scratch, std::int64_t row, std::int64_t column,
                                  std::size_t block) const {
    return {scratch + blocks_offset_ + block * block_bytes_, std::min(grid_.columns, n_ - column),
            row, column};
  }

  std::byte* destination(const run_memory& memory, std::int64_t row, std::int64_t column) const {
    return memory.bases[destination_view_.buffer] + (destination_view_.offset + row * n_ + column) *
                                                        static_cast<std::int64_t>(size_of(type_));
  }

  const planning::nest* nest_;
  int product_;  // the step; another product of the nest comes behind it as right_[1]
  dtype type_;
  gemm_function multiply_;
  bound_tile rest_;
  sole_map sole_rest_;               // all of it, if it is one map,
  placed_tile placed_rest_;          // or one tile
  std::deque<right_operand> right_;  // in place: operands refer to parts of themselves
  std::int64_t m_ = 0, n_ = 0, k_ = 0;
  gemm_blocks grid_{};
  int destination_ = -1;  // number of a store
  strided_view destination_view_;
  bool has_rest_ = false;
  std::size_t blocks_offset_ = 0, block_bytes_ = 0, workspace_offset_ = 0, scratch_bytes_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
