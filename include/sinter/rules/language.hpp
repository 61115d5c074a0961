// SPDX-License-Identifier: MIT
// The language of tensor e-graphs. An e-node is an op of the table with its attributes and dims
// interned as payload; the analysis of a class is its dtype, shape and constant value. The language
// keeps an ordinary graph beside the e-graph, with one node per e-node: shape inference is the
// graph's own, and a rule writes its right-hand side with the same functions as the front end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/graph/build.hpp>
#include <sinter/graph/fixed.hpp>
#include <sinter/rules/fold.hpp>

namespace sinter::inline SINTER_ABI::rules {

// Operators behind the ops of the table: the second sort, and what instruction selection adds.
// A superinstruction of leaf values; payload: its number.
inline constexpr std::uint16_t fused_operator = ir::op_count;
// The goal "this value is in memory".
inline constexpr std::uint16_t stored_operator = ir::op_count + 1;
// A costed nest over the goals it reads; payload: its number.
inline constexpr std::uint16_t nest_operator = ir::op_count + 2;
// One output of a nest; payload: which.
inline constexpr std::uint16_t produce_operator = ir::op_count + 3;
inline constexpr int operator_count = ir::op_count + 4;

// The term of a superinstruction before it joins a class: it denotes what the class denotes.
inline constexpr int term_of_its_class = -2;

// What a class is known to be. `term` is a node of the language's graph that denotes it (-1 for
// goals and nests).
struct facts {
  int term = -1;
  bool is_constant = false;  // every element is `constant`
  double constant = 0;
  bool fixed = false;  // can be computed from frozen arguments alone (see ir::fixed_inputs)
};

class tensor_language {
 public:
  using data = facts;
  using egraph = eqsat::egraph<tensor_language>;

  static constexpr std::array<eqsat::operator_info, operator_count> operators = [] {
    std::array<eqsat::operator_info, operator_count> out{};
    for (const ir::op_info& row : ir::op_table)
      out[static_cast<std::size_t>(row.code)] = {row.name, row.arity, row.commutative};
    out[fused_operator] = {"fused", -1, false};
    out[stored_operator] = {"stored", 1, false};
    out[nest_operator] = {"nest", -1, false};
    out[produce_operator] = {"produce", 1, false};
    return out;
  }();

  struct payload_record {
    std::vector<std::int64_t> attributes;
    std::vector<ir::dim> dims;
    friend bool operator==(const payload_record&, const payload_record&) = default;
  };

  tensor_language() : payloads_(1) {}

  ir::graph& terms() { return terms_; }
  const ir::graph& terms() const { return terms_; }
  // To be set before the first node is added.
  ir::fixed_inputs& fixed() { return fixed_; }
  const ir::fixed_inputs& fixed() const { return fixed_; }
  const payload_record& payload(std::uint32_t id) const { return payloads_[id]; }

  std::uint32_t intern(std::span<const std::int64_t> attributes, std::span<const ir::dim> dims) {
    if (attributes.empty() && dims.empty()) return 0;
    std::uint64_t key = hash_range(attributes);
    for (ir::dim d : dims) key = hash_combine(key, d.code());
    const auto matches = [&](std::uint32_t id) {
      return std::ranges::equal(payloads_[id].attributes, attributes) &&
             std::ranges::equal(payloads_[id].dims, dims);
    };
    if (slots_.size() < 2 * (payloads_.size() + 1)) grow();
    std::size_t place = key & (slots_.size() - 1);
    for (; slots_[place].second != 0; place = (place + 1) & (slots_.size() - 1))
      if (slots_[place].first == key && matches(slots_[place].second)) return slots_[place].second;
    payloads_.push_back({{attributes.begin(), attributes.end()}, {dims.begin(), dims.end()}});
    slots_[place] = {key, static_cast<std::uint32_t>(payloads_.size() - 1)};
    return slots_[place].second;
  }

  // ---- what the engine asks for

