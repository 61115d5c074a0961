// SPDX-License-Identifier: MIT
// What else a nest may store: values that it computes on the way and others want, sums of its rows,
// and what reads nothing that it does not read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/candidate_nest.hpp>
#include <sinter/plan/cut.hpp>
#include <sinter/plan/summed_rows.hpp>
#include <sinter/support/add_once.hpp>

namespace sinter::inline SINTER_ABI::planning {

class extra_outputs {
 public:
  // `demanded`, by value: may somebody want it in memory? Alternatives are added to `candidates`.
  extra_outputs(const value_graph& g, const cut_enumeration& cuts,
                const std::vector<bool>& demanded, std::vector<candidate>& candidates)
      : g_(g), cuts_(cuts), demanded_(demanded), candidates_(candidates), finder_(g) {}

  // A nest that computes values on the way which other nests want in memory may store them too: all
  // of them, or those alone that it spreads over its rows, which cost next to nothing, or those
  // that are as large as its result. What stays in L2 is not worth that choice: with it, one block
  // of a transformer has a quarter more candidates and no plan that is proved.
  void add_values_on_the_way() {
    const std::size_t count = candidates_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const candidate& alone = candidates_[i];  // until others are added
      if (alone.kind != nest_kind::tile && alone.kind != nest_kind::matmul) continue;
      if (alone.reordered) continue;
      const value_class& root = g_[alone.root];
      std::vector<int> all, spread, alike;
      for (const auto& [v, f] : alone.inside.body) {
        const form& each = g_[v].forms[static_cast<std::size_t>(f)];
        if (each.fused < 0 && each.code == ir::op::broadcast_to) {
          if (const int row = each.operands[0]; alone.inside.computes(row) && is_wanted(row))
            add_once(spread, row);
        } else if (v != alone.root && is_wanted(v)) {
          all.push_back(v);
          if (g_[v].shape == root.shape) alike.push_back(v);
        }
      }
      add_with(i, all);
      if (root.bytes() <= g_.machine().l2_bytes) continue;
      if (spread.size() < all.size()) add_with(i, spread);
      if (alike.size() < all.size()) add_with(i, alike);
    }
  }

  // A nest over rows may sum them up on the way: what it has anyway, or also what is one or two
  // steps from that. (The gradients of layer norm over 4096 rows of 1024 take 1.6 ms instead of
  // 3.0.) Sums without rows that read the same are not joined: two column nests take 1.14 ms of
  // 4096 rows of 1024, one nest over rows 1.15.
  void add_sums() {
    std::vector<wanted_sum> sums;
    for (int v = 0; v < g_.size(); ++v) {
      if (!demanded(v)) continue;
      const std::vector<summed_value> forms = finder_.all_of(v);
      if (forms.empty()) continue;
      const std::vector<bool> above = finder_.values_above(v);
      for (const summed_value& s : forms) sums.push_back({s, above});
    }
    const std::size_t count = candidates_.size();
    for (std::size_t i = 0; i < count && !sums.empty(); ++i) {
      const candidate& seen = candidates_[i];  // until others are added
      if (seen.kind != nest_kind::tile || seen.reordered || seen.inside.inner_axes == 0) continue;
      const candidate alone = seen;
      std::size_t before = alone.sums.size();
      for (const std::size_t steps : {std::size_t{0}, most_steps}) {
        candidate c = alone;
        for (const wanted_sum& s : sums) add_sum(c, s, alone.inside.body.size() + steps);
        if (c.sums.size() == before) continue;
        before = c.sums.size();
        candidates_.push_back(std::move(c));
      }
    }
  }

