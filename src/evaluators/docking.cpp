#include "evaluators/docking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluators/docking_craft.hpp"
#include "evaluators/shapes.hpp"
#include "record/text.hpp"
#include "settings/key_table.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::evaluators {
namespace {

using evaluators::degree;
using evaluators::Docked;
using evaluators::Docking;

// One try: where it starts and, in the robust variant, what else differs.
struct Start {
  double bearing = 0.0, distance = 0.0;  // rad, m
  double restitution = 0.0, friction = 0.0, pull = 1.0;
  std::uint64_t field = 0;  // seed of the disturbance
};

// What comes back of a try, a row of a part's answer.
enum Column { kind, time, steps, columns };

// As the archive names them; `docked` first, in the order of Docked.
const std::array<std::pair<const char*, const char*>, evaluators::docked_kinds> kinds = {{
    {"docked", "starts that dock: both cones in their own cups for the dwell time"},
    {"missed", "starts that fail: never touched, or went past the front face"},
    {"jammed", "starts that fail: at rest in contact, not seated"},
    {"wrong_port", "starts that fail: at rest with a cone in the other cone's cup"},
    {"bounced_off", "starts that fail: touched, and parted"},
    {"timed_out", "starts that fail: neither docked nor at rest when time was up"},
    {"unresolved", "starts that count as failed: the simulation could not resolve a contact"},
}};
enum Metric { wilson_low = evaluators::docked_kinds, wilson_high, docking_time, all_steps, metric_count };

// A moment of a run: time, and place and attitude of both craft; what a picture needs.
constexpr int frame_columns = 7;
using Frame = std::array<double, frame_columns>;

// Rounded to 8 micrometres and 61 microradians, in powers of two, so that it compresses.
Frame frame(const rigid::Simulation<2>& s) {
  const auto rounded = [](double x, double per_unit) { return std::round(x * per_unit) / per_unit; };
  Frame f{rounded(s.time(), 1024.0)};
  std::size_t at = 1;
  for (const auto& q : s.poses()) {
    for (const double x : {q.position[0], q.position[1]}) f[at++] = rounded(x, 131072.0);
    f[at++] = rounded(q.angle, 16384.0);
  }
  return f;
}

// The moments between which the others follow best by straight lines: first and last, then always the one that is
// farthest off (Douglas and Peucker 1973). Turning by 1 rad counts as moving by 0.1 m. Rows beyond the last moment are
// not a number.
Eigen::MatrixXd telling_frames(const std::vector<Frame>& nodes, int count) {
  Eigen::MatrixXd rows = Eigen::MatrixXd::Constant(count, frame_columns, not_a_number);
  const std::size_t last = nodes.size() - 1;
  struct Span {
    std::size_t first, last, worst;
    double error;
  };
  const auto span = [&](std::size_t first, std::size_t end) {
    Span found{first, end, first, 0.0};
    const Frame &a = nodes[first], &b = nodes[end];
    for (std::size_t k = first + 1; k < end; ++k) {
      const double share = b[0] > a[0] ? (nodes[k][0] - a[0]) / (b[0] - a[0]) : 0.0;
      double error = 0.0;
      for (std::size_t c = 1; c < frame_columns; ++c) {
        const double off = nodes[k][c] - (a[c] + share * (b[c] - a[c]));
        error += (c % 3 == 0 ? 0.01 : 1.0) * off * off;
      }
      if (error > found.error) found = {first, end, k, error};
    }
    return found;
  };
  std::vector<Span> spans;
  if (last > 0 && count > 1) spans.push_back(span(0, last));
  while (!spans.empty() && static_cast<int>(spans.size()) + 1 < count) {
    const auto worst =
        std::max_element(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.error < b.error; });
    if (worst->error == 0.0) break;
    const Span cut = *worst;
    *worst = span(cut.first, cut.worst);
    spans.insert(std::next(worst), span(cut.worst, cut.last));
  }
  const auto put = [&](Eigen::Index row, const Frame& f) {
    rows.row(row) = Eigen::Map<const Eigen::RowVectorXd>(f.data(), frame_columns);
  };
  put(0, nodes.front());
  for (std::size_t i = 0; i < spans.size(); ++i) put(static_cast<Eigen::Index>(i) + 1, nodes[spans[i].last]);
  return rows;
}

