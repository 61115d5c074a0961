// SPDX-License-Identifier: MIT
// Symbolic extents. A `dim` is a constant, or a handle to an interned expression over symbols
// (sums, products, floor division, modulo, and the broadcast of two extents that are not known
// yet). Expressions have a normal form, so equal expressions of one table have the same code, and
// "are these equal" is an integer comparison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/graph/extent_range.hpp>
#include <sinter/support/flat_vector.hpp>
#include <sinter/support/inline_vector.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::ir {

class dim {
 public:
  constexpr dim() = default;
  constexpr dim(std::int64_t constant)
      : code_(constant) {}  // implicit: an extent is usually a number

  static constexpr dim expression(std::size_t index) {
    return from_code(-static_cast<std::int64_t>(index) - 1);
  }
  static constexpr dim from_code(std::int64_t code) { return dim(code); }

  constexpr bool is_constant() const { return code_ >= 0; }
  constexpr std::int64_t constant() const { return code_; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(-(code_ + 1)); }
  constexpr std::int64_t code() const { return code_; }

  friend constexpr bool operator==(dim, dim) = default;

 private:
  std::int64_t code_ = 0;  // >= 0: the extent itself; < 0: -(index + 1) of an expression
};

using symbolic_shape = inline_vector<dim, max_rank>;

// From a pointer and a count: iterators of a span cost constant evaluation 15 statements per
// extent.
constexpr symbolic_shape to_shape(span<const dim> extents) {
  const dim* const first = extents.data();
  return symbolic_shape(first, first + extents.size());
}

enum class dim_kind : std::uint8_t {
  symbol,   // {number}
  sum,      // {coefficient, term, coefficient, term, ...}; the term 1 stands for the constant part
  product,  // {factor, factor, ...}: symbols and opaque expressions, sorted
  floor_div,  // {dividend, divisor}
  mod,        // {dividend, divisor}
  broadcast,  // {extent, extent, ...}, sorted: all that are not 1 agree
};

enum class truth : std::uint8_t { no, yes, unknown };

/// What the author of a graph said about a symbol: its name (empty: s0, s1... by its number) and
/// the extents it may stand for.
struct symbol_facts {
  std::string name;
  extent_range range;
  friend bool operator==(const symbol_facts&, const symbol_facts&) = default;
};

// Interns expressions. Tables are small (tens of entries), so look-up is a scan.
class dim_table {
 public:
  constexpr dim symbol(std::int64_t number) { return intern(dim_kind::symbol, {number}); }

  /// Gives symbol `number` a name and a range. Before anything is asked about it: answers do not
  /// change.
  void describe(std::int64_t number, symbol_facts facts) {
    const auto place = static_cast<std::size_t>(number);
    if (symbols_.size() <= place) symbols_.resize(place + 1);
    symbols_[place] = std::move(facts);
  }
  /// The symbols mean what they mean in another table.
  void describe_as(const dim_table& other) { symbols_ = other.symbols_; }
  /// By number; symbols beyond the last that was described have neither name nor bounds.
  constexpr const std::vector<symbol_facts>& described() const { return symbols_; }
  std::string symbol_name(std::int64_t number) const {
    const auto place = static_cast<std::size_t>(number);
    return place < symbols_.size() && !symbols_[place].name.empty() ? symbols_[place].name
                                                                    : "s" + std::to_string(number);
  }
  constexpr extent_range symbol_range(std::int64_t number) const {
    const auto place = static_cast<std::size_t>(number);
    return place < symbols_.size() ? symbols_[place].range : extent_range{};
  }
  /// Was the symbol declared with a range of one and more? Then a bound graph leaves open whether
  /// it is one, until something depends on it. Also true for products of such symbols.
  constexpr bool is_open(dim d) const {
    if (d.is_constant()) return false;
    const span<const std::int64_t> o = operands(d);
    if (kind(d) == dim_kind::symbol) {
      const extent_range r = symbol_range(o[0]);
      return r.holds(1) && r.low < r.high && !(r == extent_range{});
    }
    if (kind(d) != dim_kind::product) return false;
    for (std::int64_t factor : o)
      if (!is_open(dim::from_code(factor))) return false;
    return true;
  }
  /// The symbol of that name, or -1.
  std::int64_t find_symbol(std::string_view name) const {
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      if (symbols_[i].name == name && !name.empty()) return static_cast<std::int64_t>(i);
    return -1;
  }

