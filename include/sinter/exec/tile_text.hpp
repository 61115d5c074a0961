// SPDX-License-Identifier: MIT
// Bound tile programs as text and back: ranges, streams, constants, accumulators, the layout of
// scratch memory and every command with the arithmetic it runs. Kernels are named by what they
// compute (an op or a region, and a dtype); the reader finds them in a kernel table and among
// instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/text_form.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The kernels that a text may name: none, unless they are given. All must outlive what is read
/// with them.
struct known_kernels {
  const kernel_table* table = &no_kernels;
  std::span<const ir::instruction> instructions;
  std::span<const ir::custom_op* const> customs = {};

  /// The instruction of a region, or nullptr.
  const ir::instruction* find(const ir::region& r) const {
    const auto found = std::ranges::find(instructions, r, &ir::instruction::structure);
    return found == instructions.end() ? nullptr : &*found;
  }
  /// The custom op of a name, or nullptr.
  const ir::custom_op* find_custom(std::string_view name) const {
    const auto found = std::ranges::find(customs, name, &ir::custom_op::name);
    return found == customs.end() ? nullptr : *found;
  }
};

namespace detail {

// fused f32 (x0 slot1, s1 constant0) %2 = mul(%0, %1); %3 = add(%2, %0): leaves, of which s are one
// value for a whole row, and then the nodes, the last of which is the result.
inline void write_fused(form_writer& t, const tile_program& p, const command& c) {
  const ir::region& r = c.fused->structure;
  t.mark("fused ");
  t.type(r.type);
  t.mark(" (");
  const std::span<const location> operands = p.operands_of(c);
  for (int k = 0; k < r.leaf_count; ++k) {
    t.mark(k == 0 ? "" : ", ");
    t.mark(r.is_scalar(k) ? "s" : "x");
    t.number(k);
    t.mark(" ");
    t.place(operands[static_cast<std::size_t>(k)], r.type);
  }
  t.mark(")");
  for (int i = 0; i < r.node_count; ++i) {
    t.mark(i == 0 ? " %" : "; %");
    t.number(r.leaf_count + i);
    t.mark(" = ");
    t.mark(ir::name(r.code(i)));
    for (int k = 0; k < ir::info(r.code(i)).arity; ++k) {
      t.mark(k == 0 ? "(%" : ", %");
      t.number(r.operand(i, k));
    }
    t.mark(")");
  }
}

inline void add_operand(form_reader& t, tile_program& p, command& c, dtype type) {
  location l;
  t.place(l, type);
  p.operands.push_back(l);
  ++c.operand_count;
}

inline void read_fused(form_reader& t, tile_program& p, command& c, const known_kernels& kernels) {
  const std::size_t start = t.where();
  ir::region r;
  t.type(r.type);
  t.mark("(");
  do {
    if (r.leaf_count == ir::region::max_leaves) t.fail("too many operands");
    const bool scalar = t.choose("s");
    if (!scalar) t.mark("x");
    int number = 0;
    t.number(number);
    if (number != r.leaf_count) t.fail("expected operand " + std::to_string(r.leaf_count));
    r.add_leaf(scalar);
    add_operand(t, p, c, r.type);
  } while (t.choose(","));
  t.mark(")");
  do {
    if (r.node_count == ir::region::max_nodes) t.fail("too many ops");
    int number = 0;
    t.mark("%");
    t.number(number);
    if (number != r.leaf_count + r.node_count)
      t.fail("expected %" + std::to_string(r.leaf_count + r.node_count));
    t.mark("=");
    const ir::op code = t.op();
    if (!ir::is_elementwise(code) || code == ir::op::custom_map)
      t.fail(std::string(ir::name(code)) + " is not element-wise");
    std::array<int, 3> in{};
    for (int k = 0; k < ir::info(code).arity; ++k) {
      t.mark(k == 0 ? "(" : ",");
      t.mark("%");
      t.number(in[static_cast<std::size_t>(k)]);
      if (in[static_cast<std::size_t>(k)] < 0 || in[static_cast<std::size_t>(k)] >= number)
        t.fail("expected one of the values before %" + std::to_string(number));
    }
    t.mark(")");
    r.add_node(code, in[0], in[1], in[2]);
  } while (t.choose(";"));
  c.fused = kernels.find(r);
  if (c.fused == nullptr) t.fail_at(start, "there is no kernel of this region");
  c.function = c.fused->run;
  c.run_rows = c.fused->run_rows;
}

// The name of a user's op, and whose it is.
inline void custom_name(form_writer& t, const ir::custom_op* custom, const known_kernels&) {
  t.mark(custom->name);
}
inline void custom_name(form_reader& t, const ir::custom_op*& custom,
                        const known_kernels& kernels) {
  const std::size_t start = t.where();
  const std::string_view name = t.word();
  custom = kernels.find_custom(name);
  if (custom == nullptr)
    t.fail_at(start, "there is no custom op '" + std::string(name) +
                         "' (custom ops must be given to the parser)");
}

// mul f32 (slot1, constant0): an op on operands of a dtype; custom softsign f32 (slot1): a user's.
inline void write_op(form_writer& t, const tile_program& p, const command& c) {
  if (t.choose("custom ", c.custom != nullptr))
    custom_name(t, c.custom, {});
  else
    t.mark(ir::name(c.code));
  t.mark(" ");
  t.type(c.operand_type);
  t.mark(" (");
  for (int k = 0; k < c.operand_count; ++k) {
    t.mark(k == 0 ? "" : ", ");
    t.place(p.operands_of(c)[static_cast<std::size_t>(k)], operand_type(p, c, k));
  }
  t.mark(")");
}

inline void read_op(form_reader& t, tile_program& p, command& c, const known_kernels& kernels) {
  const std::size_t start = t.where();
  if (t.choose("custom")) {
    custom_name(t, c.custom, kernels);
    if (!c.custom->elementwise)
      t.fail_at(start, std::string(c.custom->name) + " is not element-wise");
    c.code = ir::op::custom_map;
  } else {
    c.code = t.op();
  }
  t.type(c.operand_type);
  t.mark("(");
  for (int k = 0; k < map_arity(c); ++k) {
    if (k != 0) t.mark(",");
    add_operand(t, p, c, operand_type(p, c, k));
  }
  t.mark(")");
  c.function = map_kernel(*kernels.table, c);
  c.run_rows = map_rows_kernel(*kernels.table, c);
  if (c.function == nullptr)
    t.fail_at(start, "there is no kernel of " + std::string(map_name(c)) + " on " +
                         std::string(sinter::name(c.operand_type)) + " that yields " +
                         std::string(sinter::name(c.type)));
}

template <class Text, class Command>
void fetched_text(Text& t, Command& c) {
  if (!t.choose(", fetched ", c.mode.fetches())) return;
  t.number(c.mode.distance);
  t.mark(" lines ahead: ");
  t.number(c.mode.fetched);
}

template <class Text, class Program, class Command>
void map_text(Text& t, Program& p, Command& c, const known_kernels& kernels) {
  if constexpr (Text::reads) {
    if (t.choose("fused"))
      read_fused(t, p, c, kernels);
    else
      read_op(t, p, c, kernels);
  } else if (c.fused != nullptr) {
    write_fused(t, p, c);
  } else {
    write_op(t, p, c);
  }
  if (c.kind != command_kind::map) {
    t.mark(" into accumulator ");
    t.number(c.reduction);
    if constexpr (Text::reads) {
      bool known = c.reduction >= 0 && c.reduction < static_cast<int>(p.reductions.size());
      if (known) {
        const monoid m = p.reductions[static_cast<std::size_t>(c.reduction)].monoid;
        const bool down = c.kind == command_kind::map_reduce_columns;
        if (!down) c.reducing = row_kernel(c, m);
        known = down ? columns_kernel(c, m) != nullptr : c.reducing != nullptr;
      }
      if (!known) t.fail("there is no kernel of this map and this accumulator");
    }
  }
  if constexpr (Text::reads) set_broadcast_operands(p, c);
  t.flag(", past the caches", c.mode.streaming);
  if constexpr (Text::reads) p.streaming = p.streaming || c.mode.streaming;
  fetched_text(t, c);
  t.flag(", by rows", c.by_row);
  t.flag(", padded", c.padded);
}

// The only operand of a command.
template <class Text, class Program, class Command>
void operand_text(Text& t, Program& p, Command& c, dtype type) {
  if constexpr (Text::reads)
    add_operand(t, p, c, type);
  else
    t.place(p.operands_of(c).front(), type);
}

// The streams and accumulators that a command names come before it, so that a number that is none
// is found here.
template <class Text, class Number>
void number_text(Text& t, std::string_view what, int count, Number& value) {
  t.mark(what);
  t.number(value);
  if constexpr (Text::reads)
    if (value < 0 || value >= count)
      t.fail("there is no " + std::string(what) + std::to_string(value));
}

template <class Text, class Program, class Command>
void command_text(Text& t, Program& p, Command& c, const known_kernels& kernels) {
  const auto streams = static_cast<int>(p.streams.size());
  const auto accumulators = static_cast<int>(p.reductions.size());
  t.begin();
  t.name(c.kind);
  t.mark(" ");
  if constexpr (Text::reads) c.first_operand = static_cast<int>(p.operands.size());
  switch (c.kind) {
    case command_kind::reduce:
    case command_kind::reduce_columns:
    case command_kind::reduce_pair:
      number_text(t, "accumulator ", accumulators, c.reduction);
      t.mark(" with ");
      if constexpr (Text::reads)
        c.type = result_type(p.reductions[static_cast<std::size_t>(c.reduction)]);
      operand_text(t, p, c, operand_type(p, c, 0));
      fetched_text(t, c);
      t.flag(", by rows", c.by_row);
      t.end();
      return;
    case command_kind::store:
      t.type(c.type);
      t.mark(" ");
      number_text(t, "stream ", streams, c.stream);
      t.mark(" with ");
      operand_text(t, p, c, c.type);
      t.end();
      return;
    default: break;
  }
  t.type(c.type);
  t.mark(" ");
  t.place(c.target, c.type);
  t.mark(" = ");
  switch (c.kind) {
    case command_kind::load:
    case command_kind::iota: number_text(t, "stream ", streams, c.stream); break;
    case command_kind::random:
      number_text(t, "stream ", streams, c.stream);
      t.mark(", key ");
      operand_text(t, p, c, dtype::i64);
      t.mark(", id ");
      t.number(c.attribute);
      break;
    case command_kind::expand: operand_text(t, p, c, c.type); break;
    default: map_text(t, p, c, kernels); break;
  }
  t.end();
}

template <class Text, class Stream>
void stream_text(Text& t, Stream& s) {
  if (!t.choose("positions ", s.buffer < 0)) {
    t.mark("buffer ");
    t.number(s.buffer);
    t.mark(" ");
  }
  t.type(s.type);
  if constexpr (Text::reads) s.element_size = size_of(s.type);
  t.mark(" + ");
  t.number(s.offset);
  t.mark(", outer ");
  t.shape(s.outer);
  t.mark(", inner ");
  t.shape(s.inner);
  t.mark(", step ");
  t.number(s.step);
  t.flag(", linear", s.linear);
  t.flag(", dense", s.dense);
  t.flag(", invariant", s.invariant);
  t.end();
}

// The order in which elements combine: chunks one after the other; within a chunk, registers of
// `lanes` elements pairwise, as reduce.hpp has it.
template <class Text, class Reduction>
void reduction_text(Text& t, Reduction& r, const known_kernels& kernels) {
  t.name(r.monoid);
  t.mark(" of ");
  t.type(r.type);
  t.mark(" in phase ");
  t.number(r.phase);
  t.mark(", lanes ");
  int lanes = 0;
  if constexpr (Text::reads) {
    const reduction_kernels& own = kernels.table->reduction(r.monoid, r.type);
    if (own.row == nullptr) t.fail("there is no kernel of this accumulator");
    r.kernels = &own;
    t.number(lanes);
    if (lanes != own.lanes)
      t.fail("this program combines " + std::to_string(own.lanes) + " lanes side by side");
  } else {
    t.number(r.kernels->lanes);
  }
  t.mark(", at ");
  t.number(r.offset);
  t.mark(", result ");
  t.place(r.result, result_type(r));
  if (r.monoid == monoid::deviations) {
    t.mark(", sum ");
    t.place(r.sum, r.type);
  }
  t.flag(", in place", r.in_place);
  t.end();
}

template <class Text, class Program, class Range>
void list_text(Text& t, Program& p, Range& list, const known_kernels& kernels) {
  if constexpr (Text::reads) list.first = static_cast<int>(p.commands.size());
  t.repeat(static_cast<std::size_t>(list.size()), [&](std::size_t i) {
    if (i == 0) t.end(), t.deeper();
    if constexpr (Text::reads) {
      p.commands.emplace_back();
      command c;
      command_text(t, p, c, kernels);
      p.commands.back() = c;
    } else {
      command_text(t, p, p.commands[static_cast<std::size_t>(list.first) + i], kernels);
    }
  });
  if constexpr (Text::reads) {
    list.last = static_cast<int>(p.commands.size());
    if (list.size() == 0) t.end();
  } else {
    if (list.size() == 0)
      t.end();
    else
      t.back();
  }
}

// In the order in which the commands lie: the prologue, which runs first, is the last.
template <class Text, class Program>
void lists_text(Text& t, Program& p, const known_kernels& kernels) {
  auto phases = p.phase_lists.size();
  t.begin();
  t.mark("phases ");
  t.number(phases);
  t.end();
  if constexpr (Text::reads) {
    if (phases > static_cast<std::size_t>(Text::most_items)) t.fail("too many phases");
  }
  const auto list = [&](std::string_view what, std::size_t number, auto& lists) {
    auto own = number;
    t.begin();
    t.mark(what);
    t.number(own);
    t.mark(": ");
    if constexpr (Text::reads) {
      if (own != number) t.fail("expected number " + std::to_string(number));
      lists.emplace_back();
    }
    list_text(t, p, lists[number], kernels);
  };
  for (std::size_t i = 0; i < phases; ++i) {
    list("rows before ", i, p.row_lists);
    list("phase ", i, p.phase_lists);
  }
  list("rows before ", phases, p.row_lists);
  t.begin();
  t.mark("prologue: ");
  list_text(t, p, p.prologue, kernels);
}

template <class Text, class Program>
void layout_text(Text& t, Program& p) {
  const auto field = [&](std::string_view what, auto& value) {
    t.mark(what);
    t.number(value);
  };
  t.begin();
  field("scratch ", p.scratch_bytes);
  field(": rows at ", p.rows_offset);
  field(" of ", p.row_slot_bytes);
  field(", accumulators at ", p.accumulators_offset);
  field(" of ", p.accumulators_bytes);
  field(", singles at ", p.singles_offset);
  field(", slots at ", p.slots_offset);
  field(" of ", p.slot_bytes);
  if (!p.sums.empty()) field(", sums at ", p.sums_offset);
  t.end();
  t.each("kept", p.kept_offsets, [&](auto& offset) {
    field("at ", offset);
    t.end();
  });
}

/// The text form of a program, read or written.
template <class Text, class Program>
void tile_text(Text& t, Program& p, const known_kernels& kernels) {
  const auto field = [&](std::string_view what, auto& value) {
    t.mark(what);
    t.number(value);
  };
  t.begin();
  field("rows ", p.axes.rows);
  t.mark(" of ");
  t.shape(p.axes.outer);
  field(", columns ", p.axes.columns);
  t.mark(" of ");
  t.shape(p.axes.inner);
  t.end();
  t.begin();
  field("tile ", p.tile_rows);
  field(" x ", p.chunk);
  field(", capacity ", p.row_capacity);
  t.flag(", aligned", p.aligned_rows);
  t.flag(", split", p.split);
  t.end();
  t.each("stream", p.streams, [&](auto& s) { stream_text(t, s); });
  if constexpr (Text::reads) {
    for (const stream& s : p.streams)
      if (s.outer.size() != p.axes.outer.size())
        t.fail("a stream has another number of outer strides than there are axes");
    p.lay_row_steps();
  }
  t.each("constant", p.constants, [&](auto& c) {
    t.constant(c);
    t.end();
  });
  t.each("accumulator", p.reductions, [&](auto& r) { reduction_text(t, r, kernels); });
  t.each("sum", p.sums, [&](auto& s) {
    field("of accumulator ", s.reduction);
    field(" to buffer ", s.buffer);
    field(" + ", s.offset);
    t.end();
  });
  layout_text(t, p);
  lists_text(t, p, kernels);
}

}  // namespace detail

/// The program as text, complete: parse_tile gives it back.
inline std::string to_text(const tile_program& p) {
  form_writer t;
  detail::tile_text(t, p, {});
  return t.text;
}

/// Reads what to_text wrote, finding kernels by name. Throws graph_error with line and column.
/// What it gives has to be verified (verify_tile.hpp) before it runs.
inline tile_program parse_tile(std::string_view text, const known_kernels& kernels) {
  form_reader t(text, "parse_tile");
  tile_program out;
  detail::tile_text(t, out, kernels);
  if (!t.at_end()) t.fail("expected the end of the program");
  return out;
}

}  // namespace sinter::inline SINTER_ABI::exec
