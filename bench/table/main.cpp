// SPDX-License-Identifier: MIT
// The table of benchmarks: sinter beside its peers. `./dev bench` runs it.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "alternatives.hpp"
#include "compare.hpp"
#include "cost.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace {

using namespace bench;

constexpr std::string_view usage =
    "usage: bench_table [--cost] [--alternatives] [--threads=1,2] [--processor-time] "
    "[--json=FILE]\n"
    "                   [CASE...] [--benchmark_...]\n"
    "CASE: the name of a case, or what names begin with; all if there is none.\n"
    "--processor-time: what the process spends on processors instead of time that passes.\n"
    "--cost: predicted beside measured times of the nests of the cases, instead of peers.\n"
    "--alternatives: the plan of each case in turns with plans that were rejected.\n";

struct request {
  bool cost = false, alternatives = false;
  std::vector<int> threads{1, 2};
  timer by = timer::wall;
  std::string json;
  std::vector<const description*> cases;
};

// The case of that name, or those whose names begin with it and go on with another word.
std::vector<const description*> cases_of(const std::string& name) {
  std::vector<const description*> out;
  for (const description& each : all_cases()) {
    if (each.name == name) return {&each};
    if (each.name.starts_with(name + "_")) out.push_back(&each);
  }
  if (!out.empty()) return out;
  std::string known;
  for (const description& each : all_cases()) known += " " + each.name;
  throw std::invalid_argument("there is no case " + name + "; there are" + known);
}

std::vector<int> numbers_of(const std::string& text) {
  std::vector<int> out;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) out.push_back(std::stoi(part));
  if (out.empty() || std::ranges::any_of(out, [](int n) { return n < 1; }))
    throw std::invalid_argument("--threads needs numbers of threads");
  return out;
}

request parse(int argc, char** argv) {
  request out;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--cost") {
      out.cost = true;
    } else if (argument == "--alternatives") {
      out.alternatives = true;
    } else if (argument.starts_with("--threads=")) {
      out.threads = numbers_of(argument.substr(10));
    } else if (argument == "--processor-time") {
      out.by = timer::processor;
    } else if (argument.starts_with("--json=")) {
      out.json = argument.substr(7);
    } else if (argument.starts_with("-")) {
      throw std::invalid_argument("unknown: " + argument + "\n" + std::string(usage));
    } else {
      for (const description* each : cases_of(argument))
        if (std::ranges::find(out.cases, each) == out.cases.end()) out.cases.push_back(each);
    }
  }
  if (out.cases.empty())
    for (const description& each : all_cases()) out.cases.push_back(&each);
  return out;
}

void run_table(const request& asked, const std::vector<library>& libraries) {
  std::vector<comparison> all;
  std::fputs(table_head().c_str(), stdout);
  for (const description* each : asked.cases) {
    double alone = 0;
    for (const int threads : asked.threads) {
      all.push_back(compare(*each, libraries, threads, asked.by));
      if (threads == 1) alone = all.back().sinter().median;
      std::fputs(table_row(all.back(), alone).c_str(), stdout);
      std::fflush(stdout);
    }
  }
  if (!asked.json.empty()) write_json(asked.json, all);
}

}  // namespace

int main(int argc, char** argv) try {
  take_flags(argc, argv);
  const request asked = parse(argc, argv);
  const auto libraries = all_libraries();
  if (asked.cost) print_costs(asked.cases, libraries.front());
  if (asked.alternatives) print_alternatives(asked.cases, libraries.front());
  if (!asked.cost && !asked.alternatives) run_table(asked, libraries);
} catch (const std::invalid_argument& wrong) {
  std::fprintf(stderr, "bench_table: %s\n", wrong.what());
  return 2;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "bench_table: %s\n", failure.what());
  return 1;
}
