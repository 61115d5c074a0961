// SPDX-License-Identifier: MIT
// How nests are divided among tasks: by shape alone, never by the number of threads, so that one
// thread or many compute the same bits. A task is what one thread takes at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/support/abi.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::planning {

constexpr std::int64_t pieces_of(std::int64_t extent, std::int64_t piece) {
  return (extent + piece - 1) / piece;
}
constexpr std::int64_t whole_units(std::int64_t extent, std::int64_t unit) {
  return pieces_of(extent, unit) * unit;
}

/// Where piece i of `count` begins, in whole units: pieces differ by one at most. Equal ones would
/// leave a small last one: of two threads that take four blocks of 144 of 512 columns, one has 0.56
/// of the work.
constexpr std::int64_t piece_begin(std::int64_t extent, std::int64_t unit, std::int64_t count,
                                   std::int64_t i) {
  return std::min(extent, pieces_of(extent, unit) * i / count * unit);
}

// Elements one task should have: at 0.05 to 0.5 ns each long enough to hide what starting a task
// costs.
inline constexpr std::int64_t elements_per_task = 32768;
// Of whole rows, which threads take in ranges of neighbours: with more, 16 threads get 6 or 7 tasks
// each of 4096 rows of 768, and the slowest has a seventh more to do than need be. (512 rows on 16
// threads of a Xeon: layer norm 20.7 and 18.9 µs, softmax 27.5 and 23.2, relu(x + b) 16.9
// and 15.7.)
inline constexpr std::int64_t row_elements_per_task = 8192;

// An empty parallel region costs 0.74 µs on two threads and several times that on many. Of 413
// functions and reductions of 10^4 to 10^5 elements 8 threads of a Xeon take 0.88 of the time that
// they take if only work of 20 µs is shared, 2 and 4 threads 0.84 and 0.89; if work of 5 µs is, no
// less. A thread that finds nothing to do sleeps after 7 ms, and to wake it takes some 60 µs: one
// part in a hundred at most.
inline constexpr double parallel_nanoseconds = 10'000;

/// Do threads take the tasks of work that one thread does in so many nanoseconds?
constexpr bool goes_to_threads(std::int64_t tasks, double nanoseconds) {
  return tasks > 1 && nanoseconds >= parallel_nanoseconds;
}

struct tile_division {
  std::int64_t rows = 1, columns = 1;  // of a task
};

/// Of a tile nest that walks `rows` x `columns` in tiles of `tile_rows` x `chunk`. `split`: few
/// long rows, of which tasks take parts; `free`: a map, whose rows may be cut.
constexpr tile_division divide_tile(std::int64_t rows, std::int64_t columns, std::int64_t tile_rows,
                                    std::int64_t chunk, bool split, bool free) {
  rows = std::max<std::int64_t>(1, rows);
  columns = std::max<std::int64_t>(1, columns);
  tile_division out{1, columns};
  if (split) {
    // At most 256 parts: one thread combines them, and nothing is read while a task begins. (Sums
    // of x y of 2^20 elements in L3: 1.09 of the time of one call in 64 tasks, 1.06 in 32. With
    // fewer, a dozen threads would not share long rows of exponentials evenly.)
    out.columns = std::max(whole_units(elements_per_task, chunk),
                           whole_units(pieces_of(columns, 256), chunk));
    return out;
  }
  if (free && columns > elements_per_task) out.columns = whole_units(elements_per_task, chunk);
  out.rows = whole_units(std::max<std::int64_t>(1, row_elements_per_task / out.columns), tile_rows);
  return out;
}

/// Groups into which rows are cut whose columns are summed up, each with accumulators of its own:
/// at most 32, of two tasks' elements and so many rows at least.
constexpr std::int64_t row_groups(std::int64_t rows, std::int64_t columns,
                                  std::int64_t least_rows) {
  return std::clamp<std::int64_t>(
      std::min(rows / least_rows, rows * columns / (2 * elements_per_task)), 1, 32);
}

