// SPDX-License-Identifier: MIT
// What both programs here check: the results of a unit, and what it is compiled for.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

/// The widest of what dispatch knows that this processor runs; `limit`: not wider than that.
inline std::string_view widest(std::string_view limit = "avx512") {
#if defined(__x86_64__)
  if (limit == "avx512" && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl"))
    return "avx512";
  if (limit != "sse2" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "avx2";
#endif
  return "sse2";
}

/// 37: no multiple of the lanes of any instruction set.
template <class Layer>
bool is_right(Layer layer, int n = 37) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<float> x(size * size), w(size * size), y(size);
  for (std::size_t i = 0; i < size * size; ++i) {
    x[i] = static_cast<float>(i % 7) - 3;
    w[i] = static_cast<float>(i % 5) - 2;
  }
  layer(x.data(), w.data(), y.data(), n);
  for (std::size_t i = 0; i < size; ++i) {
    float expected = 0;  // integers: exact in any order
    for (std::size_t j = 0; j < size; ++j) {
      float product = 0;
      for (std::size_t k = 0; k < size; ++k) product += x[i * size + k] * w[k * size + j];
      expected += std::fmax(product, 0.0f) + 1;
    }
    if (y[i] == expected) continue;
    std::printf("y[%zu] is %g, expected %g\n", i, static_cast<double>(y[i]),
                static_cast<double>(expected));
    return false;
  }
  return true;
}

/// Does the explanation say "compiled for" something with `architecture` in it, and OpenMP?
inline bool is_compiled_for(const char* explanation, std::string_view architecture) {
  const char* const line = std::strstr(explanation, "compiled for ");
  const std::string told = line == nullptr ? "" : line;
  if (told.find(architecture) < told.find(',') && told.find("OpenMP") != std::string::npos)
    return true;
  std::printf("expected %s: %s\n", std::string(architecture).c_str(), explanation);
  return false;
}
