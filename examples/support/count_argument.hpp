// SPDX-License-Identifier: MIT
// A number among the arguments of an example.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>

/// Argument `place` as a number from 1 to `most`; `otherwise` if there is none, nothing if it is no
/// such number.
inline std::optional<std::int64_t> count_argument(int argc, char** argv, int place,
                                                  std::int64_t otherwise, std::int64_t most) {
  if (argc <= place) return otherwise;
  const char* const end = argv[place] + std::strlen(argv[place]);
  std::int64_t count = 0;
  const auto [stopped, problem] = std::from_chars(argv[place], end, count);
  if (problem != std::errc() || stopped != end || count < 1 || count > most) return std::nullopt;
  return count;
}
