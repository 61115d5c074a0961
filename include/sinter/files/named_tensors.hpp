// SPDX-License-Identifier: MIT
// Tensors with their names, as archives and checkpoints hold them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/files/damage.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/any_tensor.hpp>

namespace sinter::inline SINTER_ABI {

/// Made of tensors, shares their elements: `{{"weight", w}, {"bias", b}}`.
using named_tensors = std::vector<std::pair<std::string, any_tensor>>;

namespace detail {

/// Throws io_error, which begins with the path of the file to be written.
inline void require_different_names(const std::string& path, const named_tensors& tensors) {
  std::vector<std::string_view> names;
  for (const auto& each : tensors) names.push_back(each.first);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) raise(io_error(path + ": two tensors " + quote(std::string(*twice))));
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
