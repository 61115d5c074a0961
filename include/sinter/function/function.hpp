// SPDX-License-Identifier: MIT
// function: a fused function behind a plain type, for class members and containers.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <sinter/function/fuse.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

template <class Signature>
class function;

/// Any fused function that can be called with these arguments and whose result converts to R:
///
///     struct model {
///       tensor<float, 2> w;
///       function<tensor<float, 2>(const tensor<float, 2>&, const tensor<float, 2>&)> forward;
///     };
///     model m{w, fuse([](auto x, auto w) { return relu(matmul(x, w)); })};
///
/// `void` drops results. Arguments that the function assigns are given as references that are not
/// const. Copies share the function with its plans; calls from several threads are safe. A call
/// costs one indirect call more than that of the fused function.
template <class R, class... Args>
class function<R(Args...)> {
 public:
  /// No function: calling it throws graph_error.
  function() = default;

  template <class F>
  function(fused<F> f) : self_(std::make_shared<model<F>>(std::move(f))) {}

  explicit operator bool() const { return self_ != nullptr; }

  /// Throws what the function throws; dtype_error or shape_error if a result that is known at run
  /// time only does not convert to R.
  R operator()(Args... arguments) const { return target().call(arguments...); }

  /// Calls a function of one result with that in `out`, which keeps its memory if the shape is
  /// right. R is a tensor.
  template <class Out>
    requires(std::is_same_v<Out, R> && detail::is_array<Out>)
  void into(Out& out, Args... arguments) const {
    target().call_into(&out, arguments...);
  }

  std::string explain(Args... arguments) const { return target().explain(arguments...); }
  std::string explain_html(Args... arguments) const { return target().explain_html(arguments...); }
  program_statistics statistics() const { return target().statistics(); }

 private:
  struct callable {
    virtual ~callable() = default;
    virtual R call(std::remove_reference_t<Args>&... arguments) = 0;
    // `out`: an R, if that is a tensor.
    virtual void call_into(void* out, std::remove_reference_t<Args>&... arguments) = 0;
    virtual std::string explain(std::remove_reference_t<Args>&... arguments) = 0;
    virtual std::string explain_html(std::remove_reference_t<Args>&... arguments) = 0;
    virtual program_statistics statistics() const = 0;
  };

  template <class F>
  struct model final : callable {
    explicit model(fused<F> f) : fused_(std::move(f)) {}
    R call(std::remove_reference_t<Args>&... arguments) override {
      if constexpr (std::is_void_v<R>)
        static_cast<void>(fused_(arguments...));
      else
        return fused_(arguments...);
    }
    void call_into([[maybe_unused]] void* out,
                   [[maybe_unused]] std::remove_reference_t<Args>&... arguments) override {
      if constexpr (detail::is_array<R>) {
        auto call_with = fused_.into(*static_cast<R*>(out));
        call_with(arguments...);
      }
    }
    std::string explain(std::remove_reference_t<Args>&... arguments) override {
      return fused_.explain(arguments...);
    }
    std::string explain_html(std::remove_reference_t<Args>&... arguments) override {
      return fused_.explain_html(arguments...);
    }
    program_statistics statistics() const override { return fused_.statistics(); }

    fused<F> fused_;
  };

  callable& target() const {
    if (self_ == nullptr) raise(graph_error("function: called without a function"));
    return *self_;
  }

  std::shared_ptr<callable> self_;
};

}  // namespace sinter::inline SINTER_ABI
