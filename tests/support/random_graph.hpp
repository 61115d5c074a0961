// SPDX-License-Identifier: MIT
// Random well-typed graphs with argument data, the same for the same seed on every machine and with
// every compiler: of the arguments of a call one at most draws. All ops take part except
// random_uniform and gradient. What is computed does not hang on the last bits (see
// noisy_values.hpp), so an executor's results agree with the reference interpreter's to
// `random_graph_tolerance`, relative to max(1, |value|).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "random_graph_pool.hpp"
#include <sinter/graph/bitcast.hpp>

namespace sinter::test {

inline constexpr double random_graph_tolerance = 1e-3;

struct random_graph {
  ir::graph graph;
  std::vector<ir::reference_tensor> arguments;
};

class random_graph_generator : random_graph_pool {
 public:
  random_graph_generator(std::uint64_t seed, const random_graph_options& options)
      : random_graph_pool(seed, options), has_windows_(seed % 7 == 2 || seed % 7 == 3) {}

  random_graph run() {
    for (int i = 0; i < options_.steps; ++i) step();
    // Behind the others, so that the graphs of older seeds stay parts of the new ones.
    if (chance(20)) rope_step();
    const auto last = draw(0, 99);
    if (last < 20) recompute_step();
    if (last >= 80) cumsum_step();
    return {live_graph(), arguments_};
  }

 private:
  // ---- steps

  void step() {
    switch (draw(0, 32)) {
      case 0:
      case 1:
      case 2:
      case 3: return unary_step();
      case 4:
      case 5:
      case 6:
      case 7:
      case 8: return binary_step();
      case 9: return comparison_step();
      case 10: return select_step();
      case 11: return multiply_add_step();
      case 12:
      case 13:
      case 14: return reduction_step();
      case 15: return reshape_step();
      case 16: return permute_step();
      case 17: return broadcast_step();
      case 18:
      case 31: return sum_to_step();
      case 19: return pad_step();
      case 20: return has_windows_ && chance(70) ? windows_step() : slice_step();
      case 21: return chance(50) ? flip_step() : concat_step();
      case 22:
      case 23:
      case 24: return matmul_step();
      case 25: return gather_step();
      case 26: return scatter_step();
      case 27:
      case 28: return normalisation_step();
      case 29: return chance(50) ? cross_entropy_step() : leaf_step();
      case 30: return cast_step();
      default: return integer_step();
    }
  }

  // x where it is in the domain of log, sqrt and the like; |x| + 1/2 otherwise (special values go
  // in as they are).
  value positive(value x) {
    if (options_.special_values && chance(50)) return x;
    for (double each : (*values_)[x.id].data)
      if (!(each > 0.1)) return ir::unary(op::abs, x) + 0.5;
    return x;
  }

  void unary_step() {
    if (chance(15)) {
      if (const auto x = find_number())
        offer(ir::unary(
            choose({op::neg, op::abs, op::sign, op::floor, op::ceil, op::round, op::relu}), *x));
      return;
    }
    const op code =
        choose({op::sqrt,    op::rsqrt,         op::recip, op::exp,       op::exp2, op::log,
                op::log2,    op::sin,           op::cos,   op::tanh,      op::tanh, op::erf,
                op::sigmoid, op::relu,          op::gelu,  op::gelu_tanh, op::silu, op::softplus,
                op::neg,     op::stop_gradient, op::floor, op::round});
    const auto x = find_float();
    if (!x) return;
    const bool needs_positive = code == op::sqrt || code == op::rsqrt || code == op::recip ||
                                code == op::log || code == op::log2;
    offer(ir::unary(code, needs_positive ? positive(*x) : *x));
  }

  void binary_step() {
    const auto x = find_number();
    if (!x) return;
    const value y = partner(*x);
    values_->update();  // y may be a new constant
    if (is_floating(x->type()) && chance(5))
      return offer(ir::elementwise(op::pow, {positive(*x), y}));
    const op code = choose({op::add, op::add, op::add, op::sub, op::sub, op::mul, op::mul, op::mul,
                            op::div, op::maximum, op::minimum, op::floor_divide, op::mod});
    const bool in_order = chance(50);
    // A quotient by what is 0 in one precision and 1e-9 in the other is no test of anything.
    const bool rounds = code == op::floor_divide || code == op::mod;
    if (rounds && !far_from_zero(in_order ? y : *x)) return;
    offer(in_order ? ir::elementwise(code, {*x, y}) : ir::elementwise(code, {y, *x}));
  }

