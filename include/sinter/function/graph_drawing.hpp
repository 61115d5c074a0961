// SPDX-License-Identifier: MIT
// What is drawn of a call: the graph as it was traced, and as the nests of the plan compute it.
// Constants stand inside the nodes that use them, and each node knows the nest that computes it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sinter/function/explained.hpp>
#include <sinter/function/graph_svg.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

inline std::string output_title(const ir::graph& g, std::size_t k) {
  const int assigned = g.outputs[k].assigned_argument;
  return "output " + std::to_string(k) +
         (assigned >= 0 ? ": argument " + std::to_string(assigned) : "");
}

inline std::string argument_title(const explained& e, int number) {
  const auto at = static_cast<std::size_t>(number);
  const bool named = at < e.argument_names.size() && !e.argument_names[at].empty();
  return "argument " + std::to_string(number) + (named ? ": " + e.argument_names[at] : "");
}

// By class of the e-graph: the first nest that stores or computes one of its terms.
inline std::map<eqsat::class_id, int> nests_by_class(const explained& e) {
  std::map<eqsat::class_id, int> out;
  const rules::tensor_egraph& graph = e.shapes->saturated;
  int number = 0;
  const auto add = [&](const planning::nest& n) {
    for (eqsat::node_id node : n.enodes) out.try_emplace(graph.find(graph.class_of(node)), number);
  };
  const auto add_all = [&](const planning::plan& p) {
    for (const planning::nest& n : p.nests) {
      add(n);
      for (const planning::nest& part : n.parts) add(part);
      ++number;
    }
  };
  add_all(e.made->plan);
  if (e.preparation) add_all(*e.preparation->part.plan);
  return out;
}

// The graph as it was traced and bound. What no nest computes is what rules made superfluous.
inline drawn_graph traced_graph(const explained& e) {
  const ir::graph& g = e.shapes->bound;
  std::vector<bool> needed(static_cast<std::size_t>(g.size()), false);
  for (const ir::output& o : g.outputs) needed[static_cast<std::size_t>(o.node)] = true;
  for (int id = g.size() - 1; id >= 0; --id)
    if (needed[static_cast<std::size_t>(id)])
      for (int input : g.inputs(id)) needed[static_cast<std::size_t>(input)] = true;

  // The e-graph has the terms of the bound graph: adding them again finds their classes.
  rules::tensor_egraph graph = e.shapes->saturated;
  const std::map<eqsat::class_id, int> nests = nests_by_class(e);
  const auto nest_of = [&](int id) {
    const auto found = nests.find(graph.find(graph.language().add(graph, id)));
    return found == nests.end() ? -1 : found->second;
  };

  drawn_graph out;
  std::vector<int> number(static_cast<std::size_t>(g.size()), -1);
  for (int id = 0; id < g.size(); ++id) {
    if (!needed[static_cast<std::size_t>(id)] || g[id].code == ir::op::constant) continue;
    const bool is_argument = g[id].code == ir::op::argument;
    std::string constants;
    bool any = false;
    std::vector<int> operands;
    for (int input : g.inputs(id)) {
      const bool constant = g[input].code == ir::op::constant;
      any = any || constant;
      constants += (constants.empty() ? "" : ", ") +
                   (constant ? ir::detail::constant_text(g, input) : std::string("_"));
      if (!constant) operands.push_back(number[static_cast<std::size_t>(input)]);
    }
    number[static_cast<std::size_t>(id)] =
        out.add({is_argument ? drawn_role::argument : drawn_role::op,
                 is_argument ? argument_title(e, static_cast<int>(g.attributes(id)[1]))
                             : std::string(ir::op_name(g, id)) + (any ? "(" + constants + ")" : ""),
                 ir::type_text(g, id), ir::node_text(g, id), is_argument ? -1 : nest_of(id)},
                operands);
  }
  for (std::size_t k = 0; k < g.outputs.size(); ++k) {
    const int from = number[static_cast<std::size_t>(g.outputs[k].node)];
    out.add({drawn_role::output, output_title(g, k), ir::type_text(g, g.outputs[k].node),
             ir::node_text(g, g.outputs[k].node), -1},
            {&from, 1});
  }
  return out;
}

