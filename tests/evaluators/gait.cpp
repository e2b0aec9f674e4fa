// The gait evaluator through the interface that studies use.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "evaluators/evaluator.hpp"
#include "evaluators/gait/design.hpp"
#include "evaluators/optima.hpp"
#include "systems/model.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_gait {
namespace {

// A small study: few intervals, the source's masses, knee free.
Settings small_study(const std::vector<std::string>& words = {}) {
  const std::string path =
      testing::TempDir() + "gait-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".cfg";
  std::ofstream(path) << "[study]\nevaluator = gait\n[design]\nknee.min = 0.2\nknee.max = 0.7\n"
                         "[gait]\njoint-limits = none\nintervals = 16\ninitial-guesses = 2\nshifts = 1\n"
                         "validity-check = warn\n";
  const Settings settings = read_settings(path, words);
  std::filesystem::remove(path);
  return settings;
}

Task task(double knee, std::uint64_t seed = 5) {
  Task t;
  t.evaluation.id = 0;
  t.evaluation.design = Eigen::VectorXd::Constant(1, knee);
  t.evaluation.seed = seed;
  return t;
}

TEST(GaitEvaluator, FillsWhatItDeclares) {
  const auto evaluator = make_evaluator(small_study());
  const Outcome outcome = evaluator->evaluate(task(0.45));
  const Evaluation& e = outcome.evaluation;
  ASSERT_EQ(e.status, Status::ok) << e.reason;
  EXPECT_TRUE(std::isfinite(e.cost));
  ASSERT_EQ(e.metrics.size(), evaluator->metrics().size());
  ASSERT_EQ(outcome.trajectory.values.size(), evaluator->channels().size());
  for (std::size_t i = 0; i < evaluator->channels().size(); ++i) {
    EXPECT_EQ(outcome.trajectory.values[i].rows(), evaluator->channels()[i].nodes);
    EXPECT_EQ(outcome.trajectory.values[i].cols(), evaluator->channels()[i].coordinates.size());
    if (evaluator->channels()[i].name == "optima") continue;  // has room for more than there are
    EXPECT_TRUE(outcome.trajectory.values[i].allFinite()) << evaluator->channels()[i].name;
  }
  EXPECT_LE(metric(*evaluator, e, "kkt_residual"), 1e-8);
  EXPECT_LE(metric(*evaluator, e, "reintegration_error"), 1e-5);
  EXPECT_NEAR(e.cost, metric(*evaluator, e, "squared_torque") / (98.1 * 0.56), 1e-8);
  const std::string report = evaluator->report(outcome);
  for (const char* word :
       {"KKT residual", "contact force", "touch-down impulse", "knee", "re-solved forward", "continuous equations"})
    EXPECT_NE(report.find(word), std::string::npos) << report;
}

TEST(GaitEvaluator, SameTaskSameAnswer) {
  const auto evaluator = make_evaluator(small_study());
  const Outcome a = evaluator->evaluate(task(0.45)), b = evaluator->evaluate(task(0.45));
  EXPECT_EQ(a.evaluation.cost, b.evaluation.cost);
  EXPECT_EQ(a.evaluation.gradient, b.evaluation.gradient);
  EXPECT_EQ(a.trajectory.values[1], b.trajectory.values[1]);
}

// Enough starts that the neighbours find no better family of gaits than the middle one.
TEST(GaitEvaluator, GradientIsTheSlopeOfTheCost) {
  const auto evaluator =
      make_evaluator(small_study({"--gait.initial-guesses", "16", "--gait.shifts", "0", "--gait.tolerance", "1e-10"}));
  const Outcome middle = evaluator->evaluate(task(0.45));
  ASSERT_EQ(middle.evaluation.status, Status::ok);
  const auto cost = [&](double knee) {
    Task t = task(knee);
    t.warm_start = middle.trajectory;
    return evaluator->evaluate(t).evaluation.cost;
  };
  const double h = 2e-4;
  const double slope =
      (8.0 * (cost(0.45 + h) - cost(0.45 - h)) - (cost(0.45 + 2 * h) - cost(0.45 - 2 * h))) / (12.0 * h);
  EXPECT_NEAR(middle.evaluation.gradient(0), slope, 1e-4 * std::abs(slope));
}

TEST(GaitEvaluator, NeighboursTrajectoryIsAStart) {
  const auto evaluator = make_evaluator(small_study());
  const Outcome neighbour = evaluator->evaluate(task(0.45));
  Task t = task(0.451);
  t.warm_start = neighbour.trajectory;
  const Outcome outcome = evaluator->evaluate(t);
  ASSERT_EQ(outcome.evaluation.status, Status::ok);
  EXPECT_EQ(metric(*evaluator, outcome.evaluation, "guesses"), 3.0);
  // never worse than the neighbour by more than the slope between them allows
  EXPECT_LE(outcome.evaluation.cost, neighbour.evaluation.cost + 2e-3 * std::abs(neighbour.evaluation.gradient(0)));
}

// Answers to all parts of a task, joined.
Outcome in_parts(const Evaluator& evaluator, Task task) {
  std::vector<Outcome> answers;
  for (task.part = 0; task.part < evaluator.parts(); ++task.part) answers.push_back(evaluator.evaluate(task));
  return evaluator.join(task.evaluation, std::move(answers));
}

// Costs near zero differ by the residuals of their solves. The same motion is one optimum then.
TEST(Optima, CostsNearZeroAgreeToTheirResiduals) {
  const Eigen::VectorXd joints = Eigen::VectorXd::Ones(4);
  std::vector<Optimum> optima;
  add(optima, {2.9e-28, 1, 1e-12, joints});
  add(optima, {3.6e-28, 1, 1e-12, joints});
  EXPECT_EQ(optima.size(), 1U);
  add(optima, {3.6e-10, 1, 1e-12, joints});        // differs by more than the residuals
  add(optima, {2.9e-28, 1, 1e-12, 2.0 * joints});  // another motion
  EXPECT_EQ(optima.size(), 3U);
}

// The rows of the channel `optima` that are filled.
Eigen::MatrixXd optima(const Outcome& outcome) {
  const Eigen::MatrixXd& all = outcome.trajectory.values.back();
  Eigen::Index rows = 0;
  while (rows < all.rows() && std::isfinite(all(rows, 0))) ++rows;
  return all.topRows(rows);
}

TEST(GaitEvaluator, PartsFindWhatOneTaskFinds) {
  const std::vector<std::string> search = {"--gait.initial-guesses", "6", "--gait.shifts", "0"};
  const auto whole = make_evaluator(small_study(search));
  for (const char* parts : {"2", "3", "6"}) {
    auto words = search;
    words.insert(words.end(), {"--gait.tasks", parts});
    const auto split = make_evaluator(small_study(words));
    EXPECT_EQ(split->parts(), std::stoi(parts));
    const Outcome a = whole->evaluate(task(0.45)), b = in_parts(*split, task(0.45));
    EXPECT_EQ(a.evaluation.status, b.evaluation.status);
    EXPECT_EQ(a.evaluation.cost, b.evaluation.cost);
    EXPECT_EQ(a.evaluation.gradient, b.evaluation.gradient);
    for (const char* name : {"iterations", "guesses", "guesses_solved", "best_guess", "optima"})
      EXPECT_EQ(metric(*whole, a.evaluation, name), metric(*split, b.evaluation, name)) << name;
    ASSERT_EQ(a.trajectory.values.size(), b.trajectory.values.size());
    EXPECT_EQ(a.trajectory.values[1], b.trajectory.values[1]);
    EXPECT_EQ(optima(a).col(1), optima(b).col(1));
  }
  EXPECT_THROW(make_evaluator(small_study({"--gait.initial-guesses", "2", "--gait.tasks", "3"})), ConfigError);
}

TEST(GaitEvaluator, OptimaAreListedOnceTheBestFirst) {
  const auto evaluator =
      make_evaluator(small_study({"--gait.initial-guesses", "12", "--gait.shifts", "0", "--gait.accuracy", "0"}));
  const Outcome outcome = evaluator->evaluate(task(0.45));
  const Eigen::MatrixXd list = optima(outcome);
  ASSERT_GE(list.rows(), 2);  // from twelve random starts
  EXPECT_EQ(list(0, 0), outcome.evaluation.cost);
  EXPECT_EQ(list(0, 3), 0.0);
  EXPECT_EQ(list.col(1).sum(), metric(*evaluator, outcome.evaluation, "guesses_solved"));
  EXPECT_EQ(list.rows(), metric(*evaluator, outcome.evaluation, "optima"));
  EXPECT_LE(list.col(2).maxCoeff(), 1e-9);
  for (Eigen::Index i = 1; i < list.rows(); ++i) EXPECT_GE(list(i, 0), list(i - 1, 0));
  const std::string report = evaluator->report(outcome);
  EXPECT_NE(report.find(std::to_string(list.rows()) + " distinct optima: cost, initial guesses"), std::string::npos)
      << report;
  EXPECT_NE(report.find(std::to_string(static_cast<int>(list(0, 1))) + " of 12 initial guesses found this motion"),
            std::string::npos)
      << report;
}

// If all guesses lead to one optimum, that gives no information on optima that the guesses cannot reach.
TEST(Optima, OneAloneIsNotSaidToBeTheOnlyOne) {
  const std::string text = optima_text(table({{13.5, 8, 1e-10, Eigen::VectorXd::Zero(2)}}, 9), 8, 8, "rad");
  EXPECT_NE(text.find("8 of 8 initial guesses found this motion; 8 ended at an optimum"), std::string::npos) << text;
  EXPECT_NE(text.find("a better one may exist"), std::string::npos) << text;
  EXPECT_EQ(optima_text({}, 8, 0, "rad"), "  none of 8 initial guesses ended at an optimum\n");
}

// Optima that one guess found, among all guesses that ended: the share of further guesses that would find another.
// An optimum found from another motion (count 0) is not the end of a guess.
TEST(GaitEvaluator, TheReportEstimatesWhatFurtherGuessesFind) {
  const auto optimum = [](double cost, int count) { return Optimum{cost, count, 1e-10, Eigen::VectorXd::Zero(2)}; };
  const Eigen::MatrixXd some = table({optimum(1, 0), optimum(2, 4), optimum(3, 1), optimum(4, 1)}, 8);
  EXPECT_EQ(guesses_by_optimum(some).ended, 6);
  EXPECT_EQ(guesses_by_optimum(some).single, 2);
  const std::string text = optima_text(some, 8, 6, "rad");
  EXPECT_NE(text.find("2 of 6 guesses ended where no other did: about 33 % of further ones"), std::string::npos)
      << text;
  const std::string few = optima_text(table({optimum(1, 1), optimum(2, 1)}, 8), 2, 2, "rad");
  EXPECT_EQ(few.find("where no other did"), std::string::npos) << few;
}

TEST(GaitEvaluator, CoarseStartsEndAtAGaitOfTheWholeMesh) {
  const auto evaluator = make_evaluator(
      small_study({"--gait.intervals", "32", "--gait.coarse-intervals", "8", "--gait.initial-guesses", "4"}));
  const Outcome outcome = evaluator->evaluate(task(0.45));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_EQ(outcome.trajectory.values[1].rows(), 33);
  EXPECT_LE(metric(*evaluator, outcome.evaluation, "kkt_residual"), 1e-9);
  EXPECT_EQ(metric(*evaluator, outcome.evaluation, "guesses"), 4.0);
  EXPECT_EQ(metric(*evaluator, outcome.evaluation, "intervals"), 32.0);
  for (const char* wrong : {"1", "32", "40"})
    EXPECT_THROW(make_evaluator(small_study({"--gait.intervals", "32", "--gait.coarse-intervals", wrong})),
                 ConfigError);
}

TEST(GaitEvaluator, RefinesUntilTheCostSettles) {
  const std::vector<std::string> words = {"--gait.refine-tolerance", "1e-3", "--gait.refinements", "5"};
  const auto plain = make_evaluator(small_study()), refining = make_evaluator(small_study(words));
  const Outcome coarse = plain->evaluate(task(0.45)), fine = refining->evaluate(task(0.45));
  ASSERT_EQ(fine.evaluation.status, Status::ok) << fine.evaluation.reason;
  EXPECT_TRUE(fine.evaluation.reason.empty() || fine.evaluation.reason.starts_with("warning: "))
      << fine.evaluation.reason;
  const double intervals = metric(*refining, fine.evaluation, "intervals");
  EXPECT_GT(intervals, 16.0);
  EXPECT_EQ(std::fmod(std::log2(intervals / 16.0), 1.0), 0.0);
  EXPECT_LE(std::abs(metric(*refining, fine.evaluation, "refinement_change")), 1e-3);
  EXPECT_LT(std::abs(fine.evaluation.cost / coarse.evaluation.cost - 1.0), 0.1);
  // what vanishes with the square of the time step is smaller
  EXPECT_LT(std::abs(metric(*refining, fine.evaluation, "energy_balance")),
            0.5 * std::abs(metric(*plain, coarse.evaluation, "energy_balance")));
  // on the nodes of the study's mesh, so that it is a warm start like any
  for (std::size_t i = 0; i < refining->channels().size(); ++i)
    EXPECT_EQ(fine.trajectory.values[i].rows(), refining->channels()[i].nodes);
  Task again = task(0.45);
  again.warm_start = fine.trajectory;
  EXPECT_LE(refining->evaluate(again).evaluation.cost, fine.evaluation.cost * (1.0 + 1e-6));
}

// The cost over the knee as a study finds it, each design from its neighbour too: where it jumps, no other start of the
// design on the upper side may remove the jump.
TEST(GaitEvaluator, CostOverTheKneeHasNoJumpThatARestartRemoves) {
  const char* intervals = std::getenv("DODYN_KNEE_INTERVALS");  // the long test's
  const auto evaluator = make_evaluator(small_study(
      {"--gait.intervals", intervals ? intervals : "40", "--gait.initial-guesses", "8", "--gait.shifts", "3"}));
  std::vector<Outcome> curve;
  constexpr int designs = 11;
  const auto knee = [](int i) { return 0.3 + 0.03 * i; };
  for (int i = 0; i < designs; ++i) {
    Task t = task(knee(i), static_cast<std::uint64_t>(i));
    if (i > 0) t.warm_start = curve.back().trajectory;
    curve.push_back(evaluator->evaluate(t));
    ASSERT_EQ(curve.back().evaluation.status, Status::ok);
  }
  for (int i = 0; i < designs; ++i) {
    double restarted = curve[i].evaluation.cost;
    for (const int neighbour : {i - 1, i + 1}) {
      if (neighbour < 0 || neighbour >= designs) continue;
      Task t = task(knee(i), 100 + static_cast<std::uint64_t>(i));
      t.warm_start = curve[neighbour].trajectory;
      restarted = std::min(restarted, evaluator->evaluate(t).evaluation.cost);
    }
    EXPECT_GE(restarted, curve[i].evaluation.cost * (1.0 - 1e-6)) << "knee " << knee(i);
  }
}

TEST(GaitEvaluator, TellsWhereTheTimeWent) {
  const auto evaluator = make_evaluator(small_study());
  EXPECT_EQ(evaluator->details(), "");  // nothing solved yet
  const Outcome outcome = evaluator->evaluate(task(0.45));
  const std::string details = evaluator->details();
  for (const char* word : {"derivatives", "factorisation", "line search", "rest", "all"})
    EXPECT_NE(details.find(word), std::string::npos) << details;
  EXPECT_NE(
      details.find(std::to_string(std::lround(metric(*evaluator, outcome.evaluation, "iterations"))) + " iterations"),
      std::string::npos)
      << details;
}

// A changed model file makes another study: the archive has the content of the file.
TEST(GaitEvaluator, AChangedModelFileIsAnotherStudy) {
  EXPECT_EQ(make_evaluator(small_study())->input_files().size(),
            1u);  // texts that come with the program change, too
  const std::string path = testing::TempDir() + "gait-changed.model";
  const auto input_files = [&](const char* mass) {
    std::ofstream(path)
        << "[model]\ndimension = 2\nswing-foot = right\n[parameters]\nknee = 0.5\n"
           "[link left]\nparent = ground\njoint = point + revolute\nend = 0, 2*knee\nmass = "
        << mass
        << "\ncounterpart = right\n[link right]\nparent = left\njoint = revolute\nend = 0, -2*knee\nmass = " << mass
        << "\ncounterpart = left\n[actuator hip]\ncoordinate = right\n";
    std::string config = testing::TempDir() + "gait-changed.cfg";
    std::ofstream(config) << "[study]\nevaluator = gait\n[design]\nknee.min = 0.4\nknee.max = 0.6\n[gait]\nmodel = "
                          << path << "\n";
    return make_evaluator(read_settings(config, {}))->input_files();
  };
  const auto first = input_files("2"), again = input_files("2"), changed = input_files("3");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, changed);
  std::filesystem::remove(path);
}

