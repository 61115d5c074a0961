// SPDX-License-Identifier: MIT
// The attention composite in all its forms (causal, window, cross, grouped heads, cached, heads
// side by side) against loops in double, its gradients against central differences; all run as one
// streamed nest.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/check_function.hpp"

namespace attention_test {

namespace sn = sinter;
using namespace test_support;

namespace {

using handles = std::vector<sn::handle>;

// q [batch, heads, m, d], k and v [batch, heads / group, n, ...].
reference_tensor attended(const reference_tensor& q, const reference_tensor& k,
                          const reference_tensor& v, const sn::attention_options& o,
                          std::optional<std::int64_t> given = {}) {
  const std::int64_t heads = q.shape[1], m = q.shape[2], d = q.shape[3], n = k.shape[2],
                     width = v.shape[3];
  const std::int64_t start = given ? *given : n - m;
  const double scale = o.scale != 0 ? o.scale : 1 / std::sqrt(static_cast<double>(d));
  reference_tensor out{dtype::f64, {q.shape[0], heads, m, width}, {}};
  const auto at = [](const reference_tensor& x, std::int64_t b, std::int64_t h, std::int64_t i,
                     std::int64_t j) {
    return x
        .data[static_cast<std::size_t>(((b * x.shape[1] + h) * x.shape[2] + i) * x.shape[3] + j)];
  };
  for (std::int64_t b = 0; b < q.shape[0]; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < m; ++i) {
        std::vector<double> weights;
        double total = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          const std::int64_t place = i + start, apart = place < j ? j - place : place - j;
          const bool seen = (!o.causal || j <= place) && (o.window == 0 || apart < o.window);
          double score = 0;
          for (std::int64_t c = 0; c < d; ++c)
            score += at(q, b, h, i, c) * at(k, b, h / o.group, j, c);
          weights.push_back(seen ? std::exp(score * scale) : 0);
          total += weights.back();
        }
        for (std::int64_t c = 0; c < width; ++c) {
          double sum = 0;
          for (std::int64_t j = 0; j < n; ++j)
            sum += weights[static_cast<std::size_t>(j)] / total * at(v, b, h / o.group, j, c);
          out.data.push_back(sum);
        }
      }
  return out;
}

struct attention_case {
  std::string name;
  std::int64_t heads, m, n, d, width;
  sn::attention_options options;
};

std::vector<attention_case> attention_cases() {
  return {
      {"self", 2, 5, 5, 3, 4, {}},
      {"scaled", 1, 4, 4, 3, 3, {.scale = 0.3}},
      {"causal", 2, 5, 5, 4, 3, {.causal = true}},
      {"cross", 2, 3, 7, 4, 5, {}},
      {"the last queries of a cache", 2, 2, 7, 3, 3, {.causal = true}},
      {"one query of a cache", 1, 1, 6, 3, 3, {.causal = true}},
      {"sliding window", 2, 7, 7, 3, 3, {.causal = true, .window = 3}},
      {"window on both sides", 1, 6, 6, 3, 3, {.window = 2}},
      {"window of a cache", 1, 2, 9, 3, 3, {.causal = true, .window = 4}},
      {"grouped heads", 6, 4, 5, 3, 2, {.group = 3}},
      {"grouped heads, causal, with a window",
       4,
       5,
       5,
       3,
       3,
       {.causal = true, .window = 2, .group = 2}},
      {"all queries share one head", 4, 3, 3, 2, 5, {.causal = true, .group = 4}},
  };
}

// [places, heads * depth] of [1, heads, places, depth].
reference_tensor side_by_side(const reference_tensor& x) {
  reference_tensor out{dtype::f64, {x.shape[2], x.shape[1] * x.shape[3]}, {}};
  for (std::int64_t i = 0; i < x.shape[2]; ++i)
    for (std::int64_t h = 0; h < x.shape[1]; ++h)
      for (std::int64_t c = 0; c < x.shape[3]; ++c)
        out.data.push_back(x.data[static_cast<std::size_t>((h * x.shape[2] + i) * x.shape[3] + c)]);
  return out;
}

}  // namespace

TEST_CASE("attention agrees with loops over queries and keys, and so do its gradients") {
  for (const attention_case& c : attention_cases()) {
    INFO(c.name);
    const std::int64_t shared = c.heads / c.options.group;
    const reference_tensor q = scattered({2, c.heads, c.m, c.d}),
                           k = scattered({2, shared, c.n, c.d}, 1),
                           v = scattered({2, shared, c.n, c.width}, 2);
    const auto f = [&](const handles& a) { return sn::attention(a[0], a[1], a[2], c.options); };
    check_values(f, {q, k, v}, attended(q, k, v, c.options));
    check_gradients(f, {q, k, v});
  }
}

