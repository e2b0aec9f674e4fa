// The gradient of the optimal cost with respect to every parameter of every shipped model, and of the motion, from one
// sweep at the solution, against differences of re-solved problems. Neighbours start from the middle's solution, since
// from elsewhere another local optimum may be found.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "evaluators/evaluator.hpp"
#include "evaluators/gait/design.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "nlp/solve.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators::test_gradients {
namespace {

struct Free {
  std::string name;
  double value;
};

// Returns words that free all these variables. Values of 0 are moved away from 0, since most numbers must not be
// negative.
std::vector<std::string> freed(std::vector<std::string> words, std::vector<Free>& all) {
  for (Free& each : all) {
    if (each.value == 0.0) each.value = 0.01;
    const double reach = 0.02 * std::abs(each.value);
    words.push_back("--design." + each.name + ".min=" + to_text(each.value - reach));
    words.push_back("--design." + each.name + ".max=" + to_text(each.value + reach));
  }
  return words;
}

std::vector<Free> parameters(const systems::Model& model, const systems::Values<double>& values, bool formulas) {
  std::vector<Free> all;
  for (std::size_t i = 0; i < model.parameters.size(); ++i)
    if (!model.parameters[i].definition.uses.empty() == formulas)
      all.push_back({model.parameters[i].name, values.parameters[i]});
  return all;
}

nlp::Options sharp() {
  nlp::Options options;
  options.tolerance = 1e-10;
  return options;
}

// `solve`: the problem of a design, from a neighbour's solution or cold; its gradient, where asked for.
using Solve = std::function<nlp::Solution(const Eigen::VectorXd&, const nlp::Solution*, Eigen::VectorXd*)>;

void expect_slopes(const Settings& settings, const std::vector<Free>& all, const Solve& solve) {
  Eigen::VectorXd design(settings.variables.size());
  for (Eigen::Index i = 0; i < design.size(); ++i) {
    const auto& variable = settings.variables[i];
    design(i) = 0.5 * (variable.lower + variable.upper);
  }
  ASSERT_EQ(design.size(), all.size());
  Eigen::VectorXd gradient;
  const nlp::Solution middle = solve(design, nullptr, &gradient);
  ASSERT_EQ(middle.status, nlp::SolveStatus::solved) << middle.reason;
  ASSERT_EQ(gradient.size(), design.size());
  for (Eigen::Index i = 0; i < design.size(); ++i) {
    const double step = 2e-4 * std::abs(design(i));
    bool solved = true;
    const auto cost = [&](double share) {
      Eigen::VectorXd beside = design;
      beside(i) += share * step;
      const nlp::Solution s = solve(beside, &middle, nullptr);
      solved &= s.status == nlp::SolveStatus::solved;
      return s.objective;
    };
    const double slope = (8.0 * (cost(1) - cost(-1)) - (cost(2) - cost(-2))) / (12.0 * step);
    const std::string& name = settings.variables[i].name;
    EXPECT_TRUE(solved) << name;
    // a constraint far from its bound keeps a trace of the barrier: the tolerance over its distance
    const double trace = 20.0 * sharp().tolerance;
    EXPECT_NEAR(gradient(i), slope, 1e-5 * std::abs(slope) + 1e-7 * middle.objective / std::abs(design(i)) + trace)
        << name << " = " << design(i);
  }
}

void check_gait(const std::string& config, std::vector<std::string> words, bool formulas) {
  const std::string path = std::string(CONFIGS) + "/" + config;
  words.insert(words.end(), {"--gait.initial-guesses=1", "--gait.tasks=1", "--gait.shifts=0",
                             "--gait.coarse-intervals=0", "--gait.refine-count=1"});
  std::vector<Free> all;
  {
    const Settings settings = read_settings(path, words);
    const GaitDesigns designs(settings);
    Eigen::VectorXd middle(settings.variables.size());
    for (Eigen::Index i = 0; i < middle.size(); ++i) {
      const auto& variable = settings.variables[i];
      middle(i) = 0.5 * (variable.lower + variable.upper);
    }
    ASSERT_EQ(middle.size(), 0) << "the words are to fix what the study frees";
    const auto& model = designs.walker().system->model();
    all = parameters(model, designs.plain(middle), formulas);
    if (formulas && all.empty()) return;
    if (!formulas) {
      all.push_back({"step-length", settings.design("step-length", middle)});
      all.push_back({"period", settings.design("period", middle)});
      if (model.dimension == 3) all.push_back({"step-width", settings.design("step-width", middle)});
    }
  }
  std::erase_if(words, [&](const std::string& word) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Free& each) { return word.starts_with("--design." + each.name + "="); });
  });
  const Settings settings = read_settings(path, freed(words, all));
  const GaitDesigns designs(settings);
  expect_slopes(settings, all,
                [&](const Eigen::VectorXd& design, const nlp::Solution* from, Eigen::VectorXd* gradient) {
                  const dmoc::WalkerGait gait = designs.problem(design, designs.gait().intervals);
                  nlp::Options options = sharp();
                  nlp::Solution s;
                  if (from) {
                    options.barrier = dmoc::barrier_of_neighbour;
                    s = nlp::solve(gait.problem(), *from, options);
                  } else {
                    options.push = designs.walker().base == 2 ? dmoc::push_of_cold_start : 0.0;
                    for (std::uint64_t seed = 1; seed < 12 && s.status != nlp::SolveStatus::solved; ++seed)
                      s = nlp::solve(gait.problem(), gait.cold_start(seed), options);
                  }
                  if (gradient) *gradient = gait.problem().design_gradient(s.x, s.multipliers, design.size());
                  return s;
                });
}

