// SPDX-License-Identifier: MIT
// Products of matrices and vectors, and indexing by tensors.
#pragma once

#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

struct matmul_function {
  static constexpr ir::op code = ir::op::matmul;

  constexpr handle operator()(handle a, handle b) const {
    for (handle x : {a, b})
      if (x.rank() == 0) fail(x, code, ir::fault_kind::wrong_rank, 0, 1);
    if (a.graph().failed()) return a;
    const bool row = a.rank() == 1, column = b.rank() == 1;
    ir::value left = a.node, right = b.node;
    if (row) left = ir::reshape(left, {ir::dim(1), left.extent(0)});
    if (column) right = ir::reshape(right, {right.extent(0), ir::dim(1)});
    const ir::value product = ir::matmul(left, right);
    if (a.graph().failed() || !(row || column)) return handle(product);
    ir::symbolic_shape shape = product.shape();
    if (column) shape.pop_back();
    if (row) shape.erase(shape.end() - (column ? 1 : 2));
    return handle(ir::reshape(product, shape));
  }
};

// Faults unless both are vectors.
constexpr bool are_vectors(handle a, handle b, ir::op code) {
  for (handle x : {a, b})
    if (x.rank() != 1) fail(x, code, ir::fault_kind::wrong_rank, x.rank(), 1);
  return !a.graph().failed();
}

struct dot_function {
  static constexpr ir::op code = ir::op::matmul;
  constexpr handle operator()(handle a, handle b) const {
    return are_vectors(a, b, code) ? matmul_function{}(a, b) : a;
  }
};

struct outer_function {
  static constexpr ir::op code = ir::op::mul;
  constexpr handle operator()(handle a, handle b) const {
    if (!are_vectors(a, b, code)) return a;
    const ir::value column = ir::reshape(a.node, {a.node.extent(0), ir::dim(1)});
    const ir::value row = ir::reshape(b.node, {ir::dim(1), b.node.extent(0)});
    return handle(column * row);
  }
};

struct gather_function {
  static constexpr ir::op code = ir::op::gather;
  static constexpr unsigned own_dtype = 0b10;  // the indices
  int axis = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
  }
  constexpr handle operator()(handle x, handle indices) const {
    const int from_start = axis_of(x, code, axis);
    return from_start < 0 ? x : handle(ir::gather(x.node, indices.node, from_start));
  }
};

template <Element T>
struct one_hot_function {
  static constexpr ir::op code = ir::op::equal;
  static constexpr unsigned dtypes = dtype_bits(dtype_of<T>, dtype::i32);
  static constexpr unsigned own_dtype = 0b10;
  shape_numbers<1> numbers;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    numbers.attributes(sink);
  }
  constexpr handle operator()(handle labels, std::same_as<handle> auto... classes) const {
    ir::value wide = labels.node;
    if (is_narrow_integer(wide.type()))
      wide = ir::cast(wide, dtype::i32);  // u8 would count the classes modulo 256
    if (!is_integral(wide.type()))
      fail(labels, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(wide.type()));
    if (wide.rank() == max_rank)
      fail(labels, code, ir::fault_kind::rank_too_high, max_rank + 1, max_rank);
    const std::array<handle, sizeof...(classes)> extents{classes...};
    const ir::symbolic_shape last = shape_of(labels, code, numbers, extents);
    if (labels.graph().failed()) return labels;
    ir::symbolic_shape column = wide.shape();
    column.push_back(ir::dim(1));
    const ir::value counter = ir::iota(labels.graph(), wide.type(), last, 0);
    return handle(
        ir::cast(ir::elementwise(code, {ir::reshape(wide, column), counter}), dtype_of<T>));
  }
};

}  // namespace detail

/// The matrix product as NumPy's matmul: a[..., m, k] times b[..., k, n] is [..., m, n]; the
/// leading extents broadcast. A vector on the left is a row, on the right a column, and the axis of
/// extent 1 is dropped from the result. Numbers of one dtype (dtype_error). shape_error for rank 0,
/// if the inner extents differ, or if the leading ones do not broadcast. Without elements to sum:
/// zeros. `matmul(transpose(a), b)` copies nothing.
template <Operand A, Operand B>
constexpr auto matmul(A&& a, B&& b) {
  return sinter::apply(detail::matmul_function{}, std::forward<A>(a), std::forward<B>(b));
}

/// The inner product of two vectors: a scalar. Numbers of one dtype (dtype_error). shape_error, in
/// the name of matmul, unless both have rank 1 and the same extent.
template <Operand A, Operand B>
constexpr auto dot(A&& a, B&& b) {
  return sinter::apply(detail::dot_function{}, std::forward<A>(a), std::forward<B>(b));
}

/// The outer product of two vectors: [m] and [n] make [m, n]. Numbers of one dtype (dtype_error).
/// shape_error, in the name of mul, unless both have rank 1.
template <Operand A, Operand B>
constexpr auto outer(A&& a, B&& b) {
  return sinter::apply(detail::outer_function{}, std::forward<A>(a), std::forward<B>(b));
}

/// x at integer indices along one axis: the axis is replaced by the axes of `indices`, as NumPy's
/// take. Any dtype of x; axis_error if the axis is outside of its rank, dtype_error unless the
/// indices are integers, shape_error if the result had more than 8 axes. An index outside of
/// [0, extent), also one below 0, is an index_error of the call, before anything is written.
template <Operand X, Operand Indices>
constexpr auto gather(X&& x, Indices&& indices, int axis = 0) {
  return sinter::apply(detail::gather_function{axis}, std::forward<X>(x),
                       std::forward<Indices>(indices));
}

/// gather under NumPy's name.
template <Operand X, Operand Indices>
constexpr auto take(X&& x, Indices&& indices, int axis = 0) {
  return gather(std::forward<X>(x), std::forward<Indices>(indices), axis);
}

/// Integer labels [...] as [..., classes] of type `T`: 1 at the label, 0 elsewhere (everywhere for
/// a label that is no class). `classes` is an integer or extent(x, axis):
/// `one_hot<float>(labels, 10)`. dtype_error unless the labels are integers; shape_error if
/// `classes` is below 0 or no extent, or if the labels have 8 axes already.
template <Element T = float, Operand Labels, detail::ExtentLike Classes>
constexpr auto one_hot(Labels&& labels, Classes&& classes) {
  return detail::apply_with_numbers(detail::one_hot_function<T>{{{detail::number_or_gap(classes)}}},
                                    std::forward_as_tuple(std::forward<Labels>(labels)),
                                    std::forward<Classes>(classes));
}

}  // namespace sinter::inline SINTER_ABI