// A number above 0.
Key positive(const char* unit, const char* description, double maximum) {
  return {.unit = unit, .description = description, .minimum = 0, .maximum = maximum, .open_minimum = true};
}

const KeyTable<Docking>& craft_keys() {
  using D = Docking;
  static const auto table =
      KeyTable<D>("docking.")
          .add("female", &D::female_free, {{"held", false}, {"free", true}},
               {.description = "the female craft is held where it is, or free"})
          .add("male-mass", &D::male_mass, positive("kg", "mass of the male craft, an even rectangle", 1e6))
          .add("female-mass", &D::female_mass, positive("kg", "mass of the female craft, where free", 1e6))
          .add("width", &D::width, positive("m", "of a craft's front face", 10))
          .add("length", &D::length, positive("m", "of a craft from front to back", 10))
          .add("wall", &D::wall, positive("m", "width of a cup's rim", 0.1))
          .add("tip", &D::tip, positive("m", "width of a cone's flat tip", 0.1))
          .add("mount-height", &D::mount_height, positive("m", "of a seated tip above its cup's base", 0.1))
          .add("mount-angle", &D::mount_angle, positive("deg", "of the groove's flanks against the port's axis", 90))
          .add("magnet-thickness", &D::magnet_thickness, positive("m", "distance of a magnet's two charges", 0.1))
          .add("magnet-recess", &D::magnet_recess,
               {.unit = "m",
                .description = "of the nearer charge behind cup base and cone tip",
                .minimum = 0,
                .maximum = 0.1})
          .add("polarity", &D::opposite_polarity, {{"same", false}, {"opposite", true}},
               {.description = "poles of the second port: as those of the first, or the other way round"})
          .add("restitution", &D::restitution,
               {.unit = "1", .description = "e: 0 plastic, 1 elastic", .minimum = 0, .maximum = 1})
          .add("friction", &D::friction, {.unit = "1", .description = "mu", .minimum = 0, .maximum = 10});
  return table;
}

const KeyTable<evaluators::DockingRules>& rule_keys() {
  using R = evaluators::DockingRules;
  static const auto table =
      KeyTable<R>("docking.")
          .add("position-tolerance", &R::position_tolerance,
               positive("m", "docked: distance of each cone's tip from its seat", 0.1))
          .add("angle-tolerance", &R::angle_tolerance, positive("deg", "docked: angle from the docked attitude", 90))
          .add("dwell", &R::dwell, positive("s", "docked, or at rest, for so long", 1e6))
          .add("rest-speed", &R::rest_speed, positive("m/s", "at rest: no point of the craft moves faster", 1))
          .add("parted", &R::parted, positive("m", "bounced off: clear distance after touching", 10))
          .add("time-out", &R::time_out, positive("s", "simulated time of a try", 1e6));
  return table;
}

class DockingEvaluator final : public Evaluator {
 public:
  explicit DockingEvaluator(const Settings& settings)
      : settings_(settings),
        robust_(settings.boolean("docking.robust")),
        step_(settings.real("docking.step")),
        batch_(settings.integer("docking.batch")),
        frames_(settings.integer("docking.frames")) {
    for (const char* range : {"bearing", "distance"}) {
      const std::string low = std::string("docking.least-") + range, high = std::string("docking.largest-") + range;
      if (settings.real(low) > settings.real(high)) throw settings.error(low, "is above " + high);
    }
    rules_ = rule_keys().read(settings);
    calibrate();
    check_ends();
    choose_starts();
  }

