// SPDX-License-Identifier: MIT
// Graphs at run time: the builder's values are those of the front end, its functions run like fused
// ones; faults are thrown where they occur; symbols have names and ranges.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/sinter.hpp>

namespace graph_builder_test {

namespace sn = sinter;
using sn::dtype;
using sn::graph_argument;
using sn::graph_builder;
using sn::sym;

namespace {

// One body for both worlds.
constexpr auto layer = [](auto x, auto w, auto b) { return sn::relu(sn::matmul(x, w) + b); };

sn::tensor<float, 2> counted(std::int64_t rows, std::int64_t columns, float step = 0.125f) {
  sn::tensor<float, 2> out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.data()[i] = step * static_cast<float>((i * 7) % 11 - 5);
  return out;
}

}  // namespace

TEST_CASE("generic code gives the same through the builder and through fuse") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("batch", 1, 4096), 12});
  const auto w = g.argument("w", dtype::f32, {12, 5});
  const auto b = g.argument("b", dtype::f32, {5});
  const auto f = g.compile({layer(x, w, b)});
  auto fused = sn::fuse([](auto x1, auto w1, auto b1) { return layer(x1, w1, b1); });

  const sn::tensor<float, 2> weights = counted(12, 5);
  const sn::tensor<float, 1> bias{0.5f, -0.5f, 0.25f, 0, 1};
  for (std::int64_t batch : {1, 2, 7, 64}) {
    const sn::tensor<float, 2> data = counted(batch, 12, 0.25f);
    const std::vector<sn::any_tensor> out = f({data, weights, bias});
    REQUIRE(out.size() == 1);
    CHECK(out[0].type() == dtype::f32);
    const sn::tensor<float, 2> y = out[0], expected = fused(data, weights, bias);
    CHECK(y == expected);
  }
  CHECK(f.argument_count() == 3);
  CHECK(f.argument_number("b") == 2);
  CHECK_THROWS_AS(f.argument_number("c"), sn::graph_error);
}

TEST_CASE("a training step over layers that are counted at run time") {
  for (const int layers : {1, 3}) {
    graph_builder g;
    const auto x = g.argument("x", dtype::f32, {sym("batch", 1, 64), 6});
    const auto label = g.argument("label", dtype::i32, {sym("batch")});
    const auto rate = g.number("rate", dtype::f32);
    std::vector<sn::handle> parameters;
    sn::handle hidden = x;
    for (int i = 0; i < layers; ++i) {
      const std::string number = std::to_string(i);
      const auto w = g.argument("w" + number, dtype::f32, {6, 6});
      const auto b = g.argument("b" + number, dtype::f32, {6});
      hidden = i + 1 < layers ? layer(hidden, w, b) : sn::matmul(hidden, w) + b;
      parameters.push_back(w);
      parameters.push_back(b);
    }
    const auto loss = sn::cross_entropy(hidden, label);
    const std::vector<sn::handle> derivatives = sn::gradients(loss, parameters);
    std::vector<sn::graph_output> outputs{loss};
    for (std::size_t i = 0; i < parameters.size(); ++i)
      outputs.push_back(sn::assign(parameters[i], parameters[i] - rate * derivatives[i]));
    const auto step = g.compile(outputs);

    const sn::tensor<float, 2> data = counted(8, 6);
    sn::tensor<std::int32_t, 1> labels(8);
    for (std::int64_t i = 0; i < 8; ++i) labels(i) = static_cast<std::int32_t>(i % 6);
    std::vector<sn::tensor<float, 2>> w;
    std::vector<sn::tensor<float, 1>> b;
    for (int i = 0; i < layers; ++i) {
      w.push_back(counted(6, 6, 0.05f * static_cast<float>(i + 1)));
      b.emplace_back(6);
    }
    std::vector<graph_argument> arguments{data, labels, 0.5f};
    for (int i = 0; i < layers; ++i) {
      arguments.push_back(w[static_cast<std::size_t>(i)]);
      arguments.push_back(b[static_cast<std::size_t>(i)]);
    }
    const float first = step(arguments)[0].item<float>();
    if (layers == 1) {
      auto by_hand = sn::fuse([](auto x1, auto l1, auto w1, auto b1, auto r1) {
        auto own_loss = sn::cross_entropy(sn::matmul(x1, w1) + b1, l1);
        auto [dw, db] = sn::gradients(own_loss, w1, b1);
        return sn::outputs(own_loss, sn::assign(w1, w1 - r1 * dw), sn::assign(b1, b1 - r1 * db));
      });
      sn::tensor<float, 2> other_w = counted(6, 6, 0.05f);
      sn::tensor<float, 1> other_b(6);
      const sn::tensor<float, 0> other = by_hand(data, labels, other_w, other_b, 0.5f);
      CHECK(other.item() == first);
      CHECK(other_w == w[0]);
      CHECK(other_b == b[0]);
    }
    float last = first;
    for (int i = 0; i < 20; ++i) last = step(arguments)[0].item<float>();
    CHECK(last < 0.9f * first);
    CHECK(step.statistics().saturations == 1);
  }
}

