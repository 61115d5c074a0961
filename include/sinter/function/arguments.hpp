// SPDX-License-Identifier: MIT
// The arguments of a call: what their types say to the trace, and where their elements are. An
// argument is an array (tensor, view), a C++ scalar, or a struct of tensors, which stands for as
// many arguments of the graph as it has parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/expr/handle.hpp>
#include <sinter/expr/structure.hpp>
#include <sinter/function/program.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>

namespace sinter::inline SINTER_ABI::detail {

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

template <class A>
inline constexpr argument_spec spec_for = spec_of<std::remove_cvref_t<A>>::value;

template <class A>
concept PlainArgument = requires { spec_of<std::remove_cvref_t<A>>::value; };

// A struct of tensors that is marked as frozen names what it is of.
template <class A>
struct structure_in {
  using type = A;
};

// Any aggregate: what is wrong with one is said by `require_structures`, in one line.
template <class A>
concept StructArgument =
    !PlainArgument<A> && (Aggregate<typename structure_in<std::remove_cvref_t<A>>::type> ||
                          is_list<typename structure_in<std::remove_cvref_t<A>>::type>);

template <class A>
concept FusedArgument = PlainArgument<A> || StructArgument<A>;

template <class A>
constexpr bool is_sound_argument() {
  if constexpr (StructArgument<A>)
    return HandleStructure<as_kind<typename structure_in<A>::type, handles>>;
  else
    return true;
}

// Are structs among the arguments those of parameters?
template <class... A>
inline constexpr bool sound_structures = (... && is_sound_argument<std::remove_cvref_t<A>>());

// How the trace sees an argument: its type inside of the lambda, and a spec per parameter.
template <argument_spec Spec>
struct plain_argument {
  using type = handle;
  static constexpr std::array<argument_spec, 1> specs{Spec};
};

template <class S, std::size_t N>
constexpr void add_specs(std::array<argument_spec, N>& out, std::size_t& at) {
  if constexpr (is_parameter<S>) {
    out[at++] = spec_of<S>::value;
  } else if constexpr (is_list<S>) {
    for (std::size_t i = 0; i < std::tuple_size_v<S>; ++i)
      add_specs<typename S::value_type>(out, at);
  } else {
    constexpr std::size_t count = member_count<as_kind<S, handles>>;
    [&]<class... M>(std::type_identity<std::tuple<M&...>>) {
      (add_specs<M>(out, at), ...);
    }(std::type_identity<decltype(members<S, count>(std::declval<S&>()))>{});
  }
}

template <class S>
struct struct_argument {
  using type = as_kind<S, handles>;
  static constexpr std::array<argument_spec, parameter_count<S>> specs = [] {
    std::array<argument_spec, parameter_count<S>> out{};
    std::size_t at = 0;
    add_specs<S>(out, at);
    return out;
  }();
};

// A function rather than an alias: GCC 12 crashes on an alias with a template argument of class
// type.
template <class A>
constexpr auto traced_argument() {
  if constexpr (PlainArgument<A>)
    return plain_argument<spec_for<A>>{};
  else
    return struct_argument<typename structure_in<std::remove_cvref_t<A>>::type>{};
}

template <class... A>
constexpr auto joined_specs() {
  std::array<argument_spec, (0 + ... + A::specs.size())> out{};
  [[maybe_unused]] std::size_t at = 0;
  const auto add = [&](const auto& specs) {
    for (const argument_spec& each : specs) out[at++] = each;
  };
  (add(A::specs), ...);
  return out;
}

constexpr int dynamic_extents(const argument_spec& s) {
  int count = 0;
  for (int axis = 0; axis < s.extents.rank; ++axis) count += s.extents.is_static(axis) ? 0 : 1;
  return count;
}

template <std::size_t N>
constexpr std::size_t dynamic_extents(const std::array<argument_spec, N>& specs) {
  std::size_t count = 0;
  for (const argument_spec& each : specs) count += static_cast<std::size_t>(dynamic_extents(each));
  return count;
}

// Scalars are kept in the type that their spec names, for the time of the call.
template <class A>
constexpr auto stored_argument(const A& a) {
  if constexpr (Scalar<A>)
    return static_cast<typename spec_of<A>::stored>(a);
  else
    return &a;
}

// Strides of elements that lie side by side, and how many bytes they take. `shape`: the argument's
// own, not the copy that was made of it a moment ago, see add_symbols. (Where there are elements no
// stride overflows, so the division by which row_major_strides finds that out can be spared.)
template <class Element, int Rank>
void write_row_major(argument_memory& m, const shape_vector& shape) {
  std::int64_t count = 1;
  m.strides.count = static_cast<std::size_t>(Rank);
  for (int axis = Rank; axis-- > 0; count *= shape[axis]) m.strides[axis] = count;
  m.bytes = static_cast<std::size_t>(count) * sizeof(Element);
  if (count == 0) m.strides = row_major_strides(shape);
}

// The reach of elements anywhere; strides below zero reach backwards.
template <class Element>
void write_reach(argument_memory& m) {
  std::int64_t first = 0, last = 0;
  bool empty = false;
  for (std::size_t i = 0; i < m.shape.size(); ++i) {
    empty = empty || m.shape[i] == 0;
    if (m.shape[i] > 0) (m.strides[i] > 0 ? last : first) += (m.shape[i] - 1) * m.strides[i];
  }
  m.bytes = empty ? 0 : static_cast<std::size_t>(last + 1) * sizeof(Element);
  m.bytes_before = empty ? 0 : static_cast<std::size_t>(-first) * sizeof(Element);
}

// Where the elements of a stored argument are. `m`: as made by default. (In place, because it is
// 200 bytes and calls of little work are many.)
template <class S>
void write_memory(argument_memory& m, const S& stored) {
  if constexpr (Scalar<S>) {
    m.data = &stored;
  } else {
    const auto& x = *stored;
    using element = std::remove_cvref_t<decltype(*x.data())>;
    m.data = x.data();
    m.shape = x.shape();
    if constexpr (requires { x.contents(); }) {
      m.is_frozen = true;
      m.elements = x.contents();
      m.version = x.version();
    }
    if constexpr (requires { x.strides(); }) {
      m.strides = x.strides();
      write_reach<element>(m);
    } else {
      write_row_major<element, spec_for<decltype(x)>.extents.rank>(m, x.shape());
    }
  }
}
template <class S>
argument_memory memory_of(const S& stored) {
  argument_memory m;
  write_memory(m, stored);
  return m;
}

// Calls take(value) for every symbol of an argument, its extents that are dynamic, in the order in
// which write_arguments numbers them.
template <class Take>
void for_each_symbol(const extents_spec& extents, const shape_vector& shape, Take take) {
  for (int axis = 0; axis < extents.rank; ++axis)
    if (!extents.is_static(axis)) take(shape[axis]);
}

// Appends where the elements of a stored argument are, parameter by parameter.
template <class S, std::size_t N>
void add_memory(std::array<argument_memory, N>& out, std::size_t& at, const S& stored) {
  if constexpr (std::is_arithmetic_v<S>)
    write_memory(out[at++], stored);
  else if constexpr (PlainArgument<decltype(*stored)>)
    write_memory(out[at++], stored);
  else
    for_each_parameter(*stored, [&](const auto& each) { write_memory(out[at++], &each); });
}

// Appends the symbols of a stored argument, parameter by parameter. (Read where they are, not from
// its argument_memory: two extents that were copied there a moment ago are loaded at once, and the
// load waits until the stores have left for the cache.)
template <class S, std::size_t N>
void add_symbols(std::array<std::int64_t, N>& out, [[maybe_unused]] std::size_t& at,
                 const S& stored) {
  if constexpr (std::is_arithmetic_v<S>) {
    return;
  } else if constexpr (PlainArgument<decltype(*stored)>) {
    for_each_symbol(spec_for<decltype(*stored)>.extents, stored->shape(),
                    [&](std::int64_t value) { out[at++] = value; });
  } else {
    for_each_parameter(*stored, [&](const auto& each) { add_symbols(out, at, &each); });
  }
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

// Appends the memory that assignments to the parameters of an argument write. A: as for `writable`.
template <class A, std::size_t N>
void add_targets(std::array<void*, N>& out, std::size_t& at, std::remove_reference_t<A>& a) {
  if constexpr (PlainArgument<A>)
    out[at++] = writable<A>(a);
  else
    for_each_parameter(a, [&](auto& each) {
      out[at++] = std::is_lvalue_reference_v<A> ? writable<decltype(each)>(each)
                                                : static_cast<void*>(nullptr);
    });
}

// Touches the parameters of an argument that are assigned.
template <class A, std::size_t N>
void touch_assigned(const std::array<bool, N>& is_assigned, std::size_t& at, A& a) {
  if constexpr (PlainArgument<A>) {
    if (is_assigned[at++]) touch(a);
  } else {
    for_each_parameter(a, [&](auto& each) {
      if (is_assigned[at++]) touch(each);
    });
  }
}

// In arguments_source.hpp: where the outputs go that are assigned. `assigned` has the argument of
// each output, or -1; targets[a] is the memory of argument a, or null if it may not be written,
// which throws graph_error.
void write_assigned(span<const int> assigned, span<const argument_memory> arguments,
                    span<void* const> targets, span<output_memory> out);

}  // namespace sinter::inline SINTER_ABI::detail

#ifndef SINTER_SEPARATE
#include <sinter/function/arguments_source.hpp>
#endif
