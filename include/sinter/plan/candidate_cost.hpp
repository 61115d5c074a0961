// SPDX-License-Identifier: MIT
// What a nest takes, in nanoseconds on the machine planned for, and what one call has to pay for
// it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <sinter/plan/candidate_nest.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/image_windows.hpp>
#include <sinter/plan/op_work.hpp>
#include <sinter/plan/view.hpp>
#include <sinter/plan/winograd.hpp>

namespace sinter::inline SINTER_ABI::planning {

// What is computed once is shared by so many calls. Not infinitely many, so that it is done in the
// cheapest way, and not at all where nothing is saved.
inline constexpr double calls_per_preparation = 1000;

// What an operand that is found by tables, in runs of a row, takes on top of that.
inline constexpr double gathered_share = 0.35;

// What adding up the lanes of a dot product takes, in multiply-adds of f32.
inline constexpr double dot_ending = 64;

// What multiplying by windows where they are takes of what it takes by packed ones: most registers
// of them cross lines.
inline constexpr double window_share = 1.2;

// Nanoseconds for bringing an operand of a product into the kernel's order.
inline double packing_work(const value_class& operand, const machine& m) {
  return m.packed_element * operand.elements;
}

// Blocks of rows into which a streamed nest cuts its scores; each goes through all keys.
inline double streamed_row_blocks(const value_graph& g, const value_class& scores) {
  return std::ceil(static_cast<double>(g.extent(scores.shape[scores.shape.size() - 2])) / 128);
}

class candidate_cost {
 public:
  // `all`: the candidates that the parts of grouped ones are among.
  candidate_cost(const value_graph& g, const cut_enumeration& cuts,
                 const std::vector<candidate>& all)
      : g_(g), machine_(g.machine()), cuts_(cuts), all_(all) {}

  // Fills in the nanoseconds and the cost.
  void set(candidate& c) const {
    c.nanoseconds = rounded_cost(nanoseconds(c));
    c.cost = rounded_cost(c.nanoseconds * (is_preparation(c) ? 1 / calls_per_preparation : 1) +
                          packing_of(c) / calls_per_preparation);
  }

  // Frozen arguments in, values that are kept out: see preparation.hpp.
  bool is_preparation(const candidate& c) const {
    if (!c.parts.empty())
      return std::ranges::all_of(c.parts, [&](int i) { return is_preparation(part(i)); });
    const auto fixed = [&](int v) { return g_[v].fixed; };
    return std::ranges::all_of(c.outputs, fixed) && std::ranges::all_of(c.reads, fixed) &&
           std::ranges::all_of(c.inside.body, [&](const auto& b) { return fixed(b.first); });
  }

 private:
  const candidate& part(int i) const { return all_[static_cast<std::size_t>(i)]; }

  // Of the right sides that are packed once.
  double packing_of(const candidate& c) const {
    double work = 0;
    for (int right : c.packed)
      if (right >= 0) work += packing_work(g_[right], machine_);
    for (int i : c.parts) work += packing_of(part(i));
    return work;
  }

  double traffic(int value) const {
    const double bytes = g_[value].bytes();
    return bytes * byte_cost(bytes, machine_);
  }

  double nanoseconds(const candidate& c) const {
    if (c.kind == nest_kind::alias) return reading_work(c);
    double memory = 0;
    for (int base : c.reads) {
      // Of a table, no more is read than comes out.
      const double all = traffic(base);
      memory += c.kind == nest_kind::gather ? std::min(all, traffic(c.root)) : all;
    }
    for (int out : c.outputs) memory += written_share * traffic(out);
    double work = work_of(c);
    if (const int shared = shared_products(c); shared > 0) {
      const cut& inside = c.parts.empty() ? c.inside : part(c.parts[0]).inside;
      // The left factor is packed once, or read and packed for each product.
      if (keeps_left(inside))
        work -=
            std::max(0, packing_products(c) - 1) * packing_work(g_[inside.factors[0]], machine_);
      else
        memory += shared * traffic(resolve(g_, inside.factors[0]).base);
    }
    // Loads and arithmetic overlap, but not wholly: the larger, and a fifth of the smaller.
    return machine_.launch + std::max(memory, work) + 0.2 * std::min(memory, work);
  }

