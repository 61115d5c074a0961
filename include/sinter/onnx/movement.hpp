// SPDX-License-Identifier: MIT
// Operators of ONNX that reshape and move tensors. Their shapes may be computed by the model:
// what can be known while loading is followed as numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <sinter/onnx/fold.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail::movement {

// A known vector as a shape. Throws where a number cannot be an extent.
inline ir::symbolic_shape shape_from(operation& o, const known_tensor& k) {
  if (k.size() > static_cast<std::size_t>(max_rank))
    o.fail("a shape of " + std::to_string(k.size()) + " axes; the limit is " +
           std::to_string(max_rank));
  ir::symbolic_shape out;
  for (const number& x : k.elements) {
    if (is_real(x) || (is_integer(x) && std::get<std::int64_t>(x) < 0))
      o.fail("an element of a shape is below 0");
    if (is_integer(x) && std::get<std::int64_t>(x) > most_elements)
      o.fail("an element of a shape is " + std::to_string(std::get<std::int64_t>(x)));
    out.push_back(dim_of(o.dims(), x));
  }
  return out;
}

inline void require_rank(operation& o, std::size_t rank) {
  if (rank > static_cast<std::size_t>(max_rank))
    throw shape_error("rank " + std::to_string(rank) + " exceeds the limit of " +
                      std::to_string(max_rank));
  static_cast<void>(o);
}

inline void shape(operation& o) {
  const ir::symbolic_shape all = o.shape(0);
  const auto rank = static_cast<std::int64_t>(all.size());
  const auto place = [&](std::string_view name, std::int64_t otherwise) {
    const std::int64_t given = o.integer(name, otherwise);
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t first = place("start", 0), last = place("end", rank);
  known_tensor out{dtype::i64, {std::max<std::int64_t>(0, last - first)}, {}};
  for (std::int64_t i = first; i < last; ++i) out.elements.push_back(number_of(o.dims(), all[i]));
  o.give(std::move(out));
}

inline void size(operation& o) {
  ir::dim total(1);
  for (const ir::dim d : o.shape(0)) total = o.dims().mul(total, d);
  o.give(known_tensor{dtype::i64, {}, {number_of(o.dims(), total)}});
}

// The same elements in another shape, known ones included.
inline void give_reshaped(operation& o, const ir::symbolic_shape& to) {
  bool constant = true;
  shape_vector extents;
  for (const ir::dim d : to) {
    constant = constant && d.is_constant();
    extents.push_back(d.is_constant() ? d.constant() : 0);
  }
  const known_tensor* const k = o.known(0);
  if (k != nullptr && constant && element_count(extents) == static_cast<std::int64_t>(k->size())) {
    known_tensor out = *k;
    out.shape = extents;
    return o.give(std::move(out));
  }
  o.give(ir::reshape(o.in(0), to));
}

inline void reshape(operation& o) {
  o.ignore("consumed_inputs");
  known_tensor target;
  if (o.version() >= 5) {
    target = o.numbers(1);
  } else {
    for (const std::int64_t x : o.integers("shape")) target.elements.emplace_back(x);
  }
  const bool keeps_zeros = o.integer("allowzero", 0) != 0;
  const ir::symbolic_shape from = o.shape(0);
  require_rank(o, target.size());
  ir::symbolic_shape to;
  ir::dim known(1);
  int inferred = -1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const number& x = target.elements[i];
    if (is_integer(x) && std::get<std::int64_t>(x) == -1) {
      if (inferred >= 0) throw shape_error("two extents are to be inferred");
      inferred = static_cast<int>(i);
      to.push_back(ir::dim(1));
      continue;
    }
    const bool copied = is_integer(x) && std::get<std::int64_t>(x) == 0 && !keeps_zeros;
    if (copied && i >= from.size())
      throw shape_error("extent " + std::to_string(i) + " is to be kept, of rank " +
                        std::to_string(from.size()));
    if (is_integer(x) && std::get<std::int64_t>(x) < 0)
      throw shape_error("extent " + std::to_string(std::get<std::int64_t>(x)) + " is below 0");
    to.push_back(copied ? from[i] : dim_of(o.dims(), x));
    known = o.dims().mul(known, to.back());
  }
  if (inferred >= 0) {
    ir::dim total(1);
    // A quotient by 0 is none.
    const bool divides = !(known == ir::dim(0));
    for (const ir::dim d : from) total = o.dims().mul(total, d);
    to[inferred] = divides ? o.dims().floor_div(total, known) : ir::dim(0);
  }
  give_reshaped(o, to);
}

// Axes as an attribute, or as an input in later versions.
inline std::vector<std::int64_t> axes_of(operation& o, int at) {
  return o.has(at) ? o.known_integers(at) : o.integers("axes");
}

inline void squeeze(operation& o) {
  const ir::symbolic_shape from = o.shape(0);
  const int rank = static_cast<int>(from.size());
  const bool given = o.has(1) || o.has_attribute("axes");
  const std::vector<std::int64_t> axes = axes_of(o, 1);
  const std::int64_t mask = given ? o.mask(axes, rank) : 0;
  ir::symbolic_shape to;
  for (int i = 0; i < rank; ++i) {
    const bool one = from[i] == ir::dim(1);
    if (given && ir::has_axis(mask, i) && from[i].is_constant() && !one)
      throw shape_error("axis " + std::to_string(i) + " of " + o.dims().to_string(from) +
                        " is not 1");
    if (given ? !ir::has_axis(mask, i) : !one) to.push_back(from[i]);
  }
  give_reshaped(o, to);
}

