// SPDX-License-Identifier: MIT
// Softmax and norms along rows work on two or three of them at once: each has the bits that it has
// by itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "support/lowered_cases.hpp"
#include "support/lowered_graph.hpp"
#include <sinter/exec/library.hpp>
#include <sinter/exec/map_reduce.hpp>
#include <sinter/exec/row_overlap.hpp>
#include <sinter/exec/verify_lowered.hpp>
#include <sinter/sinter.hpp>

namespace row_overlap_test {

namespace {

namespace exec = sinter::exec;
namespace ir = sinter::ir;
namespace sn = sinter;

// exp(x - m), m one value per row.
constexpr ir::traced_region exponentials(sn::dtype type) {
  ir::traced_region r{{}, true, false, false, false};
  r.type = type;
  const int x = r.add_leaf(false), m = r.add_leaf(true);
  r.add_node(ir::op::exp, r.add_node(ir::op::sub, x, m));
  return r;
}

// A row with a little room before and behind it, so that a register begins anywhere; the room keeps
// what it has.
template <class T>
class row {
 public:
  row(std::int64_t n, std::size_t shift, T value = T(7))
      : all_(static_cast<std::size_t>(n) + 64, T(-5)), shift_(shift), n_(n) {
    std::fill_n(data(), n, value);
  }
  T* data() { return all_.data() + shift_; }
  std::int64_t size() const { return n_; }
  T& operator[](std::int64_t i) { return data()[i]; }
  bool operator==(const row& other) const {
    return all_.size() == other.all_.size() &&
           std::memcmp(all_.data(), other.all_.data(), all_.size() * sizeof(T)) == 0;
  }

