#include "autodiff/tape.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace dodyn::autodiff::test_tape {
namespace {

// A function with every operation, shared terms, a constant output, an output that is an input, and parameters.
struct Everything {
  template <class T>
  std::vector<T> operator()(const std::vector<T>& z, const std::vector<T>& p) const {
    using std::abs, std::atan2, std::cos, std::exp, std::log, std::max, std::sin, std::sqrt;
    const T a = sin(z[0] * z[1]) + 2.0, b = z[2] - z[0] / a;
    const T c = sqrt(a * a + b * b) * cos(z[1] * p[1]);
    return {c * p[0] * sin(p[1]), atan2(a, b) + a / b - p[0], exp(-b * p[1]) * log(a + p[0]), z[2],
            -(b * b) * z[3] + (1.0 - z[1]) * max(p[0] * z[3], z[2]) + abs(z[1]) * (p[0] * (p[1] * z[0]))};
  }
};
const std::vector<double> parameters = {1.5, 0.7};

std::shared_ptr<const RecordedElement> recorded(int inputs, auto f) {
  return std::make_shared<RecordedElement>(record(inputs, 0, [f](const auto& z, const auto&) { return f(z); }),
                                           std::vector<Differential>{});
}

constexpr int in = 4, out = 5;
const double at[in] = {0.4, -0.8, 1.7, 0.6}, weights[out] = {0.3, -1.2, 0.7, 2.0, -0.4};
// The design has three variables, of which the parameters take two.
const auto element = std::make_shared<RecordedElement>(
    record(in, 2, Everything{}),
    std::vector<Differential>{{1.5, Eigen::Vector3d(1.0, 0.0, -2.0)}, {0.7, Eigen::Vector3d(0.3, 0.0, 1.0)}});

TEST(Tape, ValuesAreThoseOfTheFunction) {
  const auto expected = Everything{}(std::vector<double>(at, at + in), parameters);
  double values[out];
  element->evaluate(at, values);
  ASSERT_EQ(element->outputs, out);
  for (int j = 0; j < out; ++j) EXPECT_NEAR(values[j], expected[j], 1e-15);
}

TEST(Tape, JacobianIsThatOfDifferences) {
  double jacobian[out * in];
  element->jacobian(at, jacobian);
  for (int i = 0; i < in; ++i) {
    const double h = 1e-3;
    const auto moved = [&](double step) {
      std::vector<double> z(at, at + in), values(out);
      z[i] += step;
      element->evaluate(z.data(), values.data());
      return values;
    };
    const auto p1 = moved(h), m1 = moved(-h), p2 = moved(2 * h), m2 = moved(-2 * h);
    for (int j = 0; j < out; ++j)
      EXPECT_NEAR(jacobian[j * in + i], (8.0 * (p1[j] - m1[j]) - (p2[j] - m2[j])) / (12.0 * h), 1e-9);
  }
}

TEST(Tape, HessianIsSymmetricAndThatOfTheJacobian) {
  double hessian[in * in];
  element->hessian(at, weights, hessian);
  for (int i = 0; i < in; ++i) {
    const double h = 1e-3;
    const auto slope = [&](double step) {
      double z[in], jacobian[out * in];
      std::copy_n(at, in, z);
      z[i] += step;
      element->jacobian(z, jacobian);
      std::vector<double> sum(in, 0.0);
      for (int j = 0; j < out; ++j)
        for (int k = 0; k < in; ++k) sum[k] += weights[j] * jacobian[j * in + k];
      return sum;
    };
    const auto p1 = slope(h), m1 = slope(-h), p2 = slope(2 * h), m2 = slope(-2 * h);
    for (int k = 0; k < in; ++k) {
      EXPECT_NEAR(hessian[k * in + i], (8.0 * (p1[k] - m1[k]) - (p2[k] - m2[k])) / (12.0 * h), 1e-9);
      EXPECT_NEAR(hessian[k * in + i], hessian[i * in + k], 1e-14);
    }
  }
}

TEST(Tape, DesignGradientIsThatOfDifferences) {
  const auto weighted = [&](double first, double second) {
    const auto y = Everything{}(std::vector<double>(at, at + in), {1.5 + first, 0.7 + second});
    double sum = 0.0;
    for (int j = 0; j < out; ++j) sum += weights[j] * y[j];
    return sum;
  };
  const double h = 1e-3;
  const auto difference = [&](double a, double b) {
    return (8.0 * (weighted(a * h, b * h) - weighted(-a * h, -b * h)) -
            (weighted(2 * a * h, 2 * b * h) - weighted(-2 * a * h, -2 * b * h))) /
           (12.0 * h);
  };
  Eigen::VectorXd gradient = Eigen::VectorXd::Constant(3, 10.0);  // it adds
  element->add_design_gradient(1, at, weights, gradient);
  EXPECT_NEAR(gradient(0), 10.0 + difference(1.0, 0.3), 1e-9);
  EXPECT_EQ(gradient(1), 10.0);
  EXPECT_NEAR(gradient(2), 10.0 + difference(-2.0, 1.0), 1e-9);
}

TEST(Tape, DesignGradientOfManyPointsIsTheSumOfTheirs) {
  std::vector<double> z, w;
  Eigen::VectorXd one = Eigen::VectorXd::Zero(3), all = one;
  for (int k = 0; k < 11; ++k)
    for (int i = 0; i < in; ++i) z.push_back(at[i] + 0.01 * k * (i + 1));
  for (int k = 0; k < 11; ++k)
    for (int j = 0; j < out; ++j) w.push_back(weights[j] * (1.0 + 0.1 * k));
  for (int k = 0; k < 11; ++k) element->add_design_gradient(1, &z[k * in], &w[k * out], one);
  element->add_design_gradient(11, z.data(), w.data(), all);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(all(i), one(i), 1e-12 * std::abs(one(i)));
}

// Operations that depend on parameters alone are not repeated in a run.
TEST(Tape, OperationsOnParametersRunAhead) {
  const auto costly = [](const auto& z, const auto& p) {
    return std::vector<Var>{z[0] * sin(p[0]) * p[1] + exp(p[0] / p[1]) * z[1] * p[0]};
  };
  EXPECT_EQ(record(2, 2, costly)->values.operations(), 2);
}

// Without inputs the first place belongs to an operation on parameters.
TEST(Tape, AFunctionOfParametersAloneHasTheirValue) {
  const RecordedElement e(record(0, 2, [](const auto&, const auto& p) { return std::vector<Var>{sin(p[0]) * p[1]}; }),
                          {1.5, 0.7});
  double value = 0.0;
  e.evaluate(nullptr, &value);
  EXPECT_DOUBLE_EQ(value, std::sin(1.5) * 0.7);
}

struct Chain {
  template <class T>
  std::vector<T> operator()(const std::vector<T>& z) const {
    T sum = T(0.0);
    for (std::size_t i = 0; i + 1 < z.size(); ++i) sum += sin(z[i]) * z[i + 1] * z[i + 1];
    return {sum};
  }
};

TEST(Tape, FunctionsOfManyInputsStaySparse) {
  constexpr int n = 53;
  const auto chain = recorded(n, Chain{});
  std::vector<double> z(n), jacobian(n);
  for (int i = 0; i < n; ++i) z[i] = 0.1 * i - 2.0;
  chain->jacobian(z.data(), jacobian.data());
  for (int i = 0; i < n; ++i) {
    double expected = i + 1 < n ? std::cos(z[i]) * z[i + 1] * z[i + 1] : 0.0;
    if (i > 0) expected += 2.0 * std::sin(z[i - 1]) * z[i];
    EXPECT_NEAR(jacobian[i], expected, 1e-13);
  }
  // some operations per link, although the Hessian has 1431 entries
  EXPECT_LE(chain->function().derivatives().both.operations(), 15 * n);
}

// Random operations, also with equal operands. Values are bounded and smooth for any input.
struct Anything {
  unsigned seed;
  template <class T>
  std::vector<T> operator()(const std::vector<T>& z) const {
    using std::atan2, std::cos, std::sin, std::sqrt;
    std::mt19937 random(seed);
    std::vector<T> v = z;
    for (int k = 0; k < 40; ++k) {
      const T a = v[random() % v.size()], b = v[random() % v.size()];
      switch (random() % 9) {
        case 0:
          v.push_back(a + b);
          break;
        case 1:
          v.push_back(a - b);
          break;
        case 2:
          v.push_back(sin(a) * b);
          break;
        case 3:
          v.push_back(a / (2.0 + cos(b)));
          break;
        case 4:
          v.push_back(sqrt(1.0 + a * a));
          break;
        case 5:
          v.push_back(atan2(a, 1.5 + cos(b)));
          break;
        case 6:
          v.push_back(-a * cos(b));
          break;
        case 7:
          v.push_back(1.0 / (1.0 + b * b) - 0.5 * a);
          break;
        default:
          v.push_back(sin(a * b));
      }
    }
    return {v[v.size() - 1], v[v.size() - 2], v[v.size() - 3], T(2.0), z[0]};
  }
};

std::vector<double> numbers(std::mt19937& random, std::size_t count) {
  std::vector<double> v(count);
  for (double& x : v) x = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
  return v;
}

// Compilers evaluate the operands of an operation in either order. The results must be bitwise equal.
TEST(Tape, TheOrderInWhichTermsAreWrittenDoesNotMatter) {
  constexpr int terms = 6;
  const auto function = [](bool backwards) {
    return std::make_shared<RecordedElement>(
        record(terms, 2,
               [backwards](const std::vector<Var>& z, const std::vector<Var>& p) {
                 std::vector<Var> t(terms);
                 for (int k = 0; k < terms; ++k) {
                   const int i = backwards ? terms - 1 - k : k;
                   const auto write = [&](bool first) {
                     return first ? p[0] * (z[i] * sin(z[(i + 1) % terms])) : p[1] * (z[i] - cos(z[i]) * z[0]);
                   };
                   const Var one = write(!backwards), other = write(backwards);
                   t[i] = backwards ? other * one : one * other;
                 }
                 Var sum = 0.0, product = 1.0;
                 for (const Var& x : t) sum = sum + x, product = product * x;
                 const Var slope = Var::at(Recording::current->gradient(product.node, {z[2].node})[0]);
                 return std::vector<Var>{sum, product, sum * slope};
               }),
        std::vector<Differential>{0.37, 1.93});
  };
  const auto forwards = function(false), backwards = function(true);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 20; ++trial) {
    double z[terms], factors[3];
    for (double& x : z) x = normal(random);
    for (double& x : factors) x = normal(random);
    double values[2][3], jacobian[2][3 * terms], hessian[2][terms * terms];
    for (const int i : {0, 1}) {
      const auto& f = i ? backwards : forwards;
      f->evaluate(z, values[i]);
      f->derivatives(z, factors, jacobian[i], hessian[i]);
    }
    for (int j = 0; j < 3; ++j) EXPECT_EQ(values[0][j], values[1][j]);
    for (int j = 0; j < 3 * terms; ++j) EXPECT_EQ(jacobian[0][j], jacobian[1][j]);
    for (int j = 0; j < terms * terms; ++j) EXPECT_EQ(hessian[0][j], hessian[1][j]);
  }
}

