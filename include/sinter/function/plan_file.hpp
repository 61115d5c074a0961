// SPDX-License-Identifier: MIT
// Plans as a text that can be kept: whose they are (version, build, processor, rules), then per
// function the graph that was traced, per class of shapes the bound graph, per bucket the plan, and
// last a check sum over all of it. docs/plans.md says what every line means.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/egraph/enode.hpp>
#include <sinter/plan/budget.hpp>
#include <sinter/plan/machine_text.hpp>
#include <sinter/support/abi.hpp>
#include <sinter/support/hash.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Whose plans these are: lines that must be those of the program that loads them.
struct plan_origin {
  std::string version, build, processor, rules;
  friend bool operator==(const plan_origin&, const plan_origin&) = default;
};

// What a schedule does not say of a nest, or of a part of it: for reports.
struct nest_note {
  std::vector<eqsat::node_id> enodes;
  std::string label;
};

// The plan of a bucket.
struct plan_record {
  double cost = 0, cost_bound = 0;
  std::size_t candidates = 0, goals = 0;
  std::vector<int> chosen;
  planning::budget_report budget;
  std::vector<bool> may_alias;
  std::vector<nest_note> notes;  // nests in the order of the schedules, parts behind their nest
  std::string schedules;         // planning::parse_schedules reads it
  // Of a plan that was exported: for the verifier, loading needs neither.
  std::vector<std::string> tile_programs;  // by schedule
  std::string rewrites;
};

struct class_record {
  std::vector<shape_vector> shapes;  // by argument, that the graph is bound to
  std::vector<bool> frozen;          // by argument
  std::string graph;                 // bound; guards of rules included
  std::vector<plan_record> plans;
};

struct program_record {
  std::string traced;      // the graph before it is bound
  std::uint64_t code = 0;  // digest of the superinstructions and of the rules of custom ops
  std::string options, machine;
  std::vector<class_record> classes;
};

struct plan_file {
  plan_origin origin;
  std::vector<program_record> programs;
};

inline std::string digits_of(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return std::string(digits.data(), end);
}

// Writes plan files; plan_file_reader (read_plan_file.hpp) reads what it writes, and nothing else.
class plan_file_writer {
 public:
  std::string write(const plan_file& file) {
    out_ = "sinter plans, format 1\n";
    line("version ", file.origin.version);
    line("build ", file.origin.build);
    line("processor ", file.origin.processor);
    line("rules ", file.origin.rules);
    for (const program_record& each : file.programs) add(each);
    return out_ + planning::detail::check_line(out_);
  }

 private:
  void line(std::string_view what, const std::string& value) {
    out_ += what;
    out_ += value;
    out_ += "\n";
  }
  void section(const std::string& name, const std::string& text) {
    if (text.empty()) return;
    out_ += name + "\n" + text + "end of " + name + "\n";
  }
  static std::string list(const auto& numbers) {
    std::string out;
    for (const auto n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
    return "[" + out + "]";
  }

  void add(const program_record& p) {
    out_ += "function\n";
    section("traced", p.traced);
    line("code ", digits_of(p.code));
    line("options ", p.options);
    line("machine ", p.machine);
    for (const class_record& each : p.classes) add(each);
    out_ += "end of function\n";
  }
  void add(const class_record& c) {
    out_ += "class\n";
    for (std::size_t i = 0; i < c.shapes.size(); ++i)
      line("argument ", list(c.shapes[i]) + (c.frozen[i] ? " frozen" : ""));
    section("graph", c.graph);
    for (const plan_record& each : c.plans) add(each);
    out_ += "end of class\n";
  }
  void add(const plan_record& p) {
    out_ += "plan\n";
    line("cost ", planning::detail::number_text(p.cost) + " ns");
    line("bound ", planning::detail::number_text(p.cost_bound) + " ns");
    line("considered ", std::to_string(p.candidates));
    line("values ", std::to_string(p.goals));
    line("chosen ", list(p.chosen));
    line("budget ", list(std::array{p.budget.budget, p.budget.unlimited, std::size_t{p.budget.met},
                                    static_cast<std::size_t>(p.budget.epochs),
                                    static_cast<std::size_t>(p.budget.recomputed),
                                    static_cast<std::size_t>(p.budget.plans)}) +
                        " at " + planning::detail::number_text(p.budget.price));
    line("aliases ", list(p.may_alias));
    for (const nest_note& each : p.notes) {
      std::string label = each.label;
      std::ranges::replace(label, '\n', ' ');
      line("nest ", list(each.enodes) + (label.empty() ? "" : " " + label));
    }
    section("schedules", p.schedules);
    for (const std::string& each : p.tile_programs) section("tile programs", each);
    section("rewrites", p.rewrites);
    out_ += "end of plan\n";
  }

  std::string out_;
};

}  // namespace sinter::inline SINTER_ABI::detail
