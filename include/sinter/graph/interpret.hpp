// SPDX-License-Identifier: MIT
// The reference interpreter: evaluates any graph op by op in double, in the plainest way. It is the
// oracle of the tests, so it shares nothing with rules, plans and kernels but the meaning of the
// scalar ops.
//
// Precision: f32 is computed in double and not rounded (constants are, because a graph stores them
// as f32), so results are compared with a tolerance. Casts to f16 and bf16 round. Integers wrap as
// their dtype does, but are held in doubles: an i64 or u64 beyond 2^53 loses its low bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sinter/graph/graph.hpp>
#include <sinter/graph/interpret_custom.hpp>
#include <sinter/graph/interpret_movement.hpp>
#include <sinter/graph/interpret_reduction.hpp>
#include <sinter/graph/random.hpp>
#include <sinter/graph/reference_tensor.hpp>
#include <sinter/graph/scalar_semantics.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

// The symbols a graph's dims mention are numbered from 0; this is one more than the largest number.
inline std::size_t symbol_count(const graph& g) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < g.dims.size(); ++i)
    if (const dim d = dim::expression(i); g.dims.kind(d) == dim_kind::symbol)
      count = std::max(count, g.dims.operands(d)[0] + 1);
  return static_cast<std::size_t>(count);
}

inline std::int64_t evaluate_extent(const graph& g, dim d, span<const std::int64_t> symbols) {
  const std::int64_t extent = g.dims.evaluate(d, symbols);
  if (extent < 0)
    raise(shape_error("extent " + g.dims.to_string(d) +
                      " is negative, or no argument determines it"));
  return extent;
}

inline shape_vector evaluate_shape(const graph& g, span<const dim> shape,
                                   span<const std::int64_t> symbols) {
  shape_vector out;
  for (dim d : shape) out.push_back(evaluate_extent(g, d, symbols));
  return out;
}

// Finds the argument behind node `id`; throws if there is none or it has another dtype or rank.
inline const reference_tensor& find_argument(const graph& g, int id,
                                             span<const reference_tensor> arguments) {
  const std::int64_t number = g.attributes(id)[1];
  const std::string who = "argument " + std::to_string(number);
  if (number < 0 || static_cast<std::size_t>(number) >= arguments.size())
    raise(graph_error(who + " is missing: " + std::to_string(arguments.size()) + " were given"));
  const reference_tensor& given = arguments[static_cast<std::size_t>(number)];
  if (given.type != g[id].type)
    raise(dtype_error(who + " has dtype " + std::string(sinter::name(given.type)) +
                      ", the graph expects " + std::string(sinter::name(g[id].type))));
  if (given.shape.size() != g[id].shape.size())
    raise(shape_error(who + " has shape " + to_string(given.shape) + ", the graph expects " +
                      g.dims.to_string(g[id].shape)));
  if (given.data.size() != static_cast<std::size_t>(element_count(given.shape)))
    raise(shape_error(who + " holds " + std::to_string(given.data.size()) +
                      " elements, its shape is " + to_string(given.shape)));
  return given;
}

inline std::string text_of_argument(const graph& g, int id, const reference_tensor& given) {
  return "argument " + std::to_string(g.attributes(id)[1]) + " has shape " +
         to_string(given.shape) + ", the graph expects " + g.dims.to_string(g[id].shape);
}

// The extents of the symbols as the arguments' shapes give them. A symbol that is no argument's
// extent keeps the value that the graph was bound with, or -1, which evaluate_extent refuses.
inline std::vector<std::int64_t> bind_symbols(const graph& g,
                                              span<const reference_tensor> arguments) {
  std::vector<std::int64_t> values(symbol_count(g), -1);
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != op::argument) continue;
    const reference_tensor& given = find_argument(g, id, arguments);
    for (std::size_t axis = 0; axis < given.shape.size(); ++axis) {
      const dim expected = g[id].shape[axis];
      if (expected.is_constant() || g.dims.kind(expected) != dim_kind::symbol) continue;
      std::int64_t& value = values[static_cast<std::size_t>(g.dims.operands(expected)[0])];
      if (value >= 0 && value != given.shape[axis])
        raise(shape_error(text_of_argument(g, id, given) + " with " + g.dims.to_string(expected) +
                          " = " + std::to_string(value)));
      value = given.shape[axis];
    }
  }
  for (std::size_t i = 0; i < values.size() && i < g.symbol_values.size(); ++i)
    if (values[i] < 0) values[i] = g.symbol_values[i];
  return values;
}

// What a constant of dtype `type` holds when it was written as x.
inline double stored_constant(dtype type, double x) {
  return type == dtype::f32 ? static_cast<double>(static_cast<float>(x))
                            : cast_scalar(dtype::f64, type, x);
}

}  // namespace detail

