// SPDX-License-Identifier: MIT
// Group and batch norms, gated units, parts, embeddings, caches and losses against plain loops in
// double; their gradients against central differences; what they do not take.
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "support/check_function.hpp"

namespace layers_test {

namespace sn = sinter;
using namespace test_support;

namespace {

using handles = std::vector<sn::handle>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

reference_tensor scalar(double x) { return {dtype::f64, {}, {x}}; }

// (x - mean) / sqrt(var + eps) over the elements that `same_group` says belong together.
template <class Group>
reference_tensor normalised(const reference_tensor& x, double eps, Group group_of) {
  reference_tensor out = x;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    double total = 0, squares = 0, count = 0;
    for (std::size_t k = 0; k < x.data.size(); ++k) {
      if (group_of(k) != group_of(i)) continue;
      total += x.data[k];
      ++count;
    }
    for (std::size_t k = 0; k < x.data.size(); ++k)
      if (group_of(k) == group_of(i)) squares += std::pow(x.data[k] - total / count, 2);
    out.data[i] = (x.data[i] - total / count) / std::sqrt(squares / count + eps);
  }
  return out;
}

// x times gamma plus beta, vectors over axis 1.
reference_tensor per_channel(reference_tensor x, const reference_tensor& gamma,
                             const reference_tensor& beta) {
  std::size_t behind = 1;
  for (std::size_t axis = 2; axis < x.shape.size(); ++axis)
    behind *= static_cast<std::size_t>(x.shape[axis]);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const std::size_t c = i / behind % gamma.data.size();
    x.data[i] = x.data[i] * gamma.data[c] + beta.data[c];
  }
  return x;
}

}  // namespace

TEST_CASE("group_norm over groups of channels and all behind them") {
  for (const shape_vector& shape : {shape_vector{2, 6, 3, 2}, shape_vector{3, 6}})
    for (const std::size_t groups : {1u, 2u, 3u, 6u}) {
      if (shape.size() == 2 && groups == 6) continue;  // groups of one element: all zeros
      INFO(sn::to_string(shape) << " in " << groups);
      const reference_tensor x = scattered(shape), gamma = scattered({6}, 1),
                             beta = scattered({6}, 2);
      std::size_t size = 6 / groups;
      for (std::size_t axis = 2; axis < shape.size(); ++axis)
        size *= static_cast<std::size_t>(shape[axis]);
      const reference_tensor normal = normalised(x, 1e-3, [&](std::size_t i) { return i / size; });
      const auto count = static_cast<std::int64_t>(groups);
      check_values([&](const handles& a) { return sn::group_norm(a[0], count, 1e-3); }, {x},
                   normal);
      const auto with_parameters = [&](const handles& a) {
        return sn::group_norm(a[0], count, a[1], a[2], 1e-3);
      };
      check_values(with_parameters, {x, gamma, beta}, per_channel(normal, gamma, beta));
      check_gradients(with_parameters, {x, gamma, beta});
    }
  check_gradients([](const handles& a) { return sn::silu(sn::group_norm(a[0], 2, 1e-3)); },
                  {scattered({2, 4, 3})});
}

TEST_CASE("batch_norm for training and for inference") {
  for (const shape_vector& shape : {shape_vector{3, 2, 3, 5}, shape_vector{5, 2}}) {
    const reference_tensor x = scattered(shape), gamma = scattered({2}, 1),
                           beta = scattered({2}, 2), mean = scattered({2}, 3);
    reference_tensor variance = scattered({2}, 4), fixed = x;
    for (double& v : variance.data) v = 0.5 + v * v;
    const std::size_t behind = shape.size() == 2 ? 1 : 15;
    const auto channel = [&](std::size_t i) { return i / behind % 2; };
    const auto training = [](const handles& a) { return sn::batch_norm(a[0], a[1], a[2], 1e-2); };
    check_values(training, {x, gamma, beta},
                 per_channel(normalised(x, 1e-2, channel), gamma, beta));
    check_gradients(training, {x, gamma, beta});
    for (std::size_t i = 0; i < x.data.size(); ++i)
      fixed.data[i] =
          (x.data[i] - mean.data[channel(i)]) / std::sqrt(variance.data[channel(i)] + 1e-2);
    const auto inference = [](const handles& a) {
      return sn::batch_norm(a[0], a[1], a[2], a[3], a[4], 1e-2);
    };
    check_values(inference, {x, mean, variance, gamma, beta}, per_channel(fixed, gamma, beta));
    check_gradients(inference, {x, mean, variance, gamma, beta});
  }
}

