// The design loop: however a study is divided into runs and distributed over evaluators, its result is the same.
#include "study/study.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

#include "record/random.hpp"
#include "report/report.hpp"
#include "tests/directory.hpp"

namespace dodyn::study::test_study {
namespace {

// An MPI farm without MPI: several evaluators, and the one that started last finishes first.
class BackwardsFarm : public farm::Farm {
 public:
  BackwardsFarm(Work work, int evaluators) : work_(std::move(work)), evaluators_(evaluators) {}
  int evaluators() const override { return evaluators_; }
  int outstanding() const override { return static_cast<int>(tasks_.size()); }
  void submit(Task task) override { tasks_.push_back(std::move(task)); }
  void cancel_queued() override { tasks_.clear(); }
  std::optional<Outcome> next(std::chrono::milliseconds) override {
    if (tasks_.empty()) return {};
    const auto last_started = tasks_.begin() + std::min<std::ptrdiff_t>(evaluators_, outstanding()) - 1;
    Outcome outcome = work_(*last_started);
    tasks_.erase(last_started);
    return outcome;
  }

 private:
  Work work_;
  int evaluators_;
  std::vector<Task> tasks_;
};

// Evaluators that take 1 to 2 s for a design, in simulated time: which share of the time they were busy is known
// exactly.
class TimedFarm : public farm::Farm {
 public:
  TimedFarm(Work work, int evaluators) : work_(std::move(work)), evaluators_(evaluators) {}
  int evaluators() const override { return evaluators_; }
  int outstanding() const override { return queued_.size() + running_.size(); }
  void submit(Task task) override {
    queued_.push_back(std::move(task));
    begin();
    busy_before_last_ = busy_, time_before_last_ = now_;
  }
  void cancel_queued() override { queued_.clear(); }
  std::optional<Outcome> next(std::chrono::milliseconds wait) override {
    if (running_.empty() || (wait.count() == 0 && running_.begin()->first > now_)) return {};
    const auto first = running_.begin();
    busy_ += static_cast<double>(running_.size()) * (first->first - now_);
    now_ = first->first;
    Outcome outcome = work_(first->second);
    running_.erase(first);
    begin();
    return outcome;
  }
  // Until the last design began, since the end of a search leaves evaluators without work.
  double busy_share() const { return busy_before_last_ / (time_before_last_ * evaluators_); }

 private:
  void begin() {
    while (!queued_.empty() && std::ssize(running_) < evaluators_) {
      const auto id = static_cast<std::uint64_t>(queued_.front().evaluation.id);
      const double seconds = 1 + static_cast<double>(evaluation_seed(7, static_cast<std::int64_t>(id)) % 1000) / 1000;
      running_.emplace(now_ + seconds, std::move(queued_.front()));
      queued_.erase(queued_.begin());
    }
  }

  Work work_;
  int evaluators_;
  std::vector<Task> queued_;
  std::multimap<double, Task> running_;  // by the time at which they end
  double now_ = 0, busy_ = 0, busy_before_last_ = 0, time_before_last_ = 0;
};

class StudyTest : public ::testing::Test {
 protected:
  void SetUp() override { write("name = forrester\nnoise = 0.01\nfail-above = 0.9\n[design]\nx.min = 0\nx.max = 1\n"); }

  void write(const std::string& text) const {
    std::ofstream(config) << "[study]\nevaluator = testfunction\n[surrogate]\npoints = 21\n[testfunction]\n" << text;
  }

  Settings settings(const std::string& archive, std::vector<std::string> words = {}) const {
    words.push_back("--study.archive=" + directory + "/" + archive);
    return evaluators::read_settings(config, words);
  }

  // Runs the study as `dodyn run` does. Interrupted once the archive holds `interrupt_at` evaluations.
  Summary run(const std::string& archive, const std::vector<std::string>& words = {}, int evaluators = 1,
              std::size_t interrupt_at = 1000) const {
    const Settings now = settings(archive, words);
    const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(now);
    const auto strategy = make_strategy(now, *evaluator);
    BackwardsFarm farm(make_work(evaluator, now), evaluators);
    bool interrupted = false;
    return Study(
               now, *evaluator, *strategy, farm, {}, [&] { return std::string(interrupted ? "interrupted" : ""); },
               [&](const Progress& progress) {
                 if (progress.evaluations.size() >= interrupt_at) interrupted = true;
               })
        .run();
  }

  archive::Contents contents(const std::string& archive) const { return archive::read(directory + "/" + archive); }

  std::string refusal(const std::string& archive, const std::vector<std::string>& words = {}) const {
    try {
      run(archive, words);
    } catch (const ConfigError& error) {
      std::string message = error.what();
      if (const auto at = message.find(directory + "/"); at != std::string::npos)
        message.erase(at, directory.size() + 1);
      return message;
    }
    return "accepted";
  }

  static bool bits_equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

  // All that a study computes, bit for bit: everything but when, where and how fast.
  void expect_same(const std::string& one, const std::string& other) const {
    const auto sorted = [](std::vector<Evaluation> all) {
      std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
      return all;
    };
    const auto a = contents(one), b = contents(other);
    const auto rows_a = sorted(a.evaluations), rows_b = sorted(b.evaluations);
    ASSERT_EQ(rows_a.size(), rows_b.size());
    for (std::size_t i = 0; i < rows_a.size(); ++i) {
      const Evaluation &x = rows_a[i], &y = rows_b[i];
      EXPECT_EQ(x.id, y.id);
      EXPECT_EQ(x.parent, y.parent) << x.id;
      EXPECT_EQ(x.seed, y.seed) << x.id;
      EXPECT_EQ(x.design, y.design) << x.id;
      EXPECT_EQ(x.status, y.status) << x.id;
      EXPECT_EQ(x.reason, y.reason) << x.id;
      EXPECT_TRUE(bits_equal(x.cost, y.cost)) << x.id;
      EXPECT_EQ(x.metrics.size(), y.metrics.size());
      for (Eigen::Index k = 0; k < std::min(x.metrics.size(), y.metrics.size()); ++k)
        EXPECT_TRUE(bits_equal(x.metrics(k), y.metrics(k))) << x.id;
    }
    ASSERT_EQ(a.iterations.size(), b.iterations.size());
    for (std::size_t i = 0; i < a.iterations.size(); ++i) {
      EXPECT_EQ(a.iterations[i].next, b.iterations[i].next) << i;
      EXPECT_EQ(a.iterations[i].best_id, b.iterations[i].best_id) << i;
    }
    EXPECT_EQ(a.stopped, b.stopped);
  }

