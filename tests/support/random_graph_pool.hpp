// SPDX-License-Identifier: MIT
// What random graphs are made from: dice, random arguments, and the pool of values that may become
// operands. A value gets into the pool only if f32 can compute it well (see noisy_values.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "noisy_values.hpp"
#include <sinter/graph/build.hpp>
#include <sinter/graph/reference_tensor.hpp>

namespace sinter::test {

enum class extent_kind {
  constant,        // no symbols
  bound_symbols,   // extents other than 1 are symbols and the graph is bound to their values
  traced_symbols,  // every argument axis is a symbol of its own and nothing is bound, as fuse
                   // traces
};

struct random_graph_options {
  int steps = 20;  // ops, about: some candidates are dropped, some need helpers
  extent_kind extents = extent_kind::constant;
  bool special_values = false;  // NaN, infinities and signed zeros among the arguments
  bool all_dtypes = false;      // the short integers, u32, u64, f16 and bf16 too, and bitcasts
  std::int64_t long_row = 0;    // > 0: an extent of some arguments
};

class random_graph_pool {
 protected:
  using op = ir::op;
  using value = ir::value;
  using dim = ir::dim;

  random_graph_pool(std::uint64_t seed, const random_graph_options& options)
      : options_(options),
        element_limit_(options.long_row > 0 ? 4 * options.long_row : 2048),
        seed_(hash_combine(hash_seed, seed)) {
    make_arguments();
    values_.emplace(g_, arguments_, seed_);
    accept_arguments();
  }

  // Values point to the graph inside.
  random_graph_pool(const random_graph_pool&) = delete;
  random_graph_pool& operator=(const random_graph_pool&) = delete;

  // ---- dice

  std::int64_t draw(std::int64_t low, std::int64_t high) {  // both included
    seed_ = hash_mix(seed_ + hash_seed);
    return low + static_cast<std::int64_t>(seed_ % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return draw(0, 99) < percent; }
  template <class T>
  T choose(std::initializer_list<T> all) {
    return all.begin()[draw(0, static_cast<std::int64_t>(all.size()) - 1)];
  }

  // ---- arguments

  void make_arguments() {
    if (options_.extents == extent_kind::constant)
      g_.symbol_values = {0};  // bound, without symbols
    for (std::int64_t& extent : palette_)
      extent = chance(2) ? 0 : chance(15) ? 1 : choose<std::int64_t>({2, 3, 5, 7, 8, 16, 17, 33});
    if (options_.long_row > 0) palette_[static_cast<std::size_t>(draw(0, 2))] = options_.long_row;
    const int count = static_cast<int>(draw(1, 3));
    for (int number = 0; number < count; ++number) make_argument(number);
  }

  void make_argument(int number) {
    const dtype type =
        options_.all_dtypes ? any_dtype()
        : number == 0 || chance(70)
            ? dtype::f32
            : choose({dtype::f64, dtype::i32, dtype::i32, dtype::boolean, dtype::i64, dtype::u8});
    shape_vector extents;
    ir::symbolic_shape shape;
    const std::int64_t rank = choose<std::int64_t>({0, 1, 1, 2, 2, 2, 2, 3, 3, 4});
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      const auto which = static_cast<std::size_t>(chance(10) ? draw(0, 3) : draw(0, 2));
      extents.push_back(chance(8) ? 1 : palette_[which]);
      if (element_count(extents) > element_limit_) extents.back() = 1;
      shape.push_back(make_extent(extents.back()));
    }
    arguments_.push_back(ir::filled(type, extents, 0));
    for (double& x : arguments_.back().data) x = make_element(type);
    ir::argument(g_, type, number, shape);
  }

  dtype any_dtype() { return static_cast<dtype>(draw(0, dtype_count - 1)); }

  dim make_extent(std::int64_t extent) {
    if (options_.extents == extent_kind::constant) return dim(extent);
    if (options_.extents == extent_kind::traced_symbols)
      return chance(25) ? dim(extent) : g_.dims.symbol(symbols_++);
    if (extent == 1) return dim(1);
    for (std::size_t i = 0; i < g_.symbol_values.size(); ++i)
      if (g_.symbol_values[i] == extent) return g_.dims.symbol(static_cast<std::int64_t>(i));
    g_.symbol_values.push_back(extent);
    return g_.dims.symbol(static_cast<std::int64_t>(g_.symbol_values.size()) - 1);
  }

  double make_element(dtype type) {
    if (type == dtype::boolean) return static_cast<double>(draw(0, 1));
    if (is_integral(type)) return static_cast<double>(draw(is_unsigned_integer(type) ? 0 : -6, 9));
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (options_.special_values && chance(10))
      return choose(
          {0.0, -0.0, 1.0, -1.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()});
    // In [-2, 2], exact in the dtype.
    if (type == dtype::f16) return static_cast<double>(draw(-(1 << 10), 1 << 10)) * 0x1p-9;
    if (type == dtype::bf16) return static_cast<double>(draw(-(1 << 7), 1 << 7)) * 0x1p-6;
    return static_cast<double>(draw(-(1 << 20), 1 << 20)) * 0x1p-19;
  }

