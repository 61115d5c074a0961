// SPDX-License-Identifier: MIT
// The rewrites of an exported plan: every one is replayed, none assumes more about extents than the
// guards say, and together they lead from what was traced to what each nest computes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sinter/function/equal_terms.hpp>
#include <sinter/function/plan_file.hpp>
#include <sinter/function/plan_values.hpp>
#include <sinter/function/plan_verification.hpp>
#include <sinter/function/replay_rewrite.hpp>
#include <sinter/function/rewrites.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

class rewrite_verifier {
 public:
  rewrite_verifier(const ir::graph& bound, const std::vector<planning::schedule>& schedules,
                   const plan_values& values, std::int64_t most_work, plan_verification& found)
      : bound_(bound),
        schedules_(schedules),
        values_(values),
        most_work_(most_work),
        found_(found) {}

  // Throws error.
  void run(const plan_record& p, const std::vector<bool>& frozen,
           span<const ir::custom_op* const> customs) {
    if (p.rewrites.empty()) return;
    read_ = rewrites_reader(p.rewrites, customs).read();
    require_sound(read_.nests.size() == p.notes.size(),
                  "rewrites: there must be some for every nest");
    require_sound(read_.terms.symbol_values == bound_.symbol_values, "rewrites: other extents");
    require_sound(read_.terms.guards.empty(), "rewrites: guards are those of the graph");
    require_sound(symbols_in(read_.terms.dims) == symbols_in(bound_.dims),
                  "rewrites: an extent is missing");
    const std::vector<int> traced = find_terms();
    interpret();
    const rewrite_replay replay(read_.terms, ir::fixed_inputs(bound_, frozen));
    const std::vector<const ir::reference_tensor*> stored = comparable_results();
    for (std::size_t i = 0; i < read_.nests.size(); ++i) {
      who_ = "rewrites of nest " + std::to_string(i) + ": ";
      const std::vector<rewrite_link>& links = read_.nests[i];
      require_sound(links.empty() == p.notes[i].enodes.empty(), who_ + "there are none");
      for (std::size_t l = 0; l < links.size(); ++l) {
        if (l == 0)
          require_sound(std::ranges::find(traced, links[0].from) != traced.end(),
                        who_ + "they do not start from what was traced");
        else
          check_begin(replay, links[l - 1], links[l]);
        require_sound((l + 1 == links.size()) == links[l].then.empty(),
                      who_ + "they end too early");
        check(replay, links[l]);
      }
      if (!links.empty()) check_value(stored[i], links.back().to);
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  static std::size_t symbols_in(const ir::dim_table& dims) {
    std::size_t out = 0;
    for (std::size_t i = 0; i < dims.size(); ++i)
      out += dims.kind(ir::dim::expression(i)) == ir::dim_kind::symbol ? 1 : 0;
    return out;
  }

  // By node of the bound graph: which of the terms it is. Those that are none get numbers behind.
  // Appending asks what inference asks, of the terms and of the nodes: the guards must answer it.
  std::vector<int> find_terms() {
    std::vector<ir::dim> same;
    for (std::size_t i = 0; i < bound_.symbol_values.size(); ++i)
      same.push_back(read_.terms.dims.symbol(static_cast<std::int64_t>(i)));
    for (const ir::guard& g : bound_.guards)
      read_.terms.assume(g.holds, read_.terms.dims.substitute(bound_.dims, g.a, same),
                         read_.terms.dims.substitute(bound_.dims, g.b, same));
    ir::graph terms = read_.terms;
    append_all(terms, read_.terms, same);
    std::vector<int> out = append_all(terms, bound_, same);
    require_sound(terms.guards.size() == read_.terms.guards.size(), "rewrites: a guard is missing");
    return out;
  }
  static std::vector<int> append_all(ir::graph& to, const ir::graph& from,
                                     span<const ir::dim> symbols) {
    std::vector<int> out, in;
    for (int id = 0; id < from.size(); ++id) {
      in.clear();
      for (int input : from.inputs(id)) in.push_back(out[at(input)]);
      std::vector<std::int64_t> attributes(from.attributes(id).begin(), from.attributes(id).end());
      if (ir::is_custom(from[id].code))
        attributes[0] = to.custom_number(from.customs[static_cast<std::size_t>(attributes[0])]);
      std::vector<ir::dim> dims;
      for (ir::dim d : from.node_dims(id))
        dims.push_back(to.dims.substitute(from.dims, d, symbols));
      out.push_back(ir::append(to, from[id].code, in, attributes, dims));
    }
    return out;
  }

  void interpret() {
    if (!values_.known) return;
    std::int64_t elements = 0;
    for (int id = 0; id < read_.terms.size(); ++id) {
      std::int64_t own = 1;
      for (ir::dim d : read_.terms[id].shape)
        own = ir::detail::saturating_mul(own,
                                         read_.terms.dims.evaluate(d, read_.terms.symbol_values));
      elements = ir::detail::saturating_add(elements, own);
      if (read_.terms[id].code == ir::op::argument)
        require_sound(
            at(static_cast<int>(read_.terms.attributes(id)[1])) < values_.arguments.size(),
            "rewrites: there is no such argument");
    }
    if (elements <= most_work_) of_terms_ = ir::interpret_all(read_.terms, values_.arguments);
  }

  // By note: what a nest stored that stores one value; packed matrices have an order of their own.
  std::vector<const ir::reference_tensor*> comparable_results() const {
    std::vector<const ir::reference_tensor*> out;
    for (std::size_t s = 0; s < schedules_.size(); ++s) {
      std::size_t next = 0;
      const auto add = [&](const planning::nest& n) {
        const ir::reference_tensor* const own =
            values_.known ? &values_.stored[s][next++] : nullptr;
        const bool comparable = n.kind != planning::nest_kind::pack && n.stores.size() == 1;
        out.push_back(comparable ? own : nullptr);
      };
      for (const planning::nest& n : schedules_[s].plan.nests) {
        add(n);
        for (const planning::nest& part : n.parts) add(part);
      }
    }
    return out;
  }

  void check_begin(const rewrite_replay& replay, const rewrite_link& before,
                   const rewrite_link& link) {
    require_sound(replay.knows(before.then), who_ + "there is no rule '" + before.then + "'");
    if (before.then_unchecked) {
      ++found_.unchecked;
      return;
    }
    require_sound(replay.brings_up(before.then, before.to, link.from),
                  who_ + "the rule does not bring up the value");
  }

  void check(const rewrite_replay& replay, const rewrite_link& link) {
    equal_terms equal(read_.terms);
    for (const rewrite& s : link.steps) {
      check(replay, s);
      equal.unite(s.left, s.right);
    }
    equal.close();
    require_sound(equal.find(link.from) == equal.find(link.to),
                  who_ + "the two terms do not become equal");
  }

  void check(const rewrite_replay& replay, const rewrite& s) {
    require_sound(s.name.empty() || replay.knows(s.name),
                  who_ + "there is no rule '" + s.name + "'");
    if (!s.by_value) {
      require_sound(replay.gives(s.name, s.left, s.right),
                    who_ + "rule '" + s.name + "' does not give %" + std::to_string(s.right) +
                        " for %" + std::to_string(s.left));
      ++found_.replayed;
      return;
    }
    if (of_terms_.empty()) {
      ++found_.unchecked;
      return;
    }
    require_sound(agree(of_terms_[at(s.left)], of_terms_[at(s.right)]),
                  who_ + "the values of %" + std::to_string(s.left) + " and %" +
                      std::to_string(s.right) + " differ");
    ++found_.by_value;
  }

  void check_value(const ir::reference_tensor* stored, int term) const {
    if (stored == nullptr || of_terms_.empty()) return;
    const ir::reference_tensor& expected = of_terms_[at(term)];
    require_sound(stored->data.size() == expected.data.size() &&
                      agree({stored->type, expected.shape, stored->data}, expected),
                  who_ + "the nest computes another value");
  }

  const ir::graph& bound_;
  const std::vector<planning::schedule>& schedules_;
  const plan_values& values_;
  std::int64_t most_work_;
  plan_verification& found_;
  rewrites read_;
  std::vector<ir::reference_tensor> of_terms_;  // none where that is too much work
  std::string who_;
};

}  // namespace sinter::inline SINTER_ABI::detail
