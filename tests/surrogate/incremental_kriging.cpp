// Models that grow with their samples, and models of more samples than a fit uses. They predict warped values.
#include "surrogate/incremental_kriging.hpp"

#include <gtest/gtest.h>

#include "surrogate/sampling.hpp"

namespace dodyn::surrogate::test_incremental_kriging {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

double wave(const VectorXd& x) { return std::sin(3.0 * x(0)) + x(1) * x(1); }

Samples some(Index n, bool gradients) {
  Samples s;
  s.x = sobol(2, n, 1);
  s.y = VectorXd::NullaryExpr(n, [&](Index i) { return wave(s.x.col(i)); });
  if (gradients) {
    s.gradient.resize(2, n);
    for (Index i = 0; i < n; ++i) s.gradient.col(i) << 3.0 * std::cos(3.0 * s.x(0, i)), 2.0 * s.x(1, i);
  }
  return s;
}

// Hyperparameters come from a part of the samples, the predictions from all.
TEST(IncrementalKriging, ManySamplesAreAllInTheModel) {
  const Samples all = some(330, false);
  IncrementalKriging model;
  EXPECT_TRUE(model.empty());
  KrigingOptions options;
  options.starts = 1;
  options.max_evaluations = 8;
  model.update(all, options, false, false);
  EXPECT_EQ(model.model().samples(), 330);
  for (Index i = 0; i < 330; i += 30)
    EXPECT_NEAR(model.model().predict(all.x.col(i)).mean, model.warp().forward(all.y(i)), 1e-3) << i;
  const Eigen::Vector2d between(0.37, 0.61);
  EXPECT_NEAR(model.model().predict(between).mean, model.warp().forward(wave(between)), 1e-3);
  model.clear();
  EXPECT_TRUE(model.empty());
}

// One sample more is in the model, with its gradient and without a new fit; a restart forgets.
TEST(IncrementalKriging, GrowsByWhatIsNew) {
  for (const bool gradients : {false, true}) {
    const Samples all = some(40, gradients);
    const auto first = [&](Index n) {
      Samples s;
      s.x = all.x.leftCols(n);
      s.y = all.y.head(n);
      if (gradients) s.gradient = all.gradient.leftCols(n);
      return s;
    };
    IncrementalKriging model;
    model.update(first(36), {}, false, false);
    const VectorXd lengths = model.model().hyperparameters().log_length;
    model.update(first(37), {}, false, false);
    EXPECT_EQ(model.model().samples(), 37);
    EXPECT_EQ(model.model().hyperparameters().log_length, lengths);
    Samples seen = first(37);
    for (double& y : seen.y) y = model.warp().forward(y);
    const Kriging whole = Kriging::with(seen, {}, model.model().hyperparameters());
    const Eigen::Vector2d at(0.21, 0.83);
    EXPECT_NEAR(model.model().predict(at).mean, whole.predict(at).mean, 1e-6);
    model.update(first(5), {}, false, true);
    EXPECT_EQ(model.model().samples(), 5);
  }
}

// A rough cost that is 0 on an edge of the box, to rounding. The number of samples on that edge does not deepen the warp.
TEST(IncrementalKriging, CostsThatAreEqualToRoundingDoNotDeepenTheWarp) {
  const auto width = [](Index on_edge) {
    Samples s, fewer;
    s.x = sobol(2, 16 + on_edge, 1);
    s.x.row(0).tail(on_edge).setZero();
    s.y = VectorXd::NullaryExpr(s.x.cols(), [&](Index i) {
      return i >= 16 ? 1e-16 * static_cast<double>(i % 5)
                     : 1.05 + std::sin(20.0 * s.x(0, i)) * std::cos(17.0 * s.x(1, i));
    });
    fewer.x = s.x.leftCols(s.x.cols() - 1);
    fewer.y = s.y.head(s.y.size() - 1);
    IncrementalKriging model;
    for (int fits = 0; fits < 6; ++fits) {  // each changes the width by a factor of ten at most
      model.update(fewer, {}, true, false);
      model.update(s, {}, true, false);
    }
    return model.warp().width;
  };
  for (const Index on_edge : {8, 12}) EXPECT_GE(width(on_edge), width(1)) << on_edge;
}

}  // namespace
}  // namespace dodyn::surrogate::test_incremental_kriging
