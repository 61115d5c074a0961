// SPDX-License-Identifier: MIT
// Tile programs in the interpreter of schedules: step by step, each over the whole iteration space
// in the order of the loops, in double.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <sinter/graph/interpret.hpp>
#include <sinter/graph/random.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/plan/interpret_reduction.hpp>
#include <sinter/plan/schedule_memory.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning::detail {

// The value of a step: of every element of the space, or 1 along axes that it does not depend on.
struct step_value {
  shape_vector shape;
  std::vector<double> data;

  static step_value unset(const shape_vector& shape) {
    return {shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)),
                                       std::numeric_limits<double>::quiet_NaN())};
  }
  std::size_t place(const shape_vector& index) const {
    std::size_t out = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      out = out * static_cast<std::size_t>(shape[axis]) +
            static_cast<std::size_t>(shape[axis] == 1 ? 0 : index[axis]);
    return out;
  }
  double operator()(const shape_vector& index) const { return data[place(index)]; }
};

// What the dtype holds of x. Values are rounded step by step, as the executor's are: what a nest
// computes again is the same as what another one has stored.
inline double rounded(dtype type, double x) {
  return type == dtype::f32  ? static_cast<double>(static_cast<float>(x))
         : is_floating(type) ? ir::cast_scalar(dtype::f64, type, x)
                             : x;
}

// One element of a superinstruction; leaf(k) is operand k.
template <class Leaf>
double evaluate_region(const ir::region& r, const Leaf& leaf) {
  std::vector<double> values;
  for (int k = 0; k < r.leaf_count; ++k) values.push_back(leaf(k));
  for (int i = 0; i < r.node_count; ++i) {
    const ir::op code = r.code(i);
    const bool of_truths = code != ir::op::where && ir::is_truth(r, r.operand(i, 0));
    const auto value = [&](int which) {
      return values[static_cast<std::size_t>(r.operand(i, which))];
    };
    values.push_back(
        code == ir::op::cast  // of a truth value
            ? value(0)
            : rounded(r.type, ir::evaluate_scalar(code, of_truths ? dtype::boolean : r.type,
                                                  value(0), value(1), value(2))));
  }
  return values.back();
}

// One element of a custom op; operand(k) is operand k.
template <class Operand>
double custom_element(const ir::custom_op& custom, const Operand& operand) {
  std::array<double, ir::max_custom_operands> values{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(custom.arity); ++k) values[k] = operand(k);
  return custom.element(values.data());
}

// The axes that a row-level value does not have.
inline std::vector<bool> reduced_axes(const nest& n) {
  std::vector<bool> out(n.space.size(), false);
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    const auto number = static_cast<int>(axis);
    if (n.kind == nest_kind::column) out[axis] = number >= n.column_first && number < n.column_last;
    const std::size_t outer = out.size() - static_cast<std::size_t>(n.inner_axes);
    if (n.kind != nest_kind::column && axis >= outer)
      out[n.axis_order.empty() ? axis : static_cast<std::size_t>(n.axis_order[axis])] = true;
  }
  return out;
}

class body_interpreter {
 public:
  body_interpreter(const schedule& s, const schedule_memory& memory) : s_(s), memory_(memory) {}

