#include "evaluators/hybrid/run.hpp"

#include <algorithm>
#include <cmath>

#include "record/evaluation.hpp"
#include "record/text.hpp"
#include "settings/expression.hpp"
#include "systems/mass_matrix.hpp"
#include "systems/skeleton.hpp"
#include "systems/spherical.hpp"

namespace dodyn::evaluators::hybrid {

using variational::Event;

namespace {

const std::vector<std::string> common_metrics = {"duration",      "impacts",         "first_impact",
                                                 "last_impact",   "impact_interval", "dissipated_energy",
                                                 "energy_change", "max_penetration"};
const std::vector<std::string> gait_metrics = {"period", "floquet_multiplier", "second_floquet_multiplier", "stride"};

}  // namespace

HybridRun::HybridRun(const systems::HybridModel& system, const HybridOptions& options)
    : system_(system),
      model_(system.model),
      options_(options),
      recorded_(variational::record(systems::formulation(system), options.method == Method::stoermer_verlet
                                                                      ? variational::Rule::stoermer_verlet
                                                                      : variational::Rule::midpoint)) {
  const auto& names = model_.structure.coordinate_names;
  for (const std::string& name : split_list(options.travels)) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end())
      throw ConfigError("'" + name + "' is not a coordinate" + did_you_mean(name, names) +
                        "; allowed: " + listed(names));
    travels_.push_back(at - names.begin());
  }
  options_.gait.translating_coordinates = travels_;
  if (options.method == Method::projected) projected_.emplace(system);
}

std::vector<std::string> HybridRun::all_metric_names() {
  auto all = common_metrics;
  all.insert(all.end(), gait_metrics.begin(), gait_metrics.end());
  return all;
}

std::vector<std::string> HybridRun::metric_names() const {
  return options_.find == Find::gait ? all_metric_names() : common_metrics;
}

Channels HybridRun::channels(int nodes) const {
  const auto& tree = model_.structure;
  std::vector<std::string> units, rates, contacts, ends;
  for (const auto& link : tree.links)
    for (const auto& move : link.moves) {
      units.push_back(move.kind == systems::Move::slide ? "m" : "rad");
      rates.push_back(units.back() + "/s");
    }
  for (const auto& contact : system_.pieces.contacts) contacts.push_back(contact.name);
  const std::vector<std::string> letters = {"_x", "_y", "_z"};
  for (std::size_t p = 0; p <= tree.links.size(); ++p)
    for (int i = 0; i < tree.dimension; ++i)
      ends.push_back((p == 0 ? "root" : tree.links[p - 1].name + "_end") + letters[i]);
  Channels all = {{"t", "s", "time", nodes, {"t"}},
                  {"q", "", "coordinates", nodes, tree.coordinate_names, units},
                  {"v", "", "rates of the coordinates", nodes, tree.coordinate_names, rates},
                  {"energy",
                   "J",
                   "kinetic energy, potential energy, and energy lost at events up to this time",
                   nodes,
                   {"kinetic", "potential", "dissipated_energy"}}};
  if (!contacts.empty()) {
    all.push_back({"gap", "", "gaps of the contacts (m, rad)", nodes, contacts});
    all.push_back({"contact_force", "", "forces (N, N m) of lasting contacts, along their gaps", nodes, contacts});
  }
  if (options_.method == Method::projected)
    all.push_back(
        {"z", "", "smooth coordinates before the projection; their gap may be negative", nodes, tree.coordinate_names});
  all.push_back(
      {"points", "m", "the root and the ends of the links", nodes, ends, {}, systems::joined_points(tree, "root")});
  return all;
}

// Records the rows of a trajectory.
struct HybridRun::Recorder {
  const HybridRun& run;
  const variational::Mechanics& mechanics;
  const variational::Assembly& assembly;
  const variational::HybridIntegrator& integrator;
  systems::Tree<double> tree;
  const Eigen::VectorXd& z;                            // smooth coordinates of the method `projected`
  std::vector<std::vector<std::vector<double>>> rows;  // [channel][row]

