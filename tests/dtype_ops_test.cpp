// SPDX-License-Identifier: MIT
// Every op on every dtype that it takes, against the reference interpreter; the rule of 16-bit
// floats (each op's result is rounded, fused or not); implicit casts.
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "support/run_graph.hpp"
#include <sinter/graph/build.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/sinter.hpp>

namespace dtype_ops_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using ir::reference_tensor;
using sn::dtype;

namespace {

const sn::program_code& shared_code() {
  static const sn::program_code code = sn::detail::all_code();
  return code;
}

// Small numbers, and for integers of up to 32 bits the ends of the range, where arithmetic wraps.
reference_tensor numbers(dtype type, const sn::shape_vector& shape, std::uint64_t seed) {
  reference_tensor out = ir::filled(type, shape, 0);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    const std::uint64_t bits = sn::hash_combine(sn::hash_seed + seed, i);
    const double small = static_cast<double>(bits % 19);
    double& x = out.data[i];
    if (type == dtype::boolean)
      x = static_cast<double>(bits % 2);
    else if (sn::is_floating(type))
      x = (small - 8) * 0.25;
    else
      x = sn::is_signed_integer(type) ? small - 9 : small;
    if (!sn::is_integral(type) || sn::size_of(type) == 8) continue;
    if (bits % 5 == 0) x = ir::lowest_of(type) + static_cast<double>(bits / 5 % 3);
    if (bits % 5 == 1) x = ir::highest_of(type) - static_cast<double>(bits / 5 % 3);
  }
  return out;
}

double tolerance_of(dtype type) {
  return type == dtype::f16      ? 0x1p-10
         : type == dtype::bf16   ? 0x1p-7
         : sn::is_floating(type) ? 1e-6
                                 : 0;
}

void check_against_interpreter(const ir::graph& g, const std::vector<reference_tensor>& arguments,
                               double tolerance) {
  ir::verify(g);
  INFO(ir::to_text(g));
  const auto expected = ir::interpret(g, arguments);
  sn::program p(g, shared_code());
  const auto got = test_support::run(p, arguments);
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    REQUIRE(got[k].type == expected[k].type);
    REQUIRE(got[k].shape == expected[k].shape);
    for (std::size_t i = 0; i < got[k].data.size(); ++i) {
      const double a = got[k].data[i], b = expected[k].data[i];
      const bool close =
          a == b || (a != a && b != b) || std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
      if (!close) FAIL("element " << i << " is " << a << " instead of " << b);
    }
  }
}

void check_elementwise(ir::op code, dtype type) {
  const auto& row = ir::info(code);
  ir::graph g;
  std::vector<reference_tensor> arguments;
  std::vector<int> in;
  for (int i = 0; i < row.arity; ++i) {
    const dtype own = code == ir::op::where && i == 0 ? dtype::boolean : type;
    arguments.push_back(numbers(own, {3, 11}, static_cast<std::uint64_t>(i)));
    // Shift counts and exponents that mean something.
    if (i == 1 && (code == ir::op::shift_left || code == ir::op::shift_right))
      for (double& x : arguments.back().data) x = std::abs(std::fmod(x, 70));
    if (i == 0 && code == ir::op::pow)
      for (double& x : arguments.back().data) x = std::abs(x);
    in.push_back(ir::argument(g, own, i, {ir::dim(3), ir::dim(11)}).id);
  }
  g.outputs.push_back({ir::append(g, code, in), -1});
  check_against_interpreter(g, arguments, tolerance_of(type));
}

bool takes(ir::op code, dtype type) { return ir::accepts_dtype(ir::info(code).accepts, type); }

template <class Body>
void for_each_dtype(Body&& body) {
  for (int i = 0; i < sn::dtype_count; ++i) {
    INFO(sn::name(static_cast<dtype>(i)));
    body(static_cast<dtype>(i));
  }
}

}  // namespace

