#include "report/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <type_traits>

#include "report/hindsight.hpp"
#include "study/evidence.hpp"
#include "surrogate/choice.hpp"

namespace dodyn::report {
namespace {

std::string with_unit(const std::string& value, const std::string& unit) {
  return unit.empty() || unit == "1" ? value : value + " " + unit;
}

std::string short_number(double value) { return std::isfinite(value) ? formatted("%.8g", value) : "-"; }

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

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

std::string progress_text(const study::Tally& tally, const std::vector<Variable>& variables) {
  std::map<Status, int> counts;
  for (const auto& [id, evaluation] : tally.evaluations) ++counts[evaluation.status];
  std::string text = formatted("%zu of at most %d:", tally.evaluations.size(), tally.limit);
  const char* separator = " ";
  for (const auto& [status, count] : counts) {
    text += separator + std::to_string(count) + " " + std::string(to_string(status));
    separator = ", ";
  }
  if (counts.empty()) text += " none yet";
  if (const Evaluation* best = tally.best)
    text += "; best " + short_number(best->cost) + " at " + design_text(variables, best->design);
  text += formatted("; %d running; ", tally.running) + duration(tally.seconds);
  if (std::isfinite(tally.seconds_left) && tally.seconds_left >= 1.0)
    text += ", at most " + duration(tally.seconds_left) + " left";
  return text;
}

std::string best_text(const Evaluation* best, const std::vector<Variable>& variables) {
  if (!best) return "best: none, no evaluation is ok and keeps the constraints\n";
  const std::string note = bound_note(variables, best->design);
  return "best: " + formatted("%.12g", best->cost) + " at " + design_text(variables, best->design) +
         formatted(" (evaluation %lld)\n", static_cast<long long>(best->id)) +
         (note.empty() ? "" : "note: " + note + "\n");
}

std::string unanswered_text(const std::map<Status, std::vector<std::int64_t>>& ids) {
  if (ids.empty()) return "";
  std::string text;
  for (const auto& [status, list] : ids) {
    text += (text.empty() ? "without an answer: " : "; ") + std::string(to_string(status));
    for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 8); ++i)
      text += (i > 0 ? ", " : " ") + std::to_string(list[i]);
    if (list.size() > 8) text += ", ... (" + std::to_string(list.size()) + " in all)";
  }
  return text + " (dodyn rerun CONFIG --failed does them again)\n";
}

namespace {

// Whether a coordinate is called as its channel is: "t" of "t", or of "slow:t", that of a scenario.
bool of_itself(const Channel& channel, const std::string& coordinate) {
  return channel.name == coordinate || channel.name.ends_with(":" + coordinate);
}

// The cells of one evaluation: visit(name, unit, value), value being text, a number or an integer.
template <class Visit>
void for_each_cell(const Evaluation& evaluation, const archive::Layout& layout, Visit&& visit) {
  for_each_field(evaluation, [&](const Field& field, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    const std::string name(field.name);
    if constexpr (std::is_same_v<T, Eigen::VectorXd>) {
      const bool metric = name == "metrics";
      const std::size_t count = metric ? layout.metrics.size() : layout.variables.size();
      for (std::size_t i = 0; i < count; ++i) {
        const double number = value.size() > 0 ? value(static_cast<Eigen::Index>(i)) : not_a_number;
        if (metric)
          visit(name + "." + layout.metrics[i].name, layout.metrics[i].unit, number);
        else
          visit(name + "." + layout.variables[i].name, name == "design" ? layout.variables[i].unit : "", number);
      }
    } else if constexpr (std::is_same_v<T, Status>) {
      visit(name, std::string(), std::string(to_string(value)));
    } else {
      visit(name, std::string(field.unit == "1" ? "" : field.unit), value);
    }
  });
}

// A cell as the table shows it.
struct Cell {
  std::string name, unit, text;
  double value = 0.0;  // of numbers

  // Whether a user means it by this name: its own, or that of a design variable or metric.
  bool is(const std::string& asked) const { return asked == name || asked == short_name(); }
  std::string short_name() const {
    const auto dot = name.find('.');
    return dot == std::string::npos || name.starts_with("gradient.") ? name : name.substr(dot + 1);
  }
};

std::vector<Cell> cells_of(const Evaluation& evaluation, const archive::Layout& layout) {
  std::vector<Cell> cells;
  for_each_cell(evaluation, layout, [&](const std::string& name, const std::string& unit, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string>)
      cells.push_back({name, unit, value});
    else if constexpr (std::is_same_v<T, double>)
      cells.push_back({name, unit, name == "seconds" ? formatted("%.2f", value) : short_number(value), value});
    else
      cells.push_back({name, unit, std::to_string(value), static_cast<double>(value)});
  });
  return cells;
}

