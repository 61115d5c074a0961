// SPDX-License-Identifier: MIT
// Terms from text, for tests: `(+ x (* 2 y))` into an e-graph or into a plain list. A language's
// `leaf` says which operator and payload a name or number is.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph.hpp>

namespace sinter::test {

/// `make(op, payload, children)` builds what stands for a term; `leaf(word)` gives {op, payload}.
template <class Language, class Handle, class Leaf, class Make>
class term_reader {
 public:
  term_reader(std::string_view text, Leaf leaf, Make make)
      : rest_(text), leaf_(leaf), make_(make) {}

  Handle read() {
    if (!take('(')) {
      const auto [op, payload] = leaf_(word());
      return make_(op, payload, std::vector<Handle>{});
    }
    const int op = eqsat::find_operator<Language>(word());
    REQUIRE(op >= 0);
    std::vector<Handle> children;
    while (!take(')')) children.push_back(read());
    return make_(static_cast<std::uint16_t>(op), 0u, children);
  }

 private:
  bool take(char wanted) {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    REQUIRE_FALSE(rest_.empty());
    if (rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    const std::size_t length = rest_.find_first_of(" ()");
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(out.size());
    return out;
  }

  std::string_view rest_;
  Leaf leaf_;
  Make make_;
};

/// Adds the term to an e-graph that records proofs.
template <class Language, class Leaf>
eqsat::class_term add_term(eqsat::egraph<Language>& graph, std::string_view text, Leaf leaf) {
  const auto make = [&](std::uint16_t op, std::uint32_t payload,
                        const std::vector<eqsat::class_term>& children) {
    return eqsat::add_term<Language>(graph, op, payload, children);
  };
  return term_reader<Language, eqsat::class_term, Leaf, decltype(make)>(text, leaf, make).read();
}

/// Appends the term to a list, nothing shared.
template <class Language, class Leaf>
eqsat::term_id append_term(eqsat::term_list& terms, std::string_view text, Leaf leaf) {
  const auto make = [&](std::uint16_t op, std::uint32_t payload,
                        const std::vector<eqsat::term_id>& children) {
    return terms.append(op, payload, children);
  };
  return term_reader<Language, eqsat::term_id, Leaf, decltype(make)>(text, leaf, make).read();
}

}  // namespace sinter::test
