#include "bbob_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace dodyn::bench {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using std::numbers::pi;
using surrogate::Random;

// Shift, rotations and signs of one instance of a function.
struct Instance {
  VectorXd optimum;
  MatrixXd r, q;
  ArrayXd signs;
  Random random = Random(0);

  Index d() const { return optimum.size(); }
  // i / (d - 1), i = 0 to d - 1
  double part(Index i) const { return static_cast<double>(i) / static_cast<double>(d() - 1); }
  ArrayXd parts() const { return ArrayXd::LinSpaced(d(), 0, 1); }
  // The diagonal of Lambda^alpha.
  ArrayXd lambda(double alpha) const { return Eigen::pow(alpha, 0.5 * parts()); }
  MatrixXd q_lambda_r(double alpha) const { return q * lambda(alpha).matrix().asDiagonal() * r; }
};

MatrixXd random_rotation(Random& random, Index d) {
  MatrixXd columns = MatrixXd::NullaryExpr(d, d, [&] { return random.normal(); });
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < i; ++j) columns.col(i) -= columns.col(i).dot(columns.col(j)) * columns.col(j);
    columns.col(i).normalize();
  }
  return columns;
}

double t_osz(double x) {
  if (x == 0) return 0;
  const double log = std::log(std::abs(x)), c1 = x > 0 ? 10 : 5.5, c2 = x > 0 ? 7.9 : 3.1;
  return (x > 0 ? 1 : -1) * std::exp(log + 0.049 * (std::sin(c1 * log) + std::sin(c2 * log)));
}

VectorXd t_osz(const VectorXd& x) {
  return x.unaryExpr([](double value) { return t_osz(value); });
}

template <class List>
void shuffle(Random& random, List& list) {
  for (int i = std::ssize(list) - 1; i > 0; --i) std::swap(list[i], list[random.below(i + 1)]);
}

VectorXd t_asy(const Instance& in, double beta, VectorXd x) {
  for (Index i = 0; i < x.size(); ++i)
    if (x(i) > 0) x(i) = std::pow(x(i), 1 + beta * in.part(i) * std::sqrt(x(i)));
  return x;
}

double waves(const VectorXd& z) { return static_cast<double>(z.size()) - (2 * pi * z.array()).cos().sum(); }

double ellipsoid(const Instance& in, const VectorXd& z) {
  return (Eigen::pow(1e6, in.parts()) * z.array().square()).sum();
}

double rosenbrock(const VectorXd& z) {
  const Index n = z.size() - 1;
  return (100 * (z.head(n).array().square() - z.tail(n).array()).square() + (z.head(n).array() - 1).square()).sum();
}

// Schaffer's F7.
double schaffer(const Instance& in, double condition, const VectorXd& x) {
  const VectorXd z = in.lambda(condition).matrix().asDiagonal() * (in.q * t_asy(in, 0.5, in.r * (x - in.optimum)));
  const Index n = z.size() - 1;
  const ArrayXd s = (z.head(n).array().square() + z.tail(n).array().square()).sqrt();
  return std::pow((s.sqrt() * (1 + (50 * s.pow(0.2)).sin().square())).mean(), 2);
}

double weierstrass(const Instance& in, const VectorXd& x) {
  const VectorXd z = in.r * (in.lambda(0.01).matrix().asDiagonal() * (in.q * t_osz(in.r * (x - in.optimum))));
  double sum = 0, f0 = 0;
  for (int k = 0; k < 12; ++k) {
    const double a = std::pow(0.5, k), b = 2 * pi * std::pow(3.0, k);
    sum += a * (b * (z.array() + 0.5)).cos().mean();
    f0 += a * std::cos(b / 2);
  }
  return 10 * std::pow(sum - f0, 3);
}

double griewank_rosenbrock(const VectorXd& z) {
  const Index n = z.size() - 1;
  const ArrayXd s = 100 * (z.head(n).array().square() - z.tail(n).array()).square() + (z.head(n).array() - 1).square();
  return 10 * (s / 4000 - s.cos()).mean() + 10;
}

double schwefel(const Instance& in, const VectorXd& x) {
  const ArrayXd at = 2 * in.optimum.array().abs(), flipped = 2 * in.signs * x.array();
  ArrayXd z = flipped;
  for (Index i = 0; i + 1 < z.size(); ++i) z(i + 1) += 0.25 * (flipped(i) - at(i));
  z = 100 * (in.lambda(10) * (z - at) + at);
  const double outside = (z.abs() / 100 - 5).max(0).square().sum();
  return 4.189828872724339 - 0.01 * (z * z.abs().sqrt().sin()).mean() + 100 * outside;
}

double katsuura(const Instance& in, const VectorXd& x) {
  const VectorXd z = in.q_lambda_r(100) * (x - in.optimum);
  const auto d = static_cast<double>(z.size());
  double product = 1;
  for (Index i = 0; i < z.size(); ++i) {
    double sum = 0;
    for (int j = 1; j <= 32; ++j) {
      const double scaled = std::ldexp(z(i), j);
      sum += std::ldexp(std::abs(scaled - std::round(scaled)), -j);
    }
    product *= std::pow(1 + static_cast<double>(i + 1) * sum, 10 / std::pow(d, 1.2));
  }
  return 10 / (d * d) * (product - 1);
}

