// Tables of evaluations for people and spreadsheets.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "record/machine.hpp"
#include "record/text.hpp"
#include "report/cells.hpp"
#include "report/predictions.hpp"
#include "report/report.hpp"
#include "study/observed_data.hpp"

namespace dodyn::report {
namespace {

// A cell of the table.
struct Cell {
  std::string name, unit, text;
  double value = 0.0;  // the number, if the cell has one

  // Returns whether `asked` is the name of the cell, or of its design variable or metric.
  bool is(const std::string& asked) const { return asked == name || asked == short_name(); }
  std::string short_name() const {
    const auto dot = name.find('.');
    return dot == std::string::npos || name.starts_with("gradient.") ? name : name.substr(dot + 1);
  }
};

// Returns the cells of a row. number_text(name, value) returns the text of a number with a fraction.
template <class NumberText>
std::vector<Cell> raw_cells(const Evaluation& evaluation, const archive::Layout& layout, NumberText number_text) {
  std::vector<Cell> cells;
  for_each_cell(evaluation, layout, [&](const std::string& name, const std::string& unit, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string>)
      cells.push_back({name, unit, value});
    else if constexpr (std::is_same_v<T, double>)
      cells.push_back({name, unit, number_text(name, value), value});
    else
      cells.push_back({name, unit, std::to_string(value), static_cast<double>(value)});
  });
  return cells;
}

std::vector<Cell> cells_of(const Evaluation& evaluation, const archive::Layout& layout) {
  std::vector<Cell> cells = raw_cells(evaluation, layout, [](const std::string& name, double value) {
    return name == "wall_time" ? formatted("%.2f", value) : short_number(value);
  });
  for (const Variable& variable : layout.variables)
    if (!variable.choices.empty())
      for (Cell& cell : cells)
        if (cell.name == "design." + variable.name) cell.text = value_text(variable, cell.value);
  return cells;
}

// Returns the index of a column. Throws ConfigError if no column has that name.
std::size_t column_named(const std::vector<Cell>& cells, const std::string& name, const char* option) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].is(name)) return i;
    names.push_back(cells[i].short_name());
  }
  throw ConfigError(std::string("command line: ") + option + " " + name + ": no such column" +
                    did_you_mean(name, names) +
                    "; allowed: id, cost, status, cause, wall_time, ..., a design variable or a metric");
}

// Returns the cells of a row of an archive: those of its evaluation, its cause, and the source if archives were merged.
std::vector<Cell> cells_of_row(const archive::Contents& contents, const Evaluation& evaluation, Cause cause,
                               std::int32_t source) {
  auto cells = cells_of(evaluation, contents.layout);
  cells.push_back({"cause", "", cause == Cause::none ? "" : std::string(to_string(cause))});
  if (!contents.sources.empty()) cells.push_back({"source", "", std::to_string(source)});
  return cells;
}

