// SPDX-License-Identifier: MIT
// The parameters of a struct by name: the path of members to each, "hidden.weight",
// "blocks.2.norm.bias".
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>

#include <sinter/expr/structure.hpp>
#include <sinter/support/member_names.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

template <class X>
inline constexpr bool is_statistic = false;
template <class Kind, int Rank>
inline constexpr bool is_statistic<statistic<Kind, Rank>> = true;

template <class S, class F>
void walk_named(S& s, const std::string& path, F& f) {
  using plain = std::remove_const_t<S>;
  const auto below = [&](auto& member, const std::string& name) {
    walk_named(member, path.empty() ? name : path + "." + name, f);
  };
  if constexpr (is_parameter<plain>) {
    f(path, s);
  } else if constexpr (is_statistic<plain>) {
    f(path, s.value);
  } else if constexpr (is_list<plain>) {
    for (std::size_t i = 0; i < s.size(); ++i) below(s[i], std::to_string(i));
  } else {
    using of_handles = as_kind<plain, handles>;
    std::size_t number = 0;
    const auto next_name = [&] {
      const std::string name(member_names<of_handles>[number]);
      return name.empty() ? std::to_string(number) : name;
    };
    std::apply([&](auto&... each) { ((below(each, next_name()), ++number), ...); },
               members<S, member_count<of_handles>>(s));
  }
}

}  // namespace detail

/// Calls `f(name, parameter)` for each tensor or handle of a struct, in the order of
/// `for_each_parameter`; the name is a std::string. Elements of arrays are named by their numbers,
/// and so are members where the compiler does not tell their names (GCC and Clang do); a statistic
/// has the name of the member that it is.
template <class S, class F>
void for_each_named_parameter(S& s, F&& f) {
  detail::walk_named(s, "", f);
}

}  // namespace sinter::inline SINTER_ABI
