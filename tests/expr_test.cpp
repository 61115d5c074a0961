// SPDX-License-Identifier: MIT
// The front end on handles: element-wise functions, operators, literals, tracing in constant
// evaluation, faults.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "support/trace_lambda.hpp"

namespace expr_test {

namespace sn = sinter;
using namespace test_support;
using sn::ir::fault_kind;
using sn::ir::op;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Traces `f` on float arguments of these shapes, in constant evaluation.
template <class F>
constexpr sn::ir::graph trace(F f, std::initializer_list<sn::ir::symbolic_shape> shapes,
                              dtype type = dtype::f32) {
  sn::ir::graph g;
  sn::inline_vector<handle, 6> arguments;
  for (const sn::ir::symbolic_shape& shape : shapes)
    arguments.push_back(
        handle(sn::ir::argument(g, type, static_cast<int>(arguments.size()), shape)));
  sn::set_outputs(g, f(arguments));
  return g;
}

template <class F>
constexpr sn::ir::fault fault_of(F f, std::initializer_list<sn::ir::symbolic_shape> shapes,
                                 dtype type = dtype::f32) {
  return trace(f, shapes, type).first_fault;
}

constexpr bool is(const sn::ir::fault& f, fault_kind kind, op code, std::int64_t lhs,
                  std::int64_t rhs) {
  return f.kind == kind && f.code == code && f.lhs == lhs && f.rhs == rhs;
}

}  // namespace

TEST_CASE("operators broadcast") {
  const auto x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), row = floats({3}, {10, 20, 30}),
             column = floats({2, 1}, {1, -1});
  CHECK(result([](auto a, auto b) { return a + b; }, x, row) ==
        floats({2, 3}, {11, 22, 33, 14, 25, 36}));
  CHECK(result([](auto a, auto b) { return b - a; }, x, column) ==
        floats({2, 3}, {0, -1, -2, -5, -6, -7}));
  CHECK(result([](auto a, auto b) { return a * b; }, row, column) ==
        floats({2, 3}, {10, 20, 30, -10, -20, -30}));
  CHECK(result([](auto a, auto b) { return a / b; }, row, floats({}, {10})) ==
        floats({3}, {1, 2, 3}));
  CHECK(result([](auto a) { return -a; }, row) == floats({3}, {-10, -20, -30}));
  CHECK(result([](auto a) { return 7 % a; }, ints({3}, {3, -3, 0})) == ints({3}, {1, -2, 0}));
  CHECK(result([](auto a, auto b) { return (a & b) | (a ^ 1); }, ints({2}, {6, 5}),
               ints({2}, {3, 4})) == ints({2}, {7, 4}));
  CHECK(result([](auto a) { return (a << 2) + (a >> 1); }, ints({2}, {3, -4})) ==
        ints({2}, {13, -18}));
}

TEST_CASE("comparisons and logic give bools") {
  const auto x = floats({4}, {-1, 0, 1, not_a_number});
  CHECK(result([](auto a) { return a < 0; }, x) == bools({4}, {1, 0, 0, 0}));
  CHECK(result([](auto a) { return 0 <= a; }, x) == bools({4}, {0, 1, 1, 0}));
  CHECK(result([](auto a) { return a > 0; }, x) == bools({4}, {0, 0, 1, 0}));
  CHECK(result([](auto a) { return 0 >= a; }, x) == bools({4}, {1, 1, 0, 0}));
  CHECK(result([](auto a) { return a == 1; }, x) == bools({4}, {0, 0, 1, 0}));
  CHECK(result([](auto a) { return 1 != a; }, x) == bools({4}, {1, 1, 0, 1}));
  CHECK(result([](auto a) { return sn::isnan(a); }, x) == bools({4}, {0, 0, 0, 1}));
  CHECK(result([](auto a) { return a > -1 && a < 1; }, x) == bools({4}, {0, 1, 0, 0}));
  CHECK(result([](auto a) { return !(a < 0 || a == 1); }, x) == bools({4}, {0, 1, 0, 1}));
  CHECK(result([](auto a) { return sn::logical_xor(a, a > 0); }, x) == bools({4}, {1, 0, 0, 1}));
  CHECK(result([](auto a) { return sn::logical_not(a); }, x) == bools({4}, {0, 1, 0, 0}));
  CHECK(result([](auto a) { return (a > 0) == true; }, x) == bools({4}, {0, 0, 1, 0}));
}

