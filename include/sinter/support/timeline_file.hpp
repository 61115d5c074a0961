// SPDX-License-Identifier: MIT
// The file of SINTER_TRACE: trace events as JSON, written when the process ends.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/support/debug.hpp>
#include <sinter/support/timeline.hpp>

namespace sinter::inline SINTER_ABI::timeline {

namespace detail {

inline constexpr std::string_view file_head = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
inline constexpr std::string_view file_tail = "\n]}\n";

// Microseconds, as the format wants them, to the nanosecond, so that what lies inside of something
// else does so in the file, too.
inline std::string microseconds_text(std::int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(nanoseconds / 1000),
                static_cast<int>(nanoseconds % 1000));
  return text;
}

inline std::string place_text(std::int64_t process, std::int64_t thread) {
  return "\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread);
}

inline std::string metadata_text(std::string_view key, std::int64_t process, std::int64_t thread,
                                 std::string_view value) {
  return "{\"name\":" + json_string(key) + ",\"ph\":\"M\"," + place_text(process, thread) +
         ",\"args\":{\"name\":" + json_string(value) + "}}";
}

inline std::string event_text(const event& e, const std::string& place) {
  return "{\"name\":" + json_string(e.what->name) + ",\"cat\":" + json_string(e.what->category) +
         ",\"ph\":\"X\",\"ts\":" + microseconds_text(e.begin) +
         ",\"dur\":" + microseconds_text(e.end - e.begin) + "," + place + ",\"args\":{" +
         e.what->arguments + "}}";
}

// Events that begin first come first, of those that begin together the longer one: what contains
// others stands before them. (What is done first is added first, hence the reversal.)
inline std::vector<event> outer_first(std::vector<event> events) {
  std::ranges::reverse(events);
  std::ranges::stable_sort(events, [](const event& a, const event& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  return events;
}

// Is `file` what write_events wrote? Then its position is where further events go.
inline bool at_written_events(std::FILE* file) {
  char found[file_tail.size()];
  return std::fseek(file, -static_cast<long>(file_tail.size()), SEEK_END) == 0 &&
         std::fread(found, 1, sizeof found, file) == sizeof found &&
         std::string_view(found, sizeof found) == file_tail &&
         std::fseek(file, -static_cast<long>(file_tail.size()), SEEK_END) == 0;
}

}  // namespace detail

/// Writes the events of threads into a file opened with "w+": an object with the list of all of
/// them. Where it has such an object already, from units of the program that were compiled for
/// another instruction set, they are added to that one's. false, with errno, if it cannot be
/// written.
inline bool write_events(std::FILE* file, std::int64_t process,
                         std::span<const thread_events* const> threads) {
  bool sound = true;
  const auto write = [&](std::string_view text) {
    sound = sound && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  };
  if (detail::at_written_events(file)) {
    write(",\n");
  } else {
    sound = std::fseek(file, 0, SEEK_SET) == 0;
    write(detail::file_head);
  }
  write(detail::metadata_text("process_name", process, process, "sinter"));
  for (const thread_events* each : threads) {
    write(",\n" + detail::metadata_text("thread_name", process, each->number, each->name));
    const std::string place = detail::place_text(process, each->number);
    for (const event& e : detail::outer_first(each->events()))
      write(",\n" + detail::event_text(e, place));
  }
  write(detail::file_tail);
  return std::fflush(file) == 0 && sound;
}

/// Where SINTER_TRACE is set, opens its file, which is written when the process ends; once. What
/// goes wrong is a line on stderr, and ends the recording.
class file_at_exit {
 public:
  static void start() {
    static file_at_exit* const one = new file_at_exit;
    static_cast<void>(one);
  }

 private:
  // Opened now: a path that is wrong is told before the work, not behind it.
  file_at_exit() : path_(path_text()), process_(detail::process_number()), file_(open(path_)) {
    if (file_ == nullptr) {
      give_up();
      return;
    }
    self() = this;
    std::atexit([] { self()->finish(); });
  }

  static file_at_exit*& self() {
    static file_at_exit* one = nullptr;
    return one;
  }
  static std::string path_text() {
    const char* const text = std::getenv("SINTER_TRACE");
    return text == nullptr ? "" : text;
  }
  static std::FILE* open(const std::string& path) {
    errno = 0;
    return std::fopen(path.c_str(), "w+");
  }

  void give_up() const {
    debug::stop_timeline();
    debug::write("sinter: SINTER_TRACE: cannot write '" + path_ + "': " + std::strerror(errno) +
                 "\n");
  }

  void finish() const {
    // A child of fork has the events of its parent, which writes them.
    if (detail::process_number() != process_) return;
    debug::stop_timeline();
    const std::vector<const thread_events*> threads = recorder::instance().threads();
    errno = 0;
    if (!write_events(file_, process_, threads)) give_up();
    std::fclose(file_);
    std::size_t dropped = 0;
    for (const thread_events* each : threads) dropped += each->dropped();
    if (dropped != 0)
      debug::write("sinter: SINTER_TRACE: '" + path_ + "' lacks " + std::to_string(dropped) +
                   " events behind the first " +
                   std::to_string(detail::most_blocks * detail::events_per_block) +
                   " of a thread\n");
  }

  std::string path_;
  std::int64_t process_;
  std::FILE* file_;
};

}  // namespace sinter::inline SINTER_ABI::timeline
