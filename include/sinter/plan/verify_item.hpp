// SPDX-License-Identifier: MIT
// Checks what a schedule decided for one nest: that every iteration covers its space once, that
// threads take what pays for them, that each reduction has a plan and hints are about what the nest
// touches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <sinter/plan/access_index.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/nest_order.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/plan/schedule_names.hpp>
#include <sinter/plan/verify_nest.hpp>
#include <sinter/plan/walk_iteration.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning::detail {

class item_verifier {
 public:
  item_verifier(const schedule& s, std::size_t item) : s_(s), item_(item) {}

  /// For a nest that nest_verifier accepts.
  void check() const {
    check_iterations();
    check_reductions();
    check_hints();
  }

 private:
  const planning::nest& nest() const { return s_.plan.nests[item_]; }
  const schedule_item& item() const { return s_.items[item_]; }
  std::int64_t evaluate(ir::dim d) const { return s_.plan.dims.evaluate(d, s_.symbols); }

  [[noreturn]] void fail(const std::string& field, const std::string& reason) const {
    raise(graph_error("verify_schedule: item " + std::to_string(item_) + ", " + field + ": " +
                      reason));
  }
  void require(bool holds, const std::string& field, const char* reason) const {
    if (!holds) fail(field, reason);
  }

  // ---- iterations

  // What a nest has to be walked as: the work, the part, and the axes that must be covered.
  struct expected {
    work_kind work;
    int part;
    std::vector<ir::dim> axes;
    bool optional = false;
  };

  std::vector<expected> expected_iterations() const {
    const planning::nest& n = nest();
    const auto dims = [](const ir::symbolic_shape& s) {
      return std::vector<ir::dim>(s.begin(), s.end());
    };
    std::vector<expected> out;
    const auto add_product = [&](const planning::nest& p, int part) {
      std::vector<ir::dim> axes = dims(p.space);
      const ir::symbolic_shape& left = p.accesses[0].shape;
      axes.push_back(left[left.size() - (p.transpose_a ? 2 : 1)]);
      if (p.kind == nest_kind::streamed) {
        const ir::symbolic_shape& values = p.accesses[2].shape;
        axes.push_back(values[values.size() - (p.transpose_values ? 2 : 1)]);
      }
      out.push_back({work_kind::product, part, axes});
      if (p.body.size() > 1) out.push_back({work_kind::epilogue, part, dims(p.space)});
    };
    int number = 0;
    switch (n.kind) {
      case nest_kind::tile:
      case nest_kind::column: out.push_back({work_kind::body, 0, dims(n.space)}); break;
      case nest_kind::matmul: add_product(n, 0); break;
      case nest_kind::grouped:
        for (const planning::nest& part : n.parts) add_product(part, number++);
        break;
      case nest_kind::streamed:
        add_product(n, 0);
        for (const auto& operand : n.prologues)
          for (const operand_part& part : operand)
            out.push_back({work_kind::operand, number++, dims(part.space)});
        break;
      case nest_kind::assemble: {
        const ir::symbolic_shape& whole = buffer_of(n.stores[0]).shape;
        std::int64_t covered = 0;
        for (const piece& p : n.pieces) covered += count(p.space);
        if (covered < count(whole)) out.push_back({work_kind::fill, 0, dims(whole)});
        for (const piece& p : n.pieces) out.push_back({work_kind::copy, number++, dims(p.space)});
        break;
      }
      case nest_kind::gather: out.push_back({work_kind::index, 0, dims(n.space)}); break;
      case nest_kind::scatter_add:
        out.push_back({work_kind::index, 0, dims(n.accesses[0].shape)});
        break;
      case nest_kind::scan: out.push_back({work_kind::scan, 0, dims(n.space)}); break;
      case nest_kind::alias:
        out.push_back({work_kind::copy, 0, dims(n.accesses[0].shape), true});
        break;
      case nest_kind::custom: out.push_back({work_kind::custom, 0, dims(n.space)}); break;
      case nest_kind::pack: out.push_back({work_kind::pack, 0, dims(n.space)}); break;
    }
    return out;
  }
  const buffer& buffer_of(const store& s) const {
    return s_.plan.buffers[static_cast<std::size_t>(s.buffer)];
  }
  std::int64_t count(const ir::symbolic_shape& shape) const {
    return element_count(evaluate_shape(s_.plan.dims, shape, s_.symbols));
  }

