#include "surrogate/ego_report.hpp"

#include <algorithm>
#include <cmath>

#include "record/text.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd candidates_of(const EgoState& ego, const Proposal& proposal,
                       const std::optional<AcquisitionModel>& acquisition) {
  std::vector<Candidate> list = proposal.considered;
  const auto chosen =
      std::find_if(list.begin(), list.end(), [&](const auto& c) { return c.design == proposal.design; });
  if (chosen != list.end()) {
    std::rotate(list.begin(), chosen, chosen + 1);
  } else if (proposal.design.size() > 0) {
    list.insert(list.begin(), {proposal.design, proposal.score});
  }
  for (std::size_t i = 1; i < list.size();) {  // drops duplicates that searches from several initial points have found
    const auto same = [&](const Candidate& c) {
      return c.rule == list[i].rule &&
             (ego.observed.space.unit(c.design) - ego.observed.space.unit(list[i].design)).cwiseAbs().maxCoeff() <
                 EgoState::resolution;
    };
    if (std::any_of(list.begin(), list.begin() + i, same))
      list.erase(list.begin() + i);
    else
      ++i;
  }
  if (list.size() > most_candidates) list.resize(most_candidates);
  const Index d = ego.dimensions();
  MatrixXd table = MatrixXd::Constant(list.size(), candidate_columns(ego.observed).size(), not_a_number);
  for (Index i = 0; i < table.rows(); ++i) {
    const Candidate& c = list[i];
    const VectorXd unit = ego.observed.space.unit(c.design);
    table.row(i).head(d) = c.design.transpose();
    table(i, d) = static_cast<double>(c.rule);
    table(i, d + 1) = c.score;
    table(i, d + 2) = ego.is_distinct(unit, c.rule == Rule::limits ? EgoState::fine_resolution : EgoState::resolution);
    if (acquisition) table.row(i).tail(table.cols() - d - 3) = acquisition->parts_of_score(unit).transpose();
  }
  return table;
}

std::vector<std::string> candidate_columns(const ObservedData& observed) {
  std::vector<std::string> names;
  for (const Variable& v : observed.space.variables()) names.push_back(v.name);
  names.insert(names.end(), {"rule", "score", "fresh"});
  const auto parts = AcquisitionModel::parts(observed);
  names.insert(names.end(), parts.begin(), parts.end());
  return names;
}

namespace {

// Appends the names of a model's numbers, in the order of numbers_of(). Lengths are relative to the variables' ranges;
// a category has one for each of its values.
void name_numbers(const DesignSpace& space, const std::string& label, std::vector<std::string>& names) {
  for (const char* what : {"log_likelihood", "process_variance", "noise_variance", "warp_width", "warp_at"})
    names.push_back(what + label);
  for (Index i = 0; i < space.dimensions(); ++i) {
    const Variable& v = space.variables()[i];
    const bool category = space.domain(i) == Domain::category;
    for (Index level = 0; level < space.width(i); ++level)
      names.push_back("length_" + v.name +
                      (category ? "_" + formatted("%.4g", v.lower + static_cast<double>(level)) : "") + label);
  }
}

void numbers_of(const IncrementalKriging& tracked, std::vector<double>& values) {
  const Hyperparameters& h = tracked.model().hyperparameters();
  const Warp& warp = tracked.warp();
  values.insert(values.end(), {h.likelihood, h.variance, tracked.model().noise_variance(),
                               warp.identity() ? 0 : warp.width, warp.least});
  for (Index i = 0; i < h.log_length.size(); ++i) values.push_back(std::exp(h.log_length(i)));
}

}  // namespace

