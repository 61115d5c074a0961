// SPDX-License-Identifier: MIT
// The kernels that all tests share, and what measures them.
#include <sinter/files/npy_source.hpp>
#include <sinter/function/calibration_source.hpp>
#include <sinter/function/code_source.hpp>