TEST(GaitEvaluator, InvalidDesignFailsWithItsReason) {
  const auto evaluator = make_evaluator(small_study());
  for (const double knee : {0.0, -0.3, 1.0, not_a_number}) {
    const Outcome outcome = evaluator->evaluate(task(knee));
    EXPECT_EQ(outcome.evaluation.status, Status::failed);
    EXPECT_NE(outcome.evaluation.reason.find("knee"), std::string::npos) << outcome.evaluation.reason;
    EXPECT_TRUE(std::isnan(outcome.evaluation.cost));
  }
}

TEST(GaitEvaluator, ImpossibleGaitIsNotOk) {
  // torques of 0.01 N m cannot carry 10 kg
  const auto evaluator = make_evaluator(
      small_study({"--gait.torque-limit", "0.01", "--gait.initial-guesses", "1", "--gait.max-iterations", "100"}));
  const Outcome outcome = evaluator->evaluate(task(0.45));
  EXPECT_TRUE(outcome.evaluation.status == Status::infeasible || outcome.evaluation.status == Status::not_converged);
  EXPECT_FALSE(outcome.evaluation.reason.empty());
}

TEST(GaitEvaluator, SolverThatStopsEarlyIsNotOk) {
  const auto evaluator = make_evaluator(small_study({"--gait.initial-guesses", "1", "--gait.max-iterations", "3"}));
  const Outcome outcome = evaluator->evaluate(task(0.45));
  EXPECT_EQ(outcome.evaluation.status, Status::not_converged);
  EXPECT_FALSE(outcome.evaluation.reason.empty());
}

