// SPDX-License-Identifier: MIT
// What `explain` says a nest was found by: the rules are those of an explanation that the checker
// accepts, it starts from what was traced, and what was not used is not named.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../bench/transformer_graph.hpp"
#include "support/random_graph.hpp"
#include "support/term_judge.hpp"
#include "support/trace_lambda.hpp"
#include <sinter/egraph/print_explanation.hpp>
#include <sinter/function/code.hpp>
#include <sinter/function/nest_history.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/plan/planner.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/sinter.hpp>

namespace nest_history_test {

namespace sn = sinter;
namespace eq = sinter::eqsat;
namespace ir = sinter::ir;
using names = std::vector<std::string>;
using matrix = sn::tensor<float, 2>;

namespace {

const auto chain = [](auto a, auto b, auto v) { return sn::matmul(sn::matmul(a, b), v); };
const auto scaled_projection = [](auto x, auto w) { return sn::matmul(x * 0.5f, w) * 0.25f; };
const auto softmax_by_hand = [](auto x) {
  auto e = sn::exp(x - sn::max(x, -1, true));
  return e / sn::sum(e, -1, true);
};
const auto attention_by_hand = [](auto q, auto k, auto v) {
  auto e = sn::exp(sn::matmul(q * 0.125f, sn::transpose(k)));
  return sn::matmul(e / sn::sum(e, -1, true), v);
};
const auto biased_relu = [](auto x, auto b) { return sn::relu(x + b); };

// A bound graph, its plan, and the saturation that remembers.
struct planned_graph {
  explicit planned_graph(ir::graph g, sn::rules::saturate_options options = {})
      : bound(std::move(g)),
        code(sn::detail::all_code()),
        history(bound, {}, options, code.instructions) {
    const std::vector<eq::class_id> outputs = sn::rules::load(saturated, bound);
    sn::rules::saturate(saturated, options);
    sn::planning::add_instructions(saturated, code.instructions);
    std::vector<int> assigned;
    for (const ir::output& o : bound.outputs) assigned.push_back(o.assigned_argument);
    int arguments = 0;
    for (int id = 0; id < bound.size(); ++id)
      if (bound[id].code == ir::op::argument)
        arguments = std::max(arguments, static_cast<int>(bound.attributes(id)[1]) + 1);
    plan = sn::planning::make_plan(saturated, bound.symbol_values, outputs, assigned, arguments,
                                   code.instructions)
               .plan;
  }
  const sn::rules::tensor_language& language() const { return history.graph().language(); }
  names rules_of(std::size_t nest) { return history.rules_of(plan.nests[nest]); }

  eq::explanation explained(const sn::detail::history_link& link) const {
    return eq::explain_terms(history.graph(), link.from, link.to);
  }

