// SPDX-License-Identifier: MIT
// Arrays that grow in place: contents below, at and above the size where huge pages begin.
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <doctest/doctest.h>

#include <sinter/support/growing_memory.hpp>
#include <sinter/support/large_vector.hpp>

namespace large_vector_test {

using sinter::large_vector;

namespace {

constexpr std::size_t page_numbers = (std::size_t{1} << 21) / sizeof(std::uint32_t);

bool counts_up(const large_vector<std::uint32_t>& v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (v[i] != i) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("push_back keeps what is there, through moves of all sizes") {
  large_vector<std::uint32_t> v;
  CHECK(v.empty());
  for (std::uint32_t i = 0; i < 5 * page_numbers; ++i) v.push_back(i);
  CHECK(v.size() == 5 * page_numbers);
  CHECK(counts_up(v));
  v.push_back(v[7]);
  CHECK(v[v.size() - 1] == 7);
}

TEST_CASE("copies are independent, moves leave nothing behind") {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, page_numbers - 1, page_numbers,
                              page_numbers + 1, 3 * page_numbers}) {
    CAPTURE(n);
    large_vector<std::uint32_t> a;
    for (std::uint32_t i = 0; i < n; ++i) a.push_back(i);
    large_vector<std::uint32_t> b = a;
    b.resize(n + 1, 5);
    CHECK(b[n] == 5);
    CHECK(a.size() == n);
    CHECK(counts_up(a));
    large_vector<std::uint32_t> c = std::move(a);
    CHECK(c.size() == n);
    CHECK(counts_up(c));
    CHECK(a.empty());
    c = b;
    CHECK(c.size() == n + 1);
    CHECK(c.data() != b.data());
  }
}

TEST_CASE("resize, append and clear") {
  large_vector<std::uint32_t> v(3, 9);
  CHECK(v.size() == 3);
  CHECK(v[2] == 9);
  const std::uint32_t more[] = {1, 2};
  v.append(more, 2);
  CHECK(v[3] == 1);
  CHECK(v[4] == 2);
  std::uint32_t* const two = v.append(2);
  two[0] = 6;
  two[1] = 7;
  CHECK(v.size() == 7);
  CHECK(v[6] == 7);
  v.resize(1);
  CHECK(v.size() == 1);
  v.resize(2);
  CHECK(v[1] == 0);
  v.clear();
  CHECK(v.empty());
}

TEST_CASE("memory larger than there is") {
  sinter::growing_memory memory;
  memory.grow(100);
  CHECK_THROWS_AS(memory.grow(std::size_t{1} << 60), std::bad_alloc);
  CHECK(memory.bytes() == 100);
  memory.grow(std::size_t{1} << 22);
  CHECK_THROWS_AS(memory.grow(std::size_t{1} << 60), std::bad_alloc);
  CHECK(memory.bytes() == std::size_t{1} << 22);
}

}  // namespace large_vector_test
