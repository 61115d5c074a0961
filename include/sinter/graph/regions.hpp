// SPDX-License-Identifier: MIT
// The element-wise regions of a traced graph: the structures for which fused kernels are compiled.
// Each is a cone of element-wise nodes of one floating dtype below a value that somebody else
// needs. Works in constant evaluation, in time that is linear in the graph but for sizes that the
// limits of a region bound.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <sinter/graph/canonical_region.hpp>
#include <sinter/graph/graph.hpp>
#include <sinter/support/flat_vector.hpp>
#include <sinter/support/inline_vector.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

// A kernel takes the compiler 0.1 s (three nodes) to 1 s (Black-Scholes), and training steps have
// about a dozen structures: layers repeat them.
inline constexpr int max_regions = 24;

// A region, and the reductions that take its result as it is, along rows or down columns: kernels
// for both in one exist only where the traced graph wants them.
struct traced_region : region {
  bool summed = false, maximized = false;
  bool column_summed = false, column_maximized = false;
  // What rows are reduced to before the region runs on them, if it is known to be one of these.
  row_behind behind{};

  friend constexpr bool operator==(const traced_region&, const traced_region&) = default;
};

using region_list = inline_vector<traced_region, max_regions>;

// What runs a region: a kernel compiled for it, or steps of the accumulator machine.
enum class region_runner : std::uint8_t { kernel, steps };

namespace detail {

// From this much work (in additions) on, a value that several regions use is worth storing between
// them. Writing and reading 4 bytes takes some 20 additions if they come from DRAM, and reading
// alone 8 (plan/machine.hpp).
inline constexpr double worth_storing = 24;
inline constexpr double worth_reading = 12;

// What an unknown extent counts when regions are ranked by their work.
inline constexpr double nominal_extent = 64;

// Ascending node numbers without duplicates. A plain array: constant evaluation counts every call
// inside of a std::vector, which made finding regions twice as expensive.
struct node_set {
  static constexpr int capacity = 3 * region::max_nodes;
  int ids[capacity]{};
  int count = 0;

  constexpr void insert(int id) {
    int place = count;
    while (place > 0 && ids[place - 1] > id) --place;
    if (place > 0 && ids[place - 1] == id) return;
    for (int i = count++; i > place; --i) ids[i] = ids[i - 1];
    ids[place] = id;
  }
  constexpr const int* begin() const { return ids; }
  constexpr const int* end() const { return ids + count; }
};

class region_finder {
 public:
  constexpr region_finder(const graph& g, bool (*may_fuse)(op), region_runner runner)
      : g_(g),
        may_fuse_(may_fuse),
        runner_(runner),
        facts_(static_cast<std::size_t>(g.size()), node_facts{}) {
    mark_live();
    for (int id = 0; id < g.size(); ++id)
      if (at(id).live) classify(id);
    for (const output& o : g.outputs) add_root(at(o.node).source);
    for (int id = 0; id < g.size(); ++id)
      if (at(id).live) note_users(id);

    // A cone that exceeds the limits is cut. The cuts are stored whatever happens, so no other cone
    // goes beyond them, and they become roots of their own behind the others.
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      const cone whole = grow(roots_[i], false);
      for (int k = 0; k < whole.count; ++k) ++at(whole.nodes[k]).cones;
      for (int id : whole.leaves) {
        if (at(id).type != at(roots_[i]).type) continue;
        at(id).cut = true;
        add_root(id);
      }
      add(whole);
    }
    for (int id = 0; id < g.size(); ++id) at(id).shared = is_worth_sharing(id);
    for (int id = 0; id < g.size(); ++id)
      if (at(id).shared || at(id).root) add_with_shared_leaves(id);
  }

  constexpr region_list largest() {
    region_list out;
    while (!out.full()) {
      found* best = nullptr;
      for (found& f : found_)
        if (f.work > 0 && (best == nullptr || f.work > best->work)) best = &f;
      if (best == nullptr) break;
      out.push_back(best->what);
      best->work = 0;
    }
    return out;
  }

 private:
  static constexpr int no_type = -1;