  bool far_from_zero(value divisor) const {
    if (!is_floating(divisor.type()) || options_.special_values) return true;
    return std::ranges::all_of((*values_)[divisor.id].data,
                               [](double d) { return !(std::abs(d) < 1e-3); });
  }

  void comparison_step() {
    const auto x = find_any();
    const value y = partner(*x);
    offer(ir::elementwise(choose({op::less, op::less_equal, op::equal, op::not_equal}), {*x, y}));
  }

  void select_step() {
    const auto x = find_number();
    if (!x) return;
    const value y = partner(*x);
    const auto condition = find(
        [&](value v) { return v.type() == dtype::boolean && broadcasts(shape(v), shape(*x)); });
    const value c =
        condition ? *condition : ir::elementwise(op::less, {*x, ir::constant_like(*x, 0.5)});
    values_->update();
    if (broadcasts(shape(c), shape(y)) && broadcasts(shape(*x), shape(y)))
      offer(ir::where(c, *x, y));
  }

  void multiply_add_step() {
    const auto x = find_number();
    if (!x) return;
    const value y = partner(*x), z = partner(*x);
    values_->update();
    if (broadcasts(shape(y), shape(z))) offer(ir::elementwise(op::multiply_add, {*x, y, z}));
  }

  std::int64_t some_axes(value x) {
    if (chance(60)) return std::int64_t{1} << (x.rank() - 1);
    return draw(1, ir::all_axes(x));
  }

  // Stays every product of some of the elements between 1e-26 and 1e26, in whatever order they are
  // multiplied? In f32 an infinity may meet a zero on the way to a result of ordinary size.
  bool has_tame_products(value x) const {
    double logarithms = 0;
    for (double v : (*values_)[x.id].data)
      if (v != 0) logarithms += std::abs(std::log(std::abs(v)));
    return logarithms < 60;
  }

  void reduction_step() {
    const auto x = find_number(1);
    if (!x) return;
    op code = choose({op::reduce_sum, op::reduce_sum, op::reduce_sum, op::reduce_max,
                      op::reduce_min, op::reduce_prod, op::argmax});
    if (has_windows_ && chance(30)) code = op::first_max;
    if (code == op::reduce_prod && !has_tame_products(*x)) code = op::reduce_sum;
    const bool keep = chance(60);
    offer(ir::reduce(code, *x, some_axes(*x), keep));
  }

  // Merges two axes, adds one, or (between known extents) splits one.
  void reshape_step() {
    const auto x = find_any();
    ir::symbolic_shape to = x->shape();
    const bool merge = x->rank() >= 2 && chance(50);
    const auto axis =
        static_cast<std::size_t>(x->rank() == 0 ? 0 : draw(0, x->rank() - (merge ? 2 : 1)));
    if (merge) {
      to[axis] = g_.dims.mul(to[axis], to[axis + 1]);
      to.erase(to.begin() + axis + 1);
    } else if (x->rank() >= 1 && to[axis].is_constant() && to[axis].constant() > 2 &&
               to[axis].constant() % 2 == 0) {
      to[axis] = dim(to[axis].constant() / 2);
      to.insert(to.begin() + axis, dim(2));
    } else {
      to.insert(to.begin() + axis, dim(1));
    }
    if (to.size() <= 5) offer(ir::reshape(*x, to));
  }

  void permute_step() {
    const auto x = find_any(2);
    if (!x) return;
    if (chance(50)) return offer(ir::transpose(*x));
    std::vector<std::int64_t> axes;
    for (int i = 0; i < x->rank(); ++i) axes.insert(axes.begin() + draw(0, i), i);
    offer(ir::permute(*x, axes));
  }

  void broadcast_step() {
    const auto x = find_any();
    if (const auto y = find([&](value v) {
          return v.id != x->id && broadcasts(shape(*x), shape(v), true) && shape(v) != shape(*x);
        }))
      return offer(ir::broadcast_to(*x, y->shape()));
    ir::symbolic_shape to = x->shape();
    if (to.size() < 4 && elements(*x) * 3 < element_limit_) {
      to.insert(to.begin(), dim(3));
      offer(ir::broadcast_to(*x, to));
    }
  }

  void sum_to_step() {
    const auto x = find_number(1);
    if (!x) return;
    const auto y = find(
        [&](value v) { return broadcasts(shape(v), shape(*x), true) && shape(v) != shape(*x); });
    if (y) offer(ir::sum_to(*x, y->shape()));
  }

