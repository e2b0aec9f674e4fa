#include "evaluators/gait.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "dmoc/gait.hpp"
#include "nlp/solve.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators {

namespace {

using dmoc::Coefficient;
using Gait = dmoc::WalkerGait;

const std::vector<Quantity> metric_list = {
    {"absolute_work", "J", "sum over joints and intervals of |torque x change of angle|"},
    {"positive_work", "J", "its positive part"},
    {"signed_work", "J", "the same without the absolute value"},
    {"squared_torque", "N2 m2 s", "integral of the squared torques"},
    {"largest_torque", "N m", "largest torque"},
    {"smallest_normal_force", "N", "smallest normal force of the ground on the stance foot; negative: it would pull"},
    {"largest_friction_ratio", "1",
     "largest |tangential| / normal contact force; infinite where the ground would pull"},
    {"normal_impulse", "N s", "normal impulse on the new foot at touch-down"},
    {"impulse_friction_ratio", "1", "|tangential| / normal impulse at touch-down"},
    {"smallest_clearance", "m", "least height of the swing foot at inner nodes"},
    {"smallest_knee_flexion", "rad", "least flexion of a knee; negative: it overextends"},
    {"smallest_leg_distance", "m", "least distance of links of different legs, at nodes and between them"},
    {"leg_crossings", "1",
     "time steps in which it is below twice gait.leg-radius by more than a tenth; in the plane, where they may, in "
     "which links cross"},
    {"impact_loss", "J", "kinetic energy lost at touch-down"},
    {"energy_balance", "J", "signed work less impact loss; vanishes with the square of the time step"},
    {"reintegration_error", "rad", "largest difference of an angle when the torques drive the motion forward"},
    {"kkt_residual", "1", "largest residual of the first-order optimality conditions"},
    {"iterations", "1", "iterations of the solver, all starts together"},
    {"starts", "1", "starts tried"},
    {"starts_solved", "1", "starts that ended at a first-order optimal point"},
    {"best_start", "1", "start of the best gait: 0, 1, ... cold, -1 from the trajectory of the parent"},
    {"optima", "1", "distinct gaits that the starts ended at"},
    {"intervals", "1", "time steps of the mesh that the cost is of"},
    {"refinement_change", "1", "relative change of the cost by the last refinement; 0 where there was none"},
};
struct Metric {  // places in that list
  enum { iterations = 17, starts, starts_solved, best_start, optima, intervals, refinement_change };
};
constexpr std::size_t optima_channel = 8;

// What the settings say of the search for a gait.
struct Search {
  int cold = 1;              // starts, divided among
  int parts = 1;             // tasks of the farm
  int coarse_intervals = 0;  // cold starts are first solved on so many, 0: on all;
  int candidates = 1;        // the best so many come to all
  int shifts = 0;
  int refinements = 0;
  double refine_tolerance = 0.0;
  nlp::Options options;
};

// Checksum of a text (Fowler, Noll, Vo: FNV-1a, 64 bits).
std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// One of the distinct gaits that the starts of a design ended at.
struct Optimum {
  double cost = 0.0;
  int count = 0;  // of the starts
  double residual = 0.0;
  Eigen::VectorXd joints;  // at all nodes
};

// The same gait: of the same cost (relative 1e-6) and motion (1e-3 rad, root mean square).
bool same(const Optimum& a, const Optimum& b) {
  return std::abs(a.cost - b.cost) <= 1e-6 * std::abs(a.cost) &&
         (a.joints - b.joints).norm() <= 1e-3 * std::sqrt(static_cast<double>(a.joints.size()));
}

// Adds a gait to a list of distinct ones, the best first.
void add(std::vector<Optimum>& optima, Optimum found) {
  for (Optimum& known : optima)
    if (same(known, found)) {
      found.count += known.count;
      known.count = found.count;
      if (found.cost < known.cost) known = std::move(found);
      return;
    }
  optima.insert(std::upper_bound(optima.begin(), optima.end(), found,
                                 [](const Optimum& a, const Optimum& b) { return a.cost < b.cost; }),
                std::move(found));
}

// The matrices [optimum, cost count residual distance] and [optimum, joint coordinates of all nodes], and back.
Eigen::MatrixXd table(const std::vector<Optimum>& optima, int rows) {
  Eigen::MatrixXd m = Eigen::MatrixXd::Constant(rows, 4, not_a_number);
  for (int i = 0; i < rows && i < static_cast<int>(optima.size()); ++i) {
    const Optimum& o = optima[static_cast<std::size_t>(i)];
    m.row(i) << o.cost, o.count, o.residual,
        (o.joints - optima.front().joints).norm() / std::sqrt(static_cast<double>(o.joints.size()));
  }
  return m;
}
Eigen::MatrixXd joints_of(const std::vector<Optimum>& optima) {
  Eigen::MatrixXd m(static_cast<Eigen::Index>(optima.size()), optima.empty() ? 0 : optima.front().joints.size());
  for (std::size_t i = 0; i < optima.size(); ++i) m.row(static_cast<Eigen::Index>(i)) = optima[i].joints.transpose();
  return m;
}

class GaitEvaluator final : public Evaluator {
 public:
  explicit GaitEvaluator(const Settings& settings) : settings_(settings) {
    for (const Variable& variable : settings.variables)
      if (variable.name == "shank-fraction" && settings.text("gait.legs") != "mass-split")
        throw settings.error("gait.legs", "design.shank-fraction is free, which takes legs = mass-split");
    gait_settings_.intervals = settings.integer("gait.intervals");
    gait_settings_.absolute_work = settings.real("gait.absolute-work");
    gait_settings_.positive_work = settings.real("gait.positive-work");
    gait_settings_.squared_torque = settings.real("gait.squared-torque");
    if (gait_settings_.absolute_work == 0.0 && gait_settings_.positive_work == 0.0 &&
        gait_settings_.squared_torque == 0.0)
      throw settings.error("gait.squared-torque",
                           "every weight of the cost is 0; at least one of absolute-work, "
                           "positive-work and squared-torque must be positive");
    gait_settings_.clearance = settings.real("gait.clearance");
    gait_settings_.clearance_points = settings.integer("gait.clearance-points");
    gait_settings_.step_width = settings.real("gait.step-width");
    gait_settings_.leg_radius = settings.real("gait.leg-radius");
    gait_settings_.crossing_free = settings.real("gait.crossing-free");
    gait_settings_.crossing_points = settings.integer("gait.crossing-points");
    if (const double limit = settings.real("gait.torque-limit"); limit > 0.0) gait_settings_.torque_limit = limit;
    if (const double limit = settings.real("gait.rate-limit"); limit > 0.0) gait_settings_.rate_limit = limit;
    gait_settings_.knee_stops = settings.boolean("gait.knee-stops");
    gait_settings_.unilateral = settings.text("gait.contact") != "free";
    if (settings.text("gait.contact") == "friction-cone") gait_settings_.friction = settings.real("gait.friction");

    search_.cold = settings.integer("gait.starts");
    search_.parts = settings.integer("gait.parts");
    if (search_.parts > search_.cold)
      throw settings.error("gait.parts", "there are no more than gait.starts = " + std::to_string(search_.cold));
    search_.shifts = settings.integer("gait.shifts");
    search_.coarse_intervals = settings.integer("gait.coarse-intervals");
    search_.candidates = settings.integer("gait.candidates");
    if (search_.coarse_intervals == 1 || search_.coarse_intervals >= gait_settings_.intervals)
      throw settings.error("gait.coarse-intervals", "allowed are 0 and 2 to less than gait.intervals = " +
                                                        std::to_string(gait_settings_.intervals));
    search_.refine_tolerance = settings.real("gait.refine-tolerance");
    search_.refinements = search_.refine_tolerance > 0.0 ? settings.integer("gait.refinements") : 0;
    const std::string solver = settings.text("gait.solver");
    search_.options.backend = solver == "slsqp"   ? nlp::Backend::slsqp
                              : solver == "ipopt" ? nlp::Backend::ipopt
                                                  : nlp::Backend::native;
    if (!nlp::available(search_.options.backend))
      throw settings.error("gait.solver", "this build has no Ipopt; allowed are native and slsqp");
    search_.options.tolerance = settings.real("gait.tolerance");
    search_.options.max_iterations = settings.integer("gait.max-iterations");
    search_.options.max_seconds = settings.real("gait.start-seconds");

    read_model();
    Eigen::VectorXd middle(static_cast<Eigen::Index>(settings.variables.size()));
    for (std::size_t i = 0; i < settings.variables.size(); ++i)
      middle(static_cast<Eigen::Index>(i)) = 0.5 * (settings.variables[i].lower + settings.variables[i].upper);
    numbers(middle);  // says what is wrong with it
    // In space such starts need twice the iterations and missed the spatial biped's best gait at a knee of 0.4 m.
    if (walker_->base == 2) search_.options.push = dmoc::push_of_cold_start;
  }

