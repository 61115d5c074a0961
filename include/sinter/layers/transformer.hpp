// SPDX-License-Identifier: MIT
// Blocks of a transformer (Vaswani et al. 2017), with their norms in front of what they normalise
// (Xiong et al. 2020) or behind the sum.
#pragma once

#include <cstdint>

#include <sinter/layers/attention.hpp>
#include <sinter/layers/norms.hpp>

namespace sinter::inline SINTER_ABI::layers {

struct transformer_settings {
  attention_settings attention;
  bool norm_first = true;
  double dropout = 0;  // of what each part adds
  double eps = 1e-5;   // of the norms
};

/// Two linear layers with a GELU between them.
template <class Kind>
struct feed_forward {
  linear<Kind> expand, contract;

  static feed_forward make(std::int64_t width, std::int64_t inner, initialiser& init) {
    return {linear<Kind>::make(width, inner, init), linear<Kind>::make(inner, width, init)};
  }

  constexpr auto operator()(const auto& x) const { return contract(gelu(expand(x))); }
};

/// x + part(norm(x)), or norm(x + part(x)).
template <class Norm, class Part>
constexpr handle residual(handle x, const Norm& norm, forward_pass& pass,
                          const transformer_settings& s, Part part) {
  if (s.norm_first) return x + dropout(part(norm(x, s.eps)), pass, s.dropout);
  return norm(x + dropout(part(x), pass, s.dropout), s.eps);
}

/// Attention of each place to all, then a feed-forward network. x and the result are [..., places,
/// width].
template <class Kind>
struct encoder_block {
  layer_norm<Kind> attention_norm;
  multi_head_attention<Kind> attention;
  layer_norm<Kind> network_norm;
  feed_forward<Kind> network;

  /// `inner` is the width between the two linear layers.
  static encoder_block make(std::int64_t width, std::int64_t inner, initialiser& init,
                            std::int64_t group = 1) {
    return {layer_norm<Kind>::make(width), multi_head_attention<Kind>::make(width, init, group),
            layer_norm<Kind>::make(width), feed_forward<Kind>::make(width, inner, init)};
  }

  constexpr handle operator()(handle x, forward_pass& pass, const transformer_settings& s) const {
    const handle y =
        residual(x, attention_norm, pass, s, [&](handle z) { return attention(z, s.attention); });
    return residual(y, network_norm, pass, s, network);
  }

  /// The same where a place sees only those that `seen` shows: see multi_head_attention.
  constexpr handle operator()(handle x, handle seen, forward_pass& pass,
                              const transformer_settings& s) const {
    const handle y = residual(x, attention_norm, pass, s,
                              [&](handle z) { return attention(z, z, seen, s.attention); });
    return residual(y, network_norm, pass, s, network);
  }
};

/// Causal attention to the places before, attention to a memory if `Cross`, then a feed-forward
/// network. Without it, a block of a language model.
template <class Kind, bool Cross = true>
struct decoder_block {
  template <class Other>
  using of_kind = decoder_block<Other, Cross>;

  layer_norm<Kind> attention_norm;
  multi_head_attention<Kind> attention;
  [[no_unique_address]] optional_member<Cross, layer_norm<Kind>> memory_norm;
  [[no_unique_address]] optional_member<Cross, multi_head_attention<Kind>> memory_attention;
  layer_norm<Kind> network_norm;
  feed_forward<Kind> network;

  static decoder_block make(std::int64_t width, std::int64_t inner, initialiser& init,
                            std::int64_t group = 1) {
    decoder_block out{};
    out.attention_norm = layer_norm<Kind>::make(width);
    out.attention = multi_head_attention<Kind>::make(width, init, group);
    if constexpr (Cross) {
      out.memory_norm = layer_norm<Kind>::make(width);
      out.memory_attention = multi_head_attention<Kind>::make(width, init, group);
    }
    out.network_norm = layer_norm<Kind>::make(width);
    out.network = feed_forward<Kind>::make(width, inner, init);
    return out;
  }

  /// A whole sequence.
  constexpr handle operator()(handle x, forward_pass& pass, const transformer_settings& s) const
    requires(!Cross)
  {
    return behind(attended(x, pass, s), pass, s);
  }
  constexpr handle operator()(handle x, handle memory, forward_pass& pass,
                              const transformer_settings& s) const
    requires Cross
  {
    return behind(remembered(attended(x, pass, s), memory, pass, s), pass, s);
  }

  /// The next places, from `position` on: see multi_head_attention.
  constexpr handle operator()(handle x, const attention_cache<handles>& cache, handle position,
                              forward_pass& pass, const transformer_settings& s) const
    requires(!Cross)
  {
    return behind(attended(x, cache, position, pass, s), pass, s);
  }
  constexpr handle operator()(handle x, handle memory, const attention_cache<handles>& cache,
                              handle position, forward_pass& pass,
                              const transformer_settings& s) const
    requires Cross
  {
    return behind(remembered(attended(x, cache, position, pass, s), memory, pass, s), pass, s);
  }

 private:
  constexpr handle attended(handle x, forward_pass& pass, const transformer_settings& s) const {
    attention_settings causal = s.attention;
    causal.causal = true;
    return residual(x, attention_norm, pass, s, [&](handle y) { return attention(y, causal); });
  }
  constexpr handle attended(handle x, const attention_cache<handles>& cache, handle position,
                            forward_pass& pass, const transformer_settings& s) const {
    return residual(x, attention_norm, pass, s,
                    [&](handle y) { return attention(y, cache, position, pass, s.attention); });
  }
  constexpr handle remembered(handle x, handle memory, forward_pass& pass,
                              const transformer_settings& s) const {
    const attention_settings all{.heads = s.attention.heads, .group = s.attention.group};
    return residual(x, memory_norm, pass, s,
                    [&](handle y) { return memory_attention(y, memory, all); });
  }
  constexpr handle behind(handle x, forward_pass& pass, const transformer_settings& s) const {
    return residual(x, network_norm, pass, s, network);
  }
};

}  // namespace sinter::inline SINTER_ABI::layers
