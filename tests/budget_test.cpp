// SPDX-License-Identifier: MIT
// A budget of memory: training steps that compute activations again fit into a part of what they
// take without one, and compute the same.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "../bench/transformer_graph.hpp"
#include "support/close.hpp"
#include "support/deep_graph.hpp"
#include "support/random_graph.hpp"
#include "support/run_graph.hpp"
#include "support/sanitized.hpp"
#include <sinter/exec/executor.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/plan/budget.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/sinter.hpp>

namespace budget_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using sn::dtype;
using test_support::raw_tensor;

namespace {

const sn::program_code& code() {
  static const sn::program_code all = sinter::detail::all_code();
  return all;
}

// A graph's arguments with values that depend on the graph alone; weights are scaled so that
// signals keep their size.
std::vector<ir::reference_tensor> arguments_of(const ir::graph& g, double rate) {
  std::map<std::int64_t, ir::reference_tensor> by_number;
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != ir::op::argument) continue;
    sn::shape_vector shape;
    for (ir::dim d : g[id].shape) shape.push_back(g.dims.evaluate(d, g.symbol_values));
    const std::int64_t number = g.attributes(id)[1];
    ir::reference_tensor x = ir::filled(g[id].type, shape, rate);
    const double scale = shape.size() == 2 && shape[0] == shape[1]
                             ? 1.7 / std::sqrt(static_cast<double>(shape[0]))
                             : 1;
    for (std::size_t i = 0; !shape.empty() && i < x.data.size(); ++i)
      x.data[i] = g[id].type == dtype::i64
                      ? static_cast<double>(i % 3)
                      : scale * std::sin(static_cast<double>(i * 7919 % 10007) +
                                         static_cast<double>(number));
    by_number[number] = std::move(x);
  }
  std::vector<ir::reference_tensor> out;
  for (auto& [number, x] : by_number) out.push_back(std::move(x));
  return out;
}

// One training step in place, as a training loop runs it.
struct step {
  std::vector<raw_tensor> results;  // by output
  sn::planning::plan plan;
  sn::planning::budget_report budget;
  std::string nests, explained;

  double arena() const { return static_cast<double>(plan.arena_bytes); }
};

step run(const ir::graph& g, const std::vector<ir::reference_tensor>& arguments, std::size_t budget,
         bool explained = false, const sn::planning::machine& machine = {}) {
  sn::program_options options;
  options.machine = machine;
  options.memory_budget = budget;
  sn::program p(g, code(), options);
  std::vector<raw_tensor> in;
  std::vector<sn::detail::argument_memory> memory;
  std::vector<sn::shape_vector> shapes;
  for (const ir::reference_tensor& x : arguments) in.push_back(raw_tensor::from(x));
  for (raw_tensor& x : in) {
    memory.push_back({x.bytes.data(), x.shape, sn::row_major_strides(x.shape), x.bytes.size()});
    shapes.push_back(x.shape);
  }
  const std::vector<std::int64_t> symbols = ir::symbol_values(p.traced(), shapes);
  sn::program::prepared_call call = p.prepare(memory, symbols);
  step out;
  std::vector<sn::detail::output_memory> results;
  for (int k = 0; k < static_cast<int>(p.assigned().size()); ++k) {
    const int argument = p.assigned()[static_cast<std::size_t>(k)];
    const sn::shape_vector shape = call.output_shape(k);
    const std::size_t bytes =
        static_cast<std::size_t>(sn::element_count(shape)) * sn::size_of(call.output_type(k));
    out.results.push_back({shape, std::vector<std::byte>(bytes)});
    results.push_back({argument < 0 ? out.results.back().bytes.data()
                                    : in[static_cast<std::size_t>(argument)].bytes.data(),
                       bytes});
  }
  if (explained) out.explained = p.explain(call, memory, symbols);
  p.run(call, memory, results);
  for (std::size_t k = 0; k < results.size(); ++k)
    if (p.assigned()[k] >= 0)
      out.results[k].bytes = in[static_cast<std::size_t>(p.assigned()[k])].bytes;
  out.plan = call.plan();
  for (std::size_t i = 0; i < out.plan.nests.size(); ++i)
    out.nests += sn::planning::plan_printer(out.plan).nest_text(i);
  out.budget = call.budget();
  return out;
}

