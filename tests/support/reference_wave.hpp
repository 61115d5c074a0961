// SPDX-License-Identifier: MIT
// What tests/data/training_reference.py computed, and the numbers that it did so from.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <doctest/doctest.h>

#include <sinter/tensor/tensor.hpp>

namespace test_support {

/// sin(0.7 i + seed) in row-major order.
template <int Rank>
sinter::tensor<double, Rank> wave(const sinter::shape_vector& shape, double seed) {
  sinter::tensor<double, Rank> out(shape);
  double* x = out.data();
  for (std::int64_t i = 0; i < out.size(); ++i)
    x[i] = std::sin(0.7 * static_cast<double>(i) + seed);
  return out;
}

inline nlohmann::json training_reference() {
  const auto tests = std::filesystem::path(__FILE__).parent_path().parent_path();
  std::ifstream file(tests / "data" / "training_reference.json");
  REQUIRE(file.good());
  return nlohmann::json::parse(file);
}

}  // namespace test_support
