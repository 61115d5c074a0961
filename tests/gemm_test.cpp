// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/same_bits.hpp"
#include <sinter/exec/gemm.hpp>
#include <sinter/exec/parallel.hpp>

namespace gemm_test {

namespace sn = sinter;
namespace exec = sinter::exec;
using test_support::same_bits;

namespace {

struct aligned_workspace {
  explicit aligned_workspace(std::size_t bytes) : memory(bytes + 64) {}
  void* get() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (64 - address % 64) % 64;
  }
  std::vector<std::byte> memory;
};

using reading_kind = sn::planning::product_reading;

template <class T>
std::vector<T> some_values(std::int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& value : x) {
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(generator));
    else
      value = static_cast<T>(generator() % 200);
  }
  return x;
}

// All four transpositions of one shape, with strides longer than rows, against a sum in long
// double.
template <class T>
void check_shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  aligned_workspace workspace(exec::gemm_workspace_bytes(sn::dtype_of<T>, m, n, k));
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const auto& each :
           {std::pair(reading_kind::packed, false), std::pair(reading_kind::packed, true),
            std::pair(reading_kind::in_place, false), std::pair(reading_kind::in_place, true),
            std::pair(reading_kind::few_rows, false), std::pair(reading_kind::few_rows, true),
            std::pair(reading_kind::dots, false), std::pair(reading_kind::dots, true)}) {
        const reading_kind reading = each.first;
        const bool accumulate = each.second;
        const bool dots = reading == reading_kind::dots;
        if (reading != reading_kind::packed && transpose_b != dots) continue;
        if (dots && transpose_a) continue;
        CAPTURE(static_cast<int>(reading));
        const std::int64_t lda = (transpose_a ? m : k) + 3, ldb = (transpose_b ? k : n) + 1,
                           ldc = n + 2;
        const std::vector<T> a = some_values<T>((transpose_a ? k : m) * lda, 1);
        const std::vector<T> b = some_values<T>((transpose_b ? n : k) * ldb, 2);
        std::vector<T> c = some_values<T>(m * ldc, 3);
        const std::vector<T> before = c;
        exec::matrix_product product{
            m,   n,           k,        a.data(), lda,        transpose_a,    b.data(),
            ldb, transpose_b, c.data(), ldc,      accumulate, workspace.get()};
        product.reading = reading;
        exec::gemm<T>(product);
        int wrong = 0;
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < ldc; ++j) {
            const auto at = static_cast<std::size_t>(i * ldc + j);
            if (j >= n) {
              wrong += c[at] != before[at] ? 1 : 0;
              continue;
            }
            long double sum = accumulate ? static_cast<long double>(before[at]) : 0;
            for (std::int64_t p = 0; p < k; ++p)
              sum += static_cast<long double>(
                         a[static_cast<std::size_t>(transpose_a ? p * lda + i : i * lda + p)]) *
                     static_cast<long double>(
                         b[static_cast<std::size_t>(transpose_b ? j * ldb + p : p * ldb + j)]);
            if constexpr (std::is_floating_point_v<T>) {
              // Half an epsilon per addition; partial sums grow with sqrt(k), but few errors have
              // the same sign.
              const double bound = static_cast<double>(std::numeric_limits<T>::epsilon()) *
                                   static_cast<double>(k + 8) / 2;
              wrong += std::abs(c[at] - sum) > bound ? 1 : 0;
            } else {
              wrong += c[at] != static_cast<T>(static_cast<std::int64_t>(sum)) ? 1 : 0;
            }
          }
        CHECK(wrong == 0);
      }
}

}  // namespace

TEST_CASE_TEMPLATE("products of every kind of shape", T, float, double) {
  for (const std::int64_t m : {1, 2, 5, 17, 64})
    for (const std::int64_t n : {1, 3, 16, 49, 100})
      for (const std::int64_t k : {0, 1, 4, 31, 70}) check_shape<T>(m, n, k);
  check_shape<T>(65, 400, 500);  // more than one block each way
  for (const std::int64_t k : {1, 31, 400}) {
    check_shape<T>(70, 150, k);
    check_shape<T>(131, 128, k);
  }
  for (const std::int64_t m : {8, 12, 24, 40, 128}) check_shape<T>(m, 200, 150);
  for (const std::int64_t m : {3, 6, 7, 11, 31}) {  // the last rows fill no tile
    check_shape<T>(m, 203, 600);
    check_shape<T>(m, 50, 64);
  }
  for (const std::int64_t k : {3, 9}) check_shape<T>(1, 4101, k);  // more of y than stays in L1
  check_shape<T>(1, 300, 777);
  check_shape<T>(300, 1, 777);
}

