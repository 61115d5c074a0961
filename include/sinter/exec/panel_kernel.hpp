// SPDX-License-Identifier: MIT
// Eigen's block-panel kernel. On AVX-512 its left side has an element type of our own, whose loads
// stay loads: GCC otherwise makes each of them an operand of the four instructions that use it, and
// 16 loads for 12 multiply-adds bound the kernel at 73 % of what the machine multiplies (180 of 247
// GFLOP/s on Zen 5; 245 with 7 loads). With 16 registers, of AVX2 and SSE, it makes no difference.
#pragma once

#include <type_traits>

// The order matters: see intrinsics.hpp.
// clang-format off
#include <sinter/support/intrinsics.hpp>
#include <Eigen/Core>
// clang-format on

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

/// An element of the packed left side.
template <class T>
struct left_element {
  T value;
  operator T() const { return value; }
};

}  // namespace sinter::inline SINTER_ABI::exec::detail

namespace Eigen::internal {

template <class T, int Arch, int PacketSize>
class gebp_traits<sinter::exec::detail::left_element<T>, T, false, false, Arch, PacketSize>
    : public gebp_traits<T, T, false, false, Arch, PacketSize> {
 public:
  using LhsScalar = sinter::exec::detail::left_element<T>;

  template <class Packet>
  EIGEN_STRONG_INLINE void loadLhs(const LhsScalar* from, Packet& to) const {
    to = pload<Packet>(&from->value);
#ifdef EIGEN_VECTORIZE_AVX512
    asm("" : "+v"(to));
#endif
  }
  template <class Packet>
  EIGEN_STRONG_INLINE void loadLhsUnaligned(const LhsScalar* from, Packet& to) const {
    to = ploadu<Packet>(&from->value);
  }
};

// The kernel's loops over the rest of the rows swap the two sides.
template <class T, int Arch, int PacketSize>
class gebp_traits<T, sinter::exec::detail::left_element<T>, false, false, Arch, PacketSize>
    : public gebp_traits<T, T, false, false, Arch, PacketSize> {
  using base = gebp_traits<T, T, false, false, Arch, PacketSize>;

 public:
  using RhsScalar = sinter::exec::detail::left_element<T>;

  template <class Packet>
  EIGEN_STRONG_INLINE void loadRhs(const RhsScalar* from, Packet& to) const {
    base::loadRhs(&from->value, to);
  }
  EIGEN_STRONG_INLINE void loadRhsQuad(const RhsScalar* from, typename base::RhsPacket& to) const {
    base::loadRhsQuad(&from->value, to);
  }
};

template <class T>
struct conj_helper<sinter::exec::detail::left_element<T>, T, false, false>
    : conj_helper<T, T, false, false> {};
template <class T>
struct conj_helper<T, sinter::exec::detail::left_element<T>, false, false>
    : conj_helper<T, T, false, false> {};

}  // namespace Eigen::internal

namespace sinter::inline SINTER_ABI::exec::detail {

/// Column-major C += left right, C with `stride` elements between columns; `left` (rows x depth)
/// and `right` (depth x columns) as gemm_pack_lhs and gemm_pack_rhs write them for gebp_traits<T,
/// T>.
template <class T>
void multiply_panels(T* c, Eigen::Index stride, const T* left, const T* right, Eigen::Index rows,
                     Eigen::Index depth, Eigen::Index columns) {
  using namespace Eigen::internal;
  using traits = gebp_traits<T, T>;
  using result_mapper = blas_data_mapper<T, Eigen::Index, Eigen::ColMajor, Eigen::Unaligned, 1>;
#ifdef EIGEN_VECTORIZE_AVX512
  using element = left_element<T>;
#else
  using element = T;
#endif
  gebp_kernel<element, T, Eigen::Index, result_mapper, traits::mr, traits::nr, false, false>()(
      result_mapper(c, stride), reinterpret_cast<const element*>(left), right, rows, depth, columns,
      T(1));
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
