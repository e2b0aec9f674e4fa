// A mechanical system for the hybrid integrator (hybrid.hpp). Its discrete Lagrangian, its rows and its watched scalars
// are recorded once (autodiff/tape.hpp), with its parameters as inputs.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <memory>
#include <vector>

#include "autodiff/tape.hpp"

namespace dodyn::variational {

enum class Rule { midpoint, stoermer_verlet };

// Functions that define a system, for recording. q, v: [n]; p: [parameters].
struct Formulation {
  using Var = autodiff::Var;
  using Vars = std::vector<Var>;
  int n = 0, parameters = 0;
  std::function<Var(const Vars& q, const Vars& v, const Vars& p)> lagrangian;  // T - V, T quadratic in v
  std::function<Vars(const Vars& q, const Vars& v, const Vars& p)> forces;     // generalised forces, [n]; empty: none
  std::function<Vars(const Vars& q, const Vars& p)> rows;  // functions that can be constrained; empty: none
  std::function<Vars(const Vars& q, const Vars& v, const Vars& p)> watched;  // scalars of the state; empty: none
};

// The recorded functions of a system, for all values of its parameters.
struct Recorded {
  using Function = std::shared_ptr<const autodiff::RecordedFunction>;
  int n = 0, rows = 0, watched = 0;
  Rule rule = Rule::midpoint;
  // (q0, q1, h), for the midpoint rule ((q0 + q1)/2, (q1 - q0)/h, h) -> D2 L_d + F-, D4 L_d + F+, E_d = -dL_d/dh,
  // d(D2 L_d + F-)/dq1 row by row
  Function interval;
  Function row;    // q -> rows, their Jacobian row by row
  Function mass;   // q -> d2L/dv2, row by row
  Function state;  // (q, v) -> bias, curvature of the rows, T, V: see State below
  Function watch;  // (q, v) -> watched
};
// Records the functions of a system with a quadrature rule of the discrete Lagrangian.
Recorded record(const Formulation& system, Rule rule);

// A system with given parameters. Functions return references to buffers that the next call overwrites.
class Mechanics {
 public:
  Mechanics(const Recorded& recorded, const std::vector<double>& parameters);

  int n() const { return n_; }
  int rows() const { return rows_; }

  struct Interval {
    Eigen::VectorXd minus, plus;  // D2 L_d + F-, D4 L_d + F+: [n], N s (N m s for angles)
    double energy = 0.0;          // discrete energy, J
    Eigen::MatrixXd slope;        // d minus/d q1: [n x n]
  };
  const Interval& interval(const Eigen::VectorXd& q0, const Eigen::VectorXd& q1, double h) const;

  struct Rows {
    Eigen::VectorXd value;     // [rows]
    Eigen::MatrixXd gradient;  // [rows x n]
  };
  const Rows& row(const Eigen::VectorXd& q) const;

  const Eigen::MatrixXd& mass(const Eigen::VectorXd& q) const;
  Eigen::VectorXd velocity(const Eigen::VectorXd& q, const Eigen::VectorXd& p) const;  // M^-1 p

  struct State {
    Eigen::VectorXd bias;                   // M a = bias + constraint forces: [n], N
    Eigen::VectorXd curvature;              // d2(row)/dt2 = gradient a + curvature: [rows]
    double kinetic = 0.0, potential = 0.0;  // J
  };
  const State& state(const Eigen::VectorXd& q, const Eigen::VectorXd& v) const;

  const Eigen::VectorXd& watched(const Eigen::VectorXd& q, const Eigen::VectorXd& v) const;

 private:
  using Element = std::shared_ptr<const autodiff::RecordedElement>;
  int n_, rows_;
  Rule rule_;
  Element interval_element_, row_element_, mass_element_, state_element_, watch_element_;
  mutable std::vector<double> in_, out_;
  mutable Interval interval_;
  mutable Rows row_;
  mutable Eigen::MatrixXd mass_;
  mutable State state_;
  mutable Eigen::VectorXd watched_;
};

}  // namespace dodyn::variational
