// SPDX-License-Identifier: MIT
// Eigen's sides of the cases: views of the problem's memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "../table/case.hpp"

namespace bench {

using eigen_array = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using eigen_matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using eigen_row = Eigen::RowVectorXf;

inline auto as_vector(const buffer& x) { return Eigen::Map<Eigen::ArrayXf>(x.data(), x.size()); }
inline auto as_row(const buffer& x) { return Eigen::Map<eigen_row>(x.data(), x.size()); }
inline auto as_array(const buffer& x) {
  return Eigen::Map<eigen_array>(x.data(), x.extent(0), x.extent(1));
}
inline auto as_matrix(const buffer& x) {
  return Eigen::Map<eigen_matrix>(x.data(), x.extent(0), x.extent(1));
}

// A side that writes its result into a buffer of this shape: run(buffer).
template <class Run>
side side_with_result(std::vector<std::int64_t> shape, Run run) {
  const auto out = std::make_shared<buffer>(std::move(shape));
  return {.run = [out, run = std::move(run)]() mutable { run(*out); },
          .result = [out] { return std::vector<float>(out->begin(), out->end()); }};
}

sides eigen_elementwise();
sides eigen_rows();
sides eigen_products();
sides eigen_attention();
sides eigen_convolution();
sides eigen_training();

}  // namespace bench