/// Rows of a group of a nest that sums rows up on the way, in whole tiles.
constexpr std::int64_t summed_rows(std::int64_t rows, std::int64_t columns,
                                   std::int64_t tile_rows) {
  return whole_units(pieces_of(std::max<std::int64_t>(1, rows), row_groups(rows, columns, 32)),
                     tile_rows);
}

struct column_division {
  std::int64_t batches = 1, columns = 1;  // of a task
  std::int64_t groups = 1;                // of rows, with accumulators of their own
  std::int64_t group_rows = 1;
};

/// The deviations of a column nest are computed from distances to the mean of a sample: so many
/// rows at the beginning of each so many. One row in 64 adds 1/64 to the sweep, and since the rows
/// of the sample are part of the data, their squares are at least 1/64 of what the difference
/// between the two means adds to the squares: the result loses 6 bits at worst, none as a rule.
inline constexpr std::int64_t moment_sample_rows = 8, moment_sample_step = 512;

/// Down so few rows of stored elements registers hold what columns come to, without accumulators.
/// (Where rows are 4 KiB apart, and share the places of L1, 12 take 0.7 of the time, 16 1.3.)
inline constexpr std::int64_t rows_in_registers = 12;

/// Groups of rows are combined by parts of the columns: whole lines of accumulators and results. A
/// group costs what so many rows do; of exponentials it takes two of doubles for one of floats.
inline constexpr std::int64_t combined_columns = 64, combining_rows = 4;

/// Of a column nest: whole batches, or parts of the columns, or groups of rows.
constexpr column_division divide_columns(std::int64_t batch, std::int64_t reduced,
                                         std::int64_t columns) {
  const std::int64_t elements = reduced * columns;
  column_division out;
  out.columns = std::max<std::int64_t>(1, columns);
  out.group_rows = std::max<std::int64_t>(1, reduced);
  out.batches = std::max<std::int64_t>(1, elements_per_task / std::max<std::int64_t>(1, elements));
  if (batch >= 16 || elements <= 2 * elements_per_task) return out;
  // 64 rows per group at least: the accumulators of a group cost as much as a few rows.
  const std::int64_t groups = row_groups(reduced, columns, 64);
  out.group_rows = whole_units(pieces_of(std::max<std::int64_t>(1, reduced), groups), 32);
  out.groups = pieces_of(std::max<std::int64_t>(1, reduced), out.group_rows);
  if (out.groups == 1)
    out.columns = std::min(columns, whole_units(elements_per_task / reduced + 1, 1024));
  return out;
}

/// Columns of the registers that a product has for n of them, unless it is by a vector. Of
/// [512,128] by 10 columns 60 % more, which is what it takes more.
constexpr std::int64_t register_columns(std::int64_t n, dtype type) {
  return n == 1 ? 1 : whole_units(n, 64 / static_cast<std::int64_t>(size_of(type)));
}

/// And how many one of so many rows computes: a quarter of the last register or less takes half of
/// one where rows fill its lanes (exec/columns_apart.hpp; a third on a Zen 4, four fifths on a
/// Xeon).
constexpr std::int64_t computed_columns(std::int64_t rows, std::int64_t n, dtype type) {
  const std::int64_t width = 64 / static_cast<std::int64_t>(size_of(type)), rest = n % width;
  const bool are_apart = n > 1 && rest > 0 && rest <= width / 4 && rows >= width;
  return register_columns(n, type) - (are_apart ? width / 2 : 0);
}

/// Sides of a product up to which packing the other operand costs more than it saves. At most
/// `most_few_rows` pass any right side block by block, more than these one that stays in L2 (2^18
/// elements, 1 MB of f32). With AVX-512 on a Xeon 64 rows by [512,512] take 0.96 of the time of
/// packed ones so, 0.90 of that of few rows; with AVX2 few rows are ahead up to 24.
inline constexpr std::int64_t most_few_rows = 32, in_place_rows = 64, in_place_columns = 128,
                              in_place_elements = std::int64_t{1} << 18;

