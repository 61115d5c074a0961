// SPDX-License-Identifier: MIT
// Checkpoints by hand: what they enclose is computed again for gradients, in spite of an optimizer
// that shares whatever is equal. Memory falls, values and gradients keep their bits.
#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/run_graph.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/exec/executor.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/sinter.hpp>

namespace recompute_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using ir::op;
using ir::value;
using sn::dtype;
using sn::handle;

namespace {

int count(const ir::graph& g, op code) {
  int n = 0;
  for (const ir::node& each : g.nodes()) n += each.code == code ? 1 : 0;
  return n;
}

enum class kept { everything, blocks };

// A chain of residual blocks of one activation each that backward propagation needs. `weights`: by
// the weights, too, or by x alone.
ir::graph chain(kept what, int blocks, bool weights, bool rows_first = false) {
  ir::graph g;
  const ir::dim n(64), width(32), wide(128);
  const handle x(ir::argument(g, dtype::f32, 0, {n, width}));
  std::vector<handle> by{x};
  handle at = x;
  const auto block = [rows_first](handle in, handle up, handle down) {
    const handle wide_one = sn::matmul(in, up);
    return in + sn::matmul(rows_first ? sn::softmax(wide_one) : sn::gelu(wide_one), down);
  };
  for (int i = 0; i < blocks; ++i) {
    const handle up(ir::argument(g, dtype::f32, 2 * i + 1, {width, wide})),
        down(ir::argument(g, dtype::f32, 2 * i + 2, {wide, width}));
    if (weights) by.insert(by.end(), {up, down});
    at = what == kept::everything ? block(at, up, down) : sn::checkpoint(block, at, up, down);
  }
  const handle loss = sn::mean(sn::square(at));
  g.outputs.push_back({loss.node.id, -1});
  for (handle d : sn::gradients(loss, std::span<const handle>(by)))
    g.outputs.push_back({d.node.id, -1});
  return ir::expand_gradients(g);
}

std::vector<ir::reference_tensor> numbers_for(const ir::graph& g) {
  std::vector<ir::reference_tensor> out;
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != op::argument) continue;
    const auto number = static_cast<std::size_t>(g.attributes(id)[1]);
    sn::shape_vector shape;
    for (ir::dim d : g[id].shape) shape.push_back(d.constant());
    if (out.size() <= number) out.resize(number + 1);
    out[number] = ir::filled(dtype::f32, shape, 0);
    double at = 0.3 + 0.1 * static_cast<double>(number);
    for (double& each : out[number].data) {
      at += 0.61803398875;
      at -= static_cast<double>(static_cast<int>(at));
      each = static_cast<double>(static_cast<float>(0.4 * (at - 0.5)));
    }
  }
  return out;
}

struct outcome {
  std::vector<ir::reference_tensor> results;
  std::size_t arena = 0;
};

outcome run(const ir::graph& g, bool reassociate) {
  sn::program_options options;
  options.reassociate = reassociate;
  sn::program p(g, sn::detail::all_code(), options);
  outcome out;
  const std::vector<ir::reference_tensor> numbers = numbers_for(g);
  out.results = test_support::run(p, numbers);
  std::vector<test_support::raw_tensor> in;
  std::vector<sn::detail::argument_memory> memory;
  for (const ir::reference_tensor& x : numbers) in.push_back(test_support::raw_tensor::from(x));
  for (test_support::raw_tensor& x : in)
    memory.push_back({x.bytes.data(), x.shape, sn::row_major_strides(x.shape), x.bytes.size()});
  const sn::program::prepared_call call = p.prepare(memory, {});
  out.arena = call.plan().arena_bytes;
  return out;
}

}  // namespace

TEST_CASE("what a checkpoint encloses is in the graph twice, and the checkpoint is gone") {
  const ir::graph plain = chain(kept::everything, 3, true), g = chain(kept::blocks, 3, true);
  ir::verify(g);
  CHECK(count(g, op::checkpoint) == 0);
  CHECK(count(plain, op::gelu) == 3);
  CHECK(count(g, op::gelu) == 6);
  // One per operand and block, which only a product reads; of the second product none is needed.
  CHECK(count(g, op::recompute) == 3 * 3);
  const auto expected = ir::interpret(plain, numbers_for(plain)),
             found = ir::interpret(g, numbers_for(g));
  for (std::size_t k = 0; k < expected.size(); ++k) CHECK(found[k].data == expected[k].data);

  // Without derivatives it is the value itself.
  ir::graph forward;
  const handle x(ir::argument(forward, dtype::f32, 0, {ir::dim(3)}));
  const handle y = sn::checkpoint([](handle v) { return sn::exp(v); }, x);
  sn::set_outputs(forward, y);
  CHECK(ir::to_text(ir::expand_gradients(forward)) ==
        "%0 = argument {number: 0} : f32[3]\n%1 = exp(%0) : f32[3]\noutput: %1\n");
}

