// SPDX-License-Identifier: MIT
// Epochs: the nests of a plan cut into what comes before its largest live set (a training step:
// the forward pass) and segments of what comes behind it. A goal is then a value in an epoch, and a
// nest may compute in a later epoch again what an earlier one stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <sinter/plan/order.hpp>
#include <sinter/plan/value_nests.hpp>

namespace sinter::inline SINTER_ABI::planning {

// When each value is written and read, by position in a sequence of nests.
class lifetimes {
 public:
  struct range {
    int written = -1;          // -1: not stored
    std::vector<int> reads{};  // ascending
    // Of the arena; 0 for outputs, for other names of a value, and for what is kept between calls.
    double bytes = 0;
    bool is_output = false;  // in memory of the caller
    int last() const { return reads.empty() ? written : reads.back(); }
  };

  // nest_of: by value.
  lifetimes(const value_nests& nests, std::span<const int> nest_of, const emission_order& order,
            std::span<const int> outputs)
      : ranges_(nest_of.size()), live_(order.nests().size(), 0) {
    const value_graph& g = nests.values();
    for (int i = 0; i < static_cast<int>(order.nests().size()); ++i) {
      const int number = order.nests()[at(i)];
      const candidate& c = nests[number];
      for (int out : c.outputs) {
        if (nest_of[at(out)] != number || !order.needs(out)) continue;
        ranges_[at(out)].written = i;
        if (c.kind != nest_kind::alias && !g[out].fixed) ranges_[at(out)].bytes = g[out].bytes();
      }
      for (int r : c.reads) ranges_[at(r)].reads.push_back(i);
    }
    // Who reads an alias reads what it names.
    for (std::size_t i = order.nests().size(); i-- > 0;) {
      const candidate& c = nests[order.nests()[i]];
      if (c.kind != nest_kind::alias) continue;
      std::vector<int>& reads = ranges_[at(c.reads[0])].reads;
      const std::vector<int>& others = ranges_[at(c.root)].reads;
      reads.insert(reads.end(), others.begin(), others.end());
      std::ranges::sort(reads);
    }
    for (int v : outputs)
      for (;;) {
        ranges_[at(v)].is_output = true;
        ranges_[at(v)].bytes = 0;
        if (nest_of[at(v)] < 0 || nests[nest_of[at(v)]].kind != nest_kind::alias) break;
        v = nests[nest_of[at(v)]].reads[0];
      }
    for (const range& r : ranges_)
      if (r.written >= 0)
        for (int i = r.written; i <= r.last(); ++i) live_[at(i)] += r.bytes;
    peak_ = static_cast<int>(std::ranges::max_element(live_) - live_.begin());
  }

  const range& operator[](int value) const { return ranges_[at(value)]; }
  int values() const { return static_cast<int>(ranges_.size()); }
  // The first position with the largest live set.
  int peak() const { return peak_; }
  // Alive at the peak and read behind it.
  bool is_saved(int value) const {
    const range& r = (*this)[value];
    return r.bytes > 0 && r.written <= peak_ && r.last() > peak_;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::vector<range> ranges_;  // by value
  std::vector<double> live_;   // by position: bytes
  int peak_ = 0;
};

class epoch_division {
 public:
  // At most `segments` behind the peak, in each the first reads of equally many bytes that are
  // alive across it.
  epoch_division(const value_nests& nests, std::span<const int> nest_of, const lifetimes& alive,
                 int segments)
      : of_(nest_of.size(), 0) {
    struct saved {
      int first_read;
      double bytes;
    };
    std::vector<saved> all;
    double bytes = 0;
    for (int v = 0; v < alive.values(); ++v) {
      if (!alive.is_saved(v)) continue;
      all.push_back({*std::ranges::upper_bound(alive[v].reads, alive.peak()), alive[v].bytes});
      bytes += alive[v].bytes;
    }
    std::ranges::stable_sort(all, {}, &saved::first_read);
    double before = 0;
    for (const saved& s : all) {
      if (before >= bytes * static_cast<double>(starts_.size()) / segments &&
          (starts_.empty() || s.first_read > starts_.back()))
        starts_.push_back(starts_.empty() ? alive.peak() + 1 : s.first_read);
      before += s.bytes;
    }
    for (int v = 0; v < alive.values(); ++v)
      if (alive[v].written >= 0) of_[at(v)] = at_position(alive[v].written);
    // What is not stored could be as soon as its nest's operands are.
    for (bool changed = true; changed;) {
      changed = false;
      for (int v = 0; v < alive.values(); ++v) {
        if (alive[v].written >= 0 || nest_of[at(v)] < 0) continue;
        const int first = first_epoch(nests[nest_of[at(v)]].reads);
        changed = changed || first > of_[at(v)];
        of_[at(v)] = std::max(of_[at(v)], first);
      }
    }
  }

