// SPDX-License-Identifier: MIT
// The memory plan: offsets in one arena for the buffers between nests, from their live ranges. A
// nest may write over an operand that dies in it where the index maps agree. A verifier goes
// through the finished plan as the executor would and shares only `may_overwrite` with the planner.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_order.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning {

inline constexpr std::size_t arena_alignment = 64;

// Plans are made for the upper corner of a bucket: every dynamic extent rounded up to a power of
// two, or to the end of its symbol's range if that comes first.
inline std::int64_t bucket_corner(const ir::dim_table& dims, std::size_t symbol,
                                  std::int64_t extent) {
  if (extent <= 1) return extent;
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent)));
  return std::min(power, dims.symbol_range(static_cast<std::int64_t>(symbol)).high);
}

inline std::vector<std::int64_t> bucket_corner(const ir::dim_table& dims,
                                               std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < extents.size(); ++i)
    out.push_back(bucket_corner(dims, i, extents[i]));
  return out;
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

}  // namespace detail

// Is the memory reserved for every buffer enough for these extents? Within a bucket it is wherever
// extents grow with their symbols; a difference (the length of a slice) may be larger below the
// corner than at it.
inline bool fits(const plan& p, std::span<const std::int64_t> symbols) {
  for (const buffer& b : p.buffers)
    if (b.place == place::arena && buffer_bytes(p, b, symbols) > b.bytes) return false;
  return true;
}

// Has a buffer an extent that is no symbol, so that memory has to be checked for each call's
// extents?
inline bool has_computed_extents(const plan& p) {
  for (const buffer& b : p.buffers)
    for (ir::dim d : b.shape)
      if (!d.is_constant() && p.dims.kind(d) != ir::dim_kind::symbol) return true;
  return false;
}

namespace detail {

// The steps of `plan_memory`, in the order in which it takes them.
class memory_planner {
 public:
  explicit memory_planner(plan& p) : p_(p), groups_(p.buffers.size()) {}

  void reserve(std::span<const std::int64_t> symbols, std::span<const std::int64_t> corner) {
    for (buffer& b : p_.buffers)
      b.bytes = b.place == place::arena
                    ? std::max(buffer_bytes(p_, b, corner), buffer_bytes(p_, b, symbols))
                    : 0;
  }

  // Aliases between buffers that are one piece of memory are no work. Those of an argument or of a
  // prepared value stay: the executor forwards their buffer to that memory, so that another name of
  // the buffer has to be an alias of the same as well.
  void drop_aliases() {
    std::vector<int> kept(p_.buffers.size(), -1);  // by buffer: the nest that forwards it
    std::vector<nest> remaining;
    for (nest& n : p_.nests) {
      if (n.kind == nest_kind::alias) {
        const int written = n.stores[0].buffer;
        if (const int first = kept[index(n.accesses[0].buffer)]; first >= 0)
          n.accesses[0] = remaining[index(first)].accesses[0];
        const buffer& from = buffer_at(n.accesses[0].buffer);
        const buffer& to = buffer_at(written);
        if (from.place == to.place && from.number == to.number && from.place != place::argument) {
          if (from.place == place::arena) groups_.join(n.accesses[0].buffer, written);
          continue;
        }
        if ((from.place == place::argument || from.place == place::prepared) &&
            to.place == place::arena)
          kept[index(written)] = static_cast<int>(remaining.size());
      }
      remaining.push_back(std::move(n));
    }
    p_.nests = std::move(remaining);
  }

