// SPDX-License-Identifier: MIT
// Which nests of a plan wait for which: for what they read, and for whoever still reads, or has
// written before, the memory that they write. The longest chain of them is the critical path.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_order.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/support/add_once.hpp>

namespace sinter::inline SINTER_ABI::planning {

class conflict_finder {
 public:
  /// assigned[k]: the argument whose memory output k is, or -1.
  conflict_finder(const plan& p, std::span<const int> assigned) : p_(p), assigned_(assigned) {}

  /// May the two buffers be the same memory?
  bool overlap(int a, int b) const {
    const buffer &x = at(a), &y = at(b);
    if (x.place == place::arena && y.place == place::arena)
      return x.bytes != 0 && y.bytes != 0 && x.offset < y.offset + y.bytes &&
             y.offset < x.offset + x.bytes;
    return owner(x) == owner(y);
  }

  bool is_data(const dependency& d, int item) const {
    return reads(nest_at(item), d.buffer) && writes_over(nest_at(d.item), d.buffer);
  }
  /// Must `item` come behind `earlier` because of the buffer, one that it writes?
  bool is_order(const dependency& d, int item) const {
    bool writes = false, meets = false;
    for (const store& s : nest_at(item).stores) writes = writes || s.buffer == d.buffer;
    for_each_read(nest_at(d.item), [&](int b) { meets = meets || overlap(b, d.buffer); });
    return writes && (meets || writes_over(nest_at(d.item), d.buffer) ||
                      (checks_indices(p_, nest_at(d.item)) && at(d.buffer).place == place::output));
  }

  /// All that item has to wait for, latest first; of memory that was written several times, the
  /// last writer.
  std::vector<dependency> of(int item) const {
    std::vector<dependency> out;
    std::vector<int> read;
    for_each_read(nest_at(item), [&](int b) { add_once(read, b); });
    for (int b : read)
      for (int i = item - 1; i >= 0; --i)
        if (writes_over(nest_at(i), b)) {
          out.push_back({i, dependency_kind::data, b});
          break;
        }
    for (int i = item - 1; i >= 0; --i)
      for (const store& s : nest_at(item).stores)
        if (const dependency d{i, dependency_kind::order, s.buffer}; is_order(d, item)) {
          out.push_back(d);
          break;
        }
    return out;
  }

 private:
  const buffer& at(int b) const { return p_.buffers[static_cast<std::size_t>(b)]; }
  const nest& nest_at(int i) const { return p_.nests[static_cast<std::size_t>(i)]; }

  // Memory that is not the arena's: an assigned output is its argument.
  std::pair<place, int> owner(const buffer& b) const {
    const auto number = static_cast<std::size_t>(b.number);
    if (b.place == place::output && number < assigned_.size() && assigned_[number] >= 0)
      return {place::argument, assigned_[number]};
    return {b.place, b.place == place::arena ? -1 : b.number};
  }
  bool writes_over(const nest& n, int buffer) const {
    return std::ranges::any_of(n.stores, [&](const store& s) { return overlap(s.buffer, buffer); });
  }

  const plan& p_;
  std::span<const int> assigned_;
};

/// The items before each that it waits for, directly or not; grows item by item.
class waiting_set {
 public:
  /// Of the item that was added last.
  bool has(int earlier) const { return before_.back()[static_cast<std::size_t>(earlier)]; }
  bool has(int item, int earlier) const {
    return before_[static_cast<std::size_t>(item)][static_cast<std::size_t>(earlier)];
  }
  void add_item() { before_.emplace_back(before_.size(), false); }
  /// The item added last waits for this one, and for all that it waits for.
  void add(int earlier) {
    const auto from = static_cast<std::size_t>(earlier);
    std::vector<bool>& own = before_.back();
    own[from] = true;
    for (std::size_t i = 0; i < before_[from].size(); ++i)
      if (before_[from][i]) own[i] = true;
  }

 private:
  std::vector<std::vector<bool>> before_;
};

/// The dependencies of every item: what it reads from whom, and the orders that do not follow from
/// others.
inline std::vector<std::vector<dependency>> find_dependencies(const plan& p,
                                                              std::span<const int> assigned) {
  const conflict_finder conflicts(p, assigned);
  std::vector<std::vector<dependency>> out;
  waiting_set waiting;
  for (int item = 0; item < static_cast<int>(p.nests.size()); ++item) {
    out.emplace_back();
    waiting.add_item();
    for (const dependency& d : conflicts.of(item)) {
      if (d.kind == dependency_kind::order && waiting.has(d.item)) continue;
      waiting.add(d.item);
      out.back().push_back(d);
    }
  }
  return out;
}

/// The longest chain of items by their estimates; of equal ones, that of the earliest items.
inline critical_path find_critical_path(const plan& p,
                                        const std::vector<std::vector<dependency>>& direct) {
  std::vector<double> end;
  std::vector<int> before;
  int last = -1;
  for (std::size_t i = 0; i < p.nests.size(); ++i) {
    int latest = -1;
    for (const dependency& d : direct[i])
      if (latest < 0 ||
          end[static_cast<std::size_t>(d.item)] > end[static_cast<std::size_t>(latest)] ||
          (end[static_cast<std::size_t>(d.item)] == end[static_cast<std::size_t>(latest)] &&
           d.item < latest))
        latest = d.item;
    before.push_back(latest);
    end.push_back(p.nests[i].predicted_nanoseconds +
                  (latest < 0 ? 0 : end[static_cast<std::size_t>(latest)]));
    if (last < 0 || end[i] > end[static_cast<std::size_t>(last)]) last = static_cast<int>(i);
  }
  critical_path out;
  if (last >= 0) out.nanoseconds = end[static_cast<std::size_t>(last)];
  for (int i = last; i >= 0; i = before[static_cast<std::size_t>(i)])
    out.items.insert(out.items.begin(), i);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::planning
