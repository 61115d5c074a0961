// SPDX-License-Identifier: MIT
// Compiled with -fno-exceptions -fno-rtti: a fused function runs and the e-graph stops at its
// limit; called with the argument "fail", shapes that do not fit end the program through the
// handler.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sinter/sinter.hpp>

namespace sn = sinter;

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this test is about programs without exceptions and without run-time type information"
#endif

static void say(const char* message) {
  std::fprintf(stderr, "handled: %s\n", message);
  std::exit(1);
}

int main(int count, char** words) {
  static_assert(!sn::has_exceptions);
  sn::set_error_handler(say);
  const sn::tensor<float, 2> x{{1, -2, 3}, {4, 0, -1}};
  auto f = sn::fuse([](auto v, auto w) { return sn::sum(sn::relu(v + w)); });
  if (count > 1 && std::string_view(words[1]) == "fail")
    return f(x, sn::tensor<float, 2>::zeros({2, 2})).item() > 0;

  const float sum = f(x, x).item();
  if (sum == 16) return 0;
  std::printf("%g, expected 16\n", static_cast<double>(sum));
  return 2;
}