std::vector<std::string> names_of_numbers(const EgoState& ego) {
  std::vector<std::string> names = {"log_acquisition", "leave_one_out_quality"};
  for (std::size_t k = 0; k < ego.observed.objectives.size(); ++k)
    name_numbers(ego.observed.space, ObservedData::label_of_objective(k), names);
  for (const Constraint& c : ego.observed.constraints) name_numbers(ego.observed.space, "_" + c.label(), names);
  names.insert(names.end(), {"incumbent", "longest_length", "margin", "viability_length", "viability_variance",
                             "viability_power", "caution", "edge_side", "checks", "checks_needed", "not_ruled_out"});
  if (ego.options.trust_region) names.push_back("trust_region_side");
  if (!ego.options.low_fidelity.empty()) {
    const std::string factor(low_fidelity_factor), factor_of = factor + '_';
    for (std::size_t k = 0; k < ego.observed.objectives.size(); ++k)
      names.push_back(factor + ObservedData::label_of_objective(k));
    for (const Constraint& c : ego.observed.constraints) names.push_back(factor_of + c.label());
    names.emplace_back(low_fidelity_evaluations);
  }
  if (ego.observed.objectives.size() == 1)  // NaN unless costs are uncertain
    names.insert(names.end(), {"recommended_cost", "recommended_deviation", "recommended_optimism", "indifference",
                               "probability_best", "probability_better_elsewhere"});
  if (ego.observed.objectives.size() > 1) names.insert(names.end(), {"front_size", "hypervolume"});
  return names;
}

std::vector<double> numbers_of(const EgoState& ego, const Proposal& proposal) {
  std::vector<double> values = {proposal.score, ego.models.objectives()[0].model().leave_one_out().quality()};
  for (const IncrementalKriging& tracked : ego.models.objectives()) numbers_of(tracked, values);
  for (const IncrementalKriging& tracked : ego.models.constraints()) numbers_of(tracked, values);
  const SuccessClassifier& success = ego.models.success();
  const bool has_no_failures = success.has_no_failures();
  values.insert(values.end(),
                {proposal.compared, proposal.trusted.longest, proposal.trusted.margin,
                 has_no_failures ? not_a_number : success.length(), has_no_failures ? not_a_number : success.variance(),
                 proposal.trusted.success_power, ego.required_log_odds, ego.edge_side, ego.stop_rule.confirmed(),
                 static_cast<double>(ego.stop_rule.needed()), ego.stop_rule.undecided_fraction()});
  if (ego.options.trust_region) values.push_back(ego.region.side);
  if (!ego.options.low_fidelity.empty()) {
    for (const IncrementalKriging& tracked : ego.models.objectives()) values.push_back(tracked.factor());
    for (const IncrementalKriging& tracked : ego.models.constraints()) values.push_back(tracked.factor());
    values.push_back(static_cast<double>(ego.models.objectives()[0].low_fidelity_samples()));
  }
  if (ego.observed.objectives.size() == 1)
    values.insert(values.end(),
                  {ego.selection.cost, ego.selection.deviation, ego.selection.optimism, ego.selection.indifference,
                   ego.selection.probability, ego.compares_designs() ? ego.open.probability : not_a_number});
  if (ego.observed.objectives.size() > 1) {
    const Front front = front_of(ego.observed);
    values.push_back(static_cast<double>(front.points.cols()));
    values.push_back(front.hypervolume());
  }
  return values;
}

void add_curve(const EgoState& ego, int grid_points, Iteration& out) {
  const DesignSpace& space = ego.observed.space;
  if (ego.dimensions() != 1 || grid_points < 2 || !space.all_real()) return;
  const IncrementalKriging& cost = ego.models.objectives()[0];
  const Variable& v = space.variables()[0];
  out.grid = VectorXd::LinSpaced(grid_points, v.lower, v.upper);
  VectorXd mean, variance;
  MatrixXd at(1, grid_points);
  for (Index i = 0; i < grid_points; ++i) at.col(i) = space.embed(space.unit(out.grid.segment(i, 1)));
  cost.model().predict(at, mean, variance);
  const VectorXd band = 1.96 * variance.cwiseSqrt();
  const auto back = [&](double w) { return cost.warp().backward(w); };
  out.value = mean.unaryExpr(back);
  out.lower = (mean - band).unaryExpr(back);
  out.upper = (mean + band).unaryExpr(back);
}

}  // namespace dodyn::surrogate
