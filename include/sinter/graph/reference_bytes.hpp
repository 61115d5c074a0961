// SPDX-License-Identifier: MIT
// Reference tensors as what kernels work on, and back.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include <sinter/graph/reference_tensor.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// The elements in their own dtype, row-major.
inline std::vector<std::byte> bytes_of(const reference_tensor& x) {
  std::vector<std::byte> out(x.data.size() * size_of(x.type));
  dispatch(x.type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      T element{};
      if constexpr (std::is_same_v<T, bool>)
        element = x.data[i] != 0;
      else
        element = static_cast<T>(x.data[i]);
      std::memcpy(out.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return out;
}

/// What bytes_of gave.
inline reference_tensor tensor_of(dtype type, const shape_vector& shape,
                                  const std::vector<std::byte>& bytes) {
  reference_tensor out{type, shape, std::vector<double>(bytes.size() / size_of(type))};
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      T element{};
      if constexpr (std::is_same_v<T, bool>)
        element = bytes[i] != std::byte{0};
      else
        std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      out.data[i] = static_cast<double>(element);
    }
  });
  return out;
}

}  // namespace sinter::inline SINTER_ABI::ir
