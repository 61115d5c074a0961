// SPDX-License-Identifier: MIT
// The cases that xtensor has ops for, with xsimd: expressions over views of contiguous memory, rows
// one at a time where a row is used twice. It runs them on one thread.
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>

#include "peers.hpp"

namespace bench {

namespace {

auto flat(const buffer& x) {
  return xt::adapt(x.data(), static_cast<std::size_t>(x.size()), xt::no_ownership(),
                   std::array{static_cast<std::size_t>(x.size())});
}
auto plane(const buffer& x) {
  return xt::adapt(
      x.data(), static_cast<std::size_t>(x.size()), xt::no_ownership(),
      std::array{static_cast<std::size_t>(x.extent(0)), static_cast<std::size_t>(x.extent(1))});
}
auto row(const buffer& x, std::int64_t number) {
  const auto columns = static_cast<std::size_t>(x.extent(1));
  return xt::adapt(x.data() + number * x.extent(1), columns, xt::no_ownership(),
                   std::array{columns});
}

// All of an expression, now.
template <class X>
float total(X&& x) {
  return xt::sum(std::forward<X>(x), xt::evaluation_strategy::immediate)();
}
template <class X>
float largest(X&& x) {
  return xt::amax(std::forward<X>(x), xt::evaluation_strategy::immediate)();
}

template <class Run>
side side_with_result(std::vector<std::int64_t> shape, Run run) {
  const auto out = std::make_shared<buffer>(std::move(shape));
  return {[out, run = std::move(run)] { run(*out); },
          [out] { return std::vector<float>(out->begin(), out->end()); }};
}

side silu(const problem& p) {
  return side_with_result(p[0].shape(), [x = flat(p[0]), y = flat(p[1])](buffer& result) {
    auto out = flat(result);
    const auto z = 2.0f * x + 0.5f;
    xt::noalias(out) = z / (1.0f + xt::exp(-z)) * y;
  });
}

side bias_relu(const problem& p) {
  return side_with_result(p[0].shape(), [&p, b = flat(p[1])](buffer& result) {
    for (std::int64_t r = 0; r < result.extent(0); ++r) {
      auto out = row(result, r);
      xt::noalias(out) = xt::maximum(row(p[0], r) + b, 0.0f);
    }
  });
}

side blackscholes(const problem& p) {
  return side_with_result(p[0].shape(), [&p](buffer& result) {
    // Blocks, so that d1 and d2 are computed once and stay in the first cache.
    constexpr std::size_t step = 1024;
    const std::array shape{step};
    xt::xtensor<float, 1> d1(shape), d2(shape);
    for (std::int64_t i = 0; i < result.size(); i += step) {
      const auto part = [&](const buffer& x) {
        return xt::adapt(x.data() + i, step, xt::no_ownership(), shape);
      };
      const auto spot = part(p[0]), strike = part(p[1]), time = part(p[2]);
      auto out = part(result);
      const auto normal = [](const auto& d) { return 0.5f * (1.0f + xt::erf(d * 0.70710678f)); };
      const auto deviation = 0.3f * xt::sqrt(time);
      xt::noalias(d1) = (xt::log(spot / strike) + 0.065f * time) / deviation;
      xt::noalias(d2) = d1 - deviation;
      xt::noalias(out) = spot * normal(d1) - strike * xt::exp(-0.02f * time) * normal(d2);
    }
  });
}

side transpose_add(const problem& p) {
  return side_with_result(p[0].shape(), [x = plane(p[0]), y = plane(p[1])](buffer& result) {
    auto out = plane(result);
    xt::noalias(out) = xt::transpose(x) + y;
  });
}

side broadcast(const problem& p) {
  return side_with_result(p[0].shape(), [&p, b = flat(p[1])](buffer& result) {
    for (std::int64_t r = 0; r < result.extent(0); ++r) {
      auto out = row(result, r);
      xt::noalias(out) = (row(p[0], r) + b) * p[2].data()[r];
    }
  });
}

side softmax(const problem& p) {
  return side_with_result(p[0].shape(), [&p](buffer& result) {
    for (std::int64_t r = 0; r < result.extent(0); ++r) {
      const auto x = row(p[0], r);
      auto out = row(result, r);
      xt::noalias(out) = xt::exp(x - largest(x));
      out *= 1.0f / total(out);
    }
  });
}

side layernorm(const problem& p) {
  return side_with_result(p[0].shape(), [&p, g = flat(p[1]), b = flat(p[2])](buffer& result) {
    const auto columns = static_cast<float>(result.extent(1));
    for (std::int64_t r = 0; r < result.extent(0); ++r) {
      const auto x = row(p[0], r);
      auto out = row(result, r);
      const float mean = total(x) / columns;
      const float scale = 1.0f / std::sqrt(total(xt::square(x - mean)) / columns + 1e-5f);
      xt::noalias(out) = (x - mean) * scale * g + b;
    }
  });
}

// In blocks: one sum of floats is 3 % off after so many.
side mse(const problem& p) {
  return side_with_result({}, [&p](buffer& out) {
    constexpr std::size_t step = 4096;
    double sum = 0;
    for (std::int64_t i = 0; i < p[0].size(); i += step) {
      const auto part = [&](const buffer& x) {
        return xt::adapt(x.data() + i, step, xt::no_ownership(), std::array{step});
      };
      sum += total(xt::square(part(p[0]) - part(p[1])));
    }
    *out.data() = static_cast<float>(sum / static_cast<double>(p[0].size()));
  });
}

side sum_columns(const problem& p) {
  return side_with_result({p[0].extent(1)}, [&p](buffer& result) {
    auto out = flat(result);
    xt::noalias(out) = row(p[0], 0);
    for (std::int64_t r = 1; r < p[0].extent(0); ++r) out += row(p[0], r);
  });
}

side sum_rows(const problem& p) {
  return side_with_result({p[0].extent(0)}, [&p](buffer& out) {
    for (std::int64_t r = 0; r < p[0].extent(0); ++r) out.data()[r] = total(row(p[0], r));
  });
}

side max_rows(const problem& p) {
  return side_with_result({p[0].extent(0)}, [&p](buffer& out) {
    for (std::int64_t r = 0; r < p[0].extent(0); ++r) out.data()[r] = largest(row(p[0], r));
  });
}

side batchnorm(const problem& p) {
  return side_with_result(p[0].shape(), [&p](buffer& result) {
    const std::int64_t rows = result.extent(0);
    const std::array shape{static_cast<std::size_t>(result.extent(1))};
    const auto count = static_cast<float>(rows);
    xt::xtensor<float, 1> mean = xt::zeros<float>(shape), scale = xt::zeros<float>(shape);
    for (std::int64_t r = 0; r < rows; ++r) mean += row(p[0], r);
    mean *= 1.0f / count;
    for (std::int64_t r = 0; r < rows; ++r) scale += xt::square(row(p[0], r) - mean);
    scale = 1.0f / xt::sqrt(scale * (1.0f / count) + 1e-5f);
    for (std::int64_t r = 0; r < rows; ++r) {
      auto out = row(result, r);
      xt::noalias(out) = (row(p[0], r) - mean) * scale;
    }
  });
}

side logsumexp_columns(const problem& p) {
  return side_with_result({p[0].extent(1)}, [&p](buffer& result) {
    auto out = flat(result);
    xt::xtensor<float, 1> top = row(p[0], 0);
    for (std::int64_t r = 1; r < p[0].extent(0); ++r) top = xt::maximum(top, row(p[0], r));
    xt::noalias(out) = xt::exp(row(p[0], 0) - top);
    for (std::int64_t r = 1; r < p[0].extent(0); ++r) out += xt::exp(row(p[0], r) - top);
    xt::noalias(out) = xt::log(out) + top;
  });
}

side logsumexp_rows(const problem& p) {
  return side_with_result({p[0].extent(0)}, [&p](buffer& out) {
    for (std::int64_t r = 0; r < p[0].extent(0); ++r) {
      const auto x = row(p[0], r);
      const float top = largest(x);
      out.data()[r] = std::log(total(xt::exp(x - top))) + top;
    }
  });
}

}  // namespace

library xtensor_library() {
  return {"xtensor",
          [](int) {},
          {{"ew_4k", silu},
           {"ew_128k", silu},
           {"ew_16m", silu},
           {"bias_relu", bias_relu},
           {"blackscholes", blackscholes},
           {"transpose_add", transpose_add},
           {"broadcast", broadcast},
           {"softmax", softmax},
           {"layernorm", layernorm},
           {"softmax_16", softmax},
           {"layernorm_1000", layernorm},
           {"mse_16m", mse},
           {"sum_axis0", sum_columns},
           {"sum_axis1", sum_rows},
           {"max_axis1", max_rows},
           {"batchnorm", batchnorm},
           {"logsumexp_axis0", logsumexp_columns},
           {"logsumexp_axis1", logsumexp_rows}}};
}

}  // namespace bench
