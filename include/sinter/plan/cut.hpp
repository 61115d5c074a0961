// SPDX-License-Identifier: MIT
// Cuts: the ways to compute a value inside one nest. A cut says which values are computed inside
// (and in which form) and which are read from memory. Enumerated bottom-up, a few per value, as
// technology mapping does (priority cuts; Mishchenko et al. 2007), with the estimated time as
// priority.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/nest_policy.hpp>
#include <sinter/plan/op_work.hpp>
#include <sinter/plan/values.hpp>
#include <sinter/plan/view.hpp>

namespace sinter::inline SINTER_ABI::planning {

// Does `row` equal `space` with the last `axes` extents replaced by 1?
inline bool is_row_of(const ir::symbolic_shape& row, const ir::symbolic_shape& space, int axes) {
  if (row.size() != space.size()) return false;
  const std::size_t outer = space.size() - static_cast<std::size_t>(axes);
  for (std::size_t i = 0; i < space.size(); ++i)
    if (!(row[i] == (i < outer ? space[i] : ir::dim(1)))) return false;
  return true;
}

// Are the axes of the mask the last ones, but for axes of one element?
inline bool are_last_but_units(std::int64_t mask, const ir::symbolic_shape& shape) {
  const int first = std::countr_zero(static_cast<std::uint64_t>(mask));
  for (int axis = first; axis < static_cast<int>(shape.size()); ++axis)
    if (!ir::has_axis(mask, axis) && !(shape[static_cast<std::size_t>(axis)] == ir::dim(1)))
      return false;
  return true;
}

struct cut {
  std::vector<int> leaves;                // values that are read, sorted
  std::vector<std::pair<int, int>> body;  // (value, form) that are computed, sorted
  int inner_axes = 0;                     // > 0: rows, the last axes of `space` are reduced inside
  bool at_most = false;                   // rows of fewer axes will do as well
  ir::symbolic_shape space;               // the iteration space if inner_axes > 0
  int product = -1;                       // the value of the body that a matmul computes, or -1
  int second_product = -1;                // another one with the same left factor
  // Its operands, which must be in memory whatever else is computed inside, and the right one of
  // the second product.
  std::array<int, 3> factors{-1, -1, -1};
  double cost = 0;

  // The form in which a value is computed inside, or -1.
  int form_of(int value) const {
    const auto place = std::ranges::lower_bound(body, value, {}, &std::pair<int, int>::first);
    return place != body.end() && place->first == value ? place->second : -1;
  }
  bool computes(int value) const { return form_of(value) >= 0; }

  // Can it be computed over rows of so many axes of the space, be it by itself over any?
  bool may_have_rows(int axes, const ir::symbolic_shape& of) const {
    if (inner_axes == 0) return true;
    return space == of && (inner_axes == axes || (at_most && axes < inner_axes));
  }
  bool is_row(const ir::symbolic_shape& shape) const {
    return inner_axes != 0 && is_row_of(shape, space, inner_axes);
  }
  void set_rows(int axes, const ir::symbolic_shape& of) {
    inner_axes = axes;
    at_most = false;
    space = of;
  }
};

inline constexpr std::size_t cuts_kept = 6;
inline constexpr std::size_t leaf_limit = 16;
inline constexpr std::size_t body_limit = 64;

// The number of last axes along which `row` is a row of `space`, or 0.
inline int row_axes(const ir::symbolic_shape& row, const ir::symbolic_shape& space) {
  if (row.size() != space.size()) return 0;
  int axes = static_cast<int>(space.size());
  for (std::size_t i = 0; i < space.size() && row[i] == space[i]; ++i) --axes;
  return axes > 0 && is_row_of(row, space, axes) ? axes : 0;
}

// The number of last axes along which `repeated` has one element of `from`, 0 if it has none twice.
inline int repeated_axes(const ir::symbolic_shape& from, const ir::symbolic_shape& repeated) {
  if (from.size() != repeated.size()) return 0;
  int axes = 0;
  bool is_repeated = false;
  for (std::size_t i = from.size(); i-- > 0 && from[i] == ir::dim(1); ++axes)
    is_repeated = is_repeated || !(repeated[i] == ir::dim(1));
  return is_repeated ? axes : 0;
}

class cut_enumeration {
 public:
  explicit cut_enumeration(const value_graph& g, const nest_policy& policy = {})
      : g_(g),
        policy_(policy),
        cuts_(static_cast<std::size_t>(g.size())),
        best_(static_cast<std::size_t>(g.size()), 0),
        users_(static_cast<std::size_t>(g.size()), 0) {
    for (int v = 0; v < g.size(); ++v) base_.push_back(resolve(g, v).base);
    gathered_ = base_;
    for (const value_class& v : g.values())
      for (int operand : v.forms.front().operands) users_[static_cast<std::size_t>(operand)] += 1;
    for (int v = 0; v < g.size(); ++v)
      if (!g[v].is_choice()) enumerate(v);
  }

