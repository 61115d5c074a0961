// SPDX-License-Identifier: MIT
// Structs of parameters: as arguments of fused functions, as gradients, targets of assignments and
// results, frozen, and in graphs that are built at run time.
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace structure_test {

namespace sn = sinter;

namespace {

using floats = sn::stored<float>;

template <class Kind, bool Bias = true>
struct affine {
  template <class Other>
  using of_kind = affine<Other, Bias>;
  sn::parameter<Kind, 2> weight;
  [[no_unique_address]] sn::optional_member<Bias, sn::parameter<Kind, 1>> bias;

  constexpr auto operator()(const auto& x) const {
    if constexpr (Bias)
      return sn::matmul(x, weight) + bias;
    else
      return sn::matmul(x, weight);
  }
};

template <class Kind>
struct network {
  affine<Kind> first;
  std::array<affine<Kind, false>, 2> middle;
  sn::statistic<Kind, 1> seen;

  constexpr auto operator()(const auto& x) const {
    auto h = first(x);
    for (const auto& each : middle) h = sn::tanh(each(h));
    return h;
  }
};

network<floats> example() {
  network<floats> m{};
  m.first.weight = sn::tensor<float, 2>{{0.5f, -1}, {1, 2}, {-0.25f, 0}};
  m.first.bias = sn::tensor<float, 1>{0.5f, -0.5f};
  m.middle[0].weight = sn::tensor<float, 2>{{1, 0.5f}, {0, 1}};
  m.middle[1].weight = sn::tensor<float, 2>{{0.5f, 0}, {-1, 1}};
  m.seen.value = sn::tensor<float, 1>{7, 8};
  return m;
}

const sn::tensor<float, 2> input{{1, 2, 3}, {0, -1, 1}};

}  // namespace

TEST_CASE("the members of a struct are found and counted") {
  static_assert(sn::member_count<network<sn::handles>> == 3);
  static_assert(sn::parameter_count<network<floats>> == 5);
  static_assert(sn::parameter_count<sn::absent> == 0);
  static_assert(sn::parameter_count<std::array<network<floats>, 3>> == 15);
  static_assert(std::is_same_v<sn::as_kind<network<floats>, sn::handles>, network<sn::handles>>);
  static_assert(std::is_same_v<sn::as_kind<affine<floats, false>, sn::stored<double>>,
                               affine<sn::stored<double>, false>>);
  static_assert(sn::HandleStructure<network<sn::handles>>);
  static_assert(!sn::HandleStructure<network<floats>>);
  static_assert(sn::trained_parameters<network<sn::handles>>() ==
                std::array{true, true, true, true, false});
  network<floats> m = example();
  std::vector<std::int64_t> sizes;
  sn::for_each_parameter(m, [&](const auto& x) { sizes.push_back(x.size()); });
  CHECK(sizes == std::vector<std::int64_t>{6, 2, 4, 4, 2});
}

TEST_CASE("parameters have the names of the members on the way to them") {
  const network<floats> m = example();
  std::vector<std::string> names;
  sn::for_each_named_parameter(
      m, [&](const std::string& name, const auto&) { names.push_back(name); });
  CHECK(names == std::vector<std::string>{"first.weight", "first.bias", "middle.0.weight",
                                          "middle.1.weight", "seen"});
  const std::array<affine<floats>, 1> list{m.first};
  names.clear();
  sn::for_each_named_parameter(
      list, [&](const std::string& name, const auto&) { names.push_back(name); });
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias"});
}

TEST_CASE("a struct is an argument like the tensors in it, frozen too") {
  const network<floats> m = example();
  auto whole = sn::fuse([](auto model, auto x) { return model(x); });
  auto apart = sn::fuse([](auto x, auto w, auto b, auto u, auto v) {
    return sn::tanh(sn::matmul(sn::tanh(sn::matmul(sn::matmul(x, w) + b, u)), v));
  });
  const sn::tensor<float, 2> expected =
      apart(input, m.first.weight, m.first.bias, m.middle[0].weight, m.middle[1].weight);
  const auto y = whole(m, input);
  static_assert(std::is_same_v<decltype(y), const sn::tensor<float, 2>>);
  CHECK(y == expected);
  CHECK(whole(sn::frozen(m), input) == expected);
  CHECK(whole(sn::frozen(m), input) == expected);
  CHECK(whole.statistics().saturations == 2);
  const affine<floats, false> last = m.middle[1];
  const sn::tensor<float, 2> direct = sn::relu(last(sn::tensor<float, 2>{{1, 2}}));
  CHECK(direct == sn::tensor<float, 2>{{0, 2}});
  sn::tensor<float, 2> out;
  whole.into(out)(m, input);
  CHECK(out == expected);
  network<floats> wrong = m;
  wrong.first.weight = sn::tensor<float, 2>(4, 2);
  CHECK_THROWS_AS(whole(wrong, input), sn::shape_error);
}

TEST_CASE("gradients by a struct are a struct, and assignments change it in place") {
  auto step = sn::fuse([](auto model, auto x, auto rate) {
    const auto loss = sn::sum(sn::square(model(x)));
    const auto slopes = sn::gradients(loss, model);
    static_assert(std::is_same_v<decltype(slopes), const decltype(model)>);
    auto moved = model;
    moved.first.weight = model.first.weight - rate * slopes.first.weight;
    moved.middle[1].weight = model.middle[1].weight - rate * slopes.middle[1].weight;
    return sn::outputs(loss, sn::assign(model, moved), slopes.first.weight);
  });
  network<floats> m = example();
  const network<floats> before = m;
  const auto [loss, slope] = step(m, input, 0.125f);
  CHECK(loss.item() > 0);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 2; ++k)
      CHECK(m.first.weight(i, k) == before.first.weight(i, k) - 0.125f * slope(i, k));
  CHECK(m.middle[0].weight == before.middle[0].weight);
  CHECK(m.middle[1].weight != before.middle[1].weight);
  CHECK(m.seen.value == before.seen.value);
  const network<floats> fixed = before;
  CHECK_THROWS_AS(step(fixed, input, 0.125f), sn::graph_error);
  CHECK_THROWS_AS(step(sn::frozen(m), input, 0.125f), sn::graph_error);
  CHECK_THROWS_AS(step(example(), input, 0.125f), sn::graph_error);
}

