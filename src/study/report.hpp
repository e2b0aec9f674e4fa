// What a person reads: tables, records and notes as text.
#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "study/evaluator.hpp"
#include "study/settings.hpp"
#include "study/study.hpp"

namespace dodyn::study {

// "43 s", "2 min 05 s", "3 h 12 min".
std::string duration(double seconds);

// "knee = 0.35 m, mass = 10 kg"
std::string design_text(const std::vector<Variable>& variables, const Eigen::VectorXd& design);

// Empty, or one line that says which variables lie at an end of their range (within 1e-6 of it): such an optimum may be
// one of the range, not of the design.
std::string bound_note(const std::vector<Variable>& variables, const Eigen::VectorXd& design);

// "12 of at most 40: 11 ok, 1 failed; best 0.1126 at knee = 0.35 m; 2 running; 43 s, at most 1 min 10 s left"
std::string progress_text(const Tally& tally, const std::vector<Variable>& variables);

// One line per evaluation in the order of the ids, then the best one and why the study ended.
std::string table(const archive::Contents& contents);
// The best evaluation with its design, and whether it lies at a bound.
std::string best_text(const Evaluation* best, const std::vector<Variable>& variables);

// Every field of one evaluation, one line each.
std::string record_text(const Evaluation& evaluation, const std::vector<Variable>& variables,
                        const std::vector<Quantity>& metrics);

// The trajectory as CSV: a column per coordinate, named "channel.coordinate [unit]", a row per node; channels with
// fewer nodes leave their cells empty.
std::string csv(const Trajectory& trajectory, const Channels& channels);

// Every setting with its value, unit, default and source.
std::string settings_text(const Settings& settings);

// Every key with its unit, default and range, by section, for --help.
std::string keys_text();

}  // namespace dodyn::study
