// SPDX-License-Identifier: MIT
//
// Eigen and sinter share elements without copying: `make_view` borrows from an Eigen object,
// `as_eigen` shows a tensor or view to Eigen. Not included by any other header, because Eigen/Core
// costs more compile time than the rest.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

// clang-format off
#include <sinter/support/intrinsics.hpp>  // before Eigen: GCC 12 warns inside immintrin.h
// clang-format on

#include <Eigen/Core>

#include <sinter/support/error.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// Eigen's own mark of a dense object whose coefficients have addresses: Matrix, Array, Map, Ref,
// Block.
template <class M>
concept EigenDirect = std::is_base_of_v<Eigen::EigenBase<M>, M> &&
                      ((Eigen::internal::traits<M>::Flags & Eigen::DirectAccessBit) != 0);

template <class M>
inline constexpr bool eigen_owns = std::is_base_of_v<Eigen::PlainObjectBase<M>, M>;

template <class M>
consteval extents_spec eigen_extents() {
  // Eigen's Dynamic and sinter's dyn are both -1.
  static_assert(Eigen::Dynamic == dyn);
  if constexpr (M::IsVectorAtCompileTime) {
    return extents<M::SizeAtCompileTime>;
  } else {
    return extents<M::RowsAtCompileTime, M::ColsAtCompileTime>;
  }
}

// Eigen wants a matrix of one column to be column-major and one of one row to be row-major.
template <extents_spec E>
inline constexpr bool eigen_row_major = !(E[1] == 1 && E[0] != 1);

template <class T, extents_spec E>
using eigen_matrix =
    Eigen::Matrix<std::remove_const_t<T>, static_cast<int>(E[0]), static_cast<int>(E[1]),
                  eigen_row_major<E> ? Eigen::RowMajor : Eigen::ColMajor>;

template <class T, extents_spec E>
using eigen_vector = Eigen::Matrix<std::remove_const_t<T>, static_cast<int>(E[0]), 1>;

// Map<const M> when the elements may not be written.
template <class T, class M>
using same_constness = std::conditional_t<std::is_const_v<T>, const M, M>;

template <class T, extents_spec E>
auto map_contiguous(T* data, const shape_vector& shape) {
  if constexpr (E.rank == 1) {
    return Eigen::Map<same_constness<T, eigen_vector<T, E>>, Eigen::Aligned64>(data, shape[0]);
  } else {
    // A matrix that is statically one column wide is column-major in Eigen's terms, with the same
    // elements.
    return Eigen::Map<same_constness<T, eigen_matrix<T, E>>, Eigen::Aligned64>(data, shape[0],
                                                                               shape[1]);
  }
}

}  // namespace detail

/// A view of an Eigen object that has its elements in memory (Matrix, Array, Map, Ref, Block;
/// either storage order). Vectors at compile time have rank 1, everything else rank 2; fixed sizes
/// become static extents. No copy: the object's memory must outlive the view. An owning temporary
/// is refused.
template <class M>
  requires detail::EigenDirect<std::remove_cvref_t<M>>
auto make_view(M&& matrix) {
  using plain = std::remove_cvref_t<M>;
  static_assert(std::is_lvalue_reference_v<M> || !detail::eigen_owns<plain>,
                "make_view: the Eigen object is a temporary, its elements would be gone");
  using element = std::remove_pointer_t<decltype(matrix.data())>;
  constexpr extents_spec spec = detail::eigen_extents<plain>();
  if constexpr (spec.rank == 1) {
    return view<element, spec>(matrix.data(), {matrix.size()}, {matrix.innerStride()});
  } else {
    const std::int64_t inner = matrix.innerStride();
    const std::int64_t outer = matrix.outerStride();
    const shape_vector strides =
        plain::IsRowMajor ? shape_vector{outer, inner} : shape_vector{inner, outer};
    return view<element, spec>(matrix.data(), {matrix.rows(), matrix.cols()}, strides);
  }
}

/// An Eigen::Map of a tensor of rank 1 (a column vector) or 2. No copy; static extents become fixed
/// sizes.
template <class T, extents_spec E>
  requires(E.rank == 1 || E.rank == 2)
auto as_eigen(tensor<T, E>& source) {
  return detail::map_contiguous<T, E>(source.data(), source.shape());
}

template <class T, extents_spec E>
  requires(E.rank == 1 || E.rank == 2)
auto as_eigen(const tensor<T, E>& source) {
  return detail::map_contiguous<const T, E>(source.data(), source.shape());
}

template <class T, extents_spec E>
auto as_eigen(tensor<T, E>&&) = delete;

/// An Eigen::Map with run-time strides of a view of rank 1 or 2. No copy. Throws shape_error when a
/// stride is negative, which Eigen's maps do not have.
template <class T, extents_spec E>
  requires(E.rank == 1 || E.rank == 2)
auto as_eigen(const view<T, E>& source) {
  for (const std::int64_t stride : source.strides()) {
    if (stride < 0)
      raise(shape_error("as_eigen: strides " + to_string(source.strides()) +
                        ", expected none below 0"));
  }
  if constexpr (E.rank == 1) {
    using stride = Eigen::InnerStride<>;
    return Eigen::Map<detail::same_constness<T, detail::eigen_vector<T, E>>, Eigen::Unaligned,
                      stride>(source.data(), source.extent(0), stride(source.stride(0)));
  } else {
    using stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    const std::int64_t outer = source.stride(detail::eigen_row_major<E> ? 0 : 1);
    const std::int64_t inner = source.stride(detail::eigen_row_major<E> ? 1 : 0);
    return Eigen::Map<detail::same_constness<T, detail::eigen_matrix<T, E>>, Eigen::Unaligned,
                      stride>(source.data(), source.extent(0), source.extent(1),
                              stride(outer, inner));
  }
}

}  // namespace sinter::inline SINTER_ABI
