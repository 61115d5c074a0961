// SPDX-License-Identifier: MIT
// Runs a schedule, item by item, on reference tensors: the oracle of the scheduled level. Plain
// loops in the order that the schedule gives, over buffers where it has placed them; nothing here
// is shared with the executor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sinter/plan/interpret_body.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/plan/schedule_memory.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning {

namespace detail {

class schedule_interpreter {
 public:
  schedule_interpreter(const schedule& s, schedule_memory& memory)
      : s_(s), memory_(memory), bodies_(s, memory) {}

  void run_item(std::size_t number) {
    item_ = &s_.items[number];
    const nest& n = s_.plan.nests[number];
    switch (n.kind) {
      case nest_kind::tile:
      case nest_kind::column: return run_body(n);
      case nest_kind::matmul: return run_product(n, 0);
      case nest_kind::grouped:
        for (std::size_t i = 0; i < n.parts.size(); ++i)
          run_product(n.parts[i], static_cast<int>(i));
        return;
      case nest_kind::streamed: return run_streamed(n);
      case nest_kind::assemble: return run_assemble(n);
      case nest_kind::gather: return run_gather(n);
      case nest_kind::scatter_add: return run_scatter_add(n);
      case nest_kind::scan: return run_scan(n);
      case nest_kind::alias: return run_alias(n);
      case nest_kind::custom: return run_custom(n);
      case nest_kind::pack: return run_pack(n);
    }
  }

 private:
  shape_vector evaluate(const ir::symbolic_shape& shape) const {
    return evaluate_shape(s_.plan.dims, shape, s_.symbols);
  }
  std::int64_t evaluate(ir::dim d) const { return s_.plan.dims.evaluate(d, s_.symbols); }

  const iteration* find(work_kind work, int part) const {
    for (const iteration& each : item_->iterations)
      if (each.work == work && each.part == part) return &each;
    return nullptr;
  }
  const iteration& require(work_kind work, int part) const {
    const iteration* const found = find(work, part);
    if (found == nullptr) raise(graph_error("interpret_schedule: an item lacks an iteration"));
    return *found;
  }
  std::vector<reduction_plan> reductions_of(const iteration* walk) const {
    std::vector<reduction_plan> out;
    for (const reduction_plan& r : item_->reductions)
      if (walk != nullptr && &item_->iterations[static_cast<std::size_t>(r.iteration)] == walk)
        out.push_back(r);
    return out;
  }
  shape_vector extents_of(const iteration& walk) const {
    shape_vector out;
    for (const axis& a : walk.axes) out.push_back(evaluate(a.extent));
    return out;
  }
  template <class Visit>
  void walk_all(const iteration& walk, const Visit& visit) const {
    const shape_vector extents = extents_of(walk);
    shape_vector index = shape_vector::filled(extents.size(), 0);
    walk_loops(std::span(walk.loops), extents, index, visit);
  }

  void run_body(const nest& n) {
    const iteration& walk = require(work_kind::body, 0);
    const shape_vector space = evaluate(n.space);
    const std::vector<bool> reduced = reduced_axes(n);
    const auto values = bodies_.run(n, n.body, space, reduced, &walk, reductions_of(&walk),
                                    [](const step&) -> step_value { return {}; });
    bodies_.store(n, values, space, reduced, &walk, reductions_of(&walk), memory_);
  }

  // ---- products

  // Element (row, column) of a matrix per batch; `batch` may have more axes behind.
  class matrix {
   public:
    matrix(const schedule& s, const schedule_memory& memory, const access& a, bool transposed)
        : memory_(memory),
          buffer_(a.buffer),
          find_(s.plan, a, s.symbols),
          transposed_(transposed) {}
    std::int64_t rows() const { return extent(transposed_ ? 1 : 2); }
    std::int64_t columns() const { return extent(transposed_ ? 2 : 1); }
    double operator()(const shape_vector& batch, std::int64_t row, std::int64_t column) const {
      shape_vector index = find_.seen();
      const std::size_t rank = index.size();
      for (std::size_t axis = 0; axis + 2 < rank; ++axis)
        index[axis] = index[axis] == 1 ? 0 : batch[axis];
      index[rank - 2] = transposed_ ? column : row;
      index[rank - 1] = transposed_ ? row : column;
      return values_ != nullptr ? (*values_)(index) : memory_.read(buffer_, find_(index));
    }
    // Elements that were computed on the way, seen as the access.
    void use(const step_value& values) { values_ = &values; }
    const shape_vector& seen() const { return find_.seen(); }

