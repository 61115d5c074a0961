// SPDX-License-Identifier: MIT
// The order of nests. Operands come before their users already; what is added here is that an
// assigned argument is overwritten only after everything that reads its old value, and that no
// output is written before all indices are known to be in range; through a temporary where no such
// order exists.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning {

// May the nest write its result over this operand's memory? Only if element i of the result is the
// last thing that needs element i of the operand: one store, at the end of the program, and plain
// loads. (A product then needs product_in_scratch.)
inline bool may_overwrite(const nest& n, int operand_buffer) {
  const bool product = n.kind == nest_kind::matmul;
  if ((n.kind != nest_kind::tile && !product) || n.stores.size() != 1 || !n.axis_order.empty())
    return false;
  if (product && (n.accesses[0].buffer == operand_buffer || n.accesses[1].buffer == operand_buffer))
    return false;
  if (n.stores[0].step != static_cast<int>(n.body.size()) - 1) return false;
  const step& result = n.body[static_cast<std::size_t>(n.stores[0].step)];
  if (n.inner_axes != 0 && result.level != level::full) return false;
  for (const step& s : n.body) {
    if (s.access < 0 || n.accesses[static_cast<std::size_t>(s.access)].buffer != operand_buffer)
      continue;
    const access& a = n.accesses[static_cast<std::size_t>(s.access)];
    if (s.kind != step_kind::load || s.level != level::full || !a.steps.empty() ||
        !(a.shape == n.space) || s.type != result.type)
      return false;
  }
  return true;
}

// The part of a grouped nest that writes the buffer; of others, the nest itself.
inline nest& writing_part(nest& n, int buffer) {
  for (nest& part : n.parts)
    for (const store& s : part.stores)
      if (s.buffer == buffer) return part;
  return n;
}

// Calls visit(number of the buffer) for everything the nest reads.
template <class Visitor>
void for_each_read(const nest& n, Visitor visit) {
  for (const access& a : n.accesses) visit(a.buffer);
}

inline bool reads(const nest& n, int buffer) {
  bool found = false;
  for_each_read(n, [&](int b) { found = found || b == buffer; });
  return found;
}

// May the nest write `written` over an operand's memory? See above; the other parts of a grouped
// nest run beside the one that writes, so they must not read it.
inline bool may_write_over(nest& n, int written, int operand) {
  const nest& writer = writing_part(n, written);
  for (const nest& part : n.parts)
    if (&part != &writer && reads(part, operand)) return false;
  return may_overwrite(writer, operand);
}

// Does the nest check indices that are computed by other nests? (Indices that are arguments are
// checked before the first nest runs.)
inline bool checks_indices(const plan& p, const nest& n) {
  return (n.kind == nest_kind::gather || n.kind == nest_kind::scatter_add) &&
         p.buffers[static_cast<std::size_t>(n.accesses[1].buffer)].place != place::argument;
}

class scheduler {
 public:
  // assigned[k]: the argument whose storage output k is, or -1.
  scheduler(plan& p, std::span<const int> assigned)
      : plan_(p), assigned_(assigned.begin(), assigned.end()) {}

  void run() {
    for (std::size_t i = 0; i < plan_.nests.size(); ++i)
      if (!writes_in_place(plan_.nests[i])) divert(i);
    while (!order()) {
    }
  }

 private:
  bool is_argument(int buffer, int number) const {
    const planning::buffer& b = plan_.buffers[static_cast<std::size_t>(buffer)];
    return b.place == place::argument && b.number == number;
  }

  // The argument whose storage the buffer is written to, or -1.
  int overwritten_argument(int written) const {
    const planning::buffer& b = plan_.buffers[static_cast<std::size_t>(written)];
    return b.place == place::output ? assigned_[static_cast<std::size_t>(b.number)] : -1;
  }

