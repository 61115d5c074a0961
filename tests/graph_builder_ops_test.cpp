// SPDX-License-Identifier: MIT
// Every function and operator of the front end once through the builder: the results are those of
// the reference interpreter, and the same after the graph was written as text and read back.
#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "support/close.hpp"
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/sinter.hpp>

namespace graph_builder_ops_test {

namespace sn = sinter;
using sn::dtype;
using sn::handle;

namespace {

struct operands {
  handle x, y, p, v, w, i, j, b, c, label, key, a;
};

struct named_case {
  const char* name;
  handle (*write)(const operands&);
};

const named_case cases[] = {
    {"negative", [](const operands& o) { return -o.x; }},
    {"abs", [](const operands& o) { return sn::abs(o.x); }},
    {"sign", [](const operands& o) { return sn::sign(o.x); }},
    {"floor", [](const operands& o) { return sn::floor(o.x); }},
    {"ceil", [](const operands& o) { return sn::ceil(o.x); }},
    {"round", [](const operands& o) { return sn::round(o.x); }},
    {"sqrt", [](const operands& o) { return sn::sqrt(o.p); }},
    {"rsqrt", [](const operands& o) { return sn::rsqrt(o.p); }},
    {"recip", [](const operands& o) { return sn::recip(o.p); }},
    {"exp", [](const operands& o) { return sn::exp(o.x); }},
    {"exp2", [](const operands& o) { return sn::exp2(o.x); }},
    {"log", [](const operands& o) { return sn::log(o.p); }},
    {"log2", [](const operands& o) { return sn::log2(o.p); }},
    {"sin", [](const operands& o) { return sn::sin(o.x); }},
    {"cos", [](const operands& o) { return sn::cos(o.x); }},
    {"tanh", [](const operands& o) { return sn::tanh(o.x); }},
    {"erf", [](const operands& o) { return sn::erf(o.x); }},
    {"sigmoid", [](const operands& o) { return sn::sigmoid(o.x); }},
    {"relu", [](const operands& o) { return sn::relu(o.x); }},
    {"gelu", [](const operands& o) { return sn::gelu(o.x); }},
    {"gelu_tanh", [](const operands& o) { return sn::gelu_tanh(o.x); }},
    {"silu", [](const operands& o) { return sn::silu(o.x); }},
    {"softplus", [](const operands& o) { return sn::softplus(o.x); }},
    {"stop_gradient", [](const operands& o) { return sn::stop_gradient(o.x); }},
    {"logical_not", [](const operands& o) { return !o.b; }},
    {"cast", [](const operands& o) { return sn::cast<std::uint8_t>(o.p); }},
    {"square", [](const operands& o) { return sn::square(o.x); }},
    {"isnan", [](const operands& o) { return sn::isnan(o.x); }},
    {"+", [](const operands& o) { return o.x + o.v; }},
    {"-", [](const operands& o) { return 1.5f - o.x; }},
    {"*", [](const operands& o) { return o.x * o.a; }},
    {"/", [](const operands& o) { return o.i / o.j; }},
    {"%", [](const operands& o) { return o.i % 3; }},
    {"&", [](const operands& o) { return o.i & o.j; }},
    {"|", [](const operands& o) { return o.i | 4; }},
    {"^", [](const operands& o) { return o.b ^ o.c; }},
    {"<<", [](const operands& o) { return o.i << 2; }},
    {">>", [](const operands& o) { return o.i >> 1; }},
    {"==", [](const operands& o) { return o.i == o.j; }},
    {"!=", [](const operands& o) { return o.x != o.y; }},
    {"<", [](const operands& o) { return o.x < o.y; }},
    {"<=", [](const operands& o) { return o.x <= 0.5f; }},
    {">", [](const operands& o) { return o.x > o.y; }},
    {">=", [](const operands& o) { return 0.5f >= o.x; }},
    {"&&", [](const operands& o) { return o.b && o.c; }},
    {"||", [](const operands& o) { return o.b || o.c; }},
    {"logical_xor", [](const operands& o) { return sn::logical_xor(o.b, o.c); }},
    {"maximum", [](const operands& o) { return sn::maximum(o.x, o.y); }},
    {"minimum", [](const operands& o) { return sn::minimum(o.x, 0); }},
    {"pow", [](const operands& o) { return sn::pow(o.p, o.x); }},
    {"mod", [](const operands& o) { return sn::mod(o.p, 0.75f); }},
    {"floor_divide", [](const operands& o) { return sn::floor_divide(o.i, o.j); }},
    {"true_divide", [](const operands& o) { return sn::true_divide(o.i, o.j + 100); }},
    {"where", [](const operands& o) { return sn::where(o.b, o.x, 0); }},
    {"multiply_add", [](const operands& o) { return sn::multiply_add(o.x, o.y, o.p); }},
    {"clamp", [](const operands& o) { return sn::clamp(o.x, -0.5f, 0.5f); }},
    {"leaky_relu", [](const operands& o) { return sn::leaky_relu(o.x, 0.01f); }},
    {"elu", [](const operands& o) { return sn::elu(o.x); }},
    {"selu", [](const operands& o) { return sn::selu(o.x); }},
    {"celu", [](const operands& o) { return sn::celu(o.x, 0.5); }},
    {"hard_sigmoid", [](const operands& o) { return sn::hard_sigmoid(o.x); }},
    {"hard_swish", [](const operands& o) { return sn::hard_swish(o.x); }},
    {"softsign", [](const operands& o) { return sn::softsign(o.x); }},
    {"mish", [](const operands& o) { return sn::mish(o.x); }},
    {"tan", [](const operands& o) { return sn::tan(o.x); }},
    {"tile",
     [](const operands& o) {
       return sn::tile(o.x, {2, 1});
     }},
    {"cumsum", [](const operands& o) { return sn::cumsum(o.x, 1); }},
    {"sum", [](const operands& o) { return sn::sum(o.x, 0); }},
    {"prod", [](const operands& o) { return sn::prod(o.x, 1); }},
    {"max",
     [](const operands& o) {
       return sn::max(o.x, {0, 1}, sn::keep_dims);
     }},
    {"min", [](const operands& o) { return sn::min(o.x, -1); }},
    {"mean", [](const operands& o) { return sn::mean(o.x); }},
    {"var", [](const operands& o) { return sn::var(o.x, 1); }},
    {"argmax", [](const operands& o) { return sn::argmax(o.x, 1); }},
    {"argmin", [](const operands& o) { return sn::argmin(o.x, 0); }},
    {"logsumexp", [](const operands& o) { return sn::logsumexp(o.x, 1); }},
    {"permute",
     [](const operands& o) {
       return sn::permute(o.x, {1, 0});
     }},
    {"transpose", [](const operands& o) { return sn::transpose(o.x); }},
    {"flip", [](const operands& o) { return sn::flip(o.x, 1); }},
    {"concat",
     [](const operands& o) {
       return sn::concat({o.x, o.y}, 0);
     }},
    {"stack", [](const operands& o) { return sn::stack(1, o.x, o.y); }},
    {"reshape", [](const operands& o) { return sn::reshape(o.x, 2, -1); }},
    {"flatten", [](const operands& o) { return sn::flatten(o.x); }},
    {"squeeze", [](const operands& o) { return sn::squeeze(sn::unsqueeze(o.x, 1), 1); }},
    {"unsqueeze", [](const operands& o) { return sn::unsqueeze(o.x, -1); }},
    {"broadcast_to",
     [](const operands& o) { return sn::broadcast_to(o.v, sn::extent(o.x, 0), 4); }},
    {"expand", [](const operands& o) { return sn::expand(o.v, 3, -1); }},
    {"slice", [](const operands& o) { return sn::slice(o.x, 1, 1, -1); }},
    {"shrink",
     [](const operands& o) {
       return sn::shrink(o.x, {{1, sn::until_end}, {0, 2}});
     }},
    {"pad",
     [](const operands& o) {
       return sn::pad(o.x, {{1, 0}, {0, 2}}, 0.5);
     }},
    {"matmul", [](const operands& o) { return sn::matmul(o.x, o.w); }},
    {"dot", [](const operands& o) { return sn::dot(o.v, o.v); }},
    {"outer", [](const operands& o) { return sn::outer(o.v, o.v); }},
    {"gather", [](const operands& o) { return sn::gather(o.x, o.label, 1); }},
    {"take", [](const operands& o) { return sn::take(o.w, o.label); }},
    {"one_hot", [](const operands& o) { return sn::one_hot(o.label, 4); }},
    {"softmax", [](const operands& o) { return sn::softmax(o.x); }},
    {"log_softmax", [](const operands& o) { return sn::log_softmax(o.x, 0); }},
    {"layer_norm", [](const operands& o) { return sn::layer_norm(o.x, o.v, o.v); }},
    {"rms_norm", [](const operands& o) { return sn::rms_norm(o.x); }},
    {"cross_entropy", [](const operands& o) { return sn::cross_entropy(o.x, o.label); }},
    {"mse", [](const operands& o) { return sn::mse(o.x, o.y); }},
    {"rope", [](const operands& o) { return sn::rope(o.x, o.label); }},
    {"full", [](const operands& o) { return sn::full<float>(o.a, sn::extent(o.x, 0), 2); }},
    {"full_like", [](const operands& o) { return sn::full_like(o.x, 2.5f); }},
    {"zeros_like", [](const operands& o) { return sn::zeros_like(o.i); }},
    {"ones_like", [](const operands& o) { return sn::ones_like(o.x); }},
    {"iota", [](const operands& o) { return sn::iota<float>(sn::extent(o.x, 0), 4) * o.x; }},
    {"iota_like", [](const operands& o) { return sn::iota_like(o.x, 0); }},
    {"arange", [](const operands& o) { return o.v + sn::arange<float>(1, 9, 2); }},
    {"extent", [](const operands& o) { return o.x / sn::extent(o.x, 0); }},
    {"uniform", [](const operands& o) { return sn::uniform(o.key, o.x); }},
    {"normal", [](const operands& o) { return sn::normal<float>(o.key, 5); }},
    {"dropout_mask", [](const operands& o) { return sn::dropout_mask(o.key, 0.5f, o.x); }},
    {"dropout", [](const operands& o) { return sn::dropout(o.x, o.key, 0.75f); }},
    {"gradients",
     [](const operands&
            o) { return sn::gradients(sn::sum(sn::tanh(sn::matmul(o.x, o.w))), o.w)[0]; }},
};

sn::ir::reference_tensor reference(const sn::any_tensor& x) {
  sn::ir::reference_tensor out = sn::ir::filled(x.type(), x.shape(), 0);
  sn::dispatch(x.type(), [&](auto t) {
    using T = typename decltype(t)::type;
    for (std::size_t i = 0; i < out.data.size(); ++i)
      out.data[i] = static_cast<double>(static_cast<const T*>(x.data())[i]);
  });
  return out;
}

template <class T>
sn::any_tensor elements(const sn::shape_vector& shape, double scale, double shift) {
  sn::any_tensor out(sn::dtype_of<T>, shape);
  for (std::int64_t i = 0; i < out.size(); ++i)
    static_cast<T*>(out.data())[i] =
        static_cast<T>(static_cast<double>(i * 29 % 23) * scale + shift);
  return out;
}

bool same_bits(const sn::any_tensor& a, const sn::any_tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(),
                     static_cast<std::size_t>(a.size()) * sn::size_of(a.type())) == 0;
}

}  // namespace

