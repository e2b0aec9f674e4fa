#include "report/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "record/machine.hpp"
#include "report/cells.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::report {

namespace {
constexpr std::size_t widest = 60;  // a wider cell shifts the rest of its own row only
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i].size() <= widest) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += padded(row[i], widths[i]) + "  ";
    text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string design_text(const std::vector<Variable>& variables, const Eigen::VectorXd& design, int digits) {
  std::string text;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const double value = design(i);
    const std::string* const word = variables[i].choice(value);
    text += (i ? ", " : "") + variables[i].name + " = " +
            with_unit(word ? *word : formatted("%.*g", digits, value), variables[i].unit);
  }
  return text;
}

std::string bound_note(const std::vector<Variable>& variables, const Eigen::VectorXd& design) {
  std::string text;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& [name, unit, lower, upper, choices] = variables[i];
    if (!choices.empty()) continue;
    const double value = design(i), near = 1e-6 * (upper - lower);
    const bool at_lower = value - lower <= near, at_upper = upper - value <= near;
    if (at_lower || at_upper)
      text += (text.empty() ? "" : ", ") + name + " is at its " + (at_lower ? "lower" : "upper") + " bound " +
              with_unit(short_number(at_lower ? lower : upper), unit);
  }
  return text.empty() ? "" : text + ": the optimum may lie beyond the range";
}

std::string progress_text(const study::Progress& progress, const std::vector<Variable>& variables,
                          const OutputUnits& units) {
  std::map<Status, int> counts;
  for (const auto& [id, evaluation] : progress.evaluations) ++counts[evaluation.status];
  std::string text = formatted("[%zu/%d] ", progress.evaluations.size(), progress.limit);
  for (const auto& [status, count] : counts)
    text += std::to_string(count) + " " + std::string(to_string(status)) + ", ";
  text += formatted("%d running", progress.running);
  if (const Evaluation* best = progress.best) {
    std::vector<Variable> shown = variables;
    const Eigen::VectorXd factors = convert(shown, units);
    text +=
        "; best " + formatted("%.4g", best->cost) + " at " + design_text(shown, best->design.cwiseProduct(factors), 4);
  }
  text += "; " + duration(progress.seconds);
  if (std::isfinite(progress.seconds_left) && progress.seconds_left >= 1.0)
    text += ", up to " + duration(progress.seconds_left) + " left";
  return text;
}

std::string best_text(const Evaluation* best, const std::vector<Variable>& variables, const std::string& note) {
  if (!best) return "best: none: no evaluation is ok, satisfies the constraints and has finite objectives\n";
  return "best: " + formatted("%.12g", best->cost) + " at " + design_text(variables, best->design) +
         formatted(" (evaluation %lld)\n", static_cast<long long>(best->id)) +
         (note.empty() ? "" : "note: " + note + "\n") +
         (best->reason.empty()                    ? ""
          : best->reason.starts_with("warning: ") ? best->reason + "\n"
                                                  : "of the best: " + best->reason + "\n");
}

std::string causes_text(const archive::Contents& contents) {
  std::string text;
  const std::vector<Cause> causes = causes_of(contents.evaluations);
  for (const Cause cause : unsuccessful_causes) {
    std::map<std::string, int> statuses, hosts;
    int count = 0;
    for (std::size_t i = 0; i < causes.size(); ++i) {
      if (causes[i] != cause) continue;
      const Evaluation& row = contents.evaluations[i];
      ++count;
      ++statuses[std::string(to_string(row.status))];
      ++hosts[row.host.empty() ? "unknown host" : row.host];
    }
    if (count == 0) continue;
    const auto list = [](const std::map<std::string, int>& counts) {  // at most five, the most frequent first
      std::vector<std::pair<int, std::string>> sorted;
      for (const auto& [name, number] : counts) sorted.emplace_back(-number, name);
      std::ranges::sort(sorted);
      std::string names;
      for (std::size_t i = 0; i < std::min<std::size_t>(sorted.size(), 5); ++i)
        names += (i > 0 ? ", " : "") + sorted[i].second + " " + std::to_string(-sorted[i].first);
      return names + (sorted.size() > 5 ? ", ..." : "");
    };
    text += "attempts without a usable cost because of the " + std::string(to_string(cause)) + ": " +
            std::to_string(count) + " (" + list(statuses) + "; on " + list(hosts) + ")\n";
  }
  return text;
}

std::string ended_text(Ending ending, const std::string& reason) {
  switch (ending) {
    case Ending::none:
      return "ended: " + reason;
    case Ending::finished:
      return "finished: " + reason;
    case Ending::undecided:
    case Ending::equal_costs:
      return "stopped: " + reason;
    case Ending::limit:
      return "stopped: " + reason + ", before the search ended by its own rule; a larger number continues it";
    case Ending::repeated:
      return reason;
    case Ending::interrupted:
      return "stopped, the same command continues: " + reason;
    case Ending::failed:
      return "failed: " + reason;
  }
  return reason;
}

std::string undecided_text(double fraction) {
  if (!(fraction > surrogate::least_stated_fraction)) return "";
  return formatted("; in %.3g %% of the search space the surrogate cannot rule out a better design", 100 * fraction);
}

std::string unanswered_text(const std::map<Status, std::vector<std::int64_t>>& ids, const std::string& command) {
  if (ids.empty()) return "";
  std::string text;
  for (const auto& [status, list] : ids) {
    text += (text.empty() ? "without a usable cost: " : "; ") + std::string(to_string(status));
    for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 8); ++i)
      text += (i > 0 ? ", " : " ") + std::to_string(list[i]);
    if (list.size() > 8) text += ", ... (" + std::to_string(list.size()) + " in all)";
  }
  return text + "; to repeat them: " + command + "\n";
}

