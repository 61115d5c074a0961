// SPDX-License-Identifier: MIT
// onnx::load: a model in a file of ONNX as a function, its weights bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/graph/symbol_name.hpp>
#include <sinter/onnx/model.hpp>
#include <sinter/onnx/operators.hpp>

namespace sinter::inline SINTER_ABI::onnx {

struct load_options {
  /// The extents that symbolic dimensions (dim_param) may have: sym("batch", 1, 64). Others have
  /// any.
  std::vector<sym> ranges = {};
  /// Elements of inputs that are known already: these are then no inputs of the model any more. For
  /// shapes and the like that must be known while loading (unknown_value).
  std::map<std::string, any_tensor> values = {};
  program_options program = {};
};

namespace detail {

class loader {
  // Errors of what a node is made of, in the name of the node.
  template <class F>
  auto guarded(const std::string& who, F&& f) const {
    const std::string before = source_.path + ": " + who + ": ";
    try {
      return f();
    } catch (const unknown_value& e) {
      throw unknown_value(before + e.what(), e.name);
    } catch (const shape_error& e) {
      throw shape_error(before + e.what());
    } catch (const dtype_error& e) {
      throw dtype_error(before + e.what());
    } catch (const axis_error& e) {
      throw axis_error(before + e.what());
    } catch (const index_error& e) {
      throw index_error(before + e.what());
    } catch (const graph_error& e) {
      throw graph_error(before + e.what());
    } catch (const std::length_error&) {
      throw shape_error(before + "a tensor of more than " + std::to_string(max_rank) + " axes");
    }
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw graph_error(source_.path + ": " + reason);
  }

