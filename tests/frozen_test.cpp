// SPDX-License-Identifier: MIT
// Frozen arguments: what is computed from them alone is computed once and kept; results are those
// of ordinary arguments.
#include <cstdint>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include "support/frozen_products.hpp"
#include <sinter/sinter.hpp>

namespace frozen_test {

namespace sn = sinter;
using frozen_support::distance, frozen_support::matrix, frozen_support::matrix_of,
    frozen_support::product_of_rows, frozen_support::report, frozen_support::scaled_product,
    frozen_support::vector, frozen_support::vector_of;

TEST_CASE("the weight of an RMS norm goes into the matrix once") {
  auto f = sn::fuse([](auto x, auto g, auto w) { return sn::matmul(sn::rms_norm(x) * g, w); });
  const matrix x = matrix_of(5, 33, 1), w = matrix_of(33, 18, 2);
  const vector g = vector_of(33, 3);
  const matrix expected = f(x, g, w);
  CHECK(f.statistics().preparations == 0);
  matrix first = f(x, sn::frozen(g), sn::frozen(w));
  CHECK(distance(first, expected) < 1e-5f);
  for (int i = 0; i < 100; ++i) {
    const matrix y = f(x, sn::frozen(g), sn::frozen(w));
    REQUIRE(y == first);
  }
  CHECK(f.statistics().preparations == 1);
  CHECK(f.statistics().calls == 102);

  const report r(f.explain(x, sn::frozen(g), sn::frozen(w)));
  INFO(r.call, r.once);
  // In a call neither the weights nor the norm's are read, only their product.
  CHECK(!report::has(r.call, "argument 1"));
  CHECK(!report::has(r.call, "argument 2"));
  CHECK(report::has(r.call, "prepared "));
  CHECK(report::has(r.once, "argument 1"));
  CHECK(report::has(r.once, "argument 2"));
  CHECK(report::has(r.once, "computed 1 time, 1 set kept"));
  CHECK(f.statistics().preparations == 1);
  CHECK(!report::has(f.explain(x, g, w), "prepared once"));
}

TEST_CASE("batch norm at inference goes into the weights and one shift") {
  auto f = sn::fuse([](auto x, auto w, auto b, auto mean, auto var, auto gamma, auto beta) {
    return sn::relu((sn::matmul(x, w) + b - mean) * sn::rsqrt(var + 1e-5f) * gamma + beta);
  });
  const matrix w = matrix_of(20, 31, 1);
  vector b = vector_of(31, 2), mean = vector_of(31, 3), var = vector_of(31, 4),
         gamma = vector_of(31, 5), beta = vector_of(31, 6);
  for (float& v : var) v = v * v + 0.5f;
  for (const std::int64_t batch : {1, 2, 7, 64}) {
    CAPTURE(batch);
    const matrix x = matrix_of(batch, 20, 7);
    const matrix expected = f(x, w, b, mean, var, gamma, beta);
    const auto frozen_call = [&](auto&& call) {
      return call(x, sn::frozen(w), sn::frozen(b), sn::frozen(mean), sn::frozen(var),
                  sn::frozen(gamma), sn::frozen(beta));
    };
    matrix y = frozen_call(f);
    CHECK(distance(y, expected) < 1e-4f);
    if (batch == 1) continue;  // the row of results could as well be scaled itself
    const report r(frozen_call([&](const auto&... a) { return f.explain(a...); }));
    INFO(r.call, r.once);
    CHECK(report::has(r.once, "2 values"));
    // One product, the shift and the activation behind it.
    CHECK(report::has(r.call, "nest 0"));
    CHECK(!report::has(r.call, "nest 1"));
    for (const char* argument :
         {"argument 1", "argument 2", "argument 3", "argument 4", "argument 5", "argument 6"})
      CHECK(!report::has(r.call, argument));
  }
  // A batch of one row is a class of its own; the others share what was prepared.
  CHECK(f.statistics().preparations == 2);
}

TEST_CASE("frozen weights that are concatenated are concatenated once") {
  auto f = sn::fuse(
      [](auto x, auto v, auto w) { return sn::exp(sn::matmul(x, sn::concat(1, v * 2.0f, w))); });
  const matrix x = matrix_of(4, 9, 1), v = matrix_of(9, 6, 2), w = matrix_of(9, 5, 3);
  const matrix expected = f(x, v, w);
  CHECK(distance(f(x, sn::frozen(v), sn::frozen(w)), expected) < 1e-5f);
  CHECK(f.statistics().preparations == 1);
}

TEST_CASE("frozen right sides of products are packed once") {
  auto f = sn::fuse([](auto x, auto w) { return sn::matmul(x, w); });
  auto turned = sn::fuse([](auto x, auto w) { return sn::matmul(x, sn::transpose(w)); });
  for (const std::int64_t m : {2, 9, 40, 70})
    for (const std::int64_t k : {1, 30, 400})
      for (const std::int64_t n : {2, 50, 900}) {
        CAPTURE(m);
        CAPTURE(k);
        CAPTURE(n);
        const matrix x = matrix_of(m, k, 1), w = matrix_of(k, n, 2), v = matrix_of(n, k, 3);
        const matrix y = f(x, sn::frozen(w)), z = turned(x, sn::frozen(v));
        CHECK(y == f(x, w));
        // Products of few rows or columns read the matrix as it is, or transposed once.
        const bool is_packed = n > 128 && (m > 64 || (m > 32 && k * n > 1 << 18));
        CHECK(report::has(f.explain(x, sn::frozen(w)), "packed prepared 0") == is_packed);
        // Few rows or columns are dot products of rows as they are; frozen ones only where lanes
        // would be left without a column.
        const bool are_dots = k == 400 && (m <= 32 || n == 2), prepares = !are_dots || n > 50;
        CHECK(report::has(turned.explain(x, sn::frozen(v)), "prepared 0") == prepares);
        if (are_dots && prepares)  // two ways of adding up, each some roundings of 40 off
          CHECK(distance(z, product_of_rows(x, v)) < 2e-5f);
        else
          CHECK(distance(z, turned(x, v)) < 1e-5f);
      }
  // A vector reads the matrix as it is; integers have no packed form.
  const matrix row = matrix_of(1, 30, 1), w = matrix_of(30, 20, 2);
  CHECK(!report::has(f.explain(row, sn::frozen(w)), "packed"));
  sn::tensor<std::int32_t, 2> i(3, 5), j(5, 7);
  i.fill(2);
  j.fill(3);
  CHECK(!report::has(f.explain(i, sn::frozen(j)), "packed"));
}

TEST_CASE("products of one input keep their weights packed, and the bits they have alone") {
  auto all = sn::fuse([](auto x, auto q, auto k, auto g, auto u) {
    return sn::outputs(sn::matmul(x, q), sn::matmul(x, k) + 1.0f,
                       sn::silu(sn::matmul(x, g)) * sn::matmul(x, u));
  });
  auto product = sn::fuse([](auto x, auto q) { return sn::matmul(x, q); });
  auto shifted = sn::fuse([](auto x, auto k) { return sn::matmul(x, k) + 1.0f; });
  auto gated = sn::fuse(
      [](auto x, auto g, auto u) { return sn::silu(sn::matmul(x, g)) * sn::matmul(x, u); });
  struct extents {
    std::int64_t m, k, q, g;
  };
  for (const extents e : {extents{2, 30, 50, 9},
                          {33, 37, 20, 41},
                          {70, 37, 150, 141},
                          {300, 130, 530, 196},
                          {517, 400, 130, 170}}) {
    CAPTURE(e.m);
    CAPTURE(e.q);
    const matrix x = matrix_of(e.m, e.k, 1), q = matrix_of(e.k, e.q, 2), k = matrix_of(e.k, 137, 3),
                 g = matrix_of(e.k, e.g, 4), u = matrix_of(e.k, e.g, 5);
    const auto [y, z, w] = all(x, q, k, g, u);
    for (int round = 0; round < 2; ++round) {
      const auto [frozen_y, frozen_z, frozen_w] =
          all(x, sn::frozen(q), sn::frozen(k), sn::frozen(g), sn::frozen(u));
      CHECK(frozen_y == y);
      CHECK(frozen_z == z);
      CHECK(frozen_w == w);
    }
    CHECK(y == product(x, q));
    CHECK(y == product(x, sn::frozen(q)));
    CHECK(z == shifted(x, sn::frozen(k)));
    CHECK(w == gated(x, sn::frozen(g), sn::frozen(u)));
    const report text(all.explain(x, sn::frozen(q), sn::frozen(k), sn::frozen(g), sn::frozen(u)));
    if (e.m > 64) {  // fewer rows read weights as they are
      CHECK(report::has(text.call, "grouped matmul"));
      CHECK(report::has(text.call, "and packed prepared"));
      CHECK(report::has(text.call, "and with packed prepared"));
      CHECK(report::has(text.once, "pack for products"));
    }
    // Half of a gate is multiplied as it is, and so is the rest of it.
    const auto [half_y, half_z, half_w] = all(x, sn::frozen(q), k, sn::frozen(g), u);
    CHECK(half_y == y);
    CHECK(half_z == z);
    CHECK(half_w == w);
  }
  // Too small for the kernel that reads packed matrices: added in another order, the same alone.
  const matrix x = matrix_of(3, 4, 1), q = matrix_of(4, 5, 2), k = matrix_of(4, 2, 3),
               g = matrix_of(4, 3, 4), u = matrix_of(4, 3, 5);
  const auto [y, z, w] = all(x, sn::frozen(q), sn::frozen(k), sn::frozen(g), sn::frozen(u));
  CHECK(y == product(x, sn::frozen(q)));
  CHECK(z == shifted(x, sn::frozen(k)));
  CHECK(w == gated(x, sn::frozen(g), sn::frozen(u)));
}

TEST_CASE("products of one frozen input run once, unless their other side does not") {
  auto f = sn::fuse([](auto x, auto v, auto w, auto a) {
    return sn::outputs(sn::exp(sn::matmul(x, v)) + a, sn::tanh(sn::matmul(x, w)) + a);
  });
  const matrix x = matrix_of(40, 30, 1), v = matrix_of(30, 20, 2), w = matrix_of(30, 20, 3),
               a = matrix_of(40, 20, 4);
  const auto [first, second] = f(x, v, w, a);
  const auto [both, too] = f(sn::frozen(x), sn::frozen(v), sn::frozen(w), a);
  CHECK(both == first);
  CHECK(too == second);
  const report all(f.explain(sn::frozen(x), sn::frozen(v), sn::frozen(w), a));
  CHECK(report::has(all.once, "grouped matmul"));
  CHECK_FALSE(report::has(all.call, "matmul"));
  const auto [one, other] = f(sn::frozen(x), sn::frozen(v), w, a);
  CHECK(one == first);
  CHECK(other == second);
  const report half(f.explain(sn::frozen(x), sn::frozen(v), w, a));
  CHECK(report::has(half.once, "matmul over"));
  CHECK_FALSE(report::has(half.call, "grouped"));
}

TEST_CASE("batches share what is packed, strides and other dtypes too") {
  auto f = sn::fuse([](auto x, auto w) { return sn::relu(sn::matmul(x, w)); });
  sn::tensor<double, 3> x(4, 20, 70);
  sn::tensor<double, 2> w(70, 450);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = 0.1 * static_cast<double>(i % 7 - 3);
  for (std::int64_t i = 0; i < w.size(); ++i) w.data()[i] = 0.1 * static_cast<double>(i % 5 - 1);
  CHECK(f(x, sn::frozen(w)) == f(x, w));
  CHECK(report::has(f.explain(x, sn::frozen(w)), "packed prepared 0"));
  // Every second row and third column.
  const sn::view<const double, 2> part(std::as_const(w).data(), {35, 150}, {900, 3});
  sn::tensor<double, 2> rows(70, 35);
  rows.fill(0.5);
  CHECK(f(rows, sn::frozen(part, 1)) == f(rows, part));
  CHECK(report::has(f.explain(rows, sn::frozen(part, 1)), "packed prepared 0"));
  // A column that is repeated is packed as what it is repeated to.
  auto repeated = sn::fuse([](auto a, auto column) {
    return sn::matmul(a, sn::exp(column) + sn::zeros_like(sn::transpose(column)));
  });
  const matrix a = matrix_of(15, 3, 1), column = matrix_of(3, 1, 2);
  CHECK(distance(repeated(a, sn::frozen(column)), repeated(a, column)) < 1e-5f);
  // A matrix for every batch is multiplied as it is.
  sn::tensor<double, 3> v(4, 70, 5);
  v.fill(0.25);
  CHECK(f(x, sn::frozen(v)) == f(x, v));
}

TEST_CASE("which arguments are frozen is part of the plan") {
  auto f = scaled_product();
  const matrix x = matrix_of(70, 8, 1);
  vector s = vector_of(8, 2);
  const matrix w = matrix_of(8, 130, 3);
  const matrix expected = f(x, s, w);
  CHECK(distance(f(x, s, sn::frozen(w)), expected) < 1e-5f);
  CHECK(f.statistics().preparations == 1);  // of w alone comes its packed form
  CHECK(distance(f(sn::frozen(x), sn::frozen(s), w), expected) < 1e-5f);
  CHECK(distance(f(x, sn::frozen(s), sn::frozen(w)), expected) < 1e-5f);
  const std::size_t preparations = f.statistics().preparations;
  CHECK(f.statistics().saturations == 4);
  s(3) = 4;  // here not frozen
  CHECK(distance(f(x, s, sn::frozen(w)), f(x, s, w)) < 1e-5f);
  CHECK(f.statistics().preparations == preparations);
  CHECK(f.statistics().saturations == 4);
}

TEST_CASE("what is frozen may be a result, or all there is") {
  auto f = sn::fuse([](auto x, auto w) { return sn::outputs(sn::exp(w), x * sn::exp(w), w); });
  const matrix x = matrix_of(6, 5, 1);
  matrix w = matrix_of(6, 5, 2);
  for (int round = 0; round < 2; ++round) {
    const auto [e, y, same] = f(x, w);
    for (int i = 0; i < 3; ++i) {
      const auto [frozen_e, frozen_y, frozen_same] = f(x, sn::frozen(w));
      CHECK(frozen_e == e);
      CHECK(frozen_y == y);
      CHECK(frozen_same == same);
    }
    w.fill(0.5f);
  }
  CHECK(f.statistics().preparations == 2);
  auto g = sn::fuse([](auto v) { return sn::sum(v * v); });
  const sn::tensor<float, 0> plain = g(w), all = g(sn::frozen(w)), again = g(sn::frozen(w));
  CHECK(all == plain);
  CHECK(again == plain);
}

TEST_CASE("empty weights, one element, one row") {
  auto f = scaled_product();
  for (const std::int64_t batch : {0, 1, 3})
    for (const std::int64_t inner : {0, 1, 8})
      for (const std::int64_t columns : {0, 1, 5}) {
        CAPTURE(batch);
        CAPTURE(inner);
        CAPTURE(columns);
        const matrix x = matrix_of(batch, inner, 1), w = matrix_of(inner, columns, 2);
        const vector s = vector_of(inner, 3);
        for (int i = 0; i < 2; ++i)
          CHECK(distance(f(x, sn::frozen(s), sn::frozen(w)), f(x, s, w)) < 1e-5f);
      }
}

TEST_CASE("what depends on the size of the batch is not kept") {
  // The sum over as many rows as x has: of s alone, and yet another value for every batch.
  auto f =
      sn::fuse([](auto x, auto s) { return x * sn::sum(sn::ones_like(x) * s, 0) + sn::exp(s); });
  const vector s = vector_of(6, 1);
  for (const std::int64_t batch : {3, 4, 3, 1, 2}) {
    const matrix x = matrix_of(batch, 6, 2);
    CHECK(distance(f(x, sn::frozen(s)), f(x, s)) < 1e-5f);
  }
}

TEST_CASE("calls of other batch sizes use what was prepared") {
  auto f = scaled_product();
  const matrix w = matrix_of(16, 24, 1);
  const vector s = vector_of(16, 2);
  for (const std::int64_t batch : {2, 3, 5, 17, 100, 1000})
    f(matrix_of(batch, 16, 3), sn::frozen(s), sn::frozen(w));
  CHECK(f.statistics().extractions >= 5);
  CHECK(f.statistics().preparations == 1);
}

TEST_CASE("static extents, into, prepare and function") {
  auto f = scaled_product();
  const sn::tensor<float, sn::extents<8, 4>> w(matrix_of(8, 4, 1));
  const vector s = vector_of(8, 2);
  const matrix x = matrix_of(3, 8, 3);
  const matrix expected = f(x, s, w);
  f.prepare(x, sn::frozen(s), sn::frozen(w));
  CHECK(f.statistics().preparations == 1);
  matrix y(3, 4);
  f.into(y)(x, sn::frozen(s), sn::frozen(w));
  CHECK(distance(y, expected) < 1e-5f);

  using weights = sn::tensor<float, sn::extents<8, 4>>;
  const sn::function<matrix(const matrix&, sn::frozen<vector>, sn::frozen<weights>)> any =
      std::move(f);
  CHECK(any(x, sn::frozen(s), sn::frozen(w)) == y);
  y.fill(0);
  any.into(y, x, sn::frozen(s), sn::frozen(w));
  CHECK(distance(y, expected) < 1e-5f);
  CHECK(report::has(any.explain(x, sn::frozen(s), sn::frozen(w)), "prepared once"));
  CHECK(any.statistics().preparations == 1);
}

TEST_CASE("functions made at run time: frozen arguments of a call, and bound ones by prepare") {
  sn::graph_builder g;
  const auto x = g.argument("x", sn::dtype::f32, {sn::sym("n", 1, 64), 16});
  const auto w = g.argument("w", sn::dtype::f32, {16, 24});
  const auto s = g.argument("s", sn::dtype::f32, {16});
  const auto y = sn::matmul(x, sn::unsqueeze(s, 1) * w);
  const auto f = g.compile({y});
  matrix weights = matrix_of(16, 24, 1);
  const vector scale = vector_of(16, 2);
  const matrix batch = matrix_of(8, 16, 3);
  const matrix expected = matrix(f({batch, weights, scale})[0]);
  CHECK(f.statistics().preparations == 0);
  for (int i = 0; i < 3; ++i)
    CHECK(distance(f({batch, sn::frozen(weights), sn::frozen(scale)})[0], expected) < 1e-4f);
  CHECK(f.statistics().preparations == 1);
  weights(0, 0) += 1;
  weights.touch();
  const matrix changed = matrix(f({batch, weights, scale})[0]);
  CHECK(distance(changed, expected) > 1e-3f);
  CHECK(distance(f({batch, sn::frozen(weights), sn::frozen(scale)})[0], changed) < 1e-4f);
  CHECK(f.statistics().preparations == 2);

  // Planned and prepared before the first call, which then finds both.
  sn::graph_function bound = g.compile({y});
  bound.bind("w", sn::any_tensor(weights));
  bound.bind("s", sn::any_tensor(scale));
  bound.prepare();
  CHECK(bound.statistics().preparations == 1);
  CHECK(bound.statistics().calls == 0);
  CHECK(distance(bound({batch})[0], changed) < 1e-4f);
  CHECK(bound.statistics().preparations == 1);
  CHECK(bound.statistics().misses == 1);
  CHECK(bound.statistics().hits == 1);
  CHECK_THROWS_WITH_AS(bound.prepare({{"n", 65}}),
                       "argument 0 (x): extent 65 of axis 0 where n is in 1..64", sn::shape_error);
}

TEST_CASE("a function that its first call traces") {
  static float two = 2;
  auto f = sn::fuse([](auto x, auto w) { return sn::matmul(x, sn::exp(w) * two); });
  const matrix x = matrix_of(3, 8, 1), w = matrix_of(8, 4, 2);
  const matrix expected = f(x, w);
  for (int i = 0; i < 3; ++i) {
    const matrix y = f(x, sn::frozen(w));
    CHECK(distance(y, expected) < 1e-5f);
  }
  CHECK(f.statistics().preparations == 1);
}

TEST_CASE("a memory budget counts what a call needs") {
  auto f = sn::fuse([](auto x, auto w) { return sn::matmul(sn::exp(sn::matmul(x, w * w)), w); },
                    {.memory_budget = 1});
  auto free = sn::fuse([](auto x, auto w) { return sn::matmul(sn::exp(sn::matmul(x, w * w)), w); });
  const matrix x = matrix_of(6, 16, 1), w = matrix_of(16, 16, 2);
  CHECK(distance(f(x, sn::frozen(w)), free(x, w)) < 1e-3f);
  CHECK(f.statistics().preparations == 1);
}

// A temporary would be gone before the next call; of a view nobody knows the version.
static_assert(std::is_constructible_v<sn::frozen<matrix>, const matrix&>);
static_assert(!std::is_constructible_v<sn::frozen<matrix>, matrix>);
static_assert(!std::is_constructible_v<sn::frozen<sn::view<float, 2>>, sn::view<float, 2>>);

TEST_CASE("frozen arguments are not written") {
  auto step = sn::fuse([](auto x, auto w) { return sn::assign(w, w + x); });
  const matrix x = matrix_of(3, 4, 1);
  matrix w = matrix_of(3, 4, 2);
  const matrix before = w;
  const char* const message = "assign: argument 1 is frozen; expected an argument that may change";
  CHECK_THROWS_WITH_AS(step(x, sn::frozen(w)), message, sn::graph_error);
  CHECK_THROWS_WITH_AS(step.prepare(x, sn::frozen(w)), message, sn::graph_error);
  CHECK_THROWS_WITH_AS(step.explain(x, sn::frozen(w)), message, sn::graph_error);
  CHECK(w == before);
  step(x, w);
  CHECK(!(w == before));

  auto twice = sn::fuse([](auto v) { return v * 2.0f; });
  CHECK_THROWS_WITH_AS(twice.into(w)(sn::frozen(w)),
                       "into: output 0 overlaps argument 0, which is frozen; expected separate "
                       "memory",
                       sn::alias_error);
  CHECK(distance(twice(sn::frozen(w)), twice(w)) == 0);
  // Nor under another name.
  CHECK_THROWS_AS(
      (sn::fuse([](auto a, auto v) { return sn::assign(a, v * 2.0f); })(w, sn::frozen(w))),
      sn::alias_error);

  // What preparing throws, the call throws, and the next one tries again.
  auto rows = sn::fuse([](auto x_, auto table, auto i) { return x_ + sn::gather(table, i, 0); });
  sn::tensor<std::int64_t, 1> index{0, 2, 9};
  CHECK_THROWS_AS(rows(x, sn::frozen(w), sn::frozen(index)), sn::index_error);
  index(2) = 1;
  index.touch();
  CHECK(distance(rows(x, sn::frozen(w), sn::frozen(index)), rows(x, w, index)) == 0);
}

}  // namespace frozen_test