TEST(GaitEvaluator, CostWithoutAnyWeightIsRefused) {
  EXPECT_THROW(make_evaluator(small_study({"--cost.squared-torque", "0"})), ConfigError);
}

// The best gait with free knees folds one the wrong way. The reason states it, and the validity check refuses the gait.
TEST(GaitEvaluator, AGaitThatIsNoWalkIsToldAndRefused) {
  const Outcome told = make_evaluator(small_study())->evaluate(task(0.45));
  ASSERT_EQ(told.evaluation.status, Status::ok);
  EXPECT_NE(told.evaluation.reason.find("a knee folds the wrong way"), std::string::npos) << told.evaluation.reason;
  const auto strict = make_evaluator(small_study({"--gait.validity-check", "reject"}));
  const Outcome refused = strict->evaluate(task(0.45));
  EXPECT_EQ(refused.evaluation.status, Status::infeasible);
  EXPECT_EQ(refused.evaluation.cost, told.evaluation.cost);
  EXPECT_NE(strict->report(refused).find("wrong way"), std::string::npos);
}

// A model file without ranges, with default settings: a gait that folds its knees the wrong way is not ok.
TEST(GaitEvaluator, ATextWhoseOptimumFoldsAKneeIsNotOk) {
  std::string text = systems::model_text("motor-biped");
  const auto ranges = text.find("[joint-limit stance_knee]");
  text.erase(ranges, text.find("[actuator stance_contact]") - ranges);
  const std::string path = testing::TempDir() + "no-ranges";
  std::ofstream(path + ".model") << text;
  std::ofstream(path + ".cfg")
      << "[study]\nevaluator = gait\n[design]\nknee.min = 0.3\nknee.max = 0.6\nstep-length = 0.5\n"
         "period = 0.8\n[gait]\nmodel = no-ranges.model\nintervals = 20\ninitial-guesses = 4\n";
  const Outcome outcome = make_evaluator(read_settings(path + ".cfg", {}))->evaluate(task(0.45));
  EXPECT_EQ(outcome.evaluation.status, Status::infeasible);
  EXPECT_NE(outcome.evaluation.reason.find("a knee folds the wrong way"), std::string::npos)
      << outcome.evaluation.reason;
}

