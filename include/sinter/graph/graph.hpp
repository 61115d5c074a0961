// SPDX-License-Identifier: MIT
// The intermediate representation: an array of small typed nodes in topological order, and outputs.
// A graph is a value that works the same in constant evaluation (a traced function) and at run
// time. Nodes with equal op, inputs, attributes and dims are one node.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <sinter/graph/custom.hpp>
#include <sinter/graph/dim.hpp>
#include <sinter/graph/fault.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/support/flat_vector.hpp>
#include <sinter/support/hash.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

// What the attributes (integers, floats by their bits) and dims of an op mean:
// clang-format off
//   argument         {dtype, number, weak}, dims: shape; weak: a C++ scalar, takes the dtype of what it meets
//   constant         {dtype, bits of the value as a double, or the value itself for i64 and u64}
//   extent           {dtype}, dims: {the extent}; a scalar
//   iota             {dtype, axis}, dims: shape
//   random_uniform   {dtype, stream}, dims: shape; input: key, an i64 scalar
//   cast, bitcast    {dtype}
//   reduce_*, argmax, softmax, log_softmax, first_max
//                    {bit mask of axes}, which stay with extent 1
//   layer_norm, rms_norm
//                    {bit mask of axes, bits of eps}
//   rope             {bits of theta, 1 for neighbours as pairs (0: halves), 1 for the inverse, axis of the
//                    positions}; inputs x, positions (integers, one per place along the axis)
//   reshape, broadcast_to, sum_to
//                    dims: shape of the result (broadcast_to keeps the rank)
//   permute          {source axis of every result axis}
//   pad              {bits of the fill value}, dims: {before, after} per axis
//   slice            {step per axis}, dims: {start, stop} per axis
//   flip             {bit mask of axes}
//   windows          {axis, stride, dilation}, dims: {size}: the axis becomes two, [size, count]
//   sum_windows      {axis, stride, dilation}, dims: {extent}: [size, count] of windows become one
//   concat           {axis}
//   matmul           {transpose a, transpose b}; all leading extents equal
//   gather           {axis}; inputs x, indices
//   scatter_add      {axis}; inputs updates, indices; dims: shape of the result
//   cumsum           {axis, exclusive, reverse}
//   cross_entropy    inputs logits[..., classes], labels[...] (integers): one loss per row
//   custom_map       {number in the graph's list of custom ops}
//   custom           {number in that list, bits of the op's own attributes}
//   recompute        {number}: nodes with different numbers are kept apart
//   gradient         inputs: a scalar loss, the node to differentiate by
//   vjp              inputs: y, the node x to differentiate by, the cotangent of y
//   jvp              inputs: y, then pairs of a node to differentiate by and its tangent
//   checkpoint       inputs: y, then what y is computed from
// clang-format on
struct node {
  op code{};
  dtype type{};
  bool weak = false;
  std::int32_t first_input = 0, input_count = 0;
  std::int32_t first_attribute = 0, attribute_count = 0;
  std::int32_t first_dim = 0, dim_count = 0;
  symbolic_shape shape;
};

struct output {
  int node = 0;
  int assigned_argument = -1;  // the number of the argument whose storage receives it, or -1
  friend constexpr bool operator==(const output&, const output&) = default;
};

// A fact about extents that shape inference had to take for true; checked before a plan is used for
// other extents.
struct guard {
  enum class fact : std::uint8_t { equal, differ, at_most } holds{};  // a == b, a != b, a <= b
  dim a, b;
};

class graph {
 public:
  std::vector<output> outputs;
  dim_table dims;
  fault first_fault;
  // Extents of the symbols if the graph is bound to a class of shapes; empty while a function is
  // traced.
  std::vector<std::int64_t> symbol_values;
  std::vector<guard> guards;
  int random_streams = 0;
  // By number, where the author of the graph named them; for messages and text.
  std::vector<std::string> argument_names;
  // Those that nodes refer to by number, each once.
  std::vector<const custom_op*> customs;
  // While a function is traced: do operands of mixed dtypes meet as `promote` says, or are they a
  // fault?
  bool implicit_casts = false;

