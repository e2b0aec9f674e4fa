#include "evaluators/simulation/initial_states.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <random>

#include "record/random.hpp"
#include "record/text.hpp"
#include "settings/numbered.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::evaluators::simulation {
namespace {

constexpr int most_starts = 1000000;

const Key count_key{.name = "count", .type = Type::integer, .default_value = "1", .minimum = 1, .maximum = most_starts};
const Key seed_key{.name = "seed", .type = Type::integer, .default_value = "1", .minimum = 0, .maximum = 2147483647};
const Key sampling_key{.name = "sampling",
                       .type = Type::choice,
                       .default_value = "sobol",
                       .choices = {"sobol", "halton", "grid", "random"}};

constexpr std::string_view around_cells = " \t\r\"";

// Splits at commas outside parentheses, which belong to names; rate(x) has none.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all;
  std::size_t from = 0;
  for (;;) {
    const auto comma = line.find(',', from);
    all.emplace_back(trimmed(std::string_view(line).substr(from, comma - from), around_cells));
    if (comma == std::string::npos) return all;
    from = comma + 1;
  }
}

bool is_name(const std::string& text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

// Throws if both [design] and an entry of [initial-state] or [initial-states] give a value of a parameter.
void expect_no_design_variable(const Settings& settings, const systems::Model& model, const CustomEntry& entry) {
  if (model.parameter(entry.key) >= 0 && settings.design_given(entry.key))
    throw entry.error("replaces design." + entry.key + ", which is given too; remove one of them");
}

}  // namespace

bool draws_starts(const std::string& key) { return key == "count" || key == "sampling" || key == "seed"; }

Eigen::MatrixXd shares_of_ranges(const CustomSection& section, const std::vector<bool>& wide, int set) {
  const int n = section.integer(count_key), d = wide.size();
  const auto first_seed = static_cast<std::uint64_t>(section.integer(seed_key));
  const std::uint64_t seed = set == 0 ? first_seed : evaluation_seed(first_seed, set);
  const std::string sampling = section.text(sampling_key);
  if (d == 0 && n > 1) throw section.error("all initial states are equal; add a range, such as angle = 0 .. 90 deg");
  if (sampling == "grid")
    if (const CustomEntry* entry = section.find("seed"))
      throw entry->error("has no effect with sampling = grid; remove it, or choose sobol, halton or random");
  if (d == 0) return Eigen::MatrixXd::Zero(0, 1);
  if (sampling == "sobol") return surrogate::sobol(d, n, seed);
  if (sampling == "halton") return surrogate::halton(d, n, seed);
  if (sampling == "random") {
    Eigen::MatrixXd points(d, n);
    std::mt19937_64 random(seed);
    // not from <random>, whose distributions differ between standard libraries
    for (Eigen::Index i = 0; i < points.size(); ++i) points(i) = static_cast<double>(random() >> 11) * 0x1p-53;
    return points;
  }
  // cell centres of a regular grid with at most `count` points, the same number along each range
  const int axes = static_cast<int>(std::ranges::count(wide, true));
  const int across = axes == 0 ? 1 : static_cast<int>(std::floor(std::pow(n, 1.0 / axes) + 1e-9));
  int cells = 1;
  for (int a = 0; a < axes; ++a) cells *= across;
  Eigen::MatrixXd points = Eigen::MatrixXd::Zero(d, cells);
  for (int k = 0; k < cells; ++k) {
    int rest = k;
    for (int i = 0; i < d; ++i) {
      if (!wide[i]) continue;
      points(i, k) = (rest % across + 0.5) / across;
      rest /= across;
    }
  }
  return points;
}

