// SPDX-License-Identifier: MIT
// initialiser: fills the tensors of a struct with their first values. Random ones are counter-based
// (graph/random.hpp): they depend on the seed, on how many tensors were filled before and on the
// place of the element, so the order of filling decides and nothing else does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <sinter/expr/structure.hpp>
#include <sinter/graph/random.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

/// Fills tensors: `initialiser(seed).he_normal(model.hidden.weight)`. Each function takes a tensor
/// or a struct of tensors, all floating, computes in double and rounds. Uniform numbers have the
/// same bits on every machine; the others go through the logarithm and cosine of the C library,
/// whose last place may differ.
///
/// The fans of a tensor: a matrix [inputs, outputs] has those, filters [outputs, inputs, rows,
/// columns] have inputs * rows * columns and outputs * rows * columns. Functions that need them
/// throw shape_error below rank 2.
class initialiser {
 public:
  explicit initialiser(std::int64_t seed) : seed_(seed) {}

  template <class S>
  void constant(S& s, double value) {
    for_each_parameter(
        s, [&]<class T, extents_spec E>(tensor<T, E>& x) { x.fill(static_cast<T>(value)); });
  }
  template <class S>
  void zeros(S& s) {
    constant(s, 0);
  }
  template <class S>
  void ones(S& s) {
    constant(s, 1);
  }

  /// In [low, high).
  template <class S>
  void uniform(S& s, double low, double high) {
    each(s, [&](std::int64_t i, auto& draw) { return low + (high - low) * draw.uniform(i); });
  }

  template <class S>
  void normal(S& s, double mean, double deviation) {
    each(s, [&](std::int64_t i, auto& draw) { return mean + deviation * draw.normal(i, 0); });
  }

  /// Normal, drawn again beyond two deviations (of the normal distribution that is cut off; what is
  /// left has 0.88 of its deviation).
  template <class S>
  void truncated_normal(S& s, double mean, double deviation) {
    each(s, [&](std::int64_t i, auto& draw) {
      double x = 3;
      // Each try is accepted with probability 0.954: 30 fail once in 10^40 elements.
      for (int attempt = 0; std::abs(x) > 2 && attempt < 30; ++attempt) x = draw.normal(i, attempt);
      return mean + deviation * std::clamp(x, -2.0, 2.0);
    });
  }

  /// Variance 2 gain^2 / (inputs + outputs) (Glorot and Bengio 2010).
  template <class S>
  void xavier_uniform(S& s, double gain = 1) {
    scaled(
        s, [&](fans f) { return gain * std::sqrt(2 / (f.inputs + f.outputs)); }, true);
  }
  template <class S>
  void xavier_normal(S& s, double gain = 1) {
    scaled(
        s, [&](fans f) { return gain * std::sqrt(2 / (f.inputs + f.outputs)); }, false);
  }

  /// Variance 2 / ((1 + slope^2) inputs), for a leaky ReLU of that slope behind it, 0 for a ReLU
  /// (He et al. 2015).
  template <class S>
  void he_uniform(S& s, double slope = 0) {
    scaled(
        s, [&](fans f) { return std::sqrt(2 / ((1 + slope * slope) * f.inputs)); }, true);
  }
  template <class S>
  void he_normal(S& s, double slope = 0) {
    scaled(
        s, [&](fans f) { return std::sqrt(2 / ((1 + slope * slope) * f.inputs)); }, false);
  }

  /// A matrix with orthonormal rows or columns, whichever are fewer, times `gain` (Saxe et al.
  /// 2014), uniformly distributed; further axes count as columns. Takes rows * columns * the lesser
  /// of them operations.
  template <class S>
  void orthogonal(S& s, double gain = 1) {
    for_each_parameter(s, [&]<class T, extents_spec E>(tensor<T, E>& x) {
      require_fans(x.shape());
      const auto rows = static_cast<std::size_t>(x.shape()[0]);
      const std::size_t columns = rows == 0 ? 0 : static_cast<std::size_t>(x.size()) / rows;
      const bool wide = rows < columns;
      const std::size_t count = wide ? rows : columns, length = wide ? columns : rows;
      const stream draw = next();
      std::vector<double> v(count * length);
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = draw.normal(static_cast<std::int64_t>(i), 0);
      orthonormalise(v, count, length);
      T* out = x.data();
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
          *out++ = static_cast<T>(gain * (wide ? v[r * length + c] : v[c * length + r]));
    });
  }

 private:
  struct fans {
    double inputs, outputs;
  };

  // The numbers of one tensor.
  struct stream {
    std::int64_t seed, number;

    // Tries of one element are streams of their own, some 2^20 of which belong to a tensor.
    double uniform(std::int64_t i, std::int64_t attempt = 0) const {
      return ir::uniform(seed, number * (std::int64_t{1} << 20) + attempt, i, true);
    }
    // Box and Muller (1958), as in expr/random.hpp.
    double normal(std::int64_t i, std::int64_t attempt) const {
      constexpr double two_pi = 6.283185307179586476925;
      const double u = uniform(i, 2 * attempt), v = uniform(i, 2 * attempt + 1);
      return std::sqrt(-2 * std::log(1 - u)) * std::cos(two_pi * v);
    }
  };

  stream next() { return {seed_, filled_++}; }

  template <class S, class F>
  void each(S& s, F f) {
    for_each_parameter(s, [&]<class T, extents_spec E>(tensor<T, E>& x) {
      static_assert(std::is_floating_point_v<T>,
                    "sinter: random initial values are for floating tensors");
      const stream draw = next();
      T* out = x.data();
      for (std::int64_t i = 0; i < x.size(); ++i) out[i] = static_cast<T>(f(i, draw));
    });
  }

  template <class S, class Deviation>
  void scaled(S& s, Deviation deviation, bool is_uniform) {
    for_each_parameter(s, [&](auto& x) {
      require_fans(x.shape());
      if (x.size() == 0) return;
      const double d = deviation(fans_of(x.shape()));
      // A uniform number in [-a, a) has variance a^2 / 3.
      if (is_uniform)
        uniform(x, -d * std::sqrt(3.0), d * std::sqrt(3.0));
      else
        normal(x, 0, d);
    });
  }

  static void require_fans(const shape_vector& shape) {
    if (shape.size() < 2)
      raise(shape_error("initialiser: a tensor of shape " + to_string(shape) +
                        "; expected a matrix or filters, rank 2 or more"));
  }

  static fans fans_of(const shape_vector& shape) {
    const double first = static_cast<double>(shape[0]), second = static_cast<double>(shape[1]);
    if (shape.size() == 2) return {first, second};
    double window = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) window *= static_cast<double>(shape[i]);
    return {second * window, first * window};
  }

  // Gram and Schmidt, each vector twice: the second time removes what rounding left.
  static void orthonormalise(std::vector<double>& v, std::size_t count, std::size_t length) {
    const auto dot = [&](std::size_t a, std::size_t b) {
      double total = 0;
      for (std::size_t k = 0; k < length; ++k) total += v[a * length + k] * v[b * length + k];
      return total;
    };
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t other = 0; other < 2 * i; ++other) {
        const std::size_t j = other % i;
        const double along = dot(i, j);
        for (std::size_t k = 0; k < length; ++k) v[i * length + k] -= along * v[j * length + k];
      }
      const double norm = std::sqrt(dot(i, i));
      for (std::size_t k = 0; k < length; ++k) v[i * length + k] /= norm;
    }
  }

  std::int64_t seed_;
  std::int64_t filled_ = 0;
};

}  // namespace sinter::inline SINTER_ABI
