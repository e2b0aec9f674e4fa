// Periodic gaits of a legged model by discrete mechanics and optimal control (DMOC; Pekarek 2010, section 4.2). The
// motion is one step, from just after touch-down to the next touch-down, on K intervals of equal length h = T/K. The
// stance foot is pinned at the origin, so the unknowns of a node are the joint angles theta_k. The torques u_k are
// constant over an interval. The formulas below are for order 2; orders 4 and 6 have knots and points (scheme.hpp). The
// walker's system determines the order. Touch-down is the last node: it is plastic (the new foot
// sticks), the old stance foot is released, the legs exchange their roles, and the motion is periodic with period K h
// at the momentum level. Exchanging the legs twice changes nothing.
//
//   minimise   cost of transport = (a int sum|u dtheta| + b int sum(u dtheta)+ + c int u^2 dt) / (weight * step length)
//              with the work of a torque over an interval taken by the rates at both its ends, see Phase::work_at_ends
//   subject to the forced discrete Euler-Lagrange equations (3.1.10) at nodes 1 .. K-1,
//              the jump (3.5.4) from node K to node 0, in momenta, with the velocities v-, v+ before and after as
//              unknowns:
//                dL/dv(theta_K, v-) = D4 L_d(K-1, K) + F+       the momentum that arrives, on the constraint (Q_N)
//                dL/dv(theta_0, v+) = -D2 L_d(0, 1) - F-        the momentum that leaves
//                dL/dv(theta_0, exchanged v-) = dL/dv(theta_0, v+) in the joints: impulse at the new foot only (P_S)
//              exchange_legs(theta_K) = step + theta_0,
//              and optionally: swing-foot clearance, torque limits, knee stops, friction cone for forces and the
//              impulse.
//
// In space every other step is reflected at the plane of walking, so that always the left foot swings. The exchange of
// the legs includes the reflection. The new foot stands step_length ahead and step_width to the left.
// Walker (dmoc/walker.hpp) provides the functions of the legged model.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/crossing.hpp"
#include "dmoc/motion_problem.hpp"
#include "dmoc/path_function.hpp"
#include "dmoc/walker.hpp"
#include "dmoc/worst_row.hpp"
#include "nlp/solve.hpp"

namespace dodyn::dmoc {

struct GaitSettings {
  int intervals = 80;              // K
  Coefficient period = 0.9;        // K h, s
  Coefficient step_length = 0.56;  // m
  Coefficient step_width = 0.2;    // m, in space

  // weights of the terms of the cost
  bool work_at_ends = true;  // see Phase::work_at_ends
  double absolute_work = 0.0;
  double positive_work = 0.0;
  double squared_torque = 1.0;  // per N m s
  double loss = 0.0;            // weight of the resistive losses of the model's actuators

  // Additional costs, integrated over the step, and path constraints, >= 0 or == 0, with the values of their
  // parameters.
  std::vector<PathFunction> costs = {};
  struct Requirement {
    PathFunction function;
    bool equality = false;
  };
  std::vector<Requirement> requirements = {};
  Lookup parameter = {};