TEST(Tape, AgreesWithForwardDifferentiationWhateverIsRecorded) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Anything f{seed};
    const auto tape = recorded(in, f);
    std::mt19937 random(seed + 1000);
    const auto z = numbers(random, in), w = numbers(random, out);
    std::vector<double> values(out), jacobian(out * in), hessian(in * in);
    tape->evaluate(z.data(), values.data());
    tape->derivatives(z.data(), w.data(), jacobian.data(), hessian.data());
    for (int i = 0; i < in; ++i)
      for (int j = 0; j < in; ++j) {
        std::vector<Dual<Dual<double>>> x(in);
        for (int k = 0; k < in; ++k) x[k] = {Dual<double>(z[k], k == j), Dual<double>(k == i)};
        const auto y = f(x);
        double second = 0.0, size = 1.0;
        for (int k = 0; k < out; ++k) {
          EXPECT_NEAR(values[k], y[k].value.value, 1e-13 * (1.0 + std::abs(values[k])));
          EXPECT_NEAR(jacobian[k * in + i], y[k].tangent.value, 1e-12 * (1.0 + std::abs(y[k].tangent.value)));
          second += w[k] * y[k].tangent.tangent;
          size += std::abs(y[k].tangent.tangent);
        }
        EXPECT_NEAR(hessian[i * in + j], second, 1e-11 * size) << "function " << seed;
      }
  }
}

