// SPDX-License-Identifier: MIT
// The values of a model while it becomes a graph: elements of the file, elements that are known
// while loading, and nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/function/graph_builder.hpp>
#include <sinter/graph/symbol_name.hpp>
#include <sinter/onnx/number.hpp>
#include <sinter/onnx/tensor.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail {

/// A value of a model. What it has of the three is written when somebody asks.
struct value {
  std::string name;
  dtype type = dtype::f32;
  std::optional<any_tensor> tensor;
  std::optional<known_tensor> known;
  ir::value node;            // without owner: not in the graph yet
  bool is_argument = false;  // an input of the model, whose elements only calls know

  bool is_constant() const { return tensor.has_value() || known.has_value(); }
};

/// The graph that a model becomes.
class importer {
 public:
  explicit importer(const mapped_file& file) : files_(file) {
    // A builder shows its graph through handles alone.
    graph_ = builder_.constant(0.0f).node.owner;
  }

  graph_builder& builder() { return builder_; }
  ir::graph& graph() { return *graph_; }
  ir::dim_table& dims() { return graph_->dims; }
  tensor_files& files() { return files_; }

  value* find(std::string_view name) {
    const auto at = values_.find(name);
    return at == values_.end() ? nullptr : &at->second;
  }
  /// Throws graph_error if there is a value of that name: each is written once.
  value& add(std::string_view name, value v) {
    v.name = std::string(name);
    const auto [at, is_new] = values_.emplace(std::string(name), std::move(v));
    if (!is_new) throw graph_error("there are two values named " + in_quotes(name));
    return at->second;
  }

  /// A name that the graph accepts, like no other: what is no letter or digit becomes `_`.
  std::string unique_name(std::string_view text) {
    std::string base;
    for (const char c : text.substr(0, 200))
      base += ir::is_letter(c) || ir::is_digit(c) || c == '.' ? c : '_';
    if (base.empty() || !ir::is_letter(base[0]) || !ir::is_symbol_name(base)) base = "_" + base;
    std::string name = base;
    for (int i = 2; !names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    return name;
  }

  ir::value node_of(value& v) {
    if (v.node.owner != nullptr) return v.node;
    if (v.known)
      v.node = from_known(*v.known, v.name);
    else if (v.tensor->size() == 1)
      v.node = ir::broadcast_to(scalar_of(*v.tensor), dims_of(v.tensor->shape()));
    else
      v.node = bound(*v.tensor, v.name);
    return v.node;
  }

  /// As an operand that meets one of this rank: the only element of a constant is a scalar then,
  /// which is how rules know constants.
  ir::value operand_of(value& v, int rank) {
    if (!v.is_constant() || rank_of(v) > rank) return node_of(v);
    if (v.known && v.known->size() == 1) return scalar_of(v.known->type, v.known->elements[0]);
    if (!v.known && v.tensor->size() == 1) return scalar_of(*v.tensor);
    return node_of(v);
  }

  /// The elements, if they are few and known while loading; otherwise null.
  const known_tensor* known_of(value& v) {
    if (!v.known && v.tensor) v.known = known_elements(*v.tensor);
    return v.known ? &*v.known : nullptr;
  }

  ir::symbolic_shape shape_of(const value& v) const {
    if (v.node.owner != nullptr) return v.node.shape();
    return dims_of(v.known ? v.known->shape : v.tensor->shape());
  }
  int rank_of(const value& v) const { return static_cast<int>(shape_of(v).size()); }

  static ir::symbolic_shape dims_of(const shape_vector& shape) {
    ir::symbolic_shape out;
    for (const std::int64_t extent : shape) out.push_back(ir::dim(extent));
    return out;
  }

  /// An element as a scalar of the graph.
  ir::value scalar_of(dtype type, const number& x) {
    if (is_extent(x)) return ir::extent_scalar(graph(), type, std::get<ir::dim>(x));
    if (is_real(x)) return ir::constant(graph(), type, std::get<double>(x));
    const std::int64_t n = std::get<std::int64_t>(x);
    if (!is_wide_integer(type)) return ir::constant(graph(), type, static_cast<double>(n));
    // As a double it might not be the same number.
    return {graph_,
            ir::append(graph(), ir::op::constant, {}, {static_cast<std::int64_t>(type), n})};
  }

 private:
  ir::value scalar_of(const any_tensor& x) {
    return dispatch(x.type(), [&]<class T>(std::type_identity<T>) {
      const T element = *static_cast<const T*>(x.data());
      if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>)
        return scalar_of(x.type(), number(static_cast<std::int64_t>(element)));
      else if constexpr (NarrowFloat<T>)
        return scalar_of(x.type(), number(static_cast<double>(static_cast<float>(element))));
      else
        return scalar_of(x.type(), number(static_cast<double>(element)));
    });
  }

  ir::value bound(const any_tensor& x, const std::string& name) {
    return builder_.bound(unique_name(name), x).node;
  }

  ir::value from_known(const known_tensor& x, const std::string& name) {
    const ir::symbolic_shape shape = dims_of(x.shape);
    bool uniform = true;
    for (const number& each : x.elements) uniform = uniform && each == x.elements[0];
    if (x.elements.empty()) return ir::broadcast_to(ir::constant(graph(), x.type, 0), shape);
    if (uniform) return ir::broadcast_to(scalar_of(x.type, x.elements[0]), shape);
    if (const std::optional<any_tensor> all = as_tensor(x)) return bound(*all, name);
    // Chosen by place, which is one nest; parts side by side would be one for each.
    const ir::value place =
        ir::iota(graph(), dtype::i64, {ir::dim(static_cast<std::int64_t>(x.size()))}, 0);
    ir::value all = scalar_of(x.type, x.elements[0]);
    for (std::size_t i = 1; i < x.size(); ++i) {
      const ir::value here = ir::constant(graph(), dtype::i64, static_cast<double>(i));
      all = ir::where(ir::elementwise(ir::op::equal, {place, here}),
                      scalar_of(x.type, x.elements[i]), all);
    }
    return ir::reshape(all, shape);
  }

  graph_builder builder_;
  ir::graph* graph_ = nullptr;
  tensor_files files_;
  std::map<std::string, value, std::less<>> values_;
  std::set<std::string> names_;
};

}  // namespace sinter::inline SINTER_ABI::onnx::detail
