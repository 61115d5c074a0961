// SPDX-License-Identifier: MIT
// Powers of two from a register: after Tang (1989), "Table-driven implementation of the exponential
// function", e^x is 2^n e^r with a multiple n of 1/16, or of 1/8, whose last bits one permutation
// turns into 2^(j/16). The polynomial of e^r has three terms fewer than that for whole n, or two.
#pragma once

#include <array>
#include <cstddef>

#include <sinter/exec/float_format.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// How many bits behind the point n has: a register of AVX-512 has sixteen powers, one of AVX2
// eight. 0: there is no table.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
inline constexpr int table_bits_of_float = 4;

// The elements of a table that the low bits of `index` choose. In assembler, since the result has
// to be written over the index: Intel's processors wait for what was in that register before (from
// Golden Cove on; GCC 13 knows it, and clears it). silu took 40 cycles per register instead of 12
// where that was of the loop's last turn.
[[gnu::always_inline]] inline simd<float> lookup(const float* table, simd<float> index) {
  __asm__("vpermps %1, %0, %0" : "+v"(index.data) : "vm"(_mm512_load_ps(table)));
  return index;
}

// x, or `most` with its sign where that is smaller; of NaN `most`.
[[gnu::always_inline]] inline simd<float> limit_size(simd<float> x, float most) {
  __asm__("vrangeps $2, %1, %0, %0" : "+v"(x.data) : "v"(_mm512_set1_ps(most)));
  return x;
}
#elif defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
inline constexpr int table_bits_of_float = 3;

[[gnu::always_inline]] inline simd<float> lookup(const float* table, simd<float> index) {
  return simd<float>(
      _mm256_permutevar8x32_ps(_mm256_load_ps(table), _mm256_castps_si256(index.data)));
}
[[gnu::always_inline]] inline simd<float> limit_size(simd<float> x, float most) {
  return clamp<float>(x, -most, most);
}
#else
inline constexpr int table_bits_of_float = 0;
#endif
template <Floating T>
inline constexpr int table_bits = sizeof(T) == 4 ? table_bits_of_float : 0;

// Does scaled_power scale by any n, as AVX-512 has an instruction for it, and limit_size lose NaN?
template <Floating T>
inline constexpr bool scales_by_any = table_bits<T> == 4;

// x + this has the nearest multiple of 2^-table_bits of x in its low bits.
inline constexpr float round_to_part = 0x1.8p23f / (1 << table_bits_of_float);

// Begins with the rounded powers, or with what they lack as well: e^x is off by 0.78 ULP then
// instead of 1.02, for a permutation more. exp takes 2.70 ns per register of softmax so on Zen 4,
// and 2.47 without; what is computed from it further would be off by more than 3 ULP without
// (sigmoid 3.08, softplus 3.44).
enum class table_powers { rounded, corrected };

// Of sixteen numbers those of a register: all, or every second one.
struct alignas(64) power_table {
  std::array<float, std::size_t{1} << table_bits_of_float> of;

  constexpr explicit power_table(const std::array<float, 16>& sixteenths) : of{} {
    for (std::size_t j = 0; j < of.size(); ++j) of[j] = sixteenths[j * 16 / of.size()];
  }
};

// 2^(j/16), and what the rounded ones lack, relative to them.
inline constexpr power_table powers({1.0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
                                     0x1.306fep+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
                                     0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
                                     0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f,
                                     0x1.ea4afap+0f});
inline constexpr power_table lacking_of_powers(
    {0.0f, 0x1.8d96d4p-25f, -0x1.9c0c22p-27f, 0x1.964904p-25f, 0x1.125002p-25f, 0x1.370be4p-25f,
     -0x1.0a3550p-25f, -0x1.00d8acp-27f, 0x1.26055cp-26f, -0x1.05cb44p-25f, 0x1.67a1cap-28f,
     0x1.a3b5e4p-28f, -0x1.f9c304p-27f, -0x1.6961b4p-28f, -0x1.a5217cp-28f, 0x1.61428ep-28f});

