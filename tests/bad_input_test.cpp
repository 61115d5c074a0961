// SPDX-License-Identifier: MIT
// Bad input is named, in every build type, before anything is written.
#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace bad_input_test {

namespace sn = sinter;

TEST_CASE("matmul of the wrong inner extent names op and shapes, and changes nothing") {
  auto f = sn::fuse(
      [](auto x, auto w) { return sn::outputs(sn::assign(x, x + 1.0f), sn::matmul(x, w)); });
  sn::tensor<float, 2> x(2, 3), w(4, 5);
  const auto kept = x;
  CHECK_THROWS_WITH_AS(f(x, w), doctest::Contains("matmul(f32[2, 3], f32[4, 5])"), sn::shape_error);
  CHECK(x == kept);
}

TEST_CASE("reshape of the wrong size") {
  auto f = sn::fuse([](auto x) { return sn::reshape(x, 3, 5); });
  sn::tensor<float, 1> x(16);
  CHECK_THROWS_WITH_AS(f(x), doctest::Contains("reshape(f32[16]): 16 elements cannot become 15"),
                       sn::shape_error);
}

TEST_CASE("an index outside of a gather's range") {
  auto f = sn::fuse(
      [](auto x, auto i) { return sn::outputs(sn::assign(x, x * 2.0f), sn::gather(x, i, 0)); });
  sn::tensor<float, 2> x{{1, 2}, {3, 4}};
  const auto kept = x;
  for (const std::int32_t bad : {-1, 2, 1000}) {
    sn::tensor<std::int32_t, 1> index{0, bad};
    CHECK_THROWS_WITH_AS(f(x, index), doctest::Contains(std::to_string(bad).c_str()),
                         sn::index_error);
    CHECK(x == kept);
  }
}

TEST_CASE("computed indices are checked before any output or argument is written") {
  auto f = sn::fuse([](auto x, auto y, auto i) {
    return sn::outputs(sn::assign(x, x * 2.0f), sn::gather(y, i + 1, 0));
  });
  sn::tensor<float, 1> x{1, 2, 3}, y{5, 6, 7}, out{7, 7};
  const auto kept = x;
  const sn::tensor<std::int32_t, 1> good{0, 1}, bad{0, 5};
  CHECK_THROWS_AS(f(x, y, bad), sn::index_error);
  CHECK_THROWS_AS(f.into(out)(x, y, bad), sn::index_error);
  CHECK(x == kept);
  CHECK(out == sn::tensor<float, 1>{7, 7});
  CHECK(f(x, y, good) == sn::tensor<float, 1>{6, 7});
  CHECK(x == sn::tensor<float, 1>{2, 4, 6});

  // The indices are an output themselves, and the result of one gather indexes the next.
  auto g = sn::fuse([](auto v, auto i) {
    auto next = i + 1;
    auto first = sn::gather(v, next, 0);
    return sn::outputs(sn::assign(i, next), first, sn::gather(v, sn::cast<std::int32_t>(first), 0));
  });
  sn::tensor<std::int32_t, 1> i{0, 1};
  sn::tensor<float, 1> far{0, 1, 9}, near{0, 2, 1};
  CHECK_THROWS_AS(g(far, i), sn::index_error);  // the second gather: 9 of 3
  CHECK(i == sn::tensor<std::int32_t, 1>{0, 1});
  const auto [a, b] = g(near, i);
  CHECK(a == sn::tensor<float, 1>{2, 1});
  CHECK(b == sn::tensor<float, 1>{1, 2});
  CHECK(i == sn::tensor<std::int32_t, 1>{1, 2});
}

TEST_CASE("a call that throws leaves the results it was given as they are") {
  auto f = sn::fuse([](auto x, auto i) { return sn::outputs(x + 1.0f, sn::gather(x, i, 0)); });
  const sn::tensor<float, 1> x{1, 2};
  const sn::tensor<std::int32_t, 1> bad{5}, good{1};
  sn::tensor<float, 1> sum{7, 7, 7}, picked{8, 8};
  CHECK_THROWS_AS(f.into(sum, picked)(x, bad), sn::index_error);
  CHECK(sum == sn::tensor<float, 1>{7, 7, 7});
  CHECK(picked == sn::tensor<float, 1>{8, 8});
  // The first result would have to be resized, the second cannot be.
  float four[4] = {};
  sn::view<float, 1> wrong(four, {4});
  CHECK_THROWS_AS(f.into(sum, wrong)(x, good), sn::shape_error);
  CHECK(sum == sn::tensor<float, 1>{7, 7, 7});
  f.into(sum, picked)(x, good);
  CHECK(sum == sn::tensor<float, 1>{2, 3});
  CHECK(picked == sn::tensor<float, 1>{2});
}

