// Reads a configuration that is not a file, such as that of an archive.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "settings/ini.hpp"
#include "settings/settings.hpp"

namespace dodyn {

// Returns settings (key, value) as a configuration, with unchanged values.
ini::Text configuration_of(const std::vector<std::pair<std::string, std::string>>& settings, const std::string& origin);

// Returns the settings of such a configuration, as read_settings() for files. Relative file names are searched in
// `folder` first.
Settings read_settings(const ini::Text& text, const std::string& folder, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& kinds, const std::vector<StrategyKeys>& strategies);

}  // namespace dodyn
