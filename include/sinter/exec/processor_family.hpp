// SPDX-License-Identifier: MIT
// Which family of processors the program runs on, where measured figures decide what is done.
#pragma once

#include <cstdint>
#include <limits>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec {

enum class processor_family {
  intel,
  amd_19h,  // Zen 3 and 4
  amd_1ah,  // Zen 5
  other
};

/// Takes a nanosecond: the compiler's runtime found it out when the program started.
inline processor_family this_family() {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_is("intel") != 0) return processor_family::intel;
  if (__builtin_cpu_is("amdfam19h") != 0) return processor_family::amd_19h;
  // GCC 12 and Clang 16 do not know family 1Ah. Zen 2 and those before have no AVX-512.
  if (__builtin_cpu_is("amd") != 0 && __builtin_cpu_supports("avx512f") != 0)
    return processor_family::amd_1ah;
#endif
  return processor_family::other;
}

/// Of family 19h those with AVX-512, which a program may have and not use.
inline bool is_zen4() {
#if defined(__x86_64__) || defined(__i386__)
  return this_family() == processor_family::amd_19h && __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

/// Zen 3 to 5: eight cores share 32 MB of L3, near to each of them.
inline bool has_near_level3() {
  const processor_family f = this_family();
  return f == processor_family::amd_19h || f == processor_family::amd_1ah;
}

/// More than this, read and written by so many threads, the last level does not keep from one nest
/// to the next, however large it is. Zen 4 has 32 MB for eight cores, of which others use a part:
/// layer norm of [4096,768], 12 MB to 12 MB, takes 130 instead of 161 ns per row past the caches
/// and relu(x + b) 109 instead of 161, 1.07 and 0.99 of the time together with a nest that reads
/// the result; of 18 MB in all layer norm gains a tenth, relu loses it, and a reader behind them
/// pays 1.3 times. A Xeon has its L3 so far from the cores that for one thread past the caches is
/// faster wherever L2 is too small: y = x + 1 takes 0.7 to 0.8 of the time from 3 MB on, a sum of y
/// with it 1.7 of 3 MB, 1.2 of 4, 1.0 to 1.1 of 6 to 16 and 0.9 of 24; layer norm of [4096,768]
/// 0.75 and 0.98, relu(x + b) of [2048,1024] 0.85 and 1.08. One thread of a Zen 5, 24 MB: layer
/// norm 0.53 and 0.85, relu(x + b) 0.87 and 1.35, softmax 0.69 and 0.98; 20 MB: 0.68 and 1.01, 1.05
/// and 1.5, 0.77 and 1.1. Two threads write to memory no faster than one there: 1.1, 1.9 and 1.1 of
/// the time.
inline double most_kept_bytes(std::int64_t threads) {
#if defined(__x86_64__) || defined(__i386__)
  // Those with AVX-512, which are a mesh of cores.
  if (threads == 1 && this_family() == processor_family::intel &&
      __builtin_cpu_supports("avx512f") != 0)
    return 8 << 20;
#endif
  const bool keeps_less = this_family() == processor_family::amd_19h ||
                          (this_family() == processor_family::amd_1ah && threads == 1);
  return keeps_less ? 24 << 20 : std::numeric_limits<double>::infinity();
}

/// Rows that share lines with their neighbours go past the caches from so many bytes on; see
/// streamed_row.hpp. (relu(x + b) on rows of 200, 264, 328 and 392 floats, part of the time through
/// the caches: 1.8, 1.4, 0.96 and 0.91 on a Zen 4, 0.82, 0.89, 0.88 and 0.70 on a Xeon; of 100
/// floats 2.7 and 1.2.)
inline std::int64_t shortest_streamed_row() {
  return this_family() == processor_family::amd_19h ? 1200 : 512;
}

}  // namespace sinter::inline SINTER_ABI::exec
