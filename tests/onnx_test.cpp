// SPDX-License-Identifier: MIT
// component: onnx
// Models of ONNX: symbolic dimensions and shapes that are computed, names and ranges, differences
// between operator sets, what is refused and how it is named.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/onnx_model.hpp"
#include "support/temporary_file.hpp"
#include <sinter/onnx/load.hpp>
#include <sinter/sinter.hpp>

namespace onnx_test {

namespace sn = sinter;
using sn::any_tensor;
using sn::dtype;
using test_support::onnx_model;
using test_support::temporary_file;
using matrix = sn::tensor<float, 2>;
using integers = sn::tensor<std::int64_t, 1>;

namespace {

sn::onnx::model load(const onnx_model& m, const sn::onnx::load_options& options = {},
                     std::int64_t opset = 13) {
  const temporary_file file;
  file.write(m.bytes(opset));
  return sn::onnx::load(file.path, options);
}

template <class Error>
std::string message_of(const onnx_model& m, const sn::onnx::load_options& options = {},
                       std::int64_t opset = 13) {
  try {
    load(m, options, opset);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

matrix counted(std::int64_t rows, std::int64_t columns) {
  matrix out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.data()[i] = 0.125f * static_cast<float>((i * 7) % 11 - 5);
  return out;
}

any_tensor scalar(float x) { return sn::tensor<float, 0>(x); }

// x * 1 with an operator in between: y = op(x).
onnx_model of_one(const std::string& op, const std::vector<std::string>& inputs,
                  const onnx_model::attributes& attributes = {}) {
  onnx_model m;
  m.input("x", dtype::f32, {"rows", 3});
  m.node(op, inputs, {"y"}, attributes);
  m.output("y");
  return m;
}

}  // namespace

TEST_CASE("a network with bound weights, its inputs by place and by name") {
  onnx_model m;
  m.input("x:0", dtype::f32, {"batch size", 4});
  m.input("shift", dtype::f32, {3});
  const matrix w = counted(4, 3);
  m.weight("w", w);
  m.weight("b", sn::tensor<float, 1>{1, 2, 3});
  m.node("Gemm", {"x:0", "w", "b"}, {"h"});
  m.node("Relu", {"h"}, {"r"});
  m.node("Add", {"r", "shift"}, {"y"});
  m.output("y");
  const sn::onnx::model f = load(m, {.ranges = {sn::sym("batch size", 1, 64)}});
  REQUIRE(f.inputs().size() == 2);
  CHECK(f.inputs()[0].name == "x:0");
  CHECK(f.inputs()[0].type == dtype::f32);
  CHECK(f.inputs()[0].shape[0].is_symbol());
  CHECK(f.inputs()[0].shape[1].number() == 4);
  REQUIRE(f.outputs().size() == 1);
  CHECK(f.outputs()[0].name == "y");

  const sn::tensor<float, 1> shift{0.5f, 0, -1};
  for (const std::int64_t batch : {1, 2, 7, 64}) {
    const matrix x = counted(batch, 4);
    matrix expected = sn::relu(sn::matmul(x, w) + sn::tensor<float, 1>{1, 2, 3}) + shift;
    const matrix y = f({x, shift})[0], named = f.by_name({{"shift", shift}, {"x:0", x}})[0];
    CHECK(y == expected);
    CHECK(named == expected);
  }
  CHECK(f.function().statistics().saturations == 1);  // a range: one row is like several
  try {
    f({counted(65, 4), shift});
    FAIL("a batch of 65");
  } catch (const sn::shape_error& e) {
    CHECK(has(e.what(), "batch_size"));
    CHECK(has(e.what(), "1..64"));
  }
  const matrix x = counted(2, 4);
  CHECK_THROWS_AS(f.by_name({{"x:0", x}}), sn::graph_error);
  CHECK_THROWS_AS(f.by_name({{"x:0", x}, {"x:0", x}, {"shift", shift}}), sn::graph_error);
  CHECK_THROWS_AS(f.by_name({{"x:0", x}, {"shift", shift}, {"z", x}}), sn::graph_error);
  CHECK(has(message_of<sn::graph_error>(m, {.ranges = {sn::sym("time", 1, 2)}}), "'time'"));
  CHECK(has(message_of<sn::graph_error>(m, {.values = {{"z", scalar(1)}}}), "'z'"));
}

TEST_CASE("shapes that a model computes stay symbolic") {
  // [b, t, 6] as [b, 2, t, 3] and back, by Shape, Gather, Unsqueeze and Concat as exporters do.
  onnx_model m;
  m.input("x", dtype::f32, {"b", "t", 6});
  m.weight("zero", sn::tensor<std::int64_t, 0>(0));
  m.weight("one", sn::tensor<std::int64_t, 0>(1));
  m.weight("axis", integers{0});
  m.weight("heads", integers{2});
  m.weight("rest", integers{-1});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"b"});
  m.node("Gather", {"s", "one"}, {"t"});
  m.node("Unsqueeze", {"b", "axis"}, {"b1"});
  m.node("Unsqueeze", {"t", "axis"}, {"t1"});
  m.node("Concat", {"b1", "t1", "heads", "rest"}, {"apart"}, {{"axis", 0}});
  m.node("Reshape", {"x", "apart"}, {"r"});
  m.node("Transpose", {"r"}, {"h"}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  // t ones and 0, 1... t - 1, spread over the rest.
  m.node("ConstantOfShape", {"t1"}, {"ones"}, {{"value", any_tensor(sn::tensor<float, 1>{1})}});
  m.node("Range", {"zero", "t", "one"}, {"places"});
  m.node("Cast", {"places"}, {"place"}, {{"to", 1}});
  m.node("Add", {"place", "ones"}, {"row"});
  m.weight("last", integers{-1});
  m.node("Unsqueeze", {"row", "last"}, {"column"});
  m.node("Shape", {"h"}, {"hs"});
  m.node("Expand", {"column", "hs"}, {"spread"});
  m.node("Mul", {"h", "spread"}, {"y"});
  m.node("Size", {"x"}, {"count"});
  m.output("y");
  m.output("count");
  m.output("s");
  const sn::onnx::model f = load(m);
  for (const auto& [b, t] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 3}, {5, 4}, {2, 7}, {1, 2}}) {
    sn::tensor<float, 3> x(b, t, 6);
    for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i);
    const auto results = f({x});
    const sn::tensor<float, 4> y = results[0];
    REQUIRE(y.shape() == sn::shape_vector{b, 2, t, 3});
    for (std::int64_t i = 0; i < b; ++i)
      for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t j = 0; j < t; ++j)
          for (std::int64_t k = 0; k < 3; ++k)
            CHECK(y(i, h, j, k) == x(i, j, 3 * h + k) * static_cast<float>(j + 1));
    CHECK(results[1].item<std::int64_t>() == b * t * 6);
    const integers shape = results[2];
    CHECK(shape == integers{b, t, 6});
  }
}

