// SPDX-License-Identifier: MIT
// Writes small models of ONNX.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <sinter/tensor/any_tensor.hpp>

namespace test_support {

// The number of a dtype in ONNX.
inline int onnx_type(sinter::dtype type) {
  constexpr int numbers[] = {9, 3, 2, 5, 4, 6, 12, 7, 13, 10, 16, 1, 11};
  return numbers[static_cast<int>(type)];
}

// A TensorProto with raw elements.
inline std::string tensor_message(const std::string& name, const sinter::any_tensor& x) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_packed_int64(1, x.shape().begin(), x.shape().end());
  w.add_int32(2, onnx_type(x.type()));
  w.add_string(8, name);
  w.add_bytes(9, static_cast<const char*>(static_cast<const void*>(x.storage().data())),
              static_cast<std::size_t>(x.size()) * sinter::size_of(x.type()));
  return out;
}

class onnx_model {
 public:
  using extent = std::variant<std::int64_t, std::string>;
  using attribute_value =
      std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, sinter::any_tensor>;
  using attributes = std::vector<std::pair<std::string, attribute_value>>;

  void input(const std::string& name, sinter::dtype type, const std::vector<extent>& shape) {
    add_value(11, name, onnx_type(type), shape);
  }
  void output(const std::string& name) { add_value(12, name, 1, {}); }
  void weight(const std::string& name, const sinter::any_tensor& x) {
    weight_message(tensor_message(name, x));
  }
  void weight_message(const std::string& tensor) {
    protozero::pbf_writer(graph_).add_message(5, tensor);
  }
  void node(const std::string& type, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs, const attributes& list = {},
            const std::string& domain = "") {
    std::string out;
    protozero::pbf_writer w(out);
    for (const std::string& each : inputs) w.add_string(1, each);
    for (const std::string& each : outputs) w.add_string(2, each);
    w.add_string(3, "node_" + std::to_string(nodes_++));
    w.add_string(4, type);
    for (const auto& [name, value] : list) w.add_message(5, attribute(name, value));
    if (!domain.empty()) w.add_string(7, domain);
    protozero::pbf_writer(graph_).add_message(1, out);
  }

  std::string bytes(std::int64_t opset = 13) const {
    std::string out, import;
    protozero::pbf_writer w(out);
    w.add_int64(1, 7);
    w.add_message(7, graph_);
    protozero::pbf_writer(import).add_int64(2, opset);
    w.add_message(8, import);
    return out;
  }

 private:
  void add_value(unsigned field, const std::string& name, int type,
                 const std::vector<extent>& shape) {
    std::string dims, tensor, whole, value;
    protozero::pbf_writer d(dims), t(tensor), v(value);
    for (const extent& each : shape) {
      std::string dim;
      if (const auto* number = std::get_if<std::int64_t>(&each))
        protozero::pbf_writer(dim).add_int64(1, *number);
      else
        protozero::pbf_writer(dim).add_string(2, std::get<std::string>(each));
      d.add_message(1, dim);
    }
    t.add_int32(1, type);
    t.add_message(2, dims);
    protozero::pbf_writer(whole).add_message(1, tensor);
    v.add_string(1, name);
    v.add_message(2, whole);
    protozero::pbf_writer(graph_).add_message(field, value);
  }

  static std::string attribute(const std::string& name, const attribute_value& value) {
    std::string out;
    protozero::pbf_writer w(out);
    w.add_string(1, name);
    if (const auto* i = std::get_if<std::int64_t>(&value)) {
      w.add_int64(3, *i);
      w.add_int32(20, 2);
    } else if (const auto* f = std::get_if<float>(&value)) {
      w.add_float(2, *f);
      w.add_int32(20, 1);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      w.add_bytes(4, *s);
      w.add_int32(20, 3);
    } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
      for (const std::int64_t each : *list) w.add_int64(8, each);
      w.add_int32(20, 7);
    } else {
      w.add_message(5, tensor_message("", std::get<sinter::any_tensor>(value)));
      w.add_int32(20, 4);
    }
    return out;
  }

  std::string graph_;
  int nodes_ = 0;
};

}  // namespace test_support
