// SPDX-License-Identifier: MIT
// The cases of rule_cases.hpp, continued: factors, terms, sums and parts of a matmul.
#pragma once

#include "rule_cases.hpp"

namespace sinter::test {

inline std::vector<rule_case> matmul_factor_cases() {
  using namespace write;
  using g = case_graph;
  return {
      {"matmul-row-factor",
       [](g& c, value, value) {  // a factor per row of x
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), s = c.arg({c.a, 1});
         return sides{matmul(x * s, y), matmul(x, y) * s};
       }},
      {"matmul-row-factor",
       [](g& c, value, value) {  // the same of a transposed operand with batches
         const value x = c.arg({c.b, c.k, c.a}), y = c.arg({c.b, c.n, c.k}),
                     s = c.arg({c.b, 1, c.a});
         return sides{matmul(x * s, y, true, true),
                      matmul(x, y, true, true) * reshape(s, {c.b, c.a, 1})};
       }},
      {"matmul-row-factor",
       [](g& c, value, value) {  // a factor per column of y
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), s = c.arg({1, c.n});
         return sides{matmul(x, y * s), matmul(x, y) * s};
       }},
      {"matmul-row-factor",
       [](g& c, value, value) {  // along k: to the smaller operand
         const value x = c.arg({9, c.k}), y = c.arg({c.k, c.n}), s = c.arg({1, c.k});
         return sides{matmul(x * s, y), matmul(x, y * reshape(s, {c.k, 1}))};
       }},
      {"matmul-row-factor",
       [](g& c, value, value) {
         const value x = c.arg({c.n, c.b}), y = c.arg({9, c.b}), s = c.arg({1, c.b});
         return sides{matmul(x, y * s, false, true), matmul(x * s, y, false, true)};
       }},
      {"factor-into-operand",
       [](g& c, value, value) {
         const value x = c.arg({9, c.k}), y = c.arg({c.k, c.n}), s = c.arg({1, c.n});
         return sides{matmul(x, y) * s, matmul(x, y * s)};
       }},
      {"factor-into-operand",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.n}), y = c.arg({c.k, 9}), s = c.arg({c.n, 1});
         return sides{matmul(x, y, true) * s, matmul(x * reshape(s, {1, c.n}), y, true)};
       }},
      {"depth-order",
       [](g& c, value, value) {  // pairs interleaved in both operands, keys shared by two batches
         const ir::symbolic_shape pair{c.b, c.a, c.k, 1}, shared{1, c.n, c.k, 1};
         const value p = c.arg(pair), q = c.arg(pair), r = c.arg(shared), s = c.arg(shared);
         const dim depth = c.g.dims.mul(c.k, dim(2));
         const value x = reshape(concat({p, q}, 3), {c.b, c.a, depth}),
                     y = reshape(concat({r, s}, 3), {1, c.n, depth});
         const auto flat = [&](value v, dim batch, dim rows) {
           return reshape(v, {batch, rows, c.k});
         };
         const value u = concat({flat(p, c.b, c.a), flat(q, c.b, c.a)}, 2),
                     v = concat({flat(r, dim(1), c.n), flat(s, dim(1), c.n)}, 2);
         return sides{matmul(x, y, false, true), matmul(u, v, false, true)};
       }},
      {"scale-into-operand",
       [](g& c, value, value) {
         const value x = c.arg({9, c.k}), y = c.arg({c.k, 8}), s = c.scalar();
         return sides{matmul(x, y) * s, matmul(x * s, y)};
       }},
      {"scale-into-operand",
       [](g& c, value, value) {
         const value x = c.arg({c.b, 9, c.k}), y = c.arg({c.b, 8, c.k});
         return sides{matmul(x, y, false, true) * 0.3, matmul(x, y * 0.3, false, true)};
       }},
      {"matmul-row-term",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), s = c.arg({1, c.k});
         return sides{matmul(x + s, y), matmul(x, y) + matmul(s, y)};
       }},
      {"matmul-row-term",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.n}), y = c.arg({c.a, c.k}), s = c.arg({c.k, 1});
         return sides{matmul(x - s, y, true, true),
                      matmul(x, y, true, true) - matmul(s, y, true, true)};
       }},
      {"matmul-row-term",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), s = c.arg({c.k, 1});
         return sides{matmul(x, y + s), matmul(x, y) + matmul(x, s)};
       }},
      {"matmul-row-term",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.n, c.k}), s = c.arg({1, c.k});
         return sides{matmul(x, y - s, false, true),
                      matmul(x, y, false, true) - matmul(x, s, false, true)};
       }},
      {"affine-into-operand",
       [](g& c, value, value) {
         const value x = c.arg({9, c.k}), y = c.arg({c.k, c.n}), t = c.arg({1, c.n}),
                     s = c.arg({1, c.n});
         return sides{(matmul(x, y) + t) * s, matmul(x, y * s) + t * s};
       }},
      {"affine-into-operand",
       [](g& c, value, value) {
         const value x = c.arg({c.k, 9}), y = c.arg({c.n, c.k}), t = c.arg({1, c.n}),
                     s = c.arg({1, c.n});
         return sides{(matmul(x, y, true, true) - t) * s,
                      matmul(x, y * reshape(s, {c.n, 1}), true, true) - t * s};
       }},
  };
}

