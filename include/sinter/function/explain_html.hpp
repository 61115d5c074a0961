// SPDX-License-Identifier: MIT
// What the optimizer did, as one page of HTML that needs nothing else: no scripts, no other files,
// no network. It is XML, too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/exec/parallel.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/function/explain.hpp>
#include <sinter/function/explained.hpp>
#include <sinter/function/graph_drawing.hpp>
#include <sinter/function/graph_svg.hpp>
#include <sinter/function/program_source.hpp>
#include <sinter/support/add_once.hpp>
#include <sinter/support/html.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

inline constexpr std::string_view page_style = R"(
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2024;--dim:#667079;--line:#d5dae0;--panel:#f6f7f9;
--edge:#98a2ad;--fill:84%;--stroke:38%;--bar:48%}
@media (prefers-color-scheme:dark){:root{--paper:#14171a;--ink:#e3e7eb;--dim:#98a2ad;--line:#343b43;
--panel:#1c2126;--edge:#5d6873;--fill:27%;--stroke:60%;--bar:52%}}
body{margin:0 auto;padding:24px;max-width:1240px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:32px 0 8px}h3{font-size:15px;margin:0 0 6px}
pre,code,svg text,.mono{font-family:ui-monospace,"DejaVu Sans Mono",monospace}
.note,.dim{color:var(--dim)}.note{margin:4px 0 10px;font-size:13px}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(168px,1fr));gap:8px;margin:16px 0 0;padding:0}
.facts div{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:8px 12px}
.facts dt{color:var(--dim);font-size:12px}.facts dd{margin:0;font-size:18px;font-weight:600}
.facts small{display:block;color:var(--dim);font-size:12px;font-weight:400}
.graphs{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:16px}
.graphs.wide{grid-template-columns:minmax(0,1fr)}.graphs>section{min-width:0}.graphs h2{margin-top:24px}
.picture{overflow:auto;max-height:80vh;border:1px solid var(--line);border-radius:8px;background:var(--panel)}
.picture svg{display:block;margin:0 auto}
.fit{font-size:13px;color:var(--dim)}section:has(.fit input:checked) .picture svg{width:100%;height:auto}
.lists{overflow:auto;max-height:60vh}
svg text{font-size:11px;text-anchor:middle;fill:var(--ink)}svg .type{fill:var(--dim)}svg a{text-decoration:none}
.edges{fill:none;stroke:var(--edge);stroke-width:1.1}
.argument rect,.output rect{fill:var(--paper);stroke:var(--edge)}.output rect{stroke-width:2.2}
.gone rect{fill:none;stroke:var(--edge);stroke-dasharray:4 3}.gone text{fill:var(--dim)}
.op rect{fill:hsl(var(--h) 62% var(--fill));stroke:hsl(var(--h) 50% var(--stroke))}
.op a:hover rect{stroke-width:2.4}
.swatch{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px;
background:hsl(var(--h) 58% var(--bar))}
.stack{display:flex;height:22px;border-radius:5px;overflow:hidden;background:var(--panel);margin:2px 0 10px}
.stack a{display:block;min-width:1px;background:hsl(var(--h) 58% var(--bar));box-shadow:inset -1px 0 var(--paper)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,540px),1fr));gap:14px;align-items:start}
.card{border:1px solid var(--line);border-left:5px solid hsl(var(--h) 58% var(--bar));border-radius:8px;
padding:12px 14px;background:var(--panel);min-width:0;scroll-margin:12px}
.card:target{outline:2px solid hsl(var(--h) 58% var(--bar))}
.card h3{font-weight:600;overflow-wrap:anywhere}
.rules{margin:0 0 8px;font-size:13px}.rules span{display:inline-block;border:1px solid var(--line);border-radius:10px;
padding:0 8px;margin:2px 4px 2px 0;background:var(--paper)}
.bars{display:grid;grid-template-columns:auto 1fr auto;gap:3px 10px;align-items:center;font-size:13px;margin:0 0 8px}
.bars i{display:block;height:10px;border-radius:3px;background:var(--line)}
.bars b{display:block;height:10px;border-radius:3px;min-width:1px;background:hsl(var(--h) 58% var(--bar))}
.bars .guess{opacity:.55}.bars .amount{text-align:right;font-variant-numeric:tabular-nums}
.memory{margin:0 0 8px;padding:0;list-style:none;font-size:13px}
details{font-size:13px}summary{cursor:pointer;color:var(--dim)}
pre{font-size:12px;line-height:1.45;overflow:auto;margin:6px 0 0;white-space:pre}
)";

// Graphs of more nodes are drawn one below the other.
inline constexpr std::size_t most_beside = 30;

class explain_page {
 public:
  explicit explain_page(const explained& e)
      : e_(e), names_{static_cast<int>(e.made->plan.nests.size())} {}

