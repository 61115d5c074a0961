// SPDX-License-Identifier: MIT
// An element-wise region as steps of a machine with one accumulator: what runs a region for which
// nothing was compiled. Each step combines the accumulator with operands in memory, so that a chain
// of ops reads one operand per op and writes once, where single ops read two and write one each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/support/inline_vector.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// What a step does with the accumulator A and its operands: x, or a and b.
enum class accumulator_op : std::uint8_t {
  load,  // A = x
  add,
  sub,
  sub_from,  // A = x - A
  mul,
  maximum,
  maximum_from,  // A = maximum(x, A)
  minimum,
  minimum_from,
  div,
  div_into,       // A = x / A
  add_scale,      // A = (A + a) b, two ops in one step
  sub_scale,      // A = (A - a) b
  scale_add,      // A = (A a) + b
  scale_sub,      // A = (A a) - b
  subtract_from,  // A = b - (A a)
  multiply_add,   // A = A a + b, rounded once
  add_product,    // A = a b + A, rounded once
  store,          // a = A
  neg,
  abs,
  relu,
  sqrt,
  rsqrt,
  recip
};

/// The operand x of a step, of the values at its places a and b. Products spare a step of their
/// own.
enum class accumulator_operand : std::uint8_t {
  element,  // a
  scalar,   // a, the same for all elements
  product,  // a b
  scaled    // a b, of which b is a scalar
};

/// The same for two ops in one step: which of a and b are scalars.
constexpr accumulator_operand operand_pair(bool a_is_scalar, bool b_is_scalar) {
  return static_cast<accumulator_operand>((a_is_scalar ? 1 : 0) + (b_is_scalar ? 2 : 0));
}

inline constexpr int accumulator_operand_count = 4;

/// What and with which operand, in one number, so that running a step is one jump.
constexpr std::uint8_t accumulator_code(accumulator_op what, accumulator_operand operand = {}) {
  return static_cast<std::uint8_t>(static_cast<int>(what) * accumulator_operand_count +
                                   static_cast<int>(operand));
}

struct accumulator_step {
  std::uint8_t code = 0, a = 0, b = 0, unused = 0;

  constexpr accumulator_op what() const {
    return static_cast<accumulator_op>(code / accumulator_operand_count);
  }
  constexpr accumulator_operand operand() const {
    return static_cast<accumulator_operand>(code % accumulator_operand_count);
  }

  friend bool operator==(const accumulator_step&, const accumulator_step&) = default;
};

/// Places are numbered: the leaves of the region, its result, temporaries.
struct accumulator_program {
  static constexpr int max_temporaries = 8;
  static constexpr int max_places = region::max_leaves + 1 + max_temporaries;

  static constexpr int max_steps = 3 * region::max_nodes;  // a node loads, computes and stores

  inline_vector<accumulator_step, max_steps> steps;
  std::uint8_t leaf_count = 0;
  std::uint32_t scalar_leaves = 0;
  std::uint32_t spread_leaves = 0;  // scalars that a step reads as if they were elements

  constexpr int result() const { return leaf_count; }
  constexpr bool is_scalar(int leaf) const { return (scalar_leaves >> leaf & 1u) != 0; }
  constexpr bool is_spread(int leaf) const { return (spread_leaves >> leaf & 1u) != 0; }
  /// Is a place a leaf or the result, and does it go on with the elements?
  constexpr bool moves(int place) const { return place <= leaf_count && !is_scalar(place); }

  /// Reads and writes of memory per element.
  constexpr int accesses() const;
};