/// Evaluates one node after another; `interpret` below is what most callers want.
class interpreter {
 public:
  /// Finds the extents of the symbols. Throws graph_error (an argument is missing), dtype_error or
  /// shape_error (one does not fit its node). The graph and the arguments are borrowed.
  interpreter(const graph& g, span<const reference_tensor> arguments)
      : graph_(g), arguments_(arguments), symbols_(detail::bind_symbols(g, arguments)) {}

  /// The value of node `id`, given those of its inputs. Throws shape_error or index_error, naming
  /// the op.
  reference_tensor evaluate(int id, span<const reference_tensor* const> in) const {
    const node& n = graph_[id];
    const span<const std::int64_t> attributes = graph_.attributes(id);
    const shape_vector shape = detail::evaluate_shape(graph_, n.shape, symbols_);
    switch (info(n.code).kind) {
      case kind::leaf: return leaf(id, shape, in);
      case kind::elementwise: return elementwise(n, shape, in, attributes);
      case kind::reduction: return detail::interpret_reduction(n.code, *in[0], attributes[0]);
      case kind::movement: return movement(id, shape, in);
      case kind::contraction:
        return detail::interpret_matmul(*in[0], *in[1], shape, attributes[0] != 0,
                                        attributes[1] != 0);
      case kind::indexing: {
        const auto axis = static_cast<std::size_t>(attributes[0]);
        return n.code == op::gather ? detail::interpret_gather(*in[0], *in[1], axis, shape)
                                    : detail::interpret_scatter_add(*in[0], *in[1], axis, shape);
      }
      case kind::scan:
        return detail::interpret_cumsum(*in[0], static_cast<int>(attributes[0]),
                                        attributes[1] != 0, attributes[2] != 0);
      case kind::composite:
        if (n.code == op::cross_entropy) return detail::interpret_cross_entropy(*in[0], *in[1]);
        if (n.code == op::first_max)
          return detail::interpret_reduction(op::reduce_max, *in[0], attributes[0]);
        if (n.code == op::rope) return detail::interpret_rope(*in[0], *in[1], attributes);
        if (n.code == op::sum_windows)
          return detail::interpret_sum_windows(
              *in[0], shape, static_cast<std::size_t>(attributes[0]), attributes[1], attributes[2]);
        return detail::interpret_normalisation(
            n.code, *in[0], attributes[0], attributes.size() > 1 ? double_of(attributes[1]) : 0);
      case kind::opaque: {
        std::vector<double> own;
        for (std::int64_t bits : attributes.subspan(1)) own.push_back(double_of(bits));
        reference_tensor out = filled(n.type, shape, 0);
        interpret_custom(graph_.custom(attributes), in, out, own);
        return out;
      }
      case kind::control:
        if (n.code == op::checkpoint) return *in[0];
        break;
    }
    raise(graph_error(std::string(name(n.code)) +
                      ": a derivative has no value before automatic differentiation expanded it"));
  }

  span<const std::int64_t> symbols() const { return symbols_; }

 private:
  reference_tensor leaf(int id, const shape_vector& shape,
                        span<const reference_tensor* const> in) const {
    const node& n = graph_[id];
    const span<const std::int64_t> attributes = graph_.attributes(id);
    switch (n.code) {
      case op::argument: {
        const reference_tensor& given = detail::find_argument(graph_, id, arguments_);
        if (given.shape != shape) raise(shape_error(detail::text_of_argument(graph_, id, given)));
        return given;
      }
      case op::constant:
        return filled(n.type, shape, detail::stored_constant(n.type, constant_value(graph_, id)));
      case op::extent: {
        const std::int64_t extent =
            detail::evaluate_extent(graph_, graph_.node_dims(id)[0], symbols_);
        return filled(n.type, shape, cast_scalar(dtype::i64, n.type, static_cast<double>(extent)));
      }
      case op::iota: {
        reference_tensor out{n.type, shape, {}};
        for_each_index(shape, [&](const shape_vector& index) {
          out.data.push_back(
              cast_scalar(dtype::i64, n.type, static_cast<double>(index[attributes[1]])));
        });
        return out;
      }
      default: break;
    }
    reference_tensor out = filled(n.type, shape, 0);  // random_uniform
    const std::int64_t key = truncate_to_i64(in[0]->data[0]);
    for (std::size_t i = 0; i < out.data.size(); ++i)
      out.data[i] = uniform(key, attributes[1], static_cast<std::int64_t>(i), n.type == dtype::f64);
    return out;
  }