  double work_of(const candidate& c) const {
    double work = 0;
    for (const auto& [v, f] : c.inside.body)
      if (!c.winograd || v != c.inside.product)
        work += body_work(c, v, g_[v].forms[static_cast<std::size_t>(f)]);
    work += ordered_loads(c);
    switch (c.kind) {
      case nest_kind::column:
        work += micro_work(ir::op::reduce_sum, g_[c.root].type, machine_) *
                g_[g_[c.root].forms[static_cast<std::size_t>(c.form)].operands[0]].elements;
        work += column_batch(c) * (column_batches(c) - 1);
        if (c.pair.any()) work += pair_work(c);
        break;
      case nest_kind::tile:
        if (c.reordered) work += reordering_work(c);
        work += row_overhead(c);
        for (const summed_value& s : c.sums)
          work += micro_work(ir::op::reduce_sum, g_[s.sum].type, machine_) * g_[s.of].elements;
        break;
      case nest_kind::gather:
      case nest_kind::scatter_add: work += g_[c.root].elements * 0.5; break;
      case nest_kind::scan:
        work += micro_work(ir::op::cumsum, g_[c.root].type, machine_) * g_[c.root].elements;
        break;
      case nest_kind::custom: work += custom_work(c); break;
      case nest_kind::streamed: work += streamed_work(c) + c.prologue_work; break;
      case nest_kind::grouped:
        for (int i : c.parts) work += work_of(part(i));
        break;
      case nest_kind::matmul:
        if (c.winograd) {
          work += winograd_work(c);
          break;
        }
        if (reading(c, c.inside.product, cuts_.product_form(c.inside)) != product_reading::packed)
          break;
        work -= packing_of(c);
        for (std::size_t k = 0; k < c.gathered.size(); ++k)
          if (c.gathered[k] >= 0)
            work += gathered_share * machine_.packed_element * g_[c.inside.factors[k]].elements;
        break;
      case nest_kind::assemble: work += piece_rows(c); break;
      case nest_kind::pack:
      case nest_kind::alias: break;
    }
    return work;
  }

  // Computed pieces go row by row where they are put, and views that they read in short rows are
  // loaded so.
  double piece_rows(const candidate& c) const {
    double work = 0;
    for (int operand : g_[c.root].forms[static_cast<std::size_t>(c.form)].operands)
      if (c.inside.computes(operand)) work += machine_.copied_row * rows_of(operand);
    constexpr std::int64_t short_row = 64;
    for (int leaf : c.inside.leaves)
      if (const resolved_view view = resolve(g_, leaf);
          !view.steps.empty() && !g_[leaf].shape.empty() &&
          g_.extent(g_[leaf].shape.back()) < short_row)
        work += machine_.row * rows_of(leaf);
    return work;
  }

  // Of a reduction over axes that are not the last: its elements lie apart.
  double reordering_work(const candidate& c) const {
    const form& f = g_[c.root].forms[static_cast<std::size_t>(c.form)];
    const value_class& of = g_[f.operands[0]];
    if (are_last_but_units(g_.payload(f).attributes[0], of.shape)) return 0;
    return 4 * machine_.strided_element * of.elements;
  }

  double rows_of(int value) const {
    const ir::symbolic_shape& shape = g_[value].shape;
    if (shape.empty()) return 1;
    return g_[value].elements /
           static_cast<double>(std::max<std::int64_t>(1, g_.extent(shape.back())));
  }

  // The 16 products, and what is transformed, in elements that are packed: of a filter, of a tile
  // of the result, and of a tile's part of an image's row, which fills whole registers. Fitted to
  // 390 convolutions with AVX-512 and as many with AVX2 while the rest of a strip counted as half
  // as fast; since then eight of 64 to 512 channels take 0.77 to 1.07 of what is predicted, and
  // 0.83 to 0.98 directly (Zen 4).
  double winograd_work(const candidate& c) const {
    const value_class& product = g_[c.inside.product];
    const ir::symbolic_shape& windows = g_[c.gathered[1]].shape;
    const std::size_t rank = product.shape.size(), last = windows.size() - 1;
    const auto extent = [&](ir::dim d) { return g_.extent(d); };
    constexpr winograd_units units;
    winograd_extents of{1, extent(windows[last - 4]), extent(product.shape[rank - 2]),
                        extent(windows[last - 1]), extent(windows[last])};
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) of.images *= extent(product.shape[axis]);
    const winograd_blocks blocks =
        divide_winograd(of, static_cast<std::int64_t>(size_of(product.type)), units);
    const auto channels = static_cast<double>(of.channels),
               filters = static_cast<double>(of.filters),
               tiles = static_cast<double>(planning::winograd_work(of, blocks, units)),
               rows = static_cast<double>(of.images * 2 * (of.tile_rows() + 1) *
                                          winograd_line(of.tile_columns(), units));
    const double transformed = 16 * channels * filters + 11 * filters * tiles + 9 * channels * rows;
    return 16 * 2 * machine_.flop * width_factor(product.type) * channels * filters * tiles +
           machine_.packed_element * transformed;
  }

