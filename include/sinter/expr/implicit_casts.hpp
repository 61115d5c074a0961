// SPDX-License-Identifier: MIT
// Implicit casts, for those who want them: by default operands of different dtypes are an error.
#pragma once

#include <type_traits>
#include <utility>

#include <sinter/expr/expression.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// Sets the policy of a graph while a function writes into it.
class casting_scope {
 public:
  constexpr explicit casting_scope(ir::graph& g)
      : graph_(g), outer_(std::exchange(g.implicit_casts, true)) {}
  constexpr ~casting_scope() { graph_.implicit_casts = outer_; }
  casting_scope(const casting_scope&) = delete;
  casting_scope& operator=(const casting_scope&) = delete;

 private:
  ir::graph& graph_;
  bool outer_;
};

template <class F>
struct casting_function {
  static constexpr ir::op code = ir::op::cast;
  static constexpr unsigned own_dtype = ~0u;
  static constexpr unsigned dtypes = (1u << dtype_count) - 1;

  template <class... H>
  constexpr auto operator()(handle first, H... rest) const {
    const casting_scope scope(first.graph());
    return F{}(first, rest...);
  }
};

}  // namespace detail

/// `f(operands...)`, inside of which operands of different dtypes are cast to the one that
/// `promote` names, as NumPy does: `implicit_casts([](handle a, handle b) { return a * b; }, x, n)`
/// of floats and 32-bit integers is of doubles. Holds for element-wise functions of two and three
/// operands, matmul and concat, in `f` alone; a floating C++ scalar beside integers counts as its
/// own dtype. `f`: a captureless lambda over handles.
template <class F, class... X>
  requires(sizeof...(X) > 0 && std::is_empty_v<F> && std::is_default_constructible_v<F>)
constexpr auto implicit_casts(F, X&&... operands) {
  return sinter::apply(detail::casting_function<F>{}, std::forward<X>(operands)...);
}

}  // namespace sinter::inline SINTER_ABI
