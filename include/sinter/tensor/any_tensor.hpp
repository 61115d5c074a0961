// SPDX-License-Identifier: MIT
// any_tensor: a tensor whose dtype and rank are known at run time only. What a function returns
// that the compiler could not trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <sinter/support/error.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/storage.hpp>
#include <sinter/tensor/tensor.hpp>

namespace sinter::inline SINTER_ABI {

/// A row-major array of any dtype and rank. Copies share the elements, which nobody changes: it is
/// a result on its way into a `tensor`, to which it converts (`tensor<float, 2> y = f(x);`), or
/// into another function.
class any_tensor {
 public:
  /// Elements that must be written, through `data`, before the object is copied. Throws shape_error
  /// if the shape has too many elements to count.
  any_tensor(dtype type, const shape_vector& shape)
      : type_(type),
        shape_(shape),
        size_(element_count(shape)),
        storage_(static_cast<std::size_t>(size_) * size_of(type)) {}

  dtype type() const { return type_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  const shape_vector& shape() const { return shape_; }
  std::int64_t size() const { return size_; }
  void* data() { return storage_.data(); }
  const void* data() const { return storage_.data(); }
  const sinter::storage& storage() const { return storage_; }

  /// The elements of a tensor, shared: what writes single elements of it later is seen here.
  template <Element T, extents_spec E>
  any_tensor(const tensor<T, E>& x)
      : type_(dtype_of<T>), shape_(x.shape()), size_(x.size()), storage_(x.storage()) {}

  /// The elements, shared.
  template <Element T, extents_spec E>
  any_tensor(const shared_tensor<T, E>& x) : any_tensor(dtype_of<T>, x.shape(), x.block) {}

  /// Row-major elements that are in `block` from its first byte on, shared, to be read only. They
  /// must be aligned as their type asks for. Throws shape_error if the block is too short.
  any_tensor(dtype type, const shape_vector& shape, sinter::storage block)
      : type_(type), shape_(shape), size_(element_count(shape)), storage_(std::move(block)) {
    if (static_cast<std::size_t>(size_) > storage_.size_bytes() / size_of(type))
      raise(shape_error("any_tensor: shape " + to_string(shape) + " of " + std::string(name(type)) +
                        " in a block of " + std::to_string(storage_.size_bytes()) + " bytes"));
  }

  /// The elements as a tensor, copied. Throws dtype_error if they are of another type, shape_error
  /// if the shape does not fit the tensor's extents.
  template <Element T, extents_spec E>
  operator tensor<T, E>() const {
    require(dtype_of<T>);
    require_fits(shape_, E, "any_tensor");
    auto out = tensor<T, E>::uninitialized(shape_);
    std::copy_n(reinterpret_cast<const T*>(storage_.data()), size_, out.data());
    return out;
  }

  /// The elements behind a type, shared: `x.share<float, 2>()`. Throws as above.
  template <Element T, extents_spec E>
  shared_tensor<T, E> share() const {
    require(dtype_of<T>);
    require_fits(shape_, E, "any_tensor");
    return {storage_, shape_};
  }

  /// The only element of a tensor of rank 0. Throws dtype_error and shape_error as above.
  template <Element T>
  T item() const {
    const tensor<T, 0> scalar = *this;
    return scalar.item();
  }

 private:
  void require(dtype wanted) const {
    if (type_ != wanted)
      raise(dtype_error("any_tensor: elements of dtype " + std::string(name(type_)) +
                        " where a tensor of " + std::string(name(wanted)) + " is expected"));
  }

  dtype type_;
  shape_vector shape_;
  std::int64_t size_;
  sinter::storage storage_;
};

}  // namespace sinter::inline SINTER_ABI