// No joint is faster than its [joint-limit] allows, in the plane and in space, and where its ends of ranges are freed,
// too.
TEST(GaitEvaluator, JointsAreNoFasterThanTheirLimit) {
  for (const char* walker : {"planar-biped", "spatial-biped"}) {
    const auto found = [&](const std::string& limit) {
      const std::string path = testing::TempDir() + "gait-speed";
      std::ofstream(path + ".model") << systems::model_text(walker) << limit;
      std::ofstream(path + ".cfg") << "[study]\nevaluator = gait\n[design]\nknee = 0.45\n[gait]\nmodel = "
                                      "gait-speed.model\njoint-limits = none\nintervals = 16\ninitial-guesses = 1\n"
                                      "shifts = 0\naccuracy = 0\nvalidity-check = warn\n";
      const auto evaluator = make_evaluator(read_settings(path + ".cfg", {}));
      const Outcome outcome = evaluator->evaluate(evaluators::task());
      EXPECT_EQ(outcome.evaluation.status, Status::ok) << walker << ": " << outcome.evaluation.reason;
      const auto &t = channel(*evaluator, outcome, "t"), &q = channel(*evaluator, outcome, "q");
      double fastest = 0.0;  // of the last coordinate, the swing knee's or hip's
      for (Eigen::Index k = 0; k + 1 < q.rows(); ++k)
        fastest = std::max(fastest, std::abs(q(k + 1, q.cols() - 1) - q(k, q.cols() - 1)) / (t(k + 1, 0) - t(k, 0)));
      return fastest;
    };
    const double speed = 0.8 * found("");
    const double limited =
        found("[joint-limit fast]\ncoordinate = swing_knee\nspeed = " + std::to_string(speed) + "\n");
    EXPECT_LE(limited, speed + 1e-5) << walker;  // the same gait unless the limit counts
  }
}

