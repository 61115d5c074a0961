// SPDX-License-Identifier: MIT
// Matmul, assemble, gather, scatter_add and alias nests, binding again without allocation, and the
// same bits for every number of threads.
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "support/plan_builder.hpp"
#include <sinter/exec/library.hpp>
#include <sinter/function/code.hpp>

namespace {
std::atomic<int> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* at = nullptr;
  if (posix_memalign(&at, alignment < sizeof(void*) ? sizeof(void*) : alignment,
                     bytes == 0 ? 1 : bytes) != 0)
    throw std::bad_alloc();
  return at;
}
}  // namespace

// Not inlined: GCC would see free() meet memory of operator new and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted(bytes, 16); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t, std::align_val_t) noexcept {
  std::free(at);
}

using namespace plan_builder;
using sinter::exec::argument_layout;
using sinter::exec::executor;

namespace {

// A copy of `from` becomes a piece of an assemble nest.
void put(sinter::planning::nest& n, const sinter::planning::access& from,
         const symbolic_shape& offset) {
  sinter::planning::step load;
  load.kind = sinter::planning::step_kind::load;
  load.type = dtype::f32;
  load.access = static_cast<int>(n.accesses.size());
  n.accesses.push_back(from);
  n.pieces.push_back({from.shape, offset, {load}});
}

const sinter::exec::kernel_table kernels = sinter::detail::all_code().kernels;
const auto library = sinter::exec::library_instructions<float>();

void bind(executor& e, std::vector<std::int64_t> symbols = {},
          std::vector<argument_layout> layouts = {}) {
  e.bind(symbols, layouts);
}

float at(const std::vector<float>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; }

// c[b, i, j] = sum over k of a[b, i, k] b[b, k, j], given the strides of both operands.
std::vector<double> matmul(const std::vector<float>& a, std::array<std::int64_t, 3> sa,
                           const std::vector<float>& b, std::array<std::int64_t, 3> sb,
                           std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::vector<double> out;
  for (std::int64_t t = 0; t < batch; ++t)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double total = 0;
        for (std::int64_t p = 0; p < k; ++p)
          total += static_cast<double>(at(a, t * sa[0] + i * sa[1] + p * sa[2])) *
                   at(b, t * sb[0] + p * sb[1] + j * sb[2]);
        out.push_back(total);
      }
  return out;
}

void check_close(const std::vector<float>& a, const std::vector<double>& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::isnan(a[i]) ? 1e30 : std::max(largest, std::abs(a[i] - b[i]));
  CHECK(largest < tolerance);
}

// relu(a b + bias), and a b itself if `both`.
plan linear(dim m, dim n, dim k, bool both) {
  plan p;
  const int a = add_buffer(p, place::argument, 0, dtype::f32, shape({m, k}));
  const int b = add_buffer(p, place::argument, 1, dtype::f32, shape({k, n}));
  const int bias = add_buffer(p, place::argument, 2, dtype::f32, shape({n}));
  const int out = add_buffer(p, place::output, 0, dtype::f32, shape({m, n}));
  body c(shape({m, n}), nest_kind::matmul);
  const int product = c.product(whole(p, a), whole(p, b), dtype::f32);
  const int vbias = c.load(
      broadcast(through(whole(p, bias), op::reshape, shape({1, n})), shape({m, n})), dtype::f32);
  const int sum = c.map(op::add, dtype::f32, {product, vbias});
  c.store(c.map(op::relu, dtype::f32, {sum}), out);
  if (both) c.store(sum, add_buffer(p, place::output, 1, dtype::f32, shape({m, n})));
  c.finish(p);
  return p;
}

}  // namespace

