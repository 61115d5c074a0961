// SPDX-License-Identifier: MIT
// Random bound graphs that give the rules something to do: rearrangements of a few tensors,
// repeated, scaled, reduced, multiplied, with constants that meet each other. Every graph is well
// typed by construction.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include <sinter/graph/build.hpp>

namespace sinter::test {

class random_expression {
 public:
  random_expression(std::uint64_t seed, int steps, dtype type = dtype::f32) : random_(seed) {
    g_.symbol_values = {draw(2, 4)};
    const ir::dim s = g_.dims.symbol(0);
    n_ = ir::dim(draw(2, 4));
    for (const ir::symbolic_shape& shape :
         {ir::symbolic_shape{s, n_}, {n_, n_}, {1, n_}, {s, 1}, {s, n_, n_}, {1, n_, n_}, {}})
      pool_.push_back(ir::argument(g_, type, next_++, shape));
    for (int i = 0; i < steps; ++i) step();
    for (std::size_t i = pool_.size() - 5; i < pool_.size(); ++i)
      g_.outputs.push_back({pool_[i].id, -1});
  }
  const ir::graph& graph() const { return g_; }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  // Recent values more often, so that chains get long.
  ir::value pick() {
    const auto n = static_cast<std::int64_t>(pool_.size());
    return pool_[static_cast<std::size_t>(draw(0, 2) == 0 ? draw(0, n - 1)
                                                          : draw(n > 6 ? n - 6 : 0, n - 1))];
  }
  // Of the same rank, so that shapes may broadcast; the result must not need a guard.
  bool fit(ir::value a, ir::value b) const {
    if (a.rank() == 0 || b.rank() == 0) return true;
    if (a.rank() != b.rank()) return false;
    for (int i = 0; i < a.rank(); ++i)
      if (!(a.extent(i) == b.extent(i)) && !(a.extent(i) == ir::dim(1)) &&
          !(b.extent(i) == ir::dim(1)))
        return false;
    return true;
  }

