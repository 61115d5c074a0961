// SPDX-License-Identifier: MIT
// The programs of a fused function, one for each combination of argument types that it was called
// with. No template, so that a function costs the compiler its trace and its kernels alone; what it
// does is in fused_programs_source.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sinter/function/program.hpp>
#include <sinter/graph/custom.hpp>
#include <sinter/graph/graph.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

// What the compiler left of a trace.
struct program_recipe {
  span<const std::int64_t> words{};  // of the frozen graph
  span<const ir::custom_op* const> customs{};
  span<const ir::instruction> regions{};  // kernels of its own
  ir::graph (*trace)() = nullptr;         // makes the graph, where the compiler did not
  program_code (*library)() = nullptr;    // what programs share
};

class fused_programs {
 public:
  explicit fused_programs(program_options options);
  fused_programs(fused_programs&& other) noexcept;
  fused_programs& operator=(fused_programs&& other) noexcept;
  ~fused_programs();

  // The program of this recipe, known by its address; made by the first call. Later ones take no
  // lock. const, as what is kept shows in nothing but time.
  program& of(const program_recipe& recipe) const;

  program_statistics statistics() const;

  // These are in plans_source.hpp. See fused; `like`: the trace that must have a plan, or null.
  void save_plans(const std::string& path) const;
  void load_plans(const std::string& path, const program_recipe* like);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sinter::inline SINTER_ABI::detail

#ifndef SINTER_SEPARATE
#include <sinter/function/fused_programs_source.hpp>
#endif
