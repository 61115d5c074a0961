// SPDX-License-Identifier: MIT
// Binding a traced graph to a class of shapes. A class says which dynamic extents are one; within
// it broadcasting is decided, so broadcast_to and sum_to turn into what they mean, and extents that
// must agree become one symbol. What had to be assumed about the extents becomes a list of guards:
// a graph bound once is right wherever its guards hold. A symbol that was declared with a range of
// one and more is in no class of its own for being one, unless broadcasting depends on it.
#pragma once

#include <numeric>
#include <vector>

#include <sinter/graph/build.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// Appends node `id` of another graph, whose inputs are already here as `in` and whose dims read as
/// `translate` says, and returns its number. Throws what `append` throws if it does not fit here.
template <class Translate>
constexpr int replay(graph& to, const graph& from, int id, span<const int> in,
                     Translate translate) {
  inline_vector<dim, 2 * max_rank> dims;
  for (dim d : from.node_dims(id)) dims.push_back(translate(d));
  const symbolic_shape shape =
      dims.size() <= max_rank ? symbolic_shape(dims.begin(), dims.end()) : symbolic_shape{};
  switch (from[id].code) {
    case op::reshape: return reshape({&to, in[0]}, shape).id;
    case op::broadcast_to:
      // An impossible one stays out: the op that asked for it reports it (see
      // report_failed_broadcast).
      return can_broadcast(to, to[in[0]].shape, shape) ? broadcast_to({&to, in[0]}, shape).id
                                                       : in[0];
    case op::sum_to: return sum_to({&to, in[0]}, shape).id;
    case op::windows:
      return windows({&to, in[0]}, static_cast<int>(from.attributes(id)[0]), dims[0],
                     from.attributes(id)[1], from.attributes(id)[2])
          .id;
    case op::extent: return extent_scalar(to, from[id].type, dims[0]).id;
    default: {
      inline_vector<std::int64_t, 2 * max_rank> attributes;
      for (std::int64_t a : from.attributes(id)) attributes.push_back(a);
      return append(to, from[id].code, in, attributes, dims);
    }
  }
}

/// Reads the values of the symbols in the declared shape of argument `number` off the shape given;
/// values of symbols that are not known yet are -1. Throws shape_error, naming the argument, if
/// rank or a static extent differs, if an extent leaves the range of its symbol, or if the symbol
/// has another value already.
inline void match_extents(const graph& g, std::int64_t number, const symbolic_shape& declared,
                          const shape_vector& given, std::vector<std::int64_t>& values) {
  bool fits = given.size() == declared.size();
  for (std::size_t axis = 0; fits && axis < given.size(); ++axis) {
    const dim d = declared[axis];
    if (d.is_constant()) {
      fits = d.constant() == given[axis];
      continue;
    }
    const std::int64_t symbol = g.dims.operands(d)[0];
    if (values.size() <= static_cast<std::size_t>(symbol))
      values.resize(static_cast<std::size_t>(symbol) + 1, -1);
    std::int64_t& value = values[static_cast<std::size_t>(symbol)];
    const auto reject = [&](const std::string& expected) {
      raise(shape_error(g.argument_text(number) + ": extent " + std::to_string(given[axis]) +
                        " of axis " + std::to_string(axis) + " where " +
                        g.dims.symbol_name(symbol) + " is " + expected));
    };
    if (const extent_range range = g.dims.symbol_range(symbol); !range.holds(given[axis]))
      reject("in " + to_string(range));
    if (value >= 0 && value != given[axis]) reject(std::to_string(value));
    value = given[axis];
  }
  if (!fits)
    raise(shape_error(g.argument_text(number) + ": shape " + to_string(given) + " where " +
                      g.dims.to_string(declared) + " is expected"));
}

/// The values of the symbols that the arguments of a graph introduce, for given argument shapes:
/// arguments[i] is the shape of argument number i. Throws shape_error as match_extents.
inline std::vector<std::int64_t> symbol_values(const graph& g, span<const shape_vector> arguments) {
  std::vector<std::int64_t> values;
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != op::argument) continue;
    const std::int64_t number = g.attributes(id)[1];
    match_extents(g, number, g[id].shape, arguments[static_cast<std::size_t>(number)], values);
  }
  return values;
}

