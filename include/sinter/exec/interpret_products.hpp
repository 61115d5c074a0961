// SPDX-License-Identifier: MIT
// Interprets the lowered forms that multiply: products with their epilogues, and streamed nests.
// The same blocks as the runners', but every element of a product as one sum in double (integers
// wrap in 64 bits), and what is packed lies row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <sinter/exec/element.hpp>
#include <sinter/exec/interpret_tile.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// A matrix of one batch: element (i, j) as a function of memory.
struct matrix_view {
  const std::byte* at = nullptr;
  dtype type{};
  std::int64_t row_stride = 0, column_stride = 0;
  const lowered_matrix* gathered = nullptr;  // in place of the strides

  element operator()(std::int64_t i, std::int64_t j) const {
    const std::int64_t place = gathered != nullptr
                                   ? position(gathered->rows, i) + position(gathered->columns, j)
                                   : i * row_stride + j * column_stride;
    return read_element(type, at + place * static_cast<std::int64_t>(size_of(type)));
  }

 private:
  // The place of number `i` along axes.
  static std::int64_t position(const lowered_axes& axes, std::int64_t i) {
    std::int64_t out = 0;
    for (std::size_t axis = axes.extents.size(); axis-- > 0; i /= axes.extents[axis])
      out += i % axes.extents[axis] * axes.strides[axis];
    return out;
  }
};

// `columns`: of the whole matrix. Batches count row-major through `batch`.
inline matrix_view matrix_of(const lowered_matrix& m, std::byte* const* bases,
                             const shape_vector& batch, std::int64_t number, std::int64_t columns,
                             dtype type) {
  if (m.packed) return {bases[m.buffer], type, planning::packed_width(columns), 1, nullptr};
  std::int64_t at = m.offset;
  for (std::size_t axis = batch.size(); axis-- > 0; number /= batch[axis])
    at += number % batch[axis] * m.batch_strides[axis];
  return {bases[m.buffer] + at * static_cast<std::int64_t>(size_of(type)), type, m.row_stride,
          m.column_stride, m.gathered ? &m : nullptr};
}

// The sum of `count` products left(i, p) right(p, j).
inline element dot(const matrix_view& left, const matrix_view& right, std::int64_t i,
                   std::int64_t j, std::int64_t count) {
  element sum;
  for (std::int64_t p = 0; p < count; ++p) {
    const element a = left(i, p), b = right(p, j);
    sum.real += a.real * b.real;
    sum.whole = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum.whole) +
                                          static_cast<std::uint64_t>(a.whole) *
                                              static_cast<std::uint64_t>(b.whole));
  }
  return sum;
}

// Part by part, blocks of rows, blocks of columns.
inline void interpret_products(const lowered_products& n, std::byte* const* bases) {
  const auto size = static_cast<std::int64_t>(size_of(n.type));
  const std::int64_t batches = element_count(n.batch);
  for (const lowered_part& part : n.parts) {
    const auto block = [&](std::int64_t batch, std::int64_t row, std::int64_t column) {
      const std::int64_t rows = std::min(n.rows, n.m - row),
                         columns = std::min(part.columns, part.n - column);
      const std::int64_t first_row = batch * n.m + row;
      const matrix_view left = matrix_of(n.left, bases, n.batch, batch, n.k, n.type);
      tile_interpreter rest(part.rest, bases);
      std::vector<std::vector<std::byte>> scratch(part.right.size());
      for (std::size_t k = 0; k < part.right.size(); ++k) {
        external_block result{nullptr, columns, first_row, column};
        if (k == 0 && part.destination >= 0) {
          result.at = bases[part.destination] +
                      (part.destination_offset + first_row * part.n + column) * size;
          result.pitch = part.n;
        } else {
          scratch[k].resize(static_cast<std::size_t>(rows * columns * size));
          result.at = scratch[k].data();
        }
        const matrix_view right = matrix_of(part.right[k], bases, n.batch, batch, part.n, n.type);
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            write_element(n.type, dot(left, right, row + i, column + j, n.k),
                          result.at + (i * result.pitch + j) * size);
        rest.set_external(result, k);
      }
      if (!part.runs_rest) return;
      rest.begin();
      rest.run_all(first_row, first_row + rows, column, column + columns);
    };
    for (std::int64_t batch = 0; batch < batches; ++batch)
      for (std::int64_t row = 0; row < n.m; row += n.rows)
        for (std::int64_t column = 0; column < part.n; column += part.columns)
          block(batch, row, column);
  }
}

class streamed_interpreter {
 public:
  streamed_interpreter(const lowered_streamed& n, std::byte* const* bases)
      : n_(n), bases_(bases), size_(static_cast<std::int64_t>(size_of(n.type))) {}

  void run() {
    for (std::int64_t batch = 0; batch < element_count(n_.batch); ++batch)
      for (std::int64_t row = 0; row < n_.rows; row += n_.block_rows)
        run_rows(batch, row, std::min(n_.block_rows, n_.rows - row));
  }

 private:
  // What is known of a row: the largest score, the sum of weights, and the weighted sum of values.
  struct row_state {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    std::vector<double> values;
  };

