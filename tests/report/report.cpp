// Text for people: units, bounds and times.
#include "report/report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>
#include <sstream>

#include "report/comparison.hpp"
#include "report/predictions.hpp"
#include "study/observed_data.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/selection.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::report::test_report {
namespace {

const std::vector<Variable> variables = {{"knee", "m", 0.2, 0.5}, {"ratio", "1", 0, 1}};

TEST(Report, Durations) {
  EXPECT_EQ(duration(0.25), "0.2 s");
  EXPECT_EQ(duration(43), "43 s");
  EXPECT_EQ(duration(125), "2 min 05 s");
  EXPECT_EQ(duration(3 * 3600 + 12 * 60), "3 h 12 min");
  EXPECT_EQ(duration(not_a_number), "?");
}

// JSON has neither: an infinite number keeps its sign, and a missing one is null.
TEST(Report, JsonNamesInfinities) {
  archive::Contents contents;
  contents.layout.variables = {variables[0]};
  contents.layout.metrics = {{"slack", "m", ""}, {"load", "N", ""}};
  contents.layout.candidates = {"knee", "log_gain"};
  Evaluation& row = contents.evaluations.emplace_back();
  row.id = 0;
  row.design = Eigen::VectorXd::Constant(1, 0.3);
  row.metrics = Eigen::Vector2d(HUGE_VAL, not_a_number);
  surrogate::Iteration& one = contents.iterations.emplace_back();
  one.numbers = {{"largest", -HUGE_VAL}, {"width", 3.0}};
  one.candidates = Eigen::MatrixXd::Constant(1, 2, 0.4);
  one.candidates(0, 1) = -HUGE_VAL;
  const auto all = nlohmann::json::parse(json(contents, {}));
  EXPECT_EQ(all["evaluations"][0]["metrics"]["slack"], "inf");
  EXPECT_TRUE(all["evaluations"][0]["metrics"]["load"].is_null());
  EXPECT_EQ(all["iterations"][0]["diagnostics"]["largest"], "-inf");
  EXPECT_EQ(all["iterations"][0]["diagnostics"]["width"], 3.0);
  EXPECT_EQ(all["iterations"][0]["candidates"][0]["log_gain"], "-inf");
}

TEST(Report, AnOptimumAtABoundIsSaidToBeOne) {
  EXPECT_EQ(bound_note(variables, Eigen::Vector2d(0.3, 0.5)), "");
  EXPECT_EQ(bound_note(variables, Eigen::Vector2d(0.2, 0.5)),
            "knee is at its lower bound 0.2 m: the optimum may lie beyond the range");
  EXPECT_EQ(bound_note(variables, Eigen::Vector2d(0.5 - 1e-8, 0)),
            "knee is at its upper bound 0.5 m, ratio is at its lower bound 0: the optimum may lie beyond the range");
  Evaluation best;
  best.id = 7;
  best.cost = 0.1126;
  best.design = Eigen::Vector2d(0.2, 0.5);
  EXPECT_EQ(best_text(&best, variables, bound_note(variables, best.design)),
            "best: 0.1126 at knee = 0.2 m, ratio = 0.5 (evaluation 7)\n"
            "note: knee is at its lower bound 0.2 m: the optimum may lie beyond the range\n");
  best.reason = "warning: the gait lifts its foot by 0.50 m";
  EXPECT_NE(best_text(&best, variables, "").find("\nwarning: the gait lifts its foot by 0.50 m\n"), std::string::npos);
  best.reason = "refined once";
  EXPECT_NE(best_text(&best, variables, "").find("\nof the best: refined once\n"), std::string::npos);
  EXPECT_EQ(best_text(nullptr, variables, ""),
            "best: none: no evaluation is ok, satisfies the constraints and has finite objectives\n");
}

// A program's gradient with a wrong sign: `run` and `show` name the variable, and so does the page.
TEST(Report, AGradientThatDisagreesWithTheCostsIsPointedOut) {
  archive::Contents contents;
  contents.layout.variables = {variables[0]};
  for (const double sign : {1.0, -1.0}) {
    contents.evaluations.clear();
    for (int i = 0; i <= 12; ++i) {
      Evaluation& row = contents.evaluations.emplace_back();
      row.id = i;
      row.design = Eigen::VectorXd::Constant(1, 0.2 + 0.3 * i / 12);
      row.status = Status::ok;
      row.cost = std::pow(row.design(0) - 0.3, 2);
      row.gradient = 2 * sign * (row.design.array() - 0.3).matrix();
    }
    const surrogate::ObservedData observed = study::observed_data(contents);
    const std::string
        text = outcome_text(contents, observed),
        doubt = "between near designs the cost changes by -1 times what the gradient by knee predicts: check its sign";
    const auto slices = nlohmann::json::parse(slices_json(contents, observed, contents.evaluations[4].design));
    EXPECT_EQ(text.find("warning: " + doubt + "\n") != std::string::npos, sign < 0) << text;
    EXPECT_EQ(slices["doubtful_gradients"], sign < 0 ? doubt : "");
  }
}

// The summary of a run and `show` estimate the gain beyond a bound.
TEST(Report, ABoundThatIsWorthWideningIsPointedOut) {
  archive::Contents contents;
  contents.layout.variables = {variables[0]};
  for (int i = 0; i <= 8; ++i) {
    Evaluation& row = contents.evaluations.emplace_back();
    row.id = i;
    row.design = Eigen::VectorXd::Constant(1, 0.2 + 0.3 * i / 8);
    row.status = Status::ok;
    row.cost = 2 - 3 * row.design(0);  // 10 % of the range, 0.03 m, gain 0.09
  }
  EXPECT_NE(outcome_text(contents, study::observed_data(contents))
                .find("note: knee is at its upper bound 0.5 m: widen it, another 10 % of the range lowers the cost by "
                      "about 0.09\n"),
            std::string::npos)
      << outcome_text(contents, study::observed_data(contents));
  for (Evaluation& row : contents.evaluations) row.cost = std::pow(row.design(0) - 0.5, 2);  // minimum at the bound
  const std::string flat = outcome_text(contents, study::observed_data(contents));
  EXPECT_EQ(flat.find("note"), std::string::npos) << flat;
}

TEST(Report, AVariableThatIsANameIsToldByIt) {
  const std::vector<Variable> of_names = {{"material", "", 0, 2, {"steel", "aluminium", "titanium"}},
                                          {"ribs", "", 0, 4}};
  EXPECT_EQ(design_text(of_names, Eigen::Vector2d(1, 1)), "material = aluminium, ribs = 1");
  EXPECT_EQ(bound_note(of_names, Eigen::Vector2d(2, 1)), "");  // names have no bounds
  Evaluation one;
  one.design = Eigen::Vector2d(0, 4);
  EXPECT_NE(record_text(one, of_names, {}).find("design.material  steel\n"), std::string::npos);
  archive::Contents contents;
  contents.layout.variables = of_names;
  contents.evaluations = {one};
  EXPECT_NE(table(contents).find("\n-1  steel     4 "), std::string::npos) << table(contents);
}

// The table of failures names cause and host of each; the lines below count them. JSON has the cause of every row.
TEST(Report, FailuresHaveACauseAndAHost) {
  archive::Contents contents;
  contents.layout.variables = {{"x", "m", 0, 4}};
  const auto add = [&](std::int64_t id, Status status, const char* host) {
    Evaluation e;
    e.id = id;
    e.status = status;
    e.host = host;
    e.cost = status == Status::ok ? 1.0 : not_a_number;
    e.design = Eigen::VectorXd::Constant(1, static_cast<double>(id));
    contents.evaluations.push_back(e);
  };
  add(0, Status::ok, "node1");
  add(1, Status::failed, "node1");
  add(2, Status::lost, "node1");
  add(2, Status::lost, "node2");
  add(3, Status::lost, "node2");
  add(4, Status::timed_out, "node1");
  const std::string failed = table(contents, {.failed_only = true});
  EXPECT_NE(failed.find("status     cause    wall_time [s]  rank  host   reason"), std::string::npos) << failed;
  EXPECT_NE(failed.find("lost       design   0.00           0     node2"), std::string::npos) << failed;
  EXPECT_NE(failed.find("lost       machine  0.00           0     node2"), std::string::npos) << failed;
  EXPECT_NE(failed.find("timed_out  study    0.00           0     node1"), std::string::npos) << failed;
  EXPECT_EQ(table(contents).find("cause"), std::string::npos);
  EXPECT_EQ(causes_text(contents),
            "attempts without a usable cost because of the design: 3 (lost 2, failed 1; on node1 2, node2 1)\n"
            "attempts without a usable cost because of the machine: 1 (lost 1; on node2 1)\n"
            "attempts without a usable cost because of the study: 1 (timed_out 1; on node1 1)\n");
  const std::string all = json(contents, {});
  for (const auto* cause : {"none", "design", "machine", "study"})
    EXPECT_NE(all.find("\"cause\": \"" + std::string(cause) + "\""), std::string::npos) << cause;
  EXPECT_NE(table(contents, {.columns = {"cause"}}).find("\n2   design\n"), std::string::npos);
}

TEST(Report, AnEvaluationNamesItsEarlierAttempts) {
  archive::Contents contents;
  for (const Status status : {Status::lost, Status::ok}) {
    Evaluation e;
    e.id = 3;
    e.status = status;
    e.reason = status == Status::lost ? "rank 1 is gone" : "";
    contents.evaluations.push_back(e);
  }
  const auto attempts = [&](std::size_t row) {
    const std::string text = evaluation_text(contents, row, {});
    int count = 0;
    for (auto at = text.find("earlier attempt: "); at != std::string::npos; at = text.find("earlier attempt: ", at + 1))
      ++count;
    return std::pair(count, text.find("earlier attempt: lost, ") != std::string::npos);
  };
  EXPECT_EQ(attempts(0), std::pair(0, false));
  EXPECT_EQ(attempts(1), std::pair(1, true));
}

// Noisy costs: the design that the search recommended last is reported, if it is feasible. Exact costs: the one with
// the lowest cost. Several objectives: the front, and no single design.
TEST(Report, OneDesignIsRecommended) {
  archive::Contents contents;
  contents.layout.variables = {{"x", "m", 0, 4}};
  contents.layout.metrics = {{"work", "J", ""}};
  for (int id = 0; id < 4; ++id) {
    Evaluation e;
    e.id = id;
    e.status = Status::ok;
    e.design = Eigen::VectorXd::Constant(1, id);
    e.cost = std::abs(id - 2) + 1.0;
    e.cost_stderr = 0.5;
    e.metrics = Eigen::VectorXd::Constant(1, 4 - id);
    contents.evaluations.push_back(e);
  }
  contents.iterations.resize(3);
  contents.iterations[0].recommended = Eigen::VectorXd::Constant(1, 3);
  contents.iterations[1].recommended = Eigen::VectorXd::Constant(1, 1);
  contents.iterations[2].recommended = Eigen::VectorXd::Constant(1, not_a_number);  // before its model
  const auto recommended = [&] {
    const surrogate::ObservedData observed = study::observed_data(contents);
    const Evaluation* const found = study::recommended_of(contents, observed);
    return found ? found->id : -1;
  };
  EXPECT_EQ(recommended(), 1);
  const std::string text = table(contents);
  EXPECT_NE(text.find("recommended: x = 1 m (evaluation 1), where the model's cost is "), std::string::npos) << text;
  EXPECT_NE(text.find("\nlowest cost seen, noise included: 1 at x = 2 m (evaluation 2)\n"), std::string::npos) << text;
  EXPECT_NE(json(contents, {}).find("\"recommended\": 1\n"), std::string::npos);
  const std::string optimum = optimum_text(contents, study::observed_data(contents));
  EXPECT_EQ(optimum.find("best evaluation"), std::string::npos) << optimum;  // it is partly luck
  EXPECT_NE(optimum.find(" recommended\n"), std::string::npos) << optimum;
  EXPECT_TRUE(optimum.ends_with(" 1\n")) << optimum;
  contents.evaluations[1].status = Status::failed;  // a repeated evaluation failed
  EXPECT_EQ(recommended(), 3);
  contents.iterations.clear();
  EXPECT_EQ(recommended(), 2);
  for (Evaluation& e : contents.evaluations) e.cost_stderr = 0;
  EXPECT_EQ(recommended(), 2);
  contents.provenance.configuration = {{"surrogate.objectives", "work"}};
  EXPECT_EQ(recommended(), 3);
  EXPECT_NE(table(contents).find("\nobjective: work 1 J\n"), std::string::npos) << table(contents);
  contents.provenance.configuration = {{"surrogate.objectives", "cost, work"}};
  EXPECT_EQ(recommended(), -1);
  EXPECT_NE(json(contents, {}).find("\"front\": [\n    2,\n    3\n  ]"), std::string::npos) << json(contents, {});
}

TEST(Report, Progress) {
  std::map<std::int64_t, Evaluation> rows;
  EXPECT_EQ(progress_text({rows, nullptr, 2, 40, 1, not_a_number}, variables), "[0/40] 2 running; 1.0 s");
  for (int id = 0; id < 3; ++id) {
    rows[id].id = id;
    rows[id].design = Eigen::Vector2d(0.3, 0.1 * id);
    rows[id].status = id == 0 ? Status::failed : Status::ok;
    rows[id].cost = 5.0 - id;
  }
  rows[0].cost = -1;  // not ok: never the best
  EXPECT_EQ(progress_text({rows, study::best_of(rows, {}), 1, 40, 43, 70}, variables),
            "[3/40] 2 ok, 1 failed, 1 running; best 3 at knee = 0.3 m, ratio = 0.2; 43 s, up to 1 min 10 s left");
}

TEST(Report, GradientsThatNeverArriveAreNamed) {
  archive::Contents contents;
  contents.layout.variables = {{"x", "m", 0, 4}};
  for (int id = 0; id < 3; ++id) {
    Evaluation& e = contents.evaluations.emplace_back();
    e.id = id;
    e.status = Status::ok;
    e.design = Eigen::VectorXd::Constant(1, 1 + id);
    e.cost = id;
  }
  const std::string warning = "warning: no evaluation has a gradient, so surrogate.gradient = true has no effect\n";
  const auto warns = [&] {
    return outcome_text(contents, study::observed_data(contents)).find(warning) != std::string::npos;
  };
  EXPECT_FALSE(warns());
  contents.provenance.configuration = {{"surrogate.gradient", "true"}};
  EXPECT_TRUE(warns());
  contents.evaluations[1].gradient = Eigen::VectorXd::Ones(1);
  EXPECT_FALSE(warns());
}

TEST(Report, UndecidedShareIsAPlainNumber) {
  EXPECT_EQ(undecided_text(0.998), "; in 99.8 % of the search space the surrogate cannot rule out a better design");
  EXPECT_NE(undecided_text(1).find("in 100 % of"), std::string::npos);
  EXPECT_NE(undecided_text(0.0071).find("in 0.71 % of"), std::string::npos);
  EXPECT_EQ(undecided_text(0.004), "");
}

TEST(Report, TableIsInTheOrderOfTheIds) {
  archive::Contents contents;
  contents.layout.variables = variables;
  for (const int id : {1, 0}) {
    Evaluation& row = contents.evaluations.emplace_back();
    row.id = id;
    row.design = Eigen::Vector2d(0.25, id);
    row.status = id ? Status::ok : Status::timed_out;
    row.reason = id ? "" : "took too long";
    if (id) row.cost = 0.5;
  }
  EXPECT_EQ(table(contents),
            "id  knee [m]  ratio  cost  status     wall_time [s]  rank  reason\n"
            "0   0.25      0      -     timed_out  0.00           0     took too long\n"
            "1   0.25      1      0.5   ok         0.00           0\n"
            "\n"
            "best: 0.5 at knee = 0.25 m, ratio = 1 (evaluation 1)\n"
            "note: ratio is at its upper bound 1: the optimum may lie beyond the range\n"
            "2 evaluations, 0 iterations; not finished (running, or killed: the same command continues it)\n");
}

// The table has the requested columns and those that constraints name. No line is longer than the terminal is wide.
TEST(Report, TableShowsWhatWasAskedFor) {
  archive::Contents contents;
  contents.layout.variables = variables;
  contents.layout.metrics = {{"peak", "N m", ""}, {"loss", "J", ""}};
  contents.provenance.configuration = {{"surrogate.constraints", "peak <= 20"}};
  Evaluation& row = contents.evaluations.emplace_back();
  row.id = 3;
  row.design = Eigen::Vector2d(0.25, 0.5);
  row.status = Status::ok;
  row.cost = 0.5;
  row.metrics = Eigen::Vector2d(25, 1.5);
  const auto first_lines = [&](const Listing& listing) {
    const std::string text = table(contents, listing);
    return text.substr(0, text.find("\n\n") + 1);
  };
  EXPECT_EQ(first_lines({}),
            "id  knee [m]  ratio  cost  peak [N m]  status  wall_time [s]  rank  reason\n"
            "3   0.25      0.5    0.5   25          ok      0.00           0     violates peak <= 20 (25)\n");
  EXPECT_EQ(first_lines({.columns = {"loss", "metrics.peak", "knee"}}),
            "id  loss [J]  peak [N m]  knee [m]\n"
            "3   1.5       25          0.25\n");
  EXPECT_EQ(first_lines({.width = 24}), "id  knee [m]  ratio  co\u2026\n3   0.25      0.5    0.\u2026\n");
  EXPECT_EQ(first_lines({.columns = {"cost"}, .width = 9}), "id  cost\n3   0.5\n");
  EXPECT_THROW(table(contents, {.columns = {"peek"}}), ConfigError);
}

// A CSV file has the requested columns after the id, in full precision. By default it has all columns but the cause.
TEST(Report, CsvHasTheColumnsAskedFor) {
  archive::Contents contents;
  contents.layout.variables = variables;
  Evaluation& row = contents.evaluations.emplace_back();
  row.id = 3;
  row.design = Eigen::Vector2d(0.25, 1.0 / 3);
  row.status = Status::timed_out;
  row.reason = "too long, \"slow\"";
  EXPECT_EQ(csv(contents, {.columns = {"reason", "ratio", "id", "cause", "knee"}}),
            "id,reason,design.ratio,cause,design.knee [m]\n"
            "3,\"too long, \"\"slow\"\"\",0.3333333333333333,study,0.25\n");
  const std::string all = csv(contents, {}), head = all.substr(0, all.find('\n'));
  EXPECT_NE(head.find("design.ratio"), std::string::npos) << head;
  EXPECT_NE(head.find("reason"), std::string::npos) << head;
  EXPECT_EQ(head.find("cause"), std::string::npos) << head;
  EXPECT_THROW(csv(contents, {.columns = {"nix"}}), ConfigError);
}

TEST(Report, CsvHasAColumnPerCoordinate) {
  const Channels channels = {{"t", "s", "", 3, {"t"}}, {"q", "rad", "", 3, {"a", "b"}}, {"u", "N m", "", 2, {"hip"}}};
  Trajectory motion;
  motion.values = {Eigen::Vector3d(0, 0.1, 0.2), Eigen::MatrixXd::Ones(3, 2), Eigen::Vector2d(5, -6)};
  EXPECT_EQ(csv(motion, channels), "t [s],q.a [rad],q.b [rad],u.hip [N m]\n0,1,1,5\n0.1,1,1,-6\n0.2,1,1,\n");
}

// Numbers and the names of their units change together; a gradient is per new unit of its variable.
TEST(Report, NumbersAreShownInUnitsOfTheReadersChoice) {
  const OutputUnits units = read_output_units("deg, mm");
  archive::Layout layout;
  layout.variables = {{"knee", "m", 0.2, 0.5}, {"fold", "rad", 0, 2}, {"ratio", "", 0, 1}};
  layout.metrics = {{"rise", "m", ""}, {"peak", "N m", ""}};
  Evaluation e;
  e.design = Eigen::Vector3d(0.25, std::numbers::pi / 2, 0.5);
  e.gradient = Eigen::Vector3d(2, 180 / std::numbers::pi, 3);
  e.metrics = Eigen::Vector2d(0.03, 25);
  std::vector<Evaluation> evaluations = {e};
  convert(layout, evaluations, units);
  EXPECT_EQ(layout.variables[0].unit, "mm");
  EXPECT_EQ(layout.variables[1].unit, "deg");
  EXPECT_EQ(layout.variables[2].unit, "");
  EXPECT_EQ(layout.metrics[1].unit, "N m");
  EXPECT_DOUBLE_EQ(layout.variables[0].upper, 500);
  EXPECT_LT((evaluations[0].design - Eigen::Vector3d(250, 90, 0.5)).norm(), 1e-12);
  EXPECT_LT((evaluations[0].gradient - Eigen::Vector3d(0.002, 1, 3)).norm(), 1e-12);
  EXPECT_LT((evaluations[0].metrics - Eigen::Vector2d(30, 25)).norm(), 1e-12);

  Channels channels = {{"t", "s", "", 2, {"t"}}, {"q", "", "", 2, {"x", "hip"}}, {"work", "N m", "", 2, {"work"}}};
  channels[1].units = {"m", "rad"};
  Trajectory motion;
  motion.values = {Eigen::Vector2d(0, 1), Eigen::MatrixXd{{0.5, 0}, {1, std::numbers::pi}}, Eigen::Vector2d(1, 2)};
  convert(motion, channels, units);
  EXPECT_EQ(csv(motion, channels), "t [s],q.x [mm],q.hip [deg],work [N m]\n0,500,0,1\n1,1000,180,2\n");
  layout.channels = channels;
  const auto solved = nlohmann::json::parse(outcome_json({evaluations[0], motion}, layout));
  EXPECT_EQ(solved["trajectory"]["q"]["units"], nlohmann::json({"mm", "deg"}));
  Channels archived = {{"foot", "m", "", 1, {"x", "y"}, {"m", "m"}}};  // as stored in an archive
  Trajectory foot;
  foot.values = {Eigen::MatrixXd{{0.5, 1}}};
  convert(foot, archived, units);
  EXPECT_EQ(archived[0].unit, "mm");
  EXPECT_EQ(foot.values[0](0, 0), 500);
  EXPECT_FALSE(solved["trajectory"]["t"].contains("units"));

  EXPECT_EQ(unused(read_output_units("deg, kg"), layout), std::vector<std::string>{"kg"});
  // The request of the Python package. Units that no chosen unit replaces, and words that are not units, are left out.
  const auto asked =
      nlohmann::json::parse(conversions_json(read_output_units("mm, N mm, kg"), {"m", "N m", "mm", "1", "cost"}));
  EXPECT_EQ(asked["converted"].size(), 2u);
  EXPECT_EQ(asked["converted"]["N m"]["unit"], "N mm");
  EXPECT_DOUBLE_EQ(asked["converted"]["m"]["factor"], 1000);
  EXPECT_EQ(asked["unused"], nlohmann::json({"kg"}));
  for (const char* wrong : {"furlong", "mm, cm", "1", "deg,"})
    EXPECT_THROW(read_output_units(wrong), ConfigError) << wrong;
}

// All labels and whole numbers have equal weight. The value with the lowest mean cost is named, also on a logarithmic
// scale. The cost is a sum of functions of one variable each, known at all combinations.
TEST(Report, SensitivityWeighsValuesEvenlyAndNamesTheLeastOne) {
  archive::Contents contents;
  contents.layout.variables = {
      {"material", "1", 0, 2, {"steel", "wood", "glass"}}, {"legs", "1", 1, 3}, {"stiffness", "N/m", 1, 100}};
  contents.provenance.configuration = {
      {"design.material", "steel, wood, glass"}, {"surrogate.integers", "legs"}, {"surrogate.log-scale", "stiffness"}};
  const double of_material[] = {1, 0, 0.4};
  for (int material = 0; material < 3; ++material)
    for (int legs = 1; legs <= 3; ++legs)
      for (int decade = 0; decade <= 4; ++decade) {
        Evaluation& row = contents.evaluations.emplace_back();
        row.id = static_cast<std::int64_t>(contents.evaluations.size()) - 1;
        row.design = Eigen::Vector3d(material, legs, std::pow(10, 0.5 * decade));
        row.status = Status::ok;
        row.cost = of_material[material] + 0.3 / legs + 0.1 * std::pow(0.5 * decade - 1, 2);
      }
  const surrogate::ObservedData observed = study::observed_data(contents);
  const Sensitivity found = sensitivity_of(contents, observed, -1, 4096);
  EXPECT_NEAR(found.indices.mean, 1.4 / 3 + 0.3 * (1 + 0.5 + 1. / 3) / 3 + 0.1 / 3, 0.02);
  EXPECT_NEAR(found.effects.row(0).mean(), found.indices.mean, 0.02);
  EXPECT_EQ(found.least_at(0), 1);
  EXPECT_EQ(found.least_at(1), 3);
  EXPECT_NEAR(found.least_at(2), 10, 1);
  const std::string text = as_text(found);
  EXPECT_NE(text.find("material = wood\n"), std::string::npos) << text;
  EXPECT_NE(text.find("legs = 3\n"), std::string::npos) << text;
}

// A constant quantity has no variance, so there are no shares of it, and no interactions.
TEST(Report, SensitivityOfAConstantNamesNoShares) {
  archive::Contents contents;
  contents.layout.variables = {{"a", "1", 0, 1}};
  contents.layout.metrics = {{"duration", "s", ""}};
  for (int i = 0; i < 6; ++i) {
    Evaluation& row = contents.evaluations.emplace_back();
    row.id = i;
    row.design = Eigen::VectorXd::Constant(1, i / 5.0);
    row.status = Status::ok;
    row.cost = i;
    row.metrics = Eigen::VectorXd::Constant(1, 0.5);
  }
  const std::string text = as_text(sensitivity_of(contents, study::observed_data(contents), 0, 64));
  EXPECT_EQ(text, "duration = 0.5 s for every design, by 6 evaluations: it has no variance, and no variable matters\n");
}

// Averages are computed at a few quantiles: the minimum of a narrow valley lies between them, and the text states it.
TEST(Report, SensitivityStatesItsQuantiles) {
  archive::Contents contents;
  contents.layout.variables = {{"a", "1", 0, 1}};
  for (int i = 0; i < 12; ++i) {
    Evaluation& row = contents.evaluations.emplace_back();
    row.id = i;
    row.design = Eigen::VectorXd::Constant(1, i / 11.0);
    row.status = Status::ok;
    row.cost = std::pow(row.design(0) - 0.12, 2);
  }
  const std::string text = as_text(sensitivity_of(contents, study::observed_data(contents), -1, 64));
  EXPECT_NE(text.find("a = 0.1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("averages at 21 quantiles of each variable's range; least: at one of these quantiles\n"),
            std::string::npos)
      << text;
}

// Effects reach both bounds. The cost is linear and known on a grid that includes the bounds.
TEST(Report, SensitivityCoversWholeRanges) {
  archive::Contents contents;
  contents.layout.variables = {{"a", "1", 0, 1}, {"b", "m", 2, 4}};
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      Evaluation& row = contents.evaluations.emplace_back();
      row.id = static_cast<std::int64_t>(contents.evaluations.size()) - 1;
      row.design = Eigen::Vector2d(i / 4.0, 2 + j / 2.0);
      row.status = Status::ok;
      row.cost = row.design(0) - row.design(1);
    }
  const Sensitivity found = sensitivity_of(contents, study::observed_data(contents), -1, 64);
  EXPECT_NEAR(found.effects.row(0).minCoeff(), -3, 0.01);
  EXPECT_NEAR(found.effects.row(0).maxCoeff(), -2, 0.01);
  EXPECT_NEAR(found.effects.row(1).minCoeff(), -3.5, 0.01);
  EXPECT_NEAR(found.effects.row(1).maxCoeff(), -1.5, 0.01);
  EXPECT_EQ(found.least_at(0), 0);
  EXPECT_EQ(found.least_at(1), 4);
}

// The lowest of several uncertain costs is probably too low. A search with paired costs states the range that accounts
// for the choice, and a prediction at its design has the same one.
TEST(Report, ThePredictionAtTheRecommendedDesignHasTheStatedRange) {
  archive::Contents contents;
  contents.layout.variables = {{"x", "m", 0, 1}};
  for (int i = 0; i < 9; ++i) {
    Evaluation& row = contents.evaluations.emplace_back();
    row.id = i;
    row.design = Eigen::VectorXd::Constant(1, 0.125 * i);
    row.status = Status::ok;
    row.cost = std::pow(row.design(0) - 0.5, 2);
    row.cost_stderr = 0.05;
  }
  surrogate::Iteration& last = contents.iterations.emplace_back();
  last.recommended = contents.evaluations[4].design;
  last.numbers = {{"recommended_cost", 0.25},
                  {"recommended_deviation", 0.03},
                  {"recommended_optimism", 0.04},
                  {"indifference", 0.02},
                  {"probability_best", 0.9}};
  const surrogate::ObservedData observed = study::observed_data(contents);
  const auto [lower, upper] = surrogate::interval_of_choice(0.25, 0.03, 0.04);
  const auto at = [&](double x) { return prediction_of(contents, observed, Eigen::VectorXd::Constant(1, x), {}); };
  const DesignPrediction recommended = at(0.5), other = at(0.375);
  EXPECT_EQ(recommended.quantities[0].forecast.middle, 0.25);
  EXPECT_EQ(recommended.quantities[0].forecast.lower, lower);
  EXPECT_EQ(recommended.quantities[0].forecast.upper, upper);
  EXPECT_NE(outcome_text(contents, observed).find(formatted("(95 %%: %.6g to %.6g)", lower, upper)), std::string::npos);
  EXPECT_NE(as_text(recommended).find("note: this design is the recommended one"), std::string::npos);
  EXPECT_LT(other.quantities[0].forecast.middle, 0.2);
  EXPECT_EQ(as_text(other).find("recommended"), std::string::npos);
}

// Summaries, predictions, sensitivities and JSON are in the chosen units. Models are fitted in the archive's units.
TEST(Report, SummariesAndPredictionsHaveUnitsOfTheReadersChoice) {
  archive::Contents contents;
  contents.layout.variables = {{"knee", "m", 0.2, 0.5}, {"fold", "rad", 0, 2}};
  contents.layout.metrics = {{"peak", "N m", ""}};
  contents.provenance.configuration = {{"surrogate.constraints", "peak <= 21"}};
  const Eigen::MatrixXd points = surrogate::sobol(2, 12, 3);
  for (int i = 0; i < 12; ++i) {
    Evaluation& row = contents.evaluations.emplace_back();
    row.id = i;
    row.design = Eigen::Vector2d(0.2 + 0.3 * points(0, i), 2 * points(1, i));
    row.status = Status::ok;
    row.cost = std::pow(row.design(0) - 0.3, 2) + 0.1 * std::pow(row.design(1) - 1, 2);
    row.metrics = Eigen::VectorXd::Constant(1, 20 + row.design(1));
  }
  surrogate::Iteration& iteration = contents.iterations.emplace_back();
  iteration.next = contents.evaluations[3].design;
  const surrogate::ObservedData observed = study::observed_data(contents);
  const OutputUnits units = read_output_units("deg, mm, N mm");
  const double degree = 180 / std::numbers::pi;
  const Eigen::Vector2d factors(1000, degree), design(0.31, 1.1);

  const DesignPrediction plain = prediction_of(contents, observed, design, {0});
  const DesignPrediction shown = prediction_of(contents, observed, design, {0}, units);
  EXPECT_LT((shown.design - plain.design.cwiseProduct(factors)).norm(), 1e-12);
  EXPECT_EQ(shown.variables[1].unit, "deg");
  ASSERT_EQ(shown.quantities.size(), 2u);
  EXPECT_EQ(shown.quantities[0].forecast.middle, plain.quantities[0].forecast.middle);  // the cost
  EXPECT_EQ(shown.quantities[1].unit, "N mm");
  EXPECT_DOUBLE_EQ(shown.quantities[1].forecast.middle, 1000 * plain.quantities[1].forecast.middle);
  EXPECT_DOUBLE_EQ(shown.quantities[1].forecast.upper, 1000 * plain.quantities[1].forecast.upper);
  double least = HUGE_VAL;
  for (const Evaluation& e : contents.evaluations) {
    const double apart = std::max(std::abs(e.design(0) - 0.31) / 0.3, std::abs(e.design(1) - 1.1) / 2);
    least = std::min(least, apart);
    if (e.id == plain.nearest) {
      EXPECT_NEAR(plain.distance, apart, 1e-12);
    }
  }
  EXPECT_NEAR(plain.distance, least, 1e-12);
  EXPECT_EQ(plain.kept[0].first, "peak <= 21");
  EXPECT_EQ(shown.kept[0].first, "peak <= 21000 N mm");
  EXPECT_EQ(shown.kept[0].second, plain.kept[0].second);
  EXPECT_NE(as_json(shown).find("\"fold\": \"deg\""), std::string::npos);

  const Sensitivity shares = sensitivity_of(contents, observed, 0, 64),
                    in_units = sensitivity_of(contents, observed, 0, 64, units);
  EXPECT_EQ(in_units.indices.first, shares.indices.first);
  EXPECT_DOUBLE_EQ(in_units.indices.mean, 1000 * shares.indices.mean);
  EXPECT_DOUBLE_EQ(in_units.indices.variance, 1e6 * shares.indices.variance);
  EXPECT_TRUE(in_units.effects.isApprox(1000 * shares.effects));
  EXPECT_EQ(in_units.unit, "N mm");
  EXPECT_DOUBLE_EQ(in_units.variables[0].upper, 500);

  const Evaluation& best = *observed.best();
  EXPECT_NE(outcome_text(contents, observed, units)
                .find(formatted("knee = %.8g mm, fold = %.8g deg", 1000 * best.design(0), degree * best.design(1))),
            std::string::npos)
      << outcome_text(contents, observed, units);
  EXPECT_NE(optimum_text(contents, observed, units).find(formatted("%.6g", 1000 * best.design(0))), std::string::npos);
  Evaluation broken = best;
  broken.metrics(0) = 25;
  EXPECT_EQ(broken_text(contents, observed, broken, units), "violates peak <= 21000 N mm (25000)");
  EXPECT_EQ(broken_text(contents, observed, broken), "violates peak <= 21 (25)");
  broken.metrics.setConstant(not_a_number);
  EXPECT_EQ(broken_text(contents, observed, broken), "violates peak <= 21 (no value)");

  const auto own_slices = nlohmann::json::parse(slices_json(contents, observed, design)),
             slices = nlohmann::json::parse(slices_json(contents, observed, design, units));
  for (const int i : {0, 1}) {
    const auto &own = own_slices["slices"][i], &converted = slices["slices"][i];
    EXPECT_EQ(converted["median"], own["median"]);
    EXPECT_DOUBLE_EQ(converted["x"].back(), factors(i) * own["x"].back().get<double>());
    const std::string name = contents.layout.variables[i].name;
    EXPECT_DOUBLE_EQ(slices["design"][name], factors(i) * design(i));
    EXPECT_DOUBLE_EQ(slices["optimum"]["variables"][name][1],
                     factors(i) * own_slices["optimum"]["variables"][name][1].get<double>());
  }
  EXPECT_DOUBLE_EQ(slices["pairs"][0]["y"].back(), degree * own_slices["pairs"][0]["y"].back().get<double>());
  EXPECT_EQ(slices["optimum"]["cost"], own_slices["optimum"]["cost"]);

  const std::map<std::int64_t, Evaluation> none;
  const study::Progress progress{none, &best, 1, 12, 1.0, not_a_number};
  EXPECT_NE(progress_text(progress, contents.layout.variables, units)
                .find(formatted("at knee = %.4g mm, fold = %.4g deg", 1000 * best.design(0), degree * best.design(1))),
            std::string::npos);

  const auto all = nlohmann::json::parse(json(contents, {.units = units}));
  EXPECT_EQ(all["variables"][0]["unit"], "mm");
  EXPECT_DOUBLE_EQ(all["evaluations"][5]["design"]["fold"], degree * contents.evaluations[5].design(1));
  EXPECT_DOUBLE_EQ(all["evaluations"][5]["metrics"]["peak"], 1000 * contents.evaluations[5].metrics(0));
  EXPECT_DOUBLE_EQ(all["iterations"][0]["next"][0], 1000 * iteration.next(0));
  EXPECT_EQ(all["recommended"], best.id);

  // Two objectives: a front, and the constraint still in the archive's unit.
  contents.provenance.configuration.emplace_back("surrogate.objectives", "cost, peak");
  const surrogate::ObservedData two = study::observed_data(contents);
  const std::string front = outcome_text(contents, two, units);
  EXPECT_NE(front.find("peak [N mm]"), std::string::npos) << front;
  EXPECT_NE(front.find(formatted("%.6g", 1000 * front_of(two).back()->metrics(0))), std::string::npos) << front;
}

// Only settings that change answers are in the difference: not the seed, which is equal, and not the archive's name.
TEST(Report, TheDifferenceOfTwoProblemsIsWhatChangesAnswers) {
  const Described one{
      "a.h5", {{"study.seed", "1"}, {"study.archive", "a.h5"}, {"design.knee", "0.4"}, {"gait.steps", "2"}}, {}},
      other{"b.h5", {{"study.seed", "1"}, {"study.archive", "b.h5"}, {"design.knee", "0.5"}, {"gait.nodes", "9"}}, {}};
  EXPECT_EQ(difference_text(one, one), "");
  const std::string text = difference_text(one, other);
  EXPECT_NE(text.find("\n-design.knee = 0.4\n+design.knee = 0.5\n-gait.steps = 2\n+gait.nodes = 9\n"),
            std::string::npos)
      << text;
  for (const char* equal : {"seed", "archive"}) EXPECT_EQ(text.find(equal), std::string::npos) << text;
}

// With unlimited context the difference contains all lines of both texts in their order. The number of equal lines is
// the length of the longest common subsequence.
TEST(LineDifference, HoldsTheLinesOfBothTexts) {
  std::mt19937 random(3);
  const auto some = [&] {
    std::vector<std::string> lines(random() % 8);
    for (auto& line : lines) line = std::string(1, static_cast<char>('a' + random() % 3));
    return lines;
  };
  const auto joined = [](const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    return text;
  };
  for (int trial = 0; trial < 300; ++trial) {
    const auto a = some(), b = some();
    std::vector<std::vector<std::size_t>> common(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < b.size(); ++j)
        common[i + 1][j + 1] = a[i] == b[j] ? common[i][j] + 1 : std::max(common[i][j + 1], common[i + 1][j]);
    std::istringstream lines(line_difference(joined(a), joined(b), 100));
    std::string head, one, other;
    std::size_t equal = 0;
    std::getline(lines, head);
    for (std::string line; std::getline(lines, line);) {
      ASSERT_EQ(line.size(), 2u);
      if (line[0] != '+') one += line.substr(1) + "\n";
      if (line[0] != '-') other += line.substr(1) + "\n";
      equal += line[0] == ' ';
    }
    if (a == b) {
      EXPECT_EQ(head, "");
      continue;
    }
    EXPECT_EQ(one, joined(a));
    EXPECT_EQ(other, joined(b));
    EXPECT_EQ(equal, common[a.size()][b.size()]);
    const auto range = [](const std::vector<std::string>& all) {
      return std::to_string(all.empty() ? 0 : 1) + "," + std::to_string(all.size());
    };
    EXPECT_EQ(head, "@@ -" + range(a) + " +" + range(b) + " @@");
  }
}

TEST(LineDifference, ShowsThreeLinesAround) {
  std::string one, other;
  for (int i = 1; i <= 20; ++i) {
    one += std::to_string(i) + "\n";
    other += i == 5 ? "five\n" : i == 20 ? "" : std::to_string(i) + "\n";
  }
  EXPECT_EQ(line_difference(one, other),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -17,4 +17,3 @@\n 17\n 18\n 19\n-20\n");
  EXPECT_EQ(line_difference("a\nb\nc\n", "a\nx\nb\nc\n", 0), "@@ -1,0 +2,1 @@\n+x\n");
  EXPECT_EQ(line_difference("a\n", "a\n"), "");
}

TEST(Report, CsvLeavesOtherTablesOut) {
  Channels channels = {{"t", "s", "", 3, {"t"}}, {"q", "", "", 3, {"a", "b"}}, {"optima", "", "", 2, {"cost"}}};
  channels[1].units = {"m", "rad"};
  channels.push_back({"shapes", "", "", 7, {"x"}});
  Trajectory motion;
  motion.values = {Eigen::Vector3d(0, 1, 2), Eigen::MatrixXd::Ones(3, 2), Eigen::MatrixXd::Ones(1, 1),
                   Eigen::MatrixXd::Ones(7, 1)};
  EXPECT_EQ(csv(motion, channels), "t [s],q.a [m],q.b [rad]\n0,1,1\n1,1,1\n2,1,1\n");
}

// The reference names every key, in a table whose rows all have the columns of its head.
TEST(Report, ReferenceIsComplete) {
  const std::string text = reference_markdown({{"run", "A | B", "a | b"}});
  EXPECT_NE(text.find("| `dodyn run A \\| B` | a \\| b |"), std::string::npos);
  for (const auto& kind : evaluators::evaluator_kinds()) {
    EXPECT_NE(text.find("### " + kind.name + "\n"), std::string::npos) << kind.name;
    for (const auto& key : evaluator_keys(kind))
      EXPECT_NE(text.find("| `" + key.name + "` | "), std::string::npos) << key.name;
  }
  for (const auto& key : study_keys(evaluators::evaluator_kinds()))
    EXPECT_NE(text.find("| `" + key.name + "` | "), std::string::npos) << key.name;
  for (const auto& strategy : surrogate::strategy_keys())
    EXPECT_NE(text.find("### " + strategy.name + "\n"), std::string::npos) << strategy.name;
  std::istringstream lines(text);
  long columns = 0;
  for (std::string line; std::getline(lines, line);) {
    long bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    if (columns > 0 && bars > 0) {
      EXPECT_EQ(bars, columns) << line;
    }
    columns = bars;
  }
}

// --help names every key of every evaluator.
TEST(Report, HelpIsComplete) {
  const std::string help = keys_text();
  for (const auto& key : study_keys(evaluators::evaluator_kinds()))
    EXPECT_NE(help.find("--" + key.name + " "), std::string::npos) << key.name;
  for (const auto& strategy : surrogate::strategy_keys())
    for (const auto& key : strategy.keys) EXPECT_NE(help.find("--" + key.name + " "), std::string::npos) << key.name;
  for (const auto& kind : evaluators::evaluator_kinds())
    for (const auto& key : evaluator_keys(kind))
      EXPECT_NE(help.find("--" + key.name + " "), std::string::npos) << key.name;
}

}  // namespace
}  // namespace dodyn::report::test_report
