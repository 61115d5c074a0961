// SPDX-License-Identifier: MIT
// Winograd's F(2x2, 3x3) on one thread. All tiles of a block stand in one line, row behind row and
// image behind image, so that registers are full whatever the width of an image. Every transformed
// element is written where the kernel of the products reads it, as the packed right side of one of
// 16 products per slab of channels.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

// The order matters: see intrinsics.hpp.
// clang-format off
#include <sinter/support/intrinsics.hpp>
#include <Eigen/Core>
// clang-format on

#include <sinter/exec/pack_operands.hpp>
#include <sinter/exec/panel_product.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/winograd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// `Group` filters of `depth` channels, packed as rows of a left side, as they are read and written.
// Element k of what is transformed goes to to[k * apart].
template <Floating T, int Group>
void transform_filters(const T* from, std::int64_t depth, T* to, std::int64_t apart) {
  using each = Eigen::Array<T, Group, 1>;
  const auto along = [](const each& g0, const each& g1, const each& g2) {
    const each sum = (g0 + g2) * static_cast<T>(0.5), middle = g1 * static_cast<T>(0.5);
    return std::array<each, 4>{g0, sum + middle, sum - middle, g2};
  };
  for (std::int64_t c = 0; c < depth; ++c, from += 9 * Group) {
    const auto tap = [&](std::int64_t e) { return each(Eigen::Map<const each>(from + e * Group)); };
    const std::array columns{along(tap(0), tap(3), tap(6)), along(tap(1), tap(4), tap(7)),
                             along(tap(2), tap(5), tap(8))};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto row = along(columns[0][i], columns[1][i], columns[2][i]);
      for (std::size_t j = 0; j < 4; ++j)
        Eigen::Map<each>(to + static_cast<std::int64_t>(4 * i + j) * apart + c * Group) = row[j];
    }
  }
}

// Filters [first, last), a block or the part of one that there is, and `depth` channels from
// `channel` on, as the left sides of 16 products, winograd_filter_matrix apart. `scratch` has room
// for winograd_filter_group of them as they are given.
template <Floating T>
void transform_block(const given_filters& given, const planning::winograd_blocks& blocks,
                     std::int64_t first, std::int64_t last, std::int64_t channel,
                     std::int64_t depth, T* to, T* scratch) {
  constexpr int group = winograd_filter_group;
  static_assert(group == packed_group);
  const std::int64_t apart = winograd_filter_matrix(blocks);
  const matrix_product filters{
      .a = given.from, .lda = given.leading, .transpose_a = given.transposed};
  for (std::int64_t f = first; f < last; f += group, to += group * depth) {
    const std::int64_t several = std::min<std::int64_t>(group, last - f);
    pack_slab<T>(filters, f, 9 * channel, several, 9 * depth, scratch);
    if (several == group)
      transform_filters<T, group>(scratch, depth, to, apart);
    else
      for (std::int64_t i = 0; i < several; ++i)
        transform_filters<T, 1>(scratch + 9 * i * depth, depth, to + i * depth, apart);
  }
}

template <Floating T>
class winograd_runner {
 public:
  // What one register of the product's right side has, and a strip of it.
  static constexpr std::int64_t unit = lanes<T>, panel = tile_columns<T>;
  // Busy by 64 bytes of tiles, one register of AVX-512 or two others: with AVX2 products by 8 f32
  // reach half of the speed, by 16 0.9 of it (Zen 4).
  static constexpr planning::winograd_units units{unit, panel, 64 / std::int64_t{sizeof(T)}};

  explicit winograd_runner(const winograd_block& b)
      : b_(b),
        space_(b.extents, b.blocks, units),
        columns_(b.extents.tile_columns()),
        tile_rows_((b.rows + 1) / 2),
        line_(planning::winograd_line(
            static_cast<std::int64_t>(b.images.size()) * tile_rows_ * columns_, units)) {
    row_ = static_cast<T*>(b.workspace);
    planes_ = row_ + space_.rows;
    transformed_ = planes_ + 16 * space_.plane;
    products_ = transformed_ + 16 * space_.slabs * space_.slab;
    results_ = products_ + 16 * space_.product;
    filters_ = results_ + 2 * space_.result;
    packed_ = filters_ + 16 * space_.filters;
  }

  void run() {
    // What lies behind the last tile of a line is multiplied, too: no numbers that are slow.
    std::fill_n(row_, space_.rows, T(0));
    std::fill_n(planes_, 16 * space_.plane, T(0));
    for (std::int64_t c = 0; c < b_.extents.channels; ++c) {
      halve_rows(c);
      transform(c);
    }
    for (std::int64_t f = b_.first_filter; f < b_.last_filter; f += b_.blocks.filters) {
      const std::int64_t count = std::min(b_.blocks.filters, b_.last_filter - f);
      multiply(f, count);
      for (std::int64_t each = 0; each < count; ++each) {
        transform_back(each);
        copy_results(f + each - b_.first_filter);
      }
    }
  }

