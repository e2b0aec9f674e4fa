// A study's archive as the evidence that a search would have: variables as whole numbers or labels where its
// configuration says so, constraints, objectives, noise, and of each evaluation the last attempt that has an answer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "surrogate/evidence.hpp"

namespace dodyn::study {

// The value of a key; empty where there is none.
std::string text_in(const std::vector<std::pair<std::string, std::string>>& configuration, const std::string& key);

// Throws ConfigError where the archive's configuration cannot be read.
surrogate::Evidence evidence_of(const archive::Contents& contents);

}  // namespace dodyn::study