  const Directory own;
  const std::string directory = own.path.string();
  const std::string config = directory + "/f.cfg";
};

TEST_F(StudyTest, ArchivesWhatItDid) {
  write("name = quadratic\n[design]\nx.min = 0\nx.max = 1\n");
  const Summary summary = run("a.h5");
  EXPECT_FALSE(summary.ending == Ending::interrupted);
  EXPECT_FALSE(summary.reason.empty());
  ASSERT_TRUE(summary.best);
  EXPECT_NEAR(summary.best->design(0), 0.3, 1e-3);
  const auto archived = contents("a.h5");
  EXPECT_EQ(archived.stopped, summary.reason);
  EXPECT_EQ(archived.provenance.evaluator, "testfunction");
  EXPECT_EQ(differences(settings("a.h5"), archived.provenance.configuration), "");
  ASSERT_EQ(std::ssize(archived.evaluations), summary.evaluated);
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < archived.evaluations.size(); ++i) {
    EXPECT_EQ(archived.evaluations[i].id, static_cast<std::int64_t>(i));
    EXPECT_EQ(archived.evaluations[i].seed, evaluation_seed(1, archived.evaluations[i].id));
    seeds.insert(archived.evaluations[i].seed);
  }
  EXPECT_EQ(seeds.size(), archived.evaluations.size());
}

TEST_F(StudyTest, OrderAndNumberOfEvaluatorsDoNotMatter) {
  for (const std::string strategy : {"spline", "sweep", "ego"}) {
    run(strategy + "1.h5", {"--strategy", strategy});
    for (const int n : {2, 3, 8, 64}) {
      const std::string archive = strategy + std::to_string(n) + ".h5";
      run(archive, {"--strategy", strategy}, n);
      expect_same(strategy + "1.h5", archive);
    }
  }
}

TEST_F(StudyTest, InterruptedAnywhereItContinuesToTheSameEnd) {
  run("whole.h5", {"--strategy", "sweep"});
  const auto all = contents("whole.h5").evaluations.size();
  ASSERT_EQ(all, 21u);
  for (std::size_t cut = 1; cut < all; cut += 3) {
    const std::string archive = "cut" + std::to_string(cut) + ".h5";
    const Summary first = run(archive, {"--strategy", "sweep"}, 3, cut);
    EXPECT_EQ(first.ending, Ending::interrupted);
    EXPECT_EQ(contents(archive).ending, Ending::interrupted);
    EXPECT_GE(first.evaluated, static_cast<int>(cut));  // what was running is waited for
    const Summary second = run(archive, {"--strategy", "sweep"}, 2);
    EXPECT_FALSE(second.ending == Ending::interrupted);
    EXPECT_EQ(second.restored, first.evaluated);
    EXPECT_EQ(second.restored + second.evaluated, 21);
    expect_same("whole.h5", archive);
  }
}

TEST_F(StudyTest, RaisingTheLimitContinues) {
  for (const std::string strategy : {"spline", "sweep"}) {
    run(strategy + "-whole.h5", {"--strategy", strategy});
    const std::string archive = strategy + "-steps.h5";
    for (const std::string limit : {"1", "2", "5", "6"}) {
      const Summary summary = run(archive, {"--strategy", strategy, "--study.max-evaluations", limit}, 4);
      EXPECT_EQ(summary.reason, "reached study.max-evaluations = " + limit);
      EXPECT_EQ(contents(archive).evaluations.size(), std::stoul(limit));
      EXPECT_EQ(contents(archive).stopped, summary.reason);
    }
    run(archive, {"--strategy", strategy});
    expect_same(strategy + "-whole.h5", archive);
  }
}

TEST_F(StudyTest, AFinishedStudySaysSo) {
  const Summary first = run("a.h5");
  const Summary again = run("a.h5");
  EXPECT_TRUE(again.was_finished);
  EXPECT_EQ(again.reason, first.reason);
  EXPECT_EQ(again.evaluated, 0);
  EXPECT_EQ(again.restored, first.evaluated);
  EXPECT_EQ(contents("a.h5").stopped, first.reason);
  ASSERT_TRUE(again.best);
  EXPECT_EQ(again.best->id, first.best->id);
}

// A run killed while several evaluators were busy leaves ids out; only those are evaluated again.
// Turns a byte of a row's motion.
void damage_trajectory(const std::string& path, hsize_t row) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "/trajectories/value", H5P_DEFAULT);
  const hid_t list = H5Dget_create_plist(dataset);
  hsize_t chunk[3];
  ASSERT_EQ(H5Pget_chunk(list, 3, chunk), 3);
  H5Pclose(list);
  const hsize_t at[] = {row - row % chunk[0], 0, 0};
  unsigned mask = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  ASSERT_GE(H5Dget_chunk_info_by_coord(dataset, at, &mask, &address, &bytes), 0);
  H5Dclose(dataset);
  H5Fclose(file);
  std::fstream all(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto place = static_cast<std::streamoff>(address + bytes / chunk[0] * (row % chunk[0]) + 20);
  all.seekg(place);
  const auto byte = static_cast<char>(all.get() ^ 1);
  all.seekp(place);
  all.put(byte);
}

TEST_F(StudyTest, MotionsAreReadWhereAnEvaluationMayStartFromOne) {
  const std::vector<std::string> half = {"--study.max-evaluations=8", "--study.batch=4"};
  run("half.h5", half);
  damage_trajectory(directory + "/half.h5", 5);
  EXPECT_TRUE(run("half.h5", half).was_finished);  // nothing left to start: no motion is read
  const std::vector<std::string> whole = {"--study.max-evaluations=12", "--study.batch=4"};
  EXPECT_THROW(
      {
        try {
          run("half.h5", whole);
        } catch (const ConfigError& error) {
          EXPECT_NE(std::string(error.what()).find("damaged: the trajectory of row 5"), std::string::npos)
              << error.what();
          throw;
        }
      },
      ConfigError);
  EXPECT_EQ(contents("half.h5").evaluations.size(), 8u);
}

TEST_F(StudyTest, HolesAreFilled) {
  run("whole.h5", {"--strategy", "sweep"});
  const auto whole = contents("whole.h5");
  {
    const Settings now = settings("holes.h5", {"--strategy", "sweep"});
    archive::Provenance where;
    where.configuration = now.configuration();
    auto holes = archive::Archive::create(directory + "/holes.h5", whole.layout, where);
    for (const std::size_t id : {1u, 0u, 4u, 2u})
      holes.append(Outcome{whole.evaluations[id], archive::read_trajectory(directory + "/whole.h5", id)});
  }
  const Summary summary = run("holes.h5", {"--strategy", "sweep"}, 2);
  EXPECT_EQ(summary.restored, 4);
  EXPECT_EQ(summary.evaluated, 17);
  expect_same("whole.h5", "holes.h5");
}

