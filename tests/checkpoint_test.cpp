// SPDX-License-Identifier: MIT
// Checkpoints: a run that goes on from one is the run that was never interrupted; what does not fit
// is refused and changes nothing; a save that fails keeps the file that was there.
// component: safetensors
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>

#include <sinter/layers/linear.hpp>
#include <sinter/sinter.hpp>
#include <sinter/training/adam.hpp>
#include <sinter/training/checkpoint.hpp>

namespace checkpoint_test {

namespace sn = sinter;
namespace layers = sinter::layers;

namespace {

using floats = sn::stored<float>;

template <class Kind>
struct network {
  layers::linear<Kind> hidden, output;
  constexpr auto operator()(auto x) const { return output(sn::tanh(hidden(x))); }
};

template <class Kind>
struct run {
  network<Kind> model;
  sn::adam_state<network<Kind>> adam;
  sn::parameter<Kind, 0, std::int64_t> step, key;
};

run<floats> fresh() {
  sn::initialiser init(1);
  run<floats> r{};
  r.model = {layers::linear<floats>::make(3, 4, init), layers::linear<floats>::make(4, 2, init)};
  r.adam = sn::adam_state<network<floats>>::make(r.model);
  r.key = sn::tensor<std::int64_t, 0>(std::int64_t{1} << 60);
  return r;
}

auto training_step() {
  return sn::fuse([](auto r, auto x) {
    const auto loss = sn::mean(sn::square(r.model(x) - 1.0f));
    return sn::outputs(loss, sn::adam{}.update(r.model, sn::gradients(loss, r.model), r.adam, 0.1),
                       sn::assign(r.step, r.step + 1));
  });
}

// A file that is gone when the test is over.
struct temporary {
  std::string path;
  explicit temporary(const char* name)
      : path((std::filesystem::temp_directory_path() /
              ("sinter_" + std::to_string(::getpid()) + "_" + name))
                 .string()) {}
  ~temporary() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

TEST_CASE("a run that is saved and loaded goes on as if nothing had happened") {
  const temporary file("run.safetensors");
  const sn::tensor<float, 2> x{{1, 2, 3}, {-1, 0, 1}};
  auto step = training_step();
  run<floats> r = fresh();
  for (int i = 0; i < 3; ++i) sn::tensor<float, 0> loss = step(r, x);
  sn::save_checkpoint(file.path, r, {}, {{"sinter", "test"}});
  run<floats> again{};
  sn::load_checkpoint(file.path, again);
  CHECK(again.step.item() == 3);
  CHECK(again.key.item() == std::int64_t{1} << 60);
  CHECK(again.adam.steps.item() == 3);
  const sn::tensor<float, 0> expected = step(r, x), loss = step(again, x);
  CHECK(loss.item() == expected.item());
  CHECK(again.model.hidden.weight == r.model.hidden.weight);
  CHECK(again.adam.second.output.bias == r.adam.second.output.bias);

  const sn::safetensors_file written(file.path);
  CHECK(written.entries().size() == 15);
  CHECK(written.contains("adam.first.hidden.weight"));
  CHECK(written.metadata().at("sinter") == "test");

  network<floats> model{};
  sn::load_checkpoint(file.path, model, [](const std::string& name) { return "model." + name; });
  CHECK(model.output.weight.shape() == sn::shape_vector{4, 2});
}

TEST_CASE("what does not fit is refused, and the struct stays as it was") {
  const temporary file("refused.safetensors");
  network<floats> m = fresh().model;
  sn::save_checkpoint(file.path, m);
  network<floats> other = m;
  other.hidden.bias.fill(7);
  other.output.weight = sn::tensor<float, 2>(5, 2);
  const network<floats> before = other;
  CHECK_THROWS_WITH_AS(sn::load_checkpoint(file.path, other), doctest::Contains("output.weight"),
                       sn::shape_error);
  CHECK(other.hidden.bias == before.hidden.bias);
  network<sn::stored<double>> doubles{};
  CHECK_THROWS_AS(sn::load_checkpoint(file.path, doubles), sn::dtype_error);
  run<floats> r = fresh();
  CHECK_THROWS_WITH_AS(sn::load_checkpoint(file.path, r), doctest::Contains("model.hidden.weight"),
                       sn::io_error);
  CHECK_THROWS_AS(sn::load_checkpoint(file.path + ".none", m), sn::io_error);
}

TEST_CASE("names of other libraries") {
  const temporary file("foreign.safetensors");
  const sn::tensor<float, 2> w{{1, 2}, {3, 4}};
  const sn::tensor<float, 1> b{5, 6};
  sn::save_safetensors(file.path, {{"fc.kernel", w}, {"fc.offset", b}, {"fc.unused", b}});
  layers::linear<floats> layer{};
  sn::load_checkpoint(file.path, layer, [](const std::string& name) {
    return std::string("fc.") + (name == "weight" ? "kernel" : "offset");
  });
  CHECK(layer.weight == w);
  CHECK(layer.bias == b);
}

TEST_CASE("a save that cannot be finished keeps the last checkpoint") {
  const temporary file("kept.safetensors"), folder("kept.safetensors.partial");
  network<floats> m = fresh().model;
  sn::save_checkpoint(file.path, m);
  // Where the new file is to be written lies a folder.
  std::filesystem::create_directory(folder.path);
  network<floats> changed = m;
  changed.hidden.weight.fill(9);
  CHECK_THROWS_AS(sn::save_checkpoint(file.path, changed), sn::io_error);
  // A name that comes twice is found before anything is written.
  CHECK_THROWS_AS(
      sn::save_checkpoint(file.path, changed, [](const std::string&) { return "same"; }),
      sn::io_error);
  network<floats> loaded{};
  sn::load_checkpoint(file.path, loaded);
  CHECK(loaded.hidden.weight == m.hidden.weight);
}

}  // namespace checkpoint_test
