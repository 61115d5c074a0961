// SPDX-License-Identifier: MIT
// Items of products, alone, in groups and streamed: blocks of the result, their epilogues, and what
// is copied, packed and kept on the way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <sinter/exec/gemm.hpp>
#include <sinter/exec/streamed_packing.hpp>
#include <sinter/function/item_draft.hpp>

namespace sinter::inline SINTER_ABI::detail {

class product_item : private item_draft {
 public:
  using item_draft::item_draft;

  planning::schedule_item run() {
    if (nest_.winograd)
      add_winograd();
    else
      nest_.kind == planning::nest_kind::streamed ? add_streamed() : add_products();
    return take();
  }

 private:
  // Batches that became rows of the left side are walked with them.
  struct folded_rows {
    std::vector<int> batch, rows;
  };
  static folded_rows fold(std::size_t batch_left, std::size_t rank) {
    return {range(0, batch_left), range(batch_left, rank - 1)};
  }

  std::int64_t bytes(std::int64_t elements, dtype type) const {
    return elements * static_cast<std::int64_t>(size_of(type));
  }

  void add_products() {
    const planning::nest& n = nest_;
    std::vector<const planning::nest*> nests;
    for (const planning::nest& part : n.parts) nests.push_back(&part);
    if (nests.empty()) nests.push_back(&n);
    const planning::nest& first = *nests.front();
    const dtype type = exec::product_part::type_of(first);
    exec::product_operand a(kernels_, first, 0, first.transpose_a, type,
                            static_cast<int>(plan_.buffers.size()));
    std::deque<exec::product_part> parts;
    for (const planning::nest* each : nests)
      parts.emplace_back(plan_, kernels_, *each, static_cast<int>(plan_.buffers.size()) + 1);
    const extents space = at_.evaluate(first.space);
    const std::size_t rank = space.size();
    extents batch(space.begin(), space.end() - 2);
    std::int64_t m = space[rank - 2];
    exec::memory_need need;
    a.bind(at_, rank - 2, need);
    note_copy(first.accesses[0], 0, need);
    const std::int64_t k = a.columns();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t before = need.shared;
      parts[i].bind_right(at_, at_.evaluate(nests[i]->space), k, need);
      note_copy(nests[i]->accesses[1], before, need);
    }
    exec::fold_batches_if(batch, m, a, [&](std::size_t axis) {
      return std::ranges::all_of(parts, [&](const auto& p) { return p.is_shared(axis); });
    });
    std::int64_t widest = -1, rows = 1, column_blocks = 0, columns = 0, block_columns = 0;
    for (exec::product_part& part : parts) {
      part.divide(a, m);
      columns += part.columns();
      block_columns = std::max(block_columns, part.block_columns());
      if (part.columns() > widest) widest = part.columns(), rows = part.block_rows();
      column_blocks += part.column_blocks();
    }
    rows = planning::product_rows(m, rows,
                                  [&](std::int64_t r) { return exec::gemm_packs(type, r, 2, k); });
    const folded_rows folded = fold(batch.size(), rank);
    for (std::size_t i = 0; i < parts.size(); ++i)
      add_product(*nests[i], parts[i], static_cast<int>(i), folded, m, rows, k, type);
    give_to_threads(item_.iterations, n.predicted_nanoseconds);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (nests[i]->body.size() > 1)
        add_epilogue(*nests[i], static_cast<int>(i), folded, rows, parts[i].block_columns());
    note_tables(first, 0);
    for (const planning::nest* each : nests) note_tables(*each, 1);
    const bool packs =
        a.is_gathered() || std::ranges::any_of(parts, [&](const exec::product_part& p) {
          return p.reads_packed(rows);
        });
    const std::int64_t packed = bytes(exec::gemm_packed_elements(rows, k), type);
    const bool keeps = column_blocks > 1 && exec::packs_left(a, columns) &&
                       packed <= static_cast<std::int64_t>(planning::packed_limit);
    if (!packs || !(keeps || exec::packs_left(a, block_columns))) return;
    item_.hints.push_back({planning::hint_kind::pack, first.accesses[0].buffer, packed});
    if (keeps) item_.hints.push_back({planning::hint_kind::keep, first.accesses[0].buffer, packed});
  }

  void note_tables(const planning::nest& n, std::size_t operand) {
    if (planning::is_gathered(n, operand))
      item_.hints.push_back({planning::hint_kind::gather, n.accesses[operand].buffer,
                             static_cast<std::int64_t>(exec::gemm_table_bytes)});
  }