TEST_CASE("slices from the end, indices below 0, and bounds beyond the axis") {
  onnx_model m;
  m.input("x", dtype::f32, {"rows", 4});
  m.input("at", dtype::i64, {"n"});
  m.weight("from", integers{-2, 1});
  m.weight("to", integers{std::int64_t{1} << 40, 100});
  m.weight("axes", integers{0, -1});
  m.weight("steps", integers{1, 2});
  m.node("Slice", {"x", "from", "to", "axes", "steps"}, {"y"});
  m.weight("end", integers{-1});
  m.weight("start", integers{-(std::int64_t{1} << 40)});
  m.weight("rows_axis", integers{0});
  m.weight("back", integers{-1});
  m.node("Slice", {"x", "end", "start", "rows_axis", "back"}, {"reversed"});
  m.node("Gather", {"x", "at"}, {"chosen"});
  m.output("y");
  m.output("reversed");
  m.output("chosen");
  const sn::onnx::model f = load(m);
  const matrix x = counted(5, 4);
  const auto results = f({x, integers{-1, 0, 2, -5}});
  const matrix y = results[0], reversed = results[1], chosen = results[2];
  REQUIRE(y.shape() == sn::shape_vector{2, 2});
  CHECK(y(0, 0) == x(3, 1));
  CHECK(y(1, 1) == x(4, 3));
  REQUIRE(reversed.shape() == sn::shape_vector{5, 4});
  CHECK(reversed(0, 2) == x(4, 2));
  CHECK(reversed(4, 0) == x(0, 0));
  CHECK(chosen(0, 1) == x(4, 1));
  CHECK(chosen(3, 1) == x(0, 1));
  CHECK_THROWS_AS(f({x, integers{5}}), sn::index_error);
}

