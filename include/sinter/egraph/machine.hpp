// SPDX-License-Identifier: MIT
//
// The interpreter of match programs: finds, by backtracking, every match of a rule's left side that
// starts at a given node. Semi-naive: only matches that contain a node touched since the rule's
// last search are reported (a match that is new contains one, see `egraph::start_epoch`).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/program.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// What a match binds, as the interpreter keeps it.
struct bindings {
  std::array<class_id, max_patterns + max_terms> registers;
  std::array<std::uint32_t, max_payloads> payloads;
};

/// Runs `program` over `graph`. `Sink` has `bool found(const bindings&)`, called for each match,
/// and `bool expired()`, asked now and then; the search ends when the first returns false or the
/// second true.
template <class Language, class Sink>
class machine {
 public:
  machine(const egraph<Language>& graph, const match_program& program, std::uint32_t since,
          Sink& sink)
      : graph_(graph), program_(program), since_(since), sink_(sink) {}

  /// Finds the matches whose first root is node `id`. Returns false when the search is to end.
  bool search(node_id id) { return enter(0, id, false); }

 private:
  bool run(std::size_t at, bool fresh) {
    for (; at < program_.code.size(); ++at) {
      const instruction& code = program_.code[at];
      switch (code.kind) {
        case instruction_kind::compare:
          if (state_.registers[code.input] != state_.registers[code.output]) return true;
          break;
        case instruction_kind::literal:
          if (!is_literal(state_.registers[code.input], program_.patterns.literals[code.index]))
            return true;
          break;
        case instruction_kind::lookup: {
          std::size_t term = code.index;
          const node_id found = lookup(term);
          if (found == no_id || graph_.class_of(found) != state_.registers[code.input]) return true;
          fresh = fresh || graph_.record(found).stamp >= since_;
          if (code.last_source && !fresh) return true;
          break;
        }
        case instruction_kind::bind: return bind(at, fresh);
        case instruction_kind::scan: return scan(at, fresh);
        case instruction_kind::scan_parents: return scan_parents(at, fresh);
        case instruction_kind::root:
          return true;  // only ever the first instruction, entered by search()
      }
    }
    return !fresh || sink_.found(state_);
  }

  bool bind(std::size_t at, bool fresh) {
    const instruction& code = program_.code[at];
    const class_id input = state_.registers[code.input];
    if ((graph_.operator_mask(input) >> (code.op % 64) & 1) == 0) return true;
    for (node_id id = graph_.first_node(input); id != no_id; id = graph_.record(id).next) {
      if (!enter(at, id, fresh)) return false;
    }
    return true;
  }

  bool scan(std::size_t at, bool fresh) {
    for (const node_id id : graph_.nodes_by_operator(program_.code[at].op)) {
      if (!enter(at, id, fresh)) return false;
    }
    return true;
  }

  bool scan_parents(std::size_t at, bool fresh) {
    bool go_on = true;
    graph_.for_each_parent(
        state_.registers[program_.code[at].input],
        [&](const enode_view& parent) { go_on = go_on && enter(at, parent.id, fresh); });
    return go_on;
  }

  // Takes node `id` for the instruction if it fits, and goes on with each order of its children.
  bool enter(std::size_t at, node_id id, bool fresh) {
    const instruction& code = program_.code[at];
    const node_record& node = graph_.record(id);
    if (node.op != code.op || node.arity != code.arity || node.dead()) return true;
    if ((++steps_ & 0xfff) == 0 && sink_.expired()) return false;
    fresh = fresh || node.stamp >= since_;
    if (code.last_source && !fresh) return true;
    if (code.payload == payload_kind::zero) {
      if (node.payload != 0) return true;
    } else if (code.payload == payload_kind::variable) {
      if (!code.payload_bound) {
        state_.payloads[code.payload_index] = node.payload;
      } else if (state_.payloads[code.payload_index] != node.payload) {
        return true;
      }
    }
    if (code.kind != instruction_kind::bind) state_.registers[code.root] = node.owner;

    const auto children = graph_.children(node);
    if (!Language::operators[code.op].commutative || children.size() < 2) {
      std::copy(children.begin(), children.end(), state_.registers.begin() + code.output);
      return run(at + 1, fresh);
    }
    return run_all_orders(at, children, fresh);
  }

  // Children of a commutative node are sorted, so next_permutation gives each distinct order once.
  bool run_all_orders(std::size_t at, span<const class_id> children, bool fresh) {
    std::array<class_id, 8> order{};
    const auto end = std::copy(children.begin(), children.end(), order.begin());
    const auto out = state_.registers.begin() + program_.code[at].output;
    do {
      std::copy(order.begin(), end, out);
      if (!run(at + 1, fresh)) return false;
    } while (std::next_permutation(order.begin(), end));
    return true;
  }

  bool is_literal(class_id id, double value) const {
    if constexpr (HasMatchesLiteral<Language>) {
      return graph_.language().matches_literal(graph_, id, value);
    } else {
      return false;
    }
  }

  // The node of the ground term that starts at `term`, which is moved past it.
  node_id lookup(std::size_t& term) const {
    const pattern_term& top = program_.patterns.terms[term++];
    std::array<class_id, max_terms> children;
    for (std::size_t i = 0; i < top.arity; ++i) {
      const node_id child = lookup(term);
      if (child == no_id) return no_id;
      children[i] = graph_.class_of(child);
    }
    return graph_.lookup_node(top.op, 0, span<const class_id>(children.data(), top.arity));
  }

  const egraph<Language>& graph_;
  const match_program& program_;
  std::uint32_t since_;
  Sink& sink_;
  std::uint32_t steps_ = 0;
  bindings state_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
