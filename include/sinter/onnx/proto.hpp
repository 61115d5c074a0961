// SPDX-License-Identifier: MIT
// The messages of a model that are read: onnx.proto of ONNX 1.23, less what has to do with
// training, devices and documentation. Text and elements are views of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/onnx/wire.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail {

/// TensorProto. Typed elements stay in the message until somebody asks for them.
struct tensor_proto {
  std::string_view name;
  std::int64_t type = 0;
  std::vector<std::int64_t> dims;
  bool is_external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external;
  message body;
};

/// AttributeProto: what it holds is read when it is known what it should be.
struct attribute_proto {
  std::string_view name;
  std::int64_t type = 0;
  message body;
};

struct node_proto {
  std::string_view name, type, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<attribute_proto> attributes;
  std::size_t offset = 0;
};

struct dimension_proto {
  std::int64_t value = -1;  // below 0: unknown
  std::string_view name;    // empty: has none
};

struct value_proto {
  std::string_view name;
  bool is_tensor = false;
  bool has_shape = false;
  std::int64_t type = 0;
  std::vector<dimension_proto> shape;
};

struct graph_proto {
  std::vector<node_proto> nodes;
  std::vector<tensor_proto> weights;
  std::vector<value_proto> inputs, outputs;
  std::vector<std::string_view> sparse_weights;
};

struct model_proto {
  std::int64_t ir_version = 0;
  std::vector<std::pair<std::string_view, std::int64_t>> opsets;  // by domain
  bool has_graph = false;
  graph_proto graph;
};

inline std::pair<std::string_view, std::string_view> read_entry(message m) {
  std::pair<std::string_view, std::string_view> out;
  while (m.next()) switch (m.field()) {
      case 1: out.first = m.bytes(); break;
      case 2: out.second = m.bytes(); break;
      default: m.skip();
    }
  return out;
}

inline tensor_proto read_tensor_proto(message m) {
  tensor_proto out;
  out.body = m;
  while (m.next()) switch (m.field()) {
      case 1: m.each_integer([&](std::int64_t d) { out.dims.push_back(d); }); break;
      case 2: out.type = m.integer(); break;
      case 3: m.fail("a tensor in segments, which nobody has defined yet");
      case 8: out.name = m.bytes(); break;
      case 13: out.external.push_back(read_entry(m.nested())); break;
      case 14: out.is_external = m.integer() == 1; break;
      default: m.skip();
    }
  return out;
}

inline attribute_proto read_attribute_proto(message m) {
  attribute_proto out;
  out.body = m;
  while (m.next()) switch (m.field()) {
      case 1: out.name = m.bytes(); break;
      case 20: out.type = m.integer(); break;
      default: m.skip();
    }
  if (out.name.empty()) out.body.fail("an attribute without a name");
  return out;
}

inline node_proto read_node_proto(message m) {
  node_proto out;
  out.offset = m.offset();
  while (m.next()) switch (m.field()) {
      case 1: out.inputs.push_back(m.bytes()); break;
      case 2: out.outputs.push_back(m.bytes()); break;
      case 3: out.name = m.bytes(); break;
      case 4: out.type = m.bytes(); break;
      case 5: out.attributes.push_back(read_attribute_proto(m.nested())); break;
      case 7: out.domain = m.bytes(); break;
      default: m.skip();
    }
  if (out.type.empty() || out.outputs.empty())
    m.file().fail(out.offset, "a node without an operator or without outputs");
  if (out.domain == "ai.onnx") out.domain = {};
  return out;
}

inline dimension_proto read_dimension_proto(message m) {
  dimension_proto out;
  while (m.next()) switch (m.field()) {
      case 1: out.value = m.integer(); break;
      case 2: out.name = m.bytes(); break;
      default: m.skip();
    }
  return out;
}

inline value_proto read_value_proto(message m) {
  value_proto out;
  message type, tensor;
  bool has_type = false;
  while (m.next()) switch (m.field()) {
      case 1: out.name = m.bytes(); break;
      case 2:
        type = m.nested();
        has_type = true;
        break;
      default: m.skip();
    }
  while (has_type && type.next()) {
    if (type.field() != 1) {
      type.skip();
      continue;
    }
    tensor = type.nested();
    out.is_tensor = true;
    while (tensor.next()) switch (tensor.field()) {
        case 1: out.type = tensor.integer(); break;
        case 2: {
          out.has_shape = true;
          message shape = tensor.nested();
          while (shape.next()) {
            if (shape.field() == 1)
              out.shape.push_back(read_dimension_proto(shape.nested()));
            else
              shape.skip();
          }
          break;
        }
        default: tensor.skip();
      }
  }
  return out;
}

inline graph_proto read_graph_proto(message m) {
  graph_proto out;
  while (m.next()) switch (m.field()) {
      case 1: out.nodes.push_back(read_node_proto(m.nested())); break;
      case 5: out.weights.push_back(read_tensor_proto(m.nested())); break;
      case 11: out.inputs.push_back(read_value_proto(m.nested())); break;
      case 12: out.outputs.push_back(read_value_proto(m.nested())); break;
      case 15: {
        message sparse = m.nested();
        while (sparse.next()) {
          if (sparse.field() == 1)
            out.sparse_weights.push_back(read_tensor_proto(sparse.nested()).name);
          else
            sparse.skip();
        }
        break;
      }
      default: m.skip();
    }
  return out;
}

inline model_proto read_model_proto(message m) {
  model_proto out;
  while (m.next()) switch (m.field()) {
      case 1: out.ir_version = m.integer(); break;
      case 7:
        if (out.has_graph) m.fail("a second graph");
        out.graph = read_graph_proto(m.nested());
        out.has_graph = true;
        break;
      case 8: {
        std::pair<std::string_view, std::int64_t> opset{{}, 0};
        message import = m.nested();
        while (import.next()) switch (import.field()) {
            case 1: opset.first = import.bytes(); break;
            case 2: opset.second = import.integer(); break;
            default: import.skip();
          }
        if (opset.first == "ai.onnx") opset.first = {};
        out.opsets.push_back(opset);
        break;
      }
      default: m.skip();
    }
  if (!out.has_graph) m.file().fail(0, "no model of ONNX: it has no graph");
  return out;
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail
