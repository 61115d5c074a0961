// SPDX-License-Identifier: MIT
// The op table: one row per op, in one place. A row holds the facts that every stage asks for
// (name, arity, kind, dtypes, relative cost); the rules that need code (shape, gradient,
// interpreter, kernel) are switches over `op` without a default label, so an op that a stage forgot
// is a compiler warning, and here warnings are errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::ir {

enum class op : std::uint8_t {
  // leaves
  argument,
  constant,
  extent,
  iota,
  random_uniform,
  // element-wise, one operand
  neg,
  abs,
  sign,
  floor,
  ceil,
  round,
  sqrt,
  rsqrt,
  recip,
  exp,
  exp2,
  log,
  log2,
  sin,
  cos,
  tanh,
  erf,
  sigmoid,
  relu,
  gelu,
  gelu_tanh,
  silu,
  softplus,
  logical_not,
  cast,
  bitcast,
  stop_gradient,
  // element-wise, two operands
  add,
  sub,
  mul,
  div,
  floor_divide,
  mod,
  pow,
  maximum,
  minimum,
  less,
  less_equal,
  equal,
  not_equal,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  // element-wise, three operands
  where,
  multiply_add,
  // a user's op (graph/custom.hpp), element-wise
  custom_map,
  // reductions; the reduced axes stay with extent 1
  reduce_sum,
  reduce_max,
  reduce_min,
  reduce_prod,
  argmax,
  // movement
  reshape,
  permute,
  broadcast_to,
  sum_to,
  pad,
  slice,
  flip,
  windows,
  concat,
  recompute,
  // contraction, indexing and running sums
  matmul,
  gather,
  scatter_add,
  cumsum,
  // composites, defined by their expansion (graph/composite.hpp)
  softmax,
  log_softmax,
  layer_norm,
  rms_norm,
  first_max,
  cross_entropy,
  rope,
  sum_windows,
  // a user's op that is a nest of its own
  custom,
  // control, gone once derivatives are written out (autodiff/)
  gradient,
  vjp,
  jvp,
  checkpoint,
};

inline constexpr int op_count = static_cast<int>(op::checkpoint) + 1;

// What an op does to the index space; stages branch on the kind and look at the single op only
// where they must.
enum class kind : std::uint8_t {
  leaf,
  elementwise,
  reduction,
  movement,
  contraction,
  indexing,
  scan,
  composite,
  opaque,
  control
};

// Which dtypes the operands may have.
enum class accepts : std::uint8_t { any, numeric, floating, integral, integral_or_bool, boolean };

// The dtype of the result: that of the operands, bool, i64, or the first attribute.
enum class yields : std::uint8_t { same, boolean, index, attribute };

struct op_info {
  op code;
  std::string_view name;
  int arity;  // -1: any number of operands
  ir::kind kind;
  ir::accepts accepts;
  ir::yields yields;
  bool commutative;
  // Work per element relative to one addition. From the ns per element of the vectorised f32
  // kernels on an AVX-512 machine (an addition in L1 is 0.04 ns, exp 0.49, tanh 0.80, erf 1.0);
  // only the order of magnitude matters.
  float cost;
};

