#include "surrogate/stop_rule.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

namespace {

constexpr double band = 3;               // half width of the prediction interval, in standard deviations
constexpr double least_band = 0.01;      // minimum half width of the interval, relative to the variation of costs
constexpr double checks_of_doubt = 8;    // additional checks per variable if the whole box is undecided
constexpr double max_unexplained = 0.5;  // relative variance of a prediction above which a result does not confirm it
constexpr double weight_without_cost = 0.5;  // weight of a check whose design fails or lies on the plateau

}  // namespace

bool StopRule::observe(const Eigen::VectorXd& design, std::optional<double> cost, bool gain) {
  const auto at =
      std::find_if(expected_.begin(), expected_.end(), [&](const Expected& e) { return e.design == design; });
  std::optional<Prediction> predicted;
  if (at != expected_.end()) predicted = at->prediction, expected_.erase(at);
  if (gain) confirmed_ = 0;
  if (gain || !predicted) return false;
  if (!cost) {
    confirmed_ += weight_without_cost;
    return false;
  }
  const double seen = predicted->warp.forward(*cost), least = least_band * predicted->scale;
  const bool surprise = std::abs(seen - predicted->mean) > std::max(band * predicted->deviation, least);
  if (surprise)
    confirmed_ = 0;
  else if (predicted->unexplained <= max_unexplained)
    ++confirmed_;
  return predicted->mean - seen > std::max(predicted->deviation, least);
}

int StopRule::needed() const {
  const auto d = static_cast<double>(variables_);
  return static_cast<int>(2 + 2 * d + (d > 3 ? 10 * (d - 3) : 0) +
                          std::ceil(checks_of_doubt * d * std::max(undecided_fraction_, failed_fraction_)));
}

std::string StopRule::verdict(bool by_shorter_lengths) const {
  std::ostringstream out;
  out << "predicted the last " << std::floor(confirmed_) << " designs away from the best correctly";
  const double percent = 100 * undecided_fraction_;
  if (undecided_fraction_ > least_stated_fraction)
    out << " (" << std::setprecision(percent < 10 ? 2 : 3) << (percent < 10 ? percent : std::round(percent))
        << " % of the design range may still contain a better one"
        << (by_shorter_lengths ? ", if costs vary over shorter distances than in the model)" : ")");
  return out.str();
}

}  // namespace dodyn::surrogate
