// SPDX-License-Identifier: MIT
// Grouped nests: the products of a selection that have one left factor, run over one read of it
// (the projections of an attention, the gates of a recurrent cell, the gradients of the weights
// behind a layer). They are enumerated around a selection rather than with the other nests: which
// epilogue each product ends in is then known, where the combinations of all that could be are
// many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/candidate.hpp>
#include <sinter/plan/choice.hpp>
#include <sinter/plan/exchange.hpp>
#include <sinter/plan/select.hpp>
#include <sinter/plan/value_nests.hpp>

namespace sinter::inline SINTER_ABI::planning {

class product_grouping {
 public:
  product_grouping(const value_graph& g, const cut_enumeration& cuts, candidate_enumeration& nests,
                   std::span<const int> roots)
      : g_(g), cuts_(cuts), nests_(nests), roots_(roots) {}

  // Adds a nest for every group of products, and exchanges it for them where that is cheaper.
  // Linear in the needed nests, and in the size of the graph for each product that shares a factor.
  void improve(selection& chosen) {
    chosen_ = &chosen;
    const int first = static_cast<int>(nests_.all().size());
    double saved = 0;
    for (const std::vector<int>& group : groups()) {
      nests_.add_group(group);
      saved -= nests_.all().back().cost;
      for (int part : group) saved += nest(part).cost;
    }
    const int last = static_cast<int>(nests_.all().size());
    if (first == last) return;
    const value_nests alternatives(g_, nests_);
    nest_choice choice(alternatives, roots_, chosen.nest_of);
    exchange_search search(alternatives, choice);
    for (int i = first; i < last; ++i) search.exchange(i);
    chosen.nest_of = choice.nests();
    chosen.cost = nest_choice(alternatives, roots_, chosen.nest_of).cost();
    // A choice with these nests costs at most so much less than the one with their parts.
    chosen.lower_bound = std::clamp(chosen.lower_bound - saved, 0.0, chosen.cost);
  }

 private:
  const candidate& nest(int i) const { return nests_.all()[static_cast<std::size_t>(i)]; }

  // Groups of at least two nests that do not depend on each other.
  std::vector<std::vector<int>> groups() {
    std::vector<std::vector<int>> found;
    const std::vector<int> products = needed_products();
    const auto has_partner = [&](int i) {
      return std::ranges::any_of(products, [&](int j) { return i != j && share_left(i, j); });
    };
    std::vector<bool> behind;  // by nest: what the product at hand needs
    for (int i : products) {
      if (!has_partner(i)) continue;
      behind = needed_by(i);
      const auto fits = [&](const std::vector<int>& group) {
        // Members come in the order in which nests are emitted: none needs a later one.
        return share_left(group[0], i) && std::ranges::none_of(group, [&](int member) {
                 return behind[static_cast<std::size_t>(member)] || store_the_same(member, i);
               });
      };
      const auto place = std::ranges::find_if(found, fits);
      if (place != found.end())
        place->push_back(i);
      else
        found.push_back({i});
    }
    std::erase_if(found, [](const std::vector<int>& group) { return group.size() < 2; });
    return found;
  }

  // Matmul nests in an order in which what they need comes before them.
  std::vector<int> needed_products() const {
    std::vector<int> out;
    std::vector<bool> seen(nests_.all().size(), false);
    for (int root : roots_)
      walk(root, seen, [&](int i) {
        if (nest(i).kind == nest_kind::matmul) out.push_back(i);
      });
    return out;
  }

  // By nest: is it needed, directly or not, by this one?
  std::vector<bool> needed_by(int i) const {
    std::vector<bool> seen(nests_.all().size(), false);
    for (int r : nest(i).reads) walk(r, seen, [](int) {});
    return seen;
  }

  // Visits the nests that a value needs and that were not seen yet, operands first. The stack is
  // explicit.
  template <class Visitor>
  void walk(int value, std::vector<bool>& seen, Visitor visit) const {
    std::vector<std::pair<int, std::size_t>> stack;
    const auto enter = [&](int v) {
      if (g_[v].is_source()) return;
      const int i = chosen_->nest_of[static_cast<std::size_t>(v)];
      if (i < 0 || seen[static_cast<std::size_t>(i)]) return;
      seen[static_cast<std::size_t>(i)] = true;
      stack.push_back({i, 0});
    };
    enter(value);
    while (!stack.empty()) {
      auto& [i, next] = stack.back();
      if (next < nest(i).reads.size()) {
        enter(nest(i).reads[next++]);
        continue;
      }
      visit(i);
      stack.pop_back();
    }
  }

  // Is the left factor the same, and are batches and rows?
  bool share_left(int i, int j) const {
    // What runs once does not wait for what runs in every call.
    if (nests_.is_preparation(i) != nests_.is_preparation(j)) return false;
    if (nest(i).gathered[0] != nest(j).gathered[0]) return false;
    if (nest(i).winograd || nest(j).winograd) return false;
    const cut &a = nest(i).inside, &b = nest(j).inside;
    if (a.factors[0] != b.factors[0] || cuts_.transposes_left(a) != cuts_.transposes_left(b))
      return false;
    return same_but_last(g_[a.product].shape, g_[b.product].shape) &&
           cuts_.vary_alike(a.factors[1], b.factors[1]);
  }

  bool store_the_same(int i, int j) const {
    return std::ranges::any_of(nest(i).outputs, [&](int v) {
      return std::ranges::find(nest(j).outputs, v) != nest(j).outputs.end();
    });
  }

  static bool same_but_last(const ir::symbolic_shape& a, const ir::symbolic_shape& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
  }

  const value_graph& g_;
  const cut_enumeration& cuts_;
  candidate_enumeration& nests_;
  std::span<const int> roots_;
  const selection* chosen_ = nullptr;
};

}  // namespace sinter::inline SINTER_ABI::planning
