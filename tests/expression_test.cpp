// SPDX-License-Identifier: MIT
// Expressions: what they own, the order of their leaves, their keys, and tracing them at run time
// and by type.
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/trace_lambda.hpp"

namespace expression_test {

namespace sn = sinter;
using namespace test_support;

namespace {

// The expression's graph, its leaves as arguments with dynamic extents, and what the interpreter
// makes of it.
template <class E>
sn::ir::graph graph_of(const E& e, std::vector<reference_tensor>* values = nullptr) {
  sn::ir::graph g;
  int number = 0;
  std::int64_t symbols = 0;
  const sn::handle out = e.trace([&]<class Leaf>(const Leaf& leaf) {
    reference_tensor value;
    sn::ir::symbolic_shape shape;
    if constexpr (sn::Scalar<Leaf>) {
      value = {sn::dtype_of<Leaf>, {}, {static_cast<double>(leaf)}};
    } else {
      using element = std::remove_const_t<typename Leaf::element_type>;
      value = sn::ir::filled(sn::dtype_of<element>, leaf.shape(), 0);
      for (std::size_t i = 0; i < value.data.size(); ++i)
        value.data[i] = static_cast<double>(leaf.data()[i]);
      for (std::size_t i = 0; i < leaf.shape().size(); ++i)
        shape.push_back(g.dims.symbol(symbols++));
    }
    if (values != nullptr) values->push_back(value);
    return sn::handle(sn::ir::argument(g, value.type, number++, shape, sn::Scalar<Leaf>));
  });
  g.outputs.push_back({out.node.id, -1});
  return g;
}

template <class E>
reference_tensor value_of(const E& e) {
  std::vector<reference_tensor> values;
  const sn::ir::graph g = graph_of(e, &values);
  return sn::ir::interpret(g, values)[0];
}

template <class E>
std::vector<std::int64_t> key_of(const E& e) {
  std::vector<std::int64_t> key;
  e.append_key(key);
  return key;
}

// Everything local dies here; the expression must not care (run this under AddressSanitizer).
auto log_softmax_of_locals() {
  sn::tensor<float, 2> x{{1, 2, 3}, {1, 1, 1}};
  const float temperature = 2;
  auto scaled = x / temperature;
  auto shifted = scaled - sn::max(scaled, -1, sn::keep_dims);
  return shifted - sn::log(sn::sum(sn::exp(shifted), -1, sn::keep_dims));
}

}  // namespace

TEST_CASE("an expression of locals outlives them") {
  const auto e = log_softmax_of_locals();
  const reference_tensor y = value_of(e);
  CHECK(
      close(y, floats({2, 3}, {-1.680270, -1.180270, -0.680270, -1.098612, -1.098612, -1.098612})));
}

TEST_CASE("an expression sees elements as they are when it is evaluated") {
  sn::tensor<float, 1> x{1, 2};
  const auto e = x + 1.0f;
  x(0) = 10;
  CHECK(value_of(e) == floats({2}, {11, 3}));
  // An assignment that replaces the tensor leaves the expression what it was built from.
  x = sn::tensor<float, 1>{5, 6, 7};
  CHECK(value_of(e) == floats({2}, {11, 3}));
}

TEST_CASE("temporaries, views and sub-expressions are held by value") {
  std::vector<float> memory{1, 2, 3};
  const auto borrowed = sn::make_view(memory.data(), 3);
  auto e = sn::relu(sn::tensor<float, 1>{-1, 0, 1} * 2) + borrowed;
  auto f = std::move(e) * borrowed;
  memory[2] = 4;
  CHECK(value_of(f) == floats({3}, {1, 4, 24}));
  static_assert(
      std::is_same_v<
          sn::leaf_types<decltype(f)>,
          sn::type_list<sn::shared_tensor<float, 1>, int, sn::view<float, 1>, sn::view<float, 1>>>);
  auto g = f;  // a copy shares what the original holds
  CHECK(value_of(g) == value_of(f));
}

TEST_CASE("leaves are visited in the order in which they were written") {
  sn::tensor<float, 1> x{1}, y{2};
  const auto e = (3.0f - x) * sn::where(y > x, 4.0, y) + sn::full<float>(5, 1);
  std::vector<double> seen;
  e.for_each_leaf([&](const auto& leaf) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(leaf)>>)
      seen.push_back(static_cast<double>(leaf));
    else
      seen.push_back(static_cast<double>(leaf.data()[0]));
  });
  CHECK(seen == std::vector<double>{3, 1, 2, 1, 4, 2, 5});
  CHECK(value_of(e) == floats({1}, {13}));
}

