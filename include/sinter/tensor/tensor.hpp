// SPDX-License-Identifier: MIT
//
// tensor<T, E>: a row-major array that owns its elements. It is a value: copying copies the
// elements, moving steals them. Underneath, the storage is reference-counted, so that a lazily
// evaluated expression can keep alive what it is built from (`share`). `view` (view.hpp) is the
// type that borrows memory.
#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <sinter/support/error.hpp>
#include <sinter/support/operands_fit.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>
#include <sinter/tensor/storage.hpp>

namespace sinter::inline SINTER_ABI {

template <class T, extents_spec E>
class tensor;

/// Row-major elements, kept alive and shared rather than copied, to be read only: what an
/// expression holds of its operands, and what a mapped file gives out (files/). An operand and an
/// argument as a tensor is; `tensor` copies it. Made of a tensor, it sees later writes to the
/// tensor's elements, but not the tensor's later assignments or resizes: those find the storage
/// shared and take a new one.
template <class T, extents_spec E>
struct shared_tensor {
  using element_type = T;
  using value_type = T;
  static constexpr extents_spec static_extents = E;

  storage block;
  shape_vector extents;

  static constexpr int rank() { return E.rank; }

  const T* data() const { return reinterpret_cast<const T*>(block.data()); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const shape_vector& shape() const { return extents; }
  std::int64_t size() const { return element_count(extents); }

  /// Copies the elements. This is what `tensor<T, R> t = shared` calls.
  template <extents_spec F>
    requires(F.compatible_with(E))
  void evaluate_to(tensor<T, F>& target) const {
    // Into fresh storage: the elements may be those of `target`.
    tensor<T, F> copy = tensor<T, F>::uninitialized(extents);
    std::copy(begin(), end(), copy.data());
    target = std::move(copy);
  }
};

namespace detail {

// A class template rather than a concept: the compiler then prints the two numbers that disagree,
// in 6 or 7 lines.
template <std::int64_t Target, std::int64_t Source>
struct static_extents {
  static constexpr bool match = Target == Source;
};

// The first two static extents of tensors of one rank that disagree; equal numbers when there are
// none.
struct static_conflict {
  std::int64_t target = 0;
  std::int64_t source = 0;

  constexpr static_conflict(const extents_spec& to, const extents_spec& from) {
    for (int axis = 0; axis < to.rank && target == source; ++axis) {
      if (to.is_static(axis) && from.is_static(axis)) {
        target = to[axis];
        source = from[axis];
      }
    }
  }
};

/// True for an object that knows how to write itself into a `Tensor`: an expression, or a view.
template <class Expression, class Tensor>
concept EvaluatesTo =
    requires(const Expression& expression, Tensor& target) { expression.evaluate_to(target); };

// What must hold for `Expression` to be evaluated as far as types tell: expressions specialise it
// (function/evaluate.hpp). Asserted where users stand, because every template between them and the
// assertion is a line of the compiler's message.
template <class Expression>
struct evaluation_check {
  enum class kinds { none };
  static constexpr kinds kind = kinds::none;
  static constexpr int code = 0, lhs = 0, rhs = 0;
};

}  // namespace detail

/// A row-major tensor of `E.rank` axes that owns 64-byte aligned storage.
///
/// `E` is a rank (`tensor<float, 2>`) or a list of extents (`tensor<float, extents<dyn, 784>>`).
/// New elements are zero except from `uninitialized` and `resize`. Constructors and assignments
/// that meet a run-time extent which differs from a static one, or a negative one, throw
/// shape_error.
///
/// A moved-from tensor has dynamic extents of 0 and no storage: assign to it or destroy it.
template <class T, extents_spec E>
class tensor {
  static_assert(Element<T>,
                "tensor: the element type must be bool, an integer of 8 to 64 bits or a float");

 public:
  using element_type = T;
  using value_type = T;
  static constexpr extents_spec static_extents = E;

