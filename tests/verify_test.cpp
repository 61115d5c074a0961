// SPDX-License-Identifier: MIT
// The verifier accepts what build.hpp writes and rejects each kind of damage with a message that
// names the node.
#include <string>

#include <doctest/doctest.h>

#include <sinter/graph/build.hpp>
#include <sinter/graph/verify.hpp>

namespace verify_test {

using namespace sinter;
using ir::dim;
using ir::op;
using ir::symbolic_shape;
using ir::value;

namespace {

std::string rejection(const ir::graph& g) {
  try {
    ir::verify(g);
  } catch (const graph_error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A graph with one argument f32[4, 5] and a node that was written past inference.
struct damaged {
  ir::graph g;
  value x = ir::argument(g, dtype::f32, 0, {4, 5});

  damaged(op code, dtype type, const symbolic_shape& shape, std::initializer_list<int> in,
          std::initializer_list<std::int64_t> attributes = {},
          std::initializer_list<dim> dims = {}) {
    g.intern(code, type, shape, std::span<const int>(in.begin(), in.size()),
             std::span<const std::int64_t>(attributes.begin(), attributes.size()),
             std::span<const dim>(dims.begin(), dims.size()));
  }
};

}  // namespace

TEST_CASE("well-formed graphs pass, traced and bound, empty too") {
  CHECK_NOTHROW(ir::verify(ir::graph{}));
  for (const bool bound : {false, true}) {
    ir::graph g;
    if (bound) g.symbol_values = {6};
    const dim s = g.dims.symbol(0);
    const value x = ir::argument(g, dtype::f32, 0, {s, 4}),
                w = ir::argument(g, dtype::f32, 1, {4, 4});
    const value y = ir::unary(op::gelu, ir::matmul(x, w)) + ir::sum(x, 2);
    const value loss = ir::sum(y * y, 3, false);
    g.outputs = {{loss.id, -1}, {(w * 0.5).id, 1}};
    CHECK_NOTHROW(ir::verify(g));
  }
}

TEST_CASE("inputs must come first, and be as many as the op has") {
  CHECK(contains(rejection(damaged(op::softmax, dtype::f32, {4, 5}, {1}, {2}).g),
                 "node %1 (softmax): input %1 does not come before it"));
  CHECK(contains(rejection(damaged(op::softmax, dtype::f32, {4, 5}, {7}, {2}).g), "input %7"));
  CHECK(contains(rejection(damaged(op::softmax, dtype::f32, {4, 5}, {-1}, {2}).g), "input %-1"));
  CHECK(contains(rejection(damaged(op::add, dtype::f32, {4, 5}, {0}).g),
                 "node %1 (add): has 1 inputs, expected 2"));
  CHECK(contains(rejection(damaged(op::concat, dtype::f32, {4, 5}, {}, {0}).g), "one or more"));
}

TEST_CASE("dtype and shape must be what inference says") {
  CHECK(contains(rejection(damaged(op::exp, dtype::f64, {4, 5}, {0}).g),
                 "has dtype f64, inference says f32"));
  CHECK(contains(rejection(damaged(op::exp, dtype::f32, {4, 6}, {0}).g),
                 "has shape [4, 6], inference says [4, 5]"));
  CHECK(
      contains(rejection(damaged(op::bit_and, dtype::f32, {4, 5}, {0, 0}).g), "node %1 (bit_and)"));
  CHECK(contains(rejection(damaged(op::matmul, dtype::f32, {4, 5}, {0, 0}, {0, 0}).g), "disagree"));
}

TEST_CASE("attributes must be as many as the op has, and make sense") {
  CHECK(contains(rejection(damaged(op::exp, dtype::f32, {4, 5}, {0}, {3}).g),
                 "has 1 attributes, expected 0"));
  CHECK(contains(rejection(damaged(op::exp, dtype::f32, {4, 5}, {0}, {}, {dim(2)}).g),
                 "has 1 dims, expected 0"));
  CHECK(contains(rejection(damaged(op::reduce_sum, dtype::f32, {4, 5}, {0}, {0b100}).g),
                 "axes are outside"));
  CHECK(contains(rejection(damaged(op::softmax, dtype::f32, {4, 5}, {0}, {-1}).g),
                 "axes are outside"));
  CHECK(contains(rejection(damaged(op::cast, dtype::f32, {4, 5}, {0}, {17}).g),
                 "dtype does not exist"));
  CHECK(contains(rejection(damaged(op::concat, dtype::f32, {4, 5}, {0, 0}, {2}).g),
                 "axis 2 is out of range for rank 2"));
  CHECK(contains(rejection(damaged(op::slice, dtype::f32, {4, 5}, {0}, {1, 0}, {0, 4, 0, 5}).g),
                 "steps"));
  CHECK(contains(rejection(damaged(op::pad, dtype::f32, {4, 5}, {0}, {0}, {0, 0}).g),
                 "has 2 dims, expected 4"));
  CHECK(
      contains(rejection(damaged(op::permute, dtype::f32, {4, 5}, {0}, {0, 0}).g), "permutation"));
  CHECK(contains(rejection(damaged(op::windows, dtype::f32, {4, 2, 4}, {0}, {1, 0, 1}, {2}).g),
                 "stride"));
  CHECK(contains(rejection(damaged(op::windows, dtype::f32, {4, 2, 4}, {0}, {2, 1, 1}, {2}).g),
                 "axis 2"));
  CHECK(contains(rejection(damaged(op::sum_windows, dtype::f32, {5}, {0}, {1, 1, 1}, {6}).g),
                 "axis 1"));
  CHECK(contains(
      rejection(damaged(op::layer_norm, dtype::f32, {4, 5}, {0}, {2, ir::bits_of(-1.0)}).g),
      "eps"));
  CHECK(
      contains(rejection(damaged(op::matmul, dtype::f32, {4, 4}, {0, 0}, {0, 2}).g), "transpose"));
  CHECK(contains(rejection(damaged(op::cumsum, dtype::f32, {4, 5}, {0}, {2, 0, 0}).g), "axis 2"));
  CHECK(contains(rejection(damaged(op::cumsum, dtype::f32, {4, 5}, {0}, {0, 2, 0}).g), "0 or 1"));
  CHECK(contains(rejection(damaged(op::iota, dtype::i32, {3}, {},
                                   {static_cast<std::int64_t>(dtype::i32), 1}, {3})
                               .g),
                 "axis 1"));
  CHECK(contains(rejection(damaged(op::random_uniform, dtype::f32, {3}, {0},
                                   {static_cast<std::int64_t>(dtype::f32), 0}, {3})
                               .g),
                 "key"));
}

TEST_CASE("scatter_add's updates must have the shape that its indices ask for") {
  ir::graph g;
  const value updates = ir::argument(g, dtype::f32, 0, {4, 5}),
              indices = ir::argument(g, dtype::i32, 1, {4});
  g.outputs = {{ir::scatter_add(updates, indices, 0, {9, 5}).id, -1}};
  CHECK_NOTHROW(ir::verify(g));
  CHECK_THROWS_AS(ir::scatter_add(updates, indices, 0, {9, 6}), sinter::shape_error);
  CHECK_THROWS_AS(ir::scatter_add(updates, indices, 0, {9}), sinter::shape_error);
  CHECK_THROWS_AS(ir::scatter_add(updates, indices, 2, {9, 5}), sinter::axis_error);
  const int in[] = {updates.id, indices.id};
  const std::int64_t axis[] = {0};
  const ir::dim whole[] = {9, 6};
  g.intern(op::scatter_add, dtype::f32, {9, 6}, in, axis, whole);
  CHECK(contains(rejection(g), "(scatter_add): updates have shape [4, 5], expected [4, 6]"));
}

TEST_CASE("argument numbers are unique") {
  ir::graph g;
  ir::argument(g, dtype::f32, 0, {4});
  ir::argument(g, dtype::f32, 0, {5});
  CHECK(contains(rejection(g), "two arguments with number 0"));
}

TEST_CASE("outputs are nodes, and assign different arguments") {
  ir::graph g;
  const value x = ir::argument(g, dtype::f32, 0, {4});
  g.outputs = {{5, -1}};
  CHECK(contains(rejection(g), "output %5 is no node"));
  g.outputs = {{x.id, 3}};
  CHECK(contains(rejection(g), "argument 3, which does not exist"));
  g.outputs = {{(x + 1.0).id, 0}, {(x + 2.0).id, 0}};
  CHECK(contains(rejection(g), "as another output is"));
}

}  // namespace verify_test
