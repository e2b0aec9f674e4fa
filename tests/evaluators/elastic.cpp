// Evaluator `elastic`: shipped scenes, any parameter as a design variable, refused configurations, mistakes in one
// line.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "evaluators/evaluator.hpp"
#include "tests/message_of.hpp"

namespace dodyn::evaluators::test_elastic {
namespace {

const std::string folder = std::string(CONFIGS) + "/";

std::unique_ptr<Evaluator> made(const std::string& name, const std::vector<std::string>& words = {}) {
  return make_evaluator(read_settings(folder + name, words));
}
std::map<std::string, double> measured(const Evaluator& evaluator, const Outcome& outcome) {
  std::map<std::string, double> all;
  const auto list = evaluator.metrics();
  for (std::size_t i = 0; i < list.size(); ++i) all[list[i].name] = outcome.evaluation.metrics(i);
  return all;
}
std::string complaint(const std::vector<std::string>& words) {
  return message_of<ConfigError>([&] { made("bar-wall.cfg", words); });
}

TEST(Elastic, BarStaysAtItsWallForAsLongAsItsWave) {
  for (const std::string mu : {"5e3", "2e4"}) {
    const auto evaluator = made("bar-wall.cfg", {"--design.mu", mu, "--elastic.step", mu == "5e3" ? "4e-4" : "2e-4",
                                                 "--world.stiffness", mu == "5e3" ? "4e5" : "1.6e6"});
    const Outcome outcome = evaluator->evaluate({});
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    const auto m = measured(*evaluator, outcome);
    const double c = std::sqrt(2 * std::stod(mu) / 1000.0);
    EXPECT_NEAR((m.at("last_touch") - m.at("first_touch")) * c / 2.0, 1.0, 0.02);
    EXPECT_GT(outcome.evaluation.cost, 0.97);  // the share of its speed with which it leaves
    EXPECT_EQ(m.at("touching"), 1.0);
    // the archive's rows say the same
    const auto& centre = outcome.trajectory.values.at(1);
    EXPECT_NEAR(centre(centre.rows() - 1, 6) / 0.01, outcome.evaluation.cost, 1e-12);
  }
}

TEST(Elastic, WallHasNoEnd) {
  const auto shifted = [](const std::string& y, const std::string& speed) {
    return made("bar-wall.cfg", {"--body.bar.at=length/2 + 0.1 mm, " + y, "--design.speed=" + speed})->evaluate({});
  };
  const Outcome far = shifted("12", "0.01");
  ASSERT_TRUE(far.evaluation.ok()) << far.evaluation.reason;
  EXPECT_GT(far.evaluation.cost, 0.9);       // a bar that meets nothing has -1
  const Outcome past = shifted("2e6", "1");  // beyond the largest box that stands for a wall
  EXPECT_EQ(past.evaluation.status, Status::failed);
  EXPECT_NE(past.evaluation.reason.find("'bar' is behind the wall 'left'"), std::string::npos)
      << past.evaluation.reason;
}

TEST(Elastic, CubesMeetWhenTheyAreSaidTo) {
  const auto evaluator =
      made("scene-fe-cubes.cfg", {"--body.cube.cells=2, 2, 2", "--body.cube.repeat=2, 2", "--elastic.duration=0.1"});
  const Outcome outcome = evaluator->evaluate({});
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto m = measured(*evaluator, outcome);
  EXPECT_NEAR(m.at("first_touch"), 0.0837, 1.01e-3);
  EXPECT_EQ(m.at("touching"), 6.0);  // four neighbours, and two that meet with an edge
  EXPECT_LT(m.at("momentum_change"), 1e-14);
  EXPECT_LT(m.at("min_jacobian"), 1.0);
}

TEST(Elastic, FreesAnyParameterAndRefusesWhatCannotBe) {
  const auto evaluator =
      made("bar-wall.cfg", {"--design.speed.min=0.005", "--design.speed.max=0.02", "--elastic.duration=0.2"});
  Task task;
  task.evaluation.design = Eigen::VectorXd::Constant(1, 0.02);
  const auto fast = evaluator->evaluate(task);
  task.evaluation.design(0) = 0.005;
  const auto slow = evaluator->evaluate(task);
  EXPECT_NEAR(measured(*evaluator, fast).at("first_touch"), 0.0052, 5e-4);
  EXPECT_NEAR(measured(*evaluator, slow).at("first_touch"), 0.0204, 5e-4);
  const auto material = made("bar-wall.cfg", {"--design.mu.min=-1", "--design.mu.max=1e4"});
  task.evaluation.design(0) = -1.0;
  const auto none = material->evaluate(task);
  EXPECT_EQ(none.evaluation.status, Status::infeasible);
  EXPECT_NE(none.evaluation.reason.find("mu of 'bar'"), std::string::npos) << none.evaluation.reason;
  const auto wild = made("bar-wall.cfg", {"--design.speed=20"})->evaluate({});
  EXPECT_EQ(wild.evaluation.status, Status::failed);
  EXPECT_NE(wild.evaluation.reason, "");
}

TEST(Elastic, ShowsWhereItsNodesAre) {
  const auto bar = made("bar-wall.cfg", {"--elastic.duration=0.1"});
  const auto told = bar->simulate({});
  ASSERT_TRUE(told && told->completed) << told->report;
  ASSERT_EQ(told->channels.size(), told->trajectory.values.size());
  for (std::size_t i = 0; i < told->channels.size(); ++i) {
    EXPECT_EQ(told->trajectory.values[i].rows(), told->channels[i].nodes) << told->channels[i].name;
    EXPECT_EQ(told->trajectory.values[i].cols(), told->channels[i].coordinates.size());
  }
  EXPECT_EQ(told->channels.back().coordinates.size(), 2u * 82u);
  EXPECT_EQ(told->channels.back().segments.size(), 2u * 2u * (40u + 1u));  // the outline
  const Outcome kept = bar->evaluate({});
  EXPECT_EQ(kept.trajectory.values.size(), bar->channels().size());
  EXPECT_EQ(kept.trajectory.values.back(), told->trajectory.values.back());
  const auto none = made("bar-wall.cfg", {"--elastic.duration=0.1", "--elastic.points=false"});
  EXPECT_EQ(none->evaluate({}).trajectory.values.size(), none->channels().size());
}

// A mesh may depend on the design; the archive has a place for the nodes of one, that of the middle of the ranges.
TEST(Elastic, AnotherMeshThanThatOfTheMiddleLeavesItsNodesOut) {
  const auto bar = made("bar-wall.cfg", {"--elastic.duration=0.01", "--parameters.fine=40", "--body.bar.cells=fine, 1",
                                         "--design.fine.min=40", "--design.fine.max=60"});
  const Channels channels = bar->channels();
  for (const double fine : {50.0, 60.0}) {
    Task task;
    task.evaluation.design = Eigen::VectorXd::Constant(1, fine);
    const Outcome outcome = bar->evaluate(task);
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    const auto& nodes = outcome.trajectory.values.back();
    EXPECT_EQ(nodes.rows(), channels.back().nodes);
    EXPECT_EQ(nodes.cols(), channels.back().coordinates.size());
    EXPECT_EQ(nodes.array().isNaN().all(), fine != 50.0);
  }
}

TEST(Elastic, MapsItsCorners) {
  // a wedge instead of a rectangle: the kinetic energy is proportional to its area
  const auto wedge = made("bar-wall.cfg", {"--body.bar.map=x, y*(1.5 + x/length)", "--elastic.duration=2 ms",
                                           "--cost.cost=kinetic", "--design.speed=5 mm/s", "--elastic.step=auto"});
  const Outcome outcome = wedge->evaluate({});
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_NEAR(outcome.evaluation.cost, 0.5 * 1000.0 * (1.5 / 40.0) * 0.005 * 0.005, 1e-12);
  EXPECT_NE(complaint({"--body.bar.map=x"}).find("expected 2 expressions"), std::string::npos);
  EXPECT_NE(complaint({"--body.bar.map=-x, y"}).find("without volume"), std::string::npos);
}

TEST(Elastic, PinIsHeldByTheLatchUnlessItIsTooSoft) {
  const auto latch = made("scene-fe-latch.cfg", {"--elastic.duration=0.4"});
  Outcome outcome = latch->evaluate({});
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_LT(outcome.evaluation.cost, 0.25);
  const auto m = measured(*latch, outcome);
  EXPECT_LT(m.at("momentum_change"), 1e-11);
  EXPECT_LT(m.at("energy_change"), 0.01 * 0.5 * 5 * 0.1 * 3.5 * 3.5);
  outcome = made("scene-fe-latch.cfg", {"--elastic.duration=0.4", "--design.lambda=1e4"})->evaluate({});
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_GT(outcome.evaluation.cost, 0.3);
}

TEST(Elastic, OnlyTheRatioOfStiffnessAndDensityCounts) {
  const auto with = [](const std::string& lambda, const std::string& density) {
    const auto latch = made("scene-fe-latch.cfg",
                            {"--elastic.duration=0.4", "--design.lambda=" + lambda, "--design.density=" + density});
    const Outcome outcome = latch->evaluate({});
    EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    return std::pair(outcome.evaluation.cost, measured(*latch, outcome).at("energy_change"));
  };
  const auto [stiff_cost, stiff_change] = with("2e6", "100");
  const auto [soft_cost, soft_change] = with("62500", "3.125");  // 1/32 of both, so that rounding is the same
  EXPECT_EQ(soft_cost, stiff_cost);
  EXPECT_EQ(32.0 * soft_change, stiff_change);
}

// A pin is not attached if it starts too far away to touch. It is always attached if it starts inside its shell.
TEST(Elastic, StartsAreCountedInParts) {
  const std::vector<std::string> words = {
      "--design.megapascal=0.2",  "--design.interference=0.01",           "--elastic.duration=5 ms",
      "--initial-states.count=6", "--initial-states.gap=50 mm .. 500 mm", "--outcome.captured.when=gap < 0.2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return made("latch.cfg", more);
  };
  const auto whole = with({"--elastic.initial-states-per-task=8"}),
             halves = with({"--elastic.initial-states-per-task=4"});
  EXPECT_EQ(whole->parts(), 1);
  ASSERT_EQ(halves->parts(), 2);
  const Outcome one = whole->evaluate({});
  ASSERT_TRUE(one.evaluation.ok()) << one.evaluation.reason;
  std::vector<Outcome> parts(2);
  for (int i = 0; i < 2; ++i) {
    Task task;
    task.part = i;
    parts[i] = halves->evaluate(task);
  }
  const Outcome two = halves->join({}, std::move(parts));
  EXPECT_EQ(one.evaluation.cost, two.evaluation.cost);
  EXPECT_EQ(one.evaluation.metrics.head(3), two.evaluation.metrics.head(3));
  // counted from the archive's own columns
  const auto channels = whole->channels();
  ASSERT_EQ(channels.size(), one.trajectory.values.size());
  ASSERT_EQ(channels[0].coordinates, (std::vector<std::string>{"offset", "tilt", "gap"}));
  EXPECT_NEAR(one.evaluation.cost, (one.trajectory.values[0].col(2).array() >= 0.2).count() / 6.0, 1e-15);
  EXPECT_EQ((one.trajectory.values[1].col(0).array() == 1.0).count() / 6.0, one.evaluation.cost);
  EXPECT_GT(one.evaluation.cost, 0.0);
  EXPECT_LT(one.evaluation.cost, 1.0);
  EXPECT_LE(measured(*whole, one).at("failure_rate_low"), one.evaluation.cost);
  EXPECT_GE(measured(*whole, one).at("failure_rate_high"), one.evaluation.cost);
}

// Entries that have no effect are refused, and no material or stiffness has a hidden default.
TEST(Elastic, EveryEntryHasAnEffect) {
  const auto scene = [](const std::string& world, const std::string& body, const std::string& more) {
    const std::string path = ::testing::TempDir() + "dodyn-elastic-entries.cfg";
    std::ofstream(path) << "[study]\nevaluator = elastic\n[world]\ndimension = 2\n" + world +
                               "[body a]\nsize = 1, 1\ncells = 1, 1\nlambda = 1e4\nmu = 5e3\n" + body + more;
    std::string line;
    try {
      make_evaluator(read_settings(path, {}));
    } catch (const ConfigError& error) {
      line = error.what();
    }
    std::filesystem::remove(path);
    return line;
  };
  const std::string world = "stiffness = 10\n", body = "density = 1000\n",
                    rigid = "[rigid b]\nsize = 1, 1\nat = 3, 0\n",
                    projection = "[elastic]\ncontact-method = projection\n";
  EXPECT_EQ(scene(world, body, rigid + "density = 1\nvelocity = 1, 0\n"), "");
  EXPECT_EQ(scene(world, body, rigid + "fixed = yes\n"), "");
  EXPECT_EQ(scene("", body, projection + "restitution = 0.3\n"), "");
  EXPECT_NE(scene("", body, "").find("[world]: has no stiffness"), std::string::npos);
  EXPECT_NE(scene(world, "", "").find("density"), std::string::npos);
  EXPECT_NE(scene(world, body, rigid).find("[rigid b]: has no density"), std::string::npos);
  for (const std::string entry : {"velocity = 1, 0", "spin = 1", "density = 1"})
    EXPECT_NE(
        scene(world, body, rigid + "fixed = yes\n" + entry + "\n").find(entry + ": has no effect on a fixed body"),
        std::string::npos)
        << entry;
  EXPECT_NE(scene(world, body, "[elastic]\nrestitution = 0.3\n").find("has no effect with contact-method = penalty"),
            std::string::npos);
}

TEST(Elastic, SimulateStatesItsInitialState) {
  const auto latch = made("latch.cfg", {"--design.megapascal=0.2", "--design.interference=0.01",
                                        "--elastic.duration=1 ms", "--elastic.initial-state=7"});
  const auto shown = latch->simulate({});
  ASSERT_TRUE(shown);
  EXPECT_TRUE(shown->report.starts_with("initial state   7 of 32: offset = ")) << shown->report;
  EXPECT_NE(shown->report.find(", tilt = "), std::string::npos) << shown->report;
  const auto bar = made("bar-wall.cfg", {"--elastic.duration=1 ms"})->simulate({});
  ASSERT_TRUE(bar);
  EXPECT_TRUE(bar->report.starts_with("scene")) << bar->report;
}

TEST(Elastic, NamesOfBodiesDiffer) {
  const std::string text =
      "[study]\nevaluator = elastic\n[elastic]\nstep = 1 ms\nduration = 0.01\n[parameters]\nhigh = 1 "
      "m\n[world]\ndimension = 2\n"
      "stiffness = 30\n[body cube]\nsize = 0.1, 0.1\ncells = 2, 2\nlambda = 1e4\nmu = 5e3\ndensity = 1000\nat = 0, "
      "high\n"
      "[rigid NAME]\nsize = 0.1, 0.1\ndensity = 1000\nat = 1, 0\n";
  const auto said = [&](const std::string& name, const std::string& more = "") {
    std::string own = text;
    own.replace(own.find("NAME"), 4, name);
    const std::string path = testing::TempDir() + "elastic-names.cfg";
    std::ofstream(path) << own << more;
    const std::string what = message_of<ConfigError>([&] { make_evaluator(read_settings(path, {})); });
    std::filesystem::remove(path);
    return what;
  };
  EXPECT_EQ(said("block"), "");
  EXPECT_NE(said("cube").find("two bodies have the name 'cube'; rename one of them"), std::string::npos);
  EXPECT_EQ(said("block", "[initial-states]\ncount = 2\nhigh = 1 m .. 2 m\n[cost]\ncost = kinetic\n"), "");
  const std::string wrong = said("block", "[initial-states]\ncount = 2\nhigh = 1 kg .. 2 kg\n[cost]\ncost = kinetic\n");
  EXPECT_NE(wrong.find("is a mass (kg, g); expected a length (m, cm, mm), like the parameter"), std::string::npos)
      << wrong;
}

TEST(Elastic, MistakesAreOneLine) {
  const auto latch = [](const std::string& word) {
    return message_of<ConfigError>([&] { made("latch.cfg", {word}); });
  };
  EXPECT_NE(latch("--initial-states.ofset=0 .. 1").find("did you mean 'offset'"), std::string::npos);
  EXPECT_NE(latch("--design.offset=0").find("given as design.offset, too"), std::string::npos);
  EXPECT_NE(latch("--cost.success=capture").find("did you mean 'captured'"), std::string::npos);
  EXPECT_NE(latch("--outcome.captured.when=pin.x").find("not a condition"), std::string::npos);
  EXPECT_NE(latch("--outcome.captured.when=pin.z < 1").find("'pin.z' is unknown"), std::string::npos);
  EXPECT_NE(complaint({"--design.speed=2 mm"}).find("m/s"), std::string::npos);
  EXPECT_NE(complaint({"--body.bar.density=1000 kg"}).find("is a mass (kg, g); expected a number in kg/m3"),
            std::string::npos);
  EXPECT_NE(complaint({"--body.bar.at=0, 2 s"}).find("is a time (s, ms, min, h); expected a length"),
            std::string::npos);
  EXPECT_NE(complaint({"--body.bar.repeat=2 kg"}).find("expected a number without a unit"), std::string::npos);
  EXPECT_NE(complaint({"--body.bar.cells=40"}).find("expected 2 numbers"), std::string::npos);
  EXPECT_NE(complaint({"--body.bar.cells=0, 1"}).find("allowed: integers"), std::string::npos);
  EXPECT_NE(complaint({"--body.bar.size=lenght, 1"}).find("did you mean 'length'"), std::string::npos);
  EXPECT_NE(complaint({"--body.bar.inside=x"}).find("is not a condition"), std::string::npos);
  EXPECT_NE(complaint({"--body.bar.inside=abs(x) > 0.1*length"}).find("parts that are not connected"),
            std::string::npos);
  EXPECT_NE(complaint({"--body.bar.density=0"}).find("density of 'bar' is 0, which no material has"),
            std::string::npos);
  EXPECT_NE(complaint({"--body.bar.at=0, 0"}).find("'bar' and 'left' overlap by 0.5 m; move them apart"),
            std::string::npos)
      << complaint({"--body.bar.at=0, 0"});
  EXPECT_NE(complaint({"--body.bar.at=0, 0*length + 2 s"}).find("are added in '0*length + 2 s'"), std::string::npos)
      << complaint({"--body.bar.at=0, 0*length + 2 s"});
  EXPECT_NE(complaint({"--body.bar.velocity=speed*2 kg, 0"}).find("expected a speed"), std::string::npos)
      << complaint({"--body.bar.velocity=speed*2 kg, 0"});
  for (const auto& [name, owner] : {std::pair("kinetic", "a metric"),
                                    {"x", "a place in inside and map"},
                                    {"i", "the number of a copy"},
                                    {"pi", "the number pi"}})
    EXPECT_NE(complaint({std::string("--parameters.") + name + "=2"}).find(std::string("has the name of ") + owner),
              std::string::npos)
        << complaint({std::string("--parameters.") + name + "=2"});
  EXPECT_NE(complaint({"--world.dimension=4"}).find("allowed: 2, 3"), std::string::npos);
  EXPECT_NE(complaint({"--world.stiffness=-1"}).find("must be positive"), std::string::npos);
  EXPECT_NE(complaint({"--cost.cost=bar.vz"}).find("'bar.vz' is unknown"), std::string::npos);
  EXPECT_NE(complaint({"--cost.cost=contact_time"}).find("'contact_time' is unknown"), std::string::npos);
  EXPECT_NE(complaint({"--wall.left.normal=0, 0"}).find("no length"), std::string::npos);
  for (const auto& words : {std::vector<std::string>{"--body.bar.at=0, 0"}, {"--body.bar.density=0"}})
    EXPECT_EQ(complaint(words).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_elastic