bool same_bits(const step& a, const step& b) {
  return std::ranges::equal(a.results, b.results, [](const raw_tensor& x, const raw_tensor& y) {
    return x.shape == y.shape && x.bytes == y.bytes;
  });
}

// The largest difference, relative to the largest element of each output.
double difference(const step& a, const step& b) {
  double worst = 0;
  for (std::size_t k = 0; k < a.results.size(); ++k) {
    const auto x = a.results[k].to(dtype::f32).data, y = b.results[k].to(dtype::f32).data;
    double scale = 1e-30;
    for (double e : x) scale = std::max(scale, std::abs(e));
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::isfinite(x[i] - y[i]) ? std::abs(x[i] - y[i]) / scale : 1e30);
  }
  return worst;
}

std::size_t part(double share, const step& of) {
  return static_cast<std::size_t>(share * of.arena());
}

constexpr double activation = 256 * 64 * 4;  // bytes, of deep_sizes

}  // namespace

TEST_CASE(
    "gradients are computed as soon as they can be: their operands are "
    "not kept") {
  const ir::graph g = sn::test::deep_training_step();
  const step s = run(g, arguments_of(g, 0.1), 0);
  // 24 activations, and what two layers of backward propagation take.
  CHECK(s.arena() < 28 * activation);
}

TEST_CASE(
    "a deep network's training step keeps budgets of a half and of 40 "
    "percent") {
  const ir::graph g = sn::test::deep_training_step();
  const auto arguments = arguments_of(g, 0.1);
  const step free = run(g, arguments, 0);
  CHECK(free.budget.met);
  CHECK(free.budget.recomputed == 0);
  double before = free.plan.cost;
  for (double share : {0.5, 0.4}) {
    const step s = run(g, arguments, part(share, free));
    CHECK(s.budget.met);
    CHECK(s.plan.arena_bytes <= part(share, free));
    CHECK(s.budget.budget == part(share, free));
    CHECK(s.budget.unlimited == free.plan.arena_bytes);
    CHECK(s.budget.recomputed > 0);
    CHECK(s.budget.recomputed < 24);
    const sn::exec::executor executor(s.plan, code().kernels);
    CHECK(executor.arena_bytes() <= part(share, free) + 64);
    CHECK(s.plan.cost > before);
    CHECK(s.plan.cost < 1.4 * free.plan.cost);
    before = s.plan.cost;
    // The same kernels on the same operands.
    CHECK(same_bits(s, free));
  }
}

TEST_CASE("other activations, residual connections and dropout") {
  using ir::op;
  const sn::test::deep_sizes variants[] = {
      {.layers = 16, .batch = 64, .activation = op::gelu},
      {.layers = 16, .batch = 64, .activation = op::relu},
      {.layers = 16, .batch = 64, .residual = true},
      {.layers = 16, .batch = 64, .dropout = true},
      {.layers = 16, .batch = 64, .activation = op::silu, .residual = true, .dropout = true}};
  for (const sn::test::deep_sizes& sizes : variants) {
    CAPTURE(ir::name(sizes.activation));
    CAPTURE(sizes.residual);
    CAPTURE(sizes.dropout);
    const ir::graph g = sn::test::deep_training_step(sizes);
    const auto arguments = arguments_of(g, 0.1);
    const step free = run(g, arguments, 0), half = run(g, arguments, part(0.5, free));
    CHECK(half.budget.met);
    CHECK(half.plan.arena_bytes <= part(0.5, free));
    CHECK(half.plan.cost < 1.6 * free.plan.cost);
    CHECK(difference(half, free) < 1e-5);
  }
}

TEST_CASE("what is computed again reads arguments as they were before the step") {
  // A step this large replaces every weight by something else altogether.
  const ir::graph g = sn::test::deep_training_step({.layers = 16, .batch = 64});
  const auto arguments = arguments_of(g, 1e4);
  const step free = run(g, arguments, 0);
  for (double share : {0.7, 0.5, 0.4}) {
    const step s = run(g, arguments, part(share, free));
    CHECK(s.budget.recomputed > 0);
    CHECK(same_bits(s, free));
  }
}

