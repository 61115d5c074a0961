// SPDX-License-Identifier: MIT
// What the rules of a user's op are written with: shapes while a graph is made, operands and
// cotangents while it is differentiated.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/expr/handle.hpp>
#include <sinter/graph/build.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

/// The operands of a custom op as its shape rule sees them. Extents may be unknown: they are values
/// of type `ir::dim` that are combined by the functions here. A check that fails is the fault of
/// the call, reported with the op's name and the operands.
class custom_shapes {
 public:
  constexpr custom_shapes(ir::graph& g, span<const int> in, span<const std::int64_t> attributes,
                          ir::fault& problem)
      : g_(g), in_(in), attributes_(attributes), problem_(problem) {}

  constexpr ir::symbolic_shape shape(int operand) const { return node(operand).shape; }
  constexpr int rank(int operand) const { return static_cast<int>(node(operand).shape.size()); }
  constexpr ir::dim extent(int operand, int axis) const { return node(operand).shape[axis]; }
  constexpr double attribute(int i) const {
    return ir::double_of(attributes_[static_cast<std::size_t>(i)]);
  }

  constexpr ir::dim add(ir::dim a, ir::dim b) { return g_.dims.add(a, b); }
  constexpr ir::dim sub(ir::dim a, ir::dim b) { return g_.dims.sub(a, b); }
  constexpr ir::dim mul(ir::dim a, ir::dim b) { return g_.dims.mul(a, b); }
  constexpr ir::dim floor_div(ir::dim a, ir::dim b) { return g_.dims.floor_div(a, b); }

  /// An operand has this rank, and at least that rank. Returns whether it does.
  constexpr bool check_rank(int operand, int expected) {
    return check(rank(operand) == expected, ir::fault_kind::wrong_rank, rank(operand), expected);
  }
  constexpr bool check_least_rank(int operand, int least) {
    return check(rank(operand) >= least, ir::fault_kind::wrong_rank, rank(operand), least);
  }
  constexpr bool check_axis(int operand, double axis) {
    return check(axis >= 0 && axis < rank(operand), ir::fault_kind::axis_out_of_range,
                 static_cast<std::int64_t>(axis), rank(operand));
  }
  /// Two extents are equal, as far as that is known; binding asks again.
  constexpr bool check_agree(ir::dim a, ir::dim b) {
    if (g_.agree(a, b)) return true;
    const ir::fault f = ir::detail::disagree(g_, ir::op::custom, a, b);
    return check(false, f.kind, f.lhs, f.rhs);
  }
  /// An attribute is at least that much.
  constexpr bool check_least(double value, double least) {
    return check(value >= least, ir::fault_kind::bad_option, static_cast<std::int64_t>(value),
                 static_cast<std::int64_t>(least));
  }

 private:
  constexpr const ir::node& node(int operand) const {
    return g_[in_[static_cast<std::size_t>(operand)]];
  }
  constexpr bool check(bool holds, ir::fault_kind kind, std::int64_t lhs, std::int64_t rhs) {
    if (!holds && problem_.kind == ir::fault_kind::none)
      problem_ = {kind, ir::op::custom, lhs, rhs};
    return holds;
  }

  ir::graph& g_;
  span<const int> in_;
  span<const std::int64_t> attributes_;
  ir::fault& problem_;
};

/// One node of a custom op: what it was applied to, and what it gave.
class custom_node {
 public:
  constexpr custom_node(ir::graph& g, int id) : g_(&g), id_(id) {}
  constexpr handle operand(int i) const { return handle({g_, g_->input(id_, i)}); }
  constexpr handle result() const { return handle({g_, id_}); }
  constexpr double attribute(int i) const {
    return ir::double_of(g_->attributes(id_)[static_cast<std::size_t>(i) + 1]);
  }

 protected:
  constexpr ir::graph* graph() const { return g_; }

 private:
  ir::graph* g_;
  int id_;
};

/// For `gradient`: the derivative of some loss by the result is `cotangent()`.
class custom_gradient : public custom_node {
 public:
  constexpr custom_gradient(ir::graph& g, int id, int adjoint)
      : custom_node(g, id), adjoint_(adjoint) {}
  constexpr handle cotangent() const { return handle({graph(), adjoint_}); }

 private:
  int adjoint_;
};

/// For `tangent`: operand i moves along `tangent(i)` if it moves at all.
class custom_tangent : public custom_node {
 public:
  constexpr custom_tangent(ir::graph& g, int id, span<const int> tangents)
      : custom_node(g, id), tangents_(tangents) {}
  constexpr bool moves(int i) const { return tangents_[static_cast<std::size_t>(i)] >= 0; }
  constexpr handle tangent(int i) const {
    return handle({graph(), tangents_[static_cast<std::size_t>(i)]});
  }

 private:
  span<const int> tangents_;
};

}  // namespace sinter::inline SINTER_ABI
