// Reads a motion from the sections of a configuration, and transcribes it for a design.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/contact_rows.hpp"
#include "dmoc/path_function.hpp"
#include "evaluators/motion/description.hpp"
#include "evaluators/motion/holds.hpp"
#include "evaluators/motion/placement.hpp"
#include "evaluators/motion/relabel.hpp"
#include "settings/key_table.hpp"
#include "settings/settings.hpp"

namespace dodyn::evaluators {

// Returns every parameter of the model and of [parameters] in the configuration.
std::vector<DesignVariable> motion_variables(const Settings& so_far);
std::vector<ini::SectionKind> motion_sections();

struct MotionKeys {
  std::string model;
  int order = 2;  // of the integrator (dmoc/scheme.hpp)
  int steps = 1;
  bool simulated = false;  // the first initial guess is simulated
  bool penalty = false;
  bool corners = true;                    // try guesses in which other corners touch
  bool node_planes = false;               // planes at nodes between two moving bodies in contact
  double stiffness = 20.0, width = 1e-4;  // stiffness (N/m) and width (m) of the penalty
};
const KeyTable<MotionKeys>& motion_keys();

// Additional overlap that is allowed in the first or last interval to parts that are in contact at the start or the
// goal, m. Without it there is no room for a plane between them.
inline constexpr double contact_slack = 1e-7;

class MotionDesigns final : public MotionDescription {
 public:
  // Throws ConfigError.
  explicit MotionDesigns(const Settings& settings);

  struct Phase {
    std::string name;
    std::vector<int> held;
    std::optional<HeldPlaces> holds;
    int intervals = 20;
    Expression shortest, longest;                                  // range of the duration, s; equal if it is given
    std::vector<std::pair<dmoc::PathFunction, bool>> constraints;  // function, and whether it is an equality
    std::vector<Expression>
        forces;  // linear expressions >= 0 of normal(POINT), tangential(POINT), reaction(COORDINATE)
    std::vector<Expression> hold_forces;  // the same of `holds`
    std::vector<dmoc::PathFunction> costs;
    bool timed() const { return !(shortest == longest); }
  };
  struct Contact {  // a contact at the end of a phase
    std::string name;
    int phase = 0, point = -1, part = -1, shape = 0;
    std::optional<std::array<double, 3>> side;  // side of the shape as a direction in link axes; nullopt: its outward
                                                // normal
    Expression restitution = 1.0;
    bool sticks = false, slides = false, stays = false;
    bool edges = false;  // an edge of the part touches an edge of the shape
    std::optional<Expression> friction;
    int node = 0;  // node of the phase at which initial guesses touch, for penalty contacts
  };
  const std::vector<Contact>& contacts() const { return contacts_; }
  // Stiffness of contacts by penalty (dmoc/penalty.hpp) instead of events, N/m; 0: contacts are events.
  double penalty() const { return stiffness_; }
  // Returns the overlap of a contact at each row of coordinates without references, m.
  Eigen::VectorXd depths(const Contact& contact, const Eigen::VectorXd& design, const Eigen::MatrixXd& q) const;
  const std::vector<Phase>& phases() const { return phases_; }
  bool periodic() const { return periodic_; }
  // Returns initial guess `number`: coordinates from the start to the goal through waypoints, or along the given guess,
  // with random deviations. The first guess is straight if bodies are placed.
  MotionPath path(const Eigen::VectorXd& design, std::uint64_t seed, int number) const;
  // Returns the pairs of parts that must not overlap.
  std::vector<dmoc::PartPair> pairs(const Eigen::VectorXd& design) const;
  // Returns restitution and friction of a contact; infinite friction: it sticks without limit.
  std::pair<double, double> bounce(const Contact& contact, const Eigen::VectorXd& design) const;
  bool keeps_clear() const { return !clear_.empty(); }
  std::string pair_name(std::size_t pair) const;