  std::vector<Quantity> metrics() const override { return metric_list; }

  Channels channels() const override {
    const int K = gait_settings_.intervals;
    const auto& q = walker_->coordinate_names;
    const auto& u = walker_->input_names;
    const std::vector<std::string> force = walker_->base == 2 ? std::vector<std::string>{"tangential", "normal"}
                                                              : std::vector<std::string>{"forward", "left", "normal"};
    return {
        {"t", "s", "time since touch-down", K + 1, {"t"}},
        {"q", "", "position of the stance foot (m), joint angles (rad)", K + 1, q},
        {"p", "",
         "discrete momenta (N s for the foot, N m s for the joints): leaving at the first node, arriving at the others",
         K + 1, q},
        {"u", "N m", "torques, constant over an interval", K, u},
        {"contact_force", "N", "force of the ground on the stance foot", K + 1, force},
        {"energy", "J", "discrete energy of an interval", K, {"energy"}},
        {"points", "m", "the stance foot and the ends of the links", K + 1, walker_->point_names},
        {"impulse", "N s", "impulse of the ground on the new foot at touch-down", 1, force},
        {"optima",
         "",
         "distinct gaits that the starts ended at, the best first: how many starts, KKT residual, distance to the best "
         "(rad, root mean square)",
         optima_rows(),
         {"cost", "count", "residual", "distance"}},
    };
  }

