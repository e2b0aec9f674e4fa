#include "elastic/impacts.hpp"

#include <algorithm>
#include <cmath>

namespace dodyn::elastic {

template <int n>
double rate(const ContactRow<n>& row, const Rates<n>& rates) {
  double sum = 0.0;
  for (const auto& one : row.nodes) sum += one.gradient.dot(rates.nodes.col(one.node));
  for (const auto& one : row.bodies)
    if (one.body >= 0) sum += one.gradient.dot(rates.bodies[one.body]);
  return sum;
}

template <int n>
bool push_apart(const std::vector<ContactRow<n>>& rows, const std::vector<double>& limits, double tolerance, int most,
                const Rates<n>& rates) {
  std::vector<double> impulse(rows.size(), 0.0);
  for (int sweep = 0; sweep < most; ++sweep) {
    double worst = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& row = rows[i];
      const double before = impulse[i], excess = rate(row, rates) - limits[i];
      impulse[i] = std::max(0.0, before + excess / row.inverse_mass);
      const double more = impulse[i] - before;
      worst = std::max(worst, std::abs(more) * row.inverse_mass);
      if (more == 0.0) continue;
      for (const auto& one : row.nodes) rates.nodes.col(one.node) -= more / one.mass * one.gradient;
      for (const auto& one : row.bodies)
        if (one.body >= 0) rates.bodies[one.body] -= more * one.response;
    }
    if (worst <= tolerance) return true;
  }
  return rows.empty();
}

template double rate(const ContactRow<2>&, const Rates<2>&);
template double rate(const ContactRow<3>&, const Rates<3>&);
template bool push_apart(const std::vector<ContactRow<2>>&, const std::vector<double>&, double, int, const Rates<2>&);
template bool push_apart(const std::vector<ContactRow<3>>&, const std::vector<double>&, double, int, const Rates<3>&);

}  // namespace dodyn::elastic
