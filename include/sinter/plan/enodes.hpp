// SPDX-License-Identifier: MIT
// Which e-nodes a nest stands for: what it computes, and the movements through which it reads.
// Nothing is planned by them; they are what `explain` traces back to the graph as it was written.
#pragma once

#include <vector>

#include <sinter/plan/candidate.hpp>
#include <sinter/plan/view.hpp>
#include <sinter/support/add_once.hpp>

namespace sinter::inline SINTER_ABI::planning {

/// The e-nodes of a candidate, first that of its root, each once; none where it stores a constant
/// or an extent. Without those of views that are chosen among other ways to read a value.
inline std::vector<eqsat::node_id> enodes_of(const value_graph& g, const candidate& c) {
  std::vector<eqsat::node_id> out;
  const auto add = [&](eqsat::node_id node) { add_once(out, node); };
  const auto add_views = [&](int value) {
    for (eqsat::node_id node : resolve(g, value, value == c.root).nodes) add(node);
  };
  const auto form_of = [&](int v, int f) -> const form& {
    return g[v].forms[static_cast<std::size_t>(f)];
  };
  for (eqsat::node_id node : c.weighted.nodes) add(node);
  if (c.form >= 0) add(form_of(c.root, c.form).node);
  for (eqsat::node_id node : c.pair.nodes) add(node);
  for (const auto& [v, f] : c.inside.body)
    if (v == c.root) add(form_of(v, f).node);
  for (const summed_value& s : c.sums) add(form_of(s.sum, s.form).node);
  for (const auto& [v, f] : c.inside.body) add(form_of(v, f).node);
  for (int leaf : c.inside.leaves) add_views(leaf);
  for (int factor : c.inside.factors)
    if (factor >= 0) add_views(factor);
  for (std::size_t k = 0; k < c.gathered.size(); ++k)
    if (c.gathered[k] >= 0) {
      add(joined_view(g, c.inside.factors[k])->node);
      add_views(c.gathered[k]);
    }
  if (c.kind == nest_kind::streamed) add_views(c.weighted.values);
  if (c.kind == nest_kind::assemble)
    for (int operand : form_of(c.root, c.form).operands)
      if (!c.inside.computes(operand)) add_views(operand);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::planning
