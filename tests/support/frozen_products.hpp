// SPDX-License-Identifier: MIT
// What the tests of frozen arguments share: numbers, and what explain tells of nests that ran once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace frozen_support {

namespace sn = sinter;

using vector = sn::tensor<float, 1>;
using matrix = sn::tensor<float, 2>;

template <class Tensor>
Tensor numbered(Tensor out, int seed) {
  std::int64_t i = seed;
  for (float& x : out) x = 0.01f * static_cast<float>(i++ * 37 % 101 - 50);
  return out;
}
inline matrix matrix_of(std::int64_t rows, std::int64_t columns, int seed) {
  return numbered(matrix(rows, columns), seed);
}
inline vector vector_of(std::int64_t n, int seed) { return numbered(vector(n), seed); }

inline float distance(const matrix& a, const matrix& b) {
  REQUIRE(a.shape() == b.shape());
  float worst = 0;
  for (std::int64_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a.data()[i] - b.data()[i]));
  return worst;
}

// All dot products of rows of a and rows of b, rounded once.
inline matrix product_of_rows(const matrix& a, const matrix& b) {
  const std::int64_t depth = a.shape()[1];
  REQUIRE(depth == b.shape()[1]);
  matrix out(a.shape()[0], b.shape()[0]);
  for (std::int64_t i = 0; i < a.shape()[0]; ++i)
    for (std::int64_t j = 0; j < b.shape()[0]; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < depth; ++p) sum += double{a(i, p)} * double{b(j, p)};
      out(i, j) = static_cast<float>(sum);
    }
  return out;
}

// Where explain tells of the nests of a call, and where of those that ran once.
struct report {
  std::string call, once;
  explicit report(const std::string& text) {
    const std::size_t nests = text.find("  nest 0"), divide = text.find("prepared once");
    call = text.substr(std::min(nests, text.size()), divide - std::min(nests, divide));
    if (divide != std::string::npos) once = text.substr(divide);
  }
  static bool has(const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  }
};

// The weights scaled by a vector: every function of this kind prepares one matrix.
inline auto scaled_product() {
  return sn::fuse([](auto x, auto s, auto w) { return sn::matmul(x * s, w); });
}

}  // namespace frozen_support
