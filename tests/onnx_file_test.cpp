// SPDX-License-Identifier: MIT
// component: onnx
// Files of ONNX as bytes: elements of every dtype in every form, files beside the model, and damage
// of every kind, which is an error that names file, byte and reason.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/corrupt_file.hpp"
#include "support/onnx_model.hpp"
#include "support/temporary_file.hpp"
#include <sinter/onnx/load.hpp>
#include <sinter/sinter.hpp>

namespace onnx_file_test {

namespace fs = std::filesystem;
namespace sn = sinter;
using sn::any_tensor;
using sn::dtype;
using test_support::onnx_model;
using test_support::temporary_file;

namespace {

std::string io_message(const std::string& path) {
  try {
    sn::onnx::load(path);
  } catch (const sn::io_error& e) {
    return e.what();
  }
  return "";
}
std::string io_message_of(const std::string& bytes) {
  const temporary_file file(bytes);
  const std::string message = io_message(file.path);
  CHECK(message.starts_with(file.path + ", byte "));
  return message;
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// y = weight, a TensorProto.
std::string model_of(const std::string& tensor) {
  onnx_model m;
  m.weight_message(tensor);
  m.node("Identity", {"w"}, {"y"});
  m.output("y");
  return m.bytes();
}

struct fields {
  std::vector<std::int64_t> dims;
  int type = 1;
  std::string raw = {};
  std::vector<std::pair<std::string, std::string>> external = {};
};
std::string tensor(const fields& f) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_packed_int64(1, f.dims.begin(), f.dims.end());
  w.add_int32(2, f.type);
  w.add_string(8, "w");
  if (!f.raw.empty()) w.add_bytes(9, f.raw);
  for (const auto& [key, value] : f.external) {
    std::string entry;
    protozero::pbf_writer e(entry);
    e.add_string(1, key);
    e.add_string(2, value);
    w.add_message(13, entry);
  }
  if (!f.external.empty()) w.add_int32(14, 1);
  return out;
}

any_tensor result(const std::string& bytes) {
  const temporary_file file(bytes);
  return sn::onnx::load(file.path)(std::vector<sn::graph_argument>{})[0];
}

}  // namespace

TEST_CASE("elements of every dtype, as bytes and written out") {
  for (int i = 0; i < sn::dtype_count; ++i) {
    const auto type = static_cast<dtype>(i);
    INFO(std::string(sn::name(type)));
    sn::dispatch(type, [&]<class T>(std::type_identity<T>) {
      const sn::tensor<T, 1> expected{T(1), T(0), T(1)};
      const sn::tensor<T, 1> raw = result(model_of(test_support::tensor_message("w", expected)));
      CHECK(raw == expected);

      std::string typed;
      protozero::pbf_writer w(typed);
      const std::int64_t dims[] = {3};
      w.add_packed_int64(1, std::begin(dims), std::end(dims));
      w.add_int32(2, test_support::onnx_type(type));
      w.add_string(8, "w");
      for (const T& x : expected) {
        if constexpr (std::is_same_v<T, float>)
          w.add_float(4, x);
        else if constexpr (std::is_same_v<T, double>)
          w.add_double(10, x);
        else if constexpr (std::is_same_v<T, std::int64_t>)
          w.add_int64(7, x);
        else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::uint32_t>)
          w.add_uint64(11, x);
        else if constexpr (sn::NarrowFloat<T>)
          w.add_int32(5, std::bit_cast<std::uint16_t>(x));
        else
          w.add_int32(5, static_cast<std::int32_t>(x));
      }
      const sn::tensor<T, 1> written = result(model_of(typed));
      CHECK(written == expected);
    });
  }
}