// Throws ConfigError where no column has that name.
std::size_t column_named(const std::vector<Cell>& cells, const std::string& name, const char* option) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].is(name)) return i;
    names.push_back(cells[i].short_name());
  }
  throw ConfigError(std::string("command line: ") + option + " " + name + ": no such column" +
                    did_you_mean(name, names) +
                    "; allowed: id, cost, status, seconds, ..., a design variable or a metric");
}

// The rows to list, in their order.
std::vector<std::size_t> select(const archive::Contents& contents, const surrogate::Evidence& evidence,
                                const Listing& listing) {
  using Key = std::tuple<bool, double, std::string>;  // breaks a constraint, where costs are compared
  const std::size_t by = column_named(cells_of({}, contents.layout), listing.sort, "--sort");
  std::vector<std::pair<Key, std::size_t>> rows;
  for (const auto& [id, row] : archive::latest(contents)) {
    const Evaluation& evaluation = contents.evaluations[row];
    if (listing.failed_only && !worth_another_try(evaluation.status)) continue;
    const Cell cell = cells_of(evaluation, contents.layout)[by];
    // numbers that are none come last
    rows.emplace_back(Key(cell.name == "cost" && !broken_text(contents, evidence, evaluation).empty(),
                          std::isnan(cell.value) ? HUGE_VAL : cell.value, cell.text),
                      row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> order;
  for (const auto& [its_key, row] : rows) order.push_back(row);
  return order;
}

// The columns of the table after the id, each by its place among an evaluation's cells; `source` beyond them.
std::vector<std::size_t> table_columns(const archive::Contents& contents, const surrogate::Evidence& evidence,
                                       const Listing& listing) {
  std::vector<std::string> names = listing.columns;
  if (names.empty()) {
    for (const auto& variable : contents.layout.variables) names.push_back("design." + variable.name);
    names.emplace_back("cost");
    const auto add = [&](int metric) {
      const auto name = metric < 0 ? "" : "metrics." + contents.layout.metrics[static_cast<std::size_t>(metric)].name;
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const int metric : evidence.objectives) add(metric);
    for (const auto& constraint : evidence.constraints) add(constraint.metric);
    for (const auto* name : {"status", "seconds", "rank"}) names.emplace_back(name);
    if (!contents.sources.empty()) names.emplace_back("source");
    names.emplace_back("reason");
  }
  auto cells = cells_of({}, contents.layout);
  if (!contents.sources.empty()) cells.push_back({"source", "", ""});
  std::vector<std::size_t> columns;
  for (const auto& name : names) columns.push_back(column_named(cells, name, "--columns"));
  return columns;
}

std::vector<std::string> table_row(const archive::Contents& contents, const surrogate::Evidence& evidence,
                                   const std::vector<std::size_t>& columns, std::size_t row) {
  const Evaluation& evaluation = contents.evaluations[row];
  auto all = cells_of(evaluation, contents.layout);
  if (!contents.sources.empty()) all.push_back({"source", "", std::to_string(contents.origins[row])});
  std::vector<std::string> cells = {std::to_string(evaluation.id)};
  for (const std::size_t column : columns) {
    const Cell& cell = all[column];
    const std::string broken = cell.name == "reason" ? broken_text(contents, evidence, evaluation) : "";
    cells.push_back(broken + (broken.empty() || cell.text.empty() ? "" : "; ") + cell.text);
  }
  return cells;
}

std::vector<std::string> table_head(const archive::Contents& contents, const std::vector<std::size_t>& columns) {
  auto all = cells_of({}, contents.layout);
  if (!contents.sources.empty()) all.push_back({"source", "", ""});
  std::vector<std::string> head = {"id"};
  for (const std::size_t column : columns) {
    const Cell& cell = all[column];
    const bool unit = !cell.unit.empty() && cell.unit != "1" && cell.name != "seconds";
    head.push_back(cell.short_name() + (unit ? " [" + cell.unit + "]" : ""));
  }
  return head;
}

// Lines that are longer than `width` characters end in an ellipsis.
std::string cut(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string out;
  std::size_t characters = 0;
  std::size_t last = 0;  // where the line's last character that may stay ends
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      if (characters > width) out.resize(last), out += "\u2026";
      out += '\n';
      characters = 0;
      continue;
    }
    if (begins(text[i])) {
      ++characters;
      if (characters == width) last = out.size();  // before it: the ellipsis takes a place
    }
    if (characters <= width) out += text[i];
  }
  return out;
}

