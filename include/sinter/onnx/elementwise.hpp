// SPDX-License-Identifier: MIT
// Element-wise operators of ONNX: arithmetic, comparisons, logic, activations, casts.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <sinter/onnx/fold.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail::elementwise {

// Before opset 7 an operand broadcasts only where it says so, from the axis that it names.
inline void align_old_operand(operation& o) {
  if (o.version() >= 7) return;
  const bool broadcasts = o.integer("broadcast", 0) != 0;
  o.ignore("consumed_inputs");
  const std::int64_t given = o.integer("axis", std::numeric_limits<std::int64_t>::min());
  if (given == std::numeric_limits<std::int64_t>::min() || !broadcasts) return;
  const int from = o.axis(given, o.rank(0));
  if (from + o.rank(1) != o.rank(0))
    o.fail("an operand that broadcasts from axis " + std::to_string(from) + " is not supported");
}

template <ir::op Code>
void unary(operation& o) {
  o.ignore("consumed_inputs");
  const int x[] = {0};
  o.give(o.elementwise(Code, x));
}

template <ir::op Code>
void binary(operation& o) {
  align_old_operand(o);
  const int both[] = {0, 1};
  o.give(o.elementwise(Code, both));
}

template <ir::op Code, arithmetic::operation Known>
void arithmetic_operator(operation& o) {
  if (fold_binary(o, Known, o.type(0))) return align_old_operand(o);
  binary<Code>(o);
}

template <ir::op Code, arithmetic::operation Known>
void comparison(operation& o) {
  if (fold_binary(o, Known, dtype::boolean)) return align_old_operand(o);
  binary<Code>(o);
}

template <ir::op Code, arithmetic::operation Known>
void swapped_comparison(operation& o) {
  const int both[] = {0, 1}, swapped[] = {1, 0};
  if (fold(o, dtype::boolean, both,
           [&](const number& a, const number& b) { return combine(o.dims(), Known, b, a); }))
    return align_old_operand(o);
  align_old_operand(o);
  o.give(o.elementwise(Code, swapped));
}

// Max, Min, Sum of any number of operands.
inline ir::value folded_left(operation& o, ir::op code) {
  int most = 0;
  for (int i = 0; i < o.count(); ++i) most = std::max(most, o.rank(i));
  ir::value out = o.count() == 1 ? o.in(0) : o.operand(0, most);
  for (int i = 1; i < o.count(); ++i) out = ir::elementwise(code, {out, o.operand(i, most)});
  return out.rank() < most ? ir::with_leading_ones(out, most) : out;
}
template <ir::op Code, arithmetic::operation Known>
void variadic(operation& o) {
  o.ignore("consumed_inputs");
  if (o.count() == 2 && fold_binary(o, Known, o.type(0))) return;
  o.give(folded_left(o, Code));
}
inline void mean(operation& o) { o.give(folded_left(o, ir::op::add) * (1.0 / o.count())); }

inline void mod(operation& o) {
  if (o.integer("fmod", 0) == 0) {
    if (fold_binary(o, arithmetic::operation::mod, o.type(0))) return;
    return binary<ir::op::mod>(o);
  }
  // C's: the sign of the dividend.
  const int most = std::max(o.rank(0), o.rank(1));
  const ir::value a = o.operand(0, most), b = o.operand(1, most);
  const auto magnitude = [](ir::value x) {
    return is_unsigned_integer(x.type()) ? x : ir::unary(ir::op::abs, x);
  };
  const ir::value rest = ir::elementwise(ir::op::mod, {magnitude(a), magnitude(b)});
  if (is_unsigned_integer(a.type())) return o.give(rest);
  o.give(ir::where(ir::elementwise(ir::op::less, {a, ir::constant_like(a, 0)}), -rest, rest));
}

// Base and exponent may be of two types; the result has the base's.
inline void pow(operation& o) {
  align_old_operand(o);
  const int most = std::max(o.rank(0), o.rank(1));
  const dtype type = o.type(0);
  const dtype computed = is_floating(type) ? type : dtype::f64;
  const auto number_in = [&](int i) {
    const ir::value x = o.operand(i, most);
    // A constant stays one, which rules look for.
    return x.get().code == ir::op::constant ? ir::weak_cast(x, computed) : ir::cast(x, computed);
  };
  const ir::value out = ir::elementwise(ir::op::pow, {number_in(0), number_in(1)});
  o.give(ir::cast(out.rank() < most ? ir::with_leading_ones(out, most) : out, type));
}

