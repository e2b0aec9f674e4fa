// Studies of paired costs: each further evaluation of a design has new initial states, the same for all designs.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "record/random.hpp"
#include "study/observed_data.hpp"
#include "study/study.hpp"
#include "surrogate/archive_model.hpp"
#include "tests/directory.hpp"

namespace dodyn::study::test_paired {
namespace {

constexpr int states = 60;

// A design fails on an initial state whose threshold is below its distance from 0.3. The threshold has a part that
// depends on the design.
class Thresholds : public Evaluator {
 public:
  std::vector<Quantity> metrics() const override { return {}; }
  Channels channels() const override { return {{"outcome", "", "1: failed", states, {std::string(cost_of_state)}}}; }
  evaluators::Pairing pairing() const override { return evaluators::Pairing::extensible; }
  std::string report(const Outcome&) const override { return ""; }
  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    Evaluation& e = outcome.evaluation;
    EXPECT_LT(e.seed, 100u);
    Eigen::VectorXd failed(states);
    for (int i = 0; i < states; ++i) {
      const auto number = [&](int k) { return std::ldexp(evaluation_seed(e.seed * states + i, k) >> 11, -53); };
      const double threshold = number(1) + 0.1 * std::cos(9 * e.design(0) + 6.28 * number(2));
      failed(i) = std::abs(e.design(0) - 0.3) + 0.2 > threshold;
    }
    e.status = Status::ok;
    e.cost = failed.mean();
    const double p = (failed.sum() + 2) / (states + 4);
    e.cost_stderr = std::sqrt(p * (1 - p) / (states + 4));
    outcome.trajectory.values = {failed};
    return outcome;
  }
};

class PairedStudies : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(directory + "/f.cfg") << "[study]\nevaluator = testfunction\nmax-evaluations = 24\nbatch = 3\n"
                                        << "[surrogate]\nstrategy = ego\nbatch = 2\n[testfunction]\nname = quadratic\n"
                                        << "[design]\nx.min = 0\nx.max = 1\n";
  }

  Summary run(const std::string& archive, int workers = 1, std::size_t interrupt_at = 1000,
              const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--study.archive=" + directory + "/" + archive};
    words.insert(words.end(), more.begin(), more.end());
    const Settings settings = evaluators::read_settings(directory + "/f.cfg", words);
    const auto evaluator = std::make_shared<const Thresholds>();
    const auto strategy = make_strategy(settings, *evaluator);
    const auto farm = farm::make_local_farm(make_work(evaluator, settings), {}, workers);
    bool interrupted = false;
    return Study(
               settings, *evaluator, *strategy, *farm, {},
               [&] { return std::string(interrupted ? "interrupted" : ""); },
               [&](const Progress& progress) {
                 interrupted = interrupted || progress.evaluations.size() >= interrupt_at;
               })
        .run();
  }
  archive::Contents contents(const std::string& archive) const { return archive::read(directory + "/" + archive); }

  void expect_same(const std::string& one, const std::string& other) const {
    const auto a = contents(one), b = contents(other);
    const auto rows_a = archive::latest(a), rows_b = archive::latest(b);
    ASSERT_EQ(rows_a.size(), rows_b.size());
    for (const auto& [id, row] : rows_a) {
      const Evaluation &x = a.evaluations[row], &y = b.evaluations[rows_b.at(id)];
      EXPECT_EQ(x.design, y.design) << id;
      EXPECT_EQ(x.seed, y.seed) << id;
      EXPECT_EQ(x.cost, y.cost) << id;
    }
    ASSERT_EQ(a.iterations.size(), b.iterations.size());
    for (std::size_t i = 0; i < a.iterations.size(); ++i) {
      EXPECT_EQ(a.iterations[i].numbers, b.iterations[i].numbers) << i;
      EXPECT_EQ(a.iterations[i].note, b.iterations[i].note) << i;
    }
    EXPECT_EQ(a.stopped, b.stopped);
  }

  const Directory own;
  const std::string directory = own.path.string();
};

