// SPDX-License-Identifier: MIT
// What the steps of an accumulator_program do with a block of elements: an accumulator of many
// registers, one jump per step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/elementwise.hpp>
#include <sinter/exec/evaluate_region.hpp>
#include <sinter/graph/accumulator_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Half of the registers that there are. The jump to the next step and what it reads cost about what
// three registers do: a chain of eight ops in L2 takes 9.4 us with eight of AVX-512, 8.6 with
// sixteen. Three quarters of them take 0.92 of the time with AVX2 and as long with AVX-512, but
// rows of 256 or 1024 elements are no whole blocks then.
inline constexpr std::size_t accumulator_registers = register_count / 2;

template <Floating T>
inline constexpr std::size_t accumulator_block =
    accumulator_registers * static_cast<std::size_t>(lanes<T>);

// Where a place is.
template <Floating T>
struct accumulator_place {
  std::byte* first;
  std::int64_t moves;  // with the blocks of a row: all bits, or none
  std::int64_t row;    // bytes to that of the next row

  // Behind so many bytes of blocks.
  [[gnu::always_inline]] T* at(std::int64_t bytes) const {
    return reinterpret_cast<T*>(first + (moves & bytes));
  }
};

// A step with its places. Looking up what to do and where takes a third of the time: a chain of
// eight ops in L2 takes 1.77 ns per register of AVX-512, and 1.88 with numbers or addresses of
// places.
template <Floating T>
struct bound_step {
  std::uint64_t code;
  accumulator_place<T> a, b;
};

template <Floating T>
class bound_steps {
 public:
  // place(k) is where place k is.
  template <class Place>
  void bind(const ir::accumulator_program& program, Place place) {
    count_ = program.steps.size();
    for (std::size_t k = 0; k < count_; ++k) {
      const ir::accumulator_step& of = program.steps[k];
      items_[k] = {of.code, place(of.a), place(of.b)};
    }
  }

  void go_to_next_row() {
    for (std::size_t k = 0; k < count_; ++k) {
      items_[k].a.first += items_[k].a.row;
      items_[k].b.first += items_[k].b.row;
    }
  }
  const bound_step<T>* begin() const { return items_.data(); }
  const bound_step<T>* end() const { return items_.data() + count_; }

 private:
  std::array<bound_step<T>, ir::accumulator_program::max_steps> items_;
  std::size_t count_ = 0;
};

// What a step does with one block; `a` is its first operand.
template <Floating T>
struct accumulator {
  simd<T> all[accumulator_registers];
  std::int64_t position;          // bytes of a row before this block
  const bound_step<T>* streamed;  // the step that stores past the caches, or nullptr
  const bound_step<T>* step;
  T* a;

  // Looked up by those who need it.
  [[gnu::always_inline]] T* b() const { return step->b.at(position); }

  template <class F>
  [[gnu::always_inline]] void each(F f) {
    unrolled<accumulator_registers>([&](auto u) __attribute__((always_inline)) {
      all[u] = f(all[u], static_cast<std::int64_t>(u) * lanes<T>);
    });
  }
  // f(register, the operand's register).
  template <ir::accumulator_operand Operand, class F>
  [[gnu::always_inline]] void each_with(F f) {
    using operand = ir::accumulator_operand;
    simd<T> number;
    if constexpr (Operand == operand::scalar) number = simd<T>(*a);
    if constexpr (Operand == operand::scaled) number = simd<T>(*b());
    each([&](simd<T> x, auto at) __attribute__((always_inline)) {
      if constexpr (Operand == operand::scalar)
        return f(x, number);
      else if constexpr (Operand == operand::element)
        return f(x, exec::load<T>(a + at));
      else if constexpr (Operand == operand::scaled)
        return f(x, mul<T>(exec::load<T>(a + at), number));
      else
        return f(x, mul<T>(exec::load<T>(a + at), exec::load<T>(b() + at)));
    });
  }

