// SPDX-License-Identifier: MIT
// Runs plans. An executor owns what one call needs at a time: the arena, scratch memory for every
// thread, and the plan's nests bound to the extents at hand. Calls that overlap in time need an
// executor each; they share the plan.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/run_column.hpp>
#include <sinter/exec/run_copy.hpp>
#include <sinter/exec/run_custom.hpp>
#include <sinter/exec/run_indexing.hpp>
#include <sinter/exec/run_matmul.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/run_pack.hpp>
#include <sinter/exec/run_scan.hpp>
#include <sinter/exec/run_streamed.hpp>
#include <sinter/exec/run_winograd.hpp>
#include <sinter/exec/tile_nest.hpp>
#ifndef NDEBUG
#include <sinter/exec/verify_lowered.hpp>
#endif
#include <sinter/plan/nest.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/storage.hpp>

namespace sinter::inline SINTER_ABI::exec {

class executor {
 public:
  /// Keeps references to the plan and to the kernels. Throws graph_error for nests that do not fit
  /// the contract of plan/nest.hpp and dtype_error for a missing kernel.
  executor(const planning::plan& plan, const kernel_table& kernels)
      : plan_(&plan),
        kernels_(&kernels),
        binding_(plan),
        bases_(plan.buffers.size() + own_bases(plan)),
        arena_(plan.arena_bytes) {
    nests_.reserve(plan.nests.size());
    for (const planning::nest& nest : plan.nests) add(nest, kernels);
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const planning::buffer& b = plan.buffers[i];
      if (b.place == planning::place::arena)
        bases_[i] = arena_.data() + b.offset;
      else
        given_.push_back({b.place, static_cast<std::size_t>(b.number), i});
    }
    for (const planning::nest& nest : plan.nests)
      if (nest.kind == planning::nest_kind::alias) add_named(nest.stores[0].buffer);
  }

  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Binds to the extents of the symbols and to the strides of the arguments, in elements;
  /// arguments without an entry are contiguous. Does nothing when nothing changed. The first call
  /// allocates for the upper corner of the extents' bucket (the next powers of two); later calls
  /// allocate only beyond that, or when more threads are in use.
  /// Arguments: a range of what has strides, such as argument_layout.
  template <class Arguments = std::span<const argument_layout>>
  void bind(std::span<const std::int64_t> symbol_values, const Arguments& arguments) {
    if (is_bound_to(symbol_values, arguments)) return;
    const auto set_layouts = [&] {
      layouts_.clear();
      for (const auto& each : arguments) layouts_.push_back({each.strides});
    };
    const bool first = !ever_bound_;
    bound_ = false;
    // Extents that belong together may not at the corner: then memory grows when it is needed, as
    // it always does without exceptions.
    if (first && has_exceptions) {
      attempt<error>(
          [&] {
            symbols_.clear();
            for (std::int64_t value : symbol_values) {
              const auto positive = static_cast<std::uint64_t>(std::max(value, std::int64_t{1}));
              symbols_.push_back(static_cast<std::int64_t>(std::bit_ceil(positive)));
            }
            set_layouts();
            bind_nests();
          },
          [&](const error&) { need_ = {}; });
    }
    symbols_.assign(symbol_values.begin(), symbol_values.end());
    set_layouts();
    bind_nests();
    provide_memory();
#ifndef NDEBUG
    if (verifies_) verify_lowered(lowered(), kernels_);
    // All bits set is NaN, -1 or an index far out: reading what was not written shows.
    if (plan_->arena_bytes != 0) std::memset(arena_.data(), 0xff, plan_->arena_bytes);
#endif
    bound_ = ever_bound_ = true;
  }

  /// Was the last binding to these extents and strides?
  template <class Arguments>
  bool is_bound_to(std::span<const std::int64_t> symbol_values, const Arguments& arguments) const {
    // Element by element: for two or three, memcmp takes 18 ns.
    return bound_ &&
           std::ranges::equal(symbol_values, symbols_, [](auto a, auto b) { return a == b; }) &&
           std::ranges::equal(arguments, layouts_, [](const auto& a, const argument_layout& b) {
             return a.strides == b.strides;
           });
  }