// What the nests compute, step by step.
class plan_drawing {
 public:
  explicit plan_drawing(const explained& e) : e_(e), traced_(e.shapes->bound) {
    const int calls = static_cast<int>(e.made->plan.nests.size());
    if (e.preparation) add_plan(*e.preparation->part.plan, calls);
    add_plan(e.made->plan, 0);
    for (const auto& [k, from] : outputs_) {
      const int node = traced_.outputs[static_cast<std::size_t>(k)].node;
      out_.add({drawn_role::output, output_title(traced_, static_cast<std::size_t>(k)),
                ir::type_text(traced_, node), ir::node_text(traced_, node), -1},
               {&from, 1});
    }
  }

  drawn_graph take() { return std::move(out_); }

 private:
  // What a step is to those that read it: a node, or text inside of them.
  struct operand {
    int node = -1;
    std::string text{};
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void add_plan(const planning::plan& p, int first_nest) {
    plan_ = &p;
    for (std::size_t i = 0; i < p.nests.size(); ++i) {
      nest_ = first_nest + static_cast<int>(i);
      add_nest(p.nests[i]);
    }
  }

  // The node that a buffer's elements come from: what was written last to the memory that it names,
  // also under the name of another shape.
  int source_of(int buffer) {
    const planning::buffer& b = plan_->buffers[at(buffer)];
    if (b.place != planning::place::argument) return writer_of(b);
    int& known = arguments_.try_emplace(b.number, -1).first->second;
    if (known < 0) {
      const std::string title = argument_title(e_, b.number), type = type_text(b);
      known = out_.add({drawn_role::argument, title, type, title + " : " + type, -1}, {});
    }
    return known;
  }

  int& writer_of(const planning::buffer& b) {
    const std::size_t where =
        b.place == planning::place::arena ? b.offset : static_cast<std::size_t>(b.number);
    return writers_.try_emplace({b.place, where}, -1).first->second;
  }

  void store(int buffer, int node) {
    const planning::buffer& b = plan_->buffers[at(buffer)];
    writer_of(b) = node;
    if (b.place == planning::place::output) outputs_[b.number] = node;
  }

  std::string type_text(const planning::buffer& b) const {
    return std::string(name(b.type)) + plan_->dims.to_string(b.shape);
  }

  int add_op(const std::string& title, const std::string& type, const std::string& details,
             span<const int> operands) {
    return out_.add({drawn_role::op, title, type, details, nest_}, operands);
  }

  void add_nest(const planning::nest& n) {
    if (!n.parts.empty()) {
      for (const planning::nest& part : n.parts) add_nest(part);
      return;
    }
    if (n.kind == planning::nest_kind::alias) {
      store(n.stores[0].buffer, source_of(n.accesses[0].buffer));
      return;
    }
    if (n.body.empty()) {
      add_whole(n);
      return;
    }
    std::array<int, 2> factors{-1, -1};
    if (n.kind == planning::nest_kind::matmul || n.kind == planning::nest_kind::streamed)
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
        if (n.prologues[k].empty()) factors[k] = source_of(n.accesses[k].buffer);
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
      for (const planning::operand_part& part : n.prologues[k])
        factors[k] = node_of(add_body(n, part.body, part.space, factors).back());
    const std::vector<operand> steps = add_body(n, n.body, n.space, factors);
    if (n.kind == planning::nest_kind::streamed) {
      const std::array<int, 2> operands{node_of(steps[at(n.stores[0].step)]),
                                        source_of(n.accesses[2].buffer)};
      store(n.stores[0].buffer,
            add_op("softmax, weighs values", type_text(plan_->buffers[at(n.stores[0].buffer)]),
                   "the softmax of each row of scores, which weighs the values", operands));
      return;
    }
    for (const planning::store& each : n.stores) {
      int node = node_of(steps[at(each.step)]);
      if (each.summed)
        node = add_op("reduce_sum", type_text(plan_->buffers[at(each.buffer)]),
                      "the sum over the rows of the nest", span(&node, 1));
      store(each.buffer, node);
    }
  }

