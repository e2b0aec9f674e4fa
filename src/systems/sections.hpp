// The sections that a model may have, and which evaluators honour them: one table, which the reader, the evaluators and
// docs/models.md share.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "settings/ini.hpp"
#include "systems/model.hpp"

namespace dodyn::systems {

// Evaluators that take a model, in the order of the table's columns.
inline constexpr std::array<std::string_view, 4> model_evaluators = {"gait", "motion", "hybrid", "simulation"};

struct ModelSection {
  const char* title;  // "constraint NAME"
  ini::SectionKind kind;
  // By evaluator: "yes", or what is honoured in fewer words than a sentence; "no": the section is refused.
  std::array<const char*, 4> honoured;
};

// [contact] and [contact NAME] are two rows of one kind.
const std::vector<ModelSection>& model_sections();

// Throws ConfigError, "FILE:LINE: [constraint NAME] is not supported by evaluator motion; ...", of the first section of the
// model that this evaluator does not honour. Every evaluator that takes a model calls this.
void check_honoured(const Model& model, std::string_view evaluator);

}  // namespace dodyn::systems
