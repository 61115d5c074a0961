// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/corrupt_file.hpp"
#include "support/temporary_file.hpp"
#include <sinter/files/npy.hpp>
#include <sinter/files/npy_header.hpp>

namespace npy_test {

namespace sn = sinter;

using test_support::temporary_file;

namespace {

// A file as NumPy lays it out, of any version.
std::string npy_bytes(int version, const std::string& dictionary, const std::string& elements) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  const auto length = static_cast<unsigned>(dictionary.size());
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + dictionary + elements;
}

template <class T>
std::string raw(const sn::tensor<T, 1>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          static_cast<std::size_t>(values.size()) * sizeof(T)};
}

template <class T, sn::extents_spec E>
void check_round_trip(const sn::tensor<T, E>& x) {
  const temporary_file file;
  sn::save_npy(file.path, x);
  const auto loaded = sn::load_npy<T, E>(file.path);
  CHECK(loaded == x);
}

// What loading the bytes says, or "loaded".
template <class Error, class T, sn::extents_spec E>
std::string complaint(const std::string& bytes) {
  const temporary_file file;
  file.write(bytes);
  try {
    sn::load_npy<T, E>(file.path);
  } catch (const Error& e) {
    const std::string message = e.what();
    CHECK(message.starts_with(file.path));  // every message names the file
    return message.substr(file.path.size());
  }
  return "loaded";
}

}  // namespace

TEST_CASE("what is saved can be loaded, for every dtype and rank") {
  check_round_trip(sn::tensor<bool, 1>{true, false, true});
  check_round_trip(sn::tensor<std::int8_t, 1>{-128, 127});
  check_round_trip(sn::tensor<std::uint8_t, 1>{0, 255});
  check_round_trip(sn::tensor<std::int16_t, 1>{-32768, 32767});
  check_round_trip(sn::tensor<std::uint16_t, 1>{0, 65535});
  check_round_trip(sn::tensor<std::uint32_t, 1>{0, 4294967295u});
  check_round_trip(sn::tensor<std::uint64_t, 1>{0, 18446744073709551615u});
  check_round_trip(sn::tensor<sn::float16, 1>{sn::float16(1.5f), sn::float16(65504.0f)});
  check_round_trip(sn::tensor<std::int32_t, 1>{-1, 2});
  check_round_trip(sn::tensor<std::int64_t, 2>{{1, -2}, {3, 4}});
  check_round_trip(sn::tensor<float, 2>{{1.5f, 2}, {3, 4}});
  check_round_trip(sn::tensor<double, sn::extents<2, sn::dyn>>(2, 5));
  check_round_trip(sn::tensor<float, 0>(4.0f));
  check_round_trip(sn::tensor<float, 3>(2, 0, 3));
}

TEST_CASE("the file is what NumPy writes") {
  const temporary_file file;
  sn::save_npy(file.path, sn::tensor<float, 2>{{1, 2, 3}, {4, 5, 6}});
  const std::string bytes = file.read();
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK(bytes.substr(10).starts_with(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ), }"));
  CHECK(bytes.size() == 128 + 6 * sizeof(float));  // elements begin at a multiple of 64
  CHECK(bytes[127] == '\n');
}

TEST_CASE("every dtype has NumPy's name, but bf16, which NumPy does not know") {
  const auto descr_of = []<class T>(T x) {
    const temporary_file file;
    sn::save_npy(file.path, sn::tensor<T, 1>{x});
    return file.read().substr(20, 5);
  };
  CHECK(descr_of(std::int8_t{1}) == "'|i1'");
  CHECK(descr_of(std::int16_t{1}) == "'<i2'");
  CHECK(descr_of(std::uint16_t{1}) == "'<u2'");
  CHECK(descr_of(std::uint32_t{1}) == "'<u4'");
  CHECK(descr_of(std::uint64_t{1}) == "'<u8'");
  CHECK(descr_of(sn::float16(1.0f)) == "'<f2'");

  const temporary_file file;
  const sn::tensor<sn::bfloat16, 1> x{sn::bfloat16(1.0f)};
  CHECK_THROWS_WITH_AS(
      sn::save_npy(file.path, x),
      (file.path + ": the .npy format has no bf16; cast to f32, or bitcast to u16").c_str(),
      sn::dtype_error);
  CHECK(file.read().empty());
  sn::save_npy(file.path, sn::tensor<std::uint16_t, 1>{1});
  CHECK_THROWS_AS((sn::load_npy<sn::bfloat16, 1>(file.path)), sn::dtype_error);
  CHECK_THROWS_AS((sn::load_npy<sn::float16, 1>(file.path)), sn::dtype_error);
}

