// SPDX-License-Identifier: MIT
// Schedules as text: a line per buffer, then every item with its nest (views, tile program, stores)
// and what was decided for it. parse_schedule.hpp reads it back, all of it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <sinter/graph/print.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/plan/schedule_names.hpp>

namespace sinter::inline SINTER_ABI::planning {

class schedule_printer {
 public:
  explicit schedule_printer(const schedule& s) : s_(s) {}

  std::string text() const {
    std::string out = s_.once ? "schedule once\n" : "schedule\n";
    for (std::size_t i = 0; i < s_.symbols.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      out += "symbol " + std::to_string(i) + ": " + s_.plan.dims.symbol_name(number) + " in " +
             ir::to_string(s_.plan.dims.symbol_range(number)) + " = " +
             std::to_string(s_.symbols[i]) + "\n";
    }
    for (std::size_t i = 0; i < s_.plan.buffers.size(); ++i) out += buffer_line(i);
    for (std::size_t k = 0; k < s_.assigned.size(); ++k)
      if (s_.assigned[k] >= 0)
        out +=
            "output " + std::to_string(k) + " -> argument " + std::to_string(s_.assigned[k]) + "\n";
    if (!s_.assigned.empty()) out += "outputs " + std::to_string(s_.assigned.size()) + "\n";
    for (std::size_t i = 0; i < s_.items.size(); ++i) out += item_text(i);
    return out + critical_text() + "arena " + std::to_string(s_.plan.arena_bytes) +
           " bytes, lower bound " + std::to_string(s_.plan.lower_bound_bytes) + " bytes\nend\n";
  }

  std::string critical_text() const {
    return "critical path " + list(s_.critical.items) + ": " + number(s_.critical.nanoseconds) +
           " ns\n";
  }

  std::string item_text(std::size_t i) const {
    std::string out = "item " + std::to_string(i) + ": " + nest_text(s_.plan.nests[i], "  ");
    return out + decisions_text(i) + ", takes " + number(s_.plan.nests[i].predicted_nanoseconds) +
           " ns\n";
  }

  /// What was decided for an item, behind its nest; without the end of the last line.
  std::string decisions_text(std::size_t i) const {
    const schedule_item& item = s_.items[i];
    std::string out;
    for (const iteration& each : item.iterations) out += iteration_text(each);
    for (const reduction_plan& r : item.reductions)
      out += "  reduction " + std::to_string(r.iteration) +
             (r.step >= 0 ? " of %" + std::to_string(r.step) : "") + ": " +
             std::string(ir::name(r.monoid)) + ", blocks of " + std::to_string(r.block) + " " +
             std::string(word_of(r.order)) + ", " + std::to_string(r.accumulators) +
             " accumulators, " + std::to_string(r.partials) + " partials\n";
    for (const hint& h : item.hints)
      out += "  hint " + std::string(word_of(h.kind)) + " buffer " + std::to_string(h.buffer) +
             ": " + std::to_string(h.bytes) + " bytes\n";
    for (const dependency& d : item.depends_on)
      out += "  after item " + std::to_string(d.item) + ": " + std::string(word_of(d.kind)) +
             " in buffer " + std::to_string(d.buffer) + "\n";
    return out + "  does " + std::to_string(item.flops) + " flops, reads " +
           std::to_string(item.bytes_read) + " bytes, writes " +
           std::to_string(item.bytes_written) + " bytes";
  }

