// SPDX-License-Identifier: MIT
// All rules, theme by theme, and choices among them.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/rules/algebra.hpp>
#include <sinter/rules/composite.hpp>
#include <sinter/rules/convolution.hpp>
#include <sinter/rules/distribution.hpp>
#include <sinter/rules/elementwise.hpp>
#include <sinter/rules/indexing.hpp>
#include <sinter/rules/matmul.hpp>
#include <sinter/rules/movement.hpp>
#include <sinter/rules/recognition.hpp>
#include <sinter/rules/reduction.hpp>
#include <sinter/rules/scan.hpp>
#include <sinter/rules/strength.hpp>
#include <sinter/rules/windows.hpp>

namespace sinter::inline SINTER_ABI::rules {

/// Every rule, in an order that never changes. Made once; const and safe to read from several
/// threads.
inline std::span<const tensor_rule> all_rules() {
  static const rule_table rules = [] {
    rule_table out;
    out.reserve(1024);
    const auto append = [&out](rule_table&& theme) {
      std::ranges::move(theme, std::back_inserter(out));
    };
    append(algebra_rules());
    append(distribution_rules());
    append(strength_rules());
    append(recognition_rules());
    append(composite_rules());
    append(movement_rules());
    append(elementwise_rules());
    append(reduction_rules());
    append(window_rules());
    append(convolution_rules());
    append(matmul_rules());
    append(indexing_rules());
    append(scan_rules());
    std::vector<std::string_view> names;
    for (tensor_rule& rule : out) {
      const auto known = std::ranges::find(names, rule.name);
      rule.name_number = static_cast<std::size_t>(known - names.begin());
      if (known == names.end()) names.push_back(rule.name);
    }
    return out;
  }();
  return rules;
}

/// The names of all rules, each once, in the order of `all_rules()`.
inline std::vector<std::string_view> rule_names() {
  std::vector<std::string_view> out;
  for (const tensor_rule& rule : all_rules())
    if (rule.name_number == out.size()) out.push_back(rule.name);
  return out;
}

/// Which rules may be used.
struct rule_policy {
  // exact: only rules that give the same bits, or are the only way to run an op
  rounding allowed = rounding::reassociates;
  std::vector<std::string> disabled;  // names

  bool admits(const tensor_rule& rule) const {
    return (allowed == rounding::reassociates || rule.error != rounding::reassociates) &&
           std::ranges::find(disabled, rule.name) == disabled.end();
  }
};

}  // namespace sinter::inline SINTER_ABI::rules
