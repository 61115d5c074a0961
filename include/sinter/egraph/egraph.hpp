// SPDX-License-Identifier: MIT
//
// The e-graph: union-find over classes, a hash-cons over canonical nodes and congruence closure by
// deferred, incremental rebuild ("egg: Fast and extensible equality
// saturation"). Nodes, child links and the lists of a class's nodes and parents are flat arrays
// with intrusive links: a union splices lists and visits what the smaller class owns, and rebuild
// visits those nodes only, never the whole graph.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sinter/egraph/class_nodes.hpp>
#include <sinter/egraph/enode.hpp>
#include <sinter/egraph/hashcons.hpp>
#include <sinter/egraph/language.hpp>
#include <sinter/egraph/proof_hooks.hpp>
#include <sinter/egraph/union_find.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/large_vector.hpp>
#include <sinter/support/opaque_value.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Thrown by `egraph::add` when the node would exceed the limit set with `set_node_limit`. Nothing
/// was added. Without exceptions (support/error.hpp) `add` goes beyond the limit and notes that it
/// is reached; the runner then stops behind the block of matches under way.
struct node_limit_error : error {
  using error::error;
};

/// An e-graph over `Language` (see language.hpp). Copyable; a const e-graph may be read by several
/// threads.
template <class Language>
class egraph {
 public:
  using data_type = data_t<Language>;

  explicit egraph(Language language = {})
      : language_(std::move(language)), nodes_by_op_(Language::operators.size()) {}

  const Language& language() const { return language_; }
  Language& language() { return language_; }

  // Reading.

  /// The representative of the class of `id`.
  class_id find(class_id id) const { return classes_.find(id); }

  /// Analysis data of the class. The reference is valid until something is added.
  const data_type& data(class_id id) const { return data_[find(id)]; }

  /// Live nodes, congruent duplicates that wait for `rebuild()` included.
  std::size_t node_count() const { return live_nodes_; }
  std::size_t class_count() const { return live_classes_; }
  /// Unions refused by the language's `can_unite`.
  std::size_t refused_unions() const { return refused_unions_; }
  /// Grows with every node added and every union made.
  std::uint64_t revision() const { return revision_; }
  /// True when no union waits for `rebuild()`.
  bool clean() const {
    return pending_.empty() && analysis_pending_.empty() && modify_pending_.empty();
  }

  class_nodes<egraph> nodes(class_id id) const {
    return {*this, class_records_[find(id)].first_node};
  }
  canonical_classes<egraph> classes() const { return canonical_classes<egraph>(*this); }
  /// One more than the largest class id ever made; arrays by class have this size.
  class_id class_id_end() const { return static_cast<class_id>(classes_.size()); }
  node_id node_id_end() const { return static_cast<node_id>(nodes_.size()); }

  enode_view node(node_id id) const {
    const node_record& record = nodes_[id];
    return {record.op, record.payload, children(record), id};
  }
  class_id class_of(node_id id) const { return nodes_[id].owner; }
  /// Who added the node: {0} for the user, otherwise {1 + index of the rule}.
  reason origin(node_id id) const { return {nodes_[id].origin}; }

  /// Calls `visit(enode_view)` for each live node with a child in the class (once per child).
  template <class Visitor>
  void for_each_parent(class_id id, Visitor&& visit) const {
    for (std::uint32_t link = class_records_[find(id)].first_parent; link != no_id;
         link = parent_links_[link].next) {
      const node_id parent = parent_links_[link].node;
      if (!nodes_[parent].dead()) visit(node(parent));
    }
  }

  /// The class of a node that exists, or nothing. Children need not be canonical.
  std::optional<class_id> lookup(std::uint16_t op, std::uint32_t payload,
                                 span<const class_id> children) const {
    const node_id found = lookup_node(op, payload, children);
    if (found == no_id) return std::nullopt;
    return nodes_[found].owner;
  }
  std::optional<class_id> lookup(std::uint16_t op, std::uint32_t payload,
                                 std::initializer_list<class_id> children) const {
    return lookup(op, payload, span(children.begin(), children.size()));
  }

  // Writing.

  /// The class of the node, which is added if it is not there. The language's `modify` runs for it
  /// in `rebuild()`. Throws `sinter::error` for an unknown operator or a wrong number of children,
  /// `node_limit_error` at the limit.
  class_id add(std::uint16_t op, std::uint32_t payload, span<const class_id> children,
               reason why = {}) {
    check_arity(op, children.size());
    if (hooks_ != nullptr) [[unlikely]]
      return hooks_->add(*this, op, payload, children, why);
    return add_node<false>(op, payload, children, why, no_id);
  }
  class_id add(std::uint16_t op, std::uint32_t payload, std::initializer_list<class_id> children,
               reason why = {}) {
    return add(op, payload, span(children.begin(), children.size()), why);
  }