inline std::vector<rule_case> matmul_sum_cases() {
  using namespace write;
  using g = case_graph;
  return {
      {"sum-of-product",
       [](g& c, value, value) {
         const value x = c.arg({c.m, c.a}), y = c.arg({c.a, c.n});
         return sides{sum(matmul(x, y), 3), matmul(sum(x, 1), sum(y, 2))};
       }},
      {"sum-of-product",
       [](g& c, value, value) {
         const value x = c.arg({c.b, c.k, c.m}), y = c.arg({c.b, c.n, c.k});
         return sides{sum(matmul(x, y, true, true), 2), matmul(sum(x, 4), y, true, true)};
       }},
      {"sum-of-product",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n});
         return sides{sum(matmul(x, y), 2), matmul(x, sum(y, 2))};
       }},
      {"sum-of-diagonal",
       [](g& c, value, value) {  // the trace
         const value x = c.arg({c.n, c.a}), y = c.arg({c.a, c.n});
         const value hit = binary(op::equal, ir::iota(c.g, dtype::i64, {c.n, c.n}, 0),
                                  ir::iota(c.g, dtype::i64, {c.n, c.n}, 1));
         return sides{sum(where(hit, matmul(x, y), constant_like(x, 0)), 3),
                      sum(x * transpose(y), 3)};
       }},
      {"sum-of-diagonal",
       [](g& c, value, value) {  // times the identity, as a column and a row of counters
         const value x = c.arg({c.b, c.k, c.n}), y = c.arg({c.b, c.n, c.k});
         const value rows = ir::iota(c.g, dtype::i64, {c.n, 1}, 0),
                     columns = ir::iota(c.g, dtype::i64, {1, c.n}, 1);
         const value hit = binary(op::equal, broadcast_to(rows, {c.b, c.n, c.n}),
                                  broadcast_to(columns, {c.b, c.n, c.n}));
         return sides{sum(matmul(x, y, true, true) * ir::cast(hit, dtype::f32), 4),
                      sum(transpose(x) * y, 4)};
       }},
      {"known-row-sum",
       [](g& c, value, value) {
         const value p = c.arg({c.a, c.m}), v = c.arg({c.m, c.k}), d = c.arg({c.a, c.k});
         return sides{sum(p * matmul(d, v, false, true), 2), sum(d * matmul(p, v), 2)};
       }},
      {"product-of-repeated",
       [](g& c, value, value) {
         const value x = c.arg({c.b, 1, c.k}), y = c.arg({c.b, c.n, c.k});
         return sides{matmul(broadcast_to(x, {c.b, 6, c.k}), y, false, true),
                      broadcast_to(matmul(x, y, false, true), {c.b, 6, c.n})};
       }},
      {"product-of-repeated",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.a}), y = c.arg({c.k, 1});
         return sides{matmul(x, broadcast_to(y, {c.k, 5}), true),
                      broadcast_to(matmul(x, y, true), {c.a, 5})};
       }},
      {"product-of-repeated",
       [](g& c, value, value) {
         const value x = c.arg({1, 1, c.k}), y = c.arg({1, c.k, c.n});
         return sides{matmul(broadcast_to(x, {6, c.m, c.k}), broadcast_to(y, {6, c.k, c.n})),
                      broadcast_to(matmul(x, y), {6, c.m, c.n})};
       }},
      {"slice-of-product",
       [](g& c, value, value) {
         const value x = c.arg({c.b, 6, c.k}), y = c.arg({c.b, c.k, 5});
         return sides{
             slice(matmul(x, y), {0, 2, 1}, {c.b, 5, 4}),
             matmul(slice(x, {0, 2, 0}, {c.b, 5, c.k}), slice(y, {0, 0, 1}, {c.b, c.k, 4}))};
       }},
      {"slice-of-product",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 6}), y = c.arg({5, c.a});
         const axis_steps two{1, 2}, steps{2, 1};
         return sides{ir::slice(matmul(x, y, true, true), {0, 0}, {6, 5}, two),
                      matmul(x, ir::slice(y, {0, 0}, {5, c.a}, steps), true, true)};
       }},
      {"common-operand",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), z = c.arg({c.k, c.n});
         return sides{matmul(x, y) + matmul(x, z), matmul(x, y + z)};
       }},
      {"common-operand",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), z = c.arg({c.k, c.a});
         return sides{matmul(x, y) - matmul(z, y, true), matmul(x - transpose(z), y)};
       }},
      {"known-products",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), z = c.arg({c.k, c.n});
         return sides{matmul(x, y + z), matmul(x, y) + matmul(x, z)};
       }},
      {"known-products",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.a}), y = c.arg({c.k, c.n}), z = c.arg({c.k, c.a});
         return sides{matmul(x - z, y, true), matmul(x, y, true) - matmul(z, y, true)};
       }},
      {"products-side-by-side",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), z = c.arg({c.k, c.m});
         return sides{concat({matmul(x, y), matmul(x, z)}, 1), matmul(x, concat({y, z}, 1))};
       }},
      {"products-side-by-side",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.a}), y = c.arg({c.n, c.k}), z = c.arg({c.m, c.k}),
                     w = c.arg({2, c.k});
         return sides{
             concat({matmul(x, y, true, true), matmul(x, z, true, true), matmul(x, w, true, true)},
                    1),
             matmul(x, concat({y, z, w}, 0), true, true)};
       }},
      {"products-side-by-side",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, 1}), z = c.arg({c.k, 2}),
                     v = c.arg({c.k, 3}), w = c.arg({c.k, 4});
         return sides{concat({matmul(x, y), matmul(x, z), matmul(x, v), matmul(x, w)}, 1),
                      matmul(x, concat({y, z, v, w}, 1))};
       }},
      {"products-side-by-side",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.a}), y = c.arg({c.m, c.k}), z = c.arg({c.n, c.k}),
                     w = c.arg({2, c.k});
         return sides{concat({matmul(y, x), matmul(z, x), matmul(w, x)}, 0),
                      matmul(concat({y, z, w}, 0), x)};
       }},
      {"products-side-by-side",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.a}), y = c.arg({c.k, c.m}), z = c.arg({c.k, c.n});
         return sides{concat({matmul(y, x, true), matmul(z, x, true)}, 0),
                      matmul(concat({y, z}, 1), x, true)};
       }},
      {"product-of-parts",
       [](g& c, value, value) {  // along the columns
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), z = c.arg({c.k, c.m});
         return sides{matmul(x, concat({y, z}, 1)), concat({matmul(x, y), matmul(x, z)}, 1)};
       }},
      {"product-of-parts",
       [](g& c, value, value) {  // along k: [x y]·W, as of a recurrent cell
         const value x = c.arg({c.a, c.m}), y = c.arg({c.a, c.n});
         const dim both = c.g.dims.add(c.m, c.n);
         const value w = c.arg({both, c.k});
         return sides{matmul(concat({x, y}, 1), w), matmul(x, slice(w, {0, 0}, {c.m, c.k})) +
                                                        matmul(y, slice(w, {c.m, 0}, {both, c.k}))};
       }},
      {"product-of-parts",
       [](g& c, value, value) {
         const value x = c.arg({6, c.a}), u = c.arg({1, c.n}), v = c.arg({2, c.n}),
                     w = c.arg({3, c.n});
         const auto part = [&](std::int64_t first, std::int64_t end) {
           return slice(x, {first, 0}, {end, c.a});
         };
         return sides{matmul(x, concat({u, v, w}, 0), true), matmul(part(0, 1), u, true) +
                                                                 matmul(part(1, 3), v, true) +
                                                                 matmul(part(3, 6), w, true)};
       }},
      {"product-of-parts",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.a}), u = c.arg({c.k, 1}), v = c.arg({c.k, 2}),
                     w = c.arg({c.k, 3});
         return sides{matmul(concat({u, v, w}, 1), x, true),
                      concat({matmul(u, x, true), matmul(v, x, true), matmul(w, x, true)}, 0)};
       }},
      {"product-of-parts",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), u = c.arg({1, c.k}), v = c.arg({2, c.k}),
                     w = c.arg({3, c.k}), z = c.arg({2, c.k});
         return sides{matmul(x, concat({u, v, w, z}, 0), false, true),
                      concat({matmul(x, u, false, true), matmul(x, v, false, true),
                              matmul(x, w, false, true), matmul(x, z, false, true)},
                             1)};
       }},
      {"product-of-parts",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.a}), u = c.arg({1, c.k}), v = c.arg({2, c.k}),
                     w = c.arg({3, c.k}), z = c.arg({2, c.k});
         return sides{matmul(concat({u, v, w, z}, 0), x),
                      concat({matmul(u, x), matmul(v, x), matmul(w, x), matmul(z, x)}, 0)};
       }},
  };
}

}  // namespace sinter::test
