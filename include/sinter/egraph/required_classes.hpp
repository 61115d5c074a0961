// SPDX-License-Identifier: MIT
//
// What cannot be avoided: for each class the classes that are part of every finite term of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/egraph/enode.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// The greatest solution of required(c) = {c} and what all options of c require, where an option
/// requires what any of its children does; by induction over terms it holds for every finite one.
/// Options that require their own class are part of no term without a cycle and do not count.
class required_classes {
 public:
  explicit required_classes(std::size_t classes)
      : sets_(classes), known_(classes, 0), count_(classes, 0), stamp_(classes, 0) {}

  /// `order`: all classes, roughly children first; `component`: strongly connected components, what
  /// a class needs in none with a higher number. `options(c, visit)` calls visit(children) for each
  /// option of c, children being a range of classes. Returns false, and knows nothing, if more than
  /// `work` set entries would be touched.
  template <class Options>
  bool compute(std::vector<std::uint32_t> order, const std::vector<std::uint32_t>& component,
               Options&& options, std::size_t& work) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return component[a] < component[b]; });
    // In a component with cycles a class is looked at again where a child has changed since.
    std::vector<std::uint32_t> seen(component.size(), 0), changed(component.size(), 0);
    std::uint32_t now = 0;
    for (auto first = order.begin(); first != order.end();) {
      const auto last = std::find_if(
          first, order.end(), [&](std::uint32_t c) { return component[c] != component[*first]; });
      for (bool again = true; again;) {
        again = false;
        for (auto at = first; at != last; ++at) {
          const std::uint32_t c = *at;
          bool stale = seen[c] == 0;
          if (!stale) {
            options(c, [&](const auto& children) {
              for (const std::uint32_t d : children) stale = stale || changed[d] > seen[c];
            });
          }
          if (!stale) continue;
          seen[c] = ++now;
          if (!update(c, options, work)) continue;
          changed[c] = ++now;
          again = true;
        }
        again = again && last - first > 1;
        if (work == 0) return false;
      }
      first = last;
    }
    return true;
  }

  /// In order of class, the class itself included. Empty for a class without a finite term.
  const std::vector<std::uint32_t>& of(std::uint32_t c) const { return sets_[c]; }
  bool known(std::uint32_t c) const { return known_[c] != 0; }
  void forget(std::uint32_t c) { known_[c] = 0; }

  /// What an option with these children requires, appended to `out` in no order. False if a child
  /// has no finite term.
  template <class Children>
  bool of_option(const Children& children, std::vector<std::uint32_t>& out) {
    ++time_;
    for (const std::uint32_t d : children) {
      if (known_[d] == 0) return false;
      for (const std::uint32_t e : sets_[d]) {
        if (stamp_[e] == time_) continue;
        stamp_[e] = time_;
        out.push_back(e);
      }
    }
    return true;
  }

 private:
  // A class not yet known stands for the set of all classes.
  template <class Options>
  bool update(std::uint32_t c, Options&& options, std::size_t& work) {
    std::uint32_t counted = 0;
    touched_.clear();
    options(c, [&](const auto& children) {
      union_.clear();
      const bool finite = of_option(children, union_);
      work -= std::min(work, union_.size() + 1);
      if (!finite || stamp_[c] == time_) return;
      ++counted;
      for (const std::uint32_t d : union_) {
        if (count_[d]++ == 0) touched_.push_back(d);
      }
    });
    if (counted == 0) return false;
    next_.clear();
    next_.push_back(c);
    for (const std::uint32_t d : touched_) {
      if (count_[d] == counted) next_.push_back(d);
      count_[d] = 0;
    }
    if (known_[c] != 0 && next_.size() == sets_[c].size()) return false;
    std::sort(next_.begin(), next_.end());
    known_[c] = 1;
    sets_[c] = next_;
    return true;
  }

  std::vector<std::vector<std::uint32_t>> sets_;
  std::vector<std::uint8_t> known_;
  std::vector<std::uint32_t> count_, stamp_;
  std::vector<std::uint32_t> touched_, union_, next_;
  std::uint32_t time_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