inline constexpr std::array<op_info, op_count> op_table{{
    {op::argument, "argument", 0, kind::leaf, accepts::any, yields::attribute, false, 0},
    {op::constant, "constant", 0, kind::leaf, accepts::any, yields::attribute, false, 0},
    {op::extent, "extent", 0, kind::leaf, accepts::any, yields::attribute, false, 0},
    {op::iota, "iota", 0, kind::leaf, accepts::numeric, yields::attribute, false, 1},
    {op::random_uniform, "random_uniform", 1, kind::leaf, accepts::any, yields::attribute, false,
     40},

    {op::neg, "neg", 1, kind::elementwise, accepts::numeric, yields::same, false, 1},
    {op::abs, "abs", 1, kind::elementwise, accepts::numeric, yields::same, false, 1},
    {op::sign, "sign", 1, kind::elementwise, accepts::numeric, yields::same, false, 2},
    {op::floor, "floor", 1, kind::elementwise, accepts::numeric, yields::same, false, 1},
    {op::ceil, "ceil", 1, kind::elementwise, accepts::numeric, yields::same, false, 1},
    {op::round, "round", 1, kind::elementwise, accepts::numeric, yields::same, false, 1},
    {op::sqrt, "sqrt", 1, kind::elementwise, accepts::floating, yields::same, false, 6},
    {op::rsqrt, "rsqrt", 1, kind::elementwise, accepts::floating, yields::same, false, 8},
    {op::recip, "recip", 1, kind::elementwise, accepts::floating, yields::same, false, 4},
    {op::exp, "exp", 1, kind::elementwise, accepts::floating, yields::same, false, 12},
    {op::exp2, "exp2", 1, kind::elementwise, accepts::floating, yields::same, false, 12},
    {op::log, "log", 1, kind::elementwise, accepts::floating, yields::same, false, 18},
    {op::log2, "log2", 1, kind::elementwise, accepts::floating, yields::same, false, 18},
    {op::sin, "sin", 1, kind::elementwise, accepts::floating, yields::same, false, 27},
    {op::cos, "cos", 1, kind::elementwise, accepts::floating, yields::same, false, 27},
    {op::tanh, "tanh", 1, kind::elementwise, accepts::floating, yields::same, false, 20},
    {op::erf, "erf", 1, kind::elementwise, accepts::floating, yields::same, false, 25},
    {op::sigmoid, "sigmoid", 1, kind::elementwise, accepts::floating, yields::same, false, 17},
    {op::relu, "relu", 1, kind::elementwise, accepts::numeric, yields::same, false, 1},
    {op::gelu, "gelu", 1, kind::elementwise, accepts::floating, yields::same, false, 28},
    {op::gelu_tanh, "gelu_tanh", 1, kind::elementwise, accepts::floating, yields::same, false, 25},
    {op::silu, "silu", 1, kind::elementwise, accepts::floating, yields::same, false, 18},
    {op::softplus, "softplus", 1, kind::elementwise, accepts::floating, yields::same, false, 32},
    {op::logical_not, "logical_not", 1, kind::elementwise, accepts::boolean, yields::boolean, false,
     1},
    {op::cast, "cast", 1, kind::elementwise, accepts::any, yields::attribute, false, 1},
    {op::bitcast, "bitcast", 1, kind::elementwise, accepts::any, yields::attribute, false, 1},
    {op::stop_gradient, "stop_gradient", 1, kind::elementwise, accepts::any, yields::same, false,
     0},

    {op::add, "add", 2, kind::elementwise, accepts::numeric, yields::same, true, 1},
    {op::sub, "sub", 2, kind::elementwise, accepts::numeric, yields::same, false, 1},
    {op::mul, "mul", 2, kind::elementwise, accepts::numeric, yields::same, true, 1},
    {op::div, "div", 2, kind::elementwise, accepts::numeric, yields::same, false, 4},
    {op::floor_divide, "floor_divide", 2, kind::elementwise, accepts::numeric, yields::same, false,
     6},
    {op::mod, "mod", 2, kind::elementwise, accepts::numeric, yields::same, false, 8},
    {op::pow, "pow", 2, kind::elementwise, accepts::floating, yields::same, false, 40},
    {op::maximum, "maximum", 2, kind::elementwise, accepts::numeric, yields::same, true, 1},
    {op::minimum, "minimum", 2, kind::elementwise, accepts::numeric, yields::same, true, 1},
    {op::less, "less", 2, kind::elementwise, accepts::any, yields::boolean, false, 1},
    {op::less_equal, "less_equal", 2, kind::elementwise, accepts::any, yields::boolean, false, 1},
    {op::equal, "equal", 2, kind::elementwise, accepts::any, yields::boolean, true, 1},
    {op::not_equal, "not_equal", 2, kind::elementwise, accepts::any, yields::boolean, true, 1},
    {op::bit_and, "bit_and", 2, kind::elementwise, accepts::integral_or_bool, yields::same, true,
     1},
    {op::bit_or, "bit_or", 2, kind::elementwise, accepts::integral_or_bool, yields::same, true, 1},
    {op::bit_xor, "bit_xor", 2, kind::elementwise, accepts::integral_or_bool, yields::same, true,
     1},
    {op::shift_left, "shift_left", 2, kind::elementwise, accepts::integral, yields::same, false, 1},
    {op::shift_right, "shift_right", 2, kind::elementwise, accepts::integral, yields::same, false,
     1},

    {op::where, "where", 3, kind::elementwise, accepts::any, yields::same, false, 1},
    {op::multiply_add, "multiply_add", 3, kind::elementwise, accepts::numeric, yields::same, false,
     1},

    {op::custom_map, "custom_map", -1, kind::elementwise, accepts::floating, yields::same, false,
     1},

    {op::reduce_sum, "reduce_sum", 1, kind::reduction, accepts::numeric, yields::same, false, 1},
    {op::reduce_max, "reduce_max", 1, kind::reduction, accepts::numeric, yields::same, false, 1},
    {op::reduce_min, "reduce_min", 1, kind::reduction, accepts::numeric, yields::same, false, 1},
    {op::reduce_prod, "reduce_prod", 1, kind::reduction, accepts::numeric, yields::same, false, 1},
    {op::argmax, "argmax", 1, kind::reduction, accepts::numeric, yields::index, false, 4},

    {op::reshape, "reshape", 1, kind::movement, accepts::any, yields::same, false, 0},
    {op::permute, "permute", 1, kind::movement, accepts::any, yields::same, false, 0},
    {op::broadcast_to, "broadcast_to", 1, kind::movement, accepts::any, yields::same, false, 0},
    {op::sum_to, "sum_to", 1, kind::movement, accepts::numeric, yields::same, false, 0},
    {op::pad, "pad", 1, kind::movement, accepts::any, yields::same, false, 0},
    {op::slice, "slice", 1, kind::movement, accepts::any, yields::same, false, 0},
    {op::flip, "flip", 1, kind::movement, accepts::any, yields::same, false, 0},
    {op::windows, "windows", 1, kind::movement, accepts::any, yields::same, false, 0},
    {op::concat, "concat", -1, kind::movement, accepts::any, yields::same, false, 0},
    {op::recompute, "recompute", 1, kind::movement, accepts::any, yields::same, false, 0},

    {op::matmul, "matmul", 2, kind::contraction, accepts::numeric, yields::same, false, 2},
    {op::gather, "gather", 2, kind::indexing, accepts::any, yields::same, false, 4},
    {op::scatter_add, "scatter_add", 2, kind::indexing, accepts::any, yields::same, false, 8},
    {op::cumsum, "cumsum", 1, kind::scan, accepts::numeric, yields::same, false, 4},

    {op::softmax, "softmax", 1, kind::composite, accepts::floating, yields::same, false, 0},
    {op::log_softmax, "log_softmax", 1, kind::composite, accepts::floating, yields::same, false, 0},
    {op::layer_norm, "layer_norm", 1, kind::composite, accepts::floating, yields::same, false, 0},
    {op::rms_norm, "rms_norm", 1, kind::composite, accepts::floating, yields::same, false, 0},
    {op::first_max, "first_max", 1, kind::composite, accepts::numeric, yields::same, false, 0},
    {op::cross_entropy, "cross_entropy", 2, kind::composite, accepts::any, yields::same, false, 0},
    {op::rope, "rope", 2, kind::composite, accepts::any, yields::same, false, 0},
    {op::sum_windows, "sum_windows", 1, kind::composite, accepts::numeric, yields::same, false, 0},

    {op::custom, "custom", -1, kind::opaque, accepts::any, yields::same, false, 1},

    {op::gradient, "gradient", 2, kind::control, accepts::floating, yields::same, false, 0},
    {op::vjp, "vjp", 3, kind::control, accepts::floating, yields::same, false, 0},
    {op::jvp, "jvp", -1, kind::control, accepts::floating, yields::same, false, 0},
    {op::checkpoint, "checkpoint", -1, kind::control, accepts::any, yields::same, false, 0},
}};

