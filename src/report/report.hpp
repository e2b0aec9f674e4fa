// Formats tables, records and notes as text.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "evaluators/evaluator.hpp"
#include "record/text.hpp"
#include "report/output_units.hpp"
#include "settings/settings.hpp"
#include "study/study.hpp"

namespace dodyn::report {

// Returns rows of cells as left-aligned columns.
std::string columns(const std::vector<std::vector<std::string>>& rows);

// Returns "knee = 0.35 m, mass = 10 kg", numbers with at most `digits` digits.
std::string design_text(const std::vector<Variable>& variables, const Eigen::VectorXd& design, int digits = 8);

// Returns a line that names the variables at an end of their range (within 1e-6 of its width), because the optimum may
// lie beyond the range; empty if there are none. Variables with labels do not count. For callers without the costs; see
// also predictions.hpp.
std::string bound_note(const std::vector<Variable>& variables, const Eigen::VectorXd& design);

// Returns "[12/40] 11 ok, 1 failed, 2 running; best 0.1126 at knee = 0.35 m; 43 s, up to 1 min 10 s left".
std::string progress_text(const study::Progress& progress, const std::vector<Variable>& variables,
                          const OutputUnits& units = {});

// The evaluations that a table lists, and their order.
struct Listing {
  // A column: id, cost, status, ..., or the name of a design variable or metric; ascending. By cost, evaluations that
  // violate a constraint come last.
  std::string sort = "id";
  bool failed_only = false;  // only evaluations with a status other than ok
  // Columns of the table after the id, named as for `sort`, also source and cause. Empty: the design variables, the
  // cost, the metrics that constraints and objectives name, status, wall_time, rank, source, reason; with `failed_only`
  // also cause and host. A CSV file has them after the id, too; empty: all columns but the cause.
  std::vector<std::string> columns = {};
  std::size_t width = 0;   // of lines, characters; longer lines end in an ellipsis; 0: no limit
  OutputUnits units = {};  // for all numbers with a unit
};

// Returns a line per evaluation, then the best evaluation and the reason why the study ended. If an id has several
// rows, the last one counts. Throws ConfigError if a column to show or to sort by does not exist.
std::string table(const archive::Contents& contents, const Listing& listing = {});
// Returns counts of the rows without a usable answer, by cause and host; empty if there are none.
std::string causes_text(const archive::Contents& contents);
// Returns the events of the study, a line each with its time.
std::string events_text(const archive::Contents& contents);
// Returns the evaluations as CSV, a row each, with a column per number, named like "design.knee [m]": all fields, or
// the id and `listing.columns`.
std::string csv(const archive::Contents& contents, const Listing& listing);
// Returns the archive without its trajectories as JSON. NaN is null; infinite numbers are the texts "inf" and "-inf",
// as in all JSON of this file.
std::string json(const archive::Contents& contents, const Listing& listing);

// Return one evaluation with its trajectory, as text and as JSON. `row` is the last row of its id. The text lists
// earlier rows of the id as earlier attempts.
std::string evaluation_text(const archive::Contents& contents, std::size_t row, const Trajectory& trajectory);
std::string evaluation_json(const archive::Contents& contents, std::size_t row, const Trajectory& trajectory);
// Returns the JSON of evaluation_json() for an outcome that is not in an archive.
std::string outcome_json(const Outcome& outcome, const archive::Layout& layout);

// Returns the rows from `first` on in their order, a line each.
std::string rows_text(const archive::Contents& contents, std::size_t first);
// Returns the best evaluation with its design, `note` about it, and its warnings. Null: there is no best one.
std::string best_text(const Evaluation* best, const std::vector<Variable>& variables, const std::string& note);

// Returns "12 evaluations, 1 trajectory, 40 iterations".
std::string counts_text(const archive::Findings& findings);
// Returns how and why a study ended: "finished: the search has converged".
std::string ended_text(Ending ending, const std::string& reason);
// Returns "; in 45.3 % of the search space the surrogate cannot rule out a better design"; empty for a small fraction.
std::string undecided_text(double fraction);

// Returns a line with the ids of evaluations without an answer, by status, and `command`, which repeats them; empty if
// there are none.
std::string unanswered_text(const std::map<Status, std::vector<std::int64_t>>& ids, const std::string& command);

// Returns every field of one evaluation, one line each.
std::string record_text(const Evaluation& evaluation, const std::vector<Variable>& variables,
                        const std::vector<Quantity>& metrics);

// Returns the trajectory as CSV: a column per coordinate, named "channel.coordinate [unit]", a row per node. Channels
// with a row per interval leave their last cell empty. Other channels are left out.
std::string csv(const Trajectory& trajectory, const Channels& channels);

// Returns the reference of commands (name, arguments, description), keys, strategies, evaluators and archive columns.
std::string reference_markdown(const std::vector<std::array<std::string, 3>>& commands);

// Returns every setting with its value, unit, default and source.
std::string settings_text(const Settings& settings);

// Returns keys for `dodyn help keys` and --help: all keys, or the keys of `settings` with their values. Without
// `section`: one line per key, by section. With `section` ("gait", "phase"): its keys with range and default. Throws
// ConfigError if there is no such section.
std::string keys_text(const Settings* settings = nullptr, const std::string& section = "");
// Returns the meaning, range, default and owners of one key. Throws ConfigError if there is no such key.
std::string key_text(const std::string& name, const Settings* settings = nullptr);
// Returns the keys that a new user needs first, one line each.
std::string first_keys_text();

}  // namespace dodyn::report
