// SPDX-License-Identifier: MIT
// The first half of binding a tile program: operands become streams over a walk, values get a class
// and the phases in which they are computed and used. The second half, emit_tile.hpp, turns that
// into commands.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/exec/bind_walk.hpp>
#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/tile_analysis.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/support/cache_lines.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

// What a nest knows about its walk when it is bound.
struct walk_request {
  shape_vector space;              // extents of the axes in the order of the values' shapes
  std::size_t outer_count = 0;     // axes that are no columns; geometry::free chooses itself
  std::int64_t block_columns = 0;  // geometry::block: columns of a block
  // The store (of the nest) whose memory the external value already is in, or -1.
  int stored_external = -1;
  bool external_packed = false;     // the rows of the external value lie one behind the other
  bool result_is_external = false;  // the only store goes over the external value
  bool in_place = false;            // short rows are used where they are too
  // Where the only store goes, if that is not simply its buffer (a block of it, or memory that is
  // no buffer).
  const strided_view* destination = nullptr;
};

struct bound_value {
  static constexpr int never = std::numeric_limits<int>::max();
  value_class extent = value_class::full;
  location at;          // where it is now; slots are forgotten between phases
  location spread;      // a row's value as one value per element, in the phase at hand
  location row_vector;  // a single value as one value per row
  location filled;      // a single value as one value per element
  int stream = -1;
  int first_phase = never, last_phase = -1;  // in which it is computed, and used for the last time
  int waits_in = -1;                         // the store where it is kept from phase to phase
  bool direct = false;                       // a load whose elements are used where they are
  bool needed = false;                       // in the phase at hand
};

struct bound_store {
  int stream = -1;
  bool per_row = false;     // stores one value per row
  bool summed = false;      // stores what the rows sum up to, not through a stream
  std::int64_t offset = 0;  // summed: of its first element in the buffer
  int phase = 0;
  bool deferred = false;       // written when all loads of the phase are done
  bool passes_caches = false;  // is written past the caches, where a kernel can
  bool keeps = false;          // a value waits there for the phase of the store
};

// More bytes than this per tile are not kept from phase to phase but computed again: half of a
// common L2.
inline constexpr std::int64_t keep_limit_bytes = 256 * 1024;

class tile_schedule {
 public:
  tile_program program;
  std::vector<bound_value> values;  // per step
  std::vector<bound_store> stores;  // per store of the analysis
  bool keep = true;

  tile_schedule(const planning::nest& nest, tile_analysis analysis)
      : values(nest.body.size()),
        stores(analysis.stores.size()),
        nest_(&nest),
        facts_(std::move(analysis)) {
    program.streams.reserve(values.size() + stores.size());
    program.constants.reserve(values.size());
  }

  const planning::nest& nest() const { return *nest_; }
  const tile_analysis& facts() const { return facts_; }
  const walk_request& request() const { return request_; }
  const planning::step& step(int s) const { return nest_->body[static_cast<std::size_t>(s)]; }
  int step_count() const { return static_cast<int>(nest_->body.size()); }
  bool alive(int s) const { return facts_.alive[static_cast<std::size_t>(s)]; }
  int ready(int s) const { return facts_.ready[static_cast<std::size_t>(s)]; }
  bool is_origin(int s) const { return facts_.origin[static_cast<std::size_t>(s)] == s; }
  bound_value& value_of(int s) {
    return values[static_cast<std::size_t>(facts_.origin[static_cast<std::size_t>(s)])];
  }
  const planning::store& store(std::size_t i) const {
    return nest_->stores[static_cast<std::size_t>(facts_.stores[i])];
  }
  stream& stream_of(const bound_value& v) {
    return program.streams[static_cast<std::size_t>(v.stream)];
  }

  void bind(const binding& at, const walk_request& request) {
    request_ = request;
    program.streams.clear();
    program.constants.clear();
    for (bound_value& v : values) v = {};
    for (bound_store& s : stores) s = {};
    shape_vector extents;
    order_axes(extents);
    add_streams(at);
    bind_walk(program, extents, request.outer_count, facts_.kind);
    find_streamed(at);
    choose_tile(program, facts_.kind, facts_.phases, facts_.maps, request.block_columns,
                std::ranges::any_of(stores, &bound_store::summed));
    classify_values();
    find_conflicts(at);
    find_phases(at);
  }

  bool whole_rows() const { return program.chunk == program.axes.columns; }

