// SPDX-License-Identifier: MIT
// expect: tensor: the element type must be bool, uint8_t, int32_t, int64_t, float or double
#include <sinter/tensor/tensor.hpp>

int main() { sinter::tensor<char, 1> text(3); }
