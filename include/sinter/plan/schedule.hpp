// SPDX-License-Identifier: MIT
// The schedule: a plan at the extents of one call, with everything that was decided for them. What
// it says is what runs (function/make_schedule.hpp asks the executor's own binding); the plan
// inside gives the tile programs, in the order of execution. A value: it holds no pointers into a
// program, prints, is read back, is verified, and runs in an interpreter of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sinter/graph/graph.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::planning {

// reduction: elements along it combine; streamed: so they do, block by block, with what was summed
// before, scaled anew or put out as it grows; whole: a user's kernel takes it as it likes, never a
// part of it.
enum class axis_role : std::uint8_t { parallel, reduction, streamed, whole };

struct axis {
  std::string name;
  ir::dim extent;
  axis_role role{};
  friend bool operator==(const axis&, const axis&) = default;
};

// Who takes the pieces that a range is cut into: threads (in any order), one thread one after the
// other, or the lanes of a register.
enum class mapped_to : std::uint8_t { threads, serial, lanes };

struct loop_level {
  mapped_to to{};
  std::int64_t step = 1;  // of the collapsed axes; the last piece may be smaller
  friend bool operator==(const loop_level&, const loop_level&) = default;
};

// Axes of an iteration that are walked as one, row-major, the first outermost. Three levels of
// pieces: tasks, which threads may take; tiles, one after the other; and what one instruction does.
// Each cuts the pieces of the level before it, the first one the whole range. All loops of an
// iteration go through their tasks, inside of them through their tiles, inside of those element by
// element.
struct loop {
  static constexpr std::size_t task = 0, tile = 1, unit = 2;
  std::vector<int> axes;
  std::array<loop_level, 3> levels{};
  friend bool operator==(const loop&, const loop&) = default;
};

enum class work_kind : std::uint8_t {
  body,      // the tile program of a tile or column nest
  product,   // of two matrices; of grouped nests, product `part`
  epilogue,  // the tile program behind a product, on its blocks
  operand,   // an operand of a streamed nest that is computed on the way: part `part` of all
  copy,      // elements from a view to a row-major place: piece `part` of an assemble nest
  fill,      // what no piece of an assemble nest covers
  index,     // gather and scatter_add
  scan,      // running sums along an axis
  custom,    // a user's kernel, on as many rows as a task has, or on whole arrays
  pack,      // into the order of the product's kernel
};

// One walk over axes of its own. A nest has one, or several that follow one another (pieces) or
// take turns block by block (product and epilogue).
struct iteration {
  work_kind work{};
  int part = 0;
  std::vector<axis> axes;
  std::vector<loop> loops;  // outer to inner; each axis is in one of them
  friend bool operator==(const iteration&, const iteration&) = default;
};

// How the blocks of a tile become one.
enum class combination : std::uint8_t {
  in_order,  // block after block
  pairwise,  // two runs of as many blocks become one (support/pairwise.hpp)
};

// How elements along the reduced axes of an iteration become one: in `partials` ranges of their
// own, the tasks of the loop, which combine in order; in each, tile after tile (sums of f32: both
// in f64); in a tile, blocks of `block` elements, of which every `accumulators`-th goes to the same
// accumulator (0: as the product's kernel has it), and which combine as `order` says.
struct reduction_plan {
  int iteration = 0;
  int step = -1;  // of the body; -1: the sum of a product, of a streamed nest, of updates
  ir::op monoid{};
  std::int64_t block = 1, accumulators = 1, partials = 1;
  combination order{};
  friend bool operator==(const reduction_plan&, const reduction_plan&) = default;
};

enum class hint_kind : std::uint8_t {
  prefetch,  // `bytes` of the buffer, the next tile, are fetched while a tile is computed
  copy,      // an operand of a product without unit stride, or of a custom op that is not
             // row-major: copied first, row-major
  pack,      // a product's operand is rearranged for the kernel, block by block
  keep,      // what was packed or computed is kept by its thread: `bytes` of it at most
  gather,    // a product's operand is found through tables, of `bytes` per thread, as it is packed;
             // by tiles: images are transformed there
};

