// SPDX-License-Identifier: MIT
//
// Terms as plain data: an array in which a term names its children by number, so that equal
// sub-terms can be shared. Explanations are made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/egraph/enode.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// One term. `children` is valid until something is appended to its list.
struct term_view {
  std::uint16_t op = 0;
  std::uint32_t payload = 0;
  span<const term_id> children;
};

class term_list {
 public:
  /// Adds a term even if the list has an equal one. `children` must not be part of this list's own
  /// memory.
  term_id append(std::uint16_t op, std::uint32_t payload, span<const term_id> children) {
    rows_.push_back({op, static_cast<std::uint16_t>(children.size()), payload,
                     static_cast<std::uint32_t>(children_.size())});
    children_.insert(children_.end(), children.begin(), children.end());
    return static_cast<term_id>(rows_.size() - 1);
  }

  term_view operator[](term_id id) const {
    const row& found = rows_[id];
    return {found.op, found.payload, {children_.data() + found.first_child, found.arity}};
  }
  std::size_t size() const { return rows_.size(); }

 private:
  struct row {
    std::uint16_t op;
    std::uint16_t arity;
    std::uint32_t payload;
    std::uint32_t first_child;
  };
  std::vector<row> rows_;
  std::vector<term_id> children_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