   private:
    std::int64_t extent(std::size_t from_end) const {
      return find_.seen()[find_.seen().size() - from_end];
    }
    const schedule_memory& memory_;
    int buffer_;
    access_index find_;
    bool transposed_;
    const step_value* values_ = nullptr;
  };

  // Where a packed matrix of n columns has an element: row by row, in whole lines. The kernel's own
  // order is another one; who packs and who reads agree.
  double read_packed(int buffer, std::int64_t n, std::int64_t row, std::int64_t column) const {
    return memory_.read(buffer, memory_.index_of(buffer, row * packed_width(n) + column));
  }

  // sum(position of the depth) of the left side times right(...), in the order of the loops.
  template <class Right>
  step_value multiply(const iteration& walk, const shape_vector& space, const matrix& left,
                      const Right& right) const {
    step_value out = step_value::unset(space);
    const std::size_t rank = space.size();
    if (left.columns() == 0) out.data.assign(out.data.size(), 0.0);
    walk_all(walk, [&](const shape_vector& index) {
      double& sum = out.data[out.place(index)];
      const std::int64_t p = index[rank];
      if (p == 0) sum = 0;
      sum += left(index, index[rank - 2], p) * right(index, p, index[rank - 1]);
    });
    return out;
  }

  void run_product(const nest& n, int part) {
    const iteration& walk = require(work_kind::product, part);
    const iteration* const behind = find(work_kind::epilogue, part);
    const shape_vector space = evaluate(n.space);
    const std::vector<bool> reduced = reduced_axes(n);
    const matrix left(s_, memory_, n.accesses[0], n.transpose_a);
    const auto product = [&](const step& s) {
      const access& a = n.accesses[s.access < 0 ? 1 : static_cast<std::size_t>(s.access)];
      step_value out;
      if (n.packed_b) {
        out = multiply(walk, space, left,
                       [&](const shape_vector&, std::int64_t row, std::int64_t column) {
                         return read_packed(a.buffer, space.back(), row, column);
                       });
      } else {
        const matrix right(s_, memory_, a, s.access < 0 ? n.transpose_b : s.attribute != 0);
        out = multiply(walk, space, left, right);
      }
      for (double& x : out.data) x = ir::wrap(s.type, x);
      return out;
    };
    const auto values =
        bodies_.run(n, n.body, space, reduced, behind, reductions_of(behind), product);
    bodies_.store(n, values, space, reduced, behind, reductions_of(behind), memory_);
  }

  // An operand of a streamed nest that is computed on the way: its parts, side by side.
  step_value operand_value(const nest& n, std::size_t operand) const {
    step_value out = step_value::unset(evaluate(n.accesses[operand].shape));
    int number = operand == 0 ? 0 : static_cast<int>(n.prologues[0].size());
    for (const operand_part& part : n.prologues[operand]) {
      const shape_vector space = evaluate(part.space);
      const step_value made =
          computed_part(n, part.body, space, require(work_kind::operand, number++));
      const std::int64_t offset = evaluate(part.offset);
      ir::for_each_index(space, [&](shape_vector index) {
        const double x = made(index);
        index.back() += offset;
        out.data[out.place(index)] = x;
      });
    }
    return out;
  }

  // What the last step of a tile program inside of a nest holds.
  step_value computed_part(const nest& n, const std::vector<step>& body, const shape_vector& space,
                           const iteration& walk) const {
    return bodies_
        .run(n, body, space, std::vector<bool>(space.size(), false), &walk, {},
             [](const step&) -> step_value { return {}; })
        .back();
  }

