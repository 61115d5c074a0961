// SPDX-License-Identifier: MIT
// verify_plan: is a plan file sound? Everything in it is read and checked again from the text
// alone: graph, schedule, memory, tile programs and rewrites, and what the three levels compute for
// small random arguments is compared. Nothing of the planner is used, but to lay out memory once
// more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/exec/interpret_lowered.hpp>
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/verify_lowered.hpp>
#include <sinter/function/code.hpp>
#include <sinter/function/plan_origin.hpp>
#include <sinter/function/read_plan_file.hpp>
#include <sinter/function/replay_rewrite.hpp>
#include <sinter/function/rewrites.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/plan/interpret_schedule.hpp>
#include <sinter/plan/parse_schedule.hpp>
#include <sinter/plan/plan_of_graph.hpp>
#include <sinter/plan/print_schedule.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

/// What a verifier of plans found to be right.
struct plan_verification {
  std::size_t plans = 0, nests = 0;
  /// Rewrites that applying the rule again gave, and those whose two sides had the same values.
  std::size_t replayed = 0, by_value = 0;
  /// What was not checked again: that a rule brought up a value, where it needs more of the e-graph
  /// than what it matched; and rewrites by value of a plan that is too large.
  std::size_t unchecked = 0;
  /// Tile programs that were read and verified.
  std::size_t tile_programs = 0;
  /// Plans whose three levels gave the values of the graph, and those too large to be
  /// interpreted.
  std::size_t computed = 0, too_large = 0;

  std::string to_text() const {
    return std::to_string(plans) + " plans, " + std::to_string(nests) + " nests, " +
           std::to_string(replayed) + " rewrites replayed, " + std::to_string(by_value) +
           " compared by value, " + std::to_string(unchecked) + " not checked, " +
           std::to_string(tile_programs) + " tile programs; " + std::to_string(computed) +
           " plans computed, " + std::to_string(too_large) + " too large for that\n";
  }
};

namespace detail {

// Equalities closed under congruence: two terms of one op with equal operands are equal.
class equal_terms {
 public:
  explicit equal_terms(const ir::graph& terms)
      : terms_(terms), parent_(static_cast<std::size_t>(terms.size())) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  void unite(int a, int b) { parent_[at(find(a))] = find(b); }
  int find(int a) const {
    while (parent_[at(a)] != a) a = parent_[at(a)];
    return a;
  }
  // Until nothing more follows; each pass is one over all terms.
  void close() {
    for (bool changed = true; changed;) {
      changed = false;
      std::map<std::vector<std::int64_t>, int> known;
      for (int id = 0; id < terms_.size(); ++id) {
        std::vector<std::int64_t> key{static_cast<std::int64_t>(terms_[id].code),
                                      static_cast<std::int64_t>(terms_[id].type)};
        std::vector<std::int64_t> operands;
        for (int input : terms_.inputs(id)) operands.push_back(find(input));
        if (ir::info(terms_[id].code).commutative) std::ranges::sort(operands);
        const auto add = [&](const auto& numbers) {
          key.push_back(static_cast<std::int64_t>(numbers.size()));
          key.insert(key.end(), numbers.begin(), numbers.end());
        };
        add(operands);
        add(terms_.attributes(id));
        key.push_back(static_cast<std::int64_t>(terms_.node_dims(id).size()));
        for (ir::dim d : terms_.node_dims(id)) key.push_back(static_cast<std::int64_t>(d.code()));
        const auto [found, is_new] = known.try_emplace(std::move(key), id);
        if (is_new || find(found->second) == find(id)) continue;
        unite(found->second, id);
        changed = true;
      }
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  const ir::graph& terms_;
  std::vector<int> parent_;
};

// Values agree: exactly where nothing is rounded, else to some thousandths of the largest; of those
// that a threshold decides, a few may fall on the other side of it.
inline bool agree(const ir::reference_tensor& got, const ir::reference_tensor& expected) {
  if (got.type != expected.type || got.data.size() != expected.data.size()) return false;
  double scale = 1;
  for (double e : expected.data)
    if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
  const bool narrow = size_of(got.type) < 4;
  const double tolerance = !is_floating(got.type) ? 0 : (narrow ? 0x1p-5 : 1e-4) * scale;
  std::size_t flipped = 0;
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double a = got.data[i], b = expected.data[i];
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance) continue;
    if (++flipped * 20 > got.data.size() || is_integral(got.type)) return false;
  }
  return true;
}

// Elements in their own dtype, row-major.
inline std::vector<std::byte> bytes_of(const ir::reference_tensor& x) {
  std::vector<std::byte> out(x.data.size() * size_of(x.type));
  dispatch(x.type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      T element{};
      if constexpr (std::is_same_v<T, bool>)
        element = x.data[i] != 0;
      else
        element = static_cast<T>(x.data[i]);
      std::memcpy(out.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return out;
}
inline ir::reference_tensor tensor_of(dtype type, const shape_vector& shape,
                                      const std::vector<std::byte>& bytes) {
  ir::reference_tensor out{type, shape, std::vector<double>(bytes.size() / size_of(type))};
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      T element{};
      if constexpr (std::is_same_v<T, bool>)
        element = bytes[i] != std::byte{0};
      else
        std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      out.data[i] = static_cast<double>(element);
    }
  });
  return out;
}

