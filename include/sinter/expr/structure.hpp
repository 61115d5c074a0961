// SPDX-License-Identifier: MIT
// Structs of parameters: a model is an aggregate of tensors, and inside a fused function the same
// aggregate of handles. The struct is a template over its *kind*, which says what a parameter is;
// its members are found by the compiler (support/members.hpp), so there is nothing to register.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sinter/expr/handle.hpp>
#include <sinter/support/members.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/tensor.hpp>

namespace sinter::inline SINTER_ABI {

/// The kind of a struct that holds tensors, by default of `T`: `linear<stored<float>>`.
template <Element T>
struct stored {};

/// The kind of a struct inside a fused function: handles, whose dtypes and extents are values.
struct handles {};

namespace detail {

template <class Kind, int Rank, class T>
struct parameter_of;
template <class Own, int Rank, class T>
struct parameter_of<stored<Own>, Rank, T> {
  using type = tensor<std::conditional_t<std::is_void_v<T>, Own, T>, Rank>;
};
template <int Rank, class T>
struct parameter_of<handles, Rank, T> {
  using type = handle;
};

}  // namespace detail

/// A member of a struct of parameters:
///
///     template <class Kind>
///     struct linear {
///       parameter<Kind, 2> weight;
///       parameter<Kind, 1> bias;
///       constexpr auto operator()(auto x) const { return matmul(x, weight) + bias; }
///     };
///
/// For `stored<float>` that is a tensor<float, Rank>, or of `T` where one is named; for `handles` a
/// handle. Members may also be structs of the same kind and std::arrays of either, up to
/// `max_members` in one struct.
template <class Kind, int Rank, class T = void>
using parameter = typename detail::parameter_of<Kind, Rank, T>::type;

/// The type of a member that this struct does not have, such as a bias: see `optional_member`.
struct absent {};

/// `Member` if `Present`, and else `absent`, which has no parameters.
template <bool Present, class Member>
using optional_member = std::conditional_t<Present, Member, absent>;

/// A parameter that is no weight but a statistic, such as a running mean: optimizers leave it
/// alone. So they do with every struct that has `static constexpr bool trained = false`.
template <class Kind, int Rank>
struct statistic {
  static constexpr bool trained = false;
  parameter<Kind, Rank> value;
};

namespace detail {

template <class X>
inline constexpr bool is_parameter = is_array<X> || std::is_same_v<X, handle>;

template <class X>
inline constexpr bool is_list = false;
template <class X, std::size_t N>
inline constexpr bool is_list<std::array<X, N>> = true;

template <class X>
constexpr bool is_trained() {
  if constexpr (requires { X::trained; })
    return X::trained;
  else
    return true;
}

// X with every kind that occurs in its template arguments replaced. What has no kind stays.
template <class X, class Kind>
struct of_kind {
  using type = X;
};
template <Element T, class Kind>
struct of_kind<stored<T>, Kind> {
  using type = Kind;
};
template <class Kind>
struct of_kind<handles, Kind> {
  using type = Kind;
};
template <class T, extents_spec E>
struct of_kind<tensor<T, E>, handles> {
  using type = handle;
};
template <class X, std::size_t N, class Kind>
struct of_kind<std::array<X, N>, Kind> {
  using type = std::array<typename of_kind<X, Kind>::type, N>;
};
template <template <class...> class Struct, class... X, class Kind>
struct of_kind<Struct<X...>, Kind> {
  using type = Struct<typename of_kind<X, Kind>::type...>;
};
// A struct with other template arguments than types says itself what it is of another kind.
template <class X, class Kind>
  requires requires { typename X::template of_kind<Kind>; }
struct of_kind<X, Kind> {
  using type = typename X::template of_kind<Kind>;
};

// Is it a struct of handles and nothing else? A number among them would be lost in the trace.
template <class X>
constexpr bool holds_handles() {
  if constexpr (std::is_same_v<X, handle>) {
    return true;
  } else if constexpr (is_list<X>) {
    return holds_handles<typename X::value_type>();
  } else if constexpr (Aggregate<X>) {
    if constexpr (member_count<X> > max_members)
      return false;
    else
      return []<class... M>(std::type_identity<std::tuple<M&...>>) {
        return (holds_handles<std::remove_const_t<M>>() && ...);
      }(std::type_identity<decltype(members(std::declval<X&>()))>{});
  } else {
    return false;
  }
}

}  // namespace detail

/// The struct `S` with parameters of another kind: `as_kind<mlp<stored<float>>, handles>` is
/// `mlp<handles>`. Works for templates whose arguments are types, and for structs that have
/// `template <class Kind> using of_kind = ...` themselves.
template <class S, class Kind>
using as_kind = typename detail::of_kind<S, Kind>::type;

/// A struct (or std::array) of handles, such as the arguments of a fused function may be.
template <class S>
concept HandleStructure = (Aggregate<S> || detail::is_list<S>)&&detail::holds_handles<S>();

namespace detail {

// Calls f(parameter, is_trained) in the order of the members.
template <class S, class F>
constexpr void walk(S& s, bool trained, F& f) {
  using plain = std::remove_const_t<S>;
  if constexpr (is_parameter<plain>) {
    f(s, trained);
  } else if constexpr (is_list<plain>) {
    for (auto& each : s) walk(each, trained, f);
  } else {
    // Counted in the struct of handles, whose members are cheap to think of.
    constexpr std::size_t count = member_count<as_kind<plain, handles>>;
    std::apply([&](auto&... each) { (walk(each, trained && is_trained<plain>(), f), ...); },
               members<S, count>(s));
  }
}

template <class S>
constexpr std::size_t count_parameters() {
  if constexpr (std::is_same_v<S, handle>)
    return 1;
  else if constexpr (is_list<S>)
    return std::tuple_size_v<S> * count_parameters<typename S::value_type>();
  else
    return []<class... M>(std::type_identity<std::tuple<M&...>>) {
      return (std::size_t{0} + ... + count_parameters<std::remove_const_t<M>>());
    }(std::type_identity<decltype(members(std::declval<S&>()))>{});
}

}  // namespace detail

/// How many tensors or handles there are in a struct.
template <class S>
inline constexpr std::size_t parameter_count = detail::count_parameters<as_kind<S, handles>>();

/// Calls `f(parameter)` for each tensor or handle of a struct, depth first in the order of the
/// members.
template <class S, class F>
constexpr void for_each_parameter(S& s, F&& f) {
  if constexpr (requires { s.for_each_parameter(f); }) {
    s.for_each_parameter(f);  // frozen
  } else {
    const auto without_flag = [&](auto& parameter, bool) { f(parameter); };
    detail::walk(s, true, without_flag);
  }
}

/// The handles of a struct, in the order of `for_each_parameter`.
template <HandleStructure S>
constexpr std::array<handle, parameter_count<S>> parameters_of(const S& s) {
  std::array<handle, parameter_count<S>> out{};
  std::size_t at = 0;
  for_each_parameter(s, [&](handle x) { out[at++] = x; });
  return out;
}

/// The struct `S` that has these handles, as many as it has parameters.
template <HandleStructure S>
constexpr S structure_of(span<const handle> parameters) {
  S out{};
  std::size_t at = 0;
  for_each_parameter(out, [&](handle& x) { x = parameters[at++]; });
  return out;
}

/// For each parameter of `S`: do optimizers change it?
template <HandleStructure S>
constexpr std::array<bool, parameter_count<S>> trained_parameters() {
  std::array<bool, parameter_count<S>> out{};
  std::size_t at = 0;
  S s{};
  const auto note = [&](handle&, bool trained) { out[at++] = trained; };
  detail::walk(s, true, note);
  return out;
}

}  // namespace sinter::inline SINTER_ABI
