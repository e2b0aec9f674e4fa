#include "surrogate/hypervolume.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "surrogate/acquisition.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// psi(t) = E[max(t - f, 0)] = s h((t - m) / s), and its derivatives by mean and variance. Psi{c} is the constant c.
struct Psi {
  double value = 0, by_mean = 0, by_variance = 0;
};

Psi operator-(const Psi& a, const Psi& b) {
  return {a.value - b.value, a.by_mean - b.by_mean, a.by_variance - b.by_variance};
}

Psi expected_below(const Prediction& p, double t) {
  const double s = std::sqrt(p.variance + 1e-300), at = (t - p.mean) / s;
  const double cdf = normal_cdf(at), density = normal_density(at);
  return {std::max(s * (density + at * cdf), 0.0), -cdf, density / (2 * s)};
}

// Returns psi at each point of the front, and last at the reference point.
std::vector<Psi> at_the_front(const Front& front, Index objective, const Prediction& p) {
  std::vector<Psi> out;
  for (Index i = 0; i < front.points.cols(); ++i) out.push_back(expected_below(p, front.points(objective, i)));
  out.push_back(expected_below(p, front.reference(objective)));
  return out;
}

}  // namespace

Front Front::of(const MatrixXd& all) {
  const Index d = all.rows();
  std::vector<Index> order(all.cols());
  std::iota(order.begin(), order.end(), Index(0));
  // In this order, a point follows all points that dominate it.
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    for (const Index k : {d == 2 ? Index(0) : d - 1, Index(0), Index(1)})
      if (all(k, a) != all(k, b)) return all(k, a) < all(k, b);
    return a < b;
  });
  std::vector<Index> kept;
  for (const Index i : order)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](Index k) { return (all.col(k).array() <= all.col(i).array()).all(); }))
      kept.push_back(i);
  Front front;
  front.points = all(Eigen::all, kept);
  front.reference = VectorXd::Zero(d);
  if (kept.empty()) return front;
  const VectorXd high = all.rowwise().maxCoeff(), low = all.rowwise().minCoeff();
  front.reference = high + 0.1 * (high - low).cwiseMax(1e-9);
  std::vector<Index> below;  // ascending by the first objective, descending by the second
  if (d == 3) front.slices.emplace_back();
  for (Index i = 0; i < front.points.cols(); ++i) {
    const auto point = front.points.col(i);
    std::erase_if(below, [&](Index k) { return front.points(0, k) >= point(0) && front.points(1, k) >= point(1); });
    below.insert(std::find_if(below.begin(), below.end(), [&](Index k) { return front.points(0, k) >= point(0); }), i);
    if (d == 3) front.slices.push_back(below);
  }
  if (d == 2) front.slices = {below};
  return front;
}

double Front::hypervolume() const {
  const bool deep = points.rows() == 3;
  double sum = 0;
  for (std::size_t s = 0; s < slices.size(); ++s) {
    double area = 0, below = reference(1);
    for (const Index i : slices[s]) {
      area += std::max(reference(0) - points(0, i), 0.0) * std::max(below - points(1, i), 0.0);
      below = std::min(below, points(1, i));
    }
    sum += area * (!deep    ? 1.0
                   : s == 0 ? 0.0
                            : (std::cmp_less(s, points.cols()) ? points(2, s) : reference(2)) - points(2, s - 1));
  }
  return sum;
}

double log_expected_gain(const Front& front, const std::vector<Prediction>& objectives, VectorXd* gradient) {
  const bool deep = objectives.size() == 3;
  const std::vector<Psi> first = at_the_front(front, 0, objectives[0]), second = at_the_front(front, 1, objectives[1]);
  const std::vector<Psi> third = deep ? at_the_front(front, 2, objectives[2]) : std::vector<Psi>();
  const std::size_t last = front.points.cols();  // index of the reference point
  double sum = 0;
  Psi of_first, of_second, of_third;  // used for their derivatives only
  for (std::size_t s = 0; s < front.slices.size(); ++s) {
    const Psi height = !deep ? Psi{1} : s == 0 ? third[0] : third[s] - third[s - 1];
    double area = 0;
    Psi left;
    const auto& slice = front.slices[s];
    for (std::size_t i = 0; i <= slice.size();
         ++i) {  // strips along the first objective, each up to the second objective of the previous point
      const Psi& right = first[i < slice.size() ? static_cast<std::size_t>(slice[i]) : last];
      const Psi& below = second[i == 0 ? last : static_cast<std::size_t>(slice[i - 1])];
      const Psi width = right - left;
      area += width.value * below.value;
      of_first.by_mean += height.value * width.by_mean * below.value;
      of_first.by_variance += height.value * width.by_variance * below.value;
      of_second.by_mean += height.value * width.value * below.by_mean;
      of_second.by_variance += height.value * width.value * below.by_variance;
      left = right;
    }
    sum += height.value * area;
    of_third.by_mean += height.by_mean * area;
    of_third.by_variance += height.by_variance * area;
  }
  const double floor = 1e-280;
  if (gradient) {
    gradient->setZero(objectives[0].mean_gradient.size());
    const Psi by[3] = {of_first, of_second, of_third};
    for (std::size_t k = 0; k < objectives.size(); ++k)
      *gradient += by[k].by_mean * objectives[k].mean_gradient + by[k].by_variance * objectives[k].variance_gradient;
    *gradient /= sum + floor;
  }
  return std::log(sum + floor);
}

}  // namespace dodyn::surrogate
