// SPDX-License-Identifier: MIT
//
// Equality saturation: search all rules, apply all matches, rebuild, until nothing changes or a
// limit stops it. Searching is semi-naive: a rule that was searched in the last iteration starts
// from what was touched since; one that was banned, disabled or cut off searches everything but
// still reports only matches that are new to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/egraph/apply.hpp>
#include <sinter/egraph/candidates.hpp>
#include <sinter/egraph/machine.hpp>
#include <sinter/egraph/report.hpp>
#include <sinter/egraph/rule.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/large_vector.hpp>
#include <sinter/support/span.hpp>
#include <sinter/support/steady_time.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Runs a set of rules over one e-graph; both must outlive it. `run` may be called again, also
/// after the e-graph was changed by hand: it goes on from what it has seen.
template <class Language>
class runner {
 public:
  runner(egraph<Language>& graph, span<const rule<Language>> rules)
      : graph_(graph), rules_(rules), states_(rules.size()) {}

  /// Switches the rules of this name off or on. Throws `sinter::error` if there is none.
  void disable(std::string_view name) { set_disabled(name, true); }
  void enable(std::string_view name) { set_disabled(name, false); }

  /// Saturates within the limits. The e-graph is rebuilt when it returns; the node limit is lifted
  /// again.
  report run(const limits& limit = {}, const scheduler& schedule = {}) {
    start(limit, schedule);
    timed(result_.rebuild_seconds, [&] { graph_.rebuild(); });
    while (!stopped()) iterate();
    finish();
    return std::move(result_);
  }

 private:
  friend class proof_recorder<Language>;

  struct rule_state {
    std::uint32_t last_search = 0;  // epoch of the last search whose matches were all applied
    bool disabled = false;
    std::size_t banned_until = 0;  // iteration
    std::size_t times_banned = 0;
    std::size_t first_match = 0;  // in matches_, of this iteration
    std::size_t end_match = 0;
    std::size_t first_registers = 0;  // in registers_
    bool searched = false;
  };

  // Receives the matches of one rule from the machine.
  template <bool Recorded>
  struct collector {
    runner& owner;
    const rule<Language>& searched;
    match_layout layout;
    std::size_t limit;
    std::size_t count = 0;

    bool found(const bindings& state) {
      std::uint32_t* const values = owner.matches_.append(layout.size());
      for (std::size_t i = 0; i < layout.roots; ++i) values[i] = state.registers[i];
      class_id* const classes = values + layout.roots;
      for (std::size_t i = 0; i < layout.classes; ++i) {
        classes[i] = state.registers[searched.left.variable_register[i]];
      }
      std::uint32_t* const payloads = classes + layout.classes;
      for (std::size_t i = 0; i < layout.payloads; ++i) payloads[i] = state.payloads[i];
      if (searched.guard != nullptr) {
        const match candidate(searched.variables, {values, layout.roots}, {classes, layout.classes},
                              {payloads, layout.payloads});
        if (!searched.guard(owner.graph_, candidate)) {
          owner.matches_.resize(owner.matches_.size() - layout.size());
          return true;
        }
      }
      if constexpr (Recorded) {
        owner.registers_.insert(owner.registers_.end(), state.registers.begin(),
                                state.registers.begin() + searched.left.registers);
      }
      return ++count <= limit;
    }
    bool expired() { return owner.expired(); }
  };

