// SPDX-License-Identifier: MIT
// Memory that begins on a line of 64 bytes, from the allocator's fast path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <sinter/support/abi.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_address_sanitized = true;
#elif !defined(__has_feature)
inline constexpr bool is_address_sanitized = false;
#elif __has_feature(address_sanitizer)
inline constexpr bool is_address_sanitized = true;
#else
inline constexpr bool is_address_sanitized = false;
#endif

// What the allocator may leave in front of a line.
inline constexpr std::size_t most_before_line = line_bytes - __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace detail

/// Uninitialised memory from `first` on; `memory` is what release_lines takes.
struct line_block {
  std::byte* first = nullptr;
  void* memory = nullptr;
};

/// From the first line on that begins in this memory.
inline line_block lines_of(void* memory) {
  const std::size_t behind_line = reinterpret_cast<std::uintptr_t>(memory) % line_bytes;
  const std::size_t before = behind_line == 0 ? 0 : line_bytes - behind_line;
  return {static_cast<std::byte*>(memory) + before, memory};
}

/// At least `bytes` of it, beginning on a line. Throws std::bad_alloc. The line is found in a block
/// that is up to 48 bytes longer: glibc keeps no aligned blocks at hand for the next one who asks,
/// so that one of 128 bytes takes it 36 ns and one of 16 KiB 93, where others take 7 and 18.
inline line_block allocate_lines(std::size_t bytes) {
  // A sanitizer sees the end of an aligned block where it is.
  if constexpr (detail::is_address_sanitized) {
    void* const memory = ::operator new(bytes, std::align_val_t{line_bytes});
    return {static_cast<std::byte*>(memory), memory};
  }
  return lines_of(::operator new(bytes + detail::most_before_line));
}

/// The same, or no memory where there is none left. Not for sanitizers.
inline line_block try_allocate_lines(std::size_t bytes) noexcept {
  void* const memory = ::operator new(bytes + detail::most_before_line, std::nothrow);
  return memory == nullptr ? line_block{} : lines_of(memory);
}

inline void release_lines(void* memory) noexcept {
  if constexpr (detail::is_address_sanitized)
    ::operator delete(memory, std::align_val_t{line_bytes});
  else
    ::operator delete(memory);
}

}  // namespace sinter::inline SINTER_ABI
