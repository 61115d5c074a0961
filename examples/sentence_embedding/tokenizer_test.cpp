// SPDX-License-Identifier: MIT
// The tokenizer gives what the reference tokenizer gave (make_reference.py).
#include <cstdint>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "word_piece.hpp"

// usage: tokenizer_test VOCABULARY TOKENS
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const sentence_embedding::word_piece tokenizer(argv[1]);
  const auto cases = nlohmann::json::parse(std::ifstream(argv[2]));
  int wrong = 0;
  for (const auto& each : cases) {
    const auto text = each[0].get<std::string>();
    const auto expected = each[1].get<std::vector<std::int32_t>>();
    if (tokenizer.encode(text, 256) == expected) continue;
    if (++wrong <= 20)
      std::cerr << "other tokens: " << each[0] << '\n'
                << nlohmann::json(tokenizer.encode(text, 256)) << '\n'
                << each[1] << "\n";
  }
  std::cout << cases.size() << " texts, " << wrong << " differ\n";
  return wrong == 0 && !cases.empty() ? 0 : 1;
}