TEST_F(StudyTest, WarmStartsComeFromTheNearestToldEvaluation) {
  write("name = forrester\nfail-above = 0.9\n[design]\nx.min = 0\nx.max = 1\n");
  run("a.h5", {"--strategy", "sweep", "--study.batch", "3"}, 2);
  const auto rows = contents("a.h5").evaluations;
  std::map<std::int64_t, Evaluation> by_id;
  for (const auto& row : rows) by_id[row.id] = row;
  int warm = 0;
  for (const auto& [id, row] : by_id) {
    if (!row.ok()) continue;
    if (row.parent < 0) {
      EXPECT_EQ(row.metrics(1), row.design(0));
      continue;
    }
    ++warm;
    const Evaluation& parent = by_id.at(row.parent);
    EXPECT_LT(parent.id, id);
    EXPECT_TRUE(parent.ok());
    EXPECT_EQ(row.metrics(1), parent.design(0));  // its trajectory did arrive
    // No older result is nearer. (With batches of at most 3, ids below id - 2 have certainly arrived.)
    for (const auto& [other_id, other] : by_id) {
      if (!other.ok() || other_id >= id - 2) continue;
      EXPECT_LE(std::abs(parent.design(0) - row.design(0)), std::abs(other.design(0) - row.design(0)));
    }
  }
  EXPECT_GT(warm, 10);
}

TEST_F(StudyTest, AnotherStudysArchiveIsRefusedAndLeftAlone) {
  run("a.h5");
  const auto bytes = [&] {
    std::ifstream file(directory + "/a.h5", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string before = bytes();
  EXPECT_EQ(refusal("a.h5", {"--study.seed", "2", "--testfunction.noise", "0"}),
            "a.h5 belongs to another study: study.seed: 1 / 2, testfunction.noise: 0.01 / 0 (archive / now); remove it "
            "or choose another study.archive");
  EXPECT_EQ(refusal("a.h5", {"--design.x.max=0.5"}),
            "a.h5 belongs to another study: design.x.max: 1 / 0.5 (archive / now); remove it or choose another "
            "study.archive, and begin it with --surrogate.prior-evaluations " +
                directory + "/a.h5");
  // As the message states: the narrower study begins with the other one's results and does not repeat them.
  const Summary narrower =
      run("b.h5", {"--design.x.max=0.5", "--surrogate.prior-evaluations=" + directory + "/a.h5", "--study.batch=2"});
  ASSERT_TRUE(narrower.best);
  const auto rows = contents("b.h5").evaluations;
  std::size_t repeated = 0;
  for (const Evaluation& row : rows)
    for (const Evaluation& earlier : contents("a.h5").evaluations) repeated += row.design == earlier.design;
  EXPECT_GE(repeated, 1u);  // the best, first
  for (const Evaluation& row : rows) EXPECT_LE(row.design(0), 0.5);
  EXPECT_EQ(bytes(), before);

  std::ofstream(directory + "/text.h5") << "not an archive";
  EXPECT_NE(refusal("text.h5"), "accepted");
  EXPECT_NE(refusal("nowhere/a.h5"), "accepted");
}

TEST_F(StudyTest, AnArchiveThatDoesNotReplayIsRefused) {
  run("a.h5");
  auto changed = contents("a.h5");
  changed.evaluations[1].design(0) = std::nextafter(changed.evaluations[1].design(0), 0.25);
  {
    auto archive = archive::Archive::create(directory + "/b.h5", changed.layout, changed.provenance);
    for (const auto& evaluation : changed.evaluations) archive.append(Outcome{evaluation, {}});
  }
  EXPECT_EQ(refusal("b.h5"),
            "b.h5: its evaluation 1 has another design than this program and configuration ask for; nothing was "
            "changed; choose another study.archive");
}

// A limit on the size of files stands in for the disk's: with its signal ignored, a write past it fails.
TEST_F(StudyTest, AFullDiskLosesNothing) {
  run("whole.h5", {"--strategy", "sweep"});
  run("full.h5", {"--strategy", "sweep", "--study.max-evaluations", "5"});
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = std::filesystem::file_size(directory + "/full.h5");
  setrlimit(RLIMIT_FSIZE, &limit);
  std::string message;
  try {
    run("full.h5", {"--strategy", "sweep"});
  } catch (const std::exception& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal_before);
  EXPECT_NE(message, "");
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0) << message;
  EXPECT_GE(contents("full.h5").evaluations.size(), 5u);
  run("full.h5", {"--strategy", "sweep"});
  expect_same("whole.h5", "full.h5");
}

TEST_F(StudyTest, StrategiesAreHeldToTheirVariables) {
  write("name = branin\n[design]\nx.min = 0\nx.max = 1\ny.min = 0\ny.max = 1\n");
  EXPECT_EQ(refusal("a.h5", {"--strategy", "spline"}),
            "spline: needs exactly one free variable; choose another strategy, such as auto, for 2");
  EXPECT_EQ(run("b.h5", {"--strategy", "sweep", "--surrogate.points", "3"}).evaluated, 9);
  write("name = branin\n");
  EXPECT_EQ(refusal("c.h5"),
            "no design variable is free; give design.NAME.min and design.NAME.max, or evaluate one design: dodyn solve "
            "CONFIG");
  EXPECT_FALSE(std::filesystem::exists(directory + "/a.h5"));
  EXPECT_FALSE(std::filesystem::exists(directory + "/c.h5"));
}

// The cheapest design is not the best one where it breaks a limit on a metric; of the archive alike.
TEST_F(StudyTest, TheBestKeepsTheConstraints) {
  write("name = quadratic\n[design]\nx.min = -1\nx.max = 3\n");
  const std::vector<std::string> words = {"--surrogate.strategy=ego", "--surrogate.constraints=slope >= 1",
                                          "--study.max-evaluations=14"};
  const Summary summary = run("limited.h5", words);
  ASSERT_TRUE(summary.best);
  EXPECT_GE(summary.best->metrics(0), 1);
  double least = HUGE_VAL;
  bool cheaper = false;
  const archive::Contents all = contents("limited.h5");
  for (const Evaluation& e : all.evaluations) {
    if (e.metrics(0) >= 1) least = std::min(least, e.cost);
    cheaper = cheaper || (e.metrics(0) < 1 && e.cost < summary.best->cost);
  }
  EXPECT_EQ(summary.best->cost, least);
  EXPECT_TRUE(cheaper) << "nothing broke the limit: this tests nothing";
  EXPECT_NE(report::table(all).find("(evaluation " + std::to_string(summary.best->id) + ")"), std::string::npos)
      << report::table(all);
}

TEST_F(StudyTest, IterationsKeepTheirNumbers) {
  write("name = quadratic\n[design]\nx.min = -1\nx.max = 3\n");
  run("numbers.h5", {"--surrogate.strategy=ego", "--study.max-evaluations=8"});
  const archive::Contents all = contents("numbers.h5");
  ASSERT_FALSE(all.layout.numbers.empty());
  std::vector<std::string> expected = all.layout.numbers;
  const std::vector<std::string> missing = {"viability_length", "viability_variance",  // nothing failed
                                            // and costs are exact
                                            "recommended_cost", "recommended_deviation", "recommended_optimism",
                                            "indifference", "probability_best", "probability_better_elsewhere"};
  std::erase_if(expected, [&](const auto& name) { return std::ranges::count(missing, name) > 0; });
  const auto& numbers = all.iterations.back().numbers;
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(numbers[i].first, expected[i]);
    EXPECT_TRUE(std::isfinite(numbers[i].second)) << expected[i];
  }
}