TEST_CASE("queries of a cache that is filled up to where they start") {
  for (const std::int64_t start : {0, 3, 6}) {
    const reference_tensor q = scattered({1, 2, 2, 3}), k = scattered({1, 2, 8, 3}, 1),
                           v = scattered({1, 2, 8, 4}, 2),
                           place = integers({}, {static_cast<double>(start)});
    for (const sn::attention_options& o : {sn::attention_options{.causal = true},
                                           sn::attention_options{.causal = true, .window = 2}}) {
      const auto f = [&](const handles& a) { return sn::attention(a[0], a[1], a[2], a[3], o); };
      check_values(f, {q, k, v, place}, attended(q, k, v, o, start));
      check_gradients(f, {q, k, v, place});
    }
  }
}

TEST_CASE("a step of decoding writes the caches and attends to what they hold") {
  auto step = sn::fuse([](auto q, auto k, auto v, auto keys, auto values, auto place) {
    const auto all_keys = sn::cache_write(keys, k, place), all = sn::cache_write(values, v, place);
    return sn::outputs(sn::attention(q, all_keys, all, place), sn::assign(keys, all_keys),
                       sn::assign(values, all));
  });
  sn::tensor<double, 2> keys(5, 3), values(5, 3);
  std::vector<reference_tensor> whole;
  for (int i = 0; i < 3; ++i) whole.push_back(scattered({1, 1, 5, 3}, i));
  const reference_tensor expected = attended(whole[0], whole[1], whole[2], {.causal = true});
  for (std::int64_t i = 0; i < 5; ++i) {
    std::vector<sn::tensor<double, 2>> rows;
    for (const reference_tensor& x : whole) {
      rows.emplace_back(1, 3);
      for (std::int64_t c = 0; c < 3; ++c)
        rows.back()(0, c) = x.data[static_cast<std::size_t>(3 * i + c)];
    }
    const sn::tensor<double, 2> y =
        step(rows[0], rows[1], rows[2], keys, values, static_cast<std::int32_t>(i));
    for (std::int64_t c = 0; c < 3; ++c)
      CHECK(y(0, c) ==
            doctest::Approx(expected.data[static_cast<std::size_t>(3 * i + c)]).epsilon(1e-12));
  }
}

TEST_CASE("a mask hides keys, whatever the options hide") {
  for (const std::int64_t group : {1, 2})
    for (const bool causal : {false, true}) {
      CAPTURE(group);
      CAPTURE(causal);
      const sn::attention_options o{.causal = causal, .group = group};
      const reference_tensor q = scattered({2, 4, 3, 3}), k = scattered({2, 4 / group, 5, 3}, 1),
                             v = scattered({2, 4 / group, 5, 2}, 2);
      // The second sequence ends after its second key: as if there were no more.
      reference_tensor seen{dtype::boolean, {2, 1, 1, 5}, {1, 1, 1, 1, 1, 1, 1, 0, 0, 0}};
      const auto f = [&](const handles& a) {
        // With groups the third axis of a mask must be known.
        const sn::handle mask = sn::handle(
            sn::ir::reshape(a[3].node, {a[3].node.extent(0), 1, 1, a[3].node.extent(3)}));
        return sn::masked_attention(a[0], a[1], a[2], mask, o);
      };
      const auto second = [](const reference_tensor& x, std::int64_t places) {
        reference_tensor out{dtype::f64, {1, x.shape[1], places, x.shape[3]}, {}};
        for (std::int64_t h = 0; h < x.shape[1]; ++h)
          for (std::int64_t i = 0; i < places * x.shape[3]; ++i)
            out.data.push_back(
                x.data[static_cast<std::size_t>((x.shape[1] + h) * x.shape[2] * x.shape[3] + i)]);
        return out;
      };
      reference_tensor expected = attended(q, k, v, o);
      const reference_tensor shorter =
          attended(second(q, 3), second(k, 2), second(v, 2), o, causal ? 2 : 0);
      std::ranges::copy(shorter.data, expected.data.begin() + std::ssize(expected.data) / 2);
      check_values(f, {q, k, v, seen}, expected);
      check_gradients(f, {q, k, v, seen});
    }
}