  /// The same as `unite(target, add(op, payload, children))`, but a node that is new joins the
  /// class directly instead of founding one that dies at once; most rule applications take this
  /// way. Returns whether the e-graph changed.
  bool add_to_class(class_id target, std::uint16_t op, std::uint32_t payload,
                    span<const class_id> children, reason why = {}) {
    check_arity(op, children.size());
    if (hooks_ != nullptr) [[unlikely]]
      return hooks_->add_to_class(*this, target, op, payload, children, why);
    return add_node_to_class<false>({target, no_id}, op, payload, children, why, no_id);
  }

  /// Makes two classes one. Returns false when they were already, or when the language refuses
  /// (counted).
  bool unite(class_id a, class_id b, reason = {}) {
    if (hooks_ != nullptr) [[unlikely]]
      return hooks_->unite(*this, a, b);
    return join(a, b);
  }

  /// Restores congruence and analysis invariants after unions and runs the language's `modify`.
  /// Afterwards every node's children are canonical and no class has the same node twice.
  void rebuild();

  /// At most `limit` live nodes from now on: a further one makes `add` throw `node_limit_error`.
  void set_node_limit(std::size_t limit) {
    node_limit_ = limit;
    node_limit_reached_ = false;
  }
  bool node_limit_reached() const { return node_limit_reached_; }

  /// What is recorded for explanations; null if nothing is, see `record_proofs`.
  const proof_record* proofs() const { return proofs_.get(); }

  // For the matcher and the runner.

  const node_record& record(node_id id) const { return nodes_[id]; }
  span<const class_id> children(const node_record& record) const {
    if (record.arity <= 2) return {record.children, record.arity};
    return {child_pool_.data() + record.children[0], record.arity};
  }
  node_id first_node(class_id canonical) const { return class_records_[canonical].first_node; }
  /// Bit `op % 64` is set for the operator of every node of the class (and may be for ones that
  /// left it).
  std::uint64_t operator_mask(class_id canonical) const {
    return class_records_[canonical].operator_mask;
  }
  /// All nodes of an operator, dead ones among them, oldest first.
  span<const node_id> nodes_by_operator(std::uint16_t op) const { return nodes_by_op_[op]; }
  node_id lookup_node(std::uint16_t op, std::uint32_t payload,
                      span<const class_id> children) const {
    return find_node(canonical_node(*this, op, payload, children));
  }
  /// Starts loading what adding this node reads first, and returns the node's hash.
  std::uint32_t prefetch_entry(std::uint16_t op, std::uint32_t payload,
                               span<const class_id> children) const {
    const canonical_node node(*this, op, payload, children);
    table_.prefetch(node.hash());
    for (const class_id child : node.children()) __builtin_prefetch(&class_records_[child]);
    return node.hash();
  }
  /// Starts loading the node that probably has this hash.
  void prefetch_node(std::uint32_t hash) const {
    const node_id id = table_.first(hash);
    if (id != no_id) __builtin_prefetch(&nodes_[id]);
  }
  /// Throws `sinter::error` for an unknown operator or a wrong number of children.
  static void check_arity(std::uint16_t op, std::size_t count);
  const proof_hooks<Language>* hooks() const { return hooks_; }
  /// `add` and `add_to_class` for rules: their patterns were checked when they were parsed. Only
  /// while proofs are not recorded.
  class_id add_of_rule(std::uint16_t op, std::uint32_t payload, span<const class_id> children,
                       reason why) {
    return add_node<false>(op, payload, children, why, no_id);
  }
  bool add_to_class_of_rule(class_id target, std::uint16_t op, std::uint32_t payload,
                            span<const class_id> children, reason why) {
    return add_node_to_class<false>({target, no_id}, op, payload, children, why, no_id);
  }
  /// The node with exactly these children, sorted if the operator commutes: between two rebuilds
  /// the nodes are found by the children that they had at the first.
  node_id lookup_exact(std::uint16_t op, std::uint32_t payload,
                       span<const class_id> children) const {
    return find_hashed(hash_node(op, payload, children), {op, payload, children});
  }

  /// Number of the current epoch. What is touched gets it as stamp.
  std::uint32_t epoch() const { return epoch_; }
  /// Starts an epoch; `touched` becomes the nodes stamped in the one that ends (see
  /// `node_record::stamp`): a match that did not exist when that one began contains at least one of
  /// them.
  void start_epoch(large_vector<node_id>& touched) {
    touched.clear();
    touched.swap(touched_);
    ++epoch_;
  }

 private:
  friend class proof_recorder<Language>;