TEST_F(StudyTest, TheArchiveSaysWhyAStrategyWasChosen) {
  write("name = quadratic\n[design]\nx.min = -1\nx.max = 3\n");
  for (const std::string batch : {"1", "8"}) {
    run("auto" + batch + ".h5", {"--surrogate.strategy=auto", "--study.batch=" + batch, "--study.max-evaluations=6"});
    const std::string note = contents("auto" + batch + ".h5").iterations.front().note;
    EXPECT_TRUE(note.starts_with("ego (kriging of costs and gradients), chosen for 1 variable, ")) << note;
  }
  run("plain.h5", {"--surrogate.strategy=auto", "--surrogate.gradient=false", "--study.max-evaluations=6"});
  const std::string note = contents("plain.h5").iterations.front().note;
  EXPECT_TRUE(note.starts_with("ego (kriging of costs), chosen for 1 variable, no gradients; ")) << note;
}

// Another study's archive, or its table as CSV, is a head start; the two are the same.
TEST_F(StudyTest, SamplesOfAnotherStudyCount) {
  write("name = forrester\n[design]\nx.min = 0\nx.max = 1\n");
  const std::vector<std::string> ego = {"--surrogate.strategy=ego"};
  run("before.h5", {"--surrogate.strategy=sweep", "--surrogate.points=6"});
  std::ofstream(directory + "/before.csv") << report::csv(contents("before.h5"), {});
  const auto with = [&](const std::string& file) {
    return std::vector<std::string>{"--surrogate.strategy=ego",
                                    "--surrogate.prior-evaluations=" + directory + "/" + file};
  };
  const Summary alone = run("alone.h5", ego), archived = run("archived.h5", with("before.h5")),
                listed = run("listed.h5", with("before.csv"));
  EXPECT_NEAR(archived.best->cost, -6.02074, 1e-3);
  EXPECT_LT(archived.evaluated, alone.evaluated);
  const auto a = contents("archived.h5").evaluations, b = contents("listed.h5").evaluations;
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i].design(0), b[i].design(0), 1e-9);
  double least = HUGE_VAL;
  for (const Evaluation& e : contents("before.h5").evaluations) least = std::min(least, e.cost);
  EXPECT_EQ(a.front().cost, least);
  EXPECT_EQ(refusal("no.h5", {"--surrogate.prior-evaluations=nothing.csv", "--surrogate.strategy=ego"}),
            "nothing.csv: cannot be read");
  EXPECT_NE(
      refusal("no.h5", {"--surrogate.prior-evaluations=nothing.h5", "--surrogate.strategy=ego"}).find("nothing.h5: "),
      std::string::npos);
  EXPECT_NE(refusal("no.h5", {"--surrogate.prior-evaluations=before.csv", "--surrogate.strategy=sweep"})
                .find("belongs to auto"),
            std::string::npos);
}

// Evaluations of other costs are no samples, and no message advises to take them.
TEST_F(StudyTest, SamplesOfOtherCostsAreRefused) {
  write("name = forrester\n[design]\nx.min = 0\nx.max = 1\n");
  run("before.h5", {"--surrogate.strategy=sweep", "--surrogate.points=6"});
  const std::string prior = "--surrogate.prior-evaluations=" + directory + "/before.h5";
  const std::string other = refusal("no.h5", {"--surrogate.strategy=ego", prior, "--testfunction.name=quadratic"});
  EXPECT_NE(other.find("its costs may not be those of this study: testfunction.name: forrester / quadratic"),
            std::string::npos)
      << other;
  EXPECT_NE(refusal("no.h5", {"--surrogate.strategy=ego", prior, "--design.x.min=0.45", "--design.x.max=0.55"})
                .find("none of its evaluations is of a design of this study"),
            std::string::npos);
}

// A cheaper study of the same variables is a part of the models, however the study is divided into runs and distributed.
TEST_F(StudyTest, ACheaperStudyCountsInTheModels) {
  write("name = forrester\n[design]\nx.min = 0\nx.max = 1\n");
  run("cheap.h5", {"--surrogate.strategy=sweep", "--surrogate.points=21", "--testfunction.noise=0.1"});
  const std::vector<std::string> alone = {"--surrogate.strategy=ego", "--surrogate.gradient=false", "--study.batch=4"};
  std::vector<std::string> with = alone;
  with.push_back("--surrogate.low-fidelity=" + directory + "/cheap.h5");
  const Summary whole = run("whole.h5", with);
  EXPECT_NEAR(whole.best->cost, -6.02074, 1e-3);
  EXPECT_LT(whole.evaluated, run("alone.h5", alone).evaluated);
  const archive::Contents all = contents("whole.h5");
  EXPECT_NEAR(all.evaluations.front().design(0), 0.757, 0.05);  // the best of the cheaper study
  const std::string text = report::table(all);
  EXPECT_NE(text.find("low fidelity: the model of the costs has that of 21 evaluations of " + directory +
                      "/cheap.h5 with the factor "),
            std::string::npos)
      << text;
  EXPECT_EQ(run("cut.h5", with, 1, 4).ending, Ending::interrupted);
  run("cut.h5", with, 2);
  expect_same("whole.h5", "cut.h5");
  run("spread.h5", with, 4);
  expect_same("whole.h5", "spread.h5");
}

// Evaluations outside of the ranges do not count, and the text states how many count. Without a model nothing counts but
// the best design.
TEST_F(StudyTest, TheTextStatesHowMuchOfACheaperStudyCounts) {
  write("name = forrester\n[design]\nx.min = 0\nx.max = 1\n");
  const auto text_with = [&](const std::string& low, const std::string& archive, const std::string& limit) {
    run(archive, {"--surrogate.strategy=ego", "--surrogate.gradient=false", "--study.max-evaluations=" + limit,
                  "--surrogate.low-fidelity=" + directory + "/" + low});
    return report::table(contents(archive));
  };
  run("wide.h5",
      {"--surrogate.strategy=sweep", "--surrogate.points=21", "--design.x.max=2", "--testfunction.noise=0.1"});
  const std::string of_part = text_with("wide.h5", "part.h5", "8");
  EXPECT_NE(of_part.find(" 11 evaluations of "), std::string::npos) << of_part;
  run("many.h5", {"--surrogate.strategy=sweep", "--surrogate.points=301", "--study.max-evaluations=301",
                  "--testfunction.noise=0.1"});
  const std::string of_many = text_with("many.h5", "of_many.h5", "8");
  EXPECT_NE(of_many.find(" 200 evaluations of "), std::string::npos) << of_many;
  const std::string without = text_with("wide.h5", "early.h5", "2");
  EXPECT_NE(without.find("low fidelity: " + directory +
                         "/wide.h5 gave a first design only; there is no model of the "
                         "costs yet"),
            std::string::npos)
      << without;
}

