// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include <sinter/support/hash.hpp>
#include <sinter/support/inline_vector.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/promotion.hpp>

namespace dtype_test {

namespace sn = sinter;

TEST_CASE("a dtype and its C++ type lead to each other") {
  static_assert(sn::dtype_of<bool> == sn::dtype::boolean);
  static_assert(sn::dtype_of<std::uint8_t> == sn::dtype::u8);
  static_assert(sn::dtype_of<std::int32_t> == sn::dtype::i32);
  static_assert(sn::dtype_of<std::int64_t> == sn::dtype::i64);
  static_assert(sn::dtype_of<const float> == sn::dtype::f32);
  static_assert(sn::dtype_of<double> == sn::dtype::f64);
  static_assert(std::same_as<sn::cpp_type<sn::dtype::i64>, std::int64_t>);
  for (int i = 0; i < sn::dtype_count; ++i) {
    const auto d = static_cast<sn::dtype>(i);
    const bool same = sn::dispatch(d, [&]<class T>(std::type_identity<T>) {
      return sn::dtype_of<T> == d && sizeof(T) == sn::size_of(d);
    });
    CHECK(same);
  }
}

TEST_CASE("names and kinds of dtypes") {
  std::string names;
  for (int i = 0; i < sn::dtype_count; ++i)
    names += std::string(sn::name(static_cast<sn::dtype>(i))) + " ";
  CHECK(names == "bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 ");
  for (int i = 0; i < sn::dtype_count; ++i) {
    const auto d = static_cast<sn::dtype>(i);
    sn::dispatch(d, [&]<class T>(std::type_identity<T>) {
      constexpr bool integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
      CHECK(sn::is_integral(d) == integer);
      CHECK(sn::is_floating(d) == sn::FloatingElement<T>);
      CHECK(sn::is_narrow_float(d) == sn::NarrowFloat<T>);
      CHECK(sn::is_signed_integer(d) == (integer && std::is_signed_v<T>));
      CHECK(sn::is_unsigned_integer(d) == (integer && std::is_unsigned_v<T>));
      CHECK(sn::is_wide_integer(d) == (integer && sizeof(T) == 8));
      CHECK(sn::is_narrow_integer(d) == (integer && sizeof(T) <= 2));
    });
  }
  CHECK(sn::is_floating(sn::dtype::f32));
  CHECK_FALSE(sn::is_floating(sn::dtype::i64));
  CHECK(sn::is_integral(sn::dtype::u8));
  CHECK_FALSE(sn::is_integral(sn::dtype::boolean));
  const auto invalid = static_cast<sn::dtype>(200);
  CHECK_THROWS_AS(sn::dispatch(invalid, [](auto) { return 0; }), sn::dtype_error);
}

TEST_CASE("inline_vector holds up to its capacity") {
  using vector = sn::inline_vector<int, 4>;
  vector v{1, 2, 3};
  v.push_back(4);
  CHECK(v.full());
  CHECK_THROWS_AS(v.push_back(5), std::length_error);
  CHECK(v == vector{1, 2, 3, 4});
  v.erase(v.begin() + 1);
  CHECK(v == vector{1, 3, 4});
  v.insert(v.begin(), v.back());
  CHECK(v == vector{4, 1, 3, 4});
  v.resize(2);
  CHECK(v == vector{4, 1});
  CHECK(vector{1, 2} < vector{1, 3});
  CHECK(vector{1, 2} < vector{1, 2, 0});
  CHECK(vector::filled(3, 7) == vector{7, 7, 7});
}

template <sn::inline_vector<int, 4> V>
struct named_by {};

TEST_CASE("inline_vector works in constant evaluation and as a template argument") {
  constexpr auto popped = [] {
    sn::inline_vector<int, 4> v{5, 6, 7};
    v.pop_back();
    return v;
  }();
  static_assert(popped.size() == 2);
  // What was removed leaves no trace, or these would be two types.
  static_assert(std::same_as<named_by<popped>, named_by<sn::inline_vector<int, 4>{5, 6}>>);
}

TEST_CASE("hashes are the same everywhere and tell values apart") {
  // splitmix64 with seed 0 gives this as its first output (reference implementation by Vigna).
  static_assert(sn::hash_mix(0x9e3779b97f4a7c15ULL) == 0xe220a8397b1dcdafULL);
  using vector = sn::inline_vector<int, 4>;
  CHECK(sn::hash_range(vector{1, 2}) == sn::hash_range(vector{1, 2}));
  CHECK(sn::hash_range(vector{1, 2}) != sn::hash_range(vector{2, 1}));
  CHECK(sn::hash_range(vector{0}) != sn::hash_range(vector{0, 0}));
  CHECK(sn::hash_combine(1, 0.0) != sn::hash_combine(1, -0.0));
  CHECK(sn::hash_string("ab") != sn::hash_string("ba"));
}

TEST_CASE("dtypes promote as NumPy's do") {
  // From numpy.promote_types of NumPy 2.4, in the order of the header's table, and bf16 beside f16.
  const std::string table = R"(
bool bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
i8 i8 i8 i16 i16 i32 i32 i64 i64 f64 f16 bf16 f32 f64
u8 u8 i16 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
i16 i16 i16 i16 i16 i32 i32 i64 i64 f64 f32 f32 f32 f64
u16 u16 i32 u16 i32 u16 i32 u32 i64 u64 f32 f32 f32 f64
i32 i32 i32 i32 i32 i32 i32 i64 i64 f64 f64 f64 f64 f64
u32 u32 i64 u32 i64 u32 i64 u32 i64 u64 f64 f64 f64 f64
i64 i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 f64 f64
u64 u64 f64 u64 f64 u64 f64 u64 f64 u64 f64 f64 f64 f64
f16 f16 f16 f16 f32 f32 f64 f64 f64 f64 f16 f32 f32 f64
bf16 bf16 bf16 bf16 f32 f32 f64 f64 f64 f64 f32 bf16 f32 f64
f32 f32 f32 f32 f32 f32 f64 f64 f64 f64 f32 f32 f32 f64
f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64)";
  std::istringstream words(table);
  for (int i = 0; i < sn::dtype_count; ++i) {
    std::string row, expected;
    words >> row;
    CHECK(row == sn::name(static_cast<sn::dtype>(i)));
    for (int k = 0; k < sn::dtype_count; ++k) {
      words >> expected;
      INFO(row << " and " << sn::name(static_cast<sn::dtype>(k)));
      CHECK(sn::name(sn::promote(static_cast<sn::dtype>(i), static_cast<sn::dtype>(k))) ==
            expected);
    }
  }
  static_assert(sn::promote(sn::dtype::u64, sn::dtype::i8) == sn::dtype::f64);
}

