// SPDX-License-Identifier: MIT
// Convolutions with 3x3 windows and padding 1, forward and both gradients, beside windows copied
// into a matrix (im2col) and Eigen's product; and the training step of a small network.
#include <algorithm>
#include <cstdint>
#include <random>

#include <Eigen/Core>
#include <benchmark/benchmark.h>

#include <sinter/sinter.hpp>

namespace {

namespace sn = sinter;

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void count_flops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

struct geometry {
  std::int64_t images, channels, size, filters;

  // Of the product, which is what either gradient takes, too.
  double flops() const {
    return 2.0 * static_cast<double>(images * filters * size * size) *
           static_cast<double>(channels * 9);
  }
};

// A middle layer of a residual network, and the second layer of a small one.
constexpr geometry layers[] = {{8, 64, 56, 64}, {128, 16, 14, 32}, {128, 1, 28, 16}};

sn::tensor<float, 4> images_of(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  std::mt19937 random(13);
  std::uniform_real_distribution<float> uniform(-1, 1);
  sn::tensor<float, 4> out(n, c, h, w);
  std::ranges::generate(out, [&] { return uniform(random); });
  return out;
}

struct operands {
  geometry at;
  sn::tensor<float, 4> x, w, y;

  explicit operands(const geometry& g)
      : at(g),
        x(images_of(g.images, g.channels, g.size, g.size)),
        w(images_of(g.filters, g.channels, 3, 3)),
        y(images_of(g.images, g.filters, g.size, g.size)) {}
  explicit operands(const benchmark::State& state) : operands(layers[state.range(0)]) {}
};

void forward_sinter(benchmark::State& state) {
  operands o(state);
  auto f = sn::fuse([](auto x, auto w) { return sn::conv2d(x, w, {.padding = 1}); });
  for (auto _ : state) f.into(o.y)(o.x, o.w);
  count_flops(state, o.at.flops());
}

// The gradient of operand 0, the image, or 1, the weights, alone: the loss is linear in the result,
// so the forward product is not needed.
template <int Operand>
void gradient_sinter(benchmark::State& state) {
  operands o(state);
  auto f = sn::fuse([](auto x, auto w, auto seed) {
    const auto loss = sn::sum(sn::conv2d(x, w, {.padding = 1}) * seed);
    return sn::gradients(loss, Operand == 0 ? x : w)[0];
  });
  sn::tensor<float, 4> gradient(Operand == 0 ? o.x : o.w);
  for (auto _ : state) f.into(gradient)(o.x, o.w, o.y);
  count_flops(state, o.at.flops());
}

// Row (channel, i, j) of the matrix is what element (i, j) of every window sees.
void copy_windows(const geometry& g, const float* image, float* columns) {
  const auto size = g.size;
  for (std::int64_t c = 0; c < g.channels; ++c)
    for (std::int64_t i = -1; i <= 1; ++i)
      for (std::int64_t j = -1; j <= 1; ++j, columns += size * size)
        for (std::int64_t y = 0; y < size; ++y) {
          float* const row = columns + y * size;
          if (y + i < 0 || y + i >= size) {
            std::fill_n(row, size, 0.0f);
            continue;
          }
          const float* const from = image + (c * size + y + i) * size;
          const std::int64_t first = std::max<std::int64_t>(0, -j), last = std::min(size, size - j);
          std::fill_n(row, first, 0.0f);
          std::copy(from + first + j, from + last + j, row + first);
          std::fill(row + last, row + size, 0.0f);
        }
}

// And back: elements that windows share are added up.
void add_windows(const geometry& g, const float* columns, float* image) {
  const auto size = g.size;
  std::fill_n(image, g.channels * size * size, 0.0f);
  for (std::int64_t c = 0; c < g.channels; ++c)
    for (std::int64_t i = -1; i <= 1; ++i)
      for (std::int64_t j = -1; j <= 1; ++j, columns += size * size)
        for (std::int64_t y = std::max<std::int64_t>(0, -i); y < std::min(size, size - i); ++y)
          for (std::int64_t x = std::max<std::int64_t>(0, -j); x < std::min(size, size - j); ++x)
            image[(c * size + y + i) * size + x + j] += columns[y * size + x];
}

using map = Eigen::Map<matrix>;

template <class Body>
void each_image_eigen(benchmark::State& state, Body body) {
  operands o(state);
  const geometry& g = o.at;
  matrix columns(g.channels * 9, g.size * g.size);
  map w(o.w.data(), g.filters, g.channels * 9);
  sn::tensor<float, 4> dw(o.w);
  for (auto _ : state) {
    map gradient(dw.data(), g.filters, g.channels * 9);
    gradient.setZero();
    for (std::int64_t n = 0; n < g.images; ++n)
      body(g, o.x.data() + n * g.channels * g.size * g.size, columns, w,
           map(o.y.data() + n * g.filters * g.size * g.size, g.filters, g.size * g.size), gradient);
    benchmark::ClobberMemory();
  }
  count_flops(state, g.flops());
}
void forward_eigen(benchmark::State& state) {
  each_image_eigen(state, [](const geometry& g, float* x, matrix& columns, auto& w, auto y, auto&) {
    copy_windows(g, x, columns.data());
    y.noalias() = w * columns;
  });
}
void input_gradient_eigen(benchmark::State& state) {
  each_image_eigen(state, [](const geometry& g, float* x, matrix& columns, auto& w, auto y, auto&) {
    columns.noalias() = w.transpose() * y;
    add_windows(g, columns.data(), x);
  });
}
void weight_gradient_eigen(benchmark::State& state) {
  each_image_eigen(state,
                   [](const geometry& g, float* x, matrix& columns, auto&, auto y, auto& gradient) {
                     copy_windows(g, x, columns.data());
                     gradient.noalias() += y * columns.transpose();
                   });
}

void name_layers(benchmark::internal::Benchmark* b) { b->DenseRange(0, 2)->UseRealTime(); }
BENCHMARK(forward_sinter)->Name("convolution/sinter")->Apply(name_layers);
BENCHMARK(forward_eigen)->Name("convolution/eigen")->Apply(name_layers);
BENCHMARK(gradient_sinter<0>)->Name("input_gradient/sinter")->Apply(name_layers);
BENCHMARK(input_gradient_eigen)->Name("input_gradient/eigen")->Apply(name_layers);
BENCHMARK(gradient_sinter<1>)->Name("weight_gradient/sinter")->Apply(name_layers);
BENCHMARK(weight_gradient_eigen)->Name("weight_gradient/eigen")->Apply(name_layers);

}  // namespace