// The source's walker satisfies the joint ranges of its model unless they are disabled. Without them a lower cost
// exists, which is not a valid gait.
TEST(GaitEvaluator, JointsKeepToTheRangesOfTheModelOrAreFree) {
  const auto found = [](const std::string& ranges) {
    return make_evaluator(small_study({"--gait.joint-limits", ranges, "--gait.initial-guesses", "4"}))
        ->evaluate(task(0.45));
  };
  const Outcome kept = found("model"), free = found("none");
  ASSERT_EQ(kept.evaluation.status, Status::ok) << kept.evaluation.reason;
  EXPECT_LT(free.evaluation.cost, 0.9 * kept.evaluation.cost);
  const double degree = 3.14159265358979 / 180.0, from[] = {-80, 0, -120, -130}, to[] = {80, 130, 120, 0};
  const auto beyond = [&](const Outcome& outcome) {  // rad
    double most = -1e9;
    for (int joint = 0; joint < 4; ++joint) {
      const auto angle = outcome.trajectory.values[1].col(2 + joint);
      most = std::max({most, from[joint] * degree - angle.minCoeff(), angle.maxCoeff() - to[joint] * degree});
    }
    return most;
  };
  EXPECT_LE(beyond(kept), 1e-7);
  EXPECT_GT(beyond(free), 0.1);

  // a knee stop adds one row per node and knee, unless the joint range implies it
  const auto rows = [](const std::string& ranges, const std::string& stops) {
    const GaitDesigns designs(small_study({"--gait.joint-limits", ranges, "--gait.knee-stops", stops}));
    return designs.problem(Eigen::VectorXd::Constant(1, 0.45), 16).problem().constraints();
  };
  EXPECT_EQ(rows("none", "true"), rows("none", "false") + 2 * 17);
  EXPECT_EQ(rows("model", "true"), rows("model", "false"));
}

