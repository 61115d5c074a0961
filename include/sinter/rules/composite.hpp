// SPDX-License-Identifier: MIT
// Every composite equals its expansion (graph/composite.hpp), so it meets the same thing written by
// hand in one class, and parts of it (a row's maximum, a variance) are shared with gradients that
// need them. Element-wise composites are expanded too: their gradients use parts of them.
#pragma once

#include <optional>

#include <sinter/graph/composite.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace composite {

template <op Code>
std::optional<class_id> expansion(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  std::vector<int> in{side["?x"].id};
  std::vector<std::int64_t> attributes;
  if constexpr (ir::info(Code).arity == 2) in.push_back(side["?y"].id);
  if constexpr (Code != op::cross_entropy) attributes = side.attributes("?a");
  return side.finish(ir::expand(side.terms(), Code, in, attributes));
}

inline std::optional<class_id> sum_windows_expansion(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const int in[] = {side["?x"].id};
  return side.finish(ir::expand(side.terms(), op::sum_windows, in, side.attributes("?a"),
                                side.payload_dims("?a")));
}

template <op Code>
std::optional<class_id> elementwise_expansion(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const int in[] = {side["?x"].id};
  return side.finish(ir::expand_elementwise(side.terms(), Code, in));
}

}  // namespace composite

inline rule_table composite_rules() {
  using enum phase;
  using enum rounding;
  using namespace composite;
  return {
      {"expand-softmax", expand, defines, "(softmax[?a] ?x)", expansion<op::softmax>},
      {"expand-log-softmax", expand, defines, "(log_softmax[?a] ?x)", expansion<op::log_softmax>},
      {"expand-layer-norm", expand, defines, "(layer_norm[?a] ?x)", expansion<op::layer_norm>},
      {"expand-rms-norm", expand, defines, "(rms_norm[?a] ?x)", expansion<op::rms_norm>},
      {"expand-first-max", expand, exact, "(first_max[?a] ?x)", expansion<op::first_max>},
      {"expand-cross-entropy", expand, defines, "(cross_entropy ?x ?y)",
       expansion<op::cross_entropy>},
      {"expand-rope", expand, defines, "(rope[?a] ?x ?y)", expansion<op::rope>},
      {"expand-sum-windows", expand, defines, "(sum_windows[?a] ?x)", sum_windows_expansion},
      {"expand-silu", expand, reassociates, "(silu ?x)", elementwise_expansion<op::silu>},
      {"expand-gelu", expand, reassociates, "(gelu ?x)", elementwise_expansion<op::gelu>},
      {"expand-gelu-tanh", expand, reassociates, "(gelu_tanh ?x)",
       elementwise_expansion<op::gelu_tanh>},
      {"expand-softplus", expand, reassociates, "(softplus ?x)",
       elementwise_expansion<op::softplus>},
  };
}

}  // namespace sinter::inline SINTER_ABI::rules
