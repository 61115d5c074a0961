// SPDX-License-Identifier: MIT
// The cases of rule_cases.hpp, continued: what is put together from parts, reductions that keep an
// order, and indexing.
#pragma once

#include "rule_cases.hpp"

namespace sinter::test {

inline std::vector<rule_case> part_cases() {
  using namespace write;
  using g = case_graph;
  return {
      {"concat-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n});
         return sides{concat({concat({x, y}, 0), z}, 0), concat({x, y, z}, 0)};
       }},
      {"concat-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n});
         return sides{concat({z, concat({x, y}, 0)}, 0), concat({z, x, y}, 0)};
       }},
      {"concat-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n}), w = c.arg({2, c.n});
         return sides{concat({concat({x, z}, 0), concat({w, y}, 0)}, 0), concat({x, z, w, y}, 0)};
       }},
      {"concat-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n}), w = c.arg({2, c.n});
         return sides{concat({concat({x, z, w}, 0), y}, 0), concat({x, z, w, y}, 0)};
       }},
      {"concat-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n}), w = c.arg({2, c.n});
         return sides{concat({y, concat({x, z, w}, 0)}, 0), concat({y, x, z, w}, 0)};
       }},
      {"concat-constant",
       [](g& c, value x, value) {
         return sides{concat({x, c.full(1.5, {c.a, 2})}, 1), ir::pad(x, {0, 0}, {0, 2}, 1.5)};
       }},
      {"concat-constant",
       [](g& c, value x, value) {
         return sides{concat({c.full(-2, {3, c.n}), x}, 0), ir::pad(x, {3, 0}, {0, 0}, -2)};
       }},
      {"concat-of-unary",
       [](g&, value x, value y) {
         return sides{concat({unary(op::exp, x), unary(op::exp, y)}, 1),
                      unary(op::exp, concat({x, y}, 1))};
       }},
      {"concat-of-unary",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n});
         return sides{concat({unary(op::relu, x), unary(op::relu, y), unary(op::relu, z)}, 0),
                      unary(op::relu, concat({x, y, z}, 0))};
       }},
      {"unary-of-concat",
       [](g&, value x, value y) {
         return sides{unary(op::exp, concat({x, y}, 1)),
                      concat({unary(op::exp, x), unary(op::exp, y)}, 1)};
       }},
      {"unary-of-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n});
         return sides{unary(op::relu, concat({x, y, z}, 0)),
                      concat({unary(op::relu, x), unary(op::relu, y), unary(op::relu, z)}, 0)};
       }},
      {"permute-concat",
       [](g&, value x, value y) {
         return sides{transpose(concat({x, y}, 1)), concat({transpose(x), transpose(y)}, 0)};
       }},
      {"permute-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n});
         return sides{transpose(concat({x, z, y}, 0)),
                      concat({transpose(x), transpose(z), transpose(y)}, 1)};
       }},
      {"flip-concat",
       [](g& c, value x, value) {
         const value z = c.arg({c.b, c.n});
         return sides{ir::flip(concat({x, z}, 0), 3), concat({ir::flip(z, 3), ir::flip(x, 3)}, 0)};
       }},
      {"flip-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n});
         return sides{ir::flip(concat({x, z, y}, 0), 2),
                      concat({ir::flip(x, 2), ir::flip(z, 2), ir::flip(y, 2)}, 0)};
       }},
      {"identity-pad",
       [](g&, value x, value) {
         return sides{raw(op::pad, {x}, {ir::bits_of(1.0)}, {0, 0, 0, 0}), x};
       }},
      {"identity-concat",
       [](g&, value x, value) {
         return sides{raw(op::concat, {x}, {0}), x};
       }},
      {"flip-units",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1, c.n});
         return sides{ir::flip(x, 6), ir::flip(x, 4)};
       }},
      {"permute-pad",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{permuted(ir::pad(x, {1, 0, 2}, {0, 3, 0}, 2.5), {2, 0, 1}),
                      ir::pad(permuted(x, {2, 0, 1}), {2, 1, 0}, {0, 0, 3}, 2.5)};
       }},
      {"flip-pad",
       [](g&, value x, value) {
         return sides{ir::flip(ir::pad(x, {1, 2}, {3, 4}, 0.5), 2),
                      ir::pad(ir::flip(x, 2), {1, 4}, {3, 2}, 0.5)};
       }},
      {"unary-of-pad",
       [](g&, value x, value) {
         return sides{unary(op::abs, ir::pad(x, {1, 2}, {3, 4}, -0.5)),
                      ir::pad(unary(op::abs, x), {1, 2}, {3, 4}, 0.5)};
       }},
      {"unary-of-pad",
       [](g&, value x, value) {
         return sides{unary(op::relu, ir::pad(x, {1, 0}, {0, 4})),
                      ir::pad(unary(op::relu, x), {1, 0}, {0, 4})};
       }},
      {"slice-permute",
       [](g& c, value, value) {
         const value x = c.arg({6, c.a, 5});
         return sides{slice(permuted(x, {1, 2, 0}), {0, 1, 2}, {c.a, 4, 6}),
                      permuted(slice(x, {2, 0, 1}, {6, c.a, 4}), {1, 2, 0})};
       }},
      {"slice-flip",
       [](g& c, value, value) {
         const value x = c.arg({7, c.a});
         return sides{slice(ir::flip(x, 3), {1, 0}, {4, c.a}),
                      ir::flip(slice(x, {3, 0}, {6, c.a}), 3)};
       }},
      {"slice-reshape",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.m, 6});
         const dim rows = c.g.dims.mul(c.a, c.m);
         return sides{slice(reshape(x, {rows, 6}), {0, 2}, {rows, 5}),
                      reshape(slice(x, {0, 0, 2}, {c.a, c.m, 5}), {rows, 3})};
       }},
  };
}