std::string evaluation_text(const archive::Contents& contents, std::size_t row, const Trajectory& trajectory) {
  const Evaluation& evaluation = contents.evaluations[row];
  std::string text = record_text(evaluation, contents.layout.variables, contents.layout.metrics);
  if (const Cause cause = causes_of(contents.evaluations)[row]; cause != Cause::none)
    text += "cause                 " + std::string(to_string(cause)) + "\n";
  if (!contents.sources.empty()) text += "source                " + contents.sources[contents.origins[row]].path + "\n";
  for (std::size_t earlier = 0; earlier < row; ++earlier) {
    const Evaluation& other = contents.evaluations[earlier];
    if (other.id == evaluation.id)
      text += "earlier attempt: " + std::string(to_string(other.status)) + ", " + duration(other.seconds) +
              (other.reason.empty() ? "" : ", " + other.reason) + "\n";
  }
  if (trajectory.empty()) return text + "\nno trajectory\n";
  std::vector<std::vector<std::string>> rows = {{"trajectory", "nodes", "first", "last", "least", "greatest", "unit"}};
  for (std::size_t c = 0; c < trajectory.values.size(); ++c) {
    const Channel& channel = contents.layout.channels[c];
    const auto& values = trajectory.values[c];
    for (Eigen::Index j = 0; j < values.cols(); ++j) {
      const auto& coordinate = channel.coordinates[j];
      rows.push_back({of_itself(channel, coordinate) ? channel.name : channel.name + "." + coordinate,
                      std::to_string(values.rows()), short_number(values(0, j)),
                      short_number(values(values.rows() - 1, j)), short_number(values.col(j).minCoeff()),
                      short_number(values.col(j).maxCoeff()), channel.units.empty() ? channel.unit : channel.units[j]});
    }
  }
  return text + "\n" + columns(rows);
}

std::string record_text(const Evaluation& evaluation, const std::vector<Variable>& variables,
                        const std::vector<Quantity>& metrics) {
  std::vector<std::vector<std::string>> rows;
  for_each_field(evaluation, [&](const Field& field, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    const std::string name(field.name), unit(field.unit);
    if constexpr (std::is_same_v<T, Eigen::VectorXd>) {
      for (Eigen::Index i = 0; i < value.size(); ++i) {
        const bool metric = name == "metrics";
        const std::string of = metric ? metrics[i].name : variables[i].name;
        const std::string its_unit = metric ? metrics[i].unit : name == "design" ? variables[i].unit : "";
        const std::string* const word = name == "design" ? variables[i].choice(value(i)) : nullptr;
        rows.push_back({name + "." + of, word                      ? *word
                                         : std::isfinite(value(i)) ? with_unit(formatted("%.12g", value(i)), its_unit)
                                                                   : "-"});
      }
    } else if constexpr (std::is_same_v<T, Status>) {
      rows.push_back({name, std::string(to_string(value))});
    } else if constexpr (std::is_same_v<T, std::string>) {
      rows.push_back({name, value});
    } else if constexpr (std::is_same_v<T, double>) {
      rows.push_back({name, std::isfinite(value) ? with_unit(formatted("%.12g", value), unit) : "-"});
    } else {
      rows.push_back({name, with_unit(std::to_string(value), unit)});
    }
  });
  return columns(rows);
}

std::string csv(const Trajectory& trajectory, const Channels& channels) {
  std::string text;
  if (trajectory.empty()) return "\n";
  // Only channels with a row per node or per interval are written, since the table has one row per node.
  const Eigen::Index nodes = trajectory.values.front().rows();
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < trajectory.values.size(); ++c)
    if (const auto rows = trajectory.values[c].rows(); rows == nodes || (rows == nodes - 1 && rows > 1))
      shown.push_back(c);
  for (const std::size_t c : shown) {
    const Channel& channel = channels[c];
    for (std::size_t j = 0; j < channel.coordinates.size(); ++j) {
      const auto& coordinate = channel.coordinates[j];
      const std::string& unit = channel.units.empty() ? channel.unit : channel.units[j];
      text += (text.empty() ? "" : ",") + channel.name;
      if (!of_itself(channel, coordinate)) text += "." + coordinate;
      if (!unit.empty() && unit != "1") text += " [" + unit + "]";
    }
  }
  text += "\n";
  for (Eigen::Index k = 0; k < nodes; ++k) {
    const char* separator = "";
    for (const std::size_t c : shown) {
      const auto& value = trajectory.values[c];
      for (Eigen::Index j = 0; j < value.cols(); ++j) {
        text += separator;
        if (k < value.rows()) text += to_text(value(k, j));
        separator = ",";
      }
    }
    text += "\n";
  }
  return text;
}

std::string counts_text(const archive::Findings& findings) {
  const std::string trajectories =
      findings.trajectories == 1 ? "1 trajectory" : std::to_string(findings.trajectories) + " trajectories";
  return counted(findings.evaluations, "evaluation") + ", " + trajectories + ", " +
         counted(findings.iterations, "iteration");
}

std::string settings_text(const Settings& settings) {
  std::vector<std::vector<std::string>> rows = {{"key", "value", "unit", "default", "source"}};
  for (const auto& [key, value, source, note, is_used] : settings.all) {
    const bool shown = is_used || source != "default";
    rows.push_back({key.name, value.empty() || !shown ? "-" : value, key.unit.empty() ? "-" : key.unit,
                    key.default_value.empty() || !is_used ? "-" : key.default_value,
                    shown ? source + (note.empty() ? "" : ", " + note) : note});
  }
  return columns(rows);
}

}  // namespace dodyn::report
