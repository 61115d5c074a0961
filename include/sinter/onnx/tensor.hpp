// SPDX-License-Identifier: MIT
// The tensors of a model: elements inside of the file, which stay where they are if they are
// aligned, elements written one by one, and elements in files beside the model.
#pragma once

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <sinter/files/mapped_file.hpp>
#include <sinter/onnx/proto.hpp>
#include <sinter/tensor/any_tensor.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail {

/// TensorProto.DataType as a dtype; nothing for strings, complex numbers and floats of 4 to 8 bits.
inline std::optional<dtype> dtype_of_onnx(std::int64_t type) {
  switch (type) {
    case 1: return dtype::f32;
    case 2: return dtype::u8;
    case 3: return dtype::i8;
    case 4: return dtype::u16;
    case 5: return dtype::i16;
    case 6: return dtype::i32;
    case 7: return dtype::i64;
    case 9: return dtype::boolean;
    case 10: return dtype::f16;
    case 11: return dtype::f64;
    case 12: return dtype::u32;
    case 13: return dtype::u64;
    case 16: return dtype::bf16;
    default: return std::nullopt;
  }
}

inline std::string onnx_type_name(std::int64_t type) {
  constexpr std::string_view names[] = {
      "undefined",      "float",      "uint8",          "int8",       "uint16",    "int16",
      "int32",          "int64",      "string",         "bool",       "float16",   "double",
      "uint32",         "uint64",     "complex64",      "complex128", "bfloat16",  "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",      "float4e2m1",
      "float8e8m0",     "uint2",      "int2",           "float6e2m3", "float6e3m2"};
  const bool known = type >= 0 && type < static_cast<std::int64_t>(std::size(names));
  return known ? std::string(names[type]) : "number " + std::to_string(type);
}

/// The files that the tensors of a model lie in: the model's own, and those beside it.
class tensor_files {
 public:
  explicit tensor_files(const mapped_file& own) : own_(own) {}

  /// The elements of a tensor. Throws io_error (file, byte, reason) if the message says what its
  /// elements are not, or if they lie in a file outside of the model's folder; dtype_error for a
  /// type that sinter has not.
  any_tensor read(const tensor_proto& t) {
    const std::optional<dtype> type = dtype_of_onnx(t.type);
    const std::string who = "tensor " + in_quotes(t.name);
    if (!type)
      throw dtype_error(own_.path() + ", byte " + std::to_string(t.body.offset()) + ": " + who +
                        " has elements of type " + onnx_type_name(t.type));
    shape_vector shape;
    if (t.dims.size() > static_cast<std::size_t>(max_rank))
      t.body.fail(who + " has " + std::to_string(t.dims.size()) + " axes; the limit is " +
                  std::to_string(max_rank));
    for (const std::int64_t d : t.dims) shape.push_back(d);
    std::int64_t count = 0;
    try {
      count = element_count(shape);
    } catch (const shape_error& e) {
      t.body.fail(who + ": " + e.what());
    }
    return t.is_external ? external(t, *type, shape, count) : inside(t, *type, shape, count);
  }

 private:
  any_tensor inside(const tensor_proto& t, dtype type, const shape_vector& shape,
                    std::int64_t count) const {
    const std::string who = "tensor " + in_quotes(t.name);
    message m = t.body;
    std::optional<std::string_view> raw;
    while (m.next()) {
      if (m.field() == 9)
        raw = m.bytes();
      else
        m.skip();
    }
    if (!raw) return written_out(t, type, shape, count);
    if (raw->size() / size_of(type) != static_cast<std::size_t>(count) ||
        raw->size() % size_of(type) != 0)
      t.body.file().fail(t.body.file().offset_of(raw->data()),
                         who + ": " + std::to_string(raw->size()) + " bytes where shape " +
                             to_string(shape) + " of " + std::string(name(type)) + " is expected");
    if (raw->empty()) return any_tensor(type, shape);
    return own_.tensor_at(type, t.body.file().offset_of(raw->data()), shape);
  }

  // The field that holds elements of a type if they are not raw.
  static int field_of(dtype type) {
    switch (type) {
      case dtype::f32: return 4;
      case dtype::f64: return 10;
      case dtype::i64: return 7;
      case dtype::u32:
      case dtype::u64: return 11;
      default: return 5;
    }
  }