TEST_CASE("what must be known while loading may be given") {
  onnx_model m;
  m.input("x", dtype::f32, {6});
  m.input("shape", dtype::i64, {2});
  m.node("Reshape", {"x", "shape"}, {"y"});
  m.output("y");
  try {
    load(m);
    FAIL("a shape that nobody knows");
  } catch (const sn::onnx::unknown_value& e) {
    CHECK(e.name == "shape");
    CHECK(has(e.what(), "'node_0' (Reshape, operator set 13)"));
  }
  const sn::onnx::model f = load(m, {.values = {{"shape", integers{2, -1}}}});
  CHECK(f.inputs().size() == 1);
  const matrix y = f({sn::tensor<float, 1>{1, 2, 3, 4, 5, 6}})[0];
  CHECK(y == matrix{{1, 2, 3}, {4, 5, 6}});
  CHECK(has(message_of<sn::dtype_error>(m, {.values = {{"shape", scalar(1)}}}), "'shape'"));
}

TEST_CASE("operator sets differ") {
  // Before 13 the axes from `axis` on are one to Softmax.
  onnx_model m;
  m.input("x", dtype::f32, {2, 2, 2});
  m.node("Softmax", {"x"}, {"y"}, {{"axis", 1}});
  m.output("y");
  sn::tensor<float, 3> x(2, 2, 2);
  for (std::int64_t i = 0; i < 8; ++i) x.data()[i] = 0;
  const sn::tensor<float, 3> before = load(m, {}, 12)({x})[0], since = load(m, {}, 13)({x})[0];
  CHECK(before(1, 1, 1) == doctest::Approx(0.25));
  CHECK(since(1, 1, 1) == doctest::Approx(0.5));

  // Axes as an attribute, and as an input.
  const onnx_model attribute =
      of_one("Unsqueeze", {"x"}, {{"axes", std::vector<std::int64_t>{-1}}});
  CHECK(load(attribute, {}, 11)({counted(2, 3)})[0].shape() == sn::shape_vector{2, 3, 1});
  onnx_model input = of_one("Unsqueeze", {"x", "axes"});
  input.weight("axes", integers{0, 3});
  CHECK(load(input)({counted(2, 3)})[0].shape() == sn::shape_vector{1, 2, 3, 1});

  CHECK(has(message_of<sn::graph_error>(input, {}, 29), "operator set 29"));
  CHECK(has(message_of<sn::graph_error>(input, {}, 0), "operator set 0"));
}

TEST_CASE("what is not supported is named, and only if it is needed") {
  const auto message = [](const onnx_model& m) { return message_of<sn::graph_error>(m); };
  CHECK(has(message(of_one("Nonsense", {"x"})),
            "'node_0' (Nonsense, operator set 13): the operator"));
  onnx_model domain;
  domain.input("x", dtype::f32, {3});
  domain.node("Relu", {"x"}, {"y"}, {}, "com.example");
  domain.output("y");
  CHECK(has(message(domain), "(com.example.Relu"));
  CHECK(has(message(of_one("Relu", {"x"}, {{"slope", 1.0f}})), "attribute 'slope'"));
  CHECK(has(message(of_one("Gelu", {"x"}, {{"approximate", std::string("sin")}})), "'sin'"));
  CHECK(has(message(of_one("Softmax", {"x"}, {{"axis", 1.0f}})), "attribute 'axis' is of another"));
  CHECK(has(message(of_one("Relu", {"z"})), "'z'"));
  CHECK(has(message(of_one("Add", {"x"})), "input 1 is missing"));
  CHECK(
      has(message(of_one("BatchNormalization", {"x", "x", "x", "x", "x"}, {{"training_mode", 1}})),
          "training_mode"));
  CHECK(has(message_of<sn::axis_error>(of_one("Softmax", {"x"}, {{"axis", 2}})), "(Softmax"));
  CHECK(has(message_of<sn::shape_error>(of_one("MatMul", {"x", "x"})), "(MatMul") == false);
  onnx_model unfit = of_one("MatMul", {"x", "w"});
  unfit.weight("w", counted(4, 4));
  CHECK(has(message_of<sn::shape_error>(unfit), "(MatMul, operator set 13): matmul("));
  onnx_model mixed = of_one("Add", {"x", "w"});
  mixed.weight("w", integers{1, 2, 3});
  CHECK(has(message_of<sn::dtype_error>(mixed), "(Add"));
  onnx_model none;
  none.input("x", dtype::f32, {3});
  CHECK(has(message(none), "without outputs"));
  none.output("y");
  CHECK(has(message(none), "'y'"));

  onnx_model twice = of_one("Relu", {"x"});
  twice.node("Neg", {"x"}, {"y"});
  CHECK(has(message(twice), "two values named 'y'"));
  onnx_model later = of_one("Relu", {"a"});
  later.node("Neg", {"x"}, {"a"});
  CHECK(has(message(later), "written by no node before"));

  onnx_model unused = of_one("Relu", {"x"});
  unused.node("Nonsense", {"x"}, {"z"});
  CHECK(load(unused)({counted(2, 3)}).size() == 1);
}

