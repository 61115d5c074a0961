// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include <sinter/tensor/tensor.hpp>

namespace tensor_test {

namespace sn = sinter;

// A rank and all-dynamic extents name one type.
static_assert(
    std::is_same_v<sn::tensor<float, 2>, sn::tensor<float, sn::extents<sn::dyn, sn::dyn>>>);
static_assert(!std::is_same_v<sn::tensor<float, 2>, sn::tensor<float, sn::extents<sn::dyn, 4>>>);
static_assert(!std::is_constructible_v<sn::tensor<float, 2>, int>);
static_assert(!std::is_convertible_v<const sn::tensor<float, 1>&, sn::tensor<float, 2>>);
static_assert(!std::is_convertible_v<const sn::tensor<double, 2>&, sn::tensor<float, 2>>);
static_assert(std::is_nothrow_move_constructible_v<sn::tensor<float, 2>>);
static_assert(std::is_nothrow_move_assignable_v<sn::tensor<float, 2>>);

namespace {

// What a lazily evaluated expression looks like to a tensor: fills [2, 3] with a number.
struct constant_expression {
  float value;

  template <class T, sn::extents_spec E>
  void evaluate_to(sn::tensor<T, E>& target) const {
    target.resize({2, 3});
    target.fill(value);
  }
};

template <class T>
bool aligned(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sn::storage_alignment == 0;
}

// What Linux says of the mapping that an address is in, " rd wr mr mw me hg" or so; empty where it
// says nothing or has no huge pages.
std::string mapping_flags(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) return "";
  std::ifstream mappings("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(mappings, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-')
      inside = begin <= wanted && wanted < end;
    else if (inside && line.starts_with("VmFlags:"))
      return line.substr(8);
  }
  return "";
}

}  // namespace

TEST_CASE("construction from extents") {
  const sn::tensor<float, 2> x(3, 4);
  CHECK(x.shape() == sn::shape_vector{3, 4});
  CHECK(x.size() == 12);
  CHECK(x.extent(1) == 4);
  CHECK(aligned(x.data()));
  for (const float element : x) CHECK(element == 0.0f);

  CHECK(sn::tensor<float, 2>({3, 4}) == x);
  CHECK(sn::tensor<float, 2>(sn::shape_vector{3, 4}) == x);
  CHECK(sn::tensor<float, 2>::zeros({3, 4}) == x);
  CHECK(sn::tensor<float, 1>(5).size() == 5);

  const auto sevens = sn::tensor<std::int32_t, 3>::full({2, 1, 2}, 7);
  CHECK(sevens.size() == 4);
  for (const std::int32_t element : sevens) CHECK(element == 7);
}

TEST_CASE("construction from elements is row-major") {
  const sn::tensor<float, 2> x{{1, 2, 3}, {4, 5, 6}};
  CHECK(x.shape() == sn::shape_vector{2, 3});
  CHECK(x(1, 0) == 4);
  CHECK(x.data()[5] == 6);
  const sn::tensor<bool, 1> flags{true, false};
  CHECK(flags.size() == 2);
  CHECK(flags(0));
  CHECK_THROWS_AS((sn::tensor<float, 2>{{1, 2}, {3}}), sn::shape_error);
  CHECK_THROWS_AS((sn::tensor<float, sn::extents<2>>{1, 2, 3}), sn::shape_error);
}

TEST_CASE("default construction") {
  CHECK(sn::tensor<float, 2>().shape() == sn::shape_vector{0, 0});
  CHECK(sn::tensor<float, 2>().empty());
  CHECK(sn::tensor<float, sn::extents<3, 4>>() == sn::tensor<float, 2>(3, 4));
  CHECK(sn::tensor<float, sn::extents<sn::dyn, 4>>().shape() == sn::shape_vector{0, 4});
  const sn::tensor<float, 0> scalar;
  CHECK(scalar.size() == 1);
  CHECK(scalar.item() == 0.0f);
}

TEST_CASE("rank 0 converts to its element") {
  sn::tensor<double, 0> x(2.5);
  const double value = x;
  CHECK(value == 2.5);
  x() = 3.0;
  CHECK(x.item() == 3.0);
  CHECK(x.shape() == sn::shape_vector{});
}

