// SPDX-License-Identifier: MIT
// The network behind one interface, wherever it comes from: bert.hpp over the weights of a
// safetensors file, or a model of ONNX (onnx_encoder.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bert.hpp"
#include <sinter/function/graph_builder.hpp>
#include <sinter/sinter.hpp>

namespace sentence_embedding {

using embeddings = sn::tensor<float, sn::extents<sn::dyn, width>>;

/// Sentences side by side: tokens [sentences, places], of which the first `lengths` [sentences]
/// count.
struct batch {
  sn::tensor<std::int32_t, 2> tokens;
  sn::tensor<std::int32_t, 1> lengths;
};

/// A function of a batch. `arguments` makes of it what the function takes, in its order.
struct encoder {
  sn::graph_function function;
  std::function<std::vector<sn::any_tensor>(const batch&)> arguments;

  /// Vectors of length 1, one per sentence.
  embeddings operator()(const batch& b) const {
    const std::vector<sn::any_tensor> made = arguments(b);
    const std::vector<sn::graph_argument> passed(made.begin(), made.end());
    return function(passed)[0];
  }
};

inline constexpr std::int64_t most_sentences = 1024;  // of a batch

/// The network of bert.hpp. Throws what `load` throws.
inline encoder written_encoder(const std::string& safetensors) {
  sn::graph_builder g;
  const sn::sym sentences("batch", 1, most_sentences), places("places", 1, longest);
  const auto tokens = g.argument("tokens", sn::dtype::i32, {sentences, places});
  const auto lengths = g.argument("lengths", sn::dtype::i32, {sentences});
  return {g.compile({g.bound("", load(safetensors))(tokens, lengths)}), [](const batch& b) {
            return std::vector<sn::any_tensor>{b.tokens, b.lengths};
          }};
}

}  // namespace sentence_embedding
