// SPDX-License-Identifier: MIT
// Ops of users: element-wise and opaque ones in fused functions, expressions and builders, with
// gradients, rules, text, any number of threads, and clear errors. The first is the example of
// docs/custom-ops.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/custom_ops.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/sinter.hpp>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace custom_op_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using sn::dtype;
using sn::handle;
using test_support::sorted;  // no kernel, no gradient

// [docs/custom-ops.md: softsign]
struct softsign {
  static constexpr std::string_view name = "softsign";
  static constexpr int arity = 1;
  static constexpr double work = 6;  // a division, beside an addition's 1
  // One number, or a register of them.
  static constexpr auto element = [](auto x) {
    using std::abs;
    return x / (abs(x) + 1);
  };
  // (1 - |y|)^2
  static constexpr handle gradient(const sn::custom_gradient& g) {
    return g.cotangent() * sn::square(1 - sn::abs(g.result()));
  }
  static constexpr std::array rules{
      sn::custom_rule{"odd", "(softsign (neg ?x))", "(neg (softsign ?x))"},
      sn::custom_rule{"written out", "(div ?x (add (abs ?x) 1))", "(softsign ?x)"}};
};
// [end]

// [docs/custom-ops.md: cumulative_sum]
struct cumulative_sum {
  static constexpr std::string_view name = "cumulative_sum";
  static constexpr int arity = 1;
  static constexpr std::array<std::string_view, 1> attributes{"from_end"};
  static constexpr int core_axes = 1;  // along the last axis; the others are rows
  template <class T>
  static void kernel(std::span<const sn::custom_input> in, const sn::custom_output& out,
                     std::span<const double> values) {
    const auto x = in[0].as<T>();
    const auto y = out.as<T>();
    const std::int64_t rows = out.extent(0), n = out.extent(1);
    for (std::int64_t row = 0; row < rows; ++row) {
      T sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(row * n + (values[0] != 0 ? n - 1 - i : i));
        y[at] = sum += x[at];
      }
    }
  }
  static constexpr handle gradient(const sn::custom_gradient& g) {
    return sn::custom<cumulative_sum>(g.cotangent(), 1 - g.attribute(0));
  }
  static constexpr handle tangent(const sn::custom_tangent& t) {
    return sn::custom<cumulative_sum>(t.tangent(0), t.attribute(0));
  }
};
// [end]

namespace {

// Two operands, of which one is usually a number.
struct leaky {
  static constexpr std::string_view name = "leaky";
  static constexpr int arity = 2;
  static constexpr auto element = [](auto x, auto slope) {
    using sn::select;
    return select(x > 0, x, x * slope);
  };
  static constexpr std::array<handle, 2> gradient(const sn::custom_gradient& g) {
    const handle positive = sn::cast<double>(g.operand(0) > 0.0);
    return {g.cotangent() * (positive + (1.0 - positive) * g.operand(1)),
            g.cotangent() * (1.0 - positive) * g.operand(0)};
  }
};

// Rows of x added up by segment: operands of two dtypes, a shape of its own.
struct segment_sum {
  static constexpr std::string_view name = "segment_sum";
  static constexpr int arity = 2;
  static constexpr std::array<std::string_view, 1> attributes{"segments"};
  static constexpr ir::symbolic_shape shape(sn::custom_shapes& s) {
    if (!s.check_rank(0, 2) || !s.check_rank(1, 1) || !s.check_least(s.attribute(0), 1)) return {};
    s.check_agree(s.extent(0, 0), s.extent(1, 0));
    return {ir::dim(static_cast<std::int64_t>(s.attribute(0))), s.extent(0, 1)};
  }
  template <class T>
  static void kernel(std::span<const sn::custom_input> in, const sn::custom_output& out,
                     std::span<const double>) {
    const auto x = in[0].as<T>();
    const auto segment = in[1].as<std::int64_t>();
    const auto y = out.as<T>();
    std::fill(y.begin(), y.end(), T(0));
    const auto width = static_cast<std::size_t>(out.extent(1));
    for (std::size_t row = 0; row < segment.size(); ++row)
      for (std::size_t i = 0; i < width; ++i)
        y[static_cast<std::size_t>(segment[row]) * width + i] += x[row * width + i];
  }
  static constexpr std::array<handle, 2> gradient(const sn::custom_gradient& g) {
    return {sn::gather(g.cotangent(), g.operand(1), 0), {}};
  }
};

template <class T>
sn::tensor<T, 2> numbers(std::int64_t rows, std::int64_t columns) {
  sn::tensor<T, 2> out(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      out(i, j) = static_cast<T>((i * columns + j) * 7 % 23 - 11) / T(8);
  return out;
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const sn::error& e) {
    return e.what();
  }
  return "no error";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int usual_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}
void set_threads([[maybe_unused]] int n) {
#ifdef _OPENMP
  omp_set_num_threads(n);
#endif
}

}  // namespace