// Returns the columns of the table after the id, as indices into cells_of_row().
std::vector<std::size_t> table_columns(const archive::Contents& contents, const surrogate::ObservedData& observed,
                                       const Listing& listing) {
  std::vector<std::string> names = listing.columns;
  if (names.empty()) {
    for (const auto& variable : contents.layout.variables) names.push_back("design." + variable.name);
    names.emplace_back("cost");
    const auto add = [&](int metric) {
      const auto name = metric < 0 ? "" : "metrics." + contents.layout.metrics[metric].name;
      if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    for (const int metric : observed.objectives) add(metric);
    for (const auto& constraint : observed.constraints) add(constraint.metric);
    names.emplace_back("status");
    if (listing.failed_only) names.emplace_back("cause");
    for (const auto* name : {"wall_time", "rank"}) names.emplace_back(name);
    if (listing.failed_only) names.emplace_back("host");
    if (!contents.sources.empty()) names.emplace_back("source");
    names.emplace_back("reason");
  }
  const auto cells = cells_of_row(contents, {}, Cause::none, 0);
  std::vector<std::size_t> columns;
  for (const auto& name : names)
    if (name != "id") columns.push_back(column_named(cells, name, "--columns"));  // each row begins with its id
  return columns;
}

// `violations`: the limits that the row violates, as text.
std::vector<std::string> table_row(const archive::Contents& contents, const std::string& violations,
                                   const std::vector<Cause>& causes, const std::vector<std::size_t>& columns,
                                   std::size_t row) {
  const Evaluation& evaluation = contents.evaluations[row];
  const auto all =
      cells_of_row(contents, evaluation, causes[row], contents.sources.empty() ? 0 : contents.origins[row]);
  std::vector<std::string> cells = {std::to_string(evaluation.id)};
  for (const std::size_t column : columns) {
    const Cell& cell = all[column];
    const std::string broken = cell.name == "reason" ? violations : "";
    cells.push_back(broken + (broken.empty() || cell.text.empty() ? "" : "; ") + cell.text);
  }
  return cells;
}

std::vector<std::string> table_head(const archive::Contents& contents, const std::vector<std::size_t>& columns) {
  const auto all = cells_of_row(contents, {}, Cause::none, 0);
  std::vector<std::string> head = {"id"};
  for (const std::size_t column : columns) {
    const Cell& cell = all[column];
    const bool unit = !cell.unit.empty() && cell.unit != "1";
    head.push_back(cell.short_name() + (unit ? " [" + cell.unit + "]" : ""));
  }
  return head;
}

// Cuts lines of more than `width` characters and ends them with an ellipsis.
std::string cut(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string out;
  std::size_t characters = 0;
  std::size_t last = 0;  // end of the last character that stays
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
      if (characters == width) last = out.size();  // excludes this character: the ellipsis takes its place
    }
    if (characters <= width) out += text[i];
  }
  return out;
}

// Returns the cells of a row for a CSV file, numbers with all digits; the source only if it is not negative.
std::vector<Cell> exact_cells(const Evaluation& evaluation, const archive::Layout& layout, Cause cause,
                              std::int32_t source) {
  std::vector<Cell> cells =
      raw_cells(evaluation, layout, [](const std::string&, double value) { return to_text(value); });
  if (source >= 0) cells.push_back({"source", "", std::to_string(source)});
  cells.push_back({"cause", "", cause == Cause::none ? "" : std::string(to_string(cause))});
  return cells;
}

// Returns the columns of a CSV file, as indices into `head`: the id and those in `names`; without names all but the
// cause.
std::vector<std::size_t> csv_columns(const std::vector<Cell>& head, const std::vector<std::string>& names) {
  std::vector<std::size_t> columns;
  if (names.empty())
    for (std::size_t i = 0; i + 1 < head.size(); ++i) columns.push_back(i);
  else
    columns.push_back(column_named(head, "id", "--columns"));
  for (const std::string& name : names)
    if (const std::size_t column = column_named(head, name, "--columns");
        std::ranges::find(columns, column) == columns.end())
      columns.push_back(column);
  return columns;
}

// Returns a cell of a CSV file: in quotes if its text needs them.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string(2, c) : std::string(1, c);
  return out + '"';
}

// Counts events by kind, in the order of their first occurrence.
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

