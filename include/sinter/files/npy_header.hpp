// SPDX-License-Identifier: MIT
// The header of a .npy file. The format is in NumPy's documentation, "numpy.lib.format": the magic
// "\x93NUMPY", a version, the length of a header, the header (a Python dictionary as text), then
// the raw elements.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sinter/files/damage.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::detail {

/// What the header of a .npy file says.
struct npy_header {
  std::string descr;
  bool fortran_order = false;
  shape_vector shape;
  std::size_t data_offset = 0;
};

/// NumPy's name of an element type; empty for bf16.
constexpr std::string_view npy_descr(dtype d) {
  switch (d) {
    case dtype::boolean: return "|b1";
    case dtype::i8: return "|i1";
    case dtype::u8: return "|u1";
    case dtype::i16: return "<i2";
    case dtype::u16: return "<u2";
    case dtype::i32: return "<i4";
    case dtype::u32: return "<u4";
    case dtype::i64: return "<i8";
    case dtype::u64: return "<u8";
    case dtype::f16: return "<f2";
    case dtype::bf16: break;  // the format has no name for it
    case dtype::f32: return "<f4";
    case dtype::f64: return "<f8";
  }
  return "";
}

/// Reads the dictionary of a header: the three keys in any order, each once, nothing else. Python
/// would evaluate the text; here only what NumPy writes is understood.
class npy_dictionary {
 public:
  npy_dictionary(const std::string& path, std::string_view text, std::size_t offset)
      : path_(path), text_(text), offset_(offset) {}

  npy_header parse() {
    npy_header header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !has_descr) {
        // A structured type is a list here; that is a type that no tensor has, not damage.
        if (peek() == '[')
          raise(dtype_error(path_ + ": the elements are records, expected one number each"));
        header.descr = quoted();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = shape();
        has_shape = true;
      } else {
        fail("unexpected key '" + key + "' in the header");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("text after the header's dictionary");
    if (!has_descr || !has_order || !has_shape)
      fail("the header lacks 'descr', 'fortran_order' or 'shape'");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { damaged(path_, offset_ + at_, reason); }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "' in the header");
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a quoted word in the header");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a quoted word of the header does not end");
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }

  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail("expected True or False in the header");
  }

  shape_vector shape() {
    shape_vector result;
    expect('(');
    while (!accept(')')) {
      if (result.full()) {
        raise(shape_error(path_ + ": more than " + std::to_string(max_rank) + " axes"));
      }
      result.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  std::int64_t number() {
    if (std::isdigit(static_cast<unsigned char>(peek())) == 0)
      fail("expected an extent in the header");
    std::int64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_) {
      const std::int64_t digit = text_[at_] - '0';
      if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10)
        fail("an extent is too large");
      value = value * 10 + digit;
    }
    return value;
  }

  const std::string& path_;
  std::string_view text_;
  std::size_t offset_;
  std::size_t at_ = 0;
};

/// Reads the header of a file whose bytes these are (or of a longer file that begins with them, if
/// the header is among them). Throws io_error, dtype_error for records, shape_error for a rank
/// above 8.
inline npy_header read_npy_header(const std::string& path, std::span<const std::byte> file) {
  if (file.size() < 10) damaged(path, 0, "too short for a .npy file");
  if (std::memcmp(file.data(), "\x93NUMPY", 6) != 0)
    damaged(path, 0, "not a .npy file, the magic bytes are missing");
  const int version = std::to_integer<int>(file[6]);
  if (version < 1 || version > 3)
    damaged(path, 6, "version " + std::to_string(version) + ", expected 1 to 3");

  // Version 1 has a 16-bit length, 2 and 3 (3 allows UTF-8 in field names) a 32-bit one; both
  // little-endian.
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (file.size() < begin) damaged(path, 8, "too short for a .npy file");
  std::uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, length_bytes);
  if (length > file.size() - begin)
    damaged(path, 8, "a header of " + std::to_string(length) + " bytes does not fit into the file");
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + begin, length);
  npy_header header = npy_dictionary(path, text, begin).parse();
  header.data_offset = begin + length;
  return header;
}

/// Throws for bf16.
inline void require_npy_name(const std::string& path, dtype d) {
  if (npy_descr(d).empty())
    raise(dtype_error(path + ": the .npy format has no " + std::string(name(d)) +
                      "; cast to f32, or bitcast to u16"));
}

/// The dtype of elements that a header describes so, if there is one. Big-endian elements have
/// none.
/// '=' means the writer's byte order, which NumPy never writes but accepts; one byte has no order.
inline std::optional<dtype> npy_dtype(std::string_view descr) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto d = static_cast<dtype>(i);
    const std::string_view known = npy_descr(d);
    if (known.empty() || descr.size() != 3 || descr.substr(1) != known.substr(1)) continue;
    if (descr[0] == '<' || descr[0] == '=' || descr[0] == '|' || size_of(d) == 1) return d;
  }
  return std::nullopt;
}

/// What `read_npy_header` reads, of a row-major array, version 1. Elements begin at a multiple of
/// 64 bytes, as NumPy writes them, so that a mapped file is aligned.
inline std::string write_npy_header(dtype type, const shape_vector& shape) {
  std::string header =
      "{'descr': '" + std::string(npy_descr(type)) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) header += std::to_string(extent) + ", ";
  header += "), }";
  const std::size_t preamble = 10;
  while ((preamble + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 0xff) +
         static_cast<char>(header.size() >> 8) + header;
}

}  // namespace sinter::inline SINTER_ABI::detail
