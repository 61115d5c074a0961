// SPDX-License-Identifier: MIT
// The order in which the nests of a selection are emitted: operands first, and outputs in the order
// in which they can be had. A gradient of the last layer is then computed as soon as backward
// propagation has come by; in the order of the outputs all of them would wait for the first
// layer's, and everything they read with them (a chain of 24 layers: 47 activations alive at once
// instead of 25).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/select.hpp>
#include <sinter/plan/value_nests.hpp>

namespace sinter::inline SINTER_ABI::planning {

class emission_order {
 public:
  // nest_of: by value, -1 where it is not stored.
  emission_order(const value_nests& nests, std::span<const int> nest_of, std::span<const int> roots)
      : nests_(nests),
        nest_of_(nest_of),
        depth_(nest_of.size(), 0),
        needed_(nest_of.size(), false) {
    walk(roots);
    std::vector<int> sorted(roots.begin(), roots.end());
    std::ranges::stable_sort(sorted, {}, [&](int v) { return depth_[at(v)]; });
    walk(sorted);
  }

  // Nests, in order.
  const std::vector<int>& nests() const { return order_; }
  // Values that they store, one for each.
  std::vector<int> goals() const {
    std::vector<int> out;
    for (int nest : order_)
      out.push_back(*std::ranges::find_if(
          nests_[nest].outputs, [&](int v) { return nest_of_[at(v)] == nest && needs(v); }));
    return out;
  }
  // Does an output need this value in memory?
  bool needs(int value) const { return needed_[at(value)]; }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // Depth first; the stack is explicit. Sets `order_`, and of every value the number of nests on
  // the longest way to it.
  void walk(std::span<const int> roots) {
    order_.clear();
    std::vector<bool> done(at(nests_.count()), false);
    std::vector<std::pair<int, std::size_t>> stack;
    for (int root : roots) {
      stack.push_back({root, 0});
      while (!stack.empty()) {
        auto& [v, next] = stack.back();
        const int number = nest_of_[at(v)];
        needed_[at(v)] = true;
        if (nests_.is_source(v) || number < 0 || done[at(number)]) {
          stack.pop_back();
          continue;
        }
        const candidate& c = nests_[number];
        if (next < c.reads.size()) {
          stack.push_back({c.reads[next++], 0});
          continue;
        }
        int depth = 1;
        for (int r : c.reads) depth = std::max(depth, depth_[at(r)] + 1);
        for (int out : c.outputs)
          if (nest_of_[at(out)] == number) depth_[at(out)] = depth;
        done[at(number)] = true;
        order_.push_back(number);
        stack.pop_back();
      }
    }
  }

  const value_nests& nests_;
  std::span<const int> nest_of_;
  std::vector<int> depth_;    // by value
  std::vector<bool> needed_;  // by value
  std::vector<int> order_;
};

// The selection with its goals in this order, and without what no output needs: values that nests
// could store beside others.
inline selection in_order(selection s, const emission_order& order) {
  for (std::size_t v = 0; v < s.nest_of.size(); ++v)
    if (!order.needs(static_cast<int>(v))) s.nest_of[v] = -1;
  s.order = order.goals();
  return s;
}

}  // namespace sinter::inline SINTER_ABI::planning