namespace detail {

// An extent that was left to broadcasting is, in a bound graph, the one operand's that is not 1 (or
// any that agree; where all are 1, one that is so in the whole class only if there is no other).
// Broadcasting the operands to it asks what that takes for granted.
inline dim settled(const graph& g, dim d) {
  if (d.is_constant() || g.dims.kind(d) != dim_kind::broadcast) return d;
  dim found(1);
  bool is_one = true;
  for (std::int64_t code : g.dims.operands(d)) {
    const dim atom = dim::from_code(code);
    const bool also_one = g.dims.evaluate(atom, g.symbol_values) == 1;
    const bool better = found == dim(1) && g.dims.is_open(atom);
    if (also_one ? is_one && better : is_one || atom.is_constant()) found = atom;
    is_one = is_one && also_one;
  }
  return found;
}

// Tracing wrote the broadcasts of an element-wise op as nodes of their own. If one of them turns
// out impossible, the error should name what the user wrote: the op, and its operands before
// broadcasting. An output, or the operand of any other op, is a broadcast_to that the user wrote.
inline void report_failed_broadcast(graph& out, const graph& traced, op user,
                                    span<const int> inputs, span<const int> moved,
                                    span<const dim> replacement, std::string_view custom = {}) {
  const op code = is_elementwise(user) || user == op::matmul ? user : op::broadcast_to;
  fault problem;
  std::vector<int> operands;
  for (int i : inputs) {
    int source = i;
    if (traced[source].code == op::broadcast_to) source = traced.input(source, 0);
    const symbolic_shape from = out[moved[static_cast<std::size_t>(source)]].shape;
    for (std::size_t axis = 0; axis < from.size() && source != i; ++axis) {
      const dim to =
          settled(out, out.dims.substitute(traced.dims, traced.node_dims(i)[axis], replacement));
      if (!out.meets(from[axis], to))
        problem = {fault_kind::extents_disagree, code,
                   out.dims.evaluate(from[axis], out.symbol_values),
                   out.dims.evaluate(to, out.symbol_values)};
    }
    const int bare = traced[source].code == op::reshape ? traced.input(source, 0) : source;
    operands.push_back(moved[static_cast<std::size_t>(bare)]);
  }
  problem.custom = custom;
  if (problem.kind != fault_kind::none) throw_fault(problem, out.operand_text(operands));
}

// What a number is a multiple of for all symbols: 9 of 9 s0.
inline std::int64_t constant_factor(const dim_table& dims, dim d) {
  if (d.is_constant()) return d.constant();
  if (dims.kind(d) != dim_kind::sum) return 1;
  std::int64_t out = 0;
  const span<const std::int64_t> terms = dims.operands(d);
  for (std::size_t i = 0; i < terms.size(); i += 2) out = std::gcd(out, terms[i]);
  return out;
}

// 9 a == 9 b says that a == b, of which one may be a symbol: the channels of a convolution's image
// and weights meet in the depth of a product.
inline guard without_common_factor(dim_table& dims, const guard& g) {
  const std::int64_t factor = std::gcd(constant_factor(dims, g.a), constant_factor(dims, g.b));
  if (g.holds != guard::fact::equal || factor <= 1) return g;
  return {g.holds, dims.floor_div(g.a, dim(factor)), dims.floor_div(g.b, dim(factor))};
}

inline graph replay_all(const graph& traced, span<const dim> symbols,
                        span<const std::int64_t> values) {
  graph out;
  out.dims.describe_as(traced.dims);
  out.customs = traced.customs;
  out.symbol_values.assign(values.begin(), values.end());
  if (values.empty())
    out.symbol_values.push_back(0);  // a bound graph without symbols is still bound
  // Symbols are interned in order so that symbol number i has the same handle in every binding.
  std::vector<dim> replacement;
  for (std::size_t i = 0; i < values.size(); ++i) out.dims.symbol(static_cast<std::int64_t>(i));
  for (dim d : symbols) replacement.push_back(d);
  std::vector<int> moved(static_cast<std::size_t>(traced.size()));
  std::vector<int> in;
  for (int id = 0; id < traced.size(); ++id) {
    in.clear();
    for (int i : traced.inputs(id)) in.push_back(moved[static_cast<std::size_t>(i)]);
    report_failed_broadcast(out, traced, traced[id].code, traced.inputs(id), moved, replacement,
                            is_custom(traced[id].code) ? op_name(traced, id) : std::string_view{});
    moved[static_cast<std::size_t>(id)] = replay(out, traced, id, in, [&](dim d) {
      return settled(out, out.dims.substitute(traced.dims, d, replacement));
    });
  }
  for (const output& o : traced.outputs)
    report_failed_broadcast(out, traced, op::broadcast_to, span<const int>(&o.node, 1), moved,
                            replacement);
  for (output o : traced.outputs)
    out.outputs.push_back({moved[static_cast<std::size_t>(o.node)], o.assigned_argument});
  out.random_streams = traced.random_streams;
  return out;
}

}  // namespace detail

