// SPDX-License-Identifier: MIT
// library: ZLIB::ZLIB
// The IDX files of the MNIST family, labels and images.
#include "../../examples/support/idx.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::memory_file memory(data, size);
  for (const std::size_t rank : {1u, 3u}) {
    fuzz::read_or_refuse([&] {
      const idx::file file = idx::load(memory.path(), rank);
      fuzz::require(file.extents.size() == rank, "extents of another rank");
      // Without overflow: whoever reads by the extents must stay in the elements.
      std::size_t left = file.elements.size();
      for (const std::size_t extent : file.extents) {
        if (extent == 0) return;
        fuzz::require(left % extent == 0, "extents that are not those of the elements");
        left /= extent;
      }
      fuzz::require(left == 1, "extents that are not those of the elements");
    });
  }
  return 0;
}