// 2^(j/16) / (1 + j/16) / 2, and what these lack.
inline constexpr power_table quotients({0.5f, 0x1.f73794p-2f, 0x1.f04d5cp-2f, 0x1.eaff6ap-2f,
                                        0x1.e71968p-2f, 0x1.e4715cp-2f, 0x1.e2e55ap-2f,
                                        0x1.e259bap-2f, 0x1.e2b7dep-2f, 0x1.e3ed28p-2f,
                                        0x1.e5ea40p-2f, 0x1.e8a27cp-2f, 0x1.ec0b66p-2f,
                                        0x1.f01c68p-2f, 0x1.f4ce76p-2f, 0x1.fa1bd8p-2f});
inline constexpr power_table lacking_of_quotients(
    {0.0f, 0x1.6c9fd8p-27f, 0x1.cbab64p-30f, -0x1.e6e3f4p-30f, -0x1.3873fp-26f, 0x1.38e0f6p-26f,
     -0x1.b1b70cp-26f, 0x1.af79dap-28f, -0x1.101228p-28f, -0x1.c6e69p-33f, 0x1.67a1cap-28f,
     -0x1.247784p-26f, 0x1.978c9cp-27f, -0x1.d83880p-27f, -0x1.c63ec4p-26f, 0x1.e950eep-26f});

// (e^r - 1 - r)/r^2 for |r| <= log(2) 2^-table_bits / 2: r^2 times it is off by 5e-9, with eighths
// by 4e-10.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp_curve(simd<T> r) {
  if constexpr (table_bits<T> == 4)
    return polynomial<T>(r, 0.500009775, 0.166666667);
  else
    return polynomial<T>(r, 0.5, 0.166678397, 0.0416686217);
}

// 2^n e^r for the n that fma(..., round_to_part + 2 * 127) left in `shifted`, which with eighths is
// within the exponents of two products (`scale_in_halves`). With AVX-512 n needs no limits: where
// it is so large that r is anything, or NaN, the limit of r makes the power some positive number,
// and the scaling by floor(n) gives 0, infinity, or NaN where n is.
template <table_powers Powers, Floating T>
[[gnu::always_inline]] inline simd<T> scaled_power(simd<T> shifted, simd<T> r) {
  if constexpr (scales_by_any<T>) r = limit_size(r, T(1));
  const simd<T> power = lookup(powers.of.data(), shifted);
  simd<T> cubic;
  if constexpr (Powers == table_powers::corrected) {
    const simd<T> slope = fma<T>(r, exp_curve(r), 1);
    cubic = fma<T>(r, slope, lookup(lacking_of_powers.of.data(), shifted));
  } else {
    cubic = fma<T>(mul<T>(r, r), exp_curve(r), r);
  }
  const simd<T> near_one = fma<T>(power, cubic, power);
#if defined(__AVX512F__)
  const simd<T> n = shifted - simd<T>(round_to_part + 2 * 127);
  return simd<T>(_mm512_scalef_ps(near_one.data, n.data));
#else
  return scale_in_halves<T>(near_one, as_bits<T>(shifted) >> table_bits<T>);
#endif
}

// 1 + 2^n e^r for |n| <= 127, which `shifted` has in its low bits with 128 added. r is `nearly`, of
// which what is n times `lack` is missing. These are the bits of 2^(floor(n) + 1) (1 + j/16) with j
// the sixteenths of n, once they are where a float has its exponent; what is missing to 2^n is in
// the table. So one product scales, and adds 1 with no further rounding. (silu(2x + 1/2) y of 4,096
// f32 on a Xeon: 0.72 of Eigen's time, 0.76 with 1 + scaled_power(...), both beside others on the
// same core.)
template <table_powers Powers, Floating T>
[[gnu::always_inline]] inline simd<T> one_plus_power(simd<T> shifted, simd<T> n, simd<T> nearly) {
  constexpr T lack = T(1.904654299957768e-09);  // of the float nearest to log 2
  const simd<T> factor = lookup(quotients.of.data(), shifted);
  simd<T> cubic;
  if constexpr (Powers == table_powers::corrected) {
    const simd<T> rest = fma<T>(n, lack, lookup(lacking_of_quotients.of.data(), shifted));
    cubic = fma<T>(nearly, fma<T>(nearly, exp_curve(nearly), 1), rest);
  } else {
    cubic = fma<T>(mul<T>(nearly, nearly), exp_curve(nearly), fma<T>(n, lack, nearly));
  }
  const simd<T> power =
      from_bits<T>(as_bits<T>(shifted) << float_format<T>::mantissa_bits - table_bits<T>);
  return fma<T>(power, fma<T>(factor, cubic, factor), 1);
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
