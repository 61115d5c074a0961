// SPDX-License-Identifier: MIT
// multi_head_attention: projections to queries, keys and values, attention in heads, and a
// projection of the result; for whole sequences and for decoding with a cache.
#pragma once

#include <cstdint>

#include <sinter/expr/expr.hpp>
#include <sinter/layers/forward_pass.hpp>
#include <sinter/layers/linear.hpp>

namespace sinter::inline SINTER_ABI::layers {

struct attention_settings {
  std::int64_t heads = 1;
  std::int64_t group = 1;   // heads of the queries that share one head of keys and values
  bool causal = false;      // a place sees those up to its own
  std::int64_t window = 0;  // and fewer than this many places away, if above 0
  double rope_theta = 0;    // above 0: rotary embedding of queries and keys, of this theta
};

/// Keys and values of the places before, as they stand in heads: [..., heads / group, places,
/// depth]. `places` is the room there is.
template <class Kind>
struct attention_cache {
  parameter<Kind, 4> keys, values;

  static attention_cache make(std::int64_t batch, std::int64_t heads, std::int64_t places,
                              std::int64_t depth) {
    const parameter<Kind, 4> zeros(batch, heads, places, depth);
    return {zeros, zeros};
  }
};

/// Attention (Vaswani et al. 2017) over x [..., places, width]. Throws as sinter::attention and
/// matmul.
template <class Kind, bool Bias = true>
struct multi_head_attention {
  template <class Other>
  using of_kind = multi_head_attention<Other, Bias>;

  linear<Kind, Bias> query, key, value, output;

  /// As linear. `width` is that of the input and output; with groups, keys and values are narrower.
  static multi_head_attention make(std::int64_t width, initialiser& init, std::int64_t group = 1) {
    using projection = linear<Kind, Bias>;
    return {projection::make(width, width, init), projection::make(width, width / group, init),
            projection::make(width, width / group, init), projection::make(width, width, init)};
  }

  /// Each place of x sees x.
  constexpr handle operator()(handle x, const attention_settings& settings) const {
    return (*this)(x, x, settings);
  }

  /// Each place of x sees `memory` [..., places', width] (cross attention). Rotary embeddings are
  /// for x as its own memory.
  constexpr handle operator()(handle x, handle memory, const attention_settings& settings) const {
    return attended(x, memory, settings, [&](handle q, handle k, handle v) {
      return attention(q, k, v, options_of(settings));
    });
  }

  /// The same, of those places that `seen` shows: bools that broadcast against [..., heads, places,
  /// places'], such as [batch, 1, 1, places'] for the padding of a batch.
  constexpr handle operator()(handle x, handle memory, handle seen,
                              const attention_settings& settings) const {
    return attended(x, memory, settings, [&](handle q, handle k, handle v) {
      return masked_attention(q, k, v, seen, options_of(settings));
    });
  }

  /// The next places of a sequence: x stands at `position`, an integer scalar, and sees what the
  /// cache holds of the places before and itself. The new keys and values are an update of the
  /// pass. The same as the causal attention of the whole sequence, place by place.
  constexpr handle operator()(handle x, const attention_cache<handles>& cache, handle position,
                              forward_pass& pass, attention_settings settings) const {
    handle q = sinter::detail::in_heads(query(x), settings.heads);
    handle k = sinter::detail::in_heads(key(x), key_heads(settings));
    const handle v = sinter::detail::in_heads(value(x), key_heads(settings));
    if (x.graph().failed()) return x;
    if (settings.rope_theta > 0) {
      const handle places = iota<std::int64_t>(extent(x, -2)) + cast<std::int64_t>(position);
      q = rope(q, places, {.theta = settings.rope_theta});
      k = rope(k, places, {.theta = settings.rope_theta});
    }
    const handle keys = cache_write(cache.keys, k, position);
    const handle values = cache_write(cache.values, v, position);
    pass.update(cache.keys, keys);
    pass.update(cache.values, values);
    settings.causal = true;
    return output(
        sinter::detail::side_by_side(attention(q, keys, values, position, options_of(settings))));
  }

 private:
  template <class Attention>
  constexpr handle attended(handle x, handle memory, const attention_settings& settings,
                            Attention in_heads_apart) const {
    handle q = sinter::detail::in_heads(query(x), settings.heads);
    handle k = sinter::detail::in_heads(key(memory), key_heads(settings));
    const handle v = sinter::detail::in_heads(value(memory), key_heads(settings));
    if (x.graph().failed()) return x;
    if (settings.rope_theta > 0) {
      q = rope(q, {.theta = settings.rope_theta});
      k = rope(k, {.theta = settings.rope_theta});
    }
    return output(sinter::detail::side_by_side(in_heads_apart(q, k, v)));
  }
  static constexpr std::int64_t key_heads(const attention_settings& s) {
    return s.group < 1 ? 0 : s.heads / s.group;
  }
  static constexpr attention_options options_of(const attention_settings& s) {
    return {.causal = s.causal, .window = s.window, .group = s.group};
  }
};

}  // namespace sinter::inline SINTER_ABI::layers
