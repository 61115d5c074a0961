// SPDX-License-Identifier: MIT
// Symbolic extents in normal form, sharing of equal nodes, shape inference, and faults: as recorded
// in constant evaluation and as thrown at run time.
#include <string>

#include <doctest/doctest.h>

#include <sinter/graph/build.hpp>

namespace graph_test {

using namespace sinter;
using ir::dim;
using ir::op;
using ir::symbolic_shape;
using ir::truth;
using ir::value;

namespace {

constexpr value f32_argument(ir::graph& g, int number, const symbolic_shape& shape) {
  return ir::argument(g, dtype::f32, number, shape);
}

// The message of the error of type Error that `build` throws, or "" if it throws nothing.
template <class Error, class Build>
std::string message_of(Build&& build) {
  try {
    build();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("equal extents are the same handle, however they were written") {
  ir::dim_table t;
  const dim a = t.symbol(0), b = t.symbol(1);
  CHECK(t.symbol(0) == a);
  CHECK(t.add(a, b) == t.add(b, a));
  CHECK(t.add(t.add(a, dim(2)), b) == t.add(dim(1), t.add(b, t.add(dim(1), a))));
  CHECK(t.mul(t.add(a, b), t.sub(a, b)) == t.sub(t.mul(a, a), t.mul(b, b)));
  CHECK(t.mul(a, t.mul(b, a)) == t.mul(t.mul(a, a), b));
  CHECK(t.sub(t.add(a, dim(3)), dim(3)) == a);
  CHECK(t.sub(a, a) == dim(0));
  CHECK(t.mul(a, dim(0)) == dim(0));
  CHECK(t.floor_div(t.mul(a, dim(6)), dim(3)) == t.mul(a, dim(2)));
  CHECK(t.floor_div(t.mul(a, b), b) == a);
  CHECK(t.mod(a, dim(1)) == dim(0));
  CHECK(t.mod(dim(7), dim(4)) == dim(3));
}

TEST_CASE("a broadcast of extents forgets ones and repetitions, and a constant decides it") {
  ir::dim_table t;
  const dim a = t.symbol(0), b = t.symbol(1);
  CHECK(t.broadcast(a, b) == t.broadcast(b, a));
  CHECK(t.broadcast(t.broadcast(a, b), a) == t.broadcast(a, b));
  CHECK(t.broadcast(a, dim(8)) == dim(8));
  const std::int64_t wide[] = {1, 5}, both[] = {1, 1};
  CHECK(t.evaluate(t.broadcast(a, b), wide) == 5);
  CHECK(t.evaluate(t.broadcast(a, b), both) == 1);
}

TEST_CASE("equality of extents has three answers") {
  ir::dim_table t;
  const dim a = t.symbol(0), b = t.symbol(1);
  CHECK(t.equal(a, a) == truth::yes);
  CHECK(t.equal(a, t.add(a, dim(1))) == truth::no);
  CHECK(t.equal(dim(3), dim(4)) == truth::no);
  CHECK(t.equal(a, b) == truth::unknown);
  CHECK(t.equal(a, dim(4)) == truth::unknown);
}

TEST_CASE("evaluation and substitution agree") {
  ir::dim_table t, other;
  const dim a = t.symbol(0), b = t.symbol(1);
  const dim e = t.add(t.floor_div(t.add(t.mul(a, b), dim(5)), dim(4)), t.mod(a, dim(3)));
  const std::int64_t values[] = {7, 3};
  CHECK(t.evaluate(e, values) == (7 * 3 + 5) / 4 + 7 % 3);
  const dim replacement[] = {dim(7), dim(3)};
  CHECK(other.substitute(t, e, replacement) == dim(7));
  const dim swapped[] = {other.symbol(1), other.symbol(0)};
  const std::int64_t swapped_values[] = {3, 7};
  CHECK(other.evaluate(other.substitute(t, e, swapped), swapped_values) == 7);
}

TEST_CASE("extents as text") {
  ir::dim_table t;
  const dim a = t.symbol(0), b = t.symbol(1);
  CHECK(t.to_string(dim(12)) == "12");
  CHECK(t.to_string(a) == "s0");
  CHECK(t.to_string(symbolic_shape{a, dim(3)}) == "[s0, 3]");
  CHECK(contains(t.to_string(t.mul(a, b)), "*"));
  CHECK(contains(t.to_string(t.broadcast(a, b)), "broadcast("));
}

TEST_CASE("nodes with equal op, inputs, attributes and dims are one node") {
  ir::graph g;
  const value x = f32_argument(g, 0, {4, 5});
  CHECK((x + 1.0).id == (x + 1.0).id);
  CHECK((x + 1.0).id != (x + 2.0).id);
  CHECK(ir::sum(x, 1).id != ir::sum(x, 2).id);
  CHECK(ir::cast(x, dtype::f64).id != ir::cast(x, dtype::i32).id);
  CHECK(ir::append(g, op::layer_norm, {x.id}, {2, ir::bits_of(1e-5)}) !=
        ir::append(g, op::layer_norm, {x.id}, {2, ir::bits_of(1e-6)}));
  CHECK(ir::constant(g, dtype::f32, 0.0).id != ir::constant(g, dtype::f32, -0.0).id);
  CHECK(ir::reshape(x, {20}).id != ir::reshape(x, {5, 4}).id);
}

TEST_CASE("sharing survives many nodes") {
  ir::graph g;
  const value x = f32_argument(g, 0, {});
  std::vector<int> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back((x + static_cast<double>(i)).id);
  const int size = g.size();
  for (int i = 0; i < 1000; ++i)
    CHECK((x + static_cast<double>(i)).id == ids[static_cast<std::size_t>(i)]);
  CHECK(g.size() == size);
}

TEST_CASE("inference: shapes and dtypes") {
  ir::graph g;
  const dim s = g.dims.symbol(0);
  const value x = f32_argument(g, 0, {s, 8, 3});
  const value labels = ir::argument(g, dtype::i32, 1, {s, 8});

  CHECK(ir::elementwise(op::less, {x, x * 2.0}).type() == dtype::boolean);
  CHECK(ir::reduce(op::argmax, x, 2).type() == dtype::i64);
  CHECK(ir::sum(x, 0b101).shape() == symbolic_shape{1, 8, 1});
  CHECK(ir::sum(x, 0b101, false).shape() == symbolic_shape{8});
  CHECK(ir::transpose(x).shape() == symbolic_shape{s, 3, 8});
  CHECK(ir::reshape(x, {g.dims.mul(s, dim(24))}).rank() == 1);
  CHECK(ir::pad(x, {1, 0, 0}, {2, 0, 1}).shape() == symbolic_shape{g.dims.add(s, dim(3)), 8, 4});
  CHECK(ir::slice(x, {0, 1, 0}, {s, 8, 3}, {1, 2, 1}).shape() == symbolic_shape{s, 4, 3});
  const value parts[] = {x, x};
  CHECK(ir::concat(parts, 0).shape() == symbolic_shape{g.dims.mul(s, dim(2)), 8, 3});
  CHECK(ir::matmul(x, x, true).shape() == symbolic_shape{s, 3, 3});
  CHECK(ir::gather(x, labels, 1).shape() == symbolic_shape{s, s, 8, 3});
  CHECK(value{&g, ir::append(g, op::cross_entropy, {x.id, labels.id})}.shape() ==
        symbolic_shape{s, 8});
  CHECK(ir::where(ir::elementwise(op::less, {x, x * 2.0}), x, ir::constant_like(x, 0)).type() ==
        dtype::f32);
}

TEST_CASE("inference keeps scalars scalars: a C++ number takes the dtype of the tensor it meets") {
  ir::graph g;
  const value x = ir::argument(g, dtype::f64, 0, {3});
  const value rate = ir::argument(g, dtype::f32, 1, {}, true);
  const value y = x * rate;
  CHECK(y.type() == dtype::f64);
  CHECK(y.shape() == symbolic_shape{3});
  CHECK(g[g.input(y.id, 1)].shape.empty());
}

TEST_CASE("while tracing, unknown extents leave a broadcast_to; binding or constants decide it") {
  ir::graph traced;
  const dim s = traced.dims.symbol(0), t = traced.dims.symbol(1);
  const value sum = f32_argument(traced, 0, {s}) + f32_argument(traced, 1, {t});
  CHECK(traced[traced.input(sum.id, 0)].code == op::broadcast_to);
  CHECK(sum.extent(0) == traced.dims.broadcast(s, t));

  ir::graph bound;
  bound.symbol_values = {4, 4};
  const dim u = bound.dims.symbol(0), v = bound.dims.symbol(1);
  const value same = f32_argument(bound, 0, {u}) + f32_argument(bound, 1, {v});
  CHECK(bound[bound.input(same.id, 0)].code == op::argument);
  CHECK(bound[bound.input(same.id, 1)].code == op::argument);
  // That the two are equal had to be taken for true.
  REQUIRE(!bound.guards.empty());
  CHECK(bound.guards[0].holds == ir::guard::fact::equal);
}

TEST_CASE("a reshape between extents that are known to agree needs no other guard") {
  ir::graph g;
  g.symbol_values = {4, 5};
  const dim s = g.dims.symbol(0), t = g.dims.symbol(1);
  const value x = f32_argument(g, 0, {3, s, t}), y = f32_argument(g, 1, {3, 4, 5});
  (void)(x + y);
  REQUIRE(g.guards.size() == 2);
  ir::reshape(x, {3, 4, 1, 5});
  ir::reshape(y, {1, 3, s, t});
  CHECK(g.guards.size() == 2);
  ir::reshape(x, {3, 5, 4});
  CHECK(g.guards.size() == 3);
}

TEST_CASE("sum_to undoes a broadcast") {
  ir::graph g;
  const value x = f32_argument(g, 0, {4, 5});
  const value column = ir::sum_to(x, {4, 1});
  CHECK(column.get().code == op::reduce_sum);
  const value row = ir::sum_to(x, {5});
  CHECK(row.get().code == op::reshape);
  CHECK(row.shape() == symbolic_shape{5});
  CHECK(ir::sum_to(x, {4, 5}).id == x.id);
}

TEST_CASE("faults at run time: the type of the error, the op, and both shapes") {
  ir::graph g;
  const value x = f32_argument(g, 0, {4, 5}), y = f32_argument(g, 1, {4, 6}),
              i = ir::argument(g, dtype::i32, 2, {4, 5});
  const int size = g.size();

  const std::string add = message_of<shape_error>([&] { (void)(x + y); });
  CHECK(contains(add, "add(f32[4, 5], f32[4, 6])"));
  CHECK(contains(add, "5 and 6"));
  const std::string matmul = message_of<shape_error>([&] { ir::matmul(x, y); });
  CHECK(contains(matmul, "matmul(f32[4, 5], f32[4, 6])"));
  const std::string dtypes = message_of<dtype_error>([&] { (void)(x + i); });
  CHECK(contains(dtypes, "add"));
  CHECK(contains(dtypes, "i32"));
  CHECK(contains(message_of<dtype_error>([&] { ir::unary(op::exp, i); }), "exp"));
  CHECK(contains(message_of<dtype_error>([&] { ir::append(g, op::softmax, {i.id}, {2}); }),
                 "softmax"));
  CHECK(contains(message_of<shape_error>([&] {
                   ir::reshape(x, {3, 7});
                 }),
                 "20 elements cannot become 21"));
  const std::int64_t twice[] = {0, 0};
  CHECK(contains(message_of<axis_error>([&] { ir::permute(x, twice); }), "permute"));
  const value parts[] = {x, x};
  CHECK(contains(message_of<axis_error>([&] { ir::concat(parts, 2); }),
                 "axis 2 is out of range for rank 2"));
  CHECK(contains(message_of<axis_error>([&] { ir::gather(x, i, -1); }), "axis -1"));
  CHECK(contains(message_of<shape_error>([&] { ir::slice(x, {0, 0}, {4, 9}, {1, 1}); }), "slice"));
  CHECK(contains(message_of<shape_error>([&] { ir::broadcast_to(x, {4, 7}); }), "broadcast_to"));
  CHECK(contains(message_of<shape_error>([&] {
                   ir::append(g, op::cross_entropy, {x.id, i.id});
                 }),
                 "cross_entropy"));
  CHECK(g.size() <=
        size + 2);  // at most operands that were brought to one shape; never the faulty node
}

TEST_CASE("faults in constant evaluation are recorded, and the first one stays") {
  constexpr ir::fault f = [] {
    ir::graph g;
    const value x = f32_argument(g, 0, {4, 5}), y = f32_argument(g, 1, {4, 6});
    const value wrong = x + y;
    (void)ir::matmul(wrong, f32_argument(g, 2, {9, 9}));
    return g.first_fault;
  }();
  CHECK(f.kind == ir::fault_kind::extents_disagree);
  CHECK(f.code == op::add);
  CHECK(((f.lhs == 5 && f.rhs == 6) || (f.lhs == 6 && f.rhs == 5)));
}

TEST_CASE("a graph is a value of constant evaluation") {
  constexpr int nodes = [] {
    ir::graph g;
    const dim s = g.dims.symbol(0);
    value x = f32_argument(g, 0, {s, 16});
    for (int i = 0; i < 20; ++i)
      x = ir::unary(op::tanh, ir::matmul(x, f32_argument(g, i + 1, {16, 16})) +
                                  f32_argument(g, i + 100, {16}));
    const ir::graph copy = g;
    return copy.failed() ? -1 : copy.size();
  }();
  CHECK(nodes > 80);
}

}  // namespace graph_test
