// SPDX-License-Identifier: MIT
// What the graph and the schedules of a plan compute for small random arguments, each by its own
// interpreter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <sinter/function/plan_verification.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/plan/interpret_schedule.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/hash.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Values agree: exactly where nothing is rounded, else to some thousandths of the largest; of those
// that a threshold decides, a few may fall on the other side of it.
inline bool agree(const ir::reference_tensor& got, const ir::reference_tensor& expected) {
  if (got.type != expected.type || got.data.size() != expected.data.size()) return false;
  double scale = 1;
  for (double e : expected.data)
    if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
  const bool narrow = size_of(got.type) < 4;
  const double tolerance = !is_floating(got.type) ? 0 : (narrow ? 0x1p-5 : 1e-4) * scale;
  std::size_t flipped = 0;
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double a = got.data[i], b = expected.data[i];
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance) continue;
    if (++flipped * 20 > got.data.size() || is_integral(got.type)) return false;
  }
  return true;
}

struct plan_values {
  bool known = false;  // false: too much work
  std::vector<ir::reference_tensor> arguments, expected;
  // By schedule, nest and, behind it, its parts: what the first store left.
  std::vector<std::vector<ir::reference_tensor>> stored;
};

// Throws graph_error where graph and schedules differ.
class plan_computation {
 public:
  // The last schedule is that of every call. `most_work`: operations and elements.
  plan_computation(const ir::graph& bound, const std::vector<planning::schedule>& schedules,
                   std::int64_t most_work)
      : bound_(bound),
        schedules_(schedules),
        symbols_(schedules.back().symbols),
        most_work_(most_work) {}

  plan_values run() {
    if (work() > most_work_ || !interpret_graph()) return {};
    out_.known = true;
    std::vector<ir::reference_tensor> prepared;
    for (const planning::schedule& s : schedules_) {
      planning::schedule_memory memory(s, out_.arguments, prepared);
      interpret(s, memory);
      prepared = memory.values(planning::place::prepared);
      if (!s.once) compare(memory.values(planning::place::output));
    }
    return std::move(out_);
  }

 private:
  shape_vector shape_of(int id) const {
    return planning::evaluate_shape(bound_.dims, bound_[id].shape, symbols_);
  }

  std::int64_t work() const {
    std::int64_t out = 0;
    const auto add = [&](std::int64_t amount) { out = ir::detail::saturating_add(out, amount); };
    for (int id = 0; id < bound_.size(); ++id) add(element_count(shape_of(id)));
    for (const planning::schedule& s : schedules_) {
      add(static_cast<std::int64_t>(s.plan.arena_bytes / sizeof(double)));
      for (std::size_t b = 0; b < s.layouts.size(); ++b) add(reach_of(s, b));
      for (const planning::schedule_item& i : s.items) add(i.flops), add(i.bytes_read);
    }
    return out;
  }

  // Elements from the first to the last of a buffer, those between that are not its own included.
  std::int64_t reach_of(const planning::schedule& s, std::size_t buffer) const {
    const shape_vector& strides = s.layouts[buffer].strides;
    std::int64_t out = 1;
    for (std::size_t axis = 0; axis < strides.size(); ++axis)
      out = ir::detail::saturating_add(
          out, ir::detail::saturating_mul(
                   s.plan.dims.evaluate(s.plan.buffers[buffer].shape[axis], symbols_),
                   std::abs(strides[axis])));
    return out;
  }

  // `positive`: of one sign alone. `zeros`: integers are 0, which is always an index.
  static ir::reference_tensor argument(dtype type, const shape_vector& shape, std::uint64_t seed,
                                       bool positive, bool zeros) {
    ir::reference_tensor out{type, shape, {}};
    const auto count = static_cast<std::size_t>(element_count(shape));
    for (std::size_t i = 0; i < count; ++i) {
      seed = hash_mix(seed + 0x9e3779b97f4a7c15u);
      const double unit = static_cast<double>(seed >> 40) / 16777216.0;
      if (!is_floating(type))
        out.data.push_back(zeros ? 0.0 : static_cast<double>(seed & 1));
      else
        out.data.push_back(static_cast<double>(
            static_cast<bfloat16>(!positive && (seed & 3) == 0 ? -(0.25 + unit) : 0.25 + unit)));
    }
    return out;
  }

  void make_arguments(bool positive, bool zeros) {
    out_.arguments.clear();
    for (int id = 0; id < bound_.size(); ++id) {
      if (bound_[id].code != ir::op::argument) continue;
      const auto number = static_cast<std::size_t>(bound_.attributes(id)[1]);
      if (out_.arguments.size() <= number) out_.arguments.resize(number + 1);
      out_.arguments[number] = argument(bound_[id].type, shape_of(id), number + 1, positive, zeros);
    }
  }

  // With the first arguments of four for which all indices are in range and no output is all NaN,
  // or the last in range; false where none are.
  bool interpret_graph() {
    bool found = false;
    // Without exceptions only with indices that are in range.
    for (int round = has_exceptions ? 0 : 2; round < 4; ++round) {
      make_arguments(round % 2 == 1, round > 1);
      const bool in_range = attempt<index_error>(
          [&] {
            out_.expected = ir::interpret(bound_, out_.arguments);
            return true;
          },
          [](const index_error&) { return false; });
      if (!in_range) {
        round = std::max(round, 1);
        continue;
      }
      found = true;
      const bool says_something = std::ranges::none_of(out_.expected, [](const auto& x) {
        return !x.data.empty() &&
               std::ranges::all_of(x.data, [](double e) { return std::isnan(e); });
      });
      if (says_something) break;
    }
    return found;
  }

  void interpret(const planning::schedule& s, planning::schedule_memory& memory) {
    planning::detail::schedule_interpreter machine(s, memory);
    std::vector<ir::reference_tensor>& stored = out_.stored.emplace_back();
    for (std::size_t i = 0; i < s.items.size(); ++i) {
      machine.run_item(i);
      const auto keep = [&](const planning::nest& n) {
        stored.push_back(n.stores.empty() ? ir::reference_tensor{}
                                          : value_of(memory, n.stores[0].buffer));
      };
      keep(s.plan.nests[i]);
      for (const planning::nest& part : s.plan.nests[i].parts) keep(part);
    }
  }

  static ir::reference_tensor value_of(const planning::schedule_memory& memory, int buffer) {
    ir::reference_tensor out{memory.type(buffer), memory.shape(buffer), {}};
    ir::for_each_index(out.shape, [&](const shape_vector& index) {
      out.data.push_back(memory.read(buffer, index));
    });
    return out;
  }

  void compare(const std::vector<ir::reference_tensor>& got) const {
    require_sound(got.size() == out_.expected.size(), "the schedule leaves other outputs");
    for (std::size_t k = 0; k < got.size(); ++k)
      require_sound(
          agree(got[k], out_.expected[k]),
          "the schedule gives output " + std::to_string(k) + " other values than the graph");
  }

  const ir::graph& bound_;
  const std::vector<planning::schedule>& schedules_;
  const std::vector<std::int64_t>& symbols_;
  std::int64_t most_work_;
  plan_values out_;
};

}  // namespace sinter::inline SINTER_ABI::detail