TEST_CASE("faults are thrown where they occur") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {3, 4}), y = g.argument("y", dtype::f32, {5, 6});
  const auto i = g.argument("i", dtype::i32, {3, 4});
  CHECK_THROWS_WITH_AS(x + y, "add(f32[3, 4], f32[5, 6]): extents 4 and 6 disagree",
                       sn::shape_error);
  CHECK_THROWS_WITH_AS(sn::matmul(x, y), doctest::Contains("matmul(f32[3, 4], f32[5, 6])"),
                       sn::shape_error);
  CHECK_THROWS_AS(x + i, sn::dtype_error);
  CHECK_THROWS_AS(sn::sum(x, 2), sn::axis_error);
  CHECK_THROWS_AS(sn::exp(i), sn::dtype_error);
  CHECK_THROWS_AS(sn::gradients(x, x), sn::shape_error);
  CHECK_THROWS_AS(sn::assign(x + x, x), sn::graph_error);
  CHECK_THROWS_AS(sn::assign(x, y), sn::shape_error);
  CHECK_THROWS_AS(g.compile({sn::assign(x, x + x), sn::assign(x, x * x)}), sn::graph_error);
  graph_builder other;
  const auto z = other.argument("z", dtype::f32, {3, 4});
  CHECK_THROWS_AS(x + z, sn::graph_error);
  CHECK_THROWS_AS(sn::concat({x, z}, 0), sn::graph_error);
  CHECK_THROWS_AS(sn::assign(x, z), sn::graph_error);
  CHECK_THROWS_AS(sn::gradients(sn::sum(x), z), sn::graph_error);
  CHECK_THROWS_AS(g.compile({z}), sn::graph_error);
  CHECK_THROWS_AS(g.compile({sn::handle{}}), sn::graph_error);
  CHECK(other.compile({z}).traced().size() == 1);
  // The builder is as it was.
  const sn::tensor<float, 2> a = counted(3, 4), b = counted(5, 6);
  const sn::tensor<std::int32_t, 2> c(3, 4);
  const sn::tensor<float, 2> sum = g.compile({x + x})({a, b, c})[0];
  CHECK(sum(1, 2) == 2 * a(1, 2));
}