  void add_product(const planning::nest& n, const exec::product_part& part, int number,
                   const folded_rows& folded, std::int64_t m, std::int64_t rows, std::int64_t k,
                   dtype type) {
    const std::size_t rank = n.space.size();
    const std::int64_t columns = part.block_columns();
    planning::iteration it{planning::work_kind::product, number, {}, {}};
    add_axes(it, n.space, "i");
    const ir::symbolic_shape& left = n.accesses[0].shape;
    it.axes.push_back({"depth", left[left.size() - (n.transpose_a ? 2 : 1)], role::reduction});
    exec::detail::gemm_blocking inner{std::max<std::int64_t>(1, k), columns, rows};
    const std::int64_t some_rows = std::min(rows, m),
                       some_columns = std::min(columns, part.columns());
    if (part.reads_packed(some_rows) || planning::is_gathered(n, 0))
      inner = exec::detail::blocking_of(type, some_rows, some_columns, k);
    it.loops = {make_loop(folded.batch, 1, 1), make_loop(folded.rows, rows, inner.slab),
                make_loop({static_cast<int>(rank)}, k, inner.depth),
                make_loop({static_cast<int>(rank) - 1}, columns, inner.panel, lanes_of(type))};
    item_.reductions.push_back({static_cast<int>(item_.iterations.size()), -1, ir::op::reduce_sum,
                                std::max<std::int64_t>(1, std::min(inner.depth, k)), 0, 1});
    item_.iterations.push_back(std::move(it));
  }

  // A convolution by tiles: images, filters and channels in blocks, rows of tiles in tasks.
  void add_winograd() {
    const planning::nest& n = nest_;
    exec::winograd_nest bound(plan_, kernels_, n);
    const exec::memory_need need = bound.bind(at_);
    const exec::lowered_products made = bound.lowered();
    const std::size_t rank = n.space.size();
    const int rows = static_cast<int>(rank) - 2;
    const folded_rows folded{range(0, rank - 2), {rows}};
    const std::int64_t columns = made.parts[0].columns, depth = 9 * made.depth;
    planning::iteration it{planning::work_kind::product, 0, {}, {}};
    add_axes(it, n.space, "i");
    it.axes.push_back({"depth", n.accesses[0].shape.back(), role::reduction});
    it.loops = {make_loop(folded.batch, made.images, 1), make_loop({rows}, made.m, made.filters),
                make_loop({rows + 2}, made.k, depth),
                make_loop({rows + 1}, columns, columns, lanes_of(made.type))};
    give_to_threads(it, n.predicted_nanoseconds);
    item_.iterations.push_back(std::move(it));
    item_.reductions.push_back(
        {0, -1, ir::op::reduce_sum, std::max<std::int64_t>(1, std::min(depth, made.k)), 0, 1});
    if (n.body.size() > 1) add_epilogue(n, 0, folded, made.rows, columns, made.images);
    for (const exec::lowered_copy& copy : made.copies)
      item_.hints.push_back({planning::hint_kind::copy, n.accesses[0].buffer,
                             bytes(element_count(copy.shape), copy.type)});
    item_.hints.push_back({planning::hint_kind::gather, n.accesses[1].buffer,
                           static_cast<std::int64_t>(need.per_thread)});
  }

  // The rest of the tile program, on blocks of the product.
  void add_epilogue(const planning::nest& n, int number, const folded_rows& folded,
                    std::int64_t rows, std::int64_t columns, std::int64_t batches = 1) {
    const int product = exec::find_product(n, "a nest without a product");
    const bool streamed = n.kind == planning::nest_kind::streamed;
    exec::bound_tile tile(
        kernels_, n,
        exec::analyze_tile(&plan_, n, exec::geometry::block, exec::all_stores(n), product, -1));
    exec::walk_request request;
    request.space = at_.evaluate(n.space);
    request.outer_count = n.space.size() - 1;
    request.block_columns = columns;
    request.external_packed = streamed || columns >= request.space.back();
    request.result_is_external = streamed;
    tile.bind(at_, request);
    const exec::tile_program& p = tile.program();
    planning::iteration it{planning::work_kind::epilogue, number, {}, {}};
    add_axes(it, n.space, "i");
    const dtype type = n.body[static_cast<std::size_t>(n.stores.back().step)].type;
    it.loops = {
        make_loop(folded.batch, batches, 1), make_loop(folded.rows, rows, p.tile_rows),
        make_loop({static_cast<int>(n.space.size()) - 1}, columns, p.chunk, lanes_of(type))};
    copy_threads(it);
    if (n.inner_axes > 0) {
      it.axes.back().role = role::reduction;
      add_row_reductions(n, static_cast<int>(item_.iterations.size()), 1);
    }
    item_.iterations.push_back(std::move(it));
  }
  // It runs in the tasks of its product.
  void copy_threads(planning::iteration& it) const {
    for (const planning::iteration& product : item_.iterations) {
      if (product.work != planning::work_kind::product || product.part != it.part) continue;
      for (planning::loop& l : it.loops)
        for (const planning::loop& other : product.loops)
          if (l.axes == other.axes)
            l.levels[planning::loop::task].to = other.levels[planning::loop::task].to;
    }
  }