TEST_CASE("functions of one operand") {
  const auto x = doubles({4}, {-1.5, -0.5, 0.5, 2.5});
  const auto check = [&](auto function, auto expected) {
    reference_tensor y = x;
    for (double& e : y.data) e = expected(e);
    CHECK(close(result(function, x), y));
  };
  check([](auto a) { return sn::negative(a); }, [](double e) { return -e; });
  check([](auto a) { return sn::abs(a); }, [](double e) { return std::abs(e); });
  check([](auto a) { return sn::sign(a); }, [](double e) { return e < 0 ? -1.0 : 1.0; });
  check([](auto a) { return sn::floor(a); }, [](double e) { return std::floor(e); });
  check([](auto a) { return sn::ceil(a); }, [](double e) { return std::ceil(e); });
  check([](auto a) { return sn::round(a); }, [](double e) { return std::nearbyint(e); });
  check([](auto a) { return sn::sqrt(a); }, [](double e) { return std::sqrt(e); });
  check([](auto a) { return sn::rsqrt(sn::square(a)); }, [](double e) { return 1 / std::abs(e); });
  check([](auto a) { return sn::recip(a); }, [](double e) { return 1 / e; });
  check([](auto a) { return sn::exp(a); }, [](double e) { return std::exp(e); });
  check([](auto a) { return sn::exp2(a); }, [](double e) { return std::exp2(e); });
  check([](auto a) { return sn::log(a); }, [](double e) { return std::log(e); });
  check([](auto a) { return sn::log2(a); }, [](double e) { return std::log2(e); });
  check([](auto a) { return sn::sin(a); }, [](double e) { return std::sin(e); });
  check([](auto a) { return sn::cos(a); }, [](double e) { return std::cos(e); });
  check([](auto a) { return sn::tanh(a); }, [](double e) { return std::tanh(e); });
  check([](auto a) { return sn::erf(a); }, [](double e) { return std::erf(e); });
  check([](auto a) { return sn::sigmoid(a); }, [](double e) { return 1 / (1 + std::exp(-e)); });
  check([](auto a) { return sn::relu(a); }, [](double e) { return e > 0 ? e : 0; });
  check([](auto a) { return sn::gelu(a); },
        [](double e) { return e / 2 * (1 + std::erf(e / std::sqrt(2.0))); });
  check([](auto a) { return sn::gelu_tanh(a); },
        [](double e) {
          return e / 2 * (1 + std::tanh(0.7978845608028654 * (e + 0.044715 * e * e * e)));
        });
  check([](auto a) { return sn::silu(a); }, [](double e) { return e / (1 + std::exp(-e)); });
  check([](auto a) { return sn::softplus(a); }, [](double e) { return std::log(1 + std::exp(e)); });
  check([](auto a) { return sn::stop_gradient(a); }, [](double e) { return e; });
}

TEST_CASE("functions of several operands") {
  const auto x = floats({4}, {-2, -1, 1, 2});
  CHECK(result([](auto a) { return sn::maximum(a, 0); }, x) == floats({4}, {0, 0, 1, 2}));
  CHECK(result([](auto a) { return sn::minimum(0.5, a); }, x) == floats({4}, {-2, -1, 0.5, 0.5}));
  CHECK(result([](auto a) { return sn::pow(a, 3); }, x) == floats({4}, {-8, -1, 1, 8}));
  CHECK(result([](auto a) { return sn::pow(2, a); }, x) == floats({4}, {0.25, 0.5, 2, 4}));
  CHECK(result([](auto a) { return sn::mod(a, 3); }, x) == floats({4}, {1, 2, 1, 2}));
  CHECK(result([](auto a) { return sn::floor_divide(a, 2); }, x) == floats({4}, {-1, -1, 0, 1}));
  CHECK(result([](auto a) { return sn::clamp(a, -1, 1.5); }, x) == floats({4}, {-1, -1, 1, 1.5}));
  CHECK(result([](auto a) { return sn::leaky_relu(a, 0.25f); }, x) ==
        floats({4}, {-0.5, -0.25, 1, 2}));
  CHECK(result([](auto a) { return sn::multiply_add(a, 2, a); }, x) == floats({4}, {-6, -3, 3, 6}));
  CHECK(result([](auto a) { return sn::where(a > 0, a, 0); }, x) == floats({4}, {0, 0, 1, 2}));
  CHECK(result([](auto a) { return sn::where(a > 0, 1.0f, -1.0f); }, x) ==
        floats({4}, {-1, -1, 1, 1}));
  CHECK(result([](auto a) { return sn::where(a > 0, 1, 0); }, x) == ints({4}, {0, 0, 1, 1}));
}

