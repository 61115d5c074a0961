// SPDX-License-Identifier: MIT
// Is a plan that was read one for this graph? Arguments, outputs and kept values must be those of
// the graph, and buffers large enough for the corner of the bucket: what a plan reads and writes
// then lies within what calls give it, at all extents of the bucket.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinter/graph/graph.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning {

namespace detail {

class graph_comparison {
 public:
  graph_comparison(const ir::graph& bound, std::span<const std::int64_t> symbols)
      : dims_(bound.dims) {
    for (int id = 0; id < bound.size(); ++id) {
      if (bound[id].code != ir::op::argument) continue;
      const auto number = static_cast<std::size_t>(bound.attributes(id)[1]);
      if (arguments_.size() <= number) arguments_.resize(number + 1);
      arguments_[number] = {bound[id].type, bound[id].shape};
    }
    for (const ir::output& o : bound.outputs)
      outputs_.push_back({bound[o.node].type, bound[o.node].shape});
    for (std::size_t i = 0; i < symbols.size(); ++i)
      symbols_.push_back(dims_.symbol(static_cast<std::int64_t>(i)));
  }

  // Strided arguments are bound axis by axis; results are contiguous, so that their shape does not
  // matter.
  void check(const plan& p) {
    for (std::size_t i = 0; i < p.buffers.size(); ++i) {
      const buffer& b = p.buffers[i];
      const bool is_argument = b.place == place::argument;
      if (!is_argument && b.place != place::output) continue;
      const std::vector<value>& known = is_argument ? arguments_ : outputs_;
      const auto number = static_cast<std::size_t>(b.number);
      if (b.number < 0 || number >= known.size()) fail(i, "the graph has no such value");
      if (b.type != known[number].type) fail(i, "its dtype is another one in the graph");
      const ir::symbolic_shape shape = translated(p, b.shape);
      if (is_argument ? shape != known[number].shape
                      : elements(shape) != elements(known[number].shape))
        fail(i, "its shape is another one in the graph");
    }
  }

  void check_prepared(const plan& replay, const plan& preparation) {
    for (std::size_t i = 0; i < replay.buffers.size(); ++i) {
      const buffer& b = replay.buffers[i];
      if (b.place != place::prepared) continue;
      bool found = false;
      for (const buffer& made : preparation.buffers)
        found = found ||
                (made.place == place::prepared && made.number == b.number && made.type == b.type &&
                 elements(translated(preparation, made.shape)) ==
                     elements(translated(replay, b.shape)));
      if (!found) fail(i, "nothing prepares it");
    }
  }

 private:
  struct value {
    dtype type{};
    ir::symbolic_shape shape;
  };

  [[noreturn]] static void fail(std::size_t buffer, const std::string& reason) {
    raise(graph_error("buffer " + std::to_string(buffer) + ": " + reason));
  }
  ir::symbolic_shape translated(const plan& p, const ir::symbolic_shape& shape) {
    ir::symbolic_shape out;
    for (ir::dim d : shape) out.push_back(dims_.substitute(p.dims, d, symbols_));
    return out;
  }
  ir::dim elements(const ir::symbolic_shape& shape) {
    ir::dim out(1);
    for (ir::dim d : shape) out = dims_.mul(out, d);
    return out;
  }

  ir::dim_table dims_;
  std::vector<value> arguments_, outputs_;
  std::vector<ir::dim> symbols_;
};

// Symbols whose ranges end at the corner.
inline ir::dim_table up_to(ir::dim_table dims, std::span<const std::int64_t> corner) {
  for (std::size_t i = 0; i < corner.size(); ++i)
    dims.describe(static_cast<std::int64_t>(i), {"", {0, corner[i]}});
  return dims;
}

// The most bytes that the shape of a buffer may take with symbols in their ranges.
inline std::int64_t most_bytes(const ir::dim_table& dims, const buffer& b) {
  auto out = static_cast<std::int64_t>(size_of(b.type));
  for (ir::dim d : b.shape)
    out = ir::detail::saturating_mul(out, std::max<std::int64_t>(0, dims.range(d).high));
  return out;
}

}  // namespace detail

/// Throws graph_error, naming the buffer, unless the two are the parts of a plan for `bound` at
/// these extents: dtypes and shapes of arguments and outputs, values that one part leaves to the
/// other, and memory that is sound up to the corner of their bucket.
inline void require_plan_of(const ir::graph& bound, std::span<const std::int64_t> symbols,
                            const plan& replay, const plan& preparation, int arguments) {
  detail::graph_comparison graph(bound, symbols);
  graph.check(replay);
  graph.check(preparation);
  graph.check_prepared(replay, preparation);
  const std::vector<std::int64_t> corner = bucket_corner(bound.dims, symbols);
  for (const plan* part : {&replay, &preparation}) {
    for (const buffer& b : part->buffers)
      if (b.place == place::arena &&
          (b.offset % arena_alignment != 0 || b.bytes > part->arena_bytes ||
           b.offset > part->arena_bytes - b.bytes))
        raise(graph_error("a buffer leaves the arena, or is not aligned"));
    if (!fits(*part, symbols) || !fits(*part, corner))
      raise(graph_error("a buffer is too small for the extents of the bucket"));
    const ir::dim_table dims = detail::up_to(part->dims, corner);
    for (const buffer& b : part->buffers)
      if (static_cast<std::int64_t>(b.bytes) > detail::most_bytes(dims, b))
        raise(graph_error("a buffer is larger than the extents of the bucket need"));
    if (!part->nests.empty() || part == &replay) verify_memory(*part);
  }
  if (replay.may_alias != find_may_alias(replay, arguments, static_cast<int>(bound.outputs.size())))
    raise(graph_error("other outputs may be the memory of arguments"));
}

}  // namespace sinter::inline SINTER_ABI::planning
