// SPDX-License-Identifier: MIT
// fuse: a captureless lambda over tensors becomes a function that is traced by the compiler,
// planned on its first call and replayed afterwards.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/function/code.hpp>
#include <sinter/function/frozen.hpp>
#include <sinter/function/fused_programs.hpp>
#include <sinter/function/program.hpp>
#include <sinter/function/results.hpp>
#include <sinter/function/trace.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/operands_fit.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

template <class Trace>
constexpr program_recipe make_recipe() {
  if constexpr (ConstantTrace<Trace>)
    return {traced<Trace>::value.words, traced<Trace>::value.customs, region_kernels<Trace>,
            nullptr, &code_for<traced<Trace>::value.dtypes>};
  else
    return {{}, {}, {}, &Trace::run, &all_code<>};
}

template <class Trace>
inline constexpr program_recipe recipe_of = make_recipe<Trace>();

}  // namespace detail

/// A fused function. All its state (e-graphs, plans, arenas) lives in this object. It may be const,
/// and may be called from several threads at once. `F` is a captureless lambda over handles; what
/// varies is an argument.
///
/// The compiler traces the lambda. Where it cannot, because something in it is no constant
/// expression (std::sqrt of a literal with Clang, a variable from outside), the first call traces
/// it: faults are then thrown, results are of type any_tensor, which converts to tensor, and there
/// are no kernels of the function's own.
template <class F>
class fused {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "sinter: a fused lambda must not capture; pass what varies as an argument");

 public:
  explicit fused(const program_options& options = {}) : programs_(options) {}

  /// Calls the function: tensors, views, structs of tensors (expr/structure.hpp; all of them also
  /// `frozen`) and C++ scalars in; out comes what the lambda returns and does not assign: one
  /// tensor or struct of tensors, a tuple of such, or nothing. Assigned arguments must be
  /// lvalues that are not const, in contiguous memory. Throws shape_error, dtype_error, axis_error,
  /// index_error, alias_error or graph_error before anything is written.
  template <detail::FusedArgument... A>
  auto operator()(A&&... arguments) const {
    static_assert(detail::sound_structures<A...>,
                  "sinter: a struct argument must be a template of its kind whose members are "
                  "parameters, or structs and arrays of such");
    if constexpr (detail::sound_structures<A...>) {
      static_assert(takes<A...>, "sinter: the lambda does not take so many arguments");
      if constexpr (takes<A...>) {
        constexpr ir::fault fault = detail::fault_of<trace_of<A...>>();
        static_assert(operands_fit<fault.kind, fault.code, fault.lhs, fault.rhs>::value,
                      "sinter: the operands of an op do not fit together (fault, op, left, right)");
        if constexpr (fault.kind == ir::fault_kind::none)
          return call<A...>(std::tuple<>{}, arguments...);
      }
    }
  }

  /// `f.into(y)(x, w)`: results go into existing tensors (also those of a struct; resized if their
  /// shape differs, which allocates) or contiguous views (whose shape must be right). Without
  /// resizing, nothing is allocated after the first call. Throws like the call itself, shape_error
  /// also for a view of another shape or with strides, alias_error for memory of an argument that
  /// is still read when the result is written. (Functions that the first call traces keep a short
  /// list on the heap.)
  template <class... Out>
  [[nodiscard("into names results; f.into(y)(x) computes them")]] auto into(Out&... outputs) const {
    return [this, &outputs...]<detail::FusedArgument... A>(A&&... arguments) {
      static_assert(detail::sound_structures<A...>,
                    "sinter: a struct argument must be a template of its kind whose members are "
                    "parameters, or structs and arrays of such");
      if constexpr (detail::sound_structures<A...>) {
        static_assert(takes<A...>, "sinter: the lambda does not take so many arguments");
        if constexpr (takes<A...>) {
          constexpr ir::fault fault = detail::fault_of<trace_of<A...>>();
          static_assert(
              operands_fit<fault.kind, fault.code, fault.lhs, fault.rhs>::value,
              "sinter: the operands of an op do not fit together (fault, op, left, right)");
          if constexpr (fault.kind == ir::fault_kind::none)
            this->template call<A...>(std::tuple_cat(detail::named_results(outputs)...),
                                      arguments...);
        }
      }
    };
  }

  /// Plans for arguments of these shapes and computes what frozen ones let it keep, without running
  /// the rest, so that the first call is as fast as the others. Throws shape_error, and graph_error
  /// if a frozen argument is assigned.
  template <detail::FusedArgument... A>
  void prepare(A&&... arguments) const {
    told<A...>([](const auto&...) { return std::string(); }, arguments...);
  }

  /// What the optimizer did for arguments of these shapes: rules that fired, e-graph, nests with
  /// the rules that led to each and with predicted and measured time, memory. Plans the function if
  /// need be, saturates its graph once more (recording why, in about four times the time) and runs
  /// it a few times on the arguments, none of which it changes.
  template <detail::FusedArgument... A>
  std::string explain(A&&... arguments) const {
    return told<A...>([](program& p, program::prepared_call& c, const auto& memory,
                         const auto& symbols) { return p.explain(c, memory, symbols); },
                      arguments...);
  }

  /// The same as one page of HTML, to be written to a file and opened: the graph as it was traced
  /// and as it is computed, the nests, bytes and time of each. Needs no network, and has no
  /// scripts.
  template <detail::FusedArgument... A>
  std::string explain_html(A&&... arguments) const {
    return told<A...>([](program& p, program::prepared_call& c, const auto& memory,
                         const auto& symbols) { return p.explain_html(c, memory, symbols); },
                      arguments...);
  }

  /// The lowest level for arguments of these shapes: what is bound for every nest (loops, blocks,
  /// streams with strides, places in scratch memory, every instruction), as text that
  /// exec::parse_lowered reads. Plans the function if need be.
  template <detail::FusedArgument... A>
  std::string tile_programs(A&&... arguments) const {
    return told<A...>([](const program& p, program::prepared_call& c, const auto& memory,
                         const auto& symbols) { return p.tile_programs(c, memory, symbols); },
                      arguments...);
  }

  /// What runs for arguments of these shapes and strides, as text: the nests of the plan with their
  /// tile programs, and what was decided for each (threads, lanes and serial loops with their
  /// tiles, reductions, layouts, lifetimes, dependencies, work, critical path). First what frozen
  /// arguments let it prepare once, if there is such. `planning::parse_schedules`
  /// (plan/parse_schedule.hpp) reads it, `planning::interpret_schedule` runs it.
  template <detail::FusedArgument... A>
  std::string schedule(A&&... arguments) const {
    return told<A...>([](const program& p, const program::prepared_call& c, const auto& memory,
                         const auto& symbols) { return p.schedule(c, memory, symbols); },
                      arguments...);
  }

  /// The plan for arguments of these shapes as a text that can be read, verified (`verify_plan`)
  /// and loaded: graph, nests with their schedule and tile programs, buffers, and the rewrites that
  /// led to each nest; docs/plans.md says what every line means. Plans the function if need be.
  /// Like the next two it needs `#include <sinter/plans.hpp>`.
  template <detail::FusedArgument... A>
  std::string export_plan(A&&... arguments) const {
    return told<A...>([](const program& p, const program::prepared_call& c, const auto& memory,
                         const auto& symbols) { return p.export_plan(c, memory, symbols); },
                      arguments...);
  }

  /// Writes all plans that are kept into a file, which takes its name when all of it is there.
  /// Throws io_error.
  void save_plans(const std::string& path) const { programs_.save_plans(path); }

  /// Reads plans that another run of the program saved: calls with extents of their buckets then
  /// neither saturate nor plan, and give the same bits. Throws io_error, and loads nothing, if the
  /// file cannot be read, is damaged, or was saved by another version of sinter, for another
  /// processor or instruction set, or with other options. A graph without a plan in it is planned
  /// as ever, since which graphs there are is known only from calls; with arguments `like` those of
  /// a call (nothing is run) that is an io_error. `statistics().loaded` counts. To be called before
  /// the function is called from other threads.
  template <detail::FusedArgument... A>
  void load_plans(const std::string& path, [[maybe_unused]] A&&... like) {
    if constexpr (sizeof...(A) > 0)
      programs_.load_plans(path, &detail::recipe_of<trace_of<A...>>);
    else
      programs_.load_plans(path, nullptr);
  }

  /// The saturated e-graph for arguments of these shapes, as a program that egglog replays: a
  /// datatype of the ops that occur, and a union per e-node.
  template <detail::FusedArgument... A>
  std::string egglog(A&&... arguments) const {
    return told<A...>([](const program& p, program::prepared_call& c, const auto&,
                         const auto&) { return p.egglog(c); },
                      arguments...);
  }

  /// Counts of saturations, extractions and calls, over all dtypes the function was called with.
  program_statistics statistics() const { return programs_.statistics(); }

 private:
  template <class... A>
  using trace_of = detail::function_trace<F, decltype(detail::traced_argument<A>())...>;

  // Asked before the lambda is traced: what the compiler says of one that takes another number of
  // arguments fills pages.
  template <class... A>
  static constexpr bool takes =
      std::is_invocable_v<F, const typename decltype(detail::traced_argument<A>())::type&...>;

  template <class... A, class Body>
  std::string told(Body body, std::remove_reference_t<A>&... arguments) const {
    static_assert(
        takes<A...>,
        "sinter: the lambda does not take so many arguments; give what a call gets, as in "
        "f.explain(x, w)");
    if constexpr (takes<A...>)
      return with_call<A...>(body, arguments...);
    else
      return {};
  }

  template <class... A, class Body>
  auto with_call(Body body, std::remove_reference_t<A>&... arguments) const {
    using trace = trace_of<A...>;
    constexpr ir::fault fault = detail::fault_of<trace>();
    static_assert(operands_fit<fault.kind, fault.code, fault.lhs, fault.rhs>::value,
                  "sinter: the operands of an op do not fit together (fault, op, left, right)");
    return with_stored<trace>(body, detail::stored_argument(arguments)...);
  }

  template <class Trace, class Body, class... Stored>
  auto with_stored(Body& body, const Stored&... stored) const {
    program& p = programs_.of(detail::recipe_of<Trace>);
    std::array<detail::argument_memory, Trace::specs.size()> memory;
    std::array<std::int64_t, detail::dynamic_extents(Trace::specs)> symbols{};
    [[maybe_unused]] std::size_t next = 0, next_symbol = 0;
    (detail::add_memory(memory, next, stored), ...);
    (detail::add_symbols(symbols, next_symbol, stored), ...);
    program::prepared_call c = p.prepare(memory, symbols);
    return body(p, c, memory, symbols);
  }

  template <class... A, class... Out>
  auto call(std::tuple<Out&...> given, std::remove_reference_t<A>&... arguments) const {
    return with_call<A...>(
        [&](program& p, program::prepared_call& c, const auto& memory, const auto&) {
          std::array<void*, trace_of<A...>::specs.size()> targets{};
          if constexpr (detail::may_assign<trace_of<A...>>()) {
            std::array<bool, trace_of<A...>::specs.size()> is_assigned{};
            for (const int number : p.assigned())
              if (number >= 0) is_assigned[static_cast<std::size_t>(number)] = true;
            [[maybe_unused]] std::size_t at = 0;
            (detail::add_targets<A>(targets, at, arguments), ...);
            at = 0;
            (detail::touch_assigned(is_assigned, at, arguments), ...);
          }
          return run<trace_of<A...>>(p, c, memory, targets, given);
        },
        arguments...);
  }

  template <class Trace, class Memory, class Targets, class... Out>
  static auto run(program& p, program::prepared_call& c, const Memory& memory,
                  const Targets& targets, std::tuple<Out&...>& given) {
    if constexpr (detail::ConstantTrace<Trace>) {
      constexpr auto& outputs = detail::traced<Trace>::value.outputs;
      constexpr auto numbers = detail::result_numbers<Trace::value_count>(outputs);
      std::array<detail::output_memory, outputs.size()> out{};
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return finish<Trace>(p, c, memory, targets, out, numbers, given, [&] {
          return std::tuple{detail::fresh_result<Trace, numbers[I]>(
              c.output_shape(static_cast<int>(numbers[I])))...};
        });
      }(std::make_index_sequence<numbers.size()>{});
    } else {
      const auto numbers = detail::result_numbers<Trace::value_count>(p.assigned());
      std::vector<detail::output_memory> out(p.assigned().size());
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return finish<Trace>(p, c, memory, targets, out, numbers, given, [&] {
          return std::array<any_tensor, sizeof...(I)>{
              any_tensor(c.output_type(static_cast<int>(numbers[I])),
                         c.output_shape(static_cast<int>(numbers[I])))...};
        });
      }(std::make_index_sequence<Trace::value_count>{});
    }
  }

  // `out`: one entry per output, `numbers`: those that are no assignments, `fresh`: makes new ones.
  template <class Trace, class Memory, class Targets, class Outputs, class Numbers, class Fresh,
            class... Out>
  static auto finish(program& p, program::prepared_call& c, const Memory& memory,
                     const Targets& targets, Outputs& out, const Numbers& numbers,
                     std::tuple<Out&...>& given, Fresh fresh) {
    if constexpr (detail::may_assign<Trace>())
      detail::write_assigned(p.assigned(), memory, targets, out);
    if constexpr (sizeof...(Out) > 0) {
      static_assert(sizeof...(Out) == Trace::value_count,
                    "sinter: into() must name as many tensors as the function has results that are "
                    "not assigned");
      static_assert(detail::into_dtypes_match<Trace, Out...>(),
                    "sinter: the tensor given to into() has another dtype than the result");
      const auto type = [&](std::size_t number) {
        if constexpr (detail::ConstantTrace<Trace>)
          return detail::traced<Trace>::value.outputs[number].type;
        else
          return c.output_type(static_cast<int>(number));
      };
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        std::tuple results{detail::given_result<Out>(
            std::get<I>(given), type(numbers[I]), c.output_shape(static_cast<int>(numbers[I])))...};
        ((out[numbers[I]] = std::get<I>(results).memory()), ...);
        p.run(c, memory, out);
        (std::get<I>(results).keep(), ...);
      }(std::index_sequence_for<Out...>{});
    } else {
      auto results = fresh();
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((out[numbers[I]] = detail::memory_of_result(std::get<I>(results))), ...);
      }(std::make_index_sequence<Trace::value_count>{});
      p.run(c, memory, out);
      return detail::returned(std::move(results), typename Trace::outputs{});
    }
  }

  detail::fused_programs programs_;
};

/// A lambda that is traced by the first call in any case: `fuse(trace_in_first_call([](auto x) {
/// ... }))`. The compiler is spared the work, which grows with the number of ops (see the figures
/// in docs/architecture.md); results are of type any_tensor then, and there are no kernels of the
/// function's own.
template <class F>
constexpr auto trace_in_first_call(F) {
  return detail::traced_later<F>{};
}

/// Makes a fused function from a captureless lambda. See `fused`.
template <class F>
fused<F> fuse(F, program_options options = {}) {
  return fused<F>(std::move(options));
}

}  // namespace sinter::inline SINTER_ABI