TEST_CASE("extents are checked in every build") {
  using fixed = sn::tensor<float, sn::extents<sn::dyn, 4>>;
  CHECK(fixed(3, 4).size() == 12);
  CHECK_THROWS_WITH_AS(fixed(3, 5), "tensor: shape [3, 5] does not fit the type's extents [?, 4]",
                       sn::shape_error);
  CHECK_THROWS_AS((sn::tensor<float, 2>(3, -1)), sn::shape_error);
  CHECK_THROWS_AS((sn::tensor<float, 2>(sn::shape_vector{3})), sn::shape_error);
  CHECK_THROWS_AS((sn::tensor<float, 2>(std::int64_t{1} << 40, std::int64_t{1} << 40)),
                  sn::shape_error);
  CHECK_THROWS_AS((sn::tensor<double, 1>(std::int64_t{1} << 62)), sn::shape_error);
  // Without elements no extent is too large.
  CHECK((sn::tensor<float, 3>(std::int64_t{1} << 40, std::int64_t{1} << 40, 0)).empty());
  CHECK_THROWS_AS((sn::tensor<float, 2>(1, 1).extent(2)), sn::axis_error);
  CHECK_THROWS_AS((sn::tensor<float, 2>(1, 1).extent(-1)), sn::axis_error);
}

TEST_CASE("copying copies the elements, moving steals them") {
  sn::tensor<float, 1> x{1, 2, 3};
  sn::tensor<float, 1> copy = x;
  copy(0) = 9;
  CHECK(x(0) == 1);

  const float* elements = x.data();
  sn::tensor<float, 1> stolen = std::move(x);
  CHECK(stolen.data() == elements);
  x = copy;
  CHECK(x == copy);
  x = std::move(stolen);
  CHECK(x.data() == elements);
  const auto& same = x;
  x = same;
  CHECK(x == sn::tensor<float, 1>{1, 2, 3});
}

TEST_CASE("a moved-from tensor may be copied, assigned and destroyed") {
  sn::tensor<float, sn::extents<3>> x{1, 2, 3};
  const sn::tensor<float, sn::extents<3>> stolen = std::move(x);
  const sn::tensor<float, sn::extents<3>> copy = x;
  CHECK(copy.data() == nullptr);
  x = stolen;
  CHECK(x == stolen);
}

TEST_CASE("conversion between static and dynamic extents") {
  using fixed = sn::tensor<float, sn::extents<2, 3>>;
  sn::tensor<float, 2> x{{1, 2, 3}, {4, 5, 6}};
  fixed y = x;
  CHECK(y == x);
  sn::tensor<float, sn::extents<sn::dyn, 3>> z = y;
  CHECK(z == y);
  const float* elements = x.data();
  y = std::move(x);
  CHECK(y.data() == elements);

  const sn::tensor<float, 2> other(3, 2);
  CHECK_THROWS_AS(fixed{other}, sn::shape_error);
  CHECK_THROWS_AS(y = other, sn::shape_error);
  sn::tensor<float, 2> temporary(3, 2);
  CHECK_THROWS_AS(y = std::move(temporary), sn::shape_error);
  CHECK(temporary.size() == 6);  // what throws takes nothing
  CHECK(y == z);
}

TEST_CASE("equality compares shapes and elements") {
  CHECK(sn::tensor<float, 1>{1, 2} == sn::tensor<float, sn::extents<2>>{1, 2});
  CHECK(sn::tensor<float, 1>{1, 2} != sn::tensor<float, 1>{1, 3});
  CHECK(sn::tensor<float, 2>(2, 3) != sn::tensor<float, 2>(3, 2));
  CHECK(sn::tensor<float, 2>(2, 0) != sn::tensor<float, 2>(0, 2));
}

TEST_CASE("resize keeps storage that fits and that nobody else shares") {
  sn::tensor<float, 2> x(3, 4);
  const float* elements = x.data();
  x.resize({4, 3});
  CHECK(x.data() == elements);
  CHECK(x.shape() == sn::shape_vector{4, 3});
  CHECK_THROWS_AS(x.resize({4}), sn::shape_error);
  CHECK(x.shape() == sn::shape_vector{4, 3});

  x.fill(5);
  const auto shared = x.share();
  x.resize({4, 3});
  CHECK(x.data() != elements);
  CHECK(shared.data() == elements);
  x.fill(6);
  CHECK(shared.data()[11] == 5);
}

TEST_CASE("large blocks are aligned and whole, and ask for huge pages") {
  const std::size_t limit = sn::huge_pages_from;
  for (const std::size_t bytes : {limit - 64, limit - 1, limit, limit + 1, 3 * limit + 4097}) {
    CAPTURE(bytes);
    const sn::storage block(bytes);
    CHECK(block.size_bytes() == bytes);
    CHECK(aligned(block.data()));
    block.data()[0] = std::byte{1};
    block.data()[bytes - 1] = std::byte{2};
    CHECK(block.data()[0] == std::byte{1});
    const std::string flags = mapping_flags(block.data() + bytes / 2);
    if (!flags.empty() && bytes >= limit) CHECK(flags.find(" hg") != std::string::npos);
  }
}

