// SPDX-License-Identifier: MIT
// What functions keep between calls: keys, bounds, what goes first, and the counts.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace plan_cache_test {

namespace sn = sinter;

namespace {

sn::tensor<float, 1> filled(std::int64_t n, float value) {
  sn::tensor<float, 1> out(n);
  out.fill(value);
  return out;
}

// y = relu(x + b), and x * b where `twice` says so; `text` sees the graph.
sn::graph_function built(sn::plan_cache* plans, bool product_too = false,
                         sn::dtype type = sn::dtype::f32, double factor = 1.5,
                         sn::program_options options = {}) {
  sn::graph_builder g;
  const sn::sym n("n", 1, 4096);
  const auto x = g.argument("x", type, {n});
  const auto b = g.argument("b", type, {n});
  const auto y = sn::relu(x + b) * factor;
  const auto z = x * b;
  if (product_too) return g.compile({y, z}, options, plans);
  return g.compile({y}, options, plans);
}

}  // namespace

TEST_CASE("a changed learning rate never plans anew") {
  auto step = sn::fuse([](auto w, auto g, auto rate) { return sn::assign(w, w - rate * g); });
  sn::tensor<float, 1> w = filled(8, 1), g = filled(8, 1);
  for (int i = 1; i <= 5; ++i) step(w, g, 0.1f / static_cast<float>(i));
  CHECK(step.statistics().saturations == 1);
  CHECK(step.statistics().extractions == 1);
  CHECK(step.statistics().misses == 1);
  CHECK(step.statistics().hits == 4);

  // A number of graph_builder, and a scalar in an expression that is evaluated directly.
  sn::graph_builder b;
  const auto x = b.argument("x", sn::dtype::f32, {sn::sym("n")});
  const auto f = b.compile({x * b.number("rate", sn::dtype::f32)});
  for (int i = 0; i < 5; ++i)
    CHECK(sn::tensor<float, 1>(f({w, 0.5f * static_cast<float>(i)})[0])(0) ==
          w(0) * (0.5f * static_cast<float>(i)));
  CHECK(f.statistics().extractions == 1);

  const sn::cache_statistics before = sn::evaluation_cache::statistics();
  for (int i = 0; i < 5; ++i) {
    const float rate = 0.25f * static_cast<float>(i);
    const sn::tensor<float, 1> y = w - rate * g;
    CHECK(y(0) == w(0) - rate * g(0));
  }
  const sn::cache_statistics after = sn::evaluation_cache::statistics();
  CHECK(after.programs - before.programs == 1);
  CHECK(after.inside.extractions - before.inside.extractions == 1);
}

TEST_CASE("beyond the bounds what was used least recently goes") {
  auto f = sn::fuse([](auto x) { return x + 1.0f; }, {.keep = {.buckets = 2}});
  const auto call = [&](std::int64_t n) { CHECK(f(filled(n, 1))(0) == 2); };
  call(10);   // bucket 16
  call(100);  // bucket 128
  call(12);   // 16 again
  CHECK(f.statistics().hits == 1);
  CHECK(f.statistics().misses == 2);
  CHECK(f.statistics().plans == 2);
  CHECK(f.statistics().evictions == 0);
  call(1000);  // bucket 1024; 128 goes, which was used before 16
  CHECK(f.statistics().evictions == 1);
  CHECK(f.statistics().plans == 2);
  call(11);
  CHECK(f.statistics().extractions == 3);
  call(100);
  CHECK(f.statistics().extractions == 4);
  CHECK(f.statistics().evictions == 2);
  CHECK(f.statistics().saturations == 1);

  auto g = sn::fuse([](auto x, auto y) { return x + y; }, {.keep = {.classes = 0}});
  const auto one = filled(1, 1), many = filled(7, 1);
  for (int i = 0; i < 2; ++i) {
    g(one, many);
    g(many, many);
    g(many, many);
  }
  CHECK(g.statistics().saturations == 4);  // 0 counts as 1
  CHECK(g.statistics().evictions == 3);
  CHECK(g.statistics().plans == 1);
  CHECK(g.statistics().hits == 2);
}

