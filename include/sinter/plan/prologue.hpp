// SPDX-License-Identifier: MIT
// Prologues: operands of a streamed nest that are computed block by block as its products read
// them, instead of being stored first. What can be: element-wise ops over views of what is in
// memory, and values put side by side along the last axis (a rotary embedding turns two halves);
// each of those becomes a tile program that fills its columns of the block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <sinter/plan/cut.hpp>
#include <sinter/plan/op_work.hpp>
#include <sinter/plan/values.hpp>
#include <sinter/plan/view.hpp>
#include <sinter/support/add_once.hpp>

namespace sinter::inline SINTER_ABI::planning {

// A value of such a tile program: read where it lies, through `steps` and the views below it, or
// computed from earlier ones by a form.
struct prologue_value {
  int value = -1;
  int form = -1;  // -1: read
  std::vector<view_step> steps;
  std::vector<int> operands;  // places in the body
};

struct prologue_part {
  ir::symbolic_shape space;  // of the operand, with its own last extent
  ir::dim offset{};          // its first column of the operand
  std::vector<prologue_value> body;
};

struct operand_prologue {
  std::vector<prologue_part> parts;
  std::vector<int> reads;  // what must be in memory, in the order in which it is met
  double work = 0;         // nanoseconds per element of the operand
};

class prologue_finder {
 public:
  /// Offsets are written into `dims`, which knows the dims of the graph.
  prologue_finder(const value_graph& g, const cut_enumeration& cuts, ir::dim_table& dims)
      : g_(g), cuts_(cuts), dims_(dims) {}

  /// How to compute `operand` on the way, if `elements` of it are computed in all (recomputed ones
  /// counted as often); nothing where there is nothing to compute.
  std::optional<operand_prologue> of(int operand, double elements) {
    own_base_ = resolve(g_, operand).base;
    const ir::symbolic_shape& shape = g_[operand].shape;
    if (g_[operand].is_constant || shape.size() < 2) return std::nullopt;
    std::vector<int> seen;
    split_ = split_of(operand, depth_limit, seen);
    operand_prologue out;
    ir::dim offset(0);
    double columns = 0;
    for (std::size_t p = 0; p < std::max<std::size_t>(1, split_.size()); ++p) {
      part_ = static_cast<int>(p);
      prologue_part part;
      part.space = shape;
      part.offset = offset_ = offset;
      if (!split_.empty()) part.space.back() = split_[p];
      offset = dims_.add(offset, part.space.back());
      const auto width = static_cast<double>(g_.extent(part.space.back()));
      elements_ = std::max(
          1.0, elements * width /
                   static_cast<double>(std::max<std::int64_t>(1, g_.extent(shape.back()))));
      choices_.clear();
      made_.clear();
      paths_.clear();
      const bool cut = !split_.empty();
      if (best(operand, cut, depth_limit).cost == infinity) return std::nullopt;
      work_ = 0;
      const int last = emit(part, out.reads, operand, cut, 0, {});
      const prologue_value& result = part.body[static_cast<std::size_t>(last)];
      // A part may be a copy; a whole operand that is one is better read where it is.
      if (result.form < 0 && split_.empty()) return std::nullopt;
      if (g_[result.value].is_constant || g_[result.value].scalar()) return std::nullopt;
      out.work += (work_ + g_.machine().tile_operand) * width;
      columns += width;
      out.parts.push_back(std::move(part));
    }
    if (out.reads.empty()) return std::nullopt;
    out.work /= std::max(1.0, columns);
    return out;
  }

 private:
  // Deep enough for rotations as they are written; the search looks at every form on its way.
  static constexpr int depth_limit = 10;
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct choice {
    int value;
    bool cut;
    int form;  // -1: read
    double cost;
  };
  struct made {
    int value;
    bool cut;
    int path, place;
  };

  const form& form_of(int value, int number) const {
    return g_[value].forms[static_cast<std::size_t>(number)];
  }

  // The extents of the parts of the first concatenation along the last axis, or nothing.
  std::vector<ir::dim> split_of(int value, int depth, std::vector<int>& seen) const {
    if (depth == 0 || is_leaf(value) || std::ranges::find(seen, value) != seen.end()) return {};
    seen.push_back(value);
    const value_class& v = g_[value];
    for (const form& f : v.forms) {
      if (is_side_by_side(v, f)) {
        std::vector<ir::dim> out;
        for (int operand : f.operands) out.push_back(g_[operand].shape.back());
        return out;
      }
      if (!is_map(v, f) && !(is_view(g_, v, f) && keeps_last_axis(v, f))) continue;
      for (int operand : f.operands)
        if (std::vector<ir::dim> found = split_of(operand, depth - 1, seen); !found.empty())
          return found;
    }
    return {};
  }