  struct parent_link {
    node_id node;
    std::uint32_t next;
  };
  struct class_record {
    node_id first_node = no_id;
    node_id last_node = no_id;
    std::uint32_t first_parent = no_id;
    std::uint32_t last_parent = no_id;
    std::uint32_t weight = 0;  // nodes and parent links: what a union visits if this class loses
    bool modify_pending = false;
    bool has_dead = false;
    std::uint64_t operator_mask = 0;
  };

  // A node as the table knows it: its children canonical, and sorted where the operator commutes.
  // Eight children fit without allocation.
  class canonical_node {
   public:
    canonical_node(const egraph& graph, std::uint16_t op, std::uint32_t payload,
                   span<const class_id> children)
        : op_(op), payload_(payload), arity_(children.size()) {
      if (arity_ > local_.size()) spill_.resize(arity_);
      class_id* out = arity_ > local_.size() ? spill_.data() : local_.data();
      for (std::size_t i = 0; i < arity_; ++i) out[i] = graph.find(children[i]);
      if (Language::operators[op].commutative) std::sort(out, out + arity_);
      hash_ = hash_node(op, payload, this->children());
    }

    span<const class_id> children() const {
      return {arity_ > local_.size() ? spill_.data() : local_.data(), arity_};
    }
    enode_view view() const { return {op_, payload_, children(), no_id}; }
    std::uint32_t hash() const { return hash_; }

   private:
    std::uint16_t op_;
    std::uint32_t payload_;
    std::size_t arity_;
    std::array<class_id, 8> local_;
    std::vector<class_id> spill_;
    std::uint32_t hash_;
  };

  bool same(const node_record& record, const enode_view& canonical) const {
    if (record.op != canonical.op || record.payload != canonical.payload ||
        record.arity != canonical.children.size())
      return false;
    const auto own = children(record);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i] != canonical.children[i]) return false;
    }
    return true;
  }
  span<class_id> mutable_children(node_record& record) {
    if (record.arity <= 2) return {record.children, record.arity};
    return {child_pool_.data() + record.children[0], record.arity};
  }
  node_id find_hashed(std::uint32_t hash, const enode_view& canonical) const {
    return table_.find(hash, [&](node_id id) { return same(nodes_[id], canonical); });
  }
  node_id find_node(const canonical_node& node) const {
    return find_hashed(node.hash(), node.view());
  }
  std::uint32_t hash_of(const node_record& record) const {
    return hash_node(record.op, record.payload, children(record));
  }

  data_type make_data(const enode_view& view) {
    if constexpr (HasMake<Language>) {
      return language_.make(*this, view);
    } else {
      return data_type{};
    }
  }
  bool may_unite(const data_type& a, const data_type& b) {
    if constexpr (HasCanUnite<Language>) {
      return language_.can_unite(a, b);
    } else {
      return true;
    }
  }
  merge_result merge_data(data_type& into, const data_type& from) {
    if constexpr (HasMerge<Language>) {
      return language_.merge(into, from);
    } else {
      return {};
    }
  }

  // `Recorded`: for an e-graph that records proofs.
  template <bool Recorded>
  class_id add_node(std::uint16_t op, std::uint32_t payload, span<const class_id> children,
                    reason why, term_id term);
  template <bool Recorded>
  bool add_node_to_class(class_term target, std::uint16_t op, std::uint32_t payload,
                         span<const class_id> children, reason why, term_id term);
  bool join(class_id a, class_id b);

  void require_room();
  void insert_node(class_id owner, const canonical_node& node, reason why);
  class_id make_class(data_type data);

  void touch(node_id id) {
    if (nodes_[id].stamp == epoch_) return;
    nodes_[id].stamp = epoch_;
    touched_.push_back(id);
  }
  template <class Visitor>
  void visit_parents_and_drop_dead(class_id canonical, Visitor&& visit);
  void touch_parents(class_id canonical) {
    visit_parents_and_drop_dead(canonical, [this](node_id parent) { touch(parent); });
  }
  void queue_analysis(node_id id) {
    if ((nodes_[id].flags & node_analysis_pending) != 0) return;
    nodes_[id].flags |= node_analysis_pending;
    analysis_pending_.push_back(id);
  }
  void queue_modify(class_id canonical) {
    if constexpr (HasModify<Language>) {
      if (class_records_[canonical].modify_pending) return;
      class_records_[canonical].modify_pending = true;
      modify_pending_.push_back(canonical);
    }
  }
  void data_changed(class_id canonical);

  // rebuild.hpp
  void close_congruence();
  void prefetch_repair(node_id id) const;
  void repair(node_id id);
  void update_analysis(node_id id);
  void run_modify();
  void kill(node_id id);
  void sweep_dead();

  Language language_;
  union_find classes_;
  large_vector<class_record> class_records_;  // by class id; meaningful for canonical ones
  std::vector<data_type> data_;               // by class id; meaningful for canonical ones
  large_vector<node_record> nodes_;
  large_vector<class_id> child_pool_;
  large_vector<parent_link> parent_links_;
  std::vector<large_vector<node_id>> nodes_by_op_;
  hashcons table_;

  large_vector<node_id> pending_;
  large_vector<node_id> analysis_pending_;
  std::vector<class_id> modify_pending_;
  std::vector<class_id> classes_with_dead_;
  large_vector<node_id> touched_;
  std::uint32_t epoch_ = 1;

  std::size_t live_nodes_ = 0;
  std::size_t live_classes_ = 0;
  std::size_t dead_in_lists_ = 0;
  std::size_t refused_unions_ = 0;
  std::uint64_t revision_ = 0;
  std::size_t node_limit_ = std::numeric_limits<std::size_t>::max();
  bool node_limit_reached_ = false;

  const proof_hooks<Language>* hooks_ = nullptr;  // set while proofs are recorded
  opaque_value<proof_record> proofs_;             // proof_record.hpp
};

