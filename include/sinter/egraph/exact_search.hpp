// SPDX-License-Identifier: MIT
//
// Branch and bound for DAG cost. Every node of the search is a problem of its own, which is
// reduced, split into independent parts, bounded by prices and relieved of what the bound excludes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/disjoint_bound.hpp>
#include <sinter/egraph/exchange.hpp>
#include <sinter/egraph/extraction_problem.hpp>
#include <sinter/egraph/landmark_bound.hpp>
#include <sinter/egraph/price_bound.hpp>
#include <sinter/egraph/problem_parts.hpp>
#include <sinter/egraph/problem_reduction.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Anytime: when the work is spent, what was found and proved until then is returned.
class exact_search {
 public:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct outcome {
    option_choice choice;  ///< empty: none was found
    double cost = infinity;
    double bound = -infinity;  ///< no choice costs less than the lesser of this and the limit
  };

  /// `work` counts entries of sets and lists touched, some two nanoseconds each. `grain`: what all
  /// costs are multiples of, or 0. `rounding`: differences of cost up to this are none.
  exact_search(std::size_t work, double seconds, double grain, double rounding)
      : work_(work),
        least_gain_(std::max(rounding, grain * (1 - 1e-6))),
        start_(clock::now()),
        seconds_(seconds) {}

  /// Looks for a choice that costs less than `limit` in a problem that is reduced already. The
  /// choice returned may cost more.
  outcome run(const extraction_problem& reduced, double limit) {
    // Not even one look at everything.
    if (work_ < 10 * (reduced.options.size() + reduced.children.size())) return {};
    return solve_parts(reduced, limit, {});
  }

 private:
  using clock = std::chrono::steady_clock;
  using hints = std::vector<price_bound::hint>;

  // What a node of the search tells those below it.
  struct guide {
    bool by_landmarks = false;  // they bound better than prices do
    hints prices;               // empty: none have been raised yet
  };

  void spend(std::size_t amount) { work_ -= std::min(work_, amount); }
  bool stopped() {
    if (work_ > 0 && std::chrono::duration<double>(clock::now() - start_).count() > seconds_) {
      work_ = 0;
    }
    return work_ == 0;
  }

  // A bound of this much leaves nothing to be found below the limit.
  double enough(double limit) const { return limit - least_gain_; }

  outcome solve(const extraction_problem& problem, double limit, const guide& from) {
    outcome out;
    if (stopped()) return out;
    const reduced_problem reduced = problem_reducer(problem, work_).run();
    spend(reduced.work);
    if (!reduced.feasible) {
      out.bound = infinity;
      return out;
    }
    const outcome inner = solve_parts(reduced.problem, limit - reduced.constant,
                                      renumbered(from, reduced.class_of, problem.classes()));
    out.bound = inner.bound + reduced.constant;
    if (inner.cost < infinity) {
      out.choice = reduced.expand(problem, inner.choice);
      out.cost = keep_reachable(problem, out.choice);
    }
    return out;
  }

  // Each part is solved to the limit that the bounds of the others leave it.
  outcome solve_parts(const extraction_problem& whole, double limit, const guide& from) {
    outcome out;
    out.choice.assign(whole.classes(), no_id);
    out.cost = out.bound = 0;
    if (whole.classes() == 0) return out;
    const std::vector<problem_part> parts = connected_parts(whole);
    if (parts.size() == 1) return solve_connected(whole, limit, from, landmarks(whole));
    std::vector<landmark_bound> marks;
    std::vector<double> bounds;
    std::size_t size = 0;
    for (const problem_part& part : parts) {
      marks.push_back(landmarks(part.problem));
      bounds.push_back(std::max(marks.back().total, price_total(part.problem)));
      out.bound += bounds.back();
      size += part.problem.options.size();
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (out.bound >= enough(limit)) return {{}, infinity, std::max(out.bound, limit)};
      // A small part must not use up the work of a large one.
      const double share = static_cast<double>(parts[k].problem.options.size()) /
                           static_cast<double>(std::max<std::size_t>(size, 1));
      size -= parts[k].problem.options.size();
      const std::size_t rest = keep_back(share);
      const outcome one =
          solve_connected(parts[k].problem, limit - (out.bound - bounds[k]),
                          renumbered(from, parts[k].class_of, whole.classes()), marks[k]);
      work_ += rest;
      out.bound += std::max(0.0, one.bound - bounds[k]);
      out.cost += one.cost;
      parts[k].add_to(out.choice, one.choice);
    }
    return out;
  }

