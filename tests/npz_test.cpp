// SPDX-License-Identifier: MIT
// component: npz
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "support/corrupt_file.hpp"
#include "support/temporary_file.hpp"
#include "support/zip_bytes.hpp"
#include <sinter/files/npz.hpp>

namespace npz_test {

namespace sn = sinter;
using test_support::data_file;
using test_support::temporary_file;
using test_support::zip_bytes;
using test_support::zip_member;

namespace {

template <class T>
void check_extremes(const sn::npz_file& file) {
  const sn::tensor<T, 2> x = file.get<T, 2>(sn::name(sn::dtype_of<T>));
  if constexpr (std::is_same_v<T, bool>) {
    CHECK(x == sn::tensor<T, 2>{{true, false, true}, {false, false, true}});
  } else if constexpr (std::is_integral_v<T>) {
    constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    CHECK(x == sn::tensor<T, 2>{{least, most, 0}, {1, 2, static_cast<T>(most - 1)}});
  } else {
    const double inf = std::numeric_limits<double>::infinity();
    const double expected[] = {-1.5, 0.25, inf, -0.0, 2.0, 0.1};
    for (int i = 0; i < 6; ++i) CHECK(x.data()[i] == static_cast<T>(expected[i]));
  }
}

std::string npy_bytes(const sn::any_tensor& x) {
  const temporary_file file;
  sn::save_npy(file.path, x);
  return file.read();
}

const sn::tensor<float, 1> three{1, 2, 3};

// What opening an archive of these bytes and reading all of it says behind the file's name.
std::string complaint(const std::string& bytes) {
  const temporary_file file(bytes);
  try {
    const sn::npz_file archive(file.path);
    for (const std::string& name : archive.names()) archive.get(name);
  } catch (const sn::io_error& e) {
    const std::string message = e.what();
    CHECK(message.starts_with(file.path));
    return message.substr(file.path.size());
  }
  return "read";
}

}  // namespace

TEST_CASE("what NumPy wrote, stored and deflated, of every dtype it has") {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const sn::npz_file file(data_file(name));
    for (int i = 0; i < sn::dtype_count; ++i) {
      if (static_cast<sn::dtype>(i) == sn::dtype::bf16) continue;
      sn::dispatch(static_cast<sn::dtype>(i),
                   [&]<class T>(std::type_identity<T>) { check_extremes<T>(file); });
    }
  }
  const sn::npz_file stored(data_file("stored.npz"));
  CHECK(stored.names().size() == 16);
  CHECK(stored.names()[0] == "bool");
  CHECK(sn::tensor<std::int16_t, 2>(stored.get("fortran")) ==
        sn::tensor<std::int16_t, 2>(stored.get("i16")));
  CHECK(stored.get("scalar").item<float>() == 2.5f);
  CHECK(stored.get("empty").shape() == sn::shape_vector{3, 0});
  CHECK(stored.get<std::int32_t, 1>("größe/重み").data()[3] == 3);
  const auto counted = sn::npz_file(data_file("deflated.npz")).get<std::int64_t, 1>("counted");
  for (std::int64_t i = 0; i < 1000; ++i) CHECK(counted.data()[i] == i);
}

TEST_CASE("another dtype, shape or name than there is") {
  const sn::npz_file file(data_file("stored.npz"));
  const std::string who = file.path() + ", member 'f32.npy'";
  CHECK_THROWS_WITH_AS((file.get<double, 2>("f32")),
                       (who + ": the elements are '<f4', expected '<f8' (f64)").c_str(),
                       sn::dtype_error);
  CHECK_THROWS_WITH_AS((file.get<float, 1>("f32")),
                       (who + ": shape [2, 3] does not fit the type's extents [?]").c_str(),
                       sn::shape_error);
  CHECK_THROWS_WITH_AS(file.get("f33"), (file.path() + ": no array 'f33' among 16").c_str(),
                       sn::io_error);
  CHECK(file.contains("f32"));
  CHECK(!file.contains("f32.npy"));
  CHECK(file.converted<double, 2>("f32")(0, 1) == 0.25);
  CHECK_THROWS_AS((file.converted<std::int8_t, 2>("i64")), sn::dtype_error);
}

