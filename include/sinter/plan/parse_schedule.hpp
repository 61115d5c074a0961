// SPDX-License-Identifier: MIT
// Schedules from text, in the form that print_schedule.hpp writes. The text is not trusted: numbers
// and lists have limits, what is read goes through the verifier, and errors say line and column.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/graph/text_reader.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/plan/schedule_names.hpp>
#include <sinter/plan/verify_schedule.hpp>

namespace sinter::planning {

namespace detail {

class schedule_parser {
 public:
  explicit schedule_parser(std::string_view text) : in_(text, dims_, "parse_schedule") {}

  std::vector<schedule> run() {
    std::vector<schedule> out;
    for (skip_lines(); !in_.at_end(); skip_lines()) out.push_back(read_schedule());
    return out;
  }

 private:
  static constexpr std::int64_t list_limit = 4096;
  static constexpr std::int64_t extent_limit = ir::detail::number_limit;

  // ---- pieces of lines

  void skip_lines() {
    while (!in_.at_end() && in_.at_end_of_line()) in_.end_line();
  }
  void end_line() {
    in_.end_line();
    skip_lines();
  }
  void words(std::string_view all) {
    const std::size_t start = in_.place();
    while (!all.empty()) {
      const std::size_t end = std::min(all.find(' '), all.size());
      if (!in_.accept_word(all.substr(0, end)))
        in_.fail_at(start, "expected '" + std::string(all.substr(0, end)) + "'");
      all.remove_prefix(std::min(end + 1, all.size()));
    }
  }
  template <class Enum>
  Enum word(std::string_view what) {
    const std::size_t start = in_.place();
    const std::string_view found = in_.word();
    for (std::size_t i = 0; i < words_of<Enum>.size(); ++i)
      if (words_of<Enum>[i] == found) return static_cast<Enum>(i);
    in_.fail_at(start, "there is no " + std::string(what) + " '" + std::string(found) + "'");
  }
  dtype type() {
    const std::size_t start = in_.place();
    const std::string_view found = in_.word();
    for (int i = 0; i < dtype_count; ++i)
      if (name(static_cast<dtype>(i)) == found) return static_cast<dtype>(i);
    in_.fail_at(start, "there is no dtype '" + std::string(found) + "'");
  }
  ir::op op() {
    const std::size_t start = in_.place();
    const std::string_view found = in_.word();
    for (const ir::op_info& each : ir::op_table)
      if (each.name == found) return each.code;
    in_.fail_at(start, "there is no op '" + std::string(found) + "'");
  }
  std::int64_t size(std::int64_t most = extent_limit) { return in_.integer(0, most); }
  int small() { return static_cast<int>(in_.integer(0, 1'000'000)); }
  double real() { return in_.number(dtype::f64); }
  std::int64_t any_integer() {
    return in_.integer(std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max());
  }
  template <class Add>
  void list(std::size_t most, const Add& add) {
    std::size_t count = 0;
    in_.list("[", "]", [&] {
      if (count++ == most) in_.fail("the list is too long");
      add();
    });
  }
  template <class Into>
  void bounded(const Into& into, std::size_t size) const {
    if (into.size() >= size) in_.fail("too many of these");
  }

  // An extent whose value can be counted: symbols have their extents by now.
  ir::dim extent() {
    const std::size_t start = in_.place();
    const ir::dim out = in_.extent();
    check(out, start);
    return out;
  }
  ir::symbolic_shape shape() {
    const std::size_t start = in_.place();
    const ir::symbolic_shape out = in_.shape();
    std::int64_t elements = 1;
    for (ir::dim d : out) {
      check(d, start);
      elements = ir::detail::saturating_mul(
          elements, std::max<std::int64_t>(1, dims_.evaluate(d, s_.symbols)));
    }
    if (elements > extent_limit) in_.fail_at(start, "the shape is too large");
    return out;
  }
  // Ranges saturate, evaluation does not: the extents at hand as ranges first.
  void check(ir::dim d, std::size_t start) const {
    if (d.is_constant()) {
      if (d.constant() > extent_limit) in_.fail_at(start, "the extent is too large");
      return;
    }
    if (!knows_all_symbols()) in_.fail_at(start, "a symbol has no extent");
    const ir::extent_range r = at_hand().range(d);
    if (r.high > extent_limit || r.low < -extent_limit)
      in_.fail_at(start, "the extent is too large");
  }
  ir::dim_table at_hand() const {
    ir::dim_table out = dims_;
    for (std::size_t i = 0; i < s_.symbols.size(); ++i)
      out.describe(static_cast<std::int64_t>(i), {"", {s_.symbols[i], s_.symbols[i]}});
    return out;
  }
  bool knows_all_symbols() const {
    for (std::size_t i = 0; i < dims_.size(); ++i)
      if (const ir::dim d = ir::dim::expression(i);
          dims_.kind(d) == ir::dim_kind::symbol &&
          static_cast<std::size_t>(dims_.operands(d)[0]) >= s_.symbols.size())
        return false;
    return true;
  }

