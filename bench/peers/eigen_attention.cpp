// SPDX-License-Identifier: MIT
// Attention as an Eigen user writes it: two products per head and a softmax row by row between
// them, in a buffer for the scores of one head.
#include "eigen.hpp"

namespace bench {

namespace {

using head = Eigen::Map<eigen_matrix>;

head head_of(const buffer& x, std::int64_t number) {
  const std::int64_t size = x.extent(1) * x.extent(2);
  return {x.data() + number * size, x.extent(1), x.extent(2)};
}

// softmax(scores / 8) v. Causal: row i sees its first i + 1 columns.
template <class Out>
void weigh(eigen_matrix& scores, const head& v, bool causal, Out out) {
  const Eigen::Index length = scores.rows();
  for (Eigen::Index i = 0; i < length; ++i) {
    const Eigen::Index seen = causal ? i + 1 : length;
    auto row = scores.row(i).head(seen).array();
    row = ((row - row.maxCoeff()) * 0.125f).exp();
    row *= 1 / row.sum();
    scores.row(i).tail(length - seen).setZero();
  }
  out.noalias() = scores * v;
}

template <bool Causal>
side attention(const problem& p) {
  const std::int64_t heads = p[0].extent(0), length = p[0].extent(1);
  return side_with_result(p[0].shape(),
                          [&p, heads, scores = eigen_matrix(length, length)](buffer& out) mutable {
                            for (std::int64_t h = 0; h < heads; ++h) {
                              scores.noalias() = head_of(p[0], h) * head_of(p[1], h).transpose();
                              weigh(scores, head_of(p[2], h), Causal, head_of(out, h));
                            }
                          });
}

side rope_attention(const problem& p) {
  struct buffers {
    eigen_matrix scores, q, k;
  };
  const std::int64_t heads = p[0].extent(0), length = p[0].extent(1), depth = p[0].extent(2);
  return side_with_result(
      p[0].shape(), [&p, heads, cosine = as_array(p[3]), sine = as_array(p[4]),
                     use = buffers{eigen_matrix(length, length), eigen_matrix(length, depth),
                                   eigen_matrix(length, depth)}](buffer& out) mutable {
        const auto turn = [&](const head& from, eigen_matrix& to) {
          const Eigen::Index half = cosine.cols();
          const auto a = from.leftCols(half).array(), b = from.rightCols(half).array();
          to.leftCols(half) = a * cosine - b * sine;
          to.rightCols(half) = b * cosine + a * sine;
        };
        for (std::int64_t h = 0; h < heads; ++h) {
          turn(head_of(p[0], h), use.q);
          turn(head_of(p[1], h), use.k);
          use.scores.noalias() = use.q * use.k.transpose();
          weigh(use.scores, head_of(p[2], h), false, head_of(out, h));
        }
      });
}

}  // namespace

sides eigen_attention() {
  return {{"attention", attention<false>},
          {"rope_attention", rope_attention},
          {"attention_4k", attention<true>}};
}

}  // namespace bench
