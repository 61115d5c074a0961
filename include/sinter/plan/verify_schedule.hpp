// SPDX-License-Identifier: MIT
// Checks a schedule: that every iteration covers its space once, reductions have plans, memory is
// large enough, aligned and alive, items wait for all that they must, and every number is what the
// nests give. verify_nest.hpp checks the nests inside.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <sinter/plan/allocation.hpp>
#include <sinter/plan/dependencies.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/schedule_names.hpp>
#include <sinter/plan/verify_nest.hpp>
#include <sinter/plan/walk_iteration.hpp>
#include <sinter/plan/work.hpp>
#include <sinter/support/error.hpp>

namespace sinter::planning {

namespace detail {

class schedule_verifier {
 public:
  explicit schedule_verifier(const schedule& s) : s_(s) {}

  void run() {
    check_sizes();
    for (std::size_t b = 0; b < s_.plan.buffers.size(); ++b) check_buffer(b);
    check_assigned();
    for (item_ = 0; item_ < s_.items.size(); ++item_) {
      nest_verifier(s_.plan, s_.symbols, item_).check(nest());
      check_iterations();
      check_reductions();
      check_hints();
    }
    check_order();
    for (item_ = 0; item_ < s_.items.size(); ++item_) check_work();
    check_memory();
  }

 private:
  const planning::nest& nest() const { return s_.plan.nests[item_]; }
  const schedule_item& item() const { return s_.items[item_]; }
  std::int64_t evaluate(ir::dim d) const { return s_.plan.dims.evaluate(d, s_.symbols); }

  [[noreturn]] static void fail(const std::string& where, const std::string& field,
                                const std::string& reason) {
    throw graph_error("verify_schedule: " + where + ", " + field + ": " + reason);
  }
  [[noreturn]] void fail(const std::string& field, const std::string& reason) const {
    fail("item " + std::to_string(item_), field, reason);
  }
  void require(bool holds, const std::string& field, const char* reason) const {
    if (!holds) fail(field, reason);
  }
  template <class Number>
  void expect(const std::string& where, const std::string& field, Number stated,
              Number computed) const {
    if (!(stated == computed))
      fail(where, field,
           std::to_string(stated) + " stated, " + std::to_string(computed) + " computed");
  }
  template <class Number>
  void expect(const std::string& field, Number stated, Number computed) const {
    expect("item " + std::to_string(item_), field, stated, computed);
  }

  void check_sizes() const {
    if (s_.items.size() != s_.plan.nests.size()) fail("schedule", "items", "one per nest expected");
    if (s_.layouts.size() != s_.plan.buffers.size())
      fail("schedule", "layouts", "one per buffer expected");
    std::size_t symbols = 0;
    for (std::size_t i = 0; i < s_.plan.dims.size(); ++i)
      if (const ir::dim d = ir::dim::expression(i); s_.plan.dims.kind(d) == ir::dim_kind::symbol)
        symbols = std::max(symbols, static_cast<std::size_t>(s_.plan.dims.operands(d)[0]) + 1);
    if (s_.symbols.size() < symbols) fail("schedule", "symbols", "a symbol has no extent");
    for (std::size_t i = 0; i < s_.symbols.size(); ++i)
      if (s_.symbols[i] < 0 ||
          !s_.plan.dims.symbol_range(static_cast<std::int64_t>(i)).holds(s_.symbols[i]))
        fail("schedule", "symbols", "an extent is not in the range of its symbol");
  }

  // ---- buffers

  void check_buffer(std::size_t i) const {
    const buffer& b = s_.plan.buffers[i];
    const layout& l = s_.layouts[i];
    const std::string where = "buffer " + std::to_string(i);
    const shape_vector shape = evaluate_shape(s_.plan.dims, b.shape, s_.symbols);
    if (b.number < 0) fail(where, "number", "is negative");
    if (l.strides.size() != shape.size()) fail(where, "strides", "one per axis expected");
    if (b.place != place::argument && l.strides != row_major_strides(shape))
      fail(where, "strides", "row-major ones expected");
    std::int64_t reach = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      reach = ir::detail::saturating_add(
          reach, ir::detail::saturating_mul(shape[axis], std::abs(l.strides[axis])));
    if (reach > (std::int64_t{1} << 48)) fail(where, "strides", "reach too far");
    const bool own = b.place == place::arena || b.place == place::prepared;
    expect<std::int64_t>(where, "alignment", l.alignment,
                         own ? static_cast<std::int64_t>(arena_alignment)
                             : static_cast<std::int64_t>(size_of(b.type)));
    if (l.contiguous != contiguous_axes(shape, l.strides))
      fail(where, "contiguous", "other axes lie in row-major order");
    const auto power = [](std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; };
    if (!power(l.vector_width) || l.vector_width * static_cast<std::int64_t>(size_of(b.type)) > 256)
      fail(where, "vectors", "no register holds " + std::to_string(l.vector_width) + " elements");
    if (l.contiguous.empty() && l.vector_width != 1)
      fail(where, "vectors", "elements that lie apart are taken one by one");
    for (std::size_t other = 0; other < i; ++other)
      if (s_.plan.buffers[other].type == b.type && !l.contiguous.empty() &&
          !s_.layouts[other].contiguous.empty() && s_.layouts[other].vector_width != l.vector_width)
        fail(where, "vectors", "buffers of one dtype have registers of one size");
    if (b.place != place::arena) return;
    if (b.offset % arena_alignment != 0) fail(where, "offset", "is not aligned");
    const std::size_t needed = buffer_bytes(s_.plan, b, s_.symbols);
    if (b.bytes < needed)
      fail(where, "bytes", std::to_string(b.bytes) + " do not hold " + std::to_string(needed));
    if (b.offset > s_.plan.arena_bytes || b.bytes > s_.plan.arena_bytes - b.offset)
      fail(where, "offset", "leaves the arena");
  }