  struct node_facts {
    int operands[3] = {};  // sources of a fusible node's inputs
    int operand_count = 0;
    int source =
        -1;  // the node itself, or what it passes through unchanged (stop_gradient, broadcast)
    int type = no_type;  // the dtype of the regions it may be part of
    int users = 0;       // in regions
    int cones = 0;       // how many contain it
    int place = 0;  // in the cone at hand: 1 + operand number of a node, -1 - that of a leaf, or 0
    double work = 0;  // of the cone below it, counted as a tree
    bool live = false, root = false, cut = false, shared = false;
    bool summed = false, maximized = false;  // by a reduction
    bool column_summed = false, column_maximized = false;

    constexpr bool is_reduced() const {
      return summed || maximized || column_summed || column_maximized;
    }
  };

  struct cone {
    int nodes[region::max_nodes] = {};  // descending: users before operands; the first is the root
    int count = 0;
    node_set leaves;
  };

  // A state in which growing might stop.
  struct prefix {
    int nodes = 0, cuts = 0, new_roots = 0;
    int users = 0;  // of the cuts

    constexpr bool better_than(const prefix& other) const {
      if (new_roots != other.new_roots) return new_roots < other.new_roots;
      return cuts != other.cuts ? cuts < other.cuts : users > other.users;
    }
  };

  struct found {
    traced_region what;
    double work = 0;  // over all places where the structure occurs
  };

  constexpr node_facts& at(int id) { return facts_[static_cast<std::size_t>(id)]; }
  constexpr const node_facts& at(int id) const { return facts_[static_cast<std::size_t>(id)]; }
  constexpr bool fusible(int id) const { return at(id).type != no_type; }
  constexpr bool truth(int id) const { return g_[id].type == dtype::boolean; }

  constexpr void mark_live() {
    for (const output& o : g_.outputs) at(o.node).live = true;
    for (int id = g_.size() - 1; id >= 0; --id)
      if (at(id).live)
        for (int input : g_.inputs(id)) at(input).live = true;
  }

  // ---- what the nodes are

