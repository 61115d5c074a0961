// SPDX-License-Identifier: MIT
// Checks one nest at given extents: buffers and steps that exist, views in bounds, shapes and
// dtypes that fit together. Nothing is taken for granted: nests may come from text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinter/graph/build.hpp>
#include <sinter/graph/infer.hpp>
#include <sinter/plan/access_index.hpp>
#include <sinter/plan/image_windows.hpp>
#include <sinter/plan/joined_axes.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/nest_facts.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/plan/verify_movement.hpp>

namespace sinter::inline SINTER_ABI::planning::detail {

/// Does a row-level value of the nest not have this axis?
inline bool is_reduced_axis(const nest& n, std::size_t axis) {
  if (n.kind == nest_kind::column)
    return static_cast<int>(axis) >= n.column_first && static_cast<int>(axis) < n.column_last;
  const std::size_t outer = n.space.size() - static_cast<std::size_t>(n.inner_axes);
  if (n.axis_order.empty()) return axis >= outer;
  for (std::size_t i = outer; i < n.axis_order.size(); ++i)
    if (n.axis_order[i] == static_cast<int>(axis)) return true;
  return false;
}

class nest_verifier : nest_facts {
 public:
  using nest_facts::nest_facts;

  void check(const nest& n) const {
    check_buffers(n);
    switch (n.kind) {
      case nest_kind::tile:
      case nest_kind::column: return check_rows(n);
      case nest_kind::matmul: return check_product(n);
      case nest_kind::grouped: return check_parts(n);
      case nest_kind::streamed: return check_streamed(n);
      case nest_kind::assemble:
        check_pieces(*this, n);
        for (const piece& p : n.pieces) check_body(n, p.body, evaluate(p.space));
        return;
      case nest_kind::gather:
      case nest_kind::scatter_add: return check_indexed(*this, n);
      case nest_kind::scan: return check_scan(*this, n);
      case nest_kind::alias:
        require(n.accesses.size() == 1 && n.body.empty(), "accesses", "an alias has one operand");
        return require(count(n.accesses[0].shape) == count(target(n).shape), "store",
                       "another number of elements");
      case nest_kind::custom: return check_custom(n);
      case nest_kind::pack: return check_pack(n);
    }
  }

 private:
  // ---- buffers and views

  // `joins`: it may be an operand of a product that is gathered.
  void check_access(const access& a, const std::string& field, bool is_computed,
                    bool joins = false) const {
    require(is_buffer(a.buffer), field + " buffer", "there is none");
    evaluate(a.shape);
    if (is_computed) return;
    for (std::size_t i = 0; i < a.steps.size(); ++i)
      require((joins && i == 0) || a.steps[i].code != ir::op::reshape ||
                  ir::same_but_ones(a.steps[i].result, a.steps[i].operand),
              field, "joins axes where nothing gathers them");
    if (const std::string reason = access_index(p_, a, symbols_).fault(); !reason.empty())
      fail(field, reason);
  }

  void check_buffers(const nest& n) const {
    require(!n.stores.empty(), "stores", "nothing is stored");
    for (std::size_t i = 0; i < n.accesses.size(); ++i) {
      // Of a packed matrix and of one that is computed, the shape is not that of the buffer.
      const bool computed = n.kind == nest_kind::streamed && i < 2 && !n.prologues[i].empty();
      const bool packed = n.packed_b && (i == 1 || is_second_product(n, i));
      const bool joins =
          n.kind == nest_kind::grouped || (n.kind == nest_kind::matmul && !n.packed_b && i < 2);
      check_access(n.accesses[i], "access " + std::to_string(i), computed || packed, joins);
    }
    for (std::size_t i = 0; i < n.stores.size(); ++i) {
      const std::string field = "store " + std::to_string(i);
      require(is_buffer(n.stores[i].buffer), field + " buffer", "there is none");
      require(buffer_at(n.stores[i].buffer).place != place::argument, field + " buffer",
              "an argument is not written under this name");
      require(!n.stores[i].summed || n.kind == nest_kind::tile, field, "nothing is summed up");
      const bool has_step = n.stores[i].step >= 0 && at(n.stores[i].step) < n.body.size();
      require(n.body.empty() || has_step, field + " step", "there is none");
    }
    const bool has_body = n.kind == nest_kind::tile || n.kind == nest_kind::column ||
                          n.kind == nest_kind::matmul || n.kind == nest_kind::streamed;
    require(has_body != n.body.empty(), "body", "nests of this kind have another one");
    require(n.parts.empty() == (n.kind != nest_kind::grouped), "parts", "only groups have parts");
    require(!n.winograd || n.kind == nest_kind::matmul, "winograd", "is no product");
    require(n.pieces.empty() || n.kind == nest_kind::assemble, "pieces", "there may be none");
    require((!n.exclusive && !n.reverse) || n.kind == nest_kind::scan, "direction",
            "there are no running sums");
    require((n.custom != nullptr) == (n.kind == nest_kind::custom), "custom op",
            "custom nests have one, and no others");
    require(n.custom != nullptr || n.custom_attributes.empty(), "attributes",
            "there is no op that has them");
  }
  static bool is_second_product(const nest& n, std::size_t access) {
    return std::ranges::any_of(n.body, [&](const step& s) {
      return s.kind == step_kind::product && s.access == static_cast<int>(access);
    });
  }

