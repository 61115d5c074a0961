// SPDX-License-Identifier: MIT
// A tensor's elements among the bytes of a file: shared where they can be, checked where they must.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <sinter/files/damage.hpp>
#include <sinter/tensor/any_tensor.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/storage.hpp>

namespace sinter::inline SINTER_ABI::detail {

/// True if `bytes` bytes are what `shape` asks for, whatever a file says its extents (not negative)
/// are: their product may overflow.
inline bool is_size_of(const shape_vector& shape, dtype type, std::size_t bytes) {
  const std::size_t elements = bytes / size_of(type);
  for (const std::int64_t extent : shape)
    if (extent == 0) return bytes == 0;
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    if (count > elements / static_cast<std::size_t>(extent)) return false;
    count *= static_cast<std::size_t>(extent);
  }
  return count * size_of(type) == bytes;
}

/// Bytes that are no bool in C++ are an error: any other than 0 and 1 would be undefined behaviour.
inline void require_booleans(const std::string& path, std::size_t offset, const std::byte* bytes,
                             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (bytes[i] > std::byte{1}) damaged(path, offset + i, "a boolean that is neither 0 nor 1");
}

/// The row-major elements that begin at byte `offset` of `file`, shared; copied if their address is
/// no multiple of their size. Throws io_error if there are less, or a boolean is none; shape_error
/// if the shape cannot exist. `path` begins messages.
inline any_tensor elements_at(const std::string& path, const storage& file, dtype type,
                              std::size_t offset, const shape_vector& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  const std::size_t element = size_of(type);
  if (offset > file.size_bytes() || count > (file.size_bytes() - offset) / element)
    damaged(path, offset,
            "shape " + to_string(shape) + " of " + std::string(name(type)) +
                " does not fit into the " + std::to_string(file.size_bytes()) +
                " bytes of the file");
  const std::size_t bytes = count * element;
  const std::byte* const first = file.data() + offset;
  if (type == dtype::boolean) require_booleans(path, offset, first, bytes);
  if (reinterpret_cast<std::uintptr_t>(first) % element == 0)
    return any_tensor(type, shape, storage(first, bytes, file));
  any_tensor copy(type, shape);
  std::memcpy(copy.data(), first, bytes);
  return copy;
}

}  // namespace sinter::inline SINTER_ABI::detail
