// SPDX-License-Identifier: MIT
// component: safetensors
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "support/corrupt_file.hpp"
#include "support/temporary_file.hpp"
#include <sinter/files/safetensors.hpp>
#include <sinter/sinter.hpp>

namespace safetensors_test {

namespace sn = sinter;
using test_support::data_file;
using test_support::temporary_file;

namespace {

std::string file_bytes(const std::string& header, const std::string& elements = "") {
  std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + elements;
}

std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + '}';
}

// What opening the bytes says behind the file's name, or "opened".
std::string complaint(const std::string& bytes) {
  const temporary_file file(bytes);
  try {
    sn::safetensors_file opened(file.path);
  } catch (const sn::io_error& e) {
    const std::string message = e.what();
    CHECK(message.starts_with(file.path + ", byte "));
    return message.substr(file.path.size() + 2);
  }
  return "opened";
}

// The same of a header before four bytes of elements.
std::string header_complaint(const std::string& header) {
  return complaint(file_bytes(header, "abcd"));
}

template <class T>
void check_extremes(const sn::safetensors_file& file) {
  const auto x = file.get<T, 2>(sn::name(sn::dtype_of<T>));
  REQUIRE(x.shape() == sn::shape_vector{2, 3});
  if constexpr (std::is_same_v<T, bool>) {
    CHECK(sn::tensor<T, 2>(x) == sn::tensor<T, 2>{{true, false, true}, {false, false, true}});
  } else if constexpr (std::is_integral_v<T>) {
    constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    CHECK(sn::tensor<T, 2>(x) ==
          sn::tensor<T, 2>{{least, most, 0}, {1, 2, static_cast<T>(most - 1)}});
  } else {
    const double inf = std::numeric_limits<double>::infinity();
    const double expected[] = {-1.5, 0.25, inf, -0.0, 2.0, 0.1};
    for (int i = 0; i < 6; ++i) CHECK(x.data()[i] == static_cast<T>(expected[i]));
    CHECK(std::signbit(static_cast<float>(x.data()[3])));
  }
}

}  // namespace

TEST_CASE("what the safetensors package wrote, of every dtype") {
  const sn::safetensors_file file(data_file("all.safetensors"));
  CHECK(file.entries().size() == 16);
  for (int i = 0; i < sn::dtype_count; ++i)
    sn::dispatch(static_cast<sn::dtype>(i),
                 [&]<class T>(std::type_identity<T>) { check_extremes<T>(file); });
  CHECK(sn::tensor<float, 0>(file.get<float, 0>("scalar")).item() == 2.5f);
  CHECK(file.get<float, 2>("empty").shape() == sn::shape_vector{3, 0});
  CHECK(sn::tensor<std::int32_t, 1>(file.get<std::int32_t, 1>("größe/重み")) ==
        sn::tensor<std::int32_t, 1>{0, 1, 2, 3});
  CHECK(file.metadata() == std::map<std::string, std::string>{{"Übung", "a \"quoted\" line\n"}});
  CHECK(file.entries().front().name == "u64");
  CHECK(file.entry("bool").bytes == 6);
  CHECK(file.entry("bool").offset + 6 == temporary_file::contents(file.path()).size());
}

TEST_CASE("tensors are not copied, and keep the mapping") {
  sn::shared_tensor<float, 2> w;
  sn::any_tensor any(sn::dtype::f32, {});
  {
    const temporary_file file;
    sn::save_safetensors(file.path, {{"w", sn::tensor<float, 2>{{1, 2}, {3, 4}}}});
    const sn::safetensors_file opened(file.path);
    w = opened.get<float, 2>("w");
    any = opened.get("w");
    CHECK(w.data() == any.data());
    CHECK(opened.get<float, 2>("w").data() == w.data());
  }
  // Operand of an expression, argument of a function, frozen argument, bound argument.
  const sn::tensor<float, 2> x{{1, 1}};
  const sn::tensor<float, 2> expected{{4, 6}};
  const sn::tensor<float, 2> y = sn::matmul(x, w);
  CHECK(y == expected);
  auto product = sn::fuse([](auto a, auto b) { return sn::matmul(a, b); });
  CHECK(product(x, w) == expected);
  const sn::frozen weight(w);
  for (int i = 0; i < 3; ++i) CHECK(product(x, weight) == expected);

  sn::graph_builder b;
  const auto a = b.argument("a", sn::dtype::f32, {2, 2});
  const auto c = b.argument("c", sn::dtype::f32, {2, 2});
  auto f = b.compile({sn::matmul(a, c)});
  f.bind("c", any);
  const auto results = f({sn::tensor<float, 2>{{1, 0}, {0, 1}}});
  CHECK(sn::tensor<float, 2>(results[0]) == sn::tensor<float, 2>(w));
}

