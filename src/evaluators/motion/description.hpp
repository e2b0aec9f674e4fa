// Interface to the motion that a configuration describes. There are two kinds: motions in explicit phases (design.hpp),
// and gaits (evaluators/gait/design.hpp). A gait has one phase that ends with touch-down. One search (search.hpp) and
// one evaluator (motion.cpp) serve both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/clearance.hpp"
#include "dmoc/edge_pair.hpp"
#include "dmoc/position_constraint.hpp"
#include "dmoc/separation.hpp"
#include "dmoc/worst_row.hpp"
#include "evaluators/continuous.hpp"
#include "evaluators/examination.hpp"
#include "evaluators/rollout/rollout.hpp"
#include "nlp/solve.hpp"
#include "record/task.hpp"

namespace dodyn::evaluators {

// The touching feature of a contact's part: a corner, or an edge together with the other part's edge. If a named point
// touches, `corner` is -1 and `edges` is empty.
struct TouchingFeature {
  int corner = -1;
  std::optional<dmoc::EdgePair> edges = {};
  bool operator==(const TouchingFeature&) const = default;
};

// Path of a motion, phase by phase. q: coordinates at the knots (dmoc/scheme.hpp), [Kd + 1, n]. If `references` is not
// empty, angles of spherical joints are relative to them.
struct MotionPath {
  std::vector<Eigen::MatrixXd> q;
  std::vector<std::vector<dmoc::Reference>> references;
  std::vector<double> duration;           // duration of each phase, s
  std::vector<TouchingFeature> touching;  // [contacts]
  bool simulated = false;                 // computed by a simulation without controls
  std::vector<Eigen::MatrixXd> controls;  // controls of each phase at the points, [Kd, actuators]; or empty: none
};

// Sets the references of a path that has none, and makes its coordinates relative to them.
void refer_along(const dmoc::System& system, MotionPath& path);

// The optimisation problem of a motion, with the planes that separate bodies.
struct TranscribedMotion {
  dmoc::MotionProblem problem;
  dmoc::SeparatingPlanes separation;
  std::vector<std::function<void(Eigen::VectorXd&)>> begin = {};  // [contacts] functions that initialise the contact's
                                                                  // unknowns in an initial guess
  dmoc::NamedRows asked = {};
};
// Describes the maximum violations at x: the parts that overlap most, and the worst conditions with their times.
std::string describe_violations(const TranscribedMotion& planned, const Eigen::VectorXd& x);

// A result of the solver, with the problem that was solved.
struct SolvedMotion {
  TranscribedMotion planned;
  nlp::Solution solution;
  int iterations = 0;
};

struct PhaseOutline {
  std::string name;
  std::vector<int> held;
  int intervals = 0;
  bool timed = false;  // the duration is an unknown
};

// A force in a phase: on a fixed coordinate, or on a component of held points.
struct HeldForce {
  bool of_points = false;
  int index = 0;  // index in PhaseOutline::held, or index of the component
};

struct MotionValues;  // evaluators/motion/phased_motion.hpp

// A metric of a motion: one column of the archive.
struct Measure {
  Quantity quantity;
  double value = not_a_number;
};
// Returns the value of a column.
using MetricOf = std::function<double(const std::string& name)>;

// The phases that drive_continuously() can integrate. restarts: for each phase, whether the integration restarts there
// (PlannedPhase::restarts). `note` names the restarts and the phases that are not integrated.
struct ContinuousPlan {
  std::vector<bool> restarts;
  std::string note;
};

class MotionDescription {
 public:
  virtual ~MotionDescription() = default;

  virtual std::string section() const = 0;      // section of its keys: "gait" or "motion"
  virtual const std::string& text() const = 0;  // text of the model file
  virtual std::string model_name() const = 0;   // name of the model in the settings
  virtual const dmoc::System& system() const = 0;
  virtual std::vector<PhaseOutline> outline() const = 0;
  // Returns the force normal(POINT), tangential(POINT) or reaction(COORDINATE) in a phase. POINT: the origin of the
  // first link, by root_name() or by a [point]. nullopt: the phase has no such force.
  virtual std::optional<HeldForce> held_force(int phase, const Expression::Quantity& quantity) const;
  int intervals() const;  // total of all phases
  int knots() const;      // knots of all phases: rows of a trajectory
  int degree() const { return system().scheme().degree; }
  // Returns the description on a mesh with `intervals` in total. Null: the end of a phase or a contact has no node on
  // that mesh, or a phase would have fewer than two intervals.
  virtual std::shared_ptr<const MotionDescription> on_mesh(int intervals) const = 0;
  // Returns the numbers of a design with derivatives. Throws ConfigError if the model refuses the design.
  virtual MotionValues values(const Eigen::VectorXd& design) const = 0;
  // Returns the model's numbers of a design without derivatives. Throws ConfigError if the model refuses the design.
  systems::Values<double> plain(const Eigen::VectorXd& design) const;
  static Eigen::VectorXd middle(const Settings& settings);  // returns the middle of the design variables' ranges
  // Returns for every actuator whether the cost depends on it.
  virtual std::vector<bool> has_cost() const = 0;