TEST_CASE("swiglu of two operands, and of one with both side by side") {
  const reference_tensor gate = scattered({3, 5}), up = scattered({3, 5}, 1);
  reference_tensor expected = gate, both{dtype::f64, {3, 10}, {}};
  for (std::size_t i = 0; i < 15; ++i)
    expected.data[i] = gate.data[i] * sigmoid(gate.data[i]) * up.data[i];
  for (std::size_t row = 0; row < 3; ++row)
    for (const reference_tensor* part : {&gate, &up})
      for (std::size_t i = 0; i < 5; ++i) both.data.push_back(part->data[5 * row + i]);
  const auto apart = [](const handles& a) { return sn::swiglu(a[0], a[1]); };
  const auto joined = [](const handles& a) { return sn::swiglu(a[0]); };
  check_values(apart, {gate, up}, expected);
  check_values(joined, {both}, expected);
  check_gradients(apart, {gate, up});
  check_gradients(joined, {both});
  const sn::tensor<float, 2> odd(2, 5);
  sn::tensor<float, 2> y;
  CHECK_THROWS_AS(y = sn::swiglu(odd), sn::shape_error);
}

TEST_CASE("split makes equal parts, which concat puts together") {
  const reference_tensor x = scattered({2, 6, 3});
  const auto turned = [](const handles& a) {
    const auto [p, q, r] = sn::split<3>(a[0], 1);
    return sn::concat(1, r, p * q, q);
  };
  reference_tensor expected = x;
  const auto at = [&](std::size_t n, std::size_t c, std::size_t i) {
    return x.data[(n * 6 + c) * 3 + i];
  };
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t i = 0; i < 3; ++i) {
        expected.data[(n * 6 + c) * 3 + i] = at(n, c + 4, i);
        expected.data[(n * 6 + c + 2) * 3 + i] = at(n, c, i) * at(n, c + 2, i);
        expected.data[(n * 6 + c + 4) * 3 + i] = at(n, c + 2, i);
      }
  check_values(turned, {x}, expected);
  check_gradients(turned, {x});
  const sn::tensor<float, 1> seven(7);
  sn::tensor<float, 1> y;
  CHECK_THROWS_AS(y = sn::split<2>(seven)[0], sn::shape_error);
  CHECK_THROWS_AS(y = sn::split<7>(seven, 1)[0], sn::axis_error);
}