  constexpr int size() const { return static_cast<int>(nodes_.size()); }
  constexpr const node& operator[](int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  constexpr span<const node> nodes() const { return nodes_; }

  constexpr span<const int> inputs(int id) const {
    return inputs(nodes_[static_cast<std::size_t>(id)]);
  }
  constexpr span<const int> inputs(const node& n) const {
    return {inputs_.data() + n.first_input, static_cast<std::size_t>(n.input_count)};
  }
  constexpr int input(int id, int which) const {
    return inputs_[static_cast<std::size_t>(nodes_[static_cast<std::size_t>(id)].first_input +
                                            which)];
  }
  constexpr span<const std::int64_t> attributes(int id) const {
    const node& n = nodes_[static_cast<std::size_t>(id)];
    return {attributes_.data() + n.first_attribute, static_cast<std::size_t>(n.attribute_count)};
  }
  // The custom op of such a node, by the node's attributes.
  constexpr const custom_op& custom(span<const std::int64_t> of) const {
    return *customs[static_cast<std::size_t>(of[0])];
  }
  // The number of a custom op, which joins the list if it is not there.
  constexpr std::int64_t custom_number(const custom_op* which) {
    std::size_t number = 0;
    while (number < customs.size() && customs[number] != which) ++number;
    if (number == customs.size()) customs.push_back(which);
    return static_cast<std::int64_t>(number);
  }
  constexpr span<const dim> node_dims(int id) const {
    const node& n = nodes_[static_cast<std::size_t>(id)];
    return {node_dims_.data() + n.first_dim, static_cast<std::size_t>(n.dim_count)};
  }

  // Adds a node whose type and shape are known (infer.hpp finds them) or returns the equal one.
  constexpr int intern(op code, dtype type, const symbolic_shape& shape, span<const int> own_inputs,
                       span<const std::int64_t> own_attributes, span<const dim> own_dims) {
    // Every statement here is paid per node of the constexpr step limit, hence pointers, and one
    // multiplication per word.
    std::uint64_t key = hash_seed + static_cast<std::uint64_t>(code);
    const int* const in = own_inputs.data();
    const std::int64_t* const numbers = own_attributes.data();
    const dim* const extents = own_dims.data();
    const std::size_t in_count = own_inputs.size(), number_count = own_attributes.size(),
                      extent_count = own_dims.size();
    for (std::size_t i = 0; i < in_count; ++i) key = hash_word(key, in[i]);
    for (std::size_t i = 0; i < number_count; ++i) key = hash_word(key, numbers[i]);
    for (std::size_t i = 0; i < extent_count; ++i) key = hash_word(key, extents[i].code());
    key = hash_mix(key);
    if (heads_.size() <= nodes_.size()) relink(heads_.empty() ? 64 : heads_.size() * 4);
    std::int32_t& head = heads_[key & (heads_.size() - 1)];
    for (std::int32_t id = head; id >= 0; id = links_[static_cast<std::size_t>(id)].next)
      if (links_[static_cast<std::size_t>(id)].key == key &&
          same(id, code, own_inputs, own_attributes, own_dims))
        return id;

    node n{code,
           type,
           false,
           static_cast<std::int32_t>(inputs_.size()),
           static_cast<std::int32_t>(in_count),
           static_cast<std::int32_t>(attributes_.size()),
           static_cast<std::int32_t>(number_count),
           static_cast<std::int32_t>(node_dims_.size()),
           static_cast<std::int32_t>(extent_count),
           shape};
    // Numbers and extents have no dtype of their own either: sum(x) / extent(x, 0) works for every
    // dtype of x.
    n.weak = code == op::argument ? numbers[2] != 0
             : code == op::constant || code == op::extent
                 ? true
                 : in_count != 0 && is_elementwise(code) && all_weak(in, in_count);
    inputs_.append(in, in_count);
    attributes_.append(numbers, number_count);
    node_dims_.append(extents, extent_count);
    const std::int32_t id = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back(n);
    links_.push_back({key, head});
    head = id;
    return id;
  }

  // Drops the nodes from number `count` on. Cheaper than adding the others to an empty graph.
  constexpr void truncate(int count) {
    const std::size_t n = static_cast<std::size_t>(count);
    if (n >= nodes_.size()) return;
    inputs_.truncate(static_cast<std::size_t>(nodes_[n].first_input));
    attributes_.truncate(static_cast<std::size_t>(nodes_[n].first_attribute));
    node_dims_.truncate(static_cast<std::size_t>(nodes_[n].first_dim));
    nodes_.truncate(n);
    links_.truncate(n);
    relink(heads_.size());
  }

  // Records a fault (while the compiler traces) or throws it.
  constexpr void fail(const fault& f, span<const int> operands) {
    if (!std::is_constant_evaluated()) throw_fault(f, operand_text(operands), range_text(operands));
    if (first_fault.kind == fault_kind::none) first_fault = f;
  }
  constexpr bool failed() const { return first_fault.kind != fault_kind::none; }

  // In a bound graph: what the class is to have in common, unless that was said before. Every call
  // that looks for its class asks for each guard.
  constexpr void assume(guard::fact holds, dim a, dim b) {
    if (!is_assumed(holds, a, b)) guards.push_back({holds, a, b});
  }
  constexpr bool is_assumed(guard::fact holds, dim a, dim b) const {
    for (const guard& g : guards)
      if (g.holds == holds &&
          ((g.a == a && g.b == b) || (holds != guard::fact::at_most && g.a == b && g.b == a)))
        return true;
    return false;
  }

  // In a bound graph: do these have one value for the extents at hand?
  constexpr bool same_at_hand(dim a, dim b) const {
    return dims.evaluate(a, symbol_values) == dims.evaluate(b, symbol_values);
  }

  // Do two extents agree? In a bound graph an undecided question is answered by the extents at hand
  // and becomes a guard; while tracing it stays open (binding asks again).
  constexpr bool agree(dim a, dim b) {
    const truth known = dims.equal(a, b);
    if (known != truth::unknown) return known == truth::yes;
    if (symbol_values.empty()) return true;
    if (!same_at_hand(a, b)) return false;
    assume(guard::fact::equal, a, b);
    return true;
  }

  // Is this extent 1? `unknown` while tracing; a bound graph decides, with a guard where the class
  // does not imply it.
  constexpr truth is_one(dim d) {
    if (d.is_constant()) return d.constant() == 1 ? truth::yes : truth::no;
    if (!symbol_values.empty() && dims.kind(d) == dim_kind::symbol && !dims.is_open(d))
      return truth::no;  // binding replaced extents that are one by the constant
    if (!dims.described().empty() && dims.equal(d, dim(1)) == truth::no) return truth::no;
    if (symbol_values.empty()) return truth::unknown;
    if (dims.evaluate(d, symbol_values) == 1) {
      assume_one(d);
      return truth::yes;
    }
    assume(guard::fact::differ, d, dim(1));
    return truth::no;
  }

  // In a bound graph: d is 1 in the whole class. A product is where its factors are, and of a
  // symbol that is 1 binding makes the number.
  constexpr void assume_one(dim d) {
    if (dims.kind(d) != dim_kind::product) return assume(guard::fact::equal, d, dim(1));
    const std::vector<std::int64_t> factors(dims.operands(d).begin(), dims.operands(d).end());
    for (std::int64_t factor : factors) assume_one(dim::from_code(factor));
  }

  // Can an axis of extent `from` be broadcast to `to`, as far as is known? In a bound graph it is
  // asked first whether the two agree: that leaves open which extents are 1.
  constexpr bool meets(dim from, dim to) {
    if (from == to || from == dim(1)) return true;
    if (!symbol_values.empty() && same_at_hand(from, to)) return agree(from, to);
    return is_one(from) != truth::no || agree(from, to);
  }

  // With the extents at hand where the graph is bound: "[32, 10]"; symbolic while it is traced.
  std::string shape_text(const symbolic_shape& shape) const {
    if (symbol_values.empty()) return dims.to_string(shape);
    // No dims: of what does not fit, an extent may be negative.
    shape_vector concrete;
    for (dim d : shape) concrete.push_back(dims.evaluate(d, symbol_values));
    return sinter::to_string(concrete);
  }

  std::string operand_text(span<const int> operands) const {
    std::string out;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const node& n = (*this)[operands[i]];
      out += (i == 0 ? "" : ", ") + std::string(sinter::name(n.type)) + shape_text(n.shape);
    }
    return out;
  }

