// SPDX-License-Identifier: MIT
// expect: a struct argument must be a template of its kind whose members are parameters
// lines <= 8
#include <sinter/sinter.hpp>

template <class Kind>
struct scaled {
  sinter::parameter<Kind, 1> weight;
  float factor = 2;
};

int main() {
  auto f = sinter::fuse([](auto model, auto x) { return model.weight * x; });
  scaled<sinter::stored<float>> model{};
  f(model, sinter::tensor<float, 1>(3));
}
