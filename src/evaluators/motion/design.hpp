// Which motion the sections of a configuration describe, and its transcription for a design.
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

// Every parameter of the model, and of [parameters] in the configuration.
std::vector<DesignVariable> motion_variables(const Settings& so_far);
std::vector<ini::SectionKind> motion_sections();

struct MotionKeys {
  std::string model;
  int steps = 1;
  bool simulated = false;  // the first guess
  bool penalty = false;
  bool corners = true;                    // other corners than that which touches are tried
  bool node_planes = false;               // between two bodies that touch and both move
  double stiffness = 20.0, width = 1e-4;  // N/m, m
};
const KeyTable<MotionKeys>& motion_keys();

// Parts that stand in contact at the start or the goal may come this much nearer in the interval there, m: planes between
// them would have no room otherwise.
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
    Expression shortest, longest;                                  // duration, s; equal where it is given
    std::vector<std::pair<dmoc::PathFunction, bool>> constraints;  // and whether an equality
    std::vector<Expression>
        forces;  // >= 0, linear in normal(POINT), tangential(POINT), reaction(COORDINATE) of what is held
    std::vector<Expression> hold_forces;  // the same of `holds`
    std::vector<dmoc::PathFunction> costs;
    bool timed() const { return !(shortest == longest); }
  };
  struct Contact {  // at the end of a phase
    std::string name;
    int phase = 0, point = -1, part = -1, shape = 0;
    std::optional<std::array<double, 3>> side;  // of the shape, along its link's axes; none: its outward direction
    Expression restitution = 1.0;
    bool sticks = false, slides = false, stays = false;
    bool edges = false;  // of the part and the shape
    std::optional<Expression> friction;
    int node = 0;  // of the phase, for contacts by penalty: initial guesses touch near it
  };
  const std::vector<Contact>& contacts() const { return contacts_; }
  // Contacts push by an energy of overlap (dmoc/penalty.hpp) in place of an event; C, N/m; 0: they do not.
  double penalty() const { return stiffness_; }
  // How deep a contact overlaps at each row of coordinates about no reference, m.
  Eigen::VectorXd depths(const Contact& contact, const Eigen::VectorXd& design, const Eigen::MatrixXd& q) const;
  const std::vector<Phase>& phases() const { return phases_; }
  bool periodic() const { return periodic_; }
  // Initial guess `number`: coordinates from the start to the goal by way points, or about the guess, bent at random; straight
  // on the first one where bodies are placed.
  MotionPath path(const Eigen::VectorXd& design, std::uint64_t seed, int number) const;
  // Pairs of parts that are to keep clear of each other.
  std::vector<dmoc::PartPair> pairs(const Eigen::VectorXd& design) const;
  // Restitution and friction of a contact; what sticks without a limit has an infinite one.
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
  struct Ends {  // conditions of positions and rates at the start or the goal, and terms of the cost
    std::vector<std::pair<dmoc::PathFunction, bool>> conditions;  // and whether an equality
    std::vector<dmoc::PathFunction> costs;
    bool empty() const { return conditions.empty() && costs.empty(); }
  };
  struct Values {
    systems::Values<Coefficient> model;
    std::vector<std::pair<std::string, Coefficient>> motion;  // [parameters], weight
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
  void read_phase(const CustomSection& section);
  // Nodes at which contacts of a phase begin, or those that stay are let go, in their order.
  struct Cut {
    int node = 0;
    const CustomSection* contact = nullptr;
    bool release = false;
  };
  std::vector<Cut> cuts_of(const CustomSection& phase, int intervals) const;
  void read_contact(const CustomSection& section, int phase);
  dmoc::ContactEvent contact_event(const Contact& contact, const Values& values) const;
  // Lowest corner of the part, or nearest edges, of every contact at its node.
  std::vector<Touching> touching(const Values& values, const MotionPath& path) const;
  // Replaces the path of undriven bodies by that of a contact simulation, which throws them from the initial state.
  void let_go(MotionPath& path, const Eigen::VectorXd& design) const;
  std::pair<int, int> links_of(const Contact& contact) const;
  bool both_move(const Contact& contact) const;
  // Makes the contacts a part of the system, as energies of overlap.
  void penalise();
  // Moves a posture so that the contact's point, or the lowest corner, touches.
  void touch(const Contact& contact, const Values& values, Eigen::VectorXd& q) const;
  // Phases, what joins them and what is given of their ends, transcribed; and what those rows ask for.
  void lay_out(dmoc::MotionProblem& problem, const Values& all, const MotionPath& path) const;
  void name_ends(TranscribedMotion& planned) const;
  // Turns a posture until this corner is clearly the lowest, and slides it to where that touches. Returns whether it could.
  bool bring_down(const Contact& contact, int corner, const Values& values, Eigen::VectorXd& q) const;
  void add_contacts(TranscribedMotion& planned, const Values& values, const MotionPath& path) const;
  std::vector<std::pair<int, int>> part_pairs(const Clear& clear) const;  // shapes
  bool placed(const std::vector<Placement>& all, const std::vector<Given>& given, int one, int other) const;
  // The posture that the start, a way point or the goal asks for, from another one on: [n], about no reference.
  void place(const std::vector<Placement>& placements, const std::vector<Given>& given, const Values& values,
             Eigen::VectorXd& q) const;
  std::string overlap(const Values& values, const Eigen::VectorXd& design) const;
  // As all that is asked at the start, and at the goal, about no reference: [n].
  struct Postures {
    std::array<Eigen::VectorXd, 2> at;
    std::string odds;  // empty, or what of the start or the goal no posture fulfils beside the rest that is asked there
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
  // `index_of`: the coordinate or component that a quantity is the force of; -1: it is no force.
  dmoc::ForceCondition force_condition(const Expression& e, const Values& values,
                                       const std::function<int(const Expression::Quantity&)>& index_of) const;
  int held_coordinate(const Expression::Quantity& force) const;
  void add_holds(TranscribedMotion& planned, const Values& values) const;
  std::vector<dmoc::Hold> holds_of(int phase, const Values& values) const;  // one or none

  std::vector<std::string> hold_names() const;
  std::string complaint(const Eigen::VectorXd& design) const;  // empty, or which requirement a design does not meet

  Settings settings_;
  MotionKeys keys_;
  std::string text_;
  std::shared_ptr<const dmoc::System> system_;
  std::vector<systems::Wire> constraints_;                      // of the model
  std::vector<std::pair<std::string, Expression>> parameters_;  // of the configuration
  std::vector<std::string> names_;                              // theirs, and `weight`
  std::vector<Phase> phases_;
  bool periodic_ = false;
  std::optional<Relabelling> exchange_;  // at the end of a periodic motion
  std::optional<Expression> period_;     // what its phases last together, s
  std::vector<Given> shift_, start_, goal_, guess_;
  std::vector<Placement> start_places_, goal_places_;
  Ends start_ends_, goal_ends_;
  struct Waypoint {  // a point that starts go by
    double share = 0.5;
    std::vector<Placement> places;
    std::vector<Given> given;
  };
  std::vector<Waypoint> ways_;
  std::vector<Clear> clear_;
  std::vector<Contact> contacts_;
  double stiffness_ = 0.0;
  struct Whole {  // a phase that contacts cut into pieces
    int first = 0, count = 0;
    Expression shortest, longest;  // of all together, s
  };
  std::vector<Whole> wholes_;
  Expression turn_ = 1.0;  // rad
  int grow_ = 0;
  std::vector<std::pair<std::string, Expression>> requirements_;
  dmoc::Effort effort_;
  Expression loss_, time_, per_ = 1.0;
  bool has_loss_ = false, has_time_ = false;
};

}  // namespace dodyn::evaluators
