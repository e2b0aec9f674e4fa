// A mechanical system for transcriptions: functions of its Lagrangian, recorded once for all designs.
//
// A model's numbers (systems/model.hpp) are parameters of every recorded function. Another design has other values of
// the numbers, and one sweep gives the gradient with respect to all numbers.
//
// In directors (Johnson 2013, section 3.2.4) the coordinates of a node determine the positions c and the directors d_I
// of the bodies. L_d(theta, theta') = h (T - V). T is the kinetic energy of the differences over an interval, T = sum
// m/2 |dc/h|^2 + E_IJ/2 dd_I.dd_J/h^2. V is the mean of the potentials at both ends of the interval; for gravity the
// mean equals the potential of the midpoint. Slot derivatives in the coordinates are the reduced equations (4.8),
// because the derivative of the directors with respect to the coordinates is a null-space matrix. The angles of
// spherical joints form a chart about the node's reference attitude. With suitable references no attitude is singular.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "autodiff/tape.hpp"
#include "dmoc/scheme.hpp"
#include "systems/model.hpp"

namespace dodyn::dmoc {

using Coefficient = autodiff::Differential;  // a number and its gradient with respect to the design
using Function = std::shared_ptr<const autodiff::RecordedFunction>;
using Element = std::shared_ptr<const autodiff::Element>;

// Functions of a system with some coordinates held at zero, such as the position of a standing foot. theta: the moving
// coordinates.
struct PinnedSystem {
  std::vector<int> held, moving;  // indices of coordinates, ascending
  // (theta of the interval's knots; h, numbers) -> slot derivatives of the discrete Lagrangian (scheme.hpp) with
  // respect to all coordinates at each knot, [(d + 1) n]. For degree 1 these are D2 L_d and D4 L_d ((3.1.1) of Pekarek
  // 2010). The rows of a transcription are linear combinations of the slot derivatives. A combination with weights w is
  // the derivative of L_d in the direction w. So its Hessian is the directional derivative of L_d's Hessian.
  Function action;
  // (theta of the knots, T; 1/K, numbers) -> the outputs of `action`, with h = T/K
  Function timed_action;
  // (theta of the knots, u of the points; h, numbers) -> discrete forces of actuators, dampers, drag and loads at each
  // knot, [(d + 1) n]. For degree 1 without directors: (h/2) Q at the midpoint, [n], which acts at both ends of the
  // interval. Null if the only forces are actuators on single coordinates.
  Function forces;
  Function timed_forces;  // (theta of the knots, u of the points, T; 1/K, numbers) -> the outputs of `forces`
  Function momentum;      // (theta, theta'; numbers) -> dL/dv, [n], at the velocity theta'
  // In directors, references are additional parameters of all functions: after h or 1/K the references of both nodes;
  // for `momentum` the reference of the node.
  Function energy;  // in directors: (theta, theta'; h, references, numbers) -> T + V of an interval, J; otherwise null
};

// An energy in addition to the model's energy, J: (tree, numbers, frames of the links at a posture) -> value. An
// interval has the weighted sum over its quadrature points, in directors the mean of both ends, as for the model's
// potentials.
using Energy = std::function<autodiff::Var(const systems::Tree<autodiff::Var>&, const std::vector<autodiff::Var>&,
                                           const std::vector<systems::Frame<autodiff::Var>>&)>;

// Reference attitudes of a node: rotations row by row, [9 charts()].
using Reference = std::shared_ptr<const std::vector<Coefficient>>;

class System {
 public:
  // Throws ConfigError for features that directors do not support. `order`: of the integrator; with directors 2.
  explicit System(systems::Model model, bool directors = false, std::vector<Energy> energies = {}, int order = 2);

  const systems::Model& model() const { return model_; }
  const systems::Tree<systems::Number>& structure() const { return model_.structure; }
  int n() const { return structure().n(); }
  int inputs() const { return static_cast<int>(structure().actuators.size()); }
  const Scheme& scheme() const { return scheme_; }
  // Returns whether the only forces are actuators on one coordinate each.
  bool simply_actuated() const { return simply_actuated_; }

  bool directors() const { return directors_; }
  // Returns the links with spherical joints (three turns), if directors are used.
  const std::vector<int>& charts() const { return charts_; }
  bool is_chart(int coordinate) const;  // returns whether the coordinate is an angle of one of charts()
  // Returns the reference with identity rotations.
  const Reference& no_reference() const { return no_reference_; }
  // Sets the references of a tree. `at`: [9 charts()].
  template <class T>
  void refer(systems::Tree<T>& tree, const T* at) const {
    for (const int l : charts_) {
      auto& R = tree.links[l].reference.emplace();
      for (auto& row : R)
        for (T& x : row) x = *at++;
    }
  }

