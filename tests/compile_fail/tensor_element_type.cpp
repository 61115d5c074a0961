// SPDX-License-Identifier: MIT
// expect: tensor: the element type must be bool, an integer of 8 to 64 bits or a float
#include <sinter/tensor/tensor.hpp>

int main() { sinter::tensor<char, 1> text(3); }
