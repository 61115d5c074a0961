// SPDX-License-Identifier: MIT
// The machine that costs are predicted for: as a value, measured, and kept in a file.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/parallel.hpp>
#include <sinter/function/calibration.hpp>
#include <sinter/plan/machine_text.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/op_work.hpp>
#include <sinter/sinter.hpp>
#include <sinter/support/cache_directory.hpp>
#include <sinter/support/text_file.hpp>

namespace calibration_test {

namespace sn = sinter;
namespace fs = std::filesystem;
using sn::planning::machine;
using sn::planning::machine_of_text;
using sn::planning::machine_text;

namespace {

// An empty directory that goes when the test ends.
struct scratch_directory {
  fs::path path =
      fs::temp_directory_path() / ("sinter-calibration-" + std::to_string(std::random_device{}()));
  scratch_directory() { fs::create_directories(path); }
  ~scratch_directory() { fs::remove_all(path); }
};

int measurements = 0;

machine odd_machine() {
  ++measurements;
  machine out;
  double value = 1.0 / 3;
  for (const auto& [name, field] : sn::planning::machine_fields) out.*field = value *= 1.7;
  return out;
}

sn::ir::graph two_sums() {
  sn::ir::graph g;
  const auto x = sn::ir::argument(g, sn::dtype::f32, 0, {sn::ir::dim(256), sn::ir::dim(256)});
  const auto e = sn::ir::unary(sn::ir::op::exp, x);
  for (std::int64_t axes : {1, 2})
    g.outputs.push_back({sn::ir::reduce(sn::ir::op::reduce_sum, e, axes).id, -1});
  return g;
}

// exp(x - m) / s with the largest element and the sum of every column.
sn::ir::graph softmax_down_columns() {
  using sn::ir::op;
  sn::ir::graph g;
  const auto x = sn::ir::argument(g, sn::dtype::f32, 0, {sn::ir::dim(256), sn::ir::dim(256)});
  const auto of_column = [](op reduction, const sn::ir::value& of) {
    return sn::ir::broadcast_to(sn::ir::reduce(reduction, of, 1), of.shape());
  };
  const auto e = sn::ir::unary(op::exp, x - of_column(op::reduce_max, x));
  g.outputs.push_back({(e / of_column(op::reduce_sum, e)).id, -1});
  return g;
}

// Bytes of the arena and predicted nanoseconds of a graph of one 256 by 256 argument; sums down
// columns are nests of their own.
std::pair<std::size_t, double> planned(const sn::ir::graph& g, const machine& m) {
  sn::program p(g, sn::detail::all_code(), {.machine = m, .nests = {.sums = false}});
  const sn::shape_vector shape{256, 256};
  const std::vector<float> elements(256 * 256, 1.0f);
  const std::vector<sn::detail::argument_memory> arguments{
      {elements.data(), shape, sn::row_major_strides(shape), elements.size() * sizeof(float)}};
  const auto call = p.prepare(arguments, {});
  return {call.plan().arena_bytes, call.plan().cost};
}

}  // namespace

TEST_CASE("the machine of the options reaches the costs, and what is chosen") {
  const auto [bytes, cost] = planned(two_sums(), sn::planning::nominal_machine);
  machine twice = sn::planning::nominal_machine;
  for (const auto& [name, field] : sn::planning::machine_fields)
    if (name != "l2_bytes" && name != "last_level_bytes") twice.*field *= 2;
  CHECK(planned(two_sums(), twice).first == bytes);
  CHECK(planned(two_sums(), twice).second == doctest::Approx(2 * cost));
  // Where work is for nothing both sums compute exp; where it is dear it is stored.
  machine idle = sn::planning::nominal_machine, busy = idle;
  idle.unit_work = idle.tile_operand = 1e-6;
  busy.unit_work = 100;
  CHECK(planned(two_sums(), idle).first == 0);
  CHECK(planned(two_sums(), busy).first >= 256 * 256 * sizeof(float));
}

TEST_CASE("a buffer comes from memory as far as the caches do not hold two of it") {
  sn::ir::graph g;
  const auto x = sn::ir::argument(g, sn::dtype::f32, 0, {sn::ir::dim(256), sn::ir::dim(256)});
  g.outputs.push_back({sn::ir::unary(sn::ir::op::exp, x).id, -1});
  constexpr double bytes = 256 * 256 * sizeof(float);
  machine m = sn::planning::nominal_machine;
  m.unit_work = m.tile_operand = 1e-9;
  m.l2_bytes = bytes / 4;
  const auto cost_with = [&](double last_level_bytes) {
    m.last_level_bytes = last_level_bytes;
    return planned(g, m).second;
  };
  const double fits = cost_with(2 * bytes), moved = bytes * (1 + sn::planning::written_share);
  const double dearer = moved * (m.dram_byte - m.last_level_byte);
  CHECK(cost_with(4 * bytes) == fits);
  CHECK(cost_with(bytes * 4 / 3) - fits == doctest::Approx(dearer / 2));
  CHECK(cost_with(bytes) - fits == doctest::Approx(dearer));
  CHECK(cost_with(bytes / 2) - fits == doctest::Approx(dearer));
  // So exponentials of columns are computed twice rather than stored.
  const auto stored_with = [&](double last_level_bytes) {
    machine nominal = sn::planning::nominal_machine;
    nominal.l2_bytes = bytes / 4;
    nominal.last_level_bytes = last_level_bytes;
    return planned(softmax_down_columns(), nominal).first;
  };
  CHECK(stored_with(4 * bytes) >= bytes);
  CHECK(stored_with(1.75 * bytes) < bytes / 8);
}

TEST_CASE("a machine as text comes back as it was; anything else is none") {
  const machine m = odd_machine();
  const std::string text = machine_text(m, "me");
  REQUIRE(machine_of_text(text, "me"));
  CHECK(*machine_of_text(text, "me") == m);
  CHECK_FALSE(machine_of_text(text, "you"));
  CHECK_FALSE(machine_of_text("", "me"));
  for (std::size_t i = 0; i < text.size(); ++i) {
    CHECK_FALSE(machine_of_text(text.substr(0, i), "me"));
    std::string damaged = text;
    damaged[i] = damaged[i] == '7' ? '8' : '7';
    CHECK_FALSE(machine_of_text(damaged, "me"));
  }
  CHECK_FALSE(machine_of_text(text + "\n", "me"));
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    machine wrong = m;
    wrong.flop = bad;
    CHECK_FALSE(machine_of_text(machine_text(wrong, "me"), "me"));
  }
}