  void add(const variational::HybridState& piece) {
    const Eigen::VectorXd v = mechanics.velocity(piece.q, piece.p);
    const auto state = mechanics.state(piece.q, v);
    std::vector<std::vector<double>> row = {{piece.time},
                                            {piece.q.begin(), piece.q.end()},
                                            {v.begin(), v.end()},
                                            {state.kinetic, state.potential, integrator.dissipated_energy()}};
    if (!assembly.contacts.empty()) {
      std::vector<double> gaps;
      const auto& value = mechanics.row(piece.q).value;
      for (const auto& contact : assembly.contacts) gaps.push_back(value(contact.gap));
      row.push_back(std::move(gaps));
      Eigen::VectorXd normal, tangential;
      integrator.forces(normal, tangential);
      row.emplace_back(normal.begin(), normal.end());
    }
    if (run.projected_) row.emplace_back(z.begin(), z.end());
    row.push_back(tree.points(piece.q.data()));
    rows.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) rows[i].push_back(std::move(row[i]));
  }
  Trajectory trajectory() const {
    Trajectory all;
    for (const auto& channel : rows) {
      Eigen::MatrixXd m(channel.size(), channel.front().size());
      for (Eigen::Index i = 0; i < m.rows(); ++i)
        for (Eigen::Index j = 0; j < m.cols(); ++j) m(i, j) = channel[i][j];
      all.values.push_back(std::move(m));
    }
    return all;
  }
};

// A motion by the projected principle. The flow moves the coordinates z. After each advance, their image is stored as
// the state of the integrator, from which energies, metrics and rows are computed.
struct HybridRun::Projection {
  const systems::Projected& projected;
  const variational::Mechanics& mechanics;
  variational::HybridIntegrator& integrator;
  Eigen::VectorXd& z;  // coordinates before the projection, fixed ones included
  const systems::Projected::Instance sides;
  variational::SwitchedFlow flow;

  Projection(const HybridRun& run, const systems::Values<double>& values, const Eigen::VectorXd& q,
             const variational::Mechanics& of, variational::HybridIntegrator& into, Eigen::VectorXd& shown)
      : projected(*run.projected_),
        mechanics(of),
        integrator(into),
        z(shown),
        sides(projected.instance(values, run.options_.k)),
        flow(*sides.inside, *sides.outside, sides.law, run.options_.integrator) {
    Eigen::VectorXd z0, rate;
    projected.lift(q, integrator.velocity(), mechanics, z0, rate);
    flow.start(0.0, z0, rate);
    show();
  }
  std::string advance(double time) {
    std::string reason = flow.advance(time);
    show();
    return reason;
  }
  void show() {
    const Eigen::VectorXd image = flow.mechanics().watched(flow.now().q, flow.rate());
    const int n = mechanics.n();
    variational::HybridState piece = integrator.now();
    piece.time = flow.now().time;
    piece.q = image.head(n);
    piece.p = mechanics.mass(piece.q) * image.tail(n);
    z = projected.all_coordinates(flow.now().q);
    integrator.resume(piece);
  }
};

namespace {

double energy(const variational::Mechanics& mechanics, const variational::HybridIntegrator& integrator) {
  const auto& state = mechanics.state(integrator.now().q, integrator.velocity());
  return state.kinetic + state.potential;
}

}  // namespace

// Finds the gait, and sets the integrator to the gait's state after a reset. One stride leads from this state to the
// state just before the next reset. Sets ran.reason if no gait is found, or if the reset fails.
void HybridRun::begin_stride(const variational::Mechanics& mechanics, const variational::Assembly& assembly,
                             variational::HybridIntegrator& integrator, HybridResult& ran) const {
  ran.gait = variational::find_gait(integrator, assembly, options_.integrator, options_.gait);
  if (ran.reason = ran.gait.reason; !ran.reason.empty()) return;
  variational::HybridState begin = ran.gait.before;
  for (const int c : travels_) begin.q(c) = 0.0;
  integrator.resume(begin);
  ran.energy_before = energy(mechanics, integrator);
  ran.reason = integrator.apply_reset(ran.gait.reset);
}