/// Binds `traced` (gradients expanded) to the class of these argument shapes. `guards` of the
/// result are over symbols numbered as in `traced`. Throws shape_error, naming op and shapes, where
/// the shapes do not fit together. At most one pass over the nodes per symbol, and one more.
inline graph bind(const graph& traced, span<const shape_vector> arguments) {
  const std::vector<std::int64_t> values = symbol_values(traced, arguments);
  dim_table scratch;
  std::vector<dim> symbols;
  std::vector<guard> facts;
  scratch.describe_as(traced.dims);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const dim s = scratch.symbol(static_cast<std::int64_t>(i));
    const bool open = scratch.is_open(s);
    symbols.push_back(values[i] == 1 && !open ? dim(1) : s);
    // What a range says needs no guard.
    const extent_range range = scratch.symbol_range(static_cast<std::int64_t>(i));
    if (!open && range.holds(1) && range.low != range.high)
      facts.push_back({values[i] == 1 ? guard::fact::equal : guard::fact::differ, s, dim(1)});
  }

  // Every pass may find extents that must agree; a symbol that equals something else is replaced by
  // it, and the graph bound again. A pass removes at least one symbol, so there are at most as many
  // passes as symbols.
  for (;;) {
    graph out = detail::replay_all(traced, symbols, values);
    bool changed = false;
    for (std::size_t i = 0; i < out.guards.size(); ++i) {
      const guard g = detail::without_common_factor(out.dims, out.guards[i]);
      if (g.holds != guard::fact::equal) continue;
      const auto is_symbol = [&](dim d) {
        return !d.is_constant() && out.dims.kind(d) == dim_kind::symbol;
      };
      // What several extents broadcast to equals each symbol among them: in a bound graph no symbol
      // is one.
      const auto equal_symbol = [&](dim d, dim other) {
        if (d.is_constant() || out.dims.kind(d) != dim_kind::broadcast) return d;
        for (std::int64_t atom : out.dims.operands(d)) {
          const dim s = dim::from_code(atom);
          if (is_symbol(s) && s != other &&
              out.dims.evaluate(s, values) == out.dims.evaluate(other, values))
            return s;
        }
        return d;
      };
      dim from = equal_symbol(g.a, g.b), to = equal_symbol(g.b, g.a);
      if (is_symbol(from) && is_symbol(to) && from.index() < to.index()) std::swap(from, to);
      if (!is_symbol(from)) std::swap(from, to);
      // Replacing a symbol by an expression could go round in a circle; a symbol or constant
      // cannot.
      if (!is_symbol(from) || !(to.is_constant() || is_symbol(to)) || from == to) continue;
      for (dim& s : symbols)
        if (s == from) s = to;
      facts.push_back({guard::fact::equal, from, to});
      changed = true;
      break;
    }
    if (changed) continue;
    for (const guard& g : out.guards) facts.push_back(g);
    out.guards = std::move(facts);
    return out;
  }
}

/// Do the guards of a bound graph hold for other values of its symbols? Then it is right for them.
inline bool holds(const graph& bound, span<const std::int64_t> values) {
  for (const guard& g : bound.guards) {
    const std::int64_t a = bound.dims.evaluate(g.a, values), b = bound.dims.evaluate(g.b, values);
    const bool fits = g.holds == guard::fact::equal    ? a == b
                      : g.holds == guard::fact::differ ? a != b
                                                       : a <= b;
    if (!fits) return false;
  }
  return true;
}

}  // namespace sinter::inline SINTER_ABI::ir