TEST_CASE("matmul with bias and relu, one store and two") {
  for (const auto& extents : {std::array<std::int64_t, 3>{5, 7, 3},
                              {200, 300, 64},
                              {513, 10, 130},
                              {1, 1000, 300},
                              {1000, 1, 300},
                              {4, 6, 0},
                              {0, 3, 4}}) {
    const std::int64_t m = extents[0], n = extents[1], k = extents[2];
    for (bool both : {false, true}) {
      CAPTURE(m);
      CAPTURE(n);
      const plan p = linear(m, n, k, both);
      const auto a = values(m * k, 1), b = values(k * n, 2), bias = values(n, 3);
      std::vector<float> y(static_cast<std::size_t>(m * n), -5.f), z(y);
      executor e(p, kernels);
      bind(e);
      run(e, pointers(a, b, bias), {y.data(), z.data()});
      auto expected = matmul(a, {0, k, 1}, b, {0, n, 1}, 1, m, n, k);
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] += bias[i % static_cast<std::size_t>(n)];
      if (both) check_close(z, expected, 1e-4);
      for (double& v : expected) v = std::max(v, 0.0);
      check_close(y, expected, 1e-4);
    }
  }
}

TEST_CASE("matmul: pre-activation and gelu of it, product stored as well") {
  const std::int64_t m = 130, n = 260, k = 40;
  plan p;
  const int a = add_buffer(p, place::argument, 0, dtype::f32, shape({m, k}));
  const int b = add_buffer(p, place::argument, 1, dtype::f32, shape({k, n}));
  const int first = add_buffer(p, place::output, 0, dtype::f32, shape({m, n}));
  const int second = add_buffer(p, place::output, 1, dtype::f32, shape({m, n}));
  body c(shape({m, n}), nest_kind::matmul);
  const int product = c.product(whole(p, a), whole(p, b), dtype::f32);
  c.store(c.map(op::neg, dtype::f32, {product}), second);
  c.store(product, first);
  c.finish(p);
  const auto va = values(m * k, 1), vb = values(k * n, 2);
  std::vector<float> y(static_cast<std::size_t>(m * n)), z(y);
  executor e(p, kernels);
  bind(e);
  run(e, pointers(va, vb), {y.data(), z.data()});
  auto expected = matmul(va, {0, k, 1}, vb, {0, n, 1}, 1, m, n, k);
  check_close(y, expected, 1e-4);
  for (double& v : expected) v = -v;
  check_close(z, expected, 1e-4);
}

TEST_CASE("matmul: transposed, batched, broadcast, strided and in-place operands") {
  const std::int64_t batch = 3, m = 33, n = 40, k = 17;
  for (int mode = 0; mode < 4; ++mode) {
    CAPTURE(mode);
    plan p;
    const symbolic_shape space = shape({batch, m, n});
    // 0: a transposed by flag; 1: a transposed by view; 2: a strided by 2 both ways; 3: one b for
    // all batches.
    const symbolic_shape sa = mode == 0 || mode == 1 ? shape({batch, k, m}) : shape({batch, m, k});
    const int a = add_buffer(p, place::argument, 0, dtype::f32, sa);
    const int b = add_buffer(p, place::argument, 1, dtype::f32,
                             mode == 3 ? shape({k, n}) : shape({batch, n, k}));
    const int out = add_buffer(p, place::output, 0, dtype::f32, space);
    body c(space, nest_kind::matmul);
    auto left = whole(p, a), right = whole(p, b);
    if (mode == 1) left = through(left, op::permute, shape({batch, m, k}), {0, 2, 1});
    if (mode == 3)
      right = broadcast(through(right, op::reshape, shape({1, k, n})), shape({batch, k, n}));
    c.n.transpose_a = mode == 0;
    c.n.transpose_b = mode != 3;
    const int product = c.product(left, right, dtype::f32);
    c.store(mode == 1 ? c.map(op::neg, dtype::f32, {product}) : product, out);
    c.finish(p);
    const auto va = values(batch * m * k * 4, 1), vb = values(batch * k * n, 2);
    std::vector<float> y(static_cast<std::size_t>(batch * m * n));
    executor e(p, kernels);
    std::vector<argument_layout> layouts;
    if (mode == 2) layouts = {{{m * k * 4, k * 4, 2}}};
    bind(e, {}, layouts);
    run(e, pointers(va, vb), {y.data()});
    const std::array<std::int64_t, 3> ta = mode < 2 ? std::array<std::int64_t, 3>{m * k, 1, m}
                                           : mode == 2
                                               ? std::array<std::int64_t, 3>{m * k * 4, k * 4, 2}
                                               : std::array<std::int64_t, 3>{m * k, k, 1};
    auto expected = matmul(
        va, ta, vb,
        mode == 3 ? std::array<std::int64_t, 3>{0, n, 1} : std::array<std::int64_t, 3>{k * n, 1, k},
        batch, m, n, k);
    if (mode == 1)
      for (double& v : expected) v = -v;
    check_close(y, expected, 1e-4);
  }
  // w - rate * (a b), over w itself: the product must not be computed in w's memory.
  plan p;
  const int w = add_buffer(p, place::argument, 0, dtype::f32, shape({m, n}));
  const int a = add_buffer(p, place::argument, 1, dtype::f32, shape({m, k}));
  const int b = add_buffer(p, place::argument, 2, dtype::f32, shape({k, n}));
  const int rate = add_buffer(p, place::argument, 3, dtype::f32, shape({}));
  const int out = add_buffer(p, place::output, 0, dtype::f32, shape({m, n}));
  p.may_alias = {true, false, false, false};
  body c(shape({m, n}), nest_kind::matmul);
  const int product = c.product(whole(p, a), whole(p, b), dtype::f32);
  const int vw = c.load(whole(p, w), dtype::f32), vrate = c.load(whole(p, rate), dtype::f32);
  c.store(c.fused(library[8], {vw, vrate, product}), out);
  c.finish(p);
  auto weights = values(m * n, 1);
  const auto va = values(m * k, 2), vb = values(k * n, 3);
  const float learning_rate = 0.5f;
  auto expected = matmul(va, {0, k, 1}, vb, {0, n, 1}, 1, m, n, k);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = weights[i] - 0.5 * expected[i];
  executor e(p, kernels);
  bind(e);
  run(e, {weights.data(), va.data(), vb.data(), &learning_rate}, {weights.data()});
  check_close(weights, expected, 1e-4);
}