inline std::vector<rule_case> order_cases() {
  using namespace write;
  using g = case_graph;
  return {
      {"reduce-flip",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{reduce(op::reduce_max, ir::flip(x, 3), 2),
                      ir::flip(reduce(op::reduce_max, x, 2), 1)};
       }},
      {"reduce-flip",
       [](g&, value x, value) {
         return sides{sum(ir::flip(x, 2), 2), sum(x, 2)};
       }},
      {"reduce-windows",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 9, c.n});
         const auto part = [&](std::int64_t from, std::int64_t to) {
           const auto step = sinter::inline_vector<std::int64_t, sinter::max_rank>{1, 2, 1};
           return reshape(ir::slice(x, {0, from, 0}, {c.a, to, c.n}, step), {c.a, 1, 3, c.n});
         };
         return sides{reduce(op::reduce_max, ir::windows(x, 1, 2, 2, 3), 2),
                      ir::elementwise(op::maximum, {part(0, 5), part(3, 8)})};
       }},
      {"reduce-windows",
       [](g& c, value, value) {
         const value x = c.arg({7, c.n});
         const auto part = [&](std::int64_t from, std::int64_t to) {
           return reshape(slice(x, {from, 0}, {to, c.n}), {1, 5, c.n});
         };
         return sides{sum(ir::windows(x, 0, 3), 1), (part(0, 5) + part(1, 6)) + part(2, 7)};
       }},
      {"reduce-few",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 3, 1400});
         const auto part = [&](std::int64_t j) {
           return slice(x, {0, j, 0}, {c.a, j + 1, 1400});
         };
         return sides{sum(x, 2), (part(0) + part(1)) + part(2)};
       }},
      {"reduce-few",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 2100, 2});
         return sides{reduce(op::reduce_max, x, 4),
                      ir::elementwise(op::maximum, {slice(x, {0, 0, 0}, {c.a, 2100, 1}),
                                                    slice(x, {0, 0, 1}, {c.a, 2100, 2})})};
       }},
      {"reduce-concat",
       [](g& c, value x, value) {
         const value z = c.arg({c.b, c.n});
         return sides{sum(concat({x, z}, 0), 1), sum(x, 1) + sum(z, 1)};
       }},
      {"reduce-concat",
       [](g& c, value x, value y) {
         const value z = c.arg({c.b, c.n});
         return sides{reduce(op::reduce_min, concat({x, z, y}, 0), 2),
                      concat({reduce(op::reduce_min, x, 2), reduce(op::reduce_min, z, 2),
                              reduce(op::reduce_min, y, 2)},
                             0)};
       }},
      {"reduce-concat",
       [](g&, value x, value y) {
         return sides{
             reduce(op::reduce_max, concat({x, y}, 1), 3),
             binary(op::maximum, reduce(op::reduce_max, x, 3), reduce(op::reduce_max, y, 3))};
       }},
      {"reduce-concat",
       [](g&, value x, value y) {
         return sides{reduce(op::reduce_prod, concat({x, y}, 1), 2),
                      reduce(op::reduce_prod, x, 2) * reduce(op::reduce_prod, y, 2)};
       }},
      {"largest-of-monotone",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_max, unary(op::relu, x), 2),
                      unary(op::relu, reduce(op::reduce_max, x, 2))};
       }},
      {"largest-of-monotone",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_min, unary(op::exp, x), 1),
                      unary(op::exp, reduce(op::reduce_min, x, 1))};
       }},
      {"largest-of-neg",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_max, -x, 2), -reduce(op::reduce_min, x, 2)};
       }},
      {"largest-of-neg",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_min, -x, 1), -reduce(op::reduce_max, x, 1)};
       }},
      {"largest-of-scaled",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_max, x * 0.3, 2), reduce(op::reduce_max, x, 2) * 0.3};
       }},
      {"largest-of-scaled",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_min, x * -0.3, 1), reduce(op::reduce_max, x, 1) * -0.3};
       }},
      {"largest-of-shifted",
       [](g& c, value x, value) {
         const value row = c.arg({c.a, 1});
         return sides{reduce(op::reduce_max, x + row, 2), reduce(op::reduce_max, x, 2) + row};
       }},
      {"largest-of-shifted",
       [](g& c, value x, value) {
         const value s = c.scalar();
         return sides{reduce(op::reduce_min, x + s, 1), reduce(op::reduce_min, x, 1) + s};
       }},
      {"sum-of-shifted",
       [](g& c, value x, value) {
         const value row = c.arg({c.a, 1});
         return sides{sum(x + row, 2), sum(x, 2) + row * ir::extent_scalar(c.g, dtype::f32, c.n)};
       }},
      {"sum-of-shifted",
       [](g& c, value, value) {
         const value x = c.arg({c.m, c.a}), row = c.arg({1, c.a});
         return sides{sum(x - row, 1), sum(x, 1) - row * ir::extent_scalar(c.g, dtype::f32, c.m)};
       }},
      {"sum-of-padded",
       [](g&, value x, value) {
         return sides{sum(ir::pad(x, {1, 2}, {0, 3}), 2), ir::pad(sum(x, 2), {1, 0}, {0, 0})};
       }},
      {"shifted-log-sum",
       [](g&, value x, value) {
         const value top = reduce(op::reduce_max, x, 2);
         return sides{unary(op::log, sum(unary(op::exp, x), 2)),
                      unary(op::log, sum(unary(op::exp, x - top), 2)) + top};
       }},
  };
}

