// SPDX-License-Identifier: MIT
// A text read line by line, and the fields of a line from left to right, with the number of the
// line in every error.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sinter/support/abi.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

/// What is read must be what was expected; otherwise an Error says so.
template <class Error>
class line_reader {
 public:
  /// `what`: is read, for messages.
  line_reader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  [[noreturn]] void fail(const std::string& reason) const {
    raise(Error(std::string(what_) + ", line " + std::to_string(number_) + ": " + reason));
  }

  // ---- lines

  bool at_end() const { return at_ == text_.size(); }
  /// The line that comes next; empty at the end.
  std::string_view next() const { return text_.substr(at_, text_.find('\n', at_) - at_); }
  /// Takes it.
  std::string_view line() {
    const std::string_view out = next();
    ++number_;
    if (at_ + out.size() == text_.size()) fail("the text is cut short");
    at_ += out.size() + 1;
    return out;
  }
  bool accept(std::string_view whole) {
    if (next() != whole) return false;
    line();
    return true;
  }
  void expect(std::string_view whole) {
    if (line() != whole) fail("expected '" + std::string(whole) + "'");
  }
  /// What follows the beginning of a line.
  std::string_view rest(std::string_view beginning) {
    std::string_view found = line();
    take(found, beginning);
    return found;
  }
  /// The lines between `name` and "end of name"; empty where there is no such section.
  std::string_view section(std::string_view name) {
    if (!accept(name)) return {};
    const std::size_t start = at_;
    const std::string last = "end of " + std::string(name);
    for (std::size_t end = at_;; end = at_)
      if (line() == last) return text_.substr(start, end - start);
  }

  // ---- fields, which are taken off the front

  void take(std::string_view& field, std::string_view what) const {
    if (!field.starts_with(what)) fail("expected '" + std::string(what) + "'");
    field.remove_prefix(what.size());
  }
  void done(std::string_view field) const {
    if (!field.empty()) fail("expected the end of the line");
  }
  template <class Number>
  Number number(std::string_view& field, Number low, Number high, int base = 10) const {
    Number out{};
    const auto read = std::from_chars(field.data(), field.data() + field.size(), out, base);
    if (read.ec != std::errc() || out < low || out > high) fail("a number is not in its range");
    field.remove_prefix(static_cast<std::size_t>(read.ptr - field.data()));
    return out;
  }
  /// A line that is but a number from 0 on.
  template <class Number>
  Number only_number(std::string_view field, int base = 10) const {
    const Number out = number<Number>(field, 0, std::numeric_limits<Number>::max(), base);
    done(field);
    return out;
  }
  double real(std::string_view& field) const {
    double out = 0;
    const auto read = std::from_chars(field.data(), field.data() + field.size(), out);
    if (read.ec != std::errc() || !std::isfinite(out)) fail("expected a number");
    field.remove_prefix(static_cast<std::size_t>(read.ptr - field.data()));
    return out;
  }
  /// Numbers from 0 to `high`: "[1, 2, 3]".
  template <class Number>
  std::vector<Number> list(std::string_view& field,
                           Number high = std::numeric_limits<Number>::max()) const {
    std::vector<Number> out;
    take(field, "[");
    while (!field.starts_with("]")) {
      if (!out.empty()) take(field, ", ");
      out.push_back(number<Number>(field, 0, high));
    }
    take(field, "]");
    return out;
  }
  template <class Number>
  std::vector<Number> only_list(std::string_view field) const {
    std::vector<Number> out = list<Number>(field);
    done(field);
    return out;
  }

 private:
  std::string_view text_, what_;
  std::size_t at_ = 0, number_ = 0;
};

}  // namespace sinter::inline SINTER_ABI