namespace {

// Limit of the change of an angle in one step, rad. If a spherical joint passes beside its singular attitude, its
// angles change by half a turn.
constexpr double largest_turn_in_step = 1.0;

// Returns a sentence if an angle of a spherical or spatial joint changed by more than largest_turn_in_step; empty:
// none.
std::string turns_too_fast(const systems::Model& model, const Eigen::VectorXd& before,
                           const variational::HybridState& now) {
  for (const auto& link : model.structure.links) {
    if (!systems::is_spherical(link.moves)) continue;
    for (std::size_t i = link.moves.size() - 3; i < link.moves.size(); ++i) {
      const auto c = link.first + static_cast<Eigen::Index>(i);
      const double turn = std::abs(now.q(c) - before(c));
      if (turn > largest_turn_in_step)
        return formatted(
            "angle %s of [link %s] turns by %.2g rad in one step at t = %.4g s, as beside the attitude at which the "
            "angles are singular, so the motion after it may be wrong; shorten hybrid.step, or choose another order of "
            "the joint's axes",
            model.structure.coordinate_names[c].c_str(), link.name.c_str(), turn, now.time);
    }
  }
  return "";
}

// Returns a sentence if initial rates violate a constraint and were replaced by other rates; empty: they were not.
std::string replaced_rates(const systems::Model& model, const variational::Assembly& assembly, const Eigen::VectorXd& q,
                           const Eigen::VectorXd& v, const variational::HybridIntegrator& integrator) {
  constexpr double rounding = 1e-9;  // relative, of numbers in a text
  const auto rows = assembly.mechanics->row(q);
  const Eigen::VectorXd now = integrator.velocity();
  for (std::size_t i = 0; i < assembly.constraints.size(); ++i) {
    const Eigen::VectorXd gradient = rows.gradient.row(assembly.constraints[i]).transpose();
    if (std::abs(gradient.dot(v)) <= rounding * gradient.norm() * v.norm()) continue;
    std::string rates;
    for (Eigen::Index c = 0; c < v.size(); ++c)
      if (std::abs(now(c) - v(c)) > rounding * v.norm())
        rates += formatted("%srate(%s) = %.4g", rates.empty() ? "" : ", ", model.structure.coordinate_names[c].c_str(),
                           now(c));
    return "the initial rates violate " + assembly.constraint_names[i] +
           "; the nearest ones that satisfy it replace them: " + rates;
  }
  return "";
}

// Returns a sentence if hybrid.jump = discrete-energy applies to no contact; empty: it does, or another jump is chosen.
std::string idle_jump(const variational::Assembly& assembly, const variational::IntegratorOptions& options) {
  const auto keeps_energy = [](const auto& contact) { return contact.restitution == 1.0 && contact.friction == 0.0; };
  if (options.jump != variational::JumpLaw::discrete_energy || assembly.contacts.empty() ||
      std::ranges::any_of(assembly.contacts, keeps_energy))
    return "";
  return "hybrid.jump = discrete-energy has no effect: it applies to contacts without friction whose restitution is 1";
}

}  // namespace

// Runs to `end`, and records nodes or, with `every_step`, all steps.
void HybridRun::drive(double end, bool every_step, variational::HybridIntegrator& integrator, Projection* projection,
                      Recorder& recorder, HybridResult& ran) const {
  int impacts = 0;
  const auto last = [&](const Event& event) {
    impacts += event.kind == Event::impact;
    return event.kind == Event::impact && impacts == options_.impacts;
  };
  recorder.add(integrator.now());
  if (every_step) integrator.observer = [&](const variational::HybridState& piece) { recorder.add(piece); };
  const int intervals = options_.nodes - 1;
  const double node = end / intervals;
  const int steps = std::max(1, static_cast<int>(std::ceil(node / options_.integrator.step - 1e-9)));
  for (int k = 0; k < intervals && ran.reason.empty() && !integrator.stopped(); ++k) {
    for (int i = 1; i <= steps && ran.reason.empty() && !integrator.stopped(); ++i) {
      const double time = k * node + node * i / steps;
      const Eigen::VectorXd before = integrator.now().q;
      ran.reason = projection ? projection->advance(time) : integrator.advance(time, last);
      ++ran.steps;
      if (ran.warning.empty()) ran.warning = turns_too_fast(model_, before, integrator.now());
      if (every_step && ran.reason.empty() && !integrator.stopped()) recorder.add(integrator.now());
    }
    if (!every_step && ran.reason.empty()) recorder.add(integrator.now());
  }
  if (!every_step)  // after an early end the last row is repeated
    while (ran.reason.empty() && std::ssize(recorder.rows[0]) < options_.nodes) recorder.add(integrator.now());
}

