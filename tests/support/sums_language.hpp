// SPDX-License-Identifier: MIT
// A language of sums and products that commute, folded by analysis (modulo 1000).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <sinter/egraph.hpp>

namespace sinter::test {

struct sums {
  enum op : std::uint16_t { plus, times, number, name, half };
  static constexpr std::array<eqsat::operator_info, 5> operators{
      {{"+", 2, true}, {"*", 2, true}, {"number", 0}, {"name", 0}, {"half", 1}}};

  using data = std::optional<int>;
  static data make(const eqsat::egraph<sums>& graph, eqsat::enode_view node) {
    if (node.op == number) return static_cast<int>(node.payload);
    if (node.op == name || node.op == half) return std::nullopt;
    const data a = graph.data(node.children[0]), b = graph.data(node.children[1]);
    if (!a || !b) return std::nullopt;
    return (node.op == plus ? *a + *b : *a * *b) % 1000;
  }
  static eqsat::merge_result merge(data& into, const data& from) {
    const eqsat::merge_result result{!into && from, into && !from};
    if (!into) into = from;
    return result;
  }
  static bool can_unite(const data& a, const data& b) { return !a || !b || *a == *b; }
  static void modify(eqsat::egraph<sums>& graph, eqsat::class_id id) {
    if (const data value = graph.data(id)) {
      graph.unite(id, graph.add(number, static_cast<std::uint32_t>(*value), {}));
    }
  }
  static constexpr bool parse_literal(std::string_view text, double& value) {
    if (text.size() != 1 || text[0] < '0' || text[0] > '9') return false;
    value = text[0] - '0';
    return true;
  }
  static bool matches_literal(const eqsat::egraph<sums>& graph, eqsat::class_id id, double value) {
    return graph.data(id) == static_cast<int>(value);
  }
  static eqsat::class_id add_literal(eqsat::egraph<sums>& graph, double value, eqsat::class_id) {
    return graph.add(number, static_cast<std::uint32_t>(value), {});
  }
};
using sum_graph = eqsat::egraph<sums>;

}  // namespace sinter::test