class plan_verifier {
 public:
  explicit plan_verifier(std::span<const ir::custom_op* const> customs)
      : customs_(customs), code_(all_code()) {}

  plan_verification run(std::string_view text) {
    const plan_file file = plan_file_reader(text).read();
    const plan_origin here = this_origin();
    if (file.origin.version != here.version || file.origin.rules != here.rules)
      raise(io_error("verify_plan: the plans are of version " + file.origin.version +
                     " with other rules"));
    for (const program_record& p : file.programs)
      for (const class_record& c : p.classes) check(c);
    return found_;
  }

 private:
  // As much interpretation takes some seconds.
  static constexpr std::int64_t most_work = 30'000'000;
  using tensors = std::vector<ir::reference_tensor>;

  [[noreturn]] static void fail(const std::string& reason) {
    raise(graph_error("verify_plan: " + reason));
  }
  static void require(bool holds, const std::string& reason) {
    if (!holds) fail(reason);
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void check(const class_record& c) {
    const ir::graph bound = ir::parse_bound_graph(c.graph, customs_);
    require(ir::to_text(bound) == c.graph, "the graph is not as it was written");
    int arguments = 0;
    for (int id = 0; id < bound.size(); ++id) {
      if (bound[id].code != ir::op::argument) continue;
      const auto number = static_cast<std::size_t>(bound.attributes(id)[1]);
      require(number < c.shapes.size(), "the graph has an argument that has no shape");
      require(shape_of(bound, id, bound.symbol_values) == c.shapes[number],
              "argument " + std::to_string(number) + " has another shape in the graph");
      arguments = std::max(arguments, static_cast<int>(number) + 1);
    }
    require(at(arguments) == c.shapes.size(), "there are shapes of more arguments");
    for (const ir::output& o : bound.outputs)
      require(o.assigned_argument < 0 || !c.frozen[at(o.assigned_argument)],
              "a frozen argument is assigned");
    for (const plan_record& p : c.plans) check(bound, c.frozen, arguments, p);
  }

  static shape_vector shape_of(const ir::graph& g, int id, std::span<const std::int64_t> symbols) {
    shape_vector out;
    for (ir::dim d : g[id].shape) out.push_back(g.dims.evaluate(d, symbols));
    return out;
  }

  void check(const ir::graph& bound, const std::vector<bool>& frozen, int arguments,
             const plan_record& p) {
    std::vector<planning::schedule> schedules = planning::parse_schedules(p.schedules, customs_);
    std::string again;
    for (const planning::schedule& s : schedules) again += planning::to_text(s);
    require(again == p.schedules, "the schedules are not as they were written");
    require(
        !schedules.empty() && schedules.size() <= 2 && !schedules.back().once &&
            (schedules.size() == 1 || schedules.front().once),
        "there must be a schedule of every call, and before it perhaps one of what is prepared");
    planning::schedule& replay = schedules.back();
    const std::vector<std::int64_t>& symbols = replay.symbols;
    require(schedules.front().symbols == symbols, "the schedules differ in extents");
    require(symbols.size() + (symbols.empty() ? 1 : 0) >= bound.symbol_values.size() &&
                ir::holds(bound, symbols),
            "the extents are not of the class");
    for (std::size_t k = 0; k < bound.outputs.size(); ++k)
      require(
          k < replay.assigned.size() && replay.assigned[k] == bound.outputs[k].assigned_argument,
          "output " + std::to_string(k) + " is assigned in another way");
    require(replay.assigned.size() == bound.outputs.size(), "there are more outputs");
    check_plan_of_graph(bound, arguments, p, schedules);
    check_costs(p, schedules);

    computation values = compute(bound, frozen, schedules);
    check_tile_programs(bound, p, schedules, values);
    check_rewrites(bound, frozen, p, schedules, values);
    ++found_.plans;
    for (const planning::schedule& s : schedules) found_.nests += s.plan.nests.size();
  }

  void check_plan_of_graph(const ir::graph& bound, int arguments, const plan_record& p,
                           const std::vector<planning::schedule>& schedules) {
    planning::plan replay = schedules.back().plan;
    replay.may_alias = p.may_alias;
    planning::require_plan_of(bound, schedules.back().symbols, replay,
                              schedules.size() > 1 ? schedules.front().plan : planning::plan{},
                              arguments);
  }

  void check_costs(const plan_record& p, const std::vector<planning::schedule>& schedules) {
    require(p.cost_bound <= p.cost * (1 + 1e-9), "the bound is above the cost");
    // What frozen arguments let it prepare costs next to nothing per call.
    double takes = 0;
    for (const planning::schedule& each : schedules)
      for (const planning::nest& n : each.plan.nests) takes += n.predicted_nanoseconds;
    require(p.cost <= takes * (1 + 1e-9), "the cost is above that of all nests");
    std::size_t notes = 0;
    for (const planning::schedule& s : schedules)
      for (const planning::nest& n : s.plan.nests) notes += 1 + n.parts.size();
    require(p.notes.size() == notes, "there must be a note for every nest and part");
  }

  // ---- values

  struct computation {
    bool done = false;
    tensors arguments, expected;
    std::vector<tensors> stored;  // by schedule, nest: what its first stores left, see `stores_of`
  };

  static std::int64_t work_of(const ir::graph& bound, std::span<const std::int64_t> symbols,
                              const std::vector<planning::schedule>& schedules) {
    std::int64_t out = 0;
    for (int id = 0; id < bound.size(); ++id)
      out = ir::detail::saturating_add(out, element_count(shape_of(bound, id, symbols)));
    for (const planning::schedule& s : schedules)
      for (const planning::schedule_item& i : s.items)
        out = ir::detail::saturating_add(out, ir::detail::saturating_add(i.flops, i.bytes_read));
    return out;
  }

  // `round` even: numbers of both signs, odd: positive ones.
  static ir::reference_tensor argument(dtype type, const shape_vector& shape, std::uint64_t seed,
                                       int round, bool zeros) {
    ir::reference_tensor out{type, shape, {}};
    const auto count = static_cast<std::size_t>(element_count(shape));
    for (std::size_t i = 0; i < count; ++i) {
      seed = hash_mix(seed + 0x9e3779b97f4a7c15u);
      const double unit = static_cast<double>(seed >> 40) / 16777216.0;
      if (!is_floating(type))
        out.data.push_back(zeros ? 0.0 : static_cast<double>(seed & 1));
      else
        out.data.push_back(static_cast<double>(
            static_cast<bfloat16>(round == 0 && (seed & 3) == 0 ? -(0.25 + unit) : 0.25 + unit)));
    }
    return out;
  }

  computation compute(const ir::graph& bound, const std::vector<bool>&,
                      const std::vector<planning::schedule>& schedules) {
    computation out;
    const std::vector<std::int64_t>& symbols = schedules.back().symbols;
    if (work_of(bound, symbols, schedules) > most_work) {
      ++found_.too_large;
      return out;
    }
    // Without exceptions only with indices that are in range.
    for (int round = has_exceptions ? 0 : 2; round < 4; ++round) {
      out.arguments.clear();
      for (int id = 0; id < bound.size(); ++id) {
        if (bound[id].code != ir::op::argument) continue;
        const auto number = static_cast<std::size_t>(bound.attributes(id)[1]);
        if (out.arguments.size() <= number) out.arguments.resize(number + 1);
        out.arguments[number] = argument(bound[id].type, shape_of(bound, id, symbols), number + 1,
                                         round % 2, round > 1);
      }
      const bool in_range = attempt<index_error>(
          [&] {
            out.expected = ir::interpret(bound, out.arguments);
            return true;
          },
          [](const index_error&) { return false; });
      if (!in_range) {
        round = std::max(round, 1);
        continue;
      }
      const bool says_something = std::ranges::none_of(out.expected, [](const auto& x) {
        return !x.data.empty() &&
               std::ranges::all_of(x.data, [](double e) { return std::isnan(e); });
      });
      out.done = true;
      if (says_something) break;
    }
    if (!out.done) {
      ++found_.too_large;
      return out;
    }
    tensors prepared;
    for (const planning::schedule& s : schedules) {
      planning::schedule_memory memory(s, out.arguments, prepared);
      planning::detail::schedule_interpreter machine(s, memory);
      out.stored.emplace_back();
      for (std::size_t i = 0; i < s.items.size(); ++i) {
        machine.run_item(i);
        const planning::nest& n = s.plan.nests[i];
        const auto keep = [&](const planning::nest& each) {
          out.stored.back().push_back(each.stores.empty()
                                          ? ir::reference_tensor{}
                                          : value_of(memory, each.stores[0].buffer));
        };
        keep(n);
        for (const planning::nest& part : n.parts) keep(part);
      }
      prepared = memory.values(planning::place::prepared);
      if (s.once) continue;
      const tensors got = memory.values(planning::place::output);
      require(got.size() == out.expected.size(), "the schedule leaves other outputs");
      for (std::size_t k = 0; k < got.size(); ++k)
        require(agree(got[k], out.expected[k]),
                "the schedule gives output " + std::to_string(k) + " other values than the graph");
    }
    ++found_.computed;
    return out;
  }

  static ir::reference_tensor value_of(const planning::schedule_memory& memory, int buffer) {
    ir::reference_tensor out{memory.type(buffer), memory.shape(buffer), {}};
    ir::for_each_index(out.shape, [&](const shape_vector& index) {
      out.data.push_back(memory.read(buffer, index));
    });
    return out;
  }

  // ---- tile programs

  void check_tile_programs(const ir::graph& bound, const plan_record& p,
                           const std::vector<planning::schedule>& schedules,
                           const computation& values) {
    if (p.tile_programs.empty()) return;
    require(p.tile_programs.size() == schedules.size(),
            "there are tile programs for each schedule");
    // Regions that only the function's own code has are interpreted: nobody calls their kernel.
    std::vector<ir::instruction> instructions = code_.instructions;
    for (const planning::schedule& s : schedules)
      for (ir::instruction each : *s.fused) {
        each.run = [](std::int64_t, const void* const*, void*) {};
        each.sum = each.max = [](std::int64_t, const void* const*, void*, void*) {};
        each.column_sum =
            each.column_max = [](std::int64_t, std::int64_t, const void* const*, void*) {};
        instructions.push_back(each);
      }
    std::vector<exec::lowered_plan> plans;
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      plans.push_back(
          exec::parse_lowered(p.tile_programs[i], {&code_.kernels, instructions, customs_}));
      require(exec::to_text(plans.back()) == p.tile_programs[i],
              "the tile programs are not as they were written");
      exec::verify_lowered(plans.back());
      require(plans.back().nests.size() == schedules[i].plan.nests.size(),
              "there are tile programs for each nest");
      check_buffers(plans.back(), schedules[i]);
      found_.tile_programs += plans.back().nests.size();
    }
    if (values.done) run(plans, bound, schedules, values);
  }

