// SPDX-License-Identifier: MIT
// component: safetensors
// .safetensors files, with every tensor in them.
#include "fuzz.hpp"
#include <sinter/files/safetensors.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file memory(data, size);
  fuzz::read_or_refuse([&] {
    const sinter::safetensors_file file(memory.path());
    std::size_t total = 0;
    for (const sinter::safetensors_entry& each : file.entries()) {
      fuzz::read_or_refuse([&] {
        const sinter::any_tensor x = file.get(each.name);
        const auto bytes = static_cast<std::size_t>(x.size()) * sinter::size_of(x.type());
        fuzz::look_at(x.data(), bytes);
        total += bytes;
      });
    }
    fuzz::require(total <= size, "more elements than the file has bytes");
  });
  return 0;
}
