// SPDX-License-Identifier: MIT
// The kernels that all tests share.
#include <sinter/function/code_source.hpp>