  template <ir::accumulator_operand Operand>
  [[gnu::always_inline]] void load() {
    each_with<Operand>([](simd<T>, simd<T> y) __attribute__((always_inline)) { return y; });
  }
  template <ir::op Op, ir::accumulator_operand Operand, bool Reversed = false>
  [[gnu::always_inline]] void combine() {
    each_with<Operand>([](simd<T> x, simd<T> y) __attribute__((always_inline)) {
      return Reversed ? apply<Op>(y, x) : apply<Op>(x, y);
    });
  }
  // (A First a) Second b, or b Second (A First a).
  template <ir::op First, bool FirstScalar, ir::op Second, bool SecondScalar, bool Reversed = false>
  [[gnu::always_inline]] void combine_twice() {
    simd<T> first, second;
    if constexpr (FirstScalar) first = simd<T>(*a);
    if constexpr (SecondScalar) second = simd<T>(*b());
    each([&](simd<T> x, auto at) __attribute__((always_inline)) {
      if constexpr (!FirstScalar) first = exec::load<T>(a + at);
      if constexpr (!SecondScalar) second = exec::load<T>(b() + at);
      const simd<T> y = apply<First>(x, first);
      return Reversed ? apply<Second>(second, y) : apply<Second>(y, second);
    });
  }
  template <ir::op Op>
  [[gnu::always_inline]] void apply_to_all() {
    each([](simd<T> x, auto) __attribute__((always_inline)) { return apply<Op>(x); });
  }
  [[gnu::always_inline]] void multiply_add() {
    each([&](simd<T> x, auto at) __attribute__((always_inline)) {
      return apply<ir::op::multiply_add>(x, exec::load<T>(a + at), exec::load<T>(b() + at));
    });
  }
  [[gnu::always_inline]] void add_product() {
    each([&](simd<T> x, auto at) __attribute__((always_inline)) {
      return apply<ir::op::multiply_add>(exec::load<T>(a + at), exec::load<T>(b() + at), x);
    });
  }
  [[gnu::always_inline]] void store() {
    if (step == streamed)
      each([&](simd<T> x, auto at) __attribute__((always_inline)) {
        store_streaming<T>(a + at, x);
        return x;
      });
    else
      each([&](simd<T> x, auto at) __attribute__((always_inline)) {
        exec::store<T>(a + at, x);
        return x;
      });
  }
};

