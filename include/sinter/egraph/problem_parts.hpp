// SPDX-License-Identifier: MIT
//
// Parts of an extraction problem: some of its options, and those of its classes that are connected.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/extraction_problem.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// The same classes with the options marked in `alive` and the roots given. The id of an option is
/// its number in `problem`.
inline extraction_problem restrict_problem(const extraction_problem& problem,
                                           const std::vector<std::uint8_t>& alive,
                                           const std::vector<std::uint32_t>& roots) {
  extraction_problem_builder builder(problem.classes());
  std::vector<std::uint32_t> targets;
  for (std::uint32_t i = 0; i < problem.options.size(); ++i) {
    if (alive[i] == 0) continue;
    targets.clear();
    for (const auto& d : problem.children_of(i)) targets.push_back(d.target);
    builder.add_option(problem.options[i].owner, i, problem.options[i].cost, targets);
  }
  for (const std::uint32_t r : roots) builder.add_root(r);
  return builder.finish();
}

/// Classes that no option links to the others. The id of an option is its number in the whole.
struct problem_part {
  extraction_problem problem;
  std::vector<std::uint32_t> class_of;  ///< by class of `problem`: its class in the whole

  /// Adds a choice in this part to one in the whole.
  void add_to(option_choice& whole, const option_choice& choice) const {
    for (std::uint32_t c = 0; c < choice.size(); ++c) {
      if (choice[c] != no_id) whole[class_of[c]] = problem.options[choice[c]].id;
    }
  }
};

/// The connected parts, those with fewer classes first.
inline std::vector<problem_part> connected_parts(const extraction_problem& whole) {
  std::vector<std::vector<std::uint32_t>> members;
  std::vector<std::uint8_t> seen(whole.classes(), 0);
  for (std::uint32_t start = 0; start < whole.classes(); ++start) {
    if (seen[start] != 0) continue;
    std::vector<std::uint32_t> list;
    const auto add = [&](std::uint32_t c) {
      if (seen[c] != 0) return;
      seen[c] = 1;
      list.push_back(c);
    };
    add(start);
    for (std::size_t next = 0; next < list.size(); ++next) {
      const std::uint32_t c = list[next];
      for (std::uint32_t i = whole.first_option[c]; i < whole.first_option[c + 1]; ++i) {
        for (const auto& d : whole.children_of(i)) add(d.target);
      }
      for (const std::uint32_t i : whole.users_of(c)) add(whole.options[i].owner);
    }
    std::sort(list.begin(), list.end());
    members.push_back(std::move(list));
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });

  std::vector<std::uint32_t> number(whole.classes()), part_of(whole.classes());
  for (std::uint32_t p = 0; p < members.size(); ++p) {
    for (std::uint32_t k = 0; k < members[p].size(); ++k) {
      number[members[p][k]] = k;
      part_of[members[p][k]] = p;
    }
  }
  std::vector<std::vector<std::uint32_t>> roots(members.size());
  for (const std::uint32_t r : whole.roots) roots[part_of[r]].push_back(number[r]);
  std::vector<problem_part> out;
  std::vector<std::uint32_t> targets;
  for (std::uint32_t p = 0; p < members.size(); ++p) {
    extraction_problem_builder builder(members[p].size());
    for (const std::uint32_t c : members[p]) {
      for (std::uint32_t i = whole.first_option[c]; i < whole.first_option[c + 1]; ++i) {
        targets.clear();
        for (const auto& d : whole.children_of(i)) targets.push_back(number[d.target]);
        builder.add_option(number[c], i, whole.options[i].cost, targets);
      }
    }
    for (const std::uint32_t r : roots[p]) builder.add_root(r);
    out.push_back({builder.finish(), std::move(members[p])});
  }
  return out;
}

/// The largest amount that all costs are whole multiples of, looked for among decimals of up to six
/// places; 0 if there is none. Bounds may be rounded up to it.
inline double cost_grain(const extraction_problem& problem) {
  double scale = 1;
  for (int places = 0; places <= 6; ++places, scale *= 10) {
    std::uint64_t divisor = 0;
    const bool whole = std::all_of(
        problem.options.begin(), problem.options.end(), [&](const extraction_problem::option& o) {
          const double scaled = std::abs(o.cost) * scale;
          const double rounded = std::round(scaled);
          if (rounded > 1e12 || std::abs(scaled - rounded) > 1e-9 * std::max(1.0, rounded))
            return false;
          divisor = std::gcd(divisor, static_cast<std::uint64_t>(rounded));
          return true;
        });
    if (whole) return static_cast<double>(divisor) / scale;
  }
  return 0;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
