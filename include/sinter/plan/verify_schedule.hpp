// SPDX-License-Identifier: MIT
// Checks a schedule: that every iteration covers its space once, reductions have plans, memory is
// large enough, aligned and alive, items wait for all that they must, and every number is what the
// nests give. verify_nest.hpp checks the nests inside, verify_item.hpp what was decided for each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <sinter/plan/allocation.hpp>
#include <sinter/plan/dependencies.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/verify_item.hpp>
#include <sinter/plan/verify_nest.hpp>
#include <sinter/plan/work.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning {

namespace detail {

class schedule_verifier {
 public:
  explicit schedule_verifier(const schedule& s) : s_(s) {}

  void run() {
    check_sizes();
    for (std::size_t b = 0; b < s_.plan.buffers.size(); ++b) check_buffer(b);
    check_assigned();
    for (item_ = 0; item_ < s_.items.size(); ++item_) {
      nest_verifier(s_.plan, s_.symbols, item_).check(nest());
      item_verifier(s_, item_).check();
    }
    check_order();
    for (item_ = 0; item_ < s_.items.size(); ++item_) check_work();
    check_memory();
  }

 private:
  const planning::nest& nest() const { return s_.plan.nests[item_]; }
  const schedule_item& item() const { return s_.items[item_]; }
  std::int64_t evaluate(ir::dim d) const { return s_.plan.dims.evaluate(d, s_.symbols); }

  [[noreturn]] static void fail(const std::string& where, const std::string& field,
                                const std::string& reason) {
    raise(graph_error("verify_schedule: " + where + ", " + field + ": " + reason));
  }
  [[noreturn]] void fail(const std::string& field, const std::string& reason) const {
    fail("item " + std::to_string(item_), field, reason);
  }
  void require(bool holds, const std::string& field, const char* reason) const {
    if (!holds) fail(field, reason);
  }
  template <class Number>
  void expect(const std::string& where, const std::string& field, Number stated,
              Number computed) const {
    if (!(stated == computed))
      fail(where, field,
           std::to_string(stated) + " stated, " + std::to_string(computed) + " computed");
  }
  template <class Number>
  void expect(const std::string& field, Number stated, Number computed) const {
    expect("item " + std::to_string(item_), field, stated, computed);
  }

  void check_sizes() const {
    if (s_.items.size() != s_.plan.nests.size()) fail("schedule", "items", "one per nest expected");
    if (s_.layouts.size() != s_.plan.buffers.size())
      fail("schedule", "layouts", "one per buffer expected");
    std::size_t symbols = 0;
    for (std::size_t i = 0; i < s_.plan.dims.size(); ++i)
      if (const ir::dim d = ir::dim::expression(i); s_.plan.dims.kind(d) == ir::dim_kind::symbol)
        symbols = std::max(symbols, static_cast<std::size_t>(s_.plan.dims.operands(d)[0]) + 1);
    if (s_.symbols.size() < symbols) fail("schedule", "symbols", "a symbol has no extent");
    for (std::size_t i = 0; i < s_.symbols.size(); ++i)
      if (s_.symbols[i] < 0 ||
          !s_.plan.dims.symbol_range(static_cast<std::int64_t>(i)).holds(s_.symbols[i]))
        fail("schedule", "symbols", "an extent is not in the range of its symbol");
  }

  // ---- buffers

