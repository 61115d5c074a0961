// SPDX-License-Identifier: MIT
// The class of shapes that a plan file has plans for: the traced graph is bound again, which must
// give the graph that the file states; of its guards, only those that rules assumed are taken from
// the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/function/plan_file.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/fixed.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/graph/text_reader.hpp>
#include <sinter/plan/schedule_reader.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Shapes in a file come from anywhere, and arithmetic on extents does not look for overflow.
inline void require_countable(const ir::graph& traced, span<const shape_vector> shapes) {
  constexpr std::int64_t most = ir::detail::number_limit;
  const std::vector<std::int64_t> values = ir::symbol_values(traced, shapes);
  const ir::dim_table dims = planning::detail::at_hand(traced.dims, values);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const ir::dim d = ir::dim::expression(i);
    if (dims.kind(d) == ir::dim_kind::symbol) continue;
    const ir::extent_range r = dims.range(d);
    if (r.high > most || r.low < -most) raise(shape_error("an extent is too large"));
  }
  for (int id = 0; id < traced.size(); ++id) {
    std::int64_t elements = 1;
    for (ir::dim d : traced[id].shape)
      elements =
          ir::detail::saturating_mul(elements, std::max<std::int64_t>(1, dims.range(d).high));
    if (elements > most) raise(shape_error("a shape is too large"));
  }
}

// Guards that a text has behind those of the binding, which it must have, too.
inline void take_guards(ir::graph& bound, std::string_view text) {
  const std::size_t binding = bound.guards.size();
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("guard: ")) continue;
    ir::detail::text_reader in(line.substr(7), bound.dims, "guard");
    ir::guard g;
    g.a = in.extent();
    g.holds = in.relation();
    g.b = in.extent();
    in.end_line();
    if (number < binding) {
      const ir::guard& own = bound.guards[number];
      if (own.holds != g.holds || own.a != g.a || own.b != g.b)
        raise(graph_error("the guards are others"));
    } else {
      bound.assume(g.holds, g.a, g.b);
      if (bound.guards.size() == number) raise(graph_error("a guard is there twice"));
    }
    ++number;
  }
  if (number < binding) raise(graph_error("guards are missing"));
}

struct bound_class {
  ir::graph graph;                 // with all guards
  std::size_t binding_guards = 0;  // those before the ones that rules assumed
};

// Throws graph_error unless the text of the class is that of `traced`, bound to its shapes;
// shape_error for shapes that do not fit it. Text and shapes may come from anywhere.
inline bound_class bind_class(const ir::graph& traced, const class_record& record) {
  for (int id = 0; id < traced.size(); ++id)
    if (traced[id].code == ir::op::argument &&
        static_cast<std::size_t>(traced.attributes(id)[1]) >= record.shapes.size())
      raise(graph_error("an argument has no shape"));
  require_countable(traced, record.shapes);
  bound_class out{ir::bind(traced, record.shapes)};
  const ir::fixed_inputs fixed(out.graph, record.frozen);
  for (const ir::guard& g : fixed.guards(out.graph.dims)) out.graph.assume(g.holds, g.a, g.b);
  out.binding_guards = out.graph.guards.size();
  take_guards(out.graph, record.graph);
  if (ir::to_text(out.graph) != record.graph) raise(graph_error("the graph is another one"));
  return out;
}

}  // namespace sinter::inline SINTER_ABI::detail
