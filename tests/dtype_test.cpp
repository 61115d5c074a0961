// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include <sinter/support/hash.hpp>
#include <sinter/support/inline_vector.hpp>
#include <sinter/tensor/dtype.hpp>

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
  CHECK(names == "bool u8 i32 i64 f32 f64 ");
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