double lunacek(const Instance& in, const VectorXd& x) {
  const auto d = static_cast<double>(x.size());
  const double s = 1 - 1 / (2 * std::sqrt(d + 20) - 8.2), mu0 = 2.5, mu1 = -std::sqrt((mu0 * mu0 - 1) / s);
  const ArrayXd flipped = 2 * in.signs * x.array();
  const VectorXd z = in.q_lambda_r(100) * (flipped - mu0).matrix();
  return std::min((flipped - mu0).square().sum(), d + s * (flipped - mu1).square().sum()) + 10 * waves(z);
}

double step_ellipsoid(const Instance& in, const VectorXd& x) {
  const VectorXd hat = in.lambda(10).matrix().asDiagonal() * (in.r * (x - in.optimum));
  const VectorXd z = in.q * hat.unaryExpr([](double v) {
    return std::abs(v) > 0.5 ? std::floor(0.5 + v) : std::floor(0.5 + 10 * v) / 10;
  });
  return 0.1 * std::max(std::abs(hat(0)) / 1e4, (Eigen::pow(100.0, in.parts()) * z.array().square()).sum());
}

// The function of Büche and Rastrigin: steeper on one side of every other coordinate.
double bueche(const Instance& in, const VectorXd& x) {
  VectorXd z = t_osz(x - in.optimum);
  for (Index i = 0; i < z.size(); ++i) z(i) *= std::pow(10.0, 0.5 * in.part(i)) * (z(i) > 0 && i % 2 == 0 ? 10 : 1);
  return 10 * waves(z) + z.squaredNorm();
}

double linear_slope(const Instance& in, const VectorXd& x) {
  double sum = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double s = (in.optimum(i) > 0 ? 1 : -1) * std::pow(10.0, in.part(i));
    sum += 5 * std::abs(s) - s * (in.optimum(i) * x(i) < 25 ? x(i) : in.optimum(i));
  }
  return sum;
}

double attractive_sector(const Instance& in, const VectorXd& x) {
  ArrayXd z = in.q_lambda_r(10) * (x - in.optimum);
  for (Index i = 0; i < z.size(); ++i) z(i) *= z(i) * in.optimum(i) > 0 ? 100 : 1;
  return std::pow(t_osz(z.square().sum()), 0.9);
}

// Gallagher's function: the maximum of `peaks` Gaussians, drawn at random. The first peak is the optimum.
Scalar gallagher(Instance& in, int peaks, double reach, double first_reach, double first_condition) {
  struct Peak {
    VectorXd at;  // position in rotated coordinates
    ArrayXd weights;
    double height;
  };
  const Index d = in.d();
  Eigen::ArrayXi exponents = Eigen::ArrayXi::LinSpaced(peaks - 1, 0, peaks - 2);
  shuffle(in.random, exponents);
  std::vector<Peak> all;
  for (int i = 0; i < peaks; ++i) {
    const double most = i == 0 ? first_reach : reach;
    const VectorXd at = VectorXd::NullaryExpr(d, [&] { return most * (2 * in.random.uniform() - 1); });
    if (i == 0) in.optimum = at;
    const double exponent = i == 0 ? 0 : 2.0 * exponents(i - 1) / (peaks - 2);
    const double condition = i == 0 ? first_condition : std::pow(1000.0, exponent);
    ArrayXd weights = in.lambda(condition) / std::pow(condition, 0.25);
    shuffle(in.random, weights);
    all.push_back({in.r * at, weights, i == 0 ? 10 : 1.1 + 8.0 * (i - 1) / (peaks - 2)});
  }
  return [all, r = in.r, d](const VectorXd& x) {
    const VectorXd rotated = r * x;
    double most = 0;
    for (const Peak& peak : all) {
      const double squared = (peak.weights * (rotated - peak.at).array().square()).sum();
      most = std::max(most, peak.height * std::exp(-squared / (2 * static_cast<double>(d))));
    }
    return std::pow(t_osz(10 - most), 2);
  };
}