TEST_CASE("matmul with a reduction over its rows: softmax of a b") {
  const std::int64_t m = 50, n = 700, k = 8;
  plan p;
  const int a = add_buffer(p, place::argument, 0, dtype::f32, shape({m, k}));
  const int b = add_buffer(p, place::argument, 1, dtype::f32, shape({k, n}));
  const int out = add_buffer(p, place::output, 0, dtype::f32, shape({m, n}));
  body c(shape({m, n}), nest_kind::matmul);
  c.n.inner_axes = 1;
  const int product = c.product(whole(p, a), whole(p, b), dtype::f32);
  const int e =
      c.fused(library[3], {product, c.spread(c.reduce(op::reduce_max, dtype::f32, product))});
  c.store(c.map(op::div, dtype::f32, {e, c.spread(c.reduce(op::reduce_sum, dtype::f32, e))}), out);
  c.finish(p);
  const auto va = values(m * k, 1), vb = values(k * n, 2);
  std::vector<float> y(static_cast<std::size_t>(m * n));
  executor x(p, kernels);
  bind(x);
  run(x, pointers(va, vb), {y.data()});
  auto expected = matmul(va, {0, k, 1}, vb, {0, n, 1}, 1, m, n, k);
  for (std::int64_t i = 0; i < m; ++i) {
    double total = 0;
    for (std::int64_t j = 0; j < n; ++j)
      total += std::exp(expected[static_cast<std::size_t>(i * n + j)]);
    for (std::int64_t j = 0; j < n; ++j)
      expected[static_cast<std::size_t>(i * n + j)] =
          std::exp(expected[static_cast<std::size_t>(i * n + j)]) / total;
  }
  check_close(y, expected, 1e-6);
}