TEST_CASE("embedding, and the scatter_add that is its transpose") {
  const reference_tensor table = scattered({5, 3}), ids = integers({2, 3}, {4, 0, 4, 2, 2, 2});
  reference_tensor rows{dtype::f64, {2, 3, 3}, {}};
  for (double id : ids.data)
    for (std::size_t i = 0; i < 3; ++i)
      rows.data.push_back(table.data[3 * static_cast<std::size_t>(id) + i]);
  const auto look_up = [](const handles& a) { return sn::embedding(a[0], a[1]); };
  check_values(look_up, {table, ids}, rows);
  check_gradients(look_up, {table, ids});

  reference_tensor sums{dtype::f64, {7, 3}, std::vector<double>(21)};
  for (std::size_t k = 0; k < 6; ++k)
    for (std::size_t i = 0; i < 3; ++i)
      sums.data[3 * static_cast<std::size_t>(ids.data[k]) + i] += rows.data[3 * k + i];
  const auto add_up = [](const handles& a) { return sn::scatter_add(a[0], a[1], 7); };
  check_values(add_up, {rows, ids}, sums);
  check_gradients(add_up, {rows, ids});

  // Along the last axis, as many places as another tensor has, and on top of a tensor.
  const reference_tensor x = scattered({2, 4}, 1), updates = scattered({2, 3}, 2),
                         places = integers({3}, {3, 1, 3});
  reference_tensor added = x;
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t k = 0; k < 3; ++k)
      added.data[4 * r + static_cast<std::size_t>(places.data[k])] += updates.data[3 * r + k];
  const auto on_top = [](const handles& a) { return sn::index_add(a[0], a[1], a[2], -1); };
  check_values(on_top, {x, places, updates}, added);
  check_values(
      [](const handles& a) { return a[0] + sn::scatter_add(a[2], a[1], sn::extent(a[0], 1), 1); },
      {x, places, updates}, added);
  check_gradients(on_top, {x, places, updates});

  const sn::tensor<float, 2> u(3, 2);
  const sn::tensor<std::int32_t, 1> at{0, 1, 2}, far{0, 1, 5}, two{0, 1};
  sn::tensor<float, 2> y;
  CHECK_NOTHROW(y = sn::scatter_add(u, at, 3));
  CHECK_THROWS_AS(y = sn::scatter_add(u, far, 3), sn::index_error);
  CHECK_THROWS_AS(y = sn::scatter_add(u, two, 3), sn::shape_error);
  CHECK_THROWS_AS(y = sn::scatter_add(u, at, 3, 2), sn::axis_error);
  CHECK_THROWS_AS(trace([](const handles& a) { return sn::scatter_add(a[0], a[1], 3); },
                        {scattered({2}), scattered({2})}),
                  sn::dtype_error);
}

TEST_CASE("cache_write puts rows where the position says, as far as they fit") {
  for (const int count : {2, 1})
    for (const double position : {0.0, 2.0, 4.0, -1.0, 7.0}) {
      const reference_tensor cache = scattered({2, 5, 3}), rows = scattered({2, count, 3}, 1),
                             at = integers({}, {position});
      reference_tensor expected = cache;
      for (int n = 0; n < 2; ++n)
        for (int r = 0; r < count; ++r)
          for (int i = 0; i < 3; ++i)
            if (const int to = static_cast<int>(position) + r; to >= 0 && to < 5)
              expected.data[static_cast<std::size_t>((n * 5 + to) * 3 + i)] =
                  rows.data[static_cast<std::size_t>((n * count + r) * 3 + i)];
      const auto write = [](const handles& a) { return sn::cache_write(a[0], a[1], a[2]); };
      check_values(write, {cache, rows, at}, expected);
      check_gradients(write, {cache, rows, at});
    }
  auto append = sn::fuse([](auto cache, auto row, auto position) {
    return sn::outputs(sn::assign(cache, sn::cache_write(cache, row, position, 0)));
  });
  sn::tensor<float, 2> cache(3, 2);
  for (int step = 0; step < 3; ++step)
    append(cache, sn::tensor<float, 2>{{1.0f + static_cast<float>(step), 7}}, step);
  CHECK(cache == sn::tensor<float, 2>{{1, 7}, {2, 7}, {3, 7}});
}