TEST_CASE("a struct of results is a struct of tensors, and goes into one") {
  auto slopes =
      sn::fuse([](auto model, auto x) { return sn::gradients(sn::sum(model(x)), model); });
  network<floats> m = example(), found{};
  slopes.into(found)(m, input);
  const auto fresh = slopes(m, input);
  static_assert(std::is_same_v<decltype(fresh), const network<floats>>);
  CHECK(found.first.weight == fresh.first.weight);
  CHECK(found.middle[1].weight == fresh.middle[1].weight);
  CHECK(found.seen.value == sn::tensor<float, 1>{0, 0});
  CHECK(found.first.weight != sn::tensor<float, 2>(3, 2));
  auto several = sn::fuse([](auto model, auto x) {
    const auto y = model(x);
    return sn::outputs(sn::sum(y), model.middle, sn::cast<double>(model.seen.value));
  });
  const auto [total, middle, seen] = several(m, input);
  static_assert(std::is_same_v<decltype(middle), const std::array<affine<floats, false>, 2>>);
  CHECK(middle[1].weight == m.middle[1].weight);
  CHECK(seen == sn::tensor<double, 1>{7, 8});
}

TEST_CASE("arrays of tensors, and structs of several kinds of elements") {
  auto total = sn::fuse([](auto list) { return list[0] + 2.0f * list[2] - list[1]; });
  const std::array<sn::tensor<float, 1>, 3> list{sn::tensor<float, 1>{1, 2}, {3, 4}, {5, 6}};
  CHECK(total(list) == sn::tensor<float, 1>{8, 10});
  struct none {};
  auto alone = sn::fuse([](auto, auto x) { return x + 1.0f; });
  CHECK(alone(none{}, list[0]) == sn::tensor<float, 1>{2, 3});
}

TEST_CASE("a function that is traced by its first call on request") {
  const network<floats> m = example();
  auto early = sn::fuse([](auto model, auto x) { return model(x); });
  auto late = sn::fuse(sn::trace_in_first_call([](auto model, auto x) { return model(x); }));
  const auto y = late(m, input);
  static_assert(std::is_same_v<decltype(y), const sn::any_tensor>);
  const sn::tensor<float, 2> expected = early(m, input);
  const sn::tensor<float, 2> found = y;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) CHECK(found(i, k) == doctest::Approx(expected(i, k)));
  sn::function<sn::tensor<float, 2>(const network<floats>&, const sn::tensor<float, 2>&)> f =
      std::move(late);
  CHECK(f(m, input) == found);
}

TEST_CASE("the same forward function in a graph that is built at run time") {
  const network<floats> m = example();
  auto fused = sn::fuse([](auto model, auto x) { return model(x); });
  sn::graph_builder g;
  const auto model = g.bound("model", m);
  const sn::handle x = g.argument("x", sn::dtype::f32, {sn::sym("rows"), 3});
  const sn::graph_function f = g.compile({model(x)});
  const sn::tensor<float, 2> y = f({input})[0], expected = fused(m, input);
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) CHECK(y(i, k) == doctest::Approx(expected(i, k)));
}

}  // namespace structure_test
