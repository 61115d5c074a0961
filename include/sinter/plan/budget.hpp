// SPDX-License-Identifier: MIT
// Recompute or store: the cheapest selection whose plan fits a budget of memory. Carrying a value
// from one epoch to the next costs a price per byte; the price is bisected, and for each the choice
// of nests is improved by exchanges.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/choice.hpp>
#include <sinter/plan/epochs.hpp>
#include <sinter/plan/exchange.hpp>
#include <sinter/plan/order.hpp>
#include <sinter/plan/select.hpp>

namespace sinter::inline SINTER_ABI::planning {

// What came of a search under a budget.
struct budget_report {
  std::size_t budget = 0;     // bytes of the arena; 0: no limit
  std::size_t unlimited = 0;  // bytes of the arena without one
  bool met = true;
  double price = 0;    // nanoseconds per byte that is carried from one epoch to the next
  int epochs = 1;      // of the plan that was taken
  int recomputed = 0;  // times that a value is computed again
  int plans = 1;       // that were tried
};

class budget_search {
 public:
  // `chosen` is the selection without a budget.
  budget_search(const value_nests& nests, const selection& chosen, const emission_order& order,
                std::span<const int> roots)
      : nests_(nests),
        chosen_(chosen),
        order_(order),
        roots_(roots.begin(), roots.end()),
        alive_(nests, chosen.nest_of, order, roots),
        bytes_(static_cast<std::size_t>(nests.goals()), 0) {
    const value_graph& g = nests.values();
    for (int v = 0; v < g.size(); ++v)
      if (!alive_[v].is_output && !g[v].fixed) bytes_[at(v)] = g[v].bytes();
  }

  /// Tries selections, at most 48; peak_of(selection) makes the plan and says how many bytes its
  /// arena has. Returns the cheapest that fits into `report.budget` or, if none does, the smallest.
  template <class Peak>
  selection run(budget_report& report, Peak peak_of) {
    best_ = in_order(chosen_, order_);
    best_peak_ = report.unlimited;
    fits_ = false;
    for (int segments : segment_counts) {
      const epoch_division epochs(nests_, chosen_.nest_of, alive_, segments);
      if (epochs.count() <= last_count_) continue;
      last_count_ = epochs.count();
      search_prices(report, epochs, peak_of);
    }
    // Memory does not fall with every step of the price: a bisection may look on the wrong side.
    last_count_ = 1;
    for (int segments : segment_counts) {
      const epoch_division epochs(nests_, chosen_.nest_of, alive_, segments);
      if (fits_ || epochs.count() <= last_count_) continue;
      last_count_ = epochs.count();
      try_prices(report, epochs, peak_of);
    }
    report.met = fits_;
    return best_;
  }

 private:
  // With ten counts up to 16 instead of these, predicted times come out up to 2 % lower.
  static constexpr int segment_counts[] = {2, 4, 8, 16};
  static constexpr int tries_per_division = 6;
  // A chain of nests that one exchange may recompute.
  static constexpr int chain_limit = 8;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // The prices at which it begins to pay to recompute one more of the values alive across the peak
  // from its operands, and above them some at which chains are recomputed.
  std::vector<double> break_even(const epoch_division& epochs) const {
    std::vector<double> prices;
    for (int v = 0; v < alive_.values(); ++v) {
      const int distance = epochs.at_position(alive_[v].last()) - epochs.of(v);
      if (alive_.is_saved(v) && distance > 0)
        prices.push_back(1.001 * nests_.cost(chosen_.nest_of[at(v)]) / (bytes_[at(v)] * distance));
    }
    std::ranges::sort(prices);
    const auto equal = [](double a, double b) { return b < a * 1.01; };
    prices.erase(std::unique(prices.begin(), prices.end(), equal), prices.end());
    if (!prices.empty())
      for (double factor : {2.0, 2.0, 4.0}) prices.push_back(factor * prices.back());
    return prices;
  }

