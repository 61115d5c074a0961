// SPDX-License-Identifier: MIT
#include "roofline.hpp"

#include <algorithm>
#include <memory>

#include <Eigen/Core>

namespace bench {

namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Memory that the triad moves for less than it takes to start threads.
constexpr double one_thread_bytes = 256 << 10;

entrant triad(double bytes, int threads) {
  struct arrays {
    buffer a, b, c;
  };
  const auto n = static_cast<std::int64_t>(bytes / (3 * sizeof(float)));
  const auto use = std::make_shared<arrays>(arrays{buffer({n}), buffer({n}), buffer({n})});
  if (bytes < one_thread_bytes) threads = 1;
  return {"triad", [use, n, threads] {
            float* const a = use->a.data();
            const float *const b = use->b.data(), *const c = use->c.data();
            if (threads == 1) {
#pragma omp simd
              for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + 0.5f * c[i];
              return;
            }
#pragma omp parallel for simd num_threads(threads)
            for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + 0.5f * c[i];
          }};
}

// Products that Eigen's threads make slower on all but idle cores, as starting and waiting for them
// takes longer; it starts one per 100,000 flops.
constexpr double one_thread_flops = 2e6;

entrant bare_products(const std::vector<product>& products, int threads) {
  struct operands {
    matrix left, right, out;
    int times;
  };
  const auto use = std::make_shared<std::vector<operands>>();
  for (const product& each : products)
    use->push_back({matrix::Random(each.rows, each.depth), matrix::Random(each.depth, each.columns),
                    matrix(each.rows, each.columns), each.times});
  return {"products", [use, threads] {
            for (operands& each : *use) {
              const double flops = 2.0 * static_cast<double>(each.out.size() * each.left.cols());
              Eigen::setNbThreads(flops < one_thread_flops ? 1 : threads);
              for (int i = 0; i < each.times; ++i) each.out.noalias() = each.left * each.right;
            }
            Eigen::setNbThreads(threads);
          }};
}

}  // namespace

std::vector<entrant> limits_of(const description& of, int threads) {
  std::vector<entrant> out;
  if (of.bytes > 0) out.push_back(triad(of.bytes, threads));
  if (!of.products.empty()) out.push_back(bare_products(of.products, threads));
  return out;
}

}  // namespace bench