namespace detail {

constexpr int accesses(const accumulator_step& s) {
  using what = accumulator_op;
  if (s.what() >= what::neg) return 0;
  if (s.what() == what::store) return 1;
  if (s.what() >= what::multiply_add) return 2;
  const int kind = static_cast<int>(s.operand());
  if (s.what() >= what::add_scale) return 2 - (kind & 1) - (kind >> 1);
  return s.operand() == accumulator_operand::product  ? 2
         : s.operand() == accumulator_operand::scalar ? 0
                                                      : 1;
}

// The step that does what two do one after the other; load: there is none.
constexpr accumulator_op joined(accumulator_op first, accumulator_op second) {
  using what = accumulator_op;
  if (second == what::mul)
    return first == what::add ? what::add_scale : first == what::sub ? what::sub_scale : what::load;
  if (first != what::mul) return what::load;
  return second == what::add        ? what::scale_add
         : second == what::sub      ? what::scale_sub
         : second == what::sub_from ? what::subtract_from
                                    : what::load;
}

struct accumulator_form {
  op code{};
  accumulator_op first{}, second{};  // the accumulator is the first operand, or the second
};

// Ops of which a step over many registers is a few dozen instructions. For longer ones it does not
// matter that their operands pass through memory.
inline constexpr accumulator_form accumulator_forms[] = {
    {op::neg, accumulator_op::neg, accumulator_op::neg},
    {op::abs, accumulator_op::abs, accumulator_op::abs},
    {op::relu, accumulator_op::relu, accumulator_op::relu},
    {op::sqrt, accumulator_op::sqrt, accumulator_op::sqrt},
    {op::rsqrt, accumulator_op::rsqrt, accumulator_op::rsqrt},
    {op::recip, accumulator_op::recip, accumulator_op::recip},
    {op::add, accumulator_op::add, accumulator_op::add},
    {op::sub, accumulator_op::sub, accumulator_op::sub_from},
    {op::mul, accumulator_op::mul, accumulator_op::mul},
    {op::div, accumulator_op::div, accumulator_op::div_into},
    {op::maximum, accumulator_op::maximum, accumulator_op::maximum_from},
    {op::minimum, accumulator_op::minimum, accumulator_op::minimum_from},
    {op::multiply_add, accumulator_op::multiply_add, accumulator_op::multiply_add},
};

constexpr const accumulator_form* accumulator_form_of(op code) {
  for (const accumulator_form& f : accumulator_forms)
    if (f.code == code) return &f;
  return nullptr;
}

// Does a step with this op take a product as its operand?
constexpr bool takes_products(op code) {
  return code == op::add || code == op::sub || code == op::mul || code == op::maximum ||
         code == op::minimum;
}

// Node after node, in the region's order: a node goes on with the accumulator where the one before
// is its operand. What is read again later is stored.
class accumulator_compiler {
 public:
  constexpr explicit accumulator_compiler(const region& r) : r_(r) {
    out_.leaf_count = r.leaf_count;
    out_.scalar_leaves = r.scalar_leaves;
    for (int i = 0; i < r.node_count; ++i)
      for (int k = 0; k < arity(i); ++k) ++uses_[index(r.operand(i, k))];
    for (int i = 0; i < r.node_count; ++i) find_paired(i);
    fits_ = r.node_count > 0;
    for (int i = 0; fits_ && i < r.node_count; ++i)
      if (!paired_[index(i)]) compile(i);
    add(accumulator_op::store, out_.result());
  }

  constexpr std::optional<accumulator_program> result() const {
    return fits_ ? std::optional(out_) : std::nullopt;
  }

 private:
  static constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }
  constexpr int arity(int node) const { return info(r_.code(node)).arity; }
  constexpr int node_of(int operand) const { return operand - r_.leaf_count; }

  // A product of leaves, not both scalars.
  constexpr bool is_product(int i) const {
    if (r_.code(i) != op::mul) return false;
    const int a = r_.operand(i, 0), b = r_.operand(i, 1);
    return node_of(a) < 0 && node_of(b) < 0 && !(r_.is_scalar(a) && r_.is_scalar(b));
  }

  // Is node i part of the step of the one that uses it? It is a product of leaves, and the other
  // operand will be in the accumulator.
  constexpr void find_paired(int i) {
    if (!is_product(i) || uses_[index(r_.leaf_count + i)] != 1) return;
    int user = i + 1;
    while (!reads(user, r_.leaf_count + i)) ++user;
    if (!takes_products(r_.code(user))) return;
    const int first = node_of(r_.operand(user, 0)), second = node_of(r_.operand(user, 1));
    const int other = first == i ? second : first;
    // Steps for maximum(x, A) would be many for what canonical regions seldom have.
    if (second != i && (r_.code(user) == op::maximum || r_.code(user) == op::minimum)) return;
    if (other < 0 || paired_[index(other)]) return;
    paired_[index(i)] = other == user - 1 || (i == user - 1 && other == i - 1);
  }
  constexpr bool reads(int node, int operand) const {
    for (int k = 0; k < arity(node); ++k)
      if (r_.operand(node, k) == operand) return true;
    return false;
  }

  constexpr void add(accumulator_op what, int a = 0, int b = 0,
                     accumulator_operand operand = accumulator_operand::element) {
    if (!out_.steps.empty() && join(what, a, operand)) return;
    out_.steps.push_back({accumulator_code(what, operand), static_cast<std::uint8_t>(a),
                          static_cast<std::uint8_t>(b)});
  }
  // With the step before, if there is one that does both.
  constexpr bool join(accumulator_op what, int a, accumulator_operand operand) {
    accumulator_step& last = out_.steps.back();
    const accumulator_op both = joined(last.what(), what);
    if (both == accumulator_op::load || operand > accumulator_operand::scalar ||
        last.operand() > accumulator_operand::scalar)
      return false;
    last.code = accumulator_code(both, operand_pair(last.operand() == accumulator_operand::scalar,
                                                    operand == accumulator_operand::scalar));
    last.b = static_cast<std::uint8_t>(a);
    return true;
  }