TEST_CASE("arenas alive are counted, and go with their plans") {
  // Two nests: what the first writes is in the arena.
  auto f = sn::fuse([](auto x) { return sn::matmul(x, sn::matmul(sn::exp(x), sn::tanh(x))); },
                    {.keep = {.buckets = 1}});
  CHECK(f.statistics().arena_bytes == 0);
  const auto square = [](std::int64_t n) {
    sn::tensor<float, 2> x({n, n});
    x.fill(0.5f);
    return x;
  };
  f(square(64));
  const std::size_t large = f.statistics().arena_bytes;
  CHECK(large >= 64 * 64 * sizeof(float));
  f(square(64));
  CHECK(f.statistics().arena_bytes == large);
  f(square(20));  // another bucket takes the place
  CHECK(f.statistics().arena_bytes > 0);
  CHECK(f.statistics().arena_bytes < large);
  CHECK(f.statistics().evictions == 1);
}

TEST_CASE("sets of prepared values are bounded") {
  auto f =
      sn::fuse([](auto x, auto w) { return x * sn::exp(w * 2.0f); }, {.keep = {.prepared = 2}});
  const auto x = filled(4, 1);
  std::vector<sn::tensor<float, 1>> weights;
  for (int i = 0; i < 3; ++i) weights.push_back(filled(4, static_cast<float>(i)));
  for (int round = 0; round < 2; ++round)
    for (const auto& w : weights) f(x, sn::frozen(w));
  CHECK(f.statistics().preparations == 6);  // three in turn in two places
  CHECK(f.statistics().evictions == 4);
  f(x, sn::frozen(weights[2]));
  CHECK(f.statistics().preparations == 6);
}

TEST_CASE("equal graphs share a program when they are asked to") {
  sn::plan_cache plans;
  const auto f = built(&plans), g = built(&plans), alone = built(nullptr);
  const auto x = filled(5, 1), b = filled(5, 2);
  CHECK(sn::tensor<float, 1>(f({x, b})[0])(4) == 4.5f);
  CHECK(sn::tensor<float, 1>(g({b, b})[0])(4) == 6.0f);
  CHECK(f.statistics().saturations == 1);
  CHECK(g.statistics().calls == 2);
  CHECK(alone.statistics().calls == 0);
  CHECK(plans.statistics().hits == 1);
  CHECK(plans.statistics().misses == 1);
  CHECK(plans.statistics().programs == 1);
  CHECK(plans.statistics().inside.extractions == 1);
}

TEST_CASE(
    "other outputs, dtypes, constants, attributes, ranges, names and options are other keys") {
  sn::plan_cache plans;
  const auto f = built(&plans);
  const auto x = filled(5, 1), b = filled(5, 2);
  const auto two = built(&plans, true);  // the same nodes, one output more
  CHECK(two({x, b}).size() == 2);
  CHECK(sn::tensor<float, 1>(two({x, b})[1])(0) == 2);
  CHECK(f({x, b}).size() == 1);
  std::size_t programs = 2;
  CHECK(plans.statistics().programs == programs);
  built(&plans, false, sn::dtype::f64);
  CHECK(plans.statistics().programs == ++programs);
  const auto other = built(&plans, false, sn::dtype::f32, 2.5);
  CHECK(sn::tensor<float, 1>(other({x, b})[0])(0) == 7.5f);
  CHECK(plans.statistics().programs == ++programs);
  built(&plans, false, sn::dtype::f32, 1.5, {.reassociate = false});
  CHECK(plans.statistics().programs == ++programs);
  sn::planning::machine slow = sn::planning::nominal_machine;
  slow.launch *= 2;
  built(&plans, false, sn::dtype::f32, 1.5, {.machine = slow});
  CHECK(plans.statistics().programs == ++programs);

  const auto norm = [&](double eps, std::int64_t most, const char* name) {
    sn::graph_builder g;
    const auto y = g.argument(name, sn::dtype::f32, {sn::sym("n", 1, most), 4});
    return g.compile({sn::layer_norm(y, eps)}, {}, &plans);
  };
  norm(1e-6, 64, "y");
  const auto wide = norm(10, 64, "y");
  norm(1e-6, 32, "y");
  norm(1e-6, 64, "z");
  CHECK(plans.statistics().programs == programs + 4);
  norm(1e-6, 64, "y");
  CHECK(plans.statistics().programs == programs + 4);
  CHECK(plans.statistics().hits == 1);

  // The order of outputs, and what they are assigned to.
  const auto ordered = [&](bool flipped, bool assigned) {
    sn::graph_builder g;
    const auto u = g.argument("u", sn::dtype::f32, {4}), v = g.argument("v", sn::dtype::f32, {4});
    const auto s = u + v, p = u * v;
    if (assigned) return g.compile({sn::assign(u, s), p}, {}, &plans);
    return flipped ? g.compile({p, s}, {}, &plans) : g.compile({s, p}, {}, &plans);
  };
  const auto u = filled(4, 3), v = filled(4, 4);
  CHECK(sn::tensor<float, 1>(ordered(false, false)({u, v})[0])(0) == 7);
  CHECK(sn::tensor<float, 1>(ordered(true, false)({u, v})[0])(0) == 12);
  auto w = u;
  CHECK(ordered(false, true)({w, v}).size() == 1);
  CHECK(w(0) == 7);
}

