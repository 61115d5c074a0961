// SPDX-License-Identifier: MIT
// Graphs from text, in the form that print.hpp writes: one line per symbol, node and output; `#`
// begins a comment. The text is checked like any other writer of graphs: by inference, node by
// node, and by the verifier.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sinter/graph/infer.hpp>
#include <sinter/graph/text_reader.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

class graph_parser {
 public:
  graph_parser(std::string_view text, span<const custom_op* const> customs, bool bound = false)
      : text_(text), in_(text, g_.dims), customs_(customs), bound_(bound) {}

  graph run() {
    while (!in_.at_end()) {
      if (!in_.at_end_of_line()) read_line();
      in_.end_line();
    }
    if (bound_) {
      if (g_.symbol_values.empty()) bind_symbols();
      g_.guards = guards_;
    }
    verify(g_);
    return std::move(g_);
  }

 private:
  static constexpr std::size_t input_limit = 4096;
  static constexpr std::int64_t argument_limit = 1'000'000;

  // What a line says about a node; `shape` and `type` follow the attributes in the text.
  struct parsed_node {
    op code{};
    std::vector<int> inputs;
    std::vector<std::int64_t> attributes;
    std::vector<dim> dims;
    const custom_op* custom = nullptr;
    // Attributes that the type completes: where the dtype goes, and whether the shape is the dims.
    bool takes_dtype = false, takes_shape = false;
  };

  void read_line() {
    const std::size_t start = in_.place();
    if (in_.accept("%")) return read_node(start);
    const std::string_view what = in_.word();
    if (what == "symbol") return read_symbol();
    if (what == "output") return read_output();
    if (bound_ && what == "bound") return read_bound(start);
    if (bound_ && what == "guard") return read_guard(start);
    if (what == "bound" || what == "guard")
      in_.fail_at(start, "a graph that is bound to a class of shapes cannot be read");
    in_.fail_at(start, "expected a node, symbol or output");
  }

  // symbol 0: batch in 1..4096
  void read_symbol() {
    const std::size_t start = in_.place();
    // Answers about a symbol do not change, so what is known of it comes first.
    if (g_.size() > 0) in_.fail_at(start, "symbols come before nodes");
    const std::int64_t number = in_.integer(0, static_cast<std::int64_t>(expression_limit) - 1);
    in_.expect(":");
    const std::size_t name_place = in_.place();
    std::string name(in_.word());
    if (is_unnamed_symbol(name)) {
      if (name != "s" + std::to_string(number))
        in_.fail_at(name_place, "a name of this form belongs to another symbol");
      name.clear();
    } else if (!is_symbol_name(name) || g_.dims.find_symbol(name) >= 0) {
      in_.fail_at(name_place, "the name is taken");
    }
    if (!in_.accept_word("in")) in_.fail("expected 'in'");
    extent_range range;
    range.low = in_.integer(0, extent_range::highest);
    in_.expect("..");
    if (!in_.at_end_of_line()) range.high = in_.integer(range.low, extent_range::highest);
    const auto& known = g_.dims.described();
    if (static_cast<std::size_t>(number) < known.size() &&
        !(known[static_cast<std::size_t>(number)] == symbol_facts{}))
      in_.fail_at(start, "symbol " + std::to_string(number) + " is there twice");
    g_.dims.describe(number, {std::move(name), range});
  }

