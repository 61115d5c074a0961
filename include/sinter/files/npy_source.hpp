// SPDX-License-Identifier: MIT
// What .npy files hold, read and written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include <sinter/files/damage.hpp>
#include <sinter/files/elements.hpp>
#include <sinter/files/file_replacement.hpp>
#include <sinter/files/mapped_file.hpp>
#include <sinter/files/npy.hpp>
#include <sinter/files/npy_header.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/separate.hpp>

namespace sinter::inline SINTER_ABI {

static_assert(std::endian::native == std::endian::little,
              "npy: elements are read and written as the machine has them");

namespace detail {

/// The array whose last axis is the first of `x`, and so on: a copy.
inline any_tensor reversed_axes(const any_tensor& x) {
  shape_vector shape, strides;
  const shape_vector given = row_major_strides(x.shape());
  for (std::size_t axis = x.shape().size(); axis-- > 0;) {
    shape.push_back(x.shape()[axis]);
    strides.push_back(given[axis]);
  }
  any_tensor out(x.type(), shape);
  dispatch(x.type(), [&]<class T>(std::type_identity<T>) {
    T* target = static_cast<T*>(out.data());
    const T* const source = static_cast<const T*>(x.data());
    shape_vector index = shape_vector::filled(shape.size(), 0);
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < out.size(); ++i) {
      target[i] = source[at];
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        at += strides[axis];
        if (++index[axis] < shape[axis]) break;
        at -= strides[axis] * shape[axis];
        index[axis] = 0;
      }
    }
  });
  return out;
}

/// The array behind a header: shared, copied where C++ or the order of elements ask for it.
inline any_tensor npy_elements(const std::string& path, const npy_header& header,
                               const storage& file) {
  const std::optional<dtype> type = npy_dtype(header.descr);
  if (!type)
    raise(dtype_error(path + ": the elements are '" + header.descr + "', which no tensor has"));
  const std::size_t available = file.size_bytes() - header.data_offset;
  // Against the bytes that are there, before anything is allocated for elements.
  if (!is_size_of(header.shape, *type, available))
    damaged(path, header.data_offset,
            std::to_string(available) + " bytes of elements, expected " +
                std::to_string(size_of(*type)) + " for each in shape " + to_string(header.shape));
  if (!header.fortran_order || header.shape.size() < 2)
    return elements_at(path, file, *type, header.data_offset, header.shape);
  // First axis fastest: row-major with the axes reversed.
  shape_vector reversed;
  for (std::size_t axis = header.shape.size(); axis-- > 0;) reversed.push_back(header.shape[axis]);
  return reversed_axes(elements_at(path, file, *type, header.data_offset, reversed));
}

SINTER_INLINE any_tensor npy_array(const std::string& path, const storage& file) {
  return npy_elements(path, read_npy_header(path, {file.data(), file.size_bytes()}), file);
}

SINTER_INLINE any_tensor npy_array(const std::string& path, const storage& file, dtype type,
                                   const extents_spec& extents) {
  const npy_header header = read_npy_header(path, {file.data(), file.size_bytes()});
  require_npy_name(path, type);
  if (npy_dtype(header.descr) != type)
    raise(dtype_error(path + ": the elements are '" + header.descr + "', expected '" +
                      std::string(npy_descr(type)) + "' (" + std::string(name(type)) + ")"));
  require_fits(header.shape, extents, path.c_str());
  return npy_elements(path, header, file);
}

SINTER_INLINE any_tensor map_npy(const std::string& path, dtype type, const extents_spec& extents) {
  return npy_array(path, map_file(path), type, extents);
}

}  // namespace detail

SINTER_INLINE any_tensor map_npy(const std::string& path) {
  return detail::npy_array(path, detail::map_file(path));
}

SINTER_INLINE void save_npy(const std::string& path, const any_tensor& source) {
  detail::require_npy_name(path, source.type());
  detail::file_replacement file(path);
  file.write(detail::write_npy_header(source.type(), source.shape()));
  file.write(source.data(), static_cast<std::size_t>(source.size()) * size_of(source.type()));
  file.finish();
}

}  // namespace sinter::inline SINTER_ABI