  std::span<const cut> of(int value) const { return cuts_[static_cast<std::size_t>(value)]; }

  // What the best cut of the value takes, as far as can be said before anything is chosen.
  double estimate(int value) const { return best_[static_cast<std::size_t>(value)]; }

  // The cut that only reads the value.
  cut leaf(int value) const {
    cut c;
    c.leaves.push_back(value);
    return c;
  }

  // Are the right factors of two products matrices of the same batches in memory? One that is
  // repeated for all batches makes them more rows, which would be summed up in another way if the
  // batches stayed apart for the other's sake.
  bool vary_alike(int a, int b) const {
    const auto batches = [&](int right) {
      const form* repeated = g_[right].find(ir::op::broadcast_to);
      ir::symbolic_shape out = g_[repeated != nullptr ? repeated->operands[0] : right].shape;
      out.resize(out.size() - 2);
      return out;
    };
    return batches(a) == batches(b);
  }

  // The nest of cut `a` made to compute `value`, too, or to read it, where it reads nothing more
  // for that; nothing if no cut of the value fits.
  std::optional<cut> extended(const cut& a, int value) const {
    if (a.computes(value) || std::ranges::binary_search(a.leaves, value)) return a;
    std::optional<cut> best;
    for (const cut& c : of(value)) {
      auto both = merge(a, c);
      if (both && std::ranges::includes(a.leaves, both->leaves) &&
          (!best || both->body.size() < best->body.size()))
        best = std::move(both);
    }
    return best;
  }

  // The ways to have the operands of a form side by side, each in a part of one nest: read, or
  // computed element by element. The first one reads them all.
  std::vector<cut> side_by_side(const form& f) const {
    std::vector<cut> partial(1);
    for (int operand : f.operands)
      partial = with_operand(partial, operand, leaf(operand), cuts_kept, [](const cut& inside) {
        return inside.inner_axes == 0 && inside.product < 0;
      });
    return partial;
  }

  // The form of the product of the cut.
  const form& product_form(const cut& c) const {
    return g_[c.product].forms[static_cast<std::size_t>(c.form_of(c.product))];
  }

  // Does the product of the cut read its left factor transposed?
  bool transposes_left(const cut& c) const {
    return g_.payload(product_form(c)).attributes[0] != 0;
  }

 private:
  void enumerate(int v) {
    std::vector<cut> found;
    const value_class& value = g_[v];
    for (int f = 0; f < static_cast<int>(value.forms.size()); ++f) {
      const form& each = value.forms[static_cast<std::size_t>(f)];
      if (each.fused >= 0 || ir::is_elementwise(each.code))
        elementwise(found, v, f);
      else if (each.code == ir::op::broadcast_to)
        broadcast(found, v, f);
      else if (ir::info(each.code).kind == ir::kind::reduction)
        reduction(found, v, f);
      else if (each.code == ir::op::matmul)
        product(found, v, f);
      else if (each.code == ir::op::iota || each.code == ir::op::random_uniform)
        generator(found, v, f);
    }
    keep_best(found, cuts_kept);
    double best = 0;
    for (const cut& c : found) best = best == 0 ? c.cost : std::min(best, c.cost);
    best_[static_cast<std::size_t>(v)] = best;
    cuts_[static_cast<std::size_t>(v)] = std::move(found);
    for (int choice : {value.views, value.reader})
      if (choice >= 0) estimate_choice(choice);
  }

  // Of the ways to read the value, that which takes least to make.
  void estimate_choice(int choice) {
    double least = std::numeric_limits<double>::infinity();
    for (const form& way : g_[choice].forms) {
      const int made = resolve_way(g_, g_[choice], way).base;
      double takes = best_[static_cast<std::size_t>(made)];
      // Not computed by a nest that has cuts: what its first operand takes.
      if (const auto& operands = g_[made].forms[0].operands; takes == 0 && !operands.empty())
        takes = best_[static_cast<std::size_t>(operands[0])];
      least = std::min(least, takes);
    }
    best_[static_cast<std::size_t>(choice)] = least;
    users_[static_cast<std::size_t>(choice)] =
        users_[static_cast<std::size_t>(g_[choice].stands_for)];
  }