  // A result goes over the first operand that dies in its nest and allows it.
  void reuse_operands() {
    std::vector<int> last_read(p_.buffers.size(), -1);  // by group
    for (int i = 0; i < nests(); ++i)
      for_each_read(nest_at(i), [&](int b) { last_read[index(groups_.find(b))] = i; });
    for (int i = 0; i < nests(); ++i) {
      const nest& n = nest_at(i);
      if (n.kind != nest_kind::tile || n.stores.size() != 1) continue;
      const int out = n.stores[0].buffer;
      if (buffer_at(out).place != place::arena) continue;
      for (const access& a : n.accesses) {
        const buffer& operand = buffer_at(a.buffer);
        if (operand.place != place::arena || operand.bytes != buffer_at(out).bytes) continue;
        const int group = groups_.find(a.buffer), result = groups_.find(out);
        if (group == result || last_read[index(group)] != i || !may_overwrite(n, a.buffer))
          continue;
        bool other_name_read = false;
        for_each_read(n, [&](int b) {
          other_name_read = other_name_read || (b != a.buffer && groups_.find(b) == group);
        });
        if (other_name_read) continue;
        groups_.join(a.buffer, out);
        last_read[index(group)] = std::max(last_read[index(group)], last_read[index(result)]);
        break;
      }
    }
  }

  // Every group lives from the first nest that writes it to the last that touches it.
  void find_live_ranges() {
    block_of_.assign(p_.buffers.size(), -1);
    for (int i = 0; i < nests(); ++i) {
      for_each_read(nest_at(i), [&](int b) { touch(b, i); });
      for (const store& s : nest_at(i).stores) touch(s.buffer, i);
    }
    std::vector<std::size_t> born(index(nests()) + 1, 0), dead(index(nests()) + 1, 0);
    for (const block& b : blocks_) {
      born[index(b.first)] += b.bytes;
      dead[index(b.last) + 1] += b.bytes;
    }
    p_.lower_bound_bytes = 0;
    std::size_t alive = 0;
    for (int i = 0; i < nests(); ++i) {
      alive += born[index(i)];
      alive -= dead[index(i)];
      p_.lower_bound_bytes = std::max(p_.lower_bound_bytes, alive);
    }
  }

  // Largest first, each at the lowest offset where it meets nothing alive at the same time
  // (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference", greedy by
  // size).
  void place_blocks() {
    std::vector<block*> by_size;
    for (block& b : blocks_) by_size.push_back(&b);
    std::ranges::stable_sort(by_size, std::ranges::greater{},
                             [](const block* b) { return b->bytes; });
    p_.arena_bytes = 0;
    std::vector<const block*> alive;
    for (std::size_t k = 0; k < by_size.size(); ++k) {
      block& b = *by_size[k];
      alive.clear();
      for (std::size_t j = 0; j < k; ++j)
        if (by_size[j]->first <= b.last && b.first <= by_size[j]->last) alive.push_back(by_size[j]);
      std::ranges::sort(alive, {}, [](const block* o) { return o->offset; });
      b.offset = 0;
      for (const block* o : alive) {
        if (b.offset + b.bytes <= o->offset) break;
        b.offset = std::max(b.offset, o->offset + o->bytes);
      }
      p_.arena_bytes = std::max(p_.arena_bytes, b.offset + b.bytes);
    }
    for (int b = 0; b < static_cast<int>(p_.buffers.size()); ++b) {
      const int number = block_of_[index(groups_.find(b))];
      if (buffer_at(b).place == place::arena && number >= 0)
        p_.buffers[index(b)].offset = blocks_[index(number)].offset;
    }
  }

  // An output may be the memory of an argument if the only nest that writes it is the last that
  // reads the argument, and may overwrite it.
  void find_aliases(int arguments, int outputs) {
    std::vector<int> writer(index(outputs), -1), writers(index(outputs), 0);
    std::vector<int> written(index(outputs), -1);  // the buffer
    std::vector<int> reader(index(arguments), -1);
    for (int i = 0; i < nests(); ++i) {
      for (const store& s : nest_at(i).stores) {
        const buffer& b = buffer_at(s.buffer);
        if (b.place != place::output) continue;
        ++writers[index(b.number)];
        writer[index(b.number)] = i;
        written[index(b.number)] = s.buffer;
      }
      for_each_read(nest_at(i), [&](int b) {
        if (buffer_at(b).place == place::argument) reader[index(buffer_at(b).number)] = i;
      });
    }
    p_.may_alias.assign(index(arguments * outputs), false);
    for (int o = 0; o < outputs; ++o) {
      if (writers[index(o)] != 1) continue;
      const int w = writer[index(o)];
      for (int a = 0; a < arguments; ++a)
        p_.may_alias[index(o * arguments + a)] =
            reader[index(a)] < w ||
            (reader[index(a)] == w &&
             may_overwrite_argument(p_.nests[index(w)], written[index(o)], a));
    }
  }

