// SPDX-License-Identifier: MIT
// The second translation unit. What the headers define and should not is defined here again by
// including them: it need not call what takes a minute to compile.
#include <sinter/sinter.hpp>

float last_of(const sinter::tensor<float, 1>& x) { return x(x.extent(0) - 1); }