  Outcome evaluate(const Task& task) const override;
  std::vector<std::pair<std::string, std::string>> reads() const override {
    if (!from_file_) return {};
    char checksum[17];
    std::snprintf(checksum, sizeof checksum, "%016llx", static_cast<unsigned long long>(fnv1a(model_text_)));
    return {{"gait.model-checksum", checksum}};
  }
  int parts() const override { return search_.parts; }
  Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const override;
  std::string report(const Outcome& outcome) const override;
  std::string details() const override;

 private:
  void read_model();
  int optima_rows() const { return search_.cold + 2; }  // and that of a parent, and one found by bending
  // The model's numbers for a design, with their gradients, and its gait problem. Throw ConfigError where the model
  // refuses the design.
  std::vector<Coefficient> numbers(const Eigen::VectorXd& design) const;
  Gait gait(const Eigen::VectorXd& design, int intervals) const;
  nlp::Solution solve(const Gait& problem, const Eigen::VectorXd& x0, const Task& task,
                      const nlp::Options& options) const;
  Coefficient parameter(const std::string& name, const Eigen::VectorXd& design) const {
    Coefficient c(settings_.design(name, design));
    for (std::size_t i = 0; i < settings_.variables.size(); ++i)
      if (settings_.variables[i].name == name)
        c.gradient = Eigen::VectorXd::Unit(design.size(), static_cast<Eigen::Index>(i));
    return c;
  }

  Settings settings_;
  dmoc::GaitSettings gait_settings_;
  Search search_;
  std::string model_, model_text_;
  bool from_file_ = false;
  std::shared_ptr<const dmoc::Walker> walker_;

