// SPDX-License-Identifier: MIT
// Casts for every pair of dtypes against plain C++, and bitcasts against the bytes of memory.
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/run_graph.hpp"
#include <sinter/graph/bitcast.hpp>
#include <sinter/sinter.hpp>

namespace conversion_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using sn::dtype;

namespace {

// Limits, their neighbours, zeros of both signs, fractions, infinities, NaN: as far as T has them.
template <class T>
std::vector<T> special_values() {
  std::vector<T> out;
  if constexpr (std::is_same_v<T, bool>) {
    out = {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    using limits = std::numeric_limits<T>;
    for (int near = 0; near < 4; ++near) {
      out.push_back(static_cast<T>(limits::min() + static_cast<T>(near)));
      out.push_back(static_cast<T>(limits::max() - static_cast<T>(near)));
      out.push_back(static_cast<T>(near));
      out.push_back(static_cast<T>(-near));
    }
    for (int bit = 0; bit < limits::digits; ++bit) {
      const auto power = static_cast<T>(T{1} << bit);
      out.push_back(power);
      out.push_back(static_cast<T>(power - 1));
      out.push_back(static_cast<T>(power + 1));
      out.push_back(static_cast<T>(T{0} - power));
    }
  } else {
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> numbers{0.0,
                                0.25,
                                0.5,
                                0.99999,
                                1.0,
                                1.5,
                                2.5,
                                1e-3,
                                1e-7,
                                3e-8,
                                6e-8,
                                1e-40,
                                1e-310,
                                0x1p-24,
                                0x1.8p-25,
                                2048,
                                2049,
                                2051,
                                65503,
                                65519.5,
                                65520,
                                1e5,
                                1e10,
                                1e30,
                                3.4e38,
                                1e39,
                                1e300,
                                infinity,
                                0x1.00200000001p0,
                                0x1.01000000001p0};
    for (int bits : {7, 8, 15, 16, 31, 32, 53, 63, 64})
      for (double away : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0})
        numbers.push_back(std::exp2(bits) + away);
    for (double x : numbers) {
      out.push_back(static_cast<T>(x));
      out.push_back(static_cast<T>(-x));
    }
    out.push_back(static_cast<T>(std::numeric_limits<double>::quiet_NaN()));
  }
  return out;
}

// The definition, one case per kind.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (sn::FloatingElement<From> && std::is_integral_v<To>) {
    const auto wide = static_cast<long double>(x);  // 64 bits of precision hold every limit
    if (std::isnan(wide)) return To{0};
    const long double whole = std::trunc(wide);
    if (whole <= static_cast<long double>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (whole >= static_cast<long double>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(whole);
  } else if constexpr (sn::NarrowFloat<From>) {
    return static_cast<To>(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
bool same(T a, T b) {
  if constexpr (sn::FloatingElement<T>)
    if (a != a || b != b) return a != a && b != b;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
std::string text(T x) {
  return std::to_string(static_cast<double>(x));
}

// Runs a graph of one argument on elements of From; gives elements of To.
template <class To, class From>
std::vector<To> run_one(const ir::graph& g, const std::vector<From>& x,
                        const sn::shape_vector& shape, const sn::program_code& code) {
  sn::program p(g, code);
  const auto data = std::make_unique<From[]>(x.size());  // std::vector<bool> has no elements
  for (std::size_t i = 0; i < x.size(); ++i) data[i] = x[i];
  const std::vector<sn::detail::argument_memory> memory{
      {data.get(), shape, sn::row_major_strides(shape), x.size() * sizeof(From)}};
  const std::vector<sn::shape_vector> shapes{shape};
  const std::vector<std::int64_t> symbols = ir::symbol_values(p.traced(), shapes);
  sn::program::prepared_call call = p.prepare(memory, symbols);
  const auto count = static_cast<std::size_t>(sn::element_count(call.output_shape(0)));
  const auto out = std::make_unique<To[]>(count);
  REQUIRE(call.output_type(0) == sn::dtype_of<To>);
  const std::vector<sn::detail::output_memory> results{{out.get(), count * sizeof(To)}};
  p.run(call, memory, results);
  return std::vector<To>(out.get(), out.get() + count);
}

template <class To, class From>
void check_cast(const sn::program_code& code) {
  const std::vector<From> x = special_values<From>();
  const sn::shape_vector shape{static_cast<std::int64_t>(x.size())};
  ir::graph g;
  const ir::value argument = ir::argument(g, sn::dtype_of<From>, 0, {ir::dim(shape[0])});
  g.outputs.push_back({ir::cast(argument, sn::dtype_of<To>).id, -1});
  const std::vector<To> got = run_one<To, From>(g, x, shape, code);
  REQUIRE(got.size() == x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const From from = x[i];
    const To to = got[i], expected = converted<To, From>(from);
    if (!same(to, expected))
      FAIL(sn::name(sn::dtype_of<From>)
           << " " << text(from) << " became " << sn::name(sn::dtype_of<To>) << " " << text(to)
           << " instead of " << text(expected));
  }
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& x) {
  std::vector<std::byte> out;
  for (const T each : x) {
    std::byte one[sizeof(T)];
    std::memcpy(one, &each, sizeof(T));
    out.insert(out.end(), one, one + sizeof(T));
  }
  return out;
}

// 3 rows of 8 elements or more become elements of To; memory must not change.
template <class To, class From>
void check_bitcast(const sn::program_code& code) {
  std::vector<From> x = special_values<From>();
  x.resize(24, From{});
  const sn::shape_vector shape{3, 8};
  ir::graph g;
  const ir::value argument = ir::argument(g, sn::dtype_of<From>, 0, {ir::dim(3), ir::dim(8)});
  const ir::value cast = ir::bitcast(argument, sn::dtype_of<To>);
  REQUIRE(cast.extent(1) == ir::dim(static_cast<std::int64_t>(8 * sizeof(From) / sizeof(To))));
  g.outputs.push_back({cast.id, -1});
  const std::vector<To> got = run_one<To, From>(g, x, shape, code);
  INFO(sn::name(sn::dtype_of<From>) << " as " << sn::name(sn::dtype_of<To>));
  const bool same_bytes = bytes_of(got) == bytes_of(x);
  CHECK(same_bytes);
}

template <class Body>
void for_each_pair(Body&& body) {
  for (int from = 0; from < sn::dtype_count; ++from)
    for (int to = 0; to < sn::dtype_count; ++to)
      sn::dispatch(static_cast<sn::dtype>(from), [&]<class From>(std::type_identity<From>) {
        sn::dispatch(static_cast<sn::dtype>(to), [&]<class To>(std::type_identity<To>) {
          body.template operator()<To, From>();
        });
      });
}

}  // namespace

TEST_CASE("every dtype casts to every other as plain C++ does, special values too") {
  const sn::program_code code = sn::detail::all_code();
  for_each_pair([&]<class To, class From>() { check_cast<To, From>(code); });
}

TEST_CASE("an f64 is rounded once on its way to 16 bits") {
  // 1 + 2^-11 + 2^-40: as f32 it is 1 + 2^-11, the middle between two f16, of which the even is 1.
  const double x = 1 + 0x1p-11 + 0x1p-40;
  sn::tensor<double, 1> in{x, -x};
  const sn::tensor<sn::float16, 1> out = sn::cast<sn::float16>(in);
  CHECK(static_cast<float>(out(0)) == 1 + 0x1p-10f);
  CHECK(static_cast<float>(out(1)) == -1 - 0x1p-10f);
}

TEST_CASE("bitcasts keep the bytes, whatever the two sizes") {
  const sn::program_code code = sn::detail::all_code();
  for_each_pair([&]<class To, class From>() {
    if constexpr (!std::is_same_v<To, bool>) check_bitcast<To, From>(code);
  });
}

TEST_CASE("a bitcast there and back is the identity, NaN included") {
  float nan = 0;
  const std::uint32_t pattern = 0xffc12345u;
  std::memcpy(&nan, &pattern, sizeof nan);
  sn::tensor<float, 1> x{1.5f, -0.0f, nan, std::numeric_limits<float>::infinity()};
  const sn::tensor<std::uint32_t, 1> bits = sn::bitcast<std::uint32_t>(x);
  CHECK(bits(0) == 0x3fc00000u);
  CHECK(bits(1) == 0x80000000u);
  CHECK(bits(2) == pattern);
  const sn::tensor<float, 1> back = sn::bitcast<float>(sn::bitcast<std::uint8_t>(x));
  CHECK(std::memcmp(back.data(), x.data(), 4 * sizeof(float)) == 0);
  // The sign bit cleared by hand is abs.
  const sn::tensor<float, 1> magnitude =
      sn::bitcast<float>(sn::bit_and(sn::bitcast<std::uint32_t>(x), 0x7fffffffu));
  CHECK(magnitude(0) == 1.5f);
  CHECK(!std::signbit(magnitude(1)));
}

TEST_CASE("bitcasts change the last axis as NumPy's view does, also of extents known late") {
  auto bytes = sn::fuse([](sn::handle x) { return sn::bitcast<std::uint8_t>(x); });
  auto halves = sn::fuse([](sn::handle x) { return sn::bitcast<std::uint16_t>(x); });
  sn::tensor<float, 2> x{{1.5f, 2.0f}, {-1.0f, 0.0f}};
  const sn::tensor<std::uint8_t, 2> b = bytes(x);
  CHECK(b ==
        sn::tensor<std::uint8_t, 2>{{0, 0, 192, 63, 0, 0, 0, 64}, {0, 0, 128, 191, 0, 0, 0, 0}});
  CHECK(sn::tensor<std::uint16_t, 2>(halves(b)) ==
        sn::tensor<std::uint16_t, 2>{{0, 0x3fc0, 0, 0x4000}, {0, 0xbf80, 0, 0}});
  const sn::tensor<std::uint8_t, 2> odd{{1, 2, 3}}, empty(sn::shape_vector{2, 0});
  CHECK_THROWS_AS(halves(odd), sn::shape_error);
  CHECK(sn::tensor<std::uint16_t, 2>(halves(empty)).shape() == sn::shape_vector{2, 0});
  // Of one byte, nothing is left to cut.
  const sn::tensor<std::int8_t, 1> signs =
      sn::bitcast<std::int8_t>(sn::tensor<std::uint8_t, 1>{255});
  CHECK(signs(0) == -1);
  const sn::tensor<std::uint8_t, 1> flags =
      sn::bitcast<std::uint8_t>(sn::tensor<bool, 1>{true, false});
  CHECK(flags == sn::tensor<std::uint8_t, 1>{1, 0});
}

TEST_CASE("what cannot be reinterpreted is an error that says why") {
  ir::graph g;
  const ir::value scalar = ir::argument(g, sn::dtype::f32, 0, {}),
                  row = ir::argument(g, sn::dtype::u8, 1, {ir::dim(2), ir::dim(3)});
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const sn::error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  CHECK(message([&] { ir::bitcast(row, sn::dtype::u16); }) ==
        "bitcast(u8[2, 3]): extent 3 is no multiple of 2");
  CHECK(message([&] { ir::bitcast(scalar, sn::dtype::u8); }) ==
        "bitcast(f32[]): rank 0 where rank 1 is expected");
  CHECK(message([&] { ir::bitcast(row, sn::dtype::boolean); }) ==
        "bitcast(u8[2, 3]): not defined for dtype bool");
  CHECK_THROWS_AS(
      ir::append(g, ir::op::bitcast, {scalar.id}, {static_cast<std::int64_t>(sn::dtype::f64)}),
      sn::dtype_error);
  CHECK(ir::bitcast(scalar, sn::dtype::u32).type() == sn::dtype::u32);
}

TEST_CASE("an expression names the dtypes that its functions compute in") {
  // Where attribute values keep the compiler from tracing it, their kernels are made for these.
  const sn::tensor<sn::bfloat16, 1> x(4);
  using bytes = decltype(sn::bitcast<std::uint8_t>(sn::slice(x, 0, 0, 2)));
  static_assert(bytes::has_attributes);
  static_assert((bytes::dtypes & sn::dtype_bits(dtype::u16)) != 0);
  using wide = decltype(sn::cast<float>(sn::cast<double>(sn::slice(x, 0, 0, 2))));
  static_assert(wide::dtypes == sn::dtype_bits(dtype::f32, dtype::f64));
}

}  // namespace conversion_test