  // A difference, a square and its sum, in registers; and rows that are looked at before. A column
  // ends as a row does: two sweeps over [32,1024] in L2 take 5.1 us, one 6.7.
  // Or a difference, an exponential and its sum, and two more exponentials, of f64, per block of
  // rows.
  double pair_work(const candidate& c) const {
    const value_class& x = g_[c.pair.x];
    const double rows = x.elements / std::max(1.0, g_[c.root].elements);
    const double element = machine_.unit_work * width_factor(x.type) * x.elements;
    const double end = machine_.row * g_[c.root].elements;
    if (c.pair.kind == step_kind::exponentials)
      return element * (2 + static_cast<double>(ir::info(ir::op::exp).cost) *
                                (1 + 4.0 / std::min(64.0, rows))) +
             end;
    const double sampled = std::min(1.0, moment_sample_rows / std::max(1.0, rows)) +
                           static_cast<double>(moment_sample_rows) / moment_sample_step;
    return element * (3 + std::min(1.0, sampled)) + end;
  }

  // Per element of the result or of an operand, whichever has most.
  double custom_work(const candidate& c) const {
    const form& f = g_[c.root].forms[static_cast<std::size_t>(c.form)];
    double elements = g_[c.root].elements;
    for (int operand : f.operands) elements = std::max(elements, g_[operand].elements);
    return elements * machine_.unit_work * width_factor(g_[c.root].type) * g_.custom(f).work;
  }

  // Can a thread keep the rows of the left factor that it works on packed? Blocks have some 256.
  bool keeps_left(const cut& c) const {
    const value_class& a = g_[c.factors[0]];
    const std::size_t rank = a.shape.size();
    const auto rows =
        static_cast<double>(g_.extent(a.shape[rank - (cuts_.transposes_left(c) ? 1 : 2)]));
    const auto depth = static_cast<double>(g_.depth_of(cuts_.product_form(c)));
    return std::min(256.0, rows) * depth * static_cast<double>(size_of(a.type)) <=
           static_cast<double>(packed_limit);
  }

  // How many products of the nest have their left factor in common with another one before them.
  int shared_products(const candidate& c) const {
    int products = c.inside.second_product >= 0 ? 2 : 1;
    if (c.kind == nest_kind::grouped) {
      products = 0;
      for (int i : c.parts) products += shared_products(part(i)) + 1;
    }
    return products - 1;
  }

  // A batch of a column nest: no accumulators where it reduces few rows that are stored as they
  // are.
  double column_batch(const candidate& c) const {
    const int x = g_[c.root].forms[static_cast<std::size_t>(c.form)].operands[0];
    const bool stays_in_registers =
        !c.pair.any() && !c.inside.computes(x) &&
        g_[x].elements <= static_cast<double>(rows_in_registers) * g_[c.root].elements;
    return stays_in_registers ? std::min(machine_.row, machine_.column_batch)
                              : machine_.column_batch;
  }

  // The elements of the axes in front of those that a column nest reduces.
  double column_batches(const candidate& c) const {
    const form& f = g_[c.root].forms[static_cast<std::size_t>(c.form)];
    const ir::symbolic_shape& space = g_[f.operands[0]].shape;
    double out = 1;
    for (std::size_t i = 0; !ir::has_axis(g_.payload(f).attributes[0], static_cast<int>(i)); ++i)
      out *= static_cast<double>(g_.extent(space[i]));
    return out;
  }

  // Is the right side of a product the same matrix for all batches? They are more rows then.
  bool shares_right(const form& f) const {
    const ir::symbolic_shape& shape = g_[f.operands[1]].shape;
    const std::size_t rank = shape.size();
    return g_[resolve(g_, f.operands[1]).base].elements <=
           static_cast<double>(g_.extent(shape[rank - 1])) *
               static_cast<double>(g_.extent(shape[rank - 2]));
  }

