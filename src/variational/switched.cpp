#include "variational/switched.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "variational/located_root.hpp"

namespace dodyn::variational {

SwitchedFlow::SwitchedFlow(const Mechanics& inside, const Mechanics& outside, const Switch& law,
                           const IntegratorOptions& options)
    : law_(law),
      sides_{{&inside, {}, {}, {}, {}}, {&outside, {}, {}, {}, {}}},
      steps_{HybridIntegrator(sides_[0], options), HybridIntegrator(sides_[1], options)} {}

void SwitchedFlow::start(double time, const Eigen::VectorXd& z, const Eigen::VectorXd& rate) {
  outside_ = false;
  crossings_.clear();
  now_ = {time, z, mechanics().mass(z) * rate, {}};
}

double SwitchedFlow::depth(const Eigen::VectorXd& z) const {
  if (law_.coordinate >= 0) return outside_ ? -z(law_.coordinate) : z(law_.coordinate);
  const double inward = law_.angle - std::abs(z(0));
  return outside_ ? std::min(z(0) - law_.angle, 2.0 * std::numbers::pi - law_.angle - z(0)) : inward;
}

std::string SwitchedFlow::advance(double time) {
  for (int events = 0; now_.time < time - 1e-14 * std::max(1.0, std::abs(time));) {
    const HybridIntegrator& steps = steps_[outside_ ? 1 : 0];
    double h = time - now_.time;
    HybridState end;
    for (int halvings = 0; !steps.flow(now_, h, end); ++halvings) {
      if (halvings == 20) return "a step of the switched flow has no solution";
      h *= 0.5;
    }
    if (depth(end.q) >= 0.0) {
      now_ = end;
      continue;
    }
    if (++events > 1000) return "the switched flow crosses the surface without end";
    HybridState there;
    const auto f = [&](double s) { return steps.flow(now_, s, there) ? depth(there.q) : -1.0; };
    // After a crossing the depth is zero. Search for a time at which it is positive.
    double low = 0.0, value = depth(now_.q), high = h;
    if (value <= 1e-12) {
      for (int i = 0; i < 60 && !(low > 0.0); ++i) {
        const double s = 0.5 * high;
        value = f(s);
        (value > 0.0 ? low : high) = s;
      }
    }
    if (low > 0.0 || value > 0.0) {
      const double root = located_root(f, low, value, high, f(high));
      if (!steps.flow(now_, root, there)) return "a step of the switched flow has no solution";
      now_ = there;
    }
    crossings_.push_back(now_.time);
    outside_ = !outside_;
    if (law_.coordinate < 0) {  // outside: in (angle, 2 pi - angle); inside: around zero
      const double turn = 2.0 * std::numbers::pi;
      if (outside_ && now_.q(0) < 0.0) now_.q(0) += turn;
      if (!outside_ && now_.q(0) > std::numbers::pi) now_.q(0) -= turn;
    }
  }
  now_.time = time;
  return "";
}

}  // namespace dodyn::variational