  double clearance = 0.0;    // minimum height of the swing foot at mid-step, m; at the share s: times 4 s (1 - s)
  int clearance_points = 0;  // number of rows for the height between neighbouring knots; inner knots always have a row
  double leg_radius = 0.0;   // 3D: half the minimum distance of links of different legs, m; 0: legs may cross
  double torque_limit = nlp::infinity;  // N m
  double rate_limit = nlp::infinity;    // maximum speed of every joint at the quadrature points, rad/s (slides: m/s)
  bool knee_stops = false;              // knees bend in one direction only
  bool unilateral = false;              // contact force and touch-down impulse push, never pull
  double friction = nlp::infinity;      // coefficient of the friction cone of force and impulse; a finite value implies
                                        // `unilateral`. 3D: inscribed pyramid of eight sides, at least 0.924 of it
};

// A gait, computed from the unknowns. Rows: knots 0 .. Kd, which for degree d = 1 are the nodes. Rows of u and energy:
// quadrature points; leg_distance and wrong_side: intervals.
struct GaitMotion {
  Eigen::VectorXd t;              // s
  Eigen::MatrixXd q;              // [Kd + 1, n] foot position and joint angles
  Eigen::MatrixXd p;              // [Kd + 1, n] discrete momenta, see PhaseMotion
  Eigen::MatrixXd u;              // [Kd, inputs] N m
  Eigen::MatrixXd rate;           // [Kd + 1, n] rates. Knots inside an interval: slope of its polynomial; inner nodes:
                                  // mean of the slopes of both intervals; both ends: velocities of the jump
  Eigen::MatrixXd contact_force;  // [Kd + 1, base] force of the ground on the stance foot, N
  Eigen::MatrixXd points;         // [Kd + 1, base (links + 1)] foot and ends of the links, m
  Eigen::VectorXd energy;         // [Kd] discrete energy of the interval, J
  Eigen::VectorXd swing_height;   // [Kd + 1] m
  Eigen::VectorXd leg_distance;   // [K] minimum distance of the parts of WalkerGait::pairs() in an interval, m
  std::vector<bool> wrong_side;   // [K] whether links pass on the wrong side in the interval
  Eigen::VectorXd impulse;        // [base] impulse of the ground on the new foot at touch-down, N s
  double impact_loss = 0.0;       // kinetic energy lost at touch-down, J
};

// Height below which a foot that moves along the ground scrapes, m.
inline constexpr double scrape_height = 1e-3;

// Costs and measures of a gait, computed from the motion, without data of the solver.
struct GaitReport {
  double absolute_work = 0.0, positive_work = 0.0, signed_work = 0.0, squared_torque = 0.0;  // J; N^2 m^2 s
  double weight = 0.0, step_length = 0.0;                                                    // N, m
  double max_torque = 0.0;                                                                   // N m
  double min_normal_force = 0.0;                                                             // over all knots, N
  double max_friction_ratio = 0.0;  // |tangential| / normal force; infinite if the ground would have to pull
  double normal_impulse = 0.0, impulse_friction_ratio = 0.0;  // at touch-down: N s; |tangential| / normal impulse
  double min_clearance = 0.0;                                 // minimum height of the swing foot at inner knots, m
  double max_foot_penetration = 0.0;  // depth of the swing foot below the ground, at nodes and between them, m
  double scrape = 0.0;                // path length of the swing foot below scrape_height, m
  double foot_path = 0.0;             // total path length of the swing foot along the ground, m
  double min_knee_flexion = 0.0;      // rad; negative: a knee overextends; infinite: no knees
  double max_knee_flexion = 0.0;      // rad
  double max_joint_step = 0.0;        // maximum change of a joint from knot to knot, rad
  double max_foot_height = 0.0;       // height of the swing foot, m
  double max_torque_jump = 0.0;       // excess of |torque| over its values at both neighbouring points, N m
  double min_leg_distance = 0.0;      // minimum of GaitMotion::leg_distance, with interpolated angles between knots, m
  double leg_crossings = 0.0;  // number of intervals with a leg distance more than 10 % below twice the legs' radius;
                               // in 2D and for radius 0, where crossing is allowed: number of intervals in which
                               // links cross
  double leg_order_violations = 0.0;  // 3D: number of intervals in which a link of the swing leg passes a link of the
                                      // stance leg on the wrong side, projected along y; 2D: 0
  double impact_loss = 0.0;           // J
  double energy_balance = 0.0;        // signed work plus work of gravity along a slope minus impact loss, J: O(h^(2d))
};

// Initial barrier parameters (nlp::Options::barrier) of warm starts, found by experiment. refined: the guess is a gait
// from another mesh or warped in time. neighbour: the guess is the solution of a similar design, with its multipliers.
inline constexpr double barrier_of_refined = 1e-3, barrier_of_neighbour = 1e-8;

// Distance inside the bounds of a cold start of a planar walker (nlp::Options::push). Feet are then well above the
// ground, and every interval has positive and negative work. The optima are better than from starts at the bounds,
// after fewer iterations.
inline constexpr double push_of_cold_start = 0.3;

// The gait problem of one design of a walker. Numbers, step length and period may have gradients with respect to design
// variables.
class WalkerGait {
 public:
  // `numbers`: numbers of the model, see Walker::numbers().
  WalkerGait(std::shared_ptr<const Walker> walker, std::vector<Coefficient> numbers, const GaitSettings& settings);

  const Walker& walker() const { return *walker_; }
  const std::vector<Coefficient>& numbers() const { return motion_problem_.numbers(); }
  const nlp::AssembledProblem& problem() const { return motion_problem_.problem(); }
  const MotionProblem& motion_problem() const& { return motion_problem_; }
  MotionProblem motion_problem() && { return std::move(motion_problem_); }
  const NamedRows& conditions() const { return conditions_; }  // first rows of the conditions, with their names
  const PhaseIndex& index() const { return motion_problem_.index(0); }

  // Returns the path of a cold start, [Kd + 1, n]: interpolated between touch-down postures with random deviations.
  // With knee stops, knees bend in the admissible direction. Equal seeds give equal paths.
  Eigen::MatrixXd cold_path(std::uint64_t seed) const;
  // Returns the unknowns along cold_path(), with zero torques.
  Eigen::VectorXd cold_start(std::uint64_t seed) const;
  // Returns the unknowns of a gait with these joint angles and torques: `q` [Kd + 1, n], `u` [Kd, inputs].
  Eigen::VectorXd warm_start(const Eigen::MatrixXd& q, const Eigen::MatrixXd& u) const;

  GaitMotion motion(const Eigen::VectorXd& x) const;
  GaitReport report(const Eigen::VectorXd& x) const;

 private:
  void build();
  void name_rows(const std::string& what);
  // Returns the element of `Walker::height` or `Walker::sides` at a fraction of an interval.
  Element inside(const Function& function, double share) const;
  // Interpolates the joint angles at a fraction of an interval. `q`: coordinates of all knots.
  Eigen::VectorXd joints_at(const Eigen::MatrixXd& q, int interval, double share) const;
  void add_clearance();
  void add_sides();
  void add_limits_of_joints();
  bool may_cross() const { return walker_->base != 3 || settings_.leg_radius <= 0.0; }
  Coefficient free_of_hip() const;
  // Returns the pairs of links of different legs, with the parts that must stay apart.
  std::vector<Pair> pairs() const;

  std::shared_ptr<const Walker> walker_;
  GaitSettings settings_;
  systems::Tree<Coefficient> design_;
  Walker::Legs legs_;
  Coefficient weight_;  // N
  Element swing_height_, exchanged_, points_, segments_;
  MotionProblem motion_problem_;
  NamedRows conditions_;
};

}  // namespace dodyn::dmoc