  // How the product that form f of v is reads its operands.
  product_reading reading(const candidate& c, int v, const form& f) const {
    if (c.gathered[0] >= 0 || std::ranges::any_of(c.packed, [](int value) { return value >= 0; }))
      return product_reading::packed;
    const ir::symbolic_shape& shape = g_[v].shape;
    const std::size_t rank = shape.size();
    const std::int64_t columns = g_.extent(shape[rank - 1]);
    const std::int64_t rows = shares_right(f) ? static_cast<std::int64_t>(g_[v].elements) /
                                                    std::max<std::int64_t>(1, columns)
                                              : g_.extent(shape[rank - 2]);
    if (c.gathered[1] >= 0)
      return reading_of_gathered(rows, columns, g_.depth_of(f), is_transposed(f, 0),
                                 runs_of(c.gathered[1], f));
    return reading_of(rows, columns, g_.depth_of(f), is_transposed(f, 0), is_transposed(f, 1));
  }
  bool is_transposed(const form& f, std::size_t side) const {
    const bool turned =
        std::ranges::any_of(resolve(g_, f.operands[side]).steps, scatters_last_axis);
    return turned != (g_.payload(f).attributes[side] != 0);
  }
  // Of a product's right side, gathered from this view.
  gathered_runs runs_of(int view, const form& f) const {
    const ir::symbolic_shape& shape = g_[view].shape;
    const auto directions = directions_of(shape, resolve(g_, view).steps);
    if (!directions) return {};
    const std::int64_t run = g_.extent(shape.back()), spacing = directions->back().step;
    const bool transposed = g_.payload(f).attributes[1] != 0;
    if (spacing != 1 && spacing != 2) return {};
    return transposed ? gathered_runs{.depth = run}
                      : gathered_runs{.columns = run, .apart = spacing == 2};
  }
  // Is the left factor packed, too, where the right one is?
  bool packs_left(const candidate& c, int v, const form& f) const {
    return c.gathered[0] >= 0 ||
           planning::packs_left(is_transposed(f, 0), g_.extent(g_[v].shape.back()));
  }

  // How many products of the nest read their left factor packed.
  int packing_products(const candidate& c) const {
    int products = 0;
    for (const auto& [v, f] : c.inside.body) {
      const form& each = g_[v].forms[static_cast<std::size_t>(f)];
      if (each.fused < 0 && each.code == ir::op::matmul &&
          reading(c, v, each) == product_reading::packed && packs_left(c, v, each))
        ++products;
    }
    for (int i : c.parts) products += packing_products(part(i));
    return products;
  }

  // With those beside the last columns of a product that its registers hold: fewer where rows of
  // the left factor can be in lanes, which are not transposed.
  double computed_elements(const value_class& product, const form& f) const {
    const std::size_t rank = product.shape.size();
    const std::int64_t columns = std::max<std::int64_t>(1, g_.extent(product.shape[rank - 1])),
                       rows = g_.extent(product.shape[rank - 2]);
    const std::int64_t computed = is_transposed(f, 0)
                                      ? register_columns(columns, product.type)
                                      : computed_columns(rows, columns, product.type);
    return product.elements / static_cast<double>(columns) * static_cast<double>(computed);
  }

  double product_work(const candidate& c, int v, const form& f) const {
    const value_class& a = g_[f.operands[0]];
    const value_class& b = g_[shares_right(f) ? resolve(g_, f.operands[1]).base : f.operands[1]];
    const value_class& product = g_[v];
    const double multiplying =
        2 * machine_.flop * static_cast<double>(g_.depth_of(f)) * width_factor(product.type);
    switch (reading(c, v, f)) {
      case product_reading::packed:
        return multiplying * computed_elements(product, f) +
               (packs_left(c, v, f) ? packing_work(a, machine_) : 0) + packing_work(b, machine_);
      case product_reading::dots:
        return (multiplying + 2 * machine_.flop * dot_ending) * product.elements;
      default: break;
    }
    if (c.gathered[1] < 0) return multiplying * computed_elements(product, f);
    // A register holds a part of one run.
    const std::int64_t run = std::max<std::int64_t>(1, g_.extent(g_[c.gathered[1]].shape.back()));
    return multiplying * product.elements * window_share *
           static_cast<double>(register_columns(run, product.type)) / static_cast<double>(run);
  }