TEST_CASE("casts and true division") {
  const auto i = ints({3}, {-3, 0, 7});
  CHECK(result([](auto a) { return sn::cast<float>(a); }, i) == floats({3}, {-3, 0, 7}));
  CHECK(result([](auto a) { return sn::cast<bool>(a); }, i) == bools({3}, {1, 0, 1}));
  CHECK(result([](auto a) { return sn::true_divide(a, 2); }, i) == floats({3}, {-1.5, 0, 3.5}));
  CHECK(result([](auto a) { return sn::true_divide(a, 0.5); }, i) == floats({3}, {-6, 0, 14}));
  CHECK(result([](auto a) { return a / 2; }, i) == ints({3}, {-1, 0, 3}));
}

TEST_CASE("C++ scalars take the dtype of what they meet") {
  const auto x = floats({2}, {1, 2});
  // Both literals and scalar arguments, on either side, through arithmetic among themselves.
  CHECK(result([](auto a) { return 0.5 * a + 1; }, x) == floats({2}, {1.5, 2}));
  CHECK(result([](auto a, auto rate) { return a - 2 * rate * a; }, x, 0.25) ==
        floats({2}, {0.5, 1}));
  CHECK(result([](auto a, auto rate) { return a - 2 * rate * a; }, doubles({2}, {1, 2}), 0.25f) ==
        doubles({2}, {0.5, 1}));
  CHECK(result([](auto a, auto n) { return a * n; }, x, 3) == floats({2}, {3, 6}));
  CHECK(result([](auto a, auto n) { return n - a; }, ints({2}, {1, 2}), 3) == ints({2}, {2, 1}));
  CHECK(result([](auto a) { return a / sn::extent(a, 0); }, x) == floats({2}, {0.5, 1}));
  CHECK(result([](auto a) { return a * sn::rsqrt(sn::extent(a, 0) * 2); }, x) ==
        floats({2}, {0.5, 1}));
  CHECK(result([](auto a) { return (sn::extent(a, 0) * 0.5) * a; }, x) == floats({2}, {1, 2}));
  [[maybe_unused]] constexpr float scale =
      0.5f;  // an outer constexpr needs no capture (GCC thinks it unused)
  [[maybe_unused]] constexpr int low = 1;
  CHECK(result([](auto a) { return sn::maximum(a * scale, low); }, x) == floats({2}, {1, 1}));
}

TEST_CASE("scalars of the wrong kind are dtype errors") {
  const auto i = ints({2}, {1, 2});
  CHECK_THROWS_AS(result([](auto a) { return a * 0.5; }, i), sn::dtype_error);
  CHECK_THROWS_AS(result([](auto a, auto s) { return a * s; }, i, 0.5f), sn::dtype_error);
  CHECK_THROWS_AS(result([](auto a) { return a + true; }, i), sn::dtype_error);
  CHECK_THROWS_AS(result([](auto a) { return (a > 1) == 1; }, i), sn::dtype_error);
  CHECK_THROWS_AS(result([](auto a) { return a + 3000000000; }, i), sn::dtype_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::exp(a); }, i), sn::dtype_error);
  CHECK_THROWS_AS(result([](auto a, auto b) { return a + b; }, i, floats({2}, {1, 2})),
                  sn::dtype_error);
  CHECK_THROWS_WITH(result([](auto a) { return a * 0.5; }, i),
                    "mul(i32[2]): dtypes f64 and i32 differ; cast one of them");
}

