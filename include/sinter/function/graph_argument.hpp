// SPDX-License-Identifier: MIT
// The arguments and results of a call whose types are known at run time only: tensors, views and
// numbers of any dtype and rank behind one type.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include <sinter/function/arguments.hpp>
#include <sinter/function/frozen.hpp>
#include <sinter/function/results.hpp>
#include <sinter/tensor/any_tensor.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

inline argument_memory memory_of_any(const any_tensor& x) {
  argument_memory m;
  m.data = x.data();
  m.shape = x.shape();
  m.strides = row_major_strides(x.shape());
  m.bytes = static_cast<std::size_t>(x.size()) * size_of(x.type());
  return m;
}

}  // namespace detail

/// An argument of a graph_function: a tensor, a view, either of them `frozen`, an any_tensor, or a
/// C++ number. Refers to tensors, which must outlive it; keeps numbers. A function may assign to a
/// tensor that is an lvalue and not const, and to a view of elements that are not const.
class graph_argument {
 public:
  template <detail::PlainArgument A>
  graph_argument(A&& x) : type_(detail::spec_for<A>.type), is_number_(detail::spec_for<A>.weak) {
    using argument = std::remove_cvref_t<A>;
    if constexpr (std::is_arithmetic_v<argument>) {
      const auto stored = detail::stored_argument(x);
      std::memcpy(number_.data(), &stored, sizeof(stored));
    } else {
      detail::write_memory(memory_, &x);
      target_ = detail::writable<A>(x);
      if constexpr (requires { x.touch(); })
        if (target_ != nullptr) {
          owner_ = &x;
          touch_ = [](void* owner) { static_cast<argument*>(owner)->touch(); };
        }
    }
  }
  /// Elements that nobody changes: a function that assigns them throws graph_error.
  graph_argument(const any_tensor& x) : type_(x.type()), memory_(detail::memory_of_any(x)) {}

  dtype type() const { return type_; }
  bool is_number() const { return is_number_; }

  /// Where the elements are; valid as long as this object is where it is.
  detail::argument_memory memory() const {
    detail::argument_memory out = memory_;
    if (is_number_) out.data = number_.data();
    return out;
  }
  /// Where an assignment writes, or null if it may not.
  void* target() const { return target_; }
  /// The elements are about to be assigned.
  void touch() const {
    if (touch_ != nullptr) touch_(owner_);
  }

 private:
  dtype type_;
  bool is_number_ = false;
  detail::argument_memory memory_;
  void* target_ = nullptr;
  void* owner_ = nullptr;
  void (*touch_)(void*) = nullptr;
  alignas(8) std::array<std::byte, 8> number_{};
};

/// A tensor, or a contiguous view, that takes a result of a graph_function. See
/// graph_function::into.
class graph_result {
 public:
  template <class Out>
    requires(!std::is_same_v<Out, graph_result> && detail::is_array<Out>)
  graph_result(Out& out) : out_(&out), make_(&typed_place<Out>::make) {}

  struct place {
    virtual ~place() = default;
    virtual detail::output_memory memory() = 0;
    // To be called after the run.
    virtual void keep() = 0;
  };
  std::unique_ptr<place> prepare(dtype type, const shape_vector& shape) const {
    return make_(out_, type, shape);
  }

 private:
  template <class Out>
  struct typed_place final : place {
    typed_place(Out& out, dtype type, const shape_vector& shape) : given(out, type, shape) {}
    static std::unique_ptr<place> make(void* out, dtype type, const shape_vector& shape) {
      return std::make_unique<typed_place>(*static_cast<Out*>(out), type, shape);
    }
    detail::output_memory memory() override { return given.memory(); }
    void keep() override { given.keep(); }
    detail::given_result<Out> given;
  };

  void* out_;
  std::unique_ptr<place> (*make_)(void* out, dtype type, const shape_vector& shape);
};

}  // namespace sinter::inline SINTER_ABI
