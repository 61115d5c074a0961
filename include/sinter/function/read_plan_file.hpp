// SPDX-License-Identifier: MIT
// Plan files from text. Only what plan_file_writer writes is read: the check sum first, then line
// by line, and last the whole is written again and compared, so that there is one text for one
// file.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sinter/function/plan_file.hpp>
#include <sinter/graph/dim.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::detail {

class plan_file_reader {
 public:
  explicit plan_file_reader(std::string_view text) : text_(text) {}

  plan_file read() {
    check_sum();
    plan_file out;
    if (line() != "sinter plans, format 1") fail("this is no plan file of format 1");
    out.origin.version = rest("version ");
    out.origin.build = rest("build ");
    out.origin.processor = rest("processor ");
    out.origin.rules = rest("rules ");
    while (next().starts_with("function ")) out.programs.push_back(read_program());
    rest("check ");
    if (at_ != text_.size()) fail("there is something behind the check sum");
    if (plan_file_writer().write(out) != text_) fail("not as it was written");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    raise(io_error("plan file, line " + std::to_string(number_) + ": " + reason));
  }

  void check_sum() const {
    const std::size_t check = text_.rfind("check ");
    if (check == std::string_view::npos || (check != 0 && text_[check - 1] != '\n'))
      raise(
          io_error("plan file: the check sum is missing; the file is no plan file, or cut short"));
    if (text_.substr(check) != planning::detail::check_line(text_.substr(0, check)))
      raise(io_error("plan file: damaged, the check sum is that of another text"));
  }

  // ---- lines

  std::string_view next() const { return text_.substr(at_, text_.find('\n', at_) - at_); }
  std::string_view line() {
    const std::size_t end = text_.find('\n', at_);
    ++number_;
    if (end == std::string_view::npos) fail("the file is cut short");
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  std::string rest(std::string_view what) {
    const std::string_view found = line();
    if (!found.starts_with(what)) fail("expected '" + std::string(what) + "...'");
    return std::string(found.substr(what.size()));
  }
  bool accept(std::string_view what) {
    if (next() != what) return false;
    line();
    return true;
  }
  void expect(std::string_view what) {
    if (line() != what) fail("expected '" + std::string(what) + "'");
  }
  std::string section(const std::string& name) {
    if (!accept(name)) return "";
    const std::size_t start = at_;
    for (;;) {
      const std::size_t end = at_;
      if (line() == "end of " + name) return std::string(text_.substr(start, end - start));
    }
  }

  // ---- numbers

  template <class Number>
  Number number(std::string_view& text, Number low, Number high, int base = 10) const {
    Number out{};
    const auto read = std::from_chars(text.data(), text.data() + text.size(), out, base);
    if (read.ec != std::errc() || out < low || out > high) fail("a number is not in its range");
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    return out;
  }
  double real(std::string_view& text) const {
    double out = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
    if (read.ec != std::errc() || !std::isfinite(out)) fail("expected a number");
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    return out;
  }
  template <class Number>
  std::vector<Number> list(std::string_view& text, Number high) const {
    std::vector<Number> out;
    take(text, "[");
    while (!text.starts_with("]")) {
      if (!out.empty()) take(text, ", ");
      out.push_back(number<Number>(text, 0, high));
    }
    take(text, "]");
    return out;
  }
  void take(std::string_view& text, std::string_view what) const {
    if (!text.starts_with(what)) fail("expected '" + std::string(what) + "'");
    text.remove_prefix(what.size());
  }
  void done(std::string_view text) const {
    if (!text.empty()) fail("expected the end of the line");
  }
  template <class Number>
  Number only_number(std::string_view text, int base = 10) const {
    const Number out = number<Number>(text, 0, std::numeric_limits<Number>::max(), base);
    done(text);
    return out;
  }
  double nanoseconds(const std::string& text) const {
    std::string_view left = text;
    const double out = real(left);
    take(left, " ns");
    done(left);
    return out;
  }

  // ---- records

  program_record read_program() {
    program_record out;
    out.graph = only_number<std::uint64_t>(rest("function "), 16);
    out.code = only_number<std::uint64_t>(rest("code "), 16);
    out.options = rest("options ");
    out.machine = rest("machine ");
    while (next() == "class") out.classes.push_back(read_class());
    expect("end of function");
    return out;
  }

  class_record read_class() {
    class_record out;
    expect("class");
    while (next().starts_with("argument ")) {
      const std::string text = rest("argument ");
      std::string_view left = text;
      const std::vector<std::int64_t> shape = list<std::int64_t>(left, std::int64_t{1} << 48);
      if (shape.size() > max_rank) fail("too many axes");
      out.shapes.emplace_back(shape.begin(), shape.end());
      out.frozen.push_back(!left.empty());
      if (!left.empty()) take(left, " frozen");
      done(left);
    }
    out.graph = section("graph");
    while (next() == "plan") out.plans.push_back(read_plan());
    expect("end of class");
    return out;
  }

  plan_record read_plan() {
    plan_record out;
    expect("plan");
    out.cost = nanoseconds(rest("cost "));
    out.cost_bound = nanoseconds(rest("bound "));
    out.candidates = only_number<std::size_t>(rest("considered "));
    out.goals = only_number<std::size_t>(rest("values "));
    out.chosen = only_list<int>(rest("chosen "));
    read_budget(out.budget, rest("budget "));
    for (int each : only_list<int>(rest("aliases "))) out.may_alias.push_back(each != 0);
    while (next().starts_with("nest ")) {
      const std::string text = rest("nest ");
      std::string_view left = text;
      nest_note note;
      note.enodes = list<eqsat::node_id>(left, std::numeric_limits<eqsat::node_id>::max());
      if (!left.empty()) take(left, " ");
      note.label = std::string(left);
      out.notes.push_back(std::move(note));
    }
    out.schedules = section("schedules");
    while (next() == "tile programs") out.tile_programs.push_back(section("tile programs"));
    out.rewrites = section("rewrites");
    expect("end of plan");
    return out;
  }

  template <class Number>
  std::vector<Number> only_list(const std::string& text) const {
    std::string_view left = text;
    std::vector<Number> out = list<Number>(left, std::numeric_limits<Number>::max());
    done(left);
    return out;
  }

  void read_budget(planning::budget_report& out, const std::string& text) const {
    std::string_view left = text;
    const std::vector<std::size_t> numbers =
        list<std::size_t>(left, std::numeric_limits<std::size_t>::max());
    if (numbers.size() != 6) fail("a budget has six numbers");
    out.budget = numbers[0];
    out.unlimited = numbers[1];
    out.met = numbers[2] != 0;
    out.epochs = static_cast<int>(numbers[3]);
    out.recomputed = static_cast<int>(numbers[4]);
    out.plans = static_cast<int>(numbers[5]);
    take(left, " at ");
    out.price = real(left);
    done(left);
  }

  std::string_view text_;
  std::size_t at_ = 0, number_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::detail
