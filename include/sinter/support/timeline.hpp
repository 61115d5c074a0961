// SPDX-License-Identifier: MIT
// SINTER_TRACE=file: what the process did when, on which thread, for Perfetto and chrome://tracing.
// Every thread writes events to memory of its own, without a lock; the file is written when the
// process ends (timeline_file.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

#include <sinter/support/debug.hpp>
#include <sinter/support/steady_time.hpp>

namespace sinter::inline SINTER_ABI::timeline {

/// Is SINTER_TRACE set, and its file open? A relaxed load.
inline bool on() { return (debug::active() & debug::timeline_bit) != 0; }

/// What events say of themselves: one label for all that are of the same kind.
struct label {
  std::string name;
  std::string_view category;  // of static text
  std::string arguments;      // members of a JSON object, without braces
};

/// From `begin` to `end`, in nanoseconds.
struct event {
  const label* what = nullptr;
  std::int64_t begin = 0, end = 0;
};

/// Text as a JSON string, quotes included. Bytes that are no ASCII pass as they are.
inline std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// Adds a member to those of a JSON object.
inline void add_member(std::string& members, std::string_view key, std::string_view value) {
  members += (members.empty() ? "" : ",") + json_string(key) + ":" + std::string(value);
}

namespace detail {

inline constexpr std::size_t events_per_block = 1024;
// What one thread keeps: 24 MiB, some 150 MiB of text. What comes later is counted only.
inline constexpr std::size_t most_blocks = 1024;

struct block {
  std::array<event, events_per_block> events;
  std::atomic<std::size_t> count = 0;
  std::atomic<block*> next = nullptr;
};

}  // namespace detail

/// The events of one thread, in the order of their ends. One thread adds, another may read what was
/// added before.
class thread_events {
 public:
  thread_events(std::int64_t own_number, std::string own_name)
      : number(own_number), name(std::move(own_name)) {}
  thread_events(const thread_events&) = delete;
  thread_events& operator=(const thread_events&) = delete;
  ~thread_events() {
    for (detail::block* b = first_.load(std::memory_order_relaxed); b != nullptr;)
      delete std::exchange(b, b->next.load(std::memory_order_relaxed));
  }

  const std::int64_t number;
  const std::string name;

  void add(const event& e) noexcept {
    if (last_ == nullptr || last_->count.load(std::memory_order_relaxed) == last_->events.size())
      if (!start_block()) {
        dropped_.store(dropped() + 1, std::memory_order_relaxed);
        return;
      }
    const std::size_t at = last_->count.load(std::memory_order_relaxed);
    last_->events[at] = e;
    last_->count.store(at + 1, std::memory_order_release);
  }

  std::size_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  std::vector<event> events() const {
    std::vector<event> out;
    for (const detail::block* b = first_.load(std::memory_order_acquire); b != nullptr;
         b = b->next.load(std::memory_order_acquire))
      out.insert(out.end(), b->events.begin(),
                 b->events.begin() +
                     static_cast<std::ptrdiff_t>(b->count.load(std::memory_order_acquire)));
    return out;
  }

 private:
  bool start_block() noexcept {
    auto* const made = blocks_ == detail::most_blocks ? nullptr : new (std::nothrow) detail::block;
    if (made == nullptr) return false;
    ++blocks_;
    (last_ == nullptr ? first_ : last_->next).store(made, std::memory_order_release);
    last_ = made;
    return true;
  }

  std::atomic<detail::block*> first_ = nullptr;
  detail::block* last_ = nullptr;
  std::size_t blocks_ = 0;
  std::atomic<std::size_t> dropped_ = 0;
};

/// All that was recorded. Never destroyed: functions in statics may run after every other static
/// has gone.
class recorder {
 public:
  static recorder& instance() {
    static recorder* const one = new recorder;
    return *one;
  }

  /// Kept until the process ends. Takes a lock.
  const label* keep(label made) {
    const std::scoped_lock lock(mutex_);
    return &labels_.emplace_back(std::move(made));
  }

  /// The calling thread's; made, under a lock, when it is first asked for. `worker`: its number
  /// among the threads of OpenMP, where it is one of them and not the first.
  thread_events& of_this_thread(int worker);

  std::vector<const thread_events*> threads() const {
    const std::scoped_lock lock(mutex_);
    std::vector<const thread_events*> out;
    for (const auto& each : threads_) out.push_back(each.get());
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<label> labels_;
  std::vector<std::unique_ptr<thread_events>> threads_;
};

namespace detail {

inline constinit thread_local thread_events* own_events = nullptr;

#if __has_include(<unistd.h>)
inline std::int64_t process_number() { return ::getpid(); }
#else
inline std::int64_t process_number() { return 1; }
#endif

// As the system's tools have it, so that what several parts of a program record meets.
inline std::int64_t thread_number([[maybe_unused]] std::size_t known_threads) {
#ifdef __linux__
  return ::gettid();
#else
  return process_number() + static_cast<std::int64_t>(known_threads);
#endif
}

}  // namespace detail

inline thread_events& recorder::of_this_thread(int worker) {
  if (detail::own_events != nullptr) return *detail::own_events;
  const std::scoped_lock lock(mutex_);
  const std::int64_t number = detail::thread_number(threads_.size());
  std::string name = worker > 0                           ? "OpenMP " + std::to_string(worker)
                     : number == detail::process_number() ? "main"
                                                          : "thread " + std::to_string(number);
  threads_.push_back(std::make_unique<thread_events>(number, std::move(name)));
  detail::own_events = threads_.back().get();
  return *detail::own_events;
}

/// Something that the calling thread did; nothing where there is no label.
inline void add(const label* what, std::int64_t begin, std::int64_t end, int worker = 0) {
  if (what != nullptr) recorder::instance().of_this_thread(worker).add({what, begin, end});
}

/// One step of planning, from construction to destruction.
class span {
 public:
  explicit span(std::string_view name) : begin_(on() ? steady_nanoseconds() : -1) {
    if (begin_ >= 0) name_ = name;
  }
  span(const span&) = delete;
  span& operator=(const span&) = delete;
  ~span() { end(); }

  /// A number that is known only when the step is done.
  void note(std::string_view key, std::size_t number) {
    if (begin_ >= 0) add_member(arguments_, key, std::to_string(number));
  }

  /// The step ends here, not at the end of the scope.
  void end() {
    if (begin_ < 0) return;
    const std::int64_t ended = steady_nanoseconds();
    add(recorder::instance().keep({std::move(name_), "planning", std::move(arguments_)}), begin_,
        ended);
    begin_ = -1;
  }

 private:
  std::string name_;
  std::int64_t begin_;
  std::string arguments_;
};

/// What the loops are part of that this thread starts: threads that take tasks of them record that
/// under this label. Null: they record nothing.
inline constinit thread_local const label* tasks = nullptr;

/// A thread's share of a parallel loop, from construction to destruction.
class share {
 public:
  share(const label* what, int worker)
      : what_(what), worker_(worker), begin_(what != nullptr ? steady_nanoseconds() : 0) {}
  share(const share&) = delete;
  share& operator=(const share&) = delete;
  ~share() {
    if (what_ != nullptr) add(what_, begin_, steady_nanoseconds(), worker_);
  }

 private:
  const label* what_;
  int worker_;
  std::int64_t begin_;
};

}  // namespace sinter::inline SINTER_ABI::timeline