  void step() {
    using ir::op;
    constexpr op unary_ops[] = {op::neg,  op::exp,     op::tanh,         op::relu,
                                op::abs,  op::sigmoid, op::sqrt,         op::recip,
                                op::silu, op::gelu,    op::stop_gradient};
    constexpr op binary_ops[] = {op::add,     op::sub,     op::mul, op::div,
                                 op::maximum, op::minimum, op::add, op::mul};
    constexpr double numbers[] = {0, 1, -1, 0.5, 2, 3, 0.1, -4};
    constexpr double powers[] = {0, 1, 2, 3, -1, 0.5, -0.5};
    constexpr op reductions[] = {op::reduce_sum, op::reduce_max, op::reduce_min, op::reduce_sum};
    const ir::value x = pick(), y = pick();
    switch (draw(0, 17)) {
      case 0: return push(ir::unary(unary_ops[draw(0, 10)], x));
      case 1:
      case 2:
      case 3: return fit(x, y) ? push(ir::elementwise(binary_ops[draw(0, 7)], {x, y})) : step();
      case 4: {
        const ir::value c = ir::constant_like(x, numbers[draw(0, 7)]);
        return push(draw(0, 2) == 0 ? ir::elementwise(binary_ops[draw(0, 7)], {c, x})
                                    : ir::elementwise(binary_ops[draw(0, 7)], {x, c}));
      }
      case 5:
        return x.rank() == 0 ? step()
                             : push(ir::reduce(reductions[draw(0, 3)], x, draw(1, ir::all_axes(x)),
                                               draw(0, 1) == 0));
      case 6: return x.rank() < 2 ? step() : push(ir::transpose(x));
      case 7: {
        if (x.rank() < 2) return step();
        ir::symbolic_shape flat{ir::detail::product(g_.dims, x.shape())};
        if (x.rank() == 3) flat = {g_.dims.mul(x.extent(0), x.extent(1)), x.extent(2)};
        const ir::value y_flat = ir::reshape(x, flat);
        return push(draw(0, 1) == 0 ? y_flat : ir::reshape(ir::unary(op::neg, y_flat), x.shape()));
      }
      case 8: {
        if (x.rank() < 2 || x.rank() > 3 || y.rank() != x.rank() ||
            !(x.extent(x.rank() - 1) == y.extent(x.rank() - 2)))
          return step();
        if (x.rank() == 3 && !(x.extent(0) == y.extent(0)) && !(x.extent(0) == ir::dim(1)) &&
            !(y.extent(0) == ir::dim(1)))
          return step();
        return push(ir::matmul(x, y));
      }
      case 9: {
        if (x.rank() == 0 || !(x.extent(x.rank() - 1) == n_)) return step();
        inline_vector<std::int64_t, max_rank> steps =
            inline_vector<std::int64_t, max_rank>::filled(static_cast<std::size_t>(x.rank()), 1);
        ir::symbolic_shape start = ir::symbolic_shape::filled(static_cast<std::size_t>(x.rank()),
                                                              ir::dim(0)),
                           stop = x.shape();
        start[x.rank() - 1] = ir::dim(1);
        const ir::value tail = ir::slice(x, start, stop, steps);
        stop[x.rank() - 1] = ir::dim(1);
        start[x.rank() - 1] = ir::dim(0);
        const ir::value parts[] = {ir::slice(x, start, stop, steps), tail};
        return push(draw(0, 1) == 0 ? tail : ir::concat(parts, x.rank() - 1));
      }
      case 10:
        return x.rank() == 0
                   ? step()
                   : push({&g_, ir::append(g_, draw(0, 1) == 0 ? op::softmax : op::log_softmax,
                                           {x.id}, {std::int64_t{1} << (x.rank() - 1)})});
      case 11: return x.rank() == 0 ? step() : push(ir::flip(x, draw(1, ir::all_axes(x))));
      case 12: {  // repeated along some of its axes of extent 1, or a scalar along two new ones
        const ir::dim extents[] = {g_.dims.symbol(0), n_, ir::dim(3)};
        ir::symbolic_shape shape = x.rank() == 0 ? ir::symbolic_shape{1, 1} : x.shape();
        for (ir::dim& d : shape)
          if (d == ir::dim(1) && draw(0, 3) != 0) d = extents[draw(0, 2)];
        return push(ir::broadcast_to(x, shape));
      }
      case 13: {  // an axis of extent 1 more
        if (x.rank() == 0 || x.rank() > 3) return step();
        ir::symbolic_shape shape = x.shape();
        shape.insert(shape.begin() + draw(0, x.rank()), ir::dim(1));
        return push(ir::reshape(x, shape));
      }
      case 14: {
        if (x.rank() != 3) return step();
        inline_vector<std::int64_t, max_rank> axes{0, 1, 2};
        std::shuffle(axes.begin(), axes.end(), random_);
        return push(ir::permute(x, axes));
      }
      case 15: {
        if (x.rank() == 0) return step();
        const auto few = [&] {
          return ir::symbolic_shape::filled(static_cast<std::size_t>(x.rank()),
                                            ir::dim(draw(0, 1)));
        };
        const ir::symbolic_shape before = few();
        const ir::value padded = ir::pad(x, before, few(), numbers[draw(0, 7)]);
        if (draw(0, 1) == 0) return push(padded);
        ir::symbolic_shape stop = before;
        for (std::size_t i = 0; i < stop.size(); ++i)
          stop[i] = g_.dims.add(before[i], x.shape()[i]);
        return push(ir::slice(padded, before, stop,
                              inline_vector<std::int64_t, max_rank>::filled(stop.size(), 1)));
      }
      case 16:
        return push(ir::elementwise(
            op::pow, {ir::unary(op::abs, x), ir::constant_like(x, powers[draw(0, 6)])}));
      default: return fit(x, y) ? push(ir::where(ir::elementwise(op::less, {x, y}), x, y)) : step();
    }
  }
  void push(ir::value v) { pool_.push_back(v); }

  std::mt19937_64 random_;
  ir::graph g_;
  ir::dim n_;
  std::vector<ir::value> pool_;
  int next_ = 0;
};

}  // namespace sinter::test
