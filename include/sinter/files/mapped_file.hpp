// SPDX-License-Identifier: MIT
// mapped_file: a file as read-only memory, and tensors that lie in it. The system reads a page when
// one of its bytes is looked at first, and drops it when memory is short.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <sinter/files/damage.hpp>
#include <sinter/files/elements.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/any_tensor.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/storage.hpp>
#include <sinter/tensor/tensor.hpp>

#if __has_include(<sys/mman.h>)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace sinter::inline SINTER_ABI {

namespace detail {

struct close_file {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, close_file>;

/// A file's bytes, all read: what stands in for a mapping where the system has none.
inline storage read_file(const std::string& path) {
  const file_handle file(std::fopen(path.c_str(), "rb"));
  if (!file) damaged(path, 0, "cannot open the file");
  const bool sought = std::fseek(file.get(), 0, SEEK_END) == 0;
  const long end = sought ? std::ftell(file.get()) : -1;
  if (end < 0 || std::fseek(file.get(), 0, SEEK_SET) != 0)
    damaged(path, 0, "the size of the file cannot be found");
  storage bytes(static_cast<std::size_t>(end));
  if (std::fread(bytes.data(), 1, bytes.size_bytes(), file.get()) != bytes.size_bytes())
    damaged(path, 0, "cannot read all of the file");
  return bytes;
}

#if __has_include(<sys/mman.h>)
inline storage map_file(const std::string& path) {
  const auto reason = [] { return std::string(std::strerror(errno)); };
  // Without O_NONBLOCK, to open a pipe waits for somebody who writes to it.
  struct descriptor {
    int number;
    ~descriptor() {
      if (number >= 0) close(number);
    }
  } const file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) damaged(path, 0, "cannot open the file: " + reason());
  struct stat about {};
  if (fstat(file.number, &about) != 0) damaged(path, 0, "no size: " + reason());
  if (!S_ISREG(about.st_mode)) damaged(path, 0, "not a regular file");
  const auto bytes = static_cast<std::size_t>(about.st_size);
  if (bytes == 0) return storage(0);  // nothing can be mapped
  void* const first = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (first == MAP_FAILED) damaged(path, 0, "cannot map the file: " + reason());
  const auto unmap = [bytes](void* at) { munmap(at, bytes); };
  return storage(static_cast<const std::byte*>(first), bytes,
                 std::unique_ptr<void, decltype(unmap)>(first, unmap));
}
#else
inline storage map_file(const std::string& path) { return read_file(path); }
#endif

}  // namespace detail

/// A file as memory. Copies, and tensors made of it, share the mapping, which ends with the last of
/// them. While it lasts, nobody may write to the file or cut it short (to replace it under its name
/// is fine): elements would change behind caches, or be gone (SIGBUS).
class mapped_file {
 public:
  /// Throws io_error (file, reason) if this is no regular file that can be read.
  explicit mapped_file(std::string path)
      : path_(std::move(path)), contents_(detail::map_file(path_)) {}

  const std::string& path() const { return path_; }
  std::size_t size() const { return contents_.size_bytes(); }
  /// All of it, shared.
  const storage& contents() const { return contents_; }
  std::span<const std::byte> bytes() const { return {contents_.data(), size()}; }

  /// The row-major elements that begin at byte `offset`. They are not read before they are used,
  /// booleans excepted, which are checked. Elements whose address is no multiple of their size are
  /// copied, since neither C++ nor every processor reads them where they are; nothing else is.
  /// Throws io_error (file, byte, reason) if the file ends before
  /// them or a boolean is neither 0 nor 1, shape_error if the shape cannot exist.
  any_tensor tensor_at(dtype type, std::size_t offset, const shape_vector& shape) const {
    return detail::elements_at(path_, contents_, type, offset, shape);
  }

  /// The same behind a type: `file.tensor_at<float, 2>(64, {3, 4})`. Throws shape_error also if the
  /// shape does not fit `E`.
  template <Element T, extents_spec E>
  shared_tensor<T, E> tensor_at(std::size_t offset, const shape_vector& shape) const {
    require_fits(shape, E, path_.c_str());
    return tensor_at(dtype_of<T>, offset, shape).template share<T, E>();
  }

 private:
  std::string path_;
  storage contents_;
};

/// One tensor in a file without a format: `map_tensor<float, 2>("x.bin", {3, 4})`. See
/// mapped_file::tensor_at.
template <Element T, extents_spec E>
shared_tensor<T, E> map_tensor(const std::string& path, const shape_vector& shape,
                               std::size_t offset = 0) {
  return mapped_file(path).tensor_at<T, E>(offset, shape);
}

}  // namespace sinter::inline SINTER_ABI
