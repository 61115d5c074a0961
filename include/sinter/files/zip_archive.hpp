// SPDX-License-Identifier: MIT
// zip_archive: the members of a .zip file, through libzip, whose sizes are believed as far as the
// file's own size makes them possible. Needs libzip.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>
#include <zip.h>

#include <sinter/files/damage.hpp>
#include <sinter/files/mapped_file.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/storage.hpp>

namespace sinter::inline SINTER_ABI::detail {

/// libzip's last error as an object of its own, which is given back.
class zip_problem {
 public:
  zip_problem() { zip_error_init(&error_); }
  zip_problem(const zip_problem&) = delete;
  zip_problem& operator=(const zip_problem&) = delete;
  ~zip_problem() { zip_error_fini(&error_); }

  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

struct discard_zip {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
struct free_zip_source {
  void operator()(zip_source_t* source) const noexcept { zip_source_free(source); }
};
struct close_zip_member {
  void operator()(zip_file_t* member) const noexcept { zip_fclose(member); }
};
using zip_handle = std::unique_ptr<zip_t, discard_zip>;
using zip_source_handle = std::unique_ptr<zip_source_t, free_zip_source>;
using zip_member_handle = std::unique_ptr<zip_file_t, close_zip_member>;

/// An archive's members by number. May be used from several threads, one at a time reads.
class zip_archive {
 public:
  /// Throws io_error if this is no archive, its two lists of members disagree (that at the end, and
  /// what stands before each), a name comes twice, or members take more bytes than there are.
  explicit zip_archive(const std::string& path) : file_(path) {
    // An end record is 22 bytes; libzip takes an empty file for an empty archive.
    if (file_.size() < 22) damaged(path, 0, "too short for a .zip file");
    zip_problem problem;
    zip_source_handle source(
        zip_source_buffer_create(file_.bytes().data(), file_.size(), 0, problem.get()));
    if (!source) raise(io_error(path + ": " + problem.text()));
    archive_.reset(zip_open_from_source(source.get(), ZIP_RDONLY | ZIP_CHECKCONS, problem.get()));
    if (!archive_) damaged(path, 0, "not a .zip file that can be read: " + problem.text());
    static_cast<void>(source.release());  // the archive's now

    // Members that share compressed bytes are how a small archive becomes a large one.
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    zip_uint64_t taken = 0;
    for (zip_int64_t i = 0; i < count; ++i) {
      members_.push_back(about(static_cast<zip_uint64_t>(i)));
      const member& each = members_.back();
      constexpr std::size_t record = 30;  // before a member, without its name
      if (each.compressed > file_.size() - taken ||
          record + each.name.size() > file_.size() - taken - each.compressed)
        damaged(path, 0,
                "members overlap: they take more than the " + std::to_string(file_.size()) +
                    " bytes of the file");
      taken += each.compressed + record + each.name.size();
    }
  }

  struct member {
    std::string name;
    std::size_t size = 0;
    std::size_t compressed = 0;
    int method = 0;
    bool encrypted = false;
  };

  const std::string& path() const { return file_.path(); }
  const std::vector<member>& members() const { return members_; }

  /// What messages about a member begin with.
  std::string described(std::size_t number) const {
    return path() + ", member " + quote(members_[number].name);
  }

  /// All bytes of a member. Throws io_error if it is encrypted, compressed in another way than by
  /// deflate, cannot have the size that the archive says, has another, or fails its checksum.
  storage read(std::size_t number) const {
    const member& m = members_[number];
    const std::string who = described(number);
    if (m.encrypted) raise(io_error(who + ": encrypted"));
    if (m.method != ZIP_CM_STORE && m.method != ZIP_CM_DEFLATE)
      raise(io_error(who + ": compressed by method " + std::to_string(m.method) +
                     ", expected stored or deflated"));
    // Deflate's longest match is 258 bytes for 2 bits, so nothing grows more than 1032 times.
    const bool possible =
        m.method == ZIP_CM_STORE ? m.size == m.compressed : m.size / 1032 <= m.compressed;
    if (!possible)
      raise(io_error(who + ": " + std::to_string(m.size) + " bytes, which cannot come of " +
                     std::to_string(m.compressed)));

    const std::scoped_lock lock(mutex_);
    const zip_member_handle member_file(zip_fopen_index(archive_.get(), number, 0));
    if (!member_file)
      raise(io_error(who + ": " + zip_error_strerror(zip_get_error(archive_.get()))));
    const auto fail = [&](std::size_t at) {
      damaged(who, at, zip_error_strerror(zip_file_get_error(member_file.get())));
    };
    storage out(m.size);
    std::size_t done = 0;
    // libzip 1.7 counts wrong when it is asked for more than 4 GB of a deflated member at once.
    constexpr std::size_t at_once = std::size_t{1} << 30;
    while (done < m.size) {
      const zip_int64_t got =
          zip_fread(member_file.get(), out.data() + done, std::min(at_once, m.size - done));
      if (got < 0) fail(done);
      if (got == 0) damaged(who, done, "ends here, expected " + std::to_string(m.size) + " bytes");
      done += static_cast<std::size_t>(got);
    }
    // The checksum is compared where the data ends.
    std::byte more{};
    const zip_int64_t rest = zip_fread(member_file.get(), &more, 1);
    if (rest < 0) fail(done);
    if (rest > 0) damaged(who, done, "longer than the archive says");
    return out;
  }

 private:
  member about(zip_uint64_t number) const {
    zip_stat_t found;
    zip_stat_init(&found);
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                    ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive_.get(), number, 0, &found) != 0 || (found.valid & needed) != needed)
      damaged(path(), 0, "member " + std::to_string(number) + " has no name, size or method");
    return {found.name, static_cast<std::size_t>(found.size),
            static_cast<std::size_t>(found.comp_size), found.comp_method,
            found.encryption_method != ZIP_EM_NONE};
  }

  mapped_file file_;
  zip_handle archive_;
  std::vector<member> members_;
  mutable std::mutex mutex_;  // libzip's archives are for one thread
};

}  // namespace sinter::inline SINTER_ABI::detail