  facts make(const egraph& graph, const eqsat::enode_view& node) {
    if (node.op == fused_operator) return {term_of_its_class};
    if (node.op >= ir::op_count) return {};
    inline_vector<int, 8> few;
    std::vector<int> many;
    bool all_constant = !node.children.empty();
    for (eqsat::class_id child : node.children) {
      const facts& known = graph.data(child);
      all_constant = all_constant && known.is_constant;
      if (node.children.size() <= 8)
        few.push_back(known.term);
      else
        many.push_back(known.term);
    }
    const ir::op code = static_cast<ir::op>(node.op);
    const payload_record record = payloads_[node.payload];
    const std::span<const int> in =
        many.empty() ? std::span<const int>(few) : std::span<const int>(many);
    facts out;
    out.term = ir::append(terms_, code, in, record.attributes, record.dims);
    if (fixed_.any()) out.fixed = is_fixed(graph, node, out.term, record);
    if (code == ir::op::constant) {
      out.is_constant = true;
      out.constant = ir::constant_value(terms_, out.term);
      detail::round_to(terms_[out.term].type,
                       out.constant);  // 0.1 written for f32 is what f32 holds of it
    } else if (all_constant) {
      inline_vector<double, 3> operands;
      for (eqsat::class_id child : node.children)
        if (operands.size() < 3) operands.push_back(graph.data(child).constant);
      out.is_constant = fold(terms_, out.term, operands, out.constant);
    }
    return out;
  }

  eqsat::merge_result merge(facts& into, const facts& from) {
    eqsat::merge_result result;
    if (into.term == term_of_its_class && from.term >= 0) {
      into.term = from.term;
      result.into_changed = true;
    }
    if (from.is_constant && !into.is_constant) {
      into.is_constant = true;
      into.constant = from.constant;
      result.into_changed = true;
    }
    if (from.fixed && !into.fixed) {
      into.fixed = true;
      result.into_changed = true;
    }
    result.from_differs = (into.is_constant && !from.is_constant) || (into.fixed && !from.fixed) ||
                          from.term == term_of_its_class;
    return result;
  }

  // A class that is known to be constant contains the constant.
  void modify(egraph& graph, eqsat::class_id id) {
    const facts known = graph.data(id);
    if (!known.is_constant || known.term < 0) return;
    const ir::value plain = ir::constant(terms_, terms_[known.term].type, known.constant);
    // A copy: appending nodes moves the term.
    const ir::symbolic_shape wanted = terms_[known.term].shape;
    graph.unite(id, add(graph, ir::broadcast_to(plain, wanted)));
  }

  // Two values of different shape, dtype or constant are never equal, whatever a rule says.
  bool can_unite(const facts& a, const facts& b) const {
    if (a.term == term_of_its_class || b.term == term_of_its_class)
      return a.term >= 0 || b.term >= 0;
    if (a.term < 0 || b.term < 0) return a.term < 0 && b.term < 0;
    const ir::node& x = terms_[a.term];
    const ir::node& y = terms_[b.term];
    if (x.type != y.type || !(x.shape == y.shape)) return false;
    return !(a.is_constant && b.is_constant) ||
           std::bit_cast<std::uint64_t>(a.constant) == std::bit_cast<std::uint64_t>(b.constant);
  }

  static constexpr bool parse_literal(std::string_view text, double& out) {
    // std::from_chars is not constexpr in C++20; patterns need no exponents.
    std::size_t at = text.starts_with('-') ? 1 : 0;
    if (at == text.size()) return false;
    double scale = 0;
    out = 0;
    for (; at < text.size(); ++at) {
      if (text[at] == '.' && scale == 0) {
        scale = 1;
        continue;
      }
      if (text[at] < '0' || text[at] > '9') return false;
      out = out * 10 + (text[at] - '0');
      scale *= 10;
    }
    if (scale > 1) out /= scale;
    if (text.starts_with('-')) out = -out;
    return true;
  }
  bool matches_literal(const egraph& graph, eqsat::class_id id, double value) const {
    const facts& known = graph.data(id);
    return known.is_constant && known.constant == value;
  }
  eqsat::class_id add_literal(egraph& graph, double value, eqsat::class_id root) {
    return add(graph, ir::constant(terms_, terms_[graph.data(root).term].type, value));
  }

