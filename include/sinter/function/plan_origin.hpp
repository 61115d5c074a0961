// SPDX-License-Identifier: MIT
// What a plan belongs to: digests of what decides which plan is made, and of what runs it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <sinter/exec/processor.hpp>
#include <sinter/function/plan_file.hpp>
#include <sinter/function/program.hpp>
#include <sinter/plan/machine_text.hpp>
#include <sinter/rules/rule_set.hpp>
#include <sinter/support/hash.hpp>
#include <sinter/support/span.hpp>
#include <sinter/support/version.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Not the number of threads: plans are the same for any.
inline plan_origin this_origin() {
  const exec::processor p = exec::this_processor();
  std::uint64_t rules = hash_seed;
  for (const rules::tensor_rule& rule : rules::all_rules())
    for (const std::string_view part :
         {rule.name, std::string_view(rule.left), std::string_view(rule.right)})
      rules = hash_string(part, rules);
  return {std::to_string(SINTER_VERSION_MAJOR) + "." + std::to_string(SINTER_VERSION_MINOR) + "." +
              std::to_string(SINTER_VERSION_PATCH),
          p.instructions,
          p.model + ", L2 " + std::to_string(p.level2_bytes / 1024) + " KiB, L3 " +
              std::to_string(p.level3_bytes / 1024) + " KiB",
          digits_of(rules)};
}

// What a program runs that a graph does not say: superinstructions, and the rules of custom ops.
inline std::uint64_t digest_of(span<const ir::instruction> instructions,
                               span<const ir::custom_op* const> customs) {
  std::uint64_t out = hash_seed;
  for (const ir::custom_op* op : customs)
    for (const ir::custom_rule& rule : op->rules)
      for (const std::string_view part : {op->name, rule.left, rule.right})
        out = hash_string(part, out);
  for (const ir::instruction& each : instructions) {
    const ir::region& r = each.structure;
    out = hash_combine(out, r.type);
    out = hash_combine(hash_combine(out, r.leaf_count), r.scalar_leaves);
    out = hash_range(span(r.nodes.data(), r.node_count), out);
  }
  return out;
}

// The switches among the options by name, in the order of the text.
template <class Options>
auto switches_of(Options& o) {
  using named = std::pair<std::string_view, decltype(&o.reassociate)>;
  return std::array{
      named("reassociation", &o.reassociate), named("superinstructions", &o.superinstructions),
      named("rows", &o.nests.rows),           named("epilogues", &o.nests.epilogues),
      named("streamed", &o.nests.streamed),   named("grouped", &o.nests.grouped),
      named("winograd", &o.nests.winograd),   named("moments", &o.nests.moments),
      named("sums", &o.nests.sums),           named("siblings", &o.nests.siblings),
      named("pieces", &o.nests.pieces),       named("recompute", &o.nests.recompute)};
}

// What decides about a plan, as one line.
inline std::string options_text(const program_options& o) {
  std::string out;
  for (const auto& [name, set] : switches_of(o)) {
    out += *set ? "" : "no ";
    out += name;
    out += ", ";
  }
  out +=
      "budget " + std::to_string(o.memory_budget) + ", work " + std::to_string(o.extraction_work);
  std::uint64_t without = hash_range(o.nests.without);
  for (const std::string& name : o.disabled_rules) without = hash_string(name, without);
  if (!o.nests.without.empty() || !o.disabled_rules.empty())
    out += ", without " + digits_of(without);
  return out;
}

inline std::string machine_line(const planning::machine& m) {
  std::string out;
  for (const auto& [name, field] : planning::machine_fields)
    out += (out.empty() ? "" : ", ") + std::string(name) + " " +
           planning::detail::number_text(m.*field);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::detail
