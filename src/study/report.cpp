#include "study/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <type_traits>

namespace dodyn::study {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  const int length = std::snprintf(nullptr, 0, pattern, values...);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern, values...);
  text.pop_back();
  return text;
}

std::string with_unit(const std::string& value, const std::string& unit) {
  return unit.empty() || unit == "1" ? value : value + " " + unit;
}

std::string short_number(double value) { return std::isfinite(value) ? format("%.8g", value) : "-"; }

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// Rows of cells as left-aligned columns.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += padded(row[i], widths[i]) + "  ";
    text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string duration(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 10) return format("%.1f s", seconds);
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return format("%ld s", whole);
  if (whole < 3600) return format("%ld min %02ld s", whole / 60, whole % 60);
  return format("%ld h %02ld min", whole / 3600, whole % 3600 / 60);
}

std::string design_text(const std::vector<Variable>& variables, const Eigen::VectorXd& design) {
  std::string text;
  for (std::size_t i = 0; i < variables.size(); ++i)
    text += (i ? ", " : "") + variables[i].name + " = " +
            with_unit(short_number(design(static_cast<Eigen::Index>(i))), variables[i].unit);
  return text;
}

std::string bound_note(const std::vector<Variable>& variables, const Eigen::VectorXd& design) {
  std::string text;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& [name, unit, lower, upper] = variables[i];
    const double value = design(static_cast<Eigen::Index>(i)), near = 1e-6 * (upper - lower);
    const bool at_lower = value - lower <= near, at_upper = upper - value <= near;
    if (at_lower || at_upper)
      text += (text.empty() ? "" : ", ") + name + " is at its " + (at_lower ? "lower" : "upper") + " bound " +
              with_unit(to_text(at_lower ? lower : upper), unit);
  }
  return text.empty() ? "" : text + ": the optimum may lie beyond the range";
}

std::string progress_text(const Tally& tally, const std::vector<Variable>& variables) {
  std::map<Status, int> counts;
  for (const auto& [id, evaluation] : tally.evaluations) ++counts[evaluation.status];
  std::string text = format("%zu of at most %d:", tally.evaluations.size(), tally.limit);
  const char* separator = " ";
  for (const auto& [status, count] : counts) {
    text += separator + std::to_string(count) + " " + std::string(to_string(status));
    separator = ", ";
  }
  if (counts.empty()) text += " none yet";
  if (const Evaluation* best = best_of(tally.evaluations))
    text += "; best " + short_number(best->cost) + " at " + design_text(variables, best->design);
  text += format("; %d running; ", tally.running) + duration(tally.seconds);
  if (std::isfinite(tally.seconds_left)) text += ", at most " + duration(tally.seconds_left) + " left";
  return text;
}

std::string best_text(const Evaluation* best, const std::vector<Variable>& variables) {
  if (!best) return "best: none, no evaluation is ok\n";
  const std::string note = bound_note(variables, best->design);
  return "best: " + format("%.12g", best->cost) + " at " + design_text(variables, best->design) +
         format(" (evaluation %lld)\n", static_cast<long long>(best->id)) +
         (note.empty() ? "" : "note: " + note + "\n");
}

std::string table(const archive::Contents& contents) {
  const auto& variables = contents.layout.variables;
  std::map<std::int64_t, Evaluation> by_id;
  for (const auto& evaluation : contents.evaluations) by_id[evaluation.id] = evaluation;

  std::vector<std::vector<std::string>> rows = {{"id"}};
  for (const auto& variable : variables)
    rows[0].push_back(variable.unit.empty() || variable.unit == "1" ? variable.name
                                                                    : variable.name + " [" + variable.unit + "]");
  for (const auto* head : {"cost", "status", "seconds", "rank", "reason"}) rows[0].push_back(head);
  for (const auto& [id, evaluation] : by_id) {
    auto& row = rows.emplace_back();
    row.push_back(std::to_string(id));
    for (const double value : evaluation.design) row.push_back(short_number(value));
    row.push_back(short_number(evaluation.cost));
    row.emplace_back(to_string(evaluation.status));
    row.push_back(format("%.2f", evaluation.seconds));
    row.push_back(std::to_string(evaluation.rank));
    row.push_back(evaluation.reason);
  }
  return columns(rows) + "\n" + best_text(best_of(by_id), variables) +
         format("%zu evaluations, %zu iterations; ", contents.evaluations.size(), contents.iterations.size()) +
         (contents.stopped.empty() ? "not finished (running, or killed: the same command continues it)"
                                   : "stopped: " + contents.stopped) +
         "\n";
}