  constexpr void add_with(accumulator_op what, int operand) {
    const int node = node_of(operand);
    if (node >= 0 && paired_[index(node)])
      add_product(what, node);
    else if (node < 0 && r_.is_scalar(operand))
      add(what, operand, 0, accumulator_operand::scalar);
    else
      add(what, place(operand));
  }
  constexpr void add_product(accumulator_op what, int node) {
    int a = r_.operand(node, 0), b = r_.operand(node, 1);
    if (r_.is_scalar(a)) std::swap(a, b);
    add(what, a, b, r_.is_scalar(b) ? accumulator_operand::scaled : accumulator_operand::product);
  }

  constexpr void compile(int node) {
    const accumulator_form* form = accumulator_form_of(r_.code(node));
    if (form == nullptr) {
      fits_ = false;
      return;
    }
    const int operands = arity(node);
    int held = 0;  // the operand that is in the accumulator
    while (held < operands && r_.operand(node, held) != held_) ++held;
    if (held == operands && is_product(node)) {
      add_product(accumulator_op::load, node);
    } else {
      if (held == operands) add_with(accumulator_op::load, r_.operand(node, held = 0));
      combine(node, held, *form);
    }
    for (int k = 0; k < operands; ++k) release(r_.operand(node, k));
    hold(node);
  }

  // With operand `held` in the accumulator.
  constexpr void combine(int node, int held, const accumulator_form& form) {
    switch (arity(node)) {
      case 1: return add(form.first);
      case 2: return add_with(held == 0 ? form.first : form.second, r_.operand(node, 1 - held));
      default: {
        const int a = element(r_.operand(node, held == 0 ? 1 : 0));
        const int b = element(r_.operand(node, held == 2 ? 1 : 2));
        return add(held == 2 ? accumulator_op::add_product : accumulator_op::multiply_add, a, b);
      }
    }
  }

  // The accumulator has the value of `node`: stored, unless the next step alone reads it, once.
  constexpr void hold(int node) {
    const int value = r_.leaf_count + node;
    held_ = value;
    int next = node + 1;
    while (next < r_.node_count && paired_[index(next)]) ++next;
    if (next == r_.node_count) return;
    if (uses_[index(value)] == (reads(next, value) ? 1 : 0)) return;
    int free = 0;
    while (free < accumulator_program::max_temporaries && owner_[index(free)] != 0) ++free;
    if (free == accumulator_program::max_temporaries) {
      fits_ = false;
      return;
    }
    owner_[index(free)] = value;
    add(accumulator_op::store, place(value));
  }

  constexpr int element(int operand) {
    if (node_of(operand) < 0 && r_.is_scalar(operand)) out_.spread_leaves |= 1u << operand;
    return place(operand);
  }
  constexpr int place(int operand) const {
    if (operand < r_.leaf_count) return operand;
    int temporary = 0;
    while (temporary + 1 < accumulator_program::max_temporaries &&
           owner_[index(temporary)] != operand)
      ++temporary;
    return out_.result() + 1 + temporary;
  }

  constexpr void release(int operand) {
    if (operand < r_.leaf_count || --uses_[index(operand)] > 0) return;
    for (int& each : owner_)
      if (each == operand) each = 0;
  }

  const region& r_;
  accumulator_program out_;
  std::array<int, region::max_leaves + region::max_nodes> uses_{};  // of nodes: still to come
  std::array<bool, region::max_nodes> paired_{};
  std::array<int, accumulator_program::max_temporaries> owner_{};  // 0 (a leaf): free
  int held_ = -1;
  bool fits_ = true;
};

}  // namespace detail

constexpr int accumulator_program::accesses() const {
  int out = 0;
  for (const accumulator_step& s : steps) out += detail::accesses(s);
  return out;
}

/// May `code` be part of a region that runs on an accumulator?
constexpr bool has_accumulator_op(op code) { return detail::accumulator_form_of(code) != nullptr; }

/// The steps that compute a region; nothing where it has other ops, or needs too many temporaries.
constexpr std::optional<accumulator_program> accumulator_program_of(const region& r) {
  return detail::accumulator_compiler(r).result();
}

}  // namespace sinter::inline SINTER_ABI::ir