  void run_streamed(const nest& n) {
    const iteration& walk = require(work_kind::product, 0);
    const shape_vector space = evaluate(n.space);
    const std::size_t rank = space.size();
    matrix queries(s_, memory_, n.accesses[0], n.transpose_a),
        keys(s_, memory_, n.accesses[1], n.transpose_b);
    const matrix values(s_, memory_, n.accesses[2], n.transpose_values);
    step_value computed[2];
    for (const std::size_t operand : {std::size_t{0}, std::size_t{1}})
      if (!n.prologues[operand].empty()) {
        computed[operand] = operand_value(n, operand);
        (operand == 0 ? queries : keys).use(computed[operand]);
      }
    // Without the axis of the second product's columns.
    iteration first = walk;
    std::erase_if(first.loops, [&](const loop& l) {
      return std::ranges::find(l.axes, static_cast<int>(rank) + 1) != l.axes.end();
    });
    const auto body =
        bodies_.run(n, n.body, space, std::vector<bool>(rank, false), find(work_kind::epilogue, 0),
                    {}, [&](const step&) { return multiply(first, space, queries, keys); });
    const step_value& scores = body[static_cast<std::size_t>(n.stores[0].step)];
    const loop* columns = nullptr;
    for (const loop& l : walk.loops)
      if (l.axes == std::vector<int>{static_cast<int>(rank) - 1}) columns = &l;
    if (columns == nullptr) raise(graph_error("interpret_schedule: no loop over streamed columns"));
    const std::int64_t width = values.columns();
    const std::int64_t offset = n.hidden.any ? evaluate(n.hidden.offset) : 0;
    shape_vector rows = space;
    rows.back() = 1;
    std::int64_t position = 0;
    ir::for_each_index(rows, [&](shape_vector index) {
      const auto score = [&](std::int64_t column) {
        index.back() = column;
        const bool hides = n.hidden.any && column > index[rank - 2] + offset;
        return n.score_scale * (hides ? n.hidden.value : scores(index));
      };
      const std::vector<double> sums = weighted_sums(
          *columns, space.back(), width, score,
          [&](std::int64_t column, std::int64_t w) { return values(index, column, w); });
      for (double x : sums)
        memory_.write(n.stores[0].buffer, memory_.index_of(n.stores[0].buffer, position++), x);
    });
  }

  // softmax(scores) times values, block of columns after block: the sums so far are scaled to the
  // largest score seen. While all are -infinity nothing has a weight, and in the end 0 / 0.
  template <class Score, class Value>
  static std::vector<double> weighted_sums(const loop& columns, std::int64_t count,
                                           std::int64_t width, const Score& score,
                                           const Value& value) {
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    std::vector<double> sums(static_cast<std::size_t>(width), 0.0);
    double largest = lowest, total = 0;
    walk_tiles(columns, 0, count, [&](std::int64_t begin, std::int64_t end) {
      double here = largest;
      for (std::int64_t j = begin; j < end; ++j) here = ir::maximum(here, score(j));
      if (here == lowest) return;
      const double scale = largest == here ? 1 : std::exp(largest - here);
      total *= scale;
      for (double& x : sums) x *= scale;
      largest = here;
      for (std::int64_t j = begin; j < end; ++j) {
        const double weight = std::exp(score(j) - largest);
        total += weight;
        for (std::int64_t w = 0; w < width; ++w)
          sums[static_cast<std::size_t>(w)] += weight * value(j, w);
      }
    });
    if (count > 0)
      for (double& x : sums) x /= total;
    return sums;
  }

  // ---- movement

  // In row-major order, under another shape.
  void copy(const iteration& walk, const access& source, int target) {
    const access_index find(s_.plan, source, s_.symbols);
    const shape_vector strides = row_major_strides(find.seen());
    walk_all(walk, [&](const shape_vector& index) {
      const auto place = static_cast<std::int64_t>(ir::offset_of(index, strides));
      memory_.write(target, memory_.index_of(target, place),
                    memory_.read(source.buffer, find(index)));
    });
  }

  void run_assemble(const nest& n) {
    const int target = n.stores[0].buffer;
    if (const iteration* const all = find(work_kind::fill, 0))
      walk_all(*all, [&](const shape_vector& index) {
        memory_.write(target, index, ir::cast_scalar(dtype::f64, memory_.type(target), n.fill));
      });
    int number = 0;
    for (const piece& p : n.pieces) {
      const shape_vector offset = evaluate(p.offset), space = evaluate(p.space);
      const step_value made = computed_part(n, p.body, space, require(work_kind::copy, number++));
      ir::for_each_index(space, [&](const shape_vector& index) {
        shape_vector to = index;
        for (std::size_t axis = 0; axis < to.size(); ++axis) to[axis] += offset[axis];
        memory_.write(target, to, made(index));
      });
    }
  }