  void check_buffer(std::size_t i) const {
    const buffer& b = s_.plan.buffers[i];
    const layout& l = s_.layouts[i];
    const std::string where = "buffer " + std::to_string(i);
    const shape_vector shape = evaluate_shape(s_.plan.dims, b.shape, s_.symbols);
    if (b.number < 0) fail(where, "number", "is negative");
    if (l.strides.size() != shape.size()) fail(where, "strides", "one per axis expected");
    if (b.place != place::argument && l.strides != row_major_strides(shape))
      fail(where, "strides", "row-major ones expected");
    std::int64_t reach = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      reach = ir::detail::saturating_add(
          reach, ir::detail::saturating_mul(shape[axis], std::abs(l.strides[axis])));
    if (reach > (std::int64_t{1} << 48)) fail(where, "strides", "reach too far");
    const bool own = b.place == place::arena || b.place == place::prepared;
    expect<std::int64_t>(where, "alignment", l.alignment,
                         own ? static_cast<std::int64_t>(arena_alignment)
                             : static_cast<std::int64_t>(size_of(b.type)));
    if (l.contiguous != contiguous_axes(shape, l.strides))
      fail(where, "contiguous", "other axes lie in row-major order");
    const auto power = [](std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; };
    if (!power(l.vector_width) || l.vector_width * static_cast<std::int64_t>(size_of(b.type)) > 256)
      fail(where, "vectors", "no register holds " + std::to_string(l.vector_width) + " elements");
    if (l.contiguous.empty() && l.vector_width != 1)
      fail(where, "vectors", "elements that lie apart are taken one by one");
    for (std::size_t other = 0; other < i; ++other)
      if (s_.plan.buffers[other].type == b.type && !l.contiguous.empty() &&
          !s_.layouts[other].contiguous.empty() && s_.layouts[other].vector_width != l.vector_width)
        fail(where, "vectors", "buffers of one dtype have registers of one size");
    if (b.place != place::arena) return;
    if (b.offset % arena_alignment != 0) fail(where, "offset", "is not aligned");
    const std::size_t needed = buffer_bytes(s_.plan, b, s_.symbols);
    if (b.bytes < needed)
      fail(where, "bytes", std::to_string(b.bytes) + " do not hold " + std::to_string(needed));
    if (b.offset > s_.plan.arena_bytes || b.bytes > s_.plan.arena_bytes - b.offset)
      fail(where, "offset", "leaves the arena");
  }

  void check_assigned() const {
    for (std::size_t k = 0; k < s_.assigned.size(); ++k)
      for (std::size_t other = 0; other < k; ++other)
        if (s_.assigned[k] >= 0 && s_.assigned[k] == s_.assigned[other])
          fail("output " + std::to_string(k), "argument", "two outputs are assigned to it");
    bool keeps = false;
    for (const planning::nest& n : s_.plan.nests)
      for (const store& s : n.stores)
        if (s.buffer >= 0 && static_cast<std::size_t>(s.buffer) < s_.plan.buffers.size()) {
          const buffer& b = s_.plan.buffers[static_cast<std::size_t>(s.buffer)];
          keeps = keeps || b.place == place::prepared;
          if (b.place == place::output && static_cast<std::size_t>(b.number) >= s_.assigned.size())
            fail("buffer " + std::to_string(s.buffer), "number", "there is no such output");
        }
    if (keeps != s_.once) fail("schedule", "once", "is stated wrongly");
    for (std::size_t k = 0; k < s_.assigned.size(); ++k)
      for (const buffer& b : s_.plan.buffers)
        for (const buffer& a : s_.plan.buffers)
          if (b.place == place::output && static_cast<std::size_t>(b.number) == k &&
              a.place == place::argument && a.number == s_.assigned[k] &&
              (a.type != b.type ||
               buffer_bytes(s_.plan, a, s_.symbols) != buffer_bytes(s_.plan, b, s_.symbols)))
            fail("output " + std::to_string(k), "argument", "has another type or size");
  }

  // ---- order, work, memory

  const buffer& buffer_of(const store& s) const {
    return s_.plan.buffers[static_cast<std::size_t>(s.buffer)];
  }

  void check_order() {
    const conflict_finder conflicts(s_.plan, s_.assigned);
    waiting_set waiting;
    std::vector<std::vector<dependency>> all;
    for (item_ = 0; item_ < s_.items.size(); ++item_) {
      waiting.add_item();
      const auto number = static_cast<int>(item_);
      for (std::size_t i = 0; i < item().depends_on.size(); ++i) {
        const dependency& d = item().depends_on[i];
        const std::string field = "dependency " + std::to_string(i);
        require(d.item >= 0 && d.item < number, field + " item",
                "waits for itself or for a later item");
        require(d.buffer >= 0 && static_cast<std::size_t>(d.buffer) < s_.plan.buffers.size(),
                field + " buffer", "there is none");
        require(d.kind == dependency_kind::data ? conflicts.is_data(d, number)
                                                : conflicts.is_order(d, number),
                field, "there is nothing to wait for");
        require(std::ranges::count(item().depends_on, d) == 1, field, "is there twice");
        waiting.add(d.item);
      }
      const std::vector<dependency> needed = conflicts.of(number);
      check_sequence(needed);
      for (const dependency& d : needed) {
        const auto stated = std::ranges::find(item().depends_on, d);
        if (d.kind == dependency_kind::data ? stated == item().depends_on.end()
                                            : !waiting.has(d.item))
          fail("dependencies", "does not wait for item " + std::to_string(d.item) +
                                   ", because of buffer " + std::to_string(d.buffer));
      }
      check_overwritten(number);
      all.push_back(item().depends_on);
    }
    const critical_path path = find_critical_path(s_.plan, all);
    expect("critical path", "nanoseconds", s_.critical.nanoseconds, path.nanoseconds);
    if (s_.critical.items != path.items) fail("critical path", "items", "another chain is longer");
  }

