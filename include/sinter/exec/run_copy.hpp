// SPDX-License-Identifier: MIT
// Nests that move elements: assemble (pad, concat) writes pieces into blocks of its output, which
// it may compute on the way, alias gives memory another shape, and copies it only where no strides
// can express that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include <sinter/exec/interleaved_pieces.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/tile_nest.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Where a piece lies in the memory of the whole.
inline strided_view block_of_piece(const binding& at, const strided_view& whole,
                                   const planning::piece& piece) {
  strided_view block = whole;
  block.shape = at.evaluate(piece.space);
  for (std::size_t axis = 0; axis < block.shape.size(); ++axis)
    block.offset += at.evaluate(piece.offset[axis]) * block.strides[axis];
  return block;
}

class assemble_nest {
 public:
  assemble_nest(const planning::plan& plan, const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest), buffer_(nest.stores.at(0).buffer) {
    const planning::buffer& out = plan.buffers[static_cast<std::size_t>(buffer_)];
    for (const planning::piece& piece : nest.pieces) {
      nests_.push_back(nest_of_piece(nest, piece));
      pieces_.emplace_back(nullptr, kernels, nests_.back());
    }
    dispatch(out.type, [&]<class T>(std::type_identity<T>) {
      const auto value = static_cast<T>(nest.fill);
      std::memcpy(fill_.data(), &value, sizeof value);
    });
    type_ = out.type;
    size_ = size_of(out.type);
  }

  memory_need bind(const binding& at) {
    target_ = at[buffer_];
    count_ = element_count(target_.shape);
    memory_need out;
    std::int64_t covered = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const strided_view block = block_of_piece(at, target_, nest_->pieces[i]);
      covered += element_count(block.shape);
      out.include(pieces_[i].bind(at, &block));
    }
    // The pieces of a concat cover everything; what a pad leaves is filled first, if its piece
    // cannot fill it.
    has_rest_ = covered < count_;
    interleaves_ = bind_interleaved(at);
    fills_ = has_rest_ && (pieces_.size() != 1 ||
                           !pieces_[0].fill_around(target_.offset, count_, {fill_.data(), size_}));
    return out;
  }

  void run(const run_memory& memory) const {
    if (interleaves_) return interleaved_.run(memory, nest_->predicted_nanoseconds);
    if (fills_) {
      std::byte* at =
          memory.bases[target_.buffer] + target_.offset * static_cast<std::int64_t>(size_);
      parallel_for(planning::pieces_of(count_, elements_per_task), nanoseconds_of_piece(*nest_),
                   [&](std::int64_t task, int) {
                     const std::int64_t first = task * elements_per_task;
                     exec::fill(std::min(elements_per_task, count_ - first), fill_.data(), size_,
                                at + first * static_cast<std::int64_t>(size_));
                   });
    }
    for (const tile_nest& piece : pieces_) piece.run(memory);
  }

  lowered_assembly lowered() const {
    lowered_assembly out;
    out.target = target_.buffer;
    out.type = type_;
    out.offset = target_.offset;
    out.count = count_;
    out.fills = has_rest_;
    if (has_rest_) {
      out.value.type = type_;
      std::memcpy(&out.value.word, fill_.data(), fill_.size());
    }
    for (const tile_nest& piece : pieces_) out.pieces.push_back(piece.lowered());
    return out;
  }

 private:
  bool bind_interleaved(const binding& at) {
    if (!interleaved_pieces::has_columns(target_.shape)) return false;
    std::vector<interleaved_pieces::piece> columns;
    for (const planning::piece& piece : nest_->pieces) {
      if (!is_copied(piece)) return false;
      const auto read = static_cast<std::size_t>(piece.body[0].access);
      columns.push_back(
          {at.view(nest_->accesses[read]), at.evaluate(piece.offset[target_.shape.size() - 1])});
    }
    return interleaved_.bind(target_, size_, columns, fill_);
  }

  const planning::nest* nest_;
  int buffer_;
  std::deque<planning::nest> nests_;  // a deque: the pieces keep references
  std::deque<tile_nest> pieces_;
  std::array<std::byte, 8> fill_{};
  dtype type_{};
  std::size_t size_ = 0;
  strided_view target_;
  std::int64_t count_ = 0;
  bool has_rest_ = false, fills_ = false, interleaves_ = false;
  interleaved_pieces interleaved_;
};