TEST_CASE("assemble: pad with a value, concat of strided pieces") {
  plan p;
  const int x = add_buffer(p, place::argument, 0, dtype::f32, shape({3, 4}));
  const int padded = add_buffer(p, place::output, 0, dtype::f32, shape({6, 5}));
  const int joined = add_buffer(p, place::output, 1, dtype::f32, shape({3, 7}));
  body pad(shape({6, 5}), nest_kind::assemble);
  pad.n.fill = 9;
  put(pad.n, whole(p, x), shape({1, 1}));
  pad.n.stores = {{0, padded}};
  pad.finish(p);
  body concat(shape({3, 7}), nest_kind::assemble);
  const auto part =
      through(whole(p, x), op::slice, shape({3, 3}), {1, 1}, {dim(0), dim(3), dim(1), dim(4)});
  put(concat.n, through(part, op::flip, shape({3, 3}), {1}), shape({0, 0}));
  put(concat.n, whole(p, x), shape({0, 3}));
  concat.n.stores = {{0, joined}};
  concat.finish(p);
  std::vector<float> in(12), y(30), z(21);
  std::iota(in.begin(), in.end(), 0.f);
  executor e(p, kernels);
  bind(e);
  run(e, pointers(in), {y.data(), z.data()});
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 5; ++j)
      CHECK(at(y, i * 5 + j) ==
            (i >= 1 && i < 4 && j >= 1 ? static_cast<float>((i - 1) * 4 + j - 1) : 9.f));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 7; ++j)
      CHECK(at(z, i * 7 + j) == static_cast<float>(j < 3 ? (2 - i) * 4 + 1 + j : i * 4 + j - 3));
}

TEST_CASE("gather and scatter_add along each axis, and their errors") {
  for (int axis = 0; axis < 3; ++axis) {
    CAPTURE(axis);
    const std::array<std::int64_t, 3> extents{4, 5, 6};
    std::array<std::int64_t, 3> picked = extents;
    picked[static_cast<std::size_t>(axis)] = 7;
    plan p;
    const auto as_shape = [](const std::array<std::int64_t, 3>& e) {
      return shape({e[0], e[1], e[2]});
    };
    const int x = add_buffer(p, place::argument, 0, dtype::f32, as_shape(extents));
    const int indices = add_buffer(p, place::argument, 1, dtype::i64, shape({7}));
    const int out = add_buffer(p, place::output, 0, dtype::f32, as_shape(picked));
    const int back = add_buffer(p, place::output, 1, dtype::f32, as_shape(extents));
    body g(as_shape(picked), nest_kind::gather);
    g.n.axis = axis;
    g.n.accesses = {whole(p, x), whole(p, indices)};
    g.n.stores = {{0, out}};
    g.finish(p);
    body s(as_shape(extents), nest_kind::scatter_add);
    s.n.axis = axis;
    s.n.accesses = {whole(p, out), whole(p, indices)};
    s.n.stores = {{0, back}};
    s.finish(p);
    const auto vx = values(120, 1);
    std::vector<std::int64_t> index{0, 3, 3, 1, 2, 3, 0};
    std::vector<float> y(static_cast<std::size_t>(picked[0] * picked[1] * picked[2]), -7.f),
        z(120, -7.f);
    executor e(p, kernels);
    bind(e);
    run(e, {vx.data(), index.data()}, {y.data(), z.data()});
    std::vector<double> expected(y.size()), sums(120);
    for (std::int64_t i = 0; i < picked[0]; ++i)
      for (std::int64_t j = 0; j < picked[1]; ++j)
        for (std::int64_t k = 0; k < picked[2]; ++k) {
          std::array<std::int64_t, 3> from{i, j, k};
          auto& moved = from[static_cast<std::size_t>(axis)];
          moved = index[static_cast<std::size_t>(moved)];
          const std::int64_t source = (from[0] * 5 + from[1]) * 6 + from[2];
          expected[static_cast<std::size_t>((i * picked[1] + j) * picked[2] + k)] = at(vx, source);
          sums[static_cast<std::size_t>(source)] += at(vx, source);
        }
    check_close(y, expected, 1e-30);
    check_close(z, sums, 1e-6);

    for (std::int64_t wrong : {std::int64_t{-1}, extents[static_cast<std::size_t>(axis)]}) {
      index[6] = wrong;
      std::fill(y.begin(), y.end(), -7.f);
      std::fill(z.begin(), z.end(), -7.f);
      std::string message;
      try {
        run(e, {vx.data(), index.data()}, {y.data(), z.data()});
      } catch (const sinter::index_error& error) {
        message = error.what();
      }
      CHECK(message.find("gather") != std::string::npos);
      CHECK(message.find(std::to_string(wrong)) != std::string::npos);
      CHECK(message.find(std::to_string(extents[static_cast<std::size_t>(axis)])) !=
            std::string::npos);
      CHECK(y == std::vector<float>(y.size(), -7.f));
      CHECK(z == std::vector<float>(z.size(), -7.f));
    }
  }
}

