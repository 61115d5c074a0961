// SPDX-License-Identifier: MIT
// The header of a .safetensors file: JSON that names tensors, their dtypes, shapes and places. It
// may come from anywhere, so it is read token by token and everything is checked. Needs
// nlohmann_json.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/files/damage.hpp>
#include <sinter/files/elements.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI {

/// What the header says of one tensor; `offset` counts from the beginning of the file.
struct safetensors_entry {
  std::string name;
  dtype type{};
  shape_vector shape;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

namespace detail {

/// The format's name of a dtype.
constexpr std::string_view safetensors_name(dtype d) {
  switch (d) {
    case dtype::boolean: return "BOOL";
    case dtype::i8: return "I8";
    case dtype::u8: return "U8";
    case dtype::i16: return "I16";
    case dtype::u16: return "U16";
    case dtype::i32: return "I32";
    case dtype::u32: return "U32";
    case dtype::i64: return "I64";
    case dtype::u64: return "U64";
    case dtype::f16: return "F16";
    case dtype::bf16: return "BF16";
    case dtype::f32: return "F32";
    case dtype::f64: return "F64";
  }
  return "";
}

inline std::optional<dtype> safetensors_dtype(std::string_view word) {
  for (int i = 0; i < dtype_count; ++i)
    if (safetensors_name(static_cast<dtype>(i)) == word) return static_cast<dtype>(i);
  return std::nullopt;
}

struct safetensors_header {
  std::vector<safetensors_entry> entries;  // in the order of their offsets
  std::map<std::string, std::string> metadata;
};

/// The longest header that is read, in bytes: that of the format's own library.
inline constexpr std::size_t safetensors_header_limit = 100'000'000;

/// A pointer to JSON text that writes down how far it has come: the parser's events have no place.
class json_cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  json_cursor(const char* at, std::size_t* consumed) : at_(at), consumed_(consumed) {}

  reference operator*() const { return *at_; }
  json_cursor& operator++() {
    ++at_;
    ++*consumed_;
    return *this;
  }
  json_cursor operator++(int) {
    json_cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const json_cursor& a, const json_cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::size_t* consumed_;
};

/// Takes the parser's events and knows what may come where: an object of objects with three members
/// each, beside one of strings. Anything else stops it, so nothing is kept that has no place in the
/// result.
class safetensors_events {
 public:
  using json = nlohmann::json;

  safetensors_header result;
  std::string problem;

  bool start_object(std::size_t) {
    switch (where_) {
      case place::start: where_ = place::tensors; return true;
      case place::tensors: where_ = in_metadata_ ? place::metadata : place::tensor; return true;
      default: return unexpected("an object");
    }
  }

  bool end_object() {
    if (where_ == place::metadata) in_metadata_ = false;
    if (where_ == place::tensor) {
      if (!has_type_ || !has_shape_ || !has_offsets_)
        return fail("'dtype', 'shape' or 'data_offsets' is missing");
      result.entries.push_back(std::move(entry_));
      entry_ = {};
      has_type_ = has_shape_ = has_offsets_ = false;
    }
    where_ = where_ == place::tensors ? place::end : place::tensors;
    return true;
  }

  bool key(std::string& word) {
    if (where_ == place::tensors) {
      in_metadata_ = word == "__metadata__";
      if (in_metadata_ && std::exchange(has_metadata_, true)) return fail("a second __metadata__");
      entry_.name = word;
      return true;
    }
    if (where_ == place::metadata) {
      key_ = word;
      return true;
    }
    bool* const seen = word == "dtype"          ? &has_type_
                       : word == "shape"        ? &has_shape_
                       : word == "data_offsets" ? &has_offsets_
                                                : nullptr;
    if (seen == nullptr) return fail("unexpected key " + quote(word));
    if (std::exchange(*seen, true)) return fail("a second " + quote(word));
    key_ = word;
    return true;
  }

  bool string(std::string& word) {
    if (where_ == place::metadata) {
      if (!result.metadata.emplace(key_, word).second) return fail("a second " + quote(key_));
      return true;
    }
    if (where_ != place::tensor || key_ != "dtype") return unexpected("a string");
    const std::optional<dtype> type = safetensors_dtype(word);
    if (!type) return fail("dtype " + quote(word) + " is none that sinter has");
    entry_.type = *type;
    return true;
  }

  bool start_array(std::size_t) {
    if (where_ != place::tensor || key_ == "dtype") return unexpected("a list");
    where_ = key_ == "shape" ? place::shape : place::offsets;
    offsets_ = 0;
    return true;
  }

  bool end_array() {
    if (where_ == place::offsets && offsets_ != 2)
      return fail("data_offsets has " + std::to_string(offsets_) + " numbers, expected 2");
    where_ = place::tensor;
    return true;
  }

