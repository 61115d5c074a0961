// SPDX-License-Identifier: MIT
// What schedules in text are made of: words, numbers, lists, extents that have values. The text is
// not trusted: numbers and lists have limits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/graph/custom.hpp>
#include <sinter/graph/text_reader.hpp>
#include <sinter/plan/schedule_names.hpp>

namespace sinter::inline SINTER_ABI::planning::detail {

// The extents at hand as ranges, which saturate where evaluation would overflow.
inline ir::dim_table at_hand(ir::dim_table dims, std::span<const std::int64_t> symbols) {
  for (std::size_t i = 0; i < symbols.size(); ++i)
    dims.describe(static_cast<std::int64_t>(i), {"", {symbols[i], symbols[i]}});
  return dims;
}

class schedule_reader {
 public:
  /// `customs`: the custom ops that the text may name.
  schedule_reader(std::string_view text, std::span<const ir::custom_op* const> customs)
      : in_(text, dims_, "parse_schedule"), customs_(customs) {}

 protected:
  static constexpr std::int64_t list_limit = 4096;
  static constexpr std::int64_t extent_limit = ir::detail::number_limit;

  void skip_lines() {
    while (!in_.at_end() && in_.at_end_of_line()) in_.end_line();
  }
  void end_line() {
    in_.end_line();
    skip_lines();
  }
  void words(std::string_view all) {
    const std::size_t start = in_.place();
    while (!all.empty()) {
      const std::size_t end = std::min(all.find(' '), all.size());
      if (!in_.accept_word(all.substr(0, end)))
        in_.fail_at(start, "expected '" + std::string(all.substr(0, end)) + "'");
      all.remove_prefix(std::min(end + 1, all.size()));
    }
  }
  template <class Enum>
  Enum word(std::string_view what) {
    const std::size_t start = in_.place();
    const std::string_view found = in_.word();
    for (std::size_t i = 0; i < words_of<Enum>.size(); ++i)
      if (words_of<Enum>[i] == found) return static_cast<Enum>(i);
    in_.fail_at(start, "there is no " + std::string(what) + " '" + std::string(found) + "'");
  }
  dtype type() {
    const std::size_t start = in_.place();
    const std::string_view found = in_.word();
    for (int i = 0; i < dtype_count; ++i)
      if (name(static_cast<dtype>(i)) == found) return static_cast<dtype>(i);
    in_.fail_at(start, "there is no dtype '" + std::string(found) + "'");
  }
  ir::op op() {
    const std::size_t start = in_.place();
    const std::string_view found = in_.word();
    for (const ir::op_info& each : ir::op_table)
      if (each.name == found && !ir::is_custom(each.code)) return each.code;
    in_.fail_at(start, "there is no op '" + std::string(found) +
                           "' (custom ops must be given to the parser)");
  }
  // The custom op of this name, null if none was given; `elementwise`: for tile programs.
  const ir::custom_op* accept_custom(bool elementwise) {
    const std::size_t start = in_.place();
    const std::string_view found = in_.word();
    for (const ir::custom_op* each : customs_)
      if (each->name == found && each->elementwise == elementwise) return each;
    in_.go_to(start);
    return nullptr;
  }
  std::int64_t size(std::int64_t most = extent_limit) { return in_.integer(0, most); }
  int small_number() { return static_cast<int>(in_.integer(0, 1'000'000)); }
  // A NaN that is not the usual one comes as its bits.
  double real() {
    if (in_.accept_word("bits")) return ir::double_of(any_integer());
    return in_.number(dtype::f64);
  }
  std::int64_t any_integer() {
    return in_.integer(std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max());
  }
  template <class Add>
  void list(std::size_t most, const Add& add) {
    std::size_t count = 0;
    in_.list("[", "]", [&] {
      if (count++ == most) in_.fail("the list is too long");
      add();
    });
  }
  template <class Into>
  void bounded(const Into& into, std::size_t size) const {
    if (into.size() >= size) in_.fail("too many of these");
  }

  // An extent whose value can be counted: symbols have their extents by now.
  ir::dim extent() {
    const std::size_t start = in_.place();
    const ir::dim out = in_.extent();
    check(out, start);
    return out;
  }
  ir::symbolic_shape shape() {
    const std::size_t start = in_.place();
    const ir::symbolic_shape out = in_.shape();
    std::int64_t elements = 1;
    for (ir::dim d : out) {
      check(d, start);
      elements = ir::detail::saturating_mul(elements,
                                            std::max<std::int64_t>(1, dims_.evaluate(d, symbols_)));
    }
    if (elements > extent_limit) in_.fail_at(start, "the shape is too large");
    return out;
  }
  // Before anything is evaluated.
  void check(ir::dim d, std::size_t start) const {
    if (d.is_constant()) {
      if (d.constant() > extent_limit) in_.fail_at(start, "the extent is too large");
      return;
    }
    if (!knows_all_symbols()) in_.fail_at(start, "a symbol has no extent");
    const ir::extent_range r = at_hand(dims_, symbols_).range(d);
    if (r.high > extent_limit || r.low < -extent_limit)
      in_.fail_at(start, "the extent is too large");
  }
  bool knows_all_symbols() const {
    for (std::size_t i = 0; i < dims_.size(); ++i)
      if (const ir::dim d = ir::dim::expression(i);
          dims_.kind(d) == ir::dim_kind::symbol &&
          static_cast<std::size_t>(dims_.operands(d)[0]) >= symbols_.size())
        return false;
    return true;
  }

  ir::dim_table dims_;
  std::vector<std::int64_t> symbols_;  // the extents at hand
  ir::detail::text_reader in_;
  std::span<const ir::custom_op* const> customs_;
};

}  // namespace sinter::inline SINTER_ABI::planning::detail
