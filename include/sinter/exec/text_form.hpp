// SPDX-License-Identifier: MIT
// Writing and reading by one description. A text form is a function of a `form_writer` or a
// `form_reader`, which have the same members: what the one writes the other reads, field by field,
// so that no field can be printed and forgotten when it is read.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <sinter/exec/tile_program.hpp>
#include <sinter/graph/dim.hpp>
#include <sinter/graph/text_reader.hpp>
#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The names of an enumeration's values, in their order.
template <class Enum>
struct enum_names;

template <>
struct enum_names<command_kind> {
  static constexpr std::array<std::string_view, 11> list{"load",
                                                         "expand",
                                                         "iota",
                                                         "random",
                                                         "map",
                                                         "map_reduce",
                                                         "reduce",
                                                         "reduce_columns",
                                                         "map_reduce_columns",
                                                         "reduce_pair",
                                                         "store"};
};
template <>
struct enum_names<location::memory> {
  static constexpr std::array<std::string_view, 8> list{
      "nowhere", "slot", "kept", "row", "single", "constant", "stream", "external"};
};
template <>
struct enum_names<value_class> {
  static constexpr std::array<std::string_view, 3> list{"single", "row", "full"};
};
template <>
struct enum_names<monoid> {
  static constexpr std::array<std::string_view, monoid_count> list{"sum",  "max",    "min",
                                                                   "prod", "argmax", "deviations"};
};

template <class Enum>
constexpr std::string_view name_in_text(Enum value) {
  return enum_names<Enum>::list[static_cast<std::size_t>(value)];
}

namespace detail {

// How many values a place has unless the text says something else.
constexpr value_class usual_extent(location::memory where) {
  using enum location::memory;
  if (where == row_slot) return value_class::row;
  return where == single_slot || where == constant ? value_class::single : value_class::full;
}

// The shortest text that reads back as this value.
template <class T>
std::string shortest(T x) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof text, x).ptr);
}

inline std::string word_text(const bound_constant& c) {
  return dispatch(c.type, [&]<class T>(std::type_identity<T>) {
    T x{};
    std::memcpy(&x, &c.word, sizeof x);
    if constexpr (std::is_same_v<T, bool>)
      return std::string(x ? "true" : "false");
    else if constexpr (std::is_floating_point_v<T> || std::is_integral_v<T>)
      return shortest(x);
    else
      return shortest(static_cast<float>(x));
  });
}

}  // namespace detail

class form_writer {
 public:
  static constexpr bool reads = false;

  std::string text;

  void begin() { text.append(2 * depth_, ' '); }
  void end() {
    if (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  void deeper() { ++depth_; }
  void back() { --depth_; }

  void mark(std::string_view what) { text += what; }
  bool choose(std::string_view what, bool present) {
    if (present) text += what;
    return present;
  }
  void flag(std::string_view what, bool value) { choose(what, value); }
  template <std::integral I>
  void number(I value) {
    text += std::to_string(value);
  }
  void real(double value) { text += detail::shortest(value); }
  void type(dtype value) { text += sinter::name(value); }
  template <class Enum>
  void name(Enum value) {
    text += name_in_text(value);
  }
  void shape(const shape_vector& value) { text += to_string(value); }

  /// `count` more pieces follow; the reader makes room for them with `add`.
  template <class F>
  void repeat(std::size_t count, F f) {
    text += std::to_string(count);
    for (std::size_t i = 0; i < count; ++i) f(i);
  }
  /// Numbered lines that begin with a word.
  template <class Items, class F>
  void each(std::string_view word, const Items& items, F f) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      begin();
      text += word;
      text += ' ' + std::to_string(i) + ": ";
      f(items[i]);
    }
  }
  void place(const location& l, dtype) {
    text += name_in_text(l.where);
    if (!l.valid()) return;
    text += std::to_string(l.index);
    if (l.extent != detail::usual_extent(l.where)) {
      text += '.';
      text += name_in_text(l.extent);
    }
  }
  /// By value; by bits where a value does not say them all (the payload of a NaN).
  void constant(const bound_constant& c);

 private:
  std::size_t depth_ = 0;
};

class form_reader {
 public:
  static constexpr bool reads = true;
  /// So many lines of a kind, axes times strides and so on: no text makes a list longer.
  static constexpr std::int64_t most_items = 1 << 20;

  /// Throws graph_error with line and column, in the name of `reader`, for what it cannot read.
  form_reader(std::string_view text, std::string_view reader) : in_(text, dims_, reader) {}
  form_reader(const form_reader&) = delete;
  form_reader& operator=(const form_reader&) = delete;

  void begin() {}
  void end() { in_.end_line(); }
  void deeper() {}
  void back() {}
  bool at_end() {
    while (!in_.at_end() && in_.at_end_of_line()) in_.end_line();
    return in_.at_end();
  }
  std::size_t where() { return in_.place(); }
  [[noreturn]] void fail(const std::string& reason) const { in_.fail(reason); }
  [[noreturn]] void fail_at(std::size_t place, const std::string& reason) const {
    in_.fail_at(place, reason);
  }