TEST_CASE("a dtype embeds in another if that holds its extreme values") {
  for (int i = 0; i < sn::dtype_count; ++i)
    for (int k = 0; k < sn::dtype_count; ++k)
      sn::dispatch(static_cast<sn::dtype>(i), [&]<class From>(std::type_identity<From>) {
        sn::dispatch(static_cast<sn::dtype>(k), [&]<class To>(std::type_identity<To>) {
          // Digits of precision and range, as the types say.
          const auto digits = []<class T>(std::type_identity<T>) {
            return std::is_same_v<T, sn::float16>    ? 11
                   : std::is_same_v<T, sn::bfloat16> ? 8
                                                     : std::numeric_limits<T>::digits;
          };
          const auto range = []<class T>(std::type_identity<T>) {
            return std::is_same_v<T, sn::float16>    ? 16
                   : std::is_same_v<T, sn::bfloat16> ? 128
                   : std::is_integral_v<T>           ? std::numeric_limits<T>::digits
                                                     : std::numeric_limits<T>::max_exponent;
          };
          const std::type_identity<From> from;
          const std::type_identity<To> to;
          const bool from_float = sn::FloatingElement<From>, to_float = sn::FloatingElement<To>;
          const bool with_sign = from_float || std::is_signed_v<From>,
                     to_sign = to_float || std::is_signed_v<To>;
          const bool holds = digits(from) <= digits(to) && range(from) <= range(to) &&
                             (!with_sign || to_sign) && (!from_float || to_float);
          INFO(sn::name(sn::dtype_of<From>) << " in " << sn::name(sn::dtype_of<To>));
          CHECK(sn::embeds(sn::dtype_of<From>, sn::dtype_of<To>) == holds);
        });
      });
}

