// SPDX-License-Identifier: MIT
// What a call costs where there is next to nothing to compute, and what the first call pays.
#include <memory>
#include <optional>

#include "side.hpp"
#include "steps.hpp"

namespace bench {

namespace {

struct relu_sum {
  constexpr auto operator()(auto x, auto b) const { return sn::relu(x + b); }
};

side call_into(const problem& p) {
  return sinter_side(relu_sum{}, sn::tensor<float, 1>(p[0].size()), tensor_of<1>(p[0]),
                     tensor_of<1>(p[1]));
}

side call_fresh(const problem& p) {
  struct call {
    sn::fused<relu_sum> function;
    sn::tensor<float, 1> x, b;
    std::optional<sn::tensor<float, 1>> out;
  };
  const auto made = std::make_shared<call>(
      call{sn::fuse(relu_sum{}), tensor_of<1>(p[0]), tensor_of<1>(p[1]), std::nullopt});
  return {.run = [made] { made->out.emplace(made->function(made->x, made->b)); },
          .result = [made] { return std::vector<float>(made->out->begin(), made->out->end()); }};
}

// A function made, and planned for arguments it is not run on.
template <class F, class... Arguments>
side planning_side(F f, Arguments... arguments) {
  return {.run = [f, held = std::make_shared<std::tuple<Arguments...>>(std::move(arguments)...)] {
    auto function = sn::fuse(f);
    std::apply([&](auto&... each) { function.prepare(each...); }, *held);
  }};
}

side plan_mlp(const problem& p) {
  return planning_side(mlp_forward{}, tensor_of<2>(p[0]), tensor_of<2>(p[1]), tensor_of<1>(p[2]),
                       tensor_of<2>(p[3]), tensor_of<1>(p[4]));
}

side plan_train_mlp(const problem& p) {
  return planning_side(mlp_step{}, tensor_of<2>(p[0]),
                       labels_tensor(p[0].extent(0), p[3].extent(1)), tensor_of<2>(p[1]),
                       tensor_of<1>(p[2]), tensor_of<2>(p[3]), tensor_of<1>(p[4]), learning_rate);
}

}  // namespace

sides sinter_calls() {
  return {{"call_into", call_into},
          {"call_fresh", call_fresh},
          {"fresh_1m", call_fresh},
          {"first_call_mlp", plan_mlp},
          {"first_call_train", plan_train_mlp}};
}

}  // namespace bench