  void pad_step() {
    const auto x = find_any(1);
    if (!x || x->rank() > 3) return;
    ir::symbolic_shape before, after;
    for (int i = 0; i < x->rank(); ++i) {
      before.push_back(dim(draw(0, 2)));
      after.push_back(dim(draw(0, 1)));
    }
    offer(ir::pad(*x, before, after,
                  x->type() == dtype::boolean || chance(60) ? 0 : static_cast<double>(draw(0, 2))));
  }

  void slice_step() {
    const auto x = find_any(1);
    if (!x) return;
    ir::symbolic_shape start, stop;
    inline_vector<std::int64_t, max_rank> step;
    for (int i = 0; i < x->rank(); ++i) {
      const std::int64_t extent = shape(*x)[i];
      const std::int64_t cut = extent > 2 ? draw(0, 1) : 0;
      start.push_back(dim(extent > 2 ? draw(0, 1) : 0));
      stop.push_back(g_.dims.sub(x->extent(i), dim(cut)));
      step.push_back(chance(70) ? 1 : draw(2, 3));
    }
    offer(ir::slice(*x, start, stop, step));
  }

  void windows_step() {
    const auto x = find_any(1);
    if (!x || x->rank() > 4) return;
    const auto axis = static_cast<int>(draw(0, x->rank() - 1));
    const std::int64_t extent = shape(*x)[axis], dilation = draw(1, 3);
    if (extent == 0) return;
    const std::int64_t size = draw(1, std::min<std::int64_t>(4, (extent - 1) / dilation + 1));
    if (elements(*x) * size > element_limit_) return;
    const std::int64_t stride = draw(1, 3);
    const value taken = ir::windows(*x, axis, dim(size), stride, dilation);
    offer(taken);
    if (taken.type() != dtype::boolean && taken.get().code == op::windows && chance(30))
      offer(ir::sum_windows(taken, axis, x->extent(axis), stride, dilation));
  }

  void flip_step() {
    if (const auto x = find_any(1)) offer(ir::flip(*x, some_axes(*x)));
  }

  void recompute_step() {
    const value x = *find_any();
    offer({&g_, ir::append(g_, op::recompute, {x.id}, {draw(0, 3)})});
  }

  void concat_step() {
    const auto x = find_any(1);
    if (!x) return;
    const auto axis = static_cast<int>(draw(0, x->rank() - 1));
    const auto y = find([&](value v) {
      bool fits = v.id != x->id && v.type() == x->type() && v.rank() == x->rank();
      for (int i = 0; fits && i < x->rank(); ++i) fits = i == axis || shape(v)[i] == shape(*x)[i];
      return fits;
    });
    std::vector<value> parts{*x, y ? *y : *x};
    if (chance(30)) parts.push_back(*x);
    offer(ir::concat(parts, axis));
  }

  void matmul_step() {
    const auto a = find([](value v) { return is_floating(v.type()) && v.rank() >= 2; });
    if (!a) return;
    const bool ta = chance(25), tb = chance(25);
    const shape_vector& sa = shape(*a);
    const std::int64_t inner = sa[sa.size() - (ta ? 2 : 1)], rows = sa[sa.size() - (ta ? 1 : 2)];
    const auto fits = [&](value v, bool transposed) {
      if (v.type() != a->type() || v.rank() < 2) return false;
      const shape_vector& sb = shape(v);
      if (sb[sb.size() - (transposed ? 1 : 2)] != inner) return false;
      const shape_vector batch_a(sa.begin(), sa.end() - 2), batch_b(sb.begin(), sb.end() - 2);
      // The product and the broadcast operands all stay below the limit.
      return broadcasts(batch_a, batch_b) &&
             element_count(batch_a) * element_count(batch_b) * std::max(rows, inner) *
                     std::max(sb[sb.size() - (transposed ? 2 : 1)], inner) <=
                 element_limit_;
    };
    if (const auto b = find([&](value v) { return fits(v, tb); }))
      return offer(ir::matmul(*a, *b, ta, tb));
    if (fits(*a, !ta)) offer(ir::matmul(*a, *a, ta, !ta));
  }

  // Integers in [0, extent), from a tensor of the pool or a counter.
  value indices_below(dim extent, const ir::symbolic_shape& shape_of_counter) {
    // What wraps in a narrow type is no extent.
    const auto count = static_cast<double>(
        ir::detail::evaluate_extent(g_, extent, ir::detail::bind_symbols(g_, arguments_)));
    const auto found = find([&](value v) {
      return is_integral(v.type()) && v.rank() <= 2 && ir::highest_of(v.type()) >= count;
    });
    const dtype type = choose({dtype::i32, dtype::i64});
    const value numbers = found && shape_of_counter.empty() ? *found
                          : shape_of_counter.empty()
                              ? ir::iota(g_, type, {dim(draw(1, 5))}, 0)
                              : ir::iota(g_, type, shape_of_counter, 0) * 3.0;
    return ir::elementwise(op::mod, {numbers, ir::extent_scalar(g_, numbers.type(), extent)});
  }

