// SPDX-License-Identifier: MIT
// Operators applied to known elements: just what models compute shapes with.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <sinter/onnx/operation.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail {

/// The shape that known tensors broadcast to; nothing if they do not.
inline std::optional<shape_vector> broadcast_known(std::span<const known_tensor* const> all) {
  shape_vector out;
  for (const known_tensor* each : all)
    if (each->shape.size() > out.size()) out.resize(each->shape.size(), 1);
  out = shape_vector::filled(out.size(), 1);
  for (const known_tensor* each : all) {
    const std::size_t extra = out.size() - each->shape.size();
    for (std::size_t i = 0; i < each->shape.size(); ++i) {
      std::int64_t& extent = out[extra + i];
      if (extent != 1 && each->shape[i] != 1 && extent != each->shape[i]) return std::nullopt;
      if (each->shape[i] != 1) extent = each->shape[i];
    }
  }
  return out;
}

/// The element of x that belongs to element `at` of the shape it broadcasts to.
inline const number& broadcast_element(const known_tensor& x, const shape_vector& shape,
                                       std::int64_t at) {
  const shape_vector strides = row_major_strides(x.shape);
  const std::size_t extra = shape.size() - x.shape.size();
  std::int64_t place = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t index = at % shape[axis];
    at /= shape[axis];
    if (axis >= extra && x.shape[axis - extra] != 1) place += index * strides[axis - extra];
  }
  return x.elements[static_cast<std::size_t>(place)];
}

/// Applies `f` element by element to the inputs `which`, if all are known and so is every result:
/// then the output is given. `f` takes numbers and returns std::optional<number>.
template <class F>
bool fold(operation& o, dtype type, std::span<const int> which, F&& f) {
  const known_tensor* all[3]{};
  for (std::size_t k = 0; k < which.size(); ++k) {
    all[k] = o.known(which[k]);
    if (all[k] == nullptr) return false;
  }
  const std::optional<shape_vector> shape =
      broadcast_known(std::span<const known_tensor* const>(all, which.size()));
  if (!shape || element_count(*shape) > known_limit) return false;
  known_tensor out{type, *shape, {}};
  for (std::int64_t i = 0; i < element_count(*shape); ++i) {
    const auto element = [&](std::size_t k) -> const number& {
      return broadcast_element(*all[k], *shape, i);
    };
    std::optional<number> x;
    if constexpr (std::is_invocable_v<F, const number&>)
      x = f(element(0));
    else if constexpr (std::is_invocable_v<F, const number&, const number&>)
      x = f(element(0), element(1));
    else
      x = f(element(0), element(1), element(2));
    if (x) x = stored_as(type, *x);
    if (!x) return false;
    out.elements.push_back(*x);
  }
  o.give(std::move(out));
  return true;
}

inline bool fold_binary(operation& o, arithmetic::operation code, dtype type) {
  const int both[] = {0, 1};
  return fold(o, type, both,
              [&](const number& a, const number& b) { return combine(o.dims(), code, a, b); });
}

/// Of floats: those whose result is the nearest one, so that it does not matter who computes it.
template <class F>
bool fold_real(operation& o, F&& f) {
  const int one[] = {0};
  return fold(o, o.type(0), one, [&](const number& x) -> std::optional<number> {
    if (!is_real(x)) return std::nullopt;
    return number(static_cast<double>(f(std::get<double>(x))));
  });
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail
