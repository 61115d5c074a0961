// SPDX-License-Identifier: MIT
// Lets a language model go on with a text, a character at a time: keys and values of what was
// before are kept, and one plan serves all places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "language_model.hpp"

namespace language_model {

struct writing_style {
  double temperature = 0.8;  // of the scores: low is safe, high is varied
  std::int64_t top = 40;     // draws among so many characters with the highest scores, at least 1
  std::int64_t key = 1;      // of the random numbers
};

class writer {
 public:
  /// Has room for a text of `places` characters. Refers to the model.
  writer(model<floats>& network, const sizes& s, std::int64_t places)
      : network_(network),
        places_(places),
        seen_(make_caches(s, places)),
        scores_(1, 1, s.characters),
        noisy_(1, 1, s.characters) {}

  /// Reads the next character of the text. Throws shape_error if there is no room.
  void read(std::int32_t character, const writing_style& style = {}) {
    if (position_ == places_)
      throw sn::shape_error("writer: a text of " + std::to_string(places_) + " places is full");
    text_(0, 0) = character;
    const auto warmth = static_cast<float>(style.temperature);
    step_.into(scores_, noisy_)(network_, seen_, text_, position_, warmth,
                                sn::derive_key(style.key, position_));
    ++position_;
  }

  /// Scores of what might come next [1, 1, characters].
  const sn::tensor<float, 3>& scores() const { return scores_; }

  /// Draws what comes next by softmax(scores / temperature) among the highest scores: the noise
  /// that `read` added makes the highest of its sums such a draw (Gumbel 1954). Ties go to the
  /// character of the lower number.
  std::int32_t drawn(const writing_style& style) {
    const float *const score = scores_.data(), *const noisy = noisy_.data();
    ranked_.assign(score, score + scores_.size());
    const auto nth = std::clamp<std::int64_t>(style.top, 1, scores_.size()) - 1;
    std::nth_element(ranked_.begin(), ranked_.begin() + nth, ranked_.end(), std::greater<>());
    const float least = ranked_[static_cast<std::size_t>(nth)];
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < scores_.size(); ++i)
      if (score[i] >= least && (best < 0 || noisy[i] > noisy[best])) best = i;
    return static_cast<std::int32_t>(best);
  }

  std::int64_t position() const { return position_; }
  sn::program_statistics statistics() const { return step_.statistics(); }

 private:
  model<floats>& network_;
  std::int64_t places_, position_ = 0;
  caches<floats> seen_;
  // Known to be one character, which lets cache_write do with less.
  sn::tensor<std::int32_t, sn::extents<1, 1>> text_;
  sn::tensor<float, 3> scores_, noisy_;
  std::vector<float> ranked_;
  decltype(sn::fuse(sn::trace_in_first_call(write))) step_ =
      sn::fuse(sn::trace_in_first_call(write));
};

}  // namespace language_model