  std::string text() const {
    const drawn_graph before = traced_graph(e_), after = plan_drawing(e_).take();
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<title>sinter: what the optimizer did</title>\n<style>" +
        std::string(page_style) + "</style></head>\n<body>\n<h1>What the optimizer did</h1>\n";
    out += html::element("p", "class=\"note\"", subtitle());
    out += facts(before, after);
    const bool beside = std::max(before.nodes.size(), after.nodes.size()) <= most_beside;
    out += std::string("<div class=\"graphs") + (beside ? "" : " wide") + "\">\n" +
           graph_section("As it was traced", before,
                         "Colours are those of the nests that compute the values. Dashed: rules "
                         "made it superfluous, or it is computed in another form.") +
           graph_section("As it is computed", after,
                         "The steps of the nests; constants stand in the steps that read them.") +
           "</div>\n";
    out += "<h2>Nests</h2>\n" + overview() + "<div class=\"cards\">\n";
    for (std::size_t i = 0; i < e_.made->plan.nests.size(); ++i)
      out += card(e_.replay, i, static_cast<int>(i));
    out += "</div>\n";
    if (e_.preparation) out += preparation();
    out +=
        "<h2>As text</h2>\n<details><summary>everything, with rules and what was decided for "
        "each nest</summary><pre>" +
        html::escaped(explain_text(e_)) + "</pre></details>\n";
    return out + "</body></html>\n";
  }

 private:
  // Of a nest, in bytes.
  static std::int64_t bytes_of(const planning::schedule_item& item) {
    return item.bytes_read + item.bytes_written;
  }
  static std::string bytes_text(std::int64_t bytes) {
    return planning::in_bytes(static_cast<std::size_t>(bytes));
  }
  static std::string percent(double part, double whole) {
    return planning::fixed(whole > 0 ? std::clamp(100 * part / whole, 0.0, 100.0) : 0, 2) + "%";
  }

  std::string subtitle() const {
    const int threads = exec::thread_count();
    std::string out = "sinter, instruction set " + std::string(exec::instruction_set_name()) +
                      ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    return out + extents_text(e_.shapes->bound, e_.symbols);
  }

  static std::string fact(std::string_view what, const std::string& value,
                          const std::string& more = "") {
    return "<div>" + html::element("dt", "", what) + "<dd>" + html::escaped(value) +
           (more.empty() ? "" : html::element("small", "", more)) + "</dd></div>\n";
  }

  std::string facts(const drawn_graph& before, const drawn_graph& after) const {
    const shape_class& c = *e_.shapes;
    const planning::planned& made = *e_.made;
    const planning::plan& decided = e_.replay.schedule.plan;
    const std::size_t nests = made.plan.nests.size();
    std::string out = "<dl class=\"facts\">\n";
    out +=
        fact("ops", std::to_string(before.ops()) + " \xe2\x86\x92 " + std::to_string(after.ops()),
             "traced \xe2\x86\x92 computed");
    out += fact("nests", std::to_string(nests),
                e_.preparation
                    ? std::to_string(e_.preparation->part.plan->nests.size()) + " more run once"
                    : "");
    out += fact("measured", planning::in_microseconds(e_.replay.total()), "all nests");
    out += fact("predicted", planning::in_microseconds(made.plan.cost), optimality_text(made.plan));
    out += fact("memory at its peak", planning::in_bytes(decided.arena_bytes),
                "lower bound " + planning::in_bytes(decided.lower_bound_bytes));
    out += fact("saturation", planning::fixed(c.report.seconds * 1e3, 1) + " ms",
                std::to_string(c.traced_nodes) + " \xe2\x86\x92 " +
                    std::to_string(c.saturated.node_count()) + " e-nodes");
    out += fact("choice of nests", planning::fixed(made.seconds.total() * 1e3, 1) + " ms",
                std::to_string(made.candidates) + " considered");
    return out + "</dl>\n";
  }

  std::string graph_section(std::string_view title, const drawn_graph& g,
                            std::string_view note) const {
    return "<section>" + html::element("h2", "", title) +
           html::element("p", "class=\"note\"", note) + graph_svg(g, names_).text() +
           "</section>\n";
  }

  // Which part of the whole each nest is, in time and in bytes.
  std::string overview() const {
    std::vector<double> time = e_.replay.nanoseconds, bytes;
    for (const planning::schedule_item& item : e_.replay.schedule.items)
      bytes.push_back(static_cast<double>(bytes_of(item)));
    const double all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
    return stack("Time, measured: " + planning::in_microseconds(e_.replay.total()), time,
                 [](double x) { return planning::in_microseconds(x); }) +
           stack("Bytes read and written: " + bytes_text(static_cast<std::int64_t>(all)), bytes,
                 [](double x) { return bytes_text(static_cast<std::int64_t>(x)); });
  }

