// SPDX-License-Identifier: MIT
// Extraction on e-graphs in the format of extraction-gym: every method over all files below a
// folder, by set (the folder a file lies in).
//   extraction_bench FOLDER [per-file]      or SINTER_GYM=FOLDER extraction_bench
// If FOLDER has a reference.tsv (a line per file: its path, nodes, classes, the DAG costs and times
// of two other extractors, and the optimum where it is known), optima are compared too. Exit status
// 1 if a choice is above that of least tree cost, or a bound above a known optimum.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "../tests/support/gym.hpp"
#include <sinter/egraph/extract.hpp>

namespace {

namespace eq = sinter::eqsat;
namespace fs = std::filesystem;

struct mode {
  const char* name;
  eq::extract_options options;
  int runs;  // the fastest counts
};
const std::vector<mode> modes{
    {"fast", {.how = eq::method::dag}, 3},
    {"1 s", {.how = eq::method::exact, .work = 10'000'000'000, .seconds = 1}, 1},
    {"10 s", {.how = eq::method::exact, .work = 100'000'000'000, .seconds = 10}, 1}};

struct row {
  int files = 0, known = 0, proved = 0, known_proved = 0;
  double bottom_up = 0, cost = 0, bound = 0, cost_of_known = 0, optimum = 0;
  double total_ms = 0, longest_ms = 0;

  void add(const row& other) {
    files += other.files;
    known += other.known;
    proved += other.proved;
    known_proved += other.known_proved;
    bottom_up += other.bottom_up;
    cost += other.cost;
    bound += other.bound;
    cost_of_known += other.cost_of_known;
    optimum += other.optimum;
    total_ms += other.total_ms;
    longest_ms = std::max(longest_ms, other.longest_ms);
  }
};

std::map<std::string, double> read_optima(const fs::path& path) {
  std::map<std::string, double> out;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> fields;
    std::istringstream fields_in(line);
    for (std::string field; std::getline(fields_in, field, '\t');) fields.push_back(field);
    if (fields.size() > 7 && !fields[7].empty()) out[fields[0]] = std::stod(fields[7]);
  }
  return out;
}

double bottom_up_cost(const eq::extraction_problem& problem) {
  eq::option_choice choice = eq::solve(problem, {.how = eq::method::tree}).choice;
  return eq::keep_reachable(problem, choice);
}

row measure(const eq::extraction_problem& problem, const mode& m, const double* optimum,
            bool& sound) {
  row out;
  eq::problem_solution found;
  for (int run = 0; run < m.runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    found = eq::solve(problem, m.options);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    out.total_ms = run == 0 ? took.count() : std::min(out.total_ms, took.count());
  }
  out.longest_ms = out.total_ms;
  out.files = 1;
  out.bottom_up = bottom_up_cost(problem);
  out.cost = found.cost;
  out.bound = found.lower_bound;
  out.proved = found.lower_bound == found.cost ? 1 : 0;
  const double rounding = 1e-9 * (1 + std::abs(found.cost));
  if (optimum != nullptr) {
    out.known = 1;
    out.known_proved = out.proved;
    out.cost_of_known = found.cost;
    out.optimum = *optimum;
    sound = sound && found.lower_bound <= *optimum + rounding && found.cost >= *optimum - rounding;
  }
  sound = sound && found.cost <= out.bottom_up + rounding;
  return out;
}

void print(const std::string& name, const row& r) {
  std::printf("  %-16.16s %5d %14.6g %14.6g %14.6g %6d", name.c_str(), r.files, r.bottom_up, r.cost,
              r.bound, r.proved);
  if (r.known > 0) {
    std::printf(" %6d/%-3d %+8.3f%%", r.known_proved, r.known,
                100 * (r.cost_of_known - r.optimum) / std::max(1e-300, std::abs(r.optimum)));
  } else {
    std::printf(" %10s %9s", "", "");
  }
  std::printf(" %9.1f %9.1f\n", r.longest_ms, r.total_ms);
}

}  // namespace

int main(int argc, char** argv) {
  const char* folder = argc > 1 ? argv[1] : std::getenv("SINTER_GYM");
  if (folder == nullptr || !fs::is_directory(folder)) {
    std::printf("extraction: no folder of e-graphs, as argument or in SINTER_GYM\n");
    return 0;
  }
  const bool per_file = argc > 2 && std::string_view(argv[2]) == "per-file";
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  const auto optima = read_optima(fs::path(folder) / "reference.tsv");
  std::vector<eq::extraction_problem> problems;
  for (const fs::path& path : paths) problems.push_back(gym::read_problem(path.string()));

  bool sound = true;
  for (const mode& m : modes) {
    std::printf("%s\n  %-16s %5s %14s %14s %14s %6s %10s %9s %9s %9s\n", m.name, "set", "files",
                "bottom-up", "cost", "bound", "proved", "of known", "above", "max ms", "sum ms");
    std::map<std::string, row> sets;
    row all;
    for (std::size_t k = 0; k < paths.size(); ++k) {
      const auto known = optima.find(fs::relative(paths[k], folder).generic_string());
      const row one =
          measure(problems[k], m, known == optima.end() ? nullptr : &known->second, sound);
      if (per_file) print(paths[k].stem().string(), one);
      sets[paths[k].parent_path().filename().string()].add(one);
      all.add(one);
    }
    for (const auto& [name, r] : sets) print(name, r);
    print("all", all);
  }
  if (!sound)
    std::printf("a cost above bottom-up, or a bound or cost on the wrong side of an optimum\n");
  return sound ? 0 : 1;
}
