// SPDX-License-Identifier: MIT
// expect: deleted (function|constructor)
#include <sinter/tensor/view.hpp>

int main() { sinter::view<const float, 1> dangling = sinter::tensor<float, 1>{1, 2, 3}; }
