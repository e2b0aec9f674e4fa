// Which motion a configuration describes. There are two kinds: motions written down in phases (design.hpp), and gaits, which
// [gait] expands into a phase and its touch-down (evaluators/gait/design.hpp). One search (search.hpp) and one evaluator
// (motion.cpp) serve both.
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

// What touches, of a contact's part: a corner, or an edge and the one that it meets; neither where a point does.
struct Touching {
  int corner = -1;
  std::optional<dmoc::EdgePair> edges = {};
  bool operator==(const Touching&) const = default;
};

// Where a motion goes, phase by phase: coordinates at its nodes, [K + 1, n], about references (in space) or none.
struct MotionPath {
  std::vector<Eigen::MatrixXd> q;
  std::vector<std::vector<dmoc::Reference>> references;
  std::vector<double> duration;           // of the phases, s
  std::vector<Touching> touching;         // of every contact
  bool simulated = false;                 // it moves as nothing drives it
  std::vector<Eigen::MatrixXd> controls;  // of the phases, [K, actuators]; or empty: none
};

// A transcription with the planes that keep bodies clear of each other.
struct TranscribedMotion {
  dmoc::MotionProblem problem;
  dmoc::SeparatingPlanes separation;
  std::vector<std::function<void(Eigen::VectorXd&)>> begin = {};  // of contacts, what gives a start their unknowns
  dmoc::AskedRows asked = {};
  std::vector<dmoc::HoldIndex> holds = {};
};
// Returns the worst violations at x as text: the parts that overlap most, and the condition that is missed most, with time.
std::string missed(const TranscribedMotion& planned, const Eigen::VectorXd& x);

// A point that a solver led to, with the problem that it solves.
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

// A number of a motion, for a column of the archive.
struct Measure {
  Quantity quantity;
  double value = not_a_number;
};
// The value of a column.
using MetricOf = std::function<double(const std::string& name)>;

// The phases that drive_continuously() can drive: for each, whether the integration restarts (PlannedPhase::restarts).
// `note` names the restarts and the phases that are not driven.
struct ContinuousPlan {
  std::vector<bool> restarts;
  std::string note;
};

class MotionDescription {
 public:
  virtual ~MotionDescription() = default;

  virtual std::string section() const = 0;      // of its keys: "gait" or "motion"
  virtual const std::string& text() const = 0;  // of the model
  virtual std::string model_name() const = 0;   // as the settings have it
  virtual const dmoc::System& system() const = 0;
  virtual std::vector<PhaseOutline> outline() const = 0;
  int intervals() const;  // of all phases together
  int nodes() const;
  // Returns the description on a mesh of `intervals` in all; null if a phase or a contact finds no node there.
  virtual std::shared_ptr<const MotionDescription> on_mesh(int intervals) const = 0;
  // Plain numbers of a design. Throws ConfigError where the model refuses it.
  virtual systems::Values<double> plain(const Eigen::VectorXd& design) const = 0;
  static Eigen::VectorXd middle(const Settings& settings);  // of the ranges of the design variables
  // Of every actuator: whether the cost depends on it.
  virtual std::vector<bool> has_cost() const = 0;

  // Empty, or why a design is none: `required` where a requirement of the configuration says so.
  struct Refusal {
    std::string reason;
    bool required = false;
  };
  virtual Refusal refusal(const Eigen::VectorXd& design) const = 0;
  // About the references of a path. `size`: of the bodies that keep clear of each other, which may be grown.
  virtual TranscribedMotion plan(const Eigen::VectorXd& design, const MotionPath& path, double size = 1.0) const = 0;

  // Where cold start number `number` of an evaluation with this seed goes, referred.
  virtual MotionPath initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const = 0;
  // Coordinates about none, and controls, of a point that was found.
  MotionPath path_about_none(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x) const;
  // The same, referred and without controls.
  MotionPath path_of(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& design) const;
  // Sets the references of a path that has none, and its touching corners and edges.
  virtual void refer(MotionPath& path, const Eigen::VectorXd& design) const;
  // Unknowns along a path, with its controls or none.
  Eigen::VectorXd start(const TranscribedMotion& planned, const MotionPath& path) const;
  // Guesses near a motion, about no reference, in which another corner touches: one for each contact and corner.
  virtual std::vector<MotionPath> with_other_corners(const MotionPath&, const Eigen::VectorXd&) const { return {}; }
  // Steps in which bodies are grown from small ones.
  virtual int grow() const { return 0; }
  // nlp::Options::push of cold starts, and nlp::Options::barrier of motions brought to another mesh or bent in time; 0: usual.
  virtual double push_of_cold_start() const { return 0.0; }
  virtual double barrier_of_refined() const { return 0.0; }

  // Columns of its own: of a motion found on this mesh, or without numbers where there is none.
  struct Seen {
    const Eigen::VectorXd& design;
    const SolvedMotion& solved;
    const dmoc::Motion& motion;
    const Trajectory& trajectory;
    dmoc::Clearance clearance = {};  // of the pairs that keep clear
  };
  virtual std::vector<Measure> measures(const Seen* seen) const = 0;
  // Examines the motion on the mesh that `trajectory` has.
  virtual Examined examined(const Eigen::VectorXd& design, const Trajectory& trajectory,
                            const MetricOf& metric) const = 0;
  virtual ContinuousPlan continuous_plan() const = 0;
  virtual std::string report(const MetricOf& metric) const = 0;  // lines on its own measures

  // Channels of its own behind those of every motion (trajectory.hpp), and their values.
  virtual Channels more_channels() const = 0;
  virtual std::vector<Eigen::MatrixXd> more_values(const Seen& seen) const = 0;
  virtual std::string root_name() const { return "root"; }  // of the first point
  // Forces on what is held: the channel's name, and the coordinates that it has by these names.
  struct Forces {
    std::string name = "held_force", unit = "", description = "force (N, N m) on what is held; zero where it moves";
    std::vector<int> coordinates;
    std::vector<std::string> names;
  };
  virtual Forces forces() const;

  // The controls of an archived motion driven by bodies that fly; nothing where a foot stands in some phase.
  virtual std::optional<Simulated> drive_forward(const Outcome&) const { return std::nullopt; }
  // The foot that comes down at the end of a phase, for rollouts.
  virtual std::optional<systems::Place<double>> landing(int phase, const Eigen::VectorXd& design) const = 0;
  virtual double control_limit() const { return nlp::infinity; }  // besides those of actuators
};

}  // namespace dodyn::evaluators
