// SPDX-License-Identifier: MIT
// Matrix products on one thread. Floats are packed by Eigen's routines in blocks whose sizes depend
// on the shape alone (Eigen takes its own from the caches it detects and the number of threads, and
// with them the bits of the result). Integers run on plain loops.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sinter/exec/copy.hpp>
#include <sinter/exec/dot_product.hpp>
#include <sinter/exec/gathered_mapper.hpp>
#include <sinter/exec/gemv.hpp>
#include <sinter/exec/in_place_product.hpp>
#include <sinter/exec/pack_operands.hpp>
#include <sinter/exec/panel_product.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/sum_depth.hpp>
#include <sinter/exec/window_product.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/support/cache_lines.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// How a product is cut into blocks of C that can be computed independently.
struct gemm_blocks {
  std::int64_t rows, columns;  // of a block at most
  std::int64_t row_count;
  std::int64_t column_count;
  std::int64_t column_unit;  // blocks begin at multiples of so many columns
};

/// Columns of whole micro-panels of every instruction set (three registers of 16 floats): blocks
/// begin at multiples of it.
inline constexpr std::int64_t gemm_column_unit = 48;
/// And of so many rows: those of a tile.
inline constexpr std::int64_t gemm_row_unit = 8;

/// Blocks of fewer rows pack their columns for too little, and read them too often: they are for
/// threads that would have no block otherwise, of `gemm_thread_rows` at least.
inline constexpr std::int64_t gemm_least_rows = 128, gemm_thread_rows = 2 * gemm_row_unit;

/// What reading an element of an operand from L2 or L3 takes, in multiply-adds: most of what a
/// product by a vector takes. ([1024,1024] by one takes 10 to 12 µs on 16 threads of a Xeon. In the
/// two blocks that its multiply-adds are worth, it took 45 to 190.)
inline constexpr double gemm_reading = 16;
/// One of windows, most of which are in L1.
inline constexpr double gemm_window_reading = 2;

/// Rows of a block if there are to be so many, in whole units. Small ones have no rest: 160 rows
/// are ten times 16, which threads share evenly, rather than six times 24 and 16.
constexpr std::int64_t gemm_block_rows(std::int64_t m, std::int64_t count) {
  if (count == 1) return m;
  const std::int64_t rows = planning::whole_units(planning::pieces_of(m, count), gemm_row_unit);
  const bool is_small = rows > gemm_thread_rows && rows < 2 * gemm_thread_rows;
  return is_small && m % rows != 0 && m % gemm_thread_rows == 0 ? gemm_thread_rows : rows;
}

/// Depends on the shape alone, never on the number of threads. Halves the longer side until there
/// are 64 blocks, but none of less than 128 rows and 192 columns (16 and 96 until there are 16
/// blocks, 16 rows by a vector) or 10^6 multiply-adds, 7 µs: those of whole registers, and a result
/// takes as long as 8 of them. A thread takes several blocks that lie below each other at once,
/// where threads are few (run_matmul.hpp). Columns that are windows (`run`: that many lie one
/// behind the other) are divided between runs, if a block has some. Blocks of columns are so many,
/// of whole units, even if fewer of the largest would do: of 784 columns eight of 96 and 112, not
/// six of up to 144 ([192,32] by them takes 0.7 of the time on 8 and 16 threads of a Xeon).
constexpr gemm_blocks gemm_block_grid(std::int64_t m, std::int64_t n, std::int64_t k,
                                      std::int64_t run = 0) {
  constexpr std::int64_t most_blocks = 64, some_blocks = 16;
  std::int64_t row_count = 1;
  std::int64_t column_count = 1;
  const double multiplied = static_cast<double>(m) *
                            static_cast<double>(planning::computed_columns(m, n, dtype::f32)) *
                            static_cast<double>(k + 8);
  const double work = std::max(multiplied, (run > 0 ? gemm_window_reading : gemm_reading) *
                                               static_cast<double>(k) * static_cast<double>(m + n));
  while (row_count * column_count < most_blocks &&
         work > 1e6 * static_cast<double>(row_count * column_count)) {
    const bool are_few = row_count * column_count < some_blocks;
    const std::int64_t least_rows = n == 1 || are_few ? gemm_thread_rows : gemm_least_rows,
                       least_columns = are_few ? 96 : 192;
    const std::int64_t rows = planning::pieces_of(m, row_count);
    const std::int64_t columns = planning::pieces_of(n, column_count);
    if (columns >= 2 * least_columns && (columns >= rows || rows < 2 * least_rows))
      column_count *= 2;
    else if (rows >= 2 * least_rows)
      row_count *= 2;
    else
      break;
  }
  const std::int64_t rows = std::max<std::int64_t>(1, gemm_block_rows(m, row_count));
  const std::int64_t even = planning::pieces_of(n, column_count),
                     unit = run > 0 && run <= even ? run : gemm_column_unit,
                     columns = std::max<std::int64_t>(
                         1, column_count == 1 ? n : planning::whole_units(even, unit));
  return {rows, columns, std::max<std::int64_t>(1, planning::pieces_of(m, rows)), column_count,
          unit};
}