TEST_CASE("a calibration is measured once and kept; a damaged or foreign file is measured again") {
  const scratch_directory scratch;
  const fs::path directory = scratch.path / "not" / "there";
  measurements = 0;
  const sn::calibration first = sn::calibrate(directory, odd_machine);
  CHECK(first.measured);
  CHECK(first.warning.empty());
  CHECK(first.file.parent_path() == directory);
  const sn::calibration second = sn::calibrate(directory, odd_machine);
  CHECK_FALSE(second.measured);
  CHECK(second.machine == first.machine);
  CHECK(measurements == 1);

  const std::string text = sn::read_text_file(first.file).value();
  const std::string foreign =
      machine_text(first.machine, text.substr(0, text.find(',')) + ", version 0.0.1");
  for (const std::string& bad : {std::string(), text.substr(0, 40), text + text, foreign}) {
    std::ofstream(first.file, std::ios::binary) << bad;
    const sn::calibration again = sn::calibrate(directory, odd_machine);
    CHECK(again.measured);
    CHECK(again.warning ==
          first.file.string() + " is damaged or of another machine: measured again");
    CHECK(sn::read_text_file(first.file) == text);
    CHECK(sn::calibrate(directory, odd_machine).warning.empty());
  }
  CHECK(measurements == 5);
  // One file, and no parts of others.
  CHECK(std::distance(fs::directory_iterator(directory), {}) == 1);
}

TEST_CASE("without a directory that can be written it works, and says so") {
  const scratch_directory scratch;
  const fs::path file = scratch.path / "file";
  std::ofstream(file) << "no directory";
  for (const fs::path& directory : {file / "sinter", fs::path()}) {
    const sn::calibration found = sn::calibrate(directory, odd_machine);
    CHECK(found.measured);
    CHECK(found.file.empty());
    CHECK(found.warning.find("cannot be kept") != std::string::npos);
    CHECK(found.warning.find('\n') == std::string::npos);
    CHECK(found.machine == odd_machine());
  }
  CHECK(std::distance(fs::directory_iterator(scratch.path), {}) == 1);
}

TEST_CASE("the cache directory is that of the XDG specification") {
  setenv("HOME", "/home/somebody", 1);
  setenv("XDG_CACHE_HOME", "/var/cache/mine", 1);
  CHECK(sn::cache_directory() == "/var/cache/mine/sinter");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(sn::cache_directory() == "/home/somebody/.cache/sinter");
  unsetenv("XDG_CACHE_HOME");
  CHECK(sn::cache_directory() == "/home/somebody/.cache/sinter");
  unsetenv("HOME");
  CHECK(sn::cache_directory().empty());
}

TEST_CASE("a measured machine is one: costs in order, threads as before") {
  const scratch_directory scratch;
  setenv("XDG_CACHE_HOME", scratch.path.c_str(), 1);
  const int threads = sn::exec::thread_count();
  const machine m = sn::calibrated_machine();
  CHECK(sn::exec::thread_count() == threads);
  CHECK(m.l2_byte <= m.last_level_byte);
  CHECK(m.last_level_byte <= m.dram_byte);
  CHECK(m.l2_bytes <= m.last_level_bytes);
  for (const auto& [name, field] : sn::planning::machine_fields) CHECK(m.*field > 0);
  CHECK(sn::calibrated_machine() == m);  // from the file, to the last bit
  auto f = sn::fuse([](auto x) { return x + 1.0f; }, {.machine = m});
  CHECK(f(sn::tensor<float, 1>{1, 2})(1) == 3);
}

}  // namespace calibration_test