  // Every operand is read, or computed inside by one of its cuts.
  void elementwise(std::vector<cut>& found, int v, int f) const {
    const form& each = g_[v].forms[static_cast<std::size_t>(f)];
    std::vector<cut> partial(1);
    for (std::size_t k = 0; k < each.operands.size(); ++k) {
      const int operand = each.operands[k];
      const int row = per_row_axes(each, k);
      if (row < 0) return;
      cut plain = leaf(operand);
      if (row > 0) {
        plain.set_rows(row, g_[v].shape);
        plain.at_most = true;
      }
      const auto is_row = [&](const cut& inside) {
        return inside.inner_axes > 0 && inside.inner_axes <= row && !inside.at_most;
      };
      partial = with_operand(partial, operand, plain, 2 * cuts_kept, [&](const cut& inside) {
        return goes_on(inside) && (row == 0 || is_row(inside));
      });
    }
    for (cut& c : partial) add(found, std::move(c), v, f);
  }

  // The `kept` best of the cuts so far, each with one more operand: read (`plain`), or computed by
  // a cut that fits. Scalars are computed once, not per element, and of a constant every element is
  // known.
  template <class Fits>
  std::vector<cut> with_operand(const std::vector<cut>& so_far, int operand, const cut& plain,
                                std::size_t kept, Fits fits) const {
    std::vector<cut> out;
    const bool is_read = g_[operand].scalar() || g_[operand].is_constant;
    for (const cut& each : so_far) {
      if (auto merged = merge(each, plain)) out.push_back(std::move(*merged));
      if (is_read) continue;
      for (const cut& inside : of(operand)) {
        if (!fits(inside)) continue;
        if (auto merged = merge(each, inside)) out.push_back(std::move(*merged));
      }
    }
    for (cut& c : out) price(c);
    keep_best(out, kept);
    return out;
  }

  // A superinstruction may want operand k as one value per row. Returns the most axes that such a
  // row can have, 0 where the operand may be anything, -1 where it does not fit.
  int per_row_axes(const form& f, std::size_t k) const {
    const int number = f.operands[k];
    const value_class& operand = g_[number];
    if (f.fused < 0 || !g_.instruction(f).structure.is_scalar(static_cast<int>(k)) ||
        operand.scalar() || operand.is_constant)
      return 0;
    // However it is read, it must be repeated.
    int most = static_cast<int>(operand.shape.size());
    const auto repeats = [&](const form& view) {
      if (view.code != ir::op::broadcast_to) return false;
      most = std::min(most, repeated_axes(g_[view.operands[0]].shape, operand.shape));
      return most > 0;
    };
    const form* const view = view_of(g_, number);
    const bool is_repeated = operand.views >= 0
                                 ? std::ranges::all_of(g_[operand.views].forms, repeats)
                                 : view != nullptr && repeats(*view);
    return is_repeated && operand.reader < 0 ? most : -1;
  }

  // A value per row, spread over the row: the way from row level to full level.
  void broadcast(std::vector<cut>& found, int v, int f) const {
    const int operand = g_[v].forms[static_cast<std::size_t>(f)].operands[0];
    const int axes = row_axes(g_[operand].shape, g_[v].shape);
    if (axes == 0) return;
    for (const cut& inside : of(operand)) {
      if (inside.product >= 0 || !goes_on(inside)) continue;
      if (!inside.may_have_rows(axes, g_[v].shape)) continue;
      cut c = inside;
      c.set_rows(axes, g_[v].shape);
      add(found, std::move(c), v, f);
    }
  }

  // A reduction over the last axes of the space.
  void reduction(std::vector<cut>& found, int v, int f) const {
    const int operand = g_[v].forms[static_cast<std::size_t>(f)].operands[0];
    const int axes =
        trailing_axes(g_.payload(g_[v].forms[static_cast<std::size_t>(f)]).attributes[0],
                      static_cast<int>(g_[v].shape.size()));
    if (axes == 0) return;
    const auto use = [&](cut c) {
      if (c.product >= 0 || !goes_on(c)) return;
      if (!c.may_have_rows(axes, g_[operand].shape)) return;
      c.set_rows(axes, g_[operand].shape);
      add(found, std::move(c), v, f);
    };
    use(leaf(operand));
    for (const cut& inside : of(operand)) use(inside);
  }

