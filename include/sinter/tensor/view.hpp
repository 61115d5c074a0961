// SPDX-License-Identifier: MIT
//
// view<T, E>: elements that somebody else owns, at any strides. The explicit way to borrow memory:
// the caller keeps it alive as long as the view, and every expression built from the view, is in
// use.
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <sinter/support/error.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/tensor.hpp>

namespace sinter::inline SINTER_ABI {

/// What std::mdspan and its relatives have in common: enough to borrow their elements without
/// knowing the type.
template <class M>
concept MdspanLike = requires(const M& m) {
  { M::rank() } -> std::convertible_to<std::size_t>;
  { m.extent(std::size_t{0}) } -> std::convertible_to<std::int64_t>;
  { m.stride(std::size_t{0}) } -> std::convertible_to<std::int64_t>;
  { *m.data_handle() };
};

template <class M>
using mdspan_element = std::remove_reference_t<decltype(*std::declval<const M&>().data_handle())>;

/// Borrowed elements; `T` may be const. Strides count elements and may be 0 (a broadcast axis) or
/// negative (a flipped one); `data()` is the element whose indices are all 0. Copying a view copies
/// no elements. Constructors throw shape_error when a run-time extent differs from a static one or
/// is negative.
template <class T, extents_spec E>
class view {
  static_assert(Element<std::remove_const_t<T>>,
                "view: the element type must be bool, an integer of 8 to 64 bits or a float");

 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  static constexpr extents_spec static_extents = E;

  static constexpr int rank() { return E.rank; }

  /// Row-major elements from `data` on.
  view(T* data, const shape_vector& shape) : view(data, shape, row_major_strides(shape)) {}

  /// Elements at `data + i * strides[0] + j * strides[1] + ...`.
  view(T* data, const shape_vector& shape, const shape_vector& strides)
      : data_(data), shape_(shape), strides_(strides) {
    require_fits(shape, E, "view");
    size_ = element_count(shape);
    if (strides.size() != shape.size()) {
      raise(shape_error("view: " + std::to_string(strides.size()) + " strides for shape " +
                        to_string(shape)));
    }
  }

  /// All elements of a tensor. A tensor about to go away cannot be borrowed from.
  template <extents_spec F>
    requires(E.compatible_with(F))
  view(tensor<value_type, F>& source) : view(source.data(), source.shape()) {}

  template <extents_spec F>
    requires(E.compatible_with(F) && std::is_const_v<T>)
  view(const tensor<value_type, F>& source) : view(source.data(), source.shape()) {}

  template <extents_spec F>
  view(const tensor<value_type, F>&& source) = delete;

  /// Elements that somebody else shares too: who makes the view keeps them alive.
  template <extents_spec F>
    requires(E.compatible_with(F) && std::is_const_v<T>)
  view(const shared_tensor<value_type, F>& source) : view(source.data(), source.shape()) {}

  template <extents_spec F>
  view(const shared_tensor<value_type, F>&& source) = delete;

  /// A view whose type fixes other extents, or whose elements may be written.
  template <class U, extents_spec F>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && E.compatible_with(F) &&
             !(std::same_as<T, U> && E == F))
  view(const view<U, F>& other) : view(other.data(), other.shape(), other.strides()) {}

  template <class U, std::size_t N>
    requires(std::is_convertible_v<U (*)[], T (*)[]> && E.rank == 1)
  view(std::span<U, N> source) : view(source.data(), {static_cast<std::int64_t>(source.size())}) {}

  template <MdspanLike M>
    requires(static_cast<int>(M::rank()) == E.rank &&
             std::is_convertible_v<mdspan_element<M> (*)[], T (*)[]>)
  view(const M& source) : view(&*source.data_handle(), shape_of(source), strides_of(source)) {}

  // --- shape ---

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const shape_vector& shape() const { return shape_; }
  const shape_vector& strides() const { return strides_; }

  /// The extent of `axis`, counted from 0. Throws axis_error outside of [0, rank).
  std::int64_t extent(int axis) const { return shape_[checked(axis)]; }

  /// The distance, in elements, of neighbours along `axis`. Throws axis_error outside of [0, rank).
  std::int64_t stride(int axis) const { return strides_[checked(axis)]; }