constexpr const op_info& info(op code) { return op_table[static_cast<std::size_t>(code)]; }
constexpr std::string_view name(op code) { return info(code).name; }
constexpr bool is_elementwise(op code) { return info(code).kind == kind::elementwise; }
// Does the op compute with the values of its operands, rather than keep, move or choose them?
constexpr bool computes(op code) {
  switch (info(code).kind) {
    case kind::elementwise:
      return code != op::cast && code != op::bitcast && code != op::stop_gradient &&
             code != op::where;
    case kind::movement: return code == op::sum_to;
    case kind::indexing: return code == op::scatter_add;
    case kind::reduction:
    case kind::contraction:
    case kind::scan:
    case kind::opaque:
    case kind::composite: return true;
    case kind::leaf:
    case kind::control: return false;
  }
  return false;
}
// Casts and bitcasts: the dtype of the result is their attribute.
constexpr bool is_conversion(op code) { return code == op::cast || code == op::bitcast; }
// A user's op, known by number to the graph.
constexpr bool is_custom(op code) { return code == op::custom_map || code == op::custom; }
/// A derivative that is not written out yet.
constexpr bool is_derivative(op code) {
  return code == op::gradient || code == op::vjp || code == op::jvp;
}

static_assert(
    [] {
      for (int i = 0; i < op_count; ++i)
        if (static_cast<int>(op_table[static_cast<std::size_t>(i)].code) != i) return false;
      return true;
    }(),
    "the rows of the op table stand in the order of enum op");

