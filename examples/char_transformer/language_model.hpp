// SPDX-License-Identifier: MIT
// A small GPT (Radford et al. 2018) over characters: a table of characters, decoder blocks with
// rotary embeddings, and scores by the same table. With it what trains it and what samples from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sinter/layers/layers.hpp>
#include <sinter/sinter.hpp>
#include <sinter/training/training.hpp>

namespace language_model {

namespace sn = sinter;
namespace layers = sinter::layers;
using floats = sn::stored<float>;

inline constexpr std::size_t block_count = 4;

struct sizes {
  std::int64_t characters = 0;  // in the vocabulary
  std::int64_t width = 128;     // of the vector of a place
};

/// Attention in 4 heads. Places are known by their distance (Su et al. 2021) and none sees further
/// than `context`, so a text may go on for longer than those of the training.
inline constexpr std::int64_t context = 128;
inline constexpr layers::transformer_settings settings{
    .attention = {.heads = 4, .causal = true, .window = context, .rope_theta = 10'000}};

template <class Kind>
using caches = std::array<layers::attention_cache<Kind>, block_count>;

/// Keys and values of `places` places of one text.
inline caches<floats> make_caches(const sizes& s, std::int64_t places) {
  caches<floats> out;
  const std::int64_t heads = settings.attention.heads;
  for (auto& each : out)
    each = layers::attention_cache<floats>::make(1, heads, places, s.width / heads);
  return out;
}

template <class Kind>
struct model {
  layers::embedding<Kind> characters;
  std::array<layers::decoder_block<Kind, false>, block_count> blocks;
  layers::layer_norm<Kind> norm;

  static model make(const sizes& s, std::int64_t seed) {
    sn::initialiser init(seed);
    model out{};
    out.characters = layers::embedding<Kind>::make(s.characters, s.width, init);
    for (auto& block : out.blocks)
      block = layers::decoder_block<Kind, false>::make(s.width, 4 * s.width, init);
    out.norm = layers::layer_norm<Kind>::make(s.width);
    return out;
  }

  /// Characters [batch, places] to scores of the next ones, [batch, places, characters].
  constexpr sn::handle operator()(sn::handle text, sn::forward_pass& pass) const {
    sn::handle x = characters(text);
    for (const auto& block : blocks) x = block(x, pass, settings);
    return characters.scores(norm(x));
  }

  /// The same for the next characters of texts whose first `position` characters the caches hold.
  constexpr sn::handle operator()(sn::handle text, const caches<sn::handles>& seen,
                                  sn::handle position, sn::forward_pass& pass) const {
    sn::handle x = characters(text);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      x = blocks[i](x, seen[i], position, pass, settings);
    return characters.scores(norm(x));
  }

  /// Mean of -log p of each character of text [batch, places] but the first of each row, in nats.
  constexpr sn::handle loss(sn::handle text, sn::forward_pass& pass) const {
    const sn::handle scores = (*this)(sn::slice(text, 1, 0, -1), pass);
    return sn::cross_entropy(scores, sn::slice(text, 1, 1, sn::until_end));
  }
};

/// All that a training has to remember.
template <class Kind>
struct training_state {
  model<Kind> network;
  sn::adam_state<model<Kind>> optimizer;  // whose counter is the number of steps made

  static training_state make(const sizes& s, std::int64_t seed) {
    const auto network = model<Kind>::make(s, seed);
    return {network, sn::adam_state<model<Kind>>::make(network)};
  }
};

/// One step of AdamW, gradients clipped to a norm of 1; returns the loss before it.
inline constexpr auto train = [](auto state, auto text, auto rate) {
  sn::forward_pass pass = sn::training();
  const auto loss = state.network.loss(text, pass);
  const auto slopes = sn::gradients(loss, state.network);
  constexpr sn::adam optimizer{.beta2 = 0.99, .weight_decay = 0.1, .decoupled = true};
  return sn::outputs(loss, optimizer.update(state.network, sn::clip_by_global_norm(slopes, 1),
                                            state.optimizer, rate));
};

inline constexpr auto evaluate = [](auto network, auto text) {
  sn::forward_pass pass = sn::inference();
  return network.loss(text, pass);
};

/// Scores of the character behind `text` [1, 1], which stands at `position`, and the same divided
/// by the temperature plus Gumbel noise: the highest of these is a draw from the softmax. The
/// caches learn the character.
inline constexpr auto write = [](auto network, auto seen, auto text, auto position,
                                 auto temperature, auto key) {
  sn::forward_pass pass = sn::inference();
  const auto scores = network(text, seen, position, pass);
  return sn::outputs(scores, scores / temperature + sn::gumbel(key, scores), pass.updates());
};

}  // namespace language_model
