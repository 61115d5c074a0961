// SPDX-License-Identifier: MIT
// Pooling and enlarging of images: their last two axes, whatever stands in front of them. Windows
// are read where the image is; nothing is copied.
#pragma once

#include <limits>
#include <utility>

#include <sinter/expr/plane.hpp>
#include <sinter/expr/reductions.hpp>

namespace sinter::inline SINTER_ABI {

/// Numbers are for both directions, or {vertical, horizontal}.
struct pooling_options {
  plane stride = 0;    // from window to window; 0: as long as the window
  plane padding = 0;   // on each side, at most half of the window
  plane dilation = 1;  // from element to element of a window, at least 1
  // Of avg_pool2d: does the padding count as elements of the windows that reach into it?
  bool count_padding = true;
};

namespace detail {

enum class pooling : std::uint8_t { max, mean };

// One direction after the other: each reduces what the one before left. For the largest element
// that is also right for the place that its derivative goes to: the first row that has it, and the
// first column there.
template <pooling Kind>
struct pooling_function {
  static constexpr ir::op code = ir::op::windows;
  plane window;
  pooling_options options;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink_plane(sink, window);
    sink_plane(sink, options.stride);
    sink_plane(sink, options.padding);
    sink_plane(sink, options.dilation);
    sink(options.count_padding ? 1 : 0);
  }

  constexpr handle operator()(handle x) const {
    if (!fits(x)) return x;
    if constexpr (Kind == pooling::max)
      return handle(reduced(pad_plane(x.node, options.padding, lowest_of(x.type()))));
    else
      return handle(averaged(is_floating(x.type()) ? x.node : ir::cast(x.node, dtype::f32)));
  }

 private:
  constexpr bool fits(handle x) const {
    if (x.rank() < 2) fail(x, code, ir::fault_kind::wrong_rank, x.rank(), 2);
    if (x.rank() == max_rank) fail(x, code, ir::fault_kind::rank_too_high, max_rank + 1, max_rank);
    if (x.type() == dtype::boolean)
      fail(x, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(x.type()));
    for (int direction : {0, 1})
      if (2 * options.padding[direction] > window[direction])
        fail(x, code, ir::fault_kind::too_much_padding, options.padding[direction],
             window[direction]);
    return require_at_least(x, code, window, 1) && require_at_least(x, code, options.stride, 0) &&
           require_at_least(x, code, options.padding, 0) &&
           require_at_least(x, code, options.dilation, 1);
  }

  static constexpr double lowest_of(dtype type) {
    if (is_floating(type)) return -std::numeric_limits<double>::infinity();
    if (type == dtype::u8) return 0;
    return type == dtype::i32 ? -2147483648.0 : -9223372036854775808.0;
  }

  // The sum or the largest element of each window along one axis.
  constexpr ir::value reduced(ir::value x, int axis, int direction) const {
    const std::int64_t stride =
        options.stride[direction] == 0 ? window[direction] : options.stride[direction];
    const ir::value taken =
        ir::windows(x, axis, ir::dim(window[direction]), stride, options.dilation[direction]);
    if (x.owner->failed()) return x;
    const std::int64_t mask = std::int64_t{1} << axis;
    if constexpr (Kind == pooling::mean) return ir::sum(taken, mask, false);
    const ir::value largest{x.owner, ir::append(*x.owner, ir::op::first_max, {taken.id}, {mask})};
    ir::symbolic_shape shape = taken.shape();
    shape.erase(shape.begin() + axis);
    return ir::reshape(largest, shape);
  }
  constexpr ir::value reduced(ir::value x) const {
    const ir::value columns = reduced(x, x.rank() - 1, 1);
    return x.owner->failed() ? x : reduced(columns, x.rank() - 2, 0);
  }

