// SPDX-License-Identifier: MIT
// Lowered plans as text and back: buffers, and of every nest what its runner has bound, tile
// programs included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <sinter/exec/lowered.hpp>
#include <sinter/exec/text_form.hpp>
#include <sinter/exec/tile_text.hpp>

namespace sinter::inline SINTER_ABI::exec {

template <>
struct enum_names<planning::place> {
  static constexpr std::array<std::string_view, 4> list{"argument", "output", "arena", "prepared"};
};

namespace detail {

// The names of the alternatives of lowered_nest, in their order.
inline constexpr std::array<std::string_view, std::variant_size_v<lowered_nest>> nest_names{
    "tiles", "columns", "products",    "streamed", "assemble", "alias",
    "pack",  "gather",  "scatter_add", "scan",     "custom"};

// What the text of a nest is written with: words before fields, lines, programs.
template <class Text>
class nest_text {
 public:
  nest_text(Text& t, const known_kernels& kernels) : t_(t), kernels_(kernels) {}

  template <class Buffer>
  void buffer(Buffer& b) {
    t_.name(b.place);
    t_.mark(" ");
    if (b.place == planning::place::arena)
      number("at ", b.offset), number(" of ", b.bytes);
    else
      t_.number(b.number);
    t_.mark(", ");
    t_.type(b.type);
    t_.mark(" ");
    t_.shape(b.shape);
    shape(" strides ", b.strides);
    t_.end();
  }

  template <class Tiles>
  void tiles(Tiles& n) {
    t_.begin();
    number("tasks of ", n.rows_per_task);
    number(" x ", n.columns_per_task);
    t_.end();
    tile_text(t_, n.program, kernels_);
  }

  template <class Nest>
  void columns(Nest& n) {
    t_.begin();
    number("batches ", n.batch);
    number(", reduced ", n.reduced);
    number(", columns ", n.columns);
    t_.end();
    t_.begin();
    number("groups of ", n.rows_per_group);
    number(" rows, tasks of ", n.batches_per_task);
    number(" x ", n.columns_per_task);
    t_.flag(", pair", n.pair);
    t_.flag(", guarded", n.guarded);
    t_.end();
    program("map", n.map);
    program("rest", n.rest);
  }

  template <class Nest>
  void products(Nest& n) {
    t_.begin();
    t_.type(n.type);
    shape(" batches ", n.batch);
    number(", m ", n.m);
    number(", k ", n.k);
    number(", blocks of rows ", n.rows);
    t_.flag(", packs left", n.packs_left);
    t_.flag(", winograd", n.winograd);
    if (n.winograd) {
      number(" images ", n.images);
      number(" filters ", n.filters);
      number(" depth ", n.depth);
    }
    t_.end();
    copies(n);
    t_.begin();
    t_.mark("left ");
    matrix(n.left);
    t_.end();
    t_.each("part", n.parts, [&](auto& part) {
      number("n ", part.n);
      number(", blocks of columns ", part.columns);
      if (t_.choose(", in buffer ", part.destination >= 0)) {
        t_.number(part.destination);
        number(" + ", part.destination_offset);
      }
      t_.flag(", runs rest", part.runs_rest);
      t_.end();
      t_.deeper();
      t_.each("right", part.right, [&](auto& m) {
        matrix(m);
        t_.end();
      });
      if (part.runs_rest) program("rest", part.rest);
      t_.back();
    });
  }

  template <class Nest>
  void streamed(Nest& n) {
    t_.begin();
    t_.type(n.type);
    shape(" batches ", n.batch);
    number(", rows ", n.rows);
    number(", columns ", n.columns);
    number(", depth ", n.depth);
    number(", width ", n.width);
    t_.end();
    t_.begin();
    number("blocks of ", n.block_rows);
    number(" x ", n.block_columns);
    t_.mark(", scale ");
    t_.real(n.scale);
    t_.flag(", packs once", n.packs_once);
    t_.flag(", runs rest", n.runs_rest);
    t_.flag(", hides", n.hides);
    if (n.hides) {
      number(" right of row + ", n.hidden_offset);
      t_.mark(" what is ");
      t_.real(n.hidden_value);
    }
    t_.end();
    copies(n);
    operand("left ", n.left);
    operand("right ", n.right);
    t_.begin();
    t_.mark("values ");
    matrix(n.values);
    t_.end();
    if (n.runs_rest) program("rest", n.rest);
    target(n.target, n.target_offset);
    t_.end();
  }

  template <class Nest>
  void assembly(Nest& n) {
    target(n.target, n.offset);
    t_.mark(", ");
    t_.type(n.type);
    number(", elements ", n.count);
    t_.flag(", filled with", n.fills);
    if (n.fills) {
      t_.mark(" ");
      t_.constant(n.value);
    }
    t_.end();
    t_.each("piece", n.pieces, [&](auto& piece) { nested_tiles(piece); });
  }

