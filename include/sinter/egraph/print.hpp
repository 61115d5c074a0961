// SPDX-License-Identifier: MIT
//
// Printing: an e-graph as text, as a Graphviz drawing and as an egglog program that rebuilds it,
// and extracted terms as s-expressions. Payloads are printed by the language's `payload_text`, or
// as numbers.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/extract.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

template <class Language>
std::string payload_text(const egraph<Language>& graph, const enode_view& node) {
  if constexpr (HasPayloadText<Language>) {
    return graph.language().payload_text(node.op, node.payload);
  } else {
    return std::to_string(node.payload);
  }
}

/// `name` or `name[payload]`.
template <class Language>
std::string operator_text(const egraph<Language>& graph, const enode_view& node) {
  std::string out(Language::operators[node.op].name);
  if (node.payload != 0) out += "[" + payload_text(graph, node) + "]";
  return out;
}

/// A line per class: `c3 = (add c1 c2) | (mul[..] c1 c1)`.
template <class Language>
std::string to_text(const egraph<Language>& graph) {
  std::string out;
  for (const class_id id : graph.classes()) {
    out += "c" + std::to_string(id) + " =";
    std::string_view separator = " ";
    for (const enode_view& node : graph.nodes(id)) {
      out += separator;
      separator = " | ";
      out += (node.children.empty() ? "" : "(") + operator_text(graph, node);
      for (const class_id child : node.children) out += " c" + std::to_string(graph.find(child));
      if (!node.children.empty()) out += ")";
    }
    out += "\n";
  }
  return out;
}

/// The term that an extraction chose for a class: `(add x (mul x y))`. Shared sub-terms are written
/// out each time.
template <class Language>
std::string to_text(const egraph<Language>& graph, const extraction& chosen, class_id root) {
  const node_id id = chosen.choice_of(root);
  if (id == no_id) return "?";
  const enode_view node = graph.node(id);
  std::string out = operator_text(graph, node);
  if (node.children.empty()) return out;
  for (const class_id child : node.children) out += " " + to_text(graph, chosen, child);
  return "(" + out + ")";
}

/// `text` as the inside of a string in quotes.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// A Graphviz digraph: a dashed cluster per class, an arrow from each child position to the child's
/// class.
template <class Language>
std::string to_dot(const egraph<Language>& graph) {
  std::string out = "digraph egraph {\n  compound=true\n  clusterrank=local\n";
  std::string edges;
  for (const class_id id : graph.classes()) {
    const std::string number = std::to_string(id);
    out += "  subgraph cluster_" + number + " {\n    style=dashed\n    label=\"c" + number + "\"\n";
    for (const enode_view& node : graph.nodes(id)) {
      const std::string name = "n" + std::to_string(node.id);
      out += "    " + name + "[label=\"" + escaped(operator_text(graph, node)) + "\"]\n";
      for (const class_id child : node.children) {
        const class_id target = graph.find(child);
        const enode_view head = *graph.nodes(target).begin();
        edges += "  " + name + " -> n" + std::to_string(head.id) + "[lhead=cluster_" +
                 std::to_string(target) + "]\n";
      }
    }
    out += "  }\n";
  }
  return out + edges + "}\n";
}

/// An egglog program that builds the same e-graph: classes are named by number, each node is a
/// union with its class. A payload is a string argument.
template <class Language>
std::string to_egglog(const egraph<Language>& graph) {
  // A variadic operator becomes one constructor per arity that occurs.
  const auto constructor = [](std::uint16_t op, std::size_t arity) {
    std::string name = "op-" + std::string(Language::operators[op].name);
    if (Language::operators[op].arity < 0) name += "-" + std::to_string(arity);
    return name;
  };
  std::set<std::pair<std::uint16_t, std::size_t>> used;
  for (const class_id id : graph.classes()) {
    for (const enode_view& node : graph.nodes(id)) used.insert({node.op, node.children.size()});
  }
  std::string out = "(datatype Term\n  (class i64)";
  for (const auto& [op, arity] : used) {
    out += "\n  (" + constructor(op, arity) + " String";
    for (std::size_t i = 0; i < arity; ++i) out += " Term";
    out += ")";
  }
  out += ")\n";
  for (const class_id id : graph.classes()) {
    for (const enode_view& node : graph.nodes(id)) {
      const std::string payload = node.payload == 0 ? "" : escaped(payload_text(graph, node));
      out += "(union (class " + std::to_string(id) + ") (" +
             constructor(node.op, node.children.size()) + " \"" + payload + "\"";
      for (const class_id child : node.children)
        out += " (class " + std::to_string(graph.find(child)) + ")";
      out += "))\n";
    }
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