  /// That share the walk, if nothing else is divided.
  std::int64_t threads() const {
    const std::int64_t tasks = planning::pieces_of(program.axes.rows * program.axes.columns,
                                                   planning::row_elements_per_task);
    return threads_for(tasks, nest_->predicted_nanoseconds);
  }

  // Does anything but `user` read the value of step s?
  bool is_used_beside(int s, int user) const {
    return is_read(s, [&](int i) { return i != user; }) || is_stored(s);
  }

  // Is store number k of the analysis all that reads the value of step s?
  bool is_only_stored(int s, std::size_t k) const {
    for (int i = s + 1; i < step_count(); ++i)
      if (alive(i))
        for (int o : step(i).operands)
          if (facts_.origin[static_cast<std::size_t>(o)] == s) return false;
    for (std::size_t other = 0; other < stores.size(); ++other)
      if (other != k && facts_.origin[static_cast<std::size_t>(store(other).step)] == s)
        return false;
    return true;
  }

  // May commands read or write the stream in place? Short rows that lie apart are copied instead: a
  // call per row costs about as much as 64 elements.
  bool usable_in_place(const stream& s) const {
    if (!s.has_unit_step()) return false;
    return request_.in_place || program.tile_rows == 1 || (s.dense && whole_rows()) ||
           program.chunk >= 64;
  }

  // May store k be written in place by who computes it? Of rows between those of other pieces,
  // which fill parts of lines, also where they are shorter: from slots they are written in bursts,
  // and fetched for that. (Two pieces of [131072,16] and [65536,32]: 1.6 to 1.7 ms from slots, 0.75
  // to 0.85 in place; of what stays in L2 as long: Zen 5. But where operands are in slots anyway,
  // 43 us instead of 20: two parts of 16 columns, turned by an angle.)
  bool stores_in_place(std::size_t k) const {
    const stream& s = program.streams[static_cast<std::size_t>(stores[k].stream)];
    return usable_in_place(s) || (request_.destination != nullptr && program.chunk >= 16 &&
                                  s.has_unit_step() && reads_in_place());
  }
  bool reads_in_place() const {
    for (int i = 0; i < step_count(); ++i) {
      const bound_value& v = values[static_cast<std::size_t>(i)];
      if (alive(i) && v.extent == value_class::full && !v.direct &&
          step(i).kind == planning::step_kind::load)
        return false;
    }
    return true;
  }

  // Computed in one phase and used in a later one.
  bool is_kept(int s) const {
    const bound_value& v = values[static_cast<std::size_t>(s)];
    return alive(s) && s != facts_.external && is_origin(s) && v.extent == value_class::full &&
           !v.direct && v.last_phase > v.first_phase;
  }

 private:
  // The axes in the order of the walk.
  void order_axes(shape_vector& extents) {
    const std::size_t rank = request_.space.size();
    order_.clear();
    if (nest_->kind == planning::nest_kind::tile && !nest_->axis_order.empty())
      for (int axis : nest_->axis_order) order_.push_back(axis);
    else
      for (std::size_t axis = 0; axis < rank; ++axis)
        order_.push_back(static_cast<std::int64_t>(axis));
    detail::require_step(order_.size() == rank, *nest_, "the axis order does not name every axis");
    for (std::int64_t axis : order_) extents.push_back(request_.space[axis]);
  }

  int add_stream(const strided_view& view, dtype type) {
    stream s;
    s.buffer = view.buffer;
    s.type = type;
    s.element_size = size_of(type);
    s.offset = view.offset;
    const auto mismatch = [&] {
      raise(graph_error("executor: " + nest_->label + ": an operand of shape " +
                        to_string(view.shape) + " in a nest over " + to_string(request_.space)));
    };
    if (view.shape.size() != request_.space.size() && !view.shape.empty()) mismatch();
    for (std::int64_t axis : order_) {
      const std::int64_t extent = view.shape.empty() ? 1 : view.shape[axis];
      if (extent != 1 && extent != request_.space[axis]) mismatch();
      s.outer.push_back(extent == 1 ? 0 : view.strides[axis]);
    }
    program.streams.push_back(s);
    return static_cast<int>(program.streams.size()) - 1;
  }

  // Row-major positions in the whole space, or in its kept axes.
  strided_view positions(bool per_row) const {
    strided_view view{-1, 0, request_.space, {}};
    if (per_row && facts_.has_row_level)
      for (std::size_t i = order_.size() - static_cast<std::size_t>(nest_->inner_axes);
           i < order_.size(); ++i)
        view.shape[order_[i]] = 1;
    view.strides = row_major_strides(view.shape);
    return view;
  }