TEST_CASE("elements in files beside the model, and nowhere else") {
  const temporary_file name;
  const fs::path folder = name.path, outside = folder.string() + ".outside";
  fs::create_directories(folder / "parts");
  const auto write = [](const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  const float elements[] = {0, 1, 2, 3};
  const std::string bytes(reinterpret_cast<const char*>(elements), sizeof elements);
  write(folder / "parts" / "w.bin", "header__" + bytes);
  write(outside, "header__" + bytes);
  fs::create_symlink(outside, folder / "link.bin");
  const auto with = [&](std::vector<std::pair<std::string, std::string>> external) {
    write(folder / "model.onnx",
          model_of(tensor({.dims = {2, 2}, .external = std::move(external)})));
    return (folder / "model.onnx").string();
  };
  const auto refused = [&](std::vector<std::pair<std::string, std::string>> external) {
    return io_message(with(std::move(external)));
  };

  const sn::tensor<float, 2> y =
      sn::onnx::load(with({{"location", "parts/w.bin"}, {"offset", "8"}, {"length", "16"}}))(
          std::vector<sn::graph_argument>{})[0];
  CHECK(y == sn::tensor<float, 2>{{0, 1}, {2, 3}});

  for (const std::string& location :
       {"../" + outside.filename().string(), outside.string(), std::string("link.bin"),
        "parts/../../" + outside.filename().string(), std::string(), std::string("."),
        std::string("parts/w.bin\0", 12)}) {
    INFO(location);
    CHECK(has(refused({{"location", location}, {"offset", "8"}}), "is no file in the folder"));
  }
  CHECK(has(refused({{"location", "none.bin"}}), "none.bin"));
  CHECK(has(refused({{"location", "parts/w.bin"}, {"offset", "9"}}), "w.bin, byte 9: "));
  CHECK(has(refused({{"location", "parts/w.bin"}, {"offset", "-8"}}), "'-8'"));
  CHECK(has(refused({{"location", "parts/w.bin"}, {"offset", "18446744073709551615"}}), "w.bin"));
  CHECK(has(refused({{"location", "parts/w.bin"}, {"length", "12"}}), "12 bytes"));
  fs::remove_all(folder);
  fs::remove(outside);
}

TEST_CASE("tensors that are not what they say") {
  CHECK(
      has(io_message_of(model_of(tensor({.dims = {2, 2}, .raw = "123456789012345"}))), "15 bytes"));
  CHECK(has(io_message_of(model_of(tensor({.dims = {3}}))), "0 elements where shape [3]"));
  // More than there can be: nothing of that size is asked for.
  CHECK(has(io_message_of(model_of(tensor({.dims = {1000000000, 1000000000}}))), "fewer elements"));
  CHECK(has(io_message_of(model_of(tensor({.dims = {1000000000000}, .raw = "1234"}))), "4 bytes"));
  CHECK(has(io_message_of(model_of(tensor({.dims = {std::int64_t{1} << 62, 4}}))), "counted"));
  CHECK(has(io_message_of(model_of(tensor({.dims = {-1}}))), "negative"));
  CHECK(has(io_message_of(model_of(tensor({.dims = {1, 1, 1, 1, 1, 1, 1, 1, 1}}))), "9 axes"));
  CHECK(has(io_message_of(model_of(tensor({.dims = {1}, .type = 9, .raw = "\x02"}))), "boolean"));
  for (const int type : {0, 8, 14, 17, 22, 99}) {
    const temporary_file file(model_of(tensor({.dims = {1}, .type = type, .raw = "12345678"})));
    CHECK_THROWS_AS(sn::onnx::load(file.path), sn::dtype_error);
  }
}

TEST_CASE("files that are no models") {
  CHECK(has(io_message_of(""), "it has no graph"));
  CHECK(has(io_message_of("no model at all"), "no Protocol Buffers message"));
  CHECK(has(io_message_of(std::string("\x3a\xff\xff\xff\xff\x0f", 6)),
            "byte 1: "));  // a graph of 4 GB
  CHECK(has(io_message_of(std::string("\x3a\x02\x0a\x00", 4)), "a node without an operator"));
  CHECK(has(io_message_of(std::string("\x38\x01", 2)), "field 7 is not bytes"));
  CHECK(has(io_message("/no/such/file.onnx"), "/no/such/file.onnx"));
}

TEST_CASE("whatever is turned, cut or repeated in a file is read or refused") {
  onnx_model m;
  m.input("x", dtype::f32, {"n", 2});
  m.weight("w", sn::tensor<float, 2>{{1, 2}, {3, 4}});
  m.weight("shape", sn::tensor<std::int64_t, 1>{0, 2, -1});
  m.node("MatMul", {"x", "w"}, {"a"});
  m.node("Reshape", {"a", "shape"}, {"b"});
  m.node("Softmax", {"b"}, {"y"}, {{"axis", 1}});
  m.output("y");
  int read = 0, refused = 0;
  test_support::for_each_corruption(
      m.bytes(), [&](const std::string& path, const std::vector<char>& bytes) {
        try {
          const sn::onnx::detail::source heap{path, {bytes.data(), bytes.size()}};
          sn::onnx::detail::read_model_proto(sn::onnx::detail::message(heap, heap.bytes));
        } catch (const sn::io_error&) {
        }
        try {
          sn::onnx::load(path);
          ++read;
        } catch (const sn::error& e) {
          CHECK(has(e.what(), path));
          ++refused;
        }
      });
  CHECK(read > 0);
  CHECK(refused > read);
}

}  // namespace onnx_file_test
