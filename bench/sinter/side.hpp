// SPDX-License-Identifier: MIT
// sinter's sides of the cases: a fused function, the tensors it is called with, and its result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "../table/case.hpp"
#include <sinter/sinter.hpp>

namespace bench {

namespace sn = sinter;

template <int Rank>
sn::tensor<float, Rank> tensor_like(const buffer& from) {
  return sn::tensor<float, Rank>(sn::shape_vector(from.shape().begin(), from.shape().end()));
}
template <int Rank>
sn::tensor<float, Rank> tensor_of(const buffer& from) {
  auto out = tensor_like<Rank>(from);
  std::copy(from.begin(), from.end(), out.begin());
  return out;
}

inline sn::tensor<std::int32_t, 1> labels_tensor(std::int64_t rows, std::int64_t classes) {
  const auto values = labels(rows, classes);
  sn::tensor<std::int32_t, 1> out(rows);
  std::copy(values.begin(), values.end(), out.begin());
  return out;
}

inline sn::program_options options_without(const exclusion& x) {
  const auto allows = [&](const char* kind) {
    return std::ranges::find(x.kinds, kind) == x.kinds.end();
  };
  return {.superinstructions = allows("superinstructions"),
          .nests = {.rows = allows("rows"),
                    .epilogues = allows("epilogues"),
                    .streamed = allows("streamed"),
                    .grouped = allows("grouped"),
                    .winograd = allows("winograd"),
                    .moments = allows("moments"),
                    .sums = allows("sums"),
                    .siblings = allows("siblings"),
                    .pieces = allows("pieces"),
                    .recompute = allows("recompute"),
                    .without = x.nests}};
}

template <class Results, class Arguments>
struct tensors {
  Results results;
  Arguments arguments;
};

template <class F, class Results, class Arguments>
struct sinter_call {
  sn::fused<F> function;
  std::shared_ptr<tensors<Results, Arguments>> with;

  void run() {
    std::apply(
        [&](auto&... result) {
          std::apply([&](auto&... argument) { function.into(result...)(argument...); },
                     with->arguments);
        },
        with->results);
  }
  std::string explain() {
    return std::apply([&](auto&... argument) { return function.explain(argument...); },
                      with->arguments);
  }
};

// What the tensors hold, one after the other.
template <class... Tensors>
std::vector<float> values_of(const std::tuple<Tensors...>& tensors) {
  std::vector<float> out;
  std::apply([&](const auto&... each) { (out.insert(out.end(), each.begin(), each.end()), ...); },
             tensors);
  return out;
}

/// f.into(results...)(arguments...), again and again. result(tensors): what it computed.
template <class F, class Tensors, class Result>
side side_of(F f, std::shared_ptr<Tensors> with, Result result, const exclusion& without = {}) {
  using call = sinter_call<F, decltype(with->results), decltype(with->arguments)>;
  const auto made = std::make_shared<call>(call{sn::fuse(f, options_without(without)), with});
  return {.run = [made] { made->run(); },
          .result = [with, result] { return result(*with); },
          .explain = [made] { return made->explain(); },
          .without = [=](const exclusion& x) { return side_of(f, with, result, x); }};
}

template <class F, class... Results, class... Arguments>
side sinter_side(F f, std::tuple<Results...> results, Arguments... arguments) {
  using all = tensors<std::tuple<Results...>, std::tuple<Arguments...>>;
  return side_of(
      f, std::make_shared<all>(all{std::move(results), std::tuple(std::move(arguments)...)}),
      [](const all& with) { return values_of(with.results); });
}
template <class F, sn::extents_spec E, class... Arguments>
side sinter_side(F f, sn::tensor<float, E> result, Arguments... arguments) {
  return sinter_side(f, std::tuple(std::move(result)), std::move(arguments)...);
}

sides sinter_elementwise();
sides sinter_rows();
sides sinter_products();
sides sinter_attention();
sides sinter_convolution();
sides sinter_training();
sides sinter_calls();

}  // namespace bench