  // A copy of an operand, which its nest reads, is in no buffer of the plan.
  void find_streamed(const binding& at) {
    for (std::size_t i = 0; i < stores.size(); ++i)
      if (stores[i].stream >= 0 && store(i).buffer >= 0)
        stores[i].passes_caches =
            leaves_caches(at, store(i).buffer) &&
            gains_past_caches(program.streams[static_cast<std::size_t>(stores[i].stream)]);
  }

  // Rows of a block are parts of lines, or whole ones, of which there shall be two: one at a time
  // goes past the caches no faster than through them (sigmoids in rows of 16 f32 1.2 times as long,
  // of 32 0.8 of the time: Zen 5).
  bool gains_past_caches(const stream& s) const {
    constexpr std::int64_t line{line_bytes};
    const auto size = static_cast<std::int64_t>(s.element_size);
    const bool has_runs = std::ranges::any_of(program.streams, &stream::is_one_per_run);
    const std::int64_t row = (has_runs ? program.axes.inner.back() : program.axes.columns) * size;
    const auto is_apart = [&](std::int64_t step) { return step * size % line != 0; };
    const bool parts_lines = request_.destination != nullptr && (row % line != 0 || row < 2 * line);
    const bool shares_lines =
        parts_lines || (has_runs && row % line != 0) || std::ranges::any_of(s.outer, is_apart);
    return !shares_lines || row >= shortest_streamed_row();
  }

  // Does what is stored there not stay in the caches? Of what this program reads again, only what
  // is larger than they are; of other results also what only fits in without what the nest reads.
  // (Normalising columns of [8192,512]: 0.84 ms by hand instead of 1.07.)
  bool leaves_caches(const binding& at, int target) const {
    const auto bytes = [&](int buffer) {
      return static_cast<double>(element_count(at[buffer].shape)) *
             static_cast<double>(size_of(at.type(buffer)));
    };
    double touched = bytes(target);
    if (at.plan().buffers[static_cast<std::size_t>(target)].place == planning::place::output)
      for (std::size_t i = 0; i < nest_->accesses.size(); ++i) {
        const auto same = [&](const planning::access& a) {
          return a.buffer == nest_->accesses[i].buffer;
        };
        const auto first = nest_->accesses.begin(), here = first + static_cast<std::ptrdiff_t>(i);
        if (std::none_of(first, here, same)) touched += bytes(here->buffer);
      }
    return touched > at.plan().last_level_bytes || touched >= most_kept_bytes(threads());
  }

  void add_streams(const binding& at) {
    for (int i = 0; i < step_count(); ++i)
      if (alive(i) && i != facts_.external)
        add_operand(at, step(i), values[static_cast<std::size_t>(i)]);
    for (std::size_t i = 0; i < stores.size(); ++i) {
      const planning::step& s = step(store(i).step);
      if (request_.result_is_external) continue;
      stores[i].summed = store(i).summed;
      if (stores[i].summed) {
        stores[i].phase = ready(store(i).step);
        stores[i].offset = at[store(i).buffer].offset;
        continue;
      }
      if (request_.destination != nullptr) {
        stores[i].stream = add_stream(*request_.destination, s.type);
        continue;
      }
      const strided_view& target = at[store(i).buffer];
      // Extents that are equal at hand need not have been so as symbols: what the buffer holds
      // decides.
      const strided_view per_row = positions(true), all = positions(false);
      stores[i].per_row =
          facts_.row_store[i] ||
          (facts_.has_row_level && target.shape == per_row.shape && target.shape != all.shape);
      strided_view view = stores[i].per_row ? per_row : all;
      if (element_count(view.shape) != element_count(target.shape))
        raise(graph_error("executor: " + nest_->label + ": a value of shape " +
                          to_string(view.shape) + " does not fit into its buffer of shape " +
                          to_string(target.shape)));
      view.buffer = target.buffer;
      view.offset = target.offset;
      stores[i].stream = add_stream(view, s.type);
      stores[i].phase = ready(store(i).step);
    }
  }