  /// True when the elements lie row-major without gaps, as those of a tensor do.
  bool is_contiguous() const {
    std::int64_t expected = 1;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      // The stride of an axis with one element (or of an empty view) is never used.
      if (shape_[axis] > 1 && strides_[axis] != expected && size_ > 0) return false;
      expected *= shape_[axis] > 0 ? shape_[axis] : 1;
    }
    return true;
  }

  // --- elements ---

  T* data() const { return data_; }

  /// The element at `(i, j, ...)`. Indices are checked by `assert` only.
  template <std::integral... Index>
    requires(sizeof...(Index) == static_cast<std::size_t>(E.rank))
  T& operator()(Index... index) const {
    std::int64_t offset = 0;
    [[maybe_unused]] std::size_t axis = 0;
    ((assert(static_cast<std::int64_t>(index) >= 0 &&
             static_cast<std::int64_t>(index) < shape_[axis]),
      offset += strides_[axis++] * static_cast<std::int64_t>(index)),
     ...);
    return data_[offset];
  }

  /// Calls `f(element)` for every element in row-major order of the indices.
  template <class Function>
  void for_each(Function&& f) const {
    if (size_ > 0) visit(data_, 0, f);
  }

  /// Copies the elements into `target`, which takes the shape of the view. This is what
  /// `tensor<T, R> t = some_view` calls.
  template <extents_spec F>
    requires(F.compatible_with(E))
  void evaluate_to(tensor<value_type, F>& target) const {
    // Written into fresh storage: the view may borrow from `target` itself, whose elements must
    // stay until all are read.
    tensor<value_type, F> copy = tensor<value_type, F>::uninitialized(shape_);
    value_type* out = copy.data();
    for_each([&](const value_type& element) { *out++ = element; });
    target = std::move(copy);
  }

 private:
  static std::size_t checked(int axis) {
    if (axis < 0 || axis >= E.rank) {
      raise(axis_error("axis " + std::to_string(axis) + " of a view of rank " +
                       std::to_string(E.rank)));
    }
    return static_cast<std::size_t>(axis);
  }

  template <class M>
  static shape_vector shape_of(const M& source) {
    shape_vector shape;
    for (std::size_t axis = 0; axis < M::rank(); ++axis) {
      shape.push_back(
          static_cast<std::int64_t>(source.extent(static_cast<decltype(M::rank())>(axis))));
    }
    return shape;
  }

  template <class M>
  static shape_vector strides_of(const M& source) {
    shape_vector strides;
    for (std::size_t axis = 0; axis < M::rank(); ++axis) {
      strides.push_back(
          static_cast<std::int64_t>(source.stride(static_cast<decltype(M::rank())>(axis))));
    }
    return strides;
  }

  template <class Function>
  void visit(T* at, std::size_t axis, Function& f) const {
    if (axis == shape_.size()) {
      f(*at);
      return;
    }
    for (std::int64_t i = 0; i < shape_[axis]; ++i) visit(at + i * strides_[axis], axis + 1, f);
  }

  T* data_;
  shape_vector shape_;
  shape_vector strides_;
  std::int64_t size_ = 0;
};

template <class T, extents_spec E>
view(tensor<T, E>&) -> view<T, E>;

template <class T, extents_spec E>
view(const tensor<T, E>&) -> view<const T, E>;

template <class T, extents_spec E>
view(const shared_tensor<T, E>&) -> view<const T, E>;

template <class T, std::size_t N>
view(std::span<T, N>) -> view<T, extents_spec(1)>;

template <MdspanLike M>
view(const M&) -> view<mdspan_element<M>, extents_spec(static_cast<int>(M::rank()))>;

/// A view of row-major elements: `make_view(pointer, 3, 4)`. The rank is the number of extents.
template <class T, std::integral... Extent>
auto make_view(T* data, Extent... extent) {
  return view<T, extents_spec(static_cast<int>(sizeof...(Extent)))>(
      data, {static_cast<std::int64_t>(extent)...});
}

/// A view of elements at the given strides:
/// `make_view(pointer, std::array{3, 4}, std::array{1, 3})`.
template <class T, std::integral Extent, std::integral Stride, std::size_t Rank>
auto make_view(T* data, const std::array<Extent, Rank>& shape,
               const std::array<Stride, Rank>& strides) {
  return view<T, extents_spec(static_cast<int>(Rank))>(
      data, shape_vector(shape.begin(), shape.end()), shape_vector(strides.begin(), strides.end()));
}

/// A view of a whole tensor, span or mdspan-like object.
template <class Source>
  requires requires(Source& source) { view(source); }
auto make_view(Source& source) {
  return view(source);
}

template <class T, std::size_t N>
auto make_view(std::span<T, N> source) {
  return view(source);
}

}  // namespace sinter::inline SINTER_ABI