TEST_CASE("arguments: names, extents and symbols that cannot be") {
  graph_builder g;
  g.argument("x", dtype::f32, {sym("n", 1, 8)});
  CHECK_THROWS_WITH_AS(g.argument("x", dtype::f32), "argument: there is a 'x' already",
                       sn::graph_error);
  CHECK_THROWS_AS(g.argument("not a name", dtype::f32), sn::graph_error);
  CHECK_THROWS_AS(g.argument("a", dtype::f32, {-1}), sn::shape_error);
  CHECK_THROWS_AS(g.argument("a", dtype::f32, {std::int64_t{1} << 40, std::int64_t{1} << 40}),
                  sn::shape_error);
  CHECK_THROWS_AS(g.argument("a", dtype::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1}), sn::shape_error);
  CHECK_THROWS_WITH_AS(g.argument("a", dtype::f32, {sym("n", 1, 9)}),
                       "symbol 'n': range 1..9 where it is known as 1..8", sn::graph_error);
  CHECK_THROWS_AS(g.argument("a", dtype::f32, {sym("m", 3, 2)}), sn::graph_error);
  CHECK_THROWS_AS(g.argument("a", dtype::f32, {sym("m", -3, 2)}), sn::graph_error);
  CHECK_THROWS_AS(g.argument("a", dtype::f32, {sym("")}), sn::graph_error);
  CHECK_THROWS_AS(g.argument("a", dtype::f32, {sym("s0")}), sn::graph_error);
  CHECK_THROWS_AS(g.argument("a", dtype::f32, {sym("broadcast")}), sn::graph_error);
  CHECK_NOTHROW(g.argument("a", dtype::f32, {sym("n"), sym("n", 1, 8)}));
  CHECK_NOTHROW(g.argument("", dtype::f32));
  CHECK_NOTHROW(g.argument("", dtype::f32));
}

TEST_CASE("one name is one symbol, and a call keeps to its range") {
  graph_builder g;
  const sym n("n", 2, 8);
  const auto x = g.argument("x", dtype::f32, {n, 3}), y = g.argument("y", dtype::f32, {n, 3});
  const auto f = g.compile({x + y, sn::sum(x) / g.extent(n)});
  const sn::tensor<float, 2> two = counted(2, 3), three = counted(3, 3), nine = counted(9, 3),
                             one = counted(1, 3), wide = counted(2, 4);
  const auto out = f({two, two});
  CHECK(sn::tensor<float, 2>(out[0])(1, 1) == 2 * two(1, 1));
  float total = 0;
  for (std::int64_t i = 0; i < 6; ++i) total += two.data()[i];
  CHECK(out[1].item<float>() == doctest::Approx(total / 2));
  CHECK_THROWS_WITH_AS(f({two, three}), "argument 1 (y): extent 3 of axis 0 where n is 2",
                       sn::shape_error);
  CHECK_THROWS_WITH_AS(f({nine, nine}), "argument 0 (x): extent 9 of axis 0 where n is in 2..8",
                       sn::shape_error);
  CHECK_THROWS_AS(f({one, one}), sn::shape_error);
  CHECK_THROWS_WITH_AS(f({wide, wide}), "argument 0 (x): shape [2, 4] where [n, 3] is expected",
                       sn::shape_error);
  CHECK_THROWS_WITH_AS(f({two}), "graph_function: 1 arguments where 2 are expected",
                       sn::graph_error);
  const sn::tensor<double, 2> doubles(2, 3);
  CHECK_THROWS_WITH_AS(f({two, doubles}), "argument 1 (y): f64 where f32 is expected",
                       sn::dtype_error);
  CHECK(f.explain({two, two}).find("n = 2") != std::string::npos);
  CHECK(f.egglog({two, two}).find("(datatype") != std::string::npos);

  // The extent of no argument is nothing that a call could know.
  const auto stray = x + sn::full<float>(1, g.extent(sym("stray", 2, 8)), 3);
  CHECK_THROWS_WITH_AS(g.compile({stray}), "graph: stray is an extent of no argument",
                       sn::graph_error);
}