// Is `buffer`, if it names the memory of an argument from nest `number` on, read when or after an
// output that may be that very argument is written?
inline bool is_read_behind_overwrite(const binding& at, std::size_t number, int argument_buffer,
                                     int buffer) {
  const planning::plan& plan = at.plan();
  const auto bytes_of = [&](int b) {
    return element_count(at[b].shape) * static_cast<std::int64_t>(at.element_size(b));
  };
  std::vector<bool> names(plan.buffers.size(), false);
  names[static_cast<std::size_t>(buffer)] = true;
  bool overwritten = false;
  for (std::size_t i = number + 1; i < plan.nests.size(); ++i) {
    const planning::nest& n = plan.nests[i];
    bool reads = false;
    for (const planning::access& a : n.accesses)
      reads = reads || names[static_cast<std::size_t>(a.buffer)];
    for (const planning::store& s : n.stores) {
      overwritten = overwritten || (may_overlap(plan, s.buffer, argument_buffer) &&
                                    bytes_of(s.buffer) == bytes_of(argument_buffer));
      if (reads && n.kind == planning::nest_kind::alias)
        names[static_cast<std::size_t>(s.buffer)] = true;
    }
    if (reads && overwritten) return true;
  }
  return false;
}

class alias_nest {
 public:
  alias_nest(const planning::plan& plan, const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        buffer_(nest.stores.at(0).buffer),
        copy_(copy_nest(nest.accesses.at(0), plan.buffers[static_cast<std::size_t>(buffer_)].type,
                        buffer_, nest.predicted_nanoseconds)),
        copier_(nullptr, kernels, copy_) {}

  alias_nest(const alias_nest&) = delete;  // the copier refers to the copy
  alias_nest& operator=(const alias_nest&) = delete;

  /// Forwards the buffer to its operand's memory where the operand's strides allow the new shape.
  memory_need bind(binding& at) {
    strided_view view = at.view(nest_->accesses[0]);
    copies_ = !try_reshape(view, at[buffer_].shape) || must_copy(at);
    source_ = view;
    if (!copies_) {
      at.forward(buffer_, view);
      return {};
    }
    find_overwriting(at);
    strided_view block = at[buffer_];
    block.shape = at.evaluate(copy_.space);
    block.strides = row_major_strides(block.shape);
    return copier_.bind(at, &block);
  }

  /// Where an output may be the memory of the argument but is not in this call, the buffer becomes
  /// a name of the argument after all. (A copy of 6 MB took 190 us of the 1600 of a group norm with
  /// its gradients: Zen 5.)
  void run(const run_memory& memory) const {
    if (!copies_) return;
    std::byte* const argument = memory.bases[source_.buffer];
    const auto is_it = [&](int output) { return memory.bases[output] == argument; };
    if (is_argument_ && std::none_of(outputs_.begin(), outputs_.end(), is_it))
      memory.bases[buffer_] = argument + source_.offset * size_;
    else
      copier_.run(memory);
  }

  lowered_alias lowered() const {
    lowered_alias out{buffer_, source_, {}};
    if (copies_) out.copy.push_back(copier_.lowered());
    return out;
  }

 private:
  // The memory plan knows lifetimes of buffers, not of what they are forwarded to.
  bool must_copy(const binding& at) const {
    const planning::plan& plan = at.plan();
    const int source = nest_->accesses.at(0).buffer;
    const planning::buffer& from = plan.buffers[static_cast<std::size_t>(source)];
    const planning::buffer& to = plan.buffers[static_cast<std::size_t>(buffer_)];
    if (to.place == planning::place::output) return true;
    if (from.place == planning::place::arena) return to.bytes != 0 && to.offset != from.offset;
    return is_read_behind_overwrite(at, static_cast<std::size_t>(nest_ - plan.nests.data()), source,
                                    buffer_);
  }

  // Calls refuse outputs that overlap an argument unless they are all of it.
  void find_overwriting(const binding& at) {
    const auto place_of = [&](int b) {
      return at.plan().buffers[static_cast<std::size_t>(b)].place;
    };
    is_argument_ = place_of(source_.buffer) == planning::place::argument &&
                   place_of(buffer_) == planning::place::arena &&
                   source_.shape == at[buffer_].shape &&
                   is_contiguous(source_.shape, source_.strides);
    size_ = static_cast<std::int64_t>(at.element_size(buffer_));
    outputs_.clear();
    for (int b = 0; b < static_cast<int>(at.plan().buffers.size()); ++b)
      if (place_of(b) == planning::place::output) outputs_.push_back(b);
  }

  const planning::nest* nest_;
  int buffer_;
  planning::nest copy_;
  tile_nest copier_;
  strided_view source_;
  std::vector<int> outputs_;
  std::int64_t size_ = 0;
  bool copies_ = false, is_argument_ = false;
};

}  // namespace sinter::inline SINTER_ABI::exec
