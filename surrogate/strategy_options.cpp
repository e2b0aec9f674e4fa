#include "surrogate/strategy_options.hpp"

#include <algorithm>
#include <stdexcept>

#include "record/text.hpp"

namespace dodyn::surrogate {
namespace {

std::unique_ptr<Strategy> spline(const std::vector<Variable>& variables, const StrategyOptions& choice) {
  if (variables.size() != 1)
    throw std::invalid_argument("spline: needs exactly one free variable; choose another strategy, such as auto, for " +
                                std::to_string(variables.size()));
  return make_spline(variables[0], choice.spline);
}

std::unique_ptr<Strategy> smf(const std::vector<Variable>& variables, const StrategyOptions& choice) {
  return make_mesh_search(variables, choice.mesh_search);
}

std::unique_ptr<Strategy> turbo(const std::vector<Variable>& variables, const StrategyOptions& choice) {
  EgoOptions options = choice.ego;
  options.trust_region = true;
  return make_ego(variables, options);
}

template <NloptAlgorithm algorithm>
std::unique_ptr<Strategy> nlopt(const std::vector<Variable>& variables, const StrategyOptions& choice) {
  NloptOptions options = choice.nlopt;
  options.algorithm = algorithm;
  return make_nlopt_search(variables, options);
}

std::unique_ptr<Strategy> automatic(const std::vector<Variable>& variables, const StrategyOptions& choice) {
  std::string reason;
  StrategyOptions chosen = automatic_choice(choice, variables, reason);
  chosen.ego.reason = reason;
  return make_strategy(chosen, variables);
}

std::unique_ptr<Strategy> sweep(const std::vector<Variable>& variables, const StrategyOptions& choice) {
  SweepOptions options = choice.sweep;
  options.domains = choice.ego.domains;
  options.possible = choice.ego.possible;
  return make_sweep(variables, options);
}

std::unique_ptr<Strategy> morris(const std::vector<Variable>& variables, const StrategyOptions& choice) {
  MorrisOptions options = choice.morris;
  options.domains = choice.ego.domains;
  options.possible = choice.ego.possible;
  return make_morris(variables, options);
}

std::unique_ptr<Strategy> ego(const std::vector<Variable>& variables, const StrategyOptions& choice) {
  return make_ego(variables, choice.ego);
}

// Keys for the kinds of variables, for the strategies that support all kinds.
const KeyTable<Named>& variable_keys() {
  static const auto table =
      KeyTable<Named>("surrogate.")
          .add("integers", &Named::integers,
               {.description = "free variables with whole numbers only, such as 'legs, teeth'"})
          .add("categories", &Named::categories,
               {.description = "free variables whose whole numbers are labels, without an order"})
          .add("log-scale", &Named::logarithmic,
               {.description =
                    "free variables on a logarithmic scale, such as 'stiffness, damping'; real or whole numbers"})
          .add("conditional", &Named::conditional,
               {.description = "free variables of some designs only, such as 'stiffness if springs > 0'; other designs "
                               "have their lower bound"})
          .add("design-constraints", &Named::within,
               {.description =
                    "conditions on designs, such as 'x + y <= 1, knee < 2*hip'; other designs are not evaluated"});
  return table;
}

const KeyTable<StrategyOptions>& named_keys() {
  static const auto table =
      KeyTable<Named>("surrogate.")
          .add("initial-designs", &Named::designs,
               {.type = Type::path,
                .description = "CSV file of designs to evaluate first; its header names the free variables"})
          .add("prior-evaluations", &Named::samples,
               {.type = Type::path,
                .description = "earlier evaluations of the same cost: an archive (.h5) or a CSV file; 'dodyn show "
                               "--csv' writes such a file; the best one is evaluated again first"})
          .add("low-fidelity", &Named::low_fidelity,
               {.type = Type::path,
                .description = "archive (.h5) of a cheaper study of the same variables, such as one with fewer "
                               "intervals or initial states; the models of the costs begin from its models, and its "
                               "best design is evaluated first"})
          .add("constraints", &Named::constraints,
               {.description = "limits on metrics; such as 'max_torque <= 15, 0.2 <= lean <= 0.4, speed = 1 +- 0.01'"})
          .add("objectives", &Named::objectives,
               {.description = "two or three of cost and the metrics, such as 'cost, max_torque'; the result is their "
                               "Pareto front"})
          .add(variable_keys())
          .within(&StrategyOptions::named);
  return table;
}

// Returns keys that are given and have no effect with one objective, each with the reason.
std::vector<std::pair<std::string, std::string>> idle_with_one_objective(const Settings& settings) {
  if (!settings.given("surrogate.front-tolerance")) return {};
  const std::string objectives = settings.text("surrogate.objectives");
  if (!objectives.empty() && objectives != "cost") return {};
  return {{"surrogate.front-tolerance", "there is one objective"}};
}

KeyTable<StrategyOptions> ego_and_named_keys() { return ego_keys().within(&StrategyOptions::ego).add(named_keys()); }

}  // namespace

const std::vector<StrategyKind>& strategy_kinds() {
  static const auto local = nlopt_keys(true).within(&StrategyOptions::nlopt),
                    global = nlopt_keys(false).within(&StrategyOptions::nlopt);
  static const std::vector<StrategyKind> kinds = {
      {"auto",
       "ego, or trust-region for ten variables or more, if all are real on a linear scale, with one objective and "
       "without constraints",
       automatic, ego_and_named_keys()},
      {"spline", "one variable: a cubic spline through the samples, the next at its minimum", spline,
       spline_keys().within(&StrategyOptions::spline)},
      {"ego", "kriging, the next where the expected improvement is largest", ego, ego_and_named_keys()},
      {"trust-region",
       "a descent, then ego within a box around the best design, which grows and shrinks, for 10 to 20 variables, with "
       "gradients more",
       turbo, ego_and_named_keys()},
      {"mesh-search", "surrogate management framework: a mesh search that converges, led by kriging", smf,
       mesh_search_keys().within(&StrategyOptions::mesh_search)},
      {"bobyqa", "NLopt's BOBYQA: local, quadratic model", nlopt<NloptAlgorithm::bobyqa>, local},
      {"cobyla", "NLopt's COBYLA: local, linear model", nlopt<NloptAlgorithm::cobyla>, local},
      {"direct-l", "NLopt's DIRECT-L: global, dividing rectangles", nlopt<NloptAlgorithm::direct_l>, global},
      {"crs", "NLopt's CRS2: global, controlled random search", nlopt<NloptAlgorithm::crs>, global},
      {"sweep", "a uniform grid, from coarse to fine", sweep,
       sweep_keys().within(&StrategyOptions::sweep).add(variable_keys().within(&StrategyOptions::named))},
      {"morris", "screening by elementary effects: which variables matter", morris,
       morris_keys().within(&StrategyOptions::morris).add(variable_keys().within(&StrategyOptions::named))},
  };
  return kinds;
}

std::vector<StrategyKeys> strategy_keys() {
  std::vector<StrategyKeys> all;
  for (const StrategyKind& kind : strategy_kinds()) {
    const std::vector<Key> keys = kind.keys.keys();
    const bool has_front =
        std::ranges::any_of(keys, [](const Key& key) { return key.name == "surrogate.front-tolerance"; });
    all.push_back({kind.name, kind.description, keys, has_front ? idle_with_one_objective : nullptr});
  }
  return all;
}

StrategyOptions read_choice(const Settings& settings) {
  StrategyOptions choice;
  choice.name = settings.text("surrogate.strategy");
  for (const StrategyKind& kind : strategy_kinds())
    if (kind.name == choice.name) kind.keys.read(settings, choice);
  choice.ego.seed = choice.mesh_search.seed = choice.nlopt.seed = choice.morris.seed =
      static_cast<std::uint64_t>(settings.integer("study.seed"));
  return choice;
}

StrategyOptions automatic_choice(StrategyOptions choice, const std::vector<Variable>& variables, std::string& reason) {
  reason.clear();
  if (choice.name != "auto") return choice;
  const std::size_t d = variables.size();
  const bool plain = choice.ego.constraints.empty() && choice.ego.objectives.empty() && choice.ego.domains.empty();
  const std::string seen = ", chosen for " + counted(d, "variable") + ", " +
                           (choice.ego.gradient ? "gradients" : "no gradients") +
                           (choice.ego.noise    ? ", noisy costs"
                            : choice.ego.paired ? ", paired costs"
                                                : "");
  if (d > 9 && plain) {
    choice.name = "trust-region";
    const bool exact = !choice.ego.noise && !choice.ego.paired;
    reason = std::string("trust-region (") +
             (choice.ego.gradient ? "descents by gradients, then "
              : exact             ? "descents by costs, then "
                                  : "") +
             "kriging around the best design, since the range is too wide to model)" + seen;
  } else {
    choice.name = "ego";
    reason = std::string("ego (") +
             (choice.ego.noise      ? "kriging that smooths, and repeats designs where it pays"
              : choice.ego.gradient ? "kriging of costs and gradients"
                                    : "kriging of costs") +
             ")" + seen;
  }
  return choice;
}

namespace {

bool honours_domains(const StrategyKind& kind) {
  const std::vector<Key> keys = kind.keys.keys();
  return std::any_of(keys.begin(), keys.end(), [](const Key& key) { return key.name == "surrogate.integers"; });
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const StrategyOptions& choice, const std::vector<Variable>& variables) {
  std::string names;
  for (const StrategyKind& kind : strategy_kinds()) {
    if (kind.name == choice.name) {
      if (!choice.ego.domains.empty() && !honours_domains(kind))
        throw std::invalid_argument(kind.name +
                                    ": supports only real variables on a linear scale; whole numbers, labels, lists "
                                    "and logarithms need auto, ego, trust-region, sweep or morris");
      return kind.make(variables, choice);
    }
    names += (names.empty() ? "" : ", ") + kind.name;
  }
  throw std::invalid_argument("no strategy '" + choice.name + "'; there are: " + names);
}

}  // namespace dodyn::surrogate