TEST_CASE("an element-wise op in fused functions, expressions and builders") {
  auto f = sn::fuse([](auto x) {
    const auto y = sn::custom<softsign>(x * 2.0f) + 1.0f;
    return sn::outputs(y, sn::gradients(sn::sum(y), x)[0]);
  });
  for (const std::int64_t columns : {0, 1, 5, 16, 33, 1000}) {
    INFO("columns " << columns);
    const sn::tensor<float, 2> x = numbers<float>(3, columns);
    const auto [y, dx] = f(x);
    const sn::tensor<float, 2> e = sn::custom<softsign>(x * 2.0f) + 1.0f;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        const float at = 2 * x(i, j);
        CHECK(y(i, j) == at / (std::abs(at) + 1) + 1);
        CHECK(e(i, j) == y(i, j));
        CHECK(dx(i, j) == doctest::Approx(2 / std::pow(1 + std::abs(at), 2)).epsilon(1e-5));
      }
  }
  // One nest, in which it is a micro-op.
  const std::string told = f.explain(numbers<float>(3, 33));
  CHECK(contains(told, "= softsign %"));

  sn::graph_builder b;
  const handle x = b.argument("x", dtype::f64, {sn::sym("n"), 3});
  const sn::graph_function g = b.compile({sn::custom<softsign>(x)});
  const sn::tensor<double, 2> values = numbers<double>(2, 3);
  const auto results = g({values});
  const sn::tensor<double, 2> y = results[0];
  CHECK(y(1, 2) == values(1, 2) / (std::abs(values(1, 2)) + 1));
}

TEST_CASE("operands broadcast, numbers are operands, and every derivative is there") {
  auto f = sn::fuse([](auto x, auto slope) {
    const auto y = sn::custom<leaky>(x, slope);
    const auto slopes = sn::gradients(sn::sum(y * y), x, slope);
    return sn::outputs(y, slopes[0], slopes[1], sn::jvp(y, x, x, slope, slope));
  });
  const sn::tensor<double, 2> x = numbers<double>(4, 3);
  const sn::tensor<double, 1> slope{0.1, 0.2, 0.3};
  const auto [y, dx, ds, t] = f(x, slope);
  for (int j = 0; j < 3; ++j) {
    double expected = 0;
    for (int i = 0; i < 4; ++i) {
      const double at = x(i, j), s = at > 0 ? 1 : slope(j);
      CHECK(y(i, j) == doctest::Approx(at * s));
      CHECK(dx(i, j) == doctest::Approx(2 * at * s * s));
      CHECK(t(i, j) == doctest::Approx(at > 0 ? at : 2 * at * s));
      if (at <= 0) expected += 2 * at * s * at;
    }
    CHECK(ds(j) == doctest::Approx(expected));
  }
  // Other numbers are other values, in one function too.
  auto two = sn::fuse(
      [](auto v) { return sn::outputs(sn::custom<leaky>(v, 0.5), sn::custom<leaky>(v, 0.25)); });
  const auto [a, b] = two(x);
  for (int i = 0; i < 4; ++i)
    if (x(i, 0) < 0) {
      CHECK(a(i, 0) == x(i, 0) / 2);
      CHECK(b(i, 0) == x(i, 0) / 4);
    }
  // 16-bit floats go through f32.
  sn::tensor<sn::float16, 1> half(3);
  for (int i = 0; i < 3; ++i) half(i) = sn::float16(static_cast<float>(i - 1));
  const sn::tensor<sn::float16, 1> h = sn::custom<softsign>(half);
  CHECK(static_cast<float>(h(2)) == 0.5f);
}

