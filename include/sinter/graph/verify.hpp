// SPDX-License-Identifier: MIT
// The verifier: checks that a graph is what the rest of sinter takes for granted. It finds mistakes
// of the code that writes graphs (gradients, rules, loaders); mistakes of users are found earlier,
// by shape inference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sinter/graph/infer.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

class verifier {
 public:
  // Inference interns dims and notes guards, so it works on a copy.
  explicit verifier(const graph& g) : graph_(g), scratch_(g) {}

  void run() {
    for (int id = 0; id < graph_.size(); ++id) {
      check_inputs(id);
      check_attributes(id);
      check_inference(id);
    }
    check_outputs();
  }

 private:
  [[noreturn]] void reject(int id, const std::string& reason) const {
    raise(graph_error("verify: node %" + std::to_string(id) + " (" +
                      std::string(name(graph_[id].code)) + "): " + reason));
  }
  void expect(bool holds, int id, const char* reason) const {
    if (!holds) reject(id, reason);
  }

  void check_inputs(int id) const {
    const op code = graph_[id].code;
    if (static_cast<int>(code) >= op_count)
      raise(graph_error("verify: node %" + std::to_string(id) + " has an op that does not exist"));
    if (is_custom(code)) check_custom(id);
    const int given = graph_[id].input_count,
              arity =
                  is_custom(code) ? graph_.custom(graph_.attributes(id)).arity : info(code).arity;
    if (arity >= 0 ? given != arity : given < 1)
      reject(id, "has " + std::to_string(given) + " inputs, expected " +
                     (arity >= 0 ? std::to_string(arity) : "one or more"));
    for (int i : graph_.inputs(id))
      if (i < 0 || i >= id) reject(id, "input %" + std::to_string(i) + " does not come before it");
  }

  // The number of a custom op, which everything else about it is asked of.
  void check_custom(int id) const {
    const span<const std::int64_t> a = graph_.attributes(id);
    if (a.empty() || a[0] < 0 || a[0] >= static_cast<std::int64_t>(graph_.customs.size()))
      reject(id, "there is no custom op of its number");
    const custom_op& custom = graph_.custom(a);
    expect(custom.elementwise == (graph_[id].code == op::custom_map), id,
           "its op is of the other kind");
    check_counts(id, 1 + custom.attributes.size(), 0);
  }

