// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/library.hpp>
#include <sinter/exec/map_reduce.hpp>

namespace map_reduce_test {

namespace exec = sinter::exec;
namespace ir = sinter::ir;

namespace {

// (x - m)^2 with m one value per row: two leaves, one of them scalar.
constexpr ir::traced_region deviation(sinter::dtype type) {
  ir::traced_region r{{}, true, true, true, true};
  r.type = type;
  const int x = r.add_leaf(false), m = r.add_leaf(true);
  const int d = r.add_node(ir::op::sub, x, m);
  r.add_node(ir::op::mul, d, d);
  return r;
}

// max(x, y): NaN must win wherever it stands.
constexpr ir::traced_region larger(sinter::dtype type) {
  ir::traced_region r{{}, true, true, true, true};
  r.type = type;
  const int x = r.add_leaf(false), y = r.add_leaf(false);
  r.add_node(ir::op::maximum, x, y);
  return r;
}

// Whether lines are fetched ahead: neither makes a difference to results.
constexpr ir::run_mode plain{}, ahead{0, 3, 64, false};

template <class T>
std::vector<T> values(std::int64_t n, double phase) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(std::sin(static_cast<double>(i) * 1.7 + phase) * 3);
  return x;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// The kernel of both against the map and then the reduction, bit by bit.
template <class T>
void check_against_two_kernels(const ir::instruction& instruction, exec::monoid m,
                               ir::map_reduce_function both, const std::vector<T>& x,
                               const std::vector<T>& y) {
  const auto n = static_cast<std::int64_t>(x.size());
  CAPTURE(n);
  constexpr exec::reduction_table table = exec::reductions<T>();
  const exec::reduction_kernels& reduction = table[static_cast<std::size_t>(m)];
  const std::vector<T> second = y.empty() ? std::vector<T>{T(0.25)} : y;
  const void* operands[] = {x.data(), second.data()};

  std::vector<T> mapped(x.size() + 1, T(7)), stored = mapped;
  double want{}, got{}, unstored{};  // accumulators
  for (double* t : {&want, &got, &unstored}) reduction.identity(1, t);
  instruction.run(n, operands, mapped.data());
  reduction.row(n, mapped.data(), &want);
  both({n, plain}, operands, stored.data(), {.accumulator = &got});
  both({n, ahead}, operands, nullptr, {.accumulator = &unstored});
  CHECK(same_bits(got, want));
  CHECK(same_bits(unstored, want));
  CHECK(std::memcmp(stored.data(), mapped.data(), stored.size() * sizeof(T)) == 0);

  // The result may take the place of an operand.
  std::vector<T> in_place = x;
  const void* own[] = {in_place.data(), second.data()};
  double again{};
  reduction.identity(1, &again);
  both({n, ahead}, own, in_place.data(), {.accumulator = &again});
  CHECK(same_bits(again, want));

  // As a whole row, without an accumulator.
  T result{}, whole{};
  reduction.finish(1, &want, &result);
  both({n, plain}, operands, nullptr, {.whole = &whole});
  CHECK(same_bits(whole, result));
  for (std::size_t i = 0; i < in_place.size(); ++i) CHECK(same_bits(in_place[i], mapped[i]));
}

// Rows in one call against a call for each. The scalar leaf has one value per row; rows, results
// and values have steps of their own.
template <class T>
void check_rows(ir::map_reduce_function both, ir::run_mode mode, std::int64_t rows,
                std::int64_t columns) {
  CAPTURE(rows);
  CAPTURE(columns);
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t apart = columns + 3, values_apart = columns + 1;
  const auto x = values<T>(rows * apart, 0), y = values<T>(rows * apart + columns, 2);
  const std::int64_t steps[] = {apart * size, 2 * size};
  const std::vector<T> nothing(static_cast<std::size_t>(rows * values_apart), T(7));
  std::vector<T> want_values = nothing, got_values = nothing;
  std::vector<T> want(static_cast<std::size_t>(3 * rows), T(7)), got = want, unstored = want;
  for (std::int64_t row = 0; row < rows; ++row) {
    const void* operands[] = {x.data() + row * apart, y.data() + 2 * row};
    both({columns, mode}, operands, want_values.data() + row * values_apart,
         {.whole = want.data() + 3 * row});
  }
  const ir::map_run run{columns, mode, rows, steps, values_apart * size};
  const void* operands[] = {x.data(), y.data()};
  both(run, operands, got_values.data(), {.whole = got.data(), .step = 3 * size});
  both(run, operands, nullptr, {.whole = unstored.data(), .step = 3 * size});
  const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
  };
  CHECK(same(got, want));
  CHECK(same(unstored, want));
  CHECK(same(got_values, want_values));
}

// The same down the columns of rows that lie `columns` + 3 elements apart, of which the scalar leaf
// has one value each.
template <class T>
void check_columns(const ir::instruction& instruction, exec::monoid m,
                   ir::map_reduce_columns_function both, std::int64_t rows, std::int64_t columns,
                   ir::column_walk walk) {
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(walk.ahead);
  CAPTURE(walk.in_turn);
  constexpr exec::reduction_table table = exec::reductions<T>();
  const exec::reduction_kernels& reduction = table[static_cast<std::size_t>(m)];
  const std::int64_t apart = columns + 3;
  const auto x = values<T>(rows * apart, 0), y = values<T>(rows * apart + columns, 2);
  std::vector<T> mapped(static_cast<std::size_t>(rows * columns));
  std::vector<const void*> operands;
  for (std::int64_t row = 0; row < rows; ++row) {
    operands.insert(operands.end(), {x.data() + row * apart, y.data() + row * apart});
    instruction.run(columns, operands.data() + 2 * row, mapped.data() + row * columns);
  }
  const auto count = static_cast<std::size_t>(columns) * reduction.accumulator_bytes;
  std::vector<std::byte> want(count + 64, std::byte{7}), got = want;
  for (auto* each : {&want, &got}) reduction.identity(columns, each->data());
  for (int again = 0; again < 2; ++again) {
    reduction.column(rows, columns, mapped.data(), columns, {}, want.data());
    both(rows, columns, walk, operands.data(), got.data());
  }
  CHECK(got == want);
}

template <class T>
void check_sizes() {
  constexpr sinter::dtype type = sinter::dtype_of<T>;
  constexpr ir::instruction square = exec::instruction_for<deviation(type)>();
  constexpr ir::instruction maximum = exec::instruction_for<larger(type)>();
  for (std::int64_t n : {0, 1, 3, 15, 16, 17, 63, 64, 65, 100, 767, 768, 1024, 1025, 5000}) {
    const auto x = values<T>(n, 0), y = values<T>(n + 1, 2);
    check_against_two_kernels<T>(square, exec::monoid::sum, square.sum, x, {});
    check_against_two_kernels<T>(square, exec::monoid::max, square.max, x, {});
    check_against_two_kernels<T>(maximum, exec::monoid::sum, maximum.sum, x, y);
    check_against_two_kernels<T>(maximum, exec::monoid::max, maximum.max, x, y);
  }
  for (std::int64_t rows : {1, 2, 7})
    for (std::int64_t columns : {1, 16, 17, 100, 1100})
      for (ir::run_mode mode : {plain, ahead}) {
        check_rows<T>(square.sum, mode, rows, columns);
        check_rows<T>(maximum.max, mode, rows, columns);
      }
  for (std::int64_t rows : {1, 2, 7, 32})
    for (std::int64_t columns : {0, 1, 5, 16, 17, 40, 64, 67, 1024, 1100})
      for (const ir::column_walk walk : {ir::column_walk{}, {16 << 10}, {0, true}, {4096, true}}) {
        check_columns<T>(square, exec::monoid::sum, square.column_sum, rows, columns, walk);
        check_columns<T>(square, exec::monoid::max, square.column_max, rows, columns, walk);
        check_columns<T>(maximum, exec::monoid::sum, maximum.column_sum, rows, columns, walk);
      }
}

}  // namespace

