// SPDX-License-Identifier: MIT
// Tile programs and what is around them as text: what is read and passes the verifier prints as a
// text that is read as the same. Nothing runs, so kernels are names alone.
#include "fuzz.hpp"
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/tile_text.hpp>
#include <sinter/exec/verify_lowered.hpp>

namespace {

namespace exec = sinter::exec;

// Every kernel a text may name; to read without any is tried, too.
exec::kernel_table stand_ins() {
  exec::kernel_table out;
  for (auto& ops : out.micro_ops) ops.fill([](auto...) {});
  for (auto& from : out.casts) from.fill([](auto...) {});
  for (auto& monoids : out.reductions) {
    for (exec::reduction_kernels& each : monoids) {
      each.row = [](auto...) {};
      each.accumulator_bytes = 64;
      each.lanes = 16;
    }
  }
  return out;
}

template <class Read>
void round_trip(Read read, std::string_view text) {
  const auto p = read(text);
  if constexpr (requires { exec::verify_lowered(p); }) exec::verify_lowered(p);
  const std::string printed = exec::to_text(p);
  try {
    fuzz::require(exec::to_text(read(printed)) == printed, "another program is read back");
  } catch (const sinter::error& e) {
    fuzz::require(false, e.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  static const exec::kernel_table table = stand_ins();
  for (const exec::known_kernels& known :
       {exec::known_kernels{}, exec::known_kernels{&table, {}}}) {
    fuzz::read_or_refuse([&] {
      round_trip([&](std::string_view t) { return exec::parse_lowered(t, known); }, text);
    });
    fuzz::read_or_refuse(
        [&] { round_trip([&](std::string_view t) { return exec::parse_tile(t, known); }, text); });
  }
  return 0;
}