  void check_iterations() const {
    const std::vector<expected> all = expected_iterations();
    for (const iteration& it : item().iterations) {
      const auto found = std::ranges::find_if(
          all, [&](const expected& e) { return e.work == it.work && e.part == it.part; });
      require(found != all.end(), name_of(it), "the nest has no such work");
      check_axes(it, *found);
      check_loops(it);
      if (it.work == work_kind::custom) check_custom_loops(it);
    }
    for (const expected& e : all) {
      const auto times = std::ranges::count_if(item().iterations, [&](const iteration& it) {
        return e.work == it.work && e.part == it.part;
      });
      if (times == 1 || (times == 0 && e.optional)) continue;
      fail("iteration " + std::string(word_of(e.work)) + " " + std::to_string(e.part),
           times == 0 ? "is missing" : "is there twice");
    }
    check_threads();
  }

  static std::string name_of(const iteration& it) {
    return "iteration " + std::string(word_of(it.work)) + " " + std::to_string(it.part);
  }

  void check_axes(const iteration& it, const expected& e) const {
    require(it.axes.size() == e.axes.size(), name_of(it) + " axes", "another number of axes");
    for (std::size_t i = 0; i < it.axes.size(); ++i) {
      const axis& a = it.axes[i];
      const std::string field = name_of(it) + " axis " + std::to_string(i);
      if (!(a.extent == e.axes[i])) {
        const std::string expected_extent = s_.plan.dims.to_string(e.axes[i]);
        fail(field + " extent",
             s_.plan.dims.to_string(a.extent) + " stated, " + expected_extent + " expected");
      }
      require(a.role == role_of(it, i), field + " role", "the nest gives it another one");
      for (std::size_t other = 0; other < i; ++other)
        require(it.axes[other].name != a.name, field + " name", "another axis has it");
    }
  }

  axis_role role_of(const iteration& it, std::size_t number) const {
    const planning::nest& n = nest();
    const planning::nest& part =
        n.kind == nest_kind::grouped ? n.parts[static_cast<std::size_t>(it.part)] : n;
    const std::size_t rank = part.space.size();
    switch (it.work) {
      case work_kind::body:
      case work_kind::epilogue: {
        const bool reduces = std::ranges::any_of(
            part.body, [](const step& s) { return s.kind == step_kind::reduce; });
        return (reduces || n.kind == nest_kind::column) && is_reduced_axis(part, number) &&
                       (it.work == work_kind::body || part.inner_axes > 0)
                   ? axis_role::reduction
                   : axis_role::parallel;
      }
      case work_kind::product:
        if (number == rank) return axis_role::reduction;
        return n.kind == nest_kind::streamed && number + 1 == rank ? axis_role::streamed
                                                                   : axis_role::parallel;
      case work_kind::index: {
        const auto first = static_cast<std::size_t>(n.axis);
        return n.kind == nest_kind::scatter_add && number >= first &&
                       number < first + n.accesses[1].shape.size()
                   ? axis_role::reduction
                   : axis_role::parallel;
      }
      case work_kind::scan:
        return number == static_cast<std::size_t>(n.axis) ? axis_role::streamed
                                                          : axis_role::parallel;
      case work_kind::custom:
        return number < custom_leading_axes(n) ? axis_role::parallel : axis_role::whole;
      case work_kind::operand:
      case work_kind::copy:
      case work_kind::fill:
      case work_kind::pack: break;
    }
    return axis_role::parallel;
  }

  shape_vector extents_of(const iteration& it) const {
    shape_vector out;
    for (const axis& a : it.axes) out.push_back(evaluate(a.extent));
    return out;
  }

