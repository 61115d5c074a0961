// SPDX-License-Identifier: MIT
// The images of Fashion-MNIST (Xiao et al. 2017; Debian: dataset-fashion-mnist) and their classes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "idx.hpp"

namespace fashion {

inline constexpr const char* usual_folder = "/usr/share/datasets/fashion-mnist";
inline constexpr std::size_t side = 28;

struct part {
  std::vector<std::uint8_t> pixels;   // image by image, row by row
  std::vector<std::uint8_t> classes;  // 0 to 9
};

/// `name`: "train" (60,000 images) or "t10k". Throws io_error for files that are missing, damaged
/// or do not belong together.
inline part load(const std::string& folder, const std::string& name) {
  idx::file images = idx::load(folder + "/" + name + "-images-idx3-ubyte.gz", 3);
  idx::file labels = idx::load(folder + "/" + name + "-labels-idx1-ubyte.gz", 1);
  if (images.extents != std::vector{labels.elements.size(), side, side})
    throw sinter::io_error(folder + ": " + name + " images and labels do not belong together");
  if (std::ranges::any_of(labels.elements, [](std::uint8_t c) { return c > 9; }))
    throw sinter::io_error(folder + ": " + name + " labels must be 0 to 9");
  return {std::move(images.elements), std::move(labels.elements)};
}

}  // namespace fashion