  void check_assigned() const {
    for (std::size_t k = 0; k < s_.assigned.size(); ++k)
      for (std::size_t other = 0; other < k; ++other)
        if (s_.assigned[k] >= 0 && s_.assigned[k] == s_.assigned[other])
          fail("output " + std::to_string(k), "argument", "two outputs are assigned to it");
    bool keeps = false;
    for (const planning::nest& n : s_.plan.nests)
      for (const store& s : n.stores)
        if (s.buffer >= 0 && static_cast<std::size_t>(s.buffer) < s_.plan.buffers.size()) {
          const buffer& b = s_.plan.buffers[static_cast<std::size_t>(s.buffer)];
          keeps = keeps || b.place == place::prepared;
          if (b.place == place::output && static_cast<std::size_t>(b.number) >= s_.assigned.size())
            fail("buffer " + std::to_string(s.buffer), "number", "there is no such output");
        }
    if (keeps != s_.once) fail("schedule", "once", "is stated wrongly");
    for (std::size_t k = 0; k < s_.assigned.size(); ++k)
      for (const buffer& b : s_.plan.buffers)
        for (const buffer& a : s_.plan.buffers)
          if (b.place == place::output && static_cast<std::size_t>(b.number) == k &&
              a.place == place::argument && a.number == s_.assigned[k] &&
              (a.type != b.type ||
               buffer_bytes(s_.plan, a, s_.symbols) != buffer_bytes(s_.plan, b, s_.symbols)))
            fail("output " + std::to_string(k), "argument", "has another type or size");
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
        for (const piece& p : n.pieces) covered += count(p.source.shape);
        if (covered < count(whole)) out.push_back({work_kind::fill, 0, dims(whole)});
        for (const piece& p : n.pieces)
          out.push_back({work_kind::copy, number++, dims(p.source.shape)});
        break;
      }
      case nest_kind::gather: out.push_back({work_kind::index, 0, dims(n.space)}); break;
      case nest_kind::scatter_add:
        out.push_back({work_kind::index, 0, dims(n.accesses[0].shape)});
        break;
      case nest_kind::alias:
        out.push_back({work_kind::copy, 0, dims(n.accesses[0].shape), true});
        break;
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

  // Work goes to threads where it is long enough; that of an assemble nest in equal shares, and so
  // that of long rows which are walked several times.
  void check_threads() const {
    const planning::nest& n = nest();
    double nanoseconds = n.predicted_nanoseconds;
    if (n.kind == nest_kind::assemble) nanoseconds /= static_cast<double>(n.pieces.size() + 1);
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
      expect(field + " partials", r.partials, partials_of(it));
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
                body[static_cast<std::size_t>(step)].kind == step_kind::reduce,
            field + " step", "is no reduction");
    return body[static_cast<std::size_t>(step)].code;
  }

  // Parts of a reduced range that tasks take.
  std::int64_t partials_of(const iteration& it) const {
    const shape_vector extents = extents_of(it);
    std::int64_t out = 1;
    if (it.work != work_kind::body) return out;
    for (const loop& l : it.loops)
      for (int a : l.axes)
        if (it.axes[static_cast<std::size_t>(a)].role == axis_role::reduction)
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
        if (body_of(it)[i].kind == step_kind::reduce) needed.push_back(static_cast<int>(i));
    for (int step : needed)
      if (std::ranges::find(planned, step) == planned.end())
        fail("reductions", step < 0 ? "the sum of " + name_of(it) + " has no plan"
                                    : "%" + std::to_string(step) + " has no plan");
  }