  ir::graph bound;
  sn::program_code code;
  sn::detail::nest_history history;
  sn::rules::tensor_egraph saturated;
  sn::planning::plan plan;
};

template <class F, class... A>
planned_graph planned(F f, const A&... arguments) {
  const std::vector<sn::shape_vector> shapes{arguments.shape...};
  return planned_graph(
      ir::bind(test_support::traced(f, true, test_support::given(arguments)...), shapes));
}

ir::reference_tensor floats(std::int64_t rows, std::int64_t columns) {
  return test_support::counted(sn::dtype::f32, {rows, columns});
}

// Is the term node `id` of the graph?
bool is_traced(const planned_graph& p, int id, const eq::term_list& terms, eq::term_id term) {
  const eq::term_view t = terms[term];
  const auto inputs = p.bound.inputs(id);
  if (t.op != static_cast<std::uint16_t>(p.bound[id].code)) return false;
  if (!std::ranges::equal(p.language().payload(t.payload).attributes, p.bound.attributes(id)))
    return false;
  for (std::size_t i = 0; i < t.children.size(); ++i)
    if (!is_traced(p, inputs[i], terms, t.children[i])) return false;
  return t.children.size() == static_cast<std::size_t>(inputs.size());
}

// Does a rule of this name match the term?
bool matches_rule(const std::string& name, const eq::term_list& terms, eq::term_id term,
                  const eq::checking::literal_judge& literal) {
  for (const sn::rules::tensor_rule& rule : sn::rules::all_rules()) {
    eq::checking::substitution values;
    if (rule.name == name &&
        eq::checking::matches<sn::rules::tensor_language>(
            terms, term, *eq::checking::pattern_reader::read(rule.left), values, literal))
      return true;
  }
  return false;
}

// The nests, and of grouped ones the parts.
std::vector<sn::planning::nest> single_nests(const sn::planning::plan& plan) {
  std::vector<sn::planning::nest> out;
  for (const sn::planning::nest& n : plan.nests)
    if (n.parts.empty())
      out.push_back(n);
    else
      out.insert(out.end(), n.parts.begin(), n.parts.end());
  return out;
}

// Every history starts from what was traced, and every link is accepted by the checker, computed
// sides judged by their values. Returns the number of steps.
std::size_t check_histories(planned_graph& p) {
  static const std::vector<eq::rule_text> texts = sn::test::texts_of_all_rules();
  const auto arguments = sn::test::random_arguments(p.bound, 7);
  std::size_t steps = 0;
  for (const sn::planning::nest& nest : single_nests(p.plan)) {
    const auto history = p.history.of(nest);
    if (history.empty()) continue;
    const eq::explanation first = p.explained(history[0]);
    bool from_traced = false;
    for (int id = 0; id < p.bound.size() && !from_traced; ++id)
      from_traced = is_traced(p, id, first.terms, first.from);
    CHECK_MESSAGE(from_traced, eq::to_text(p.language(), first));
    names confirmed;
    const auto confirm = [&confirmed](const std::string& name) {
      if (std::ranges::find(confirmed, name) == confirmed.end()) confirmed.push_back(name);
    };
    for (const sn::detail::history_link& link : history) {
      const eq::explanation why = p.explained(link);
      const sn::test::valued_terms values(p.language(), why.terms, arguments);
      const eq::judges judges = sn::test::judges_by(values);
      const auto result = eq::check_explanation<sn::rules::tensor_language>(
          why, {why.terms, why.from, why.to}, texts, judges);
      CHECK_MESSAGE(result.accepted, "step " << result.step << ": " << result.problem << "\n"
                                             << eq::to_text(p.language(), why));
      const bool last = &link == &history.back();
      CHECK(link.then.empty() == last);
      if (!last) CHECK(matches_rule(link.then, why.terms, why.to, judges.literal));
      steps += why.steps.size() + (last ? 0 : 1);
      for (const eq::explanation_step& step : why.steps)
        if (step.kind == eq::step_kind::rule ||
            (step.kind == eq::step_kind::given && step.name != "given"))
          confirm(step.name);
      if (!last) confirm(link.then);
    }
    CHECK(p.history.rules_in(history) == confirmed);
  }
  return steps;
}

// The lines that begin with "found by", without that.
names found_by(const std::string& text) {
  const std::string mark = "    found by: ";
  names out;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t start = at + mark.size();
    out.push_back(text.substr(start, text.find('\n', start) - start));
  }
  return out;
}

matrix filled(std::int64_t rows, std::int64_t columns) {
  matrix out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i) out.data()[i] = 0.01f * static_cast<float>(i % 31);
  return out;
}

}  // namespace

TEST_CASE("a product that was regrouped: both nests by the rule, the new value from the old one") {
  planned_graph p = planned(chain, floats(64, 64), floats(64, 64), floats(64, 1));
  REQUIRE(p.plan.nests.size() == 2);
  CHECK(p.rules_of(0) == names{"matmul-chain"});
  CHECK(p.rules_of(1) == names{"matmul-chain"});
  CHECK(check_histories(p) >= 1);
  // B v was in no traced term: the rule put it there when it saw (A B) v.
  const auto first = p.history.of(p.plan.nests[0]);
  REQUIRE(first.size() == 2);
  CHECK(first[0].then == "matmul-chain");
  const eq::explanation regrouped = p.explained(first[0]);
  CHECK(is_traced(p, p.bound.outputs[0].node, regrouped.terms, regrouped.to));
  // A (B v) from (A B) v.
  const auto second = p.history.of(p.plan.nests[1]);
  REQUIRE(second.size() == 1);
  const eq::explanation why = p.explained(second[0]);
  CHECK(is_traced(p, p.bound.outputs[0].node, why.terms, why.from));
  const auto is_product = [&](eq::term_id t) {
    return why.terms[t].op == static_cast<std::uint16_t>(ir::op::matmul);
  };
  REQUIRE(is_product(why.to));
  CHECK_FALSE(is_product(why.terms[why.to].children[0]));
  CHECK(is_product(why.terms[why.to].children[1]));
}