TEST_CASE("what is saved can be read, and is the same file every time") {
  using enum sn::npz_compression;
  const sn::tensor<double, 2> wide{{1.5, -2}, {3, 4}};
  const sn::tensor<bool, 1> flags{true, false};
  const sn::tensor<float, 2> none(0, 3);
  const sn::tensor<sn::float16, 0> half(sn::float16(0.5f));
  const auto zeros = sn::tensor<std::uint8_t, 1>::zeros({100000});
  const sn::named_tensors tensors{
      {"wide", wide}, {"重み/0", flags}, {"none", none}, {"", half}, {"zeros", zeros}};
  for (const auto compression : {stored, deflated}) {
    const temporary_file file("an older file");
    sn::save_npz(file.path, tensors, compression);
    const sn::npz_file opened(file.path);
    CHECK(opened.names() == std::vector<std::string>{"wide", "重み/0", "none", "", "zeros"});
    CHECK(sn::tensor<double, 2>(opened.get<double, 2>("wide")) == wide);
    CHECK(sn::tensor<bool, 1>(opened.get("重み/0")) == flags);
    CHECK(opened.get("none").shape() == sn::shape_vector{0, 3});
    CHECK(opened.get("").item<sn::float16>() == sn::float16(0.5f));
    CHECK(sn::tensor<std::uint8_t, 1>(opened.get("zeros")) == zeros);
    CHECK((file.read().size() < 10000) == (compression == deflated));

    const temporary_file again;
    sn::save_npz(again.path, tensors, compression);
    CHECK(again.read() == file.read());
  }
  const temporary_file empty;
  sn::save_npz(empty.path, {});
  CHECK(sn::npz_file(empty.path).names().empty());
}

TEST_CASE("what cannot be saved leaves the file as it was") {
  const temporary_file file("before");
  const auto refused = [&](const sn::named_tensors& tensors) {
    try {
      sn::save_npz(file.path, tensors);
    } catch (const sn::error& e) {
      CHECK(file.read() == "before");
      return std::string(e.what()).substr(file.path.size());
    }
    return std::string("saved");
  };
  CHECK(refused({{"a", three}, {"b", three}, {"a", three}}) == ": two tensors 'a'");
  CHECK(refused({{"a", three}, {"b", sn::tensor<sn::bfloat16, 1>{sn::bfloat16(1.0f)}}}) ==
        ", member 'b': the .npy format has no bf16; cast to f32, or bitcast to u16");
  CHECK(refused({{std::string("a\0b", 3), three}}) == ", member 'a?b': a zero byte in a name");
  CHECK(refused({{"\xff\xfe", three}}) == ", member '\xff\xfe': Invalid argument");
  CHECK(refused({{std::string(65532, 'x'), three}})
            .ends_with("...': a name of 65532 bytes, expected at most 65531"));
  CHECK_THROWS_AS(sn::save_npz("/nonexistent/x.npz", {{"a", three}}), sn::io_error);
}

TEST_CASE("several threads read one archive") {
  const sn::npz_file file(data_file("deflated.npz"));
  std::vector<std::jthread> threads;
  std::vector<int> right(4);
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t, copy = file] {
      for (int i = 0; i < 20; ++i)
        right[t] += copy.get<std::int64_t, 1>("counted").data()[999] == 999 &&
                    copy.get<float, 2>("f32").data()[1] == 0.25f;
    });
  threads.clear();
  CHECK(right == std::vector<int>(4, 20));
}