  void mark(std::string_view what) {
    if (const std::string_view wanted = trimmed(what); !wanted.empty()) in_.expect(wanted);
  }
  bool choose(std::string_view what, bool = false) { return in_.accept(trimmed(what)); }
  void flag(std::string_view what, bool& value) { value = in_.accept(trimmed(what)); }
  template <std::integral I>
  void number(I& value) {
    using limits = std::numeric_limits<I>;
    constexpr auto high = static_cast<std::int64_t>(sizeof(I) == 8 && std::is_unsigned_v<I>
                                                        ? std::numeric_limits<std::int64_t>::max()
                                                        : static_cast<std::int64_t>(limits::max()));
    value = static_cast<I>(in_.integer(static_cast<std::int64_t>(limits::min()), high));
  }
  void real(double& value) { value = in_.number(dtype::f64); }
  void type(dtype& value) {
    const std::size_t start = in_.place();
    const std::string_view word = in_.word();
    for (int d = 0; d < dtype_count; ++d)
      if (sinter::name(static_cast<dtype>(d)) == word) {
        value = static_cast<dtype>(d);
        return;
      }
    in_.fail_at(start, "there is no dtype '" + std::string(word) + "'");
  }
  template <class Enum>
  void name(Enum& value) {
    const std::size_t start = in_.place();
    const std::string_view word = in_.word();
    const auto& names = enum_names<Enum>::list;
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) in_.fail_at(start, "'" + std::string(word) + "' means nothing here");
    value = static_cast<Enum>(found - names.begin());
  }
  void shape(shape_vector& value) {
    value.clear();
    in_.list("[", "]", [&] {
      if (value.size() == static_cast<std::size_t>(max_rank))
        in_.fail("more than " + std::to_string(max_rank) + " axes");
      value.push_back(in_.integer(std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max()));
    });
  }
  std::string_view word() { return in_.word(); }
  ir::op op() {
    const std::size_t start = in_.place();
    const std::string_view word = in_.word();
    for (const ir::op_info& each : ir::op_table)
      if (each.name == word) return each.code;
    in_.fail_at(start, "there is no op '" + std::string(word) + "'");
  }

  template <class F>
  void repeat(std::size_t, F f) {
    const std::int64_t count = in_.integer(0, most_items);
    for (std::int64_t i = 0; i < count; ++i) f(static_cast<std::size_t>(i));
  }
  template <class Items, class F>
  void each(std::string_view word, Items& items, F f) {
    items.clear();
    while (in_.accept_word(word)) {
      const std::size_t start = in_.place();
      if (in_.integer(0, most_items) != static_cast<std::int64_t>(items.size()))
        in_.fail_at(start, "expected " + std::string(word) + " " + std::to_string(items.size()));
      in_.expect(":");
      items.emplace_back();
      f(items.back());
    }
  }
  /// `type`: of the value there.
  void place(location& l, dtype type) {
    const std::size_t start = in_.place();
    std::string_view word = in_.word();
    l = {};
    value_class extent{};
    bool has_extent = false;
    if (const std::size_t point = word.find('.'); point != std::string_view::npos) {
      const auto& names = enum_names<value_class>::list;
      const auto found = std::ranges::find(names, word.substr(point + 1));
      if (found == names.end()) in_.fail_at(start, "expected single, row or full behind the point");
      extent = static_cast<value_class>(found - names.begin());
      has_extent = true;
      word = word.substr(0, point);
    }
    const std::size_t digits = word.find_first_of("0123456789");
    const auto& names = enum_names<location::memory>::list;
    const auto found = std::ranges::find(names, word.substr(0, digits));
    if (found == names.end()) in_.fail_at(start, "there is no place '" + std::string(word) + "'");
    const auto where = static_cast<location::memory>(found - names.begin());
    if (where == location::memory::none) return;
    int index = -1;
    if (digits != std::string_view::npos) {
      const char* const last = word.data() + word.size();
      const auto [end, error] = std::from_chars(word.data() + digits, last, index);
      if (error != std::errc{} || end != last) index = -1;
    }
    if (index < 0) in_.fail_at(start, "expected the number of a " + std::string(*found));
    l = {where, has_extent ? extent : detail::usual_extent(where),
         static_cast<std::uint8_t>(size_of(type)), index};
  }
  void constant(bound_constant& c);

 private:
  static std::string_view trimmed(std::string_view what) {
    while (!what.empty() && what.front() == ' ') what.remove_prefix(1);
    while (!what.empty() && what.back() == ' ') what.remove_suffix(1);
    return what;
  }

  ir::dim_table dims_;
  ir::detail::text_reader in_;
};

namespace detail {

// The value behind `type`, as a word; false where that is none of the dtype.
inline void read_value(ir::detail::text_reader& in, bound_constant& c) {
  dispatch(c.type, [&]<class T>(std::type_identity<T>) {
    T x{};
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bool>)
      x = static_cast<T>(in.number(c.type));
    else if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(
          in.integer(static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                     sizeof(T) == 8 ? std::numeric_limits<std::int64_t>::max()
                                    : static_cast<std::int64_t>(std::numeric_limits<T>::max())));
    else
      x = static_cast<T>(static_cast<float>(in.number(dtype::f32)));
    c.word = 0;
    std::memcpy(&c.word, &x, sizeof x);
  });
}

inline constexpr std::string_view bits_word = "bits";

}  // namespace detail

inline void form_writer::constant(const bound_constant& c) {
  type(c.type);
  text += ' ';
  const std::string value = detail::word_text(c);
  bound_constant back{~c.word, c.type};
  // Without exceptions what cannot be read would end the program: always the bits.
  if (has_exceptions) {
    attempt<graph_error>(
        [&] {
          ir::dim_table none;
          ir::detail::text_reader in(value, none);
          detail::read_value(in, back);
        },
        [&](const graph_error&) { back.word = ~c.word; });
  }
  text += back == c ? value : std::string(detail::bits_word) + " " + std::to_string(c.word);
}

inline void form_reader::constant(bound_constant& c) {
  type(c.type);
  if (in_.accept_word(detail::bits_word))
    c.word = in_.integer(std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::int64_t>::max());
  else
    detail::read_value(in_, c);
}

}  // namespace sinter::inline SINTER_ABI::exec
