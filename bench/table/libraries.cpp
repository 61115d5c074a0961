// SPDX-License-Identifier: MIT
// The libraries that take part: a peer does where its headers were found.
#include <Eigen/Core>
#include <omp.h>

#include "../peers/eigen.hpp"
#include "../peers/peers.hpp"
#include "../sinter/side.hpp"

namespace bench {

namespace {

sides all_of(std::vector<sides> parts) {
  sides out;
  for (sides& each : parts) out.merge(each);
  return out;
}

}  // namespace

std::vector<library> all_libraries() {
  std::vector<library> out;
  out.push_back({"sinter", omp_set_num_threads,
                 all_of({sinter_elementwise(), sinter_rows(), sinter_products(), sinter_attention(),
                         sinter_convolution(), sinter_training(), sinter_calls()})});
  out.push_back({"Eigen", Eigen::setNbThreads,
                 all_of({eigen_elementwise(), eigen_rows(), eigen_products(), eigen_attention(),
                         eigen_convolution(), eigen_training()})});
#ifdef BENCH_XTENSOR
  out.push_back(xtensor_library());
#endif
#ifdef BENCH_ONEDNN
  out.push_back(onednn_library());
#endif
#ifdef BENCH_TORCH
  out.push_back(torch_library());
#endif
  return out;
}

}  // namespace bench