struct hint {
  hint_kind kind{};
  int buffer = -1;
  std::int64_t bytes = 0;
  friend bool operator==(const hint&, const hint&) = default;
};

enum class dependency_kind : std::uint8_t {
  data,   // reads what that item wrote
  order,  // writes what it read or wrote before, or must not write before it checked indices
};

struct dependency {
  int item = 0;
  dependency_kind kind{};
  int buffer = -1;  // of this item: read (data), written (order)
  friend bool operator==(const dependency&, const dependency&) = default;
};

// What is decided for nest i of the plan.
struct schedule_item {
  std::vector<iteration> iterations;  // none: an alias, which costs nothing
  std::vector<reduction_plan> reductions;
  std::vector<hint> hints;
  std::vector<dependency> depends_on;
  std::int64_t flops = 0;  // additions, multiplications, functions: one each
  std::int64_t bytes_read = 0, bytes_written = 0;
  friend bool operator==(const schedule_item&, const schedule_item&) = default;
};

// Of a buffer, whose shape the plan has.
struct layout {
  shape_vector strides;           // in elements
  std::int64_t alignment = 1;     // bytes; of element 0
  shape_vector contiguous;        // the last axes, as far as they lie in row-major order
  std::int64_t vector_width = 1;  // elements that one register takes of it
  friend bool operator==(const layout&, const layout&) = default;
};

// Of an arena buffer; its place is the plan's. Buffers of one group are names of one piece of
// memory: another shape of it, or a result over an operand that dies.
struct allocation {
  int buffer = 0;
  int first = 0, last = 0;  // items: the lifetime of the group's memory
  int group = 0;
  friend bool operator==(const allocation&, const allocation&) = default;
};

// The longest chain of items that wait for one another.
struct critical_path {
  std::vector<int> items;
  double nanoseconds = 0;
  friend bool operator==(const critical_path&, const critical_path&) = default;
};

struct schedule {
  bool once = false;  // prepares values that later calls read
  // Without what only reports need. `arena_bytes` is the peak, `lower_bound_bytes` the largest set
  // alive; a nest's nanoseconds are the estimate of its item.
  planning::plan plan;
  std::vector<std::int64_t> symbols;  // the extents at hand
  std::vector<int> assigned;          // by output: the argument whose memory it is, or -1
  std::vector<layout> layouts;        // by buffer
  std::vector<allocation> allocations;
  std::vector<schedule_item> items;  // by nest
  planning::critical_path critical;
  // The structures of the plan's superinstructions, without code.
  std::shared_ptr<const std::deque<ir::instruction>> fused;
};

/// The first axes of a custom nest, which are the same in all of its arrays: a kernel gets any part
/// of them, merged into one. 0 where it gets whole arrays.
inline std::size_t custom_leading_axes(const nest& n) {
  return n.custom->core_axes < 0
             ? 0
             : n.accesses[0].shape.size() - static_cast<std::size_t>(n.custom->core_axes);
}

/// Calls visit(dim&) for every extent of the nest.
template <class Nest, class Visit>
void for_each_extent(Nest& n, Visit visit) {
  const auto shape = [&](auto& s) {
    for (auto& d : s) visit(d);
  };
  const auto accessed = [&](auto& a) {
    shape(a.shape);
    for (auto& s : a.steps) {
      shape(s.dims);
      shape(s.result);
      shape(s.operand);
    }
  };
  const auto body = [&](auto& steps) {
    for (auto& s : steps) visit(s.extent);
  };
  shape(n.space);
  visit(n.hidden.offset);
  for (auto& operand : n.prologues)
    for (auto& part : operand) {
      shape(part.space);
      visit(part.offset);
      body(part.body);
    }
  for (auto& part : n.parts) for_each_extent(part, visit);
  for (auto& p : n.pieces) {
    shape(p.space);
    shape(p.offset);
    body(p.body);
  }
  for (auto& a : n.accesses) accessed(a);
  body(n.body);
}