  // Nothing below these is looked at.
  bool is_leaf(int value) const {
    const value_class& v = g_[value];
    return v.is_constant || v.scalar() || v.find(ir::op::argument) != nullptr;
  }

  bool is_side_by_side(const value_class& v, const form& f) const {
    return f.fused < 0 && f.code == ir::op::concat &&
           g_.payload(f).attributes[0] == static_cast<std::int64_t>(v.shape.size()) - 1;
  }

  // An element-wise op on values of one shape and scalars.
  bool is_map(const value_class& v, const form& f) const {
    if (f.fused < 0 && !ir::is_elementwise(f.code)) return false;
    for (std::size_t k = 0; k < f.operands.size(); ++k) {
      const value_class& operand = g_[f.operands[k]];
      const bool scalar = operand.scalar() || operand.is_constant;
      if (!scalar && !(operand.shape == v.shape)) return false;
      if (f.fused >= 0 && g_.instruction(f).structure.is_scalar(static_cast<int>(k)) && !scalar)
        return false;
    }
    return true;
  }

  // Is position i of the last axis position i of the operand's last axis?
  bool keeps_last_axis(const value_class& v, const form& f) const {
    const value_class& operand = g_[f.operands[0]];
    const auto last = static_cast<int>(v.shape.size()) - 1,
               below = static_cast<int>(operand.shape.size()) - 1;
    if (below < 0 || last < 0 || !(operand.shape.back() == v.shape.back())) return false;
    const auto& payload = g_.payload(f);
    switch (f.code) {
      case ir::op::permute: return payload.attributes[static_cast<std::size_t>(last)] == below;
      case ir::op::broadcast_to: return true;
      case ir::op::slice:
        return payload.attributes[static_cast<std::size_t>(last)] == 1 &&
               payload.dims[2 * static_cast<std::size_t>(last)] == ir::dim(0);
      case ir::op::flip: return !ir::has_axis(payload.attributes[0], last);
      case ir::op::reshape: return ir::axis_after_reshape(operand.shape, v.shape, below) == last;
      default: return false;
    }
  }

  // The part that is cut out of this concatenation, or -1.
  int part_of(const form& f) const {
    if (f.operands.size() != split_.size()) return -1;
    for (std::size_t p = 0; p < split_.size(); ++p)
      if (!(g_[f.operands[p]].shape.back() == split_[p])) return -1;
    return f.operands[static_cast<std::size_t>(part_)];
  }

  // What a form computes from, as (value, still to be cut) pairs; empty where it is of no use here.
  std::vector<std::pair<int, bool>> below(const value_class& v, const form& f, bool cut) const {
    if (is_map(v, f)) {
      std::vector<std::pair<int, bool>> out;
      for (int operand : f.operands) out.push_back({operand, cut});
      return out;
    }
    if (is_view(g_, v, f) && (!cut || keeps_last_axis(v, f))) return {{f.operands[0], cut}};
    if (cut && is_side_by_side(v, f))
      if (const int operand = part_of(f); operand >= 0) return {{operand, false}};
    return {};
  }

  // The cheapest way to have an element of a value: nanoseconds, what others have to store for it
  // shared among all elements of the operand.
  choice best(int value, bool cut, int depth) {
    for (const choice& c : choices_)
      if (c.value == value && c.cut == cut) return c;
    choice out{value, cut, -1, read_cost(value)};
    if (!is_leaf(value) && depth > 0)
      for (int f = 0; f < static_cast<int>(g_[value].forms.size()); ++f) {
        const form& each = form_of(value, f);
        const auto operands = below(g_[value], each, cut);
        if (operands.empty()) continue;
        double cost = is_map(g_[value], each) ? each.work : 0;
        for (const auto& [operand, still] : operands) cost += best(operand, still, depth - 1).cost;
        if (cost < out.cost) out = {value, cut, f, cost};
      }
    choices_.push_back(out);
    return out;
  }

  double read_cost(int value) const {
    const int base = resolve(g_, value).base;
    if (base == own_base_) return infinity;  // then it might be read as a whole
    const value_class& b = g_[base];
    if (b.is_constant || b.scalar()) return 0;
    return load_work(value) +
           (b.find(ir::op::argument) == nullptr ? making(base, 3) / elements_ : 0);
  }

