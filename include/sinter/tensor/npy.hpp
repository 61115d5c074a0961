// SPDX-License-Identifier: MIT
//
// NumPy's .npy files: load and save one array. The format is in NumPy's documentation,
// "numpy.lib.format": the magic "\x93NUMPY", a version, the length of a header, the header (a
// Python dictionary as text), then the raw elements.
#pragma once

#include <bit>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <sinter/support/error.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>

namespace sinter {

static_assert(std::endian::native == std::endian::little,
              "npy: elements are read and written as the machine has them");

namespace detail {

struct close_file {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, close_file>;

[[noreturn]] inline void npy_damaged(const std::string& path, std::int64_t offset,
                                     const std::string& reason) {
  throw io_error(path + ", byte " + std::to_string(offset) + ": " + reason);
}

/// What the header of a .npy file says.
struct npy_header {
  std::string descr;
  bool fortran_order = false;
  shape_vector shape;
  std::int64_t data_offset = 0;
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
  npy_dictionary(const std::string& path, std::string_view text, std::int64_t offset)
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
          throw dtype_error(path_ + ": the elements are records, expected one number each");
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
  [[noreturn]] void fail(const std::string& reason) const {
    npy_damaged(path_, offset_ + static_cast<std::int64_t>(at_), reason);
  }

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
    const std::string word(text_.substr(at_ + 1, end - at_ - 1));
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
        throw shape_error(path_ + ": more than " + std::to_string(max_rank) + " axes");
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
  std::int64_t offset_;
  std::size_t at_ = 0;
};

/// The size of an open file; its position is at the beginning afterwards.
inline std::int64_t npy_file_size(std::FILE* file, const std::string& path) {
  const bool sought = std::fseek(file, 0, SEEK_END) == 0;
  const long end = sought ? std::ftell(file) : -1;
  if (end < 0 || std::fseek(file, 0, SEEK_SET) != 0)
    npy_damaged(path, 0, "the size of the file cannot be found");
  return end;
}

inline void npy_read(std::FILE* file, const std::string& path, std::int64_t offset, void* out,
                     std::size_t bytes) {
  if (bytes > 0 && std::fread(out, 1, bytes, file) != bytes)
    npy_damaged(path, offset, "cannot read on");
}

inline npy_header npy_read_header(std::FILE* file, const std::string& path,
                                  std::int64_t file_size) {
  unsigned char start[8] = {};
  if (file_size < 10) npy_damaged(path, 0, "too short for a .npy file");
  npy_read(file, path, 0, start, sizeof start);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0)
    npy_damaged(path, 0, "not a .npy file, the magic bytes are missing");
  const int version = start[6];
  if (version < 1 || version > 3)
    npy_damaged(path, 6, "version " + std::to_string(version) + ", expected 1 to 3");

