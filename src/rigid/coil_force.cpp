#include "rigid/coil_force.hpp"

#include <array>
#include <cmath>
#include <stdexcept>

#include "record/text.hpp"
#include "rigid/multibody.hpp"

namespace dodyn::rigid {
namespace {

double in_degrees(double angle) { return angle * 180.0 / std::numbers::pi; }

}  // namespace

CoilForce::CoilForce(World<2>& world, const CoilForm& form, const CoilRange& range, const Coil& coil)
    : form_(form), range_(range) {
  const auto& charges = world.charges;
  for (const auto& body : world.bodies) names_.push_back(body.name);
  if (charges.empty())
    throw std::invalid_argument("has no charges, so it has no coils; add two opposite charges for each coil");
  for (std::size_t i = 0; i < charges.size(); i += 2) {
    const auto& ahead = charges[i];
    if (i + 1 == charges.size() || charges[i + 1].body != ahead.body || charges[i + 1].value != -ahead.value)
      throw std::invalid_argument(formatted(
          "has charges %zu and %zu that do not form a coil; allowed: opposite charges on one link", i + 1, i + 2));
    const Vector<2> core = ahead.at - charges[i + 1].at;
    if (std::abs(core.norm() - coil.length) > 1e-9)
      throw std::invalid_argument(
          formatted("has charges %zu and %zu %g m apart; allowed: cores of %g m, as in the table", i + 1, i + 2,
                    core.norm(), coil.length));
    coils_.push_back({ahead.body, 0.5 * (ahead.at + charges[i + 1].at), core / core.norm(), ahead.value});
  }
  for (int one = 0; one < std::ssize(coils_); ++one)
    for (int other = 0; other < std::ssize(coils_); ++other)
      if (coils_[one].body > coils_[other].body && coils_[one].strength * coils_[other].strength != 0.0)
        pairs_.push_back({one, other});
  scale_ = world.charge_constant / (1e-7 * coil.pole_strength() * coil.pole_strength());
  world.charges.clear();
}

CoilForce::RelativePose CoilForce::relative_pose(const Pair& pair, Frames<2> at) const {
  const Place &one = coils_[pair.one], &other = coils_[pair.other];
  const auto &a = at[one.body], &b = at[other.body];
  RelativePose s;
  s.apart = b(other.centre) - a(one.centre);
  s.axis = a.directors * one.axis;
  Vector<2> axis = b.directors * other.axis;
  s.r = s.apart.norm();
  s.sign = scale_ * one.strength * other.strength;
  if (s.axis.dot(s.apart) < 0.0) s.axis = -s.axis, s.sign = -s.sign;
  if (s.axis.dot(axis) < 0.0) axis = -axis, s.sign = -s.sign;
  s.phi1 = std::atan2(cross(s.axis, s.apart)[0], s.axis.dot(s.apart));
  s.phi2 = std::atan2(cross(s.axis, axis)[0], s.axis.dot(axis));
  return s;
}

void CoilForce::operator()(double, Frames<2> at, std::span<const Twist<2>>, std::span<Twist<2>> wrench) const {
  for (const Pair& pair : pairs_) {
    const RelativePose s = relative_pose(pair, at);
    const Eigen::Vector3d given = s.sign * form_(s.r, s.phi1, s.phi2);
    const Vector<2> force = given[0] * s.axis + given[1] * Vector<2>(-s.axis[1], s.axis[0]);
    // The torque on each coil is about its own centre. The torque on the other coil follows from the angular momentum.
    const std::array<double, 2> torque = {given[2], cross(s.apart, force)[0] - given[2]};
    const std::array<int, 2> coil = {pair.one, pair.other};
    for (const int k : {0, 1}) {
      const Place& place = coils_[coil[k]];
      const Vector<2> f = k == 0 ? force : Vector<2>(-force);
      auto& sum = wrench[place.body];
      sum.head<2>() += f;
      sum[2] += torque[k] + cross(Vector<2>(at[place.body].directors * place.centre), f)[0];
    }
  }
}

std::string CoilForce::left(Frames<2> at) const {
  for (const Pair& pair : pairs_) {
    const RelativePose s = relative_pose(pair, at);
    std::string what;
    if (s.r < range_.least || s.r > range_.most)
      what = formatted("%.4g m apart; the table holds from %g to %g m", s.r, range_.least, range_.most);
    else if (std::abs(s.phi1) > range_.angle)
      what = formatted("at a bearing of %.4g deg", in_degrees(s.phi1));
    else if (std::abs(s.phi2) > range_.angle)
      what = formatted("turned by %.4g deg", in_degrees(s.phi2));
    if (what.empty()) continue;
    if (what.find(';') == std::string::npos)
      what += formatted("; the table holds up to %g deg", in_degrees(range_.angle));
    return "coils " + std::to_string(pair.one + 1) + " of '" + names_[coils_[pair.one].body] + "' and " +
           std::to_string(pair.other + 1) + " of '" + names_[coils_[pair.other].body] + "' are " + what;
  }
  return {};
}

}  // namespace dodyn::rigid
