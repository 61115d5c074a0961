// SPDX-License-Identifier: MIT
// Times of things to be compared: Google Benchmark repeats them in random order, so that whatever
// else the machine does hits all of them alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

struct entrant {
  std::string name;
  std::function<void()> run;
};

/// Nanoseconds per call.
struct timing {
  double median = 0, least = 0;
  std::vector<double> repetitions;
};

/// What is counted: time that passes, or that the process spends on processors, which is the same
/// for one thread, except that other processes do not lengthen it.
enum class timer { wall, processor };

/// In the order of the entrants. The flags of Google Benchmark say how long and how often.
std::vector<timing> measure(const std::vector<entrant>& entrants, timer by);

/// Flags of Google Benchmark among the arguments, above defaults for a table. Removes them.
void take_flags(int& argc, char** argv);

}  // namespace bench