  // May the nest overwrite the arguments it reads and is assigned to? Sets how products do so.
  bool writes_in_place(nest& n) const {
    for (const store& s : n.stores) {
      const int argument = overwritten_argument(s.buffer);
      if (argument < 0) continue;
      for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
        if (!is_argument(b, argument) || !reads(n, b)) continue;
        if (!may_write_over(n, s.buffer, b)) return false;
        nest& writer = writing_part(n, s.buffer);
        writer.product_in_scratch = writer.kind == nest_kind::matmul;
      }
    }
    return true;
  }

  bool writes_output(const nest& n) const {
    return std::ranges::any_of(n.stores, [&](const store& s) {
      return plan_.buffers[static_cast<std::size_t>(s.buffer)].place == place::output;
    });
  }

  // Nest i computes into a temporary, and a copy at the end moves that into the output. Whoever
  // read the output buffer (as an ordinary intermediate value) reads the temporary.
  void divert(std::size_t i) {
    for (std::size_t k = 0; k < plan_.nests[i].stores.size(); ++k) {
      const int target = plan_.nests[i].stores[k].buffer;
      const planning::buffer out = plan_.buffers[static_cast<std::size_t>(target)];
      if (out.place != place::output) continue;
      // All names of that output (an alias chain has several) become names of the temporary.
      plan_.buffers.push_back(out);
      const int copied = static_cast<int>(plan_.buffers.size()) - 1;
      for (int b = 0; b < copied; ++b) {
        planning::buffer& each = plan_.buffers[static_cast<std::size_t>(b)];
        if (each.place == place::output && each.number == out.number) each.place = place::arena;
      }
      nest n;
      n.kind = nest_kind::tile;
      n.space = out.shape;
      n.accesses.push_back({target, out.shape, {}});
      step load{out.shape.empty() ? step_kind::scalar : step_kind::load, level::full, out.type};
      load.access = 0;
      n.body.push_back(load);
      n.stores.push_back({0, copied});
      n.predicted_nanoseconds = 200;  // small: what is diverted is rarely large
      plan_.nests.push_back(std::move(n));
    }
  }

  // Kahn's algorithm, earliest nest first. Returns false after it had to divert a nest to break a
  // cycle.
  bool order() {
    const std::size_t count = plan_.nests.size();
    std::vector<std::vector<std::size_t>> after(count);
    std::vector<int> waiting(count, 0);
    const auto edge = [&](std::size_t from, std::size_t to) {
      if (from == to) return;
      after[from].push_back(to);
      ++waiting[to];
    };
    std::vector<std::vector<std::size_t>> readers(plan_.buffers.size());
    std::vector<std::vector<std::size_t>> readers_of_argument;
    std::vector<std::size_t> checking;
    for (std::size_t r = 0; r < count; ++r) {
      if (checks_indices(plan_, plan_.nests[r])) checking.push_back(r);
      for_each_read(plan_.nests[r], [&](int b) {
        readers[static_cast<std::size_t>(b)].push_back(r);
        const planning::buffer& own = plan_.buffers[static_cast<std::size_t>(b)];
        if (own.place != place::argument) return;
        const auto number = static_cast<std::size_t>(own.number);
        if (readers_of_argument.size() <= number) readers_of_argument.resize(number + 1);
        readers_of_argument[number].push_back(r);
      });
    }
    for (std::size_t w = 0; w < count; ++w) {
      if (writes_output(plan_.nests[w]))
        for (std::size_t c : checking) edge(c, w);
      for (const store& s : plan_.nests[w].stores) {
        for (std::size_t r : readers[static_cast<std::size_t>(s.buffer)]) edge(w, r);
        const auto argument = static_cast<std::size_t>(overwritten_argument(s.buffer));
        if (argument < readers_of_argument.size())
          for (std::size_t r : readers_of_argument[argument]) edge(r, w);
      }
    }
    std::vector<std::size_t> sequence;
    std::vector<bool> done(count, false);
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < count; ++i)
      if (waiting[i] == 0) ready.push(i);
    while (sequence.size() < count) {
      if (ready.empty()) {
        for (std::size_t i = 0; i < count; ++i)
          if (!done[i] && writes_output(plan_.nests[i])) {
            divert(i);
            return false;
          }
        raise(graph_error("plan: the nests depend on each other in a circle"));
      }
      const std::size_t next = ready.top();
      ready.pop();
      done[next] = true;
      sequence.push_back(next);
      for (std::size_t i : after[next])
        if (--waiting[i] == 0) ready.push(i);
    }
    std::vector<nest> sorted;
    sorted.reserve(count);
    for (std::size_t i : sequence) sorted.push_back(std::move(plan_.nests[i]));
    plan_.nests = std::move(sorted);
    return true;
  }

  plan& plan_;
  std::vector<int> assigned_;
};

}  // namespace sinter::inline SINTER_ABI::planning
