// SPDX-License-Identifier: MIT
// Where the largest element is: the first of several, NaN before all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_lanes.hpp>
#include <sinter/exec/reduce_row.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

template <class T>
bool is_larger(T x, T best) {
  if constexpr (Floating<T>)
    return x > best || (x != x && best == best);
  else
    return x > best;
}

// The first of `largest` in a row that has it.
template <class T>
std::int64_t position_of(T largest, std::int64_t n, const T* x) {
  std::int64_t i = 0;
  if constexpr (Floating<T>) {
    const simd<T> wanted(largest);
    const bool wants_nan = largest != largest;
    for (; i + lanes<T> <= n; i += lanes<T>) {
      const simd<T> here = load<T>(x + i);
      if (xsimd::any(wants_nan ? is_nan<T>(here) : here == wanted)) break;
    }
  }
  while (is_larger(largest, x[i])) ++i;
  return i;
}

// The largest value is found at full speed, then its first position; both run over data that is in
// the cache.
template <class T>
void argmax_row(std::int64_t n, const void* x, void* accumulator) {
  const auto* element = static_cast<const T*>(x);
  auto& state = *static_cast<argmax_state<T>*>(accumulator);
  if (n <= 0) return;
  const T largest = reduce_row<monoid::max>(n, element);
  if (state.count == 0 || is_larger(largest, state.value)) {
    state.value = largest;
    state.index = state.count + position_of(largest, n, element);
  }
  state.count += n;
}

template <class T>
void argmax_whole_row(std::int64_t n, const void* x, void* result) {
  argmax_state<T> state{};
  argmax_row<T>(n, x, &state);
  *static_cast<std::int64_t*>(result) = state.index;
}

// As many rows as a register has lanes.
template <Floating T>
void argmax_rows_of_register(std::int64_t n, const std::byte* x, std::int64_t row_step,
                             std::byte* results, std::int64_t result_step) {
  const rows_of_register<T> rows(n, x, row_step);
  constexpr auto lane_count = std::size_t{rows.count};
  alignas(64) T each[lane_count];
  reduce_rows_of_register<monoid::max, T>(n, x, row_step, reinterpret_cast<std::byte*>(each),
                                          sizeof(T));
  const auto write = [&](int i, std::int64_t place) {
    *reinterpret_cast<std::int64_t*>(results + i * result_step) = place;
  };
  if (n > lanes<T>) {
    for (int i = 0; i < rows.count; ++i) write(i, position_of(each[i], n, rows[i]));
    return;
  }
  simd<T> places[lane_count];
  alignas(64) T count[lane_count];
#pragma GCC unroll 16
  for (int i = 0; i < rows.count; ++i) count[i] = static_cast<T>(i);
  const simd<T> positions = load<T>(count), behind(static_cast<T>(lanes<T>));
#pragma GCC unroll 16
  for (int i = 0; i < rows.count; ++i) {
    const simd<T> here = load_part<T>(rows[i], n, identity_of<monoid::max, T>());
    places[place_of_lane<T>(i)] =
        select<T>((here == simd<T>(each[i])) | is_nan<T>(here), positions, behind);
  }
  store<T>(each, reduce_each<T>(places, [](simd<T> a, simd<T> b) {
             return combine_numbers<monoid::min, T>(a, b);
           }));
#pragma GCC unroll 16
  for (int i = 0; i < rows.count; ++i) write(i, static_cast<std::int64_t>(each[i]));
}

template <class T>
constexpr whole_rows_function argmax_whole_rows() {
  if constexpr (Floating<T>)
    return &rows_by_registers<lanes<T>, &argmax_rows_of_register<T>, &argmax_whole_row<T>>;
  else
    return &rows_one_by_one<&argmax_whole_row<T>>;
}

template <class T>
void argmax_column(std::int64_t rows, std::int64_t columns, const void* x, std::int64_t row_stride,
                   ir::column_walk, void* accumulator) {
  const auto* element = static_cast<const T*>(x);
  auto* state = static_cast<argmax_state<T>*>(accumulator);
  for (std::int64_t i = 0; i < rows; ++i, element += row_stride)
    for (std::int64_t j = 0; j < columns; ++j) {
      const bool better = state[j].count == 0 || is_larger(element[j], state[j].value);
      state[j] = {better ? element[j] : state[j].value, better ? state[j].count : state[j].index,
                  state[j].count + 1};
    }
}

template <class T>
void argmax_combine(std::int64_t n, const void* other, void* accumulator) {
  const auto* behind = static_cast<const argmax_state<T>*>(other);
  auto* state = static_cast<argmax_state<T>*>(accumulator);
  for (std::int64_t j = 0; j < n; ++j) {
    if (behind[j].count == 0) continue;
    if (state[j].count == 0 || is_larger(behind[j].value, state[j].value)) {
      state[j].value = behind[j].value;
      state[j].index = state[j].count + behind[j].index;
    }
    state[j].count += behind[j].count;
  }
}

template <class T>
void argmax_identity(std::int64_t n, void* accumulator) {
  std::fill_n(static_cast<argmax_state<T>*>(accumulator), n, argmax_state<T>{});
}

template <class T>
void argmax_finish(std::int64_t n, const void* accumulator, void* result) {
  const auto* state = static_cast<const argmax_state<T>*>(accumulator);
  auto* index = static_cast<std::int64_t*>(result);
  for (std::int64_t j = 0; j < n; ++j) index[j] = state[j].index;
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