TEST_CASE_TEMPLATE("a row has the same bits whichever rows are beside it", T, float, double) {
  constexpr std::int64_t most = 16, n = 203, k = 600;
  std::vector<T> a = some_values<T>(most * k, 1), b = some_values<T>(k * n, 2);
  a[k + 3] = std::numeric_limits<T>::infinity();
  b[7 * n + 5] = std::numeric_limits<T>::quiet_NaN();
  const auto rows = [&](std::int64_t m, reading_kind reading) {
    const bool dots = reading == reading_kind::dots;  // of B as n rows of k elements
    std::vector<T> c(static_cast<std::size_t>(m * n));
    exec::matrix_product product{m,    n,        k, a.data(), k, false, b.data(), dots ? k : n,
                                 dots, c.data(), n};
    product.reading = reading;
    exec::gemm<T>(product);
    return c;
  };
  for (const reading_kind reading :
       {reading_kind::in_place, reading_kind::few_rows, reading_kind::dots}) {
    CAPTURE(static_cast<int>(reading));
    const std::vector<T> all = rows(most, reading);
    // One and two rows are added up in order, a few more block by block.
    const std::int64_t first = reading == reading_kind::dots       ? 1
                               : reading == reading_kind::few_rows ? 3
                                                                   : 2;
    for (std::int64_t m = first; m < most; ++m) {
      CAPTURE(m);
      const std::vector<T> some = rows(m, reading);
      CHECK(std::memcmp(some.data(), all.data(), some.size() * sizeof(T)) == 0);
    }
  }
  const std::vector<T> one = rows(1, reading_kind::few_rows), two = rows(2, reading_kind::few_rows);
  CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(T)) == 0);
}

// The sums of few columns stay in registers, those of many do not.
TEST_CASE_TEMPLATE("one row and two are added up in order, however many columns there are", T,
                   float, double) {
  const std::int64_t n = 300, k = 300;
  const std::vector<T> a = some_values<T>(2 * k, 1), b = some_values<T>(k * n, 2);
  for (std::int64_t m : {1, 2}) {
    const auto columns = [&](std::int64_t count) {
      std::vector<T> c(static_cast<std::size_t>(m * n));
      exec::matrix_product product{m,        count, k,     a.data(), k, false,
                                   b.data(), n,     false, c.data(), n};
      product.reading = reading_kind::few_rows;
      exec::gemm<T>(product);
      return c;
    };
    const std::vector<T> all = columns(n);
    for (std::int64_t count = 1; count < n; count += count < 150 ? 1 : 20) {
      CAPTURE(count);
      const std::vector<T> some = columns(count);
      for (std::int64_t i = 0; i < m; ++i)
        CHECK(std::memcmp(some.data() + i * n, all.data() + i * n,
                          static_cast<std::size_t>(count) * sizeof(T)) == 0);
    }
  }
}

// Up to a quarter of a register is multiplied apart, more is not.
TEST_CASE_TEMPLATE("the last columns have the bits that they have among others", T, float, double) {
  constexpr std::int64_t lanes = exec::lanes<T>, most = 5 * lanes;
  for (const std::int64_t k : {31, 32, 33, 47, 400}) {
    std::vector<T> a = some_values<T>(most * k, 1), b = some_values<T>(k * most, 2);
    a[static_cast<std::size_t>(k + 3)] = std::numeric_limits<T>::infinity();
    b[static_cast<std::size_t>(7 * most + 2 * lanes)] = std::numeric_limits<T>::quiet_NaN();
    a[static_cast<std::size_t>(5)] = std::numeric_limits<T>::denorm_min();
    const std::vector<T> before = some_values<T>(most * most, 3);
    for (const reading_kind reading : {reading_kind::in_place, reading_kind::packed})
      for (const std::int64_t m : {lanes - 1, lanes, 2 * lanes + 3, most})
        for (const bool accumulate : {false, true}) {
          aligned_workspace workspace(exec::gemm_workspace_bytes(sn::dtype_of<T>, most, most, k));
          const auto columns = [&](std::int64_t n) {
            std::vector<T> c = before;
            exec::matrix_product product{
                m,    n,     k,        a.data(), k,          false,          b.data(),
                most, false, c.data(), most,     accumulate, workspace.get()};
            product.reading = reading;
            exec::gemm<T>(product);
            return c;
          };
          CAPTURE(k);
          CAPTURE(m);
          CAPTURE(static_cast<int>(reading));
          const std::vector<T> all = columns(most);
          for (std::int64_t n = 2; n < most; ++n) {
            if (m * n * k <= 256) continue;  // these are multiplied in another way
            CAPTURE(n);
            const std::vector<T> some = columns(n);
            std::vector<T> expected = before;
            for (std::int64_t i = 0; i < m; ++i)
              std::copy_n(all.begin() + i * most, n, expected.begin() + i * most);
            CHECK(same_bits(some, expected));
          }
        }
  }
}