  // Memory falls as the price rises, on the whole: looks for the lowest price whose plan fits; as
  // long as none does, around the one with the smallest arena.
  template <class Peak>
  void search_prices(budget_report& report, const epoch_division& epochs, Peak peak_of) {
    const std::vector<double> prices = break_even(epochs);
    struct tried {
      std::size_t price, peak;
    };
    std::vector<tried> all;  // ascending
    for (int i = 0; i < tries_per_division; ++i) {
      // Between this one and its neighbours is what is tried next.
      auto center =
          std::ranges::find_if(all, [&](const tried& t) { return t.peak <= report.budget; });
      const bool fits = center != all.end();
      if (!fits) center = std::ranges::min_element(all, {}, &tried::peak);
      std::size_t first = 0, last = prices.size();  // not tried yet: [first, last)
      if (center != all.end()) {
        const std::size_t below = center == all.begin() ? 0 : std::prev(center)->price + 1;
        const std::size_t above =
            std::next(center) == all.end() ? prices.size() : std::next(center)->price;
        first = below, last = center->price;
        if (!fits && above - center->price - 1 > last - first)
          first = center->price + 1, last = above;
      }
      if (first == last) break;
      const std::size_t next = first + (last - first) / 2;
      const std::size_t peak = attempt(report, epochs, prices[next], peak_of);
      all.insert(std::ranges::upper_bound(all, next, {}, &tried::price), {next, peak});
    }
  }

  // Prices at even ratios over the whole range, rising, until one fits.
  template <class Peak>
  void try_prices(budget_report& report, const epoch_division& epochs, Peak peak_of) {
    const std::vector<double> prices = break_even(epochs);
    if (prices.empty()) return;
    const double lowest = prices.front() / 2,
                 ratio = std::pow(prices.back() / lowest, 1.0 / (tries_per_division - 1));
    double price = lowest;
    for (int i = 0; i < tries_per_division && !fits_; ++i, price *= ratio)
      attempt(report, epochs, price, peak_of);
  }

  // The arena's bytes for this price.
  template <class Peak>
  std::size_t attempt(budget_report& report, const epoch_division& epochs, double price,
                      Peak peak_of) {
    const selection found = select(epochs, price);
    const std::size_t peak = peak_of(found);
    ++report.plans;
    const bool fits = peak <= report.budget;
    if (fits == fits_ ? (fits ? found.cost < best_.cost : peak < best_peak_) : fits) {
      best_ = found;
      best_peak_ = peak;
      fits_ = fits;
      report.price = price;
      report.epochs = epochs.count();
      report.recomputed = recomputed(found);
    }
    return peak;
  }

  selection select(const epoch_division& epochs, double price) const {
    const epoch_nests all(nests_, epochs, bytes_, price);
    std::vector<int> nest_of(at(all.goals()), -1);
    for (int v = 0; v < nests_.goals(); ++v) {
      if (chosen_.nest_of[at(v)] < 0) continue;
      const int first = epochs.of(v);
      nest_of[at(all.goal(v, first))] = all.in_epoch(chosen_.nest_of[at(v)], first);
      for (int e = first + 1; e < epochs.count(); ++e)
        nest_of[at(all.goal(v, e))] = all.carry(all.goal(v, e));
    }
    std::vector<int> wanted;
    for (int root : roots_) wanted.push_back(all.goal(root, epochs.count() - 1));
    nest_choice choice(all, wanted, std::move(nest_of));
    exchange_search search(all, choice);
    // To and fro: where an exchange pays only after the one before it in a chain, one direction
    // takes a round per layer (24 layers: 26 rounds instead of 5).
    bool backwards = false;
    for (bool better = true; better; backwards = !backwards) {
      better = search.exchange_each(backwards);
      for (int k = 0; k < all.goals(); ++k)
        better =
            recompute_chain(all, choice, search, backwards ? all.goals() - 1 - k : k) || better;
    }
    return selection_of(all, epochs, choice);
  }

