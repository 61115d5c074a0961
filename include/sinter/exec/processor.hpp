// SPDX-License-Identifier: MIT
// The processor that the program runs on, as far as the system tells, and what the program was
// compiled for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>

#include <sinter/exec/parallel.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// What the speed of a program depends on.
struct processor {
  std::string model = "unknown";
  std::size_t level2_bytes = 0, level3_bytes = 0;  // of caches; 0: unknown or not there
  std::string instructions;                        // that the kernels were compiled for
  int threads = 1;

  /// On one line, for people and for comparison.
  std::string to_text() const {
    return model + ", L2 " + std::to_string(level2_bytes / 1024) + " KiB, L3 " +
           std::to_string(level3_bytes / 1024) + " KiB, " + instructions + ", " +
           std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }
};

namespace detail {

inline std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// The values of the first processor in the form of /proc/cpuinfo that say which one it is.
inline std::string model_of(const std::string& file) {
  std::ifstream in(file);
  std::string out;
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = std::string_view(line).substr(0, line.find_first_of("\t:"));
    if (key != "model name" && key != "cpu family" && key != "model" && key != "stepping" &&
        key != "CPU implementer" && key != "CPU part")
      continue;
    out += (out.empty() ? "" : " ") + line.substr(std::min(line.size(), colon + 2));
  }
  return out.empty() ? "unknown" : out;
}

// Linux describes every cache of a processor in a directory of its own; sizes are like "1024K".
inline std::size_t cache_bytes(char level) {
  for (int i = 0; i < 8; ++i) {
    const std::string where = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    if (first_line(where + "level") != std::string(1, level)) continue;
    const std::string size = first_line(where + "size");
    std::size_t bytes = 0;
    for (char c : size)
      if (c >= '0' && c <= '9') bytes = bytes * 10 + static_cast<std::size_t>(c - '0');
    if (size.ends_with('K')) return bytes << 10;
    if (size.ends_with('M')) return bytes << 20;
    return bytes;
  }
  return 0;
}

}  // namespace detail

/// Reads a few files of the system, in less than a millisecond.
inline processor this_processor() {
  processor out;
  out.model = detail::model_of("/proc/cpuinfo");
  out.level2_bytes = detail::cache_bytes('2');
  out.level3_bytes = detail::cache_bytes('3');
  out.instructions = instruction_set_name();
  out.threads = thread_count();
  return out;
}

}  // namespace sinter::inline SINTER_ABI::exec
