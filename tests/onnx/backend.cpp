// SPDX-License-Identifier: MIT
// The cases of ONNX's own backend tests (write_cases.py writes them): every case whose operators
// and dtypes are known is loaded, run and compared. Those that do not pass are listed here with the
// reason, and must not pass.
//   onnx_backend_test FOLDER [CASE...]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "skips.hpp"
#include <sinter/onnx/load.hpp>

namespace sn = sinter;
namespace fs = std::filesystem;
using sn::any_tensor;

namespace {

constexpr int skipped_exit = 77;  // CMakeLists.txt: SKIP_RETURN_CODE

// A TensorProto in a file of its own.
any_tensor read_tensor(const fs::path& path) {
  namespace d = sn::onnx::detail;
  const sn::mapped_file file(path.string());
  const d::source from{file.path(),
                       {reinterpret_cast<const char*>(file.bytes().data()), file.size()}};
  return d::tensor_files(file).read(d::read_tensor_proto(d::message(from, from.bytes)));
}

double element(const any_tensor& x, std::int64_t i) {
  return sn::dispatch(x.type(), [&]<class T>(std::type_identity<T>) {
    return static_cast<double>(static_cast<const T*>(x.data())[i]);
  });
}

// What the package's own runner asks of results, and half an ulp more of 16-bit floats.
std::string difference(const any_tensor& got, const any_tensor& expected) {
  if (got.type() != expected.type())
    return std::string(sn::name(got.type())) + " where " + std::string(sn::name(expected.type()));
  if (!(got.shape() == expected.shape()))
    return sn::to_string(got.shape()) + " where " + sn::to_string(expected.shape());
  const double relative = got.type() == sn::dtype::bf16  ? 8e-3
                          : got.type() == sn::dtype::f16 ? 2e-3
                                                         : 1e-3;
  const double absolute =
      got.type() == sn::dtype::bf16 || got.type() == sn::dtype::f16 ? 1e-3 : 1e-6;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = element(got, i), b = element(expected, i);
    const bool same = std::isnan(a) || std::isnan(b) ? std::isnan(a) && std::isnan(b)
                      : std::isinf(b)                ? a == b
                                      : std::abs(a - b) <= absolute + relative * std::abs(b);
    if (!same)
      return "element " + std::to_string(i) + " is " + std::to_string(a) + " where " +
             std::to_string(b);
  }
  return "";
}

struct test_case {
  fs::path folder;
  std::vector<std::string> inputs;  // names
  std::vector<sn::dtype> input_types;
  std::vector<std::optional<any_tensor>> values;  // without: not written, so not a tensor
  std::vector<std::optional<any_tensor>> expected;
};

// Why a case is none for this loader, from the model alone; empty if it is one.
std::string outside(const fs::path& folder, test_case& c) {
  namespace d = sn::onnx::detail;
  const sn::mapped_file file((folder / "model.onnx").string());
  const d::source from{file.path(),
                       {reinterpret_cast<const char*>(file.bytes().data()), file.size()}};
  const d::model_proto model = d::read_model_proto(d::message(from, from.bytes));
  c.folder = folder;
  for (const d::node_proto& n : model.graph.nodes)
    if (d::find_operator(n.domain, n.type) == nullptr) return "operator " + std::string(n.type);
  std::set<std::string_view> weights;
  for (const d::tensor_proto& t : model.graph.weights) {
    if (!d::dtype_of_onnx(t.type)) return "elements of type " + d::onnx_type_name(t.type);
    weights.insert(t.name);
  }
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs})
    for (const d::value_proto& v : *list) {
      if (!v.is_tensor) return "values that are no tensors";
      if (!d::dtype_of_onnx(v.type)) return "elements of type " + d::onnx_type_name(v.type);
    }
  const auto value_at = [&](const char* kind, std::size_t i) -> std::optional<any_tensor> {
    const fs::path path = folder / (kind + ("_" + std::to_string(i)) + ".pb");
    if (!fs::exists(path)) return std::nullopt;
    return read_tensor(path);
  };
  std::size_t next = 0;
  for (const d::value_proto& v : model.graph.inputs) {
    if (weights.count(v.name) != 0) continue;
    c.inputs.emplace_back(v.name);
    c.input_types.push_back(*d::dtype_of_onnx(v.type));
    c.values.push_back(value_at("input", next++));
    if (c.values.back()) continue;
    // The models without data ("light") are run on ones.
    sn::shape_vector shape;
    for (const d::dimension_proto& dim : v.shape) shape.push_back(dim.value);
    any_tensor ones(c.input_types.back(), shape);
    for (std::int64_t i = 0; i < ones.size(); ++i) static_cast<float*>(ones.data())[i] = 1;
    c.values.back() = ones;
  }
  for (std::size_t i = 0; i < model.graph.outputs.size(); ++i)
    c.expected.push_back(value_at("output", i));
  return "";
}

