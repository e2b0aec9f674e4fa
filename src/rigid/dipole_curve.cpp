#include "rigid/dipole_curve.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "autodiff/jet.hpp"

namespace dodyn::rigid {
namespace {

using autodiff::Jet;
using InTime = Jet<1>;  // a scalar with its first and second time derivatives

template <class T>
using Triple = std::array<T, 3>;

template <class T, class U>
auto dot(const Triple<T>& a, const U& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double value(double x) { return x; }
double value(const InTime& x) { return x.value; }

// Returns a smooth step from 0 to 1 over [0, 1], twice continuously differentiable.
template <class T>
T smooth_step(const T& x) {
  if (value(x) <= 0.0) return T(0.0);
  if (value(x) >= 1.0) return T(1.0);
  return x * x * x * (T(10.0) - x * (T(15.0) - 6.0 * x));
}

// Returns the direction b at s, relative to the dock: b_v of the dipole; on the last leg a blend with c0 and the path
// to the axis.
template <class T>
Triple<T> direction_at(const DipoleCurveOptions& options, const Triple<T>& s) {
  const Triple<double> c{options.axis[0], options.axis[1], options.axis[2]};
  const T ahead = dot(s, c);
  const double leg = options.last_leg;
  T weight(0.0);  // weight of the last leg's field
  if (leg > 0.0) weight = smooth_step(T((leg - ahead) * (2.0 / leg)));
  Triple<T> b{T(0.0), T(0.0), T(0.0)};
  if (value(weight) < 1.0) {
    Triple<T> d = s;
    for (int i = 0; i < 3; ++i) d[i] = d[i] + options.behind * c[i];
    const T share = 3.0 * dot(d, c) / dot(d, d);
    for (int i = 0; i < 3; ++i) b[i] = (T(1.0) - weight) * (share * d[i] - c[i]);
  }
  if (value(weight) > 0.0)
    for (int i = 0; i < 3; ++i) b[i] = b[i] + weight * (2.0 * c[i] + (8.0 / leg) * (s[i] - ahead * c[i]));
  return b;
}

struct Matrix3InTime {
  Matrix<3> value, rate, second;
};

// (4.30): the first director is along -b; the others are as near as possible to the directors of the docked craft.
Matrix3InTime attitude_along(const Triple<InTime>& b, const Matrix<3>& docked, int roll) {
  const InTime length = sqrt(dot(b, b));
  Triple<InTime> first, second, third;
  for (int i = 0; i < 3; ++i) first[i] = -b[i] / length;
  const Triple<double> kept{docked(0, roll - 1), docked(1, roll - 1), docked(2, roll - 1)};
  const InTime along = dot(first, kept);
  Triple<InTime> a;
  for (int i = 0; i < 3; ++i) a[i] = InTime(kept[i]) - along * first[i];
  const InTime size = sqrt(dot(a, a));
  for (int i = 0; i < 3; ++i) a[i] = a[i] / size;
  const auto cross = [](const Triple<InTime>& x, const Triple<InTime>& y) {
    return Triple<InTime>{x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]};
  };
  if (roll == 2) {
    second = a;
    third = cross(first, a);
  } else {
    third = a;
    second = cross(a, first);
  }
  Matrix3InTime R;
  for (int i = 0; i < 3; ++i) {
    const InTime* row[] = {&first[i], &second[i], &third[i]};
    for (int j = 0; j < 3; ++j) {
      R.value(i, j) = row[j]->value;
      R.rate(i, j) = row[j]->gradient(0);
      R.second(i, j) = row[j]->hessian(0, 0);
    }
  }
  return R;
}

Vector<3> axial(const Matrix<3>& A) { return 0.5 * Vector<3>(A(2, 1) - A(1, 2), A(0, 2) - A(2, 0), A(1, 0) - A(0, 1)); }

}  // namespace

DipoleCurve::DipoleCurve(const DipoleCurveOptions& options) : options_(options) {
  const auto refuse = [](const char* what) { throw std::invalid_argument(what); };
  if (!(options.speed > 0.0)) refuse("the speed along the curve must be positive");
  if (!(options.last_leg >= 0.0)) refuse("the last leg must not be negative");
  if (!(std::abs(options.axis.norm() - 1.0) < 1e-9)) refuse("the axis of the ports is not of unit length");
  if (!(options.behind > -0.5 * options.last_leg || (options.behind == 0.0 && options.last_leg == 0.0)))
    refuse(
        "the dipole is too far in front of the dock: its field lines end before the last leg begins; reduce "
        "dipole-offset or increase last-leg");
  // Attitude of the docked craft: x points into the ports, and z is as near to `up` as possible.
  const Vector<3> up = std::abs(options.axis[2]) < 0.9 ? Vector<3>::UnitZ() : Vector<3>::UnitY();
  docked_.col(0) = -options.axis;
  docked_.col(2) = (up - up.dot(options.axis) * options.axis).normalized();
  docked_.col(1) = docked_.col(2).cross(docked_.col(0));
}

std::string DipoleCurve::refuses(const Vector<3>& position) const {
  const Vector<3> s = position - options_.dock, d = s + options_.behind * options_.axis;
  const double ahead = options_.axis.dot(s), along = options_.axis.dot(d);
  const double across = (d - along * options_.axis).norm();
  if (across <= 1e-6 * std::abs(along) && along < 0.0)
    return "lies on the line behind the dipole, from which no curve ends at the port";
  if (across <= 1e-9 && ahead <= 0.0) return "is at the dock or behind it, on its axis: no curve leads to the port";
  if (options_.last_leg > 0.0 && ahead <= 0.0) return "is next to or behind the dock, where the last leg cannot begin";
  return {};
}

void DipoleCurve::start(double t, const Vector<3>& position) {
  time_ = t;
  position_ = position;
  docked_since_ = 1e300;
}

Vector<3> DipoleCurve::direction(const Vector<3>& position) const {
  const Vector<3> s = position - options_.dock;
  const auto b = direction_at<double>(options_, {s[0], s[1], s[2]});
  return {b[0], b[1], b[2]};
}

// Integrates by the Runge-Kutta method of fourth order, with steps that are short relative to the distance from the
// dipole.
DipoleCurve::Knot DipoleCurve::follow(double t) const {
  Knot knot{time_, position_, docked_since_};
  const double eta = options_.speed;
  const auto step = [&](const Vector<3>& x, double h) {
    const Vector<3> k1 = -eta * direction(x), k2 = -eta * direction(x + 0.5 * h * k1),
                    k3 = -eta * direction(x + 0.5 * h * k2), k4 = -eta * direction(x + h * k3);
    return Vector<3>(x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4));
  };
  const auto ahead = [&](const Vector<3>& x) { return options_.axis.dot(x - options_.dock); };
  while (knot.docked_since > t && knot.time < t) {
    const Vector<3> d = knot.position - options_.dock + options_.behind * options_.axis;
    double scale = d.norm();
    if (options_.last_leg > 0.0 && ahead(knot.position) < 0.5 * options_.last_leg) scale = options_.last_leg;
    if (scale < 1e-7) {  // at the dipole, which is in the dock
      knot.docked_since = knot.time;
      break;
    }
    const double h = std::min(t - knot.time, std::max(0.005 * scale / eta, 1e-7 / eta));
    const Vector<3> next = step(knot.position, h);
    const double before = ahead(knot.position), after = ahead(next);
    if (before > 0.0 && after <= 0.0) {  // the secant method finds the time of docking
      double low = 0.0, high = h, a_low = before, a_high = after;
      for (int k = 0; k < 60 && high - low > 1e-15 * (1.0 + knot.time); ++k) {
        double at = low + (high - low) * a_low / (a_low - a_high);
        if (k > 8 || !(at > low && at < high)) at = 0.5 * (low + high);
        const double a = ahead(step(knot.position, at));
        (a > 0.0 ? low : high) = at;
        (a > 0.0 ? a_low : a_high) = a;
      }
      knot.docked_since = knot.time + high;
      break;
    }
    knot.position = next;
    knot.time = h == t - knot.time ? t : knot.time + h;
  }
  return knot;
}