TEST_CASE_TEMPLATE("products of integers", T, std::uint8_t, std::int32_t, std::int64_t) {
  for (const std::int64_t k : {0, 1, 9}) {
    check_shape<T>(1, 1, k);
    check_shape<T>(5, 7, k);
    check_shape<T>(16, 1, k);
  }
}

TEST_CASE_TEMPLATE("products behind each other have the bits of single ones", T, float, double,
                   std::int32_t) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {1, 17, 9},
                                {3, 1, 20},
                                {4, 5, 3},
                                {9, 33, 70},
                                {2, 20, 40}})
    for (const auto reading : {reading_kind::packed, reading_kind::in_place, reading_kind::few_rows,
                               reading_kind::dots}) {
      constexpr std::int64_t count = 3;
      const bool dots = reading == reading_kind::dots;
      const std::vector<T> a = some_values<T>(count * (m * k + 2), 1),
                           b = some_values<T>(count * (n * k + 1), 2);
      aligned_workspace workspace(exec::gemm_workspace_bytes(sn::dtype_of<T>, m, n, k));
      std::vector<T> c(static_cast<std::size_t>(count * (m * n + 5)), T(7)), want = c;
      exec::matrix_product product{
          m,        n, k,     a.data(),       k, false, b.data(), dots ? k : n, dots,
          c.data(), n, false, workspace.get()};
      product.reading = reading;
      for (std::int64_t i = 0; i < count; ++i) {
        exec::matrix_product each = product;
        each.a = a.data() + i * (m * k + 2);
        each.b = b.data() + i * (n * k + 1);
        each.c = want.data() + i * (m * n + 5);
        exec::gemm<T>(each);
      }
      product.count = count;
      product.a_step = m * k + 2;
      product.b_step = n * k + 1;
      product.c_step = m * n + 5;
      exec::gemm<T>(product);
      CHECK(c == want);
    }
}

TEST_CASE_TEMPLATE("rows in each other's way in L1 give the same bits", T, float, double) {
  using exec::detail::placement;
  const std::int64_t ldb = 4096 / static_cast<std::int64_t>(sizeof(T)), most = 400;
  const std::vector<T> b = some_values<T>(most * ldb, 2);
  for (const std::int64_t m : {0, 1, 5, 8, 11, 16, 23, 24, 37, 64})
    for (const std::int64_t n : {1, 8, 24, 59, 100})
      for (const std::int64_t k : {0, 1, 64, 193, 400})
        for (const bool add : {false, true}) {
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          // As many rows again: one of the products fetches them.
          const std::vector<T> a = some_values<T>(2 * m * k + 1, 1);
          for (const bool few : {false, true}) {
            CAPTURE(few);
            const auto product = [&](placement rows) {
              std::vector<T> c = some_values<T>(m * n + 1, 3);
              const exec::detail::placed_matrix<T> left{a.data(), k, 1};
              const exec::detail::tile_target<T> to{c.data(), n, add};
              if (few)
                exec::multiply_few_rows<T>(m, n, {k, 100, 80}, left, b.data(), ldb, to, rows);
              else
                exec::multiply_in_place<T>(m, n, k, left, b.data(), ldb, to, rows,
                                           rows == placement::few_places ? m : 0);
              return c;
            };
            const std::vector<T> expected = product(placement::many_places);
            for (const placement rows :
                 {placement::few_places, placement::two_places, placement::one_place})
              CHECK(same_bits(product(rows), expected));
          }
        }
}

