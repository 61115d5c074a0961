// SPDX-License-Identifier: MIT
// The memory of a case: aligned, and filled from a seed.
#include <algorithm>
#include <new>
#include <random>
#include <utility>

#include "case.hpp"

namespace bench {

namespace {
constexpr std::align_val_t cache_line{64};
}

buffer::buffer(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {
  for (const std::int64_t extent : shape_) size_ *= extent;
  const std::size_t bytes = static_cast<std::size_t>(size_) * sizeof(float);
  data_.reset(static_cast<float*>(::operator new(bytes, cache_line)));
  std::fill(begin(), end(), 0.0f);
}

void buffer::release::operator()(float* data) const { ::operator delete(data, cache_line); }

problem::problem(const description& of) {
  for (const operand& each : of.operands) {
    std::mt19937 random(static_cast<unsigned>(operands_.size()) + 7);
    std::uniform_real_distribution<float> uniform(each.low, each.high);
    operands_.emplace_back(each.shape);
    std::generate(operands_.back().begin(), operands_.back().end(),
                  [&] { return uniform(random); });
  }
}

std::vector<std::int32_t> labels(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int32_t> out;
  for (std::int64_t row = 0; row < rows; ++row)
    out.push_back(static_cast<std::int32_t>(row % classes));
  return out;
}

}  // namespace bench
