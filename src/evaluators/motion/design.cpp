#include "evaluators/motion/design.hpp"

#include <algorithm>
#include <cmath>

#include "evaluators/dimensions.hpp"
#include "evaluators/examination.hpp"
#include "evaluators/parameters.hpp"
#include "record/text.hpp"
#include "settings/units.hpp"
#include "systems/sections.hpp"

namespace dodyn::evaluators {

using dmoc::Coefficient;

namespace {

// How many times longer or shorter than planned a piece between contacts may be.
constexpr double piece_stretch = 8.0;

systems::HybridModel model_of(const NamedModel& named) {
  systems::HybridModel system = systems::read_piece_model(named.text, named.path);
  systems::check_honoured(system.model, "motion");
  return system;
}

}  // namespace

std::vector<DesignVariable> motion_variables(const Settings& so_far) {
  std::vector<DesignVariable> all;
  if (so_far.text("motion.model").empty()) {
    if (so_far.file.empty()) return all;  // --help: no configuration says which
    throw ConfigError(so_far.file +
                      ": motion.model is missing; allowed: a model that comes with the program, or a file");
  }
  const systems::Model model = model_of(named_model(so_far, "motion.model")).model;
  all = parameter_variables(model);
  for (const CustomSection* section : so_far.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries) {
      if (model.parameter(entry.key) >= 0)
        throw entry.error("is a parameter of the model; set it by design." + entry.key);
      const Expression e = entry.parsed();
      DesignVariable v{
          entry.key, stated_unit(entry.value), "of the motion", e.is_constant() ? e.constant() : 0.0, -1e308, 1e308};
      if (!e.is_constant()) v.formula = entry.value;
      all.push_back(std::move(v));
    }
  return all;
}

std::vector<ini::SectionKind> motion_sections() {
  using Name = ini::SectionKind::Name;
  const auto kind = [](const char* name, Name named, const char* description) {
    return ini::SectionKind{.kind = name, .name = named, .any_key = true, .description = description};
  };
  return {
      kind("parameters", Name::none, "parameters of the motion, beside the model's: NAME = expression"),
      {.kind = "phase",
       .name = Name::required,
       .keys = {"fixed", "hold", "intervals", "duration", "require"},
       .description =
           "a phase, in the order of the motion: what is fixed at zero (a point that is the model's foot, or "
           "coordinates), what is held where it is (POINT, POINT - POINT, or expressions of positions), "
           "intervals, duration (s, or SHORTEST .. LONGEST), require (conditions, by commas)"},
      {.kind = "contact",
       .name = Name::required,
       .keys = {"phase", "node", "touch", "law", "release"},
       .needed = {"node", "touch"},
       .description =
           "a contact on schedule: phase (where there are several), node, touch = POINT or SHAPE, SHAPE [+x, "
           "-x, ...] or edges SHAPE, SHAPE, law = restitution E, stick, slide, stay, friction MU (by commas), release "
           "= the node at which it "
           "stays no longer"},
      kind("periodic", Name::none,
           "the motion repeats itself, these coordinates ahead: COORDINATE = expression; reset = NAME of the "
           "model's, as which its end is seen; period = expression, s: what its phases last together"),
      kind("initial-state", Name::none,
           "given at the start: COORDINATE = expression, rate(COORDINATE) = expression; LINK = pose, place, turn, "
           "velocity, spin, rest; LINK from LINK = the same; momentum = 0; require = conditions, by commas"),
      kind("goal", Name::none, "given at the end, the same; cost = expression, a term of the cost besides"),
      {.kind = "waypoint",
       .name = Name::required,
       .any_key = true,
       .description = "a point that initial guesses go by: share = of the time that has passed, and what "
                      "[initial-state] may have"},
      kind("avoid", Name::none,
           "who keeps clear of whom: LINK, LINK = margin (m); max-rotation = of a link in an interval (rad); "
           "growth-steps = "
           "steps in which bodies are grown from small ones"),
      kind("guess", Name::none, "about which initial guesses are made: COORDINATE = expression"),
      kind("cost", Name::none,
           "weights of squared-control, absolute-work, positive-work, loss, time; per = expression divides all; any "
           "other "
           "NAME = an expression whose integral counts"),
      kind("require", Name::none, "NAME = a condition of parameters that a design must meet")};
}

const KeyTable<MotionKeys>& motion_keys() {
  using M = MotionKeys;
  static const KeyTable<M> table =
      KeyTable<M>("motion.")
          .add("model", &M::model, {.type = Type::path, .description = "the system: a model (docs/models.md)"})
          .add("order", &M::order, {{"2", 2}, {"4", 4}, {"6", 6}},
               {.description =
                    "order of the integrator: the error of the mesh falls with this power of the interval. An interval "
                    "has order/2 controls, and order/2 - 1 knots between its nodes"})
          .add("steps", &M::steps,
               {.description = "dodyn simulate: steps of the contact simulation in an interval of the motion",
                .minimum = 1,
                .maximum = 10000,
                .identity = false})
          .add("first-guess", &M::simulated, {{"straight", false}, {"simulated", true}},
               {.description =
                    "start 0 goes straight by the way points, or as bodies go that nothing drives, through the "
                    "contact simulation"})
          .add("contact", &M::penalty, {{"schedule", false}, {"penalty", true}},
               {.description = "contacts happen at their nodes, by an impulse, or push by an energy of overlap"})
          .add("contact-corners", &M::corners, {{"search", true}, {"lowest", false}},
               {.description =
                    "of a contact of a shape: each other corner is tried near the best motion, on a coarse mesh, "
                    "or the one that is lowest in the initial guess touches"})
          .add("contact-planes", &M::node_planes, {{"interval", false}, {"node", true}},
               {.description =
                    "of [avoid] between two bodies that touch on schedule and both move: a separating plane per "
                    "interval, which stops bodies that move on together, or per node, which fewer initial "
                    "guesses solve"})
          .add("contact-stiffness", &M::stiffness,
               {.unit = "N/m",
                .description = "of a contact by penalty: C of the energy C/2 overlap^2 of every corner",
                .minimum = 1e-6,
                .maximum = 1e12})
          .add("contact-width", &M::width,
               {.unit = "m",
                .description = "of a contact by penalty: over which its force sets in smoothly",
                .minimum = 1e-9,
                .maximum = 1.0});
  return table;
}

MotionDesigns::MotionDesigns(const Settings& settings) : settings_(settings), keys_(motion_keys().read(settings)) {
  const NamedModel named = named_model(settings, "motion.model");
  text_ = named.text;
  systems::HybridModel read = model_of(named);
  check_dimensions(settings, read.model);
  const bool directors = read.model.dimension == 3 && keys_.order == 2;
  system_ =
      std::make_shared<const dmoc::System>(std::move(read.model), directors, std::vector<dmoc::Energy>(), keys_.order);
  constraints_ = std::move(read.pieces.constraints);
  if (keys_.penalty) stiffness_ = keys_.stiffness;
  read_parameters();
  read_phases();
  if (stiffness_ > 0.0) penalise();
  read_ends();
  read_ways();
  read_clear();
  read_cost();
  if (keys_.order > 2) check_order();
  const Eigen::VectorXd middle = this->middle();
  const Values all = values(middle);        // says what is wrong with it
  if (keys_.simulated) path(middle, 0, 0);  // says what the simulation cannot have
  if (!settings.variables.empty()) return;
  if (const std::string complaint = postures(all).odds; !complaint.empty()) throw ConfigError(complaint);
  if (const std::string complaint = overlap(all, middle); !complaint.empty())
    throw ConfigError(settings.file + ": " + complaint);
}

void MotionDesigns::check_order() const {
  const auto refuse = [&](const std::string& what) { throw settings_.error("motion.order", what + "; allowed: 2"); };
  const auto& tree = system_->structure();
  for (const auto& link : tree.links) {
    const auto turns = std::count_if(link.moves.begin(), link.moves.end(), [](const auto& move) {
      return move.kind == systems::Move::turn && !move.is_oblique();
    });
    if (turns == 3) refuse("[link " + link.name + "] has a joint of three turns, whose integrator has order 2");
  }
  if (!clear_.empty()) refuse("[avoid] keeps shapes apart on straight ways between nodes, which have order 2");
  if (effort_.work()) refuse("absolute-work and positive-work are integrated with order 2");
}

std::vector<PhaseOutline> MotionDesigns::outline() const {
  std::vector<PhaseOutline> all;
  for (const Phase& phase : phases_) all.push_back({phase.name, phase.held, phase.intervals});
  return all;
}

std::shared_ptr<const MotionDescription> MotionDesigns::on_mesh(int count) const {
  auto other = std::make_shared<MotionDesigns>(*this);
  const int now = intervals();
  bool fits = true;
  const auto scale = [&](int& number) {
    fits = fits && number * count % now == 0;
    number = number * count / now;
  };
  for (Phase& phase : other->phases_) {
    scale(phase.intervals);
    fits = fits && phase.intervals >= 2;
  }
  for (Contact& contact : other->contacts_) scale(contact.node);
  return fits ? other : nullptr;
}

void MotionDesigns::read_parameters() {
  for (const CustomSection* section : settings_.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries) {
      parameters_.emplace_back(entry.key, expression(entry, entry.value));
      names_.push_back(entry.key);
    }
  names_.push_back("weight");
}

// An expression of parameters alone.
Expression MotionDesigns::expression(const CustomEntry& entry, const std::string& text) const {
  Expression e = entry.parsed(text);
  for (const auto& q : e.quantities()) {
    const bool known = q.arguments.empty() && (std::find(names_.begin(), names_.end(), q.name) != names_.end() ||
                                               system_->model().parameter(q.name) >= 0);
    if (known) continue;
    std::vector<std::string> all = names_;
    for (const auto& p : system_->model().parameters) all.push_back(p.name);
    throw entry.error("unknown parameter '" + q.text() + "'" + did_you_mean(q.text(), all));
  }
  return e;
}

int MotionDesigns::coordinate(const CustomEntry& entry, const std::string& name) const {
  const auto& names = system_->structure().coordinate_names;
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<int>(at - names.begin());
  std::string list;
  for (const auto& n : names) list += (list.empty() ? "" : ", ") + n;
  throw entry.error("'" + name + "' is not a coordinate" + did_you_mean(name, names) + "; allowed: " + list);
}

// What is held: coordinates, or a point that is the root's own place, whose slides are held then.
std::vector<int> MotionDesigns::held_by(const CustomEntry& entry) const {
  const auto& tree = system_->structure();
  std::vector<int> held;
  for (const std::string& name : split_list(entry.value)) {
    const auto point =
        std::find_if(tree.named_points.begin(), tree.named_points.end(), [&](const auto& p) { return p.name == name; });
    const bool is_coordinate =
        std::find(tree.coordinate_names.begin(), tree.coordinate_names.end(), name) != tree.coordinate_names.end();
    if (is_coordinate || point == tree.named_points.end()) {
      held.push_back(coordinate(entry, name));
      continue;
    }
    const auto& place = point->place;
    const bool at_root = place.link == 0 && std::all_of(place.at.begin(), place.at.end(),
                                                        [](const systems::Number& x) { return x.is_zero(); });
    if (!at_root)
      throw entry.error("point '" + name +
                        "' is not where the first link begins; only that one can be held, or coordinates");
    const auto& moves = tree.links[0].moves;
    for (std::size_t i = 0; i < moves.size() && moves[i].kind == systems::Move::slide; ++i)
      held.push_back(tree.links[0].first + static_cast<int>(i));
  }
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  return held;
}

void MotionDesigns::read_phases() {
  for (const CustomSection* section : settings_.sections_of("phase")) read_phase(*section);
  if (phases_.empty())
    throw ConfigError(settings_.file + ": there is no [phase NAME]; allowed: one or more, in the order of the motion");
}

// A phase, in pieces where contacts cut it: their durations are unknowns.
void MotionDesigns::read_phase(const CustomSection& section) {
  Phase phase;
  phase.name = section.name;
  if (const CustomEntry* fixed = section.find("fixed")) phase.held = held_by(*fixed);
  phase.holds = read_holds(*system_, constraints_, section.find("hold"), phase.held, names_);
  if (phase.holds && keys_.simulated)
    throw section.error(
        "holds what the contact simulation cannot; allowed with motion.first-guess = simulated: phases that hold "
        "nothing");
  if (const CustomEntry* intervals = section.find("intervals")) {
    const Expression e = expression(*intervals, intervals->value);
    const double count = e.is_constant() ? e.constant() : 0.0;
    if (count < 2 || count > 10000 || count != std::round(count))
      throw intervals->error("is not a number of intervals; allowed: an integer in [2, 10000]");
    phase.intervals = static_cast<int>(count);
  }
  const CustomEntry* duration = section.find("duration");
  if (!duration) throw section.error("has no duration; allowed: duration = seconds, or SHORTEST .. LONGEST");
  try {
    parse_range(duration->value);
  } catch (const ExpressionError& error) {
    throw duration->error(error.what());
  }
  const auto dots = duration->value.find("..");
  const std::string low = duration->value.substr(0, dots),
                    high = dots == std::string::npos ? low : duration->value.substr(dots + 2);
  auto cuts = cuts_of(section, phase.intervals);
  if (stiffness_ > 0.0) {
    for (const Cut& cut : cuts) {
      if (cut.release) continue;
      read_contact(*cut.contact, static_cast<int>(phases_.size()));
      contacts_.back().node = cut.node;
    }
    cuts.clear();
  }
  const int pieces = static_cast<int>(cuts.size()) + 1, K = phase.intervals;
  if (pieces > 1)
    wholes_.push_back(
        {static_cast<int>(phases_.size()), pieces, expression(*duration, low), expression(*duration, high)});
  for (int i = 0; i < pieces; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int from = i == 0 ? 0 : cuts[at - 1].node, to = i + 1 == pieces ? K : cuts[at].node;
    Phase piece = phase;
    piece.intervals = to - from;
    const double share = static_cast<double>(to - from) / K;
    const auto times = [&](const std::string& text, double factor) {
      return pieces == 1 ? expression(*duration, text)
                         : expression(*duration, formatted("(%s)*%.17g", text.c_str(), factor));
    };
    piece.shortest = times(low, share / piece_stretch);
    piece.longest = times(high, std::min(share * piece_stretch, 1.0));
    if (pieces > 1) piece.name += "_" + std::to_string(i + 1);
    if (const CustomEntry* require = section.find("require"))
      for (const std::string& text : split_list(require->value)) read_requirement(piece, *require, text);
    phases_.push_back(std::move(piece));
    if (i + 1 < pieces && !cuts[at].release) read_contact(*cuts[at].contact, static_cast<int>(phases_.size()) - 1);
  }
}

// `earlier`: the phases before it.
dmoc::PhaseClock MotionDesigns::clock_of(const Phase& phase, std::size_t earlier) const {
  const auto end = phases_.begin() + static_cast<std::ptrdiff_t>(earlier);
  const auto timed = std::count_if(phases_.begin(), end, [](const Phase& other) { return other.timed(); });
  return {phase.timed(), static_cast<int>(timed)};
}

void MotionDesigns::read_requirement(Phase& phase, const CustomEntry& entry, const std::string& text) {
  try {
    for (const auto& comparison : Expression::parse(text).comparisons()) {
      const auto& quantities = comparison.what.quantities();
      const bool of_point = std::any_of(quantities.begin(), quantities.end(),
                                        [](const auto& q) { return q.name == "normal" || q.name == "tangential"; });
      const bool of_force = of_point || std::any_of(quantities.begin(), quantities.end(),
                                                    [](const auto& q) { return q.name == "reaction"; });
      if (!of_force) {
        phase.constraints.emplace_back(
            dmoc::path_function(*system_, phase.held, clock_of(phase, phases_.size()), comparison.what, names_),
            comparison.equality);
        continue;
      }
      const int d = system_->structure().dimension;
      if (phase.holds && std::any_of(quantities.begin(), quantities.end(),
                                     [&](const auto& q) { return phase.holds->component(q, d) >= 0; })) {
        if (comparison.equality) throw entry.error("is not understood of forces; allowed: comparisons with <= or >=");
        for (const auto& q : quantities)
          if (phase.holds->component(q, d) < 0 && (held_coordinate(q) >= 0 || q.name == "reaction"))
            throw entry.error("'" + q.text() + "' is not a force of what this phase holds by hold; allowed together: " +
                              listed(phase.holds->names));
        phase.hold_forces.push_back(comparison.what);
        continue;
      }
      if (of_point && (phase.held.empty() || phase.held.front() != 0 || static_cast<int>(phase.held.size()) < d))
        throw entry.error("speaks of a force, but this phase holds no such point");
      for (const auto& q : quantities) {
        if (q.name != "reaction") continue;
        const int c = q.arguments.size() == 1 ? coordinate(entry, q.arguments.front()) : -1;
        if (std::find(phase.held.begin(), phase.held.end(), c) == phase.held.end())
          throw entry.error("'" + q.text() +
                            "': this phase holds no such coordinate; allowed: reaction(COORDINATE) of what is held");
      }
      if (comparison.equality || (of_point && d != 2))
        throw entry.error(
            "is not understood of forces; allowed: comparisons with <= or >=, of normal and tangential in the plane");
      phase.forces.push_back(comparison.what);
    }
  } catch (const ExpressionError& error) {
    throw entry.error(error.what());
  }
}

std::vector<MotionDesigns::Given> MotionDesigns::read_given(const std::string& kind, bool rates) const {
  std::vector<Given> all;
  for (const CustomSection* section : settings_.sections_of(kind))
    for (const CustomEntry& entry : section->entries)
      if (kind != "periodic" || (entry.key != "reset" && entry.key != "period")) all.push_back(read_one(entry, rates));
  return all;
}

MotionDesigns::Given MotionDesigns::read_one(const CustomEntry& entry, bool rates) const {
  const bool rate = entry.key.starts_with("rate(") && entry.key.ends_with(")");
  if (rate && !rates) throw entry.error("is a rate; allowed here: coordinates");
  const std::string name = rate ? entry.key.substr(5, entry.key.size() - 6) : entry.key;
  const int c = coordinate(entry, name);
  if (system_->is_chart(c))
    throw entry.error("is an angle of a joint of three turns; allowed: LINK = turn AXIS ANGLE, spin X Y Z");
  return {c, rate, expression(entry, entry.value), entry.source};
}

void MotionDesigns::read_placements(const std::string& kind, std::vector<Placement>& placements,
                                    std::vector<Given>& given, Ends& ends) {
  for (const CustomSection* section : settings_.sections_of(kind))
    for (const CustomEntry& entry : section->entries) {
      if (entry.key == "momentum") {
        if (entry.value != "0") throw entry.error("allowed: 0, everything is at rest");
        const auto& held = kind == "goal" ? phases_.back().held : phases_.front().held;
        for (int c = 0; c < system_->n(); ++c)
          if (std::find(held.begin(), held.end(), c) == held.end()) given.push_back({c, true, 0.0, entry.source});
      } else if (entry.key == "require" || (entry.key == "cost" && kind == "goal")) {
        const auto& held = kind == "goal" ? phases_.back().held : phases_.front().held;
        try {
          if (entry.key == "cost") {
            ends.costs.push_back(dmoc::end_function(*system_, held, entry.parsed(), names_));
            continue;
          }
          for (const std::string& text : split_list(entry.value))
            for (const auto& comparison : Expression::parse(text).comparisons())
              ends.conditions.emplace_back(dmoc::end_function(*system_, held, comparison.what, names_),
                                           comparison.equality);
        } catch (const ExpressionError& error) {
          throw entry.error(error.what());
        }
      } else if (is_placement(entry, *system_)) {
        placements.push_back(
            read_placement(entry, *system_, [&](const std::string& text) { return expression(entry, text); }));
      } else {
        given.push_back(read_one(entry, true));
      }
    }
}

void MotionDesigns::read_ends() {
  const auto sections = settings_.sections_of("periodic");
  periodic_ = !sections.empty();
  shift_ = read_given("periodic", false);
  for (const CustomSection* section : sections) {
    if (const CustomEntry* entry = section->find("period")) {
      period_ = expression(*entry, entry->value);
      if (std::none_of(phases_.begin(), phases_.end(), [](const Phase& phase) { return phase.timed(); }))
        throw entry->error("every phase has a given duration; allowed: a phase with duration = SHORTEST .. LONGEST");
    }
    if (const CustomEntry* entry = section->find("reset")) {
      const auto& model = system_->model();
      const auto resets = systems::read_piece_model(systems::model_text(model.origin), model.origin).pieces.resets;
      std::vector<std::string> names;
      for (const auto& one : resets) {
        names.push_back(one.name);
        if (one.name == entry->value) exchange_ = relabelling(model, one, system_->pinned(phases_.back().held).moving);
      }
      if (!exchange_)
        throw entry->error("is not a reset of the model" + did_you_mean(entry->value, names) +
                           "; allowed: " + (names.empty() ? "none" : listed(names)));
    }
  }
  read_placements("initial-state", start_places_, start_, start_ends_);
  read_placements("goal", goal_places_, goal_, goal_ends_);
  guess_ = read_given("guess", false);
  const auto refuse_held = [&](const std::vector<Given>& all, const Phase& phase) {
    for (const Given& g : all)
      if (std::find(phase.held.begin(), phase.held.end(), g.coordinate) != phase.held.end())
        throw ConfigError(g.source + ": " +
                          system_->structure().coordinate_names[static_cast<std::size_t>(g.coordinate)] +
                          " is held in [phase " + phase.name + "], at zero; allowed: what moves");
  };
  refuse_held(start_, phases_.front());
  refuse_held(goal_, phases_.back());
  if (periodic_ && (!goal_.empty() || !goal_places_.empty()))
    throw ConfigError((goal_.empty() ? goal_places_.front().source : goal_.front().source) +
                      ": a motion that is [periodic] has no [goal]");
  if (periodic_) return;
  if (start_.empty() && goal_.empty() && start_places_.empty() && goal_places_.empty())
    throw ConfigError(settings_.file + ": the motion has neither [periodic] nor a [initial-state] or [goal]");
  if (settings_.sections_of("goal").empty())
    throw ConfigError(settings_.file +
                      ": the motion has no end; allowed: [goal] with what is given there (nothing: it ends anywhere), "
                      "or [periodic]");
}

void MotionDesigns::read_cost() {
  const auto sections = settings_.sections_of("cost");
  if (sections.empty() && !goal_ends_.costs.empty()) return read_requirements();
  if (sections.empty() || sections.front()->entries.empty())
    throw ConfigError(settings_.file +
                      ": there is no [cost]; allowed: squared-control, absolute-work, positive-work, loss, "
                      "time = weight, or NAME = an expression whose integral counts");
  for (const CustomEntry& entry : sections.front()->entries) {
    const auto weight = [&] {
      const Expression e = expression(entry, entry.value);
      if (!e.is_constant() || !(e.constant() >= 0.0)) throw entry.error("is a weight; allowed: a number, 0 or more");
      return e.constant();
    };
    if (entry.key == "squared-control" || entry.key == "effort")
      effort_.squared_control = weight();
    else if (entry.key == "absolute-work")
      effort_.absolute_work = weight();
    else if (entry.key == "positive-work")
      effort_.positive_work = weight();
    else if (entry.key == "loss")
      loss_ = expression(entry, entry.value), has_loss_ = true;
    else if (entry.key == "time")
      time_ = expression(entry, entry.value), has_time_ = true;
    else if (entry.key == "per")
      per_ = expression(entry, entry.value);
    else
      for (std::size_t i = 0; i < phases_.size(); ++i) try {
          Phase& phase = phases_[i];
          phase.costs.push_back(
              dmoc::path_function(*system_, phase.held, clock_of(phase, i), entry.parsed(), names_, true));
        } catch (const ExpressionError& error) {
          throw entry.error(error.what() + did_you_mean(entry.key, {"squared-control", "absolute-work", "positive-work",
                                                                    "loss", "time", "per"}));
        }
  }
  if (effort_.work())
    for (const auto& actuator : system_->structure().actuators)
      if (actuator.coordinate < 0)
        throw sections.front()->error("work costs need actuators on coordinates; " + actuator.name +
                                      " pushes at a point");
  read_requirements();
}

std::vector<bool> MotionDesigns::has_cost() const {
  std::vector<dmoc::PathFunction> costs;
  for (const Phase& phase : phases_) costs.insert(costs.end(), phase.costs.begin(), phase.costs.end());
  return have_cost(system_->structure(), effort_.squared_control > 0.0 || effort_.work(), has_loss_, costs);
}

void MotionDesigns::read_requirements() {
  for (const CustomSection* section : settings_.sections_of("require"))
    for (const CustomEntry& entry : section->entries) {
      Expression e = expression(entry, entry.value);
      if (!e.is_condition())
        throw entry.error("is not a condition; allowed: comparisons (<, <=, ==, >=, >), and, or, not");
      requirements_.emplace_back(entry.key + ": " + entry.value + " (" + entry.source + ")", std::move(e));
    }
}

Coefficient MotionDesigns::variable(const std::string& name, const Eigen::VectorXd& design) const {
  return design_value(settings_, name, design);
}

MotionDesigns::Values MotionDesigns::values(const Eigen::VectorXd& design) const {
  const systems::Model& model = system_->model();
  std::map<std::string, Coefficient> given;
  for (const systems::Parameter& p : model.parameters)
    if (settings_.design_given(p.name)) given[p.name] = variable(p.name, design);
  Values all;
  all.model = model.evaluate<Coefficient>(given);
  for (const auto& [name, e] : parameters_)
    all.motion.emplace_back(name, settings_.design_given(name) ? variable(name, design) : evaluated(e, all));
  all.motion.emplace_back("weight", model.tree<Coefficient>(all.model.numbers).weight());
  return all;
}

systems::Values<double> MotionDesigns::plain(const Eigen::VectorXd& design) const {
  const Values all = values(design);
  return {autodiff::values_of(all.model.parameters), autodiff::values_of(all.model.numbers)};
}

Coefficient MotionDesigns::named(const Values& values, const std::string& name) const {
  for (const auto& [known, value] : values.motion)
    if (known == name) return value;
  return values.model.parameters[static_cast<std::size_t>(system_->model().parameter(name))];
}

Coefficient MotionDesigns::evaluated(const Expression& e, const Values& values) const {
  std::vector<Coefficient> numbers;
  for (const auto& q : e.quantities()) numbers.push_back(named(values, q.name));
  return e.evaluate<Coefficient>(numbers);
}

// The coordinate that a quantity is the force on; -1: it is not a force.
int MotionDesigns::held_coordinate(const Expression::Quantity& force) const {
  if (force.name == "normal") return 1;
  if (force.name == "tangential") return 0;
  if (force.name != "reaction") return -1;
  const auto& names = system_->structure().coordinate_names;
  const auto at = std::find(names.begin(), names.end(), force.arguments.front());
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

// Coefficients of an expression that is linear in the forces on what is held.
dmoc::ForceCondition MotionDesigns::force_condition(
    const Expression& e, const Values& values, const std::function<int(const Expression::Quantity&)>& index_of) const {
  std::vector<int> pushed;
  for (const auto& q : e.quantities()) pushed.push_back(index_of(q));
  const auto at = [&](const auto& force) {
    std::vector<Coefficient> numbers;
    for (std::size_t i = 0; i < pushed.size(); ++i)
      numbers.push_back(pushed[i] >= 0 ? Coefficient(force(pushed[i])) : named(values, e.quantities()[i].name));
    return e.evaluate<Coefficient>(numbers);
  };
  const Coefficient none = at([](int) { return 0.0; });
  dmoc::ForceCondition condition;
  double sum = 0.0;
  std::vector<int> forces = pushed;
  std::sort(forces.begin(), forces.end());
  forces.erase(std::unique(forces.begin(), forces.end()), forces.end());
  for (const int c : forces) {
    if (c < 0) continue;
    condition.emplace_back(c, at([c](int other) { return other == c ? 1.0 : 0.0; }));
    sum += (2.0 + c) * condition.back().second.value;
  }
  if (none.value != 0.0 || std::abs(at([](int c) { return 2.0 + c; }).value - sum) > 1e-9 * (1 + std::abs(sum)))
    throw ConfigError("'" + e.text() +
                      "' is not linear in the forces; allowed: such as abs(tangential(foot)) <= 0.8*normal(foot)");
  return condition;
}

MotionDescription::Refusal MotionDesigns::refusal(const Eigen::VectorXd& design) const {
  return {complaint(design), true};
}

std::string MotionDesigns::complaint(const Eigen::VectorXd& design) const {
  const Values all = values(design);
  for (const auto& [text, condition] : requirements_) {
    std::vector<double> numbers;
    for (const auto& q : condition.quantities()) numbers.push_back(named(all, q.name).value);
    if (!condition.holds(numbers)) return "required, " + text;
  }
  if (const std::string complaint = postures(all).odds; !complaint.empty()) return complaint;
  if (const std::string complaint = overlap(all, design); !complaint.empty()) return complaint;
  double least = 0.0, most = 0.0;
  for (const Phase& phase : phases_) {
    const double shortest = evaluated(phase.shortest, all).value, longest = evaluated(phase.longest, all).value;
    if (!(shortest > 0.0) || !(longest >= shortest))
      return formatted("[phase %s] would last %g to %g s", phase.name.c_str(), shortest, longest);
    least += shortest, most += longest;
  }
  if (const double period = period_ ? evaluated(*period_, all).value : least; period < least || period > most)
    return formatted("[periodic] period = %g s: the phases last %g to %g s together", period, least, most);
  return "";
}

}  // namespace dodyn::evaluators
