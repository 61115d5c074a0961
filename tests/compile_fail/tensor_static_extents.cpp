// SPDX-License-Identifier: MIT
// expect: tensor: target and source differ in a static extent
// mention: static_extents<5, 4>
// lines <= 8
#include <sinter/tensor/tensor.hpp>

int main() {
  const sinter::tensor<float, sinter::extents<3, 4>> x;
  sinter::tensor<float, sinter::extents<3, 5>> y = x;
}