  void gather_step() {
    const auto x = find_any(1);
    if (!x) return;
    const auto axis = static_cast<int>(draw(0, x->rank() - 1));
    if (shape(*x)[axis] == 0) return;
    const value indices = indices_below(x->extent(axis), {});
    values_->update();
    if (!values_->stable(indices.id) || x->rank() + indices.rank() > 5) return;
    if (elements(*x) * elements(indices) <= element_limit_) offer(ir::gather(*x, indices, axis));
  }

  void scatter_step() {
    const auto x = find_number(1);
    if (!x) return;
    const auto axis = static_cast<int>(draw(0, x->rank() - 1));
    // One or two axes of the updates belong to the indices.
    const int width = axis + 1 < x->rank() && chance(30) ? 2 : 1;
    ir::symbolic_shape counter, whole;
    for (int i = 0; i < x->rank(); ++i) {
      if (i >= axis && i < axis + width) counter.push_back(x->extent(i));
      if (i == axis) whole.push_back(dim(draw(1, 9)));
      if (i < axis || i >= axis + width) whole.push_back(x->extent(i));
    }
    offer(ir::scatter_add(*x, indices_below(whole[axis], counter), axis, whole));
  }

  void cumsum_step() {
    const auto x = find_number(1);
    if (!x) return;
    offer(ir::cumsum(*x, static_cast<int>(draw(0, x->rank() - 1)), chance(30), chance(30)));
  }

  void rope_step() {
    const auto x =
        find([](value v) { return is_floating(v.type()) && v.rank() >= 2 && v.rank() < max_rank; });
    if (!x) return;
    const int last = x->rank() - 1;
    const auto axis = static_cast<int>(draw(0, last - 1));
    const value even = ir::concat(std::array{*x, *x}, last);
    const value positions = ir::iota(g_, dtype::i64, {x->extent(axis)}, 0);
    offer({&g_, ir::append(g_, op::rope, {even.id, positions.id},
                           {ir::bits_of(choose({100.0, 1e4})), draw(0, 1), draw(0, 1), axis})});
  }

  void normalisation_step() {
    const auto x = find([](value v) { return is_floating(v.type()) && v.rank() >= 1; });
    if (!x) return;
    const std::int64_t axes = some_axes(*x);
    if (chance(50))
      return offer({&g_, ir::append(g_, choose({op::softmax, op::log_softmax}), {x->id}, {axes})});
    const op code = choose({op::layer_norm, op::rms_norm});
    if (code == op::layer_norm && !varied(*x, axes)) return;
    offer({&g_, ir::append(g_, code, {x->id}, {axes, ir::bits_of(choose({1e-5, 1e-3, 0.1}))})});
  }

  // Rows of (nearly) equal numbers are no test of layer_norm: it divides their rounding errors by
  // sqrt(eps).
  bool varied(value x, std::int64_t axes) const {
    const ir::reference_tensor& data = (*values_)[x.id];
    for (const ir::detail::group& row : ir::detail::group_by_axes(data.shape, axes).groups) {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (std::size_t i : row) {
        low = std::min(low, data.data[i]);
        high = std::max(high, data.data[i]);
      }
      if (high - low < 0.05 * std::max({1.0, std::fabs(low), std::fabs(high)})) return false;
    }
    return true;
  }

  void cross_entropy_step() {
    const auto x = find([&](value v) {
      return is_floating(v.type()) && v.rank() >= 2 && shape(v)[v.rank() - 1] > 0;
    });
    if (!x) return;
    ir::symbolic_shape rows = x->shape();
    const dim classes = rows.back();
    rows.pop_back();
    offer({&g_, ir::append(g_, op::cross_entropy, {x->id, indices_below(classes, rows).id})});
  }

  void leaf_step() {
    const auto x = find_any(1);
    if (!x) return;
    const dtype type =
        options_.all_dtypes ? numeric_dtype() : choose({dtype::f32, dtype::i32, dtype::i64});
    const auto axis = static_cast<int>(draw(0, x->rank() - 1));
    if (chance(50)) return offer(ir::extent_scalar(g_, type, x->extent(axis)));
    offer(ir::iota(g_, type, x->shape(), axis));
  }