TEST_CASE("another dtype, shape or name than there is") {
  const temporary_file file;
  sn::save_safetensors(file.path, {{"w", sn::tensor<float, 2>{{1, 2}, {3, 4}}}});
  const sn::safetensors_file opened(file.path);
  CHECK_THROWS_WITH_AS((opened.get<double, 2>("w")),
                       (file.path + ": tensor 'w': elements are f32, expected f64").c_str(),
                       sn::dtype_error);
  CHECK_THROWS_WITH_AS(
      (opened.get<float, 1>("w")),
      (file.path + ": tensor 'w': shape [2, 2] does not fit the type's extents [?]").c_str(),
      sn::shape_error);
  CHECK_THROWS_WITH_AS(opened.get("v"), (file.path + ": no tensor 'v' among 1").c_str(),
                       sn::io_error);
  CHECK(opened.contains("w"));
  CHECK(!opened.contains("v"));
}

TEST_CASE("elements are converted when that is asked for") {
  const sn::safetensors_file file(data_file("all.safetensors"));
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(file.converted<float, 2>("f64") ==
        sn::tensor<float, 2>{{-1.5f, 0.25f, inf}, {-0.0f, 2.0f, 0.1f}});
  CHECK(file.converted<float, 2>("bf16")(1, 2) == 0.10009765625f);
  CHECK(file.converted<sn::bfloat16, 2>("f16")(0, 0) == sn::bfloat16(-1.5f));
  CHECK(file.converted<sn::float16, 2>("bool")(0, 0) == sn::float16(1.0f));
  CHECK(file.converted<double, 2>("i8")(0, 0) == -128);
  CHECK(file.converted<std::int64_t, 2>("u32")(0, 1) == 4294967295);
  CHECK(file.converted<std::int8_t, 2>("bool")(0, 2) == 1);
  CHECK_THROWS_WITH_AS(
      (file.converted<std::int32_t, 2>("u32")),
      (file.path() + ": tensor 'u32': element 1 is 4294967295, which is no i32").c_str(),
      sn::dtype_error);
  CHECK_THROWS_AS((file.converted<bool, 2>("u8")), sn::dtype_error);
  CHECK_THROWS_AS((file.converted<std::uint8_t, 2>("i8")), sn::dtype_error);
  CHECK_THROWS_WITH_AS(
      (file.converted<std::int32_t, 2>("f32")),
      (file.path() + ": tensor 'f32': elements are f32, which are not converted to i32").c_str(),
      sn::dtype_error);
}

TEST_CASE("what is saved can be read: order, alignment, metadata") {
  const temporary_file file;
  const sn::tensor<std::uint8_t, 1> bytes{1, 2, 3};
  const sn::tensor<double, 1> wide{1.5, -2};
  const sn::tensor<sn::bfloat16, 0> half(sn::bfloat16(0.5f));
  const sn::tensor<float, 3> none(2, 0, 3);
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"ü\n", "\"\\"}};
  sn::save_safetensors(
      file.path, {{"bytes", bytes}, {"half", half}, {"none", none}, {"重み\t", wide}}, metadata);
  const sn::safetensors_file opened(file.path);
  std::string order;
  for (const auto& each : opened.entries()) {
    order += each.name + ' ';
    CHECK(each.offset % sn::size_of(each.type) == 0);
  }
  CHECK(order == "重み\t none half bytes ");
  CHECK(opened.entries()[0].offset % 64 == 0);
  CHECK(opened.metadata() == metadata);
  CHECK(sn::tensor<std::uint8_t, 1>(opened.get("bytes")) == bytes);
  CHECK(sn::tensor<double, 1>(opened.get("重み\t")) == wide);
  CHECK(sn::tensor<sn::bfloat16, 0>(opened.get("half")) == half);
  CHECK(sn::tensor<float, 3>(opened.get("none")) == none);

  // Replaced while it is mapped: the mapping keeps what it had.
  const auto before = opened.get<double, 1>("重み\t");
  sn::save_safetensors(file.path, {});
  CHECK(sn::safetensors_file(file.path).entries().empty());
  CHECK(sn::tensor<double, 1>(before) == wide);
  // A tensor from a file goes into another without a copy in between.
  sn::save_safetensors(file.path, {{"again", before}});
  CHECK(sn::tensor<double, 1>(sn::safetensors_file(file.path).get("again")) == wide);
}