TEST_CASE("inputs that are weights, and weights as outputs") {
  onnx_model m;  // as before IR version 4: weights are inputs, too
  m.input("x", dtype::f32, {2, 2});
  m.input("w", dtype::f32, {2, 2});
  const matrix w{{1, 2}, {3, 4}};
  m.weight("w", w);
  m.node("Mul", {"x", "w"}, {"y"});
  m.output("y");
  m.output("w");
  const sn::onnx::model f = load(m);
  CHECK(f.inputs().size() == 1);
  const auto results = f({w});
  const matrix y = results[0], again = results[1];
  CHECK(y == matrix{{1, 4}, {9, 16}});
  CHECK(again == w);
}

TEST_CASE("a transformer layer taken apart as exporters do is put together again") {
  // [batch, length, 8] in 2 heads; layer norm, mask, scale and GELU written out.
  onnx_model m;
  m.input("x", dtype::f32, {"batch", "length", 8});
  m.input("mask", dtype::i64, {"batch", "length"});
  const auto number = [&](const std::string& name, float x) { m.weight(name, scalar(x)); };
  number("one", 1);
  number("two", 2);
  number("least", -3.4e38f);
  number("root", 2);
  number("half", 0.5f);
  number("root2", std::sqrt(2.0f));
  number("eps", 1e-5f);
  m.weight("w", counted(8, 8));
  m.weight("gamma", sn::tensor<float, 1>{1, 2, 1, 2, 1, 2, 1, 2});
  m.weight("apart", sn::tensor<std::int64_t, 1>{0, 0, 2, 4});
  m.weight("together", sn::tensor<std::int64_t, 1>{0, 0, 8});
  m.weight("axes", integers{1, 2});
  m.node("Unsqueeze", {"mask", "axes"}, {"wide"});
  m.node("Cast", {"wide"}, {"kept"}, {{"to", 1}});
  m.node("Sub", {"one", "kept"}, {"hidden"});
  m.node("Mul", {"hidden", "least"}, {"bias"});
  for (const std::string each : {"q", "k", "v"}) {
    m.node("MatMul", {"x", "w"}, {each + "0"});
    m.node("Reshape", {each + "0", "apart"}, {each + "1"});
    m.node("Transpose", {each + "1"}, {each},
           {{"perm", each == "k" ? std::vector<std::int64_t>{0, 2, 3, 1}
                                 : std::vector<std::int64_t>{0, 2, 1, 3}}});
  }
  m.node("MatMul", {"q", "k"}, {"s0"});
  m.node("Div", {"s0", "root"}, {"s1"});
  m.node("Add", {"s1", "bias"}, {"s2"});
  m.node("Softmax", {"s2"}, {"p"}, {{"axis", -1}});
  m.node("MatMul", {"p", "v"}, {"o0"});
  m.node("Transpose", {"o0"}, {"o1"}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  m.node("Reshape", {"o1", "together"}, {"o"});
  const onnx_model::attributes last{{"axes", std::vector<std::int64_t>{-1}}};
  m.node("ReduceMean", {"o"}, {"mean"}, last);
  m.node("Sub", {"o", "mean"}, {"d"});
  m.node("Pow", {"d", "two"}, {"d2"});
  m.node("ReduceMean", {"d2"}, {"var"}, last);
  m.node("Add", {"var", "eps"}, {"var1"});
  m.node("Sqrt", {"var1"}, {"dev"});
  m.node("Div", {"d", "dev"}, {"n0"});
  m.node("Mul", {"n0", "gamma"}, {"n"});
  m.node("Div", {"n", "root2"}, {"g0"});
  m.node("Erf", {"g0"}, {"g1"});
  m.node("Add", {"g1", "one"}, {"g2"});
  m.node("Mul", {"n", "g2"}, {"g3"});
  m.node("Mul", {"g3", "half"}, {"y"});
  m.output("y");
  const sn::onnx::model f = load(m, {.ranges = {sn::sym("batch", 1, 8), sn::sym("length", 1, 64)}});

  sn::tensor<float, 3> x(3, 10, 8);
  sn::tensor<std::int64_t, 2> mask(3, 10);
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data()[i] = 0.25f * static_cast<float>((i * 7) % 13 - 6);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 10; ++j) mask(i, j) = j < 10 - 3 * i;
  const sn::tensor<float, 3> y = f({x, mask})[0];

  const matrix w = counted(8, 8);
  const sn::tensor<float, 1> gamma{1, 2, 1, 2, 1, 2, 1, 2};
  const sn::tensor<float, 3> z = sn::matmul(x, w);
  sn::tensor<bool, 2> seen(3, 10);
  for (std::int64_t i = 0; i < 30; ++i) seen.data()[i] = mask.data()[i] != 0;
  auto by_hand = sn::fuse([](auto q, auto kept, auto weight) {
    const auto heads =
        sn::permute(sn::reshape(q, sn::extent(q, 0), sn::extent(q, 1), 2, 4), {0, 2, 1, 3});
    const auto hide = sn::reshape(kept, sn::extent(q, 0), 1, 1, sn::extent(q, 1));
    const auto scores = sn::where(hide, sn::matmul(heads, sn::transpose(heads)) / 2.0f, -3.4e38f);
    const auto mixed = sn::permute(sn::matmul(sn::softmax(scores), heads), {0, 2, 1, 3});
    return sn::gelu(sn::layer_norm(sn::reshape(mixed, sn::extent(q, 0), sn::extent(q, 1), 8)) *
                    weight);
  });
  const sn::tensor<float, 3> expected = by_hand(z, seen, gamma);
  REQUIRE(y.shape() == expected.shape());
  for (std::int64_t i = 0; i < y.size(); ++i)
    CHECK(y.data()[i] == doctest::Approx(expected.data()[i]).epsilon(1e-4));

  const std::string report = f.function().explain({x, mask});
  CHECK(has(report, "streamed over"));
  CHECK(has(report, "find-layer-norm"));
  CHECK(has(report, "find-gelu"));
}