// Lets the product read its right side packed, in `room`.
template <class T>
void pack_right(exec::matrix_product& product, void* room) {
  product.pack_into = room;
  exec::gemm<T>(product);
  product.pack_into = nullptr;
  product.packed_b = room;
}

TEST_CASE("a matrix that was packed before gives the same bits") {
  // More columns than a panel, more depth than a piece, and a vector, which reads b itself.
  for (const auto& extents : {std::array<std::int64_t, 3>{8, 50, 20},
                              {33, 401, 900},
                              {66, 401, 900},
                              {5, 96, 385},
                              {1, 70, 40}})
    for (const bool transpose_b : {false, true}) {
      const std::int64_t m = extents[0], n = extents[1], k = extents[2];
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      const std::vector<float> a = some_values<float>(m * k, 1), b = some_values<float>(n * k, 2);
      std::vector<float> plain(static_cast<std::size_t>(m * n)), packed = plain;
      aligned_workspace workspace(exec::gemm_workspace_bytes(sn::dtype::f32, m, n, k)),
          whole_b(static_cast<std::size_t>(exec::gemm_packed_elements(n, k)) * sizeof(float));
      exec::matrix_product product{m,
                                   n,
                                   k,
                                   a.data(),
                                   k,
                                   false,
                                   b.data(),
                                   transpose_b ? k : n,
                                   transpose_b,
                                   plain.data(),
                                   n,
                                   false,
                                   workspace.get()};
      exec::gemm<float>(product);
      pack_right<float>(product, whole_b.get());
      product.c = packed.data();
      exec::gemm<float>(product);
      CHECK(plain == packed);
    }
}

TEST_CASE_TEMPLATE("some rows have the same bits where B passes and where it is packed", T, float,
                   double) {
  for (const std::int64_t m : {1, 33, 40, 64})
    for (const std::int64_t n : {1, 50, 200})
      for (const std::int64_t k : {1, 70, 385, 900})
        for (const bool accumulate : {false, true}) {
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          const std::vector<T> a = some_values<T>(m * k, 1), b = some_values<T>(k * n, 2);
          std::vector<T> turned(b.size());
          for (std::int64_t p = 0; p < k; ++p)
            for (std::int64_t j = 0; j < n; ++j) turned[j * k + p] = b[p * n + j];
          const std::vector<T> before = some_values<T>(m * n, 3);
          std::vector<T> passed = before, packed = before, other = before;
          aligned_workspace workspace(exec::gemm_workspace_bytes(sn::dtype_of<T>, m, n, k)),
              whole_b(static_cast<std::size_t>(exec::gemm_packed_elements(n, k)) * sizeof(T));
          exec::matrix_product product{m,
                                       n,
                                       k,
                                       a.data(),
                                       k,
                                       false,
                                       b.data(),
                                       n,
                                       false,
                                       passed.data(),
                                       n,
                                       accumulate,
                                       workspace.get()};
          product.reading = reading_kind::some_rows;
          exec::gemm<T>(product);
          pack_right<T>(product, whole_b.get());
          product.c = packed.data();
          exec::gemm<T>(product);
          CHECK(same_bits(packed, passed));
          product.packed_b = nullptr;
          product.b = turned.data();
          product.ldb = k;
          product.transpose_b = true;
          product.c = other.data();
          exec::gemm<T>(product);
          CHECK(same_bits(other, passed));
        }
}

