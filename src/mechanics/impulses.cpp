#include "mechanics/impulses.hpp"

#include <algorithm>
#include <cmath>

namespace dodyn::mechanics {

template <int n>
void ContactRows<n>::build(const Multibody<n>& multibody, std::span<const ContactPoint<n>> points, bool tangents) {
  directions_ = tangents ? n : 1;
  contacts_.clear();
  rows_.clear();
  for (const auto& point : points) {
    Entry entry;
    entry.direction.col(0) = point.normal;
    if constexpr (n == 2) {
      entry.direction.col(1) << -point.normal[1], point.normal[0];
    } else {
      entry.direction.col(1) = point.normal.unitOrthogonal();
      entry.direction.col(2) = point.normal.cross(entry.direction.col(1));
    }
    for (int s = 0; s < 2; ++s) {
      const int body = point.body[s];
      const auto range = multibody.range(body);
      auto& side = entry.side[s];
      side = {range.first, range.size, static_cast<int>(rows_.size())};
      // two bodies of one tree share its dofs: one side carries both
      const bool joined = s == 1 && range.size > 0 && range.first == entry.side[0].first && entry.side[0].size > 0;
      if (joined) side.size = 0;
      if (range.size == 0) continue;
      if (!joined) rows_.resize(rows_.size() + directions_ * range.size);
      const Vector<n> arm = point.point - multibody.position(body);
      for (int k = 0; k < directions_; ++k) {
        const Vector<n> d = s == 0 ? Vector<n>(entry.direction.col(k)) : Vector<n>(-entry.direction.col(k));
        Twist<n> w;
        w.template head<n>() = d;
        w.template tail<Multibody<n>::spin>() = cross(arm, d);
        if (joined) {
          Eigen::VectorXd both(range.size);
          multibody.reduce(body, w, both.data());
          Eigen::Map<Eigen::VectorXd>(rows_.data() + entry.side[0].data + k * range.size, range.size) += both;
        } else {
          multibody.reduce(body, w, rows_.data() + side.data + k * range.size);
        }
      }
    }
    contacts_.push_back(entry);
  }
  columns_ = rows_;
  for (std::size_t i = 0; i < contacts_.size(); ++i)
    for (int s = 0; s < 2; ++s) {
      const auto& side = contacts_[i].side[s];
      for (int k = 0; k < directions_ && side.size > 0; ++k)
        multibody.solve(points[i].body[s], columns_.data() + side.data + k * side.size);
    }
}

template <int n>
double ContactRows<n>::relative_velocity(int contact, int direction, const Eigen::VectorXd& nu) const {
  double sum = 0.0;
  for (const auto& side : contacts_[contact].side) {
    const double* row = rows_.data() + side.data + direction * side.size;
    for (int i = 0; i < side.size; ++i) sum += row[i] * nu[side.first + i];
  }
  return sum;
}

template <int n>
void ContactRows<n>::add_impulse(int contact, int direction, double impulse, Eigen::VectorXd& nu) const {
  for (const auto& side : contacts_[contact].side) {
    const double* column = columns_.data() + side.data + direction * side.size;
    for (int i = 0; i < side.size; ++i) nu[side.first + i] += impulse * column[i];
  }
}

template <int n>
void ContactRows<n>::add_momentum(int contact, int direction, double impulse, Eigen::VectorXd& p) const {
  for (const auto& side : contacts_[contact].side) {
    const double* row = rows_.data() + side.data + direction * side.size;
    for (int i = 0; i < side.size; ++i) p[side.first + i] += impulse * row[i];
  }
}

template <int n>
double ContactRows<n>::metric(int contact, int i, int j) const {
  double sum = 0.0;
  for (const auto& side : contacts_[contact].side) {
    const double* row = rows_.data() + side.data + i * side.size;
    const double* column = columns_.data() + side.data + j * side.size;
    for (int k = 0; k < side.size; ++k) sum += row[k] * column[k];
  }
  return sum;
}

template <int n>
double solve_contacts(const ContactRows<n>& rows, std::span<const double> target, std::span<const double> friction,
                      double tolerance, int max_sweeps, Eigen::VectorXd& nu, std::vector<double>& impulse) {
  const int count = rows.size();
  double worst = 0.0;
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    worst = 0.0;
    for (int c = 0; c < count; ++c) {
      double* own = impulse.data() + n * c;
      const double weight = rows.metric(c, 0, 0);
      const double normal = std::max(0.0, own[0] + (target[c] - rows.relative_velocity(c, 0, nu)) / weight);
      if (normal != own[0]) {
        worst = std::max(worst, weight * std::abs(normal - own[0]));
        rows.add_impulse(c, 0, normal - own[0], nu);
        own[0] = normal;
      }
      if (friction.empty() || (friction[c] <= 0.0 && own[1] == 0.0 && own[n - 1] == 0.0)) continue;
      const double limit = friction[c] * own[0];
      if constexpr (n == 2) {
        const double across = rows.metric(c, 1, 1);
        const double slide = std::clamp(own[1] - rows.relative_velocity(c, 1, nu) / across, -limit, limit);
        if (slide != own[1]) {
          worst = std::max(worst, across * std::abs(slide - own[1]));
          rows.add_impulse(c, 1, slide - own[1], nu);
          own[1] = slide;
        }
      } else {
        // the impulse that stops sliding, if the cone holds it; else the projection of a step of safe length
        const Vector<2> velocity(rows.relative_velocity(c, 1, nu), rows.relative_velocity(c, 2, nu));
        const double a = rows.metric(c, 1, 1), b = rows.metric(c, 2, 2), m = rows.metric(c, 1, 2);
        const Vector<2> before(own[1], own[2]);
        const double det = a * b - m * m;
        Vector<2> slide = before;
        if (det > 1e-12 * a * b)
          slide -= Vector<2>(b * velocity[0] - m * velocity[1], a * velocity[1] - m * velocity[0]) / det;
        else
          slide -= velocity / (a + b);
        if (slide.norm() > limit) {
          const double largest = 0.5 * (a + b) + std::sqrt(0.25 * (a - b) * (a - b) + m * m);
          slide = before - velocity / largest;
          if (const double size = slide.norm(); size > limit) slide *= limit / size;
        }
        for (int k = 0; k < 2; ++k)
          if (slide[k] != before[k]) {
            worst = std::max(worst, (k == 0 ? a : b) * std::abs(slide[k] - before[k]));
            rows.add_impulse(c, 1 + k, slide[k] - before[k], nu);
            own[1 + k] = slide[k];
          }
      }
    }
    if (worst <= tolerance) break;
  }
  return worst;
}

template class ContactRows<2>;
template class ContactRows<3>;
template double solve_contacts(const ContactRows<2>&, std::span<const double>, std::span<const double>, double, int,
                               Eigen::VectorXd&, std::vector<double>&);
template double solve_contacts(const ContactRows<3>&, std::span<const double>, std::span<const double>, double, int,
                               Eigen::VectorXd&, std::vector<double>&);

}  // namespace dodyn::mechanics
