// SPDX-License-Identifier: MIT
// For every rule a small graph that it must rewrite, and what it must find: two values that are in
// different classes before and in one class after. Extents are drawn at random; some are symbols,
// so that rules prove what they need.
#pragma once

#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include <sinter/graph/composite.hpp>
#include <sinter/rules/rule_set.hpp>

namespace sinter::test {

using ir::dim;
using ir::op;
using ir::value;

class case_graph {
 public:
  explicit case_graph(std::uint64_t seed, dtype type = dtype::f32) : type_(type), random_(seed) {
    g.symbol_values = {draw(2, 6), draw(2, 6)};
    if (seed % 2 == 1) {
      // Open: rules must not take them for more than one, which they are not here.
      for (std::int64_t s : {0, 1}) g.dims.describe(s, {s == 0 ? "s0" : "s1", {0, 6}});
      g.symbol_values = {1, draw(1, 2)};
    }
    symbols_ = {g.dims.symbol(0), g.dims.symbol(1)};
    a = draw(0, 1) == 0 ? dim(draw(2, 5)) : symbols_[0];
    b = draw(0, 1) == 0 ? dim(draw(2, 5)) : symbols_[1];
    n = dim(draw(2, 5));
    m = dim(draw(2, 5));
    k = dim(draw(2, 5));
  }

  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  value arg(const ir::symbolic_shape& shape) { return arg(type_, shape); }
  value arg(dtype type, const ir::symbolic_shape& shape) {
    return ir::argument(g, type, next_++, shape);
  }
  value scalar() { return arg(ir::symbolic_shape{}); }
  value number(double x) { return ir::constant(g, type_, x); }
  value full(double x, const ir::symbolic_shape& shape) {
    return ir::broadcast_to(number(x), shape);
  }

  ir::graph g;
  dim a, b;     // a constant or a symbol
  dim n, m, k;  // constants

