#include "dmoc/interval_work.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

namespace dodyn::dmoc {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Lower limit on the slope of v at its roots, relative to its maximum coefficient. It bounds second derivatives.
constexpr double min_slope = 1e-2;

double polynomial(const VectorXd& coefficients, double s) {
  double value = 0.0;
  for (Eigen::Index l = coefficients.size(); l-- > 0;) value = value * s + coefficients(l);
  return value;
}

VectorXd derivative(const VectorXd& coefficients) {
  VectorXd slopes(coefficients.size() - 1);
  for (Eigen::Index l = 1; l < coefficients.size(); ++l) slopes(l - 1) = static_cast<double>(l) * coefficients(l);
  return slopes;
}

// Returns the root of a polynomial that is monotone between `from` and `to` and has different signs there.
double root_between(const VectorXd& coefficients, double from, double to) {
  const VectorXd slopes = derivative(coefficients);
  const bool falls = polynomial(coefficients, from) > 0.0;
  double s = 0.5 * (from + to);
  for (int iteration = 0; iteration < 100; ++iteration) {
    const double value = polynomial(coefficients, s);
    if (value == 0.0) return s;
    ((value > 0.0) == falls ? from : to) = s;
    double next = s - value / polynomial(slopes, s);
    if (!(next > from && next < to)) next = 0.5 * (from + to);
    if (std::abs(next - s) <= 1e-16) return next;
    s = next;
  }
  return s;
}

// Returns where a polynomial changes its sign between 0 and 1, ascending.
std::vector<double> sign_changes(const VectorXd& coefficients) {
  if (coefficients.size() < 2) return {};
  std::vector<double> places = {0.0}, roots;
  for (const double s : sign_changes(derivative(coefficients))) places.push_back(s);
  places.push_back(1.0);
  for (std::size_t i = 0; i + 1 < places.size(); ++i)
    if (polynomial(coefficients, places[i]) * polynomial(coefficients, places[i + 1]) < 0.0)
      roots.push_back(root_between(coefficients, places[i], places[i + 1]));
  return roots;
}

// Coefficients of Legendre's P_d on [0, 1], by powers of s.
VectorXd legendre(int degree) {
  return degree == 2 ? VectorXd(Eigen::Vector3d(1.0, -6.0, 6.0)) : VectorXd(Eigen::Vector4d(-1.0, 12.0, -30.0, 20.0));
}
// Coefficients of the Bernstein polynomials of degree d - 1 by powers of s, one polynomial per row.
MatrixXd bernstein(int degree) {
  MatrixXd all(degree, degree);
  if (degree == 2)
    all << 1.0, -1.0, 0.0, 1.0;
  else
    all << 1.0, -2.0, 1.0, 0.0, 2.0, -2.0, 0.0, 0.0, 1.0;
  return all;
}

class IntervalWork final : public autodiff::Element {
 public:
  IntervalWork(const Scheme& scheme, bool has_node_rates, StepInput input, nlp::Coefficient step)
      : Element(2 * scheme.degree + 1 + (has_node_rates ? 2 : 0) + (input == StepInput::unknown ? 1 : 0),
                scheme.degree),
        degree_(scheme.degree),
        rates_(has_node_rates ? 2 : 0),
        timed_(input == StepInput::unknown),
        step_(std::move(step)),
        bernstein_(bernstein(degree_)),
        of_controls_(degree_, degree_),
        of_knots_(MatrixXd::Zero(degree_ + 1, degree_ + 1)),
        of_rates_(MatrixXd::Zero(degree_ + 1, 2)) {
    const int d = degree_;
    MatrixXd powers(d, d), at_points(d, d);
    for (int i = 0; i < d; ++i)
      for (int j = 0; j < d; ++j) {
        powers(i, j) = std::pow(scheme.points(i), j);
        at_points(i, j) = polynomial(bernstein_.row(j).transpose(), scheme.points(i));
      }
    of_controls_ = at_points.inverse();
    of_knots_.topRows(d) = powers.inverse() * scheme.slopes;
    if (!has_node_rates) return;
    const VectorXd shape = 0.5 * legendre(d);
    const double at_start = d % 2 == 0 ? 1.0 : -1.0;  // P_d(-1), d the degree
    of_knots_ -= shape * (scheme.slopes_at(1.0) + at_start * scheme.slopes_at(0.0)).transpose();
    of_rates_.col(0) = at_start * shape;
    of_rates_.col(1) = shape;
  }

  void evaluate(const double* z, double* values) const override {
    const Split split = split_of(z);
    Eigen::Map<VectorXd>(values, degree_) = split.parts.cwiseProduct(split.moments);
  }
  void jacobian(const double* z, double* jacobian_values) const override {
    differentiate(z, split_of(z), jacobian_values);
  }
  void hessian(const double* z, const double* weights, double* hessian_values) const override {
    curve(z, split_of(z), weights, hessian_values);
  }
  void derivatives(const double* z, const double* weights, double* jacobian_values,
                   double* hessian_values) const override {
    const Split split = split_of(z);
    differentiate(z, split, jacobian_values);
    curve(z, split, weights, hessian_values);
  }
  void add_design_gradient(int count, const double* z, const double* weights,
                           Eigen::Ref<VectorXd> gradient) const override {
    if (step_.gradient.size() == 0) return;
    double sum = 0.0;
    for (int k = 0; k < count; ++k, z += inputs, weights += degree_) {
      const Split split = split_of(z);
      const VectorXd change = by_step(z);
      const double per_step = timed_ ? z[inputs - 1] : 1.0;
      for (int j = 0; j < degree_; ++j) sum += per_step * weights[j] * split.parts(j) * split.slopes.row(j).dot(change);
    }
    step_.add_gradient(sum, gradient);
  }

