// SPDX-License-Identifier: MIT
// component: npz
// .npz files, with every array in them.
#include "fuzz.hpp"
#include <sinter/files/npz.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file memory(data, size);
  fuzz::read_or_refuse([&] {
    const sinter::npz_file file(memory.path());
    for (const std::string& name : file.names()) {
      fuzz::read_or_refuse([&] {
        const sinter::any_tensor x = file.get(name);
        const auto bytes = static_cast<std::size_t>(x.size()) * sinter::size_of(x.type());
        fuzz::require(bytes <= 1100 * size, "more elements than the file can hold");
        fuzz::look_at(x.data(), bytes);
      });
    }
  });
  return 0;
}
