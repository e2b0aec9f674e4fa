// What a person reads: tables, records and notes as text.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "evaluators/evaluator.hpp"
#include "record/text.hpp"
#include "settings/settings.hpp"
#include "study/study.hpp"

namespace dodyn::report {

// Rows of cells as left-aligned columns.
std::string columns(const std::vector<std::vector<std::string>>& rows);

// "knee = 0.35 m, mass = 10 kg"
std::string design_text(const std::vector<Variable>& variables, const Eigen::VectorXd& design);

// Empty, or one line that says which variables lie at an end of their range (within 1e-6 of it): such an optimum may be
// one of the range, not of the design.
std::string bound_note(const std::vector<Variable>& variables, const Eigen::VectorXd& design);

// "12 of at most 40: 11 ok, 1 failed; best 0.1126 at knee = 0.35 m; 2 running; 43 s, at most 1 min 10 s left"
std::string progress_text(const study::Progress& tally, const std::vector<Variable>& variables);

// Which evaluations to list, and in which order.
struct Listing {
  std::string sort = "id";   // a column: id, cost, status, ..., or the name of a design variable or metric; least first
  bool failed_only = false;  // those worth another try
  // Of the table: columns in their order after the id, named as for `sort`, also source and reason. Empty: the design
  // variables, the cost, the metrics that constraints and objectives name, status, seconds, rank, source, reason.
  std::vector<std::string> columns = {};
  std::size_t width = 0;  // of the table's lines, longer ones end in an ellipsis; 0: as long as they are
};

// One line per evaluation, then the best one and why the study ended. Of an id that was evaluated again the last row
// counts. Throws ConfigError where there is no such column to show or to sort by.
std::string table(const archive::Contents& contents, const Listing& listing = {});
// Rows without a usable answer, by their cause and the hosts where they were; empty where there is none.
std::string causes_text(const archive::Contents& contents);
// What befell the study: a line each, with its time.
std::string events_text(const archive::Contents& contents);
// Every field of each evaluation: a column per number, named like "design.knee [m]".
std::string csv(const archive::Contents& contents, const Listing& listing);
// The whole archive but its trajectories. What is not a finite number is null.
std::string json(const archive::Contents& contents, const Listing& listing);

// Everything about one evaluation, trajectory included: for people, as CSV (the trajectory alone), as JSON. `row` is
// that of the last row of its id.
std::string evaluation_text(const archive::Contents& contents, std::size_t row, const Trajectory& trajectory);
std::string evaluation_json(const archive::Contents& contents, std::size_t row, const Trajectory& trajectory);
// The same JSON of an outcome that is in no archive.
std::string outcome_json(const Outcome& outcome, const archive::Layout& layout);

// The rows from `first` on as they came, a line each.
std::string rows_text(const archive::Contents& contents, std::size_t first);
// The best evaluation with its design, and whether it lies at a bound.
std::string best_text(const Evaluation* best, const std::vector<Variable>& variables);

// Empty, or a line that names the evaluations without an answer, by what became of them, and what to do about them.
std::string unanswered_text(const std::map<Status, std::vector<std::int64_t>>& ids, const std::string& configuration);

// Every field of one evaluation, one line each.
std::string record_text(const Evaluation& evaluation, const std::vector<Variable>& variables,
                        const std::vector<Quantity>& metrics);

// The trajectory as CSV: a column per coordinate, named "channel.coordinate [unit]", a row per node. Channels with a row
// per interval leave their last cell empty; those with neither are left out.
std::string csv(const Trajectory& trajectory, const Channels& channels);

// The reference manual of commands (name, arguments, description), keys, strategies, evaluators and the archive's columns.
std::string reference_markdown(const std::vector<std::array<std::string, 3>>& commands);

// Every setting with its value, unit, default and source.
std::string settings_text(const Settings& settings);

// Keys for `dodyn help` and --help: those of every study, or those that a configuration can have, with their values.
// All of them, a line each by section; or those of one section ("gait", "phase") with range and default. Throws
// ConfigError where there is no such section.
std::string keys_text(const Settings* settings = nullptr, const std::string& section = "");
// One key: its meaning, what is allowed, its default, and who has it. Throws ConfigError where there is no such key.
std::string key_text(const std::string& name, const Settings* settings = nullptr);
// The keys that a user meets first, a line each.
std::string first_keys_text();

}  // namespace dodyn::report
