// Interface to the motion that a configuration describes. There are two kinds: motions in explicit phases (design.hpp),
// and gaits, which [gait] expands into a phase and its touch-down (evaluators/gait/design.hpp). One search (search.hpp)
// and one evaluator (motion.cpp) serve both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/clearance.hpp"
#include "dmoc/edge_pair.hpp"
#include "dmoc/hold.hpp"
#include "dmoc/separation.hpp"
#include "dmoc/worst_row.hpp"
#include "evaluators/continuous.hpp"
#include "evaluators/examination.hpp"
#include "evaluators/rollout/rollout.hpp"
#include "nlp/solve.hpp"
#include "record/task.hpp"

namespace dodyn::evaluators {

// The touching feature of a contact's part: a corner, or an edge and the edge that it meets. Neither if a point
// touches.
struct TouchingFeature {
  int corner = -1;
  std::optional<dmoc::EdgePair> edges = {};
  bool operator==(const TouchingFeature&) const = default;
};

// Path of a motion, phase by phase: coordinates at its knots (dmoc/scheme.hpp), [Kd + 1, n], relative to references (in
// space) or without.
struct MotionPath {
  std::vector<Eigen::MatrixXd> q;
  std::vector<std::vector<dmoc::Reference>> references;
  std::vector<double> duration;           // duration of each phase, s
  std::vector<TouchingFeature> touching;  // [contacts]
  bool simulated = false;                 // from a simulation without controls
  std::vector<Eigen::MatrixXd> controls;  // controls of each phase at the points, [Kd, actuators]; or empty: none
};

// Sets the references of a path that has none.
void refer_along(const dmoc::System& system, MotionPath& path);

// A transcription, with the planes that separate bodies.
struct TranscribedMotion {
  dmoc::MotionProblem problem;
  dmoc::SeparatingPlanes separation;
  std::vector<std::function<void(Eigen::VectorXd&)>> begin = {};  // [contacts] functions that initialise the contact's
                                                                  // unknowns in an initial guess
  dmoc::NamedRows asked = {};
};
// Describes the worst violations at x: the parts that overlap most, and the condition with the largest violation, with
// time.
std::string missed(const TranscribedMotion& planned, const Eigen::VectorXd& x);

// A result of a solver, with the problem that it solves.
struct SolvedMotion {
  TranscribedMotion planned;
  nlp::Solution solution;
  int iterations = 0;
};

struct PhaseOutline {
  std::string name;
  std::vector<int> held;
  int intervals = 0;
};

// A metric of a motion: one column of the archive.
struct Measure {
  Quantity quantity;
  double value = not_a_number;
};
// Returns the value of a column.
using MetricOf = std::function<double(const std::string& name)>;

// The phases that drive_continuously() can integrate: for each, whether the integration restarts
// (PlannedPhase::restarts). `note` names the restarts and the phases that are not integrated.
struct ContinuousPlan {
  std::vector<bool> restarts;
  std::string note;
};

class MotionDescription {
 public:
  virtual ~MotionDescription() = default;

  virtual std::string section() const = 0;      // section of its keys: "gait" or "motion"
  virtual const std::string& text() const = 0;  // text of the model
  virtual std::string model_name() const = 0;   // the name in the settings
  virtual const dmoc::System& system() const = 0;
  virtual std::vector<PhaseOutline> outline() const = 0;
  int intervals() const;  // total of all phases
  int knots() const;      // the same: rows of a trajectory
  int degree() const { return system().scheme().degree; }
  // Returns the description on a mesh with `intervals` in total. Null: a phase or a contact has no node on that mesh.
  virtual std::shared_ptr<const MotionDescription> on_mesh(int intervals) const = 0;
  // Returns the numbers of a design without derivatives. Throws ConfigError if the model refuses the design.
  virtual systems::Values<double> plain(const Eigen::VectorXd& design) const = 0;
  static Eigen::VectorXd middle(const Settings& settings);  // returns the middle of the design variables' ranges
  // Returns for every actuator whether the cost depends on it.
  virtual std::vector<bool> has_cost() const = 0;