TEST_CASE("an opaque op: rows in any number of threads, strided operands, second derivatives") {
  auto f = sn::fuse([](auto x) {
    const auto y = sn::custom<cumulative_sum>(x * x, 0);
    const auto dx = sn::gradients(sn::sum(y * y), x)[0];
    return sn::outputs(y, sn::custom<cumulative_sum>(x * x, 1), dx,
                       sn::gradients(sn::sum(dx), x)[0], sn::jvp(y, x, x));
  });
  const sn::tensor<double, 2> x = numbers<double>(4, 5);
  const auto [y, back, dx, ddx, t] = f(x);
  for (int i = 0; i < 4; ++i) {
    double sum = 0, total = 0;
    for (int j = 0; j < 5; ++j) total += x(i, j) * x(i, j);
    for (int j = 0; j < 5; ++j) {
      CHECK(back(i, j) == doctest::Approx(total - sum));
      sum += x(i, j) * x(i, j);
      CHECK(y(i, j) == doctest::Approx(sum));
      CHECK(t(i, j) == doctest::Approx(2 * sum));
      double slope = 0, curve = 0;  // of sum_k y_k^2: 2 x_j sum_{k >= j} 2 y_k
      double running = 0;
      for (int k = 0; k < 5; ++k) {
        running += x(i, k) * x(i, k);
        if (k >= j) slope += 4 * x(i, j) * running;
        if (k >= j) curve += 4 * running;
      }
      CHECK(dx(i, j) == doctest::Approx(slope));
      // d/dx_j of sum_l dx_l: that slope's own, and 8 x_l x_j for each k behind both.
      for (int l = 0; l < 5; ++l) curve += 8 * x(i, l) * x(i, j) * (5 - std::max(l, j));
      CHECK(ddx(i, j) == doctest::Approx(curve));
    }
  }

  auto g = sn::fuse([](auto v) { return sn::custom<cumulative_sum>(v, 0); });
  const sn::tensor<float, 2> large = numbers<float>(700, 130);
  const int usual = usual_threads();
  set_threads(1);
  const auto one = g(large);
  for (int threads : {2, 3}) {
    set_threads(threads);
    const auto many = g(large);
    CHECK(std::equal(one.data(), one.data() + one.size(), many.data()));
  }
  set_threads(usual);
  // Rows are cut by shape alone, and no row knows of another.
  const sn::tensor<float, 2> row = numbers<float>(1, 130);
  const auto first = g(row);
  CHECK(std::equal(first.data(), first.data() + 130, one.data()));

  auto turned = sn::fuse([](auto v) { return sn::custom<cumulative_sum>(sn::transpose(v), 0); });
  const auto down = turned(x);
  CHECK(down(2, 3) == doctest::Approx(x(0, 2) + x(1, 2) + x(2, 2) + x(3, 2)));
  const sn::view<const double, 2> columns(x.data(), {5, 4}, {1, 5});
  const sn::tensor<double, 2> strided = g(columns);
  CHECK(strided(2, 3) == down(2, 3));
  CHECK(g(sn::tensor<float, 2>(0, 3)).extent(0) == 0);
}