  constexpr ir::value averaged(ir::value x) const {
    const ir::value total = reduced(pad_plane(x, options.padding, 0));
    const bool padded = options.padding.vertical != 0 || options.padding.horizontal != 0;
    if (x.owner->failed()) return x;
    if (options.count_padding || !padded)
      return total * (1.0 / static_cast<double>(window.vertical * window.horizontal));
    // How many elements of the image each window has: the same windows over ones.
    ir::symbolic_shape image = x.shape();
    for (int axis = 0; axis < x.rank() - 2; ++axis) image[axis] = ir::dim(1);
    const ir::value ones = ir::broadcast_to(ir::constant_like(x, 1), image);
    return total / reduced(pad_plane(ones, options.padding, 0));
  }
};

template <pooling Kind>
struct global_pooling_function {
  static constexpr ir::op code = Kind == pooling::max ? ir::op::first_max : ir::op::reduce_sum;
  constexpr handle operator()(handle x) const {
    if (x.rank() < 2) fail(x, code, ir::fault_kind::wrong_rank, x.rank(), 2);
    if (x.graph().failed()) return x;
    const axis_list image{x.rank() - 2, x.rank() - 1};
    if constexpr (Kind == pooling::mean) return reduce_function<reduction::mean>{image}(x);
    return handle(ir::reduce(code, x.node, mask_of(x, code, image), false));
  }
};

struct upsample_function {
  static constexpr ir::op code = ir::op::broadcast_to;
  plane factor;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink_plane(sink, factor);
  }
  constexpr handle operator()(handle x) const {
    if (x.rank() < 2) fail(x, code, ir::fault_kind::wrong_rank, x.rank(), 2);
    if (x.rank() > max_rank - 2)
      fail(x, code, ir::fault_kind::rank_too_high, x.rank() + 2, max_rank);
    if (!require_at_least(x, code, factor, 1)) return x;
    ir::symbolic_shape apart, repeated, out;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const ir::dim extent = x.node.extent(axis);
      const int direction = axis - (x.rank() - 2);
      apart.push_back(extent);
      repeated.push_back(extent);
      out.push_back(extent);
      if (direction < 0) continue;
      apart.push_back(ir::dim(1));
      repeated.push_back(ir::dim(factor[direction]));
      out.back() = x.graph().dims.mul(extent, ir::dim(factor[direction]));
    }
    return handle(ir::reshape(ir::broadcast_to(ir::reshape(x.node, apart), repeated), out));
  }
};

}  // namespace detail

/// The largest element of every window of the last two axes: `max_pool2d(x, 3, {.stride = 2,
/// .padding = 1})`. Windows may overlap; extents as in conv2d. Numbers (dtype_error for bools). The
/// derivative goes to the largest element alone, the first in row-major order where several are
/// equal. Padding is below every element, so a window of padding alone, which dilation makes
/// possible, gives -infinity or the smallest integer. shape_error, in the name of windows, for
/// ranks below 2 and 8, where no window fits, for numbers below 1 (padding: 0), and for padding of
/// more than half a window.
template <Operand X>
constexpr auto max_pool2d(X&& x, plane window, const pooling_options& options = {}) {
  return sinter::apply(detail::pooling_function<detail::pooling::max>{window, options},
                       std::forward<X>(x));
}

/// The mean of every window; integers are cast to f32. Padding counts as zeros, or with
/// `count_padding = false` not at all: the mean is then over the elements of the image. Throws as
/// max_pool2d.
template <Operand X>
constexpr auto avg_pool2d(X&& x, plane window, const pooling_options& options = {}) {
  return sinter::apply(detail::pooling_function<detail::pooling::mean>{window, options},
                       std::forward<X>(x));
}

/// The largest element of the last two axes, which disappear; its derivative as max_pool2d's.
/// shape_error below rank 2; dtype_error for bools.
template <Operand X>
constexpr auto global_max_pool(X&& x) {
  return sinter::apply(detail::global_pooling_function<detail::pooling::max>{}, std::forward<X>(x));
}

/// The mean over the last two axes, which disappear; integers and bools are cast to f32.
/// shape_error below rank 2.
template <Operand X>
constexpr auto global_avg_pool(X&& x) {
  return sinter::apply(detail::global_pooling_function<detail::pooling::mean>{},
                       std::forward<X>(x));
}

/// Every element of the last two axes repeated `factor` times in both directions, or {vertical,
/// horizontal} times: nearest neighbours. Any dtype. shape_error below rank 2, above rank 6, and
/// for a factor below 1.
template <Operand X>
constexpr auto upsample_nearest(X&& x, plane factor) {
  return sinter::apply(detail::upsample_function{factor}, std::forward<X>(x));
}

}  // namespace sinter::inline SINTER_ABI