  // Leaves a share of the work; returns the rest, to be added again.
  std::size_t keep_back(double share) {
    const auto slice = static_cast<std::size_t>(share * static_cast<double>(work_));
    const std::size_t rest = work_ - std::min(work_, slice);
    work_ -= rest;
    return rest;
  }

  // Nothing where costs below zero rule landmarks out.
  landmark_bound landmarks(const extraction_problem& q) {
    landmark_bound none;
    none.total = -infinity;
    return q.has_negative_cost() ? none : bound_by_landmarks(q, work_);
  }

  // Where it is next to nothing beside the work that is left. Where classes can do without each
  // other in many ways it beats landmarks (egg's math_associate_adds: 13 of 13 rather than 11).
  double disjoint_total(const extraction_problem& q) {
    if (q.has_negative_cost() || 8 * disjoint_bound::size(q) >= work_) return -infinity;
    spend(disjoint_bound::size(q));
    return disjoint_bound(q).compute();
  }

  // Of prices before they are raised, where costs below zero leave no other bound.
  double price_total(const extraction_problem& q) {
    if (!q.has_negative_cost()) return -infinity;
    price_bound prices(q, work_);
    prices.start();
    return prices.evaluate();
  }

  outcome solve_connected(const extraction_problem& q, double limit, const guide& from,
                          const landmark_bound& marks) {
    outcome best;
    best.choice = derive(q, combine::sum).choice;
    best.cost = keep_reachable(q, best.choice);
    const bool cold = from.prices.empty() && !from.by_landmarks;
    raise_bound(best, marks.total, limit);
    if (cold && !is_done(best, limit)) raise_bound(best, disjoint_total(q), limit);
    if (is_done(best, limit) || stopped()) return best;
    option_choice guided;
    remainder rest;
    if (!marks.excess.empty()) {
      guided = guided_choice(q, marks);
      take(q, guided, best);
      if (cold) improve(q, best);
      rest = exclude(marks, q, std::min(limit, best.cost));
      if (is_done(best, limit)) return best;
      if (10 * rest.removed > q.options.size()) {
        raise_bound(best, explore(q, rest, limit, from, best), limit);
        return best;
      }
    }
    if (from.by_landmarks) {
      branch(marks, guided, q, rest, limit, best);
      return best;
    }
    price_bound bound(q, work_);
    const bool worthwhile = raise_prices(bound, q, limit, from.prices, marks.total, best);
    if (is_done(best, limit) || stopped()) return best;
    if (!worthwhile) {
      search_core(q, limit, best, {true, {}}, marks.excess, marks.total);
      if (is_done(best, limit) || stopped()) return best;
      branch(marks, guided, q, rest, limit, best);
      return best;
    }
    if (cold) {
      improve(q, best);
      std::vector<double> excess;
      for (std::uint32_t i = 0; i < q.options.size(); ++i) excess.push_back(bound.excess(i));
      search_core(q, limit, best, {false, bound.hints()}, excess, bound.total());
    }
    if (is_done(best, limit) || stopped()) return best;
    rest = exclude(bound, q, std::min(limit, best.cost));
    if (10 * rest.removed > q.options.size()) {
      raise_bound(best, explore(q, rest, limit, {false, bound.hints()}, best), limit);
    } else {
      branch(bound, q, rest, limit, best);
    }
    return best;
  }