  double body_work(const candidate& c, int v, const form& f) const {
    if (f.fused < 0 && f.code == ir::op::matmul) return product_work(c, v, f);
    if (v == c.second)  // a difference and a square: its sum counts elsewhere
      return 2 * machine_.unit_work * width_factor(g_[v].type) * g_[c.pair.x].elements;
    const bool reduces = f.fused < 0 && ir::info(f.code).kind == ir::kind::reduction;
    return f.work * (reduces ? g_[f.operands[0]].elements : g_[v].elements);
  }

  // The second product, and between the two: the largest element, exp, its sum. Blocks of 128 rows
  // pack their operands anew; blocks of 512 columns read and write the sums.
  double streamed_work(const candidate& c) const {
    const value_class& scores = g_[c.weighted.scores];
    const std::size_t rank = scores.shape.size();
    const double n = static_cast<double>(g_.extent(g_[c.root].shape[rank - 1]));
    const double row_blocks = streamed_row_blocks(g_, scores);
    const std::int64_t columns = g_.extent(scores.shape[rank - 1]);
    const double column_blocks = std::ceil(static_cast<double>(columns) / 512);
    const bool packs_values =
        reading_of(g_.extent(scores.shape[rank - 2]), static_cast<std::int64_t>(n), columns, false,
                   c.weighted.transpose_values) == product_reading::packed;
    const double packed = (packs_values ? g_[c.weighted.values].elements * row_blocks : 0) +
                          g_[c.inside.factors[1]].elements * (row_blocks - 1);
    return 2 * machine_.flop * scores.elements * n * width_factor(scores.type) +
           scores.elements * (micro_work(ir::op::exp, scores.type, machine_) +
                              micro_work(ir::op::reduce_max, scores.type, machine_)) +
           g_[c.root].elements * column_blocks * micro_work(ir::op::mul, scores.type, machine_) +
           machine_.packed_element * packed;
  }

  // Of a value that is read as a view, by one nest.
  double reading_work(const candidate& c) const {
    const value_class& root = g_[c.root];
    if (!root.is_choice()) return 0;
    double work = 0;
    const form& way = root.forms[static_cast<std::size_t>(c.form)];
    for (const view_step& s : resolve_way(g_, root, way).steps)
      work += ordering_work(s, machine_) * root.elements;
    return work;
  }

  // Views whose elements do not lie side by side along the last axis are ordered as they are
  // loaded, but for what a product multiplies: see `reading`.
  double ordered_loads(const candidate& c) const {
    if (c.kind == nest_kind::streamed) return 0;
    double work = 0;
    for (int leaf : c.inside.leaves) {
      if (std::ranges::find(c.inside.factors, leaf) != c.inside.factors.end()) continue;
      for (const view_step& s : resolve(g_, leaf, leaf == c.root).steps)
        work += ordering_work(s, machine_) * g_[leaf].elements;
      work += machine_.row * window_rows(leaf);
    }
    return work;
  }

  // Rows of windows do not lie one behind the other: each is a load of its own.
  double window_rows(int leaf) const {
    for (const view_step& s : resolve(g_, leaf).steps)
      if (s.code == ir::op::windows) return rows_of(leaf);
    return 0;
  }

  // A reduction ends at every row; so does the reading of one value per row. Short rows feel it,
  // copies the least.
  double row_overhead(const candidate& c) const {
    const double row = c.inside.body.empty() ? machine_.copied_row : machine_.row;
    double events = 0;
    for (const auto& [v, f] : c.inside.body) {
      const form& each = g_[v].forms[static_cast<std::size_t>(f)];
      if (each.fused < 0 && ir::info(each.code).kind == ir::kind::reduction)
        events += g_[v].elements;
    }
    for (int leaf : c.inside.leaves) {
      const resolved_view view = resolve(g_, leaf);
      if (view.steps.empty() || view.steps[0].code != ir::op::broadcast_to) continue;
      const ir::symbolic_shape& from = view.steps[0].operand;
      double columns = 1;
      for (std::size_t axis = from.size(); axis-- > 0 && from[axis] == ir::dim(1);)
        columns *= static_cast<double>(
            g_.extent(g_[leaf].shape[g_[leaf].shape.size() - from.size() + axis]));
      // One value is read once, others again for each row.
      if (columns > 1) events += g_[view.base].elements > 1 ? g_[leaf].elements / columns : 1;
    }
    return row * events;
  }

  const value_graph& g_;
  const machine& machine_;
  const cut_enumeration& cuts_;
  const std::vector<candidate>& all_;
};

}  // namespace sinter::inline SINTER_ABI::planning