// Each objective and each limit has a model of its own, which uses the cheaper study or leaves it out.
TEST_F(StudyTest, TheTextStatesTheFactorOfEachModel) {
  write("name = branin\n[design]\nx.min = -5\nx.max = 10\ny.min = 0\ny.max = 15\n");
  run("cheap.h5",
      {"--surrogate.strategy=sweep", "--surrogate.points=5", "--study.max-evaluations=25", "--testfunction.noise=0.1"});
  const auto text_with = [&](const std::string& archive, const std::string& more) {
    run(archive, {"--surrogate.strategy=ego", "--study.max-evaluations=9", more,
                  "--surrogate.low-fidelity=" + directory + "/cheap.h5"});
    const std::string text = report::table(contents(archive));
    const auto at = text.find("low fidelity: ");
    return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  const std::string limited = text_with("limited.h5", "--surrogate.constraints=slope <= 20");
  EXPECT_TRUE(limited.find("; slope<=20: ") != limited.npos) << limited;
  const std::string both = text_with("both.h5", "--surrogate.objectives=cost, slope");
  EXPECT_TRUE(both.find("the costs") != both.npos && both.find("; slope: ") != both.npos) << both;
  const std::string reversed = text_with("reversed.h5", "--surrogate.objectives=slope, cost");
  EXPECT_TRUE(reversed.find(" slope ") != reversed.npos && reversed.find("; cost: ") != reversed.npos) << reversed;
}

// The search depends on the evaluations of these files. A study does not continue with others.
TEST_F(StudyTest, AFileOfTheSearchWithOtherEvaluationsIsRefused) {
  write("name = forrester\n[design]\nx.min = 0\nx.max = 1\n");
  const std::string noise = "--testfunction.noise=0.1";
  run("cheap.h5", {"--surrogate.strategy=sweep", "--surrogate.points=11", noise});
  run("more.h5", {"--surrogate.strategy=sweep", "--surrogate.points=21", noise});
  run("prior.h5", {"--surrogate.strategy=sweep", "--surrogate.points=3"});
  run("other.h5", {"--surrogate.strategy=sweep", "--surrogate.points=5"});
  std::ofstream(directory + "/first.csv") << "x\n0.1\n";
  std::ofstream(directory + "/second.csv") << "x\n0.1\n0.3\n";
  struct Case {
    std::string key, file, other;
  };
  for (const auto& [key, file, other] :
       {Case{"low-fidelity", "cheap.h5", "more.h5"}, Case{"prior-evaluations", "prior.h5", "other.h5"},
        Case{"initial-designs", "first.csv", "second.csv"}}) {
    SCOPED_TRACE(key);
    const auto of = [&](const std::string& name) { return std::filesystem::path(directory) / name; };
    const auto used = of(key).replace_extension(std::filesystem::path(file).extension());
    const std::string archive = key + "-study.h5", setting = "--surrogate." + key + "=" + used.string();
    const auto words = [&](int limit) {
      return std::vector<std::string>{"--surrogate.strategy=ego", setting,
                                      "--study.max-evaluations=" + std::to_string(limit)};
    };
    std::filesystem::copy_file(of(file), used);
    run(archive, words(3));
    std::filesystem::copy_file(of(other), used, std::filesystem::copy_options::overwrite_existing);
    const std::string said = refusal(archive, words(6));
    EXPECT_NE(said.find("surrogate." + key + " has changed"), std::string::npos) << said;
    std::filesystem::copy_file(of(file), used, std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(run(archive, words(6)).evaluated, 3);
  }
  // The same evaluations in another file: their study was interrupted, and its archive has other events and times.
  EXPECT_EQ(run("cut.h5", {"--surrogate.strategy=sweep", "--surrogate.points=11", noise}, 1, 4).ending,
            Ending::interrupted);
  run("cut.h5", {"--surrogate.strategy=sweep", "--surrogate.points=11", noise});
  ASSERT_NE(contents("cut.h5").events.size(), contents("cheap.h5").events.size());
  std::filesystem::copy_file(directory + "/cut.h5", directory + "/low-fidelity.h5",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(run("low-fidelity-study.h5", {"--surrogate.strategy=ego", "--study.max-evaluations=7",
                                          "--surrogate.low-fidelity=" + directory + "/low-fidelity.h5"})
                .evaluated,
            1);
}

// Another model has other costs and its own metrics.
TEST_F(StudyTest, ACheaperStudyThatDoesNotFitIsRefused) {
  write("name = branin\n[design]\nx.min = -5\nx.max = 10\ny.min = 0\ny.max = 15\n");
  const auto with = [&](const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--surrogate.strategy=ego", "--surrogate.low-fidelity=" + directory + "/" + file};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto expect_refused = [&](const std::string& file, const std::vector<std::string>& more,
                                  const std::string& reason) {
    const std::string said = refusal("no.h5", with(file, more));
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    EXPECT_FALSE(std::filesystem::exists(directory + "/no.h5"));
  };
  const std::vector<std::string> sweep = {"--surrogate.strategy=sweep", "--surrogate.points=3",
                                          "--study.max-evaluations=9"};
  run("same.h5", sweep);
  expect_refused("same.h5", {}, "same.h5: its costs are those of this study; use surrogate.prior-evaluations");
  expect_refused("missing.h5", {}, "surrogate.low-fidelity = missing.h5: does not exist");
  std::ofstream(directory + "/table.csv") << report::csv(contents("same.h5"), {});
  expect_refused("table.csv", {}, "table.csv: is not an archive");
  const std::string other = "--testfunction.name=quadratic";
  expect_refused("same.h5", {other, "--design.x.min=50", "--design.x.max=60"},
                 "none of its evaluations is of a design of this study");
  EXPECT_NE(refusal("no.h5", {"--surrogate.strategy=sweep", "--surrogate.low-fidelity=" + directory + "/same.h5"})
                .find("surrogate.low-fidelity"),
            std::string::npos);
  std::vector<std::string> failing = sweep;
  failing.insert(failing.end(), {"--testfunction.fail-above=-5", other});
  run("failing.h5", failing);
  failing[3] = "--testfunction.fail-above=-6";
  run("failed.h5", failing);
  EXPECT_EQ(refusal("three.h5", with("failing.h5", {"--study.max-evaluations=1"})), "accepted");
  expect_refused("failed.h5", {},
                 "failed.h5: none of its evaluations in this study's ranges has a usable cost; two are needed");
  // a program's costs, without metrics
  std::ofstream(config) << "[study]\nevaluator = command\n[design]\nx.min = -5\nx.max = 10\ny.min = 0\ny.max = 15\n"
                           "[command]\nrun = echo '{\"cost\": 1}' > \"$DODYN_RESULT_FILE\"\n";
  run("program.h5", sweep);
  write("name = branin\n[design]\nx.min = -5\nx.max = 10\ny.min = 0\ny.max = 15\n");
  expect_refused(
      "program.h5", {"--surrogate.constraints=slope <= 50"},
      "program.h5: its study has no metric slope, which surrogate.objectives or surrogate.constraints names");
  EXPECT_EQ(refusal("program-too.h5", with("program.h5", {"--study.max-evaluations=8"})), "accepted");
}

// A repeated row costs an evaluation and has no information, unless costs have noise.
TEST_F(StudyTest, ADesignInTwoRowsOfAFileIsEvaluatedOnce) {
  write("name = quadratic\n[design]\nx.min = 0\nx.max = 1\n");
  std::ofstream(directory + "/first.csv") << "x\n0.9\n0.2\n0.9\n0.9\n0.4\n";
  const std::string designs = "--surrogate.initial-designs=" + directory + "/first.csv";
  const auto first_of = [&](const std::string& archive, const std::string& word) {
    run(archive, {"--surrogate.strategy=ego", "--study.max-evaluations=5", designs, word});
    std::vector<double> x;
    for (const Evaluation& e : contents(archive).evaluations) x.push_back(e.design(0));
    return x;
  };
  const std::vector<double> once = first_of("once.h5", "--surrogate.noise=false");
  ASSERT_EQ(once.size(), 5u);
  EXPECT_EQ(std::vector(once.begin(), once.begin() + 3), (std::vector{0.9, 0.2, 0.4}));
  EXPECT_NE(once[3], 0.9);
  EXPECT_EQ(first_of("noise.h5", "--surrogate.noise=true"), (std::vector{0.9, 0.2, 0.9, 0.9, 0.4}));
  const auto notes_of = [&](const std::string& noise) {
    const Settings now = settings("no.h5", {"--surrogate.strategy=ego", designs, "--surrogate.noise=" + noise});
    std::vector<std::string> notes;
    make_strategy(now, *evaluators::make_evaluator(now), true, &notes);
    return notes;
  };
  ASSERT_EQ(notes_of("false").size(), 1u);
  EXPECT_NE(notes_of("false")[0].find("first.csv: 2 rows of a design that an earlier row has, such as x = 0.9;"),
            std::string::npos);
  EXPECT_TRUE(notes_of("true").empty());
}

// The program's own conditions on designs apply to rows of files, too.
TEST_F(StudyTest, NoDesignOfAFileViolatesTheConditions) {
  write("name = quadratic\n[design]\nx.min = 0\nx.max = 1\n");
  const std::vector<std::string> ego = {"--surrogate.strategy=ego", "--surrogate.design-constraints=x >= 0.5",
                                        "--study.max-evaluations=8"};
  const auto with = [&](const std::string& word) {
    std::vector<std::string> words = ego;
    words.push_back(word);
    return words;
  };
  std::ofstream(directory + "/first.csv") << "x\n0.9\n0.2\n";
  EXPECT_EQ(refusal("no.h5", with("--surrogate.initial-designs=" + directory + "/first.csv")),
            "first.csv:3: the design violates surrogate.design-constraints; remove this row");
  run("all.h5", {"--surrogate.strategy=sweep", "--surrogate.points=6"});  // 0.2 and 0.4 are the best
  run("half.h5", with("--surrogate.prior-evaluations=" + directory + "/all.h5"));
  const auto rows = contents("half.h5").evaluations;
  ASSERT_FALSE(rows.empty());
  for (const Evaluation& row : rows) EXPECT_GE(row.design(0), 0.5);
  EXPECT_NE(refusal("no.h5", {"--surrogate.strategy=ego", "--surrogate.design-constraints=x >= 2"})
                .find("surrogate.design-constraints"),
            std::string::npos);
  EXPECT_NE(refusal("no.h5", {"--surrogate.strategy=sweep", "--surrogate.design-constraints=x >= 2"})
                .find("surrogate.design-constraints"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory + "/no.h5"));
}

// A tolerance may change in a study, but it decides designs. A replay that differs names it.
TEST_F(StudyTest, ARefusedReplayNamesTheSettingThatChanged) {
  write("name = quadratic\n[design]\nx.min = 0\nx.max = 1\n");
  std::vector<std::string> words = {"--surrogate.strategy=ego", "--surrogate.gradient=false",
                                    "--study.max-evaluations=12", "--study.batch=1"};
  run("a.h5", words);
  words.emplace_back("--surrogate.tolerance=0.1");
  const std::string message = refusal("a.h5", words);
  EXPECT_NE(message.find("has another design than this program and configuration ask for"), std::string::npos)
      << message;
  EXPECT_NE(message.find("or restore surrogate.tolerance: "), std::string::npos) << message;
  const archive::Contents after = contents("a.h5");
  EXPECT_EQ(after.ending, Ending::limit);
  EXPECT_EQ(after.stopped, "reached study.max-evaluations = 12");
}

// An evaluator whose answer differs from its declaration.
class Odd : public Evaluator {
 public:
  explicit Odd(std::function<void(Outcome&)> change) : change_(std::move(change)) {}
  std::vector<Quantity> metrics() const override { return {{"m", "1", ""}}; }
  Channels channels() const override { return {{"t", "s", "", 3, {"t"}}}; }
  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    outcome.evaluation.status = Status::ok;
    outcome.evaluation.cost = 1;
    outcome.evaluation.metrics = Eigen::VectorXd::Ones(1);
    outcome.evaluation.gradient = Eigen::VectorXd::Ones(2);
    outcome.trajectory.values = {Eigen::MatrixXd::Zero(3, 1)};
    change_(outcome);
    return outcome;
  }
  std::string report(const Outcome&) const override { return ""; }

 private:
  std::function<void(Outcome&)> change_;
};

TEST_F(StudyTest, HoldsAnEvaluatorToItsDeclaration) {
  const auto answer = [this](std::function<void(Outcome&)> change) {
    Task task;
    task.evaluation.design = Eigen::VectorXd::Zero(2);
    return make_work(std::make_shared<Odd>(std::move(change)), settings("a.h5"))(task);
  };
  EXPECT_TRUE(answer([](Outcome&) {}).evaluation.ok());
  EXPECT_TRUE(answer([](Outcome& o) { o.trajectory = {}; }).evaluation.ok());
  EXPECT_TRUE(answer([](Outcome& o) { o.evaluation.gradient.resize(0); }).evaluation.ok());
  for (const auto& change : std::vector<std::function<void(Outcome&)>>{
           [](Outcome& o) { o.trajectory.values[0].resize(4, 1); },
           [](Outcome& o) { o.trajectory.values[0].resize(3, 2); },
           [](Outcome& o) { o.trajectory.values.emplace_back(); }, [](Outcome& o) { o.evaluation.gradient.resize(1); },
           [](Outcome& o) { o.evaluation.metrics.resize(2); }}) {
    const Outcome outcome = answer(change);
    EXPECT_EQ(outcome.evaluation.status, Status::failed);
    EXPECT_EQ(outcome.evaluation.reason, "the evaluator's answer has another shape than it declared");
    EXPECT_TRUE(outcome.trajectory.empty());
  }
  // A gradient that is not finite is not a gradient.
  EXPECT_EQ(answer([](Outcome& o) { o.evaluation.gradient(0) = not_a_number; }).evaluation.gradient.size(), 0);
}

TEST(Seeds, AreSpread) {
  std::set<std::uint64_t> seen;
  int bits = 0;
  for (std::uint64_t study = 0; study < 30; ++study)
    for (std::int64_t id = 0; id < 100; ++id) {
      seen.insert(evaluation_seed(study, id));
      bits += __builtin_popcountll(evaluation_seed(study, id) ^ evaluation_seed(study, id + 1));
    }
  EXPECT_EQ(seen.size(), 3000u);
  EXPECT_NEAR(bits / 3000.0, 32, 0.5);
}

// A farm whose ranks disappear: every evaluation is lost `losses` times before it is answered.
class LosingFarm : public BackwardsFarm {
 public:
  LosingFarm(Work work, int losses)
      : BackwardsFarm(
            [this, work = std::move(work), losses](const Task& task) {
              if (lost_[task.evaluation.id]++ >= losses) return work(task);
              Outcome outcome{task.evaluation, {}};
              outcome.evaluation.status = Status::lost;
              outcome.evaluation.reason = "rank 1 fell silent";
              return outcome;
            },
            3) {}

 private:
  std::map<std::int64_t, int> lost_;
};

// Lost attempts are rows. The strategy receives the final answer, or `lost` when the attempts are used up.
TEST_F(StudyTest, WhatIsLostIsRepeatedUpToTheAttempts) {
  const auto run_losing = [&](const std::string& archive, int losses, bool interrupt) {
    const Settings now = settings(archive, {"--strategy", "sweep"});
    const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(now);
    const auto strategy = make_strategy(now, *evaluator);
    LosingFarm farm(make_work(evaluator, now), losses);
    int asked = 0;
    const auto interruption = [&] { return std::string(interrupt && ++asked > 7 ? "interrupted" : ""); };
    return Study(now, *evaluator, *strategy, farm, {}, interruption, [](const Progress&) {}).run();
  };
  run("whole.h5", {"--strategy", "sweep"});
  const auto final_rows = [&](const std::string& archive) {
    std::map<std::int64_t, Evaluation> rows;
    for (const auto& row : contents(archive).evaluations) rows[row.id] = row;
    return rows;
  };
  const auto whole = final_rows("whole.h5");

  EXPECT_EQ(run_losing("two.h5", 2, false).evaluated, 21);
  EXPECT_EQ(contents("two.h5").evaluations.size(), 3u * 21u);
  for (const auto& [id, row] : final_rows("two.h5")) {
    EXPECT_EQ(row.status, whole.at(id).status);
    EXPECT_EQ(row.design, whole.at(id).design);
    EXPECT_EQ(row.seed, whole.at(id).seed);
  }
  const Summary again = run("two.h5", {"--strategy", "sweep"});  // and a resume knows which rows count
  EXPECT_EQ(again.restored, 21);
  EXPECT_EQ(again.evaluated, 0);

  EXPECT_EQ(run_losing("cut.h5", 2, true).ending, Ending::interrupted);
  run("cut.h5", {"--strategy", "sweep"});
  EXPECT_EQ(final_rows("cut.h5").size(), 21u);
  for (const auto& [id, row] : final_rows("cut.h5")) EXPECT_EQ(row.status, whole.at(id).status);

  run_losing("three.h5", 3, false);
  EXPECT_EQ(contents("three.h5").evaluations.size() % 3, 0u);
  for (const auto& [id, row] : final_rows("three.h5")) EXPECT_EQ(row.status, Status::lost);
}

// A farm whose evaluations are killed or fail just before the run is asked to end. No row must record them.
class KilledFarm : public farm::Farm {
 public:
  KilledFarm(Work work, std::function<void(Outcome&)> strike) : work_(std::move(work)), strike_(std::move(strike)) {}
  int evaluators() const override { return 1; }
  int outstanding() const override { return static_cast<int>(tasks_.size()); }
  void submit(Task task) override { tasks_.push_back(std::move(task)); }
  void cancel_queued() override { tasks_.clear(); }
  std::optional<Outcome> next(std::chrono::milliseconds) override {
    if (tasks_.empty()) return {};
    Outcome outcome = work_(tasks_.front());
    tasks_.pop_front();
    strike_(outcome);
    return outcome;
  }

 private:
  Work work_;
  std::function<void(Outcome&)> strike_;
  std::deque<Task> tasks_;
};

TEST_F(StudyTest, WhatIsKilledWithTheRunLeavesNoRow) {
  run("whole.h5", {"--strategy", "sweep"});
  const auto run_struck = [&](const std::string& archive, Status status, bool killed, bool told_before, bool told) {
    const Settings now = settings(archive, {"--strategy", "sweep"});
    const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(now);
    const auto strategy = make_strategy(now, *evaluator);
    int answers = 0;
    bool interrupted = false;
    KilledFarm farm(make_work(evaluator, now), [&](Outcome& outcome) {
      if (++answers != 8) return;
      outcome.evaluation.status = status;
      outcome.evaluation.reason = "struck";
      outcome.evaluation.cost = not_a_number;
      outcome.killed = killed;
      interrupted = told_before;
    });
    const auto begin = std::chrono::steady_clock::now();
    return Study(
               now, *evaluator, *strategy, farm, {}, [&] { return std::string(interrupted ? "interrupted" : ""); },
               [&](const Progress&) {  // the signal comes half a second after the evaluation was struck
                 if (told && answers >= 8 && std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(500))
                   interrupted = true;
               })
        .run();
  };
  const auto rows_struck = [&](const std::string& archive) {
    const auto rows = contents(archive).evaluations;
    return std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.reason == "struck"; });
  };
  EXPECT_EQ(run_struck("later.h5", Status::lost, true, false, true).ending, Ending::interrupted);
  EXPECT_EQ(run_struck("failed.h5", Status::failed, false, true, true).ending, Ending::interrupted);
  EXPECT_EQ(run_struck("lost.h5", Status::lost, false, true, true).ending, Ending::interrupted);
  for (const std::string archive : {"later.h5", "failed.h5", "lost.h5"}) {
    EXPECT_EQ(rows_struck(archive), 0) << archive;
    run(archive, {"--strategy", "sweep"});
    expect_same("whole.h5", archive);
  }
  // Without a request to end the run, the attempt is lost and repeated.
  EXPECT_EQ(run_struck("alone.h5", Status::lost, true, false, false).ending, Ending::finished);
  EXPECT_EQ(rows_struck("alone.h5"), 1);
  EXPECT_EQ(contents("alone.h5").evaluations.size(), 22u);
}

