// SPDX-License-Identifier: MIT
// Nests as alternatives: for every value that may have to be in memory, the nests that could store
// it. They are found after saturation, from the cuts, and enter the e-graph as costed nodes over
// goals ("this value is stored").
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/candidate_cost.hpp>
#include <sinter/plan/candidate_nest.hpp>
#include <sinter/plan/cut.hpp>
#include <sinter/plan/exponential_sums.hpp>
#include <sinter/plan/extra_outputs.hpp>
#include <sinter/plan/image_windows.hpp>
#include <sinter/plan/moments.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_policy.hpp>
#include <sinter/plan/prologue.hpp>
#include <sinter/plan/streamed.hpp>
#include <sinter/plan/summed_rows.hpp>
#include <sinter/support/add_once.hpp>

namespace sinter::inline SINTER_ABI::planning {

struct plan_options {
  // false: no nest may compute in another order than the graph says (streamed nests do).
  bool reassociate = true;
  // Bytes of the arena; 0: no limit. What does not fit is computed again instead of stored.
  std::size_t memory_budget = 0;
  // Of the search for the cheapest nests, see `eqsat::extract_options`; 0: by their number.
  std::size_t extraction_work = 0;
  // What the costs of nests are predicted for.
  planning::machine machine = nominal_machine;
  // What nests may do.
  nest_policy nests{};
};

class candidate_enumeration {
 public:
  candidate_enumeration(const value_graph& g, const cut_enumeration& cuts,
                        std::span<const int> roots, const plan_options& options)
      : g_(g),
        cuts_(cuts),
        options_(options),
        dims_(g.terms().dims),
        demanded_(static_cast<std::size_t>(g.size()), false) {
    for (int root : roots) demand(root);
    // What is not to be computed twice may have to be stored.
    for (int v = 0; v < g.size() && !options.nests.recompute; ++v)
      if (!g[v].is_immediate() && resolve(g, v).base == v) demand(v);
    while (!queue_.empty()) {
      const int v = queue_.back();
      queue_.pop_back();
      enumerate(v);
    }
    extra_outputs more(g_, cuts_, demanded_, candidates_);
    more.add_values_on_the_way();
    if (options.nests.sums) more.add_sums();
    if (options.nests.siblings) more.add_siblings(roots);
    const candidate_cost costs(g_, cuts_, candidates_);
    for (candidate& c : candidates_) costs.set(c);
    for (int i : options.nests.without)
      if (i >= 0 && i < static_cast<int>(candidates_.size())) refuse(i);
  }

  const std::vector<candidate>& all() const { return candidates_; }
  /// How a streamed nest with this cut of its scores would compute operand 0 or 1 of the product on
  /// the way; nothing if it cannot, or has nothing to compute. Offsets are written into `dims`.
  std::optional<operand_prologue> prologue_of(const cut& inside, std::size_t operand,
                                              ir::dim_table& dims) const {
    const auto& flags = g_.payload(cuts_.product_form(inside)).attributes;
    // Rows of a block must be rows of the operand as it is seen.
    if (flags[operand] != static_cast<std::int64_t>(operand)) return std::nullopt;
    if (inside.factors[0] == inside.factors[1] || reads_factor(inside, operand))
      return std::nullopt;
    return prologue_finder(g_, cuts_, dims)
        .of(inside.factors[operand], computed_elements(inside, operand));
  }

  /// Does this candidate run once for frozen arguments rather than in every call?
  bool is_preparation(int i) const {
    return candidate_cost(g_, cuts_, candidates_)
        .is_preparation(candidates_[static_cast<std::size_t>(i)]);
  }

  /// Not to be chosen.
  void refuse(int i) { candidates_[static_cast<std::size_t>(i)].refused = true; }

  bool is_goal(int value) const { return demanded_[static_cast<std::size_t>(value)]; }

  // Adds the nest that runs these matmul candidates, which have one left factor, over one read of
  // it.
  void add_group(std::vector<int> parts) {
    candidate c;
    c.kind = nest_kind::grouped;
    c.root = all()[static_cast<std::size_t>(parts[0])].root;
    for (int part : parts) {
      for (int v : all()[static_cast<std::size_t>(part)].outputs) add_once(c.outputs, v);
      for (int v : all()[static_cast<std::size_t>(part)].reads) add_once(c.reads, v);
    }
    c.parts = std::move(parts);
    candidate_cost(g_, cuts_, candidates_).set(c);
    candidates_.push_back(std::move(c));
  }