TEST_CASE("scales that became one factor of the epilogue, in the order of the steps") {
  planned_graph p = planned(scaled_projection, floats(64, 64), floats(64, 48));
  REQUIRE(p.plan.nests.size() == 1);
  CHECK(p.rules_of(0) == names{"matmul-scaled", "constant-factors"});
  CHECK(check_histories(p) >= 2);
  const auto history = p.history.of(p.plan.nests[0]);
  REQUIRE(history.size() == 1);
  names steps;
  const eq::explanation why = p.explained(history[0]);
  for (const eq::explanation_step& step : why.steps)
    if (step.kind == eq::step_kind::rule) steps.push_back(step.name);
  CHECK(steps == p.rules_of(0));
}

TEST_CASE("softmax and attention written by hand") {
  planned_graph rows = planned(softmax_by_hand, floats(64, 100));
  REQUIRE(rows.plan.nests.size() == 1);
  CHECK(rows.rules_of(0) == names{"divide-rows"});
  CHECK(check_histories(rows) >= 1);

  planned_graph attention =
      planned(attention_by_hand, floats(96, 32), floats(80, 32), floats(80, 32));
  REQUIRE(attention.plan.nests.size() == 1);
  REQUIRE(attention.plan.nests[0].kind == sn::planning::nest_kind::streamed);
  const names rules = attention.rules_of(0);
  CHECK(std::ranges::find(rules, "matmul-scaled") != rules.end());
  CHECK(check_histories(attention) >= 1);
  const auto history = attention.history.of(attention.plan.nests[0]);
  const eq::explanation why = attention.explained(history[0]);
  CHECK(is_traced(attention, attention.bound.outputs[0].node, why.terms, why.from));
}

TEST_CASE("the parts of a grouped nest, each by rules of its own") {
  const auto projections = [](auto x, auto v, auto w) {
    return sn::outputs(scaled_projection(x, v), sn::relu(sn::matmul(sn::transpose(w), x)),
                       sn::tanh(sn::matmul(x * 0.5f, w)));
  };
  planned_graph p = planned(projections, floats(64, 64), floats(64, 64), floats(64, 64));
  const auto grouped =
      std::ranges::find(p.plan.nests, sn::planning::nest_kind::grouped, &sn::planning::nest::kind);
  REQUIRE(grouped != p.plan.nests.end());
  REQUIRE(grouped->parts.size() == 2);
  CHECK(p.history.of(*grouped).empty());
  const names first = p.history.rules_of(grouped->parts[0]),
              second = p.history.rules_of(grouped->parts[1]);
  CHECK_FALSE(first.empty());
  CHECK_FALSE(second.empty());
  CHECK(first != second);
  names both = first;
  for (const std::string& name : second)
    if (std::ranges::find(both, name) == both.end()) both.push_back(name);
  CHECK(p.history.rules_of(*grouped) == both);
  CHECK(check_histories(p) >= 2);

  auto f = sn::fuse(projections);
  std::string line;
  for (const std::string& name : both) line += name + " -> ";
  const names lines = found_by(f.explain(filled(64, 64), filled(64, 64), filled(64, 64)));
  CHECK(std::ranges::find(lines, line + "grouped") != lines.end());
}

TEST_CASE("what is computed as it was traced was found by nothing") {
  planned_graph p = planned(biased_relu, floats(64, 100), floats(64, 100));
  REQUIRE(p.plan.nests.size() == 1);
  CHECK(p.rules_of(0).empty());
  CHECK(check_histories(p) == 0);
  // Also where it runs as an instruction of its own.
  auto f = sn::fuse(biased_relu);
  CHECK(found_by(f.explain(filled(64, 100), filled(64, 100))).empty());
}

TEST_CASE("what joined the ops of a nest where it was no rule") {
  const matrix x = filled(64, 48);
  auto columns = sn::fuse([](auto a, auto b) { return sn::sum(a * b, 0); });
  const std::string text = columns.explain(x, x);
  CHECK(text.find("nest 0: columns over [s0, s1]") != std::string::npos);
  CHECK(found_by(text) == names{"column nest"});
  auto layer = sn::fuse([](auto a, auto w, auto b) { return sn::relu(sn::matmul(a, w) + b); });
  CHECK(found_by(layer.explain(x, filled(48, 32), filled(1, 32))) == names{"epilogue"});
  // One op is nothing joined.
  auto product = sn::fuse([](auto a, auto w) { return sn::matmul(a, w); });
  CHECK(found_by(product.explain(x, filled(48, 32))).empty());
  auto sums = sn::fuse([](auto a) { return sn::sum(a, -1); });
  CHECK(found_by(sums.explain(x)).empty());
}

