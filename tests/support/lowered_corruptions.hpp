// SPDX-License-Identifier: MIT
// Corruptions of what executors bind, each of which the verifier of the lowest level has to refuse
// with the message that it names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "lowered_cases.hpp"
#include "lowered_graph.hpp"
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/verify_lowered.hpp>

namespace test_support::corruptions {

using namespace sinter::exec;
using sinter::dtype;
using sinter::ir::op;
using memory = location::memory;

struct corruption {
  std::string what;  // part of the message that is expected
  std::function<void(tile_program&)> apply;
};

inline const lowered_plan& plan_of(std::string_view name) {
  static const sinter::program_code code = sinter::detail::all_code();
  static std::vector<std::pair<std::string, lowered_plan>> known;
  static std::vector<std::unique_ptr<sinter::program>> programs;
  if (known.empty())
    for (const test_support::lowered_case& c : test_support::lowered_cases()) {
      programs.push_back(std::make_unique<sinter::program>(c.graph, code));
      std::vector<bool> frozen(c.arguments.size(), c.frozen);
      frozen.front() = false;
      known.emplace_back(c.name,
                         test_support::lower(*programs.back(), c.arguments, frozen).plans.back());
    }
  for (const auto& each : known)
    if (each.first == name) return each.second;
  throw sinter::graph_error("no case " + std::string(name));
}

inline const kernel_table& kernels() {
  static const sinter::program_code code = sinter::detail::all_code();
  return code.kernels;
}

inline std::string message_of(const lowered_plan& p) {
  try {
    verify_lowered(p);
  } catch (const sinter::error& e) {
    return e.what();
  }
  return "";
}

inline std::size_t index(int i) { return static_cast<std::size_t>(i); }

// The first command of a kind, and the first of its operands.
inline command& find(tile_program& p, command_kind kind) {
  for (command& c : p.commands)
    if (c.kind == kind) return c;
  FAIL("no command " << name_in_text(kind));
  throw sinter::graph_error("no such command");
}
inline location& operand(tile_program& p, command_kind kind, int k = 0) {
  return p.operands[static_cast<std::size_t>(find(p, kind).first_operand + k)];
}

inline void check_corruptions(const std::string& name, const std::vector<corruption>& corruptions) {
  const lowered_plan& sound = plan_of(name);
  CHECK(message_of(sound) == "");
  for (const corruption& c : corruptions) {
    lowered_plan broken = sound;
    c.apply(std::get<lowered_tiles>(broken.nests.front()).program);
    const std::string message = message_of(broken);
    CAPTURE(name);
    CAPTURE(c.what);
    CAPTURE(message);
    CHECK(message.find(c.what) != std::string::npos);
    CHECK(message.find("nest 0 (tiles)") != std::string::npos);
  }
}

template <class Nest>
struct nest_corruption {
  std::string what;
  std::function<void(Nest&)> apply;
};

template <class Nest>
void check_nest(const std::string& name, const std::vector<nest_corruption<Nest>>& corruptions) {
  const lowered_plan& sound = plan_of(name);
  bool found = false;
  for (std::size_t i = 0; i < sound.nests.size(); ++i) {
    if (!std::holds_alternative<Nest>(sound.nests[i])) continue;
    found = true;
    for (const nest_corruption<Nest>& c : corruptions) {
      lowered_plan broken = sound;
      c.apply(std::get<Nest>(broken.nests[i]));
      const std::string message = message_of(broken);
      CAPTURE(name);
      CAPTURE(c.what);
      CAPTURE(message);
      CHECK(message.find(c.what) != std::string::npos);
      CHECK(message.find("nest " + std::to_string(i)) != std::string::npos);
    }
    break;
  }
  CHECK_MESSAGE(found, name);
}

}  // namespace test_support::corruptions
