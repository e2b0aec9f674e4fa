#include "evaluators/elastic/elastic.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <stdexcept>

#include "evaluators/elastic/text.hpp"
#include "record/text.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {
namespace {

using elastic_text::Numbers;
template <int n>
using Elastic = elastic::Simulation<n>;

struct ElasticOptions {
  double step = 1e-3, duration = 1.0;  // s
  int nodes = 101;
  bool points = false;
};

const KeyTable<ElasticOptions>& elastic_keys() {
  using S = ElasticOptions;
  static const auto table =
      KeyTable<S>("elastic.")
          .add("step", &S::step,
               {.unit = "s", .description = "h of explicit Newmark", .minimum = 0, .maximum = 10, .open_minimum = true})
          .add("duration", &S::duration,
               {.unit = "s", .description = "simulated time", .minimum = 0, .maximum = 1e6, .open_minimum = true})
          .add("nodes", &S::nodes,
               {.description = "rows of the trajectory, evenly spaced", .minimum = 2, .maximum = 1000000})
          .add("points", &S::points,
               {.description = "dodyn simulate: where every node of the meshes is, too, with the edges of surfaces"});
  return table;
}

const std::vector<Quantity> elastic_metrics = {
    {"energy_change", "J", "of the total energy, the largest at any step"},
    {"kinetic", "J", "kinetic energy at the end"},
    {"elastic", "J", "energy of deformation at the end"},
    {"largest_overlap", "m", "of any two parts at a step"},
    {"first_touch", "s", "when bodies first touched; not a number where they never did"},
    {"last_touch", "s", "when they last did"},
    {"contact_time", "s", "how long any of them touched"},
    {"touching", "1", "pairs of bodies that touched at any time"},
    {"smallest_jacobian", "1", "least volume of an element, of its own at rest, at a row of the trajectory"},
    {"momentum_change", "N s", "of the linear momentum"}};

struct ElasticRan {
  std::string reason;  // empty: it came to its end
  bool timed_out = false;
  Numbers seen;
  Trajectory trajectory;
  int rows = 0;
  long steps = 0;
  int cells = 0, nodes = 0;
  double stable = 0.0, seconds = 0.0, end = 0.0;
  elastic::Energies before, after;
};

class ElasticEvaluator final : public Evaluator {
 public:
  explicit ElasticEvaluator(const Settings& settings)
      : settings_(settings), own_(elastic_keys().read(settings)), dimension_(elastic_text::dimension(settings)) {
    if (own_.duration < own_.step) throw settings.error("elastic.duration", "is less than a step");
    Eigen::VectorXd middle(static_cast<Eigen::Index>(settings.variables.size()));
    for (std::size_t i = 0; i < settings.variables.size(); ++i)
      middle[static_cast<Eigen::Index>(i)] = 0.5 * (settings.variables[i].lower + settings.variables[i].upper);
    if (dimension_ == 2)
      learn<2>(middle);
    else
      learn<3>(middle);
    for (const FreeSection* section : settings.sections_of("cost"))
      if (const FreeEntry* entry = section->find("cost")) {
        cost_ = *entry;
        Numbers known = elastic_text::parameters(settings, middle);
        for (const auto& metric : elastic_metrics) known[metric.name] = 1.0;
        for (std::size_t b = 0; b < names_.size(); ++b)
          for (const auto& what : places()) known[names_[b] + "." + what] = 1.0;
        elastic_text::value(*cost_, cost_->value, known);  // says what is wrong with it
      }
  }