  // Every axis in one loop, and pieces that fit into one another: then tasks, tiles and units cover
  // the range of each loop once, and all loops together every index.
  void check_loops(const iteration& it) const {
    std::vector<int> taken(it.axes.size(), 0);
    const shape_vector extents = extents_of(it);
    int vectors = 0;
    for (std::size_t i = 0; i < it.loops.size(); ++i) {
      const loop& l = it.loops[i];
      const std::string field = name_of(it) + " loop " + std::to_string(i);
      require(!l.axes.empty() || it.work == work_kind::custom, field + " axes",
              "there are none to walk");
      bool parallel = true;
      for (int a : l.axes) {
        require(a >= 0 && static_cast<std::size_t>(a) < it.axes.size(), field + " axes",
                "there is no such axis");
        require(++taken[static_cast<std::size_t>(a)] == 1, field + " axes",
                "an axis is mapped twice");
        parallel = parallel && it.axes[static_cast<std::size_t>(a)].role == axis_role::parallel;
      }
      const bool mixed = !parallel && std::ranges::any_of(l.axes, [&](int a) {
        return it.axes[static_cast<std::size_t>(a)].role == axis_role::parallel;
      });
      require(!mixed, field + " axes", "parallel and reduced axes are walked as one");
      std::int64_t piece = std::max<std::int64_t>(1, loop_size(l, extents));
      for (std::size_t k = 0; k < l.levels.size(); ++k) {
        const loop_level& level = l.levels[k];
        const std::string where = field + " level " + std::to_string(k);
        require(level.step >= 1, where + " step", "is not positive: nothing is covered");
        require(level.step <= piece, where + " step", "is larger than what it cuts");
        piece = level.step;
        const bool fits = level.to == mapped_to::serial ||
                          (level.to == mapped_to::threads && k == loop::task) ||
                          (level.to == mapped_to::lanes && k == loop::unit);
        require(fits, where + " mapping", "tasks go to threads, units to lanes");
      }
      const loop_level& unit = l.levels[loop::unit];
      require((unit.to == mapped_to::lanes) == (unit.step > 1),
              field + " level " + std::to_string(loop::unit) + " mapping",
              "a unit of several elements is lanes, of one it is not");
      require(unit.step <= 64, field + " level 2 step", "no register is so wide");
      vectors += unit.to == mapped_to::lanes ? 1 : 0;
      if (l.levels[loop::task].to == mapped_to::threads && !parallel)
        require(has_partials(it), field + " level 0 mapping",
                "threads share a reduction without partials");
    }
    require(vectors <= 1, name_of(it) + " loops", "lanes are mapped twice");
    for (std::size_t a = 0; a < taken.size(); ++a)
      require(taken[a] == 1, name_of(it) + " axis " + std::to_string(a), "is in no loop");
    check_order(it);
  }

  // Outer to inner as the nest is walked: in its own order, but for the depth of a product, which
  // is outside of its columns, and for maps and copies, which are walked as their operands lie
  // best.
  void check_order(const iteration& it) const {
    const planning::nest& n = nest();
    if (it.work == work_kind::copy || it.work == work_kind::custom) return;
    if (it.work == work_kind::body && n.kind == nest_kind::tile && n.inner_axes == 0) return;
    std::vector<int> walked, order(it.axes.size());
    for (const loop& l : it.loops) walked.insert(walked.end(), l.axes.begin(), l.axes.end());
    std::iota(order.begin(), order.end(), 0);
    if (it.work == work_kind::body && !n.axis_order.empty())
      order.assign(n.axis_order.begin(), n.axis_order.end());
    if (it.work == work_kind::product && n.kind != nest_kind::streamed)
      std::iter_swap(order.end() - 1, order.end() - 2);
    require(walked == order, name_of(it) + " loops",
            "come in another order than the nest is walked");
  }

