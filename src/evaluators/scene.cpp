#include "evaluators/scene.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <numeric>
#include <stdexcept>
#include <variant>

#include "evaluators/scenes.hpp"
#include "evaluators/shapes.hpp"
#include "record/text.hpp"
#include "rigid/simulation.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {
namespace {

using evaluators::Scene;
using rigid::Energies;
using rigid::Momenta;
using rigid::Options;
using rigid::Simulation;

const std::vector<std::string> scenes = {"falling-polyhedra", "hexagonal-prisms", "stack"};
enum Metric {
  energy_change,
  kinetic,
  largest_overlap,
  largest_spin,
  impulses,
  cuts,
  velocity_residual,
  touching,
  cluster,
  radius_of_gyration,
  assembled_at,
  metric_count
};

// Which bodies hang together: those that contact has pushed apart within the last second, directly or through others.
class Assembly {
 public:
  explicit Assembly(const rigid::World<3>& world) {
    for (const auto& body : world.bodies) moves_.push_back(!body.fixed);
  }
  void see(const Simulation<3>& simulation) {
    for (const auto& contact : simulation.impulses()) {
      const auto [a, b] = std::minmax(contact.body[0], contact.body[1]);
      if (moves_[a] && moves_[b]) last_[{a, b}] = simulation.time();
    }
    std::erase_if(last_, [&](const auto& pair) { return pair.second < simulation.time() - 1.0; });
    if (assembled_at_ < 0.0 && static_cast<std::ptrdiff_t>(last_.size()) + 1 >= count() && largest() == count())
      assembled_at_ = simulation.time();
  }
  std::ptrdiff_t pairs() const { return static_cast<std::ptrdiff_t>(last_.size()); }
  std::ptrdiff_t count() const { return std::count(moves_.begin(), moves_.end(), 1); }
  // bodies of the largest group
  std::ptrdiff_t largest() const {
    std::vector<int> parent(moves_.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    for (const auto& [pair, time] : last_) parent[root(pair.first)] = root(pair.second);
    std::vector<std::ptrdiff_t> size(moves_.size(), 0);
    for (std::size_t i = 0; i < moves_.size(); ++i)
      if (moves_[i]) ++size[root(static_cast<int>(i))];
    return *std::max_element(size.begin(), size.end());
  }
  double assembled_at() const { return assembled_at_; }  // s
  bool assembled() const { return assembled_at_ >= 0.0; }
  // of the centres of mass, m
  double radius(const Simulation<3>& simulation) const {
    rigid::Vector<3> middle = rigid::Vector<3>::Zero();
    for (std::size_t b = 0; b < moves_.size(); ++b)
      if (moves_[b]) middle += simulation.poses()[b].position / static_cast<double>(count());
    double sum = 0.0;
    for (std::size_t b = 0; b < moves_.size(); ++b)
      if (moves_[b]) sum += (simulation.poses()[b].position - middle).squaredNorm();
    return std::sqrt(sum / static_cast<double>(count()));
  }

 private:
  std::vector<char> moves_;
  std::map<std::pair<int, int>, double> last_;
  double assembled_at_ = -1.0;
};

// A scene's own defaults, where they are not those of every simulation.
Options scene_defaults() {
  Options options;
  options.response = rigid::Response::decomposition;
  options.stiffness = 1e6;
  options.step = 0.005;
  options.tolerance = 1e-9;
  return options;
}

const KeyTable<Options>& option_keys() {
  static const auto table =
      KeyTable<Options>("scene.", scene_defaults())
          .add("response", &Options::response,
               {{"none", rigid::Response::none},
                {"penalty", rigid::Response::penalty},
                {"exact", rigid::Response::exact},
                {"decomposition", rigid::Response::decomposition}},
               {.description = "what mends an overlap"})
          .add("stepper", &Options::stepper,
               {{"variational", rigid::Stepper::variational},
                {"newmark-explicit", rigid::Stepper::newmark_explicit},
                {"newmark-implicit", rigid::Stepper::newmark_implicit}},
               {.description = "what moves bodies between contacts"})
          .add("friction-law", &Options::friction,
               {{"cone", rigid::Friction::cone}, {"squared-ratio", rigid::Friction::squared_ratio}},
               {.description = "Coulomb's cone, or the ratio of squares as printed"})
          .add("restitution-law", &Options::restitution,
               {{"newton", rigid::Restitution::newton}, {"poisson", rigid::Restitution::poisson}},
               {.description = "of velocities, or of impulses"})
          .add("group", &Options::group, {{"each", rigid::Group::each}, {"sum", rigid::Group::sum}},
               {.description = "impulses per contact point, or along the sum of gradients as printed"})
          .add("stiffness", &Options::stiffness,
               {.unit = "N/m",
                .description = "C of the penalty response",
                .minimum = 0,
                .maximum = 1e15,
                .open_minimum = true})
          .add("step", &Options::step,
               {.unit = "s", .description = "h", .minimum = 0, .maximum = 10, .open_minimum = true})
          .add(
              "tolerance", &Options::tolerance,
              {.unit = "m", .description = "overlap left at a node", .minimum = 0, .maximum = 1, .open_minimum = true});
  return table;
}

// What a run left behind.
struct Run {
  rigid::Outcome end;  // bodies, time and reason
  Eigen::VectorXd metrics;
  double path = 0.0;
  Trajectory trajectory;  // rows not reached are not a number
  int rows = 0;
  std::string report;
  bool timed_out = false;
};

class SceneEvaluator final : public Evaluator {
 public:
  explicit SceneEvaluator(const Settings& settings) : settings_(settings), nodes_(settings.integer("scene.nodes")) {
    option_keys().read(settings, options_);
    if (settings.real("scene.duration") < options_.step) throw settings.error("scene.duration", "is less than a step");
    // what cannot start is told before a study does
    Eigen::VectorXd lowest(settings.variables.size());
    for (std::size_t i = 0; i < settings.variables.size(); ++i)
      lowest[static_cast<Eigen::Index>(i)] = settings.variables[i].lower;
    const auto describe = [&](const auto& scene) {
      bodies_.clear();
      for (const auto& body : scene.world.bodies) bodies_.push_back(body.name);
      corners_ = static_cast<int>(shapes(scene.world).rows());
      started(scene);
    };
    try {
      describe(make(lowest));
    } catch (const std::invalid_argument& error) {
      throw settings.error("scene.name", error.what());
    }
  }

