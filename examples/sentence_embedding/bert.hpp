// SPDX-License-Identifier: MIT
// The network of all-MiniLM-L6-v2: BERT (Devlin et al. 2018) with six blocks, whose last vectors
// are averaged to one for the sentence (Reimers and Gurevych 2019). Weights come from a safetensors
// file with the names of the model library that made it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <sinter/expr/parameter_names.hpp>
#include <sinter/files/safetensors.hpp>
#include <sinter/layers/layers.hpp>

namespace sentence_embedding {

namespace sn = sinter;

inline constexpr std::int64_t longest = 256;  // tokens of a sentence
inline constexpr std::int64_t width = 384;

template <class Kind>
struct bert {
  sn::layers::embedding<Kind> words, positions, types;
  sn::layers::layer_norm<Kind> norm;
  std::array<sn::layers::encoder_block<Kind>, 6> blocks;

  static constexpr sn::layers::transformer_settings settings{
      .attention = {.heads = 12}, .norm_first = false, .eps = 1e-12};

  /// Tokens [batch, places], of which the first `lengths` [batch] count, to [batch, width]: vectors
  /// of length 1.
  sn::handle operator()(sn::handle tokens, sn::handle lengths) const {
    const auto places = sn::extent(tokens, 1);
    const auto counts = sn::iota<std::int32_t>(places) < sn::unsqueeze(lengths, 1);
    const auto seen = sn::unsqueeze(sn::unsqueeze(counts, 1), 1);
    sn::forward_pass pass = sn::inference();
    sn::handle x = words(tokens) + sn::slice(positions.weight, 0, 0, places) +
                   sn::slice(types.weight, 0, 0, 1);
    x = norm(x, settings.eps);
    for (const auto& block : blocks) x = block(x, seen, pass, settings);
    const auto weight = sn::cast<float>(sn::unsqueeze(counts, -1));
    const auto mean = sn::sum(x * weight, {1}) / sn::sum(weight, {1});
    return mean * sn::rsqrt(sn::sum(mean * mean, {-1}, sn::keep_dims));
  }
};

/// The name in the file of the parameter at this path of the struct.
inline std::string name_in_file(std::string path) {
  constexpr std::array<std::array<const char*, 2>, 10> parts{{
      {"words.", "embeddings.word_embeddings."},
      {"positions.", "embeddings.position_embeddings."},
      {"types.", "embeddings.token_type_embeddings."},
      {"blocks.", "encoder.layer."},
      {".attention_norm.", ".attention.output.LayerNorm."},
      {".network_norm.", ".output.LayerNorm."},
      {".attention.output.weight", ".attention.output.dense.weight"},
      {".attention.output.bias", ".attention.output.dense.bias"},
      {".network.expand.", ".intermediate.dense."},
      {".network.contract.", ".output.dense."},
  }};
  if (path.starts_with("norm.")) return "embeddings.LayerNorm." + path.substr(5);
  for (const auto& [ours, theirs] : parts)
    if (const auto at = path.find(ours); at != std::string::npos)
      path.replace(at, std::string(ours).size(), theirs);
  for (const std::string each : {"query", "key", "value"})
    if (const auto at = path.find(".attention." + each + "."); at != std::string::npos)
      path.replace(at, 11, ".attention.self.");
  return path;
}

/// Throws io_error, dtype_error or shape_error if the file is not that of this network.
inline bert<sn::stored<float>> load(const std::string& path) {
  const sn::safetensors_file file(path);
  bert<sn::stored<float>> out;
  sn::for_each_named_parameter(
      out, [&]<sn::extents_spec E>(const std::string& name, sn::tensor<float, E>& parameter) {
        const auto given = file.get<float, E.rank>(name_in_file(name));
        // The file has the matrices of linear layers as [outputs, inputs].
        if constexpr (E.rank == 2)
          if (name.starts_with("blocks.")) {
            parameter = sn::transpose(given);
            return;
          }
        parameter = given;
      });
  return out;
}

}  // namespace sentence_embedding
