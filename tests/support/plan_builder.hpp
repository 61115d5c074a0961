// SPDX-License-Identifier: MIT
// Plans written by hand, for tests of the executor: a few lines per nest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <sinter/exec/executor.hpp>

namespace plan_builder {

using sinter::dtype;
using sinter::ir::dim;
using sinter::ir::op;
using sinter::ir::symbolic_shape;
using sinter::planning::access;
using sinter::planning::level;
using sinter::planning::nest;
using sinter::planning::nest_kind;
using sinter::planning::place;
using sinter::planning::plan;
using sinter::planning::step;
using sinter::planning::step_kind;
using sinter::planning::view_step;

inline symbolic_shape shape(std::initializer_list<dim> extents) {
  return symbolic_shape(extents.begin(), extents.end());
}

inline int add_buffer(plan& p, place where, int number, dtype type, const symbolic_shape& extents,
                      std::int64_t room = 0) {
  sinter::planning::buffer b;
  b.place = where;
  b.number = number;
  b.type = type;
  b.shape = extents;
  if (where == place::arena) {
    b.offset = p.arena_bytes;
    b.bytes = (static_cast<std::size_t>(room) * sinter::size_of(type) + 63) / 64 * 64;
    p.arena_bytes += b.bytes;
  }
  p.buffers.push_back(b);
  return static_cast<int>(p.buffers.size()) - 1;
}

inline access whole(const plan& p, int buffer) {
  access a;
  a.buffer = buffer;
  a.shape = p.buffers[static_cast<std::size_t>(buffer)].shape;
  return a;
}

// The access through one more movement op, seen as `result`.
inline access through(access a, op code, const symbolic_shape& result,
                      std::initializer_list<std::int64_t> attributes = {},
                      std::initializer_list<dim> dims = {}) {
  view_step s;
  s.code = code;
  s.operand = a.shape;
  s.result = result;
  for (std::int64_t v : attributes) s.attributes.push_back(v);
  for (dim d : dims) s.dims.push_back(d);
  a.steps.insert(a.steps.begin(), s);
  a.shape = result;
  return a;
}

inline access broadcast(access a, const symbolic_shape& result) {
  return through(std::move(a), op::broadcast_to, result);
}

// Builds the body of one nest.
struct body {
  nest n;

  explicit body(const symbolic_shape& space, nest_kind kind = nest_kind::tile) {
    n.kind = kind;
    n.space = space;
    n.predicted_nanoseconds = 1e9;  // so that the tests run the parallel code
    n.label = "test";
  }

  int push(step s) {
    n.body.push_back(std::move(s));
    return static_cast<int>(n.body.size()) - 1;
  }
  int load(const access& a, dtype type, level where = level::full) {
    n.accesses.push_back(a);
    step s;
    s.kind = a.shape.empty() && !n.space.empty() ? step_kind::scalar : step_kind::load;
    s.level = where;
    s.type = type;
    s.access = static_cast<int>(n.accesses.size()) - 1;
    return push(s);
  }
  int constant(double value, dtype type, level where = level::full) {
    step s;
    s.kind = step_kind::constant;
    s.level = where;
    s.type = type;
    s.constant =
        type == dtype::i64 ? static_cast<std::int64_t>(value) : std::bit_cast<std::int64_t>(value);
    return push(s);
  }
  int map(op code, dtype type, std::initializer_list<int> operands, level where = level::full) {
    step s;
    s.kind = step_kind::map;
    s.level = where;
    s.type = type;
    s.code = code;
    for (int o : operands) s.operands.push_back(o);
    return push(s);
  }
  int fused(const sinter::ir::instruction& instruction, std::initializer_list<int> operands,
            level where = level::full) {
    const int i = map(op::add, instruction.structure.type, operands, where);
    n.body.back().fused = &instruction;
    return i;
  }
  int reduce(op code, dtype type, int operand) {
    step s;
    s.kind = step_kind::reduce;
    s.level = level::row;
    s.type = type;
    s.code = code;
    s.operands.push_back(operand);
    return push(s);
  }
  int spread(int operand) {
    step s;
    s.kind = step_kind::spread;
    s.type = n.body[static_cast<std::size_t>(operand)].type;
    s.operands.push_back(operand);
    return push(s);
  }
  int product(const access& a, const access& b, dtype type) {
    n.accesses.insert(n.accesses.begin(), {a, b});
    step s;
    s.kind = step_kind::product;
    s.type = type;
    return push(s);
  }
  void store(int from, int buffer) { n.stores.push_back({from, buffer}); }
  void finish(plan& p) { p.nests.push_back(n); }
};

// x row-major, values in [-1, 1) that depend on the seed alone.
inline std::vector<float> values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& v : out) v = uniform(engine);
  return out;
}

template <class... T>
std::vector<const void*> pointers(const T&... vectors) {
  return {static_cast<const void*>(vectors.data())...};
}

inline void run(sinter::exec::executor& e, std::vector<const void*> arguments,
                std::vector<void*> outputs) {
  e.run(arguments, outputs);
}

}  // namespace plan_builder
