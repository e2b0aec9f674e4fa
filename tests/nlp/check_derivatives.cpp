#include "tests/nlp/check_derivatives.hpp"

#include <gtest/gtest.h>

#include "jet_problem.hpp"

namespace dodyn::nlp::test_check_derivatives {
namespace {

using Eigen::VectorXd;

// f = sin(x0 x1) + x2^3,  c = (x0 x2^2, log(x1))
JetProblem smooth() {
  return JetProblem(
      3, [](const Jets& x) { return sin(x[0] * x[1]) + power(x[2], 3); }, 2,
      [](const Jets& x) {
        return Jets{x[0] * squared(x[2]), log(x[1])};
      });
}

const VectorXd point = (VectorXd(3) << 0.7, 1.3, -2.1).finished();

// Adds an error to one entry of one derivative.
class Wrong : public JetProblem {
 public:
  enum What { gradient, jacobian_entry, hessian_entry };
  Wrong(What what, int entry, double error) : JetProblem(smooth()), what_(what), entry_(entry), error_(error) {}
  void objective_gradient(const VectorXd& x, Eigen::Ref<VectorXd> values) const override {
    JetProblem::objective_gradient(x, values);
    if (what_ == gradient) values[entry_] += error_;
  }
  void jacobian(const VectorXd& x, Eigen::Ref<VectorXd> values) const override {
    JetProblem::jacobian(x, values);
    if (what_ == jacobian_entry) values[entry_] += error_;
  }
  void hessian(const VectorXd& x, double factor, const VectorXd& y, Eigen::Ref<VectorXd> values) const override {
    JetProblem::hessian(x, factor, y, values);
    if (what_ == hessian_entry) values[entry_] += error_;
  }

 private:
  What what_;
  int entry_;
  double error_;
};

TEST(CheckDerivatives, RightOnesAgree) {
  const DerivativeErrors errors = check_derivatives(smooth(), point);
  EXPECT_LT(errors.max(), 1e-9) << errors.worst;
}

TEST(CheckDerivatives, FindsAPlantedError) {
  constexpr double planted = 1e-5;
  for (int entry = 0; entry < 3; ++entry)
    EXPECT_GT(check_derivatives(Wrong(Wrong::gradient, entry, planted), point).gradient, 1e-7);
  for (int entry = 0; entry < 6; ++entry) {
    EXPECT_GT(check_derivatives(Wrong(Wrong::jacobian_entry, entry, planted), point).jacobian, 1e-7);
    const DerivativeErrors errors = check_derivatives(Wrong(Wrong::hessian_entry, entry, planted), point);
    EXPECT_GT(errors.hessian, 1e-7);
    EXPECT_LT(errors.gradient, 1e-9);
    EXPECT_LT(errors.jacobian, 1e-9);
    EXPECT_EQ(errors.worst.substr(0, 7), "Hessian");
  }
}

TEST(CheckDerivatives, FindsAnEntryMissingFromThePattern) {
  JetProblem problem = smooth();
  problem.jacobian_pattern.rows.pop_back();  // (1, 2) is zero, (1, 1) is not
  problem.jacobian_pattern.columns.pop_back();
  EXPECT_LT(check_derivatives(problem, point).jacobian, 1e-9);
  problem.jacobian_pattern.rows.pop_back();
  problem.jacobian_pattern.columns.pop_back();
  EXPECT_GT(check_derivatives(problem, point).jacobian, 0.1);

  problem = smooth();
  problem.hessian_pattern.rows.pop_back();
  problem.hessian_pattern.columns.pop_back();
  EXPECT_GT(check_derivatives(problem, point).hessian, 0.1);
}

TEST(CheckDerivatives, NotANumberIsAnInfiniteError) {
  EXPECT_EQ(check_derivatives(smooth(), VectorXd::Constant(3, -1.0)).jacobian, infinity);  // log(-1)
}

}  // namespace
}  // namespace dodyn::nlp::test_check_derivatives