  std::vector<Quantity> metrics() const override { return elastic_metrics; }
  Channels channels() const override { return channels(own_.nodes); }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    Evaluation& e = outcome.evaluation;
    try {
      const Numbers parameters = elastic_text::parameters(settings_, e.design);
      ElasticRan ran = simulated(parameters, task, false);
      e.metrics.resize(static_cast<Eigen::Index>(elastic_metrics.size()));
      for (std::size_t i = 0; i < elastic_metrics.size(); ++i) {
        const auto at = ran.seen.find(elastic_metrics[i].name);
        e.metrics(static_cast<Eigen::Index>(i)) = at == ran.seen.end() ? not_a_number : at->second;
      }
      e.status = ran.timed_out ? Status::timed_out : ran.reason.empty() ? Status::ok : Status::failed;
      e.reason = ran.reason;
      e.cost = not_a_number;
      outcome.trajectory = std::move(ran.trajectory);
      if (!e.ok()) return outcome;
      e.cost = cost_of(ran, parameters);
      if (!std::isfinite(e.cost)) {
        e.status = Status::failed;
        e.reason = "the cost is not a finite number";
      }
    } catch (const ConfigError& error) {  // bodies that this design makes impossible
      e.status = Status::infeasible;
      e.reason = error.what();
    } catch (const std::invalid_argument& error) {
      e.status = Status::infeasible;
      e.reason = error.what();
    }
    return outcome;
  }

  std::optional<Simulated> simulate(const Task& task) const override {
    const Numbers parameters = elastic_text::parameters(settings_, task.evaluation.design);
    ElasticRan ran = simulated(parameters, task, own_.points);
    Simulated told;
    told.completed = ran.reason.empty();
    told.report = story(ran, parameters);
    told.channels = channels(ran.rows);
    if (own_.points) told.channels.push_back(points_);
    for (auto& channel : told.channels) channel.nodes = ran.rows;
    told.trajectory = std::move(ran.trajectory);
    for (auto& values : told.trajectory.values) values.conservativeResize(ran.rows, Eigen::NoChange);
    return told;
  }

  std::string report(const Outcome& outcome) const override {
    const auto& m = outcome.evaluation.metrics;
    std::string lines;
    for (Eigen::Index i = 0; i < m.size(); ++i)
      lines += formatted("%-18s %.6g %s\n", elastic_metrics[static_cast<std::size_t>(i)].name.c_str(), m(i),
                         elastic_metrics[static_cast<std::size_t>(i)].unit.c_str());
    return lines;
  }

 private:
  // What all designs have in common: which bodies there are. Tells what cannot start.
  template <int n>
  void learn(const Eigen::VectorXd& design) {
    const auto scene = elastic_text::scene<n>(settings_, elastic_text::parameters(settings_, design));
    for (const auto& body : scene.world.rigid.bodies) names_.push_back(body.name);
    for (const auto& body : scene.world.deformable) names_.push_back(body.name);
    points_ = {"points", "m", "nodes of the meshes", own_.nodes, {}};
    if (own_.points)
      for (const auto& body : scene.world.deformable) {
        const auto node = [&](int i) { return body.name + "." + std::to_string(i); };
        for (std::size_t i = 0; i < body.mesh.nodes.size(); ++i)
          for (int a = 0; a < n; ++a)
            points_.coordinates.push_back(node(static_cast<int>(i)) + "_" + std::string(1, "xyz"[a]));
        std::vector<std::pair<int, int>> edges;
        for (const int c : elastic::boundary_cells(body.mesh)) {
          const auto& corners = body.mesh.cells[static_cast<std::size_t>(c)];
          for (const int i : corners)
            for (const int j : corners)
              if (i < j) edges.emplace_back(i, j);
        }
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        for (const auto& [i, j] : edges) points_.segments.insert(points_.segments.end(), {node(i), node(j)});
      }
    try {
      Elastic<n>(scene.world, {own_.step, scene.stiffness}).start(scene.start);
    } catch (const std::invalid_argument& error) {
      if (settings_.variables.empty()) throw ConfigError(settings_.file + ": " + error.what());
    }
  }

  std::vector<std::string> places() const {
    return dimension_ == 2 ? std::vector<std::string>{"x", "y", "vx", "vy"}
                           : std::vector<std::string>{"x", "y", "z", "vx", "vy", "vz"};
  }

