#include "evaluators/motion/phased_motion.hpp"

#include <algorithm>
#include <map>

#include "evaluators/motion/description.hpp"
#include "evaluators/parameters.hpp"

namespace dodyn::evaluators {

using dmoc::Coefficient;

bool MotionEnd::gives(int coordinate) const {
  return std::ranges::any_of(given,
                             [&](const GivenCoordinate& one) { return !one.rate && one.coordinate == coordinate; });
}

Coefficient MotionValues::named(const std::string& name) const {
  for (const auto& [known, value] : motion)
    if (known == name) return value;
  return model.parameters[system->model().parameter(name)];
}

Coefficient MotionValues::evaluated(const Expression& e) const {
  std::vector<Coefficient> numbers;
  for (const auto& q : e.quantities()) numbers.push_back(named(q.name));
  return e.evaluate<Coefficient>(numbers);
}

bool MotionValues::satisfy(const Expression& condition) const {
  std::vector<double> numbers;
  for (const auto& q : condition.quantities()) numbers.push_back(named(q.name).value);
  return condition.holds(numbers);
}

systems::Values<double> MotionValues::plain() const {
  return {autodiff::values_of(model.parameters), autodiff::values_of(model.numbers)};
}

MotionValues motion_values(const PhasedMotion& motion, const Eigen::VectorXd& design) {
  const systems::Model& model = motion.system->model();
  const Settings& settings = motion.settings;
  MotionValues all;
  all.system = motion.system;
  all.model = model.evaluate<Coefficient>(given_parameters<Coefficient>(settings, model, design));
  for (const auto& [name, e] : motion.parameters)
    all.motion.emplace_back(name,
                            settings.design_given(name) ? design_value(settings, name, design) : all.evaluated(e));
  all.motion.emplace_back("weight", model.tree<Coefficient>(all.model.numbers).weight());
  return all;
}

systems::Values<double> plain_values(const PhasedMotion& motion, const Eigen::VectorXd& design) {
  return motion_values(motion, design).plain();
}

Eigen::VectorXd middle_design(const PhasedMotion& motion) { return MotionDescription::middle(motion.settings); }

bool is_force(const Expression::Quantity& quantity) {
  return quantity.name == "normal" || quantity.name == "tangential" || quantity.name == "reaction";
}

int held_coordinate(const std::vector<std::string>& names, const Expression::Quantity& force) {
  if (force.name == "normal") return 1;
  if (force.name == "tangential") return 0;
  if (force.name != "reaction") return -1;
  const auto at = std::ranges::find(names, force.arguments.front());
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

}  // namespace dodyn::evaluators