  std::vector<Quantity> metrics() const override {
    std::vector<Quantity> list;
    for (const auto& [name, description] : kinds) list.push_back({name, "1", description});
    list.push_back({"wilson_low", "1", "lower limit of Wilson's 95 % interval of the failure rate"});
    list.push_back({"wilson_high", "1", "upper limit of it"});
    list.push_back({"docking_time", "s", "mean time of the starts that dock, dwell time included"});
    list.push_back({"steps", "1", "time steps of all simulations"});
    return list;
  }

  Channels channels() const override {
    const int n = count();
    Channels list = {{"start", "", "bearing (deg) and distance (m) of each start", n, {"bearing", "distance"}},
                     {"outcome",
                      "",
                      "how it ended: 0 docked, 1 missed, 2 jammed, 3 wrong port, 4 bounced off, 5 timed out, "
                      "6 unresolved; and when (s)",
                      n,
                      {"outcome", "time"}}};
    if (robust_)
      list.push_back({"scenario",
                      "",
                      "what else differs between starts; pull in units of the calibrated constant",
                      n,
                      {"restitution", "friction", "pull"}});
    if (frames_ > 0) {
      // All designs have the same number of corners.
      Eigen::VectorXd any(static_cast<Eigen::Index>(settings_.variables.size()));
      for (Eigen::Index i = 0; i < any.size(); ++i) any[i] = settings_.variables[static_cast<std::size_t>(i)].lower;
      list.push_back(shapes_channel(2, static_cast<int>(shapes(evaluators::docking_world(design(any))).rows())));
      Channel runs{"runs",
                   "",
                   "the motion from each start, docking.frames rows a start: centres and attitudes",
                   n * frames_,
                   {"t", "female x", "female y", "female angle", "male x", "male y", "male angle"}};
      runs.units = {"s", "m", "m", "rad", "m", "m", "rad"};
      list.push_back(runs);
    }
    return list;
  }