  void add_operand(const binding& at, const planning::step& s, bound_value& v) {
    switch (s.kind) {
      case planning::step_kind::load:
      case planning::step_kind::scalar: {
        const planning::access& a = nest_->accesses[static_cast<std::size_t>(s.access)];
        v.stream = add_stream(at.view(a), at.type(a.buffer));
        return;
      }
      case planning::step_kind::iota: {
        strided_view view{-1, 0, request_.space, shape_vector::filled(request_.space.size(), 0)};
        view.strides[s.attribute] = 1;
        v.stream = add_stream(view, s.type);
        return;
      }
      case planning::step_kind::random:
        v.stream = add_stream(positions(facts_.is_row_level(s)), s.type);
        return;
      case planning::step_kind::constant: v.at = constant(s.constant, s.type); return;
      case planning::step_kind::extent: {
        const std::int64_t extent = at.evaluate(s.extent);
        v.at = constant(is_wide_integer(s.type)
                            ? extent
                            : std::bit_cast<std::int64_t>(static_cast<double>(extent)),
                        s.type);
        return;
      }
      default: return;
    }
  }

  // `bits`: of a double, or the value itself for i64 and u64.
  location constant(std::int64_t bits, dtype type) {
    std::int64_t word = 0;
    dispatch(type, [&]<class T>(std::type_identity<T>) {
      T x{};
      if constexpr (is_wide_integer(dtype_of<T>))
        x = static_cast<T>(bits);
      else if constexpr (std::is_same_v<T, bool>)
        x = std::bit_cast<double>(bits) != 0;
      else
        x = static_cast<T>(std::bit_cast<double>(bits));
      std::memcpy(&word, &x, sizeof x);
    });
    program.constants.push_back({word, type});
    return {location::memory::constant, value_class::single,
            static_cast<std::uint8_t>(size_of(type)),
            static_cast<int>(program.constants.size()) - 1};
  }

  void classify_values() {
    for (int i = 0; i < step_count(); ++i) {
      if (!alive(i)) continue;
      const planning::step& s = step(i);
      bound_value& v = values[static_cast<std::size_t>(i)];
      const auto size = static_cast<std::uint8_t>(size_of(s.type));
      if (i == facts_.external || s.kind == planning::step_kind::product ||
          (planning::is_second_of_pair(s) && !facts_.has_row_level)) {
        // A second product of the nest, or the second of a pair, is its other external value.
        v.at = {location::memory::external, value_class::full, size, i == facts_.external ? 0 : 1};
        continue;
      }
      if (v.stream >= 0)
        v.extent = stream_of(v).extent();
      else if (facts_.reduces(s))
        v.extent = value_class::row;
      else
        v.extent = value_class::single;
      if (s.kind == planning::step_kind::random) v.extent = std::max(v.extent, value_class::row);
      if (s.kind == planning::step_kind::map || s.kind == planning::step_kind::spread)
        for (int o : s.operands) v.extent = std::max(v.extent, value_of(o).extent);
      const bool is_load =
          s.kind == planning::step_kind::load || s.kind == planning::step_kind::scalar;
      v.direct = is_load && v.extent == value_class::full &&
                 (usable_in_place(stream_of(v)) || is_read_by_runs(i));
      if (v.direct) v.at = {location::memory::stream, value_class::full, size, v.stream};
    }
  }

  // Is all that reads a load, of one element per run, a kernel that goes from run to run and has no
  // reduction behind it? Runs of fewer registers than a step cost as much as a copy. (Group norm of
  // 64 channels of 7 x 7 elements: 0.55 of the time that factors take which are repeated first.)
  bool is_read_by_runs(int load) {
    constexpr std::int64_t shortest_run = 32;
    if (facts_.kind != geometry::rows || is_stored(load) ||
        !stream_of(values[static_cast<std::size_t>(load)]).is_one_per_run() ||
        program.axes.inner.back() < shortest_run)
      return false;
    const auto refuses = [&](int reader) {
      const planning::step& s = step(reader);
      if (s.kind != planning::step_kind::map || s.fused == nullptr ||
          s.fused->run_rows == nullptr || !ir::may_broadcast(s.fused->structure))
        return true;
      for (std::size_t k = 0; k < s.operands.size(); ++k)
        if (facts_.origin[static_cast<std::size_t>(s.operands[k])] == load &&
            s.fused->structure.is_scalar(static_cast<int>(k)))
          return true;
      return is_read(reader, [&](int i) { return facts_.reduces(step(i)); });
    };
    return !is_read(load, refuses);
  }

  // Memory of a store that is also memory of a load (an update in place) is written in the last
  // phase, and there behind the last step that reads it.
  void find_conflicts(const binding& at) {
    for (std::size_t i = 0; i < stores.size(); ++i) {
      if (request_.destination != nullptr || request_.result_is_external || stores[i].per_row ||
          stores[i].summed)
        continue;
      const int target = program.streams[static_cast<std::size_t>(stores[i].stream)].buffer;
      for (int l = 0; l < step_count(); ++l) {
        if (!alive(l) || step(l).kind != planning::step_kind::load) continue;
        if (!may_overlap(at.plan(), target, stream_of(values[static_cast<std::size_t>(l)]).buffer))
          continue;
        stores[i].phase = facts_.phases - 1;
        if (facts_.is_used_behind(*nest_, l, store(i).step)) stores[i].deferred = true;
      }
    }
  }