TEST(Tape, AllPointsAtOnceAreThePointsOneByOne) {
  const Anything f{7};
  const auto tape = recorded(in, f);
  std::mt19937 random(1);
  for (const int count : {1, 2, 7, 8, 9, 21}) {
    const auto z = numbers(random, count * in), w = numbers(random, count * out);
    std::vector<double> values(count * out), jacobians(count * out * in), hessians(count * in * in, 0.0);
    std::vector<double> only_jacobians(jacobians), only_hessians(hessians);
    tape->evaluate_all(count, z.data(), values.data());
    tape->derivatives_all(count, z.data(), w.data(), jacobians.data(), hessians.data());
    tape->derivatives_all(count, z.data(), nullptr, only_jacobians.data(), nullptr);
    tape->derivatives_all(count, z.data(), w.data(), nullptr, only_hessians.data());
    EXPECT_EQ(jacobians, only_jacobians);
    EXPECT_EQ(hessians, only_hessians);
    for (int k = 0; k < count; ++k) {
      std::vector<double> y(out), J(out * in), H(in * in);
      tape->evaluate(&z[k * in], y.data());
      tape->jacobian(&z[k * in], J.data());
      tape->hessian(&z[k * in], &w[k * out], H.data());
      for (int j = 0; j < out; ++j) EXPECT_EQ(values[k * out + j], y[j]);
      for (int j = 0; j < out * in; ++j) EXPECT_EQ(jacobians[k * out * in + j], J[j]);
      for (int i = 0; i < in; ++i)
        for (int j = 0; j < in; ++j) {
          EXPECT_EQ(hessians[k * in * in + i * in + j], j <= i ? H[i * in + j] : 0.0);
          EXPECT_EQ(H[i * in + j], H[j * in + i]);
        }
    }
  }
}

