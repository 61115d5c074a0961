// SPDX-License-Identifier: MIT
// The tokenizer gives what the reference tokenizer gave (make_reference.py).
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "word_piece.hpp"

// usage: tokenizer_test VOCABULARY TOKENS; 77: there is no vocabulary
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (!std::filesystem::exists(argv[1])) return 77;
  const sentence_embedding::word_piece tokenizer(argv[1]);
  const auto cases = nlohmann::json::parse(std::ifstream(argv[2]));
  int wrong = 0;
  for (const auto& each : cases) {
    const auto expected = each[1].get<std::vector<std::int32_t>>();
    const auto found = tokenizer.encode(each[0].get<std::string>(), 256);
    if (found == expected) continue;
    ++wrong;
    std::cerr << each[0] << ": " << nlohmann::json(found) << " instead of " << each[1] << '\n';
  }
  std::cout << cases.size() << " texts, " << wrong << " differ\n";
  return wrong == 0 && !cases.empty() ? 0 : 1;
}