  bool number_unsigned(std::uint64_t value) {
    if (where_ == place::shape) {
      if (entry_.shape.full()) return fail("more than " + std::to_string(max_rank) + " axes");
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return fail("an extent is too large");
      entry_.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (where_ != place::offsets) return unexpected("a number");
    if (offsets_ == 2) return fail("data_offsets has more than 2 numbers");
    // The end for now; what they say is checked when all tensors are known.
    (offsets_++ == 0 ? entry_.offset : entry_.bytes) = static_cast<std::size_t>(value);
    return true;
  }

  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) { return unexpected("a number with a fraction"); }
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool binary(json::binary_t&) { return unexpected("binary data"); }

  bool parse_error(std::size_t, const std::string&, const json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...": what is
    // before the colon says less than the byte does. Behind it the text may be quoted at length.
    const std::string text = e.what();
    const std::size_t before = text.find(": ");
    problem = "the header is no JSON, " +
              quote(before == std::string::npos ? text : text.substr(before + 2), 160);
    return false;
  }

 private:
  enum class place { start, tensors, metadata, tensor, shape, offsets, end };

  bool fail(const std::string& reason) {
    if (in_metadata_)
      problem = "__metadata__: " + reason;
    else
      problem = "tensor " + quote(entry_.name) + ": " + reason;
    return false;
  }
  bool unexpected(const std::string& what) { return fail("unexpected " + what); }

  place where_ = place::start;
  safetensors_entry entry_;
  std::string key_;
  int offsets_ = 0;
  bool in_metadata_ = false;
  bool has_metadata_ = false;
  bool has_type_ = false, has_shape_ = false, has_offsets_ = false;
};

/// Checks that the tensors' bytes follow one another from the end of the header to that of the
/// file, each as many as its shape and dtype ask for, and that no name comes twice. Makes offsets
/// count from the beginning of the file and `bytes` what it says.
inline void place_safetensors(const std::string& path, std::vector<safetensors_entry>& entries,
                              std::size_t begin, std::size_t file_size) {
  const auto at = [&](std::size_t offset) {
    return begin + std::min(offset, file_size - begin);  // for messages
  };
  for (safetensors_entry& each : entries) {
    const std::string who = "tensor " + quote(each.name) + ": ";
    const std::size_t end = each.bytes;
    const std::string range = "bytes " + std::to_string(each.offset) + " to " + std::to_string(end);
    if (end < each.offset)
      damaged(path, at(each.offset), who + range + ", which end before they begin");
    if (end > file_size - begin)
      damaged(path, at(each.offset),
              who + range + " of the " + std::to_string(file_size - begin) + " behind the header");
    each.bytes = end - each.offset;
    if (!is_size_of(each.shape, each.type, each.bytes))
      damaged(path, at(each.offset),
              who + range + " for shape " + to_string(each.shape) + " of " +
                  std::string(name(each.type)));
  }

  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  std::size_t next = 0;
  for (safetensors_entry& each : entries) {
    if (each.offset != next)
      damaged(
          path, at(std::min(each.offset, next)),
          "tensor " + quote(each.name) +
              (each.offset < next ? " overlaps the one before it" : " leaves a hole before it"));
    next += each.bytes;
    each.offset += begin;
  }
  if (begin + next != file_size)
    damaged(path, begin + next,
            std::to_string(file_size - begin - next) + " bytes behind the last tensor");
}

/// Reads and checks the header of a file whose bytes these are. Keeps at most a few times the
/// header's length. Throws io_error (file, byte, reason).
inline safetensors_header read_safetensors_header(const std::string& path,
                                                  std::span<const std::byte> file) {
  constexpr std::size_t preamble = 8;
  if (file.size() < preamble) damaged(path, 0, "too short for a .safetensors file");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), preamble);
  if (length > file.size() - preamble)
    damaged(path, 0, "a header of " + std::to_string(length) + " bytes does not fit into the file");
  if (length > safetensors_header_limit)
    damaged(path, 0,
            "a header of " + std::to_string(length) + " bytes, expected at most " +
                std::to_string(safetensors_header_limit));
  const char* const text = reinterpret_cast<const char*>(file.data()) + preamble;
  if (length == 0 || *text != '{') damaged(path, preamble, "the header does not begin with '{'");

  safetensors_events events;
  std::size_t consumed = 0;
  if (!nlohmann::json::sax_parse(json_cursor(text, &consumed),
                                 json_cursor(text + length, &consumed), &events))
    damaged(path, preamble + consumed, events.problem);

  std::vector<std::string_view> names;
  names.reserve(events.result.entries.size());
  for (const safetensors_entry& each : events.result.entries) names.push_back(each.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) damaged(path, preamble, "two tensors " + quote(std::string(*twice)));

  place_safetensors(path, events.result.entries, preamble + static_cast<std::size_t>(length),
                    file.size());
  return std::move(events.result);
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
