// SPDX-License-Identifier: MIT
// A drawn graph as inline SVG, or, where it is too large to look at, as lists. Nodes have the
// colour of the nest that computes them and lead to what the page says of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/plan/print.hpp>
#include <sinter/support/html.hpp>
#include <sinter/support/layered_layout.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

// argument: also what is kept of frozen ones.
enum class drawn_role : std::uint8_t { op, argument, output };

struct drawn_node {
  drawn_role role{};
  std::string title, type;
  std::string details;  // all there is to say of it
  int nest = -1;        // those of the preparation behind those of the calls; -1: none computes it
};

struct drawn_graph {
  std::vector<drawn_node> nodes;
  std::vector<std::pair<int, int>> edges;  // from the lower number to the higher one

  int add(drawn_node node, span<const int> operands) {
    const int number = static_cast<int>(nodes.size());
    nodes.push_back(std::move(node));
    for (int o : operands)
      if (o >= 0) edges.emplace_back(o, number);
    return number;
  }
  std::ptrdiff_t ops() const {
    return std::ranges::count(nodes, drawn_role::op, &drawn_node::role);
  }
};

// More nodes are a picture that nobody reads.
inline constexpr std::size_t most_drawn = 400;

// Names and colours of the nests on one page. `calls`: how many nests every call runs; those behind
// them run once.
struct nest_names {
  int calls = 0;

  std::string name(int nest) const {
    return nest < calls ? "nest " + std::to_string(nest) : "once " + std::to_string(nest - calls);
  }
  std::string anchor(int nest) const {
    return nest < calls ? "nest-" + std::to_string(nest) : "once-" + std::to_string(nest - calls);
  }
  // Hues by the golden angle: neighbours differ, and none comes again.
  static std::string hue(int nest) {
    return "--h:" + std::to_string((215 + std::int64_t{nest} * 1375 / 10) % 360);
  }
  static std::string style(int nest) { return "style=\"" + hue(nest) + "\""; }
};

class graph_svg {
 public:
  graph_svg(const drawn_graph& g, const nest_names& names) : g_(g), names_(names) {}

  std::string text() const { return g_.nodes.size() > most_drawn ? lists() : picture(); }

 private:
  static constexpr double character = 6.7, line = 14, padding = 9;  // of the font in `page_style`
  static constexpr std::size_t most_characters = 30;
  static constexpr double most_width = 560;  // of half a page

  static std::string number(double x) {
    std::string out = planning::fixed(x, 1);
    if (out.ends_with(".0")) out.resize(out.size() - 2);
    return out;
  }

  // Cut in front of a character of UTF-8, not inside of one.
  static std::string shortened(const std::string& text) {
    if (text.size() <= most_characters) return text;
    std::size_t end = most_characters - 1;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end) + "\xe2\x80\xa6";
  }
  static std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  }

  static layered_layout::box box_of(const drawn_node& n) {
    const std::size_t longest =
        std::max(characters(shortened(n.title)), characters(shortened(n.type)));
    return {static_cast<double>(longest) * character + 2 * padding,
            (n.type.empty() ? 1 : 2) * line + padding};
  }

  std::string picture() const {
    std::vector<layered_layout::box> boxes;
    for (const drawn_node& n : g_.nodes) boxes.push_back(box_of(n));
    const layered_layout placed = lay_out(boxes, g_.edges);
    const std::string width = number(placed.width), height = number(placed.height);
    // Graphs that need scrolling can be made to fit, without a script.
    std::string out = placed.width > most_width
                          ? "<label class=\"fit\"><input type=\"checkbox\"/> as wide as the page"
                            "</label>"
                          : "";
    out += "<div class=\"picture\"><svg width=\"" + width + "\" height=\"" + height +
           "\" viewBox=\"0 0 " + width + " " + height + "\" role=\"img\">\n";
    out += "<path class=\"edges\" d=\"";
    for (const layered_layout::piece& p : placed.pieces) {
      const double middle = (p.from.y + p.to.y) / 2;
      out += "M" + number(p.from.x) + " " + number(p.from.y) + "C" + number(p.from.x) + " " +
             number(middle) + " " + number(p.to.x) + " " + number(middle) + " " + number(p.to.x) +
             " " + number(p.to.y);
      if (p.through > p.to.y) out += "V" + number(p.through);
    }
    out += "\"/>\n";
    for (std::size_t i = 0; i < g_.nodes.size(); ++i)
      out += node_text(g_.nodes[i], boxes[i], placed.centres[i]);
    return out + "</svg></div>\n";
  }

  static std::string_view class_of(const drawn_node& n) {
    if (n.role != drawn_role::op) return n.role == drawn_role::argument ? "argument" : "output";
    return n.nest >= 0 ? "op" : "gone";
  }

  std::string node_text(const drawn_node& n, const layered_layout::box& box,
                        const layered_layout::point& centre) const {
    std::string out = "<g class=\"" + std::string(class_of(n)) + "\"";
    if (n.nest >= 0) out += " " + nest_names::style(n.nest);
    out += ">" +
           html::element("title", "", n.details + (n.nest >= 0 ? "\n" + names_.name(n.nest) : ""));
    if (n.nest >= 0) out += "<a href=\"#" + names_.anchor(n.nest) + "\">";
    const std::string radius =
        n.role == drawn_role::op ? "4" : number(std::min(box.height / 2, 16.0));
    out += "<rect x=\"" + number(centre.x - box.width / 2) + "\" y=\"" +
           number(centre.y - box.height / 2) + "\" width=\"" + number(box.width) + "\" height=\"" +
           number(box.height) + "\" rx=\"" + radius + "\"/>";
    const double first = centre.y - (n.type.empty() ? 0 : line / 2) + 4;
    const auto line_text = [&](std::string_view kind, double y, const std::string& text) {
      return html::element("text",
                           "class=\"" + std::string(kind) + "\" x=\"" + number(centre.x) +
                               "\" y=\"" + number(y) + "\"",
                           shortened(text));
    };
    out += line_text("name", first, n.title);
    if (!n.type.empty()) out += line_text("type", first + line, n.type);
    return out + (n.nest >= 0 ? "</a></g>\n" : "</g>\n");
  }

  // Nest by nest, closed until somebody wants to see one.
  std::string lists() const {
    std::vector<std::vector<std::size_t>> by_nest;  // 0: what no nest computes
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const auto at = static_cast<std::size_t>(g_.nodes[i].nest + 1);
      if (by_nest.size() <= at) by_nest.resize(at + 1);
      by_nest[at].push_back(i);
    }
    std::string out = html::element("p", "class=\"note\"",
                                    std::to_string(g_.nodes.size()) +
                                        " nodes, too many to draw: as lists, nest by nest.") +
                      "<div class=\"lists\">\n";
    for (std::size_t at = 0; at < by_nest.size(); ++at) {
      if (by_nest[at].empty()) continue;
      const int nest = static_cast<int>(at) - 1;
      out += "<details class=\"list\"" + (nest >= 0 ? " " + nest_names::style(nest) : "") +
             "><summary>" + (nest >= 0 ? "<span class=\"swatch\"></span>" : "") +
             html::escaped(nest >= 0 ? names_.name(nest)
                                     : "arguments, outputs, and what no nest computes") +
             " (" + std::to_string(by_nest[at].size()) + ")</summary><pre>";
      for (std::size_t i : by_nest[at]) out += html::escaped(g_.nodes[i].details) + "\n";
      out += "</pre></details>\n";
    }
    return out + "</div>\n";
  }

  const drawn_graph& g_;
  const nest_names& names_;
};

}  // namespace sinter::inline SINTER_ABI::detail
