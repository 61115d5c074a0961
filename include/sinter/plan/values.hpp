// SPDX-License-Identifier: MIT
// The saturated e-graph as the enumeration of nests reads it: the classes that the outputs can
// need, in an order in which operands come first, each with a few executable forms (e-nodes). Forms
// that would close a cycle are left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/op_work.hpp>
#include <sinter/rules/language.hpp>

namespace sinter::inline SINTER_ABI::planning {

using eqsat::class_id;
using rules::tensor_egraph;

// One way to compute a class: an op, or, if `fused` >= 0, the superinstruction of that number
// (`code`: its last op).
struct form {
  ir::op code{};
  int fused = -1;
  std::uint32_t payload = 0;
  std::vector<int> operands;           // numbers of values
  double work = 0;                     // nanoseconds per element on one core, in a tile program
  eqsat::node_id node = eqsat::no_id;  // the e-node it was made of
};

struct value_class {
  class_id id = 0;
  int term = -1;
  dtype type{};
  ir::symbolic_shape shape;
  double elements = 0;  // for the extents at hand
  bool is_constant = false;
  double constant = 0;
  bool fixed = false;  // can be computed from frozen arguments alone, once
  // The least work per element that all element-wise forms below it take together, 0 where there is
  // one of another kind.
  double whole = 0;
  std::vector<form> forms;
  // Of a value that may be read in several ways (view_choice.hpp), or -1: the choice that stands
  // for it wherever nests read it, and the one that stands for the views that it is.
  int reader = -1, views = -1;
  // Of a choice: the value that it stands for. Its forms are the ways to read that: where it is
  // stored (then the operand is the value itself), or as a view.
  int stands_for = -1;

  bool is_choice() const { return stands_for >= 0; }

  const form* find(ir::op code) const {
    for (const form& f : forms)
      if (f.fused < 0 && f.code == code) return &f;
    return nullptr;
  }
  bool scalar() const { return shape.empty(); }
  // In memory from the start, or no memory at all.
  bool is_source() const { return find(ir::op::argument) != nullptr; }
  bool is_immediate() const { return is_constant || (scalar() && find(ir::op::extent) != nullptr); }
  double bytes() const { return elements * static_cast<double>(size_of(type)); }
};

inline constexpr std::size_t forms_kept = 5;

// Can a tile program or a nest of its own compute this op? Composites are run through their
// expansion.
inline bool executable(ir::op code) {
  const ir::kind k = ir::info(code).kind;
  return k != ir::kind::composite && k != ir::kind::control && code != ir::op::sum_to &&
         code != ir::op::stop_gradient;
}

class value_graph {
 public:
  value_graph(const tensor_egraph& graph, std::span<const class_id> roots,
              std::span<const ir::instruction> instructions,
              const planning::machine& machine = nominal_machine)
      : graph_(graph),
        instructions_(instructions),
        machine_(machine),
        number_(graph.class_id_end(), -1),
        state_(graph.class_id_end(), unseen) {
    for (class_id root : roots) visit(graph.find(root));
  }

  const tensor_egraph& graph() const { return graph_; }
  /// What costs are predicted for.
  const planning::machine& machine() const { return machine_; }
  const std::vector<value_class>& values() const { return values_; }
  const value_class& operator[](int v) const { return values_[static_cast<std::size_t>(v)]; }
  int size() const { return static_cast<int>(values_.size()); }
  /// Lets nests read a value through a new one, which chooses between it and these views (of its
  /// forms).
  void add_reader(int v, std::vector<form> views) {
    form own;
    own.code = ir::op::recompute;
    own.operands = {v};
    views.insert(views.begin(), std::move(own));
    values_[static_cast<std::size_t>(v)].reader = add_choice(v, std::move(views));
  }
  /// Where the value is read as a view, lets a new one choose which of these.
  void add_views(int v, std::vector<form> views) {
    values_[static_cast<std::size_t>(v)].views = add_choice(v, std::move(views));
  }
  int number(class_id id) const { return number_[graph_.find(id)]; }
  const ir::graph& terms() const { return graph_.language().terms(); }
  const rules::tensor_language::payload_record& payload(const form& f) const {
    return graph_.language().payload(f.payload);
  }
  const ir::custom_op& custom(const form& f) const { return terms().custom(payload(f).attributes); }
  const ir::instruction& instruction(const form& f) const {
    return instructions_[static_cast<std::size_t>(f.fused)];
  }
  std::int64_t extent(ir::dim d) const { return terms().dims.evaluate(d, terms().symbol_values); }

  /// The depth of a product: the extent that its factors share.
  std::int64_t depth_of(const form& product) const {
    const value_class& a = (*this)[product.operands[0]];
    const std::size_t rank = a.shape.size();
    const bool transposed = payload(product).attributes[0] != 0;
    return extent(a.shape[transposed ? rank - 2 : rank - 1]);
  }

 private:
  enum : std::uint8_t { unseen, open, done };

  int add_choice(int v, std::vector<form> ways) {
    value_class choice = (*this)[v];
    choice.forms = std::move(ways);
    choice.reader = choice.views = -1;
    choice.stands_for = v;
    values_.push_back(std::move(choice));
    return size() - 1;
  }

