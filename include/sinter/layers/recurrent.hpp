// SPDX-License-Identifier: MIT
// Recurrent cells and their sequences, unrolled over time. What depends on the inputs alone is one
// product for all times, so that a step multiplies its state only.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/expr/expr.hpp>
#include <sinter/layers/initialiser.hpp>

namespace sinter::inline SINTER_ABI::layers {

/// h' = tanh(x input_weight + h state_weight + bias) (Elman 1990). The state is {h}.
template <class Kind>
struct rnn_cell {
  static constexpr std::size_t state_count = 1;
  parameter<Kind, 2> input_weight;  // [inputs, width]
  parameter<Kind, 2> state_weight;  // [width, width]
  parameter<Kind, 1> bias;          // [width]

  /// Uniform in +-1 / sqrt(width), as are those of the other cells.
  static rnn_cell make(std::int64_t inputs, std::int64_t width, initialiser& init) {
    rnn_cell out{parameter<Kind, 2>(inputs, width), parameter<Kind, 2>(width, width),
                 parameter<Kind, 1>(width)};
    const double bound = 1 / std::sqrt(static_cast<double>(width));
    init.uniform(out, -bound, bound);
    return out;
  }

  constexpr handle project(handle x) const { return matmul(x, input_weight) + bias; }
  constexpr std::array<handle, 1> step(handle projected, const std::array<handle, 1>& state) const {
    return {tanh(projected + matmul(state[0], state_weight))};
  }
};

/// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al.
/// 2000): c' = f c + i g, h' = o tanh(c'), where i, f, o are sigmoids and g a tanh. The state is
/// {h, c}.
template <class Kind>
struct lstm_cell {
  static constexpr std::size_t state_count = 2;
  parameter<Kind, 2> input_weight;  // [inputs, 4 width], the parts i, f, g, o side by side
  parameter<Kind, 2> state_weight;  // [width, 4 width]
  parameter<Kind, 1> bias;          // [4 width]

  static lstm_cell make(std::int64_t inputs, std::int64_t width, initialiser& init) {
    lstm_cell out{parameter<Kind, 2>(inputs, 4 * width), parameter<Kind, 2>(width, 4 * width),
                  parameter<Kind, 1>(4 * width)};
    const double bound = 1 / std::sqrt(static_cast<double>(width));
    init.uniform(out, -bound, bound);
    return out;
  }

  constexpr handle project(handle x) const { return matmul(x, input_weight) + bias; }
  constexpr std::array<handle, 2> step(handle projected, const std::array<handle, 2>& state) const {
    const auto [i, f, g, o] = split<4>(projected + matmul(state[0], state_weight), -1);
    const handle cell = sigmoid(f) * state[1] + sigmoid(i) * tanh(g);
    return {sigmoid(o) * tanh(cell), cell};
  }
};

/// Gated recurrent unit (Cho et al. 2014, with the reset gate behind the product): h' = (1 - z) n +
/// z h with n = tanh(x W + b + r (h U + c)), where r, z are sigmoids. The state is {h}.
template <class Kind>
struct gru_cell {
  static constexpr std::size_t state_count = 1;
  parameter<Kind, 2> input_weight;  // [inputs, 3 width], the parts r, z, n side by side
  parameter<Kind, 2> state_weight;  // [width, 3 width]
  parameter<Kind, 1> input_bias;    // [3 width]
  parameter<Kind, 1> state_bias;    // [3 width]

  static gru_cell make(std::int64_t inputs, std::int64_t width, initialiser& init) {
    const parameter<Kind, 1> zeros(3 * width);
    gru_cell out{parameter<Kind, 2>(inputs, 3 * width), parameter<Kind, 2>(width, 3 * width), zeros,
                 zeros};
    const double bound = 1 / std::sqrt(static_cast<double>(width));
    init.uniform(out, -bound, bound);
    return out;
  }

  constexpr handle project(handle x) const { return matmul(x, input_weight) + input_bias; }
  constexpr std::array<handle, 1> step(handle projected, const std::array<handle, 1>& state) const {
    const auto [r, z, n] = split<3>(projected, -1);
    const auto [hr, hz, hn] = split<3>(matmul(state[0], state_weight) + state_bias, -1);
    const handle update = sigmoid(z + hz), fresh = tanh(n + sigmoid(r + hr) * hn);
    return {(1.0 - update) * fresh + update * state[0]};
  }
};

namespace detail {

// x with its first extent known to be `times`, at least 1.
constexpr handle require_times(handle x, std::int64_t times) {
  if (x.rank() < 2) sinter::detail::fail(x, ir::op::slice, ir::fault_kind::wrong_rank, x.rank(), 2);
  if (times < 1) sinter::detail::fail(x, ir::op::slice, ir::fault_kind::bad_option, times, 1);
  if (x.graph().failed()) return x;
  ir::symbolic_shape shape = x.node.shape();
  shape[0] = ir::dim(times);
  return handle(ir::reshape(x.node, shape));
}

}  // namespace detail

/// What a cell makes of a sequence: h at all times, and the state behind the last.
template <std::size_t States>
struct unrolled {
  handle outputs;  // [times, ..., width]
  std::array<handle, States> state;
};

/// A cell applied to x [times, ..., inputs], one time after the other, from `state`. Every time is
/// nodes of the graph, so `times` is a number, and shape_error says if x has another. The first
/// state is usually zeros [..., width].
template <template <class> class Cell>
constexpr auto unroll(const Cell<handles>& cell, handle x, std::int64_t times,
                      const std::array<handle, Cell<handles>::state_count>& state) {
  unrolled<Cell<handles>::state_count> out{x, state};
  const handle whole = detail::require_times(x, times);
  if (x.graph().failed()) return out;
  const handle projected = cell.project(whole);
  std::vector<handle> all;
  for (std::int64_t t = 0; t < times && !x.graph().failed(); ++t) {
    const handle now = squeeze(slice(projected, 0, t, t + 1), 0);
    out.state = cell.step(now, out.state);
    all.push_back(out.state[0]);
  }
  if (!x.graph().failed()) out.outputs = stack(all, 0);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::layers
