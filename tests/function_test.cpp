// SPDX-License-Identifier: MIT
// function<R(Args...)>: fused functions as members, in containers, shared by copies.
#include <map>
#include <string>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace function_test {

namespace sn = sinter;

namespace {

using matrix = sn::tensor<float, 2>;
using unary_function = sn::function<matrix(const matrix&)>;

struct layer {
  matrix w;
  sn::function<matrix(const matrix&, const matrix&)> forward;

  matrix operator()(const matrix& x) const { return forward(x, w); }
};

}  // namespace

TEST_CASE("functions of one signature in a container") {
  std::map<std::string, unary_function> by_name;
  by_name["relu"] = sn::fuse([](auto x) { return sn::relu(x); });
  by_name["twice"] = sn::fuse([](auto x) { return x * 2.0f; });
  const matrix x{{-1, 2}};
  CHECK(by_name["relu"](x) == matrix{{0, 2}});
  CHECK(by_name["twice"](x) == matrix{{-2, 4}});
  CHECK_FALSE(by_name["none"]);
  CHECK_THROWS_AS(by_name["none"](x), sn::graph_error);
}

TEST_CASE("a member; copies share the plans") {
  const layer a{matrix{{1, 0}, {0, -1}},
                sn::fuse([](auto x, auto w) { return sn::relu(sn::matmul(x, w)); })};
  const layer b = a;
  CHECK(a(matrix{{3, 4}}) == matrix{{3, 0}});
  CHECK(b(matrix{{-3, -4}}) == matrix{{0, 4}});
  CHECK(a.forward.statistics().calls == 2);
  CHECK(a.forward.statistics().saturations == 1);
  CHECK(a.forward.explain(matrix{{1, 2}}, a.w).find("nest 0") != std::string::npos);
}

TEST_CASE("results into an existing tensor, assigned arguments, results dropped") {
  const unary_function f = sn::fuse([](auto x) { return x + 1.0f; });
  matrix out(1, 2);
  const float* memory = out.data();
  f.into(out, matrix{{1, 2}});
  CHECK(out == matrix{{2, 3}});
  CHECK(out.data() == memory);

  const sn::function<void(matrix&, float)> scale = sn::fuse(
      [](auto x, auto factor) { return sn::outputs(sn::assign(x, x * factor), sn::sum(x)); });
  scale(out, 2.0f);
  CHECK(out == matrix{{4, 6}});
}

}  // namespace function_test
