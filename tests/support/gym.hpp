// SPDX-License-Identifier: MIT
// Reads the e-graphs of extraction-gym (the JSON of egraph-serialize): {"nodes": {id: {"op",
// "children": [node ids], "eclass", "cost" = 1, "subsumed" = false}}, "root_eclasses": [ids]}. A
// child names a node and stands for that node's class; other keys are ignored.
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <sinter/egraph/extraction_problem.hpp>

namespace gym {

/// The problem of a file; an option's id is the node's position
/// among the file's node names in order. Subsumed nodes may be
/// selected, as in the gym. Throws `sinter::io_error` for what is not such a file: JSON that does
/// not parse, a child that names no node, a root that is no class.
inline sinter::eqsat::extraction_problem read_problem(std::istream& in) {
  using nlohmann::json;
  const auto fail = [](const std::string& what) { throw sinter::io_error("gym: " + what); };
  try {
    const json file = json::parse(in);
    std::map<std::string, std::uint32_t> class_of_node, number_of_class;
    for (const auto& [id, node] : file.at("nodes").items()) {
      const auto name = node.at("eclass").get<std::string>();
      const auto number =
          number_of_class.try_emplace(name, static_cast<std::uint32_t>(number_of_class.size()));
      class_of_node.emplace(id, number.first->second);
    }
    sinter::eqsat::extraction_problem_builder builder(number_of_class.size());
    std::uint32_t position = 0;
    std::vector<std::uint32_t> children;
    for (const auto& [id, node] : file.at("nodes").items()) {
      children.clear();
      for (const auto& child : node.value("children", json::array())) {
        const auto found = class_of_node.find(child.get<std::string>());
        if (found == class_of_node.end()) fail("a child of " + id + " names no node");
        children.push_back(found->second);
      }
      builder.add_option(class_of_node.at(id), position++, node.value("cost", 1.0), children);
    }
    for (const auto& root : file.value("root_eclasses", json::array())) {
      const auto found = number_of_class.find(root.get<std::string>());
      if (found == number_of_class.end()) fail("root " + root.dump() + " is no class");
      builder.add_root(found->second);
    }
    return builder.finish();
  } catch (const nlohmann::json::exception& problem) {
    throw sinter::io_error(std::string("gym: ") + problem.what());
  }
}

inline sinter::eqsat::extraction_problem read_problem(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw sinter::io_error("gym: cannot open " + path);
  return read_problem(in);
}

}  // namespace gym
