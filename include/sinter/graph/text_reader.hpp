// SPDX-License-Identifier: MIT
// What reading graphs from text is made of: words, numbers and extents, with line and column in
// every error. Text may come from anywhere: sizes are limited, so that no text takes long or
// overflows a number.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <sinter/graph/graph.hpp>
#include <sinter/graph/scalar_semantics.hpp>
#include <sinter/graph/symbol_name.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir::detail {

/// Extents in text: at most so many different expressions and symbols (real graphs have tens), so
/// many terms in a product, and numbers and elements below this. 2^48 elements are a petabyte of
/// f32.
inline constexpr std::size_t expression_limit = 1024;
inline constexpr std::int64_t term_limit = 256;
inline constexpr std::int64_t number_limit = std::int64_t{1} << 48;
inline constexpr int depth_limit = 32;

class text_reader {
 public:
  /// `reader`: who reads, for messages.
  text_reader(std::string_view text, dim_table& dims, std::string_view reader = "parse_graph")
      : text_(text), dims_(dims), reader_(reader) {}

  [[noreturn]] void fail(const std::string& reason) const { fail_at(at_, reason); }
  [[noreturn]] void fail_at(std::size_t place, const std::string& reason) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < place && i < text_.size(); ++i) {
      const bool ends = text_[i] == '\n';
      line += ends ? 1 : 0;
      column = ends ? 1 : column + 1;
    }
    raise(graph_error(std::string(reader_) + ": line " + std::to_string(line) + ", column " +
                      std::to_string(column) + ": " + reason));
  }

  /// The place of the next character that is no space.
  std::size_t place() {
    skip_space();
    return at_;
  }

  void go_to(std::size_t place) { at_ = place; }
  /// To the next such character of the line.
  void skip_to(char c) {
    const std::size_t found = text_.find(c, at_);
    if (found == std::string_view::npos || found > text_.find('\n', at_))
      fail(std::string("expected '") + c + "'");
    at_ = found;
  }

  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool at_end_of_line() {
    skip_space();
    return at_ == text_.size() || text_[at_] == '\n';
  }
  void end_line() {
    if (!at_end_of_line()) fail("expected the end of the line");
    if (at_ < text_.size()) ++at_;
  }

  bool accept(std::string_view what) {
    skip_space();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void expect(std::string_view what) {
    if (!accept(what)) fail("expected '" + std::string(what) + "'");
  }

  /// What stands between the two extents of a guard.
  guard::fact relation() {
    if (accept("==")) return guard::fact::equal;
    if (accept("!=")) return guard::fact::differ;
    expect("<=");
    return guard::fact::at_most;
  }

  std::string_view word() {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) ||
                                  (text_[end] == '.' && !text_.substr(end).starts_with(".."))))
      ++end;
    const std::string_view out = text_.substr(at_, end - at_);
    if (!is_identifier(out)) fail("expected a name");
    at_ = end;
    return out;
  }
  bool accept_word(std::string_view what) {
    const std::size_t start = place();
    if (at_ == text_.size() || !is_letter(text_[at_])) return false;
    if (word() == what) return true;
    at_ = start;
    return false;
  }

  template <class Integer = std::int64_t>
  Integer integer(std::type_identity_t<Integer> low, std::type_identity_t<Integer> high) {
    skip_space();
    Integer out = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
    if (error == std::errc::invalid_argument) fail("expected an integer");
    if (error != std::errc{} || out < low || out > high)
      fail("the number is not in " + std::to_string(low) + ".." + std::to_string(high));
    at_ = static_cast<std::size_t>(end - text_.data());
    return out;
  }

  /// A number as the dtype holds it.
  double number(dtype type) {
    const std::size_t start = place();
    if (type == dtype::boolean) {
      if (accept_word("true")) return 1;
      if (!accept_word("false")) fail("expected true or false");
      return 0;
    }
    const double read = type == dtype::f32 ? static_cast<double>(real<float>()) : real<double>();
    const double out = cast_scalar(dtype::f64, type, read);
    if (is_integral(type) && out != read)
      fail_at(start, "the number is no " + std::string(sinter::name(type)));
    return out;
  }

  /// Calls `read()` for every element of a list in brackets.
  template <class Read>
  void list(std::string_view open, std::string_view close, Read read) {
    expect(open);
    if (accept(close)) return;
    do read();
    while (accept(","));
    expect(close);
  }

  dim extent() {
    const std::size_t start = place();
    const dim out = sum(0);
    if (dims_.size() > expression_limit) fail_at(start, "too many different extents");
    return out;
  }

  /// A shape in brackets, with a number of elements that can be counted.
  symbolic_shape shape() {
    const std::size_t start = place();
    symbolic_shape out;
    list("[", "]", [&] {
      if (out.size() == static_cast<std::size_t>(max_rank))
        fail("more than " + std::to_string(max_rank) + " axes");
      out.push_back(extent());
    });
    check_size(out, start);
    return out;
  }

  void check_size(const symbolic_shape& shape, std::size_t start) const {
    std::int64_t elements = 1, terms = 1;
    for (dim d : shape) {
      elements = saturating_mul(elements, weight(d));
      terms = saturating_mul(terms, count_terms(d));
    }
    if (elements > number_limit || terms > term_limit) fail_at(start, "the shape is too large");
  }

 private:
  struct signed_extent {
    dim size;
    bool negative = false;
  };

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    // A comment reaches to the end of its line.
    if (at_ < text_.size() && text_[at_] == '#')
      at_ = std::min(text_.find('\n', at_), text_.size());
  }

  template <class Real>
  Real real() {
    skip_space();
    Real out = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
    if (error == std::errc::result_out_of_range) fail("the number is out of range");
    if (error != std::errc{}) fail("expected a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return out;
  }

  // Sums: a + -2*b - c.
  dim sum(int depth) {
    if (depth > depth_limit) fail("extents nested too deeply");
    dim total(0);
    bool subtract = false;
    do {
      const signed_extent next = product(depth);
      const std::int64_t size = saturating_add(weight(total), weight(next.size));
      if (size > 2 * number_limit) fail("the extent is too large");
      total = next.negative != subtract ? dims_.sub(total, next.size) : dims_.add(total, next.size);
      if (count_terms(total) > term_limit) fail("the extent has too many terms");
      subtract = false;
    } while (accept("+") || (subtract = accept("-")));
    return total;
  }

  // From left to right: a*b/c is (a*b)/c.
  signed_extent product(int depth) {
    signed_extent total = factor(depth);
    for (;;) {
      const std::size_t start = place();
      const bool times = accept("*"), divided = !times && accept("/");
      if (!times && !divided && !accept("%")) return total;
      const signed_extent next = factor(depth);
      if (times) {
        if (saturating_mul(weight(total.size), weight(next.size)) > number_limit ||
            saturating_mul(count_terms(total.size), count_terms(next.size)) > term_limit)
          fail_at(start, "the product is too large");
        total = {dims_.mul(total.size, next.size), total.negative != next.negative};
      } else if (total.negative || next.negative) {
        fail_at(start, "a negative number is divided");
      } else {
        total.size =
            divided ? dims_.floor_div(total.size, next.size) : dims_.mod(total.size, next.size);
      }
      if (dims_.size() > expression_limit) fail_at(start, "too many different extents");
    }
  }

  signed_extent factor(int depth) {
    if (accept("-")) {
      if (depth > depth_limit) fail("extents nested too deeply");
      const signed_extent x = factor(depth + 1);
      return {x.size, !x.negative};
    }
    if (accept("(")) {
      const dim inner = sum(depth + 1);
      expect(")");
      return {inner};
    }
    skip_space();
    if (at_ < text_.size() && is_digit(text_[at_])) return {dim(integer(0, number_limit))};
    const std::size_t start = place();
    const std::string_view name = word();
    if (name == "broadcast") return {broadcast(depth)};
    return {symbol(name, start)};
  }

  dim broadcast(int depth) {
    dim total(1);
    list("(", ")", [&] { total = dims_.broadcast(total, sum(depth + 1)); });
    return total;
  }

  dim symbol(std::string_view name, std::size_t start) {
    std::int64_t number = dims_.find_symbol(name);
    if (number >= 0) return dims_.symbol(number);
    if (!is_unnamed_symbol(name)) fail_at(start, "there is no symbol '" + std::string(name) + "'");
    const std::string_view digits = name.substr(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || number >= static_cast<std::int64_t>(expression_limit))
      fail_at(start, "too many symbols");
    if (const auto& known = dims_.described();
        number < static_cast<std::int64_t>(known.size()) &&
        !known[static_cast<std::size_t>(number)].name.empty())
      fail_at(start, "symbol " + std::to_string(number) + " is named '" +
                         known[static_cast<std::size_t>(number)].name + "'");
    return dims_.symbol(number);
  }

  // A bound of the coefficients: of constants the number itself.
  std::int64_t weight(dim d) const {
    if (d.is_constant()) return std::max<std::int64_t>(d.constant(), 1);
    if (dims_.kind(d) != dim_kind::sum) return 1;
    std::int64_t total = 0;
    const span<const std::int64_t> o = dims_.operands(d);
    for (std::size_t i = 0; i < o.size(); i += 2)
      total = saturating_add(total, o[i] < 0 ? -o[i] : o[i]);
    return total;
  }
  std::int64_t count_terms(dim d) const {
    if (d.is_constant() || dims_.kind(d) != dim_kind::sum) return 1;
    return static_cast<std::int64_t>(dims_.operands(d).size() / 2);
  }

  std::string_view text_;
  dim_table& dims_;
  std::string_view reader_;
  std::size_t at_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::ir::detail