// Semantics that the name alone leaves open:
//   div            IEEE for floats; integers truncate toward zero, division by zero gives 0
//   floor_divide   NumPy's //, mod NumPy's % (the sign of the divisor); integers by zero give 0
//   sign           -1, 0, 1; NaN stays NaN. round: halves to even. relu: max(x, 0) with NaN kept
//   maximum, minimum, reduce_max, reduce_min: a NaN operand gives NaN (NumPy's maximum, not fmax)
//   shift_right    arithmetic for signed integers
//   multiply_add   a*b + c rounded once for floats
//   argmax         the first index of the largest value; a NaN counts as largest
//   cumsum         each element and all before it along the axis, added up; from the end on, or
//                  without the element itself, if its attributes say so
//   first_max      reduce_max whose derivative goes to the first of equals alone (pooling)
//   windows        [..., size, count, ...]: element (j, i) is x[i stride + j dilation]
//   sum_windows    the reverse: windows are put back, and where they overlap they are added up
//   recompute      x itself, but no rule may know: what is computed from it is computed once more
//   checkpoint     its first operand; what lies between that and the others is computed again for
//                  gradients
//   comparisons    IEEE; logical and/or/xor are the bit ops on bool
//   gelu           x/2 (1 + erf(x/sqrt 2)); gelu_tanh: x/2 (1 + tanh(sqrt(2/pi)(x + 0.044715 x^3)))
//   softplus       log(1 + e^x), computed as max(x, 0) + log1p(e^-|x|)
//   cast           floats to integers: toward zero, saturating, NaN is 0; integers to integers keep
//                  the low bits; to bool: is it not 0; to floats: rounded once (integers to bf16
//                  through f32)
//   bitcast        the bits as another dtype of the same size, neither of them bool
// f16 and bf16 are stored and moved, not computed with: `append` (graph/infer.hpp) writes every op
// that computes between casts to f32 and back, so the result of each op is rounded to its dtype,
// and as no rule drops that rounding, fused and unfused runs give the same bits.

}  // namespace sinter::inline SINTER_ABI::ir