  std::string section() const override { return "motion"; }
  const std::string& text() const override { return text_; }
  std::string model_name() const override { return settings_.text("motion.model"); }
  const dmoc::System& system() const override { return *system_; }
  std::vector<PhaseOutline> outline() const override;
  std::shared_ptr<const MotionDescription> on_mesh(int intervals) const override;
  systems::Values<double> plain(const Eigen::VectorXd& design) const override;
  Eigen::VectorXd middle() const { return MotionDescription::middle(settings_); }
  std::vector<bool> has_cost() const override;
  Refusal refusal(const Eigen::VectorXd& design) const override;
  TranscribedMotion plan(const Eigen::VectorXd& design, const MotionPath& path, double size = 1.0) const override;
  MotionPath initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const override;
  void refer(MotionPath& path, const Eigen::VectorXd& design) const override;
  std::vector<MotionPath> with_other_corners(const MotionPath& path, const Eigen::VectorXd& design) const override;
  int grow() const override { return grow_; }
  std::vector<Measure> measures(const Seen* seen) const override;
  Examined examined(const Eigen::VectorXd& design, const Trajectory& trajectory, const MetricOf& metric) const override;
  ContinuousPlan continuous_plan() const override;
  std::string report(const MetricOf& metric) const override;
  Channels more_channels() const override;
  std::vector<Eigen::MatrixXd> more_values(const Seen& seen) const override;
  std::optional<Simulated> drive_forward(const Outcome& archived) const override;
  std::optional<systems::Place<double>> landing(int phase, const Eigen::VectorXd& design) const override;

 private:
  using Coefficient = dmoc::Coefficient;
  struct Given {  // a coordinate or a rate
    int coordinate = 0;
    bool rate = false;
    Expression value;
    std::string source;
  };
  struct Ends {  // Conditions on positions and rates at the start or the goal, and terms of the cost.
    std::vector<std::pair<dmoc::PathFunction, bool>> conditions;  // function, and whether it is an equality
    std::vector<dmoc::PathFunction> costs;
    bool empty() const { return conditions.empty() && costs.empty(); }
  };
  struct Values {
    systems::Values<Coefficient> model;
    std::vector<std::pair<std::string, Coefficient>> motion;  // entries of [parameters], and weight
  };
  struct Clear {
    int one = 0, other = 0;  // links
    Expression margin;
  };
  void read_parameters();
  void read_phases();
  void read_ends();
  void read_placements(const std::string& kind, std::vector<Placement>& placements, std::vector<Given>& given,
                       Ends& ends);
  void read_ways();
  void read_clear();
  // Refuses what the integrator of this order does not have.
  void check_order() const;
  void read_phase(const CustomSection& section);
  // A node at which a phase is split because a contact begins there or, with `release`, ends. Sorted by node.
  struct Cut {
    int node = 0;
    const CustomSection* contact = nullptr;
    bool release = false;
  };
  std::vector<Cut> cuts_of(const CustomSection& phase, int intervals) const;
  void read_contact(const CustomSection& section, int phase);
  dmoc::ContactEvent contact_event(const Contact& contact, const Values& values) const;
  // Returns for every contact the lowest corner of the part at its node, or the nearest edges.
  std::vector<Touching> touching(const Values& values, const MotionPath& path) const;
  // Replaces the path of bodies without controls by that of a contact simulation from the initial state.
  void let_go(MotionPath& path, const Eigen::VectorXd& design) const;
  std::pair<int, int> links_of(const Contact& contact) const;
  bool both_move(const Contact& contact) const;
  // Adds the contacts to the system as penalty energies.
  void penalise();
  // Changes a posture so that the contact's point, or the lowest corner, touches.
  void touch(const Contact& contact, const Values& values, Eigen::VectorXd& q) const;
  // Transcribes the phases, the events between them and the conditions at the ends, and adds the functions of these
  // rows.
  void lay_out(dmoc::MotionProblem& problem, const Values& all, const MotionPath& path) const;
  void name_ends(TranscribedMotion& planned) const;
  // Rotates a posture until this corner is clearly the lowest, and moves the corner into contact. Returns whether it
  // succeeded.
  bool bring_down(const Contact& contact, int corner, const Values& values, Eigen::VectorXd& q) const;
  void add_contacts(TranscribedMotion& planned, const Values& values, const MotionPath& path) const;
  std::vector<std::pair<int, int>> part_pairs(const Clear& clear) const;  // pairs of shapes
  bool placed(const std::vector<Placement>& all, const std::vector<Given>& given, int one, int other) const;
  // Moves a posture to that of the start, a waypoint or the goal: [n], without references.
  void place(const std::vector<Placement>& placements, const std::vector<Given>& given, const Values& values,
             Eigen::VectorXd& q) const;
  std::string overlap(const Values& values, const Eigen::VectorXd& design) const;
  // Postures that satisfy the conditions at the start and at the goal, without references: [n].
  struct Postures {
    std::array<Eigen::VectorXd, 2> at;
    std::string odds;  // the condition of the start or the goal that is inconsistent with the others; empty: none
  };
  Postures postures(const Values& values) const;
  void read_cost();
  void read_requirements();
  std::vector<Given> read_given(const std::string& kind, bool rates) const;
  Given read_one(const CustomEntry& entry, bool rates) const;
  Expression expression(const CustomEntry& entry, const std::string& text) const;
  int coordinate(const CustomEntry& entry, const std::string& name) const;
  std::vector<int> held_by(const CustomEntry& entry) const;
  dmoc::PhaseClock clock_of(const Phase& phase, std::size_t earlier) const;
  void read_requirement(Phase& phase, const CustomEntry& entry, const std::string& text);
  Coefficient variable(const std::string& name, const Eigen::VectorXd& design) const;
  Values values(const Eigen::VectorXd& design) const;
  Coefficient named(const Values& values, const std::string& name) const;
  Coefficient evaluated(const Expression& e, const Values& values) const;
  // `index_of`: the coordinate or component that a quantity is the force of; -1: it is not a force.
  dmoc::ForceCondition force_condition(const Expression& e, const Values& values,
                                       const std::function<int(const Expression::Quantity&)>& index_of) const;
  int held_coordinate(const Expression::Quantity& force) const;
  void add_holds(TranscribedMotion& planned, const Values& values) const;
  std::vector<dmoc::Hold> holds_of(int phase, const Values& values) const;  // one or none

