// SPDX-License-Identifier: MIT
// Casts of floats to integers of 64 bits, for which there is no instruction before AVX-512.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/elementwise.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/widen.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// Of i64 also with AVX-512 (16,384 f64 3.8 instead of 5.6 us on a Xeon), whose instructions GCC
// uses; of u64 what is negative would be cast one by one (12.7 instead of 5.7).
#if defined(__AVX512DQ__)
template <class To>
inline constexpr bool gains_from_whole_cast = std::same_as<To, std::int64_t>;
#else
template <class To>
inline constexpr bool gains_from_whole_cast =
    std::same_as<To, std::int64_t> || std::same_as<To, std::uint64_t>;
#endif

// As `convert` has it. A whole number below 2^51 is what the bits of its sum with 3 * 2^51 exceed
// those of 3 * 2^51 by: 16,384 f32 in 5.8 instead of 21.7 us, f64 in 6.4 instead of 22 (Zen 3).
template <class To, Floating From>
void whole_cast_kernel(std::int64_t n, const void* const* operands, void* result) {
  constexpr double least = std::signed_integral<To> ? -0x1p51 : 0;
  const auto* x = static_cast<const From*>(operands[0]);
  auto* out = static_cast<To*>(result);
  const simd<double> magic(0x1.8p52);
  const std::int64_t whole_registers = n > 0 ? n - n % lanes<From> : 0;
  for (std::int64_t i = 0; i < whole_registers; i += lanes<From>)
    for (std::size_t k = 0; const simd<double> part : widen(load<From>(x + i))) {
      const std::int64_t at = i + static_cast<std::int64_t>(k++) * lanes<double>;
      const simd_mask<double> fits = (part >= simd<double>(least)) & (part < simd<double>(0x1p51));
      if (xsimd::all(fits)) {
        const simd_bits<double> whole =
            as_bits<double>(xsimd::trunc(part) + magic) - as_bits<double>(magic);
        whole.store_unaligned(reinterpret_cast<std::uint64_t*>(out + at));
      } else {
        for (std::int64_t j = at; j < at + lanes<double>; ++j) out[j] = convert<To>(x[j]);
      }
    }
  for (std::int64_t i = whole_registers; i < n; ++i) out[i] = convert<To>(x[i]);
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
