#include "surrogate/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "record/text.hpp"
#include "surrogate/kriging.hpp"

namespace dodyn::surrogate {

using Eigen::VectorXd;

std::string Constraint::label() const { return name + (below ? "<=" : ">=") + formatted("%.9g", limit); }

double Evidence::objective(const Evaluation& e, std::size_t which) const {
  const int metric = objectives[which];
  if (metric < 0) return e.cost;
  return metric < e.metrics.size() ? e.metrics(metric) : not_a_number;
}

VectorXd Evidence::outcome(const Evaluation& e) const {
  VectorXd all(static_cast<Eigen::Index>(objectives.size()));
  for (std::size_t k = 0; k < objectives.size(); ++k) all(static_cast<Eigen::Index>(k)) = objective(e, k);
  return all;
}

bool Evidence::usable(const Evaluation& e) const {
  if (!e.ok()) return false;
  for (std::size_t i = 0; i < objectives.size(); ++i)
    if (!(std::abs(objective(e, i)) <= Kriging::most_magnitude)) return false;
  for (const Constraint& c : constraints)
    if (c.metric >= e.metrics.size() || (c.metric >= 0 && !(std::abs(e.metrics(c.metric)) <= Kriging::most_magnitude)))
      return false;
  return true;
}

bool Evidence::feasible(const Evaluation& e) const {
  return usable(e) &&
         std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& c) { return c.kept(e); });
}

bool Evidence::noisy() const {
  return costs_noisy ||
         std::any_of(told.begin(), told.end(), [&](const auto& e) { return usable(e) && e.cost_stderr > 0; });
}

void Evidence::find_plateau() {
  plateau.reset();
  if (objectives.size() != 1 || noisy()) return;
  std::map<double, std::size_t> counts;
  std::size_t all = 0;
  for (std::size_t i = from; i < told.size(); ++i)
    if (usable(told[i])) ++counts[objective(told[i], 0)], ++all;
  for (const auto& [cost, count] : counts)
    if (count >= std::max<std::size_t>(4, all / 4) && (counts.size() == 1 || cost != counts.begin()->first))
      if (!plateau || count > counts[*plateau]) plateau = cost;
}

std::size_t Evidence::count_usable() const {
  return static_cast<std::size_t>(std::count_if(told.begin(), told.end(), [&](const auto& e) { return usable(e); }));
}

namespace {

const Evaluation* least_of(const Evidence& evidence, std::size_t from) {
  const Evaluation* found = nullptr;
  for (std::size_t i = from; i < evidence.told.size(); ++i) {
    const Evaluation& e = evidence.told[i];
    if (evidence.feasible(e) && (!found || evidence.objective(e, 0) < evidence.objective(*found, 0))) found = &e;
  }
  return found;
}

}  // namespace

const Evaluation* Evidence::best() const { return least_of(*this, 0); }
const Evaluation* Evidence::best_of_region() const { return least_of(*this, from); }

bool Evidence::tried(const VectorXd& u, double within) const {
  const auto close = [&](const VectorXd& x) { return (space.unit(x) - u).cwiseAbs().maxCoeff() < within; };
  return std::any_of(told.begin(), told.end(), [&](const auto& e) { return close(e.design); }) ||
         std::any_of(pending.begin(), pending.end(), close);
}

double Evidence::quantile(double part, const Warp& warp) const {
  std::vector<double> costs;
  for (const Evaluation& e : told)
    if (feasible(e)) costs.push_back(warp.forward(objective(e, 0)));
  if (costs.empty()) return 0;
  const auto at = costs.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(costs.size()));
  std::nth_element(costs.begin(), at, costs.end());
  return *at - *std::min_element(costs.begin(), costs.end());
}

std::string Evidence::say_best() const {
  const Evaluation* const least = best();
  if (!least) return "no usable cost";
  std::ostringstream out;
  out.precision(9);
  out << "best cost " << objective(*least, 0);
  if (least->id >= 0)
    out << " (evaluation " << least->id << ")";
  else
    out << " (known beforehand)";
  return out.str() + " at " + place_of(space.variables(), least->design);
}

}  // namespace dodyn::surrogate
