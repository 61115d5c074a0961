// SPDX-License-Identifier: MIT
// The lifetimes and alias groups of arena buffers, read off a finished plan: what planning decided
// (memory.hpp) is found again from who reads and writes what where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include <sinter/plan/memory.hpp>
#include <sinter/plan/schedule.hpp>

namespace sinter::inline SINTER_ABI::planning {

/// The last axes of a view that lie in row-major order without gaps, outermost first; axes of
/// extent 1 count. Of a view without elements all.
inline shape_vector contiguous_axes(const shape_vector& shape, const shape_vector& strides) {
  std::size_t first = shape.size();
  std::int64_t expected = 1;
  const bool empty = element_count(shape) == 0;
  while (first > 0 && (empty || shape[first - 1] == 1 || strides[first - 1] == expected)) {
    --first;
    expected *= shape[first];
  }
  shape_vector out;
  for (; first < shape.size(); ++first) out.push_back(static_cast<std::int64_t>(first));
  return out;
}

/// One entry per arena buffer that a nest reads or writes, by number. Two names are one group where
/// one is read and the other one was written there, or where a nest writes one over the other that
/// it reads.
inline std::vector<allocation> find_allocations(const plan& p) {
  const auto index = [](int i) { return static_cast<std::size_t>(i); };
  const auto at = [&](int b) -> const buffer& { return p.buffers[index(b)]; };
  const auto overlap = [&](int a, int b) {
    return at(a).offset < at(b).offset + at(b).bytes && at(b).offset < at(a).offset + at(a).bytes;
  };
  detail::memory_groups groups(p.buffers.size());
  std::map<int, std::pair<int, int>> alive;
  std::vector<int> written;  // latest last
  const auto touch = [&](int b, int i) {
    const auto known = alive.try_emplace(b, i, i).first;
    known->second.second = i;
  };
  for (int i = 0; i < static_cast<int>(p.nests.size()); ++i) {
    const nest& n = p.nests[index(i)];
    std::vector<int> read;
    for_each_read(n, [&](int b) {
      if (at(b).place != place::arena) return;
      read.push_back(b);
      touch(b, i);
      const auto holder =
          std::find_if(written.rbegin(), written.rend(), [&](int w) { return overlap(w, b); });
      if (holder != written.rend()) groups.join(*holder, b);
    });
    for (const store& s : n.stores) {
      if (at(s.buffer).place != place::arena) continue;
      touch(s.buffer, i);
      for (int b : read)
        if (overlap(b, s.buffer)) groups.join(b, s.buffer);
      std::erase(written, s.buffer);
      written.push_back(s.buffer);
    }
  }
  std::map<int, allocation> of_group;
  std::vector<allocation> out;
  for (const auto& [b, range] : alive) {
    const auto [known, is_new] = of_group.try_emplace(groups.find(b), b, range.first, range.second,
                                                      static_cast<int>(of_group.size()));
    known->second.first = std::min(known->second.first, range.first);
    known->second.last = std::max(known->second.last, range.second);
    out.push_back({b, 0, 0, known->second.group});
  }
  for (allocation& a : out) {
    const allocation& whole = of_group.at(groups.find(a.buffer));
    a.first = whole.first;
    a.last = whole.last;
  }
  return out;
}

struct memory_use {
  std::size_t peak = 0;         // bytes of the arena that are in use at any time
  std::size_t lower_bound = 0;  // the largest sum of what is alive at one time
};

inline memory_use find_memory_use(const plan& p, const std::vector<allocation>& allocations) {
  memory_use out;
  std::map<int, std::pair<std::size_t, const allocation*>> groups;
  for (const allocation& a : allocations) {
    const buffer& b = p.buffers[static_cast<std::size_t>(a.buffer)];
    const std::size_t bytes = (b.bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
    out.peak = std::max(out.peak, b.offset + bytes);
    auto& group = groups[a.group];
    group = {std::max(group.first, bytes), &a};
  }
  for (std::size_t i = 0; i < p.nests.size(); ++i) {
    std::size_t live = 0;
    for (const auto& [number, group] : groups)
      if (group.second->first <= static_cast<int>(i) && static_cast<int>(i) <= group.second->last)
        live += group.first;
    out.lower_bound = std::max(out.lower_bound, live);
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::planning