 private:
  // Exact: of a NaN that is not the usual one, the bits.
  static std::string number(double x) {
    const std::int64_t bits = ir::bits_of(x);
    const std::int64_t usual =
        ir::bits_of(std::copysign(std::numeric_limits<double>::quiet_NaN(), x));
    if (std::isnan(x) && bits != usual) return "bits " + std::to_string(bits);
    return ir::number_text(dtype::f64, x);
  }
  static std::string list(const auto& numbers) {
    std::string out;
    for (auto n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
    return "[" + out + "]";
  }
  std::string shape(const auto& extents) const { return s_.plan.dims.to_string(extents); }

  std::string buffer_line(std::size_t i) const {
    const buffer& b = s_.plan.buffers[i];
    const layout& l = s_.layouts[i];
    std::string out = "buffer " + std::to_string(i) + ": " + std::string(word_of(b.place)) + " " +
                      std::to_string(b.number) + " " + std::string(name(b.type)) + shape(b.shape);
    if (b.place == place::arena)
      out += " at " + std::to_string(b.offset) + ", " + std::to_string(b.bytes) + " bytes";
    for (const allocation& a : s_.allocations)
      if (a.buffer == static_cast<int>(i))
        out += ", alive " + std::to_string(a.first) + ".." + std::to_string(a.last) + " group " +
               std::to_string(a.group);
    return out + "; strides " + list(l.strides) + ", contiguous " + list(l.contiguous) +
           ", alignment " + std::to_string(l.alignment) + ", vectors of " +
           std::to_string(l.vector_width) + "\n";
  }

  std::string access_text(const access& a) const {
    std::string out = "buffer " + std::to_string(a.buffer) + " as " + shape(a.shape);
    for (const view_step& v : a.steps) {
      out +=
          " | " + std::string(ir::name(v.code)) + " " + shape(v.operand) + " to " + shape(v.result);
      if (!v.attributes.empty()) out += " by " + list(v.attributes);
      if (!v.dims.empty()) out += " with " + shape(v.dims);
    }
    return out;
  }

  static std::string region_text(const ir::region& r) {
    std::string out = "{" + std::string(name(r.type)) + " leaves " + std::to_string(r.leaf_count) +
                      " scalars " + std::to_string(r.scalar_leaves) + ":";
    for (int i = 0; i < r.node_count; ++i) {
      std::vector<int> operands;
      for (int k = 0; k < 3; ++k) operands.push_back(r.operand(i, k));
      out += (i == 0 ? " " : ", ") + std::string(ir::name(r.code(i))) + list(operands);
    }
    return out + "}";
  }

  std::string step_text(const step& s) const {
    std::string out(word_of(s.kind));
    switch (s.kind) {
      case step_kind::load:
      case step_kind::scalar: out += " access " + std::to_string(s.access); break;
      case step_kind::product:
        if (s.access >= 0) out += " access " + std::to_string(s.access);
        if (s.attribute != 0) out += " transposed";
        break;
      case step_kind::constant:
        out += " " + (is_wide_integer(s.type) ? std::to_string(s.constant)
                                              : number(ir::double_of(s.constant)));
        break;
      case step_kind::extent: out += " " + s_.plan.dims.to_string(s.extent); break;
      case step_kind::iota: out += " axis " + std::to_string(s.attribute); break;
      case step_kind::random: out += " stream " + std::to_string(s.attribute); break;
      case step_kind::map:
      case step_kind::reduce:
        out += " " + (s.fused != nullptr    ? region_text(s.fused->structure)
                      : s.custom != nullptr ? std::string(s.custom->name)
                                            : std::string(ir::name(s.code)));
        break;
      case step_kind::exponentials:
        if (s.attribute != 0) out += " guarded";
        break;
      case step_kind::spread:
      case step_kind::deviations: break;
    }
    if (!s.operands.empty()) out += " of " + list(s.operands);
    return out + " : " + std::string(name(s.type)) + (s.level == level::row ? " row" : "");
  }
  std::string body_text(const std::vector<step>& body, const std::string& indent) const {
    std::string out;
    for (std::size_t i = 0; i < body.size(); ++i)
      out += indent + "%" + std::to_string(i) + " = " + step_text(body[i]) + "\n";
    return out;
  }

  // " of cumulative_sum {from_end: 1}"
  static std::string custom_text(const nest& n) {
    std::string out;
    for (std::size_t i = 0; i < n.custom_attributes.size(); ++i)
      out += (i == 0 ? "" : ", ") + std::string(n.custom->attributes[i]) + ": " +
             number(n.custom_attributes[i]);
    return " of " + std::string(n.custom->name) + (out.empty() ? "" : " {" + out + "}");
  }

  // The rest of the line that names it, and the lines of what it has.
  std::string nest_text(const nest& n, const std::string& indent) const {
    std::string out = std::string(word_of(n.kind)) + " over " + shape(n.space);
    if (!n.axis_order.empty()) out += " order " + list(n.axis_order);
    if (n.inner_axes != 0) out += " inner " + std::to_string(n.inner_axes);
    if (n.column_first != 0 || n.column_last != 0)
      out += " reduces " + std::to_string(n.column_first) + ".." + std::to_string(n.column_last);
    if (n.transpose_a) out += " transpose_a";
    if (n.transpose_b) out += " transpose_b";
    if (n.packed_b) out += " packed_b";
    if (n.winograd) out += " winograd";
    if (n.transpose_values) out += " transpose_values";
    if (n.product_in_scratch) out += " product_in_scratch";
    if (n.score_scale != 1) out += " scale " + number(n.score_scale);
    if (n.hidden.any)
      out +=
          " hides " + number(n.hidden.value) + " behind " + s_.plan.dims.to_string(n.hidden.offset);
    if (n.axis != 0) out += " axis " + std::to_string(n.axis);
    if (n.exclusive) out += " exclusive";
    if (n.reverse) out += " reverse";
    if (ir::bits_of(n.fill) != 0) out += " fill " + number(n.fill);
    if (n.custom != nullptr) out += custom_text(n);
    out += "\n";
    for (std::size_t i = 0; i < n.accesses.size(); ++i)
      out += indent + "access " + std::to_string(i) + ": " + access_text(n.accesses[i]) + "\n";
    for (const piece& p : n.pieces)
      out += indent + "piece at " + shape(p.offset) + " over " + shape(p.space) + "\n" +
             body_text(p.body, indent + "  ") + indent + "done\n";
    for (std::size_t operand = 0; operand < 2; ++operand)
      for (const operand_part& part : n.prologues[operand])
        out += indent + "operand " + std::to_string(operand) + " from " +
               s_.plan.dims.to_string(part.offset) + " over " + shape(part.space) + "\n" +
               body_text(part.body, indent + "  ") + indent + "done\n";
    out += body_text(n.body, indent);
    for (const store& st : n.stores)
      out += indent + "store " + (n.body.empty() ? "" : "%" + std::to_string(st.step) + " ") +
             (st.summed ? "summed " : "") + "to buffer " + std::to_string(st.buffer) + "\n";
    for (const nest& part : n.parts)
      out += indent + "part: " + nest_text(part, indent + "  ") + indent + "takes " +
             number(part.predicted_nanoseconds) + " ns\n";
    return out;
  }

  std::string iteration_text(const iteration& it) const {
    std::string out =
        "  iteration " + std::string(word_of(it.work)) + " " + std::to_string(it.part) + ":";
    for (std::size_t i = 0; i < it.axes.size(); ++i)
      out += (i == 0 ? " " : ", ") + it.axes[i].name + " " +
             s_.plan.dims.to_string(it.axes[i].extent) + " " +
             std::string(word_of(it.axes[i].role));
    out += "\n";
    for (const loop& l : it.loops) {
      out += "    loop " + list(l.axes) + ":";
      for (std::size_t k = 0; k < l.levels.size(); ++k)
        out += (k == 0 ? " " : ", ") + std::string(word_of(l.levels[k].to)) + " " +
               std::to_string(l.levels[k].step);
      out += "\n";
    }
    return out;
  }

  const schedule& s_;
};

/// All of a schedule, in the form that parse_schedule reads.
inline std::string to_text(const schedule& s) { return schedule_printer(s).text(); }

}  // namespace sinter::inline SINTER_ABI::planning
