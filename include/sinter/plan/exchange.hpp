// SPDX-License-Identifier: MIT
// Improves a choice of nests by exchanges, while they lower the whole cost.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <sinter/plan/choice.hpp>

namespace sinter::inline SINTER_ABI::planning {

template <class Nests>
class exchange_search {
 public:
  exchange_search(const Nests& nests, nest_choice<Nests>& choice)
      : nests_(nests), choice_(choice) {}

  // One nest at a time; and, for a nest that stores what others compute again for themselves,
  // together with the nests that would then read it.
  void improve() {
    for (bool better = true; better;) {
      better = exchange_each();
      for (int i = 0; i < nests_.count(); ++i)
        if (nests_.stores_several(i) && nests_.usable(i) && choice_.needs(nests_.root(i)))
          better = exchange_with_readers(i) || better;
    }
  }

  // Every nest once, by number or the other way. Returns whether one was exchanged.
  bool exchange_each(bool backwards = false) {
    bool better = false;
    undo_.clear();
    for (int k = 0; k < nests_.count(); ++k) {
      const int i = backwards ? nests_.count() - 1 - k : k;
      if (nests_.usable(i) && choice_.needs(nests_.root(i))) better = exchange(i) || better;
    }
    return better;
  }

  // Lets nest i store all its outputs if that is cheaper.
  bool exchange(int i) {
    const double before = choice_.cost();
    const std::size_t start = mark();
    if (!store_all(i)) return false;
    if (less(choice_.cost(), before) && !is_cyclic(i)) return true;
    take_back(start);
    return false;
  }

  // Assigns, and keeps what was there before.
  void assign(int goal, int nest) {
    undo_.push_back({goal, choice_.nest_of(goal)});
    choice_.assign(goal, nest);
  }
  std::size_t mark() const { return undo_.size(); }
  void take_back(std::size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back())
      choice_.assign(undo_.back().first, undo_.back().second);
  }

  // A tiny margin keeps rounding from exchanging equals for ever.
  static bool less(double a, double b) { return a < b * (1 - 1e-9); }

 private:
  bool exchange_with_readers(int i) {
    const double before = choice_.cost();
    const std::size_t start = mark();
    store_all(i);
    if (!is_cyclic(i))
      nests_.for_each_output(i, [&](int out) {
        nests_.for_each_reader(out, [&](int reader) {
          if (choice_.needs(nests_.root(reader))) exchange(reader);
        });
      });
    if (less(choice_.cost(), before) && !is_cyclic(i)) return true;
    take_back(start);
    return false;
  }

  // False if it does so already.
  bool store_all(int i) {
    bool changes = false;
    nests_.for_each_output(i, [&](int out) {
      if (choice_.nest_of(out) == i) return;
      assign(out, i);
      changes = true;
    });
    return changes;
  }

  bool is_cyclic(int i) {
    bool found = false;
    nests_.for_each_output(i, [&](int out) { found = found || choice_.is_cyclic_at(out); });
    return found;
  }

  const Nests& nests_;
  nest_choice<Nests>& choice_;
  std::vector<std::pair<int, int>> undo_;  // goal, its nest before
};

}  // namespace sinter::inline SINTER_ABI::planning