TEST_CASE("numbers that no extent can have are refused") {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                         highest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t huge : {highest, lowest, std::int64_t{1} << 62, -highest}) {
    INFO(huge);
    for (const char* const op : {"Reshape", "Expand", "Tile", "Pad"}) {
      INFO(std::string(op));
      onnx_model m = of_one(op, {"x", "numbers"});
      const bool pads = std::string(op) == "Pad";
      m.weight("numbers", pads ? integers{huge, huge, 0, 0} : integers{huge, 3});
      CHECK_THROWS_AS(load(m), sn::error);
      onnx_model both = of_one(op, {"x", "numbers"});
      both.weight("numbers", pads ? integers{huge, 1, huge, 1} : integers{huge, huge});
      CHECK_THROWS_AS(load(both), sn::error);
    }
    onnx_model filled = of_one("ConstantOfShape", {"numbers"});
    filled.weight("numbers", integers{huge, huge});
    CHECK_THROWS_AS(load(filled), sn::error);
    onnx_model slice = of_one("Slice", {"x", "numbers", "numbers", "axes", "numbers"});
    slice.weight("numbers", integers{huge});
    slice.weight("axes", integers{1});
    try {
      load(slice);
    } catch (const sn::error&) {
    }
  }
  onnx_model window;
  window.input("x", dtype::f32, {1, 1, std::int64_t{1} << 20, std::int64_t{1} << 20});
  window.input("w", dtype::f32, {1, 1, std::int64_t{1} << 19, std::int64_t{1} << 19});
  window.node("Conv", {"x", "w"}, {"y"});
  window.output("y");
  try {
    load(window);
  } catch (const sn::error&) {
  }
}

}  // namespace onnx_test
