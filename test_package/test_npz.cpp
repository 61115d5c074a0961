// SPDX-License-Identifier: MIT
#include <cstdio>

#include <sinter/files/npz.hpp>

namespace sn = sinter;

int main() {
  const char* const path = "test_package.npz";
  sn::save_npz(path, {{"x", sn::tensor<float, 1>{1, 2}}});
  const bool right = sn::npz_file(path).get<float, 1>("x").data()[1] == 2;
  std::remove(path);
  return right ? 0 : 1;
}
