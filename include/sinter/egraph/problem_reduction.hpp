// SPDX-License-Identifier: MIT
//
// Makes an extraction problem smaller without changing its least DAG cost: what cannot be part of a
// best choice is dropped, what every choice has is paid for, and classes with one user or one
// option are merged into the options that need them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/extraction_problem.hpp>
#include <sinter/egraph/required_classes.hpp>
#include <sinter/egraph/strong_components.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// A smaller problem and the way back. The id of its options is an index into `origins`.
struct reduced_problem {
  // A binary tree of the options of the original problem that an option stands for.
  struct origin {
    std::uint32_t option = no_id;
    std::uint32_t left = no_id;
    std::uint32_t right = no_id;
  };
  extraction_problem problem;
  double constant = 0;  ///< what every choice costs beyond `problem`
  bool feasible = true;
  std::size_t work = 0;  ///< entries touched
  std::vector<origin> origins;
  std::vector<std::uint32_t> settled;   ///< origins that hold in every choice
  std::vector<std::uint32_t> class_of;  ///< by class of `problem`: its class in the original

  /// The choice in `original` for one in `problem`, without what the roots do not need.
  option_choice expand(const extraction_problem& original, const option_choice& choice) const {
    option_choice out(original.classes(), no_id);
    std::vector<std::uint32_t> open(settled);
    for (const std::uint32_t i : choice) {
      if (i != no_id) open.push_back(problem.options[i].id);
    }
    while (!open.empty()) {
      const origin at = origins[open.back()];
      open.pop_back();
      if (at.option != no_id) {
        out[original.options[at.option].owner] = at.option;
      } else {
        open.push_back(at.left);
        open.push_back(at.right);
      }
    }
    keep_reachable(original, out);
    return out;
  }
};

/// Applies reductions until they find next to nothing.
class problem_reducer {
 public:
  problem_reducer(const extraction_problem& problem, std::size_t work)
      : classes_(problem.classes()), work_(work) {
    options_.reserve(problem.options.size());
    arena_.reserve(2 * problem.children.size());
    of_class_.resize(classes_);
    for (std::uint32_t i = 0; i < problem.options.size(); ++i) {
      const auto& o = problem.options[i];
      const auto first = static_cast<std::uint32_t>(arena_.size());
      for (const auto& c : problem.children_of(i)) arena_.push_back(c.target);
      options_.push_back({o.cost, o.owner, first, o.child_count, i});
      out_.origins.push_back({i, no_id, no_id});
      of_class_[o.owner].push_back(i);
    }
    root_.assign(classes_, 0);
    for (const std::uint32_t r : problem.roots) root_[r] = 1;
    roots_ = problem.roots;
    paid_.assign(classes_, 0);
    gone_.assign(classes_, 0);
    find_earning(problem);
  }

  reduced_problem run() {
    const std::size_t limit = work_;
    // What classes require is looked for once the graph is small: the sets are long where chains
    // have not been merged yet (a plan's 7,217 classes: 300 ms rather than 30 ms).
    bool thorough = false;
    // Later rounds find little; twelve also bound the time on graphs that shrink by a class each.
    for (int round = 0; round < 12; ++round) {
      changes_ = 0;
      // A round passes over everything some ten times.
      work_ -= std::min(work_, 10 * (size() + arena_.size()));
      prune();
      if (!out_.feasible) break;
      components_ = strong_components(classes_, [&](std::uint32_t c, auto&& visit) {
        for (const std::uint32_t i : of_class_[c]) {
          for (const std::uint32_t d : children(i)) visit(d);
        }
      });
      has_required_ = false;
      if (thorough) use_required();
      settle_roots();
      drop_dominated();
      collect_users();
      merge_classes();
      // The last few changes are not worth a round over everything.
      if (work_ == 0 || (thorough && 50 * changes_ < size())) break;
      thorough = thorough || 10 * changes_ < size();
    }
    out_.work = limit - work_;
    return finish();
  }