TEST_CASE(
    "alias: another shape of the same memory, a copy where strides cannot express it or it is an "
    "output") {
  plan p;
  const int x = add_buffer(p, place::argument, 0, dtype::f32, shape({6, 4}));
  const int flat = add_buffer(p, place::arena, 0, dtype::f32, shape({24}), 24);
  const int again = add_buffer(p, place::output, 0, dtype::f32, shape({3, 8}));
  const int doubled = add_buffer(p, place::output, 1, dtype::f32, shape({24}));
  body first(shape({24}), nest_kind::alias);
  first.n.accesses = {whole(p, x)};
  first.n.stores = {{0, flat}};
  first.finish(p);
  body second(shape({3, 8}), nest_kind::alias);
  second.n.accesses = {whole(p, flat)};
  second.n.stores = {{0, again}};
  second.finish(p);
  body b(shape({24}));
  const int in = b.load(whole(p, flat), dtype::f32);
  b.store(b.map(op::add, dtype::f32, {in, in}), doubled);
  b.finish(p);
  std::vector<float> vx(60), y(24), z(24);
  std::iota(vx.begin(), vx.end(), 0.f);
  executor e(p, kernels);
  for (std::int64_t stride : {4, 9, 4}) {
    bind(e, {}, {{{stride, 1}}});
    run(e, pointers(vx), {y.data(), z.data()});
    for (int i = 0; i < 24; ++i) {
      CHECK(at(y, i) == static_cast<float>(i / 4 * stride + i % 4));
      CHECK(at(z, i) == 2 * at(y, i));
    }
  }
}

TEST_CASE("binding again and running allocate nothing") {
  // Two nests over symbolic extents with a value in the arena: softmax(relu(a b + bias)) by rows,
  // then column sums.
  plan p;
  const dim m = p.dims.symbol(0), n = p.dims.symbol(1), k = p.dims.symbol(2);
  const int a = add_buffer(p, place::argument, 0, dtype::f32, shape({m, k}));
  const int b = add_buffer(p, place::argument, 1, dtype::f32, shape({k, n}));
  const int hidden = add_buffer(p, place::arena, 0, dtype::f32, shape({m, n}), 128 * 128);
  const int y = add_buffer(p, place::output, 0, dtype::f32, shape({m, n}));
  const int sums = add_buffer(p, place::output, 1, dtype::f32, shape({1, n}));
  body product(shape({m, n}), nest_kind::matmul);
  product.store(
      product.map(op::relu, dtype::f32, {product.product(whole(p, a), whole(p, b), dtype::f32)}),
      hidden);
  product.finish(p);
  body soft(shape({m, n}));
  soft.n.inner_axes = 1;
  const int in = soft.load(whole(p, hidden), dtype::f32);
  const int largest = soft.spread(soft.reduce(op::reduce_max, dtype::f32, in));
  const int e = soft.map(op::exp, dtype::f32, {soft.map(op::sub, dtype::f32, {in, largest})});
  soft.store(
      soft.map(op::div, dtype::f32, {e, soft.spread(soft.reduce(op::reduce_sum, dtype::f32, e))}),
      y);
  soft.finish(p);
  body column(shape({m, n}), nest_kind::column);
  column.n.column_last = 1;
  column.store(column.reduce(op::reduce_sum, dtype::f32, column.load(whole(p, y), dtype::f32)),
               sums);
  column.finish(p);

  executor x(p, kernels);
  x.verify_bindings(false);
  const auto va = values(128 * 256, 1), vb = values(128 * 256, 2);
  std::vector<float> vy(128 * 128), vs(128);
  const std::vector<const void*> arguments = pointers(va, vb);
  const std::vector<void*> outputs{vy.data(), vs.data()};
  bool first = true;
  for (const auto& extents : {std::vector<std::int64_t>{100, 90, 70},
                              {128, 128, 128},
                              {65, 65, 65},
                              {99, 128, 66},
                              {1, 90, 70},
                              {0, 3, 2}}) {
    // Rows of a are 128 apart: another layout than the first binding's.
    const std::vector<argument_layout> layouts{{{first ? extents[2] : 128, 1}}};
    const int before = allocations;
    x.bind(extents, layouts);
    const int bound = allocations;
    x.run(arguments, outputs);
    const int ran = allocations;
    if (!first) CHECK(bound == before);
    CHECK(ran == bound);
    auto expected = matmul(va, {0, layouts[0].strides[0], 1}, vb, {0, extents[1], 1}, 1, extents[0],
                           extents[1], extents[2]);
    std::vector<double> expected_sums(static_cast<std::size_t>(extents[1]));
    for (std::int64_t i = 0; i < extents[0]; ++i) {
      double total = 0;
      const auto row = expected.begin() + i * extents[1];
      for (std::int64_t j = 0; j < extents[1]; ++j)
        total += row[j] = std::exp(std::max(row[j], 0.0));
      for (std::int64_t j = 0; j < extents[1]; ++j)
        expected_sums[static_cast<std::size_t>(j)] += row[j] /= total;
    }
    check_close({vy.begin(), vy.begin() + extents[0] * extents[1]}, expected, 1e-5);
    if (extents[0] > 0) check_close({vs.begin(), vs.begin() + extents[1]}, expected_sums, 1e-4);
    first = false;
  }
  CHECK(x.bytes() >= p.arena_bytes);
}

