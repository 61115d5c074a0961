// SPDX-License-Identifier: MIT
// labels: fuzz
// optimised
// Random well-typed graphs through the whole pipeline (bind, saturate, choose, run) against the
// reference interpreter. Fixed seeds by default; SINTER_FUZZ_SECONDS and SINTER_FUZZ_SEED let it
// run on.
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/close.hpp"
#include "support/random_graph.hpp"
#include "support/run_graph.hpp"
#include <sinter/graph/print.hpp>

namespace {

// Small and larger graphs; constant extents, symbols that are bound, and symbols that are traced.
sinter::test::random_graph_options options_of(std::uint64_t seed) {
  sinter::test::random_graph_options out;
  out.steps = static_cast<int>(5 + seed % 25);
  constexpr sinter::test::extent_kind kinds[] = {sinter::test::extent_kind::constant,
                                                 sinter::test::extent_kind::traced_symbols};
  out.extents = kinds[seed % 2];
  return out;
}

// Every second argument, all of them, and the others.
std::vector<bool> frozen_of(std::uint64_t seed, std::size_t arguments) {
  std::vector<bool> out;
  for (std::size_t a = 0; a < arguments; ++a) out.push_back(seed % 3 == 2 || a % 2 == seed % 3);
  return out;
}

// Rows that threads share, of which random_graph has some.
constexpr std::int64_t long_row = 33000;

void check(std::uint64_t seed, const sinter::program_code& code, bool frozen = false,
           bool all_dtypes = false, std::int64_t longest = 0) {
  sinter::test::random_graph_options options = options_of(seed);
  options.all_dtypes = all_dtypes;
  options.long_row = longest;
  const sinter::test::random_graph sample = sinter::test::make_random_graph(seed, options);
  CAPTURE(seed);
  const auto expected = sinter::ir::interpret(sample.graph, sample.arguments);
  sinter::program p(sample.graph, code);
  const auto got = test_support::run(
      p, sample.arguments, frozen ? frozen_of(seed, sample.arguments.size()) : std::vector<bool>{});
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    REQUIRE(got[k].shape == expected[k].shape);
    REQUIRE(got[k].type == expected[k].type);
    // Results of cancelling terms carry the error of the largest: it is judged relative to the
    // output's size.
    double scale = 1;
    for (double e : expected[k].data)
      if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
    // A comparison of two values that differ by rounding alone may fall either way, in a few
    // elements at most, and so may rounding to 16 bits of what is halfway between two.
    std::size_t flipped = 0;
    for (std::size_t i = 0; i < got[k].data.size(); ++i) {
      const double tolerance =
          sinter::is_floating(got[k].type) ? sinter::test::random_graph_tolerance : 0;
      const bool agree =
          test_support::close(got[k].data[i], expected[k].data[i], tolerance, tolerance * scale);
      if (!agree && got[k].type == sinter::dtype::boolean && ++flipped * 20 <= got[k].data.size())
        continue;
      const bool near =
          !agree && all_dtypes && sinter::is_floating(got[k].type) &&
          test_support::close(got[k].data[i], expected[k].data[i], 0x1p-6, 0x1p-6 * scale);
      if (near && ++flipped * 20 <= got[k].data.size()) continue;
      if (!agree) {
        FAIL("seed " << seed << ", output " << k << ", element " << i << ": " << got[k].data[i]
                     << " instead of " << expected[k].data[i] << "\n"
                     << sinter::ir::to_text(sample.graph));
      }
    }
  }
}

}  // namespace

TEST_CASE("random graphs agree with the reference interpreter") {
  const sinter::program_code code = sinter::detail::all_code();
  const char* seconds = std::getenv("SINTER_FUZZ_SECONDS");
  const char* first = std::getenv("SINTER_FUZZ_SEED");
  if (seconds == nullptr) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) check(seed, code);
    for (std::uint64_t seed = 1; seed <= 300; ++seed) check(seed, code, true);
    for (std::uint64_t seed = 1; seed <= 300; ++seed) check(seed, code, false, true);
    for (std::uint64_t seed = 1; seed <= 12; ++seed) check(seed, code, false, false, long_row);
    check(90574, code, true);  // packed one column of a matrix that repeats it
    check(7021, code);         // a reshape of something empty that was repeated along axes of 0
    // A product's nest that stored only what is not made of its product.
    check(29114279, code);
    // An alias of an alias of an argument, which read memory that nothing had written.
    for (std::uint64_t seed : {102092u, 200446u, 500519u, 701271u}) check(seed, code);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::stoi(seconds));
  std::uint64_t seed = first == nullptr ? 1 : std::stoull(first);
  std::uint64_t count = 0;
  for (; std::chrono::steady_clock::now() < end; ++count) {
    check(seed + count, code);
    check(seed + count, code, true);
    check(seed + count, code, seed % 2 == 0, true);
    if (count % 16 == 0) check(seed + count, code, false, false, long_row);
  }
  MESSAGE(count << " random graphs");
}