  static constexpr int rank() { return E.rank; }

  // --- construction ---

  /// Static extents as the type says, dynamic ones 0. Rank 0 has its one element. Without elements,
  /// nothing is allocated and `data()` is null.
  tensor() : tensor(no_storage{}) {
    if constexpr (E.all_static()) *this = zeros(default_shape());
  }

  /// From all extents: `tensor<float, 2> x(3, 4)`.
  template <std::integral... Extent>
    requires(sizeof...(Extent) == static_cast<std::size_t>(E.rank) && E.rank > 0)
  explicit tensor(Extent... extent) : tensor(shape_vector{static_cast<std::int64_t>(extent)...}) {}

  // A template, so that braces never convert to a shape_vector here: `{3, 4}` could as well become
  // a tensor.
  template <std::same_as<shape_vector> Shape>
  explicit tensor(const Shape& shape) : tensor(uninitialized(shape)) {
    fill(T{});
  }

  /// From a braced shape: `tensor<float, 2> x({3, 4})`. Not for rank 1, where braces hold elements.
  template <std::integral Extent, std::size_t Rank>
    requires(E.rank > 1 && Rank == static_cast<std::size_t>(E.rank))
  explicit tensor(const Extent (&shape)[Rank])
      : tensor(shape_vector(std::begin(shape), std::end(shape))) {}

  /// Rank 1 from its elements: `tensor<float, 1> x{1, 2, 3}`.
  tensor(std::initializer_list<T> values)
    requires(E.rank == 1)
      : tensor(uninitialized({static_cast<std::int64_t>(values.size())})) {
    std::copy(values.begin(), values.end(), data());
  }

  /// Rank 2 from its rows: `tensor<float, 2> x{{1, 2}, {3, 4}}`. Throws shape_error when the rows
  /// differ in length.
  tensor(std::initializer_list<std::initializer_list<T>> rows)
    requires(E.rank == 2)
      : tensor(uninitialized(shape_of_rows(rows))) {
    T* out = data();
    for (const auto& row : rows) out = std::copy(row.begin(), row.end(), out);
  }

  /// Rank 0 from its element.
  explicit tensor(const T& value)
    requires(E.rank == 0)
      : tensor(uninitialized({})) {
    *data() = value;
  }

  /// A tensor of `shape` whose elements are all `value`.
  static tensor full(const shape_vector& shape, T value) {
    tensor result = uninitialized(shape);
    result.fill(value);
    return result;
  }

  static tensor zeros(const shape_vector& shape) { return full(shape, T{}); }

  /// A tensor of `shape` whose elements must be written before they are read.
  static tensor uninitialized(const shape_vector& shape) {
    tensor result{no_storage{}};
    result.resize(shape);
    return result;
  }

  tensor(const tensor& other) : shape_(other.shape_), size_(other.size_) {
    copy_elements_of(other.storage_);
  }

  tensor(tensor&& other) noexcept
      : storage_(std::move(other.storage_)), shape_(other.shape_), size_(other.size_) {
    other.forget();
  }

  /// From a tensor whose type fixes other extents; checked, copies.
  template <extents_spec Other>
    requires(Other != E && Other.rank == E.rank)
  tensor(const tensor<T, Other>& other) : tensor(no_storage{}) {
    constexpr detail::static_conflict clash(E, Other);
    static_assert(detail::static_extents<clash.target, clash.source>::match,
                  "tensor: target and source differ in a static extent");
    assign(other);
  }

  /// From a tensor whose type fixes other extents; checked, steals.
  template <extents_spec Other>
    requires(Other != E && Other.rank == E.rank)
  tensor(tensor<T, Other>&& other) : tensor(no_storage{}) {
    constexpr detail::static_conflict clash(E, Other);
    static_assert(detail::static_extents<clash.target, clash.source>::match,
                  "tensor: target and source differ in a static extent");
    steal(std::move(other));
  }

