// SPDX-License-Identifier: MIT
// sinter is header-only unless SINTER_SEPARATE is defined. Then what lies behind the narrow waist
// (graph in, plan out: binding, rules, planning, running, reports, and the kernels that are not of
// one function alone) is only declared, and one translation unit of the program, compiled with the
// same flags, includes <sinter/separate.hpp>. All units of a program agree on the macro. A unit
// with a function of ten ops then compiles in 3 s instead of a minute (GCC 12).
#pragma once

#ifdef SINTER_SEPARATE
#define SINTER_INLINE
#else
#define SINTER_INLINE inline
#endif
