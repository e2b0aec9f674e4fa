// dodyn replay: repeats archived evaluations and compares them with their rows bit by bit. Writes nothing.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "archive/archive.hpp"
#include "command.hpp"
#include "farm/farm.hpp"
#include "provenance.hpp"
#include "report/report.hpp"
#include "study/archived.hpp"
#include "study/study.hpp"

namespace dodyn::apps {

namespace po = boost::program_options;
namespace {

// Two NaNs count as equal.
bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

// Returns a description of the difference of two arrays of a quantity, beginning with ", NAME"; empty: they are equal.
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

// Compares the fields of an evaluation that depend on its task only, not on time, place and duration.
std::string differences(const Evaluation& a, const Trajectory& at, const Evaluation& b, const Trajectory& bt,
                        const Channels& channels) {
  std::string text;
  if (a.status != b.status)
    text += "; status was " + std::string(to_string(a.status)) + ", is " + std::string(to_string(b.status));
  if (const std::string reason = archive::stored_reason(b.reason); a.reason != reason)
    text += "; reason was '" + a.reason + "', is '" + reason + "'";
  text += difference("cost", number(a.cost), number(b.cost));
  text += difference("cost_stderr", number(a.cost_stderr), number(b.cost_stderr));
  // an archive stores NaN for a missing value
  const auto filled = [](const Eigen::VectorXd& one, const Eigen::VectorXd& other) {
    return one.size() > 0 ? one : Eigen::VectorXd(Eigen::VectorXd::Constant(other.size(), not_a_number));
  };
  text += difference("gradient", filled(a.gradient, b.gradient), filled(b.gradient, a.gradient));
  text += difference("metrics", filled(a.metrics, b.metrics), filled(b.metrics, a.metrics));
  if (at.empty() != bt.empty()) return text + "; the trajectory is " + (bt.empty() ? "gone" : "new");
  for (std::size_t c = 0; c < at.values.size(); ++c) text += difference(channels[c].name, at.values[c], bt.values[c]);
  return text;
}

// Reads the ids after the path, or in --ids 3,7.
std::set<std::int64_t> ids_in(const Arguments& given) {
  std::string list = given.text("ids");
  for (std::size_t i = 1; i < given.operands.size(); ++i) list += (list.empty() ? "" : ",") + given.operands[i];
  return list.empty() ? std::set<std::int64_t>() : read_ids(list);
}

struct Archived {
  archive::Contents contents;
  study::Problem problem;
  std::shared_ptr<const evaluators::Evaluator> evaluator;
  std::string file;
};

// Returns an archive, given by its path or by its configuration, and the evaluator of its designs.
Archived archived_of(const Arguments& given) {
  Archived all;
  try {
    all.problem = read_problem(given, study::Use::evaluated);
    all.evaluator = study::make_evaluator(all.problem);
    const bool alone = !all.problem.archive.empty();
    all.file = alone ? all.problem.archive : all.problem.settings.text("study.archive");
    all.contents = archive::read(all.file);
    if (alone && all.contents.evaluations.empty()) throw ConfigError(all.file + ": it is empty");
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  if (const std::string other = study::problem_mismatch(all.problem.settings, *all.evaluator, all.contents);
      !other.empty())
    throw ConfigError(all.file + " belongs to another study: " + other);
  return all;
}

// Returns each property of program and machine that differs, one line each.
std::string other_circumstances(const archive::Provenance& then, const archive::Provenance& now) {
  std::string text;
  const auto compare = [&](const std::string& what, const std::string& a, const std::string& b) {
    if (a != b && !a.empty()) text += what + " was " + a + ", is " + (b.empty() ? "not known" : b) + "\n";
  };
  compare("version", then.program_version + " (" + then.git_commit + ")",
          now.program_version + " (" + now.git_commit + ")");
  for (const auto& [key, value] : then.machine)
    for (const auto& [name, present] : now.machine)
      if (key == name && key != "job" && key != "nodes") compare(key, value, present);
  return text.empty() ? "version, compiler and machine are as they were\n" : text;
}

}  // namespace

void add_replay_options(AddOptions add) {
  add("ids", po::value<std::string>()->value_name("ID[,ID...]"), "ids of evaluations, such as 3,7,12");
  add_trust_option(add);
}

ExitCode replay(const Invocation& call) {
  const Arguments given = parse(call);
  const std::set<std::int64_t> asked = ids_in(given);
  const Archived all = archived_of(given);
  for (const std::string& note : all.problem.notes) std::cerr << note << "\n";
  const auto& contents = all.contents;
  const auto& settings = all.problem.settings;
  const auto& evaluator = all.evaluator;
  const std::string& file = all.file;
  const auto rows = archive::latest(contents);
  std::set<std::int64_t> ids = asked;
  for (const auto id : ids)
    if (!rows.contains(id)) throw ConfigError(file + ": holds no evaluation " + std::to_string(id));
  if (ids.empty())
    for (const auto& [id, row] : rows)
      if (!is_retryable(contents.evaluations[row].status)) ids.insert(id);

  const archive::Provenance here = provenance(call.words, 1);
  std::cout << file << ": by dodyn " << contents.provenance.program_version << " (" << contents.provenance.git_commit
            << ") on " << contents.provenance.host << "; now dodyn " << here.program_version << " (" << here.git_commit
            << ")" << (here.host == contents.provenance.host ? "" : " on " + here.host) << "\n";
  const auto farm = farm::make_local_farm(study::make_work(evaluator, settings));
  int differing = 0;
  // Holds the motions up to the present row. An evaluation started from the row that its parent had then, not from a
  // later row of the parent.
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
      std::string text =
          differences(archived, trajectory, outcome.evaluation, outcome.trajectory, contents.layout.channels);
      const std::uint32_t sum = archive::outcome_checksum(contents.layout, outcome);
      if (text.empty() && contents.outcomes[row] != sum)
        text = formatted("; checksum of its outcome was %08x", contents.outcomes[row]);
      differing += !text.empty();
      if (!text.empty() || !asked.empty())
        std::cout << "evaluation " << archived.id << formatted(" (%08x): ", sum)
                  << (text.empty() ? "the same" : "differs" + text) << std::endl;
    }
    if (archived.ok()) motions[archived.id] = std::move(trajectory);
  });
  if (differing > 0) std::cout << other_circumstances(contents.provenance, here);
  std::cout << ids.size() - static_cast<std::size_t>(differing) << " of " << ids.size() << " the same, bit by bit\n";
  return differing ? failure : finished;
}

}  // namespace dodyn::apps
