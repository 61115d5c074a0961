// SPDX-License-Identifier: MIT
//
// Rewrite rules as values: a name, a match program for the left side, terms or a function for the
// right side, and an optional condition. `rewrite` and `multi_rewrite` parse at compile time,
// `parse_rewrite` at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/fault.hpp>
#include <sinter/egraph/pattern.hpp>
#include <sinter/egraph/program.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// What a rule's variables stand for in one place of the e-graph. Passed to conditions and computed
/// right-hand sides.
class match {
 public:
  match(const variable_table& names, span<const class_id> roots, span<const class_id> classes,
        span<const std::uint32_t> payloads)
      : names_(&names), roots_(roots), classes_(classes), payloads_(payloads) {}

  /// The class that the (n-th) pattern as a whole matched.
  class_id root(std::size_t pattern = 0) const { return roots_[pattern]; }

  /// The class bound to `?name`. Throws `sinter::error` if the left side has no such variable.
  class_id operator[](std::string_view name) const {
    return classes_[index(names_->classes, name)];
  }

  /// The payload bound to `[?name]`.
  std::uint32_t payload(std::string_view name) const {
    return payloads_[index(names_->payloads, name)];
  }

 private:
  template <std::size_t N>
  static std::size_t index(const inline_vector<variable_name, N>& names, std::string_view name) {
    const int found = find_name(names, name);
    if (found < 0) raise(error("match: the rule's left side binds no '" + std::string(name) + "'"));
    return static_cast<std::size_t>(found);
  }

  const variable_table* names_;
  span<const class_id> roots_;
  span<const class_id> classes_;
  span<const std::uint32_t> payloads_;
};

/// True if the rule may fire. Evaluated while searching, on a rebuilt e-graph. It may read the
/// payloads and the data of the classes that the match binds; a condition that looks further (at
/// nodes below those classes) makes the result depend on changes that semi-naive matching does not
/// see, so such a rule needs `rule::full_search`.
template <class Language>
using condition = bool (*)(const egraph<Language>&, const match&);

/// A computed right-hand side: returns the class to unite with the root, or nothing.
template <class Language>
using applier = std::optional<class_id> (*)(egraph<Language>&, const match&);

/// One pattern of a multi-pattern rule: every match of all left sides unites each root with its
/// right side.
struct pattern_pair {
  std::string_view left;
  std::string_view right;
};

template <class Language>
struct rule {
  std::string_view name;  ///< refers to the caller's text
  int tag = 0;            ///< not interpreted (sinter: the rounding class)
  variable_table variables{};
  match_program left{};
  pattern_list right{};  ///< one pattern for each of the left side; empty with `compute`
  applier<Language> compute = nullptr;  ///< instead of `right`
  condition<Language> guard = nullptr;  ///< may be null
  bool full_search = false;             ///< search everything in every iteration
  /// What the rule was parsed from, if that was at compile time: it refers to the caller's text.
  inline_vector<pattern_pair, max_patterns> texts{};

  /// The same rule with another tag.
  constexpr rule with_tag(int value) const {
    rule result = *this;
    result.tag = value;
    return result;
  }
  /// The same rule, searched without regard to what changed; for conditions that look below the
  /// bound classes.
  constexpr rule searched_fully() const {
    rule result = *this;
    result.full_search = true;
    return result;
  }
};

/// Parses `pairs` into `out` and returns the first fault.
template <class Language>
constexpr pattern_fault build_rule(rule<Language>& out, span<const pattern_pair> pairs) {
  pattern_list left;
  pattern_parser<Language> left_parser(left, out.variables, true);
  for (const pattern_pair& pair : pairs) {
    if (const pattern_fault fault = left_parser.parse(pair.left)) return fault;
  }
  out.left = match_compiler(left).compile();
  pattern_parser<Language> right_parser(out.right, out.variables, false);
  for (const pattern_pair& pair : pairs) {
    if (out.compute != nullptr) break;
    if (const pattern_fault fault = right_parser.parse(pair.right)) return fault;
  }
  return {};
}

/// `name`: wherever `left` matches and `guard` holds, its class is united with `right`. Both texts
/// are parsed at compile time; a mistake in them does not compile.
template <class Language>
consteval rule<Language> rewrite(std::string_view name, std::string_view left,
                                 std::string_view right, condition<Language> guard = nullptr,
                                 int tag = 0) {
  rule<Language> result{.name = name, .tag = tag, .guard = guard};
  const pattern_pair pairs[] = {{left, right}};
  const pattern_fault fault = build_rule<Language>(result, pairs);
  if (fault) fault_reports[static_cast<std::size_t>(fault.kind)](fault);
  result.texts = {std::begin(pairs), std::end(pairs)};
  return result;
}

/// The same with a right-hand side that is computed from the match.
template <class Language>
consteval rule<Language> rewrite(std::string_view name, std::string_view left,
                                 applier<Language> compute, condition<Language> guard = nullptr,
                                 int tag = 0) {
  rule<Language> result{.name = name, .tag = tag, .compute = compute, .guard = guard};
  const pattern_pair pairs[] = {{left, {}}};
  const pattern_fault fault = build_rule<Language>(result, pairs);
  if (fault) fault_reports[static_cast<std::size_t>(fault.kind)](fault);
  result.texts = {std::begin(pairs), std::end(pairs)};
  return result;
}

/// A rule with several patterns that share variables: `multi_rewrite<L>("name", {{left, right},
/// {left, right}})`.
template <class Language>
consteval rule<Language> multi_rewrite(std::string_view name,
                                       std::initializer_list<pattern_pair> pairs,
                                       condition<Language> guard = nullptr, int tag = 0) {
  rule<Language> result{.name = name, .tag = tag, .guard = guard};
  const pattern_fault fault = build_rule<Language>(result, span(pairs.begin(), pairs.size()));
  if (fault) fault_reports[static_cast<std::size_t>(fault.kind)](fault);
  result.texts = {pairs.begin(), pairs.end()};
  return result;
}

/// A multi-pattern with a computed right-hand side; what it returns is united with the first root,
/// other unions it makes itself (`graph.unite(m.root(1), ...)`).
template <class Language>
consteval rule<Language> multi_rewrite(std::string_view name,
                                       std::initializer_list<std::string_view> lefts,
                                       applier<Language> compute,
                                       condition<Language> guard = nullptr, int tag = 0) {
  rule<Language> result{.name = name, .tag = tag, .compute = compute, .guard = guard};
  inline_vector<pattern_pair, max_patterns> pairs;
  for (const std::string_view left : lefts) pairs.push_back({left, {}});
  const pattern_fault fault = build_rule<Language>(result, span(pairs.begin(), pairs.size()));
  if (fault) fault_reports[static_cast<std::size_t>(fault.kind)](fault);
  result.texts = {pairs.begin(), pairs.end()};
  return result;
}

/// A rule from texts that are known at run time only. `name` must outlive the rule, the patterns
/// need not. Throws `sinter::error` with the pattern and the place of the mistake.
template <class Language>
rule<Language> parse_rewrite(std::string_view name, std::string_view left, std::string_view right,
                             condition<Language> guard = nullptr, int tag = 0) {
  rule<Language> result{.name = name, .tag = tag, .guard = guard};
  const pattern_pair pairs[] = {{left, right}};
  report_fault(build_rule<Language>(result, pairs));
  return result;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