TEST_CASE("every function of the front end") {
  sn::graph_builder g;
  const sn::sym n("n", 2, 64);
  operands o;
  o.x = g.argument("x", dtype::f32, {n, 4});
  o.y = g.argument("y", dtype::f32, {n, 4});
  o.p = g.argument("p", dtype::f32, {n, 4});
  o.v = g.argument("v", dtype::f32, {4});
  o.w = g.argument("w", dtype::f32, {4, 5});
  o.i = g.argument("i", dtype::i32, {n, 4});
  o.j = g.argument("j", dtype::i32, {n, 4});
  o.b = g.argument("b", dtype::boolean, {n, 4});
  o.c = g.argument("c", dtype::boolean, {n, 4});
  o.label = g.argument("label", dtype::i64, {n});
  o.key = g.number("key", dtype::i64);
  o.a = g.number("a", dtype::f32);

  const std::vector<sn::any_tensor> tensors{
      elements<float>({3, 4}, 0.125, -1.4),    elements<float>({3, 4}, -0.15, 1.6),
      elements<float>({3, 4}, 0.2, 0.3),       elements<float>({4}, 0.05, -0.3),
      elements<float>({4, 5}, 0.06, -0.7),     elements<std::int32_t>({3, 4}, 1, -9),
      elements<std::int32_t>({3, 4}, -0.3, 2), elements<bool>({3, 4}, 0.05, 0),
      elements<bool>({3, 4}, -0.09, 1),        elements<std::int64_t>({3}, 0.15, 0)};
  std::vector<sn::graph_argument> arguments(tensors.begin(), tensors.end());
  arguments.emplace_back(std::int64_t{42});
  arguments.emplace_back(1.75f);
  std::vector<sn::ir::reference_tensor> references;
  for (const sn::any_tensor& t : tensors) references.push_back(reference(t));
  references.push_back({dtype::i64, {}, {42}});
  references.push_back({dtype::f32, {}, {1.75}});

  for (const named_case& each : cases) {
    CAPTURE(each.name);
    const handle result = each.write(o);
    const sn::graph_function f = g.compile({result});
    const std::vector<sn::any_tensor> got = f(arguments);
    const auto expected = sn::ir::interpret(f.traced(), references);
    REQUIRE(got.size() == 1);
    REQUIRE(got[0].shape() == expected[0].shape);
    REQUIRE(got[0].type() == expected[0].type);
    const sn::ir::reference_tensor values = reference(got[0]);
    for (std::size_t k = 0; k < values.data.size(); ++k) {
      CAPTURE(k);
      CHECK(test_support::close(values.data[k], expected[0].data[k], 2e-5, 2e-6));
    }
    const sn::graph_function read(sn::ir::parse_graph(sn::ir::to_text(g.graph_of({result}))));
    CHECK(same_bits(read(arguments)[0], got[0]));
  }
}

}  // namespace graph_builder_ops_test
