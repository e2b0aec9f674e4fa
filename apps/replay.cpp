// dodyn replay: archived evaluations once more, compared with their rows bit by bit. Nothing is written.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "archive/archive.hpp"
#include "command.hpp"
#include "farm/farm.hpp"
#include "report/report.hpp"
#include "study/study.hpp"
#include "version.hpp"

namespace dodyn::apps {
namespace {

const std::string replay_usage = "dodyn replay CONFIG [--ids ID[,ID...]] [--key value ...]";

// Any two that are no numbers count as the same.
bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

// How two arrays of the same quantity differ, after ", NAME"; empty where they do not.
std::string difference(const std::string& name, const Eigen::MatrixXd& archived, const Eigen::MatrixXd& now) {
  if (archived.rows() != now.rows() || archived.cols() != now.cols())
    return formatted("; %s was %td x %td, is %td x %td", name.c_str(), archived.rows(), archived.cols(), now.rows(),
                     now.cols());
  double most = 0, scale = 0;
  Eigen::Index differing = 0;
  for (Eigen::Index i = 0; i < archived.size(); ++i) {
    const double a = archived.reshaped()(i), b = now.reshaped()(i);
    if (std::isfinite(a)) scale = std::max(scale, std::abs(a));
    if (same(a, b)) continue;
    ++differing;
    most = std::max(most, std::isfinite(a - b) ? std::abs(a - b) : HUGE_VAL);
  }
  if (differing == 0) return "";
  return archived.size() == 1 ? formatted("; %s was %.17g, is %.17g", name.c_str(), archived(0), now(0))
                              : formatted("; %s differs in %td of %td numbers, at most by %.3g (largest there: %.3g)",
                                          name.c_str(), differing, archived.size(), most, scale);
}

Eigen::MatrixXd number(double value) { return Eigen::MatrixXd::Constant(1, 1, value); }

// What of an evaluation does not depend on when, where and how fast it was done.
std::string differences(const Evaluation& a, const Trajectory& at, const Evaluation& b, const Trajectory& bt,
                        const Channels& channels) {
  std::string text;
  if (a.status != b.status)
    text += "; status was " + std::string(to_string(a.status)) + ", is " + std::string(to_string(b.status));
  if (a.reason != b.reason) text += "; reason was '" + a.reason + "', is '" + b.reason + "'";
  text += difference("cost", number(a.cost), number(b.cost));
  text += difference("cost_stderr", number(a.cost_stderr), number(b.cost_stderr));
  // an archive has not-a-number where an evaluation has none
  const auto filled = [](const Eigen::VectorXd& one, const Eigen::VectorXd& other) {
    return one.size() > 0 ? one : Eigen::VectorXd(Eigen::VectorXd::Constant(other.size(), not_a_number));
  };
  text += difference("gradient", filled(a.gradient, b.gradient), filled(b.gradient, a.gradient));
  text += difference("metrics", filled(a.metrics, b.metrics), filled(b.metrics, a.metrics));
  if (at.empty() != bt.empty()) return text + "; the trajectory is " + (bt.empty() ? "gone" : "new");
  for (std::size_t c = 0; c < at.values.size(); ++c) text += difference(channels[c].name, at.values[c], bt.values[c]);
  return text;
}

}  // namespace

ExitCode replay(Invocation call) {
  const std::string path = take_path(call.words, replay_usage);
  const std::string list = take_option(call.words, "--ids", "ids of evaluations, as in 3,7,12");
  const Settings settings = evaluators::read_settings(path, call.words);
  const std::shared_ptr<const evaluators::Evaluator> evaluator = evaluators::make_evaluator(settings);
  const std::string file = settings.text("study.archive");
  archive::Contents contents;
  try {
    contents = archive::read(file);
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  if (const std::string other = study::another_study(settings, *evaluator, contents); !other.empty())
    throw ConfigError(file + " belongs to another study: " + other);
  const auto rows = archive::latest(contents);
  std::set<std::int64_t> ids = list.empty() ? std::set<std::int64_t>() : read_ids(list);
  for (const auto id : ids)
    if (!rows.contains(id)) throw ConfigError(file + ": holds no evaluation " + std::to_string(id));
  if (ids.empty())
    for (const auto& [id, row] : rows)
      if (!worth_another_try(contents.evaluations[row].status)) ids.insert(id);

  std::cout << file << ": by dodyn " << contents.provenance.program_version << " (" << contents.provenance.git_commit
            << ") on " << contents.provenance.host << "; now dodyn " << version << " (" << git_commit << ")\n";
  const auto farm = farm::make_local_farm(study::make_work(evaluator, settings));
  int differing = 0;
  // An evaluation starts from its parent's motion as it was then: a design may have been solved again since.
  std::map<std::int64_t, Trajectory> motions;
  archive::for_each_trajectory(file, contents.evaluations.size(), [&](std::size_t row, Trajectory trajectory) {
    const Evaluation& archived = contents.evaluations[row];
    if (ids.contains(archived.id) && rows.at(archived.id) == row) {
      Task task;
      task.evaluation.id = archived.id;
      task.evaluation.parent = archived.parent;
      task.evaluation.design = archived.design;
      task.evaluation.seed = archived.seed;
      if (archived.parent >= 0) task.warm_start = motions[archived.parent];
      task.time_limit = settings.real("study.time-limit");
      const Outcome outcome = study::evaluate(*evaluator, *farm, task);
      const std::string text =
          differences(archived, trajectory, outcome.evaluation, outcome.trajectory, contents.layout.channels);
      differing += !text.empty();
      if (!text.empty() || !list.empty())
        std::cout << "evaluation " << archived.id << ": " << (text.empty() ? "the same" : "differs" + text)
                  << std::endl;
    }
    if (archived.ok()) motions[archived.id] = std::move(trajectory);
  });
  std::cout << ids.size() - static_cast<std::size_t>(differing) << " of " << ids.size() << " the same, bit by bit\n";
  return differing ? failure : finished;
}

}  // namespace dodyn::apps