  static void take(const extraction_problem& q, const option_choice& found, outcome& best) {
    option_choice choice = found;
    const double cost = keep_reachable(q, choice);
    if (!(cost < best.cost)) return;
    best.cost = cost;
    best.choice = std::move(choice);
  }

  // The subgradient method, and choices guided by the prices on the way. False if it was given up,
  // for `known`, the bound without prices, is out of reach.
  bool raise_prices(price_bound& bound, const extraction_problem& q, double limit,
                    const hints& prices, double known, outcome& best) {
    // A node further down starts from prices that are nearly right.
    const bool cold = prices.empty();
    const int rounds = cold ? 600 : 150;
    const double least_eager = cold ? 0.002 : 0.02;
    double eager = cold ? 1.0 : 0.4;
    if (cold) {
      bound.start();
    } else {
      bound.set_hints(prices);
    }
    double reached = -infinity, previous = -infinity;
    std::vector<double> kept;
    int stalled = 0;
    for (int round = 1; round <= rounds && eager >= least_eager; ++round) {
      const double now = bound.evaluate();
      spend(bound.size());
      const double target = std::min(limit, best.cost);
      if (now > reached) {
        reached = now;
        kept = bound.prices();
      }
      if (reached >= enough(target) || work_ == 0) break;
      // Where prices end up above landmarks (babble, impress) they are at 0.88 of them by then; on
      // the 15 problems of the gym where they do not, at less than 0.68 for the most part.
      if (cold && round == 10 && reached < 0.8 * known) return false;
      if (round % 20 == 0) {
        take_guided(bound, q, best);
        if (stopped()) break;
      }
      // Fifteen steps without a thousandth of the gap gained: they are too long.
      if (reached - previous > 1e-3 * (target - reached)) {
        previous = reached;
        stalled = 0;
      } else if (++stalled == 15) {
        eager *= 0.5;
        stalled = 0;
      }
      if (!bound.raise(eager * (target - now))) break;
    }
    raise_bound(best, reached, limit);
    bound.set_prices(std::move(kept));
    bound.evaluate();
    return true;
  }

  // Derives terms from options that cost little more than their class's cheapest at these prices.
  void take_guided(const price_bound& bound, const extraction_problem& q, outcome& best) {
    option_choice guided =
        derive(q, combine::sum, [&](std::uint32_t i) {
          return std::max(0.0, bound.asked(i) - bound.least(q.options[i].owner)) +
                 1e-6 * q.options[i].cost;
        }).choice;
    const double cost = keep_reachable(q, guided);
    spend(4 * (q.options.size() + q.children.size()));
    if (cost < best.cost) {
      best.cost = cost;
      best.choice = std::move(guided);
    }
  }

  // What of a problem may be part of a choice below the limit.
  struct remainder {
    std::vector<std::uint8_t> alive;   // by option
    std::vector<std::uint32_t> roots;  // classes that every such choice has
    std::size_t removed = 0;
  };

  remainder exclude(const landmark_bound& bound, const extraction_problem& q, double target) const {
    remainder out{std::vector<std::uint8_t>(q.options.size(), 1), q.roots, 0};
    for (std::uint32_t i = 0; i < q.options.size(); ++i) {
      if (bound.total + bound.excess[i] < enough(target)) continue;
      out.alive[i] = 0;
      ++out.removed;
    }
    return out;
  }

  remainder exclude(const price_bound& bound, const extraction_problem& q, double target) const {
    remainder out{std::vector<std::uint8_t>(q.options.size(), 1), q.roots, 0};
    const double reached = bound.total();
    for (std::uint32_t i = 0; i < q.options.size(); ++i) {
      if (reached + bound.excess(i) < enough(target)) continue;
      out.alive[i] = 0;
      ++out.removed;
    }
    // With costs below zero a class is paid for only where something chosen needs it, which a root
    // does not say.
    if (q.has_negative_cost()) return out;
    for (std::uint32_t c = 0; c < q.classes(); ++c) {
      if (bound.needed(c) || reached - bound.value(c) < enough(target)) continue;
      out.roots.push_back(c);
      ++out.removed;
    }
    return out;
  }

