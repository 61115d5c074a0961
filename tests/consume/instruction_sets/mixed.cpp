// SPDX-License-Identifier: MIT
// Units for three instruction sets in one program, linked as they are: each that the processor runs
// gives the right results with kernels of its own.
#include "expected.hpp"

extern "C" {
void layer_sse2(const float* x, const float* w, float* y, int n);
void layer_avx2(const float* x, const float* w, float* y, int n);
void layer_avx512(const float* x, const float* w, float* y, int n);
const char* explanation_sse2();
const char* explanation_avx2();
const char* explanation_avx512();
}

int main() {
  bool right = is_right(layer_sse2) && is_compiled_for(explanation_sse2(), "sse2");
  if (widest("avx2") == "avx2")
    right = is_right(layer_avx2) && is_compiled_for(explanation_avx2(), "avx2") && right;
  if (widest() == "avx512")
    right = is_right(layer_avx512) && is_compiled_for(explanation_avx512(), "avx512") && right;
  return right ? 0 : 1;
}