void DipoleCurve::pass(double t) {
  const Knot knot = follow(t);
  position_ = knot.position;
  docked_since_ = knot.docked_since;
  time_ = t;
}

Desired DipoleCurve::at(double t) const {
  Desired desired;
  const Knot knot = docked_since_ <= t ? Knot{t, position_, docked_since_} : follow(t);
  if (knot.docked_since <= t) {
    desired.position = options_.dock;
    desired.attitude = docked_;
    desired.docked = true;
    return desired;
  }
  // x' = -eta b(x): each pass adds one more known derivative of x, and so of b
  const double eta = options_.speed;
  const Vector<3> first = direction(knot.position);
  Triple<InTime> s, b;
  for (int i = 0; i < 3; ++i) {
    s[i].value = knot.position[i] - options_.dock[i];
    s[i].gradient(0) = -eta * first[i];
  }
  b = direction_at(options_, s);
  for (int i = 0; i < 3; ++i) s[i].hessian(0, 0) = -eta * b[i].gradient(0);
  b = direction_at(options_, s);
  for (int i = 0; i < 3; ++i) {
    desired.position[i] = knot.position[i];
    desired.velocity[i] = -eta * b[i].value;
    desired.acceleration[i] = -eta * b[i].gradient(0);
  }
  const auto R = attitude_along(b, docked_, options_.roll);
  desired.attitude = R.value;
  desired.spin = axial(R.value.transpose() * R.rate);
  desired.spin_rate = axial(R.value.transpose() * R.second + R.rate.transpose() * R.rate);
  return desired;
}

}  // namespace dodyn::rigid
