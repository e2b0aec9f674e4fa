// The reference that the program writes of itself: `dodyn help --markdown`.
#include "evaluators/evaluator.hpp"
#include "record/text.hpp"
#include "report/report.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::report {
namespace {

// Text for a cell of a table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : c == '<' ? std::string("&lt;") : std::string(1, c);
  return out;
}

std::string row(const Key& key) {
  const std::string value = default_text(key);
  const bool number = key.type == Type::real && !key.unit.empty() && key.unit != "1" && value != key.word;
  const std::string shown = value.empty() ? "" : "`" + value + (number ? " " + key.unit : "") + "`";
  return "| `" + key.name + "` | " + cell(key.description) + " | " + cell(allowed(key)) + " | " + cell(shown) + " |\n";
}

std::string table(const std::vector<Key>& keys) {
  std::string text = "| key | meaning | allowed | default |\n|---|---|---|---|\n";
  for (const auto& key : keys) text += row(key);
  return text;
}

}  // namespace

std::string reference_markdown(const std::vector<std::array<std::string, 3>>& commands) {
  std::string text =
      "# Reference\n\nWritten by the program itself: `dodyn help --markdown`.\n\n## Commands\n\n"
      "| command | what it does |\n|---|---|\n";
  for (const auto& [name, arguments, description] : commands)
    text += "| `dodyn " + name + " " + cell(arguments) + "` | " + cell(description) + " |\n";
  text +=
      "\n## Keys of every study\n\nA configuration is an INI file: `study.seed` is the key `seed` in the section "
      "`[study]`, and `--study.seed` on the command line, which wins.\n\n" +
      table(study_keys(evaluators::evaluator_kinds())) +
      "\n`[scenario NAME]`: " + cell(scenario_section().description) + ". Its own keys:\n\n" + table(scenario_keys());
  const auto strategies = surrogate::strategy_keys();
  text += "\n## Strategies\n\n" + table({strategy_key(strategies)});
  for (const auto& strategy : strategies) {
    text += "\n### " + strategy.name + "\n\n" + cell(strategy.description) + "\n\n";
    if (!strategy.keys.empty()) text += table(strategy.keys);
  }
  text += "\n## Evaluators\n";
  for (const auto& kind : evaluators::evaluator_kinds()) {
    text += "\n### " + kind.name + "\n\n" + cell(kind.description) + "\n\n" + table(evaluator_keys(kind));
    for (const auto& section : kind.sections)
      text += "\n`[" + section.kind + (section.name == ini::SectionKind::Name::none ? "" : " NAME") +
              "]`: " + cell(section.description) + (section.keys.empty() ? "" : ". Keys: " + listed(section.keys)) +
              "\n";
  }
  text += "\n## The archive\n\nColumns of `/evaluations`, one row per evaluation:\n\n| column | unit |\n|---|---|\n";
  const Evaluation one;
  for_each_field(one, [&](const Field& field, const auto&) {
    text += "| `" + std::string(field.name) + "` | " + std::string(field.unit) + " |\n";
  });
  text += "\n`status` is one of";
  const char* separator = " ";
  for (const Status status : all_statuses) {
    text += separator + ("`" + std::string(to_string(status)) + "`");
    separator = ", ";
  }
  return text + ".\n";
}

}  // namespace dodyn::report