// Returns the function, which is 0 at its optimum. Changes `in.optimum` if the definition places the optimum elsewhere.
Scalar make(int function, Instance& in) {
  const double stretch = std::max(1.0, std::sqrt(static_cast<double>(in.d())) / 8);
  const auto set_optimum = [&](const VectorXd& at) { in.optimum = at; };
  const auto of_shifted = [&](auto&& f) {
    return [in, f](const VectorXd& x) { return f(in, VectorXd(in.r * (x - in.optimum))); };
  };
  const auto whole = [&](double (*f)(const Instance&, const VectorXd&)) {
    return [in, f](const VectorXd& x) { return f(in, x); };
  };
  switch (function) {
    case 1:
      return of_shifted([](const Instance&, const VectorXd& z) { return z.squaredNorm(); });
    case 2:
      return [in](const VectorXd& x) { return ellipsoid(in, t_osz(x - in.optimum)); };
    case 3:
      return [in](const VectorXd& x) {
        const VectorXd z = in.lambda(10).matrix().asDiagonal() * t_asy(in, 0.2, t_osz(x - in.optimum));
        return 10 * waves(z) + z.squaredNorm();
      };
    case 4:
      for (Index i = 0; i < in.d(); i += 2) in.optimum(i) = std::abs(in.optimum(i));
      return whole(bueche);
    case 5:
      set_optimum(5 * in.signs);
      return whole(linear_slope);
    case 6:
      return whole(attractive_sector);
    case 7:
      return whole(step_ellipsoid);
    case 8:
      set_optimum(0.75 * in.optimum);
      return [in, stretch](const VectorXd& x) { return rosenbrock((stretch * (x - in.optimum)).array() + 1); };
    case 9:
    case 19:
      set_optimum(in.r.transpose() * VectorXd::Constant(in.d(), 0.5 / stretch));
      return [in, stretch, function](const VectorXd& x) {
        const VectorXd z = (stretch * (in.r * x)).array() + 0.5;
        return function == 9 ? rosenbrock(z) : griewank_rosenbrock(z);
      };
    case 10:
      return of_shifted([](const Instance& of, const VectorXd& z) { return ellipsoid(of, t_osz(z)); });
    case 11:
      return of_shifted([](const Instance&, const VectorXd& x) {
        const VectorXd z = t_osz(x);
        return 1e6 * z(0) * z(0) + z.tail(z.size() - 1).squaredNorm();
      });
    case 12:
      return of_shifted([](const Instance& of, const VectorXd& x) {
        const VectorXd z = of.r * t_asy(of, 0.5, x);
        return z(0) * z(0) + 1e6 * z.tail(z.size() - 1).squaredNorm();
      });
    case 13:
      return [in](const VectorXd& x) {
        const VectorXd z = in.q_lambda_r(10) * (x - in.optimum);
        return z(0) * z(0) + 100 * z.tail(z.size() - 1).norm();
      };
    case 14:
      return of_shifted([](const Instance& of, const VectorXd& z) {
        return std::sqrt(z.array().abs().pow(2 + 4 * of.parts()).sum());
      });
    case 15:
      return of_shifted([](const Instance& of, const VectorXd& x) {
        const VectorXd z = of.r * (of.lambda(10).matrix().asDiagonal() * (of.q * t_asy(of, 0.2, t_osz(x))));
        return 10 * waves(z) + z.squaredNorm();
      });
    case 16:
      return whole(weierstrass);
    case 17:
    case 18:
      return [in, function](const VectorXd& x) { return schaffer(in, function == 17 ? 10 : 1000, x); };
    case 20:
      set_optimum(0.5 * 4.2096874633 * in.signs);
      return whole(schwefel);
    case 21:
      return gallagher(in, 101, 5, 4, 1000);
    case 22:
      return gallagher(in, 21, 4.9, 3.92, 1e6);
    case 23:
      return whole(katsuura);
    default:
      set_optimum(0.5 * 2.5 * in.signs);
      return whole(lunacek);
  }
}

}  // namespace

std::string bbob_name(int function) {
  static const std::array<const char*, bbob_functions> names = {"sphere",
                                                                "ellipsoid",
                                                                "Rastrigin, separable",
                                                                "Büche-Rastrigin",
                                                                "linear slope",
                                                                "sector",
                                                                "steps",
                                                                "Rosenbrock",
                                                                "Rosenbrock, rotated",
                                                                "ellipsoid, rotated",
                                                                "discus",
                                                                "bent cigar",
                                                                "sharp ridge",
                                                                "sum of powers",
                                                                "Rastrigin, rotated",
                                                                "Weierstrass",
                                                                "Schaffer",
                                                                "Schaffer, steep",
                                                                "Griewank-Rosenbrock",
                                                                "Schwefel",
                                                                "101 Gaussians",
                                                                "21 Gaussians",
                                                                "Katsuura",
                                                                "Lunacek"};
  return "f" + std::to_string(function) + " " + names.at(function - 1);
}

Problem bbob(int function, int variables, int instance) {
  Instance in;
  in.random = Random(1000003 * static_cast<std::uint64_t>(instance) + 1009 * static_cast<std::uint64_t>(function));
  in.optimum = VectorXd::NullaryExpr(variables, [&] { return 8 * in.random.uniform() - 4; });
  in.r = random_rotation(in.random, variables), in.q = random_rotation(in.random, variables);
  in.signs = ArrayXd::NullaryExpr(variables, [&] { return in.random.uniform() < 0.5 ? -1.0 : 1.0; });
  // a Cauchy variate
  const double minimum = std::clamp(std::round(1e4 * in.random.normal() / in.random.normal()) / 100, -1000.0, 1000.0);
  const Scalar above = make(function, in);
  if (!(std::abs(above(in.optimum)) < 1e-8))
    throw std::logic_error(bbob_name(function) + ": wrong value at the optimum");
  Problem problem{cube(variables, -5, 5), 0, minimum, [=](const VectorXd& x) { return minimum + above(x); }};
  return problem;
}

}  // namespace dodyn::bench