InitialStates::InitialStates(const Settings& settings, const systems::Model& model) : model_(model) {
  points_ = Eigen::MatrixXd::Zero(0, 1);
  if (const auto found = settings.sections_of("initial-states"); !found.empty()) {
    const CustomSection& section = *found[0];
    const CustomEntry* file = section.find("file");
    for (const auto& entry : repeated(section.entries)) {
      if (entry.key == "file" || draws_starts(entry.key)) {
        if (file && entry.key != "file")
          throw entry.error("has no effect next to file = " + shown(file->value) + "; remove it");
        continue;
      }
      if (file)
        throw entry.error("has no effect next to file = " + shown(file->value) + "; add a column to the file instead");
      names_.push_back(entry.key);
      sources_.push_back(entry);
      try {
        ranges_.push_back(parse_range(entry.value));
      } catch (const ExpressionError& error) {
        throw entry.error(error.what());
      }
    }
    if (file) {
      read_file(*file, settings.folder);
    } else {
      section_ = &section;
      points_ = drawn(0);
      are_drawn_ = section.text(sampling_key) != "grid";
    }
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    targets_.push_back(target(names_[i]));
    const std::string variable = names_[i].substr(0, names_[i].find('.'));
    if (targets_[i].kind == Target::none && section_ &&
        (names_[i] == variable + ".min" || names_[i] == variable + ".max"))
      throw sources_[i].error("a range is one entry; write " + variable + " = FROM .. TO, such as " + variable +
                              " = 0 .. 1");
    if (targets_[i].kind == Target::none && !is_name(names_[i]))
      throw sources_[i].error("'" + shown(names_[i]) +
                              "' is not a name; allowed: a coordinate, rate(COORDINATE), a parameter, or a new name of "
                              "letters, digits and _, a letter first");
    if (targets_[i].kind == Target::none && is_run_quantity(names_[i]))
      throw sources_[i].error("'" + shown(names_[i]) +
                              "' is a quantity of every run, which this name would hide; choose another name");
    expect_no_design_variable(settings, model, sources_[i]);
    varies_model_ |= targets_[i].kind == Target::parameter;
  }
  for (const CustomSection* section : settings.sections_of("initial-state"))
    for (const auto& entry : repeated(section->entries)) {
      const Target to = target(entry.key);
      if (to.kind == Target::none) {
        std::vector<std::string> known = model.structure.coordinate_names;
        for (const auto& name : model.structure.coordinate_names) known.push_back("rate(" + name + ")");
        std::vector<std::string> wider = known;
        for (const auto& parameter : model.parameters) wider.push_back(parameter.name);
        throw entry.error("'" + shown(entry.key) + "' is not a coordinate" + did_you_mean(entry.key, wider) +
                          "; allowed: parameters, " + listed(known));
      }
      if (std::ranges::find(names_, entry.key) != names_.end())
        throw entry.error("is given by [initial-states], too; remove one of them");
      expect_no_design_variable(settings, model, entry);
      varies_model_ |= to.kind == Target::parameter;
      assignments_.push_back({entry, to, {}});
    }
}

// Expands entries whose names contain an i, such as box_i_z, to one per box. The number replaces i in the value too.
std::vector<CustomEntry> InitialStates::repeated(const std::vector<CustomEntry>& entries) const {
  std::vector<CustomEntry> all;
  for (const CustomEntry& entry : entries) {
    bool several = false;
    if (target(entry.key).kind == Target::none && numbered(entry.key, 1) != entry.key)
      for (int k = 1; target(numbered(entry.key, k)).kind != Target::none; ++k) {
        all.push_back({numbered(entry.key, k), numbered(entry.value, k), entry.source});
        several = true;
      }
    if (!several) all.push_back(entry);
  }
  return all;
}

InitialStates::Target InitialStates::target(const std::string& name) const {
  try {
    const Expression expression = Expression::parse(name);
    if (expression.quantities().size() != 1 || !(expression.quantities()[0].text() == name)) return {};
    const auto variable = model_.variable(expression.quantities()[0]);
    if (!variable) return {};
    switch (variable->kind) {
      case systems::Variable::coordinate:
        return {Target::coordinate, variable->index};
      case systems::Variable::rate:
        return {Target::rate, variable->index};
      case systems::Variable::parameter:
        return {Target::parameter, variable->index};
      default:
        return {};
    }
  } catch (const ExpressionError&) {
    return {};
  }
}

void InitialStates::read_file(const CustomEntry& entry, const std::string& folder) {
  std::filesystem::path path = entry.value;
  if (path.is_relative() && entry.source != "command line") {
    const auto beside = std::filesystem::path(folder) / path;
    std::error_code none;
    if (std::filesystem::exists(beside, none)) path = beside;
  }
  try {
    file_name_ = entry.value;
    file_text_ = ini::read_file(path.string());
  } catch (const ConfigError& error) {
    throw entry.error(error.what());
  }
  std::vector<std::vector<double>> rows;
  int line = 0;
  for (std::size_t from = 0; from < file_text_.size();) {
    const auto end = std::min(file_text_.find('\n', from), file_text_.size());
    const std::string text = file_text_.substr(from, end - from);
    from = end + 1;
    const CustomEntry here{entry.key, entry.value, path.string() + ":" + std::to_string(++line)};
    const auto fail = [&](const std::string& what) { throw ConfigError(here.source + ": " + what); };
    if (trimmed(text).empty() || trimmed(text)[0] == '#') continue;
    const auto row = cells(text);
    if (names_.empty()) {
      for (const auto& name : row) {
        if (std::ranges::find(names_, name) != names_.end()) fail("column '" + shown(name) + "' is given twice");
        names_.push_back(name);
        sources_.push_back({name, "a column", here.source});
      }
      continue;
    }
    if (row.size() != names_.size())
      fail(std::to_string(row.size()) + " cells; expected " + std::to_string(names_.size()) + ", as the header has");
    auto& values = rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      double value = 0.0;
      const char* cell_end = row[i].data() + row[i].size();
      const auto [to, error] = std::from_chars(row[i].data(), cell_end, value);
      if (error != std::errc{} || to != cell_end || !std::isfinite(value))
        fail(names_[i] + " = " + shown(row[i]) +
             " is not a number; expected a finite number in SI units, without a unit");
      values.push_back(value);
    }
  }
  if (rows.empty())
    throw entry.error(
        "holds no initial states; allowed: a header that names columns, and a row for each initial state");
  points_.resize(names_.size(), rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (std::size_t i = 0; i < names_.size(); ++i) points_(i, k) = rows[k][i];
}