/// Up to so many columns of a block A is read as it is, unless it is transposed or has been packed.
/// To pack an element takes as long as to multiply it by 15 to 50 columns, more where it comes from
/// memory: parts of the time where it is not packed, [512,4608] by 49 columns 0.8 (Xeon 0.9),
/// [512,2048] by 49 0.84 (0.78), [512,1152] by 100 0.89 (0.9), [256,2304] by 196 0.93 (0.94),
/// [512,512] by 256 0.96 (0.95), [256,2304] by 400 0.98 (0.95), [512,768] by 768 0.98 to 1 (a Zen 4
/// and a Xeon, AVX-512), but attention, where 64 elements are multiplied by 512 columns, 1.03. With
/// AVX2, where a packed A passes as a whole for each strip, by 49 columns 0.86 to 0.99 (0.91 to
/// 0.94), by 196 0.95 to 0.98 (0.98 to 1.05).
inline constexpr std::int64_t most_columns_of_placed_left =
    sizeof(simd<float>) >= 64 ? 256 : planning::in_place_columns;

constexpr bool gemm_packs_left(bool transposed, std::int64_t columns) {
  return planning::packs_left(transposed, columns, most_columns_of_placed_left);
}

namespace detail {

// Sizes of the packed blocks: `depth` x `panel` of B stays in L2 while `depth` x `slab` of A
// streams by. Up to four times the panel take as long within 3 %.
struct gemm_blocking {
  std::int64_t depth;
  std::int64_t panel;  // columns of C
  std::int64_t slab;   // rows of C
};

inline constexpr std::int64_t most_slab = 1024;
static_assert(most_panel % gemm_column_unit == 0);

constexpr gemm_blocking blocking_of(dtype type, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {packed_depth(type, k), std::min(n, most_panel), std::min(m, most_slab)};
}

template <class T>
constexpr std::size_t packed_b_bytes(const gemm_blocking& blocking) {
  return round_to_lines(
      static_cast<std::size_t>(blocking.depth * planning::packed_width(blocking.panel)) *
      sizeof(T));
}
template <class T>
constexpr std::size_t packed_a_bytes(const gemm_blocking& blocking) {
  return round_to_lines(static_cast<std::size_t>(blocking.depth * blocking.slab) * sizeof(T));
}

// Where the panel of `depth` rows from row p and of columns from column j starts in a packed B.
constexpr std::int64_t packed_place(std::int64_t n, std::int64_t p, std::int64_t j,
                                    std::int64_t depth) {
  return p * planning::packed_width(n) + j * depth;
}

// Where the slab of `rows` rows from row i and of columns from column p starts in a packed A. Slabs
// are most_slab rows but for the last, so that all starts are aligned.
constexpr std::int64_t packed_slab_place(std::int64_t k, std::int64_t i, std::int64_t p,
                                         std::int64_t rows) {
  return i * k + p * planning::packed_width(rows);
}

// Blocks of A and B, of which the first along the depth writes C unless the product adds to it.
template <Floating T>
void block_panel_product(const matrix_product& product) {
  const auto [m, n, k] = std::array{product.m, product.n, product.k};
  const gemm_blocking blocking = blocking_of(dtype_of<T>, m, n, k);
  auto* packed_b = static_cast<T*>(product.workspace);
  auto* packed_a = packed_b + packed_b_bytes<T>(blocking) / sizeof(T);
  const auto* a = static_cast<const T*>(product.a);
  const auto* whole_a = static_cast<const T*>(product.packed_a);
  const bool is_placed =
      whole_a == nullptr && !product.gathered_a.any() && !gemm_packs_left(product.transpose_a, n);

  // The columns of a packed B come in strips, and so do those of each panel.
  static_assert(gemm_column_unit % tile_columns<T> == 0);
  const std::int64_t whole = product.packed_columns != 0 ? product.packed_columns : n;
  // As they are added up where B is not packed.
  const std::int64_t sums = product.reading == planning::product_reading::some_rows
                                ? few_rows_depth<T>()
                                : blocking.depth;

  auto* const c = static_cast<T*>(product.c);
  for (std::int64_t i = 0; i < m; i += blocking.slab) {
    const std::int64_t rows = std::min(blocking.slab, m - i);
    for (std::int64_t p = 0; p < k; p += blocking.depth) {
      const std::int64_t depth = std::min(blocking.depth, k - p);
      const T* slab = packed_a;
      if (whole_a != nullptr)
        slab = whole_a + packed_slab_place(k, i, p, rows);
      else if (!is_placed)
        pack_slab<T>(product, i, p, rows, depth, packed_a);
      for (std::int64_t j = 0; j < n; j += blocking.panel) {
        const std::int64_t columns = std::min(blocking.panel, n - j);
        const T* panel = packed_b;
        if (product.packed_b != nullptr)
          panel = static_cast<const T*>(product.packed_b) +
                  packed_place(whole, p, product.packed_first + j, depth);
        else
          pack_panel<T>(product, p, j, depth, columns, packed_b);
        const auto multiply = [&](auto left) {
          multiply_panels<T>(rows, columns, depth, std::min(sums, depth), left, panel,
                             {c + i * product.ldc + j, product.ldc, product.accumulate || p > 0});
        };
        if (is_placed)
          multiply(placed_left<T>{{a + i * product.lda + p, product.lda, 1}});
        else
          multiply(packed_left<T>{slab, depth});
      }
    }
  }
}

// All of B, panel by panel, as block_panel_product reads it.
template <Floating T>
void pack_whole_b(const matrix_product& product) {
  const gemm_blocking blocking = blocking_of(dtype_of<T>, product.m, product.n, product.k);
  for (std::int64_t p = 0; p < product.k; p += blocking.depth) {
    const std::int64_t depth = std::min(blocking.depth, product.k - p);
    for (std::int64_t j = 0; j < product.n; j += blocking.panel)
      pack_panel<T>(product, p, j, depth, std::min(blocking.panel, product.n - j),
                    static_cast<T*>(product.pack_into) + packed_place(product.n, p, j, depth));
  }
}

// And all of A, slab by slab.
template <Floating T>
void pack_whole_a(const matrix_product& product) {
  const gemm_blocking blocking = blocking_of(dtype_of<T>, product.m, product.n, product.k);
  for (std::int64_t i = 0; i < product.m; i += blocking.slab) {
    const std::int64_t rows = std::min(blocking.slab, product.m - i);
    for (std::int64_t p = 0; p < product.k; p += blocking.depth)
      pack_slab<T>(product, i, p, rows, std::min(blocking.depth, product.k - p),
                   static_cast<T*>(product.pack_a_into) + packed_slab_place(product.k, i, p, rows));
  }
}

// One side of C is 1. A strided result becomes contiguous in the workspace, and so does a vector
// that is multiplied by rows.
template <Floating T>
void vector_product(const matrix_product& product) {
  // A column of few rows is added up like those beside it.
  const bool single_column =
      product.n == 1 && product.reading != planning::product_reading::few_rows;
  const auto* matrix = static_cast<const T*>(single_column ? product.a : product.b);
  const auto* vector = static_cast<const T*>(single_column ? product.b : product.a);
  const std::int64_t stride = single_column ? product.lda : product.ldb;
  const std::int64_t count = single_column ? product.m : product.n;
  const std::int64_t vector_stride = single_column ? (product.transpose_b ? 1 : product.ldb)
                                                   : (product.transpose_a ? product.lda : 1);
  const std::int64_t result_stride = single_column ? product.ldc : 1;
  const bool one_row_per_result = single_column ? !product.transpose_a : product.transpose_b;
  auto* scratch = static_cast<T*>(product.workspace);
  auto* c = static_cast<T*>(product.c);
  if (one_row_per_result) {
    if (vector_stride != 1) {
      strided_load(product.k, vector, vector_stride, sizeof(T), scratch);
      vector = scratch;
    }
    multiply_by_dots<T>(1, product.k, {vector, 1, product.k}, {matrix, count, stride},
                        {c, 0, result_stride, product.accumulate});
    return;
  }
  T* sums = result_stride == 1 ? c : scratch;
  if (product.accumulate && sums != c) strided_load(count, c, result_stride, sizeof(T), sums);
  multiply_vectors<1, T>(count, product.k, {vector, 0, vector_stride}, matrix, stride,
                         {sums, 0, product.accumulate});
  if (sums != c) strided_store(count, sums, sizeof(T), c, result_stride);
}

// Plain loops: integers, and products so small that packing would cost more than multiplying. Rows
// of B are added up where they are contiguous in memory, dot products taken where columns are.
template <class T>
void plain_product(const matrix_product& product) {
  const auto* a = static_cast<const T*>(product.a);
  const auto* b = static_cast<const T*>(product.b);
  auto* c = static_cast<T*>(product.c);
  const auto multiply_add = [](T x, T y, T sum) {
    if constexpr (Floating<T>)
      return x * y + sum;
    else
      return add(multiply(x, y), sum);
  };
  for (std::int64_t i = 0; i < product.m; ++i) {
    const T* left = product.transpose_a ? a + i : a + i * product.lda;
    const std::int64_t step = product.transpose_a ? product.lda : 1;
    T* row = c + i * product.ldc;
    if (product.transpose_b) {
      for (std::int64_t j = 0; j < product.n; ++j)
        for (std::int64_t p = 0; p < product.k; ++p)
          row[j] = multiply_add(left[p * step], b[j * product.ldb + p], row[j]);
    } else {
      for (std::int64_t p = 0; p < product.k; ++p)
        for (std::int64_t j = 0; j < product.n; ++j)
          row[j] = multiply_add(left[p * step], b[p * product.ldb + j], row[j]);
    }
  }
}

inline bool is_tiny(std::int64_t m, std::int64_t n, std::int64_t k) { return m * n * k <= 256; }

// Of a gathered B what is a row of B when it is transposed: a column of op(B).
template <Floating T>
void product_of_rows(const matrix_product& product) {
  const gathered_axes& axes = product.gathered_b;
  const position_runs runs = axes.any() ? spaced_runs_of(axes.rows).value_or(position_runs{})
                                        : position_runs{1, product.k, 0};
  multiply_by_dots<T>(runs.count, runs.length,
                      {static_cast<const T*>(product.a), product.m, product.lda, runs.length},
                      {static_cast<const T*>(product.b), product.n, product.ldb, runs.step,
                       runs.spacing, axes.columns, axes.first_column},
                      {static_cast<T*>(product.c), product.ldc, 1, product.accumulate});
}

// Is there something to multiply, by windows where they are? All products of a series at once.
inline bool is_by_windows(const matrix_product& product) {
  return product.reading == planning::product_reading::in_place && product.gathered_b.any() &&
         product.k > 0;
}

template <Floating T>
void product_in_place(const matrix_product& product) {
  using planning::product_reading;
  if (product.reading == product_reading::dots) return product_of_rows<T>(product);
  const auto* a = static_cast<const T*>(product.a);
  const auto* b = static_cast<const T*>(product.b);
  const placed_matrix<T> left = product.transpose_a ? placed_matrix<T>{a, 1, product.lda}
                                                    : placed_matrix<T>{a, product.lda, 1};
  const tile_target<T> c{static_cast<T*>(product.c), product.ldc, product.accumulate};
  if (is_by_windows(product))
    return multiply_windows<T>(product, left, static_cast<std::int64_t*>(product.tables));
  if (product.reading == product_reading::in_place)
    multiply_in_place<T>(product.m, product.n, product.k, left, b, product.ldb, c,
                         product.rows_behind);
  else if (product.reading == product_reading::few_rows && product.m == 2)
    multiply_vectors<2, T>(product.n, product.k, left, b, product.ldb, c);
  else
    multiply_few_rows<T>(product.m, product.n, passing_depth<T>(product.reading, product.k), left,
                         b, product.ldb, c);
}

}  // namespace detail

