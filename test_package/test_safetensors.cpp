// SPDX-License-Identifier: MIT
#include <cstdio>

#include <sinter/files/safetensors.hpp>

namespace sn = sinter;

int main() {
  const char* const path = "test_package.safetensors";
  sn::save_safetensors(path, {{"x", sn::tensor<float, 1>{1, 2}}});
  const bool right = sn::safetensors_file(path).get<float, 1>("x").data()[1] == 2;
  std::remove(path);
  return right ? 0 : 1;
}
