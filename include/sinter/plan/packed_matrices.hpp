// SPDX-License-Identifier: MIT
// Right sides of products in the order in which their kernel reads them.
#pragma once

#include <utility>
#include <vector>

#include <sinter/plan/goal_buffers.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::planning {

// The nest that packs a matrix is made for its first reader, in front of it.
class packed_matrices {
 public:
  packed_matrices(const value_graph& g, goal_buffers& buffers, plan& out)
      : g_(g), buffers_(buffers), out_(out) {}

  access access_to(int value, bool transpose) {
    const int packed = buffer_of(value, transpose);
    return {packed, out_.buffers[static_cast<std::size_t>(packed)].shape, {}};
  }

 private:
  struct packed_matrix {
    int value;
    bool transpose;
    int buffer;
  };

  int buffer_of(int value, bool transpose) {
    for (const packed_matrix& p : packed_)
      if (p.value == value && p.transpose == transpose) return p.buffer;
    const value_class& matrix = g_[value];
    const std::size_t rank = matrix.shape.size();
    nest n;
    n.kind = nest_kind::pack;
    n.transpose_b = transpose;
    const ir::dim k = matrix.shape[transpose ? rank - 1 : rank - 2],
                  columns = matrix.shape[transpose ? rank - 2 : rank - 1];
    n.space = {k, columns};
    n.accesses.push_back(buffers_.access_to(value));
    ir::dim_table& dims = out_.dims;
    const ir::dim unit(packed_column_unit);
    const ir::dim padded =
        dims.mul(dims.floor_div(dims.add(columns, ir::dim(packed_column_unit - 1)), unit), unit);
    const int buffer = buffers_.add(place::arena, 0, value);
    out_.buffers.back().shape = {dims.mul(padded, k)};
    n.stores.push_back({0, buffer});
    n.predicted_nanoseconds = g_.machine().launch + packing_work(matrix, g_.machine());
    out_.nests.push_back(std::move(n));
    packed_.push_back({value, transpose, buffer});
    return buffer;
  }

  const value_graph& g_;
  goal_buffers& buffers_;
  plan& out_;
  std::vector<packed_matrix> packed_;
};

}  // namespace sinter::inline SINTER_ABI::planning
