// SPDX-License-Identifier: MIT
// Trains a small GPT on a text, by default the Jargon File (Debian: jargon-text), and lets it
// write. Ctrl-C stops behind the step at hand; the next run goes on from there, with the same bits
// as if it had not stopped.
//
//   char_transformer [text file, may be gzip'd] [steps] [checkpoint, a .safetensors file]
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <unistd.h>

#include <zlib.h>

#include "char_transformer/language_model.hpp"
#include "char_transformer/read_text.hpp"
#include "char_transformer/vocabulary.hpp"
#include "char_transformer/windows.hpp"
#include "char_transformer/writer.hpp"
#include "support/count_argument.hpp"
#include <sinter/training/checkpoint.hpp>

namespace lm = language_model;
namespace sn = sinter;

namespace {

constexpr std::int64_t batch_size = 16, steps_per_part = 250, seed = 1;
constexpr double highest_rate = 3e-3;

volatile std::sig_atomic_t interrupted = 0;

struct stopwatch {
  using clock = std::chrono::steady_clock;
  clock::time_point start = clock::now();
  double seconds() const { return std::chrono::duration<double>(clock::now() - start).count(); }
};

// Mean over all windows of the text that follow one another, each of which is predicted from its
// own beginning: nats per character.
double mean_loss(lm::model<lm::floats>& network, const lm::numbered_text& text) {
  static auto loss_of = sn::fuse(sn::trace_in_first_call(lm::evaluate));
  const lm::windows all(text, lm::context);
  double total = 0;
  for (std::int64_t first = 0; first < all.count(); first += batch_size) {
    const std::int64_t rows = std::min(batch_size, all.count() - first);
    lm::batch some(rows, lm::context + 1);
    for (std::int64_t r = 0; r < rows; ++r) all.copy(first + r, 0, &some(r, 0));
    const sn::tensor<float, 0> loss = loss_of(network, some);
    total += static_cast<double>(loss.item()) * static_cast<double>(rows);
  }
  return total / static_cast<double>(all.count());
}

// Prints `count` characters that follow the prompt.
void write(lm::model<lm::floats>& network, const lm::sizes& s, const lm::vocabulary& characters,
           const std::string& prompt, std::int64_t count) {
  const auto beginning = characters.numbers(lm::code_points(prompt));
  const lm::writing_style style;
  lm::writer writer(network, s, static_cast<std::int64_t>(beginning.size()) + count);
  for (const std::int32_t c : beginning) writer.read(c, style);
  std::printf("\n%s", prompt.c_str());
  const stopwatch watch;
  double writing = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t next = writer.drawn(style);
    std::fputs(characters.character(next).c_str(), stdout);
    std::fflush(stdout);
    const double before = watch.seconds();
    writer.read(next, style);
    writing += watch.seconds() - before;
  }
  std::printf("\n\n%.0f characters per second, %.0f us each; %zu saturation for all places\n",
              static_cast<double>(count) / writing, writing * 1e6 / static_cast<double>(count),
              writer.statistics().saturations);
}

int run(const std::string& path, std::int64_t steps, const std::string& checkpoint) {
  const auto points = lm::code_points(lm::read_text(path));
  const lm::vocabulary characters(points);
  const lm::text_parts text = lm::split(characters.numbers(points));
  lm::shuffled_windows batches(text.training, lm::context, batch_size, seed);
  if (lm::windows(text.held_out, lm::context).count() < 1)
    throw sn::io_error(path + " is too short");
  const lm::sizes s{.characters = characters.size()};

  auto state = lm::training_state<lm::floats>::make(s, seed);
  const auto step = [&] { return state.optimizer.steps.item(); };
  if (std::filesystem::exists(checkpoint)) {
    sn::load_checkpoint(checkpoint, state);
    std::printf("going on behind step %lld, from %s\n", static_cast<long long>(step()),
                checkpoint.c_str());
  }
  std::printf("%lld characters to learn from, %lld held out, a vocabulary of %lld\n",
              static_cast<long long>(text.training.size()),
              static_cast<long long>(text.held_out.size()),
              static_cast<long long>(characters.size()));
  // The second Ctrl-C ends the program at once.
  std::signal(SIGINT, [](int) {
    interrupted = 1;
    std::signal(SIGINT, SIG_DFL);
  });

  const auto rate_of = sn::schedules::warm_up(
      steps / 20, sn::schedules::cosine(highest_rate, highest_rate / 20, steps - steps / 20));
  auto train = sn::fuse(sn::trace_in_first_call(lm::train));
  sn::tensor<float, 0> loss;
  const stopwatch watch;
  double training = 0;  // seconds in steps
  std::int64_t made = 0;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  while (step() < steps && interrupted == 0) {
    const std::int64_t from = step(),
                       until = std::min(steps, (from / steps_per_part + 1) * steps_per_part);
    double total = 0;
    while (step() < until && interrupted == 0) {
      const lm::batch& now = batches.of_step(step());
      const auto rate = static_cast<float>(rate_of(step()));
      const double before = watch.seconds();
      train.into(loss)(state, now, rate);
      // The first call also plans.
      if (made++ > 0) training += watch.seconds() - before;
      total += static_cast<double>(loss.item());
      if (terminal) {
        std::printf("\rstep %lld/%lld  loss %.3f  %.0f s ", static_cast<long long>(step()),
                    static_cast<long long>(steps), total / static_cast<double>(step() - from),
                    watch.seconds());
        std::fflush(stdout);
      }
    }
    sn::save_checkpoint(checkpoint, state);
    std::printf("%sstep %lld/%lld  loss %.3f", terminal ? "\r" : "", static_cast<long long>(step()),
                static_cast<long long>(steps), total / static_cast<double>(step() - from));
    if (interrupted == 0) std::printf("  held out %.3f", mean_loss(state.network, text.held_out));
    std::printf("  %.0f s\n", watch.seconds());
    std::fflush(stdout);
  }
  if (interrupted != 0 && step() < steps) {
    std::printf("interrupted; %s has what the next run goes on from\n", checkpoint.c_str());
    return 130;  // as shells say it of an interrupted program
  }
  if (made > 1) {
    const double each = training / static_cast<double>(made - 1);
    std::printf("%.1f ms per step of %lld x %lld characters, %.0f characters per second\n",
                each * 1e3, static_cast<long long>(batch_size), static_cast<long long>(lm::context),
                static_cast<double>(batch_size * lm::context) / each);
  }
  std::printf("held out: %.4f nats per character\n", mean_loss(state.network, text.held_out));
  write(state.network, s, characters, "hacker", 600);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto steps = count_argument(argc, argv, 2, 5000, 1'000'000);
  if (argc > 4 || !steps) {
    std::cerr << "usage: char_transformer [text file, may be gzip'd] [steps, 1 to 1000000] "
                 "[checkpoint, a .safetensors file]\n";
    return 1;
  }
  try {
    return run(argc > 1 ? argv[1] : "/usr/share/doc/jargon-text/jargon.txt.gz", *steps,
               argc > 3 ? argv[3] : "char_transformer.safetensors");
  } catch (const std::exception& problem) {
    std::cerr << "char_transformer: " << problem.what() << '\n';
    return 1;
  }
}
