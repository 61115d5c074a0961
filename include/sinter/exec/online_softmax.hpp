// SPDX-License-Identifier: MIT
// Softmax over rows that come in blocks of columns, and the sum it weighs: the monoid (max, sum of
// exp, sum of exp times values). When a block raises the largest element of a row, what was summed
// before is scaled down (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include <sinter/exec/exponential.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

// What is known of a row: the largest score so far, and the sum of exp(scale (score - largest)).
template <class T>
struct softmax_state {
  T largest;
  T sum;
};

/// A block of rows, row-major with `pitch` elements from row to row.
struct row_block {
  void* at;
  std::int64_t rows, columns, pitch;
};

/// The functions of one dtype. `states` holds state_bytes per row.
struct online_softmax {
  std::size_t state_bytes;
  /// Rows of which nothing was seen.
  void (*begin)(std::int64_t rows, void* states);
  /// Turns a block of scores into weights exp(scale (score - largest so far)), for a scale above
  /// zero, and brings the rows of `sums` to the new largest score. While a row is -infinity
  /// throughout its weights are 0.
  void (*weigh)(const row_block& scores, double scale, void* states, const row_block& sums);
  /// result = sums / sum of weights; NaN for rows that are -infinity throughout, as softmax has it.
  void (*finish)(const row_block& sums, const void* states, const row_block& result);
  /// Does `score` weigh exactly 0 in all rows, whatever comes?
  bool (*outweighs)(std::int64_t rows, const void* states, double scale, double score);
  /// Are all elements finite? Then they may be left out of a sum that gives them a weight of 0.
  bool (*is_finite)(const row_block& values);
};