  std::vector<Quantity> metrics() const override {
    return {
        {"energy_change", "J", "of the total energy, less what impacts and the ledger of projections account for"},
        {"kinetic", "J", "kinetic energy at the end"},
        {"largest_overlap", "m", "of any two bodies at a node; negative: they never touched"},
        {"largest_spin", "rad/s", "of any body at a node"},
        {"impulses", "1", "node updates with contact"},
        {"cuts", "1", "refined steps"},
        {"velocity_residual", "m/s", "largest error of a contact's velocity that a solution for impulses left"},
        {"touching", "1", "pairs of bodies that contact has pushed apart within the last second"},
        {"cluster", "1", "bodies of the largest group that such pairs connect, at the end"},
        {"radius_of_gyration", "m", "of the centres of mass at the end"},
        {"assembled_at", "s", "when all bodies first were one such group; the time simulated where they never were"}};
  }

  Channels channels() const override { return channels(nodes_); }

  Outcome evaluate(const Task& task) const override {
    Run run = simulated(task);
    Outcome outcome{task.evaluation, std::move(run.trajectory)};
    Evaluation& evaluation = outcome.evaluation;
    evaluation.metrics = run.metrics;
    const std::string cost = settings_.text("scene.cost");
    evaluation.cost = cost == "path"              ? run.path
                      : cost == "kinetic"         ? run.metrics[kinetic]
                      : cost == "largest-overlap" ? run.metrics[largest_overlap]
                      : cost == "assembly-time"   ? run.metrics[assembled_at]
                                                  : std::abs(run.metrics[energy_change]);
    evaluation.status = Status::ok;
    if (run.end.status == rigid::Outcome::failed) {
      evaluation.status = Status::failed;
      evaluation.reason = run.end.reason;
    } else if (run.timed_out) {
      evaluation.status = Status::timed_out;
      evaluation.reason = formatted("time limit at t = %g s", run.end.time);
    }
    if (!evaluation.ok()) evaluation.cost = not_a_number;
    return outcome;
  }