  int parts() const override { return (count() + batch_ - 1) / batch_; }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome = simulate_batch(task);
    if (parts() > 1) return outcome;
    return join(task.evaluation, {std::move(outcome)});
  }

  Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const override {
    Outcome outcome{asked, {}};
    for (const auto& part : parts)
      if (!part.evaluation.ok()) {
        outcome.evaluation.status = part.evaluation.status;
        outcome.evaluation.reason = part.evaluation.reason;
        return outcome;
      }
    Eigen::MatrixXd tries(count(), columns), runs(count() * frames_, frame_columns);
    Eigen::Index row = 0;
    for (const auto& part : parts) {
      const auto& values = part.trajectory.values;
      tries.middleRows(row, values.at(0).rows()) = values[0];
      runs.middleRows(row * frames_, values.at(1).rows()) = values[1];
      row += values[0].rows();
    }
    sum_up(tries, outcome);
    if (frames_ > 0) {
      outcome.trajectory.values.push_back(shapes(evaluators::docking_world(design(asked.design))));
      outcome.trajectory.values.push_back(std::move(runs));
    }
    return outcome;
  }

  std::optional<Simulated> simulate(const Task& task) const override {
    const Docking docking = design(task.evaluation.design);
    try {
      return shown_from(docking);
    } catch (const std::invalid_argument& error) {  // overlap at the start
      throw settings_.error("docking.distance", error.what());
    }
  }

  std::string report(const Outcome& outcome) const override {
    const auto& m = outcome.evaluation.metrics;
    if (m.size() != metric_count) return {};
    std::string lines = formatted("failure rate  %.4f, Wilson 95 %% [%.4f, %.4f], of %d starts\n",
                                  outcome.evaluation.cost, m[wilson_low], m[wilson_high], count());
    for (int k = 0; k < evaluators::docked_kinds; ++k)
      lines += formatted("%-12s  %.0f\n", std::string(to_string(static_cast<Docked>(k))).c_str(), m[k]);
    lines += formatted("docking time  %.4g s on average\n", m[docking_time]);
    return lines + magnets(design(outcome.evaluation.design));
  }

 private:
  Simulated shown_from(const Docking& docking) const {
    evaluators::DockingSimulator simulator(docking, rules_, step_);
    std::vector<std::array<double, 15>> nodes;
    const auto run = simulator.run(settings_.real("docking.bearing") * degree, settings_.real("docking.distance"),
                                   [&](const rigid::Simulation<2>& s) {
                                     auto& node = nodes.emplace_back();
                                     auto out = node.begin();
                                     *out++ = s.time();
                                     for (const auto& q : s.poses())
                                       for (const double x : {q.position[0], q.position[1], q.angle}) *out++ = x;
                                     for (const auto& v : s.twists()) out = std::copy(v.begin(), v.end(), out);
                                     *out++ = s.energies().kinetic;
                                     *out = s.energies().potential;
                                   });
    Simulated shown;
    shown.completed = run.outcome != Docked::unresolved;
    shown.report = formatted("outcome     %s after %.4g s (%ld steps)\n", std::string(to_string(run.outcome)).c_str(),
                             run.time, run.steps);
    if (!run.reason.empty()) shown.report += "reason      " + run.reason + "\n";
    shown.report += formatted("start       bearing %g deg, distance %g m\n", settings_.real("docking.bearing"),
                              settings_.real("docking.distance")) +
                    magnets(docking);
    const int n = static_cast<int>(nodes.size());
    shown.channels = {{"t", "s", "time", n, {"t"}},
                      {"q",
                       "",
                       "centres (m) and attitudes (rad)",
                       n,
                       {"female x", "female y", "female angle", "male x", "male y", "male angle"}},
                      {"v",
                       "",
                       "velocities (m/s) and angular velocities (rad/s)",
                       n,
                       {"female x", "female y", "female angle", "male x", "male y", "male angle"}},
                      {"energy", "J", "energies", n, {"kinetic", "potential"}}};
    int first = 0;
    for (const auto& channel : shown.channels) {
      const int width = static_cast<int>(channel.coordinates.size());
      Eigen::MatrixXd values(n, width);
      for (int i = 0; i < n; ++i)
        for (int k = 0; k < width; ++k) values(i, k) = nodes[static_cast<std::size_t>(i)][first + k];
      first += width;
      shown.trajectory.values.push_back(std::move(values));
    }
    return shown;
  }

  int count() const { return static_cast<int>(starts_.size()); }

  static std::string magnets(const Docking& docking) {
    return formatted("magnets     K = %.4g N m^2, a seated cone is held by %.3g N\n", docking.charge_constant,
                     evaluators::seated_pull(docking));
  }

  // All but the four design variables and K.
  Docking craft() const { return craft_keys().read(settings_); }

  Docking design(const Eigen::VectorXd& free) const {
    Docking d = craft();
    d.spacing = settings_.design("spacing", free);
    d.half_angle = settings_.design("half-angle", free) * degree;
    d.depth = settings_.design("depth", free);
    d.clearance = settings_.design("clearance", free);
    d.charge_constant = charge_constant_;
    return d;
  }

  // K belongs to the magnets, not to the design: it is that of ports of the default shape at the reference spacing.
  void calibrate() {
    charge_constant_ = settings_.real("docking.charge-constant");
    if (charge_constant_ > 0.0) return;
    Docking reference = craft();
    reference.spacing = settings_.real("docking.reference-spacing");
    try {
      charge_constant_ = evaluators::calibrated_charge_constant(reference, settings_.real("docking.closing-distance"),
                                                                settings_.real("docking.closing-time"));
    } catch (const std::invalid_argument& error) {
      throw settings_.error("docking.reference-spacing", std::string("calibration of the magnets: ") + error.what());
    }
  }

  // Where the spacing alone is free, or nothing is, both ends must be possible; of several variables some corners may
  // not be, and fail one by one.
  void check_ends() const {
    if (settings_.variables.size() > 1) return;
    for (const bool low : {true, false}) {
      Eigen::VectorXd free(settings_.variables.size());
      std::string key = "design.spacing";
      if (free.size() == 1) {
        const auto& variable = settings_.variables[0];
        free[0] = low ? variable.lower : variable.upper;
        key = "design." + variable.name + (low ? ".min" : ".max");
      }
      try {
        check(design(free));
      } catch (const std::invalid_argument& error) {
        throw settings_.error(key, error.what());
      }
    }
  }

  void choose_starts() {
    const int n = settings_.integer("docking.samples"), seed = settings_.integer("docking.seed");
    const std::string sampling = settings_.text("docking.sampling");
    // bearing, distance, restitution, friction, pull in [0, 1]
    Eigen::MatrixXd points;
    if (sampling == "grid") {
      const int across = std::max(1, static_cast<int>(std::lround(std::sqrt(2.0 * n))));
      const int along = std::max(1, n / across);
      points = surrogate::sobol(5, across * along, static_cast<std::uint64_t>(seed));
      for (int i = 0; i < across * along; ++i)
        points.col(i).head<2>() << (i % across + 0.5) / across, (i / across + 0.5) / along;
    } else {
      points = sampling == "sobol" ? surrogate::sobol(5, n, static_cast<std::uint64_t>(seed))
                                   : surrogate::halton(5, n, static_cast<std::uint64_t>(seed));
    }
    const auto between = [&](const char* range, double u) {
      const double low = settings_.real(std::string("docking.least-") + range);
      return low + u * (settings_.real(std::string("docking.largest-") + range) - low);
    };
    const auto about = [&](const char* middle, const char* spread, double u) {
      return settings_.real(std::string("docking.") + middle) +
             (2.0 * u - 1.0) * settings_.real(std::string("docking.") + spread);
    };
    for (Eigen::Index i = 0; i < points.cols(); ++i) {
      Start start;
      start.bearing = between("bearing", points(0, i)) * degree;
      start.distance = between("distance", points(1, i));
      start.restitution = settings_.real("docking.restitution");
      start.friction = settings_.real("docking.friction");
      if (robust_) {
        start.restitution = std::clamp(about("restitution", "restitution-spread", points(2, i)), 0.0, 1.0);
        start.friction = std::max(0.0, about("friction", "friction-spread", points(3, i)));
        start.pull = 1.0 + (2.0 * points(4, i) - 1.0) * settings_.real("docking.pull-spread");
        start.field = static_cast<std::uint64_t>(seed) * 1000003u + static_cast<std::uint64_t>(i);
      }
      starts_.push_back(start);
    }
  }

  // The starts of one part.
  Outcome simulate_batch(const Task& task) const {
    Outcome outcome{task.evaluation, {}};
    const int first = task.part * batch_, last = std::min(first + batch_, count());
    Eigen::MatrixXd tries(last - first, columns), runs((last - first) * frames_, frame_columns);
    std::vector<Frame> nodes;
    std::optional<evaluators::DockingSimulator> simulator;
    for (int i = first; i < last; ++i) {
      if (task.seconds_left() == 0) {
        outcome.evaluation.status = Status::timed_out;
        outcome.evaluation.reason = formatted("time limit after %d of %d starts", i - first, last - first);
        return outcome;
      }
      const Start& start = starts_[static_cast<std::size_t>(i)];
      try {
        if (!simulator || robust_) {
          Docking docking = design(task.evaluation.design);
          docking.restitution = start.restitution;
          docking.friction = start.friction;
          docking.charge_constant *= start.pull;
          evaluators::DisturbanceField field;
          if (robust_)
            field = {settings_.real("docking.disturbance"), settings_.real("docking.disturbance-arm"),
                     settings_.real("docking.disturbance-length"), start.field};
          simulator.emplace(docking, rules_, step_, field);
        }
        nodes.clear();
        DockingSimulator::Observer observe;
        if (frames_ > 0) observe = [&](const rigid::Simulation<2>& s) { nodes.push_back(frame(s)); };
        const auto run = simulator->run(start.bearing, start.distance, observe);
        if (frames_ > 0) runs.middleRows((i - first) * frames_, frames_) = telling_frames(nodes, frames_);
        tries.row(i - first) << static_cast<double>(run.outcome), run.time, static_cast<double>(run.steps);
      } catch (const std::invalid_argument& error) {
        outcome.evaluation.status = Status::failed;
        outcome.evaluation.reason = error.what();
        return outcome;
      }
    }
    outcome.evaluation.status = Status::ok;
    outcome.evaluation.cost = (tries.col(kind).array() != static_cast<double>(Docked::docked)).cast<double>().mean();
    outcome.trajectory.values = {std::move(tries), std::move(runs)};
    return outcome;
  }

  void sum_up(const Eigen::MatrixXd& tries, Outcome& outcome) const {
    Evaluation& e = outcome.evaluation;
    const int n = count();
    e.metrics = Eigen::VectorXd::Zero(metric_count);
    double seconds = 0.0;
    for (int i = 0; i < n; ++i) {
      e.metrics[static_cast<int>(tries(i, kind))] += 1.0;
      if (static_cast<Docked>(tries(i, kind)) == Docked::docked) seconds += tries(i, time);
    }
    const int docked = static_cast<int>(e.metrics[0]), failures = n - docked;
    const auto interval = wilson_interval(failures, n);
    e.metrics[wilson_low] = interval[0];
    e.metrics[wilson_high] = interval[1];
    e.metrics[docking_time] = docked > 0 ? seconds / docked : not_a_number;
    e.metrics[all_steps] = tries.col(steps).sum();
    e.cost = static_cast<double>(failures) / n;
    // of the binomial distribution, with two more hits and misses (Agresti and Coull 1998): not zero at 0 and 1
    const double p = (failures + 2.0) / (n + 4.0);
    e.cost_stderr = std::sqrt(p * (1.0 - p) / (n + 4.0));
    e.status = Status::ok;
    if (const double unresolved = e.metrics[static_cast<int>(Docked::unresolved)]; unresolved > 0.05 * n) {
      e.status = Status::not_converged;
      e.reason = formatted("%.0f of %d simulations could not resolve a contact", unresolved, n);
    }

    Eigen::MatrixXd where(n, 2), scenario(n, 3);
    for (int i = 0; i < n; ++i) {
      const Start& start = starts_[static_cast<std::size_t>(i)];
      where.row(i) << start.bearing / degree, start.distance;
      scenario.row(i) << start.restitution, start.friction, start.pull;
    }
    outcome.trajectory.values = {where, tries.leftCols<2>()};
    if (robust_) outcome.trajectory.values.push_back(scenario);
  }

  Settings settings_;
  bool robust_;
  double step_;
  int batch_, frames_;
  evaluators::DockingRules rules_;
  double charge_constant_ = 0.0;
  std::vector<Start> starts_;
};