  // ---- bodies

  void check_rows(const nest& n) const {
    const std::size_t rank = n.space.size();
    require(n.inner_axes >= 0 && at(n.inner_axes) <= rank, "inner axes", "more than there are");
    require(n.column_first >= 0 && n.column_first <= n.column_last && at(n.column_last) <= rank,
            "reduced axes", "not in the space");
    check_axis_order(n);
    if (n.kind == nest_kind::column) {
      const auto reductions =
          std::ranges::count_if(n.body, [](const step& s) { return s.kind == step_kind::reduce; });
      require(reductions == 1, "body", "a column nest has one reduction");
      require(std::ranges::count_if(n.body, is_second_of_pair) <= 1, "body",
              "one value stands beside the reduction");
    }
    check_body(n, n.body, evaluate(n.space));
    check_stores(n);
  }

  void check_axis_order(const nest& n) const {
    if (n.axis_order.empty()) return;
    std::vector<bool> taken(n.space.size(), false);
    require(n.axis_order.size() == n.space.size(), "order", "does not name every axis");
    for (int axis : n.axis_order) {
      require(axis >= 0 && at(axis) < taken.size() && !taken[at(axis)], "order",
              "is no permutation");
      taken[at(axis)] = true;
    }
  }

  shape_vector kept(const nest& n) const {
    shape_vector out = evaluate(n.space);
    for (std::size_t axis = 0; axis < out.size(); ++axis)
      if (is_reduced_axis(n, axis)) out[axis] = 1;
    return out;
  }

  // Elements of a row.
  std::int64_t columns(const nest& n) const {
    const shape_vector space = evaluate(n.space);
    std::int64_t out = 1;
    for (std::size_t axis = 0; axis < space.size(); ++axis)
      if (is_reduced_axis(n, axis)) out *= space[axis];
    return out;
  }

  void check_stores(const nest& n) const {
    const std::int64_t full = count(n.space), rows = element_count(kept(n));
    for (std::size_t i = 0; i < n.stores.size(); ++i) {
      const std::string field = "store " + std::to_string(i);
      const buffer& to = buffer_at(n.stores[i].buffer);
      const step& from = n.body[at(n.stores[i].step)];
      require(to.type == from.type, field + " dtype", "the buffer has another one");
      const std::int64_t elements = count(to.shape);
      if (n.stores[i].summed) {
        require(n.inner_axes > 0 && n.axis_order.empty(), field, "sums are of nests over rows");
        require(from.level == level::full && (to.type == dtype::f32 || to.type == dtype::f64),
                field, "sums are of values per element, f32 or f64");
        require(elements == columns(n), field, "the buffer has another number of elements");
        continue;
      }
      require(elements == rows || (from.level == level::full && elements == full), field,
              "the buffer has another number of elements");
    }
  }

  void check_body(const nest& n, const std::vector<step>& body, const shape_vector& space) const {
    for (std::size_t i = 0; i < body.size(); ++i) {
      const step& s = body[i];
      const std::string field = "%" + std::to_string(i);
      for (int o : s.operands)
        require(o >= 0 && at(o) < i, field + " operands", "there is no such step before it");
      check_step(n, body, s, space, field);
    }
  }

