#include <algorithm>
#include <cmath>
#include <optional>

#include "evaluators/kinds.hpp"
#include "evaluators/simulation/disturbance.hpp"
#include "record/text.hpp"
#include "rigid/controller.hpp"
#include "rigid/simulation.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {
namespace air {
namespace {

using rigid::Twist;
using rigid::Vector;

struct AirTable {
  double width = 0.8, depth = 0.5, margin = 0.1, spacing = 0.1;  // m
  double rate = 20.0;                                            // rate of the commands, 1/s
  simulation::Disturbance field{.force = 5e-3, .arm = 0.02, .wave_length = 0.2};
};

constexpr double mass = 1.2, inertia = 0.002;  // mass and inertia of the craft, kg and kg m2
// Time before commands are recorded, and time in which the mean of the commands and the drift are measured, s.
constexpr double settling_time = 35.0, averaging_time = 5.0;
constexpr double step = 0.01;  // time step of the simulation, s
const rigid::ControlLaw control_law{
    .position_gain = 1.2, .velocity_gain = 2.4, .attitude_gain = 0.01, .spin_gain = 0.008};

const KeyTable<AirTable>& air_table_keys() {
  using A = AirTable;
  using D = simulation::Disturbance;
  const auto field = members_of(&A::field);
  static const auto table =
      KeyTable<A>("air-table.")
          .add("width", &A::width, number(above(0, 1e6), "m", "width of the table, along x"))
          .add("depth", &A::depth, number(above(0, 1e6), "m", "depth of the table, along y"))
          .add("margin", &A::margin,
               number(from(0, 1e3), "m", "distance of the measured positions from the edges of the table"))
          .add("spacing", &A::spacing,
               number(above(0, 1e6), "m", "largest distance of neighbouring measured positions"))
          .add("sample-rate", &A::rate, number(above(0, 1e6), "1/s", "rate of the commands to the craft"))
          .add("force", field(&D::force),
               number(above(0, 1e6), "N", "root mean square of each force component of the field"))
          .add("arm", field(&D::arm),
               number(from(0, 1e3), "m",
                      "lever arm of the field; root mean square of its torque over that of its force"))
          .add("length", field(&D::wave_length), number(above(0, 1e6), "m", "shortest wavelength of the field"))
          .add("time", field(&D::time),
               or_word("steady", 0.0,
                       number(above(0, 1e9), "s", "correlation time of the field; steady: the field does not change")));
  return table;
}

// A craft on the table. Its clock continues from one state to the next.
class Craft {
 public:
  explicit Craft(const AirTable& table) : table_(table) {
    rigid::World<2> world;
    rigid::Body<2> body;
    body.name = "craft";
    body.mass = mass;
    body.euler_tensor = 0.5 * inertia * rigid::Matrix<2>::Identity();
    world.bodies = {body};
    world.forces.push_back(
        [this, field = simulation::DisturbanceField<2>(table.field, static_cast<std::uint64_t>(table.field.seed))](
            double t, rigid::Frames<2> at, std::span<const Twist<2>>, std::span<Twist<2>> wrench) {
          wrench[0] += field(at[0].position, t) + held_;
        });
    rigid::Options options;
    options.step = step;
    options.response = rigid::Response::none;
    simulation_.emplace(std::move(world), options);
    body_ = {mass, inertia * rigid::Matrix<3>::Identity()};
  }
  Craft(const Craft&) = delete;
  Craft& operator=(const Craft&) = delete;

  // Places the craft at rest, without advancing the clock.
  void place(const Vector<2>& at) {
    rigid::Pose<2> pose;
    pose.position = at;
    simulation_->start(std::vector{pose}, std::vector{Twist<2>(Twist<2>::Zero())}, clock_);
    goal_.position.head<2>() = at;
  }

  // Controls the craft for this time. Returns the mean of the commands during this time, N and N m.
  Twist<2> hold(double seconds) {
    Twist<2> sum = Twist<2>::Zero();
    const int samples = static_cast<int>(std::lround(seconds * table_.rate));
    for (int k = 0; k < samples; ++k) {
      const auto state = rigid::in_space(simulation_->poses()[0].frame(), simulation_->twists()[0]);
      const auto give = rigid::command(control_law, body_, state, goal_);
      held_ << give.force[0], give.force[1], give.torque[2];
      sum += held_;
      go(1.0 / table_.rate);
    }
    return sum / std::max(1, samples);
  }

  // Applies a constant force to the craft for this time. Returns its drift, m.
  double drift(const Twist<2>& push, double seconds) {
    const Vector<2> from = simulation_->poses()[0].position;
    held_ = push;
    go(seconds);
    return (simulation_->poses()[0].position - from).norm();
  }

  double clock() const { return clock_; }
  Vector<2> position() const { return simulation_->poses()[0].position; }

 private:
  void go(double seconds) {
    clock_ += seconds;
    simulation_->run(clock_);
  }

  const AirTable& table_;
  std::optional<rigid::Simulation<2>> simulation_;
  rigid::MassProperties body_;
  rigid::Desired goal_;
  Twist<2> held_ = Twist<2>::Zero();
  double clock_ = 0.0;
};

class AirTableEvaluator final : public Evaluator {
 public:
  explicit AirTableEvaluator(const Settings& settings) : own_(air_table_keys().read(settings)) {
    if (step * own_.rate > 1.0 + 1e-9)
      throw settings.error("air-table.sample-rate",
                           formatted("is faster than one sample per step; allowed: at most %g 1/s", 1.0 / step));
    x_ = axis(own_.width);
    y_ = axis(own_.depth);
    if (x_.empty() || y_.empty())
      throw settings.error("air-table.margin",
                           "leaves no room on the table; allowed: at most half its width and half its depth");
  }