  std::string payload_text(std::uint16_t op, std::uint32_t id) const {
    if (op >= ir::op_count) return std::to_string(id);
    if (op == static_cast<std::uint16_t>(ir::op::constant)) {
      const std::vector<std::int64_t>& a = payloads_[id].attributes;
      const double x = is_wide_integer(static_cast<dtype>(a[0])) ? static_cast<double>(a[1])
                                                                 : ir::double_of(a[1]);
      char text[32];
      const auto end = std::to_chars(text, text + sizeof text, x);
      return std::string(name(static_cast<dtype>(a[0]))) + " " + std::string(text, end.ptr);
    }
    std::string out;
    for (std::int64_t a : payloads_[id].attributes)
      out += (out.empty() ? "" : " ") + std::to_string(a);
    for (ir::dim d : payloads_[id].dims) out += (out.empty() ? "" : " ") + terms_.dims.to_string(d);
    return out;
  }

  // ---- between terms and classes

  // The node of the language's graph that stands for a class.
  ir::value term(const egraph& graph, eqsat::class_id id) { return {&terms_, graph.data(id).term}; }

  // The class of a term; what it is made of is added as needed.
  eqsat::class_id add(egraph& graph, ir::value v) { return add(graph, v.id); }
  eqsat::class_id add(egraph& graph, int id) {
    if (static_cast<std::size_t>(id) < class_of_.size() &&
        class_of_[static_cast<std::size_t>(id)] != eqsat::no_id)
      return graph.find(class_of_[static_cast<std::size_t>(id)]);
    const std::vector<int> in(terms_.inputs(id).begin(), terms_.inputs(id).end());
    std::vector<eqsat::class_id> children;
    for (int i : in) children.push_back(add(graph, i));
    const std::uint32_t payload_id = intern(terms_.attributes(id), terms_.node_dims(id));
    const eqsat::class_id found =
        graph.add(static_cast<std::uint16_t>(terms_[id].code), payload_id, children);
    if (class_of_.size() <= static_cast<std::size_t>(id))
      class_of_.resize(static_cast<std::size_t>(id) + 1, eqsat::no_id);
    class_of_[static_cast<std::size_t>(id)] = found;
    return found;
  }

 private:
  bool is_fixed(const egraph& graph, const eqsat::enode_view& node, int term,
                const payload_record& record) const {
    if (node.op == static_cast<std::uint16_t>(ir::op::argument) &&
        !fixed_.is_frozen(record.attributes[1]))
      return false;
    for (eqsat::class_id child : node.children)
      if (!graph.data(child).fixed) return false;
    return fixed_.all_fixed(terms_.dims, terms_[term].shape) &&
           fixed_.all_fixed(terms_.dims, record.dims);
  }

  void grow() {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> old(slots_.empty() ? 64
                                                                            : slots_.size() * 2);
    old.swap(slots_);
    for (const auto& slot : old) {
      if (slot.second == 0) continue;
      std::size_t place = slot.first & (slots_.size() - 1);
      while (slots_[place].second != 0) place = (place + 1) & (slots_.size() - 1);
      slots_[place] = slot;
    }
  }

  ir::graph terms_;
  ir::fixed_inputs fixed_;
  std::vector<payload_record> payloads_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>>
      slots_;                              // {hash, payload}; payload 0 is never in it
  std::vector<eqsat::class_id> class_of_;  // by term
};

using tensor_egraph = tensor_language::egraph;

inline const ir::node& node_of(const tensor_egraph& graph, eqsat::class_id id) {
  return graph.language().terms()[graph.data(id).term];
}

}  // namespace sinter::inline SINTER_ABI::rules