  std::optional<Simulated> simulate(const Task& task) const override {
    Run run = simulated(task);
    Simulated shown;
    shown.completed = run.end.status != rigid::Outcome::failed && !run.timed_out;
    shown.report = std::move(run.report);
    shown.channels = channels(run.rows);
    shown.trajectory = std::move(run.trajectory);
    for (auto& values : shown.trajectory.values)
      if (&values != &shown.trajectory.values.back()) values.conservativeResize(run.rows, Eigen::NoChange);
    return shown;
  }

  std::string report(const Outcome& outcome) const override {
    const auto& m = outcome.evaluation.metrics;
    if (m.size() != metric_count) return {};
    return formatted("energy change   %.4g J\nlargest overlap %.4g m\nimpulses        %.0f, cuts %.0f\n",
                     m[energy_change], m[largest_overlap], m[impulses], m[cuts]);
  }

 private:
  Channels channels(int nodes) const {
    Channel q{"q", "", "centres, unit quaternions", nodes, {}};
    Channel v{"v", "", "velocities, angular velocities", nodes, {}};
    const auto add = [](Channel& channel, const std::string& body, const char* coordinate, const char* unit) {
      channel.coordinates.push_back(body + " " + coordinate);
      channel.units.emplace_back(unit);
    };
    for (const auto& body : bodies_) {
      for (const char* c : {"x", "y", "z"}) {
        add(q, body, c, "m");
        add(v, body, c, "m/s");
      }
      for (const char* c : {"q0", "qx", "qy", "qz"}) add(q, body, c, "1");
      for (const char* c : {"wx", "wy", "wz"}) add(v, body, c, "rad/s");
    }
    return {{"t", "s", "time", nodes, {"t"}},
            q,
            v,
            {"energy",
             "J",
             "energies, and their change by projections and impacts so far",
             nodes,
             {"kinetic", "potential", "projection", "impact"}},
            shapes_channel(3, corners_)};
  }

  Scene<3> make(const Eigen::VectorXd& free) const {
    const auto real = [&](const char* key) { return settings_.real(key); };
    const rigid::Surface surface{settings_.design("restitution", free), settings_.design("friction", free)};
    const double speed = settings_.design("speed", free);
    const int bodies = settings_.integer("scene.bodies");
    const auto seed = static_cast<std::uint64_t>(settings_.integer("scene.seed"));
    const std::string name = settings_.text("scene.name");

    if (name == "falling-polyhedra") {
      evaluators::FallingPolyhedra f;
      f.speed = speed;
      f.seed = seed;
      f.surface = surface;
      if (bodies > 0) f.bodies = bodies;
      if (real("scene.height") > 0.0) f.height = real("scene.height");
      return evaluators::falling_polyhedra(f);
    }
    if (name == "hexagonal-prisms") {
      evaluators::HexagonalPrisms h;
      h.speed = speed;
      h.seed = seed;
      h.surface = surface;
      if (bodies > 0) h.prisms = bodies;
      if (real("scene.gap") > 0.0) h.distance = real("scene.gap");
      h.charge_constant = settings_.design("charge", free);
      return evaluators::hexagonal_prisms(h);
    }
    if (name == "stack") {
      evaluators::Stack stack;
      stack.surface = surface;
      if (bodies > 0) stack.boxes = bodies;
      return evaluators::stack<3>(stack);
    }
    throw std::logic_error("no scene '" + name + "'");
  }

