// SPDX-License-Identifier: MIT
//
// Shortest ways through recorded equalities. The way between the children of a congruence may only
// use equalities recorded before it; that makes the search well-founded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <sinter/egraph/proof_record.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

struct path_edge {
  std::uint32_t number = 0;  ///< of an equality in the record
  bool forward = true;       ///< from its left to its right
};
using proof_path = std::vector<path_edge>;

class proof_search {
 public:
  /// Linear in the record.
  explicit proof_search(const proof_record& record)
      : record_(record),
        first_(record.terms().size() + 1, 0),
        reached_(record.terms().size(), 0),
        entered_by_(record.terms().size()) {
    const auto& all = record.equalities();
    for (const equality& each : all) {
      ++first_[each.left + std::size_t{1}];
      ++first_[each.right + std::size_t{1}];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    edges_.resize(2 * all.size());
    std::vector<std::uint32_t> end(first_.begin(), first_.end() - 1);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      edges_[end[all[i].left]++] = {i, true};
      edges_[end[all[i].right]++] = {i, false};
    }
  }

  /// A way with as few equalities as possible; the terms must be connected.
  proof_path path(term_id from, term_id to) { return path(from, to, no_id); }

  /// The ways from the children of a congruence's left side to those of its right side. The
  /// reference stays valid.
  const std::vector<proof_path>& children_of(std::uint32_t number) {
    const auto [found, is_new] = children_.try_emplace(number);
    if (is_new) {
      const equality& used = record_.equalities()[number];
      const auto left = record_.terms()[used.left].children;
      const auto right = record_.terms()[used.right].children;
      for (std::size_t i = 0; i < left.size(); ++i)
        found->second.push_back(path(left[i], right[record_.paired(used, i)], number));
    }
    return found->second;
  }

 private:
  // Breadth-first over the equalities numbered less than `limit`.
  proof_path path(term_id from, term_id to, std::uint32_t limit) {
    ++search_;
    queue_.clear();
    queue_.push_back(from);
    reached_[from] = search_;
    for (std::size_t at = 0; at < queue_.size() && reached_[to] != search_; ++at) {
      const term_id here = queue_[at];
      for (std::uint32_t i = first_[here]; i < first_[here + std::size_t{1}]; ++i) {
        const path_edge edge = edges_[i];
        if (edge.number >= limit) break;  // in the order in which they were recorded
        const term_id next = end_of(edge);
        if (reached_[next] == search_) continue;
        reached_[next] = search_;
        entered_by_[next] = edge;
        queue_.push_back(next);
      }
    }
    proof_path out;
    for (term_id at = to; at != from; at = start_of(entered_by_[at]))
      out.push_back(entered_by_[at]);
    std::reverse(out.begin(), out.end());
    return out;
  }
  term_id start_of(path_edge edge) const { return end_of({edge.number, !edge.forward}); }
  term_id end_of(path_edge edge) const {
    const equality& used = record_.equalities()[edge.number];
    return edge.forward ? used.right : used.left;
  }

  const proof_record& record_;
  std::vector<std::uint32_t> first_;  // by term: its edges are edges_[first_[t] .. first_[t + 1]]
  std::vector<path_edge> edges_;
  std::vector<std::uint32_t> reached_;  // by term: the last search that came by
  std::vector<path_edge> entered_by_;
  std::vector<term_id> queue_;
  std::uint32_t search_ = 0;
  std::map<std::uint32_t, std::vector<proof_path>> children_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