TEST_CASE("extents that disagree are shape errors") {
  CHECK_THROWS_AS(
      result([](auto a, auto b) { return a + b; }, floats({2}, {1, 2}), floats({3}, {1, 2, 3})),
      sn::shape_error);
}

TEST_CASE("the compiler traces") {
  // The design's step: one graph with its gradient and assignment nodes, built in constant
  // evaluation.
  constexpr auto step = [](auto a) {
    auto [x, w, b, rate] = std::array{a[0], a[1], a[2], a[3]};
    auto loss = sn::mse(sn::gelu(sn::matmul(x, w) + b), 0.0f * b);
    auto [dw, db] = sn::gradients(loss, w, b);
    return sn::outputs(loss, sn::assign(w, w - rate * dw), sn::assign(b, b - rate * db));
  };
  constexpr auto facts = [](const sn::ir::graph& g) {
    return std::array{g.size(), static_cast<int>(g.outputs.size()), g.outputs[0].assigned_argument,
                      g.outputs[2].assigned_argument,
                      static_cast<int>(g[g.outputs[1].node].shape[1].constant())};
  };
  static_assert(facts(trace(step, {{2, 3}, {3, 4}, {4}, {}})) == std::array{25, 3, -1, 2, 4});

  // Equal nodes are one node: x + 1 is written once.
  constexpr auto twice = [](auto a) { return (a[0] + 1) * (1.0f + a[0] - 0 * a[0]); };
  static_assert(trace(twice, {{2}}).size() == trace(twice, {{7}}).size());
  constexpr auto shared = [](auto a) { return sn::exp(a[0] + 1) - sn::exp(a[0] + 1.0f); };
  static_assert(trace(shared, {{2}}).size() == 5);

  // Loops and parameters in arrays.
  constexpr auto layers = [](auto a) {
    handle h = a[0];
    for (int i = 1; i < 4; ++i) h = sn::relu(sn::matmul(h, a[i]));
    return h;
  };
  static_assert(trace(layers, {{2, 3}, {3, 4}, {4, 5}, {5, 6}}).size() == 10);
}

TEST_CASE("the compiler finds faults, and goes on without harm") {
  const auto nothing = [](auto a) { return a[0]; };
  CHECK(fault_of(nothing, {{2}}).kind == fault_kind::none);

  constexpr auto sum = [](auto a) { return sn::sum(sn::softmax(a[0] + a[1], -1) * a[0], {0, 1}); };
  static_assert(is(fault_of(sum, {{2, 3}, {4}}), fault_kind::extents_disagree, op::add, 3, 4));
  constexpr auto product = [](auto a) {
    return sn::layer_norm(sn::matmul(a[0], a[1]), a[2], a[2]);
  };
  static_assert(
      is(fault_of(product, {{3, 4}, {5, 6}, {6}}), fault_kind::extents_disagree, op::matmul, 4, 5));
  constexpr auto literal = [](auto a) { return sn::where(a[0] > 1, a[0] * 0.5f, 0); };
  static_assert(is(fault_of(literal, {{2}}, dtype::i32), fault_kind::mixed_dtypes, op::mul,
                   static_cast<int>(dtype::f32), static_cast<int>(dtype::i32)));
  constexpr auto axis = [](auto a) { return sn::max(sn::permute(sn::transpose(a[0]), {1, 0}), 2); };
  static_assert(is(fault_of(axis, {{2, 3}}), fault_kind::axis_out_of_range, op::reduce_max, 2, 2));
  constexpr auto order = [](auto a) { return sn::reshape(sn::permute(a[0], {0, 0}), -1, 6); };
  static_assert(is(fault_of(order, {{2, 3}}), fault_kind::not_a_permutation, op::permute, 2, 0));
  constexpr auto size = [](auto a) { return sn::flatten(sn::squeeze(sn::reshape(a[0], 4, 2), 1)); };
  static_assert(is(fault_of(size, {{2, 3}}), fault_kind::size_changes, op::reshape, 6, 8));
  // A whole network after the fault: nothing may index what is not there.
  constexpr auto network = [](auto a) {
    auto h = sn::matmul(sn::unsqueeze(a[0] + a[1], 5), a[2]);
    h = sn::concat({h, sn::flip(h, 1)}, 1);
    h = sn::stack(2, h, sn::pad(h, {{1, 1}, {2, 2}}));
    h = sn::slice(h, 3, 1, -1) + sn::gather(h, a[0], 3) + sn::one_hot(h, 7) + sn::outer(h, h) +
        sn::dropout(h, 3, 0.5f);
    h = h + sn::normal(7, h) + sn::iota_like(h, 4) + sn::full_like(h, 2) +
        sn::broadcast_to(h, 9, 9) + sn::logsumexp(h, 3);
    auto loss =
        sn::cross_entropy(sn::rms_norm(h, h), h) + sn::mse(h, h) + sn::var(h, 6) / sn::extent(h, 9);
    auto [d] = sn::gradients(loss, h);
    return sn::outputs(d, sn::assign(h, d), sn::assign(h, 0.5f));
  };
  static_assert(
      is(fault_of(network, {{2}, {3}, {4}}), fault_kind::extents_disagree, op::add, 2, 3));
}

