// SPDX-License-Identifier: MIT
// A small set that keeps the order in which its elements came.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// Appends a value that is not there. Linear: for some ten values.
template <class T>
void add_once(std::vector<T>& values, std::type_identity_t<T> value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
}

}  // namespace sinter::inline SINTER_ABI