// An asynchronous study that ends at any row can be replayed: the proposed designs follow from the order of the rows.
TEST_F(StudyTest, AsynchronousStudiesReplayInTheOrderOfArrival) {
  for (const std::string strategy : {"spline", "sweep"}) {
    const std::vector<std::string> words = {"--strategy",   strategy,        "--study.mode",
                                            "asynchronous", "--study.batch", "4"};
    for (const std::size_t cut : {1u, 2u, 5u, 9u, 1000u}) {
      const std::string archive = strategy + std::to_string(cut) + ".h5";
      run(archive, words, 3, cut);
      const auto before = contents(archive).evaluations;
      const Summary rest = run(archive, words, 4);
      EXPECT_EQ(rest.ending, Ending::finished);
      const auto rows = contents(archive).evaluations;
      ASSERT_GE(rows.size(), before.size());
      std::set<std::int64_t> ids;
      for (const auto& row : rows) ids.insert(row.id);
      EXPECT_EQ(ids.size(), rows.size()) << "each evaluation once";
      // Once more from a copy that holds the rows alone: the same asks, nothing evaluated.
      const Summary replay = run(archive, words, 1);
      EXPECT_EQ(replay.evaluated, 0);
      EXPECT_TRUE(replay.was_finished) << replay.reason;
    }
  }
}