  void product(std::vector<cut>& found, int v, int f) {
    const form& each = g_[v].forms[static_cast<std::size_t>(f)];
    cut c = leaf(each.operands[0]);
    if (each.operands[1] != each.operands[0]) c.leaves.push_back(each.operands[1]);
    std::ranges::sort(c.leaves);
    c.product = v;
    c.factors = {each.operands[0], each.operands[1], -1};
    for (int factor : each.operands)
      if (const form* const joins = joined_view(g_, factor); joins != nullptr)
        gathered_[static_cast<std::size_t>(factor)] = resolve(g_, joins->operands[0]).base;
    add(found, std::move(c), v, f);
  }

  void generator(std::vector<cut>& found, int v, int f) const {
    cut c;
    for (int key : g_[v].forms[static_cast<std::size_t>(f)].operands) c.leaves.push_back(key);
    add(found, std::move(c), v, f);
  }

 public:
  // 0 unless the mask is exactly the last axes.
  static int trailing_axes(std::int64_t mask, int rank) {
    int axes = 0;
    while (axes < rank && ir::has_axis(mask, rank - 1 - axes)) ++axes;
    return mask == ((std::int64_t{1} << axes) - 1) << (rank - axes) ? axes : 0;
  }

 private:
  // Both in one nest, or nothing where they do not fit together.
  std::optional<cut> merge(const cut& a, const cut& b) const {
    cut out;
    if (!merge_rows(a, b, out) || !merge_products(a, b, out)) return std::nullopt;
    if (out.product >= 0 && out.inner_axes != 0) return std::nullopt;
    std::ranges::set_union(a.body, b.body, std::back_inserter(out.body));
    for (int factor : out.factors)
      if (out.computes(factor)) return std::nullopt;
    for (std::size_t i = 1; i < out.body.size(); ++i)
      if (out.body[i].first == out.body[i - 1].first)
        return std::nullopt;  // one value in two forms
    std::vector<int> leaves;
    std::ranges::set_union(a.leaves, b.leaves, std::back_inserter(leaves));
    for (int leaf : leaves)
      if (!out.computes(leaf)) out.leaves.push_back(leaf);
    if (out.leaves.size() > leaf_limit || out.body.size() >= body_limit) return std::nullopt;
    return out;
  }

  // The longest rows that both may have, if there are any.
  static bool merge_rows(const cut& a, const cut& b, cut& out) {
    const bool takes_a = b.inner_axes == 0 || (a.inner_axes != 0 && a.inner_axes <= b.inner_axes);
    const cut &rows = takes_a ? a : b, &other = takes_a ? b : a;
    if (rows.inner_axes != 0 && !other.may_have_rows(rows.inner_axes, rows.space)) return false;
    out.inner_axes = rows.inner_axes;
    out.at_most = rows.at_most && (other.inner_axes == 0 || other.at_most);
    out.space = rows.space;
    return true;
  }

  // Two different products only if they have their left factor in common: a gate and what it gates.
  bool merge_products(const cut& a, const cut& b, cut& out) const {
    const cut& first = a.product >= 0 ? a : b;
    const cut& other = a.product >= 0 ? b : a;
    out.product = first.product;
    out.second_product = first.second_product;
    out.factors = first.factors;
    const auto add_product = [&](int value, int right) {
      if (value < 0 || value == out.product || value == out.second_product) return true;
      if (out.second_product >= 0 || !share_left(first, other) ||
          !vary_alike(out.factors[1], right))
        return false;
      out.second_product = value;
      out.factors[2] = right;
      return true;
    };
    return add_product(other.product, other.factors[1]) &&
           add_product(other.second_product, other.factors[2]);
  }

  bool share_left(const cut& a, const cut& b) const {
    return a.factors[0] == b.factors[0] && g_[a.product].shape == g_[b.product].shape &&
           transposes_left(a) == transposes_left(b);
  }

  void add(std::vector<cut>& found, cut c, int v, int f) const {
    if (c.computes(v) || std::ranges::binary_search(c.leaves, v)) return;
    c.body.insert(std::ranges::lower_bound(c.body, std::pair{v, f}), {v, f});
    price(c);
    found.push_back(std::move(c));
  }

  // May a nest that computes this go on? Not behind a product without epilogues, nor behind a
  // reduction without rows.
  bool goes_on(const cut& c) const {
    const auto reduces = [&](const std::pair<int, int>& computed) {
      const form& f = g_[computed.first].forms[static_cast<std::size_t>(computed.second)];
      return f.fused < 0 && ir::info(f.code).kind == ir::kind::reduction;
    };
    return (policy_.epilogues || c.product < 0) &&
           (policy_.rows || std::ranges::none_of(c.body, reduces));
  }

