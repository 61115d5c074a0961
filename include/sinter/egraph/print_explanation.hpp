// SPDX-License-Identifier: MIT
//
// Explanations as text:
//
//   (+ (* x 0) y)
//   => (+ 0 y)      zero * at 0: (* x 0) => 0
//   => (+ y 0)      commute +: (+ 0 y) => (+ y 0)
//   <= (* 1 y)      ...: a rule read from right to left
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <sinter/egraph/explanation.hpp>
#include <sinter/egraph/language.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Writes terms up to a length; shared sub-terms are written out each time.
template <class Language>
class term_writer {
 public:
  term_writer(const Language& language, const term_list& terms, std::size_t max_length)
      : language_(language), terms_(terms), max_length_(max_length) {}

  std::string write(term_id id) {
    out_.clear();
    append(id);
    if (out_.size() > max_length_) out_.replace(max_length_, std::string::npos, "...");
    return out_;
  }

 private:
  void append(term_id id) {
    if (out_.size() > max_length_) return;
    const term_view term = terms_[id];
    if (!term.children.empty()) out_ += '(';
    out_ += Language::operators[term.op].name;
    if (term.payload != 0) out_ += "[" + payload_text(term) + "]";
    for (const term_id child : term.children) {
      out_ += ' ';
      append(child);
    }
    if (!term.children.empty()) out_ += ')';
  }
  std::string payload_text(const term_view& term) const {
    if constexpr (HasPayloadText<Language>) {
      return language_.payload_text(term.op, term.payload);
    } else {
      return std::to_string(term.payload);
    }
  }

  const Language& language_;
  const term_list& terms_;
  std::size_t max_length_;
  std::string out_;
};

/// The term as `(add x (mul x y))`, cut off after `max_length` characters.
template <class Language>
std::string to_text(const Language& language, const term_list& terms, term_id id,
                    std::size_t max_length = 1000) {
  return term_writer<Language>(language, terms, max_length).write(id);
}

/// The first term, then a line per step. Terms longer than `max_length` are cut off.
template <class Language>
std::string to_text(const Language& language, const explanation& why,
                    std::size_t max_length = 1000) {
  term_writer<Language> writer(language, why.terms, max_length);
  std::string out = writer.write(why.from) + "\n";
  for (std::size_t i = 0; i < why.steps.size(); ++i) {
    const explanation_step& step = why.steps[i];
    const std::string_view arrow = step.forward ? " => " : " <= ";
    const term_id before = subterm(why.terms, why.before(i), step.position);
    const term_id after = subterm(why.terms, step.result, step.position);
    out += std::string(arrow.substr(1)) + writer.write(step.result) + "    " + step.name;
    if (!step.position.empty()) {
      out += " at";
      for (const std::uint32_t child : step.position) out += " " + std::to_string(child);
    }
    out += ": " + writer.write(before);
    out += std::string(arrow) + writer.write(after) + "\n";
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
