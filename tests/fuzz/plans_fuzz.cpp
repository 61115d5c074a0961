// SPDX-License-Identifier: MIT
// needs: middle
// Files of plans. Of a saved one: what is read is written as the same text, and what a program
// takes from it runs within its memory. Of an exported one: the verifier says what is wrong.
#include "plan_texts.hpp"
#include <sinter/verify_plan.hpp>

namespace {

namespace sn = sinter;

void run(const fuzz::planned_program& of, sn::program& p) {
  const auto given = test_support::arguments_for(p, of.arguments, of.frozen);
  auto call = p.prepare(given.memory, given.symbols);
  for (const auto& each : test_support::results_of(p, call, given))
    fuzz::look_at(each.bytes.data(), each.bytes.size());
}

void load(const std::string& text, const fuzz::planned_program& of) {
  static const sn::program_code code = sn::detail::all_code();
  const sn::detail::plan_file file = sn::detail::plan_file_reader(text).read();
  fuzz::require(sn::detail::plan_file_writer().write(file) == text, "another file is read back");
  sn::program p(of.graph, code);
  if (p.load_plans(file) > 0) run(of, p);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::bytes in(data, size);
  const bool exported = in.below(2) != 0;
  const fuzz::planned_program& of = fuzz::planned_programs()[in.below(5)];
  const std::string text = fuzz::changed(exported ? of.exported : of.saved, in);
  fuzz::read_or_refuse([&] {
    // So many operations that no text makes it slow.
    if (exported)
      sn::verify_plan(text, {}, 100'000);
    else
      load(text, of);
  });
  return 0;
}
