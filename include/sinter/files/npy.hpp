// SPDX-License-Identifier: MIT
// NumPy's .npy files: load, map and save one array. How is in npy_source.hpp.
#pragma once

#include <string>
#include <type_traits>

#include <sinter/tensor/any_tensor.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/storage.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

/// The array in a .npy file whose bytes these are: shared, copied where C++ or the order of
/// elements ask for it. `path` is for messages.
any_tensor npy_array(const std::string& path, const storage& file);

/// The same, which must have that dtype and a shape that fits.
any_tensor npy_array(const std::string& path, const storage& file, dtype type,
                     const extents_spec& extents);
any_tensor map_npy(const std::string& path, dtype type, const extents_spec& extents);

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
  return detail::map_npy(path, dtype_of<T>, E);
}

/// The array in a .npy file, read where it is used: see mapped_file for what that asks of the file.
/// Elements in Fortran order, and those at an address that is no multiple of their size (NumPy
/// writes none), are copied. Throws as load_npy does.
template <class T, extents_spec E>
shared_tensor<T, E> map_npy(const std::string& path) {
  return detail::map_npy(path, dtype_of<T>, E).template share<T, E>();
}

/// The same with the dtype and rank that the file has. Throws dtype_error if no tensor has them.
any_tensor map_npy(const std::string& path);

/// Saves a tensor as a .npy file, version 1, C order. The elements go to `path` + ".partial" first,
/// which then takes the place of `path`: a reader never sees half a file. Throws dtype_error for
/// bfloat16, io_error; an existing file is then as it was.
void save_npy(const std::string& path, const any_tensor& source);

/// Saves the elements of a view.
template <class T, extents_spec E>
void save_npy(const std::string& path, const view<T, E>& source) {
  save_npy(path, tensor<std::remove_const_t<T>, E>(source));
}

}  // namespace sinter::inline SINTER_ABI

#ifndef SINTER_SEPARATE
#include <sinter/files/npy_source.hpp>
#endif
