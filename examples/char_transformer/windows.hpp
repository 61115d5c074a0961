// SPDX-License-Identifier: MIT
// A text in two parts, one to learn from and one that is held out; batches of windows of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/sinter.hpp>

namespace language_model {

namespace sn = sinter;

using numbered_text = std::vector<std::int32_t>;
using batch = sn::tensor<std::int32_t, 2>;  // [windows, characters of a window]

struct text_parts {
  numbered_text training, held_out;
};

/// Of every ten blocks of 16,384 characters the last is held out: a text's parts differ, its end
/// from its beginning most of all. A shorter text loses its last tenth.
inline text_parts split(const numbered_text& text) {
  const std::size_t block =
      std::max<std::size_t>(std::min<std::size_t>(text.size() / 10, 16384), 1);
  text_parts out;
  for (std::size_t i = 0; i < text.size(); ++i)
    (i / block % 10 == 9 ? out.held_out : out.training).push_back(text[i]);
  return out;
}

/// All windows of `length` characters that follow one another, each with the character behind it.
class windows {
 public:
  windows(const numbered_text& text, std::int64_t length) : text_(text), length_(length) {}

  /// Leaves out up to `length` characters, so that an epoch may begin anywhere among them.
  std::int64_t count() const {
    return std::max<std::int64_t>(static_cast<std::int64_t>(text_.size()) / length_ - 1, 0);
  }

  /// Copies window `number` into a row of a batch, `offset` (below `length`) characters on.
  void copy(std::int64_t number, std::int64_t offset, std::int32_t* row) const {
    std::copy_n(text_.begin() + (number * length_ + offset), length_ + 1, row);
  }

 private:
  const numbered_text& text_;
  std::int64_t length_;
};

/// Windows of every epoch in an order of its own, cut at other places each time. What a step gets
/// depends on the seed and the step's number alone.
class shuffled_windows {
 public:
  shuffled_windows(const numbered_text& text, std::int64_t length, std::int64_t rows,
                   std::int64_t seed)
      : all_(text, length), length_(length), rows_(rows), seed_(seed) {
    if (steps_per_epoch() < 1)
      throw sn::io_error("the text is too short: " + std::to_string(text.size()) +
                         " characters to learn from, expected at least " +
                         std::to_string((rows + 1) * length));
  }

  /// The last windows of an epoch, too few for a batch, are left out.
  std::int64_t steps_per_epoch() const { return all_.count() / rows_; }

  /// The batch of a step, counted from 0. Amortised O(1) per character if steps follow one another.
  const batch& of_step(std::int64_t step) {
    const std::int64_t epoch = step / steps_per_epoch(), first = step % steps_per_epoch() * rows_;
    if (epoch != epoch_) {
      const std::int64_t key = sn::derive_key(seed_, epoch);
      order_ = sn::permutation(key, all_.count());
      offset_ = sn::permutation(sn::derive_key(key, 0), length_)(0);
      epoch_ = epoch;
    }
    for (std::int64_t r = 0; r < rows_; ++r) all_.copy(order_(first + r), offset_, &out_(r, 0));
    return out_;
  }

 private:
  windows all_;
  std::int64_t length_, rows_, seed_;
  std::int64_t epoch_ = -1, offset_ = 0;
  sn::tensor<std::int64_t, 1> order_;
  batch out_{rows_, length_ + 1};
};

}  // namespace language_model