  /// Evaluates an expression, or copies from a view.
  template <class Expression>
    requires detail::EvaluatesTo<Expression, tensor>
  tensor(const Expression& expression) : tensor(no_storage{}) {
    using check = detail::evaluation_check<Expression>;
    static_assert(operands_fit<check::kind, check::code, check::lhs, check::rhs>::value,
                  "sinter: the operands of an op do not fit together (fault, op, left, right)");
    expression.evaluate_to(*this);
  }

  ~tensor() = default;

  // --- assignment: takes the shape of what is assigned, keeps the storage where `resize` would ---

  tensor& operator=(const tensor& other) {
    if (this != &other) assign(other);
    return *this;
  }

  tensor& operator=(tensor&& other) noexcept {
    if (this != &other) {
      storage_ = std::move(other.storage_);
      shape_ = other.shape_;
      size_ = other.size_;
      other.forget();
    }
    return *this;
  }

  template <extents_spec Other>
    requires(Other != E && Other.rank == E.rank)
  tensor& operator=(const tensor<T, Other>& other) {
    constexpr detail::static_conflict clash(E, Other);
    static_assert(detail::static_extents<clash.target, clash.source>::match,
                  "tensor: target and source differ in a static extent");
    assign(other);
    return *this;
  }

  template <extents_spec Other>
    requires(Other != E && Other.rank == E.rank)
  tensor& operator=(tensor<T, Other>&& other) {
    constexpr detail::static_conflict clash(E, Other);
    static_assert(detail::static_extents<clash.target, clash.source>::match,
                  "tensor: target and source differ in a static extent");
    steal(std::move(other));
    return *this;
  }

  template <class Expression>
    requires detail::EvaluatesTo<Expression, tensor>
  tensor& operator=(const Expression& expression) {
    using check = detail::evaluation_check<Expression>;
    static_assert(operands_fit<check::kind, check::code, check::lhs, check::rhs>::value,
                  "sinter: the operands of an op do not fit together (fault, op, left, right)");
    expression.evaluate_to(*this);
    return *this;
  }

  /// Gives the tensor this shape; the elements are unspecified afterwards. The storage is kept when
  /// the number of elements is the same and nobody else shares it, so that a repeated evaluation
  /// allocates nothing and an expression never sees its operand overwritten half-way. Throws
  /// shape_error, before any change, when the shape does not fit.
  void resize(const shape_vector& shape) {
    require_fits(shape, E, "tensor");
    const std::int64_t count = element_count(shape);
    const std::size_t bytes = byte_count(count, shape);
    if (!storage_ || storage_.shared() || count != size_) {
      storage_ = sinter::storage(bytes);
    }
    shape_ = shape;
    size_ = count;
  }

  void fill(T value) { std::fill_n(data(), size_, value); }

  // --- shape ---

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const shape_vector& shape() const { return shape_; }

  /// The extent of `axis`, counted from 0. Throws axis_error outside of [0, rank).
  std::int64_t extent(int axis) const {
    if (axis < 0 || axis >= rank()) {
      raise(axis_error("extent: axis " + std::to_string(axis) + " of a tensor of rank " +
                       std::to_string(rank())));
    }
    return shape_[axis];
  }

  // --- elements, in row-major order ---

  /// Counts as a write (see `touch`), as do `begin` and `end` of a tensor that is not const.
  T* data() {
    storage_.touch();
    return elements();
  }
  const T* data() const { return reinterpret_cast<const T*>(storage_.data()); }

  T* begin() { return data(); }
  const T* begin() const { return data(); }
  T* end() { return data() + size_; }
  const T* end() const { return data() + size_; }

  /// The element at `(i, j, ...)`. Indices are checked by `assert` only.
  template <std::integral... Index>
    requires(sizeof...(Index) == static_cast<std::size_t>(E.rank))
  T& operator()(Index... index) {
    return elements()[offset_of(index...)];
  }
  template <std::integral... Index>
    requires(sizeof...(Index) == static_cast<std::size_t>(E.rank))
  const T& operator()(Index... index) const {
    return data()[offset_of(index...)];
  }

