#include "surrogate/design_space.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "surrogate/random.hpp"

namespace dodyn::surrogate::test_design_space {
namespace {

using Eigen::VectorXd;

const std::vector<Variable> box = {{"a", "m", -1, 3}, {"n", "", 1.5, 6.2}, {"kind", "", 0, 2}};

TEST(DesignSpace, UnitAndDesignInvertEachOther) {
  const DesignSpace space(box, {Domain::real, Domain::integer, Domain::category}, "test");
  EXPECT_EQ(space.embedded(), 5);
  EXPECT_EQ(space.variables()[1].lower, 2);  // 1.5 to 6.2 holds 2 to 6
  EXPECT_EQ(space.variables()[1].upper, 6);
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const VectorXd u = VectorXd::NullaryExpr(3, [&] { return random.uniform(); }), x = space.design(u);
    EXPECT_EQ(x(1), std::round(x(1)));
    EXPECT_EQ(x(2), std::round(x(2)));
    EXPECT_TRUE(x(0) >= -1 && x(0) <= 3 && x(1) >= 2 && x(1) <= 6 && x(2) >= 0 && x(2) <= 2);
    EXPECT_LT((space.design(space.unit(x)) - x).norm(), 1e-12);
    const VectorXd z = space.embed(u);
    EXPECT_EQ(z.tail(3).sum(), 1);
    EXPECT_EQ(z.tail(3)(static_cast<Eigen::Index>(x(2))), 1);
  }
  const VectorXd g = space.pull_back(VectorXd::LinSpaced(5, 1, 5));
  EXPECT_EQ(g, (VectorXd(3) << 1, 0, 0).finished());
}

Domain whole_on_log_scale() {
  Domain domain(Domain::integer);
  domain.on_log_scale = true;
  return domain;
}

TEST(DesignSpace, WholeNumbersOnALogarithmicScale) {
  for (const double last : {9.0, 5000.0}) {  // few values: all are tried; many values: they move as real variables
    const DesignSpace space({{"n", "", 2, last}}, {whole_on_log_scale()}, "test");
    EXPECT_EQ(space.levels(0), static_cast<int>(last) - 1);
    EXPECT_EQ(space.moves(0), last > 9);
    EXPECT_FALSE(space.real(0));
    for (const double n : {2.0, 3.0, 7.0, last}) {
      const VectorXd u = space.unit(VectorXd::Constant(1, n));
      EXPECT_NEAR(u(0), std::log(n / 2) / std::log(last / 2), 1e-12);
      EXPECT_EQ(space.design(u)(0), n);
      const int level = space.level(0, u(0));
      EXPECT_EQ(level, static_cast<int>(n) - 2);
      EXPECT_NEAR(space.unit_of_level(0, level), u(0), 1e-12);
      EXPECT_NEAR(space.embed(u)(0), u(0), 1e-12);
    }
    Random random(3);
    for (int i = 0; i < 100; ++i) {
      const VectorXd u = VectorXd::Constant(1, random.uniform()), x = space.design(u);
      EXPECT_EQ(x(0), std::round(x(0)));
      EXPECT_TRUE(x(0) >= 2 && x(0) <= last);
      if (space.moves(0)) {
        EXPECT_EQ(space.rounded(u), space.unit(x));
      }
    }
  }
  EXPECT_THROW(DesignSpace({{"n", "", 0, 9}}, {whole_on_log_scale()}, "test"), std::invalid_argument);
}

TEST(DesignSpace, RefusesWhatHoldsNothing) {
  EXPECT_THROW(DesignSpace({}, {}, "test"), std::invalid_argument);
  EXPECT_THROW(DesignSpace({{"a", "", 1, 1}}, {}, "test"), std::invalid_argument);
  EXPECT_THROW(DesignSpace({{"n", "", 0.2, 0.8}}, {Domain::integer}, "test"), std::invalid_argument);
  EXPECT_THROW(DesignSpace({{"n", "", 0, 40}}, {Domain::category}, "test"), std::invalid_argument);
  EXPECT_THROW(DesignSpace(box, {Domain::real}, "test"), std::invalid_argument);
}

TEST(DesignSpace, ADesignBesideABoundByRoundingLiesOnIt) {
  const DesignSpace space({{"x", "", 0, 1}, {"y", "", 1, 1e5}}, {Domain::real, Domain::logarithmic}, "test");
  EXPECT_EQ(space.design(Eigen::Vector2d(5e-16, 1 - 5e-16)), Eigen::Vector2d(0, 1e5));
  EXPECT_NE(space.design(Eigen::Vector2d(1e-9, 0.5))(0), 0.0);
}

TEST(DesignSpace, AValueThatReadsAsItsBoundLiesOnIt) {
  const std::vector<Variable> variables = {{"x", "m", -1, 1}, {"y", "", -1, 1}, {"z", "", 1, 1e5}};
  EXPECT_EQ(place_of(variables, Eigen::Vector3d(-1 + 1e-12, 1, 1.05)),
            "x = -1 m (its lower bound), y = 1 (its upper bound), z = 1.05");
}

}  // namespace
}  // namespace dodyn::surrogate::test_design_space
