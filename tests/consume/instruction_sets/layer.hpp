// SPDX-License-Identifier: MIT
// What the units offer. C's names, so that the test of mixed units can change them.
#pragma once

extern "C" {

/// y_i = sum over j of (relu(x w)_ij + 1); all of them n by n, y of n.
void layer(const float* x, const float* w, float* y, int n);

/// Of the fused function, for 2 by 2.
const char* explanation();
}