 private:
  const winograd_block& b_;
  winograd_workspace space_;
  std::int64_t columns_, tile_rows_, line_;
  T *row_, *planes_, *transformed_, *products_, *results_, *filters_, *packed_;

  // Rows of a channel, transformed along the row: plane 4 i + j has element j of row i of all
  // tiles. A register that goes beyond the row's tiles is overwritten by the next row's.
  void halve_rows(std::int64_t channel) {
    for (std::size_t image = 0; image < b_.images.size(); ++image) {
      const T* const from = static_cast<const T*>(b_.images[image]) + channel * b_.channel_stride;
      T* const to = planes_ + static_cast<std::int64_t>(image) * tile_rows_ * columns_;
      for (std::int64_t r = 0; r < 2 * tile_rows_ + 2; ++r) {
        const std::int64_t number = b_.first_row + r;
        if (channel + 1 < b_.extents.channels) prefetch(from + b_.channel_stride, number);
        // One of the last two of a tile, and of the first two of the next.
        T* const upper =
            r < 2 * tile_rows_ ? to + r / 2 * columns_ + r % 2 * 4 * space_.plane : nullptr;
        T* const lower =
            r >= 2 ? to + (r / 2 - 1) * columns_ + (2 + r % 2) * 4 * space_.plane : nullptr;
        halve_row(row_of(from, number), upper, lower);
      }
    }
  }
  bool is_inside(std::int64_t row) const { return row < b_.extents.height + 2; }

  // A row of the next channel, which lies too far away for the hardware to see it coming: 5.4 ms
  // instead of 6.0 for 64 channels of 56 x 56.
  void prefetch(const T* from, std::int64_t number) const {
    if (b_.column_stride != 1 || !is_inside(number)) return;
    const T* const row = from + number * b_.row_stride;
    for (std::int64_t i = 0; i < b_.extents.width + 2; i += 64 / static_cast<int>(sizeof(T)))
      __builtin_prefetch(row + i);
  }

  // The row where it is, if whole registers may be read of it and of the rows behind it, or a copy
  // with zeros behind, for which the registers wait: 75 us instead of 101 for [8,16,30,30] and 8
  // filters (Zen 5).
  const T* row_of(const T* from, std::int64_t number) {
    const std::int64_t size = b_.extents.width + 2;
    if (!is_inside(number)) {
      std::fill_n(row_, size, T(0));
      return row_;
    }
    const T* const row = from + number * b_.row_stride;
    if (b_.column_stride == 1) {
      const std::int64_t behind =
          b_.row_stride >= size ? (b_.extents.height + 1 - number) * b_.row_stride : 0;
      if (behind + size >= 2 * (last_register() + lanes<T> + 1)) return row;
      std::copy_n(row, size, row_);
    } else {
      for (std::int64_t i = 0; i < size; ++i) row_[i] = row[i * b_.column_stride];
    }
    return row_;
  }

  // Where the last register of a row's tiles begins: over the one before if the row has so many.
  std::int64_t last_register() const { return std::max<std::int64_t>(0, columns_ - lanes<T>); }

  // Registers of tiles, for both places if there are two.
  void halve_row(const T* from, T* upper, T* lower) const {
    const auto halve = [&](std::int64_t t) {
      constexpr int n = lanes<T>;
      const T* const at = from + 2 * t;
      const auto [d0, d1] = deinterleave<T>(load(at), load(at + n));
      const auto [d2, d3] = deinterleave<T>(load(at + 2), load(at + 2 + n));
      const std::array out{d0 - d2, d1 + d2, d2 - d1, d1 - d3};
      for (T* const to : {upper, lower})
        if (to != nullptr)
          for (std::size_t j = 0; j < 4; ++j)
            store(to + static_cast<std::int64_t>(j) * space_.plane + t, out[j]);
    };
    for (std::int64_t t = 0; t < last_register(); t += lanes<T>) halve(t);
    halve(last_register());
  }

  // And along the column, into the panels of the products.
  void transform(std::int64_t channel) {
    const std::int64_t number = channel / b_.blocks.depth, c = channel % b_.blocks.depth,
                       depth = depth_of(number);
    T* const to = transformed_ + number * 16 * space_.slab;
    for (std::int64_t first = 0; first < line_; first += panel) {
      const std::int64_t width = std::min(panel, line_ - first);
      T* const row = to + first * depth + c * width;
      for (std::int64_t t = 0; t < width; t += lanes<T>) transform(planes_ + first + t, row + t);
    }
  }
  std::int64_t depth_of(std::int64_t slab) const {
    return std::min(b_.blocks.depth, b_.extents.channels - slab * b_.blocks.depth);
  }

