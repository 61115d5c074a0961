// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "support/temporary_file.hpp"
#include <sinter/files/mapped_file.hpp>
#include <sinter/sinter.hpp>

namespace mapped_file_test {

namespace sn = sinter;
using test_support::temporary_file;

namespace {

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

template <class Function>
std::string message_of(Function&& f) {
  try {
    f();
  } catch (const sn::error& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a file's bytes, shared by copies and tensors") {
  const temporary_file file(raw<float>({1, 2, 3, 4, 5, 6}));
  sn::shared_tensor<float, 2> x;
  {
    const sn::mapped_file mapped(file.path);
    const sn::mapped_file copy = mapped;
    CHECK(copy.size() == 24);
    CHECK(copy.bytes().data() == mapped.bytes().data());
    CHECK(std::memcmp(copy.bytes().data(), file.read().data(), 24) == 0);
    x = copy.tensor_at<float, 2>(4, {2, 2});
    CHECK(static_cast<const void*>(x.data()) == mapped.bytes().data() + 4);
    const sn::storage read = sn::detail::read_file(file.path);  // where nothing can be mapped
    CHECK(read.size_bytes() == 24);
    CHECK(std::memcmp(read.data(), mapped.bytes().data(), 24) == 0);
  }
  CHECK(sn::tensor<float, 2>(x) == sn::tensor<float, 2>{{2, 3}, {4, 5}});
  CHECK(sn::map_tensor<float, 1>(file.path, {6}).data()[5] == 6);
  CHECK(sn::map_tensor<float, 0>(file.path, {}, 20).data()[0] == 6);
}

TEST_CASE("a tensor from a file wherever a tensor may stand") {
  const temporary_file file(raw<float>({9, 1, -2, 3, -4}));
  const auto x = sn::map_tensor<float, 2>(file.path, {2, 2}, 4);
  const sn::tensor<float, 2> expected{{1, 0}, {3, 0}};

  const sn::tensor<float, 2> y = sn::relu(x);
  CHECK(y == expected);
  auto relu = sn::fuse([](auto a) { return sn::relu(a); });
  CHECK(relu(x) == expected);
  CHECK(relu(sn::frozen(x)) == expected);
  CHECK(relu(sn::frozen(sn::map_tensor<float, 2>(file.path, {2, 2}, 4))) == expected);
  const sn::view<const float, 2> view(x);
  CHECK(relu(view) == expected);
  CHECK(view(1, 1) == -4);
  sn::tensor<float, sn::extents<2, sn::dyn>> copy = x;
  CHECK(copy(1, 0) == 3);
  const sn::any_tensor any = x;
  CHECK(any.data() == x.data());
  CHECK(any.share<float, 2>().data() == x.data());
  CHECK_THROWS_AS((any.share<double, 2>()), sn::dtype_error);
  CHECK_THROWS_AS((any.share<float, 1>()), sn::shape_error);

  // Nobody writes to it.
  auto update = sn::fuse([](auto a) { return sn::outputs(sn::assign(a, a + 1.0f)); });
  CHECK_THROWS_AS(update(x), sn::graph_error);
  CHECK(x.data()[0] == 1);
}

TEST_CASE("what is computed from a frozen tensor of a file is kept as long as the tensor is") {
  const temporary_file file(raw<float>({1, 2, 3, 4}));
  auto f = sn::fuse([](auto x, auto w) { return sn::matmul(x, sn::exp(w)); });
  auto w = sn::map_tensor<float, 2>(file.path, {2, 2});
  const sn::tensor<float, 2> x{{1, 0}};
  const sn::tensor<float, 2> first = f(x, sn::frozen(w));
  CHECK(f(x, sn::frozen(w)) == first);
  // Another mapping, perhaps at the same address, is another tensor.
  w = {};
  file.write(raw<float>({0, 0, 0, 0}));
  w = sn::map_tensor<float, 2>(file.path, {2, 2});
  CHECK(f(x, sn::frozen(w)) == sn::tensor<float, 2>{{1, 1}});
}

TEST_CASE("elements that are not aligned are copied, booleans checked") {
  const temporary_file file("\1" + raw<double>({1.5, 2.5}));
  const sn::mapped_file mapped(file.path);
  const auto x = mapped.tensor_at<double, 1>(1, {2});
  CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % 8 == 0);
  CHECK(x.data()[1] == 2.5);
  CHECK(mapped.tensor_at<bool, 0>(0, {}).data()[0]);
  CHECK(message_of([&] { mapped.tensor_at<bool, 1>(0, {17}); }) ==
        file.path + ", byte 7: a boolean that is neither 0 nor 1");
}

TEST_CASE("tensors that are not in the file") {
  const temporary_file file(raw<float>({1, 2}));
  const sn::mapped_file mapped(file.path);
  const auto asked = [&](std::size_t offset, const sn::shape_vector& shape) {
    return message_of([&] { mapped.tensor_at(sn::dtype::f32, offset, shape); });
  };
  CHECK(asked(0, {2}) == "none");
  CHECK(asked(8, {0}) == "none");
  CHECK(asked(8, {}) ==
        file.path + ", byte 8: shape [] of f32 does not fit into the 8 bytes of the file");
  CHECK(asked(5, {1}).find("byte 5: shape [1]") != std::string::npos);
  CHECK(asked(9, {0}).find("does not fit into") != std::string::npos);
  CHECK(asked(static_cast<std::size_t>(-1), {1}).find("does not fit into") != std::string::npos);
  CHECK(asked(0, {std::int64_t{1} << 62}).find("does not fit into") != std::string::npos);
  CHECK(asked(0, {std::int64_t{1} << 62, 4}).find("more elements than can be counted") !=
        std::string::npos);
  CHECK(asked(0, {-1}).find("negative extent") != std::string::npos);
  CHECK_THROWS_AS((mapped.tensor_at<float, 2>(0, {2})), sn::shape_error);
}

TEST_CASE("files that cannot be mapped") {
  CHECK(message_of([] {
          sn::mapped_file("/nonexistent/x");
        }).starts_with("/nonexistent/x, byte 0: cannot open the file: "));
  CHECK(message_of([] { sn::mapped_file("/"); }) == "/, byte 0: not a regular file");
  CHECK(message_of([] { sn::mapped_file("/dev/null"); }) ==
        "/dev/null, byte 0: not a regular file");
  CHECK_THROWS_AS(sn::detail::read_file("/nonexistent/x"), sn::io_error);
  const temporary_file empty("");
  const sn::mapped_file mapped(empty.path);
  CHECK(mapped.size() == 0);
  CHECK(mapped.tensor_at<float, 1>(0, {0}).size() == 0);
}

}  // namespace mapped_file_test