TEST_CASE("what cannot be saved leaves the file as it was") {
  const temporary_file file("before");
  const sn::tensor<float, 1> x{1};
  const auto refused = [&](const sn::named_tensors& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    try {
      sn::save_safetensors(file.path, tensors, metadata);
    } catch (const sn::io_error& e) {
      CHECK(file.read() == "before");
      return std::string(e.what()).substr(file.path.size());
    }
    return std::string("saved");
  };
  CHECK(refused({{"a", x}, {"b", x}, {"a", x}}) == ": two tensors 'a'");
  CHECK(refused({{"__metadata__", x}}) == ": a tensor cannot be called '__metadata__'");
  CHECK(refused({{"\xff", x}}) == ": a name or metadata is no UTF-8");
  CHECK(refused({}, {{"a", "\xc3"}}) == ": a name or metadata is no UTF-8");
  CHECK_THROWS_AS(sn::save_safetensors("/nonexistent/x.safetensors", {{"a", x}}), sn::io_error);
}

TEST_CASE("elements that are not aligned are copied") {
  const std::string header =
      "{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "F32", "[1]", "[1,5]") + "}";
  const float value = 1.5f;
  std::string elements(5, '\1');
  std::memcpy(elements.data() + 1, &value, 4);
  for (int padding = 0; padding < 4; ++padding) {
    const temporary_file file(
        file_bytes(header + std::string(static_cast<std::size_t>(padding), ' '), elements));
    const sn::safetensors_file opened(file.path);
    const auto b = opened.get<float, 1>("b");
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 4 == 0);
    CHECK(b.data()[0] == 1.5f);
    const bool aligned = (8 + header.size() + static_cast<std::size_t>(padding) + 1) % 4 == 0;
    CHECK((opened.get<float, 1>("b").data() == b.data()) == aligned);
  }
}

TEST_CASE("a header that does not fit or is no JSON") {
  CHECK(complaint("") == "byte 0: too short for a .safetensors file");
  CHECK(complaint("1234567") == "byte 0: too short for a .safetensors file");
  CHECK(complaint(file_bytes("")) == "byte 8: the header does not begin with '{'");
  CHECK(complaint(file_bytes(" {}")) == "byte 8: the header does not begin with '{'");
  CHECK(complaint(file_bytes("[]")) == "byte 8: the header does not begin with '{'");
  CHECK(complaint(file_bytes("{}  ")) == "opened");
  CHECK(complaint(file_bytes("{}").substr(0, 9)) ==
        "byte 0: a header of 2 bytes does not fit into the file");
  CHECK(complaint(std::string(8, '\xff') + "{}") ==
        "byte 0: a header of 18446744073709551615 bytes does not fit into the file");
  CHECK(complaint(file_bytes("{")).starts_with("byte 9: the header is no JSON, 'syntax error"));
  CHECK(complaint(file_bytes("{}x")).starts_with("byte 11: the header is no JSON, "));
  CHECK(complaint(file_bytes("{\"\xff\":1}")).find("no JSON") != std::string::npos);
  CHECK(complaint(file_bytes("{\"" + std::string(100000, 'x'))).size() < 300);
  CHECK(complaint(file_bytes(std::string(100000, '{'))).find("no JSON") != std::string::npos);
}