  std::vector<std::byte> block(std::int64_t rows, std::int64_t columns) const {
    return std::vector<std::byte>(static_cast<std::size_t>(rows * columns * size_));
  }

  // Rows [first, first + rows) of an operand that is computed, all batches one behind the other.
  std::vector<std::byte> computed(const lowered_operand& operand, std::int64_t first,
                                  std::int64_t rows) const {
    std::vector<std::byte> out = block(rows, operand.columns);
    for (const lowered_prologue& part : operand.parts) {
      if (part.program.axes.columns == 0) continue;
      tile_interpreter program(part.program, bases_);
      program.set_external({out.data() + part.column * size_, operand.columns, first, 0});
      program.begin();
      program.run_all(first, first + rows, 0, part.program.axes.columns);
    }
    return out;
  }

  // The first of the batches of an operand that are the same as this one.
  std::int64_t distinct(const lowered_operand& operand, std::int64_t batch) const {
    std::int64_t first = 0, stride = 1;
    for (std::size_t axis = n_.batch.size(); axis-- > 0;) {
      if (operand.shared[axis] == 0) first += batch % n_.batch[axis] * stride;
      batch /= n_.batch[axis];
      stride *= n_.batch[axis];
    }
    return first;
  }

  void run_rows(std::int64_t batch, std::int64_t row, std::int64_t rows) const {
    const std::int64_t first_row = batch * n_.rows + row;
    std::vector<std::byte> queries, keys;
    matrix_view left = matrix_of(n_.left.stored, batch, n_.depth, n_.left.is_computed());
    matrix_view right = matrix_of(n_.right.stored, batch, n_.columns, n_.right.is_computed());
    if (n_.left.is_computed()) {
      queries = computed(n_.left, first_row, rows);
      left = {queries.data(), n_.type, n_.depth, 1, nullptr};
    }
    if (n_.right.is_computed()) {
      keys = computed(n_.right, distinct(n_.right, batch) * n_.right.folded * n_.right.rows,
                      n_.columns);
      right = {keys.data(), n_.type, 1, n_.depth, nullptr};
    }
    const std::int64_t first_query = n_.left.is_computed() ? 0 : row;
    std::vector<row_state> states(static_cast<std::size_t>(rows));
    for (row_state& s : states) s.values.resize(static_cast<std::size_t>(n_.width));
    tile_interpreter rest(n_.rest, bases_);
    if (n_.runs_rest) rest.begin();
    for (std::int64_t column = 0; column < n_.columns; column += n_.block_columns) {
      const std::int64_t columns = std::min(n_.block_columns, n_.columns - column);
      std::vector<std::byte> scores = block(rows, columns);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          write_element(n_.type, dot(left, right, first_query + i, column + j, n_.depth),
                        scores.data() + (i * columns + j) * size_);
      if (n_.runs_rest) {
        rest.set_external({scores.data(), columns, first_row, column});
        rest.run_all(first_row, first_row + rows, column, column + columns);
      }
      const matrix_view block_scores{scores.data(), n_.type, columns, 1, nullptr};
      for (std::int64_t i = 0; i < rows; ++i)
        weigh(block_scores, i, batch, column, columns, states[static_cast<std::size_t>(i)]);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      const row_state& s = states[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < n_.width; ++j) {
        const double value = s.values[static_cast<std::size_t>(j)];
        write_element(
            n_.type, {n_.columns == 0 ? 0 : value / s.sum, 0},
            bases_[n_.target] + (n_.target_offset + (first_row + i) * n_.width + j) * size_);
      }
    }
  }

  matrix_view matrix_of(const lowered_matrix& m, std::int64_t batch, std::int64_t columns,
                        bool is_elsewhere) const {
    if (is_elsewhere) return {};
    return detail::matrix_of(m, bases_, n_.batch, batch, columns, n_.type);
  }

  // One more block of a row's scores. A NaN is no largest score: it shows in its weight.
  void weigh(const matrix_view& scores, std::int64_t i, std::int64_t batch, std::int64_t column,
             std::int64_t columns, row_state& s) const {
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    const double before = s.largest;
    for (std::int64_t j = 0; j < columns; ++j)
      if (const double x = scores(i, j).real; x > s.largest) s.largest = x;
    if (before != s.largest) {
      const double change = std::exp(n_.scale * (before - s.largest));
      s.sum *= change;
      for (double& v : s.values) v *= change;
    }
    const matrix_view values = matrix_of(n_.values, batch, n_.width, false);
    for (std::int64_t j = 0; j < columns; ++j) {
      const double x = scores(i, j).real;
      const double weight =
          s.largest == nothing ? (x == x ? 0 : x) : std::exp(n_.scale * (x - s.largest));
      s.sum += weight;
      for (std::int64_t k = 0; k < n_.width; ++k)
        s.values[static_cast<std::size_t>(k)] += weight * values(column + j, k).real;
    }
  }

  const lowered_streamed& n_;
  std::byte* const* bases_;
  std::int64_t size_;
};

}  // namespace sinter::inline SINTER_ABI::exec::detail
