// SPDX-License-Identifier: MIT
// Random numbers, counter-based (Threefry, graph/random.hpp): the key, an integer scalar, is an
// argument like any other, and element i is a function of key, stream and i. Every call that is
// written gets a stream of its own, so two dropouts with one key differ, while a gradient sees the
// mask of its forward pass. The same key gives the same numbers again on any number of threads: a
// training loop passes another one each step. A key that is no integer, or numbers that are not
// floating, are a dtype_error; a key that has axes is a shape_error. (An expression that occurs
// twice in another is traced twice, and so draws twice.)
#pragma once

#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter {

namespace detail {

constexpr ir::value draw_uniform(handle key, dtype type, const ir::symbolic_shape& shape) {
  constexpr ir::op code = ir::op::random_uniform;
  ir::graph& g = key.graph();
  if (!is_floating(type))
    fail(key, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(type));
  if (!is_integral(key.type()))
    fail(key, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(key.type()));
  if (key.rank() != 0) fail(key, code, ir::fault_kind::wrong_rank, key.rank(), 0);
  if (g.failed()) return key.node;
  if (is_narrow_float(type)) {
    // Rounded down to a multiple of 2^-11 or 2^-8, all of which it has: rounding to nearest would
    // give 1.
    const double steps = type == dtype::f16 ? 0x1p11 : 0x1p8;
    const ir::value drawn = draw_uniform(key, dtype::f32, shape);
    return ir::cast(ir::unary(ir::op::floor, drawn * steps) * (1 / steps), type);
  }
  const ir::value wide = in_dtype(key.node, dtype::i64);
  return {&g, ir::append(g, code, {wide.id}, {static_cast<std::int64_t>(type), g.random_streams++},
                         shape)};
}

// Box and Muller, "A note on the generation of random normal deviates" (1958): sqrt(-2 log u) cos(2
// pi v). 1 - u is in (0, 1], so the logarithm is finite.
constexpr ir::value draw_normal(handle key, dtype type, const ir::symbolic_shape& shape) {
  constexpr double two_pi = 6.283185307179586476925;
  if (is_narrow_float(type)) return ir::cast(draw_normal(key, dtype::f32, shape), type);
  const ir::value u = draw_uniform(key, type, shape), v = draw_uniform(key, type, shape);
  if (key.graph().failed()) return u;
  const ir::value radius = ir::unary(ir::op::sqrt, ir::unary(ir::op::log, 1.0 - u) * -2.0);
  return radius * ir::unary(ir::op::cos, v * two_pi);
}

enum class distribution : std::uint8_t { uniform, normal };

constexpr ir::value draw(distribution which, handle key, dtype type,
                         const ir::symbolic_shape& shape) {
  return which == distribution::uniform ? draw_uniform(key, type, shape)
                                        : draw_normal(key, type, shape);
}

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

template <distribution Which, class T, class Key, class... Extent>
constexpr auto apply_random(Key&& key, Extent&&... extents) {
  const random_function<Which, T, sizeof...(Extent)> function{{{number_or_gap(extents)...}}};
  if constexpr (Scalar<std::remove_cvref_t<Key>>)
    return apply_with_numbers(function, std::tuple<std::int64_t>(static_cast<std::int64_t>(key)),
                              std::forward<Extent>(extents)...);
  else
    return apply_with_numbers(function, std::forward_as_tuple(std::forward<Key>(key)),
                              std::forward<Extent>(extents)...);
}

}  // namespace detail

/// Uniform in [0, 1), of the floating dtype and the shape of `like`. The key is a C++ integer or an
/// integer scalar.
template <Operand Key, Operand Like>
constexpr auto uniform(Key&& key, Like&& like) {
  return sinter::apply(detail::random_like_function<detail::distribution::uniform>{},
                       std::forward<Key>(key), std::forward<Like>(like));
}
template <std::integral Key, Operand Like>
constexpr auto uniform(Key key, Like&& like) {
  return sinter::apply(detail::random_like_function<detail::distribution::uniform>{}, key,
                       std::forward<Like>(like));
}

/// Uniform in [0, 1) of type `T` and the given extents: `uniform<float>(42, 3, 4)`. shape_error for
/// an extent that is below 0 or not computed from extents.
template <FloatingElement T, Operand Key, detail::ExtentLike... Extent>
constexpr auto uniform(Key&& key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::uniform, T>(std::forward<Key>(key),
                                                                std::forward<Extent>(extents)...);
}
template <FloatingElement T, std::integral Key, detail::ExtentLike... Extent>
constexpr auto uniform(Key key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::uniform, T>(key,
                                                                std::forward<Extent>(extents)...);
}

/// Normal with mean 0 and variance 1, of the floating dtype and the shape of `like`.
template <Operand Key, Operand Like>
constexpr auto normal(Key&& key, Like&& like) {
  return sinter::apply(detail::random_like_function<detail::distribution::normal>{},
                       std::forward<Key>(key), std::forward<Like>(like));
}
template <std::integral Key, Operand Like>
constexpr auto normal(Key key, Like&& like) {
  return sinter::apply(detail::random_like_function<detail::distribution::normal>{}, key,
                       std::forward<Like>(like));
}

/// Normal of type `T` and the given extents; shape_error as uniform.
template <FloatingElement T, Operand Key, detail::ExtentLike... Extent>
constexpr auto normal(Key&& key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::normal, T>(std::forward<Key>(key),
                                                               std::forward<Extent>(extents)...);
}
template <FloatingElement T, std::integral Key, detail::ExtentLike... Extent>
constexpr auto normal(Key key, Extent&&... extents) {
  return detail::apply_random<detail::distribution::normal, T>(key,
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

}  // namespace sinter