TEST_CASE("assignments are checked") {
  constexpr auto computed = [](auto a) { return sn::assign(a[0] + a[1], a[1]); };
  static_assert(fault_of(computed, {{2}, {2}}).kind == fault_kind::not_an_argument);
  constexpr auto twice = [](auto a) {
    return sn::outputs(sn::assign(a[1], a[0]), sn::assign(a[1], a[0] * 2));
  };
  static_assert(is(fault_of(twice, {{2}, {2}}), fault_kind::assigned_twice, op::argument, 1, 0));
  constexpr auto shape = [](auto a) { return sn::assign(a[0], a[1]); };
  static_assert(
      is(fault_of(shape, {{2}, {3}}), fault_kind::extents_disagree, op::broadcast_to, 3, 2));
  static_assert(is(fault_of(shape, {{2}, {1, 2}}), fault_kind::wrong_rank, op::argument, 2, 1));
  static_assert(fault_of(shape, {{2}, {}}).kind == fault_kind::none);
  constexpr auto type = [](auto a) { return sn::assign(a[0], a[1] > 0); };
  static_assert(fault_of(type, {{2}, {2}}).kind == fault_kind::mixed_dtypes);
  CHECK_THROWS_AS(result([](auto, auto s) { return sn::assign(s, s); }, floats({1}, {1}), 0.5f),
                  sn::graph_error);
  CHECK(result([](auto a) { return sn::assign(a, 3); }, floats({2}, {1, 2})) ==
        floats({2}, {3, 3}));
}

TEST_CASE("results come as handles, arrays, tuples and outputs") {
  const auto x = floats({}, {2});
  CHECK(results([](auto a) { return std::array{a, a + 1}; }, x).size() == 2);
  CHECK(results([](auto a) { return std::tuple(a, a > 0); }, x)[1] == bools({}, {1}));
  CHECK(results(
            [](auto a) {
              return sn::outputs(std::array{a, a + 1}, sn::assign(a, a * a));
            },
            x)[2] == floats({}, {4}));
  CHECK(result([](auto a) { return std::array{sn::assign(a, a + 5)}; }, x) == floats({}, {7}));
}

TEST_CASE("gradients of what cannot be differentiated are faults") {
  constexpr auto vector = [](auto a) { return sn::gradients(a[0] * 2, a[0]); };
  static_assert(is(fault_of(vector, {{2}}), fault_kind::wrong_rank, op::gradient, 1, 0));
  static_assert(fault_of(vector, {{}}, dtype::i32).kind == fault_kind::wrong_dtype);
  constexpr auto list = [](auto a) {
    return sn::gradients(sn::sum(a[0] * a[1]), std::array{a[0], a[1]});
  };
  static_assert(trace(list, {{2}, {2}}).outputs.size() == 2);
}

TEST_CASE("infinities are literals too") {
  CHECK(result([](auto a) { return sn::minimum(a, infinity); }, floats({2}, {1, infinity})) ==
        floats({2}, {1, infinity}));
}

}  // namespace expr_test
