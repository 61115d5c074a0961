// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer: over the files of folders, and over damaged copies of them,
// always the same: cut short, with bytes changed, with a piece of another file in them.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace {

std::vector<std::string> contents_of(const std::string& folder) {
  std::vector<std::string> paths, out;
  for (const auto& each : std::filesystem::directory_iterator(folder))
    paths.push_back(each.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

void run(const std::string& input) {
  // A block of its own, so that a sanitizer sees what reads behind the end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

// xorshift: the same numbers everywhere.
class numbers {
 public:
  std::size_t below(std::size_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::size_t>(state_ % limit);
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: replay DAMAGED_COPIES FOLDER...\n", stderr);
    return 2;
  }
  const std::size_t copies = std::stoul(arguments[1]);
  std::vector<std::string> inputs{""};
  for (int i = 2; i < count; ++i)
    for (std::string& each : contents_of(arguments[i])) inputs.push_back(std::move(each));
  for (const std::string& input : inputs) run(input);
  if (inputs.size() == 1) {
    std::fputs("no inputs\n", stderr);
    return 1;
  }

  numbers random;
  for (std::size_t i = 0; i < copies; ++i) {
    std::string input = inputs[1 + i % (inputs.size() - 1)];
    if (input.empty()) continue;
    const std::size_t at = random.below(input.size());
    switch (random.below(4)) {
      case 0: input.resize(at); break;
      case 1: input[at] = static_cast<char>(random.below(256)); break;
      case 2: input.erase(at, 1 + random.below(8)); break;
      default: {
        const std::string& other = inputs[1 + random.below(inputs.size() - 1)];
        if (other.empty()) break;
        const std::size_t from = random.below(other.size());
        input.insert(at, other.substr(from, 1 + random.below(16)));
      }
    }
    run(input);
  }
  std::printf("%zu inputs, %zu damaged copies\n", inputs.size(), copies);
}
