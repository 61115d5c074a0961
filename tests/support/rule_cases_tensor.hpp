// SPDX-License-Identifier: MIT
// The cases of rule_cases.hpp for movement, reduction and matmul.
#pragma once

#include "rule_cases.hpp"
#include "rule_cases_image.hpp"
#include "rule_cases_matmul.hpp"
#include "rule_cases_parts.hpp"
#include "rule_cases_scalar.hpp"

namespace sinter::test {

inline std::vector<rule_case> movement_cases() {
  using namespace write;
  using g = case_graph;
  return {
      {"permute-permute",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{permuted(permuted(x, {1, 2, 0}), {1, 0, 2}), permuted(x, {2, 1, 0})};
       }},
      {"permute-permute",
       [](g&, value x, value) {
         return sides{transpose(transpose(x)), x};
       }},
      {"reshape-reshape",
       [](g& c, value x, value) {
         const dim size = c.g.dims.mul(c.a, c.n);
         return sides{reshape(reshape(x, {size}), {c.n, c.a}), reshape(x, {c.n, c.a})};
       }},
      {"broadcast-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({1, c.n, 1});
         return sides{broadcast_to(broadcast_to(x, {c.a, c.n, 1}), {c.a, c.n, c.m}),
                      broadcast_to(x, {c.a, c.n, c.m})};
       }},
      {"slice-slice",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 12});
         return sides{slice(slice(x, {0, 1}, {c.a, 11}), {0, 2}, {c.a, 9}, 1),
                      slice(x, {0, 3}, {c.a, 10})};
       }},
      {"slice-slice",
       [](g& c, value, value) {
         const value x = c.arg({12, c.a});
         const axis_steps two{2, 1}, six{6, 1};
         const value inner = ir::slice(x, {1, 0}, {12, c.a}, two);  // 1 3 5 7 9 11
         return sides{ir::slice(inner, {0, 0}, {5, c.a}, axis_steps{3, 1}),
                      ir::slice(x, {1, 0}, {10, c.a}, six)};
       }},
      {"flip-flip",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{ir::flip(ir::flip(x, 3), 6), ir::flip(x, 5)};
       }},
      {"flip-permute",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{ir::flip(permuted(x, {1, 2, 0}), 3), permuted(ir::flip(x, 6), {1, 2, 0})};
       }},
      {"pad-pad",
       [](g&, value x, value) {
         return sides{ir::pad(ir::pad(x, {1, 0}, {0, 2}, 0.5), {0, 3}, {1, 1}, 0.5),
                      ir::pad(x, {1, 3}, {1, 3}, 0.5)};
       }},
      {"slice-pad",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 4});
         return sides{slice(ir::pad(x, {0, 2}, {0, 3}), {0, 3}, {c.a, 6}),
                      slice(x, {0, 1}, {c.a, 4})};
       }},
      {"identity-permute",
       [](g&, value x, value) {
         return sides{raw(op::permute, {x}, {0, 1}), x};
       }},
      {"identity-reshape",
       [](g&, value x, value) {
         return sides{raw(op::reshape, {x}, {}, x.shape()), x};
       }},
      {"identity-broadcast",
       [](g&, value x, value) {
         return sides{raw(op::broadcast_to, {x}, {}, x.shape()), x};
       }},
      {"identity-slice",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1});
         return sides{ir::slice(x, {0, 0}, {c.a, 1}, axis_steps{1, 3}), x};
       }},
      {"permute-units",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1, c.n});
         return sides{permuted(x, {1, 0, 2}), reshape(x, {1, c.a, c.n})};
       }},
      {"permute-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1, c.n});
         return sides{permuted(broadcast_to(x, {c.a, c.m, c.n}), {2, 0, 1}),
                      broadcast_to(permuted(x, {2, 0, 1}), {c.n, c.a, c.m})};
       }},
      {"slice-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({6, 1});
         return sides{slice(broadcast_to(x, {6, 5}), {2, 1}, {5, 4}),
                      broadcast_to(slice(x, {2, 0}, {5, 1}), {3, 3})};
       }},
      {"flip-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1});
         return sides{ir::flip(broadcast_to(x, {c.a, c.n}), 3),
                      broadcast_to(ir::flip(x, 1), {c.a, c.n})};
       }},
      {"reshape-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({1, 1, c.n});
         const dim rows = c.g.dims.mul(c.a, c.m);
         return sides{reshape(broadcast_to(x, {c.a, c.m, c.n}), {rows, c.n}),
                      broadcast_to(reshape(x, {1, c.n}), {rows, c.n})};
       }},
      {"broadcast-reshape",
       [](g& c, value, value) {
         const dim rows = c.g.dims.mul(c.a, c.m);
         const value x = c.arg({rows, 1});
         return sides{broadcast_to(reshape(x, {c.a, c.m, 1}), {c.a, c.m, c.n}),
                      reshape(broadcast_to(x, {rows, c.n}), {c.a, c.m, c.n})};
       }},
      {"slice-concat",
       [](g& c, value, value) {
         const value x = c.arg({3, c.n}), y = c.arg({4, c.n});
         return sides{slice(concat({x, y}, 0), {4, 0}, {6, c.n}), slice(y, {1, 0}, {3, c.n})};
       }},
      {"slice-concat",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n}), y = c.arg({c.b, c.n}), z = c.arg({c.a, c.n});
         const dim both = c.g.dims.add(c.a, c.b);
         return sides{slice(concat({x, y, z}, 0), {c.a, 0}, {both, c.n}), y};
       }},
      {"slice-concat",
       [](g& c, value, value) {
         const value w = c.arg({c.a, 1}), x = c.arg({c.a, 2}), y = c.arg({c.a, 3}),
                     z = c.arg({c.a, 4});
         return sides{slice(concat({w, x, y, z}, 1), {0, 3}, {c.a, 5}), slice(y, {0, 0}, {c.a, 2})};
       }},
      {"concat-slices",
       [](g& c, value x, value) {
         return sides{concat({slice(x, {0, 0}, {c.a, 1}), slice(x, {0, 1}, {c.a, c.n})}, 1), x};
       }},
      {"concat-slices",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 9});
         const auto part = [&](std::int64_t first, std::int64_t end) {
           return slice(x, {0, first}, {c.a, end});
         };
         return sides{concat({part(1, 3), part(3, 4), part(4, 8)}, 1), part(1, 8)};
       }},
      {"concat-slices",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 9});
         const auto part = [&](std::int64_t first, std::int64_t end) {
           return slice(x, {0, first}, {c.a, end});
         };
         return sides{concat({part(0, 2), part(2, 3), part(3, 8), part(8, 9)}, 1), x};
       }},

      {"sink-permute",
       [](g&, value x, value y) {
         return sides{transpose(x + y), transpose(x) + transpose(y)};
       }},
      {"sink-permute",
       [](g&, value x, value) {
         return sides{transpose(ir::cast(x, dtype::f64)), ir::cast(transpose(x), dtype::f64)};
       }},
      {"sink-slice",
       [](g& c, value x, value) {
         const value s = c.scalar();
         return sides{slice(x * s, {0, 1}, {c.a, c.n}), slice(x, {0, 1}, {c.a, c.n}) * s};
       }},
      {"sink-flip",
       [](g& c, value x, value y) {
         const value flag = c.arg(dtype::boolean, {c.a, c.n});
         return sides{ir::flip(where(flag, x, y), 2),
                      where(ir::flip(flag, 2), ir::flip(x, 2), ir::flip(y, 2))};
       }},
      {"hoist-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({1, c.n, 1}), y = c.arg({1, 1, c.m});
         const value small = broadcast_to(x, {1, c.n, c.m}) - broadcast_to(y, {1, c.n, c.m});
         return sides{broadcast_to(x, {c.a, c.n, c.m}) - broadcast_to(y, {c.a, c.n, c.m}),
                      broadcast_to(small, {c.a, c.n, c.m})};
       }},
      {"hoist-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({1, c.n}), s = c.scalar();
         return sides{s / broadcast_to(x, {c.a, c.n}), broadcast_to(s / x, {c.a, c.n})};
       }},
      {"hoist-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1});
         return sides{unary(op::exp, broadcast_to(x, {c.a, c.n})),
                      broadcast_to(unary(op::exp, x), {c.a, c.n})};
       }},
      {"hoist-reshape",
       [](g& c, value x, value y) {
         const dim size = c.g.dims.mul(c.a, c.n);
         return sides{reshape(x, {size}) - reshape(y, {size}), reshape(x - y, {size})};
       }},
      {"hoist-reshape",
       [](g& c, value, value) {
         const value x = c.arg({c.g.dims.mul(c.a, c.m), c.n}), y = c.arg({c.a, c.m, c.n});
         const ir::symbolic_shape cube = y.shape(), matrix = x.shape();
         return sides{y - reshape(x, cube), reshape(reshape(y, matrix) - x, cube)};
       }},
      {"scalar-operand",
       [](g& c, value x, value) {
         const value s = c.scalar();
         return sides{broadcast_to(s, {c.a, c.n}) - x, s - x};
       }},
  };
}

