// SPDX-License-Identifier: MIT
// Runs matmul nests, and grouped ones: several products with one left side. Blocks of results are
// divided by shape; those of the same rows come one after the other, whichever product they belong
// to, so that a thread packs these rows of the left side once. Where there are enough blocks for
// all threads, a thread takes several that lie below each other at once, or, of few rows, beside
// each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <sinter/exec/gemm.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_operand.hpp>
#include <sinter/exec/product_part.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/machine.hpp>

namespace sinter::inline SINTER_ABI::exec {

class matmul_nest {
 public:
  matmul_nest(const planning::plan& plan, const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        type_(product_part::type_of(first_part(nest))),
        a_(kernels, first_part(nest), 0, first_part(nest).transpose_a, type_,
           static_cast<int>(plan.buffers.size())) {
    int copy = static_cast<int>(plan.buffers.size()) + 1;
    const auto add = [&](const planning::nest& part) {
      parts_.emplace_back(plan, kernels, part, copy);
      copy += parts_.back().right_sides();
    };
    if (nest.kind == planning::nest_kind::matmul) add(nest);
    for (const planning::nest& part : nest.parts) add(part);
  }

  memory_need bind(const binding& at) {
    const shape_vector space = at.evaluate(parts_.front().nest().space);
    const std::size_t rank = space.size();
    detail::require_step(rank >= 2, *nest_, "a matrix product has two axes");
    batch_shape_ = shape_vector(space.begin(), space.end() - 2);
    m_ = space[rank - 2];
    memory_need out;
    a_.bind(at, rank - 2, out);
    const std::int64_t k = a_.columns();
    detail::require_step(a_.rows() == m_, *nest_, "the operands of the product do not fit");
    for (product_part& part : parts_) part.bind_right(at, space_of(at, part, space), k, out);
    fold_batches_if(batch_shape_, m_, a_, [&](std::size_t axis) {
      return std::ranges::all_of(parts_, [&](const product_part& p) { return p.is_shared(axis); });
    });
    batch_ = element_count(batch_shape_);

    // Rows are divided as for the widest product. That leaves every element its bits: how it is
    // summed up depends on the depth, and on whether blocks are packed.
    const product_part* widest = nullptr;
    column_blocks_ = 0;
    most_beside_ = 1;
    for (product_part& part : parts_) {
      part.divide(a_, m_);
      if (widest == nullptr || part.columns() > widest->columns()) widest = &part;
      column_blocks_ += part.column_blocks();
      most_beside_ = std::max(most_beside_, part.most_beside());
    }
    rows_ = planning::product_rows(
        m_, widest->block_rows(), [&](std::int64_t rows) { return gemm_packs(type_, rows, 2, k); });
    row_blocks_ = std::max<std::int64_t>(1, planning::pieces_of(m_, rows_));
    const bool packs = a_.is_gathered() || std::ranges::any_of(parts_, [&](const product_part& p) {
                         return p.reads_packed(rows_);
                       });
    choose_stacks(packs);
    choose_together();
    bool gathers = a_.is_gathered();
    for (product_part& part : parts_) {
      part.bind_rest(at, space_of(at, part, space), std::min(m_, stack_ * rows_) * together_);
      out.per_thread = std::max(out.per_thread, part.scratch_bytes());
      gathers = gathers || part.is_gathered();
    }
    if (gathers) {
      tables_offset_ = round_to_lines(out.per_thread);
      out.per_thread = tables_offset_ + gemm_table_bytes;
    }
    if (kept_stack_ > 0) {
      packed_offset_ = round_to_lines(out.per_thread);
      out.per_thread = packed_offset_ + packed_header + packed_bytes(kept_stack_ * rows_);
    }
    return out;
  }

  void run(const run_memory& memory) const {
    if (batch_ == 0 || m_ == 0) return;
    // A copy's workspace lies behind the packed operands, which are in use.
    a_.pack(memory);
    for (const product_part& part : parts_) part.pack(memory);
    const std::int64_t stack = stack_for_threads(), beside = beside_for_threads();
    const std::int64_t columns = column_tasks(beside);
    const std::int64_t tasks = places_of(stack) * columns;
    if (stack <= kept_stack_)
      for (int thread = 0; thread < std::min<std::int64_t>(thread_count(), tasks); ++thread)
        packed_stack(memory.scratch(thread)) = -1;
    parallel_for(tasks, nest_->predicted_nanoseconds, [&](std::int64_t task, int thread) {
      run_blocks(memory, memory.scratch(thread), stack, task / columns, beside, task % columns);
    });
  }

  lowered_products lowered() const {
    lowered_products out;
    out.type = type_;
    out.batch = batch_shape_;
    out.m = m_;
    out.k = a_.columns();
    out.rows = rows_;
    out.packs_left = kept_stack_ > 0;
    out.left = a_.lowered(batch_shape_.size());
    a_.add_copies(out.copies);
    for (const product_part& part : parts_) {
      out.parts.push_back(part.lowered(batch_shape_.size()));
      part.add_copies(out.copies);
    }
    return out;
  }

 private:
  static constexpr std::size_t packed_header = 64;
  // Right sides are packed once for at most so many rows. Products of [512,768] by 768 and 2048
  // columns take 3 % less time on Zen 5 than with blocks of 256 rows, and 7 % on a Xeon.
  static constexpr std::int64_t most_stacked_rows = 512;

  // A left side of so many bytes stays in L2; of a larger one the next rows are fetched.
  static constexpr std::int64_t near_bytes = 256 << 10;

  // What packing the columns of a block costs, in rows more: 128 rows take a tenth longer each than
  // 512, 256 rows 4 % (Xeon).
  static constexpr std::int64_t packing_rows = 12;
  // By a vector nothing is packed, but blocks of few rows read short pieces where the matrix is
  // transposed: on two threads of a Zen 5 eight tasks took [2048,2048] 1.35 of the time of four.
  static constexpr std::int64_t vector_rows = 128;
  // And what beginning with the columns of a block costs where nothing is packed.
  static constexpr std::int64_t placed_rows = 8;

  // Multiply-adds of small products that a task computes together, 1 to 2 us, and how many a
  // product takes beside its own.
  static constexpr std::int64_t work_together = 1 << 17, work_beside = 1 << 12;

  // So many rows that are packed once for all columns are better than more that are packed again
  // for every block of columns (plan/candidate_cost.hpp counts on as many).
  static constexpr std::int64_t worth_keeping_rows = 256;

  // How many blocks of rows a thread may take at once, and of how many it keeps the rows packed. No
  // bit depends on either: how an element is summed up depends on the depth, and on how operands
  // are read, which is the same for all blocks.
  void choose_stacks(bool packs) {
    packs_ = packs && gemm_packs(type_, rows_, 2, a_.columns());
    const std::int64_t most = packs_ || is_by_vectors() ? most_stacked_rows : gemm_least_rows,
                       fitting = std::max<std::int64_t>(1, most / rows_);
    stack_ = even_stack(fitting);
    std::int64_t columns = 0;
    for (const product_part& part : parts_) columns += part.columns();
    kept_stack_ = packs && packs_left(a_, columns) && column_blocks_ > 1 ? stack_ : 0;
    while (kept_stack_ > 0 && packed_bytes(kept_stack_ * rows_) > planning::packed_limit)
      kept_stack_ /= 2;
    if (kept_stack_ * rows_ >= worth_keeping_rows) stack_ = kept_stack_;
  }
  // Small products of batches along the last axis, each a single block.
  void choose_together() {
    together_ = 1;
    last_axis_ = batch_shape_.empty() ? 1 : std::max<std::int64_t>(1, batch_shape_.back());
    if (parts_.size() > 1 || row_blocks_ > 1 || column_blocks_ > 1) return;
    const std::int64_t results = std::max<std::int64_t>(1, m_ * parts_.front().columns()),
                       work = work_beside + results * a_.columns(),
                       most = std::clamp<std::int64_t>(
                           std::min(work_together / work, planning::elements_per_task / results), 1,
                           last_axis_);
    together_ = planning::pieces_of(last_axis_, planning::pieces_of(last_axis_, most));
  }
  // The least that leaves no more stacks than this one does.
  std::int64_t even_stack(std::int64_t stack) const {
    return planning::pieces_of(row_blocks_, planning::pieces_of(row_blocks_, stack));
  }
  std::int64_t groups_of_axis() const { return planning::pieces_of(last_axis_, together_); }
  std::int64_t groups() const { return batch_ / last_axis_ * groups_of_axis(); }
  // Of a group: the first batch, and how many.
  std::pair<std::int64_t, std::int64_t> batches_of(std::int64_t group) const {
    const std::int64_t first = group % groups_of_axis() * together_;
    return {group / groups_of_axis() * last_axis_ + first, std::min(together_, last_axis_ - first)};
  }
  bool is_by_vectors() const {
    return std::ranges::all_of(parts_, [](const product_part& p) { return p.columns() == 1; });
  }
  std::int64_t threads() const { return threads_for(tasks_of(1), nest_->predicted_nanoseconds); }
  // As many as let threads end soonest, when in the end each waits for half a block of another. To
  // pack for fewer than gemm_least_rows is for threads that would have nothing to do otherwise: of
  // a training step's products two threads take 8 % longer so, eight 0.66 of the time.
  std::int64_t stack_for_threads() const {
    const std::int64_t count = threads();
    if (count == 1) return stack_;
    const std::int64_t more = is_by_vectors() ? vector_rows : packs_ ? packing_rows : placed_rows;
    const auto time_of = [&](std::int64_t stack) {
      const std::int64_t rows = stack * rows_;
      return planning::pieces_of(tasks_of(stack), count) * (rows + more) + rows / 2;
    };
    std::int64_t best = 1;
    if (packs_)
      while (best < stack_ && best * rows_ < gemm_least_rows && tasks_of(best + 1) >= count) ++best;
    best = even_stack(best);
    for (std::int64_t stack = best + 1; stack <= stack_; ++stack)
      if (time_of(stack) <= time_of(best)) best = stack;
    return best;
  }
  // The same of blocks of columns beside each other, of products of few rows. A task that begins
  // waits for its first block of the right side, which costs a quarter of a block of columns; half
  // of one for so few rows that reading is all, and short pieces of rows are read more slowly. (A
  // vector by [2048,2048] takes 1.14 of the time on two threads of a Zen 5 with a quarter.)
  std::int64_t beside_for_threads() const {
    const std::int64_t count = most_beside_ == 1 ? 1 : threads();
    if (count == 1) return most_beside_;
    const std::int64_t begin = m_ <= 4 ? 2 : 1;
    const auto time_of = [&](std::int64_t beside) {
      const std::int64_t tasks = places_of(1) * column_tasks(beside);
      return planning::pieces_of(tasks, count) * (4 * beside + begin) + 2 * beside;
    };
    std::int64_t best = 1;
    for (std::int64_t beside = 2; beside <= most_beside_; beside *= 2)
      if (time_of(beside) <= time_of(best)) best = beside;
    return best;
  }
  static std::int64_t column_tasks(const product_part& part, std::int64_t beside) {
    return planning::pieces_of(part.column_blocks(), std::min(beside, part.most_beside()));
  }
  std::int64_t column_tasks(std::int64_t beside) const {
    if (beside == 1) return column_blocks_;
    std::int64_t tasks = 0;
    for (const product_part& part : parts_) tasks += column_tasks(part, beside);
    return tasks;
  }
  // Of a block: at most rows_ before that of the next one.
  std::int64_t first_row(std::int64_t block) const {
    return planning::piece_begin(m_, gemm_row_unit, row_blocks_, block);
  }
  std::int64_t places_of(std::int64_t stack) const {
    return groups() * planning::pieces_of(row_blocks_, stack);
  }
  std::int64_t tasks_of(std::int64_t stack) const { return places_of(stack) * column_blocks_; }
  std::size_t packed_bytes(std::int64_t rows) const {
    return static_cast<std::size_t>(gemm_packed_elements(std::min(rows, m_), a_.columns())) *
           size_of(type_);
  }

  static const planning::nest& first_part(const planning::nest& nest) {
    if (nest.kind == planning::nest_kind::matmul) return nest;
    detail::require_step(!nest.parts.empty(), nest, "a grouped nest without products");
    return nest.parts.front();
  }

  // Which rows a thread has packed, or -1.
  std::int64_t& packed_stack(std::byte* scratch) const {
    return *reinterpret_cast<std::int64_t*>(scratch + packed_offset_);
  }

  // The extents of a part, which are those of the first but for the columns.
  static shape_vector space_of(const binding& at, const product_part& part,
                               const shape_vector& first) {
    shape_vector space = at.evaluate(part.nest().space);
    detail::require_step(
        space.size() == first.size() && std::equal(space.begin(), space.end() - 1, first.begin()),
        part.nest(), "products of one nest differ in their rows");
    return space;
  }

  void run_blocks(const run_memory& memory, std::byte* scratch, std::int64_t stack,
                  std::int64_t place, std::int64_t beside, std::int64_t column_task) const {
    const product_part* part = &parts_.front();
    for (std::size_t i = 1; column_task >= column_tasks(*part, beside); ++i) {
      column_task -= column_tasks(*part, beside);
      part = &parts_[i];
    }
    beside = std::min(beside, part->most_beside());
    if (part->columns() == 0) return;
    const std::int64_t stacks = planning::pieces_of(row_blocks_, stack),
                       block = place % stacks * stack;
    const std::int64_t row = first_row(block),
                       end = first_row(std::min(block + stack, row_blocks_));
    const auto [batch, count] = batches_of(place / stacks);
    const bool is_far = m_ * a_.columns() * static_cast<std::int64_t>(size_of(type_)) > near_bytes;
    const std::int64_t behind = is_far && column_blocks_ == 1 ? m_ - end : 0;
    left_block left{a_,        batch_shape_, batch,   count,   row,
                    end - row, behind,       nullptr, scratch, scratch + tables_offset_};
    if (stack <= kept_stack_ && (a_.is_gathered() || part->reads_packed(left.rows))) {
      left.packed = scratch + packed_offset_ + packed_header;
      if (packed_stack(scratch) != place) {
        pack_rows(memory, left, part->multiply());
        packed_stack(scratch) = place;
      }
    }
    part->run_block(memory, left, column_task * beside, beside);
  }

  static void pack_rows(const run_memory& memory, const left_block& left, gemm_function multiply) {
    matrix_product product = left.product(memory);
    product.pack_a_into = const_cast<void*>(left.packed);
    multiply(product);
  }

  const planning::nest* nest_;
  dtype type_;
  product_operand a_;
  std::deque<product_part> parts_;  // in place: parts refer to parts of themselves
  shape_vector batch_shape_;
  std::int64_t batch_ = 1, m_ = 0, rows_ = 1, row_blocks_ = 1, column_blocks_ = 1;
  bool packs_ = false;
  std::int64_t stack_ = 1, kept_stack_ = 0, most_beside_ = 1;  // kept 0: no rows stay packed
  std::int64_t last_axis_ = 1, together_ = 1;                  // batches, and those of a task
  std::size_t packed_offset_ = 0, tables_offset_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
