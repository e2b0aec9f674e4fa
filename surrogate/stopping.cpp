#include "surrogate/stopping.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace dodyn::surrogate {

namespace {

constexpr double band = 3;             // standard deviations of the prediction
constexpr double least_band = 0.01;    // of what costs vary by: a band narrower than that is no matter
constexpr double checks_of_doubt = 8;  // more checks for each variable, where the whole box is in doubt

}  // namespace

bool StopAccount::told(std::optional<double> cost, bool gain) {
  const auto check = std::exchange(check_, {});
  if (gain) {
    quiet_ = 0;
    return false;
  }
  if (!check) return false;
  const bool surprise =
      cost && std::abs(*cost - check->mean) > std::max(band * check->deviation, least_band * check->scale);
  surprises_ += surprise;
  quiet_ = surprise ? 0 : quiet_ + 1;
  return cost && check->mean - *cost > std::max(check->deviation, least_band * check->scale);
}

int StopAccount::needed() const {
  const auto d = static_cast<double>(variables_);
  return static_cast<int>(2 + 2 * d + (d > 3 ? 10 * (d - 3) : 0) + std::ceil(checks_of_doubt * d * share_));
}

std::string StopAccount::verdict() const {
  std::ostringstream out;
  out.precision(2);
  out << quiet_ << " checks in a row were as the model predicts";
  if (share_ > 0.005) out << ", which cannot rule out something better in " << 100 * share_ << " % of the box";
  return out.str();
}

}  // namespace dodyn::surrogate
