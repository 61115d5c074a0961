// SPDX-License-Identifier: MIT
// The inline namespace of everything in sinter. What a header compiles to depends on the
// instruction set (widths of registers, alignments of Eigen, which kernels exist), on OpenMP and on
// exceptions, so units that are compiled for different ones have entities of different names: they
// link into one program, each with its own, and a value that is handed from one to the other is an
// error of the linker instead of a program that is wrong. All units that share sinter's types are
// compiled with the same flags.
#pragma once

// What xsimd and Eigen tell apart, from the widest on.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512CD__)
#define SINTER_ABI_ISA avx512
#elif defined(__AVX512F__)
#define SINTER_ABI_ISA avx512f
#elif defined(__AVX2__) && defined(__FMA__)
#define SINTER_ABI_ISA avx2_fma
#elif defined(__AVX2__)
#define SINTER_ABI_ISA avx2
#elif defined(__AVX__) && defined(__FMA__)
#define SINTER_ABI_ISA avx_fma
#elif defined(__AVX__)
#define SINTER_ABI_ISA avx
#elif defined(__SSE4_2__)
#define SINTER_ABI_ISA sse4_2
#elif defined(__SSE4_1__)
#define SINTER_ABI_ISA sse4_1
#elif defined(__SSSE3__)
#define SINTER_ABI_ISA ssse3
#elif defined(__SSE3__)
#define SINTER_ABI_ISA sse3
#elif defined(__SSE2__)
#define SINTER_ABI_ISA sse2
#elif defined(__ARM_FEATURE_SVE)
#define SINTER_ABI_ISA sve
#elif defined(__ARM_NEON)
#define SINTER_ABI_ISA neon
#else
#define SINTER_ABI_ISA scalar
#endif

#if defined(_OPENMP) && defined(__cpp_exceptions)
#define SINTER_ABI_NAME(isa) abi_##isa##_openmp
#elif defined(__cpp_exceptions)
#define SINTER_ABI_NAME(isa) abi_##isa
#elif defined(_OPENMP)
#define SINTER_ABI_NAME(isa) abi_##isa##_openmp_abort
#else
#define SINTER_ABI_NAME(isa) abi_##isa##_abort
#endif
// The argument is expanded on the way through.
#define SINTER_ABI_EXPAND(isa) SINTER_ABI_NAME(isa)
#define SINTER_ABI SINTER_ABI_EXPAND(SINTER_ABI_ISA)