inline std::vector<rule_case> indexing_cases() {
  using namespace write;
  using g = case_graph;
  constexpr auto i64 = dtype::i64;
  return {
      {"gather-gather",
       [](g& c, value x, value) {
         const value i = c.arg(i64, {c.m}), j = c.arg(i64, {c.b, 2});
         return sides{ir::gather(ir::gather(x, i, 1), j, 1), ir::gather(x, ir::gather(i, j, 0), 1)};
       }},
      {"gather-all",
       [](g& c, value x, value) {
         return sides{ir::gather(x, ir::iota(c.g, i64, {c.a}, 0), 0), x};
       }},
      {"gather-all",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 6});
         return sides{ir::gather(x, ir::iota(c.g, i64, {4}, 0), 1), slice(x, {0, 0}, {c.a, 4})};
       }},
      {"gather-elementwise",
       [](g& c, value, value) {
         const value x = c.arg({6, c.a}), i = c.arg(i64, {c.n});
         return sides{ir::gather(unary(op::tanh, x), i, 0), unary(op::tanh, ir::gather(x, i, 0))};
       }},
      {"gather-elementwise",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 6}), i = c.arg(i64, {c.n}), s = c.scalar();
         return sides{ir::gather(s / x, i, 1), s / ir::gather(x, i, 1)};
       }},
      {"gather-elementwise",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 6}), i = c.arg(i64, {c.n}), s = c.scalar();
         return sides{ir::gather(x - s, i, 1), ir::gather(x, i, 1) - s};
       }},
      {"scatter-together",
       [](g& c, value, value) {
         const value u = c.arg({c.n, c.a}), v = c.arg({c.n, c.a}), i = c.arg(i64, {c.n});
         const ir::symbolic_shape table{4, c.a};
         return sides{ir::scatter_add(u, i, 0, table) + ir::scatter_add(v, i, 0, table),
                      ir::scatter_add(u + v, i, 0, table)};
       }},
      {"scatter-together",
       [](g& c, value, value) {
         const value u = c.arg({c.n, c.a}), v = c.arg({c.n, c.a}), i = c.arg(i64, {c.n});
         const ir::symbolic_shape table{4, c.a};
         return sides{ir::scatter_add(u, i, 0, table) - ir::scatter_add(v, i, 0, table),
                      ir::scatter_add(u - v, i, 0, table)};
       }},
      {"scatter-scaled",
       [](g& c, value, value) {
         const value u = c.arg({c.n, c.a}), i = c.arg(i64, {c.n});
         const ir::symbolic_shape table{2, c.a};
         return sides{ir::scatter_add(u * 0.3, i, 0, table), ir::scatter_add(u, i, 0, table) * 0.3};
       }},
      {"scatter-scaled",
       [](g& c, value, value) {
         const value u = c.arg({c.n, c.a}), i = c.arg(i64, {c.n});
         const ir::symbolic_shape table{6, c.a};
         return sides{ir::scatter_add(u, i, 0, table) * 0.3, ir::scatter_add(u * 0.3, i, 0, table)};
       }},
      {"scatter-neg",
       [](g& c, value, value) {
         const value u = c.arg({c.n, c.a}), i = c.arg(i64, {c.n});
         const ir::symbolic_shape table{4, c.a};
         return sides{ir::scatter_add(-u, i, 0, table), -ir::scatter_add(u, i, 0, table)};
       }},
      {"cumsum-unit",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1});
         return sides{ir::cumsum(x, 1), x};
       }},
      {"cumsum-unit",
       [](g& c, value, value) {
         const value x = c.arg({1, c.a});
         return sides{ir::cumsum(x, 0, true, true),
                      broadcast_to(ir::constant(c.g, x.type(), 0), {1, c.a})};
       }},
      {"cumsum-flip",
       [](g&, value x, value) {
         return sides{ir::cumsum(ir::flip(x, 3), 1, true),
                      ir::flip(ir::cumsum(x, 1, true, true), 3)};
       }},
      {"cumsum-flip",
       [](g&, value x, value) {
         return sides{ir::cumsum(ir::flip(x, 2), 0), ir::flip(ir::cumsum(x, 0), 2)};
       }},
      {"cumsums-together",
       [](g&, value x, value y) {
         return sides{ir::cumsum(x, 0) + ir::cumsum(y, 0), ir::cumsum(x + y, 0)};
       }},
      {"cumsums-together",
       [](g&, value x, value y) {
         return sides{ir::cumsum(x, 1, true) - ir::cumsum(y, 1, true), ir::cumsum(x - y, 1, true)};
       }},
  };
}

}  // namespace sinter::test