inline void unsqueeze(operation& o) {
  const ir::symbolic_shape from = o.shape(0);
  const std::vector<std::int64_t> axes = axes_of(o, 1);
  require_rank(o, from.size() + axes.size());
  const int rank = static_cast<int>(from.size() + axes.size());
  const std::int64_t mask = o.mask(axes, rank);
  ir::symbolic_shape to;
  for (int i = 0, next = 0; i < rank; ++i)
    to.push_back(ir::has_axis(mask, i) ? ir::dim(1) : from[next++]);
  give_reshaped(o, to);
}

inline void flatten(operation& o) {
  const ir::symbolic_shape from = o.shape(0);
  const int rank = static_cast<int>(from.size());
  const std::int64_t given = o.integer("axis", 1);
  const int at = given == rank ? rank : o.axis(given, std::max(rank, 1));
  ir::symbolic_shape to{ir::dim(1), ir::dim(1)};
  for (int i = 0; i < rank; ++i) {
    ir::dim& part = to[i < at ? 0 : 1];
    part = o.dims().mul(part, from[i]);
  }
  give_reshaped(o, to);
}

inline void expand(operation& o) {
  const known_tensor& k = o.numbers(1);
  const ir::symbolic_shape asked = shape_from(o, k), from = o.shape(0);
  const ir::symbolic_shape to = ir::broadcast_shape(o.graph(), from, asked);
  if (const known_tensor* x = o.known(0)) {
    shape_vector extents;
    bool constant = true;
    for (const ir::dim d : to) {
      constant = constant && d.is_constant();
      extents.push_back(d.is_constant() ? d.constant() : 0);
    }
    if (constant && element_count(extents) <= known_limit) {
      known_tensor out{x->type, extents, {}};
      for (std::int64_t i = 0; i < element_count(extents); ++i)
        out.elements.push_back(broadcast_element(*x, extents, i));
      return o.give(std::move(out));
    }
  }
  o.give(ir::broadcast_to(o.operand(0, static_cast<int>(to.size())), to));
}

inline void transpose(operation& o) {
  const int rank = o.rank(0);
  std::vector<std::int64_t> order = o.integers("perm");
  if (!o.has_attribute("perm"))
    for (int i = rank; i-- > 0;) order.push_back(i);
  if (order.size() != static_cast<std::size_t>(rank))
    throw axis_error("perm has " + std::to_string(order.size()) + " axes for rank " +
                     std::to_string(rank));
  for (std::int64_t& each : order) each = o.axis(each, rank);
  if (rank <= 1) return o.give_input(0);
  o.give(ir::permute(o.in(0), order));
}

inline void concat(operation& o) {
  const int rank = o.rank(0);
  const int axis = o.axis(o.integer("axis", 1), rank);
  known_tensor joined{o.type(0), {0}, {}};
  bool known = rank == 1;
  for (int i = 0; known && i < o.count(); ++i) {
    const known_tensor* const part = o.known(i);
    known = part != nullptr && part->shape.size() == 1;
    if (!known) break;
    joined.elements.insert(joined.elements.end(), part->elements.begin(), part->elements.end());
  }
  joined.shape[0] = static_cast<std::int64_t>(joined.size());
  if (known && joined.shape[0] <= known_limit) return o.give(std::move(joined));
  std::vector<ir::value> parts;
  for (int i = 0; i < o.count(); ++i) {
    if (o.rank(i) != rank)
      throw shape_error("parts of rank " + std::to_string(rank) + " and " +
                        std::to_string(o.rank(i)));
    parts.push_back(o.in(i));
  }
  o.give(ir::concat(parts, axis));
}

inline void tile(operation& o) {
  const ir::symbolic_shape counts = shape_from(o, o.numbers(1));
  if (static_cast<int>(counts.size()) != o.rank(0))
    throw shape_error(std::to_string(counts.size()) + " repeats for rank " +
                      std::to_string(o.rank(0)));
  o.give(sinter::detail::tile_function::tiled(o.in(0), {counts.begin(), counts.size()}));
}

// Space to depth and back: blocks of an image as channels.
inline void depth_to_space(operation& o) {
  const std::string mode = o.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") o.fail("mode " + in_quotes(mode) + " is not supported");
  const ir::value x = o.in(0);
  const ir::dim block(o.integer("blocksize", 0));
  if (x.rank() != 4 || block.constant() < 1) o.fail("needs rank 4 and a block size above 0");
  ir::dim_table& d = o.dims();
  const ir::dim depth = d.floor_div(x.extent(1), d.mul(block, block));
  const bool first = mode == "DCR";
  const ir::symbolic_shape apart =
      first ? ir::symbolic_shape{x.extent(0), block, block, depth, x.extent(2), x.extent(3)}
            : ir::symbolic_shape{x.extent(0), depth, block, block, x.extent(2), x.extent(3)};
  const std::int64_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
  o.give(ir::reshape(ir::permute(ir::reshape(x, apart), first ? dcr : crd),
                     {x.extent(0), depth, d.mul(x.extent(2), block), d.mul(x.extent(3), block)}));
}
inline void space_to_depth(operation& o) {
  const std::string mode = o.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") o.fail("mode " + in_quotes(mode) + " is not supported");
  const ir::value x = o.in(0);
  const ir::dim block(o.integer("blocksize", 0));
  if (x.rank() != 4 || block.constant() < 1) o.fail("needs rank 4 and a block size above 0");
  ir::dim_table& d = o.dims();
  const ir::dim rows = d.floor_div(x.extent(2), block), columns = d.floor_div(x.extent(3), block);
  const std::int64_t dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
  const ir::value blocks = ir::reshape(x, {x.extent(0), x.extent(1), rows, block, columns, block});
  o.give(ir::reshape(ir::permute(blocks, mode == "DCR" ? dcr : crd),
                     {x.extent(0), d.mul(x.extent(1), d.mul(block, block)), rows, columns}));
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail::movement
