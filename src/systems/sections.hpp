// The sections of model files, and which evaluators support them. The reader, the evaluators and docs/models.md share
// this table.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "settings/ini.hpp"
#include "systems/model.hpp"

namespace dodyn::systems {

// Evaluators that use a model, in the order of the table's columns.
inline constexpr std::array<std::string_view, 4> model_evaluators = {"gait", "motion", "hybrid", "simulation"};

struct ModelSection {
  const char* title;  // "constraint NAME"
  ini::SectionKind kind;
  // By evaluator: "yes", or a short statement of what is supported; "no": the section is refused.
  std::array<const char*, 4> honoured;
};

// Returns the table. [contact] and [contact NAME] are two rows of one kind.
const std::vector<ModelSection>& model_sections();

// Throws ConfigError, "FILE:LINE: [constraint NAME] is not supported by evaluator motion; ...", for the first section
// of the model that this evaluator does not support. Every evaluator that uses a model calls this.
void check_honoured(const Model& model, std::string_view evaluator);

// Returns the title of the section that begins at a line of the model file: "[stop elbow]".
std::string title_at(const Model& model, int line);

}  // namespace dodyn::systems
