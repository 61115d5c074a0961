// SPDX-License-Identifier: MIT
// What a nest does at given extents: operations, and bytes from and to its buffers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <sinter/plan/access_index.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::planning {

struct work {
  std::int64_t flops = 0;
  std::int64_t bytes_read = 0, bytes_written = 0;
};

class work_counter {
 public:
  work_counter(const plan& p, std::span<const std::int64_t> symbols) : p_(p), symbols_(symbols) {}

  /// Additions, multiplications and other functions count one each, an element of a product two per
  /// element of its depth, a custom nest what the op says; casts and selections none. Bytes: each
  /// element that is seen of a buffer once, of one that is computed on the way none. `forwarded`:
  /// an alias without work.
  work of(const nest& n, bool forwarded) const {
    work out;
    if (forwarded) return out;
    out.flops = flops(n);
    std::map<int, std::int64_t> read;
    add_reads(n, read);
    for (const auto& [b, bytes] : read)
      out.bytes_read = plus(out.bytes_read, std::min(bytes, bytes_of(b)));
    for (const store& s : n.stores) out.bytes_written = plus(out.bytes_written, bytes_of(s.buffer));
    return out;
  }

 private:
  // Extents may come from text: sums and products stay at the largest number.
  static std::int64_t plus(std::int64_t a, std::int64_t b) {
    return ir::detail::saturating_add(a, b);
  }
  static std::int64_t times(std::int64_t a, std::int64_t b) {
    return ir::detail::saturating_mul(a, b);
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::int64_t count(const ir::symbolic_shape& shape) const {
    return element_count(evaluate_shape(p_.dims, shape, symbols_));
  }
  std::int64_t bytes_of(int b) const {
    return count(p_.buffers[at(b)].shape) *
           static_cast<std::int64_t>(size_of(p_.buffers[at(b)].type));
  }

  void add_reads(const nest& n, std::map<int, std::int64_t>& read) const {
    const auto add = [&](const access& a) {
      read[a.buffer] = plus(read[a.buffer],
                            access_index(p_, a, symbols_).distinct() *
                                static_cast<std::int64_t>(size_of(p_.buffers[at(a.buffer)].type)));
    };
    if (n.kind == nest_kind::grouped) {
      for (const nest& part : n.parts) add_reads(part, read);
      return;
    }
    for (std::size_t i = 0; i < n.accesses.size(); ++i) {
      const bool computed = n.kind == nest_kind::streamed && i < 2 && !n.prologues[i].empty();
      if (computed) continue;
      // A packed matrix, and what is gathered from, are read where they are.
      if (n.kind == nest_kind::matmul && n.packed_b && is_right_side(n, i))
        read[n.accesses[i].buffer] =
            plus(read[n.accesses[i].buffer], bytes_of(n.accesses[i].buffer));
      else if (n.kind == nest_kind::gather && i == 0)
        read[n.accesses[0].buffer] += std::min(bytes_of(n.accesses[0].buffer),
                                               n.stores.empty() ? 0 : bytes_of(n.stores[0].buffer));
      else
        add(n.accesses[i]);
    }
  }

  static bool is_right_side(const nest& n, std::size_t access) {
    bool out = access == 1;
    for (const step& s : n.body)
      out = out || (s.kind == step_kind::product && s.access == static_cast<int>(access));
    return out;
  }

  static std::int64_t operations(ir::op code) {
    switch (code) {
      case ir::op::cast:
      case ir::op::where:
      case ir::op::stop_gradient: return 0;
      case ir::op::multiply_add: return 2;
      default: return 1;
    }
  }
  static std::int64_t operations(const step& s) {
    if (s.kind == step_kind::random) return 1;
    if (s.kind != step_kind::map) return 0;
    if (s.fused == nullptr) return operations(s.code);
    std::int64_t out = 0;
    for (int i = 0; i < s.fused->structure.node_count; ++i)
      out += operations(s.fused->structure.code(i));
    return out;
  }

  std::int64_t body_flops(const std::vector<step>& body, std::int64_t full, std::int64_t rows,
                          std::int64_t depth) const {
    std::int64_t out = 0;
    for (const step& s : body) {
      if (s.kind == step_kind::product) out = plus(out, times(2, times(full, depth)));
      if (s.kind == step_kind::reduce) out = plus(out, full);
      // A difference, a square or an exponential, and a sum.
      if (is_second_of_pair(s)) out = plus(out, times(3, full));
      out = plus(out, times(operations(s), s.level == level::row ? rows : full));
    }
    return out;
  }

  // Elements of the axes that a row stands for are one.
  std::int64_t rows_of(const nest& n) const {
    std::int64_t out = 1;
    const shape_vector space = evaluate_shape(p_.dims, n.space, symbols_);
    for (std::size_t axis = 0; axis < space.size(); ++axis)
      if (!is_reduced(n, axis)) out *= space[axis];
    return out;
  }

  static bool is_reduced(const nest& n, std::size_t axis) {
    if (n.kind == nest_kind::column)
      return static_cast<int>(axis) >= n.column_first && static_cast<int>(axis) < n.column_last;
    const std::size_t outer = n.space.size() - std::min(at(n.inner_axes), n.space.size());
    if (n.axis_order.empty()) return axis >= outer;
    for (std::size_t i = outer; i < n.axis_order.size(); ++i)
      if (n.axis_order[i] == static_cast<int>(axis)) return true;
    return false;
  }

  // The depth of a nest's product: the columns of its left side.
  std::int64_t depth_of(const nest& n) const {
    const shape_vector a = evaluate_shape(p_.dims, n.accesses[0].shape, symbols_);
    return a.size() < 2 ? 0 : a[a.size() - (n.transpose_a ? 2 : 1)];
  }

  std::int64_t flops(const nest& n) const {
    std::int64_t out = 0;
    switch (n.kind) {
      case nest_kind::tile:
      case nest_kind::column:
        out = body_flops(n.body, count(n.space), rows_of(n), 0);
        for (const store& s : n.stores)
          if (s.summed) out = plus(out, count(n.space));
        return out;
      case nest_kind::matmul: return body_flops(n.body, count(n.space), rows_of(n), depth_of(n));
      case nest_kind::grouped:
        for (const nest& part : n.parts) out = plus(out, flops(part));
        return out;
      case nest_kind::streamed: {
        // Behind the scores: their scale, maximum, difference, exp and sum, and the second product.
        const std::int64_t scores = count(n.space);
        const shape_vector space = evaluate_shape(p_.dims, n.space, symbols_);
        const std::int64_t results = count(p_.buffers[at(n.stores[0].buffer)].shape);
        out = plus(plus(body_flops(n.body, scores, scores, depth_of(n)), times(5, scores)),
                   plus(times(2, times(results, space.back())), results));
        for (const auto& operand : n.prologues)
          for (const operand_part& part : operand)
            out = plus(out, body_flops(part.body, count(part.space), count(part.space), 0));
        return out;
      }
      case nest_kind::scatter_add:
      case nest_kind::scan: return count(n.accesses[0].shape);
      case nest_kind::custom: return custom_flops(n);
      case nest_kind::assemble: {
        std::int64_t all = 0;
        for (const piece& p : n.pieces)
          all = plus(all, body_flops(p.body, count(p.space), count(p.space), 0));
        return all;
      }
      case nest_kind::gather:
      case nest_kind::alias:
      case nest_kind::pack: return 0;
    }
    return out;
  }

  // What the op says it does per element, of the array that has most: as the cost model reckons.
  std::int64_t custom_flops(const nest& n) const {
    std::int64_t elements = count(n.space);
    for (const access& a : n.accesses) elements = std::max(elements, count(a.shape));
    constexpr double most = 0x1p62;
    return static_cast<std::int64_t>(
        std::clamp(std::round(n.custom->work * static_cast<double>(elements)), 0.0, most));
  }

  const plan& p_;
  std::span<const std::int64_t> symbols_;
};

}  // namespace sinter::inline SINTER_ABI::planning