TEST_CASE("damaged archives") {
  const std::string npy = npy_bytes(three);
  CHECK(complaint(zip_bytes({{"a.npy", npy}})) == "read");
  CHECK(complaint(zip_bytes({{"a.npy", npy}, {"notes.txt", "hello"}})) == "read");

  CHECK(complaint("") == ", byte 0: too short for a .zip file");
  CHECK(complaint(npy) == ", byte 0: not a .zip file that can be read: Not a zip archive");
  CHECK(complaint(zip_bytes({{"a.npy", npy}, {"a.npy", npy}})) ==
        ", byte 0: not a .zip file that can be read: File already exists");

  zip_member wrong_sum("a.npy", npy);
  wrong_sum.crc ^= 1;
  CHECK(complaint(zip_bytes({wrong_sum})) ==
        ", member 'a.npy', byte " + std::to_string(npy.size()) + ": CRC error");

  zip_member encrypted("a.npy", npy);
  encrypted.flags = 1;
  CHECK(complaint(zip_bytes({encrypted})) == ", member 'a.npy': encrypted");

  zip_member odd("a.npy", npy);
  odd.method = 12;
  CHECK(complaint(zip_bytes({odd})) ==
        ", member 'a.npy': compressed by method 12, expected stored or deflated");

  // Not deflated bytes, although it says so.
  zip_member garbage("a.npy", std::string(40, '\xff'));
  garbage.method = 8;
  CHECK(complaint(zip_bytes({garbage})) == ", member 'a.npy', byte 0: Zlib error: data error");

  zip_member truncated("a.npy", npy.substr(0, npy.size() - 4));
  CHECK(complaint(zip_bytes({truncated})) ==
        ", member 'a.npy', byte 128: 8 bytes of elements, expected 4 for each in shape [3]");
  CHECK(complaint(zip_bytes({{"a.npy", "hello, reader"}})) ==
        ", member 'a.npy', byte 0: not a .npy file, the magic bytes are missing");
  CHECK(complaint(zip_bytes({{"a.npy", ""}})) ==
        ", member 'a.npy', byte 0: too short for a .npy file");
  zip_member dangling("b.npy", npy);
  const std::string cut = zip_bytes({{"a.npy", npy}, dangling});
  CHECK(complaint(cut.substr(200)).find("not a .zip file that can be read") != std::string::npos);
}

TEST_CASE("sizes that lie") {
  const std::string npy = npy_bytes(three);
  zip_member stored("a.npy", npy);
  for (const std::uint32_t size : {0u, 139u, 141u, 0x7fffffffu}) {
    stored.size = size;
    CHECK(complaint(zip_bytes({stored})) ==
          ", member 'a.npy': " + std::to_string(size) + " bytes, which cannot come of 140");
  }

  // One block of deflate that is stored: as many bytes as there are.
  const std::string block = std::string("\x01\x8c\x00\x73\xff", 5) + npy;
  zip_member deflated("a.npy", block);
  deflated.method = 8;
  deflated.crc = test_support::crc32(npy);
  deflated.size = 140;
  CHECK(complaint(zip_bytes({deflated})) == "read");
  deflated.size = 141;
  CHECK(complaint(zip_bytes({deflated})).starts_with(", member 'a.npy', byte 140: "));
  deflated.size = 100;
  CHECK(complaint(zip_bytes({deflated})).starts_with(", member 'a.npy', byte 100: "));
  // More than deflate can do, which is not allocated.
  deflated.size = 0x7fffffff;
  CHECK(complaint(zip_bytes({deflated})) ==
        ", member 'a.npy': 2147483647 bytes, which cannot come of 145");
}

TEST_CASE("members that overlap") {
  const std::string npy = npy_bytes(three);
  // A record inside of another's elements: both would give out the same bytes.
  const zip_member inner("inner.npy", npy);
  const std::string elements = test_support::zip_record(inner);
  zip_member listed = inner;
  const std::string outer = npy_bytes(sn::tensor<std::uint8_t, 1>(
      sn::view<const std::uint8_t, 1>(reinterpret_cast<const std::uint8_t*>(elements.data()),
                                      {static_cast<std::int64_t>(elements.size())})));
  listed.place = 30 + 9 + 128;
  CHECK(complaint(zip_bytes({{"outer.npy", outer}, listed}))
            .starts_with(", byte 0: members overlap: they take more than the "));
  // And the same record under two names.
  listed.name = "other.npy";
  CHECK(complaint(zip_bytes({{"outer.npy", outer}, listed})).starts_with(", byte 0: "));
}

TEST_CASE("a damaged archive is an error or arrays") {
  const temporary_file whole;
  sn::save_npz(whole.path, {{"x", three}, {"y", sn::tensor<bool, 1>{true, false}}},
               sn::npz_compression::deflated);
  const auto read_all = [](const std::string& path, const std::vector<char>&) {
    try {
      const sn::npz_file file(path);
      for (const std::string& name : file.names()) {
        const sn::any_tensor x = file.get(name);
        CHECK(x.size() <= 3);
      }
    } catch (const sn::io_error& e) {
      CHECK(std::string(e.what()).starts_with(path));
    }
  };
  test_support::for_each_corruption(whole.read(), read_all);
}

}  // namespace npz_test