  double load_work(int value) const {
    const resolved_view view = resolve(g_, value);
    if (g_[view.base].is_constant || g_[view.base].scalar()) return 0;
    double work = g_.machine().tile_operand * width_factor(g_[view.base].type);
    for (const view_step& s : view.steps) work += ordering_work(s, g_.machine());
    return work;
  }

  // What it costs to have a value in memory, as far as can be said; what is put together from parts
  // needs those there first.
  double making(int value, int depth) const {
    const value_class& v = g_[value];
    if (is_leaf(value) || depth == 0) return 0;
    const double bytes = v.bytes();
    double cost =
        g_.machine().launch + bytes * byte_cost(bytes, g_.machine()) + cuts_.estimate(value);
    if (cuts_.estimate(value) == 0)
      for (int operand : v.forms.front().operands) cost += making(operand, depth - 1);
    return cost;
  }

  // Appends what computes `value`, seen through `steps`, and returns its place. `path` numbers the
  // views that were gone through.
  int emit(prologue_part& part, std::vector<int>& reads, int value, bool cut, int path,
           const std::vector<view_step>& steps) {
    for (const made& m : made_)
      if (m.value == value && m.cut == cut && m.path == path) return m.place;
    const choice chosen = best(value, cut, 0);
    const value_class& v = g_[value];
    prologue_value out{value, chosen.form, {}, {}};
    if (chosen.form < 0) {
      work_ += load_work(value);
      for (const view_step& s : steps) work_ += ordering_work(s, g_.machine());
      out.steps = steps;
      if (cut && !v.scalar()) out.steps.push_back(cut_step(v.shape));
      const int base = resolve(g_, value).base;
      if (!g_[base].is_immediate()) add_once(reads, base);
    } else {
      const form& f = form_of(value, chosen.form);
      const auto operands = below(v, f, cut);
      if (!is_map(v, f)) {
        std::vector<view_step> longer = steps;
        const bool view = is_view(g_, v, f);
        if (view) longer.push_back(step_of(v, f, cut));
        return emit(part, reads, operands[0].first, operands[0].second,
                    view ? path_behind(path, value) : path, longer);
      }
      work_ += f.work;
      for (const auto& [operand, still] : operands)
        out.operands.push_back(emit(part, reads, operand, still, path, steps));
    }
    part.body.push_back(std::move(out));
    made_.push_back({value, cut, path, static_cast<int>(part.body.size()) - 1});
    return made_.back().place;
  }

  int path_behind(int path, int value) {
    const std::pair<int, int> step{path, value};
    const auto known = std::ranges::find(paths_, step);
    if (known != paths_.end()) return static_cast<int>(known - paths_.begin()) + 1;
    paths_.push_back(step);
    return static_cast<int>(paths_.size());
  }

  view_step step_of(const value_class& v, const form& f, bool cut) const {
    view_step s = view_step_of(g_, v, f);
    if (!cut) return s;
    const std::size_t last = s.result.size() - 1;
    s.result.back() = s.operand.back() = split_[static_cast<std::size_t>(part_)];
    if (s.code == ir::op::slice) s.dims[2 * last + 1] = s.result.back();
    return s;
  }

  view_step cut_step(const ir::symbolic_shape& shape) {
    view_step s;
    s.code = ir::op::slice;
    s.operand = s.result = shape;
    s.result.back() = split_[static_cast<std::size_t>(part_)];
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool last = axis + 1 == shape.size();
      s.attributes.push_back(1);
      s.dims.push_back(last ? offset_ : ir::dim(0));
      s.dims.push_back(last ? dims_.add(offset_, s.result.back()) : shape[axis]);
    }
    return s;
  }

  const value_graph& g_;
  const cut_enumeration& cuts_;
  ir::dim_table& dims_;
  double elements_ = 1;         // of the part, recomputed ones counted as often
  double work_ = 0;             // per element of the part that is written
  int own_base_ = -1;           // of the operand
  std::vector<ir::dim> split_;  // extents of the parts; empty: the operand is computed as a whole
  int part_ = 0;
  ir::dim offset_{};
  std::vector<choice> choices_;
  std::vector<made> made_;
  std::vector<std::pair<int, int>> paths_;
};

}  // namespace sinter::inline SINTER_ABI::planning
