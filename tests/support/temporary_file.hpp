// SPDX-License-Identifier: MIT
// Files of tests: those that a test writes, and those in tests/data.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

namespace test_support {

// A file name that is gone at the end of the test.
struct temporary_file {
  std::string path;

  temporary_file() {
    static std::atomic<int> number = 0;
    const char* folder = std::getenv("TMPDIR");
    path = std::string(folder != nullptr ? folder : "/tmp") + "/sinter_test_" +
           std::to_string(getpid()) + "_" + std::to_string(number++);
  }
  explicit temporary_file(const std::string& bytes) : temporary_file() { write(bytes); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { std::remove(path.c_str()); }

  // A new file: ext4 waits for the disk where one is cut and written again (2 ms each time).
  void write(const std::string& bytes) const {
    std::remove(path.c_str());
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string read() const { return contents(path); }

  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

// A file that tests/data/make_files.py wrote.
inline std::string data_file(const std::string& name) {
  return std::string(SINTER_TEST_DATA) + "/" + name;
}

}  // namespace test_support
