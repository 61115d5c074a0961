// SPDX-License-Identifier: MIT
//
// A term list that holds every term once: two terms are equal if and only if their numbers are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include <sinter/egraph/hashcons.hpp>
#include <sinter/egraph/term_list.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

class term_bank {
 public:
  /// The number of the term, which is added if it is not there. `children` must not be part of the
  /// bank's own memory.
  term_id add(std::uint16_t op, std::uint32_t payload, span<const term_id> children) {
    const std::uint32_t hash = hash_node(op, payload, children);
    const term_id found = table_.find(hash, [&](term_id id) {
      const term_view known = terms_[id];
      return known.op == op && known.payload == payload &&
             std::equal(known.children.begin(), known.children.end(), children.begin(),
                        children.end());
    });
    if (found != no_id) return found;
    const term_id made = terms_.append(op, payload, children);
    table_.insert(hash, made);
    return made;
  }
  term_id add(std::uint16_t op, std::uint32_t payload, std::initializer_list<term_id> children) {
    return add(op, payload, span(children.begin(), children.size()));
  }

  const term_list& terms() const { return terms_; }
  term_view operator[](term_id id) const { return terms_[id]; }
  std::size_t size() const { return terms_.size(); }

 private:
  term_list terms_;
  hashcons table_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
