// SPDX-License-Identifier: MIT
// Tile and column nests: maps over strided operands, row programs in all their modes, reductions
// over any axes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "support/plan_builder.hpp"
#include <sinter/exec/library.hpp>
#include <sinter/function/code.hpp>

namespace executor_test {

using namespace plan_builder;
using sinter::exec::argument_layout;
using sinter::exec::executor;

namespace {

const sinter::exec::kernel_table kernels = sinter::detail::all_code().kernels;
const auto library = sinter::exec::library_instructions<float>();

enum library_number {
  scale_shift,
  multiply_then_add,
  center_scale,
  exp_shifted,
  squared_deviation
};

void bind(executor& e, std::vector<std::int64_t> symbols = {},
          std::vector<argument_layout> layouts = {}) {
  e.bind(symbols, layouts);
}

double largest_difference(const std::vector<float>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

// Softmax over the last axis of [rows, columns]; with axis_order {1, 0}, over the first axis of
// [columns, rows].
plan softmax_plan(dim rows, dim columns, bool over_first = false, bool with_library = true) {
  plan p;
  const symbolic_shape space = over_first ? shape({columns, rows}) : shape({rows, columns});
  const int x = add_buffer(p, place::argument, 0, dtype::f32, space);
  const int y = add_buffer(p, place::output, 0, dtype::f32, space);
  body b(space);
  b.n.inner_axes = 1;
  if (over_first) b.n.axis_order = {1, 0};
  const int in = b.load(whole(p, x), dtype::f32);
  const int largest = b.spread(b.reduce(op::reduce_max, dtype::f32, in));
  const int e = with_library
                    ? b.fused(library[exp_shifted], {in, largest})
                    : b.map(op::exp, dtype::f32, {b.map(op::sub, dtype::f32, {in, largest})});
  const int total = b.spread(b.reduce(op::reduce_sum, dtype::f32, e));
  b.store(b.map(op::div, dtype::f32, {e, total}), y);
  b.finish(p);
  return p;
}

std::vector<double> softmax(const std::vector<float>& x, std::int64_t rows, std::int64_t columns,
                            std::int64_t row_stride, std::int64_t column_stride) {
  std::vector<double> out(x.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto at = [&](std::int64_t c) {
      return static_cast<std::size_t>(r * row_stride + c * column_stride);
    };
    double largest = -1e30, total = 0;
    for (std::int64_t c = 0; c < columns; ++c)
      largest = std::max(largest, static_cast<double>(x[at(c)]));
    for (std::int64_t c = 0; c < columns; ++c) total += out[at(c)] = std::exp(x[at(c)] - largest);
    for (std::int64_t c = 0; c < columns; ++c) out[at(c)] /= total;
  }
  return out;
}

}  // namespace

TEST_CASE("element-wise: broadcast, permuted, flipped, sliced and strided operands") {
  for (const auto& extents : {std::pair<std::int64_t, std::int64_t>{3, 5},
                              {70, 130},
                              {513, 3},
                              {2, 3000},
                              {1, 1},
                              {40, 1}}) {
    const std::int64_t m = extents.first, n = extents.second;
    CAPTURE(m);
    CAPTURE(n);
    plan p;
    const symbolic_shape space = shape({m, n});
    const int a =
        add_buffer(p, place::argument, 0, dtype::f32, space);  // strided: rows n + 3 apart
    const int bias = add_buffer(p, place::argument, 1, dtype::f32, shape({n}));
    const int column = add_buffer(p, place::argument, 2, dtype::f32, shape({m, 1}));
    const int t = add_buffer(p, place::argument, 3, dtype::f32, shape({n, m}));  // permuted
    const int s = add_buffer(p, place::argument, 4, dtype::f32,
                             shape({2 * m + 1, n}));  // every second row from 1 on, flipped
    const int rate = add_buffer(p, place::argument, 5, dtype::f32, shape({}));
    const int out = add_buffer(p, place::output, 0, dtype::f32, space);
    body b(space);
    const int va = b.load(whole(p, a), dtype::f32);
    const int vbias =
        b.load(broadcast(through(whole(p, bias), op::reshape, shape({1, n})), space), dtype::f32);
    const int vcolumn = b.load(broadcast(whole(p, column), space), dtype::f32);
    const int vt = b.load(through(whole(p, t), op::permute, space, {1, 0}), dtype::f32);
    const auto sliced =
        through(whole(p, s), op::slice, space, {2, 1}, {dim(1), dim(2 * m + 1), dim(0), dim(n)});
    const int vs = b.load(through(sliced, op::flip, space, {3}), dtype::f32);
    const int vrate = b.load(whole(p, rate), dtype::f32);
    const int two = b.constant(2, dtype::f32);
    int sum = b.map(op::add, dtype::f32, {va, vbias});
    sum = b.map(op::mul, dtype::f32, {sum, b.map(op::mul, dtype::f32, {vcolumn, two})});
    sum = b.map(op::sub, dtype::f32, {sum, vt});
    sum = b.map(op::multiply_add, dtype::f32, {vs, vrate, sum});
    b.store(sum, out);
    b.finish(p);

    const auto xa = values(m * (n + 3), 1), xbias = values(n, 2), xcolumn = values(m, 3),
               xt = values(m * n, 4), xs = values((2 * m + 1) * n, 5), xrate = values(1, 6);
    std::vector<float> y(static_cast<std::size_t>(m * n), -1.f);
    executor e(p, kernels);
    bind(e, {}, {{{n + 3, 1}}});
    run(e, pointers(xa, xbias, xcolumn, xt, xs, xrate), {y.data()});
    std::vector<double> expected;
    const auto at = [](const std::vector<float>& v, std::int64_t i) {
      return static_cast<double>(v[static_cast<std::size_t>(i)]);
    };
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        expected.push_back((at(xa, i * (n + 3) + j) + at(xbias, j)) * (at(xcolumn, i) * 2) -
                           at(xt, j * m + i) +
                           at(xs, (1 + 2 * (m - 1 - i)) * n + n - 1 - j) * at(xrate, 0));
    CHECK(largest_difference(y, expected) < 1e-5);
  }
}

TEST_CASE("element-wise: rank 0, empty, and four axes that do not merge") {
  plan p;
  const int x = add_buffer(p, place::argument, 0, dtype::f32, shape({}));
  const int y = add_buffer(p, place::output, 0, dtype::f32, shape({}));
  body b(shape({}));
  b.store(b.map(op::add, dtype::f32, {b.load(whole(p, x), dtype::f32), b.constant(3, dtype::f32)}),
          y);
  b.finish(p);
  executor e(p, kernels);
  bind(e);
  float in = 4, out = 0;
  run(e, {&in}, {&out});
  CHECK(out == 7);

  plan q;
  const symbolic_shape permuted = shape({5, 2, 7, 3});
  const int a = add_buffer(q, place::argument, 0, dtype::f32, shape({3, 7, 2, 5}));
  const int r = add_buffer(q, place::output, 0, dtype::f32, permuted);
  body c(permuted);
  c.store(c.load(through(whole(q, a), op::permute, permuted, {3, 2, 1, 0}), dtype::f32), r);
  c.finish(q);
  executor f(q, kernels);
  bind(f);
  const auto source = values(210, 1);
  std::vector<float> result(210);
  run(f, pointers(source), {result.data()});
  std::vector<double> expected;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 7; ++k)
        for (int l = 0; l < 3; ++l)
          expected.push_back(source[static_cast<std::size_t>(((l * 7 + k) * 2 + j) * 5 + i)]);
  CHECK(largest_difference(result, expected) == 0);