// [parameters]: a speed, and steps and periods that follow from it, with gradients through all of them.
TEST(GaitEvaluator, StepsAndPeriodsFollowFromParameters) {
  const auto study = [](const std::string& text, const std::vector<std::string>& words = {}) {
    const std::string path = testing::TempDir() + "gait-parameters.cfg";
    std::ofstream(path)
        << "[study]\nevaluator = gait\n[gait]\nmodel = motor-biped\nintervals = 16\ninitial-guesses = 2\nshifts = 0\n"
           "tolerance = 1e-10\nclearance = 3 cm\njoint-speed-limit = 15\n"
        << text;
    return read_settings(path, words);
  };
  const std::string follows =
      "[parameters]\nspeed = 0.625\nstride = 0.5\ngrowth = 0.4\nstep-length = stride*(speed/0.625)^growth\n"
      "period = step-length/speed\n";
  const auto cost = [&](const std::string& text, const std::vector<std::string>& words) {
    const auto evaluator = make_evaluator(study(text, words));
    Task t = task(0);
    t.evaluation.design.resize(0);
    const Outcome outcome = evaluator->evaluate(t);
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    return outcome.evaluation.cost;
  };
  EXPECT_NEAR(cost(follows, {}), cost("[design]\nstep-length = 0.5\nperiod = 0.8\n", {}), 1e-12);
  const double step = 0.5 * std::pow(0.7 / 0.625, 0.4);
  EXPECT_NEAR(
      cost(follows, {"--design.speed", "0.7"}),
      cost("[design]\n", {"--design.step-length", std::to_string(step), "--design.period", std::to_string(step / 0.7)}),
      1e-5);
  EXPECT_NEAR(cost(follows, {"--design.period", "0.75"}), cost("[design]\nstep-length = 0.5\nperiod = 0.75\n", {}),
              1e-12);

  const auto evaluator = make_evaluator(
      study(follows + "[design]\nstride.min = 0.4\nstride.max = 0.6\ngrowth.min = 0\ngrowth.max = 1\nspeed = 0.7\n"));
  Task middle = task(0);
  middle.evaluation.design = Eigen::Vector2d(0.5, 0.4);
  const Outcome found = evaluator->evaluate(middle);
  ASSERT_EQ(found.evaluation.status, Status::ok) << found.evaluation.reason;
  for (int variable = 0; variable < 2; ++variable) {
    const auto at = [&](double shift) {
      Task t = middle;
      t.evaluation.design(variable) += shift;
      t.warm_start = found.trajectory;
      return evaluator->evaluate(t).evaluation.cost;
    };
    const double h = variable ? 4e-3 : 1e-3, slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    EXPECT_NEAR(found.evaluation.gradient(variable), slope, 1e-5 * std::abs(slope)) << variable;
  }

  const auto complaint = [&](const std::string& text) {
    return message_of<ConfigError>([&] { make_evaluator(study(text)); }, "accepted");
  };
  EXPECT_NE(complaint("[parameters]\nspeed = 0.6\nperiod = step-length/sped\n").find("did you mean 'speed'"),
            std::string::npos);
  EXPECT_NE(complaint("[parameters]\nknee = 0.6\n").find("is a parameter of the model"), std::string::npos);
  EXPECT_NE(complaint("[parameters]\nperiod = late\nlate = 3\n").find("unknown parameter 'late'"), std::string::npos);
  EXPECT_NE(complaint("[parameters]\nmy-speed = 3\n").find("not a valid name"), std::string::npos);
}