  // Where the time of the solves went that this process did, for details().
  mutable nlp::Timing timing_;
  mutable double seconds_ = 0.0;
  mutable int solves_ = 0, iterations_ = 0;
};

// Walkers that have these settings; any other model says these things itself.
const std::vector<std::string> built_in_walkers = {"planar-biped", "planar-biped-tree", "planar-underactuated", "spatial-biped"};
const std::vector<std::string> built_in_keys = {
    "gait.leg-length", "gait.legs",     "gait.linear-density", "gait.shank-mass",     "gait.thigh-mass",
    "gait.leg-mass",   "gait.hip-mass", "gait.gravity",        "gait.inertia-factor", "gait.rotation"};

void GaitEvaluator::read_model() {
  model_ = settings_.path("gait.model");
  from_file_ = std::find(built_in_walkers.begin(), built_in_walkers.end(), model_) == built_in_walkers.end();
  try {
    model_text_ = systems::model_text(model_);
  } catch (const ConfigError& error) {
    throw settings_.error("gait.model", error.what());
  }
  if (!from_file_) {  // "spherical ZXY": the order of the turns
    const std::string order = settings_.text("gait.rotation");
    for (std::size_t at = 0; (at = model_text_.find("spherical ZXY", at)) != std::string::npos; ++at)
      model_text_.replace(at + 10, 3, order);
  }
  systems::Model model = systems::read_model(model_text_, model_, false);
  if (model.structure.actuators.empty()) model.fail(0, "no [actuator NAME], so it cannot walk");
  walker_ = std::make_shared<const dmoc::Walker>(std::move(model));
  if (!from_file_) return;
  for (const Setting& setting : settings_.all)
    if (setting.source != "default" &&
        std::find(built_in_keys.begin(), built_in_keys.end(), setting.key.name) != built_in_keys.end())
      throw settings_.error(setting.key.name, "is for the walkers that come with the program; " + model_ +
                                                  " says it itself, in its [parameters]");
  for (const Setting& setting : settings_.all)
    if (walker_->system->model().parameter("knee") < 0 && setting.source != "default" &&
        setting.key.name.starts_with("design.knee"))
      throw settings_.error(setting.key.name, model_ + " has no parameter 'knee' in its [parameters]");
}

std::vector<Coefficient> GaitEvaluator::numbers(const Eigen::VectorXd& design) const {
  const Coefficient knee = parameter("knee", design), leg(settings_.real("gait.leg-length"));
  const Coefficient density(settings_.real("gait.linear-density"));
  const bool uniform = settings_.text("gait.legs") == "uniform-density";
  const bool split = settings_.text("gait.legs") == "mass-split";
  const Coefficient leg_mass(settings_.real("gait.leg-mass")),
      split_mass = leg_mass * parameter("shank-fraction", design);
  const Coefficient shank_mass = split     ? split_mass
                                 : uniform ? density * knee
                                           : Coefficient(settings_.real("gait.shank-mass"));
  const Coefficient thigh_mass = split     ? leg_mass - split_mass
                                 : uniform ? density * (leg - knee)
                                           : Coefficient(settings_.real("gait.thigh-mass"));
  std::map<std::string, Coefficient> given;
  const systems::Model& model = walker_->system->model();
  const auto give = [&](const char* name, const Coefficient& value) {
    if (model.parameter(name) >= 0) given[name] = value;
  };
  give("knee", knee);
  if (!from_file_) {
    give("leg", leg);
    give("shank_mass", shank_mass);
    give("thigh_mass", thigh_mass);
    give("hip_mass", settings_.real("gait.hip-mass"));
    give("inertia_factor", settings_.real("gait.inertia-factor"));
    give("gravity", settings_.real("gait.gravity"));
  }
  std::vector<Coefficient> all = walker_->numbers(given);
  model.check_walker(model.tree<Coefficient>(all).plain());
  return all;
}

Gait GaitEvaluator::gait(const Eigen::VectorXd& design, int intervals) const {
  dmoc::GaitSettings settings = gait_settings_;
  settings.intervals = intervals;
  settings.step_length = parameter("step-length", design);
  settings.period = parameter("period", design);
  return Gait(walker_, numbers(design), settings);
}

// One generator step of SplitMix64 (Steele, Lea, Flood 2014): the seeds of the starts from that of the evaluation.
std::uint64_t seed_of_start(std::uint64_t seed, int start) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(start) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::string text(const char* format, double a, double b = 0.0, double c = 0.0) {
  char line[256];
  std::snprintf(line, sizeof line, format, a, b, c);
  return line;
}

// Joint coordinates of all nodes.
Eigen::VectorXd joints(const Gait& problem, const Eigen::VectorXd& x) {
  const int each = problem.walker().joints, nodes = problem.index().intervals + 1;
  Eigen::VectorXd theta(each * nodes);
  for (int k = 0; k < nodes; ++k) theta.segment(each * k, each) = x.segment(problem.index().theta(k), each);
  return theta;
}

// A refined motion on the mesh of the study: of nodes every so-manieth, of intervals the mean of so many.
Eigen::MatrixXd every(int stride, const Eigen::MatrixXd& nodes) {
  Eigen::MatrixXd m((nodes.rows() - 1) / stride + 1, nodes.cols());
  for (Eigen::Index k = 0; k < m.rows(); ++k) m.row(k) = nodes.row(stride * k);
  return m;
}
Eigen::MatrixXd mean_of(int stride, const Eigen::MatrixXd& of_intervals) {
  Eigen::MatrixXd m(of_intervals.rows() / stride, of_intervals.cols());
  for (Eigen::Index k = 0; k < m.rows(); ++k) m.row(k) = of_intervals.middleRows(stride * k, stride).colwise().mean();
  return m;
}

// One solve, within the time that is left.
nlp::Solution GaitEvaluator::solve(const Gait& problem, const Eigen::VectorXd& x0, const Task& task,
                                   const nlp::Options& options) const {
  nlp::Options limited = options;
  limited.max_seconds = std::min(options.max_seconds, std::max(task.seconds_left(), 1e-3));
  nlp::Solution solution = nlp::solve(problem.problem(), x0, limited);
  ++solves_;
  iterations_ += solution.iterations;
  seconds_ += solution.seconds;
  timing_.functions += solution.timing.functions;
  timing_.derivatives += solution.timing.derivatives;
  timing_.factorisation += solution.timing.factorisation;
  timing_.factorisations += solution.timing.factorisations;
  return solution;
}

Outcome GaitEvaluator::evaluate(const Task& task) const {
  Outcome outcome{task.evaluation, {}};
  Evaluation& e = outcome.evaluation;
  const double leg = settings_.real("gait.leg-length"), knee = settings_.design("knee", e.design),
               step = settings_.design("step-length", e.design), period = settings_.design("period", e.design);
  e.status = Status::failed;
  if (!from_file_ && !(knee > 0.0 && knee < leg)) {
    e.reason = text("invalid design: knee = %g m is not between 0 and the leg length %g m", knee, leg);
    return outcome;
  }
  if (!(step > 0.0) || (!from_file_ && step >= 2.0 * leg) || !(period > 0.0)) {
    e.reason = text("invalid design: step length %g m and period %g s with legs of %g m", step, period, leg);
    return outcome;
  }

  std::optional<Gait> built, built_coarse;
  try {
    built.emplace(gait(e.design, gait_settings_.intervals));
    if (search_.coarse_intervals > 0) built_coarse.emplace(gait(e.design, search_.coarse_intervals));
  } catch (const ConfigError& error) {
    e.reason = std::string("invalid design: ") + error.what();
    return outcome;
  }
  const Gait& problem = *built;
  std::optional<nlp::Solution> best;
  std::vector<Optimum> optima;
  int best_start = 0, solved = 0, tried = 0, iterations = 0;
  std::array<int, 5> ends{};
  const auto better = [](const nlp::Solution& a, const nlp::Solution& b) {
    if ((a.status == nlp::SolveStatus::solved) != (b.status == nlp::SolveStatus::solved))
      return a.status == nlp::SolveStatus::solved;
    return a.status == nlp::SolveStatus::solved ? a.objective < b.objective
                                                : a.residuals.feasibility < b.residuals.feasibility;
  };
  const auto out_of_time = [&] { return best && task.seconds_left() == 0.0; };
  // One start, on the mesh of the study or on the coarse one.
  const auto attempt = [&](const Gait& on, const Eigen::VectorXd& x0, const nlp::Options& options) {
    nlp::Solution solution = solve(on, x0, task, options);
    iterations += solution.iterations;
    return solution;
  };
  const auto count_start = [&](const nlp::Solution& solution) {
    ++tried;
    ++ends[static_cast<std::size_t>(solution.status)];
    solved += solution.status == nlp::SolveStatus::solved;
  };
  const auto keep = [&](nlp::Solution solution, int start) {
    if (solution.status == nlp::SolveStatus::solved)
      add(optima, {solution.objective, 1, solution.residuals.largest(), joints(problem, solution.x)});
    if (best && !better(solution, *best)) return;
    best = std::move(solution);
    best_start = start;
  };
  nlp::Options warm = search_.options, refined = search_.options;
  warm.warm_start = refined.warm_start = true;
  refined.barrier = dmoc::barrier_of_refined;

  // Starts in turn: first the neighbour's gait, then this part's share of the cold ones. The best solution counts.
  if (task.part == 0 && !task.warm_start.empty()) {
    nlp::Solution solution =
        attempt(problem, problem.warm_start(task.warm_start.values[1], task.warm_start.values[3]), warm);
    // multipliers of a neighbour may lead astray where its gait does not
    if (solution.status != nlp::SolveStatus::solved)
      solution =
          attempt(problem, problem.warm_start(task.warm_start.values[1], task.warm_start.values[3]), search_.options);
    count_start(solution);
    keep(std::move(solution), -1);
  }
  struct Coarse {
    nlp::Solution solution;
    int start;
  };
  std::vector<Coarse> coarse;  // the best first
  for (int start = task.part; start < search_.cold && !out_of_time(); start += search_.parts) {
    const Gait& on = built_coarse ? *built_coarse : problem;
    nlp::Solution solution = attempt(on, on.cold_start(seed_of_start(e.seed, start)), search_.options);
    count_start(solution);
    if (!built_coarse) {
      keep(std::move(solution), start);
      continue;
    }
    const auto after = std::find_if(coarse.begin(), coarse.end(),
                                    [&](const Coarse& known) { return better(solution, known.solution); });
    coarse.insert(after, {std::move(solution), start});
  }
  // Of the coarse gaits the best ones come to the mesh of the study, each optimum once.
  int candidates = 0;
  for (std::size_t i = 0; i < coarse.size() && candidates < search_.candidates && !out_of_time(); ++i) {
    const nlp::Solution& found = coarse[i].solution;
    if (i > 0 && (found.status != nlp::SolveStatus::solved ||
                  found.objective - coarse[i - 1].solution.objective <= 1e-6 * std::abs(found.objective)))
      continue;
    ++candidates;
    nlp::Solution solution = attempt(problem, problem.refined(built_coarse->motion(found.x)), refined);
    if (solution.status != nlp::SolveStatus::solved)
      solution = attempt(problem, problem.cold_start(seed_of_start(e.seed, coarse[i].start)), search_.options);
    keep(std::move(solution), coarse[i].start);
  }
  if (!coarse.empty() && optima.empty() && solved > 0) {
    ends = {};  // none of them is a gait of the study's mesh
    ends[static_cast<std::size_t>(best->status)] = tried;
    solved = 0;
  } else if (!optima.empty()) {
    solved = std::max(solved, 1);
  }

  // The best gait, bent in time, for as long as that finds a better one: see Gait::shifted.
  for (bool improved = solved > 0 && search_.shifts > 0; improved;) {
    improved = false;
    const dmoc::GaitMotion motion = problem.motion(best->x);
    for (int i = 0; i < 2 * search_.shifts && !improved && !out_of_time(); ++i) {
      const double nodes = (i % 2 ? -1.0 : 1.0) * (1 + i / 2);
      nlp::Solution solution = attempt(problem, problem.shifted(motion, nodes), refined);
      improved = solution.status == nlp::SolveStatus::solved && solution.objective < (1.0 - 1e-9) * best->objective;
      if (improved) keep(std::move(solution), best_start);
    }
  }

  // Twice as many intervals, until that changes the cost by less than the tolerance.
  int intervals = gait_settings_.intervals;
  double change = 0.0;
  std::optional<Gait> fine;
  for (int i = 0; solved > 0 && i < search_.refinements && !out_of_time(); ++i) {
    Gait finer = gait(e.design, 2 * intervals);
    nlp::Solution solution = attempt(finer, finer.refined((fine ? *fine : problem).motion(best->x)), refined);
    if (solution.status != nlp::SolveStatus::solved) {
      e.reason = "the gait of " + std::to_string(intervals) + " intervals could not be refined: " + solution.reason;
      break;
    }
    change = solution.objective / best->objective - 1.0;
    best = std::move(solution);
    fine.emplace(std::move(finer));
    intervals *= 2;
    if (std::abs(change) <= search_.refine_tolerance) break;
  }
  const Gait& last = fine ? *fine : problem;

  const auto count = [&](nlp::SolveStatus status) { return ends[static_cast<std::size_t>(status)]; };
  if (solved > 0 && out_of_time()) {
    e.status = Status::timed_out;
    e.reason = "time limit; the best so far, of " + std::to_string(tried) + " starts";
  } else if (solved > 0) {
    e.status = Status::ok;
  } else if (count(nlp::SolveStatus::infeasible) == tried) {
    e.status = Status::infeasible;
    e.reason = "no gait satisfies the constraints from any of " + std::to_string(tried) + " starts: " + best->reason;
    return outcome;
  } else {
    e.status = count(nlp::SolveStatus::timed_out) > 0     ? Status::timed_out
               : count(nlp::SolveStatus::failed) == tried ? Status::failed
                                                          : Status::not_converged;
    e.reason = "none of " + std::to_string(tried) + " starts converged; the most feasible: " + best->reason;
  }
  if (e.status == Status::failed || !best->x.allFinite()) return outcome;

  e.cost = best->objective;
  if (e.status == Status::ok) {
    // Envelope theorem: at a solution d cost / d design is the partial derivative of the Lagrangian.
    e.gradient = last.problem().design_gradient(best->x, best->multipliers, static_cast<int>(e.design.size()));
  }

  const dmoc::GaitReport r = last.report(best->x);
  e.metrics.resize(static_cast<Eigen::Index>(metric_list.size()));
  e.metrics << r.absolute_work, r.positive_work, r.signed_work, r.squared_torque, r.largest_torque,
      r.smallest_normal_force, r.largest_friction_ratio, r.normal_impulse, r.impulse_friction_ratio,
      r.smallest_clearance, r.smallest_knee_flexion, r.smallest_leg_distance, r.leg_crossings, r.impact_loss,
      r.energy_balance, r.reintegration_error, best->residuals.largest(), iterations, tried, solved, best_start,
      static_cast<double>(optima.size()), intervals, change;

  const dmoc::GaitMotion m = last.motion(best->x);
  const int stride = intervals / gait_settings_.intervals;
  outcome.trajectory.values = {every(stride, m.t),
                               every(stride, m.q),
                               every(stride, m.p),
                               mean_of(stride, m.u),
                               every(stride, m.contact_force),
                               mean_of(stride, m.energy),
                               every(stride, m.points),
                               m.impulse.transpose(),
                               table(optima, optima_rows())};
  if (search_.parts > 1) outcome.trajectory.values.push_back(joints_of(optima));
  return outcome;
}

// The parts' best is the best; their optima are told apart and their counts added up.
Outcome GaitEvaluator::join(const Evaluation&, std::vector<Outcome> parts) const {
  const auto has_cost = [](const Outcome& o) { return std::isfinite(o.evaluation.cost); };
  std::stable_sort(parts.begin(), parts.end(), [&](const Outcome& a, const Outcome& b) {
    if (a.evaluation.ok() != b.evaluation.ok()) return a.evaluation.ok();
    if (has_cost(a) != has_cost(b)) return has_cost(a);
    return a.evaluation.cost < b.evaluation.cost;
  });
  Outcome whole = parts.front();
  if (whole.trajectory.empty()) return whole;
  std::vector<Optimum> distinct;
  Eigen::VectorXd& sums = whole.evaluation.metrics;
  for (const int i : {Metric::iterations, Metric::starts, Metric::starts_solved}) sums(i) = 0.0;
  int given_up = 0;
  for (const Outcome& part : parts) {
    given_up += part.evaluation.status == Status::timed_out || part.evaluation.status == Status::lost;
    if (part.trajectory.empty()) continue;
    for (const int i : {Metric::iterations, Metric::starts, Metric::starts_solved})
      sums(i) += part.evaluation.metrics(i);
    const Eigen::MatrixXd &rows = part.trajectory.values[optima_channel], &joints = part.trajectory.values.back();
    for (Eigen::Index i = 0; i < joints.rows() && i < rows.rows(); ++i)
      add(distinct, {rows(i, 0), static_cast<int>(rows(i, 1)), rows(i, 2), joints.row(i).transpose()});
  }
  sums(Metric::optima) = static_cast<double>(distinct.size());
  whole.trajectory.values.pop_back();
  whole.trajectory.values[optima_channel] = table(distinct, optima_rows());
  if (given_up > 0 && whole.evaluation.ok()) {
    whole.evaluation.status = Status::timed_out;
    whole.evaluation.reason = "time limit of " + std::to_string(given_up) + " parts; the best so far";
  }
  return whole;
}

std::string GaitEvaluator::details() const {
  if (solves_ == 0) return "";
  const double rest = seconds_ - timing_.derivatives - timing_.factorisation - timing_.functions;
  std::string s = "time of " + std::to_string(solves_) + " solves, " + std::to_string(iterations_) + " iterations\n";
  const auto line = [&](const char* what, double seconds) {
    s += std::string("  ") + what +
         text("%8.3f s  %5.1f %%  %7.3f ms an iteration\n", seconds, 100.0 * seconds / seconds_,
              1e3 * seconds / std::max(1, iterations_));
  };
  if (search_.options.backend == nlp::Backend::native) {
    line("derivatives   ", timing_.derivatives);
    line("factorisation ", timing_.factorisation);
    line("line search   ", timing_.functions);
    line("rest          ", rest);
  }
  line("all           ", seconds_);
  return s;
}

std::string GaitEvaluator::report(const Outcome& outcome) const {
  const Evaluation& e = outcome.evaluation;
  if (e.metrics.size() == 0) return "";
  const auto metric = [&](const char* name) {
    for (std::size_t i = 0; i < metric_list.size(); ++i)
      if (metric_list[i].name == name) return e.metrics(static_cast<Eigen::Index>(i));
    return not_a_number;
  };
  std::string s;
  const auto line = [&](const std::string& words) { s += "  " + words + "\n"; };

  s += "optimality\n";
  line(text("%.0f of %.0f starts converged, %.0f iterations in all", metric("starts_solved"), metric("starts"),
            metric("iterations")));
  line(text("KKT residual %.1e (tolerance %.0e)", metric("kkt_residual"), search_.options.tolerance));
  if (const double last = metric("intervals"); last > gait_settings_.intervals)
    line(text("refined to %.0f intervals; the last refinement changed the cost by %.1e, relative", last,
              metric("refinement_change")));
  if (outcome.trajectory.values.size() > optima_channel && metric("optima") > 0) {
    const Eigen::MatrixXd& rows = outcome.trajectory.values[optima_channel];
    line(text("%.0f distinct optima; cost, starts that ended there, distance to the best:", metric("optima")));
    for (Eigen::Index i = 0; i < rows.rows() && std::isfinite(rows(i, 0)); ++i)
      line(text("  %-12.6g %3.0f  %.3f rad", rows(i, 0), rows(i, 1), rows(i, 3)));
  }
  s += "work and torque\n";
  line(text("absolute work %.5g J, positive %.5g J, signed %.5g J", metric("absolute_work"), metric("positive_work"),
            metric("signed_work")));
  line(text("integral of squared torque %.5g N2 m2 s, largest torque %.4g N m", metric("squared_torque"),
            metric("largest_torque")));
  line(text("impact loss %.5g J; energy balance %.1e J (signed work less impact loss, vanishes as h^2)",
            metric("impact_loss"), metric("energy_balance")));
  s += "feasibility\n";
  const double normal = metric("smallest_normal_force"), friction = metric("largest_friction_ratio");
  line(normal > 0.0 ? text("contact force: normal at least %.4g N, friction ratio at most %.3f", normal, friction)
                    : text("contact force: NOT FEASIBLE, the ground would have to pull with %.4g N", -normal));
  const double impulse = metric("normal_impulse");
  line(impulse > 0.0
           ? text("touch-down impulse: normal %.4g N s, friction ratio %.3f", impulse, metric("impulse_friction_ratio"))
           : text("touch-down impulse: NOT FEASIBLE, the ground would have to pull with %.4g N s", -impulse));
  line(text("swing foot at least %.2e m above the ground at inner nodes", metric("smallest_clearance")));
  const double flexion = metric("smallest_knee_flexion");
  line(text("least knee flexion %.3f rad", flexion) + (flexion >= -1e-8 ? ""
                                                       : gait_settings_.knee_stops
                                                           ? " (the knee stops are violated)"
                                                           : " (a knee overextends; gait.knee-stops would forbid it)"));
  if (walker_->base == 2)
    line(text("legs cross in %.0f of %.0f time steps (they may, in the plane)", metric("leg_crossings"),
              metric("intervals")));
  else if (settings_.real("gait.leg-radius") == 0.0)
    line(text("legs at least %.4f m apart (gait.leg-radius would keep them apart)", metric("smallest_leg_distance")));
  else
    line(text(
        "legs at least %.4f m apart, between nodes too; closer than 1.8 gait.leg-radius in %.0f of %.0f time steps",
        metric("smallest_leg_distance"), metric("leg_crossings"), metric("intervals")));
  line(text("torques re-integrated forward through touch-down reproduce the angles to %.1e rad",
            metric("reintegration_error")));
  return s;
}

Key real(const char* name, const char* value, const char* unit, const char* description, double minimum, double maximum,
         bool open_minimum = false) {
  return {std::string("gait.") + name, Type::real, value, unit, description, minimum, maximum, open_minimum};
}
Key integer(const char* name, const char* value, const char* description, double minimum, double maximum) {
  return {std::string("gait.") + name, Type::integer, value, "", description, minimum, maximum};
}
Key choice(const char* name, const char* description, const std::vector<std::string>& words) {
  Key key{std::string("gait.") + name, Type::choice, words.front(), "", description};
  key.choices = words;
  return key;
}

std::unique_ptr<Evaluator> make_gait(const Settings& settings) { return std::make_unique<GaitEvaluator>(settings); }

}  // namespace

