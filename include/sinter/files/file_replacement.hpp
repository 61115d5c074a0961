// SPDX-License-Identifier: MIT
// file_replacement: a file that takes its name when all of it is written.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include <sinter/files/mapped_file.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::detail {

/// What is written goes to `path` + ".partial", which `finish` renames: a reader never sees half a
/// file, and after an error an existing file is as it was. Throws io_error.
class file_replacement {
 public:
  explicit file_replacement(std::string path)
      : path_(std::move(path)),
        partial_(path_ + ".partial"),
        file_(std::fopen(partial_.c_str(), "wb")) {
    if (!file_) raise(io_error(partial_ + ": cannot open the file for writing"));
  }
  file_replacement(const file_replacement&) = delete;
  file_replacement& operator=(const file_replacement&) = delete;
  ~file_replacement() {
    if (finished_) return;
    file_.reset();
    std::remove(partial_.c_str());
  }

  void write(const void* bytes, std::size_t count) {
    if (count > 0 && std::fwrite(bytes, 1, count, file_.get()) != count)
      raise(io_error(path_ + ": cannot write all of the file"));
  }
  void write(const std::string& bytes) { write(bytes.data(), bytes.size()); }

  void finish() {
    // A full disk may show only when the buffer is written out, so the result of closing counts.
    if (std::fclose(file_.release()) != 0)
      raise(io_error(path_ + ": cannot write all of the file"));
    if (std::rename(partial_.c_str(), path_.c_str()) != 0)
      raise(io_error(path_ + ": cannot take the place of this file"));
    finished_ = true;
  }

 private:
  std::string path_;
  std::string partial_;
  file_handle file_;
  bool finished_ = false;
};

}  // namespace sinter::inline SINTER_ABI::detail
