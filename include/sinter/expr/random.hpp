// SPDX-License-Identifier: MIT
// Random numbers, counter-based (Threefry, graph/random.hpp): the key, an integer scalar, is an
// argument like any other, and element i is a function of key, stream and i. Every call that is
// written gets a stream of its own, so two dropouts with one key differ, while a gradient sees the
// mask of its forward pass. The same key gives the same numbers again on any number of threads: a
// training loop passes another one each step (or derive_key(key, step), random_key.hpp). A key that
// is no integer, or numbers that are not floating, are a dtype_error; a key that has axes is a
// shape_error. (An expression that occurs twice in another is traced twice, and so draws twice.)
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sinter/expr/draw.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

template <distribution Which>
struct random_like_function {
  static constexpr ir::op code = ir::op::random_uniform;
  static constexpr unsigned own_dtype = 0b11;
  constexpr handle operator()(handle key, handle like) const {
    return handle(draw(Which, key, like.type(), like.node.shape()));
  }
};

template <distribution Which, Element T, std::size_t N>
struct random_function : shape_numbers<N> {
  static constexpr ir::op code = ir::op::random_uniform;
  static constexpr unsigned dtypes = dtype_bits(dtype_of<T>, dtype::f32);
  static constexpr unsigned own_dtype = ~0u;
  constexpr handle operator()(handle key, std::same_as<handle> auto... extents) const {
    const std::array<handle, sizeof...(extents)> operands{extents...};
    return handle(draw(Which, key, dtype_of<T>, shape_of(key, code, *this, operands)));
  }
};

// True with probability `keep`. The numbers have the dtype of x if that is f32 or f64.
constexpr ir::value draw_mask(handle key, ir::value keep, handle like) {
  const ir::value u =
      draw_uniform(key, like.type() == dtype::f64 ? dtype::f64 : dtype::f32, like.node.shape());
  if (is_narrow_float(keep.type())) keep = ir::cast(keep, dtype::f32);
  return ir::elementwise(ir::op::less, {u, keep});
}

struct dropout_mask_function {
  static constexpr ir::op code = ir::op::less;
  static constexpr unsigned dtypes = dtype_bits(dtype::f32);
  static constexpr unsigned own_dtype = 0b111;
  constexpr handle operator()(handle key, handle keep, handle like) const {
    return handle(draw_mask(key, keep.node, like));
  }
};

struct dropout_function {
  static constexpr ir::op code = ir::op::where;
  static constexpr unsigned own_dtype = 0b010;  // the key
  constexpr handle operator()(handle x, handle key, handle keep) const {
    const ir::value mask = draw_mask(key, keep.node, x);
    return handle(ir::where(mask, x.node / keep.node, ir::constant_like(x.node, 0)));
  }
};

template <Element T, std::size_t N>
struct random_integers_function : shape_numbers<N> {
  static constexpr ir::op code = ir::op::random_uniform;
  static constexpr unsigned dtypes = dtype_bits(dtype_of<T>, dtype::f64, dtype::i64);
  static constexpr unsigned own_dtype = ~0u;
  constexpr handle operator()(handle key, handle low, handle high,
                              std::same_as<handle> auto... extents) const {
    const std::array<handle, sizeof...(extents)> operands{extents...};
    return handle(draw_integers(key, low, high, dtype_of<T>, shape_of(key, code, *this, operands)));
  }
};

template <std::size_t N>
struct bernoulli_function : shape_numbers<N> {
  static constexpr ir::op code = ir::op::less;
  static constexpr unsigned dtypes = dtype_bits(dtype::f32);
  static constexpr unsigned own_dtype = ~0u;
  constexpr handle operator()(handle key, handle p, std::same_as<handle> auto... extents) const {
    const std::array<handle, sizeof...(extents)> operands{extents...};
    const ir::symbolic_shape shape = shape_of(key, code, *this, operands);
    if (p.rank() != 0) fail(key, code, ir::fault_kind::wrong_rank, p.rank(), 0);
    const ir::value u = draw_uniform(key, dtype::f32, shape);
    if (key.graph().failed()) return handle(u);
    return handle(ir::elementwise(ir::op::less, {u, in_dtype(p.node, dtype::f32)}));
  }
};