  plan z;
  const int za = add_buffer(z, place::argument, 0, dtype::f32, shape({0, 4}));
  const int zr = add_buffer(z, place::output, 0, dtype::f32, shape({0, 4}));
  body d(shape({0, 4}));
  d.store(d.map(op::neg, dtype::f32, {d.load(whole(z, za), dtype::f32)}), zr);
  d.finish(z);
  executor g(z, kernels);
  bind(g);
  run(g, {nullptr}, {nullptr});
}

TEST_CASE("iota, extents, casts and random numbers follow positions, not memory") {
  const std::int64_t m = 37, n = 65;
  plan p;
  const symbolic_shape space = shape({m, n});
  const int key = add_buffer(p, place::argument, 0, dtype::i64, shape({}));
  const int out = add_buffer(p, place::output, 0, dtype::f32, space);
  const int dice = add_buffer(p, place::output, 1, dtype::f32, space);
  body b(space);
  step rows;
  rows.kind = step_kind::iota;
  rows.type = dtype::i64;
  rows.attribute = 0;
  const int i = b.map(op::cast, dtype::f32, {b.push(rows)});
  rows.attribute = 1;
  rows.type = dtype::f32;
  const int j = b.push(rows);
  step width;
  width.kind = step_kind::extent;
  width.type = dtype::f32;
  width.extent = dim(n);
  b.store(b.map(op::multiply_add, dtype::f32, {i, b.push(width), j}), out);
  step random;
  random.kind = step_kind::random;
  random.type = dtype::f32;
  random.attribute = 3;
  random.operands.push_back(b.load(whole(p, key), dtype::i64));
  b.store(b.push(random), dice);
  b.finish(p);
  executor e(p, kernels);
  bind(e);
  const std::int64_t seed = 99;
  std::vector<float> y(static_cast<std::size_t>(m * n)), u(y.size());
  run(e, {&seed}, {y.data(), u.data()});
  for (std::size_t at = 0; at < y.size(); ++at) {
    REQUIRE(y[at] == static_cast<float>(at));
    REQUIRE(u[at] ==
            static_cast<float>(sinter::ir::uniform(seed, 3, static_cast<std::int64_t>(at), false)));
  }
}

TEST_CASE("softmax: short rows, kept rows, rows in chunks, recomputed rows, over the first axis") {
  for (const auto& extents : {std::pair<std::int64_t, std::int64_t>{50, 7},
                              {9, 1024},
                              {11, 5000},
                              {9, 40000},
                              {3, 100000},
                              {1, 1}}) {
    const std::int64_t rows = extents.first, columns = extents.second;
    for (bool with_library : {true, false}) {
      CAPTURE(columns);
      CAPTURE(with_library);
      const plan p = softmax_plan(rows, columns, false, with_library);
      const auto x = values(rows * columns, 1);
      std::vector<float> y(x.size());
      executor e(p, kernels);
      bind(e);
      run(e, pointers(x), {y.data()});
      CHECK(largest_difference(y, softmax(x, rows, columns, columns, 1)) < 1e-6);
    }
  }
  for (const auto& extents :
       {std::pair<std::int64_t, std::int64_t>{50, 7}, {100, 300}, {33, 9000}}) {
    const std::int64_t rows = extents.first, columns = extents.second;
    CAPTURE(columns);
    const plan p = softmax_plan(rows, columns, true);
    const auto x = values(rows * columns, 1);
    std::vector<float> y(x.size());
    executor e(p, kernels);
    bind(e);
    run(e, pointers(x), {y.data()});
    CHECK(largest_difference(y, softmax(x, rows, columns, 1, rows)) < 1e-6);
  }
}

TEST_CASE("layer norm: row-level steps and stores between the phases") {
  const std::int64_t rows = 23, columns = 768;
  plan p;
  const symbolic_shape space = shape({rows, columns});
  const int x = add_buffer(p, place::argument, 0, dtype::f32, space);
  const int gamma = add_buffer(p, place::argument, 1, dtype::f32, shape({columns}));
  const int y = add_buffer(p, place::output, 0, dtype::f32, space);
  const int mean_out = add_buffer(p, place::output, 1, dtype::f32, shape({rows, 1}));
  body b(space);
  b.n.inner_axes = 1;
  const int in = b.load(whole(p, x), dtype::f32);
  const int scale = b.load(
      broadcast(through(whole(p, gamma), op::reshape, shape({1, columns})), space), dtype::f32);
  const int inverse = b.constant(1.0 / static_cast<double>(columns), dtype::f32, level::row);
  const int eps = b.constant(1e-5, dtype::f32, level::row);
  const int mean =
      b.map(op::mul, dtype::f32, {b.reduce(op::reduce_sum, dtype::f32, in), inverse}, level::row);
  const int square = b.fused(library[squared_deviation], {in, b.spread(mean)});
  const int variance = b.map(op::mul, dtype::f32,
                             {b.reduce(op::reduce_sum, dtype::f32, square), inverse}, level::row);
  const int r = b.map(op::rsqrt, dtype::f32,
                      {b.map(op::add, dtype::f32, {variance, eps}, level::row)}, level::row);
  const int normal = b.fused(library[center_scale], {in, b.spread(mean), b.spread(r)});
  b.store(b.map(op::mul, dtype::f32, {normal, scale}), y);
  b.store(mean, mean_out);
  b.finish(p);
  const auto vx = values(rows * columns, 1), vg = values(columns, 2);
  std::vector<float> vy(vx.size()), vm(static_cast<std::size_t>(rows));
  executor e(p, kernels);
  bind(e);
  run(e, pointers(vx, vg), {vy.data(), vm.data()});
  std::vector<double> expected, means;
  for (std::int64_t i = 0; i < rows; ++i) {
    double m = 0, v = 0;
    const auto at = [&](std::int64_t j) {
      return static_cast<double>(vx[static_cast<std::size_t>(i * columns + j)]);
    };
    for (std::int64_t j = 0; j < columns; ++j) m += at(j) / static_cast<double>(columns);
    for (std::int64_t j = 0; j < columns; ++j)
      v += (at(j) - m) * (at(j) - m) / static_cast<double>(columns);
    for (std::int64_t j = 0; j < columns; ++j)
      expected.push_back((at(j) - m) / std::sqrt(v + 1e-5) * vg[static_cast<std::size_t>(j)]);
    means.push_back(m);
  }
  CHECK(largest_difference(vy, expected) < 1e-5);
  CHECK(largest_difference(vm, means) < 1e-6);
}

TEST_CASE("full reductions are split by shape; mean squared error") {
  for (std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, std::int64_t{40000},
                         std::int64_t{300007}}) {
    CAPTURE(n);
    plan p;
    const int x = add_buffer(p, place::argument, 0, dtype::f32, shape({n}));
    const int y = add_buffer(p, place::argument, 1, dtype::f32, shape({n}));
    const int out = add_buffer(p, place::output, 0, dtype::f32, shape({1}));
    body b(shape({n}));
    b.n.inner_axes = 1;
    const int d = b.map(op::sub, dtype::f32,
                        {b.load(whole(p, x), dtype::f32), b.load(whole(p, y), dtype::f32)});
    const int sum = b.reduce(op::reduce_sum, dtype::f32, b.map(op::mul, dtype::f32, {d, d}));
    b.store(b.map(op::mul, dtype::f32, {sum, b.constant(0.5, dtype::f32, level::row)}, level::row),
            out);
    b.finish(p);
    const auto vx = values(n, 1), vy = values(n, 2);
    std::vector<float> result(1, -1.f);
    executor e(p, kernels);
    bind(e);
    run(e, pointers(vx, vy), {result.data()});
    double expected = 0;
    for (std::size_t i = 0; i < vx.size(); ++i) expected += 0.5 * (vx[i] - vy[i]) * (vx[i] - vy[i]);
    CHECK(result[0] == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("argmax over several inner axes, and identities of empty rows") {
  for (const auto& extents : {std::array<std::int64_t, 3>{4, 3, 5}, {2, 40, 1000}, {9, 2, 900}}) {
    const std::int64_t m = extents[0], k = extents[1], n = extents[2];
    plan p;
    // Reduced over axes 0 and 2 of [k, m, n]: positions count along (axis 0, axis 2).
    const symbolic_shape space = shape({k, m, n});
    const int x = add_buffer(p, place::argument, 0, dtype::f32, space);
    const int where = add_buffer(p, place::output, 0, dtype::i64, shape({1, m, 1}));
    const int top = add_buffer(p, place::output, 1, dtype::f32, shape({1, m, 1}));
    body b(space);
    b.n.inner_axes = 2;
    b.n.axis_order = {1, 0, 2};
    const int in = b.load(whole(p, x), dtype::f32);
    b.store(b.reduce(op::argmax, dtype::i64, in), where);
    b.store(b.reduce(op::reduce_max, dtype::f32, in), top);
    b.finish(p);
    const auto vx = values(k * m * n, 1);
    std::vector<std::int64_t> index(static_cast<std::size_t>(m));
    std::vector<float> value(index.size());
    executor e(p, kernels);
    bind(e);
    run(e, pointers(vx), {index.data(), value.data()});
    for (std::int64_t i = 0; i < m; ++i) {
      std::int64_t best = 0;
      const auto at = [&](std::int64_t position) {
        return vx[static_cast<std::size_t>((position / n * m + i) * n + position % n)];
      };
      for (std::int64_t position = 1; position < k * n; ++position)
        if (at(position) > at(best)) best = position;
      CHECK(index[static_cast<std::size_t>(i)] == best);
      CHECK(value[static_cast<std::size_t>(i)] == at(best));
    }
  }
  plan p;
  const int x = add_buffer(p, place::argument, 0, dtype::f32, shape({3, 0}));
  const int out = add_buffer(p, place::output, 0, dtype::f32, shape({3, 1}));
  const int top = add_buffer(p, place::output, 1, dtype::f32, shape({3, 1}));
  body b(shape({3, 0}));
  b.n.inner_axes = 1;
  const int in = b.load(whole(p, x), dtype::f32);
  b.store(b.reduce(op::reduce_sum, dtype::f32, in), out);
  b.store(b.reduce(op::reduce_max, dtype::f32, in), top);
  b.finish(p);
  std::vector<float> sums(3, 5.f), tops(3, 5.f);
  executor e(p, kernels);
  bind(e);
  run(e, {nullptr}, {sums.data(), tops.data()});
  CHECK(sums == std::vector<float>(3, 0.f));
  CHECK(tops == std::vector<float>(3, -std::numeric_limits<float>::infinity()));
}

TEST_CASE(
    "column nests: a map, a reduction over leading or middle axes, steps behind it, a by-product") {
  for (const auto& extents : {std::array<std::int64_t, 3>{1, 100, 17},
                              {3, 70, 300},
                              {1, 5000, 130},
                              {2, 0, 5},
                              {1, 40, 6000},
                              {40, 9, 8}}) {
    const std::int64_t batch = extents[0], rows = extents[1], columns = extents[2];
    CAPTURE(batch);
    CAPTURE(rows);
    CAPTURE(columns);
    plan p;
    const symbolic_shape space = shape({batch, rows, columns}), kept = shape({batch, 1, columns});
    const int x = add_buffer(p, place::argument, 0, dtype::f32, space);
    const int bias = add_buffer(p, place::argument, 1, dtype::f32, shape({columns}));
    const int out = add_buffer(p, place::output, 0, dtype::f32, kept);
    const int squares = add_buffer(p, place::output, 1, dtype::f32, space);
    body b(space, nest_kind::column);
    b.n.column_first = 1;
    b.n.column_last = 2;
    const int in = b.load(whole(p, x), dtype::f32);
    const int square = b.map(op::mul, dtype::f32, {in, in});
    b.store(square, squares);
    const int sum = b.reduce(op::reduce_sum, dtype::f32, square);
    const auto row = broadcast(through(whole(p, bias), op::reshape, shape({1, 1, columns})), kept);
    b.store(
        b.map(op::add, dtype::f32,
              {b.map(op::sqrt, dtype::f32, {sum}, level::row), b.load(row, dtype::f32, level::row)},
              level::row),
        out);
    b.finish(p);
    const auto vx = values(batch * rows * columns, 1), vb = values(columns, 2);
    std::vector<float> y(static_cast<std::size_t>(batch * columns), -1.f), s(vx.size());
    executor e(p, kernels);
    bind(e);
    run(e, pointers(vx, vb), {y.data(), s.data()});
    std::vector<double> expected, expected_squares;
    for (std::int64_t i = 0; i < batch; ++i)
      for (std::int64_t c = 0; c < columns; ++c) {
        double total = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          const double v = vx[static_cast<std::size_t>((i * rows + r) * columns + c)];
          total += v * v;
        }
        expected.push_back(std::sqrt(total) + vb[static_cast<std::size_t>(c)]);
      }
    for (float v : vx) expected_squares.push_back(static_cast<double>(v) * v);
    CHECK(largest_difference(y, expected) < 1e-4);
    CHECK(largest_difference(s, expected_squares) < 1e-6);
  }
}

TEST_CASE("argmax over columns") {
  plan p;
  const int x = add_buffer(p, place::argument, 0, dtype::f32, shape({300, 9}));
  const int out = add_buffer(p, place::output, 0, dtype::i64, shape({1, 9}));
  body b(shape({300, 9}), nest_kind::column);
  b.n.column_last = 1;
  b.store(b.reduce(op::argmax, dtype::i64, b.load(whole(p, x), dtype::f32)), out);
  b.finish(p);
  const auto vx = values(2700, 7);
  std::vector<std::int64_t> index(9);
  executor e(p, kernels);
  bind(e);
  run(e, pointers(vx), {index.data()});
  for (std::size_t c = 0; c < 9; ++c) {
    std::size_t best = 0;
    for (std::size_t r = 1; r < 300; ++r)
      if (vx[r * 9 + c] > vx[best * 9 + c]) best = r;
    CHECK(index[c] == static_cast<std::int64_t>(best));
  }
}

TEST_CASE("an update in place reads what is overwritten first") {
  // y = x * 2 goes over x itself; z = x + 1 and the row sums must see the old x. Also across
  // phases.
  const std::int64_t rows = 5, columns = 3000;
  plan p;
  const symbolic_shape space = shape({rows, columns});
  const int x = add_buffer(p, place::argument, 0, dtype::f32, space);
  const int y = add_buffer(p, place::output, 0, dtype::f32, space);
  const int z = add_buffer(p, place::output, 1, dtype::f32, space);
  body b(space);
  b.n.inner_axes = 1;
  const int in = b.load(whole(p, x), dtype::f32);
  b.store(b.map(op::mul, dtype::f32, {in, b.constant(2, dtype::f32)}), y);
  const int mean = b.reduce(op::reduce_max, dtype::f32, in);
  b.store(b.map(op::sub, dtype::f32, {in, b.spread(mean)}), z);
  b.finish(p);
  p.may_alias = {true, false};
  auto vx = values(rows * columns, 1);
  const auto old = vx;
  std::vector<float> vz(vx.size());
  executor e(p, kernels);
  bind(e);
  run(e, {vx.data()}, {vx.data(), vz.data()});
  std::vector<double> doubled, shifted;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto first = old.begin() + i * columns;
    const double top = *std::max_element(first, first + columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      doubled.push_back(2.0 * first[j]);
      shifted.push_back(first[j] - top);
    }
  }
  CHECK(largest_difference(vx, doubled) < 1e-6);
  CHECK(largest_difference(vz, shifted) < 1e-6);
}

TEST_CASE(
    "a value without axes is stored as one value per row where its buffer says so; other buffers "
    "are refused") {
  plan p;
  const symbolic_shape space = shape({4, 300});
  const int s = add_buffer(p, place::argument, 0, dtype::f32, shape({}));
  const int per_row = add_buffer(p, place::output, 0, dtype::f32, shape({4, 1}));
  const int everywhere = add_buffer(p, place::output, 1, dtype::f32, space);
  body b(space);
  b.n.inner_axes = 1;
  const int in = b.load(whole(p, s), dtype::f32);
  const int doubled = b.map(op::add, dtype::f32, {in, in});
  b.store(doubled, per_row);
  b.store(b.reduce(op::reduce_sum, dtype::f32, doubled),
          add_buffer(p, place::output, 2, dtype::f32, shape({4, 1})));
  b.store(in, everywhere);
  b.finish(p);
  const float x = 1.5f;
  std::vector<float> rows(4), all(1200), sums(4);
  executor e(p, kernels);
  bind(e);
  run(e, {&x}, {rows.data(), all.data(), sums.data()});
  CHECK(rows == std::vector<float>(4, 3.f));
  CHECK(all == std::vector<float>(1200, 1.5f));
  CHECK(sums == std::vector<float>(4, 900.f));

  p.buffers[static_cast<std::size_t>(everywhere)].shape = shape({4, 2});
  executor wrong(p, kernels);
  CHECK_THROWS_AS(bind(wrong), sinter::graph_error);
}

}  // namespace executor_test
