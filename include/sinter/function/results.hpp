// SPDX-License-Identifier: MIT
// Where the results of a call go: into new tensors, or into objects that the caller names.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sinter/function/program.hpp>
#include <sinter/function/trace.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/any_tensor.hpp>
#include <sinter/tensor/tensor.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Numbers of the outputs that are results, not assignments, of which there are `Count`. `Outputs`:
// a range of output_spec, or of the arguments that outputs are assigned to.
template <std::size_t Count, class Outputs>
constexpr std::array<std::size_t, Count> result_numbers(const Outputs& outputs) {
  std::array<std::size_t, Count> out{};
  std::size_t at = 0, number = 0;
  for (const auto& o : outputs) {
    bool assigned = false;
    if constexpr (requires { o.assigned_argument; })
      assigned = o.assigned_argument >= 0;
    else
      assigned = o >= 0;
    if (!assigned && at < Count) out[at++] = number;
    ++number;
  }
  return out;
}

// Does a call write to arguments? Where the compiler does not know, it may.
template <class Trace>
constexpr bool may_assign() {
  if constexpr (ConstantTrace<Trace>) {
    for (const output_spec& o : traced<Trace>::value.outputs)
      if (o.assigned_argument >= 0) return true;
    return false;
  } else {
    return true;
  }
}

// A tensor or view given to `into`. Everything is checked when it is made; a tensor of another
// shape gets its new one in `keep`, after the run, so that a call that throws changes nothing, and
// an argument that is also the result is read before it goes.
template <class Out>
class given_result {
  using element = std::remove_cvref_t<decltype(*std::declval<Out&>().data())>;

 public:
  given_result(Out& out, dtype type, const shape_vector& shape) : out_(out) {
    if (type != dtype_of<element>)
      raise(dtype_error("into: a tensor of " + std::string(name(dtype_of<element>)) +
                        " where the result is " + std::string(name(type))));
    if (out.shape() == shape) {
      if constexpr (!is_resizable)
        if (!out.is_contiguous())
          raise(shape_error("into: a strided view; expected contiguous memory"));
    } else if constexpr (is_resizable) {
      fresh_.emplace(Out::uninitialized(shape));
    } else {
      raise(shape_error("into: a view of shape " + to_string(out.shape()) +
                        " where the result has shape " + to_string(shape)));
    }
  }

  output_memory memory() {
    Out& target = fresh_ ? *fresh_ : out_;
    return {target.data(), static_cast<std::size_t>(target.size()) * sizeof(element)};
  }

  void keep() {
    if (fresh_) out_ = std::move(*fresh_);
  }

 private:
  static constexpr bool is_resizable = requires(Out& out, const shape_vector& s) { out.resize(s); };

  Out& out_;
  std::optional<Out> fresh_;
};

// The tensors that something given to `into` stands for: itself, or the parameters of a struct.
template <class Out>
auto named_results(Out& out) {
  if constexpr (is_list<Out>)
    return std::apply([](auto&... each) { return std::tuple_cat(named_results(each)...); }, out);
  else if constexpr (Aggregate<Out>)
    return std::apply([](auto&... each) { return std::tuple_cat(named_results(each)...); },
                      members<Out, member_count<as_kind<Out, handles>>>(out));
  else
    return std::tie(out);
}

// Have the tensors given to `into` the dtypes of the results? Where the compiler does not know
// those, the call finds out.
template <class Trace, class... Out>
constexpr bool into_dtypes_match() {
  if constexpr (ConstantTrace<Trace> && sizeof...(Out) == Trace::value_count) {
    constexpr auto& outputs = traced<Trace>::value.outputs;
    constexpr auto numbers = result_numbers<Trace::value_count>(outputs);
    std::size_t at = 0;
    return ((outputs[numbers[at++]].type ==
             dtype_of<std::remove_cvref_t<decltype(*std::declval<Out&>().data())>>)&&...);
  } else {
    return true;
  }
}

// A new result of a function that the compiler traced: its type is known. A function rather than an
// alias template: GCC 12 crashes on an alias with a template argument of class type.
template <class Trace, std::size_t Number>
auto fresh_result(const shape_vector& shape) {
  constexpr output_spec spec = traced<Trace>::value.outputs[Number];
  constexpr extents_spec extents = spec.extents;
  return tensor<cpp_type<spec.type>, extents>::uninitialized(shape);
}

template <class Result>
output_memory memory_of_result(Result& x) {
  if constexpr (std::is_same_v<Result, any_tensor>)
    return {x.data(), static_cast<std::size_t>(x.size()) * size_of(x.type())};
  else
    return {x.data(), static_cast<std::size_t>(x.size()) * sizeof(*x.data())};
}

// One of the values that a function returns, made of the results from number `First` on: a tensor,
// or a struct of tensors.
template <class Value, std::size_t First, class Results>
auto value_of(Results& results) {
  if constexpr (std::is_same_v<Value, handle>) {
    return std::get<First>(std::move(results));
  } else {
    constexpr std::size_t count = parameter_count<Value>;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using element = typename std::tuple_element_t<First, Results>::element_type;
      static_assert((std::is_same_v<typename std::tuple_element_t<First + I, Results>::element_type,
                                    element> &&
                     ...),
                    "sinter: a struct that is a result has parameters of one dtype; name where it "
                    "goes (into)");
      as_kind<Value, stored<element>> out{};
      const auto places = named_results(out);
      ((std::get<I>(places) = std::get<First + I>(std::move(results))), ...);
      return out;
    }(std::make_index_sequence<count>{});
  }
}

// Where each value begins among the results.
template <class... Value>
constexpr std::array<std::size_t, sizeof...(Value)> first_results() {
  std::array<std::size_t, sizeof...(Value)> out{};
  [[maybe_unused]] std::size_t next = 0, at = 0;
  ((out[at++] = next, next += parameter_count<Value>), ...);
  return out;
}

// What a call returns: nothing, the one value, or all of them. Results whose type is known at run
// time only stay one by one.
template <class Results, class... Value>
auto returned(Results&& results, output_list<Value...>) {
  if constexpr (std::tuple_size_v<std::remove_cvref_t<Results>> == 0) {
    return;
  } else if constexpr (std::tuple_size_v<std::remove_cvref_t<Results>> == 1 &&
                       (std::is_same_v<Value, handle> && ...)) {
    return std::get<0>(std::forward<Results>(results));
  } else if constexpr ((std::is_same_v<Value, handle> && ...) ||
                       std::is_same_v<std::remove_cvref_t<decltype(std::get<0>(results))>,
                                      any_tensor>) {
    return std::forward<Results>(results);
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      constexpr auto first = first_results<Value...>();
      if constexpr (sizeof...(Value) == 1)
        return (value_of<Value, first[I]>(results), ...);
      else
        return std::tuple{value_of<Value, first[I]>(results)...};
    }(std::index_sequence_for<Value...>{});
  }
}

}  // namespace sinter::inline SINTER_ABI::detail
