// SPDX-License-Identifier: MIT
// Graphs as Graphviz text: `dot -Tsvg`. Constants stand inside the nodes that use them, which keeps
// pictures of real graphs readable.
#pragma once

#include <string>

#include <sinter/graph/print.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// A digraph with an ellipse per node, boxes for arguments, and the outputs at the end.
inline std::string to_dot(const graph& g) {
  const auto name_of = [](int id) { return "n" + std::to_string(id); };
  const auto is_constant = [&](int id) { return g[id].code == op::constant; };
  std::string out = "digraph sinter {\n  node [fontname=\"monospace\"];\n";
  for (int id = 0; id < g.size(); ++id) {
    if (is_constant(id)) continue;
    std::string label = std::string(op_name(g, id));
    std::string constants;
    for (int i : g.inputs(id))
      constants +=
          (constants.empty() ? "" : ", ") + (is_constant(i) ? detail::constant_text(g, i) : "_");
    if (constants.find_first_not_of("_, ") != std::string::npos) label += "(" + constants + ")";
    if (const std::string attributes = attribute_text(g, id); !attributes.empty())
      label += "\\n" + attributes;
    label += "\\n" + type_text(g, id);
    out += "  " + name_of(id) + " [label=\"" + label + "\"" +
           (g[id].code == op::argument ? ", shape=box" : "") + "];\n";
    for (int i : g.inputs(id))
      if (!is_constant(i)) out += "  " + name_of(i) + " -> " + name_of(id) + ";\n";
  }
  for (std::size_t k = 0; k < g.outputs.size(); ++k) {
    const output& o = g.outputs[k];
    const std::string label = is_constant(o.node) ? "output " + detail::constant_text(g, o.node)
                              : o.assigned_argument >= 0
                                  ? "argument " + std::to_string(o.assigned_argument)
                                  : "output";
    out += "  out" + std::to_string(k) + " [label=\"" + label + "\", shape=doublecircle];\n";
    if (!is_constant(o.node)) out += "  " + name_of(o.node) + " -> out" + std::to_string(k) + ";\n";
  }
  return out + "}\n";
}

}  // namespace sinter::inline SINTER_ABI::ir