 private:
  using Numbers = Eigen::Map<const VectorXd>;
  struct Split {
    VectorXd rate;     // [d + 1] coefficients of h v by powers of s
    VectorXd parts;    // [d] beta_j
    MatrixXd slopes;   // [d, d + 1] derivatives of the moments with respect to `rate`: int B_j s^l sign(v)
    VectorXd moments;  // [d] h int B_j |v|
    std::vector<double> roots;
  };

  Numbers controls(const double* z) const { return {z, degree_}; }
  Numbers knots(const double* z) const { return {z + degree_, degree_ + 1}; }
  Numbers rates(const double* z) const { return {z + 2 * degree_ + 1, rates_}; }
  double h(const double* z) const { return timed_ ? step_.value * z[inputs - 1] : step_.value; }
  // Returns the derivative of h v with respect to h.
  VectorXd by_step(const double* z) const {
    return rates_ == 0 ? VectorXd(VectorXd::Zero(degree_ + 1)) : VectorXd(of_rates_ * rates(z));
  }

  Split split_of(const double* z) const {
    const int d = degree_;
    Split split;
    split.rate = of_knots_ * knots(z);
    if (rates_ > 0) split.rate += h(z) * by_step(z);
    split.parts = of_controls_ * controls(z);
    split.roots = sign_changes(split.rate);
    std::vector<double> ends = split.roots;
    ends.push_back(1.0);
    VectorXd powers = VectorXd::Zero(2 * d);  // int s^l sign(v)
    double from = 0.0;
    for (const double to : ends) {
      const double sign = polynomial(split.rate, 0.5 * (from + to)) < 0.0 ? -1.0 : 1.0;
      double before = from, after = to;
      for (int l = 0; l < 2 * d; ++l, before *= from, after *= to) powers(l) += sign * (after - before) / (l + 1);
      from = to;
    }
    split.slopes = MatrixXd::Zero(d, d + 1);
    for (int j = 0; j < d; ++j)
      for (int l = 0; l <= d; ++l)
        for (int i = 0; i < d; ++i) split.slopes(j, l) += bernstein_(j, i) * powers(i + l);
    split.moments = split.slopes * split.rate;
    return split;
  }

  // Returns the derivatives of the coefficients of h v with respect to all inputs, [d + 1, inputs].
  MatrixXd rate_slopes(const double* z) const {
    MatrixXd slopes = MatrixXd::Zero(degree_ + 1, inputs);
    slopes.middleCols(degree_, degree_ + 1) = of_knots_;
    if (rates_ > 0) slopes.middleCols(2 * degree_ + 1, 2) = h(z) * of_rates_;
    if (timed_) slopes.col(inputs - 1) = step_.value * by_step(z);
    return slopes;
  }

  void differentiate(const double* z, const Split& split, double* values) const {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::Map<RowMajor> J(values, outputs, inputs);
    J = split.parts.asDiagonal() * split.slopes * rate_slopes(z);
    J.leftCols(degree_) += split.moments.asDiagonal() * of_controls_;
  }

  void curve(const double* z, const Split& split, const double* weights, double* values) const {
    const int d = degree_;
    const Numbers w(weights, d);
    const MatrixXd by_inputs = rate_slopes(z);
    const VectorXd weighted = w.cwiseProduct(split.parts);
    MatrixXd of_rate = MatrixXd::Zero(d + 1, d + 1);
    const VectorXd slopes = derivative(split.rate);
    const double limit = min_slope * split.rate.lpNorm<Eigen::Infinity>();
    for (const double root : split.roots) {
      VectorXd at(d + 1);
      for (int l = 0; l <= d; ++l) at(l) = std::pow(root, l);
      const double shapes = weighted.dot(bernstein_ * at.head(d));
      of_rate += 2.0 * shapes / std::max(std::abs(polynomial(slopes, root)), limit) * at * at.transpose();
    }
    Eigen::Map<MatrixXd> H(values, inputs, inputs);
    H = by_inputs.transpose() * of_rate * by_inputs;
    const MatrixXd mixed = of_controls_.transpose() * w.asDiagonal() * split.slopes * by_inputs;
    H.topRows(d) += mixed;
    H.leftCols(d) += mixed.transpose();
    if (timed_ && rates_ > 0) {
      const VectorXd both = step_.value * (of_rates_.transpose() * (split.slopes.transpose() * weighted));
      H.col(inputs - 1).segment(2 * d + 1, 2) += both;
      H.row(inputs - 1).segment(2 * d + 1, 2) += both.transpose();
    }
  }

  int degree_, rates_;
  bool timed_;
  nlp::Coefficient step_;
  MatrixXd bernstein_, of_controls_;  // [d, d] values of the controls at the points -> beta
  // Coefficients of h v by powers of s: of_knots_ [d + 1, d + 1] times the coordinates at the knots, plus of_rates_
  // [d + 1, 2] times (h V_0, h V_1).
  MatrixXd of_knots_, of_rates_;
};

}  // namespace

std::shared_ptr<const autodiff::Element> interval_work(const Scheme& scheme, bool has_node_rates, StepInput input,
                                                       const nlp::Coefficient& step) {
  assert(scheme.degree == 2 || scheme.degree == 3);
  return std::make_shared<IntervalWork>(scheme, has_node_rates, input, step);
}

}  // namespace dodyn::dmoc