// A C++ number as it is captured, an operand as it is.
template <class X>
constexpr auto captured_number(X&& x) {
  using number = std::remove_cvref_t<X>;
  if constexpr (std::is_integral_v<number>)
    return std::tuple<std::int64_t>(static_cast<std::int64_t>(x));
  else if constexpr (Scalar<number>)
    return std::tuple<number>(x);
  else
    return std::forward_as_tuple(std::forward<X>(x));
}

template <distribution Which, class T, class Key, class... Extent>
constexpr auto apply_random(Key&& key, Extent&&... extents) {
  return apply_with_numbers(
      random_function<Which, T, sizeof...(Extent)>{{{number_or_gap(extents)...}}},
      captured_number(std::forward<Key>(key)), std::forward<Extent>(extents)...);
}

template <distribution Which, class Key, class Like>
constexpr auto apply_random_like(Key&& key, Like&& like) {
  return std::apply(
      [&](auto&& own) {
        return sinter::apply(random_like_function<Which>{}, std::forward<decltype(own)>(own),
                             std::forward<Like>(like));
      },
      captured_number(std::forward<Key>(key)));
}

}  // namespace detail

/// What random numbers are made from: a C++ integer, or an integer scalar.
template <class X>
concept RandomKey = Operand<X> || std::integral<std::remove_cvref_t<X>>;

/// Uniform in [0, 1), of the floating dtype and the shape of `like`.
template <RandomKey Key, Operand Like>
constexpr auto uniform(Key&& key, Like&& like) {
  return detail::apply_random_like<detail::distribution::uniform>(std::forward<Key>(key),
                                                                  std::forward<Like>(like));
}

/// Uniform in [0, 1) of type `T` and the given extents: `uniform<float>(42, 3, 4)`. shape_error for
/// an extent that is below 0 or not computed from extents.
template <FloatingElement T, RandomKey Key, detail::ExtentLike... Extent>
constexpr auto uniform(Key&& key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::uniform, T>(std::forward<Key>(key),
                                                                std::forward<Extent>(extents)...);
}

/// Normal with mean 0 and variance 1, of the floating dtype and the shape of `like`.
template <RandomKey Key, Operand Like>
constexpr auto normal(Key&& key, Like&& like) {
  return detail::apply_random_like<detail::distribution::normal>(std::forward<Key>(key),
                                                                 std::forward<Like>(like));
}

/// Normal of type `T` and the given extents; shape_error as uniform.
template <FloatingElement T, RandomKey Key, detail::ExtentLike... Extent>
constexpr auto normal(Key&& key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::normal, T>(std::forward<Key>(key),
                                                               std::forward<Extent>(extents)...);
}

/// Normal with mean 0 and variance 1 on condition that it is between -2 and 2 (the variance is then
/// 0.774), as weights are initialised with; of the floating dtype and the shape of `like`. Exact to
/// 3e-7, also in f64.
template <RandomKey Key, Operand Like>
constexpr auto truncated_normal(Key&& key, Like&& like) {
  return detail::apply_random_like<detail::distribution::truncated_normal>(
      std::forward<Key>(key), std::forward<Like>(like));
}

/// The same of type `T` and the given extents; shape_error as uniform.
template <FloatingElement T, RandomKey Key, detail::ExtentLike... Extent>
constexpr auto truncated_normal(Key&& key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::truncated_normal, T>(
      std::forward<Key>(key), std::forward<Extent>(extents)...);
}

/// Exponential with mean 1, of the floating dtype and the shape of `like`: at least 0, finite.
template <RandomKey Key, Operand Like>
constexpr auto exponential(Key&& key, Like&& like) {
  return detail::apply_random_like<detail::distribution::exponential>(std::forward<Key>(key),
                                                                      std::forward<Like>(like));
}

/// Exponential of type `T` and the given extents; shape_error as uniform.
template <FloatingElement T, RandomKey Key, detail::ExtentLike... Extent>
constexpr auto exponential(Key&& key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::exponential, T>(
      std::forward<Key>(key), std::forward<Extent>(extents)...);
}

/// Gumbel (location 0, scale 1), of the floating dtype and the shape of `like`, finite: the argmax
/// of x + gumbel(key, x) along an axis is drawn with probabilities softmax(x).
template <RandomKey Key, Operand Like>
constexpr auto gumbel(Key&& key, Like&& like) {
  return detail::apply_random_like<detail::distribution::gumbel>(std::forward<Key>(key),
                                                                 std::forward<Like>(like));
}