TEST(Tape, ProgramsAreSharedByElementsOfDifferentParameters) {
  Recording recording;
  const Var x = Var::input(), y = Var::input(), p = Var::parameter();
  const Var f = sin(p * x) * y;  // recorded before the graph is copied
  const auto function = recorded_function(recording.graph, {x.node, y.node}, {p.node}, {f.node});
  for (const double parameter : {0.5, -2.0}) {
    const RecordedElement e(function, {parameter});
    const double z[2] = {0.3, 1.7}, weight = 2.0;
    double value, J[2], H[4];
    e.evaluate(z, &value);
    e.derivatives(z, &weight, J, H);
    const double s = std::sin(parameter * z[0]), c = std::cos(parameter * z[0]);
    EXPECT_DOUBLE_EQ(value, s * z[1]);
    EXPECT_DOUBLE_EQ(J[0], parameter * c * z[1]);
    EXPECT_DOUBLE_EQ(J[1], s);
    EXPECT_DOUBLE_EQ(H[0], -2.0 * parameter * parameter * s * z[1]);
    EXPECT_DOUBLE_EQ(H[1], 2.0 * parameter * c);
    EXPECT_EQ(H[3], 0.0);
  }
}

TEST(Tape, DirectionalDerivativesAreGradientsTimesRates) {
  Recording recording;
  Graph& graph = recording.graph;
  const Var x = Var::input(), y = Var::input(), a = Var::input(), b = Var::input();
  const Var f = sin(x * y) / y;
  const auto gradient = graph.gradient(f.node, {x.node, y.node});
  const auto moved = graph.directional({f.node, x.node, Var(3.0).node}, {x.node, y.node}, {a.node, b.node});
  std::vector<int> nodes = moved;
  nodes.insert(nodes.end(), gradient.begin(), gradient.end());
  const Program program(graph, nodes, 4);
  double* room = program.start({});
  for (int i = 0; i < 4; ++i) std::fill_n(room + i * Program::lanes, Program::lanes, 0.3 + 0.4 * i);
  program.run(room, 1);
  const auto result = [&](int j) { return program.output(room, j)[0]; };
  EXPECT_NEAR(result(0), 1.1 * result(3) + 1.5 * result(4), 1e-15);
  EXPECT_DOUBLE_EQ(result(1), 1.1);
  EXPECT_EQ(result(2), 0.0);
}