TEST_CASE("functions of one program keep their own bound tensors") {
  sn::plan_cache plans;
  const auto layer = [&](float weight) {
    sn::graph_builder g;
    const auto x = g.argument("x", sn::dtype::f32, {sn::sym("n")});
    const auto w = g.bound("w", sn::any_tensor(filled(3, weight)));
    return g.compile({x * sn::exp(w)}, {}, &plans);
  };
  const auto first = layer(0), second = layer(1);
  const auto x = filled(3, 2);
  for (int i = 0; i < 3; ++i) {
    CHECK(sn::tensor<float, 1>(first({x})[0])(0) == 2);
    CHECK(sn::tensor<float, 1>(second({x})[0])(0) == doctest::Approx(2 * 2.718281828));
  }
  CHECK(plans.statistics().programs == 1);
  CHECK(first.statistics().preparations == 2);
  CHECK(first.statistics().extractions == 1);
}

TEST_CASE("a full or cleared plan cache forgets, functions keep what they have") {
  sn::plan_cache plans(2);
  std::vector<sn::graph_function> functions;
  for (const double factor : {1.0, 2.0, 3.0, 1.0})
    functions.push_back(built(&plans, false, sn::dtype::f32, factor));
  CHECK(plans.statistics().programs == 2);
  CHECK(plans.statistics().evictions == 2);
  CHECK(plans.statistics().misses == 4);
  plans.clear();
  CHECK(plans.statistics().programs == 0);
  const auto x = filled(5, 1), b = filled(5, 2);
  for (int i = 0; i < 4; ++i)
    CHECK(sn::tensor<float, 1>(functions[static_cast<std::size_t>(i)]({x, b})[0])(0) ==
          std::vector<float>{3, 6, 9, 3}[static_cast<std::size_t>(i)]);
}

TEST_CASE("expressions: the bounds of slices do not fill memory, and clear forgets") {
  sn::evaluation_cache::clear();
  CHECK(sn::evaluation_cache::statistics().programs == 0);
  sn::evaluation_cache::limit(4);
  const auto before = sn::evaluation_cache::statistics();
  sn::tensor<float, 1> x(20);
  for (std::int64_t i = 0; i < 20; ++i) x(i) = static_cast<float>(i);
  for (std::int64_t i = 0; i < 10; ++i) {
    const sn::tensor<float, 1> y = sn::slice(x, 0, i, i + 3) * 2.0f;
    CHECK(y(0) == static_cast<float>(2 * i));
  }
  auto after = sn::evaluation_cache::statistics();
  CHECK(after.programs <= 4);
  CHECK(after.misses - before.misses == 10);
  CHECK(after.evictions - before.evictions == 6);
  sn::evaluation_cache::clear();
  after = sn::evaluation_cache::statistics();
  CHECK(after.programs == 0);
  CHECK(after.inside.plans == 0);
  CHECK(after.inside.arena_bytes == 0);
  const sn::tensor<float, 1> y = sn::slice(x, 0, 2, 5) * 2.0f;
  CHECK(y(0) == 4);
  sn::evaluation_cache::limit(32);
}

}  // namespace plan_cache_test
