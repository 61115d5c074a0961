// SPDX-License-Identifier: MIT
// Characters as numbers: the code points of a UTF-8 text, and the vocabulary that numbers those
// that occur.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/support/error.hpp>
#include <sinter/tensor/tensor.hpp>

namespace language_model {

/// The code points of a UTF-8 text. Throws io_error, with the byte, where it is none.
inline std::vector<std::int32_t> code_points(std::string_view text) {
  std::vector<std::int32_t> out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
    };
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80       ? 1
                               : first >> 5 == 6  ? 2
                               : first >> 4 == 14 ? 3
                               : first >> 3 == 30 ? 4
                                                  : 0;
    unsigned point = length == 1 ? first : first & (0x7Fu >> length);
    bool sound = length > 0;
    for (std::size_t k = 1; k < length; ++k) {
      sound = sound && byte(i + k) >> 6 == 2;
      point = point << 6 | (byte(i + k) & 0x3F);
    }
    if (!sound) throw sinter::io_error("no UTF-8 text: byte " + std::to_string(i));
    out.push_back(static_cast<std::int32_t>(point));
    i += length;
  }
  return out;
}

/// A code point in UTF-8.
inline std::string utf8(std::int32_t code_point) {
  const auto c = static_cast<unsigned>(code_point);
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}

/// Some code points, numbered from 0 in their order.
class vocabulary {
 public:
  explicit vocabulary(std::vector<std::int32_t> points) : points_(std::move(points)) {
    std::sort(points_.begin(), points_.end());
    points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
  }

  std::int64_t size() const { return static_cast<std::int64_t>(points_.size()); }
  const std::vector<std::int32_t>& points() const { return points_; }

  /// O(log n). Throws io_error for a character that is not in the vocabulary.
  std::int32_t number(std::int32_t code_point) const {
    const auto at = std::lower_bound(points_.begin(), points_.end(), code_point);
    if (at == points_.end() || *at != code_point)
      throw sinter::io_error("character '" + utf8(code_point) + "' is not in the vocabulary");
    return static_cast<std::int32_t>(at - points_.begin());
  }
  std::vector<std::int32_t> numbers(const std::vector<std::int32_t>& text) const {
    std::vector<std::int32_t> out;
    out.reserve(text.size());
    for (const std::int32_t c : text) out.push_back(number(c));
    return out;
  }

  /// The character of this number in UTF-8.
  std::string character(std::int64_t number) const {
    return utf8(points_.at(static_cast<std::size_t>(number)));
  }

 private:
  std::vector<std::int32_t> points_;
};

}  // namespace language_model