inline void logical_not(operation& o) {
  const int x[] = {0};
  if (fold(o, dtype::boolean, x, [](const number& a) -> std::optional<number> {
        return static_cast<std::int64_t>(std::get<std::int64_t>(a) == 0);
      }))
    return;
  unary<ir::op::logical_not>(o);
}
inline void bitwise_not(operation& o) {
  const ir::value x = o.in(0);
  const bool is_signed = is_signed_integer(x.type());
  o.give(is_signed ? -1.0 - x : -x - 1.0);
}
inline void bit_shift(operation& o) {
  const std::string direction = o.text("direction", "");
  if (direction == "LEFT") return binary<ir::op::shift_left>(o);
  if (direction == "RIGHT") return binary<ir::op::shift_right>(o);
  o.fail("direction " + in_quotes(direction) + " is not supported");
}

inline void where(operation& o) {
  const int all[] = {0, 1, 2};
  if (fold(o, o.type(1), all,
           [](const number& c, const number& a, const number& b) -> std::optional<number> {
             return std::get<std::int64_t>(c) != 0 ? a : b;
           }))
    return;
  o.give(o.elementwise(ir::op::where, all));
}

inline void neg(operation& o) {
  const int x[] = {0};
  const auto negated = [&](const number& a) {
    return is_real(a) ? std::optional<number>(-std::get<double>(a))
                      : combine(o.dims(), arithmetic::operation::sub, std::int64_t{0}, a);
  };
  if (!fold(o, o.type(0), x, negated)) unary<ir::op::neg>(o);
}
inline void sqrt(operation& o) {
  if (!fold_real(o, [](double x) { return std::sqrt(x); })) unary<ir::op::sqrt>(o);
}
inline void reciprocal(operation& o) {
  if (!fold_real(o, [](double x) { return 1 / x; })) unary<ir::op::recip>(o);
}
inline void floor(operation& o) {
  if (!fold_real(o, [](double x) { return std::floor(x); })) unary<ir::op::floor>(o);
}
inline void ceil(operation& o) {
  if (!fold_real(o, [](double x) { return std::ceil(x); })) unary<ir::op::ceil>(o);
}

inline void cast_to(operation& o, dtype to) {
  const int x[] = {0};
  if (fold(o, to, x, [](const number& a) { return std::optional<number>(a); })) return;
  o.give(ir::cast(o.in(0), to));
}
inline void cast(operation& o) {
  o.ignore("saturate");  // of floats of 8 bits, which are none of sinter's dtypes
  o.ignore("round_mode");
  cast_to(o, o.dtype_attribute("to", dtype::f32));
}
inline void cast_like(operation& o) {
  o.ignore("saturate");
  o.ignore("round_mode");
  cast_to(o, o.type(1));
}
inline void bit_cast(operation& o) {
  o.give(ir::bitcast(o.in(0), o.dtype_attribute("to", dtype::f32)));
}

inline void clip(operation& o) {
  o.ignore("consumed_inputs");
  ir::value x = o.in(0);
  const auto limited = [&](int i, std::string_view attribute, ir::op code) {
    if (o.has(i))
      x = ir::elementwise(code, {x, o.operand(i, x.rank())});
    else if (o.has_attribute(attribute))
      x = ir::elementwise(code, {x, ir::constant_like(x, o.real(attribute, 0))});
  };
  limited(1, "min", ir::op::maximum);
  limited(2, "max", ir::op::minimum);
  o.give(x);
}

