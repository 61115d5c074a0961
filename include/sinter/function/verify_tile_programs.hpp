// SPDX-License-Identifier: MIT
// The tile programs of an exported plan: sound by themselves, about the buffers of the schedules,
// in their blocks, and with the values of the graph.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <sinter/exec/interpret_lowered.hpp>
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/verify_lowered.hpp>
#include <sinter/function/code.hpp>
#include <sinter/function/plan_file.hpp>
#include <sinter/function/plan_values.hpp>
#include <sinter/function/plan_verification.hpp>
#include <sinter/graph/reference_bytes.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

class tile_program_verifier {
 public:
  tile_program_verifier(const ir::graph& bound, const std::vector<planning::schedule>& schedules,
                        const plan_values& values)
      : bound_(bound), schedules_(schedules), values_(values) {}

  // The number of nests. Throws error.
  std::size_t run(const plan_record& p, const program_code& code,
                  span<const ir::custom_op* const> customs) {
    if (p.tile_programs.empty()) return 0;
    require_sound(p.tile_programs.size() == schedules_.size(),
                  "there are tile programs for each schedule");
    const std::vector<ir::instruction> instructions = with_structures_of_schedules(code);
    std::size_t nests = 0;
    for (std::size_t i = 0; i < schedules_.size(); ++i) {
      plans_.push_back(
          exec::parse_lowered(p.tile_programs[i], {&code.kernels, instructions, customs}));
      require_sound(exec::to_text(plans_.back()) == p.tile_programs[i],
                    "the tile programs are not as they were written");
      exec::verify_lowered(plans_.back());
      check_buffers(plans_.back(), schedules_[i]);
      check_blocks(plans_.back(), schedules_[i]);
      nests += plans_.back().nests.size();
    }
    if (values_.known && arguments_are_contiguous()) compute();
    return nests;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // Regions that only the function's own code has are interpreted: nobody calls their kernel.
  std::vector<ir::instruction> with_structures_of_schedules(const program_code& code) const {
    std::vector<ir::instruction> out = code.instructions;
    for (const planning::schedule& s : schedules_)
      for (ir::instruction each : *s.fused) {
        each.run = [](std::int64_t, const void* const*, void*) {};
        each.run_rows = [](const ir::map_run&, const void* const*, void*) {};
        each.sum =
            each.max = [](const ir::map_run&, const void* const*, void*, const ir::row_results&) {};
        each.column_sum = each.column_max = [](std::int64_t, std::int64_t, ir::column_walk,
                                               const void* const*, void*) {};
        out.push_back(each);
      }
    return out;
  }

  static void check_buffers(const exec::lowered_plan& lowered, const planning::schedule& s) {
    require_sound(lowered.nests.size() == s.plan.nests.size(),
                  "there are tile programs for each nest");
    bool same = lowered.arena_bytes == s.plan.arena_bytes &&
                lowered.buffers.size() == s.plan.buffers.size();
    for (std::size_t i = 0; same && i < lowered.buffers.size(); ++i) {
      const exec::lowered_buffer& b = lowered.buffers[i];
      const planning::buffer& own = s.plan.buffers[i];
      same = b.place == own.place && b.number == own.number && b.type == own.type &&
             b.offset == own.offset && b.bytes == own.bytes &&
             b.shape == planning::evaluate_shape(s.plan.dims, own.shape, s.symbols) &&
             b.strides == s.layouts[i].strides;
    }
    require_sound(same, "tile programs have other buffers than the schedule");
  }

  // ---- blocks

  // Of what threads take, both levels state the size: maps and rows as they are divided by shape,
  // products by the blocks of their kernel.
  static void check_blocks(const exec::lowered_plan& lowered, const planning::schedule& s) {
    for (std::size_t i = 0; i < s.items.size(); ++i) {
      const planning::nest& n = s.plan.nests[i];
      const std::string where = "tile programs of nest " + std::to_string(i) + ": ";
      if (const auto* tiles = std::get_if<exec::lowered_tiles>(&lowered.nests[i]))
        require_sound(n.kind != planning::nest_kind::tile || divides(*tiles, n, s.items[i], s),
                      where + "tasks are of another size");
      if (const auto* products = std::get_if<exec::lowered_products>(&lowered.nests[i]))
        require_sound(products->winograd || divides(*products, s.items[i], s),
                      where + "blocks are of another size");
    }
  }

  // The piece of a range that one task takes, by the loop whose axes are these.
  static bool states(const planning::iteration& it, const planning::loop& l, std::int64_t piece,
                     const planning::schedule& s) {
    std::int64_t size = 1;
    for (int axis : l.axes) size *= s.plan.dims.evaluate(it.axes[at(axis)].extent, s.symbols);
    return l.levels[planning::loop::task].step ==
           std::clamp<std::int64_t>(piece, 1, std::max<std::int64_t>(1, size));
  }

  static bool divides(const exec::lowered_tiles& tiles, const planning::nest& n,
                      const planning::schedule_item& item, const planning::schedule& s) {
    const exec::tile_program& p = tiles.program;
    const planning::tile_division d = exec::division_of(p, n.inner_axes == 0);
    if (tiles.rows_per_task != d.rows || tiles.columns_per_task != d.columns) return false;
    // Rows come first; of one row, and of one element, there is no loop.
    const planning::iteration& it = item.iterations.front();
    const std::vector<planning::loop>& loops = it.loops;
    if (loops.size() == 2)
      return states(it, loops[0], d.rows, s) && states(it, loops[1], d.columns, s);
    return loops.empty() || states(it, loops[0], p.axes.rows > 1 ? d.rows : d.columns, s);
  }

  static bool divides(const exec::lowered_products& products, const planning::schedule_item& item,
                      const planning::schedule& s) {
    if (products.rows > std::max<std::int64_t>(1, products.m)) return false;
    return std::ranges::all_of(item.iterations, [&](const planning::iteration& it) {
      // Batches, if there are any, then rows, depth and columns.
      if (it.work != planning::work_kind::product || it.loops.size() < 3) return true;
      if (at(it.part) >= products.parts.size()) return false;
      const exec::lowered_part& part = products.parts[at(it.part)];
      return part.columns <= std::max<std::int64_t>(1, part.n) &&
             states(it, it.loops[it.loops.size() - 3], products.rows, s) &&
             states(it, it.loops.back(), part.columns, s);
    });
  }

  // ---- values

  // Exported for arguments that lie apart: their memory is not made here.
  bool arguments_are_contiguous() const {
    for (const planning::schedule& s : schedules_)
      for (std::size_t b = 0; b < s.plan.buffers.size(); ++b)
        if (s.plan.buffers[b].place == planning::place::argument &&
            s.layouts[b].strides != row_major_strides(planning::evaluate_shape(
                                        s.plan.dims, s.plan.buffers[b].shape, s.symbols)))
          return false;
    return true;
  }

  void compute() const {
    using memory = std::vector<std::vector<std::byte>>;
    memory arguments, outputs, prepared;
    std::vector<const void*> in;
    std::vector<void*> out;
    std::vector<std::byte*> kept;
    for (const ir::reference_tensor& x : values_.arguments) arguments.push_back(ir::bytes_of(x));
    for (const auto& each : arguments) in.push_back(each.data());
    for (const ir::reference_tensor& x : values_.expected)
      outputs.emplace_back(x.data.size() * size_of(x.type));
    const auto memory_of = [&](std::size_t output) -> std::vector<std::byte>& {
      const int assigned = bound_.outputs[output].assigned_argument;
      return assigned >= 0 ? arguments[at(assigned)] : outputs[output];
    };
    for (std::size_t k = 0; k < outputs.size(); ++k) out.push_back(memory_of(k).data());
    const planning::schedule& first = schedules_.front();
    if (first.once)
      for (const planning::buffer& b : first.plan.buffers)
        if (b.place == planning::place::prepared) {
          if (prepared.size() <= at(b.number)) prepared.resize(at(b.number) + 1);
          prepared[at(b.number)].resize(planning::buffer_bytes(first.plan, b, first.symbols));
        }
    for (auto& each : prepared) kept.push_back(each.data());
    for (const exec::lowered_plan& each : plans_)
      exec::interpret_lowered(
          each, in, &each == &plans_.back() ? span<void* const>(out) : span<void* const>{}, kept);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const ir::reference_tensor& expected = values_.expected[k];
      require_sound(
          agree(ir::tensor_of(expected.type, expected.shape, memory_of(k)), expected),
          "the tile programs give output " + std::to_string(k) + " other values than the graph");
    }
  }

  const ir::graph& bound_;
  const std::vector<planning::schedule>& schedules_;
  const plan_values& values_;
  std::vector<exec::lowered_plan> plans_;  // by schedule
};

}  // namespace sinter::inline SINTER_ABI::detail
