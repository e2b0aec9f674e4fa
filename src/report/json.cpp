// Archives as JSON.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "record/machine.hpp"
#include "report/cells.hpp"
#include "report/predictions.hpp"
#include "report/report.hpp"
#include "study/observed_data.hpp"

namespace dodyn::report {
namespace {

using Json = nlohmann::ordered_json;

Json numbers(const auto& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(value);
  return list;
}

Json evaluation_as_json(const Evaluation& evaluation, const archive::Layout& layout) {
  Json all;
  for_each_cell(evaluation, layout, [&](const std::string& name, const std::string&, const auto& value) {
    const auto dot = name.find('.');
    if (dot == std::string::npos)
      all[name] = value;
    else
      all[name.substr(0, dot)][name.substr(dot + 1)] = value;
  });
  return all;
}

Json row_as_json(const archive::Contents& contents, const std::vector<Cause>& causes, std::size_t row) {
  Json all = evaluation_as_json(contents.evaluations[row], contents.layout);
  all["cause"] = to_string(causes[row]);
  if (!contents.sources.empty()) all["source"] = contents.origins[row];
  return all;
}

Json trajectory_as_json(const Trajectory& trajectory, const archive::Layout& layout) {
  Json all = Json::object();
  for (std::size_t c = 0; c < trajectory.values.size(); ++c) {
    const Channel& channel = layout.channels[c];
    Json& one = all[channel.name];
    one["unit"] = channel.unit;
    if (!channel.units.empty()) one["units"] = channel.units;
    for (Eigen::Index j = 0; j < trajectory.values[c].cols(); ++j)
      one["values"][channel.coordinates[j]] = numbers(trajectory.values[c].col(j));
  }
  return all;
}

Json provenance_as_json(const archive::Provenance& provenance) {
  Json configuration = Json::object();
  for (const auto& [key, value] : provenance.configuration) configuration[key] = value;
  Json given = Json::object();
  for (const auto& [key, source] : provenance.given) given[key] = source;
  Json machine = Json::object();
  for (const auto& [key, value] : provenance.machine) machine[key] = value;
  return {{"evaluator", provenance.evaluator},
          {"version", provenance.program_version},
          {"git_commit", provenance.git_commit},
          {"command_line", provenance.command_line},
          {"host", provenance.host},
          {"ranks", provenance.ranks},
          {"machine", machine},
          {"configuration", configuration},
          {"given", given},
          {"folder", provenance.folder}};
}

// Replaces infinite numbers, which JSON does not have, by the texts inf and -inf. NaN stays; dump() writes it as null.
void name_infinities(Json& json) {
  if (json.is_structured())
    for (Json& part : json) name_infinities(part);
  else if (json.is_number_float() && std::isinf(json.get<double>()))
    json = json.get<double>() > 0 ? "inf" : "-inf";
}

std::string text_of(Json json) {
  name_infinities(json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json(const archive::Contents& contents, const Listing& listing) {
  const surrogate::ObservedData observed = study::observed_data(contents);
  Json all = {{"schema", contents.schema}, {"created", contents.created}, {"stop_reason", contents.stopped}};
  all["ending"] = to_string(contents.ending);
  all["provenance"] = provenance_as_json(contents.provenance);
  for (const auto& source : contents.sources)
    all["sources"].push_back({{"path", source.path},
                              {"created", source.created},
                              {"stop_reason", source.stopped},
                              {"provenance", provenance_as_json(source.provenance)}});
  for (const char* list : {"variables", "metrics", "evaluations", "iterations", "events"}) all[list] = Json::array();
  for (const auto& [time, kind, said] : contents.events)
    all["events"].push_back({{"time", time}, {"kind", kind}, {"text", said}});
  const Evaluation* const recommended = study::recommended_of(contents, observed);
  all["recommended"] = recommended ? Json(recommended->id) : Json();
  if (const auto stated = study::stated_choice(contents)) {
    all["probability_best"] = stated->probability;
    all["indifference"] = stated->indifference;
  }
  if (observed.objectives.size() > 1) {
    all["front"] = Json::array();
    for (const Evaluation* e : front_of(observed)) all["front"].push_back(e->id);
  }
  std::optional<archive::Contents> converted;  // rows are copied only for units of the reader's choice
  if (!listing.units.empty()) convert(converted.emplace(contents).layout, converted->evaluations, listing.units);
  const archive::Contents& in_units = converted ? *converted : contents;
  std::vector<Variable> variables = contents.layout.variables;
  const Eigen::VectorXd factors = convert(variables, listing.units);
  const auto in_unit = [&](const Eigen::VectorXd& design) -> Eigen::VectorXd {
    return design.size() == factors.size() ? design.cwiseProduct(factors) : design;
  };
  for (const auto& [name, unit, lower, upper, choices] : variables) {
    all["variables"].push_back({{"name", name}, {"unit", unit}, {"lower", lower}, {"upper", upper}});
    if (!choices.empty()) all["variables"].back()["choices"] = choices;
  }
  for (const auto& [name, unit, description] : in_units.layout.metrics)
    all["metrics"].push_back({{"name", name}, {"unit", unit}, {"description", description}});
  const std::vector<Cause> causes = causes_of(contents.evaluations);
  for (const std::size_t row : listed_rows(contents, observed, listing))
    all["evaluations"].push_back(row_as_json(in_units, causes, row));
  for (const auto& iteration : contents.iterations) {
    Json named = Json::object();
    for (const auto& [name, value] : iteration.numbers) named[name] = value;
    Json candidates = Json::array();
    for (Eigen::Index i = 0; i < iteration.candidates.rows(); ++i) {
      Json candidate = Json::object();
      for (Eigen::Index k = 0; k < iteration.candidates.cols(); ++k)
        candidate[contents.layout.candidates[k]] =
            (k < factors.size() ? factors(k) : 1.0) * iteration.candidates(i, k);  // the design comes first
      candidates.push_back(std::move(candidate));
    }
    all["iterations"].push_back({{"best_id", iteration.best_id},
                                 {"best_cost", iteration.best_cost},
                                 {"next", numbers(in_unit(iteration.next))},
                                 {"predicted_cost", iteration.predicted_cost},
                                 {"recommended", numbers(in_unit(iteration.recommended))},
                                 {"diagnostics", named},
                                 {"candidates", candidates},
                                 {"note", iteration.note}});
  }
  return text_of(std::move(all));
}

std::string evaluation_json(const archive::Contents& contents, std::size_t row, const Trajectory& trajectory) {
  Json all = row_as_json(contents, causes_of(contents.evaluations), row);
  if (!trajectory.empty()) all["trajectory"] = trajectory_as_json(trajectory, contents.layout);
  return text_of(std::move(all));
}

std::string outcome_json(const Outcome& outcome, const archive::Layout& layout) {
  Json all = evaluation_as_json(outcome.evaluation, layout);
  if (!outcome.trajectory.empty()) all["trajectory"] = trajectory_as_json(outcome.trajectory, layout);
  return text_of(std::move(all));
}

}  // namespace dodyn::report
