// SPDX-License-Identifier: MIT
// operation: a node of a model as the function that writes it sees it: its inputs in whatever form
// they are known, its attributes, its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/onnx/importer.hpp>

namespace sinter::inline SINTER_ABI::onnx {

/// An input of an operator must be known while the model is loaded (the shape that it reshapes to),
/// and is not: it depends on elements that only calls know. If it is an input of the model itself,
/// `load_options::values` may give it.
struct unknown_value : graph_error {
  unknown_value(const std::string& message, std::string value)
      : graph_error(message), name(std::move(value)) {}
  std::string name;  // of the value
};

namespace detail {

/// What is more than this in a shape is no shape: products of two such numbers can be computed.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 40;

class operation {
 public:
  operation(importer& to, const node_proto& node, std::int64_t version)
      : to_(&to), node_(&node), version_(version), used_(node.attributes.size()) {
    for (const std::string_view name : node.inputs) {
      value* const v = name.empty() ? nullptr : to.find(name);
      if (!name.empty() && v == nullptr)
        fail("input " + in_quotes(name) + " is written by no node before it");
      inputs_.push_back(v);
    }
  }

  std::string_view name() const { return node_->type; }
  /// Of the operator set that the model imports.
  std::int64_t version() const { return version_; }
  importer& to() const { return *to_; }
  ir::graph& graph() const { return to_->graph(); }
  ir::dim_table& dims() const { return to_->dims(); }
  [[noreturn]] void fail(const std::string& reason) const { throw graph_error(reason); }

  // ---- inputs

  int count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < count() && inputs_[static_cast<std::size_t>(i)] != nullptr; }
  value& input(int i) const {
    if (!has(i)) fail("input " + std::to_string(i) + " is missing");
    return *inputs_[static_cast<std::size_t>(i)];
  }
  ir::value in(int i) const { return to_->node_of(input(i)); }
  dtype type(int i) const { return input(i).type; }
  int rank(int i) const { return to_->rank_of(input(i)); }
  ir::symbolic_shape shape(int i) const { return to_->shape_of(input(i)); }
  ir::dim extent(int i, int axis) const { return shape(i)[axis]; }
  /// The element-wise function of these inputs, which broadcast.
  ir::value elementwise(ir::op code, std::span<const int> which) const {
    int most = 0;
    for (const int i : which) most = std::max(most, rank(i));
    ir::value v[3];
    for (std::size_t k = 0; k < which.size(); ++k) v[k] = to_->operand_of(input(which[k]), most);
    ir::value out;
    switch (which.size()) {
      case 1: out = ir::elementwise(code, {v[0]}); break;
      case 2: out = ir::elementwise(code, {v[0], v[1]}); break;
      default: out = ir::elementwise(code, {v[0], v[1], v[2]}); break;
    }
    // Scalars alone give a scalar, where the model's constants may have axes.
    return out.rank() < most ? ir::with_leading_ones(out, most) : out;
  }
  /// Input i next to one of this rank.
  ir::value operand(int i, int rank) const { return to_->operand_of(input(i), rank); }

  /// The elements of input i if they are known while loading, or null.
  const known_tensor* known(int i) const { return has(i) ? to_->known_of(input(i)) : nullptr; }
  /// The same where they must be. Throws unknown_value.
  const known_tensor& numbers(int i) const {
    value& v = input(i);
    if (const known_tensor* k = to_->known_of(v)) return *k;
    const std::string hint =
        v.is_argument ? "; give it as load_options::values" : "; it depends on elements of inputs";
    throw unknown_value("input " + in_quotes(v.name) + " must be known while loading" + hint,
                        v.name);
  }
  std::vector<std::int64_t> known_integers(int i) const {
    std::vector<std::int64_t> out;
    for (const number& x : numbers(i).elements) {
      if (!is_integer(x)) fail("input " + std::to_string(i) + " depends on the extents of a call");
      out.push_back(std::get<std::int64_t>(x));
    }
    return out;
  }
  std::int64_t known_integer(int i) const {
    const std::vector<std::int64_t> all = known_integers(i);
    if (all.size() != 1) fail("input " + std::to_string(i) + " has not one element");
    return all[0];
  }
  double known_real(int i) const {
    const known_tensor& k = numbers(i);
    if (k.size() != 1 || is_extent(k.elements[0]))
      fail("input " + std::to_string(i) + " is not one known number");
    return is_real(k.elements[0]) ? std::get<double>(k.elements[0])
                                  : static_cast<double>(std::get<std::int64_t>(k.elements[0]));
  }