 private:
  std::vector<T> all_;
  std::size_t shift_;
  std::int64_t n_;
};

template <class T>
row<T> noise(std::int64_t n, std::size_t shift, unsigned seed) {
  row<T> out(n, shift);
  std::mt19937 random(seed);
  std::normal_distribution<double> one;
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(one(random));
  return out;
}

template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
struct work {
  row<T> own, scaled, searched;
  T shift = T(0.25), factor = T(1.75);
  bool in_place = false, streaming = false;
};

// One kernel for the three rows against one for each of them, bit by bit.
template <class T>
void check_against_three(work<T> w) {
  constexpr ir::instruction code = exec::instruction_for<exponentials(sn::dtype_of<T>)>();
  constexpr exec::reduction_table table = exec::reductions<T>();
  REQUIRE(static_cast<bool>(code.sum));
  if (code.overlapped == nullptr) return;  // too few registers
  const std::int64_t n = w.own.size();
  CAPTURE(n);
  const void* const operands[] = {w.own.data(), &w.shift};

  row<T> want(n, 3), got(n, 3), want_products = w.scaled, got_products = w.scaled;
  T want_sum{}, got_sum{}, want_largest{}, got_largest{};
  code.sum({n}, operands, want.data(), {.whole = &want_sum});
  for (std::int64_t i = 0; i < n; ++i) want_products[i] = w.scaled[i] * w.factor;
  table[static_cast<std::size_t>(exec::monoid::max)].whole_row(n, w.searched.data(), &want_largest);

  const auto run = [&](bool scales, bool searches) {
    got_products = w.scaled;
    row<T> from = w.scaled;
    ir::rows_beside beside;
    if (scales) {
      beside.scaled = w.in_place ? got_products.data() : from.data();
      beside.factor = &w.factor;
      beside.products = got_products.data();
      beside.streaming = w.streaming;
    }
    if (searches) beside.reduced = w.searched.data(), beside.result = &got_largest;
    code.overlapped(n, {}, operands, got.data(), &got_sum, beside);
  };
  for (const bool scales : {false, true})
    for (const bool searches : {false, true}) {
      got_largest = T(11);
      run(scales, searches);
      CHECK(same(got_sum, want_sum));
      CHECK(got == want);
      CHECK(got_products == (scales ? want_products : w.scaled));
      CHECK(same(got_largest, searches ? want_largest : T(11)));
    }
}

// (x - m) s y + z, or x s y, where m and s are values of the row.
constexpr ir::traced_region second_half(sn::dtype type, ir::row_behind behind) {
  for (const ir::traced_region& r : exec::library_regions(type))
    if (r.behind == behind && !r.is_scalar(r.leaf_count - 1)) return r;
  return {};
}

// One kernel for a row and the reduction of another against one for each, bit by bit.
template <class T, ir::row_behind Behind>
void check_against_two(row<T> own, row<T> reduced, std::size_t result_shift, bool streaming) {
  constexpr ir::instruction code = exec::instruction_for<second_half(sn::dtype_of<T>, Behind)>();
  constexpr exec::reduction_table table = exec::reductions<T>();
  if (code.overlapped == nullptr) return;
  REQUIRE(code.behind == Behind);
  const std::int64_t n = own.size();
  CAPTURE(n);
  row<T> y = noise<T>(n, 2, 5), z = noise<T>(n, 4, 6);
  const T shift(0.25), scale(1.75);
  const void* const norm[] = {own.data(), &shift, &scale, y.data(), z.data()};
  const void* const product[] = {own.data(), &scale, y.data()};
  const bool is_norm = Behind == ir::row_behind::deviations;
  const void* const* const operands = is_norm ? norm : product;

  row<T> want(n, result_shift), got(n, result_shift);
  code.run(n, operands, want.data());
  T want_first{}, want_second{}, first(11), second(11);
  if (is_norm) {
    exec::deviations_of<T>().whole_rows_pair(1, n, reduced.data(), 0,
                                             {&want_first, 0, &want_second, 0});
  } else {
    row<T> squares(n, 0);
    for (std::int64_t i = 0; i < n; ++i) squares[i] = reduced[i] * reduced[i];
    table[static_cast<std::size_t>(exec::monoid::sum)].whole_row(n, squares.data(), &want_first);
  }
  ir::rows_beside beside;
  beside.reduced = reduced.data(), beside.result = &first;
  if (is_norm) beside.second_result = &second;
  ir::run_mode mode{};
  mode.streaming = streaming;
  code.overlapped(n, mode, operands, got.data(), nullptr, beside);
  CHECK(got == want);
  CHECK(same(first, want_first));
  if (is_norm) CHECK(same(second, want_second));
}

template <class T>
void check_halves() {
  using limits = std::numeric_limits<T>;
  const auto both = [](const row<T>& own, const row<T>& reduced) {
    for (const std::size_t shift :
         std::initializer_list<std::size_t>{3, 4, 6, 12})  // memory begins anywhere on 16 bytes
      for (const bool streaming : {false, true}) {
        check_against_two<T, ir::row_behind::deviations>(own, reduced, shift, streaming);
        check_against_two<T, ir::row_behind::squares>(own, reduced, shift, streaming);
      }
  };
  for (const std::int64_t n : {1, 2, 7, 8, 15, 16, 17, 31, 64, 65, 127, 200, 511, 512}) {
    both(noise<T>(n, 1, 1), noise<T>(n, 5, 3));
    for (const T special : {limits::quiet_NaN(), limits::infinity(), T(0), -T(0),
                            limits::denorm_min(), limits::max()}) {
      row<T> own = noise<T>(n, 1, 1), reduced = noise<T>(n, 5, 3);
      own[n / 2] = reduced[n / 3] = special;
      both(own, reduced);
    }
  }
}

template <class T>
work<T> usual(std::int64_t n, std::size_t shift = 0) {
  return {noise<T>(n, 1, 1), noise<T>(n, shift, 2), noise<T>(n, 5, 3)};
}

template <class T>
void check_lengths() {
  for (const std::int64_t n :
       {1, 2, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 200, 511, 1024, 1030, 2500, 5001})
    for (const std::size_t shift : std::initializer_list<std::size_t>{0, 3, 4, 6, 12})
      for (const bool in_place : {false, true}) {
        work<T> w = usual<T>(n, shift);
        w.in_place = in_place;
        check_against_three(w);
        w.streaming = true;
        check_against_three(w);
      }
}

template <class T>
void check_special() {
  using limits = std::numeric_limits<T>;
  const T infinity = limits::infinity(), nan = limits::quiet_NaN();
  for (const std::int64_t n : {16, 67, 1024, 1200})
    for (const T special : {nan, infinity, -infinity, T(0), -T(0), limits::denorm_min(),
                            limits::max(), limits::lowest()})
      for (const std::int64_t at : {std::int64_t{0}, n / 3, n / 2 + 1, n - 1}) {
        CAPTURE(special);
        CAPTURE(at);
        work<T> w = usual<T>(n);
        w.own[at] = w.scaled[at] = w.searched[at] = special;
        check_against_three(w);
        // All others are smaller, so that it is the largest.
        for (std::int64_t i = 0; i < n; ++i)
          if (i != at) w.searched[i] = -infinity;
        check_against_three(w);
      }
  // Which of two zeros is the largest depends on the order.
  for (const std::int64_t n : {16, 67, 1024, 1200, 3000})
    for (const unsigned seed : {1u, 2u, 3u, 4u}) {
      work<T> w = usual<T>(n);
      std::mt19937 random(seed);
      for (std::int64_t i = 0; i < n; ++i) w.searched[i] = random() % 2 == 0 ? T(0) : -T(0);
      check_against_three(w);
      w.factor = seed == 1 ? nan : seed == 2 ? -infinity : -T(0);
      check_against_three(w);
    }
}

// Whether a row has the bits that it has alone; `last_level`: bytes that the caches hold.
template <class T, class F>
void check_rows(F f, std::int64_t rows, std::int64_t columns, double last_level, sn::tensor<T, 2> x,
                bool in_place = false) {
  CAPTURE(rows);
  CAPTURE(columns);
  sn::planning::machine machine;
  machine.last_level_bytes = last_level;
  auto all = sn::fuse(f, sn::program_options{.machine = machine});
  auto one = sn::fuse(f);
  sn::tensor<T, 2> together(rows, columns);
  sn::tensor<T, 1> y(columns), z(columns);
  for (std::int64_t c = 0; c < columns; ++c)
    y(c) = static_cast<T>(c % 7) / 4 - 1, z(c) = static_cast<T>(c % 5) / 8;
  if (in_place) {
    together = x;
    all.into(together)(together, y, z);
  } else {
    all.into(together)(x, y, z);
  }
  int different = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    sn::tensor<T, 2> single(1, columns);
    for (std::int64_t c = 0; c < columns; ++c) single(0, c) = x(r, c);
    const sn::tensor<T, 2> alone = one(single, y, z);
    for (std::int64_t c = 0; c < columns; ++c)
      if (!same(alone(0, c), together(r, c)) &&
          !(alone(0, c) != alone(0, c) && together(r, c) != together(r, c)))
        ++different;
  }
  CHECK(different == 0);
}

constexpr double no_limit = 1e18, nothing_fits = 1024;

template <class T>
sn::tensor<T, 2> matrix(std::int64_t rows, std::int64_t columns) {
  sn::tensor<T, 2> x(rows, columns);
  std::mt19937 random(9);
  std::normal_distribution<double> one;
  for (T& e : x) e = static_cast<T>(one(random));
  return x;
}

constexpr auto softmax = [](auto x) { return sn::softmax(x, 1); };
constexpr auto exponentials_of_rows = [](auto x) { return sn::exp(x - sn::max(x, 1, true)); };
constexpr auto normalised = [](auto x) {
  return (x - sn::mean(x, 1, true)) * sn::rsqrt(sn::var(x, 1, true) + 0.5f);
};

// f(softmax of rows), and of norms.
constexpr auto row_functions = [](auto f) {
  f([](auto x, auto, auto) { return sn::softmax(x, 1); });
  f([](auto x, auto y, auto z) { return sn::layer_norm(x, y, z); });
  f([](auto x, auto y, auto) { return sn::rms_norm(x, y); });
  f([](auto x, auto, auto) { return normalised(x); });
  f([](auto x, auto, auto) { return exponentials_of_rows(x); });
  f([](auto x, auto, auto) {
    const auto e = exponentials_of_rows(x);
    return e / sn::sum(e, 1, true);
  });
};

struct found_overlap {
  bool any = false, keeps_two_tiles = false;
  friend bool operator==(const found_overlap&, const found_overlap&) = default;
};

exec::tile_program& tiles_of(exec::lowered_plan& p) {
  return std::get<exec::lowered_tiles>(p.nests[0]).program;
}

// f(plan) for what a function of [rows, columns], a single nest, is bound to.
template <class F, class Use, class... More>
void with_plan(F function, std::int64_t rows, std::int64_t columns, double last_level, Use use,
               const More&... more) {
  const test_support::lowered_case c =
      test_support::make_case("", function, test_support::noise({rows, columns}), more...);
  sn::planning::machine machine;
  machine.last_level_bytes = last_level;
  sn::program p(c.graph, sn::detail::all_code(), {.machine = machine});
  test_support::lowered_graph low = test_support::lower(p, c.arguments);
  CAPTURE(low.text);
  REQUIRE(low.plans.size() == 1);
  REQUIRE(low.plans[0].nests.size() == 1);
  use(low.plans[0]);
}

template <class F, class... More>
found_overlap overlap_of(F function, std::int64_t rows, std::int64_t columns, double last_level,
                         const More&... more) {
  found_overlap out;
  with_plan(
      function, rows, columns, last_level,
      [&](exec::lowered_plan& plan) {
        const exec::row_overlap found = exec::find_overlap(tiles_of(plan));
        out = {found.any(), found.keeps_two_tiles()};
      },
      more...);
  return out;
}

}  // namespace

