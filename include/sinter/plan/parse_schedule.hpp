// SPDX-License-Identifier: MIT
// Schedules from text, in the form that print_schedule.hpp writes. The text is not trusted: numbers
// and lists have limits, what is read goes through the verifier, and errors say line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/plan/nest_reader.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/plan/verify_schedule.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning {

namespace detail {

class schedule_parser : private nest_reader {
 public:
  using nest_reader::nest_reader;

  std::vector<schedule> run() {
    std::vector<schedule> out;
    for (skip_lines(); !in_.at_end(); skip_lines()) out.push_back(read_schedule());
    return out;
  }

 private:
  schedule read_schedule() {
    dims_ = {};
    s_ = {};
    symbols_ = {};
    fused_ = {};
    const std::size_t start = in_.place();
    words("schedule");
    s_.once = in_.accept_word("once");
    end_line();
    while (in_.accept_word("symbol")) read_symbol();
    while (in_.accept_word("buffer")) read_buffer();
    read_outputs();
    while (in_.accept_word("item")) read_item();
    words("critical path");
    list(list_limit, [&] { s_.critical.items.push_back(small_number()); });
    in_.expect(":");
    s_.critical.nanoseconds = real();
    words("ns");
    end_line();
    words("arena");
    s_.plan.arena_bytes = static_cast<std::size_t>(size());
    words("bytes");
    in_.expect(",");
    words("lower bound");
    s_.plan.lower_bound_bytes = static_cast<std::size_t>(size());
    words("bytes");
    end_line();
    words("end");
    end_line();
    s_.plan.dims = dims_;
    s_.symbols = symbols_;
    s_.fused = fused_.share();
    attempt<error>([&] { verify_schedule(s_); },
                   [&](const error& e) { in_.fail_at(start, e.what()); });
    return std::move(s_);
  }

  // symbol 0: batch in 1..4096 = 32
  void read_symbol() {
    const std::int64_t number = size(static_cast<std::int64_t>(ir::detail::expression_limit) - 1);
    if (number != static_cast<std::int64_t>(symbols_.size()))
      in_.fail("symbols come in their order");
    in_.expect(":");
    const std::size_t place = in_.place();
    std::string own(in_.word());
    if (ir::is_unnamed_symbol(own)) {
      if (own != "s" + std::to_string(number))
        in_.fail_at(place, "a name of this form belongs to another symbol");
      own.clear();
    } else if (!ir::is_symbol_name(own) || dims_.find_symbol(own) >= 0) {
      in_.fail_at(place, "the name is taken");
    }
    words("in");
    ir::extent_range range;
    range.low = in_.integer(0, ir::extent_range::highest);
    in_.expect("..");
    if (!in_.accept("=")) {
      range.high = in_.integer(range.low, ir::extent_range::highest);
      in_.expect("=");
    }
    symbols_.push_back(size());
    if (!own.empty() || !(range == ir::extent_range{})) dims_.describe(number, {own, range});
    dims_.symbol(number);
    end_line();
  }

  // buffer 2: arena 0 f32[s0, 10] at 64, 128 bytes, alive 0..2 group 0; strides ...
  void read_buffer() {
    bounded(s_.plan.buffers, list_limit);
    const int number = small_number();
    if (number != static_cast<int>(s_.plan.buffers.size())) in_.fail("buffers come in their order");
    in_.expect(":");
    buffer b;
    b.place = word<place>("place");
    b.number = small_number();
    b.type = type();
    b.shape = shape();
    if (b.place == place::arena) {
      words("at");
      b.offset = static_cast<std::size_t>(size());
      in_.expect(",");
      b.bytes = static_cast<std::size_t>(size());
      words("bytes");
    }
    if (in_.accept(",")) {
      allocation a{number, 0, 0, 0};
      words("alive");
      a.first = small_number();
      in_.expect("..");
      a.last = small_number();
      words("group");
      a.group = small_number();
      s_.allocations.push_back(a);
    }
    in_.expect(";");
    s_.plan.buffers.push_back(b);
    layout l;
    words("strides");
    list(static_cast<std::size_t>(max_rank),
         [&] { l.strides.push_back(in_.integer(-extent_limit, extent_limit)); });
    in_.expect(",");
    words("contiguous");
    list(static_cast<std::size_t>(max_rank), [&] { l.contiguous.push_back(size(max_rank)); });
    in_.expect(",");
    words("alignment");
    l.alignment = size();
    in_.expect(",");
    words("vectors of");
    l.vector_width = size();
    s_.layouts.push_back(l);
    end_line();
  }

