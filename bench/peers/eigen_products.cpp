// SPDX-License-Identifier: MIT
// Matrix products as an Eigen user writes them: the product, then what follows in place.
#include "eigen.hpp"

namespace bench {

namespace {

template <class X>
void gelu_in_place(X& x) {
  x.array() = 0.5f * x.array() *
              (1.0f + (0.7978845608f * (x.array() + 0.044715f * x.array().cube())).tanh());
}

side linear_gelu(const problem& p) {
  return side_with_result(
      {p[0].extent(0), p[1].extent(1)},
      [x = as_matrix(p[0]), w = as_matrix(p[1]), b = as_row(p[2])](buffer& result) {
        auto out = as_matrix(result);
        out.noalias() = x * w;
        out.rowwise() += b;
        gelu_in_place(out);
      });
}

side mlp(const problem& p) {
  return side_with_result(
      {p[0].extent(0), p[3].extent(1)},
      [x = as_matrix(p[0]), w1 = as_matrix(p[1]), b1 = as_row(p[2]), w2 = as_matrix(p[3]),
       b2 = as_row(p[4]),
       hidden = eigen_matrix(p[0].extent(0), p[1].extent(1))](buffer& result) mutable {
        auto out = as_matrix(result);
        hidden.noalias() = x * w1;
        hidden.rowwise() += b1;
        gelu_in_place(hidden);
        out.noalias() = hidden * w2;
        out.rowwise() += b2;
      });
}

side projections(const problem& p) {
  const std::int64_t rows = p[0].extent(0);
  return side_with_result({3 * rows, p[0].extent(1)},
                          [x = as_matrix(p[0]), wq = as_matrix(p[1]), wk = as_matrix(p[2]),
                           wv = as_matrix(p[3]), rows](buffer& result) {
                            auto out = as_matrix(result);
                            out.topRows(rows).noalias() = x * wq;
                            out.middleRows(rows, rows).noalias() = x * wk;
                            out.bottomRows(rows).noalias() = x * wv;
                          });
}

side swiglu(const problem& p) {
  return side_with_result(
      {p[0].extent(0), p[1].extent(1)},
      [x = as_matrix(p[0]), w = as_matrix(p[1]), v = as_matrix(p[2]),
       up = eigen_matrix(p[0].extent(0), p[1].extent(1))](buffer& result) mutable {
        auto out = as_matrix(result);
        out.noalias() = x * w;
        up.noalias() = x * v;
        out.array() = out.array() / (1.0f + (-out.array()).exp()) * up.array();
      });
}

side chain(const problem& p) {
  return side_with_result(p[2].shape(),
                          [a = as_matrix(p[0]), b = as_matrix(p[1]), v = as_matrix(p[2])](
                              buffer& result) { as_matrix(result).noalias() = (a * b) * v; });
}

side small_mlp(const problem& p) {
  return side_with_result(
      {p[0].extent(0), p[3].extent(1)},
      [x = as_matrix(p[0]), w1 = as_matrix(p[1]), w2 = as_matrix(p[2]), w3 = as_matrix(p[3]),
       h1 = eigen_matrix(p[0].extent(0), p[1].extent(1)),
       h2 = eigen_matrix(p[0].extent(0), p[2].extent(1))](buffer& result) mutable {
        h1.noalias() = x * w1;
        h1 = h1.cwiseMax(0.0f);
        h2.noalias() = h1 * w2;
        h2 = h2.cwiseMax(0.0f);
        as_matrix(result).noalias() = h2 * w3;
      });
}

}  // namespace

sides eigen_products() {
  return {{"linear_gelu", linear_gelu},
          {"mlp", mlp},
          {"projections_16", projections},
          {"projections_512", projections},
          {"swiglu_16", swiglu},
          {"swiglu_512", swiglu},
          {"chain", chain},
          {"small_mlp", small_mlp}};
}

}  // namespace bench