 private:
  std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& list : of_class_) sum += list.size();
    return sum;
  }

  struct option_data {
    double cost;
    std::uint32_t owner;
    std::uint32_t first_child;
    std::uint32_t child_count;
    std::uint32_t origin;
    bool alive = true;
  };

  span<std::uint32_t> children(std::uint32_t i) {
    return {arena_.data() + options_[i].first_child, options_[i].child_count};
  }
  void kill(std::uint32_t i) {
    options_[i].alive = false;
    ++changes_;
  }
  void sweep(std::uint32_t c) {
    std::erase_if(of_class_[c], [&](std::uint32_t i) { return !options_[i].alive; });
  }
  // Sets an option's children to `list`, which need not be sorted; the option dies if its own class
  // is among them.
  void set_children(std::uint32_t i, std::vector<std::uint32_t>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (std::binary_search(list.begin(), list.end(), options_[i].owner)) {
      kill(i);
      return;
    }
    if (list.size() > options_[i].child_count) {
      options_[i].first_child = static_cast<std::uint32_t>(arena_.size());
      arena_.insert(arena_.end(), list.begin(), list.end());
    } else {
      std::copy(list.begin(), list.end(), arena_.begin() + options_[i].first_child);
    }
    options_[i].child_count = static_cast<std::uint32_t>(list.size());
  }
  void make_root(std::uint32_t c) {
    if (root_[c] != 0) return;
    root_[c] = 1;
    roots_.push_back(c);
    ++changes_;
  }

  // Classes that can need one with a cost below zero.
  void find_earning(const extraction_problem& problem) {
    earns_.assign(classes_, 0);
    std::vector<std::uint32_t> open;
    const auto mark = [&](std::uint32_t c) {
      if (earns_[c] == 0) open.push_back(c);
      earns_[c] = 1;
    };
    for (const auto& o : problem.options) {
      if (o.cost < 0) mark(o.owner);
    }
    while (!open.empty()) {
      const std::uint32_t c = open.back();
      open.pop_back();
      for (const std::uint32_t user : problem.users_of(c)) mark(problem.options[user].owner);
    }
  }

  // Drops options that can be part of no finite term, and classes that the roots do not reach.
  void prune() {
    collect_users();
    std::vector<std::uint32_t> missing(options_.size()), open;
    std::vector<std::uint8_t> possible(classes_, 0);
    order_.clear();
    const auto solve = [&](std::uint32_t i) {
      const std::uint32_t c = options_[i].owner;
      if (possible[c] == 0) order_.push_back(c);
      possible[c] = 1;
    };
    for (std::uint32_t c = 0; c < classes_; ++c) {
      for (const std::uint32_t i : of_class_[c]) {
        missing[i] = options_[i].child_count;
        if (missing[i] == 0) solve(i);
      }
    }
    for (std::size_t next = 0; next < order_.size(); ++next) {
      for (const std::uint32_t user : users(order_[next])) {
        if (--missing[user] == 0) solve(user);
      }
    }
    std::vector<std::uint8_t> reached(classes_, 0);
    for (const std::uint32_t r : roots_) {
      if (possible[r] == 0) out_.feasible = false;
      reached[r] = 1;
      open.push_back(r);
    }
    while (!open.empty()) {
      const std::uint32_t c = open.back();
      open.pop_back();
      for (const std::uint32_t i : of_class_[c]) {
        if (missing[i] != 0) {
          kill(i);
          continue;
        }
        for (const std::uint32_t d : children(i)) {
          if (reached[d] == 0) open.push_back(d);
          reached[d] = 1;
        }
      }
      sweep(c);
    }
    for (std::uint32_t c = 0; c < classes_; ++c) {
      if (reached[c] != 0) continue;
      of_class_[c].clear();
      gone_[c] = 1;
    }
  }

  void collect_users() {
    first_user_.assign(classes_ + 1, 0);
    for (const auto& list : of_class_) {
      for (const std::uint32_t i : list) {
        for (const std::uint32_t d : children(i)) ++first_user_[d + 1];
      }
    }
    for (std::size_t c = 0; c < classes_; ++c) first_user_[c + 1] += first_user_[c];
    users_.resize(first_user_.back());
    std::vector<std::uint32_t> fill(first_user_.begin(), first_user_.end() - 1);
    for (const auto& list : of_class_) {
      for (const std::uint32_t i : list) {
        for (const std::uint32_t d : children(i)) users_[fill[d]++] = i;
      }
    }
  }
  span<std::uint32_t> users(std::uint32_t c) {
    return {users_.data() + first_user_[c], first_user_[c + 1] - first_user_[c]};
  }

  // What all options of a root need is a root too. An edge to a root costs nothing, so it goes
  // unless it may be part of a cycle. A root with one option is paid for; it stays for its users
  // only where it may be part of a cycle.
  void settle_roots() {
    std::vector<std::uint32_t> hits(classes_, 0);
    for (std::size_t next = 0; next < roots_.size(); ++next) {
      const std::uint32_t r = roots_[next];
      for (const std::uint32_t i : of_class_[r]) {
        for (const std::uint32_t d : children(i)) ++hits[d];
      }
      for (const std::uint32_t i : of_class_[r]) {
        for (const std::uint32_t d : children(i)) {
          if (hits[d] == of_class_[r].size()) make_root(d);
          hits[d] = 0;
        }
      }
    }
    std::vector<std::uint32_t> ended;
    for (const std::uint32_t r : roots_) {
      if (of_class_[r].size() != 1) continue;
      option_data& o = options_[of_class_[r][0]];
      out_.constant += o.cost;
      o.cost = 0;
      paid_[r] = 1;
      if (o.child_count == 0) ended.push_back(r);
    }
    for (const std::uint32_t r : ended) settle(r);
    for (std::uint32_t c = 0; c < classes_; ++c) {
      for (const std::uint32_t i : of_class_[c]) {
        const auto list = children(i);
        const auto end = std::remove_if(list.begin(), list.end(), [&](std::uint32_t d) {
          return root_[d] != 0 && (gone_[d] != 0 || components_[d] != components_[c]);
        });
        if (end == list.end()) continue;
        options_[i].child_count = static_cast<std::uint32_t>(end - list.begin());
        ++changes_;
      }
    }
    for (const std::uint32_t r : ended) root_[r] = 0;
    std::erase_if(roots_, [&](std::uint32_t r) { return gone_[r] != 0; });
  }

  // Class c has one option, which is chosen wherever c is needed.
  void settle(std::uint32_t c) {
    out_.settled.push_back(options_[of_class_[c][0]].origin);
    of_class_[c].clear();
    gone_[c] = 1;
    ++changes_;
  }

  // Drops options that need their own class, and children that another child requires anyway; what
  // a root requires is a root.
  void use_required() {
    required_ = required_classes(classes_);
    has_required_ = required_.compute(
        order_, components_,
        [&](std::uint32_t c, auto&& visit) {
          for (const std::uint32_t i : of_class_[c]) visit(children(i));
        },
        work_);
    if (!has_required_) return;
    std::vector<std::uint32_t> hits(classes_, 0);
    for (std::uint32_t c = 0; c < classes_; ++c) {
      for (const std::uint32_t i : of_class_[c]) {
        scratch_.clear();
        if (!required_.of_option(children(i), scratch_) ||
            std::ranges::find(scratch_, c) != scratch_.end()) {
          kill(i);
          continue;
        }
        const auto list = children(i);
        if (list.size() < 2) continue;
        for (const std::uint32_t d : list) {
          for (const std::uint32_t e : required_.of(d)) ++hits[e];
        }
        const auto end =
            std::remove_if(list.begin(), list.end(), [&](std::uint32_t d) { return hits[d] > 1; });
        for (const std::uint32_t e : scratch_) hits[e] = 0;
        if (end == list.end()) continue;
        options_[i].child_count = static_cast<std::uint32_t>(end - list.begin());
        ++changes_;
      }
      sweep(c);
    }
    for (std::size_t next = 0; next < roots_.size(); ++next) {
      for (const std::uint32_t d : required_.of(roots_[next])) make_root(d);
    }
  }

  // Within a class, an option that needs no class beyond what another requires and costs no more
  // makes that one superfluous. Options are filed under their first child.
  void drop_dominated() {
    std::vector<std::uint8_t> marked(classes_, 0);
    std::vector<std::vector<std::uint32_t>> filed(classes_);
    for (std::uint32_t c = 0; c < classes_; ++c) {
      auto& list = of_class_[c];
      if (list.size() < 2) continue;
      std::uint32_t leaf = no_id;
      for (const std::uint32_t i : list) {
        if (options_[i].child_count > 0) {
          filed[children(i)[0]].push_back(i);
        } else if (leaf == no_id || options_[i].cost < options_[leaf].cost) {
          leaf = i;
        }
      }
      for (const std::uint32_t i : list) {
        if (is_dominated(i, leaf, filed, marked)) kill(i);
      }
      for (const std::uint32_t i : list) {
        if (options_[i].child_count > 0) filed[children(i)[0]].clear();
      }
      sweep(c);
    }
  }

  bool is_dominated(std::uint32_t i, std::uint32_t leaf,
                    const std::vector<std::vector<std::uint32_t>>& filed,
                    std::vector<std::uint8_t>& marked) {
    const double cost = options_[i].cost;
    // What may earn something must not go unneeded.
    const auto earning = [&](std::uint32_t d) { return earns_[d] != 0; };
    const bool may_earn = std::ranges::any_of(children(i), earning);
    if (leaf != no_id && leaf != i && options_[leaf].cost <= cost && !may_earn) return true;
    scratch_.assign(children(i).begin(), children(i).end());
    if (has_required_) {
      scratch_.clear();
      required_.of_option(children(i), scratch_);
    }
    for (const std::uint32_t d : scratch_) marked[d] = 1;
    const auto covers = [&](std::uint32_t other) {
      return other != i && options_[other].alive && options_[other].cost <= cost &&
             std::ranges::all_of(children(other),
                                 [&](std::uint32_t d) { return marked[d] != 0; }) &&
             (!may_earn || std::ranges::all_of(children(i), [&](std::uint32_t d) {
               return earns_[d] == 0 ||
                      std::ranges::find(children(other), d) != children(other).end();
             }));
    };
    const bool dominated = std::ranges::any_of(
        scratch_, [&](std::uint32_t d) { return std::ranges::any_of(filed[d], covers); });
    for (const std::uint32_t d : scratch_) marked[d] = 0;
    return dominated;
  }

  // Merges into its users a class that is no root and has one user, or one option that costs
  // nothing; and roots that are paid for.
  void merge_classes() {
    // A class whose list of users is out of date waits for the next round.
    outdated_.assign(classes_, 0);
    for (std::uint32_t c = 0; c < classes_; ++c) {
      if (gone_[c] != 0 || outdated_[c] != 0 || of_class_[c].empty()) continue;
      const auto used_by = users(c);
      if (used_by.empty() && root_[c] == 0) continue;
      if (std::ranges::any_of(used_by, [&](std::uint32_t i) { return !options_[i].alive; }))
        continue;
      if (of_class_[c].size() == 1) {
        const option_data& o = options_[of_class_[c][0]];
        const std::size_t n = o.child_count, m = used_by.size();
        const bool saves = n <= 1 || m <= 1 || (n - 1) * (m - 1) <= 2;
        // All that is left to say of a root that is paid for is that its children, roots too, must
        // not need its users.
        const bool free = root_[c] != 0 ? paid_[c] != 0 : o.cost == 0;
        if (free ? saves : root_[c] == 0 && m == 1) pass_through(c);
      } else if (root_[c] == 0 && used_by.size() == 1) {
        const option_data& user = options_[used_by[0]];
        if (of_class_[c].size() * user.child_count <= 64) multiply_out(c, used_by[0]);
      }
    }
  }

  // Class c has one option: its users take its children and (there is one user then, or nothing to
  // pay) its cost.
  void pass_through(std::uint32_t c) {
    const std::uint32_t inner = of_class_[c][0];
    const auto used_by = users(c);
    for (const std::uint32_t i : used_by) {
      scratch_.clear();
      for (const std::uint32_t d : children(i)) {
        if (d != c) scratch_.push_back(d);
      }
      for (const std::uint32_t d : children(inner)) scratch_.push_back(d);
      options_[i].cost += options_[inner].cost;
      set_children(i, scratch_);
    }
    for (const std::uint32_t d : children(inner)) {
      if (used_by.size() == 1) {
        replace_user(d, inner, used_by[0]);
      } else {
        outdated_[d] = 1;
      }
    }
    settle(c);
    options_[inner].alive = false;
    if (root_[c] != 0) {
      root_[c] = 0;
      std::erase(roots_, c);
    }
  }

  // Option i is the one user of class c: it becomes one option per option of c.
  void multiply_out(std::uint32_t c, std::uint32_t i) {
    const option_data outer = options_[i];
    const std::vector<std::uint32_t> rest(children(i).begin(), children(i).end());
    kill(i);
    for (const std::uint32_t d : rest) outdated_[d] = 1;
    for (const std::uint32_t inner : of_class_[c]) {
      scratch_.assign(rest.begin(), rest.end());
      std::erase(scratch_, c);
      const auto made = static_cast<std::uint32_t>(options_.size());
      for (const std::uint32_t d : children(inner)) {
        scratch_.push_back(d);
        replace_user(d, inner, made);
      }
      options_[inner].alive = false;
      const auto origin = static_cast<std::uint32_t>(out_.origins.size());
      out_.origins.push_back({no_id, outer.origin, options_[inner].origin});
      options_.push_back({outer.cost + options_[inner].cost, outer.owner, 0, 0, origin});
      set_children(made, scratch_);
      if (options_[made].alive) of_class_[outer.owner].push_back(made);
    }
    sweep(outer.owner);
    of_class_[c].clear();
    gone_[c] = 1;
  }

  // Option `before` no longer needs class d, `after` does.
  void replace_user(std::uint32_t d, std::uint32_t before, std::uint32_t after) {
    const auto list = users(d);
    if (std::ranges::find(list, after) != list.end()) {
      outdated_[d] = 1;
      return;
    }
    std::ranges::replace(list, before, after);
  }

  reduced_problem finish() {
    std::vector<std::uint32_t> number(classes_, no_id);
    std::uint32_t count = 0;
    if (out_.feasible) {
      for (std::uint32_t c = 0; c < classes_; ++c) {
        sweep(c);
        if (gone_[c] != 0) continue;
        number[c] = count++;
        out_.class_of.push_back(c);
      }
    }
    extraction_problem_builder builder(count);
    std::vector<std::uint32_t> targets;
    for (std::uint32_t c = 0; c < classes_; ++c) {
      if (number[c] == no_id) continue;
      for (const std::uint32_t i : of_class_[c]) {
        targets.clear();
        for (const std::uint32_t d : children(i)) targets.push_back(number[d]);
        builder.add_option(number[c], options_[i].origin, options_[i].cost, targets);
      }
    }
    for (const std::uint32_t r : roots_) {
      if (number[r] != no_id) builder.add_root(number[r]);
    }
    out_.problem = builder.finish();
    return std::move(out_);
  }

  std::size_t classes_;
  std::size_t work_;
  std::size_t changes_ = 0;
  std::vector<option_data> options_;
  std::vector<std::uint32_t> arena_;  // children of options
  std::vector<std::vector<std::uint32_t>> of_class_;
  std::vector<std::uint8_t> root_, paid_, gone_, outdated_, earns_;
  std::vector<std::uint32_t> roots_;
  std::vector<std::uint32_t> first_user_, users_;
  std::vector<std::uint32_t> components_;
  std::vector<std::uint32_t> order_;  // classes, children mostly first
  required_classes required_{0};
  bool has_required_ = false;
  std::vector<std::uint32_t> scratch_;
  reduced_problem out_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