template <class Language>
bool egraph<Language>::join(class_id a, class_id b) {
  class_id winner = classes_.find_and_compress(a);
  class_id loser = classes_.find_and_compress(b);
  if (winner == loser) return false;
  if (!may_unite(data_[winner], data_[loser])) {
    ++refused_unions_;
    return false;
  }
  const auto weight = [this](class_id id) { return class_records_[id].weight; };
  if (weight(winner) < weight(loser) || (weight(winner) == weight(loser) && loser < winner))
    std::swap(winner, loser);
  classes_.link(winner, loser);
  --live_classes_;
  ++revision_;

  const merge_result merged = merge_data(data_[winner], data_[loser]);
  if (hooks_ != nullptr) [[unlikely]]
    hooks_->classes_joined(*this, winner, loser, merged);
  class_record& lost = class_records_[loser];
  class_record& won = class_records_[winner];

  // The loser's parents have stale children now.
  visit_parents_and_drop_dead(loser, [&](node_id parent) {
    if ((nodes_[parent].flags & node_pending) == 0) {
      nodes_[parent].flags |= node_pending;
      pending_.push_back(parent);
    }
    if (merged.from_differs) queue_analysis(parent);
  });
  bool has_leaf = false;
  for (node_id id = lost.first_node; id != no_id; id = nodes_[id].next) {
    nodes_[id].owner = winner;
    has_leaf |= nodes_[id].arity == 0;
    if (!nodes_[id].dead()) touch(id);
  }
  if (has_leaf) touch_parents(winner);  // see add_to_class

  if (lost.first_node != no_id) {
    (won.last_node == no_id ? won.first_node : nodes_[won.last_node].next) = lost.first_node;
    won.last_node = lost.last_node;
  }
  if (merged.into_changed)
    data_changed(winner);  // before the parents are joined: the loser's are queued already
  if (lost.first_parent != no_id) {
    (won.last_parent == no_id ? won.first_parent : parent_links_[won.last_parent].next) =
        lost.first_parent;
    won.last_parent = lost.last_parent;
  }
  won.weight += lost.weight;
  won.operator_mask |= lost.operator_mask;
  if (lost.has_dead && !won.has_dead) {
    won.has_dead = true;
    classes_with_dead_.push_back(winner);
  }
  lost = {};
  queue_modify(winner);
  return true;
}

template <class Language>
template <class Visitor>
void egraph<Language>::visit_parents_and_drop_dead(class_id canonical, Visitor&& visit) {
  class_record& record = class_records_[canonical];
  std::uint32_t previous = no_id;
  for (std::uint32_t link = record.first_parent; link != no_id;) {
    const parent_link current = parent_links_[link];
    if (nodes_[current.node].dead()) {
      (previous == no_id ? record.first_parent : parent_links_[previous].next) = current.next;
      if (current.next == no_id) record.last_parent = previous;
      --record.weight;
    } else {
      visit(current.node);
      previous = link;
    }
    link = current.next;
  }
}

// Matches and analysis may depend on the data of a class through its own nodes and through its
// parents.
template <class Language>
void egraph<Language>::data_changed(class_id canonical) {
  for (node_id id = class_records_[canonical].first_node; id != no_id; id = nodes_[id].next) {
    if (!nodes_[id].dead()) touch(id);
  }
  visit_parents_and_drop_dead(canonical, [this](node_id parent) {
    touch(parent);
    queue_analysis(parent);
  });
  queue_modify(canonical);
}

}  // namespace sinter::inline SINTER_ABI::eqsat

#include <sinter/egraph/insert.hpp>
#include <sinter/egraph/rebuild.hpp>
