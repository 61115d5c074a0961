// SPDX-License-Identifier: MIT
//
// What an e-graph and its runner do in another way while proofs are recorded. Function pointers,
// because a program that never asks for proofs should not compile them either, and because GCC
// inlines less of the hot code when it sees a second user of it (10 % of the time of a small
// saturation at -O3).
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/egraph/enode.hpp>
#include <sinter/egraph/language.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

template <class Language>
class runner;

/// What is recorded; see proof_record.hpp.
class proof_record;

/// Sets the hooks; see proof_recorder.hpp.
template <class Language>
class proof_recorder;

template <class Language>
struct proof_hooks {
  using graph = egraph<Language>;

  class_id (*add)(graph&, std::uint16_t op, std::uint32_t payload, span<const class_id> children,
                  reason why);
  bool (*add_to_class)(graph&, class_id target, std::uint16_t op, std::uint32_t payload,
                       span<const class_id> children, reason why);
  bool (*unite)(graph&, class_id a, class_id b);
  void (*congruent)(graph&, node_id a, node_id b);
  void (*classes_joined)(graph&, class_id winner, class_id loser, merge_result merged);
  void (*data_from)(graph&, class_id canonical, node_id node);
  void (*modify)(graph&, class_id canonical);
  void (*search)(runner<Language>&, std::size_t rule, std::uint32_t previous_epoch);
  bool (*apply)(runner<Language>&, std::size_t rule, reason why);
};

}  // namespace sinter::inline SINTER_ABI::eqsat