TEST_F(PairedStudies, NumberTheEvaluationsOfADesign) {
  run("a.h5");
  const auto archived = contents("a.h5");
  std::map<double, std::uint64_t> count;
  int repeated = 0;
  for (const auto& [id, row] : archive::latest(archived)) {
    const Evaluation& e = archived.evaluations[row];
    repeated += count[e.design(0)] > 0;
    EXPECT_EQ(e.seed, count[e.design(0)]++) << id;
  }
  EXPECT_GT(repeated, 1);
  const auto stated = stated_choice(archived);
  ASSERT_TRUE(stated);
  EXPECT_GT(stated->probability, 0.3);
  EXPECT_NEAR(stated->cost, 0.2, 0.1);
  const surrogate::ObservedData observed = observed_data(archived);
  const Evaluation* const recommended = recommended_of(archived, observed);
  ASSERT_TRUE(recommended);
  EXPECT_NEAR(recommended->design(0), 0.3, 0.1);
}

// A model of the archive predicts the same values at the recommended design as the search.
TEST_F(PairedStudies, AreModelledFromTheArchiveAsInTheSearch) {
  run("a.h5");
  auto archived = contents("a.h5");
  const auto stated = stated_choice(archived);
  ASSERT_TRUE(stated);
  // by the likeliest lengths, as the search does; the interval of at() is wider
  const auto predicted = [&] {
    const surrogate::ObservedData observed = observed_data(archived);
    const surrogate::ArchiveModel model(observed, -1);
    const surrogate::DesignSpace& space = observed.space;
    const Eigen::VectorXd design = recommended_of(archived, observed)->design;
    surrogate::Prediction likeliest = model.model().model().predict(space.embed(space.unit(design)));
    likeliest.mean = model.model().warp().backward(likeliest.mean);
    const surrogate::PredictionInterval interval = model.at(design);
    EXPECT_GT(interval.upper - interval.lower, 2 * 1.96 * std::sqrt(likeliest.variance));
    return likeliest;
  };
  const surrogate::Prediction independent = predicted();
  read_paired_costs(directory + "/a.h5", archived);
  const surrogate::Prediction paired = predicted();
  EXPECT_NEAR(paired.mean, stated->cost, 0.02 * stated->deviation);
  EXPECT_NEAR(std::sqrt(paired.variance), stated->deviation, 0.02 * stated->deviation);
  EXPECT_GT(std::abs(std::sqrt(independent.variance) - stated->deviation), 0.1 * stated->deviation);
}

TEST_F(PairedStudies, CutAnywhereAndSpreadOverWorkersAreTheSame) {
  run("whole.h5");
  run("workers.h5", 4);
  expect_same("whole.h5", "workers.h5");
  for (const std::size_t cut : {3u, 10u}) {
    const std::string archive = "cut" + std::to_string(cut) + ".h5";
    EXPECT_TRUE(run(archive, 2, cut).ending == Ending::interrupted);
    run(archive);
    expect_same("whole.h5", archive);
  }
}

TEST_F(PairedStudies, TheLimitLeavesAShareOfTheBoxOpen) {
  const Summary summary = run("a.h5", 1, 1000, {"--study.max-evaluations=6"});
  EXPECT_EQ(summary.ending, Ending::limit);
  EXPECT_GT(summary.undecided_fraction, 0);
  EXPECT_LE(summary.undecided_fraction, 1);
}

// Another strategy does not compare pairs: its evaluations have seeds of their own, and no design is repeated.
TEST_F(PairedStudies, OfOtherStrategiesAreAsBefore) {
  const Settings settings = evaluators::read_settings(directory + "/f.cfg", {"--strategy", "sweep"});
  EXPECT_FALSE(make_strategy(settings, Thresholds())->uses_paired_costs());
  const Settings paired = evaluators::read_settings(directory + "/f.cfg", {});
  EXPECT_TRUE(make_strategy(paired, Thresholds())->uses_paired_costs());
  EXPECT_FALSE(make_strategy(paired, Thresholds(), false)->uses_paired_costs());
}

}  // namespace
}  // namespace dodyn::study::test_paired
