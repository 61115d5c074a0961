// SPDX-License-Identifier: MIT
// Judges explanations over tensor terms by their values: what the text of a rule does not say is
// right if the reference interpreter gives both sides the same elements.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "class_check.hpp"
#include <sinter/egraph/check_explanation.hpp>
#include <sinter/rules/rule_set.hpp>

namespace sinter::test {

/// The terms of one explanation and their values for random arguments.
class valued_terms {
 public:
  valued_terms(const rules::tensor_language& language, const eqsat::term_list& terms,
               const std::vector<ir::reference_tensor>& arguments) {
    graph_.dims = language.terms().dims;
    graph_.symbol_values = language.terms().symbol_values;
    for (eqsat::term_id id = 0; id < terms.size(); ++id) {
      const eqsat::term_view term = terms[id];
      std::vector<int> in;
      for (eqsat::term_id child : term.children) in.push_back(node_[child]);
      const auto& payload = language.payload(term.payload);
      node_.push_back(
          ir::append(graph_, static_cast<ir::op>(term.op), in, payload.attributes, payload.dims));
    }
    values_ = ir::interpret_all(graph_, arguments);
  }

  const ir::reference_tensor& operator[](eqsat::term_id id) const {
    return values_[static_cast<std::size_t>(node_[id])];
  }
  bool same(eqsat::term_id a, eqsat::term_id b) const {
    return difference((*this)[a], (*this)[b], comparison::finite) <= 1e-5;
  }

 private:
  ir::graph graph_;
  std::vector<int> node_;  // by term
  std::vector<ir::reference_tensor> values_;
};

/// All rules as the checker reads them.
inline std::vector<eqsat::rule_text> texts_of_all_rules() {
  std::vector<eqsat::rule_text> out;
  for (const rules::tensor_rule& rule : rules::all_rules())
    out.push_back({rule.name,
                   {{rule.left, rule.right}},
                   rule.program.compute != nullptr,
                   rule.program.guard != nullptr});
  return out;
}

/// Judges by value; conditions are left to the values too. `values` must outlive the judges.
inline eqsat::judges judges_by(const valued_terms& values) {
  const auto equal = [&values](const eqsat::term_list&, eqsat::term_id a, eqsat::term_id b) {
    return values.same(a, b);
  };
  eqsat::judges out;
  out.literal = [&values](const eqsat::term_list&, eqsat::term_id id, std::string_view text) {
    char* end = nullptr;
    const std::string number(text);
    const double wanted = std::strtod(number.c_str(), &end);
    if (*end != 0) return false;
    for (double x : values[id].data)
      if (x != wanted) return false;
    return true;
  };
  out.computed = [equal](const eqsat::term_list& t, std::string_view, eqsat::term_id a,
                         eqsat::term_id b) { return equal(t, a, b); };
  out.condition = [](const auto&, auto, const auto&) { return true; };
  out.analysis = equal;
  out.given = [equal](const eqsat::term_list& t, std::string_view, eqsat::term_id a,
                      eqsat::term_id b) { return equal(t, a, b); };
  return out;
}

}  // namespace sinter::test
