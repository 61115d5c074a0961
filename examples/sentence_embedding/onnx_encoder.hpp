// SPDX-License-Identifier: MIT
// The network as a model of ONNX with the inputs and outputs that make_onnx.py writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encoder.hpp"
#include <sinter/onnx/load.hpp>

namespace sentence_embedding {

/// Throws what onnx::load throws, and graph_error for a model with other inputs.
inline encoder onnx_encoder(const std::string& file) {
  const sn::onnx::model model =
      sn::onnx::load(file, {.ranges = {sn::sym("batch_size", 1, most_sentences),
                                       sn::sym("sequence_length", 1, longest)}});
  const std::vector<sn::onnx::port>& inputs = model.inputs();
  const std::vector<std::string> names{"input_ids", "attention_mask", "token_type_ids"};
  bool fits = inputs.size() == names.size();
  for (std::size_t i = 0; fits && i < names.size(); ++i) fits = inputs[i].name == names[i];
  if (!fits)
    throw sn::graph_error(file +
                          " has other inputs than input_ids, attention_mask and "
                          "token_type_ids");
  return {model.function(), [](const batch& b) {
            const std::int64_t rows = b.tokens.extent(0), places = b.tokens.extent(1);
            sn::tensor<std::int64_t, 2> ids(rows, places), kept(rows, places), kinds(rows, places);
            for (std::int64_t r = 0; r < rows; ++r)
              for (std::int64_t i = 0; i < places; ++i) {
                ids(r, i) = b.tokens(r, i);
                kept(r, i) = i < b.lengths(r) ? 1 : 0;
                kinds(r, i) = 0;
              }
            return std::vector<sn::any_tensor>{ids, kept, kinds};
          }};
}

}  // namespace sentence_embedding
