#include "evaluators/simulation/keyframes.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <iterator>

#include "record/evaluation.hpp"

namespace dodyn::evaluators::simulation {
namespace {

double rounded(double x, double per_unit) { return std::round(x * per_unit) / per_unit; }

}  // namespace

template <int n>
KeyframeRecorder<n>::KeyframeRecorder(const rigid::World<n>& world) : weights_{0.0} {
  for (const auto& body : world.bodies) {
    const double r = rigid::radius(body);
    weights_.insert(weights_.end(), n, 1.0);
    if (n == 2)
      weights_.push_back(r * r);
    else
      weights_.insert(weights_.end(), 4, 4.0 * r * r);  // the rotation angle is twice the angle of the quaternion
  }
  width_ = weights_.size();
}

template <int n>
void KeyframeRecorder<n>::take(const rigid::Simulation<n>& simulation) {
  rows_.push_back(rounded(simulation.time(), 1024.0));
  const std::size_t before = rows_.size() > width_ ? rows_.size() - width_ : 0;
  for (const auto& pose : simulation.poses()) {
    for (int i = 0; i < n; ++i) rows_.push_back(rounded(pose.position[i], 131072.0));
    if constexpr (n == 2) {
      rows_.push_back(rounded(pose.angle, 16384.0));
    } else {
      const Eigen::Quaterniond turn(pose.directors);
      double q[] = {turn.w(), turn.x(), turn.y(), turn.z()};
      if (before) {  // q and -q are the same rotation: takes the one nearer to the previous node's
        const double* last = &rows_[rows_.size() - width_];
        if (q[0] * last[0] + q[1] * last[1] + q[2] * last[2] + q[3] * last[3] < 0.0)
          for (double& x : q) x = -x;
      }
      for (const double x : q) rows_.push_back(rounded(x, 16384.0));
    }
  }
}

template <int n>
Eigen::MatrixXd KeyframeRecorder<n>::keyframes(int count) const {
  Eigen::MatrixXd kept = Eigen::MatrixXd::Constant(count, width_, not_a_number);
  if (rows_.empty()) return kept;
  const std::size_t last = rows_.size() / width_ - 1;
  struct Span {
    std::size_t first, last, worst;
    double error;
  };
  const auto span = [&](std::size_t first, std::size_t end) {
    Span found{first, end, first, 0.0};
    const double *a = &rows_[first * width_], *b = &rows_[end * width_];
    for (std::size_t k = first + 1; k < end; ++k) {
      const double* x = &rows_[k * width_];
      const double share = b[0] > a[0] ? (x[0] - a[0]) / (b[0] - a[0]) : 0.0;
      double error = 0.0;
      for (std::size_t c = 1; c < width_; ++c) {
        const double off = x[c] - (a[c] + share * (b[c] - a[c]));
        error += weights_[c] * off * off;
      }
      if (error > found.error) found = {first, end, k, error};
    }
    return found;
  };
  std::vector<Span> spans;
  if (last > 0 && count > 1) spans.push_back(span(0, last));
  while (!spans.empty() && std::ssize(spans) + 1 < count) {
    const auto worst = std::ranges::max_element(spans, [](const Span& a, const Span& b) { return a.error < b.error; });
    if (worst->error == 0.0) break;
    const Span cut = *worst;
    *worst = span(cut.first, cut.worst);
    spans.insert(std::next(worst), span(cut.worst, cut.last));
  }
  const auto put = [&](std::size_t row, std::size_t node) {
    kept.row(row) = Eigen::Map<const Eigen::RowVectorXd>(&rows_[node * width_], width_);
  };
  put(0, 0);
  for (std::size_t i = 0; i < spans.size(); ++i) put(i + 1, spans[i].last);
  return kept;
}

Channel film_channel(int starts, int frames, const Channel& q) {
  Channel channel{"runs",
                  "",
                  "the motion from each initial state, simulation.frames rows each: " + q.description,
                  starts * frames,
                  {"t"}};
  channel.coordinates.insert(channel.coordinates.end(), q.coordinates.begin(), q.coordinates.end());
  channel.units = {"s"};
  channel.units.insert(channel.units.end(), q.units.begin(), q.units.end());
  return channel;
}

template class KeyframeRecorder<2>;
template class KeyframeRecorder<3>;

}  // namespace dodyn::evaluators::simulation
