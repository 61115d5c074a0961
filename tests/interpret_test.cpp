// SPDX-License-Identifier: MIT
// The reference interpreter against values computed by hand: every op, special values, empty
// tensors, rank 0, symbolic extents, and what it refuses.
#include <cmath>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <sinter/graph/build.hpp>
#include <sinter/graph/interpret.hpp>

namespace interpret_test {

using namespace sinter;
using ir::dim;
using ir::op;
using ir::reference_tensor;
using ir::symbolic_shape;
using ir::value;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

using numbers = std::vector<double>;

bool same(double a, double b) { return a == b || (a != a && b != b); }

// Equal to 12 digits; NaN equals NaN.
bool near(const numbers& got, const numbers& expected) {
  bool ok = got.size() == expected.size();
  for (std::size_t i = 0; ok && i < got.size(); ++i)
    ok = same(got[i], expected[i]) ||
         std::fabs(got[i] - expected[i]) <= 1e-12 * std::fmax(1.0, std::fabs(expected[i]));
  if (!ok)
    for (double x : got) MESSAGE(x);
  return ok;
}

reference_tensor tensor_of(const shape_vector& shape, const numbers& data,
                           dtype type = dtype::f32) {
  return {type, shape, data};
}
reference_tensor vector_of(const numbers& data, dtype type = dtype::f32) {
  return tensor_of({static_cast<std::int64_t>(data.size())}, data, type);
}

// Builds a graph over constant shapes with `build(arguments as values)` and returns its one result.
template <class Build>
reference_tensor evaluate(const std::vector<reference_tensor>& arguments, Build&& build) {
  ir::graph g;
  std::vector<value> in;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const symbolic_shape shape(arguments[k].shape.begin(), arguments[k].shape.end());
    in.push_back(ir::argument(g, arguments[k].type, static_cast<int>(k), shape));
  }
  g.outputs = {{build(in).id, -1}};
  return ir::interpret(g, arguments)[0];
}

numbers of_one(op code, const numbers& x, dtype type = dtype::f32) {
  return evaluate({vector_of(x, type)}, [&](auto& in) { return ir::unary(code, in[0]); }).data;
}
numbers of_two(op code, const numbers& x, const numbers& y, dtype type = dtype::f32) {
  return evaluate({vector_of(x, type), vector_of(y, type)},
                  [&](auto& in) {
                    return ir::elementwise(code, {in[0], in[1]});
                  })
      .data;
}
numbers converted(const numbers& x, dtype from, dtype to) {
  return evaluate({vector_of(x, from)}, [&](auto& in) { return ir::cast(in[0], to); }).data;
}
// Over the last axis of a matrix with 2 rows, or of whatever `shape` says.
reference_tensor reduced(op code, const reference_tensor& x, std::int64_t axes) {
  return evaluate({x}, [&](auto& in) { return ir::reduce(code, in[0], axes); });
}