TEST_CASE_TEMPLATE("some columns of a packed matrix, which alone is at hand", T, float, double) {
  for (const auto& extents : {std::array<std::int64_t, 3>{8, 500, 20},
                              {33, 901, 900},
                              {66, 901, 900},
                              {1, 970, 40},
                              {2, 49, 1}}) {
    const std::int64_t m = extents[0], n = extents[1], k = extents[2];
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const std::vector<T> a = some_values<T>(m * k, 1), b = some_values<T>(n * k, 2);
    aligned_workspace workspace(exec::gemm_workspace_bytes(sn::dtype_of<T>, m, n, k)),
        whole_b(static_cast<std::size_t>(exec::gemm_packed_elements(n, k)) * sizeof(T));
    exec::matrix_product product{m, n,     k,       a.data(), k,     false,          b.data(),
                                 n, false, nullptr, n,        false, workspace.get()};
    pack_right<T>(product, whole_b.get());
    for (std::int64_t first = 0; first < n; first += 9 * exec::gemm_column_unit)
      for (const std::int64_t count : {exec::gemm_column_unit, n - first}) {
        std::vector<T> plain(static_cast<std::size_t>(m * n)), packed = plain;
        product.n = std::min(count, n - first);
        product.b = b.data() + first;
        product.c = plain.data();
        product.packed_b = nullptr;
        exec::gemm<T>(product);
        product.b = nullptr;
        product.c = packed.data();
        product.packed_b = whole_b.get();
        product.packed_columns = n;
        product.packed_first = first;
        exec::gemm<T>(product);
        double worst = 0;
        for (std::size_t i = 0; i < plain.size(); ++i)
          worst = std::max(worst, static_cast<double>(std::abs(plain[i] - packed[i])));
        // A vector's product adds in another order.
        if (m > 1 && k > 1)
          CHECK(worst == 0);
        else
          CHECK(worst < 1e-5);
      }
  }
}

TEST_CASE_TEMPLATE("a left matrix that was packed before gives the same bits", T, float, double) {
  // More rows than a slab, more depth than a piece, rests of both; a vector reads a itself.
  for (const auto& extents : {std::array<std::int64_t, 3>{8, 50, 20},
                              {1027, 60, 30},
                              {1027, 130, 30},
                              {33, 40, 900},
                              {2049, 3, 390},
                              {2049, 131, 390},
                              {70, 1, 40}})
    for (const bool transpose_a : {false, true}) {
      const std::int64_t m = extents[0], n = extents[1], k = extents[2];
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      const std::vector<T> a = some_values<T>(m * k, 1), b = some_values<T>(n * k, 2);
      std::vector<T> plain(static_cast<std::size_t>(m * n)), packed = plain;
      aligned_workspace workspace(exec::gemm_workspace_bytes(sn::dtype_of<T>, m, n, k)),
          whole_a(static_cast<std::size_t>(exec::gemm_packed_elements(m, k)) * sizeof(T));
      exec::matrix_product product{};
      product.m = m;
      product.n = n;
      product.k = k;
      product.a = a.data();
      product.lda = transpose_a ? m : k;
      product.transpose_a = transpose_a;
      product.b = b.data();
      product.ldb = n;
      product.c = plain.data();
      product.ldc = n;
      product.workspace = workspace.get();
      exec::gemm<T>(product);
      product.pack_a_into = whole_a.get();
      exec::gemm<T>(product);
      product.pack_a_into = nullptr;
      if (exec::gemm_packs(sn::dtype_of<T>, m, n, k)) product.a = nullptr;  // is not read again
      product.packed_a = whole_a.get();
      product.c = packed.data();
      exec::gemm<T>(product);
      CHECK(plain == packed);
    }
}

TEST_CASE("the blocks cover the result, and the grid knows only the shape") {
  for (const std::int64_t m : {0, 1, 7, 100, 512, 2048})
    for (const std::int64_t n : {0, 1, 50, 512, 3072}) {
      const exec::gemm_blocks blocks = exec::gemm_block_grid(m, n, 768);
      CHECK(blocks.rows >= 1);
      CHECK(blocks.columns >= 1);
      CHECK(blocks.rows * blocks.row_count >= m);
      CHECK(blocks.columns * blocks.column_count >= n);
      CHECK((blocks.row_count - 1) * blocks.rows <= m);
      CHECK((blocks.column_count - 1) * blocks.columns <= n);
    }
  const exec::gemm_blocks large = exec::gemm_block_grid(512, 768, 3072);
  CHECK(large.row_count * large.column_count >= 8);
  const exec::gemm_blocks small = exec::gemm_block_grid(32, 32, 32);
  CHECK(small.row_count * small.column_count == 1);
}