TEST_CASE("element-wise ops on every dtype they take") {
  for_each_dtype([](dtype type) {
    for (const ir::op_info& row : ir::op_table)
      if (ir::is_elementwise(row.code) && !ir::is_conversion(row.code) &&
          !ir::is_custom(row.code) && takes(row.code, type)) {
        // Integers are compared exactly, and the interpreter knows 64 bits of a u64 as a double.
        if (type == dtype::u64 && (row.code == ir::op::neg || row.code == ir::op::sub)) continue;
        check_elementwise(row.code, type);
      }
  });
}

TEST_CASE("reductions on every dtype they take, over rows and over columns") {
  for_each_dtype([](dtype type) {
    for (ir::op code : {ir::op::reduce_sum, ir::op::reduce_max, ir::op::reduce_min,
                        ir::op::reduce_prod, ir::op::argmax}) {
      if (!takes(code, type)) continue;
      for (std::int64_t axes : {1, 2, 3}) {
        if (type == dtype::i64 || type == dtype::u64)
          if (code == ir::op::reduce_prod) continue;  // beyond 2^53
        ir::graph g;
        const ir::value x = ir::argument(g, type, 0, {ir::dim(5), ir::dim(7)});
        g.outputs.push_back({ir::reduce(code, x, axes).id, -1});
        check_against_interpreter(g, {numbers(type, {5, 7}, 3)}, tolerance_of(type));
      }
    }
  });
}

TEST_CASE("products, movement, gather, scatter_add and cumsum on every dtype") {
  for_each_dtype([](dtype type) {
    ir::graph g;
    const ir::value x = ir::argument(g, type, 0, {ir::dim(6), ir::dim(9)}),
                    y = ir::argument(g, type, 1, {ir::dim(9), ir::dim(4)}),
                    i = ir::argument(g, dtype::i64, 2, {ir::dim(5)});
    const auto give = [&](ir::value v) { g.outputs.push_back({v.id, -1}); };
    give(ir::transpose(x));
    give(ir::pad(x, {1, 0}, {0, 2}, 1));
    give(ir::slice(x, {1, 0}, {6, 9}, {2, 2}));
    give(ir::flip(x, 3));
    const ir::value parts[] = {x, ir::flip(x, 1)};
    give(ir::concat(parts, 1));
    give(ir::gather(x, i, 0));
    const bool number = type != dtype::boolean;
    if (number) give(ir::scatter_add(ir::gather(x, i, 0), i, 0, {ir::dim(6), ir::dim(9)}));
    if (number) give(ir::cumsum(x, 0));
    if (number) give(ir::cumsum(x, 1, true, true));
    if (number) give(ir::matmul(x, y));
    if (number) give(ir::iota(g, type, {ir::dim(3), ir::dim(100)}, 1));
    if (number) give(ir::extent_scalar(g, type, ir::dim(6)));
    check_against_interpreter(g,
                              {numbers(type, {6, 9}, 1), numbers(type, {9, 4}, 2),
                               reference_tensor{dtype::i64, {5}, {5, 0, 2, 2, 1}}},
                              tolerance_of(type) * 4);
  });
}

TEST_CASE("indices may be of any integer dtype") {
  for_each_dtype([](dtype type) {
    ir::graph g;
    const ir::value x = ir::argument(g, dtype::f16, 0, {ir::dim(4), ir::dim(3)}),
                    i = ir::argument(g, type, 1, {ir::dim(3)});
    if (!sn::is_integral(type)) {
      CHECK_THROWS_AS(ir::gather(x, i, 0), sn::dtype_error);
      return;
    }
    g.outputs.push_back({ir::gather(x, i, 0).id, -1});
    const reference_tensor table = numbers(dtype::f16, {4, 3}, 1);
    check_against_interpreter(g, {table, {type, {3}, {3, 0, 3}}}, 0);
    CHECK_THROWS_AS(
        test_support::run(g, std::vector{table, reference_tensor{type, {3}, {3, 4, 3}}}),
        sn::index_error);
  });
}

