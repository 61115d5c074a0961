// SPDX-License-Identifier: MIT
// Reductions and norms as an Eigen user writes them: rows one at a time where a row is used twice.
#include <cmath>

#include "eigen.hpp"

namespace bench {

namespace {

side softmax(const problem& p) {
  return side_with_result(p[0].shape(), [x = as_array(p[0])](buffer& result) {
    auto out = as_array(result);
    for (Eigen::Index r = 0; r < x.rows(); ++r) {
      out.row(r) = (x.row(r) - x.row(r).maxCoeff()).exp();
      out.row(r) *= 1.0f / out.row(r).sum();
    }
  });
}

side layernorm(const problem& p) {
  return side_with_result(
      p[0].shape(), [x = as_array(p[0]), g = as_row(p[1]), b = as_row(p[2])](buffer& result) {
        auto out = as_array(result);
        for (Eigen::Index r = 0; r < x.rows(); ++r) {
          const float mean = x.row(r).mean();
          const float scale = 1.0f / std::sqrt((x.row(r) - mean).square().mean() + 1e-5f);
          out.row(r) = (x.row(r) - mean) * scale * g.array() + b.array();
        }
      });
}

side mse(const problem& p) {
  return side_with_result({}, [x = as_vector(p[0]), y = as_vector(p[1])](buffer& out) {
    *out.data() = (x - y).square().mean();
  });
}

side dot(const problem& p) {
  return side_with_result(
      {}, [x = as_vector(p[0]), y = as_vector(p[1])](buffer& out) { *out.data() = (x * y).sum(); });
}

side sum_rows(const problem& p) {
  return side_with_result({p[0].extent(0)}, [x = as_array(p[0])](buffer& out) {
    for (Eigen::Index r = 0; r < x.rows(); ++r) out.data()[r] = x.row(r).sum();
  });
}

side max_rows(const problem& p) {
  return side_with_result({p[0].extent(0)}, [x = as_array(p[0])](buffer& out) {
    for (Eigen::Index r = 0; r < x.rows(); ++r) out.data()[r] = x.row(r).maxCoeff();
  });
}

// What is reduced over columns goes row by row, so that memory is read in order: `colwise` takes
// seven times as long.
using row_array = Eigen::Array<float, 1, Eigen::Dynamic>;

side sum_columns(const problem& p) {
  return side_with_result({p[0].extent(1)}, [x = as_array(p[0])](buffer& result) {
    auto out = as_row(result).array();
    out = x.row(0);
    for (Eigen::Index r = 1; r < x.rows(); ++r) out += x.row(r);
  });
}

side batchnorm(const problem& p) {
  return side_with_result(p[0].shape(), [x = as_array(p[0])](buffer& result) {
    auto out = as_array(result);
    const float share = 1 / static_cast<float>(x.rows());
    row_array mean = x.row(0);
    for (Eigen::Index r = 1; r < x.rows(); ++r) mean += x.row(r);
    mean *= share;
    row_array scale = (x.row(0) - mean).square();
    for (Eigen::Index r = 1; r < x.rows(); ++r) scale += (x.row(r) - mean).square();
    scale = (scale * share + 1e-5f).rsqrt();
    for (Eigen::Index r = 0; r < x.rows(); ++r) out.row(r) = (x.row(r) - mean) * scale;
  });
}

side logsumexp_columns(const problem& p) {
  return side_with_result({p[0].extent(1)}, [x = as_array(p[0])](buffer& result) {
    auto out = as_row(result).array();
    row_array top = x.row(0);
    for (Eigen::Index r = 1; r < x.rows(); ++r) top = top.max(x.row(r));
    out = (x.row(0) - top).exp();
    for (Eigen::Index r = 1; r < x.rows(); ++r) out += (x.row(r) - top).exp();
    out = out.log() + top;
  });
}

side logsumexp_rows(const problem& p) {
  return side_with_result({p[0].extent(0)}, [x = as_array(p[0])](buffer& out) {
    for (Eigen::Index r = 0; r < x.rows(); ++r) {
      const float top = x.row(r).maxCoeff();
      out.data()[r] = std::log((x.row(r) - top).exp().sum()) + top;
    }
  });
}

}  // namespace

sides eigen_rows() {
  return {{"softmax", softmax},
          {"layernorm", layernorm},
          {"mse_16m", mse},
          {"dot_1m", dot},
          {"sum_axis0", sum_columns},
          {"sum_axis1", sum_rows},
          {"max_axis1", max_rows},
          {"softmax_16", softmax},
          {"layernorm_1000", layernorm},
          {"batchnorm", batchnorm},
          {"logsumexp_axis0", logsumexp_columns},
          {"logsumexp_axis1", logsumexp_rows}};
}

}  // namespace bench
