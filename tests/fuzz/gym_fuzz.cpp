// SPDX-License-Identifier: MIT
// library: nlohmann_json::nlohmann_json
// The JSON of extraction-gym, and extraction from what was read.
#include <cmath>
#include <sstream>

#include "../support/gym.hpp"
#include "fuzz.hpp"
#include <sinter/egraph/extract.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace eq = sinter::eqsat;
  fuzz::read_or_refuse([&] {
    std::istringstream in{std::string(fuzz::text_of(data, size))};
    const eq::extraction_problem problem = gym::read_problem(in);
    const auto tree = eq::solve(problem, {.how = eq::method::tree});
    const auto dag = eq::solve(problem, {.work = 20'000});
    fuzz::require(!std::isnan(tree.cost) && !std::isnan(dag.cost), "a cost that is no number");
    fuzz::require(std::isfinite(tree.cost) || std::isinf(dag.cost) || std::isinf(tree.cost),
                  "a choice whose cost is unknown");
  });
  return 0;
}