  int count() const { return static_cast<int>(starts_.size()) + 1; }
  // The first epoch in which the value can be stored.
  int of(int value) const { return of_[at(value)]; }
  int first_epoch(std::span<const int> values) const {
    int first = 0;
    for (int v : values) first = std::max(first, of(v));
    return first;
  }
  int at_position(int position) const {
    return static_cast<int>(std::ranges::upper_bound(starts_, position) - starts_.begin());
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::vector<int> starts_;  // position of the first nest of epoch i + 1
  std::vector<int> of_;      // by value
};

// Goals are values in an epoch. To store one there is every nest that stores the value, run in this
// epoch on what there is then; or to carry the value over from the epoch before, at a price for its
// bytes.
class epoch_nests {
 public:
  epoch_nests(const value_nests& nests, const epoch_division& epochs,
              std::span<const double> carried_bytes, double price)
      : nests_(nests), epochs_(epochs), bytes_(carried_bytes), price_(price) {
    for (int i = 0; i < nests.count(); ++i)
      first_epoch_.push_back(
          std::max(epochs.first_epoch(nests[i].reads), epochs.first_epoch(nests[i].outputs)));
  }

  int goal(int value, int epoch) const { return value * epochs_.count() + epoch; }
  int value_of(int goal) const { return goal / epochs_.count(); }
  int epoch_of(int goal) const { return goal % epochs_.count(); }
  int in_epoch(int candidate, int epoch) const { return epoch * nests_.count() + candidate; }
  int carry(int goal) const { return nests_.count() * epochs_.count() + goal; }
  bool is_carry(int nest) const { return nest >= nests_.count() * epochs_.count(); }
  int candidate_of(int nest) const { return nest % nests_.count(); }

  int count() const { return (nests_.count() + nests_.goals()) * epochs_.count(); }
  int goals() const { return nests_.goals() * epochs_.count(); }
  bool is_source(int goal) const { return nests_.is_source(value_of(goal)); }
  bool usable(int nest) const {
    if (is_carry(nest)) return epoch_of(carried(nest)) > epochs_.of(value_of(carried(nest)));
    return nests_.usable(candidate_of(nest)) &&
           nest / nests_.count() >= first_epoch_[static_cast<std::size_t>(candidate_of(nest))];
  }
  double cost(int nest) const {
    return is_carry(nest) ? price_ * bytes_[static_cast<std::size_t>(value_of(carried(nest)))]
                          : nests_.cost(candidate_of(nest));
  }
  int root(int nest) const {
    return is_carry(nest) ? carried(nest)
                          : goal(nests_.root(candidate_of(nest)), nest / nests_.count());
  }
  bool stores_several(int nest) const {
    return !is_carry(nest) && nests_.stores_several(candidate_of(nest));
  }

  template <class F>
  void for_each_read(int nest, F f) const {
    if (is_carry(nest)) return f(carried(nest) - 1);
    for (int r : nests_[candidate_of(nest)].reads) f(goal(r, nest / nests_.count()));
  }
  template <class F>
  void for_each_output(int nest, F f) const {
    if (is_carry(nest)) return f(carried(nest));
    for (int out : nests_[candidate_of(nest)].outputs) f(goal(out, nest / nests_.count()));
  }
  template <class F>
  void for_each_reader(int goal, F f) const {
    nests_.for_each_reader(value_of(goal), [&](int reader) {
      const int nest = in_epoch(reader, epoch_of(goal));
      if (usable(nest)) f(nest);
    });
  }

 private:
  int carried(int nest) const { return nest - nests_.count() * epochs_.count(); }

  const value_nests& nests_;
  const epoch_division& epochs_;
  std::span<const double> bytes_;  // by value
  double price_;                   // nanoseconds per byte and epoch
  std::vector<int> first_epoch_;   // by candidate
};

}  // namespace sinter::inline SINTER_ABI::planning