/// Calls visit(step&) for every step of the nest, those of its parts and operands included.
template <class Nest, class Visit>
void for_each_step(Nest& n, Visit visit) {
  for (auto& operand : n.prologues)
    for (auto& part : operand)
      for (auto& s : part.body) visit(s);
  for (auto& p : n.pieces)
    for (auto& s : p.body) visit(s);
  for (auto& part : n.parts) for_each_step(part, visit);
  for (auto& s : n.body) visit(s);
}

namespace detail {

template <class Visit>
void for_each_extent(schedule& s, Visit visit) {
  for (buffer& b : s.plan.buffers)
    for (ir::dim& d : b.shape) visit(d);
  for (nest& n : s.plan.nests) planning::for_each_extent(n, visit);
  for (schedule_item& item : s.items)
    for (iteration& i : item.iterations)
      for (axis& a : i.axes) visit(a.extent);
}

// Superinstructions by structure, in the order in which they were first asked for.
class fused_store {
 public:
  const ir::instruction* find(const ir::region& structure) {
    for (const ir::instruction& each : *kept_)
      if (each.structure == structure) return &each;
    kept_->push_back({structure});
    return &kept_->back();
  }
  void adopt(plan& p) {
    for (nest& n : p.nests)
      for_each_step(n, [&](step& s) {
        if (s.fused != nullptr) s.fused = find(s.fused->structure);
      });
  }
  std::shared_ptr<const std::deque<ir::instruction>> share() const { return kept_; }

 private:
  std::shared_ptr<std::deque<ir::instruction>> kept_ =
      std::make_shared<std::deque<ir::instruction>>();
};

// The same schedule with its extents in `dims` and its superinstructions in `fused`.
inline schedule expressed_in(schedule s, ir::dim_table& dims, fused_store& fused) {
  std::int64_t symbols = 0;
  for (std::size_t i = 0; i < s.plan.dims.size(); ++i)
    if (const ir::dim d = ir::dim::expression(i); s.plan.dims.kind(d) == ir::dim_kind::symbol)
      symbols = std::max(symbols, s.plan.dims.operands(d)[0] + 1);
  std::vector<ir::dim> same;
  for (std::int64_t i = 0; i < symbols; ++i) same.push_back(dims.symbol(i));
  for_each_extent(s, [&](ir::dim& d) { d = dims.substitute(s.plan.dims, d, same); });
  fused.adopt(s.plan);
  s.plan.dims = {};
  s.fused = nullptr;
  return s;
}

// Bits of the numbers that are no integers, which become 0: a NaN is equal to itself, 0 is not -0.
inline void take_numbers(nest& n, std::vector<std::int64_t>& bits) {
  const auto take = [&](double& x) { bits.push_back(ir::bits_of(std::exchange(x, 0.0))); };
  take(n.score_scale);
  take(n.hidden.value);
  take(n.fill);
  take(n.predicted_nanoseconds);
  for (double& x : n.custom_attributes) take(x);
  for (nest& part : n.parts) take_numbers(part, bits);
}
inline std::vector<std::int64_t> take_numbers(schedule& s) {
  std::vector<std::int64_t> bits{ir::bits_of(std::exchange(s.critical.nanoseconds, 0.0))};
  for (nest& n : s.plan.nests) take_numbers(n, bits);
  return bits;
}

}  // namespace detail

/// The same decisions about the same nests, numbers bit by bit; tables of extents may list them in
/// another order.
inline bool operator==(const schedule& a, const schedule& b) {
  if (!(a.plan.dims.described() == b.plan.dims.described())) return false;
  ir::dim_table dims;
  detail::fused_store fused;
  schedule x = detail::expressed_in(a, dims, fused), y = detail::expressed_in(b, dims, fused);
  if (detail::take_numbers(x) != detail::take_numbers(y)) return false;
  return x.once == y.once && x.plan == y.plan && x.symbols == y.symbols &&
         x.assigned == y.assigned && x.layouts == y.layouts && x.allocations == y.allocations &&
         x.items == y.items && x.critical == y.critical;
}

}  // namespace sinter::inline SINTER_ABI::planning
