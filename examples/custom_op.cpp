// SPDX-License-Identifier: MIT
// Ops and rules of one's own. log_add(a, b) = log(e^a + e^b) that does not overflow is an op of
// elements: a struct with a function, a gradient and a rule, by which it also replaces the formula
// where that is written out. running_max is one of whole rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include <sinter/sinter.hpp>

namespace sn = sinter;

namespace {

struct log_add {
  static constexpr std::string_view name = "log_add";
  static constexpr int arity = 2;
  static constexpr double work = 30;  // one exp and one log, beside an addition's 1
  // Of numbers, or of registers of them: one text for all instruction sets.
  static constexpr auto element = [](auto a, auto b) {
    using std::abs, std::exp, std::log, std::max;
    return max(a, b) + log(exp(-abs(a - b)) + 1);
  };
  static constexpr std::array<sn::handle, 2> gradient(const sn::custom_gradient& g) {
    const sn::handle share = sn::sigmoid(g.operand(0) - g.operand(1));
    return {g.cotangent() * share, g.cotangent() * (1 - share)};
  }
  // Rounds differently (so not exact), where the formula does not overflow.
  static constexpr std::array rules{
      sn::custom_rule{"written out", "(log (add (exp ?a) (exp ?b)))", "(log_add ?a ?b)", false},
      sn::custom_rule{"shift", "(log_add (add ?a ?c) (add ?b ?c))", "(add (log_add ?a ?b) ?c)",
                      false}};
};

struct running_max {
  static constexpr std::string_view name = "running_max";
  static constexpr int arity = 1;
  static constexpr int core_axes = 1;  // works on rows, which threads may share out
  template <class T>
  static void kernel(std::span<const sn::custom_input> in, const sn::custom_output& out,
                     std::span<const double>) {
    const auto x = in[0].as<T>();
    const auto y = out.as<T>();
    const auto columns = static_cast<std::size_t>(out.extent(1));
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i] = i % columns == 0 ? x[i] : std::max(x[i], y[i - 1]);
  }
};

}  // namespace

int main() {
  // The second log_add is written out, and overflows where it is computed so.
  auto f = sn::fuse([](auto a, auto b, auto c) {
    const auto two = sn::custom<log_add>(a, b);
    const auto three = sn::log(sn::exp(two) + sn::exp(c));
    const auto [da, db] = sn::gradients(sn::sum(two), a, b);
    return sn::outputs(three, sn::custom<running_max>(three), da, db);
  });

  constexpr std::int64_t rows = 3, columns = 500;
  sn::tensor<float, 2> a(rows, columns), b(rows, columns), c(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      a(i, j) = static_cast<float>((i * 31 + j * 7) % 400) - 100;
      b(i, j) = static_cast<float>((i * 17 + j * 3) % 400) - 100;
      c(i, j) = static_cast<float>((i * 11 + j * 5) % 300);
    }
  const auto [three, highest, da, db] = f(a, b, c);

  const auto number = [](float x) { return static_cast<double>(x); };
  const auto log_of_sum = [](double x, double y) {
    return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
  };
  double worst = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    float so_far = three(i, 0);
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::array<double, 3> x{number(a(i, j)), number(b(i, j)), number(c(i, j))};
      const double expected = log_of_sum(log_of_sum(x[0], x[1]), x[2]);
      const double share = 1 / (1 + std::exp(x[1] - x[0]));
      so_far = std::max(so_far, three(i, j));
      worst =
          std::max({worst, std::abs(number(three(i, j)) - expected) / 300,
                    std::abs(number(da(i, j)) - share), std::abs(number(db(i, j)) - (1 - share)),
                    highest(i, j) == so_far ? 0.0 : 1.0});
    }
  }
  const std::string told = f.explain(a, b, c);
  const bool by_rule = told.find("log_add: written out") != std::string::npos;
  std::printf("largest error %.1e; the rule for the formula %s\n", worst,
              by_rule ? "was used" : "was not used");
  if (!(worst < 1e-6) || !by_rule) {
    std::puts("custom_op: expected right results, by the rule");
    return 1;
  }
}