  // Computes a carried value again, and with it what its nest would make carried for its sake
  // alone, one layer of operands after the other; keeps as many layers as are cheapest.
  bool recompute_chain(const epoch_nests& all, nest_choice<epoch_nests>& choice,
                       exchange_search<epoch_nests>& search, int goal) const {
    if (!choice.needs(goal) || choice.nest_of(goal) < 0 || !all.is_carry(choice.nest_of(goal)))
      return false;
    const std::size_t start = search.mark();
    double best = choice.cost();
    std::size_t best_mark = start;
    std::vector<int> layer{goal}, assigned;
    for (int depth = 0; depth < chain_limit && !layer.empty(); ++depth) {
      std::vector<int> operands;
      for (int each : layer) {
        const int nest = again(all, choice, each);
        if (nest < 0) continue;
        search.assign(each, nest);
        assigned.push_back(each);
        all.for_each_read(nest, [&](int r) {
          if (!all.is_source(r) && choice.readers(r) == 1 && all.is_carry(choice.nest_of(r)))
            operands.push_back(r);
        });
      }
      if (exchange_search<epoch_nests>::less(choice.cost(), best) &&
          std::ranges::none_of(assigned, [&](int each) { return choice.is_cyclic_at(each); })) {
        best = choice.cost();
        best_mark = search.mark();
      }
      layer = std::move(operands);
    }
    search.take_back(best_mark);
    return best_mark != start;
  }

  // The nest that stored the goal some epochs ago, run again in the goal's epoch; -1 if it cannot.
  static int again(const epoch_nests& all, const nest_choice<epoch_nests>& choice, int goal) {
    int from = goal;
    while (choice.nest_of(from) >= 0 && all.is_carry(choice.nest_of(from))) --from;
    if (choice.nest_of(from) < 0) return -1;
    const int nest = all.in_epoch(all.candidate_of(choice.nest_of(from)), all.epoch_of(goal));
    return all.usable(nest) ? nest : -1;
  }

  selection selection_of(const epoch_nests& all, const epoch_division& epochs,
                         const nest_choice<epoch_nests>& choice) const {
    selection out;
    out.epochs = epochs.count();
    out.lower_bound = chosen_.lower_bound;
    out.nest_of.assign(at(all.goals()), -1);
    std::vector<bool> counted(at(all.count()), false);
    for (int goal = 0; goal < all.goals(); ++goal) {
      const int nest = choice.nest_of(goal);
      if (!choice.needs(goal)) continue;
      out.nest_of[at(goal)] = all.is_carry(nest) ? selection::carried : all.candidate_of(nest);
      if (all.is_carry(nest) || counted[at(nest)]) continue;
      counted[at(nest)] = true;
      out.cost += all.cost(nest);
    }
    // As in the plan without a budget. What is computed again has no place of its own: it is
    // emitted right before its first reader.
    for (int nest : order_.nests())
      for (int v : nests_[nest].outputs) {
        const int goal = all.goal(v, epochs.of(v));
        if (chosen_.nest_of[at(v)] == nest && choice.needs(goal)) out.order.push_back(goal);
      }
    return out;
  }

  // Values that are computed more than once.
  int recomputed(const selection& s) const {
    int count = 0;
    for (int v = 0; v < nests_.goals(); ++v) {
      int stored = 0;
      for (int e = 0; e < s.epochs; ++e) {
        const int nest = s.nest_of[at(v * s.epochs + e)];
        stored += nest >= 0 && nests_[nest].kind != nest_kind::alias ? 1 : 0;
      }
      count += std::max(0, stored - 1);
    }
    return count;
  }

  const value_nests& nests_;
  const selection& chosen_;
  const emission_order& order_;
  std::vector<int> roots_;
  lifetimes alive_;
  std::vector<double> bytes_;  // by value: what carrying it costs memory; 0 for outputs
  int last_count_ = 1;
  selection best_;
  std::size_t best_peak_ = 0;
  bool fits_ = false;
};

}  // namespace sinter::inline SINTER_ABI::planning
