// SPDX-License-Identifier: MIT
// What the optimizer did, as text: rules that fired, e-graph size, times, the nests with their tile
// programs, memory.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <sinter/function/program.hpp>

namespace sinter {

namespace detail {

inline std::string fixed(double x, int digits = 1) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

inline std::string in_bytes(std::size_t bytes) {
  if (bytes < 10'000) return std::to_string(bytes) + " B";
  if (bytes < 10'000'000) return fixed(static_cast<double>(bytes) / 1024) + " KiB";
  return fixed(static_cast<double>(bytes) / (1024 * 1024)) + " MiB";
}

inline std::string in_microseconds(double nanoseconds) { return fixed(nanoseconds / 1000) + " us"; }

class plan_printer {
 public:
  explicit plan_printer(const planning::plan& p) : p_(p) {}

  std::string nest_text(std::size_t number) const {
    const planning::nest& n = p_.nests[number];
    std::string out = "  nest " + std::to_string(number) + ": " + std::string(kind_name(n.kind)) +
                      " over " + p_.dims.to_string(n.space);
    if (n.inner_axes > 0)
      out += ", rows of the last " + std::to_string(n.inner_axes) +
             (n.inner_axes == 1 ? " axis" : " axes");
    if (n.kind == planning::nest_kind::column)
      out += ", reduces axes " + std::to_string(n.column_first) + ".." +
             std::to_string(n.column_last - 1);
    out += "  (predicted " + in_microseconds(n.predicted_nanoseconds) + ")\n";
    if (n.kind == planning::nest_kind::matmul)
      out += "    product of " + buffer_text(n.accesses[0]) + (n.transpose_a ? "^T" : "") +
             " and " + buffer_text(n.accesses[1]) + (n.transpose_b ? "^T" : "") + "\n";
    if (n.body.empty()) {
      for (const planning::access& a : n.accesses) out += "    reads " + buffer_text(a) + "\n";
      for (const planning::piece& piece : n.pieces)
        out += "    reads " + buffer_text(piece.source) + "\n";
      out += "    -> " + buffer_name(n.stores[0].buffer) + "\n";
      return out;
    }
    for (std::size_t i = 0; i < n.body.size(); ++i) out += step_text(n, static_cast<int>(i));
    return out;
  }

 private:
  static std::string_view kind_name(planning::nest_kind k) {
    switch (k) {
      case planning::nest_kind::tile: return "tiles";
      case planning::nest_kind::column: return "columns";
      case planning::nest_kind::matmul: return "matmul";
      case planning::nest_kind::assemble: return "assemble";
      case planning::nest_kind::gather: return "gather";
      case planning::nest_kind::scatter_add: return "scatter_add";
      case planning::nest_kind::alias: return "alias";
    }
    return "";
  }

  std::string buffer_name(int b) const {
    const planning::buffer& own = p_.buffers[static_cast<std::size_t>(b)];
    switch (own.place) {
      case planning::place::argument: return "argument " + std::to_string(own.number);
      case planning::place::output: return "output " + std::to_string(own.number);
      case planning::place::arena: return "arena+" + std::to_string(own.offset);
    }
    return "";
  }

  std::string buffer_text(const planning::access& a) const {
    std::string out = buffer_name(a.buffer) + " " +
                      p_.dims.to_string(p_.buffers[static_cast<std::size_t>(a.buffer)].shape);
    for (std::size_t i = a.steps.size(); i-- > 0;)
      out +=
          " | " + std::string(name(a.steps[i].code)) + " " + p_.dims.to_string(a.steps[i].result);
    return out;
  }

  static std::string fused_text(const ir::region& r) {
    std::string out = "fused{";
    for (int i = 0; i < r.node_count; ++i)
      out += (i == 0 ? "" : " ") + std::string(name(r.code(i)));
    return out + "}";
  }

  std::string step_text(const planning::nest& n, int i) const {
    const planning::step& s = n.body[static_cast<std::size_t>(i)];
    std::string out = "    %" + std::to_string(i) + " = ";
    using enum planning::step_kind;
    switch (s.kind) {
      case load:
        out += "load " + buffer_text(n.accesses[static_cast<std::size_t>(s.access)]);
        break;
      case scalar:
        out += "scalar " + buffer_text(n.accesses[static_cast<std::size_t>(s.access)]);
        break;
      case constant:
        out += "constant " + fixed(s.type == dtype::i64 ? static_cast<double>(s.constant)
                                                        : ir::double_of(s.constant),
                                   6);
        break;
      case extent: out += "extent " + p_.dims.to_string(s.extent); break;
      case iota: out += "iota along axis " + std::to_string(s.attribute); break;
      case random: out += "random stream " + std::to_string(s.attribute); break;
      case map:
        out += s.fused != nullptr ? fused_text(s.fused->structure) : std::string(name(s.code));
        break;
      case reduce: out += std::string(name(s.code)); break;
      case spread: out += "spread"; break;
      case product: out += "product"; break;
    }
    for (int o : s.operands) out += " %" + std::to_string(o);
    out += std::string(" : ") + std::string(name(s.type)) +
           (s.level == planning::level::row && n.inner_axes > 0 ? " per row" : "");
    for (const planning::store& st : n.stores)
      if (st.step == i) out += "  -> " + buffer_name(st.buffer);
    return out + "\n";
  }

  const planning::plan& p_;
};

// `times`: measured nanoseconds of the whole call, 0 if it was not measured.
inline std::string explain_text(const program::prepared_call& call,
                                const program_statistics& statistics, double measured) {
  const shape_class& c = call.shapes();
  const planning::planned& made = call.bucket().planned;
  const planning::plan& p = made.plan;
  std::string out = "graph: " + std::to_string(c.bound.size()) +
                    " nodes, e-graph: " + std::to_string(c.traced_nodes) + " -> " +
                    std::to_string(c.saturated.node_count()) + " e-nodes in " +
                    std::to_string(c.saturated.class_count()) + " classes, " +
                    fixed(c.report.seconds * 1e3, 2) + " ms of saturation\n";
  out += c.report.to_text();
  out += "superinstructions matched: " + std::to_string(c.fused_nodes) + "\n";
  out += "extraction: " + std::to_string(made.goals) + " goals, " +
         std::to_string(made.candidates) + " nests considered, " + fixed(made.seconds * 1e3, 2) +
         " ms; predicted " + in_microseconds(p.cost) + ", bound " + in_microseconds(p.cost_bound) +
         "\n";
  const plan_printer printer(p);
  for (std::size_t i = 0; i < p.nests.size(); ++i) out += printer.nest_text(i);
  out += "memory: arena " + in_bytes(p.arena_bytes) + ", lower bound " +
         in_bytes(p.lower_bound_bytes) + "\n";
  if (measured > 0) out += "measured: " + in_microseconds(measured) + "\n";
  out += "calls " + std::to_string(statistics.calls) + ", saturations " +
         std::to_string(statistics.saturations) + ", extractions " +
         std::to_string(statistics.extractions) +
         "; vectors: " + std::string(exec::instruction_set_name()) + "\n";
  return out;
}

}  // namespace detail

}  // namespace sinter
