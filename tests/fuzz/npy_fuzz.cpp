// SPDX-License-Identifier: MIT
// .npy files: any array, and a typed one.
#include "fuzz.hpp"
#include <sinter/files/npy.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file file(data, size);
  fuzz::read_or_refuse([&] {
    const sinter::any_tensor x = sinter::map_npy(file.path());
    const auto bytes = static_cast<std::size_t>(x.size()) * sinter::size_of(x.type());
    fuzz::require(bytes <= size, "more elements than the file has bytes");
    fuzz::look_at(x.data(), bytes);
  });
  fuzz::read_or_refuse([&] {
    const auto x = sinter::load_npy<float, 2>(file.path());
    fuzz::look_at(x.data(), static_cast<std::size_t>(x.size()) * sizeof(float));
  });
  return 0;
}
