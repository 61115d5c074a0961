// SPDX-License-Identifier: MIT
// The order in which blocks of a reduction combine: pairwise, so that the error of a sum grows with
// the logarithm of their number.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// What at least one part comes to: two runs of as many parts become one, as a counter carries; of
/// those that are left the later ones are combined first. combine(a, b): b is behind a.
template <class T, class Combine>
T pairwise(std::span<const T> parts, Combine combine) {
  struct run {
    std::size_t parts;
    T all;
  };
  std::vector<run> runs;
  const auto join = [&] {
    const run behind = runs.back();
    runs.pop_back();
    runs.back() = {runs.back().parts + behind.parts, combine(runs.back().all, behind.all)};
  };
  for (const T& part : parts) {
    runs.push_back({1, part});
    while (runs.size() > 1 && runs[runs.size() - 2].parts == runs.back().parts) join();
  }
  while (runs.size() > 1) join();
  return runs.front().all;
}

}  // namespace sinter::inline SINTER_ABI