  void accept_arguments() {
    values_->update();
    for (int id = 0; id < g_.size(); ++id) pool_.push_back({&g_, id});
  }

  // ---- the pool of values that may be operands

  const shape_vector& shape(value v) const { return values_->shape(v.id); }

  template <class Predicate>
  std::optional<value> find(Predicate&& fits) {
    // Recent values first, so that chains get long; a random start among all of them now and then.
    const std::size_t n = pool_.size();
    const auto start = static_cast<std::size_t>(
        chance(50) ? draw(0, std::min<std::int64_t>(3, static_cast<std::int64_t>(n) - 1))
                   : draw(0, static_cast<std::int64_t>(n) - 1));
    for (std::size_t i = 0; i < n; ++i)
      if (const value v = pool_[n - 1 - (start + i) % n]; fits(v)) return v;
    return std::nullopt;
  }
  std::optional<value> find_float() {
    return find([](value v) { return is_floating(v.type()); });
  }
  std::optional<value> find_number(int least_rank = 0) {
    return find([&](value v) { return v.type() != dtype::boolean && v.rank() >= least_rank; });
  }
  std::optional<value> find_any(int least_rank = 0) {
    return find([&](value v) { return v.rank() >= least_rank; });
  }

  // Can two shapes be broadcast together, within the size limit?
  bool broadcasts(const shape_vector& a, const shape_vector& b, bool one_way = false) const {
    if (one_way && a.size() > b.size()) return false;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1,
                         y = i < b.size() ? b[b.size() - 1 - i] : 1;
      if (x != y && x != 1 && (y != 1 || one_way)) return false;
      count *= x == 1 ? y : x;
    }
    return count <= element_limit_;
  }

  // Something to combine x with: another value of its dtype, or a number.
  value partner(value x) {
    if (chance(20)) return ir::constant_like(x, constant_for(x.type()));
    const auto other = find([&](value v) {
      return v.id != x.id && v.type() == x.type() && broadcasts(shape(v), shape(x));
    });
    return other ? *other : chance(50) ? x : ir::constant_like(x, constant_for(x.type()));
  }
  double constant_for(dtype type) {
    if (type == dtype::boolean) return static_cast<double>(draw(0, 1));
    if (!is_floating(type)) return static_cast<double>(draw(is_unsigned_integer(type) ? 0 : -2, 5));
    return choose({0.0, 1.0, -1.0, 0.5, 2.0, 0.1, -0.3, 3.0});
  }

  // Takes a value into the pool if it is worth it. Large ones are squashed first, so that chains
  // stay in a range where f32 has something to say.
  void offer(value v) {
    values_->update();
    if (!acceptable(v)) return;
    const double largest = magnitude(v);
    if (is_floating(v.type()) && largest > value_limit &&
        largest < std::numeric_limits<double>::infinity()) {
      v = chance(50) ? ir::unary(op::tanh, v * 0.01)
                     : v * (1 / std::exp2(std::ceil(std::log2(largest))));
      values_->update();
      if (!acceptable(v)) return;
    }
    if (std::find_if(pool_.begin(), pool_.end(), [&](value p) { return p.id == v.id; }) ==
        pool_.end())
      pool_.push_back(v);
  }
  bool acceptable(value v) const {
    if (!values_->stable(v.id) || elements(v) > element_limit_) return false;
    // Integers of the interpreter are exact up to 2^53 only.
    if (is_wide_integer(v.type()) && magnitude(v) > 0x1p40) return false;
    // What is larger is scaled down by a constant, and two such constants are multiplied: beyond
    // 1e19 their product is no f32.
    return options_.special_values || magnitude(v) < 1e12;
  }
  std::int64_t elements(value v) const {
    return static_cast<std::int64_t>((*values_)[v.id].data.size());
  }
  double magnitude(value v) const {
    double out = 0;
    for (double x : (*values_)[v.id].data)
      out = std::isfinite(x) ? std::max(out, std::fabs(x)) : options_.special_values ? out : 1e300;
    return out;
  }

  static constexpr double value_limit = 64;

  random_graph_options options_;
  std::int64_t element_limit_;  // 2048 keeps 500 graphs within a second or two
  std::uint64_t seed_;
  ir::graph g_;
  std::vector<ir::reference_tensor> arguments_;
  std::optional<noisy_values> values_;
  std::vector<value> pool_;
  std::array<std::int64_t, 4> palette_{};
  std::int64_t symbols_ = 0;
};

}  // namespace sinter::test