TEST_CASE("explain prints the chains, and no rule that is switched off") {
  const matrix square = filled(64, 64), tall = filled(96, 64), column = filled(64, 1);
  sn::program_options options;
  {
    auto f = sn::fuse(chain);
    CHECK(found_by(f.explain(square, square, column)) == names{"matmul-chain", "matmul-chain"});
    options.disabled_rules = {"matmul-chain"};
    auto off = sn::fuse(chain, options);
    CHECK(off.explain(square, square, column).find("matmul-chain") == std::string::npos);
  }
  {
    auto f = sn::fuse(scaled_projection);
    CHECK(found_by(f.explain(square, square)) ==
          names{"matmul-scaled -> constant-factors -> epilogue"});
    options.disabled_rules = {"constant-factors"};
    auto off = sn::fuse(scaled_projection, options);
    const std::string text = off.explain(square, square);
    CHECK(text.find("constant-factors") == std::string::npos);
    CHECK(found_by(text).size() == 1);
  }
  {
    auto f = sn::fuse(softmax_by_hand);
    CHECK(found_by(f.explain(tall)) == names{"divide-rows -> row nest"});
    options.disabled_rules = {"divide-rows"};
    auto off = sn::fuse(softmax_by_hand, options);
    CHECK(found_by(off.explain(tall)) == names{"row nest"});
  }
  {
    auto f = sn::fuse(attention_by_hand);
    const names all = found_by(f.explain(tall, square, square));
    REQUIRE(all.size() == 1);
    CHECK(all[0].find("matmul-scaled") != std::string::npos);
    CHECK(all[0].ends_with(" -> streamed"));
    options.disabled_rules = {"matmul-scaled", "scale-into-operand"};
    auto off = sn::fuse(attention_by_hand, options);
    CHECK(off.explain(tall, square, square).find("matmul-scaled") == std::string::npos);
  }
}

TEST_CASE("a value whose written-out term has 3^20 copies of it is found out at once") {
  auto f = sn::fuse([](auto x) {
    auto t = x / (1.0f + sn::exp(0.0f - x));
    for (int i = 0; i < 20; ++i) t = sn::tanh(t * t + t);
    return t;
  });
  CHECK(found_by(f.explain(filled(8, 8))) == names{"zero-minus -> find-silu"});
}

TEST_CASE("explain of a class that other extents opened, after its results were used") {
  auto f = sn::fuse(scaled_projection);
  f(filled(5, 64), filled(64, 7));
  const std::string first = f.explain(filled(64, 64), filled(64, 48));
  CHECK(found_by(first) == names{"matmul-scaled -> constant-factors -> epilogue"});
  CHECK(found_by(f.explain(filled(64, 64), filled(64, 48))) == found_by(first));
  CHECK(f.statistics().saturations == 1);
}

TEST_CASE("random graphs: saturation with proofs is the same, and the checker accepts all chains") {
  std::size_t steps = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto made = sn::test::make_random_graph(
        seed, {static_cast<int>(5 + seed % 30), sn::test::extent_kind::traced_symbols, false});
    std::vector<sn::shape_vector> shapes;
    for (const ir::reference_tensor& a : made.arguments) shapes.push_back(a.shape);
    planned_graph p(ir::bind(made.graph, shapes));
    INFO("seed " << seed);
    CHECK(p.history.agrees_with(p.saturated));
    steps += check_histories(p);
  }
  CHECK(steps > 100);
}

TEST_CASE("a transformer's training step: every nest has a history") {
  planned_graph p(sn::test::transformer_training_step());
  REQUIRE(p.history.agrees_with(p.saturated));
  std::size_t rewritten = 0;
  for (std::size_t i = 0; i < p.plan.nests.size(); ++i) rewritten += !p.rules_of(i).empty();
  CHECK(rewritten > p.plan.nests.size() / 2);
}

}  // namespace nest_history_test