  static any_tensor written_out(const tensor_proto& t, dtype type, const shape_vector& shape,
                                std::int64_t count) {
    const std::string who = "tensor " + in_quotes(t.name);
    const auto wrong = [&](const std::string& given) {
      t.body.fail(who + ": " + given + " where shape " + to_string(shape) + " is expected");
    };
    // An element takes at least a byte: nothing is allocated that the file does not justify.
    if (static_cast<std::size_t>(count) > t.body.all().size()) wrong("fewer elements");
    any_tensor out(type, shape);
    std::int64_t filled = 0;
    dispatch(type, [&]<class T>(std::type_identity<T>) {
      T* const elements = static_cast<T*>(out.data());
      const auto take = [&](auto x) {
        if (filled == count) wrong("more elements");
        if constexpr (NarrowFloat<T>) {  // stored as its bits
          elements[filled++] = std::bit_cast<T>(static_cast<std::uint16_t>(x));
        } else if constexpr (std::is_same_v<T, bool>) {
          elements[filled++] = x != 0;
        } else {
          elements[filled++] = static_cast<T>(x);
        }
      };
      message m = t.body;
      while (m.next()) {
        if (m.field() != field_of(type))
          m.skip();
        else if constexpr (std::is_same_v<T, float>)
          m.each_float(take);
        else if constexpr (std::is_same_v<T, double>)
          m.each_double(take);
        else
          m.each_integer(take);
      }
    });
    if (filled != count) wrong(std::to_string(filled) + " elements");
    return out;
  }

  any_tensor external(const tensor_proto& t, dtype type, const shape_vector& shape,
                      std::int64_t count) {
    const std::string who = "tensor " + in_quotes(t.name);
    std::string_view location;
    std::uint64_t offset = 0, length = 0;
    bool has_length = false;
    for (const auto& entry : t.external) {
      const std::string_view key = entry.first, text = entry.second;
      const auto parse = [&](std::uint64_t& out) {
        const char* const last = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), last, out);
        if (parsed.ec != std::errc() || parsed.ptr != last)
          t.body.fail(who + ": the " + std::string(key) + " of its elements is " + in_quotes(text));
      };
      if (key == "location") location = text;
      if (key == "offset") parse(offset);
      if (key == "length") {
        parse(length);
        has_length = true;
      }
    }
    const mapped_file& file = beside(t, location);
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
    if (count > 0 && bytes / size_of(type) != static_cast<std::size_t>(count))
      t.body.fail(who + ": shape " + to_string(shape) + " has more bytes than can be counted");
    if (has_length && length != bytes)
      t.body.fail(who + ": " + std::to_string(length) + " bytes in " + in_quotes(location) +
                  " where shape " + to_string(shape) + " of " + std::string(name(type)) +
                  " is expected");
    return file.tensor_at(type, static_cast<std::size_t>(offset), shape);
  }

  // A file in the folder of the model, or below: a model may come from anywhere and must not choose
  // what else is read.
  const mapped_file& beside(const tensor_proto& t, std::string_view location) {
    namespace fs = std::filesystem;
    const std::string who = "tensor " + in_quotes(t.name);
    if (const auto known = others_.find(location); known != others_.end()) return known->second;
    const fs::path relative(location);
    if (location.empty() || location.find('\0') != std::string_view::npos ||
        !relative.is_relative())
      t.body.fail(who + ": " + in_quotes(location) + " is no file in the folder of the model");
    std::error_code failed;
    // With links followed, since they may lead out.
    const fs::path folder = fs::weakly_canonical(fs::absolute(own_.path()).parent_path(), failed);
    const fs::path file = fs::weakly_canonical(folder / relative, failed);
    const fs::path inside = file.lexically_relative(folder);
    if (failed || inside.empty() || *inside.begin() == ".." || *inside.begin() == ".")
      t.body.fail(who + ": " + in_quotes(location) + " is no file in the folder of the model");
    return others_.emplace(std::string(location), mapped_file(file.string())).first->second;
  }

  const mapped_file& own_;
  std::map<std::string, mapped_file, std::less<>> others_;
};

}  // namespace sinter::inline SINTER_ABI::onnx::detail