  // Inference asks for the extents at hand, which are behind the nodes: all "bound:" lines, read as
  // soon as the symbols have their names.
  void bind_symbols() {
    std::vector<std::pair<std::int64_t, std::int64_t>> known;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      if (text_.substr(at, end - at).starts_with("bound:")) {
        const std::size_t back = in_.place();
        in_.go_to(at + 6);
        const std::size_t place = in_.place();
        const dim symbol = in_.extent();
        if (symbol.is_constant() || g_.dims.kind(symbol) != dim_kind::symbol)
          in_.fail_at(place, "expected a symbol");
        const std::int64_t number = g_.dims.operands(symbol)[0];
        if (!known.empty() && number <= known.back().first)
          in_.fail_at(place, "symbols come in their order");
        in_.expect("=");
        known.emplace_back(number, in_.integer(0, number_limit));
        in_.go_to(back);
      }
      at = end + 1;
    }
    std::int64_t count = 1;
    for (const auto& [number, value] : known) count = std::max(count, number + 1);
    g_.symbol_values.assign(static_cast<std::size_t>(count), 1);
    if (known.empty()) g_.symbol_values[0] = 0;
    for (const auto& [number, value] : known)
      g_.symbol_values[static_cast<std::size_t>(number)] = value;
  }

  // bound: s0 = 32
  void read_bound(std::size_t start) {
    in_.expect(":");
    const dim symbol = in_.extent();
    in_.expect("=");
    if (g_.symbol_values.empty()) bind_symbols();
    if (g_.dims.evaluate(symbol, g_.symbol_values) != in_.integer(0, number_limit))
      in_.fail_at(start, "the symbol has another extent already");
  }

  // guard: s0 <= s1
  void read_guard(std::size_t start) {
    in_.expect(":");
    if (g_.symbol_values.empty()) bind_symbols();
    guard out;
    out.a = known_extent();
    out.holds = in_.relation();
    out.b = known_extent();
    const std::int64_t a = g_.dims.evaluate(out.a, g_.symbol_values),
                       b = g_.dims.evaluate(out.b, g_.symbol_values);
    if (out.holds == guard::fact::equal    ? a != b
        : out.holds == guard::fact::differ ? a == b
                                           : a > b)
      in_.fail_at(start, "the guard does not hold");
    for (const guard& each : guards_)
      if (each.holds == out.holds && each.a == out.a && each.b == out.b)
        in_.fail_at(start, "the guard is there twice");
    guards_.push_back(out);
  }
  dim known_extent() {
    const std::size_t start = in_.place();
    const dim out = in_.extent();
    require_known_symbols(start);
    return out;
  }
  // Before any extent is computed: a text may name symbols that no "bound:" line does.
  void require_known_symbols(std::size_t start) {
    for (std::size_t i = 0; i < g_.dims.size(); ++i)
      if (const dim d = dim::expression(i); g_.dims.kind(d) == dim_kind::symbol)
        if (static_cast<std::size_t>(g_.dims.operands(d)[0]) >= g_.symbol_values.size())
          in_.fail_at(start, "a symbol has no extent");
  }

  // output: %5 -> argument 1
  void read_output() {
    in_.expect(":");
    output out;
    in_.expect("%");
    out.node = node_number();
    if (in_.accept("->")) {
      if (!in_.accept_word("argument")) in_.fail("expected 'argument'");
      out.assigned_argument = static_cast<int>(in_.integer(0, argument_limit));
    }
    g_.outputs.push_back(out);
  }

  int node_number() {
    const std::size_t start = in_.place();
    const std::int64_t number = in_.integer(0, std::numeric_limits<std::int64_t>::max());
    const auto known = nodes_.find(number);
    if (known == nodes_.end())
      in_.fail_at(start, "there is no node %" + std::to_string(number) + " before this line");
    return known->second;
  }

  // %5 = reduce_sum(%3) {axes: [1]} : f32[s0, 1]
  void read_node(std::size_t start) {
    if (bound_ && g_.symbol_values.empty()) bind_symbols();
    const std::int64_t number = in_.integer(0, std::numeric_limits<std::int64_t>::max());
    if (nodes_.contains(number))
      in_.fail_at(start, "there is a node %" + std::to_string(number) + " already");
    in_.expect("=");
    parsed_node n;
    n.code = read_op(n);
    if (in_.accept("(")) {
      do {
        in_.expect("%");
        n.inputs.push_back(node_number());
        if (n.inputs.size() > input_limit) in_.fail("too many operands");
      } while (in_.accept(","));
      in_.expect(")");
    }
    if (is_custom(n.code)) check_custom(n, start);
    if (n.code == op::jvp && (n.inputs.size() < 3 || n.inputs.size() % 2 == 0))
      in_.fail_at(start, "jvp has a value, then pairs of a node and its tangent");
    const int arity = info(n.code).arity;
    if (arity >= 0 ? n.inputs.size() != static_cast<std::size_t>(arity) : n.inputs.empty())
      in_.fail_at(start, std::string(name(n.code)) + " has " + std::to_string(n.inputs.size()) +
                             " operands, expected " +
                             (arity >= 0 ? std::to_string(arity) : "one or more"));
    has_braces_ = in_.accept("{");
    first_attribute_ = true;
    in_attribute_ = false;
    const dtype type = read_attributes(n);
    const symbolic_shape shape = in_.shape();
    if (bound_) require_known_symbols(start);
    nodes_[number] = add(n, type, shape, start);
  }

  op read_op(parsed_node& n) {
    const std::size_t place = in_.place();
    const std::string_view word = in_.word();
    for (const op_info& each : op_table)
      if (each.name == word && !is_custom(each.code)) return each.code;
    for (const custom_op* each : customs_)
      if (each->name == word) {
        n.custom = each;
        return each->elementwise ? op::custom_map : op::custom;
      }
    in_.fail_at(place, "there is no op '" + std::string(word) +
                           "' (custom ops must be given to the parser)");
  }

  void check_custom(const parsed_node& n, std::size_t start) {
    if (n.inputs.size() != static_cast<std::size_t>(n.custom->arity))
      in_.fail_at(start, std::string(n.custom->name) + " has " + std::to_string(n.inputs.size()) +
                             " operands, expected " + std::to_string(n.custom->arity));
  }

  void read_custom(parsed_node& n) {
    n.attributes = {g_.custom_number(n.custom)};
    for (std::string_view each : n.custom->attributes) {
      valued(each);
      n.attributes.push_back(bits_of(in_.number(dtype::f64)));
    }
  }

  int add(parsed_node& n, dtype type, const symbolic_shape& shape, std::size_t start) {
    if (n.takes_dtype) n.attributes.insert(n.attributes.begin(), static_cast<std::int64_t>(type));
    if (n.takes_shape) n.dims.assign(shape.begin(), shape.end());
    if (n.code == op::argument && n.attributes[2] != 0 && !shape.empty())
      in_.fail_at(type_place_, "a weak argument is a scalar");
    const int id =
        attempt<error>([&] { return append(g_, n.code, n.inputs, n.attributes, n.dims); },
                       [&](const error& e) -> int { in_.fail_at(start, e.what()); });
    in_.check_size(g_[id].shape, start);
    if (g_[id].type != type || !(g_[id].shape == shape))
      in_.fail_at(type_place_, std::string(name(n.code)) + " is " +
                                   std::string(sinter::name(g_[id].type)) +
                                   g_.dims.to_string(g_[id].shape) + " here");
    return id;
  }

  // ---- attributes, in the order in which they are printed

  // Is there another one? Reads the comma before it.
  bool begin_attribute() {
    if (!has_braces_) return false;
    if (first_attribute_ || in_attribute_) return true;
    return in_attribute_ = in_.accept(",");
  }
  // The next one if it has this name; for one that may be missing.
  bool accept_attribute(std::string_view wanted) {
    if (!begin_attribute() || !in_.accept_word(wanted)) return false;
    first_attribute_ = in_attribute_ = false;
    return true;
  }
  void attribute(std::string_view wanted) {
    if (!accept_attribute(wanted)) in_.fail("expected the attribute '" + std::string(wanted) + "'");
  }
  void valued(std::string_view wanted) {
    attribute(wanted);
    in_.expect(":");
  }

  // Up to and with the dtype, on which some attributes depend.
  dtype read_attributes(parsed_node& n) {
    const std::size_t rank = n.inputs.empty() ? 0 : g_[n.inputs[0]].shape.size();
    switch (n.code) {
      case op::argument: read_argument(n); break;
      case op::constant: return read_constant(n);
      case op::extent:
        valued("of");
        n.dims = {in_.extent()};
        n.takes_dtype = true;
        break;
      case op::iota:
        read_axis(n, "axis");
        n.takes_dtype = n.takes_shape = true;
        break;
      case op::random_uniform:
        valued("stream");
        n.attributes = {in_.integer(0, std::numeric_limits<int>::max() - 1)};
        g_.random_streams = std::max(g_.random_streams, static_cast<int>(n.attributes[0]) + 1);
        n.takes_dtype = n.takes_shape = true;
        break;
      case op::cast:
      case op::bitcast: n.takes_dtype = true; break;
      case op::reduce_sum:
      case op::reduce_max:
      case op::reduce_min:
      case op::reduce_prod:
      case op::argmax:
      case op::softmax:
      case op::log_softmax:
      case op::first_max:
      case op::flip: read_axes(n); break;
      case op::layer_norm:
      case op::rms_norm:
        read_axes(n);
        valued("eps");
        n.attributes.push_back(bits_of(in_.number(dtype::f64)));
        break;
      case op::rope: read_rope(n); break;
      case op::windows: read_windows(n, "size"); break;
      case op::sum_windows: read_windows(n, "extent"); break;
      case op::reshape:
      case op::broadcast_to:
      case op::sum_to: n.takes_shape = true; break;
      case op::permute:
        valued("axes");
        in_.list("[", "]", [&] {
          if (n.attributes.size() == rank) in_.fail("more axes than the operand has");
          n.attributes.push_back(in_.integer(0, max_rank - 1));
        });
        break;
      case op::pad: read_pad(n, rank); break;
      case op::slice: read_slice(n, rank); break;
      case op::custom_map:
      case op::custom: read_custom(n); break;
      case op::recompute:
        valued("number");
        n.attributes = {in_.integer(0, std::numeric_limits<std::int64_t>::max())};
        break;
      case op::concat:
      case op::gather: read_axis(n, "axis"); break;
      case op::scatter_add:
        read_axis(n, "axis");
        n.takes_shape = true;
        break;
      case op::cumsum:
        read_axis(n, "axis");
        n.attributes.push_back(accept_attribute("exclusive") ? 1 : 0);
        n.attributes.push_back(accept_attribute("reverse") ? 1 : 0);
        break;
      case op::matmul:
        n.attributes.push_back(accept_attribute("transpose_a") ? 1 : 0);
        n.attributes.push_back(accept_attribute("transpose_b") ? 1 : 0);
        break;
      default: break;  // element-wise ops, cross_entropy and control ops have none
    }
    return read_type();
  }

  dtype read_type() {
    if (in_attribute_) in_.fail("there is no such attribute here");
    if (has_braces_) in_.expect("}");
    in_.expect(":");
    type_place_ = in_.place();
    const std::string_view word = in_.word();
    for (int i = 0; i < dtype_count; ++i)
      if (sinter::name(static_cast<dtype>(i)) == word) return static_cast<dtype>(i);
    in_.fail_at(type_place_, "there is no dtype '" + std::string(word) + "'");
  }

  void read_argument(parsed_node& n) {
    valued("number");
    const std::size_t start = in_.place();
    const std::int64_t number = in_.integer(0, argument_limit);
    if (!arguments_.insert(number).second)
      in_.fail_at(start, "there is an argument " + std::to_string(number) + " already");
    if (accept_attribute("name")) {
      in_.expect(":");
      const std::size_t place = in_.place();
      const std::string own(in_.word());
      if (!argument_names_.insert(own).second)
        in_.fail_at(place, "there is an argument '" + own + "' already");
      const auto at = static_cast<std::size_t>(number);
      if (g_.argument_names.size() <= at) g_.argument_names.resize(at + 1);
      g_.argument_names[at] = own;
    }
    n.attributes = {number, accept_attribute("weak") ? 1 : 0};
    n.takes_dtype = n.takes_shape = true;
  }

  // The dtype is behind the value: read that first, then the value, then go on behind the dtype.
  dtype read_constant(parsed_node& n) {
    valued("value");
    const std::size_t value = in_.place();
    in_.skip_to('}');
    const dtype type = read_type();
    const std::size_t behind = in_.place();
    in_.go_to(value);
    if (type == dtype::i64)
      n.attributes = {in_.integer(std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max())};
    else if (type == dtype::u64)
      n.attributes = {static_cast<std::int64_t>(
          in_.integer<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max()))};
    else
      n.attributes = {bits_of(in_.number(type))};
    in_.expect("}");
    in_.go_to(behind);
    n.takes_dtype = true;
    return type;
  }

  void read_axis(parsed_node& n, std::string_view wanted) {
    valued(wanted);
    n.attributes.push_back(in_.integer(0, max_rank - 1));
  }

  void read_axes(parsed_node& n) {
    valued("axes");
    std::int64_t mask = 0;
    in_.list("[", "]", [&] { mask |= std::int64_t{1} << in_.integer(0, max_rank - 1); });
    n.attributes.push_back(mask);
  }

  void read_rope(parsed_node& n) {
    valued("theta");
    n.attributes = {bits_of(in_.number(dtype::f64))};
    const bool halves = accept_attribute("halves");
    if (!halves) attribute("neighbours");
    n.attributes.push_back(halves ? 0 : 1);
    n.attributes.push_back(accept_attribute("inverse") ? 1 : 0);
    read_axis(n, "axis");
  }

  void read_windows(parsed_node& n, std::string_view dim_name) {
    read_axis(n, "axis");
    valued(dim_name);
    n.dims.push_back(in_.extent());
    for (const std::string_view each : {"stride", "dilation"}) {
      valued(each);
      n.attributes.push_back(in_.integer(1, std::numeric_limits<std::int32_t>::max()));
    }
  }

  // Lists of one extent per axis, which take turns in the dims.
  void read_pairs(parsed_node& n, std::size_t rank, std::string_view first,
                  std::string_view second) {
    const auto read = [&](std::string_view wanted) {
      std::vector<dim> out;
      valued(wanted);
      in_.list("[", "]", [&] {
        if (out.size() == rank) in_.fail("more numbers than the operand has axes");
        out.push_back(in_.extent());
      });
      if (out.size() != rank) in_.fail("fewer numbers than the operand has axes");
      return out;
    };
    const std::vector<dim> a = read(first), b = read(second);
    for (std::size_t i = 0; i < rank; ++i) {
      n.dims.push_back(a[i]);
      n.dims.push_back(b[i]);
    }
  }

  void read_pad(parsed_node& n, std::size_t rank) {
    read_pairs(n, rank, "before", "after");
    valued("fill");
    n.attributes = {bits_of(in_.number(g_[n.inputs[0]].type))};
  }

  void read_slice(parsed_node& n, std::size_t rank) {
    read_pairs(n, rank, "start", "stop");
    valued("step");
    in_.list("[", "]", [&] {
      if (n.attributes.size() == rank) in_.fail("more steps than the operand has axes");
      n.attributes.push_back(in_.integer(1, number_limit));
    });
    if (n.attributes.size() != rank) in_.fail("fewer steps than the operand has axes");
  }

  graph g_;
  std::string_view text_;
  text_reader in_;
  span<const custom_op* const> customs_;
  std::unordered_map<std::int64_t, int> nodes_;  // by their number in the text
  std::unordered_set<std::int64_t> arguments_;
  std::unordered_set<std::string> argument_names_;
  // Of the node that is being read: are there attributes, none read so far; and was the comma read
  // that stands before the next one?
  bool has_braces_ = false, first_attribute_ = true, in_attribute_ = false;
  std::size_t type_place_ = 0;
  bool bound_ = false;
  std::vector<guard> guards_;
};

}  // namespace detail

/// The graph that `to_text` wrote: nodes are numbered anew where numbers have gaps or nodes are
/// equal. For `graph_function`, which runs it. Throws graph_error with line and column (counted
/// from 1, in bytes) where the text is no graph: also for what does not fit together, whose message
/// names op and shapes. Text from anywhere is safe: nothing else happens. `customs`: the custom ops
/// that the text may name (sinter::custom_ops).
inline graph parse_graph(std::string_view text, span<const custom_op* const> customs = {}) {
  return detail::graph_parser(text, customs).run();
}

/// The same for a graph that is bound to a class of shapes, with its extents and guards, which must
/// hold. `to_text` gives the text again.
inline graph parse_bound_graph(std::string_view text, span<const custom_op* const> customs = {}) {
  return detail::graph_parser(text, customs, true).run();
}

}  // namespace sinter::inline SINTER_ABI::ir
