// SPDX-License-Identifier: MIT
// The verifier of schedules: what the optimizer makes passes, and every kind of field that is
// changed is found, with the item or buffer and the field in the message.
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/named_nests.hpp"
#include "support/schedule_graph.hpp"
#include <sinter/plan/verify_schedule.hpp>

namespace schedule_verify_test {

namespace {

using namespace std::string_literals;
using sinter::planning::schedule;

schedule schedule_named(const std::string& name) {
  static const sinter::program_code code = sinter::detail::all_code();
  for (const test_support::named_graph& each : test_support::named_graphs()) {
    if (each.name != name) continue;
    const sinter::ir::graph graph = test_support::graph_of(each);
    sinter::program p(graph, code);
    return test_support::schedules_of(p, test_support::arguments_of(graph), each.frozen).back();
  }
  throw sinter::graph_error("no graph " + name);
}

std::string fault(const schedule& s) {
  try {
    sinter::planning::verify_schedule(s);
  } catch (const sinter::error& e) {
    return e.what();
  }
  return "";
}

struct mutation {
  std::string expected;  // in the message
  std::function<void(schedule&)> apply;
};

void check_all(const std::string& name, const std::vector<mutation>& all) {
  const schedule sound = schedule_named(name);
  REQUIRE(fault(sound) == "");
  for (const mutation& each : all) {
    schedule s = sound;
    each.apply(s);
    CAPTURE(name);
    CAPTURE(each.expected);
    const std::string message = fault(s);
    CAPTURE(message);
    CHECK(message.find(each.expected) != std::string::npos);
  }
}

// The first item of a kind.
std::size_t find(const schedule& s, sinter::planning::nest_kind kind) {
  for (std::size_t i = 0; i < s.plan.nests.size(); ++i)
    if (s.plan.nests[i].kind == kind) return i;
  throw sinter::graph_error("no such nest");
}

using kind = sinter::planning::nest_kind;
using sinter::planning::loop;
using sinter::planning::mapped_to;

}  // namespace

TEST_CASE("loops: every axis once, every piece inside of the one before") {
  const auto body = [](schedule& s) -> sinter::planning::iteration& {
    return s.items[0].iterations[0];
  };
  check_all(
      "rows",
      {{"item 0, iteration body 0 axis 1: is in no loop",
        [&](schedule& s) { body(s).loops.pop_back(); }},
       {"loop 1 axes: an axis is mapped twice",
        [&](schedule& s) { body(s).loops[1].axes.push_back(0); }},
       {"loop 0 axes: there is no such axis", [&](schedule& s) { body(s).loops[0].axes[0] = 7; }},
       {"walked as one",
        [&](schedule& s) {
          body(s).loops[0].axes = {0, 1};
          body(s).loops[1].axes.clear();
        }},
       {"loop 2 axes: there are none to walk",
        [&](schedule& s) {
          body(s).loops.push_back(body(s).loops[0]), body(s).loops[2].axes = {};
        }},
       {"loops: come in another order",
        [&](schedule& s) { std::swap(body(s).loops[0], body(s).loops[1]); }},
       {"axis 0 extent", [&](schedule& s) { body(s).axes[0].extent = sinter::ir::dim(201); }},
       {"axis 1 role",
        [&](schedule& s) { body(s).axes[1].role = sinter::planning::axis_role::parallel; }},
       {"axis 1 name", [&](schedule& s) { body(s).axes[1].name = body(s).axes[0].name; }},
       {"level 0 step", [&](schedule& s) { body(s).loops[0].levels[0].step = 0; }},
       {"level 0 step", [&](schedule& s) { body(s).loops[0].levels[0].step = 1 << 20; }},
       {"level 1 step", [&](schedule& s) { body(s).loops[0].levels[1].step = 1 << 20; }},
       {"level 0 mapping: threads would",
        [&](schedule& s) { body(s).loops[0].levels[0].to = mapped_to::serial; }},
       {"level 1 mapping",
        [&](schedule& s) { body(s).loops[0].levels[1].to = mapped_to::threads; }},
       {"level 0 mapping",
        [&](schedule& s) { body(s).loops[1].levels[0].to = mapped_to::threads; }},
       {"level 2 mapping", [&](schedule& s) { body(s).loops[1].levels[2].to = mapped_to::serial; }},
       {"lanes are mapped twice",
        [&](schedule& s) {
          body(s).loops[0].levels = {sinter::planning::loop_level{mapped_to::threads, 32},
                                     {mapped_to::serial, 32},
                                     {mapped_to::lanes, 4}};
        }},
       {"iteration body 0: is missing", [&](schedule& s) { s.items[0].iterations.clear(); }},
       {"the nest has no such work",
        [&](schedule& s) { body(s).work = sinter::planning::work_kind::copy; }},
       {"is there twice",
        [&](schedule& s) { s.items[0].iterations.push_back(s.items[0].iterations[0]); }}});
}

TEST_CASE("reductions and hints") {
  const auto first = [](schedule& s) -> sinter::planning::reduction_plan& {
    return s.items[0].reductions[0];
  };
  check_all(
      "rows",
      {{"item 0, reduction 0 iteration", [&](schedule& s) { first(s).iteration = 3; }},
       {"reduction 0 step", [&](schedule& s) { first(s).step = 0; }},
       {"reduction 1: reductions come in the order of their steps",
        [&](schedule& s) { std::swap(first(s), s.items[0].reductions[1]); }},
       {"reduction 1 step: is planned twice",
        [&](schedule& s) { s.items[0].reductions[1].step = first(s).step; }},
       {"reduction 0 monoid", [&](schedule& s) { first(s).monoid = sinter::ir::op::reduce_prod; }},
       {"reduction 0 block", [&](schedule& s) { first(s).block = 0; }},
       {"reduction 0 accumulators", [&](schedule& s) { first(s).accumulators = 0; }},
       {"reduction 0 accumulators", [&](schedule& s) { first(s).accumulators = 1 << 20; }},
       {"reduction 0 order", [&](schedule& s) { first(s).accumulators = 1; }},
       {"reduction 0 partials: 2 stated, 1 computed", [&](schedule& s) { first(s).partials = 2; }},
       {"has no plan", [&](schedule& s) { s.items[0].reductions.clear(); }}});
  check_all("rows",
            {{"item 0, hint 0 buffer", [&](schedule& s) { s.items[0].hints[0].buffer = 1000; }},
             {"hint 0 bytes: no tile", [&](schedule& s) { s.items[0].hints[0].bytes += 4; }},
             {"hint 0 bytes", [&](schedule& s) { s.items[0].hints[0].bytes = 0; }},
             {"hint 0 kind",
              [&](schedule& s) { s.items[0].hints[0].kind = sinter::planning::hint_kind::pack; }}});
  check_all("columns", {{"partials", [&](schedule& s) { first(s).partials += 1; }},
                        {"level 0 mapping: threads share",
                         [&](schedule& s) { s.items[0].reductions[0].partials = 1; }}});
}

TEST_CASE("sums of rows") {
  // The first one, which the tables of stores and reductions both have.
  const auto sum = [](schedule& s) -> sinter::planning::store& {
    return *std::ranges::find_if(s.plan.nests[0].stores, &sinter::planning::store::summed);
  };
  const auto plan = [&](schedule& s) -> sinter::planning::reduction_plan& {
    return *std::ranges::find(s.items[0].reductions, sum(s).step,
                              &sinter::planning::reduction_plan::step);
  };
  check_all(
      "rows that are summed up",
      {{"the buffer has another number of elements", [&](schedule& s) { sum(s).summed = false; }},
       {"the buffer has another number of elements",
        [&](schedule& s) { s.plan.nests[0].stores[0].summed = true; }},
       {"sums are of nests over rows", [&](schedule& s) { s.plan.nests[0].inner_axes = 0; }},
       {"sums are of nests over rows",
        [&](schedule& s) {
          s.plan.nests[0].axis_order = {0, 1};
        }},
       {"sums are of values per element",
        [&](schedule& s) {
          auto& body = s.plan.nests[0].body;
          sum(s).step =
              static_cast<int>(std::ranges::find(body, sinter::planning::step_kind::reduce,
                                                 &sinter::planning::step::kind) -
                               body.begin());
        }},
       {"is no reduction", [&](schedule& s) { plan(s).step = 1 << 20; }},
       {"has no plan",
        [&](schedule& s) {
          auto& all = s.items[0].reductions;
          all.erase(all.begin() + (&plan(s) - all.data()));
        }},
       {"monoid", [&](schedule& s) { plan(s).monoid = sinter::ir::op::reduce_max; }},
       {"block", [&](schedule& s) { plan(s).block = 0; }},
       {"partials: ", [&](schedule& s) { ++plan(s).partials; }},
       {"flops", [&](schedule& s) { s.items[0].flops -= 700 * 70; }}});
  check_all("columns", {{"nothing is summed up",
                         [](schedule& s) { s.plan.nests[0].stores[0].summed = true; }}});
}

TEST_CASE("the second value of a column stands beside the reduction of the same") {
  using sinter::planning::step_kind;
  const auto body = [](schedule& s) -> std::vector<sinter::planning::step>& {
    for (sinter::planning::nest& n : s.plan.nests)
      if (sinter::planning::second_of_pair(n) != nullptr) return n.body;
    throw sinter::graph_error("no such nest");
  };
  const auto second = [&](schedule& s) -> sinter::planning::step& { return body(s).back(); };
  check_all("mean and variance of columns",
            {{"one value stands beside the reduction",
              [&](schedule& s) { body(s).push_back(second(s)); }},
             {"a column nest has one reduction",
              [&](schedule& s) { second(s) = body(s)[body(s).size() - 2]; }},
             {"%2 level", [&](schedule& s) { second(s).level = sinter::planning::level::full; }},
             {"%2 dtype", [&](schedule& s) { second(s).type = sinter::dtype::f64; }},
             {"%2 dtype", [&](schedule& s) { second(s).type = sinter::dtype::i32; }},
             {"%2 operands", [&](schedule& s) { second(s).operands.clear(); }},
             {"stands without the sum", [&](schedule& s) { second(s).operands[0] = 1; }},
             {"stands without the sum",
              [&](schedule& s) { body(s)[1].code = sinter::ir::op::reduce_max; }}});
  check_all(
      "exponentials of columns",
      {{"one value stands beside", [&](schedule& s) { body(s).push_back(second(s)); }},
       {"%2 level", [&](schedule& s) { second(s).level = sinter::planning::level::full; }},
       {"%2 dtype", [&](schedule& s) { second(s).type = sinter::dtype::f64; }},
       {"stands without the max",
        [&](schedule& s) { body(s)[1].code = sinter::ir::op::reduce_sum; }},
       {"stands without the sum", [&](schedule& s) { second(s).kind = step_kind::deviations; }}});
  check_all("rows", {{"is of column nests alone",
                      [&](schedule& s) { s.plan.nests[0].body[1].kind = step_kind::exponentials; }},
                     {"stands without the sum",
                      [&](schedule& s) { s.plan.nests[0].body[1].kind = step_kind::deviations; }},
                     {"is of rows, and there are none", [&](schedule& s) {
                        s.plan.nests[0].body[1].kind = step_kind::deviations;
                        s.plan.nests[0].inner_axes = 0;
                      }}});
}

TEST_CASE("work, time, order and memory") {
  const std::string name = "a step of training";
  const auto last = [](schedule& s) -> sinter::planning::schedule_item& { return s.items.back(); };
  const auto arena = [](schedule& s) -> sinter::planning::buffer& {
    return s.plan.buffers[static_cast<std::size_t>(s.allocations.at(0).buffer)];
  };
  check_all(name,
            {{"item 0, flops", [](schedule& s) { s.items[0].flops += 1; }},
             {"item 0, bytes read", [](schedule& s) { s.items[0].bytes_read -= 4; }},
             {"item 0, bytes written", [](schedule& s) { s.items[0].bytes_written = 0; }},
             {"nanoseconds", [](schedule& s) { s.plan.nests[0].predicted_nanoseconds += 0.5; }},
             {"nanoseconds: is no time",
              [](schedule& s) { s.plan.nests.back().predicted_nanoseconds = -1; }},
             {"critical path, nanoseconds", [](schedule& s) { s.critical.nanoseconds *= 2; }},
             {"critical path, items", [](schedule& s) { s.critical.items.pop_back(); }},
             {"dependencies: does not wait", [&](schedule& s) { last(s).depends_on.clear(); }},
             {"dependency 0 item",
              [&](schedule& s) { last(s).depends_on[0].item = static_cast<int>(s.items.size()); }},
             {"dependency 0", [&](schedule& s) { last(s).depends_on[0].buffer = 1000; }},
             {"dependency 0: is there twice",
              [&](schedule& s) {
                const auto first = last(s).depends_on[0];
                last(s).depends_on.push_back(first);
              }},
             {"dependency 0: there is nothing",
              [&](schedule& s) {
                last(s).depends_on[0].kind = sinter::planning::dependency_kind::order;
              }},
             {"lifetime: is missing", [](schedule& s) { s.allocations.pop_back(); }},
             {"first item", [](schedule& s) { s.allocations[0].first += 1; }},
             {"last item", [](schedule& s) { s.allocations[0].last -= 1; }},
             {"group", [](schedule& s) { s.allocations[0].group = 9; }},
             {"offset: is not aligned", [&](schedule& s) { arena(s).offset += 4; }},
             {"offset: leaves the arena", [&](schedule& s) { arena(s).offset += 1 << 20; }},
             {"bytes", [&](schedule& s) { arena(s).bytes = 4; }},
             {"arena, bytes", [](schedule& s) { s.plan.arena_bytes += 64; }},
             {"arena, lower bound", [](schedule& s) { s.plan.lower_bound_bytes -= 64; }},
             {"strides", [&](schedule& s) { s.layouts[0].strides[0] += 1; }},
             {"alignment", [&](schedule& s) { s.layouts[0].alignment = 3; }},
             {"contiguous", [&](schedule& s) { s.layouts[0].contiguous.clear(); }},
             {"vectors", [&](schedule& s) { s.layouts[0].vector_width = 3; }},
             {"schedule, layouts", [](schedule& s) { s.layouts.pop_back(); }},
             {"schedule, items", [](schedule& s) { s.items.pop_back(); }},
             {"once", [](schedule& s) { s.once = true; }},
             {"there is no such output", [](schedule& s) { s.assigned.clear(); }}});
  // The items in another order: what is read is not there yet, or not any more.
  const schedule sound = schedule_named(name);
  schedule reversed = sound;
  std::swap(reversed.items.front(), reversed.items.back());
  std::swap(reversed.plan.nests.front(), reversed.plan.nests.back());
  CHECK(fault(reversed) != "");
}

TEST_CASE("an argument is read before it is overwritten, and buffers that live do not overlap") {
  int overlaps = 0, overwritten = 0;
  for (const test_support::named_graph& each : test_support::named_graphs()) {
    const schedule sound = schedule_named(each.name);
    for (std::size_t a = 0; a < sound.allocations.size(); ++a) {
      schedule s = sound;
      const auto at = [&](std::size_t i) -> sinter::planning::buffer& {
        return s.plan.buffers[static_cast<std::size_t>(s.allocations[i].buffer)];
      };
      for (std::size_t b = 0; b < a; ++b) {
        const auto &x = s.allocations[a], &y = s.allocations[b];
        if (x.group == y.group || x.first > y.last || y.first > x.last) continue;
        if (at(a).bytes == 0 || at(b).bytes == 0) continue;
        at(a).offset = at(b).offset;
        CHECK(fault(s) != "");
        ++overlaps;
        break;
      }
    }
  }
  CHECK(overlaps >= 2);
  schedule s = schedule_named("a step of training");
  for (std::size_t k = 0; k < s.assigned.size(); ++k) {
    // Assigned to the factor that the product behind it reads.
    if (s.assigned[k] < 0) continue;
    s.assigned[k] = 0;
    ++overwritten;
    CHECK(fault(s) != "");
  }
  CHECK(overwritten == 1);
}

TEST_CASE("nests: shapes, dtypes, views and steps") {
  const auto first = [](schedule& s) -> sinter::planning::nest& { return s.plan.nests[0]; };
  const auto viewed = [&](schedule& s) -> sinter::planning::access& {
    auto& all = first(s).accesses;
    return all[0].steps.empty() ? all[1] : all[0];
  };
  check_all("transposed operand",
            {{"item 0, access 0 buffer", [&](schedule& s) { first(s).accesses[0].buffer = 99; }},
             {"item 0, access", [&](schedule& s) { viewed(s).steps[0].attributes[0] = 1; }},
             {"item 0, access",
              [&](schedule& s) { viewed(s).steps[0].code = sinter::ir::op::reduce_sum; }},
             {"item 0, access", [&](schedule& s) { viewed(s).steps[0].result.pop_back(); }},
             {"item 0, %0 access", [&](schedule& s) { first(s).body[0].access = 5; }},
             {"item 0, %0 dtype", [&](schedule& s) { first(s).body[0].type = sinter::dtype::f64; }},
             {"%2 operands", [&](schedule& s) { first(s).body[2].operands[0] = 2; }},
             {"%2 operands", [&](schedule& s) { first(s).body[2].operands.pop_back(); }},
             {"%2 op", [&](schedule& s) { first(s).body[2].code = sinter::ir::op::gather; }},
             {"%2 dtype", [&](schedule& s) { first(s).body[2].type = sinter::dtype::boolean; }},
             {"store 0 step", [&](schedule& s) { first(s).stores[0].step = 12; }},
             {"store 0 buffer", [&](schedule& s) { first(s).stores[0].buffer = -1; }},
             {"stores", [&](schedule& s) { first(s).stores.clear(); }},
             {"body", [&](schedule& s) { first(s).body.clear(); }},
             {"inner axes", [&](schedule& s) { first(s).inner_axes = 9; }},
             {"order", [&](schedule& s) {
                first(s).axis_order = {0, 0, 1};
              }}});
  check_all("product with epilogue",
            {{"access 2: broadcast_to of other extents",
              [&](schedule& s) { first(s).accesses[2].steps[0].dims[0] = sinter::ir::dim(7); }},
             {"access 0", [&](schedule& s) { first(s).transpose_a = true; }},
             {"access 1", [&](schedule& s) { first(s).transpose_b = true; }},
             {"inner axes", [&](schedule& s) { first(s).inner_axes = 2; }}});
  const auto of = [](schedule& s, kind k) -> sinter::planning::nest& {
    return s.plan.nests[find(s, k)];
  };
  const auto windows = [&](schedule& s) -> sinter::planning::access& {
    return of(s, kind::matmul).accesses[1];
  };
  const auto hints = [](schedule& s) -> std::vector<sinter::planning::hint>& {
    return s.items[find(s, kind::matmul)].hints;
  };
  check_all("convolution with an epilogue",
            {{"access 1: does not join",
              [&](schedule& s) {
                std::swap(windows(s).steps[0].operand[1], windows(s).steps[0].operand[5]);
                std::swap(windows(s).steps[1].result[1], windows(s).steps[1].result[5]);
                std::swap(windows(s).steps[1].attributes[1], windows(s).steps[1].attributes[5]);
              }},
             {"access 1: windows out of bounds",
              [&](schedule& s) { windows(s).steps[2].attributes[2] = 2; }},
             {"access 1: windows out of bounds",
              [&](schedule& s) { windows(s).steps[3].attributes[1] = 2; }},
             {"access 0: joins axes where nothing gathers",
              [&](schedule& s) { of(s, kind::assemble).accesses[0] = windows(s); }},
             {"hints: tables", [&](schedule& s) { hints(s).erase(hints(s).begin()); }},
             {"hints: tables", [&](schedule& s) { hints(s)[0].buffer = hints(s)[1].buffer; }}});
  const auto product = [&](schedule& s) -> sinter::planning::nest& { return of(s, kind::matmul); };
  check_all(
      "convolution by tiles",
      {{"winograd: its right side are not windows",
        [&](schedule& s) {
          std::swap(windows(s).steps[1].attributes[2], windows(s).steps[1].attributes[3]);
        }},
       {"winograd", [&](schedule& s) { product(s).transpose_b = true; }},
       {"winograd: filters are a matrix", [&](schedule& s) { product(s).inner_axes = 1; }},
       {"winograd: is no product", [&](schedule& s) { of(s, kind::assemble).winograd = true; }}});
  check_all("convolution with one filter", {{"winograd", [&](schedule& s) {
                                               product(s).winograd = true;
                                               product(s).packed_b = true;
                                             }}});
  check_all("strided, dilated convolution of groups",
            {{"winograd", [&](schedule& s) { product(s).winograd = true; }}});
  check_all("products with one left side, packed",
            {{"access 1", [&](schedule& s) { first(s).parts[0].packed_b = false; }},
             {"part", [&](schedule& s) { first(s).parts.clear(); }},
             {"stores: ", [&](schedule& s) { first(s).stores.pop_back(); }}});
  check_all("attention with rope",
            {{"scale", [&](schedule& s) { of(s, kind::streamed).score_scale = 0; }},
             {"operand 0 offset",
              [&](schedule& s) {
                of(s, kind::streamed).prologues[0].back().offset = sinter::ir::dim(1);
              }},
             {"access 2", [&](schedule& s) { of(s, kind::streamed).transpose_values = true; }}});
  check_all(
      "assembled",
      {{"piece 0 offset",
        [&](schedule& s) { of(s, kind::assemble).pieces[0].offset[0] = sinter::ir::dim(99); }},
       {"piece 0: is nothing", [&](schedule& s) { of(s, kind::assemble).pieces[0].body.clear(); }},
       {"piece 0: has another dtype",
        [&](schedule& s) { of(s, kind::assemble).pieces[0].body[0].type = sinter::dtype::f64; }},
       {"piece 0: has no rows",
        [&](schedule& s) {
          of(s, kind::assemble).pieces[0].body[0].level = sinter::planning::level::row;
        }},
       {"%0 access: there is none",
        [&](schedule& s) { of(s, kind::assemble).pieces[0].body[0].access = 9; }},
       {"iteration fill 0: is missing", [&](schedule& s) {
          of(s, kind::assemble).pieces.clear();
          s.items[0].iterations.clear();
        }}});
  check_all("indexed", {{"axis", [&](schedule& s) { of(s, kind::gather).axis = 4; }},
                        {"access", [&](schedule& s) { of(s, kind::gather).axis = 1; }}});
}

TEST_CASE("custom ops: what they are given, and how it is divided") {
  const auto of = [](schedule& s, const std::string& name) {
    for (std::size_t i = 0; i < s.plan.nests.size(); ++i)
      if (s.plan.nests[i].custom != nullptr && s.plan.nests[i].custom->name == name) return i;
    throw sinter::graph_error("no nest of " + name);
  };
  const auto nest = [&](schedule& s) -> sinter::planning::nest& {
    return s.plan.nests[of(s, "scaled_sums")];
  };
  const auto walk = [&](schedule& s) -> sinter::planning::iteration& {
    return s.items[of(s, "scaled_sums")].iterations[0];
  };
  const auto hint = [&](schedule& s, sinter::planning::hint_kind what, std::int64_t bytes) {
    const std::size_t i = of(s, "scaled_sums");
    s.items[i].hints = {{what, s.plan.nests[i].accesses[0].buffer, bytes}};
  };
  check_all(
      "rows of a custom op",
      {{"custom op: custom nests have one", [&](schedule& s) { nest(s).custom = nullptr; }},
       {"custom op: is element-wise",
        [&](schedule& s) { nest(s).custom = &sinter::custom_op_of<test_support::squash>; }},
       {"accesses: one per operand",
        [&](schedule& s) { nest(s).custom = &sinter::custom_op_of<test_support::segment_total>; }},
       {"attributes: another number",
        [&](schedule& s) { nest(s).custom = &sinter::custom_op_of<test_support::mirrored>; }},
       {"attributes: another number", [&](schedule& s) { nest(s).custom_attributes.clear(); }},
       {"space: is not what the op gives",
        [&](schedule& s) {
          nest(s).space = {sinter::ir::dim(600), sinter::ir::dim(100)};
        }},
       {"stores: a custom op", [&](schedule& s) { nest(s).stores.push_back(nest(s).stores[0]); }},
       {"flops", [&](schedule& s) { s.items[of(s, "scaled_sums")].flops -= 1; }},
       {"axis 2 role",
        [&](schedule& s) { walk(s).axes[2].role = sinter::planning::axis_role::parallel; }},
       {"axis 1 role",
        [&](schedule& s) { walk(s).axes[1].role = sinter::planning::axis_role::whole; }},
       {"loops: one over the rows",
        [&](schedule& s) {
          walk(s).loops[0].axes = {1, 0};
        }},
       {"loop 0 level 0 step: tasks",
        [&](schedule& s) {
          walk(s).loops[0].levels[0].step = walk(s).loops[0].levels[1].step = 300;
        }},
       {"loop 0 level 1 step", [&](schedule& s) { walk(s).loops[0].levels[1].step = 100; }},
       {"loop 1 level 0 step",
        [&](schedule& s) {
          walk(s).loops[1].levels[0].step = walk(s).loops[1].levels[1].step = 50;
        }},
       {"loop 1 level 2 step",
        [&](schedule& s) {
          walk(s).loops[1].levels[2] = {mapped_to::lanes, 4};
        }},
       {"iteration custom 0: is missing",
        [&](schedule& s) { s.items[of(s, "scaled_sums")].iterations.clear(); }},
       {"hint 0 kind",
        [&](schedule& s) { hint(s, sinter::planning::hint_kind::pack, 4 * 40 * 15 * 100); }},
       {"hint 0 bytes: no operand",
        [&](schedule& s) { hint(s, sinter::planning::hint_kind::copy, 4 * 40 * 15); }}});
  check_all("custom ops on arrays",
            {{"custom op: segment_total: ",
              [&](schedule& s) {
                auto& n = s.plan.nests[of(s, "segment_total")];
                n.accesses[1] = n.accesses[0];
              }},
             {"custom op: segment_total: ",
              [&](schedule& s) { s.plan.nests[of(s, "segment_total")].custom_attributes[0] = 0; }},
             {"space: is not what the op gives", [&](schedule& s) {
                s.plan.nests[of(s, "segment_total")].custom_attributes[0] = 4;
              }}});
  const auto step = [](schedule& s) -> sinter::planning::step& {
    for (auto& n : s.plan.nests)
      for (auto& each : n.body)
        if (each.custom != nullptr) return each;
    throw sinter::graph_error("no custom step");
  };
  check_all(
      "a custom op among others",
      {{"op: maps of a custom op have one", [&](schedule& s) { step(s).custom = nullptr; }},
       {"op: maps of a custom op have one",
        [&](schedule& s) { step(s).code = sinter::ir::op::add; }},
       {"op: is not element-wise",
        [&](schedule& s) { step(s).custom = &sinter::custom_op_of<test_support::scaled_sums>; }},
       {"operands", [&](schedule& s) { step(s).operands.pop_back(); }},
       {"dtype: custom ops compute", [&](schedule& s) { step(s).type = sinter::dtype::i32; }},
       {"dtype", [&](schedule& s) { step(s).type = sinter::dtype::f64; }},
       {"custom op: custom nests have one", [&](schedule& s) {
          s.plan.nests[0].custom = &sinter::custom_op_of<test_support::mirrored>;
        }}});
}

}  // namespace schedule_verify_test