  // Rows and what is whole in them, as the arrays have them; a kernel gets all rows of a task.
  void check_custom_loops(const iteration& it) const {
    const std::size_t leading = custom_leading_axes(nest());
    std::vector<int> rows, core;
    for (std::size_t i = 0; i < it.axes.size(); ++i)
      (i < leading ? rows : core).push_back(static_cast<int>(i));
    require(it.loops.size() == 2 && it.loops[0].axes == rows && it.loops[1].axes == core,
            name_of(it) + " loops", "one over the rows and one over the rest of the axes expected");
    const shape_vector extents = extents_of(it);
    std::int64_t widest = loop_size(it.loops[1], extents);
    for (const access& a : nest().accesses) {
      std::int64_t own = 1;
      for (std::size_t axis = leading; axis < a.shape.size(); ++axis)
        own *= evaluate(a.shape[axis]);
      widest = std::max(widest, own);
    }
    const std::int64_t pieces[] = {custom_rows(widest), loop_size(it.loops[1], extents)};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t step = std::clamp<std::int64_t>(
          pieces[i], 1, std::max<std::int64_t>(1, loop_size(it.loops[i], extents)));
      const loop& l = it.loops[i];
      const std::string field = name_of(it) + " loop " + std::to_string(i) + " level ";
      require(l.levels[loop::task].step == step, field + "0 step", "tasks have other rows");
      require(l.levels[loop::tile].step == step, field + "1 step", "a kernel gets all of a task");
      require(l.levels[loop::unit].step == 1, field + "2 step", "who knows of a kernel's lanes");
    }
  }

  bool has_partials(const iteration& it) const {
    for (const reduction_plan& r : item().reductions)
      if (r.partials > 1 && r.iteration >= 0 &&
          static_cast<std::size_t>(r.iteration) < item().iterations.size() &&
          &item().iterations[static_cast<std::size_t>(r.iteration)] == &it)
        return true;
    return false;
  }

  std::int64_t tasks_of(const loop& l, const shape_vector& extents) const {
    return pieces_of(loop_size(l, extents), l.levels[loop::task].step);
  }

  // Work goes to threads where it is long enough; that of an assemble nest piece by piece, and so
  // that of long rows which are walked several times.
  void check_threads() const {
    const planning::nest& n = nest();
    const double nanoseconds =
        n.kind == nest_kind::assemble ? nanoseconds_of_piece(n) : n.predicted_nanoseconds;
    std::int64_t products = 0;
    for (const iteration& it : item().iterations)
      if (it.work == work_kind::product) products += all_tasks(it);
    for (const iteration& it : item().iterations) {
      const bool of_product = it.work == work_kind::product || it.work == work_kind::epilogue;
      const bool alone = it.work == work_kind::operand || it.work == work_kind::pack;
      const bool threaded =
          !alone && goes_to_threads(of_product ? products : all_tasks(it), nanoseconds);
      const shape_vector extents = extents_of(it);
      for (std::size_t i = 0; i < it.loops.size(); ++i) {
        const loop& l = it.loops[i];
        const bool states = l.levels[loop::task].to == mapped_to::threads;
        require(states == (threaded && tasks_of(l, extents) > 1),
                name_of(it) + " loop " + std::to_string(i) + " level 0 mapping",
                states ? "threads take tasks that do not pay for them"
                       : "threads would take these tasks");
      }
    }
  }
  std::int64_t all_tasks(const iteration& it) const {
    std::int64_t out = 1;
    const shape_vector extents = extents_of(it);
    for (const loop& l : it.loops) out *= tasks_of(l, extents);
    return out;
  }

  // ---- reductions and hints

  void check_reductions() const {
    std::vector<std::vector<int>> planned(item().iterations.size());
    for (std::size_t i = 0; i < item().reductions.size(); ++i) {
      const reduction_plan& r = item().reductions[i];
      const std::string field = "reduction " + std::to_string(i);
      require(r.iteration >= 0 && static_cast<std::size_t>(r.iteration) < planned.size(),
              field + " iteration", "there is none");
      const iteration& it = item().iterations[static_cast<std::size_t>(r.iteration)];
      if (i > 0) {
        const reduction_plan& before = item().reductions[i - 1];
        require(std::pair(before.iteration, before.step) <= std::pair(r.iteration, r.step), field,
                "reductions come in the order of their steps");
      }
      auto& own = planned[static_cast<std::size_t>(r.iteration)];
      require(std::ranges::find(own, r.step) == own.end(), field + " step", "is planned twice");
      own.push_back(r.step);
      require(r.monoid == monoid_of(it, r.step, field), field + " monoid",
              "the nest has another one");
      require(r.block >= 1, field + " block", "is not positive");
      const bool of_kernel = it.work == work_kind::product;
      require(of_kernel ? r.accumulators == 0 : r.accumulators >= 1 && r.accumulators <= r.block,
              field + " accumulators", "a block does not have so many");
      require(r.order == combination::in_order || (!of_kernel && r.accumulators > 1),
              field + " order", "one accumulator takes its elements in order");
      if (const std::int64_t computed = partials_of(it, r.step); r.partials != computed)
        fail(field + " partials",
             std::to_string(r.partials) + " stated, " + std::to_string(computed) + " computed");
    }
    for (std::size_t i = 0; i < planned.size(); ++i) check_planned(i, planned[i]);
  }

  const std::vector<step>& body_of(const iteration& it) const {
    return nest().kind == nest_kind::grouped ? nest().parts[static_cast<std::size_t>(it.part)].body
                                             : nest().body;
  }
  bool has_body(const iteration& it) const {
    return it.work == work_kind::body || it.work == work_kind::epilogue;
  }

  ir::op monoid_of(const iteration& it, int step, const std::string& field) const {
    if (it.work == work_kind::product && step < 0)
      return nest().kind == nest_kind::streamed ? ir::op::softmax : ir::op::reduce_sum;
    if (it.work == work_kind::index && step < 0 && nest().kind == nest_kind::scatter_add)
      return ir::op::reduce_sum;
    const std::vector<planning::step>& body = body_of(it);
    require(has_body(it) && step >= 0 && static_cast<std::size_t>(step) < body.size() &&
                (body[static_cast<std::size_t>(step)].kind == step_kind::reduce || is_summed(step)),
            field + " step", "is no reduction");
    if (is_summed(step)) return ir::op::reduce_sum;
    return body[static_cast<std::size_t>(step)].code;
  }

  // Is what the rows of this step sum up to stored?
  bool is_summed(int step) const {
    return std::ranges::any_of(nest().stores,
                               [&](const store& s) { return s.summed && s.step == step; });
  }

  // Parts of a reduced range that tasks take; sums of rows go over the other axes.
  std::int64_t partials_of(const iteration& it, int step) const {
    const shape_vector extents = extents_of(it);
    std::int64_t out = 1;
    if (it.work != work_kind::body) return out;
    for (const loop& l : it.loops)
      for (int a : l.axes)
        if (is_summed(step) ? !is_reduced_axis(nest(), static_cast<std::size_t>(a))
                            : it.axes[static_cast<std::size_t>(a)].role == axis_role::reduction)
          out = std::max<std::int64_t>(1, tasks_of(l, extents));
    return out;
  }

  void check_planned(std::size_t number, const std::vector<int>& planned) const {
    const iteration& it = item().iterations[number];
    std::vector<int> needed;
    if (it.work == work_kind::product ||
        (it.work == work_kind::index && nest().kind == nest_kind::scatter_add))
      needed.push_back(-1);
    if (has_body(it))
      for (std::size_t i = 0; i < body_of(it).size(); ++i)
        if (body_of(it)[i].kind == step_kind::reduce || is_summed(static_cast<int>(i)))
          needed.push_back(static_cast<int>(i));
    for (int step : needed)
      if (std::ranges::find(planned, step) == planned.end())
        fail("reductions", step < 0 ? "the sum of " + name_of(it) + " has no plan"
                                    : "%" + std::to_string(step) + " has no plan");
  }

  // Operands of products that are gathered, and their tables.
  void check_gathered() const {
    std::vector<int> gathered, stated;
    const auto add = [&](const planning::nest& product, std::size_t operand) {
      if (is_gathered(product, operand)) gathered.push_back(product.accesses[operand].buffer);
    };
    add(nest().parts.empty() ? nest() : nest().parts.front(), 0);
    for (const planning::nest& part : nest().parts) add(part, 1);
    if (nest().parts.empty()) add(nest(), 1);
    for (const hint& h : item().hints)
      if (h.kind == hint_kind::gather) stated.push_back(h.buffer);
    require(gathered == stated, "hints", "tables are for the operands that are gathered");
  }

  void check_hints() const {
    check_gathered();
    for (std::size_t i = 0; i < item().hints.size(); ++i) {
      const hint& h = item().hints[i];
      const std::string field = "hint " + std::to_string(i);
      bool touched = reads(nest(), h.buffer);
      for (const store& s : nest().stores) touched = touched || s.buffer == h.buffer;
      require(touched || is_forwarded(h.buffer), field + " buffer", "the nest does not touch it");
      const bool of_product = std::ranges::any_of(
          item().iterations, [](const iteration& it) { return it.work == work_kind::product; });
      if (nest().kind == nest_kind::custom) {
        require(h.kind == hint_kind::copy, field + " kind", "kernels read memory or a copy of it");
        require(is_copied(h), field + " bytes", "no operand takes so many");
        continue;
      }
      require((h.kind == hint_kind::prefetch) != of_product, field + " kind",
              "maps and rows are prefetched, products packed");
      require(h.bytes > 0, field + " bytes", "is not positive");
      if (h.kind == hint_kind::prefetch)
        require(is_tile(h), field + " bytes", "no tile of the buffer has so many");
    }
  }
  bool is_copied(const hint& h) const {
    return std::ranges::any_of(nest().accesses, [&](const access& a) {
      std::int64_t bytes = static_cast<std::int64_t>(
          size_of(s_.plan.buffers[static_cast<std::size_t>(a.buffer)].type));
      for (ir::dim d : a.shape) bytes *= evaluate(d);
      constexpr auto line = static_cast<std::int64_t>(arena_alignment);
      return a.buffer == h.buffer && bytes > 0 && whole_units(bytes, line) == h.bytes;
    });
  }
  // The memory of an argument under an alias of it.
  bool is_forwarded(int buffer) const {
    return buffer >= 0 && static_cast<std::size_t>(buffer) < s_.plan.buffers.size() &&
           std::ranges::any_of(s_.plan.nests, [&](const planning::nest& n) {
             return n.kind == nest_kind::alias && reads(n, buffer);
           });
  }
  bool is_tile(const hint& h) const {
    const auto size = static_cast<std::int64_t>(
        size_of(s_.plan.buffers[static_cast<std::size_t>(h.buffer)].type));
    return std::ranges::any_of(item().iterations, [&](const iteration& it) {
      std::int64_t elements = 1;
      for (const loop& l : it.loops) elements *= l.levels[loop::tile].step;
      return elements * size == h.bytes;
    });
  }

  const schedule& s_;
  std::size_t item_;
};

}  // namespace sinter::inline SINTER_ABI::planning::detail
