// SPDX-License-Identifier: MIT
// The rewrites of a plan's nests from a saturation that remembers. Every one is tried again as the
// verifier will (replay_rewrite.hpp), which decides how it is written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sinter/egraph/explain.hpp>
#include <sinter/function/nest_history.hpp>
#include <sinter/function/replay_rewrite.hpp>
#include <sinter/function/rewrites.hpp>
#include <sinter/rules/fold.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

class rewrite_writer {
 public:
  // `bound` as the history was made from.
  rewrite_writer(nest_history& history, const ir::graph& bound, const ir::fixed_inputs& fixed,
                 span<const ir::instruction> instructions)
      : history_(history), instructions_(instructions), fixed_(fixed) {
    out_.terms.dims = language().terms().dims;
    out_.terms.symbol_values = bound.symbol_values;
    out_.terms.customs = language().terms().customs;
    out_.terms.random_streams = bound.random_streams;
    out_.terms.argument_names = bound.argument_names;
    out_.terms.guards = language().terms().guards;  // so that inference asks nothing anew
  }

  // For each nest and each part, in the order of notes.
  void add(const planning::nest& n) {
    out_.nests.emplace_back();
    for (const history_link& link : history_.of(n)) {
      rewrite_link own{node_of(link.from), node_of(link.to), {}, link.then};
      for (std::uint32_t number : eqsat::equalities_between(history_.graph(), link.from, link.to))
        own.steps.push_back(step_of(record().equalities()[number]));
      std::ranges::sort(own.steps, comes_before);
      const auto repeated = std::ranges::unique(
          own.steps, [](const rewrite& a, const rewrite& b) { return !comes_before(a, b); });
      own.steps.erase(repeated.begin(), repeated.end());
      out_.nests.back().push_back(std::move(own));
    }
  }

  rewrites take() {
    const rewrite_replay replay(out_.terms, fixed_);
    std::map<std::string, bool> known;
    for (auto& nest : out_.nests)
      for (std::size_t i = 0; i < nest.size(); ++i) {
        rewrite_link& link = nest[i];
        if (i + 1 < nest.size())
          link.then_unchecked = !replay.brings_up(link.then, link.to, nest[i + 1].from);
        for (rewrite& s : link.steps) {
          const auto [found, is_new] = known.try_emplace(
              s.name + " " + std::to_string(s.left) + " " + std::to_string(s.right), false);
          if (is_new) found->second = replay.gives(s.name, s.left, s.right);
          s.by_value = !found->second;
        }
      }
    out_.terms.guards.clear();
    return std::move(out_);
  }

 private:
  const eqsat::proof_record& record() const { return *history_.graph().proofs(); }
  const rules::tensor_language& language() const { return history_.graph().language(); }

  rewrite step_of(const eqsat::equality& e) {
    rewrite out;
    out.left = node_of(e.left);
    out.right = node_of(e.right);
    const std::string& name = record().name(e.why.name);
    if (e.why.kind == eqsat::equality_kind::analysis) {
      out.kind = rewrite_kind::analysis;
    } else if (e.why.kind == eqsat::equality_kind::rule ||
               rewrite_replay(out_.terms, fixed_).knows(name)) {
      out.name = name;
    } else {
      out.kind = rewrite_kind::instruction;
    }
    return out;
  }

  // Children have smaller numbers than their term, so recursion ends; it is as deep as the term.
  int node_of(eqsat::term_id id) {
    if (const auto known = node_.find(id); known != node_.end()) return known->second;
    const eqsat::term_view term = record().terms()[id];
    const std::uint16_t op = term.op;
    const std::uint32_t payload = term.payload;
    const std::vector<eqsat::term_id> children(term.children.begin(), term.children.end());
    std::vector<int> in;
    for (eqsat::term_id child : children) in.push_back(node_of(child));
    return node_[id] = op == rules::fused_operator ? add_region(payload, std::move(in))
                                                   : add_op(op, payload, in);
  }

  int add_op(std::uint16_t op, std::uint32_t payload, span<const int> in) {
    const rules::tensor_language::payload_record& record = language().payload(payload);
    std::vector<std::int64_t> attributes = record.attributes;
    // Text has what the dtype holds of a constant: of two that are the same then, one is kept.
    if (static_cast<ir::op>(op) == ir::op::constant) {
      const auto type = static_cast<dtype>(attributes[0]);
      if (!is_wide_integer(type)) {
        double value = ir::double_of(attributes[1]);
        rules::detail::round_to(type, value);
        attributes[1] = ir::bits_of(value);
      }
    }
    return ir::append(out_.terms, static_cast<ir::op>(op), in, attributes, record.dims);
  }

  // A superinstruction as the ops that it stands for.
  int add_region(std::uint32_t instruction, std::vector<int> values) {
    const ir::region& region = instructions_[instruction].structure;
    for (int k = 0; k < region.node_count; ++k) {
      std::vector<int> in;
      for (int i = 0; i < ir::info(region.code(k)).arity; ++i)
        in.push_back(values[static_cast<std::size_t>(region.operand(k, i))]);
      const std::int64_t type[] = {static_cast<std::int64_t>(region.type)};
      const span<const std::int64_t> attributes(type, region.code(k) == ir::op::cast ? 1 : 0);
      values.push_back(ir::append(out_.terms, region.code(k), in, attributes, {}));
    }
    return values.back();
  }

  nest_history& history_;
  span<const ir::instruction> instructions_;
  ir::fixed_inputs fixed_;
  rewrites out_;
  std::map<eqsat::term_id, int> node_;
};

}  // namespace sinter::inline SINTER_ABI::detail
