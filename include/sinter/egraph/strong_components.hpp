// SPDX-License-Identifier: MIT
//
// Strongly connected components of a directed graph.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// The component of each vertex, numbered so that no edge leads to a higher number: what a vertex
/// needs comes before it. `edges(v, visit)` calls `visit(w)` for each edge v to w. Tarjan's
/// algorithm without recursion ("Depth-first search and linear graph algorithms", 1972), linear.
template <class Edges>
std::vector<std::uint32_t> strong_components(std::size_t vertices, Edges&& edges) {
  constexpr auto none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> component(vertices, none), index(vertices, none), low(vertices, 0);
  struct frame {
    std::uint32_t vertex;
    std::size_t next;
    std::size_t end;
  };
  std::vector<frame> path;
  std::vector<std::uint32_t> open, targets;
  std::uint32_t visited = 0, components = 0;
  const auto enter = [&](std::uint32_t v) {
    index[v] = low[v] = visited++;
    open.push_back(v);
    const std::size_t first = targets.size();
    edges(v, [&](std::uint32_t w) { targets.push_back(w); });
    path.push_back({v, first, targets.size()});
  };
  for (std::uint32_t start = 0; start < vertices; ++start) {
    if (index[start] != none) continue;
    enter(start);
    while (!path.empty()) {
      frame& at = path.back();
      const std::uint32_t v = at.vertex;
      if (at.next < at.end) {
        const std::uint32_t w = targets[at.next++];
        if (index[w] == none) {
          enter(w);
        } else if (component[w] == none) {
          low[v] = std::min(low[v], index[w]);
        }
        continue;
      }
      path.pop_back();
      targets.resize(path.empty() ? 0 : path.back().end);
      if (!path.empty()) low[path.back().vertex] = std::min(low[path.back().vertex], low[v]);
      if (low[v] != index[v]) continue;
      std::uint32_t w;
      do {
        w = open.back();
        open.pop_back();
        component[w] = components;
      } while (w != v);
      ++components;
    }
  }
  return component;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