TEST_CASE("64-bit integers wrap and divide exactly") {
  const std::uint64_t top = ~std::uint64_t{0};
  const sn::tensor<std::uint64_t, 1> a{top, top, 7, 1}, b{2, 10, 0, top};
  CHECK(sn::tensor<std::uint64_t, 1>(a + b) == sn::tensor<std::uint64_t, 1>{1, 9, 7, 0});
  CHECK(sn::tensor<std::uint64_t, 1>(-b) == sn::tensor<std::uint64_t, 1>{top - 1, top - 9, 0, 1});
  CHECK(sn::tensor<std::uint64_t, 1>(a / b) ==
        sn::tensor<std::uint64_t, 1>{top / 2, top / 10, 0, 0});
  CHECK(sn::tensor<std::uint64_t, 1>(sn::mod(a, b)) ==
        sn::tensor<std::uint64_t, 1>{top % 2, top % 10, 0, 1});
  CHECK(sn::tensor<bool, 1>(sn::less(a, b)) == sn::tensor<bool, 1>{false, false, false, true});
  CHECK(sn::tensor<std::uint64_t, 0>(sn::max(a))() == top);
  CHECK(sn::tensor<std::int64_t, 0>(sn::argmin(b))() == 2);
  CHECK(sn::tensor<std::uint64_t, 1>(a >> std::uint64_t{60}) ==
        sn::tensor<std::uint64_t, 1>{15, 15, 0, 0});
  // A literal that no double holds.
  CHECK(sn::tensor<std::uint64_t, 1>(b + (top - 2)) ==
        sn::tensor<std::uint64_t, 1>{top, 7, top - 2, top - 3});
}

TEST_CASE("integers of 8 and 16 bits wrap as NumPy's, and are summed in i64") {
  const sn::tensor<std::int8_t, 1> a{100, -128, -1}, b{100, -1, -128};
  CHECK(sn::tensor<std::int8_t, 1>(a + b) == sn::tensor<std::int8_t, 1>{-56, 127, 127});
  CHECK(sn::tensor<std::int8_t, 1>(a / b) == sn::tensor<std::int8_t, 1>{1, -128, 0});
  CHECK(sn::tensor<std::int8_t, 1>(sn::abs(a)) == sn::tensor<std::int8_t, 1>{100, -128, 1});
  const sn::tensor<std::uint16_t, 1> c{65535, 3};
  CHECK(sn::tensor<std::uint16_t, 1>(c * c) == sn::tensor<std::uint16_t, 1>{1, 9});
  CHECK(sn::tensor<std::int64_t, 0>(sn::sum(c))() == 65538);
  CHECK(sn::tensor<float, 0>(sn::mean(c))() == 32769);
  CHECK(sn::tensor<std::int64_t, 0>(sn::argmin(c))() == 1);
  CHECK(sn::tensor<std::int64_t, 0>(sn::argmin(a))() == 1);
}

TEST_CASE("constants, fills and extents that an integer cannot hold keep their low bits") {
  for (const dtype type : {dtype::u8, dtype::i8, dtype::u16, dtype::i16, dtype::i32, dtype::u32}) {
    INFO(sn::name(type));
    ir::graph g;
    const ir::value x = ir::argument(g, type, 0, {ir::dim(4)});
    for (const double number : {256.0, 300.0, -1.0, 65536.0 + 3, 0x1p32 + 5, 2.75, -2.75})
      g.outputs.push_back({(x + ir::constant(g, type, number)).id, -1});
    g.outputs.push_back({ir::pad(x, {ir::dim(1)}, {ir::dim(0)}, -261).id, -1});
    g.outputs.push_back({(x + ir::extent_scalar(g, type, ir::dim(256))).id, -1});
    check_against_interpreter(g, {reference_tensor{type, {4}, {0, 1, 2, 3}}}, 0);
  }
  const sn::tensor<std::uint8_t, 1> a{0, 250};
  CHECK(sn::tensor<std::uint8_t, 1>(a + 300) == sn::tensor<std::uint8_t, 1>{44, 38});
  auto added = sn::fuse([](auto x, auto s) { return x + s; });
  CHECK(sn::tensor<std::uint8_t, 1>(added(a, 300)) == sn::tensor<std::uint8_t, 1>{44, 38});
}

