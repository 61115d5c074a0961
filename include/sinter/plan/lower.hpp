// SPDX-License-Identifier: MIT
// From a selection to nests: each selected candidate becomes a tile program over buffers, operands
// first.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sinter/plan/candidate.hpp>
#include <sinter/plan/causal.hpp>
#include <sinter/plan/enodes.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_parts.hpp>
#include <sinter/plan/select.hpp>
#include <sinter/support/add_once.hpp>

namespace sinter::inline SINTER_ABI::planning {

// What a caller wants stored: a value, and the argument whose storage receives it (-1: an output of
// its own).
struct wanted {
  int value = -1;
  int assigned_argument = -1;
};

class lowering {
 public:
  lowering(const value_graph& g, const candidate_enumeration& nests, const selection& chosen,
           std::span<const wanted> outputs)
      : g_(g),
        nests_(nests),
        chosen_(chosen),
        buffer_of_(chosen.nest_of.size(), -1),
        emitted_(chosen.nest_of.size(), false) {
    out_.dims = g.terms().dims;
    out_.cost = chosen.cost;
    out_.cost_bound = chosen.lower_bound;
    std::vector<int> copied;
    for (int k = 0; k < static_cast<int>(outputs.size()); ++k)
      if (!place_in_output(outputs[static_cast<std::size_t>(k)].value, k)) copied.push_back(k);
    for (int goal : chosen.order) store(goal);
    for (const wanted& w : outputs) store(goal_of(w.value, chosen.epochs - 1));
    for (int k : copied) copy_to_output(outputs[static_cast<std::size_t>(k)].value, k);
  }

  plan take() { return std::move(out_); }

 private:
  int add_buffer(place where, int number, int value) {
    out_.buffers.push_back({where, number, g_[value].type, g_[value].shape, 0, 0});
    return static_cast<int>(out_.buffers.size()) - 1;
  }

  // The goal that holds a value as nests of this epoch read it. Arguments are the same in all.
  int goal_of(int value, int epoch) const {
    if (g_[value].is_source()) return value * chosen_.epochs;
    return chosen_.stored_as(value * chosen_.epochs + epoch);
  }
  int value_of(int goal) const { return goal / chosen_.epochs; }

  const candidate* nest_of(int goal) const {
    const int n = chosen_.nest_of[static_cast<std::size_t>(goal)];
    return n < 0 ? nullptr : &nests_.all()[static_cast<std::size_t>(n)];
  }
  // What an alias names, or -1.
  int aliased(int goal) const {
    const candidate* c = nest_of(goal);
    if (c == nullptr || c->kind != nest_kind::alias) return -1;
    return goal_of(c->reads[0], goal % chosen_.epochs);
  }

  // Lets the nest that stores the value write the output itself, unless it is an argument, another
  // output already, or kept from call to call.
  bool place_in_output(int value, int number) {
    if (g_[value].is_source() || g_[value].fixed) return false;
    const int stored = goal_of(value, chosen_.epochs - 1);
    for (int goal = stored; goal >= 0; goal = aliased(goal))
      if (g_[value_of(goal)].is_source() || buffer_of_[static_cast<std::size_t>(goal)] >= 0)
        return false;
    for (int goal = stored; goal >= 0; goal = aliased(goal))
      buffer_of_[static_cast<std::size_t>(goal)] =
          add_buffer(place::output, number, value_of(goal));
    return true;
  }

  void copy_to_output(int value, int number) {
    nest n;
    n.kind = nest_kind::tile;
    n.space = g_[value].shape;
    const int stored = goal_of(value, chosen_.epochs - 1);
    n.accesses.push_back({buffer_of_[static_cast<std::size_t>(stored)], g_[value].shape, {}});
    step load{step_kind::load, level::full, g_[value].type};
    if (g_[value].scalar()) load.kind = step_kind::scalar;
    load.access = 0;
    n.body.push_back(load);
    n.stores.push_back({0, add_buffer(place::output, number, value)});
    n.predicted_nanoseconds =
        g_.machine().launch + 2 * g_[value].elements *
                                  static_cast<double>(size_of(g_[value].type)) *
                                  g_.machine().l2_byte;
    out_.nests.push_back(std::move(n));
  }

