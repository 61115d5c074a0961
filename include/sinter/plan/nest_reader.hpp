// SPDX-License-Identifier: MIT
// Nests in the text of schedules: views, tile programs, stores, parts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sinter/plan/schedule.hpp>
#include <sinter/plan/schedule_reader.hpp>

namespace sinter::inline SINTER_ABI::planning::detail {

class nest_reader : protected schedule_reader {
 public:
  using schedule_reader::schedule_reader;

 protected:
  nest read_nest(int depth) {
    if (depth > 1) in_.fail("parts have no parts");
    nest n;
    n.kind = word<nest_kind>("kind of nest");
    words("over");
    n.space = shape();
    if (in_.accept_word("order"))
      list(static_cast<std::size_t>(max_rank), [&] { n.axis_order.push_back(small_number()); });
    if (in_.accept_word("inner")) n.inner_axes = static_cast<int>(size(max_rank));
    if (in_.accept_word("reduces")) {
      n.column_first = static_cast<int>(size(max_rank));
      in_.expect("..");
      n.column_last = static_cast<int>(size(max_rank));
    }
    n.transpose_a = in_.accept_word("transpose_a");
    n.transpose_b = in_.accept_word("transpose_b");
    n.packed_b = in_.accept_word("packed_b");
    n.winograd = in_.accept_word("winograd");
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
    n.exclusive = in_.accept_word("exclusive");
    n.reverse = in_.accept_word("reverse");
    if (in_.accept_word("fill")) n.fill = real();
    if (n.kind == nest_kind::custom) read_custom(n);
    end_line();
    while (in_.accept_word("access")) {
      bounded(n.accesses, list_limit);
      if (small_number() != static_cast<int>(n.accesses.size()))
        in_.fail("accesses come in their order");
      in_.expect(":");
      n.accesses.push_back(read_access());
    }
    while (in_.accept_word("piece")) {
      bounded(n.pieces, list_limit);
      piece p;
      words("at");
      p.offset = shape();
      words("over");
      p.space = shape();
      p.body = read_part();
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
      part.body = read_part();
      parts.push_back(std::move(part));
    }
    n.body = read_body();
    while (in_.accept_word("store")) {
      bounded(n.stores, list_limit);
      store st;
      if (in_.accept("%")) st.step = small_number();
      st.summed = in_.accept_word("summed");
      words("to buffer");
      st.buffer = small_number();
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

  // of cumulative_sum {from_end: 1}
  void read_custom(nest& n) {
    words("of");
    n.custom = accept_custom(false);
    if (n.custom == nullptr)
      in_.fail("there is no such op on arrays (custom ops must be given to the parser)");
    for (std::size_t i = 0; i < n.custom->attributes.size(); ++i) {
      in_.expect(i == 0 ? "{" : ",");
      words(n.custom->attributes[i]);
      in_.expect(":");
      n.custom_attributes.push_back(real());
    }
    if (!n.custom->attributes.empty()) in_.expect("}");
  }

  access read_access() {
    access a;
    words("buffer");
    a.buffer = small_number();
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

  // A tile program inside of a nest, from the end of the line that it begins with.
  std::vector<step> read_part() {
    end_line();
    std::vector<step> body = read_body();
    words("done");
    end_line();
    return body;
  }

  std::vector<step> read_body() {
    std::vector<step> body;
    while (in_.accept("%")) {
      bounded(body, list_limit);
      if (small_number() != static_cast<int>(body.size())) in_.fail("steps come in their order");
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
        s.access = small_number();
        break;
      case step_kind::product:
        if (in_.accept_word("access")) s.access = small_number();
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
        if (in_.accept("{")) {
          s.fused = fused_.find(read_region());
          break;
        }
        s.custom = accept_custom(true);
        s.code = s.custom != nullptr ? ir::op::custom_map : op();
        break;
      case step_kind::reduce: s.code = op(); break;
      case step_kind::exponentials:
        if (in_.accept_word("guarded")) s.attribute = 1;
        break;
      case step_kind::spread:
      case step_kind::deviations: break;
    }
    if (in_.accept_word("of"))
      list(ir::region::max_leaves, [&] { s.operands.push_back(small_number()); });
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

  fused_store fused_;
};

}  // namespace sinter::inline SINTER_ABI::planning::detail