/// Gumbel of type `T` and the given extents; shape_error as uniform.
template <FloatingElement T, RandomKey Key, detail::ExtentLike... Extent>
constexpr auto gumbel(Key&& key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::gumbel, T>(std::forward<Key>(key),
                                                               std::forward<Extent>(extents)...);
}

/// Integers of type `T` in [low, high), of the given extents: `randint(42, 0, 6, 100)`. `low` and
/// `high` are C++ integers or integer scalars, at most 2^53 apart; where none is between them,
/// every number is `low`. dtype_error and shape_error as uniform.
template <Element T = std::int64_t, RandomKey Key, RandomKey Low, RandomKey High,
          detail::ExtentLike... Extent>
  requires(std::integral<T> && !std::same_as<T, bool>)
constexpr auto randint(Key&& key, Low&& low, High&& high, Extent&&... extents) {
  return detail::apply_with_numbers(
      detail::random_integers_function<T, sizeof...(Extent)>{{{detail::number_or_gap(extents)...}}},
      std::tuple_cat(detail::captured_number(std::forward<Key>(key)),
                     detail::captured_number(std::forward<Low>(low)),
                     detail::captured_number(std::forward<High>(high))),
      std::forward<Extent>(extents)...);
}

/// Bools of the given extents, each true with probability `p`, a scalar (of a number per element,
/// see dropout_mask). shape_error as uniform.
template <RandomKey Key, class P, detail::ExtentLike... Extent>
  requires(Operand<P> || Scalar<std::remove_cvref_t<P>>)
constexpr auto bernoulli(Key&& key, P&& p, Extent&&... extents) {
  return detail::apply_with_numbers(
      detail::bernoulli_function<sizeof...(Extent)>{{{detail::number_or_gap(extents)...}}},
      std::tuple_cat(detail::captured_number(std::forward<Key>(key)),
                     detail::captured_number(std::forward<P>(p))),
      std::forward<Extent>(extents)...);
}

/// Bools in the shape of `like`, whatever its dtype, each true with probability `keep`, a scalar or
/// what broadcasts to that shape.
template <Operand Key, Operand Keep, Operand Like>
constexpr auto dropout_mask(Key&& key, Keep&& keep, Like&& like) {
  return sinter::apply(detail::dropout_mask_function{}, std::forward<Key>(key),
                       std::forward<Keep>(keep), std::forward<Like>(like));
}
template <Operand Key, Scalar Keep, Operand Like>
constexpr auto dropout_mask(Key&& key, Keep keep, Like&& like) {
  return sinter::apply(detail::dropout_mask_function{}, std::forward<Key>(key), keep,
                       std::forward<Like>(like));
}
template <std::integral Key, Operand Keep, Operand Like>
constexpr auto dropout_mask(Key key, Keep&& keep, Like&& like) {
  return sinter::apply(detail::dropout_mask_function{}, key, std::forward<Keep>(keep),
                       std::forward<Like>(like));
}
template <std::integral Key, Scalar Keep, Operand Like>
constexpr auto dropout_mask(Key key, Keep keep, Like&& like) {
  return sinter::apply(detail::dropout_mask_function{}, key, keep, std::forward<Like>(like));
}

/// x / keep with probability `keep`, 0 otherwise: the expectation is x (inverted dropout), in its
/// shape. Floats (dtype_error).
template <Operand X, Operand Key, Operand Keep>
constexpr auto dropout(X&& x, Key&& key, Keep&& keep) {
  return sinter::apply(detail::dropout_function{}, std::forward<X>(x), std::forward<Key>(key),
                       std::forward<Keep>(keep));
}
template <Operand X, Operand Key, Scalar Keep>
constexpr auto dropout(X&& x, Key&& key, Keep keep) {
  return sinter::apply(detail::dropout_function{}, std::forward<X>(x), std::forward<Key>(key),
                       keep);
}
template <Operand X, std::integral Key, Operand Keep>
constexpr auto dropout(X&& x, Key key, Keep&& keep) {
  return sinter::apply(detail::dropout_function{}, std::forward<X>(x), key,
                       std::forward<Keep>(keep));
}
template <Operand X, std::integral Key, Scalar Keep>
constexpr auto dropout(X&& x, Key key, Keep keep) {
  return sinter::apply(detail::dropout_function{}, std::forward<X>(x), key, keep);
}

}  // namespace sinter::inline SINTER_ABI
