// SPDX-License-Identifier: MIT
// Comparisons as a table in Markdown, row by row, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "compare.hpp"

namespace bench {

std::string table_head();

/// `alone`: sinter on one thread, in nanoseconds; 0 where that is not known.
std::string table_row(const comparison& of, double alone);

/// Writes all comparisons. Throws std::runtime_error if the file cannot be written.
void write_json(const std::string& path, const std::vector<comparison>& all);

}  // namespace bench
