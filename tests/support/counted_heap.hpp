// SPDX-License-Identifier: MIT
// Replaces the allocation functions of a test program: allocations are counted, those alive too,
// and they can be made to fail. To be included by one file of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace counted_heap {

inline std::atomic<long> allocations{0};
inline std::atomic<long> alive{0};
inline std::atomic<std::size_t> last_bytes{0};  // that were asked for
inline std::atomic<long> left{-1};  // how many allocations still succeed; below zero: all of them

// While it lives, allocations fail from number `first` on (0 is the next one), or that one alone.
class failure {
 public:
  explicit failure(long first, bool once = false) {
    once_ = once;
    left = first;
  }
  failure(const failure&) = delete;
  failure& operator=(const failure&) = delete;
  ~failure() { left = -1; }

  static bool is_now() noexcept {
    if (left.load(std::memory_order_relaxed) < 0) return false;
    const long before = left.fetch_sub(1);
    if (before > 0) return false;
    if (before == 0 && !once_) left = 0;  // and so is the next
    return before == 0;
  }

 private:
  static inline std::atomic<bool> once_{false};
};

inline void* allocate(std::size_t size, std::size_t alignment) noexcept {
  ++allocations;
  last_bytes = size;
  if (failure::is_now()) return nullptr;
  void* p = alignment > alignof(std::max_align_t)
                ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                : std::malloc(size);
  if (p != nullptr) ++alive;
  return p;
}

inline void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* p = allocate(size, alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

inline void release(void* p) noexcept {
  if (p != nullptr) --alive;
  std::free(p);
}

}  // namespace counted_heap

// Not inlined: GCC would compare the allocation function of one with the free of the other and warn
// of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return counted_heap::allocate_or_throw(size, 1);
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return counted_heap::allocate_or_throw(size, 1);
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_heap::allocate(size, 1);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_heap::allocate(size, 1);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t a) {
  return counted_heap::allocate_or_throw(size, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t a) {
  return counted_heap::allocate_or_throw(size, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { counted_heap::release(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { counted_heap::release(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { counted_heap::release(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept {
  counted_heap::release(p);
}
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept {
  counted_heap::release(p);
}
[[gnu::noinline]] void operator delete[](void* p, const std::nothrow_t&) noexcept {
  counted_heap::release(p);
}
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept {
  counted_heap::release(p);
}
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept {
  counted_heap::release(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  counted_heap::release(p);
}
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  counted_heap::release(p);
}
