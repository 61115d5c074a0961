// SPDX-License-Identifier: MIT
// component: onnx
// needs: middle
// Models of ONNX, as far as they are read: what is loaded is not run.
#include "fuzz.hpp"
#include <sinter/onnx/load.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file file(data, size);
  fuzz::read_or_refuse([&] { static_cast<void>(sinter::onnx::load(file.path())); });
  return 0;
}
