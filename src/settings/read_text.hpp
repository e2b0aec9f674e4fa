// A configuration that is no file, such as the one that an archive holds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "settings/ini.hpp"
#include "settings/settings.hpp"

namespace dodyn {

// Settings (key, value) as a configuration, all values as they are.
ini::Text configuration_of(const std::vector<std::pair<std::string, std::string>>& settings, const std::string& origin);

// read_settings() of such a configuration; relative files are looked for in `folder` first.
Settings read_settings(const ini::Text& text, const std::string& folder, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& kinds, const std::vector<StrategyKeys>& strategies);

}  // namespace dodyn