  // Version 1 has a 16-bit length, 2 and 3 (3 allows UTF-8 in field names) a 32-bit one; both
  // little-endian.
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::uint32_t length = 0;
  npy_read(file, path, 8, &length, length_bytes);
  const std::int64_t header_offset = 8 + static_cast<std::int64_t>(length_bytes);
  if (length > file_size - header_offset) {
    npy_damaged(path, 8,
                "a header of " + std::to_string(length) + " bytes does not fit into the file");
  }
  std::string text(length, '\0');
  npy_read(file, path, header_offset, text.data(), text.size());
  npy_header header = npy_dictionary(path, text, header_offset).parse();
  header.data_offset = header_offset + static_cast<std::int64_t>(length);
  return header;
}

/// Throws for bf16.
inline void npy_require_name(const std::string& path, dtype d) {
  if (npy_descr(d).empty())
    throw dtype_error(path + ": the .npy format has no " + std::string(name(d)) +
                      "; cast to f32, or bitcast to u16");
}

/// Throws unless the elements of the file are of type `d`. '=' means the writer's byte order, which
/// NumPy never writes but accepts; one byte has no order.
inline void npy_require_dtype(const std::string& path, const std::string& descr, dtype d) {
  npy_require_name(path, d);
  const std::string_view expected = npy_descr(d);
  const std::string_view found = descr;
  const bool same_kind = found.size() == 3 && found.substr(1) == expected.substr(1);
  const bool same_order = same_kind && (found[0] == '<' || found[0] == '=' || found[0] == '|');
  if (same_kind && (same_order || size_of(d) == 1)) return;
  throw dtype_error(path + ": the elements are '" + descr + "', expected '" +
                    std::string(expected) + "' (" + std::string(name(d)) + ")");
}

}  // namespace detail

/// Loads a .npy file (versions 1 to 3, C or Fortran order, little-endian) as a row-major tensor.
///
/// Throws dtype_error when the elements are not exactly `T` (or `T` is bfloat16, for which the
/// format has no name), shape_error when the shape does not fit `E`, io_error (file, byte offset,
/// reason) when the file cannot be read or is damaged: truncated, longer than its header says, or
/// with a boolean that is neither 0 nor 1. Never allocates more than about the size of the file
/// (twice for Fortran order).
template <class T, extents_spec E>
tensor<T, E> load_npy(const std::string& path) {
  const detail::file_handle file(std::fopen(path.c_str(), "rb"));
  if (!file) detail::npy_damaged(path, 0, "cannot open the file");
  const std::int64_t file_size = detail::npy_file_size(file.get(), path);
  const detail::npy_header header = detail::npy_read_header(file.get(), path, file_size);
  detail::npy_require_dtype(path, header.descr, dtype_of<T>);
  require_fits(header.shape, E, path.c_str());

  // The number of elements is checked against the bytes that are there before anything is allocated
  // for them.
  const std::int64_t count = element_count(header.shape);
  const std::int64_t available = file_size - header.data_offset;
  if (count > available / static_cast<std::int64_t>(sizeof(T)) ||
      count * static_cast<std::int64_t>(sizeof(T)) != available) {
    detail::npy_damaged(path, header.data_offset,
                        std::to_string(available) + " bytes of elements, expected " +
                            std::to_string(count) + " of " + std::to_string(sizeof(T)) +
                            " bytes for shape " + to_string(header.shape));
  }

  tensor<T, E> result = tensor<T, E>::uninitialized(header.shape);
  const auto bytes = static_cast<std::size_t>(available);
  detail::npy_read(file.get(), path, header.data_offset, static_cast<void*>(result.data()), bytes);
  if constexpr (std::is_same_v<T, bool>) {
    // Any other byte in a bool is undefined behaviour, so it is looked at as what it is: a byte.
    const auto* raw = reinterpret_cast<const unsigned char*>(result.data());
    for (std::size_t i = 0; i < bytes; ++i) {
      if (raw[i] > 1) {
        detail::npy_damaged(path, header.data_offset + static_cast<std::int64_t>(i),
                            "a boolean that is neither 0 nor 1");
      }
    }
  }
  if (header.fortran_order && header.shape.size() > 1) {
    // First axis fastest: a view with the strides of the reversed shape, reversed.
    shape_vector reversed, strides;
    for (std::size_t axis = header.shape.size(); axis-- > 0;)
      reversed.push_back(header.shape[axis]);
    const shape_vector reversed_strides = row_major_strides(reversed);
    for (std::size_t axis = reversed.size(); axis-- > 0;) strides.push_back(reversed_strides[axis]);
    return tensor<T, E>(view<const T, E>(result.data(), header.shape, strides));
  }
  return result;
}

/// Saves a tensor as a .npy file, version 1, C order. The elements go to `path` + ".partial" first,
/// which then takes the place of `path`: a reader never sees half a file. Throws dtype_error for
/// bfloat16, io_error; an
/// existing file is then as it was.
template <class T, extents_spec E>
void save_npy(const std::string& path, const tensor<T, E>& source) {
  detail::npy_require_name(path, dtype_of<T>);
  std::string header = "{'descr': '" + std::string(detail::npy_descr(dtype_of<T>)) +
                       "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : source.shape()) header += std::to_string(extent) + ", ";
  header += "), }";
  // Elements begin at a multiple of 64 bytes, as NumPy writes them, so that a mapped file is
  // aligned.
  const std::size_t preamble = 10;
  while ((preamble + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const std::string start = std::string("\x93NUMPY\x01\x00", 8) +
                            static_cast<char>(header.size() & 0xff) +
                            static_cast<char>(header.size() >> 8);

  const std::string partial = path + ".partial";
  detail::file_handle file(std::fopen(partial.c_str(), "wb"));
  if (!file) throw io_error(partial + ": cannot open the file for writing");
  const auto write = [&](const void* bytes, std::size_t count) {
    return count == 0 || std::fwrite(bytes, 1, count, file.get()) == count;
  };
  bool written = write(start.data(), start.size()) && write(header.data(), header.size()) &&
                 write(source.data(), static_cast<std::size_t>(source.size()) * sizeof(T));
  // A full disk may show only when the buffer is written out, so the result of closing counts.
  written = std::fclose(file.release()) == 0 && written;
  if (!written || std::rename(partial.c_str(), path.c_str()) != 0) {
    std::remove(partial.c_str());
    throw io_error(path + (written ? ": cannot take the place of this file"
                                   : ": cannot write all of the file"));
  }
}

/// Saves the elements of a view.
template <class T, extents_spec E>
void save_npy(const std::string& path, const view<T, E>& source) {
  save_npy(path, tensor<std::remove_const_t<T>, E>(source));
}

}  // namespace sinter
