// SPDX-License-Identifier: MIT
//
// Memory for one array that grows: from 2 MB on it lies on huge pages and is moved by renaming its
// pages instead of being copied, where the system can do that (Linux).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <sinter/support/abi.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/huge_pages.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sinter::inline SINTER_ABI {

/// Owns `bytes()` bytes, which only `grow` changes. A std::vector that doubles touches every page
/// of every array that it leaves behind: an e-graph of a million nodes spent 40 % of its time in
/// page faults and copies.
class growing_memory {
 public:
  growing_memory() = default;
  growing_memory(growing_memory&& other) noexcept { swap(other); }
  growing_memory& operator=(growing_memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~growing_memory() { release(); }

  void swap(growing_memory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  /// Makes it at least `bytes` large and keeps what it holds. Throws `std::bad_alloc`.
  void grow(std::size_t bytes) {
    if (bytes <= bytes_) return;
    if (bytes < huge_page || !has_pages) {
      void* const grown = std::realloc(data_, bytes);
      if (grown == nullptr) raise(std::bad_alloc());
      data_ = grown;
      bytes_ = bytes;
      return;
    }
    grow_pages((bytes + huge_page - 1) / huge_page * huge_page);
  }

 private:
  static constexpr std::size_t huge_page = std::size_t{1} << 21;

#if defined(__linux__)
  static constexpr bool has_pages = true;

  // Addresses for `bytes` bytes that begin at a huge page.
  static void* map(std::size_t bytes) {
    const std::size_t reserved = bytes + huge_page;
    void* const mapped =
        mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) raise(std::bad_alloc());
    char* const first = static_cast<char*>(mapped);
    const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(first)) % huge_page;
    if (before != 0) munmap(first, before);
    munmap(first + before + bytes, huge_page - before);
    advise_huge_pages(first + before, bytes);
    return first + before;
  }

  void grow_pages(std::size_t bytes) {
    void* const target = map(bytes);
    if (bytes_ >= huge_page) {
      if (mremap(data_, bytes_, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) == MAP_FAILED) {
        munmap(target, bytes);
        raise(std::bad_alloc());
      }
    } else {
      if (bytes_ != 0) std::memcpy(target, data_, bytes_);
      release();
    }
    data_ = target;
    bytes_ = bytes;
  }

  void release() {
    if (bytes_ >= huge_page) {
      munmap(data_, bytes_);
    } else {
      std::free(data_);
    }
  }
#else
  static constexpr bool has_pages = false;
  void grow_pages(std::size_t) {}
  void release() { std::free(data_); }
#endif

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sinter::inline SINTER_ABI