 private:
  dtype type_;
  std::mt19937_64 random_;
  std::vector<dim> symbols_;
  int next_ = 0;
};

struct sides {
  value left, right;
};

struct rule_case {
  std::string_view rule;
  sides (*build)(case_graph&, value, value);
  dtype type = dtype::f32;  // of the arguments
};

// Short names, because each case should fit a line.
namespace write {
using ir::broadcast_to;
using ir::constant_like;
using ir::elementwise;
using ir::matmul;
using ir::permute;
using ir::reduce;
using ir::reshape;
using ir::sum;
using ir::transpose;
using ir::unary;
using ir::where;
inline value binary(op code, value x, value y) { return elementwise(code, {x, y}); }
inline value slice(value x, const ir::symbolic_shape& start, const ir::symbolic_shape& stop,
                   std::int64_t step = 1) {
  return ir::slice(x, start, stop,
                   inline_vector<std::int64_t, max_rank>::filled(start.size(), step));
}
using axis_steps = inline_vector<std::int64_t, max_rank>;
inline value concat(std::initializer_list<value> parts, int axis) {
  return ir::concat(std::span(parts.begin(), parts.size()), axis);
}
inline value permuted(value x, std::initializer_list<std::int64_t> axes) {
  return ir::permute(x, std::span(axes.begin(), axes.size()));
}
// Node for node, where the builder function would simplify.
inline value raw(op code, std::initializer_list<value> in,
                 std::initializer_list<std::int64_t> attributes = {},
                 const ir::symbolic_shape& shape = {}) {
  std::vector<int> ids;
  for (value v : in) ids.push_back(v.id);
  ir::graph& g = *in.begin()->owner;
  return {&g, ir::append(g, code, ids, std::span(attributes.begin(), attributes.size()), shape)};
}
inline value row_mean(value x) {
  return sum(x, 2) * (1 / static_cast<double>(x.extent(1).constant()));
}
inline value composite(op code, value x, std::initializer_list<std::int64_t> attributes) {
  return raw(code, {x}, attributes);
}
inline value expanded(value x) {
  ir::graph& g = *x.owner;
  const std::vector<int> in(g.inputs(x.id).begin(), g.inputs(x.id).end());
  const std::vector<std::int64_t> attributes(g.attributes(x.id).begin(), g.attributes(x.id).end());
  const std::vector<dim> dims(g.node_dims(x.id).begin(), g.node_dims(x.id).end());
  const bool elementwise = ir::is_elementwise(x.get().code);
  return elementwise ? ir::expand_elementwise(g, x.get().code, in)
                     : ir::expand(g, x.get().code, in, attributes, dims);
}
inline sides with_expansion(value x) { return {x, expanded(x)}; }
}  // namespace write

// Each case gets two arguments of shape [a, n].
inline std::vector<rule_case> elementary_cases() {
  using namespace write;
  using g = case_graph;
  constexpr auto boolean = dtype::boolean;
  return {
      {"stop-gradient",
       [](g&, value x, value) {
         return sides{unary(op::stop_gradient, x), x};
       }},
      {"add-zero",
       [](g&, value x, value) {
         return sides{x + 0.0, x};
       }},
      {"subtract-zero",
       [](g&, value x, value) {
         return sides{x - 0.0, x};
       }},
      {"zero-minus",
       [](g&, value x, value) {
         return sides{0.0 - x, -x};
       }},
      {"multiply-one",
       [](g&, value x, value) {
         return sides{x * 1.0, x};
       }},
      {"divide-one",
       [](g&, value x, value) {
         return sides{x / 1.0, x};
       }},
      {"multiply-minus-one",
       [](g&, value x, value) {
         return sides{x * -1.0, -x};
       }},
      {"divide-minus-one",
       [](g&, value x, value) {
         return sides{x / -1.0, -x};
       }},
      {"neg-neg",
       [](g&, value x, value) {
         return sides{-(-x), x};
       }},
      {"subtract-neg",
       [](g&, value x, value y) {
         return sides{x - (-y), x + y};
       }},
      {"add-neg",
       [](g&, value x, value y) {
         return sides{-x + y, y - x};
       }},
      {"neg-subtract",
       [](g&, value x, value y) {
         return sides{-(x - y), y - x};
       }},
      {"multiply-neg",
       [](g&, value x, value y) {
         return sides{x * -y, -(x * y)};
       }},
      {"divide-neg",
       [](g&, value x, value y) {
         return sides{-x / y, -(x / y)};
       }},
      {"divide-by-neg",
       [](g&, value x, value y) {
         return sides{x / -y, -(x / y)};
       }},
      {"constant-factors",
       [](g&, value x, value) {
         return sides{(x * 3.0) * 0.7, x * (constant_like(x, 3) * 0.7)};
       }},
      {"constant-terms",
       [](g&, value x, value) {
         return sides{(x + 3.0) + 0.7, x + (constant_like(x, 3) + 0.7)};
       }},
      {"scalar-factors",
       [](g& c, value x, value) {
         const value s = c.scalar(), t = c.scalar();
         return sides{(x * s) * t, x * (s * t)};
       }},
      {"constant-outward",
       [](g&, value x, value y) {
         return sides{(x * 3.0) * y, (x * y) * 3.0};
       }},
      {"subtract-constant",
       [](g&, value x, value) {
         return sides{x - 3.0, x + (-constant_like(x, 3))};
       }},
      {"maximum-constants",
       [](g&, value x, value) {
         const auto larger = [](value u, double c) {
           return binary(op::maximum, u, constant_like(u, c));
         };
         return sides{larger(larger(x, -0.5), 0.25), larger(x, 0.25)};
       }},
      {"minimum-constants",
       [](g&, value x, value) {
         const auto smaller = [](value u, double c) {
           return binary(op::minimum, u, constant_like(u, c));
         };
         return sides{smaller(smaller(x, -0.5), 0.25), smaller(x, -0.5)};
       }},
      {"add-same",
       [](g&, value x, value) {
         return sides{x + x, x * 2.0};
       }},
      {"multiply-two",
       [](g&, value x, value) {
         return sides{x * 2.0, x + x};
       }},
      {"relu-relu",
       [](g&, value x, value) {
         return sides{unary(op::relu, unary(op::relu, x)), unary(op::relu, x)};
       }},
      {"abs-abs",
       [](g&, value x, value) {
         return sides{unary(op::abs, unary(op::abs, x)), unary(op::abs, x)};
       }},
      {"abs-neg",
       [](g&, value x, value) {
         return sides{unary(op::abs, -x), unary(op::abs, x)};
       }},
      {"floor-floor",
       [](g&, value x, value) {
         return sides{unary(op::floor, unary(op::floor, x)), unary(op::floor, x)};
       }},
      {"ceil-ceil",
       [](g&, value x, value) {
         return sides{unary(op::ceil, unary(op::ceil, x)), unary(op::ceil, x)};
       }},
      {"round-round",
       [](g&, value x, value) {
         return sides{unary(op::round, unary(op::round, x)), unary(op::round, x)};
       }},
      {"sign-sign",
       [](g&, value x, value) {
         return sides{unary(op::sign, unary(op::sign, x)), unary(op::sign, x)};
       }},
      {"maximum-same",
       [](g&, value x, value) {
         return sides{binary(op::maximum, x, x), x};
       }},
      {"minimum-same",
       [](g&, value x, value) {
         return sides{binary(op::minimum, x, x), x};
       }},
      {"maximum-twice",
       [](g&, value x, value y) {
         return sides{binary(op::maximum, binary(op::maximum, x, y), x), binary(op::maximum, x, y)};
       }},
      {"minimum-twice",
       [](g&, value x, value y) {
         return sides{binary(op::minimum, binary(op::minimum, x, y), x), binary(op::minimum, x, y)};
       }},
      {"not-not",
       [](g&, value x, value) {
         return sides{unary(op::logical_not, unary(op::logical_not, x)), x};
       },
       boolean},
      {"not-equal",
       [](g&, value x, value y) {
         return sides{unary(op::logical_not, binary(op::equal, x, y)), binary(op::not_equal, x, y)};
       }},
      {"not-not-equal",
       [](g&, value x, value y) {
         return sides{unary(op::logical_not, binary(op::not_equal, x, y)), binary(op::equal, x, y)};
       }},
      {"and-same",
       [](g&, value x, value) {
         return sides{binary(op::bit_and, x, x), x};
       },
       dtype::i32},
      {"or-same",
       [](g&, value x, value) {
         return sides{binary(op::bit_or, x, x), x};
       },
       boolean},
      {"where-same",
       [](g&, value x, value y) {
         return sides{where(binary(op::less, x, y), y, y), y};
       }},
      {"where-not",
       [](g& c, value x, value y) {
         const value flag = c.arg(boolean, {c.a, c.n});
         return sides{where(unary(op::logical_not, flag), x, y), where(flag, y, x)};
       }},
      {"where-true",
       [](g& c, value x, value y) {
         return sides{where(ir::constant(c.g, boolean, 1), x, y), x};
       }},
      {"where-false",
       [](g& c, value x, value y) {
         return sides{where(ir::constant(c.g, boolean, 0), x, y), y};
       }},
      {"cast-cast",
       [](g&, value x, value) {
         return sides{ir::cast(ir::cast(x, dtype::i64), dtype::f64), ir::cast(x, dtype::f64)};
       },
       dtype::i32},
      {"cast-cast",
       [](g&, value x, value) {
         return sides{ir::cast(ir::cast(x, dtype::f64), dtype::f32), x};
       }},
      {"multiply-add",
       [](g& c, value x, value y) {
         const value z = c.arg({c.a, c.n});
         return sides{x * y + z, elementwise(op::multiply_add, {x, y, z})};
       }},

      {"power-zero",
       [](g& c, value x, value) {
         return sides{binary(op::pow, x, c.number(0)), c.full(1, {c.a, c.n})};
       }},
      {"power-one",
       [](g& c, value x, value) {
         return sides{binary(op::pow, x, c.number(1)), x};
       }},
      {"power-two",
       [](g& c, value x, value) {
         return sides{binary(op::pow, x, c.number(2)), x * x};
       }},
      {"power-three",
       [](g& c, value x, value) {
         return sides{binary(op::pow, x, c.number(3)), x * x * x};
       }},
      {"power-minus-one",
       [](g& c, value x, value) {
         return sides{binary(op::pow, x, c.number(-1)), unary(op::recip, x)};
       }},
      {"power-minus-two",
       [](g& c, value x, value) {
         return sides{binary(op::pow, x, c.number(-2)), unary(op::recip, x * x)};
       }},
      {"power-half",
       [](g& c, value x, value) {
         return sides{binary(op::pow, x * x, c.number(0.5)), unary(op::sqrt, x * x)};
       }},
      {"power-minus-half",
       [](g& c, value x, value) {
         const value e = unary(op::exp, x);
         return sides{binary(op::pow, e, c.number(-0.5)), unary(op::rsqrt, e)};
       }},
      {"one-over",
       [](g&, value x, value) {
         return sides{1.0 / x, unary(op::recip, x)};
       }},
      {"recip-sqrt",
       [](g&, value x, value) {
         return sides{unary(op::recip, unary(op::sqrt, x)), unary(op::rsqrt, x)};
       }},
      {"divide-sqrt",
       [](g&, value x, value y) {
         return sides{x / unary(op::sqrt, y), x * unary(op::rsqrt, y)};
       }},
      {"times-recip",
       [](g&, value x, value y) {
         return sides{unary(op::recip, x) * y, y / x};
       }},
      {"divide-power-of-two",
       [](g& c, value x, value) {
         return sides{x / 8.0, x * c.number(0.125)};
       }},
      {"divide-constant",
       [](g& c, value x, value) {
         return sides{x / 3.0, x * (1.0 / c.number(3))};
       }},
      {"divide-scalar",
       [](g& c, value x, value) {
         const value s = c.scalar();
         return sides{x / s, x * unary(op::recip, s)};
       }},
      {"divide-rows",
       [](g& c, value x, value) {
         const value row = c.arg({c.a, 1});
         return sides{x / row, x * unary(op::recip, row)};
       }},

      {"find-relu",
       [](g&, value x, value) {
         return sides{binary(op::maximum, x, constant_like(x, 0)), unary(op::relu, x)};
       }},
      {"find-sigmoid",
       [](g&, value x, value) {
         return sides{unary(op::recip, unary(op::exp, -x) + 1.0), unary(op::sigmoid, x)};
       }},
      {"find-sigmoid",
       [](g&, value x, value) {
         return sides{unary(op::exp, x) / (unary(op::exp, x) + 1.0), unary(op::sigmoid, x)};
       }},
      {"find-sigmoid",
       [](g&, value x, value) {
         return sides{(unary(op::tanh, x * 0.5) + 1.0) * 0.5, unary(op::sigmoid, x)};
       }},
      {"find-silu",
       [](g&, value x, value) {
         return sides{x * unary(op::sigmoid, x), unary(op::silu, x)};
       }},
      {"find-silu",
       [](g&, value x, value) {
         return sides{x / (unary(op::exp, -x) + 1.0), unary(op::silu, x)};
       }},
      {"find-softplus",
       [](g&, value x, value) {
         return sides{unary(op::log, unary(op::exp, x) + 1.0), unary(op::softplus, x)};
       }},
      {"find-gelu",
       [](g&, value x, value) {
         return sides{(x * (unary(op::erf, x * 0.7071067811865476) + 1.0)) * 0.5,
                      unary(op::gelu, x)};
       }},
      {"find-gelu-tanh",
       [](g&, value x, value) {
         const value inner = (x + ((x * x) * x) * 0.044715) * 0.7978845608028654;
         return sides{(x * (unary(op::tanh, inner) + 1.0)) * 0.5, unary(op::gelu_tanh, x)};
       }},
      {"find-gelu-tanh",
       [](g&, value x, value) {
         const value inner = (x * ((x * x) * 0.044715 + 1.0)) * 0.7978845608028654;
         return sides{(x * (unary(op::tanh, inner) + 1.0)) * 0.5, unary(op::gelu_tanh, x)};
       }},
      {"find-layer-norm",
       [](g&, value x, value) {
         const value d = x - row_mean(x);
         return sides{d / unary(op::sqrt, row_mean(d * d) + 0.125),
                      composite(op::layer_norm, x, {2, ir::bits_of(0.125)})};
       }},
      {"find-layer-norm",
       [](g&, value x, value) {
         const value d = x - row_mean(x);
         return sides{d * unary(op::recip, unary(op::sqrt, row_mean(d * d) + 0.125)),
                      composite(op::layer_norm, x, {2, ir::bits_of(0.125)})};
       }},
      {"find-layer-norm",
       [](g&, value x, value) {
         const value d = x - row_mean(x);
         return sides{d * unary(op::rsqrt, row_mean(d * d) + 0.125),
                      composite(op::layer_norm, x, {2, ir::bits_of(0.125)})};
       }},
      {"find-rms-norm",
       [](g&, value x, value) {
         return sides{x / unary(op::sqrt, row_mean(x * x) + 0.125),
                      composite(op::rms_norm, x, {2, ir::bits_of(0.125)})};
       }},
      {"find-rms-norm",
       [](g&, value x, value) {
         return sides{x * unary(op::recip, unary(op::sqrt, row_mean(x * x) + 0.125)),
                      composite(op::rms_norm, x, {2, ir::bits_of(0.125)})};
       }},
      {"find-rms-norm",
       [](g&, value x, value) {
         return sides{x * unary(op::rsqrt, row_mean(x * x) + 0.125),
                      composite(op::rms_norm, x, {2, ir::bits_of(0.125)})};
       }},
      {"find-softmax",
       [](g&, value x, value) {
         const value e = unary(op::exp, x);
         return sides{e / sum(e, 2), composite(op::softmax, x, {2})};
       }},
      {"find-log-softmax",
       [](g&, value x, value) {
         return sides{x - unary(op::log, sum(unary(op::exp, x), 2)),
                      composite(op::log_softmax, x, {2})};
       }},
      {"log-of-softmax",
       [](g&, value x, value) {
         return sides{unary(op::log, composite(op::softmax, x, {2})),
                      composite(op::log_softmax, x, {2})};
       }},
      {"exp-of-log-softmax",
       [](g&, value x, value) {
         return sides{unary(op::exp, composite(op::log_softmax, x, {2})),
                      composite(op::softmax, x, {2})};
       }},

      {"expand-softmax",
       [](g&, value x, value) { return with_expansion(composite(op::softmax, x, {1})); }},
      {"expand-log-softmax",
       [](g&, value x, value) { return with_expansion(composite(op::log_softmax, x, {2})); }},
      {"expand-layer-norm",
       [](g&, value x, value) {
         return with_expansion(composite(op::layer_norm, x, {2, ir::bits_of(1e-3)}));
       }},
      {"expand-rms-norm",
       [](g&, value x, value) {
         return with_expansion(composite(op::rms_norm, x, {2, ir::bits_of(1e-3)}));
       }},
      {"expand-first-max",
       [](g&, value x, value) { return with_expansion(composite(op::first_max, x, {2})); }},
      {"expand-cross-entropy",
       [](g& c, value x, value) {
         return with_expansion(raw(op::cross_entropy, {x, c.arg(dtype::i64, {c.a})}));
       }},
      {"expand-rope",
       [](g& c, value, value) {
         const value x = c.arg(dtype::f32, {c.a, c.b, dim(2 * c.draw(1, 4))});
         return with_expansion(raw(op::rope, {x, c.arg(dtype::i64, {c.b})},
                                   {ir::bits_of(100), c.draw(0, 1), c.draw(0, 1), 1}));
       }},
      {"expand-silu", [](g&, value x, value) { return with_expansion(unary(op::silu, x)); }},
      {"expand-gelu", [](g&, value x, value) { return with_expansion(unary(op::gelu, x)); }},
      {"expand-gelu-tanh",
       [](g&, value x, value) { return with_expansion(unary(op::gelu_tanh, x)); }},
      {"expand-softplus",
       [](g&, value x, value) { return with_expansion(unary(op::softplus, x)); }},
  };
}

}  // namespace sinter::test