  Channels channels(int nodes) const {
    Channel q{"centre", "", "centres of mass and their velocities", nodes, {}};
    for (const auto& name : names_)
      for (const auto& what : places()) {
        q.coordinates.push_back(name + " " + what);
        q.units.emplace_back(what[0] == 'v' ? "m/s" : "m");
      }
    return {{"t", "s", "time", nodes, {"t"}},
            q,
            {"energy",
             "J",
             "kinetic, of deformation, of overlaps, of gravity and charges",
             nodes,
             {"kinetic", "elastic", "contact", "potential"}}};
  }

  ElasticRan simulated(const Numbers& parameters, const Task& task, bool points) const {
    return dimension_ == 2 ? run<2>(parameters, task, points) : run<3>(parameters, task, points);
  }

  template <int n>
  ElasticRan run(const Numbers& parameters, const Task& task, bool points) const {
    auto scene = elastic_text::scene<n>(settings_, parameters);
    const int rigid = static_cast<int>(scene.world.rigid.bodies.size());
    Elastic<n> simulation(std::move(scene.world), {own_.step, scene.stiffness});
    const std::clock_t clock = std::clock();
    simulation.start(scene.start);
    ElasticRan ran;
    ran.cells = simulation.elements().size();
    ran.nodes = simulation.elements().nodes();
    ran.stable = simulation.stable_step();
    for (const auto& channel : channels(own_.nodes))
      ran.trajectory.values.push_back(
          Eigen::MatrixXd::Constant(own_.nodes, static_cast<Eigen::Index>(channel.coordinates.size()), not_a_number));
    if (points)
      ran.trajectory.values.push_back(Eigen::MatrixXd::Constant(own_.nodes, simulation.nodes().size(), not_a_number));
    const auto state = [&](int b) {
      Eigen::Matrix<double, 2 * n, 1> all;
      if (b < rigid)
        all << simulation.poses()[static_cast<std::size_t>(b)].position, simulation.twist(b).template head<n>();
      else
        all << simulation.centre(b - rigid), simulation.velocity(b - rigid);
      return all;
    };
    double smallest = 1.0;
    const auto keep = [&] {
      const auto row = ran.rows++;
      ran.trajectory.values[0](row, 0) = simulation.time();
      for (int b = 0; b < static_cast<int>(names_.size()); ++b)
        ran.trajectory.values[1].row(row).template segment<2 * n>(2 * n * b) = state(b).transpose();
      const auto e = simulation.energies();
      ran.trajectory.values[2].row(row) << e.kinetic, e.elastic, e.contact, e.potential;
      if (points) ran.trajectory.values[3].row(row) = simulation.nodes().reshaped().transpose();
      smallest = std::min(smallest, simulation.smallest_jacobian());
    };
    ran.before = simulation.energies();
    const auto momentum = simulation.momenta();
    const long steps = std::max(1L, std::lround(own_.duration / own_.step));
    double change = 0.0, overlap = 0.0, first = not_a_number, last = not_a_number;
    long touched = 0;
    std::vector<std::pair<int, int>> pairs;
    keep();
    for (ran.steps = 0; ran.steps < steps;) {
      if (!simulation.step()) {
        ran.reason = simulation.reason();
        break;
      }
      ++ran.steps;
      change = std::max(change, std::abs(simulation.energies().total() - ran.before.total()));
      const auto now = simulation.touching();
      if (!now.empty()) {
        ++touched;
        overlap = std::max(overlap, simulation.overlap());
        last = simulation.time();
        if (!std::isfinite(first)) first = last;
        std::vector<std::pair<int, int>> both;
        std::set_union(pairs.begin(), pairs.end(), now.begin(), now.end(), std::back_inserter(both));
        pairs = std::move(both);
      }
      if (ran.rows < own_.nodes && ran.steps >= std::lround(static_cast<double>(ran.rows) * steps / (own_.nodes - 1)))
        keep();
      if (task.seconds_left() == 0.0) {
        ran.timed_out = true;
        ran.reason = formatted("time limit at t = %g s", simulation.time());
        break;
      }
    }
    ran.seconds = static_cast<double>(std::clock() - clock) / CLOCKS_PER_SEC;
    ran.end = simulation.time();
    ran.after = simulation.energies();
    ran.seen = {{"energy_change", change},
                {"kinetic", ran.after.kinetic},
                {"elastic", ran.after.elastic},
                {"largest_overlap", overlap},
                {"first_touch", first},
                {"last_touch", last},
                {"contact_time", static_cast<double>(touched) * own_.step},
                {"touching", static_cast<double>(pairs.size())},
                {"smallest_jacobian", smallest},
                {"momentum_change", (simulation.momenta().linear - momentum.linear).norm()}};
    const auto list = places();
    for (std::size_t b = 0; b < names_.size(); ++b) {
      const auto all = state(static_cast<int>(b));
      for (std::size_t a = 0; a < list.size(); ++a)
        ran.seen[names_[b] + "." + list[a]] = all[static_cast<Eigen::Index>(a)];
    }
    return ran;
  }