  // Makes sure the goal is in its buffer when the nests so far have run. Operands first, right
  // before their first reader; the stack is explicit.
  void store(int root) {
    std::vector<std::pair<int, std::size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [goal, next] = stack.back();
      epoch_ = goal % chosen_.epochs;
      const int v = value_of(goal);
      if (g_[v].is_source()) {
        ensure_buffer(v);
        stack.pop_back();
        continue;
      }
      const int number = chosen_.nest_of[static_cast<std::size_t>(goal)];
      const candidate& c = nests_.all()[static_cast<std::size_t>(number)];
      if (emitted_[static_cast<std::size_t>(goal)]) {
        stack.pop_back();
        continue;
      }
      if (next < c.reads.size()) {
        stack.push_back({goal_of(c.reads[next++], epoch_), 0});
        continue;
      }
      for (int out : c.outputs)
        if (is_stored_by(number, out))
          emitted_[static_cast<std::size_t>(out * chosen_.epochs + epoch_)] = true;
      if (!g_[v].is_choice()) emit(c, number);
      stack.pop_back();
    }
  }

  // Does this nest, run in this epoch, store the value?
  bool is_stored_by(int number, int value) const {
    return chosen_.nest_of[static_cast<std::size_t>(value * chosen_.epochs + epoch_)] == number;
  }

  int ensure_buffer(int value) { return ensure_buffer_of(goal_of(value, epoch_)); }
  int ensure_buffer_of(int goal) {
    int& id = buffer_of_[static_cast<std::size_t>(goal)];
    const int value = value_of(goal);
    if (id >= 0) return id;
    if (const form* f = g_[value].find(ir::op::argument))
      return id =
                 add_buffer(place::argument, static_cast<int>(g_.payload(*f).attributes[1]), value);
    return id = add_buffer(place::arena, 0, value);
  }

  // Where a value is read: as `resolve` has it, and as was chosen where there was a choice.
  struct located_view {
    int goal = -1;
    std::vector<view_step> steps;
  };
  located_view locate(int value) {
    resolved_view view = resolve(g_, value, value == root_);
    located_view out{goal_of(view.base, epoch_), std::move(view.steps)};
    while (g_[value_of(out.goal)].is_choice()) {
      const value_class& choice = g_[value_of(out.goal)];
      const int epoch = out.goal % chosen_.epochs;
      const form& way = choice.forms[static_cast<std::size_t>(nest_of(out.goal)->form)];
      const resolved_view below = resolve_way(g_, choice, way);
      out.goal = goal_of(below.base, epoch);
      out.steps.insert(out.steps.end(), below.steps.begin(), below.steps.end());
      chosen_nodes_.insert(chosen_nodes_.end(), below.nodes.begin(), below.nodes.end());
    }
    return out;
  }

  access access_to(int value, bool through_views) {
    const int base = resolve(g_, value, value == root_).base;
    if (!through_views || g_[base].is_immediate())
      return {ensure_buffer(value), g_[value].shape, {}};
    located_view view = locate(value);
    return {ensure_buffer_of(view.goal), g_[value].shape, std::move(view.steps)};
  }

  void emit(const candidate& c, int number) {
    nest n;
    n.kind = c.kind;
    n.predicted_nanoseconds = c.nanoseconds;
    n.enodes = enodes_of(g_, c);
    root_ = c.root;
    const value_class& root = g_[c.root];
    const form* own = c.form >= 0 ? &root.forms[static_cast<std::size_t>(c.form)] : nullptr;
    switch (c.kind) {
      case nest_kind::tile:
      case nest_kind::matmul:
      case nest_kind::column: lower_body(n, c, own, number); break;
      case nest_kind::streamed: lower_streamed(n, c); break;
      case nest_kind::grouped: lower_parts(n, c, number); break;
      case nest_kind::gather:
      case nest_kind::scatter_add:
        n.space = root.shape;
        n.axis = static_cast<int>(g_.payload(*own).attributes[0]);
        for (int operand : own->operands) n.accesses.push_back(access_to(operand, false));
        break;
      case nest_kind::scan: {
        n.space = root.shape;
        const auto& attributes = g_.payload(*own).attributes;
        n.axis = static_cast<int>(attributes[0]);
        n.exclusive = attributes[1] != 0;
        n.reverse = attributes[2] != 0;
        n.accesses.push_back(access_to(own->operands[0], true));
        break;
      }
      case nest_kind::custom: {
        n.space = root.shape;
        n.custom = &g_.custom(*own);
        const auto& attributes = g_.payload(*own).attributes;
        for (std::size_t i = 1; i < attributes.size(); ++i)
          n.custom_attributes.push_back(ir::double_of(attributes[i]));
        for (int operand : own->operands) n.accesses.push_back(access_to(operand, false));
        break;
      }
      case nest_kind::assemble: lower_pieces(n, c, *own); break;
      case nest_kind::pack: break;  // no candidate: see packed_buffer
      case nest_kind::alias: {
        n.space = root.shape;
        const int operand = c.reads[0];
        // Between two of our own buffers an alias is no work: both name the same memory (see
        // memory.hpp).
        n.accesses.push_back({ensure_buffer(operand), g_[operand].shape, {}});
        break;
      }
    }
    if (n.stores.empty()) n.stores.push_back({0, ensure_buffer(c.root)});
    take_chosen_nodes(n);
    out_.nests.push_back(std::move(n));
  }

