// SPDX-License-Identifier: MIT
//
// Local search for DAG cost: exchanges the option of one class, or those of all classes that could
// share another, while that pays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/extraction_problem.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Counts the chosen users of every class, so that an exchange is tried in time proportional to the
/// classes that it adds and drops.
class option_exchange {
 public:
  /// `choice`: complete for the roots and free of cycles. A class that an exchange adds gets the
  /// option it had last, or that of `spare`.
  option_exchange(const extraction_problem& problem, option_choice choice,
                  const option_choice& spare)
      : problem_(problem),
        choice_(std::move(choice)),
        users_(problem.classes(), 0),
        mark_(problem.classes(), 0) {
    for (std::uint32_t c = 0; c < problem.classes(); ++c) {
      if (choice_[c] == no_id) choice_[c] = spare[c];
    }
    for (const std::uint32_t root : problem.roots) add(root);
    // Rounding must not pass for a gain.
    for (std::uint32_t c = 0; c < problem.classes(); ++c) {
      if (users_[c] > 0) least_gain_ += 1e-12 * std::abs(problem.options[choice_[c]].cost);
    }
  }

  /// Exchanges until none pays or `work` is spent, which it lowers.
  option_choice run(std::size_t& work) {
    for (bool better = true; better && work > 0;) {
      better = false;
      for (std::uint32_t c = 0; c < problem_.classes() && work > 0; ++c) {
        touched_ = 1;
        better = (users_[c] > 0 ? exchange_any(c) : share(c)) || better;
        work -= std::min(work, touched_);
      }
    }
    option_choice out = choice_;
    keep_reachable(problem_, out);
    return out;
  }

 private:
  bool exchange_any(std::uint32_t c) {
    bool better = false;
    for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
      if (users_[c] == 0 || i == choice_[c]) continue;
      const std::uint32_t before = choice_[c];
      double delta = 0;
      if (!exchange(c, i, delta)) continue;
      if (delta < -least_gain_) {
        better = true;
      } else {
        replace(c, before);
      }
    }
    return better;
  }

  // Lets every chosen class that can use class c do so; those that then do better with what they
  // had take it back.
  bool share(std::uint32_t c) {
    changes_.clear();
    double total = 0;
    for (const std::uint32_t i : problem_.users_of(c)) {
      const std::uint32_t owner = problem_.options[i].owner;
      if (users_[owner] == 0 || choice_[owner] == i) continue;
      const std::uint32_t before = choice_[owner];
      double delta = 0;
      if (!exchange(owner, i, delta)) continue;
      total += delta;
      changes_.push_back({owner, before});
    }
    if (changes_.empty()) return false;
    const std::size_t shared = changes_.size();
    for (std::size_t k = 0; k < shared && shared > 1; ++k) {
      const auto [owner, before] = changes_[k];
      const std::uint32_t after = choice_[owner];
      double delta = 0;
      if (users_[owner] == 0 || after == before || !exchange(owner, before, delta)) continue;
      if (delta < -least_gain_) {
        total += delta;
        changes_.push_back({owner, after});
      } else {
        replace(owner, after);
      }
    }
    if (total < -least_gain_) return true;
    for (std::size_t k = changes_.size(); k-- > 0;) replace(changes_[k].first, changes_[k].second);
    return false;
  }

  // Makes i the option of class c, which is chosen, if that leaves no cycle.
  bool exchange(std::uint32_t c, std::uint32_t i, double& delta) {
    const std::uint32_t before = choice_[c];
    choice_[c] = i;
    const bool possible = is_term(c);
    choice_[c] = before;
    if (possible) delta = replace(c, i);
    return possible;
  }

  // The change of cost. What is added comes first, so that what both options need stays.
  double replace(std::uint32_t c, std::uint32_t after) {
    const std::uint32_t before = choice_[c];
    choice_[c] = after;
    if (users_[c] == 0) return 0;
    double delta = problem_.options[after].cost - problem_.options[before].cost;
    for (const auto& d : problem_.children_of(after)) delta += add(d.target);
    for (const auto& d : problem_.children_of(before)) delta -= drop(d.target);
    return delta;
  }

  double add(std::uint32_t c) {
    double cost = 0;
    open_.push_back(c);
    while (!open_.empty()) {
      const std::uint32_t d = open_.back();
      open_.pop_back();
      ++touched_;
      if (users_[d]++ > 0) continue;
      cost += problem_.options[choice_[d]].cost;
      for (const auto& e : problem_.children_of(choice_[d])) open_.push_back(e.target);
    }
    return cost;
  }

  double drop(std::uint32_t c) {
    double cost = 0;
    open_.push_back(c);
    while (!open_.empty()) {
      const std::uint32_t d = open_.back();
      open_.pop_back();
      ++touched_;
      if (--users_[d] > 0) continue;
      cost += problem_.options[choice_[d]].cost;
      for (const auto& e : problem_.children_of(choice_[d])) open_.push_back(e.target);
    }
    return cost;
  }

  // Whether what class c needs by the present choices is complete and free of cycles.
  bool is_term(std::uint32_t c) {
    time_ += 2;  // marks: time_ on the path, time_ + 1 done
    path_.clear();
    path_.push_back({c, 0});
    mark_[c] = time_;
    while (!path_.empty()) {
      auto& [d, next] = path_.back();
      if (choice_[d] == no_id) return false;
      const auto children = problem_.children_of(choice_[d]);
      if (next == children.size()) {
        mark_[d] = time_ + 1;
        path_.pop_back();
        continue;
      }
      const std::uint32_t e = children[next++].target;
      ++touched_;
      if (mark_[e] == time_) return false;
      if (mark_[e] == time_ + 1) continue;
      mark_[e] = time_;
      path_.push_back({e, 0});
    }
    return true;
  }

  const extraction_problem& problem_;
  option_choice choice_;
  std::vector<std::uint32_t> users_;  // by class: chosen options that need it, roots included
  std::vector<std::uint32_t> mark_;
  double least_gain_ = 0;
  std::uint32_t time_ = 0;
  std::size_t touched_ = 0;
  std::vector<std::uint32_t> open_;
  std::vector<std::pair<std::uint32_t, std::size_t>> path_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> changes_;  // a class and its option before
};

}  // namespace sinter::inline SINTER_ABI::eqsat
