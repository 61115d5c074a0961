// SPDX-License-Identifier: MIT
#include <sinter/onnx/load.hpp>

int main() {
  try {
    sinter::onnx::load("no such file");
  } catch (const sinter::io_error&) {
    return 0;
  }
  return 1;
}
