// SPDX-License-Identifier: MIT
// Runs matmul nests that are convolutions by tiles: filters are transformed first, in blocks, and
// then tasks compute rows of tiles of one image or several small ones, by all filters or some of
// them, with the epilogue behind while the results are hot. Where there are few tiles, tasks
// transform filters themselves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/product_operand.hpp>
#include <sinter/exec/product_part.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/winograd.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/image_windows.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The kernels of convolutions by tiles. Throws dtype_error if a dtype has none.
inline const winograd_kernels& winograd_kernels_of(const kernel_table& kernels, dtype type) {
  const winograd_kernels& found = kernels.winograd[static_cast<std::size_t>(type)];
  if (found.block == nullptr)
    raise(dtype_error("executor: no convolution by tiles for " + std::string(name(type))));
  return found;
}

class winograd_nest {
 public:
  winograd_nest(const planning::plan& plan, const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        type_(product_part::type_of(nest)),
        kernels_(winograd_kernels_of(kernels, type_)),
        filters_(kernels, nest, 0, nest.transpose_a, type_, static_cast<int>(plan.buffers.size())),
        part_(plan, kernels, nest, static_cast<int>(plan.buffers.size()) + 1) {}

  memory_need bind(const binding& at) {
    const shape_vector space = at.evaluate(nest_->space);
    const std::size_t rank = space.size();
    detail::require_step(rank >= 2, *nest_, "a matrix product has two axes");
    batch_shape_ = shape_vector(space.begin(), space.end() - 2);
    memory_need out;
    filters_.bind(at, rank - 2, out);
    bind_images(at, rank - 2);
    for (std::size_t axis = 0; axis + 2 < rank; ++axis)
      detail::require_step(filters_.is_shared(axis), *nest_, "filters differ from image to image");
    const std::int64_t k = 9 * extents_.channels, places = extents_.height * extents_.width;
    detail::require_step(filters_.rows() == space[rank - 2] && filters_.columns() == k &&
                             places == space[rank - 1] && !filters_.is_gathered(),
                         *nest_, "the operands of the product do not fit");
    extents_.images = element_count(batch_shape_);
    extents_.filters = space[rank - 2];
    const auto size = static_cast<std::int64_t>(size_of(type_));
    blocks_ = planning::divide_winograd(extents_, size, kernels_.units);
    part_.bind_right(at, space, k, out);
    part_.divide_columns(extents_.filters, k,
                         std::max<std::int64_t>(1, 2 * blocks_.tile_rows * extents_.width));
    part_.bind_rest(at, space, std::max<std::int64_t>(1, extents_.filters), blocks_.images);
    workspace_offset_ = round_to_lines(part_.scratch_bytes());
    out.per_thread = std::max(
        out.per_thread,
        workspace_offset_ + winograd_workspace_bytes(extents_, blocks_, kernels_.units, size));
    transformed_offset_ = round_to_lines(out.shared);
    if (!has_one_task())
      out.shared = transformed_offset_ +
                   static_cast<std::size_t>(winograd_filter_elements(extents_, blocks_) * size);
    return out;
  }

  void run(const run_memory& memory) const {
    if (extents_.images == 0 || extents_.filters == 0 || extents_.height * extents_.width == 0)
      return;
    filters_.pack(memory);
    const task_division tasks = divide_tasks();
    if (!tasks.transforms_filters) transform_filters(memory);
    parallel_for(tile_tasks(tasks) * tasks.parts, nest_->predicted_nanoseconds,
                 [&](std::int64_t task, int thread) {
                   run_task(memory, memory.scratch(thread), tasks, task / tasks.parts,
                            task % tasks.parts);
                 });
  }

  lowered_products lowered() const {
    lowered_products out;
    out.type = type_;
    out.batch = batch_shape_;
    out.m = extents_.filters;
    out.k = filters_.columns();
    out.rows = std::max<std::int64_t>(1, extents_.filters);
    out.winograd = true;
    out.images = blocks_.images;
    out.filters = blocks_.filters;
    out.depth = blocks_.depth;
    out.left = filters_.lowered(batch_shape_.size());
    filters_.add_copies(out.copies);
    out.parts.push_back(part_.lowered(batch_shape_.size()));
    const std::size_t first = batch_shape_.size();
    lowered_matrix& windows = out.parts[0].right[0];
    const auto axes = [&](std::size_t begin, std::size_t end) {
      const auto of = [&](const shape_vector& all) {
        return shape_vector(all.begin() + first + begin, all.begin() + first + end);
      };
      return lowered_axes{of(images_.shape), of(images_.strides)};
    };
    windows.rows = axes(0, 3);
    windows.columns = axes(3, 5);
    return out;
  }

 private:
  bool has_one_task() const { return planning::has_one_winograd_task(extents_, blocks_); }

  // Of a task: rows of tiles, of one image or of all of a block, by one of so many parts of the
  // filters, which are transformed before all tasks or by each that needs them.
  struct task_division {
    std::int64_t tile_rows, parts;
    bool transforms_filters;
  };

  std::int64_t tile_tasks(const task_division& tasks) const {
    return planning::pieces_of(extents_.images, blocks_.images) *
           planning::pieces_of(extents_.tile_rows(), tasks.tile_rows);
  }
  // As bound, or what lets threads end soonest, for whom that may be few tasks. No bit depends on
  // it. (On eight threads of a Xeon a ResNet-18 by one image takes 0.89 of the time that it takes
  // if all filters are transformed first, and pieces of images are those of one thread.)
  task_division divide_tasks() const {
    const std::int64_t most_parts = filter_blocks(),
                       most_tasks = tile_tasks({1, 1, false}) * most_parts,
                       threads = threads_for(most_tasks, nest_->predicted_nanoseconds);
    task_division best{blocks_.tile_rows, 1, has_one_task()};
    if (threads == 1) return best;
    const bool may_transform = planning::has_few_winograd_tasks(extents_, blocks_);
    std::int64_t least = work_of(best, threads);
    const auto consider = [&](const task_division& tasks) {
      const std::int64_t work = work_of(tasks, threads);
      if (work < least) least = work, best = tasks;
    };
    // What follows a product of whole images takes them as they lie, without columns behind a part.
    const std::int64_t least_rows = part_.column_blocks() == 1 ? blocks_.tile_rows : 1;
    for (std::int64_t rows = blocks_.tile_rows; rows >= least_rows; --rows)
      for (std::int64_t parts = 1; parts <= most_parts; ++parts) {
        if (!has_one_task()) consider({rows, parts, false});
        if (may_transform) consider({rows, parts, true});
      }
    return best;
  }
  // What threads take for such tasks, in products of a tile and a filter for each channel: a task
  // transforms its tiles, and maybe filters. All of them before, in blocks, with which threads wait
  // for each other and for what others have written. (A product takes some 0.3 ns, a filter 2.1
  // to 4.4, Zen 4 and Xeon; before all tasks eight threads of the Xeon take 60 to 90 µs for 128 x
  // 128 and 256 x 256 filters and channels.)
  std::int64_t work_of(const task_division& tasks, std::int64_t threads) const {
    constexpr std::int64_t tile_work = 16, filter_work = 12, filter_work_before = 60;
    const std::int64_t blocks = filter_blocks(),
                       filters = planning::pieces_of(blocks, tasks.parts) * blocks_.filters,
                       tiles = planning::winograd_line_work(
                           blocks_.images * tasks.tile_rows * extents_.tile_columns(),
                           kernels_.units),
                       work = tiles * (filters + tile_work),
                       rounds = planning::pieces_of(tile_tasks(tasks) * tasks.parts, threads);
    if (tasks.transforms_filters) return rounds * (work + filter_work * filters);
    return rounds * work +
           filter_work_before *
               planning::pieces_of(blocks, threads_for(blocks, transforming_nanoseconds())) *
               blocks_.filters;
  }

  // [batch..., channels, 3, 3, height, width]; axes of extent 1 that the product does not have are
  // left out.
  void bind_images(const binding& at, std::size_t batch_axes) {
    const strided_view windows = at.view(*planning::gathered(nest_->accesses[1]));
    const std::size_t all = windows.shape.size(), rank = batch_axes + planning::image_window_axes;
    images_ = {windows.buffer, windows.offset, {}, {}};
    for (std::size_t axis = 0; axis < all; ++axis) {
      const bool may_be_left_out = images_.shape.size() + (all - axis) > rank;
      if (may_be_left_out && windows.shape[axis] == 1) continue;
      images_.shape.push_back(windows.shape[axis]);
      images_.strides.push_back(windows.strides[axis]);
    }
    detail::require_step(images_.shape.size() == rank, *nest_,
                         "no windows of images are multiplied");
    for (std::size_t axis = 0; axis < batch_axes; ++axis)
      if (images_.shape[axis] == 1) images_.strides[axis] = 0;
    const std::size_t first = batch_axes;
    const auto same = [&](std::size_t window, std::size_t place) {
      return images_.shape[first + window] == 3 &&
             (images_.shape[first + place] <= 1 ||
              images_.strides[first + window] == images_.strides[first + place]);
    };
    detail::require_step(same(1, 3) && same(2, 4), *nest_, "windows are not at every place");
    extents_.channels = images_.shape[first];
    extents_.height = images_.shape[first + 3];
    extents_.width = images_.shape[first + 4];
    // Along an axis of one place the stride says nothing.
    images_.strides[first + 3] = images_.strides[first + 1];
    images_.strides[first + 4] = images_.strides[first + 2];
  }

  // Some 2 ns per filter and channel, or what the rest of the nest has less.
  double transforming_nanoseconds() const {
    return std::min(nest_->predicted_nanoseconds,
                    2.0 * static_cast<double>(extents_.filters * extents_.channels));
  }
  std::int64_t filter_blocks() const {
    return planning::pieces_of(extents_.filters, blocks_.filters);
  }
  void transform_filters(const run_memory& memory) const {
    parallel_for(filter_blocks(), transforming_nanoseconds(), [&](std::int64_t task, int thread) {
      const std::int64_t first = task * blocks_.filters;
      kernels_.filters({.extents = extents_,
                        .blocks = blocks_,
                        .given = given(memory),
                        .first = first,
                        .last = std::min(extents_.filters, first + blocks_.filters),
                        .to = memory.shared + transformed_offset_,
                        .workspace = memory.scratch(thread) + workspace_offset_});
    });
  }
  given_filters given(const run_memory& memory) const {
    return {filters_.at(memory, batch_shape_, 0, 0, 0), filters_.leading(), filters_.transposed()};
  }

  // Part `part` of the filters by tiles number `block`.
  void run_task(const run_memory& memory, std::byte* scratch, const task_division& tasks,
                std::int64_t block, std::int64_t part) const {
    const std::int64_t row_blocks = planning::pieces_of(extents_.tile_rows(), tasks.tile_rows),
                       image = block / row_blocks * blocks_.images,
                       count = std::min(blocks_.images, extents_.images - image),
                       row = 2 * (block % row_blocks * tasks.tile_rows),
                       rows = std::min(2 * tasks.tile_rows, extents_.height - row);
    const auto first_filter = [&](std::int64_t i) {
      return planning::piece_begin(extents_.filters, blocks_.filters, tasks.parts, i);
    };
    const std::int64_t filter = first_filter(part), last_filter = first_filter(part + 1);
    std::array<const void*, planning::most_winograd_images> images;
    std::array<void*, planning::most_winograd_images> results;
    std::array<external_block, planning::most_winograd_images> places;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::size_t>(i);
      places[number] = part_.first_block(memory, scratch, (image + i) * extents_.filters + filter,
                                         row * extents_.width, number);
      images[number] = image_at(memory, image + i);
      results[number] = places[number].at;
    }
    const std::size_t first = batch_shape_.size(), several = static_cast<std::size_t>(count);
    kernels_.block(
        {.extents = extents_,
         .blocks = blocks_,
         .images = {images.data(), several},
         .results = {results.data(), several},
         .channel_stride = images_.strides[first],
         .row_stride = images_.strides[first + 1],
         .column_stride = images_.strides[first + 2],
         .filter_pitch = places[0].pitch,
         .first_row = row,
         .rows = rows,
         .first_filter = filter,
         .last_filter = last_filter,
         .filters = tasks.transforms_filters ? nullptr : memory.shared + transformed_offset_,
         .given = given(memory),
         .workspace = scratch + workspace_offset_});
    for (std::size_t i = 0; i < several; ++i)
      part_.run_rest(memory, scratch, {&places[i], 1}, last_filter - filter, rows * extents_.width);
  }

  const std::byte* image_at(const run_memory& memory, std::int64_t image) const {
    std::int64_t place = images_.offset;
    for (std::size_t axis = batch_shape_.size(); axis-- > 0;) {
      place += image % batch_shape_[axis] * images_.strides[axis];
      image /= batch_shape_[axis];
    }
    return memory.bases[images_.buffer] + place * static_cast<std::int64_t>(size_of(type_));
  }

  const planning::nest* nest_;
  dtype type_;
  winograd_kernels kernels_;
  product_operand filters_;
  product_part part_;
  strided_view images_;
  shape_vector batch_shape_;
  planning::winograd_extents extents_;
  planning::winograd_blocks blocks_;
  std::size_t workspace_offset_ = 0, transformed_offset_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
