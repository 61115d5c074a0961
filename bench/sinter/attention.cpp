// SPDX-License-Identifier: MIT
// Attention per head: softmax(q k^T / sqrt(d)) v.
#include "side.hpp"

namespace bench {

namespace {

side attention(const problem& p) {
  return sinter_side(
      [](auto q, auto k, auto v) {
        return sn::matmul(sn::softmax(sn::matmul(q, sn::permute(k, {0, 2, 1})) * 0.125f), v);
      },
      tensor_like<3>(p[0]), tensor_of<3>(p[0]), tensor_of<3>(p[1]), tensor_of<3>(p[2]));
}

side rope_attention(const problem& p) {
  return sinter_side(
      [](auto q, auto k, auto v, auto cosine, auto sine) {
        const auto turned = [&](auto y) {
          auto a = sn::slice(y, -1, 0, 32), b = sn::slice(y, -1, 32, 64);
          return sn::concat(-1, a * cosine - b * sine, b * cosine + a * sine);
        };
        auto scores = sn::matmul(turned(q), sn::permute(turned(k), {0, 2, 1}));
        return sn::matmul(sn::softmax(scores * 0.125f), v);
      },
      tensor_like<3>(p[0]), tensor_of<3>(p[0]), tensor_of<3>(p[1]), tensor_of<3>(p[2]),
      tensor_of<2>(p[3]), tensor_of<2>(p[4]));
}

side causal_attention(const problem& p) {
  return sinter_side(
      [](auto q, auto k, auto v) {
        auto scores = sn::matmul(q, sn::permute(k, {0, 2, 1})) * 0.125f;
        auto row = sn::iota_like(scores, 1), column = sn::iota_like(scores, 2);
        return sn::matmul(sn::softmax(sn::where(row >= column, scores, -1e30f)), v);
      },
      tensor_like<3>(p[0]), tensor_of<3>(p[0]), tensor_of<3>(p[1]), tensor_of<3>(p[2]));
}

}  // namespace

sides sinter_attention() {
  return {{"attention", attention},
          {"rope_attention", rope_attention},
          {"attention_4k", causal_attention}};
}

}  // namespace bench
