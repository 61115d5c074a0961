// SPDX-License-Identifier: MIT
// A plan's nests as text, with their tile programs and times.
#pragma once

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include <sinter/graph/graph.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::planning {

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

// What several ops run as one nest are, where it took more than element-wise fusion; else empty.
inline std::string_view fused_form(const nest& n) {
  if (n.kind == nest_kind::streamed) return "streamed";
  if (n.kind == nest_kind::grouped) return "grouped";
  if (!std::ranges::all_of(n.pieces, is_copied)) return "pieces";
  if (const step* second = second_of_pair(n); second != nullptr)
    return second->kind == step_kind::deviations ? "moments" : "exponentials";
  const bool maps =
      std::ranges::any_of(n.body, [](const step& s) { return s.kind == step_kind::map; });
  if (!maps) return "";
  if (n.kind == nest_kind::matmul) return "epilogue";
  if (n.kind == nest_kind::column) return "column nest";
  return n.kind == nest_kind::tile && n.inner_axes > 0 ? "row nest" : "";
}

class plan_printer {
 public:
  explicit plan_printer(const plan& p) : p_(p) {}

  // What a nest is and what it loops over.
  std::string title(std::size_t number) const {
    const nest& n = p_.nests[number];
    return "nest " + std::to_string(number) + ": " +
           std::string(n.custom != nullptr ? n.custom->name : kind_name(n.kind)) + " over " +
           p_.dims.to_string(n.space);
  }

  // Without a measured time where that is 0. `found_by`: what led from the traced graph to the
  // nest, oldest first.
  std::string nest_text(std::size_t number, double measured_nanoseconds = 0,
                        std::span<const std::string> found_by = {}) const {
    const nest& n = p_.nests[number];
    std::string out = "  " + title(number);
    if (n.inner_axes > 0)
      out += ", rows of the last " + std::to_string(n.inner_axes) +
             (n.inner_axes == 1 ? " axis" : " axes");
    if (n.kind == nest_kind::column)
      out += ", reduces axes " + std::to_string(n.column_first) + ".." +
             std::to_string(n.column_last - 1);
    out += "  (predicted " + in_microseconds(n.predicted_nanoseconds);
    if (measured_nanoseconds > 0) out += ", measured " + in_microseconds(measured_nanoseconds);
    out += ")\n";
    for (std::size_t i = 0; i < found_by.size(); ++i)
      out += (i == 0 ? "    found by: " : " -> ") + found_by[i];
    if (!found_by.empty()) out += "\n";
    if (n.kind == nest_kind::grouped) {
      for (const nest& part : n.parts)
        out += "    a part over " + p_.dims.to_string(part.space) + ", predicted alone " +
               in_microseconds(part.predicted_nanoseconds) + "\n" + product_text(part) +
               body_text(part);
      return out;
    }
    if (n.kind == nest_kind::matmul || n.kind == nest_kind::streamed)
      out += prologue_text(n) + product_text(n);
    if (n.body.empty()) {
      if (n.pieces.empty())
        for (const access& a : n.accesses) out += "    reads " + buffer_text(a) + "\n";
      for (const piece& p : n.pieces) out += piece_text(n, p);
      out += "    -> " + buffer_name(n.stores[0].buffer) + "\n";
      return out;
    }
    out += body_text(n);
    if (n.kind == nest_kind::streamed)
      out += "    softmax of each row of %" + std::to_string(n.stores[0].step) +
             (n.score_scale == 1 ? "" : " * " + fixed(n.score_scale, 6)) + ", which weighs " +
             buffer_text(n.accesses[2]) + (n.transpose_values ? "^T" : "") + "  -> " +
             buffer_name(n.stores[0].buffer) + "\n";
    if (n.kind == nest_kind::streamed && n.hidden.any)
      out += "    blocks of columns behind row + " + p_.dims.to_string(n.hidden.offset) +
             " are left out\n";
    return out;
  }

  // Where a buffer lies.
  std::string buffer_name(int b) const {
    const buffer& own = p_.buffers[static_cast<std::size_t>(b)];
    switch (own.place) {
      case place::argument: return "argument " + std::to_string(own.number);
      case place::output: return "output " + std::to_string(own.number);
      case place::prepared: return "prepared " + std::to_string(own.number);
      case place::arena: return "arena+" + std::to_string(own.offset);
    }
    return "";
  }

  static std::string_view kind_name(nest_kind k) {
    switch (k) {
      case nest_kind::tile: return "tiles";
      case nest_kind::column: return "columns";
      case nest_kind::matmul: return "matmul";
      case nest_kind::grouped: return "grouped matmul";
      case nest_kind::streamed: return "streamed";
      case nest_kind::assemble: return "assemble";
      case nest_kind::gather: return "gather";
      case nest_kind::scatter_add: return "scatter_add";
      case nest_kind::scan: return "scan";
      case nest_kind::custom: return "custom";
      case nest_kind::alias: return "alias";
      case nest_kind::pack: return "pack for products";
    }
    return "";
  }

 private:
  std::string buffer_text(const access& a) const {
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

  static bool is_computed(const nest& n, std::size_t operand) {
    return !n.prologues[operand].empty();
  }

  // An operand of a product: a buffer, or computed on the way.
  std::string operand_text(const nest& n, std::size_t operand) const {
    if (n.kind != nest_kind::streamed || !is_computed(n, operand))
      return buffer_text(n.accesses[operand]);
    return (operand == 0 ? "a " : "b ") + p_.dims.to_string(n.accesses[operand].shape);
  }

  std::string prologue_text(const nest& n) const {
    std::string out;
    for (const std::size_t operand : {std::size_t{0}, std::size_t{1}})
      for (const operand_part& part : n.prologues[operand]) {
        out += std::string("    columns from ") + p_.dims.to_string(part.offset) + " of " +
               (operand == 0 ? "a" : "b") + ", on the way:\n";
        out += part_text(n, part.body);
      }
    return out;
  }

  std::string piece_text(const nest& n, const piece& p) const {
    if (is_copied(p))
      return "    reads " + buffer_text(n.accesses[static_cast<std::size_t>(p.body[0].access)]) +
             "\n";
    return "    at " + p_.dims.to_string(p.offset) + ", computed:\n" + part_text(n, p.body);
  }

  std::string part_text(const nest& n, const std::vector<step>& body) const {
    std::string out;
    for (std::size_t i = 0; i < body.size(); ++i)
      out += "      %" + std::to_string(i) + " = " + step_text(n, body[i]) + "\n";
    return out;
  }

  std::string product_text(const nest& n) const {
    const std::string packed = n.packed_b ? "packed " : "";
    std::string out = "    product of " + operand_text(n, 0) + (n.transpose_a ? "^T" : "") +
                      " and " + packed + operand_text(n, 1) + (n.transpose_b ? "^T" : "") +
                      (n.winograd ? ", by tiles (Winograd)\n" : "\n");
    for (std::size_t i = 0; i < n.body.size(); ++i) {
      const step& s = n.body[i];
      if (s.kind == step_kind::product && s.access >= 0)
        out += "    and with " + packed +
               buffer_text(n.accesses[static_cast<std::size_t>(s.access)]) +
               (s.attribute != 0 ? "^T" : "") + ": %" + std::to_string(i) + "\n";
    }
    return out;
  }

  std::string body_text(const nest& n) const {
    std::string out;
    for (std::size_t i = 0; i < n.body.size(); ++i) {
      out += "    %" + std::to_string(i) + " = " + step_text(n, n.body[i]);
      for (const store& st : n.stores)
        if (st.step == static_cast<int>(i) && n.kind != nest_kind::streamed)
          out += (st.summed ? "  summed over rows -> " : "  -> ") + buffer_name(st.buffer);
      out += "\n";
    }
    return out;
  }

  std::string step_text(const nest& n, const step& s) const {
    std::string out;
    using enum step_kind;
    switch (s.kind) {
      case load:
        out += "load " + buffer_text(n.accesses[static_cast<std::size_t>(s.access)]);
        break;
      case scalar:
        out += "scalar " + buffer_text(n.accesses[static_cast<std::size_t>(s.access)]);
        break;
      case constant:
        out += "constant " + fixed(is_wide_integer(s.type) ? static_cast<double>(s.constant)
                                                           : ir::double_of(s.constant),
                                   6);
        break;
      case extent: out += "extent " + p_.dims.to_string(s.extent); break;
      case iota: out += "iota along axis " + std::to_string(s.attribute); break;
      case random: out += "random stream " + std::to_string(s.attribute); break;
      case map:
        out += s.fused != nullptr    ? fused_text(s.fused->structure)
               : s.custom != nullptr ? std::string(s.custom->name)
                                     : std::string(name(s.code));
        break;
      case reduce: out += std::string(name(s.code)); break;
      case spread: out += "spread"; break;
      case product: out += "product"; break;
      case deviations: out += "squared deviations"; break;
      case exponentials:
        out += s.attribute != 0 ? "exponentials from a finite largest" : "exponentials";
        break;
    }
    for (int o : s.operands) out += " %" + std::to_string(o);
    return out + " : " + std::string(name(s.type)) +
           (s.level == level::row && n.inner_axes > 0 ? " per row" : "");
  }

  const plan& p_;
};

}  // namespace sinter::inline SINTER_ABI::planning
