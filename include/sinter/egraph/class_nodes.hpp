// SPDX-License-Identifier: MIT
//
// Ranges over an e-graph: the nodes of a class, the nodes that have a class as child, and the
// canonical classes. Their order depends on nothing but the calls that built the e-graph.
#pragma once

#include <cstddef>

#include <sinter/egraph/enode.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// The live nodes of one class in the order in which they joined it. Elements are `enode_view`s.
template <class Graph>
class class_nodes {
 public:
  class iterator {
   public:
    using value_type = enode_view;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    iterator(const Graph* graph, node_id at) : graph_(graph), at_(at) { skip_dead(); }

    enode_view operator*() const { return graph_->node(at_); }
    iterator& operator++() {
      at_ = graph_->record(at_).next;
      skip_dead();
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    void skip_dead() {
      while (at_ != no_id && graph_->record(at_).dead()) at_ = graph_->record(at_).next;
    }

    const Graph* graph_ = nullptr;
    node_id at_ = no_id;
  };

  class_nodes(const Graph& graph, node_id first) : graph_(&graph), first_(first) {}
  iterator begin() const { return {graph_, first_}; }
  iterator end() const { return {graph_, no_id}; }

 private:
  const Graph* graph_;
  node_id first_;
};

/// The canonical classes by ascending id.
template <class Graph>
class canonical_classes {
 public:
  class iterator {
   public:
    using value_type = class_id;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    iterator(const Graph* graph, class_id at) : graph_(graph), at_(at) { skip(); }

    class_id operator*() const { return at_; }
    iterator& operator++() {
      ++at_;
      skip();
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    void skip() {
      while (at_ < graph_->class_id_end() && graph_->find(at_) != at_) ++at_;
    }

    const Graph* graph_ = nullptr;
    class_id at_ = 0;
  };

  explicit canonical_classes(const Graph& graph) : graph_(&graph) {}
  iterator begin() const { return {graph_, 0}; }
  iterator end() const { return {graph_, graph_->class_id_end()}; }

 private:
  const Graph* graph_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
