// SPDX-License-Identifier: MIT
// A machine as text and back, with what says whose it is and a check sum over all of it.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sinter/plan/machine.hpp>
#include <sinter/support/hash.hpp>

namespace sinter::inline SINTER_ABI::planning {

inline constexpr std::array<std::pair<std::string_view, double machine::*>, 15> machine_fields{{
    {"dram_byte", &machine::dram_byte},
    {"l2_byte", &machine::l2_byte},
    {"l2_bytes", &machine::l2_bytes},
    {"last_level_bytes", &machine::last_level_bytes},
    {"last_level_byte", &machine::last_level_byte},
    {"unit_work", &machine::unit_work},
    {"tile_operand", &machine::tile_operand},
    {"flop", &machine::flop},
    {"launch", &machine::launch},
    {"row", &machine::row},
    {"copied_row", &machine::copied_row},
    {"column_batch", &machine::column_batch},
    {"strided_element", &machine::strided_element},
    {"transposed_element", &machine::transposed_element},
    {"packed_element", &machine::packed_element},
}};
static_assert(sizeof(machine) == machine_fields.size() * sizeof(double));

namespace detail {

inline std::string number_text(double x) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr;
  return std::string(digits.data(), end);
}

inline std::string check_line(std::string_view text) {
  std::array<char, 20> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), hash_string(text), 16).ptr;
  return "check " + std::string(digits.data(), end) + "\n";
}

}  // namespace detail

/// A line with `owner`, which says what the numbers belong to, a line per number, which comes back
/// as the same double, and a check sum. `owner` has no line ends.
inline std::string machine_text(const machine& m, std::string_view owner) {
  std::string out(owner);
  out += "\n";
  for (const auto& [name, field] : machine_fields)
    out += std::string(name) + " " + detail::number_text(m.*field) + "\n";
  return out + detail::check_line(out);
}

/// The machine in a text that machine_text wrote for this owner; nothing if it is another's, or
/// damaged: then also where every number could be read, but is none of a machine.
inline std::optional<machine> machine_of_text(std::string_view text, std::string_view owner) {
  const std::size_t check = text.rfind("check ");
  if (check == std::string_view::npos ||
      text.substr(check) != detail::check_line(text.substr(0, check)))
    return std::nullopt;
  const auto line = [&] {
    const std::size_t end = text.find('\n');
    const std::string_view out = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return out;
  };
  if (line() != owner) return std::nullopt;
  machine out;
  for (const auto& [name, field] : machine_fields) {
    const std::string_view each = line();
    if (!each.starts_with(name) || each.size() < name.size() + 2 || each[name.size()] != ' ')
      return std::nullopt;
    double value = 0;
    const char* const end = each.data() + each.size();
    const auto read = std::from_chars(each.data() + name.size() + 1, end, value);
    if (read.ec != std::errc() || read.ptr != end || !(value > 0) || !std::isfinite(value))
      return std::nullopt;
    out.*field = value;
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::planning
