// SPDX-License-Identifier: MIT
// forward_pass: what a forward pass is for, training or inference, as a value that is handed from
// layer to layer; and what the layers want to be stored when it is over.
#pragma once

#include <utility>

#include <sinter/expr/expr.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

/// A forward pass inside a fused function. `training(key)` drops elements (dropout) and normalises
/// by the statistics of the batch, `inference()` does neither. Layers that behave alike in both
/// take none.
///
///     auto step = fuse([](auto model, auto x, auto label, auto key, auto rate) {
///       auto pass = training(key);
///       auto loss = cross_entropy(model(x, pass), label);
///       ...
///       return outputs(loss, ..., pass.updates());
///     });
///
/// `updates` are the assignments that layers ask for: running statistics in training, caches of
/// keys and values. A function that does not return them leaves the tensors as they are.
class forward_pass {
 public:
  constexpr bool is_training() const { return is_training_; }

  /// The key of the random numbers, an integer scalar. Throws graph_error where it was not given.
  constexpr handle key() const {
    if (key_.node.owner == nullptr)
      raise(graph_error("dropout: the forward pass has no key; expected training(key)"));
    return key_;
  }

  /// Stores `value` in the argument `target` after the call, if the function returns `updates`.
  constexpr void update(handle target, handle value) { updates_.push_back(assign(target, value)); }
  constexpr const assignments& updates() const { return updates_; }

 private:
  friend constexpr forward_pass training(handle key);
  friend constexpr forward_pass training();

  bool is_training_ = false;
  handle key_;
  assignments updates_;
};

/// A pass for training. The key seeds its random numbers (expr/random.hpp): another one for each
/// step, such as its number.
constexpr forward_pass training(handle key) {
  forward_pass out;
  out.is_training_ = true;
  out.key_ = key;
  return out;
}
/// The same for models that draw no random numbers.
constexpr forward_pass training() { return training(handle{}); }

/// A pass for inference.
constexpr forward_pass inference() { return {}; }

namespace layers {

/// In training, x with each element dropped with probability `rate` and the others scaled by
/// 1 / (1 - rate) (Srivastava et al. 2014); in inference x itself. Each call that is written draws
/// anew, and the same key gives the same numbers on every machine. `rate` is in [0, 1); a
/// shape_error in the name of where otherwise.
constexpr handle dropout(handle x, const forward_pass& pass, double rate) {
  if (!(rate >= 0 && rate < 1))
    sinter::detail::fail(x, ir::op::where, ir::fault_kind::bad_option,
                         static_cast<std::int64_t>(rate), 0);
  if (!pass.is_training() || rate == 0) return x;
  return sinter::dropout(x, pass.key(), 1 - rate);
}

}  // namespace layers

}  // namespace sinter::inline SINTER_ABI