HybridResult HybridRun::run(const systems::Values<double>& values, const std::vector<double>& start,
                            bool every_step) const {
  HybridResult ran;
  const variational::Mechanics mechanics(recorded_, values.numbers);
  const variational::Assembly assembly = systems::assembly(system_, values, mechanics);
  variational::HybridIntegrator integrator(assembly, options_.integrator);
  const int n = model_.structure.n();
  Eigen::VectorXd q = Eigen::VectorXd::Zero(n), v = q;
  for (const auto& one : system_.pieces.start)
    (one.rate ? v : q)(one.coordinate) = systems::Model::at(one.value, values.numbers);
  for (int i = 0; i < 2 * n; ++i)
    if (const double x = start[i]; std::isfinite(x)) (i < n ? q(i) : v(i - n)) = x;
  const systems::Tree<double> tree = model_.tree<double>(values.numbers);
  if (const auto massless = systems::massless_coordinates(tree, {q.data(), static_cast<std::size_t>(n)});
      !massless.empty())
    ran.reason = systems::massless_text(tree, massless.front());
  if (ran.reason.empty()) ran.reason = integrator.start(0.0, q, v);
  if (!ran.reason.empty()) {
    ran.bad_start = true;
    return ran;
  }
  ran.warning = replaced_rates(model_, assembly, q, v, integrator);
  if (ran.warning.empty()) ran.warning = idle_jump(assembly, options_.integrator);
  double end = options_.end;
  if (options_.find == Find::gait) {
    begin_stride(mechanics, assembly, integrator, ran);
    if (!ran.reason.empty()) return ran;
    end = ran.gait.period;
    integrator.applies_resets = false;  // the next one belongs to the next stride
  } else {
    ran.energy_before = energy(mechanics, integrator);
  }
  Eigen::VectorXd z;
  Recorder recorder{*this, mechanics, assembly, integrator, model_.tree(values.numbers), z, {}};
  std::optional<Projection> projection;
  if (projected_) {
    projection.emplace(*this, values, q, mechanics, integrator, z);
    ran.k = projection->sides.k;
    ran.least_k = projection->sides.least_k;
  }
  drive(end, every_step, integrator, projection ? &*projection : nullptr, recorder, ran);
  ran.energy_after = energy(mechanics, integrator);
  ran.events = integrator.events();
  if (projection)
    for (const double time : projection->flow.crossings()) ran.events.push_back({Event::impact, time, 0, 0.0});
  ran.trajectory = recorder.trajectory();
  measure(integrator, ran);
  return ran;
}

// Fills `ran.seen`: events, energies, and coordinates and rates at the end.
void HybridRun::measure(const variational::HybridIntegrator& integrator, HybridResult& ran) const {
  double first = not_a_number, late = not_a_number, tick = not_a_number;
  int impacts = 0;
  for (const Event& event : ran.events) {
    if (event.kind != Event::impact) continue;
    ++impacts;
    if (std::isfinite(late)) tick = event.time - late;
    late = event.time;
    if (!std::isfinite(first)) first = event.time;
  }
  ran.dissipated_energy = integrator.dissipated_energy();
  ran.reset_energy = integrator.reset_energy();
  const auto& now = integrator.now();
  ran.seen = {{"duration", now.time},
              {"impacts", impacts},
              {"first_impact", first},
              {"last_impact", late},
              {"impact_interval", tick},
              {"dissipated_energy", ran.dissipated_energy},
              {"energy_change", ran.energy_change()},
              {"max_penetration", std::max(0.0, integrator.max_penetration())}};
  if (options_.find == Find::gait) {
    const auto size = [&](std::size_t i) {
      return i < ran.gait.multipliers.size() ? std::abs(ran.gait.multipliers[i]) : 0.0;
    };
    ran.seen["period"] = ran.gait.period;
    ran.seen["floquet_multiplier"] = size(0);
    ran.seen["second_floquet_multiplier"] = size(1);
    ran.seen["stride"] = travels_.empty() ? 0.0 : ran.gait.stride(travels_.front());
  }
  const Eigen::VectorXd rates = integrator.velocity();
  for (int i = 0; i < model_.structure.n(); ++i) {
    const std::string& name = model_.structure.coordinate_names[i];
    ran.seen[name] = now.q(i);
    ran.seen["rate(" + name + ")"] = rates(i);
  }
}

std::string HybridRun::event_name(const Event& event) const {
  const auto contact = [&] { return system_.pieces.contacts[event.which].name; };
  switch (event.kind) {
    case Event::impact:
      return "impact of " + contact();
    case Event::reset:
      return "reset " + system_.pieces.resets[event.which].name;
    case Event::lift_off:
      return contact() + " lifts off";
    case Event::slip:
      return contact() + " slips";
    case Event::stick:
      return contact() + " stops slipping";
    case Event::rest:
      return contact() + " comes to rest";
    case Event::touch:
      return contact() + " stays closed";
  }
  return "";
}

}  // namespace dodyn::evaluators::hybrid