  // Returns the functions for these held coordinates. The first call with a list records them. The result is valid for
  // the life of the system.
  const PinnedSystem& pinned(const std::vector<int>& held) const;
  // Returns the function of this name. The first call with a name records it.
  const Function& known_as(const std::string& name, const std::function<Function()>& record_it) const;
  // Returns the coordinates on which a link's pose depends, ascending; none for the ground, -1.
  std::vector<int> coordinates_of(int link) const;
  // (q, v), all coordinates -> v . dL/dv - L plus the additional energies, J
  const Function& energy() const { return energy_; }

  // Records f(tree, z) as a function of z, [inputs]. Parameters: first `extra` numbers, which are the third argument of
  // f, then the tree's numbers. f: (const Tree<Var>&, const std::vector<Var>& z, const std::vector<Var>& extra) ->
  // std::vector<Var>
  template <class F>
  Function record(int inputs, int extra, F f) const {
    return record_at(0, inputs, extra, [&](const auto& trees, const auto&, const auto& z, const auto& first) {
      return f(trees[0], z, first);
    });
  }
  // Records f at a node of a motion. The reference of the node follows the `extra` parameters.
  template <class F>
  Function record_at_node(int inputs, int extra, F f) const {
    return record_at(1, inputs, extra, [&](const auto& trees, const auto&, const auto& z, const auto& first) {
      return f(trees[0], z, first);
    });
  }
  // Records f(tree, numbers, z, extra) at a node.
  template <class F>
  Function record_at_node_with_numbers(int inputs, int extra, F f) const {
    return record_at(1, inputs, extra, [&](const auto& trees, const auto& numbers, const auto& z, const auto& first) {
      return f(trees[0], numbers, z, first);
    });
  }
  // Records f for an interval, with the trees of both nodes.
  template <class F>
  Function record_on_interval(int inputs, int extra, F f) const {
    return record_at(2, inputs, extra, [&](const auto& trees, const auto&, const auto& z, const auto& first) {
      return f(trees[0], trees[trees.size() - 1], z, first);
    });
  }

 private:
  template <class F>
  Function record_at(int nodes, int inputs, int extra, F f) const {
    const int size = 9 * std::ssize(charts_), given = extra + nodes * size;
    return autodiff::record(
        inputs, given + model_.numbers(),
        [&](const std::vector<autodiff::Var>& z, const std::vector<autodiff::Var>& p) {
          const std::vector<autodiff::Var> first(p.begin(), p.begin() + extra), numbers(p.begin() + given, p.end());
          std::vector<systems::Tree<autodiff::Var>> trees(std::max(nodes, 1), model_.tree<autodiff::Var>(numbers));
          for (int i = 0; i < nodes; ++i) refer(trees[i], p.data() + extra + i * size);
          return f(trees, numbers, z, first);
        });
  }
  // Returns the discrete action of an interval. `at`: coordinates of its knots; `parameters`: h or 1/K, the references
  // of both ends, and the model's numbers.
  autodiff::Var discrete_action(const std::vector<std::vector<autodiff::Var>>& at, const autodiff::Var& h,
                                const std::vector<autodiff::Var>& parameters) const;
  Function record_action(const std::vector<int>& moving, bool timed) const;
  void record_pushes(PinnedSystem& functions) const;
  void check_directors() const;
  // Returns the sum of the additional energies.
  autodiff::Var additional_energy(const systems::Tree<autodiff::Var>& tree, const std::vector<autodiff::Var>& numbers,
                                  const std::vector<systems::Frame<autodiff::Var>>& frames) const;

  systems::Model model_;
  const Scheme& scheme_;
  bool directors_ = false, simply_actuated_ = true;
  std::vector<Energy> energies_;
  std::vector<int> charts_;
  Reference no_reference_;
  Function energy_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<int>, std::unique_ptr<PinnedSystem>> held_;
  mutable std::map<std::string, Function> known_;
};

// Returns a recorded function with values of its parameters: `extra`, then references of nodes, then the numbers of a
// design.
Element element(const Function& function, const std::vector<Coefficient>& numbers,
                const std::vector<Coefficient>& extra = {}, const std::vector<Reference>& references = {});

// Returns all coordinates from the moving coordinates; held coordinates are zero.
template <class T>
std::vector<T> whole(int n, const std::vector<int>& moving, const T* theta) {
  std::vector<T> q(n, T(0.0));
  for (const int i : moving) q[i] = *theta++;
  return q;
}

// A motion at a quadrature point of an interval: q, and h times its rate. `knots`: coordinates at each knot.
struct AtPoint {
  std::vector<autodiff::Var> q, change;
};
AtPoint at_point(const Scheme& scheme, int point, const std::vector<std::vector<autodiff::Var>>& knots);

// Returns dL/dv at (q, v).
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

// Return the values and the Jacobian of an element at one point. For many points, batches are faster.
Eigen::VectorXd value(const autodiff::Element& f, const Eigen::VectorXd& z);
Eigen::MatrixXd jacobian(const autodiff::Element& f, const Eigen::VectorXd& z);

}  // namespace dodyn::dmoc
