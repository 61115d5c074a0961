// SPDX-License-Identifier: MIT
// graph_builder: writes a graph at run time. Its values are the handles of the front end, so every
// function and operator of sinter applies to them, and generic code works inside of `fuse` and
// here. What its functions do is in graph_builder_source.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sinter/expr/expr.hpp>
#include <sinter/expr/parameter_names.hpp>
#include <sinter/function/graph_function.hpp>
#include <sinter/graph/graph.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/any_tensor.hpp>

namespace sinter::inline SINTER_ABI {

/// A symbolic extent: a name, and the extents it stands for, both ends included. Within a builder a
/// name is one symbol; `sym("batch")` alone is the symbol known by then, or a new one of any
/// extent. With a range that holds 1, a batch of 1 is planned like others, over the same saturated
/// e-graph; without a range extents of 1 are saturated apart, which finds more where there is only
/// one column or row.
struct sym {
  std::string name;
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  bool has_range = false;

  explicit sym(std::string own_name) : name(std::move(own_name)) {}
  sym(std::string own_name, std::int64_t lowest, std::int64_t highest)
      : name(std::move(own_name)), low(lowest), high(highest), has_range(true) {}
};

/// An extent of an argument: a number, or a symbol.
class argument_extent {
 public:
  template <std::integral N>
  argument_extent(N number) : number_(static_cast<std::int64_t>(number)) {}
  argument_extent(sym symbol) : symbol_(std::move(symbol)), is_symbol_(true) {}

  bool is_symbol() const { return is_symbol_; }
  std::int64_t number() const { return number_; }
  const sym& symbol() const { return symbol_; }

 private:
  std::int64_t number_ = 0;
  sym symbol_{""};
  bool is_symbol_ = false;
};

/// An output of a graph: a value, or an assignment to an argument.
struct graph_output : detail::result {
  graph_output(handle x) : result{x, {}, false} {}
  graph_output(const assignment& a) : result{a.value, a.target, true} {}
};

/// Builds graphs at run time:
///
///     graph_builder g;
///     const sym batch("batch", 1, 4096);
///     const auto x = g.argument("x", dtype::f32, {batch, 784});
///     const auto w = g.argument("w", dtype::f32, {784, 10});
///     const auto f = g.compile({softmax(matmul(x, w))});
///     tensor<float, 2> y = f({images, weights})[0];
///
/// What does not fit together is thrown where it is written, as shape_error, dtype_error or
/// axis_error that names op and shapes, operands of two builders as graph_error; what depends on
/// extents, by the call. Handles point into the builder, which may be moved but must outlive their
/// use.
class graph_builder {
 public:
  graph_builder();
  graph_builder(graph_builder&&) noexcept;
  graph_builder& operator=(graph_builder&&) noexcept;
  ~graph_builder();

  /// The next argument, a tensor. The name is for messages, for graph_function::bind and for text;
  /// it may be empty. Throws graph_error for a name that is taken or is no identifier, for a symbol
  /// that is known with another range and for an empty range; shape_error for an extent below 0, or
  /// for more than 8 axes.
  handle argument(const std::string& name, dtype type, span<const argument_extent> shape);
  handle argument(const std::string& name, dtype type,
                  std::initializer_list<argument_extent> shape = {}) {
    return argument(name, type, span(shape.begin(), shape.size()));
  }

  /// The next argument, a C++ number: it takes the dtype of what it meets. Throws graph_error as
  /// `argument`.
  handle number(const std::string& name, dtype type);

  /// The next argument, which functions of this builder have bound to these elements (weights that
  /// were read from a file): calls leave it out. See graph_function::bind.
  handle bound(const std::string& name, const any_tensor& x);

  /// A struct of tensors as a struct of handles, bound one by one: `layers::linear<handles> l =
  /// g.bound("encoder", layer)`. Names are the paths of members (expr/parameter_names.hpp) behind
  /// the given one and a dot; without one, the paths alone.
  template <class S>
    requires(Aggregate<S> || detail::is_list<S>)
  as_kind<S, handles> bound(const std::string& name, const S& model) {
    std::vector<handle> out;
    for_each_named_parameter(model, [&](const std::string& path, const auto& x) {
      out.push_back(bound(name.empty() ? path : name + "." + path, any_tensor(x)));
    });
    return structure_of<as_kind<S, handles>>(out);
  }

  /// The extent of a symbol as an i64 scalar, to calculate with and to use as an extent.
  handle extent(const sym& symbol);

  /// A C++ number, or an expression of numbers such as `iota<float>(10)`, as a value of this graph.
  template <class X>
    requires(Scalar<X> || detail::is_expression<X>)
  handle constant(const X& x) {
    if constexpr (Scalar<X>)
      return detail::constant_of(graph(), dtype_of<stored_scalar<X>>, x);
    else
      return detail::join(graph(), x);
  }

  /// The function that computes these outputs from all arguments. The builder stays as it is, and
  /// may compile others. Throws graph_error if an argument is assigned twice, or if an assigned one
  /// is bound, and as graph_function. With `plans`, functions of equal graphs share what is
  /// planned; see plan_cache.
  template <class = void>
  graph_function compile(span<const graph_output> outputs, program_options options = {},
                         plan_cache* plans = nullptr) const {
    graph_function f(graph_of(outputs), std::move(options), plans);
    bind_to(f);
    return f;
  }
  template <class = void>
  graph_function compile(std::initializer_list<graph_output> outputs, program_options options = {},
                         plan_cache* plans = nullptr) const {
    return compile(span(outputs.begin(), outputs.size()), std::move(options), plans);
  }

  /// The graph with these outputs, for `ir::to_text` (which parse_graph reads) and graph_function.
  ir::graph graph_of(span<const graph_output> outputs) const;
  ir::graph graph_of(std::initializer_list<graph_output> outputs) const {
    return graph_of(span(outputs.begin(), outputs.size()));
  }

 private:
  struct state;

  ir::graph& graph();
  handle add_argument(const std::string& name, dtype type, const ir::symbolic_shape& shape,
                      bool weak);
  ir::dim dim_of(const sym& symbol);
  void bind_to(graph_function& f) const;

  std::unique_ptr<state> state_;
};

}  // namespace sinter::inline SINTER_ABI

#ifndef SINTER_SEPARATE
#include <sinter/function/graph_builder_source.hpp>
#endif
