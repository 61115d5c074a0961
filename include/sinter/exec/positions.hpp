// SPDX-License-Identifier: MIT
// What iota writes: an arithmetic sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/exec/each_element.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// to[i] = first + i step for i in [0, count), as elements of a dtype; integers wrap.
inline void write_positions(dtype type, std::int64_t first, std::int64_t step, std::int64_t count,
                            std::byte* to) {
  dispatch_words(type, [&]<class T>(std::type_identity<T>) {
    auto* const out = reinterpret_cast<T*>(to);
    detail::for_each_element(count,
                             [=](std::int64_t i) { out[i] = static_cast<T>(first + i * step); });
  });
}

}  // namespace sinter::inline SINTER_ABI::exec