// All steps, for one block.
template <Floating T>
[[gnu::always_inline]] inline void run_block(const bound_steps<T>& steps, accumulator<T>& m) {
  using what = ir::accumulator_op;
  using operand = ir::accumulator_operand;
  using ir::op;
  using ir::operand_pair;
  constexpr auto key = [](auto... of) { return ir::accumulator_code(of...); };
  for (m.step = steps.begin(); m.step != steps.end(); ++m.step) {
    m.a = m.step->a.at(m.position);
    switch (m.step->code) {
      case key(what::load, operand::element): m.template load<operand::element>(); break;
      case key(what::load, operand::scalar): m.template load<operand::scalar>(); break;
      case key(what::load, operand::product): m.template load<operand::product>(); break;
      case key(what::load, operand::scaled): m.template load<operand::scaled>(); break;
      case key(what::add, operand::element): m.template combine<op::add, operand::element>(); break;
      case key(what::add, operand::scalar): m.template combine<op::add, operand::scalar>(); break;
      case key(what::add, operand::product): m.template combine<op::add, operand::product>(); break;
      case key(what::add, operand::scaled): m.template combine<op::add, operand::scaled>(); break;
      case key(what::sub, operand::element): m.template combine<op::sub, operand::element>(); break;
      case key(what::sub, operand::scalar): m.template combine<op::sub, operand::scalar>(); break;
      case key(what::sub, operand::product): m.template combine<op::sub, operand::product>(); break;
      case key(what::sub, operand::scaled): m.template combine<op::sub, operand::scaled>(); break;
      case key(what::sub_from, operand::element):
        m.template combine<op::sub, operand::element, true>();
        break;
      case key(what::sub_from, operand::scalar):
        m.template combine<op::sub, operand::scalar, true>();
        break;
      case key(what::sub_from, operand::product):
        m.template combine<op::sub, operand::product, true>();
        break;
      case key(what::sub_from, operand::scaled):
        m.template combine<op::sub, operand::scaled, true>();
        break;
      case key(what::mul, operand::element): m.template combine<op::mul, operand::element>(); break;
      case key(what::mul, operand::scalar): m.template combine<op::mul, operand::scalar>(); break;
      case key(what::mul, operand::product): m.template combine<op::mul, operand::product>(); break;
      case key(what::mul, operand::scaled): m.template combine<op::mul, operand::scaled>(); break;
      case key(what::maximum, operand::element):
        m.template combine<op::maximum, operand::element>();
        break;
      case key(what::maximum, operand::scalar):
        m.template combine<op::maximum, operand::scalar>();
        break;
      case key(what::maximum, operand::product):
        m.template combine<op::maximum, operand::product>();
        break;
      case key(what::maximum, operand::scaled):
        m.template combine<op::maximum, operand::scaled>();
        break;
      case key(what::minimum, operand::element):
        m.template combine<op::minimum, operand::element>();
        break;
      case key(what::minimum, operand::scalar):
        m.template combine<op::minimum, operand::scalar>();
        break;
      case key(what::minimum, operand::product):
        m.template combine<op::minimum, operand::product>();
        break;
      case key(what::minimum, operand::scaled):
        m.template combine<op::minimum, operand::scaled>();
        break;
      case key(what::maximum_from, operand::element):
        m.template combine<op::maximum, operand::element, true>();
        break;
      case key(what::maximum_from, operand::scalar):
        m.template combine<op::maximum, operand::scalar, true>();
        break;
      case key(what::minimum_from, operand::element):
        m.template combine<op::minimum, operand::element, true>();
        break;
      case key(what::minimum_from, operand::scalar):
        m.template combine<op::minimum, operand::scalar, true>();
        break;
      case key(what::div, operand::element): m.template combine<op::div, operand::element>(); break;
      case key(what::div, operand::scalar): m.template combine<op::div, operand::scalar>(); break;
      case key(what::div_into, operand::element):
        m.template combine<op::div, operand::element, true>();
        break;
      case key(what::div_into, operand::scalar):
        m.template combine<op::div, operand::scalar, true>();
        break;
      case key(what::add_scale, operand_pair(false, false)):
        m.template combine_twice<op::add, false, op::mul, false>();
        break;
      case key(what::add_scale, operand_pair(false, true)):
        m.template combine_twice<op::add, false, op::mul, true>();
        break;
      case key(what::add_scale, operand_pair(true, false)):
        m.template combine_twice<op::add, true, op::mul, false>();
        break;
      case key(what::add_scale, operand_pair(true, true)):
        m.template combine_twice<op::add, true, op::mul, true>();
        break;
      case key(what::sub_scale, operand_pair(false, false)):
        m.template combine_twice<op::sub, false, op::mul, false>();
        break;
      case key(what::sub_scale, operand_pair(false, true)):
        m.template combine_twice<op::sub, false, op::mul, true>();
        break;
      case key(what::sub_scale, operand_pair(true, false)):
        m.template combine_twice<op::sub, true, op::mul, false>();
        break;
      case key(what::sub_scale, operand_pair(true, true)):
        m.template combine_twice<op::sub, true, op::mul, true>();
        break;
      case key(what::scale_add, operand_pair(false, false)):
        m.template combine_twice<op::mul, false, op::add, false>();
        break;
      case key(what::scale_add, operand_pair(false, true)):
        m.template combine_twice<op::mul, false, op::add, true>();
        break;
      case key(what::scale_add, operand_pair(true, false)):
        m.template combine_twice<op::mul, true, op::add, false>();
        break;
      case key(what::scale_add, operand_pair(true, true)):
        m.template combine_twice<op::mul, true, op::add, true>();
        break;
      case key(what::scale_sub, operand_pair(false, false)):
        m.template combine_twice<op::mul, false, op::sub, false>();
        break;
      case key(what::scale_sub, operand_pair(false, true)):
        m.template combine_twice<op::mul, false, op::sub, true>();
        break;
      case key(what::scale_sub, operand_pair(true, false)):
        m.template combine_twice<op::mul, true, op::sub, false>();
        break;
      case key(what::scale_sub, operand_pair(true, true)):
        m.template combine_twice<op::mul, true, op::sub, true>();
        break;
      case key(what::subtract_from, operand_pair(false, false)):
        m.template combine_twice<op::mul, false, op::sub, false, true>();
        break;
      case key(what::subtract_from, operand_pair(false, true)):
        m.template combine_twice<op::mul, false, op::sub, true, true>();
        break;
      case key(what::subtract_from, operand_pair(true, false)):
        m.template combine_twice<op::mul, true, op::sub, false, true>();
        break;
      case key(what::subtract_from, operand_pair(true, true)):
        m.template combine_twice<op::mul, true, op::sub, true, true>();
        break;
      case key(what::neg): m.template apply_to_all<op::neg>(); break;
      case key(what::abs): m.template apply_to_all<op::abs>(); break;
      case key(what::relu): m.template apply_to_all<op::relu>(); break;
      case key(what::sqrt): m.template apply_to_all<op::sqrt>(); break;
      case key(what::rsqrt): m.template apply_to_all<op::rsqrt>(); break;
      case key(what::recip): m.template apply_to_all<op::recip>(); break;
      case key(what::multiply_add): m.multiply_add(); break;
      case key(what::add_product): m.add_product(); break;
      case key(what::store): m.store(); break;
      default: break;
    }
  }
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI::exec