  /// Runs the plan on memory of the shapes and strides it is bound to: pointers to element 0, by
  /// number. Allocates nothing unless the number of threads grew since binding. Throws index_error
  /// (gather, scatter_add) before anything is written if the indices are an argument, and before
  /// their nest writes if they are computed.
  /// `prepared`: the values that the plan keeps between calls, by number; the plan that prepares
  /// them writes there.
  /// Arguments, Outputs: of pointers, or of what has one as `data`, such as
  /// detail::argument_memory.
  template <class Arguments = std::span<const void* const>, class Outputs = std::span<void* const>>
  void run(const Arguments& arguments, const Outputs& outputs,
           std::span<std::byte* const> prepared = {}) {
    run(arguments, outputs, prepared, [](std::size_t) {});
  }

  /// The same; calls after_nest(number of the nest) behind each nest, which is how reports measure.
  template <class Arguments = std::span<const void* const>, class Outputs = std::span<void* const>,
            class Observer>
  void run(const Arguments& arguments, const Outputs& outputs, std::span<std::byte* const> prepared,
           Observer&& after_nest) {
    if (!bound_) raise(graph_error("executor: run before bind"));
    if (need_.per_thread + need_.shared > 0) provide_memory();
    for (const given_buffer& b : given_) {
      switch (b.place) {
        case planning::place::argument:
          assert(b.number < arguments.size());
          // Arguments are never written under this name: only outputs and the arena are targets of
          // nests.
          bases_[b.buffer] =
              static_cast<std::byte*>(const_cast<void*>(pointer_of(arguments[b.number])));
          break;
        case planning::place::output:
          assert(b.number < outputs.size());
          bases_[b.buffer] = static_cast<std::byte*>(pointer_of(outputs[b.number]));
          break;
        case planning::place::prepared:
          assert(b.number < prepared.size());
          bases_[b.buffer] = prepared[b.number];
          break;
        case planning::place::arena: bases_[b.buffer] = arena_.data() + b.number; break;
      }
    }
    const run_memory memory{bases_.data(), threads_.data(), thread_bytes_, shared_.data()};
    if (has_indexing_)
      for (const auto& nest : nests_) check_arguments(*nest, memory);
    std::size_t number = 0;
    for (const auto& each : nests_) {
      std::visit([&](const auto& nest) { nest.run(memory); }, *each);
      after_nest(number++);
    }
  }

  /// Memory this object holds for running, in bytes: the arena, and scratch for all threads.
  std::size_t bytes() const {
    return arena_.size_bytes() + threads_.size_bytes() + shared_.size_bytes();
  }
  std::size_t arena_bytes() const { return arena_.size_bytes(); }

  const planning::plan& plan() const { return *plan_; }

  /// Builds with assertions verify what is bound (verify_lowered.hpp), which allocates, unless they
  /// are told not to.
  void verify_bindings(bool on) { verifies_ = on; }

  /// What was bound, as a value: the tile programs of all nests and what is around them. Requires
  /// that something was bound. Copies; O(size of the programs).
  lowered_plan lowered() const {
    lowered_plan out;
    out.arena_bytes = plan_->arena_bytes;
    for (std::size_t i = 0; i < plan_->buffers.size(); ++i) {
      const planning::buffer& b = plan_->buffers[i];
      lowered_buffer own{b.place, b.number, b.type, binding_.evaluate(b.shape), {}};
      own.strides = b.place == planning::place::argument ? binding_[static_cast<int>(i)].strides
                                                         : row_major_strides(own.shape);
      if (b.place == planning::place::arena) {
        own.number = 0;
        own.offset = b.offset;
        own.bytes = b.bytes;
      }
      out.buffers.push_back(own);
    }
    for (const auto& nest : nests_)
      std::visit([&](const auto& n) { out.nests.emplace_back(n.lowered()); }, *nest);
    return out;
  }

 private:
  using bound_nest =
      std::variant<tile_nest, column_nest, matmul_nest, winograd_nest, streamed_nest, assemble_nest,
                   alias_nest, pack_nest, gather_nest, scatter_nest, scan_nest, custom_nest>;

