// A folder for the files of one test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace dodyn {

// A directory of its own for each test, removed at the end.
struct Directory {
  std::filesystem::path path;
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "dodyn-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

}  // namespace dodyn