TEST_CASE("a view is saved in its own order") {
  const temporary_file file;
  sn::tensor<float, 2> x{{1, 2, 3}, {4, 5, 6}};
  const sn::view<const float, 2> transposed(x.data(), {3, 2}, {1, 3});
  sn::save_npy(file.path, transposed);
  CHECK(sn::load_npy<float, 2>(file.path) == sn::tensor<float, 2>{{1, 4}, {2, 5}, {3, 6}});
}

TEST_CASE("versions 1 to 3, either order of elements, any order of keys") {
  const std::string elements = raw(sn::tensor<float, 1>{1, 2, 3, 4, 5, 6});
  const temporary_file file;
  for (const int version : {1, 2, 3}) {
    file.write(npy_bytes(version, "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}\n",
                         elements));
    CHECK(sn::load_npy<float, 2>(file.path) == sn::tensor<float, 2>{{1, 2, 3}, {4, 5, 6}});
  }
  file.write(
      npy_bytes(1, "{\"descr\": \"<f4\", 'fortran_order': True, 'shape': (2, 3), }  \n", elements));
  CHECK(sn::load_npy<float, 2>(file.path) == sn::tensor<float, 2>{{1, 3, 5}, {2, 4, 6}});
  file.write(
      npy_bytes(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 3), }\n", elements));
  CHECK(sn::load_npy<float, 3>(file.path)(0, 1, 0) == 2);
}

TEST_CASE("another dtype or shape than asked for") {
  const std::string elements = raw(sn::tensor<float, 1>{1, 2});
  const auto with_descr = [&](const std::string& descr) {
    return npy_bytes(1, "{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }\n",
                     elements);
  };
  CHECK(complaint<sn::dtype_error, double, 1>(with_descr("'<f4'")) ==
        ": the elements are '<f4', expected '<f8' (f64)");
  CHECK(complaint<sn::dtype_error, float, 1>(with_descr("'>f4'")) ==
        ": the elements are '>f4', expected '<f4' (f32)");
  CHECK(complaint<sn::dtype_error, float, 1>(with_descr("[('a', '<f4')]")) ==
        ": the elements are records, expected one number each");
  CHECK(complaint<sn::dtype_error, float, 1>(with_descr("'|O'")) != "loaded");
  CHECK(complaint<sn::shape_error, float, 2>(with_descr("'<f4'")) ==
        ": shape [2] does not fit the type's extents [?, ?]");
  CHECK(complaint<sn::shape_error, float, sn::extents<3>>(with_descr("'<f4'")) != "loaded");
}

TEST_CASE("damaged files name the byte and the reason") {
  const std::string elements = raw(sn::tensor<float, 1>{1, 2});
  const std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  const auto load = [](const std::string& bytes) {
    return complaint<sn::io_error, float, 1>(bytes);
  };
  const std::string good = npy_bytes(1, dictionary, elements);
  CHECK(load(good) == "loaded");

  CHECK(load("") == ", byte 0: too short for a .npy file");
  CHECK(load("not a file of NumPy") == ", byte 0: not a .npy file, the magic bytes are missing");
  CHECK(load(npy_bytes(4, dictionary, elements)) == ", byte 6: version 4, expected 1 to 3");
  CHECK(load(good + "x") == ", byte 68: 9 bytes of elements, expected 4 for each in shape [2]");
  CHECK(load(npy_bytes(1, "{'descr': '<f4'}", elements)) ==
        ", byte 26: the header lacks 'descr', 'fortran_order' or 'shape'");
  CHECK(load(npy_bytes(1, "{'surprise': 1}", elements)).find("unexpected key") !=
        std::string::npos);

  // A shape that the file's size does not justify is refused before anything is allocated.
  const std::string huge =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000000000000,), }";
  CHECK(load(npy_bytes(1, huge, elements)).find("8 bytes of elements") != std::string::npos);
  const std::string overflow =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }";
  CHECK(load(npy_bytes(1, overflow, elements)).find("an extent is too large") != std::string::npos);
  std::string long_header = npy_bytes(2, dictionary, elements);
  long_header[11] = '\x7f';
  CHECK(load(long_header).find("does not fit into the file") != std::string::npos);

  const std::string booleans = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }";
  CHECK(complaint<sn::io_error, bool, 1>(npy_bytes(1, booleans, std::string("\x01\x02", 2))) ==
        ", byte 68: a boolean that is neither 0 nor 1");
}