TEST_CASE("a result that replaces an argument of another shape") {
  auto f = sn::fuse([](auto x) { return sn::sum(x, 0, true); });
  sn::tensor<float, 2> x = sn::tensor<float, 2>::full({300, 2}, 1);
  f.into(x)(x);
  CHECK(x == sn::tensor<float, 2>{{300, 300}});
}

TEST_CASE("an output that overlaps an input it may not overlap") {
  auto transpose = sn::fuse([](auto x) { return sn::transpose(x) + 1.0f; });
  sn::tensor<float, 2> x{{1, 2}, {3, 4}};
  CHECK_THROWS_AS(transpose.into(x)(x), sn::alias_error);
  CHECK(x == sn::tensor<float, 2>{{1, 2}, {3, 4}});

  auto plain = sn::fuse([](auto y) { return y + 1.0f; });
  plain.into(x)(x);
  CHECK(x == sn::tensor<float, 2>{{2, 3}, {4, 5}});

  // The same memory in another order, and an argument that lies before its pointer.
  sn::view<float, 2> transposed(x.data(), {2, 2}, {1, 2});
  CHECK_THROWS_AS(sn::fuse([](auto y) { return y * 2.0f; }).into(x)(transposed), sn::alias_error);
  CHECK(x == sn::tensor<float, 2>{{2, 3}, {4, 5}});
  sn::tensor<float, 1> long_line(40);
  sn::view<float, 1> reversed(long_line.data() + 20, {20}, {-1}), head(long_line.data(), {20});
  CHECK_THROWS_AS(sn::fuse([](auto y) { return y * 2.0f; }).into(head)(reversed), sn::alias_error);

  sn::tensor<float, 1> line(8);
  sn::view<float, 1> front(line.data(), {6}), back(line.data() + 2, {6});
  CHECK_THROWS_AS(plain.into(back)(front), sn::alias_error);
}

TEST_CASE("parameters of a norm that do not fit the normalised axis") {
  const sn::tensor<float, 2> x(2, 1);
  const sn::tensor<float, 1> gamma(3);
  CHECK_THROWS_AS((sn::tensor<float, 2>(sn::rms_norm(x, gamma))), sn::shape_error);
}

TEST_CASE("assigning to something that is const") {
  auto f = sn::fuse([](auto x) { return sn::outputs(sn::assign(x, x + 1.0f)); });
  const sn::tensor<float, 1> x{1, 2};
  CHECK_THROWS_AS(f(x), sn::graph_error);
}

TEST_CASE("expressions report the same faults when they are evaluated") {
  sn::tensor<float, 2> x(2, 3), w(4, 5);
  CHECK_THROWS_WITH_AS((sn::tensor<float, 2>(sn::matmul(x, w))),
                       doctest::Contains("matmul(f32[2, 3], f32[4, 5])"), sn::shape_error);
  CHECK_THROWS_AS((sn::tensor<float, 2>(sn::sum(x, 2, true))), sn::axis_error);
  CHECK_THROWS_AS((sn::tensor<float, 2>(sn::permute(x, {0, 0}))), sn::axis_error);
}

TEST_CASE("a slice that fits one extent is checked again for a shorter one") {
  auto f = sn::fuse([](auto x) { return sn::slice(x, 0, 2, 6) * 1.0f; });
  sn::tensor<float, 1> eight{0, 1, 2, 3, 4, 5, 6, 7}, five(5);
  CHECK(f(eight) == sn::tensor<float, 1>{2, 3, 4, 5});
  CHECK_THROWS_AS(f(five), sn::shape_error);
}

}  // namespace bad_input_test
