// SPDX-License-Identifier: MIT
// How the machine is measured: nests as programs run them, and from their times the numbers of the
// cost model, by the model's own formulas (plan/candidate_cost.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sinter/exec/copy.hpp>
#include <sinter/exec/processor.hpp>
#include <sinter/function/calibration.hpp>
#include <sinter/function/code.hpp>
#include <sinter/function/program.hpp>
#include <sinter/graph/build.hpp>
#include <sinter/plan/machine_text.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/op_work.hpp>
#include <sinter/support/cache_directory.hpp>
#include <sinter/support/debug.hpp>
#include <sinter/support/text_file.hpp>
#include <sinter/support/version.hpp>
#include <sinter/tensor/storage.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// Nanoseconds of f, the shortest of several calls: whatever else the machine does only adds to
// them. Calls for `budget`, at least 3 times; short ones in batches that the clock can tell apart.
template <class F>
double shortest_time(std::chrono::milliseconds budget, F f) {
  using clock = std::chrono::steady_clock;
  const auto time_of = [&](int calls) {
    const auto start = clock::now();
    for (int i = 0; i < calls; ++i) f();
    return std::chrono::duration<double, std::nano>(clock::now() - start).count() / calls;
  };
  const double first = time_of(1);
  const int batch = std::clamp(static_cast<int>(20'000 / std::max(1.0, first)), 1, 1000);
  double shortest = std::numeric_limits<double>::infinity();
  const auto start = clock::now();
  for (int i = 0; i < 3 || clock::now() - start < budget; ++i)
    shortest = std::min(shortest, time_of(batch));
  return shortest;
}

// Writes a graph of f32 arguments with known extents and times its calls.
class timed_graph {
 public:
  explicit timed_graph(program_code code) : code_(std::move(code)) {}

  ir::value argument(const shape_vector& shape) {
    ir::symbolic_shape dims;
    for (std::int64_t extent : shape) dims.push_back(ir::dim(extent));
    shapes_.push_back(shape);
    return ir::argument(graph_, dtype::f32, static_cast<int>(shapes_.size()) - 1, dims);
  }
  void output(const ir::value& x) { graph_.outputs.push_back({x.id, -1}); }

  struct times {
    double measured = 0, predicted = 0;
  };

  // Nanoseconds of a call: what the plan for this machine takes, and what it is said to take.
  times run(const planning::machine& m, std::chrono::milliseconds budget) {
    program p(graph_, code_, {.machine = m});
    std::vector<storage> memory;
    const auto filled = [&](std::size_t count) {
      memory.emplace_back(count * sizeof(float));
      float* const to = reinterpret_cast<float*>(memory.back().data());
      std::fill(to, to + count, 0.5f);
      return to;
    };
    std::vector<argument_memory> arguments;
    for (const shape_vector& shape : shapes_) {
      const auto count = static_cast<std::size_t>(element_count(shape));
      arguments.push_back({filled(count), shape, row_major_strides(shape), count * sizeof(float)});
    }
    program::prepared_call call = p.prepare(arguments, {});
    std::vector<output_memory> outputs;
    for (int k = 0; k < static_cast<int>(p.assigned().size()); ++k) {
      const auto count = static_cast<std::size_t>(element_count(call.output_shape(k)));
      outputs.push_back({filled(count), count * sizeof(float)});
    }
    return {shortest_time(budget, [&] { p.run(call, arguments, outputs); }), call.plan().cost};
  }

 private:
  program_code code_;
  ir::graph graph_;
  std::vector<shape_vector> shapes_;
};

class machine_measurement {
 public:
  planning::machine run() {
    const exec::processor processor = exec::this_processor();
    if (processor.level2_bytes != 0) out_.l2_bytes = static_cast<double>(processor.level2_bytes);
    out_.last_level_bytes = std::max(
        out_.l2_bytes, processor.level3_bytes != 0 ? static_cast<double>(processor.level3_bytes)
                                                   : planning::nominal_machine.last_level_bytes);
    {
      const exec::loop_threads alone(1);
      measure_launch();
      measure_operands();
      // Each with what is known of the other: three rounds settle the third digit.
      for (int round = 0; round < 3; ++round) {
        measure_work();
        out_.l2_byte = byte_of(out_.l2_bytes / 6, 1);
      }
      out_.last_level_byte =
          byte_of(std::max(1.5 * out_.l2_bytes, std::min(8e6, out_.last_level_bytes / 8)), 1);
      measure_products();
      measure_jumps();
      measure_rows();
      measure_copied_rows();
      measure_column_batches();
    }
    // Larger than the last level; but 64 MB will do where that is huge.
    out_.dram_byte = byte_of(std::clamp(2 * out_.last_level_bytes, 32e6, 64e6), processor.threads);
    out_.last_level_byte = std::max(out_.last_level_byte, out_.l2_byte);
    out_.dram_byte = std::max(out_.dram_byte, out_.last_level_byte);
    for (const auto& [name, field] : planning::machine_fields) {
      if (field == &planning::machine::l2_bytes || field == &planning::machine::last_level_bytes)
        continue;
      // Beyond that it was no measurement: a debugger, a sanitizer, a machine that stood still.
      const double nominal = planning::nominal_machine.*field;
      out_.*field = std::clamp(out_.*field, nominal / 20, nominal * 20);
    }
    return out_;
  }

 private:
  static constexpr std::chrono::milliseconds brief{15}, longer{40};

  static program_code code() { return code_for<1u << static_cast<unsigned>(dtype::f32)>(); }

  static ir::value sum(const ir::value& a, const ir::value& b) {
    return ir::elementwise(ir::op::add, {a, b});
  }

  static ir::value spread(const ir::value& per_row, const ir::value& x) {
    return ir::broadcast_to(per_row, x.shape());
  }

  // Nests of 16 to 24 elements, one and nine of them.
  void measure_launch() {
    const auto nests = [this](std::int64_t count) {
      timed_graph g(code());
      for (std::int64_t i = 0; i < count; ++i) {
        const ir::value x = g.argument({16 + i});
        g.output(sum(x, x));
      }
      return g.run(out_, brief).measured;
    };
    out_.launch = (nests(9) - nests(1)) / 8;
  }

  // An addition of elements in L1 is mostly operands.
  void measure_operands() {
    const program_code kernels = code();
    alignas(storage_alignment) std::array<float, 1024> a{}, b{}, c{};
    const void* const operands[] = {a.data(), b.data()};
    const ir::map_function add = kernels.kernels.micro_op(ir::op::add, dtype::f32);
    out_.tile_operand = shortest_time(brief, [&] { add(1024, operands, c.data()); }) / 1024 / 4;
  }

  // time = max(memory, work) + min(memory, work) / 5, solved for one of them
  static double without(double time, double other) {
    return time >= 1.2 * other ? time - 0.2 * other : std::max(5 * (time - other), 0.1 * other);
  }

  // exp of elements in L2 is mostly work.
  void measure_work() {
    constexpr std::int64_t count = 1 << 14;
    timed_graph g(code());
    g.output(ir::unary(ir::op::exp, g.argument({count})));
    const double time = (g.run(out_, brief).measured - out_.launch) / count;
    out_.unit_work =
        std::max(without(time, 2 * sizeof(float) * out_.l2_byte) - 2 * out_.tile_operand,
                 out_.tile_operand) /
        static_cast<double>(ir::info(ir::op::exp).cost);
  }

  // Rows of 16 elements: softmax ends each of them twice.
  void measure_rows() {
    constexpr std::int64_t rows = 4096;
    timed_graph g(code());
    const ir::value x = g.argument({rows, 16});
    const ir::value e = ir::unary(ir::op::exp, x - spread(ir::reduce(ir::op::reduce_max, x, 2), x));
    g.output(e / spread(ir::reduce(ir::op::reduce_sum, e, 2), x));
    out_.row = 1e-3;
    const auto found = g.run(out_, brief);
    out_.row = (found.measured - found.predicted) / (2 * rows);
  }

  // Rows of one element, three times each.
  void measure_copied_rows() {
    constexpr std::int64_t rows = 8192;
    timed_graph g(code());
    g.output(
        ir::broadcast_to(g.argument({rows, 1}), ir::symbolic_shape{ir::dim(rows), ir::dim(3)}));
    out_.copied_row = 1e-3;
    const auto found = g.run(out_, brief);
    out_.copied_row = (found.measured - found.predicted) / rows;
  }

  // Sums over the middle of three axes, a batch per element of the first one; of products, which
  // are not in memory.
  void measure_column_batches() {
    constexpr std::int64_t batches = 512;
    timed_graph g(code());
    const ir::value x = g.argument({batches, 8, 64}), y = g.argument({batches, 8, 64});
    g.output(ir::reduce(ir::op::reduce_sum, ir::elementwise(ir::op::mul, {x, y}), 2, false));
    out_.column_batch = 1e-3;
    const auto found = g.run(out_, brief);
    out_.column_batch = (found.measured - found.predicted) / (batches - 1);
  }

  // Nanoseconds per byte of an addition of vectors of so many bytes.
  double byte_of(double bytes, int threads) {
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
    timed_graph g(code());
    const ir::value a = g.argument({count}), b = g.argument({count});
    g.output(sum(a, b));
    const double elements = static_cast<double>(count);
    const double time =
        std::max(0.0, g.run(out_, longer).measured * threads - out_.launch) / elements;
    const double work = planning::micro_work(ir::op::add, dtype::f32, out_);
    return without(time, work) / (3 * sizeof(float));
  }

  // A cube, and a few rows by a large matrix, where packing counts.
  void measure_products() {
    const auto product = [this](std::int64_t m, std::int64_t n, std::int64_t k) {
      timed_graph g(code());
      g.output(ir::matmul(g.argument({m, k}), g.argument({k, n})));
      return g.run(out_, longer).measured;
    };
    // time = 2 m n k * flop + (m k + k n) * packed, the rest of it left out
    constexpr double cube = 384, rows = 72, side = 768;
    const double cube_time = product(384, 384, 384) - out_.launch,
                 flat_time = product(72, 768, 768) - out_.launch;
    const double a = 2 * cube * cube * cube, b = 2 * cube * cube, c = 2 * rows * side * side,
                 d = rows * side + side * side;
    const double determinant = a * d - b * c;
    out_.packed_element = (a * flat_time - c * cube_time) / determinant;
    out_.packed_element = std::clamp(out_.packed_element, out_.tile_operand, 0.5 * flat_time / d);
    out_.flop = (cube_time - b * out_.packed_element) / a;
  }

  // A transposed operand against one that is not; and the same elements, one by one.
  void measure_jumps() {
    constexpr std::int64_t side = 384;
    constexpr auto elements = static_cast<double>(side * side);
    const auto time = [this](bool transposed) {
      timed_graph g(code());
      const ir::value a = g.argument({side, side}), b = g.argument({side, side});
      g.output(sum(transposed ? ir::permute(a, std::array<std::int64_t, 2>{1, 0}) : a, b));
      return g.run(out_, brief).measured;
    };
    out_.transposed_element = (time(true) - time(false)) / elements;
    const std::vector<float> from(static_cast<std::size_t>(side * side));
    std::array<float, static_cast<std::size_t>(side)> to{};
    out_.strided_element =
        shortest_time(brief,
                      [&] {
                        for (std::int64_t column = 0; column < side; ++column)
                          exec::strided_load(side, &from[static_cast<std::size_t>(column)], side,
                                             sizeof(float), to.data());
                      }) /
        elements;
  }

  planning::machine out_;
};

// What the numbers of a file belong to; the first number is that of the format.
inline std::string calibration_owner(const exec::processor& p) {
  return "sinter machine 3, version " + std::to_string(SINTER_VERSION_MAJOR) + "." +
         std::to_string(SINTER_VERSION_MINOR) + "." + std::to_string(SINTER_VERSION_PATCH) + ", " +
         p.to_text();
}

}  // namespace detail

SINTER_INLINE planning::machine measure_machine() { return detail::machine_measurement().run(); }

SINTER_INLINE calibration calibrate(const std::filesystem::path& directory,
                                    planning::machine (*measure)()) {
  calibration out;
  const std::string owner = detail::calibration_owner(exec::this_processor());
  // A name of its own for each, so that programs for several instruction sets do not take turns.
  if (!directory.empty())
    out.file = directory / ("machine-" + std::to_string(hash_string(owner)) + ".txt");
  const std::optional<std::string> text =
      out.file.empty() ? std::nullopt : read_text_file(out.file);
  if (text) {
    if (const auto known = planning::machine_of_text(*text, owner)) {
      out.machine = *known;
      return out;
    }
    out.warning = out.file.string() + " is damaged or of another machine: measured again";
  }
  out.machine = measure();
  out.measured = true;
  if (out.file.empty() ||
      !replace_text_file(out.file, planning::machine_text(out.machine, owner))) {
    out.warning = "the measured machine cannot be kept in " +
                  (out.file.empty() ? "a cache directory: neither XDG_CACHE_HOME nor HOME is set"
                                    : out.file.string());
    out.file.clear();
  }
  return out;
}

SINTER_INLINE planning::machine calibrated_machine() {
  const calibration found = calibrate(cache_directory());
  if (!found.warning.empty()) debug::write("sinter: calibration: " + found.warning + "\n");
  return found.machine;
}

}  // namespace sinter::inline SINTER_ABI
