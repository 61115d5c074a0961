// SPDX-License-Identifier: MIT
// What a case of the table of benchmarks is, and how a library takes part in it. Knows no library,
// so that each one's code is a translation unit of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// f32 values in row-major order, at the start of a cache line.
class buffer {
 public:
  explicit buffer(std::vector<std::int64_t> shape);

  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t extent(std::size_t axis) const { return shape_[axis]; }
  std::int64_t size() const { return size_; }
  float* data() const { return data_.get(); }
  float* begin() const { return data(); }
  float* end() const { return data() + size_; }

 private:
  struct release {
    void operator()(float* data) const;
  };

  std::vector<std::int64_t> shape_;
  std::int64_t size_ = 1;
  std::unique_ptr<float, release> data_;
};

/// An operand, uniformly distributed in [low, high).
struct operand {
  std::vector<std::int64_t> shape;
  float low = -1, high = 1;
};

/// A matrix product that a case cannot do without: [rows, depth] times [depth, columns].
struct product {
  std::int64_t rows, depth, columns;
  int times = 1;
};

struct description {
  std::string name, what;
  std::vector<operand> operands{};
  /// What has to be moved at least: each operand read once, each result written once. None: the
  /// case has no roofline.
  double bytes = 0;
  std::vector<product> products{};
  /// Operands that a call changes, of which each side has its own. They follow the result proper,
  /// one number, in `side::result`, and gradients are compared: what learning_rate times which was
  /// taken away.
  std::vector<std::size_t> updated{};
  /// How far results may be from sinter's, relative to the largest number among them. Sums of a
  /// thousand and more terms in other orders differ by some 1e-6.
  double tolerance = 1e-4;
};

/// All cases, in the order of the table.
const std::vector<description>& all_cases();

/// A case with its operands in memory, the same numbers for every library.
class problem {
 public:
  explicit problem(const description& of);

  const buffer& operator[](std::size_t number) const { return operands_[number]; }

 private:
  std::vector<buffer> operands_;
};

/// Of training steps.
constexpr float learning_rate = 1.0f / 128;

/// Row r belongs to class r mod classes.
std::vector<std::int32_t> labels(std::int64_t rows, std::int64_t classes);

/// What sinter's planner is not to use.
struct exclusion {
  /// Kinds of fusion, by the names of `program_options`.
  std::vector<std::string> kinds{};
  /// Nests, by the numbers that `explain` gives them.
  std::vector<int> nests{};
};

/// How a library computes a case.
struct side {
  /// One call, with results in memory when it returns.
  std::function<void()> run;
  /// What the last call computed, for the comparison with the other sides; none: nothing to
  /// compare.
  std::function<std::vector<float>()> result{};
  /// What sinter's optimizer says.
  std::function<std::string()> explain{};
  /// The same function planned without this, on the same tensors.
  std::function<side(const exclusion&)> without{};
};

/// What `exclusion::kinds` may name.
inline const std::vector<std::string> kinds_of_fusion{
    "rows", "epilogues", "streamed", "grouped",   "winograd",         "moments",
    "sums", "siblings",  "pieces",   "recompute", "superinstructions"};

/// The cases that a library, or a part of its code, takes part in, by name. A side may read the
/// problem's memory as long as it lives.
using sides = std::map<std::string, std::function<side(const problem&)>>;

struct library {
  std::string name;
  std::function<void(int)> set_threads;
  sides cases;
};

/// sinter first, then the peers that were found when this was built.
std::vector<library> all_libraries();

}  // namespace bench