EvaluatorKind gait_kind() {
  EvaluatorKind kind;
  kind.name = "gait";
  kind.description = "cost of transport of the best periodic gait of a walker";
  kind.variables = always({
      {"knee", "m", "length of the shank: height of the knee above the foot of a straight leg", 0.5, 0.05, 0.95},
      {"step-length", "m", "length of a step", 0.56, 0.05, 1.5},
      {"period", "s", "duration of a step", 0.9, 0.1, 5.0},
      {"shank-fraction", "1", "legs = mass-split: the shank's share of a leg's mass", 0.4, 0.01, 0.99},
  });
  kind.keys = {
      {"gait.model", Type::path, "planar-biped", "",
       "planar-biped, planar-underactuated (no torque at the ground), spatial-biped, or a model file "
       "(docs/walkers.md)"},
      real("leg-length", "1", "m", "shank and thigh together", 0.1, 10.0),
      choice("legs", "how a link's mass follows from its length", {"uniform-density", "fixed-masses", "mass-split"}),
      real("linear-density", "5", "kg/m", "legs = uniform-density: mass of a link per length", 0.0, 1e3, true),
      real("shank-mass", "2", "kg", "legs = fixed-masses: mass of a shank", 0.0, 1e3, true),
      real("thigh-mass", "3", "kg", "legs = fixed-masses: mass of a thigh", 0.0, 1e3, true),
      real("hip-mass", "10", "kg", "planar-underactuated: mass of the hip, a point", 0.0, 1e3),
      real("inertia-factor", "0.041666666666666664", "1",
           "planar walkers: inertia of a link about its centre of mass, in mass x length squared", 0.0, 1.0),
      choice("rotation", "spatial-biped: turns that orient stance shank and swing thigh (z yaw, x roll, y pitch)",
             {"ZXY", "XYZ", "YXZ", "XZY", "YZX", "ZYX"}),
      real("leg-mass", "5", "kg", "legs = mass-split: mass of a leg, shank and thigh", 0.0, 1e3, true),
      real("gravity", "9.81", "m/s2", "acceleration of gravity", 0.0, 100.0, true),
      integer("intervals", "80", "time steps of one step", 4, 10000),
      real("absolute-work", "0", "1", "weight of the absolute work in the cost", 0.0, 1e6),
      real("positive-work", "0", "1", "weight of the positive work in the cost", 0.0, 1e6),
      real("squared-torque", "1", "1/(N m s)", "weight of the integral of the squared torques in the cost", 0.0, 1e6),
      real("torque-limit", "0", "N m", "limit of every torque; 0 for none", 0.0, 1e6),
      real("rate-limit", "0", "rad/s", "limit of the speed of every joint; 0 for none", 0.0, 1e6),
      {"gait.knee-stops", Type::boolean, "false", "", "knees bend one way only"},
      real("clearance", "0", "m", "height the swing foot must reach in mid-swing; 4 s (1 - s) of it at the fraction s",
           0.0, 1.0),
      integer("clearance-points", "0", "the swing foot is kept above that between nodes, too, at so many points", 0,
              100),
      real("step-width", "0.2", "m", "walkers in space: distance of the feet across the direction of walking", 0.0,
           2.0),
      real("leg-radius", "0", "m",
           "walkers in space: links of different legs stay twice this apart, thighs beyond crossing-free; 0: they may "
           "cross",
           0.0, 1.0),
      real("crossing-free", "0", "m",
           "links that share a joint (thighs) may touch up to this distance from it; 0: as far as straight legs do "
           "whose "
           "feet are step-width apart, 2 leg-radius x leg / step-width",
           0.0, 10.0),
      integer("crossing-points", "1", "the legs are kept apart between nodes, too, at so many points", 0, 100),
      choice("contact", "what the ground may do", {"free", "unilateral", "friction-cone"}),
      real("friction", "0.8", "1",
           "contact = friction-cone: coefficient of friction, of touch-down too; in space an "
           "inscribed pyramid of eight sides",
           0.0, 100.0, true),
      integer("starts", "8", "cold starts per design; the best gait counts", 1, 10000),
      integer("parts", "1", "the starts of a design are divided among so many tasks, which ranks do at the same time",
              1, 10000),
      integer("coarse-intervals", "0",
              "cold starts are first solved on so many time steps, and of each part's the best on all; 0: each on all",
              0, 10000),
      integer("candidates", "1",
              "coarse-intervals > 0: of each part's coarse gaits the best so many come to all time steps", 1, 10000),
      integer("shifts", "3", "the best gait is tried again with mid-step 1, 2, ... nodes earlier and later; 0: not", 0,
              100),
      real("refine-tolerance", "0", "1",
           "time steps of the best gait are halved until its cost changes by less, relative; 0: never", 0.0, 1.0),
      integer("refinements", "3", "at most so many times", 1, 10),
      choice("solver", "solver of the inner problem", {"native", "ipopt", "slsqp"}),
      real("tolerance", "1e-9", "1", "KKT residual a gait must reach", 1e-14, 1e-2),
      integer("max-iterations", "300", "iterations per start", 1, 1000000),
      real("start-seconds", "120", "s", "time limit per start", 0.0, 1e7, true),
  };
  kind.make = make_gait;
  return kind;
}

}  // namespace dodyn::evaluators
