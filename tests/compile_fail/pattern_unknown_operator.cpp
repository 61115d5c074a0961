// SPDX-License-Identifier: MIT
// expect: pattern_has_an_unknown_operator|call to consteval function .*rewrite<arithmetic>
// mention: pattern_has_an_unknown_operator
// lines <= 13
#include <array>

#include <sinter/egraph/rule.hpp>

struct arithmetic {
  static constexpr std::array<sinter::eqsat::operator_info, 1> operators{{{"mul", 2, true}}};
};

int main() {
  const auto typo = sinter::eqsat::rewrite<arithmetic>("typo", "(mull ?x ?x)", "?x");
  return typo.tag;
}
