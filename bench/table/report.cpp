// SPDX-License-Identifier: MIT
// Rows of the table, and the JSON.
#include "report.hpp"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include <Eigen/Core>

#include <sinter/support/version.hpp>

namespace bench {

namespace {

// Three digits.
std::string in_unit(double nanoseconds) {
  const char* const units[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  for (; nanoseconds >= 999.5 && unit < 3; ++unit) nanoseconds /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s",
                nanoseconds < 9.995 ? 2 : (nanoseconds < 99.95 ? 1 : 0), nanoseconds, units[unit]);
  return text;
}

std::string ratio(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string row(const std::string& name, const std::string& threads, const std::string& sinter,
                const std::string& peer, const std::string& compared, const std::string& roofline,
                const std::string& faster) {
  char text[256];
  std::snprintf(text, sizeof text, "| %-16s | %7s | %8s | %-17s | %5s | %8s | %12s |\n",
                name.c_str(), threads.c_str(), sinter.c_str(), peer.c_str(), compared.c_str(),
                roofline.c_str(), faster.c_str());
  return text;
}

nlohmann::json json_of(const timing& of) {
  return {{"median_ns", of.median}, {"least_ns", of.least}, {"repetitions_ns", of.repetitions}};
}

}  // namespace

std::string table_head() {
  return row("case", "threads", "sinter", "best peer", "ratio", "roofline", "times faster") +
         "|------------------|--------:|---------:|-------------------|------:|---------:|"
         "-------------:|\n";
}

std::string table_row(const comparison& of, double alone) {
  const double sinter = of.sinter().median;
  const timed* const peer = of.best_peer();
  return row(of.of->name, std::to_string(of.threads), in_unit(sinter),
             peer == nullptr ? "" : in_unit(peer->time.median) + " " + peer->name,
             peer == nullptr ? "" : ratio(sinter / peer->time.median),
             of.roofline() == 0 ? "" : ratio(of.roofline() / sinter),
             of.threads == 1 || alone == 0 ? "" : ratio(alone / sinter));
}

void write_json(const std::string& path, const std::vector<comparison>& all) {
  nlohmann::json cases = nlohmann::json::array();
  for (const comparison& each : all) {
    nlohmann::json entry{{"case", each.of->name},
                         {"what", each.of->what},
                         {"threads", each.threads},
                         {"bytes", each.of->bytes}};
    for (const timed& side : each.libraries) entry["sides"][side.name] = json_of(side.time);
    for (const timed_limit& limit : each.limits)
      entry["limits"][limit.resource][std::to_string(limit.threads)] = json_of(limit.time);
    double flops = 0;
    for (const product& p : each.of->products)
      flops += 2.0 * p.times * static_cast<double>(p.rows * p.depth * p.columns);
    entry["flops_of_products"] = flops;
    if (const timed* const peer = each.best_peer()) {
      entry["best_peer"] = peer->name;
      entry["ratio"] = each.sinter().median / peer->time.median;
    }
    if (each.roofline() > 0) entry["roofline"] = each.roofline() / each.sinter().median;
    cases.push_back(std::move(entry));
  }
  const auto version = [](int major, int minor, int patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  };
  std::ofstream file(path);
  file << nlohmann::json{{"compiler", __VERSION__},
                         {"instructions", Eigen::SimdInstructionSetsInUse()},
                         {"eigen",
                          version(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
                         {"sinter", version(SINTER_VERSION_MAJOR, SINTER_VERSION_MINOR,
                                            SINTER_VERSION_PATCH)},
                         {"cases", cases}}
              .dump(1)
       << "\n";
  if (!file) throw std::runtime_error(path + " cannot be written");
}

}  // namespace bench
