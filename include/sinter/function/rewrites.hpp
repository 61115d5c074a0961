// SPDX-License-Identifier: MIT
// The rewrites that led to the nests of a plan, as values and as text: one graph of terms, and for
// each nest the equalities between them that make what was traced what the nest computes. An
// equality is one application of a rule; that it holds inside of larger terms is congruence, which
// is not written down, so that the text is as long as there are equalities.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <sinter/graph/graph.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/line_reader.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

// rule: an application of a rule of that name, or what its function united besides; analysis:
// constants were folded; instruction: the ops of a superinstruction.
enum class rewrite_kind : std::uint8_t { rule, analysis, instruction };
inline constexpr std::array<std::string_view, 3> rewrite_kind_names{"rule", "analysis",
                                                                    "instruction"};

struct rewrite {
  rewrite_kind kind{};
  std::string name;  // of the rule
  // The rule needs more of the e-graph than its two sides to give the one for the other: they are
  // compared by their values.
  bool by_value = false;
  int left = 0, right = 0;
};

// The order of the rewrites of a link, in which there is none twice.
inline bool comes_before(const rewrite& a, const rewrite& b) {
  return std::tie(a.left, a.right, a.kind, a.name) < std::tie(b.left, b.right, b.kind, b.name);
}

// Why `from` equals `to`. `then`: the rule that matched `to` and made, in its right side, what the
// next link starts from; empty in the last link. `then_unchecked`: where the rule needs more of the
// e-graph than `to`.
struct rewrite_link {
  int from = 0, to = 0;
  std::vector<rewrite> steps;
  std::string then;
  bool then_unchecked = false;
};

struct rewrites {
  ir::graph terms;                               // bound as the graph of the plan
  std::vector<std::vector<rewrite_link>> nests;  // in the order of the notes (plan_record)
};

inline std::string to_text(const rewrites& r) {
  std::string out = "terms\n" + ir::to_text(r.terms) + "end of terms\n";
  const auto node = [](int id) {
    // Of "%" + std::to_string(id), GCC 12 warns at -O3 that memory overlaps.
    std::string name("%");
    return name += std::to_string(id);
  };
  for (std::size_t i = 0; i < r.nests.size(); ++i) {
    out += "nest " + std::to_string(i) + "\n";
    for (const rewrite_link& link : r.nests[i]) {
      out += "  " + node(link.from) + " is " + node(link.to) + "\n";
      for (const rewrite& s : link.steps)
        out += "    " + std::string(rewrite_kind_names[static_cast<std::size_t>(s.kind)]) +
               (s.name.empty() ? "" : " " + s.name) + (s.by_value ? ", by value" : "") + ": " +
               node(s.left) + " = " + node(s.right) + "\n";
      if (!link.then.empty())
        out += "    then " + link.then + (link.then_unchecked ? ", unchecked" : "") + "\n";
    }
  }
  return out;
}

class rewrites_reader {
 public:
  rewrites_reader(std::string_view text, span<const ir::custom_op* const> customs)
      : text_(text), in_(text, "rewrites"), customs_(customs) {}

  rewrites read() {
    rewrites out;
    out.terms = ir::parse_bound_graph(in_.section("terms"), customs_);
    terms_ = out.terms.size();
    while (!in_.at_end()) {
      in_.expect("nest " + std::to_string(out.nests.size()));
      out.nests.emplace_back();
      while (in_.next().starts_with("  %")) out.nests.back().push_back(read_link());
    }
    if (to_text(out) != text_) in_.fail("not as it was written");
    return out;
  }

 private:
  // "%3" at the beginning.
  int node(std::string_view& text) const {
    in_.take(text, "%");
    return in_.number(text, 0, terms_ - 1);
  }

  rewrite_link read_link() {
    rewrite_link out;
    std::string_view text = in_.rest("  ");
    out.from = node(text);
    in_.take(text, " is ");
    out.to = node(text);
    while (in_.next().starts_with("    ")) {
      std::string_view step = in_.rest("    ");
      if (step.starts_with("then ")) {
        step.remove_prefix(5);
        out.then_unchecked = step.ends_with(", unchecked");
        if (out.then_unchecked) step.remove_suffix(11);
        out.then = std::string(step);
        break;
      }
      out.steps.push_back(read_step(step));
      const std::size_t count = out.steps.size();
      if (count > 1 && !comes_before(out.steps[count - 2], out.steps[count - 1]))
        in_.fail("each rewrite is stated once, in the order of their terms");
    }
    return out;
  }
  rewrite read_step(std::string_view text) const {
    rewrite out;
    const std::size_t colon = text.rfind(": %");
    if (colon == std::string_view::npos) in_.fail("expected two terms");
    std::string_view name = text.substr(0, colon), sides = text.substr(colon + 2);
    out.left = node(sides);
    in_.take(sides, " = ");
    out.right = node(sides);
    if (name.ends_with(", by value")) {
      out.by_value = true;
      name.remove_suffix(10);
    }
    for (std::size_t i = 0; i < rewrite_kind_names.size(); ++i) {
      const std::string_view kind = rewrite_kind_names[i];
      if (name != kind && !name.starts_with(std::string(kind) + " ")) continue;
      out.kind = static_cast<rewrite_kind>(i);
      out.name = std::string(name.substr(std::min(name.size(), kind.size() + 1)));
      return out;
    }
    in_.fail("expected a rule");
  }

  std::string_view text_;
  line_reader<graph_error> in_;
  span<const ir::custom_op* const> customs_;
  int terms_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::detail
