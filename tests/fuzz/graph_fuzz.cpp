// SPDX-License-Identifier: MIT
// Graphs as text: what is read prints as a text that is read as the same graph, and is interpreted
// where it is small.
#include <vector>

#include "fuzz.hpp"
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>

namespace {

namespace ir = sinter::ir;

// Have all nodes a few elements, whose number is known?
bool is_small(const ir::graph& g) {
  for (int id = 0; id < g.size(); ++id) {
    std::int64_t elements = 1;
    for (const ir::dim d : g[id].shape) {
      if (!d.is_constant() || d.constant() > 64) return false;
      elements *= d.constant();
      if (elements > 64) return false;
    }
  }
  return g.size() <= 64;
}

void interpret(const ir::graph& g) {
  std::vector<ir::reference_tensor> arguments;
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != ir::op::argument) continue;
    const auto number = static_cast<std::size_t>(g.attributes(id)[1]);
    if (arguments.size() <= number) arguments.resize(number + 1);
    ir::reference_tensor& x = arguments[number];
    x.type = g[id].type;
    x.shape.clear();
    for (const ir::dim d : g[id].shape) x.shape.push_back(d.constant());
    x.data.assign(static_cast<std::size_t>(sinter::element_count(x.shape)), 1.0);
  }
  static_cast<void>(ir::interpret(g, arguments));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::read_or_refuse([&] {
    const ir::graph g = ir::parse_graph(fuzz::text_of(data, size));
    const std::string text = ir::to_text(g);
    try {
      fuzz::require(ir::to_text(ir::parse_graph(text)) == text, "another graph is read back");
    } catch (const sinter::error& e) {
      fuzz::require(false, e.what());
    }
    if (is_small(g)) interpret(g);
  });
  return 0;
}
