// SPDX-License-Identifier: MIT
// How movement and element-wise ops change places. Permutes, slices and flips go toward the leaves,
// where a nest reads them as index maps; broadcasts go outward, so that the op runs on the smaller
// tensor; reshapes go outward, so that what follows a matmul stays in the matmul's shape. Each is
// one function for all element-wise ops.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <sinter/rules/axis_groups.hpp>
#include <sinter/rules/movement_sides.hpp>

namespace sinter::inline SINTER_ABI::rules::elementwise {

inline constexpr std::string_view operand_names[] = {"?x", "?y", "?z"};

inline ir::value apply(op code, std::span<const ir::value> in,
                       std::span<const std::int64_t> attributes) {
  inline_vector<int, 3> ids;
  for (const ir::value& v : in) ids.push_back(v.id);
  return {in[0].owner, ir::append(*in[0].owner, code, ids, attributes)};
}

// Those whose attributes say what they compute; bound as ?own.
constexpr bool has_payload(op code) { return ir::is_conversion(code) || ir::is_custom(code); }

inline std::vector<std::int64_t> own_attributes(right_side& side, op code) {
  return has_payload(code) ? side.attributes("?own") : std::vector<std::int64_t>{};
}

// (movement[?p] (op ?x ?y ?z)): every operand is moved; scalars stand for any shape.
template <op Movement, op Code, int Arity>
std::optional<class_id> sink(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  inline_vector<ir::value, 3> in;
  for (int i = 0; i < Arity; ++i) {
    const ir::value x = side[operand_names[i]];
    if (x.rank() == 0)
      in.push_back(x);
    else if constexpr (Movement == op::permute)
      in.push_back(ir::permute(x, side.attributes("?p")));
    else if constexpr (Movement == op::flip)
      in.push_back(ir::flip(x, side.attribute("?p")));
    else {
      const auto bounds = movement::bounds_of(side, "?p");
      in.push_back(ir::slice(x, bounds.start, bounds.stop, bounds.step));
    }
  }
  return side.finish(apply(Code, in, own_attributes(side, Code)));
}

// (op (broadcast_to ?x)), (op (broadcast_to ?x) (broadcast_to ?y)), (op (broadcast_to ?x) ?y) with
// a scalar ?y: on the smallest shape that the operands broadcast to, if that is smaller.
template <op Code, int Arity>
std::optional<class_id> hoist_broadcast(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const symbolic_shape target = side.root().shape();
  symbolic_shape repeated_once = symbolic_shape::filled(target.size(), dim(1));
  for (int i = 0; i < Arity; ++i) {
    const ir::value x = side[operand_names[i]];
    if (x.rank() == 0) continue;
    if (x.rank() != static_cast<int>(target.size())) return std::nullopt;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (is_one(x.extent(axis))) continue;
      if (!(x.extent(axis) == target[axis])) return std::nullopt;
      repeated_once[axis] = target[axis];
    }
  }
  if (repeated_once == target) return std::nullopt;
  inline_vector<ir::value, 3> in;
  for (int i = 0; i < Arity; ++i) {
    const ir::value x = side[operand_names[i]];
    in.push_back(x.rank() == 0 ? x : ir::broadcast_to(x, repeated_once));
  }
  return side.finish_broadcast(apply(Code, in, own_attributes(side, Code)));
}

// (op (reshape ?x)), and (op (reshape ?x) ?y) in either order for two operands: see `follows`.
// ?y follows a reshape if it is a scalar, if ?x is the matrix that all but the last axis of the
// result are the rows of (then ?y is reshaped too: it costs nothing, and what follows a dense layer
// stays a matrix), or if it is a reshape of the same shape itself (`Both`).
template <op Code, int Arity, int Which, bool Both>
std::optional<class_id> hoist_reshape(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const symbolic_shape target = side.root().shape();
  const symbolic_shape shape = side[operand_names[Which]].shape();
  // A reshape to a scalar beside a tensor does not say where the elements of the other go.
  for (std::string_view payload : {"?p", "?q"}) {
    if (!Both && (payload == "?p") != (Which == 0)) continue;
    const auto reshaped = side.payload_dims(payload);
    if (!std::ranges::equal(reshaped, target)) return std::nullopt;
  }
  const bool rows_of_matrix =
      shape.size() == 2 && target.size() > 2 && shape[1] == target[target.size() - 1];
  inline_vector<ir::value, 3> in;
  for (int i = 0; i < Arity; ++i) {
    const ir::value x = side[operand_names[i]];
    if (i == Which || x.rank() == 0)
      in.push_back(x);
    else if (Both && x.shape() == shape)
      in.push_back(x);
    else if (!Both && rows_of_matrix)
      in.push_back(ir::reshape(x, shape));
    else
      return std::nullopt;
  }
  return side.finish_reshaped(apply(Code, in, own_attributes(side, Code)));
}

// (op ?x (broadcast_to (reshape ?s))): a scalar that was spread out becomes a scalar operand again,
// which meets rules for constants and is no load in a nest. The other operand carries the shape.
template <op Code, int Which>
std::optional<class_id> scalar_operand(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  inline_vector<ir::value, 3> in;
  for (int i = 0; i < 2; ++i) in.push_back(i == Which ? side["?s"] : side["?x"]);
  if (side["?s"].rank() != 0 || side["?x"].rank() == 0) return std::nullopt;
  return side.finish(apply(Code, in, own_attributes(side, Code)));
}

}  // namespace sinter::inline SINTER_ABI::rules::elementwise