/// Bytes of workspace for one product of this shape, or of any that is smaller.
inline std::size_t gemm_workspace_bytes(dtype type, std::int64_t m, std::int64_t n,
                                        std::int64_t k) {
  if (!is_floating(type)) return 0;
  const auto bytes = [&]<class T>(std::type_identity<T>) {
    auto blocking = detail::blocking_of(type, m, n, k);
    blocking.depth =
        std::min(k, detail::most_packed_depth(type));  // a smaller k may be cut less evenly
    // The strided operand and result of a product with a vector; a part of the shape may be one.
    const auto vectors = round_to_lines(static_cast<std::size_t>(k + std::max(m, n)) * sizeof(T));
    return std::max(vectors,
                    detail::packed_b_bytes<T>(blocking) + detail::packed_a_bytes<T>(blocking));
  };
  return type == dtype::f32 ? bytes(std::type_identity<float>{})
                            : bytes(std::type_identity<double>{});
}

/// Bytes of `tables` for products with a gathered operand, of any shape: offsets of a block's rows
/// and columns.
inline constexpr std::size_t gemm_table_bytes =
    sizeof(std::int64_t) *
    detail::offset_table::words(detail::most_slab + detail::most_packed_depth(dtype::f32));

/// Does a product of this shape, whose reading is `packed`, read packed operands? Others multiply
/// as they are.
inline bool gemm_packs(dtype type, std::int64_t m, std::int64_t n, std::int64_t k) {
  return is_floating(type) && m > 1 && n > 1 && !detail::is_tiny(m, n, k);
}