std::string record_text(const Evaluation& evaluation, const std::vector<Variable>& variables,
                        const std::vector<Quantity>& metrics) {
  std::vector<std::vector<std::string>> rows;
  for_each_field(evaluation, [&](const Field& field, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    const std::string name(field.name), unit(field.unit);
    if constexpr (std::is_same_v<T, Eigen::VectorXd>) {
      for (Eigen::Index i = 0; i < value.size(); ++i) {
        const auto k = static_cast<std::size_t>(i);
        const bool metric = name == "metrics";
        const std::string of = metric ? metrics[k].name : variables[k].name;
        const std::string its_unit = metric ? metrics[k].unit : name == "design" ? variables[k].unit : "";
        rows.push_back({name + "." + of, with_unit(format("%.12g", value(i)), its_unit)});
      }
    } else if constexpr (std::is_same_v<T, Status>) {
      rows.push_back({name, std::string(to_string(value))});
    } else if constexpr (std::is_same_v<T, std::string>) {
      rows.push_back({name, value});
    } else if constexpr (std::is_same_v<T, double>) {
      rows.push_back({name, with_unit(format("%.12g", value), unit)});
    } else {
      rows.push_back({name, with_unit(std::to_string(value), unit)});
    }
  });
  return columns(rows);
}

std::string csv(const Trajectory& trajectory, const Channels& channels) {
  std::string text;
  Eigen::Index nodes = 0;
  for (std::size_t c = 0; c < trajectory.values.size(); ++c) {
    const Channel& channel = channels[c];
    nodes = std::max(nodes, trajectory.values[c].rows());
    for (const auto& coordinate : channel.coordinates) {
      text += (text.empty() ? "" : ",") + channel.name;
      if (coordinate != channel.name) text += "." + coordinate;
      if (!channel.unit.empty() && channel.unit != "1") text += " [" + channel.unit + "]";
    }
  }
  text += "\n";
  for (Eigen::Index k = 0; k < nodes; ++k) {
    const char* separator = "";
    for (const auto& value : trajectory.values)
      for (Eigen::Index j = 0; j < value.cols(); ++j) {
        text += separator;
        if (k < value.rows()) text += to_text(value(k, j));
        separator = ",";
      }
    text += "\n";
  }
  return text;
}

std::string settings_text(const Settings& settings) {
  std::vector<std::vector<std::string>> rows = {{"key", "value", "unit", "default", "source"}};
  for (const auto& [key, value, source] : settings.all)
    rows.push_back({key.name, value.empty() ? "-" : value, key.unit.empty() ? "-" : key.unit,
                    key.default_value.empty() ? "-" : key.default_value, source});
  return columns(rows);
}

std::string keys_text() {
  std::string text;
  const auto add = [&](const std::vector<Key>& keys) {
    std::string section;
    for (const auto& key : keys) {
      const std::string its_section = key.name.substr(0, key.name.find('.'));
      if (its_section != section) text += "\n[" + (section = its_section) + "]\n";
      std::string range = allowed(key);
      if (!key.default_value.empty())
        range += "; default " + with_unit(key.default_value, key.unit);
      else if (key.type != Type::text && section != "design")
        range += "; must be given";
      text += "  " + padded("--" + key.name, 32) + " " + key.description + "\n" + std::string(35, ' ') + range + "\n";
    }
  };
  add(study_keys());
  for (const auto& kind : evaluator_kinds()) {
    text += "\nwith study.evaluator = " + kind.name + " (" + kind.description + "):\n";
    add(evaluator_keys(kind));
  }
  return text;
}

}  // namespace dodyn::study
