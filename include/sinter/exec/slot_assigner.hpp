// SPDX-License-Identifier: MIT
// Shares the slots of a tile's scratch memory between values that are not alive together. The fewer
// slots, the more of them stay in L1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

class slot_assigner {
 public:
  // Numbers from here on are slots that the prologue fills and nobody reuses.
  static constexpr int pinned = 1 << 20;

  void reserve(std::size_t values) {
    last_use_.reserve(values);
    slot_of_.reserve(values);
    free_.reserve(values);
  }
  void clear() { count_ = 0; }
  int count() const { return count_; }

  /// Replaces the numbers of values in the slots of these commands by numbers of slots: `values`
  /// values, each the target of one command and dead behind the list. Linear scan: a slot is free
  /// again behind the last command that reads it, and a map may write where it reads.
  void assign(tile_program& p, command_range range, int values) {
    last_use_.assign(static_cast<std::size_t>(values), -1);
    slot_of_.assign(static_cast<std::size_t>(values), -1);
    free_.clear();
    for (int k = count_; k-- > 0;) free_.push_back(k);
    for (int at = range.first; at < range.last; ++at)
      for (const location& l : operands(p, at))
        if (is_value(l)) last_use(l) = at;
    for (int at = range.first; at < range.last; ++at) {
      command& c = p.commands[static_cast<std::size_t>(at)];
      if (is_value(c.target)) {
        const int chosen = choose(p, at);
        slot_of_[static_cast<std::size_t>(c.target.index)] = chosen;
        c.target.index = chosen;
      }
      for (location& l : operands(p, at)) {
        if (!is_value(l)) continue;
        const int own = slot_of_[static_cast<std::size_t>(l.index)];
        if (last_use(l) == at) {
          free_.push_back(own);
          last_use(l) = -1;
        }
        l.index = own;
      }
    }
  }

  /// Gives the pinned slots of all commands the numbers behind those in use.
  void place_pinned(tile_program& p, int pinned_count) {
    const auto place = [&](location& l) {
      if (l.where == location::memory::slot && l.index >= pinned)
        l.index = count_ + (l.index - pinned);
    };
    for (command& c : p.commands) place(c.target);
    for (location& l : p.operands) place(l);
    count_ += pinned_count;
  }

 private:
  static bool is_value(const location& l) {
    return l.where == location::memory::slot && l.index < pinned;
  }
  static std::span<location> operands(tile_program& p, int at) {
    const command& c = p.commands[static_cast<std::size_t>(at)];
    return {p.operands.data() + c.first_operand, static_cast<std::size_t>(c.operand_count)};
  }
  int& last_use(const location& l) { return last_use_[static_cast<std::size_t>(l.index)]; }

  int choose(tile_program& p, int at) {
    const command& c = p.commands[static_cast<std::size_t>(at)];
    if (c.kind == command_kind::map || c.kind == command_kind::map_reduce)
      for (const location& l : operands(p, at))
        if (is_value(l) && last_use(l) == at && l.element_size == c.target.element_size) {
          last_use(l) = -1;  // passed on rather than freed
          return slot_of_[static_cast<std::size_t>(l.index)];
        }
    if (free_.empty()) return count_++;
    const int chosen = free_.back();
    free_.pop_back();
    return chosen;
  }

  std::vector<int> last_use_, slot_of_, free_;
  int count_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