  // Those of the item that are among `all` come in their order.
  void check_sequence(const std::vector<dependency>& all) const {
    auto last = all.begin();
    for (const dependency& d : item().depends_on) {
      const auto found = std::ranges::find(all, d);
      if (found == all.end()) continue;
      require(found >= last, "dependencies", "come in another order");
      last = found;
    }
  }

  // Old values of an assigned argument are read before it is overwritten.
  void check_overwritten(int number) const {
    for_each_read(nest(), [&](int b) {
      const buffer& read = s_.plan.buffers[static_cast<std::size_t>(b)];
      if (read.place != place::argument) return;
      for (int i = 0; i < number; ++i)
        for (const store& s : s_.plan.nests[static_cast<std::size_t>(i)].stores) {
          const buffer& written = buffer_of(s);
          if (written.place == place::output &&
              s_.assigned[static_cast<std::size_t>(written.number)] == read.number)
            fail("order", "reads argument " + std::to_string(read.number) + ", which item " +
                              std::to_string(i) + " has overwritten");
        }
    });
  }

  void check_work() const {
    const bool forwarded = nest().kind == nest_kind::alias && item().iterations.empty();
    const work w = work_counter(s_.plan, s_.symbols).of(nest(), forwarded);
    expect("flops", item().flops, w.flops);
    expect("bytes read", item().bytes_read, w.bytes_read);
    expect("bytes written", item().bytes_written, w.bytes_written);
    require(std::isfinite(nest().predicted_nanoseconds) && nest().predicted_nanoseconds >= 0,
            "nanoseconds", "is no time");
  }

  void check_memory() const {
    const std::vector<allocation> computed = find_allocations(s_.plan);
    for (const allocation& a : computed) {
      const auto stated = std::ranges::find(s_.allocations, a.buffer, &allocation::buffer);
      const std::string where = "buffer " + std::to_string(a.buffer);
      if (stated == s_.allocations.end()) fail(where, "lifetime", "is missing");
      expect(where, "first item", stated->first, a.first);
      expect(where, "last item", stated->last, a.last);
      expect(where, "group", stated->group, a.group);
    }
    if (s_.allocations.size() != computed.size())
      fail("schedule", "allocations", "of a buffer that no item touches");
    for (const allocation& a : computed)
      for (const allocation& b : computed) {
        const buffer &x = s_.plan.buffers[static_cast<std::size_t>(a.buffer)],
                     &y = s_.plan.buffers[static_cast<std::size_t>(b.buffer)];
        const bool meet = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
        const std::string where = "buffer " + std::to_string(a.buffer);
        if (x.bytes == 0 || y.bytes == 0) continue;
        if (a.group != b.group && meet && a.first <= b.last && b.first <= a.last)
          fail(where, "offset",
               "overlaps buffer " + std::to_string(b.buffer) + ", which is alive as well");
        if (a.group == b.group && x.offset != y.offset)
          fail(where, "offset", "is not that of its group");
      }
    verify_memory(s_.plan);
    const memory_use use = find_memory_use(s_.plan, computed);
    expect("arena", "bytes", s_.plan.arena_bytes, use.peak);
    expect("arena", "lower bound", s_.plan.lower_bound_bytes, use.lower_bound);
  }

  const schedule& s_;
  std::size_t item_ = 0;
};

}  // namespace detail

/// Throws graph_error, or shape_error for a negative extent, unless the schedule is sound; the
/// message names the item or buffer, and the field. Accepts what function/make_schedule.hpp makes.
inline void verify_schedule(const schedule& s) { detail::schedule_verifier(s).run(); }

}  // namespace sinter::inline SINTER_ABI::planning
