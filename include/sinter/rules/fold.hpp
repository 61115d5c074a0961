// SPDX-License-Identifier: MIT
// Constant folding: the value of an element-wise op whose operands are constants. Arithmetic that
// IEEE 754 rounds correctly is folded in the op's dtype, so a folded plan gives the bits of an
// unfolded one; transcendental functions are not folded, because the vector kernels may differ from
// libm in the last bit.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include <sinter/graph/graph.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace detail {

template <class T>
bool fits_in(double x) {
  return x >= std::numeric_limits<T>::min() && x <= std::numeric_limits<T>::max();
}

// The nearest value of the dtype. A double operation rounded to float is the correctly rounded
// float operation for + - * / and sqrt (double has more than twice the bits plus two; Figueroa
// 1995).
inline bool round_to(dtype type, double& x) {
  if (is_integral(type)) x = std::trunc(x);  // as a constant that is written for integers is
  switch (type) {
    case dtype::f64: return true;
    case dtype::f32: x = static_cast<double>(static_cast<float>(x)); return true;
    case dtype::f16: x = static_cast<double>(float16(x)); return true;
    case dtype::bf16: x = static_cast<double>(bfloat16(x)); return true;
    // Integers fold only where nothing wraps and a double is exact.
    case dtype::i64: return std::abs(x) <= 9007199254740992.0;
    case dtype::u64: return x >= 0 && x <= 9007199254740992.0;
    case dtype::i8: return fits_in<std::int8_t>(x);
    case dtype::u8: return fits_in<std::uint8_t>(x);
    case dtype::i16: return fits_in<std::int16_t>(x);
    case dtype::u16: return fits_in<std::uint16_t>(x);
    case dtype::i32: return fits_in<std::int32_t>(x);
    case dtype::u32: return fits_in<std::uint32_t>(x);
    case dtype::boolean: return x == 0 || x == 1;
  }
  return false;
}

}  // namespace detail

// Folds term `id` of `g`, whose operands have these constant values. Returns false where it must be
// computed at run time.
inline bool fold(const ir::graph& g, int id, std::span<const double> operands, double& out) {
  const ir::node& n = g[id];
  const bool floating = is_floating(n.type);
  // A constant is kept as it was written; what an op reads is what the dtype holds of it.
  std::array<double, 3> x{};
  for (std::size_t i = 0; i < operands.size() && i < x.size(); ++i) {
    x[i] = operands[i];
    if (!detail::round_to(g[g.input(id, static_cast<int>(i))].type, x[i])) return false;
  }
  switch (n.code) {
    case ir::op::broadcast_to:
    case ir::op::reshape:
    case ir::op::permute:
    case ir::op::slice:
    case ir::op::flip:
    case ir::op::windows:
    case ir::op::recompute:
    case ir::op::stop_gradient: out = x[0]; return true;
    case ir::op::neg: out = -x[0]; break;
    case ir::op::abs: out = std::abs(x[0]); break;
    case ir::op::floor: out = std::floor(x[0]); break;
    case ir::op::ceil: out = std::ceil(x[0]); break;
    case ir::op::sqrt: out = std::sqrt(x[0]); break;
    case ir::op::recip: out = 1 / x[0]; break;
    case ir::op::round: out = std::nearbyint(x[0]); break;
    case ir::op::sign: out = x[0] > 0 ? 1 : x[0] < 0 ? -1 : x[0]; break;
    case ir::op::logical_not: out = x[0] == 0; break;
    case ir::op::relu: out = x[0] > 0 || std::isnan(x[0]) ? x[0] : 0; break;
    case ir::op::add: out = x[0] + x[1]; break;
    case ir::op::sub: out = x[0] - x[1]; break;
    case ir::op::mul: out = x[0] * x[1]; break;
    case ir::op::div:
      if (!floating) return false;
      out = x[0] / x[1];
      break;
    case ir::op::maximum:
      out = std::isnan(x[0]) || std::isnan(x[1]) ? x[0] + x[1] : x[0] < x[1] ? x[1] : x[0];
      break;
    case ir::op::minimum:
      out = std::isnan(x[0]) || std::isnan(x[1]) ? x[0] + x[1] : x[1] < x[0] ? x[1] : x[0];
      break;
    case ir::op::less: out = x[0] < x[1]; break;
    case ir::op::less_equal: out = x[0] <= x[1]; break;
    case ir::op::equal: out = x[0] == x[1]; break;
    case ir::op::not_equal: out = x[0] != x[1]; break;
    case ir::op::cast:
      if (g[g.input(id, 0)].type != n.type && !floating && n.type != dtype::boolean &&
          x[0] != std::trunc(x[0]))
        return false;
      out = n.type == dtype::boolean ? (x[0] != 0 ? 1 : 0) : x[0];
      break;
    default: return false;
  }
  return detail::round_to(n.type, out);
}

}  // namespace sinter::inline SINTER_ABI::rules