TEST_CASE("large blocks begin at different offsets") {
  const auto steps_after = [](std::size_t before) {
    const std::size_t now = sn::next_block_offset();
    CHECK(now % sn::block_offset_step == 0);
    constexpr std::size_t turn = sn::block_offsets * sn::block_offset_step;
    CHECK(now < turn);
    return (turn + now - before) / sn::block_offset_step % sn::block_offsets;
  };
  const std::size_t first = sn::next_block_offset();
  for (std::size_t i = 1; i <= sn::block_offsets; ++i)
    CHECK(steps_after(first) == i % sn::block_offsets);
  const std::size_t large = sn::next_block_offset();
  const sn::storage a(sn::huge_pages_from);
  CHECK(steps_after(large) == 2);
  const std::size_t small = sn::next_block_offset();
  const sn::storage b(sn::huge_pages_from - 64);
  CHECK(steps_after(small) == 1);
}

TEST_CASE("shared elements outlive their tensor") {
  auto shared = [] {
    const sn::tensor<float, 1> local{1, 2, 3};
    return local.share();
  }();
  CHECK(shared.shape() == sn::shape_vector{3});
  CHECK(shared.data()[2] == 3);
  CHECK_FALSE(shared.block.shared());
  const auto again = shared;
  CHECK(again.block == shared.block);
  CHECK(shared.block.shared());
}

TEST_CASE("assigning to a tensor leaves what shares its elements alone") {
  sn::tensor<float, 1> x{1, 2, 3};
  const auto shared = x.share();
  x = sn::tensor<float, 1>{4, 5, 6};
  CHECK(shared.data()[0] == 1);
  const auto shared_again = x.share();
  const sn::tensor<float, 1> other{7, 8, 9};
  x = other;
  CHECK(shared_again.data()[0] == 4);
  CHECK(x(0) == 7);
}

TEST_CASE("an expression is evaluated by construction and assignment") {
  sn::tensor<float, 2> x = constant_expression{3};
  CHECK(x == sn::tensor<float, 2>::full({2, 3}, 3));
  const float* elements = x.data();
  x = constant_expression{4};
  CHECK(x == sn::tensor<float, 2>::full({2, 3}, 4));
  CHECK(x.data() == elements);
  using wrong = sn::tensor<float, sn::extents<2, 4>>;
  CHECK_THROWS_AS(wrong{constant_expression{1}}, sn::shape_error);
}

TEST_CASE("shapes print, count and have row-major strides") {
  CHECK(sn::to_string(sn::shape_vector{3, 4}) == "[3, 4]");
  CHECK(sn::to_string(sn::shape_vector{}) == "[]");
  CHECK(sn::to_string(sn::extents<sn::dyn, 784>) == "[?, 784]");
  static_assert(sn::element_count({3, 4}) == 12);
  static_assert(sn::element_count({}) == 1);
  static_assert(sn::row_major_strides({2, 3, 4}) == sn::shape_vector{12, 4, 1});
  CHECK(sn::row_major_strides({2, 0, 4}) == sn::shape_vector{4, 4, 1});
}

TEST_CASE("contents are current until the elements are written or freed") {
  sn::tensor<float, 2> x(3, 4);
  const auto now = [&] { return x.storage().current_contents(); };
  CHECK(now() == now());
  CHECK(now().is_current());
  const auto changes = [&](auto write) {
    const sn::contents before = now();
    write();
    return !before.is_current() && !(before == now()) && now().is_current();
  };
  CHECK(changes([&] { x.fill(1); }));
  CHECK(changes([&] { *x.begin() = 2; }));
  CHECK(changes([&] { x.data()[3] = 2; }));
  CHECK(changes([&] { x.touch(); }));
  CHECK(changes([&] { x = sn::tensor<float, 2>(3, 4); }));
  const sn::tensor<float, 2> other(3, 4);
  CHECK(changes([&] { x = other; }));  // in the same storage
  CHECK(changes([&] { x.resize({2, 2}); }));
  const sn::tensor<float, 2>& same = x;
  CHECK(!changes([&] { CHECK(same(0, 0) == same.data()[0]); }));
  CHECK(!changes([&] { x(0, 0) = 3; }));  // who writes one by one says so
  CHECK(!changes([&] { const auto kept = x.share(); }));

  sn::contents last = now();
  sn::contents copied = last;
  {
    // A move takes the elements along.
    const sn::tensor<float, 2> moved = std::move(x);
    CHECK(moved.storage().current_contents() == last);
    CHECK(copied.is_current());
  }
  CHECK(!last.is_current());
  CHECK(!copied.is_current());
  copied = sn::contents{};
  CHECK(copied.is_current());
  CHECK(!(copied == last));
  CHECK(sn::storage{}.current_contents() == sn::contents{});
}

}  // namespace tensor_test
