// SPDX-License-Identifier: MIT
// fuse: a captureless lambda over tensors becomes a function that is traced by the compiler,
// planned on its first call and replayed afterwards.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/function/code.hpp>
#include <sinter/function/fault_report.hpp>
#include <sinter/function/program.hpp>
#include <sinter/function/trace.hpp>

namespace sinter {

namespace detail {

template <class A>
inline constexpr argument_spec spec_for = spec_of<std::remove_cvref_t<A>>::value;

template <class A>
concept FusedArgument = requires { spec_of<std::remove_cvref_t<A>>::value; };

// Scalars are kept in the type that their spec names, for the time of the call.
template <class A>
constexpr auto stored_argument(const A& a) {
  if constexpr (std::is_arithmetic_v<A>)
    return static_cast<typename spec_of<A>::stored>(a);
  else
    return &a;
}

template <class S>
argument_memory memory_of(const S& stored) {
  argument_memory m;
  if constexpr (std::is_arithmetic_v<S>) {
    m.data = &stored;
  } else {
    const auto& x = *stored;
    using element = std::remove_cvref_t<decltype(*x.data())>;
    m.data = x.data();
    m.shape = x.shape();
    if constexpr (requires { x.strides(); })
      m.strides = x.strides();
    else
      m.strides = row_major_strides(x.shape());
    // The reach of the elements, for overlap checks; strides below zero reach backwards and are
    // left out.
    std::int64_t last = 0;
    bool empty = false;
    for (std::size_t i = 0; i < m.shape.size(); ++i) {
      empty = empty || m.shape[i] == 0;
      if (m.shape[i] > 0) last += (m.shape[i] - 1) * (m.strides[i] > 0 ? m.strides[i] : 0);
    }
    m.bytes = empty ? 0 : static_cast<std::size_t>(last + 1) * sizeof(element);
  }
  return m;
}

template <argument_spec... Spec>
std::array<std::int64_t, (0 + ... + dynamic_extents(Spec))> symbols_of(
    const std::array<argument_memory, sizeof...(Spec)>& arguments) {
  std::array<std::int64_t, (0 + ... + dynamic_extents(Spec))> out{};
  const std::array<argument_spec, sizeof...(Spec)> specs{Spec...};
  [[maybe_unused]] std::size_t at = 0;
  for (std::size_t i = 0; i < specs.size(); ++i)
    for (int axis = 0; axis < specs[i].extents.rank; ++axis)
      if (!specs[i].extents.is_static(axis)) out[at++] = arguments[i].shape[axis];
  return out;
}

// The memory an assignment writes: the argument must be an lvalue of a tensor or view whose
// elements may change.
template <class A>
void* writable(A& a) {
  using argument = std::remove_reference_t<A>;
  if constexpr (std::is_arithmetic_v<std::remove_cv_t<argument>>) {
    return nullptr;
  } else if constexpr (requires { static_cast<void*>(a.data()); }) {
    return static_cast<void*>(a.data());
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// A fused function. All its state (e-graphs, plans, arenas) lives in this object. It may be called
/// from several threads at once. `F` is a captureless lambda over handles; what varies is an
/// argument.
template <class F>
class fused {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "sinter: a fused lambda must not capture; pass what varies as an argument");

 public:
  explicit fused(program_options options = {}) : state_(std::make_unique<state>()) {
    state_->options = std::move(options);
  }

  /// Calls the function: tensors, views and C++ scalars in; out comes what the lambda returns and
  /// does not assign: one tensor, a tuple of tensors, or nothing. Assigned arguments must be
  /// lvalues that are not const. Throws shape_error, dtype_error, index_error, alias_error before
  /// anything is written.
  template <detail::FusedArgument... A>
  auto operator()(A&&... arguments) {
    constexpr ir::fault fault = detail::traced<trace_of<A...>>::value.problem;
    static_assert(operands_fit<fault.kind, fault.code, fault.lhs, fault.rhs>::value,
                  "sinter: the operands of an op do not fit together (fault, op, left, right)");
    if constexpr (fault.kind == ir::fault_kind::none)
      return call<A...>(std::tuple<>{}, arguments...);
  }

  /// `f.into(y)(x, w)`: results go into existing tensors (resized if their shape differs, which
  /// allocates) or views (whose shape must be right). Without resizing, nothing is allocated after
  /// the first call.
  template <class... Out>
  auto into(Out&... outputs) {
    return [this, &outputs...]<detail::FusedArgument... A>(A&&... arguments) {
      constexpr ir::fault fault = detail::traced<trace_of<A...>>::value.problem;
      static_assert(operands_fit<fault.kind, fault.code, fault.lhs, fault.rhs>::value,
                    "sinter: the operands of an op do not fit together (fault, op, left, right)");
      if constexpr (fault.kind == ir::fault_kind::none)
        this->template call<A...>(std::tie(outputs...), arguments...);
    };
  }

  /// What the optimizer did for arguments of these shapes: rules that fired, e-graph, nests with
  /// predicted and measured time, memory. Plans the function if need be and runs it a few times on
  /// the arguments, none of which it changes.
  template <detail::FusedArgument... A>
  std::string explain(A&&... arguments) {
    return with_call<A...>([](program& p, program::prepared_call& c, const auto& memory,
                              const auto& symbols) { return p.explain(c, memory, symbols); },
                           arguments...);
  }

  /// Counts of saturations, extractions and calls, over all dtypes the function was called with.
  program_statistics statistics() const {
    const std::scoped_lock lock(state_->mutex);
    program_statistics total;
    for (const auto& each : state_->programs) {
      const program_statistics s = each.second->statistics();
      total.calls += s.calls;
      total.saturations += s.saturations;
      total.extractions += s.extractions;
    }
    return total;
  }

 private:
  struct state {
    std::mutex mutex;
    program_options options;
    std::vector<std::pair<const void*, std::unique_ptr<program>>> programs;  // by trace
  };

  template <class... A>
  using trace_of = detail::function_trace<F, detail::spec_for<A>...>;

  // The program for these argument types. Its key is the address of something that exists once per
  // trace.
  template <class Trace>
  program& program_for() {
    const std::scoped_lock lock(state_->mutex);
    for (const auto& each : state_->programs)
      if (each.first == &key_of<Trace>) return *each.second;
    program_code code = detail::code_for<detail::traced<Trace>::value.dtypes>();
    detail::add_regions<Trace>(code);
    state_->programs.emplace_back(
        &key_of<Trace>, std::make_unique<program>(ir::thaw(detail::traced<Trace>::value.words),
                                                  std::move(code), state_->options));
    return *state_->programs.back().second;
  }

  template <class Trace>
  static constexpr char key_of = 0;

  template <class... A, class Body>
  auto with_call(Body body, std::remove_reference_t<A>&... arguments) {
    using trace = trace_of<A...>;
    program& p = program_for<trace>();
    const auto stored = std::tuple{detail::stored_argument(arguments)...};
    const auto memory = std::apply(
        [](const auto&... s) {
          return std::array<detail::argument_memory, sizeof...(s)>{detail::memory_of(s)...};
        },
        stored);
    const auto symbols = detail::symbols_of<detail::spec_for<A>...>(memory);
    program::prepared_call c = p.prepare(memory, symbols);
    return body(p, c, memory, symbols);
  }

  template <class... A, class... Out>
  auto call(std::tuple<Out&...> given, std::remove_reference_t<A>&... arguments) {
    return with_call<A...>(
        [&](program& p, program::prepared_call& c, const auto& memory, const auto& symbols) {
          const std::array<void*, sizeof...(A)> targets{detail::writable(arguments)...};
          return run<trace_of<A...>>(p, c, memory, symbols, targets, given);
        },
        arguments...);
  }

  // Numbers of the outputs that are results, not assignments.
  template <class Trace>
  static constexpr auto result_numbers() {
    constexpr auto& outputs = detail::traced<Trace>::value.outputs;
    constexpr std::size_t count = [&] {
      std::size_t n = 0;
      for (const auto& o : outputs) n += o.assigned_argument < 0 ? 1 : 0;
      return n;
    }();
    std::array<std::size_t, count> out{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].assigned_argument < 0) out[at++] = i;
    return out;
  }

  // A function rather than an alias template: GCC 12 crashes on an alias with a template argument
  // of class type.
  template <class Trace, std::size_t Number>
  static auto fresh_result(const shape_vector& shape) {
    constexpr detail::output_spec spec = detail::traced<Trace>::value.outputs[Number];
    constexpr extents_spec extents = spec.extents;
    return tensor<cpp_type<spec.type>, extents>::uninitialized(shape);
  }

  template <class Trace, class Memory, class Symbols, class Targets, class... Out>
  static auto run(program& p, program::prepared_call& c, const Memory& memory,
                  const Symbols& symbols, const Targets& targets, std::tuple<Out&...>& given) {
    constexpr auto& outputs = detail::traced<Trace>::value.outputs;
    constexpr auto numbers = result_numbers<Trace>();
    std::array<detail::output_memory, outputs.size()> out{};
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k].assigned_argument < 0) continue;
      const std::size_t a = static_cast<std::size_t>(outputs[k].assigned_argument);
      out[k] = {targets[a], memory[a].bytes};
      require_assignable(memory[a], targets[a], a);
    }
    if constexpr (sizeof...(Out) > 0) {
      static_assert(sizeof...(Out) == numbers.size(),
                    "sinter: into() must name as many tensors as the function has results that are "
                    "not assigned");
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (bind_output<outputs[numbers[I]].type>(
             std::get<I>(given), c.output_shape(static_cast<int>(numbers[I]), symbols),
             out[numbers[I]]),
         ...);
      }(std::make_index_sequence<numbers.size()>{});
      p.run(c, memory, out);
    } else {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        std::tuple results{fresh_result<Trace, numbers[I]>(
            c.output_shape(static_cast<int>(numbers[I]), symbols))...};
        ((out[numbers[I]] = {std::get<I>(results).data(),
                             static_cast<std::size_t>(std::get<I>(results).size()) *
                                 size_of(outputs[numbers[I]].type)}),
         ...);
        p.run(c, memory, out);
        if constexpr (sizeof...(I) == 0)
          return;
        else if constexpr (sizeof...(I) == 1)
          return std::get<0>(std::move(results));
        else
          return results;
      }(std::make_index_sequence<numbers.size()>{});
    }
  }

  static void require_assignable(const detail::argument_memory& m, void* target,
                                 std::size_t number) {
    if (target == nullptr && m.bytes != 0)
      throw graph_error("assign: argument " + std::to_string(number) +
                        " is const or a scalar; expected a tensor that may change");
    if (m.strides != row_major_strides(m.shape) && m.bytes != 0)
      throw shape_error("assign: argument " + std::to_string(number) + " of shape " +
                        to_string(m.shape) + " is a strided view; expected contiguous memory");
  }

  template <dtype D, class Out>
  static void bind_output(Out& out, const shape_vector& shape, detail::output_memory& memory) {
    using element = std::remove_cvref_t<decltype(*out.data())>;
    static_assert(std::is_same_v<element, cpp_type<D>>,
                  "sinter: the tensor given to into() has another dtype than the result");
    if constexpr (requires { out.resize(shape); }) {
      if (!(out.shape() == shape)) out.resize(shape);
    } else {
      if (!(out.shape() == shape))
        throw shape_error("into: a view of shape " + to_string(out.shape()) +
                          " where the result has shape " + to_string(shape));
      if (!out.is_contiguous())
        throw shape_error("into: a strided view; expected contiguous memory");
    }
    memory = {out.data(), static_cast<std::size_t>(element_count(shape)) * sizeof(element)};
  }

  std::unique_ptr<state> state_;
};

/// Makes a fused function from a captureless lambda. See `fused`.
template <class F>
fused<F> fuse(F, program_options options = {}) {
  return fused<F>(std::move(options));
}

}  // namespace sinter
