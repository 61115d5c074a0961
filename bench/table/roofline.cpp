// SPDX-License-Identifier: MIT
// The triad and the bare products.
#include "roofline.hpp"

#include <algorithm>
#include <memory>

#include <Eigen/Core>

namespace bench {

namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::function<void()> triad(double bytes, int threads) {
  struct arrays {
    buffer a, b, c;
  };
  const auto n = static_cast<std::int64_t>(bytes / (3 * sizeof(float)));
  const auto use = std::make_shared<arrays>(arrays{buffer({n}), buffer({n}), buffer({n})});
  return [use, n, threads] {
    float* const a = use->a.data();
    const float *const b = use->b.data(), *const c = use->c.data();
    if (threads == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + 0.5f * c[i];
      return;
    }
#pragma omp parallel for simd num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + 0.5f * c[i];
  };
}

std::function<void()> bare_products(const std::vector<product>& products, int threads) {
  struct operands {
    matrix left, right, out;
    int times;
  };
  const auto use = std::make_shared<std::vector<operands>>();
  for (const product& each : products)
    use->push_back({matrix::Random(each.rows, each.depth), matrix::Random(each.depth, each.columns),
                    matrix(each.rows, each.columns), each.times});
  return [use, threads] {
    const int before = Eigen::nbThreads();
    Eigen::setNbThreads(threads);
    for (operands& each : *use)
      for (int i = 0; i < each.times; ++i) each.out.noalias() = each.left * each.right;
    Eigen::setNbThreads(before);
  };
}

}  // namespace

std::vector<limit> limits_of(const description& of, int threads) {
  std::vector<limit> out;
  for (const int n : threads == 1 ? std::vector{1} : std::vector{1, threads}) {
    if (of.bytes > 0) out.push_back({"memory", n, triad(of.bytes, n)});
    if (!of.products.empty()) out.push_back({"products", n, bare_products(of.products, n)});
  }
  return out;
}

}  // namespace bench
