// SPDX-License-Identifier: MIT
// A nest as an alternative: what it computes, reads and stores, and what that costs.
#pragma once

#include <array>
#include <vector>

#include <sinter/plan/column_pair.hpp>
#include <sinter/plan/cut.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/streamed.hpp>
#include <sinter/plan/summed_rows.hpp>

namespace sinter::inline SINTER_ABI::planning {

// Which operands of a streamed nest it computes itself.
struct computed_operands {
  bool a = false, b = false;
  friend bool operator==(const computed_operands&, const computed_operands&) = default;
};

struct candidate {
  nest_kind kind{};            // alias: also a way to read a value, see view_choice.hpp
  int root = -1;               // the value it is made for
  int form = -1;               // kinds that stand for one op: the form of the root
  cut inside;                  // tile, column, matmul, streamed: what is computed and what is read
  weighted_sum weighted;       // streamed; `inside` is a cut of its scores
  computed_operands computed;  // streamed
  // matmul: the views that operands of its product are gathered from, or -1.
  std::array<int, 2> gathered{-1, -1};
  // matmul: the values of the right sides of its products, if they are packed once.
  std::array<int, 2> packed{-1, -1};
  bool winograd = false;   // matmul: as `nest` has it
  std::vector<int> parts;  // grouped: matmul candidates with one left factor
  // column: the root is its second value, its cut is one of x. tile: the value of its body that is
  // `second` comes from one sweep with the pair's first.
  column_pair pair;
  int second = -1;
  bool reordered = false;    // tile: a reduction over axes that are not the last ones
  std::vector<int> outputs;  // values it stores, the root first
  // tile: those of the outputs that are sums of what it computes, along the axes outside of rows.
  std::vector<summed_value> sums;
  std::vector<int> reads;    // values that must be stored before
  double prologue_work = 0;  // streamed: nanoseconds for the operands it computes
  double nanoseconds = 0;    // predicted for the extents at hand
  double cost = 0;           // of these, what one call has to pay for
  bool refused = false;      // by policy: not to be chosen
};

}  // namespace sinter::inline SINTER_ABI::planning