 public:
  loader(const mapped_file& file, const load_options& options) : options_(options), to_(file) {
    const auto bytes = file.bytes();
    source_ = {file.path(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
  }

  model load() {
    proto_ = read_model_proto(message(source_, source_.bytes));
    for (const auto& [domain, version] : proto_.opsets)
      if (domain.empty()) opset_ = version;
    if (opset_ < oldest_opset || opset_ > newest_opset)
      throw graph_error(source_.path + ": operator set " + std::to_string(opset_) + " is none of " +
                        std::to_string(oldest_opset) + " to " + std::to_string(newest_opset));
    const graph_proto& g = proto_.graph;
    std::set<std::string_view> weights;
    for (const tensor_proto& t : g.weights) weights.insert(t.name);
    for (const value_proto& v : g.inputs)
      // Before IR version 4 weights are inputs, too.
      if (weights.count(v.name) == 0) read_input(v);
    require_known_options();
    const std::vector<bool> needed = needed_nodes();
    for (const tensor_proto& t : g.weights)
      if (needed_values_.count(t.name) != 0) read_weight(t);
    for (std::size_t i = 0; i < g.nodes.size(); ++i)
      if (needed[i]) write(g.nodes[i]);
    return finished();
  }

 private:
  void read_input(const value_proto& v) {
    const std::string who = "input " + in_quotes(v.name);
    if (v.name.empty()) fail("an input without a name");
    if (!v.is_tensor) fail(who + " is no tensor");
    const std::optional<dtype> type = dtype_of_onnx(v.type);
    if (!type)
      throw dtype_error(source_.path + ": " + who + " has elements of type " +
                        onnx_type_name(v.type));
    value made;
    made.type = *type;
    if (const auto given = options_.values.find(std::string(v.name));
        given != options_.values.end()) {
      if (given->second.type() != *type)
        throw dtype_error(source_.path + ": " + who + " is given as " +
                          std::string(name(given->second.type())) + " where " +
                          std::string(name(*type)) + " is expected");
      made.tensor = given->second;
      used_values_.insert(given->first);
      to_.add(v.name, std::move(made));
      return;
    }
    if (!v.has_shape) fail(who + " has no shape");
    if (v.shape.size() > static_cast<std::size_t>(max_rank))
      fail(who + " has " + std::to_string(v.shape.size()) + " axes; the limit is " +
           std::to_string(max_rank));
    std::vector<argument_extent> shape;
    for (std::size_t axis = 0; axis < v.shape.size(); ++axis) {
      const dimension_proto& d = v.shape[axis];
      if (d.value >= 0 && d.name.empty())
        shape.emplace_back(d.value);
      else
        shape.emplace_back(symbol(!d.name.empty()
                                      ? std::string(d.name)
                                      : std::string(v.name) + "_" + std::to_string(axis)));
    }
    made.is_argument = true;
    const std::string argument = to_.unique_name(v.name);
    made.node = guarded(who, [&] { return to_.builder().argument(argument, *type, shape); }).node;
    inputs_.push_back({std::string(v.name), *type, shape});
    to_.add(v.name, std::move(made));
  }

  // A symbolic dimension; its name need not be one that graphs accept.
  sym symbol(const std::string& text) {
    if (const auto known = symbols_.find(text); known != symbols_.end()) return known->second;
    sym made(symbol_name(text));
    for (const sym& r : options_.ranges)
      if (r.name == text) {
        made = sym(made.name, r.low, r.high);
        used_ranges_.insert(text);
      }
    return symbols_.emplace(text, made).first->second;
  }
  std::string symbol_name(const std::string& text) {
    std::string base;
    for (const char c : text.substr(0, 200))
      base += ir::is_letter(c) || ir::is_digit(c) || c == '.' ? c : '_';
    if (!ir::is_symbol_name(base)) base = "_" + base;
    std::string name = base;
    for (int i = 2; !symbol_names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    return name;
  }

  void require_known_options() const {
    for (const auto& [name, tensor] : options_.values)
      if (used_values_.count(name) == 0)
        fail("a value is given for " + in_quotes(name) + ", which is no input");
    for (const sym& r : options_.ranges)
      if (used_ranges_.count(r.name) == 0)
        fail("a range is given for " + in_quotes(r.name) +
             ", which is no symbolic dimension of an input");
  }

  // Nodes that outputs depend on; others may hold what is not supported.
  std::vector<bool> needed_nodes() {
    const graph_proto& g = proto_.graph;
    std::vector<bool> needed(g.nodes.size());
    for (const value_proto& v : g.outputs) needed_values_.insert(v.name);
    for (std::size_t i = g.nodes.size(); i-- > 0;) {
      for (const std::string_view out : g.nodes[i].outputs)
        needed[i] = needed[i] || (!out.empty() && needed_values_.count(out) != 0);
      if (needed[i]) needed_values_.insert(g.nodes[i].inputs.begin(), g.nodes[i].inputs.end());
    }
    return needed;
  }

  void read_weight(const tensor_proto& t) {
    if (t.name.empty()) return;
    for (const std::string_view name : proto_.graph.sparse_weights)
      if (name == t.name) fail("weight " + in_quotes(name) + " is sparse");
    value made;
    made.tensor = to_.files().read(t);
    made.type = made.tensor->type();
    guarded("weight " + in_quotes(t.name), [&] { return &to_.add(t.name, std::move(made)); });
  }

  void write(const node_proto& n) {
    const std::string who = std::string(n.domain.empty() ? "" : std::string(n.domain) + ".") +
                            std::string(n.type.substr(0, 80));
    const std::string name = n.name.empty() ? in_quotes(n.outputs[0]) : in_quotes(n.name);
    guarded("node " + name + " (" + who + ", operator set " + std::to_string(opset_) + ")", [&] {
      const operator_function f = find_operator(n.domain, n.type);
      if (f == nullptr) throw graph_error("the operator is not supported");
      operation o(to_, n, opset_);
      f(o);
      o.finish();
      return 0;
    });
  }

  model finished() {
    std::vector<graph_output> outputs;
    std::vector<port> results;
    if (proto_.graph.outputs.empty()) fail("a model without outputs");
    for (const value_proto& v : proto_.graph.outputs) {
      value* const made = to_.find(v.name);
      if (made == nullptr) fail("output " + in_quotes(v.name) + " is written by no node");
      const ir::value node = to_.node_of(*made);
      outputs.emplace_back(handle(node));
      results.push_back({std::string(v.name), node.type(), {}});
    }
    return guarded("model", [&] {
      return model(to_.builder().compile(outputs, options_.program), std::move(inputs_),
                   std::move(results));
    });
  }

  const load_options& options_;
  source source_;
  model_proto proto_;
  std::int64_t opset_ = 0;
  importer to_;
  std::vector<port> inputs_;
  std::map<std::string, sym> symbols_;
  std::set<std::string> symbol_names_;
  std::set<std::string, std::less<>> used_values_, used_ranges_;
  std::set<std::string_view> needed_values_;
};

}  // namespace detail

/// Reads a model (ModelProto, operator sets 7 to 28, older ones in part) and what lies in files
/// beside it. Shapes that the model computes are followed while loading, so that dimensions stay
/// symbolic; one that depends on elements is an unknown_value. Weights are bound to the function;
/// they stay in the mapped file where their alignment allows it, so nobody may write to it
/// meanwhile.
///
/// Throws io_error (file, byte, reason) for a file that is damaged or lies outside of the model's
/// folder, graph_error (file, node, operator) for what is not supported, and shape_error,
/// dtype_error, axis_error or index_error in the name of the node where operands do not fit.
inline model load(const std::string& path, const load_options& options = {}) {
  const mapped_file file(path);
  return detail::loader(file, options).load();
}

}  // namespace sinter::inline SINTER_ABI::onnx
