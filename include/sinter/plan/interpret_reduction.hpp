// SPDX-License-Identifier: MIT
// Reductions of the interpreter of schedules: the accumulators, blocks, tiles and partials that a
// reduction plan names, in its order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/graph/scalar_semantics.hpp>
#include <sinter/plan/walk_iteration.hpp>
#include <sinter/support/pairwise.hpp>

namespace sinter::inline SINTER_ABI::planning::detail {

// What elements combine to; the position is argmax's.
struct reduced {
  double value = 0;
  std::int64_t position = -1;  // of nothing
};

class ordered_reduction {
 public:
  // `type`: of the elements.
  ordered_reduction(const reduction_plan& plan, dtype type) : plan_(plan), type_(type) {}

  /// Of element(position) for all positions of the loop.
  template <class Element>
  double run(const loop& l, std::int64_t size, const Element& element) const {
    reduced total = identity();
    const std::int64_t part = plan_.partials > 1 ? l.levels[loop::task].step : size;
    for (std::int64_t begin = 0; begin < size; begin += part) {
      reduced partial = identity();
      walk_tiles(l, begin, std::min(size, begin + part), [&](std::int64_t first, std::int64_t end) {
        partial = accumulate(partial, tile(first, end, element));
      });
      total = accumulate(total, partial);
    }
    if (plan_.monoid == ir::op::argmax)
      return static_cast<double>(std::max<std::int64_t>(0, total.position));
    return sums_wide() ? static_cast<double>(static_cast<float>(total.value)) : total.value;
  }

 private:
  // What tiles of f32 sum up to is added in f64.
  bool sums_wide() const { return plan_.monoid == ir::op::reduce_sum && type_ == dtype::f32; }
  reduced accumulate(const reduced& a, const reduced& b) const {
    return sums_wide() ? reduced{a.value + b.value, 0} : combine(a, b);
  }

  reduced identity() const {
    switch (plan_.monoid) {
      case ir::op::reduce_prod: return {1, -1};
      case ir::op::reduce_min: return {ir::highest_of(type_), -1};
      case ir::op::reduce_max: return {ir::lowest_of(type_), -1};
      default: return {0, -1};
    }
  }

  reduced combine(const reduced& a, const reduced& b) const {
    switch (plan_.monoid) {
      case ir::op::reduce_prod:
        return {ir::evaluate_scalar(ir::op::mul, type_, a.value, b.value), 0};
      case ir::op::reduce_max: return {ir::maximum(a.value, b.value), 0};
      case ir::op::reduce_min: return {ir::minimum(a.value, b.value), 0};
      case ir::op::argmax: {
        if (a.position < 0 || b.position < 0) return a.position < 0 ? b : a;
        // The first of equals; a NaN is the largest.
        const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
        const bool larger = b.value > a.value || (b_is_nan && !a_is_nan);
        return larger ? b : a;
      }
      default: return {ir::evaluate_scalar(ir::op::add, type_, a.value, b.value), 0};
    }
  }

  template <class Element>
  reduced tile(std::int64_t begin, std::int64_t end, const Element& element) const {
    std::vector<reduced> blocks;
    for (std::int64_t first = begin; first < end; first += plan_.block) {
      std::vector<reduced> accumulators(
          static_cast<std::size_t>(std::max<std::int64_t>(1, plan_.accumulators)), identity());
      const std::int64_t last = std::min(end, first + plan_.block);
      for (std::int64_t i = first; i < last; ++i) {
        reduced& own = accumulators[static_cast<std::size_t>(i - first) % accumulators.size()];
        own = combine(own, {element(i), i});
      }
      blocks.push_back(in_order(accumulators));
    }
    if (plan_.order == combination::in_order) return in_order(blocks);
    if (blocks.empty()) return identity();
    return pairwise<reduced>(blocks,
                             [&](const reduced& a, const reduced& b) { return combine(a, b); });
  }

  reduced in_order(const std::vector<reduced>& parts) const {
    reduced out = identity();
    for (const reduced& part : parts) out = combine(out, part);
    return out;
  }

  const reduction_plan& plan_;
  dtype type_;
};

}  // namespace sinter::inline SINTER_ABI::planning::detail
