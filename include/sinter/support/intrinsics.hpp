// SPDX-License-Identifier: MIT
// The compiler's x86 intrinsics, if any, without the warnings GCC 12 gives for the uninitialised
// variables inside its AVX-512 ones. What counts is the state of the diagnostics where the header
// is included first, so this stands before every include of xsimd or Eigen.
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
#endif