  // The e-nodes of views that were chosen, as those of what reads them.
  void take_chosen_nodes(nest& n) {
    for (eqsat::node_id node : chosen_nodes_) add_once(n.enodes, node);
    chosen_nodes_.clear();
  }

  void lower_pieces(nest& n, const candidate& c, const form& f) {
    n.space = g_[c.root].shape;
    const auto& payload = g_.payload(f);
    if (f.code == ir::op::pad) {
      n.fill = ir::double_of(payload.attributes[0]);
      ir::symbolic_shape offset;
      for (std::size_t i = 0; i < n.space.size(); ++i) offset.push_back(payload.dims[2 * i]);
      return add_piece(n, c, f.operands[0], offset);
    }
    ir::symbolic_shape offset = ir::symbolic_shape::filled(n.space.size(), ir::dim(0));
    ir::dim& at = offset[payload.attributes[0]];
    for (int operand : f.operands) {
      add_piece(n, c, operand, offset);
      at = out_.dims.add(at, g_[operand].shape[payload.attributes[0]]);
    }
  }

  void add_piece(nest& n, const candidate& c, int value, const ir::symbolic_shape& offset) {
    nest program;  // of this piece alone
    program.space = g_[value].shape;
    body_state s{program, c, {}};
    if (c.inside.computes(value)) {
      value_step(s, value);
    } else {
      step load{step_kind::load, level::full, g_[value].type};
      load.access = add_access(program, access_to(value, true));
      add_step(s.n, load);
    }
    take_accesses(n, program);
    n.pieces.push_back({program.space, offset, std::move(program.body)});
  }

  // ---- tile programs

  struct body_state {
    nest& n;
    const candidate& c;
    std::vector<std::pair<int, int>> step_of;  // (value, step)
  };

  void lower_body(nest& n, const candidate& c, const form* reduction, int number) {
    body_state s{n, c, {}};
    const bool is_pair = c.kind == nest_kind::column && c.pair.any();
    const int result = is_pair ? c.pair.x : reduction != nullptr ? reduction->operands[0] : c.root;
    n.space = c.inside.inner_axes != 0 ? c.inside.space : g_[result].shape;
    n.inner_axes = c.inside.inner_axes;
    if (c.kind == nest_kind::matmul) lower_product(n, c);
    if (reduction != nullptr) add_reduction(s, *reduction, result);
    for (int out : c.outputs)
      if (is_stored_by(number, out)) add_store(s, out);
    // What is made of it may have another nest by now.
    if (c.kind == nest_kind::matmul) value_step(s, c.inside.product);
  }

  // What ends the nest: the reduction of a value, and what stands beside it.
  void add_reduction(body_state& s, const form& f, int value) {
    nest& n = s.n;
    const candidate& c = s.c;
    const bool is_pair = c.kind == nest_kind::column && c.pair.any();
    const std::int64_t mask = g_.payload(f).attributes[0];
    step reduce{step_kind::reduce, level::row, g_[c.root].type,
                is_pair ? first_of_pair(c.pair.kind) : f.code};
    reduce.operands.push_back(value_step(s, value));
    reduce.attribute = mask;
    if (c.kind == nest_kind::column) {
      n.column_first = n.column_last = std::countr_zero(static_cast<std::uint64_t>(mask));
      while (ir::has_axis(mask, n.column_last)) ++n.column_last;
    } else {
      for (const bool inner : {false, true})
        for (int a = 0; a < static_cast<int>(n.space.size()); ++a)
          if (ir::has_axis(mask, a) == inner) n.axis_order.push_back(a);
      n.inner_axes = std::popcount(static_cast<std::uint64_t>(mask));
    }
    s.step_of.emplace_back(is_pair ? c.pair.first : c.root, add_step(s.n, reduce));
    if (!is_pair) return;
    step second{c.pair.kind, level::row, g_[c.root].type};
    second.operands = reduce.operands;
    second.attribute = c.pair.guarded ? 1 : 0;
    s.step_of.emplace_back(c.root, add_step(s.n, second));
  }

