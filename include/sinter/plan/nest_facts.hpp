// SPDX-License-Identifier: MIT
// What checks of a nest ask of its plan at given extents: buffers, and shapes as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <sinter/plan/access_index.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning::detail {

class nest_facts {
 public:
  /// `item`: the nest's place in the schedule, for messages.
  nest_facts(const plan& p, std::span<const std::int64_t> symbols, std::size_t item)
      : p_(p), symbols_(symbols), item_(item) {}

  [[noreturn]] void fail(const std::string& field, const std::string& reason) const {
    raise(graph_error("verify_schedule: item " + std::to_string(item_) + ", " + field + ": " +
                      reason));
  }
  void require(bool holds, const std::string& field, const char* reason) const {
    if (!holds) fail(field, reason);
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool is_buffer(int b) const { return b >= 0 && at(b) < p_.buffers.size(); }
  const buffer& buffer_at(int b) const { return p_.buffers[at(b)]; }
  const buffer& target(const nest& n) const { return buffer_at(n.stores[0].buffer); }
  shape_vector evaluate(const ir::symbolic_shape& s) const {
    return evaluate_shape(p_.dims, s, symbols_);
  }
  std::int64_t evaluate(ir::dim d) const { return p_.dims.evaluate(d, symbols_); }
  std::int64_t count(const ir::symbolic_shape& s) const { return element_count(evaluate(s)); }

 protected:
  const plan& p_;
  std::span<const std::int64_t> symbols_;
  std::size_t item_;
};

}  // namespace sinter::inline SINTER_ABI::planning::detail