sn::onnx::model load(const test_case& c, const std::set<std::string>& known) {
  sn::onnx::load_options options;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (known.count(c.inputs[i]) != 0) options.values.emplace(c.inputs[i], *c.values[i]);
  return sn::onnx::load((c.folder / "model.onnx").string(), options);
}

// What goes wrong with a case, or nothing. Inputs are known while loading where the model needs
// that, and only then.
std::string fault_of(const test_case& c) {
  try {
    std::set<std::string> known;
    std::optional<sn::onnx::model> m;
    while (!m) {
      try {
        m = load(c, known);
      } catch (const sn::onnx::unknown_value& e) {
        const std::size_t before = known.size();
        for (std::size_t i = 0; i < c.inputs.size(); ++i)
          if (c.inputs[i] == e.name) known.insert(e.name);
        if (known.size() != before) continue;
        // Computed from the elements of some input: those that may be part of a shape.
        for (std::size_t i = 0; i < c.inputs.size(); ++i)
          if (c.values[i]->rank() <= 1) known.insert(c.inputs[i]);
        if (known.size() == before) return e.what();
      }
    }
    std::vector<sn::graph_argument> arguments;
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
      if (known.count(c.inputs[i]) == 0) arguments.emplace_back(*c.values[i]);
    const std::vector<any_tensor> results = (*m)(arguments);
    if (results.size() != c.expected.size()) return std::to_string(results.size()) + " results";
    for (std::size_t i = 0; i < results.size(); ++i)
      if (c.expected[i])
        if (const std::string what = difference(results[i], *c.expected[i]); !what.empty())
          return "output " + std::to_string(i) + ": " + what;
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !fs::is_directory(argv[1])) {
    std::printf("skipped: there are no cases; write_cases.py needs the Python package onnx\n");
    return skipped_exit;
  }
  const std::set<std::string> only(argv + 2, argv + argc);
  std::map<std::string, std::string_view> skips;
  for (const auto& [name, reason] : test_support::skipped_cases) skips.emplace(name, reason);
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(argv[1])) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());

  std::map<std::string, int> not_ours;
  int passed = 0, skipped = 0, failed = 0;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    if (!only.empty() && only.count(name) == 0) continue;
    test_case c;
    std::string why;
    try {
      why = outside(folder, c);
    } catch (const std::exception& e) {
      std::printf("FAILED %s: %s\n", name.c_str(), e.what());
      ++failed;
      continue;
    }
    if (!why.empty()) {
      ++not_ours[why];
      if (skips.count(name) != 0) {
        std::printf("FAILED %s is listed, but is out of the question: %s\n", name.c_str(),
                    why.c_str());
        ++failed;
      }
      skips.erase(name);
      continue;
    }
    const std::string fault = fault_of(c);
    const bool listed = skips.count(name) != 0;
    if (listed && fault.empty()) {
      std::printf("FAILED %s passes, but is listed: %s\n", name.c_str(),
                  std::string(skips[name]).c_str());
      ++failed;
    } else if (listed) {
      ++skipped;
    } else if (!fault.empty()) {
      std::printf("FAILED %s: %s\n", name.c_str(), fault.c_str());
      ++failed;
    } else {
      ++passed;
    }
    skips.erase(name);
  }
  if (only.empty())
    for (const auto& [name, reason] : skips) {
      std::printf("FAILED %s is listed, but there is no such case\n", name.c_str());
      ++failed;
    }
  int others = 0;
  for (const auto& [why, count] : not_ours) {
    others += count;
    if (only.empty()) std::printf("not ours: %4d with %s\n", count, why.c_str());
  }
  std::printf(
      "%d passed, %d failed, %d skipped with a reason, %d of operators or types that are not "
      "read\n",
      passed, failed, skipped, others);
  return failed == 0 && (passed > 0 || !only.empty()) ? 0 : 1;
}
