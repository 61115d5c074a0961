// SPDX-License-Identifier: MIT
// Messages of Protocol Buffers, read with protozero: what is damaged is an io_error with the byte
// where it is. Nothing is copied; what is read are views of the file.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail {

/// A file that messages are read from.
struct source {
  std::string path;
  std::string_view bytes;

  [[noreturn]] void fail(std::size_t offset, const std::string& reason) const {
    throw io_error(path + ", byte " + std::to_string(offset) + ": " + reason);
  }
  std::size_t offset_of(const char* place) const {
    return place == nullptr ? 0 : static_cast<std::size_t>(place - bytes.data());
  }
};

/// The fields of a message in the order of the file:
///
///     while (m.next())
///       switch (m.field()) {
///         case 1: name = m.bytes(); break;
///         default: m.skip();
///       }
///
/// Every field must be read or skipped. All throw io_error where the bytes are no message, or where
/// a field is of another type than it is read as.
class message {
  std::size_t place() const { return from_->offset_of(reader_.data().data()); }

  template <class Read>
  decltype(auto) guarded(Read&& read) const {
    const std::size_t before = place();
    try {
      return read();
    } catch (const protozero::exception& e) {
      from_->fail(before, std::string("no Protocol Buffers message (") + e.what() + ")");
    }
  }

 public:
  message() = default;
  message(const source& from, std::string_view bytes)
      : from_(&from), all_(bytes), reader_(bytes.data(), bytes.size()) {}

  const source& file() const { return *from_; }
  std::string_view all() const { return all_; }
  /// Where the message begins in the file.
  std::size_t offset() const { return from_->offset_of(all_.data()); }
  [[noreturn]] void fail(const std::string& reason) const { from_->fail(place(), reason); }

  bool next() {
    return guarded([&] { return reader_.next(); });
  }
  int field() const { return static_cast<int>(reader_.tag()); }
  void skip() {
    guarded([&] { reader_.skip(); });
  }

  std::string_view bytes() {
    require(protozero::pbf_wire_type::length_delimited, "bytes");
    const protozero::data_view v = guarded([&] { return reader_.get_view(); });
    return {v.data(), v.size()};
  }
  message nested() { return message(*from_, bytes()); }
  std::int64_t integer() {
    require(protozero::pbf_wire_type::varint, "a number");
    return guarded([&] { return reader_.get_int64(); });
  }
  float real() {
    require(protozero::pbf_wire_type::fixed32, "a float");
    return guarded([&] { return reader_.get_float(); });
  }

  /// The elements of a repeated field, packed or not: calls `take` with each.
  template <class Take>
  void each_integer(Take&& take) {
    if (!reader_.has_wire_type(protozero::pbf_wire_type::length_delimited)) return take(integer());
    guarded([&] {
      for (const std::int64_t x : reader_.get_packed_int64()) take(x);
    });
  }
  template <class Take>
  void each_float(Take&& take) {
    if (!reader_.has_wire_type(protozero::pbf_wire_type::length_delimited)) return take(real());
    guarded([&] {
      for (const float x : reader_.get_packed_float()) take(x);
    });
  }
  template <class Take>
  void each_double(Take&& take) {
    if (reader_.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
      guarded([&] {
        for (const double x : reader_.get_packed_double()) take(x);
      });
      return;
    }
    require(protozero::pbf_wire_type::fixed64, "a double");
    take(guarded([&] { return reader_.get_double(); }));
  }

 private:
  void require(protozero::pbf_wire_type type, const char* what) const {
    if (!reader_.has_wire_type(type)) fail("field " + std::to_string(field()) + " is not " + what);
  }

  const source* from_ = nullptr;
  std::string_view all_;
  protozero::pbf_reader reader_;
};

/// Text of a file as part of a message: what is not printable ASCII as '?', and not too much of it.
inline std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 80 ? "...'" : "'");
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail
