// SPDX-License-Identifier: MIT
//
// A lower bound on DAG cost from prices: a class that needs another pays it a share, and a class is
// worth no more than its cheapest option including the shares that this option pays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/extraction_problem.hpp>
#include <sinter/egraph/required_classes.hpp>
#include <sinter/egraph/strong_components.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// The Lagrangian dual of extraction without its ban on cycles. For each pair of a class and a
/// class that one of its options requires there is a price, zero or more. With any prices the sum
/// over classes of the cheapest option, prices paid less prices received, where a class that need
/// not be chosen counts only if that is below zero, is a lower bound. Prices for all that an option
/// requires rather than for its children make the bound tight where cycles and reassociation leave
/// it useless (tensat's resnet50: 4.37 rather than 0.04 of 4.40). The subgradient method raises it
/// (Held, Wolfe and Crowder, "Validation of subgradient optimization", 1974).
class price_bound {
 public:
  price_bound(const extraction_problem& problem, std::size_t& work) : problem_(problem) {
    const std::size_t classes = problem.classes();
    needed_.assign(classes, 0);
    for (const std::uint32_t r : problem.roots) needed_[r] = 1;
    collect_pairs(work);
    price_.assign(target_.size(), 0);
    direction_.assign(target_.size(), 0);
    used_.assign(target_.size(), 0);
    best_.assign(classes, no_id);
    least_.assign(classes, 0);
    income_.assign(classes, 0);
    selected_.assign(classes, 0);
    share_.assign(classes, 0.5);
  }

  /// Set entries touched by one `raise`, about.
  std::size_t size() const { return paid_.size() + 4 * target_.size() + problem_.options.size(); }