TEST_CASE("a header that holds something else") {
  const std::string good = entry("a", "F32", "[1]", "[0,4]");
  CHECK(header_complaint("{" + good + "}") == "opened");
  // The byte is behind what stopped the reader.
  CHECK(header_complaint(R"({"a":1})") == "byte 15: tensor 'a': unexpected a number");
  CHECK(header_complaint(R"({"a":[]})") == "byte 14: tensor 'a': unexpected a list");
  CHECK(header_complaint(R"({"a":null})") == "byte 17: tensor 'a': unexpected null");
  CHECK(header_complaint(R"({"a":{}})") ==
        "byte 15: tensor 'a': 'dtype', 'shape' or 'data_offsets' is missing");
  CHECK(header_complaint(R"({"a":{"dtype":"F32","shape":[1]}})")
            .ends_with("'dtype', 'shape' or 'data_offsets' is missing"));
  CHECK(header_complaint(R"({"a":{"dtype":{}}})").ends_with("tensor 'a': unexpected an object"));
  CHECK(header_complaint(R"({"a":{"dtype":[]}})").ends_with("tensor 'a': unexpected a list"));
  CHECK(header_complaint(R"({"a":{"dtype":7}})").ends_with("tensor 'a': unexpected a number"));
  CHECK(header_complaint(R"({"a":{"dtype":true}})").ends_with("tensor 'a': unexpected a boolean"));
  CHECK(header_complaint(R"({"a":{"shape":"F32"}})").ends_with("tensor 'a': unexpected a string"));
  CHECK(header_complaint(R"({"a":{"shape":[[1]]}})").ends_with("tensor 'a': unexpected a list"));
  CHECK(header_complaint(R"({"a":{"strides":[1]}})").ends_with("unexpected key 'strides'"));
  CHECK(header_complaint(R"({"a":{"shape":[1],"shape":[1]}})").ends_with("a second 'shape'"));
  CHECK(header_complaint("{" + entry("a", "F8_E4M3", "[4]", "[0,4]") + "}")
            .ends_with("tensor 'a': dtype 'F8_E4M3' is none that sinter has"));
  CHECK(header_complaint("{" + entry("a", "f32", "[1]", "[0,4]") + "}")
            .ends_with("dtype 'f32' is none that sinter has"));

  CHECK(header_complaint("{" + good + "," + good + "}") == "byte 8: two tensors 'a'");
  const std::string metadata = R"("__metadata__":{"k":"v"})";
  CHECK(header_complaint("{" + metadata + "," + good + "}") == "opened");
  CHECK(header_complaint("{" + good + "," + metadata + "," + metadata + "}")
            .ends_with("__metadata__: a second __metadata__"));
  CHECK(header_complaint(R"({"__metadata__":{"k":"v","k":"w"}})")
            .ends_with("__metadata__: a second 'k'"));
  CHECK(header_complaint(R"({"__metadata__":{"k":1}})")
            .ends_with("__metadata__: unexpected a number"));
  CHECK(header_complaint(R"({"__metadata__":[]})").ends_with("__metadata__: unexpected a list"));
  CHECK(header_complaint(R"({"__metadata__":"x"})").ends_with("__metadata__: unexpected a string"));
}