  // Depth first over all executable forms; a form whose operand is still open closes a cycle and is
  // dropped. The stack is explicit: a deep network is a deep graph.
  void visit(class_id root) {
    struct frame {
      class_id id;
      std::vector<eqsat::enode_view> nodes;
      std::size_t node = 0, child = 0;
    };
    if (state_[root] != unseen) return;
    std::vector<frame> stack;
    const auto enter = [&](class_id id) {
      state_[id] = open;
      stack.push_back({id, executable_nodes(id), 0, 0});
    };
    enter(root);
    while (!stack.empty()) {
      frame& top = stack.back();
      if (top.node == top.nodes.size()) {
        finish(top.id, top.nodes);
        state_[top.id] = done;
        if (number_[top.id] >= 0) finish_postponed();
        stack.pop_back();
        continue;
      }
      const auto children = top.nodes[top.node].children;
      if (top.child == children.size()) {
        ++top.node;
        top.child = 0;
        continue;
      }
      const class_id child = graph_.find(children[top.child++]);
      if (state_[child] == unseen) enter(child);
    }
  }

  // Classes that were reached from inside of a cycle alone, and lost all their forms there, may
  // have some as soon as a class of the cycle is done: before what reads them is, which would lose
  // them.
  void finish_postponed() {
    for (bool found = true; found && !postponed_.empty();) {
      found = false;
      std::vector<class_id> again;
      again.swap(postponed_);
      for (class_id id : again) {
        finish(id, executable_nodes(id));
        found = found || number_[id] >= 0;
      }
    }
  }

  std::vector<eqsat::enode_view> executable_nodes(class_id id) const {
    std::vector<eqsat::enode_view> out;
    for (const eqsat::enode_view& n : graph_.nodes(id))
      if (n.op == rules::fused_operator ||
          (n.op < ir::op_count && executable(static_cast<ir::op>(n.op)) &&
           !is_cut_out_of_itself(id, n)))
        out.push_back(n);
    return out;
  }

  // A slice of a concatenation of which the class is a part, or of its own padding. Where the class
  // is met first, following it would close a cycle there, and lose the concatenation or padding.
  bool is_cut_out_of_itself(class_id id, const eqsat::enode_view& slice) const {
    if (slice.op != static_cast<std::uint16_t>(ir::op::slice)) return false;
    for (const eqsat::enode_view& n : graph_.nodes(graph_.find(slice.children[0])))
      if (n.op == static_cast<std::uint16_t>(ir::op::concat) ||
          n.op == static_cast<std::uint16_t>(ir::op::pad))
        for (class_id part : n.children)
          if (graph_.find(part) == graph_.find(id)) return true;
    return false;
  }

  void finish(class_id id, std::span<const eqsat::enode_view> nodes) {
    const rules::facts& known = graph_.data(id);
    const ir::node& n = terms()[known.term];
    value_class v{id,          known.term, n.type, n.shape, 1, known.is_constant, known.constant,
                  known.fixed, 0,          {}};
    for (ir::dim d : v.shape) v.elements *= static_cast<double>(extent(d));
    for (const eqsat::enode_view& node : nodes) {
      form f{node.op < ir::op_count ? static_cast<ir::op>(node.op) : ir::op::stop_gradient,
             -1,
             node.payload,
             {},
             0,
             node.id};
      bool usable = true;
      for (class_id child : node.children) {
        const int operand = number_[graph_.find(child)];
        usable = usable && operand >= 0;
        f.operands.push_back(operand);
      }
      if (!usable) continue;
      if (node.op == rules::fused_operator) {
        const ir::region& structure = instructions_[node.payload].structure;
        f.fused = static_cast<int>(node.payload);
        f.code = structure.code(structure.node_count - 1);
        f.work = instruction_work(instructions_[node.payload], machine_);
      } else if (f.code == ir::op::custom_map) {
        f.work = custom_work(custom(f), v.type, machine_);
      } else {
        f.work = micro_work(f.code, v.type, machine_);
      }
      f.work = rounded_work(f.work);
      v.forms.push_back(std::move(f));
    }
    if (v.forms.empty()) return postponed_.push_back(id);
    keep_best(v);
    number_[id] = size();
    values_.push_back(std::move(v));
  }

  // Leaves first, then by work; the order is total, so the choice is the same on every run. A
  // superinstruction of one op takes what its micro-op does, but reduces the result on the way: it
  // comes first. Where operands are not in memory anyhow, what counts is the whole: the form that
  // takes least is kept whatever it takes by itself. (The gradient of a mean squared error is one
  // instruction; five shorter forms pushed it out.)
  void keep_best(value_class& v) const {
    const auto is_one_op = [&](const form& f) {
      return f.fused >= 0 && instruction(f).structure.node_count == 1;
    };
    std::ranges::stable_sort(v.forms, {}, [&](const form& f) {
      return std::pair(f.operands.empty() ? -1.0 : f.work, !is_one_op(f));
    });
    const auto least =
        std::ranges::min_element(v.forms, {}, [&](const form& f) { return whole_work(v, f); });
    v.whole = whole_work(v, *least);
    if (v.forms.size() <= forms_kept) return;
    const auto kept = v.forms.begin() + forms_kept;
    if (least > kept) std::iter_swap(kept, least);
    v.forms.erase(least < kept ? kept : kept + 1, v.forms.end());
  }

  double whole_work(const value_class& v, const form& f) const {
    if (f.fused < 0 && !ir::is_elementwise(f.code)) return 0;
    double work = f.work;
    for (int operand : f.operands)
      if ((*this)[operand].shape == v.shape) work += (*this)[operand].whole;
    return work;
  }

  const tensor_egraph& graph_;
  std::span<const ir::instruction> instructions_;
  planning::machine machine_;
  std::vector<value_class> values_;
  std::vector<int> number_;
  std::vector<std::uint8_t> state_;
  std::vector<class_id> postponed_;
};

}  // namespace sinter::inline SINTER_ABI::planning
