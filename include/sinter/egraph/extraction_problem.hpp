// SPDX-License-Identifier: MIT
//
// Extraction without the e-graph: dense class numbers, the options (nodes) of each class with their
// costs and distinct children, and for each class the options that need it. Every extractor is
// plain code over these arrays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

struct extraction_problem {
  struct child {
    std::uint32_t target = 0;  // class
    std::uint32_t count = 0;   // how often the node has it; only tree cost pays for each
  };
  struct option {
    node_id id = no_id;
    std::uint32_t owner = 0;  // class
    std::uint32_t first_child = 0;
    std::uint32_t child_count = 0;
    double cost = 0;
  };

  std::vector<option> options;              // ordered by class
  std::vector<std::uint32_t> first_option;  // by class, and one more
  std::vector<child> children;              // of an option: ordered by class, distinct
  std::vector<std::uint32_t> first_user;    // by class, and one more
  std::vector<std::uint32_t> users;         // options that have the class as child
  std::vector<std::uint32_t> roots;         // distinct classes
  std::vector<std::uint32_t> root_counts;   // how often each is one; only tree cost pays for each

  std::size_t classes() const { return first_option.size() - 1; }
  span<const child> children_of(std::uint32_t option_index) const {
    const option& o = options[option_index];
    return {children.data() + o.first_child, o.child_count};
  }
  span<const std::uint32_t> users_of(std::uint32_t c) const {
    return {users.data() + first_user[c], first_user[c + 1] - first_user[c]};
  }
  bool has_negative_cost() const {
    return std::any_of(options.begin(), options.end(), [](const option& o) { return o.cost < 0; });
  }
};

/// Makes an `extraction_problem` option by option.
class extraction_problem_builder {
 public:
  explicit extraction_problem_builder(std::size_t classes) : classes_(classes) {}

  /// A node of class `owner` with these classes as children, repeated as the node repeats them. A
  /// cost of plus infinity means that the node may not be selected. Throws `sinter::error` for a
  /// cost that is no number or minus infinity. A node with its own class as child can be part of no
  /// finite term and is left out.
  void add_option(std::uint32_t owner, node_id id, double cost, span<const std::uint32_t> targets) {
    if (std::isnan(cost) || cost == -std::numeric_limits<double>::infinity()) {
      raise(error("extract: the cost of node " + std::to_string(id) + " is " +
                  std::to_string(cost) + ", expected a number or plus infinity"));
    }
    if (std::isinf(cost)) return;
    sorted_.assign(targets.begin(), targets.end());
    std::sort(sorted_.begin(), sorted_.end());
    if (std::binary_search(sorted_.begin(), sorted_.end(), owner)) return;
    const auto first = static_cast<std::uint32_t>(out_.children.size());
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      if (i > 0 && sorted_[i] == sorted_[i - 1]) {
        ++out_.children.back().count;
      } else {
        out_.children.push_back({sorted_[i], 1});
      }
    }
    in_order_ = in_order_ && (out_.options.empty() || out_.options.back().owner <= owner);
    out_.options.push_back(
        {id, owner, first, static_cast<std::uint32_t>(out_.children.size()) - first, cost});
  }

  void add_root(std::uint32_t c) { out_.roots.push_back(c); }

  extraction_problem finish() {
    std::sort(out_.roots.begin(), out_.roots.end());
    const std::vector<std::uint32_t> repeated = std::exchange(out_.roots, {});
    for (std::size_t i = 0; i < repeated.size(); ++i) {
      if (i > 0 && repeated[i] == repeated[i - 1]) {
        ++out_.root_counts.back();
      } else {
        out_.roots.push_back(repeated[i]);
        out_.root_counts.push_back(1);
      }
    }
    if (!in_order_) {
      std::stable_sort(out_.options.begin(), out_.options.end(),
                       [](const auto& a, const auto& b) { return a.owner < b.owner; });
    }
    out_.first_option.assign(classes_ + 1, 0);
    for (const auto& o : out_.options) ++out_.first_option[o.owner + 1];
    out_.first_user.assign(classes_ + 1, 0);
    for (const auto& c : out_.children) ++out_.first_user[c.target + 1];
    for (std::size_t i = 0; i < classes_; ++i) {
      out_.first_option[i + 1] += out_.first_option[i];
      out_.first_user[i + 1] += out_.first_user[i];
    }
    out_.users.resize(out_.children.size());
    std::vector<std::uint32_t> fill(out_.first_user.begin(), out_.first_user.end() - 1);
    for (std::uint32_t i = 0; i < out_.options.size(); ++i) {
      for (const auto& c : out_.children_of(i)) out_.users[fill[c.target]++] = i;
    }
    return std::move(out_);
  }

 private:
  std::size_t classes_;
  bool in_order_ = true;
  extraction_problem out_;
  std::vector<std::uint32_t> sorted_;
};

/// The problem of an e-graph, and its class numbers.
struct flat_egraph {
  extraction_problem problem;
  std::vector<std::uint32_t> dense;  ///< by class id, canonical or not: class of the problem
};

/// `cost(class_id, enode_view)` is the cost of a node alone: a number, or plus infinity where the
/// node may not be selected. Throws `sinter::error` for anything else.
template <class Language, class Cost>
flat_egraph flatten(const egraph<Language>& graph, span<const class_id> roots, Cost&& cost) {
  flat_egraph out;
  out.dense.assign(graph.class_id_end(), no_id);
  std::uint32_t count = 0;
  for (const class_id id : graph.classes()) out.dense[id] = count++;
  for (class_id id = 0; id < graph.class_id_end(); ++id) out.dense[id] = out.dense[graph.find(id)];

  extraction_problem_builder builder(count);
  std::vector<std::uint32_t> targets;
  for (const class_id id : graph.classes()) {
    for (const enode_view& node : graph.nodes(id)) {
      targets.clear();
      for (const class_id c : node.children) targets.push_back(out.dense[c]);
      builder.add_option(out.dense[id], node.id, cost(id, node), targets);
    }
  }
  for (const class_id root : roots) builder.add_root(out.dense[root]);
  out.problem = builder.finish();
  return out;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