std::vector<std::size_t> listed_rows(const archive::Contents& contents, const surrogate::ObservedData& observed,
                                     const Listing& listing) {
  using Key = std::tuple<bool, double, std::string>;  // violates a constraint (only if sorted by cost), value, text
  const std::size_t by = column_named(cells_of({}, contents.layout), listing.sort, "--sort");
  std::vector<std::pair<Key, std::size_t>> rows;
  for (const auto& [id, row] : archive::latest(contents)) {
    const Evaluation& evaluation = contents.evaluations[row];
    if (listing.failed_only && evaluation.ok()) continue;
    const Cell cell = cells_of(evaluation, contents.layout)[by];
    // cells without a number come last
    rows.emplace_back(Key(cell.name == "cost" && !broken_text(contents, observed, evaluation).empty(),
                          std::isnan(cell.value) ? HUGE_VAL : cell.value, cell.text),
                      row);
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> order;
  for (const auto& [its_key, row] : rows) order.push_back(row);
  return order;
}

std::string table(const archive::Contents& contents, const Listing& listing) {
  const std::size_t evaluations = archive::latest(contents).size();
  const surrogate::ObservedData observed = study::observed_data(contents);
  const auto shown = table_columns(contents, observed, listing);
  std::optional<archive::Contents> converted;  // rows are copied only for units of the reader's choice
  if (!listing.units.empty()) convert(converted.emplace(contents).layout, converted->evaluations, listing.units);
  const archive::Contents& in_units = converted ? *converted : contents;
  std::vector<std::vector<std::string>> rows = {table_head(in_units, shown)};
  const std::vector<Cause> causes = causes_of(contents.evaluations);
  for (const std::size_t row : listed_rows(contents, observed, listing))
    rows.push_back(table_row(in_units, broken_text(contents, observed, contents.evaluations[row], listing.units),
                             causes, shown, row));
  std::string sources;
  for (std::size_t i = 0; i < contents.sources.size(); ++i) {
    const archive::Source& source = contents.sources[i];
    sources += "source " + std::to_string(i) + ": " + source.path;
    for (const auto& [key, value] : source.provenance.configuration) {
      const auto& common = contents.provenance.configuration;
      if (std::ranges::find(common, std::pair(key, value)) == common.end()) sources += ", " + key + " = " + value;
    }
    sources += "\n";
  }
  const std::size_t again = contents.evaluations.size() - evaluations;
  std::string history;
  for (const auto& [kind, count] : event_counts(contents.events))
    history += (history.empty() ? "events (--events lists them): " : ", ") + std::to_string(count) + " " + kind;
  if (contents.events.size() <= 2) history.clear();  // only one start and one stop: not worth listing
  return cut(columns(rows), listing.width) + "\n" + sources + outcome_text(contents, observed, listing.units) +
         counted(evaluations, "evaluation") + ", " + counted(contents.iterations.size(), "iteration") + "; " +
         (again ? counted(again, "earlier attempt") + "; " : "") +
         (contents.stopped.empty() ? "not finished (running, or killed: the same command continues it)"
                                   : ended_text(contents.ending, contents.stopped)) +
         "\n" + history + (history.empty() ? "" : "\n");
}

std::string events_text(const archive::Contents& contents) {
  std::vector<std::vector<std::string>> rows;
  for (const Event& event : contents.events) rows.push_back({event.time, event.kind, event.text});
  return rows.empty() ? "no events: the archive is of an earlier version, or merged from several\n" : columns(rows);
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
  const auto order = listed_rows(contents, study::observed_data(contents), listing);
  archive::Layout layout = contents.layout;
  std::vector<Evaluation> converted;  // rows are copied only for units of the reader's choice
  if (!listing.units.empty()) convert(layout, converted = contents.evaluations, listing.units);
  const std::vector<Evaluation>& evaluations = listing.units.empty() ? contents.evaluations : converted;
  const std::vector<Cause> causes = causes_of(contents.evaluations);
  const bool merged = !contents.sources.empty();
  const std::vector<Cell> head = exact_cells(Evaluation{}, layout, Cause::none, merged ? 0 : -1);
  const std::vector<std::size_t> shown = csv_columns(head, listing.columns);
  std::string text;
  for (const std::size_t column : shown) {
    const Cell& cell = head[column];
    text +=
        (text.empty() ? "" : ",") + cell.name + (cell.unit.empty() || cell.unit == "1" ? "" : " [" + cell.unit + "]");
  }
  text += "\n";
  for (const std::size_t row : order) {
    const auto cells = exact_cells(evaluations[row], layout, causes[row], merged ? contents.origins[row] : -1);
    const char* separator = "";
    for (const std::size_t column : shown) text += std::exchange(separator, ",") + quoted(cells[column].text);
    text += "\n";
  }
  return text;
}

}  // namespace dodyn::report