  Simulation<3> started(const Scene<3>& scene) const {
    Simulation<3> simulation(scene.world, options_);
    simulation.start(scene.poses, scene.twists);
    return simulation;
  }

  void keep(const Simulation<3>& s, Run& run) const {
    const int row = run.rows++;
    auto& values = run.trajectory.values;
    values[0](row, 0) = s.time();
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      const auto& pose = s.poses()[b];
      const Eigen::Quaterniond q(pose.directors);
      values[1].row(row).segment<7>(7 * b) << pose.position.transpose(), q.w(), q.x(), q.y(), q.z();
      values[2].row(row).segment<6>(6 * b) = s.twists()[b].transpose();
    }
    const auto energies = s.energies();
    values[3].row(row) << energies.kinetic, energies.potential, s.ledger().projection.total(), s.ledger().impact;
  }

  Run simulated(const Task& task) const {
    const Scene<3> scene = make(task.evaluation.design);
    Simulation<3> simulation = started(scene);
    Run run;
    for (const auto& channel : channels())
      run.trajectory.values.push_back(
          Eigen::MatrixXd::Constant(nodes_, static_cast<Eigen::Index>(channel.coordinates.size()), not_a_number));
    run.trajectory.values.back() = shapes(scene.world);
    const Energies<3> before = simulation.energies();
    const Momenta<3> start = simulation.momenta();
    const double duration = settings_.real("scene.duration");
    const long steps = std::max(1L, std::lround(duration / options_.step));
    double overlap = -1e300, spin = 0.0;
    long step = 0;
    const std::clock_t clock = std::clock();
    const bool until_assembled = settings_.text("scene.cost") == "assembly-time";
    Assembly assembly(scene.world);
    run.end = simulation.run(duration, [&](const Simulation<3>& s) {
      if (options_.response != rigid::Response::none) overlap = std::max(overlap, s.overlap());
      for (const auto& v : s.twists()) spin = std::max(spin, v.tail<3>().norm());
      if (run.rows < nodes_ && step >= std::lround(static_cast<double>(run.rows) * steps / (nodes_ - 1))) keep(s, run);
      ++step;
      run.timed_out = task.seconds_left() == 0.0;
      if (step > 1) assembly.see(s);
      return run.timed_out || (until_assembled && assembly.assembled());
    });
    const double seconds = static_cast<double>(std::clock() - clock) / CLOCKS_PER_SEC;
    const Energies<3> after = simulation.energies();
    const Momenta<3> end = simulation.momenta();
    const auto& ledger = simulation.ledger();
    run.metrics.resize(metric_count);
    run.metrics << after.total() - before.total() - ledger.projection.total() - ledger.impact, after.kinetic, overlap,
        spin, ledger.impulses, ledger.cuts, ledger.residual, static_cast<double>(assembly.pairs()),
        static_cast<double>(assembly.largest()), assembly.radius(simulation),
        assembly.assembled() ? assembly.assembled_at() : run.end.time;
    std::size_t moving = 0;
    while (moving + 1 < bodies_.size() && scene.world.bodies[moving].fixed) ++moving;
    run.path = (simulation.poses()[moving].position - scene.poses[moving].position).norm();

    using Status = rigid::Outcome;
    run.report =
        formatted("scene           %s, %zu bodies, %s\n", settings_.text("scene.name").c_str(), bodies_.size(),
                  "spatial") +
        formatted("method          %s, %s, h = %g s\n", settings_.text("scene.stepper").c_str(),
                  settings_.text("scene.response").c_str(), options_.step) +
        (run.end.status == Status::failed
             ? "ended           failed: " + run.end.reason + "\n"
             : formatted("ended           t = %g s%s\n", run.end.time, run.timed_out ? ", at its time limit" : "")) +
        formatted("energy          kinetic %.6g J -> %.6g J, potential %.6g J -> %.6g J\n", before.kinetic,
                  after.kinetic, before.potential, after.potential) +
        formatted("                total %.6g J -> %.6g J, changed by %.4g J\n", before.total(), after.total(),
                  after.total() - before.total()) +
        formatted("                by impacts %.4g J, by projections %.4g J, unaccounted for %.4g J\n", ledger.impact,
                  ledger.projection.total(), run.metrics[energy_change]) +
        formatted("momentum        linear changed by %.3g N s, angular by %.3g N m s (by projections %.3g)\n",
                  (end.linear - start.linear).norm(), (end.angular - start.angular).norm(),
                  ledger.momentum.angular.norm()) +
        formatted("largest         overlap %.3g m, angular velocity %.4g rad/s\n", overlap, spin) +
        formatted("contact         %d node updates, %d cuts of a step, %zu pairs of parts touch at the end\n",
                  ledger.impulses, ledger.cuts, simulation.contacts().size()) +
        formatted("                %d impacts held back from making energy, velocities solved to %.2g m/s\n",
                  ledger.tamed, ledger.residual) +
        formatted(
            "assembly        %td pairs pushed within the last second, largest group %td of %td, radius of gyration "
            "%.4g m\n",
            assembly.pairs(), assembly.largest(), assembly.count(), assembly.radius(simulation)) +
        (assembly.assembled() ? formatted("                one group first at t = %g s\n", assembly.assembled_at())
                              : "") +
        formatted("speed           %.4g s simulated per CPU second\n", run.end.time / std::max(1e-9, seconds));
    return run;
  }