 private:
  void demand(int value) {
    if (demanded_[static_cast<std::size_t>(value)]) return;
    demanded_[static_cast<std::size_t>(value)] = true;
    queue_.push_back(value);
  }

  void enumerate(int v) {
    const value_class& value = g_[v];
    if (value.is_source()) return;
    if (value.is_choice()) {
      for (int f = 0; f < static_cast<int>(value.forms.size()); ++f)
        add(nest_kind::alias, v, f, {});
      return;
    }
    for (const cut& c : cuts_.of(v)) {
      const std::size_t before = candidates_.size();
      add(c.product >= 0 ? nest_kind::matmul : nest_kind::tile, v, -1, c);
      if (candidates_.size() > before) add_packed(candidates_.back());
      if (c.product >= 0) add_gathered(v, c);
      if (c.inner_axes > 0 && c.product < 0) add_deviations(v, c);
    }
    streamed(v);
    // The plain copy of a view, a constant or an extent, for whoever needs it in memory.
    if (resolve(g_, v).base != v || value.is_immediate())
      add(nest_kind::tile, v, -1, cuts_.leaf(v));
    for (int f = 0; f < static_cast<int>(value.forms.size()); ++f) {
      const form& each = value.forms[static_cast<std::size_t>(f)];
      if (each.fused >= 0) continue;
      if (ir::info(each.code).kind == ir::kind::reduction)
        reduction(v, f);
      else if (each.code == ir::op::reshape)
        add(nest_kind::alias, v, f, {});
      else if (each.code == ir::op::gather)
        add(nest_kind::gather, v, f, {});
      else if (each.code == ir::op::scatter_add)
        add(nest_kind::scatter_add, v, f, {});
      else if (each.code == ir::op::cumsum)
        add(nest_kind::scan, v, f, {});
      else if (each.code == ir::op::custom)
        add(nest_kind::custom, v, f, {});
      else if (each.code == ir::op::pad || each.code == ir::op::concat)
        add(nest_kind::assemble, v, f, {});
      if (each.code == ir::op::concat && options_.nests.pieces) add_computed_pieces(v, f);
    }
  }

  // Pieces of a concatenation that are computed where they are put.
  void add_computed_pieces(int v, int f) {
    const form& each = g_[v].forms[static_cast<std::size_t>(f)];
    for (const cut& inside : cuts_.side_by_side(each))
      if (!inside.body.empty() && are_long(v, each, inside)) add(nest_kind::assemble, v, f, inside);
  }

  // Do the computed ones lie in runs of so many elements, or whole? Shorter ones are columns, which
  // are put together faster than each by itself. (A Zen 5, part of the time of storing and copying
  // two pieces: of 8 columns 0.64 to 0.95 in L2, 1.04 to 1.25 from memory; of 16 and more 0.37 to
  // 0.86.)
  bool are_long(int v, const form& f, const cut& inside) const {
    const std::int64_t least = g_[v].bytes() > g_.machine().l2_bytes ? 16 : 8;
    const auto axis = static_cast<std::size_t>(g_.payload(f).attributes[0]);
    return std::ranges::all_of(f.operands, [&](int operand) {
      const ir::symbolic_shape& shape = g_[operand].shape;
      std::int64_t run = 1;
      for (std::size_t i = axis; i < shape.size(); ++i) run *= g_.extent(shape[i]);
      return run >= least || !inside.computes(operand);
    });
  }

  // Over other axes than the last: walked column-wise if they are adjacent and columns are several,
  // or with the axes reordered. (128 sums of 64 elements [16,8,64,1]: 28 us as columns, 4 so.)
  void reduction(int v, int f) {
    const form& each = g_[v].forms[static_cast<std::size_t>(f)];
    const std::int64_t mask = g_.payload(each).attributes[0];
    const int rank = static_cast<int>(g_[v].shape.size());
    if (cut_enumeration::trailing_axes(mask, rank) != 0) return;
    const std::int64_t shifted = mask >> std::countr_zero(static_cast<std::uint64_t>(mask));
    const bool adjacent = (shifted & (shifted + 1)) == 0 && each.code != ir::op::argmax &&
                          !are_last_but_units(mask, g_[each.operands[0]].shape);
    const auto use = [&](const cut& inside) {
      if (inside.inner_axes != 0 || inside.product >= 0) return;
      if (adjacent)
        add(nest_kind::column, v, f, inside);
      else
        add(nest_kind::tile, v, f, inside, true);
    };
    use(cuts_.leaf(each.operands[0]));
    for (const cut& inside : cuts_.of(each.operands[0])) use(inside);
    if (adjacent && options_.reassociate && options_.nests.moments) pairs(v, f);
    if (!options_.nests.sums) return;
    if (const auto s = summed_rows_finder(g_).of(v, f)) add_summed(*s);
  }

