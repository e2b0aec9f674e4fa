#include "systems/sections.hpp"

#include <string>

namespace dodyn::systems {

const std::vector<ModelSection>& model_sections() {
  using Name = ini::SectionKind::Name;
  constexpr auto none = Name::none, optional = Name::optional, required = Name::required;
  constexpr std::array<const char*, 4> all = {"yes", "yes", "yes", "yes"};
  constexpr const char* const driven_forward = "`dodyn simulate`";
  // title, kind, support by gait, motion, hybrid, simulation
  static const std::vector<ModelSection> rows = {
      {"model",
       {"model", none, {"name", "dimension", "gravity", "swing-foot", "charge-constant"}, false, {"dimension"}},
       all},
      {"parameters", {"parameters", none, {}, true}, all},
      {"link NAME",
       {"link",
        required,
        {"parent", "joint", "count", "coordinates", "follows", "at", "end", "mass", "centre", "inertia", "products",
         "counterpart", "surface"},
        false,
        {"parent", "joint"}},
       all},
      {"mass NAME", {"mass", required, {"link", "at", "mass", "counterpart"}, false, {"link", "mass"}}, all},
      {"shape NAME",
       {"shape",
        required,
        {"link", "vertices", "box", "polygon", "prism", "ball", "corners", "scale", "at", "turn", "density", "mass",
         "outward"},
        false,
        {"link"}},
       {"mass", "yes", "mass", "yes"}},
      {"point NAME", {"point", required, {"link", "at"}, false, {"link"}}, all},
      {"spring NAME",
       {"spring", required, {"coordinate", "from", "to", "stiffness", "rest", "length", "damping"}},
       all},
      {"charge NAME", {"charge", required, {"link", "at", "value"}, false, {"link", "value"}}, all},
      {"drag NAME",
       {"drag", required, {"link", "linear", "angular"}, false, {"link"}},
       {"yes", "in the plane", "yes", "yes"}},
      {"potential NAME", {"potential", required, {"energy"}, false, {"energy"}}, all},
      {"rotor NAME", {"rotor", required, {"place", "mass"}, false, {"place", "mass"}}, {"yes", "yes", "yes", "no"}},
      {"force NAME", {"force", required, {"coordinate", "link", "at", "force"}, false, {"force"}}, all},
      {"actuator NAME",
       {"actuator", required, {"coordinate", "link", "at", "force", "torque", "axes", "limit", "loss"}},
       {"yes", "yes", "control 0", "`[feedback]`"}},
      {"joint-limit NAME",
       {"joint-limit", required, {"coordinate", "from", "to", "speed"}, false, {"coordinate"}},
       {"yes", "yes", "no", "yes"}},
      {"knee NAME",
       {"knee", required, {"coordinate", "flexion"}, false, {"coordinate", "flexion"}},
       {"yes", "yes", "no", "no"}},
      {"surface", {"surface", optional, {"restitution", "friction"}}, {"no", driven_forward, "no", "yes"}},
      {"contact", {"contact", optional, {}, true}, {driven_forward, driven_forward, "no", "yes"}},
      {"contact NAME", {"contact", optional, {}, true}, {"no", "no", "yes", "without `latch`"}},
      {"stop NAME",
       {"stop", required, {"coordinate", "from", "to", "restitution", "latch"}, false, {"coordinate"}},
       {"no", "no", "yes", "without `latch`"}},
      {"constraint NAME", {"constraint", required, {"zero"}, false, {"zero"}}, {"no", "yes", "yes", "no"}},
      {"reset NAME", {"reset", required, {}, true}, {"no", "`[periodic]`", "yes", "no"}},
      {"initial-state", {"initial-state", none, {}, true}, {"no", "no", "yes", "no"}},
      {"require", {"require", none, {}, true}, all}};
  return rows;
}

void check_honoured(const Model& model, std::string_view evaluator) {
  std::size_t column = 0;
  while (column < model_evaluators.size() && model_evaluators[column] != evaluator) ++column;
  const auto honours = [](const ModelSection& row, std::size_t one) {
    return one < row.honoured.size() && row.honoured[one] && std::string_view(row.honoured[one]) != "no";
  };
  for (const Model::Section& section : model.sections) {
    const ModelSection* found = nullptr;  // the row of this kind; for a named [contact] the second one
    for (const ModelSection& row : model_sections())
      if (row.kind.kind == section.kind && (!found || !section.name.empty())) found = &row;
    if (found && honours(*found, column)) continue;
    std::string others;
    for (std::size_t i = 0; found && i < model_evaluators.size(); ++i)
      if (honours(*found, i)) others += (others.empty() ? "" : " or ") + std::string(model_evaluators[i]);
    model.fail(section.line, "[" + section.kind + (section.name.empty() ? "" : " " + section.name) +
                                 "] is not supported by evaluator " + std::string(evaluator) + "; " +
                                 (others.empty() ? "" : "use evaluator " + others + " or ") + "remove it");
  }
}

std::string title_at(const Model& model, int line) {
  for (const Model::Section& section : model.sections)
    if (section.line == line) return "[" + section.kind + (section.name.empty() ? "" : " " + section.name) + "]";
  return "the model";
}

}  // namespace dodyn::systems