TEST_CASE("which rows overlap") {
  const bool can = exec::register_count >= 32;
  CHECK(overlap_of(softmax, 33, 1024, no_limit) == found_overlap{can, false});
  CHECK(overlap_of(softmax, 33, 1024, nothing_fits) == found_overlap{can, can});
  CHECK(overlap_of([](auto x) { return sn::softmax(2.0f * x, 1); }, 33, 1024, no_limit) ==
        found_overlap{});
  CHECK(overlap_of([](auto x) { return x * sn::softmax(x, 1); }, 33, 1024, no_limit) ==
        found_overlap{});
  CHECK(overlap_of([](auto x) { return sn::log_softmax(x, 1); }, 33, 1024, no_limit) ==
        found_overlap{});
  CHECK(overlap_of(exponentials_of_rows, 33, 1024, no_limit) == found_overlap{});
  CHECK(overlap_of([](auto x) { return sn::logsumexp(x, 1); }, 33, 1024, no_limit) ==
        found_overlap{});
  CHECK(overlap_of(normalised, 33, 1024, no_limit) == found_overlap{can, false});
  CHECK(overlap_of(normalised, 33, 1024, nothing_fits) == found_overlap{can, false});
  const auto scale = test_support::noise({1024}, 2), shift = test_support::noise({1024}, 3);
  CHECK(overlap_of([](auto x, auto y, auto z) { return sn::layer_norm(x, y, z); }, 33, 1024,
                   no_limit, scale, shift) == found_overlap{can, false});
  CHECK(overlap_of([](auto x, auto y) { return sn::rms_norm(x, y); }, 33, 1024, no_limit, scale) ==
        found_overlap{can, false});
  CHECK(overlap_of([](auto x) { return normalised(x * x); }, 33, 1024, no_limit) ==
        found_overlap{});
  // Too short, too long, few and divided among tasks.
  CHECK(overlap_of(softmax, 33, 127, no_limit) == found_overlap{});
  CHECK(overlap_of(softmax, 33, 2049, no_limit) == found_overlap{});
  CHECK(overlap_of(softmax, 2, 70001, no_limit) == found_overlap{});
}

