// SPDX-License-Identifier: MIT
// What is the same in every call: frozen arguments, and the extents that they fix. A value is fixed
// if it depends on nothing else, neither by its operands nor by its shape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sinter/graph/graph.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

class fixed_inputs {
 public:
  fixed_inputs() = default;

  // frozen[number]: is the argument frozen? An extent of a frozen argument that is a symbol fixes
  // the symbol, which may be an extent of other arguments as well.
  fixed_inputs(const graph& bound, std::vector<bool> frozen) : arguments_(std::move(frozen)) {
    for (int id = 0; id < bound.size(); ++id) {
      if (bound[id].code != op::argument || !is_frozen(bound.attributes(id)[1])) continue;
      any_ = true;
      for (dim d : bound[id].shape) {
        if (d.is_constant() || bound.dims.kind(d) != dim_kind::symbol) continue;
        const auto symbol = static_cast<std::size_t>(bound.dims.operands(d)[0]);
        if (symbols_.size() <= symbol) symbols_.resize(symbol + 1, false);
        symbols_[symbol] = true;
        if (bound.dims.evaluate(d, bound.symbol_values) != 0 && !is_never_zero(d))
          never_zero_.push_back(d);
      }
    }
  }

  // What makes frozen arguments with and without elements different classes of shapes, where the
  // ranges of symbols do not exclude one of the two.
  std::vector<guard> guards(const dim_table& dims) const {
    std::vector<guard> out;
    for (dim d : never_zero_)
      if (dims.range(d).holds(0)) out.push_back({guard::fact::differ, d, dim(0)});
    return out;
  }
  // Is this an extent of a frozen argument, and not 0 where the guards hold?
  bool is_never_zero(dim d) const { return std::ranges::find(never_zero_, d) != never_zero_.end(); }

  // Without a frozen argument nothing is fixed, constants neither.
  bool any() const { return any_; }

  bool is_frozen(std::int64_t argument) const {
    const auto number = static_cast<std::size_t>(argument);
    return number < arguments_.size() && arguments_[number];
  }

  bool is_fixed(const dim_table& dims, dim d) const {
    if (d.is_constant()) return true;
    const span<const std::int64_t> operands = dims.operands(d);
    switch (dims.kind(d)) {
      case dim_kind::symbol: {
        const auto symbol = static_cast<std::size_t>(operands[0]);
        return symbol < symbols_.size() && symbols_[symbol];
      }
      case dim_kind::sum:  // coefficients and monomials by turns
        for (std::size_t i = 1; i < operands.size(); i += 2)
          if (!is_fixed(dims, dim::from_code(operands[i]))) return false;
        return true;
      case dim_kind::product:
      case dim_kind::floor_div:
      case dim_kind::mod:
      case dim_kind::broadcast: return are_fixed(dims, operands);
    }
    return false;
  }

  template <class Dims>
  bool all_fixed(const dim_table& dims, const Dims& extents) const {
    for (dim d : extents)
      if (!is_fixed(dims, d)) return false;
    return true;
  }

 private:
  bool are_fixed(const dim_table& dims, span<const std::int64_t> codes) const {
    for (std::int64_t code : codes)
      if (!is_fixed(dims, dim::from_code(code))) return false;
    return true;
  }

  std::vector<bool> arguments_, symbols_;
  std::vector<dim> never_zero_;
  bool any_ = false;
};

}  // namespace sinter::inline SINTER_ABI::ir
