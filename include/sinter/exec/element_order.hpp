// SPDX-License-Identifier: MIT
// The order in which the elements of a row combine, written out for single elements: `lanes` side
// by side, four such groups in turn, blocks of 64 groups pairwise, the lanes last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinter/exec/element.hpp>
#include <sinter/exec/reduction.hpp>

namespace sinter::inline SINTER_ABI::exec {

class row_order {
 public:
  row_order(monoid m, dtype type, int lanes, std::span<const element> row)
      : m_(m), type_(type), lanes_(static_cast<std::size_t>(lanes)), row_(row) {}

  element reduce() const {
    const std::size_t whole = row_.size() / lanes_, rest = row_.size() % lanes_;
    group all = halves(0, whole);
    if (rest != 0) {
      group last = identity();
      for (std::size_t i = 0; i < rest; ++i) last[i] = row_[whole * lanes_ + i];
      add(all, last);
    }
    for (std::size_t width = lanes_ / 2; width > 0; width /= 2)
      for (std::size_t i = 0; i < width; ++i) all[i] = combine(m_, type_, all[i], all[i + width]);
    return all[0];
  }

 private:
  static constexpr std::size_t block_groups = 64, side_by_side = 4;
  using group = std::vector<element>;

  group identity() const { return group(lanes_, identity_of(m_, type_)); }
  void add(group& to, const group& x) const {
    for (std::size_t i = 0; i < lanes_; ++i) to[i] = combine(m_, type_, to[i], x[i]);
  }

  group halves(std::size_t begin, std::size_t count) const {
    if (count <= block_groups) return block(begin, count);
    const std::size_t half = (count / 2 + block_groups - 1) / block_groups * block_groups;
    group front = halves(begin, half);
    add(front, halves(begin + half, count - half));
    return front;
  }

  // What is left of the last four groups goes to the first.
  group block(std::size_t begin, std::size_t count) const {
    std::vector<group> part(side_by_side, identity());
    for (std::size_t i = 0; i < count; ++i) {
      const bool in_turn = i < count / side_by_side * side_by_side;
      const std::size_t first = (begin + i) * lanes_;
      add(part[in_turn ? i % side_by_side : 0],
          group(row_.begin() + static_cast<std::ptrdiff_t>(first),
                row_.begin() + static_cast<std::ptrdiff_t>(first + lanes_)));
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