TEST_CASE("losses by their definitions, with their gradients") {
  const reference_tensor x = scattered({3, 4}), y = scattered({3, 4}, 1);
  reference_tensor p = x, t = y;
  for (double& v : p.data) v = sigmoid(v);
  for (double& v : t.data) v = sigmoid(2 * v);
  double binary = 0, absolute = 0, huber = 0, divergence = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    const double d = x.data[i] - y.data[i], size = std::abs(d);
    binary -= t.data[i] * std::log(p.data[i]) + (1 - t.data[i]) * std::log(1 - p.data[i]);
    absolute += size;
    huber += size <= 0.75 ? d * d / 2 : 0.75 * (size - 0.375);
    divergence += t.data[i] * (std::log(t.data[i]) - x.data[i]);
  }
  const auto bce = [](const handles& a) { return sn::bce(a[0], a[1]); };
  const auto logits = [](const handles& a) { return sn::bce_with_logits(a[0], a[1]); };
  const auto l1 = [](const handles& a) { return sn::l1_loss(a[0], a[1]); };
  const auto near = [](const handles& a) { return sn::huber_loss(a[0], a[1], 0.75); };
  const auto kl = [](const handles& a) { return sn::kl_loss(a[0], a[1]); };
  check_values(bce, {p, t}, scalar(binary / 12));
  check_values(logits, {x, t}, scalar(binary / 12));
  check_values(l1, {x, y}, scalar(absolute / 12));
  check_values(near, {x, y}, scalar(huber / 12));
  check_values(kl, {x, t}, scalar(divergence / 12));
  check_gradients(bce, {p, t});
  check_gradients(logits, {x, t});
  check_gradients(l1, {x, y});
  check_gradients(near, {x, y});
  check_gradients(kl, {x, t});

  const auto nll = [](const handles& a) { return sn::nll_loss(a[0], a[1]); };
  const reference_tensor labels = integers({3}, {3, 0, 2});
  check_values(nll, {x, labels}, scalar(-(x.data[3] + x.data[4] + x.data[10]) / 3));
  check_gradients(nll, {x, labels});
  check_values(nll, {x, integers({3}, {3, 4, -1})}, scalar(-x.data[3] / 3));
}

TEST_CASE("losses at the ends: sure predictions, impossible targets, large logits") {
  const sn::tensor<float, 1> sure{0, 1}, right{0, 1}, wrong{1, 0}, large{1000, -1000};
  const auto value = [](auto&& e) { return sn::tensor<float, 0>(e).item(); };
  CHECK(value(sn::bce(sure, right)) == 0);
  CHECK(value(sn::bce(sure, wrong)) == 100);
  CHECK(value(sn::bce_with_logits(large, wrong)) == 0);
  CHECK(value(sn::bce_with_logits(large, right)) == 1000);
  CHECK(value(sn::kl_loss(large, sn::tensor<float, 1>{0, 0})) == 0);
  auto slope = sn::fuse([](auto x, auto t) {
    const auto [d] = sn::gradients(sn::kl_loss(x, t), t);
    return d;
  });
  CHECK(std::isfinite(slope(large, sn::tensor<float, 1>{0.5f, 0})(1)));
  const sn::tensor<std::int32_t, 1> labels{0, 1, 2};
  const sn::tensor<float, 2> rows(2, 3);
  CHECK_THROWS_AS(value(sn::nll_loss(rows, labels)), sn::shape_error);
  CHECK_THROWS_AS(trace([](const handles& a) { return sn::nll_loss(a[0], a[1]); },
                        {scattered({2, 3}), scattered({2})}),
                  sn::dtype_error);
  CHECK_THROWS_AS(
      trace([](const handles& a) { return sn::l1_loss(a[0], a[0]); }, {integers({2}, {1, 2})}),
      sn::dtype_error);
}

TEST_CASE("what the norms do not take") {
  const sn::tensor<float, 3> x(2, 6, 3);
  const sn::tensor<float, 1> six(6), five(5), flat(4);
  sn::tensor<float, 3> y;
  CHECK_THROWS_AS(y = sn::group_norm(x, 4), sn::shape_error);
  CHECK_THROWS_AS(y = sn::group_norm(x, 0), sn::shape_error);
  CHECK_THROWS_AS(y = sn::group_norm(x, 2, six, five), sn::shape_error);
  CHECK_THROWS_AS(y = sn::batch_norm(x, five, six), sn::shape_error);
  sn::tensor<float, 1> z;
  CHECK_THROWS_AS(z = sn::group_norm(flat, 1), sn::shape_error);
  CHECK_THROWS_AS(
      trace([](const handles& a) { return sn::group_norm(a[0], 1); }, {integers({1, 2}, {1, 2})}),
      sn::dtype_error);
}

}  // namespace layers_test
