// SPDX-License-Identifier: MIT
// Element-wise cases as an Eigen user writes them.
#include <unsupported/Eigen/SpecialFunctions>

#include "eigen.hpp"

namespace bench {

namespace {

side silu(const problem& p) {
  return side_with_result(p[0].shape(), [x = as_vector(p[0]), y = as_vector(p[1])](buffer& out) {
    as_vector(out) = (2.0f * x + 0.5f) / (1.0f + (-(2.0f * x + 0.5f)).exp()) * y;
  });
}

side bias_relu(const problem& p) {
  return side_with_result(p[0].shape(), [x = as_array(p[0]), b = as_row(p[1])](buffer& out) {
    as_array(out) = (x.rowwise() + b.array()).max(0.0f);
  });
}

// Blocked by hand, so that d1 and d2 are computed once and stay in the first cache. erf is in
// Eigen's unsupported modules, vectorised.
side blackscholes(const problem& p) {
  return side_with_result(p[0].shape(), [s = as_vector(p[0]), k = as_vector(p[1]),
                                         t = as_vector(p[2])](buffer& result) {
    constexpr Eigen::Index step = 1024;
    auto out = as_vector(result);
    Eigen::Array<float, step, 1> deviation, d1, d2;
    const auto normal = [](auto& d) { d = 0.5f * (1.0f + (d * 0.70710678f).erf()); };
    for (Eigen::Index i = 0; i < out.size(); i += step) {
      const auto spot = s.segment<step>(i), strike = k.segment<step>(i), time = t.segment<step>(i);
      deviation = 0.3f * time.sqrt();
      d1 = ((spot / strike).log() + 0.065f * time) / deviation;
      d2 = d1 - deviation;
      normal(d1);
      normal(d2);
      out.segment<step>(i) = spot * d1 - strike * (-0.02f * time).exp() * d2;
    }
  });
}

side transpose_add(const problem& p) {
  return side_with_result(p[0].shape(), [x = as_array(p[0]), y = as_array(p[1])](buffer& out) {
    as_array(out) = x.transpose() + y;
  });
}

side broadcast(const problem& p) {
  return side_with_result(p[0].shape(), [x = as_array(p[0]), row = as_row(p[1]),
                                         column = as_vector(p[2])](buffer& out) {
    as_array(out) = (x.rowwise() + row.array()).colwise() * column;
  });
}

// Into a new array in each call, which takes the place of the last one.
side fresh(const problem& p) {
  const auto out = std::make_shared<Eigen::ArrayXf>();
  return {.run =
              [out, x = as_vector(p[0]), b = as_vector(p[1])] {
                Eigen::ArrayXf made = (x + b).max(0.0f);
                out->swap(made);
              },
          .result = [out] { return std::vector<float>(out->begin(), out->end()); }};
}

}  // namespace

sides eigen_elementwise() {
  return {{"ew_4k", silu},
          {"ew_128k", silu},
          {"ew_16m", silu},
          {"bias_relu", bias_relu},
          {"blackscholes", blackscholes},
          {"transpose_add", transpose_add},
          {"broadcast", broadcast},
          {"fresh_1m", fresh}};
}

}  // namespace bench