TEST_CASE("a range that excludes one needs one class, planned beforehand") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("n", 4, 1000), 3});
  const auto f = g.compile({x * 2.0f});
  f.prepare();  // for 63 rows, the geometric mean
  CHECK(f.statistics().extractions == 1);
  f({counted(40, 3)});
  f({counted(64, 3)});
  CHECK(f.statistics().extractions == 1);
  f({counted(4, 3)});
  f({counted(1000, 3)});
  CHECK(f.statistics().extractions == 3);
  CHECK(f.statistics().saturations == 1);
  f.prepare({{"n", 600}});
  CHECK(f.statistics().extractions == 3);
  CHECK(f.statistics().calls == 4);
  CHECK_THROWS_AS(f.prepare({{"n", 1001}}), sn::shape_error);
  CHECK_THROWS_AS(f.prepare({{"m", 1}}), sn::graph_error);

  graph_builder free;
  const auto y = free.argument("y", dtype::f32, {sym("n")});
  const auto h = free.compile({y * 2.0f});
  CHECK_THROWS_WITH_AS(h.prepare(), "prepare: n has no upper bound; expected its extent",
                       sn::graph_error);
  h.prepare({{"n", 1}});
  h({sn::tensor<float, 1>{1, 2}});
  CHECK(h.statistics().saturations == 2);  // one and not one
}

TEST_CASE("bound tensors are left out of calls, and what follows from them is computed once") {
  const sn::tensor<float, 2> w = counted(6, 6), scale = counted(1, 6);
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("n", 2, 64), 6});
  const auto bound_w = g.bound("w", w);
  const auto s = g.argument("scale", dtype::f32, {1, 6});
  auto f = g.compile({sn::matmul(x, bound_w * s)});
  const sn::tensor<float, 2> data = counted(5, 6, 0.5f);
  const sn::tensor<float, 2> expected = sn::matmul(data, w * scale);
  CHECK(sn::tensor<float, 2>(f({data, scale})[0]) == expected);
  CHECK(f.statistics().preparations == 0);  // few rows are multiplied by w as it is
  f.bind("scale", sn::any_tensor(scale));
  for (int i = 0; i < 3; ++i) CHECK(sn::tensor<float, 2>(f({data})[0]) == expected);
  CHECK(f.statistics().preparations == 1);  // w * scale

  CHECK_THROWS_AS(f.bind("scale", scale), sn::graph_error);
  CHECK_THROWS_AS(f.bind(7, scale), sn::graph_error);
  CHECK_THROWS_AS(f.bind("x", sn::tensor<double, 2>(5, 6)), sn::dtype_error);
  CHECK_THROWS_AS(f.bind("x", counted(1, 6)), sn::shape_error);
  CHECK_THROWS_AS(g.compile({sn::assign(bound_w, bound_w * 2.0f)}), sn::graph_error);
}

TEST_CASE("arguments of every kind, results into tensors and views") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("n"), 2});
  const auto factor = g.number("factor", dtype::f64);
  const auto counter = g.argument("counter", dtype::i32, {});
  const auto f = g.compile({x * factor, sn::assign(counter, counter + 1), sn::sum(x)});
  const sn::tensor<float, 2> data{{1, 2}, {3, 4}};
  sn::tensor<std::int32_t, 0> count;

  sn::tensor<float, 2> y;
  float total = 0;
  sn::view<float, 0> total_view(&total, {});
  f.into({y, total_view})({data, 2.0, count});
  CHECK(y == sn::tensor<float, 2>{{2, 4}, {6, 8}});
  CHECK(total == 10);
  CHECK(count.item() == 1);

  float memory[] = {1, 3, 2, 4};
  const sn::view<float, 2> transposed(memory, {2, 2}, {1, 2});
  std::int32_t counted_in_memory = 5;
  auto out = f({transposed, 0.5, sn::view<std::int32_t, 0>(&counted_in_memory, {})});
  CHECK(sn::tensor<float, 2>(out[0]) == sn::tensor<float, 2>{{0.5f, 1}, {1.5f, 2}});
  CHECK(counted_in_memory == 6);
  out = f({out[0], 2.0, count});
  CHECK(sn::tensor<float, 2>(out[0]) == data);
  CHECK(f({sn::frozen(data), 1.0, count}).size() == 2);

  const sn::tensor<std::int32_t, 0> constant;
  CHECK_THROWS_AS(f({data, 1.0, constant}), sn::graph_error);
  CHECK_THROWS_AS(f({data, 1.0, sn::any_tensor(count)}), sn::graph_error);
  CHECK_THROWS_AS(f({data, 1.0f, count}), sn::dtype_error);
  CHECK_THROWS_AS(f.into({y})({data, 1.0, count}), sn::graph_error);
  sn::tensor<double, 2> wrong;
  CHECK_THROWS_AS(f.into({wrong, total_view})({data, 1.0, count}), sn::dtype_error);
  CHECK(count.item() == 3);
}