  void add_store(body_state& s, int value) {
    const auto sum = std::ranges::find(s.c.sums, value, &summed_value::sum);
    const bool summed = sum != s.c.sums.end();
    const int from = value_step(s, summed ? sum->of : value);
    s.n.stores.push_back({from, ensure_buffer(value), summed});
  }

  void lower_streamed(nest& n, const candidate& c) {
    body_state s{n, c, {}};
    n.space = g_[c.weighted.scores].shape;
    lower_product(n, c);
    n.accesses.push_back(access_to(c.weighted.values, true));
    if (c.computed.a) lower_prologue(n, c, 0);
    if (c.computed.b) lower_prologue(n, c, 1);
    n.transpose_values = c.weighted.transpose_values;
    n.score_scale = c.weighted.scale;
    n.hidden = causal_mask_finder(g_, out_.dims).of(g_[c.weighted.scores].id);
    n.stores.push_back({value_step(s, c.weighted.scores), ensure_buffer(c.root)});
  }

  void lower_product(nest& n, const candidate& c) {
    const int f = c.inside.form_of(c.inside.product);
    const form& product = g_[c.inside.product].forms[static_cast<std::size_t>(f)];
    n.transpose_a = g_.payload(product).attributes[0] != 0;
    n.transpose_b = g_.payload(product).attributes[1] != 0;
    n.winograd = c.winograd;
    for (std::size_t k = 0; k < 2; ++k)
      n.accesses.push_back((k == 0 ? c.computed.a : c.computed.b)
                               ? access{-1, g_[product.operands[k]].shape, {}}
                           : c.gathered[k] >= 0 ? gathered_access(product.operands[k])
                                                : access_to(product.operands[k], true));
    if (c.packed[0] < 0) return;
    n.accesses[1] = packed_access(c.packed[0], n.transpose_b);
    n.packed_b = true;
  }

  access gathered_access(int value) {
    const form* const joins = joined_view(g_, value);
    access a = access_to(joins->operands[0], true);
    a.shape = g_[value].shape;
    a.steps.insert(a.steps.begin(), view_step_of(g_, g_[value], *joins));
    return a;
  }

  access packed_access(int value, bool transpose) {
    const int packed = packed_buffer(value, transpose);
    return {packed, out_.buffers[static_cast<std::size_t>(packed)].shape, {}};
  }

  // Where a matrix is as the kernel of products reads it. The nest that packs it is made for its
  // first reader.
  int packed_buffer(int value, bool transpose) {
    for (const packed_matrix& p : packed_)
      if (p.value == value && p.transpose == transpose) return p.buffer;
    const value_class& matrix = g_[value];
    const std::size_t rank = matrix.shape.size();
    nest n;
    n.kind = nest_kind::pack;
    n.transpose_b = transpose;
    const ir::dim k = matrix.shape[transpose ? rank - 1 : rank - 2],
                  columns = matrix.shape[transpose ? rank - 2 : rank - 1];
    n.space = {k, columns};
    n.accesses.push_back(access_to(value, true));
    ir::dim_table& dims = out_.dims;
    const ir::dim unit(packed_column_unit);
    const ir::dim padded =
        dims.mul(dims.floor_div(dims.add(columns, ir::dim(packed_column_unit - 1)), unit), unit);
    const int buffer = add_buffer(place::arena, 0, value);
    out_.buffers.back().shape = {dims.mul(padded, k)};
    n.stores.push_back({0, buffer});
    n.predicted_nanoseconds = g_.machine().launch + packing_work(matrix, g_.machine());
    out_.nests.push_back(std::move(n));
    packed_.push_back({value, transpose, buffer});
    return buffer;
  }

