// SPDX-License-Identifier: MIT
// What a function has computed from its frozen arguments: the part of a plan that does it, and the
// values, by the arguments they were computed from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sinter/function/program.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/support/cache_lines.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/hash.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/contents.hpp>
#include <sinter/tensor/storage.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Of elements that lie side by side; of others, and in builds without assertions, 0.
inline std::uint64_t fingerprint([[maybe_unused]] const argument_memory& a) {
#ifndef NDEBUG
  if (a.strides == row_major_strides(a.shape)) {
    std::uint64_t hash = 1;
    for (std::size_t at = 0; at < a.bytes; at += sizeof hash) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(a.data) + at,
                  std::min(sizeof word, a.bytes - at));
      hash = hash_combine(hash, word);
    }
    return hash;
  }
#endif
  return 0;
}

// Values computed once. Calls share them; nobody writes them again.
struct prepared_values {
  // A frozen argument as it was: the elements of those that are read; the shapes of all, which fix
  // extents.
  struct source {
    std::size_t argument = 0;
    bool is_read = false;
    contents elements;
    std::uint64_t version = 0;  // of a view
    const void* data = nullptr;
    shape_vector shape;
    shape_vector strides;
    std::uint64_t fingerprint = 0;  // where promises are checked

    bool is(const argument_memory& a) const {
      return shape == a.shape && (!is_read || (elements == a.elements && version == a.version &&
                                               data == a.data && strides == a.strides));
    }
  };

  std::vector<source> sources;
  storage memory;
  std::vector<std::byte*> values;   // by number, in `memory`
  std::vector<double> nanoseconds;  // that each nest took
  std::size_t last_use = 0;

  prepared_values(const planning::plan& p, span<const argument_memory> arguments,
                  span<const std::int64_t> symbols)
      : nanoseconds(p.nests.size()) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const argument_memory& a = arguments[i];
      if (!a.is_frozen) continue;
      sources.push_back({i, false, {}, 0, nullptr, a.shape, {}});
      for (const planning::buffer& b : p.buffers)
        if (b.place == planning::place::argument && b.number == static_cast<int>(i))
          sources.back() = {i,      true,    a.elements, a.version,
                            a.data, a.shape, a.strides,  fingerprint(a)};
    }
    std::vector<std::size_t> offsets;
    std::size_t total = 0;
    for (const planning::buffer& b : p.buffers) {
      if (b.place != planning::place::prepared) continue;
      const auto number = static_cast<std::size_t>(b.number);
      if (offsets.size() <= number) offsets.resize(number + 1);
      offsets[number] = total;
      total += round_to_lines(planning::buffer_bytes(p, b, symbols));
    }
    memory = storage(total);
    for (std::size_t offset : offsets) values.push_back(memory.data() + offset);
  }

  bool is_of(span<const argument_memory> arguments) const {
    return std::ranges::all_of(sources,
                               [&](const source& s) { return s.is(arguments[s.argument]); });
  }
  // Did the elements change although nothing said so?
  void check_promises(span<const argument_memory> arguments) const {
    for (const source& s : sources)
      if (s.is_read && s.fingerprint != fingerprint(arguments[s.argument]))
        raise(graph_error("frozen: argument " + std::to_string(s.argument) +
                          " was written; expected touch() behind that, or another version"));
  }
  // Were its arguments neither written nor freed?
  bool is_current() const {
    return std::ranges::all_of(sources, [](const source& s) { return s.elements.is_current(); });
  }
  // Does another version of a view take its place?
  bool is_superseded(span<const argument_memory> arguments) const {
    return std::ranges::any_of(sources, [&](const source& s) {
      const argument_memory& a = arguments[s.argument];
      return s.is_read && s.data == a.data && s.version != a.version;
    });
  }
};

// The preparing part of a plan and the sets of values that it has computed. Plans of one shape
// class whose preparing parts are the same share it, because a new batch size needs no new weights.
class preparation {
 public:
  // `limit`: of the sets that are kept.
  preparation(planning::plan p, std::size_t limit)
      : plan_(std::move(p)), limit_(std::max<std::size_t>(1, limit)) {}

  const planning::plan& plan() const { return plan_; }
  // How often values were computed.
  std::size_t runs() const { return runs_; }
  std::size_t sets() const { return sets_.size(); }
  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& s : sets_) total += s->memory.size_bytes();
    return total;
  }

  // The values for these arguments, or null. Compares, allocates nothing.
  std::shared_ptr<const prepared_values> find(span<const argument_memory> arguments) {
    for (const auto& each : sets_) {
      if (!each->is_of(arguments)) continue;
      each->last_use = ++clock_;
      return each;
    }
    return nullptr;
  }

  // Returns how many sets had to make room for it.
  std::size_t keep(std::shared_ptr<prepared_values> made) {
    ++runs_;
    const std::size_t full = sets_.size() >= limit_ ? 1 : 0;
    if (full != 0)
      sets_.erase(std::ranges::min_element(sets_, {}, [](const auto& s) { return s->last_use; }));
    made->last_use = ++clock_;
    sets_.push_back(std::move(made));
    return full;
  }

  // Drops what nobody can ask for again, now that these arguments are asked for.
  void drop_stale(span<const argument_memory> arguments) {
    std::erase_if(sets_,
                  [&](const auto& s) { return !s->is_current() || s->is_superseded(arguments); });
  }

 private:
  planning::plan plan_;
  std::vector<std::shared_ptr<prepared_values>> sets_;
  std::size_t limit_, clock_ = 0, runs_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::detail
