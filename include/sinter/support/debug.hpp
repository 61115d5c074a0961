// SPDX-License-Identifier: MIT
// SINTER_DEBUG: what the library tells on stderr about what it does. The variable is read once per
// process, and SINTER_TRACE (timeline.hpp) with it, so that both together cost a relaxed load where
// they are off.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::debug {

/// What may be told; the words of SINTER_DEBUG are their names, separated by commas, or `all`.
enum class topic : unsigned {
  trace,   // graphs as they were traced, gradients written out
  plan,    // classes of shapes and plans when they are made, with times
  rules,   // rules that changed something
  egraph,  // e-nodes and classes after each phase, and why it stopped
  nests,   // the nests of a plan, as `explain` shows them
  memory,  // the arena of a plan and what it keeps of frozen arguments
  time     // time per nest over all calls, most expensive first, when the process ends
};

inline constexpr std::array<std::string_view, 7> topic_names{"trace", "plan",   "rules", "egraph",
                                                             "nests", "memory", "time"};

/// Set beside the topics where SINTER_TRACE names a file.
inline constexpr unsigned timeline_bit = 1u << 30;

/// A list of words as bits, and the words that name no topic.
struct topic_list {
  unsigned topics = 0;
  std::string unknown;
};

inline topic_list parse_topics(std::string_view text) {
  topic_list out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    bool known = word.empty();
    for (std::size_t i = 0; i < topic_names.size(); ++i)
      if (word == topic_names[i] || word == "all") {
        out.topics |= 1u << i;
        known = true;
      }
    if (!known) out.unknown += (out.unknown.empty() ? "'" : ", '") + std::string(word) + "'";
  }
  return out;
}

/// One message, in one piece also where several threads write.
inline void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

namespace detail {

inline constexpr unsigned unread = 1u << 31;
inline std::atomic<unsigned> topics = unread;

inline unsigned read_topics() {
  static const unsigned found = [] {
    const char* text = std::getenv("SINTER_DEBUG");
    const topic_list list = parse_topics(text == nullptr ? "" : text);
    if (!list.unknown.empty()) {
      std::string expected;
      for (std::string_view each : topic_names) expected += std::string(each) + ", ";
      write("sinter: SINTER_DEBUG: unknown " + list.unknown + "; expected " + expected + "all\n");
    }
    const char* file = std::getenv("SINTER_TRACE");
    return list.topics | (file != nullptr && *file != '\0' ? timeline_bit : 0u);
  }();
  // Who comes first: what was switched off since stays off.
  unsigned before = unread;
  topics.compare_exchange_strong(before, found, std::memory_order_relaxed);
  return topics.load(std::memory_order_relaxed);
}

}  // namespace detail

/// The topics that are on, as bits, and timeline_bit.
inline unsigned active() {
  const unsigned known = detail::topics.load(std::memory_order_relaxed);
  return known != detail::unread ? known : detail::read_topics();
}

/// From now on nothing is recorded for SINTER_TRACE.
inline void stop_timeline() { detail::topics.fetch_and(~timeline_bit, std::memory_order_relaxed); }

inline bool on(topic t) { return (active() >> static_cast<unsigned>(t) & 1u) != 0; }

/// Numbers functions in messages, in the order in which they are made.
inline int next_function() {
  static std::atomic<int> last = 0;
  return ++last;
}

}  // namespace sinter::inline SINTER_ABI::debug