  // The sum of rows that are computed from values of theirs.
  void add_summed(const summed_value& s) {
    for (const cut& inside : cuts_.of(s.of)) {
      if (inside.inner_axes != static_cast<int>(g_[s.of].shape.size()) - s.axes) continue;
      const std::size_t before = candidates_.size();
      add(nest_kind::tile, s.sum, -1, inside);
      if (candidates_.size() > before) candidates_.back().sums = {s};
    }
  }

  // Two values of a column from one sweep: squared distances from the mean and the sum that it is
  // made of, exponentials of distances from the largest and that.
  void pairs(int v, int f) {
    const form& each = g_[v].forms[static_cast<std::size_t>(f)];
    column_pair found = moments_finder(g_, dims_).of(each);
    if (!found.any()) found = exponential_sum_finder(g_).of(each);
    if (!found.any() || found.first == v) return;
    const auto use = [&](const cut& inside) {
      if (inside.inner_axes != 0 || inside.product >= 0) return;
      const std::size_t before = candidates_.size();
      add(nest_kind::column, v, f, inside);
      if (candidates_.size() == before) return;
      candidates_.back().pair = found;
      candidates_.back().outputs.push_back(found.first);
    };
    use(cuts_.leaf(found.x));
    for (const cut& inside : cuts_.of(found.x)) use(inside);
  }

  // The same rows, where one sweep gives the sum of squared distances from the mean and the sum
  // that the mean is made of.
  void add_deviations(int v, const cut& inside) {
    if (!options_.reassociate || !options_.nests.moments) return;
    for (const auto& [value, f] : inside.body) {
      const form& each = g_[value].forms[static_cast<std::size_t>(f)];
      if (each.fused >= 0) continue;
      const column_pair found = moments_finder(g_, dims_).of(each);
      if (!found.any() || found.first == value || !is_sum_inside(inside, found)) continue;
      const std::size_t before = candidates_.size();
      add(nest_kind::tile, v, -1, without_distances(inside, v, value, found));
      if (candidates_.size() == before) return;
      candidates_.back().pair = found;
      candidates_.back().second = value;
      return;
    }
  }

  bool is_sum_inside(const cut& inside, const column_pair& pair) const {
    const int number = inside.form_of(pair.first);
    if (number < 0) return false;
    const form& f = g_[pair.first].forms[static_cast<std::size_t>(number)];
    return f.fused < 0 && f.code == ir::op::reduce_sum && f.operands[0] == pair.x;
  }

  // What the root needs of a cut once the pair's second value comes from x and stands beside its
  // first.
  cut without_distances(cut inside, int root, int second, const column_pair& pair) const {
    std::vector<int> needed{root};
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const int value = needed[i], number = inside.form_of(value);
      if (value == second) {
        add_once(needed, pair.x);
        add_once(needed, pair.first);
      } else if (number >= 0) {
        for (int operand : g_[value].forms[static_cast<std::size_t>(number)].operands)
          add_once(needed, operand);
      }
    }
    const auto is_dropped = [&](int value) {
      return std::ranges::find(needed, value) == needed.end();
    };
    std::erase_if(inside.body, [&](const auto& computed) { return is_dropped(computed.first); });
    std::erase_if(inside.leaves, is_dropped);
    return inside;
  }

  // Weighted sums whose scores are a product and what can be done to it block by block.
  void streamed(int v) {
    if (!options_.reassociate || !options_.nests.streamed) return;
    // A thread keeps the sums of a block of rows: 128 x 4096 floats are 2 MiB.
    if (g_[v].shape.empty() || g_.extent(g_[v].shape.back()) > 4096) return;
    for (const weighted_sum& w : weighted_sum_finder(g_).of(v))
      for (const cut& inside : cuts_.of(w.scores))
        if (inside.product >= 0 && inside.second_product < 0 && inside.inner_axes == 0 &&
            g_[inside.product].type == g_[w.scores].type)
          streamed(v, inside, w);
  }

  // Of both operands of a streamed nest's product; nothing where it is read from memory.
  using prologues = std::array<std::optional<operand_prologue>, 2>;

