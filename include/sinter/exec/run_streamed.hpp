// SPDX-License-Identifier: MIT
// Runs streamed nests: blocks of rows, each of which goes through the columns of its scores block
// by block. A block of scores is computed, finished by the tile program, turned into weights and
// multiplied with its values while it is in the cache; scores never reach memory (Dao et al. 2022,
// "FlashAttention"; Rabe and Staats 2021, "Self-attention does not need O(n^2) memory").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sinter/exec/bind_tile.hpp>
#include <sinter/exec/gemm.hpp>
#include <sinter/exec/online_softmax.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_operand.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/run_tile.hpp>
#include <sinter/exec/streamed_operand.hpp>
#include <sinter/exec/streamed_packing.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

class streamed_nest {
 public:
  streamed_nest(const planning::plan& plan, const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        product_(find_product(nest, "a streamed nest without a product")),
        type_(nest.body[static_cast<std::size_t>(product_)].type),
        multiply_(product_kernel(kernels, type_)),
        softmax_(online_softmax_of(type_)),
        rest_(kernels, nest, analyze_tile(&plan, nest, geometry::block, {0}, product_, -1)),
        a_(kernels, nest, 0, nest.transpose_a, type_, static_cast<int>(plan.buffers.size())),
        b_(kernels, nest, 1, nest.transpose_b, type_, static_cast<int>(plan.buffers.size()) + 1),
        values_(kernels, nest, 2, nest.transpose_values, type_,
                static_cast<int>(plan.buffers.size()) + 2) {
    detail::require_step(nest.stores.size() == 1 && nest.inner_axes == 0, nest,
                         "a streamed nest has one store and no reductions of its own");
    detail::require_step(nest.body[static_cast<std::size_t>(nest.stores[0].step)].type == type_,
                         nest, "the scores of a streamed nest have the dtype of their product");
  }

  memory_need bind(const binding& at) {
    const shape_vector space = at.evaluate(nest_->space);
    const std::size_t rank = space.size();
    detail::require_step(rank >= 2, *nest_, "a matrix product has two axes");
    batch_shape_ = shape_vector(space.begin(), space.end() - 2);
    rows_ = space[rank - 2];
    columns_ = space[rank - 1];
    memory_need out;
    a_.bind(at, rank - 2, out);
    b_.bind(at, rank - 2, out);
    values_.bind(at, rank - 2, out);
    depth_ = a_.columns();
    width_ = values_.columns();
    detail::require_step(a_.rows() == rows_ && b_.columns() == columns_ && b_.rows() == depth_ &&
                             values_.rows() == columns_,
                         *nest_, "the operands of the products do not fit");
    fold_batches(batch_shape_, rows_, a_, b_, values_);
    if (space[rank - 2] != 0) {
      a_.set_folded(rows_ / space[rank - 2]);
      b_.set_folded(rows_ / space[rank - 2]);
    }
    // Folded rows are those of several matrices.
    has_hidden_ = nest_->hidden.any && rows_ == space[rank - 2];
    if (has_hidden_) hidden_offset_ = at.evaluate(nest_->hidden.offset);
    batch_ = element_count(batch_shape_);
    result_ = at[nest_->stores[0].buffer];
    detail::require_step(element_count(result_.shape) == batch_ * rows_ * width_, *nest_,
                         "the result does not fit into its buffer");

    const planning::streamed_division block = planning::divide_scores(rows_, columns_);
    block_rows_ = block.rows;
    block_columns_ = block.columns;
    row_blocks_ = planning::pieces_of(rows_, block_rows_);
    bind_rest(at, space);
    lay_out(out);
    return out;
  }

  void run(const run_memory& memory) const {
    if (batch_ == 0 || rows_ == 0 || width_ == 0) return;
    // Every operand that is packed has its place in shared memory; packing one leaves the others.
    a_.pack(memory);
    b_.pack(memory);
    values_.pack(memory);
    for (int thread = 0; thread < thread_count(); ++thread) {
      if (packing_.once) packed(memory.scratch(thread)) = {-1, 0};
      if (keeps_keys_) kept(memory.scratch(thread)) = {-1, 0};
    }
    parallel_for(batch_ * row_blocks_, nest_->predicted_nanoseconds,
                 [&](std::int64_t task, int thread) {
                   run_rows(memory, memory.scratch(thread), task / row_blocks_,
                            block_of(task % row_blocks_) * block_rows_);
                 });
  }

  lowered_streamed lowered() const {
    lowered_streamed out;
    out.type = type_;
    out.batch = batch_shape_;
    out.rows = rows_;
    out.columns = columns_;
    out.depth = depth_;
    out.width = width_;
    out.block_rows = block_rows_;
    out.block_columns = block_columns_;
    out.scale = nest_->score_scale;
    out.hides = has_hidden_;
    if (has_hidden_) {
      out.hidden_offset = hidden_offset_;
      out.hidden_value = nest_->hidden.value;
    }
    out.packs_once = packing_.once;
    out.left = a_.lowered(batch_shape_.size());
    out.right = b_.lowered(batch_shape_.size());
    out.values = values_.lowered(batch_shape_.size());
    a_.add_copies(out.copies);
    b_.add_copies(out.copies);
    values_.add_copies(out.copies);
    out.runs_rest = has_rest_;
    if (has_rest_) out.rest = rest_.program();
    out.target = result_.buffer;
    out.target_offset = result_.offset;
    return out;
  }

 private:
  static constexpr std::int64_t column_unit = planning::score_column_unit;
  static constexpr std::size_t packed_header = 64;

  // The batch of which a thread has packed the first `count` blocks of columns, or computed the
  // first `count` keys.
  struct packed_state {
    std::int64_t batch, count;
  };

  void bind_rest(const binding& at, const shape_vector& space) {
    walk_request request;
    request.space = space;
    request.outer_count = space.size() - 1;
    request.block_columns = block_columns_;
    request.external_packed = true;  // the rows of a block lie one behind the other
    request.result_is_external = true;
    rest_.bind(at, request);
    has_rest_ = rest_.program().does_anything();
  }

  void lay_out(memory_need& need) {
    std::size_t end = round_to_lines(rest_.program().scratch_bytes);
    const auto take = [&](std::size_t bytes) {
      const std::size_t begin = end;
      end += round_to_lines(bytes);
      return begin;
    };
    const auto elements = [&](std::int64_t count) {
      return static_cast<std::size_t>(count) * size_of(type_);
    };
    scores_offset_ = take(elements(block_rows_ * block_columns_));
    sums_offset_ = take(elements(block_rows_ * width_));
    states_offset_ = take(static_cast<std::size_t>(block_rows_) * softmax_.state_bytes);
    workspace_offset_ =
        take(std::max(gemm_workspace_bytes(type_, block_rows_, block_columns_, depth_),
                      gemm_workspace_bytes(type_, block_rows_, width_, block_columns_)));
    packing_ =
        pack_streamed(type_, rows_, columns_, depth_, width_, values_.transposed(), has_hidden_);
    // Those of more rows are packed once for several blocks.
    reads_keys_ =
        rows_ <= planning::most_few_rows
            ? planning::reading_of(rows_, columns_, depth_, a_.transposed(), b_.transposed())
            : planning::product_reading::packed;
    if (packing_.once)
      packed_offset_ = take(packed_header + static_cast<std::size_t>(packing_.bytes));
    if (a_.is_computed() || b_.is_computed())
      prologue_offset_ = take(std::max(a_.scratch_bytes(), b_.scratch_bytes()));
    if (a_.is_computed()) queries_offset_ = take(elements(block_rows_ * depth_));
    const std::size_t keys_bytes = elements(columns_ * depth_);
    keeps_keys_ = b_.is_computed() && !packing_.once && keys_bytes <= planning::kept_operand_bytes;
    if (b_.is_computed())
      keys_offset_ =
          take(packed_header + (keeps_keys_ ? keys_bytes : elements(block_columns_ * depth_)));
    need.per_thread = std::max(need.per_thread, end);
  }

  packed_state& packed(std::byte* scratch) const {
    return *reinterpret_cast<packed_state*>(scratch + packed_offset_);
  }
  packed_state& kept(std::byte* scratch) const {
    return *reinterpret_cast<packed_state*>(scratch + keys_offset_);
  }

  // Later rows of a causal mask take longer: first and last ones in turn, so that consecutive tasks
  // take the same time wherever they are divided among threads.
  std::int64_t block_of(std::int64_t task) const {
    if (!has_hidden_) return task;
    return task % 2 == 0 ? task / 2 : row_blocks_ - 1 - task / 2;
  }

  void run_rows(const run_memory& memory, std::byte* scratch, std::int64_t batch,
                std::int64_t row) const {
    const std::int64_t rows = std::min(block_rows_, rows_ - row);
    const std::int64_t first_row = batch * rows_ + row;
    std::byte* states = scratch + states_offset_;
    const row_block sums{scratch + sums_offset_, rows, width_, width_};
    const row_block result{
        memory.bases[result_.buffer] + bytes(result_.offset + first_row * width_), rows, width_,
        width_};
    // Without columns the sum is empty, and not a quotient of nothing.
    if (columns_ == 0) {
      std::memset(result.at, 0, static_cast<std::size_t>(bytes(rows * width_)));
      return;
    }
    if (a_.is_computed())
      a_.fill(memory, scratch + prologue_offset_, 0, first_row, rows, scratch + queries_offset_);
    tile_runner rest(rest_.program(), memory.bases, scratch);
    if (has_rest_) rest.begin();
    softmax_.begin(rows, states);
    const std::int64_t seen = has_hidden_ ? row + rows + hidden_offset_ : columns_;
    std::int64_t columns = 0;
    for (std::int64_t column = 0; column < columns_; column += columns) {
      if (column >= seen && adds_nothing(memory, batch, column, states, rows)) break;
      columns = std::min(block_columns_, columns_ - column);
      if (seen > column)
        columns = std::min(columns, planning::whole_units(seen - column, column_unit));
      const row_block scores{scratch + scores_offset_, rows, columns, columns};
      matrix_product first{
          .m = rows,
          .n = columns,
          .k = depth_,
          .a = a_.is_computed() ? scratch + queries_offset_
                                : a_.at(memory, batch_shape_, batch, row, 0),
          .lda = a_.leading(),
          .transpose_a = a_.transposed(),
          .b = b_.is_computed() ? nullptr : b_.at(memory, batch_shape_, batch, 0, column),
          .ldb = b_.leading(),
          .transpose_b = b_.transposed(),
          .c = scores.at,
          .ldc = scores.pitch,
          .accumulate = false,
          .workspace = scratch + workspace_offset_,
          .reading = reads_keys_};
      matrix_product second{.m = rows,
                            .n = width_,
                            .k = columns,
                            .a = scores.at,
                            .lda = scores.pitch,
                            .transpose_a = false,
                            .b = values_.at(memory, batch_shape_, batch, column, 0),
                            .ldb = values_.leading(),
                            .transpose_b = values_.transposed(),
                            .c = sums.at,
                            .ldc = sums.pitch,
                            .accumulate = column > 0,
                            .workspace = scratch + workspace_offset_,
                            .reading = packing_.reads_values};
      if (packing_.once)
        use_packed(memory, scratch, batch, column / block_columns_, first, second);
      else if (b_.is_computed())
        first.b = keys(memory, scratch, batch, column, columns);
      multiply_(first);
      if (has_rest_) {
        rest.set_external({static_cast<std::byte*>(scores.at), scores.pitch, first_row, column});
        rest.run_all(first_row, first_row + rows, column, column + columns);
      }
      // Nothing was summed before the first block.
      softmax_.weigh(scores, nest_->score_scale, states,
                     {sums.at, rows, column == 0 ? 0 : width_, width_});
      multiply_(second);
    }
    softmax_.finish(sums, states, result);
  }

  // Lets the products read what this thread has packed for an earlier block of rows; blocks of
  // columns come in order, and all row blocks of a batch start at the first.
  void use_packed(const run_memory& memory, std::byte* scratch, std::int64_t batch,
                  std::int64_t block, matrix_product& first, matrix_product& second) const {
    packed_state& state = packed(scratch);
    if (state.batch != batch) state = {batch, 0};
    std::byte* const left =
        scratch + packed_offset_ + packed_header + bytes(block * (packing_.keys + packing_.values));
    std::byte* const right = left + bytes(packing_.keys);
    if (block == state.count) {
      if (b_.is_computed()) first.b = keys(memory, scratch, batch, block * block_columns_, first.n);
      first.pack_into = left;
      multiply_(first);
      first.pack_into = nullptr;
      if (packing_.packs_values()) {
        second.pack_into = right;
        multiply_(second);
        second.pack_into = nullptr;
      }
      ++state.count;
    }
    first.packed_b = left;
    if (packing_.packs_values()) second.packed_b = right;
  }

  // Keys [column, column + columns), computed now unless this thread has them; those of a batch are
  // asked for from the first on.
  const std::byte* keys(const run_memory& memory, std::byte* scratch, std::int64_t batch,
                        std::int64_t column, std::int64_t columns) const {
    const std::int64_t own = b_.distinct_batch(batch_shape_, batch);
    std::byte* const first = scratch + keys_offset_ + packed_header;
    if (!keeps_keys_) {
      b_.fill(memory, scratch + prologue_offset_, own, column, columns, first);
      return first;
    }
    packed_state& state = kept(scratch);
    if (state.batch != own) state = {own, 0};
    if (const std::int64_t end = column + columns; state.count < end) {
      b_.fill(memory, scratch + prologue_offset_, own, state.count, end - state.count,
              first + bytes(state.count * depth_));
      state.count = end;
    }
    return first + bytes(column * depth_);
  }

  // The scores from this column on are hidden in all rows: would they change anything? They weigh 0
  // if a visible score exceeds them by far; but 0 times infinity would be NaN.
  bool adds_nothing(const run_memory& memory, std::int64_t batch, std::int64_t column,
                    const void* states, std::int64_t rows) const {
    if (!softmax_.outweighs(rows, states, nest_->score_scale, nest_->hidden.value)) return false;
    const std::int64_t rest = columns_ - column;
    auto* const from = const_cast<std::byte*>(values_.at(memory, batch_shape_, batch, column, 0));
    return softmax_.is_finite(values_.transposed()
                                  ? row_block{from, width_, rest, values_.leading()}
                                  : row_block{from, rest, width_, values_.leading()});
  }

  std::int64_t bytes(std::int64_t elements) const {
    return elements * static_cast<std::int64_t>(size_of(type_));
  }

  const planning::nest* nest_;
  int product_;
  dtype type_;
  gemm_function multiply_;
  const online_softmax& softmax_;
  bound_tile rest_;
  streamed_operand a_, b_;
  product_operand values_;
  shape_vector batch_shape_;
  std::int64_t batch_ = 1, rows_ = 0, columns_ = 0, depth_ = 0, width_ = 0;
  std::int64_t block_rows_ = 1, block_columns_ = 1, row_blocks_ = 1;
  strided_view result_;
  bool has_rest_ = false, has_hidden_ = false, keeps_keys_ = false;
  std::int64_t hidden_offset_ = 0;
  streamed_packing packing_;
  planning::product_reading reads_keys_ = planning::product_reading::packed;
  std::size_t scores_offset_ = 0, sums_offset_ = 0, states_offset_ = 0, workspace_offset_ = 0,
              packed_offset_ = 0, prologue_offset_ = 0, queries_offset_ = 0, keys_offset_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