namespace {

// What 16 bits mean, by the definition: sign, exponent of e bits, fraction of f bits.
double value_of(unsigned bits, int e, int f) {
  const int exponent = static_cast<int>(bits >> f & ((1u << e) - 1)), bias = (1 << (e - 1)) - 1;
  const double fraction = static_cast<double>(bits & ((1u << f) - 1)), whole = std::exp2(f);
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == (1 << e) - 1)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction / whole, 1 - bias);
  return sign * std::ldexp(1 + fraction / whole, exponent - bias);
}

// Every value, and what lies between it and the next: below the middle, on it, above it.
template <class T>
void check_narrow_float(int e, int f) {
  const unsigned infinity = ((1u << e) - 1) << f;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const T x = T::from_bits(static_cast<std::uint16_t>(bits));
    const double value = value_of(bits, e, f);
    const float widened = static_cast<float>(x);
    if (std::isnan(value)) {
      REQUIRE(std::isnan(widened));
      REQUIRE(T(widened).bits == (bits | 1u << (f - 1)));  // quiet, with its payload
      continue;
    }
    REQUIRE(static_cast<double>(widened) == value);
    REQUIRE(std::signbit(widened) == (bits >> 15 != 0));
    REQUIRE(T(widened).bits == bits);
    REQUIRE(T(value).bits == bits);
    if ((bits & 0x7fffu) == infinity) continue;
    // Past the largest number the next one counts as the power of two that would follow.
    const double next = (bits & 0x7fffu) + 1 == infinity
                            ? std::copysign(std::ldexp(1.0, 1 << (e - 1)), value)
                            : value_of(bits + 1, e, f);
    const double middle = (value + next) / 2;
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    REQUIRE(T(middle).bits == even);
    REQUIRE(T(static_cast<float>(middle)).bits == even);
    REQUIRE(T(std::nextafter(static_cast<float>(middle), static_cast<float>(value))).bits == bits);
    REQUIRE(T(std::nextafter(static_cast<float>(middle), static_cast<float>(2 * next))).bits ==
            bits + 1);
    // A float in between would round to the middle first.
    REQUIRE(T(std::nextafter(middle, value)).bits == bits);
    REQUIRE(T(std::nextafter(middle, 2 * next)).bits == bits + 1);
  }
}

}  // namespace

TEST_CASE("float16 and bfloat16 hold what IEEE 754 says and round to nearest even") {
  check_narrow_float<sn::float16>(5, 10);
  check_narrow_float<sn::bfloat16>(8, 7);
  static_assert(sn::float16(1.0f).bits == 0x3c00 && sn::bfloat16(1.0f).bits == 0x3f80);
  static_assert(static_cast<float>(sn::float16(65504)) == 65504.0f);
  CHECK(sn::float16(65519.99).bits == 0x7bff);
  CHECK(sn::float16(65520).bits == 0x7c00);
  CHECK(sn::float16(-1e300).bits == 0xfc00);
  CHECK(sn::float16(1e-300).bits == 0);
  CHECK(sn::float16(-1e-300).bits == 0x8000);
  CHECK(sn::bfloat16(3.4e38).bits == 0x7f80);
  CHECK(sn::bfloat16(std::numeric_limits<double>::infinity()).bits == 0x7f80);
  CHECK(std::isnan(static_cast<float>(sn::float16(std::numeric_limits<double>::quiet_NaN()))));
}

TEST_CASE("16-bit floats compare as the floats they stand for") {
  CHECK(sn::float16(0.0f) == sn::float16(-0.0f));
  CHECK(sn::bfloat16(1.0f) < sn::bfloat16(2.0f));
  const sn::float16 nan(std::numeric_limits<float>::quiet_NaN());
  CHECK_FALSE(nan == nan);
  CHECK(sn::float16(0.5f) + 1.0f == 1.5f);
}

}  // namespace dtype_test
