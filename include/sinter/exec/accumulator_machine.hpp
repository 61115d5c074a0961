// SPDX-License-Identifier: MIT
// Runs element-wise regions that were not compiled: their steps, block by block, on an accumulator
// of many registers. One jump per step and block; temporaries are blocks as well and stay in L1.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/elementwise.hpp>
#include <sinter/exec/evaluate_region.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/streamed_row.hpp>
#include <sinter/graph/accumulator_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Half of the registers that there are. The jump to the next step and what it reads cost about what
// three registers do: a chain of eight ops in L2 takes 9.4 us with eight of AVX-512, 8.6 with
// sixteen.
inline constexpr std::size_t accumulator_registers = register_count / 2;

template <Floating T>
inline constexpr std::size_t accumulator_block =
    accumulator_registers * static_cast<std::size_t>(lanes<T>);

template <Floating T>
using accumulator_places = std::array<T*, ir::accumulator_program::max_places>;

// Byte k of a step.
constexpr std::size_t step_part(std::uint32_t word, int k) {
  return word >> (std::endian::native == std::endian::little ? 8 * k : 24 - 8 * k) & 255u;
}

// What a step does with one block; `a` is its first operand.
template <Floating T>
struct accumulator {
  simd<T> all[accumulator_registers];
  const accumulator_places<T>& places;
  std::uint32_t word;  // the step; read at once, since a load takes the time of half a register
  T* a;
  T* streamed;  // where the result goes past the caches, or nullptr

  // Looked up by those who need it.
  [[gnu::always_inline]] T* b() const { return places[step_part(word, 2)]; }

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
    if (a == streamed)
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

// One block: the elements at `places`.
template <Floating T>
[[gnu::always_inline]] inline void run_block(const ir::accumulator_program& program,
                                             accumulator<T>& m) {
  using what = ir::accumulator_op;
  using operand = ir::accumulator_operand;
  using ir::op;
  using ir::operand_pair;
  constexpr auto key = [](auto... of) { return ir::accumulator_code(of...); };
  for (const ir::accumulator_step& step : program.steps) {
    m.word = std::bit_cast<std::uint32_t>(step);
    m.a = m.places[step_part(m.word, 1)];
    switch (step_part(m.word, 0)) {
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

/// Evaluates the region that `program` was made of over n elements, as ir::accumulator_function has
/// it, and gives the same bits as map_kernel. Allocates nothing. Flattened,
/// since GCC leaves parts of xsimd to calls in a function of this size.
template <Floating T>
void accumulator_kernel(const ir::accumulator_program& program, std::int64_t n, ir::run_mode mode,
                        const void* const* operands, void* result) {
  constexpr std::size_t block = detail::accumulator_block<T>;
  constexpr auto elements = static_cast<std::int64_t>(block);
  // Of spread scalars; of what the last elements are read from and written to; of temporaries.
  alignas(64) T memory[ir::accumulator_program::max_places][block];
  detail::accumulator_places<T> places;
  std::array<std::int64_t, ir::region::max_leaves + 1> step;  // of the leaves and the result
  const std::size_t leaves = program.leaf_count;
  for (std::size_t k = 0; k < leaves; ++k) {
    places[k] = static_cast<T*>(const_cast<void*>(operands[k]));  // nobody writes there
    const auto leaf = static_cast<int>(k);
    step[k] = program.is_scalar(leaf) ? 0 : elements;
    if (program.is_spread(leaf)) {
      std::fill_n(memory[k], block, *places[k]);
      places[k] = memory[k];
    }
  }
  for (std::size_t k = leaves + 1; k < places.size(); ++k) places[k] = memory[k];
  places[leaves] = static_cast<T*>(result);
  step[leaves] = elements;

  streamed_part past;
  if (mode.streaming) past = begin_streaming(static_cast<const T*>(result), n);
  detail::accumulator<T> machine{{}, places, 0, nullptr, nullptr};
  detail::accumulator_places<T> here;  // where a part of a block is, which runs in `memory`
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t count = i < past.begin ? past.begin : std::min(n - i, elements);
    const bool whole = count == elements;
    machine.streamed = whole && past.any() ? places[leaves] : nullptr;
    if (!whole) {
      here = places;
      for (std::size_t k = 0; k < leaves; ++k) {
        if (step[k] == 0) continue;
        std::copy_n(here[k], count, memory[k]);
        std::fill(memory[k] + count, memory[k] + block, T(1));
        places[k] = memory[k];
      }
      places[leaves] = memory[leaves];
    }
    // The bursts in which a block is read are no steady stream to the hardware: from DRAM the chain
    // takes 1.5 times what its compiled kernel does without fetching, 1.2 with; in L2 it would cost
    // 8 %.
    for (std::size_t k = 0; k < leaves && whole && mode.fetches(); ++k)
      if (mode.is_fetched(k))
        fetch_lines(reinterpret_cast<const std::byte*>(places[k]) + mode.bytes_ahead(),
                    block * std::int64_t{sizeof(T)});
    detail::run_block<T>(program, machine);
    if (!whole) {
      std::copy_n(memory[leaves], count, here[leaves]);
      places = here;
    }
    for (std::size_t k = 0; k <= leaves; ++k) places[k] += std::min(step[k], count);
    i += count;
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