  void set_disabled(std::string_view name, bool value) {
    bool known = false;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].name != name) continue;
      states_[i].disabled = value;
      known = true;
    }
    if (!known) raise(error("no rule is called '" + std::string(name) + "'"));
  }

  void start(const limits& limit, const scheduler& schedule) {
    limit_ = limit;
    schedule_ = schedule;
    const std::int64_t now = steady_nanoseconds();
    constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    deadline_ = limit.time.nanoseconds > never - now ? never : now + limit.time.nanoseconds;
    out_of_time_ = false;
    saturated_ = false;
    result_ = {};
    refused_before_ = graph_.refused_unions();
    graph_.set_node_limit(limit.nodes);
    result_.rules.reserve(rules_.size());
    depth_ = 0;
    inner_operators_ = 0;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      rule_report& row = result_.rules.emplace_back();
      row.name = rules_[i].name;
      row.tag = rules_[i].tag;
      row.disabled = states_[i].disabled;
      states_[i].banned_until = 0;
      states_[i].times_banned = 0;
      if (states_[i].disabled) continue;
      depth_ = std::max<std::size_t>(depth_, rules_[i].left.depth);
      inner_operators_ |= rules_[i].left.inner_operators;
    }
  }

  bool stopped() {
    if (saturated_) {
      result_.stop_reason = stop_reason::saturated;
    } else if (graph_.node_limit_reached()) {
      result_.stop_reason = stop_reason::node_limit;
    } else if (out_of_time_ || expired()) {
      result_.stop_reason = stop_reason::time_limit;
    } else if (result_.iterations >= limit_.iterations) {
      result_.stop_reason = stop_reason::iteration_limit;
    } else {
      return false;
    }
    return true;
  }

  void iterate() {
    const std::uint64_t before = graph_.revision();
    timed(result_.search_seconds, [&] { search(); });
    timed(result_.apply_seconds, [&] { apply(); });
    timed(result_.rebuild_seconds, [&] { graph_.rebuild(); });
    const bool complete = !out_of_time_ && !graph_.node_limit_reached();
    if (complete && graph_.revision() == before) saturated_ = !shorten_bans();
    ++result_.iterations;
  }

  void search() {
    const std::uint32_t previous = graph_.epoch();
    graph_.start_epoch(touched_);
    matches_.clear();
    registers_.clear();
    const bool any_recent = std::any_of(
        states_.begin(), states_.end(),
        [&](const rule_state& state) { return !state.disabled && state.last_search == previous; });
    if (any_recent) candidates_.build(graph_, touched_, depth_, inner_operators_);
    std::int64_t last_time = steady_nanoseconds();
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      states_[i].searched = false;
      states_[i].first_match = states_[i].end_match = matches_.size();
      states_[i].first_registers = registers_.size();
      if (out_of_time_ || states_[i].disabled || states_[i].banned_until > result_.iterations)
        continue;
      if (graph_.hooks() == nullptr) [[likely]] {
        search_rule<false>(i, previous);
      } else {
        graph_.hooks()->search(*this, i, previous);
      }
      const std::int64_t now = steady_nanoseconds();
      result_.rules[i].seconds += in_seconds(now - last_time);
      last_time = now;
      if (now >= deadline_) out_of_time_ = true;
    }
  }

  template <bool Recorded>
  void search_rule(std::size_t i, std::uint32_t previous) {
    const rule<Language>& searched = rules_[i];
    rule_state& state = states_[i];
    const bool backoff = schedule_.kind == scheduler_kind::backoff;
    const std::size_t shift = std::min<std::size_t>(state.times_banned, 40);
    const std::size_t limit = backoff ? schedule_.match_limit << shift : std::size_t(-1) - 1;
    collector<Recorded> sink{*this, searched, match_layout::of(searched), limit};
    machine<Language, collector<Recorded>> finder(
        graph_, searched.left, searched.full_search ? 0 : state.last_search, sink);

    const bool recent =
        state.last_search == previous && !searched.full_search && searched.left.roots() == 1;
    const std::uint16_t op = searched.left.root_operator();
    const auto roots =
        recent ? candidates_.roots(op, searched.left.depth) : graph_.nodes_by_operator(op);
    for (const node_id root : roots) {
      if (!finder.search(root)) break;
    }
    if (sink.count > limit) {
      // What is dropped here is found again: last_search stays where it is.
      matches_.resize(state.first_match);
      registers_.resize(state.first_registers);
      state.banned_until = result_.iterations + (schedule_.ban_length << shift);
      ++state.times_banned;
      ++result_.rules[i].bans;
      return;
    }
    state.searched = true;
    state.end_match = matches_.size();
    result_.rules[i].matches += sink.count;
  }

  void apply() {
    if (out_of_time_) return;
    std::int64_t last_time = steady_nanoseconds();
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!states_[i].searched) continue;
      const bool complete = apply_rule(i);
      const std::int64_t now = steady_nanoseconds();
      result_.rules[i].seconds += in_seconds(now - last_time);
      last_time = now;
      if (!complete) return;
      states_[i].last_search = graph_.epoch();
    }
  }

  // Returns false when a limit cut it short.
  bool apply_rule(std::size_t i) {
    const reason why{static_cast<std::uint16_t>(i + 1)};
    if (graph_.hooks() != nullptr) [[unlikely]]
      return graph_.hooks()->apply(*this, i, why);
    rule_applier<Language> applier(graph_, rules_[i], why);
    return apply_matches(i, applier);
  }

  template <class Applier>
  bool apply_matches(std::size_t i, Applier& applier) {
    const span<const std::uint32_t> all(matches_.data(), states_[i].end_match);
    const std::size_t block = match_block * match_layout::of(rules_[i]).size();
    bool complete = true;
    attempt<node_limit_error>(
        [&] {
          for (std::size_t at = states_[i].first_match; complete && at < all.size(); at += block) {
            complete = !expired();
            if (complete) applier.apply(all.subspan(at, std::min(block, all.size() - at)));
            // Without exceptions nodes are added beyond the limit: those of one block at most.
            if (!has_exceptions && graph_.node_limit_reached()) complete = false;
          }
        },
        [&](const node_limit_error&) { complete = false; });
    result_.rules[i].applications += applier.applications();
    return complete;
  }

  // Nothing changed, but banned rules may have something to say: time runs ahead to the end of the
  // first ban. Returns whether there was one.
  bool shorten_bans() {
    std::size_t first = std::size_t(-1);
    for (const rule_state& state : states_) {
      if (!state.disabled && state.banned_until > result_.iterations)
        first = std::min(first, state.banned_until);
    }
    if (first == std::size_t(-1)) return false;
    const std::size_t delta = first - result_.iterations;
    for (rule_state& state : states_) {
      if (state.banned_until > result_.iterations) state.banned_until -= delta;
    }
    return true;
  }

  void finish() {
    graph_.set_node_limit(std::size_t(-1));
    result_.nodes = graph_.node_count();
    result_.classes = graph_.class_count();
    result_.refused_unions = graph_.refused_unions() - refused_before_;
  }

  bool expired() {
    if (!out_of_time_) out_of_time_ = steady_nanoseconds() >= deadline_;
    return out_of_time_;
  }

  static double in_seconds(std::int64_t nanoseconds) {
    return 1e-9 * static_cast<double>(nanoseconds);
  }
  template <class Work>
  static void timed(double& total, Work&& work) {
    const std::int64_t begin = steady_nanoseconds();
    work();
    total += in_seconds(steady_nanoseconds() - begin);
  }

  egraph<Language>& graph_;
  span<const rule<Language>> rules_;
  std::vector<rule_state> states_;
  limits limit_;
  scheduler schedule_;
  std::int64_t deadline_ = 0;
  bool out_of_time_ = false;
  bool saturated_ = false;
  std::size_t refused_before_ = 0;
  std::size_t depth_ = 0;
  std::uint64_t inner_operators_ = 0;
  report result_;
  candidate_index candidates_;
  large_vector<node_id> touched_;
  large_vector<std::uint32_t> matches_;
  std::vector<class_id> registers_;  // of the matches, while proofs are recorded
};

/// Saturates `graph` with `rules`.
template <class Language>
report saturate(egraph<Language>& graph, span<const rule<Language>> rules, const limits& limit = {},
                const scheduler& schedule = {}) {
  return runner<Language>(graph, rules).run(limit, schedule);
}
template <class Language>
report saturate(egraph<Language>& graph, const std::vector<rule<Language>>& rules,
                const limits& limit = {}, const scheduler& schedule = {}) {
  return runner<Language>(graph, rules).run(limit, schedule);
}

}  // namespace sinter::inline SINTER_ABI::eqsat
