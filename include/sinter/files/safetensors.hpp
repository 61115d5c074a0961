// SPDX-License-Identifier: MIT
// .safetensors files: named tensors behind a JSON header, read lazily from a mapped file, and
// written. The format is that of https://github.com/huggingface/safetensors: eight bytes with the
// header's length, the header, the elements, little-endian and row-major. Needs nlohmann_json
// (target sinter::safetensors).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/files/convert.hpp>
#include <sinter/files/file_replacement.hpp>
#include <sinter/files/mapped_file.hpp>
#include <sinter/files/named_tensors.hpp>
#include <sinter/files/safetensors_header.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/any_tensor.hpp>
#include <sinter/tensor/tensor.hpp>

namespace sinter::inline SINTER_ABI {

static_assert(std::endian::native == std::endian::little,
              "safetensors: elements are read and written as the machine has them");

/// A .safetensors file. To open it reads and checks the header alone; elements are read from the
/// mapping where they are used, and stay mapped as long as the object or a tensor from it lives
/// (see mapped_file for what that asks of the file). Copies share the mapping.
class safetensors_file {
 public:
  /// Throws io_error (file, byte, reason) if the file cannot be read, or its header is anything but
  /// what the format asks for: tensors without gaps or overlap up to the end of the file, of known
  /// dtypes, ranks up to 8, each with a name of its own.
  explicit safetensors_file(std::string path) : file_(std::move(path)) {
    detail::safetensors_header header =
        detail::read_safetensors_header(file_.path(), file_.bytes());
    entries_ = std::move(header.entries);
    metadata_ = std::move(header.metadata);
    by_name_.resize(entries_.size());
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::sort(by_name_.begin(), by_name_.end(),
              [&](std::size_t a, std::size_t b) { return entries_[a].name < entries_[b].name; });
  }

  const std::string& path() const { return file_.path(); }
  /// In the order of their elements in the file.
  const std::vector<safetensors_entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// Dtype, shape and place of a tensor. O(log n) of the number of tensors. Throws io_error if
  /// there is none of this name.
  const safetensors_entry& entry(std::string_view name) const {
    const safetensors_entry* const found = find(name);
    if (found == nullptr)
      raise(io_error(path() + ": no tensor " + detail::quote(std::string(name)) + " among " +
                     std::to_string(entries_.size())));
    return *found;
  }

  /// A tensor of any dtype and rank, not copied. (It is, if the header's length puts elements at an
  /// address that is no multiple of their size, which writers avoid.) Throws io_error if there is
  /// none of this name, or a boolean is neither 0 nor 1.
  any_tensor get(std::string_view name) const {
    const safetensors_entry& found = entry(name);
    return file_.tensor_at(found.type, found.offset, found.shape);
  }

  /// The same behind a type: `file.get<float, 2>("weight")`, an operand and an argument as a tensor
  /// is, also a `frozen` one (keep it between calls: another `get` is another tensor to the cache).
  /// Throws dtype_error if the elements are not exactly `T`, shape_error if the shape does not fit
  /// `E`.
  template <Element T, extents_spec E>
  shared_tensor<T, E> get(std::string_view name) const {
    const safetensors_entry& found = entry(name);
    const std::string who = described(found);
    if (found.type != dtype_of<T>)
      raise(dtype_error(who + ": elements are " + std::string(sinter::name(found.type)) +
                        ", expected " + std::string(sinter::name(dtype_of<T>))));
    require_fits(found.shape, E, who.c_str());
    return get(name).template share<T, E>();
  }

  /// A copy with elements of another type: floats from any number, rounded to the nearest; integers
  /// from integers and booleans, whose values they must hold. Throws as `get` does.
  template <Element T, extents_spec E>
  tensor<T, E> converted(std::string_view name) const {
    return detail::converted<T, E>(get(name), described(entry(name)));
  }

 private:
  const safetensors_entry* find(std::string_view name) const {
    const auto at = std::lower_bound(
        by_name_.begin(), by_name_.end(), name,
        [&](std::size_t i, std::string_view wanted) { return entries_[i].name < wanted; });
    return at != by_name_.end() && entries_[*at].name == name ? &entries_[*at] : nullptr;
  }

  std::string described(const safetensors_entry& e) const {
    return path() + ": tensor " + detail::quote(e.name);
  }

  mapped_file file_;
  std::vector<safetensors_entry> entries_;
  std::vector<std::size_t> by_name_;
  std::map<std::string, std::string> metadata_;
};

/// Saves tensors, any or none, as a .safetensors file that takes its name when all of it is
/// written. Elements lie in the given order, those of wide types before those of narrow ones: each
/// begins at a multiple of its size, the first at one of 64. Throws io_error if a name comes twice,
/// is
/// "__metadata__" or no UTF-8 (as metadata must be, too), or the file cannot be written; an
/// existing file is then as it was.
inline void save_safetensors(const std::string& path, const named_tensors& tensors,
                             const std::map<std::string, std::string>& metadata = {}) {
  detail::require_different_names(path, tensors);
  std::vector<const named_tensors::value_type*> order;
  for (const auto& each : tensors) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.type()) > size_of(b->second.type());
  });
  const auto bytes_of = [](const any_tensor& x) {
    return static_cast<std::size_t>(x.size()) * size_of(x.type());
  };

  std::string header;
  const auto write_header = [&] {
    nlohmann::ordered_json document = nlohmann::ordered_json::object();
    if (!metadata.empty()) document["__metadata__"] = metadata;
    header = document.dump();
    header.pop_back();
    // Member by member: the document looks for a name among all, which is slow for thousands.
    std::size_t offset = 0;
    for (const auto* each : order) {
      const auto& [name, x] = *each;
      if (name == "__metadata__")
        raise(io_error(path + ": a tensor cannot be called '__metadata__'"));
      nlohmann::ordered_json entry;
      entry["dtype"] = detail::safetensors_name(x.type());
      entry["shape"] = std::vector<std::int64_t>(x.shape().begin(), x.shape().end());
      entry["data_offsets"] = {offset, offset + bytes_of(x)};
      offset += bytes_of(x);
      if (header.size() > 1) header += ',';
      header += nlohmann::json(name).dump() + ':' + entry.dump();
    }
    header += '}';
  };
  attempt<nlohmann::json::type_error>(write_header, [&](const nlohmann::json::type_error&) {
    raise(io_error(path + ": a name or metadata is no UTF-8"));
  });
  while ((sizeof(std::uint64_t) + header.size()) % storage_alignment != 0) header += ' ';
  if (header.size() > detail::safetensors_header_limit)
    raise(io_error(path + ": a header of " + std::to_string(header.size()) +
                   " bytes, expected at most " + std::to_string(detail::safetensors_header_limit)));

  detail::file_replacement file(path);
  const std::uint64_t length = header.size();
  file.write(&length, sizeof length);
  file.write(header);
  for (const auto* each : order) file.write(each->second.data(), bytes_of(each->second));
  file.finish();
}

}  // namespace sinter::inline SINTER_ABI
