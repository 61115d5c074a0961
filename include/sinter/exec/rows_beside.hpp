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
#include <sinter/exec/reduce.hpp>
#include <sinter/exec/reduce_lanes.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/graph/region.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

struct no_rows_beside {
  template <int U>
  [[gnu::always_inline]] void work(std::int64_t) {}
  [[gnu::always_inline]] no_rows_beside begin_block() const { return {}; }
  [[gnu::always_inline]] void end_block(no_rows_beside) {}
};

// What is done in one block of a kernel's row, in registers.
template <Floating T>
struct block_beside {
  const T* scaled;
  T* products;
  const T* searched;
  bool streams;
  simd<T> factor;
  number_accumulators<monoid::max, T> found{};

  // The U registers from element i on. Rows may lie whole pages apart: all loads are issued before
  // a store, of this or of the kernel, which they would seem to read from.
  template <int U>
  [[gnu::always_inline]] void work(std::int64_t i) {
    if (searched != nullptr) found.template add<U>(searched + i);
    if (scaled == nullptr) return;
    simd<T> next[std::size_t{U}];
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) next[u] = mul<T>(load<T>(scaled + i + u * lanes<T>), factor);
    store_step<T>(products + i, next, streams);
  }
};

template <Floating T>
class two_rows_beside {
 public:
  explicit two_rows_beside(const ir::rows_beside& rows) : rows_(rows) {}

  [[gnu::always_inline]] block_beside<T> begin_block() const {
    return {scaled(), products(), reduced(), rows_.streaming && is_aligned<T>(products()),
            factor()};
  }
  [[gnu::always_inline]] void end_block(const block_beside<T>& block) {
    largest_ = max_or_second<T>(largest_, block.found.all());
    numbers_ = numbers_ & block.found.numbers;
  }

  // The elements behind the last whole register of n, and the largest element of all. With NaN
  // somewhere, and where the order decides which of two zeros it is, that is looked for again.
  void finish(std::int64_t n) const {
    const std::int64_t rest = n % lanes<T>, whole = n - rest;
    if (scaled() != nullptr && rest != 0)
      store_part<T>(products() + whole, rest,
                    mul<T>(load_part<T>(scaled() + whole, rest, T(1)), factor()));
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
  const T* scaled() const { return static_cast<const T*>(rows_.scaled); }
  T* products() const { return static_cast<T*>(rows_.products); }
  const T* reduced() const { return static_cast<const T*>(rows_.reduced); }
  simd<T> factor() const {
    return simd<T>(rows_.scaled == nullptr ? T(1) : *static_cast<const T*>(rows_.factor));
  }
  static simd<T> nothing() { return simd<T>(identity_of<monoid::max, T>()); }

  const ir::rows_beside& rows_;
  simd<T> largest_ = nothing();
  simd_mask<T> numbers_ = are_numbers<T>(nothing(), nothing());
};

}  // namespace sinter::inline SINTER_ABI::exec::detail
