// SPDX-License-Identifier: MIT
// model: a function that was read from a file of ONNX, with the names of its inputs and outputs.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/function/graph_builder.hpp>

namespace sinter::inline SINTER_ABI::onnx {

/// An input or an output of a model.
struct port {
  std::string name;
  dtype type = dtype::f32;
  std::vector<argument_extent> shape;  // of an input
};

/// An argument of a call by name.
struct named_argument {
  std::string name;
  graph_argument value;
};

/// A model as a function. Copies share plans and weights; calls from several threads are safe.
class model {
 public:
  model(graph_function function, std::vector<port> inputs, std::vector<port> outputs)
      : function_(std::move(function)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  /// In the order of the file, without those whose values were given when it was loaded.
  const std::vector<port>& inputs() const { return inputs_; }
  const std::vector<port>& outputs() const { return outputs_; }
  /// What runs: `prepare`, `explain`, `into`, `statistics`. Its arguments are `inputs()`.
  const graph_function& function() const { return function_; }

  /// The results for the inputs in their order. Throws as graph_function.
  std::vector<any_tensor> operator()(std::span<const graph_argument> inputs) const {
    return function_(inputs);
  }
  std::vector<any_tensor> operator()(std::initializer_list<graph_argument> inputs) const {
    return function_(inputs);
  }

  /// The results for inputs by name: `m.by_name({{"ids", ids}, {"mask", mask}})`. Throws
  /// graph_error for a name that is no input or stands twice, and for an input that is missing;
  /// otherwise as graph_function.
  std::vector<any_tensor> by_name(std::initializer_list<named_argument> given) const {
    std::vector<graph_argument> ordered;
    for (const port& p : inputs_) ordered.push_back(only(given, p.name));
    for (const named_argument& each : given) {
      bool known = false;
      for (const port& p : inputs_) known = known || p.name == each.name;
      if (!known) throw graph_error("model: there is no input '" + each.name + "'");
    }
    return function_(ordered);
  }

 private:
  static const graph_argument& only(std::initializer_list<named_argument> given,
                                    std::string_view name) {
    const graph_argument* found = nullptr;
    for (const named_argument& each : given) {
      if (each.name != name) continue;
      if (found != nullptr)
        throw graph_error("model: input '" + std::string(name) + "' is given twice");
      found = &each.value;
    }
    if (found == nullptr) throw graph_error("model: input '" + std::string(name) + "' is missing");
    return *found;
  }

  graph_function function_;
  std::vector<port> inputs_, outputs_;
};

}  // namespace sinter::inline SINTER_ABI::onnx
