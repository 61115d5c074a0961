// SPDX-License-Identifier: MIT
// The unit that sinter_add_dispatched picked is the widest that the processor runs, or the one that
// SINTER_ARCHITECTURE names, which the test gives as an argument, too.
#include "expected.hpp"
#include "layer.hpp"

int main(int count, char** arguments) {
  const std::string_view expected = count > 1 ? widest(arguments[1]) : widest();
  return is_right(layer) && is_compiled_for(explanation(), expected) ? 0 : 1;
}
