// SPDX-License-Identifier: MIT
// Prices of European options (Black and Scholes 1973), and how they move with price and volatility
// of what they are written on: one fused function of 200,000 options, and the derivatives are
// those of the price itself.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include <sinter/sinter.hpp>

namespace sn = sinter;

namespace {

struct option {
  double spot, strike, years, rate, volatility;
};

// The price and its derivatives by spot (delta) and volatility (vega), from the textbook.
struct valued {
  double price, delta, vega;
};
valued by_the_book(const option& o) {
  const auto below = [](double d) { return std::erfc(-d / std::sqrt(2.0)) / 2; };
  const double spread = o.volatility * std::sqrt(o.years);
  const double d1 =
      (std::log(o.spot / o.strike) + (o.rate + o.volatility * o.volatility / 2) * o.years) / spread;
  const double discounted = o.strike * std::exp(-o.rate * o.years);
  const double density = std::exp(-d1 * d1 / 2) / std::sqrt(2 * std::acos(-1.0));
  return {o.spot * below(d1) - discounted * below(d1 - spread), below(d1),
          o.spot * density * std::sqrt(o.years)};
}

}  // namespace

int main() {
  auto value = sn::fuse([](auto spot, auto strike, auto years, auto rate, auto volatility) {
    const auto below = [](auto d) { return 0.5f + 0.5f * sn::erf(0.70710678f * d); };  // normal cdf
    const auto spread = volatility * sn::sqrt(years);
    const auto d1 =
        (sn::log(spot / strike) + (rate + 0.5f * sn::square(volatility)) * years) / spread;
    const auto price = spot * below(d1) - strike * sn::exp(-rate * years) * below(d1 - spread);
    // Each price depends on its own option alone, so the gradient of their sum has all derivatives.
    const auto [delta, vega] = sn::gradients(sn::sum(price), spot, volatility);
    return sn::outputs(price, delta, vega);
  });

  constexpr std::int64_t count = 200'000;
  std::mt19937 random(7);
  const auto between = [&](float low, float high) {
    sn::tensor<float, 1> out(count);
    std::uniform_real_distribution<float> number(low, high);
    std::ranges::generate(out, [&] { return number(random); });
    return out;
  };
  const auto spot = between(50, 150), strike = between(50, 150), years = between(0.1f, 2.0f),
             volatility = between(0.1f, 0.5f);
  const auto [price, delta, vega] = value(spot, strike, years, 0.03f, volatility);

  std::puts("  spot  strike  years  volatility    price   delta    vega");
  double worst = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = [i](const auto& x) { return static_cast<double>(x(i)); };
    const option o{at(spot), at(strike), at(years), 0.03, at(volatility)};
    const valued expected = by_the_book(o);
    // Prices are up to 150, of which float has 1e-5.
    worst = std::max({worst, std::abs(expected.price - at(price)),
                      std::abs(expected.delta - at(delta)), std::abs(expected.vega - at(vega))});
    if (i < 5)
      std::printf("%6.2f  %6.2f  %5.2f  %10.2f  %7.3f  %6.3f  %6.2f\n", o.spot, o.strike, o.years,
                  o.volatility, at(price), at(delta), at(vega));
  }
  std::printf("%lld options, largest difference from the formula in double: %.1e\n",
              static_cast<long long>(count), worst);
  if (!(worst < 2e-4)) {
    std::puts("black_scholes: too large");
    return 1;
  }
}
