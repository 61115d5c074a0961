// SPDX-License-Identifier: MIT
//
// The version of sinter. The only place that says it: CMake and the Conan recipe read these three
// lines.
#pragma once

#define SINTER_VERSION_MAJOR 0
#define SINTER_VERSION_MINOR 1
#define SINTER_VERSION_PATCH 0