using Json = nlohmann::ordered_json;

Json numbers(const auto& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(value);
  return list;
}

Json evaluation_as_json(const archive::Contents& contents, std::size_t row) {
  Json all;
  for_each_cell(contents.evaluations[row], contents.layout,
                [&](const std::string& name, const std::string&, const auto& value) {
                  const auto dot = name.find('.');
                  if (dot == std::string::npos)
                    all[name] = value;
                  else
                    all[name.substr(0, dot)][name.substr(dot + 1)] = value;
                });
  if (!contents.sources.empty()) all["source"] = contents.origins[row];
  return all;
}

Json provenance_as_json(const archive::Provenance& provenance) {
  Json configuration = Json::object();
  for (const auto& [key, value] : provenance.configuration) configuration[key] = value;
  Json machine = Json::object();
  for (const auto& [key, value] : provenance.machine) machine[key] = value;
  return {{"evaluator", provenance.evaluator},
          {"version", provenance.program_version},
          {"git_commit", provenance.git_commit},
          {"command_line", provenance.command_line},
          {"host", provenance.host},
          {"ranks", provenance.ranks},
          {"machine", machine},
          {"configuration", configuration}};
}

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

namespace {

// How often each kind of event came, in the order of their first.
std::vector<std::pair<std::string, int>> event_counts(const std::vector<Event>& events) {
  std::vector<std::pair<std::string, int>> counts;
  for (const Event& event : events) {
    const auto known = std::ranges::find(counts, event.kind, &std::pair<std::string, int>::first);
    if (known == counts.end())
      counts.emplace_back(event.kind, 1);
    else
      ++known->second;
  }
  return counts;
}

}  // namespace

std::string table(const archive::Contents& contents, const Listing& listing) {
  const std::size_t evaluations = archive::latest(contents).size();
  const surrogate::Evidence evidence = study::evidence_of(contents);
  const auto shown = table_columns(contents, evidence, listing);
  std::vector<std::vector<std::string>> rows = {table_head(contents, shown)};
  for (const std::size_t row : select(contents, evidence, listing))
    rows.push_back(table_row(contents, evidence, shown, row));
  std::string sources;
  for (std::size_t i = 0; i < contents.sources.size(); ++i) {
    const archive::Source& source = contents.sources[i];
    sources += "source " + std::to_string(i) + ": " + source.path;
    for (const auto& [key, value] : source.provenance.configuration) {
      const auto& common = contents.provenance.configuration;
      if (std::find(common.begin(), common.end(), std::pair(key, value)) == common.end())
        sources += ", " + key + " = " + value;
    }
    sources += "\n";
  }
  const std::size_t again = contents.evaluations.size() - evaluations;
  std::string befallen;
  for (const auto& [kind, count] : event_counts(contents.events))
    befallen += (befallen.empty() ? "events (--events lists them): " : ", ") + std::to_string(count) + " " + kind;
  if (contents.events.size() <= 2) befallen.clear();  // it was started, and it stopped
  return cut(columns(rows), listing.width) + "\n" + sources + outcome_text(contents, evidence) +
         formatted("%zu evaluations, %zu iterations; ", evaluations, contents.iterations.size()) +
         (again ? std::to_string(again) + " earlier attempts; " : "") +
         (contents.stopped.empty() ? "not finished (running, or killed: the same command continues it)"
                                   : "stopped: " + contents.stopped) +
         "\n" + befallen + (befallen.empty() ? "" : "\n");
}

std::string events_text(const archive::Contents& contents) {
  std::vector<std::vector<std::string>> rows;
  for (const Event& event : contents.events) rows.push_back({event.time, event.kind, event.text});
  return rows.empty() ? "no events (an archive of an earlier version, or one of several merged)\n" : columns(rows);
}

