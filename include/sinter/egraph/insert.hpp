// SPDX-License-Identifier: MIT
//
// Adding nodes: the part of class egraph that makes it grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <sinter/egraph/egraph.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

template <class Language>
void egraph<Language>::check_arity(std::uint16_t op, std::size_t count) {
  if (op >= Language::operators.size()) {
    raise(error("e-graph: no operator number " + std::to_string(op) + " in this language"));
  }
  const int arity = Language::operators[op].arity;
  if (arity >= 0 ? count != static_cast<std::size_t>(arity)
                 : count > std::numeric_limits<std::uint16_t>::max()) {
    raise(error("e-graph: " + std::string(Language::operators[op].name) + " takes " +
                std::to_string(arity) + " children, not " + std::to_string(count)));
  }
}

template <class Language>
void egraph<Language>::require_room() {
  if (live_nodes_ < node_limit_) return;
  node_limit_reached_ = true;
  if (has_exceptions)
    raise(node_limit_error("e-graph: limit of " + std::to_string(node_limit_) + " nodes reached"));
}

template <class Language>
class_id egraph<Language>::make_class(data_type data) {
  const class_id id = classes_.make_set();
  class_records_.push_back({});
  data_.push_back(std::move(data));
  ++live_classes_;
  return id;
}

template <class Language>
void egraph<Language>::insert_node(class_id owner, const canonical_node& node, reason why) {
  const auto id = static_cast<node_id>(nodes_.size());
  const enode_view view = node.view();
  const auto children = view.children;
  node_record record{view.op,
                     static_cast<std::uint16_t>(children.size()),
                     view.payload,
                     {no_id, no_id},
                     owner,
                     no_id,
                     epoch_,
                     why.rule,
                     0};
  if (children.size() <= 2) {
    std::copy(children.begin(), children.end(), record.children);
  } else {
    record.children[0] = static_cast<class_id>(child_pool_.size());
    child_pool_.append(children.data(), children.size());
  }
  nodes_.push_back(record);
  touched_.push_back(id);
  nodes_by_op_[view.op].push_back(id);
  table_.insert(node.hash(), id);
  ++live_nodes_;
  ++revision_;

  for (std::size_t i = 0; i < children.size(); ++i) {
    if (i > 0 && children[i] == children[i - 1]) continue;
    class_record& child = class_records_[children[i]];
    const auto link = static_cast<std::uint32_t>(parent_links_.size());
    parent_links_.push_back({id, no_id});
    (child.last_parent == no_id ? child.first_parent : parent_links_[child.last_parent].next) =
        link;
    child.last_parent = link;
    ++child.weight;
  }
  class_record& home = class_records_[owner];
  (home.last_node == no_id ? home.first_node : nodes_[home.last_node].next) = id;
  home.last_node = id;
  ++home.weight;
  home.operator_mask |= std::uint64_t{1} << (view.op % 64);
}

template <class Language>
template <bool Recorded>
class_id egraph<Language>::add_node(std::uint16_t op, std::uint32_t payload,
                                    span<const class_id> children, reason why, term_id term) {
  const canonical_node node(*this, op, payload, children);
  if (const node_id found = find_node(node); found != no_id) {
    const class_id owner = nodes_[found].owner;
    if constexpr (Recorded) {
      proof_recorder<Language>::same_node(*this, term, found);
      proof_recorder<Language>::record(*this).given_out(owner, term);
    }
    return owner;
  }
  require_room();
  const class_id id = make_class(make_data(node.view()));
  if constexpr (Recorded) {
    auto& proofs = proof_recorder<Language>::record(*this);
    proofs.class_founded(term, node_id_end());
    proofs.node_added(term);
    proofs.given_out(id, term);
  }
  insert_node(id, node, why);
  queue_modify(id);
  return id;
}

template <class Language>
template <bool Recorded>
bool egraph<Language>::add_node_to_class(class_term target, std::uint16_t op, std::uint32_t payload,
                                         span<const class_id> children, reason why, term_id term) {
  const canonical_node node(*this, op, payload, children);
  if (const node_id found = find_node(node); found != no_id) {
    const class_id owner = nodes_[found].owner;
    if constexpr (Recorded) {
      proof_recorder<Language>::same_node(*this, term, found);
      return proof_recorder<Language>::unite(*this, target, {owner, term});
    } else {
      return join(target.id, owner);
    }
  }
  require_room();
  const class_id owner = classes_.find_and_compress(target.id);
  const data_type data = make_data(node.view());
  if (!may_unite(data_[owner], data)) {
    ++refused_unions_;
    return false;
  }
  if constexpr (Recorded) {
    auto& proofs = proof_recorder<Language>::record(*this);
    proofs.node_added(term);
    proofs.united(target.term, term);
  }
  insert_node(owner, node, why);
  const bool changed = merge_data(data_[owner], data).into_changed;
  if constexpr (Recorded) {
    if (changed) proof_recorder<Language>::data_from(*this, owner, node_id_end() - 1);
  }
  // A leaf may be what a pattern's literal looks for, and such a match does not contain the leaf's
  // node.
  if (children.empty()) touch_parents(owner);
  if (changed) data_changed(owner);
  queue_modify(owner);
  return true;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
