// SPDX-License-Identifier: MIT
// What a kernel does for the rows beside its own. Exponentials wait for multiply-adds alone: loads,
// stores and maxima of other rows fit between them. (Softmax over rows of 1024 in L2 of a Zen 4, ns
// per register of 16: 4.2 without, 3.4 so; in a loop by hand 3.9, 3.3 with the scaling alone, 3.7
// with the search alone, 3.2 with both. On a Xeon 0.89 of the time.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/map_kernel.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_lanes.hpp>
#include <sinter/exec/reduce_row.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/streamed_row.hpp>
#include <sinter/graph/region.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

struct no_rows_beside {
  template <int U>
  [[gnu::always_inline]] void work(std::int64_t) {}
  [[gnu::always_inline]] no_rows_beside begin_block() const { return {}; }
  [[gnu::always_inline]] void end_block(no_rows_beside) {}
};

// A row that is multiplied by a factor, register by register.
template <Floating T>
struct scaled_row {
  const T* from = nullptr;
  T* to = nullptr;
  std::int64_t left = 0;  // elements that are left of those that are scaled in steps
  bool streams = false;
  simd<T> factor = simd<T>(T(1));

  // The next U registers, if there are as many. Rows may lie whole pages apart: all loads are
  // issued before a store, which they would seem to read from.
  template <int U>
  [[gnu::always_inline]] void scale() {
    constexpr std::int64_t count = U * lanes<T>;
    if (left < count) return;
    simd<T> next[std::size_t{U}];
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) next[u] = mul<T>(load<T>(from + u * lanes<T>), factor);
    store_step<T>(to, next, streams);
    from += count;
    to += count;
    left -= count;
  }
  // So many more, in no steps, through the caches.
  void scale_some(std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += lanes<T>)
      store_part<T>(to + i, count - i, mul<T>(load_part<T>(from + i, count - i, T(1)), factor));
    from += count;
    to += count;
  }
};

// What is done in one block of a kernel's row, in registers.
template <Floating T>
struct block_beside {
  scaled_row<T> scaled;
  const T* searched;
  number_accumulators<monoid::max, T> found{};

  // The U registers from element i on, before a store of the kernel.
  template <int U>
  [[gnu::always_inline]] void work(std::int64_t i) {
    if (searched != nullptr) found.template add<U>(searched + i);
    scaled.template scale<U>();
  }
};

template <Floating T>
class two_rows_beside {
 public:
  two_rows_beside(std::int64_t n, const ir::rows_beside& rows) : rows_(rows) {
    if (rows.scaled == nullptr) return;
    scaled_ = {static_cast<const T*>(rows.scaled), static_cast<T*>(rows.products), n, false,
               simd<T>(*static_cast<const T*>(rows.factor))};
    if (!rows.streaming) return;
    const streamed_part past = begin_streaming<T>(scaled_.to, n);
    scaled_.scale_some(past.begin);
    scaled_.left = past.end - past.begin;
    scaled_.streams = past.any();
    behind_ = n - past.end;
  }

  [[gnu::always_inline]] block_beside<T> begin_block() const { return {scaled_, reduced()}; }
  [[gnu::always_inline]] void end_block(const block_beside<T>& block) {
    scaled_ = block.scaled;
    largest_ = max_or_second<T>(largest_, block.found.all());
    numbers_ = numbers_ & block.found.numbers;
  }

  // What blocks left over, and the largest element of all. With NaN somewhere, and where the order
  // decides which of two zeros it is, that is looked for again.
  void finish(std::int64_t n) {
    while (scaled_.left >= lanes<T>) scaled_.template scale<1>();
    scaled_.scale_some(scaled_.left + behind_);
    const std::int64_t rest = n % lanes<T>, whole = n - rest;
    if (reduced() == nullptr) return;
    simd<T> all = largest_;
    simd_mask<T> numbers = numbers_;
    if (rest != 0) {
      const simd<T> last = load_part<T>(reduced() + whole, rest, identity_of<monoid::max, T>());
      all = max_or_second<T>(all, last);
      numbers = numbers & are_numbers<T>(last, last);
    }
    T out = reduce_lanes<T>(all, [](simd<T> a, simd<T> b) { return max_or_second<T>(a, b); });
    if (out == 0 || !xsimd::all(numbers)) out = reduce_row<monoid::max, T>(n, reduced());
    *static_cast<T*>(rows_.result) = result_of_row<monoid::max, T>(out);
  }

 private:
  const T* reduced() const { return static_cast<const T*>(rows_.reduced); }
  static simd<T> nothing() { return simd<T>(identity_of<monoid::max, T>()); }

  const ir::rows_beside& rows_;
  scaled_row<T> scaled_;
  std::int64_t behind_ = 0;  // elements of it behind those that are scaled in steps
  simd<T> largest_ = nothing();
  simd_mask<T> numbers_ = are_numbers<T>(nothing(), nothing());
};

}  // namespace sinter::inline SINTER_ABI::exec::detail