  // Operands in memory, or computed on the way; also one of each.
  void streamed(int v, const cut& inside, const weighted_sum& w) {
    add(nest_kind::streamed, v, -1, inside, false, w);
    const prologues made{prologue_of(inside, 0, dims_), prologue_of(inside, 1, dims_)};
    const bool a = made[0].has_value(), b = made[1].has_value();
    if (a) add(nest_kind::streamed, v, -1, inside, false, w, {made[0], std::nullopt});
    if (b) add(nest_kind::streamed, v, -1, inside, false, w, {std::nullopt, made[1]});
    if (a && b) add(nest_kind::streamed, v, -1, inside, false, w, made);
  }

  // Products that gather what they multiply from views, one operand or both.
  void add_gathered(int v, const cut& inside) {
    const value_class& product = g_[inside.product];
    if (inside.second_product >= 0 || !is_floating(product.type) || is_narrow_float(product.type))
      return;
    std::array<int, 2> from{-1, -1};
    for (std::size_t k = 0; k < from.size(); ++k)
      if (const form* joins = joined_view(g_, inside.factors[k]);
          joins != nullptr && !reads_factor(inside, k) && inside.factors[0] != inside.factors[1] &&
          !g_[resolve(g_, joins->operands[0]).base].is_immediate())
        from[k] = joins->operands[0];
    if (from[0] >= 0) add(nest_kind::matmul, v, -1, inside, false, {}, {}, {from[0], -1});
    if (from[1] >= 0) add(nest_kind::matmul, v, -1, inside, false, {}, {}, {-1, from[1]});
    if (from[1] >= 0) add_winograd(v, inside, from[1]);
    if (from[0] >= 0 && from[1] >= 0) add(nest_kind::matmul, v, -1, inside, false, {}, {}, from);
  }

  // The same product, where its right side are windows of images and its left side filters.
  void add_winograd(int v, const cut& inside, int windows) {
    if (!options_.reassociate || !options_.nests.winograd || inside.inner_axes != 0) return;
    const auto& flags = g_.payload(cuts_.product_form(inside)).attributes;
    const ir::symbolic_shape& product = g_[inside.product].shape;
    const std::size_t batch_axes = product.size() - 2;
    const int filters = inside.factors[0];
    const resolved_view left = resolve(g_, filters), right = resolve(g_, windows);
    if (flags[0] != 0 || flags[1] != 0 || g_[left.base].is_immediate() ||
        !repeats(g_[filters].shape, left.steps, batch_axes) ||
        !has_image_windows(g_[windows].shape, right.steps, batch_axes))
      return;
    const std::size_t before = candidates_.size();
    add(nest_kind::matmul, v, -1, inside, false, {}, {}, {-1, windows});
    if (candidates_.size() > before) candidates_.back().winograd = true;
  }

  // Does more than the product read this operand of it?
  bool reads_factor(const cut& inside, std::size_t operand) const {
    for (const auto& [v, f] : inside.body)
      if (v != inside.product &&
          std::ranges::find(g_[v].forms[static_cast<std::size_t>(f)].operands,
                            inside.factors[operand]) !=
              g_[v].forms[static_cast<std::size_t>(f)].operands.end())
        return true;
    return false;
  }

  // Elements of an operand that a streamed nest computes in all: each query once; each key once
  // for every block of rows, unless a thread keeps them.
  double computed_elements(const cut& inside, std::size_t operand) const {
    const value_class& x = g_[inside.factors[operand]];
    const std::size_t rank = x.shape.size();
    const double distinct =
        std::min(x.elements, g_[resolve(g_, inside.factors[operand]).base].elements);
    const double bytes = static_cast<double>(g_.extent(x.shape[rank - 2])) *
                         static_cast<double>(g_.extent(x.shape[rank - 1])) *
                         static_cast<double>(size_of(x.type));
    if (operand == 0 || bytes <= static_cast<double>(kept_operand_bytes)) return distinct;
    return x.elements * streamed_row_blocks(g_, g_[inside.product]);
  }

