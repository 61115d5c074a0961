// SPDX-License-Identifier: MIT
// frozen: an argument whose elements change rarely, weights at inference. What a function computes
// from frozen arguments alone is computed once and kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sinter/function/arguments.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>

namespace sinter::inline SINTER_ABI {

/// Marks an argument of a fused function in the call, `f(x, sn::frozen(w), sn::frozen(b))`:
/// folding, concatenating or packing `w` is then done once, and every later call reads the result,
/// until `w` changes. Which arguments are frozen is part of what a plan is made for; what was
/// computed is kept in the function object, for as long as the tensors it comes from live unchanged
/// (and for at most cache_limits::prepared sets of them per plan).
///
/// The promise: who writes elements of a frozen tensor by hand (by index, through a pointer, a
/// reference or a view) calls `w.touch()` behind it, or the old values may be used. Changes made by
/// the library (assignment, `fill`, `into`, `assign` in a fused function, new storage) count by
/// themselves. Nobody writes the elements while a call reads them. In builds with assertions, every
/// call checks the promise for contiguous arguments, and throws graph_error if it was broken.
///
/// The tensor must outlive the object; a function that assigns the argument throws graph_error, one
/// whose result goes `into` it alias_error.
template <class Array>
class frozen;

template <class T, extents_spec E>
class frozen<tensor<T, E>> {
 public:
  explicit frozen(const tensor<T, E>& array) : array_(&array) {}
  explicit frozen(const tensor<T, E>&&) = delete;

  const T* data() const { return array_->data(); }
  const shape_vector& shape() const { return array_->shape(); }
  sinter::contents contents() const { return array_->storage().current_contents(); }
  std::uint64_t version() const { return 0; }

 private:
  const tensor<T, E>* array_;
};

/// Of elements that are shared, it keeps a share: those of a mapped file stay mapped.
template <class T, extents_spec E>
class frozen<shared_tensor<T, E>> {
 public:
  explicit frozen(shared_tensor<T, E> array) : array_(std::move(array)) {}

  const T* data() const { return array_.data(); }
  const shape_vector& shape() const { return array_.shape(); }
  sinter::contents contents() const { return array_.block.current_contents(); }
  std::uint64_t version() const { return 0; }

 private:
  shared_tensor<T, E> array_;
};

/// Of a view nobody counts the writes: the caller names the version of the elements, and another
/// number whenever they differ, also when other elements come to lie at the same address.
template <class T, extents_spec E>
class frozen<view<T, E>> {
 public:
  frozen(view<T, E> array, std::uint64_t version) : array_(array), version_(version) {}

  const T* data() const { return array_.data(); }
  const shape_vector& shape() const { return array_.shape(); }
  const shape_vector& strides() const { return array_.strides(); }
  sinter::contents contents() const { return {}; }
  std::uint64_t version() const { return version_; }

 private:
  view<T, E> array_;
  std::uint64_t version_;
};

template <class T, extents_spec E>
frozen(const tensor<T, E>&) -> frozen<tensor<T, E>>;
template <class T, extents_spec E>
frozen(shared_tensor<T, E>) -> frozen<shared_tensor<T, E>>;
template <class T, extents_spec E>
frozen(view<T, E>, std::uint64_t) -> frozen<view<T, E>>;

/// A struct of tensors, all of them frozen: `f(x, sn::frozen(model))`.
template <class S>
  requires detail::StructArgument<S>
class frozen<S> {
 public:
  explicit frozen(const S& model) : model_(&model) {}
  explicit frozen(const S&&) = delete;

  /// Calls `f(x)` for each tensor of the struct, x being the tensor, frozen.
  template <class F>
  void for_each_parameter(F&& f) const {
    sinter::for_each_parameter(*model_, [&](const auto& each) {
      const frozen<std::remove_cvref_t<decltype(each)>> x(each);
      f(x);
    });
  }

 private:
  const S* model_;
};

template <class S>
  requires detail::StructArgument<S>
frozen(const S&) -> frozen<S>;

namespace detail {

template <PlainArgument Array>
struct spec_of<frozen<Array>> : spec_of<Array> {};

template <class S>
  requires StructArgument<S>
struct structure_in<frozen<S>> {
  using type = S;
};

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