  std::vector<Quantity> metrics() const override {
    return {{"drift", "m", "mean drift without commands"},
            {"drift_cancelled", "m", "mean drift with the recorded commands"},
            {"field_error", "1",
             "root mean square of the error of the measured forces, relative to that of the true forces"},
            {"field_rms", "N", "root mean square of a component of the true forces"}};
  }

  Channels channels() const override {
    const int n = x_.size() * y_.size();
    Channel field{"field",
                  "",
                  "mean of the commands that kept the craft at the position x, y",
                  n,
                  {"x", "y", "f_x", "f_y", "torque"}};
    field.units = {"m", "m", "N", "N", "N m"};
    return {field,
            {"drift", "m", "drift of the craft without commands, and with the recorded ones", n, {"off", "cancelled"}}};
  }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    Evaluation& e = outcome.evaluation;
    const int n = x_.size() * y_.size();
    Eigen::MatrixXd field(n, 5), drift(n, 2);
    const simulation::DisturbanceField<2> truth(own_.field, static_cast<std::uint64_t>(own_.field.seed));
    Craft craft(own_);
    double wrong = 0.0, size = 0.0;
    const auto lost = [&](const Vector<2>& state) {
      const double away = (craft.position() - state).norm();
      if (away <= own_.spacing) return false;
      e.status = Status::infeasible;
      e.reason = formatted(
          "the commands do not hold the craft: after %g s it is %.3g m from its state, which is more than "
          "air-table.spacing; choose a higher air-table.sample-rate or a weaker field",
          settling_time, away);
      return true;
    };
    const auto late = [&] {
      if (task.seconds_left() > 0.0) return false;
      e.status = Status::timed_out;
      e.reason = "time limit";
      return true;
    };
    std::vector<Twist<2>> measured;  // mean commands at each state
    for (int i = 0; i < n; ++i) {    // Algorithm 4
      if (late()) return outcome;
      const Vector<2> at = state(i);
      craft.place(at);
      craft.hold(settling_time);
      if (lost(at)) return outcome;
      const double middle = craft.clock() + 0.5 * averaging_time;
      const Twist<2> f = craft.hold(averaging_time);
      measured.push_back(f);
      field.row(i) << at.transpose(), f.transpose();
      const Twist<2> there = truth(craft.position(), middle);
      wrong += (f + there).head<2>().squaredNorm();
      size += there.head<2>().squaredNorm();
    }
    for (int i = 0; i < n; ++i) {  // Algorithm 5
      if (late()) return outcome;
      const Vector<2> at = state(i);
      for (const bool cancelled : {false, true}) {
        craft.place(at);
        craft.hold(settling_time);
        drift(i, cancelled) = craft.drift(cancelled ? measured[i] : Twist<2>(Twist<2>::Zero()), averaging_time);
      }
    }
    e.status = Status::ok;
    e.metrics.resize(4);
    e.metrics << drift.col(0).mean(), drift.col(1).mean(), std::sqrt(wrong / size), std::sqrt(0.5 * size / n);
    e.cost = e.metrics[1] / e.metrics[0];
    outcome.trajectory.values = {std::move(field), std::move(drift)};
    return outcome;
  }

  std::optional<Simulated> simulate(const Task& task) const override {
    Outcome outcome = evaluate(task);
    Simulated shown;
    shown.completed = outcome.evaluation.ok();
    shown.report = shown.completed ? report(outcome) : outcome.evaluation.reason + "\n";
    if (!shown.completed) return shown;
    shown.channels = channels();
    shown.trajectory = std::move(outcome.trajectory);
    return shown;
  }

  std::string report(const Outcome& outcome) const override {
    const auto& m = outcome.evaluation.metrics;
    if (m.size() != 4) return {};
    return formatted("states          %zu x %zu, %g s to settle, %g s of means\n", x_.size(), y_.size(), settling_time,
                     averaging_time) +
           formatted("field           %.4g N, %s; measured to %.3g of it\n", m[3],
                     own_.field.time > 0.0 ? formatted("correlated over %g s", own_.field.time).c_str() : "steady",
                     m[2]) +
           formatted("drift           %.4g m with the fans off, %.4g m with the recorded commands: %.3g of it\n", m[0],
                     m[1], m[1] / m[0]);
  }

 private:
  // Returns positions along an axis, centred, at most `spacing` apart.
  std::vector<double> axis(double size) const {
    const double room = size - 2.0 * own_.margin;
    if (room < 0.0) return {};
    const int steps = static_cast<int>(std::ceil(room / own_.spacing - 1e-9));
    std::vector<double> places;
    for (int i = 0; i <= steps; ++i) places.push_back(steps == 0 ? 0.0 : room * (static_cast<double>(i) / steps - 0.5));
    return places;
  }
  Vector<2> state(int i) const {
    return {x_[static_cast<std::size_t>(i) / y_.size()], y_[static_cast<std::size_t>(i) % y_.size()]};
  }

  AirTable own_;
  std::vector<double> x_, y_;
};

}  // namespace
}  // namespace air

EvaluatorKind air_table_kind() {
  EvaluatorKind kind;
  kind.name = "air-table";
  kind.description = "measures the force field of an uneven air table and cancels it; cost: drift left over";
  kind.variables = always({});
  kind.keys = air::air_table_keys().keys();
  kind.make = make<air::AirTableEvaluator>;
  return kind;
}

}  // namespace dodyn::evaluators
