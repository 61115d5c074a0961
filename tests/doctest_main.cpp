// SPDX-License-Identifier: MIT
// Both: the header is compiled ahead without its implementation, and only reads the second the
// first time.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