  /// Says that elements were written one by one, by index or through a pointer or view that was
  /// taken earlier, so that what was computed once from the `frozen` tensor is computed again. What
  /// writes all of them (assignment, `fill`, `into`, `assign` in a fused function) says so itself.
  /// (Indexing does not, because a loop over elements would take 1 ns for each instead of 0.03.)
  void touch() { storage_.touch(); }

  /// The only element of a tensor of rank 0.
  T item() const
    requires(E.rank == 0)
  {
    return *data();
  }
  operator T() const
    requires(E.rank == 0)
  {
    return *data();
  }

  // --- sharing ---

  /// The elements for an expression to keep: shared, not copied.
  shared_tensor<T, E> share() const { return {storage_, shape()}; }

  /// The handle of the storage; the elements begin at its first byte.
  const sinter::storage& storage() const { return storage_; }

 private:
  template <class, extents_spec>
  friend class tensor;

  T* elements() { return reinterpret_cast<T*>(storage_.data()); }

  struct no_storage {};

  explicit tensor(no_storage) : shape_(default_shape()) {}

  static constexpr shape_vector default_shape() {
    shape_vector shape;
    for (int axis = 0; axis < rank(); ++axis) shape.push_back(E.is_static(axis) ? E[axis] : 0);
    return shape;
  }

  static shape_vector shape_of_rows(std::initializer_list<std::initializer_list<T>> rows) {
    const std::size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
    for (const auto& row : rows) {
      if (row.size() != columns) {
        raise(shape_error("tensor: a row of " + std::to_string(row.size()) +
                          " elements beside one of " + std::to_string(columns)));
      }
    }
    return {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)};
  }

  static std::size_t byte_count(std::int64_t count, const shape_vector& shape) {
    if (count > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(T))) {
      raise(
          shape_error("tensor: shape " + to_string(shape) + " has more bytes than can be counted"));
    }
    return static_cast<std::size_t>(count) * sizeof(T);
  }

  template <std::integral... Index>
  std::int64_t offset_of(Index... index) const {
    std::int64_t offset = 0;
    [[maybe_unused]] std::size_t axis = 0;
    // Horner's scheme over the axes; the extent of the first one is not needed.
    ((assert(static_cast<std::int64_t>(index) >= 0 &&
             static_cast<std::int64_t>(index) < shape_[axis]),
      offset = offset * shape_[axis++] + static_cast<std::int64_t>(index)),
     ...);
    return offset;
  }

  void copy_elements_of(const sinter::storage& source) {
    if (!source) return;  // a moved-from tensor
    storage_ = sinter::storage(static_cast<std::size_t>(size_) * sizeof(T));
    std::copy_n(reinterpret_cast<const T*>(source.data()), size_, data());
  }

  template <extents_spec Other>
  void assign(const tensor<T, Other>& other) {
    resize(other.shape());
    std::copy(other.begin(), other.end(), data());
  }

  template <extents_spec Other>
  void steal(tensor<T, Other>&& other) {
    require_fits(other.shape(), E, "tensor");
    shape_ = other.shape_;
    storage_ = std::move(other.storage_);
    size_ = other.size_;
    other.forget();
  }

  void forget() noexcept {
    shape_ = default_shape();
    size_ = 0;
  }

  sinter::storage storage_;
  shape_vector shape_;
  std::int64_t size_ = 0;
};

/// Equal shapes and equal elements, as `==` of the element type sees them (NaN differs from
/// itself).
template <class T, extents_spec E, extents_spec F>
bool operator==(const tensor<T, E>& a, const tensor<T, F>& b) {
  return a.shape() == b.shape() && std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace sinter::inline SINTER_ABI
