// SPDX-License-Identifier: MIT
// The nests of cases as `explain` tells of them, and Spearman's rank correlation.
#include "cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>
#include <regex>
#include <sstream>

namespace bench {

namespace {

// From what `explain` says, which measures nests by the shortest of several runs and rounds to a
// tenth of a microsecond. Without those that are predicted to take nothing, which compute nothing.
std::vector<nest_times> nests_of(const std::string& explained) {
  static const std::regex line(
      R"(^  (nest .*?)  \(predicted ([0-9.]+) us, measured ([0-9.]+) us\)$)");
  std::vector<nest_times> out;
  std::istringstream lines(explained);
  std::smatch found;
  for (std::string text; std::getline(lines, text);)
    if (std::regex_match(text, found, line) && std::stod(found[2]) > 0)
      out.push_back({found[1], std::stod(found[2]), std::stod(found[3])});
  return out;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::ranges::less{}, [&](std::size_t i) { return values[i]; });
  std::vector<double> out(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i)
      out[order[i]] = static_cast<double>(first + last - 1) / 2;
  }
  return out;
}

}  // namespace

double rank_correlation(const std::vector<nest_times>& nests) {
  std::vector<double> predicted, measured;
  for (const nest_times& each : nests) {
    predicted.push_back(each.predicted);
    measured.push_back(each.measured);
  }
  const auto x = ranks(predicted), y = ranks(measured);
  const double mean = (static_cast<double>(nests.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < nests.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

void print_costs(const std::vector<const description*>& cases, const library& sinter) {
  sinter.set_threads(1);
  std::printf("| %-16s | %12s | %12s | %5s | nest\n", "case", "predicted us", "measured us",
              "ratio");
  std::puts("|------------------|-------------:|-------------:|------:|------");
  std::vector<nest_times> all;
  for (const description* each : cases) {
    const problem operands(*each);
    const side made = sinter.cases.at(each->name)(operands);
    if (!made.explain) continue;
    for (nest_times& nest : nests_of(made.explain())) {
      std::printf("| %-16s | %12.2f | %12.2f | %5.2f | %s\n", each->name.c_str(), nest.predicted,
                  nest.measured, nest.measured / nest.predicted, nest.nest.c_str());
      all.push_back(std::move(nest));
    }
    std::fflush(stdout);
  }
  std::printf("\n%zu nests, rank correlation %.3f\n", all.size(), rank_correlation(all));
}

}  // namespace bench