  void lower_prologue(nest& n, const candidate& c, std::size_t operand) {
    const auto prologue = nests_.prologue_of(c.inside, operand, out_.dims);
    for (const prologue_part& part : prologue->parts) {
      nest program;  // of this part alone
      program.space = part.space;
      body_state s{program, c, {}};
      std::vector<int> step_at;
      for (const prologue_value& made : part.body)
        step_at.push_back(prologue_step(s, part, made, step_at));
      take_accesses(n, program);
      n.prologues[operand].push_back({part.space, part.offset, std::move(program.body)});
    }
    for (const step& each : n.prologues[operand][0].body)
      if (each.access >= 0) n.accesses[operand].buffer = at(n.accesses, each.access).buffer;
  }

  static const access& at(const std::vector<access>& accesses, int number) {
    return accesses[static_cast<std::size_t>(number)];
  }

  int prologue_step(body_state& s, const prologue_part& part, const prologue_value& made,
                    const std::vector<int>& step_at) {
    if (made.form >= 0) {
      const form& f = g_[made.value].forms[static_cast<std::size_t>(made.form)];
      step map{step_kind::map, level::full, g_[made.value].type, f.code};
      if (f.fused >= 0) map.fused = &g_.instruction(f);
      if (f.fused < 0 && f.code == ir::op::custom_map) map.custom = &g_.custom(f);
      for (int operand : made.operands)
        map.operands.push_back(step_at[static_cast<std::size_t>(operand)]);
      return add_step(s.n, map);
    }
    const int number = read(s, made.value);
    const step& load = s.n.body[static_cast<std::size_t>(number)];
    if (load.kind != step_kind::load) return number;
    access& seen = s.n.accesses[static_cast<std::size_t>(load.access)];
    seen.shape = part.space;
    seen.steps.insert(seen.steps.begin(), made.steps.begin(), made.steps.end());
    return number;
  }

  // A part whose outputs other nests store by now is left out.
  void lower_parts(nest& n, const candidate& c, int number) {
    for (int i : c.parts) {
      const candidate& part = nests_.all()[static_cast<std::size_t>(i)];
      if (std::ranges::none_of(part.outputs, [&](int v) { return is_stored_by(number, v); }))
        continue;
      nest& made = n.parts.emplace_back();
      made.kind = part.kind;
      made.predicted_nanoseconds = part.nanoseconds;
      made.enodes = enodes_of(g_, part);
      root_ = part.root;
      lower_body(made, part, nullptr, number);
      take_chosen_nodes(made);
      n.accesses.insert(n.accesses.end(), made.accesses.begin(), made.accesses.end());
      n.stores.insert(n.stores.end(), made.stores.begin(), made.stores.end());
    }
    n.space = n.parts.front().space;
  }

  // Recursion is as deep as a nest's body (at most body_limit).
  int value_step(body_state& s, int value) {
    for (const auto& [v, number] : s.step_of)
      if (v == value) return number;
    const int chosen = s.c.inside.form_of(value);
    const int made = chosen >= 0
                         ? compute(s, value, g_[value].forms[static_cast<std::size_t>(chosen)])
                         : read(s, value);
    s.step_of.push_back({value, made});
    return made;
  }

  int compute(body_state& s, int value, const form& f) {
    step made{step_kind::map, level::full, g_[value].type, f.code};
    if (value == s.c.second) {
      value_step(s, s.c.pair.first);
      made = {step_kind::deviations, level::row, g_[value].type};
      made.operands.push_back(value_step(s, s.c.pair.x));
      return add_step(s.n, made);
    }
    const bool plain = f.fused < 0;
    if (plain && f.code == ir::op::matmul) {
      made.kind = step_kind::product;
      if (value == s.c.inside.second_product) {
        made.attribute = g_.payload(f).attributes[1];
        const int packed = s.c.packed[1];
        made.access = add_access(s.n, packed >= 0 ? packed_access(packed, made.attribute != 0)
                                                  : access_to(f.operands[1], true));
      }
      return add_step(s.n, made);
    }
    if (plain && (f.code == ir::op::iota || f.code == ir::op::random_uniform)) {
      made.kind = f.code == ir::op::iota ? step_kind::iota : step_kind::random;
      made.attribute = g_.payload(f).attributes[1];
      for (int key : f.operands) made.operands.push_back(value_step(s, key));
      return add_step(s.n, made);
    }
    inline_vector<int, ir::region::max_leaves> operands;
    bool any_full = false, any_row = false;
    for (int operand : f.operands) {
      operands.push_back(value_step(s, operand));
      const step& o = s.n.body[static_cast<std::size_t>(operands.back())];
      if (is_uniform(o)) continue;
      (o.level == level::full ? any_full : any_row) = true;
    }
    if (plain && f.code == ir::op::broadcast_to) {
      if (any_full || !any_row) return operands[0];
      made.kind = step_kind::spread;
      made.operands = operands;
      return add_step(s.n, made);
    }
    if (plain && ir::info(f.code).kind == ir::kind::reduction) {
      made.kind = step_kind::reduce;
      made.level = level::row;
      made.attribute = g_.payload(f).attributes[0];
      made.operands = operands;
      return add_step(s.n, made);
    }
    if (any_row && !any_full) made.level = level::row;
    for (int& o : operands) {
      const step& operand = s.n.body[static_cast<std::size_t>(o)];
      if (is_uniform(operand) || operand.level == made.level) continue;
      step spread{step_kind::spread, level::full, operand.type};
      spread.operands.push_back(o);
      o = add_step(s.n, spread);
    }
    if (!plain) made.fused = &g_.instruction(f);
    if (plain && f.code == ir::op::custom_map) made.custom = &g_.custom(f);
    made.operands = operands;
    return add_step(s.n, made);
  }

  int read(body_state& s, int value) {
    const located_view view = locate(value);
    const value_class& base = g_[value_of(view.goal)];
    step made{step_kind::load, level::full, g_[value].type};
    if (base.is_constant) {
      made.kind = step_kind::constant;
      made.constant = is_wide_integer(base.type) ? static_cast<std::int64_t>(base.constant)
                                                 : ir::bits_of(base.constant);
      return add_step(s.n, made);
    }
    // One value for the whole nest: a scalar, or what is a scalar after reshapes, slices, ...
    if (base.scalar() || g_[value].scalar()) {
      if (const form* f = base.find(ir::op::extent)) {
        made.kind = step_kind::extent;
        made.extent = g_.payload(*f).dims[0];
        return add_step(s.n, made);
      }
      made.kind = step_kind::scalar;
      const bool direct = base.scalar();
      made.access =
          add_access(s.n, {ensure_buffer_of(view.goal), direct ? base.shape : g_[value].shape,
                           direct ? std::vector<view_step>{} : view.steps});
      return add_step(s.n, made);
    }
    access a{ensure_buffer_of(view.goal), g_[value].shape, view.steps};
    const int inner = s.n.inner_axes;
    const auto row = [&](const ir::symbolic_shape& shape) {
      return inner != 0 && is_row_of(shape, s.n.space, inner) && !(shape == s.n.space);
    };
    if (row(a.shape)) made.level = level::row;
    // One value per row that is broadcast along it is loaded once per row.
    const bool spread_row = inner != 0 && !a.steps.empty() &&
                            a.steps[0].code == ir::op::broadcast_to && a.shape == s.n.space &&
                            repeated_axes(a.steps[0].operand, a.shape) >= inner;
    if (spread_row) {
      view_step& spread = a.steps[0];
      for (std::size_t i = a.shape.size() - static_cast<std::size_t>(inner); i < a.shape.size();
           ++i)
        a.shape[i] = spread.result[i] = spread.dims[i] = ir::dim(1);
      if (spread.operand == a.shape) a.steps.erase(a.steps.begin());
      made.level = level::row;
    }
    made.access = add_access(s.n, std::move(a));
    const int loaded = add_step(s.n, made);
    if (!spread_row) return loaded;
    step spread{step_kind::spread, level::full, made.type};
    spread.operands.push_back(loaded);
    return add_step(s.n, spread);
  }

  const value_graph& g_;
  const candidate_enumeration& nests_;
  const selection& chosen_;
  int epoch_ = 0;                             // of the nest that is emitted
  int root_ = -1;                             // the value that it was made for
  std::vector<eqsat::node_id> chosen_nodes_;  // of the nest that is lowered
  std::vector<int> buffer_of_;                // by goal
  std::vector<bool> emitted_;                 // by goal
  struct packed_matrix {
    int value;
    bool transpose;
    int buffer;
  };
  std::vector<packed_matrix> packed_;
  plan out_;
};

}  // namespace sinter::inline SINTER_ABI::planning