// The warning about the search agrees with the table of optima.
TEST(GaitEvaluator, ASearchThatMayHaveMissedSaysSo) {
  int few = 0, alone = 0, silent = 0;
  for (const std::string iterations : {"20", "35", "50", "300"})
    for (const std::string parts : {"1", "2"}) {
      const auto evaluator = make_evaluator(
          small_study({"--cost.absolute-work", "1", "--cost.squared-torque", "0.02", "--gait.torque-limit", "20",
                       "--gait.intervals", "16", "--gait.initial-guesses", "4", "--gait.shifts", "0",
                       "--gait.max-iterations", iterations, "--gait.tasks", parts}));
      for (const double knee : {0.4, 0.5}) {
        std::vector<Outcome> answers;
        for (int part = 0; part < evaluator->parts(); ++part) {
          Task t = task(knee);
          t.part = part;
          answers.push_back(evaluator->evaluate(t));
        }
        const Outcome all = answers.size() > 1 ? evaluator->join(task(knee).evaluation, answers) : answers.front();
        const Evaluation& e = all.evaluation;
        if (e.status != Status::ok) continue;
        const Eigen::MatrixXd& optima = all.trajectory.values.back();
        const double next = optima(1, 0) / optima(0, 0) - 1.0;  // not a number where there is one optimum
        const bool says_few = e.reason.find("initial guesses converged") != std::string::npos,
                   says_alone = e.reason.find("only one initial guess") != std::string::npos;
        EXPECT_EQ(says_few, 2 * metric(*evaluator, e, "guesses_solved") < metric(*evaluator, e, "guesses")) << e.reason;
        EXPECT_EQ(says_alone, optima(0, 1) == 1.0 && next > 0.01) << e.reason;
        few += says_few;
        alone += says_alone;
        silent += !says_few && !says_alone;
      }
    }
  EXPECT_GT(few, 0);
  EXPECT_GT(alone, 0);
  EXPECT_GT(silent, 0);
}

