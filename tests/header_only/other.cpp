// SPDX-License-Identifier: MIT
// The second translation unit. A function that lacks its `inline` is defined here as well as soon
// as the header is included, so that nothing has to be called that takes a minute to compile.
#include <sinter/sinter.hpp>

float last_of(const sinter::tensor<float, 1>& x) { return x(x.extent(0) - 1); }