  Settings settings_;
  int nodes_;
  Options options_;
  std::vector<std::string> bodies_;
  int corners_ = 0;  // of all bodies
};

}  // namespace

EvaluatorKind scene_kind() {
  EvaluatorKind kind;
  kind.name = "scene";
  kind.description = "one simulation of a small world of colliding bodies";
  kind.variables =
      always({{"restitution", "1", "e of all surfaces: 0 plastic, 1 elastic", 1.0, 0.0, 1.0},
              {"friction", "1", "mu of all surfaces", 0.0, 0.0, 10.0},
              {"speed", "m/s", "root mean square of each component at the start", 0.01, -1000.0, 1000.0},
              {"charge", "N m^2", "K of the charges of hexagonal-prisms: force times distance squared of two", 5e-4,
               0.0, 1e6}});
  const auto key = [&](const char* name, Type type, const char* value, const char* unit, const char* description,
                       double minimum = -1e308, double maximum = 1e308, bool open = false,
                       std::vector<std::string> choices = {}) {
    kind.keys.push_back({std::string("scene.") + name, type, value, unit, description, minimum, maximum, open,
                         std::move(choices), true});
  };
  key("name", Type::choice, "falling-polyhedra", "", "which scene", 0, 0, false, scenes);
  key("bodies", Type::integer, "0", "", "number of bodies where the scene leaves it open; 0: as in the source", 0,
      4096);
  key("gap", Type::real, "0", "m", "between neighbours at the start; 0: the scene's own", 0, 10);
  key("height", Type::real, "0", "m", "from which bodies fall; 0: the scene's own", 0, 100);
  key("seed", Type::integer, "1", "", "of random velocities and attitudes", 0, 2147483647);
  key("duration", Type::real, "3", "s", "simulated time", 0, 1e6, true);
  key("nodes", Type::integer, "301", "", "rows of the trajectory, evenly spaced", 2, 1000000);
  key("cost", Type::choice, "energy-change", "", "what a study of the scene looks at", 0, 0, false,
      {"energy-change", "kinetic", "largest-overlap", "path", "assembly-time"});
  for (const auto& one : option_keys().keys()) kind.keys.push_back(one);
  kind.make = [](const Settings& settings) -> std::unique_ptr<Evaluator> {
    return std::make_unique<SceneEvaluator>(settings);
  };
  return kind;
}

}  // namespace dodyn::evaluators
