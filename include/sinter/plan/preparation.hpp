// SPDX-License-Identifier: MIT
// A plan in two parts: the nests whose inputs are all frozen, which run once for the arguments they
// read, and the rest, which runs in every call and reads what they left in memory of its own.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <sinter/graph/fixed.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_order.hpp>

namespace sinter::inline SINTER_ABI::planning {

struct divided_plan {
  plan replay;       // every call
  plan preparation;  // without nests if there is nothing to prepare
};

namespace detail {

// A nest is preparation if all it reads is frozen or written by preparation, nothing of it depends
// on an extent that frozen arguments leave open, and it writes no output. An alias is no work and
// part of whatever reads it.
class plan_division {
 public:
  plan_division(plan whole, const ir::fixed_inputs& fixed)
      : whole_(std::move(whole)),
        fixed_(fixed),
        writer_(whole_.buffers.size(), -1),
        in_replay_(whole_.nests.size(), false),
        in_preparation_(whole_.nests.size(), false) {}

  divided_plan run() {
    if (!fixed_.any()) return {std::move(whole_), {}};
    std::vector<bool> is_fixed;
    for (std::size_t i = 0; i < whole_.nests.size(); ++i) {
      is_fixed.push_back(is_preparation(whole_.nests[i], is_fixed));
      for (const store& s : whole_.nests[i].stores) writer_[at(s.buffer)] = static_cast<int>(i);
      if (!is_fixed[i]) in_replay_[i] = true;
    }
    // From behind: what is read in a call and written by preparation is kept.
    for (std::size_t i = whole_.nests.size(); i-- > 0;) {
      if (!in_replay_[i]) continue;
      for_each_read(whole_.nests[i], [&](int b) {
        const int w = writer_[at(b)];
        if (w < 0 || !is_fixed[at(w)]) return;
        if (whole_.nests[at(w)].kind == nest_kind::alias)
          in_replay_[at(w)] = true;
        else
          keep(b);
      });
    }
    for (std::size_t i = whole_.nests.size(); i-- > 0;) {
      for (const store& s : whole_.nests[i].stores)
        if (is_fixed[i] && whole_.buffers[at(s.buffer)].place == place::prepared)
          in_preparation_[i] = true;
      if (in_preparation_[i])
        for_each_read(whole_.nests[i], [&](int b) {
          if (writer_[at(b)] >= 0) in_preparation_[at(writer_[at(b)])] = true;
        });
    }
    divided_plan out{part(in_replay_), part(in_preparation_)};
    out.replay.cost = whole_.cost;
    out.replay.cost_bound = whole_.cost_bound;
    return out;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  bool is_preparation(const nest& n, const std::vector<bool>& is_fixed) const {
    const auto all_fixed = [&](const auto& extents) {
      return fixed_.all_fixed(whole_.dims, extents);
    };
    bool fixed = fixed_.is_fixed(whole_.dims, n.hidden.offset);
    const auto add = [&](const nest& each) {
      fixed = fixed && all_fixed(each.space);
      for (const step& s : each.body) fixed = fixed && fixed_.is_fixed(whole_.dims, s.extent);
    };
    add(n);
    for (const nest& part : n.parts) add(part);
    for (const piece& p : n.pieces) {
      fixed = fixed && all_fixed(p.offset) && all_fixed(p.space);
      for (const step& s : p.body) fixed = fixed && fixed_.is_fixed(whole_.dims, s.extent);
    }
    for (const store& s : n.stores)
      fixed = fixed && whole_.buffers[at(s.buffer)].place == place::arena;
    for (const access& a : n.accesses) {
      const buffer& b = whole_.buffers[at(a.buffer)];
      const int w = writer_[at(a.buffer)];
      fixed = fixed && all_fixed(a.shape) && all_fixed(b.shape) &&
              (w >= 0 ? is_fixed[at(w)] : b.place == place::argument && fixed_.is_frozen(b.number));
      for (const view_step& v : a.steps) fixed = fixed && all_fixed(v.dims);
    }
    return fixed;
  }

  void keep(int b) {
    buffer& own = whole_.buffers[at(b)];
    if (own.place == place::prepared) return;
    own.place = place::prepared;
    own.number = kept_++;
  }

  // These nests, with the buffers that they touch.
  plan part(const std::vector<bool>& chosen) const {
    plan out;
    out.dims = whole_.dims;
    std::vector<int> moved(whole_.buffers.size(), -1);
    const auto move = [&](int& b) {
      if (moved[at(b)] < 0) {
        moved[at(b)] = static_cast<int>(out.buffers.size());
        out.buffers.push_back(whole_.buffers[at(b)]);
      }
      b = moved[at(b)];
    };
    for (std::size_t i = 0; i < whole_.nests.size(); ++i) {
      if (!chosen[i]) continue;
      nest n = whole_.nests[i];
      const auto move_all = [&](nest& each) {
        for (access& a : each.accesses) move(a.buffer);
        for (store& s : each.stores) move(s.buffer);
      };
      move_all(n);
      for (nest& part : n.parts) move_all(part);
      out.nests.push_back(std::move(n));
    }
    return out;
  }

  plan whole_;
  const ir::fixed_inputs& fixed_;
  std::vector<int> writer_;  // by buffer: the nest, or -1
  std::vector<bool> in_replay_, in_preparation_;
  int kept_ = 0;
};

}  // namespace detail

// Divides a plan whose nests come behind those they read from.
inline divided_plan divide(plan whole, const ir::fixed_inputs& fixed) {
  return detail::plan_division(std::move(whole), fixed).run();
}

}  // namespace sinter::inline SINTER_ABI::planning
