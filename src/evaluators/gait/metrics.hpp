// The metrics of a gait, and those that are examined.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dmoc/gait.hpp"
#include "evaluators/examination.hpp"
#include "evaluators/gait/search.hpp"
#include "record/evaluation.hpp"

namespace dodyn::evaluators {

const std::vector<Quantity>& gait_metrics();

// Its place in that list; a name that is not there is a mistake of the program.
Eigen::Index gait_metric(std::string_view name);

Eigen::VectorXd metrics_of(const dmoc::GaitReport& report, const GaitFound& found);

// What of them is examined (evaluators/examination.hpp). `may_cross`: the legs; `damped`: dampers and drag take work, too, so
// that it need not match the impact's loss.
Examined examined(const Eigen::VectorXd& metrics, bool may_cross, bool damped);

}  // namespace dodyn::evaluators