 private:
  struct block {
    int first, last;
    std::size_t bytes, offset;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  int nests() const { return static_cast<int>(p_.nests.size()); }
  const nest& nest_at(int i) const { return p_.nests[index(i)]; }
  const buffer& buffer_at(int b) const { return p_.buffers[index(b)]; }

  void touch(int b, int i) {
    if (buffer_at(b).place != place::arena) return;
    int& number = block_of_[index(groups_.find(b))];
    if (number < 0) {
      number = static_cast<int>(blocks_.size());
      blocks_.push_back({i, i, 0, 0});
    }
    block& own = blocks_[index(number)];
    own.last = i;
    const std::size_t rounded =
        (buffer_at(b).bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
    own.bytes = std::max(own.bytes, rounded);
  }

  bool may_overwrite_argument(nest& n, int target, int argument) const {
    const nest& writer = writing_part(n, target);
    bool allowed = writer.kind == nest_kind::tile || writer.product_in_scratch;
    for_each_read(n, [&](int b) {
      if (buffer_at(b).place == place::argument && buffer_at(b).number == argument)
        allowed = allowed && may_write_over(n, target, b);
    });
    return allowed;
  }

  plan& p_;
  memory_groups groups_;
  std::vector<block> blocks_;
  std::vector<int> block_of_;  // by group
};

}  // namespace detail

// Fills in offsets, arena_bytes, lower_bound_bytes and may_alias, and drops the aliases between
// arena buffers (they are one piece of memory). `symbols`: the extents at hand; `corner`: the
// largest of their bucket.
inline void plan_memory(plan& p, std::span<const std::int64_t> symbols,
                        std::span<const std::int64_t> corner, int arguments, int outputs) {
  detail::memory_planner planner(p);
  planner.reserve(symbols, corner);
  planner.drop_aliases();
  planner.reuse_operands();
  planner.find_live_ranges();
  planner.place_blocks();
  planner.find_aliases(arguments, outputs);
}

// may_alias of a plan whose memory is laid out.
inline std::vector<bool> find_may_alias(plan p, int arguments, int outputs) {
  detail::memory_planner(p).find_aliases(arguments, outputs);
  return p.may_alias;
}

// Checks a finished plan: alignment, no two living buffers over each other (but for a result over
// its dying operand), every arena buffer written before it is read, and every output written.
// Throws graph_error that names the nest.
inline void verify_memory(const plan& p) {
  const auto range = [&](int b) {
    const buffer& own = p.buffers[static_cast<std::size_t>(b)];
    return std::pair{own.offset, own.offset + own.bytes};
  };
  const auto complain = [](std::size_t nest, const std::string& what) {
    raise(graph_error("plan, nest " + std::to_string(nest) + ": " + what));
  };
  // owner: what each written region of the arena holds at this point of the execution.
  std::vector<int> owners;
  for (std::size_t i = 0; i < p.nests.size(); ++i) {
    const nest& n = p.nests[i];
    for_each_read(n, [&](int b) {
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
      for_each_read(n, [&](int b) {
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
  std::vector<int> unwritten;
  for (const buffer& b : p.buffers)
    if (b.place == place::output) unwritten.push_back(b.number);
  for (const nest& n : p.nests)
    for (const store& s : n.stores)
      if (p.buffers[static_cast<std::size_t>(s.buffer)].place == place::output)
        std::erase(unwritten, p.buffers[static_cast<std::size_t>(s.buffer)].number);
  if (!unwritten.empty())
    raise(graph_error("plan: nothing writes output " + std::to_string(unwritten.front())));
}

}  // namespace sinter::inline SINTER_ABI::planning
