// The folder of a configuration, as a path that does not depend on the working directory.
#pragma once

#include <filesystem>

#include "settings/settings.hpp"

namespace dodyn {

// Returns the absolute path of the configuration's folder, without `.`, `..` and a slash at the end. So all spellings
// of a folder on the command line give the same path.
inline std::filesystem::path absolute_folder(const Settings& settings) {
  const auto folder = (std::filesystem::current_path() / settings.folder).lexically_normal();
  return folder.has_filename() ? folder : folder.parent_path();
}

}  // namespace dodyn