  static void check_buffers(const exec::lowered_plan& lowered, const planning::schedule& s) {
    bool same = lowered.arena_bytes == s.plan.arena_bytes &&
                lowered.buffers.size() == s.plan.buffers.size();
    for (std::size_t i = 0; same && i < lowered.buffers.size(); ++i) {
      const exec::lowered_buffer& b = lowered.buffers[i];
      const planning::buffer& own = s.plan.buffers[i];
      same = b.place == own.place && b.number == own.number && b.type == own.type &&
             b.offset == own.offset && b.bytes == own.bytes &&
             b.shape == planning::evaluate_shape(s.plan.dims, own.shape, s.symbols) &&
             b.strides == s.layouts[i].strides;
    }
    require(same, "tile programs have other buffers than the schedule");
  }

  void run(const std::vector<exec::lowered_plan>& plans, const ir::graph& bound,
           const std::vector<planning::schedule>& schedules, const computation& values) {
    // Exported for arguments that lie apart: their memory is not made here.
    for (const planning::schedule& s : schedules)
      for (std::size_t b = 0; b < s.plan.buffers.size(); ++b)
        if (s.plan.buffers[b].place == planning::place::argument &&
            s.layouts[b].strides != row_major_strides(planning::evaluate_shape(
                                        s.plan.dims, s.plan.buffers[b].shape, s.symbols)))
          return;
    std::vector<std::vector<std::byte>> arguments, outputs, prepared;
    for (const ir::reference_tensor& x : values.arguments) arguments.push_back(bytes_of(x));
    std::vector<const void*> in;
    for (const auto& each : arguments) in.push_back(each.data());
    std::vector<void*> out;
    for (std::size_t k = 0; k < bound.outputs.size(); ++k)
      outputs.push_back(std::vector<std::byte>(values.expected[k].data.size() *
                                               size_of(values.expected[k].type)));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const int assigned = bound.outputs[k].assigned_argument;
      out.push_back(assigned >= 0 ? arguments[at(assigned)].data() : outputs[k].data());
    }
    const planning::schedule& first = schedules.front();
    if (first.once)
      for (const planning::buffer& b : first.plan.buffers)
        if (b.place == planning::place::prepared) {
          if (prepared.size() <= at(b.number)) prepared.resize(at(b.number) + 1);
          prepared[at(b.number)].resize(planning::buffer_bytes(first.plan, b, first.symbols));
        }
    std::vector<std::byte*> kept;
    for (auto& each : prepared) kept.push_back(each.data());
    for (const exec::lowered_plan& each : plans)
      exec::interpret_lowered(
          each, in, &each == &plans.back() ? std::span<void* const>(out) : std::span<void* const>{},
          kept);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const int assigned = bound.outputs[k].assigned_argument;
      const ir::reference_tensor got =
          tensor_of(values.expected[k].type, values.expected[k].shape,
                    assigned >= 0 ? arguments[at(assigned)] : outputs[k]);
      require(agree(got, values.expected[k]), "the tile programs give output " + std::to_string(k) +
                                                  " other values than the graph");
    }
  }

  // ---- rewrites

  void check_rewrites(const ir::graph& bound, const std::vector<bool>& frozen, const plan_record& p,
                      const std::vector<planning::schedule>& schedules, const computation& values) {
    if (p.rewrites.empty()) return;
    const rewrites read = rewrites_reader(p.rewrites, customs_).read();
    require(read.nests.size() == p.notes.size(), "rewrites: there must be some for every nest");
    require(read.terms.symbol_values == bound.symbol_values, "rewrites: other extents");
    const std::vector<int> traced = numbers_in(read.terms, bound);
    tensors of_terms;
    if (values.done) of_terms = ir::interpret_all(read.terms, values.arguments);
    const ir::fixed_inputs fixed(bound, frozen);
    const rewrite_replay replay(read.terms, fixed);
    std::vector<const ir::reference_tensor*> stored;
    for (const auto& schedule : values.stored)
      for (const ir::reference_tensor& x : schedule) stored.push_back(&x);
    std::vector<bool> comparable;
    for (const planning::schedule& s : schedules)
      for (const planning::nest& n : s.plan.nests) {
        comparable.push_back(n.kind != planning::nest_kind::pack && n.stores.size() == 1);
        for (const planning::nest& part : n.parts) comparable.push_back(part.stores.size() == 1);
      }
    for (std::size_t i = 0; i < read.nests.size(); ++i) {
      const std::string who = "rewrites of nest " + std::to_string(i) + ": ";
      const std::vector<rewrite_link>& links = read.nests[i];
      require(links.empty() == p.notes[i].enodes.empty(), who + "there are none");
      for (std::size_t l = 0; l < links.size(); ++l) {
        const rewrite_link& link = links[l];
        if (l == 0)
          require(std::ranges::find(traced, link.from) != traced.end(),
                  who + "they do not start from what was traced");
        else if (!links[l - 1].then_unchecked)
          require(replay.brings_up(links[l - 1].then, links[l - 1].to, link.from),
                  who + "the rule does not bring up the value");
        else
          ++found_.unchecked;
        require((l + 1 == links.size()) == link.then.empty(), who + "they end too early");
        equal_terms equal(read.terms);
        for (const rewrite& s : link.steps) {
          check(replay, s, of_terms, who);
          equal.unite(s.left, s.right);
        }
        equal.close();
        require(equal.find(link.from) == equal.find(link.to),
                who + "the two terms do not become equal");
      }
      if (links.empty() || !values.done || !comparable[i]) continue;
      require(stored[i]->data.size() == of_terms[at(links.back().to)].data.size() &&
                  agree({stored[i]->type, of_terms[at(links.back().to)].shape, stored[i]->data},
                        of_terms[at(links.back().to)]),
              who + "the nest computes another value");
    }
  }

  // By node of the graph: which of the terms it is. Those that are none get numbers behind.
  static std::vector<int> numbers_in(ir::graph terms, const ir::graph& bound) {
    std::vector<ir::dim> symbols;
    for (std::size_t i = 0; i < bound.symbol_values.size(); ++i)
      symbols.push_back(terms.dims.symbol(static_cast<std::int64_t>(i)));
    std::vector<int> out;
    for (int id = 0; id < bound.size(); ++id) {
      std::vector<int> in;
      for (int input : bound.inputs(id)) in.push_back(out[at(input)]);
      std::vector<std::int64_t> attributes(bound.attributes(id).begin(),
                                           bound.attributes(id).end());
      if (ir::is_custom(bound[id].code))
        attributes[0] = terms.custom_number(bound.customs[static_cast<std::size_t>(attributes[0])]);
      std::vector<ir::dim> dims;
      for (ir::dim d : bound.node_dims(id))
        dims.push_back(terms.dims.substitute(bound.dims, d, symbols));
      out.push_back(ir::append(terms, bound[id].code, in, attributes, dims));
    }
    return out;
  }

  void check(const rewrite_replay& replay, const rewrite& s, const tensors& of_terms,
             const std::string& who) {
    require(s.name.empty() || replay.knows(s.name), who + "there is no rule '" + s.name + "'");
    if (!s.by_value) {
      require(replay.gives(s.name, s.left, s.right), who + "rule '" + s.name + "' does not give %" +
                                                         std::to_string(s.right) + " for %" +
                                                         std::to_string(s.left));
      ++found_.replayed;
      return;
    }
    if (of_terms.empty()) {
      ++found_.unchecked;
      return;
    }
    require(agree(of_terms[at(s.left)], of_terms[at(s.right)]),
            who + "the values of %" + std::to_string(s.left) + " and %" + std::to_string(s.right) +
                " differ");
    ++found_.by_value;
  }

  std::span<const ir::custom_op* const> customs_;
  program_code code_;
  plan_verification found_;
};

}  // namespace detail

/// Checks a text that export_plan gave, or the contents of a file that save_plans wrote, and says
/// what was checked. Throws io_error for a text that is damaged, of another version or with other
/// rules (processor and instruction set may be others'), graph_error for one that is not sound,
/// saying where. `customs`: the custom ops that the text may name (sinter::custom_ops). Takes
/// seconds where the extents are large; beyond some 30 million operations values are not compared.
inline plan_verification verify_plan(std::string_view text,
                                     std::span<const ir::custom_op* const> customs = {}) {
  return detail::plan_verifier(customs).run(text);
}

}  // namespace sinter::inline SINTER_ABI