  // The ranges of the symbols among the operands' extents, while those are not known: "batch in
  // 1..64".
  std::string range_text(span<const int> operands) const {
    std::string out;
    std::vector<dim> told;
    for (int i : operands)
      for (dim d : (*this)[i].shape) {
        const bool symbol = !d.is_constant() && dims.kind(d) == dim_kind::symbol;
        if (!symbol || !symbol_values.empty() ||
            std::find(told.begin(), told.end(), d) != told.end())
          continue;
        told.push_back(d);
        if (const extent_range r = dims.range(d); !(r == extent_range{}))
          out += (out.empty() ? "" : ", ") + dims.to_string(d) + " in " + ir::to_string(r);
      }
    return out;
  }

  // "argument 0 (x)"; without a name "argument 0".
  std::string argument_text(std::int64_t number) const {
    const auto place = static_cast<std::size_t>(number);
    const bool named = place < argument_names.size() && !argument_names[place].empty();
    return "argument " + std::to_string(number) +
           (named ? " (" + argument_names[place] + ")" : std::string());
  }

 private:
  // Nodes whose keys end alike form a list, from a head through the nodes' links.
  struct link {
    std::uint64_t key = 0;
    std::int32_t next = -1;
  };

  static constexpr std::uint64_t hash_word(std::uint64_t key, std::int64_t word) {
    return (key ^ key >> 29 ^ static_cast<std::uint64_t>(word)) * 0xbf58476d1ce4e5b9ULL;
  }

