// SPDX-License-Identifier: MIT
// The generator of random graphs: its graphs are well formed, evaluate without an error, cover the
// ops, and are the same for the same seed.
#include "support/random_graph.hpp"

#include <array>
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include <sinter/graph/bind.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/graph/verify.hpp>

namespace random_graph_test {

using namespace sinter;

namespace {

std::vector<shape_vector> shapes_of(const std::vector<ir::reference_tensor>& arguments) {
  std::vector<shape_vector> out;
  for (const auto& a : arguments) out.push_back(a.shape);
  return out;
}

test::random_graph_options options_for(std::uint64_t seed) {
  return {static_cast<int>(5 + seed % 30), static_cast<test::extent_kind>(seed % 3), seed % 5 == 0};
}

bool same_bits(const std::vector<ir::reference_tensor>& a,
               const std::vector<ir::reference_tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].type != b[k].type || a[k].shape != b[k].shape) return false;
    for (std::size_t i = 0; i < a[k].data.size(); ++i)
      if (a[k].data[i] != b[k].data[i] && !(std::isnan(a[k].data[i]) && std::isnan(b[k].data[i])))
        return false;
  }
  return true;
}

}  // namespace

TEST_CASE("500 random graphs are well formed and have values; together they use every op") {
  std::array<int, ir::op_count> used{};
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto made = test::make_random_graph(seed, options_for(seed));
    INFO("seed " << seed << "\n" << ir::to_text(made.graph));
    REQUIRE_NOTHROW(ir::verify(made.graph));
    std::vector<ir::reference_tensor> results;
    REQUIRE_NOTHROW(results = ir::interpret(made.graph, made.arguments));
    REQUIRE(results.size() == made.graph.outputs.size());
    REQUIRE((results.size() >= 1 && results.size() <= 3));
    for (int id = 0; id < made.graph.size(); ++id)
      ++used[static_cast<std::size_t>(made.graph[id].code)];
  }
  for (int code = 0; code < ir::op_count; ++code) {
    const auto which = static_cast<ir::op>(code);
    INFO(std::string(ir::name(which)));
    if (which == ir::op::random_uniform || which == ir::op::bitcast ||  // below
        ir::info(which).kind == ir::kind::control || ir::is_custom(which))
      CHECK(used[static_cast<std::size_t>(code)] == 0);
    else
      CHECK(used[static_cast<std::size_t>(code)] > 0);
  }
}

TEST_CASE("random graphs of all dtypes are well formed, and use every dtype and bitcasts") {
  std::array<int, dtype_count> used{};
  int bitcasts = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::random_graph_options options = options_for(seed);
    options.all_dtypes = true;
    const auto made = test::make_random_graph(seed, options);
    INFO("seed " << seed << "\n" << ir::to_text(made.graph));
    REQUIRE_NOTHROW(ir::verify(made.graph));
    REQUIRE_NOTHROW(ir::interpret(made.graph, made.arguments));
    for (int id = 0; id < made.graph.size(); ++id) {
      ++used[static_cast<std::size_t>(made.graph[id].type)];
      bitcasts += made.graph[id].code == ir::op::bitcast ? 1 : 0;
    }
  }
  for (int type = 0; type < dtype_count; ++type) {
    INFO(name(static_cast<dtype>(type)));
    CHECK(used[static_cast<std::size_t>(type)] > 0);
  }
  CHECK(bitcasts > 0);
}

TEST_CASE("the same seed gives the same graph and data, another seed another graph") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto a = test::make_random_graph(seed, options_for(seed)),
               b = test::make_random_graph(seed, options_for(seed));
    CHECK(ir::to_text(a.graph) == ir::to_text(b.graph));
    CHECK(same_bits(a.arguments, b.arguments));
    CHECK(ir::to_text(a.graph) !=
          ir::to_text(test::make_random_graph(seed + 1, options_for(seed)).graph));
  }
}

TEST_CASE("binding a traced random graph to its shapes keeps its values") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto made = test::make_random_graph(seed, {15, test::extent_kind::traced_symbols, false});
    INFO("seed " << seed << "\n" << ir::to_text(made.graph));
    ir::graph bound;
    REQUIRE_NOTHROW(bound = ir::bind(made.graph, shapes_of(made.arguments)));
    REQUIRE_NOTHROW(ir::verify(bound));
    CHECK(
        same_bits(ir::interpret(made.graph, made.arguments), ir::interpret(bound, made.arguments)));
  }
}

}  // namespace random_graph_test
