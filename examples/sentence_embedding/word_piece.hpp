// SPDX-License-Identifier: MIT
// Text as numbers of a vocabulary: WordPiece, the longest known piece first (Schuster and Nakajima,
// "Japanese and Korean voice search", 2012).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "words.hpp"
#include <sinter/support/error.hpp>

namespace sentence_embedding {

class word_piece {
 public:
  /// Reads a vocabulary: one piece a line, those that continue a word begin with "##". Throws
  /// io_error if the file cannot be read or lacks one of the marks.
  explicit word_piece(const std::filesystem::path& vocabulary) {
    std::ifstream file(vocabulary);
    if (!file) throw sinter::io_error("cannot open " + vocabulary.string());
    for (std::string line; std::getline(file, line);)
      numbers_.emplace(line, static_cast<std::int32_t>(numbers_.size()));
    const auto mark = [&](const char* piece) {
      const auto found = numbers_.find(piece);
      if (found == numbers_.end())
        throw sinter::io_error(vocabulary.string() + " has no " + piece + ": no BERT vocabulary");
      return found->second;
    };
    first_ = mark("[CLS]");
    last_ = mark("[SEP]");
    unknown_ = mark("[UNK]");
  }

  /// The pieces of a text between the marks of its beginning and end, cut to `most` in all. Marks
  /// that are written in the text are text.
  std::vector<std::int32_t> encode(std::string_view text, std::size_t most) const {
    std::vector<std::int32_t> out{first_};
    for (const std::string& word : words_of(text)) {
      if (out.size() >= most) break;
      add(word, out);
    }
    out.resize(std::min(out.size(), most - 1));
    out.push_back(last_);
    return out;
  }

 private:
  // As the vocabulary was made: a longer word is unknown, whatever it is made of.
  static constexpr std::size_t longest_word = 100;

  void add(const std::string& word, std::vector<std::int32_t>& out) const {
    const auto is_continuation = [](char byte) { return (byte & 0xc0) == 0x80; };
    const std::size_t known = out.size();
    std::size_t begin = 0;
    if (word.size() - static_cast<std::size_t>(std::ranges::count_if(word, is_continuation)) >
        longest_word)
      return out.push_back(unknown_);
    while (begin < word.size()) {
      std::string piece = (begin > 0 ? "##" : "") + word.substr(begin);
      const std::size_t mark = begin > 0 ? 2 : 0;
      auto found = numbers_.find(piece);
      while (found == numbers_.end() && piece.size() > mark) {
        piece.pop_back();
        found = numbers_.find(piece);
      }
      if (piece.size() == mark) {  // a word is known as a whole or not at all
        out.resize(known);
        return out.push_back(unknown_);
      }
      out.push_back(found->second);
      begin += piece.size() - mark;
    }
  }

  std::unordered_map<std::string, std::int32_t> numbers_;
  std::int32_t first_ = 0, last_ = 0, unknown_ = 0;
};

}  // namespace sentence_embedding
