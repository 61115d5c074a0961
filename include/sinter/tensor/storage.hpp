// SPDX-License-Identifier: MIT
//
// storage: a reference-counted block of bytes, aligned to 64 bytes (a cache line and an AVX-512
// register), or bytes that somebody else keeps, such as a mapped file. Copying the handle shares
// the block; tensors copy elements instead, and only expressions and fused functions share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <sinter/support/atomic_value.hpp>
#include <sinter/support/block_offset.hpp>
#include <sinter/support/cache_lines.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/free_blocks.hpp>
#include <sinter/support/huge_pages.hpp>
#include <sinter/support/line_block.hpp>
#include <sinter/tensor/contents.hpp>

namespace sinter::inline SINTER_ABI {

/// Alignment of every block, and the unit its size is rounded up to, in bytes.
inline constexpr std::size_t storage_alignment = line_bytes;

/// A handle to a block of bytes. The block is freed with its last handle. Handles may be copied and
/// destroyed from several threads; the bytes themselves are not guarded.
class storage {
 public:
  storage() = default;

  /// A block of at least `bytes` uninitialised bytes, made by one allocation. Whole 64-byte lines
  /// are allocated, so a vector load that begins inside `bytes` at an aligned address never leaves
  /// the block. From `huge_pages_from` bytes on it asks for huge pages, and begins at a
  /// `next_block_offset` in them, or is a block that another one left (free_blocks.hpp). Throws
  /// std::bad_alloc.
  explicit storage(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(-1) / 2) raise(std::bad_alloc());
    const std::size_t rounded = round_to_lines(bytes);
    if (rounded >= free_blocks::least_bytes) [[unlikely]] {
      block_ = large_block(bytes, rounded);
      return;
    }
    const line_block made = allocate_lines(sizeof(header) + rounded);
    block_ = ::new (static_cast<void*>(made.first))
        header(made.memory, made.first + sizeof(header), bytes);
  }

  /// `bytes` bytes from `first` on, which live as long as `owner` does, to be read only: nobody
  /// writes through `data()`, and they do not change. At any address. The owner is moved, and
  /// destroyed with the last handle.
  template <class Owner>
  storage(const std::byte* first, std::size_t bytes, Owner owner)
      : storage(borrowed{}, first, bytes) {
    block_->owner = new Owner(std::move(owner));
    block_->drop_owner = [](void* at) { delete static_cast<Owner*>(at); };
  }

  storage(const storage& other) noexcept : block_(other.block_) {
    // Relaxed: whoever copies a handle already holds one, so the block cannot go away meanwhile.
    if (block_ != nullptr) block_->handles.add_relaxed(1);
  }

  storage(storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}

  storage& operator=(storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }

  ~storage() {
    // The last handle must see what the others wrote before it frees the block.
    if (block_ != nullptr && block_->handles.subtract_one() == 1) {
      void* const memory = block_->memory;
      const std::size_t kept_bytes = block_->kept_bytes;
      block_->~header();
      if (kept_bytes != 0) [[unlikely]]
        freed_tensors.give({memory, kept_bytes});
      else
        release_lines(memory);
    }
  }

  /// The first byte; null for an empty handle. Constness of the handle says nothing about the
  /// bytes.
  std::byte* data() const noexcept { return block_ == nullptr ? nullptr : block_->first; }

  /// The bytes asked for.
  std::size_t size_bytes() const noexcept { return block_ == nullptr ? 0 : block_->bytes; }

  /// True when another handle shares the block. A `false` is reliable only in the thread that owns
  /// the handle.
  bool shared() const noexcept { return block_ != nullptr && block_->handles.acquire() > 1; }

  /// The elements were written, or will be through a pointer that is handed out: what was computed
  /// from them before is out of date. Costs a load where nobody asked for `contents`.
  void touch() noexcept {
    if (block_ == nullptr) return;
    if (content_counter* counter = block_->counter.acquire()) counter->count_write();
  }

  /// The elements as they are now, to be recognised later. An empty handle has none. The first call
  /// for a block allocates; may be called from several threads.
  contents current_contents() const {
    if (block_ == nullptr) return {};
    content_counter* counter = block_->counter.acquire();
    if (counter == nullptr) {
      auto* made = new content_counter;
      if (block_->counter.exchange_if(counter, made))
        counter = made;
      else
        made->release();
    }
    return contents(counter);
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }

  /// True when both handles are of one block.
  friend bool operator==(const storage& a, const storage& b) noexcept {
    return a.block_ == b.block_;
  }

 private:
  struct borrowed {};
  storage(borrowed, const std::byte* first, std::size_t bytes) {
    const line_block made = allocate_lines(sizeof(header));
    block_ = ::new (static_cast<void*>(made.first))
        header(made.memory, const_cast<std::byte*>(first), bytes);
  }

  // The header fills a whole line, which keeps the bytes behind it aligned and its counter off
  // their cache line.
  struct alignas(storage_alignment) header {
    header(void* allocated, std::byte* at, std::size_t n)
        : memory(allocated), first(at), bytes(n) {}
    header(const header&) = delete;
    header& operator=(const header&) = delete;
    ~header() {
      if (content_counter* own = counter.acquire()) own->end();
      if (drop_owner != nullptr) drop_owner(owner);
    }
    atomic_value<std::size_t> handles{1};
    void* memory;  // what holds the block
    std::byte* first;
    std::size_t bytes;
    std::size_t kept_bytes = 0;  // of what holds it, if others may have it next
    atomic_value<content_counter*> counter{nullptr};  // made when somebody asks for contents
    void* owner = nullptr;                            // of bytes that are in no block of ours
    void (*drop_owner)(void*) = nullptr;
  };

  // What is kept for others is not to be what is missing.
  static line_block allocate_kept(std::size_t bytes) {
    const line_block made = try_allocate_lines(bytes);
    if (made.memory != nullptr) return made;
    freed_tensors.release();
    return allocate_lines(bytes);
  }

  // From free_blocks::least_bytes on. A function of its own: inlined, it costs small blocks 5 ns.
  [[gnu::noinline]] static header* large_block(std::size_t bytes, std::size_t rounded) {
    const bool is_large = rounded >= huge_pages_from;
    const std::size_t before = sizeof(header) + (is_large ? next_block_offset() : 0);
    if constexpr (detail::is_address_sanitized) {
      // Which is to see where the block ends.
      const line_block made = allocate_lines(before + rounded);
      return ::new (static_cast<void*>(made.first)) header(made.memory, made.first + before, bytes);
    }
    std::size_t whole = sizeof(header) + (is_large ? most_block_offset : 0) + rounded;
    const freed_block found = freed_tensors.take(whole);
    const line_block made = found.memory != nullptr ? lines_of(found.memory) : allocate_kept(whole);
    if (found.memory != nullptr)
      whole = found.bytes;
    else if (is_large)
      advise_huge_pages(made.first, before + rounded);
    auto* const block =
        ::new (static_cast<void*>(made.first)) header(made.memory, made.first + before, bytes);
    block->kept_bytes = whole;
    return block;
  }

  header* block_ = nullptr;
};

}  // namespace sinter::inline SINTER_ABI