TEST_CASE("heads side by side") {
  for (const std::int64_t group : {1, 2}) {
    const sn::attention_options o{.causal = true, .group = group};
    const reference_tensor q = scattered({1, 4, 5, 3}), k = scattered({1, 4 / group, 5, 3}, 1),
                           v = scattered({1, 4 / group, 5, 2}, 2);
    const auto f = [&](const handles& a) {
      return sn::multi_head_attention(a[0], a[1], a[2], 4, o);
    };
    const std::vector<reference_tensor> point{side_by_side(q), side_by_side(k), side_by_side(v)};
    check_values(f, point, side_by_side(attended(q, k, v, o)));
    check_gradients(f, point);
  }
}

TEST_CASE("every form is one streamed nest: the scores never reach memory") {
  const auto nest_of = [](const sn::attention_options& o, std::int64_t heads, std::int64_t shared,
                          bool masked = false) {
    sn::ir::graph g;
    const auto operand = [&](int number, std::int64_t count, std::int64_t places) {
      return sn::handle(sn::ir::argument(g, dtype::f32, number, {2, count, places, 32}));
    };
    const sn::handle q = operand(0, heads, 128), k = operand(1, shared, 160),
                     v = operand(2, shared, 160);
    const sn::handle seen(sn::ir::argument(g, dtype::boolean, 3, {2, 1, 1, 160}));
    const sn::handle y =
        masked ? sn::masked_attention(q, k, v, seen, o) : sn::attention(q, k, v, o);
    g.outputs.push_back({y.node.id, -1});
    std::vector<reference_tensor> point;
    for (int i = 0; i < 3; ++i) {
      point.push_back(scattered(
          i == 0 ? shape_vector{2, heads, 128, 32} : shape_vector{2, shared, 160, 32}, i));
      point.back().type = dtype::f32;
    }
    point.push_back(sn::ir::filled(dtype::boolean, {2, 1, 1, 160}, 1));
    sn::program p(g, sn::detail::all_code());
    std::vector<raw_tensor> in;
    std::vector<sn::detail::argument_memory> memory;
    for (const reference_tensor& x : point) in.push_back(raw_tensor::from(x));
    for (raw_tensor& x : in)
      memory.push_back({x.bytes.data(), x.shape, sn::row_major_strides(x.shape), x.bytes.size()});
    sn::program::prepared_call call = p.prepare(memory, {});
    return p.explain(call, memory, {});
  };
  for (const auto& [o, heads, shared] :
       {std::tuple{sn::attention_options{}, 2, 2},
        std::tuple{sn::attention_options{.causal = true}, 2, 2},
        std::tuple{sn::attention_options{.causal = true, .window = 40}, 2, 2},
        std::tuple{sn::attention_options{.causal = true, .group = 2}, 4, 2}}) {
    const std::string text = nest_of(o, heads, shared);
    INFO(text);
    CHECK(text.find("streamed") != std::string::npos);
  }
  for (const bool causal : {false, true}) {
    const std::string text = nest_of({.causal = causal}, 2, 2, true);
    INFO(text);
    CHECK(text.find("streamed") != std::string::npos);
  }
}

TEST_CASE("what attention does not take") {
  const reference_tensor q = scattered({4, 3, 2}), k = scattered({4, 5, 2}),
                         other = scattered({4, 5, 3}), place = integers({}, {1});
  const auto with = [&](const reference_tensor& keys, const reference_tensor& values,
                        const sn::attention_options& o) {
    trace([&](const handles& a) { return sn::attention(a[0], a[1], a[2], o); }, {q, keys, values});
  };
  CHECK_NOTHROW(with(k, other, {}));
  CHECK_THROWS_AS(with(other, k, {}), sn::shape_error);
  CHECK_THROWS_AS(with(k, q, {}), sn::shape_error);
  CHECK_THROWS_AS(with(k, k, {.group = 3}), sn::shape_error);
  CHECK_THROWS_AS(with(k, k, {.group = 0}), sn::shape_error);
  CHECK_THROWS_AS(with(k, k, {.window = -1}), sn::shape_error);
  CHECK_THROWS_AS(with(scattered({2}), k, {}), sn::shape_error);
  CHECK_THROWS_AS(trace([](const handles& a) { return sn::attention(a[0], a[1], a[2], a[3]); },
                        {q, k, k, scattered({})}),
                  sn::dtype_error);
  CHECK_NOTHROW(trace([](const handles& a) { return sn::attention(a[0], a[1], a[2], a[3]); },
                      {q, k, k, place}));
  CHECK_THROWS_AS(
      trace([](const handles& a) { return sn::multi_head_attention(a[0], a[1], a[2], 2); },
            {other, other, other}),
      sn::shape_error);
}

}  // namespace attention_test
