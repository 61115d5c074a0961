// SPDX-License-Identifier: MIT
// labels: fuzz
// optimised
// The vector functions of f32 against the C library's in double. By default every 4096th float;
// with SINTER_FUZZ_SECONDS as many as that time allows, shared by the functions: 1,200 seconds are
// enough for all 2^32 inputs of each on two cores.
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "support/ulps.hpp"
#include <sinter/exec/elementwise.hpp>

namespace exec = sinter::exec;
using sinter::ir::op;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t rounds = 4096;
constexpr std::int64_t floats_per_round = (std::int64_t{1} << 32) / rounds;

struct function {
  const char* name;
  double bound;
  void (*compute)(const float* x, float* y);  // a register
  double (*reference)(double x);
  // Of a value, in what the bound counts.
  double (*error)(float x, float got, double want);
  // What is larger is left to the C library, which need not be compared with itself more often than
  // in the first round.
  float own_range = infinity;
};

template <op Op>
void compute(const float* x, float* y) {
  exec::store<float>(y, exec::apply<Op>(exec::load<float>(x)));
}

double in_ulps(float, float got, double want) { return test_support::ulps(got, want); }

// Below, the result is all but zero, or is: see the functions' comments.
template <int LeastExponent>
double in_ulps_where_normal(float x, float got, double want) {
  if (x >= -87.3f || std::isnan(x)) return test_support::ulps(got, want);
  if (std::isinf(x) && std::isnan(got)) return 0;  // silu
  return std::abs(static_cast<double>(got) - want) < std::ldexp(1.0, LeastExponent) ? 0 : infinity;
}

// In epsilons of x: the sum cancels where x is negative.
double relative_to_x(float x, float got, double want) {
  if (!std::isfinite(x))
    return x > 0 ? test_support::ulps(got, want) : std::isnan(got) ? 0 : infinity;
  const double unit = std::ldexp(std::abs(static_cast<double>(x)), -23) + 0x1p-149;
  return std::isnan(got) ? infinity : std::abs(static_cast<double>(got) - want) / unit;
}

// What the sum leaves of its bits, where it does not cancel.
double in_ulps_from_minus_one(float x, float got, double want) {
  return x < -1 ? 0 : test_support::ulps(got, want);
}

double gelu(double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); }
double gelu_tanh(double x) {
  const double u = 1.5957691216057307 * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-u));
}

// Powers of two from registers, or polynomials alone.
constexpr double bound_of_exp = exec::detail::table_bits<float> > 0 ? 1.1 : 1.2;

constexpr std::array functions{
    function{"exp", bound_of_exp, compute<op::exp>, [](double x) { return std::exp(x); }, in_ulps},
    function{"exp2", bound_of_exp, compute<op::exp2>, [](double x) { return std::exp2(x); },
             in_ulps},
    function{"log", 1, compute<op::log>, [](double x) { return std::log(x); }, in_ulps},
    function{"log2", 1, compute<op::log2>, [](double x) { return std::log2(x); }, in_ulps},
    function{"tanh", 2, compute<op::tanh>, [](double x) { return std::tanh(x); }, in_ulps},
    function{"erf", 2.5, compute<op::erf>, [](double x) { return std::erf(x); }, in_ulps},
    function{"sigmoid", 2.6, compute<op::sigmoid>, [](double x) { return 1 / (1 + std::exp(-x)); },
             in_ulps_where_normal<-126>},
    function{"silu", 2.6, compute<op::silu>, [](double x) { return x / (1 + std::exp(-x)); },
             in_ulps_where_normal<-119>},
    function{"softplus", 3, compute<op::softplus>,
             [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); },
             in_ulps},
    function{"gelu", 2, compute<op::gelu>, gelu, relative_to_x},
    function{"gelu from -1", 3, compute<op::gelu>, gelu, in_ulps_from_minus_one},
    function{"gelu_tanh", 2, compute<op::gelu_tanh>, gelu_tanh, relative_to_x},
    function{"gelu_tanh from -1", 3, compute<op::gelu_tanh>, gelu_tanh, in_ulps_from_minus_one},
    function{"sin", 2.6, compute<op::sin>, [](double x) { return std::sin(x); }, in_ulps, 8192},
    function{"cos", 2.6, compute<op::cos>, [](double x) { return std::cos(x); }, in_ulps, 8192},
    function{"sqrt", 0.5, compute<op::sqrt>, [](double x) { return std::sqrt(x); }, in_ulps},
    function{"rsqrt", 1.5, compute<op::rsqrt>, [](double x) { return 1 / std::sqrt(x); }, in_ulps},
};

struct worst {
  double error = 0;
  float at = 0;
};

float float_at(std::int64_t place, std::uint32_t phase) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(place * rounds) + phase);
}

// All floats whose bits are `phase` modulo `rounds`; of blocks of one sign that begin beyond
// `range`, none.
worst check_round(const function& f, std::uint32_t phase, float range) {
  worst out;
  constexpr std::int64_t block = 4096;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t first = 0; first < floats_per_round; first += block) {
    worst here;
    if (std::abs(float_at(first, phase)) > range) continue;
    for (std::int64_t i = first; i < first + block; i += exec::lanes<float>) {
      alignas(64) float x[static_cast<std::size_t>(exec::lanes<float>)];
      alignas(64) float y[static_cast<std::size_t>(exec::lanes<float>)];
      for (int lane = 0; lane < exec::lanes<float>; ++lane) x[lane] = float_at(i + lane, phase);
      f.compute(x, y);
      for (int lane = 0; lane < exec::lanes<float>; ++lane) {
        const double want = f.reference(static_cast<double>(x[lane]));
        if (const double error = f.error(x[lane], y[lane], want); !(error <= here.error))
          here = {error, x[lane]};
      }
    }
#pragma omp critical
    if (!(here.error <= out.error)) out = here;
  }
  return out;
}

// Neighbours last: an interrupted run has seen floats of every size.
std::uint32_t phase_of(std::uint32_t round, std::uint32_t seed) {
  std::uint32_t out = 0;
  for (std::uint32_t bit = 1; bit < rounds; bit *= 2) out = out * 2 + ((round & bit) != 0);
  return (out + seed) % rounds;
}

}  // namespace

TEST_CASE("the functions of f32 keep their error bounds") {
  using clock = std::chrono::steady_clock;
  const char* seconds = std::getenv("SINTER_FUZZ_SECONDS");
  const char* first = std::getenv("SINTER_FUZZ_SEED");
  const auto seed = static_cast<std::uint32_t>(first == nullptr ? 0 : std::stoull(first) % rounds);
  const auto end = clock::now() + std::chrono::seconds(seconds == nullptr ? 0 : std::stoi(seconds));
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const function& f = functions[i];
    // What one function leaves is shared by those behind it.
    const auto own_end =
        clock::now() + (end - clock::now()) / static_cast<int>(functions.size() - i);
    worst all;
    std::uint32_t round = 0;
    do {
      const worst here = check_round(f, phase_of(round, seed), round == 0 ? infinity : f.own_range);
      if (!(here.error <= all.error)) all = here;
    } while (++round < rounds && clock::now() < own_end);
    if (seconds != nullptr)
      MESSAGE(std::string(f.name) << ": " << all.error << " at " << all.at << ", " << round
                                  << " of " << rounds << " parts of all floats");
    CHECK_MESSAGE(all.error <= f.bound, std::string(f.name), " is off by ", all.error, " at ",
                  all.at);
  }
}
