// SPDX-License-Identifier: MIT
// Which terms of a graph are equal where some are said to be: closed under congruence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <sinter/graph/graph.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Two terms of one op with equal operands are equal.
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

}  // namespace sinter::inline SINTER_ABI::detail
