// The box of designs as a search sees it: the unit cube, whole numbers among its coordinates, and the coordinates that
// a model sees.
//
// Source for whole numbers and labels: E. Garrido-Merchan, D. Hernandez-Lobato, Dealing with categorical and
// integer-valued variables in Bayesian optimization (2020): rounded before the kernel sees them, labels as unit vectors.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn::surrogate {

enum class Domain { real, integer, category };  // an integer or category takes the whole numbers within its bounds

class DesignSpace {
 public:
  // `domains`: one per variable, or empty: all real. Throws std::invalid_argument, after "OWNER: ", on no variable, an
  // empty range, or domains of another number.
  DesignSpace(const std::vector<Variable>& variables, const std::vector<Domain>& domains, const std::string& owner);

  Eigen::Index dimensions() const { return static_cast<Eigen::Index>(variables_.size()); }
  Eigen::Index embedded() const { return embedded_; }                    // coordinates that a model sees
  const std::vector<Variable>& variables() const { return variables_; }  // bounds of whole numbers moved inward
  const Eigen::VectorXd& range() const { return range_; }
  bool real(Eigen::Index i) const { return domain(i) == Domain::real; }
  Domain domain(Eigen::Index i) const {
    return domains_.empty() ? Domain::real : domains_[static_cast<std::size_t>(i)];
  }
  bool all_real() const { return all_real_; }
  // Coordinates of variable i that a model sees: one, or one for each label.
  Eigen::Index width(Eigen::Index i) const {
    return domain(i) == Domain::category ? static_cast<Eigen::Index>(range_(i)) + 1 : 1;
  }

  Eigen::VectorXd unit(const Eigen::VectorXd& design) const;  // clamped to the unit cube
  Eigen::VectorXd design(const Eigen::VectorXd& unit) const;  // whole numbers rounded
  Eigen::VectorXd embed(const Eigen::VectorXd& unit) const;
  // From a gradient with respect to embed(unit) to one with respect to the real variables; 0 for the others.
  Eigen::VectorXd pull_back(const Eigen::VectorXd& gradient) const;

 private:
  std::vector<Variable> variables_;
  std::vector<Domain> domains_;
  Eigen::VectorXd lower_, range_;
  Eigen::Index embedded_ = 0;
  bool all_real_ = true;
};

// "a = 1.2 m (its lower bound), b = 3"
std::string place_of(const std::vector<Variable>& variables, const Eigen::VectorXd& design);

}  // namespace dodyn::surrogate