  // A nest that is one op.
  void add_whole(const planning::nest& n) {
    std::vector<int> operands;
    if (n.pieces.empty())
      for (const planning::access& a : n.accesses) operands.push_back(source_of(a.buffer));
    for (const planning::piece& p : n.pieces)
      operands.push_back(node_of(add_body(n, p.body, p.space, {-1, -1}).back()));
    const std::string title(n.custom != nullptr ? n.custom->name
                                                : planning::plan_printer::kind_name(n.kind));
    const int node =
        add_op(title, type_text(plan_->buffers[at(n.stores[0].buffer)]), title, operands);
    for (const planning::store& each : n.stores) store(each.buffer, node);
  }

  // A constant that is stored, or read by what is a node of its own, is one, too.
  int node_of(const operand& o) {
    return o.node >= 0 || o.text.empty() ? o.node : add_op(o.text, "", o.text, {});
  }

  std::vector<operand> add_body(const planning::nest& n, const std::vector<planning::step>& body,
                                const ir::symbolic_shape& space,
                                const std::array<int, 2>& factors) {
    std::vector<operand> out;
    for (const planning::step& s : body) out.push_back(add_step(n, s, space, out, factors));
    return out;
  }

  operand add_step(const planning::nest& n, const planning::step& s,
                   const ir::symbolic_shape& space, const std::vector<operand>& before,
                   const std::array<int, 2>& factors) {
    using enum planning::step_kind;
    std::string title;
    std::vector<int> operands;
    switch (s.kind) {
      case load:
      case scalar: return {source_of(n.accesses[at(s.access)].buffer)};
      case constant:
        return {-1, is_wide_integer(s.type) ? std::to_string(s.constant)
                                            : ir::number_text(s.type, ir::double_of(s.constant))};
      case extent: return {-1, plan_->dims.to_string(s.extent)};
      case iota: return {-1, "index " + std::to_string(s.attribute)};
      case spread: return before[at(s.operands[0])];
      case random: title = "random"; break;
      case map:
        title = s.fused != nullptr    ? fused_names(s.fused->structure)
                : s.custom != nullptr ? std::string(s.custom->name)
                                      : std::string(ir::name(s.code));
        break;
      case reduce: title = ir::name(s.code); break;
      case deviations: title = "squared deviations"; break;
      case exponentials: title = "sum of exponentials"; break;
      case product:
        title = "product";
        operands = {factors[0],
                    s.access >= 0 ? source_of(n.accesses[at(s.access)].buffer) : factors[1]};
        break;
    }
    std::string constants;
    bool any = false;
    for (int o : s.operands) {
      const operand& each = before[at(o)];
      operands.push_back(each.node);
      any = any || !each.text.empty();
      constants += (constants.empty() ? "" : ", ") + (each.text.empty() ? "_" : each.text);
    }
    if (any) title += "(" + constants + ")";
    const std::string type =
        std::string(name(s.type)) + plan_->dims.to_string(space) +
        (s.level == planning::level::row && n.inner_axes > 0 ? " per row" : "");
    return {add_op(title, type, title + " : " + type, operands)};
  }

  static std::string fused_names(const ir::region& r) {
    std::string out;
    for (int i = 0; i < r.node_count; ++i)
      out += (i == 0 ? "" : " ") + std::string(ir::name(r.code(i)));
    return out;
  }

  const explained& e_;
  const ir::graph& traced_;
  const planning::plan* plan_ = nullptr;
  int nest_ = 0;
  // Nodes: by number, and by what was written.
  std::map<int, int> arguments_, outputs_;
  std::map<std::pair<planning::place, std::size_t>, int> writers_;
  drawn_graph out_;
};

}  // namespace sinter::inline SINTER_ABI::detail