// With the defaults: the number of designs that run follows the number of evaluators, from the first design on.
TEST_F(StudyTest, AsynchronousStudiesKeepEveryRankBusy) {
  write("name = branin\n[design]\nx.min = -5\nx.max = 10\ny.min = 0\ny.max = 15\n");
  for (const std::string strategy : {"ego", "trust-region"})
    for (const int evaluators : {1, 3, 12}) {
      SCOPED_TRACE(strategy + " on " + std::to_string(evaluators));
      const Settings now =
          settings(strategy + std::to_string(evaluators) + ".h5",
                   {"--strategy", strategy, "--study.mode", "asynchronous", "--study.max-evaluations", "36"});
      const std::shared_ptr<const Evaluator> evaluator = evaluators::make_evaluator(now);
      const auto strategy_of_it = make_strategy(now, *evaluator);
      TimedFarm farm(make_work(evaluator, now), evaluators);
      const Summary summary =
          Study(
              now, *evaluator, *strategy_of_it, farm, {}, [] { return std::string(); }, [](const Progress&) {})
              .run();
      EXPECT_GT(summary.evaluated, 20);
      EXPECT_GE(farm.busy_share(), 0.999);
    }
}

// The archive records how many designs were allowed to run, so that another number of ranks can continue and replay.
TEST_F(StudyTest, AsynchronousStudiesContinueOnAnotherNumberOfRanks) {
  write("name = branin\n[design]\nx.min = -5\nx.max = 10\ny.min = 0\ny.max = 15\n");
  for (const std::string strategy : {"ego", "sweep", "mesh-search"}) {
    const std::vector<std::string> words = {"--strategy", strategy,       "--study.max-evaluations",
                                            "30",         "--study.mode", "asynchronous"};
    int evaluators = 5;
    for (const std::size_t cut : {2u, 7u, 15u, 22u, 1000u}) {
      run(strategy + ".h5", words, evaluators, cut);
      evaluators = evaluators % 7 + 2;
    }
    std::set<std::int64_t> ids;
    for (const auto& row : contents(strategy + ".h5").evaluations) ids.insert(row.id);
    EXPECT_EQ(ids.size(), contents(strategy + ".h5").evaluations.size()) << strategy << ": each evaluation once";
    EXPECT_GT(ids.size(), 20u) << strategy;
    const Summary replay = run(strategy + ".h5", words, 2);
    EXPECT_EQ(replay.evaluated, 0) << strategy;
    EXPECT_TRUE(replay.was_finished) << replay.reason;
  }
}