  // Searches a part of the problem; returns its bound.
  double explore(const extraction_problem& q, const remainder& part, double limit,
                 const guide& from, outcome& best) {
    // Each level holds a problem; so deep a search would not end within its work.
    constexpr int deepest = 500;
    if (depth_ == deepest) return -infinity;
    const extraction_problem some = restrict_problem(q, part.alive, part.roots);
    spend(20 * (q.classes() + q.options.size() + q.children.size()));
    ++depth_;
    const outcome found = solve(some, std::min(limit, best.cost), from);
    --depth_;
    if (!found.choice.empty()) {
      option_choice choice(q.classes(), no_id);
      for (std::uint32_t c = 0; c < q.classes(); ++c) {
        if (found.choice[c] != no_id) choice[c] = some.options[found.choice[c]].id;
      }
      const double cost = keep_reachable(q, choice);
      if (cost < best.cost) {
        best.cost = cost;
        best.choice = std::move(choice);
      }
    }
    return found.bound;
  }

  void improve(const extraction_problem& q, outcome& best) {
    if (best.choice.empty()) return;
    const std::size_t rest = keep_back(0.125);
    option_choice choice =
        option_exchange(q, best.choice, derive(q, combine::sum).choice).run(work_);
    work_ += rest;
    const double cost = keep_reachable(q, choice);
    if (cost < best.cost) {
      best.cost = cost;
      best.choice = std::move(choice);
    }
  }

  // Options that the bound favours are a small problem of their own, which holds good choices.
  void search_core(const extraction_problem& q, double limit, outcome& best, const guide& from,
                   const std::vector<double>& excess, double reached) {
    for (const double share : {0.02, 0.1}) {
      const double most = share * (std::min(limit, best.cost) - reached);
      remainder core{std::vector<std::uint8_t>(q.options.size(), 0), q.roots, 0};
      for (std::uint32_t i = 0; i < q.options.size(); ++i) {
        core.alive[i] = excess[i] <= most || best.choice[q.options[i].owner] == i;
      }
      const std::size_t rest = keep_back(0.25);
      explore(q, core, limit, from, best);
      work_ += rest;
      if (stopped() || is_done(best, limit)) return;
    }
  }

  // Branches where the guided choice pays for what the bound does not: options with a rest, and
  // landmarks of which it has several.
  void branch(const landmark_bound& marks, const option_choice& guided, const extraction_problem& q,
              const remainder& rest, double limit, outcome& best) {
    const std::vector<double> doubt = unpaid(q, marks, guided);
    std::vector<std::uint8_t> is_root(q.classes(), 0);
    for (const std::uint32_t r : q.roots) is_root[r] = 1;
    std::uint32_t c = no_id;
    for (std::uint32_t d = 0; d < q.classes(); ++d) {
      if (guided[d] == no_id) continue;
      // There is nothing to decide about a root with one option.
      if (is_root[d] != 0 && q.first_option[d + 1] - q.first_option[d] == 1) continue;
      if (c == no_id || doubt[d] > doubt[c]) c = d;
    }
    if (c == no_id) {
      raise_bound(best, best.cost, limit);
      return;
    }
    remainder with = rest, without = rest;
    if (is_root[c] == 0) {
      with.roots.push_back(c);
      for (const std::uint32_t i : q.users_of(c)) without.alive[i] = 0;
    } else {
      for (std::uint32_t k = q.first_option[c]; k < q.first_option[c + 1]; ++k) {
        if (k != guided[c]) with.alive[k] = 0;
      }
      without.alive[guided[c]] = 0;
    }
    const guide from{true, {}};
    double lowest = explore(q, with, limit, from, best);
    lowest = std::min(lowest, explore(q, without, limit, from, best));
    raise_bound(best, lowest, limit);
  }

