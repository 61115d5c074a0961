// SPDX-License-Identifier: MIT
// .npz files: NumPy's archives of named arrays, a .zip file with a .npy file for each. Needs libzip
// (target sinter::npz).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <zip.h>

#include <sinter/files/convert.hpp>
#include <sinter/files/damage.hpp>
#include <sinter/files/file_replacement.hpp>
#include <sinter/files/named_tensors.hpp>
#include <sinter/files/npy.hpp>
#include <sinter/files/npy_header.hpp>
#include <sinter/files/zip_archive.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/any_tensor.hpp>
#include <sinter/tensor/tensor.hpp>

namespace sinter::inline SINTER_ABI {

/// A .npz file. To open it reads the list of members alone; `get` reads, decompresses and checks
/// one (checksum, sizes, its header), every time. Members are known by their names without ".npy";
/// members that are no .npy files are left alone. Copies share the archive, which may be used from
/// several threads; see mapped_file for what that asks of the file.
class npz_file {
 public:
  /// Throws io_error if this is no .zip file, a name comes twice, or members overlap.
  explicit npz_file(const std::string& path)
      : archive_(std::make_shared<const detail::zip_archive>(path)) {
    const auto& members = archive_->members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::string& name = members[i].name;
      if (!name.ends_with(suffix)) continue;
      names_.push_back(name.substr(0, name.size() - suffix.size()));
      numbers_.push_back(i);
    }
    by_name_.resize(names_.size());
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::sort(by_name_.begin(), by_name_.end(),
              [&](std::size_t a, std::size_t b) { return names_[a] < names_[b]; });
  }

  const std::string& path() const { return archive_->path(); }
  /// In the order of the archive.
  const std::vector<std::string>& names() const { return names_; }

  bool contains(std::string_view name) const { return find(name) != names_.size(); }

  /// An array of any dtype and rank. Allocates no more than what the member's compressed size makes
  /// possible (1032 times as much). Throws io_error (file, member, byte where there is one, reason)
  /// if there is none of this name, or it is damaged, encrypted or compressed in another way than
  /// by deflate; dtype_error if no tensor has its elements.
  any_tensor get(std::string_view name) const {
    const std::size_t number = numbers_[place_of(name)];
    const storage bytes = archive_->read(number);
    return detail::npy_array(archive_->described(number), bytes);
  }

  /// The same behind a type: `file.get<float, 2>("x")`. Throws dtype_error if the elements are not
  /// exactly `T`, shape_error if the shape does not fit `E`.
  template <Element T, extents_spec E>
  shared_tensor<T, E> get(std::string_view name) const {
    const std::size_t number = numbers_[place_of(name)];
    return detail::npy_array(archive_->described(number), archive_->read(number), dtype_of<T>, E)
        .template share<T, E>();
  }

  /// A copy with elements of another type: floats from any number, rounded to the nearest; integers
  /// from integers and booleans, whose values they must hold. Throws as `get` does.
  template <Element T, extents_spec E>
  tensor<T, E> converted(std::string_view name) const {
    return detail::converted<T, E>(get(name), archive_->described(numbers_[place_of(name)]));
  }

 private:
  static constexpr std::string_view suffix = ".npy";

  // The number of arrays if there is none of this name.
  std::size_t find(std::string_view name) const {
    const auto at = std::lower_bound(
        by_name_.begin(), by_name_.end(), name,
        [&](std::size_t i, std::string_view wanted) { return names_[i] < wanted; });
    return at != by_name_.end() && names_[*at] == name ? *at : names_.size();
  }

  std::size_t place_of(std::string_view name) const {
    const std::size_t found = find(name);
    if (found == names_.size())
      raise(io_error(path() + ": no array " + detail::quote(std::string(name)) + " among " +
                     std::to_string(names_.size())));
    return found;
  }

  std::shared_ptr<const detail::zip_archive> archive_;
  std::vector<std::string> names_;
  std::vector<std::size_t> numbers_;  // of the archive's members
  std::vector<std::size_t> by_name_;
};

enum class npz_compression { stored, deflated };

/// Saves tensors as a .npz file, in the given order, which takes its name when all of it is
/// written. The same tensors make the same bytes. Members beyond 4 GB are written as zip64. Throws
/// dtype_error for bfloat16, for which .npy has no name; io_error if a name comes twice, is no
/// UTF-8 or holds a zero byte, or the file cannot be written; an existing file is then as it was.
inline void save_npz(const std::string& path, const named_tensors& tensors,
                     npz_compression compression = npz_compression::stored) {
  for (const auto& [name, x] : tensors) {
    const std::string who = path + ", member " + detail::quote(name);
    detail::require_npy_name(who, x.type());
    if (name.find('\0') != std::string::npos) raise(io_error(who + ": a zero byte in a name"));
    constexpr std::size_t longest = 65535 - 4;  // the format has 16 bits, ".npy" counts
    if (name.size() > longest)
      raise(io_error(who + ": a name of " + std::to_string(name.size()) +
                     " bytes, expected at most " + std::to_string(longest)));
  }
  detail::require_different_names(path, tensors);

  if (tensors.empty()) {
    // libzip removes a file rather than write an archive of nothing, which is its end record.
    detail::file_replacement file(path);
    file.write(std::string("PK\5\6", 4) + std::string(18, '\0'));
    file.finish();
    return;
  }
  detail::zip_problem problem;
  int code = 0;
  // libzip writes to a temporary file and renames it.
  detail::zip_handle archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) {
    zip_error_init_with_code(problem.get(), code);
    raise(io_error(path + ": cannot open the file for writing: " + problem.text()));
  }
  std::vector<std::string> headers(tensors.size());  // read when the archive is closed
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].first;
    const any_tensor& x = tensors[i].second;
    const auto fail = [&] {
      raise(io_error(path + ", member " + detail::quote(name) + ": " +
                     zip_error_strerror(zip_get_error(archive.get()))));
    };
    headers[i] = detail::write_npy_header(x.type(), x.shape());
    const std::size_t bytes = static_cast<std::size_t>(x.size()) * size_of(x.type());
    // libzip's buffers are not const, but are only read.
    const std::array<zip_buffer_fragment_t, 2> parts{{
        {reinterpret_cast<zip_uint8_t*>(headers[i].data()), headers[i].size()},
        {static_cast<zip_uint8_t*>(const_cast<void*>(x.data())), bytes},
    }};
    detail::zip_source_handle source(
        zip_source_buffer_fragment(archive.get(), parts.data(), bytes == 0 ? 1 : 2, 0));
    if (!source) fail();
    const zip_int64_t number =
        zip_file_add(archive.get(), (name + ".npy").c_str(), source.get(), ZIP_FL_ENC_UTF_8);
    if (number < 0) fail();
    static_cast<void>(source.release());  // the archive's now
    const auto member = static_cast<zip_uint64_t>(number);
    const zip_int32_t method =
        compression == npz_compression::deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    constexpr zip_uint16_t first_day = 1u << 5 | 1u;  // 1980-01-01, as NumPy has it
    if (zip_set_file_compression(archive.get(), member, method, 0) != 0 ||
        zip_file_set_dostime(archive.get(), member, 0, first_day, 0) != 0)
      fail();
  }
  if (zip_close(archive.get()) != 0)
    raise(io_error(path + ": cannot write all of the file: " +
                   zip_error_strerror(zip_get_error(archive.get()))));
  static_cast<void>(archive.release());  // closed
}

}  // namespace sinter::inline SINTER_ABI