std::string rows_text(const archive::Contents& contents, std::size_t first) {
  std::string text;
  for (std::size_t row = first; row < contents.evaluations.size(); ++row) {
    const Evaluation& evaluation = contents.evaluations[row];
    text += padded(std::to_string(evaluation.id), 6) + " " + design_text(contents.layout.variables, evaluation.design) +
            ": " + std::string(to_string(evaluation.status)) + " " + short_number(evaluation.cost) +
            (evaluation.reason.empty() ? "" : ", " + evaluation.reason) + "\n";
  }
  return text;
}

std::string csv(const archive::Contents& contents, const Listing& listing) {
  std::string text;
  const auto order = select(contents, study::evidence_of(contents), listing);
  const bool merged = !contents.sources.empty();
  for_each_cell(Evaluation{}, contents.layout, [&](const std::string& name, const std::string& unit, const auto&) {
    text += (text.empty() ? "" : ",") + name + (unit.empty() || unit == "1" ? "" : " [" + unit + "]");
  });
  text += merged ? ",source\n" : "\n";
  for (const std::size_t row : order) {
    const char* separator = "";
    for_each_cell(contents.evaluations[row], contents.layout,
                  [&](const std::string&, const std::string&, const auto& value) {
                    using T = std::decay_t<decltype(value)>;
                    text += std::exchange(separator, ",");
                    if constexpr (std::is_same_v<T, std::string>) {
                      const bool quoted = value.find_first_of(",\"\n") != std::string::npos;
                      if (quoted) text += '"';
                      for (const char c : value) text += c == '"' ? std::string(2, c) : std::string(1, c);
                      if (quoted) text += '"';
                    } else if constexpr (std::is_same_v<T, double>) {
                      text += to_text(value);
                    } else {
                      text += std::to_string(value);
                    }
                  });
    text += merged ? "," + std::to_string(contents.origins[row]) + "\n" : "\n";
  }
  return text;
}

std::string json(const archive::Contents& contents, const Listing& listing) {
  Json all = {{"schema", contents.schema}, {"created", contents.created}, {"stopped", contents.stopped}};
  all["provenance"] = provenance_as_json(contents.provenance);
  for (const auto& source : contents.sources)
    all["sources"].push_back({{"path", source.path},
                              {"created", source.created},
                              {"stopped", source.stopped},
                              {"provenance", provenance_as_json(source.provenance)}});
  for (const char* list : {"variables", "metrics", "evaluations", "iterations", "events"}) all[list] = Json::array();
  for (const auto& [time, kind, said] : contents.events)
    all["events"].push_back({{"time", time}, {"kind", kind}, {"text", said}});
  for (const auto& [name, unit, lower, upper] : contents.layout.variables)
    all["variables"].push_back({{"name", name}, {"unit", unit}, {"lower", lower}, {"upper", upper}});
  for (const auto& [name, unit, description] : contents.layout.metrics)
    all["metrics"].push_back({{"name", name}, {"unit", unit}, {"description", description}});
  for (const std::size_t row : select(contents, study::evidence_of(contents), listing))
    all["evaluations"].push_back(evaluation_as_json(contents, row));
  for (const auto& iteration : contents.iterations) {
    Json named = Json::object();
    for (const auto& [name, value] : iteration.numbers) named[name] = value;
    all["iterations"].push_back({{"best_id", iteration.best_id},
                                 {"best_cost", iteration.best_cost},
                                 {"next", numbers(iteration.next)},
                                 {"predicted_cost", iteration.predicted_cost},
                                 {"recommended", numbers(iteration.recommended)},
                                 {"numbers", named},
                                 {"note", iteration.note}});
  }
  return text_of(all);
}

std::string evaluation_text(const archive::Contents& contents, std::size_t row, const Trajectory& trajectory) {
  const Evaluation& evaluation = contents.evaluations[row];
  std::string text = record_text(evaluation, contents.layout.variables, contents.layout.metrics);
  if (!contents.sources.empty())
    text += "source                " + contents.sources[static_cast<std::size_t>(contents.origins[row])].path + "\n";
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
      const auto& coordinate = channel.coordinates[static_cast<std::size_t>(j)];
      rows.push_back({of_itself(channel, coordinate) ? channel.name : channel.name + "." + coordinate,
                      std::to_string(values.rows()), short_number(values(0, j)),
                      short_number(values(values.rows() - 1, j)), short_number(values.col(j).minCoeff()),
                      short_number(values.col(j).maxCoeff()),
                      channel.units.empty() ? channel.unit : channel.units[static_cast<std::size_t>(j)]});
    }
  }
  return text + "\n" + columns(rows);
}

