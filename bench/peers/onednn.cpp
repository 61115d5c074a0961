// SPDX-License-Identifier: MIT
// The cases that oneDNN has primitives for: made once, with post-ops where there are such. Operands
// and results lie as they do for all sides, so what a primitive wants in another layout is
// reordered in every call.
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <omp.h>

#include "peers.hpp"

namespace bench {

namespace {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine one(dnnl::engine::kind::cpu, 0);
  return one;
}

memory::desc row_major(const memory::dims& shape) {
  memory::dims strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return {shape, memory::data_type::f32, strides};
}
memory::desc any_layout(const memory::dims& shape) {
  return {shape, memory::data_type::f32, memory::format_tag::any};
}

memory view(const buffer& x, const memory::desc& as) { return {as, engine(), x.data()}; }
memory view(const buffer& x) { return view(x, row_major(x.shape())); }
// A row that is added to all of a matrix's.
memory row_view(const buffer& x) { return view(x, row_major({1, x.size()})); }

dnnl::primitive_attr with_eltwise(dnnl::algorithm op, float alpha = 0) {
  dnnl::post_ops after;
  after.append_eltwise(1.0f, op, alpha, 0.0f);
  dnnl::primitive_attr out;
  out.set_post_ops(after);
  return out;
}

// Primitives that run one after the other.
class sequence {
 public:
  void add(dnnl::primitive step, std::unordered_map<int, memory> arguments) {
    steps_.emplace_back(std::move(step), std::move(arguments));
  }
  void reorder(const memory& from, const memory& to) {
    add(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }
  // `bias`: a row, or nothing.
  void matmul(const memory& a, const memory& b, const memory& out,
              const std::optional<memory>& bias = {}, const dnnl::primitive_attr& attributes = {}) {
    const auto what =
        bias ? dnnl::matmul::desc(a.get_desc(), b.get_desc(), bias->get_desc(), out.get_desc())
             : dnnl::matmul::desc(a.get_desc(), b.get_desc(), out.get_desc());
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, out}};
    if (bias) arguments.emplace(DNNL_ARG_BIAS, *bias);
    add(dnnl::matmul(dnnl::matmul::primitive_desc(what, attributes, engine())), arguments);
  }
  void softmax(const memory& in, const memory& out) {
    const int axis = static_cast<int>(in.get_desc().dims().size()) - 1;
    const dnnl::softmax_forward::desc what(dnnl::prop_kind::forward_inference, in.get_desc(), axis);
    add(dnnl::softmax_forward({what, engine()}), {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}});
  }

  void run() {
    for (const auto& [step, arguments] : steps_) step.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  dnnl::stream stream_{engine()};
  std::vector<std::pair<dnnl::primitive, std::unordered_map<int, memory>>> steps_;
};

// A side that `describe(sequence, result)` describes.
template <class Describe>
side described(std::vector<std::int64_t> shape, Describe describe) {
  const auto out = std::make_shared<buffer>(std::move(shape));
  const auto steps = std::make_shared<sequence>();
  describe(*steps, *out);
  return {[steps, out] { steps->run(); },
          [out] { return std::vector<float>(out->begin(), out->end()); }};
}

memory scratch(const memory::dims& shape) { return {row_major(shape), engine()}; }

// Three passes: element-wise primitives with the product as their post-op ran 100 times slower.
side silu(const problem& p) {
  return described(p[0].shape(), [&](sequence& steps, const buffer& out) {
    const memory x = view(p[0]), y = view(p[1]), z = view(out);
    const memory::desc line = x.get_desc();
    const dnnl::eltwise_forward::desc linear(dnnl::prop_kind::forward_inference,
                                             dnnl::algorithm::eltwise_linear, line, 2.0f, 0.5f);
    const dnnl::eltwise_forward::desc swish(dnnl::prop_kind::forward_inference,
                                            dnnl::algorithm::eltwise_swish, line, 1.0f);
    const dnnl::binary::desc product(dnnl::algorithm::binary_mul, line, line, line);
    steps.add(dnnl::eltwise_forward({linear, engine()}), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, z}});
    steps.add(dnnl::eltwise_forward({swish, engine()}), {{DNNL_ARG_SRC, z}, {DNNL_ARG_DST, z}});
    steps.add(dnnl::binary({product, engine()}),
              {{DNNL_ARG_SRC_0, z}, {DNNL_ARG_SRC_1, y}, {DNNL_ARG_DST, z}});
  });
}