  template <class Nest>
  void alias(Nest& n) {
    t_.begin();
    number("buffer ", n.target);
    t_.mark(" is ");
    view(n.source);
    t_.end();
    t_.each("copy", n.copy, [&](auto& copy) { nested_tiles(copy); });
  }

  template <class Nest>
  void pack(Nest& n) {
    t_.begin();
    t_.type(n.type);
    number(" k ", n.k);
    number(", n ", n.n);
    number(", to buffer ", n.target);
    t_.end();
    copies(n);
    t_.begin();
    t_.mark("matrix ");
    matrix(n.matrix);
    t_.end();
  }

  template <class Nest>
  void gather(Nest& n) {
    source_of_lines(n);
    number(", axis ", n.axis_stride);
    axes("behind ", n.behind, n.behind_strides);
    t_.end();
    indices(n.indices);
    target(n.target, n.target_offset);
    t_.end();
  }

  template <class Nest>
  void scatter(Nest& n) {
    source_of_lines(n);
    axes("indexed ", n.indexed, n.indexed_strides);
    axes("behind ", n.behind, n.behind_strides);
    number(", tasks of columns ", n.columns_per_task);
    t_.end();
    indices(n.indices);
    target(n.target, n.target_offset);
    t_.end();
  }

  template <class Nest>
  void scan(Nest& n) {
    source_of_lines(n);
    number(", axis of ", n.count);
    number(" by ", n.axis_stride);
    axes("behind ", n.behind, n.behind_strides);
    number(", tasks of columns ", n.columns_per_task);
    t_.flag(", exclusive", n.exclusive);
    t_.flag(", reverse", n.reverse);
    number(", blocks of ", n.block);
    number(", at once ", n.lanes);
    t_.end();
    target(n.target, n.target_offset);
    t_.end();
  }

  template <class Nest>
  void custom(Nest& n) {
    t_.begin();
    custom_name(t_, n.op, kernels_);
    if (!t_.choose(", whole", n.rows_per_task == 0)) number(", tasks of rows ", n.rows_per_task);
    const bool in_double = t_.choose(", in double", n.kernel == nullptr);
    t_.end();
    for (std::size_t i = 0; i < n.op->attributes.size(); ++i) {
      if constexpr (Text::reads) n.attributes.push_back(0);
      t_.begin();
      t_.mark(n.op->attributes[i]);
      t_.mark(" = ");
      t_.real(n.attributes[i]);
      t_.end();
    }
    t_.each("operand", n.operands, [&](auto& operand) { array(operand); });
    t_.begin();
    t_.mark("result ");
    array(n.result);
    if constexpr (Text::reads) {
      if (in_double) return;
      if (n.operands.empty() || n.op->kernel == nullptr)
        t_.fail("there is no kernel of " + std::string(n.op->name));
      n.kernel = n.op->kernel(n.operands.front().type);
      if (n.kernel == nullptr)
        t_.fail("there is no kernel of " + std::string(n.op->name) + " on " +
                std::string(name(n.operands.front().type)));
    }
  }

