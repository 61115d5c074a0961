// SPDX-License-Identifier: MIT
//
// What a saturation is told (limits, scheduler) and what it tells afterwards (stop reason, counts
// and times per rule).
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/support/abi.hpp>
#include <sinter/support/steady_time.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Hard limits. Nodes and iterations are never exceeded; the clock is read every few thousand steps
/// of a search or application and between rules, and a rebuild that has begun is finished.
struct limits {
  std::size_t nodes = 100'000;
  std::size_t iterations = 30;
  time_span time{5'000'000'000};  ///< from any duration of <chrono>
};

enum class scheduler_kind {
  simple,   ///< every rule in every iteration
  backoff,  ///< a rule with too many matches is banned for a while; its limit and its ban double
            ///< each time (egg)
};

struct scheduler {
  scheduler_kind kind = scheduler_kind::simple;
  std::size_t match_limit = 1'000;
  std::size_t ban_length = 5;  ///< iterations

  static constexpr scheduler simple() { return {}; }
  static constexpr scheduler backoff(std::size_t match_limit = 1'000, std::size_t ban_length = 5) {
    return {scheduler_kind::backoff, match_limit, ban_length};
  }
};

enum class stop_reason { saturated, node_limit, iteration_limit, time_limit };

constexpr std::string_view name(stop_reason reason) {
  switch (reason) {
    case stop_reason::saturated: return "saturated";
    case stop_reason::node_limit: return "node limit";
    case stop_reason::iteration_limit: return "iteration limit";
    case stop_reason::time_limit: return "time limit";
  }
  return "";
}

struct rule_report {
  std::string_view name;
  int tag = 0;
  bool disabled = false;
  std::size_t matches = 0;       ///< found, conditions included
  std::size_t applications = 0;  ///< those that changed the e-graph
  std::size_t bans = 0;
  double seconds = 0;  ///< searching and applying
};

struct report {
  eqsat::stop_reason stop_reason = eqsat::stop_reason::saturated;
  std::size_t iterations = 0;
  std::size_t nodes = 0;
  std::size_t classes = 0;
  std::size_t refused_unions = 0;
  double search_seconds = 0;
  double apply_seconds = 0;
  double rebuild_seconds = 0;
  std::vector<rule_report> rules;  ///< in the order of the rule set

  double seconds() const { return search_seconds + apply_seconds + rebuild_seconds; }

  /// A few lines of text; rules that never matched are left out.
  std::string to_text() const {
    const auto count = [](std::size_t n, const char* of) { return std::to_string(n) + of; };
    const auto milliseconds = [](double seconds) {
      char digits[32];
      std::snprintf(digits, sizeof digits, "%g ms", seconds * 1e3);
      return std::string(digits);
    };
    std::string out(name(stop_reason));
    out += " after " + count(iterations, " iterations: ") + count(nodes, " e-nodes, ") +
           count(classes, " e-classes, ") + count(refused_unions, " refused unions\n");
    out += "search " + milliseconds(search_seconds) + ", apply " + milliseconds(apply_seconds) +
           ", rebuild " + milliseconds(rebuild_seconds) + "\n";
    for (const rule_report& rule : rules) {
      if (rule.matches == 0 && !rule.disabled) continue;
      out += "  " + std::string(rule.name) + ": ";
      out += rule.disabled
                 ? std::string("disabled")
                 : count(rule.matches, " matches, ") + count(rule.applications, " applications, ") +
                       milliseconds(rule.seconds);
      out += "\n";
    }
    return out;
  }
};

}  // namespace sinter::inline SINTER_ABI::eqsat