TEST_CASE("a transformer's training step in half its memory") {
  const ir::graph g = sn::test::transformer_training_step({.blocks = 2});
  const auto arguments = arguments_of(g, 0.1);
  const step free = run(g, arguments, 0), half = run(g, arguments, part(0.5, free));
  CHECK(half.budget.met);
  CHECK(half.plan.arena_bytes <= part(0.5, free));
  CHECK(half.plan.cost < 1.3 * free.plan.cost);
  CHECK(difference(half, free) < 1e-4);
}

TEST_CASE(
    "a budget that cannot be kept is reported, and the smallest plan "
    "found runs") {
  const ir::graph g = sn::test::deep_training_step({.layers = 12, .batch = 64});
  const auto arguments = arguments_of(g, 0.1);
  const step free = run(g, arguments, 0), tiny = run(g, arguments, 1000, true);
  CHECK_FALSE(tiny.budget.met);
  CHECK(tiny.plan.arena_bytes > 1000);
  CHECK(tiny.arena() < 0.6 * free.arena());
  CHECK(difference(tiny, free) < 1e-5);
  CHECK(tiny.explained.find("not kept") != std::string::npos);
  // There is nothing to recompute: an operand and a result are alive at a time, whatever one does.
  ir::graph chain;
  ir::value x = ir::argument(chain, dtype::f32, 0, {ir::dim(32), ir::dim(32)});
  for (int i = 0; i < 3; ++i) x = ir::matmul(x, x);
  chain.outputs.push_back({x.id, -1});
  const auto matrix = arguments_of(chain, 0);
  const step one = run(chain, matrix, 64), unlimited = run(chain, matrix, 0);
  CHECK_FALSE(one.budget.met);
  CHECK(one.plan.arena_bytes == unlimited.plan.arena_bytes);
  CHECK(same_bits(one, unlimited));
}

TEST_CASE(
    "no budget and one that is never reached give the same plan; a plan "
    "is always the same") {
  const ir::graph g = sn::test::deep_training_step({.layers = 8, .batch = 64});
  const auto arguments = arguments_of(g, 0.1);
  const step free = run(g, arguments, 0, true),
             exact = run(g, arguments, free.plan.arena_bytes, true),
             half = run(g, arguments, part(0.5, free), true),
             again = run(g, arguments, part(0.5, free));
  CHECK(free.nests == exact.nests);
  CHECK(exact.budget.met);
  CHECK(exact.budget.plans == 1);
  CHECK(free.explained.find("budget") == std::string::npos);
  CHECK(exact.explained.find("without computing anything twice") != std::string::npos);
  CHECK(free.nests != half.nests);
  CHECK(again.nests == half.nests);
  CHECK(again.plan.cost == half.plan.cost);
  CHECK(half.explained.find("times a value is computed again") != std::string::npos);
}

TEST_CASE("the last bits of costs choose nothing: compilers round them differently") {
  const ir::graph g = sn::test::deep_training_step({.layers = 8, .batch = 64});
  const auto arguments = arguments_of(g, 0.1);
  const step free = run(g, arguments, 0), half = run(g, arguments, part(0.5, free));
  for (const double factor : {1 - 0x1p-50, 1 + 0x1p-40}) {
    sn::planning::machine machine;
    for (double sn::planning::machine::*field :
         {&sn::planning::machine::l2_byte, &sn::planning::machine::tile_operand,
          &sn::planning::machine::flop, &sn::planning::machine::launch})
      machine.*field *= factor;
    CHECK(run(g, arguments, 0, false, machine).nests == free.nests);
    CHECK(run(g, arguments, part(0.5, free), false, machine).nests == half.nests);
  }
}

