// A configuration that is no file, such as the one that an archive holds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "settings/settings.hpp"

namespace dodyn {

// Settings::configuration() as the text of a configuration file, without what only says how designs are searched for
// (surrogate.*, and of study.* all but evaluator and seed), nor `leave_out`.
std::string configuration_text(const std::vector<std::pair<std::string, std::string>>& configuration,
                               const std::vector<std::string>& leave_out);

// read_settings() of a text; `origin` is its file for messages and for what its paths are relative to.
Settings read_settings(std::string_view text, const std::string& origin, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& kinds, const std::vector<StrategyKeys>& strategies);

}  // namespace dodyn