std::string evaluation_json(const archive::Contents& contents, std::size_t row, const Trajectory& trajectory) {
  Json all = evaluation_as_json(contents, row);
  for (std::size_t c = 0; c < trajectory.values.size(); ++c) {
    const Channel& channel = contents.layout.channels[c];
    Json& one = all["trajectory"][channel.name];
    one["unit"] = channel.unit;
    for (Eigen::Index j = 0; j < trajectory.values[c].cols(); ++j)
      one["values"][channel.coordinates[static_cast<std::size_t>(j)]] = numbers(trajectory.values[c].col(j));
  }
  return text_of(all);
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
        rows.push_back({name + "." + of, with_unit(formatted("%.12g", value(i)), its_unit)});
      }
    } else if constexpr (std::is_same_v<T, Status>) {
      rows.push_back({name, std::string(to_string(value))});
    } else if constexpr (std::is_same_v<T, std::string>) {
      rows.push_back({name, value});
    } else if constexpr (std::is_same_v<T, double>) {
      rows.push_back({name, with_unit(formatted("%.12g", value), unit)});
    } else {
      rows.push_back({name, with_unit(std::to_string(value), unit)});
    }
  });
  return columns(rows);
}

std::string csv(const Trajectory& trajectory, const Channels& channels) {
  std::string text;
  if (trajectory.empty()) return "\n";
  // What has a row for each node or each interval; other tables of an evaluation have no place beside them.
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

std::string settings_text(const Settings& settings) {
  std::vector<std::vector<std::string>> rows = {{"key", "value", "unit", "default", "source"}};
  for (const auto& [key, value, source, note] : settings.all)
    rows.push_back({key.name, value.empty() ? "-" : value, key.unit.empty() ? "-" : key.unit,
                    key.default_value.empty() ? "-" : key.default_value, source + (note.empty() ? "" : ", " + note)});
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
      else if (key.type != Type::text && key.type != Type::path && section != "design")
        range += "; must be given";
      text += "  " + padded("--" + key.name, 32) + " " + key.description + "\n" + std::string(35, ' ') + range + "\n";
    }
  };
  // Keys that strategies have in common are told once, with whose they are and what they are by default.
  const auto add_shared = [&](const std::vector<StrategyKeys>& strategies) {
    std::vector<Key> told;
    for (const auto& strategy : strategies)
      for (const auto& key : strategy.keys) {
        if (std::any_of(told.begin(), told.end(), [&](const Key& one) { return one.name == key.name; })) continue;
        std::vector<std::pair<std::string, std::string>> owners;  // default, strategies
        for (const auto& other : strategies)
          for (const auto& same : other.keys) {
            if (same.name != key.name) continue;
            auto at = std::find_if(owners.begin(), owners.end(),
                                   [&](const auto& one) { return one.first == same.default_value; });
            if (at == owners.end())
              owners.emplace_back(same.default_value, other.name);
            else
              at->second += ", " + other.name;
          }
        told.push_back(key);
        text += "  " + padded("--" + key.name, 32) + " " + key.description + "\n" + std::string(35, ' ') + allowed(key);
        for (const auto& [value, names] : owners) text += "; " + names + (value.empty() ? "" : ": default " + value);
        text += "\n";
      }
  };
  add(study_keys(evaluators::evaluator_kinds()));
  text += "\n[scenario NAME]\n  " + scenario_section().description + "\n";
  for (const Key& key : scenario_keys())
    text += "  " + padded(key.name, 32) + " " + key.description + "\n" + std::string(35, ' ') + allowed(key) +
            "; default " + key.default_value + "\n";
  const auto strategies = surrogate::strategy_keys();
  add({strategy_key(strategies)});
  add_shared(strategies);
  for (const auto& kind : evaluators::evaluator_kinds()) {
    text += "\nwith study.evaluator = " + kind.name + " (" + kind.description + "):\n";
    add(evaluator_keys(kind));
    for (const auto& section : kind.sections) {
      using Name = ini::SectionKind::Name;
      text += std::string(section.name == Name::required   ? "\n[" + section.kind + " NAME]"
                          : section.name == Name::optional ? "\n[" + section.kind + "] or [" + section.kind + " NAME]"
                                                           : "\n[" + section.kind + "]") +
              "\n  " + section.description + "\n";
      if (!section.keys.empty()) text += "  keys: " + listed(section.keys) + "\n";
    }
  }
  return text;
}

}  // namespace dodyn::report