  constexpr dim add(dim a, dim b) {
    if (a.is_constant() && b.is_constant())
      return dim(detail::saturating_add(a.constant(), b.constant()));
    if (a == dim(0)) return b;
    if (b == dim(0)) return a;
    terms out;
    append_terms(out, a, 1);
    append_terms(out, b, 1);
    return from_terms(out);
  }

  constexpr dim sub(dim a, dim b) {
    if (a == b) return dim(0);
    if (b == dim(0)) return a;
    if (a.is_constant() && b.is_constant() && a.constant() >= b.constant())
      return dim(a.constant() - b.constant());
    terms out;
    append_terms(out, a, 1);
    append_terms(out, b, -1);
    return from_terms(out);
  }

  constexpr dim mul(dim a, dim b) {
    // Wrapped around, a number would be the code of an expression that there is not.
    if (a.is_constant() && b.is_constant())
      return dim(detail::saturating_mul(a.constant(), b.constant()));
    if (a == dim(1)) return b;
    if (b == dim(1)) return a;
    terms left, right, out;
    append_terms(left, a, 1);
    append_terms(right, b, 1);
    for (const term& l : left)
      for (const term& r : right)
        insert(out, {detail::saturating_mul(l.coefficient, r.coefficient),
                     multiply_monomials(l.monomial, r.monomial)});
    return from_terms(out);
  }

  constexpr dim floor_div(dim a, dim b) {
    if (b == dim(1)) return a;
    if (a == b) return dim(1);  // an extent divided by itself; nobody divides by an empty extent
    if (a.is_constant() && b.is_constant())
      return b.constant() == 0 ? dim(0) : dim(a.constant() / b.constant());
    if (dim exact = divide_exactly(a, b); exact != dim(0)) return exact;
    return intern(dim_kind::floor_div, {a.code(), b.code()});
  }

  constexpr dim mod(dim a, dim b) {
    if (b == dim(1) || a == b) return dim(0);
    if (a.is_constant() && b.is_constant())
      return b.constant() == 0 ? dim(0) : dim(a.constant() % b.constant());
    return intern(dim_kind::mod, {a.code(), b.code()});
  }

  // The extent that a and b broadcast to, when that is not decided yet.
  constexpr dim broadcast(dim a, dim b) {
    codes atoms;
    append_atoms(atoms, a);
    append_atoms(atoms, b);
    // A constant other than 1 decides: the others are 1 or equal to it.
    for (std::int64_t atom : atoms)
      if (atom >= 0 && atom != 1) return dim(atom);
    if (atoms.size() == 1) return dim::from_code(atoms[0]);
    return intern(dim_kind::broadcast, atoms);
  }

  // `yes` and `no` hold for every value of the symbols; unknown is the third answer.
  constexpr truth equal(dim a, dim b) {
    if (a == b) return truth::yes;
    if (a.is_constant() && b.is_constant()) return truth::no;
    terms difference;
    append_terms(difference, a, 1);
    append_terms(difference, b, -1);
    const bool constant = difference.size() == 1 && difference[0].monomial == one;
    if (constant) return truth::no;
    // Most graphs say nothing about their symbols, and every statement counts while tracing.
    return !symbols_.empty() && !range_of(difference).holds(0) ? truth::no : truth::unknown;
  }

  // a <= b?
  constexpr truth at_most(dim a, dim b) const {
    terms difference;
    append_terms(difference, b, 1);
    append_terms(difference, a, -1);
    const extent_range r = range_of(difference);
    return r.low >= 0 ? truth::yes : r.high < 0 ? truth::no : truth::unknown;
  }