TEST(Tape, ConstantsFoldAndEqualOperationsAreShared) {
  const Recording recording;
  const Var x = Var::input();
  EXPECT_EQ((x * 1.0 + 0.0).node, x.node);
  EXPECT_EQ((sin(x) * x).node, (x * sin(x)).node);
  EXPECT_EQ((x * 0.0).node, Var(0.0).node);
  EXPECT_EQ((Var(2.0) * 3.0).node, Var(6.0).node);
  const Var y = Var::input();
  EXPECT_EQ((x + -y).node, (x - y).node);
  EXPECT_EQ((-x * -y).node, (y * x).node);
  EXPECT_EQ((-(x - y)).node, (y - x).node);
  EXPECT_EQ((x * 0.0).node, (0.0 * x).node);
  EXPECT_EQ((1.0 * x).node, (x * 1.0).node);
}

TEST(Tape, EqualOperationsAreSharedInLargeGraphsToo) {
  const Recording recording;
  const Var x = Var::input();
  std::vector<int> first, again;
  for (auto* nodes : {&first, &again})
    for (int i = 0; i < 3000; ++i) nodes->push_back(sin(x + static_cast<double>(i)).node);
  EXPECT_EQ(first, again);
}

// Compares with the library's functions in twice the precision: the error is at most one unit in the last place, also
// near multiples of a quarter turn and outside the range of the vectorised code.
TEST(Program, SinesAndCosinesAreRoundedToTheLastPlace) {
  const auto f = recorded(1, [](const auto& z) {
    using std::cos, std::sin;
    return std::vector{sin(z[0]), cos(z[0])};
  });
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-30.0, 25.0), one(-1.0, 1.0);
  std::vector<double> z{0.0, -0.0, 1e-300, 0.5, 1e6, -1e6, 1.0000001e6, 1e9, 1e22};
  for (int i = 0; i < 40000; ++i) z.push_back(one(random) * std::exp2(exponent(random)));
  for (int i = 0; i < 20000; ++i) z.push_back((i - 10000) * 1.5707963267948966 * (1.0 + 1e-15 * one(random)));
  std::vector<double> values(2 * z.size());
  f->evaluate_all(z.size(), z.data(), values.data());
  const auto places = [](double x, long double exact) {
    const double unit =
        std::nextafter(std::abs(static_cast<double>(exact)), 1e300) - std::abs(static_cast<double>(exact));
    return static_cast<double>(std::abs(x - exact) / unit);
  };
  double max_error = 0.0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const long double x = z[i];
    max_error = std::max({max_error, places(values[2 * i], std::sin(x)), places(values[2 * i + 1], std::cos(x))});
  }
  EXPECT_LT(max_error, 1.0);
  EXPECT_GT(max_error, 0.5);  // rounding shows
  for (const double no : {std::nan(""), HUGE_VAL}) {
    f->evaluate_all(1, &no, values.data());
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
  }
}

// The digits of a lane are the same whatever the other lanes hold, such as numbers of an earlier run of the thread.
TEST(Program, ALaneDoesNotDependOnTheOthers) {
  Recording recording;
  const Var x = Var::input();
  const Program program(recording.graph, {sin(x).node, cos(x).node, exp(x).node}, 1);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> angle(-1e3, 1e3);
  for (int i = 0; i < 2000; ++i) {
    const double own = angle(random);
    const auto values = [&](double others) {
      double* room = program.start();
      std::fill_n(room, Program::lanes, others);
      room[0] = own;
      program.run(room, 1);
      return std::array{*program.output(room, 0), *program.output(room, 1), *program.output(room, 2)};
    };
    const auto alone = values(own);
    for (const double others : {0.3, 2e6, std::nan(""), HUGE_VAL})
      EXPECT_EQ(values(others), alone) << own << " beside " << others;
  }
}

}  // namespace
}  // namespace dodyn::autodiff::test_tape
