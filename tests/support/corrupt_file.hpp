// SPDX-License-Identifier: MIT
// Damaged versions of a file, for readers that must refuse or read each.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "temporary_file.hpp"

namespace test_support {

// Calls read(path, bytes) for the bytes cut at every length, with every bit turned, and
// with `rounds` mixtures of changed, inserted, repeated and dropped bytes (the same in every run).
template <class Read>
void for_each_corruption(const std::string& good, Read&& read, int rounds = 500) {
  const temporary_file file;
  const auto try_bytes = [&](const std::string& bytes) {
    file.write(bytes);
    // On the heap, where a sanitizer sees who reads beyond the end.
    read(file.path, std::vector<char>(bytes.begin(), bytes.end()));
  };
  for (std::size_t length = 0; length < good.size(); ++length) try_bytes(good.substr(0, length));
  std::string turned = good;
  for (char& each : turned) {
    const char before = each;
    for (int bit = 0; bit < 8; ++bit) {
      each = static_cast<char>(before ^ (1 << bit));
      try_bytes(turned);
    }
    each = before;
  }
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = good;
    for (std::size_t edits = 1 + below(4); edits > 0 && !bytes.empty(); --edits) {
      const std::size_t at = below(bytes.size());
      const std::size_t count = 1 + below(16);
      switch (below(4)) {
        case 0: bytes[at] = static_cast<char>(below(256)); break;
        case 1: bytes.insert(at, count, static_cast<char>(below(256))); break;
        case 2: bytes.insert(at, bytes.substr(below(bytes.size()), count)); break;
        default: bytes.erase(at, count);
      }
    }
    try_bytes(bytes);
  }
}

}  // namespace test_support
