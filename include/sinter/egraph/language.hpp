// SPDX-License-Identifier: MIT
//
// What a language is to the engine, as concepts. Only `operators` is needed; analysis data,
// literals in patterns and printing of payloads are optional members that are found by their
// signature:
//
//   struct my_language {
//     static constexpr std::array operators{operator_info{"add", 2, true}, ...};
//     using data = ...;                                   // analysis data of a class
//     data make(const egraph<my_language>&, enode_view);  // data of a new node
//     merge_result merge(data& into, const data& from);   // join of two classes
//     void modify(egraph<my_language>&, class_id);        // may add nodes and unite
//     bool can_unite(const data&, const data&);           // false: the union is refused, counted
//     static constexpr bool parse_literal(std::string_view, double&);  // `0`, `1.5` in patterns
//     bool matches_literal(const egraph<my_language>&, class_id, double);
//     // root: the class that the rule matched
//     class_id add_literal(egraph<my_language>&, double, class_id root);
//     std::string payload_text(std::uint16_t op, std::uint32_t payload);
//   };
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sinter/egraph/enode.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

template <class Language>
class egraph;

/// Stands for the analysis data of a language that has none.
struct no_data {};

template <class Language>
struct data_of {
  using type = no_data;
};
template <class Language>
  requires requires { typename Language::data; }
struct data_of<Language> {
  using type = typename Language::data;
};
template <class Language>
using data_t = typename data_of<Language>::type;

template <class Language>
concept HasMake = requires(Language& language, const egraph<Language>& graph, enode_view node) {
  { language.make(graph, node) } -> std::convertible_to<data_t<Language>>;
};
template <class Language>
concept HasMerge =
    requires(Language& language, data_t<Language>& into, const data_t<Language>& from) {
      { language.merge(into, from) } -> std::same_as<merge_result>;
    };
template <class Language>
concept HasModify = requires(Language& language, egraph<Language>& graph, class_id id) {
  language.modify(graph, id);
};
template <class Language>
concept HasCanUnite =
    requires(Language& language, const data_t<Language>& a, const data_t<Language>& b) {
      { language.can_unite(a, b) } -> std::same_as<bool>;
    };
template <class Language>
concept HasParseLiteral = requires(std::string_view text, double& value) {
  { Language::parse_literal(text, value) } -> std::same_as<bool>;
};
template <class Language>
concept HasMatchesLiteral =
    requires(const Language& language, const egraph<Language>& graph, class_id id, double value) {
      { language.matches_literal(graph, id, value) } -> std::same_as<bool>;
    };
template <class Language>
concept HasAddLiteral =
    requires(Language& language, egraph<Language>& graph, double value, class_id root) {
      { language.add_literal(graph, value, root) } -> std::same_as<class_id>;
    };
template <class Language>
concept HasPayloadText =
    requires(const Language& language, std::uint16_t op, std::uint32_t payload) {
      { language.payload_text(op, payload) } -> std::convertible_to<std::string>;
    };

/// Index of the operator called `name`, or -1.
template <class Language>
constexpr int find_operator(std::string_view name) {
  for (std::size_t i = 0; i < Language::operators.size(); ++i) {
    if (Language::operators[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