TEST_CASE("a map with a reduction gives the bits of the two kernels") {
  check_sizes<float>();
  check_sizes<double>();
}

TEST_CASE("a map with a reduction continues an accumulator") {
  constexpr ir::instruction square = exec::instruction_for<deviation(sinter::dtype::f32)>();
  const auto x = values<float>(40, 0);
  const float m = 0;
  const void* operands[] = {x.data(), &m};
  double sum = 100, fresh = 0;  // sums of f32 accumulate in f64
  square.sum({40, ahead}, operands, nullptr, {.accumulator = &sum});
  square.sum({40, ahead}, operands, nullptr, {.accumulator = &fresh});
  CHECK(sum == 100 + fresh);
}

TEST_CASE("a NaN anywhere makes the maximum NaN, infinities stay") {
  constexpr ir::instruction maximum = exec::instruction_for<larger(sinter::dtype::f32)>();
  for (std::int64_t n : {1, 16, 17, 70}) {
    const auto y = values<float>(n, 1);
    for (std::int64_t at = 0; at < n; ++at) {
      auto x = values<float>(n, 0);
      const void* operands[] = {x.data(), y.data()};
      float top = -std::numeric_limits<float>::infinity();
      x[static_cast<std::size_t>(at)] = std::numeric_limits<float>::infinity();
      maximum.max({n, ahead}, operands, nullptr, {.accumulator = &top});
      CHECK(top == std::numeric_limits<float>::infinity());
      x[static_cast<std::size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
      maximum.max({n, ahead}, operands, nullptr, {.accumulator = &top});
      CHECK(std::isnan(top));
    }
  }
}

TEST_CASE("an instruction has the reductions it was asked for") {
  constexpr auto library = exec::library_instructions<float>();
  constexpr ir::instruction both = exec::instruction_for<deviation(sinter::dtype::f32)>();
  const auto has = [](const ir::instruction& i, ir::op reduction) {
    return i.reduced_by(reduction) != nullptr;
  };
  CHECK(has(both, ir::op::reduce_sum));
  CHECK(has(both, ir::op::reduce_max));
  CHECK_FALSE(has(both, ir::op::reduce_prod));
  const auto has_columns = [](const ir::instruction& i, ir::op reduction) {
    return i.columns_reduced_by(reduction) != nullptr;
  };
  CHECK(has_columns(both, ir::op::reduce_sum));
  CHECK(has_columns(both, ir::op::reduce_max));
  CHECK_FALSE(has_columns(both, ir::op::reduce_prod));
  CHECK_FALSE(has_columns(library[0], ir::op::reduce_sum));
  CHECK_FALSE(has(library[0], ir::op::reduce_sum));
}

}  // namespace map_reduce_test