TEST_CASE("shapes and offsets that do not fit together") {
  const auto with = [](const std::string& shape, const std::string& offsets) {
    return header_complaint("{" + entry("a", "F32", shape, offsets) + "}");
  };
  CHECK(with("[]", "[0,4]") == "opened");
  CHECK(with("[1,1,1,1,1,1,1,1]", "[0,4]") == "opened");
  CHECK(with("[1,1,1,1,1,1,1,1,1]", "[0,4]").ends_with("tensor 'a': more than 8 axes"));
  CHECK(with("[-1]", "[0,4]").ends_with("tensor 'a': unexpected a negative number"));
  CHECK(with("[1.0]", "[0,4]").ends_with("tensor 'a': unexpected a number with a fraction"));
  CHECK(with("[18446744073709551615]", "[0,4]").ends_with("tensor 'a': an extent is too large"));
  CHECK(with("[99999999999999999999]", "[0,4]")
            .ends_with("tensor 'a': unexpected a number with a fraction"));
  CHECK(with("[1]", "[0]").ends_with("data_offsets has 1 numbers, expected 2"));
  CHECK(with("[1]", "[0,4,8]").ends_with("data_offsets has more than 2 numbers"));
  CHECK(with("[1]", "[4,0]").ends_with("tensor 'a': bytes 4 to 0, which end before they begin"));
  CHECK(with("[1]", "[0,5]").ends_with("tensor 'a': bytes 0 to 5 of the 4 behind the header"));
  CHECK(with("[1]", "[18446744073709551612,18446744073709551615]")
            .ends_with(
                "bytes 18446744073709551612 to 18446744073709551615 of the 4 behind the header"));
  CHECK(with("[2]", "[0,4]").ends_with("tensor 'a': bytes 0 to 4 for shape [2] of f32"));
  CHECK(with("[0]", "[0,4]").ends_with("tensor 'a': bytes 0 to 4 for shape [0] of f32"));
  CHECK(with("[1]", "[0,3]").ends_with("tensor 'a': bytes 0 to 3 for shape [1] of f32"));
  // Products that are 1, 0 and 4 in 64 bits.
  CHECK(with("[4294967296,4294967296]", "[0,4]")
            .ends_with("for shape [4294967296, 4294967296] of f32"));
  CHECK(with("[4611686018427387905]", "[0,4]").ends_with("for shape [4611686018427387905] of f32"));
  CHECK(with("[4294967296,4294967296,0]", "[0,0]").ends_with("4 bytes behind the last tensor"));

  const auto two = [](const std::string& a, const std::string& b) {
    return header_complaint("{" + entry("a", "U8", "[2]", a) + "," + entry("b", "U8", "[2]", b) +
                            "}");
  };
  CHECK(two("[2,4]", "[0,2]") == "opened");
  CHECK(two("[0,2]", "[1,3]").ends_with("tensor 'b' overlaps the one before it"));
  CHECK(two("[0,2]", "[0,2]").ends_with("tensor 'b' overlaps the one before it"));
  CHECK(two("[1,3]", "[0,2]").ends_with("tensor 'a' overlaps the one before it"));
  CHECK(header_complaint("{" + entry("a", "U8", "[1]", "[0,1]") + "," +
                         entry("b", "U8", "[2]", "[2,4]") + "}")
            .ends_with("tensor 'b' leaves a hole before it"));
  CHECK(header_complaint("{" + entry("a", "U8", "[2]", "[2,4]") + "}")
            .ends_with("tensor 'a' leaves a hole before it"));
  CHECK(header_complaint("{" + entry("a", "U8", "[3]", "[0,3]") + "}")
            .ends_with("1 bytes behind the last tensor"));
  CHECK(header_complaint("{}").ends_with("byte 10: 4 bytes behind the last tensor"));
}

TEST_CASE("booleans are checked when they are asked for") {
  const temporary_file file(
      file_bytes("{" + entry("a", "BOOL", "[2]", "[0,2]") + "}", std::string("\1\2")));
  const sn::safetensors_file opened(file.path);
  CHECK_THROWS_AS((opened.get<bool, 1>("a")), sn::io_error);
  CHECK_THROWS_AS(opened.get("a"), sn::io_error);
}

TEST_CASE("a damaged file is an io_error or a file") {
  const temporary_file whole;
  sn::save_safetensors(whole.path,
                       {{"w", sn::tensor<float, 2>{{1, 2}, {3, 4}}},
                        {"flags", sn::tensor<bool, 1>{true, false, true}}},
                       {{"format", "pt"}});
  test_support::for_each_corruption(
      whole.read(), [](const std::string& path, const std::vector<char>& bytes) {
        try {
          sn::detail::read_safetensors_header(path, std::as_bytes(std::span(bytes)));
          const sn::safetensors_file file(path);
          for (const auto& each : file.entries()) {
            const sn::any_tensor x = file.get(each.name);
            const auto* elements = static_cast<const unsigned char*>(x.data());
            unsigned sum = 0;
            for (std::size_t i = 0; i < each.bytes; ++i) sum += elements[i];
            CHECK(sum <= 255 * each.bytes);
          }
        } catch (const sn::io_error& e) {
          CHECK(std::string(e.what()).starts_with(path + ", byte "));
        }
      });
}

}  // namespace safetensors_test
