// SPDX-License-Identifier: MIT
// The cases in libtorch: eager ops, in place where they can be, in inference mode except for
// training, which is what autograd is there for. Every op allocates its result.

// clang-format off
// Before ATen.h, which uses it incomplete: an error with Clang in C++20.
#include <ATen/core/ivalue.h>
// clang-format on

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <c10/core/InferenceMode.h>
#include <cmath>
#include <memory>
#include <utility>

#include "peers.hpp"

namespace bench {

namespace {

using at::Tensor;

Tensor view(const buffer& x) { return at::from_blob(x.data(), x.shape(), at::kFloat); }

void append(std::vector<float>& out, const Tensor& x) {
  const Tensor flat = x.contiguous();
  out.insert(out.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
}

// A side whose result is what `compute` returns.
template <class Compute>
side inference(Compute compute) {
  const auto out = std::make_shared<Tensor>();
  return {[out, compute = std::move(compute)] {
            const c10::InferenceMode guard;
            *out = compute();
          },
          [out] {
            std::vector<float> values;
            append(values, *out);
            return values;
          }};
}

side silu(const problem& p) {
  return inference([x = view(p[0]), y = view(p[1])] {
    Tensor z = at::mul(x, 2.0f).add_(0.5f);
    return at::silu_(z).mul_(y);
  });
}

side bias_relu(const problem& p) {
  return inference([x = view(p[0]), b = view(p[1])] { return at::add(x, b).relu_(); });
}

side blackscholes(const problem& p) {
  return inference([spot = view(p[0]), strike = view(p[1]), time = view(p[2])] {
    const Tensor deviation = at::sqrt(time).mul_(0.3f);
    const Tensor d1 = at::div(spot, strike).log_().add_(time, 0.065f).div_(deviation);
    const Tensor d2 = at::sub(d1, deviation);
    const auto normal = [](const Tensor& d) {
      return d.mul_(0.70710678f).erf_().add_(1.0f).mul_(0.5f);
    };
    const Tensor discounted = at::mul(time, -0.02f).exp_().mul_(strike);
    return normal(d1).mul_(spot).sub_(discounted.mul_(normal(d2)));
  });
}

side transpose_add(const problem& p) {
  return inference([x = view(p[0]), y = view(p[1])] { return at::add(y, x.t()); });
}

side broadcast(const problem& p) {
  return inference([x = view(p[0]), row = view(p[1]), column = view(p[2])] {
    return at::add(x, row).mul_(column);
  });
}

side softmax(const problem& p) {
  return inference([x = view(p[0])] { return at::softmax(x, 1); });
}

side layernorm(const problem& p) {
  return inference([x = view(p[0]), g = view(p[1]), b = view(p[2])] {
    return at::layer_norm(x, {x.size(1)}, g, b);
  });
}

side mse(const problem& p) {
  return inference([x = view(p[0]), y = view(p[1])] { return at::mse_loss(x, y); });
}

side dot(const problem& p) {
  return inference([x = view(p[0]), y = view(p[1])] { return at::dot(x, y); });
}

template <int Axis>
side sum(const problem& p) {
  return inference([x = view(p[0])] { return at::sum(x, Axis); });
}

side max(const problem& p) {
  return inference([x = view(p[0])] { return at::amax(x, 1); });
}

side batchnorm(const problem& p) {
  return inference([x = view(p[0])] {
    return at::batch_norm(x, {}, {}, {}, {}, /*training=*/true, 0.1, 1e-5, false);
  });
}

template <int Axis>
side logsumexp(const problem& p) {
  return inference([x = view(p[0])] { return at::logsumexp(x, Axis); });
}

side linear_gelu(const problem& p) {
  return inference([x = view(p[0]), w = view(p[1]), b = view(p[2])] {
    Tensor y = at::addmm(b, x, w);
    return at::gelu_(y, "tanh");
  });
}

side mlp(const problem& p) {
  return inference(
      [x = view(p[0]), w1 = view(p[1]), b1 = view(p[2]), w2 = view(p[3]), b2 = view(p[4])] {
        Tensor hidden = at::addmm(b1, x, w1);
        return at::addmm(b2, at::gelu_(hidden, "tanh"), w2);
      });
}

side projections(const problem& p) {
  return inference([x = view(p[0]), wq = view(p[1]), wk = view(p[2]), wv = view(p[3])] {
    // One after the other in memory: what the other sides' results are.
    Tensor out = at::empty({3, x.size(0), x.size(1)}, x.options());
    Tensor q = out[0], k = out[1], v = out[2];
    at::mm_out(q, x, wq);
    at::mm_out(k, x, wk);
    at::mm_out(v, x, wv);
    return out;
  });
}

side swiglu(const problem& p) {
  return inference([x = view(p[0]), w = view(p[1]), v = view(p[2])] {
    Tensor gate = at::mm(x, w);
    return at::silu_(gate).mul_(at::mm(x, v));
  });
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor scores = at::baddbmm(at::empty({1, 1, 1}, q.options()), q, k.transpose(1, 2),
                                    /*beta=*/0, /*alpha=*/0.125);
  return at::bmm(at::softmax(scores, 2), v);
}

side attention(const problem& p) {
  return inference([q = view(p[0]), k = view(p[1]), v = view(p[2])] { return attend(q, k, v); });
}

side rope_attention(const problem& p) {
  return inference(
      [q = view(p[0]), k = view(p[1]), v = view(p[2]), cosine = view(p[3]), sine = view(p[4])] {
        const auto turned = [&](const Tensor& y) {
          const Tensor a = y.narrow(2, 0, 32), b = y.narrow(2, 32, 32);
          return at::cat({(a * cosine).sub_(b * sine), (b * cosine).add_(a * sine)}, 2);
        };
        return attend(turned(q), turned(k), v);
      });
}

side causal_attention(const problem& p) {
  const std::int64_t length = p[0].extent(1);
  return inference([q = view(p[0]), k = view(p[1]), v = view(p[2]),
                    hidden = at::full({length, length}, -INFINITY, at::kFloat).triu_(1)] {
    // The mask, made once, is what the product is added to.
    const Tensor scores = at::baddbmm(hidden, q, k.transpose(1, 2), 1, 0.125);
    return at::bmm(at::softmax(scores, 2), v);
  });
}

side chain(const problem& p) {
  return inference(
      [a = view(p[0]), b = view(p[1]), v = view(p[2])] { return at::mm(at::mm(a, b), v); });
}

side conv3x3_relu(const problem& p) {
  return inference([x = view(p[0]), w = view(p[1])] {
    Tensor out = at::conv2d(x, w, {}, 1, 1);
    return at::relu_(out);
  });
}

side small_mlp(const problem& p) {
  return inference([x = view(p[0]), w1 = view(p[1]), w2 = view(p[2]), w3 = view(p[3])] {
    Tensor h1 = at::mm(x, w1);
    Tensor h2 = at::mm(at::relu_(h1), w2);
    return at::mm(at::relu_(h2), w3);
  });
}

// Gradient descent with autograd. `forward` takes the inputs, the labels and the weights, which are
// operands of the problem by number.
template <class Forward>
side training(const problem& p, std::vector<std::size_t> weights, std::int64_t classes,
              Forward forward) {
  struct step {
    Tensor x, label, loss;
    std::vector<Tensor> weights;
  };
  const auto use = std::make_shared<step>();
  use->x = view(p[0]);
  use->label = at::empty({p[0].extent(0)}, at::kLong);
  const auto numbers = labels(p[0].extent(0), classes);
  std::copy(numbers.begin(), numbers.end(), use->label.template data_ptr<std::int64_t>());
  for (const std::size_t each : weights)
    use->weights.push_back(view(p[each]).clone().requires_grad_());
  return {[use, forward] {
            Tensor loss = forward(use->x, use->label, use->weights);
            loss.backward();
            use->loss = loss.detach();
            const at::NoGradGuard guard;
            for (Tensor& each : use->weights) {
              each.sub_(each.grad(), learning_rate);
              each.mutable_grad().reset();
            }
          },
          [use] {
            std::vector<float> values;
            append(values, use->loss);
            for (const Tensor& each : use->weights) append(values, each.detach());
            return values;
          }};
}

side train_mlp(const problem& p) {
  return training(p, {1, 2, 3, 4}, p[3].extent(1),
                  [](const Tensor& x, const Tensor& label, const std::vector<Tensor>& w) {
                    const Tensor hidden = at::relu(at::addmm(w[1], x, w[0]));
                    return at::cross_entropy_loss(at::addmm(w[3], hidden, w[2]), label);
                  });
}

side small_train(const problem& p) {
  return training(p, {1, 2, 3}, p[3].extent(1),
                  [](const Tensor& x, const Tensor& label, const std::vector<Tensor>& w) {
                    const Tensor h1 = at::relu(at::mm(x, w[0]));
                    const Tensor h2 = at::relu(at::mm(h1, w[1]));
                    return at::cross_entropy_loss(at::mm(h2, w[2]), label);
                  });
}

side call_into(const problem& p) {
  return inference([x = view(p[0]), b = view(p[1]), out = at::empty_like(view(p[0]))] {
    Tensor existing = out;
    return at::add_out(existing, x, b).relu_();
  });
}

}  // namespace

library torch_library() {
  return {"libtorch",
          [](int threads) { at::set_num_threads(threads); },
          {{"ew_4k", silu},
           {"ew_128k", silu},
           {"ew_16m", silu},
           {"bias_relu", bias_relu},
           {"blackscholes", blackscholes},
           {"transpose_add", transpose_add},
           {"broadcast", broadcast},
           {"softmax", softmax},
           {"layernorm", layernorm},
           {"mse_16m", mse},
           {"dot_1m", dot},
           {"sum_axis0", sum<0>},
           {"sum_axis1", sum<1>},
           {"max_axis1", max},
           {"softmax_16", softmax},
           {"layernorm_1000", layernorm},
           {"batchnorm", batchnorm},
           {"logsumexp_axis0", logsumexp<0>},
           {"logsumexp_axis1", logsumexp<1>},
           {"linear_gelu", linear_gelu},
           {"mlp", mlp},
           {"projections_16", projections},
           {"projections_512", projections},
           {"swiglu_16", swiglu},
           {"swiglu_512", swiglu},
           {"attention", attention},
           {"rope_attention", rope_attention},
           {"attention_4k", causal_attention},
           {"chain", chain},
           {"conv3x3_relu", conv3x3_relu},
           {"small_mlp", small_mlp},
           {"train_mlp", train_mlp},
           {"small_mlp_step", small_train},
           {"call_into", call_into},
           {"call_fresh", bias_relu},
           {"fresh_1m", bias_relu}}};
}

}  // namespace bench
