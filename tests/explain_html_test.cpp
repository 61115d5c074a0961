// SPDX-License-Identifier: MIT
// explain as a page of HTML, the layout of its graphs, and what becomes of names in it.
#include <cmath>
#include <cstddef>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/well_formed.hpp"
#include <sinter/function/graph_svg.hpp>
#include <sinter/sinter.hpp>

namespace explain_html_test {

namespace sn = sinter;
using sinter::layered_layout;
using test_support::page_element;
using test_support::page_reader;

namespace {

const std::string nasty = "<script>alert(\"a\" & 'b')</script>\x01\xff";
const std::string escaped_nasty =
    "&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)&lt;/script&gt;\xef\xbf\xbd\xef\xbf\xbd";

struct nasty_op {
  static constexpr std::string_view name = "<b>&\"";
  static constexpr int arity = 1;
  static constexpr double work = 2;
  static constexpr auto element = [](auto x) { return x + x; };
};

int count(const std::string& text, const std::string& part) {
  int out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++out;
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Fails unless the page can stand alone.
page_reader read(const std::string& page) {
  page_reader out(page);
  CHECK_MESSAGE(out.error.empty(), out.error);
  for (const char* outside : {"http", "//", "<script", "src=", "url(", "@import", "javascript:"})
    CHECK_MESSAGE(!contains(page, outside), outside);
  return out;
}

std::vector<page_element> with_class(const page_reader& page, const std::string& name) {
  std::vector<page_element> out;
  for (const page_element& e : page.elements)
    if (const auto found = e.attributes.find("class");
        found != e.attributes.end() && found->second == name)
      out.push_back(e);
  return out;
}

// Steps in the drawing of what is computed that no edge leads to.
int without_operands(const page_reader& page) {
  std::vector<std::string> paths;
  for (const page_element& e : with_class(page, "edges")) paths.push_back(e.attributes.at("d"));
  REQUIRE(paths.size() == 2);
  std::vector<std::pair<double, double>> ends;
  const std::regex end("C[^MCV]* ([-0-9.]+) ([-0-9.]+)(?=[MV]|$)");
  for (std::sregex_iterator i(paths[1].begin(), paths[1].end(), end), last; i != last; ++i)
    ends.emplace_back(std::stod((*i)[1]), std::stod((*i)[2]));
  int out = 0, drawings = 0;
  for (const page_element& e : page.elements) {
    if (e.tag == "svg") ++drawings;
    if (e.tag != "rect" || drawings != 2) continue;
    const page_element& link = page.elements[static_cast<std::size_t>(e.parent)];
    if (link.tag != "a") continue;  // arguments and outputs
    const auto number = [&](const char* key) { return std::stod(e.attributes.at(key)); };
    const double x = number("x") + number("width") / 2, y = number("y");
    bool reached = false;
    for (const auto& [to_x, to_y] : ends)
      reached = reached || (std::abs(to_x - x) < 0.2 && std::abs(to_y - y) < 0.2);
    out += reached ? 0 : 1;
  }
  return out;
}

// Without what a clock says.
std::string timeless(std::string page) {
  page = std::regex_replace(page, std::regex("[0-9.]+ (us|ms)"), "# $1");
  return std::regex_replace(page, std::regex("width:[0-9.]+%"), "width:#");
}

}  // namespace

TEST_CASE("a page has the graph twice, and a card for each nest in the colour of its nodes") {
  auto f = sn::fuse([](auto x, auto w, auto v) {
    return sn::outputs(sn::relu(sn::matmul(x * 0.5f, w) * 0.25f), sn::softmax(sn::matmul(v, w)));
  });
  sn::tensor<float, 2> x({8, 16}), w({16, 16}), v({4, 16});
  const std::string text = f.explain_html(x, sn::frozen(w), v);
  const page_reader page = read(text);
  CHECK(with_class(page, "picture").size() == 2);
  CHECK(with_class(page, "argument").size() == 6);
  CHECK(with_class(page, "output").size() == 4);
  CHECK(!with_class(page, "gone").empty());  // x * 0.5, which the product does not see

  std::map<std::string, std::string> cards;  // style by anchor
  for (const page_element& e : with_class(page, "card"))
    cards[e.attributes.at("id")] = e.attributes.at("style");
  REQUIRE(cards.size() >= 2);
  std::set<std::string> colours;
  for (const auto& [anchor, style] : cards) colours.insert(style);
  CHECK(colours.size() == cards.size());
  int nodes = 0;
  for (const page_element& e : page.elements) {
    if (e.tag != "a") continue;
    const std::string anchor = e.attributes.at("href").substr(1);
    REQUIRE(cards.contains(anchor));
    const page_element& group = page.elements[static_cast<std::size_t>(e.parent)];
    if (group.tag != "g") continue;  // of the overview
    ++nodes;
    CHECK(group.attributes.at("style") == cards[anchor]);
  }
  CHECK(nodes >= 6);
  for (const char* part :
       {"found by", "matmul-scaled", "lower bound", "measured", "predicted", "instruction set",
        "thread", "traced", "reads", "writes", "s0 = 8", "_, 0.5"})
    CHECK_MESSAGE(contains(text, part), part);
  CHECK(timeless(f.explain_html(x, sn::frozen(w), v)) == timeless(text));
}

TEST_CASE("one op, none, and what frozen arguments prepare") {
  auto one = sn::fuse([](auto x) { return sn::exp(x); });
  sn::tensor<float, 1> x(5);
  CHECK(with_class(read(one.explain_html(x)), "op").size() == 2);
  auto none = sn::fuse([](auto y) { return y; });
  read(none.explain_html(x));
  auto constant = sn::fuse([](auto y) { return sn::outputs(y, sn::sum(y * 0.0f) + 1.0f); });
  read(constant.explain_html(x));
  const sn::function<sn::tensor<float, 1>(sn::tensor<float, 1>&)> held(std::move(one));
  read(held.explain_html(x));

  auto layer = sn::fuse([](auto a, auto w) { return sn::matmul(a, sn::exp(w)); });
  sn::tensor<float, 2> a({80, 64}), w({64, 144});
  const std::string text = layer.explain_html(a, sn::frozen(w));
  const page_reader page = read(text);
  CHECK(contains(text, "Prepared once"));
  CHECK(contains(text, "id=\"once-0\""));
  CHECK(contains(text, "<h3><span class=\"swatch\"></span>once 0: "));
}

TEST_CASE("what is read under another shape comes from where it was written") {
  // Neither shape is a view of the other.
  auto f = sn::fuse([](auto x) { return sn::softmax(sn::reshape(sn::softmax(x), 8, 12)); });
  const std::string text = f.explain_html(sn::tensor<float, sn::extents<12, 8>>());
  REQUIRE(contains(text, "id=\"nest-1\""));
  CHECK(without_operands(read(text)) == 0);
}

TEST_CASE("names are text, whatever is in them") {
  sn::graph_builder g;
  const auto x = g.argument("a_b.c", sn::dtype::f32, {sn::sym("n"), 4});
  const auto f = g.compile({sn::custom<nasty_op>(x) * 2.0f});
  const std::string text = f.explain_html({sn::tensor<float, 2>({3, 4})});
  read(text);
  CHECK(count(text, ">argument 0: a_b.c<") == 2);
  CHECK(contains(text, "&lt;b&gt;&amp;&quot;"));
  CHECK(!contains(text, "<b>"));
}

TEST_CASE("graphs that are too large to look at are lists") {
  namespace detail = sn::detail;
  const detail::nest_names names{2};
  const auto chain = [](std::size_t nodes) {
    detail::drawn_graph g;
    for (std::size_t i = 0; i < nodes; ++i) {
      const int before = static_cast<int>(i) - 1;
      g.add({detail::drawn_role::op, nasty, "f32[2]", nasty, static_cast<int>(i % 4) - 1},
            {&before, 1});
    }
    return g;
  };
  const detail::drawn_graph most = chain(detail::most_drawn), more = chain(detail::most_drawn + 1);
  const std::string drawn = detail::graph_svg(most, names).text();
  CHECK(page_reader(drawn).error.empty());
  CHECK(count(drawn, "<rect") == detail::most_drawn);
  const std::string listed = detail::graph_svg(more, names).text();
  CHECK(page_reader(listed).error.empty());
  CHECK(count(listed, "<svg") == 0);
  CHECK(count(listed, "<details") == 4);
  CHECK(count(listed, escaped_nasty + "\n") == detail::most_drawn + 1);
  CHECK(contains(listed, "once 0 (100)"));
}

TEST_CASE("layers: edges go down, nodes do not overlap, and a tree has no crossings") {
  const auto check = [](std::size_t nodes, const std::vector<std::pair<int, int>>& edges) {
    std::vector<layered_layout::box> boxes;
    for (std::size_t i = 0; i < nodes; ++i)
      boxes.push_back({20 + static_cast<double>(i * 7 % 50), 30});
    const layered_layout l = sn::lay_out(boxes, edges);
    REQUIRE(l.centres.size() == nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
      CHECK(l.centres[i].x - boxes[i].width / 2 >= 0);
      CHECK(l.centres[i].x + boxes[i].width / 2 <= l.width);
      CHECK(l.centres[i].y + boxes[i].height / 2 <= l.height);
      for (std::size_t j = 0; j < i; ++j)
        CHECK((std::abs(l.centres[i].y - l.centres[j].y) >= 30 ||
               std::abs(l.centres[i].x - l.centres[j].x) >= (boxes[i].width + boxes[j].width) / 2));
    }
    for (const auto& [from, to] : edges)
      CHECK(l.centres[static_cast<std::size_t>(from)].y <
            l.centres[static_cast<std::size_t>(to)].y);
    return l;
  };
  CHECK(check(0, {}).pieces.empty());
  CHECK(check(1, {}).pieces.empty());
  CHECK(check(3, {{0, 1}, {1, 2}, {0, 2}, {0, 2}}).pieces.size() == 4);
  // What reads nothing stands above its reader: 1 beside 2.
  const layered_layout late = check(4, {{0, 2}, {2, 3}, {1, 3}});
  CHECK(late.centres[1].y == late.centres[2].y);
  // A binary tree whose leaves come in a bad order.
  const layered_layout tree = check(7, {{0, 4}, {1, 5}, {2, 4}, {3, 5}, {4, 6}, {5, 6}});
  std::vector<std::pair<double, double>> pieces;
  for (const layered_layout::piece& p : tree.pieces)
    if (p.from.y < tree.centres[4].y) pieces.emplace_back(p.from.x, p.to.x);
  for (const auto& [from, to] : pieces)
    for (const auto& [other_from, other_to] : pieces) CHECK(!(from < other_from && to > other_to));
  std::vector<std::pair<int, int>> many;
  for (int i = 1; i < 200; ++i) {
    many.emplace_back(i * i * 31 % 97 % i, i);
    many.emplace_back(i / 2, i);
  }
  check(200, many);
}

}  // namespace explain_html_test