  double cost_of(const ElasticRan& ran, const Numbers& parameters) const {
    if (!cost_) return ran.seen.at("energy_change");
    Numbers known = parameters;
    known.insert(ran.seen.begin(), ran.seen.end());
    return elastic_text::value(*cost_, cost_->value, known);
  }

  std::string story(const ElasticRan& ran, const Numbers& parameters) const {
    const auto& s = ran.seen;
    std::string text = formatted("scene           %zu bodies, %d elements, %d nodes, %s\n", names_.size(), ran.cells,
                                 ran.nodes, dimension_ == 2 ? "planar" : "spatial") +
                       formatted("method          explicit Newmark, h = %g s (about %.3g s is stable), penalty\n",
                                 own_.step, ran.stable) +
                       (ran.reason.empty() ? formatted("ended           t = %g s\n", ran.end)
                                           : "ended           failed: " + ran.reason + "\n");
    for (const auto& [name, e] : {std::pair("before", ran.before), std::pair("after", ran.after)})
      text += formatted("energy %-8s %.9g J: kinetic %.6g, elastic %.6g, contact %.6g, potential %.6g\n", name,
                        e.total(), e.kinetic, e.elastic, e.contact, e.potential);
    text += formatted("                changed by at most %.3g J; momentum by %.3g N s\n", s.at("energy_change"),
                      s.at("momentum_change"));
    text += formatted("contact         from %.6g to %.6g s, %.6g s in all, %.0f pairs, overlap up to %.3g m\n",
                      s.at("first_touch"), s.at("last_touch"), s.at("contact_time"), s.at("touching"),
                      s.at("largest_overlap"));
    text += formatted("deformation     an element had %.4g of its volume\n", s.at("smallest_jacobian"));
    text += formatted("speed           %.3g s of CPU, %.3g element forces per second of it\n", ran.seconds,
                      static_cast<double>(ran.steps) * ran.cells / std::max(1e-9, ran.seconds));
    if (ran.reason.empty()) text += formatted("cost            %.10g\n", cost_of(ran, parameters));
    return text;
  }

  Settings settings_;
  ElasticOptions own_;
  int dimension_;
  std::vector<std::string> names_;  // of the rigid bodies, then the deformable ones
  Channel points_;
  std::optional<FreeEntry> cost_;
};

}  // namespace

EvaluatorKind elastic_kind() {
  EvaluatorKind kind;
  kind.name = "elastic";
  kind.description = "deformable bodies beside rigid ones in contact: one simulation by explicit Newmark";
  kind.variables = elastic_text::variables;
  kind.keys = elastic_keys().keys();
  kind.sections = elastic_text::sections();
  kind.make = [](const Settings& settings) -> std::unique_ptr<Evaluator> {
    return std::make_unique<ElasticEvaluator>(settings);
  };
  return kind;
}

}  // namespace dodyn::evaluators
