// SPDX-License-Identifier: MIT
// The memory that the interpreter of schedules works on: arguments and outputs as their layouts
// say, and one arena in which buffers lie where the schedule has placed them. Elements are stored
// in their own dtype, so that what is laid over something alive shows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/graph/reference_tensor.hpp>
#include <sinter/plan/access_index.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::planning {

class schedule_memory {
 public:
  /// `arguments[k]` is argument k; `prepared[k]` what a schedule that runs once left as value k.
  schedule_memory(const schedule& s, std::span<const ir::reference_tensor> arguments,
                  std::span<const ir::reference_tensor> prepared)
      : s_(s) {
    blocks_.emplace_back(s.plan.arena_bytes, unwritten);
    for (std::size_t i = 0; i < s.plan.buffers.size(); ++i) {
      const buffer& b = s.plan.buffers[i];
      shapes_.push_back(evaluate_shape(s.plan.dims, b.shape, s.symbols));
      if (b.place == place::argument) provide(i, arguments, "argument");
    }
    for (std::size_t i = 0; i < s.plan.buffers.size(); ++i) {
      const buffer& b = s.plan.buffers[i];
      if (b.place == place::output) provide_output(i);
      if (b.place == place::prepared && !s.once) provide(i, prepared, "prepared value");
      if (b.place == place::prepared && s.once) make_block(i, {b.place, b.number});
    }
  }

  const shape_vector& shape(int buffer) const { return shapes_[at(buffer)]; }
  dtype type(int buffer) const { return s_.plan.buffers[at(buffer)].type; }

  double read(int buffer, const shape_vector& index) const {
    return dispatch(type(buffer), [&]<class T>(std::type_identity<T>) {
      // A schedule that is not sound may have other values where truth values are expected.
      if constexpr (std::is_same_v<T, bool>)
        return *element(buffer, index) != std::byte{0} ? 1.0 : 0.0;
      T x{};
      std::memcpy(&x, element(buffer, index), sizeof x);
      return static_cast<double>(x);
    });
  }
  void write(int buffer, const shape_vector& index, double value) {
    dispatch(type(buffer), [&]<class T>(std::type_identity<T>) {
      T x{};
      if constexpr (std::is_same_v<T, bool>)
        x = value != 0;
      else
        x = static_cast<T>(value);
      std::memcpy(const_cast<std::byte*>(element(buffer, index)), &x, sizeof x);
    });
  }
  /// The index of a row-major position.
  shape_vector index_of(int buffer, std::int64_t position) const {
    const shape_vector& extents = shape(buffer);
    shape_vector out = shape_vector::filled(extents.size(), 0);
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      out[axis] = position % extents[axis];
      position /= extents[axis];
    }
    return out;
  }

  /// The outputs or prepared values, by number, in the shape of the first buffer that names them;
  /// what no buffer names is empty.
  std::vector<ir::reference_tensor> values(place wanted) const {
    std::vector<ir::reference_tensor> out;
    for (std::size_t i = 0; i < s_.plan.buffers.size(); ++i) {
      const buffer& b = s_.plan.buffers[i];
      if (b.place != wanted) continue;
      out.resize(std::max(out.size(), at(b.number) + 1));
      ir::reference_tensor& value = out[at(b.number)];
      if (!value.data.empty()) continue;
      value = {b.type, shapes_[i], {}};
      ir::for_each_index(shapes_[i], [&](const shape_vector& index) {
        value.data.push_back(read(static_cast<int>(i), index));
      });
    }
    return out;
  }

 private:
  // All bits set is NaN, -1 or an index far out: reading what was not written shows.
  static constexpr std::byte unwritten{0xff};
  struct origin {
    std::size_t block = 0;
    std::int64_t offset = 0;  // of element 0, in elements
  };
  using owner = std::pair<place, int>;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // Of elements before element 0 where strides are negative, and all with it.
  std::pair<std::int64_t, std::int64_t> extent_of(std::size_t i) const {
    std::int64_t before = 0, behind = 0;
    if (element_count(shapes_[i]) == 0) return {0, 0};
    for (std::size_t axis = 0; axis < shapes_[i].size(); ++axis) {
      const std::int64_t reach = (shapes_[i][axis] - 1) * s_.layouts[i].strides[axis];
      (reach < 0 ? before : behind) += reach;
    }
    return {-before, behind + 1 - before};
  }

  void make_block(std::size_t i, owner who) {
    if (owners_.contains(who)) return;
    const auto [before, count] = extent_of(i);
    owners_[who] = {blocks_.size(), before};
    blocks_.emplace_back(static_cast<std::size_t>(count) * size_of(s_.plan.buffers[i].type),
                         unwritten);
  }

  void provide(std::size_t i, std::span<const ir::reference_tensor> given, const char* what) {
    const buffer& b = s_.plan.buffers[i];
    const owner who{b.place, b.number};
    if (owners_.contains(who)) return;
    const std::string name = what + (" " + std::to_string(b.number));
    if (b.number < 0 || at(b.number) >= given.size())
      raise(graph_error("interpret_schedule: " + name + " is missing"));
    const ir::reference_tensor& value = given[at(b.number)];
    if (value.type != b.type || value.shape != shapes_[i])
      raise(shape_error("interpret_schedule: " + name + " is " +
                        std::string(sinter::name(value.type)) + to_string(value.shape) +
                        ", expected " + std::string(sinter::name(b.type)) + to_string(shapes_[i])));
    make_block(i, who);
    std::size_t position = 0;
    ir::for_each_index(shapes_[i], [&](const shape_vector& index) {
      write(static_cast<int>(i), index, value.data[position++]);
    });
  }

  // An assigned output is its argument's memory, where that lies as an output does.
  void provide_output(std::size_t i) {
    const buffer& b = s_.plan.buffers[i];
    const owner who{b.place, b.number};
    const int argument = at(b.number) < s_.assigned.size() ? s_.assigned[at(b.number)] : -1;
    for (std::size_t a = 0; argument >= 0 && a < s_.plan.buffers.size(); ++a) {
      const buffer& other = s_.plan.buffers[a];
      if (other.place != place::argument || other.number != argument || other.type != b.type)
        continue;
      if (element_count(shapes_[a]) == element_count(shapes_[i]) &&
          s_.layouts[a].strides == row_major_strides(shapes_[a]))
        owners_.try_emplace(who, owners_.at({place::argument, argument}));
    }
    make_block(i, who);
  }

  const std::byte* element(int buffer, const shape_vector& index) const {
    const planning::buffer& b = s_.plan.buffers[at(buffer)];
    const layout& l = s_.layouts[at(buffer)];
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * l.strides[axis];
    const auto size = static_cast<std::int64_t>(size_of(b.type));
    std::size_t block = 0;
    if (b.place == planning::place::arena) {
      place = place * size + static_cast<std::int64_t>(b.offset);
    } else {
      const origin& from = owners_.at({b.place, b.number});
      block = from.block;
      place = (place + from.offset) * size;
    }
    if (place < 0 || place + size > static_cast<std::int64_t>(blocks_[block].size()))
      raise(graph_error("interpret_schedule: buffer " + std::to_string(buffer) +
                        " leaves its memory"));
    return blocks_[block].data() + place;
  }

  const schedule& s_;
  std::vector<shape_vector> shapes_;
  std::vector<std::vector<std::byte>> blocks_;  // first the arena
  std::map<owner, origin> owners_;
};

}  // namespace sinter::inline SINTER_ABI::planning
