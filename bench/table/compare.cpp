// SPDX-License-Identifier: MIT
// Sides made, checked against each other, and timed.
#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>

#include "roofline.hpp"

namespace bench {

namespace {

// The result proper, and the gradient of each operand that was updated: compared one by one, since
// their sizes differ by orders of magnitude.
std::vector<std::vector<float>> parts_of(const description& of, const problem& operands,
                                         std::span<const float> result) {
  if (of.updated.empty()) return {{result.begin(), result.end()}};
  std::vector<std::vector<float>> out{{result[0]}};
  std::size_t at = 1;
  for (const std::size_t number : of.updated) {
    out.emplace_back();
    for (const float before : operands[number])
      out.back().push_back((before - result[at++]) / learning_rate);
  }
  return out;
}

}  // namespace

const timed* comparison::best_peer() const {
  const timed* best = nullptr;
  for (std::size_t i = 1; i < libraries.size(); ++i)
    if (best == nullptr || libraries[i].time.median < best->time.median) best = &libraries[i];
  return best;
}

double comparison::roofline() const {
  std::map<std::string, double> resources;
  for (const timed_limit& each : limits) {
    const auto [known, is_new] = resources.emplace(each.resource, each.time.median);
    if (!is_new) known->second = std::min(known->second, each.time.median);
  }
  double longest = 0;
  for (const auto& [resource, time] : resources) longest = std::max(longest, time);
  return longest;
}

std::optional<std::string> difference(const description& of, const problem& operands,
                                      const std::vector<float>& reference,
                                      const std::vector<float>& found) {
  if (reference.size() != found.size())
    return std::to_string(found.size()) + " numbers instead of " + std::to_string(reference.size());
  const auto right = parts_of(of, operands, reference), other = parts_of(of, operands, found);
  for (std::size_t part = 0; part < right.size(); ++part) {
    float largest = 0, apart = 0;
    for (std::size_t i = 0; i < right[part].size(); ++i) {
      largest = std::max(largest, std::abs(right[part][i]));
      const float difference = std::abs(right[part][i] - other[part][i]);
      // Not max, which would drop what is not a number.
      if (!(difference <= apart)) apart = difference;
    }
    if (!(apart <= static_cast<float>(of.tolerance) * largest))
      return "part " + std::to_string(part) + " differs by " + std::to_string(apart) +
             " where the largest number is " + std::to_string(largest);
  }
  return std::nullopt;
}

comparison compare(const description& of, const std::vector<library>& libraries, int threads,
                   timer by) {
  // Each library has its own operands. Those that shared some would find them in the caches behind
  // each other's calls, and sinter, which copies them into tensors, would not ((x + row) column
  // over 4 MB took 1.04 to 1.17 of Eigen's time so, and takes 0.97 to 1.07: one thread of a Zen 3).
  std::vector<problem> operands;
  operands.reserve(libraries.size());
  std::vector<entrant> entrants;
  std::vector<float> reference;
  for (const library& each : libraries) {
    each.set_threads(threads);
    const auto found = each.cases.find(of.name);
    if (found == each.cases.end()) continue;
    const side made = found->second(operands.emplace_back(of));
    made.run();
    if (made.result) {
      const auto result = made.result();
      if (entrants.empty())
        reference = result;
      else if (const auto apart = difference(of, operands.back(), reference, result))
        throw std::runtime_error(of.name + ": " + each.name +
                                 " computes something else: " + *apart);
    }
    entrants.push_back({each.name, made.run});
  }
  comparison out{.of = &of, .threads = threads, .libraries = {}, .limits = {}};
  for (const entrant& each : entrants) out.libraries.push_back({each.name, {}});
  for (limit& each : limits_of(of, threads)) {
    out.limits.push_back({each.resource, each.threads, {}});
    entrants.push_back({each.resource, std::move(each.run)});
  }
  auto times = measure(entrants, by);
  auto next = times.begin();
  for (timed& each : out.libraries) each.time = std::move(*next++);
  for (timed_limit& each : out.limits) each.time = std::move(*next++);
  return out;
}

}  // namespace bench
