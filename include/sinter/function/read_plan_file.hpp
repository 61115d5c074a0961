// SPDX-License-Identifier: MIT
// Plan files from text. Only what plan_file_writer writes is read: the check sum first, then line
// by line, and last the whole is written again and compared, so that there is one text for one
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/function/plan_file.hpp>
#include <sinter/graph/text_reader.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/line_reader.hpp>

namespace sinter::inline SINTER_ABI::detail {

class plan_file_reader {
 public:
  explicit plan_file_reader(std::string_view text) : text_(text), in_(text, "plan file") {}

  plan_file read() {
    check_sum();
    plan_file out;
    if (in_.line() != "sinter plans, format 1") in_.fail("this is no plan file of format 1");
    out.origin.version = in_.rest("version ");
    out.origin.build = in_.rest("build ");
    out.origin.processor = in_.rest("processor ");
    out.origin.rules = in_.rest("rules ");
    while (in_.next() == "function") out.programs.push_back(read_program());
    in_.rest("check ");
    if (!in_.at_end()) in_.fail("there is something behind the check sum");
    if (plan_file_writer().write(out) != text_) in_.fail("not as it was written");
    return out;
  }

 private:
  void check_sum() const {
    const std::size_t check = text_.rfind("check ");
    if (check == std::string_view::npos || (check != 0 && text_[check - 1] != '\n'))
      raise(
          io_error("plan file: the check sum is missing; the file is no plan "
                   "file, or cut short"));
    if (text_.substr(check) != planning::detail::check_line(text_.substr(0, check)))
      raise(io_error("plan file: damaged, the check sum is that of another text"));
  }

  program_record read_program() {
    program_record out;
    in_.expect("function");
    out.traced = in_.section("traced");
    out.code = in_.only_number<std::uint64_t>(in_.rest("code "), 16);
    out.options = in_.rest("options ");
    out.machine = in_.rest("machine ");
    while (in_.next() == "class") out.classes.push_back(read_class());
    in_.expect("end of function");
    return out;
  }

  class_record read_class() {
    class_record out;
    in_.expect("class");
    while (in_.next().starts_with("argument ")) {
      std::string_view left = in_.rest("argument ");
      const std::vector<std::int64_t> shape = in_.list(left, ir::detail::number_limit);
      if (shape.size() > max_rank) in_.fail("too many axes");
      out.shapes.emplace_back(shape.begin(), shape.end());
      out.frozen.push_back(!left.empty());
      if (!left.empty()) in_.take(left, " frozen");
      in_.done(left);
    }
    out.graph = in_.section("graph");
    while (in_.next() == "plan") out.plans.push_back(read_plan());
    in_.expect("end of class");
    return out;
  }

  plan_record read_plan() {
    plan_record out;
    in_.expect("plan");
    out.cost = nanoseconds(in_.rest("cost "));
    out.cost_bound = nanoseconds(in_.rest("bound "));
    out.candidates = in_.only_number<std::size_t>(in_.rest("considered "));
    out.goals = in_.only_number<std::size_t>(in_.rest("values "));
    out.chosen = in_.only_list<int>(in_.rest("chosen "));
    read_budget(out.budget, in_.rest("budget "));
    for (int each : in_.only_list<int>(in_.rest("aliases "))) out.may_alias.push_back(each != 0);
    while (in_.next().starts_with("nest ")) {
      std::string_view left = in_.rest("nest ");
      nest_note note;
      note.enodes = in_.list<eqsat::node_id>(left);
      if (!left.empty()) in_.take(left, " ");
      note.label = std::string(left);
      out.notes.push_back(std::move(note));
    }
    out.schedules = in_.section("schedules");
    while (in_.next() == "tile programs")
      out.tile_programs.emplace_back(in_.section("tile programs"));
    out.rewrites = in_.section("rewrites");
    in_.expect("end of plan");
    return out;
  }

  double nanoseconds(std::string_view text) const {
    const double out = in_.real(text);
    in_.take(text, " ns");
    in_.done(text);
    return out;
  }

  void read_budget(planning::budget_report& out, std::string_view text) const {
    const auto numbers = in_.list<std::size_t>(text);
    if (numbers.size() != 6) in_.fail("a budget has six numbers");
    out.budget = numbers[0];
    out.unlimited = numbers[1];
    out.met = numbers[2] != 0;
    out.epochs = static_cast<int>(numbers[3]);
    out.recomputed = static_cast<int>(numbers[4]);
    out.plans = static_cast<int>(numbers[5]);
    in_.take(text, " at ");
    out.price = in_.real(text);
    in_.done(text);
  }

  std::string_view text_;
  line_reader<io_error> in_;
};

}  // namespace sinter::inline SINTER_ABI::detail