inline void gelu(operation& o) {
  const std::string form = o.text("approximate", "none");
  if (form != "none" && form != "tanh")
    o.fail("approximate " + in_quotes(form) + " is not supported");
  o.give(ir::unary(form == "tanh" ? ir::op::gelu_tanh : ir::op::gelu, o.in(0)));
}
inline void elu(operation& o) {
  o.ignore("consumed_inputs");
  o.give(sinter::elu(handle(o.in(0)), o.real("alpha", 1)).node);
}
inline void selu(operation& o) {
  o.ignore("consumed_inputs");
  const double alpha = o.real("alpha", 1.67326319217681884765625);
  o.give(sinter::selu(handle(o.in(0)), alpha, o.real("gamma", 1.05070102214813232421875)).node);
}
inline void celu(operation& o) { o.give(sinter::celu(handle(o.in(0)), o.real("alpha", 1)).node); }
inline void hard_sigmoid(operation& o) {
  o.ignore("consumed_inputs");
  const double slope = o.real("alpha", 0.2);
  o.give(sinter::hard_sigmoid(handle(o.in(0)), slope, o.real("beta", 0.5)).node);
}
inline void hard_swish(operation& o) { o.give(sinter::hard_swish(handle(o.in(0))).node); }
inline void softsign(operation& o) { o.give(sinter::softsign(handle(o.in(0))).node); }
inline void mish(operation& o) { o.give(sinter::mish(handle(o.in(0))).node); }
inline void swish(operation& o) {
  const ir::value x = o.in(0);
  const double alpha = o.real("alpha", 1);
  o.give(alpha == 1 ? ir::unary(ir::op::silu, x) : x * ir::unary(ir::op::sigmoid, x * alpha));
}
inline void tan(operation& o) { o.give(sinter::tan(handle(o.in(0))).node); }
inline void leaky_relu(operation& o) {
  o.ignore("consumed_inputs");
  const ir::value x = o.in(0);
  const ir::value slope = ir::constant_like(x, o.real("alpha", 0.01));
  o.give(sinter::leaky_relu(handle(x), handle(slope)).node);
}
inline void prelu(operation& o) {
  o.ignore("consumed_inputs");
  const ir::value x = o.in(0);
  ir::value slope = o.operand(1, x.rank());
  // Before opset 7, and by exporters since: a vector is for channels.
  if (o.version() < 7 && slope.rank() == 1 && x.rank() > 2) {
    ir::symbolic_shape shape =
        ir::symbolic_shape::filled(static_cast<std::size_t>(x.rank() - 1), ir::dim(1));
    shape[0] = slope.extent(0);
    slope = ir::reshape(slope, shape);
  }
  const ir::value zero = ir::constant_like(x, 0);
  o.give(ir::where(ir::elementwise(ir::op::less, {x, zero}), slope * x, x));
}
inline void thresholded_relu(operation& o) {
  const ir::value x = o.in(0);
  const ir::value least = ir::constant_like(x, o.real("alpha", 1));
  o.give(ir::where(ir::elementwise(ir::op::less, {least, x}), x, ir::constant_like(x, 0)));
}
inline void shrink(operation& o) {
  const double bias = o.real("bias", 0), lambda = o.real("lambd", 0.5);
  const ir::value x = o.in(0), zero = ir::constant_like(x, 0);
  const auto constant = [&](double c) {
    if (is_floating(x.type()) || c == std::trunc(c)) return ir::constant_like(x, c);
    o.fail("a bias or threshold of integers that is none");
  };
  const auto less = [](ir::value a, ir::value b) { return ir::elementwise(ir::op::less, {a, b}); };
  o.give(ir::where(less(x, constant(-lambda)), x + constant(bias),
                   ir::where(less(constant(lambda), x), x - constant(bias), zero)));
}
inline void is_nan(operation& o) {
  const ir::value x = o.in(0);
  o.give(ir::elementwise(ir::op::not_equal, {x, x}));
}
inline void is_inf(operation& o) {
  const bool positive = o.integer("detect_positive", 1) != 0,
             negative = o.integer("detect_negative", 1) != 0;
  const ir::value x = o.in(0);
  const ir::value infinity = ir::constant_like(x, std::numeric_limits<double>::infinity());
  const auto equal = [](ir::value a, ir::value b) {
    return ir::elementwise(ir::op::equal, {a, b});
  };
  if (positive && negative) return o.give(equal(ir::unary(ir::op::abs, x), infinity));
  if (!positive && !negative)
    return o.give(ir::broadcast_to(ir::constant(o.graph(), dtype::boolean, 0), x.shape()));
  o.give(equal(x, positive ? infinity : -infinity));
}

template <int Sign>
void hyperbolic(operation& o) {  // sinh, cosh
  const ir::value x = o.in(0);
  o.give((ir::unary(ir::op::exp, x) + ir::unary(ir::op::exp, -x) * double{Sign}) * 0.5);
}
inline void asinh(operation& o) {  // odd, so that nothing cancels
  const ir::value x = o.in(0), a = ir::unary(ir::op::abs, x);
  o.give(ir::unary(ir::op::sign, x) *
         ir::unary(ir::op::log, a + ir::unary(ir::op::sqrt, a * a + 1.0)));
}
inline void acosh(operation& o) {
  const ir::value x = o.in(0);
  o.give(ir::unary(ir::op::log, x + ir::unary(ir::op::sqrt, x * x - 1.0)));
}
inline void atanh(operation& o) {
  const ir::value x = o.in(0);
  o.give(ir::unary(ir::op::log, (x + 1.0) / (1.0 - x)) * 0.5);
}

inline void dropout(operation& o) {
  for (const std::string_view name : {"ratio", "seed", "is_test"}) o.ignore(name);
  const bool trains = o.has(2) && o.known_integer(2) != 0;
  if (trains && (!o.has(1) || o.known_real(1) != 0)) o.fail("dropout that drops is for training");
  o.give_input(0);
  if (o.wants(1))
    o.give(1, ir::broadcast_to(
                  ir::constant(o.graph(), o.version() >= 10 ? dtype::boolean : o.type(0), 1),
                  o.shape(0)));
}
inline void identity(operation& o) { o.give_input(0); }

}  // namespace sinter::inline SINTER_ABI::onnx::detail::elementwise
