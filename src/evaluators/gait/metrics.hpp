// What is told of a gait: the evaluator's metrics, and in words what is odd about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dmoc/gait.hpp"
#include "evaluators/gait/search.hpp"
#include "record/evaluation.hpp"

namespace dodyn::evaluators {

const std::vector<Quantity>& gait_metrics();

// Its place in that list; a name that is not there is a mistake of the program.
Eigen::Index gait_metric(std::string_view name);

Eigen::VectorXd metrics_of(const dmoc::GaitReport& report, const GaitFound& found);

// What a walker would not call walking, in words.
struct Oddity {
  enum class Grade {
    worth_a_look,  // odd, but a walk
    no_walk,       // beyond what a leg or the ground can do
    coarse         // the mesh does not resolve it
  } grade;
  std::string words;
};
// `may_cross`: the legs; `damped`: dampers and drag take work, too, so that it need not match the impact's loss.
std::vector<Oddity> oddities(const Eigen::VectorXd& metrics, bool may_cross, bool damped);

}  // namespace dodyn::evaluators