  // Reason why a design is not valid; empty: it is valid. `required`: the design violates a requirement of the
  // configuration.
  struct Rejection {
    std::string reason;
    bool required = false;
  };
  virtual Rejection rejection(const Eigen::VectorXd& design) const = 0;
  // Returns the optimisation problem of a design, relative to the references of a path. `size`: scale of the bodies
  // that must not overlap; initial solves use smaller bodies.
  virtual TranscribedMotion plan(const Eigen::VectorXd& design, const MotionPath& path, double size = 1.0) const = 0;

  // Returns the path of cold start `number`, relative to references. `seed`: of the evaluation.
  virtual MotionPath initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const = 0;
  // Returns the path of a solution: coordinates without references, and controls.
  MotionPath path_about_none(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x) const;
  // Returns the path of a solution: coordinates relative to references, without controls.
  MotionPath path_of(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& design) const;
  // Sets the references of a path that has none, and its touching corners and edges.
  virtual void refer(MotionPath& path, const Eigen::VectorXd& design) const;
  // Returns the unknowns along a path, with its controls if it has any. Otherwise controls and forces are zero. If
  // `balanced`, a least-squares fit determines them from the momentum balances of the path.
  Eigen::VectorXd start(const TranscribedMotion& planned, const MotionPath& path, bool balanced = false) const;
  // Returns initial guesses near a motion in which another corner touches: one for each contact and corner. They have
  // no references.
  virtual std::vector<MotionPath> with_other_corners(const MotionPath&, const Eigen::VectorXd&) const { return {}; }
  // Returns the number of preceding solves with smaller bodies; 0: none.
  virtual int grow() const { return 0; }
  // Return nlp::Options::push of cold starts, and nlp::Options::barrier of motions from another mesh or after a time
  // warp; 0: default.
  virtual double push_of_cold_start() const { return 0.0; }
  virtual double barrier_of_refined() const { return 0.0; }

  // Inputs of measures(): a motion on this mesh.
  struct MetricInputs {
    const Eigen::VectorXd& design;
    const SolvedMotion& solved;
    const dmoc::Motion& motion;
    const Trajectory& trajectory;
    dmoc::Clearance clearance = {};  // distances of the pairs that must not overlap
  };
  virtual std::vector<Measure> measures(const MetricInputs* seen) const = 0;
  // Examines the motion on the mesh of `trajectory`.
  virtual ExaminedQuantities examined(const Eigen::VectorXd& design, const Trajectory& trajectory,
                                      const MetricOf& metric) const = 0;
  virtual ContinuousPlan continuous_plan() const = 0;
  virtual std::string report(const MetricOf& metric) const = 0;  // returns lines about the description's own metrics

  // Returns the additional channels of the description. They follow the channels of every motion (trajectory.hpp).
  virtual Channels more_channels() const = 0;
  // Returns the values of more_channels().
  virtual std::vector<Eigen::MatrixXd> more_values(const MetricInputs& seen) const = 0;
  virtual std::string root_name() const { return "root"; }  // returns the name of the first point
  // Forces on constrained coordinates: the channel's name, and for each coordinate the name of its column.
  struct Forces {
    std::string name = "held_force", unit = "",
                description = "forces (N, N m) on fixed coordinates; zero in phases in which they move";
    std::vector<int> coordinates;
    std::vector<std::string> names;
  };
  virtual Forces forces() const;

  // Applies the controls of an archived motion in the contact simulation of bodies; nullopt: the description has no
  // such simulation. Throws ConfigError if the simulation does not support the motion.
  virtual std::optional<Simulated> open_loop_run(const Outcome&) const { return std::nullopt; }
  // Returns the foot that touches down at the end of a phase, for rollouts; nullopt: none.
  virtual std::optional<systems::Place<double>> landing(int phase, const Eigen::VectorXd& design) const = 0;
  // Returns a limit of all controls, in addition to the actuators' limits.
  virtual double control_limit() const { return nlp::infinity; }
};

}  // namespace dodyn::evaluators
