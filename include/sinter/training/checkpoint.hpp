// SPDX-License-Identifier: MIT
// Checkpoints: structs of tensors (a model, the state of its optimizer, the number of the step, a
// random key) in .safetensors files, under the names of their members. Needs nlohmann_json.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sinter/expr/parameter_names.hpp>
#include <sinter/files/safetensors.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

/// What a parameter is called in a file, from its path of members ("hidden.weight"): for files that
/// others wrote.
using parameter_naming = std::function<std::string(const std::string&)>;

/// Saves a struct of tensors. All that belongs together goes into one struct:
///
///     template <class Kind>
///     struct run {
///       mlp<Kind> model;
///       adam_state<mlp<Kind>> adam;
///       parameter<Kind, 0, std::int64_t> step, key;
///     };
///     save_checkpoint("run.safetensors", r);
///
/// The file takes its name when all of it is written: who interrupts a save, or runs out of disk,
/// keeps the last one. Throws io_error as save_safetensors.
template <class S>
void save_checkpoint(const std::string& path, const S& s, const parameter_naming& naming = {},
                     const std::map<std::string, std::string>& metadata = {}) {
  named_tensors tensors;
  for_each_named_parameter(s, [&](const std::string& name, const auto& x) {
    tensors.emplace_back(naming ? naming(name) : name, x);
  });
  save_safetensors(path, tensors, metadata);
}

/// Loads what save_checkpoint wrote, or files of others with a naming. Every parameter must be
/// there, with its dtype, rank and extents; a tensor without elements takes the extents of the
/// file. What else is in the file is left alone, so a model can be read from the checkpoint of a
/// run: `load_checkpoint(path, model, [](const auto& name) { return "model." + name; })`. Throws
/// io_error (also if the file has no such tensor), dtype_error and shape_error, and changes nothing
/// then.
template <class S>
void load_checkpoint(const std::string& path, S& s, const parameter_naming& naming = {}) {
  const safetensors_file file(path);
  S loaded = s;
  for_each_named_parameter(
      loaded, [&]<class T, extents_spec E>(const std::string& name, tensor<T, E>& x) {
        const std::string stored = naming ? naming(name) : name;
        const shape_vector& found = file.entry(stored).shape;
        if (x.size() != 0 && x.shape() != found)
          raise(shape_error(path + ": tensor '" + stored + "' has shape " + to_string(found) +
                            ", expected " + to_string(x.shape())));
        x = tensor<T, E>(file.get<T, E>(stored));
      });
  s = std::move(loaded);
}

}  // namespace sinter::inline SINTER_ABI
