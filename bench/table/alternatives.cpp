// SPDX-License-Identifier: MIT
// Rejected plans: how they are found, and timed.
#include "alternatives.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "../processor_time.hpp"

namespace bench {

namespace {

struct explained_plan {
  std::vector<int> nests;  // by number
  double predicted = 0;    // microseconds
  std::string text;        // what runs, without numbers of nests, rules and times
};

explained_plan read(const std::string& explained) {
  static const std::regex predicted("^plan: .* predicted ([0-9.]+) us.*"),
      times(R"(  \(predicted .*\)$)");
  explained_plan out;
  bool in_nests = false;
  std::istringstream lines(explained);
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, found, predicted)) out.predicted = std::stod(found[1]);
    if (line.starts_with("all nests:")) break;
    if (in_nests && !line.starts_with("    found by:"))
      out.text += std::regex_replace(line, times, "") + "\n";
    if (const std::string head = "nests by number"; line.starts_with(head)) {
      std::istringstream numbers(line.substr(line.rfind(':') + 1));
      for (int each = 0; numbers >> each;) out.nests.push_back(each);
      in_nests = true;
    }
  }
  return out;
}

struct alternative {
  exclusion without;
  side made;
  explained_plan plan;
};

// Of a case; `accept` is called for each plan that is none of those before.
class plan_search {
 public:
  explicit plan_search(const side& chosen) : chosen_(chosen), plan_(read(chosen.explain())) {
    seen_.insert(plan_.text);
  }

  const explained_plan& chosen() const { return plan_; }

  template <class Accept>
  void run(Accept accept) {
    for (const std::string& kind : kinds_of_fusion)
      if (auto other = attempt({.kinds = {kind}})) accept(*other);
    // Breadth first: what replaces one nest, then what replaces that.
    std::deque<exclusion> open;
    for (const int nest : plan_.nests) open.push_back({.nests = {nest}});
    for (int tries = 0; !open.empty() && tries < tries_per_case; ++tries) {
      const exclusion without = open.front();
      open.pop_front();
      const auto other = attempt(without);
      if (!other) continue;
      accept(*other);
      if (without.nests.size() == depth) continue;
      for (const int nest : other->plan.nests) {
        if (std::ranges::find(plan_.nests, nest) != plan_.nests.end()) continue;
        open.push_back(without);
        open.back().nests.push_back(nest);
      }
    }
  }

 private:
  static constexpr int tries_per_case = 40;
  static constexpr std::size_t depth = 3;

  // Nothing where there is no plan, or one that was met before. The same program may be two
  // candidates; what is without one of them is then tried without both by whoever comes next.
  std::optional<alternative> attempt(const exclusion& without) {
    alternative out{without, chosen_.without(without), {}};
    try {
      out.plan = read(out.made.explain());
    } catch (const std::exception&) {
      return std::nullopt;  // no nests compute all outputs
    }
    if (!seen_.insert(out.plan.text).second) return std::nullopt;
    return out;
  }

  const side& chosen_;
  explained_plan plan_;
  std::set<std::string> seen_;
};

double time_of(const std::function<void()>& run, int times) {
  const double start = processor_nanoseconds();
  for (int i = 0; i < times; ++i) run();
  return (processor_nanoseconds() - start) / times;
}

struct pair_times {
  double chosen, other;  // nanoseconds
  double ratio() const { return chosen / other; }
};

// The least processor time of rounds in turns: whatever else the machine does adds to it. A plan
// that is half as fast in the first rounds is not looked at any longer.
pair_times in_turns(const side& chosen, const side& other) {
  chosen.run();
  other.run();
  const int times = static_cast<int>(std::max(1.0, 1e6 / time_of(chosen.run, 1)));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  pair_times out{infinity, infinity};
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < 200; ++round) {
    out.chosen = std::min(out.chosen, time_of(chosen.run, times));
    out.other = std::min(out.other, time_of(other.run, times));
    const auto spent = std::chrono::steady_clock::now() - start;
    if (round >= 4 && (out.ratio() < 0.5 || spent > std::chrono::milliseconds(400))) break;
  }
  return out;
}

std::string text_of(const exclusion& x) {
  std::string out;
  for (const std::string& kind : x.kinds) out += (out.empty() ? "" : " ") + kind;
  for (const int nest : x.nests) out += (out.empty() ? "nest " : ", ") + std::to_string(nest);
  return out;
}

}  // namespace

void print_alternatives(const std::vector<const description*>& cases, const library& sinter) {
  sinter.set_threads(1);
  std::printf("| %-16s | %-17s | %12s | %12s | %9s | %12s | %12s | %8s |\n", "case", "without",
              "predicted us", "chosen", "predicted", "measured us", "chosen", "measured");
  std::puts(
      "|------------------|-------------------|-------------:|-------------:|----------:|"
      "-------------:|-------------:|---------:|");
  std::size_t count = 0;
  std::vector<std::pair<double, std::string>> worst;
  for (const description* each : cases) {
    const problem operands(*each);
    const side chosen = sinter.cases.at(each->name)(operands);
    if (!chosen.without) continue;
    plan_search search(chosen);
    double largest = 0;
    search.run([&](const alternative& other) {
      const pair_times times = in_turns(chosen, other.made);
      const double by_model = search.chosen().predicted / other.plan.predicted;
      std::printf("| %-16s | %-17s | %12.2f | %12.2f | %9.2f | %12.2f | %12.2f | %8.2f |\n",
                  each->name.c_str(), text_of(other.without).c_str(), other.plan.predicted,
                  search.chosen().predicted, by_model, times.other / 1e3, times.chosen / 1e3,
                  times.ratio());
      std::fflush(stdout);
      largest = std::max(largest, times.ratio());
      ++count;
    });
    if (largest > 0) worst.emplace_back(largest, each->name);
  }
  std::ranges::sort(worst, std::ranges::greater{});
  std::printf("\n%zu plans rejected; time of the chosen one / that of the fastest rejected one:\n",
              count);
  for (const auto& [ratio, name] : worst) std::printf("%-16s %5.2f\n", name.c_str(), ratio);
}

}  // namespace bench