TEST(EveryParameter, OfAMotorBiped) {
  for (const bool formulas : {false, true})
    check_gait("knee-motor.cfg", {"--design.knee=0.46", "--gait.intervals=16"}, formulas);
}
TEST(EveryParameter, OfRabbit) {
  for (const bool formulas : {false, true})
    check_gait("knee.cfg", {"--design.knee=0.5", "--gait.intervals=16"}, formulas);
}
TEST(EveryParameter, OfAPlanarBiped) {
  for (const bool formulas : {false, true})
    check_gait("published/knee-free.cfg", {"--design.knee=0.45", "--gait.intervals=16"}, formulas);
}
TEST(EveryParameter, OfAnUnderactuatedBiped) {
  for (const bool formulas : {false, true})
    check_gait("knee-underactuated.cfg", {"--design.knee=0.5", "--gait.intervals=16"}, formulas);
}
TEST(EveryParameter, OfATorso) {
  for (const bool formulas : {false, true})
    check_gait("knee-torso.cfg", {"--design.knee=0.4", "--gait.intervals=16"}, formulas);
}
TEST(EveryParameter, OfHipsWithSprings) {
  for (const bool formulas : {false, true})
    check_gait("hip-spring.cfg", {"--design.stiffness=20", "--design.rest=0.1", "--gait.intervals=16"}, formulas);
}
TEST(EveryParameter, OfASpatialBiped) {
  for (const bool formulas : {false, true})
    check_gait("knee-spatial.cfg", {"--design.knee=0.5", "--gait.intervals=12"}, formulas);
}

// Checks the gradients with respect to the parameters of the model, and to these of the motion.
void check_motion(const std::string& config, std::vector<std::string> words, const std::vector<Free>& of_motion) {
  const std::string path = std::string(CONFIGS) + "/" + config;
  words.push_back("--motion.initial-guesses=1");
  std::vector<Free> all;
  {
    const Settings settings = read_settings(path, words);
    const MotionDesigns designs(settings);
    all = parameters(designs.system().model(), designs.plain(Eigen::VectorXd(0)), false);
  }
  all.insert(all.end(), of_motion.begin(), of_motion.end());
  std::erase_if(words, [](const std::string& word) { return word.starts_with("--design."); });
  const Settings settings = read_settings(path, freed(words, all));
  const MotionDesigns designs(settings);
  expect_slopes(settings, all,
                [&](const Eigen::VectorXd& design, const nlp::Solution* from, Eigen::VectorXd* gradient) {
                  nlp::Options options = sharp();
                  nlp::Solution s;
                  std::optional<TranscribedMotion> planned;
                  for (int start = 0; start < 12 && s.status != nlp::SolveStatus::solved; ++start) {
                    const MotionPath way = initial_path(designs.motion(), design, 1, start);
                    planned.emplace(designs.plan(design, way));
                    if (from) options.barrier = dmoc::barrier_of_neighbour;
                    s = from ? nlp::solve(planned->problem.problem(), *from, options)
                             : nlp::solve(planned->problem.problem(), designs.start(*planned, way), options);
                  }
                  if (gradient)
                    *gradient = planned->problem.problem().design_gradient(s.x, s.multipliers, design.size());
                  return s;
                });
}

TEST(EveryParameter, OfAHopper) {
  check_motion("hopper.cfg", {"--design.leg_stiffness=2000"}, {{"stride", 0.4}, {"mu", 0.8}});
}
TEST(EveryParameter, OfAWalkerWithFeet) {
  check_motion(
      "feet.cfg",
      {"--design.period=0.8", "--phase.heel.intervals=4", "--phase.flat.intervals=8", "--phase.tip.intervals=5"},
      {{"stride", 0.5}, {"period", 0.8}, {"mu", 0.8}, {"clearance", 0.03}});
}

}  // namespace
}  // namespace dodyn::evaluators::test_gradients