  /// Every class is worth its cheapest option and asks its users for equal shares.
  void start() {
    std::vector<std::uint32_t> users(problem_.classes(), 0);
    for (const std::uint32_t d : target_) ++users[d];
    std::vector<double> worth(problem_.classes(), 0);
    for (const std::uint32_t c : order_) {
      double least = std::numeric_limits<double>::infinity();
      for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
        double sum = problem_.options[i].cost;
        for (std::uint32_t k = first_paid_[i]; k < first_paid_[i + 1]; ++k) {
          const std::uint32_t d = target_[paid_[k]];
          sum += worth[d] / users[d];
        }
        least = std::min(least, sum);
      }
      worth[c] = std::max(0.0, least);
    }
    for (std::size_t k = 0; k < target_.size(); ++k) {
      price_[k] = worth[target_[k]] / users[target_[k]];
    }
  }

  double evaluate() {
    std::fill(income_.begin(), income_.end(), 0.0);
    for (std::size_t k = 0; k < target_.size(); ++k) income_[target_[k]] += price_[k];
    double bound = 0;
    for (std::uint32_t c = 0; c < problem_.classes(); ++c) {
      double least = std::numeric_limits<double>::infinity();
      for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
        const double cost = asked(i);
        if (cost < least) {
          least = cost;
          best_[c] = i;
        }
      }
      least_[c] = least;
      const double value = least - income_[c];
      selected_[c] = needed_[c] != 0 || value < 0;
      if (selected_[c] != 0) bound += value;
    }
    total_ = bound;
    return bound;
  }

  /// One step from where `evaluate` has been: `distance` is what is left to gain. False if there is
  /// nothing to gain in any direction.
  bool raise(double distance) {
    double norm = 0;
    for (std::uint32_t c = 0; c < problem_.classes(); ++c) {
      share_[c] += 0.05 * (selected_[c] - share_[c]);
      if (selected_[c] != 0) {
        for (std::uint32_t k = first_paid_[best_[c]]; k < first_paid_[best_[c] + 1]; ++k)
          used_[paid_[k]] = 1;
      }
      for (std::uint32_t k = first_pair_[c]; k < first_pair_[c + 1]; ++k) {
        // A part of the last direction damps the zigzag of plain subgradients.
        double step = static_cast<double>(used_[k]) - static_cast<double>(selected_[target_[k]]) +
                      0.5 * direction_[k];
        used_[k] = 0;
        if (step < 0 && price_[k] <= 0) step = 0;
        direction_[k] = step;
        norm += step * step;
      }
    }
    if (norm == 0) return false;
    const double length = distance / norm;
    for (std::size_t k = 0; k < target_.size(); ++k) {
      price_[k] = std::max(0.0, price_[k] + length * direction_[k]);
    }
    return true;
  }

  /// The cost of option i with the prices it pays.
  double asked(std::uint32_t i) const {
    double sum = problem_.options[i].cost;
    for (std::uint32_t k = first_paid_[i]; k < first_paid_[i + 1]; ++k) sum += price_[paid_[k]];
    return sum;
  }
  /// By how much the bound rises if option i is chosen.
  double excess(std::uint32_t i) const {
    const std::uint32_t c = problem_.options[i].owner;
    return asked(i) - least_[c] + (selected_[c] != 0 ? 0.0 : least_[c] - income_[c]);
  }
  /// By how much the cheapest option of a class costs more than its users pay.
  double value(std::uint32_t c) const { return least_[c] - income_[c]; }
  double least(std::uint32_t c) const { return least_[c]; }
  bool needed(std::uint32_t c) const { return needed_[c] != 0; }
  /// How often the class was selected of late, 0 to 1.
  double share(std::uint32_t c) const { return share_[c]; }

  /// What `evaluate` returned last.
  double total() const { return total_; }

  const std::vector<double>& prices() const { return price_; }
  void set_prices(std::vector<double> prices) { price_ = std::move(prices); }

  /// What a class pays for one that it requires, in a form that outlives the problem.
  struct hint {
    std::uint32_t user;
    std::uint32_t target;
    double price;
    bool operator<(const hint& other) const {
      return user != other.user ? user < other.user : target < other.target;
    }
  };
  /// The prices above zero, in order of class.
  std::vector<hint> hints() const {
    std::vector<hint> out;
    for (std::uint32_t c = 0; c < problem_.classes(); ++c) {
      for (std::uint32_t k = first_pair_[c]; k < first_pair_[c + 1]; ++k) {
        if (price_[k] > 0) out.push_back({c, target_[k], price_[k]});
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  /// Pairs without a hint get a price of zero.
  void set_hints(const std::vector<hint>& hints) {
    for (std::uint32_t c = 0; c < problem_.classes(); ++c) {
      for (std::uint32_t k = first_pair_[c]; k < first_pair_[c + 1]; ++k) {
        const hint wanted{c, target_[k], 0};
        const auto at = std::lower_bound(hints.begin(), hints.end(), wanted);
        price_[k] = at != hints.end() && !(wanted < *at) ? at->price : 0;
      }
    }
  }

 private:
  void collect_pairs(std::size_t& work) {
    const std::size_t classes = problem_.classes();
    const auto component = strong_components(classes, [&](std::uint32_t c, auto&& visit) {
      for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
        for (const auto& d : problem_.children_of(i)) visit(d.target);
      }
    });
    const derivations trees = derive(problem_, combine::max);
    for (const std::uint32_t i : trees.by_cost) {
      const std::uint32_t c = problem_.options[i].owner;
      if (trees.choice[c] == i) order_.push_back(c);
    }
    required_classes required(classes);
    std::vector<std::uint32_t> list;
    const auto children = [&](std::uint32_t i) {
      list.clear();
      for (const auto& d : problem_.children_of(i)) list.push_back(d.target);
    };
    const bool known = required.compute(
        order_, component,
        [&](std::uint32_t c, auto&& visit) {
          for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
            children(i);
            visit(list);
          }
        },
        work);
    std::vector<std::uint32_t> last(classes, no_id), pair(classes, no_id), closure;
    for (std::uint32_t c = 0; c < classes; ++c) {
      first_pair_.push_back(static_cast<std::uint32_t>(target_.size()));
      for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
        first_paid_.push_back(static_cast<std::uint32_t>(paid_.size()));
        children(i);
        if (known) {
          closure.clear();
          if (required.of_option(list, closure)) list = closure;
        }
        for (const std::uint32_t d : list) {
          if (needed_[d] != 0) continue;  // paid for anyhow
          if (last[d] != c) {
            last[d] = c;
            pair[d] = static_cast<std::uint32_t>(target_.size());
            target_.push_back(d);
          }
          paid_.push_back(pair[d]);
        }
      }
    }
    first_pair_.push_back(static_cast<std::uint32_t>(target_.size()));
    first_paid_.push_back(static_cast<std::uint32_t>(paid_.size()));
  }

  const extraction_problem& problem_;
  std::vector<std::uint8_t> needed_;
  std::vector<std::uint32_t> order_;       // classes, children first but for cycles
  std::vector<std::uint32_t> first_paid_;  // by option, and one more
  std::vector<std::uint32_t> paid_;        // pairs whose price an option pays
  std::vector<std::uint32_t> first_pair_;  // by class, and one more
  std::vector<std::uint32_t> target_;      // by pair: the class that is needed
  std::vector<double> price_, direction_;  // by pair
  std::vector<std::uint8_t> used_;         // by pair
  std::vector<std::uint32_t> best_;        // by class
  std::vector<double> least_, income_, share_;
  std::vector<std::uint8_t> selected_;
  double total_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