#ifdef _OPENMP
TEST_CASE("the same bits on one and on three threads") {
  const std::int64_t rows = 700, columns = 301;
  plan p;
  const symbolic_shape space = shape({rows, columns});
  const int a = add_buffer(p, place::argument, 0, dtype::f32, space);
  const int w = add_buffer(p, place::argument, 1, dtype::f32, shape({columns, columns}));
  const int hidden = add_buffer(p, place::output, 0, dtype::f32, space);
  const int normal = add_buffer(p, place::output, 1, dtype::f32, space);
  const int sums = add_buffer(p, place::output, 2, dtype::f32, shape({1, columns}));
  const int total = add_buffer(p, place::output, 3, dtype::f32, shape({1, 1}));
  body product(space, nest_kind::matmul);
  product.store(
      product.map(op::tanh, dtype::f32, {product.product(whole(p, a), whole(p, w), dtype::f32)}),
      hidden);
  product.finish(p);
  body soft(space);
  soft.n.inner_axes = 1;
  const int in = soft.load(whole(p, hidden), dtype::f32);
  const int e =
      soft.fused(library[3], {in, soft.spread(soft.reduce(op::reduce_max, dtype::f32, in))});
  soft.store(
      soft.map(op::div, dtype::f32, {e, soft.spread(soft.reduce(op::reduce_sum, dtype::f32, e))}),
      normal);
  soft.finish(p);
  body column(space, nest_kind::column);
  column.n.column_last = 1;
  column.store(column.reduce(op::reduce_sum, dtype::f32, column.load(whole(p, normal), dtype::f32)),
               sums);
  column.finish(p);
  body full(space);
  full.n.inner_axes = 2;
  full.store(full.reduce(op::reduce_sum, dtype::f32, full.load(whole(p, hidden), dtype::f32)),
             total);
  full.finish(p);
  const auto va = values(rows * columns, 1), vw = values(columns * columns, 2);
  std::vector<std::vector<float>> results;
  const int threads = omp_get_max_threads();
  for (int count : {1, 3}) {
    omp_set_num_threads(count);
    executor x(p, kernels);
    bind(x);
    std::vector<float> h(va.size()), y(va.size()), s(static_cast<std::size_t>(columns)), t(1);
    run(x, pointers(va, vw), {h.data(), y.data(), s.data(), t.data()});
    for (const auto* part : {&y, &s, &t}) h.insert(h.end(), part->begin(), part->end());
    results.push_back(h);
  }
  omp_set_num_threads(threads);
  CHECK(std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(float)) == 0);
}
#endif
