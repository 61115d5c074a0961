// SPDX-License-Identifier: MIT
// Runs element-wise regions that were not compiled: their steps, block by block. Temporaries are
// blocks as well and stay in L1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/accumulator_steps.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/streamed_row.hpp>
#include <sinter/graph/accumulator_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// So many blocks from element i on. Not inlined: the cases of run_block are there once.
template <Floating T>
[[gnu::noinline]] void run_blocks(const bound_steps<T>& steps, std::int64_t i, std::int64_t blocks,
                                  bool streaming, lines_ahead& lines) {
  constexpr std::size_t bytes = accumulator_block<T> * sizeof(T);
  accumulator<T> machine{.all = {},
                         .position = i * std::int64_t{sizeof(T)},
                         .streamed = streaming ? steps.end() - 1 : nullptr,
                         .step = nullptr,
                         .a = nullptr};
  for (; blocks > 0; --blocks) {
    // The bursts in which a block is read are no steady stream to the hardware: from DRAM a chain
    // of eight ops takes 0.98 ms without fetching and 0.78 with, its compiled kernel 0.74; in L2
    // there is no difference.
    lines.ask<bytes>();
    run_block<T>(steps, machine);
    machine.position += bytes;
  }
}

// A program over rows: over whole blocks where they are, over what is left in memory of our own.
template <Floating T>
class accumulator_rows {
 public:
  accumulator_rows(const ir::accumulator_program& program, const ir::map_run& run,
                   const void* const* operands, void* result)
      : program_(program), run_(run), operands_(operands), result_(result) {
    if (run.count >= block) bind(whole_, false);
    if (run.count % block != 0 || run.mode.streaming) bind(part_, true);
  }

  void run() {
    for (row_ = 0;;) {
      run_row();
      if (++row_ == run_.rows) return;
      whole_.go_to_next_row();
      part_.go_to_next_row();
    }
  }

 private:
  static constexpr auto block = static_cast<std::int64_t>(accumulator_block<T>);

  std::byte* memory(int k) { return reinterpret_cast<std::byte*>(memory_[k]); }

  // The caller's places, leaves and result.
  std::int64_t step(int k) const {
    if (run_.rows == 1) return 0;
    return k == program_.result() ? run_.result_step : run_.steps[k];
  }
  std::byte* first(int k) const {
    // Nobody writes to leaves.
    return static_cast<std::byte*>(k == program_.result() ? result_
                                                          : const_cast<void*>(operands_[k]));
  }
  T* in_row(int k) const { return reinterpret_cast<T*>(first(k) + row_ * step(k)); }

  void bind(bound_steps<T>& steps, bool of_part) {
    steps.bind(program_, [&](int k) -> accumulator_place<T> {
      const bool moves = program_.moves(k);
      if (k > program_.result() || program_.is_spread(k) || (moves && of_part))
        return {memory(k), 0, 0};
      return {first(k), moves ? -1 : 0, step(k)};
    });
  }

  void run_row() {
    for (int k = 0; k < program_.leaf_count; ++k)
      if (program_.is_spread(k)) std::fill_n(memory_[k], block, *in_row(k));
    const std::int64_t n = run_.count;
    streamed_part past;
    if (run_.mode.streaming) past = begin_streaming<T>(in_row(program_.result()), n);
    if (past.begin > 0) run_part(0, past.begin);
    const std::int64_t blocks = (n - past.begin) / block, end = past.begin + blocks * block;
    if (blocks > 0) run_whole(past.begin, blocks);
    if (end < n) run_part(end, n - end);
  }
  void run_whole(std::int64_t i, std::int64_t blocks) {
    lines_ahead lines;
    for (int k = 0; run_.mode.fetches() && k < program_.leaf_count; ++k)
      if (run_.mode.is_fetched(k)) lines.add(in_row(k) + i, run_.mode.bytes_ahead());
    run_blocks<T>(whole_, i, blocks, run_.mode.streaming, lines);
  }
  void run_part(std::int64_t i, std::int64_t count) {
    for (int k = 0; k < program_.leaf_count; ++k) {
      if (!program_.moves(k)) continue;
      std::copy_n(in_row(k) + i, count, memory_[k]);
      std::fill(memory_[k] + count, memory_[k] + block, T(1));
    }
    lines_ahead none;
    run_blocks<T>(part_, 0, 1, false, none);
    std::copy_n(memory_[program_.result()], count, in_row(program_.result()) + i);
  }

  const ir::accumulator_program& program_;
  const ir::map_run& run_;
  const void* const* operands_;
  void* result_;
  std::int64_t row_ = 0;
  bound_steps<T> whole_, part_;
  // Of spread scalars; of what the last elements are read from and written to; of temporaries.
  alignas(64) T memory_[ir::accumulator_program::max_places][accumulator_block<T>];
};

}  // namespace detail

/// Evaluates the region that `program` was made of over rows, as ir::accumulator_function has it,
/// and gives the same bits as map_kernel. Allocates nothing. Precondition: run.rows > 0.
template <Floating T>
void accumulator_kernel(const ir::accumulator_program& program, const ir::map_run& run,
                        const void* const* operands, void* result) {
  detail::accumulator_rows<T>(program, run, operands, result).run();
}

}  // namespace sinter::inline SINTER_ABI::exec