// The archived motion satisfies the limits of joints, torques, friction and joint speeds, and looks like a walk.
TEST(GaitEvaluator, TheMotorBipedIsAWalk) {
  const auto walk = make_evaluator(
      read_settings(std::string(CONFIGS) + "/knee-motor.cfg",
                    {"--design.fold", "130 deg", "--gait.intervals", "30", "--gait.initial-guesses", "3"}));
  const Outcome outcome = walk->evaluate(task(0.459));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const auto &q = outcome.trajectory.values[1], &u = outcome.trajectory.values[3],
             &force = outcome.trajectory.values[4], &points = outcome.trajectory.values[6];
  const double degree = 3.14159265358979 / 180.0;
  EXPECT_GE(q.col(3).minCoeff(), -1e-7);  // stance knee
  EXPECT_LE(q.col(3).maxCoeff(), 130 * degree + 1e-7);
  EXPECT_LE(q.col(5).maxCoeff(), 1e-7);  // swing knee
  EXPECT_GE(q.col(5).minCoeff(), -130 * degree - 1e-7);
  EXPECT_LE(u.cwiseAbs().maxCoeff(), 60.0 + 1e-7);
  for (Eigen::Index k = 0; k < force.rows(); ++k) EXPECT_LE(std::abs(force(k, 0)), 0.8 * force(k, 1) + 1e-6);
  for (Eigen::Index k = 0; k + 1 < q.rows(); ++k)
    EXPECT_LE((q.row(k + 1) - q.row(k)).cwiseAbs().maxCoeff(), 15.0 * 0.8 / 30 + 1e-7);
  // the swing foot, the last point, keeps 4 s (1 - s) of 3 cm
  for (Eigen::Index k = 1; k + 1 < points.rows(); ++k) {
    const double s = static_cast<double>(k) / static_cast<double>(points.rows() - 1);
    EXPECT_GE(points(k, points.cols() - 1), 4.0 * s * (1.0 - s) * 0.03 - 1e-7);
  }
  const auto told = [&](const char* name) { return metric(*walk, outcome.evaluation, name); };
  const Eigen::Index K = u.rows() - 1;  // the last node repeats the controls
  EXPECT_NEAR(told("max_joint_step"), (q.bottomRows(K) - q.topRows(K)).rightCols(4).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_NEAR(told("max_knee_flexion"), std::max(q.col(3).maxCoeff(), -q.col(5).minCoeff()), 1e-12);
  EXPECT_NEAR(told("max_foot_height"), points.rightCols(1).maxCoeff(), 1e-12);
  double spike = 0.0;
  for (Eigen::Index k = 1; k + 1 < K; ++k)
    for (Eigen::Index i = 0; i < u.cols(); ++i)
      spike = std::max(spike,
                       std::min(std::abs(u(k, i)) - std::abs(u(k - 1, i)), std::abs(u(k, i)) - std::abs(u(k + 1, i))));
  EXPECT_NEAR(told("max_torque_jump"), spike, 1e-12);
  EXPECT_NE(walk->report(outcome).find("warnings\n  the gait lifts its foot by 0.5"), std::string::npos);
}

TEST(GaitEvaluator, APlainWalkHasNoWarnings) {
  const auto walk = make_evaluator(read_settings(std::string(CONFIGS) + "/knee-energy.cfg",
                                                 {"--gait.intervals", "40", "--gait.coarse-intervals", "20",
                                                  "--gait.initial-guesses", "4", "--gait.refine-count", "1"}));
  const Outcome outcome = walk->evaluate(task(0.6));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_EQ(outcome.evaluation.reason, "");
  EXPECT_NE(walk->report(outcome).find("warnings\n  none\n"), std::string::npos);
}

// With the fold of the model's own range: the smooth problem, whose errors are of second order.
std::unique_ptr<Evaluator> motor_biped(int intervals, int starts) {
  return make_evaluator(read_settings(std::string(CONFIGS) + "/knee-motor.cfg",
                                      {"--design.fold", "130 deg", "--gait.intervals", std::to_string(intervals),
                                       "--gait.initial-guesses", std::to_string(starts)}));
}

// Where the gradient vanishes, by the secant method: no surrogate has a part in it.
TEST(GaitEvaluator, TheMotorBipedsBestKneeConvergesWithOrderTwo) {
  std::vector<double> knees, costs;
  for (const int intervals : {40, 80, 160}) {
    const auto walk = motor_biped(intervals, 1);
    double knee = 0.458, last = 0.464, slope_at_last = walk->evaluate(task(last)).evaluation.gradient(0);
    for (int i = 0; i < 6 && std::abs(knee - last) > 1e-8; ++i) {
      const Evaluation e = walk->evaluate(task(knee)).evaluation;
      ASSERT_EQ(e.status, Status::ok) << e.reason;
      const double slope = e.gradient(0), next = knee - slope * (knee - last) / (slope - slope_at_last);
      last = knee;
      slope_at_last = slope;
      knee = next;
    }
    knees.push_back(knee);
    costs.push_back(walk->evaluate(task(knee)).evaluation.cost);
  }
  EXPECT_NEAR((knees[0] - knees[1]) / (knees[1] - knees[2]), 4.0, 1.5);
  EXPECT_NEAR((costs[0] - costs[1]) / (costs[1] - costs[2]), 4.0, 1.0);
  EXPECT_NEAR(knees[1], 0.45909, 1e-5);  // of the shipped mesh
  EXPECT_NEAR(costs[1], 0.152878, 1e-6);
}

TEST(GaitEvaluator, TwoSeedsFindTheSameCurveOfTheMotorBiped) {
  const auto walk = motor_biped(30, 3);
  for (double knee = 0.30; knee < 0.651; knee += 0.05) {
    const double one = walk->evaluate(task(knee, 1)).evaluation.cost,
                 other = walk->evaluate(task(knee, 2)).evaluation.cost;
    EXPECT_NEAR(one, other, 1e-4 * one) << knee;
  }
}

}  // namespace
}  // namespace dodyn::evaluators::test_gait
