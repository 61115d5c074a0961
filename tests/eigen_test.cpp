// SPDX-License-Identifier: MIT
#include <array>
#include <type_traits>

#include <Eigen/Core>
#include <doctest/doctest.h>

#include <sinter/tensor/eigen.hpp>

namespace eigen_test {

namespace sn = sinter;

using row_major_matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

TEST_CASE("a view of an Eigen matrix in either storage order copies nothing") {
  Eigen::MatrixXf columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  row_major_matrix rows = columns;
  const auto x = sn::make_view(columns);
  const auto y = sn::make_view(rows);
  static_assert(std::is_same_v<decltype(x), const sn::view<float, 2>>);
  CHECK(x.data() == columns.data());
  CHECK(y.data() == rows.data());
  CHECK(x.strides() == sn::shape_vector{1, 2});
  CHECK(y.strides() == sn::shape_vector{3, 1});
  const sn::tensor<float, 2> expected{{1, 2, 3}, {4, 5, 6}};
  CHECK(sn::tensor<float, 2>(x) == expected);
  CHECK(sn::tensor<float, 2>(y) == expected);
  x(1, 0) = 9;
  CHECK(columns(1, 0) == 9);
}

TEST_CASE("views of maps, blocks, vectors and fixed sizes") {
  std::array<float, 6> memory{0, 1, 2, 3, 4, 5};
  const auto vector = sn::make_view(Eigen::Map<Eigen::VectorXf>(memory.data(), 6));
  static_assert(std::is_same_v<decltype(vector), const sn::view<float, 1>>);
  CHECK(vector.data() == memory.data());

  const auto every_second =
      sn::make_view(Eigen::Map<const Eigen::VectorXf, 0, Eigen::InnerStride<2>>(memory.data(), 3));
  static_assert(std::is_same_v<decltype(every_second), const sn::view<const float, 1>>);
  CHECK(every_second(2) == 4);

  row_major_matrix matrix(2, 3);
  matrix << 1, 2, 3, 4, 5, 6;
  const auto column = sn::make_view(matrix.col(1));
  CHECK(sn::tensor<float, 1>(column) == sn::tensor<float, 1>{2, 5});
  CHECK(sn::make_view(matrix.block(0, 1, 2, 2))(1, 1) == 6);

  const Eigen::Matrix<double, 2, 3> fixed = Eigen::Matrix<double, 2, 3>::Constant(2);
  static_assert(
      std::is_same_v<decltype(sn::make_view(fixed)), sn::view<const double, sn::extents<2, 3>>>);
  CHECK(sn::make_view(fixed)(1, 2) == 2);
}

TEST_CASE("an Eigen map of a tensor copies nothing") {
  sn::tensor<float, 2> x{{1, 2, 3}, {4, 5, 6}};
  auto map = sn::as_eigen(x);
  CHECK(map.data() == x.data());
  CHECK(map(1, 0) == 4);
  map *= 2;
  CHECK(x(1, 2) == 12);
  const auto& constant = x;
  CHECK(sn::as_eigen(constant).sum() == 42);

  sn::tensor<float, 1> v{1, 2, 3};
  CHECK((map * sn::as_eigen(v)).eval()(0) == 28);

  // Eigen insists on a storage order for single rows and columns.
  sn::tensor<float, sn::extents<3, 1>> column;
  sn::as_eigen(column).setConstant(5);
  CHECK(column(2, 0) == 5);
  sn::tensor<float, sn::extents<1, 3>> row;
  sn::as_eigen(row)(0, 1) = 4;
  CHECK(row(0, 1) == 4);
  const sn::tensor<float, 2> empty;
  CHECK(sn::as_eigen(empty).size() == 0);
}

TEST_CASE("an Eigen map of a view keeps its strides") {
  sn::tensor<float, 2> x{{1, 2, 3}, {4, 5, 6}};
  const auto transposed = sn::make_view(x.data(), std::array{3, 2}, std::array{1, 3});
  CHECK(sn::as_eigen(transposed) == sn::as_eigen(x).transpose());
  const auto second_column = sn::make_view(x.data() + 1, std::array{2}, std::array{3});
  CHECK(sn::as_eigen(second_column)(1) == 5);
  const sn::view<float, sn::extents<sn::dyn, 1>> as_matrix(x.data() + 1, {2, 1}, {3, 1});
  CHECK(sn::as_eigen(as_matrix)(1, 0) == 5);
  const auto flipped = sn::make_view(x.data() + 5, std::array{6}, std::array{-1});
  CHECK_THROWS_AS(sn::as_eigen(flipped), sn::shape_error);
}

}  // namespace eigen_test
