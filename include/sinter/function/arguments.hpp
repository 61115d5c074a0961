// SPDX-License-Identifier: MIT
// The arguments of a call: what their types say to the trace, and where their elements are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <sinter/expr/handle.hpp>
#include <sinter/function/program.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>

namespace sinter::detail {

// What the type of an argument says about it.
struct argument_spec {
  dtype type{};
  extents_spec extents = 0;
  bool weak = false;  // a C++ scalar
  friend constexpr bool operator==(const argument_spec&, const argument_spec&) = default;
};

template <class A>
struct spec_of;
template <class T, extents_spec E>
struct spec_of<tensor<T, E>> {
  static constexpr argument_spec value{dtype_of<T>, E, false};
};
template <class T, extents_spec E>
struct spec_of<shared_tensor<T, E>> {
  static constexpr argument_spec value{dtype_of<T>, E, false};
};
template <class T, extents_spec E>
struct spec_of<view<T, E>> {
  static constexpr argument_spec value{dtype_of<T>, E, false};
};
template <Scalar A>
struct spec_of<A> {
  using stored = stored_scalar<A>;
  static constexpr argument_spec value{dtype_of<stored>, 0, true};
};

constexpr int dynamic_extents(const argument_spec& s) {
  int count = 0;
  for (int axis = 0; axis < s.extents.rank; ++axis) count += s.extents.is_static(axis) ? 0 : 1;
  return count;
}

template <class A>
inline constexpr argument_spec spec_for = spec_of<std::remove_cvref_t<A>>::value;

template <class A>
concept FusedArgument = requires { spec_of<std::remove_cvref_t<A>>::value; };

// Scalars are kept in the type that their spec names, for the time of the call.
template <class A>
constexpr auto stored_argument(const A& a) {
  if constexpr (Scalar<A>)
    return static_cast<typename spec_of<A>::stored>(a);
  else
    return &a;
}

template <class S>
argument_memory memory_of(const S& stored) {
  argument_memory m;
  if constexpr (Scalar<S>) {
    m.data = &stored;
  } else {
    const auto& x = *stored;
    using element = std::remove_cvref_t<decltype(*x.data())>;
    m.data = x.data();
    m.shape = x.shape();
    if constexpr (requires { x.strides(); })
      m.strides = x.strides();
    else
      m.strides = row_major_strides(x.shape());
    if constexpr (requires { x.contents(); }) {
      m.is_frozen = true;
      m.elements = x.contents();
      m.version = x.version();
    }
    // The reach of the elements, for overlap checks; strides below zero reach backwards.
    std::int64_t first = 0, last = 0;
    bool empty = false;
    for (std::size_t i = 0; i < m.shape.size(); ++i) {
      empty = empty || m.shape[i] == 0;
      if (m.shape[i] > 0) (m.strides[i] > 0 ? last : first) += (m.shape[i] - 1) * m.strides[i];
    }
    m.bytes = empty ? 0 : static_cast<std::size_t>(last + 1) * sizeof(element);
    m.bytes_before = empty ? 0 : static_cast<std::size_t>(-first) * sizeof(element);
  }
  return m;
}

// Calls take(value) for every symbol, in the order in which write_arguments numbers them.
template <class Take>
void for_each_symbol(std::span<const argument_spec> specs,
                     std::span<const argument_memory> arguments, Take take) {
  for (std::size_t i = 0; i < specs.size(); ++i)
    for (int axis = 0; axis < specs[i].extents.rank; ++axis)
      if (!specs[i].extents.is_static(axis)) take(arguments[i].shape[axis]);
}

template <argument_spec... Spec>
std::array<std::int64_t, (0 + ... + dynamic_extents(Spec))> symbols_of(
    const std::array<argument_memory, sizeof...(Spec)>& arguments) {
  std::array<std::int64_t, (0 + ... + dynamic_extents(Spec))> out{};
  [[maybe_unused]] std::size_t at = 0;
  for_each_symbol(std::array<argument_spec, sizeof...(Spec)>{Spec...}, arguments,
                  [&](std::int64_t value) { out[at++] = value; });
  return out;
}

// The memory an assignment writes: the argument must be a view, or an lvalue of a tensor, whose
// elements may change. A: the type of the argument as the call deduced it.
template <class A>
void* writable(std::remove_reference_t<A>& a) {
  using argument = std::remove_cvref_t<A>;
  constexpr bool owns = requires(argument& x, const shape_vector& s) { x.resize(s); };
  if constexpr (Scalar<argument> || (owns && !std::is_lvalue_reference_v<A>)) {
    return nullptr;
  } else if constexpr (owns) {
    // Not by data(), which counts as a write; see touch.
    return std::is_const_v<std::remove_reference_t<A>> ? nullptr : a.storage().data();
  } else if constexpr (requires { static_cast<void*>(a.data()); }) {
    return static_cast<void*>(a.data());
  } else {
    return nullptr;
  }
}

// An assignment is about to write a tensor's elements.
template <class A>
void touch(A& argument) {
  if constexpr (requires { argument.touch(); }) argument.touch();
}

// What an assignment needs of its argument.
inline void require_assignable(const argument_memory& m, const void* target, std::size_t number) {
  if (target == nullptr && m.bytes != 0)
    throw graph_error("assign: argument " + std::to_string(number) +
                      " is const, a scalar or a temporary; expected a tensor that may change");
  if (m.strides != row_major_strides(m.shape) && m.bytes != 0)
    throw shape_error("assign: argument " + std::to_string(number) + " of shape " +
                      to_string(m.shape) + " is a strided view; expected contiguous memory");
}

}  // namespace sinter::detail
