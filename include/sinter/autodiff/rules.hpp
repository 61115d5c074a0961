// SPDX-License-Identifier: MIT
// The gradient rule of every op: two switches without a default label, so that an op without an
// entry is a warning.
#pragma once

#include <array>
#include <cstddef>

#include <sinter/autodiff/composite.hpp>
#include <sinter/autodiff/contraction.hpp>
#include <sinter/autodiff/custom.hpp>
#include <sinter/autodiff/elementwise.hpp>
#include <sinter/autodiff/movement.hpp>
#include <sinter/autodiff/reduction.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

constexpr bool has_gradient_rule(op code) {
  switch (code) {
    case op::argument:
    case op::constant:
    case op::extent:
    case op::iota:
    case op::random_uniform:
    case op::sign:
    case op::floor:
    case op::ceil:
    case op::round:
    case op::floor_divide:
    case op::bitcast:
    case op::stop_gradient:
    case op::logical_not:
    case op::less:
    case op::less_equal:
    case op::equal:
    case op::not_equal:
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::shift_left:
    case op::shift_right:
    case op::argmax:
    case op::gradient:
    case op::vjp:
    case op::jvp: return false;
    case op::neg:
    case op::abs:
    case op::sqrt:
    case op::rsqrt:
    case op::recip:
    case op::exp:
    case op::exp2:
    case op::log:
    case op::log2:
    case op::sin:
    case op::cos:
    case op::tanh:
    case op::erf:
    case op::sigmoid:
    case op::relu:
    case op::gelu:
    case op::gelu_tanh:
    case op::silu:
    case op::softplus:
    case op::cast:
    case op::add:
    case op::sub:
    case op::mul:
    case op::div:
    case op::mod:
    case op::pow:
    case op::maximum:
    case op::minimum:
    case op::where:
    case op::multiply_add:
    case op::reduce_sum:
    case op::reduce_max:
    case op::reduce_min:
    case op::reduce_prod:
    case op::reshape:
    case op::permute:
    case op::broadcast_to:
    case op::sum_to:
    case op::pad:
    case op::slice:
    case op::flip:
    case op::windows:
    case op::concat:
    case op::recompute:
    case op::matmul:
    case op::gather:
    case op::scatter_add:
    case op::cumsum:
    case op::softmax:
    case op::log_softmax:
    case op::layer_norm:
    case op::rms_norm:
    case op::first_max:
    case op::cross_entropy:
    case op::rope:
    case op::sum_windows:
    case op::custom_map:
    case op::custom:
    case op::checkpoint: return true;
  }
  return false;
}

// A table, because constant evaluation counts every case label that a switch passes over.
inline constexpr std::array<bool, op_count> differentiable_ops = [] {
  std::array<bool, op_count> out{};
  for (const op_info& row : op_table)
    out[static_cast<std::size_t>(row.code)] = has_gradient_rule(row.code);
  return out;
}();

}  // namespace detail

/// Does a derivative pass through the op at all? False for leaves, for what yields integers or
/// booleans, for steps (floor, sign: their derivative is 0 wherever there is one) and for
/// stop_gradient.
constexpr bool differentiable(op code) {
  return detail::differentiable_ops[static_cast<std::size_t>(code)];
}

/// Adds the contributions of one node to the adjoints of its operands. At least one operand must be
/// wanted. Constant evaluation counts the cases it passes over on its way, so the frequent ones
/// stand first.
constexpr void apply_gradient_rule(const pullback& p) {
  switch (p.result.get().code) {
    case op::add: return backward::add(p);
    case op::mul: return backward::mul(p);
    case op::matmul: return backward::matmul(p);
    case op::reshape: return backward::reshape(p);
    case op::broadcast_to: return backward::broadcast_to(p);
    case op::relu: return backward::relu(p);

    case op::sub: return backward::sub(p);
    case op::div: return backward::div(p);
    case op::mod: return backward::mod(p);
    case op::pow: return backward::pow(p);
    case op::maximum: return backward::maximum(p);
    case op::minimum: return backward::minimum(p);
    case op::where: return backward::where(p);
    case op::multiply_add: return backward::multiply_add(p);

    case op::reduce_sum: return backward::reduce_sum(p);
    case op::reduce_max: return backward::reduce_extremum(p);
    case op::reduce_min: return backward::reduce_extremum(p);
    case op::reduce_prod: return backward::reduce_prod(p);

    case op::permute: return backward::permute(p);
    case op::sum_to: return backward::sum_to(p);
    case op::pad: return backward::pad(p);
    case op::slice: return backward::slice(p);
    case op::flip: return backward::flip(p);
    case op::windows: return backward::windows(p);
    case op::concat: return backward::concat(p);
    case op::recompute: return p.add(0, p.adjoint);

    case op::gather: return backward::gather(p);
    case op::scatter_add: return backward::scatter_add(p);
    case op::cumsum: return backward::cumsum(p);

    case op::neg: return backward::neg(p);
    case op::abs: return backward::abs(p);
    case op::sqrt: return backward::sqrt(p);
    case op::rsqrt: return backward::rsqrt(p);
    case op::recip: return backward::recip(p);
    case op::exp: return backward::exp(p);
    case op::exp2: return backward::exp2(p);
    case op::log: return backward::log(p);
    case op::log2: return backward::log2(p);
    case op::sin: return backward::sin(p);
    case op::cos: return backward::cos(p);
    case op::tanh: return backward::tanh(p);
    case op::erf: return backward::erf(p);
    case op::sigmoid: return backward::sigmoid(p);
    case op::gelu: return backward::gelu(p);
    case op::gelu_tanh: return backward::gelu_tanh(p);
    case op::silu: return backward::silu(p);
    case op::softplus: return backward::softplus(p);
    case op::cast: return backward::cast(p);

    case op::softmax: return backward::softmax(p);
    case op::log_softmax: return backward::log_softmax(p);
    case op::layer_norm: return backward::layer_norm(p);
    case op::rms_norm: return backward::rms_norm(p);
    case op::first_max: return backward::first_max(p);
    case op::cross_entropy: return backward::cross_entropy(p);
    case op::rope: return backward::rope(p);
    case op::sum_windows: return backward::sum_windows(p);
    case op::custom_map:
    case op::custom: return backward::custom(p);

    case op::argument:
    case op::constant:
    case op::extent:
    case op::iota:
    case op::random_uniform:
    case op::sign:
    case op::floor:
    case op::ceil:
    case op::round:
    case op::floor_divide:
    case op::bitcast:
    case op::stop_gradient:
    case op::logical_not:
    case op::less:
    case op::less_equal:
    case op::equal:
    case op::not_equal:
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::shift_left:
    case op::shift_right:
    case op::argmax:
    case op::gradient:
    case op::vjp:
    case op::jvp:
    case op::checkpoint: return;  // reverse.hpp computes again what is behind it
  }
}

}  // namespace sinter::inline SINTER_ABI::ir