  // Bounds of the value of d, from the ranges of its symbols.
  constexpr extent_range range(dim d) const {
    if (d.is_constant()) return {d.constant(), d.constant()};
    const span<const std::int64_t> o = operands(d);
    const auto part = [&](std::size_t i) { return range(dim::from_code(o[i])); };
    switch (kind(d)) {
      case dim_kind::symbol: return symbol_range(o[0]);
      case dim_kind::sum: {
        terms all;
        append_terms(all, d, 1);
        return range_of(all);
      }
      case dim_kind::product: {
        extent_range total{1, 1};
        for (std::size_t i = 0; i < o.size(); ++i) total = total * part(i);
        return total;
      }
      case dim_kind::floor_div: return divided(part(0), part(1));
      case dim_kind::mod: return remainder(part(0), part(1));
      case dim_kind::broadcast: {  // one of them
        extent_range hull = part(0);
        for (std::size_t i = 1; i < o.size(); ++i) {
          hull.low = std::min(hull.low, part(i).low);
          hull.high = std::max(hull.high, part(i).high);
        }
        return hull;
      }
    }
    return {};
  }

  constexpr dim_kind kind(dim expression) const { return entries_[expression.index()].kind; }
  constexpr span<const std::int64_t> operands(dim expression) const {
    const entry& e = entries_[expression.index()];
    return {pool_.data() + e.first, static_cast<std::size_t>(e.count)};
  }
  constexpr std::size_t size() const { return entries_.size(); }

