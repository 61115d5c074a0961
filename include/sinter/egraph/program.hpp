// SPDX-License-Identifier: MIT
//
// A match program: what the left side of a rule is compiled to, in constant evaluation or at run
// time. As in egg's and Z3's matching machines ("Efficient E-Matching for
// SMT Solvers"), an instruction enumerates the nodes of a class, compares two registers, tests a
// literal, or looks a ground sub-term up in the hash-cons. Registers hold classes; one interpreter
// (machine.hpp) runs all programs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sinter/egraph/pattern.hpp>
#include <sinter/support/inline_vector.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

enum class instruction_kind : std::uint8_t {
  root,          ///< the node that the search starts from
  scan,          ///< any node of the operator (further roots of multi-patterns)
  scan_parents,  ///< any node of the operator that has class `input` as child
  bind,          ///< any node of the operator in class `input`
  compare,       ///< registers `input` and `output` are the same class
  literal,       ///< class `input` is the literal `index`
  lookup,        ///< class `input` is that of the ground term at `index`
};

struct instruction {
  instruction_kind kind = instruction_kind::root;
  std::uint8_t input = 0;
  std::uint8_t output = 0;  ///< first of the registers that get the children
  std::uint8_t index = 0;   ///< of a literal, otherwise of the pattern term that is matched
  std::uint8_t root = 0;    ///< of root and scans: the register that gets the node's class
  std::uint8_t arity = 0;
  std::uint16_t op = 0;
  payload_kind payload = payload_kind::zero;
  std::uint8_t payload_index = 0;
  bool payload_bound = false;  ///< the payload variable has its value already
  bool last_source = false;    ///< no later instruction looks at a node: a match without a touched
                               ///< node may stop here
};

struct match_program {
  pattern_list patterns;
  inline_vector<instruction, max_terms + max_patterns> code;
  std::array<std::uint8_t, max_variables> variable_register{};
  std::uint8_t registers = 0;
  std::uint8_t depth = 0;             ///< greatest depth of an operator below the root
  std::uint64_t inner_operators = 0;  ///< bit `op % 64` of operators below the root

  constexpr std::size_t roots() const { return patterns.starts.size(); }
  constexpr std::uint16_t root_operator() const { return code[0].op; }
};

/// Translates parsed patterns. Among the sub-terms of which the class is known, the one that
/// repeats most variables that are bound already comes next: it cuts the search soonest.
class match_compiler {
 public:
  constexpr explicit match_compiler(const pattern_list& patterns) {
    program_.patterns = patterns;
    program_.registers = static_cast<std::uint8_t>(patterns.starts.size());
  }

  constexpr match_program compile() {
    for (std::size_t i = 0; i < program_.roots(); ++i) {
      emit_root(i);
      while (!open_.empty()) {
        const std::size_t best = most_bound();
        const open_term next = open_[best];
        open_.erase(open_.begin() + best);
        emit_node({.kind = instruction_kind::bind, .input = next.input}, next.term, next.depth);
      }
    }
    mark_last_source();
    return program_;
  }

 private:
  struct open_term {
    std::uint8_t term = 0;
    std::uint8_t input = 0;
    std::uint8_t depth = 0;
  };

  constexpr const pattern_term& term(std::size_t i) const { return program_.patterns.terms[i]; }

  constexpr void emit_root(std::size_t number) {
    const std::uint8_t start = program_.patterns.starts[number];
    instruction first{.kind = number == 0 ? instruction_kind::root : instruction_kind::scan,
                      .root = static_cast<std::uint8_t>(number)};
    // A further root that shares a variable as direct child is found through that class's parents.
    std::size_t child = start + std::size_t{1};
    for (std::size_t i = 0; number > 0 && i < term(start).arity; ++i, child += term(child).size) {
      if (term(child).kind == term_kind::variable && bound_[term(child).index]) {
        first.kind = instruction_kind::scan_parents;
        first.input = program_.variable_register[term(child).index];
        break;
      }
    }
    emit_node(first, start, 0);
  }

  constexpr void emit_node(instruction code, std::uint8_t index, std::uint8_t depth) {
    const pattern_term node = term(index);
    code.index = index;
    code.op = node.op;
    code.arity = node.arity;
    code.output = program_.registers;
    code.payload = node.payload;
    code.payload_index = node.payload_index;
    if (node.payload == payload_kind::variable) {
      code.payload_bound = payload_bound_[node.payload_index];
      payload_bound_[node.payload_index] = true;
    }
    program_.code.push_back(code);
    note_inner(node.op, depth);
    program_.registers = static_cast<std::uint8_t>(program_.registers + node.arity);

    std::uint8_t child = static_cast<std::uint8_t>(index + 1);
    for (std::uint8_t i = 0; i < node.arity; ++i) {
      emit_child(child, static_cast<std::uint8_t>(code.output + i),
                 static_cast<std::uint8_t>(depth + 1));
      child = static_cast<std::uint8_t>(child + term(child).size);
    }
  }

  constexpr void emit_child(std::uint8_t index, std::uint8_t input, std::uint8_t depth) {
    const pattern_term child = term(index);
    switch (child.kind) {
      case term_kind::any: break;
      case term_kind::variable:
        if (bound_[child.index]) {
          program_.code.push_back({.kind = instruction_kind::compare,
                                   .input = input,
                                   .output = program_.variable_register[child.index]});
        } else {
          bound_[child.index] = true;
          program_.variable_register[child.index] = input;
        }
        break;
      case term_kind::literal:
        program_.code.push_back(
            {.kind = instruction_kind::literal, .input = input, .index = child.index});
        break;
      case term_kind::apply:
        if (is_ground(index)) {
          program_.code.push_back(
              {.kind = instruction_kind::lookup, .input = input, .index = index});
          note_inner(child.op, depth);
        } else {
          open_.push_back({index, input, depth});
        }
        break;
    }
  }

  constexpr void note_inner(std::uint16_t op, std::uint8_t depth) {
    if (depth == 0) return;
    if (depth > program_.depth) program_.depth = depth;
    program_.inner_operators |= std::uint64_t{1} << (op % 64);
  }

  constexpr bool is_ground(std::size_t index) const {
    for (std::size_t i = index; i < index + term(index).size; ++i) {
      if (term(i).kind != term_kind::apply || term(i).payload != payload_kind::zero) return false;
    }
    return true;
  }

  constexpr std::size_t most_bound() const {
    std::size_t best = 0;
    int best_count = -1;
    for (std::size_t candidate = 0; candidate < open_.size(); ++candidate) {
      const std::size_t first = open_[candidate].term;
      int count = 0;
      for (std::size_t i = first; i < first + term(first).size; ++i) {
        count += term(i).kind == term_kind::variable && bound_[term(i).index] ? 1 : 0;
      }
      if (count > best_count) {
        best = candidate;
        best_count = count;
      }
    }
    return best;
  }

  constexpr void mark_last_source() {
    for (std::size_t i = program_.code.size(); i-- > 0;) {
      const instruction_kind kind = program_.code[i].kind;
      if (kind == instruction_kind::compare || kind == instruction_kind::literal) continue;
      program_.code[i].last_source = true;
      return;
    }
  }

  match_program program_;
  std::array<bool, max_variables> bound_{};
  std::array<bool, max_payloads> payload_bound_{};
  inline_vector<open_term, max_terms> open_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