  // What the nest would take, and what it costs to have its leaves in memory (they were written by
  // somebody).
  void price(cut& c) const {
    double cost = 0;
    for (const auto& [v, f] : c.body) {
      const value_class& value = g_[v];
      const form& each = value.forms[static_cast<std::size_t>(f)];
      double elements = value.elements;
      if (ir::info(each.code).kind == ir::kind::reduction && each.fused < 0)
        elements = g_[each.operands[0]].elements;
      cost += each.work * elements;
      if (each.code == ir::op::matmul && each.fused < 0)
        cost += g_.machine().flop * 2 * value.elements * static_cast<double>(g_.depth_of(each));
    }
    for (int leaf : c.leaves) {
      if (g_[leaf].scalar()) continue;
      const int base = stored_for(c, leaf);
      const double bytes = g_[base].bytes();
      const bool given = g_[base].find(ir::op::argument) != nullptr || g_[base].fixed;
      cost += bytes * byte_cost(bytes, g_.machine()) * (given ? 1 : 2);
      // Area flow (Manohararajah et al. 2006): making the leaf is shared among those who use it.
      if (!given)
        cost += g_.machine().launch + best_[static_cast<std::size_t>(base)] /
                                          std::max(1.0, users_[static_cast<std::size_t>(base)]);
    }
    c.cost = rounded_cost(cost);
  }

  // What is in memory where the cut reads this leaf. Windows of which a product has a factor are
  // gathered from their image (candidate.hpp): with the price of storing them, an epilogue of three
  // ops behind a depthwise convolution was never among the cuts that are kept.
  int stored_for(const cut& c, int leaf) const {
    const bool is_factor = std::ranges::find(c.factors, leaf) != c.factors.end();
    return (is_factor ? gathered_ : base_)[static_cast<std::size_t>(leaf)];
  }

  // Values that somebody would have to store for this cut.
  int stored_leaves(const cut& c) const {
    int count = 0;
    for (int leaf : c.leaves) {
      const value_class& base = g_[stored_for(c, leaf)];
      count +=
          base.scalar() || base.is_constant || base.fixed || base.find(ir::op::argument) != nullptr
              ? 0
              : 1;
    }
    return count;
  }

  // Do two cuts compute the same values from the same ones? Then they differ in forms.
  static bool are_alike(const cut& a, const cut& b) {
    constexpr auto number = &std::pair<int, int>::first;
    return a.inner_axes == b.inner_axes && a.at_most == b.at_most && a.leaves == b.leaves &&
           std::ranges::equal(a.body, b.body, {}, number, number);
  }

  // Keeps the cuts that matter: one that computes nothing but the last op ("store the operands"),
  // the largest region (fewest values stored), and for the rest the cheapest, of those that are
  // alike one. The estimate favours what shares work, so the largest region, which pays off only
  // when it meets its other half further up, must not depend on it. And beside these the cheapest
  // behind a product by windows, if there is none yet: the estimate takes other forms of the same
  // epilogue for others that read the product, and so for a share in it. (Behind all products the
  // search for a transformer's plan ended 12 % from its bound instead of 2 %.)
  void keep_best(std::vector<cut>& found, std::size_t limit) const {
    std::ranges::stable_sort(found, {}, &cut::cost);
    std::vector<cut> kept;
    const auto keep = [&](cut& c) {
      for (const cut& k : kept)
        if (are_alike(k, c)) return;
      kept.push_back(c);
    };
    const auto plain =
        std::ranges::min_element(found, {}, [](const cut& c) { return c.body.size(); });
    const auto largest =
        std::ranges::min_element(found, {}, [&](const cut& c) { return stored_leaves(c); });
    if (plain != found.end()) {
      keep(*plain);
      keep(*largest);
    }
    for (cut& c : found)
      if (kept.size() < limit) keep(c);
    const auto is_behind_windows = [&](const cut& c) {
      return std::ranges::any_of(c.factors, [&](int factor) {
        return factor >= 0 && gathered_[static_cast<std::size_t>(factor)] !=
                                  base_[static_cast<std::size_t>(factor)];
      });
    };
    if (const auto behind = std::ranges::find_if(found, is_behind_windows);
        behind != found.end() && std::ranges::none_of(kept, is_behind_windows))
      kept.push_back(*behind);
    found = std::move(kept);
  }

  const value_graph& g_;
  nest_policy policy_;
  std::vector<int> base_;      // by value: what is stored when the value is read
  std::vector<int> gathered_;  // the same when a product has it as a factor
  std::vector<std::vector<cut>> cuts_;
  std::vector<double> best_;   // by value: the estimate of its best cut
  std::vector<double> users_;  // by value: how many forms read it
};

}  // namespace sinter::inline SINTER_ABI::planning