  void check_step(const nest& n, const std::vector<step>& body, const step& s,
                  const shape_vector& space, const std::string& field) const {
    const auto operands = [&](std::size_t expected) {
      require(s.operands.size() == expected, field + " operands", "another number of them");
    };
    const auto type_of = [&](std::size_t k) { return body[at(s.operands[k])].type; };
    const bool is_custom =
        s.kind == step_kind::map && s.fused == nullptr && s.code == ir::op::custom_map;
    require((s.custom != nullptr) == is_custom, field + " op",
            "maps of a custom op have one, and no others");
    switch (s.kind) {
      case step_kind::load:
      case step_kind::scalar: {
        operands(0);
        require(s.access >= 0 && at(s.access) < n.accesses.size(), field + " access",
                "there is none");
        const access& a = n.accesses[at(s.access)];
        require(buffer_at(a.buffer).type == s.type, field + " dtype", "the buffer has another one");
        const shape_vector seen = evaluate(a.shape);
        if (seen.empty()) return;
        require(s.kind == step_kind::load && seen.size() == space.size(), field + " access",
                "has another rank than the space");
        for (std::size_t axis = 0; axis < seen.size(); ++axis)
          require(seen[axis] == 1 || seen[axis] == space[axis], field + " access",
                  "has other extents than the space");
        return;
      }
      case step_kind::constant: return operands(0);
      case step_kind::extent:
        operands(0);
        return require(evaluate(s.extent) >= 0, field + " extent", "is negative");
      case step_kind::iota:
        operands(0);
        return require(s.attribute >= 0 && static_cast<std::size_t>(s.attribute) < space.size(),
                       field + " axis", "is not in the space");
      case step_kind::random:
        operands(1);
        return require(is_floating(s.type) && is_integral(type_of(0)), field + " dtype",
                       "random numbers are floats made from an integer key");
      case step_kind::map: return check_map(body, s, field);
      case step_kind::reduce:
        operands(1);
        require(ir::info(s.code).kind == ir::kind::reduction, field + " op", "is no reduction");
        require(s.level == level::row, field + " level", "a reduction has one value per row");
        return require(s.type == (s.code == ir::op::argmax ? dtype::i64 : type_of(0)),
                       field + " dtype", "its operand gives another one");
      case step_kind::deviations:
      case step_kind::exponentials: return check_second(n, body, s, field);
      case step_kind::spread:
        operands(1);
        require(s.level == level::full, field + " level", "it has a value per element");
        return require(s.type == type_of(0), field + " dtype", "its operand has another one");
      case step_kind::product:
        require(n.kind == nest_kind::matmul || n.kind == nest_kind::streamed, field,
                "the nest has no product");
        return operands(0);
    }
  }

  // Beside the sum that gives the mean, or the largest.
  void check_second(const nest& n, const std::vector<step>& body, const step& s,
                    const std::string& field) const {
    const bool of_rows = s.kind == step_kind::deviations && n.kind == nest_kind::tile;
    require(n.kind == nest_kind::column || (of_rows && n.inner_axes > 0), field,
            of_rows ? "is of rows, and there are none" : "is of column nests alone");
    require(s.operands.size() == 1, field + " operands", "another number of them");
    require(s.type == dtype::f32 || s.type == dtype::f64, field + " dtype", "is f32 or f64");
    require(s.type == body[at(s.operands[0])].type, field + " dtype",
            "its operand has another one");
    require(s.level == level::row, field + " level", "there is one value per row");
    require(std::ranges::any_of(body,
                                [&](const step& other) {
                                  return other.kind == step_kind::reduce &&
                                         other.code == first_of_pair(s.kind) &&
                                         other.operands == s.operands;
                                }),
            field,
            s.kind == step_kind::deviations ? "stands without the sum of its operand"
                                            : "stands without the max of its operand");
  }