  // The numbers of attributes and dims that the table above struct node lists.
  void check_counts(int id, std::size_t attributes, std::size_t dims) const {
    if (graph_.attributes(id).size() != attributes)
      reject(id, "has " + std::to_string(graph_.attributes(id).size()) + " attributes, expected " +
                     std::to_string(attributes));
    if (graph_.node_dims(id).size() != dims)
      reject(id, "has " + std::to_string(graph_.node_dims(id).size()) + " dims, expected " +
                     std::to_string(dims));
  }
  void check_dtype(int id) const {
    const std::int64_t type = graph_.attributes(id)[0];
    expect(type >= 0 && type < dtype_count, id, "its dtype does not exist");
  }
  void check_mask(int id, std::size_t rank) const {
    const std::int64_t mask = graph_.attributes(id)[0];
    expect(mask >= 0 && mask < std::int64_t{1} << rank, id,
           "its axes are outside of the operand's rank");
  }
  void check_axis(int id, std::int64_t axis, std::size_t rank) const {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
      reject(id,
             "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  }

  void check_attributes(int id) {
    const span<const std::int64_t> attributes = graph_.attributes(id);
    const std::size_t dims = graph_.node_dims(id).size();
    const std::size_t rank =
        graph_.inputs(id).empty() ? 0 : graph_[graph_.input(id, 0)].shape.size();
    switch (graph_[id].code) {
      case op::argument:
        check_counts(id, 3, shape_dims(id));
        check_dtype(id);
        check_argument(id);
        return;
      case op::constant: check_counts(id, 2, 0); return check_dtype(id);
      case op::extent: check_counts(id, 1, 1); return check_dtype(id);
      case op::iota:
        check_counts(id, 2, shape_dims(id));
        check_dtype(id);
        expect(static_cast<dtype>(attributes[0]) != dtype::boolean, id, "its dtype is bool");
        return check_axis(id, attributes[1], dims);
      case op::random_uniform: {
        check_counts(id, 2, shape_dims(id));
        check_dtype(id);
        const node& key = graph_[graph_.input(id, 0)];
        expect(key.type == dtype::i64 && key.shape.empty(), id, "its key must be an i64 scalar");
        const auto type = static_cast<dtype>(attributes[0]);
        return expect(type == dtype::f32 || type == dtype::f64, id, "its dtype must be f32 or f64");
      }
      case op::cast:
      case op::bitcast: check_counts(id, 1, 0); return check_dtype(id);
      case op::reduce_sum:
      case op::reduce_max:
      case op::reduce_min:
      case op::reduce_prod:
      case op::argmax:
      case op::softmax:
      case op::log_softmax:
      case op::first_max:
      case op::flip: check_counts(id, 1, 0); return check_mask(id, rank);
      case op::layer_norm:
      case op::rms_norm:
        check_counts(id, 2, 0);
        check_mask(id, rank);
        return expect(double_of(attributes[1]) >= 0, id, "its eps must not be negative");
      case op::rope:
        check_counts(id, 4, 0);
        expect(double_of(attributes[0]) > 0, id, "its theta must be above zero");
        return expect((attributes[1] | attributes[2] | 1) == 1, id,
                      "its pairing and direction must be 0 or 1");
      case op::reshape:
      case op::broadcast_to:
      case op::sum_to: return check_counts(id, 0, shape_dims(id));
      case op::permute: return check_counts(id, rank, 0);
      case op::pad: return check_counts(id, 1, 2 * rank);
      case op::slice:
        check_counts(id, rank, 2 * rank);
        for (std::int64_t step : attributes) expect(step >= 1, id, "its steps must be at least 1");
        return;
      case op::windows:
      case op::sum_windows:
        check_counts(id, 3, 1);
        check_axis(id, attributes[0], graph_[id].code == op::windows ? rank : rank - 1);
        return expect(attributes[1] >= 1 && attributes[2] >= 1, id,
                      "its stride and dilation must be at least 1");
      case op::concat: check_counts(id, 1, 0); return check_axis(id, attributes[0], rank);
      case op::matmul:
        check_counts(id, 2, 0);
        return expect((attributes[0] | attributes[1] | 1) == 1, id,
                      "its transpose attributes must be 0 or 1");
      case op::gather: check_counts(id, 1, 0); return check_axis(id, attributes[0], rank);
      case op::scatter_add:
        check_counts(id, 1, shape_dims(id));
        check_axis(id, attributes[0], dims);
        return check_updates(id);
      case op::cumsum:
        check_counts(id, 3, 0);
        check_axis(id, attributes[0], rank);
        return expect((attributes[1] | attributes[2] | 1) == 1, id,
                      "what it includes and its direction must be 0 or 1");
      case op::custom_map:
      case op::custom: return;  // check_custom
      case op::recompute: return check_counts(id, 1, 0);
      case op::jvp:
        check_counts(id, 0, 0);
        return expect(graph_[id].input_count >= 3 && graph_[id].input_count % 2 == 1, id,
                      "its inputs are y and pairs of a node and its tangent");
      case op::gradient:
        check_counts(id, 0, 0);
        for (dim d : graph_[graph_.input(id, 0)].shape)
          expect(d == dim(1), id, "the loss must be a scalar");
        return;
      default:
        return check_counts(id, 0, 0);  // element-wise ops, cross_entropy, vjp and checkpoint
    }
  }

  // As many dims as the node's shape, up to the limit.
  std::size_t shape_dims(int id) const {
    const std::size_t given = graph_.node_dims(id).size();
    expect(given <= static_cast<std::size_t>(max_rank), id, "its rank exceeds the limit");
    return given;
  }

  void check_argument(int id) {
    const std::int64_t number = graph_.attributes(id)[1];
    expect(number >= 0, id, "its number is negative");
    if (number >= static_cast<std::int64_t>(argument_numbers_.size()))
      argument_numbers_.resize(static_cast<std::size_t>(number) + 1);
    if (argument_numbers_[static_cast<std::size_t>(number)])
      reject(id, "there are two arguments with number " + std::to_string(number));
    argument_numbers_[static_cast<std::size_t>(number)] = true;
  }

  // scatter_add's updates: the result's shape with the indices' axes in place of the axis.
  void check_updates(int id) {
    const symbolic_shape updates = graph_[graph_.input(id, 0)].shape,
                         indices = graph_[graph_.input(id, 1)].shape;
    const span<const dim> whole = graph_.node_dims(id);
    const auto axis = static_cast<std::size_t>(graph_.attributes(id)[0]);
    std::vector<dim> expected(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(axis));
    expected.insert(expected.end(), indices.begin(), indices.end());
    expected.insert(expected.end(), whole.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                    whole.end());
    bool fits = expected.size() == updates.size();
    for (std::size_t i = 0; fits && i < expected.size(); ++i)
      fits = scratch_.agree(expected[i], updates[i]);
    if (!fits)
      reject(id, "updates have shape " + graph_.dims.to_string(updates) + ", expected " +
                     graph_.dims.to_string(expected));
  }

  void check_inference(int id) {
    const span<const dim> dims = graph_.node_dims(id);
    const inferred expected =
        infer(scratch_, graph_[id].code, graph_.inputs(id), graph_.attributes(id), dims);
    if (expected.problem.kind != fault_kind::none)
      reject(id,
             "(" + graph_.operand_text(graph_.inputs(id)) + "): " + expectation(expected.problem));
    const node& n = graph_[id];
    if (n.type != expected.type)
      reject(id, "has dtype " + std::string(sinter::name(n.type)) + ", inference says " +
                     std::string(sinter::name(expected.type)));
    bool same = n.shape.size() == expected.shape.size();
    for (std::size_t axis = 0; same && axis < n.shape.size(); ++axis)
      same = scratch_.dims.equal(n.shape[axis], expected.shape[axis]) == truth::yes;
    if (!same)
      reject(id, "has shape " + graph_.dims.to_string(n.shape) + ", inference says " +
                     scratch_.dims.to_string(expected.shape));
  }

  void check_outputs() const {
    std::vector<std::int64_t> assigned;
    for (const output& o : graph_.outputs) {
      if (o.node < 0 || o.node >= graph_.size())
        raise(graph_error("verify: output %" + std::to_string(o.node) + " is no node; there are " +
                          std::to_string(graph_.size())));
      if (o.assigned_argument < 0) continue;
      const std::string who = "verify: output %" + std::to_string(o.node) +
                              " is assigned to argument " + std::to_string(o.assigned_argument);
      const auto number = static_cast<std::size_t>(o.assigned_argument);
      if (number >= argument_numbers_.size() || !argument_numbers_[number])
        raise(graph_error(who + ", which does not exist"));
      for (std::int64_t other : assigned)
        if (other == o.assigned_argument) raise(graph_error(who + ", as another output is"));
      assigned.push_back(o.assigned_argument);
    }
  }

  const graph& graph_;
  graph scratch_;
  std::vector<bool> argument_numbers_;
};

}  // namespace detail

/// Throws graph_error, naming the node and the reason, unless: inputs come before their users;
/// every op has the number of inputs, attributes and dims that the table above struct node lists,
/// with values that make sense; dtypes and shapes are what inference says; argument numbers are
/// unique; outputs exist, and assigned ones name different arguments. Costs one pass over the
/// nodes.
inline void verify(const graph& g) { detail::verifier(g).run(); }

/// What a call needs of a graph besides: throws graph_error unless the numbers of its arguments
/// have no gaps, their extents are numbers or symbols, and every symbol of the graph is an extent
/// of an argument, so that a call says what it is; and if it assigns a C++ number.
inline void verify_callable(const graph& g) {
  std::vector<int> arguments;  // nodes by number
  std::vector<bool> known(g.dims.size());
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != op::argument) continue;
    const auto number = static_cast<std::size_t>(g.attributes(id)[1]);
    // Numbers are unique: if they have no gaps, none reaches the number of nodes.
    if (number >= static_cast<std::size_t>(g.size()))
      raise(graph_error("graph: there is an " + g.argument_text(g.attributes(id)[1]) +
                        ", but not one for every number below"));
    if (arguments.size() <= number) arguments.resize(number + 1, -1);
    arguments[number] = id;
    for (dim d : g[id].shape) {
      if (d.is_constant()) continue;
      if (g.dims.kind(d) != dim_kind::symbol)
        raise(graph_error("graph: " + g.argument_text(g.attributes(id)[1]) + " has the extent " +
                          g.dims.to_string(d) + "; expected a number or a symbol"));
      known[d.index()] = true;
    }
  }
  for (std::size_t number = 0; number < arguments.size(); ++number)
    if (arguments[number] < 0)
      raise(graph_error("graph: there is no argument " + std::to_string(number)));

  const auto require_known = [&](auto&& self, dim d) -> void {
    if (d.is_constant()) return;
    const span<const std::int64_t> o = g.dims.operands(d);
    if (g.dims.kind(d) == dim_kind::symbol) {
      if (!known[d.index()])
        raise(graph_error("graph: " + g.dims.to_string(d) + " is an extent of no argument"));
      return;
    }
    // A sum has coefficients before its terms.
    const bool sum = g.dims.kind(d) == dim_kind::sum;
    for (std::size_t i = sum ? 1 : 0; i < o.size(); i += sum ? 2 : 1)
      self(self, dim::from_code(o[i]));
  };
  for (int id = 0; id < g.size(); ++id) {
    for (dim d : g.node_dims(id)) require_known(require_known, d);
    for (dim d : g[id].shape) require_known(require_known, d);
  }
  for (const output& o : g.outputs)
    if (o.assigned_argument >= 0 &&
        g[arguments[static_cast<std::size_t>(o.assigned_argument)]].weak)
      raise(graph_error("graph: output %" + std::to_string(o.node) + " is assigned to " +
                        g.argument_text(o.assigned_argument) + ", a number"));
}

}  // namespace sinter::inline SINTER_ABI::ir