TEST_CASE("fuse takes a budget as an option; one weight that all layers share") {
  const auto training_step = [](auto x, auto w, auto rate) {
    auto h = x;
    for (int i = 0; i < 12; ++i) h = sn::tanh(sn::matmul(h, w));
    auto loss = sn::mean(h * h);
    auto [dw] = sn::gradients(loss, w);
    return sn::outputs(loss, sn::assign(w, w - rate * dw));
  };
  sn::tensor<float, 2> x(64, 32), w(32, 32);
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data()[i] = std::sin(static_cast<float>(i * 7919 % 1013));
  for (std::int64_t i = 0; i < w.size(); ++i)
    w.data()[i] = 0.3f * std::cos(static_cast<float>(i * 104729 % 1019));
  sn::tensor<float, 2> v(32, 32);
  std::copy(w.data(), w.data() + w.size(), v.data());

  auto free = sn::fuse(training_step);
  // Twelve activations of 64 x 32 are 98,304 bytes; their twelve parts of the gradient, 49,152, are
  // added at the end.
  auto limited = sn::fuse(training_step, {.memory_budget = 70'000});
  for (int i = 0; i < 3; ++i) {
    const sn::tensor<float, 0> a = free(x, w, 0.5f), b = limited(x, v, 0.5f);
    CHECK(*a.data() == doctest::Approx(*b.data()).epsilon(1e-5));
  }
  for (std::int64_t i = 0; i < w.size(); ++i)
    CHECK(w.data()[i] == doctest::Approx(v.data()[i]).epsilon(1e-4));
  const std::string report = limited.explain(x, v, 0.5f);
  CHECK(report.find("budget: 68.4 KiB for the arena, kept; without it") != std::string::npos);
  CHECK(report.find(" % above the least of these nests\n") != std::string::npos);
  // Whatever machine costs are predicted for; the first differs from the nominal one by rounding.
  sn::planning::machine rounded, slow, packing;
  rounded.l2_byte *= 1 + 1e-10;
  slow.flop /= 2;
  packing.packed_element *= 2;
  for (const sn::planning::machine& m : {rounded, slow, packing}) {
    auto elsewhere = sn::fuse(training_step, {.memory_budget = 70'000, .machine = m});
    CHECK(elsewhere.explain(x, v, 0.5f).find("for the arena, kept;") != std::string::npos);
  }
  auto small = sn::fuse([](auto a) { return a + 1; });
  CHECK(small.explain(x).find(" us, the least of these nests\n") != std::string::npos);
  auto hasty = sn::fuse(training_step, {.extraction_work = 1});
  CHECK(hasty.explain(x, w, 0.5f).find(" % above the least of these nests\n") != std::string::npos);
}

TEST_CASE("random graphs under a budget agree with the reference interpreter") {
  int limited = 0, kept = 0, recomputing = 0;
  for (std::uint64_t seed = 1; seed <= (test_support::sanitized ? 30u : 100u); ++seed) {
    CAPTURE(seed);
    sn::test::random_graph_options options;
    options.steps = static_cast<int>(20 + seed % 50);
    const sn::test::random_graph sample = sn::test::make_random_graph(seed, options);
    const auto expected = ir::interpret(sample.graph, sample.arguments);
    const step free = run(sample.graph, sample.arguments, 0);
    if (free.plan.arena_bytes == 0) continue;
    const std::size_t budget = part(seed % 2 == 0 ? 0.6 : 0.85, free);
    const step s = run(sample.graph, sample.arguments, budget);
    ++limited;
    kept += s.budget.met ? 1 : 0;
    recomputing += s.budget.recomputed > 0 ? 1 : 0;
    CHECK(s.plan.arena_bytes <= (s.budget.met ? budget : free.plan.arena_bytes));
    REQUIRE(s.results.size() == expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      REQUIRE(s.results[k].shape == expected[k].shape);
      const auto got = s.results[k].to(expected[k].type).data;
      const double tolerance =
          sn::is_floating(expected[k].type) ? sn::test::random_graph_tolerance : 0;
      double scale = 1;
      for (double e : expected[k].data)
        if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
      // Comparisons of what differs by rounding alone may fall either way.
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        wrong +=
            test_support::close(got[i], expected[k].data[i], tolerance, tolerance * scale) ? 0 : 1;
      CHECK_MESSAGE((expected[k].type == dtype::boolean ? wrong * 20 : wrong) <=
                        (expected[k].type == dtype::boolean ? got.size() : 0),
                    ir::to_text(sample.graph));
    }
  }
  MESSAGE(limited << " graphs with a budget, " << kept << " kept it, " << recomputing
                  << " by computing something again");
  CHECK(kept > 0);
}

}  // namespace budget_test