  // Why a design is not valid; empty: it is valid. `required`: a requirement of the configuration is not satisfied.
  struct Rejection {
    std::string reason;
    bool required = false;
  };
  virtual Rejection rejection(const Eigen::VectorXd& design) const = 0;
  // Makes the transcription relative to the references of a path. `size`: scale of the bodies that must not overlap,
  // for growing them.
  virtual TranscribedMotion plan(const Eigen::VectorXd& design, const MotionPath& path, double size = 1.0) const = 0;

  // Returns the path of cold start `number` for this evaluation's seed, relative to references.
  virtual MotionPath initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const = 0;
  // Returns coordinates without references, and controls, of a solution.
  MotionPath path_about_none(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x) const;
  // Returns coordinates relative to references, without controls.
  MotionPath path_of(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& design) const;
  // Sets the references of a path that has none, and its touching corners and edges.
  virtual void refer(MotionPath& path, const Eigen::VectorXd& design) const;
  // Returns the unknowns along a path, with its controls if it has any. Otherwise controls and forces are zero, or, if
  // `balanced`, those that balance the momenta of the path best.
  Eigen::VectorXd start(const TranscribedMotion& planned, const MotionPath& path, bool balanced = false) const;
  // Returns guesses near a motion, without references, in which another corner touches: one for each contact and
  // corner.
  virtual std::vector<MotionPath> with_other_corners(const MotionPath&, const Eigen::VectorXd&) const { return {}; }
  // Returns the number of steps in which bodies grow from small ones.
  virtual int grow() const { return 0; }
  // nlp::Options::push of cold starts, and nlp::Options::barrier of motions from another mesh or after a time warp; 0:
  // default.
  virtual double push_of_cold_start() const { return 0.0; }
  virtual double barrier_of_refined() const { return 0.0; }

  // Metrics of the description for a motion on this mesh; null: returns them without values.
  struct MetricInputs {
    const Eigen::VectorXd& design;
    const SolvedMotion& solved;
    const dmoc::Motion& motion;
    const Trajectory& trajectory;
    dmoc::Clearance clearance = {};  // of the pairs that must not overlap
  };
  virtual std::vector<Measure> measures(const MetricInputs* seen) const = 0;
  // Examines the motion on the mesh of `trajectory`.
  virtual ExaminedQuantities examined(const Eigen::VectorXd& design, const Trajectory& trajectory,
                                      const MetricOf& metric) const = 0;
  virtual ContinuousPlan continuous_plan() const = 0;
  virtual std::string report(const MetricOf& metric) const = 0;  // lines about its own metrics

  // Returns the channels of the description, which follow those of every motion (trajectory.hpp), and their values.
  virtual Channels more_channels() const = 0;
  virtual std::vector<Eigen::MatrixXd> more_values(const MetricInputs& seen) const = 0;
  virtual std::string root_name() const { return "root"; }  // name of the first point
  // Forces on constrained coordinates: the channel's name, and for each coordinate the name of its column.
  struct Forces {
    std::string name = "held_force", unit = "",
                description = "forces (N, N m) on fixed coordinates; zero in phases in which they move";
    std::vector<int> coordinates;
    std::vector<std::string> names;
  };
  virtual Forces forces() const;

  // Applies the controls of an archived motion in the simulation of free bodies; nullopt if a foot stands in some
  // phase.
  virtual std::optional<Simulated> open_loop_run(const Outcome&) const { return std::nullopt; }
  // Returns the foot that touches down at the end of a phase, for rollouts.
  virtual std::optional<systems::Place<double>> landing(int phase, const Eigen::VectorXd& design) const = 0;
  virtual double control_limit() const { return nlp::infinity; }  // in addition to the limits of actuators
};

}  // namespace dodyn::evaluators