  void cast_step() {
    const auto x = find_any();
    if (options_.all_dtypes) return conversion_step(*x);
    offer(ir::cast(*x, choose({dtype::f32, dtype::f32, dtype::f64, dtype::i32, dtype::i64,
                               dtype::u8, dtype::boolean})));
  }

  dtype numeric_dtype() { return static_cast<dtype>(draw(1, dtype_count - 1)); }

  void conversion_step(value x) {
    if (chance(70)) return offer(ir::cast(x, any_dtype()));
    // Bits of integers only: the interpreter's f32 is not rounded, and has no bits. Nor has it all
    // of a negative u64.
    if (is_floating(x.type()) || is_wide_integer(x.type()) || x.rank() == 0 || x.rank() == max_rank)
      return;
    const dtype type =
        choose({dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::i32, dtype::u32});
    const auto size = static_cast<std::int64_t>(size_of(x.type())),
               to = static_cast<std::int64_t>(size_of(type));
    if (shape(x)[x.rank() - 1] * size % to == 0) offer(ir::bitcast(x, type));
  }

  void integer_step() {
    if (chance(50)) {
      const auto x = find([](value v) { return v.type() == dtype::boolean; });
      if (!x) return comparison_step();
      if (chance(25)) return offer(ir::unary(op::logical_not, *x));
      const value y = partner(*x);
      return offer(ir::elementwise(choose({op::bit_and, op::bit_or, op::bit_xor}), {*x, y}));
    }
    const auto x = find([](value v) { return is_integral(v.type()); });
    if (!x) return cast_step();
    const op code = choose({op::bit_and, op::bit_or, op::bit_xor, op::shift_left, op::shift_right,
                            op::floor_divide, op::mod, op::div});
    offer(ir::elementwise(code, {*x, partner(*x)}));
  }

  // ---- the result

  // The results: of the values that nothing else uses, the one to three that need the most nodes.
  std::vector<int> choose_outputs() {
    std::vector<bool> used(static_cast<std::size_t>(g_.size()));
    for (value v : pool_)
      for (int i : g_.inputs(v.id)) used[static_cast<std::size_t>(i)] = true;
    std::vector<int> sinks;
    for (value v : pool_)
      if (!used[static_cast<std::size_t>(v.id)]) sinks.push_back(v.id);
    std::stable_sort(sinks.begin(), sinks.end(),
                     [&](int a, int b) { return ancestors(a) > ancestors(b); });
    sinks.resize(std::min(sinks.size(), static_cast<std::size_t>(draw(1, 3))));
    return sinks;
  }
  std::int64_t ancestors(int id) const {
    const std::vector<bool> live = needed_by({id});
    return std::count(live.begin(), live.end(), true);
  }
  std::vector<bool> needed_by(const std::vector<int>& ids) const {
    std::vector<bool> live(static_cast<std::size_t>(g_.size()));
    for (int id : ids) live[static_cast<std::size_t>(id)] = true;
    for (int id = g_.size() - 1; id >= 0; --id)
      if (live[static_cast<std::size_t>(id)])
        for (int i : g_.inputs(id)) live[static_cast<std::size_t>(i)] = true;
    return live;
  }

  // A copy of what the outputs need; dropped candidates stay behind. Arguments are kept.
  ir::graph live_graph() {
    const std::vector<int> outputs = choose_outputs();
    const std::vector<bool> live = needed_by(outputs);
    ir::graph out;
    out.dims = g_.dims;
    out.symbol_values = g_.symbol_values;
    std::vector<int> moved(static_cast<std::size_t>(g_.size()), -1);
    for (int id = 0; id < g_.size(); ++id) {
      if (!live[static_cast<std::size_t>(id)] && g_[id].code != op::argument) continue;
      std::vector<int> in;
      for (int i : g_.inputs(id)) in.push_back(moved[static_cast<std::size_t>(i)]);
      moved[static_cast<std::size_t>(id)] =
          ir::append(out, g_[id].code, in, g_.attributes(id), g_.node_dims(id));
    }
    out.guards = g_.guards;  // also those that dropped candidates asked for: they hold all the same
    for (int id : outputs) out.outputs.push_back({moved[static_cast<std::size_t>(id)], -1});
    return out;
  }

  // Not in all of them: seeds that found a fault once shall go on making the same graph.
  bool has_windows_;
};

inline random_graph make_random_graph(std::uint64_t seed,
                                      const random_graph_options& options = {}) {
  return random_graph_generator(seed, options).run();
}

}  // namespace sinter::test
