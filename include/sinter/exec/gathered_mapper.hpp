// SPDX-License-Identifier: MIT
// Operands of a product that are gathered while they are packed: Eigen's packing routines read a
// matrix through a mapper, and this one finds elements by a table of offsets per direction. The
// windows of an image are multiplied so without being copied into a matrix first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// The order matters: see intrinsics.hpp.
// clang-format off
#include <sinter/support/intrinsics.hpp>
#include <Eigen/Core>
// clang-format on

#include <sinter/exec/product.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

/// Where `count` positions from `first` on lie, counted row-major through the axes.
inline void fill_offsets(std::span<const matrix_axis> axes, std::int64_t first, std::int64_t count,
                         std::int64_t* out) {
  const auto [extent, stride] = axes.back();
  const auto outer = axes.first(axes.size() - 1);
  // Positions along the outer axes, which count on like the digits of a number: to find each by
  // division took as long as to multiply a few rows by windows of 144 elements.
  std::array<std::int64_t, max_rank> at{};
  std::int64_t start = 0, rest = first / extent;
  for (std::size_t i = outer.size(); i-- > 0; rest /= outer[i].extent) {
    at[i] = rest % outer[i].extent;
    start += at[i] * outer[i].stride;
  }
  for (std::int64_t done = 0, inner = first % extent; done < count; inner = 0) {
    const std::int64_t run = std::min(extent - inner, count - done);
    for (std::int64_t i = 0; i < run; ++i) out[done + i] = start + (inner + i) * stride;
    done += run;
    for (std::size_t i = outer.size(); i-- > 0;) {
      start += outer[i].stride;
      if (++at[i] < outer[i].extent) break;
      start -= at[i] * outer[i].stride;
      at[i] = 0;
    }
  }
}

/// Offsets along one direction, and behind each of them how many neighbours in a row lie one behind
/// the other from there on.
struct offset_table {
  const std::int64_t* offsets = nullptr;
  const std::int64_t* runs = nullptr;

  static constexpr std::int64_t words(std::int64_t count) { return 2 * count; }

  static offset_table make(std::span<const matrix_axis> axes, std::int64_t first,
                           std::int64_t count, std::int64_t* memory) {
    fill_offsets(axes, first, count, memory);
    std::int64_t* const runs = memory + count;
    for (std::int64_t i = count - 1; i >= 0; --i)
      runs[i] = i + 1 < count && memory[i + 1] == memory[i] + 1 ? runs[i + 1] + 1 : 1;
    return {memory, runs};
  }
};

/// Element (i, j) is `base[first[i] + second[j]]`. Packets run along the first index, or along the
/// second.
template <class T, bool AlongFirst>
class gathered_mapper {
  using index = Eigen::Index;

 public:
  gathered_mapper(const T* base, offset_table first, offset_table second, std::int64_t low,
                  std::int64_t high)
      : base_(base), first_(first), second_(second), low_(low), high_(high) {}

  /// A row or column, along the direction of packets.
  class LinearMapper {
   public:
    LinearMapper(const gathered_mapper& of, index i, index j) : of_(of), i_(i), j_(j) {}
    T operator()(index k) const { return AlongFirst ? of_(i_ + k, j_) : of_(i_, j_ + k); }
    template <class Packet>
    Packet loadPacket(index k) const {
      return AlongFirst ? of_.template loadPacket<Packet>(i_ + k, j_)
                        : of_.template loadPacket<Packet>(i_, j_ + k);
    }

   private:
    const gathered_mapper& of_;
    index i_, j_;
  };
  LinearMapper getLinearMapper(index i, index j) const { return {*this, i, j}; }

  T operator()(index i, index j) const { return base_[first_.offsets[i] + second_.offsets[j]]; }

  template <class Packet>
  EIGEN_STRONG_INLINE Packet loadPacket(index i, index j) const {
    return AlongFirst ? load<Packet>(second_.offsets[j], first_, i)
                      : load<Packet>(first_.offsets[i], second_, j);
  }

 private:
  template <class Packet>
  EIGEN_STRONG_INLINE Packet load(std::int64_t apart, const offset_table& table, index i) const {
    constexpr std::int64_t size = Eigen::internal::unpacket_traits<Packet>::size;
    if (table.runs[i] >= size) [[likely]]
      return Eigen::internal::ploadu<Packet>(base_ + apart + table.offsets[i]);
    return load_runs<Packet>(apart, table, i);
  }

  // Each run is loaded as if it filled the packet, and replaces what came behind the one before:
  // two loads where a packet goes over the end of a row, instead of as many as it has lanes.
  template <class Packet>
  Packet load_runs(std::int64_t apart, const offset_table& table, index i) const {
    using namespace Eigen::internal;
    constexpr std::int64_t size = unpacket_traits<Packet>::size;
    if constexpr (size > 1) {
      const Packet lanes = plset<Packet>(T(0));
      Packet out = pset1<Packet>(T(0));
      std::int64_t done = 0;
      while (done < size) {
        const std::int64_t start = apart + table.offsets[i + done] - done;
        if (start < low_ || start + size - 1 > high_) break;
        out = pselect(pcmp_lt(lanes, pset1<Packet>(static_cast<T>(done))), out,
                      ploadu<Packet>(base_ + start));
        done += table.runs[i + done];
      }
      if (done >= size) return out;
    }
    T lane[std::size_t{size}];
    for (std::int64_t k = 0; k < size; ++k) lane[k] = base_[apart + table.offsets[i + k]];
    return ploadu<Packet>(lane);
  }

  const T* base_;
  offset_table first_, second_;
  std::int64_t low_, high_;
};

}  // namespace sinter::inline SINTER_ABI::exec::detail
