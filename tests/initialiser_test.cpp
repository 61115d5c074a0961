// SPDX-License-Identifier: MIT
// First values of parameters: moments of the distributions, fans, orthogonality, and that the same
// seed gives the same numbers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <doctest/doctest.h>

#include <sinter/layers/initialiser.hpp>
#include <sinter/sinter.hpp>

namespace initialiser_test {

namespace sn = sinter;

namespace {

struct moments {
  double mean = 0, deviation = 0, low = 0, high = 0;

  template <class Tensor>
  explicit moments(const Tensor& x) : low(*x.begin()), high(*x.begin()) {
    for (const auto v : x) {
      mean += v;
      deviation += static_cast<double>(v) * v;
      low = std::min<double>(low, v);
      high = std::max<double>(high, v);
    }
    const auto n = static_cast<double>(x.size());
    mean /= n;
    deviation = std::sqrt(deviation / n - mean * mean);
  }
};

template <class Kind>
struct pair_of {
  sn::parameter<Kind, 2> weight;
  sn::parameter<Kind, 1> bias;
};

}  // namespace

TEST_CASE("constants fill a tensor or a struct of tensors") {
  sn::initialiser init(0);
  pair_of<sn::stored<float>> m{{{1, 2}}, {3, 4, 5}};
  init.ones(m);
  CHECK(m.weight == sn::tensor<float, 2>{{1, 1}});
  CHECK(m.bias == sn::tensor<float, 1>{1, 1, 1});
  init.constant(m.bias, 0.5);
  CHECK(m.bias(2) == 0.5f);
  init.zeros(m);
  CHECK(m.weight(0, 1) == 0);
}

TEST_CASE("uniform, normal and truncated normal numbers have their moments") {
  sn::initialiser init(7);
  sn::tensor<double, 1> x(40000);
  init.uniform(x, -1, 3);
  const moments u(x);
  CHECK(u.mean == doctest::Approx(1).epsilon(0.02));
  CHECK(u.deviation == doctest::Approx(4 / std::sqrt(12.0)).epsilon(0.02));
  CHECK(u.low >= -1);
  CHECK(u.high < 3);
  init.normal(x, 5, 2);
  const moments n(x);
  CHECK(n.mean == doctest::Approx(5).epsilon(0.02));
  CHECK(n.deviation == doctest::Approx(2).epsilon(0.02));
  CHECK(n.high > 5 + 2 * 3);
  init.truncated_normal(x, 5, 2);
  const moments t(x);
  CHECK(t.mean == doctest::Approx(5).epsilon(0.02));
  CHECK(t.deviation == doctest::Approx(2 * 0.8796).epsilon(0.02));
  CHECK(t.low >= 1);
  CHECK(t.high <= 9);
  CHECK(t.high > 8.5);
}

TEST_CASE("Xavier's and He's variances follow the fans of matrices and filters") {
  sn::initialiser init(8);
  sn::tensor<float, 2> matrix(100, 300);
  sn::tensor<float, 4> filters(40, 20, 5, 3);
  const auto deviation = [](const auto& x) { return moments(x).deviation; };
  init.xavier_uniform(matrix);
  CHECK(deviation(matrix) == doctest::Approx(std::sqrt(2 / 400.0)).epsilon(0.03));
  CHECK(moments(matrix).high <= std::sqrt(6 / 400.0));
  init.xavier_normal(matrix, 2);
  CHECK(deviation(matrix) == doctest::Approx(2 * std::sqrt(2 / 400.0)).epsilon(0.03));
  init.he_uniform(matrix);
  CHECK(deviation(matrix) == doctest::Approx(std::sqrt(2 / 100.0)).epsilon(0.03));
  init.he_normal(filters, 1);
  CHECK(deviation(filters) == doctest::Approx(std::sqrt(1 / 300.0)).epsilon(0.03));
  init.xavier_uniform(filters);
  CHECK(deviation(filters) == doctest::Approx(std::sqrt(2 / 900.0)).epsilon(0.03));
  sn::tensor<float, 1> bias(3);
  CHECK_THROWS_AS(init.he_normal(bias), sn::shape_error);
  CHECK_THROWS_AS(init.orthogonal(bias), sn::shape_error);
  sn::tensor<float, 2> empty(0, 5);
  CHECK_NOTHROW(init.xavier_normal(empty));
  CHECK_NOTHROW(init.orthogonal(empty));
}

TEST_CASE("orthogonal matrices are, along their shorter side") {
  sn::initialiser init(9);
  for (const auto& [rows, columns] : {std::pair{6, 6}, {3, 8}, {8, 3}, {1, 4}}) {
    sn::tensor<double, 2> x(rows, columns);
    init.orthogonal(x, 2);
    const bool wide = rows < columns;
    const int count = std::min(rows, columns), length = std::max(rows, columns);
    for (int i = 0; i < count; ++i)
      for (int j = 0; j <= i; ++j) {
        double total = 0;
        for (int k = 0; k < length; ++k) total += wide ? x(i, k) * x(j, k) : x(k, i) * x(k, j);
        CHECK(total == doctest::Approx(i == j ? 4 : 0).epsilon(1e-12));
      }
  }
}

TEST_CASE("numbers depend on the seed, the tensor's turn and the place of the element") {
  sn::tensor<float, 1> a(5), b(5), c(5), longer(9);
  sn::initialiser first(1), second(1), other(2);
  first.normal(a, 0, 1);
  first.normal(b, 0, 1);
  second.normal(longer, 0, 1);
  second.normal(c, 0, 1);
  CHECK(b == c);
  CHECK(a != b);
  for (int i = 0; i < 5; ++i) CHECK(a(i) == longer(i));
  other.normal(c, 0, 1);
  CHECK(a != c);
  // Known: the definition is Threefry of (seed, 2^20 turn, place).
  sn::initialiser known(42);
  sn::tensor<double, 1> u(2);
  known.uniform(u, 0, 1);
  known.uniform(u, 0, 1);
  CHECK(u(1) == sn::ir::uniform(42, 1 << 20, 1, true));
}

}  // namespace initialiser_test
