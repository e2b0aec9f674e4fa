// The coordinates of designs: the unit cube for the search, and the embedded coordinates for the models.
//
// Source for whole numbers and labels: E. Garrido-Merchan, D. Hernandez-Lobato, Dealing with categorical and
// integer-valued variables in Bayesian optimization (2020): rounded before the kernel sees them, labels as unit
// vectors.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn::surrogate {

// The kind of values of a variable.
struct Domain {
  enum Kind {
    real,
    logarithmic,  // real; the unit cube holds its logarithm
    integer,      // whole numbers within the bounds
    category,     // one of several values without order: labels
    list          // one of `values`
  };
  Domain(Kind of_kind = real) : kind(of_kind) {}  // NOLINT: a kind is a domain
  explicit Domain(std::vector<double> ascending) : kind(list), values(std::move(ascending)) {}

  Kind kind;
  std::vector<double> values = {};
  bool on_log_scale = false;  // whole numbers: the unit cube holds their logarithm
  // Whether the design has this variable. If not, the variable is at its lower bound. Empty: always.
  std::function<bool(const Eigen::VectorXd& design)> active = {};
};

// Throws std::invalid_argument if there is no variable, or a range is empty. The message has the prefix "OWNER: ",
// unless the owner is empty.
void check_ranges(const std::vector<Variable>& variables, const std::string& owner);

class DesignSpace {
 public:
  // `domains`: one per variable, or empty: all real. Throws std::invalid_argument, with the prefix of
  // check_ranges(): no variable, an empty range, a wrong number of domains, or a log scale with a bound that is not
  // positive.
  DesignSpace(const std::vector<Variable>& variables, const std::vector<Domain>& domains, const std::string& owner);

  Eigen::Index dimensions() const { return variables_.size(); }
  Eigen::Index embedded() const { return embedded_; }                    // number of embedded coordinates
  const std::vector<Variable>& variables() const { return variables_; }  // whole numbers: bounds rounded inwards
  Domain::Kind domain(Eigen::Index i) const { return domains_[i].kind; }
  bool real(Eigen::Index i) const { return domain(i) == Domain::real || domain(i) == Domain::logarithmic; }
  // Whether the unit cube holds the logarithm of the variable.
  bool on_log_scale(Eigen::Index i) const { return domain(i) == Domain::logarithmic || domains_[i].on_log_scale; }
  // Whether the search moves variable i continuously: a real variable, or a whole number with more than
  // `most_tried_levels` values, whose result is rounded.
  bool moves(Eigen::Index i) const {
    return real(i) || (domain(i) == Domain::integer && levels(i) > most_tried_levels);
  }
  // Whether a design has variable i.
  bool active(Eigen::Index i, const Eigen::VectorXd& design) const {
    const Domain& own = domains_[i];
    return !own.active || own.active(design);
  }
  bool all_real() const { return all_real_; }
  bool plain() const { return plain_; }  // all variables are real, on a linear scale, and in every design
  // Returns the number of values of a variable that is not real.
  int levels(Eigen::Index i) const;
  // Returns the coordinate in the unit cube of the value with index `level`.
  double unit_of_level(Eigen::Index i, int level) const;
  int level(Eigen::Index i, double unit) const;  // returns the index of the nearest value of a whole number
  // Returns the number of embedded coordinates of variable i: one, or one for each label.
  Eigen::Index width(Eigen::Index i) const { return domain(i) == Domain::category ? levels(i) : 1; }

  Eigen::VectorXd unit(const Eigen::VectorXd& design) const;  // clamped to the unit cube
  Eigen::VectorXd design(const Eigen::VectorXd& unit) const;  // whole numbers are rounded
  // Returns design(unit), except that whole numbers that move as real variables are not rounded.
  Eigen::VectorXd relaxed(const Eigen::VectorXd& unit) const;
  // Returns the nearest design with values that its variables can have. A real variable keeps its value if the design
  // has this variable.
  Eigen::VectorXd nearest_valid(const Eigen::VectorXd& design) const;
  // Returns the models' coordinates of a point of the unit cube, [embedded()]. Rounds labels and whole numbers first.
  // Whole numbers that move as real variables are rounded only if some variable is conditional (Domain::active).
  Eigen::VectorXd embed(const Eigen::VectorXd& unit) const;
  // Returns the nearest point of the unit cube that is a design, if a whole number moves as a real variable; else the
  // point itself.
  Eigen::VectorXd rounded(const Eigen::VectorXd& u) const { return whole_moves_ && u.size() > 0 ? unit(design(u)) : u; }
  // Returns d design / d unit of the real variables at this design.
  Eigen::VectorXd slope(const Eigen::VectorXd& design) const;
  // Converts a gradient with respect to embed(unit) to one with respect to the variables that move (0 for the others).
  Eigen::VectorXd pull_back(const Eigen::VectorXd& gradient) const;

  static constexpr int most_tried_levels = 50;  // values of a variable that a search tries one by one

 private:
  double whole_number(Eigen::Index i, double u) const;  // nearest to the coordinate u of the unit cube
  std::vector<Variable> variables_;
  std::vector<Domain> domains_;
  Eigen::VectorXd lower_,
      range_;  // range of each coordinate before scaling: values, logarithms, or positions in a list
  Eigen::Index embedded_ = 0;
  bool all_real_ = true, plain_ = true, conditional_ = false, whole_moves_ = false;
};

// Returns the end of a message about a value that a variable cannot have, such as " is not one of the variable's
// values; the nearest is 2".
std::string not_a_value(double nearest);

// Returns a text such as "a = 1.2 m (its lower bound), b = 3".
std::string place_of(const std::vector<Variable>& variables, const Eigen::VectorXd& design);

}  // namespace dodyn::surrogate