  void read_outputs() {
    std::vector<std::pair<int, int>> assigned;
    while (in_.accept_word("output")) {
      bounded(assigned, list_limit);
      const int output = small_number();
      in_.expect("->");
      words("argument");
      assigned.emplace_back(output, small_number());
      end_line();
    }
    if (!in_.accept_word("outputs")) {
      if (!assigned.empty()) in_.fail("expected 'outputs'");
      return;
    }
    s_.assigned.assign(static_cast<std::size_t>(size(list_limit)), -1);
    for (const auto& [output, argument] : assigned) {
      if (static_cast<std::size_t>(output) >= s_.assigned.size())
        in_.fail("there is no output " + std::to_string(output));
      s_.assigned[static_cast<std::size_t>(output)] = argument;
    }
    end_line();
  }

  // ---- items

  void read_item() {
    bounded(s_.items, list_limit);
    if (small_number() != static_cast<int>(s_.items.size())) in_.fail("items come in their order");
    in_.expect(":");
    s_.plan.nests.push_back(read_nest(0));
    schedule_item item;
    while (in_.accept_word("iteration")) {
      bounded(item.iterations, list_limit);
      item.iterations.push_back(read_iteration());
    }
    while (in_.accept_word("reduction")) {
      bounded(item.reductions, list_limit);
      item.reductions.push_back(read_reduction());
    }
    while (in_.accept_word("hint")) {
      bounded(item.hints, list_limit);
      hint h;
      h.kind = word<hint_kind>("hint");
      words("buffer");
      h.buffer = small_number();
      in_.expect(":");
      h.bytes = size();
      words("bytes");
      item.hints.push_back(h);
      end_line();
    }
    while (in_.accept_word("after")) {
      bounded(item.depends_on, list_limit);
      dependency d;
      words("item");
      d.item = small_number();
      in_.expect(":");
      d.kind = word<dependency_kind>("dependency");
      words("in buffer");
      d.buffer = small_number();
      item.depends_on.push_back(d);
      end_line();
    }
    constexpr std::int64_t most = ir::extent_range::highest;
    words("does");
    item.flops = size(most);
    words("flops");
    in_.expect(",");
    words("reads");
    item.bytes_read = size(most);
    words("bytes");
    in_.expect(",");
    words("writes");
    item.bytes_written = size(most);
    words("bytes");
    in_.expect(",");
    words("takes");
    s_.plan.nests.back().predicted_nanoseconds = real();
    words("ns");
    end_line();
    s_.items.push_back(std::move(item));
  }

  iteration read_iteration() {
    iteration it;
    it.work = word<work_kind>("work");
    it.part = small_number();
    in_.expect(":");
    while (!in_.at_end_of_line()) {
      if (!it.axes.empty()) in_.expect(",");
      bounded(it.axes, static_cast<std::size_t>(max_rank) + 2);
      axis a;
      a.name = std::string(in_.word());
      a.extent = extent();
      a.role = word<axis_role>("role");
      it.axes.push_back(std::move(a));
    }
    end_line();
    while (in_.accept_word("loop")) {
      bounded(it.loops, static_cast<std::size_t>(max_rank) + 2);
      loop l;
      list(static_cast<std::size_t>(max_rank) + 2, [&] { l.axes.push_back(small_number()); });
      for (std::size_t k = 0; k < l.levels.size(); ++k) {
        in_.expect(k == 0 ? ":" : ",");
        l.levels[k].to = word<mapped_to>("mapping");
        l.levels[k].step = size();
      }
      it.loops.push_back(std::move(l));
      end_line();
    }
    return it;
  }

  // reduction 0 of %3: reduce_sum, blocks of 1024 pairwise, 64 accumulators, 1 partials
  reduction_plan read_reduction() {
    reduction_plan r;
    r.iteration = small_number();
    if (in_.accept_word("of")) {
      in_.expect("%");
      r.step = small_number();
    }
    in_.expect(":");
    r.monoid = op();
    in_.expect(",");
    words("blocks of");
    r.block = size();
    r.order = word<combination>("order");
    in_.expect(",");
    r.accumulators = size();
    words("accumulators");
    in_.expect(",");
    r.partials = size();
    words("partials");
    end_line();
    return r;
  }

  schedule s_;
};

}  // namespace detail

/// The schedules in a text, one after the other, as to_text wrote them: each equal to the one that
/// was written. Throws graph_error with line and column (of the schedule's first line for what the
/// verifier finds). Text from anywhere is safe: nothing else happens. `customs`: the custom ops
/// that the text may name (sinter::custom_ops), whose shape rules the verifier asks.
inline std::vector<schedule> parse_schedules(std::string_view text,
                                             std::span<const ir::custom_op* const> customs = {}) {
  return detail::schedule_parser(text, customs).run();
}

/// The same for a text of one schedule.
inline schedule parse_schedule(std::string_view text,
                               std::span<const ir::custom_op* const> customs = {}) {
  std::vector<schedule> all = parse_schedules(text, customs);
  if (all.size() != 1)
    raise(graph_error("parse_schedule: " + std::to_string(all.size()) +
                      " schedules in the text, expected one"));
  return std::move(all.front());
}

}  // namespace sinter::inline SINTER_ABI::planning