TEST_CASE("memory falls with checkpoints, and no bit changes") {
  for (const bool weights : {true, false}) {
    INFO("by the weights, too: " << weights);
    const ir::graph keeps = chain(kept::everything, 8, weights),
                    computes = chain(kept::blocks, 8, weights);
    const outcome plain = run(keeps, false), again = run(computes, false);
    for (std::size_t k = 0; k < plain.results.size(); ++k) {
      INFO("result " << k);
      CHECK(plain.results[k].data == again.results[k].data);
    }
    // Kept between the blocks: 64 x 32 numbers; within one: 64 x 128.
    CHECK(again.arena * 2 < plain.arena);

    // Rules that re-associate choose for other costs: the last bits may differ, as between any two
    // graphs.
    const outcome fast = run(keeps, true), fast_again = run(computes, true);
    MESSAGE("8 blocks, by weights " << weights << ": " << fast.arena
                                    << " bytes without checkpoints, " << fast_again.arena
                                    << " with them");
    CHECK(fast_again.arena * 2 < fast.arena);
    for (std::size_t k = 0; k < fast.results.size(); ++k)
      for (std::size_t i = 0; i < fast.results[k].data.size(); ++i)
        CHECK(fast_again.results[k].data[i] ==
              doctest::Approx(fast.results[k].data[i]).epsilon(1e-4).scale(1e-2));
  }
}

TEST_CASE("copies wait for backward propagation, also where a nest reads them before the adjoint") {
  const outcome plain = run(chain(kept::everything, 8, false, true), true),
                again = run(chain(kept::blocks, 8, false, true), true);
  MESSAGE(plain.arena << " bytes without checkpoints, " << again.arena << " with them");
  CHECK(again.arena * 2 < plain.arena);
}

TEST_CASE("checkpoints within checkpoints, a value from outside, and a variable within") {
  const auto make = [](bool checkpoints) {
    ir::graph g;
    const handle x(ir::argument(g, dtype::f64, 0, {ir::dim(4), ir::dim(4)}));
    const handle scale(ir::argument(g, dtype::f64, 1, {}));
    const handle outside = sn::exp(x * 0.1);
    handle inside;
    const auto inner = [&](handle v) { return sn::sin(v * outside) * scale; };
    const auto outer = [&](handle v, handle s) {
      inside = sn::tanh(v) * s;
      const handle w = checkpoints ? sn::checkpoint(inner, inside) : inner(inside);
      return sn::matmul(w, w) + v;
    };
    const handle y = checkpoints ? sn::checkpoint(outer, x, scale) : outer(x, scale);
    const handle loss = sn::sum(y * y);
    const auto first = sn::gradients(loss, x, scale, inside);
    sn::set_outputs(
        g, sn::outputs(loss, first, sn::gradients(sn::sum(sn::square(first[0])), x, scale)));
    return ir::expand_gradients(g);
  };
  std::vector<ir::reference_tensor> numbers{ir::filled(dtype::f64, {4, 4}, 0),
                                            ir::filled(dtype::f64, {}, 0.8)};
  for (std::size_t i = 0; i < 16; ++i) numbers[0].data[i] = 0.1 * static_cast<double>(i % 7) - 0.2;
  const ir::graph plain = make(false), again = make(true);
  ir::verify(again);
  CHECK(count(again, op::sin) > count(plain, op::sin));
  const auto expected = ir::interpret(plain, numbers), found = ir::interpret(again, numbers),
             ran = test_support::run(again, numbers);
  for (std::size_t k = 0; k < expected.size(); ++k)
    for (std::size_t i = 0; i < expected[k].data.size(); ++i) {
      CHECK(found[k].data[i] == doctest::Approx(expected[k].data[i]).epsilon(1e-12));
      CHECK(ran[k].data[i] == doctest::Approx(expected[k].data[i]).epsilon(1e-10));
    }
}

TEST_CASE("in fused functions, with numbers as operands and random masks") {
  auto plain = sn::fuse([](auto x, auto w, auto key) {
    const auto y = sn::dropout(sn::gelu(sn::matmul(x, w)), key, 0.5);
    return sn::outputs(sn::gradients(sn::mean(sn::square(y)), x, w));
  });
  auto again = sn::fuse([](auto x, auto w, auto key) {
    const auto y = sn::checkpoint(
        [](auto a, auto b, auto k) { return sn::dropout(sn::gelu(sn::matmul(a, b)), k, 0.5); }, x,
        w, key);
    return sn::outputs(sn::gradients(sn::mean(sn::square(y)), x, w));
  });
  sn::tensor<float, 2> x(5, 3), w(3, 4);
  for (int i = 0; i < 15; ++i) x(i / 3, i % 3) = 0.3f * static_cast<float>(i % 5) - 0.5f;
  for (int i = 0; i < 12; ++i) w(i / 4, i % 4) = 0.2f * static_cast<float>(i % 7) - 0.6f;
  const auto [dx, dw] = plain(x, w, std::int64_t{3});
  const auto [ax, aw] = again(x, w, std::int64_t{3});
  int zeros = 0;
  for (int i = 0; i < 15; ++i) {
    CHECK(ax(i / 3, i % 3) == doctest::Approx(dx(i / 3, i % 3)).epsilon(1e-5));
    zeros += dx(i / 3, i % 3) == 0 ? 1 : 0;
  }
  for (int i = 0; i < 12; ++i)
    CHECK(aw(i / 4, i % 4) == doctest::Approx(dw(i / 4, i % 4)).epsilon(1e-5));
  CHECK(zeros < 15);
}

TEST_CASE("what relu read is not kept for its gradient, which reads what it gave") {
  auto f = sn::fuse([](auto x, auto w, auto v) {
    const auto y = sn::matmul(sn::relu(sn::matmul(x, w)), v);
    return sn::outputs(sn::gradients(sn::mean(sn::square(y)), w, v));
  });
  const sn::tensor<float, 2> x(16, 24), w(24, 32), v(32, 8);
  const std::string told = f.explain(x, w, v);
  CHECK(told.find("fused{less where}") != std::string::npos);
  CHECK(told.find("fused{relu less where}") == std::string::npos);
}

}  // namespace recompute_test