inline std::vector<rule_case> reduction_cases() {
  using namespace write;
  using g = case_graph;
  return {
      {"sum-scaled",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n}), s = c.scalar();
         return sides{sum(x * s, 2), sum(x, 2) * s};
       }},
      {"sum-scaled",
       [](g&, value x, value) {
         return sides{sum(x / 3.0, 1), sum(x, 1) / 3.0};
       }},
      {"sum-row-factor",
       [](g& c, value x, value) {
         const value row = c.arg({c.a, 1});
         return sides{sum(x * row, 2), sum(x, 2) * row};
       }},
      {"sum-row-factor",
       [](g& c, value x, value y) {
         const value row = c.arg({c.a, 1});
         return sides{sum(x * (y * row), 2), sum(x * y, 2) * row};
       }},
      {"sum-row-factor",
       [](g& c, value, value) {
         const value x = c.arg({c.m, c.a}), y = c.arg({c.m, c.a}), row = c.arg({1, c.a});
         return sides{sum(x * (y * row), 1), sum(x * y, 1) * row};
       }},
      {"sum-in-steps",
       [](g& c, value, value) {
         const value x = c.arg({c.m, c.a, c.n}), row = c.arg({1, c.a, 1});
         return sides{sum(x * row, 6), sum(sum(x, 4) * row, 2)};
       }},
      {"sum-in-steps",
       [](g& c, value, value) {
         const value x = c.arg({c.m, c.a, c.n}), y = c.arg({c.m, c.a, c.n}),
                     row = c.arg({1, c.a, 1});
         return sides{sum(x * (y * row), 6), sum(sum(x * y, 4) * row, 2)};
       }},
      {"sum-of-terms",
       [](g&, value x, value y) {
         return sides{sum(x + y, 2), sum(x, 2) + sum(y, 2)};
       }},
      {"sum-of-terms",
       [](g&, value x, value y) {
         return sides{sum(x - y, 1), sum(x, 1) - sum(y, 1)};
       }},
      {"sum-neg",
       [](g&, value x, value) {
         return sides{sum(-x, 2), -sum(x, 2)};
       }},
      {"reduce-reduce",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{sum(sum(x, 4), 1), sum(x, 5)};
       }},
      {"reduce-reduce",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_max, reduce(op::reduce_max, x, 2), 1),
                      reduce(op::reduce_max, x, 3)};
       }},
      {"reduce-reduce",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_min, reduce(op::reduce_min, x, 2), 1),
                      reduce(op::reduce_min, x, 3)};
       }},
      {"reduce-reduce",
       [](g&, value x, value) {
         return sides{reduce(op::reduce_prod, reduce(op::reduce_prod, x, 2), 1),
                      reduce(op::reduce_prod, x, 3)};
       }},
      {"reduce-units",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1, c.n});
         return sides{sum(x, 6), sum(x, 4)};
       }},
      {"reduce-units",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1});
         return sides{reduce(op::reduce_min, x, 2), x};
       }},
      {"reduce-permute",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{sum(permuted(x, {2, 0, 1}), 1), permuted(sum(x, 4), {2, 0, 1})};
       }},
      {"reduce-reshape",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         const dim rows = c.g.dims.mul(c.a, c.n);
         return sides{reduce(op::reduce_max, reshape(x, {rows, 1, c.m}), 1),
                      reshape(reduce(op::reduce_max, x, 3), {1, 1, c.m})};
       }},
      {"split-reduction",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{sum(x, 5), sum(sum(x, 4), 1)};
       }},
      {"split-reduction",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.n, c.m});
         return sides{reduce(op::reduce_max, x, 5),
                      reduce(op::reduce_max, reduce(op::reduce_max, x, 4), 1)};
       }},
      {"reduce-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1});
         return sides{sum(broadcast_to(x, {c.a, 5}), 2), x * 5.0};
       }},
      {"reduce-broadcast",
       [](g& c, value, value) {
         const value x = c.arg({1, 1, c.n});
         const value repeated = broadcast_to(x, {c.a, 3, c.n});
         return sides{reduce(op::reduce_max, repeated, 6),
                      broadcast_to(reduce(op::reduce_max, x, 4), {c.a, 1, 1})};
       }},
  };
}

