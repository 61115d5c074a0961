// SPDX-License-Identifier: MIT
//
// Rebuilding an e-graph: the second half of class egraph. Work lists hold the nodes whose children
// lost a union and the nodes whose children's data changed; nothing else is visited.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/egraph/egraph.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

template <class Language>
void egraph<Language>::rebuild() {
  close_congruence();
  if constexpr (HasModify<Language>) {
    while (!modify_pending_.empty()) {
      run_modify();
      close_congruence();
      if (node_limit_reached_) break;  // what is left of the queue waits for a larger limit
    }
  }
  sweep_dead();
}

template <class Language>
void egraph<Language>::close_congruence() {
  // First in, first out. The lists grow while they are worked off.
  std::size_t next_node = 0;
  std::size_t next_analysis = 0;
  constexpr std::size_t distance = 8;
  while (next_node < pending_.size() || next_analysis < analysis_pending_.size()) {
    for (; next_node < pending_.size(); ++next_node) {
      if (next_node + 2 * distance < pending_.size())
        __builtin_prefetch(&nodes_[pending_[next_node + 2 * distance]]);
      if (next_node + distance < pending_.size()) prefetch_repair(pending_[next_node + distance]);
      repair(pending_[next_node]);
    }
    if (next_analysis < analysis_pending_.size())
      update_analysis(analysis_pending_[next_analysis++]);
  }
  pending_.clear();
  analysis_pending_.clear();
}

template <class Language>
void egraph<Language>::prefetch_repair(node_id id) const {
  const node_record& record = nodes_[id];
  table_.prefetch(hash_of(record));
  prefetch_entry(record.op, record.payload, children(record));
}

// Gives a node canonical children. If that makes it the same as another node, their classes are
// one.
template <class Language>
void egraph<Language>::repair(node_id id) {
  node_record& record = nodes_[id];
  record.flags &= static_cast<std::uint16_t>(~node_pending);
  if (record.dead()) return;
  if ((record.flags & node_unhashed) == 0) table_.erase(hash_of(record), id);
  record.flags &= static_cast<std::uint16_t>(~node_unhashed);

  const auto own = mutable_children(record);
  for (class_id& child : own) child = classes_.find_and_compress(child);
  if (Language::operators[record.op].commutative) std::sort(own.begin(), own.end());
  touch(id);

  const std::uint32_t hash = hash_of(record);
  const node_id twin = find_hashed(hash, {record.op, record.payload, own});
  if (twin == no_id) {
    table_.insert(hash, id);
    return;
  }
  if (join(nodes_[twin].owner, record.owner) || nodes_[twin].owner == record.owner) {
    if (hooks_ != nullptr) [[unlikely]]
      hooks_->congruent(*this, id, twin);
    kill(id);
    return;
  }
  // The language refused: both classes keep their node, only one of the two is in the table.
  for (node_id other = class_records_[record.owner].first_node; other != no_id;
       other = nodes_[other].next) {
    if (other != id && !nodes_[other].dead() &&
        same(nodes_[other], {record.op, record.payload, own})) {
      kill(id);
      return;
    }
  }
  record.flags |= node_unhashed;
}

template <class Language>
void egraph<Language>::update_analysis(node_id id) {
  nodes_[id].flags &= static_cast<std::uint16_t>(~node_analysis_pending);
  if (nodes_[id].dead()) return;
  if constexpr (HasMake<Language>) {
    const class_id owner = nodes_[id].owner;
    const data_type made = language_.make(*this, node(id));
    // What does not fit (two constants that a wrong rule made equal) must not spread either.
    if (!may_unite(data_[owner], made)) {
      ++refused_unions_;
      return;
    }
    if (merge_data(data_[owner], made).into_changed) {
      if (hooks_ != nullptr) [[unlikely]]
        hooks_->data_from(*this, owner, id);
      data_changed(owner);
    }
  }
}

template <class Language>
void egraph<Language>::run_modify() {
  if constexpr (HasModify<Language>) {
    std::vector<class_id> queue;
    queue.swap(modify_pending_);
    for (const class_id id : queue) class_records_[id].modify_pending = false;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const class_id id = find(queue[i]);
      attempt<node_limit_error>(
          [&] {
            if (hooks_ != nullptr) [[unlikely]] {
              hooks_->modify(*this, id);
            } else {
              language_.modify(*this, id);
            }
          },
          [&](const node_limit_error&) {
            for (; i < queue.size(); ++i) queue_modify(find(queue[i]));
          });
    }
  }
}

template <class Language>
void egraph<Language>::kill(node_id id) {
  nodes_[id].flags |= node_dead;
  --live_nodes_;
  ++dead_in_lists_;
  class_record& home = class_records_[nodes_[id].owner];
  if (!home.has_dead) {
    home.has_dead = true;
    classes_with_dead_.push_back(nodes_[id].owner);
  }
}

// Unlinks dead nodes from the lists that searches walk.
template <class Language>
void egraph<Language>::sweep_dead() {
  for (const class_id id : classes_with_dead_) {
    class_record& record = class_records_[id];
    if (!record.has_dead) continue;
    record.has_dead = false;
    record.operator_mask = 0;
    node_id last = no_id;
    for (node_id at = record.first_node; at != no_id; at = nodes_[at].next) {
      if (nodes_[at].dead()) {
        --record.weight;
        continue;
      }
      (last == no_id ? record.first_node : nodes_[last].next) = at;
      last = at;
      record.operator_mask |= std::uint64_t{1} << (nodes_[at].op % 64);
    }
    (last == no_id ? record.first_node : nodes_[last].next) = no_id;
    record.last_node = last;
  }
  classes_with_dead_.clear();

  // The lists by operator are compacted once a third of them is dead, so the cost per dead node is
  // constant.
  if (dead_in_lists_ * 2 <= live_nodes_) return;
  for (auto& list : nodes_by_op_) {
    const auto dead = [this](node_id id) { return nodes_[id].dead(); };
    list.resize(
        static_cast<std::size_t>(std::remove_if(list.begin(), list.end(), dead) - list.begin()));
  }
  dead_in_lists_ = 0;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
