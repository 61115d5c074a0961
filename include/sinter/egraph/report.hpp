// SPDX-License-Identifier: MIT
//
// What a saturation is told (limits, scheduler) and what it tells afterwards (stop reason, counts
// and times per rule).
#pragma once

#include <chrono>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Hard limits. Nodes and iterations are never exceeded; the clock is read every few thousand steps
/// of a search or application and between rules, and a rebuild that has begun is finished.
struct limits {
  std::size_t nodes = 100'000;
  std::size_t iterations = 30;
  std::chrono::nanoseconds time = std::chrono::seconds(5);
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
    std::ostringstream out;
    out << name(stop_reason) << " after " << iterations << " iterations: " << nodes << " e-nodes, "
        << classes << " e-classes, " << refused_unions << " refused unions\n";
    out << "search " << search_seconds * 1e3 << " ms, apply " << apply_seconds * 1e3
        << " ms, rebuild " << rebuild_seconds * 1e3 << " ms\n";
    for (const rule_report& rule : rules) {
      if (rule.matches == 0 && !rule.disabled) continue;
      out << "  " << rule.name << ": ";
      if (rule.disabled) {
        out << "disabled\n";
      } else {
        out << rule.matches << " matches, " << rule.applications << " applications, "
            << rule.seconds * 1e3 << " ms\n";
      }
    }
    return out.str();
  }
};

}  // namespace sinter::inline SINTER_ABI::eqsat
