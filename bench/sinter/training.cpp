// SPDX-License-Identifier: MIT
// Training steps: forward, cross entropy, backward, gradient descent in place.
#include <memory>

#include "side.hpp"
#include "steps.hpp"

namespace bench {

namespace {

// The result of a step: the loss, then the weights that it updated, which are all arguments from
// First on but the last, the rate.
template <std::size_t First, class F, class... Arguments>
side step_side(F f, Arguments... arguments) {
  using all = tensors<std::tuple<sn::tensor<float, 0>>, std::tuple<Arguments...>>;
  const auto result = [](const all& with) {
    auto out = values_of(with.results);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (out.insert(out.end(), std::get<First + I>(with.arguments).begin(),
                  std::get<First + I>(with.arguments).end()),
       ...);
    }(std::make_index_sequence<sizeof...(Arguments) - First - 1>{});
    return out;
  };
  return side_of(f,
                 std::make_shared<all>(
                     all{std::tuple(sn::tensor<float, 0>()), std::tuple(std::move(arguments)...)}),
                 result);
}

side train_mlp(const problem& p) {
  return step_side<2>(mlp_step{}, tensor_of<2>(p[0]), labels_tensor(p[0].extent(0), p[3].extent(1)),
                      tensor_of<2>(p[1]), tensor_of<1>(p[2]), tensor_of<2>(p[3]),
                      tensor_of<1>(p[4]), learning_rate);
}

side small_train(const problem& p) {
  return step_side<2>(
      [](auto x, auto label, auto w1, auto w2, auto w3, auto rate) {
        auto h1 = sn::relu(sn::matmul(x, w1));
        auto h2 = sn::relu(sn::matmul(h1, w2));
        auto loss = sn::cross_entropy(sn::matmul(h2, w3), label);
        auto [d1, d2, d3] = sn::gradients(loss, w1, w2, w3);
        return sn::outputs(loss, sn::assign(w1, w1 - rate * d1), sn::assign(w2, w2 - rate * d2),
                           sn::assign(w3, w3 - rate * d3));
      },
      tensor_of<2>(p[0]), labels_tensor(p[0].extent(0), p[3].extent(1)), tensor_of<2>(p[1]),
      tensor_of<2>(p[2]), tensor_of<2>(p[3]), learning_rate);
}

}  // namespace

sides sinter_training() { return {{"train_mlp", train_mlp}, {"small_mlp_step", small_train}}; }

}  // namespace bench