  void check_map(const std::vector<step>& body, const step& s, const std::string& field) const {
    const auto type_of = [&](std::size_t k) { return body[at(s.operands[k])].type; };
    const auto compares = [](ir::op c) {
      return c == ir::op::less || c == ir::op::less_equal || c == ir::op::equal ||
             c == ir::op::not_equal;
    };
    if (s.fused != nullptr) {
      const ir::region& r = s.fused->structure;
      require(r.node_count >= 1 && r.leaf_count <= ir::region::max_leaves &&
                  r.node_count <= ir::region::max_nodes,
              field + " region", "has no such size");
      require(s.operands.size() == r.leaf_count, field + " operands", "one per leaf expected");
      for (int i = 0; i < r.node_count; ++i)
        for (int k = 0; k < 3; ++k) {
          require(r.operand(i, k) < r.leaf_count + i, field + " region",
                  "a node reads a later one");
          require(ir::is_elementwise(r.code(i)) && !ir::is_custom(r.code(i)), field + " region",
                  "has an op that is not element-wise");
        }
      for (std::size_t k = 0; k < s.operands.size(); ++k)
        require(type_of(k) == r.type, field + " operands", "their dtype is that of the region");
      const ir::op last = r.code(r.node_count - 1);
      const bool truth = compares(last) || last == ir::op::logical_not;
      return require(s.type == (truth ? dtype::boolean : r.type), field + " dtype",
                     "the region gives another one");
    }
    if (s.custom != nullptr) return check_custom_map(body, s, field);
    const ir::op_info& op = ir::info(s.code);
    require(op.kind == ir::kind::elementwise || s.code == ir::op::stop_gradient, field + " op",
            "is not element-wise");
    require(static_cast<int>(s.operands.size()) == op.arity, field + " operands",
            "another number of them");
    if (s.code == ir::op::cast) return;
    if (s.code == ir::op::bitcast)
      return require(size_of(s.type) == size_of(type_of(0)), field + " dtype", "has another size");
    const std::size_t first = s.code == ir::op::where ? 1 : 0;
    require(first == 0 || type_of(0) == dtype::boolean, field + " operands",
            "a condition is a bool");
    for (std::size_t k = first; k < s.operands.size(); ++k)
      require(type_of(k) == type_of(first), field + " operands", "their dtypes differ");
    require(s.type == (compares(s.code) ? dtype::boolean : type_of(first)), field + " dtype",
            "its operands give another one");
  }

  void check_custom_map(const std::vector<step>& body, const step& s,
                        const std::string& field) const {
    require(s.custom->elementwise && s.custom->element != nullptr, field + " op",
            "is not element-wise");
    require(static_cast<int>(s.operands.size()) == s.custom->arity, field + " operands",
            "another number of them");
    require(s.type == dtype::f32 || s.type == dtype::f64, field + " dtype",
            "custom ops compute in f32 and f64");
    for (int o : s.operands)
      require(body[at(o)].type == s.type, field + " operands", "their dtypes differ");
  }

  // ---- custom ops on arrays

  // Dtypes and shapes that the op itself takes, and the result that it says it gives.
  void check_custom(const nest& n) const {
    const ir::custom_op& custom = *n.custom;
    require(!custom.elementwise && custom.infer != nullptr, "custom op", "is element-wise");
    require(static_cast<int>(n.accesses.size()) == custom.arity, "accesses", "one per operand");
    require(n.custom_attributes.size() == custom.attributes.size(), "attributes",
            "another number of them");
    require(n.stores.size() == 1, "stores", "a custom op has one result");
    ir::graph operands;
    std::vector<int> in;
    for (std::size_t i = 0; i < n.accesses.size(); ++i) {
      ir::symbolic_shape shape;
      for (std::int64_t extent : evaluate(n.accesses[i].shape)) shape.push_back(ir::dim(extent));
      in.push_back(
          ir::argument(operands, buffer_at(n.accesses[i].buffer).type, static_cast<int>(i), shape)
              .id);
    }
    std::vector<std::int64_t> attributes{operands.custom_number(&custom)};
    for (double each : n.custom_attributes) attributes.push_back(ir::bits_of(each));
    const ir::inferred result = ir::infer(operands, ir::op::custom, in, attributes, {});
    if (result.problem.kind != ir::fault_kind::none)
      fail("custom op", std::string(custom.name) + ": " + ir::expectation(result.problem));
    const shape_vector space = evaluate(n.space);
    require(evaluate_shape(operands.dims, result.shape, {}) == space, "space",
            "is not what the op gives");
    require(evaluate(target(n).shape) == space, "store 0", "the buffer has another shape");
    require(target(n).type == result.type, "store 0 dtype", "the op gives another one");
    const std::size_t leading = custom_leading_axes(n);
    require(leading <= space.size() &&
                std::equal(space.begin(), space.begin() + static_cast<std::ptrdiff_t>(leading),
                           evaluate(n.accesses[0].shape).begin()),
            "space", "has other rows than the operands");
  }

  // ---- products