TEST_CASE("keys hold attribute values, not scalars") {
  sn::tensor<float, 2> x(2, 2);
  CHECK(key_of(x * 2.0f + 1.0f).empty());
  CHECK(key_of(x * 2.0f) == key_of(x * 3.0f));
  static_assert(
      std::is_same_v<decltype(sn::layer_norm(x, 1e-6)), decltype(sn::layer_norm(x, 1e-3))>);
  CHECK(key_of(sn::layer_norm(x, 1e-6)) != key_of(sn::layer_norm(x, 1e-3)));
  CHECK(key_of(sn::sum(x, 0)) != key_of(sn::sum(x, 1)));
  CHECK(key_of(sn::sum(x, {0, 1})) != key_of(sn::sum(x)));
  CHECK(key_of(sn::sum(x, 0)) != key_of(sn::sum(x, 0, sn::keep_dims)));
  CHECK(key_of(sn::exp(sn::slice(x, 0, 0, 1)) + x) != key_of(sn::exp(sn::slice(x, 0, 0, 2)) + x));
  CHECK(key_of(sn::pad(x, {{0, 0}, {0, 1}})) != key_of(sn::pad(x, {{0, 0}, {0, 1}}, 1)));
  CHECK(key_of(sn::reshape(x, sn::extent(x, 1), -1)) !=
        key_of(sn::reshape(x, sn::extent(x, 0), -1)));
  static_assert(!decltype(sn::relu(sn::matmul(x, x)) + 1.0f)::has_attributes);
  static_assert(!decltype(sn::softmax(x) / sn::sum(x))::has_attributes);
  static_assert(decltype(sn::exp(sn::sum(x, 0)) + 1.0f)::has_attributes);
}

TEST_CASE("an expression type is traced by the compiler as its object is at run time") {
  sn::tensor<float, 2> x(2, 3), w(3, 4);
  sn::tensor<float, 1> b(4);
  const auto e = sn::relu(sn::matmul(x, w) + b) * 2.0f;
  using type = std::remove_const_t<decltype(e)>;
  constexpr auto traced_by_type = [] {
    sn::ir::graph g;
    const std::array leaves{sn::handle(sn::ir::argument(g, dtype::f32, 0, {2, 3})),
                            sn::handle(sn::ir::argument(g, dtype::f32, 1, {3, 4})),
                            sn::handle(sn::ir::argument(g, dtype::f32, 2, {4})),
                            sn::handle(sn::ir::argument(g, dtype::f32, 3, {}, true))};
    const sn::handle out = sn::trace_type<type>(leaves);
    return std::pair{g[out.node.id].code, g.size()};
  };
  static_assert(traced_by_type() == std::pair{sn::ir::op::mul, 10});
  const sn::ir::graph g = graph_of(e);
  CHECK(g[g.outputs[0].node].code == sn::ir::op::mul);
}

TEST_CASE("equality of tensors stays a bool, that of expressions is element-wise") {
  const sn::tensor<float, 1> x{1, 2}, y{1, 3};
  static_assert(std::is_same_v<decltype(x == y), bool>);
  CHECK(x == x);
  CHECK(x != y);
  CHECK(value_of(sn::equal(x, y)) == bools({2}, {1, 0}));
  CHECK(value_of(x + 0 == y) == bools({2}, {1, 0}));
  CHECK(value_of(y != 1 * x) == bools({2}, {0, 1}));
  CHECK(value_of(x < y) == bools({2}, {0, 1}));
}

TEST_CASE("creation functions are expressions of their own") {
  CHECK(value_of(sn::iota<float>(3) * 2) == floats({3}, {0, 2, 4}));
  CHECK(value_of(sn::full<std::int32_t>(4, 2)) == ints({2}, {4, 4}));
  CHECK(value_of(sn::uniform<float>(3, 4)).shape == sn::shape_vector{4});
  sn::tensor<float, 2> x(2, 3);
  CHECK(value_of(sn::reshape(x, sn::extent(x, 1), -1)).shape == sn::shape_vector{3, 2});
  CHECK(value_of(sn::concat(1, x, x + 1)).shape == sn::shape_vector{2, 6});
  CHECK(value_of(sn::sum(sn::dropout(x + 1, 7, 1.0f))) == floats({}, {6}));
}

}  // namespace expression_test
