// SPDX-License-Identifier: MIT
// Rules from text: the left side, a line break, the right side. What is a rule is applied.
#include "../support/math_language.hpp"
#include "fuzz.hpp"
#include <sinter/egraph/runner.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace eq = sinter::eqsat;
  const std::string_view text = fuzz::text_of(data, size);
  const std::size_t middle = std::min(text.find('\n'), text.size());
  fuzz::read_or_refuse([&] {
    const std::string_view right = text.substr(std::min(middle + 1, text.size()));
    const std::vector<math::rule> rules{
        eq::parse_rewrite<math::language>("rule", text.substr(0, middle), right)};
    math::graph g;
    math::add_microbenchmark_seeds(g);
    eq::saturate(g, rules, {.nodes = 300, .iterations = 3});
  });
  return 0;
}