// Costs that do not differ name no best design, so the study is not called finished: it was stopped.
TEST_F(StudyTest, ASearchWithoutADifferenceIsUndecided) {
  write("name = forrester\nnoise = 1e9\n[design]\nx.min = 0\nx.max = 1\n");
  const Summary summary = run("same.h5", {"--strategy", "ego", "--study.max-evaluations", "200"});
  EXPECT_TRUE(summary.reason.starts_with(surrogate::same_cost)) << summary.reason;
  EXPECT_EQ(summary.ending, Ending::equal_costs);
  EXPECT_EQ(contents("same.h5").ending, Ending::equal_costs);
  write("name = forrester\n[design]\nx.min = 0\nx.max = 1\n");
  EXPECT_EQ(run("few.h5", {"--strategy", "ego", "--study.max-evaluations", "5"}).ending, Ending::limit);
  EXPECT_EQ(contents("few.h5").ending, Ending::limit);
  const Summary found = run("found.h5", {"--strategy", "ego", "--study.max-evaluations", "80"});
  EXPECT_EQ(found.ending, Ending::finished) << found.reason;
  EXPECT_EQ(contents("found.h5").ending, Ending::finished);
  EXPECT_EQ(ending_of(std::string(surrogate::mostly_undecided) + ": the surrogate expects no further gain"),
            Ending::undecided);
  EXPECT_EQ(ending_of(""), Ending::none);
}

// A lower limit than the archive has evaluations: nothing is evaluated, and the archive keeps how its study ended.
TEST_F(StudyTest, ALowerLimitLeavesTheEndAsItWas) {
  write("name = forrester\n[design]\nx.min = 0\nx.max = 1\n");
  for (const auto& [name, limit, ending] :
       {std::tuple("found.h5", "80", Ending::finished), std::tuple("few.h5", "5", Ending::limit)}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(run(name, {"--strategy", "ego", "--study.max-evaluations", limit}).ending, ending);
    const archive::Contents before = contents(name);
    const Summary lower = run(name, {"--strategy", "ego", "--study.max-evaluations", "3"});
    EXPECT_EQ(lower.evaluated, 0);
    EXPECT_EQ(lower.restored, std::ssize(before.evaluations));
    EXPECT_TRUE(lower.was_finished);
    const archive::Contents after = contents(name);
    EXPECT_EQ(after.ending, ending);
    EXPECT_EQ(after.stopped, before.stopped);
    EXPECT_EQ(after.evaluations.size(), before.evaluations.size());
  }
}

TEST_F(StudyTest, TooManyFailuresEndTheStudy) {
  const Summary summary = run("a.h5", {"--strategy", "sweep", "--testfunction.fail-above", "0.3",
                                       "--study.failure-rate", "0.5", "--study.failure-rate-after", "5"});
  EXPECT_EQ(summary.ending, Ending::failed);
  EXPECT_NE(summary.reason.find("study.failure-rate = 0.5 allows no more"), std::string::npos) << summary.reason;
  const Summary more = run("a.h5", {"--strategy", "sweep", "--testfunction.fail-above", "0.3"});
  EXPECT_EQ(more.ending, Ending::finished);
}

// A study that has no answer has not finished.
TEST_F(StudyTest, AStudyWithoutAUsableCostFails) {
  for (const char* strategy : {"spline", "ego", "sweep", "mesh-search", "cobyla"}) {
    const std::string file = std::string(strategy) + ".h5";
    // so that the strategy's own patience ends it, not study.failure-rate
    const std::vector<std::string> words = {
        "--strategy", strategy, "--testfunction.fail-above", "-100", "--study.failure-rate-after", "1000"};
    const Summary summary = run(file, words);
    EXPECT_EQ(summary.ending, Ending::failed) << strategy;
    EXPECT_NE(summary.reason.find("has a usable cost"), std::string::npos) << summary.reason;
    EXPECT_FALSE(summary.best) << strategy;
    EXPECT_TRUE(run(file, words).was_finished) << strategy;
  }
}

}  // namespace
}  // namespace dodyn::study::test_study