  constexpr bool all_weak(const int* ids, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i)
      if (!nodes_[static_cast<std::size_t>(ids[i])].weak) return false;
    return true;
  }

  constexpr bool same(int id, op code, span<const int> other_inputs,
                      span<const std::int64_t> other_attributes, span<const dim> other_dims) const {
    const auto equal = [](auto a, auto b) {
      if (a.size() != b.size()) return false;
      for (std::size_t i = 0; i < a.size(); ++i)
        if (!(a[i] == b[i])) return false;
      return true;
    };
    return (*this)[id].code == code && equal(inputs(id), other_inputs) &&
           equal(attributes(id), other_attributes) && equal(node_dims(id), other_dims);
  }

  constexpr void relink(std::size_t heads) {
    heads_ = flat_vector<std::int32_t>(heads, -1);
    std::int32_t id = 0;
    for (link& l : links_) {
      std::int32_t& head = heads_[l.key & (heads - 1)];
      l.next = head;
      head = id++;
    }
  }

  flat_vector<node> nodes_;
  flat_vector<int> inputs_;
  flat_vector<std::int64_t> attributes_;
  flat_vector<dim> node_dims_;
  flat_vector<link> links_;
  flat_vector<std::int32_t> heads_;
};

constexpr std::int64_t bits_of(double x) { return std::bit_cast<std::int64_t>(x); }
constexpr double double_of(std::int64_t bits) { return std::bit_cast<double>(bits); }

// The name of the node's op, a custom op's own.
constexpr std::string_view op_name(const graph& g, int id) {
  return is_custom(g[id].code) ? g.custom(g.attributes(id)).name : name(g[id].code);
}

// The value of a constant node as a double.
constexpr double constant_value(const graph& g, int id) {
  const span<const std::int64_t> a = g.attributes(id);
  switch (static_cast<dtype>(a[0])) {
    case dtype::i64: return static_cast<double>(a[1]);
    case dtype::u64: return static_cast<double>(static_cast<std::uint64_t>(a[1]));
    default: return double_of(a[1]);
  }
}

}  // namespace sinter::inline SINTER_ABI::ir