  [[gnu::always_inline]] void transform(const T* from, T* to) const {
    for (int j = 0; j < 4; ++j) {
      const T* const at = from + j * space_.plane;
      const simd<T> d0 = load(at), d1 = load(at + 4 * space_.plane),
                    d2 = load(at + 8 * space_.plane), d3 = load(at + 12 * space_.plane);
      store(to + j * space_.slab, d0 - d2);
      store(to + (4 + j) * space_.slab, d1 + d2);
      store(to + (8 + j) * space_.slab, d2 - d1);
      store(to + (12 + j) * space_.slab, d1 - d3);
    }
  }

  void multiply(std::int64_t first, std::int64_t count) {
    if (b_.extents.channels == 0)
      for (int k = 0; k < 16; ++k) std::fill_n(products_ + k * space_.product, count * line_, T(0));
    for (std::int64_t slab = 0; slab * b_.blocks.depth < b_.extents.channels; ++slab) {
      const std::int64_t depth = depth_of(slab);
      const T* const filters = filters_of(first, count, slab);
      for (int k = 0; k < 16; ++k)
        multiply_panels<T>(count, line_, depth, depth,
                           packed_left<T>{filters + k * winograd_filter_matrix(b_.blocks), depth},
                           transformed_ + (slab * 16 + k) * space_.slab,
                           {products_ + k * space_.product, line_, slab > 0});
    }
  }
  const T* filters_of(std::int64_t first, std::int64_t count, std::int64_t slab) {
    const std::int64_t channel = slab * b_.blocks.depth;
    if (b_.filters != nullptr)
      return static_cast<const T*>(b_.filters) +
             winograd_filter_place(b_.extents, b_.blocks, first, channel);
    transform_block(b_.given, b_.blocks, first, first + count, channel, depth_of(slab), filters_,
                    packed_);
    return filters_;
  }

  // Both rows of results of a filter.
  void transform_back(std::int64_t filter) {
    const T* const from = products_ + filter * line_;
    T *const upper = results_, *const lower = results_ + space_.result;
    for (std::int64_t t = 0; t < line_; t += lanes<T>) {
      simd<T> s[4], d[4];
      for (int j = 0; j < 4; ++j) {
        const T* const at = from + t + j * space_.product;
        const simd<T> m1 = load(at + 4 * space_.product), m2 = load(at + 8 * space_.product);
        s[j] = load(at) + m1 + m2;
        d[j] = m1 - m2 - load(at + 12 * space_.product);
      }
      put(upper + 2 * t, s[0] + s[1] + s[2], s[1] - s[2] - s[3]);
      put(lower + 2 * t, d[0] + d[1] + d[2], d[1] - d[2] - d[3]);
    }
  }
  [[gnu::always_inline]] static void put(T* to, simd<T> even, simd<T> odd) {
    const auto [low, high] = interleave<T>(even, odd);
    store(to, low);
    store(to + lanes<T>, high);
  }

  void copy_results(std::int64_t filter) const {
    const std::int64_t width = b_.extents.width;
    for (std::size_t image = 0; image < b_.results.size(); ++image) {
      T* const to = static_cast<T*>(b_.results[image]) + filter * b_.filter_pitch;
      const T* const from = results_ + 2 * static_cast<std::int64_t>(image) * tile_rows_ * columns_;
      for (std::int64_t r = 0; r < b_.rows; ++r)
        copy_row(from + r % 2 * space_.result + r / 2 * 2 * columns_, width, to + r * width);
    }
  }
  // Whole registers, the last over the one before.
  [[gnu::always_inline]] static void copy_row(const T* from, std::int64_t count, T* to) {
    if (count < lanes<T>) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
      return;
    }
    std::int64_t i = 0;
    for (; i + lanes<T> < count; i += lanes<T>) store(to + i, load(from + i));
    store(to + count - lanes<T>, load(from + count - lanes<T>));
  }
};

}  // namespace detail

/// Rows of results of some images: see winograd_block.
template <Floating T>
void run_winograd(const winograd_block& block) {
  detail::winograd_runner<T>(block).run();
}

/// Transforms filters: see winograd_filters.
template <Floating T>
void transform_filters(const winograd_filters& w) {
  const planning::winograd_extents& of = w.extents;
  for (std::int64_t first = w.first; first < w.last; first += w.blocks.filters)
    for (std::int64_t channel = 0; channel < of.channels; channel += w.blocks.depth)
      detail::transform_block(
          w.given, w.blocks, first, std::min(first + w.blocks.filters, w.last), channel,
          std::min(w.blocks.depth, of.channels - channel),
          static_cast<T*>(w.to) + winograd_filter_place(of, w.blocks, first, channel),
          static_cast<T*>(w.workspace));
}

template <Floating T>
constexpr winograd_kernels winograd_of() {
  return {&transform_filters<T>, &run_winograd<T>, detail::winograd_runner<T>::units};
}

}  // namespace sinter::inline SINTER_ABI::exec
