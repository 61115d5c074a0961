// SPDX-License-Identifier: MIT
// NumPy's .npy files: load, map and save one array.
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
#include <sinter/files/npy_header.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/any_tensor.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/storage.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>

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

/// The array in a .npy file whose bytes these are: shared, copied where C++ or the order of
/// elements ask for it.
inline any_tensor npy_array(const std::string& path, const npy_header& header,
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

/// The same for elements of type `T` and a shape that fits `E`.
template <class T, extents_spec E>
any_tensor typed_npy_array(const std::string& path, const storage& file) {
  const npy_header header = read_npy_header(path, {file.data(), file.size_bytes()});
  require_npy_name(path, dtype_of<T>);
  if (npy_dtype(header.descr) != dtype_of<T>)
    raise(dtype_error(path + ": the elements are '" + header.descr + "', expected '" +
                      std::string(npy_descr(dtype_of<T>)) + "' (" + std::string(name(dtype_of<T>)) +
                      ")"));
  require_fits(header.shape, E, path.c_str());
  return npy_array(path, header, file);
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
  return detail::typed_npy_array<T, E>(path, detail::map_file(path));
}

/// The array in a .npy file, read where it is used: see mapped_file for what that asks of the file.
/// Elements in Fortran order, and those at an address that is no multiple of their size (NumPy
/// writes none), are copied. Throws as load_npy does.
template <class T, extents_spec E>
shared_tensor<T, E> map_npy(const std::string& path) {
  return detail::typed_npy_array<T, E>(path, detail::map_file(path)).template share<T, E>();
}

/// The same with the dtype and rank that the file has. Throws dtype_error if no tensor has them.
inline any_tensor map_npy(const std::string& path) {
  const storage file = detail::map_file(path);
  const auto header = detail::read_npy_header(path, {file.data(), file.size_bytes()});
  return detail::npy_array(path, header, file);
}

/// Saves a tensor as a .npy file, version 1, C order. The elements go to `path` + ".partial" first,
/// which then takes the place of `path`: a reader never sees half a file. Throws dtype_error for
/// bfloat16, io_error; an existing file is then as it was.
inline void save_npy(const std::string& path, const any_tensor& source) {
  detail::require_npy_name(path, source.type());
  detail::file_replacement file(path);
  file.write(detail::write_npy_header(source.type(), source.shape()));
  file.write(source.data(), static_cast<std::size_t>(source.size()) * size_of(source.type()));
  file.finish();
}

/// Saves the elements of a view.
template <class T, extents_spec E>
void save_npy(const std::string& path, const view<T, E>& source) {
  save_npy(path, tensor<std::remove_const_t<T>, E>(source));
}

}  // namespace sinter::inline SINTER_ABI