/// Elements of a packed matrix B of k rows and n columns, or of a packed A of n rows.
constexpr std::int64_t gemm_packed_elements(std::int64_t n, std::int64_t k) {
  return planning::packed_width(n) * k;
}

/// The product for elements of type T, on the calling thread; k = 0 gives zeros. Allocates nothing.
template <Element T>
  requires(Floating<T> || Integer<T>)
void gemm(const matrix_product& product) {
  if constexpr (Floating<T>) {
    if (product.pack_into != nullptr) return detail::pack_whole_b<T>(product);
    if (product.pack_a_into != nullptr) return detail::pack_whole_a<T>(product);
  }
  if (product.m <= 0 || product.n <= 0) return;
  if (product.count > 1 && !detail::is_by_windows(product)) {
    matrix_product each = product;
    each.count = 1;
    for (std::int64_t i = 0; i < product.count; ++i) {
      each.a = static_cast<const T*>(product.a) + i * product.a_step;
      each.b = static_cast<const T*>(product.b) + i * product.b_step;
      each.c = static_cast<T*>(product.c) + i * product.c_step;
      gemm<T>(each);
    }
    return;
  }
  const auto clear = [&] {
    for (std::int64_t i = 0; i < product.m; ++i)
      std::fill_n(static_cast<T*>(product.c) + i * product.ldc, product.n, T(0));
  };
  if (product.k <= 0) {
    if (!product.accumulate) clear();
    return;
  }
  if constexpr (Floating<T>) {
    using planning::product_reading;
    const bool gathered = product.gathered_a.any() || product.gathered_b.any();
    // Even where this part is tiny, or a single column, it is added up like the rest.
    const bool like_the_rest =
        gathered ? product.reading != product_reading::packed
                 : product.m > 1 && (product.reading == product_reading::few_rows ||
                                     product.reading == product_reading::dots);
    if (like_the_rest) return detail::product_in_place<T>(product);
    if (product.reading == product_reading::some_rows)
      return product.packed_b != nullptr || product.transpose_b
                 ? detail::block_panel_product<T>(product)
                 : detail::product_in_place<T>(product);
    const bool packed = product.b == nullptr || gathered;
    if (!packed && (product.m == 1 || product.n == 1)) return detail::vector_product<T>(product);
    const bool tiny = detail::is_tiny(product.m, product.n, product.k);
    if (product.reading == product_reading::in_place && !tiny)
      return detail::product_in_place<T>(product);
    if (packed || !tiny) return detail::block_panel_product<T>(product);
    if (!product.accumulate) clear();
    detail::plain_product<T>(product);
  } else {
    if (!product.accumulate) clear();
    detail::plain_product<T>(product);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