  reference_tensor elementwise(const node& n, const shape_vector& shape,
                               span<const reference_tensor* const> in,
                               span<const std::int64_t> attributes) const {
    for (const reference_tensor* operand : in)
      detail::require(operand->shape.empty() || operand->shape == shape, n.code, operand->shape,
                      "the operands' shapes disagree; the result's is " + to_string(shape));
    const dtype type = n.code == op::where ? n.type : in[0]->type;
    // Absent operands are 0; an operand of rank 0 is the same for every element.
    const auto at = [&](std::size_t which, std::size_t i) {
      return which >= in.size() ? 0.0 : in[which]->data[in[which]->shape.empty() ? 0 : i];
    };
    reference_tensor out = filled(n.type, shape, 0);
    if (n.code == op::custom_map) {
      std::array<double, max_custom_operands> operands{};
      for (std::size_t i = 0; i < out.data.size(); ++i) {
        for (std::size_t k = 0; k < in.size(); ++k) operands[k] = at(k, i);
        out.data[i] = graph_.custom(attributes).element(operands.data());
      }
      return out;
    }
    for (std::size_t i = 0; i < out.data.size(); ++i)
      out.data[i] = n.code == op::cast ? cast_scalar(type, n.type, at(0, i))
                    : n.code == op::bitcast
                        ? bitcast_scalar(type, n.type, at(0, i))
                        : evaluate_scalar(n.code, type, at(0, i), at(1, i), at(2, i));
    return out;
  }

  reference_tensor movement(int id, const shape_vector& shape,
                            span<const reference_tensor* const> in) const {
    const node& n = graph_[id];
    const span<const std::int64_t> attributes = graph_.attributes(id);
    std::vector<std::int64_t> dims;
    for (dim d : graph_.node_dims(id)) dims.push_back(detail::evaluate_extent(graph_, d, symbols_));
    switch (n.code) {
      case op::reshape: return detail::interpret_reshape(*in[0], shape);
      case op::permute: return detail::interpret_permute(*in[0], attributes);
      case op::broadcast_to: return detail::interpret_broadcast_to(*in[0], shape);
      case op::sum_to: return detail::interpret_sum_to(*in[0], shape);
      case op::pad: return detail::interpret_pad(*in[0], shape, dims, double_of(attributes[0]));
      case op::slice: return detail::interpret_slice(*in[0], shape, dims, attributes);
      case op::flip: return detail::interpret_flip(*in[0], attributes[0]);
      case op::recompute: return *in[0];
      case op::windows:
        return detail::interpret_windows(*in[0], shape, static_cast<std::size_t>(attributes[0]),
                                         dims[0], attributes[1], attributes[2]);
      default: return detail::interpret_concat(in, static_cast<std::size_t>(attributes[0]), shape);
    }
  }

  const graph& graph_;
  span<const reference_tensor> arguments_;
  std::vector<std::int64_t> symbols_;
};

namespace detail {

inline std::vector<reference_tensor> evaluate_nodes(const graph& g,
                                                    span<const reference_tensor> arguments,
                                                    const std::vector<bool>& wanted) {
  const interpreter machine(g, arguments);
  std::vector<reference_tensor> values(static_cast<std::size_t>(g.size()));
  for (int id = 0; id < g.size(); ++id) {
    if (!wanted[static_cast<std::size_t>(id)]) continue;
    std::vector<const reference_tensor*> in;
    for (int i : g.inputs(id)) in.push_back(&values[static_cast<std::size_t>(i)]);
    values[static_cast<std::size_t>(id)] = machine.evaluate(id, in);
  }
  return values;
}

}  // namespace detail

/// The values of the graph's outputs, in their order (assigned ones included; arguments are not
/// changed). `arguments[k]` belongs to argument number k. Nodes that no output needs are not
/// evaluated. Throws graph_error (a missing argument, a gradient node), dtype_error, shape_error
/// (arguments that do not fit, or extents that disagree in a graph traced without them),
/// index_error (gather and scatter_add).
inline std::vector<reference_tensor> interpret(const graph& g,
                                               span<const reference_tensor> arguments) {
  std::vector<bool> wanted(static_cast<std::size_t>(g.size()));
  for (const output& o : g.outputs) wanted[static_cast<std::size_t>(o.node)] = true;
  for (int id = g.size() - 1; id >= 0; --id)
    if (wanted[static_cast<std::size_t>(id)])
      for (int i : g.inputs(id)) wanted[static_cast<std::size_t>(i)] = true;
  const std::vector<reference_tensor> values = detail::evaluate_nodes(g, arguments, wanted);
  std::vector<reference_tensor> out;
  for (const output& o : g.outputs) out.push_back(values[static_cast<std::size_t>(o.node)]);
  return out;
}

/// The value of every node, by id; gradient nodes and what depends on them stay empty.
inline std::vector<reference_tensor> interpret_all(const graph& g,
                                                   span<const reference_tensor> arguments) {
  std::vector<bool> wanted(static_cast<std::size_t>(g.size()), true);
  for (int id = 0; id < g.size(); ++id) {
    bool has_value = !is_derivative(g[id].code);
    for (int i : g.inputs(id)) has_value = has_value && wanted[static_cast<std::size_t>(i)];
    wanted[static_cast<std::size_t>(id)] = has_value;
  }
  return detail::evaluate_nodes(g, arguments, wanted);
}

}  // namespace sinter::inline SINTER_ABI::ir
