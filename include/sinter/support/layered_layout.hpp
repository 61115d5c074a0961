// SPDX-License-Identifier: MIT
// Places for the nodes of a directed graph without cycles, in layers from top to bottom (Sugiyama,
// Tagawa and Toda, 1981): layers by longest paths, order by medians of neighbours, coordinates by
// least squares.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <sinter/support/abi.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

struct layered_layout {
  struct box {
    double width = 0, height = 0;
  };
  struct point {
    double x = 0, y = 0;
  };
  // A piece of an edge, from the lower side of something to the upper side of something in the next
  // layer. Edges of one node that pass a layer do so at one place, and share the pieces until then.
  struct piece {
    int source = 0;  // the node that the edge comes from
    point from, to;
    double through = 0;  // the y to which it goes on straight, where it passes a layer
  };

  std::vector<point> centres;  // by node
  std::vector<piece> pieces;
  double width = 0, height = 0;
};

namespace detail {

class layering {
 public:
  // `edges`: pairs (from, to) with from < to. O(nodes and pieces of edges, times their logarithm).
  layering(span<const layered_layout::box> boxes, span<const std::pair<int, int>> edges)
      : boxes_(boxes) {
    find_layers(edges);
    add_chains(edges);
    find_order();
    find_places();
  }

  layered_layout take() {
    layered_layout out;
    std::vector<double> top(layers_.size() + 1, margin), height(layers_.size(), 0.0);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (int i : layers_[l]) height[l] = std::max(height[l], height_of(i));
      top[l + 1] = top[l] + height[l] + layer_gap;
    }
    const auto half_height = [&](int i, std::size_t l) {
      return is_node(i) ? height_of(i) / 2 : height[l] / 2;
    };
    double left = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < items_.size(); ++i)
      left = std::min(left, items_[i].x - width_of(static_cast<int>(i)) / 2);
    const auto place_of = [&](int i) {
      const item& own = items_[at(i)];
      return layered_layout::point{own.x - left + margin, top[own.layer] + height[own.layer] / 2};
    };
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const int number = static_cast<int>(i);
      const layered_layout::point here = place_of(number);
      out.width = std::max(out.width, here.x + width_of(number) / 2 + margin);
      if (is_node(number)) out.centres.push_back(here);
      for (int above : items_[i].above) {
        const layered_layout::point from = place_of(above);
        const double lower = from.y + half_height(above, items_[at(above)].layer);
        const double upper = here.y - half_height(number, items_[i].layer);
        out.pieces.push_back({items_[at(above)].node,
                              {from.x, lower},
                              {here.x, upper},
                              is_node(number) ? upper : here.y + height[items_[i].layer] / 2});
      }
    }
    out.height = layers_.empty() ? 0 : top.back() - layer_gap + margin;
    return out;
  }

 private:
  static constexpr double margin = 8, gap = 14, layer_gap = 30, passing_width = 6;
  static constexpr int sweeps = 12;

  // A node, or the place where edges of a node pass a layer.
  struct item {
    int node = 0;
    std::size_t layer = 0;
    std::vector<int> above{}, below{};
    double x = 0;
    std::size_t position = 0;  // in its layer
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool is_node(int i) const { return at(i) < boxes_.size(); }
  double width_of(int i) const { return is_node(i) ? boxes_[at(i)].width : passing_width; }
  double height_of(int i) const { return is_node(i) ? boxes_[at(i)].height : 0; }

  // Below everything that a node reads; what reads nothing stands right above its first reader.
  void find_layers(span<const std::pair<int, int>> edges) {
    std::vector<std::vector<int>> readers(boxes_.size());
    std::vector<bool> reads(boxes_.size(), false);
    for (const auto& [from, to] : edges) {
      readers[at(from)].push_back(to);
      reads[at(to)] = true;
    }
    for (std::size_t i = 0; i < boxes_.size(); ++i) items_.push_back({static_cast<int>(i)});
    for (std::size_t i = 0; i < boxes_.size(); ++i)
      for (int reader : readers[i])
        items_[at(reader)].layer = std::max(items_[at(reader)].layer, items_[i].layer + 1);
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (reads[i] || readers[i].empty()) continue;
      const int first = *std::ranges::min_element(
          readers[i], {}, [&](int reader) { return items_[at(reader)].layer; });
      items_[i].layer = items_[at(first)].layer - 1;
    }
  }

  void add_chains(span<const std::pair<int, int>> edges) {
    std::vector<std::vector<int>> chain(boxes_.size());  // by node: itself, then layer by layer
    for (std::size_t i = 0; i < boxes_.size(); ++i) chain[i].push_back(static_cast<int>(i));
    std::vector<std::pair<int, int>> sorted(edges.begin(), edges.end());
    std::ranges::sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (const auto& [from, to] : sorted) {
      std::vector<int>& own = chain[at(from)];
      const std::size_t steps = items_[at(to)].layer - items_[at(from)].layer;
      while (own.size() < steps) {
        items_.push_back({from, items_[at(from)].layer + own.size()});
        connect(own.back(), static_cast<int>(items_.size()) - 1);
        own.push_back(static_cast<int>(items_.size()) - 1);
      }
      connect(own[steps - 1], to);
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].layer >= layers_.size()) layers_.resize(items_[i].layer + 1);
      layers_[items_[i].layer].push_back(static_cast<int>(i));
    }
    for (auto& layer : layers_) number(layer);
  }
  void connect(int above, int below) {
    items_[at(above)].below.push_back(below);
    items_[at(below)].above.push_back(above);
  }
  void number(const std::vector<int>& layer) {
    for (std::size_t k = 0; k < layer.size(); ++k) items_[at(layer[k])].position = k;
  }

  // Down and up by turns; the order with the fewest crossings stays.
  void find_order() {
    auto best = layers_;
    std::size_t fewest = crossings();
    for (int sweep = 0; sweep < sweeps && fewest != 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (std::size_t k = 1; k < layers_.size(); ++k)
        sort_layer(layers_[down ? k : layers_.size() - 1 - k], down);
      if (const std::size_t now = crossings(); now < fewest) {
        fewest = now;
        best = layers_;
      }
    }
    layers_ = std::move(best);
    for (auto& layer : layers_) number(layer);
  }

  void sort_layer(std::vector<int>& layer, bool down) {
    std::vector<std::pair<double, int>> keyed;
    for (int i : layer) {
      const item& own = items_[at(i)];
      std::vector<double> positions;
      for (int other : down ? own.above : own.below)
        positions.push_back(static_cast<double>(items_[at(other)].position));
      // Without neighbours there it stays where it is.
      keyed.emplace_back(positions.empty() ? static_cast<double>(own.position) : median(positions),
                         i);
    }
    std::ranges::stable_sort(keyed, {}, [](const auto& each) { return each.first; });
    for (std::size_t k = 0; k < layer.size(); ++k) layer[k] = keyed[k].second;
    number(layer);
  }

  static double median(std::vector<double>& x) {
    std::ranges::sort(x);
    return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
  }

  // Pairs of pieces that cross: inversions, counted with a binary indexed tree.
  std::size_t crossings() const {
    std::size_t out = 0;
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
      std::vector<std::size_t> tree(layers_[l + 1].size() + 1, 0);
      std::size_t seen = 0;
      for (int i : layers_[l]) {
        std::vector<std::size_t> ends;
        for (int below : items_[at(i)].below) ends.push_back(items_[at(below)].position);
        for (std::size_t end : ends) {
          std::size_t before = 0;
          for (std::size_t k = end + 1; k > 0; k &= k - 1) before += tree[k];
          out += seen - before;
        }
        for (std::size_t end : ends)
          for (std::size_t k = end + 1; k < tree.size(); k += k & (~k + 1)) ++tree[k];
        seen += ends.size();
      }
    }
    return out;
  }

  void find_places() {
    for (auto& layer : layers_) {
      double x = 0;
      for (std::size_t k = 0; k < layer.size(); ++k) {
        if (k > 0) x += distance(layer[k - 1], layer[k]);
        items_[at(layer[k])].x = x;
      }
    }
    for (int sweep = 0; sweep < 2 * sweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (std::size_t k = 0; k < layers_.size(); ++k)
        place(layers_[down ? k : layers_.size() - 1 - k], down);
    }
  }

  double distance(int left, int right) const {
    return (width_of(left) + width_of(right)) / 2 + gap;
  }

  // As close to the median of their neighbours as the order and the widths allow, in squares:
  // neighbours that are pushed together move as one (pool adjacent violators).
  void place(const std::vector<int>& layer, bool down) {
    struct group {
      double sum = 0;
      std::size_t count = 0;
      double mean() const { return sum / static_cast<double>(count); }
    };
    std::vector<group> groups;
    std::vector<double> offset(layer.size(), 0.0);
    for (std::size_t k = 0; k < layer.size(); ++k) {
      if (k > 0) offset[k] = offset[k - 1] + distance(layer[k - 1], layer[k]);
      const item& own = items_[at(layer[k])];
      const auto& nearer = down ? own.above : own.below;
      std::vector<double> wanted;
      for (int other : nearer.empty() ? (down ? own.below : own.above) : nearer)
        wanted.push_back(items_[at(other)].x);
      groups.push_back({(wanted.empty() ? own.x : median(wanted)) - offset[k], 1});
      while (groups.size() > 1 && groups[groups.size() - 2].mean() > groups.back().mean()) {
        const group last = groups.back();
        groups.pop_back();
        groups.back().sum += last.sum;
        groups.back().count += last.count;
      }
    }
    std::size_t k = 0;
    for (const group& each : groups)
      for (std::size_t i = 0; i < each.count; ++i, ++k)
        items_[at(layer[k])].x = each.mean() + offset[k];
  }

  span<const layered_layout::box> boxes_;
  std::vector<item> items_;  // nodes by number, then where edges pass
  std::vector<std::vector<int>> layers_;
};

}  // namespace detail

/// Lays out nodes of the given sizes and edges between them, from the lower number to the higher
/// one (also several from one node to another). Nodes do not overlap. The same graph gives the same
/// layout.
inline layered_layout lay_out(span<const layered_layout::box> boxes,
                              span<const std::pair<int, int>> edges) {
  return detail::layering(boxes, edges).take();
}

}  // namespace sinter::inline SINTER_ABI
