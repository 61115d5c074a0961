// SPDX-License-Identifier: MIT
// Calibration: the machine at hand for the cost model, measured once and kept in a file.
#pragma once

#include <filesystem>
#include <string>

#include <sinter/plan/machine.hpp>
#include <sinter/support/separate.hpp>

namespace sinter::inline SINTER_ABI {

/// Costs of this machine for `program_options::machine`:
///
///     const auto here = calibrated_machine();
///     auto f = fuse([](auto x) { return softmax(x); }, {.machine = here});
///
/// Measured once, in about a second and up to 200 MB, and kept in $XDG_CACHE_HOME/sinter or
/// ~/.cache/sinter by version of sinter, processor, caches, instruction set compiled for and number
/// of threads; read from there afterwards. A file that is damaged or another's is measured again,
/// and where none can be written, every process measures: both with one line on stderr. Plans, and
/// with them the last bits of results, may then differ from machine to machine, but not from run to
/// run; give the same machine to all functions that must agree.
planning::machine calibrated_machine();

/// The measurement alone. Bandwidth of the memory is what a thread has while all others use it as
/// well, times are else those of one thread.
planning::machine measure_machine();

/// What calibrated_machine does, in a directory of the caller's, which tells instead of writing to
/// stderr; and with a measurement of the caller's.
struct calibration {
  planning::machine machine;
  bool measured = false;       // rather than read
  std::filesystem::path file;  // where it is kept
  std::string warning;         // empty if there is none
};
calibration calibrate(const std::filesystem::path& directory,
                      planning::machine (*measure)() = measure_machine);

}  // namespace sinter::inline SINTER_ABI

#ifndef SINTER_SEPARATE
#include <sinter/function/calibration_source.hpp>
#endif