/// Are these rows few enough for a right side that stays in L2 to be read where it is?
constexpr bool read_near(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return rows <= in_place_rows && columns <= in_place_elements / std::max<std::int64_t>(1, depth);
}

/// How a product of floats reads its operands: packed, block by block; both where they are; the
/// same of few rows, which a large right side passes once; of some more rows, for which it passes
/// or has been packed, with the same bits; or both along their rows, the right side being stored
/// transposed, as dot products.
enum class product_reading : std::uint8_t { packed, in_place, few_rows, some_rows, dots };

/// Are these rows so few that a right side which does not stay in L2 may pass them, `most_passing`
/// at most, and so many that it may have been packed for them?
constexpr bool are_some_rows(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                             bool transposed_left, std::int64_t most_passing) {
  if (rows <= most_few_rows || rows > most_passing || transposed_left) return false;
  return columns > in_place_columns && !read_near(rows, columns, depth);
}

/// Of `rows` x `columns` results. To add up the lanes of a dot product takes as long as 64 elements
/// of it, to pack an element of the other side as long as 10 products of it: of [64,64] stored
/// transposed 4 rows take 0.36 µs instead of 0.43, 8 rows 0.61 instead of 0.55, of [768,768] 2 rows
/// 23 instead of 62, 8 rows 45 instead of 88, 32 rows 184 instead of 192 (Zen 5; with AVX2 as
/// long). Costs, which are of no machine, count on most_few_rows that pass.
constexpr product_reading reading_of(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                                     bool transposed_left, bool transposed_right,
                                     std::int64_t most_passing = most_few_rows) {
  using enum product_reading;
  if (columns == 1) return in_place;
  const product_reading of_many =
      are_some_rows(rows, columns, depth, transposed_left, most_passing) ? some_rows : packed;
  if (transposed_right) {
    if (rows == 1) return dots;
    const bool are_few = std::min(rows, columns) <= std::min(most_few_rows, (depth - 32) / 8);
    return are_few && !transposed_left ? dots : of_many;
  }
  if (rows <= 2) return few_rows;  // as sums of the right side's rows
  if (columns <= in_place_columns) return in_place;
  if (rows <= most_few_rows) return few_rows;
  return read_near(rows, columns, depth) ? in_place : of_many;
}

/// Is the left side of a product that is packed packed, too, for so many columns? One that is not
/// transposed can as well be read where it is (exec/gemm.hpp has the figures). Costs, which are of
/// no machine, count on the limit of AVX2.
constexpr bool packs_left(bool transposed_left, std::int64_t columns,
                          std::int64_t most_columns = in_place_columns) {
  return transposed_left || columns > most_columns;
}

/// How many elements of a gathered right side lie one behind the other, along its columns (every
/// other element of memory, if `apart`) or its depth; 0: not in runs that are evenly far apart.
struct gathered_runs {
  std::int64_t columns = 0, depth = 0;
  bool apart = false;
};

/// Shorter runs are packed, unless there are very few rows: a register holds a part of one run. (A
/// row by windows of 3 x 3 in images of 7 x 7: 39 ns instead of 245.) What lies apart is packed at
/// half the speed, and read with two loads and a shuffle for every 8 rows: 16 rows by windows of
/// 3 x 3 with a stride of 2 take 0.65 to 0.8 of the time (AVX2 0.8 to 1.02), 32 rows 0.77 to 0.96
/// (0.86 to 1.09), but of 3 channels 1.15.
inline constexpr std::int64_t least_run = 8, least_run_of_few = 4, very_few_rows = 4,
                              few_rows_apart = 16, least_run_apart = 6, least_depth_apart = 64;