  // A buffer that lies where the call says.
  struct given_buffer {
    planning::place place;
    std::size_t number;  // of the argument, output or prepared value; an offset in the arena
    std::size_t buffer;  // of the plan
  };

  // What an alias nest may make the name of an argument begins each call as a part of the arena.
  void add_named(int buffer) {
    const auto index = static_cast<std::size_t>(buffer);
    const planning::buffer& b = plan_->buffers[index];
    if (b.place == planning::place::arena) given_.push_back({b.place, b.offset, index});
  }

  template <class Nest, class... Parts>
  void add_nest(Parts&&... parts) {
    nests_.push_back(std::make_unique<bound_nest>(std::in_place_type<Nest>, parts...));
  }

  void add(const planning::nest& nest, const kernel_table& kernels) {
    switch (nest.kind) {
      case planning::nest_kind::tile: add_nest<tile_nest>(plan_, kernels, nest); return;
      case planning::nest_kind::column: add_nest<column_nest>(kernels, nest); return;
      case planning::nest_kind::matmul:
      case planning::nest_kind::grouped:
        if (nest.winograd) {
          add_nest<winograd_nest>(*plan_, kernels, nest);
          return;
        }
        add_nest<matmul_nest>(*plan_, kernels, nest);
        return;
      case planning::nest_kind::streamed: add_nest<streamed_nest>(*plan_, kernels, nest); return;
      case planning::nest_kind::assemble: add_nest<assemble_nest>(*plan_, kernels, nest); return;
      case planning::nest_kind::alias: add_nest<alias_nest>(*plan_, kernels, nest); return;
      case planning::nest_kind::pack: add_nest<pack_nest>(*plan_, kernels, nest); return;
      case planning::nest_kind::scan: add_nest<scan_nest>(nest); return;
      case planning::nest_kind::custom: add_nest<custom_nest>(nest); return;
      case planning::nest_kind::gather:
        has_indexing_ = true;
        add_nest<gather_nest>(nest);
        return;
      case planning::nest_kind::scatter_add:
        has_indexing_ = true;
        add_nest<scatter_nest>(*plan_, nest);
        return;
    }
  }

  template <class Memory>
  static auto pointer_of(const Memory& memory) {
    if constexpr (requires { memory.data; })
      return memory.data;
    else
      return memory;
  }

  void bind_nests() {
    binding_.set(symbols_, layouts_);
    for (const auto& nest : nests_)
      std::visit([&](auto& n) { need_.include(n.bind(binding_)); }, *nest);
  }

  void provide_memory() {
    const int threads = thread_count();
    if (threads > thread_slots_ || need_.per_thread > thread_bytes_) {
      const int slots = std::max(thread_slots_, threads);
      // Threads start on lines, and never on the same place of a page: see slot_bytes.
      const std::size_t bytes = round_to_lines(need_.per_thread) + 64;
      threads_ = storage(bytes * static_cast<std::size_t>(slots));
      // Behind what may throw: a later run must not take memory for there that is not.
      thread_slots_ = slots;
      thread_bytes_ = bytes;
    }
    if (need_.shared > shared_.size_bytes()) shared_ = storage(need_.shared);
  }

  static void check_arguments(const bound_nest& nest, const run_memory& memory) {
    std::visit(
        [&](const auto& n) {
          if constexpr (requires { n.check_arguments(memory); }) n.check_arguments(memory);
        },
        nest);
  }

  const planning::plan* plan_;
  const kernel_table* kernels_;
  exec::binding binding_;
  std::vector<std::unique_ptr<bound_nest>> nests_;  // in place: nests refer to parts of themselves
  std::vector<given_buffer> given_;                 // the others stay in the arena
  std::vector<std::byte*> bases_;
  storage arena_, threads_, shared_;
  memory_need need_;
  std::size_t thread_bytes_ = 0;
  int thread_slots_ = 0;
  std::vector<std::int64_t> symbols_;
  std::vector<argument_layout> layouts_;
  bool bound_ = false, ever_bound_ = false, has_indexing_ = false;
  bool verifies_ = true;
};

}  // namespace sinter::inline SINTER_ABI::exec
