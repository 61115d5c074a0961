// SPDX-License-Identifier: MIT
// A text as the words that BERT's uncased vocabulary is made of: no control characters, lower case,
// no accents; Chinese characters and punctuation marks are words of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utf8proc.h>
#include <vector>

namespace sentence_embedding {

namespace detail {

using code_point = utf8proc_int32_t;

inline bool is_space(code_point c) {
  if (c == '\t' || c == '\n' || c == '\r') return true;
  const utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

// Control, format and private characters, and what stands for an undecodable one.
inline bool is_dropped(code_point c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return c == 0 || c == 0xfffd || category == UTF8PROC_CATEGORY_CC ||
         category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

// The blocks of unified ideographs: scripts that are written without spaces, but not Hangul,
// Hiragana or Katakana.
inline bool is_ideograph(code_point c) {
  constexpr std::array<std::array<code_point, 2>, 8> blocks{{{0x4e00, 0x9fff},
                                                             {0x3400, 0x4dbf},
                                                             {0x20000, 0x2a6df},
                                                             {0x2a700, 0x2b73f},
                                                             {0x2b740, 0x2b81f},
                                                             {0x2b920, 0x2ceaf},
                                                             {0xf900, 0xfaff},
                                                             {0x2f800, 0x2fa1f}}};
  for (const auto& block : blocks)
    if (c >= block[0] && c <= block[1]) return true;
  return false;
}

// All of ASCII that is neither a letter nor a digit counts, `$` and `^` too.
inline bool is_punctuation(code_point c) {
  if (c < 128)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  const utf8proc_category_t category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

class word_splitter {
 public:
  void add(code_point c) {
    if (is_space(c)) return end_word();
    if (is_dropped(c)) return;
    const bool alone = is_ideograph(c);
    if (alone) end_word();
    // The canonical decomposition, of at most four characters, tells letters from their accents.
    std::array<code_point, 8> parts{};
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(c, parts.data(), static_cast<utf8proc_ssize_t>(parts.size()),
                                UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < count; ++i) add_part(parts[static_cast<std::size_t>(i)]);
    if (alone) end_word();
  }

  std::vector<std::string> finish() {
    end_word();
    return std::move(words_);
  }

 private:
  void add_part(code_point c) {
    if (utf8proc_category(c) == UTF8PROC_CATEGORY_MN) return;
    const bool alone = is_punctuation(c);
    if (alone) end_word();
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t count = utf8proc_encode_char(utf8proc_tolower(c), bytes.data());
    word_.append(bytes.begin(), bytes.begin() + count);
    if (alone) end_word();
  }

  void end_word() {
    if (!word_.empty()) words_.push_back(std::move(word_));
    word_.clear();
  }

  std::string word_;
  std::vector<std::string> words_;
};

}  // namespace detail

/// The words of a text in UTF-8; bytes that are none are left out.
inline std::vector<std::string> words_of(std::string_view text) {
  detail::word_splitter words;
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    detail::code_point c = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(at, left, &c);
    if (length > 0) words.add(c);
    at += length > 0 ? length : 1;
    left -= length > 0 ? length : 1;
  }
  return words.finish();
}

}  // namespace sentence_embedding