  // Two problems that together leave out nothing below the limit.
  void branch(const price_bound& bound, const extraction_problem& q, const remainder& rest,
              double limit, outcome& best) {
    remainder with = rest, without = rest;
    const std::uint32_t c = most_doubtful(bound, q);
    bool with_first = true;
    if (c != no_id) {
      with.roots.push_back(c);
      for (const std::uint32_t i : q.users_of(c)) without.alive[i] = 0;
      with_first = bound.share(c) >= 0.5;
    } else {
      const std::uint32_t i = cheapest_open(bound, q);
      if (i == no_id) {
        // The roots have an option each, which makes the choice the only one.
        raise_bound(best, best.cost, limit);
        return;
      }
      const std::uint32_t owner = q.options[i].owner;
      for (std::uint32_t k = q.first_option[owner]; k < q.first_option[owner + 1]; ++k) {
        if (k != i) with.alive[k] = 0;
      }
      without.alive[i] = 0;
    }
    const guide from{false, bound.hints()};
    double lowest = explore(q, with_first ? with : without, limit, from, best);
    lowest = std::min(lowest, explore(q, with_first ? without : with, limit, from, best));
    raise_bound(best, lowest, limit);
  }

  // The class whose need is most in doubt, weighed by its worth.
  static std::uint32_t most_doubtful(const price_bound& bound, const extraction_problem& q) {
    if (q.has_negative_cost()) return no_id;
    std::uint32_t found = no_id;
    double most = 1e-9;
    for (std::uint32_t c = 0; c < q.classes(); ++c) {
      if (bound.needed(c)) continue;
      const double doubt = bound.share(c) * (1 - bound.share(c)) * bound.least(c);
      if (doubt <= most) continue;
      most = doubt;
      found = c;
    }
    return found;
  }

  // The cheapest option of the root with the fewest options of those that have several.
  static std::uint32_t cheapest_open(const price_bound& bound, const extraction_problem& q) {
    std::uint32_t root = no_id, fewest = no_id;
    for (const std::uint32_t r : q.roots) {
      const std::uint32_t count = q.first_option[r + 1] - q.first_option[r];
      if (count < 2 || count >= fewest) continue;
      root = r;
      fewest = count;
    }
    if (root == no_id) return no_id;
    std::uint32_t cheapest = q.first_option[root];
    for (std::uint32_t i = cheapest; i < q.first_option[root + 1]; ++i) {
      if (bound.asked(i) < bound.asked(cheapest)) cheapest = i;
    }
    return cheapest;
  }

  bool is_done(const outcome& best, double limit) const {
    return best.bound >= std::min(limit, best.cost);
  }
  // A bound that leaves nothing below the limit or below the best choice is as good as these.
  void raise_bound(outcome& best, double bound, double limit) const {
    const double target = std::min(limit, best.cost);
    if (bound >= enough(target)) bound = target;
    best.bound = std::max(best.bound, bound);
  }

  // Prices by the class numbers of a part of the problem.
  static guide renumbered(const guide& from, const std::vector<std::uint32_t>& class_of,
                          std::size_t classes) {
    guide out{from.by_landmarks, {}};
    if (from.prices.empty()) return out;
    std::vector<std::uint32_t> number(classes, no_id);
    for (std::uint32_t c = 0; c < class_of.size(); ++c) number[class_of[c]] = c;
    for (const auto& h : from.prices) {
      const std::uint32_t a = number[h.user], b = number[h.target];
      if (a != no_id && b != no_id) out.prices.push_back({a, b, h.price});
    }
    return out;
  }

  std::size_t work_;
  int depth_ = 0;
  double least_gain_;
  clock::time_point start_;
  double seconds_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