TEST_CASE("every truncation of a file is an error") {
  const std::string good =
      npy_bytes(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
                raw(sn::tensor<float, 1>{1, 2}));
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK(complaint<sn::io_error, float, 1>(good.substr(0, length)) != "loaded");
  }
}

TEST_CASE("files that cannot be opened or written") {
  CHECK_THROWS_AS((sn::load_npy<float, 1>("/nonexistent/x.npy")), sn::io_error);
  CHECK_THROWS_AS((sn::load_npy<float, 1>("/")), sn::io_error);
  CHECK_THROWS_AS(sn::save_npy("/nonexistent/x.npy", sn::tensor<float, 1>{1}), sn::io_error);
}

TEST_CASE("what NumPy wrote") {
  using test_support::data_file;
  constexpr float inf = std::numeric_limits<float>::infinity();
  CHECK(sn::load_npy<float, 2>(data_file("f32.npy")) ==
        sn::tensor<float, 2>{{-1.5f, 0.25f, inf}, {-0.0f, 2.0f, 0.1f}});
  const auto fortran = sn::load_npy<std::int16_t, 3>(data_file("fortran.npy"));
  REQUIRE(fortran.shape() == sn::shape_vector{2, 3, 4});
  for (std::int16_t i = 0; i < 24; ++i) CHECK(fortran.begin()[i] == i);
  CHECK_THROWS_AS((sn::load_npy<float, 1>(data_file("big_endian.npy"))), sn::dtype_error);
  CHECK_THROWS_WITH_AS(
      sn::map_npy(data_file("big_endian.npy")),
      (data_file("big_endian.npy") + ": the elements are '>f4', which no tensor has").c_str(),
      sn::dtype_error);
}

TEST_CASE("a mapped array is read in place, and stays when its file loses its name") {
  sn::shared_tensor<float, 2> x;
  sn::any_tensor y(sn::dtype::f32, {});
  {
    const temporary_file file;
    sn::save_npy(file.path, sn::tensor<float, 2>{{1, 2, 3}, {4, 5, 6}});
    x = sn::map_npy<float, 2>(file.path);
    y = sn::map_npy(file.path);
    CHECK_THROWS_AS((sn::map_npy<double, 2>(file.path)), sn::dtype_error);
    CHECK_THROWS_AS((sn::map_npy<float, 1>(file.path)), sn::shape_error);
  }
  CHECK(sn::tensor<float, 2>(x) == sn::tensor<float, 2>{{1, 2, 3}, {4, 5, 6}});
  CHECK(y.type() == sn::dtype::f32);
  CHECK(sn::tensor<float, 2>(y) == sn::tensor<float, 2>(x));
}

TEST_CASE("a damaged file is an error or an array") {
  // Other digits or letters in the header are another shape or dtype.
  test_support::for_each_corruption(
      npy_bytes(1, "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3), }\n",
                std::string("\0\1\0\1\1\0", 6)),
      [](const std::string& path, const std::vector<char>& bytes) {
        try {
          sn::detail::read_npy_header(path, std::as_bytes(std::span(bytes)));
          const sn::any_tensor x = sn::map_npy(path);
          CHECK(x.size() <= 12);
        } catch (const sn::dtype_error&) {
        } catch (const sn::io_error&) {
        }
      });
}

}  // namespace npy_test