  // Forwarded memory is the operand's, which nobody writes while it is read; to copy it gives the
  // same. First all is read: the two may be one memory.
  void run_alias(const nest& n) {
    const access_index find(s_.plan, n.accesses[0], s_.symbols);
    std::vector<double> elements;
    ir::for_each_index(find.seen(), [&](const shape_vector& index) {
      elements.push_back(memory_.read(n.accesses[0].buffer, find(index)));
    });
    const int target = n.stores[0].buffer;
    if (const iteration* const walk = this->find(work_kind::copy, 0))
      return copy(*walk, n.accesses[0], target);
    for (std::size_t i = 0; i < elements.size(); ++i)
      memory_.write(target, memory_.index_of(target, static_cast<std::int64_t>(i)), elements[i]);
  }

  void run_pack(const nest& n) {
    const matrix from(s_, memory_, n.accesses[0], n.transpose_b);
    const int target = n.stores[0].buffer;
    const std::int64_t width = packed_width(from.columns());
    const shape_vector batch = shape_vector::filled(from.seen().size(), 0);
    for (std::int64_t i = 0; i < element_count(memory_.shape(target)); ++i)
      memory_.write(target, memory_.index_of(target, i), 0);
    walk_all(require(work_kind::pack, 0), [&](const shape_vector& index) {
      memory_.write(target, memory_.index_of(target, index[0] * width + index[1]),
                    from(batch, index[0], index[1]));
    });
  }

  // ---- custom ops

  // As many rows of each array as a task has, or whole arrays.
  void run_custom(const nest& n) {
    const loop& rows = require(work_kind::custom, 0).loops.front();
    const std::size_t leading = custom_leading_axes(n);
    const shape_vector space = evaluate(n.space);
    if (n.custom->core_axes < 0) return run_custom_part(n, 0, 0, 1);
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < leading; ++axis) count *= space[axis];
    const std::int64_t step = rows.levels[loop::task].step;
    for (std::int64_t first = 0; first < count; first += step)
      run_custom_part(n, leading, first, std::min(step, count - first));
  }

  // Rows [first, first + count) of the first axes as one; without such axes all there is.
  void run_custom_part(const nest& n, std::size_t leading, std::int64_t first, std::int64_t count) {
    const auto part_of = [&](const shape_vector& shape) {
      if (n.custom->core_axes < 0) return shape;
      shape_vector out{count};
      for (std::size_t axis = leading; axis < shape.size(); ++axis) out.push_back(shape[axis]);
      return out;
    };
    // Calls visit(index) for the elements of these rows in an array of such a shape.
    const auto for_each = [&](const shape_vector& shape, const auto& visit) {
      const std::int64_t elements = element_count(part_of(shape));
      const std::int64_t begin = count == 0 ? 0 : elements / count * first;
      for (std::int64_t i = begin; i < begin + elements; ++i) {
        shape_vector index = shape_vector::filled(shape.size(), 0);
        std::int64_t position = i;
        for (std::size_t axis = shape.size(); axis-- > 0; position /= shape[axis])
          index[axis] = position % shape[axis];
        visit(index);
      }
    };
    std::vector<ir::reference_tensor> operands;
    for (const access& a : n.accesses) {
      const access_index find(s_.plan, a, s_.symbols);
      operands.push_back({memory_.type(a.buffer), part_of(find.seen()), {}});
      for_each(find.seen(), [&](const shape_vector& index) {
        operands.back().data.push_back(memory_.read(a.buffer, find(index)));
      });
    }
    std::vector<const ir::reference_tensor*> in;
    for (const ir::reference_tensor& x : operands) in.push_back(&x);
    const int target = n.stores[0].buffer;
    const shape_vector& whole = memory_.shape(target);
    ir::reference_tensor out = ir::filled(memory_.type(target), part_of(whole), 0);
    ir::interpret_custom(*n.custom, in, out, n.custom_attributes);
    std::size_t position = 0;
    for_each(whole, [&](const shape_vector& index) {
      memory_.write(target, index, out.data[position++]);
    });
  }

  // ---- indices

  // Throws index_error unless in [0, extent).
  std::int64_t index_at(const nest& n, const access_index& find, const shape_vector& at,
                        std::int64_t extent) const {
    const std::int64_t out = ir::truncate_to_i64(memory_.read(n.accesses[1].buffer, find(at)));
    if (out < 0 || out >= extent)
      raise(index_error(std::string(word(n)) + ": index " + std::to_string(out) +
                        " is outside of extent " + std::to_string(extent)));
    return out;
  }
  static const char* word(const nest& n) {
    return n.kind == nest_kind::gather ? "gather" : "scatter_add";
  }

