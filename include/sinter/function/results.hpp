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

namespace sinter::detail {

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

// A tensor or view given to `into`. Everything is checked when it is made; a tensor of another
// shape gets its new one in `keep`, after the run, so that a call that throws changes nothing, and
// an argument that is also the result is read before it goes.
template <class Out>
class given_result {
  using element = std::remove_cvref_t<decltype(*std::declval<Out&>().data())>;

 public:
  given_result(Out& out, dtype type, const shape_vector& shape) : out_(out) {
    if (type != dtype_of<element>)
      throw dtype_error("into: a tensor of " + std::string(name(dtype_of<element>)) +
                        " where the result is " + std::string(name(type)));
    if (out.shape() == shape) {
      if constexpr (!is_resizable)
        if (!out.is_contiguous())
          throw shape_error("into: a strided view; expected contiguous memory");
    } else if constexpr (is_resizable) {
      fresh_.emplace(Out::uninitialized(shape));
    } else {
      throw shape_error("into: a view of shape " + to_string(out.shape()) +
                        " where the result has shape " + to_string(shape));
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

// What a call returns: nothing, the one result, or all of them.
template <class Results>
auto returned(Results&& results) {
  if constexpr (std::tuple_size_v<std::remove_cvref_t<Results>> == 0)
    return;
  else if constexpr (std::tuple_size_v<std::remove_cvref_t<Results>> == 1)
    return std::get<0>(std::move(results));
  else
    return std::forward<Results>(results);
}

}  // namespace sinter::detail