TEST_CASE("operands of other dtypes, a shape of its own, and ops without a kernel") {
  auto f = sn::fuse([](auto x, auto segment) {
    const auto y = sn::custom<segment_sum>(x, segment, 3);
    return sn::outputs(y, sn::gradients(sn::sum(y * y), x)[0]);
  });
  const sn::tensor<float, 2> x = numbers<float>(4, 2);
  const sn::tensor<std::int64_t, 1> segment{2, 0, 2, 2};
  const auto [y, dx] = f(x, segment);
  CHECK(y.extent(0) == 3);
  CHECK(y(0, 1) == x(1, 1));
  CHECK(y(1, 0) == 0);
  CHECK(y(2, 0) == x(0, 0) + x(2, 0) + x(3, 0));
  CHECK(dx(3, 0) == 2 * y(2, 0));

  const sn::tensor<float, 2> s = sn::custom<sorted>(x + 0.0f);
  CHECK(std::is_sorted(s.data(), s.data() + 2));
  CHECK(s(0, 0) + s(0, 1) == x(0, 0) + x(0, 1));

  // All axes before the op's own are one, for the reference interpreter, too.
  ir::graph g;
  const handle v(ir::argument(g, dtype::f64, 0, {ir::dim(2), ir::dim(2), ir::dim(3)}));
  g.outputs = {{sn::custom<sorted>(v).node.id, -1}, {sn::custom<cumulative_sum>(v, 0).node.id, -1}};
  ir::reference_tensor p = ir::filled(dtype::f64, {2, 2, 3}, 0);
  p.data = {3, 1, 2, 6, 5, 4, 9, 8, 7, 10, 12, 11};
  const auto r = ir::interpret(g, std::vector{p});
  CHECK(r[0].data == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(r[1].data == std::vector<double>{3, 4, 6, 6, 11, 15, 9, 17, 24, 10, 22, 33});
}

TEST_CASE("rules of an op join saturation and are told by name") {
  auto f = sn::fuse([](auto x) { return sn::custom<softsign>(-x) * -1.0f; });
  const sn::tensor<float, 2> x = numbers<float>(3, 40);
  const auto y = f(x);
  for (int j = 0; j < 40; ++j) CHECK(y(1, j) == x(1, j) / (std::abs(x(1, j)) + 1));
  const std::string told = f.explain(x);
  CHECK(contains(told, "rule softsign: odd: applied 1"));

  // What is written out is recognised where the op is in the function, too.
  auto both =
      sn::fuse([](auto v, auto w) { return sn::custom<softsign>(v) + w / (sn::abs(w) + 1.0f); });
  CHECK(contains(both.explain(x, x), "rule softsign: written out: applied 1"));
  const auto sum = both(x, x);
  CHECK(sum(2, 7) == 2 * (x(2, 7) / (std::abs(x(2, 7)) + 1)));

  // Movement changes places with it, as with any element-wise op.
  auto moved =
      sn::fuse([](auto v) { return sn::transpose(sn::custom<leaky>(v, 0.5f)) + sn::transpose(v); });
  CHECK(contains(moved.explain(x), "rule sink-permute: applied"));
  const auto turned = moved(x);
  CHECK(turned(7, 2) == (x(2, 7) > 0 ? 2 : 1.5f) * x(2, 7));

  auto without = sn::fuse([](auto v) { return sn::custom<softsign>(-v); },
                          {.disabled_rules = {"softsign: odd"}});
  CHECK(!contains(without.explain(x), "softsign: odd"));
}

TEST_CASE("graphs with custom ops: nodes, text, the reference interpreter") {
  ir::graph g;
  const handle x(ir::argument(g, dtype::f64, 0, {g.dims.symbol(0), ir::dim(4)}));
  const handle up = sn::custom<cumulative_sum>(x, 0), down = sn::custom<cumulative_sum>(x, 1);
  CHECK(up.node.id != down.node.id);
  CHECK(sn::custom<cumulative_sum>(x, 0).node.id == up.node.id);
  CHECK(sn::custom<softsign>(x).node.id != sn::custom<leaky>(x, 0.5).node.id);
  g.outputs = {{up.node.id, -1}, {sn::custom<softsign>(down).node.id, -1}};
  ir::verify(g);
  const std::string text = ir::to_text(g);
  CHECK(contains(text, "= cumulative_sum(%0) {from_end: 1} : f64[s0, 4]"));
  CHECK(contains(text, "= softsign(%2) : f64[s0, 4]"));
  const ir::graph read = ir::parse_graph(text, sn::custom_ops<softsign, leaky, cumulative_sum>);
  CHECK(ir::to_text(read) == text);
  CHECK(contains(message_of([&] { ir::parse_graph(text); }),
                 "there is no op 'cumulative_sum' (custom ops must be given to the parser)"));

  ir::reference_tensor p = ir::filled(dtype::f64, {1, 4}, 0);
  p.data = {1, -2, 3, 0.5};
  const auto r = ir::interpret(read, std::vector{p});
  CHECK(r[0].data == std::vector<double>{1, -1, 2, 2.5});
  CHECK(r[1].data[3] == doctest::Approx(1.0 / 3));
  CHECK(sn::graph_function(read)({sn::tensor<double, 2>{{1, -2, 3, 0.5}}}).size() == 2);
}

TEST_CASE(
    "the reference interpreter merges the axes that an op leaves alone, as kernels have them") {
  struct example {
    sn::shape_vector shape;
    double last;
  };
  for (const example& each : {example{{2, 2, 3}, 3}, example{{12}, 12}}) {
    const sn::shape_vector& shape = each.shape;
    ir::graph g;
    ir::symbolic_shape dims;
    for (std::int64_t extent : shape) dims.push_back(ir::dim(extent));
    const handle x(ir::argument(g, dtype::f32, 0, dims));
    g.outputs = {{sn::custom<cumulative_sum>(x, 0).node.id, -1}};
    const auto r = ir::interpret(g, std::vector{ir::filled(dtype::f32, shape, 1)});
    CHECK(r[0].shape == shape);
    CHECK(r[0].data[2] == 3);
    CHECK(r[0].data.back() == each.last);
  }
}

TEST_CASE("what is wrong is said in the op's name") {
  ir::graph g;
  const handle x(ir::argument(g, dtype::f32, 0, {ir::dim(3), ir::dim(4)})),
      wrong(ir::argument(g, dtype::f32, 1, {ir::dim(5)})),
      i(ir::argument(g, dtype::i64, 2, {ir::dim(3)})), scalar(ir::argument(g, dtype::f32, 3, {}));
  CHECK(message_of([&] { sn::custom<leaky>(x, wrong); }) ==
        "leaky(f32[3, 4], f32[5]): extents 4 and 5 disagree");
  CHECK(message_of([&] { sn::custom<softsign>(i); }) ==
        "softsign(i64[3]): not defined for dtype i64");
  CHECK(message_of([&] { sn::custom<segment_sum>(x, i, 0); }) ==
        "segment_sum(f32[3, 4], i64[3]): a stride, dilation, padding or number is 0; expected at "
        "least 1");
  CHECK(message_of([&] { sn::custom<cumulative_sum>(scalar, 0); }) ==
        "cumulative_sum(f32[]): rank 0 where rank 1 is expected");
  const auto derivative = [&](ir::op code) {
    ir::graph own = g;
    const handle v({&own, x.node.id});
    const handle y = sn::custom<sorted>(v);
    const handle d = code == ir::op::vjp ? sn::vjp(y, v, v)[0] : sn::jvp(y, v, v);
    own.outputs = {{d.node.id, -1}};
    return message_of([&] { ir::expand_gradients(own); });
  };
  CHECK(contains(derivative(ir::op::vjp), "sorted(f32[3, 4]): the op has no gradient"));
  CHECK(contains(derivative(ir::op::jvp), "sorted(f32[3, 4]): the op has no tangent"));
}

namespace {

struct bad_rule {
  static constexpr std::string_view name = "bad_rule";
  static constexpr int arity = 1;
  static constexpr auto element = [](auto x) { return x + x; };
  static constexpr std::array rules{sn::custom_rule{"twice", "(bad_rule ?x)", "(add ?x ?y)"}};
};

}  // namespace

TEST_CASE("a rule that is none is refused by the first call") {
  auto f = sn::fuse([](auto x) { return sn::custom<bad_rule>(x); });
  CHECK(message_of([&] { f(numbers<float>(2, 2)); }) ==
        "custom op: rule 'bad_rule: twice': the left side does not bind ?y");
}

}  // namespace custom_op_test