template <class Error, class Run>
std::string message_of(Run&& run) {
  try {
    run();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("element-wise ops with one operand") {
  CHECK(near(of_one(op::neg, {1, -2, 0}), {-1, 2, 0}));
  CHECK(near(of_one(op::abs, {1, -2, -infinity, not_a_number}), {1, 2, infinity, not_a_number}));
  CHECK(
      near(of_one(op::sign, {3, -0.5, 0, not_a_number, -infinity}), {1, -1, 0, not_a_number, -1}));
  CHECK(near(of_one(op::floor, {1.5, -1.5, infinity}), {1, -2, infinity}));
  CHECK(near(of_one(op::ceil, {1.5, -1.5}), {2, -1}));
  CHECK(near(of_one(op::round, {0.5, 1.5, 2.5, -0.5, -1.5, 2.4}), {0, 2, 2, 0, -2, 2}));
  CHECK(near(of_one(op::sqrt, {4, 0, -1}), {2, 0, not_a_number}));
  CHECK(near(of_one(op::rsqrt, {4, 0, infinity}), {0.5, infinity, 0}));
  CHECK(near(of_one(op::recip, {4, 0, infinity}), {0.25, infinity, 0}));
  CHECK(near(of_one(op::exp, {0, 1, -infinity, 1000}), {1, 2.718281828459045, 0, infinity}));
  CHECK(near(of_one(op::exp2, {3, -1}), {8, 0.5}));
  CHECK(near(of_one(op::log, {1, 0, -1, 10}), {0, -infinity, not_a_number, 2.302585092994046}));
  CHECK(near(of_one(op::log2, {8, 0.5}), {3, -1}));
  CHECK(near(of_one(op::sin, {0, 0.5235987755982989}), {0, 0.5}));
  CHECK(near(of_one(op::cos, {0, 1.0471975511965979}), {1, 0.5}));
  CHECK(near(of_one(op::tanh, {0, infinity, 0.5493061443340549}), {0, 1, 0.5}));
  CHECK(near(of_one(op::erf, {0, infinity, 1}), {0, 1, 0.8427007929497149}));
  CHECK(near(of_one(op::sigmoid, {0, infinity, -infinity, 1}), {0.5, 1, 0, 0.7310585786300049}));
  CHECK(near(of_one(op::relu, {2, -2, not_a_number}), {2, 0, not_a_number}));
  CHECK(near(of_one(op::gelu, {0, 1, -1}), {0, 0.8413447460685429, -0.15865525393145707}));
  CHECK(near(of_one(op::gelu_tanh, {0, 1}), {0, 0.8411919906082768}));
  CHECK(near(of_one(op::silu, {0, 1}), {0, 0.7310585786300049}));
  CHECK(near(of_one(op::softplus, {0, 1000, -1000}), {0.6931471805599453, 1000, 0}));
  CHECK(near(of_one(op::stop_gradient, {3, not_a_number}), {3, not_a_number}));
  CHECK(near(of_one(op::logical_not, {0, 1}, dtype::boolean), {1, 0}));
}

TEST_CASE("element-wise ops with two operands") {
  CHECK(near(of_two(op::add, {1, infinity}, {2, -infinity}), {3, not_a_number}));
  CHECK(near(of_two(op::sub, {1, 5}, {2, 7}), {-1, -2}));
  CHECK(near(of_two(op::mul, {3, 0}, {4, infinity}), {12, not_a_number}));
  CHECK(near(of_two(op::div, {1, 1, -1, 0}, {4, 0, 0, 0}),
             {0.25, infinity, -infinity, not_a_number}));
  CHECK(near(of_two(op::floor_divide, {7, -7, 7, -7, 1}, {2, 2, -2, -2, infinity}),
             {3, -4, -4, 3, 0}));
  CHECK(near(of_two(op::mod, {7, -7, 7, -7, 5.5}, {3, 3, -3, -3, 2}), {1, 2, -2, -1, 1.5}));
  CHECK(near(of_two(op::pow, {2, 9, 0, -8}, {10, 0.5, 0, 1.0 / 3}), {1024, 3, 1, not_a_number}));
  CHECK(near(of_two(op::maximum, {1, not_a_number, 2, -infinity}, {3, 1, not_a_number, -5}),
             {3, not_a_number, not_a_number, -5}));
  CHECK(near(of_two(op::minimum, {1, not_a_number, 2}, {3, 1, not_a_number}),
             {1, not_a_number, not_a_number}));
  CHECK(near(of_two(op::less, {1, 2, not_a_number}, {2, 2, 1}), {1, 0, 0}));
  CHECK(near(of_two(op::less_equal, {1, 2, not_a_number}, {2, 2, 1}), {1, 1, 0}));
  CHECK(
      near(of_two(op::equal, {1, 2, not_a_number, 0.0}, {2, 2, not_a_number, -0.0}), {0, 1, 0, 1}));
  CHECK(near(of_two(op::not_equal, {1, 2, not_a_number}, {2, 2, not_a_number}), {1, 0, 1}));
  CHECK(near(of_two(op::bit_xor, {0, 0, 1, 1}, {0, 1, 0, 1}, dtype::boolean), {0, 1, 1, 0}));
}

TEST_CASE(
    "0.3 // 0.1 is 2: the quotient must belong to the remainder, not to the rounded division") {
  CHECK(of_two(op::floor_divide, {0.3}, {0.1}, dtype::f64) == numbers{2});
  CHECK(std::signbit(of_two(op::mod, {-4}, {2}, dtype::f64)[0]) == false);
}

TEST_CASE("three operands") {
  const auto c = vector_of({1, 0, 1}, dtype::boolean), a = vector_of({1, 2, not_a_number}),
             b = vector_of({4, not_a_number, 6});
  CHECK(near(evaluate({c, a, b}, [](auto& in) { return ir::where(in[0], in[1], in[2]); }).data,
             {1, not_a_number, not_a_number}));
  CHECK(near(evaluate({a, b},
                      [](auto& in) {
                        return ir::elementwise(op::multiply_add, {in[0], in[0], in[1]});
                      })
                 .data,
             {5, not_a_number, not_a_number}));
}

TEST_CASE("multiply_add rounds once") {
  const double x = 1 + 0x1p-52;
  const auto made =
      evaluate({vector_of({x}, dtype::f64), vector_of({-1 - 0x1p-51}, dtype::f64)}, [](auto& in) {
        return ir::elementwise(op::multiply_add, {in[0], in[0], in[1]});
      });
  CHECK(made.data == numbers{0x1p-104});
}

TEST_CASE("integers wrap in their own dtype") {
  CHECK(of_two(op::add, {250}, {10}, dtype::u8) == numbers{4});
  CHECK(of_two(op::sub, {3}, {5}, dtype::u8) == numbers{254});
  CHECK(of_two(op::mul, {65536}, {65536}, dtype::i32) == numbers{0});
  CHECK(of_two(op::add, {2147483647}, {1}, dtype::i32) == numbers{-2147483648.0});
  CHECK(of_one(op::neg, {-2147483648.0, 5}, dtype::i32) == numbers{-2147483648.0, -5});
  CHECK(of_one(op::abs, {-2147483648.0, -5}, dtype::i32) == numbers{-2147483648.0, 5});
  CHECK(of_one(op::neg, {1}, dtype::u8) == numbers{255});
  CHECK(of_one(op::sign, {-7, 0, 9}, dtype::i64) == numbers{-1, 0, 1});
  CHECK(of_one(op::floor, {-7}, dtype::i32) == numbers{-7});
}

TEST_CASE("division of integers") {
  CHECK(of_two(op::div, {7, -7, 7, -7, 5}, {2, 2, -2, -2, 0}, dtype::i32) ==
        numbers{3, -3, -3, 3, 0});
  CHECK(of_two(op::floor_divide, {7, -7, 7, -7, 5}, {2, 2, -2, -2, 0}, dtype::i32) ==
        numbers{3, -4, -4, 3, 0});
  CHECK(of_two(op::mod, {7, -7, 7, -7, 5}, {3, 3, -3, -3, 0}, dtype::i32) ==
        numbers{1, 2, -2, -1, 0});
  CHECK(of_two(op::div, {-2147483648.0}, {-1}, dtype::i32) == numbers{-2147483648.0});
  CHECK(of_two(op::mod, {-2147483648.0}, {-1}, dtype::i32) == numbers{0});
}

TEST_CASE("bits and shifts") {
  CHECK(of_two(op::bit_and, {12, -1}, {10, 7}, dtype::i32) == numbers{8, 7});
  CHECK(of_two(op::bit_or, {12}, {10}, dtype::u8) == numbers{14});
  CHECK(of_two(op::bit_xor, {12}, {10}, dtype::i64) == numbers{6});
  CHECK(of_two(op::shift_left, {1, 1, 1}, {4, 8, 100}, dtype::u8) == numbers{16, 0, 0});
  CHECK(of_two(op::shift_left, {1}, {31}, dtype::i32) == numbers{-2147483648.0});
  CHECK(of_two(op::shift_right, {-8, -8, 8, -8}, {1, 40, 40, -1}, dtype::i32) ==
        numbers{-4, -1, 0, -1});
  CHECK(of_two(op::shift_right, {200}, {1}, dtype::u8) == numbers{100});
}

TEST_CASE("casts: truncate and saturate from floats, wrap between integers, x != 0 to bool") {
  CHECK(converted({1.9, -1.9, not_a_number, infinity, -1e20}, dtype::f32, dtype::i32) ==
        numbers{1, -1, 0, 2147483647, -2147483648.0});
  CHECK(converted({-5, 300, 7.9}, dtype::f32, dtype::u8) == numbers{0, 255, 7});
  CHECK(converted({300, -1}, dtype::i32, dtype::u8) == numbers{44, 255});
  CHECK(converted({4294967297.0}, dtype::i64, dtype::i32) == numbers{1});
  CHECK(converted({0, -0.0, 0.5, not_a_number}, dtype::f32, dtype::boolean) == numbers{0, 0, 1, 1});
  CHECK(converted({0, 1}, dtype::boolean, dtype::f32) == numbers{0, 1});
  CHECK(converted({infinity}, dtype::f64, dtype::i64) ==
        numbers{0x1p63});  // as near as a double comes to 2^63 - 1
}

TEST_CASE("a constant is what its dtype holds; other f32 values are not rounded") {
  ir::graph g;
  g.outputs = {{ir::constant(g, dtype::f32, 0.1).id, -1},
               {ir::constant(g, dtype::f64, 0.1).id, -1},
               {ir::constant(g, dtype::i64, 1 << 20).id, -1},
               {ir::constant(g, dtype::boolean, 1).id, -1}};
  const auto made = ir::interpret(g, {});
  CHECK(made[0].data == numbers{static_cast<double>(0.1f)});
  CHECK(made[1].data == numbers{0.1});
  CHECK(made[2].data == numbers{1 << 20});
  CHECK(made[3].data == numbers{1});
  CHECK(of_two(op::add, {0.1}, {0.2}) == numbers{0.1 + 0.2});
}

TEST_CASE("reductions keep their axes") {
  const auto x = tensor_of({2, 3}, {1, 5, 3, -4, 0, -6});
  CHECK(reduced(op::reduce_sum, x, 2) == tensor_of({2, 1}, {9, -10}));
  CHECK(reduced(op::reduce_sum, x, 1) == tensor_of({1, 3}, {-3, 5, -3}));
  CHECK(reduced(op::reduce_sum, x, 3) == tensor_of({1, 1}, {-1}));
  CHECK(reduced(op::reduce_max, x, 2) == tensor_of({2, 1}, {5, 0}));
  CHECK(reduced(op::reduce_min, x, 2) == tensor_of({2, 1}, {1, -6}));
  CHECK(reduced(op::reduce_prod, x, 2) == tensor_of({2, 1}, {15, 0}));
  CHECK(reduced(op::argmax, x, 2) == tensor_of({2, 1}, {1, 1}, dtype::i64));
  CHECK(reduced(op::argmax, x, 3) == tensor_of({1, 1}, {1}, dtype::i64));
  const auto middle = tensor_of({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(reduced(op::reduce_sum, middle, 0b010) == tensor_of({2, 1, 2}, {4, 6, 12, 14}));
  CHECK(reduced(op::reduce_sum, middle, 0b101) ==
        tensor_of({1, 2, 1}, {1 + 2 + 5 + 6, 3 + 4 + 7 + 8}));
}

TEST_CASE("reductions: NaN wins, the first of equals is the argmax, integers wrap") {
  CHECK(near(reduced(op::reduce_max, vector_of({1, not_a_number, 3}), 1).data, {not_a_number}));
  CHECK(near(reduced(op::reduce_min, vector_of({1, not_a_number, 3}), 1).data, {not_a_number}));
  CHECK(reduced(op::argmax, vector_of({1, not_a_number, 9, not_a_number}), 1).data == numbers{1});
  CHECK(reduced(op::argmax, vector_of({4, 7, 7}), 1).data == numbers{1});
  CHECK(reduced(op::argmax, vector_of({-infinity, -infinity}), 1).data == numbers{0});
  CHECK(reduced(op::reduce_sum, vector_of({200, 100}, dtype::u8), 1).data == numbers{44});
  CHECK(reduced(op::reduce_prod, vector_of({65536, 65537}, dtype::i32), 1).data == numbers{65536});
}

TEST_CASE("reductions over an empty axis give the neutral element") {
  const auto none = tensor_of({2, 0}, {});
  CHECK(reduced(op::reduce_sum, none, 2).data == numbers{0, 0});
  CHECK(reduced(op::reduce_prod, none, 2).data == numbers{1, 1});
  CHECK(reduced(op::reduce_max, none, 2).data == numbers{-infinity, -infinity});
  CHECK(reduced(op::reduce_min, none, 2).data == numbers{infinity, infinity});
  CHECK(reduced(op::argmax, none, 2).data == numbers{0, 0});
  CHECK(reduced(op::reduce_max, tensor_of({0}, {}, dtype::i32), 1).data == numbers{-2147483648.0});
  CHECK(reduced(op::reduce_min, tensor_of({0}, {}, dtype::u8), 1).data == numbers{255});
  CHECK(reduced(op::reduce_sum, none, 1) == tensor_of({1, 0}, {}));
}

TEST_CASE("movement") {
  const auto x = tensor_of({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto of_x = [&](auto&& build) {
    return evaluate({x}, [&](auto& in) { return build(in[0]); });
  };
  CHECK(of_x([](value v) { return ir::reshape(v, {3, 2}); }) == tensor_of({3, 2}, x.data));
  CHECK(of_x([](value v) { return ir::transpose(v); }) == tensor_of({3, 2}, {1, 4, 2, 5, 3, 6}));
  CHECK(of_x([](value v) {
          return ir::broadcast_to(v, {2, 2, 3});
        }) == tensor_of({2, 2, 3}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  CHECK(of_x([](value v) {
          return ir::pad(v, {0, 1}, {1, 0}, 9);
        }) == tensor_of({3, 4}, {9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9}));
  CHECK(of_x([](value v) {
          return ir::slice(v, {1, 0}, {2, 3}, {1, 2});
        }) == tensor_of({1, 2}, {4, 6}));
  CHECK(of_x([](value v) {
          return ir::slice(v, {1, 0}, {1, 3}, {1, 1});
        }) == tensor_of({0, 3}, {}));
  CHECK(of_x([](value v) { return ir::flip(v, 2); }) == tensor_of({2, 3}, {3, 2, 1, 6, 5, 4}));
  CHECK(of_x([](value v) { return ir::flip(v, 3); }) == tensor_of({2, 3}, {6, 5, 4, 3, 2, 1}));
  const auto joined = [&](int axis) {
    return of_x([&](value v) {
      const value parts[] = {v, v};
      return ir::concat(parts, axis);
    });
  };
  CHECK(joined(0) == tensor_of({4, 3}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  CHECK(joined(1) == tensor_of({2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  const auto cube = tensor_of({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const std::int64_t axes[] = {2, 0, 1};
  CHECK(evaluate({cube}, [&](auto& in) { return ir::permute(in[0], axes); }) ==
        tensor_of({3, 2, 1}, {1, 4, 2, 5, 3, 6}));
}

TEST_CASE("sum_to as a node: over leading axes and over axes of extent 1") {
  const auto x = tensor_of({2, 2, 3}, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60});
  const auto summed = [&](const symbolic_shape& shape) {
    return evaluate({x}, [&](auto& in) {
      return value{in[0].owner, ir::append(*in[0].owner, op::sum_to, {in[0].id}, {}, shape)};
    });
  };
  CHECK(summed({2, 3}) == tensor_of({2, 3}, {11, 22, 33, 44, 55, 66}));
  CHECK(summed({2, 1}) == tensor_of({2, 1}, {66, 165}));
  CHECK(summed({2, 1, 1}) == tensor_of({2, 1, 1}, {21, 210}));
  CHECK(summed({}) == tensor_of({}, {231}));
  CHECK(contains(message_of<shape_error>([&] { summed({5, 3}); }), "sum_to([2, 2, 3])"));
}

TEST_CASE("matmul: transposed, batched, integer, and over an empty inner axis") {
  const auto a = tensor_of({2, 3}, {1, 2, 3, 4, 5, 6}),
             b = tensor_of({3, 2}, {7, 8, 9, 10, 11, 12});
  const auto product = [](const reference_tensor& x, const reference_tensor& y, bool tx, bool ty) {
    return evaluate({x, y}, [&](auto& in) { return ir::matmul(in[0], in[1], tx, ty); });
  };
  const auto expected = tensor_of({2, 2}, {58, 64, 139, 154});
  CHECK(product(a, b, false, false) == expected);
  CHECK(product(tensor_of({3, 2}, {1, 4, 2, 5, 3, 6}), b, true, false) == expected);
  CHECK(product(a, tensor_of({2, 3}, {7, 9, 11, 8, 10, 12}), false, true) == expected);
  CHECK(product(tensor_of({2, 1, 2}, {1, 2, 3, 4}), tensor_of({2, 2, 1}, {5, 6, 7, 8}), false,
                false) == tensor_of({2, 1, 1}, {17, 53}));
  CHECK(product(tensor_of({1, 2}, {100, 100}, dtype::u8), tensor_of({2, 1}, {2, 2}, dtype::u8),
                false, false)
            .data == numbers{400 - 256});
  CHECK(product(tensor_of({2, 0}, {}), tensor_of({0, 2}, {}), false, false) ==
        tensor_of({2, 2}, {0, 0, 0, 0}));
}

TEST_CASE("gather and scatter_add") {
  const auto x = tensor_of({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto gathered = [&](const reference_tensor& indices, int axis) {
    return evaluate({x, indices}, [&](auto& in) { return ir::gather(in[0], in[1], axis); });
  };
  CHECK(gathered(vector_of({2, 0}, dtype::i32), 0) == tensor_of({2, 2}, {5, 6, 1, 2}));
  CHECK(gathered(vector_of({1, 1, 0}, dtype::u8), 1) ==
        tensor_of({3, 3}, {2, 2, 1, 4, 4, 3, 6, 6, 5}));
  CHECK(gathered(tensor_of({}, {1}, dtype::i64), 0) == tensor_of({2}, {3, 4}));
  CHECK(gathered(tensor_of({1, 2}, {0, 2}, dtype::i64), 0) == tensor_of({1, 2, 2}, {1, 2, 5, 6}));
  CHECK(gathered(tensor_of({0}, {}, dtype::i64), 0) == tensor_of({0, 2}, {}));
  CHECK(contains(message_of<index_error>([&] {
                   gathered(vector_of({0, 3}, dtype::i32), 0);
                 }),
                 "gather: index 3 is outside of extent 3"));
  CHECK(contains(message_of<index_error>([&] { gathered(vector_of({-1}, dtype::i32), 1); }),
                 "gather: index -1 is outside of extent 2"));

  const auto scattered = [&](const reference_tensor& indices, int axis,
                             const symbolic_shape& shape) {
    return evaluate({x, indices},
                    [&](auto& in) { return ir::scatter_add(in[0], in[1], axis, shape); });
  };
  CHECK(scattered(vector_of({1, 3, 1}, dtype::i32), 0, {4, 2}) ==
        tensor_of({4, 2}, {0, 0, 6, 8, 0, 0, 3, 4}));
  CHECK(scattered(vector_of({0, 0}, dtype::i32), 1, {3, 3}) ==
        tensor_of({3, 3}, {3, 0, 0, 7, 0, 0, 11, 0, 0}));
  CHECK(scattered(tensor_of({3, 2}, {0, 1, 1, 0, 0, 0}, dtype::i32), 0, {2}) ==
        tensor_of({2}, {1 + 4 + 5 + 6, 2 + 3}));
  CHECK(contains(message_of<index_error>([&] {
                   scattered(vector_of({0, 9, 1}, dtype::i32), 0, {4, 2});
                 }),
                 "scatter_add: index 9 is outside of extent 4"));
  CHECK(contains(message_of<shape_error>([&] {
                   scattered(vector_of({0, 1}, dtype::i32), 0, {4, 2});
                 }),
                 "scatter_add"));
}

TEST_CASE("cumsum") {
  const auto x = tensor_of({2, 3}, {1, 2, 4, 8, 16, 32});
  const auto summed = [&](int axis, bool exclusive, bool reverse) {
    return evaluate({x}, [&](auto& in) { return ir::cumsum(in[0], axis, exclusive, reverse); });
  };
  CHECK(summed(0, false, false) == tensor_of({2, 3}, {1, 2, 4, 9, 18, 36}));
  CHECK(summed(1, false, false) == tensor_of({2, 3}, {1, 3, 7, 8, 24, 56}));
  CHECK(summed(1, true, false) == tensor_of({2, 3}, {0, 1, 3, 0, 8, 24}));
  CHECK(summed(1, false, true) == tensor_of({2, 3}, {7, 6, 4, 56, 48, 32}));
  CHECK(summed(0, true, true) == tensor_of({2, 3}, {8, 16, 32, 0, 0, 0}));
  CHECK(evaluate({vector_of({200, 100, 7}, dtype::u8)}, [&](auto& in) {
          return ir::cumsum(in[0], 0);
        }) == vector_of({200, 300 - 256, 307 - 256}, dtype::u8));
}

TEST_CASE("composites") {
  const auto x = tensor_of({2, 2}, {0, 0, 0, std::log(3)});
  const auto made = [&](op code, std::initializer_list<std::int64_t> attributes) {
    return evaluate(
               {x},
               [&](auto& in) {
                 return value{in[0].owner, ir::append(*in[0].owner, code, {in[0].id}, attributes)};
               })
        .data;
  };
  CHECK(near(made(op::softmax, {2}), {0.5, 0.5, 0.25, 0.75}));
  CHECK(near(made(op::softmax, {1}), {0.5, 0.25, 0.5, 0.75}));
  CHECK(
      near(made(op::log_softmax, {2}), {-std::log(2), -std::log(2), -std::log(4), std::log(0.75)}));
  const auto rows = tensor_of({1, 4}, {1, 2, 3, 6});
  const auto norm = [&](op code, double eps) {
    return evaluate({rows},
                    [&](auto& in) {
                      return value{in[0].owner, ir::append(*in[0].owner, code, {in[0].id},
                                                           {2, ir::bits_of(eps)})};
                    })
        .data;
  };
  CHECK(near(norm(op::layer_norm, 0.5),
             {-2 / 2.0, -1 / 2.0, 0, 3 / 2.0}));  // variance 14/4 + 1/2 = 4
  CHECK(near(norm(op::rms_norm, 3.5), {1 / 4.0, 2 / 4.0, 3 / 4.0, 6 / 4.0}));  // 50/4 + 7/2 = 16
  const auto loss = evaluate({x, vector_of({1, 0}, dtype::u8)}, [](auto& in) {
    return value{in[0].owner, ir::append(*in[0].owner, op::cross_entropy, {in[0].id, in[1].id})};
  });
  CHECK(loss.shape == shape_vector{2});
  CHECK(near(loss.data, {std::log(2), std::log(4)}));
}

TEST_CASE("softmax of large logits does not overflow, and NaN stays in its row") {
  const auto x = tensor_of({2, 2}, {1000, 1000, not_a_number, 0});
  const auto made = evaluate({x}, [](auto& in) {
    return value{in[0].owner, ir::append(*in[0].owner, op::softmax, {in[0].id}, {2})};
  });
  CHECK(near(made.data, {0.5, 0.5, not_a_number, not_a_number}));
}

TEST_CASE("leaves: iota, extent, random") {
  ir::graph g;
  g.symbol_values = {3};
  const dim s = g.dims.symbol(0);
  const value x = ir::argument(g, dtype::f32, 0, {s});
  const value key = ir::constant(g, dtype::i64, 5);
  const dim shape[] = {s, dim(2)};
  const std::int64_t narrow[] = {static_cast<std::int64_t>(dtype::f32), 1},
                     wide[] = {static_cast<std::int64_t>(dtype::f64), 1};
  const int key_input[] = {key.id};
  g.outputs = {{ir::iota(g, dtype::i32, {s, 2}, 0).id, -1},
               {ir::iota(g, dtype::f32, {s, 2}, 1).id, -1},
               {ir::extent_scalar(g, dtype::i64, g.dims.add(g.dims.mul(s, dim(2)), dim(1))).id, -1},
               {ir::append(g, op::random_uniform, key_input, narrow, shape), -1},
               {ir::append(g, op::random_uniform, key_input, wide, shape), -1},
               {x.id, -1}};
  const reference_tensor given[] = {vector_of({7, 8, 9})};
  const auto made = ir::interpret(g, given);
  CHECK(made[0] == tensor_of({3, 2}, {0, 0, 1, 1, 2, 2}, dtype::i32));
  CHECK(made[1] == tensor_of({3, 2}, {0, 1, 0, 1, 0, 1}));
  CHECK(made[2] == tensor_of({}, {7}, dtype::i64));
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(made[3].data[i] == ir::uniform(5, 1, static_cast<std::int64_t>(i), false));
    CHECK(made[4].data[i] == ir::uniform(5, 1, static_cast<std::int64_t>(i), true));
  }
  CHECK(made[5] == given[0]);
}

TEST_CASE("rank 0 and empty tensors") {
  CHECK(evaluate({tensor_of({}, {3}), tensor_of({2}, {1, 2})},
                 [](auto& in) { return in[0] * in[1]; }) == tensor_of({2}, {3, 6}));
  CHECK(evaluate({tensor_of({}, {3})}, [](auto& in) { return in[0] + 1.0; }) == tensor_of({}, {4}));
  CHECK(evaluate({tensor_of({}, {3})}, [](auto& in) { return ir::sum(in[0], 0); }) ==
        tensor_of({}, {3}));
  CHECK(evaluate({tensor_of({0, 3}, {}), tensor_of({3}, {1, 2, 3})},
                 [](auto& in) { return in[0] + in[1]; }) == tensor_of({0, 3}, {}));
  CHECK(evaluate({tensor_of({0}, {})}, [](auto& in) { return ir::sum(in[0], 1, false); }) ==
        tensor_of({}, {0}));
  CHECK(evaluate({tensor_of({0, 3}, {})}, [](auto& in) { return ir::transpose(in[0]); }) ==
        tensor_of({3, 0}, {}));
}

TEST_CASE("a traced graph takes its extents from the arguments: broadcasting or not") {
  ir::graph g;
  const value x = ir::argument(g, dtype::f32, 0, {g.dims.symbol(0), g.dims.symbol(1)}),
              y = ir::argument(g, dtype::f32, 1, {g.dims.symbol(2)});
  const value z = x + y;
  g.outputs = {{z.id, -1}, {ir::sum_to(z * z, y.shape()).id, -1}};
  const auto at = [&](const reference_tensor& a, const reference_tensor& b) {
    const reference_tensor given[] = {a, b};
    return ir::interpret(g, given);
  };
  const auto full = at(tensor_of({2, 2}, {1, 2, 3, 4}), vector_of({10, 20}));
  CHECK(full[0] == tensor_of({2, 2}, {11, 22, 13, 24}));
  CHECK(full[1] == vector_of({121 + 169, 484 + 576}));
  const auto one = at(tensor_of({2, 2}, {1, 2, 3, 4}), vector_of({10}));
  CHECK(one[0] == tensor_of({2, 2}, {11, 12, 13, 14}));
  CHECK(one[1] == vector_of({121 + 144 + 169 + 196}));
  const auto wide = at(tensor_of({2, 1}, {1, 2}), vector_of({10, 20, 30}));
  CHECK(wide[0] == tensor_of({2, 3}, {11, 21, 31, 12, 22, 32}));
  CHECK(contains(message_of<shape_error>([&] {
                   at(tensor_of({2, 2}, {1, 2, 3, 4}), vector_of({1, 2, 3}));
                 }),
                 "broadcast_to"));
}

TEST_CASE("arguments that do not fit are refused with their number") {
  ir::graph g;
  const dim s = g.dims.symbol(0);
  const value x = ir::argument(g, dtype::f32, 0, {s, 2}), y = ir::argument(g, dtype::f32, 1, {s});
  g.outputs = {{x.id, -1}, {y.id, -1}};
  const auto run = [&](std::vector<reference_tensor> given) { ir::interpret(g, given); };
  const auto good = tensor_of({2, 2}, {1, 2, 3, 4});
  CHECK(contains(message_of<graph_error>([&] { run({good}); }),
                 "argument 1 is missing: 1 were given"));
  CHECK(contains(message_of<dtype_error>([&] {
                   run({good, vector_of({1, 2}, dtype::f64)});
                 }),
                 "argument 1 has dtype f64, the graph expects f32"));
  CHECK(contains(message_of<shape_error>([&] {
                   run({good, vector_of({1, 2, 3})});
                 }),
                 "argument 1 has shape [3], the graph expects [s0]"));
  CHECK(contains(message_of<shape_error>([&] {
                   run({tensor_of({1, 3}, {1, 2, 3}), vector_of({1})});
                 }),
                 "argument 0 has shape [1, 3], the graph expects [s0, 2]"));
  CHECK(contains(message_of<shape_error>([&] {
                   run({vector_of({1, 2}), vector_of({1})});
                 }),
                 "argument 0"));
  CHECK(contains(message_of<shape_error>([&] {
                   run({tensor_of({2, 2}, {1, 2}), vector_of({1, 2})});
                 }),
                 "holds 2 elements"));
  CHECK_NOTHROW(run({good, vector_of({1, 2})}));
}

TEST_CASE("interpret evaluates what outputs need; interpret_all everything but gradients") {
  ir::graph g;
  const value x = ir::argument(g, dtype::f32, 0, {2});
  const value loss = ir::sum(x * x, 1, false);
  const value d{&g, ir::append(g, op::gradient, {loss.id, x.id})};
  const value step = x - d;
  g.outputs = {{loss.id, -1}};
  const reference_tensor given[] = {vector_of({3, 4})};
  CHECK(ir::interpret(g, given)[0].data == numbers{25});
  const auto all = ir::interpret_all(g, given);
  CHECK(all[static_cast<std::size_t>(loss.id)].data == numbers{25});
  CHECK(all[static_cast<std::size_t>(d.id)].data.empty());
  CHECK(all[static_cast<std::size_t>(step.id)].data.empty());
  g.outputs = {{step.id, -1}};
  CHECK_THROWS_AS(ir::interpret(g, given), graph_error);
}

}  // namespace interpret_test