  // The value of a dim when symbol number i is values[i]; what overflows is the largest number, or
  // the smallest.
  constexpr std::int64_t evaluate(dim d, span<const std::int64_t> values) const {
    if (d.is_constant()) return d.constant();
    const span<const std::int64_t> o = operands(d);
    switch (kind(d)) {
      case dim_kind::symbol: return values[static_cast<std::size_t>(o[0])];
      case dim_kind::sum: {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < o.size(); i += 2)
          total = detail::saturating_add(
              total, detail::saturating_mul(o[i], evaluate(dim::from_code(o[i + 1]), values)));
        return total;
      }
      case dim_kind::product: {
        std::int64_t total = 1;
        for (std::int64_t factor : o)
          total = detail::saturating_mul(total, evaluate(dim::from_code(factor), values));
        return total;
      }
      case dim_kind::floor_div: {
        const std::int64_t divisor = evaluate(dim::from_code(o[1]), values);
        return divisor == 0 ? 0 : evaluate(dim::from_code(o[0]), values) / divisor;
      }
      case dim_kind::mod: {
        const std::int64_t divisor = evaluate(dim::from_code(o[1]), values);
        return divisor == 0 ? 0 : evaluate(dim::from_code(o[0]), values) % divisor;
      }
      case dim_kind::broadcast: {
        for (std::int64_t atom : o)
          if (const std::int64_t v = evaluate(dim::from_code(atom), values); v != 1) return v;
        return 1;
      }
    }
    return 0;
  }

  // The same expression in this table after every symbol number i was replaced by replacement[i].
  constexpr dim substitute(const dim_table& from, dim d, span<const dim> replacement) {
    if (d.is_constant()) return d;
    const span<const std::int64_t> o = from.operands(d);
    const auto sub_term = [&](std::size_t i) {
      return substitute(from, dim::from_code(o[i]), replacement);
    };
    switch (from.kind(d)) {
      case dim_kind::symbol: return replacement[static_cast<std::size_t>(o[0])];
      case dim_kind::sum: {
        terms out;
        for (std::size_t i = 0; i < o.size(); i += 2) append_terms(out, sub_term(i + 1), o[i]);
        return from_terms(out);
      }
      case dim_kind::product: {
        dim total(1);
        for (std::size_t i = 0; i < o.size(); ++i) total = mul(total, sub_term(i));
        return total;
      }
      case dim_kind::floor_div: return floor_div(sub_term(0), sub_term(1));
      case dim_kind::mod: return mod(sub_term(0), sub_term(1));
      case dim_kind::broadcast: {
        dim total(1);
        for (std::size_t i = 0; i < o.size(); ++i) {
          const dim next = sub_term(i);
          total = total == dim(1) ? next : next == dim(1) ? total : broadcast(total, next);
        }
        return total;
      }
    }
    return d;
  }

  std::string to_string(dim d) const {
    if (d.is_constant()) return std::to_string(d.constant());
    const span<const std::int64_t> o = operands(d);
    const auto text = [&](std::size_t i) { return to_string(dim::from_code(o[i])); };
    switch (kind(d)) {
      case dim_kind::symbol: return symbol_name(o[0]);
      case dim_kind::sum: {
        std::string out = "(";
        for (std::size_t i = 0; i < o.size(); i += 2) {
          if (i != 0) out += " + ";
          const bool is_constant = o[i + 1] == one;
          if (o[i] != 1 || is_constant) out += std::to_string(o[i]);
          if (o[i] != 1 && !is_constant) out += "*";
          if (!is_constant) out += text(i + 1);
        }
        return out + ")";
      }
      case dim_kind::product: return join(o, "*", "", "");
      case dim_kind::floor_div: return "(" + text(0) + "/" + divisor_text(o[1]) + ")";
      case dim_kind::mod: return "(" + text(0) + "%" + divisor_text(o[1]) + ")";
      case dim_kind::broadcast: return join(o, ", ", "broadcast(", ")");
    }
    return "?";
  }

  friend bool operator==(const dim_table&, const dim_table&) = default;

  template <class Shape>
  std::string to_string(const Shape& shape) const {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i)
      out += (i == 0 ? "" : ", ") + to_string(shape[i]);
    return out + "]";
  }

 private:
  static constexpr std::int64_t one = 1;  // the code of the monomial that is the constant 1

  struct entry {
    dim_kind kind;
    std::int32_t first;
    std::int32_t count;
    friend bool operator==(const entry&, const entry&) = default;
  };
  struct term {
    std::int64_t coefficient;
    std::int64_t
        monomial;  // code of a symbol, product or opaque expression; `one` for the constant part
  };
  using terms = flat_vector<term>;
  using codes = flat_vector<std::int64_t>;

  constexpr dim intern(dim_kind kind, span<const std::int64_t> operands) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const entry& e = entries_[i];
      if (e.kind == kind && static_cast<std::size_t>(e.count) == operands.size() &&
          std::equal(operands.begin(), operands.end(), pool_.data() + e.first))
        return dim::expression(i);
    }
    codes copy;  // operands may point into the pool
    copy.append(operands.data(), operands.size());
    entries_.push_back(
        {kind, static_cast<std::int32_t>(pool_.size()), static_cast<std::int32_t>(copy.size())});
    pool_.append(copy.data(), copy.size());
    return dim::expression(entries_.size() - 1);
  }
  constexpr dim intern(dim_kind kind, std::initializer_list<std::int64_t> operands) {
    return intern(kind, span<const std::int64_t>(operands.begin(), operands.size()));
  }

  static constexpr void insert(terms& out, term t) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i].monomial != t.monomial) continue;
      out[i].coefficient = detail::saturating_add(out[i].coefficient, t.coefficient);
      if (out[i].coefficient == 0) out.erase(i);
      return;
    }
    if (t.coefficient == 0) return;
    std::size_t place = 0;
    while (place < out.size() && out[place].monomial < t.monomial) ++place;
    out.insert(place, t);
  }

  constexpr void append_terms(terms& out, dim d, std::int64_t factor) const {
    if (d.is_constant()) return insert(out, {detail::saturating_mul(factor, d.constant()), one});
    if (kind(d) != dim_kind::sum) return insert(out, {factor, d.code()});
    const span<const std::int64_t> o = operands(d);
    for (std::size_t i = 0; i < o.size(); i += 2)
      insert(out, {detail::saturating_mul(factor, o[i]), o[i + 1]});
  }

  constexpr extent_range range_of(const terms& sum) const {
    extent_range total{0, 0};
    for (const term& t : sum) {
      const extent_range coefficient{t.coefficient, t.coefficient};
      total = total +
              (t.monomial == one ? coefficient : coefficient * range(dim::from_code(t.monomial)));
    }
    return total;
  }

  constexpr dim from_terms(const terms& t) {
    if (t.empty()) return dim(0);
    if (t.size() == 1 && t[0].monomial == one && t[0].coefficient > 0) return dim(t[0].coefficient);
    if (t.size() == 1 && t[0].coefficient == 1) return dim::from_code(t[0].monomial);
    codes flat;
    for (const term& each : t) {
      flat.push_back(each.coefficient);
      flat.push_back(each.monomial);
    }
    return intern(dim_kind::sum, flat);
  }

  // Codes are kept sorted. Factors may occur several times.
  static constexpr std::size_t place_of(const codes& sorted, std::int64_t code) {
    std::size_t place = 0;
    while (place < sorted.size() && sorted[place] < code) ++place;
    return place;
  }
  constexpr void append_factors(codes& out, std::int64_t monomial) const {
    if (monomial == one) return;
    const dim d = dim::from_code(monomial);
    if (kind(d) != dim_kind::product) return out.insert(place_of(out, monomial), monomial);
    for (std::int64_t factor : operands(d)) out.insert(place_of(out, factor), factor);
  }

  constexpr std::int64_t multiply_monomials(std::int64_t a, std::int64_t b) {
    codes factors;
    append_factors(factors, a);
    append_factors(factors, b);
    if (factors.empty()) return one;
    if (factors.size() == 1) return factors[0];
    return intern(dim_kind::product, factors).code();
  }

  // a / b where b is a constant or a product of factors of every term of a; dim(0) if it does not
  // divide so.
  constexpr dim divide_exactly(dim a, dim b) {
    terms numerator, denominator, out;
    append_terms(numerator, a, 1);
    append_terms(denominator, b, 1);
    if (denominator.size() != 1) return dim(0);
    codes divisors;
    append_factors(divisors, denominator[0].monomial);
    for (const term& each : numerator) {
      if (each.coefficient % denominator[0].coefficient != 0) return dim(0);
      codes factors;
      append_factors(factors, each.monomial);
      for (std::int64_t divisor : divisors) {
        const std::size_t place = place_of(factors, divisor);
        if (place == factors.size() || factors[place] != divisor) return dim(0);
        factors.erase(place);
      }
      const std::int64_t monomial = factors.empty() ? one
                                    : factors.size() == 1
                                        ? factors[0]
                                        : intern(dim_kind::product, factors).code();
      insert(out, {each.coefficient / denominator[0].coefficient, monomial});
    }
    return from_terms(out);
  }

  // Each once.
  constexpr void append_atoms(codes& out, dim d) const {
    if (d == dim(1)) return;
    const auto add = [&out](std::int64_t code) {
      const std::size_t place = place_of(out, code);
      if (place == out.size() || out[place] != code) out.insert(place, code);
    };
    if (d.is_constant() || kind(d) != dim_kind::broadcast) return add(d.code());
    for (std::int64_t code : operands(d)) add(code);
  }

  // a/(b*c), which is not a/b*c.
  std::string divisor_text(std::int64_t code) const {
    const dim d = dim::from_code(code);
    const bool product = !d.is_constant() && kind(d) == dim_kind::product;
    return product ? "(" + to_string(d) + ")" : to_string(d);
  }

  std::string join(span<const std::int64_t> o, const char* separator, const char* open,
                   const char* close) const {
    std::string out = open;
    for (std::size_t i = 0; i < o.size(); ++i)
      out += (i == 0 ? "" : separator) + to_string(dim::from_code(o[i]));
    return out + close;
  }

  flat_vector<entry> entries_;
  codes pool_;
  std::vector<symbol_facts> symbols_;  // by number; fewer than there are where nothing was said
};

}  // namespace sinter::inline SINTER_ABI::ir
