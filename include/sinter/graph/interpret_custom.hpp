// SPDX-License-Identifier: MIT
// Custom ops in the reference interpreter, and where one has no kernel: floats are doubles, other
// operands what their dtype says.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include <sinter/graph/custom.hpp>
#include <sinter/graph/reference_tensor.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

// The shape of an array as the op gets it: the axes that it leaves alone as one.
inline shape_vector merged_rows(const custom_op& custom, const shape_vector& shape,
                                std::size_t leading) {
  if (custom.core_axes < 0) return shape;
  shape_vector out{1};
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (axis < leading)
      out[0] *= shape[axis];
    else
      out.push_back(shape[axis]);
  return out;
}

/// An opaque op on these operands; `out` has dtype and shape of the result.
inline void interpret_custom(const custom_op& custom, span<const reference_tensor* const> in,
                             reference_tensor& out, span<const double> attributes) {
  std::vector<std::vector<std::byte>> bytes(in.size() + 1);
  std::vector<custom_input> operands;
  const auto is_kept = [](dtype type) { return is_floating(type); };
  const std::size_t leading =
      custom.core_axes < 0 ? 0 : in[0]->shape.size() - static_cast<std::size_t>(custom.core_axes);
  std::vector<shape_vector> shapes;
  for (const reference_tensor* x : in) shapes.push_back(merged_rows(custom, x->shape, leading));
  shapes.push_back(merged_rows(custom, out.shape, leading));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const reference_tensor& x = *in[i];
    const span<const std::int64_t> shape(shapes[i].begin(), shapes[i].size());
    if (is_kept(x.type)) {
      operands.push_back({x.data.data(), dtype::f64, shape});
      continue;
    }
    bytes[i].resize(x.data.size() * size_of(x.type));
    dispatch(x.type, [&]<class T>(std::type_identity<T>) {
      for (std::size_t k = 0; k < x.data.size(); ++k) {
        const T element = static_cast<T>(x.data[k]);
        std::memcpy(bytes[i].data() + k * sizeof(T), &element, sizeof(T));
      }
    });
    operands.push_back({bytes[i].data(), x.type, shape});
  }
  const custom_function run = custom.reference != nullptr
                                  ? custom.reference
                                  : custom.kernel(is_kept(in[0]->type) ? dtype::f64 : in[0]->type);
  const span<const std::int64_t> shape(shapes.back().begin(), shapes.back().size());
  if (is_kept(out.type)) {
    run(operands, {out.data.data(), dtype::f64, shape}, attributes);
    return;
  }
  bytes.back().resize(out.data.size() * size_of(out.type));
  run(operands, {bytes.back().data(), out.type, shape}, attributes);
  dispatch(out.type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t k = 0; k < out.data.size(); ++k) {
      T element;
      std::memcpy(&element, bytes.back().data() + k * sizeof(T), sizeof(T));
      out.data[k] = static_cast<double>(element);
    }
  });
}

}  // namespace sinter::inline SINTER_ABI::ir
