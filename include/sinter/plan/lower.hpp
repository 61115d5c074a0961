// SPDX-License-Identifier: MIT
// From a selection to nests: each selected candidate becomes a tile program over buffers, operands
// first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/candidate.hpp>
#include <sinter/plan/causal.hpp>
#include <sinter/plan/enodes.hpp>
#include <sinter/plan/goal_buffers.hpp>
#include <sinter/plan/lower_body.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_parts.hpp>
#include <sinter/plan/packed_matrices.hpp>
#include <sinter/plan/select.hpp>

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
        emitted_(chosen.nest_of.size(), false),
        buffers_(g, nests, chosen, out_),
        packed_(g, buffers_, out_) {
    out_.dims = g.terms().dims;
    out_.cost = chosen.cost;
    out_.cost_bound = chosen.lower_bound;
    std::vector<int> copied;
    for (int k = 0; k < static_cast<int>(outputs.size()); ++k)
      if (!buffers_.place_in_output(outputs[static_cast<std::size_t>(k)].value, k))
        copied.push_back(k);
    for (int goal : chosen.order) store(goal);
    for (const wanted& w : outputs) store(buffers_.goal_of(w.value, chosen.epochs - 1));
    for (int k : copied) copy_to_output(outputs[static_cast<std::size_t>(k)].value, k);
  }

  plan take() { return std::move(out_); }

 private:
  const candidate& candidate_at(int number) const {
    return nests_.all()[static_cast<std::size_t>(number)];
  }
  const form& form_at(int value, int number) const {
    return g_[value].forms[static_cast<std::size_t>(number)];
  }

  void copy_to_output(int value, int number) {
    nest n;
    n.kind = nest_kind::tile;
    n.space = g_[value].shape;
    const int stored = buffers_.of_goal(buffers_.goal_of(value, chosen_.epochs - 1));
    step load{step_kind::load, level::full, g_[value].type};
    if (g_[value].scalar()) load.kind = step_kind::scalar;
    load.access = add_access(n, {stored, g_[value].shape, {}});
    n.stores.push_back({add_step(n, load), buffers_.add(place::output, number, value)});
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
      const int epoch = goal % chosen_.epochs, v = buffers_.value_of(goal);
      buffers_.enter(epoch, v);
      if (g_[v].is_source()) {
        buffers_.of(v);
        stack.pop_back();
        continue;
      }
      const int number = chosen_.nest_of[static_cast<std::size_t>(goal)];
      const candidate& c = candidate_at(number);
      if (emitted_[static_cast<std::size_t>(goal)]) {
        stack.pop_back();
        continue;
      }
      if (next < c.reads.size()) {
        stack.push_back({buffers_.goal_of(c.reads[next++], epoch), 0});
        continue;
      }
      for (int out : c.outputs)
        if (buffers_.is_stored_by(number, out))
          emitted_[static_cast<std::size_t>(out * chosen_.epochs + epoch)] = true;
      if (!g_[v].is_choice()) emit(c, number, epoch);
      stack.pop_back();
    }
  }

  nest begin(const candidate& c, int epoch) {
    nest n;
    n.kind = c.kind;
    n.predicted_nanoseconds = c.nanoseconds;
    n.enodes = enodes_of(g_, c);
    buffers_.enter(epoch, c.root);
    return n;
  }

  body_lowering body_of(nest& n, const candidate& c) { return {g_, buffers_, packed_, n, c}; }

  void emit(const candidate& c, int number, int epoch) {
    nest n = begin(c, epoch);
    const value_class& root = g_[c.root];
    const form* own = c.form >= 0 ? &form_at(c.root, c.form) : nullptr;
    switch (c.kind) {
      case nest_kind::tile:
      case nest_kind::matmul:
      case nest_kind::column: lower_body(n, c, own, number); break;
      case nest_kind::streamed: lower_streamed(n, c); break;
      case nest_kind::grouped: lower_parts(n, c, number, epoch); break;
      case nest_kind::gather:
      case nest_kind::scatter_add:
        n.space = root.shape;
        n.axis = static_cast<int>(g_.payload(*own).attributes[0]);
        for (int operand : own->operands) n.accesses.push_back(buffers_.direct_access(operand));
        break;
      case nest_kind::scan: {
        n.space = root.shape;
        const auto& attributes = g_.payload(*own).attributes;
        n.axis = static_cast<int>(attributes[0]);
        n.exclusive = attributes[1] != 0;
        n.reverse = attributes[2] != 0;
        n.accesses.push_back(buffers_.access_to(own->operands[0]));
        break;
      }
      case nest_kind::custom: {
        n.space = root.shape;
        n.custom = &g_.custom(*own);
        const auto& attributes = g_.payload(*own).attributes;
        for (std::size_t i = 1; i < attributes.size(); ++i)
          n.custom_attributes.push_back(ir::double_of(attributes[i]));
        for (int operand : own->operands) n.accesses.push_back(buffers_.direct_access(operand));
        break;
      }
      case nest_kind::assemble: lower_pieces(n, c, *own); break;
      case nest_kind::pack: break;  // no candidate: see packed_matrices.hpp
      case nest_kind::alias:
        n.space = root.shape;
        // Between two of our own buffers an alias is no work: both name the same memory (see
        // memory.hpp).
        n.accesses.push_back(buffers_.direct_access(c.reads[0]));
        break;
    }
    if (n.stores.empty()) n.stores.push_back({0, buffers_.of(c.root)});
    buffers_.take_chosen_nodes(n);
    out_.nests.push_back(std::move(n));
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
    if (c.inside.computes(value)) {
      body_of(program, c).step_of(value);
    } else {
      step load{step_kind::load, level::full, g_[value].type};
      load.access = add_access(program, buffers_.access_to(value));
      add_step(program, load);
    }
    take_accesses(n, program);
    n.pieces.push_back({program.space, offset, std::move(program.body)});
  }

  void lower_body(nest& n, const candidate& c, const form* reduction, int number) {
    const bool is_pair = c.kind == nest_kind::column && c.pair.any();
    const int result = is_pair ? c.pair.x : reduction != nullptr ? reduction->operands[0] : c.root;
    n.space = c.inside.inner_axes != 0 ? c.inside.space : g_[result].shape;
    n.inner_axes = c.inside.inner_axes;
    if (c.kind == nest_kind::matmul) lower_product(n, c);
    body_lowering body = body_of(n, c);
    if (reduction != nullptr) body.add_reduction(*reduction, result);
    for (int out : c.outputs)
      if (buffers_.is_stored_by(number, out)) body.add_store(out);
    // What is made of it may have another nest by now.
    if (c.kind == nest_kind::matmul) body.step_of(c.inside.product);
  }

  void lower_streamed(nest& n, const candidate& c) {
    n.space = g_[c.weighted.scores].shape;
    lower_product(n, c);
    n.accesses.push_back(buffers_.access_to(c.weighted.values));
    if (c.computed.a) lower_prologue(n, c, 0);
    if (c.computed.b) lower_prologue(n, c, 1);
    n.transpose_values = c.weighted.transpose_values;
    n.score_scale = c.weighted.scale;
    n.hidden = causal_mask_finder(g_, out_.dims).of(g_[c.weighted.scores].id);
    n.stores.push_back({body_of(n, c).step_of(c.weighted.scores), buffers_.of(c.root)});
  }

  void lower_product(nest& n, const candidate& c) {
    const form& product = form_at(c.inside.product, c.inside.form_of(c.inside.product));
    n.transpose_a = g_.payload(product).attributes[0] != 0;
    n.transpose_b = g_.payload(product).attributes[1] != 0;
    n.winograd = c.winograd;
    for (std::size_t k = 0; k < 2; ++k)
      n.accesses.push_back((k == 0 ? c.computed.a : c.computed.b)
                               ? access{-1, g_[product.operands[k]].shape, {}}
                           : c.gathered[k] >= 0 ? buffers_.gathered_access(product.operands[k])
                                                : buffers_.access_to(product.operands[k]));
    if (c.packed[0] < 0) return;
    n.accesses[1] = packed_.access_to(c.packed[0], n.transpose_b);
    n.packed_b = true;
  }

  void lower_prologue(nest& n, const candidate& c, std::size_t operand) {
    const auto prologue = nests_.prologue_of(c.inside, operand, out_.dims);
    for (const prologue_part& part : prologue->parts) {
      nest program;  // of this part alone
      program.space = part.space;
      body_lowering body = body_of(program, c);
      std::vector<int> step_at;
      for (const prologue_value& made : part.body)
        step_at.push_back(body.prologue_step(part, made, step_at));
      take_accesses(n, program);
      n.prologues[operand].push_back({part.space, part.offset, std::move(program.body)});
    }
    for (const step& each : n.prologues[operand][0].body)
      if (each.access >= 0)
        n.accesses[operand].buffer = n.accesses[static_cast<std::size_t>(each.access)].buffer;
  }

  // A part whose outputs other nests store by now is left out.
  void lower_parts(nest& n, const candidate& c, int number, int epoch) {
    for (int i : c.parts) {
      const candidate& part = candidate_at(i);
      if (std::ranges::none_of(part.outputs,
                               [&](int v) { return buffers_.is_stored_by(number, v); }))
        continue;
      nest& made = n.parts.emplace_back(begin(part, epoch));
      lower_body(made, part, nullptr, number);
      buffers_.take_chosen_nodes(made);
      n.accesses.insert(n.accesses.end(), made.accesses.begin(), made.accesses.end());
      n.stores.insert(n.stores.end(), made.stores.begin(), made.stores.end());
    }
    n.space = n.parts.front().space;
  }

  const value_graph& g_;
  const candidate_enumeration& nests_;
  const selection& chosen_;
  std::vector<bool> emitted_;  // by goal
  plan out_;
  goal_buffers buffers_;
  packed_matrices packed_;
};

}  // namespace sinter::inline SINTER_ABI::planning