  template <class Text>
  std::string stack(const std::string& title, const std::vector<double>& amounts, Text text) const {
    const double all = std::accumulate(amounts.begin(), amounts.end(), 0.0);
    std::string out = html::element("div", "class=\"dim\"", title) + "<div class=\"stack\">";
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      const int nest = static_cast<int>(i);
      if (amounts[i] <= 0) continue;
      out += "<a href=\"#" + names_.anchor(nest) + "\" title=\"" +
             html::escaped(names_.name(nest) + ": " + text(amounts[i])) + "\" style=\"" +
             nest_names::hue(nest) + ";width:" + percent(amounts[i], all) + "\"></a>";
    }
    return out + "</div>\n";
  }

  static std::string bar(std::string_view what, double amount, double most, const std::string& text,
                         std::string_view kind = "") {
    return html::element("span", "class=\"dim\"", what) + "<i><b class=\"" + std::string(kind) +
           "\" style=\"width:" + percent(amount, most) + "\"></b></i>" +
           html::element("span", "class=\"amount\"", text);
  }

  // Nest `i` of the part, with `number` on the page.
  std::string card(const explained::plan_part& part, std::size_t i, int number) const {
    const planning::plan& p = *part.plan;
    const planning::nest& n = p.nests[i];
    const planning::plan_printer printer(p);
    const planning::schedule_item& item = part.schedule.items[i];
    double longest = 0, most = 0;
    for (std::size_t k = 0; k < p.nests.size(); ++k) {
      longest = std::max({longest, part.nanoseconds[k], p.nests[k].predicted_nanoseconds});
      most = std::max({most, static_cast<double>(part.schedule.items[k].bytes_read),
                       static_cast<double>(part.schedule.items[k].bytes_written)});
    }
    std::string out = "<section class=\"card\" id=\"" + names_.anchor(number) + "\" style=\"" +
                      nest_names::hue(number) + "\">\n";
    out += "<h3><span class=\"swatch\"></span>" + html::escaped(title_of(printer, i, number)) +
           "</h3>\n";
    if (!part.origins[i].empty()) {
      out += "<p class=\"rules\"><span class=\"dim\">found by</span>";
      for (const std::string& rule : part.origins[i]) out += html::element("span", "", rule);
      out += "</p>\n";
    }
    out += "<div class=\"bars\">\n" +
           bar("measured", part.nanoseconds[i], longest,
               planning::in_microseconds(part.nanoseconds[i])) +
           bar("predicted", n.predicted_nanoseconds, longest,
               planning::in_microseconds(n.predicted_nanoseconds), "guess") +
           bar("read", static_cast<double>(item.bytes_read), most, bytes_text(item.bytes_read)) +
           bar("written", static_cast<double>(item.bytes_written), most,
               bytes_text(item.bytes_written)) +
           "</div>\n";
    out += memory_text(p, n);
    const bool is_short = p.nests.size() <= 4;
    out += "<details" + std::string(is_short ? " open=\"open\"" : "") +
           "><summary>ops and what was decided</summary><pre>" +
           html::escaped(printer.nest_text(i, part.nanoseconds[i], part.origins[i]) +
                         planning::schedule_printer(part.schedule).decisions_text(i)) +
           "</pre></details>\n";
    return out + "</section>\n";
  }

  // The plan that runs once counts from 0, too.
  std::string title_of(const planning::plan_printer& printer, std::size_t i, int number) const {
    const std::string title = printer.title(i);
    return names_.name(number) + title.substr(title.find(':'));
  }

  // Each buffer once, in the order of the nest.
  static std::string memory_text(const planning::plan& p, const planning::nest& n) {
    std::vector<int> read, written;
    for (const planning::access& a : n.accesses) add_once(read, a.buffer);
    for (const planning::store& each : n.stores) add_once(written, each.buffer);
    const planning::plan_printer printer(p);
    const auto line = [&](std::string_view what, const std::vector<int>& buffers) {
      std::string text;
      for (int b : buffers) {
        const planning::buffer& own = p.buffers[static_cast<std::size_t>(b)];
        text += (text.empty() ? "" : ", ") + printer.buffer_name(b) + " " +
                std::string(name(own.type)) + p.dims.to_string(own.shape);
      }
      return "<li>" + html::element("span", "class=\"dim\"", what) + " " + html::escaped(text) +
             "</li>";
    };
    std::string out = "<ul class=\"memory\">";
    if (!read.empty()) out += line("reads", read);
    return out + line("writes", written) + "</ul>\n";
  }

  std::string preparation() const {
    const explained::prepared& p = *e_.preparation;
    std::string out = "<h2>Prepared once from frozen arguments</h2>\n";
    out += html::element("p", "class=\"note\"",
                         std::to_string(p.values) + (p.values == 1 ? " value, " : " values, ") +
                             planning::in_bytes(p.bytes) + "; computed " + std::to_string(p.runs) +
                             (p.runs == 1 ? " time" : " times"));
    out += "<div class=\"cards\">\n";
    for (std::size_t i = 0; i < p.part.plan->nests.size(); ++i)
      out += card(p.part, i, names_.calls + static_cast<int>(i));
    return out + "</div>\n";
  }

  const explained& e_;
  nest_names names_;
};

}  // namespace detail

SINTER_INLINE std::string program::explain_html(prepared_call& call,
                                                span<const detail::argument_memory> arguments,
                                                span<const std::int64_t> symbols) {
  const detail::explained gathered = explained(call, arguments, symbols);
  return detail::explain_page(gathered).text();
}

}  // namespace sinter::inline SINTER_ABI