 private:
  // Of a nest along one axis, up to the axes before it.
  template <class Nest>
  void source_of_lines(Nest& n) {
    t_.begin();
    t_.type(n.type);
    number(" from buffer ", n.source);
    number(" + ", n.offset);
    axes("before ", n.before, n.before_strides);
  }
  template <class Array>
  void array(Array& a) {
    t_.type(a.type);
    t_.mark(" ");
    t_.shape(a.shape);
    t_.mark(" of ");
    view(a.view);
    t_.flag(", copied", a.copied);
    if (a.copied) number(" to ", a.copy_offset);
    t_.end();
  }
  template <class Number>
  void number(std::string_view what, Number& value) {
    t_.mark(what);
    t_.number(value);
  }
  template <class Shape>
  void shape(std::string_view what, Shape& value) {
    t_.mark(what);
    t_.shape(value);
  }
  template <class Shape>
  void axes(std::string_view what, Shape& extents, Shape& strides) {
    t_.mark(", ");
    shape(what, extents);
    shape(" strides ", strides);
  }
  template <class View>
  void view(View& v) {
    number("buffer ", v.buffer);
    number(" + ", v.offset);
    t_.mark(" ");
    t_.shape(v.shape);
    shape(" strides ", v.strides);
  }
  template <class Number, class Offset>
  void target(Number& buffer, Offset& offset) {
    t_.begin();
    number("to buffer ", buffer);
    number(" + ", offset);
  }
  template <class Program>
  void program(std::string_view what, Program& p) {
    t_.begin();
    t_.mark(what);
    t_.mark(":");
    t_.end();
    t_.deeper();
    tile_text(t_, p, kernels_);
    t_.back();
  }
  template <class Tiles>
  void nested_tiles(Tiles& n) {
    t_.end();
    t_.deeper();
    tiles(n);
    t_.back();
  }
  template <class Matrix>
  void matrix(Matrix& m) {
    number("buffer ", m.buffer);
    t_.flag(" packed", m.packed);
    if (m.packed) return;
    number(" + ", m.offset);
    t_.flag(", gathered", m.gathered);
    if (m.gathered) {
      axes("rows ", m.rows.extents, m.rows.strides);
      axes("columns ", m.columns.extents, m.columns.strides);
    } else {
      number(", strides ", m.row_stride);
      number(" ", m.column_stride);
    }
    shape(", batches ", m.batch_strides);
  }
  template <class Nest>
  void copies(Nest& n) {
    t_.each("copy", n.copies, [&](auto& copy) {
      number("to buffer ", copy.buffer);
      t_.mark(" ");
      t_.type(copy.type);
      t_.mark(" ");
      t_.shape(copy.shape);
      number(" at ", copy.offset);
      nested_tiles(copy.tiles);
    });
  }
  template <class Operand>
  void operand(std::string_view what, Operand& n) {
    t_.begin();
    t_.mark(what);
    if (!t_.choose("computed ", n.is_computed())) {
      matrix(n.stored);
      t_.end();
      return;
    }
    number("", n.rows);
    number(" x ", n.columns);
    t_.flag(", transposed", n.transposed);
    number(", folded ", n.folded);
    shape(", shared ", n.shared);
    t_.end();
    t_.deeper();
    t_.each("part", n.parts, [&](auto& part) {
      number("from column ", part.column);
      t_.end();
      t_.deeper();
      tile_text(t_, part.program, kernels_);
      t_.back();
    });
    t_.back();
  }
  template <class Indices>
  void indices(Indices& n) {
    t_.begin();
    t_.mark("indices ");
    t_.type(n.type);
    t_.mark(" ");
    view(n.view);
    number(" below ", n.extent);
    t_.flag(", checked first", n.checked_first);
    t_.end();
  }

  Text& t_;
  const known_kernels& kernels_;
};

template <class Text, class Nest>
void alternative_text(nest_text<Text>& t, Nest& n) {
  using kind = std::remove_const_t<Nest>;
  if constexpr (std::is_same_v<kind, lowered_tiles>)
    t.tiles(n);
  else if constexpr (std::is_same_v<kind, lowered_columns>)
    t.columns(n);
  else if constexpr (std::is_same_v<kind, lowered_products>)
    t.products(n);
  else if constexpr (std::is_same_v<kind, lowered_streamed>)
    t.streamed(n);
  else if constexpr (std::is_same_v<kind, lowered_assembly>)
    t.assembly(n);
  else if constexpr (std::is_same_v<kind, lowered_alias>)
    t.alias(n);
  else if constexpr (std::is_same_v<kind, lowered_pack>)
    t.pack(n);
  else if constexpr (std::is_same_v<kind, lowered_gather>)
    t.gather(n);
  else if constexpr (std::is_same_v<kind, lowered_scatter>)
    t.scatter(n);
  else if constexpr (std::is_same_v<kind, lowered_scan>)
    t.scan(n);
  else
    t.custom(n);
}

// The alternative with this name.
template <std::size_t I = 0>
bool choose_nest(form_reader& t, lowered_nest& n) {
  if constexpr (I == nest_names.size()) {
    return false;
  } else {
    if (t.choose(nest_names[I])) {
      n.emplace<I>();
      return true;
    }
    return choose_nest<I + 1>(t, n);
  }
}

template <class Text, class Plan>
void plan_text(Text& t, Plan& p, const known_kernels& kernels) {
  nest_text<Text> nests(t, kernels);
  t.begin();
  t.mark("arena ");
  t.number(p.arena_bytes);
  t.end();
  t.each("buffer", p.buffers, [&](auto& b) { nests.buffer(b); });
  t.each("nest", p.nests, [&](auto& n) {
    if constexpr (Text::reads) {
      if (!choose_nest(t, n)) t.fail("expected a kind of nest");
    } else {
      t.mark(nest_names[n.index()]);
    }
    t.end();
    t.deeper();
    std::visit([&](auto& own) { alternative_text(nests, own); }, n);
    t.back();
  });
}

}  // namespace detail

/// The plan as text, complete: parse_lowered gives it back.
inline std::string to_text(const lowered_plan& p) {
  form_writer t;
  detail::plan_text(t, p, {});
  return t.text;
}

/// Reads what to_text wrote, finding kernels by name. Throws graph_error with line and column. What
/// it gives has to be verified (verify_lowered.hpp) before it runs.
inline lowered_plan parse_lowered(std::string_view text, const known_kernels& kernels) {
  form_reader t(text, "parse_lowered");
  lowered_plan out;
  detail::plan_text(t, out, kernels);
  if (!t.at_end()) t.fail("expected the end of the plan");
  return out;
}

}  // namespace sinter::inline SINTER_ABI::exec
