// SPDX-License-Identifier: MIT
// Plan files for fuzzing: what small programs write here and now, changed line by line as bytes
// say, with the check sum of what comes of it. Nothing that is kept in a corpus goes stale with the
// format of plans, or with the rules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../support/run_graph.hpp"
#include "fuzz.hpp"
#include <sinter/function/plan_file.hpp>
#include <sinter/function/read_plan_file.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/plans.hpp>
#include <sinter/sinter.hpp>

namespace fuzz {

struct planned_program {
  sinter::ir::graph graph;
  std::vector<sinter::ir::reference_tensor> arguments;
  std::vector<bool> frozen;
  std::string saved, exported;
};

// An element-wise function, rows, products with a value that is prepared, a product over columns
// that is assigned, and movement.
inline constexpr std::string_view graphs_to_plan[] = {
    R"(%0 = argument {number: 0} : f32[s0, 6]
%1 = argument {number: 1} : f32[1, 6]
%2 = exp(%0) : f32[s0, 6]
%3 = broadcast_to(%1) : f32[s0, 6]
%4 = mul(%2, %3) : f32[s0, 6]
output: %4
)",
    R"(%0 = argument {number: 0} : f32[5, 20]
%1 = constant {value: 2} : f32[]
%2 = mul(%0, %1) : f32[5, 20]
%3 = softmax(%2) {axes: [1]} : f32[5, 20]
output: %3
)",
    R"(%0 = argument {number: 0} : f32[4, 8]
%1 = argument {number: 1} : f32[8, 12]
%2 = argument {number: 2} : f32[12, 3]
%3 = constant {value: 0.5} : f32[]
%4 = mul(%1, %3) : f32[8, 12]
%5 = matmul(%0, %4) : f32[4, 12]
%6 = tanh(%5) : f32[4, 12]
%7 = matmul(%6, %2) : f32[4, 3]
output: %7
)",
    R"(%0 = argument {number: 0} : f32[4, 8]
%1 = argument {number: 1} : f32[4, 3]
%2 = argument {number: 2} : f32[8, 3]
%3 = matmul(%0, %1) {transpose_a} : f32[8, 3]
%4 = sub(%2, %3) : f32[8, 3]
%5 = reduce_sum(%1) {axes: [0]} : f32[1, 3]
output: %4 -> argument 2
output: %5
)",
    R"(%0 = argument {number: 0} : f32[6, 4]
%1 = argument {number: 1} : i32[3]
%2 = gather(%0, %1) {axis: 0} : f32[3, 4]
%3 = concat(%2, %0) {axis: 0} : f32[9, 4]
%4 = permute(%3) {axes: [1, 0]} : f32[4, 9]
output: %4
)"};

inline planned_program plan(std::string_view text, const sinter::program_code& code) {
  planned_program out;
  out.graph = sinter::ir::parse_graph(text);
  for (int id = 0; id < out.graph.size(); ++id) {
    if (out.graph[id].code != sinter::ir::op::argument) continue;
    sinter::shape_vector shape;
    for (const sinter::ir::dim d : out.graph[id].shape)
      shape.push_back(d.is_constant() ? d.constant() : 7);
    out.arguments.push_back(sinter::ir::filled(out.graph[id].type, shape, 1));
    // The weights of two products, of which the first one is computed once.
    out.frozen.push_back(text == graphs_to_plan[2] && out.frozen.size() == 1);
  }
  sinter::program p(out.graph, code);
  const auto given = test_support::arguments_for(p, out.arguments, out.frozen);
  const auto call = p.prepare(given.memory, given.symbols);
  out.exported = p.export_plan(call, given.memory, given.symbols);
  out.saved = sinter::detail::plan_file_writer().write(
      {sinter::detail::plan_file_reader(out.exported).read().origin, {p.saved_plans()}});
  return out;
}

inline const std::vector<planned_program>& planned_programs() {
  static const std::vector<planned_program> all = [] {
    std::vector<planned_program> out;
    for (const std::string_view text : graphs_to_plan)
      out.push_back(plan(text, sinter::detail::all_code()));
    return out;
  }();
  return all;
}

// Lines of a text, changed: taken away, put twice, moved, with a number or a word exchanged.
class line_editor {
 public:
  explicit line_editor(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines_.emplace_back(text.substr(at, end - at));
      at = end + 1;
    }
  }

  void edit(bytes& in) {
    while (!in.empty() && lines_.size() < 4000) edit_line(in);
  }

  std::string text() const {
    std::string out;
    for (const std::string& each : lines_) out += each + "\n";
    return out;
  }

 private:
  std::size_t place(bytes& in) {
    const std::size_t high = in.next();
    return (high * 256 + in.next()) % lines_.size();
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_space(char c) { return c == ' ' || c == ',' || c == ':' || c == '[' || c == ']'; }

  // [first, last) of the `number`-th run of characters that `belongs` accepts.
  template <class Belongs>
  static std::pair<std::size_t, std::size_t> find(const std::string& line, std::size_t number,
                                                  Belongs belongs) {
    std::vector<std::pair<std::size_t, std::size_t>> runs;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t first = at;
      while (at < line.size() && belongs(line[at])) ++at;
      if (at > first)
        runs.emplace_back(first, at);
      else
        ++at;
    }
    return runs.empty() ? std::pair(line.size(), line.size()) : runs[number % runs.size()];
  }
  static std::pair<std::size_t, std::size_t> word(const std::string& line, std::size_t number) {
    return find(line, number, [](char c) { return !is_space(c); });
  }

  void edit_line(bytes& in) {
    if (lines_.empty()) lines_.emplace_back();
    const std::size_t kind = in.below(8), at = place(in);
    std::string& line = lines_[at];
    const auto here = lines_.begin() + static_cast<std::ptrdiff_t>(at);
    switch (kind) {
      case 0: lines_.erase(here); return;
      case 1: lines_.insert(here, std::string(line)); return;
      case 2: std::swap(line, lines_[place(in)]); return;
      case 3: lines_.insert(here, std::string(lines_[place(in)])); return;
      case 4: {
        const auto [first, last] = find(line, in.next(), is_digit);
        line.replace(first, last - first, std::to_string(in.integer()));
        return;
      }
      case 5: {
        const auto [first, last] = find(line, in.next(), is_digit);
        line.replace(first, last - first, std::to_string(in.next()));
        return;
      }
      case 6: {
        const std::string from = lines_[place(in)];
        const auto [first, last] = word(line, in.next());
        const auto [other, end] = word(from, in.next());
        line.replace(first, last - first, from, other, end - other);
        return;
      }
      default: {
        const auto [first, last] = word(line, in.next());
        line.replace(first, last - first, in.text(in.below(16)));
        return;
      }
    }
  }

  std::vector<std::string> lines_;
};

// The text with other lines, or, where the first byte says so, a text of its own; with the check
// sum that it then has.
inline std::string changed(std::string text, bytes& in) {
  if (in.below(8) == 0) {
    text = in.text(std::string::npos);
    if (!text.ends_with('\n')) text += '\n';
  } else {
    text.resize(text.rfind("check "));
    line_editor lines(text);
    lines.edit(in);
    text = lines.text();
  }
  return text + sinter::planning::detail::check_line(text);
}

}  // namespace fuzz