  void find_phases(const binding& at) {
    const auto use = [&](int s, int phase) {
      bound_value& v = value_of(s);
      v.first_phase = std::min(v.first_phase, phase);
      v.last_phase = std::max(v.last_phase, phase);
    };
    for (std::size_t i = 0; i < stores.size(); ++i) use(store(i).step, stores[i].phase);
    for (int i = step_count() - 1; i >= 0; --i) {
      if (!alive(i) || i == facts_.external || !is_origin(i)) continue;
      const planning::step& s = step(i);
      if (facts_.reduces(s)) use(s.operands[0], ready(s.operands[0]));
      const bound_value& v = values[static_cast<std::size_t>(i)];
      if (s.kind == planning::step_kind::map && v.extent == value_class::full)
        for (int o : s.operands) use(o, v.first_phase);
    }
    std::int64_t bytes = 0;
    for (int i = 0; i < step_count(); ++i)
      if (is_kept(i) && !find_waiting_place(at, i))
        bytes += program.tile_rows * program.axes.columns *
                 static_cast<std::int64_t>(size_of(step(i).type));
    keep = !program.split && bytes <= keep_limit_bytes;
  }

  // What only one stored step reads later may wait where that will be stored, in its own way: no
  // other memory is touched, and the lines come while this phase computes.
  bool find_waiting_place(const binding& at, int s) {
    bound_value& v = values[static_cast<std::size_t>(s)];
    for (std::size_t k = 0; k < stores.size(); ++k) {
      bound_store& to = stores[k];
      const int stored = facts_.origin[static_cast<std::size_t>(store(k).step)];
      if (to.per_row || to.deferred || to.passes_caches || to.keeps || to.stream < 0 ||
          request_.destination != nullptr || to.phase != v.last_phase ||
          step(stored).type != step(s).type ||
          !usable_in_place(program.streams[static_cast<std::size_t>(to.stream)]) ||
          !is_read_later_by(s, stored) || overwrites_operand(at, to, s))
        continue;
      v.waits_in = static_cast<int>(k);
      return to.keeps = true;
    }
    return false;
  }

  // Would step s, written where that store goes, overwrite what is read later?
  bool overwrites_operand(const binding& at, const bound_store& to, int s) const {
    const int target = program.streams[static_cast<std::size_t>(to.stream)].buffer,
              phase = values[static_cast<std::size_t>(s)].first_phase;
    for (int l = 0; l < step_count(); ++l) {
      const bound_value& v = values[static_cast<std::size_t>(l)];
      if (!alive(l) || step(l).kind != planning::step_kind::load || v.last_phase < phase) continue;
      const int buffer = program.streams[static_cast<std::size_t>(v.stream)].buffer;
      if (may_overlap(at.plan(), target, buffer) &&
          (v.last_phase > phase || facts_.is_used_behind(*nest_, l, s)))
        return true;
    }
    return false;
  }

  // Are reductions of its first phase, and step `reader`, all that read the value of step s?
  bool is_read_later_by(int s, int reader) const {
    const bool reduced_now = ready(s) == values[static_cast<std::size_t>(s)].first_phase;
    const auto other = [&](int i) {
      return i != reader && !(reduced_now && facts_.reduces(step(i)));
    };
    return !is_read(s, other) && !is_stored(s);
  }

  // Does a step read the value of step s for which f(step) holds?
  template <class F>
  bool is_read(int s, F f) const {
    for (int i = s + 1; i < step_count(); ++i)
      if (alive(i) && is_origin(i) && f(i))
        for (int o : step(i).operands)
          if (facts_.origin[static_cast<std::size_t>(o)] == s) return true;
    return false;
  }
  bool is_stored(int s) const {
    return std::ranges::any_of(facts_.stores, [&](int number) {
      const int stored = nest_->stores[static_cast<std::size_t>(number)].step;
      return facts_.origin[static_cast<std::size_t>(stored)] == s;
    });
  }

  const planning::nest* nest_;
  tile_analysis facts_;
  walk_request request_;
  inline_vector<std::int64_t, max_rank> order_;
};

}  // namespace sinter::inline SINTER_ABI::exec
