// SPDX-License-Identifier: MIT
// The order in which the elements of a row combine, written out for single elements: `lanes` side
// by side, four such groups in turn, blocks of 64 groups pairwise, the lanes last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinter/exec/element.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/support/pairwise.hpp>

namespace sinter::inline SINTER_ABI::exec {

class row_order {
 public:
  row_order(monoid m, dtype type, int lanes, std::span<const element> row)
      : m_(m), type_(type), lanes_(static_cast<std::size_t>(lanes)), row_(row) {}

  static constexpr std::size_t block_groups = 64;

  element reduce() const {
    return reduce([&](const element& all, const element& x) { return combine(m_, type_, all, x); });
  }
  /// The sum of squares; `fused`: none of which is rounded before it is added.
  element reduce_squares(bool fused) const {
    return reduce([&](const element& all, const element& x) {
      return multiply_add(type_, fused, x, x, all);
    });
  }

 private:
  static constexpr std::size_t side_by_side = 4;
  using group = std::vector<element>;

  // with_one(all, x): what `all` and an element of the row come to.
  template <class F>
  element reduce(F with_one) const {
    const std::size_t whole = row_.size() / lanes_, rest = row_.size() % lanes_;
    group all = blocks(whole, with_one);
    if (rest != 0)
      for (std::size_t i = 0; i < lanes_; ++i)
        all[i] = i < rest ? with_one(all[i], row_[whole * lanes_ + i])
                          : combine(m_, type_, all[i], identity_of(m_, type_));
    for (std::size_t width = lanes_ / 2; width > 0; width /= 2)
      for (std::size_t i = 0; i < width; ++i) all[i] = combine(m_, type_, all[i], all[i + width]);
    return all[0];
  }

  void add(group& to, const group& x) const {
    for (std::size_t i = 0; i < lanes_; ++i) to[i] = combine(m_, type_, to[i], x[i]);
  }

  template <class F>
  group blocks(std::size_t count, F with_one) const {
    std::vector<group> all;
    for (std::size_t begin = 0; begin == 0 || begin < count; begin += block_groups)
      all.push_back(block(begin, std::min(block_groups, count - begin), with_one));
    return pairwise<group>(all, [&](group front, const group& behind) {
      add(front, behind);
      return front;
    });
  }

  // What is left of the last four groups goes to the first.
  template <class F>
  group block(std::size_t begin, std::size_t count, F with_one) const {
    std::vector<group> part(side_by_side, group(lanes_, identity_of(m_, type_)));
    for (std::size_t i = 0; i < count; ++i) {
      const bool in_turn = i < count / side_by_side * side_by_side;
      group& to = part[in_turn ? i % side_by_side : 0];
      for (std::size_t lane = 0; lane < lanes_; ++lane)
        to[lane] = with_one(to[lane], row_[(begin + i) * lanes_ + lane]);
    }
    add(part[0], part[1]);
    add(part[2], part[3]);
    add(part[0], part[2]);
    return part[0];
  }

  monoid m_;
  dtype type_;
  std::size_t lanes_;
  std::span<const element> row_;
};

}  // namespace sinter::inline SINTER_ABI::exec