  struct matrix {
    shape_vector batch;
    std::int64_t rows = 0, columns = 0;
  };
  matrix matrix_of(const nest& n, std::size_t access, bool transposed) const {
    const shape_vector shape = evaluate(n.accesses[access].shape);
    const std::string field = "access " + std::to_string(access);
    require(shape.size() == n.space.size(), field, "has another rank than the product");
    const std::size_t rank = shape.size();
    const shape_vector space = evaluate(n.space);
    for (std::size_t axis = 0; axis + 2 < rank; ++axis)
      require(shape[axis] == 1 || shape[axis] == space[axis], field, "has other batches");
    return {shape_vector(shape.begin(), shape.end() - 2), shape[rank - (transposed ? 1 : 2)],
            shape[rank - (transposed ? 2 : 1)]};
  }
  void check_dtype(const nest& n, std::size_t access, dtype type) const {
    require(buffer_at(n.accesses[access].buffer).type == type, "access " + std::to_string(access),
            "its dtype is not that of the product");
  }

  // Rows and columns of several axes each, a batch axis of one; floats, which are packed.
  void check_gathered(const nest& n, std::size_t access) const {
    const std::string field = "access " + std::to_string(access);
    const planning::access& a = n.accesses[access];
    const dtype type = buffer_at(a.buffer).type;
    require(type == dtype::f32 || type == dtype::f64, field, "gathers what are no floats");
    require(
        !joined_axes(evaluate(a.shape), evaluate(a.steps[0].operand), a.shape.size() - 2).empty(),
        field, "does not join neighbouring axes");
    require(
        std::ranges::none_of(
            n.body, [](const step& s) { return s.kind == step_kind::product && s.access >= 0; }),
        field, "is gathered for two products");
  }

  // Filters, and windows that are gathered.
  void check_winograd(const nest& n) const {
    require(is_gathered(n, 1) && !n.transpose_b, "winograd", "its right side is not gathered");
    require(!is_gathered(n, 0) && !n.transpose_a && n.inner_axes == 0, "winograd",
            "filters are a matrix, and rows whole in no block");
    const access windows = *gathered(n.accesses[1]);
    const std::size_t batch_axes = n.space.size() - 2;
    require(has_image_windows(windows.shape, windows.steps, batch_axes), "winograd",
            "its right side are not windows of 3x3 at every place");
    const access& filters = n.accesses[0];
    const shape_vector left = evaluate(filters.shape);
    bool one = repeats(filters.shape, filters.steps, batch_axes);
    if (!one)
      one = std::all_of(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(batch_axes),
                        [](std::int64_t extent) { return extent == 1; });
    require(one, "winograd", "its filters differ from image to image");
  }

  void check_product(const nest& n) const {
    require(n.space.size() >= 2 && n.accesses.size() >= 2, "space", "a product has two axes");
    require(n.inner_axes >= 0 && n.inner_axes <= 1, "inner axes",
            "the rows of a product are its last axis");
    require(n.axis_order.empty(), "order", "a product has none");
    const shape_vector space = evaluate(n.space);
    const std::size_t rank = space.size();
    const matrix left = matrix_of(n, 0, n.transpose_a);
    require(left.rows == space[rank - 2], "access 0", "has other rows than the product");
    for (const std::size_t operand : {std::size_t{0}, std::size_t{1}})
      if (is_gathered(n, operand)) check_gathered(n, operand);
    if (n.winograd) check_winograd(n);
    int products = 0;
    for (const step& s : n.body) {
      if (s.kind != step_kind::product) continue;
      require(++products <= 2 && (products == 1) == (s.access < 0), "body",
              "a product, and perhaps a second one of another operand");
      require(s.access < static_cast<int>(n.accesses.size()), "body", "an operand is missing");
      const std::size_t right = s.access < 0 ? 1 : at(s.access);
      check_dtype(n, 0, s.type);
      check_dtype(n, right, s.type);
      const std::string field = "access " + std::to_string(right);
      if (n.packed_b) {
        require(count(buffer_at(n.accesses[right].buffer).shape) ==
                    packed_width(space.back()) * left.columns,
                field, "the packed operand does not fit");
        continue;
      }
      const matrix b = matrix_of(n, right, s.access < 0 ? n.transpose_b : s.attribute != 0);
      require(b.rows == left.columns && b.columns == space.back(), field,
              "does not fit to the left side");
    }
    require(products >= 1, "body", "there is no product");
    check_body(n, n.body, space);
    check_stores(n);
  }