  // ---- lines

  schedule read_schedule() {
    dims_ = {};
    s_ = {};
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
    list(list_limit, [&] { s_.critical.items.push_back(small()); });
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
    s_.fused = fused_.share();
    try {
      verify_schedule(s_);
    } catch (const error& e) {
      in_.fail_at(start, e.what());
    }
    return std::move(s_);
  }

  // symbol 0: batch in 1..4096 = 32
  void read_symbol() {
    const std::int64_t number = size(static_cast<std::int64_t>(ir::detail::expression_limit) - 1);
    if (number != static_cast<std::int64_t>(s_.symbols.size()))
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
    s_.symbols.push_back(size());
    if (!own.empty() || !(range == ir::extent_range{})) dims_.describe(number, {own, range});
    dims_.symbol(number);
    end_line();
  }

  // buffer 2: arena 0 f32[s0, 10] at 64, 128 bytes, alive 0..2 group 0; strides ...
  void read_buffer() {
    bounded(s_.plan.buffers, list_limit);
    const int number = small();
    if (number != static_cast<int>(s_.plan.buffers.size())) in_.fail("buffers come in their order");
    in_.expect(":");
    buffer b;
    b.place = word<place>("place");
    b.number = small();
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
      a.first = small();
      in_.expect("..");
      a.last = small();
      words("group");
      a.group = small();
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
      const int output = small();
      in_.expect("->");
      words("argument");
      assigned.emplace_back(output, small());
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
    if (small() != static_cast<int>(s_.items.size())) in_.fail("items come in their order");
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
      h.buffer = small();
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
      d.item = small();
      in_.expect(":");
      d.kind = word<dependency_kind>("dependency");
      words("in buffer");
      d.buffer = small();
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

  nest read_nest(int depth) {
    if (depth > 1) in_.fail("parts have no parts");
    nest n;
    n.kind = word<nest_kind>("kind of nest");
    words("over");
    n.space = shape();
    if (in_.accept_word("order"))
      list(static_cast<std::size_t>(max_rank), [&] { n.axis_order.push_back(small()); });
    if (in_.accept_word("inner")) n.inner_axes = static_cast<int>(size(max_rank));
    if (in_.accept_word("reduces")) {
      n.column_first = static_cast<int>(size(max_rank));
      in_.expect("..");
      n.column_last = static_cast<int>(size(max_rank));
    }
    n.transpose_a = in_.accept_word("transpose_a");
    n.transpose_b = in_.accept_word("transpose_b");
    n.packed_b = in_.accept_word("packed_b");
    n.transpose_values = in_.accept_word("transpose_values");
    n.product_in_scratch = in_.accept_word("product_in_scratch");
    if (in_.accept_word("scale")) n.score_scale = real();
    if (in_.accept_word("hides")) {
      n.hidden.any = true;
      n.hidden.value = real();
      words("behind");
      n.hidden.offset = extent();
    }
    if (in_.accept_word("axis")) n.axis = static_cast<int>(size(max_rank));
    if (in_.accept_word("fill")) n.fill = real();
    end_line();
    while (in_.accept_word("access")) {
      bounded(n.accesses, list_limit);
      if (small() != static_cast<int>(n.accesses.size())) in_.fail("accesses come in their order");
      in_.expect(":");
      n.accesses.push_back(read_access());
    }
    while (in_.accept_word("piece")) {
      bounded(n.pieces, list_limit);
      piece p;
      words("at");
      p.offset = shape();
      in_.expect(":");
      p.source = read_access();
      n.pieces.push_back(std::move(p));
    }
    while (in_.accept_word("operand")) {
      auto& parts = n.prologues[static_cast<std::size_t>(size(1))];
      bounded(parts, list_limit);
      operand_part part;
      words("from");
      part.offset = extent();
      words("over");
      part.space = shape();
      end_line();
      part.body = read_body();
      words("done");
      end_line();
      parts.push_back(std::move(part));
    }
    n.body = read_body();
    while (in_.accept_word("store")) {
      bounded(n.stores, list_limit);
      store st;
      if (in_.accept("%")) st.step = small();
      words("to buffer");
      st.buffer = small();
      n.stores.push_back(st);
      end_line();
    }
    while (in_.accept_word("part")) {
      bounded(n.parts, list_limit);
      in_.expect(":");
      n.parts.push_back(read_nest(depth + 1));
      words("takes");
      n.parts.back().predicted_nanoseconds = real();
      words("ns");
      end_line();
    }
    return n;
  }

  access read_access() {
    access a;
    words("buffer");
    a.buffer = small();
    words("as");
    a.shape = shape();
    while (in_.accept("|")) {
      bounded(a.steps, 64);
      view_step v;
      v.code = op();
      v.operand = shape();
      words("to");
      v.result = shape();
      if (in_.accept_word("by"))
        list(static_cast<std::size_t>(max_rank), [&] { v.attributes.push_back(size()); });
      if (in_.accept_word("with"))
        list(2 * static_cast<std::size_t>(max_rank), [&] { v.dims.push_back(extent()); });
      a.steps.push_back(v);
    }
    end_line();
    return a;
  }

  std::vector<step> read_body() {
    std::vector<step> body;
    while (in_.accept("%")) {
      bounded(body, list_limit);
      if (small() != static_cast<int>(body.size())) in_.fail("steps come in their order");
      in_.expect("=");
      body.push_back(read_step());
    }
    return body;
  }

  step read_step() {
    step s;
    s.kind = word<step_kind>("step");
    bool is_constant = false;
    std::size_t constant_place = 0;
    switch (s.kind) {
      case step_kind::load:
      case step_kind::scalar:
        words("access");
        s.access = small();
        break;
      case step_kind::product:
        if (in_.accept_word("access")) s.access = small();
        s.attribute = in_.accept_word("transposed") ? 1 : 0;
        break;
      case step_kind::constant:
        // The dtype behind it says how it is read.
        is_constant = true;
        constant_place = in_.place();
        in_.skip_to(':');
        break;
      case step_kind::extent: s.extent = extent(); break;
      case step_kind::iota:
        words("axis");
        s.attribute = size(max_rank);
        break;
      case step_kind::random:
        words("stream");
        s.attribute = any_integer();
        break;
      case step_kind::map:
      case step_kind::reduce:
        if (s.kind == step_kind::map && in_.accept("{"))
          s.fused = fused_.find(read_region());
        else
          s.code = op();
        break;
      case step_kind::spread: break;
    }
    if (in_.accept_word("of")) list(ir::region::max_leaves, [&] { s.operands.push_back(small()); });
    in_.expect(":");
    s.type = type();
    if (in_.accept_word("row")) s.level = level::row;
    const std::size_t behind = in_.place();
    if (is_constant) {
      in_.go_to(constant_place);
      s.constant = is_wide_integer(s.type) ? any_integer() : ir::bits_of(real());
      in_.expect(":");
      in_.go_to(behind);
    }
    end_line();
    return s;
  }

  // f32 leaves 2 scalars 2: sub[0, 1, 0], exp[2, 0, 0]}
  ir::region read_region() {
    ir::region r;
    r.type = type();
    words("leaves");
    r.leaf_count = static_cast<std::uint8_t>(size(ir::region::max_leaves));
    words("scalars");
    r.scalar_leaves = static_cast<std::uint32_t>(size((std::int64_t{1} << r.leaf_count) - 1));
    in_.expect(":");
    do {
      if (r.node_count == ir::region::max_nodes) in_.fail("the region is too large");
      const ir::op code = op();
      std::array<int, 3> operands{};
      std::size_t count = 0;
      list(3, [&] {
        operands[count++] = static_cast<int>(size(std::max(0, r.leaf_count + r.node_count - 1)));
      });
      r.add_node(code, operands[0], operands[1], operands[2]);
    } while (in_.accept(","));
    in_.expect("}");
    return r;
  }

  iteration read_iteration() {
    iteration it;
    it.work = word<work_kind>("work");
    it.part = small();
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
      list(static_cast<std::size_t>(max_rank) + 2, [&] { l.axes.push_back(small()); });
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

  // reduction 0 of %3: reduce_sum, blocks of 1024 halves, 64 accumulators, 1 partials
  reduction_plan read_reduction() {
    reduction_plan r;
    r.iteration = small();
    if (in_.accept_word("of")) {
      in_.expect("%");
      r.step = small();
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

  ir::dim_table dims_;
  ir::detail::text_reader in_;
  schedule s_;
  fused_store fused_;
};

}  // namespace detail

/// The schedules in a text, one after the other, as to_text wrote them: each equal to the one that
/// was written. Throws graph_error with line and column (of the schedule's first line for what the
/// verifier finds). Text from anywhere is safe: nothing else happens.
inline std::vector<schedule> parse_schedules(std::string_view text) {
  return detail::schedule_parser(text).run();
}

/// The same for a text of one schedule.
inline schedule parse_schedule(std::string_view text) {
  std::vector<schedule> all = parse_schedules(text);
  if (all.size() != 1)
    throw graph_error("parse_schedule: " + std::to_string(all.size()) +
                      " schedules in the text, expected one");
  return std::move(all.front());
}

}  // namespace sinter::planning
