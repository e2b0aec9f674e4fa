// Models and studies as texts, in a folder of the running test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace dodyn::evaluators {

inline const std::string own_model = "[motion]\nmodel = own.model\n";  // the beginning of `sections`

// Writes a model to the file of this name, and a study with these sections beside it. Returns the path of the study.
inline std::filesystem::path written_study(const std::string& model, const std::string& sections,
                                           const std::string& model_file = "own.model",
                                           const std::string& evaluator = "motion") {
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / (std::string(test->test_suite_name()) + "-" + test->name());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / model_file) << model;
  std::ofstream(folder / "study.cfg") << "[study]\nevaluator = " << evaluator << "\n" << sections;
  return folder / "study.cfg";
}

}  // namespace dodyn::evaluators