inline std::vector<rule_case> matmul_cases() {
  using namespace write;
  using g = case_graph;
  return {
      {"absorb-transpose",
       [](g& c, value, value) {
         const value x = c.arg({c.k, c.a}), y = c.arg({c.k, c.n});
         return sides{matmul(transpose(x), y), matmul(x, y, true)};
       }},
      {"absorb-transpose",
       [](g& c, value, value) {
         const value x = c.arg({c.b, c.a, c.k}), y = c.arg({c.b, c.k, c.n});
         return sides{matmul(x, transpose(y), false, true), matmul(x, y)};
       }},
      {"transpose-product",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.n, c.k});
         return sides{transpose(matmul(x, y, false, true)), matmul(y, x, false, true)};
       }},
      {"matmul-scaled",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n}), s = c.scalar();
         return sides{matmul(x * s, y), matmul(x, y) * s};
       }},
      {"matmul-scaled",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.b}), y = c.arg({c.b, c.n});
         return sides{matmul(x, y / 8.0), matmul(x, y) / 8.0};
       }},
      {"matmul-neg",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n});
         return sides{matmul(-x, y), -matmul(x, y)};
       }},
      {"matmul-neg",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.n, c.k});
         return sides{matmul(x, -y, false, true), -matmul(x, y, false, true)};
       }},
      {"collapse-batch",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.m, c.k}), w = c.arg({1, c.k, c.n});
         const dim rows = c.g.dims.mul(c.a, c.m);
         return sides{matmul(x, w), reshape(matmul(reshape(x, {rows, c.k}), reshape(w, {c.k, c.n})),
                                            {c.a, c.m, c.n})};
       }},
      {"collapse-batch",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.b, c.m, c.k}), w = c.arg({1, 1, c.n, c.k});
         const dim rows = c.g.dims.mul(c.g.dims.mul(c.a, c.b), c.m);
         const value flat = matmul(reshape(x, {rows, c.k}), reshape(w, {c.n, c.k}), false, true);
         return sides{matmul(x, w, false, true), reshape(flat, {c.a, c.b, c.m, c.n})};
       }},
      {"sum-over-batch",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.b, c.m}), d = c.arg({c.a, c.b, c.n});
         const dim rows = c.g.dims.mul(c.a, c.b);
         return sides{sum(matmul(x, d, true), 1),
                      reshape(matmul(reshape(x, {rows, c.m}), reshape(d, {rows, c.n}), true),
                              {1, c.m, c.n})};
       }},
      {"squeeze-batch",
       [](g& c, value, value) {
         const value x = c.arg({c.a, 1, c.m, c.k}), y = c.arg({c.a, 1, c.k, c.n});
         const value small = matmul(reshape(x, {c.a, c.m, c.k}), reshape(y, {c.a, c.k, c.n}));
         return sides{matmul(x, y), reshape(small, {c.a, 1, c.m, c.n})};
       }},
      {"outer-product",
       [](g& c, value, value) {
         const value x = c.arg({1, c.a}), y = c.arg({1, c.n});
         return sides{matmul(x, y, true), reshape(x, {c.a, 1}) * y};
       }},
      {"matrix-vector",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, 1});
         return sides{matmul(x, y), sum(x * reshape(y, {1, c.k}), 2)};
       }},
      {"matmul-chain",
       [](g& c, value, value) {
         const value x = c.arg({7, 2}), y = c.arg({2, 9}), z = c.arg({9, 3});
         return sides{matmul(matmul(x, y), z), matmul(x, matmul(y, z))};
       }},
      {"matmul-chain",
       [](g& c, value, value) {
         const value x = c.arg({9, 2}), y = c.arg({9, 7}), z = c.arg({3, 7});
         return sides{matmul(x, matmul(y, z, false, true), true),
                      matmul(matmul(x, y, true), z, false, true)};
       }},
      {"find-matmul",
       [](g& c, value, value) {
         const value x = c.arg({c.a, c.k}), y = c.arg({c.k, c.n});
         const value products = reshape(x, {c.a, c.k, 1}) * reshape(y, {1, c.k, c.n});
         const value found = matmul(reshape(reshape(x, {c.a, c.k, 1}), {c.a, c.k}),
                                    reshape(reshape(y, {1, c.k, c.n}), {c.k, c.n}));
         return sides{sum(products, 2), reshape(found, {c.a, 1, c.n})};
       }},
      {"find-matmul",
       [](g& c, value, value) {  // [b, n, k, m] summed over k: batches, both operands transposed
         const value x = c.arg({c.b, 1, c.k, c.m}), y = c.arg({c.b, c.n, c.k, 1});
         const value found =
             matmul(reshape(x, {c.b, c.k, c.m}), reshape(y, {c.b, c.n, c.k}), true, true);
         return sides{sum(x * y, 4), reshape(transpose(found), {c.b, c.n, 1, c.m})};
       }},
  };
}

inline std::vector<rule_case> all_cases() {
  std::vector<rule_case> out;
  for (const auto& theme :
       {elementary_cases(), algebra_cases(), strength_cases(), recognition_cases(),
        movement_cases(), part_cases(), reduction_cases(), order_cases(), matmul_cases(),
        matmul_factor_cases(), matmul_sum_cases(), indexing_cases(), image_cases()})
    out.insert(out.end(), theme.begin(), theme.end());
  return out;
}

}  // namespace sinter::test
