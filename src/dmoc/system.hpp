// A mechanical system as transcriptions need it: functions of its Lagrangian, recorded once for all designs.
//
// A model's numbers (systems/model.hpp) are parameters of every recorded function, so that another design is other
// values of them, and the gradient with respect to all of them comes from one sweep.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "autodiff/tape.hpp"
#include "systems/model.hpp"

namespace dodyn::dmoc {

using Coefficient = autodiff::Differential;  // a number and its gradient with respect to the design
using Function = std::shared_ptr<const autodiff::RecordedFunction>;
using Element = std::shared_ptr<const autodiff::Element>;

// Functions of a system some of whose coordinates are held at zero (a foot that stands). theta: those that move.
struct HeldFunctions {
  std::vector<int> held, moving;  // coordinates, ascending
  // (theta, theta'; h, numbers) -> D2 L_d, D4 L_d, [2n]: slot derivatives of the discrete Lagrangian (midpoint rule,
  // (3.1.1) of Pekarek 2010) with respect to all coordinates at either end, from which the rows of a transcription are
  // linear combinations. A combination with weights w is the derivative of L_d in the direction w, so its Hessian is
  // the derivative of L_d's Hessian in that direction.
  Function action;
  // (theta, theta', T; 1/K, numbers) -> the same with h = T/K an unknown
  Function timed_action;
  // (theta, theta', u; h, numbers) -> (h/2) Q at the midpoint, [n]: generalised forces of actuators, dampers, drag and
  // loads, at either end of the interval. Null where actuators alone push, each on one coordinate.
  Function forces;
  Function timed_forces;  // (theta, theta', u, T; 1/K, numbers)
  Function momentum;      // (theta, theta'; numbers) -> dL/dv, [n], at the velocity theta'
};

class System {
 public:
  explicit System(systems::Model model);

  const systems::Model& model() const { return model_; }
  const systems::Tree<systems::Number>& structure() const { return model_.structure; }
  int n() const { return structure().n(); }
  int inputs() const { return static_cast<int>(structure().actuators.size()); }
  // Whether all that pushes are actuators on one coordinate each.
  bool simply_actuated() const { return simply_actuated_; }

  const HeldFunctions& holding(const std::vector<int>& held) const;
  // (q, v), all coordinates -> v . dL/dv - L, J
  const Function& energy() const { return energy_; }

  // f(tree, z) as a function of z, [inputs]: the tree's numbers are parameters, behind `extra` others, which f gets third.
  // f: (const Tree<Var>&, const std::vector<Var>& z, const std::vector<Var>& extra) -> std::vector<Var>
  template <class F>
  Function record(int inputs, int extra, F f) const {
    return autodiff::record(inputs, extra + model_.numbers(),
                            [&](const std::vector<autodiff::Var>& z, const std::vector<autodiff::Var>& p) {
                              const std::vector<autodiff::Var> first(p.begin(), p.begin() + extra),
                                  numbers(p.begin() + extra, p.end());
                              return f(model_.tree<autodiff::Var>(numbers), z, first);
                            });
  }

 private:
  systems::Model model_;
  bool simply_actuated_ = true;
  Function energy_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<int>, std::unique_ptr<HeldFunctions>> held_;
};

// A recorded function with values of its parameters: `extra` ones, then the numbers of a design.
Element element(const Function& function, const std::vector<Coefficient>& numbers,
                const std::vector<Coefficient>& extra = {});

// All coordinates, the held ones zero, from those that move.
template <class T>
std::vector<T> whole(int n, const std::vector<int>& moving, const T* theta) {
  std::vector<T> q(static_cast<std::size_t>(n), T(0.0));
  for (const int i : moving) q[static_cast<std::size_t>(i)] = *theta++;
  return q;
}

// dL/dv at (q, v).
template <class System, class T>
std::vector<T> momentum(const System& system, const std::vector<T>& q, const std::vector<T>& v) {
  using autodiff::Dual;
  std::vector<Dual<T>> a, b;
  for (std::size_t i = 0; i < q.size(); ++i) {
    a.emplace_back(q[i], T(0.0));
    b.emplace_back(v[i], T(0.0));
  }
  std::vector<T> p;
  for (Dual<T>& x : b) {
    x.tangent = T(1.0);
    p.push_back(system.lagrangian(a.data(), b.data()).tangent);
    x.tangent = T(0.0);
  }
  return p;
}

// Values and Jacobian of an element at one point, for what is not worth a batch.
Eigen::VectorXd value(const autodiff::Element& f, const Eigen::VectorXd& z);
Eigen::MatrixXd jacobian(const autodiff::Element& f, const Eigen::VectorXd& z);

}  // namespace dodyn::dmoc
