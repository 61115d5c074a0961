// SPDX-License-Identifier: MIT
// Elements of a file as elements of another type, for who asks: half-precision weights as floats,
// 32-bit indices as 64-bit ones.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <sinter/support/error.hpp>
#include <sinter/tensor/any_tensor.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/tensor.hpp>

namespace sinter::inline SINTER_ABI::detail {

template <Element To, Element From>
bool converts(From x) {
  if constexpr (FloatingElement<To>)
    return true;
  else if constexpr (std::same_as<To, bool>)
    return x == From(0) || x == From(1);
  else if constexpr (std::same_as<From, bool>)
    return true;
  else
    return std::in_range<To>(x);
}

template <Element To, Element From>
To converted_element(From x) {
  if constexpr (NarrowFloat<From>)
    return static_cast<To>(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

/// A copy of `x` with elements of type `T`: of floats any number, rounded to the nearest; of
/// integers and booleans only integers and booleans, none of which may change its value. Throws
/// dtype_error, shape_error; their messages begin with `what`.
template <Element T, extents_spec E>
tensor<T, E> converted(const any_tensor& x, const std::string& what) {
  require_fits(x.shape(), E, what.c_str());
  auto out = tensor<T, E>::uninitialized(x.shape());
  T* const target = out.data();
  dispatch(x.type(), [&]<class From>(std::type_identity<From>) {
    if constexpr (FloatingElement<From> && !FloatingElement<T>) {
      raise(dtype_error(what + ": elements are " + std::string(name(x.type())) +
                        ", which are not converted to " + std::string(name(dtype_of<T>))));
    } else {
      const From* const source = static_cast<const From*>(x.data());
      for (std::int64_t i = 0; i < x.size(); ++i) {
        if (!converts<T>(source[i]))
          raise(dtype_error(what + ": element " + std::to_string(i) + " is " +
                            std::to_string(source[i]) + ", which is no " +
                            std::string(name(dtype_of<T>))));
        target[i] = converted_element<T>(source[i]);
      }
    }
  });
  return out;
}

}  // namespace sinter::inline SINTER_ABI::detail