// ---- 16-bit floats

TEST_CASE("a 16-bit result is rounded by every op, fused or not") {
  auto chain = sn::fuse([](sn::handle x, sn::handle y) { return (x + y) * y - x; });
  auto first = sn::fuse([](sn::handle x, sn::handle y) { return x + y; });
  auto second = sn::fuse([](sn::handle x, sn::handle y) { return x * y; });
  auto third = sn::fuse([](sn::handle x, sn::handle y) { return x - y; });
  const auto check = [&]<class T>(T) {
    sn::tensor<T, 1> x(301), y(301);
    for (int i = 0; i < 301; ++i) {
      x(i) = T(std::sin(static_cast<float>(i)) * 3);
      y(i) = T(1.0f / static_cast<float>(i + 1));
    }
    const sn::tensor<T, 1> fused = chain(x, y);
    const sn::tensor<T, 1> sum = first(x, y), product = second(sum, y), whole = third(product, x);
    int differs_from_f32 = 0;
    for (int i = 0; i < 301; ++i) {
      REQUIRE(fused(i).bits == whole(i).bits);
      const float a = x(i), b = y(i);
      const T stepwise(static_cast<float>(T(static_cast<float>(T(a + b)) * b)) - a);
      REQUIRE(fused(i).bits == stepwise.bits);
      differs_from_f32 += T((a + b) * b - a).bits != fused(i).bits ? 1 : 0;
    }
    CHECK(differs_from_f32 > 0);  // or this test would not see a rounding that is left out
  };
  check(sn::float16{});
  check(sn::bfloat16{});
}

TEST_CASE("16-bit floats go through softmax, norms, means and products in f32") {
  sn::tensor<sn::float16, 2> x(4, 600);
  sn::tensor<float, 2> wide(4, 600);
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 600; ++c) {
      x(r, c) = sn::float16(std::sin(static_cast<float>(r * 600 + c)) * 100 + 200);
      wide(r, c) = x(r, c);
    }
  const auto check = [&](const auto& narrow_result, const auto& wide_result) {
    REQUIRE(narrow_result.shape() == wide_result.shape());
    for (std::int64_t i = 0; i < narrow_result.size(); ++i)
      REQUIRE(narrow_result.data()[i].bits == sn::float16(wide_result.data()[i]).bits);
  };
  using narrow = sn::tensor<sn::float16, 2>;
  using full = sn::tensor<float, 2>;
  check(narrow(sn::softmax(x)), full(sn::softmax(wide)));
  check(narrow(sn::layer_norm(x)), full(sn::layer_norm(wide)));
  check(narrow(sn::matmul(x, sn::transpose(x))), full(sn::matmul(wide, sn::transpose(wide))));
  // Sums of 120 000 exceed what an f16 holds; a mean does not.
  check(narrow(sn::mean(x, 1, true)), full(sn::mean(wide, 1, true)));
  check(narrow(sn::var(x, 1, true)), full(sn::var(wide, 1, true)));
  check(narrow(sn::logsumexp(x, 1, true)), full(sn::logsumexp(wide, 1, true)));
  CHECK(std::isinf(static_cast<float>(sn::tensor<sn::float16, 1>(sn::sum(x, 1))(0))));
}

TEST_CASE("gradients by 16-bit parameters are 16-bit") {
  auto step = sn::fuse([](sn::handle w, sn::handle x) {
    const sn::handle loss = sn::mean(sn::square(sn::matmul(x, w)));
    const auto [dw] = sn::gradients(loss, w);
    return std::tuple{loss, w - dw * 0.5f};
  });
  sn::tensor<sn::bfloat16, 2> w(3, 2), x(8, 3);
  for (int i = 0; i < 6; ++i) w.data()[i] = sn::bfloat16(0.25f * static_cast<float>(i - 2));
  for (int i = 0; i < 24; ++i) x.data()[i] = sn::bfloat16(std::sin(static_cast<float>(i)));
  float first = 0, last = 0;
  for (int i = 0; i < 20; ++i) {
    const auto [loss, next] = step(w, x);
    const sn::tensor<sn::bfloat16, 0> value = loss;
    w = next;
    (i == 0 ? first : last) = value();
  }
  CHECK(last < first * 0.2f);
}