  // A nest over rows may also store what is a step or two from what it reads: other sums of them,
  // or a result. (Parts of the time of two nests on a Zen 5: sums of x and x x along rows 0.6 to
  // 0.9, relu(x) beside a sum 0.7 to 0.8.) Not worth it for what stays in L2, nor without rows: two
  // results of the same elements take 0.84 to 1.25 of the time.
  void add_siblings(std::span<const int> results) {
    const sibling_index siblings = siblings_of(results);
    const std::size_t count = candidates_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const candidate& alone = candidates_[i];  // until others are added
      if (alone.kind != nest_kind::tile || alone.reordered || alone.inside.inner_axes == 0 ||
          alone.outputs.size() > 1)
        continue;
      candidate c = alone;
      for (int leaf : alone.inside.leaves)
        for (int v : siblings.readers[static_cast<std::size_t>(leaf)])
          if (stores_both(siblings, alone.root, v)) add_sibling(c, v);
      if (c.outputs.size() > 1) candidates_.push_back(std::move(c));
    }
  }

 private:
  static constexpr std::size_t most_outputs = 4, most_steps = 2;

  struct wanted_sum {
    summed_value value;
    std::vector<bool> above;  // values that need it
  };

  struct sibling_index {
    std::vector<std::vector<int>> readers;  // by value: who is near to it
    std::vector<std::size_t> operands;      // by value: how many it has, if it is near to some
  };

  // Results, and values of rows, that are a step or two from what does not stay in L2.
  sibling_index siblings_of(std::span<const int> results) const {
    const auto count = static_cast<std::size_t>(g_.size());
    sibling_index out{std::vector<std::vector<int>>(count), std::vector<std::size_t>(count, 0)};
    for (int v = 0; v < g_.size(); ++v) {
      if (!is_wanted(v)) continue;
      const bool is_result = std::ranges::find(results, v) != results.end();
      for (const cut& c : cuts_.of(v)) {
        if (c.product >= 0 || c.body.size() > most_steps || !(is_result || c.is_row(g_[v].shape)))
          continue;
        for (int leaf : c.leaves) {
          if (g_[leaf].bytes() <= g_.machine().l2_bytes) continue;
          add_once(out.readers[static_cast<std::size_t>(leaf)], v);
          out.operands[static_cast<std::size_t>(v)] = c.leaves.size();
        }
      }
    }
    return out;
  }

  // Is it the nest of `root` that stores v as well, rather than v's? Of two siblings of one shape
  // that of the one with more operands does, or of the first.
  bool stores_both(const sibling_index& siblings, int root, int v) const {
    const std::size_t own = siblings.operands[static_cast<std::size_t>(root)],
                      other = siblings.operands[static_cast<std::size_t>(v)];
    return own == 0 || other < own || (other == own && v > root) ||
           !(g_[v].shape == g_[root].shape);
  }

  bool demanded(int v) const { return demanded_[static_cast<std::size_t>(v)]; }
  bool is_wanted(int v) const {
    return demanded(v) && !g_[v].is_source() && !g_[v].is_choice();
  }

  // Candidate i with these as well.
  void add_with(std::size_t i, const std::vector<int>& more) {
    if (more.empty() || candidates_[i].outputs.size() + more.size() > most_outputs) return;
    candidate c = candidates_[i];
    c.outputs.insert(c.outputs.end(), more.begin(), more.end());
    candidates_.push_back(std::move(c));
  }

  // Makes the nest of c store the sum, too, if it is one of its rows, nothing that is read needs
  // it, no more has to be read, and the nest then computes no more than so many values.
  void add_sum(candidate& c, const wanted_sum& wanted, std::size_t most_values) const {
    const summed_value& s = wanted.value;
    if (!(g_[s.of].shape == c.inside.space) ||
        static_cast<int>(c.inside.space.size()) != s.axes + c.inside.inner_axes ||
        std::ranges::find(c.outputs, s.sum) != c.outputs.end())
      return;
    auto extended = cuts_.extended(c.inside, s.of);
    if (!extended || extended->body.size() > most_values || reads_any(*extended, wanted.above))
      return;
    c.inside = std::move(*extended);
    c.outputs.push_back(s.sum);
    c.sums.push_back(s);
  }

  // The same for a value of the nest's elements or rows.
  void add_sibling(candidate& c, int v) const {
    if (c.outputs.size() == most_outputs || c.inside.computes(v)) return;
    if (!(g_[v].shape == c.inside.space) && !c.inside.is_row(g_[v].shape)) return;
    auto extended = cuts_.extended(c.inside, v);
    if (!extended || !extended->computes(v) ||
        extended->body.size() > c.inside.body.size() + most_steps ||
        reads_any(*extended, finder_.values_above(v)))
      return;
    c.inside = std::move(*extended);
    c.outputs.push_back(v);
  }

  static bool reads_any(const cut& c, const std::vector<bool>& values) {
    return std::ranges::any_of(c.leaves,
                               [&](int leaf) { return values[static_cast<std::size_t>(leaf)]; });
  }

  const value_graph& g_;
  const cut_enumeration& cuts_;
  const std::vector<bool>& demanded_;
  std::vector<candidate>& candidates_;
  summed_rows_finder finder_;
};

}  // namespace sinter::inline SINTER_ABI::planning