Key real(const char* name, const char* value, const char* unit, const char* description, double minimum, double maximum,
         bool open_minimum = false) {
  return {std::string("docking.") + name, Type::real, value, unit, description, minimum, maximum, open_minimum};
}
Key integer(const char* name, const char* value, const char* description, double minimum, double maximum) {
  return {std::string("docking.") + name, Type::integer, value, "", description, minimum, maximum};
}
Key choice(const char* name, const char* description, const std::vector<std::string>& words) {
  Key key{std::string("docking.") + name, Type::choice, words.front(), "", description};
  key.choices = words;
  return key;
}

std::unique_ptr<Evaluator> make_docking(const Settings& settings) {
  return std::make_unique<DockingEvaluator>(settings);
}

}  // namespace

std::array<double, 2> wilson_interval(int hits, int tries) {
  const double z = 1.959963984540054, n = tries, p = hits / n, zz = z * z / n;
  const double middle = p + 0.5 * zz, half = z * std::sqrt(p * (1.0 - p) / n + 0.25 * zz / n);
  return {hits == 0 ? 0.0 : std::max(0.0, (middle - half) / (1.0 + zz)),
          hits == tries ? 1.0 : std::min(1.0, (middle + half) / (1.0 + zz))};
}

EvaluatorKind docking_kind() {
  EvaluatorKind kind;
  kind.name = "docking";
  kind.description = "failure rate of two craft that dock by magnets, over a set of starts";
  const Docking standard;
  kind.variables = always({
      {"spacing", "m", "distance of the centres of a craft's two ports", standard.spacing, 0.005, 1.0},
      {"half-angle", "deg", "of cones and cups, against the port's axis", std::round(standard.half_angle / degree), 1,
       80},
      {"depth", "m", "of a cup from mouth to base; length of a cone", standard.depth, 0.001, 0.2},
      {"clearance", "m", "between a seated cone and the cup's wall, across the axis", standard.clearance, 1e-5, 0.05},
  });
  kind.keys = {
      integer("samples", "200", "starts per design", 1, 1000000),
      choice("sampling", "how they are spread; grid: cell middles, at most so many", {"sobol", "halton", "grid"}),
      integer("seed", "1", "of the starts and scenarios; the same for every design", 0, 1000000),
      real("least-bearing", "-60", "deg", "of the line of centres, from the female craft's axis", -180, 180),
      real("largest-bearing", "60", "deg", "of the line of centres", -180, 180),
      real("least-distance", "0.08", "m", "of the front faces along the line of centres", 0, 10),
      real("largest-distance", "0.2", "m", "of the front faces along the line of centres", 0, 10),
      integer("frames", "24", "moments of each run that the archive keeps, to draw it; 0: none", 0, 1000),
      integer("batch", "25", "starts that a rank does at a time", 1, 1000000),
      real("charge-constant", "0", "N m2", "K of the charges; calibrated: from the closing time", 0, 1e6),
      real("closing-time", "30", "s", "in which aligned craft close, from which K follows", 0, 1e6, true),
      real("closing-distance", "0.15", "m", "from which they do, between front faces", 0, 10, true),
      real("reference-spacing", "0.05", "m", "of their ports, which have the default shape", 0, 1, true),
      real("step", "0.002", "s", "time step where the craft are near each other", 0, 1, true),
      {"docking.robust", Type::boolean, "false", "", "each start has its own e, mu, K and disturbance"},
      real("restitution-spread", "0.2", "1", "robust: e is even within so much of its value", 0, 1),
      real("friction-spread", "0.1", "1", "robust: mu is even within so much of its value", 0, 10),
      real("pull-spread", "0.2", "1", "robust: K is even within this share of its value", 0, 0.99),
      real("disturbance", "1e-5", "N", "robust: root mean square of the disturbing force's components", 0, 1e3),
      real("disturbance-arm", "0.02", "m", "robust: its torque is that of the force at this arm", 0, 10),
      real("disturbance-length", "0.3", "m", "robust: least wave length of the disturbance in space", 0, 100, true),
      real("bearing", "0", "deg", "of the one start of `dodyn simulate`", -180, 180),
      real("distance", "0.15", "m", "of the one start of `dodyn simulate`", 0, 10),
  };
  for (const auto& keys : {craft_keys().keys(), rule_keys().keys()})
    kind.keys.insert(kind.keys.end(), keys.begin(), keys.end());
  for (auto& key : kind.keys) {
    if (key.name == "docking.charge-constant") {
      key.default_value = key.word = "calibrated";
      key.zero_is_word = true;
    }
    if (key.name == "docking.bearing" || key.name == "docking.distance") key.identity = false;
  }
  kind.make = make_docking;
  return kind;
}

}  // namespace dodyn::evaluators
