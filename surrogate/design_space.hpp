// The box of designs as a search sees it: the unit cube, and the coordinates that a model sees.
//
// Source for whole numbers and labels: E. Garrido-Merchan, D. Hernandez-Lobato, Dealing with categorical and
// integer-valued variables in Bayesian optimization (2020): rounded before the kernel sees them, labels as unit vectors.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn::surrogate {

// What a variable may be.
struct Domain {
  enum Kind {
    real,
    logarithmic,  // real, and the cube has its logarithm
    integer,      // whole numbers within the bounds
    category,     // one of several values without order: labels
    list          // one of `values`
  };
  Domain(Kind of_kind = real) : kind(of_kind) {}  // NOLINT: a kind is a domain
  explicit Domain(std::vector<double> ascending) : kind(list), values(std::move(ascending)) {}

  Kind kind;
  std::vector<double> values = {};
  // Whether the design has this variable at all; where it does not, the variable stands at its lower bound. Empty: always.
  std::function<bool(const Eigen::VectorXd& design)> active = {};
};

class DesignSpace {
 public:
  // `domains`: one per variable, or empty: all real. Throws std::invalid_argument, after "OWNER: ", on no variable, an
  // empty range, domains of another number, or a logarithm of a range that is not above 0.
  DesignSpace(const std::vector<Variable>& variables, const std::vector<Domain>& domains, const std::string& owner);

  Eigen::Index dimensions() const { return static_cast<Eigen::Index>(variables_.size()); }
  Eigen::Index embedded() const { return embedded_; }                    // coordinates that a model sees
  const std::vector<Variable>& variables() const { return variables_; }  // bounds of whole numbers moved inward
  Domain::Kind domain(Eigen::Index i) const { return domains_[static_cast<std::size_t>(i)].kind; }
  bool real(Eigen::Index i) const { return domain(i) == Domain::real || domain(i) == Domain::logarithmic; }
  // Whether a design has variable i at all.
  bool active(Eigen::Index i, const Eigen::VectorXd& design) const {
    const Domain& own = domains_[static_cast<std::size_t>(i)];
    return !own.active || own.active(design);
  }
  bool all_real() const { return all_real_; }
  bool plain() const { return plain_; }  // all real, on a linear scale, in every design
  // Number of values of a variable that is not real, and their places in the unit cube.
  int levels(Eigen::Index i) const;
  double unit_of_level(Eigen::Index i, int level) const;
  // Coordinates of variable i that a model sees: one, or one for each label.
  Eigen::Index width(Eigen::Index i) const { return domain(i) == Domain::category ? levels(i) : 1; }

  Eigen::VectorXd unit(const Eigen::VectorXd& design) const;  // clamped to the unit cube
  Eigen::VectorXd design(const Eigen::VectorXd& unit) const;  // whole numbers rounded
  Eigen::VectorXd embed(const Eigen::VectorXd& unit) const;
  // d design / d unit of the real variables, there.
  Eigen::VectorXd slope(const Eigen::VectorXd& design) const;
  // From a gradient with respect to embed(unit) to one with respect to the real variables; 0 for the others.
  Eigen::VectorXd pull_back(const Eigen::VectorXd& gradient) const;

 private:
  std::vector<Variable> variables_;
  std::vector<Domain> domains_;
  Eigen::VectorXd lower_,
      range_;  // of the cube's coordinates before they are scaled: values, logarithms, places in a list
  Eigen::Index embedded_ = 0;
  bool all_real_ = true, plain_ = true, conditional_ = false;
};

// "a = 1.2 m (its lower bound), b = 3"
std::string place_of(const std::vector<Variable>& variables, const Eigen::VectorXd& design);

}  // namespace dodyn::surrogate
