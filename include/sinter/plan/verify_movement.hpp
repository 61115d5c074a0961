// SPDX-License-Identifier: MIT
// Checks of nests without bodies: pieces that are put together, rows taken or added by index,
// running sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_facts.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::planning::detail {

// Pieces inside of the output, none over another: with the fill they cover it once.
inline void check_pieces(const nest_facts& facts, const nest& n) {
  const shape_vector whole = facts.evaluate(facts.target(n).shape);
  struct box {
    shape_vector begin, extent;
  };
  std::vector<box> boxes;
  for (std::size_t i = 0; i < n.pieces.size(); ++i) {
    const piece& p = n.pieces[i];
    const std::string field = "piece " + std::to_string(i);
    box own{{}, facts.evaluate(p.space)};
    facts.require(own.extent.size() == whole.size() && p.offset.size() == whole.size(), field,
                  "has another rank");
    facts.require(!p.body.empty(), field, "is nothing");
    facts.require(p.body.back().type == facts.target(n).type, field, "has another dtype");
    for (const step& s : p.body) facts.require(s.level == level::full, field, "has no rows");
    for (std::size_t axis = 0; axis < whole.size(); ++axis) {
      own.begin.push_back(facts.evaluate(p.offset[axis]));
      facts.require(own.begin[axis] >= 0 && own.begin[axis] + own.extent[axis] <= whole[axis],
                    field + " offset", "leaves the output");
    }
    for (const box& other : boxes) {
      bool meets = element_count(own.extent) > 0 && element_count(other.extent) > 0;
      for (std::size_t axis = 0; axis < whole.size(); ++axis)
        meets = meets && own.begin[axis] < other.begin[axis] + other.extent[axis] &&
                other.begin[axis] < own.begin[axis] + own.extent[axis];
      facts.require(!meets, field + " offset", "lies over another piece");
    }
    boxes.push_back(own);
  }
}

// gather: out[before, indices, behind] of x[before, axis, behind]; scatter_add the other way.
inline void check_indexed(const nest_facts& facts, const nest& n) {
  facts.require(n.accesses.size() == 2, "accesses", "a list and indices");
  const bool gathers = n.kind == nest_kind::gather;
  const shape_vector out = facts.evaluate(facts.target(n).shape),
                     indices = facts.evaluate(n.accesses[1].shape),
                     operand = facts.evaluate(n.accesses[0].shape);
  const shape_vector& narrow = gathers ? operand : out;
  const shape_vector wide = gathers ? facts.evaluate(n.space) : operand;
  facts.require(n.axis >= 0 && facts.at(n.axis) < narrow.size(), "axis", "there is none");
  const std::size_t axis = facts.at(n.axis), width = indices.size();
  facts.require(wide.size() + 1 == narrow.size() + width, "access 0", "has another rank");
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const std::int64_t expected = i < axis           ? narrow[i]
                                  : i < axis + width ? indices[i - axis]
                                                     : narrow[i - width + 1];
    facts.require(wide[i] == expected, "access 0", "has other extents");
  }
  facts.require(!gathers || element_count(out) == element_count(wide), "store 0",
                "the buffer has another number of elements");
  facts.require(gathers || facts.evaluate(n.space) == out, "space", "is not that of the output");
  facts.require(is_integral(facts.buffer_at(n.accesses[1].buffer).type), "access 1",
                "indices are integers");
  facts.require(facts.buffer_at(n.accesses[0].buffer).type == facts.target(n).type, "store 0 dtype",
                "the operand has another one");
}

// As many sums as elements, in their places.
inline void check_scan(const nest_facts& facts, const nest& n) {
  facts.require(n.accesses.size() == 1, "accesses", "one operand");
  const shape_vector space = facts.evaluate(n.space);
  facts.require(facts.evaluate(n.accesses[0].shape) == space, "access 0", "has other extents");
  facts.require(facts.evaluate(facts.target(n).shape) == space, "space",
                "is not that of the output");
  facts.require(n.axis >= 0 && facts.at(n.axis) < space.size(), "axis", "there is none");
  const dtype type = facts.target(n).type;
  facts.require(facts.buffer_at(n.accesses[0].buffer).type == type, "store 0 dtype",
                "the operand has another one");
  facts.require(type != dtype::boolean && !is_narrow_float(type), "store 0 dtype",
                "is not added up in this form");
}

}  // namespace sinter::inline SINTER_ABI::planning::detail