  void add(nest_kind kind, int root, int form_number, const cut& inside, bool reordered = false,
           const weighted_sum& weighted = {}, const prologues& computed = {},
           const std::array<int, 2>& gathered = {-1, -1}) {
    candidate c;
    c.kind = kind;
    c.root = root;
    c.form = form_number;
    c.inside = inside;
    c.weighted = weighted;
    c.computed = {computed[0].has_value(), computed[1].has_value()};
    c.gathered = gathered;
    c.reordered = reordered;
    c.outputs = {root};
    const auto read = [&](int value) {
      const bool in_memory =
          kind == nest_kind::alias && (!g_[root].is_choice() || value == g_[root].stands_for);
      const int base = in_memory ? value : resolve(g_, value, value == root).base;
      if (g_[base].is_immediate() && !in_memory) return;
      add_once(c.reads, base);
    };
    if (kind == nest_kind::tile || kind == nest_kind::column || kind == nest_kind::matmul ||
        kind == nest_kind::streamed) {
      const auto is_computed = [&](int value) {
        return ((c.computed.a || gathered[0] >= 0) && value == inside.factors[0]) ||
               ((c.computed.b || gathered[1] >= 0) && value == inside.factors[1]);
      };
      for (int leaf : inside.leaves)
        if (!is_computed(leaf)) read(leaf);
      for (int factor : inside.factors)
        if (factor >= 0 && !is_computed(factor)) read_factor(c, factor);
      for (int view : gathered)
        if (view >= 0) read(view);
      for (std::size_t operand = 0; operand < computed.size(); ++operand) {
        if (!computed[operand]) continue;
        for (int base : computed[operand]->reads) add_once(c.reads, base);
        c.prologue_work += computed[operand]->work * computed_elements(inside, operand);
      }
      if (kind == nest_kind::streamed) {
        read(weighted.values);
        read_factor(c, weighted.values);
      }
    } else {
      for (int leaf : inside.leaves) read(leaf);
      for (int operand : g_[root].forms[static_cast<std::size_t>(form_number)].operands) {
        if (inside.computes(operand)) continue;
        // What is a view of a number that is nowhere stored must be stored itself.
        if (g_[resolve(g_, operand).base].is_immediate() || kind == nest_kind::gather ||
            kind == nest_kind::scatter_add || kind == nest_kind::custom) {
          add_once(c.reads, operand);
        } else {
          read(operand);
        }
      }
    }
    if (std::ranges::find(c.reads, root) != c.reads.end()) return;
    if (has_row_level_generator(c)) return;
    for (int base : c.reads) demand(base);
    candidates_.push_back(std::move(c));
  }

  // The same products, with right sides that were brought into the kernel's order once. Not where
  // it runs as the product of a matrix and a vector, which reads every element once as it is.
  void add_packed(candidate c) {
    if (c.kind != nest_kind::matmul || g_[c.root].fixed || !is_floating(g_[c.inside.product].type))
      return;
    const ir::symbolic_shape& shape = g_[c.inside.product].shape;
    const std::size_t rank = shape.size();
    if (g_.extent(shape[rank - 1]) == 1 || g_.extent(shape[rank - 2]) == 1) return;
    for (std::size_t k = 0; k < c.packed.size(); ++k) {
      const int right = c.inside.factors[k + 1];
      if (right < 0) continue;
      const int packed = c.packed[k] = one_matrix(right);
      if (packed < 0 || !g_[packed].fixed) return;
      const int base = resolve(g_, packed).base;
      if (g_[base].is_immediate() || base != resolve(g_, right).base) return;
    }
    candidates_.push_back(std::move(c));
  }

  // The value, before it was repeated for every batch, that is one matrix; -1 if there is none.
  int one_matrix(int value) const {
    const ir::symbolic_shape& shape = g_[value].shape;
    const std::size_t rank = shape.size();
    if (rank == 2) return value;
    const form* f = g_[value].find(ir::op::broadcast_to);
    const int once = f != nullptr ? f->operands[0] : value;
    const ir::symbolic_shape& from = g_[once].shape;
    if (!(from[rank - 2] == shape[rank - 2]) || !(from[rank - 1] == shape[rank - 1])) return -1;
    for (std::size_t axis = 0; axis + 2 < rank; ++axis)
      if (!(from[axis] == ir::dim(1))) return -1;
    return once;
  }

  // The operands of a product are memory; a constant one is stored first (by its copy nest).
  void read_factor(candidate& c, int factor) const {
    if (g_[resolve(g_, factor).base].is_immediate()) add_once(c.reads, factor);
  }

  // iota and random number their elements by the iteration space, so they stand at full level only.
  bool has_row_level_generator(const candidate& c) const {
    if (c.inside.inner_axes == 0) return false;
    for (const auto& [v, f] : c.inside.body) {
      const ir::op code = g_[v].forms[static_cast<std::size_t>(f)].code;
      if ((code == ir::op::iota || code == ir::op::random_uniform) &&
          !(g_[v].shape == c.inside.space))
        return true;
    }
    return false;
  }

  const value_graph& g_;
  const cut_enumeration& cuts_;
  plan_options options_;
  ir::dim_table dims_;  // with the offsets inside operands that nests may compute
  std::vector<bool> demanded_;
  std::vector<int> queue_;
  std::vector<candidate> candidates_;
};

}  // namespace sinter::inline SINTER_ABI::planning