TEST_CASE("one builder compiles several functions; constants need no argument") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {4});
  const auto ramp = g.constant(sn::iota<float>(4)), half = g.constant(0.5f);
  const auto twice = g.compile({x * 2.0f});
  const auto shifted = g.compile({x + ramp * half});
  const sn::tensor<float, 1> data{1, 1, 1, 1};
  CHECK(sn::tensor<float, 1>(twice({data})[0]) == sn::tensor<float, 1>{2, 2, 2, 2});
  CHECK(sn::tensor<float, 1>(shifted({data})[0]) == sn::tensor<float, 1>{1, 1.5f, 2, 2.5f});
  graph_builder moved = std::move(g);
  CHECK(sn::tensor<float, 1>(moved.compile({-x})({data})[0]) ==
        sn::tensor<float, 1>{-1, -1, -1, -1});

  graph_builder empty;
  const auto nothing = empty.compile({empty.constant(sn::iota<std::int32_t>(3))});
  CHECK(sn::tensor<std::int32_t, 1>(nothing({})[0]) == sn::tensor<std::int32_t, 1>{0, 1, 2});
}

TEST_CASE("any number of bound layers, as text and back") {
  const std::vector<sn::tensor<float, 2>> weights{counted(6, 4), counted(4, 8), counted(8, 3)};
  const sn::tensor<float, 2> images = counted(5, 6);
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("batch", 1, 4096), 6});
  auto h = x;
  for (const auto& w : weights) h = sn::relu(sn::matmul(h, g.bound("", w)));
  const sn::tensor<float, 2> p = g.compile({sn::softmax(h)})({images})[0];

  sn::graph_function again(sn::ir::parse_graph(sn::ir::to_text(g.graph_of({sn::softmax(h)}))));
  for (int i = 0; i < 3; ++i) again.bind(i + 1, weights[static_cast<std::size_t>(i)]);
  CHECK(sn::tensor<float, 2>(again({images})[0]) == p);
  CHECK_THROWS_WITH_AS(again({counted(0, 6)}),
                       "argument 0 (x): extent 0 of axis 0 where batch is in 1..4096",
                       sn::shape_error);
}

TEST_CASE("gradients of gradients, and options") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {});
  const auto [first] = sn::gradients(x * x * x, x);
  const auto [second] = sn::gradients(first, x);
  const auto f = g.compile({first, second}, {.reassociate = false, .superinstructions = false});
  const auto out = f({sn::tensor<float, 0>(3)});
  CHECK(out[0].item<float>() == doctest::Approx(27));
  CHECK(out[1].item<float>() == doctest::Approx(18));
}

TEST_CASE("extents side by side, as programs that write graphs like to have them") {
  sn::graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sn::sym("rows"), sn::sym("columns"), 6});
  const auto one = [](sn::handle number) { return sn::reshape(number, 1); };
  const auto shape =
      sn::concat({one(sn::extent(x, 0)), one(sn::extent(x, 1)), one(sn::extent(x, 2))}, 0);
  const sn::tensor<std::int64_t, 1> found = g.compile({shape})({sn::tensor<float, 3>(2, 3, 6)})[0];
  CHECK(found == sn::tensor<std::int64_t, 1>{2, 3, 6});
}

}  // namespace graph_builder_test