TEST_CASE("two tiles that overlap need room for both") {
  with_plan(softmax, 33, 1024, nothing_fits, [](exec::lowered_plan& plan) {
    CHECK_NOTHROW(exec::verify_lowered(plan));
    if (!exec::find_overlap(tiles_of(plan)).any()) return;
    tiles_of(plan).scratch_bytes -= 1024 * sizeof(float) + 64;
    CHECK_THROWS_WITH_AS(exec::verify_lowered(plan),
                         doctest::Contains("kept 0: too little for two tiles that overlap"),
                         sn::graph_error);
  });
}

TEST_CASE("three rows in one kernel have the bits of one kernel for each") {
  check_lengths<float>();
  check_lengths<double>();
}

TEST_CASE("so have NaN, infinities, zeros of both signs, denormals") {
  check_special<float>();
  check_special<double>();
}

TEST_CASE("a row and the reduction of the next in one kernel have the bits of two") {
  check_halves<float>();
  check_halves<double>();
}

TEST_CASE("rows that overlap have the bits that they have alone") {
  row_functions([](auto f) {
    for (const double caches : {no_limit, nothing_fits})
      for (const std::int64_t columns : {127, 128, 129, 260, 513, 1024, 1030})
        for (const std::int64_t rows : {4, 5, 9, 33}) {
          check_rows(f, rows, columns, caches, matrix<float>(rows, columns));
          if (columns == 129 || columns == 513)
            check_rows(f, rows, columns, caches, matrix<double>(rows, columns));
        }
  });
}

TEST_CASE("also where the result is written over the operand") {
  row_functions([](auto f) {
    for (const double caches : {no_limit, nothing_fits})
      for (const std::int64_t columns : {130, 700, 1030})
        for (const std::int64_t rows : {5, 33})
          check_rows(f, rows, columns, caches, matrix<float>(rows, columns), true);
  });
}

TEST_CASE("rows of NaN, of infinities and of zeros beside others") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  row_functions([](auto f) {
    for (const double caches : {no_limit, nothing_fits})
      for (const std::int64_t columns : {130, 1024}) {
        auto x = matrix<float>(40, columns);
        for (std::int64_t c = 0; c < columns; ++c) {
          x(3, c) = std::numeric_limits<float>::quiet_NaN();
          x(7, c) = -infinity;
          x(8, c) = c % 2 == 0 ? 0.0f : -0.0f;
        }
        x(11, columns - 1) = x(12, 0) = std::numeric_limits<float>::quiet_NaN();
        x(20, columns / 2) = infinity;
        x(21, 5) = -infinity;
        x(39, 1) = std::numeric_limits<float>::max();
        check_rows(f, 40, columns, caches, x);
      }
  });
}

}  // namespace row_overlap_test