  void check_hints() const {
    for (std::size_t i = 0; i < item().hints.size(); ++i) {
      const hint& h = item().hints[i];
      const std::string field = "hint " + std::to_string(i);
      bool touched = reads(nest(), h.buffer);
      for (const store& s : nest().stores) touched = touched || s.buffer == h.buffer;
      require(touched || is_forwarded(h.buffer), field + " buffer", "the nest does not touch it");
      const bool of_product = std::ranges::any_of(
          item().iterations, [](const iteration& it) { return it.work == work_kind::product; });
      require((h.kind == hint_kind::prefetch) != of_product, field + " kind",
              "maps and rows are prefetched, products packed");
      require(h.bytes > 0, field + " bytes", "is not positive");
      if (h.kind == hint_kind::prefetch)
        require(is_tile(h), field + " bytes", "no tile of the buffer has so many");
    }
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

  // ---- order, work, memory

  void check_order() {
    const conflict_finder conflicts(s_.plan, s_.assigned);
    waiting_set waiting;
    std::vector<std::vector<dependency>> all;
    for (item_ = 0; item_ < s_.items.size(); ++item_) {
      waiting.add_item();
      const auto number = static_cast<int>(item_);
      for (std::size_t i = 0; i < item().depends_on.size(); ++i) {
        const dependency& d = item().depends_on[i];
        const std::string field = "dependency " + std::to_string(i);
        require(d.item >= 0 && d.item < number, field + " item",
                "waits for itself or for a later item");
        require(d.buffer >= 0 && static_cast<std::size_t>(d.buffer) < s_.plan.buffers.size(),
                field + " buffer", "there is none");
        require(d.kind == dependency_kind::data ? conflicts.is_data(d, number)
                                                : conflicts.is_order(d, number),
                field, "there is nothing to wait for");
        waiting.add(d.item);
      }
      for (const dependency& d : conflicts.of(number)) {
        const auto stated = std::ranges::find(item().depends_on, d);
        if (d.kind == dependency_kind::data ? stated == item().depends_on.end()
                                            : !waiting.has(d.item))
          fail("dependencies", "does not wait for item " + std::to_string(d.item) +
                                   ", because of buffer " + std::to_string(d.buffer));
      }
      check_overwritten(number);
      all.push_back(item().depends_on);
    }
    const critical_path path = find_critical_path(s_.plan, all);
    expect("critical path", "nanoseconds", s_.critical.nanoseconds, path.nanoseconds);
    if (s_.critical.items != path.items) fail("critical path", "items", "another chain is longer");
  }

  // Old values of an assigned argument are read before it is overwritten.
  void check_overwritten(int number) const {
    for_each_read(nest(), [&](int b) {
      const buffer& read = s_.plan.buffers[static_cast<std::size_t>(b)];
      if (read.place != place::argument) return;
      for (int i = 0; i < number; ++i)
        for (const store& s : s_.plan.nests[static_cast<std::size_t>(i)].stores) {
          const buffer& written = buffer_of(s);
          if (written.place == place::output &&
              s_.assigned[static_cast<std::size_t>(written.number)] == read.number)
            fail("order", "reads argument " + std::to_string(read.number) + ", which item " +
                              std::to_string(i) + " has overwritten");
        }
    });
  }

  void check_work() const {
    const bool forwarded = nest().kind == nest_kind::alias && item().iterations.empty();
    const work w = work_counter(s_.plan, s_.symbols).of(nest(), forwarded);
    expect("flops", item().flops, w.flops);
    expect("bytes read", item().bytes_read, w.bytes_read);
    expect("bytes written", item().bytes_written, w.bytes_written);
    require(std::isfinite(nest().predicted_nanoseconds) && nest().predicted_nanoseconds >= 0,
            "nanoseconds", "is no time");
  }

  void check_memory() const {
    const std::vector<allocation> computed = find_allocations(s_.plan);
    for (const allocation& a : computed) {
      const auto stated = std::ranges::find(s_.allocations, a.buffer, &allocation::buffer);
      const std::string where = "buffer " + std::to_string(a.buffer);
      if (stated == s_.allocations.end()) fail(where, "lifetime", "is missing");
      expect(where, "first item", stated->first, a.first);
      expect(where, "last item", stated->last, a.last);
      expect(where, "group", stated->group, a.group);
    }
    if (s_.allocations.size() != computed.size())
      fail("schedule", "allocations", "of a buffer that no item touches");
    for (const allocation& a : computed)
      for (const allocation& b : computed) {
        const buffer &x = s_.plan.buffers[static_cast<std::size_t>(a.buffer)],
                     &y = s_.plan.buffers[static_cast<std::size_t>(b.buffer)];
        const bool meet = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
        const std::string where = "buffer " + std::to_string(a.buffer);
        if (x.bytes == 0 || y.bytes == 0) continue;
        if (a.group != b.group && meet && a.first <= b.last && b.first <= a.last)
          fail(where, "offset",
               "overlaps buffer " + std::to_string(b.buffer) + ", which is alive as well");
        if (a.group == b.group && x.offset != y.offset)
          fail(where, "offset", "is not that of its group");
      }
    verify_memory(s_.plan);
    const memory_use use = find_memory_use(s_.plan, computed);
    expect("arena", "bytes", s_.plan.arena_bytes, use.peak);
    expect("arena", "lower bound", s_.plan.lower_bound_bytes, use.lower_bound);
  }

  const schedule& s_;
  std::size_t item_ = 0;
};

}  // namespace detail

/// Throws graph_error, or shape_error for a negative extent, unless the schedule is sound; the
/// message names the item or buffer, and the field. Accepts what function/make_schedule.hpp makes.
inline void verify_schedule(const schedule& s) { detail::schedule_verifier(s).run(); }

}  // namespace sinter::planning
