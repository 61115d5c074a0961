// SPDX-License-Identifier: MIT
// The memory plan: offsets in one arena for the buffers between nests, from their live ranges. A
// nest may write over an operand that dies in it where the index maps agree. A verifier that shares
// nothing with the planner checks the result.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/support/error.hpp>

namespace sinter::planning {

inline constexpr std::size_t arena_alignment = 64;

// Plans are made for the upper corner of a bucket: every dynamic extent rounded up to a power of
// two.
inline std::int64_t bucket_corner(std::int64_t extent) {
  return extent <= 1 ? extent
                     : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent)));
}

inline std::size_t buffer_bytes(const plan& p, const buffer& b,
                                std::span<const std::int64_t> symbols) {
  std::int64_t count = 1;
  for (ir::dim d : b.shape) count *= std::max<std::int64_t>(0, p.dims.evaluate(d, symbols));
  return static_cast<std::size_t>(count) * size_of(b.type);
}

namespace detail {

// Buffers that are names of one piece of memory: aliases, and results written over a dying operand.
class memory_groups {
 public:
  explicit memory_groups(std::size_t buffers) : parent_(buffers) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int find(int b) const {
    while (parent_[static_cast<std::size_t>(b)] != b) b = parent_[static_cast<std::size_t>(b)];
    return b;
  }
  void join(int into, int from) { parent_[static_cast<std::size_t>(find(from))] = find(into); }

 private:
  std::vector<int> parent_;
};

template <class Visitor>
void for_each_read(const nest& n, Visitor visit) {
  for (const access& a : n.accesses) visit(a.buffer);
  for (const piece& p : n.pieces) visit(p.source.buffer);
}

}  // namespace detail

// Is the memory reserved for every buffer enough for these extents? Within a bucket it is wherever
// extents grow with their symbols; a difference (the length of a slice) may be larger below the
// corner than at it.
inline bool fits(const plan& p, std::span<const std::int64_t> symbols) {
  for (const buffer& b : p.buffers)
    if (b.place == place::arena && buffer_bytes(p, b, symbols) > b.bytes) return false;
  return true;
}

// Fills in offsets, arena_bytes, lower_bound_bytes and may_alias, and drops the aliases between
// arena buffers (they are one piece of memory). `symbols`: the extents at hand; `corner`: the
// largest of their bucket.
inline void plan_memory(plan& p, std::span<const std::int64_t> symbols,
                        std::span<const std::int64_t> corner, int arguments, int outputs) {
  const std::size_t count = p.buffers.size();
  for (buffer& b : p.buffers)
    b.bytes = b.place == place::arena
                  ? std::max(buffer_bytes(p, b, corner), buffer_bytes(p, b, symbols))
                  : 0;

  detail::memory_groups groups(count);
  std::erase_if(p.nests, [&](const nest& n) {
    if (n.kind != nest_kind::alias) return false;
    const buffer& from = p.buffers[static_cast<std::size_t>(n.accesses[0].buffer)];
    const buffer& to = p.buffers[static_cast<std::size_t>(n.stores[0].buffer)];
    if (from.place != to.place || from.number != to.number || from.place == place::argument)
      return false;
    if (from.place == place::arena) groups.join(n.accesses[0].buffer, n.stores[0].buffer);
    return true;
  });

  const auto last_read = [&](int group) {
    int last = -1;
    for (int i = 0; i < static_cast<int>(p.nests.size()); ++i)
      detail::for_each_read(p.nests[static_cast<std::size_t>(i)], [&](int b) {
        if (groups.find(b) == group) last = i;
      });
    return last;
  };

  // In place: the first operand that dies in the nest and allows it.
  for (int i = 0; i < static_cast<int>(p.nests.size()); ++i) {
    const nest& n = p.nests[static_cast<std::size_t>(i)];
    if (n.kind != nest_kind::tile || n.stores.size() != 1) continue;
    const int out = n.stores[0].buffer;
    if (p.buffers[static_cast<std::size_t>(out)].place != place::arena) continue;
    for (const access& a : n.accesses) {
      const buffer& operand = p.buffers[static_cast<std::size_t>(a.buffer)];
      if (operand.place != place::arena ||
          operand.bytes != p.buffers[static_cast<std::size_t>(out)].bytes)
        continue;
      const int group = groups.find(a.buffer);
      if (group == groups.find(out) || last_read(group) != i || !may_overwrite(n, a.buffer))
        continue;
      bool other_name_read = false;
      detail::for_each_read(n, [&](int b) {
        other_name_read = other_name_read || (b != a.buffer && groups.find(b) == group);
      });
      if (other_name_read) continue;
      groups.join(a.buffer, out);
      break;
    }
  }

  // Live range of every group: from the first nest that writes it to the last that touches it.
  struct block {
    int group;
    int first, last;
    std::size_t bytes, offset;
  };
  std::vector<block> blocks;
  std::vector<int> block_of(count, -1);
  const auto touch = [&](int b, int i) {
    if (p.buffers[static_cast<std::size_t>(b)].place != place::arena) return;
    const int group = groups.find(b);
    int& number = block_of[static_cast<std::size_t>(group)];
    if (number < 0) {
      number = static_cast<int>(blocks.size());
      blocks.push_back({group, i, i, 0, 0});
    }
    block& own = blocks[static_cast<std::size_t>(number)];
    own.last = i;
    const std::size_t rounded =
        (p.buffers[static_cast<std::size_t>(b)].bytes + arena_alignment - 1) / arena_alignment *
        arena_alignment;
    own.bytes = std::max(own.bytes, rounded);
  };
  for (int i = 0; i < static_cast<int>(p.nests.size()); ++i) {
    detail::for_each_read(p.nests[static_cast<std::size_t>(i)], [&](int b) { touch(b, i); });
    for (const store& s : p.nests[static_cast<std::size_t>(i)].stores) touch(s.buffer, i);
  }

  p.lower_bound_bytes = 0;
  for (int i = 0; i < static_cast<int>(p.nests.size()); ++i) {
    std::size_t alive = 0;
    for (const block& b : blocks)
      if (b.first <= i && i <= b.last) alive += b.bytes;
    p.lower_bound_bytes = std::max(p.lower_bound_bytes, alive);
  }

  // Largest first, each at the lowest offset where it meets nothing alive at the same time
  // (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference", greedy by
  // size).
  std::vector<block*> by_size;
  for (block& b : blocks) by_size.push_back(&b);
  std::ranges::stable_sort(by_size, std::ranges::greater{},
                           [](const block* b) { return b->bytes; });
  p.arena_bytes = 0;
  for (std::size_t k = 0; k < by_size.size(); ++k) {
    block& b = *by_size[k];
    std::vector<const block*> alive;
    for (std::size_t j = 0; j < k; ++j)
      if (by_size[j]->first <= b.last && b.first <= by_size[j]->last) alive.push_back(by_size[j]);
    std::ranges::sort(alive, {}, [](const block* o) { return o->offset; });
    b.offset = 0;
    for (const block* o : alive) {
      if (b.offset + b.bytes <= o->offset) break;
      b.offset = std::max(b.offset, o->offset + o->bytes);
    }
    p.arena_bytes = std::max(p.arena_bytes, b.offset + b.bytes);
  }
  for (std::size_t b = 0; b < count; ++b) {
    const int number = block_of[static_cast<std::size_t>(groups.find(static_cast<int>(b)))];
    if (p.buffers[b].place == place::arena && number >= 0)
      p.buffers[b].offset = blocks[static_cast<std::size_t>(number)].offset;
  }

  p.may_alias.assign(static_cast<std::size_t>(arguments * outputs), false);
  for (int o = 0; o < outputs; ++o) {
    for (int a = 0; a < arguments; ++a) {
      // The only nest that writes the output must be the last that reads the argument, and may
      // overwrite it.
      int writers = 0, writer = -1, reader = -1;
      bool allowed = true;
      for (int i = 0; i < static_cast<int>(p.nests.size()); ++i) {
        const nest& n = p.nests[static_cast<std::size_t>(i)];
        for (const store& s : n.stores) {
          const buffer& b = p.buffers[static_cast<std::size_t>(s.buffer)];
          if (b.place != place::output || b.number != o) continue;
          ++writers;
          writer = i;
        }
        detail::for_each_read(n, [&](int read) {
          const buffer& b = p.buffers[static_cast<std::size_t>(read)];
          if (b.place != place::argument || b.number != a) return;
          reader = i;
          if (i == writer)
            allowed = allowed && may_overwrite(n, read) &&
                      (n.kind == nest_kind::tile || n.product_in_scratch);
        });
      }
      p.may_alias[static_cast<std::size_t>(o * arguments + a)] =
          writers == 1 && reader <= writer && allowed;
    }
  }
}

