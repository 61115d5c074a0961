// SPDX-License-Identifier: MIT
// A convolution as an Eigen user writes it, who has none: the windows of an image as the columns of
// a matrix, which the filters are multiplied with.
#include "eigen.hpp"

namespace bench {

namespace {

// Row (channel, y, x) of the columns is the image moved by (y - 1, x - 1), zero around it.
void windows_of(const float* image, std::int64_t channels, std::int64_t height, std::int64_t width,
                eigen_matrix& columns) {
  const std::int64_t size = height * width;
  for (std::int64_t c = 0; c < channels; ++c) {
    const Eigen::Map<const eigen_matrix> plane(image + c * size, height, width);
    for (std::int64_t y = 0; y < 3; ++y)
      for (std::int64_t x = 0; x < 3; ++x) {
        Eigen::Map<eigen_matrix> moved(columns.row((c * 3 + y) * 3 + x).data(), height, width);
        const auto first = [](std::int64_t at) { return at == 0 ? 1 : 0; };
        const auto count = [](std::int64_t at, std::int64_t extent) {
          return at == 1 ? extent : extent - 1;
        };
        const std::int64_t rows = count(y, height), across = count(x, width);
        if (rows < height) moved.row(y == 0 ? 0 : height - 1).setZero();
        if (across < width) moved.col(x == 0 ? 0 : width - 1).setZero();
        moved.block(first(y), first(x), rows, across) =
            plane.block(first(2 - y), first(2 - x), rows, across);
      }
  }
}

side conv3x3_relu(const problem& p) {
  const std::int64_t channels = p[0].extent(1), height = p[0].extent(2), width = p[0].extent(3),
                     size = height * width;
  return side_with_result(
      p[0].shape(), [=, &p, columns = eigen_matrix(channels * 9, size)](buffer& result) mutable {
        const std::int64_t filters = p[1].extent(0);
        const Eigen::Map<const eigen_matrix> weights(p[1].data(), filters, channels * 9);
        for (std::int64_t n = 0; n < p[0].extent(0); ++n) {
          windows_of(p[0].data() + n * channels * size, channels, height, width, columns);
          Eigen::Map<eigen_matrix> out(result.data() + n * filters * size, filters, size);
          out.noalias() = weights * columns;
          out = out.cwiseMax(0.0f);
        }
      });
}

}  // namespace

sides eigen_convolution() { return {{"conv3x3_relu", conv3x3_relu}}; }

}  // namespace bench