  // The part of an index that names the element of the indices.
  static shape_vector indexed_part(const shape_vector& index, std::size_t first,
                                   std::size_t width) {
    return shape_vector(index.begin() + first, index.begin() + first + width);
  }

  void run_gather(const nest& n) {
    const access_index source(s_.plan, n.accesses[0], s_.symbols),
        indices(s_.plan, n.accesses[1], s_.symbols);
    const auto axis = static_cast<std::size_t>(n.axis);
    const std::size_t width = indices.seen().size();
    walk_all(require(work_kind::index, 0), [&](const shape_vector& index) {
      const std::int64_t at =
          index_at(n, indices, indexed_part(index, axis, width), source.seen()[axis]);
      shape_vector from(index.begin(), index.begin() + axis);
      from.push_back(at);
      for (std::size_t i = axis + width; i < index.size(); ++i) from.push_back(index[i]);
      memory_.write(n.stores[0].buffer, index, memory_.read(n.accesses[0].buffer, source(from)));
    });
  }

  void run_scatter_add(const nest& n) {
    const access_index updates(s_.plan, n.accesses[0], s_.symbols),
        indices(s_.plan, n.accesses[1], s_.symbols);
    const auto axis = static_cast<std::size_t>(n.axis);
    const std::size_t width = indices.seen().size();
    const int target = n.stores[0].buffer;
    ir::for_each_index(memory_.shape(target),
                       [&](const shape_vector& index) { memory_.write(target, index, 0); });
    walk_all(require(work_kind::index, 0), [&](const shape_vector& index) {
      const std::int64_t at =
          index_at(n, indices, indexed_part(index, axis, width), memory_.shape(target)[axis]);
      shape_vector to(index.begin(), index.begin() + axis);
      to.push_back(at);
      for (std::size_t i = axis + width; i < index.size(); ++i) to.push_back(index[i]);
      memory_.write(target, to,
                    ir::evaluate_scalar(ir::op::add, memory_.type(target), memory_.read(target, to),
                                        memory_.read(n.accesses[0].buffer, updates(index))));
    });
  }

  // Lines come from their first element, or their last one, on.
  void run_scan(const nest& n) {
    const access_index source(s_.plan, n.accesses[0], s_.symbols);
    const auto axis = static_cast<std::size_t>(n.axis);
    const int target = n.stores[0].buffer;
    const std::int64_t last = source.seen()[axis] - 1;
    std::map<shape_vector, double> sums;
    walk_all(require(work_kind::scan, 0), [&](shape_vector index) {
      if (n.reverse) index[axis] = last - index[axis];
      shape_vector line = index;
      line[axis] = 0;
      double& sum = sums[line];
      const double before = sum;
      sum = ir::evaluate_scalar(ir::op::add, memory_.type(target), sum,
                                memory_.read(n.accesses[0].buffer, source(index)));
      memory_.write(target, index, n.exclusive ? before : sum);
    });
  }

  const schedule& s_;
  schedule_memory& memory_;
  body_interpreter bodies_;
  const schedule_item* item_ = nullptr;
};

}  // namespace detail

struct schedule_results {
  std::vector<ir::reference_tensor> outputs;   // by number
  std::vector<ir::reference_tensor> prepared;  // that a schedule which runs once leaves
};

/// Runs the items in their order. `arguments[k]` is argument k, of the shape that the schedule has
/// for it; `prepared` what interpreting the schedule that runs once gave. Outputs that are assigned
/// to arguments are written over them, as in a call. f32 is computed in double and rounded
/// step by step. Throws graph_error and shape_error for arguments that do not fit, index_error
/// (gather, scatter_add), graph_error for a schedule that leaves its memory; one that
/// verify_schedule accepts does not.
inline schedule_results interpret_schedule(const schedule& s,
                                           std::span<const ir::reference_tensor> arguments,
                                           std::span<const ir::reference_tensor> prepared = {}) {
  schedule_memory memory(s, arguments, prepared);
  detail::schedule_interpreter machine(s, memory);
  for (std::size_t i = 0; i < s.items.size(); ++i) machine.run_item(i);
  schedule_results out{memory.values(place::output), {}};
  if (s.once) out.prepared = memory.values(place::prepared);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::planning
