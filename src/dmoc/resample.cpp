#include "dmoc/resample.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "dmoc/attitudes.hpp"

namespace dodyn::dmoc {

namespace {

// Interpolates a phase at new knots. `place(k)`: position of the new knot k among the phase's knots 0 ... Kd.
template <class Place>
Sampled sampled(const System& system, const Sampled& phase, Eigen::Index intervals, const Place& place) {
  const Attitudes attitudes(system);
  const Reference& none = system.no_reference();
  const Eigen::Index last = phase.u.rows() - 1;
  Sampled all{Eigen::MatrixXd(intervals + 1, phase.q.cols()), Eigen::MatrixXd(intervals, phase.u.cols())};
  for (Eigen::Index k = 0; k <= intervals; ++k) {
    const double at = place(k);
    const Eigen::Index before = std::min(static_cast<Eigen::Index>(at), last);
    all.q.row(k) = attitudes
                       .between(phase.q.row(before).transpose(), none, phase.q.row(before + 1).transpose(), none,
                                at - static_cast<double>(before))
                       .transpose();
    if (k < intervals) all.u.row(k) = phase.u.row(before);
  }
  return all;
}

}  // namespace

Sampled resampled(const System& system, const Sampled& phase, int intervals) {
  const Scheme& scheme = system.scheme();
  const Eigen::Index old = phase.u.rows(), rows = static_cast<Eigen::Index>(intervals) * scheme.degree;
  return sampled(system, phase, rows, [&](Eigen::Index k) {
    if (scheme.degree == 1) return static_cast<double>(k * old) / static_cast<double>(rows);
    // position among the old knots, linear between them
    const double at = scheme.position(k) * static_cast<double>(old) / static_cast<double>(rows);
    int before = std::min(static_cast<int>(at) * scheme.degree, static_cast<int>(old) - 1);
    while (before + 1 < old && scheme.position(before + 1) <= at) ++before;
    const double begin = scheme.position(before);
    return before + (at - begin) / (scheme.position(before + 1) - begin);
  });
}

Sampled time_warped(const System& system, const Sampled& phase, double nodes) {
  const auto last = static_cast<double>(phase.u.rows());
  return sampled(system, phase, phase.u.rows(), [&](Eigen::Index k) {
    const auto at = static_cast<double>(k);
    return std::clamp(at + nodes * system.scheme().degree * std::sin(std::numbers::pi * at / last), 0.0, last);
  });
}

}  // namespace dodyn::dmoc