TEST_CASE("scalars and literals meet 16-bit floats in their dtype") {
  const sn::tensor<sn::float16, 1> x{sn::float16(1.0f), sn::float16(3.0f)};
  const sn::tensor<sn::float16, 1> y = x * 0.1f, z = x + sn::float16(2.0f);
  const float tenth = sn::float16(0.1f);
  CHECK(y(1).bits == sn::float16(3 * tenth).bits);
  CHECK(z(0) == sn::float16(3.0f));
  auto scaled = sn::fuse([](sn::handle a, sn::handle s) { return a * s; });
  const sn::tensor<sn::float16, 1> by_argument = scaled(x, 0.1f);
  CHECK(by_argument(1).bits == y(1).bits);
  const sn::tensor<sn::bfloat16, 2> ones = sn::full<sn::bfloat16>(1.5, 2, 2);
  CHECK(ones(1, 1) == sn::bfloat16(1.5f));
}

TEST_CASE("uniform numbers of 16 bits stay below 1") {
  const sn::tensor<sn::bfloat16, 1> u = sn::uniform<sn::bfloat16>(7, 5000);
  double total = 0;
  for (std::int64_t i = 0; i < u.size(); ++i) {
    const float x = u(i);
    REQUIRE((x >= 0 && x < 1));
    total += static_cast<double>(x);
  }
  CHECK(total / 5000 == doctest::Approx(0.5).epsilon(0.03));
}

// ---- implicit casts

TEST_CASE("mixed dtypes are an error, unless implicit casts were asked for") {
  ir::graph g;
  const ir::value a = ir::argument(g, dtype::f32, 0, {ir::dim(3)}),
                  b = ir::argument(g, dtype::i16, 1, {ir::dim(3)}),
                  c = ir::argument(g, dtype::u32, 2, {ir::dim(3)});
  CHECK_THROWS_AS(a + b, sn::dtype_error);
  g.implicit_casts = true;
  CHECK((a + b).type() == dtype::f32);
  CHECK((b + c).type() == dtype::i64);
  CHECK(ir::where(ir::elementwise(ir::op::less, {a, c}), b, c).type() == dtype::i64);
  const ir::value parts[] = {a, c};
  CHECK(ir::concat(parts, 0).type() == dtype::f64);
  g.implicit_casts = false;
  CHECK_THROWS_AS(ir::concat(parts, 0), sn::dtype_error);
}

TEST_CASE("implicit casts compute what explicit ones do") {
  const sn::tensor<float, 2> x{{1.5f, 2.5f}, {-1, 4}};
  const sn::tensor<std::int32_t, 2> n{{16777217, 2}, {3, 4}};
  const sn::tensor<double, 2> mixed =
      sn::implicit_casts([](sn::handle a, sn::handle b) { return sn::matmul(a, b) + a * b; }, x, n);
  const sn::tensor<double, 2> by_hand = sn::matmul(sn::cast<double>(x), sn::cast<double>(n)) +
                                        sn::cast<double>(x) * sn::cast<double>(n);
  CHECK(mixed == by_hand);

  auto f = sn::fuse([](sn::handle a, sn::handle b) {
    const sn::handle inside =
        sn::implicit_casts([](sn::handle p, sn::handle q) { return p * q + 0.5; }, a, b);
    return inside - sn::cast<double>(a);
  });
  const sn::tensor<double, 2> y = f(x, n);
  CHECK(y(0, 0) == 1.5 * 16777217.0 + 0.5 - 1.5);
  const sn::tensor<std::int8_t, 1> small{-3};
  const sn::tensor<std::uint8_t, 1> other{200};
  const sn::tensor<std::int16_t, 1> both =
      sn::implicit_casts([](sn::handle a, sn::handle b) { return a + b; }, small, other);
  CHECK(both(0) == 197);
}

}  // namespace dtype_ops_test