  void add_streamed() {
    const planning::nest& n = nest_;
    const int product = exec::find_product(n, "a streamed nest without a product");
    const dtype type = n.body[static_cast<std::size_t>(product)].type;
    const int copies = static_cast<int>(plan_.buffers.size());
    exec::streamed_operand a(kernels_, n, 0, n.transpose_a, type, copies),
        b(kernels_, n, 1, n.transpose_b, type, copies + 1);
    exec::product_operand values(kernels_, n, 2, n.transpose_values, type, copies + 2);
    const extents space = at_.evaluate(n.space);
    const std::size_t rank = space.size();
    extents batch(space.begin(), space.end() - 2);
    std::int64_t rows = space[rank - 2];
    const std::int64_t columns = space[rank - 1];
    exec::memory_need need;
    std::size_t before = 0;
    a.bind(at_, rank - 2, need);
    note_copy(n.accesses[0], before, need);
    before = need.shared;
    b.bind(at_, rank - 2, need);
    note_copy(n.accesses[1], before, need);
    before = need.shared;
    values.bind(at_, rank - 2, need);
    note_copy(n.accesses[2], before, need);
    exec::fold_batches(batch, rows, a, b, values);
    const planning::streamed_division d = planning::divide_scores(rows, columns);
    const folded_rows folded = fold(batch.size(), rank);
    const std::int64_t depth = a.columns(), width = values.columns();

    planning::iteration it{planning::work_kind::product, 0, {}, {}};
    add_axes(it, n.space, "i");
    it.axes.back().role = role::streamed;
    const auto last_axes = [](const planning::access& x, bool transposed) {
      return x.shape[x.shape.size() - (transposed ? 2 : 1)];
    };
    it.axes.push_back({"depth", last_axes(n.accesses[0], n.transpose_a), role::reduction});
    it.axes.push_back({"width", last_axes(n.accesses[2], n.transpose_values), role::parallel});
    const int last = static_cast<int>(rank);
    it.loops = {make_loop(folded.batch, 1, 1), make_loop(folded.rows, d.rows, d.rows),
                make_loop({last - 1}, columns, d.columns), make_loop({last}, depth, depth),
                make_loop({last + 1}, width, width, lanes_of(type))};
    give_to_threads(it, n.predicted_nanoseconds);
    item_.iterations.push_back(std::move(it));
    item_.reductions.push_back(
        {0, -1, ir::op::softmax, std::min(d.columns, std::max<std::int64_t>(1, columns)), 0, 1});
    if (n.body.size() > 1) add_epilogue(n, 0, folded, d.rows, d.columns);
    int number = 0;
    for (const std::size_t operand : {std::size_t{0}, std::size_t{1}})
      for (const planning::operand_part& part : n.prologues[operand])
        add_operand(n, operand, part, number++, operand == 0 ? d.rows : d.columns);

    const bool hides = n.hidden.any && rows == space[rank - 2];
    const exec::streamed_packing packing =
        exec::pack_streamed(type, rows, columns, depth, width, values.transposed(), hides);
    if (packing.once)
      item_.hints.push_back({planning::hint_kind::keep, n.accesses[2].buffer, packing.bytes});
    const std::int64_t keys = bytes(columns * depth, type);
    if (b.is_computed() && !packing.once &&
        keys <= static_cast<std::int64_t>(planning::kept_operand_bytes))
      item_.hints.push_back({planning::hint_kind::keep, n.accesses[1].buffer, keys});
  }

  // Rows of an operand that is computed on the way, as many at a time as its block has.
  void add_operand(const planning::nest& n, std::size_t operand, const planning::operand_part& part,
                   int number, std::int64_t rows) {
    planning::nest program;
    program.space = part.space;
    program.accesses = n.accesses;
    program.body = part.body;
    program.stores = {{static_cast<int>(part.body.size()) - 1, -1}};
    exec::bound_tile tile(kernels_, program,
                          exec::analyze_tile(nullptr, program, exec::geometry::block, {0}, -1, -1));
    exec::walk_request request;
    request.space = at_.evaluate(part.space);
    request.outer_count = request.space.size() - 1;
    request.block_columns = request.space.back();
    request.external_packed = n.prologues[operand].size() == 1;
    request.result_is_external = true;
    tile.bind(at_, request);
    const std::size_t rank = part.space.size();
    planning::iteration it{planning::work_kind::operand, number, {}, {}};
    add_axes(it, part.space, "i");
    it.loops = {make_loop(range(0, rank - 1), rows, tile.program().tile_rows),
                make_loop(range(rank - 1, rank), request.space.back(), tile.program().chunk,
                          lanes_of(part.body.back().type))};
    item_.iterations.push_back(std::move(it));
  }
};

}  // namespace sinter::inline SINTER_ABI::detail