  // Does the operand of this broadcast certainly have fewer elements than the result? Only an
  // operand that may turn out to have the full shape already can be looked through.
  constexpr bool certainly_spreads(int broadcast) const {
    const symbolic_shape &from = g_[g_.input(broadcast, 0)].shape, &to = g_[broadcast].shape;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] == dim(1) && !(to[i] == dim(1))) return true;
    return false;
  }

  // One value for a whole row of the elements the kernel sees: a scalar, or a broadcast along the
  // last axis.
  constexpr bool is_scalar_leaf(int id) const {
    const symbolic_shape& shape = g_[id].shape;
    if (shape.empty()) return true;
    if (g_[id].code != op::broadcast_to) return false;
    return g_[g_.input(id, 0)].shape.back() == dim(1) && !(shape.back() == dim(1));
  }

  constexpr void classify(int id) {
    node_facts& own = at(id);
    const node& n = g_[id];
    own.source = id;
    if (n.code == op::stop_gradient) {
      own.source = at(g_.input(id, 0)).source;
    } else if (n.code == op::broadcast_to) {
      const int below = at(g_.input(id, 0)).source;
      if (fusible(below) && !certainly_spreads(id)) own.source = below;
    } else if (is_elementwise(n.code) && n.code != op::bitcast && n.code != op::custom_map &&
               !n.shape.empty() && may_fuse_(n.code)) {
      own.type = n.code == op::cast ? type_of_truth_cast(id) : region_type(id);
      if (!fusible(id)) return;
      own.work = static_cast<double>(info(n.code).cost);
      for (int input : g_.inputs(n)) {
        const int source = at(input).source;
        own.operands[own.operand_count++] = source;
        if (at(source).type == own.type) own.work += at(source).work;
      }
      own.work = std::min(own.work, 1e6);  // a tree may have exponentially many nodes
    }
  }

  // Truth values have no leaves of their own: a region must compute them from its floats.
  constexpr int region_type(int id) const {
    int type = no_type;
    for (int input : g_.inputs(id)) {
      const int source = at(input).source;
      const dtype own = g_[input].type;
      const int next = own == dtype::f32 || own == dtype::f64 ? static_cast<int>(own)
                       : truth(input)                         ? at(source).type
                                                              : no_type;
      if (next == no_type || (type != no_type && type != next)) return no_type;
      type = next;
    }
    return type;
  }

  // Of the casts, those of truth values back to the floats that they were computed from.
  constexpr int type_of_truth_cast(int id) const {
    const int type = truth(g_.input(id, 0)) ? region_type(id) : no_type;
    return type == static_cast<int>(g_[id].type) ? type : no_type;
  }

  constexpr void add_root(int id) {
    if (!fusible(id) || at(id).root) return;
    at(id).root = true;
    roots_.push_back(id);
  }

  constexpr void note_users(int id) {
    if (at(id).source != id) return;  // transparent: whoever uses it uses its source
    const span<const int> in = g_.inputs(id);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const int source = at(in[i]).source;
      if (at(source).type != at(id).type) {
        add_root(source);
        note_reduction(id, at(source));
        continue;
      }
      bool seen = false;
      for (std::size_t k = 0; k < i; ++k) seen = seen || at(in[k]).source == source;
      if (!seen) ++at(source).users;
    }
  }

  // Which nest a reduction will be decides on its kernel: adjacent axes in front of the last one
  // are walked column by column, all others along rows (plan/candidate.hpp).
  constexpr void note_reduction(int id, node_facts& reduced) {
    const bool sum = g_[id].code == op::reduce_sum;
    if (!sum && g_[id].code != op::reduce_max) return;
    const auto axes = static_cast<std::uint64_t>(g_.attributes(id)[0]);
    const std::uint64_t shifted = axes == 0 ? 0 : axes >> std::countr_zero(axes);
    const bool adjacent = (shifted & (shifted + 1)) == 0;
    const auto last = static_cast<int>(g_[g_.inputs(id)[0]].shape.size()) - 1;
    const bool columns = adjacent && last >= 0 && (axes >> last & 1u) == 0;
    bool& noted = columns ? (sum ? reduced.column_summed : reduced.column_maximized)
                          : (sum ? reduced.summed : reduced.maximized);
    noted = true;
  }

  // ---- cones

  // Takes nodes in descending order, so that all users of a node inside of the cone come before it,
  // and stops where the limits are met.
  constexpr cone grow(int root, bool stop_at_shared) {
    cone out;
    node_set open, leaves;
    prefix fitting[region::max_nodes];
    int fitting_count = 0;
    const int type = at(root).type;
    open.insert(root);
    while (open.count > 0 && out.count < region::max_nodes) {
      const int id = open.ids[--open.count];
      out.nodes[out.count++] = id;
      const node_facts& own = at(id);
      for (int k = 0; k < own.operand_count; ++k) {
        const node_facts& below = at(own.operands[k]);
        const bool inside = below.type == type && !below.cut && !(stop_at_shared && below.shared);
        (inside ? open : leaves).insert(own.operands[k]);
      }
      if (open.count + leaves.count > region::max_leaves) continue;
      prefix state{out.count, open.count, 0, 0};
      bool fits = true;
      for (int cut : open) {
        fits = fits && !truth(cut);
        state.users += at(cut).users;
        if (!at(cut).root) ++state.new_roots;
      }
      if (fits) fitting[fitting_count++] = state;
    }
    out.count = best_size(fitting, fitting_count);
    collect_leaves(out);
    return out;
  }

  // Of the prefixes that fit: cuts where other regions are cut already, then the fewest values to
  // store between the parts, then values that others use too, then the largest; but no less than
  // half of what would fit.
  static constexpr int best_size(const prefix* fitting, int count) {
    if (count == 0) return 0;
    prefix best = fitting[count - 1];
    for (int i = count - 1; i >= 0 && 2 * fitting[i].nodes >= fitting[count - 1].nodes; --i)
      if (fitting[i].better_than(best)) best = fitting[i];
    return best.nodes;
  }

  constexpr void collect_leaves(cone& c) {
    for (int i = 0; i < c.count; ++i) at(c.nodes[i]).place = 1;
    for (int i = 0; i < c.count; ++i) {
      const node_facts& own = at(c.nodes[i]);
      for (int k = 0; k < own.operand_count; ++k)
        if (at(own.operands[k]).place == 0) c.leaves.insert(own.operands[k]);
    }
    for (int i = 0; i < c.count; ++i) at(c.nodes[i]).place = 0;
  }

  // ---- values between regions

  constexpr bool is_worth_sharing(int id) const {
    const node_facts& own = at(id);
    if (own.cones < 2 || truth(id)) return false;
    if (own.root) return own.work >= worth_reading;
    return own.users >= 2 && own.work >= worth_storing;
  }

  constexpr void add_with_shared_leaves(int id) {
    const cone c = grow(id, true);
    bool reads_shared = !at(id).root;
    for (int leaf : c.leaves) reads_shared = reads_shared || at(leaf).shared;
    if (reads_shared) add(c);
  }

  // ---- regions

  constexpr void add(const cone& c) {
    const node_facts& root = at(c.nodes[0]);
    const bool reduces = runner_ == region_runner::kernel && root.is_reduced();
    if (c.count < 2 && !reduces) return;  // micro-ops do single nodes
    const region structure = canonical(written_out(c));
    const std::uint32_t all_scalar = (1u << structure.leaf_count) - 1;
    if (structure.scalar_leaves == all_scalar) return;
    double work = 0, elements = 1;
    for (int i = 0; i < c.count; ++i) work += static_cast<double>(info(g_[c.nodes[i]].code).cost);
    for (dim d : g_[c.nodes[0]].shape)
      elements *= d.is_constant() ? static_cast<double>(d.constant()) : nominal_extent;
    if (elements <= 1) return;
    for (found& f : found_) {
      if (!(static_cast<const region&>(f.what) == structure)) continue;
      f.what.summed = f.what.summed || root.summed;
      f.what.maximized = f.what.maximized || root.maximized;
      f.what.column_summed = f.what.column_summed || root.column_summed;
      f.what.column_maximized = f.what.column_maximized || root.column_maximized;
      f.work += work * elements;
      return;
    }
    found_.push_back(
        {{structure, root.summed, root.maximized, root.column_summed, root.column_maximized},
         work * elements});
  }

  // The operand that is multiplied by the number 2, or -1. Kernels compute 2x as x + x, which has
  // the same bits: cores of AMD's add beside what they multiply, and a register less holds numbers.
  // (silu(2x + 1/2) y on a Zen 5: 0.94 of the time.) Steps multiply and add at once.
  constexpr int doubled_operand(int id) const {
    if (runner_ != region_runner::kernel || g_[id].code != op::mul) return -1;
    for (int k : {0, 1}) {
      const int other = at(id).operands[1 - k];
      if (g_[other].code == op::constant && constant_value(g_, other) == 2) return k;
    }
    return -1;
  }

  constexpr region written_out(const cone& c) {
    region out;
    out.type = static_cast<dtype>(at(c.nodes[0]).type);
    for (int leaf : c.leaves) at(leaf).place = -1 - out.add_leaf(is_scalar_leaf(leaf));
    for (int i = c.count - 1; i >= 0; --i) {
      const int id = c.nodes[i];
      node_facts& own = at(id);
      int operands[3] = {};
      for (int k = 0; k < own.operand_count; ++k) {
        const int place = at(own.operands[k]).place;
        operands[k] = place < 0 ? -1 - place : place - 1;
      }
      const int doubled = doubled_operand(id);
      own.place =
          1 + (doubled < 0 ? out.add_node(g_[id].code, operands[0], operands[1], operands[2])
                           : out.add_node(op::add, operands[doubled], operands[doubled]));
    }
    for (int i = 0; i < c.count; ++i) at(c.nodes[i]).place = 0;
    for (int leaf : c.leaves) at(leaf).place = 0;
    return out;
  }

  const graph& g_;
  bool (*may_fuse_)(op);
  region_runner runner_;
  flat_vector<node_facts> facts_;
  flat_vector<int> roots_;
  flat_vector<found> found_;
};

}  // namespace detail

/// The distinct element-wise regions of a traced graph (gradients expanded) in canonical form,
/// those with the most work first and at most max_regions. Roots are float or bool nodes that are
/// outputs, that something other than a region of their dtype uses, or at which a cone beyond the
/// limits of a region was cut. A node that several regions need is part of each; if it is
/// expensive, there are also a region of its own and regions that read it. Constants, other rank-0
/// nodes and broadcasts along the last axis are scalar leaves. stop_gradient, and broadcasts of
/// element-wise values that may turn out to be none, are looked through. Regions of scalars are
/// left out, and single nodes unless they are reduced.
/// `may_fuse`: which of the element-wise ops regions may have. Kernels reduce the result on the way
/// where that is wanted, and double by adding.
constexpr region_list find_regions(
    const graph& traced, bool (*may_fuse)(op) = [](op) { return true; },
    region_runner runner = region_runner::kernel) {
  if (traced.failed()) return {};
  return detail::region_finder(traced, may_fuse, runner).largest();
}

}  // namespace sinter::inline SINTER_ABI::ir
