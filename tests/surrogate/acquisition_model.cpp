#include "surrogate/acquisition_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "surrogate/random.hpp"

namespace dodyn::surrogate::test_acquisition_model {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::VectorXd;

const std::vector<Variable> square = {{"a", "m", -1, 3}, {"b", "", 10, 30}};

// 24 evaluations of a wavy cost, with two metrics.
struct Setting {
  bool fails = false, noisy = false, pending = false, constraint = false, two_objectives = false;
  AcquisitionModelOptions options = {};
};

struct Told {
  ObservedData observed;
  Models models;
  explicit Told(const Setting& setting)
      : observed{.space = DesignSpace(square, {}, "test"), .constraints = {}, .objectives = {-1}},
        models(setting.two_objectives ? 2 : 1, setting.constraint ? 1 : 0) {
    if (setting.two_objectives) observed.objectives = {-1, 1};
    if (setting.constraint) observed.constraints = {{.name = "torque", .metric = 0, .limit = 0.8, .below = true}};
    Random random(5);
    for (int i = 0; i < 24; ++i) {
      Evaluation e;
      const VectorXd u = Vector2d(random.uniform(), random.uniform());
      e.design = observed.space.design(u);
      e.status = setting.fails && u(0) + 0.4 * u(1) > 0.9 ? Status::failed : Status::ok;
      e.cost = std::sin(5 * u(0)) + std::pow(u(1) - 0.4, 2) + (setting.noisy ? 0.05 * random.normal() : 0);
      e.cost_stderr = setting.noisy ? 0.05 : 0;
      e.metrics = Vector2d(u(0) + std::cos(4 * u(1)), std::pow(u(0) - 0.8, 2) + u(1));
      observed.evaluations.push_back(e);
    }
    if (setting.pending)
      observed.pending = {observed.space.design(Vector2d(0.72, 0.35)), observed.space.design(Vector2d(0.3, 0.8))};
    models.update(observed, {}, false);
  }
};

std::vector<std::pair<std::string, Setting>> settings() {
  AcquisitionModelOptions careful, margin, with_max_length;
  careful.success_power = 2.5;
  margin.margin = 0.1, margin.incumbent = -0.7;
  with_max_length.longest = 0.3;
  return {{"plain", {}},
          {"fails", {.fails = true}},
          {"care", {.fails = true, .options = careful}},
          {"noise", {.noisy = true}},
          {"pending", {.pending = true}},
          {"constraint", {.constraint = true}},
          {"incumbent", {.options = margin}},
          {"with_max_length", {.options = with_max_length}},
          {"two objectives", {.two_objectives = true}},
          {"all", {.fails = true, .pending = true, .constraint = true, .options = careful}}};
}

// The score that a search maximises: its slope against differences, and the archived terms against their sum.
TEST(AcquisitionModel, TheSlopeOfAScoreIsThatOfItsDifferences) {
  for (const auto& [name, setting] : settings()) {
    const Told told(setting);
    const AcquisitionModel acquisition(told.observed, told.models, setting.options);
    const FailureBoundary edge(told.observed);
    int beyond = 0, sloping = 0;
    Random random(6);
    for (int i = 0; i < 30; ++i) {
      const VectorXd u = Vector2d(random.uniform(), random.uniform());
      SCOPED_TRACE(testing::Message() << name << " at " << u.transpose());
      VectorXd slope;
      const double value = acquisition.score(u, &slope);
      ASSERT_EQ(slope.size(), 2);
      beyond += edge.beyond(told.observed.space.embed(u)) < 0;
      for (Index k = 0; k < 2; ++k) {
        const auto difference = [&](double step) {
          const VectorXd h = step * VectorXd::Unit(2, k);
          return (acquisition.score(u + h, nullptr) - acquisition.score(u - h, nullptr)) / (2 * step);
        };
        const double fine = difference(1e-5), coarse = difference(2e-5);
        if (std::abs(fine - coarse) > 1e-4 * (1 + std::abs(fine))) continue;  // on the ridge between two designs
        EXPECT_NEAR(slope(k), fine, 1e-3 * (1 + std::abs(fine)));
        sloping += std::abs(fine) > 0.1;
      }
      const double together = acquisition.scores(u)(0);
      EXPECT_NEAR(together, value, 1e-5 * (1 + std::abs(value)));  // far beyond a limit a variance of rounding decides
      const VectorXd parts = acquisition.parts_of_score(u);
      const Index first = 2 * static_cast<Index>(told.observed.objectives.size());
      ASSERT_EQ(parts.size(), AcquisitionModel::parts(told.observed).size());
      EXPECT_NEAR(parts.tail(parts.size() - first).sum(), value, 1e-9 * (1 + std::abs(value)));
    }
    EXPECT_GT(sloping, 5) << name;
    EXPECT_EQ(beyond > 0, setting.fails) << name;
  }
}

// The more care, the less a doubtful design is worth; a design that is out already is worth less than before.
TEST(AcquisitionModel, CareDistrustAndPendingDesignsTakeFromAScore) {
  Setting setting{.fails = true};
  const Told told(setting);
  const VectorXd doubtful = Vector2d(0.85, 0.5);
  AcquisitionModelOptions careful;
  careful.success_power = 3;
  EXPECT_LT(AcquisitionModel(told.observed, told.models, careful).score(doubtful, nullptr),
            AcquisitionModel(told.observed, told.models, {}).score(doubtful, nullptr) - 0.1);
  setting.fails = false;
  const Told before(setting);
  setting.pending = true;
  const Told after(setting);
  const VectorXd out = Vector2d(0.72, 0.35);
  EXPECT_LT(AcquisitionModel(after.observed, after.models, {}).score(out, nullptr),
            AcquisitionModel(before.observed, before.models, {}).score(out, nullptr) - 1);
}

}  // namespace
}  // namespace dodyn::surrogate::test_acquisition_model