/// The same where the right side is gathered: few rows are worth no packing.
constexpr product_reading reading_of_gathered(std::int64_t rows, std::int64_t columns,
                                              std::int64_t depth, bool transposed_left,
                                              gathered_runs runs) {
  using enum product_reading;
  if (runs.depth >= least_run && !transposed_left &&
      reading_of(rows, columns, depth, transposed_left, true) == dots)
    return dots;
  const auto in_place_from = [&](std::int64_t run) {
    return rows <= most_few_rows && runs.columns >= run ? in_place : packed;
  };
  if (rows <= very_few_rows) return in_place_from(least_run_of_few);
  if (!runs.apart) return in_place_from(least_run);
  if (rows <= few_rows_apart) return in_place_from(least_run_apart);
  return depth >= least_depth_apart ? in_place_from(least_run) : packed;
}

/// Rows of a block of products of m rows: `rows`, or a little more where the smallest block could
/// be so small that it is multiplied in another way (packs(rows) is false) than the rest.
template <class Packs>
constexpr std::int64_t product_rows(std::int64_t m, std::int64_t rows, Packs packs) {
  const auto last = [&] { return m - (std::max<std::int64_t>(1, pieces_of(m, rows)) - 1) * rows; };
  while (packs(m) && !packs(last())) rows += 8;
  return rows;
}

// Blocks of columns of scores are whole units.
inline constexpr std::int64_t score_column_unit = 64;

struct streamed_division {
  std::int64_t rows = 1, columns = 1;  // of a block of scores
};

/// Of scores. A block takes 256 KiB of floats: it stays in L2 together with what it is made of.
/// Fewer rows pack the other operands too often, fewer columns scale sums too often. Pieces of one
/// size, in whole units, rather than full ones and a small rest.
constexpr streamed_division divide_scores(std::int64_t rows, std::int64_t columns) {
  const auto equal_pieces = [](std::int64_t extent, std::int64_t most, std::int64_t unit) {
    if (extent <= most) return std::max<std::int64_t>(1, extent);
    return whole_units(pieces_of(extent, pieces_of(extent, most)), unit);
  };
  return {equal_pieces(rows, 128, 8), equal_pieces(columns, 512, score_column_unit)};
}

/// Packed keys and values that a thread keeps from one block of rows to the next at most. Not with
/// a causal mask, whose blocks end where they are hidden: that saves more.
inline constexpr std::size_t packed_scores_limit = 1 << 20;

/// Rows of a gather that one task takes, each of `width` elements.
constexpr std::int64_t gathered_rows(std::int64_t width) {
  return std::max<std::int64_t>(1, elements_per_task / std::max<std::int64_t>(1, width));
}

/// Rows of a custom op that one task takes; `widest`: elements that the array with most of them has
/// in a row.
constexpr std::int64_t custom_rows(std::int64_t widest) { return gathered_rows(widest); }

/// Columns of a scatter_add, or of a scan, that one task takes: all updates or rows of them, so
/// that their order is kept. 16 columns fill a line. Threads walk down the rows at the same pace,
/// and where their columns meet each waits for the other's lines, so that up to 512 columns are one
/// task. (A Zen 3, µs with one thread and with two: 1000 rows of 100 f32 added 53 and 262, 100 of
/// 300 55 and 151, 100 of 512 95 and 229; running sums of [1000,300] 75 and, as they happen to lie,
/// 60 or 240. A Xeon with one thread, two and eight: 1000 rows of 100 51, 164 and 174, of 300 176,
/// 320 and 189, of 512 342, 450 and 192, of 1000 790, 680 and 340; running sums of [1000,100] 33,
/// 56 and 115, of [200,300] 22, 34 and 28, of [1000,304] 201, 178 and 36.)
constexpr std::int64_t columns_of_rows(std::int64_t before, std::int64_t width) {
  if (before >= 8 || width <= 512) return std::max<std::int64_t>(1, width);
  return whole_units(pieces_of(width, 16), 16);
}

}  // namespace sinter::inline SINTER_ABI::planning