  // ---- attributes. Those that nobody asked for are an error: see `finish`.

  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) {
    return attribute(name, 2, otherwise, [](message& m) {
      std::int64_t out = 0;
      while (m.next()) m.field() == 3 ? void(out = m.integer()) : m.skip();
      return out;
    });
  }
  double real(std::string_view name, double otherwise) {
    return attribute(name, 1, otherwise, [](message& m) {
      float out = 0;
      while (m.next()) m.field() == 2 ? void(out = m.real()) : m.skip();
      return static_cast<double>(out);
    });
  }
  std::string text(std::string_view name, std::string_view otherwise) {
    return attribute(name, 3, std::string(otherwise), [](message& m) {
      std::string_view out;
      while (m.next()) m.field() == 4 ? void(out = m.bytes()) : m.skip();
      return std::string(out);
    });
  }
  std::vector<std::int64_t> integers(std::string_view name,
                                     std::vector<std::int64_t> otherwise = {}) {
    return attribute(name, 7, std::move(otherwise), [](message& m) {
      std::vector<std::int64_t> out;
      while (m.next()) {
        if (m.field() == 8)
          m.each_integer([&](std::int64_t x) { out.push_back(x); });
        else
          m.skip();
      }
      return out;
    });
  }
  std::vector<double> reals(std::string_view name) {
    return attribute(name, 6, std::vector<double>{}, [](message& m) {
      std::vector<double> out;
      while (m.next()) {
        if (m.field() == 7)
          m.each_float([&](float x) { out.push_back(static_cast<double>(x)); });
        else
          m.skip();
      }
      return out;
    });
  }
  std::optional<any_tensor> tensor(std::string_view name) {
    return attribute(name, 4, std::optional<any_tensor>{}, [&](message& m) {
      std::optional<any_tensor> out;
      while (m.next()) {
        if (m.field() == 5)
          out = to_->files().read(read_tensor_proto(m.nested()));
        else
          m.skip();
      }
      return out;
    });
  }
  /// An attribute that changes nothing here (hints, what training needs).
  void ignore(std::string_view name) {
    if (const attribute_proto* a = find(name)) mark(a);
  }

  /// A dtype attribute. Throws dtype_error for one that sinter has not.
  dtype dtype_attribute(std::string_view name, dtype otherwise) {
    if (!has_attribute(name)) return otherwise;
    const std::int64_t code = integer(name, 0);
    const std::optional<dtype> type = dtype_of_onnx(code);
    if (!type) throw dtype_error("type " + onnx_type_name(code) + " is none of sinter's");
    return *type;
  }

  /// An axis counted from 0. Throws axis_error outside of the rank.
  int axis(std::int64_t given, int rank) const {
    if (given < -rank || given >= rank)
      throw axis_error("axis " + std::to_string(given) + " is out of range for rank " +
                       std::to_string(rank));
    return static_cast<int>(given < 0 ? given + rank : given);
  }
  /// The bit mask of axes. Throws axis_error also for one that is named twice.
  std::int64_t mask(std::span<const std::int64_t> axes, int rank) const {
    std::int64_t out = 0;
    for (const std::int64_t each : axes) {
      const int from_start = axis(each, rank);
      if (ir::has_axis(out, from_start))
        throw axis_error("axis " + std::to_string(each) + " is named twice");
      out |= std::int64_t{1} << from_start;
    }
    return out;
  }

  // ---- outputs

  bool wants(int i) const {
    return static_cast<std::size_t>(i) < node_->outputs.size() &&
           !node_->outputs[static_cast<std::size_t>(i)].empty();
  }
  int outputs() const { return static_cast<int>(node_->outputs.size()); }
  /// Throws shape_error for more elements than a model may ask for.
  void give(int i, ir::value x) {
    shape_vector known;
    for (const ir::dim d : x.shape()) known.push_back(d.is_constant() ? d.constant() : 1);
    if (element_count(known) > most_elements)
      throw shape_error("a result of shape " + dims().to_string(x.shape()));
    value v;
    v.type = x.type();
    v.node = x;
    add(i, std::move(v));
  }
  void give(ir::value x) { give(0, x); }
  void give(known_tensor x) {
    value v;
    v.type = x.type;
    v.known = std::move(x);
    add(0, std::move(v));
  }
  /// The elements are known, and this is how the graph computes them.
  void give(known_tensor x, ir::value node) {
    value v;
    v.type = x.type;
    v.known = std::move(x);
    v.node = node;
    add(0, std::move(v));
  }
  void give(const any_tensor& x) {
    value v;
    v.type = x.type();
    v.tensor = x;
    add(0, std::move(v));
  }
  /// The same value under another name.
  void give_input(int i) { add(0, input(i)); }

  /// Throws graph_error for an attribute that was not looked at, and for an output that was not
  /// given.
  void finish() const {
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (!used_[i])
        fail("attribute " + in_quotes(node_->attributes[i].name) + " is not understood");
    for (const std::string_view name : node_->outputs)
      if (!name.empty() && to_->find(name) == nullptr)
        fail("output " + in_quotes(name) + " is not supported");
  }

 private:
  const attribute_proto* find(std::string_view name) const {
    for (const attribute_proto& a : node_->attributes)
      if (a.name == name) return &a;
    return nullptr;
  }
  void mark(const attribute_proto* a) {
    used_[static_cast<std::size_t>(a - node_->attributes.data())] = true;
  }
  template <class T, class Read>
  T attribute(std::string_view name, std::int64_t type, T otherwise, Read&& read) {
    const attribute_proto* const a = find(name);
    if (a == nullptr) return otherwise;
    mark(a);
    if (a->type != type && a->type != 0)  // 0: files before the field existed
      fail("attribute " + in_quotes(name) + " is of another type than expected");
    message m = a->body;
    return read(m);
  }
  void add(int i, value v) {
    if (!wants(i)) return;
    v.is_argument = false;
    to_->add(node_->outputs[static_cast<std::size_t>(i)], std::move(v));
  }

  importer* to_;
  const node_proto* node_;
  std::int64_t version_;
  std::vector<value*> inputs_;
  std::vector<bool> used_;
};

/// An operator: writes the nodes of an operation.
using operator_function = void (*)(operation&);

struct operator_entry {
  std::string_view name;
  operator_function write;
};

}  // namespace detail
}  // namespace sinter::inline SINTER_ABI::onnx