side bias_relu(const problem& p) {
  return described(p[0].shape(), [&](sequence& steps, const buffer& out) {
    const memory x = view(p[0]), b = row_view(p[1]), y = view(out);
    const dnnl::binary::desc what(dnnl::algorithm::binary_add, x.get_desc(), b.get_desc(),
                                  y.get_desc());
    const auto relu = with_eltwise(dnnl::algorithm::eltwise_relu);
    steps.add(dnnl::binary({what, relu, engine()}),
              {{DNNL_ARG_SRC_0, x}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, y}});
  });
}

side softmax(const problem& p) {
  return described(p[0].shape(), [&](sequence& steps, const buffer& out) {
    steps.softmax(view(p[0]), view(out));
  });
}

side layernorm(const problem& p) {
  return described(p[0].shape(), [&](sequence& steps, const buffer& out) {
    const memory x = view(p[0]);
    const dnnl::layer_normalization_forward::desc what(
        dnnl::prop_kind::forward_inference, x.get_desc(), 1e-5f,
        dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
    steps.add(dnnl::layer_normalization_forward({what, engine()}), {{DNNL_ARG_SRC, x},
                                                                    {DNNL_ARG_SCALE, view(p[1])},
                                                                    {DNNL_ARG_SHIFT, view(p[2])},
                                                                    {DNNL_ARG_DST, view(out)}});
  });
}

template <int Axis>
side reduction(const problem& p, dnnl::algorithm op) {
  return described({p[0].extent(1 - Axis)}, [&](sequence& steps, const buffer& out) {
    memory::dims shape = p[0].shape();
    shape[Axis] = 1;
    const memory x = view(p[0]), y = view(out, row_major(shape));
    const dnnl::reduction::desc what(op, x.get_desc(), y.get_desc(), 0, 0);
    steps.add(dnnl::reduction({what, engine()}), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  });
}

template <int Axis>
side sum(const problem& p) {
  return reduction<Axis>(p, dnnl::algorithm::reduction_sum);
}

side max(const problem& p) { return reduction<1>(p, dnnl::algorithm::reduction_max); }

// An image of one column, whose channels lie next to each other.
side batchnorm(const problem& p) {
  return described(p[0].shape(), [&](sequence& steps, const buffer& out) {
    const memory::desc image({1, p[0].extent(1), p[0].extent(0), 1}, memory::data_type::f32,
                             memory::format_tag::nhwc);
    const dnnl::batch_normalization_forward::desc what(dnnl::prop_kind::forward_training, image,
                                                       1e-5f, dnnl::normalization_flags::none);
    const dnnl::batch_normalization_forward::primitive_desc made(what, engine());
    steps.add(dnnl::batch_normalization_forward(made),
              {{DNNL_ARG_SRC, view(p[0], image)},
               {DNNL_ARG_DST, view(out, image)},
               {DNNL_ARG_MEAN, memory(made.mean_desc(), engine())},
               {DNNL_ARG_VARIANCE, memory(made.variance_desc(), engine())}});
  });
}

side linear_gelu(const problem& p) {
  return described({p[0].extent(0), p[1].extent(1)}, [&](sequence& steps, const buffer& out) {
    steps.matmul(view(p[0]), view(p[1]), view(out), row_view(p[2]),
                 with_eltwise(dnnl::algorithm::eltwise_gelu_tanh));
  });
}

side mlp(const problem& p) {
  return described({p[0].extent(0), p[3].extent(1)}, [&](sequence& steps, const buffer& out) {
    const memory hidden = scratch({p[0].extent(0), p[1].extent(1)});
    steps.matmul(view(p[0]), view(p[1]), hidden, row_view(p[2]),
                 with_eltwise(dnnl::algorithm::eltwise_gelu_tanh));
    steps.matmul(hidden, view(p[3]), view(out), row_view(p[4]));
  });
}

side projections(const problem& p) {
  const std::int64_t rows = p[0].extent(0), width = p[0].extent(1);
  return described({3, rows, width}, [&](sequence& steps, const buffer& out) {
    for (std::size_t i = 0; i < 3; ++i) {
      float* const at = out.data() + static_cast<std::int64_t>(i) * rows * width;
      steps.matmul(view(p[0]), view(p[i + 1]), memory(row_major({rows, width}), engine(), at));
    }
  });
}

side swiglu(const problem& p) {
  const std::int64_t rows = p[0].extent(0), gate = p[1].extent(1);
  return described({rows, gate}, [&](sequence& steps, const buffer& out) {
    const memory x = view(p[0]), w = view(p[1]), up = scratch({rows, gate}), y = view(out);
    steps.matmul(x, view(p[2]), up);
    dnnl::post_ops after;
    after.append_eltwise(1.0f, dnnl::algorithm::eltwise_swish, 1.0f, 0.0f);
    after.append_binary(dnnl::algorithm::binary_mul, up.get_desc());
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    const dnnl::matmul::desc what(x.get_desc(), w.get_desc(), y.get_desc());
    steps.add(dnnl::matmul({what, attributes, engine()}),
              {{DNNL_ARG_SRC, x},
               {DNNL_ARG_WEIGHTS, w},
               {DNNL_ARG_DST, y},
               {DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, up}});
  });
}

// The keys of each head, transposed.
memory keys(const buffer& k) {
  const std::int64_t length = k.extent(1), depth = k.extent(2);
  return view(k, memory::desc({k.extent(0), depth, length}, memory::data_type::f32,
                              memory::dims{length * depth, 1, depth}));
}

side attention(const problem& p) {
  const std::int64_t heads = p[0].extent(0), length = p[0].extent(1);
  return described(p[0].shape(), [&](sequence& steps, const buffer& out) {
    const memory scores = scratch({heads, length, length});
    dnnl::primitive_attr scaled;
    scaled.set_output_scales(0, {0.125f});
    steps.matmul(view(p[0]), keys(p[1]), scores, {}, scaled);
    steps.softmax(scores, scores);
    steps.matmul(scores, view(p[2]), view(out));
  });
}

side chain(const problem& p) {
  return described(p[2].shape(), [&](sequence& steps, const buffer& out) {
    const memory product = scratch({p[0].extent(0), p[1].extent(1)});
    steps.matmul(view(p[0]), view(p[1]), product);
    steps.matmul(product, view(p[2]), view(out));
  });
}

side conv3x3_relu(const problem& p) {
  return described(p[0].shape(), [&](sequence& steps, const buffer& out) {
    const memory x = view(p[0]), w = view(p[1]), y = view(out);
    const dnnl::convolution_forward::desc what(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        any_layout(p[0].shape()), any_layout(p[1].shape()), any_layout(p[0].shape()),
        memory::dims{1, 1}, memory::dims{1, 1}, memory::dims{1, 1});
    const dnnl::convolution_forward::primitive_desc made(
        what, with_eltwise(dnnl::algorithm::eltwise_relu), engine());
    const auto in_layout = [&](const memory& from, const memory::desc& layout) {
      if (from.get_desc() == layout) return from;
      const memory to(layout, engine());
      steps.reorder(from, to);
      return to;
    };
    const memory source = in_layout(x, made.src_desc()),
                 filters = in_layout(w, made.weights_desc());
    const bool as_it_lies = y.get_desc() == made.dst_desc();
    const memory result = as_it_lies ? y : memory(made.dst_desc(), engine());
    steps.add(dnnl::convolution_forward(made),
              {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, filters}, {DNNL_ARG_DST, result}});
    if (!as_it_lies) steps.reorder(result, y);
  });
}

side small_mlp(const problem& p) {
  return described({p[0].extent(0), p[3].extent(1)}, [&](sequence& steps, const buffer& out) {
    const auto relu = with_eltwise(dnnl::algorithm::eltwise_relu);
    const memory h1 = scratch({p[0].extent(0), p[1].extent(1)});
    const memory h2 = scratch({p[0].extent(0), p[2].extent(1)});
    steps.matmul(view(p[0]), view(p[1]), h1, {}, relu);
    steps.matmul(h1, view(p[2]), h2, {}, relu);
    steps.matmul(h2, view(p[3]), view(out));
  });
}

}  // namespace

library onednn_library() {
  return {"oneDNN",
          omp_set_num_threads,
          {{"ew_4k", silu},
           {"ew_128k", silu},
           {"ew_16m", silu},
           {"bias_relu", bias_relu},
           {"softmax", softmax},
           {"layernorm", layernorm},
           {"sum_axis0", sum<0>},
           {"sum_axis1", sum<1>},
           {"max_axis1", max},
           {"softmax_16", softmax},
           {"layernorm_1000", layernorm},
           {"batchnorm", batchnorm},
           {"linear_gelu", linear_gelu},
           {"mlp", mlp},
           {"projections_16", projections},
           {"projections_512", projections},
           {"swiglu_16", swiglu},
           {"swiglu_512", swiglu},
           {"attention", attention},
           {"chain", chain},
           {"conv3x3_relu", conv3x3_relu},
           {"small_mlp", small_mlp}}};
}

}  // namespace bench