  void check_parts(const nest& n) const {
    std::vector<int> read, written;
    for (const nest& part : n.parts) {
      require(part.kind == nest_kind::matmul, "part", "is no product");
      require(!part.winograd, "part", "a group packs its left side");
      check_buffers(part);
      check_product(part);
      require(part.accesses[0] == n.parts[0].accesses[0] &&
                  part.space.size() == n.parts[0].space.size() &&
                  std::equal(part.space.begin(), part.space.end() - 1, n.parts[0].space.begin()),
              "part", "has another left side");
      for (const access& a : part.accesses) read.push_back(a.buffer);
      for (const store& s : part.stores) written.push_back(s.buffer);
    }
    for (int b : read)
      require(std::ranges::any_of(n.accesses, [&](const access& a) { return a.buffer == b; }),
              "accesses", "do not list what a part reads");
    for (int b : written)
      require(std::ranges::any_of(n.stores, [&](const store& s) { return s.buffer == b; }),
              "stores", "do not list what a part writes");
    for (const store& s : n.stores)
      require(std::ranges::count(written, s.buffer) == 1, "stores", "no part, or two, write it");
  }

  void check_streamed(const nest& n) const {
    require(n.space.size() >= 2 && n.accesses.size() >= 3, "space", "a product has two axes");
    require(n.stores.size() == 1 && n.inner_axes == 0, "stores", "a streamed nest has one");
    const shape_vector space = evaluate(n.space);
    const std::size_t rank = space.size();
    const matrix a = matrix_of(n, 0, n.transpose_a), b = matrix_of(n, 1, n.transpose_b),
                 values = matrix_of(n, 2, n.transpose_values);
    require(a.rows == space[rank - 2], "access 0", "has other rows than the scores");
    require(b.columns == space[rank - 1] && b.rows == a.columns, "access 1",
            "does not fit to the left side");
    require(values.rows == space[rank - 1], "access 2", "has other rows than scores columns");
    require(n.score_scale > 0, "scale", "is not positive");
    const auto products = std::ranges::count_if(
        n.body, [](const step& s) { return s.kind == step_kind::product && s.access < 0; });
    require(products == 1, "body", "a streamed nest has one product");
    check_body(n, n.body, space);
    const dtype type = n.body[at(n.stores[0].step)].type;
    check_dtype(n, 2, type);
    require(target(n).type == type, "store 0 dtype", "the scores have another one");
    require(count(target(n).shape) == (space.back() == 0 ? element_count(space)
                                                         : element_count(space) / space.back()) *
                                          values.columns ||
                space.back() == 0,
            "store 0", "the buffer has another number of elements");
    for (std::size_t operand = 0; operand < 2; ++operand)
      if (!n.prologues[operand].empty())
        check_operand(n, operand);
      else
        check_dtype(n, operand, type);
  }

  // Parts side by side, which fill the columns of the operand.
  void check_operand(const nest& n, std::size_t operand) const {
    const shape_vector shape = evaluate(n.accesses[operand].shape);
    std::int64_t next = 0;
    for (const operand_part& part : n.prologues[operand]) {
      const std::string field = "operand " + std::to_string(operand);
      const shape_vector space = evaluate(part.space);
      require(space.size() == shape.size() && !part.body.empty() &&
                  std::equal(space.begin(), space.end() - 1, shape.begin()),
              field + " space", "is not that of the operand");
      require(evaluate(part.offset) == next, field + " offset", "leaves a gap, or overlaps");
      next += space.back();
      check_body(n, part.body, space);
    }
    require(next == shape.back(), "operand " + std::to_string(operand) + " space",
            "does not fill the operand");
  }

  void check_pack(const nest& n) const {
    require(n.space.size() == 2 && n.accesses.size() == 1 && n.accesses[0].shape.size() >= 2,
            "space", "what is packed is a matrix");
    const shape_vector space = evaluate(n.space), shape = evaluate(n.accesses[0].shape);
    const std::size_t rank = shape.size();
    require(shape[rank - (n.transpose_b ? 1 : 2)] == space[0] &&
                shape[rank - (n.transpose_b ? 2 : 1)] == space[1],
            "access 0", "is another matrix");
    require(count(target(n).shape) == packed_width(space[1]) * space[0], "store 0",
            "the buffer does not fit");
    require(buffer_at(n.accesses[0].buffer).type == target(n).type, "store 0 dtype",
            "the matrix has another one");
  }
};

}  // namespace sinter::inline SINTER_ABI::planning::detail