TEST_CASE("blocks begin at whole units, and are as even as these allow") {
  for (const std::int64_t n : {0, 1, 47, 48, 49, 500, 512, 784, 3072})
    for (const std::int64_t count : {1, 2, 3, 4, 7}) {
      const std::int64_t unit = exec::gemm_column_unit;
      const std::int64_t most =
          sn::planning::pieces_of(sn::planning::pieces_of(n, unit), count) * unit;
      std::int64_t end = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t begin = sn::planning::piece_begin(n, unit, count, i);
        CHECK(begin == end);
        CHECK((begin % unit == 0 || begin == n));
        end = sn::planning::piece_begin(n, unit, count, i + 1);
        CHECK(end >= begin);
        CHECK(end - begin <= most);
        if (i + 1 < count) CHECK(end - begin >= most - unit);
      }
      CHECK(end == n);
    }
  CHECK(sn::planning::piece_begin(512, 48, 4, 1) == 96);
  CHECK(sn::planning::piece_begin(512, 48, 4, 2) == 240);
}

TEST_CASE("a product has as many blocks of columns as it is divided into") {
  const exec::gemm_blocks blocks = exec::gemm_block_grid(192, 784, 32);
  CHECK(blocks.row_count == 1);
  CHECK(blocks.column_count == 8);
  for (std::int64_t i = 0; i < blocks.column_count; ++i) {
    const std::int64_t begin =
        sn::planning::piece_begin(784, blocks.column_unit, blocks.column_count, i);
    const std::int64_t end =
        sn::planning::piece_begin(784, blocks.column_unit, blocks.column_count, i + 1);
    CHECK(end - begin >= 96);
    CHECK(end - begin <= 112);
  }
}

TEST_CASE("narrow products are for several threads by the registers that they fill") {
  CHECK(exec::gemm_block_grid(512, 10, 128).row_count == 2);
  CHECK(exec::gemm_block_grid(512, 1, 64).row_count == 1);
}

TEST_CASE("few rows are for several threads, which share them evenly") {
  CHECK(exec::gemm_block_grid(64, 196, 384).row_count == 4);
  const exec::gemm_blocks placed = exec::gemm_block_grid(160, 49, 960);
  CHECK(placed.rows == 16);
  CHECK(placed.row_count == 10);
  const exec::gemm_blocks packed = exec::gemm_block_grid(96, 196, 576);
  CHECK(packed.column_count == 2);
  CHECK(packed.rows == 24);
  CHECK(packed.row_count == 4);
}

TEST_CASE("products by vectors are for several threads by what they read") {
  CHECK(exec::gemm_block_grid(1024, 1, 1024).row_count >= 16);
  CHECK(exec::gemm_block_grid(256, 1, 4096).row_count >= 16);
  CHECK(exec::gemm_block_grid(4096, 1, 256).row_count >= 16);
  CHECK(exec::gemm_block_grid(1, 768, 768).column_count >= 8);
  CHECK(exec::gemm_block_grid(4, 3072, 256).column_count >= 16);
  CHECK(exec::gemm_block_grid(256, 1, 256).row_count <= 2);
}

TEST_CASE("blocks give the same bits in any thread and alone") {
  const std::int64_t m = 300, n = 500, k = 300;
  const std::vector<float> a = some_values<float>(m * k, 1), b = some_values<float>(k * n, 2);
  const exec::gemm_blocks blocks = exec::gemm_block_grid(m, n, k);
  const std::int64_t count = blocks.row_count * blocks.column_count;
  const auto product = [&](double estimated_nanoseconds) {
    std::vector<float> c(static_cast<std::size_t>(m * n));
    std::vector<aligned_workspace> workspaces;
    for (int i = 0; i < exec::thread_count(); ++i)
      workspaces.emplace_back(
          exec::gemm_workspace_bytes(sn::dtype::f32, blocks.rows, blocks.columns, k));
    exec::parallel_for(count, estimated_nanoseconds, [&](std::int64_t task, int thread) {
      const std::int64_t i = task / blocks.column_count * blocks.rows;
      const std::int64_t j = task % blocks.column_count * blocks.columns;
      exec::gemm<float>({std::min(blocks.rows, m - i), std::min(blocks.columns, n - j), k,
                         a.data() + i * k, k, false, b.data() + j, n, false, c.data() + i * n + j,
                         n, false, workspaces[static_cast<std::size_t>(thread)].get()});
    });
    return c;
  };
  const std::vector<float> alone = product(0), in_threads = product(1e9);
  CHECK(same_bits(alone, in_threads));
}

}  // namespace gemm_test