namespace {

void expect_ordered(const CustomEntry& range, double low, double high) {
  if (high < low)
    throw range.error(formatted("ends at %.6g, below its start at %.6g (SI); allowed: LOW .. HIGH", high, low));
}

}  // namespace

void InitialStates::read(FormulaReader& reader) {
  // The ends of a range may not depend on other ranges.
  FormulaReader of_parameters(model_, {});
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    ends_.push_back(
        {of_parameters.start(sources_[i], ranges_[i].first), of_parameters.start(sources_[i], ranges_[i].second)});
    const auto& [low, high] = ends_.back();
    if (low.arguments.empty() && high.arguments.empty())  // others are checked for each design
      expect_ordered(sources_[i], low.expression.evaluate<double>({}), high.expression.evaluate<double>({}));
  }
  for (auto& assignment : assignments_) assignment.value = reader.start(assignment.entry, assignment.entry.parsed());
}

void InitialStates::check_used(const FormulaReader& reader) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (reader.used(i) || targets_[i].kind != Target::none) continue;
    std::vector<std::string> known = model_.structure.coordinate_names;
    for (const auto& name : model_.structure.coordinate_names) known.push_back("rate(" + name + ")");
    for (const auto& parameter : model_.parameters) known.push_back(parameter.name);
    throw sources_[i].error("'" + shown(names_[i]) +
                            "' is not a coordinate, rate or parameter, and nothing in [initial-state] uses it" +
                            did_you_mean(names_[i], known) + "; allowed: " + listed(known));
  }
}

void InitialStates::expect_moving(const std::vector<int>& held) const {
  const auto check = [&](const CustomEntry& entry, const Target& to) {
    for (const int l : held) {
      const auto& link = model_.structure.links[l];
      const int end = link.first + std::ssize(link.moves);
      if (to.kind == Target::rate && to.index >= link.first && to.index < end)
        throw entry.error("has no effect, because simulation.fixed holds link " + link.name + "; remove one of them");
    }
  };
  for (std::size_t i = 0; i < names_.size(); ++i) check(sources_[i], targets_[i]);
  for (const auto& assignment : assignments_) check(assignment.entry, assignment.target);
}

void InitialStates::put(const Target& to, double value, Start& start) const {
  const std::size_t index = to.index;
  if (to.kind == Target::coordinate) start.q[index] = value;
  if (to.kind == Target::rate) start.v[index] = value;
  if (to.kind == Target::parameter) start.parameters[model_.parameters[index].name] = value;
}

Eigen::MatrixXd InitialStates::drawn(int set) const {
  std::vector<bool> wide;
  for (const auto& [low, high] : ranges_) wide.push_back(!(low == high));
  return shares_of_ranges(*section_, wide, set);
}

const Eigen::MatrixXd& InitialStates::points(int set) const {
  if (set == 0) return points_;
  if (set != next_set_) next_points_ = drawn(set), next_set_ = set;
  return next_points_;
}

double Start::value(const Formula& formula) const {
  std::vector<double> x;
  for (const StateQuantity& seen : formula.arguments)
    x.push_back(seen.kind == StateQuantity::start ? variables[seen.one] : values.parameters[seen.variable.index]);
  return formula.expression.evaluate<double>(x);
}

Start InitialStates::start(int number, const std::map<std::string, double>& design, int set) const {
  Start start;
  start.number = set * count() + number;
  start.parameters = design;
  start.values = model_.evaluate<double>(design);
  start.q.assign(model_.structure.coordinate_names.size(), 0.0);
  start.v = start.q;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    double x = points(set)(static_cast<Eigen::Index>(i), number);
    if (!ends_.empty()) {
      const double low = start.value(ends_[i].first), high = start.value(ends_[i].second);
      expect_ordered(sources_[i], low, high);
      x = low + x * (high - low);
    }
    start.variables.push_back(x);
  }
  // parameters first, because other values may depend on them
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (targets_[i].kind == Target::parameter) put(targets_[i], start.variables[i], start);
  for (const bool parameters : {true, false}) {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!parameters) put(targets_[i], start.variables[i], start);
    for (const auto& assignment : assignments_)
      if ((assignment.target.kind == Target::parameter) == parameters) {
        const double x = start.value(assignment.value);
        if (!std::isfinite(x))
          throw assignment.entry.error("is not a finite number for initial state " + std::to_string(number + 1));
        put(assignment.target, x, start);
      }
    if (parameters && varies_model_) start.values = model_.evaluate<double>(start.parameters);
  }
  return start;
}

}  // namespace dodyn::evaluators::simulation