// Checks a finished plan: alignment, no two living buffers over each other (but for a result over
// its dying operand), and every arena buffer written before it is read. Throws graph_error that
// names the nest.
inline void verify_memory(const plan& p) {
  const auto range = [&](int b) {
    const buffer& own = p.buffers[static_cast<std::size_t>(b)];
    return std::pair{own.offset, own.offset + own.bytes};
  };
  const auto complain = [](std::size_t nest, const std::string& what) {
    throw graph_error("plan, nest " + std::to_string(nest) + ": " + what);
  };
  // owner: what each written region of the arena holds at this point of the execution.
  std::vector<int> owners;
  for (std::size_t i = 0; i < p.nests.size(); ++i) {
    const nest& n = p.nests[i];
    detail::for_each_read(n, [&](int b) {
      const buffer& own = p.buffers[static_cast<std::size_t>(b)];
      if (own.place != place::arena || own.bytes == 0) return;
      bool held = false;
      for (int o : owners)
        held = held || o == b ||
               (range(o).first == range(b).first &&
                p.buffers[static_cast<std::size_t>(o)].type == own.type);
      if (!held) complain(i, "reads buffer " + std::to_string(b) + ", which nobody holds");
    });
    for (const store& s : n.stores) {
      const buffer& own = p.buffers[static_cast<std::size_t>(s.buffer)];
      if (own.place != place::arena) continue;
      if (own.offset % arena_alignment != 0)
        complain(i, "buffer " + std::to_string(s.buffer) + " is not aligned");
      if (own.offset + own.bytes > p.arena_bytes)
        complain(i, "buffer " + std::to_string(s.buffer) + " leaves the arena");
      // Plain variables: Clang 16 cannot capture structured bindings in lambdas under -fopenmp.
      const std::size_t begin = range(s.buffer).first, end = range(s.buffer).second;
      detail::for_each_read(n, [&](int b) {
        if (p.buffers[static_cast<std::size_t>(b)].place != place::arena) return;
        const std::size_t from = range(b).first, to = range(b).second;
        const bool apart = to <= begin || end <= from || from == to || begin == end;
        if (!apart && !(from == begin && n.kind == nest_kind::tile && may_overwrite(n, b)))
          complain(i, "writes buffer " + std::to_string(s.buffer) + " over its operand " +
                          std::to_string(b));
      });
      std::erase_if(owners, [&](int o) { return range(o).first < end && begin < range(o).second; });
      owners.push_back(s.buffer);
    }
  }
}

}  // namespace sinter::planning
