// SPDX-License-Identifier: MIT
// needs: middle
// The graph builder: bytes are a sequence of calls, sound or not. What compiles is run and compared
// with the reference interpreter. All elements are small integers and the ops keep them exact, so
// that every bit has to agree, whatever the rules did.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include <sinter/graph/interpret.hpp>
#include <sinter/sinter.hpp>

namespace {

namespace sn = sinter;

// Larger values may round on their way: sums in f32 are exact below 2^24.
constexpr double exact = 1 << 20;
constexpr std::int64_t element_limit = 512;
constexpr std::size_t call_limit = 24;

class calls {
 public:
  explicit calls(fuzz::bytes in) : in_(in) {}

  void run() {
    const std::size_t count = 1 + in_.below(3);
    for (std::size_t i = 0; i < count; ++i) fuzz::read_or_refuse([&] { add_argument(); });
    if (values_.empty()) return;
    for (std::size_t i = 0; i < call_limit && !in_.empty(); ++i)
      fuzz::read_or_refuse([&] { add(call()); });
    fuzz::read_or_refuse([&] { compare(); });
  }

 private:
  void add_argument() {
    constexpr sn::dtype types[] = {sn::dtype::f32, sn::dtype::f32, sn::dtype::f64, sn::dtype::i32};
    const sn::dtype type = types[in_.below(4)];
    sn::shape_vector shape;
    std::vector<sn::argument_extent> extents;
    for (std::size_t rank = in_.below(4); rank > 0; --rank) {
      shape.push_back(static_cast<std::int64_t>(in_.below(6)));
      if (in_.below(4) == 0)
        extents.push_back(sn::sym(in_.below(2) == 0 ? "n" : "m"));
      else
        extents.push_back(shape.back());
    }
    values_.push_back(graph_.argument("", type, extents));
    sn::any_tensor x(type, shape);
    sn::ir::reference_tensor same{type, shape, {}};
    for (std::int64_t i = 0; i < x.size(); ++i)
      same.data.push_back(static_cast<double>((i * 5 + 2) % 7 - 3));
    sn::dispatch(type, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t i = 0; i < x.size(); ++i)
        static_cast<T*>(x.data())[i] = static_cast<T>(same.data[static_cast<std::size_t>(i)]);
    });
    arguments_.push_back(x);
    reference_.push_back(std::move(same));
  }

  sn::handle value() { return values_[in_.below(values_.size())]; }

  sn::handle call() {
    const std::size_t which = in_.below(26);
    const sn::handle x = value();
    switch (which) {
      case 0: return x + value();
      case 1: return x - value();
      case 2: return x * value();
      case 3: return x * static_cast<float>(in_.below(5)) + 1.0f;
      case 4: return sn::maximum(x, value());
      case 5: return sn::relu(x);
      case 6: return sn::abs(x);
      case 7: return -x;
      case 8:
      case 9: return sn::matmul(x, value());
      case 10: return sn::sum(x, in_.axis(), in_.below(2) == 0);
      case 11: return sn::max(x, in_.axis(), in_.below(2) == 0);
      case 12: return sn::reshape(x, in_.integer());
      case 13: return sn::reshape(x, in_.integer(), in_.integer());
      case 14: return sn::permute(x, {in_.axis(), in_.axis()});
      case 15: return sn::transpose(x);
      case 16: return sn::flip(x, {in_.axis()});
      case 17: {
        const int axis = in_.axis();
        const std::int64_t start = in_.integer(), stop = in_.integer();
        return sn::slice(x, axis, start, stop, in_.integer());
      }
      case 18: return sn::concat(in_.axis(), x, value());
      case 19: return sn::gather(x, value(), in_.axis());
      case 20: return sn::where(x > value(), x, value());
      case 21: return sn::broadcast_to(x, in_.integer(), in_.integer());
      case 22: return sn::unsqueeze(x, in_.axis());
      case 23: return sn::pad(x, {{in_.integer(), in_.integer()}});
      case 24: return sn::tile(x, {in_.integer(), in_.integer()});
      default: return sn::cast<float>(x);
    }
  }

  // Values that would take much memory are left alone: that is no fault of a graph.
  void add(sn::handle x) {
    std::int64_t elements = 1;
    for (const sn::ir::dim d : x.node.shape()) {
      // n times something may be as large as it.
      if (!d.is_constant() && x.graph().dims.kind(d) != sn::ir::dim_kind::symbol) return;
      const std::int64_t extent = d.is_constant() ? d.constant() : 5;
      if (extent > element_limit) return;
      elements *= extent;
      if (elements > element_limit) return;
    }
    values_.push_back(x);
  }

  static bool is_exact(const sn::ir::reference_tensor& x) {
    return x.data.size() <= 4 * element_limit &&
           std::ranges::all_of(x.data, [](double v) { return std::abs(v) < exact; });
  }

  void compare() {
    const std::vector<sn::graph_output> outputs{values_.back(), values_[values_.size() / 2]};
    const sn::ir::graph g = graph_.graph_of(outputs);
    std::vector<sn::ir::reference_tensor> expected;
    std::string refused;
    try {
      expected = sn::ir::interpret(g, reference_);
      // Of what was kept: what takes much memory is a node of the graph as well.
      const std::vector<sn::graph_output> kept(values_.begin(), values_.end());
      for (const auto& each : sn::ir::interpret(graph_.graph_of(kept), reference_))
        if (!is_exact(each)) return;
    } catch (const sn::error& e) {
      // A rule may do without what cannot be indexed, and no output may need what is wrong.
      if (!expected.empty() || dynamic_cast<const sn::index_error*>(&e) != nullptr) return;
      refused = e.what();
    }
    const sn::graph_function f = graph_.compile(outputs);
    const std::vector<sn::graph_argument> given(arguments_.begin(), arguments_.end());
    const std::vector<sn::any_tensor> got = f(given);
    fuzz::require(refused.empty(), refused.c_str());
    for (std::size_t k = 0; k < got.size(); ++k) {
      const sn::ir::reference_tensor& want = expected[k];
      fuzz::require(got[k].shape() == want.shape && got[k].type() == want.type,
                    "a result of another shape or type");
      sn::dispatch(want.type, [&]<class T>(std::type_identity<T>) {
        for (std::size_t i = 0; i < want.data.size(); ++i)
          fuzz::require(
              static_cast<double>(static_cast<const T*>(got[k].data())[i]) == want.data[i],
              "a result that differs from the interpreter's");
      });
    }
  }

  fuzz::bytes in_;
  sn::graph_builder graph_;
  std::vector<sn::handle> values_;
  std::vector<sn::any_tensor> arguments_;
  std::vector<sn::ir::reference_tensor> reference_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  calls(fuzz::bytes(data, size)).run();
  return 0;
}