  // The body of `n` over `space`; `walk` has its loops (null: each element in row-major order).
  // product(step): the value of a product.
  template <class Product>
  std::vector<step_value> run(const nest& n, const std::vector<step>& body,
                              const shape_vector& space, std::vector<bool> reduced,
                              const iteration* walk, std::span<const reduction_plan> reductions,
                              const Product& product) const {
    body_facts facts{n, body, space, space, walk, reductions};
    for (std::size_t axis = 0; axis < space.size(); ++axis)
      if (reduced[axis]) facts.kept[axis] = 1;
    std::vector<step_value> values;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (body[i].kind == step_kind::product)
        values.push_back(product(body[i]));
      else if (body[i].kind == step_kind::reduce)
        values.push_back(reduce(facts, static_cast<int>(i), values));
      else if (body[i].kind == step_kind::deviations)
        values.push_back(deviations(facts, values[static_cast<std::size_t>(body[i].operands[0])]));
      else if (body[i].kind == step_kind::exponentials)
        values.push_back(exponentials(facts, values[static_cast<std::size_t>(body[i].operands[0])],
                                      body[i].attribute != 0));
      else
        values.push_back(map(facts, body[i], values));
      for (double& x : values.back().data) x = rounded(body[i].type, x);
    }
    return values;
  }

  // Stores are made when all is computed. What has one value per row, or goes into a buffer of that
  // shape, is stored as one value per row.
  // What rows sum up to is added in the order of `walk`.
  void store(const nest& n, const std::vector<step_value>& values, const shape_vector& space,
             const std::vector<bool>& reduced, const iteration* walk,
             std::span<const reduction_plan> reductions, schedule_memory& memory) const {
    shape_vector kept = space;
    for (std::size_t axis = 0; axis < space.size(); ++axis)
      if (reduced[axis]) kept[axis] = 1;
    for (const planning::store& each : n.stores) {
      const step& from = n.body[static_cast<std::size_t>(each.step)];
      const shape_vector& target = memory.shape(each.buffer);
      const bool row =
          (from.level == level::row && kept != space) || (target == kept && target != space);
      std::int64_t position = 0;
      if (each.summed) {
        const step_value sums = summed(n, each.step, values, space, reduced, *walk, reductions);
        ir::for_each_index(sums.shape, [&](const shape_vector& index) {
          memory.write(each.buffer, memory.index_of(each.buffer, position++), sums(index));
        });
        continue;
      }
      ir::for_each_index(row ? kept : space, [&](const shape_vector& index) {
        memory.write(each.buffer, memory.index_of(each.buffer, position++),
                     values[static_cast<std::size_t>(each.step)](index));
      });
    }
  }

 private:
  struct body_facts {
    const nest& n;
    const std::vector<step>& body;
    shape_vector space, kept;
    const iteration* walk;
    std::span<const reduction_plan> reductions;
  };

  template <class Visit>
  static void for_each(const body_facts& f, const shape_vector& shape, const Visit& visit) {
    if (f.walk == nullptr || shape != f.space) return ir::for_each_index(shape, visit);
    shape_vector index = shape_vector::filled(shape.size(), 0);
    walk_loops(std::span(f.walk->loops), f.space, index, visit);
  }

  // 1 along the axes that the value does not depend on: it may be needed where they are empty.
  shape_vector shape_of(const body_facts& f, const step& s,
                        const std::vector<step_value>& values) const {
    shape_vector out = shape_vector::filled(f.space.size(), 1);
    switch (s.kind) {
      case step_kind::load: {
        const shape_vector seen = evaluate_shape(
            s_.plan.dims, f.n.accesses[static_cast<std::size_t>(s.access)].shape, s_.symbols);
        return seen.empty() ? out : seen;
      }
      case step_kind::iota: out[s.attribute] = f.space[s.attribute]; return out;
      case step_kind::random: return s.level == level::row ? f.kept : f.space;
      case step_kind::map:
      case step_kind::spread:
        for (int o : s.operands) {
          const shape_vector& operand = values[static_cast<std::size_t>(o)].shape;
          for (std::size_t axis = 0; axis < out.size(); ++axis)
            if (operand[axis] != 1) out[axis] = operand[axis];
        }
        return out;
      default: return out;
    }
  }

  step_value map(const body_facts& f, const step& s, const std::vector<step_value>& values) const {
    step_value out = step_value::unset(shape_of(f, s, values));
    const auto operand = [&](std::size_t k, const shape_vector& index) {
      return k < s.operands.size() ? values[static_cast<std::size_t>(s.operands[k])](index) : 0.0;
    };
    switch (s.kind) {
      case step_kind::load:
      case step_kind::scalar: {
        const access& a = f.n.accesses[static_cast<std::size_t>(s.access)];
        const access_index find(s_.plan, a, s_.symbols);
        for_each(f, out.shape, [&](const shape_vector& index) {
          shape_vector seen = find.seen();
          for (std::size_t axis = 0; axis < seen.size(); ++axis)
            seen[axis] = seen[axis] == 1 ? 0 : index[axis];
          out.data[out.place(index)] = memory_.read(a.buffer, find(seen));
        });
        return out;
      }
      case step_kind::constant: {
        const double value =
            is_wide_integer(s.type)
                ? (s.type == dtype::i64
                       ? static_cast<double>(s.constant)
                       : static_cast<double>(static_cast<std::uint64_t>(s.constant)))
                : ir::detail::stored_constant(s.type, ir::double_of(s.constant));
        out.data.assign(out.data.size(), value);
        return out;
      }
      case step_kind::extent: {
        const auto extent = static_cast<double>(s_.plan.dims.evaluate(s.extent, s_.symbols));
        out.data.assign(out.data.size(), ir::cast_scalar(dtype::i64, s.type, extent));
        return out;
      }
      case step_kind::iota:
        for_each(f, out.shape, [&](const shape_vector& index) {
          out.data[out.place(index)] =
              ir::cast_scalar(dtype::i64, s.type, static_cast<double>(index[s.attribute]));
        });
        return out;
      case step_kind::random:
        for_each(f, out.shape, [&](const shape_vector& index) {
          const std::size_t place = out.place(index);
          out.data[place] = ir::uniform(ir::truncate_to_i64(operand(0, index)), s.attribute,
                                        static_cast<std::int64_t>(place), s.type == dtype::f64);
        });
        return out;
      case step_kind::map: {
        const dtype from = f.body[static_cast<std::size_t>(s.operands[0])].type;
        const dtype type = s.code == ir::op::where ? s.type : from;
        for_each(f, out.shape, [&](const shape_vector& index) {
          double& to = out.data[out.place(index)];
          if (s.fused != nullptr)
            to = evaluate_region(s.fused->structure, [&](int k) {
              return operand(static_cast<std::size_t>(k), index);
            });
          else if (s.custom != nullptr)
            to = custom_element(*s.custom, [&](std::size_t k) { return operand(k, index); });
          else if (s.code == ir::op::cast)
            to = ir::cast_scalar(from, s.type, operand(0, index));
          else if (s.code == ir::op::bitcast)
            to = ir::bitcast_scalar(from, s.type, operand(0, index));
          else
            to = ir::evaluate_scalar(s.code, type, operand(0, index), operand(1, index),
                                     operand(2, index));
        });
        return out;
      }
      case step_kind::spread:
        for_each(f, out.shape, [&](const shape_vector& index) {
          out.data[out.place(index)] = operand(0, index);
        });
        return out;
      case step_kind::reduce:
      case step_kind::deviations:
      case step_kind::exponentials:
      case step_kind::product: break;
    }
    return out;
  }

  step_value reduce(const body_facts& f, int number, const std::vector<step_value>& values) const {
    const step& s = f.body[static_cast<std::size_t>(number)];
    const step_value& from = values[static_cast<std::size_t>(s.operands[0])];
    const reduction_plan* plan = nullptr;
    for (const reduction_plan& r : f.reductions)
      if (r.step == number) plan = &r;
    if (plan == nullptr || f.walk == nullptr)
      raise(
          graph_error("interpret_schedule: %" + std::to_string(number) + " has no reduction plan"));
    const loop* over = nullptr;
    for (const loop& l : f.walk->loops)
      for (int axis : l.axes)
        if (f.walk->axes[static_cast<std::size_t>(axis)].role == axis_role::reduction) over = &l;
    const dtype type = f.body[static_cast<std::size_t>(s.operands[0])].type;
    return reduced_over(over != nullptr ? *over : loop{}, *plan, type, from, f.space, f.kept);
  }

  // Along a loop (of no axes: of one element) through values of this dtype.
  static step_value reduced_over(const loop& over, const reduction_plan& plan, dtype type,
                                 const step_value& from, const shape_vector& space,
                                 const shape_vector& kept) {
    step_value out = step_value::unset(kept);
    const ordered_reduction order(plan, type);
    ir::for_each_index(kept, [&](const shape_vector& place) {
      shape_vector index = place;
      out.data[out.place(place)] =
          order.run(over, loop_size(over, space), [&](std::int64_t position) {
            set_position(over, space, position, index);
            return from(index);
          });
    });
    return out;
  }

  // What the rows of a step sum up to, as its reduction plan says.
  static step_value summed(const nest& n, int number, const std::vector<step_value>& values,
                           const shape_vector& space, const std::vector<bool>& reduced,
                           const iteration& walk, std::span<const reduction_plan> reductions) {
    const auto plan = std::ranges::find(reductions, number, &reduction_plan::step);
    if (plan == reductions.end())
      raise(graph_error("interpret_schedule: the sum of %" + std::to_string(number) +
                        " has no reduction plan"));
    loop over;  // the rows, block by block
    for (const loop& l : walk.loops)
      if (!l.axes.empty() && !reduced[static_cast<std::size_t>(l.axes.front())]) over = l;
    over.levels[loop::tile].step = plan->block;
    shape_vector kept = space;
    for (std::size_t axis = 0; axis < kept.size(); ++axis)
      if (!reduced[axis]) kept[axis] = 1;
    const dtype type = n.body[static_cast<std::size_t>(number)].type;
    return reduced_over(over, *plan, type, values[static_cast<std::size_t>(number)], space, kept);
  }

  // Squared distances from the mean, which is found first.
  static step_value deviations(const body_facts& f, const step_value& x) {
    step_value means{f.kept, {}};
    means.data.assign(static_cast<std::size_t>(element_count(f.kept)), 0.0);
    step_value out = means;
    const double count = static_cast<double>(element_count(f.space)) /
                         static_cast<double>(std::max<std::size_t>(1, means.data.size()));
    ir::for_each_index(f.space, [&](const shape_vector& index) {
      means.data[means.place(index)] += x(index) / count;
    });
    ir::for_each_index(f.space, [&](const shape_vector& index) {
      const std::size_t place = out.place(index);
      const double distance = x(index) - means.data[place];
      out.data[place] += distance * distance;
    });
    return out;
  }

  // Sums of e^(x - largest); 0 in place of an infinite largest if it is `guarded`.
  static step_value exponentials(const body_facts& f, const step_value& x, bool guarded) {
    step_value largest{f.kept, {}};
    const auto count = static_cast<std::size_t>(element_count(f.kept));
    largest.data.assign(count, -std::numeric_limits<double>::infinity());
    step_value out{f.kept, std::vector<double>(count, 0.0)};
    ir::for_each_index(f.space, [&](const shape_vector& index) {
      double& all = largest.data[largest.place(index)];
      all = ir::evaluate_scalar(ir::op::maximum, dtype::f64, all, x(index), 0);
    });
    ir::for_each_index(f.space, [&](const shape_vector& index) {
      const std::size_t place = out.place(index);
      const double from = largest.data[place];
      out.data[place] += std::exp(x(index) - (guarded && std::isinf(from) ? 0 : from));
    });
    return out;
  }

  const schedule& s_;
  const schedule_memory& memory_;
};

}  // namespace sinter::inline SINTER_ABI::planning::detail