namespace detail {

// Rows that are worked on side by side: their ends (combining the lanes of a register) overlap, and
// 8 rows of 512 floats stay in L1 from the search for the largest to exp.
inline constexpr std::int64_t softmax_rows = 8;

template <Floating T>
using lane_rows = T[softmax_rows][static_cast<std::size_t>(lanes<T>)];

// f over the lanes of every row, into lane 0; in the order of reduce_lanes.
template <Floating T, class F>
void combine_lanes(std::int64_t rows, lane_rows<T>& lane, F f) {
  for (int width = lanes<T> / 2; width > 0; width /= 2)
    for (std::int64_t r = 0; r < rows; ++r)
      for (int i = 0; i < width; ++i) lane[r][i] = f(lane[r][i], lane[r][i + width]);
}

// The first elements of a register, and -infinity behind them.
template <Floating T>
[[gnu::always_inline]] inline simd<T> load_scores(const T* x, std::int64_t count) {
  return load_part<T>(x, count, -std::numeric_limits<T>::infinity());
}

// The largest element, lane by lane. NaN counts for nothing here: it shows in the weights.
template <Floating T>
void largest_of_row(std::int64_t n, const T* x, T* lane) {
  simd<T> a(-std::numeric_limits<T>::infinity());
  simd<T> b = a;
  simd<T> c = a;
  simd<T> d = a;
  std::int64_t i = 0;
  for (; i + 4 * lanes<T> <= n; i += 4 * lanes<T>) {
    a = max_or_second<T>(load<T>(x + i), a);
    b = max_or_second<T>(load<T>(x + i + lanes<T>), b);
    c = max_or_second<T>(load<T>(x + i + 2 * lanes<T>), c);
    d = max_or_second<T>(load<T>(x + i + 3 * lanes<T>), d);
  }
  for (; i + lanes<T> <= n; i += lanes<T>) a = max_or_second<T>(load<T>(x + i), a);
  if (i < n) b = max_or_second<T>(load_scores<T>(x + i, n - i), b);
  store<T>(lane, max_or_second<T>(max_or_second<T>(a, b), max_or_second<T>(c, d)));
}

// e^(scale (x - largest)) for x <= largest. For floats as a power of 2, which takes 12 instructions
// instead of 15: within 1 ULP of the power, whose exponent was rounded. `factor` is softmax_factor.
template <Floating T>
[[gnu::always_inline]] inline simd<T> softmax_weight(simd<T> x, simd<T> largest, T factor) {
  const simd<T> exponent = mul<T>(x - largest, factor);
  if constexpr (sizeof(T) == 4) {
    const simd<T> limited = max_or_second<T>(simd<T>(T(-151)), exponent);
    const simd<T> magic(float_format<T>::round_to_two_exponents);
    const simd<T> shifted = limited + magic;
    return scale<T>(polynomial<T>(limited - (shifted - magic), 1, 0.693147206, 0.240226469,
                                  0.0555032878, 0.00961848896, 0.00133999312, 0.00015345812),
                    shifted);
  } else {
    return exp<T>(exponent);
  }
}

template <Floating T>
T softmax_factor(double scale) {
  constexpr double log2_e = 1.44269504088896340736;
  return static_cast<T>(sizeof(T) == 4 ? scale * log2_e : scale);
}

// x becomes its weights, whose sum is left lane by lane.
template <Floating T>
void weigh_row(std::int64_t n, T* x, T largest, T factor, T* lane) {
  const simd<T> shift(largest);
  simd<T> sum[4] = {simd<T>(T(0)), simd<T>(T(0)), simd<T>(T(0)), simd<T>(T(0))};
  std::int64_t i = 0;
  for (; i + 4 * lanes<T> <= n; i += 4 * lanes<T>)
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) {
      T* const at = x + i + u * lanes<T>;
      const simd<T> weight = softmax_weight<T>(load<T>(at), shift, factor);
      store<T>(at, weight);
      sum[u] = sum[u] + weight;
    }
  for (; i + lanes<T> <= n; i += lanes<T>) {
    const simd<T> weight = softmax_weight<T>(load<T>(x + i), shift, factor);
    store<T>(x + i, weight);
    sum[0] = sum[0] + weight;
  }
  if (i < n) {
    // The padding weighs 0, or NaN where `largest` is infinity: so does the row.
    const simd<T> weight = softmax_weight<T>(load_scores<T>(x + i, n - i), shift, factor);
    sum[1] = sum[1] + weight;
    alignas(64) T part[static_cast<std::size_t>(lanes<T>)];
    store<T>(part, weight);
    std::memcpy(x + i, part, static_cast<std::size_t>(n - i) * sizeof(T));
  }
  store<T>(lane, (sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// A row of -infinity and, maybe, NaN: exp(-infinity - -infinity) would be NaN for both.
template <Floating T>
void weigh_hidden_row(std::int64_t n, T* x, T* lane) {
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (x[i] == x[i]) x[i] = 0;
    sum += x[i];
  }
  store<T>(lane, simd<T>(T(0)));
  lane[0] = sum;
}

template <Floating T>
void scale_row(std::int64_t n, T* x, T factor) {
  std::int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) store<T>(x + i, mul<T>(load<T>(x + i), factor));
  for (; i < n; ++i) x[i] *= factor;
}

template <Floating T>
void begin_softmax(std::int64_t rows, void* states) {
  std::fill_n(static_cast<softmax_state<T>*>(states), rows,
              softmax_state<T>{-std::numeric_limits<T>::infinity(), T(0)});
}

// At most softmax_rows rows.
template <Floating T>
void weigh_rows(const row_block& scores, T factor, softmax_state<T>* states,
                const row_block& sums) {
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  alignas(64) lane_rows<T> lane;
  const auto row = [&](const row_block& block, std::int64_t r) {
    return static_cast<T*>(block.at) + r * block.pitch;
  };
  for (std::int64_t r = 0; r < scores.rows; ++r)
    largest_of_row<T>(scores.columns, row(scores, r), lane[r]);
  combine_lanes<T>(scores.rows, lane, [](T a, T b) { return a > b ? a : b; });
  T before[softmax_rows];
  for (std::int64_t r = 0; r < scores.rows; ++r) {
    before[r] = states[r].largest;
    states[r].largest = lane[r][0] > before[r] ? lane[r][0] : before[r];
  }
  for (std::int64_t r = 0; r < scores.rows; ++r)
    if (states[r].largest == nothing)
      weigh_hidden_row<T>(scores.columns, row(scores, r), lane[r]);
    else
      weigh_row<T>(scores.columns, row(scores, r), states[r].largest, factor, lane[r]);
  combine_lanes<T>(scores.rows, lane, [](T a, T b) { return a + b; });
  for (std::int64_t r = 0; r < scores.rows; ++r) {
    if (states[r].largest == before[r]) {
      states[r].sum += lane[r][0];
      continue;
    }
    alignas(64) T change[static_cast<std::size_t>(lanes<T>)];
    store<T>(change, softmax_weight<T>(simd<T>(before[r]), simd<T>(states[r].largest), factor));
    alignas(64) T sum[static_cast<std::size_t>(lanes<T>)];
    store<T>(sum, fma<T>(simd<T>(states[r].sum), change[0], simd<T>(lane[r][0])));
    states[r].sum = sum[0];
    scale_row(sums.columns, row(sums, r), change[0]);
  }
}

template <Floating T>
void weigh_scores(const row_block& scores, double scale, void* states, const row_block& sums) {
  const T factor = softmax_factor<T>(scale);
  const auto part = [](const row_block& block, std::int64_t first, std::int64_t rows) {
    return row_block{static_cast<T*>(block.at) + first * block.pitch, rows, block.columns,
                     block.pitch};
  };
  for (std::int64_t r = 0; r < scores.rows; r += softmax_rows) {
    const std::int64_t rows = std::min(softmax_rows, scores.rows - r);
    weigh_rows<T>(part(scores, r, rows), factor, static_cast<softmax_state<T>*>(states) + r,
                  part(sums, r, rows));
  }
}

template <Floating T>
void divide_sums(const row_block& sums, const void* states, const row_block& result) {
  for (std::int64_t r = 0; r < sums.rows; ++r) {
    const T* x = static_cast<const T*>(sums.at) + r * sums.pitch;
    T* y = static_cast<T*>(result.at) + r * result.pitch;
    const T factor = T(1) / static_cast<const softmax_state<T>*>(states)[r].sum;
    std::int64_t i = 0;
    for (; i + lanes<T> <= sums.columns; i += lanes<T>)
      store<T>(y + i, mul<T>(load<T>(x + i), factor));
    for (; i < sums.columns; ++i) y[i] = x[i] * factor;
  }
}

template <Floating T>
bool outweighs_score(std::int64_t rows, const void* states, double scale, double score) {
  // exp of less rounds to 0: the smallest denormal is e^-103.3 or e^-744.4.
  constexpr double enough = sizeof(T) == 4 ? 106 : 750;
  const auto* state = static_cast<const softmax_state<T>*>(states);
  return std::all_of(state, state + rows, [&](const softmax_state<T>& s) {
    return (static_cast<double>(s.largest) - score) * scale > enough;
  });
}

template <Floating T>
bool all_finite(const row_block& values) {
  simd<T> zeros(T(0));  // 0 times infinity is NaN
  bool rest = true;
  for (std::int64_t r = 0; r < values.rows; ++r) {
    const T* x = static_cast<const T*>(values.at) + r * values.pitch;
    std::int64_t i = 0;
    for (; i + lanes<T> <= values.columns; i += lanes<T>)
      zeros = fma<T>(load<T>(x + i), T(0), zeros);
    for (; i < values.columns; ++i) rest = rest && x[i] * T(0) == T(0);
  }
  return rest && !xsimd::any(is_nan<T>(zeros));
}

template <Floating T>
inline constexpr online_softmax online_softmax_functions{
    sizeof(softmax_state<T>), &begin_softmax<T>,   &weigh_scores<T>,
    &divide_sums<T>,          &outweighs_score<T>, &all_finite<T>};

}  // namespace detail

/// Of f32 or f64; throws dtype_error for others, which have no softmax.
inline const online_softmax& online_softmax_of(dtype type) {
  if (!is_floating(type)) raise(dtype_error("executor: no softmax of " + std::string(name(type))));
  return type == dtype::f32 ? detail::online_softmax_functions<float>
                            : detail::online_softmax_functions<double>;
}

}  // namespace sinter::inline SINTER_ABI::exec