  std::vector<std::string> hold_names() const;                 // of all phases, each once
  std::string complaint(const Eigen::VectorXd& design) const;  // the requirement that a design violates; empty: none

  Settings settings_;
  MotionKeys keys_;
  std::string text_;
  std::shared_ptr<const dmoc::System> system_;
  std::vector<systems::Wire> constraints_;                      // of the model
  std::vector<std::pair<std::string, Expression>> parameters_;  // entries of [parameters]
  std::vector<std::string> names_;                              // names of these entries, and `weight`
  std::vector<Phase> phases_;
  bool periodic_ = false;
  std::optional<Relabelling> exchange_;  // at the end of a periodic motion
  std::optional<Expression> period_;     // total duration of its phases, s
  std::vector<Given> shift_, start_, goal_, guess_;
  std::vector<Placement> start_places_, goal_places_;
  Ends start_ends_, goal_ends_;
  struct Waypoint {  // a point through which initial guesses pass
    double share = 0.5;
    std::vector<Placement> places;
    std::vector<Given> given;
  };
  std::vector<Waypoint> ways_;
  std::vector<Clear> clear_;
  std::vector<Contact> contacts_;
  double stiffness_ = 0.0;
  struct Whole {  // a phase of the configuration, before contacts split it
    int first = 0, count = 0;
    Expression shortest, longest;  // range of the total duration, s
  };
  std::vector<Whole> wholes_;
  Expression turn_ = 1.0;  // largest rotation of a body in an interval, rad
  int grow_ = 0;
  std::vector<std::pair<std::string, Expression>> requirements_;
  dmoc::Effort effort_;
  Expression loss_, time_, per_ = 1.0;
  bool has_loss_ = false, has_time_ = false;
};

}  // namespace dodyn::evaluators
